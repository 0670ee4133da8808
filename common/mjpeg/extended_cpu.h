// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams of 12 bits with a DCT, sequential and progressive, on CPU threads.
#pragma once
#include <string>

#include "../thread_pool.h"
#include "decoder_params.h"

namespace cudaenc::mjpeg {

// Writes samples to the planes of `to`, in memory of the host, 16 bits each, of which the highest 12 count. damage:
// what is broken, where nothing was before; what is missing is gray.
void decode_12_bits(const CodedStream &stream, const DecoderOptions &options, const CudaencCodedPicture &to,
                    ThreadPool &pool, std::string &damage);

}  // namespace cudaenc::mjpeg
