// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC of a plane of 4x4 blocks (H.264, 9.2), for coefficients of other formats. A thread codes a block. Bits are
// counted, added up by compact.cu, then put where they belong. A thread counts total_coeff of its neighbours itself.
#include "block_words.cuh"
#include "plane_coder_params.h"

namespace cudaenc::h264 {

// The block of a thread. With all threads of a warp.
struct PlaneBlock {
    const PlaneArguments &p;
    const uint32_t index = static_cast<uint32_t>(block_x()) * kPlaneThreads + static_cast<uint32_t>(thread_x());
    const bool present = index < p.plane.blocks();

    DEVICE_MEMBER uint32_t nonzero(const BlockWords &scanned) const {
        return nonzero_mask(scanned) >> p.plane.without_dc;
    }
    DEVICE_MEMBER BlockWords load(uint32_t block) const { return load_block(p.coefficients + 16 * uint64_t{block}); }
    // Of another block, whose first coefficient is that of the scan in both orders.
    DEVICE_MEMBER int total(uint32_t block) const { return popcount(nonzero(load(block))); }

    // levels: shared memory of the thread-block.
    template <class Bits>
    DEVICE_MEMBER void code(auto &levels, Bits &bits) const {
        if (!present) return;
        BlockWords block = load(index);
        if (!p.plane.scanned) block = zigzag(block);
        uint32_t *own = &levels[thread_x() * kPitch];
        store_block(block, own);
        const int left = index % p.plane.columns ? total(index - 1) : -1,
                  above = index >= p.plane.columns ? total(index - p.plane.columns) : -1;
        const SharedLevels scanned{halves_of(opaque_shared(own)) + p.plane.without_dc};
        code_block(*p.tables, {token_table(predict_total(left, above)), kZeros4x4, p.plane.without_dc ? 15 : 16},
                   nonzero(block), scanned, 0, bits);
    }
    static constexpr int kPitch = 9;  // words; odd, against bank conflicts
};

KERNEL(kPlaneThreads, h264_plane_count, PlaneCountParams)
{
    SHARED(uint32_t, levels, kPlaneThreads *PlaneBlock::kPitch);
    const PlaneBlock block{p};
    BitCounter bits;
    block.code(levels, bits);
    if (!block.present) return;
    p.sizes[block.index] = bits.bits;
    if (p.lengths) p.lengths[block.index] = static_cast<uint16_t>(bits.bits);
}

// Words of memory in the order of their bytes, of which threads may share one.
struct SharedWords {
    uint32_t *next;
    DEVICE_MEMBER void put(uint32_t word, bool full = true) {
        if (full) atomic_or(next, byte_permute(word, 0, 0x0123));
        next += full;
    }
};

KERNEL(kPlaneThreads, h264_plane_code, PlaneCodeParams)
{
    SHARED(uint32_t, levels, kPlaneThreads *PlaneBlock::kPitch);
    const PlaneBlock block{p};
    const uint64_t begin = block.present ? p.offsets[block.index] : 0;
    WordWriter<SharedWords> bits{{p.words + begin / 32}, static_cast<uint32_t>(begin % 32), 0};
    block.code(levels, bits);
    if (bits.bits % 32) bits.words.put(bits.pending);
}

}  // namespace cudaenc::h264
