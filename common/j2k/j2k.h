// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "../pipeline.h"
#include "decoder_params.h"
#include "params.h"

namespace cudaenc::j2k {

// Slots that a session may fill. With pst a frame takes the slope of an earlier, finished one. So async_depth does not
// change bytes.
inline int frames_in_flight(const Params &params, int async_depth) {
    return params.rate.keeps_slopes() ? std::min(async_depth, params.rate.pst_lag) : async_depth;
}

// The pipeline on CPU threads. threads 0: one per core.
std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times);

// The pipeline on a device, implemented in cuda_kernels/j2k/j2k_cuda.cpp.
std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times);

// The decoder's pipelines: on CPU threads, and on a device (cuda_kernels/j2k/j2k_decoder_cuda.cpp).
std::unique_ptr<Decoder> make_cpu_decoder(const DecoderOptions &options, int slots, int threads, bool stage_times);
std::unique_ptr<Decoder> make_device_decoder(const DecoderOptions &options, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times);

}  // namespace cudaenc::j2k
