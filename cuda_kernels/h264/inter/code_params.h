// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of code.cu.
#pragma once
#include "../../../common/h264/inter/inter_costs.h"
#include "../../../common/h264/inter/refresh.h"
#include "../../../common/h264/syntax/weights.h"
#include "../intra/wavefront_params.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kCodeThreads = 128;
struct CodeInterArguments {
    int32_t columns, rows;  // macroblocks
    int32_t vertical;       // the limit for vectors, samples
    bool transform_8x8;
    MarginPlane source;                   // luma of 8 bits
    SampleLayout components[3];           // the source, whose last column and row repeat
    int32_t width, height;                // samples
    int32_t chroma_width, chroma_height;  // samples
    int32_t bit_depth;
    int32_t chroma_offset;               // see FieldReference
    MarginPlane reference[kHalfPlanes];  // luma of 8 bits, of one stride
    MarginPlane samples[3];              // the same picture as it is decoded; of chroma one stride
    MarginPlane decoded[3];              // whole macroblocks
    const int8_t *qps;                   // QPY of macroblocks
    const QpChoice *qp_choices;          // by QPY; what comes before QP 0, and drop steps, are in the pointer
    const WavefrontTables *tables;
    const MacroblockMotion *field;  // final but for P_Skip
    MacroblockMotion *motion;       // with P_Skip
    Macroblock *macroblocks;
    int16_t *levels;
    InterOutcome *outcomes;
    RefreshColumns refresh;
    PictureWeights weights;
};
// Inter macroblocks, but for mvd and qp_delta: transforms, levels, reconstruction; or P_Skip. Grid: a warp a
// macroblock, in thread-blocks of kCodeThreads. Bytes: of a decoded sample, see decoded_sample_bytes().
template <ChromaFormat F, int Bytes>
struct CodeInterParams : CodeInterArguments {
    static constexpr KernelName kernel{"h264/inter/code", Bytes == 1                ? "h264_code_inter"
                                                          : F == ChromaFormat::c400 ? "h264_code_inter_400_wide"
                                                          : F == ChromaFormat::c420 ? "h264_code_inter_420_wide"
                                                          : F == ChromaFormat::c422 ? "h264_code_inter_422_wide"
                                                                                    : "h264_code_inter_444_wide"};
};

}  // namespace cudaenc::h264
