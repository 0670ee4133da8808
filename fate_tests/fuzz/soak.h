// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <string>

namespace cudaenc::testing {

// Uptime: sessions of random codecs, options and sizes, opened and closed until `frames` frames are encoded. Some have
// their bytes held against the CPU's. Prints what the process takes on the way. Returns an exit status: 1 where bytes
// differ, or memory, files, threads or objects of the device remain. SIGTERM ends it early, once open sessions have
// ended; `processes` get it each. processes: so many share the frames and the device, whose memory is watched only of
// one. threads: so many sessions at a time in each process.
int soak(int64_t frames, int first_seed, const std::string &device, int processes, int threads);

}  // namespace cudaenc::testing
