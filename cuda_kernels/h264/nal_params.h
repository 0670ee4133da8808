// Parameters of nal.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/h264/nal.h"
#include "../../common/kernel_name.h"
#include "cavlc_params.h"

namespace cudaenc::h264 {

constexpr int kPlaceThreads = 1024, kPackThreads = 128;

// Where a piece's bits are: among those of the RBSPs of all slices, each of which begins with a byte.
struct PiecePlace {
    uint32_t bit;          // where the head begins
    uint32_t preventions;  // before bytes that begin in the piece
    uint64_t byte;         // the first of these, in the NAL units
};

// What the host learns of a picture.
struct NalResult {
    uint64_t bytes;   // of all NAL units
    uint32_t failed;  // 1: macroblocks have more bits than they may, and there are no NAL units
};

struct NalBuffers {
    CodedPieces pieces;
    const PieceRange *ranges;
    PiecePlace *places;
    NalResult *result;
    uint32_t count;  // pieces
};

struct PlaceParams {  // grid: one thread-block
    static constexpr KernelName kernel{"h264/nal", "h264_place"};
    NalBuffers buffers;
};
struct PackParams {  // grid: kPackThreads / 32 pieces a thread-block
    static constexpr KernelName kernel{"h264/nal", "h264_pack"};
    NalBuffers buffers;
    uint8_t *bytes;
};

}  // namespace cudaenc::h264
