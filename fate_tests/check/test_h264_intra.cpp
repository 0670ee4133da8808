// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264's software intra pipeline: its reconstruction against an independent decoder of what it leaves, over formats,
// slices, threads, sizes and contents; every prediction mode; rate, distortion and limits.
#include <algorithm>
#include <vector>

#include "../../common/h264/intra/rank_cpu.h"
#include "../../common/h264/lanes/intra_coder.h"
#include "../../common/h264/lanes/macroblock_lanes.h"
#include "../../common/h264/syntax/cavlc.h"
#include "h264_decoder.h"
#include "h264_sources.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

struct Coded {
    std::vector<Macroblock> macroblocks;
    std::vector<int16_t> levels;
    std::vector<Sample> samples;  // all components
    uint64_t bits, distortion;
};

Coded encode(IntraCoder &coder, const Source &source, const PictureQuality &quality, int threads) {
    const PictureFormat &f = source.format;
    const size_t count = static_cast<size_t>(f.macroblocks());
    Coded coded;
    coded.macroblocks.resize(count);
    std::fill_n(reinterpret_cast<uint8_t *>(coded.macroblocks.data()), count * sizeof(Macroblock), 0xA5);
    coded.levels.assign(count * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma)), 0x5A5A);
    ThreadPool pool(threads);
    coder.encode(source.layout, quality, pool, coded.macroblocks.data(), coded.levels.data());
    for (size_t m = 0; m < coded.macroblocks.size(); m++)
        clear_uncoded(f.chroma, coded.macroblocks[m],
                      &coded.levels[m * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma))]);
    coded.bits = coder.bits();
    coded.distortion = coder.luma_distortion();
    if (!quality.reconstructs) return coded;
    for (int c = 0; c < f.components(); c++) {
        const ConstBlock r = coder.reconstruction(c);
        for (int y = 0; y < f.macroblock_rows() * f.rows(c); y++)
            for (int x = 0; x < f.macroblock_columns() * f.columns(c); x++)
                coded.samples.push_back(r.data[y * r.stride + x]);
    }
    return coded;
}
Coded encode(const Source &source, const PictureQuality &quality, int threads) {
    IntraCoder coder(source.format);
    return encode(coder, source, quality, threads);
}

// The reconstruction is what a decoder makes of macroblocks and levels.
void check(const Source &source, const PictureQuality &quality, const Coded &coded) {
    const PictureFormat &f = source.format;
    decoder::Picture decoded(f.macroblock_columns(), f.macroblock_rows(), f.chroma, f.bit_depth, quality.qp);
    if (f.scaling) {
        const ScalingLists &s = *f.scaling;
        decoded.set_scaling(0, {s.luma_4x4, s.luma_4x4 + 16}, {s.luma_8x8, s.luma_8x8 + 64});
        for (const int c : {1, 2}) decoded.set_scaling(c, {s.chroma_4x4, s.chroma_4x4 + 16}, std::vector<int>(64, 16));
    }
    decoded.set_chroma_qp_offsets(f.chroma_qp_index_offset, f.chroma_qp_index_offset);
    decoded.decode(coded.macroblocks.data(), coded.levels.data());
    size_t i = 0;
    uint64_t distortion = 0;
    for (int c = 0; c < f.components(); c++)
        for (int y = 0; y < decoded.height(c); y++)
            for (int x = 0; x < decoded.width(c); x++, i++) {
                const int sample = decoded.sample(c, x, y);
                const size_t mb = static_cast<size_t>(y / f.rows(c) * f.macroblock_columns() + x / f.columns(c));
                EXPECT(coded.samples[i] == sample,
                       "%dx%d, format %d, %d bits, QP %d, component %d (%d, %d), type %d: %d, decoded %d", f.width,
                       f.height, static_cast<int>(f.chroma), f.bit_depth, quality.qp, c, x, y,
                       static_cast<int>(coded.macroblocks[mb].type), coded.samples[i], sample);
                const int d = sample - source.sample(c, x, y);
                if (c == 0) distortion += static_cast<uint64_t>(d * d);
            }
    EXPECT(distortion == coded.distortion, "distortion %llu, not %llu",
           static_cast<unsigned long long>(coded.distortion), static_cast<unsigned long long>(distortion));
    int slice = -1;
    for (size_t m = 0; m < coded.macroblocks.size(); m++) {
        const Macroblock &mb = coded.macroblocks[m];
        slice += mb.first_in_slice;
        EXPECT(mb.slice == slice && mb.first_in_slice <= 1, "slice %d of macroblock %zu", mb.slice, m);
        EXPECT(mb.qp_delta >= -26 - 3 * (f.bit_depth - 8) && mb.qp_delta <= 25 + 3 * (f.bit_depth - 8),
               "mb_qp_delta %d", mb.qp_delta);
        EXPECT(f.transform_8x8 || mb.type != MacroblockType::i8x8, "8x8 transform");
        EXPECT(!f.only_8x8 || mb.type == MacroblockType::i8x8 || mb.type == MacroblockType::pcm, "another type");
        if (mb.type == MacroblockType::pcm) continue;
        const int16_t *levels = &coded.levels[m * 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma))];
        const int pattern = pattern_of_levels(f.chroma, mb.type, levels);
        EXPECT(mb.coded_block_pattern == pattern, "type %d, coded_block_pattern %d, not %d", static_cast<int>(mb.type),
               mb.coded_block_pattern, pattern);
        for (size_t k = 0; k < 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma)); k++)
            EXPECT(f.long_level_prefix || std::abs(levels[k]) <= kMaxLevelOfPrefix15, "level %d", levels[k]);
    }
    EXPECT(slice == f.slices - 1, "%d slices", slice + 1);
}

PictureFormat random_picture_format(Random &random, int longest) {
    PictureFormat f{};
    f.width = random.between(1, longest);
    f.height = random.between(1, longest);
    f.chroma = static_cast<ChromaFormat>(random.between(0, 3));
    f.bit_depth = random.one_in(2) ? 8 : 10;
    f.slices = random.between(1, std::min(3, f.macroblock_rows()));
    f.transform_8x8 = random.one_in(2);
    f.long_level_prefix = random.one_in(2);
    f.pcm_without_zeros = random.one_in(2);
    return f;
}

// What AVC-Intra has besides: slices that begin within a row, scaling lists, an offset of chroma's QP.
PictureFormat random_avc_intra_format(Random &random, int longest) {
    PictureFormat f = random_picture_format(random, longest);
    if (f.chroma == ChromaFormat::c444) f.chroma = ChromaFormat::c422;
    f.transform_8x8 = true;
    f.even_slices = true;
    f.slices = random.between(1, std::min(10, f.macroblocks()));
    f.only_8x8 = random.one_in(2);
    f.chroma_qp_index_offset = random.between(-12, 12);
    if (random.one_in(2)) f.scaling = random.one_in(2) ? &test_scaling_lists : &asymmetric_scaling_lists;
    return f;
}

START_TEST(reconstruction_is_the_decoders) {
    Random random(static_cast<uint64_t>(_i) + 1);
    int types[4] = {};
    for (int round = 0; round < 60; round++) {
        const PictureFormat f = round % 3 ? random_picture_format(random, 100) : random_avc_intra_format(random, 100);
        const Source source(random, f, static_cast<Content>(random.between(0, 5)));
        const PictureQuality quality{random.between(-qp_bd_offset(f.bit_depth), 51),
                                     random.between(round % 3 ? 1 : 0, kEfforts), random.one_in(2) ? 0 : 400};
        const Coded coded = encode(source, quality, 1 + round % 2);
        check(source, quality, coded);
        for (const Macroblock &m : coded.macroblocks) types[static_cast<int>(m.type)]++;
    }
    for (const int count : types) EXPECT(count > 10, "a type is hardly used");
}
END_TEST

// A small picture of every format at every QP.
START_TEST(every_format_and_qp) {
    Random random(99);
    for (int chroma = 0; chroma < 4; chroma++)
        for (const int depth : {8, 10})
            for (int qp = -qp_bd_offset(depth); qp <= 51; qp++) {
                const PictureFormat f{48, 33, static_cast<ChromaFormat>(chroma), depth, 2, qp % 2 == 0, true, false};
                const Source source(random, f, Content::mixed);
                const PictureQuality quality{qp, 1 + chroma % kEfforts, 0};
                check(source, quality, encode(source, quality, 1));
            }
}
END_TEST

// What the candidates of one block are, against the decoder's formulas: macroblocks with such modes decode to
// themselves above; here each mode is seen to be used.
START_TEST(every_mode_is_used) {
    int modes[2][9] = {}, modes16[4] = {}, chroma_modes[4] = {};
    Random random(3);
    for (int round = 0; round < 60; round++) {
        PictureFormat f{96, 96, ChromaFormat::c420, 8, 1, round % 2 == 0, true, false};
        const Source source(random, f, round % 3 ? Content::noise : Content::smooth);
        const PictureQuality quality{20 + round % 20, kTwoCandidates, 0};
        const Coded coded = encode(source, quality, 1);
        decoder::Picture decoded(6, 6, f.chroma, 8, quality.qp);
        decoded.decode(coded.macroblocks.data(), coded.levels.data());
        for (int m = 0; m < 36; m++) {
            const Macroblock &mb = coded.macroblocks[static_cast<size_t>(m)];
            if (mb.type == MacroblockType::pcm) continue;
            chroma_modes[mb.intra_chroma_pred_mode]++;
            if (mb.type == MacroblockType::i16x16)
                modes16[mb.intra_16x16_pred_mode]++;
            else
                for (int b = 0; b < 16; b++) modes[mb.type == MacroblockType::i8x8][decoded.mode(m, b)]++;
        }
    }
    for (int i = 0; i < 9; i++)
        EXPECT(modes[0][i] && modes[1][i], "mode %d: 4x4 %d, 8x8 %d times", i, modes[0][i], modes[1][i]);
    for (int i = 0; i < 4; i++)
        EXPECT(modes16[i] && chroma_modes[i], "mode %d: 16x16 %d, chroma %d times", i, modes16[i], chroma_modes[i]);
}
END_TEST

START_TEST(threads_do_not_matter) {
    Random random(11);
    for (int round = 0; round < 8; round++) {
        PictureFormat f = round % 2 ? random_picture_format(random, 150) : random_avc_intra_format(random, 150);
        f.height += 60;
        const Source source(random, f, Content::mixed);
        const PictureQuality quality{random.between(0, 51), random.between(0, kEfforts), 256};
        const Coded one = encode(source, quality, 1);
        for (const int threads : {2, 4, 7}) {
            const Coded other = encode(source, quality, threads);
            EXPECT(std::equal(one.levels.begin(), one.levels.end(), other.levels.begin()), "levels, %d threads",
                   threads);
            EXPECT(!std::memcmp(one.macroblocks.data(), other.macroblocks.data(),
                                one.macroblocks.size() * sizeof(Macroblock)),
                   "macroblocks, %d threads", threads);
            EXPECT(one.samples == other.samples && one.bits == other.bits, "reconstruction, %d threads", threads);
        }
    }
}
END_TEST

// Whether the reconstruction is asked for does not matter. Noise at low QPs has macroblocks that lanes do not take.
START_TEST(reconstruction_does_not_matter) {
    Random random(17);
    int alone = 0;
    for (int round = 0; round < 60; round++) {
        PictureFormat f = random_picture_format(random, 150);
        f.transform_8x8 = true;
        const Source source(random, f, static_cast<Content>(random.between(0, 5)));
        PictureQuality quality{random.between(kLeastLaneQp, random.one_in(2) ? kMostLaneQp : 18), kAllTypes,
                               random.one_in(2) ? 0 : 400};
        const Coded with = encode(source, quality, 1 + round % 2);
        IntraCoder coder(f);
        quality.reconstructs = false;
        const Coded without = encode(coder, source, quality, 1 + round % 2);
        quality.reconstructs = true;
        EXPECT(encode(coder, source, quality, 1 + round % 2).samples == with.samples, "a later picture, round %d",
               round);
        EXPECT(!std::memcmp(with.macroblocks.data(), without.macroblocks.data(),
                            with.macroblocks.size() * sizeof(Macroblock)),
               "macroblocks, round %d", round);
        EXPECT(with.levels == without.levels && with.bits == without.bits && with.distortion == without.distortion,
               "levels, round %d", round);
        for (const Macroblock &m : with.macroblocks) alone += m.type == MacroblockType::pcm;
    }
    EXPECT(alone > 10, "only %d macroblocks of I_PCM", alone);
}
END_TEST

// A frame of field macroblock pairs has the macroblocks of its fields, coded as field pictures, in turn: neighbours of
// a field macroblock are those of its field (6.4.12.2). mb_qp_delta counts from the pair's other macroblock.
void check_pairs(const Source &frame, const PictureQuality &quality, const Coded &coded) {
    PictureFormat f = frame.format;
    f.field_pairs = false;
    f.height /= 2;
    const size_t columns = static_cast<size_t>(f.macroblock_columns()),
                 blocks = 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma));
    uint64_t bits = coded.macroblocks.size() / 2, distortion = 0;  // mb_field_decoding_flag
    for (size_t field = 0; field < 2; field++) {
        Source lines = frame;
        lines.format = f;
        for (int c = 0; c < f.components(); c++) {
            lines.layout[c].data += static_cast<int64_t>(field) * lines.layout[c].stride;
            lines.layout[c].stride *= 2;
        }
        const Coded one = encode(lines, quality, 1);
        bits += one.bits, distortion += one.distortion;
        for (size_t m = 0; m < one.macroblocks.size(); m++) {
            const size_t pair = 2 * m + field;
            Macroblock macroblock = coded.macroblocks[pair];
            macroblock.first_in_slice = one.macroblocks[m].first_in_slice;
            macroblock.qp_delta = one.macroblocks[m].qp_delta;
            EXPECT(!std::memcmp(&macroblock, &one.macroblocks[m], sizeof macroblock), "macroblock %zu", pair);
            EXPECT(std::equal(one.levels.begin() + static_cast<ptrdiff_t>(m * blocks),
                              one.levels.begin() + static_cast<ptrdiff_t>((m + 1) * blocks),
                              coded.levels.begin() + static_cast<ptrdiff_t>(pair * blocks)),
                   "levels of macroblock %zu", pair);
        }
        const Sample *from = one.samples.data(), *of_frame = coded.samples.data();
        for (int c = 0; c < f.components(); c++) {
            const size_t width = columns * static_cast<size_t>(f.columns(c));
            for (int y = 0; y < f.macroblock_rows() * f.rows(c); y++, from += width, of_frame += 2 * width)
                EXPECT(std::equal(from, from + width, of_frame + field * width), "component %d, line %d", c, y);
        }
    }
    if (!quality.aq_strength)
        EXPECT(bits == coded.bits, "%llu bits, fields %llu", static_cast<unsigned long long>(coded.bits),
               static_cast<unsigned long long>(bits));
    EXPECT(distortion == coded.distortion, "distortion");
}
START_TEST(pairs_are_both_fields) {
    Random random(23);
    for (int round = 0; round < 24; round++) {
        PictureFormat f = random_avc_intra_format(random, 100);
        f.field = f.field_pairs = true;
        f.height = 4 * ((f.height + 3) / 4);
        f.even_slices = random.one_in(2);
        f.slices = random.between(1, std::min(4, f.macroblock_rows()));
        const Source source(random, f, static_cast<Content>(random.between(0, 5)));
        const PictureQuality quality{random.between(-qp_bd_offset(f.bit_depth), 51), random.between(0, kEfforts),
                                     random.one_in(2) ? 0 : 400};
        check_pairs(source, quality, encode(source, quality, round % 4 ? 1 : 3));
    }
}
END_TEST

START_TEST(lower_qp_is_better_and_larger) {
    Random random(13);
    for (const Content content : {Content::noise, Content::smooth, Content::mixed}) {
        const PictureFormat f{128, 128, ChromaFormat::c420, 8, 1, true, true, false};
        const Source source(random, f, content);
        uint64_t bits = UINT64_MAX, distortion = 0;
        for (int qp = 0; qp <= 51; qp += 6) {
            const Coded coded = encode(source, {qp, kRoundedByRate, 0}, 1);
            EXPECT(coded.distortion >= distortion && coded.bits <= bits, "QP %d", qp);
            bits = coded.bits, distortion = coded.distortion;
        }
    }
}
END_TEST

// White noise at QP 0: macroblocks that would be too long are I_PCM, whose samples are exact, but for zeros where they
// must not be.
START_TEST(noise_at_qp_0) {
    Random random(17);
    for (const Content content : {Content::noise, Content::extremes})
        for (int chroma = 0; chroma < 4; chroma++)
            for (const int depth : {8, 10})
                for (const bool without_zeros : {false, true}) {
                    const PictureFormat f{64,    64,           static_cast<ChromaFormat>(chroma), depth, 1, true,
                                          false, without_zeros};
                    const Source source(random, f, content);
                    const PictureQuality quality{-qp_bd_offset(depth), kTwoCandidates, 0};
                    const Coded coded = encode(source, quality, 1);
                    check(source, quality, coded);
                    uint64_t most = 128;
                    for (int c = 0; c < f.components(); c++)
                        most += static_cast<uint64_t>(f.columns(c) * f.rows(c) * depth);
                    EXPECT(coded.bits <= most * 16, "%llu bits", static_cast<unsigned long long>(coded.bits));
                    int pcm = 0;
                    for (size_t m = 0; m < 16; m++) {
                        if (coded.macroblocks[m].type != MacroblockType::pcm) continue;
                        pcm++;
                        const size_t size = 16 * static_cast<size_t>(blocks_per_macroblock(f.chroma));
                        for (size_t i = 0; i < 256; i++) EXPECT(!without_zeros || coded.levels[m * size + i], "a zero");
                    }
                    EXPECT(pcm > 0, "no I_PCM");
                }
}
END_TEST

// 7.4.5: modulo the number of QPs; nothing where nothing is coded.
START_TEST(adaptive_qp_reaches_the_decoder) {
    Random random(19);
    const PictureFormat f{160, 160, ChromaFormat::c422, 10, 3, true, true, false};
    const Source source(random, f, Content::mixed);
    for (const int qp : {-12, 0, 24, 51})
        for (const int strength : {256, 2000, 8000}) {
            const PictureQuality quality{qp, kTwoCandidates, strength};
            const Coded coded = encode(source, quality, 2);
            check(source, quality, coded);
            EXPECT(qp == -12 || std::any_of(coded.macroblocks.begin(), coded.macroblocks.end(),
                                            [](const Macroblock &m) { return m.qp_delta != 0; }),
                   "no mb_qp_delta");
        }
}
END_TEST

START_TEST(large_pictures) {
    Random random(60);
    const PictureFormat format{
        benching ? 1920 : 160, benching ? 1080 : 96, ChromaFormat::c420, 8, 1, true, true, false};
    const Source source(random, format, Content::mixed);
    for (const int effort : {0, 1, 2, 3}) {
        PictureQuality quality{};
        quality.qp = 26;
        quality.effort = effort;
        Coded coded;
        bench(format_string("h264: intra pipeline, effort %d, one thread", effort), format.macroblocks(), "macroblocks",
              [&] { coded = encode(source, quality, 1); });
        check(source, quality, coded);
    }
}
END_TEST

// A macroblock's source as lanes take it, and the columns to its left.
void take_source(const PictureFormat &f, const Block *samples, std::vector<uint8_t> &source, LastColumns &left) {
    Sample *column = left.samples;
    for (int c = 0; c < f.components(); c++)
        for (int y = 0; y < f.rows(c); y++) {
            const Sample *const row = samples[c].at(0, y).data;
            *column++ = row[-1];
            for (int x = 0; x < f.columns(c); x++) {
                source.push_back(static_cast<uint8_t>(row[x]));
                if (f.bit_depth > 8) source.push_back(static_cast<uint8_t>(row[x] >> 8));
            }
        }
}

// Lanes rank the macroblocks in which a type is below its limit, and say which these are. ranked: of whole ranking.
void check_limits(const LaneVectors &vectors, const PictureFormat &f, const Sample *const (*at)[kMostLanes],
                  ptrdiff_t stride, const Available *available, const RankedModes *ranked, Random &random) {
    if (f.components() > 1) return;  // P pictures rank luma alone
    SatdLimits limits[kMostLanes];
    uint32_t lambdas[kMostLanes], expected = 0;
    const bool few = random.one_in(2);  // lanes, so that ranking may end early
    const auto limit_by = [&](uint32_t satd) {
        const uint32_t below = random.one_in(3) ? satd : satd / 2;
        return random.one_in(few ? 40 : 3) ? satd + 1 : random.one_in(40) ? UINT32_MAX : below;
    };
    for (int i = 0; i < vectors.lanes; i++) {
        const uint32_t satd_16x16 = least_satd_16x16({at[0][i], stride}, available[i], f.bit_depth);
        limits[i] = {limit_by(satd_16x16), limit_by(ranked[i].satd_8x8), limit_by(ranked[i].satd_4x4)};
        lambdas[i] = static_cast<uint32_t>(random.between(0, 1 << 16));
        const bool below = satd_16x16 < limits[i].of_16x16 || ranked[i].satd_8x8 < limits[i].of_8x8 ||
                           ranked[i].satd_4x4 < limits[i].of_4x4;
        expected |= uint32_t{below} << i;
    }
    RankedModes by_lanes[kMostLanes]{};
    const uint32_t below = vectors.rank(f, at, stride, available, lambdas, limits, by_lanes);
    EXPECT(below == expected, "%d bits: lanes %x below their limits, not %x", f.bit_depth, below, expected);
    for (int i = 0; i < vectors.lanes; i++) {
        if (!(expected >> i & 1)) continue;
        RankedModes whole = ranked[i];
        by_lanes[i].texture = whole.texture;
        if (RankedModes::unlikely_4x4(whole.satd_8x8, lambdas[i])) {
            whole.satd_4x4 = by_lanes[i].satd_4x4;
            std::copy_n(by_lanes[i].of_4x4, 16, whole.of_4x4);
        }
        EXPECT(by_lanes[i] == whole, "%d bits, lane %d: modes of a type below its limit", f.bit_depth, i);
    }
}

// Macroblocks side by side are those of MacroblockCoder, wherever they lie and whatever surrounds them.
void check_lanes(const LaneVectors &vectors, ChromaFormat chroma, int bit_depth) {
    const int count = vectors.lanes;
    constexpr int kStride = 1024, kRows = 64;
    const PictureFormat f{kStride, kRows, chroma, bit_depth, 1, true, true, false};
    EXPECT(MacroblockLanes::takes(f), "format %d, %d bits", static_cast<int>(chroma), bit_depth);
    const int most = (1 << bit_depth) - 1;
    Random random(23);
    const std::unique_ptr<MacroblockLanes> lanes = vectors.make(f);
    int types[4] = {};
    for (int round = 0; round < 200; round++) {
        std::vector<Sample> planes[2][3];
        for (int c = 0; c < f.components(); c++) {
            const int kind = random.between(0, 2), base = random.between(0, most),
                      range = 1 << random.between(0, bit_depth);
            for (int i = 0; i < kStride * kRows; i++) {
                const int slope = kind == 1 ? i % kStride / 4 + i / kStride : 0;
                const int sample = kind == 0 ? random.between(0, most) : base + slope + random.between(0, range - 1);
                planes[0][c].push_back(static_cast<Sample>(std::min(sample, most)));
            }
            planes[1][c] = planes[0][c];
        }
        MacroblockLanes::Task tasks[kMostLanes]{};
        RankedModes ranked[kMostLanes];
        Neighbour left[kMostLanes]{}, above[kMostLanes]{}, own[2][kMostLanes]{};
        Macroblock macroblocks[2][kMostLanes]{};
        std::vector<int16_t> levels[2][kMostLanes];
        std::vector<uint8_t> sources[kMostLanes];
        LastColumns columns[kMostLanes]{};
        const Sample *at[3][kMostLanes];
        Available available[kMostLanes];
        const int idle = random.between(0, count - 1);
        for (int i = 0; i < count; i++) {
            MacroblockLanes::Task &t = tasks[i];
            for (int c = 0; c < f.components(); c++)
                t.place.samples[c] = {planes[0][c].data() + 20 * kStride + 32 + i * f.columns(c) * 3 / 2, kStride};
            const bool has_left = !random.one_in(4), has_above = !random.one_in(4);
            t.place.available = {has_left, has_above, has_above && random.one_in(2)};
            for (Neighbour *n : {&left[i], &above[i]})
                for (int k = 0; k < 4; k++) {
                    n->mode_right[k] = static_cast<int8_t>(has_left && has_above ? random.between(0, 8) : int{kDc});
                    n->mode_below[k] = n->mode_right[k];
                }
            t.place.left = has_left ? &left[i] : nullptr;
            t.place.above = has_above ? &above[i] : nullptr;
            t.place.qp = random.between(0, 51);
            t.place.effort = kAllTypes;
            const ConstBlock samples[3] = {t.place.samples[0], t.place.samples[1], t.place.samples[2]};
            ranked[i] = rank_modes(samples, luma_components(chroma), t.place.available, f.bit_depth);
            t.place.ranked = &ranked[i];
            for (int c = 0; c < luma_components(chroma); c++) at[c][i] = samples[c].data;
            available[i] = t.place.available;
            t.place.likely = random.one_in(3) ? random.one_in(2) ? kOnly16x16 : kAlso8x8 : kAlso4x4;
            for (std::vector<int16_t> &l : {std::ref(levels[0][i]), std::ref(levels[1][i])})
                l.assign(static_cast<size_t>(16 * blocks_per_macroblock(chroma)), 0x5A5A);
            if (i == idle) continue;
            t.macroblock = &macroblocks[0][i];
            t.levels = levels[0][i].data();
            t.neighbour = &own[0][i];
            take_source(f, t.place.samples, sources[i], columns[i]);
            EXPECT(sources[i].size() == source_bytes(f), "%zu bytes of source", sources[i].size());
            t.source = sources[i].data();
            t.columns = &columns[i];
        }
        RankedModes by_lanes[kMostLanes]{};
        for (int i = 0; i < count; i++) by_lanes[i].texture = ranked[i].texture;
        const uint32_t no_lambdas[kMostLanes]{};  // so I_4x4 is ranked
        vectors.rank(f, at, kStride, available, no_lambdas, nullptr, by_lanes);
        for (int i = 0; i < count; i++)
            EXPECT(by_lanes[i] == ranked[i] || ranked[i].likely_16x16(0) || !ranked[i].satd_8x8,
                   "format %d, %d bits, round %d, lane %d: likely modes", static_cast<int>(chroma), bit_depth, round,
                   i);
        check_limits(vectors, f, at, kStride, available, ranked, random);
        const bool all_rows = !random.one_in(3);
        lanes->code(tasks, all_rows);
        for (int i = 0; i < count; i++) {
            if (i == idle || macroblocks[0][i].type == MacroblockType::pcm) continue;
            MacroblockCoder coder(f, Quantisers{});
            MacroblockCoder::Place place = tasks[i].place;
            for (int c = 0; c < f.components(); c++)
                place.samples[c].data = planes[1][c].data() + (place.samples[c].data - planes[0][c].data());
            const auto result = coder.code(place, macroblocks[1][i], levels[1][i].data(), own[1][i]);
            types[static_cast<int>(macroblocks[1][i].type)]++;
            const std::string what =
                format_string("format %d, %d bits, round %d, lane %d, QP %d, type %d", static_cast<int>(chroma),
                              bit_depth, round, i, place.qp, static_cast<int>(macroblocks[1][i].type));
            EXPECT(!std::memcmp(&macroblocks[0][i], &macroblocks[1][i], sizeof(Macroblock)), "%s: modes", what.c_str());
            // MacroblockCoder leaves zeros where nothing is coded, so a bit that is missing shows here.
            const int pattern = pattern_of_levels(chroma, macroblocks[1][i].type, levels[1][i].data());
            EXPECT(macroblocks[0][i].coded_block_pattern == pattern, "%s: coded_block_pattern %d, not %d", what.c_str(),
                   macroblocks[0][i].coded_block_pattern, pattern);
            clear_uncoded(chroma, macroblocks[0][i], levels[0][i].data());
            EXPECT(levels[0][i] == levels[1][i], "%s: levels", what.c_str());
            EXPECT(tasks[i].result.luma_distortion == result.luma_distortion, "%s: distortion", what.c_str());
            for (int k = 0; k < 4; k++)
                EXPECT(own[0][i].mode_right[k] == own[1][i].mode_right[k] &&
                           own[0][i].mode_below[k] == own[1][i].mode_below[k],
                       "%s: mode %d of neighbours", what.c_str(), k);
            const Sample *column = columns[i].samples;
            for (int c = 0; c < f.components(); c++)
                for (int y = 0; y < f.rows(c); y++) {
                    EXPECT(*column++ == *place.samples[c].at(f.columns(c) - 1, y).data,
                           "%s: last sample of row %d of component %d", what.c_str(), y, c);
                    if (!all_rows && y + 1 < f.rows(c)) continue;
                    EXPECT(std::equal(place.samples[c].data + y * kStride,
                                      place.samples[c].data + y * kStride + f.columns(c),
                                      tasks[i].place.samples[c].data + y * kStride),
                           "%s: row %d of component %d", what.c_str(), y, c);
                }
        }
    }
    for (int t = 0; t < 3; t++) EXPECT(types[t] > 50, "type %d is hardly used", t);
}

START_TEST(lanes_are_macroblocks) {
    const std::span<const LaneVectors> vectors = lane_vectors();
    if (static_cast<size_t>(_i) >= vectors.size()) return;
    for (int chroma = 0; chroma < 4; chroma++)
        for (const int bit_depth : {8, 10})
            check_lanes(vectors[static_cast<size_t>(_i)], static_cast<ChromaFormat>(chroma), bit_depth);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 intra");
    TCase *c = add_case(suite, "intra");
    tcase_add_loop_test(c, reconstruction_is_the_decoders, 0, 8);
    tcase_add_test(c, every_format_and_qp);
    tcase_add_test(c, every_mode_is_used);
    tcase_add_test(c, threads_do_not_matter);
    tcase_add_test(c, reconstruction_does_not_matter);
    tcase_add_test(c, pairs_are_both_fields);
    tcase_add_test(c, lower_qp_is_better_and_larger);
    tcase_add_test(c, noise_at_qp_0);
    tcase_add_test(c, adaptive_qp_reaches_the_decoder);
    tcase_add_test(c, large_pictures);
    tcase_add_loop_test(c, lanes_are_macroblocks, 0, 4);
    return run_suite(suite);
}
