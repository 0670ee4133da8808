// SPDX-License-Identifier: LGPL-2.1-or-later
// DCT and quantisers of Patel et al. (2009), sections 4.1 and 4.2: products with the matrix of cosines, a thread a
// coefficient, one or eight blocks a thread-block; three quantisers, which divide, round and multiply again.
#include "../../cuda_kernels/device.cuh"
#include "dct_forms_params.h"

namespace cudaenc::mjpeg {

// The sample of a thread: 64 threads own a block.
DEVICE float *sample_of(const DctPlane &p, uint32_t block, int t) {
    const uint64_t row = block / p.blocks_across * 8 + static_cast<uint32_t>(t) / 8;
    return p.samples + (row * p.blocks_across + block % p.blocks_across) * 8 + t % 8;
}
DEVICE float rounded(float value) {  // to the nearest, halves away from 0
    const float half = value < 0 ? -0.5f : 0.5f;
    return static_cast<float>(static_cast<int32_t>(value + half));
}

// C M C^T. With all threads.
template <int Blocks>
DEVICE void transform(const DctPlane &p, auto &tile, auto &matrix) {
    const int t = thread_x() % 64, row = t / 8, column = t % 8, first = thread_x() / 64 * 64;
    const uint32_t block = static_cast<uint32_t>(block_x()) * Blocks + static_cast<uint32_t>(thread_x() / 64);
    const bool present = block < p.blocks;
    if (thread_x() < 64) matrix[t] = p.matrix[t];
    tile[thread_x()] = present ? *sample_of(p, block, t) : 0;
    block_sync();
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += matrix[8 * row + k] * tile[first + 8 * k + column];
    block_sync();
    tile[thread_x()] = sum;
    block_sync();
    sum = 0;
    for (int k = 0; k < 8; k++) sum += tile[first + 8 * row + k] * matrix[8 * column + k];
    if (present) *sample_of(p, block, t) = sum;
}

KERNEL(64, papers_dct_1, DctOneBlockParams)
{
    SHARED(float, tile, 64);
    SHARED(float, matrix, 64);
    transform<1>(p, tile, matrix);
}
KERNEL(512, papers_dct_8, DctEightBlocksParams)
{
    SHARED(float, tile, 512);
    SHARED(float, matrix, 64);
    transform<8>(p, tile, matrix);
}

// Method 1: all in global memory.
KERNEL(64, papers_quantise_global, QuantiseGlobalParams)
{
    float *sample = sample_of(p, static_cast<uint32_t>(block_x()), thread_x());
    *sample = rounded(*sample / p.divisors[thread_x()]);
    *sample = *sample * p.divisors[thread_x()];
}
// Method 2: the block is copied to shared memory, quantised there and copied back.
KERNEL(64, papers_quantise_shared, QuantiseSharedParams)
{
    SHARED(float, tile, 64);
    float *sample = sample_of(p, static_cast<uint32_t>(block_x()), thread_x());
    tile[thread_x()] = *sample;
    block_sync();
    tile[thread_x()] = rounded(tile[thread_x()] / p.divisors[thread_x()]);
    tile[thread_x()] = tile[thread_x()] * p.divisors[thread_x()];
    block_sync();
    *sample = tile[thread_x()];
}
// Method 3: shared memory is loaded with quotients.
KERNEL(64, papers_quantise_loaded, QuantiseLoadedParams)
{
    SHARED(float, tile, 64);
    float *sample = sample_of(p, static_cast<uint32_t>(block_x()), thread_x());
    tile[thread_x()] = rounded(*sample / p.divisors[thread_x()]);
    block_sync();
    *sample = tile[thread_x()] * p.divisors[thread_x()];
}

}  // namespace cudaenc::mjpeg
