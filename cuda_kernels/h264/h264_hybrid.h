// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../common/h264/h264.h"

namespace cudaenc::h264 {

// The pipeline of efforts other than kAllTypes: intra coding on CPU threads, the entropy coder on the device.
std::unique_ptr<Encoder> make_hybrid_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times);

// P pictures, all on the device.
std::unique_ptr<Encoder> make_sequence_encoder(const Params &params, int slots, int threads,
                                               std::shared_ptr<Device> device, bool device_frames, bool stage_times);

// Pictures of only_on_cpu() on CPU threads, to which frames in device memory are copied.
std::unique_ptr<Encoder> make_threads_encoder(const Params &params, int slots, int threads,
                                              std::shared_ptr<Device> device, bool device_frames, bool stage_times);

}  // namespace cudaenc::h264
