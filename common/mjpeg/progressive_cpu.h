// SPDX-License-Identifier: LGPL-2.1-or-later
// The levels of whole pictures, from all their scans, on CPU threads: progressive coding (T.81 Annex G), and sequential
// coding where a device asks for it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../thread_pool.h"
#include "stream.h"

namespace cudaenc::mjpeg {

struct CoefficientPlane {
    int columns, rows;                  // blocks, of whole MCUs
    std::unique_ptr<int16_t[]> levels;  // [rows][columns][64], by index
    std::vector<uint8_t> last;          // [rows][columns]: the highest place that may hold a level
};

// One plane a component. damage: what is broken, where nothing was before.
std::vector<CoefficientPlane> decode_coefficients(const CodedStream &stream, ThreadPool &pool, std::string &damage);

}  // namespace cudaenc::mjpeg
