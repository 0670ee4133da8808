// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors inside the library are exceptions; session.cpp turns them into codes of cudaenc.h.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "cudaenc.h"

namespace cudaenc {

class Error : public std::runtime_error {
  public:
    Error(int code, const std::string &message) : std::runtime_error(message), code(code) {}
    const int code;  // CUDAENC_ERR_*
};

[[gnu::format(printf, 1, 2)]] inline std::string format_string(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return line;
}

}  // namespace cudaenc
