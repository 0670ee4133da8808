// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "../../error.h"
#include "../codestream/markers.h"
#include "../t1/block.h"
#include "../t1/styles.h"

namespace cudaenc::j2k {

namespace {

constexpr uint32_t kMostZeroPlanes = 96;  // above all M_b
constexpr uint32_t kMostPasses = 1000;
constexpr uint32_t kLongestRun = 128;  // of bits; longer than all that are allowed

uint64_t load_big_endian(const uint8_t *from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

// Bits of a packet header, highest first, seven in a byte behind 0xFF (B.10.1). Behind the end there are zeros.
class HeaderBits {
  public:
    explicit HeaderBits(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    bool bit() { return bits(1); }
    uint32_t bits(int count) {  // 1 to 32
        need(count);
        const auto value = static_cast<uint32_t>(ahead_.bits >> (64 - count));
        skip(count);
        return value;
    }
    // Bits that are `kBit`, up to the next other one, which is taken too. Of `most` or more, so many are taken alone.
    template <bool kBit>
    uint32_t run(uint32_t most) {
        const int same = std::countl_zero((kBit ? ~ahead_.bits : ahead_.bits) | 1);
        if (same < ahead_.count && static_cast<uint32_t>(same) < most) [[likely]] {
            skip(same + 1);
            return static_cast<uint32_t>(same);
        }
        const auto [ahead, length] = long_run<kBit>(*this, most);
        ahead_ = ahead;
        return length;
    }
    uint32_t passes() {  // Table B.4; bit by bit, since a branch that is foreseen is no link of the chain
        need(48);        // and for what follows, mostly
        if (!bit()) return 1;
        if (!bit()) return 2;
        if (const uint32_t more = bits(2); more < 3) return 3 + more;
        if (const uint32_t more = bits(5); more < 31) return 6 + more;
        return 37 + bits(7);
    }
    // Bytes up to the end of the header: one more is stuffed behind 0xFF.
    size_t end() const {
        const size_t at = bytes_read();
        return std::min(at + (at && value_at(at - 1) == 0xFF ? 1 : 0), bytes_.size());
    }
    bool is_exceeded() const { return ahead_.at > bytes_.size() && bytes_read() > bytes_.size(); }

  private:
    // The bits that come next, from the highest on; below `count` of them there are zeros, or what follows already. at:
    // the byte behind them.
    struct Ahead {
        uint64_t bits = 0;
        int count = 0;
        size_t at = 0;
    };
    // Here and above objects are copied, so that registers can hold what is read in a loop.
    struct Run {
        Ahead ahead;
        uint32_t length;
    };
    template <bool kBit>
    [[gnu::noinline]] static Run long_run(HeaderBits in, uint32_t most) {
        for (uint32_t length = 0; length < most; length++)
            if (in.bit() != kBit) return {in.ahead_, length};
        return {in.ahead_, most};
    }
    void need(int count) {  // up to 56
        if (ahead_.count < count) fill();
    }
    void skip(int count) {  // up to 63
        ahead_.bits <<= count;
        ahead_.count -= count;
    }
    void fill() {
        if (ahead_.at && ahead_.at + sizeof(uint64_t) <= bytes_.size()) {
            const uint64_t word = load_big_endian(bytes_.data() + ahead_.at);
            constexpr uint64_t kOnes = 0x0101010101010101;
            const bool has_ff = (~word - kOnes) & word & (kOnes << 7);  // a byte of ~word is 0
            if (!has_ff && bytes_[ahead_.at - 1] != 0xFF) {
                ahead_.bits |= word >> ahead_.count;
                ahead_.at += static_cast<size_t>((63 - ahead_.count) >> 3);
                ahead_.count |= 56;
                return;
            }
        }
        ahead_ = filled_by_bytes(bytes_, ahead_);
    }
    [[gnu::noinline]] static Ahead filled_by_bytes(std::span<const uint8_t> bytes, Ahead ahead) {
        while (ahead.count < 56) {
            const uint64_t byte = ahead.at < bytes.size() ? bytes[ahead.at] : 0;
            ahead.count += width_at(bytes, ahead.at++);
            ahead.bits |= byte << (64 - ahead.count);
        }
        return ahead;
    }
    static int width_at(std::span<const uint8_t> bytes, size_t at) {
        return at && at <= bytes.size() && bytes[at - 1] == 0xFF ? 7 : 8;
    }
    uint8_t value_at(size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }
    // Those of which bits were taken, with zeros behind the end.
    size_t bytes_read() const {
        size_t at = ahead_.at;
        for (int count = ahead_.count; at; at--) {
            count -= width_at(bytes_, at - 1);
            if (count < 0) break;
        }
        return at;
    }
    std::span<const uint8_t> bytes_;
    Ahead ahead_;
};

// A tag tree of a band, whose nodes stand level by level, the leaves first.
class TagTree {
  public:
    TagTree(TagTreeNode *nodes, const PrecinctBand &band) : levels_(tag_tree_levels(band.columns, band.rows)) {
        for (int level = 0; level < levels_; level++) {
            const uint32_t columns = tag_tree_columns(band.columns, level);
            levels_of_[static_cast<size_t>(level)] = {nodes, columns};
            nodes += static_cast<size_t>(columns) * tag_tree_columns(band.rows, level);
        }
    }
    // Reads on until the leaf's value is known, or is `threshold` or more, and returns it, or `threshold`.
    uint32_t read(HeaderBits &in, uint32_t x, uint32_t y, uint32_t threshold) {
        int level = 0;
        while (level < levels_ && node(level, x, y).is_due(threshold)) level++;
        uint32_t above = level < levels_ ? node(level, x, y).least() : 0;
        while (level--) {
            TagTreeNode &below = node(level, x, y);
            below = read_node(in, below, above, threshold);
            above = below.least();
        }
        const TagTreeNode leaf = node(0, x, y);
        return leaf.is_known() ? leaf.least() : threshold;
    }

  private:
    TagTreeNode &node(int level, uint32_t x, uint32_t y) const {
        const Level &of = levels_of_[static_cast<size_t>(level)];
        return of.first[size_t{y >> level} * of.columns + (x >> level)];
    }
    // The node, read on. above: what the value of the node above is at least.
    static TagTreeNode read_node(HeaderBits &in, TagTreeNode node, uint32_t above, uint32_t threshold) {
        const uint32_t least = std::max(node.least(), above);
        if (least >= threshold) return {least, false};
        const uint32_t zeros = in.run<false>(threshold - least);
        return {least + zeros, zeros < threshold - least};
    }

    struct Level {
        TagTreeNode *first;
        uint32_t columns;
    };
    const int levels_;
    std::array<Level, 32> levels_of_;
};

// Both tag trees of a band that has one layer. All bits of a node stand before those of its first leaf (inclusion), or
// of its first included leaf (zero bit-planes). Leaves are read in raster order. So of each level above them one row of
// nodes is kept, in memory that is given.
class TreesOfOneLayer {
  public:
    TreesOfOneLayer(std::vector<uint8_t> &nodes, const PrecinctBand &band)
        : levels_(tag_tree_levels(band.columns, band.rows)) {
        nodes.resize(size_t{band.columns} + row_.size());
        uint8_t *row = nodes.data();
        for (int level = 1; level < levels_; level++) {
            row_[static_cast<size_t>(level)] = row;
            row += tag_tree_columns(band.columns, level);
        }
        row_[static_cast<size_t>(levels_)] = row;  // above the root
        *row = 0;
    }
    bool is_included(HeaderBits &in, uint32_t x, uint32_t y) {
        if (!((x | y) & 1)) read_inclusion_above(in, x, y);
        return row_[1][x / 2] != kNotIncluded && in.bit();
    }
    // Of an included leaf; above kMostZeroPlanes its bits are damaged.
    uint32_t zero_planes(HeaderBits &in, uint32_t x) {
        if (row_[1][x / 2] == kUnknown) read_zero_planes_above(in, x);
        return read_node(in, row_[1][x / 2]);
    }

  private:
    static constexpr uint8_t kNotIncluded = 255, kUnknown = 254;  // of included nodes: their zero bit-planes

    static uint32_t read_node(HeaderBits &in, uint32_t above) { return above + in.run<false>(kLongestRun); }
    uint8_t &node(int level, uint32_t x) { return row_[static_cast<size_t>(level)][x >> level]; }
    void read_inclusion_above(HeaderBits &in, uint32_t x, uint32_t y) {
        for (int level = std::min(levels_ - 1, std::countr_zero(x | y)); level > 0; level--)
            node(level, x) = node(level + 1, x) != kNotIncluded && in.bit() ? kUnknown : kNotIncluded;
    }
    void read_zero_planes_above(HeaderBits &in, uint32_t x) {
        int level = 1;
        while (node(level, x) == kUnknown) level++;
        for (; level > 1; level--)
            node(level - 1, x) = static_cast<uint8_t>(std::min(read_node(in, node(level, x)), kMostZeroPlanes + 1));
    }

    const int levels_;
    std::array<uint8_t *, 33> row_;  // of a level
};

struct Damage {
    std::string what;
};

// Reads the packets of a tile.
class TileReader {
  public:
    // parts: of the tile, as indices of Description::coded_tile_parts.
    TileReader(std::span<const uint8_t> codestream, const Description &d, const Geometry &g, uint32_t tile,
               const WantedPackets &wanted, std::span<const uint32_t> parts, TilePackets &out,
               const std::function<void(const PacketsRead &)> &told)
        : codestream_(codestream),
          d_(d),
          g_(g),
          coding_(d.of_tile(tile)),
          tile_(tile),
          wanted_(wanted),
          parts_(parts),
          out_(out),
          told_(told) {}

    void read() {
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
        if (first_block >= last_block) first_block = last_block = first_node = last_node = 0;
        out_.tile = tile_;
        out_.first_block = first_block;
        out_.damage.clear();
        out_.pieces.clear();
        out_.replaced.clear();
        out_.blocks.assign(last_block - first_block, {});
        const uint32_t nodes = coding_.layers == 1 ? 0 : last_node - first_node;
        out_.inclusion.assign(nodes, {});
        out_.zero_planes.assign(nodes, {});
        first_node_ = first_node;
        uint32_t packet = all.first_packet, last = all.last_packet;
        while (last > packet && !is_wanted(g_.packets[last - 1])) last--;
        if (packet == last) return;  // a tile without samples may have no tile-part
        try {
            if (parts_.empty()) throw Damage{"has no tile-part"};
            begin_part();
            for (; packet < last && next_part(); packet++) {
                read_packet(g_.packets[packet]);
                if (told_) tell(g_.packets[packet]);
            }
            if (packet < last) throw Damage{"ends early"};
        } catch (const Damage &damage) {
            out_.damage = format_string("JPEG 2000: tile %u, packet %u of %u: ", tile_, packet - all.first_packet,
                                        all.last_packet - all.first_packet) +
                          damage.what;
        }
    }

  private:
    void tell(const Packet &packet) {
        if (!packet.layer) blocks_read_ += packet.last_block - packet.first_block;
        told_({.blocks = blocks_read_, .segments = out_.pieces.size(), .pieces = out_.pieces.data(), .end = at_});
    }
    bool is_wanted(const Packet &packet) const {
        if (packet.layer >= wanted_.layers || packet.first_band == packet.last_band) return false;
        const PrecinctBand &band = g_.precinct_bands[packet.first_band];
        return resolution_of(band.band) <= coding_.of_component(band.component).levels - wanted_.lowres;
    }
    const CodedTilePart &part() const { return d_.coded_tile_parts[parts_[part_]]; }
    void begin_part() {
        at_ = part().begin;
        header_at_ = 0;
    }
    // Moves on to the tile-part that has the next packet; false: there is none.
    bool next_part() {
        for (;;) {
            const bool is_packed = part().has_packed_headers;
            if (is_packed ? header_at_ < part().packet_headers.size() : at_ < part().end) return true;
            if (part_ + 1 == parts_.size()) return false;
            part_++;
            begin_part();
        }
    }
    bool has_marker(std::span<const uint8_t> bytes, Marker marker) const {
        return bytes.size() >= 2 && bytes[0] == marker >> 8 && bytes[1] == (marker & 0xFF);
    }
    std::span<const uint8_t> rest() const { return codestream_.subspan(at_, part().end - at_); }

    void read_packet(const Packet &packet) {
        const bool is_packed = part().has_packed_headers;
        if (has_marker(rest(), kSop)) at_ += std::min<size_t>(6, rest().size());
        const std::span<const uint8_t> source =
            is_packed ? std::span<const uint8_t>(part().packet_headers).subspan(header_at_) : rest();
        HeaderBits in(source);
        const size_t first_piece = out_.pieces.size();
        try {
            if (in.bit()) read_bands(in, packet);
            if (in.is_exceeded()) throw Damage{"its header is cut"};
        } catch (const Damage &) {
            take_back(packet, first_piece);
            throw;
        }
        size_t bytes = in.end();
        if (has_marker(source.subspan(bytes), kEph)) bytes += 2;
        (is_packed ? header_at_ : at_) += bytes;
        size_t piece = first_piece, left = rest().size();
        for (; piece < out_.pieces.size() && out_.pieces[piece].bytes <= left; piece++) {
            out_.pieces[piece].at = at_;
            at_ += out_.pieces[piece].bytes, left -= out_.pieces[piece].bytes;
        }
        const bool is_cut = piece < out_.pieces.size();
        take_back(packet, packet.layer < wanted_.layers ? piece : first_piece);
        if (is_cut) throw Damage{"its bytes are cut"};
    }

    // Takes pieces of the packet, from `first` on, from its blocks.
    void take_back(const Packet &packet, size_t first) {
        if (first == out_.pieces.size()) return;
        for (uint32_t i = packet.first_block; i < packet.last_block; i++) {
            BlockPieces &b = out_.blocks[i - out_.first_block];
            if (b.last == kNoPiece || b.last < first) continue;
            uint32_t last = kNoPiece;
            for (uint32_t k = b.first; k < first; k = out_.pieces[k].next) last = k;
            b.last = last;
            (last == kNoPiece ? b.first : out_.pieces[last].next) = kNoPiece;
        }
        out_.pieces.resize(first);
    }

    // The code-blocks of the packet's header.
    void read_bands(HeaderBits &in, const Packet &packet) {
        for (uint32_t k = packet.first_band; k < packet.last_band; k++) {
            const PrecinctBand &band = g_.precinct_bands[k];
            in = coding_.layers == 1 ? behind_only_layer(in, band) : behind_layer(in, band, packet.layer);
        }
    }
    // What comes behind the bits of a band (B.10.3 to B.10.7). Bits are a value, so that registers hold them.
    HeaderBits behind_only_layer(HeaderBits in, const PrecinctBand &band) {
        const uint32_t style = coding_.of_component(band.component).style, columns = band.columns;
        const bool is_ht = are_alternatives(style);
        const uint32_t of_first_segment = passes_of_first_segment(style);
        TreesOfOneLayer trees(out_.row_nodes, band);
        BlockPieces *block = &out_.blocks[band.first_block - out_.first_block];
        for (uint32_t y = 0; y < band.rows; y++)
            for (uint32_t x = 0; x < columns; x++, block++)
                if (trees.is_included(in, x, y)) {
                    include(*block, trees.zero_planes(in, x), is_ht);
                    read_passes(in, *block, style, of_first_segment);
                }
        return in;
    }
    HeaderBits behind_layer(HeaderBits in, const PrecinctBand &band, uint32_t layer) {
        const uint32_t style = coding_.of_component(band.component).style;
        TagTree inclusion(&out_.inclusion[band.nodes - first_node_], band),
            zero_planes(&out_.zero_planes[band.nodes - first_node_], band);
        BlockPieces *block = &out_.blocks[band.first_block - out_.first_block];
        for (uint32_t y = 0; y < band.rows; y++) {
            for (uint32_t x = 0; x < band.columns; x++, block++) {
                if (block->is_included) {
                    if (!in.bit()) continue;
                } else {
                    if (inclusion.read(in, x, y, layer + 1) > layer) continue;
                    include(*block, zero_planes.read(in, x, y, kMostZeroPlanes + 1), are_alternatives(style));
                }
                read_passes(in, *block, style, passes_of_first_segment(style));
            }
        }
        return in;
    }
    static void include(BlockPieces &b, uint32_t zero_planes, bool is_ht) {
        if (zero_planes > kMostZeroPlanes) throw Damage{"its header is damaged"};
        b.zero_planes = static_cast<uint8_t>(zero_planes);
        b.is_included = true;
        b.is_ht = is_ht;
    }

    // A block's passes and lengths (B.10.6, B.10.7).
    [[gnu::always_inline]] void read_passes(HeaderBits &in, BlockPieces &b, uint32_t style, uint32_t of_first_segment) {
        const uint32_t passes = in.passes(), length_bits = b.length_bits + in.run<true>(kLongestRun);
        if (length_bits > 32 || b.passes + passes > kMostPasses || in.is_exceeded())
            throw Damage{"its header is damaged"};
        b.length_bits = static_cast<uint8_t>(length_bits);
        if (b.passes + passes > of_first_segment) {
            in = behind_lengths(in, b, style, passes);
            return;
        }
        const uint32_t bytes = in.bits(bits_of_length(length_bits, passes));
        add(b, passes, bytes, !b.passes);
        b.has_cleanup = b.is_ht && bytes;
    }
    // So many of a block, if it has no more yet, are one segment.
    static uint32_t passes_of_first_segment(uint32_t style) {
        if (are_alternatives(style)) return style & kMixed ? 0 : 1;
        return static_cast<uint32_t>(segment_end(style, 0)) + 1;
    }
    [[gnu::noinline]] HeaderBits behind_lengths(HeaderBits in, BlockPieces &b, uint32_t style, uint32_t passes) {
        if (b.is_ht)
            read_ht_lengths(in, b, style, passes);
        else
            read_lengths(in, b, style, passes);
        return in;
    }

    static int bits_of_length(uint32_t length_bits, uint32_t passes) {
        const int bits = static_cast<int>(length_bits) + floor_log2(passes);
        if (bits > 32) throw Damage{"its header is damaged"};
        return bits;
    }
    [[gnu::always_inline]] void add(BlockPieces &b, uint32_t passes, uint32_t bytes, bool begins_segment) {
        const auto index = static_cast<uint32_t>(out_.pieces.size());
        if (out_.pieces.size() == out_.pieces.capacity()) [[unlikely]]
            grow_pieces();
        out_.pieces.push_back({0, bytes, passes, kNoPiece, begins_segment});
        (b.first == kNoPiece ? b.first : out_.pieces[b.last].next) = index;
        b.last = index;
        b.passes = static_cast<uint16_t>(b.passes + passes);
    }

    // What told_ knows of stays where it is.
    [[gnu::noinline]] void grow_pieces() {
        std::vector<SegmentPiece> larger;
        larger.reserve(std::max(out_.blocks.size(), 2 * out_.pieces.size()));
        larger = out_.pieces;
        larger.swap(out_.pieces);
        if (told_) out_.replaced.push_back(std::move(larger));
    }

    [[gnu::always_inline]] void read_lengths(HeaderBits &in, BlockPieces &b, uint32_t style,
                                             uint32_t passes) {  // B.10.7
        while (passes) {
            const int first = b.passes;
            const auto count =
                static_cast<uint32_t>(std::min<int64_t>(int64_t{segment_end(style, first)} + 1 - first, passes));
            const uint32_t bytes = in.bits(bits_of_length(b.length_bits, count));
            add(b, count, bytes, !first || ends_segment(style, first - 1));
            passes -= count;
        }
    }

    // T.814 B.3: before the first cleanup pass there may be placeholder passes, three a bit-plane, without bytes. The
    // number of length bits follows from all passes that are added, as of the MQ coder; a cleanup pass among them has
    // been told apart by its length, which is not 0.
    [[gnu::always_inline]] void read_ht_lengths(HeaderBits &in, BlockPieces &b, uint32_t style, uint32_t passes) {
        if (!b.has_cleanup) {
            const uint32_t behind = (b.passes + passes - 1) % 3;  // refinement passes, if there is a cleanup pass
            const uint32_t count = passes > behind ? passes - behind : passes;
            int bits = bits_of_length(b.length_bits, count);
            uint32_t bytes = in.bits(bits);
            const bool is_cleanup = passes > behind && bytes &&
                                    (!(style & kMixed) || (b.length_bits > 3 && bytes > 1 && !(bytes >> (bits - 1))));
            if (!is_cleanup) {
                for (const int all = bits_of_length(b.length_bits, passes); bits < all; bits++)
                    bytes = bytes << 1 | in.bit();
                if (bytes) {
                    if (!(style & kMixed)) throw Damage{"its header has bytes of placeholder passes"};
                    b.is_ht = false;
                }
                return add(b, passes, bytes, !b.passes);
            }
            add(b, count, bytes, !b.passes);
            b.has_cleanup = true;
            passes -= count;
        }
        while (passes) {
            const uint32_t of_set = b.passes % 3, count = of_set == 1 && passes > 1 ? 2 : 1;
            const uint32_t bytes = in.bits(bits_of_length(b.length_bits, count));
            add(b, count, bytes, of_set != 2);
            passes -= count;
        }
    }

    const std::span<const uint8_t> codestream_;
    const Description &d_;
    const Geometry &g_;
    const TileCoding &coding_;
    const uint32_t tile_;
    const WantedPackets wanted_;
    const std::span<const uint32_t> parts_;
    TilePackets &out_;
    const std::function<void(const PacketsRead &)> &told_;
    size_t blocks_read_ = 0;
    size_t part_ = 0, at_ = 0, header_at_ = 0;  // at_: in the codestream; header_at_: in packed headers
    uint32_t first_node_ = 0;
};

}  // namespace

BlockToDecode TilePackets::gather(size_t index, const CodeBlock &block, uint32_t style,
                                  std::span<const uint8_t> codestream, std::vector<CodewordSegment> &segments,
                                  std::vector<uint8_t> &bytes) const {
    segments.clear(), bytes.clear();
    for (uint32_t i = blocks[index].first; i != kNoPiece; i = pieces[i].next) {
        const SegmentPiece &piece = pieces[i];
        if (piece.begins_segment || segments.empty()) segments.push_back({0, 0});
        segments.back().passes += piece.passes;
        segments.back().bytes += piece.bytes;
        const auto begin = codestream.begin() + static_cast<ptrdiff_t>(piece.at);
        bytes.insert(bytes.end(), begin, begin + piece.bytes);
    }
    return {.width = block.width,
            .height = block.height,
            .orientation = block.orientation,
            .style = style,
            .planes = block.planes - blocks[index].zero_planes,
            .segments = segments,
            .bytes = bytes.data()};
}

PacketReader::PacketReader(std::span<const uint8_t> codestream, const Description &description,
                           const Geometry &geometry, const WantedPackets &wanted)
    : codestream_(codestream), d_(description), g_(geometry), wanted_(wanted) {
    const std::vector<CodedTilePart> &parts = d_.coded_tile_parts;
    first_part_.resize(static_cast<size_t>(d_.tiles()) + 1);
    for (const CodedTilePart &part : parts) first_part_[part.tile + 1]++;
    std::partial_sum(first_part_.begin(), first_part_.end(), first_part_.begin());
    std::vector<uint32_t> next = first_part_;
    parts_.resize(parts.size());
    for (size_t i = 0; i < parts.size(); i++) parts_[next[parts[i].tile]++] = static_cast<uint32_t>(i);
}

void PacketReader::read(uint32_t tile, TilePackets &packets,
                        const std::function<void(const PacketsRead &)> &told) const {
    const std::span<const uint32_t> parts(parts_.begin() + first_part_[tile], parts_.begin() + first_part_[tile + 1]);
    TileReader(codestream_, d_, g_, tile, wanted_, parts, packets, told).read();
}

}  // namespace cudaenc::j2k
