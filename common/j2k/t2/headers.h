// Headers as the host writes them: marker segments of the main header (T.800 Annex A), boxes of a JP2 file (Annex I),
// packet headers. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../params.h"
#include "../step.h"

namespace cudaenc::j2k {

struct MainHeader {
    std::vector<uint8_t> bytes;   // SOC to the end of the main header, lengths of tile-parts zero
    uint32_t tlm = 0;             // where the first TLM marker segment begins; 0: there is none
    std::vector<ToldStep> steps;  // where frames choose theirs
};
// tile_parts: Geometry::tile_parts.
MainHeader make_main_header(const Params &params, std::span<const TilePart> tile_parts);

// Throws Error(CUDAENC_ERR_UNSUPPORTED) if the length does not fit the tile-part's header.
void check_tile_part_length(uint64_t bytes);

// The boxes before a codestream of `codestream` bytes: signature, file type, header with colour, and the head of the
// codestream's box. Empty unless params.jp2. Ignores a profile of other colours.
std::vector<uint8_t> make_jp2_boxes(const Params &params, const CudaencFrame &frame, uint64_t codestream);
// What of the frame's metadata the packet has not, or has and a JP2 file must not have, in a line; mostly empty.
std::string metadata_warning(const Params &params, const CudaencFrame &frame);

// COM marker segments that fill a packet of `bytes` bytes up to Params::least_bytes; they end the main header. Empty
// where it has as many.
std::vector<uint8_t> make_filler(const Params &params, uint64_t bytes);

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
