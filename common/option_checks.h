// SPDX-License-Identifier: LGPL-2.1-or-later
// What all codecs ask of options and formats. Each throws Error(CUDAENC_ERR_INVALID) with a line that names the option,
// its value and what is allowed.
#pragma once
#include <string>

#include "cudaenc.h"

namespace cudaenc {

[[noreturn]] void refuse(const std::string &message);
void check_range(const char *name, int value, int low, int high);

// The option `comment`: NULL stands for the library's name and version.
std::string comment_of(const char *comment, size_t longest);

// Sizes of 1 to largest_side, components within planes, sub-sampling by 1 to 8. last: of the colour models; those of
// encoders end with XYZ. most: components.
void check_format(const CudaencFormat &format, int largest_side, CudaencColorModel last = CUDAENC_COLOR_XYZ,
                  int most = 4);
void check_size(int width, int height, int largest_side);

}  // namespace cudaenc
