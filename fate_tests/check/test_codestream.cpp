// SPDX-License-Identifier: LGPL-2.1-or-later
// A codestream by its description: geometry with offsets, and with coding by component and tile, against the formulas
// of T.800 Annex B; the main header's marker segments.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "../../common/j2k/codestream/geometry.h"
#include "../../common/j2k/codestream/main_header.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

int64_t ceiled(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

ComponentCoding random_coding(Random &random) {
    ComponentCoding coding{.levels = random.between(0, 4),
                           .cblk_width_log2 = random.between(2, 4),
                           .cblk_height_log2 = random.between(2, 4),
                           .style = 0,
                           .reversible = random.one_in(2),
                           .default_precincts = false,
                           .precinct_width_log2 = {},
                           .precinct_height_log2 = {}};
    for (int r = 0; r <= coding.levels; r++) {
        coding.precinct_width_log2[static_cast<size_t>(r)] = random.between(r ? 1 : 0, 6);
        coding.precinct_height_log2[static_cast<size_t>(r)] = random.between(r ? 1 : 0, 6);
    }
    return coding;
}

void set_quantisation(Random &random, TileCoding &tile, size_t components) {
    tile.quantisation.clear();
    for (size_t c = 0; c < components; c++) {
        Quantisation q{.guard_bits = random.between(1, 4), .steps = {}};
        for (int b = 0; b <= 3 * tile.of_component(c).levels; b++) q.steps.push_back({random.between(1, 12), 0});
        tile.quantisation.push_back(q);
    }
}

TileCoding random_tile(Random &random, size_t components) {
    TileCoding tile{};
    static_cast<ComponentCoding &>(tile) = random_coding(random);
    for (size_t c = 1; c < components; c++)
        if (random.one_in(2)) tile.coc[c] = random_coding(random);
    tile.layers = 1;
    tile.progression = static_cast<CudaencJ2kProgression>(random.between(0, 4));
    set_quantisation(random, tile, components);
    if (random.one_in(3)) tile.region_shifts.assign(components, random.between(0, 9));
    return tile;
}

Description random_description(Random &random) {
    Description d{};
    const size_t components = static_cast<size_t>(random.between(1, 3));
    static_cast<TileCoding &>(d) = random_tile(random, components);
    d.width = random.between(1, 60), d.height = random.between(1, 60);
    d.x0 = random.between(0, 40), d.y0 = random.between(0, 40);
    d.tile_x0 = random.between(0, d.x0), d.tile_y0 = random.between(0, d.y0);
    d.tile_width = random.between(d.x0 - d.tile_x0 + 1, 80), d.tile_height = random.between(d.y0 - d.tile_y0 + 1, 80);
    d.tiles_x = static_cast<int>(ceiled(d.x0 + d.width - d.tile_x0, d.tile_width));
    d.tiles_y = static_cast<int>(ceiled(d.y0 + d.height - d.tile_y0, d.tile_height));
    for (size_t c = 0; c < components; c++)
        d.components.push_back({random.between(1, 3), random.between(1, 3), random.between(1, 16), random.one_in(2)});
    if (random.one_in(2))
        d.own_coding[random.below(static_cast<uint32_t>(d.tiles()))] = random_tile(random, components);
    return d;
}

// A code-block: component, sub-band, bit-planes, and [x0, x1) x [y0, y1) of the sub-band.
using Block = std::tuple<size_t, int, int, int64_t, int64_t, int64_t, int64_t>;
using Blocks = std::vector<Block>;

// The packets of a tile, as Annex B has them: each position of the reference grid is visited.
class StandardTile {
  public:
    StandardTile(const Description &d, int p, int q)
        : d_(d), coding_(d.of_tile(static_cast<uint32_t>(q * d.tiles_x + p))) {
        tx0_ = std::max(d.tile_x0 + p * d.tile_width, d.x0), ty0_ = std::max(d.tile_y0 + q * d.tile_height, d.y0);
        tx1_ = std::min(d.tile_x0 + (p + 1) * d.tile_width, d.x0 + d.width);  // B-7 to B-10
        ty1_ = std::min(d.tile_y0 + (q + 1) * d.tile_height, d.y0 + d.height);
    }

    std::vector<Blocks> packets() {
        const size_t components = d_.components.size();
        const auto all_precincts = [&](size_t c, int r) {
            for (int64_t k = 0; r <= levels(c) && k < wide(c, r) * high(c, r); k++) add(c, r, k);
        };
        const auto positions = [&](const auto &visit) {
            for (int64_t y = ty0_; y < ty1_; y++)
                for (int64_t x = tx0_; x < tx1_; x++) visit(y, x);
        };
        switch (coding_.progression) {
            case CUDAENC_J2K_LRCP:
            case CUDAENC_J2K_RLCP:  // with one layer
                for (int r = 0; r <= kMaxLevels; r++)
                    for (size_t c = 0; c < components; c++) all_precincts(c, r);
                break;
            case CUDAENC_J2K_RPCL:
                for (int r = 0; r <= kMaxLevels; r++)
                    positions([&](int64_t y, int64_t x) {
                        for (size_t c = 0; c < components; c++) visit(c, r, y, x);
                    });
                break;
            case CUDAENC_J2K_PCRL:
                positions([&](int64_t y, int64_t x) {
                    for (size_t c = 0; c < components; c++)
                        for (int r = 0; r <= levels(c); r++) visit(c, r, y, x);
                });
                break;
            case CUDAENC_J2K_CPRL:
                for (size_t c = 0; c < components; c++)
                    positions([&](int64_t y, int64_t x) {
                        for (int r = 0; r <= levels(c); r++) visit(c, r, y, x);
                    });
                break;
        }
        return packets_;
    }

  private:
    int levels(size_t c) const { return coding_.of_component(c).levels; }
    int64_t ppx(size_t c, int r) const { return coding_.of_component(c).precinct_width_log2[static_cast<size_t>(r)]; }
    int64_t ppy(size_t c, int r) const { return coding_.of_component(c).precinct_height_log2[static_cast<size_t>(r)]; }
    int64_t res(size_t c, int r, int64_t t, int d) const { return ceiled(ceiled(t, d), int64_t{1} << (levels(c) - r)); }
    int64_t trx(size_t c, int r, int64_t t) const { return res(c, r, t, d_.components[c].dx); }  // B-12, B-14
    int64_t try_(size_t c, int r, int64_t t) const { return res(c, r, t, d_.components[c].dy); }
    static int64_t count(int64_t begin, int64_t end, int64_t log2) {  // B-16
        return end > begin ? ceiled(end, int64_t{1} << log2) - (begin >> log2) : 0;
    }
    int64_t wide(size_t c, int r) const { return count(trx(c, r, tx0_), trx(c, r, tx1_), ppx(c, r)); }
    int64_t high(size_t c, int r) const { return count(try_(c, r, ty0_), try_(c, r, ty1_), ppy(c, r)); }

    void visit(size_t c, int r, int64_t y, int64_t x) {  // B.12.1.3
        if (r > levels(c) || !wide(c, r) || !high(c, r)) return;
        const int n = levels(c) - r;
        const auto begins = [&](int64_t at, int64_t t0, int d, int64_t log2, int64_t tr0) {
            return at % (d * (int64_t{1} << (log2 + n))) == 0 ||
                   (at == t0 && (tr0 << n) % (int64_t{1} << (log2 + n)) != 0);
        };
        if (!begins(y, ty0_, d_.components[c].dy, ppy(c, r), try_(c, r, ty0_)) ||
            !begins(x, tx0_, d_.components[c].dx, ppx(c, r), trx(c, r, tx0_)))
            return;
        const int64_t column = (trx(c, r, x) >> ppx(c, r)) - (trx(c, r, tx0_) >> ppx(c, r)),
                      row = (try_(c, r, y) >> ppy(c, r)) - (try_(c, r, ty0_) >> ppy(c, r)),
                      k = row * wide(c, r) + column;
        if (column < wide(c, r) && row < high(c, r) && seen_.insert({c, r, k}).second) add(c, r, k);
    }

    void add(size_t c, int r, int64_t k) {
        Blocks blocks;
        const ComponentCoding &coding = coding_.of_component(c);
        const int64_t px = (trx(c, r, tx0_) >> ppx(c, r)) + k % wide(c, r),
                      py = (try_(c, r, ty0_) >> ppy(c, r)) + k / wide(c, r);
        const int nb = r ? levels(c) + 1 - r : levels(c);
        for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) {
            const auto band = [&](int64_t t, int d, int high) {  // B-15
                return ceiled(ceiled(t, d) - (high ? int64_t{1} << (nb - 1) : 0), int64_t{1} << nb);
            };
            const auto cut = [&](int64_t b0, int64_t b1, int64_t precinct, int64_t pp, int cb) {  // B.6, B.7
                std::vector<std::pair<int64_t, int64_t>> parts;
                const int64_t log2 = r ? pp - 1 : pp, side = int64_t{1} << std::min<int64_t>(cb, log2),
                              begin = std::max(b0, precinct << log2), end = std::min(b1, (precinct + 1) << log2);
                for (int64_t at = begin / side * side; at < end; at += side)
                    parts.push_back({std::max(at, begin), std::min(at + side, end)});
                return begin < end ? parts : decltype(parts)();
            };
            const Component &k_ = d_.components[c];
            const auto xs = cut(band(tx0_, k_.dx, o & 1), band(tx1_, k_.dx, o & 1), px, ppx(c, r),
                                coding.cblk_width_log2),
                       ys = cut(band(ty0_, k_.dy, o >> 1), band(ty1_, k_.dy, o >> 1), py, ppy(c, r),
                                coding.cblk_height_log2);
            const int b = band_index(r, o);
            const Quantisation &q = coding_.quantisation[c];
            const int planes = q.guard_bits + q.steps[static_cast<size_t>(b)].exponent - 1 +  // E-2, H.1
                               (coding_.region_shifts.empty() ? 0 : coding_.region_shifts[c]);
            for (const auto &[y0, y1] : ys)
                for (const auto &[x0, x1] : xs) blocks.push_back({c, b, planes, x0, y0, x1, y1});
        }
        packets_.push_back(blocks);
    }

    const Description &d_;
    const TileCoding &coding_;
    int64_t tx0_, ty0_, tx1_, ty1_;
    std::set<std::tuple<size_t, int, int64_t>> seen_;
    std::vector<Blocks> packets_;
};

START_TEST(geometry_follows_the_standards_formulas) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 150; repeat++) {
        const Description d = random_description(random);
        const Geometry g = make_geometry(d);
        std::vector<Blocks> expected;
        for (int q = 0; q < d.tiles_y; q++)
            for (int p = 0; p < d.tiles_x; p++)
                for (const Blocks &packet : StandardTile(d, p, q).packets()) expected.push_back(packet);
        EXPECT_EQ(g.packets.size(), expected.size());
        std::vector<int> owners(g.samples);
        for (size_t i = 0; i < expected.size(); i++) {
            const Packet &packet = g.packets[i];
            const uint32_t tile = g.tile_parts[packet.tile_part].tile;
            Blocks blocks;
            for (uint32_t b = packet.first_block; b < packet.last_block; b++) {
                const CodeBlock &block = g.blocks[b];
                const PrecinctBand &band = g.precinct_bands[block.precinct_band];
                const ComponentCoding &coding = d.of_tile(tile).of_component(band.component);
                const int r = (band.band + 2) / 3;
                const SubBand all = sub_band(g.tile_components[tile * d.components.size() + band.component],
                                             coding.levels, r, block.orientation);
                const int64_t at = static_cast<int64_t>(block.coefficients - all.coefficients),
                              x0 = all.extent.x0 + at % block.stride, y0 = all.extent.y0 + at / block.stride;
                blocks.push_back(
                    {band.component, band.band, block.planes, x0, y0, x0 + block.width, y0 + block.height});
                EXPECT(block.reversible == coding.reversible, "block %u", b);
                for (uint64_t y = 0; y < block.height; y++)
                    for (uint64_t x = 0; x < block.width; x++) owners[block.coefficients + y * block.stride + x]++;
            }
            EXPECT(blocks == expected[i], "packet %zu of %zu, %zu blocks, not %zu", i, expected.size(), blocks.size(),
                   expected[i].size());
        }
        for (const TileComponent &t : g.tile_components)
            for (uint64_t i = 0; i < static_cast<uint64_t>(t.x1 - t.x0) * static_cast<uint64_t>(t.y1 - t.y0); i++)
                EXPECT(owners[t.samples + i] == 1, "coefficient %llu has %d blocks", static_cast<unsigned long long>(i),
                       owners[t.samples + i]);
    }
}
END_TEST

START_TEST(main_headers_say_what_descriptions_have) {
    Random random(7);
    for (int repeat = 0; repeat < 200; repeat++) {
        Description d = random_description(random);
        d.rsiz = 0;
        const std::vector<uint8_t> bytes = make_main_header(d, make_geometry(d).tile_parts).bytes;
        const auto word = [&](size_t at) { return bytes[at] << 8 | bytes[at + 1]; };
        const auto number = [&](size_t at) { return word(at) << 16 | word(at + 2); };
        std::multimap<int, size_t> segments;  // marker: where its parameters begin
        for (size_t at = 2; at < bytes.size(); at += 2 + static_cast<size_t>(word(at + 2)))
            segments.insert({word(at), at + 4});
        const size_t siz = segments.find(0xFF51)->second + 2;
        const int sizes[] = {d.x0 + d.width, d.y0 + d.height, d.x0,      d.y0,
                             d.tile_width,   d.tile_height,   d.tile_x0, d.tile_y0};
        for (size_t i = 0; i < 8; i++) EXPECT_EQ(number(siz + 4 * i), sizes[i]);
        for (size_t c = 0; c < d.components.size(); c++) {
            const Component &k = d.components[c];
            EXPECT(bytes[siz + 34 + 3 * c] == k.depth - 1 + (k.is_signed ? 128 : 0), "component %zu", c);
        }
        EXPECT_EQ(segments.count(0xFF53), d.coc.size());
        for (auto [coc, end] = segments.equal_range(0xFF53); coc != end; ++coc) {
            const ComponentCoding &own = d.coc.at(bytes[coc->second]);
            EXPECT(bytes[coc->second + 2] == own.levels && bytes[coc->second + 3] == own.cblk_width_log2 - 2 &&
                       bytes[coc->second + 6] == own.reversible,
                   "component %d", bytes[coc->second]);
        }
        for (auto [qcc, end] = segments.equal_range(0xFF5D); qcc != end; ++qcc)
            EXPECT(bytes[qcc->second + 1] >> 5 == d.quantisation[bytes[qcc->second]].guard_bits, "component %d",
                   bytes[qcc->second]);
        EXPECT_EQ(segments.count(0xFF5E), d.region_shift(0) ? d.components.size() : 0);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("codestream");
    TCase *all = add_case(suite, "descriptions");
    tcase_add_loop_test(all, geometry_follows_the_standards_formulas, 0, 8);
    tcase_add_test(all, main_headers_say_what_descriptions_have);
    return run_suite(suite);
}
