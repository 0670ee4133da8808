// Tier-2: what blocks add to packet headers, against tag trees coded the sequential way and a reader of headers; the
// code words of Table B.4; bit stuffing. The kernels are held against the same code in test_j2k_kernels.cpp.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../../common/j2k/t2/codestream.h"
#include "../../common/j2k/t2/headers.h"
#include "../../common/j2k/t2/packet_header.h"
#include "packet_header.h"
#include "pictures.h"

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
    ck_assert(passes_code(5) == "1110");
    ck_assert(passes_code(36) == "111111110");
    ck_assert(passes_code(164) == "1111111111111111");
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
    ck_assert_uint_eq(below + 1, band.nodes.size());  // one root
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
    band.precinct_band = {0, columns, rows, 0, 0, 0, 0, 0};
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
    ck_assert_uint_eq(header.bytes.size(), 1);
    ck_assert_uint_eq(header.bytes[0], 0);
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
    tcase_add_loop_test(kernels, frames, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
