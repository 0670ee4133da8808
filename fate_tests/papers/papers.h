// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of docs/papers.md: each paper's own method beside the product's. They print rows, and return whether all
// results are right.
#pragma once
#include <memory>
#include <vector>

#include "../../common/device.h"
#include "../bench/picture.h"

namespace cudaenc::bench {

struct PaperRun {
    std::shared_ptr<Device> device;
    std::vector<Picture> pictures;  // at least one
    int runs;                       // of each time; medians count
    bool small;                     // sizes of a test
};

bool measure_fuentes(const PaperRun &run);  // CAVLCU, 2021

}  // namespace cudaenc::bench
