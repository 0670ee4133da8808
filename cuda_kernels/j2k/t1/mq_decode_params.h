// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ decoding on a device: its parameters.
#pragma once
#include "../../../common/j2k/t1/mq.h"
#include "../../../common/kernel_name.h"
#include "block_decoder_params.h"

namespace cudaenc::j2k {

// MQ decoding: a lane a block. Samples go by words: bit 4 x + y is row y of column x, 4 rows and 8 columns, in the
// order of the scan (T.800 Figure D.1). Grid: ceil(blocks / lanes), of kMqDecodeThreads.
constexpr int kMqDecodeThreads = 32;
// Up to 32x32 samples, and larger ones up to 4x1024: words of a block, and of all of a warp, whose significance and
// whose signs are in shared memory.
constexpr uint32_t kMqDecodeWords = 32, kMqDecodeMostWords = 256;
constexpr uint32_t kMqDecodeRoom = 1024, kMqDecodeLargeRoom = 2048;
// Lanes of a warp that can take a block of so many words.
CUDAENC_HD constexpr int mq_decode_lanes(uint32_t words) {
    return words <= kMqDecodeWords ? 32 : words <= kMqDecodeLargeRoom / 16 ? 16 : 8;
}
// How decisions are coded, context << 1 | what they are flipped by: ContextTables::zero_coding, then its `sign`.
constexpr uint32_t kSignCodings = 4 * 512, kCodings = kSignCodings + 256;
struct MqDecodeTables {
    MqTable rows;
    uint8_t codings[kCodings];
};
constexpr uint32_t kMqDecodeTableWords = sizeof(MqDecodeTables) / 4;
struct MqDecodeInput {
    CodedBlocks coded;
    const MqDecodeTables *tables;
    uint32_t *planes;  // [warp][mq_planes_words()]
    int32_t lanes;     // of a warp that take a block
    uint32_t most_words;
    int32_t most_planes;  // of a block; others count as damaged
};
using MqDecodeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode">;
using MqDecodeLargeParams = KernelOf<MqDecodeInput, "j2k/t1/mq_decode", "j2k_t1_mq_decode_large">;
// Of each lane's words: what is visited, what is refined, and the bit-planes.
CUDAENC_HD constexpr uint64_t mq_planes_words(int lanes, uint32_t most_words, int most_planes) {
    return static_cast<uint64_t>(lanes) * most_words * static_cast<uint32_t>(most_planes + 2);
}

}  // namespace cudaenc::j2k
