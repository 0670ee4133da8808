// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000's rate control: which truncation points a threshold takes, against the table of their bytes; codewords
// that end and go on; what frames with targets take, as their PLT marker segments tell it; and which blocks are
// sampled. Whole pictures check the kernels.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/markers.h"
#include "../../common/j2k/jp2_boxes.h"
#include "../../common/j2k/rate/predict_cpu.h"
#include "../../common/j2k/rate/region_weights.h"
#include "../../common/j2k/rate/truncate.h"
#include "j2k_case.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// A block some of whose passes are always included, with truncation points that are less steep one by one.
struct Block {
    int always_included, passes;
    std::vector<uint16_t> slopes;
    std::vector<uint32_t> bytes, terminations;
    std::vector<uint8_t> codeword;
    HullSlopes<const uint16_t> hull() const { return {slopes.data(), 1}; }
};

Block make_block(Random &random, uint32_t style) {
    Block block;
    block.passes = random.between(1, 40);
    block.always_included = random.one_in(2) ? 0 : random.between(0, block.passes);
    uint32_t bytes = 0, slope = static_cast<uint32_t>(random.between(200, 400));
    for (int pass = 0; pass < block.passes; pass++) {
        const uint32_t more = static_cast<uint32_t>(random.between(0, 40));
        bytes += more;
        block.bytes.push_back(bytes);
        const uint32_t termination = random.below(std::min<uint32_t>(more, 3) + 1);
        block.terminations.push_back(termination | (random.word() & ((1u << 8 * termination) - 1)) << 8);
        const bool is_truncated =
            pass == block.always_included - 1 || (pass >= block.always_included && random.one_in(2));
        if (is_truncated && pass >= block.always_included) slope -= static_cast<uint32_t>(random.between(1, 8));
        block.slopes.push_back(static_cast<uint16_t>(is_truncated && can_truncate(style, pass) ? slope : 0));
    }
    if (block.always_included) block.slopes[static_cast<size_t>(block.always_included) - 1] = kSlopes - 1;
    for (uint32_t i = 0; i < bytes; i++) block.codeword.push_back(static_cast<uint8_t>(random.word()));
    return block;
}

START_TEST(truncation_points_take_what_the_table_says) {
    Random random(static_cast<uint64_t>(_i) + 1);
    std::vector<Block> blocks;
    for (int i = 0; i < 100; i++) blocks.push_back(make_block(random, 0));
    const TruncationChoice choice{static_cast<uint32_t>(random.between(1, 400)),
                                  static_cast<uint32_t>(random.between(0, 40))};
    std::map<uint32_t, uint64_t> bytes_at;
    for (const Block &b : blocks)
        for_each_truncation_point(b.hull(), b.always_included, b.passes, b.bytes.data(), choice,
                                  [&](uint32_t slope, uint32_t more) { bytes_at[slope] += more; });
    for (uint32_t threshold = 2; threshold <= 401; threshold++) {
        uint64_t table = 0, taken = 0;
        for (const auto &[slope, bytes] : bytes_at)
            if (slope >= threshold) table += bytes;
        for (const Block &b : blocks) {
            const int passes =
                passes_at_or_above(b.hull(), b.always_included, b.passes, threshold, b.bytes.data(), choice);
            taken += passes ? b.bytes[static_cast<size_t>(passes) - 1] : 0;
            const int all = passes_at_or_above(b.hull(), b.always_included, b.passes, threshold);
            EXPECT(threshold >= choice.all_from ? passes == all : passes <= all, "%d passes of %d", passes, all);
        }
        EXPECT(taken == table, "threshold %u, all from %u, small %u: %llu bytes, the table has %llu", threshold,
               choice.all_from, choice.small, static_cast<unsigned long long>(taken),
               static_cast<unsigned long long>(table));
    }
}
END_TEST

// Truncated here and there, a codeword ends as its pass says, and is what it was but for that.
START_TEST(codewords_end_and_go_on) {
    Random random(static_cast<uint64_t>(_i) + 1);
    const uint32_t styles[] = {0, kTermAll, kVerticallyCausal};
    const uint32_t style = random.of(styles);
    Block block = make_block(random, style);
    const std::vector<uint8_t> codeword = block.codeword;
    const std::vector<uint32_t> terminations = block.terminations;
    const auto byte = [&](uint32_t, uint32_t i) -> uint8_t & { return block.codeword.at(i); };
    int before = 0;
    for (int repeat = 0; repeat < 20; repeat++) {
        RateAllocation allocation{};
        allocation.threshold[0] = static_cast<uint32_t>(random.between(1, 400));
        allocation.group_threshold[0] = 1;
        allocation.choice[0] = {static_cast<uint32_t>(random.between(1, 400)), static_cast<uint32_t>(random.below(40))};
        const auto termination_of = [&](int passes) -> uint32_t & {
            return block.terminations[static_cast<size_t>(passes) - 1];
        };
        if (before) swap_termination(style, before, block.bytes.data(), termination_of(before), byte);
        EXPECT(block.codeword == codeword);
        EXPECT(block.terminations == terminations);
        truncate_block(allocation, 0, 1, style, block.always_included, block.passes, block.hull(), block.bytes.data(),
                       block.terminations.data(), true, true, byte,
                       [&](int, const LayerEnd &end) { before = end.passes; });
        if (!before) continue;
        const uint32_t termination = terminations[static_cast<size_t>(before) - 1], count = termination & 0xFF,
                       bytes = block.bytes[static_cast<size_t>(before) - 1];
        for (uint32_t i = 0; i < block.codeword.size(); i++) {
            const bool ends = i >= bytes - count && i < bytes;
            const uint32_t expected = ends ? termination >> (8 * (i - (bytes - count)) + 8) & 0xFF : codeword[i];
            EXPECT(block.codeword[i] == expected, "byte %u of %u, truncated behind pass %d", i, bytes, before);
        }
    }
}
END_TEST

// Bytes of a codestream up to each layer: of one tile-part, in LRCP, with PLT.
std::vector<uint64_t> layer_sizes(const std::vector<uint8_t> &bytes, int layers) {
    const auto word = [&](size_t at) { return static_cast<size_t>(bytes.at(at) << 8 | bytes.at(at + 1)); };
    std::vector<uint64_t> packets;  // with their PLT entries
    uint64_t length = 0, entry = 0;
    for (size_t at = 2; word(at) != 0xFF93; at += 2 + word(at + 2)) {
        if (word(at) != 0xFF58) continue;
        for (size_t i = at + 5; i < at + 2 + word(at + 2); i++) {
            length = length << 7 | (bytes[i] & 127);
            entry++;
            if (bytes[i] & 128) continue;
            packets.push_back(length + entry);
            length = entry = 0;
        }
    }
    std::vector<uint64_t> sizes(static_cast<size_t>(layers));
    uint64_t rest = bytes.size();
    for (size_t i = packets.size(); i-- > 0; rest -= packets[i])
        if ((i + 1) % (packets.size() / static_cast<size_t>(layers)) == 0)
            sizes[i / (packets.size() / static_cast<size_t>(layers))] = rest;
    return sizes;
}

// Never above, and at most 0.5 % below where the picture has more: each layer's.
START_TEST(targets_are_met) {
    Random random(static_cast<uint64_t>(_i) + 1);
    const int modes[] = {CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PSB, CUDAENC_J2K_RATE_BPI, CUDAENC_J2K_RATE_PSP};
    const CudaencFormat format =
        make_format(random.between(200, 400), random.between(200, 400), 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format, Content::smooth);
    // Less and less of the noise, to the right.
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < format.height; y++)
            for (int x = 0; x < format.width; x++) {
                const uint32_t keep = 255u << 8 * x / format.width;
                picture.set(c, x, y, picture.get(c, x, y) & keep);
            }
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.plt = 1;
    config.j2k.cblk_width = config.j2k.cblk_height = random.one_in(2) ? 32 : 64;
    config.j2k.cblk_style = random.one_in(3) ? random.between(0, 63) : 0;
    config.j2k.pred = random.between(0, 1);
    config.j2k.quality = 100;
    const size_t most = encode(config, picture.frame()).size();
    for (int repeat = 0; repeat < 8; repeat++) {
        std::vector<uint64_t> budgets;
        std::string rates;
        const int layers = random.one_in(2) ? 1 : random.between(2, 6);
        double ratio = random.between(300, 1000) / 10.;
        const uint64_t samples = uint64_t{3} * static_cast<uint64_t>(format.width * format.height);
        for (int layer = 0; layer < layers; layer++, ratio /= random.between(15, 30) / 10.) {
            ratio = std::max(ratio, 1.5);
            if (layer && ratio == 1.5) break;
            rates += format_string(layer ? ",%.3f" : "%.3f", ratio);
            budgets.push_back(
                static_cast<uint64_t>(static_cast<double>(samples) / atof(format_string("%.3f", ratio).c_str())));
        }
        config.j2k.layer_rates = rates.c_str();
        config.j2k.rate_control = random.of(modes);
        const auto sizes = layer_sizes(encode(config, picture.frame()), static_cast<int>(budgets.size()));
        for (size_t layer = 0; layer < sizes.size(); layer++) {
            const uint64_t size = sizes[layer], budget = budgets[layer];
            // Small ones may have no truncation point that near.
            const uint64_t spare = budget / (budget < 8000 ? 100 : 200);
            EXPECT(size <= budget && (size + spare >= budget || budget >= most), "layer %zu of %s: %llu of %llu, %s",
                   layer, rates.c_str(), static_cast<unsigned long long>(size), static_cast<unsigned long long>(budget),
                   describe(config).c_str());
        }
    }
}
END_TEST

// In noise many truncation points are alike. Headers are measured before tier-1 ends, so the first threshold is far
// off.
START_TEST(noise_meets_its_target) {
    Random random(7);
    const CudaencFormat format = make_format(2048, 1080, 3, 12, false, CUDAENC_COLOR_XYZ);
    Picture picture = make_picture(random, format, Content::noise);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.profile = CUDAENC_J2K_CINEMA_4K;
    config.j2k.frame_rate_num = 24, config.j2k.frame_rate_den = 1;
    config.j2k.frame_bytes = 82944;
    const auto budget = static_cast<size_t>(config.j2k.frame_bytes);
    for (const int mode : {CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PSP}) {
        config.j2k.rate_control = mode;
        const size_t size = encode(config, picture.frame()).size();
        EXPECT(size <= budget && size + budget / 200 >= budget, "%zu of %zu, %s", size, budget,
               describe(config).c_str());
    }
}
END_TEST

// Less than its packets take with nothing in them: then the first layer has nothing, and the last is as it was asked
// for.
START_TEST(a_layer_may_have_no_room) {
    Random random(1);
    const CudaencFormat format = make_format(90, 70, 1, 8, false, CUDAENC_COLOR_GRAY);
    Picture picture = make_picture(random, format, Content::noise);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.layer_rates = "1000000,4";
    const size_t size = encode(config, picture.frame()).size(), budget = 90 * 70 / 4;
    EXPECT(size <= budget && size >= budget * 99 / 100, "%zu bytes of %zu", size, budget);
}
END_TEST

// ---- sampled blocks ----

START_TEST(sampled_blocks_stand_for_all) {
    Random random(3);
    for (int repeat = 0; repeat < 200; repeat++) {
        Case k(random, repeat % 4 ? 200 : 1500);
        std::map<std::pair<int, int>, uint64_t> blocks, stands_for;  // of a component's sub-band
        const auto band_of = [&](uint32_t block) {
            const PrecinctBand &precinct_band = k.geometry.precinct_bands[k.geometry.blocks[block].precinct_band];
            return std::pair<int, int>{precinct_band.component, precinct_band.band};
        };
        for (uint32_t b = 0; b < k.geometry.blocks.size(); b++) blocks[band_of(b)]++;
        std::set<uint32_t> seen;
        for (const SampledBlock &sample : choose_sampled_blocks(k.params, k.geometry)) {
            EXPECT(sample.block < k.geometry.blocks.size() && sample.blocks && seen.insert(sample.block).second,
                   "%s: block %u, sampled for %u", k.text.c_str(), sample.block, sample.blocks);
            stands_for[band_of(sample.block)] += sample.blocks;
        }
        for (const auto &[band, count] : blocks)
            if (stands_for.count(band))
                EXPECT(stands_for[band] == count, "%s: sub-band %d of component %d: samples for %llu of %llu blocks",
                       k.text.c_str(), band.second, band.first, static_cast<unsigned long long>(stands_for[band]),
                       static_cast<unsigned long long>(count));
        // Sub-bands of fewer blocks than a sample stands for may have none.
        const size_t all = k.geometry.blocks.size();
        uint64_t sum = 0;
        for (const auto &[band, count] : stands_for) sum += count;
        EXPECT(10 * sum >= 9 * all, "%s: samples for %llu of %zu blocks", k.text.c_str(),
               static_cast<unsigned long long>(sum), all);
        EXPECT(10 * seen.size() >= 9 * std::min<size_t>(all, 400) && seen.size() < 2500 + all / 8,
               "%s: %zu samples of %zu blocks", k.text.c_str(), seen.size(), all);
    }
}
END_TEST

// What is near is alike, so samples keep their distance: where one of n blocks is sampled, no two are nearer than
// sqrt(n / 2).
START_TEST(sampled_blocks_lie_apart) {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    const Params params = make_params(make_format(2048, 2048, 1, 8, false, CUDAENC_COLOR_GRAY), options);
    const Geometry geometry = make_encoder_geometry(params);
    std::map<uint32_t, std::vector<const CodeBlock *>> sampled;  // of a sub-band
    for (const SampledBlock &sample : choose_sampled_blocks(params, geometry))
        sampled[geometry.blocks[sample.block].precinct_band].push_back(&geometry.blocks[sample.block]);
    EXPECT(sampled.size() == geometry.precinct_bands.size(), "%zu sub-bands of %zu", sampled.size(),
           geometry.precinct_bands.size());
    for (const auto &[index, samples] : sampled) {
        const PrecinctBand &band = geometry.precinct_bands[index];
        for (size_t i = 0; i < samples.size(); i++)
            for (size_t k = 0; k < i; k++) {
                const int dx = samples[i]->x - samples[k]->x, dy = samples[i]->y - samples[k]->y;
                EXPECT(2 * static_cast<size_t>(dx * dx + dy * dy) * samples.size() >= size_t{band.columns} * band.rows,
                       "sub-band %d: samples %d, %d apart", band.band, dx, dy);
            }
    }
}
END_TEST

// A frame with a surplus is coded again where blocks are worth much that have no room.
// Squares of T.800 J.8's weights are in what squared errors weigh; steps, and LL, stay.
START_TEST(visual_weights) {
    struct Case {
        CudaencColorModel model;
        int shift;  // levels that chroma is coarser by
        uint32_t style;
        int wavelet;
    };
    const Case cases[] = {{CUDAENC_COLOR_RGB, 0, 0, CUDAENC_J2K_DWT97},
                          {CUDAENC_COLOR_RGB, 0, CUDAENC_J2K_HT, CUDAENC_J2K_DWT97},
                          {CUDAENC_COLOR_YUV, 1, 0, CUDAENC_J2K_DWT53}};
    const double luma_hh[] = {0.090078, 0.701837, 0.999988, 1, 1},
                 cr_hl[] = {0.166647, 0.375136, 0.587213, 0.749805, 0.856065, 1};
    for (const Case &c : cases) {
        CudaencFormat format = make_format(512, 512, 3, 8, false, c.model);
        for (int i = 1; i < 3; i++)
            format.component[i].log2_subsample_x = format.component[i].log2_subsample_y = c.shift;
        CudaencJ2kOptions options;
        cudaenc_j2k_defaults(&options);
        options.frame_bytes = 20000;
        options.pred = c.wavelet;
        options.cblk_style = static_cast<int>(c.style);
        const Params plain = make_params(format, options);
        options.visual_weights = 1;
        const Params visual = make_params(format, options);
        const auto change = [&](size_t component, int level, int o) {
            const size_t band = static_cast<size_t>(band_index(visual.levels + 1 - level, o));
            const Quantiser &a = plain.quantisers[component][band], &b = visual.quantisers[component][band];
            EXPECT(a.exponent == b.exponent && a.mantissa == b.mantissa && a.planes == b.planes, "a step changed");
            return (b.weight - a.weight) / static_cast<double>(kSlopeOctave);
        };
        for (int level = 1; level <= visual.levels; level++) {
            const double hh = 2 * std::log2(luma_hh[level - 1]), hl = 2 * std::log2(cr_hl[level - 1 + c.shift]);
            EXPECT(std::abs(change(0, level, kHH) - hh) < 0.05, "luma HH %d: %g, not %g octaves", level,
                   change(0, level, kHH), hh);
            EXPECT(std::abs(change(2, level, kHL) - hl) < 0.05, "Cr HL %d: %g, not %g octaves", level,
                   change(2, level, kHL), hl);
        }
        EXPECT_EQ(visual.quantisers[1][0].weight, plain.quantisers[1][0].weight);
    }
}
END_TEST

// A region has the blocks with coefficients that its samples are made of; the first region counts. 6 QPs are two
// octaves.
START_TEST(regions_weigh_blocks) {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.frame_bytes = 9000;
    options.levels = 2;
    options.cblk_width = options.cblk_height = 32;
    const CudaencFormat format = make_format(256, 256, 1, 8, false, CUDAENC_COLOR_GRAY);
    const CudaencRegion regions[] = {
        {.x = 64, .y = 64, .width = 32, .height = 32, .offset_num = -1, .offset_den = 4},
        {.x = 0, .y = 0, .width = 300, .height = 128, .offset_num = 6, .offset_den = 51},
    };
    CudaencFrame frame{};
    frame.regions = regions, frame.region_count = 2;
    constexpr int kFirst = 17 * kSlopeOctave / 4, kSecond = -2 * kSlopeOctave;
    const Params p = make_params(format, options);
    const EncoderGeometry g = make_encoder_geometry(p);
    for (const bool field : {false, true}) {
        const SourcePicture picture(frame, field ? PictureKind::top_field : PictureKind::frame);
        const auto weights = find_region_weights(p, g, picture);
        EXPECT_EQ(weights.size(), g.blocks.size());
        for (size_t b = 0; b < weights.size(); b++) {
            const PrecinctBand &band = g.precinct_bands[g.blocks[b].precinct_band];
            if (resolution_of(band.band) != 2) continue;
            // Columns 30 to 49 of 128, and as many rows; of a field rows 14 to 25. The other ends before row 66, or 34.
            const int x = g.blocks[b].x, y = g.blocks[b].y;
            const bool first = x < 2 && (field ? y == 0 : y < 2), second = y < (field ? 2 : 3);
            EXPECT(weights[b] == (first ? kFirst : second ? kSecond : 0), "block %d, %d: %d", x, y, weights[b]);
        }
    }
    const auto has_effect = [&](auto &&set) {
        CudaencJ2kOptions o = options;
        set(o);
        const Params other = make_params(format, o);
        EXPECT_EQ(metadata_warning(other, frame).empty(), other.takes_regions);
        return !find_region_weights(other, make_encoder_geometry(other), frame).empty();
    };
    EXPECT(has_effect([](CudaencJ2kOptions &o) { o.pred = CUDAENC_J2K_DWT53; }));
    EXPECT(!has_effect([](CudaencJ2kOptions &o) { o.frame_bytes = 0, o.pred = CUDAENC_J2K_DWT53; }));
    EXPECT(!has_effect([](CudaencJ2kOptions &o) { o.cblk_style = CUDAENC_J2K_HT; }));
    EXPECT(!has_effect([](CudaencJ2kOptions &o) { o.frame_bytes = 0, o.psnr = 40; }));
    EXPECT(!has_effect([](CudaencJ2kOptions &o) { o.frame_bytes = 0, o.layers = 3; }));
    EXPECT(!has_effect([](CudaencJ2kOptions &o) { o.rate_control = CUDAENC_J2K_RATE_BPI; }));
}
END_TEST

// Frames with regions and without them take turns in a slot; all keep the target. The device has the CPU's bytes.
START_TEST(regions_change_from_frame_to_frame) {
    Random random(static_cast<uint64_t>(_i) + 1);
    const CudaencFormat format = make_format(96, 80, 3, 8, true, CUDAENC_COLOR_RGB);
    const Picture picture = make_picture(random, format, Content::smooth);
    const CudaencRegion regions[] = {
        {.x = 16, .y = 8, .width = 20, .height = 30, .offset_num = -1, .offset_den = 4},
        {.x = 0, .y = 0, .width = 96, .height = 40, .offset_num = 1, .offset_den = 8},
    };
    const int modes[] = {CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PSP, CUDAENC_J2K_RATE_PST};
    for (const int mode : modes) {
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        config.j2k.frame_bytes = 2500;
        config.j2k.rate_control = mode;
        config.j2k.pst_lag = 1;
        config.j2k.cblk_style = _i ? CUDAENC_J2K_BYPASS : 0;
        config.async_depth = 1;
        const auto code = [&](const char *device, const std::vector<int> &counts) {
            config.device = device;
            std::vector<std::vector<uint8_t>> packets;
            CudaencSession *session = nullptr;
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            for (const int count : counts) {
                CudaencFrame frame = picture.frame();
                frame.regions = regions, frame.region_count = count;
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
                CudaencPacket packet;
                EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_OK);
                packets.emplace_back(packet.data, packet.data + packet.size);
                EXPECT(packet.size <= 2500 && packet.size > 2400, "%zu bytes", packet.size);
                cudaenc_buffer_free(packet.buffer);
            }
            cudaenc_close(session);
            return packets;
        };
        const auto expected = code("cpu", {0, 2, 1, 0, 2});
        EXPECT(expected[0] != expected[1] && expected[1] != expected[2]);
        if (mode != CUDAENC_J2K_RATE_PST) EXPECT(expected[3] == expected[0] && expected[4] == expected[1]);
        for (const std::string &device : device_specs) EXPECT(code(device.c_str(), {0, 2, 1, 0, 2}) == expected);
    }
}
END_TEST

START_TEST(steps_become_coarser) {
    constexpr uint32_t kSlope = 20 * kSlopeOctave;
    constexpr int32_t kOwn = kSlope - kStopBase + kFrameStepLevel;  // the weight of steps with this slope
    const auto too_fine = [&](uint32_t surplus, double octaves, uint32_t coarser_tries, bool exact) {
        const StepWeights weights{.finest = kOwn - 20 * kSlopeOctave, .exact = exact ? kOwn + 1 : kOwn};
        StopOutcome stop{};
        stop.slope = kSlope, stop.coarser_tries = coarser_tries, stop.surplus = surplus;
        stop.threshold = kSlope + static_cast<uint32_t>(octaves * kSlopeOctave);
        const bool is = steps_too_fine(stop, weights);
        if (is) {
            const StopSlope next = next_try(stop, CUDAENC_J2K_HT, true, weights);
            EXPECT(next.slope > kSlope && next.coarser_tries == coarser_tries + 1, "from slope %u to %u, try %u",
                   kSlope, next.slope, next.coarser_tries);
        }
        return is;
    };
    struct {
        uint32_t surplus;
        double octaves;
        uint32_t coarser_tries;
        bool coarser;
        bool exact = false;
    } const outcomes[] = {
        {12, 0.9, 0, false},
        {12, 1.1, 0, true},
        {6, 1.7, 0, false},
        {3, 1.7, 0, false},
        {2, 1.8, 0, true},
        {1, 4, 0, false},
        {2, 1.1, 1, true},
        {20, 0.9, 1, false},
        {20, 4, kCoarserTries, false},
        {1, 1.1, 0, true, true},
        {0, 4, 0, false, true},
        {20, 0.9, 0, false, true},
        {1, 1.1, 2, true, true},
        {20, 4, kCoarserTries, false, true},
    };
    for (const auto &o : outcomes)
        EXPECT(too_fine(o.surplus, o.octaves, o.coarser_tries, o.exact) == o.coarser,
               "surplus of %u/256, %.1f octaves above, coarser %u times before", o.surplus, o.octaves, o.coarser_tries);
}
END_TEST

START_TEST(frames) {
    const auto device = open_test_device(_i);
    for (const bool predicts : {false, true}) {
        CudaencJ2kOptions options = default_options();
        options.rate_control = predicts ? CUDAENC_J2K_RATE_PSP : CUDAENC_J2K_RATE_PCRD;
        options.compression_ratio = 20;
        check_frame(device, predicts ? "psp" : "pcrd", "j2k/rate", options);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("rate");
    TCase *truncation = add_case(suite, "truncation");
    tcase_add_loop_test(truncation, truncation_points_take_what_the_table_says, 0, 20);
    tcase_add_loop_test(truncation, codewords_end_and_go_on, 0, 100);
    TCase *targets = add_case(suite, "targets");
    tcase_add_loop_test(targets, targets_are_met, 0, 24);
    tcase_add_test(targets, noise_meets_its_target);
    tcase_add_test(targets, a_layer_may_have_no_room);
    TCase *samples = add_case(suite, "sampled blocks");
    tcase_add_test(samples, sampled_blocks_stand_for_all);
    tcase_add_test(samples, sampled_blocks_lie_apart);
    tcase_add_test(samples, visual_weights);
    tcase_add_test(samples, regions_weigh_blocks);
    tcase_add_loop_test(samples, regions_change_from_frame_to_frame, 0, 2);
    tcase_add_test(samples, steps_become_coarser);
    TCase *kernels = add_case(suite, "kernels");
    tcase_add_loop_test(kernels, frames, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
