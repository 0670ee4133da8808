// SPDX-License-Identifier: LGPL-2.1-or-later
#include "extended_cpu.h"

#include <algorithm>
#include <cstring>

#include "idct.h"
#include "progressive_cpu.h"

namespace cudaenc::mjpeg {

namespace {

constexpr int kBits = 12;

struct Block {
    uint32_t at[kBlockSize][kBlockSize];  // coefficients, then samples in the upper left corner
};

// libjpeg's accurate inverse DCT of 12 bits, to 8 >> Lowres rows and columns.
template <int Lowres>
void idct_12_bits(Block &block) {
    constexpr int kSize = kBlockSize >> Lowres;
    for (int x = 0; x < kBlockSize; x++) {
        uint32_t column[kBlockSize];
        for (int y = 0; y < kBlockSize; y++) column[y] = block.at[y][x];
        reduced_idct<IdctPass::columns, int32_t, Lowres, kDeepIdctFraction>(column);
        for (int y = 0; y < kSize; y++) block.at[y][x] = column[y];
    }
    for (int y = 0; y < kSize; y++) reduced_idct<IdctPass::rows, int32_t, Lowres, kDeepIdctFraction>(block.at[y]);
}

void transform(const int16_t *levels, const uint16_t (&divisors)[kBlockSamples], int lowres, Block &block) {
    for (int k = 0; k < kBlockSamples; k++)
        block.at[k / kBlockSize][k % kBlockSize] = static_cast<uint32_t>(int32_t{levels[k]} * divisors[k]);
    switch (lowres) {
        case 0:
            return idct_12_bits<0>(block);
        case 1:
            return idct_12_bits<1>(block);
        case 2:
            return idct_12_bits<2>(block);
        default:
            block.at[0][0] = idct_dc(block.at[0][0]);
    }
}

}  // namespace

void decode_12_bits(const CodedStream &stream, const DecoderOptions &options, const CudaencCodedPicture &to,
                    ThreadPool &pool, std::string &damage) {
    const std::vector<CoefficientPlane> planes = decode_coefficients(stream, pool, damage);
    const int size = kBlockSize >> options.lowres;
    for (size_t c = 0; c < planes.size(); c++) {
        const StreamComponent &component = stream.components[c];
        const int width = reduced_size(component.width, options.lowres),
                  height = reduced_size(component.height, options.lowres);
        pool.for_each(static_cast<size_t>(component.rows), [&](size_t row) {
            const int top = static_cast<int>(row) * size;
            const int16_t *levels =
                planes[c].levels.get() + row * static_cast<size_t>(planes[c].columns) * kBlockSamples;
            for (int left = 0; left < width; left += size, levels += kBlockSamples) {
                Block block;
                transform(levels, component.divisors, options.lowres, block);
                for (int y = 0; y < std::min(size, height - top); y++)
                    for (int x = 0; x < std::min(size, width - left); x++) {
                        const auto word = static_cast<uint16_t>(clamp_sample<kBits>(block.at[y][x]) << (16 - kBits));
                        std::memcpy(to.planes[c] + (top + y) * to.stride[c] + 2 * (left + x), &word, sizeof word);
                    }
            }
        });
    }
}

}  // namespace cudaenc::mjpeg
