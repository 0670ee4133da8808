// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of docs/papers.md: each paper's own method beside the product's. They print rows, and return whether all
// results are right.
#pragma once
#include <memory>
#include <vector>

#include "../../common/device.h"
#include "../bench/peer_openjpeg.h"
#include "../bench/picture.h"

namespace cudaenc::bench {

struct PaperRun {
    std::shared_ptr<Device> device;
    std::vector<Picture> pictures;  // at least one
    int runs;                       // of each time; medians count
    bool small;                     // sizes of a test
    const OpenJpeg *openjpeg;       // for PSNR; nullptr: it is not measured
};

bool measure_bruns(const PaperRun &run);     // the bypass, 2016
bool measure_matela(const PaperRun &run);    // context modelling by samples, 2010
bool measure_martinez(const PaperRun &run);  // rate control, 2017
bool measure_fuentes(const PaperRun &run);   // CAVLCU, 2021
bool measure_patel(const PaperRun &run);     // JPEG, 2009

}  // namespace cudaenc::bench
