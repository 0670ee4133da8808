// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/t1/block.h"
#include "../../../common/j2k/t2/packet_header.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kTier2Threads = 128;
constexpr int kStuffingThreads = 256;
constexpr int kTagTreeThreads = 256;  // at most: larger thread-blocks wait long for room among other frames'

// The codestream is the main header, then segments, then EOC. A segment is a tile-part's header; or a packet, header
// and codewords. Tile-part t's header has the number of its first packet plus t. A packet's segment has the packet's
// number plus its tile-part's plus 1.
struct Tier2Buffers {
    const CodeBlock *blocks;
    const PrecinctBand *bands;
    const Packet *packets;
    const TilePart *tile_parts;
    const uint32_t *block_layers;  // [block layer]: its packet
    BlockRecords coded;
    uint8_t *layer_passes;  // [layer * blocks + block]: see LayerEnds; without truncation coded.passes
    uint32_t *layer_bytes;  // [layer * blocks + block]; without truncation coded.bytes
    TagNode *nodes;
    LayerSet *layer_sets;                // [precinct's sub-band]
    uint32_t *header_bits;               // [block layer]: in its packet's header
    const uint64_t *header_bits_before;  // [block layers + 1]
    uint32_t *raw_states;                // [words of raw]: see pack_state()
    uint32_t *raw;                       // packet headers' bits before stuffing; zero before
    uint32_t *segment_bytes;             // [packets + tile-parts], codewords not counted
    const uint64_t *segments_before;     // [packets + tile-parts + 1]
    uint32_t *bytes;                     // [block layer]: of its codeword
    const uint64_t *bytes_before;        // [block layers + 1]
    uint32_t *plt_bytes;                 // [packets]; nullptr: no PLT
    const uint64_t *plt_before;          // [packets + 1]
    uint32_t block_count, layers, block_layer_count, band_count, packet_count, tile_part_count;
    uint32_t sop, eph;
    BlockCoding coding;
    int32_t max_passes;
};

struct Tier2Input {
    Tier2Buffers t2;
};
// Tag trees, and the layers that have codewords. A thread-block of up to kTagTreeThreads owns a precinct's sub-band.
// Grid: band_count.
using TagTreesParams = KernelOf<Tier2Input, "j2k/t2/t2", "j2k_t2_tag_trees", LaunchPriority::kHigh>;
// Bits in packet headers, and bytes of codewords. A thread owns a block layer.
using HeaderBitsParams = KernelOf<Tier2Input, "j2k/t2/t2", "j2k_t2_header_bits", LaunchPriority::kHigh>;
// The bits themselves, before stuffing. A thread owns a block layer.
using WriteBitsParams = KernelOf<Tier2Input, "j2k/t2/t2", "j2k_t2_write_bits", LaunchPriority::kHigh>;
// Sizes of packet headers and PLT entries. A thread-block of kStuffingThreads owns a packet. Grid: packet_count.
using PacketSizesParams = KernelOf<Tier2Input, "j2k/t2/t2", "j2k_t2_packet_sizes", LaunchPriority::kHigh>;
// Sizes of tile-part headers. A thread owns a tile-part.
using TilePartSizesParams = KernelOf<Tier2Input, "j2k/t2/t2", "j2k_t2_tile_part_sizes", LaunchPriority::kHigh>;

constexpr uint32_t kNoteWords = 128;
struct CodestreamResult : WrittenSizes {
    uint64_t longest;           // tile-part, in bytes; 0: none is too long for its header
    uint32_t note[kNoteWords];  // Codestream::note
};

struct Codestream {
    uint8_t *data;      // begins with the main header
    uint64_t capacity;  // a longer codestream is not written
    uint32_t main_header;
    uint32_t tlm;             // MainHeader::tlm
    const SpqcdField *steps;  // MainHeader::steps, [step_count]
    uint32_t step_count;
    CodestreamResult *result;
    const uint32_t *frame_step;  // of the frame, see step.h; nullptr: the session's steps
    const uint32_t *note;        // [note_words]: goes into the result, so that one download brings it
    uint32_t note_words;
};
struct CodestreamInput {
    Tier2Buffers t2;
    Codestream out;
};
// Everything but codewords: tile-part headers, packet headers, PLT entries. Grid: max(packet_count, tile_part_count),
// of kStuffingThreads.
using WriteHeadersParams = KernelOf<CodestreamInput, "j2k/t2/t2", "j2k_t2_write_headers", LaunchPriority::kHigh>;
// Codewords. A warp owns a block layer.
using GatherParams = KernelOf<CodestreamInput, "j2k/t2/t2", "j2k_t2_gather", LaunchPriority::kHigh>;
// ... of blocks with raw segments, which do not lie among the MQ segments.
using GatherWithRawParams = KernelOf<CodestreamInput, "j2k/t2/t2", "j2k_t2_gather_with_raw", LaunchPriority::kHigh>;

}  // namespace cudaenc::j2k
