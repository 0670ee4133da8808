// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <string>

namespace cudaenc::testing {

// Uptime: sessions of random codecs, options and sizes, opened and closed until `frames` frames are encoded. Some have
// their bytes held against the CPU's. Prints what the process takes on the way. Returns an exit status: 1 where bytes
// differ, or memory, files, threads or objects of the device remain. processes: so many share the frames and the
// device, whose memory is watched only of one.
int soak(int64_t frames, int first_seed, const std::string &device, int processes);

}  // namespace cudaenc::testing
