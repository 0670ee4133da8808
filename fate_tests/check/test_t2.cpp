// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-2: what blocks add to packet headers, against tag trees coded the sequential way and a reader of headers; the
// code words of Table B.4; bit stuffing. Then the kernels alone, against a codestream put together sequentially, with
// guard bytes around every buffer.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/main_header.h"
#include "../../common/j2k/codestream/markers.h"
#include "../../common/j2k/t1/distortion.h"
#include "../../common/j2k/t2/packet_header.h"
#include "../../common/j2k/t2/tier2_cpu.h"
#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/j2k/t2/t2_params.h"
#include "j2k_case.h"
#include "packet_header.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// Bits as text.
struct TextSink {
    std::string bits;
    void put(uint32_t value, int count) {
        EXPECT(count >= 0 && count <= 32, "%d bits at once", count);
        while (count--) bits += static_cast<char>('0' + ((value >> count) & 1));
    }
};

std::string binary(uint32_t value, int count) {
    TextSink sink;
    sink.put(value, count);
    return sink.bits;
}

// T.800 Table B.4.
std::string passes_code(uint32_t passes) {
    if (passes == 1) return "0";
    if (passes == 2) return "10";
    if (passes <= 5) return "11" + binary(passes - 3, 2);
    if (passes <= 36) return "1111" + binary(passes - 6, 5);
    return "111111111" + binary(passes - 37, 7);
}

START_TEST(numbers_of_passes_have_the_standards_code_words) {
    EXPECT(passes_code(5) == "1110");
    EXPECT(passes_code(36) == "111111110");
    EXPECT(passes_code(164) == "1111111111111111");
    for (uint32_t passes = 1; passes <= 164; passes++) {
        TextSink sink;
        put_passes(sink, passes);
        EXPECT(sink.bits == passes_code(passes), "%u passes: %s", passes, sink.bits.c_str());
    }
}
END_TEST

struct Band {
    PrecinctBand precinct_band;
    std::vector<int> planes;  // M_b of each block
    std::vector<CodedBlock> coded;
    uint32_t style;
    std::vector<std::array<uint32_t, 3 * kMaxPlanes>> pass_bytes;  // of each block
    uint32_t layers;
    std::vector<uint8_t> layer_passes;  // [layer * blocks + block]: of the layers up to this
    std::vector<uint32_t> layer_bytes;
    std::vector<TagNode> nodes;
    std::vector<LayerSet> sets;  // one

    uint32_t count() const { return precinct_band.columns * precinct_band.rows; }
    LayerEnds block(uint32_t i) const { return {&layer_passes[i], &layer_bytes[i], count()}; }
};

void build_nodes(Band &band) {
    const uint32_t columns = band.precinct_band.columns, rows = band.precinct_band.rows;
    band.nodes.clear();
    band.sets.assign(1, {});
    for (uint32_t i = 0; i < band.count(); i++) {
        band.nodes.push_back(tag_leaf(band.block(i).first(band.layers), band.planes[i] - band.coded[i].planes, i));
        for (uint32_t l = 0; l < band.layers; l++)
            if (band.block(i).adds(l)) band.sets[0].add(l);
    }
    size_t below = 0;
    for (int level = 1; level < tag_tree_levels(columns, rows); level++) {
        const uint32_t c = tag_tree_columns(columns, level - 1), r = tag_tree_columns(rows, level - 1);
        for (uint32_t y = 0; y < tag_tree_columns(rows, level); y++)
            for (uint32_t x = 0; x < tag_tree_columns(columns, level); x++)
                band.nodes.push_back(tag_parent(&band.nodes[below], c, r, x, y));
        below += size_t{c} * r;
    }
    EXPECT_EQ(below + 1, band.nodes.size());  // one root
}

// All of a block's passes, or as many as there are up to a random one, are in the layers up to each; of some layers
// few blocks have any, or none.
void make_layers(Random &random, Band &band) {
    const uint32_t count = band.count();
    band.layer_passes.resize(size_t{count} * band.layers);
    band.layer_bytes.resize(size_t{count} * band.layers);
    std::vector<uint32_t> rarity(band.layers);  // one block in so many has more passes than before
    for (uint32_t &r : rarity) r = random.one_in(3) ? 1000000 : 1u << random.between(0, 7);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t l = 0, passes = 0; l < band.layers; l++) {
            const uint32_t all = band.coded[i].passes;
            if (l == band.layers - 1)
                passes = all;
            else if (random.one_in(rarity[l]))
                passes += random.below(all - passes + 1) >> random.between(0, 4);
            band.layer_passes[l * count + i] = static_cast<uint8_t>(passes);
            band.layer_bytes[l * count + i] = passes ? band.pass_bytes[i][passes - 1] : 0;
        }
}

// `share` of 16 blocks are included.
Band make_band(Random &random, uint32_t columns, uint32_t rows, uint32_t share, uint32_t layers) {
    Band band{};
    band.style = random.one_in(2) ? 0 : random.below(kStyles);
    band.precinct_band.columns = columns;
    band.precinct_band.rows = rows;
    band.layers = layers;
    const int planes = random.between(1, kMaxPlanes);
    const bool alike = random.one_in(4);
    for (uint32_t i = 0; i < columns * rows; i++) {
        const uint8_t coded = static_cast<uint8_t>(alike ? planes : random.between(1, planes));
        const uint32_t bytes = random.word() >> random.between(12, 31);
        band.planes.push_back(planes);
        const uint8_t passes = static_cast<uint8_t>(random.between(1, 3 * coded - 2));
        band.coded.push_back(random.below(16) < share ? CodedBlock{bytes, coded, passes} : CodedBlock{});
        auto &ends = band.pass_bytes.emplace_back();
        for (int k = 0; k < passes; k++)
            ends[static_cast<size_t>(k)] = k < passes - 1 ? random.below(bytes + 1) : bytes;
        std::sort(ends.begin(), ends.begin() + passes);
    }
    make_layers(random, band);
    build_nodes(band);
    return band;
}

// The bytes that a layer has of a block's segments.
std::vector<uint32_t> segments(const Band &band, uint32_t block, uint32_t layer) {
    std::vector<uint32_t> bytes;
    const uint32_t first = static_cast<uint32_t>(band.block(block).passes_before(layer)),
                   last = static_cast<uint32_t>(band.block(block).passes_before(layer + 1));
    uint32_t pass = first, before = first ? band.pass_bytes[block][first - 1] : 0;
    for (const uint32_t count : segment_passes(band.style, first, last)) {
        const uint32_t end = band.pass_bytes[block][(pass += count) - 1];
        bytes.push_back(end - before);
        before = end;
    }
    return bytes;
}

// The headers' bits, of each layer, as a sequential encoder makes them; of an empty packet none.
std::vector<std::string> textbook_bits(const Band &band) {
    const uint32_t columns = band.precinct_band.columns, rows = band.precinct_band.rows;
    TagTree inclusion(columns, rows), zero_planes(columns, rows);
    std::vector<int> lblocks(band.count(), 3);
    for (uint32_t i = 0; i < band.count(); i++) {
        const CodedBlock &coded = band.coded[i];
        uint32_t first = 0;
        while (first < band.layers && !band.layer_passes[first * band.count() + i]) first++;
        inclusion.set(i % columns, i / columns, first);
        zero_planes.set(i % columns, i / columns,
                        coded.planes ? static_cast<uint32_t>(band.planes[i] - coded.planes) : 1000);
    }
    inclusion.fill();
    zero_planes.fill();
    std::vector<std::string> layers(band.layers);
    for (uint32_t layer = 0; layer < band.layers; layer++) {
        std::string &bits = layers[layer];
        const auto put = [&](bool bit) { bits += bit ? '1' : '0'; };
        const auto passes_up_to = [&](uint32_t i, int l) {
            return l < 0 ? 0u : band.layer_passes[static_cast<uint32_t>(l) * band.count() + i];
        };
        bool any = false;
        for (uint32_t i = 0; i < band.count(); i++)
            any |= passes_up_to(i, static_cast<int>(layer)) != passes_up_to(i, static_cast<int>(layer) - 1);
        for (uint32_t i = 0; any && i < band.count(); i++) {
            const uint32_t x = i % columns, y = i / columns, before = passes_up_to(i, static_cast<int>(layer) - 1),
                           passes = passes_up_to(i, static_cast<int>(layer)) - before;
            if (before)
                put(passes != 0);
            else
                inclusion.write(x, y, layer + 1, put);
            if (!passes) continue;
            if (!before)
                for (int t = 1; t <= band.planes[i] - band.coded[i].planes + 1; t++)
                    zero_planes.write(x, y, static_cast<uint32_t>(t), put);
            bits += passes_code(passes);
            // B.10.7.2: Lblock grows as far as the longest segment needs.
            const std::vector<uint32_t> bytes = segments(band, i, layer),
                                        counts = segment_passes(band.style, before, before + passes);
            const auto log2 = [](uint32_t n) { return n > 1 ? 31 - __builtin_clz(n) : 0; };
            for (size_t k = 0; k < bytes.size(); k++)
                for (; uint64_t{bytes[k]} >> (lblocks[i] + log2(counts[k])); lblocks[i]++) bits += '1';
            bits += '0';
            for (size_t k = 0; k < bytes.size(); k++) bits += binary(bytes[k], lblocks[i] + log2(counts[k]));
        }
    }
    return layers;
}

void check_band(const Band &band) {
    const uint32_t columns = band.precinct_band.columns, count = band.count();
    Packet packet{};
    packet.last_band = 1;
    const std::vector<std::string> textbook = textbook_bits(band);
    BandReader band_reader(columns, band.precinct_band.rows, band.style);
    std::vector<uint32_t> counted(count);
    for (packet.layer = 0; packet.layer < band.layers; packet.layer++) {
        const uint32_t layer = packet.layer;
        TextSink sink;
        HeaderBytes header;
        const bool any = has_codewords(band.sets.data(), packet, layer);
        EXPECT(any == !textbook[layer].empty(), "layer %u: empty", layer);
        if (!any) continue;
        const uint32_t empty = empty_packets_before(band.sets.data(), packet);
        for (uint32_t i = 0; i < count; i++) {
            BitCounter counter;
            const size_t before = sink.bits.size();
            const auto put = [&](auto &to) {
                put_block_header(to, band.precinct_band, band.nodes.data(), i % columns, i / columns, band.block(i),
                                 layer, empty, band.style, band.pass_bytes[i].data());
            };
            put(sink);
            put(counter);
            put(header);
            EXPECT(sink.bits.size() - before == counter.bits, "block %u: %u bits counted", i, counter.bits);
            counted[i] += counter.bits;
        }
        EXPECT(sink.bits == textbook[layer], "%u x %u blocks, layer %u of %u", columns, band.precinct_band.rows, layer,
               band.layers);
        header.finish();
        HeaderReader reader(header.bytes.data(), header.bytes.size());
        band_reader.read(reader, layer);
        EXPECT(!reader.overrun && reader.finish() == header.bytes.size(),
               "%u x %u blocks, layer %u: not all bytes are read", columns, band.precinct_band.rows, layer);
        for (uint32_t i = 0; i < count; i++) {
            const HeaderBlock &block = band_reader.blocks[i];
            const int before = band.block(i).passes_before(layer), passes = band.block(i).passes_before(layer + 1);
            EXPECT(block.included == (passes != 0), "block %u: included %d", i, block.included);
            if (!passes) continue;
            EXPECT(block.zero_planes == static_cast<uint32_t>(band.planes[i] - band.coded[i].planes),
                   "block %u: %u zero planes", i, block.zero_planes);
            EXPECT(block.added == static_cast<uint32_t>(passes - before), "block %u: %u passes", i, block.added);
            EXPECT(block.segments == segments(band, i, layer), "block %u, style %u: %zu segments", i, band.style,
                   block.segments.size());
        }
    }
    for (uint32_t i = 0; i < count; i++)
        EXPECT(counted[i] <= most_block_header_bits(band.style, band.coded[i].passes, band.layers),
               "block %u has %u bits in %u layers", i, counted[i], band.layers);
}

constexpr uint32_t kShares[] = {0, 1, 4, 8, 15, 16};

START_TEST(block_headers_are_the_textbooks) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (uint32_t columns = 1; columns <= 9; columns++)
        for (uint32_t rows = 1; rows <= 9; rows++)
            for (const uint32_t share : kShares) check_band(make_band(random, columns, rows, share, 1));
    for (int repeat = 0; repeat < 60; repeat++)
        check_band(make_band(random, static_cast<uint32_t>(random.between(1, 70)),
                             static_cast<uint32_t>(random.between(1, 37)), random.of(kShares), 1));
    for (const uint32_t share : kShares) {
        check_band(make_band(random, 70, 37, share, 1));
        check_band(make_band(random, 1, 70, share, 1));
        check_band(make_band(random, 70, 1, share, 1));
    }
}
END_TEST

START_TEST(layers_have_the_textbooks_headers) {
    Random random(static_cast<uint64_t>(_i) + 100);
    for (uint32_t columns = 1; columns <= 9; columns++)
        for (uint32_t rows = 1; rows <= 9; rows++)
            for (const uint32_t share : kShares)
                check_band(make_band(random, columns, rows, share, static_cast<uint32_t>(random.between(2, 9))));
    for (int repeat = 0; repeat < 60; repeat++)
        check_band(make_band(random, static_cast<uint32_t>(random.between(1, 40)),
                             static_cast<uint32_t>(random.between(1, 20)), random.of(kShares),
                             static_cast<uint32_t>(random.one_in(4) ? kMaxLayers : random.between(2, kMaxLayers))));
}
END_TEST

START_TEST(the_deepest_tree_stays_within_the_bound) {
    // A precinct of 32768 x 4 has 8192 blocks of 4x4 in a row. The first block alone is included: all levels, all zero
    // planes, the longest length.
    Random random(1);
    for (const int planes : {1, 2, kMaxPlanes})
        for (const uint32_t layers : {1u, 3u}) {
            Band band = make_band(random, 8192, 1, 0, layers);
            std::fill(band.planes.begin(), band.planes.end(), kMaxPlanes);
            band.pass_bytes[0].fill((1u << 20) - 1);
            band.coded[0] = {(1u << 20) - 1, static_cast<uint8_t>(planes), static_cast<uint8_t>(3 * planes - 2)};
            make_layers(random, band);
            build_nodes(band);
            check_band(band);
        }
}
END_TEST

START_TEST(bits_are_stuffed) {
    Random random(static_cast<uint64_t>(_i) + 5);
    for (int repeat = 0; repeat < 3000; repeat++) {
        const uint32_t zeros = 1u << random.between(1, 9);  // one in so many
        std::string bits;
        HeaderBytes header;
        for (int words = random.between(0, 40); words > 0; words--) {
            const int count = random.between(0, 32);
            uint32_t value = 0;
            for (int i = 0; i < 32; i++) value = value << 1 | !random.one_in(zeros);
            header.put(value, count);
            bits += binary(value, count);
        }
        header.finish();
        // B.10.1: the bit after 0xFF is zero; zeros fill the last byte, which is not 0xFF.
        std::vector<uint8_t> expected;
        for (size_t at = 0; at < bits.size() || (!expected.empty() && expected.back() == 0xFF);) {
            uint8_t byte = 0;
            for (int i = !expected.empty() && expected.back() == 0xFF ? 6 : 7; i >= 0; i--, at++)
                byte |= static_cast<uint8_t>((at < bits.size() && bits[at] == '1') << i);
            expected.push_back(byte);
        }
        EXPECT(header.bytes == expected, "%zu bits", bits.size());
    }
}
END_TEST

START_TEST(an_empty_header_is_one_byte) {
    HeaderBytes header;
    header.put(0, 1);
    header.finish();
    EXPECT_EQ(header.bytes.size(), 1);
    EXPECT_EQ(header.bytes[0], 0);
}
END_TEST

START_TEST(packet_lengths_take_seven_bits_a_byte) {
    for (const uint64_t length : {0u, 1u, 127u, 128u, 16383u, 16384u, 2097151u, 2097152u, 268435455u, 0xFFFFFFFFu}) {
        uint8_t bytes[64];
        std::fill(std::begin(bytes), std::end(bytes), uint8_t{0xEE});
        // The third packet of a tile, 4 bytes of lengths before it: SOT, one PLT header, then these.
        put_plt_length(bytes, 2, 4, length);
        const size_t at = 12 + 5 + 4;
        uint64_t value = 0;
        size_t i = at;
        do value = value << 7 | (bytes[i] & 127);
        while (bytes[i++] & 128 && i < 40);
        EXPECT(value == length && i - at == plt_bytes(length), "%llu", static_cast<unsigned long long>(length));
        EXPECT(bytes[at - 1] == 0xEE && bytes[i] == 0xEE, "bytes around it");
        EXPECT(length < 128 || (bytes[at] & 127), "a length of %llu begins with nothing",
               static_cast<unsigned long long>(length));
    }
}
END_TEST

START_TEST(many_block_headers) {
    Random random(9);
    const Band band = make_band(random, 70, 37, 12, 1);
    const uint32_t count = band.count();
    HeaderBytes header;
    bench("t2: packet header", count, "blocks", [&] {
        header = {};
        for (uint32_t i = 0; i < count; i++)
            put_block_header(header, band.precinct_band, band.nodes.data(), i % 70, i / 70, band.block(i), 0, 0,
                             band.style, band.pass_bytes[i].data());
        header.finish();
    });
    HeaderReader reader(header.bytes.data(), header.bytes.size());
    BandReader band_reader(70, 37, band.style);
    band_reader.read(reader, 0);
    EXPECT(!reader.overrun && reader.finish() == header.bytes.size(), "not all bytes are read");
    for (uint32_t i = 0; i < count; i++)
        EXPECT(band_reader.blocks[i].included == (band.coded[i].passes != 0), "block %u", i);
}
END_TEST

// ---- kernels

void put_bytes(std::vector<uint8_t> &out, uint64_t value, int bytes) {
    while (bytes--) out.push_back(static_cast<uint8_t>(value >> (8 * bytes)));
}

struct CodedPicture {
    std::vector<uint8_t> planes, passes;
    std::vector<uint32_t> bytes, pass_bytes;
    std::vector<uint8_t> layer_passes;  // [layer * blocks + block]
    std::vector<uint32_t> layer_bytes;
    std::vector<uint64_t> rooms;  // [block]: where it begins in codewords
    std::vector<uint8_t> codewords;
};

// Layers at random, some of them with little or nothing; the last one ends with the codewords.
void make_layers(Random &random, const Params &p, const EncoderGeometry &g, CodedPicture &coded) {
    const size_t blocks = g.blocks.size(), layers = static_cast<size_t>(p.layers);
    coded.layer_passes.assign(blocks * layers, 0);
    coded.layer_bytes.assign(blocks * layers, 0);
    uint32_t passes = 0, bytes = 0;  // of the layers before
    for (size_t layer = 0; layer < layers; layer++) {
        const uint32_t rarity = random.one_in(3) ? 1000000 : random.below(8) + 1;
        for (size_t b = 0; b < blocks; b++) {
            if (layer) passes = coded.layer_passes[(layer - 1) * blocks + b];
            if (layer) bytes = coded.layer_bytes[(layer - 1) * blocks + b];
            const uint32_t all = coded.passes[b];
            if (layer == layers - 1 && passes < all) {
                passes = all;
                bytes = coded.bytes[b];
            } else if (passes < all && random.one_in(rarity)) {
                passes += random.below(all - passes) + 1;
                bytes = p.style || passes == all ? coded.pass_bytes[b * static_cast<size_t>(g.max_passes) + passes - 1]
                                                 : bytes + random.below(coded.bytes[b] - bytes + 1);
            }
            coded.layer_passes[layer * blocks + b] = static_cast<uint8_t>(passes);
            coded.layer_bytes[layer * blocks + b] = bytes;
            passes = bytes = 0;
        }
    }
}

// Planes, lengths and codewords at random, in rooms of their own, many of them with long runs of ones in their
// headers.
CodedPicture make_coded(Random &random, const Params &p, const EncoderGeometry &g) {
    CodedPicture coded;
    coded.rooms = place_rooms(g.blocks, g.coding);
    coded.codewords.resize(coded.rooms.back());
    for (uint8_t &byte : coded.codewords) byte = static_cast<uint8_t>(random.word());
    const uint32_t rarity = random.one_in(4) ? 1000000 : random.below(8) + 1;
    const bool ones = random.one_in(2);
    for (const CodeBlock &b : g.blocks) {
        const bool included = !random.one_in(rarity);
        const uint32_t longest = static_cast<uint32_t>(room_layout(b, {}).bytes) - 4;
        const RoomLayout room = room_layout(b, g.coding);

        uint32_t bytes = random.below(longest + 1) >> random.between(0, 12);
        if (ones) bytes = std::min((1u << random.between(0, 16)) - 1, longest);
        coded.planes.push_back(included ? static_cast<uint8_t>(random.between(1, b.planes)) : 0);
        int passes = coding_passes(coded.planes.back());
        if (g.coding.lossy && passes > kLastPasses && random.one_in(2)) passes -= kLastPasses;
        coded.passes.push_back(static_cast<uint8_t>(passes));
        // Each pass has some bytes; raw ones have little room.
        const uint32_t raw_room = static_cast<uint32_t>(room.bytes - room.raw), all = bytes;
        uint32_t sum = 0, raw = 0;
        for (int i = 0; i < g.max_passes; i++) {
            const bool is = is_raw(p.style, i);
            if (p.style) bytes = random.below(all / static_cast<uint32_t>(std::max(passes, 1)) + 1);
            if (is) bytes = std::min(bytes, raw_room - raw);
            raw += is && i < passes ? bytes : 0;
            sum += i < passes ? bytes : 0;
            coded.pass_bytes.push_back(i < passes ? sum : 0xDEADBEEF);
            if (!p.style) bytes = 0;
        }
        coded.bytes.push_back(sum);
    }
    make_layers(random, p, g, coded);
    return coded;
}

// A block's codeword: what its passes have, raw ones from another place.
std::vector<uint8_t> codeword(const Params &p, const EncoderGeometry &g, const CodedPicture &coded, uint32_t b) {
    const CodeBlock &block = g.blocks[b];
    const uint64_t mq = coded.rooms[b], raw = mq + room_layout(block, g.coding).raw;
    uint64_t at[2] = {mq, raw};
    std::vector<uint8_t> bytes;
    uint32_t before = 0;
    for (int i = 0; i < coded.passes[b]; i++) {
        const uint32_t end = coded.pass_bytes[b * static_cast<size_t>(g.max_passes) + static_cast<size_t>(i)];
        uint64_t &from = at[is_raw(p.style, i)];
        for (; before < end; before++) bytes.push_back(coded.codewords[from++]);
    }
    return bytes;
}

// The codestream, sequentially.
std::vector<uint8_t> assemble_on_host(const Params &p, const EncoderGeometry &g, const CodedPicture &coded) {
    const MainHeader header = make_main_header(p, g.tile_parts);
    std::vector<uint8_t> out = header.bytes;
    const uint32_t layers = static_cast<uint32_t>(p.layers);
    const auto layers_of = [&](uint32_t b) {
        return LayerEnds{&coded.layer_passes[b], &coded.layer_bytes[b], g.blocks.size()};
    };
    std::vector<LayerSet> sets(g.precinct_bands.size());
    for (uint32_t b = 0; b < g.blocks.size(); b++)
        for (uint32_t layer = 0; layer < layers; layer++)
            if (layers_of(b).adds(layer)) sets[g.blocks[b].precinct_band].add(layer);
    uint32_t in_tile = 0;
    for (uint32_t t = 0; t < g.tile_parts.size(); t++) {
        const TilePart &tile_part = g.tile_parts[t];
        if (!tile_part.part) in_tile = 0;
        std::vector<std::vector<uint8_t>> packets;
        for (uint32_t i = tile_part.first_packet; i < tile_part.last_packet; i++) {
            const Packet &packet = g.packets[i];
            HeaderBytes bits;
            const bool any = has_codewords(sets.data(), packet, packet.layer);
            bits.put(any, 1);
            for (uint32_t n = packet.first_band; any && n < packet.last_band; n++) {
                const PrecinctBand &precinct_band = g.precinct_bands[n];
                std::vector<TagNode> nodes;
                for (uint32_t j = 0, b = precinct_band.first_block; j < precinct_band.columns * precinct_band.rows;
                     j++, b++)
                    nodes.push_back(tag_leaf(layers_of(b).first(layers), g.blocks[b].planes - coded.planes[b], j));
                size_t below = 0;
                for (int level = 1; level < tag_tree_levels(precinct_band.columns, precinct_band.rows); level++) {
                    const uint32_t c = tag_tree_columns(precinct_band.columns, level - 1),
                                   r = tag_tree_columns(precinct_band.rows, level - 1);
                    for (uint32_t y = 0; y < (r + 1) / 2; y++)
                        for (uint32_t x = 0; x < (c + 1) / 2; x++)
                            nodes.push_back(tag_parent(&nodes[below], c, r, x, y));
                    below += size_t{c} * r;
                }
                for (uint32_t j = 0; j < precinct_band.columns * precinct_band.rows; j++)
                    put_block_header(
                        bits, precinct_band, nodes.data(), j % precinct_band.columns, j / precinct_band.columns,
                        layers_of(precinct_band.first_block + j), packet.layer,
                        empty_packets_before(sets.data(), packet), p.style,
                        &coded.pass_bytes[(precinct_band.first_block + j) * static_cast<size_t>(g.max_passes)]);
            }
            bits.finish();
            std::vector<uint8_t> bytes;
            if (p.sop) put_bytes(bytes, 0xFF910004, 4), put_bytes(bytes, in_tile & 0xFFFF, 2);
            in_tile++;
            bytes.insert(bytes.end(), bits.bytes.begin(), bits.bytes.end());
            if (p.eph) put_bytes(bytes, 0xFF92, 2);
            for (uint32_t b = packet.first_block; b < packet.last_block; b++) {
                const std::vector<uint8_t> word = codeword(p, g, coded, b);
                bytes.insert(bytes.end(), word.begin() + layers_of(b).bytes_before(packet.layer),
                             word.begin() + layers_of(b).bytes_before(packet.layer + 1));
            }
            packets.push_back(bytes);
        }
        std::vector<uint8_t> plt;
        for (size_t first = 0, index = 0; p.plt && first < packets.size(); first += kPltPackets, index++) {
            std::vector<uint8_t> lengths;
            for (size_t i = first; i < std::min(first + kPltPackets, packets.size()); i++) {
                int groups = 1;
                while (packets[i].size() >> (7 * groups)) groups++;
                while (groups--)
                    lengths.push_back(
                        static_cast<uint8_t>((packets[i].size() >> (7 * groups) & 127) | (groups ? 128 : 0)));
            }
            put_bytes(plt, 0xFF58, 2), put_bytes(plt, lengths.size() + 3, 2), put_bytes(plt, index, 1);
            plt.insert(plt.end(), lengths.begin(), lengths.end());
        }
        uint64_t part = 14 + plt.size();
        for (const auto &packet : packets) part += packet.size();
        put_bytes(out, 0xFF90000A, 4), put_bytes(out, tile_part.tile, 2), put_bytes(out, part, 4);
        put_bytes(out, tile_part.part, 1), put_bytes(out, tile_part.parts, 1);
        out.insert(out.end(), plt.begin(), plt.end());
        put_bytes(out, 0xFF93, 2);
        for (const auto &packet : packets) out.insert(out.end(), packet.begin(), packet.end());
        if (header.tlm) {
            std::vector<uint8_t> length;
            put_bytes(length, part, 4);
            std::copy(length.begin(), length.end(),
                      out.begin() + header.tlm + (t / 10000 + 1) * 6 + static_cast<ptrdiff_t>(t) * 6 + 2);
        }
    }
    put_bytes(out, 0xFFD9, 2);
    return out;
}

// What tier-2 works on, between guards, and its kernels.
class DeviceTier2 {
  public:
    DeviceTier2(const std::shared_ptr<Device> &device, const Params &p, const EncoderGeometry &g,
                const CodedPicture &coded)
        : device_(device),
          p_(p),
          g_(g),
          coded_(coded),
          count_(g.block_layers.size()),
          packets_(g.packets.size()),
          segments_(packets_ + g.tile_parts.size()) {}

    // Sizes of all packets and tile-parts, and their sums.
    void size() const {
        const Tier2Buffers t2 = buffers();
        const auto sum = [&](const Guarded<uint32_t> &sizes, const Guarded<uint64_t> &before) {
            prefix_sum(*device_, nullptr, {{sizes.data(), before.data()}}, static_cast<uint32_t>(sizes.count()),
                       partials_.data());
        };
        const unsigned by_block_layer = blocks_for(count_, kTier2Threads);
        device_->launch(nullptr, {t2.band_count}, kTier2Threads, TagTreesParams{t2});
        device_->launch(nullptr, {by_block_layer}, kTier2Threads, HeaderBitsParams{t2});
        sum(bytes_, bytes_before_);
        sum(header_bits_, header_bits_before_);
        device_->launch(nullptr, {by_block_layer}, kTier2Threads, WriteBitsParams{t2});
        device_->launch(nullptr, {t2.packet_count}, kStuffingThreads, PacketSizesParams{t2});
        if (p_.plt) sum(plt_bytes_, plt_before_);
        device_->launch(nullptr, {blocks_for(t2.tile_part_count, kTier2Threads)}, kTier2Threads,
                        TilePartSizesParams{t2});
        sum(segment_bytes_, segments_before_);
    }

    // The codestream into memory of so many bytes less than it has: then nothing is written there.
    void expect_codestream(const std::vector<uint8_t> &expected, size_t less) const {
        const Tier2Buffers t2 = buffers();
        const MainHeader header = make_main_header(p_, g_.tile_parts);
        auto stream = Guarded<uint8_t>::garbage(expected.size() - less);
        std::copy(header.bytes.begin(), header.bytes.end(), stream.begin());
        const Guarded<uint8_t> data(device_, stream);
        const Codestream out{.data = data.data(),
                             .capacity = data.count(),
                             .main_header = static_cast<uint32_t>(header.bytes.size()),
                             .tlm = header.tlm,
                             .steps = nullptr,
                             .step_count = 0,
                             .result = result_.data(),
                             .frame_step = nullptr,
                             .note = nullptr,
                             .note_words = 0};
        device_->launch(nullptr, {std::max(t2.packet_count, t2.tile_part_count)}, kStuffingThreads,
                        WriteHeadersParams{t2, out});
        const unsigned by_warp = blocks_for(count_ * 32, kTier2Threads);
        if (p_.style & kBypass)
            device_->launch(nullptr, {by_warp}, kTier2Threads, GatherWithRawParams{{t2, out}});
        else
            device_->launch(nullptr, {by_warp}, kTier2Threads, GatherParams{t2, out});
        const auto is = data.read("codestream");
        const CodestreamResult result = result_.read("result")[0];
        EXPECT(result.bytes == expected.size(), "%llu bytes, not %zu", static_cast<unsigned long long>(result.bytes),
               expected.size());
        EXPECT(result.longest == 0, "no tile-part is that long");
        const auto &should = less ? stream : expected;
        const auto wrong = std::mismatch(is.begin(), is.end(), should.begin());
        EXPECT(wrong.first == is.end(), "byte %td of %zu, %zu too few: %02x, not %02x", wrong.first - is.begin(),
               is.size(), less, *wrong.first, *wrong.second);
    }

    // Guards are there, and what is only read is what it was.
    void expect_no_other_write() const {
        header_bits_.read("header bits"), raw_.read("raw headers"), raw_states_.read("states of raw headers"),
            segment_bytes_.read("segments"), nodes_.read("nodes");
        plt_bytes_.read("PLT"), header_bits_before_.read("header bits before"),
            segments_before_.read("segments before");
        bytes_before_.read("bytes before"), plt_before_.read("PLT before"), partials_.read("partial sums");
        bytes_.read("bytes"), layer_sets_.read("layers of sub-bands");
        EXPECT(pass_bytes_.read("bytes of passes") == coded_.pass_bytes, "bytes of passes");
        EXPECT(codewords_.read("codewords") == coded_.codewords &&
                   layer_bytes_.read("bytes of layers") == coded_.layer_bytes &&
                   planes_.read("planes") == coded_.planes &&
                   layer_passes_.read("passes of layers") == coded_.layer_passes,
               "what tier-2 only reads");
    }

  private:
    Tier2Buffers buffers() const {
        BlockRecords coded_blocks{};
        coded_blocks.codewords = codewords_.data();
        coded_blocks.rooms = rooms_.data();
        coded_blocks.planes = planes_.data();
        coded_blocks.pass_bytes = pass_bytes_.data();
        return {.blocks = blocks_.data(),
                .bands = bands_.data(),
                .packets = packet_table_.data(),
                .tile_parts = tile_parts_.data(),
                .block_layers = block_layers_.data(),
                .coded = coded_blocks,
                .layer_passes = layer_passes_.data(),
                .layer_bytes = layer_bytes_.data(),
                .nodes = nodes_.data(),
                .layer_sets = layer_sets_.data(),
                .header_bits = header_bits_.data(),
                .header_bits_before = header_bits_before_.data(),
                .raw_states = raw_states_.data(),
                .raw = raw_.data(),
                .segment_bytes = segment_bytes_.data(),
                .segments_before = segments_before_.data(),
                .bytes = bytes_.data(),
                .bytes_before = bytes_before_.data(),
                .plt_bytes = p_.plt ? plt_bytes_.data() : nullptr,
                .plt_before = p_.plt ? plt_before_.data() : nullptr,
                .block_count = static_cast<uint32_t>(g_.blocks.size()),
                .layers = static_cast<uint32_t>(p_.layers),
                .block_layer_count = static_cast<uint32_t>(count_),
                .band_count = static_cast<uint32_t>(g_.precinct_bands.size()),
                .packet_count = static_cast<uint32_t>(packets_),
                .tile_part_count = static_cast<uint32_t>(g_.tile_parts.size()),
                .sop = p_.sop,
                .eph = p_.eph,
                .coding = g_.coding,
                .max_passes = g_.max_passes};
    }
    size_t raw_words() const {
        const size_t of_block =
            (most_block_header_bits(p_.style, g_.max_passes, static_cast<uint32_t>(p_.layers)) + 31) / 32;
        return g_.blocks.size() * of_block + packets_ + 2;
    }

    const std::shared_ptr<Device> device_;
    const Params &p_;
    const EncoderGeometry &g_;
    const CodedPicture &coded_;
    const size_t count_, packets_, segments_;  // blocks in layers; packets; packets and tile-parts
    const Guarded<CodeBlock> blocks_{device_, g_.blocks};
    const Guarded<PrecinctBand> bands_{device_, g_.precinct_bands};
    const Guarded<Packet> packet_table_{device_, g_.packets};
    const Guarded<TilePart> tile_parts_{device_, g_.tile_parts};
    const Guarded<uint32_t> block_layers_{device_, g_.block_layers};
    const Guarded<uint64_t> rooms_{device_, coded_.rooms};
    const Guarded<uint8_t> codewords_{device_, coded_.codewords}, planes_{device_, coded_.planes},
        layer_passes_{device_, coded_.layer_passes};
    const Guarded<uint32_t> layer_bytes_{device_, coded_.layer_bytes}, pass_bytes_{device_, coded_.pass_bytes},
        bytes_{device_, count_}, header_bits_{device_, count_}, raw_{device_, std::vector<uint32_t>(raw_words())},
        raw_states_{device_, raw_words()}, segment_bytes_{device_, segments_},
        plt_bytes_{device_, p_.plt ? packets_ : 0};
    const Guarded<TagNode> nodes_{device_, size_t{g_.tag_tree_nodes}};
    const Guarded<LayerSet> layer_sets_{device_, g_.precinct_bands.size()};
    const Guarded<uint64_t> header_bits_before_{device_, count_ + 1}, segments_before_{device_, segments_ + 1},
        bytes_before_{device_, count_ + 1}, plt_before_{device_, packets_ + 1},
        partials_{device_, prefix_sum_partials(static_cast<uint32_t>(std::max(count_, segments_)))};
    const Guarded<CodestreamResult> result_{device_, std::vector<CodestreamResult>(1)};
};

// expected: of assemble_on_host().
void check_tier2(const std::shared_ptr<Device> &device, const Params &p, const EncoderGeometry &g,
                 const CodedPicture &coded, const std::vector<uint8_t> &expected) {
    const DeviceTier2 tier2(device, p, g, coded);
    tier2.size();
    for (const size_t less : {0, 1}) tier2.expect_codestream(expected, less);
    tier2.expect_no_other_write();
}

void check_tier2(const std::shared_ptr<Device> &device, const Params &p, const EncoderGeometry &g,
                 const CodedPicture &coded) {
    check_tier2(device, p, g, coded, assemble_on_host(p, g, coded));
}

START_TEST(tier_2_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 60; repeat++) {
        Case k(random, repeat % 4 ? 60 : 250);
        check_tier2(device, k.params, k.geometry, make_coded(random, k.params, k.geometry));
    }
}
END_TEST

// Headers of kilobytes, with many blocks in a packet.
START_TEST(long_packet_headers_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 4; repeat++) {
        CudaencJ2kOptions options;
        cudaenc_j2k_defaults(&options);
        options.cblk_width = options.cblk_height = 4;
        options.levels = repeat % 2;
        options.guard_bits = 7;
        options.pred = CUDAENC_J2K_DWT53;
        options.plt = options.eph = 1;
        if (repeat % 2) options.cblk_style = CUDAENC_J2K_TERMALL;
        options.layers = repeat == 1 ? 4 : 1;
        const Params params = make_params(make_format(211, 157, 1, 16, false, CUDAENC_COLOR_GRAY), options);
        EncoderGeometry geometry = make_encoder_geometry(params);
        CodedPicture coded = make_coded(random, params, geometry);
        for (size_t i = 0; repeat >= 2 && i < coded.bytes.size();
             i++) {  // nothing but ones, as far as headers have them
            coded.planes[i] = geometry.blocks[i].planes;
            coded.passes[i] = static_cast<uint8_t>(coding_passes(coded.planes[i]));
            for (int k = 0; k < coded.passes[i]; k++)
                coded.pass_bytes[i * static_cast<size_t>(geometry.max_passes) + static_cast<size_t>(k)] =
                    coded.bytes[i] = params.style ? 7 * static_cast<uint32_t>(k + 1) : 127;
        }
        make_layers(random, params, geometry, coded);
        check_tier2(device, params, geometry, coded);
    }
}
END_TEST

START_TEST(more_packets_than_a_plt_segment_holds) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.cblk_width = options.cblk_height = 4;
    options.levels = 0;
    options.precincts = "4x4";
    options.plt = options.sop = 1;
    const Params params = make_params(make_format(475, 475, 1, 8, false, CUDAENC_COLOR_GRAY), options);
    EncoderGeometry geometry = make_encoder_geometry(params);
    EXPECT(geometry.packets.size() > kPltPackets);
    CodedPicture coded = make_coded(random, params, geometry);
    check_tier2(device, params, geometry, coded);
}
END_TEST

START_TEST(kernels_alone) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    CudaencJ2kOptions options = default_options();
    for (const int style : {0, int{CUDAENC_J2K_BYPASS}}) {
        options.cblk_style = style;
        Case k(bench_format(device), options);
        const CodedPicture coded = make_coded(random, k.params, k.geometry);
        const std::vector<uint8_t> expected = assemble_on_host(k.params, k.geometry, coded);
        bench(style ? "t2 alone, bypass" : "t2 alone", device, static_cast<double>(k.geometry.blocks.size()), "blocks",
              [&] { check_tier2(device, k.params, k.geometry, coded, expected); });
    }
}
END_TEST

START_TEST(frames) {
    const auto device = open_test_device(_i);
    CudaencJ2kOptions options = default_options();
    check_frame(device, "t2", "j2k/t2", options);
    options.cblk_style = CUDAENC_J2K_BYPASS;
    check_frame(device, "t2, bypass", "j2k/t2", options);
    options.cblk_style = 0;
    options.layer_rates = "80,40,20,10";
    check_frame(device, "t2, 4 layers", "j2k/t2", options);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("t2");
    TCase *headers = add_case(suite, "headers");
    tcase_add_test(headers, numbers_of_passes_have_the_standards_code_words);
    tcase_add_loop_test(headers, block_headers_are_the_textbooks, 0, 8);
    tcase_add_loop_test(headers, layers_have_the_textbooks_headers, 0, 8);
    tcase_add_test(headers, many_block_headers);
    tcase_add_test(headers, the_deepest_tree_stays_within_the_bound);
    tcase_add_loop_test(headers, bits_are_stuffed, 0, 4);
    tcase_add_test(headers, an_empty_header_is_one_byte);
    tcase_add_test(headers, packet_lengths_take_seven_bits_a_byte);
    TCase *kernels = add_case(suite, "kernels");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(kernels, tier_2_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, long_packet_headers_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, more_packets_than_a_plt_segment_holds, 0, devices);
    tcase_add_loop_test(kernels, kernels_alone, 0, devices);
    tcase_add_loop_test(kernels, frames, 0, devices);
    return run_suite(suite);
}
