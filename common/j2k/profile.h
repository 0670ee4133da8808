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

// Throws Error(CUDAENC_ERR_INVALID) where a frame is larger than its profile allows. codestream: bytes of the whole;
// tile_parts: of the first kLimitedTileParts.
void check_sizes(const Params &params, uint64_t codestream, std::span<const uint64_t, kLimitedTileParts> tile_parts);

}  // namespace cudaenc::j2k
