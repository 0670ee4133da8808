// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of a block coder. It takes code-blocks and coefficients. It returns a record a block and the bytes in
// the block's room; of truncatable blocks also length and distortion reduction of each truncation point. There are
// the MQ coder (T.800 Annexes C, D) and the HT coder (T.814). Tier-2 and rate allocation know them by this header
// alone.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../codestream/tables.h"
#include "styles.h"

namespace cudaenc::j2k {

// The style of the HT coder (T.814 Table A.4). Of the encoder it has no other beside it.
constexpr uint32_t kHt = 64;

// How blocks are coded.
struct BlockCoding {
    uint32_t style = 0;        // of code-blocks: Style
    bool truncatable = false;  // passes are measured, so that rate allocation can truncate codewords
    bool frame_steps = false;  // frames choose their quantiser steps: see step.h
    bool lossy = false;        // a block's last passes are coded only if they are worth their bits: worth_coding()
};

// How the blocks of a sub-band in one precinct are coded.
struct BandCoding {
    int32_t weight;  // log2_code() of what a squared step weighs in the picture's squared error
    uint32_t group;  // of blocks that share budgets: its tile-part, up to kLimitedTileParts
    uint16_t step;   // as QCD has it, see step.h; 0 where reversible
    uint16_t spare;  // Quantiser::spare
};

// What regions of interest add to the weights of blocks. of: [block]; nullptr: nothing.
struct RegionWeights {
    const int16_t *of = nullptr;
    CUDAENC_HD int operator[](size_t block) const { return of ? of[block] : 0; }
};

// What passes of a record are. Those of the MQ coder follow each other, a clean-up and then three a bit-plane. Those of
// the HT coder are cleanup passes in place of each other, with a bit-plane more each: a block has the last one alone.
// With kRefinedCleanUp they follow each other, too: a cleanup pass and up to two that refine it.
CUDAENC_HD constexpr bool are_alternatives(uint32_t style) { return (style & (kHt | kRefinedCleanUp)) == kHt; }
CUDAENC_HD constexpr int plane_of_pass(uint32_t style, int planes, int pass) {
    return planes - 1 - (are_alternatives(style) ? pass : (pass + 2) / 3);
}
CUDAENC_HD constexpr int kind_of_pass(uint32_t style, int pass) {
    return are_alternatives(style) ? kCleanUp : pass_kind(pass);
}
// What a packet header tells of a block with `passes` of its record: how many it has, and how many bit-planes are
// missing above those that it codes. planes: of the record; most: CodeBlock::planes.
CUDAENC_HD constexpr int signalled_passes(uint32_t style, int passes) {
    return are_alternatives(style) ? min_of(passes, 1) : passes;
}
CUDAENC_HD constexpr int missing_planes(uint32_t style, int most, int planes, int passes) {
    return most - planes + (are_alternatives(style) ? max_of(passes - 1, 0) : 0);
}

// What a block coder returns of a block.
struct CodedBlock {
    uint32_t bytes;                // of its codeword, all segments
    uint8_t planes;                // magnitude bit-planes from the first that is coded; 0: nothing is
    uint8_t passes;                // coding passes
    uint8_t always_included = 0;   // of these, that truncation keeps: see StopRule
    uint32_t estimated_bytes = 0;  // of the codeword, before it is there
    uint8_t codeword_passes = 0;   // of alternatives: the pass, counted from 1, whose codeword it is; 0: none
};

// What a block coder returns of truncation points, [block * max_passes + pass]. bytes: of the codeword up to the end of
// the pass, enough to decode it; where blocks are truncatable, of the codeword that is terminated there. Then also how
// it is terminated (CodewordEnd), and the pass's distortion reduction, but of passes that are always included.
struct TruncationPoints {
    uint32_t *bytes;
    uint32_t *terminations = nullptr;
    int32_t *reductions = nullptr;

    TruncationPoints from(size_t pass) const {
        return {.bytes = bytes + pass,
                .terminations = terminations ? terminations + pass : nullptr,
                .reductions = reductions ? reductions + pass : nullptr};
    }
};

// The records of a batch of blocks on a device: arrays of [block], or of [block * max_passes + pass], which is [pass]
// here. nullptr: the coder has none.
struct BlockRecords {
    uint8_t *codewords;
    const uint64_t *rooms;      // [block]: where its room in these begins, see place_rooms()
    uint8_t *planes;            // [block]: as CodedBlock has this and the next four
    uint8_t *passes;            // [block]
    uint32_t *bytes;            // [block]
    uint32_t *estimated_bytes;  // [block]: this and the next of truncatable blocks
    uint8_t *always_included;   // [block]
    uint32_t *pass_bytes;       // [pass]: as TruncationPoints has this and the next two
    uint32_t *terminations;     // [pass]: this and the next of truncatable blocks
    int32_t *reductions;        // [pass]: not of passes that are always included
    uint32_t *segment_begins;   // [pass]: where the MQ segment that ends there begins; nullptr: one behind the other

    CUDAENC_HD uint8_t *room(uint32_t block) const { return codewords + rooms[block]; }
};

// How a codeword ends at a truncation point: its bytes, and the last of them, which differ from those of a codeword
// that goes on. termination: in the lowest byte how many these are, up to three; above it the bytes, the first lowest.
struct CodewordEnd {
    uint32_t bytes, termination;
};

// With truncation each codeword needs room for so many bytes more: one that is truncated may be longer.
constexpr uint32_t kTerminationSlack = 3;

// Symbols of a pass begin at multiples of this where the MQ coder must know passes, since it loads so many at once. It
// need not know passes without style and truncation; with the bypass alone it knows segments.
constexpr uint32_t kPassAlignment = 16;

// Whether symbols are filled up so behind a pass of the MQ coder: where the codeword may be truncated, which is from
// `first_point` on; where its segment or the contexts end; behind symbols of segmentation.
CUDAENC_HD constexpr bool is_filled_up(uint32_t style, int pass, int first_point) {
    return pass >= first_point || (style & kReset) || ends_segment(style, pass) ||
           ((style & kSegmentationSymbols) && pass_kind(pass) == kCleanUp);
}

// With the bypass alone an MQ segment begins at most so many bytes behind the last one's pending byte, at a multiple of
// four. There is room to end that one later, and to keep what is needed for it.
constexpr uint32_t kSegmentGap = 16;

// Rooms are rounded up for vector loads.
CUDAENC_HD uint32_t round_up_room(uint32_t bytes) { return (bytes + 63) / 64 * 64; }

// A block's room where the MQ coder codes it. From its begin on lie the MQ codewords, which take the place of the
// symbols that they code; the bytes of raw segments lie at `raw`. All are rounded up for vector loads.
struct RoomLayout {
    uint32_t symbols, raw, bytes;
};
CUDAENC_HD RoomLayout room_layout(int width, int height, int planes, const BlockCoding &coding) {
    const auto columns = static_cast<uint32_t>(width), rows = static_cast<uint32_t>(height),
               passes = static_cast<uint32_t>(coding_passes(planes)), all = static_cast<uint32_t>(planes);
    const uint32_t samples = columns * rows, stripes = columns * ((rows + 3) / 4);
    // The most symbols come when every sample is coded in every plane, every sign once, and once a stripe column three
    // for one in run-length mode; the MQ coder's bytes are fewer.
    RoomLayout room{0, samples * all + samples + 2 * stripes + 64, 0};
    if (coding.style || coding.truncatable) {
        // A codeword ends with up to five bytes more, with the bypass alone kSegmentGap lie between segments; passes
        // are filled up to kPassAlignment symbols and have four of segmentation.
        room.symbols = round_up_room(5 * passes + (coding.style == kBypass ? passes / 3 * kSegmentGap : 0));
        room.raw += room.symbols + (kPassAlignment - 1) * passes +
                    4 * static_cast<uint32_t>(clean_up_passes(static_cast<int>(passes)));
    }
    room.raw = room.bytes = round_up_room(room.raw);
    if (coding.style & kBypass) room.bytes += round_up_room((samples * all + samples) * 2 / 15 + 3 * passes);
    return room;
}
CUDAENC_HD RoomLayout room_layout(const CodeBlock &b, const BlockCoding &coding) {
    return room_layout(b.width, b.height, b.planes, coding);
}

// Bytes that a block's codeword, and what a device keeps in its place, take at most, by any coder.
uint32_t codeword_room(const CodeBlock &block, const BlockCoding &coding);
// Gives each block its room, one behind the other. Returns where they begin, and where the last one ends.
std::vector<uint64_t> place_rooms(std::span<const CodeBlock> blocks, const BlockCoding &coding);

}  // namespace cudaenc::j2k
