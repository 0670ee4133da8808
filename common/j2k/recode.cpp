// SPDX-License-Identifier: LGPL-2.1-or-later
#include "recode.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "../error.h"
#include "block_coders.h"
#include "codestream/coefficient.h"
#include "codestream/main_header.h"
#include "codestream/markers.h"
#include "codestream/read_headers.h"
#include "decoder_params.h"
#include "jp2_reader.h"
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

int most_layers(const Description &d) {
    int layers = d.layers;
    for (const auto &[tile, coding] : d.own_coding) layers = std::max(layers, coding.layers);
    return layers;
}

void check(const Description &d) {
    if (!d.damage.empty()) throw Error(CUDAENC_ERR_INVALID, d.damage);
    if (d.components.size() > 256) unsupported(format_string("%zu components", d.components.size()));
    if (most_layers(d) > kMaxLayers) unsupported(format_string("%d layers", most_layers(d)));
}

// T.814 A.3: one HT set, HT blocks alone.
uint32_t capabilities_of(const Description &d) {
    constexpr uint32_t kRegion = 1u << 12, kHeterogeneous = 1u << 11, kIrreversible = 1u << 5;
    uint32_t capabilities = d.coc.empty() && d.own_coding.empty() ? 0 : kHeterogeneous;
    int bound = 0;  // of magnitudes, 8.7.3
    const auto add = [&](const TileCoding &coding) {
        for (size_t c = 0; c < d.components.size(); c++) {
            const ComponentCoding &k = coding.of_component(c);
            if (!k.reversible) capabilities |= kIrreversible;
            if (coding.region_shift(c)) capabilities |= kRegion;
            for (int band = 0; band < 3 * k.levels + 1; band++) {
                const int r = resolution_of(band), level = r ? k.levels + 1 - r : k.levels;
                const int planes = coding.quantisation[c].planes(band) + coding.region_shift(c);
                bound = std::max(bound, k.reversible ? planes : planes + 1 - level);
            }
        }
    };
    add(d);
    for (const auto &[tile, coding] : d.own_coding) add(coding);
    return capabilities | static_cast<uint32_t>(bound <= 8 ? 0 : bound < 28 ? bound - 8 : 13 + (bound >> 2));
}

// The same codestream with blocks of another coder. SOP and EPH are those of the main header in all tiles.
Description with_coder(const Description &d, bool to_ht) {
    Description o = d;
    const auto change = [&](TileCoding &coding) {
        coding.style = to_ht ? kHt : 0;
        for (auto &[c, component] : coding.coc) component.style = coding.style;
        coding.sop = d.sop, coding.eph = d.eph;
    };
    change(o);
    for (auto &[tile, coding] : o.own_coding) change(coding);
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
        for (uint32_t layers = 1; layers < this->layers(); layers++)
            readers_.emplace_back(codestream_, d_, g_, WantedPackets{.lowres = 0, .layers = layers});
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
        if (layers() > 1)
            recoded.note += format_string("%sof %zu layers a code-block has its bytes in the last one that had any",
                                          recoded.note.empty() ? "" : "; ", layers());
        return recoded;
    }

  private:
    size_t layers() const { return static_cast<size_t>(most_layers(d_)); }

    // The packets of a tile, and the last layer that adds to each of its blocks.
    void read_tile(uint32_t tile) {
        TilePackets &packets = tiles_[tile], some;
        readers_[0].read(tile, packets);
        for (int layers = d_.of_tile(tile).layers - 1; layers > 0; layers--) {
            readers_[static_cast<size_t>(layers)].read(tile, some);
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
        const uint32_t style =
            d_.of_tile(packets.tile).of_component(g_.precinct_bands[b.precinct_band].component).style;
        const BlockToDecode coded =
            packets.gather(block - packets.first_block, b, style, codestream_, scratch.segments, scratch.bytes);
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
        std::vector<uint8_t> layer_passes(coded_.size() * layers());
        std::vector<uint32_t> layer_bytes(layer_passes.size());
        for (size_t b = 0; b < coded_.size(); b++)
            for (size_t layer = layers_[b]; layer < layers(); layer++) {
                layer_passes[layer * coded_.size() + b] = coded_[b].passes;
                layer_bytes[layer * coded_.size() + b] = coded_[b].bytes;
            }
        const MainHeader header = make_main_header(o_, g_.tile_parts);
        Description all = o_;  // as packets of all tiles have it
        all.layers = static_cast<int>(layers());
        const Tier2Cpu tier2(all, g_, header);
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
        return o_.own_coding.empty() ? out : with_tile_headers(out, packets, header);
    }

    // Adds the marker segments of tiles that are coded in a way of their own.
    std::vector<uint8_t> with_tile_headers(std::span<const uint8_t> codestream, const Packets &packets,
                                           const MainHeader &header) const {
        std::vector<uint8_t> out(codestream.begin(), codestream.begin() + static_cast<ptrdiff_t>(packets.part_at[0]));
        for (size_t t = 0; t < g_.tile_parts.size(); t++) {
            const std::span<const uint8_t> part =
                codestream.subspan(packets.part_at[t], packets.part_at[t + 1] - packets.part_at[t]);
            const auto own = o_.own_coding.find(g_.tile_parts[t].tile);
            const std::vector<uint8_t> segments =
                own == o_.own_coding.end() ? std::vector<uint8_t>() : make_tile_header(o_, own->second);
            const size_t at = out.size(), length = part.size() + segments.size();
            check_tile_part_length(length);
            out.insert(out.end(), part.begin(), part.begin() + kSotBytes);
            out.insert(out.end(), segments.begin(), segments.end());
            out.insert(out.end(), part.begin() + kSotBytes, part.end());
            put_be32(&out[at + 6], static_cast<uint32_t>(length));  // Psot
            if (header.tlm)
                put_be32(&out[header.tlm + tlm_entry(static_cast<uint32_t>(t)) + 2], static_cast<uint32_t>(length));
        }
        out.insert(out.end(), codestream.end() - 2, codestream.end());  // EOC
        return out;
    }

    const std::span<const uint8_t> codestream_;
    ThreadPool &pool_;
    const Description d_;
    Description o_;  // of what is made
    EncoderGeometry g_;
    std::vector<PacketReader> readers_;  // of all layers, and of the first ones by their number
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

Recoded recode_packet(std::span<const uint8_t> packet, bool to_ht, ThreadPool &pool) {
    const Jp2File file = read_jp2(packet);
    if (file.codestream.empty()) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: this is neither a codestream nor a file");
    const size_t begin = static_cast<size_t>(file.codestream.data() - packet.data());
    if (!begin) return recode(file.codestream, to_ht, pool);
    // The header of its box: eight bytes, or 16 with a length of 64 bits (I.4).
    const auto is_type = [&](size_t at, const char *type) {
        return std::equal(type, type + 4, packet.begin() + static_cast<ptrdiff_t>(at));
    };
    const size_t header = begin >= 8 && is_type(begin - 4, "jp2c")     ? 8
                          : begin >= 16 && is_type(begin - 12, "jp2c") ? 16
                                                                       : 0;
    if (!header) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: no box has the codestream");
    Recoded recoded = recode(file.codestream, to_ht, pool);
    std::vector<uint8_t> boxes(packet.begin(), packet.begin() + static_cast<ptrdiff_t>(begin - header));
    const char *const brand = block_coder_traits(to_ht ? kHt : 0).brand;
    const size_t ftyp_end = boxes.size() >= 20 && is_type(16, "ftyp")
                                ? std::min<size_t>(boxes.size(), 12 + size_t{packet[14]} * 256 + packet[15])
                                : 0;
    for (size_t at = 20; at + 4 <= ftyp_end;
         at += at == 20 ? 8 : 4)  // the brand, its version, and those that it is compatible with
        if (is_type(at, "jp2 ") || is_type(at, "jph "))
            std::copy_n(brand, 4, boxes.begin() + static_cast<ptrdiff_t>(at));
    const uint64_t size = recoded.codestream.size() + 8;
    if (size > std::numeric_limits<uint32_t>::max()) unsupported("a file of 4 GiB");
    boxes.resize(boxes.size() + 8);
    put_be32(&boxes[boxes.size() - 8], static_cast<uint32_t>(size));
    std::copy_n("jp2c", 4, boxes.end() - 4);
    boxes.insert(boxes.end(), recoded.codestream.begin(), recoded.codestream.end());
    boxes.insert(boxes.end(), file.codestream.data() + file.codestream.size(), packet.data() + packet.size());
    recoded.codestream = std::move(boxes);
    return recoded;
}

}  // namespace cudaenc::j2k
