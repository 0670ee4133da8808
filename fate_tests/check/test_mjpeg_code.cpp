// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of the JPEG encoder, each alone: the host makes what a kernel reads, and what it has to write.
#include <algorithm>
#include <string>
#include <vector>

#include "../../common/mjpeg/block_cpu.h"
#include "../../common/mjpeg/color.h"
#include "../../common/mjpeg/headers.h"
#include "../../common/mjpeg/markers.h"
#include "../../common/planes.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/mjpeg/scan_pieces.h"
#include "../../cuda_kernels/mjpeg/tables_params.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

// ---- The host's blocks

struct HostBlock {
    bool sampled;
    int16_t coefficients[kBlockSamples], levels[kBlockSamples];  // by index; the levels also without samples: 0
    uint64_t nonzero;
    int32_t dc_difference;
};
struct HostPicture {
    Picture picture;
    Params params;
    Divisors divisors;
    std::vector<ScanPieces> scans;
    std::vector<std::vector<HostBlock>> blocks;  // of each scan, as they are coded
    std::string what;

    const ScanComponent &component_of(size_t scan, size_t block) const {
        const ScanPieces &s = scans[scan];
        const int in_mcu = static_cast<int>(block % static_cast<size_t>(s.mcu_blocks));
        int c = 0;
        while (c + 1 < s.components && in_mcu >= s.component[c + 1].first_block) c++;
        return s.component[c];
    }
    size_t pieces() const { return scans.back().first_piece + scans.back().pieces; }
};

// The level-shifted samples of a block; the component's last column and row repeat.
void load_block(const HostPicture &host, const ScanPieces &scan, const ScanComponent &component,
                const BlockPlace &place, int8_t (&samples)[kBlockSamples]) {
    for (int i = 0; i < kBlockSamples; i++) {
        const int x = std::min(8 * place.x + i % 8, component.width - 1),
                  y = std::min(8 * place.y + i / 8, component.height - 1);
        int32_t values[3];
        for (int c = 0; c < 3; c++)
            if (scan.rgb_to_ycbcr || c == component.layout)
                values[c] = static_cast<int32_t>(host.picture.get(c, x, y)) - 128;
        if (scan.rgb_to_ycbcr) rgb_to_ycbcr(values[0], values[1], values[2]);
        samples[i] = static_cast<int8_t>(values[component.layout]);
    }
}

void make_blocks(HostPicture &host, size_t number) {
    const ScanPieces &scan = host.scans[number];
    Quantiser quantisers[kTables];
    for (int table = 0; table < kTables; table++) quantisers[table] = make_quantiser(host.divisors.of[table]);
    std::vector<HostBlock> &blocks = host.blocks.emplace_back(static_cast<size_t>(scan.grid.mcus() * scan.mcu_blocks));
    int32_t dc[kMaxComponents] = {};
    for (size_t b = 0; b < blocks.size(); b++) {
        HostBlock &block = blocks[b] = {};
        const ScanComponent &component = host.component_of(number, b);
        const auto mcu = static_cast<int32_t>(b / static_cast<size_t>(scan.mcu_blocks));
        const int i = static_cast<int>(b % static_cast<size_t>(scan.mcu_blocks)) - component.first_block;
        if (i == 0 && scan.grid.begins_interval(mcu)) dc[component.layout] = 0;
        const BlockPlace place = block_of_mcu(scan.grid, component.grid, mcu, i);
        block.sampled = has_samples(component.grid, place);
        if (!block.sampled) continue;
        int8_t samples[kBlockSamples];
        load_block(host, scan, component, place, samples);
        fdct_blocks(samples, 8, 1, block.coefficients);
        quantise_blocks(block.coefficients, 1, quantisers[component.table], block.levels, &block.nonzero);
        block.dc_difference = block.levels[0] - dc[component.layout];
        dc[component.layout] = block.levels[0];
    }
}

HostPicture make_host_picture(Random &random, bool large) {
    const CudaencFormat format =
        large ? make_jpeg_format(jpeg_formats[3], 3840, 2160) : random_jpeg_format(random, random.one_in(3) ? 200 : 60);
    JpegTexts texts;
    CudaencMjpegOptions options;
    cudaenc_mjpeg_defaults(&options);
    if (!large) options = random_jpeg_options(random, format, texts);
    options.frame_bytes = options.trellis = 0;
    HostPicture host{
        .picture = make_picture(random, format),
        .params = make_params(format, options),
        .divisors = {},
        .scans = {},
        .blocks = {},
        .what = format_string("%dx%d, %d components, quality %d, restart_interval %d", format.width, format.height,
                              format.components, options.quality, options.restart_interval)};
    fill(random, host.picture, large ? Content::smooth : static_cast<Content>(random.between(0, 8)));
    host.divisors = make_divisors(host.params, host.params.scale);
    host.scans = cut_scans(host.params);
    for (size_t scan = 0; scan < host.scans.size(); scan++) make_blocks(host, scan);
    return host;
}

template <class Sink>
void code(const HostBlock &block, Sink &sink) {
    code_block(
        block.dc_difference, ZeroRuns(block.nonzero),
        [&, at = 0](int steps) mutable { return block.levels[kZigzag[at += steps]]; }, sink);
}

SymbolCounts count_symbols(const HostPicture &host) {
    SymbolCounts counts{};
    for (size_t scan = 0; scan < host.scans.size(); scan++)
        for (size_t b = 0; b < host.blocks[scan].size(); b++) {
            const int table = host.component_of(scan, b).table;
            SymbolCounter counter{counts.dc[table], counts.ac[table]};
            code(host.blocks[scan][b], counter);
        }
    return counts;
}

// ---- The host's bytes

struct BitBytes {
    std::vector<uint8_t> bytes;
    uint32_t held = 0, byte = 0;  // bits of the byte
    void put_bit(uint32_t bit) {
        byte = byte << 1 | bit;
        if (++held < 8) return;
        bytes.push_back(static_cast<uint8_t>(byte));
        if (byte == 0xFF) bytes.push_back(0);
        held = byte = 0;
    }
    void put(uint32_t bits, uint32_t count) {
        while (count--) put_bit(bits >> count & 1);
    }
    void pad() {
        while (held) put_bit(1);
    }
};
std::vector<uint8_t> bytes_of(const HostPicture &host, size_t scan, const CodeTables &codes) {
    BitBytes out;
    const ScanPieces &s = host.scans[scan];
    for (size_t b = 0; b < host.blocks[scan].size(); b++) {
        const auto mcu = static_cast<int32_t>(b / static_cast<size_t>(s.mcu_blocks));
        if (b % static_cast<size_t>(s.mcu_blocks) == 0 && mcu && s.grid.begins_interval(mcu)) {
            out.pad();
            const uint32_t marker = kRst0 + static_cast<uint32_t>(mcu / s.grid.restart_interval - 1) % 8;
            out.bytes.push_back(static_cast<uint8_t>(marker >> 8)), out.bytes.push_back(static_cast<uint8_t>(marker));
        }
        const int table = host.component_of(scan, b).table;
        CodeWriter<BitBytes> writer{codes.dc[table], codes.ac[table], out};
        code(host.blocks[scan][b], writer);
    }
    out.pad();
    return out.bytes;
}

// ---- What kernels read and write

// The place of a block among those that its piece's threads have, and the piece.
struct ThreadBlock {
    size_t piece;  // of all scans
    int thread;
};
ThreadBlock thread_of(const HostPicture &host, size_t scan, size_t block) {
    const ScanPieces &s = host.scans[scan];
    const auto mcu = static_cast<int32_t>(block / static_cast<size_t>(s.mcu_blocks));
    const int32_t interval_mcus = s.grid.restart_interval ? s.grid.restart_interval : s.grid.mcus();
    const int32_t interval = mcu / interval_mcus, within = mcu % interval_mcus;
    const ScanComponent &component = host.component_of(scan, block);
    const int i = static_cast<int>(block % static_cast<size_t>(s.mcu_blocks)) - component.first_block;
    return {s.first_piece + static_cast<size_t>(interval * s.interval_pieces + within / s.mcus),
            component.first_thread + within % s.mcus * component.grid.h * component.grid.v + i};
}

// The picture's planes in the device's memory.
struct DevicePixels {
    DevicePixels(const std::shared_ptr<Device> &device, const HostPicture &host) {
        const CudaencFrame frame = host.picture.frame();
        for (int plane = 0; plane < host.picture.format.planes; plane++)
            planes.push_back(std::make_unique<Guarded<uint8_t>>(device, host.picture.memory[plane]));
        for (int c = 0; c < host.picture.format.components; c++) {
            const CudaencComponent &k = host.picture.format.component[c];
            layouts[c] = layout_of(k, planes[static_cast<size_t>(k.plane)]->data(), frame.stride[k.plane]);
        }
    }
    std::vector<std::unique_ptr<Guarded<uint8_t>>> planes;
    SampleLayout layouts[kMaxComponents]{};
};

// Launches a kernel for each scan.
template <class P>
void launch_scans(const std::shared_ptr<Device> &device, Device::Stream stream, const HostPicture &host, P params) {
    for (const ScanPieces &scan : host.scans) {
        params.scan = scan;
        device->launch(stream, {scan.pieces}, kPieceBlocks, params);
    }
}

// Calls body(picture) for pictures of all kinds.
template <class Body>
void for_some_pictures(int seed, const std::shared_ptr<Device> &device, const Body &body) {
    const bool large = benched_on_gpu(device);
    Random random(static_cast<uint64_t>(seed) + 20);
    for (int round = 0; round < (large ? 1 : 25); round++) body(make_host_picture(random, large));
}

template <class P>
void set_quantisers(const HostPicture &host, P &params) {
    for (int table = 0; table < kTables; table++)
        for (int i = 0; i < kBlockSamples; i++)
            params.quantiser[table].multiplier[i] = wide_reciprocal_of(host.divisors.of[table][i]);
}

void expect_levels(const HostPicture &host, const std::vector<uint32_t> &words,
                   const std::vector<NonzeroPlaces> &nonzero) {
    for (size_t scan = 0; scan < host.scans.size(); scan++)
        for (size_t b = 0; b < host.blocks[scan].size(); b++) {
            const HostBlock &block = host.blocks[scan][b];
            if (!block.sampled) continue;
            const auto [piece, thread] = thread_of(host, scan, b);
            const NonzeroPlaces &places = nonzero[piece * kPieceBlocks + static_cast<size_t>(thread)];
            for (int place = 0; place < kBlockSamples; place++) {
                const uint32_t word =
                    words[piece * kPieceLevelWords + static_cast<size_t>(place / 2 * kPieceBlocks + thread)];
                const auto level = static_cast<int16_t>(word >> 16 * (place % 2));
                const int16_t expected =
                    place ? block.levels[kZigzag[place]] : static_cast<int16_t>(block.dc_difference);
                EXPECT(level == expected, "%s: scan %zu, block %zu has %d at place %d, not %d", host.what.c_str(), scan,
                       b, level, place, expected);
                if (!place) continue;
                const bool is = (place < 32 ? places.low >> (31 - place) : places.high >> (63 - place)) & 1;
                EXPECT(is == (expected != 0), "%s: scan %zu, block %zu, place %d", host.what.c_str(), scan, b, place);
            }
        }
}

START_TEST(transform) {
    const auto device = open_test_device(_i);
    for_some_pictures(_i, device, [&](const HostPicture &host) {
        const DevicePixels pixels(device, host);
        const Guarded<uint32_t> words(device, host.pieces() * kPieceLevelWords);
        const Guarded<NonzeroPlaces> nonzero(device, host.pieces() * kPieceBlocks);
        const Guarded<FrameSums> sums(device, std::vector<FrameSums>(1));
        TransformParams params{.levels = {.words = words.data(), .nonzero = nonzero.data()},
                               .sums = sums.data(),
                               .scan = {},
                               .layouts = {},
                               .quantiser = {}};
        std::copy_n(pixels.layouts, kMaxComponents, params.layouts);
        set_quantisers(host, params);
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        bench("samples to levels", device, 1.5 * host.params.width * host.params.height, "samples", [&] {
            device->fill(stream, sums.data(), 0, sizeof(FrameSums));
            launch_scans(device, stream, host, params);
            device->synchronize(stream);
        });
        expect_levels(host, words.read("levels"), nonzero.read("nonzero"));
        const SymbolCounts counts = sums.read("sums")[0].symbols, expected = count_symbols(host);
        EXPECT(!std::memcmp(&counts, &expected, sizeof counts), "%s: counts of symbols", host.what.c_str());
    });
}
END_TEST

START_TEST(bins) {
    const auto device = open_test_device(_i);
    for_some_pictures(_i, device, [&](const HostPicture &host) {
        const DevicePixels pixels(device, host);
        const Guarded<FrameSums> sums(device, std::vector<FrameSums>(1));
        BinsParams params{.sums = sums.data(), .scan = {}, .layouts = {}, .threshold = {}};
        std::copy_n(pixels.layouts, kMaxComponents, params.layouts);
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++)
                params.threshold[table][i] = rate_threshold(host.params.matrix[table][i]);
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        bench("bins of coefficients", device, 1.5 * host.params.width * host.params.height, "samples", [&] {
            device->fill(stream, sums.data(), 0, sizeof(FrameSums));
            launch_scans(device, stream, host, params);
            device->synchronize(stream);
        });
        std::vector<uint32_t> expected(kRateBins);
        for (size_t scan = 0; scan < host.scans.size(); scan++)
            for (size_t b = 0; b < host.blocks[scan].size(); b++)
                for (int i = 1; i < kBlockSamples; i++)
                    if (const int32_t c = host.blocks[scan][b].coefficients[i])
                        expected[static_cast<size_t>(
                            rate_bin(c, params.threshold[host.component_of(scan, b).table][i]))]++;
        const FrameSums counted = sums.read("sums")[0];
        for (size_t bin = 0; bin < expected.size(); bin++)
            EXPECT(counted.bins[bin] == expected[bin], "%s: bin %zu has %u, not %u", host.what.c_str(), bin,
                   counted.bins[bin], expected[bin]);
    });
}
END_TEST

// ---- Tables

SymbolCounts random_counts(Random &random, int round) {
    SymbolCounts counts{};
    const auto count = [&](int symbol, int symbols) -> uint32_t {
        switch (round % 5) {
            case 0:  // all alike
                return 1;
            case 1:  // some, of all sizes
                return random.one_in(2) ? random.word() >> random.between(8, 31) : 0;
            case 2:  // one
                return symbol == round % symbols ? 9 : 0;
            case 3: {  // as deep a tree as there is
                uint32_t a = 1, b = 1;
                for (int i = 0; i < symbol; i++) b += a, a = b - a;
                return symbol < 40 ? a : 0;
            }
            default:  // a picture's
                return random.below(1u << (20 - 20 * symbol / symbols));
        }
    };
    for (int table = 0; table < kTables; table++) {
        for (int symbol = 0; symbol < 12; symbol++) counts.dc[table][symbol] = count(symbol, 12);
        for (int symbol = 0; symbol < 160; symbol++) counts.ac[table][symbol] = count(symbol, 160);
        counts.dc[table][1] += counts.dc[table][0] == 0, counts.ac[table][1] += counts.ac[table][0] == 0;
    }
    return counts;
}
START_TEST(tables) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < 40; round++) {
        const SymbolCounts host = random_counts(random, round);
        const int tables = random.between(1, kTables);
        const Guarded<SymbolCounts> counts(device, std::vector<SymbolCounts>{host});
        const Guarded<CodeTables> codes(device, 1);
        const PinnedArray<HuffmanSpecs> specs(device, 1);
        *specs.data() = {};
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        const TablesParams params{.counts = counts.data(), .specs = specs.data(), .codes = codes.data()};
        device->launch(stream, {2 * static_cast<unsigned>(tables)}, kTablesThreads, params);
        device->synchronize(stream);
        const HuffmanSpecs expected = optimal_huffman(host, tables);
        EXPECT(!std::memcmp(specs.data(), &expected, sizeof expected), "round %d: tables", round);
        const CodeTables words = make_codes(expected, tables), made = codes.read("codes")[0];
        const SymbolCounts left = counts.read("counts")[0];
        for (int table = 0; table < tables; table++)
            for (int symbol = 0; symbol < 256; symbol++) {
                EXPECT(made.ac[table][symbol] == words.ac[table][symbol] && left.ac[table][symbol] == 0,
                       "round %d: AC symbol %d of table %d", round, symbol, table);
                if (symbol < 16)
                    EXPECT(made.dc[table][symbol] == words.dc[table][symbol] && left.dc[table][symbol] == 0,
                           "round %d: DC symbol %d of table %d", round, symbol, table);
            }
    }
}
END_TEST

// ---- Bytes

// What pieces share while they are coded, and where their bytes go.
struct CodeMemory {
    CodeMemory(const std::shared_ptr<Device> &device, const HostPicture &host, const CodeTables &code_tables,
               uint64_t room, bool joined)
        : codes(device, std::vector<CodeTables>{code_tables}),
          bytes(device, room + kLineBytes),
          result(device, 1),
          links(device, std::vector<uint64_t>(3 * host.pieces())),
          counters(device, std::vector<uint32_t>(2 + host.scans.back().first_group + host.scans.back().groups())),
          bit_words(device, joined ? StoredBits::words_for(room, static_cast<uint32_t>(host.pieces())) : 0),
          pieces(device, joined ? host.pieces() : 0),
          out{.bytes = bytes.data(), .packet = nullptr, .capacity = room, .result = result.data()},
          between{.tickets = counters.data(),
                  .written = counters.data() + 2,
                  .bits = links.data(),
                  .tails = links.data() + host.pieces(),
                  .bytes = links.data() + 2 * host.pieces(),
                  .serial = 3},
          stored{.words = joined ? bit_words.data() : nullptr,
                 .capacity = bit_words.count(),
                 .used = counters.data() + 1,
                 .pieces = pieces.data()} {}
    Guarded<CodeTables> codes;
    Guarded<uint8_t> bytes;
    PinnedArray<FrameResult> result;
    Guarded<uint64_t> links;
    Guarded<uint32_t> counters, bit_words;
    Guarded<PieceBits> pieces;
    CodedBytes out;
    PieceLinks between;
    StoredBits stored;
};

// Each scan's bytes where the kernels say that they are, and EOI behind them.
void expect_bytes(const HostPicture &host, const CodeTables &codes, const CodeMemory &memory, const char *kernel) {
    const std::vector<uint8_t> bytes = memory.bytes.read("bytes");
    memory.bit_words.read("words");
    uint64_t at = 0;
    for (size_t scan = 0; scan < host.scans.size(); scan++) {
        const std::vector<uint8_t> expected = bytes_of(host, scan, codes);
        at += host.scans[scan].header_bytes;
        EXPECT(memory.result.data()->scan[scan] == at, "%s, %s: scan %zu begins at %llu, not %llu", host.what.c_str(),
               kernel, scan, static_cast<unsigned long long>(memory.result.data()->scan[scan]),
               static_cast<unsigned long long>(at));
        for (size_t i = 0; i < expected.size(); i++)
            EXPECT(bytes[at + i] == expected[i], "%s, %s: byte %zu of scan %zu is %02x, not %02x", host.what.c_str(),
                   kernel, i, scan, bytes[at + i], expected[i]);
        at += expected.size();
    }
    EXPECT(memory.result.data()->bytes == at, "%s, %s: %llu bytes", host.what.c_str(), kernel,
           static_cast<unsigned long long>(memory.result.data()->bytes));
    EXPECT(bytes[at] == 0xFF && bytes[at + 1] == 0xD9, "%s, %s: no EOI", host.what.c_str(), kernel);
}

// Launches a kernel that codes pieces, joined where they are coded or by a kernel of its own.
template <class P>
void code_pieces(const std::shared_ptr<Device> &device, const HostPicture &host, const CodeTables &codes, P params,
                 const char *kernel) {
    uint64_t room = 64;
    for (size_t scan = 0; scan < host.scans.size(); scan++)
        room += host.scans[scan].header_bytes + bytes_of(host, scan, codes).size();
    for (const bool joined : {false, true}) {
        const CodeMemory memory(device, host, codes, room, joined);
        const Stream stream(device);
        device->synchronize(Device::Stream{});
        params.codes = memory.codes.data(), params.out = memory.out, params.links = memory.between;
        params.stored = memory.stored;
        bench(kernel, device, static_cast<double>(room), "B", [&] {
            device->fill(stream, memory.links.data(), 0, memory.links.count() * sizeof(uint64_t));
            for (const ScanPieces &scan : host.scans) {
                params.scan = scan;
                device->launch(stream, {scan.pieces}, kPieceBlocks, params);
                if (joined)
                    device->launch(stream, {scan.groups()}, kJoinThreads,
                                   JoinParams{memory.out, memory.between, memory.stored, scan});
            }
            device->synchronize(stream);
        });
        expect_bytes(host, codes, memory, kernel);
    }
}

START_TEST(code_levels) {
    const auto device = open_test_device(_i);
    for_some_pictures(_i, device, [&](const HostPicture &host) {
        std::vector<uint32_t> words(host.pieces() * kPieceLevelWords, 0xA5A5A5A5);
        std::vector<NonzeroPlaces> nonzero(host.pieces() * kPieceBlocks);
        for (size_t scan = 0; scan < host.scans.size(); scan++)
            for (size_t b = 0; b < host.blocks[scan].size(); b++) {
                const HostBlock &block = host.blocks[scan][b];
                const auto [piece, thread] = thread_of(host, scan, b);
                NonzeroPlaces &places = nonzero[piece * kPieceBlocks + static_cast<size_t>(thread)];
                for (int place = 0; place < kBlockSamples; place++) {
                    const auto level =
                        static_cast<uint16_t>(place ? block.levels[kZigzag[place]] : block.dc_difference);
                    uint32_t &word =
                        words[piece * kPieceLevelWords + static_cast<size_t>(place / 2 * kPieceBlocks + thread)];
                    word = place % 2 ? (word & 0xFFFF) | uint32_t{level} << 16 : level;
                    if (place && level) places.add(place);
                }
            }
        const Guarded<uint32_t> stored_words(device, words);
        const Guarded<NonzeroPlaces> stored_nonzero(device, nonzero);
        const CodeTables codes =
            make_codes(optimal_huffman(count_symbols(host), host.params.tables), host.params.tables);
        code_pieces(device, host, codes,
                    CodeParams{.levels = {.words = stored_words.data(), .nonzero = stored_nonzero.data()},
                               .codes = nullptr,
                               .out = {},
                               .links = {},
                               .stored = {},
                               .scan = {}},
                    "levels to bytes");
    });
}
END_TEST

START_TEST(code_samples) {
    const auto device = open_test_device(_i);
    for_some_pictures(_i, device, [&](const HostPicture &host) {
        const DevicePixels pixels(device, host);
        EncodeParams params{
            .codes = nullptr, .out = {}, .links = {}, .stored = {}, .scan = {}, .layouts = {}, .quantiser = {}};
        std::copy_n(pixels.layouts, kMaxComponents, params.layouts);
        set_quantisers(host, params);
        code_pieces(device, host, make_codes(default_huffman(), host.params.tables), params, "samples to bytes");
    });
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("mjpeg_code");
    TCase *c = add_case(suite, "kernels");
    tcase_add_loop_test(c, transform, 0, devices);
    tcase_add_loop_test(c, bins, 0, devices);
    tcase_add_loop_test(c, tables, 0, devices);
    tcase_add_loop_test(c, code_levels, 0, devices);
    tcase_add_loop_test(c, code_samples, 0, devices);
    return run_suite(suite);
}
