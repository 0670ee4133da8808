// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_lists.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "../../../common/error.h"
#include "../../../common/j2k/t1/block.h"
#include "../../../common/j2k/t1/block_decoder.h"

namespace cudaenc::j2k {

namespace {

constexpr size_t kCopies = 64;    // of pieces of segments, that a thread makes at a time
constexpr size_t kBlocks = 2048;  // that a thread lists at a time

// Which blocks of a tile-component are decoded.
struct Needs {
    const TileComponent &component;
    int levels, lowres;
    bool is_part;
    Extent wanted;  // of a part
    bool has(const PrecinctBand &band, const CodeBlock &block) const {
        const int resolution = resolution_of(band.band);
        return is_part ? is_needed(block, component, levels, resolution, wanted, lowres)
                       : resolution <= levels - lowres;
    }
};

class Lister {
  public:
    Lister(const Description &d, const Geometry &g, const Region &region, int lowres)
        : d_(d), g_(g), area_(area_of(d, region)), lowres_(lowres), is_part_(region.width) {}

    DecodedBlocks list() {
        const TileRange range = tiles_of(d_, area_);
        out_.in_place = !is_part_ && !lowres_;
        out_.in_order = true;
        for (int ty = range.y0; ty < range.y1; ty++)
            for (int tx = range.x0; tx < range.x1; tx++) add_tile(static_cast<uint32_t>(ty * d_.tiles_x + tx));
        out_.first.push_back(out_.blocks.size());
        out_.limits.blocks = static_cast<uint32_t>(out_.blocks.size());
        out_.are_all = decoded_ == read_ && !is_part_;
        out_.in_order &= out_.in_place && out_.are_all && out_.tiles.size() == 1;
        return std::move(out_);
    }

  private:
    void add_tile(uint32_t tile) {
        const TileCoding &coding = d_.of_tile(tile);
        const TileComponent *const components = &g_.tile_components[tile * d_.components.size()];
        out_.tiles.push_back(tile);
        out_.first.push_back(out_.blocks.size());
        out_.in_place &= coding.layers == 1;
        std::vector<Needs> needs;
        for (size_t c = 0; c < d_.components.size(); c++) {
            const ComponentCoding &k = coding.of_component(c);
            out_.in_order &= are_alternatives(k.style) && !(k.style & kMixed);
            const Extent e = extent_at(components[c], lowres_);
            read_ += static_cast<uint64_t>(e.width()) * static_cast<uint64_t>(e.height());
            needs.push_back({components[c], k.levels, lowres_, is_part_,
                             common_part(e, component_extent(d_.components[c], area_, lowres_))});
        }
        const TilePart &packets = g_.tile_parts[tile];
        uint32_t first_block = ~uint32_t{0};
        for (uint32_t p = packets.first_packet; p < packets.last_packet; p++)
            first_block = std::min(first_block, g_.packets[p].first_block);
        for (uint32_t p = packets.first_packet; p < packets.last_packet; p++)
            for (uint32_t k = g_.packets[p].first_band; k < g_.packets[p].last_band && !g_.packets[p].layer; k++) {
                const PrecinctBand &band = g_.precinct_bands[k];
                const Needs &needed = needs[band.component];
                const uint32_t style = coding.of_component(band.component).style;
                for (uint32_t i = band.first_block; i < band.first_block + band.columns * band.rows; i++)
                    if (needed.has(band, g_.blocks[i])) add_block(g_.blocks[i], style, i - first_block);
            }
    }

    void add_block(const CodeBlock &b, uint32_t style, uint32_t index) {
        decoded_ += uint64_t{b.width} * b.height;
        DecoderLimits &limits = out_.limits;
        limits.words = std::max(limits.words, decoder_words(b.width, b.height));
        limits.quads = std::max(limits.quads, decoder_quads(b.width, b.height));
        limits.planes = std::max(limits.planes, std::min(int{b.planes}, kMaxDecodedPlanes));
        out_.blocks.push_back({.coefficients = b.coefficients,
                               .stride = b.stride,
                               .first_segment = 0,
                               .segments = 0,
                               .width = b.width,
                               .height = b.height,
                               .orientation = b.orientation,
                               .style = static_cast<uint8_t>(style),
                               .planes = b.planes,
                               .reserved = {}});
        out_.indices.push_back(index);
    }

    const Description &d_;
    const Geometry &g_;
    const Area area_;
    const int lowres_;
    const bool is_part_;
    uint64_t decoded_ = 0, read_ = 0;  // coefficients
    DecodedBlocks out_;
};

}  // namespace

DecodedBlocks list_decoded_blocks(const Description &description, const Geometry &geometry, const Region &region,
                                  int lowres) {
    return Lister(description, geometry, region, lowres).list();
}

void BlockLists::read(ThreadPool &pool, std::span<const uint8_t> codestream, const Description &description,
                      const Geometry &geometry, const WantedPackets &wanted, const DecodedBlocks &decoded,
                      const std::function<void(const PacketsRead &)> &told) {
    tiles_.resize(decoded.tiles.size());
    const PacketReader reader(codestream, description, geometry, wanted);
    pool.for_each(tiles_.size(), [&](size_t tile) { reader.read(decoded.tiles[tile], tiles_[tile].packets, told); });
    damage_.clear();
    first_segment_.assign(1, 0);
    for (const Tile &tile : tiles_) {
        if (damage_.empty()) damage_ = tile.packets.damage;
        first_segment_.push_back(first_segment_.back() + tile.packets.pieces.size());
    }
    if (segments() > std::numeric_limits<uint32_t>::max())
        throw Error(CUDAENC_ERR_UNSUPPORTED, format_string("JPEG 2000: %zu codeword segments on a device", segments()));
}

std::array<uint32_t, 2> BlockLists::write(ThreadPool &pool, std::span<const uint8_t> codestream,
                                          const DecodedBlocks &decoded, const BlockRun &run, const SegmentPiece *pieces,
                                          uint8_t *bytes, DecoderSegment *segments, DecoderBlock *blocks) {
    listed_.resize(decoded.blocks.size());
    pool.for_each(tiles_.size(), [&](size_t tile) {
        const size_t first = std::max(decoded.first[tile], run.first),
                     count = std::min(decoded.first[tile + 1], run.last) - first;
        const auto first_segment =
            static_cast<uint32_t>((decoded.in_order ? 0 : first_segment_[tile]) - run.first_segment);
        const SegmentPiece *const of_tile = pieces ? pieces : tiles_[tile].packets.pieces.data();
        if (!decoded.in_place)
            return list_blocks(codestream, decoded, tile, first, first + count, first_segment, of_tile, segments);
        pool.for_each((count + kBlocks - 1) / kBlocks, [&](size_t i) {
            list_blocks(codestream, decoded, tile, first + i * kBlocks, first + std::min((i + 1) * kBlocks, count),
                        first_segment, of_tile, segments);
        });
    });
    if (bytes) join_segments(pool, bytes, segments);
    std::array<uint32_t, 2 * kDecodeClasses> begins{};
    const std::span<Listed> listed = std::span(listed_).subspan(run.first, run.last - run.first);
    for (const Listed &block : listed) begins[block.order]++;
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), uint32_t{0});
    const uint32_t mq_blocks = begins[kDecodeClasses], all = static_cast<uint32_t>(listed.size());
    for (Listed &block : listed) block.place = begins[block.order]++;
    pool.for_each(listed.size(), kBlocks, [&](size_t i) {
        const Listed &block = listed[i];
        DecoderBlock &to = blocks[block.place];
        to = decoded.blocks[run.first + i];
        to.first_segment = block.first_segment;
        to.segments = block.segments;
        to.planes = block.planes;
    });
    return {mq_blocks, all - mq_blocks};
}

void BlockLists::list_blocks(std::span<const uint8_t> codestream, const DecodedBlocks &decoded, size_t tile,
                             size_t first_block, size_t last_block, uint32_t first_segment,
                             const SegmentPiece *all_pieces, DecoderSegment *segments) {
    Tile &t = tiles_[tile];
    uint32_t next = first_segment;
    if (!decoded.in_place) {
        t.copies.clear();
        t.bytes = 0;
    }
    for (size_t i = first_block; i < last_block; i++) {
        const DecoderBlock &block = decoded.blocks[i];
        const BlockPieces &pieces = t.packets.blocks[decoded.indices[i]];
        // A piece of one in place is a segment, and has its number. So blocks can be listed side by side.
        if (decoded.in_place && pieces.first != kNoPiece) next = first_segment + pieces.first;
        const uint32_t first = next;
        uint64_t work = 0;
        for (uint32_t k = pieces.first; k != kNoPiece; k = all_pieces[k].next) {
            const SegmentPiece &piece = all_pieces[k];
            work += decode_work(piece.bytes, piece.passes);
            if (decoded.in_place) {
                segments[next++] = {static_cast<uint32_t>(piece.at), piece.bytes, piece.passes};
                continue;
            }
            if (piece.begins_segment || next == first) segments[next++] = {static_cast<uint32_t>(t.bytes), 0, 0};
            segments[next - 1].bytes += piece.bytes;
            segments[next - 1].passes += piece.passes;
            if (piece.bytes) t.copies.push_back({codestream.data() + piece.at, t.bytes, piece.bytes});
            t.bytes += piece.bytes;
        }
        const uint32_t list = is_ht_block(pieces, block.style);
        listed_[i] = {.first_segment = first,
                      .segments = static_cast<uint16_t>(next - first),
                      .order = static_cast<uint16_t>(list * kDecodeClasses + decode_class(work)),
                      .planes = static_cast<int16_t>(block.planes - pieces.zero_planes),
                      .place = 0};
    }
    if (!decoded.in_place) t.segments = next - first_segment;
}

// Copies their pieces one behind the other, tile by tile.
void BlockLists::join_segments(ThreadPool &pool, uint8_t *bytes, DecoderSegment *segments) {
    first_byte_.assign(1, 0);
    for (const Tile &tile : tiles_) first_byte_.push_back(first_byte_.back() + tile.bytes);
    if (this->bytes() > std::numeric_limits<uint32_t>::max())
        throw Error(CUDAENC_ERR_UNSUPPORTED, format_string("JPEG 2000: %llu bytes of code-blocks on a device",
                                                           static_cast<unsigned long long>(this->bytes())));
    pool.for_each(tiles_.size(), [&](size_t tile) {
        const Tile &t = tiles_[tile];
        DecoderSegment *const first = segments + first_segment_[tile];
        for (DecoderSegment *segment = first; segment < first + t.segments; segment++)
            segment->at += static_cast<uint32_t>(first_byte_[tile]);
        pool.for_each(t.copies.size(), kCopies, [&](size_t i) {
            std::memcpy(bytes + first_byte_[tile] + t.copies[i].to, t.copies[i].from, t.copies[i].bytes);
        });
    });
}

}  // namespace cudaenc::j2k
