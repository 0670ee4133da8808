// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of JPEG 2000's rate control and of the region of interest, each alone: device = host.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../../common/j2k/rate/hull_cpu.h"
#include "../../common/j2k/rate/predict_cpu.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/j2k/rate/rate_params.h"
#include "../../cuda_kernels/j2k/t1/tier1.h"
#include "../../cuda_kernels/j2k/transform/roi_params.h"
#include "j2k_case.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

ThreadPool &pool() {
    static ThreadPool threads(2);
    return threads;
}

// Bytes as a table has them: of one slope alone.
uint32_t bytes_at(const uint32_t *at_or_above, uint32_t slope) {
    return at_or_above[slope] - (slope + 1 < kSlopes ? at_or_above[slope + 1] : 0);
}

// ---- Records at random, of all blocks of a picture

struct Records {
    Records(Random &random, const std::shared_ptr<Device> &device);
    Case k;
    std::vector<CodeBlock> blocks;  // with their codewords
    std::vector<CodedBlock> coded;
    std::vector<uint32_t> bytes, terminations;  // [block * max_passes + pass]
    std::vector<int32_t> reductions;            // the same
    std::vector<uint64_t> rooms;                // [block]: where it begins in codewords
    std::vector<uint8_t> codewords;
    int groups;  // of budgets

    size_t max_passes() const { return static_cast<size_t>(k.geometry.max_passes); }
    size_t layers() const { return static_cast<size_t>(k.params.layers); }
    bool whole() const { return are_whole(k.params.style, k.params.layers); }
};

// A target, and styles whose codewords test_rate.cpp truncates as well. On a GPU that is timed: a large picture.
void set_target(Random &random, const std::shared_ptr<Device> &device, Case &k) {
    if (benched_on_gpu(device)) {
        k.format = bench_format(device);
        cudaenc_j2k_defaults(&k.options);
    } else {
        constexpr int kStyles[] = {0, kTermAll, kVerticallyCausal};
        k.options.cblk_style = random.of(kStyles);
        k.options.layers = std::min(k.options.layers, 5);
        k.options.quality = -1;
        k.options.poc = k.options.roi = nullptr;
    }
    k.options.frame_bytes = 100000;
    k.update();
}

Records::Records(Random &random, const std::shared_ptr<Device> &device)
    : k(random, 200), groups(random.one_in(2) ? 1 : kRateGroups) {
    set_target(random, device, k);
    blocks = k.geometry.blocks;
    const BlockCoding coding{.style = k.params.style, .truncatable = true};
    rooms = place_rooms(blocks, coding);
    codewords.resize(rooms.back());
    for (uint8_t &byte : codewords) byte = static_cast<uint8_t>(random.word());
    for (auto *values : {&bytes, &terminations}) values->resize(blocks.size() * max_passes(), 0xA5A5A5A5);
    reductions.resize(bytes.size());
    for (size_t b = 0; b < blocks.size(); b++) {
        CodedBlock &block = coded.emplace_back();
        const int most = std::min<int>(blocks[b].planes, 20);
        block.planes = static_cast<uint8_t>(random.one_in(5) ? 0 : random.between(std::min(most, 1), most));
        block.passes = static_cast<uint8_t>(block.planes ? random.between(1, coding_passes(block.planes)) : 0);
        block.always_included = static_cast<uint8_t>(random.one_in(3) ? random.below(block.passes + 1u) : 0);
        const uint32_t room = codeword_room(blocks[b], coding) - 8;
        for (size_t pass = 0; pass < block.passes; pass++) {
            const size_t at = b * max_passes() + pass;
            const uint32_t before = pass ? bytes[at - 1] : 0, more = random.below((room - before) / 6 + 1);
            bytes[at] = block.bytes = before + more;
            const uint32_t count = random.below(std::min<uint32_t>(more, 3) + 1);
            terminations[at] = count | (random.word() & ((1u << 8 * count) - 1)) << 8;
            reductions[at] = random.between(-1000, 200000) >> random.between(0, 16);
        }
    }
}

template <class Value>
std::vector<Value> column(const Records &r, Value CodedBlock::*of) {
    std::vector<Value> values;
    for (const CodedBlock &block : r.coded) values.push_back(block.*of);
    return values;
}

// The records in the device's memory.
struct DeviceRecords {
    DeviceRecords(const std::shared_ptr<Device> &device, const Records &r, std::vector<uint32_t> at)
        : blocks(device, r.blocks),
          bands(device, r.k.geometry.precinct_bands),
          band_codings(device, r.k.geometry.band_codings),
          rooms(device, r.rooms),
          planes(device, column(r, &CodedBlock::planes)),
          passes(device, column(r, &CodedBlock::passes)),
          always_included(device, column(r, &CodedBlock::always_included)),
          pass_bytes(device, r.bytes),
          terminations(device, r.terminations),
          reductions(device, r.reductions),
          codewords(device, r.codewords),
          layer_passes(device, r.layers() * r.blocks.size()),
          layer_bytes(device, r.layers() * r.blocks.size()),
          nodes(device, r.k.geometry.tag_tree_nodes),
          layer_sets(device, r.k.geometry.precinct_bands.size()),
          slopes(device, r.blocks.size() * r.max_passes()),
          bytes_at(device, std::move(at)),
          bytes_at_or_above(device, static_cast<size_t>(r.groups) * kSlopes) {
        Tier2Buffers &t2 = rate.t2;
        t2.blocks = blocks.data(), t2.bands = bands.data(), t2.nodes = nodes.data(), t2.layer_sets = layer_sets.data();
        t2.coded.rooms = rooms.data();
        t2.coded.codewords = codewords.data(), t2.coded.planes = planes.data(), t2.coded.passes = passes.data();
        t2.coded.always_included = always_included.data(), t2.coded.pass_bytes = pass_bytes.data();
        t2.coded.terminations = terminations.data(), t2.coded.reductions = reductions.data();
        t2.layer_passes = layer_passes.data(), t2.layer_bytes = layer_bytes.data();
        t2.block_count = static_cast<uint32_t>(r.blocks.size()), t2.layers = static_cast<uint32_t>(r.layers());
        t2.band_count = static_cast<uint32_t>(r.k.geometry.precinct_bands.size());
        t2.coding = {.style = r.k.params.style, .truncatable = true}, t2.max_passes = r.k.geometry.max_passes;
        rate.bands = band_codings.data();
        rate.slopes = slopes.data(), rate.bytes_at = bytes_at.data(), rate.bytes_at_or_above = bytes_at_or_above.data();
        rate.groups = static_cast<uint32_t>(r.groups);
    }
    Guarded<CodeBlock> blocks;
    Guarded<PrecinctBand> bands;
    Guarded<BandCoding> band_codings;
    Guarded<uint64_t> rooms;
    Guarded<uint8_t> planes, passes, always_included;
    Guarded<uint32_t> pass_bytes, terminations;
    Guarded<int32_t> reductions;
    Guarded<uint8_t> codewords, layer_passes;
    Guarded<uint32_t> layer_bytes;
    Guarded<TagNode> nodes;
    Guarded<LayerSet> layer_sets;
    Guarded<uint16_t> slopes;
    Guarded<uint32_t> bytes_at, bytes_at_or_above;
    RateBuffers rate{};  // what kernels read and write of it
};

int rounds(const std::shared_ptr<Device> &device) { return benched_on_gpu(device) ? 1 : 20; }

// ---- Hulls

START_TEST(hulls) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < rounds(device); round++) {
        const Records r(random, device);
        HullTable host(r.k.geometry, r.k.params.style, r.groups, r.whole());
        host.find_hulls(pool(), r.coded, r.bytes.data(), r.reductions.data());
        const bool has_choice = random.one_in(2);
        const TruncationChoice choice{static_cast<uint32_t>(random.between(1, kSlopes - 1)), random.below(40)};
        if (has_choice) host.sum_bytes(r.coded, r.bytes.data(), choice);
        const DeviceRecords to(device, r, std::vector<uint32_t>(static_cast<size_t>(r.groups) * kSlopes));
        const Guarded<TruncationChoice> device_choice(device, std::vector<TruncationChoice>{choice});
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        bench("hulls", device, static_cast<double>(r.blocks.size()), "blocks", [&] {
            device->fill(stream, to.bytes_at.data(), 0, to.bytes_at.count() * sizeof(uint32_t));
            device->launch(stream, {blocks_for(r.blocks.size(), kHullThreads)}, kHullThreads,
                           HullParams{.rate = to.rate, .choice = has_choice ? device_choice.data() : nullptr});
            device->synchronize(stream);
        });
        const std::vector<uint16_t> slopes = to.slopes.read("slopes");
        for (size_t b = 0; b < r.blocks.size(); b++)
            for (int pass = std::max(r.coded[b].always_included - 1, 0); pass < r.coded[b].passes; pass++) {
                const uint32_t is = slopes[static_cast<size_t>(pass) * r.blocks.size() + b], own = host.slopes(b)[pass];
                EXPECT(is == own, "%s: block %zu, pass %d: slope %u, not %u", r.k.text.c_str(), b, pass, is, own);
            }
        const std::vector<uint32_t> table = to.bytes_at.read("bytes");
        for (size_t i = 0; i < table.size(); i++) {
            const uint32_t *of_group = host.bytes_at_or_above() + i / kSlopes * kSlopes;
            EXPECT(table[i] == bytes_at(of_group, i % kSlopes), "%s: slope %zu: %u bytes, not %u", r.k.text.c_str(), i,
                   table[i], bytes_at(of_group, i % kSlopes));
        }
    }
}
END_TEST

// ---- Thresholds

RateAllocation random_allocation(Random &random, const Records &r, uint64_t all) {
    RateAllocation allocation{};
    for (size_t layer = 0; layer < r.layers(); layer++) {
        allocation.threshold[layer] = random.one_in(2) ? kSlopes : static_cast<uint32_t>(random.between(1, kSlopes));
        allocation.budget[layer] = random.one_in(4) ? 0 : random.below(static_cast<uint32_t>(all + all / 4) + 1) + 1;
        allocation.measured[layer] = random.below(static_cast<uint32_t>(all / 2) + 100);
        allocation.choice[layer] = {static_cast<uint32_t>(random.between(1, kSlopes - 1)), random.below(60)};
    }
    std::sort(allocation.threshold, allocation.threshold + r.layers(), std::greater<>());
    for (int g = 0; g < kRateGroups; g++) allocation.group_threshold[g] = 1;
    for (uint64_t &budget : allocation.group_budget) budget = random.one_in(2) ? 0 : all / 3;
    for (uint64_t &measured : allocation.group_measured) measured = random.below(1000);
    allocation.floor = static_cast<uint32_t>(random.between(1, kSlopes - 1));
    allocation.least = 1;
    allocation.stop.slope = static_cast<uint32_t>(random.between(0, kSlopes - 1));
    return allocation;
}
RateRevision random_revision(Random &random, const Records &r, uint64_t all) {
    if (random.one_in(2)) return {};
    RateRevision revision{.layer = static_cast<int>(r.layers()) - 1};
    (random.one_in(2) ? revision.excess : revision.spare) = random.below(static_cast<uint32_t>(all / 20) + 2);
    if (r.groups > 1 && !revision.spare) revision.tile_parts[0] = random.below(100);
    return revision;
}
void expect_alike(const RateAllocation &is, const RateAllocation &expected, const Records &r) {
    for (size_t layer = 0; layer < r.layers(); layer++) {
        EXPECT(is.threshold[layer] == expected.threshold[layer], "%s: layer %zu: threshold %u, not %u",
               r.k.text.c_str(), layer, is.threshold[layer], expected.threshold[layer]);
        EXPECT(is.choice[layer].all_from == expected.choice[layer].all_from &&
                   is.choice[layer].small == expected.choice[layer].small &&
                   is.measured[layer] == expected.measured[layer],
               "%s: layer %zu: choice", r.k.text.c_str(), layer);
    }
    for (int g = 0; g < r.groups; g++)
        EXPECT(is.group_threshold[g] == expected.group_threshold[g], "%s: group %d: threshold %u, not %u",
               r.k.text.c_str(), g, is.group_threshold[g], expected.group_threshold[g]);
    EXPECT(is.stop.threshold == expected.stop.threshold && is.stop.lacks == expected.stop.lacks &&
               is.stop.surplus == expected.stop.surplus,
           "%s: how it ended", r.k.text.c_str());
}

START_TEST(thresholds) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 10);
    for (int round = 0; round < rounds(device); round++) {
        const Records r(random, device);
        HullTable host(r.k.geometry, r.k.params.style, r.groups, r.whole());
        host.find_hulls(pool(), r.coded, r.bytes.data(), r.reductions.data());
        std::vector<uint32_t> table(static_cast<size_t>(r.groups) * kSlopes);
        uint64_t all = 0;
        for (size_t i = 0; i < table.size(); i++)
            all += table[i] = bytes_at(host.bytes_at_or_above() + i / kSlopes * kSlopes, i % kSlopes);
        const RateAllocation begun = random_allocation(random, r, all);
        const RateRevision revision = random_revision(random, r, all);
        const bool measured = r.layers() == 1 && revision.layer < 0 && random.one_in(2);

        RateAllocation expected = begun;
        const int layers = static_cast<int>(r.layers());
        if (measured) add_codewords(expected, host.bytes_at_or_above(), r.groups);
        if (revision.layer >= 0)
            revise_thresholds(expected, host.bytes_at_or_above(), r.groups, layers, revision, LowestSlope{});
        else
            allocate(expected, host.bytes_at_or_above(), r.groups, layers, measured, LowestSlope{});

        DeviceRecords to(device, r, table);
        const Guarded<RateAllocation> allocation(device, std::vector<RateAllocation>{begun});
        to.rate.allocation = allocation.data();
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        device->launch(stream, {1}, kAllocateThreads,
                       AllocateParams{.rate = to.rate, .measured = measured, .revision = revision});
        device->synchronize(stream);
        const std::vector<uint32_t> sums = to.bytes_at_or_above.read("sums"), left = to.bytes_at.read("table");
        for (size_t i = 0; i < sums.size(); i++)
            EXPECT(sums[i] == host.bytes_at_or_above()[i] && !left[i], "%s: %u bytes from slope %zu on, not %u",
                   r.k.text.c_str(), sums[i], i, host.bytes_at_or_above()[i]);
        expect_alike(allocation.read("allocation")[0], expected, r);
    }
}
END_TEST

// ---- Truncation

// What the host makes of the codewords, and of layers: [layer * blocks + block].
struct Truncated {
    std::vector<uint8_t> codewords, layer_passes;
    std::vector<uint32_t> layer_bytes, terminations;
};
void truncate_on_host(const Records &r, const HullTable &hulls, const RateAllocation &allocation, bool last, bool again,
                      Truncated &to) {
    for (size_t b = 0; b < r.blocks.size(); b++) {
        const auto byte = [&](uint32_t i, uint32_t) -> uint8_t & { return to.codewords[r.rooms[b] + i]; };
        const uint32_t *bytes = r.bytes.data() + b * r.max_passes();
        uint32_t *terminations = to.terminations.data() + b * r.max_passes();
        const size_t last_layer = (r.layers() - 1) * r.blocks.size() + b;
        if (const int before = again ? to.layer_passes[last_layer] : 0)
            swap_termination(r.k.params.style, before, bytes, terminations[before - 1], byte);
        const uint32_t group = r.groups > 1 ? r.k.geometry.coding_of(r.blocks[b]).group : 0;
        truncate_block(allocation, group, static_cast<int>(r.layers()), r.k.params.style, r.coded[b].always_included,
                       r.coded[b].passes, hulls.slopes(b), bytes, terminations, last, again, byte,
                       [&](int layer, const LayerEnd &end) {
                           const size_t i = static_cast<size_t>(layer) * r.blocks.size() + b;
                           to.layer_passes[i] = end.passes, to.layer_bytes[i] = end.bytes;
                       });
    }
}

START_TEST(truncation) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 20);
    for (int round = 0; round < rounds(device); round++) {
        const Records r(random, device);
        HullTable hulls(r.k.geometry, r.k.params.style, r.groups, r.whole());
        hulls.find_hulls(pool(), r.coded, r.bytes.data(), r.reductions.data());
        std::vector<uint16_t> slopes(r.blocks.size() * r.max_passes(), 0xA5A5);
        for (size_t b = 0; b < r.blocks.size(); b++)
            for (size_t pass = 0; pass < r.coded[b].passes; pass++)
                slopes[pass * r.blocks.size() + b] = hulls.slopes(b)[static_cast<int>(pass)];
        DeviceRecords to(device, r, std::vector<uint32_t>(static_cast<size_t>(r.groups) * kSlopes));
        const Guarded<uint16_t> device_slopes(device, slopes);
        to.rate.slopes = device_slopes.data();
        Truncated host{.codewords = r.codewords,
                       .layer_passes = std::vector<uint8_t>(r.layers() * r.blocks.size()),
                       .layer_bytes = std::vector<uint32_t>(r.layers() * r.blocks.size()),
                       .terminations = r.terminations};
        // The first round only counts, the second ends codewords, and later ones let them go on and end elsewhere.
        for (int turn = 0; turn < 5; turn++) {
            const RateAllocation thresholds = random_allocation(random, r, 10000);
            const bool last = turn > 0, again = turn > 1;
            truncate_on_host(r, hulls, thresholds, last, again, host);
            const Guarded<RateAllocation> allocation(device, std::vector<RateAllocation>{thresholds});
            to.rate.allocation = allocation.data();
            const Stream stream(device);
            device->synchronize(Device::Stream{});
            const Grid grid{to.rate.t2.band_count};
            if (again)
                device->launch(stream, grid, kTagTreeThreads, TruncateAgainParams{{to.rate, last}});
            else
                device->launch(stream, grid, kTagTreeThreads, TruncateParams{{to.rate, last}});
            device->synchronize(stream);
            EXPECT(to.layer_passes.read("passes") == host.layer_passes, "%s, turn %d: passes", r.k.text.c_str(), turn);
            EXPECT(to.layer_bytes.read("bytes") == host.layer_bytes, "%s, turn %d: bytes", r.k.text.c_str(), turn);
            EXPECT(to.codewords.read("codewords") == host.codewords, "%s, turn %d: codewords", r.k.text.c_str(), turn);
            EXPECT(to.terminations.read("ends") == host.terminations, "%s, turn %d: ends", r.k.text.c_str(), turn);
        }
    }
}
END_TEST

// ---- Sampled blocks

// Coefficients of the case's blocks, smaller in some of them.
std::vector<uint32_t> random_coefficients(Random &random, const Geometry &g) {
    std::vector<uint32_t> coefficients(g.samples, 0);
    for (const CodeBlock &b : g.blocks) {
        const int planes = random.between(0, std::min<int>(b.planes, 14));
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++) {
                const int own = random.between(0, planes);
                const uint32_t magnitude = random.below(1u << own), sign = random.one_in(2) ? kSignBit : 0;
                coefficients[b.coefficients + static_cast<uint64_t>(y) * b.stride + static_cast<uint64_t>(x)] =
                    magnitude ? magnitude | sign : 0;
            }
    }
    return coefficients;
}

START_TEST(sampled_blocks) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 30);
    for (int round = 0; round < rounds(device); round++) {
        Case k(random, 200);
        set_target(random, device, k);
        const bool ht = round % 2;
        k.options.cblk_style = ht ? static_cast<int>(CUDAENC_J2K_HT) : k.options.cblk_style;
        k.options.rate_control = CUDAENC_J2K_RATE_PSP;
        k.options.frame_bytes = random.between(3000, 60000);
        if (ht) k.options.layers = 1;
        k.update();
        const std::vector<SampledBlock> sampled = choose_sampled_blocks(k.params, k.geometry);
        const std::vector<uint32_t> coefficients = random_coefficients(random, k.geometry);
        RateAllocation begun{};
        const auto budget = begun.budget[k.params.layers - 1] = static_cast<uint64_t>(k.options.frame_bytes);
        const StopSlope expected =
            find_stop_slope(pool(), k.params, k.geometry, sampled, coefficients.data(), budget, begun.stop);

        const Guarded<CodeBlock> blocks(device, k.geometry.blocks);
        const Guarded<BandCoding> bands(device, k.geometry.band_codings);
        const Guarded<uint32_t> from(device, coefficients), done(device, std::vector<uint32_t>(1));
        const Guarded<SampledBlock> chosen(device, sampled);
        const Guarded<uint64_t> table(device, std::vector<uint64_t>(3 * kStopBins));
        const Guarded<RateAllocation> allocation(device, std::vector<RateAllocation>{begun});
        const Tier1Batch batch = tier1_batch(k.geometry.blocks.size(), k.geometry.max_passes, k.params.cblk_width_log2,
                                             k.params.cblk_height_log2, {});
        const SampleInput input{.blocks = blocks.data(),
                                .bands = bands.data(),
                                .regions = {},
                                .coefficients = from.data(),
                                .sampled_blocks = chosen.data(),
                                .table = table.data(),
                                .held_back = table.data() + kStopBins,
                                .alike = table.data() + 2 * kStopBins,
                                .done = done.data(),
                                .allocation = allocation.data(),
                                .count = static_cast<uint32_t>(sampled.size()),
                                .block_count = static_cast<uint32_t>(blocks.count()),
                                .layers = static_cast<uint32_t>(k.params.layers),
                                .style = k.params.style,
                                .lossy = k.geometry.coding.lossy,
                                .frame_steps = k.params.frame_steps,
                                .step_weights = k.params.step_weights,
                                .is_short = false,
                                .tiles_x = batch.tiles_x,
                                .tiles_y = batch.tiles_y};
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        const Grid grid{blocks_for(sampled.size(), kSampleWarps)};
        const int tiles = batch.tiles_x * batch.tiles_y;
        if (ht)
            device->launch(stream, grid, kSampleWarps * 32, SampleAlternativesParams{input});
        else if (tiles == 1)
            device->launch(stream, grid, kSampleWarps * 32, SampleParams{input});
        else
            device->launch(stream, {input.count}, static_cast<unsigned>(tiles * 32), SampleTiledParams{input});
        device->synchronize(stream);
        const StopSlope stop = allocation.read("allocation")[0].stop;
        EXPECT(stop.slope == expected.slope && stop.always_includes == expected.always_includes,
               "%s, ht %d, %zu of %zu blocks: stops at slope %u, not %u", k.text.c_str(), ht, sampled.size(),
               blocks.count(), stop.slope, expected.slope);
        for (const uint64_t bytes : table.read("table")) EXPECT(bytes == 0, "%s: a bin is not cleared", k.text.c_str());
        EXPECT(done.read("done")[0] == 0, "%s: thread-blocks are not cleared", k.text.c_str());
    }
}
END_TEST

// ---- The region of interest

START_TEST(region_of_interest) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 40);
    for (int round = 0; round < 20; round++) {
        Case k(random, 120);
        std::vector<uint32_t> coefficients = random_coefficients(random, k.geometry);
        std::vector<RoiBlock> regions;
        for (uint32_t b = 0; b < k.geometry.blocks.size(); b++) {
            const CodeBlock &block = k.geometry.blocks[b];
            if (random.one_in(3)) continue;
            const int x0 = random.between(0, block.width - 1), y0 = random.between(0, block.height - 1);
            regions.push_back({b, static_cast<uint16_t>(x0), static_cast<uint16_t>(y0),
                               static_cast<uint16_t>(random.between(x0 + 1, block.width)),
                               static_cast<uint16_t>(random.between(y0 + 1, block.height))});
        }
        if (regions.empty()) continue;
        const int shift = random.between(1, 16);
        const Guarded<RoiBlock> device_regions(device, regions);
        const Guarded<CodeBlock> blocks(device, k.geometry.blocks);
        const Guarded<uint32_t> to(device, coefficients);
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        device->launch(stream, {static_cast<unsigned>(regions.size())}, kRoiThreads,
                       RoiParams{.roi_blocks = device_regions.data(),
                                 .blocks = blocks.data(),
                                 .coefficients = to.data(),
                                 .shift = shift});
        device->synchronize(stream);
        for (const RoiBlock &region : regions)
            for (int y = region.y0; y < region.y1; y++)
                for (int x = region.x0; x < region.x1; x++) {
                    const CodeBlock &block = k.geometry.blocks[region.block];
                    uint32_t &c = coefficients[block.coefficients + static_cast<uint64_t>(y) * block.stride +
                                               static_cast<uint64_t>(x)];
                    c = (c & 0x80000000u) + ((c & 0x7FFFFFFFu) << shift);
                }
        EXPECT(to.read("coefficients") == coefficients, "round %d, shift %d", round, shift);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("rate_kernels");
    TCase *c = add_case(suite, "kernels");
    tcase_add_loop_test(c, hulls, 0, devices);
    tcase_add_loop_test(c, thresholds, 0, devices);
    tcase_add_loop_test(c, truncation, 0, devices);
    tcase_add_loop_test(c, sampled_blocks, 0, devices);
    tcase_add_loop_test(c, region_of_interest, 0, devices);
    return run_suite(suite);
}
