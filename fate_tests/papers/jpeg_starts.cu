// SPDX-License-Identifier: LGPL-2.1-or-later
// Huffman decoding from each bit at which a code may begin, after P. Patel, J. Wong, M. Tatikonda, J. Marczewski, "JPEG
// compression algorithm using CUDA" (2009), section 4.3: one of the starts is right, and the segment before tells
// which. An experiment of the benchmarks; no decoder uses it.
#include "../../cuda_kernels/mjpeg/walk.cuh"
#include "jpeg_starts_params.h"

namespace cudaenc::mjpeg {

namespace {

struct StartCounter {
    static constexpr bool kBlocksOnly = true;
    uint64_t blocks = 0;
    DEVICE_MEMBER void symbol(uint32_t, bool, int, uint32_t, Step) {}
    DEVICE_MEMBER void end_block(uint32_t) { blocks++; }
    DEVICE_MEMBER void end_interval(uint32_t) {}
};

}  // namespace

// A thread owns every kStartThreads-th start of the subsequence.
KERNEL(kStartThreads, bench_jpeg_starts, StartsParams)
{
    SHARED(TableVector, table_memory, kLookUpVectors);
    const LookUps &tables = load_tables<kLookUpVectors>(p.scan, table_memory);
    const uint32_t own = static_cast<uint32_t>(block_x()), begin = own * p.scan.subsequence_bits;
    const uint32_t starts = kStarts * p.scan.mcu_blocks;
    for (uint32_t i = static_cast<uint32_t>(thread_x()); i < starts; i += kStartThreads) {
        Walk walk(p.scan, tables, BlockStart{begin + i / p.scan.mcu_blocks, i % p.scan.mcu_blocks});
        StartCounter counter;
        walk.run(begin + p.scan.subsequence_bits, counter);
        p.ends[size_t{own} * starts + i] = {.end = packed(walk.at()), .blocks = counter.blocks};
    }
}

KERNEL(32, bench_jpeg_choose, ChooseParams)
{
    if (thread_x()) return;
    const uint32_t bits = 8 * p.scan.state->bytes;
    BlockStart at{0, 0};
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < p.subsequences && at.bit < bits; i++) {
        const uint32_t start = at.bit - i * p.scan.subsequence_bits;
        if (start >= kStarts) {
            blocks = ~uint64_t{0};
            break;
        }
        const StartEnd &found = p.ends[(size_t{i} * kStarts + start) * p.scan.mcu_blocks + at.phase];
        p.starts[i] = at;
        blocks += found.blocks;
        at = unpacked(found.end);
    }
    *p.blocks = blocks;
}

}  // namespace cudaenc::mjpeg
