// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../thread_pool.h"
#include "decoder_params.h"

namespace cudaenc::mjpeg {

// In place: of each plane the front rows and columns are filled, as they are coded.
void upsample(const Upsampling &upsampling, const CudaencFormat &format, const CudaencCodedPicture &picture,
              ThreadPool &pool);

}  // namespace cudaenc::mjpeg
