// SPDX-License-Identifier: LGPL-2.1-or-later
// Entropy decoding on the CPU (T.81 F.2.2).
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coded_data.h"
#include "huffman_decode.h"

namespace cudaenc::mjpeg {

// The bits of a segment, the first the highest. kCodedPadding bytes behind it must be readable.
class BitReader {
  public:
    BitReader(const CodedData &data, const CodedSegment &segment)
        : next_(data.bytes.data() + segment.begin), left_(static_cast<int64_t>(segment.end - segment.begin) * 8) {}
    // The next 32. Those behind the segment are undefined.
    uint32_t peek() {
        if (held_ < 32) {
            uint64_t word;
            std::memcpy(&word, next_, sizeof word);
            if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
            bits_ |= word >> held_;
            next_ += (63 - held_) >> 3;
            held_ |= 56;
        }
        return static_cast<uint32_t>(bits_ >> 32);
    }
    // Takes 1 to 31 of them away. False: the segment does not have as many, and ends.
    bool skip(int count) {
        left_ -= count;
        bits_ <<= count;
        held_ -= count;
        return left_ >= 0;
    }
    // Whether more follows than may stand behind the last block of a scan. padding: StreamScan::padding.
    bool has_excess(int padding) const { return left_ >= excess_bits(padding); }

  private:
    const uint8_t *next_;
    uint64_t bits_ = 0;
    int held_ = 0;
    int64_t left_;
};

// A block as it was decoded.
struct DecodedBlock {
    int last;      // the highest place that may hold a level
    bool ended;    // the segment ended within the block, or before it
    bool damaged;  // a code that is none, or a level beyond the block's end; the block ends there
};

// Decodes the levels of a block, by index, into memory of zeros. prediction: of DC, before the block and after it. Of a
// block that the segment's end cuts, whole symbols count.
[[gnu::always_inline]] inline DecodedBlock decode_block(BitReader &from, const DecodeTable &dc, const DecodeTable &ac,
                                                        uint32_t &prediction, int16_t *levels) {
    BitReader reader = from;  // in registers
    DecodedBlock block{.last = 0, .ended = true, .damaged = false};
    uint32_t bits = reader.peek();
    Step step = dc.find(bits);
    if (reader.skip(step.bits())) {
        prediction += static_cast<uint32_t>(magnitude_of(bits, step));
        levels[0] = static_cast<int16_t>(prediction);
        block.damaged = step.places() > 1;
        for (int place = step.places(); block.ended = place < kBlockSamples, block.ended;) {
            bits = reader.peek();
            step = ac.find(bits);
            if (!reader.skip(step.bits())) break;
            place += step.places();
            if (!step.magnitude_bits()) continue;
            if (place > kBlockSamples) {
                block.damaged = true;
                continue;
            }
            levels[kZigzag[place - 1]] = static_cast<int16_t>(magnitude_of(bits, step));
            block.last = place - 1;
        }
    }
    from = reader;
    return block;
}

}  // namespace cudaenc::mjpeg
