// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of dct_forms.cu.
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"

namespace cudaenc::mjpeg {

// A plane of floats whose sides are multiples of 8. Grid: its 8x8 blocks, so many a thread-block.
struct DctPlane {
    float *samples;         // in place
    const float *matrix;    // [8][8]: C; of the inverse transform its transpose
    const float *divisors;  // [8][8]
    uint32_t blocks_across, blocks;
};
struct DctOneBlockParams : DctPlane {  // 64 threads
    static constexpr KernelName kernel{"dct_forms", "papers_dct_1"};
};
struct DctEightBlocksParams : DctPlane {  // 512 threads
    static constexpr KernelName kernel{"dct_forms", "papers_dct_8"};
};
struct QuantiseGlobalParams : DctPlane {  // 64 threads; as are the next two
    static constexpr KernelName kernel{"dct_forms", "papers_quantise_global"};
};
struct QuantiseSharedParams : DctPlane {
    static constexpr KernelName kernel{"dct_forms", "papers_quantise_shared"};
};
struct QuantiseLoadedParams : DctPlane {
    static constexpr KernelName kernel{"dct_forms", "papers_quantise_loaded"};
};

}  // namespace cudaenc::mjpeg
