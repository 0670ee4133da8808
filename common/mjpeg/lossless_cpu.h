// SPDX-License-Identifier: LGPL-2.1-or-later
// Lossless coding (T.81 Annex H) on CPU threads: differences from a prediction, of samples themselves.
#pragma once
#include <string>

#include "../cudaenc.h"
#include "../thread_pool.h"
#include "stream.h"

namespace cudaenc::mjpeg {

// Writes samples to the planes of `to`, in memory of the host and of the format that make_format() tells. damage: what
// is broken, where nothing was before; what is missing is gray.
void decode_lossless(const CodedStream &stream, const CudaencCodedPicture &to, ThreadPool &pool, std::string &damage);

}  // namespace cudaenc::mjpeg
