// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of code.cu.
#pragma once
#include "../../../common/h264/inter/inter_costs.h"
#include "../../../common/h264/inter/refresh.h"
#include "../intra/wavefront_params.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kCodeThreads = 128;
// Inter macroblocks, but for mvd and qp_delta: transforms, levels, reconstruction; or P_Skip. 4:2:0 of 8 bits. Grid: a
// warp a macroblock, in thread-blocks of kCodeThreads.
struct CodeInterParams {
    static constexpr KernelName kernel{"h264/inter/code", "h264_code_inter"};
    int32_t columns, rows;  // macroblocks
    int32_t vertical;       // the limit for vectors, samples
    bool transform_8x8;
    MarginPlane source;                   // luma
    SampleLayout chroma_source[2];        // whose last column and row repeat
    int32_t chroma_width, chroma_height;  // samples
    MarginPlane reference[kHalfPlanes];   // of one stride
    MarginPlane chroma_reference[2];      // of one stride
    MarginPlane decoded[3];               // whole macroblocks
    const int8_t *qps;                    // QPY of macroblocks
    const QpChoice *qp_choices;           // by QP from 0 on; drop steps are in the pointer
    const WavefrontTables *tables;
    const MacroblockMotion *field;  // final but for P_Skip
    MacroblockMotion *motion;       // with P_Skip
    Macroblock *macroblocks;
    int16_t *levels;
    InterOutcome *outcomes;
    RefreshColumns refresh;
};

}  // namespace cudaenc::h264
