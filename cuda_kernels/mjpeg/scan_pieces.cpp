// SPDX-License-Identifier: LGPL-2.1-or-later
#include "scan_pieces.h"

#include <algorithm>
#include <span>

#include "../../common/mjpeg/headers.h"

namespace cudaenc::mjpeg {

namespace {

ScanPieces cut_scan(const Params &params, const Scan &scan) {
    const std::span<const Component> components(&params.components[static_cast<size_t>(scan.first)],
                                                static_cast<size_t>(scan.count));
    int32_t mcu_blocks = 0;
    for (const Component &c : components) mcu_blocks += c.grid.h * c.grid.v;
    const int32_t piece_mcus = kPieceBlocks / mcu_blocks;
    const int64_t mcus = scan.grid.mcus();
    const int64_t interval = scan.grid.restart_interval ? std::min<int64_t>(scan.grid.restart_interval, mcus) : mcus;
    const int32_t interval_pieces = static_cast<int32_t>(ceil_div(interval, piece_mcus));
    ScanPieces s{
        .grid = scan.grid,
        .components = scan.count,
        .component = {},
        .mcu_blocks = mcu_blocks,
        .mcus = piece_mcus,
        .interval_pieces = interval_pieces,
        .by_interval_pieces = Divider(interval_pieces),
        .first_piece = 0,
        .pieces = static_cast<uint32_t>(mcus / interval * interval_pieces + ceil_div(mcus % interval, piece_mcus)),
        .first_group = 0,
        .number = 0,
        .header_bytes = 0,
        .rgb_to_ycbcr = params.transform == ColorTransform::rgb_to_ycbcr,
    };
    int32_t first_block = 0;
    for (int i = 0; i < scan.count; i++) {
        const Component &c = components[static_cast<size_t>(i)];
        s.component[i] = {.grid = c.grid,
                          .width = c.width,
                          .height = c.height,
                          .table = c.table,
                          .layout = scan.first + i,
                          .first_block = first_block,
                          .first_thread = piece_mcus * first_block};
        first_block += c.grid.h * c.grid.v;
    }
    return s;
}

}  // namespace

std::vector<ScanPieces> cut_scans(const Params &params, size_t pictures) {
    std::vector<ScanPieces> scans;
    for (size_t i = 0; i < pictures * params.scans.size(); i++) {
        const size_t of_picture = i % params.scans.size();
        const Scan &scan = params.scans[of_picture];
        ScanPieces s = cut_scan(params, scan);
        if (!scans.empty()) {
            const ScanPieces &before = scans.back();
            s.first_piece = before.first_piece + before.pieces;
            s.first_group = before.first_group + before.groups();
            s.number = before.number + 1;
            if (of_picture) s.header_bytes = static_cast<uint32_t>(make_scan_header(params, scan).size());
        }
        scans.push_back(s);
    }
    return scans;
}

}  // namespace cudaenc::mjpeg
