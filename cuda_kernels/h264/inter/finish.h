// SPDX-License-Identifier: LGPL-2.1-or-later
// The end of a picture of a sequence on a device, once all macroblocks are coded.
#pragma once
#include "../../device_objects.h"
#include "finish_params.h"

namespace cudaenc::h264 {

// Arrays of all macroblocks, in device memory.
struct FinishedPicture {
    ChromaFormat format;
    int columns, rows, slice_qp;
    const MacroblockSlice *slices;   // of P pictures
    const MacroblockMotion *motion;  // nullptr: all are intra, and qp_delta is there
    const int8_t *qps;               // that macroblocks were coded with; nullptr: all with slice_qp
    const int16_t *levels;
    Macroblock *macroblocks;                 // of P pictures: get P_Skip and mvd; qp_delta gets 0
    int8_t *decoded_qps;                     // gets QPY as decoders have it
    DeblockMacroblock *deblock_macroblocks;  // get the filter's input
    DeblockVector *deblock_vectors;
};
// Queues it. 4:2:0.
void finish_picture(Device &device, Device::Stream stream, const FinishedPicture &picture);

}  // namespace cudaenc::h264
