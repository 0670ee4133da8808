// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of the JPEG decoder, each alone: the host makes what a kernel reads, and what it has to write.
#include <algorithm>
#include <string>
#include <vector>

#include "../../common/mjpeg/coded_data.h"
#include "../../common/mjpeg/idct_cpu.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/mjpeg/scan_plan.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

// ---- The host's walk through a scan

struct Level {
    int place;
    int32_t value;
};
struct HostBlock {
    std::vector<Level> levels;  // DC first, which is the difference
    int32_t dc;
    uint32_t component;  // of the scan
};
// What a walk does where it stands: it decodes a block, or leaves the bits that pad an interval.
struct WalkStep {
    BlockStart at;  // phase: within the period
    int64_t block;  // -1: padding
    bool ends_interval;
};

struct HostScan {
    CodedStream stream;
    ScanPlan plan;
    ScanTables tables;
    CodedData data;
    std::vector<HostBlock> blocks;
    std::vector<WalkStep> steps;
    std::vector<uint32_t> restarts;  // ~0 for interval 0, as the kernel leaves it

    uint32_t bits() const { return 8 * static_cast<uint32_t>(data.segments.back().end); }
    uint32_t subsequences() const { return plan.tiles * kTileSubsequences; }
    uint32_t tiles() const { return blocks_for(bits(), tile_bits(plan.coded)); }  // with data
    uint32_t subsequence_of(const WalkStep &step) const { return step.at.bit / plan.coded.subsequence_bits; }
    uint32_t peek(uint32_t bit) const {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 8; i++) word = word << 8 | (bit / 8 + i < bits() / 8 ? data.bytes[bit / 8 + i] : 0);
        return static_cast<uint32_t>(word << bit % 8 >> 32);
    }
};

// Decodes a block at a bit, which moves behind it.
HostBlock decode_block_at(const HostScan &scan, uint32_t number, uint32_t &bit) {
    HostBlock block{.levels = {}, .dc = 0, .component = block_field(scan.tables.block_components, number)};
    for (int place = 0; place < kBlockSamples;) {
        const uint32_t fields = place ? scan.tables.ac_tables : scan.tables.dc_tables, bits = scan.peek(bit);
        const Step step = scan.tables.table[block_field(fields, number)].find(bits);
        bit += static_cast<uint32_t>(step.bits());
        place = place ? place + step.places() : 1;
        if (place == 1 || step.magnitude_bits()) block.levels.push_back({place - 1, magnitude_of(bits, step)});
    }
    return block;
}

void walk(HostScan &scan) {
    const CodedScan &coded = scan.plan.coded;
    scan.restarts.assign(coded.intervals, ~0u);
    for (const CodedSegment &segment : scan.data.segments) {
        const auto interval = static_cast<uint32_t>(segment.interval);
        if (interval) scan.restarts[interval] = static_cast<uint32_t>(segment.begin);
        uint32_t bit = 8 * static_cast<uint32_t>(segment.begin);
        const uint32_t end = 8 * static_cast<uint32_t>(segment.end), first = interval * coded.interval_blocks;
        int32_t dc[kMaxStreamComponents] = {};
        for (uint32_t b = first; b < std::min(first + coded.interval_blocks, coded.blocks); b++) {
            const uint32_t begin = bit, number = b % coded.mcu_blocks;
            HostBlock block = decode_block_at(scan, number, bit);
            block.dc = dc[block.component] += block.levels[0].value;
            scan.steps.push_back({{begin, number % scan.plan.period}, b, bit == end});
            scan.blocks.push_back(std::move(block));
        }
        if (bit < end) scan.steps.push_back({{bit, 0}, -1, true});
    }
}

// Scans of one period, of pictures of one format.
std::vector<HostScan> make_scans(Random &random, std::vector<std::vector<uint8_t>> &packets, bool large) {
    Log log;
    JpegTexts texts;
    const CudaencFormat format =
        large ? make_jpeg_format(jpeg_formats[3], 3840, 2160) : random_jpeg_format(random, 150);
    CudaencConfig config = make_jpeg_config(format, "cpu", &log);
    if (!large) config.mjpeg = random_jpeg_options(random, format, texts);
    std::vector<HostScan> scans;
    packets.clear();
    for (int i = large ? 1 : random.between(1, 3); i > 0; i--) {
        if (!large) config.format = format, config.format.width += random.between(0, 40);
        Picture picture = make_picture(random, config.format);
        fill(random, picture, large ? Content::smooth : static_cast<Content>(random.between(0, 8)));
        packets.push_back(encode_jpeg(config, picture.frame()));
    }
    for (const std::vector<uint8_t> &packet : packets) {
        HostScan scan{.stream = StreamReader(packet).read_scans(packet),
                      .plan = {},
                      .tables = {},
                      .data = {},
                      .blocks = {},
                      .steps = {},
                      .restarts = {}};
        const char *refused = plan_scan(scan.stream, scan.stream.scans[0], false, scan.plan);
        EXPECT(!refused, "%s", refused);
        scan.tables = make_tables(scan.plan.tables);
        if (!scans.empty() && scan.plan.period != scans[0].plan.period) continue;  // a launch has one
        take_coded_data(scan.plan.data, scan.data);
        walk(scan);
        scans.push_back(std::move(scan));
    }
    return scans;
}

// ---- What kernels read and write

std::vector<uint32_t> words_of(const HostScan &scan) {
    std::vector<uint32_t> words(scan.bits() / 32 + 8);
    for (uint32_t i = 0; i < words.size(); i++) words[i] = scan.peek(32 * i);
    return words;
}
std::vector<uint16_t> runs_of(const ScanTables &tables) {
    std::vector<uint16_t> runs(size_t{kRunTables} * kRuns, 0xA5A5);
    for (uint32_t run = 0; run < runs.size(); run++) {
        const uint32_t first = tables.run_first[run / kRuns], then = tables.run_then[run / kRuns];
        if (first == kNoTable) continue;
        runs[run] =
            run_of(&tables.table[first], then == kNoTable ? nullptr : &tables.table[then], run % kRuns).packed();
    }
    return runs;
}

// A scan in the device's memory, as far as its coded data.
struct DeviceScan {
    DeviceScan(const std::shared_ptr<Device> &device, const HostScan &scan, bool unstuffed)
        : words(device, unstuffed ? words_of(scan) : std::vector<uint32_t>(scan.plan.data.size() / 4 + 8, 0xA5A5A5A5)),
          restarts(device, unstuffed ? scan.restarts : std::vector<uint32_t>(scan.restarts.size(), ~0u)),
          tables(device, std::vector<ScanTables>{scan.tables}),
          runs(device, runs_of(scan.tables)),
          state(device, std::vector<ScanState>{ScanState{.bytes = unstuffed ? scan.bits() / 8 : ~0u}}),
          coded(scan.plan.coded) {
        coded.words = words.data(), coded.restarts = restarts.data(), coded.tables = tables.data();
        coded.runs = runs.data(), coded.state = state.data();
    }
    Guarded<uint32_t> words, restarts;
    Guarded<ScanTables> tables;
    Guarded<uint16_t> runs;
    Guarded<ScanState> state;
    CodedScan coded;
};

// Launches a kernel for some scans. of(i): its parameters for scan i.
template <class Params, class Of>
void launch(const std::shared_ptr<Device> &device, size_t scans, uint32_t columns, int threads, const Of &of) {
    const Stream stream(device);
    Params params{};
    for (size_t i = 0; i < scans; i++) params.picture[i] = of(i);
    device->synchronize(Device::Stream{});
    device->launch(stream, {columns, static_cast<unsigned>(scans)}, static_cast<unsigned>(threads), params);
    device->synchronize(stream);
}
template <class Of>
uint32_t most(const std::vector<HostScan> &scans, const Of &of) {
    uint32_t columns = 0;
    for (const HostScan &scan : scans) columns = std::max<uint32_t>(columns, of(scan));
    return columns;
}

// Calls body(scans, what) for scans of all kinds.
template <class Body>
void for_some_scans(int seed, const std::shared_ptr<Device> &device, const Body &body) {
    const bool large = benched_on_gpu(device);
    Random random(static_cast<uint64_t>(seed) + 40);
    std::vector<std::vector<uint8_t>> packets;
    for (int round = 0; round < (large ? 1 : 25); round++) {
        const std::vector<HostScan> scans = make_scans(random, packets, large);
        body(scans, format_string("round %d, %dx%d, %zu blocks", round, scans[0].stream.width, scans[0].stream.height,
                                  scans[0].blocks.size()));
    }
}

START_TEST(unstuff) {
    const auto device = open_test_device(_i);
    for_some_scans(_i, device, [&](const std::vector<HostScan> &scans, const std::string &what) {
        std::vector<std::unique_ptr<DeviceScan>> to;
        std::vector<Guarded<uint8_t>> data;
        std::vector<Guarded<ScanTables>> uploaded;
        std::vector<Guarded<ScanState>> next;
        std::vector<Guarded<uint64_t>> look_back;
        for (const HostScan &scan : scans) {
            to.push_back(std::make_unique<DeviceScan>(device, scan, false));
            std::vector<uint8_t> bytes(scan.plan.data.begin(), scan.plan.data.end());
            bytes.resize((bytes.size() + 15) / 16 * 16, 0xFF);
            data.emplace_back(device, bytes);
            uploaded.emplace_back(device, std::vector<ScanTables>{scan.tables});
            next.emplace_back(device, 1);
            look_back.emplace_back(device, std::vector<uint64_t>(2 * size_t{scan.plan.unstuff_tiles}));
        }
        launch<UnstuffParams>(
            device, scans.size(),
            std::max(kRunBlocks, most(scans, [](const HostScan &scan) { return scan.plan.unstuff_tiles; })),
            kUnstuffThreads, [&](size_t i) -> UnstuffPicture {
                const ScanPlan &plan = scans[i].plan;
                return {.data = data[i].data(),
                        .bytes = static_cast<uint32_t>(plan.data.size()),
                        .out = reinterpret_cast<uint8_t *>(to[i]->words.data()),
                        .restarts = to[i]->restarts.data(),
                        .intervals = plan.coded.intervals,
                        .state = to[i]->state.data(),
                        .next_state = next[i].data(),
                        .kept_words = look_back[i].data(),
                        .restart_words = look_back[i].data() + plan.unstuff_tiles,
                        .tiles = plan.unstuff_tiles,
                        .serial = 7,
                        .uploaded = uploaded[i].data(),
                        .tables = to[i]->tables.data(),
                        .runs = to[i]->runs.data()};
            });
        for (size_t i = 0; i < scans.size(); i++) {
            const HostScan &scan = scans[i];
            const ScanState state = to[i]->state.read("state")[0];
            EXPECT(state.bytes == scan.bits() / 8 && !state.damaged && state.excess == ~0u, "%s: %u bytes, not %u",
                   what.c_str(), state.bytes, scan.bits() / 8);
            const std::vector<uint32_t> words = to[i]->words.read("words");
            for (uint32_t at = 0; at < state.bytes; at++)
                EXPECT((words[at / 4] >> (24 - 8 * (at % 4)) & 0xFF) == scan.data.bytes[at], "%s: byte %u",
                       what.c_str(), at);
            EXPECT(to[i]->restarts.read("restarts") == scan.restarts, "%s: restarts", what.c_str());
            EXPECT(to[i]->runs.read("runs") == runs_of(scan.tables), "%s: runs", what.c_str());
            EXPECT(next[i].read("next state")[0].bytes == ~0u, "%s: the next state is not as new", what.c_str());
        }
    });
}
END_TEST

// ---- Where subsequences begin

struct HostStarts {
    std::vector<BlockStart> starts;  // [subsequences] of tiles with data
    std::vector<BlockCount> before;  // the same
    std::vector<BlockCount> counts, counts_before;
};
BlockCount join(const BlockCount &a, const BlockCount &b) {
    return b.restarted ? b : BlockCount{.restarted = a.restarted, .value = {a.value[0] + b.value[0]}};
}
HostStarts starts_of(const HostScan &scan) {
    HostStarts host;
    size_t next = 0;
    BlockCount of_tile{}, of_all{};
    for (uint32_t s = 0; s < scan.tiles() * kTileSubsequences; s++) {
        if (s % kTileSubsequences == 0) host.counts_before.push_back(of_all), of_tile = {};
        host.before.push_back(of_tile);
        host.starts.push_back(next < scan.steps.size() ? scan.steps[next].at : BlockStart{scan.bits(), 0});
        for (; next < scan.steps.size() && scan.subsequence_of(scan.steps[next]) == s; next++) {
            of_tile.value[0] += scan.steps[next].block >= 0;
            if (scan.steps[next].ends_interval) of_tile = {.restarted = 1, .value = {}};
        }
        if ((s + 1) % kTileSubsequences == 0) host.counts.push_back(of_tile), of_all = join(of_all, of_tile);
    }
    return host;
}

START_TEST(synchronise) {
    const auto device = open_test_device(_i);
    for_some_scans(_i, device, [&](const std::vector<HostScan> &scans, const std::string &what) {
        struct Memory {
            Memory(const std::shared_ptr<Device> &device, const HostScan &scan)
                : scan(device, scan, true),
                  candidates(device, size_t{scan.subsequences()} * (scan.plan.period + 1)),
                  starts(device, scan.subsequences()),
                  before(device, scan.subsequences()),
                  counts(device, scan.plan.tiles),
                  counts_before(device, scan.plan.tiles),
                  ends(device, std::vector<uint64_t>((kCorrections + 1) * size_t{scan.plan.tiles})) {
                this->scan.coded.mcu_blocks = scan.plan.period;
            }
            DeviceScan scan;
            Guarded<Candidate> candidates;
            Guarded<BlockStart> starts;
            Guarded<BlockCount> before, counts, counts_before;
            Guarded<uint64_t> ends;
        };
        std::vector<std::unique_ptr<Memory>> memory;
        for (const HostScan &scan : scans) memory.push_back(std::make_unique<Memory>(device, scan));
        const uint32_t tiles = most(scans, [](const HostScan &scan) { return scan.plan.tiles; });
        launch<SpeculateParams>(device, scans.size(), tiles * (kTileSubsequences / 32),
                                static_cast<int>(32 * scans[0].plan.period), [&](size_t i) -> SpeculatePicture {
                                    return {.scan = memory[i]->scan.coded,
                                            .subsequences = scans[i].subsequences(),
                                            .candidates = memory[i]->candidates.data()};
                                });
        launch<ChainParams>(device, scans.size(), tiles, kTileSubsequences, [&](size_t i) -> ChainPicture {
            const Memory &m = *memory[i];
            return {.scan = m.scan.coded,
                    .subsequences = scans[i].subsequences(),
                    .rows = scans[i].plan.period + 1,
                    .candidates = m.candidates.data(),
                    .starts = m.starts.data(),
                    .ends = m.ends.data(),
                    .tiles = scans[i].plan.tiles,
                    .serial = 9,
                    .before = m.before.data(),
                    .counts = m.counts.data(),
                    .counts_before = m.counts_before.data()};
        });
        for (size_t i = 0; i < scans.size(); i++) {
            const HostStarts host = starts_of(scans[i]);
            if (memory[i]->scan.state.read("state")[0].damaged) continue;  // no correction was enough: the host decodes
            const auto starts = memory[i]->starts.read("starts");
            const auto before = memory[i]->before.read("before");
            memory[i]->candidates.read("candidates");
            for (size_t s = 0; s < host.starts.size(); s++) {
                EXPECT(starts[s].bit == host.starts[s].bit && starts[s].phase == host.starts[s].phase,
                       "%s: subsequence %zu begins at bit %u, block %u, not %u, %u", what.c_str(), s, starts[s].bit,
                       starts[s].phase, host.starts[s].bit, host.starts[s].phase);
                EXPECT(before[s].restarted == host.before[s].restarted && before[s].value[0] == host.before[s].value[0],
                       "%s: %u blocks before subsequence %zu, not %u", what.c_str(), before[s].value[0], s,
                       host.before[s].value[0]);
            }
            const auto counts_before = memory[i]->counts_before.read("counts before");
            for (size_t t = 0; t < host.counts_before.size(); t++)
                EXPECT(counts_before[t].value[0] == host.counts_before[t].value[0], "%s: blocks before tile %zu",
                       what.c_str(), t);
        }
    });
}
END_TEST

// ---- Levels

START_TEST(decode) {
    const auto device = open_test_device(_i);
    for_some_scans(_i, device, [&](const std::vector<HostScan> &scans, const std::string &what) {
        struct Memory {
            Memory(const std::shared_ptr<Device> &device, const HostScan &scan, const HostStarts &host)
                : scan(device, scan, true),
                  starts(device, host.starts),
                  before(device, host.before),
                  tiles_before(device, host.counts_before),
                  levels(device, size_t{scan.subsequences()} * list_levels(scan.plan.coded.subsequence_bits)),
                  blocks(device, scan.blocks.size()),
                  differences_before(device, scan.subsequences()),
                  differences(device, scan.plan.tiles),
                  all_before(device, scan.plan.tiles),
                  result(device, 1) {}
            DeviceScan scan;
            Guarded<BlockStart> starts;
            Guarded<BlockCount> before, tiles_before;
            Guarded<uint32_t> levels;
            Guarded<BlockLevels> blocks;
            Guarded<DcDifferences> differences_before, differences, all_before;
            Guarded<ScanState> result;
        };
        std::vector<std::unique_ptr<Memory>> memory;
        for (const HostScan &scan : scans) memory.push_back(std::make_unique<Memory>(device, scan, starts_of(scan)));
        launch<DecodeParams>(device, scans.size(), most(scans, [](const HostScan &scan) { return scan.plan.tiles; }),
                             kTileSubsequences, [&](size_t i) -> DecodePicture {
                                 const Memory &m = *memory[i];
                                 return {.scan = m.scan.coded,
                                         .starts = m.starts.data(),
                                         .before = m.before.data(),
                                         .tiles_before = m.tiles_before.data(),
                                         .levels = m.levels.data(),
                                         .blocks = m.blocks.data(),
                                         .differences_before = m.differences_before.data(),
                                         .differences = m.differences.data(),
                                         .all_before = m.all_before.data(),
                                         .result = m.result.data()};
                             });
        for (size_t i = 0; i < scans.size(); i++) {
            const HostScan &scan = scans[i];
            const ScanState state = memory[i]->result.read("result")[0];
            EXPECT(state.blocks == scan.blocks.size() && !state.damaged && !state.extra, "%s: %u blocks", what.c_str(),
                   state.blocks);
            const auto levels = memory[i]->levels.read("levels");
            const auto blocks = memory[i]->blocks.read("blocks");
            const auto before = memory[i]->differences_before.read("differences before");
            const auto tiles_before = memory[i]->all_before.read("all before");
            for (size_t b = 0; b < blocks.size(); b++) {
                const HostBlock &host = scan.blocks[b];
                const BlockLevels &block = blocks[b];
                EXPECT(block.count == host.levels.size(), "%s: block %zu has %d levels, not %zu", what.c_str(), b,
                       block.count, host.levels.size());
                const auto listed = [&](uint32_t k) {
                    return levels[listed_at(scan.plan.coded.subsequence_bits, block.subsequence, block.first + k)];
                };
                int32_t dc = level_of(listed(0));
                if (!block.restarted) {
                    const DcDifferences &tile = tiles_before[block.subsequence / kTileSubsequences];
                    dc += static_cast<int32_t>(before[block.subsequence].value[host.component]);
                    dc += before[block.subsequence].restarted ? 0 : static_cast<int32_t>(tile.value[host.component]);
                }
                EXPECT(dc == host.dc, "%s: block %zu has DC %d, not %d", what.c_str(), b, dc, host.dc);
                for (uint32_t k = 1; k < block.count; k++)
                    EXPECT(
                        listed_place(listed(k)) == host.levels[k].place && level_of(listed(k)) == host.levels[k].value,
                        "%s: block %zu, level %u", what.c_str(), b, k);
            }
        }
    });
}
END_TEST

// ---- Samples

// The samples of a component, by the host.
std::vector<uint8_t> samples_of(const std::vector<int16_t> &levels, const uint16_t (&divisors)[kBlockSamples],
                                int columns, int rows, int lowres, int width, int height) {
    const int size = 8 >> lowres, stride = columns * size;
    std::vector<uint8_t> all(static_cast<size_t>(stride * rows * size)), samples;
    const std::vector<uint8_t> last(static_cast<size_t>(columns), 63);
    for (int row = 0; row < rows; row++)
        idct_blocks(&levels[static_cast<size_t>(row * columns) * kBlockSamples], last.data(), columns, divisors, lowres,
                    {.samples = &all[static_cast<size_t>(row * size * stride)],
                     .stride = stride,
                     .width = stride,
                     .height = size});
    for (int y = 0; y < height; y++)
        samples.insert(samples.end(), &all[static_cast<size_t>(y * stride)],
                       &all[static_cast<size_t>(y * stride)] + width);
    return samples;
}

START_TEST(reconstruct) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 60);
    for_some_scans(_i, device, [&](const std::vector<HostScan> &scans, const std::string &what) {
        const int lowres = random.between(0, 3);
        struct Memory {
            std::unique_ptr<DeviceScan> scan;
            std::unique_ptr<Guarded<uint32_t>> levels;
            std::unique_ptr<Guarded<BlockLevels>> blocks;
            std::unique_ptr<Guarded<DcDifferences>> before, tiles_before;
            std::vector<std::unique_ptr<Guarded<uint8_t>>> planes;
            ReconstructPicture picture;
        };
        std::vector<Memory> memory(scans.size());
        for (size_t i = 0; i < scans.size(); i++) {
            const HostScan &scan = scans[i];
            const ScanLayout &layout = scan.plan.layout;
            const uint32_t bits = scan.plan.coded.subsequence_bits;
            // What comes before is at random; the listed DC levels make up for it.
            std::vector<DcDifferences> before(scan.subsequences()), tiles_before(scan.plan.tiles);
            for (auto *sums : {&before, &tiles_before})
                for (DcDifferences &sum : *sums) {
                    sum.restarted = random.below(2);
                    for (uint32_t &value : sum.value) value = random.word() % 4096;
                }
            std::vector<uint32_t> levels(size_t{scan.subsequences()} * list_levels(bits)), counts(scan.subsequences());
            std::vector<BlockLevels> blocks;
            for (const WalkStep &step : scan.steps) {
                if (step.block < 0) continue;
                const HostBlock &host = scan.blocks[static_cast<size_t>(step.block)];
                const uint32_t s = scan.subsequence_of(step);
                const bool restarted = random.one_in(4);
                blocks.push_back({.subsequence = s,
                                  .first = static_cast<uint16_t>(counts[s]),
                                  .count = static_cast<uint8_t>(host.levels.size()),
                                  .restarted = restarted});
                uint32_t dc = static_cast<uint32_t>(host.dc);
                if (!restarted) dc -= before[s].value[host.component];
                if (!restarted && !before[s].restarted) dc -= tiles_before[s / kTileSubsequences].value[host.component];
                for (const Level &level : host.levels)
                    levels[listed_at(bits, s, counts[s]++)] =
                        listed_level(level.place, level.place ? level.value : static_cast<int32_t>(dc));
            }
            Memory &m = memory[i];
            m.scan = std::make_unique<DeviceScan>(device, scan, true);
            ScanState state{.bytes = scan.bits() / 8, .blocks = scan.plan.coded.blocks};
            device->upload(nullptr, m.scan->state.data(), &state, sizeof state);
            device->synchronize(Device::Stream{});
            m.levels = std::make_unique<Guarded<uint32_t>>(device, levels);
            m.blocks = std::make_unique<Guarded<BlockLevels>>(device, blocks);
            m.before = std::make_unique<Guarded<DcDifferences>>(device, before);
            m.tiles_before = std::make_unique<Guarded<DcDifferences>>(device, tiles_before);
            m.picture = {.scan = m.scan->coded,
                         .levels = m.levels->data(),
                         .blocks = m.blocks->data(),
                         .differences_before = m.before->data(),
                         .tiles_before = m.tiles_before->data(),
                         .grid = layout.grid,
                         .by_mcu_blocks = Divider(layout.mcu_blocks),
                         .component_blocks = {},
                         .first_block = {},
                         .planes = {},
                         .lowres = lowres};
            uint32_t first = 0;
            for (int c = 0; c < layout.count; c++) {
                const StreamComponent &component = scan.stream.components[static_cast<size_t>(layout.component[c])];
                const int width = reduced_size(component.width, lowres),
                          height = reduced_size(component.height, lowres), stride = width + random.between(0, 5);
                m.planes.push_back(
                    std::make_unique<Guarded<uint8_t>>(device, static_cast<size_t>(stride * (height - 1) + width)));
                m.picture.component_blocks[c] = layout.blocks[c];
                m.picture.first_block[c] = first;
                first += static_cast<uint32_t>(layout.blocks[c].h * layout.blocks[c].v);
                m.picture.planes[c] = {
                    .samples = m.planes.back()->data(), .stride = stride, .width = width, .height = height};
            }
        }
        launch<ReconstructParams>(
            device, scans.size(),
            most(scans, [](const HostScan &scan) { return blocks_for(scan.blocks.size(), kReconstructThreads); }),
            kReconstructThreads, [&](size_t i) { return memory[i].picture; });
        for (size_t i = 0; i < scans.size(); i++) {
            const HostScan &scan = scans[i];
            const ScanLayout &layout = scan.plan.layout;
            for (int c = 0; c < layout.count; c++) {
                const BlockGrid &grid = layout.blocks[c];
                const StreamComponent &component = scan.stream.components[static_cast<size_t>(layout.component[c])];
                const int columns = layout.grid.mcus_x * grid.h, rows = layout.grid.mcus_y * grid.v;
                std::vector<int16_t> levels(static_cast<size_t>(columns * rows) * kBlockSamples);
                for (size_t b = 0; b < scan.blocks.size(); b++) {
                    if (scan.blocks[b].component != static_cast<uint32_t>(c)) continue;
                    const auto in_mcu = static_cast<uint32_t>(b % scan.plan.coded.mcu_blocks);
                    const BlockPlace place =
                        block_of_mcu(layout.grid, grid, static_cast<int32_t>(b / scan.plan.coded.mcu_blocks),
                                     static_cast<int>(in_mcu - memory[i].picture.first_block[c]));
                    int16_t *to = &levels[static_cast<size_t>(place.y * columns + place.x) * kBlockSamples];
                    for (const Level &level : scan.blocks[b].levels)
                        to[kZigzag[level.place]] = static_cast<int16_t>(level.place ? level.value : scan.blocks[b].dc);
                }
                const OutputPlane &plane = memory[i].picture.planes[c];
                const std::vector<uint8_t> expected =
                    samples_of(levels, component.divisors, columns, rows, lowres, plane.width, plane.height);
                const std::vector<uint8_t> samples = memory[i].planes[static_cast<size_t>(c)]->read("samples");
                for (int y = 0; y < plane.height; y++)
                    for (int x = 0; x < plane.width; x++)
                        EXPECT(samples[static_cast<size_t>(y * plane.stride + x)] ==
                                   expected[static_cast<size_t>(y * plane.width + x)],
                               "%s: lowres %d, component %d, column %d, row %d", what.c_str(), lowres, c, x, y);
            }
        }
    });
}
END_TEST

START_TEST(transform_levels) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 80);
    const bool large = benched_on_gpu(device);
    for (int round = 0; round < (large ? 1 : 40); round++) {
        const int columns = large ? 480 : random.between(1, 40), rows = large ? 270 : random.between(1, 20);
        const int lowres = round % 4, size = 8 >> lowres;
        const int width = columns * size - random.between(0, size - 1),
                  height = rows * size - random.between(0, size - 1), stride = width + random.between(0, 5);
        std::vector<int16_t> levels(static_cast<size_t>(columns * rows) * kBlockSamples);
        for (int16_t &level : levels)
            if (random.one_in(4)) level = static_cast<int16_t>(random.between(-1023, 1023) / random.between(1, 200));
        TransformLevelsParams params{.levels = nullptr,
                                     .divisors = {},
                                     .blocks = static_cast<uint32_t>(columns * rows),
                                     .columns = columns,
                                     .by_columns = Divider(columns),
                                     .plane = {.samples = nullptr, .stride = stride, .width = width, .height = height},
                                     .lowres = lowres};
        for (uint16_t &divisor : params.divisors) divisor = static_cast<uint16_t>(random.between(1, 255));
        const Guarded<int16_t> from(device, levels);
        const Guarded<uint8_t> to(device, static_cast<size_t>(stride * (height - 1) + width));
        params.levels = from.data(), params.plane.samples = to.data();
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        bench("levels to samples", device, 64.0 * columns * rows, "samples", [&] {
            device->launch(stream, {blocks_for(params.blocks, kTransformThreads)}, kTransformThreads, params);
            device->synchronize(stream);
        });
        const std::vector<uint8_t> expected = samples_of(levels, params.divisors, columns, rows, lowres, width, height),
                                   samples = to.read("samples");
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                EXPECT(samples[static_cast<size_t>(y * stride + x)] == expected[static_cast<size_t>(y * width + x)],
                       "round %d: column %d, row %d of %dx%d", round, x, y, width, height);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("mjpeg_decode");
    TCase *c = add_case(suite, "kernels");
    tcase_add_loop_test(c, unstuff, 0, devices);
    tcase_add_loop_test(c, synchronise, 0, devices);
    tcase_add_loop_test(c, decode, 0, devices);
    tcase_add_loop_test(c, reconstruct, 0, devices);
    tcase_add_loop_test(c, transform_levels, 0, devices);
    return run_suite(suite);
}
