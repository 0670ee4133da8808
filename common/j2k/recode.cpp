// SPDX-License-Identifier: LGPL-2.1-or-later
#include "recode.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "../error.h"
#include "block_coders.h"
#include "codestream/coefficient.h"
#include "codestream/main_header.h"
#include "codestream/read_headers.h"
#include "decoder_params.h"
#include "t1/block_decoder.h"
#include "t1/ht_cpu.h"
#include "t1/t1_cpu.h"
#include "t2/packet_reader.h"
#include "t2/tier2_cpu.h"

namespace cudaenc::j2k {

namespace {

constexpr size_t kBatch = 8;  // blocks that a thread takes at once

[[noreturn]] void unsupported(const std::string &what) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "JPEG 2000: recoding of " + what + " is not supported");
}

void check(const Description &d) {
    if (!d.damage.empty()) throw Error(CUDAENC_ERR_INVALID, d.damage);
    if (!d.own_coding.empty()) unsupported("tiles that are coded in a way of their own");
    if (d.components.size() > 256) unsupported(format_string("%zu components", d.components.size()));
    if (d.layers > kMaxLayers) unsupported(format_string("%d layers", d.layers));
}

// T.814 A.3: one HT set, HT blocks alone.
uint32_t capabilities_of(const Description &d) {
    constexpr uint32_t kRegion = 1u << 12, kHeterogeneous = 1u << 11, kIrreversible = 1u << 5;
    uint32_t capabilities = d.coc.empty() ? 0 : kHeterogeneous;
    int bound = 0;  // of magnitudes, 8.7.3
    for (size_t c = 0; c < d.components.size(); c++) {
        const ComponentCoding &k = d.of_component(c);
        if (!k.reversible) capabilities |= kIrreversible;
        if (d.region_shift(c)) capabilities |= kRegion;
        for (int band = 0; band < 3 * k.levels + 1; band++) {
            const int r = resolution_of(band), level = r ? k.levels + 1 - r : k.levels;
            const int planes = d.quantisation[c].planes(band) + d.region_shift(c);
            bound = std::max(bound, k.reversible ? planes : planes + 1 - level);
        }
    }
    return capabilities | static_cast<uint32_t>(bound <= 8 ? 0 : bound < 28 ? bound - 8 : 13 + (bound >> 2));
}

// The same codestream with blocks of another coder.
Description with_coder(const Description &d, bool to_ht) {
    Description o = d;
    o.style = to_ht ? kHt : 0;
    for (auto &[c, coding] : o.coc) coding.style = o.style;
    o.part = to_ht ? kPart15 : 0;
    o.capabilities = to_ht ? capabilities_of(d) : 0;
    o.tile_parts = 0;
    o.coded_tile_parts.clear();
    return o;
}

EncoderGeometry geometry_of(const Description &o, const Geometry &g) {
    EncoderGeometry e{g, {.style = o.style}, std::vector<BandCoding>(g.precinct_bands.size()), 0};
    for (const CodeBlock &b : g.blocks)
        e.max_passes = std::max(e.max_passes, block_coder_traits(o.style).most_passes(b.planes, false));
    return e;
}

// Bit-planes that none of a block's coefficients tells; -1: of some it is one more.
int unknown_planes(const BlockPieces &pieces, int planes, bool is_ht) {
    if (is_ht)  // a clean-up pass behind placeholders, three for a bit-plane, then up to two refinements
        return pieces.passes % 3 == 1 ? planes - 1 - pieces.passes / 3 : -1;
    return pass_kind(pieces.passes - 1) == kCleanUp ? planes - 1 - (pieces.passes + 1) / 3 : -1;
}

class Recoder {
  public:
    Recoder(std::span<const uint8_t> codestream, bool to_ht, ThreadPool &pool)
        : codestream_(codestream), pool_(pool), d_(read_headers(codestream)) {
        check(d_);
        const DecoderOptions all{.max_pixels = std::numeric_limits<int64_t>::max()};
        const Geometry g = make_decoder_geometry(d_, codestream.size(), all);
        o_ = with_coder(d_, to_ht);
        g_ = geometry_of(o_, g);
        coded_.resize(g.blocks.size()), offsets_.resize(g.blocks.size()), layers_.resize(g.blocks.size());
        batches_.resize((g.blocks.size() + kBatch - 1) / kBatch);
        pass_bytes_.resize(g.blocks.size() * static_cast<size_t>(g_.max_passes));
    }

    Recoded recode() {
        tiles_.resize(static_cast<size_t>(d_.tiles()));
        readers_.emplace_back(codestream_, d_, g_);
        for (int layers = d_.layers - 1; layers > 0; layers--)
            readers_.emplace_back(codestream_, d_, g_,
                                  WantedPackets{.lowres = 0, .layers = static_cast<uint32_t>(layers)});
        pool_.for_each(tiles_.size(), [&](size_t tile) { read_tile(static_cast<uint32_t>(tile)); });
        for (const TilePackets &tile : tiles_)
            if (!tile.damage.empty()) throw Error(CUDAENC_ERR_INVALID, tile.damage);
        tile_of_.resize(coded_.size());
        for (const TilePackets &tile : tiles_)
            for (size_t i = 0; i < tile.blocks.size(); i++) tile_of_[tile.first_block + i] = tile.tile;
        pool_.for_each(batches_.size(), [&](size_t batch) { recode_batch(batch); });
        if (damaged_) throw Error(CUDAENC_ERR_INVALID, damage_of_blocks(damaged_));
        Recoded recoded{write(), {}};
        if (inexact_)
            recoded.note = format_string(
                "%zu code-blocks end within a bit-plane: their coefficients are off by half a quantiser step",
                inexact_.load());
        if (d_.layers > 1)
            recoded.note += format_string("%sof %d layers a code-block has its bytes in the last one that had any",
                                          recoded.note.empty() ? "" : "; ", d_.layers);
        return recoded;
    }

  private:
    // The packets of a tile, and the last layer that adds to each of its blocks.
    void read_tile(uint32_t tile) {
        TilePackets &packets = tiles_[tile], some;
        readers_[0].read(tile, packets);
        for (int layers = d_.layers - 1; layers > 0; layers--) {
            readers_[static_cast<size_t>(d_.layers - layers)].read(tile, some);
            for (size_t i = 0; i < packets.blocks.size(); i++) {
                uint32_t &last = layers_[packets.first_block + i];
                if (!last && some.blocks[i].passes != packets.blocks[i].passes) last = static_cast<uint32_t>(layers);
            }
        }
    }

    struct Scratch {
        std::vector<CodewordSegment> segments;
        std::vector<uint8_t> bytes;
    };

    void recode_batch(size_t batch) {
        const size_t first = batch * kBatch, count = std::min(kBatch, coded_.size() - first);
        Scratch scratch;
        std::vector<CodeBlock> blocks(g_.blocks.begin() + static_cast<ptrdiff_t>(first),
                                      g_.blocks.begin() + static_cast<ptrdiff_t>(first + count));
        size_t samples = 0;
        for (CodeBlock &b : blocks) {
            b.coefficients = samples, b.stride = b.width;
            samples += size_t{b.width} * b.height;
        }
        std::vector<uint32_t> coefficients(samples);
        std::vector<int> unknown(count);
        for (size_t i = 0; i < count; i++) {
            unknown[i] = decode(first + i, coefficients.data() + blocks[i].coefficients, scratch);
            blocks[i].planes = static_cast<uint8_t>(blocks[i].planes - unknown[i]);
        }
        if (o_.style == kHt)
            code_ht_blocks(blocks, coefficients.data(), batches_[batch], &offsets_[first], &coded_[first]);
        else
            code_blocks(blocks, coefficients.data(), g_.coding, g_.max_passes,
                        {.bytes = &pass_bytes_[first * static_cast<size_t>(g_.max_passes)]}, batches_[batch],
                        &offsets_[first], &coded_[first]);
        for (size_t i = 0; i < count; i++)
            if (coded_[first + i].passes)
                coded_[first + i].planes = static_cast<uint8_t>(coded_[first + i].planes + unknown[i]);
    }

    // Signs and magnitudes of a block, without the bit-planes that it does not tell. Returns how many these are.
    int decode(size_t block, uint32_t *to, Scratch &scratch) {
        const CodeBlock &b = g_.blocks[block];
        const size_t count = size_t{b.width} * b.height;
        const TilePackets &packets = tiles_[tile_of_[block]];
        const BlockPieces &pieces = packets.blocks[block - packets.first_block];
        if (!pieces.passes) {
            std::fill_n(to, count, 0);
            return 0;
        }
        const uint32_t style = d_.of_component(g_.precinct_bands[b.precinct_band].component).style;
        packets.gather(block - packets.first_block, codestream_, scratch.segments, scratch.bytes);
        const BlockToDecode coded{.width = b.width,
                                  .height = b.height,
                                  .orientation = b.orientation,
                                  .style = style,
                                  .planes = b.planes - pieces.zero_planes,
                                  .segments = scratch.segments,
                                  .bytes = scratch.bytes.data()};
        const bool is_ht = is_ht_block(pieces, style);
        if (!(is_ht ? decode_ht_block(coded, {to, b.width}) : decode_mq_block(coded, {to, b.width}))) damaged_++;
        const int planes = unknown_planes(pieces, coded.planes, is_ht), unknown = std::max(planes, 0);
        if (planes < 0 && !b.reversible) inexact_++;
        for (size_t i = 0; i < count; i++) to[i] = (to[i] & kSignBit) | magnitude(to[i]) >> (1 + unknown);
        for (size_t i = 0; i < count; i++)
            if (!magnitude(to[i])) to[i] = 0;
        return unknown;
    }

    std::vector<uint8_t> write() {
        std::vector<uint8_t> layer_passes(coded_.size() * static_cast<size_t>(o_.layers));
        std::vector<uint32_t> layer_bytes(layer_passes.size());
        for (size_t b = 0; b < coded_.size(); b++)
            for (size_t layer = layers_[b]; layer < static_cast<size_t>(o_.layers); layer++) {
                layer_passes[layer * coded_.size() + b] = coded_[b].passes;
                layer_bytes[layer * coded_.size() + b] = coded_[b].bytes;
            }
        const MainHeader header = make_main_header(o_, g_.tile_parts);
        const Tier2Cpu tier2(o_, g_, header);
        Tier2Cpu::Buffers buffers = tier2.make_buffers();
        const Tier2Blocks blocks{.coded = coded_,
                                 .pass_bytes = pass_bytes_.data(),
                                 .layer_passes = layer_passes.data(),
                                 .layer_bytes = layer_bytes.data()};
        if (o_.style == kHt)
            for (size_t b = 0; b < coded_.size(); b++)
                if (coded_[b].passes) pass_bytes_[b * static_cast<size_t>(g_.max_passes)] = coded_[b].bytes;
        const Packets packets = tier2.assemble_packets(pool_, buffers, blocks);
        std::vector<uint8_t> out(packets.codestream_bytes());
        tier2.write_codestream(
            pool_, blocks, packets, {}, 0, [&](uint32_t b) { return batches_[b / kBatch].data() + offsets_[b]; },
            out.data());
        return out;
    }

    const std::span<const uint8_t> codestream_;
    ThreadPool &pool_;
    const Description d_;
    Description o_;  // of what is made
    EncoderGeometry g_;
    std::vector<PacketReader> readers_;  // of all layers, and of one less each
    std::vector<TilePackets> tiles_;
    std::vector<uint32_t> tile_of_, layers_;     // [block]
    std::vector<CodedBlock> coded_;              // [block]
    std::vector<uint32_t> offsets_;              // [block]: of its bytes in its batch
    std::vector<std::vector<uint8_t>> batches_;  // codewords of kBatch blocks each
    std::vector<uint32_t> pass_bytes_;           // [block * max_passes + pass]
    std::atomic<size_t> damaged_{0}, inexact_{0};
};

}  // namespace

Recoded recode(std::span<const uint8_t> codestream, bool to_ht, ThreadPool &pool) {
    return Recoder(codestream, to_ht, pool).recode();
}

}  // namespace cudaenc::j2k
