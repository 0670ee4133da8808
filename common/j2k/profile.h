// Profiles (Rsiz): what the codestreams of an application leave no choice about. The rules and where they stand are
// listed in docs/encoders.md. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "params.h"

namespace cudaenc::j2k {

// Profiles that have an Rsiz. The others are those of libraries, which only say what options stand for.
inline bool has_rsiz(int profile) { return profile && profile < CUDAENC_J2K_ARCHIVE_LOSSLESS; }

// Options with what those that are left open stand for: code-blocks, layers and marker segments; with a profile of
// libraries all that it tells. Throws Error(CUDAENC_ERR_INVALID) where an option would lose data of a master.
CudaencJ2kOptions fill_in(CudaencJ2kOptions options);

// The same of further options, by a profile with an Rsiz. Without one (0): the library's defaults.
int default_levels(int profile, int tile_width);
std::string default_precincts(int profile, int levels);  // as the option `precincts` has them
std::string default_poc(int profile, int levels);        // as the option `poc` has them

// Refuses what the profile does not allow, with a line that names its rule; sets Params::rsiz and Params::limits.
void apply_profile(Params &params, const CudaencJ2kOptions &options);

}  // namespace cudaenc::j2k
