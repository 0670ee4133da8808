// Parameters of pack.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../../common/kernel_name.h"
#include "code_params.h"

namespace cudaenc::mjpeg {

constexpr int kPlaceThreads = 1024, kPackThreads = 128;

// A scan's entropy-coded data among the bytes of the frame.
struct ScanData {
    uint32_t first_piece, pieces;
    uint32_t interval_pieces;
};

// What the host learns of a frame.
struct FrameResult {
    uint64_t bytes;                 // of all scans' entropy-coded data
    uint64_t scan[kMaxComponents];  // where each begins
    uint64_t words;                 // that pieces needed; above their capacity: there are no bytes yet
    HuffmanSpecs huffman;           // where they were made for the picture
};

struct PackBuffers {
    CodedWords coded;
    uint64_t *bits_before;  // [pieces]: of all pieces before it, without padding
    uint64_t *places;       // [pieces]: of the first byte that begins in it, in the frame's bytes
    FrameResult *result;
    uint32_t pieces;
    uint32_t scans;
    ScanData scan[kMaxComponents];
};

struct PlaceParams {  // grid: one thread-block
    static constexpr KernelName kernel{"mjpeg/pack", "mjpeg_place"};
    PackBuffers buffers;
};
struct PackParams {  // grid: kPackThreads / 32 pieces a thread-block
    static constexpr KernelName kernel{"mjpeg/pack", "mjpeg_pack"};
    PackBuffers buffers;
    uint8_t *bytes;
    uint64_t capacity;  // nothing is written where it is too small
};

}  // namespace cudaenc::mjpeg
