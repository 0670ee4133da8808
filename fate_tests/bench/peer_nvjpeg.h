// SPDX-License-Identifier: LGPL-2.1-or-later
// NVIDIA's JPEG encoder at the same boundary, where its library is there; see nvjpeg_library.h.
#pragma once
#include <string>
#include <vector>

#include "cases.h"
#include "peer.h"

namespace cudaenc::bench {

bool has_nvjpeg();  // was built with its header

// frames: in memory of cuda:0. quality: 1..100, as cudaenc's. Throws Error where the library is not there, or fails.
PeerResult measure_nvjpeg(const std::string &library, const Case &c, const Frames &frames, int quality,
                          const Effort &effort, const std::vector<int> &threads);

}  // namespace cudaenc::bench
