// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ decoding on a device: its parameters.
#pragma once
#include "../../../common/j2k/t1/mq.h"
#include "../../../common/kernel_name.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

// MQ decoding: a lane a block. Samples go by words: bit 4 x + y is row y of column x, 4 rows and 8 columns, in the
// order of the scan (T.800 Figure D.1). Grid: warps enough for the picture's LaneShares, of kMqDecodeThreads.
constexpr int kMqDecodeThreads = 32;
// Up to 32x32 samples, and larger ones up to 4x1024: words of a block, and of all of a warp, whose significance and
// whose signs are in shared memory.
constexpr uint32_t kMqDecodeWords = 32, kMqDecodeMostWords = 256;
constexpr uint32_t kMqDecodeRoom = 1024, kMqDecodeLargeRoom = 2048;
// Lanes of a warp that can take a block of so many words.
CUDAENC_HD constexpr int mq_decode_lanes(uint32_t words) {
    return words <= kMqDecodeWords ? 32 : words <= kMqDecodeLargeRoom / 16 ? 16 : 8;
}
// How decisions are coded, context << 1 | what they are flipped by: zero coding, [zero_coding_row()][the 3 x 3 samples,
// column by column, bit 8 of them is that in the first row and the first column but one]; signs by sign_coding_index().
constexpr uint32_t kSignCodings = 3 * 512, kCodings = kSignCodings + 512;
struct MqDecodeTables {
    MqTable rows;
    uint8_t codings[kCodings];
};
constexpr uint32_t kMqDecodeTableWords = sizeof(MqDecodeTables) / 4;
// Of a word: what the significance propagation has visited, and of samples that the magnitude refinement has, their
// bits; which those are.
struct alignas(8) MqVisit {
    uint32_t visited, refined;
};
struct MqDecodeInput {
    CodedBlocks coded;
    const MqDecodeTables *tables;
    // Those of a warp's lanes lie side by side.
    MqVisit *visits;   // [block][most_words]
    uint32_t *planes;  // [block][most_planes][most_words]
    uint32_t most_words;
    int32_t most_planes;  // of a block; others count as damaged
};
using MqDecodeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode">;
using MqDecodeLargeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode_large">;
CUDAENC_HD constexpr uint64_t mq_planes_words(uint32_t most_words, int most_planes) {  // of a block
    return static_cast<uint64_t>(most_words) * static_cast<uint32_t>(most_planes);
}

// Of what is around a sample, in columns of six rows: bits 0 to 2 are the rows of the column before, 6 to 8 those of
// the own one, 12 to 14 those of the one behind. The 3 x 3 samples in 9 bits, columns in the opposite order, which has
// the same contexts.
CUDAENC_HD constexpr uint32_t zero_coding_index(uint32_t around) { return (around & 0x71C7) * 0x20100800u >> 23; }
// Of W, N, S and E: whether they are significant, above it whether they are negative. negative: a bit higher.
CUDAENC_HD constexpr uint32_t sign_coding_index(uint32_t around, uint32_t negative) {
    const uint32_t all = (around & 0x2142) | (negative & 0x4284);
    return ((all | all >> 10) & 0x3DE) >> 1;
}

}  // namespace cudaenc::j2k
