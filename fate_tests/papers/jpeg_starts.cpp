// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jpeg_starts.h"

#include <algorithm>
#include <cstdio>

#include "../../common/error.h"
#include "../../common/mjpeg/decoder_params.h"
#include "../../common/mjpeg/stream.h"
#include "../../cuda_kernels/device_objects.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../bench/measure.h"
#include "jpeg_starts_params.h"

namespace cudaenc::bench {

using namespace mjpeg;

namespace {

constexpr uint32_t kSubsequenceBits = 512;
constexpr size_t kMarginWords = 16;  // that a walk may read behind the data

// Coded data without stuffed zeros, the first byte of a word the highest.
std::vector<uint32_t> words_of(std::span<const uint8_t> data, uint32_t &bytes) {
    std::vector<uint32_t> words((data.size() + 3) / 4 + kMarginWords);
    bytes = 0;
    for (size_t i = 0; i < data.size(); i++, bytes++) {
        words[bytes / 4] |= static_cast<uint32_t>(data[i]) << (24 - 8 * (bytes % 4));
        if (data[i] == 0xFF) i++;
    }
    return words;
}

// The tables of a scan: those of DC first, then those of AC, one for each component that has another.
ScanTables tables_of(const CodedStream &coded, const StreamScan &scan, const ScanLayout &layout,
                     std::vector<uint16_t> &runs) {
    ScanTables tables{};
    std::vector<int> dc, ac;
    const auto number_in = [](std::vector<int> &used, int table) {
        const auto at = std::find(used.begin(), used.end(), table);
        const auto number = static_cast<uint32_t>(at - used.begin());
        if (at == used.end()) used.push_back(table);
        return number;
    };
    for (int i = 0; i < layout.count; i++) number_in(dc, scan.dc[i]), number_in(ac, scan.ac[i]);
    if (dc.size() + ac.size() > kScanTables) throw Error(CUDAENC_ERR_UNSUPPORTED, "more than four Huffman tables");
    int at = 0;
    for (int i = 0; i < layout.count; i++)
        for (int b = 0; b < layout.blocks[i].h * layout.blocks[i].v; b++, at += 2) {
            tables.dc_tables |= number_in(dc, scan.dc[i]) << at;
            tables.ac_tables |= (static_cast<uint32_t>(dc.size()) + number_in(ac, scan.ac[i])) << at;
        }
    for (size_t i = 0; i < dc.size(); i++)
        tables.table[i] = make_decode_table(coded.huffman[static_cast<size_t>(dc[i])], TableUse::dc);
    for (size_t i = 0; i < ac.size(); i++)
        tables.table[dc.size() + i] = make_decode_table(coded.huffman[static_cast<size_t>(ac[i])], TableUse::ac);
    tables.dc_runs = tables.dc_tables, tables.ac_runs = tables.ac_tables;
    runs.resize(size_t{kRunTables} * kRuns);
    for (size_t i = 0; i < dc.size() + ac.size(); i++)
        for (uint32_t run = 0; run < kRuns; run++)
            runs[i * kRuns + run] = run_of(&tables.table[i], i < dc.size() ? nullptr : &tables.table[i], run).packed();
    return tables;
}

}  // namespace

bool measure_jpeg_starts(const std::shared_ptr<Device> &device, const std::vector<uint8_t> &picture, int runs,
                         Json &json) {
    const CodedStream coded = StreamReader(picture).read_scans(picture);
    if (coded.progressive || coded.scans.size() != 1 || coded.scans[0].restart_interval)
        throw Error(CUDAENC_ERR_UNSUPPORTED, "starts are of one baseline scan without restart markers");
    const StreamScan &scan = coded.scans[0];
    const ScanLayout layout = make_scan_layout(coded, scan);
    uint32_t bytes;
    const std::vector<uint32_t> words = words_of(scan.data, bytes);
    std::vector<uint16_t> run_tables;
    const std::vector<ScanTables> tables = {tables_of(coded, scan, layout, run_tables)};
    std::vector<ScanState> state(1);
    state[0].bytes = bytes;

    const Stream stream(device);
    const auto device_words = upload_table(device, stream, words);
    const auto device_tables = upload_table(device, stream, tables);
    const auto device_runs = upload_table(device, stream, run_tables);
    const auto device_state = upload_table(device, stream, state);
    const uint32_t subsequences = blocks_for(uint64_t{bytes} * 8, kSubsequenceBits);
    const auto mcu_blocks = static_cast<uint32_t>(layout.mcu_blocks);
    DeviceArray<StartEnd> ends(device, size_t{subsequences} * kStarts * mcu_blocks);
    DeviceArray<BlockStart> starts(device, subsequences);
    DeviceArray<uint64_t> blocks(device, 1);
    const auto expected = static_cast<uint64_t>(layout.grid.mcus() * layout.mcu_blocks);
    const CodedScan on_device{.words = device_words.data(),
                              .restarts = nullptr,
                              .tables = device_tables.data(),
                              .runs = device_runs.data(),
                              .state = const_cast<ScanState *>(device_state.data()),
                              .subsequence_bits = kSubsequenceBits,
                              .intervals = 1,
                              .interval_blocks = static_cast<uint32_t>(expected),
                              .blocks = static_cast<uint32_t>(expected),
                              .mcu_blocks = mcu_blocks,
                              .excess_bits = 0};
    const Event begin(device, true), middle(device, true), end(device, true);
    std::vector<double> decoding, choosing;
    for (int run = 0; run <= runs; run++) {  // the first to warm up
        device->record(begin, stream);
        device->launch(stream, {subsequences}, kStartThreads, StartsParams{.scan = on_device, .ends = ends.data()});
        device->record(middle, stream);
        device->launch(stream, {1}, 32,
                       ChooseParams{.scan = on_device,
                                    .ends = ends.data(),
                                    .subsequences = subsequences,
                                    .starts = starts.data(),
                                    .blocks = blocks.data()});
        device->record(end, stream);
        device->synchronize(static_cast<Device::Stream>(stream));
        if (run == 0) continue;
        decoding.push_back(device->elapsed_ms(begin, middle));
        choosing.push_back(device->elapsed_ms(middle, end));
    }
    uint64_t found = 0;
    device->download(stream, &found, blocks.data(), sizeof found);
    device->synchronize(static_cast<Device::Stream>(stream));
    const Spread decode_ms = make_spread(decoding), choose_ms = make_spread(choosing);
    std::printf(
        "  from each of %u bits and %u numbers: %u subsequences, %.3f ms; choosing %.3f ms; %llu of %llu blocks\n",
        kStarts, mcu_blocks, subsequences, decode_ms.median, choose_ms.median, static_cast<unsigned long long>(found),
        static_cast<unsigned long long>(expected));
    json.put("bytes", picture.size());
    json.put("starts", static_cast<int>(kStarts * mcu_blocks));
    json.put("subsequences", static_cast<int>(subsequences));
    json.put("decode_ms", decode_ms);
    json.put("choose_ms", choose_ms);
    return found == expected;
}

}  // namespace cudaenc::bench
