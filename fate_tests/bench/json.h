// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes JSON, indented, in the order in which it is told.
#pragma once
#include <cmath>
#include <cstdio>
#include <string>

#include "measure.h"

namespace cudaenc::bench {

class Json {
  public:
    std::string text;

    void open(char bracket) { begin(), text += bracket, depth_++, first_ = true; }
    void open(const char *name, char bracket) { key(name), open(bracket); }
    void close(char bracket) {
        depth_--;
        if (!first_) line();
        text += bracket;
        first_ = false;
    }
    void value(const std::string &s) {
        begin();
        text += '"';
        for (const char c : s) {
            if (c == '"' || c == '\\') text += '\\';
            text += static_cast<unsigned char>(c) < 32 ? ' ' : c;
        }
        text += '"';
    }
    void value(const char *s) { value(std::string(s)); }
    void value(double x) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.6g", x);
        begin();
        text += std::isfinite(x) ? digits : "null";
    }
    void value(int x) { begin(), text += std::to_string(x); }
    void value(size_t x) { begin(), text += std::to_string(x); }
    void value(const Spread &s) {
        open('{');
        put("median", s.median);
        put("min", s.least);
        put("max", s.most);
        put("count", s.all.size());
        close('}');
    }
    template <class T>
    void put(const char *name, const T &x) {
        key(name);
        value(x);
    }

  private:
    void key(const char *name) {
        value(name);
        text += ": ";
        after_key_ = true;
    }
    void begin() {
        if (after_key_) {
            after_key_ = false;
            return;
        }
        if (!first_) text += ',';
        if (depth_) line();
        first_ = false;
    }
    void line() { text += '\n' + std::string(static_cast<size_t>(depth_) * 2, ' '); }
    int depth_ = 0;
    bool first_ = true, after_key_ = false;
};

}  // namespace cudaenc::bench
