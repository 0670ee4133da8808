// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables of a conversion to X'Y'Z'.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../../cudaenc.h"
#include "xyz.h"

namespace cudaenc::j2k {

// conversion points into the vectors.
struct XyzTables {
    std::vector<CurvePiece> to_light, to_code;
    std::vector<float> cube;
    XyzConversion conversion{};
};

// The light of a value from 0 to 1. transfer: CudaencXyzTransfer.
double light_of(int transfer, double x);

// RGB and YUV without alpha.
bool can_become_xyz(const CudaencFormat &format);
// Of frames of the format, whose colours the options override. note: one line, where something is assumed. Throws
// Error(CUDAENC_ERR_INVALID) where a format or colours cannot be converted, or the LUT cannot be read.
std::shared_ptr<const XyzTables> make_xyz_tables(const CudaencFormat &format, const CudaencJ2kOptions &options,
                                                 std::string &note);

}  // namespace cudaenc::j2k
