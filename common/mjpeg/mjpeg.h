// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>

#include "../pipeline.h"
#include "../thread_pool.h"
#include "decoder_params.h"
#include "params.h"

namespace cudaenc::mjpeg {

// The pipeline on CPU threads. threads 0: one per core.
std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times);

// The pipeline on a device, implemented in cuda_kernels/mjpeg/mjpeg_cuda.cpp. device_packets: they stay in its memory.
// fields: CudaencFields of frames that are two pictures of these parameters.
std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times,
                                             bool device_packets = false, int fields = CUDAENC_PROGRESSIVE);

// Writes the size of a coded field into its AVI1 marker segment, which it has.
void set_field_size(uint8_t *field, size_t size);

// Decodes what is_for_cpu() to planes in memory of the host. damage: what is broken, where nothing was before.
void decode_planes(const CodedStream &stream, const DecoderOptions &options, const CudaencCodedPicture &to,
                   ThreadPool &pool, std::string &damage);

// Pipelines of decoders.
std::unique_ptr<Decoder> make_cpu_decoder(const DecoderOptions &options, int slots, int threads, bool stage_times);
std::unique_ptr<Decoder> make_device_decoder(const DecoderOptions &options, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times);

}  // namespace cudaenc::mjpeg
