// SPDX-License-Identifier: LGPL-2.1-or-later
// What the device does with a scan, before there is memory for it: its tables, and how its data are cut.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "../../common/mjpeg/decoder_params.h"
#include "../../common/mjpeg/huffman_decode.h"
#include "../../common/mjpeg/stream.h"
#include "decode_params.h"

namespace cudaenc::mjpeg {

// What a scan's tables are made from.
struct TableSources {
    int count = 0;  // Huffman tables
    std::array<StreamHuffman, kScanTables> huffman{};
    std::array<TableUse, kScanTables> use{};
    TableUses uses{};
    bool operator==(const TableSources &) const = default;
};
ScanTables make_tables(const TableSources &sources);

struct ScanPlan {
    std::span<const uint8_t> data;
    TableSources tables;
    ScanLayout layout;
    uint32_t unstuff_tiles = 0, tiles = 0;
    uint32_t period = 0;  // blocks of an MCU after which their tables repeat
    CodedScan coded{};    // but for its memory
};

// Sets the plan. Returns why the host decodes in place of the device; nullptr: it does not. alone: no other picture is
// in flight.
const char *plan_scan(const CodedStream &stream, const StreamScan &scan, bool alone, ScanPlan &plan);

}  // namespace cudaenc::mjpeg
