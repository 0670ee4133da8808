// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of tables.cu.
#pragma once
#include "../../common/kernel_name.h"
#include "code_params.h"

namespace cudaenc::mjpeg {

constexpr int kTablesThreads = 256;

// Grid: a thread-block a table, DC and AC of each in turn.
struct TablesParams {
    static constexpr KernelName kernel{"mjpeg/tables", "mjpeg_tables", LaunchPriority::kNormal, kSharedMemoryPercent};
    SymbolCounts *counts;  // cleared for the next frame
    HuffmanSpecs *specs;   // in host memory
    CodeTables *codes;
};

}  // namespace cudaenc::mjpeg
