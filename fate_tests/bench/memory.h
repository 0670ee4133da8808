// SPDX-License-Identifier: LGPL-2.1-or-later
// What memory a session holds, and whether it stays the same.
#pragma once
#include <memory>
#include <string>

#include "cases.h"
#include "json.h"
#include "measure.h"

namespace cudaenc::bench {

// Prints each buffer that a session with frames in device memory allocates for `depth` frames in flight, and what the
// driver says that it took, where there is one. device: one that runs kernels.
void print_session_memory(const std::shared_ptr<Device> &device, const Case &c, int depth, const Frames &frames,
                          Json &json);

// Codes `count` frames and prints the process's resident memory on the way. false: it grew after the first tenth.
bool measure_endurance(const CudaencConfig &config, const Frames &frames, int count, Json &json);

}  // namespace cudaenc::bench
