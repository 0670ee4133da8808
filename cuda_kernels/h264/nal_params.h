// Parameters of nal.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "cavlc_params.h"

namespace cudaenc::h264 {

// A group is what a thread-block of nal.cu joins: at most so many pieces of one slice that follow each other.
constexpr int kGroupPieces = 16, kGroupThreads = 32 * kGroupPieces;
struct alignas(16) GroupRange {
    uint32_t first, count;
    uint32_t begins_slice, ends_slice;
};

// What groups tell those after them, see look_back.cuh: a word each.
struct GroupLinks {
    uint64_t *phases;  // bits, counted from a byte's beginning
    uint64_t *ends;    // of the bytes that end in groups: what follows the last one, and zeros
    uint64_t *bytes;   // that end in the group, and what goes with them
    uint32_t *tickets;
    uint32_t serial;  // of the picture, 1..255 in turn
};

// Grid: a thread-block a group, of kGroupThreads.
struct NalParams {
    static constexpr KernelName kernel{"h264/nal", "h264_nal"};
    const GroupRange *ranges;
    const PieceBits *bits;  // of each piece
    const uint32_t *words;  // [word_pitch * piece]
    uint32_t word_pitch;
    GroupLinks links;
    uint8_t *bytes;  // the NAL units of all slices: as many as they have at most
    NalResult *result;
};

}  // namespace cudaenc::h264
