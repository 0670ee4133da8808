// SPDX-License-Identifier: LGPL-2.1-or-later
#include "recode.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "../error.h"
#include "../simd.h"
#include "block_coders.h"
#include "codestream/coefficient.h"
#include "codestream/main_header.h"
#include "codestream/markers.h"
#include "codestream/read_headers.h"
#include "decoder_params.h"
#include "jp2_reader.h"
#include "rate/truncate.h"
#include "t1/block_decoder.h"
#include "t1/ht_cpu.h"
#include "t1/ht_decoder.h"
#include "t1/ht_refinement_cpu.h"
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

// The same codestream with blocks of another coder. Which samples a pass reaches follows from the style of vertically
// causal contexts, so that stays. SOP and EPH are those of the main header in all tiles.
Description with_coder(const Description &d, bool to_ht) {
    Description o = d;
    const auto style_of = [&](uint32_t style) { return (to_ht ? kHt : 0) | (style & kVerticallyCausal); };
    const auto change = [&](TileCoding &coding) {
        coding.style = style_of(coding.style);
        for (auto &[c, component] : coding.coc) component.style = style_of(component.style);
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

// As tier-2 has it: records of the HT coder are a cleanup pass and those that refine it.
constexpr uint32_t kHtRecords = kHt | kRefinedCleanUp;
constexpr int kHtRecordPasses = 3;

EncoderGeometry geometry_of(bool to_ht, const Geometry &g) {
    EncoderGeometry e{g, {.style = to_ht ? kHtRecords : 0}, std::vector<BandCoding>(g.precinct_bands.size()), 0};
    for (const CodeBlock &b : g.blocks)
        e.max_passes = std::max(e.max_passes, to_ht ? kHtRecordPasses : coding_passes(b.planes));
    return e;
}

// Which bit-planes a block tells.
struct BlockEnd {
    int plane = 0;  // the lowest of which it tells anything
    int refinements =
        0;  // passes of that plane behind a block that ends within it: propagation, refinement; 0: it has all
};

// Of a block decoder's coefficients: those without the lowest `shift` bits of their magnitudes.
CUDAENC_CLONES void drop_lowest(uint32_t *coefficients, size_t count, int shift) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t m = magnitude(coefficients[i]) >> shift;
        coefficients[i] = m ? (coefficients[i] & kSignBit) | m : 0;
    }
}

// Whether any magnitude is 1 without its lowest `shift` bits.
CUDAENC_CLONES bool any_begins(const uint32_t *coefficients, size_t count, int shift) {
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) found |= magnitude(coefficients[i]) >> shift == 1;
    return found;
}

class Recoder {
  public:
    Recoder(std::span<const uint8_t> codestream, bool to_ht, ThreadPool &pool)
        : codestream_(codestream), pool_(pool), d_(read_headers(codestream)) {
        check(d_);
        const DecoderOptions all{.max_pixels = std::numeric_limits<int64_t>::max()};
        const Geometry g = make_decoder_geometry(d_, codestream.size(), all);
        o_ = with_coder(d_, to_ht);
        g_ = geometry_of(to_ht, g);
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
        if (layers() > 1)
            recoded.note =
                format_string("of %zu layers a code-block has its bytes in the last one that had any", layers());
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
        BlockEnd ends[kBatch];
        for (size_t i = 0; i < count; i++) {
            ends[i] = decode(first + i, coefficients.data() + blocks[i].coefficients, scratch);
            blocks[i].planes = static_cast<uint8_t>(blocks[i].planes - ends[i].plane);
        }
        std::vector<uint8_t> &bytes = batches_[batch];
        if (o_.style & kHt) {
            code_ht(blocks, coefficients.data(), ends, first, bytes);
        } else {
            std::vector<uint8_t> some;  // those of one style
            for (size_t i = 0, end = 0; i < count; i = end) {
                const uint32_t style = style_of(o_, first + i);
                while (end < count && style_of(o_, first + end) == style) end++;
                code_mq(std::span(blocks).subspan(i, end - i), coefficients.data(), style, ends + i, first + i, some);
                for (size_t b = first + i; b < first + end; b++) offsets_[b] += static_cast<uint32_t>(bytes.size());
                bytes.insert(bytes.end(), some.begin(), some.end());
            }
        }
        for (size_t i = 0; i < count; i++)
            if (coded_[first + i].passes)
                coded_[first + i].planes = static_cast<uint8_t>(coded_[first + i].planes + ends[i].plane);
    }

    // The style of a block in a description.
    uint32_t style_of(const Description &d, size_t block) const {
        const uint32_t component = g_.precinct_bands[g_.blocks[block].precinct_band].component;
        return d.of_tile(tiles_[tile_of_[block]].tile).of_component(component).style;
    }

    // Cleanup passes, and behind them those of a bit-plane that is not whole. Planes of records count from the lowest
    // of ends.
    void code_ht(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const BlockEnd *ends, size_t first,
                 std::vector<uint8_t> &bytes) {
        std::vector<uint32_t> whole;  // coefficients without the lowest bit-plane, where that is not whole
        std::vector<uint8_t> codeword, refinement;
        for (size_t i = 0; i < blocks.size(); i++) {
            const CodeBlock &b = blocks[i];
            const int refinements = ends[i].refinements;
            CodeBlock of_cleanup = b;
            const uint32_t *from = coefficients;
            if (refinements) {
                const uint32_t *const own = coefficients + b.coefficients;
                whole.assign(own, own + size_t{b.width} * b.height);
                drop_lowest(whole.data(), whole.size(), 1);
                from = whole.data(), of_cleanup.coefficients = 0;
            }
            CodedBlock &made = coded_[first + i];
            uint32_t offset = 0;
            code_ht_blocks({&of_cleanup, 1}, from, codeword, &offset, &made);
            offsets_[first + i] = static_cast<uint32_t>(bytes.size());
            bytes.insert(bytes.end(), codeword.begin(), codeword.end());
            uint32_t *const pass_bytes = &pass_bytes_[(first + i) * static_cast<size_t>(g_.max_passes)];
            std::fill_n(pass_bytes, kHtRecordPasses, made.bytes);
            if (!made.passes || !refinements) continue;
            refinement.clear();
            made.planes++;
            const bool causal = style_of(o_, first + i) & kVerticallyCausal;
            code_ht_refinement(coefficients, b, refinements, causal, refinement);
            refined_ = true;
            made.passes = static_cast<uint8_t>(1 + refinements);
            made.bytes += static_cast<uint32_t>(refinement.size());
            pass_bytes[1] = pass_bytes[2] = made.bytes;
            bytes.insert(bytes.end(), refinement.begin(), refinement.end());
        }
    }

    // Codes all passes, and truncates blocks that end within a bit-plane.
    void code_mq(std::span<const CodeBlock> blocks, const uint32_t *coefficients, uint32_t style, const BlockEnd *ends,
                 size_t first, std::vector<uint8_t> &bytes) {
        const size_t max_passes = static_cast<size_t>(g_.max_passes);
        uint32_t *const pass_bytes = &pass_bytes_[first * max_passes];
        std::vector<uint32_t> terminations(blocks.size() * max_passes);
        code_blocks(blocks, coefficients, {.style = style, .truncatable = true}, g_.max_passes,
                    {.bytes = pass_bytes, .terminations = terminations.data()}, bytes, &offsets_[first],
                    &coded_[first]);
        for (size_t i = 0; i < blocks.size(); i++) {
            CodedBlock &made = coded_[first + i];
            if (!made.passes || !ends[i].refinements) continue;
            made.passes = static_cast<uint8_t>(made.passes - (3 - ends[i].refinements));
            const size_t last = i * max_passes + made.passes - 1;
            made.bytes = pass_bytes[last];
            swap_termination(style, made.passes, pass_bytes + i * max_passes, terminations[last],
                             [&](uint32_t, uint32_t at) -> uint8_t & { return bytes[offsets_[first + i] + at]; });
        }
    }

    // Signs and magnitudes of a block, without the bit-planes that it does not tell.
    BlockEnd decode(size_t block, uint32_t *to, Scratch &scratch) {
        const CodeBlock &b = g_.blocks[block];
        const size_t count = size_t{b.width} * b.height;
        const TilePackets &packets = tiles_[tile_of_[block]];
        const BlockPieces &pieces = packets.blocks[block - packets.first_block];
        if (!pieces.passes) {
            std::fill_n(to, count, 0);
            return {};
        }
        const uint32_t style = style_of(d_, block);
        const BlockToDecode coded =
            packets.gather(block - packets.first_block, b, style, codestream_, scratch.segments, scratch.bytes);
        const bool is_ht = is_ht_block(pieces, style);
        if (!(is_ht ? decode_ht_block(coded, {to, b.width}) : decode_mq_block(coded, {to, b.width}))) damaged_++;
        BlockEnd end;
        if (is_ht) {
            const HtSet set =
                last_set(scratch.segments.data(), static_cast<int>(scratch.segments.size()), coded.planes);
            if (set.cleanup >= 0)
                end = {set.plane - (set.refinement_passes ? 1 : 0), static_cast<int>(set.refinement_passes)};
        } else {
            const int last = pieces.passes - 1;
            end = {coded.planes - 1 - clean_up_passes(last), pass_kind(last) == kCleanUp ? 0 : 1 + pass_kind(last)};
        }
        end.plane = std::max(end.plane, 0);  // of damaged blocks
        if (end.refinements == 1 && !any_begins(to, count, 1 + end.plane))
            end = {end.plane + 1, 0};  // its propagation finds none
        drop_lowest(to, count, 1 + end.plane);
        return end;
    }

    std::vector<uint8_t> write() {
        std::vector<uint8_t> layer_passes(coded_.size() * layers());
        std::vector<uint32_t> layer_bytes(layer_passes.size());
        for (size_t b = 0; b < coded_.size(); b++)
            for (size_t layer = layers_[b]; layer < layers(); layer++) {
                layer_passes[layer * coded_.size() + b] = coded_[b].passes;
                layer_bytes[layer * coded_.size() + b] = coded_[b].bytes;
            }
        if ((o_.style & kHt) && !refined_) leave_out_causal_contexts();
        const MainHeader header = make_main_header(o_, g_.tile_parts);
        Description all = o_;  // as packets of all tiles have it
        all.style = g_.coding.style;
        all.layers = static_cast<int>(layers());
        const Tier2Cpu tier2(all, g_, header);
        Tier2Cpu::Buffers buffers = tier2.make_buffers();
        const Tier2Blocks blocks{.coded = coded_,
                                 .pass_bytes = pass_bytes_.data(),
                                 .layer_passes = layer_passes.data(),
                                 .layer_bytes = layer_bytes.data()};
        const Packets packets = tier2.assemble_packets(pool_, buffers, blocks);
        std::vector<uint8_t> out(packets.codestream_bytes());
        tier2.write_codestream(
            pool_, blocks, packets, {}, 0, [&](uint32_t b) { return batches_[b / kBatch].data() + offsets_[b]; },
            out.data());
        return o_.own_coding.empty() ? out : with_tile_headers(out, packets, header);
    }

    // Only passes of refinement ask for them, and some decoders refuse them beside HT.
    void leave_out_causal_contexts() {
        const auto leave_out = [](TileCoding &coding) {
            coding.style &= ~uint32_t{kVerticallyCausal};
            for (auto &[c, component] : coding.coc) component.style &= ~uint32_t{kVerticallyCausal};
        };
        leave_out(o_);
        for (auto &[tile, coding] : o_.own_coding) leave_out(coding);
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
    std::atomic<size_t> damaged_{0};
    std::atomic<bool> refined_{false};  // any HT block
};

// Whether a box's type is at this place.
bool is_type(std::span<const uint8_t> packet, size_t at, const char *type) {
    return packet.size() >= at + 4 && std::equal(type, type + 4, packet.begin() + static_cast<ptrdiff_t>(at));
}

// The brand, its version, and those that it is compatible with.
void set_brand(std::span<uint8_t> boxes, const char *brand) {
    if (!is_type(boxes, 16, "ftyp")) return;
    const size_t end = std::min<size_t>(boxes.size(), 12 + size_t{boxes[14]} * 256 + boxes[15]);
    for (size_t at = 20; at + 4 <= end; at += at == 20 ? 8 : 4)
        if (is_type(boxes, at, "jp2 ") || is_type(boxes, at, "jph "))
            std::copy_n(brand, 4, boxes.begin() + static_cast<ptrdiff_t>(at));
}

// A codestream, or the box that has it with what stands before it. Returns the bytes of the packet that it takes.
size_t recode_picture(std::span<const uint8_t> packet, const Jp2File &file, bool to_ht, ThreadPool &pool, Recoded &to) {
    if (file.codestream.empty()) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: this is neither a codestream nor a file");
    const size_t begin = static_cast<size_t>(file.codestream.data() - packet.data());
    // The header of its box: eight bytes, or 16 with a length of 64 bits (I.4).
    const size_t header = !begin                                               ? 0
                          : begin >= 8 && is_type(packet, begin - 4, "jp2c")   ? 8
                          : begin >= 16 && is_type(packet, begin - 12, "jp2c") ? 16
                                                                               : 0;
    if (begin && !header) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: no box has the codestream");
    Recoded recoded = recode(file.codestream, to_ht, pool);
    to.note += (to.note.empty() || recoded.note.empty() ? "" : "; ") + recoded.note;
    std::vector<uint8_t> &out = to.codestream;
    if (begin) {
        const size_t at = out.size();
        out.insert(out.end(), packet.begin(), packet.begin() + static_cast<ptrdiff_t>(begin - header));
        set_brand(std::span(out).subspan(at), block_coder_traits(to_ht ? kHt : 0).brand);
        const uint64_t size = recoded.codestream.size() + 8;
        if (size > std::numeric_limits<uint32_t>::max()) unsupported("a file of 4 GiB");
        out.resize(out.size() + 8);
        put_be32(&out[out.size() - 8], static_cast<uint32_t>(size));
        std::copy_n("jp2c", 4, out.end() - 4);
    }
    out.insert(out.end(), recoded.codestream.begin(), recoded.codestream.end());
    return begin ? begin + file.codestream.size() : std::min(picture_size(packet), packet.size());
}

}  // namespace

Recoded recode(std::span<const uint8_t> codestream, bool to_ht, ThreadPool &pool) {
    return Recoder(codestream, to_ht, pool).recode();
}

Recoded recode_packet(std::span<const uint8_t> packet, bool to_ht, ThreadPool &pool) {
    const Jp2File file = read_jp2(packet);
    const bool has_boxes = file.codestream.data() != packet.data();
    Recoded recoded;
    packet = packet.subspan(recode_picture(packet, file, to_ht, pool, recoded));
    const bool is_codestream = packet.size() >= 2 && packet[0] == kSoc >> 8 && packet[1] == (kSoc & 0xFF);
    if (!file.is_file && (is_codestream || is_type(packet, 4, "jp2c")))
        packet = packet.subspan(recode_picture(packet, read_jp2(packet), to_ht, pool, recoded));
    if (has_boxes) recoded.codestream.insert(recoded.codestream.end(), packet.begin(), packet.end());
    return recoded;
}

}  // namespace cudaenc::j2k
