// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet_reader.h"

#include <algorithm>
#include <array>

#include "../../error.h"
#include "../codestream/markers.h"
#include "../t1/block.h"
#include "../t1/styles.h"

namespace cudaenc::j2k {

namespace {

constexpr uint32_t kMixed = 128;     // of a style: blocks are of either coder (T.814 Table A.4)
constexpr int kMostZeroPlanes = 96;  // above all M_b
constexpr uint32_t kMostPasses = 1000;

// Bits of a packet header, highest first, seven in a byte behind 0xFF (B.10.1). Behind the end there are zeros.
class HeaderBits {
  public:
    explicit HeaderBits(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    uint32_t bit() {
        if (!left_) read_byte();
        return byte_ >> --left_ & 1;
    }
    uint32_t bits(int count) {
        uint32_t value = 0;
        while (count) {
            if (!left_) read_byte();
            const int taken = std::min(count, left_);
            left_ -= taken, count -= taken;
            value = value << taken | (byte_ >> left_ & ((1u << taken) - 1));
        }
        return value;
    }
    // Bytes up to the end of the header: one more is stuffed behind 0xFF.
    size_t end() const { return std::min(at_ + (byte_ == 0xFF ? 1 : 0), bytes_.size()); }
    bool is_exceeded() const { return is_exceeded_; }

  private:
    void read_byte() {
        left_ = byte_ == 0xFF ? 7 : 8;
        is_exceeded_ |= at_ >= bytes_.size();
        byte_ = at_ < bytes_.size() ? bytes_[at_] : 0;
        at_++;
    }
    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    uint32_t byte_ = 0;
    int left_ = 0;
    bool is_exceeded_ = false;
};

// A node of a tag tree: what its value is at least, and whether it is that (B.10.2).
struct Node {
    uint16_t least = 0;
    bool known = false;
};

// A tag tree of a band.
class TagTree {
  public:
    TagTree(Node *nodes, const PrecinctBand &band) : levels_(tag_tree_levels(band.columns, band.rows)) {
        for (int level = 0; level < levels_; level++) {
            const uint32_t columns = tag_tree_columns(band.columns, level);
            rows_[static_cast<size_t>(level)] = {nodes, columns};
            nodes += static_cast<size_t>(columns) * tag_tree_columns(band.rows, level);
        }
    }

    // Reads on until the leaf's value is known, or is `threshold` or more, and returns it, or `threshold`.
    uint32_t read(HeaderBits &in, uint32_t x, uint32_t y, uint32_t threshold) {
        uint16_t least = 0;
        bool known = false;
        for (int level = levels_; level--;) {
            const Rows &rows = rows_[static_cast<size_t>(level)];
            Node &node = rows.nodes[size_t{y >> level} * rows.columns + (x >> level)];
            node.least = std::max(node.least, least);
            while (!node.known && node.least < threshold) {
                if (in.bit())
                    node.known = true;
                else
                    node.least++;
            }
            least = node.least, known = node.known;
        }
        return known && least < threshold ? least : threshold;
    }

  private:
    struct Rows {
        Node *nodes;
        uint32_t columns;
    };
    const int levels_;
    std::array<Rows, 32> rows_;
};

uint32_t read_passes(HeaderBits &in) {  // Table B.4
    if (!in.bit()) return 1;
    if (!in.bit()) return 2;
    if (const uint32_t n = in.bits(2); n < 3) return 3 + n;
    if (const uint32_t n = in.bits(5); n < 31) return 6 + n;
    return 37 + in.bits(7);
}

struct Damage {
    std::string what;
};

class Reader {
  public:
    Reader(std::span<const uint8_t> codestream, const Description &d, const Geometry &g, uint32_t tile,
           const WantedPackets &wanted)
        : codestream_(codestream), g_(g), coding_(d.of_tile(tile)), tile_(tile), wanted_(wanted) {
        for (const CodedTilePart &part : d.coded_tile_parts)
            if (part.tile == tile) parts_.push_back(&part);
    }

    TilePackets read() {
        const TilePart &all = g_.tile_parts[tile_];
        uint32_t first_node = ~uint32_t{0}, last_node = 0, first_block = ~uint32_t{0}, last_block = 0;
        for (uint32_t i = all.first_packet; i < all.last_packet; i++) {
            const Packet &packet = g_.packets[i];
            if (packet.layer) continue;
            first_block = std::min(first_block, packet.first_block),
            last_block = std::max(last_block, packet.last_block);
            for (uint32_t k = packet.first_band; k < packet.last_band; k++) {
                first_node = std::min(first_node, g_.precinct_bands[k].nodes);
                last_node = std::max(
                    last_node, k + 1 < g_.precinct_bands.size() ? g_.precinct_bands[k + 1].nodes : g_.tag_tree_nodes);
            }
        }
        out_.tile = tile_;
        if (first_block >= last_block) first_block = last_block = first_node = last_node = 0;
        out_.first_block = first_block;
        out_.blocks.resize(last_block - first_block);
        first_node_ = first_node;
        inclusion_.resize(last_node - first_node), zero_planes_.resize(last_node - first_node);
        uint32_t packet = all.first_packet, last = all.last_packet;
        while (last > packet && !is_wanted(g_.packets[last - 1])) last--;
        if (packet == last) return std::move(out_);  // a tile without samples may have no tile-part
        try {
            if (parts_.empty()) throw Damage{"has no tile-part"};
            begin_part();
            for (; packet < last && next_part(); packet++) read_packet(g_.packets[packet]);
            if (packet < last) throw Damage{"ends early"};
        } catch (const Damage &damage) {
            out_.damage = format_string("JPEG 2000: tile %u, packet %u of %u: ", tile_, packet - all.first_packet,
                                        all.last_packet - all.first_packet) +
                          damage.what;
        }
        return std::move(out_);
    }

  private:
    bool is_wanted(const Packet &packet) const {
        if (packet.layer >= wanted_.layers || packet.first_band == packet.last_band) return false;
        const PrecinctBand &band = g_.precinct_bands[packet.first_band];
        return resolution_of(band.band) <= coding_.of_component(band.component).levels - wanted_.lowres;
    }
    void begin_part() {
        at_ = parts_[part_]->begin;
        header_at_ = 0;
    }
    // Moves on to the tile-part that has the next packet; false: there is none.
    bool next_part() {
        for (;;) {
            const CodedTilePart &part = *parts_[part_];
            if (part.has_packed_headers ? header_at_ < part.packet_headers.size() : at_ < part.end) return true;
            if (part_ + 1 == parts_.size()) return false;
            part_++;
            begin_part();
        }
    }
    bool has_marker(std::span<const uint8_t> bytes, Marker marker) const {
        return bytes.size() >= 2 && bytes[0] == marker >> 8 && bytes[1] == (marker & 0xFF);
    }
    std::span<const uint8_t> rest() const { return codestream_.subspan(at_, parts_[part_]->end - at_); }

    void read_packet(const Packet &packet) {
        const CodedTilePart &part = *parts_[part_];
        if (has_marker(rest(), kSop)) at_ += std::min<size_t>(6, rest().size());
        const std::span<const uint8_t> source =
            part.has_packed_headers ? std::span<const uint8_t>(part.packet_headers).subspan(header_at_) : rest();
        HeaderBits in(source);
        added_.clear();
        if (in.bit())
            for (uint32_t k = packet.first_band; k < packet.last_band; k++) read_band(in, packet, g_.precinct_bands[k]);
        if (in.is_exceeded()) throw Damage{"its header is cut"};
        size_t bytes = in.end();
        if (has_marker(source.subspan(bytes), kEph)) bytes += 2;
        (part.has_packed_headers ? header_at_ : at_) += bytes;
        for (Added &added : added_) {
            if (added.bytes > rest().size()) throw Damage{"its bytes are cut"};
            if (packet.layer < wanted_.layers) append(added);
            at_ += added.bytes;
        }
    }

    // What a packet adds to a block's segment.
    struct Added {
        uint32_t block, bytes, passes;
        bool begins_segment;
    };
    void append(const Added &added) {
        BlockPieces &b = out_.blocks[added.block];
        const auto index = static_cast<uint32_t>(out_.pieces.size());
        out_.pieces.push_back({at_, added.bytes, added.passes, kNoPiece, added.begins_segment});
        (b.first == kNoPiece ? b.first : out_.pieces[b.last].next) = index;
        b.last = index;
    }

    void read_band(HeaderBits &in, const Packet &packet, const PrecinctBand &band) {  // B.10.3 to B.10.7
        const uint32_t style = coding_.of_component(band.component).style;
        TagTree inclusion(&inclusion_[band.nodes - first_node_], band),
            zero_planes(&zero_planes_[band.nodes - first_node_], band);
        for (uint32_t i = 0; i < band.columns * band.rows; i++) {
            const uint32_t block = band.first_block + i - out_.first_block, x = i % band.columns, y = i / band.columns;
            BlockPieces &b = out_.blocks[block];
            if (b.is_included) {
                if (!in.bit()) continue;
            } else {
                if (inclusion.read(in, x, y, packet.layer + 1) > packet.layer) continue;
                b.is_included = true;
                b.is_ht = are_alternatives(style);
                const uint32_t zeros = zero_planes.read(in, x, y, kMostZeroPlanes + 1);
                if (zeros > kMostZeroPlanes) throw Damage{"its header is damaged"};
                b.zero_planes = static_cast<uint8_t>(zeros);
            }
            const uint32_t passes = read_passes(in);
            while (in.bit())
                if (++b.length_bits > 32) throw Damage{"its header is damaged"};
            if (b.passes + passes > kMostPasses || in.is_exceeded()) throw Damage{"its header is damaged"};
            if (b.is_ht)
                read_ht_lengths(in, block, style, passes);
            else
                read_lengths(in, block, style, passes);
        }
    }

    int length_bits(const BlockPieces &b, uint32_t passes) const {
        const int bits = b.length_bits + floor_log2(passes);
        if (bits > 32) throw Damage{"its header is damaged"};
        return bits;
    }
    void add(uint32_t block, uint32_t passes, uint32_t bytes, bool begins_segment) {
        added_.push_back({block, bytes, passes, begins_segment});
        out_.blocks[block].passes = static_cast<uint16_t>(out_.blocks[block].passes + passes);
    }

    void read_lengths(HeaderBits &in, uint32_t block, uint32_t style, uint32_t passes) {  // B.10.7
        BlockPieces &b = out_.blocks[block];
        while (passes) {
            const int first = b.passes;
            const auto count =
                static_cast<uint32_t>(std::min<int64_t>(int64_t{segment_end(style, first)} + 1 - first, passes));
            const uint32_t bytes = in.bits(length_bits(b, count));
            add(block, count, bytes, !first || ends_segment(style, first - 1));
            passes -= count;
        }
    }

    // T.814 B.3: before the first cleanup pass there may be placeholder passes, three a bit-plane, without bytes. The
    // number of length bits follows from all passes that are added, as of the MQ coder; a cleanup pass among them has
    // been told apart by its length, which is not 0.
    void read_ht_lengths(HeaderBits &in, uint32_t block, uint32_t style, uint32_t passes) {
        BlockPieces &b = out_.blocks[block];
        if (!b.has_cleanup) {
            const uint32_t behind = (b.passes + passes - 1) % 3;  // refinement passes, if there is a cleanup pass
            const uint32_t count = passes > behind ? passes - behind : passes;
            int bits = length_bits(b, count);
            uint32_t bytes = in.bits(bits);
            const bool is_cleanup = passes > behind && bytes &&
                                    (!(style & kMixed) || (b.length_bits > 3 && bytes > 1 && !(bytes >> (bits - 1))));
            if (!is_cleanup) {
                for (const int all = length_bits(b, passes); bits < all; bits++) bytes = bytes << 1 | in.bit();
                if (bytes) {
                    if (!(style & kMixed)) throw Damage{"its header has bytes of placeholder passes"};
                    b.is_ht = false;
                }
                return add(block, passes, bytes, !b.passes);
            }
            add(block, count, bytes, !b.passes);
            b.has_cleanup = true;
            passes -= count;
        }
        while (passes) {
            const uint32_t of_set = b.passes % 3, count = of_set == 1 && passes > 1 ? 2 : 1;
            const uint32_t bytes = in.bits(length_bits(b, count));
            add(block, count, bytes, of_set != 2);
            passes -= count;
        }
    }

    const std::span<const uint8_t> codestream_;
    const Geometry &g_;
    const TileCoding &coding_;
    const uint32_t tile_;
    const WantedPackets wanted_;
    std::vector<const CodedTilePart *> parts_;
    size_t part_ = 0, at_ = 0, header_at_ = 0;  // at_: in the codestream; header_at_: in packed headers
    uint32_t first_node_ = 0;
    std::vector<Node> inclusion_, zero_planes_;
    std::vector<Added> added_;  // by the packet
    TilePackets out_;
};

}  // namespace

void TilePackets::gather(size_t block, std::span<const uint8_t> codestream, std::vector<CodewordSegment> &segments,
                         std::vector<uint8_t> &bytes) const {
    segments.clear(), bytes.clear();
    for (uint32_t i = blocks[block].first; i != kNoPiece; i = pieces[i].next) {
        const SegmentPiece &piece = pieces[i];
        if (piece.begins_segment || segments.empty()) segments.push_back({0, 0});
        segments.back().passes += piece.passes;
        segments.back().bytes += piece.bytes;
        const auto begin = codestream.begin() + static_cast<ptrdiff_t>(piece.at);
        bytes.insert(bytes.end(), begin, begin + piece.bytes);
    }
}

bool is_ht_block(const BlockPieces &pieces, uint32_t style) {
    return pieces.is_included ? pieces.is_ht : are_alternatives(style);
}

TilePackets read_packets(std::span<const uint8_t> codestream, const Description &description, const Geometry &geometry,
                         uint32_t tile, const WantedPackets &wanted) {
    return Reader(codestream, description, geometry, tile, wanted).read();
}

}  // namespace cudaenc::j2k
