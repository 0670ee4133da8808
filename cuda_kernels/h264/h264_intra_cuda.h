// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 with all of its stages on a device.
#pragma once
#include "../../common/h264/h264.h"

namespace cudaenc::h264 {

// Whether it takes the options; else h264_cuda.cpp does, with the intra pipeline on CPU threads.
bool takes_intra_pipeline(const Params &params);
std::unique_ptr<Encoder> make_intra_encoder(const Params &params, int slots, int threads,
                                            std::shared_ptr<Device> device, bool device_frames, bool stage_times);

}  // namespace cudaenc::h264
