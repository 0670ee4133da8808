// SPDX-License-Identifier: LGPL-2.1-or-later
// Strict profiles, those of cinema, IMF and broadcast: what the codestreams of an application leave no choice about.
// The rules and where they stand are listed in docs/encoders.md. presets.h has the other profiles.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "params.h"

namespace cudaenc::j2k {

inline bool is_strict(int profile) {
    return (profile && profile < CUDAENC_J2K_ARCHIVE_LOSSLESS) || profile == CUDAENC_J2K_IMF_HT ||
           profile == CUDAENC_J2K_IMF_HT_R;
}

// What options that are left open stand for by a strict profile. Without one (0): the library's defaults.
int default_levels(int profile, int tile_width);
CudaencJ2kWavelet default_wavelet(int profile);
CudaencJ2kProgression default_progression(int profile);
int default_tile_parts(int profile);                     // CudaencJ2kTileParts
std::string default_precincts(int profile, int levels);  // as the option `precincts` has them
std::string default_poc(int profile, int levels);        // as the option `poc` has them

// Refuses what the profile does not allow, with a line that names its rule; sets Params::rsiz, limits and
// magnitude_bound.
void apply_profile(Params &params, const CudaencJ2kOptions &options);

}  // namespace cudaenc::j2k
