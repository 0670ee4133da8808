// SPDX-License-Identifier: LGPL-2.1-or-later
// Bytes of headers, in network order.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace cudaenc {

class Bytes {
  public:
    std::vector<uint8_t> data;
    void put8(uint32_t x) { data.push_back(static_cast<uint8_t>(x)); }
    void put16(uint32_t x) { put8(x >> 8), put8(x); }
    void put32(uint32_t x) { put16(x >> 16), put16(x); }
    void put_text(const char *s) { data.insert(data.end(), s, s + std::strlen(s)); }
    void put_bytes(const uint8_t *s, size_t n) { data.insert(data.end(), s, s + n); }
};

}  // namespace cudaenc
