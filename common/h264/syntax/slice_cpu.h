// SPDX-License-Identifier: LGPL-2.1-or-later
// Slices coded on the CPU. It is also the oracle: the device gives the same bytes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../../bit_writer.h"
#include "../../thread_pool.h"
#include "headers.h"

namespace cudaenc::h264 {

// Bits of macroblock_layer(), mb_qp_delta as it is, pcm_alignment_zero_bits at their most. totals: see
// code_macroblock().
uint32_t count_macroblock(const CodedFormat &format, const CodedPicture &picture, uint32_t address, uint32_t first,
                          uint8_t *totals);

// What slices took.
struct SliceSizes {
    std::vector<size_t> nal_bytes;          // of each slice's NAL unit without its start code
    std::vector<uint32_t> macroblock_bits;  // of each macroblock, with mb_skip_run before it
};

class SliceCoder {
  public:
    SliceCoder(const CodedFormat &format, std::vector<Slice> slices);
    // The NAL units of all slices in order. headers: one a slice.
    std::span<const uint8_t> code(ThreadPool &pool, const CodedPicture &picture, const SliceHeaderBits *headers);

    // The slices from the next code() on.
    void set_slices(const std::vector<Slice> &slices);
    // Of the last code().
    const SliceSizes &sizes() const { return sizes_; }

  private:
    struct Coded {
        BitWriter bits;
        std::vector<uint8_t> nal;
    };
    void prefetch_levels(const CodedPicture &picture, uint32_t address) const;
    void code_slice(const CodedPicture &picture, const SliceHeaderBits &header, const Slice &slice, Coded &coded);

    const CodedFormat format_;
    std::vector<Slice> slices_;
    std::vector<uint8_t> totals_;  // total_coeff of all blocks
    SliceSizes sizes_;
    std::vector<Coded> coded_;
    std::vector<uint8_t> bytes_;
};

}  // namespace cudaenc::h264
