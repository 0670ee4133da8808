// SPDX-License-Identifier: LGPL-2.1-or-later
// Headers of codestreams to descriptions: what the encoder writes comes back, other writers' marker segments mean what
// the standard says, damage is refused in one line, and streams of others are read.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "../../common/bytes.h"
#include "../../common/error.h"
#include "../../common/j2k/codestream/main_header.h"
#include "../../common/j2k/codestream/markers.h"
#include "../../common/j2k/codestream/read_headers.h"
#include "j2k_case.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

using Stream = std::vector<uint8_t>;

void put_segment(Bytes &out, uint32_t marker, const Stream &body) {
    out.put16(marker), out.put16(static_cast<uint32_t>(body.size() + 2));
    out.put_bytes(body.data(), body.size());
}
// SOT, marker segments, SOD, and bytes of packets.
void put_tile_part(Bytes &out, uint32_t tile, int part, int parts, const Stream &segments, const Stream &packets) {
    out.put16(kSot), out.put16(10), out.put16(tile);
    out.put32(static_cast<uint32_t>(kSotBytes + segments.size() + kSodBytes + packets.size()));
    out.put8(static_cast<uint32_t>(part)), out.put8(static_cast<uint32_t>(parts));
    out.put_bytes(segments.data(), segments.size());
    out.put16(kSod);
    out.put_bytes(packets.data(), packets.size());
}
Stream segment(uint32_t marker, const Stream &body) {
    Bytes out;
    put_segment(out, marker, body);
    return out.data;
}
Stream join(const std::vector<Stream> &parts) {
    Stream all;
    for (const Stream &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

// The line that refuses a codestream; empty: it is read.
std::string refusal(const Stream &stream) {
    try {
        read_headers(stream);
        return {};
    } catch (const Error &e) {
        EXPECT(e.code == CUDAENC_ERR_INVALID || e.code == CUDAENC_ERR_UNSUPPORTED, "%s: code %d", e.what(), e.code);
        EXPECT(std::string(e.what()).find('\n') == std::string::npos, "one line: %s", e.what());
        return e.what();
    }
}
void expect_refusal(const Stream &stream, const char *part) {
    const std::string line = refusal(stream);
    EXPECT(line.find(part) != std::string::npos, "'%s' has no '%s'", line.c_str(), part);
}

// ---- What the encoder writes: main header, and tile-parts with empty packets.

Stream write(const Description &d, const Geometry &g) {
    Bytes out;
    out.data = make_main_header(d, g.tile_parts).bytes;
    for (const TilePart &part : g.tile_parts)
        put_tile_part(out, part.tile, part.part, part.parts, {}, Stream(part.last_packet - part.first_packet));
    out.put16(kEoc);
    return out.data;
}

START_TEST(written_headers_come_back) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 150; repeat++) {
        const Case k(random, 200);
        Stream stream = write(k.params, k.geometry);
        Description d = read_headers(stream);
        EXPECT(
            make_main_header(d, k.geometry.tile_parts).bytes == make_main_header(k.params, k.geometry.tile_parts).bytes,
            "%s: another main header", k.text.c_str());
        EXPECT(d.coded_tile_parts.size() == k.geometry.tile_parts.size(), "%s: %zu tile-parts, not %zu", k.text.c_str(),
               d.coded_tile_parts.size(), k.geometry.tile_parts.size());
        for (size_t t = 0; t < d.coded_tile_parts.size(); t++) {
            const CodedTilePart &is = d.coded_tile_parts[t];
            const TilePart &part = k.geometry.tile_parts[t];
            EXPECT(is.tile == part.tile && is.part == part.part && is.parts == part.parts && !is.is_cut &&
                       is.end - is.begin == part.last_packet - part.first_packet,
                   "%s: tile-part %zu", k.text.c_str(), t);
        }
        // The geometry follows, but for where tiles are cut, which SOT says.
        d.tile_parts = k.params.tile_parts, d.plt = k.params.plt;
        const Geometry g = make_geometry(d);
        EXPECT(g.packets.size() == k.geometry.packets.size() && g.blocks.size() == k.geometry.blocks.size() &&
                   g.samples == k.geometry.samples && g.tag_tree_nodes == k.geometry.tag_tree_nodes,
               "%s: another geometry", k.text.c_str());
        for (size_t b = 0; b < g.blocks.size(); b++) {
            const CodeBlock &is = g.blocks[b], &own = k.geometry.blocks[b];
            EXPECT(is.coefficients == own.coefficients && is.width == own.width && is.height == own.height &&
                       is.reversible == own.reversible,
                   "%s: block %zu", k.text.c_str(), b);
        }
        stream.erase(stream.end() - random.below(static_cast<uint32_t>(stream.size())), stream.end());
        refusal(stream);  // neither crashes nor hangs, wherever it is cut
    }
}
END_TEST

// ---- Segments that the encoder does not write

// SIZ of 100x60 samples in tiles of 64x64, COD of two levels, QCD with 5/3; components: three of 8 bits.
struct Parts {
    Stream siz = {0, 0, 0,  0, 0, 110, 0, 0, 0, 67, 0, 0, 0, 10, 0, 0, 0, 7, 0, 0,    0, 64, 0,
                  0, 0, 64, 0, 0, 0,   3, 0, 0, 0,  5, 0, 3, 7,  1, 1, 7, 2, 2, 0x87, 2, 1},
           cod = {0, 2, 0, 3, 0, 2, 3, 3, 0, 1}, qcd = {0x40, 64, 72, 72, 80, 72, 72, 80};
    std::vector<Stream> main, tile;  // marker segments
    Stream header() const {
        return join({{0xFF, 0x4F}, segment(kSiz, siz), segment(kCod, cod), segment(kQcd, qcd), join(main)});
    }
    Stream stream() const {
        Bytes out;
        out.data = header();
        put_tile_part(out, 0, 0, 2, join(tile), {1, 2, 3});
        put_tile_part(out, 1, 0, 0, {}, {4});
        put_tile_part(out, 0, 1, 2, {}, {5, 6});
        out.put16(kEoc);
        return out.data;
    }
};

START_TEST(what_segments_say) {
    Parts p;
    p.main = {segment(kQcc, {1, 0x41, 0x48, 0x12}),                   // derived
              segment(kCoc, {1, 0, 1, 4, 2, 0x20, 0}),                // 9/7, one level, 64x16, segmentation symbols
              segment(kRgn, {2, 0, 5}),                               //
              segment(0xFF63, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),  // CRG
              segment(kCom, {0, 1, 'h', 'i'})};
    p.tile = {segment(kCod, {6, 0, 0, 1, 0, 1, 4, 4, 0, 1}), segment(kQcc, {2, 0x60, 8, 16, 16, 24}),
              segment(kPoc, {0, 0, 0, 9, 1, 3, 2, 1, 0, 0, 1, 2, 0, 0})};
    const Description d = read_headers(p.stream());
    EXPECT(d.width == 100 && d.height == 60 && d.x0 == 10 && d.y0 == 7 && d.tile_x0 == 3 && d.tile_y0 == 5 &&
           d.tiles_x == 2 && d.tiles_y == 1);
    EXPECT(d.components.size() == 3 && d.components[1].dx == 2 && d.components[2].dy == 1 &&
           d.components[2].is_signed && !d.components[0].is_signed && d.components[2].depth == 8);
    EXPECT(d.layers == 3 && d.progression == CUDAENC_J2K_RPCL && d.levels == 2 && d.reversible && d.comment == "hi");
    const ComponentCoding &coc = d.of_component(1);
    EXPECT(coc.levels == 1 && coc.cblk_width_log2 == 6 && coc.cblk_height_log2 == 4 && coc.style == 32 &&
           !coc.reversible);
    // E-5: 9, and one less for each resolution above the lowest one but one.
    const Quantisation &q = d.quantisation[1];
    EXPECT(q.guard_bits == 2 && q.steps.size() == 4 && q.steps[0] == (StepSize{9, 0x12}) && q.steps[3] == q.steps[0]);
    EXPECT(d.region_shift(2) == 5 && !d.region_shift(0));
    EXPECT(d.own_coding.size() == 1 && d.own_coding.count(0));
    // The tile's COD goes before COC of the main header, the tile's QCC before all.
    const TileCoding &own = d.of_tile(0);
    EXPECT(own.levels == 1 && own.of_component(1) == own.of_component(0) && own.sop && own.eph && own.layers == 1);
    EXPECT(own.quantisation[2].guard_bits == 3 && own.quantisation[2].steps.size() == 4 &&
           own.quantisation[0].steps.size() == 4 && own.region_shift(2) == 5);
    EXPECT(own.poc.size() == 2 && own.poc[0].last_layer == 1 && own.poc[1].first_resolution == 1 &&
           own.poc[1].last_component == 3);
    const auto &parts = d.coded_tile_parts;
    EXPECT(parts.size() == 3 && parts[2].tile == 0 && parts[2].part == 1 && parts[2].end - parts[2].begin == 2);
}
END_TEST

START_TEST(packed_packet_headers) {
    Parts p;
    // Nppm crosses from one segment to the next, which comes first.
    p.main = {segment(kPpm, {1, 2, 21, 22, 0, 0, 0, 0, 0, 0, 0, 1, 31}), segment(kPpm, {0, 0, 0, 0})};
    const auto parts = read_headers(p.stream()).coded_tile_parts;
    EXPECT(parts[0].has_packed_headers && parts[0].packet_headers == (Stream{21, 22}));
    EXPECT(parts[1].packet_headers.empty() && parts[2].packet_headers == Stream{31});
    Parts own;
    own.tile = {segment(kPpt, {7, 5, 6}), segment(kPpt, {2, 3, 4})};
    const auto of_tile = read_headers(own.stream()).coded_tile_parts;
    EXPECT(of_tile[0].packet_headers == (Stream{3, 4, 5, 6}) && !of_tile[1].has_packed_headers);
    own.main = p.main;
    expect_refusal(own.stream(), "PPM and PPT");
    p.main = {segment(kPpm, {0, 0, 0, 0, 9, 1})};
    expect_refusal(p.stream(), "Nppm is 9");
}
END_TEST

START_TEST(damage_is_refused) {
    const auto with = [](const std::function<void(Parts &)> &change) {
        Parts p;
        change(p);
        return p.stream();
    };
    EXPECT(refusal(Parts().stream()).empty(), "%s", refusal(Parts().stream()).c_str());
    expect_refusal({}, "SOC");
    expect_refusal(with([](Parts &p) { p.siz[0] = 0x80; }), "Part 2");
    expect_refusal(with([](Parts &p) { p.siz[0] = 0x40; }), "CAP, which is missing");
    expect_refusal(with([](Parts &p) { p.siz[2] = 0x80; }), "Xsiz");
    expect_refusal(with([](Parts &p) { p.siz[5] = 10; }), "image area");
    expect_refusal(with([](Parts &p) { p.siz[29] = 11; }), "first tile");
    expect_refusal(with([](Parts &p) { p.siz[21] = 0; }), "XTsiz");
    expect_refusal(with([](Parts &p) { p.siz[35] = 4; }), "too short");
    expect_refusal(with([](Parts &p) { p.siz[35] = 2; }), "too long");
    expect_refusal(with([](Parts &p) { p.siz[36] = 38; }), "39 bits");
    expect_refusal(with([](Parts &p) { p.siz[37] = 0; }), "XRsiz");
    expect_refusal(with([](Parts &p) { p.cod[3] = 0; }), "layers");
    expect_refusal(with([](Parts &p) { p.cod[1] = 5; }), "progression order is 5: it has to be 0 to 4");
    expect_refusal(with([](Parts &p) { p.cod[5] = 33; }), "decomposition levels");
    expect_refusal(with([](Parts &p) { p.cod[6] = 8; }), "at most 4096");
    expect_refusal(with([](Parts &p) { p.cod[9] = 2; }), "transformation");
    expect_refusal(with([](Parts &p) { p.cod[8] = 128; }), "128 needs 64");
    expect_refusal(with([](Parts &p) { p.cod[0] = 1; }), "too short");
    expect_refusal(with([](Parts &p) { p.qcd.pop_back(); }), "6 quantisation steps for 7 sub-bands");
    expect_refusal(with([](Parts &p) { p.qcd[0] = 3; }), "quantisation style");
    expect_refusal(with([](Parts &p) { p.main = {segment(kCod, p.cod)}; }), "two marker segments FF52");
    expect_refusal(with([](Parts &p) { p.main = {segment(kCoc, {3, 0, 1, 4, 2, 0, 0})}; }), "component");
    expect_refusal(with([](Parts &p) { p.main = {segment(kPoc, {1, 0, 0, 3, 1, 3, 0})}; }), "REpoc");
    expect_refusal(with([](Parts &p) { p.main = {segment(kCap, {0, 4, 0, 0, 0, 0})}; }), "part 14");
    expect_refusal(with([](Parts &p) { p.main = {{1, 2, 3, 4}}; }), "no marker");
    const Stream header = Parts().header();
    expect_refusal(header, "cut");
    const auto tile_parts = [&](const std::function<void(Bytes &)> &put) {
        Bytes out;
        out.data = header;
        put(out);
        return out.data;
    };
    expect_refusal(tile_parts([](Bytes &out) { put_tile_part(out, 2, 0, 1, {}, {}); }), "Isot");
    expect_refusal(tile_parts([](Bytes &out) { put_tile_part(out, 0, 1, 2, {}, {}); }), "comes where 0 is due");
    expect_refusal(tile_parts([](Bytes &out) { put_tile_part(out, 0, 2, 2, {}, {}); }), "comes where 0 is due");
    // Behind a first tile-part it is said, and what came before counts.
    const auto expect_damage = [&](const std::function<void(Bytes &)> &put, const char *word) {
        const Description d =
            read_headers(tile_parts([&](Bytes &out) { put_tile_part(out, 0, 0, 1, {}, {}), put(out); }));
        EXPECT(d.damage.find(word) != std::string::npos, "'%s', not '%s'", d.damage.c_str(), word);
        EXPECT_EQ(d.coded_tile_parts.size(), size_t{1});
    };
    expect_damage([](Bytes &out) { out.put16(0); }, "nor EOC");
    expect_damage([](Bytes &out) { put_tile_part(out, 0, 2, 2, {}, {}); }, "comes where 1 is due");
    expect_damage([](Bytes &out) { put_tile_part(out, 2, 0, 1, {}, {}); }, "Isot");
    expect_damage([](Bytes &out) { out.put16(kSot), out.put16(10); }, "SOT is cut");
    EXPECT(read_headers(Parts().stream()).damage.empty());
    // A tile-part that is longer than what is there is cut.
    Stream cut = Parts().stream();
    cut.resize(cut.size() - 3);
    EXPECT(read_headers(cut).coded_tile_parts.back().is_cut);
    // Any byte may be anything.
    Random random(1);
    for (int i = 0; i < 20000; i++) {
        Stream changed = Parts().stream();
        for (uint32_t n = random.below(3) + 1; n; n--)
            changed[random.below(static_cast<uint32_t>(changed.size()))] = static_cast<uint8_t>(random.word());
        refusal(changed);
    }
}
END_TEST

// ---- Files of others: the bare codestreams in a folder J2K_FILES, such as those of T.803, which all have sound
// headers.

START_TEST(files_of_others) {
    const char *const folder = std::getenv("J2K_FILES");
    if (!folder) return;
    int read = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        const auto extension = entry.path().extension();
        if (extension != ".j2k" && extension != ".j2c" && extension != ".jhc") continue;
        std::ifstream in(entry.path(), std::ios::binary);
        const Stream stream{std::istreambuf_iterator<char>(in), {}};
        const std::string line = refusal(stream);
        EXPECT(line.empty(), "%s: %s", entry.path().c_str(), line.c_str());
        read++;
    }
    EXPECT(read > 0, "no codestream in %s", folder);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("read_headers");
    TCase *all = add_case(suite, "headers");
    tcase_add_loop_test(all, written_headers_come_back, 0, 4);
    tcase_add_test(all, what_segments_say);
    tcase_add_test(all, packed_packet_headers);
    tcase_add_test(all, damage_is_refused);
    tcase_add_test(all, files_of_others);
    return run_suite(suite);
}
