// SPDX-License-Identifier: LGPL-2.1-or-later
// What options stand for that are left open, before formats and strict profiles (profile.h) are looked at. Profiles of
// libraries and of DICOM are such presets.
#pragma once
#include "../cudaenc.h"

namespace cudaenc::j2k {

// Fills in code-blocks, layers and marker segments; with a profile of libraries or DICOM all that it tells. Throws
// Error(CUDAENC_ERR_INVALID) where an option would lose data of a master, or the format or an option is not DICOM's.
CudaencJ2kOptions fill_in(CudaencJ2kOptions options, const CudaencFormat &format);

}  // namespace cudaenc::j2k
