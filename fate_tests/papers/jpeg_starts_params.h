// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../cuda_kernels/mjpeg/decode_params.h"

namespace cudaenc::mjpeg {

constexpr int kStartThreads = 256;
constexpr uint32_t kStarts = 512;  // bits from a subsequence's begin on, at which threads begin to decode

// What a thread found: its end, packed(), and how many blocks it read.
struct StartEnd {
    uint64_t end;
    uint64_t blocks;
};

// Decodes each subsequence from each start and each number in the MCU. Grid: a subsequence each.
struct StartsParams {
    static constexpr KernelName kernel{"jpeg_starts", "bench_jpeg_starts"};
    CodedScan scan;
    StartEnd *ends;  // [subsequences][kStarts][scan.mcu_blocks]
};

// Follows the chain through the starts that are right. Grid: one thread.
struct ChooseParams {
    static constexpr KernelName kernel{"jpeg_starts", "bench_jpeg_choose"};
    CodedScan scan;
    const StartEnd *ends;
    uint32_t subsequences;
    BlockStart *starts;  // [subsequences]
    uint64_t *blocks;    // of the chain; ~0: a block is longer than kStarts
};

}  // namespace cudaenc::mjpeg
