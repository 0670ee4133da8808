// Parameters of tables.cu. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/kernel_name.h"
#include "code_params.h"

namespace cudaenc::mjpeg {

constexpr int kTablesThreads = 256;

struct TablesParams {  // grid: a thread-block a table of codes, DC and AC of each in turn
    static constexpr KernelName kernel{"mjpeg/tables", "mjpeg_tables", LaunchPriority::kNormal, kSharedMemoryPercent};
    SymbolCounts *counts;  // 0 afterwards, for the next frame
    HuffmanSpecs *specs;   // in memory of the host
    CodeTables *codes;
};

}  // namespace cudaenc::mjpeg
