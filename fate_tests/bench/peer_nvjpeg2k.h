// NVIDIA's JPEG 2000 encoder at the same boundary, where its library is there. Nothing of it is part of this program:
// the header is asked for when the bench is built (make bench NVJPEG2K=its folder), the library when it runs.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <string>
#include <vector>

#include "cases.h"
#include "measure.h"

namespace cudaenc::bench {

// The first frame, coded at a size that was asked for.
struct PeerStream {
    std::string quality_type;  // how it was asked for
    double value;
    std::vector<uint8_t> bytes;
};

struct PeerResult {
    std::string name;                       // with its version
    std::vector<PeerStream> first_streams;  // lossy: one for each type of quality; rates are of the first
    Single single;
    std::vector<Multi> multis;  // depth: threads, each with a state, a stream and a buffer
};

bool has_nvjpeg2k();  // was built with its header

// frames: in memory of cuda:0. bytes: of the first frame in lossy cases. Throws Error where the library is not there,
// or fails.
PeerResult measure_nvjpeg2k(const std::string &library, const Case &c, const Frames &frames, size_t bytes,
                            const Effort &effort, const std::vector<int> &threads);

}  // namespace cudaenc::bench
