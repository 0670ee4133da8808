// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of nal.cu.
#pragma once
#include "cavlc_params.h"

namespace cudaenc::h264 {

// A group is what a thread-block of nal.cu joins: consecutive pieces of one slice, at most so many.
constexpr int kGroupPieces = 16, kGroupThreads = 32 * kGroupPieces;
struct alignas(16) GroupRange {
    uint32_t first, count;
    uint32_t begins_slice, ends_slice;
};

// What later groups know of each group, a word each, 0 before the picture.
struct GroupLinks {
    uint64_t *sums;  // GroupSum, of h264_cavlc
    // What groups publish (look_back.cuh) that may need emulation prevention.
    uint64_t *ends;         // zeros_state() of the bytes that end in the group
    uint64_t *preventions;  // emulation_prevention_three_bytes
};

// Grid: a thread-block a group, of kGroupThreads.
struct NalParams {
    static constexpr KernelName kernel{.module = "h264/nal", .function = "h264_nal", .overlaps = true};
    const GroupRange *ranges;
    const SliceHeaderBits *headers;  // of the slices, whose NAL units have equal headers
    const PieceBits *bits;           // of each piece
    const uint32_t *words;           // [word_pitch * piece]
    uint32_t word_pitch;
    GroupLinks links, next_links;  // those of the next picture become 0
    uint32_t *tickets;
    uint64_t *layer_bits;  // of h264_cavlc; becomes 0 for the next picture
    uint8_t *bytes;        // room for the NAL units of all slices
    NalResult *result;
    uint64_t *begins;  // gets the byte with which each group begins its NAL unit, or goes on; nullptr: nobody asks
};

}  // namespace cudaenc::h264
