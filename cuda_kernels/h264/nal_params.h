// Parameters of nal.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "cavlc_params.h"

namespace cudaenc::h264 {

// A group is what a thread-block of nal.cu joins: consecutive pieces of one slice, at most so many.
constexpr int kGroupPieces = 16, kGroupThreads = 32 * kGroupPieces;
struct alignas(16) GroupRange {
    uint32_t first, count;
    uint32_t begins_slice, ends_slice;
};

// What groups publish for later ones (look_back.cuh), a word each.
struct GroupLinks {
    uint64_t *phases;  // bits up to the end of the group, counted from the beginning of a byte
    uint64_t *ends;    // what end_of_bits() says
    uint64_t *bytes;   // written for the group
    uint32_t *tickets;
    uint32_t serial;  // of the picture, 1..255 in turn
};

// Grid: a thread-block a group, of kGroupThreads.
struct NalParams {
    static constexpr KernelName kernel{.module = "h264/nal", .function = "h264_nal", .overlaps = true};
    const GroupRange *ranges;
    const PieceBits *bits;  // of each piece
    const uint32_t *words;  // [word_pitch * piece]
    uint32_t word_pitch;
    GroupLinks links;
    uint64_t *layer_bits;  // of h264_cavlc; becomes 0 for the next picture
    uint8_t *bytes;        // room for the NAL units of all slices
    NalResult *result;
};

}  // namespace cudaenc::h264
