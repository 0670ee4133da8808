// SPDX-License-Identifier: LGPL-2.1-or-later
#include "finish.h"

namespace cudaenc::h264 {

void finish_picture(Device &device, Device::Stream stream, const FinishedPicture &picture) {
    const int count = picture.columns * picture.rows;
    const Grid threads{static_cast<unsigned>(ceil_div(count, kFinishThreads))};
    if (picture.motion)
        device.launch(stream, threads, kFinishThreads,
                      FinishMotionParams{.columns = picture.columns,
                                         .rows = picture.rows,
                                         .slices = picture.slices,
                                         .motion = picture.motion,
                                         .macroblocks = picture.macroblocks});
    device.launch(stream, threads, kFinishThreads,
                  DecodedQpsParams{.count = count,
                                   .slice_qp = picture.slice_qp,
                                   .macroblocks = picture.macroblocks,
                                   .qps = picture.qps,
                                   .decoded = picture.decoded_qps});
    device.launch(stream, {static_cast<unsigned>(ceil_div(count, kFinishThreads / 32))}, kFinishThreads,
                  DeblockInputParams{.count = count,
                                     .levels_each = 16 * blocks_per_macroblock(picture.format),
                                     .macroblocks = picture.macroblocks,
                                     .motion = picture.motion,
                                     .levels = picture.levels,
                                     .decoded_qps = picture.decoded_qps,
                                     .to = picture.deblock_macroblocks,
                                     .vectors = picture.deblock_vectors});
}

}  // namespace cudaenc::h264
