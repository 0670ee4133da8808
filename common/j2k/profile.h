// Profiles (Rsiz): what the codestreams of an application leave no choice about. The rules and where they stand are
// listed in docs/encoders.md. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "params.h"

namespace cudaenc::j2k {

// What options that are left open stand for. Without a profile: the library's defaults.
int default_levels(int profile, int tile_width);
std::string default_precincts(int profile, int levels);  // as the option `precincts` has them
std::string default_poc(int profile, int levels);        // as the option `poc` has them

// Refuses what the profile does not allow, with a line that names its rule; sets Params::rsiz and Params::limits.
void apply_profile(Params &params, const CudaencJ2kOptions &options);

}  // namespace cudaenc::j2k
