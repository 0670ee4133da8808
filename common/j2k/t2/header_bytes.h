// Packet headers as the host writes them. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <vector>

namespace cudaenc::j2k {

// A packet header, as a sink of put_block_header(): a zero bit is stuffed after each byte 0xFF (T.800 B.10.1).
class HeaderBytes {
  public:
    std::vector<uint8_t> bytes;
    void put(uint32_t value, int count) {
        while (count--) {
            current_ = current_ << 1 | ((value >> count) & 1);
            if (++filled_ == room_) emit();
        }
    }
    void finish() {
        if (filled_) {
            current_ <<= room_ - filled_;
            emit();
        }
        if (!bytes.empty() && bytes.back() == 0xFF) bytes.push_back(0);  // a header does not end with 0xFF
    }

  private:
    void emit() {
        bytes.push_back(static_cast<uint8_t>(current_));
        room_ = current_ == 0xFF ? 7 : 8;
        current_ = 0;
        filled_ = 0;
    }
    uint32_t current_ = 0;
    int filled_ = 0, room_ = 8;
};

}  // namespace cudaenc::j2k
