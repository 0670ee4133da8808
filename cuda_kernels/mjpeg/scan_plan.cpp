// SPDX-License-Identifier: LGPL-2.1-or-later
#include "scan_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "../device_pipeline.h"

namespace cudaenc::mjpeg {

namespace {

using BlockTables = std::pair<uint32_t, uint32_t>;  // of a block of an MCU: those of DC and AC

// The number of a value, which is appended where it is new.
template <class T>
uint32_t number_of(std::vector<T> &values, const T &value) {
    const auto at = std::find(values.begin(), values.end(), value);
    const auto number = static_cast<uint32_t>(at - values.begin());
    if (at == values.end()) values.push_back(value);
    return number;
}

// The tables of runs: one for each table of AC, and one for each table of DC with the table of AC behind it. If that
// makes too many, runs of DC are single symbols. pattern: of each block of an MCU.
void plan_runs(TableUses &tables, const std::vector<BlockTables> &pattern) {
    std::vector<std::pair<uint32_t, uint32_t>> runs;
    const auto plan = [&](bool alone) {
        runs.clear();
        tables.dc_runs = tables.ac_runs = 0;
        for (size_t i = 0; i < pattern.size(); i++) {
            const auto [dc, ac] = pattern[i];
            tables.dc_runs |= number_of(runs, {dc, alone ? kNoTable : ac}) << 2 * i;
            tables.ac_runs |= number_of(runs, {ac, ac}) << 2 * i;
        }
        return runs.size() <= kRunTables;
    };
    if (!plan(false)) plan(true);
    runs.resize(kRunTables, {kNoTable, kNoTable});
    for (size_t i = 0; i < kRunTables; i++) tables.run_first[i] = runs[i].first, tables.run_then[i] = runs[i].second;
}

// The number of blocks after which the tables repeat.
uint32_t period_of(const std::vector<BlockTables> &pattern) {
    size_t period = 1;
    while (pattern.size() % period ||
           !std::equal(pattern.begin() + static_cast<ptrdiff_t>(period), pattern.end(), pattern.begin()))
        period++;
    return static_cast<uint32_t>(period);
}

}  // namespace

// The state of decoding has a block's number in the MCU, which the stream must tell: where blocks with equal tables
// follow each other in a shorter period, it does not.
const char *plan_scan(const CodedStream &stream, const StreamScan &scan, bool alone, ScanPlan &plan) {
    if (scan.data.size() >= kMaxCodedBytes) return "scans of 256 MB and more";
    const ScanLayout &layout = plan.layout = make_scan_layout(stream, scan);
    const auto bytes = static_cast<uint32_t>(scan.data.size());
    TableUses &tables = plan.tables.uses;
    std::vector<std::pair<int, TableUse>> used;
    std::vector<BlockTables> pattern;
    for (int i = 0; i < layout.count; i++) {
        const uint32_t dc = number_of(used, {scan.dc[i], TableUse::dc}),
                       ac = number_of(used, {scan.ac[i], TableUse::ac});
        for (int b = 0; b < layout.blocks[i].h * layout.blocks[i].v; b++) {
            const size_t at = 2 * pattern.size();
            tables.dc_tables |= dc << at, tables.ac_tables |= ac << at;
            tables.block_components |= static_cast<uint32_t>(i) << at;
            pattern.emplace_back(dc, ac);
        }
        for (int k = 0; k < kBlockSamples; k++)
            tables.divisors[k][i] = stream.components[static_cast<size_t>(layout.component[i])].divisors[k];
    }
    if (used.size() > kScanTables) return "scans of more than four Huffman tables";
    plan_runs(tables, pattern);
    for (const auto &[huffman, use] : used) {
        const auto number = static_cast<size_t>(plan.tables.count++);
        plan.tables.huffman[number] = stream.huffman[static_cast<size_t>(huffman)], plan.tables.use[number] = use;
    }

    CodedScan &coded = plan.coded;
    plan.period = period_of(pattern);
    coded.subsequence_bits = subsequence_bits(bytes, plan.period, alone);
    coded.excess_bits = static_cast<uint32_t>(excess_bits(scan.padding));
    coded.intervals = static_cast<uint32_t>(layout.intervals());
    coded.mcu_blocks = static_cast<uint32_t>(layout.mcu_blocks);
    coded.blocks = static_cast<uint32_t>(layout.grid.mcus() * layout.mcu_blocks);
    coded.interval_blocks =
        coded.intervals > 1 ? static_cast<uint32_t>(layout.grid.restart_interval) * coded.mcu_blocks : coded.blocks;
    plan.data = scan.data;
    plan.unstuff_tiles = blocks_for(std::max(bytes, 1u), kUnstuffTile);
    plan.tiles = blocks_for(uint64_t{std::max(bytes, 1u)} * 8, tile_bits(coded));
    return nullptr;
}

ScanTables make_tables(const TableSources &sources) {
    ScanTables tables{sources.uses, {}};
    for (size_t i = 0; i < static_cast<size_t>(sources.count); i++)
        tables.table[i] = make_decode_table(sources.huffman[i], sources.use[i]);
    return tables;
}

}  // namespace cudaenc::mjpeg
