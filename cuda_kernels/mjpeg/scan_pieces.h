// SPDX-License-Identifier: LGPL-2.1-or-later
// How the MCUs of scans are cut into pieces, which thread-blocks code.
#pragma once
#include <vector>

#include "../../common/mjpeg/params.h"
#include "code_params.h"

namespace cudaenc::mjpeg {

// Of all scans of so many pictures, in the order of the stream. A scan's pieces and groups of them follow those of the
// scan before.
std::vector<ScanPieces> cut_scans(const Params &params, size_t pictures = 1);

}  // namespace cudaenc::mjpeg
