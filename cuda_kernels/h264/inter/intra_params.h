// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of intra.cu.
#pragma once
#include "../../../common/h264/inter/inter_costs.h"
#include "../../../common/h264/inter/refine_steps.h"
#include "../../../common/h264/inter/refresh.h"
#include "../intra/wavefront_params.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

// Whether a macroblock of a P picture is coded as intra: to be kept where it is cheaper, or whatever it costs.
enum IntraCandidate : uint8_t { kOnlyInter, kMayBeIntra, kMustBeIntra };

constexpr int kIntraCandidateThreads = 128;
// Which macroblocks may be intra, from source samples. Grid: a warp a macroblock, in thread-blocks of
// kIntraCandidateThreads; columns of a row, rows.
template <int BitDepth>
struct IntraCandidatesParams {
    static constexpr KernelName kernel{"h264/inter/intra",
                                       BitDepth == 8 ? "h264_intra_candidates" : "h264_intra_candidates_10"};
    int32_t columns;
    bool transform_8x8;
    const MacroblockSlice *slices;
    MarginPlane source;          // luma of 8 bits
    const int8_t *qps;           // QPY of macroblocks
    const QpChoice *qp_choices;  // by QPY; what comes before QP 0, and drop steps, are in the pointer
    const RankedModes *ranked;
    const MotionEstimate *estimates;
    const InterOutcome *outcomes;
    RefreshColumns refresh;
    uint8_t *candidates;  // gets IntraCandidate of macroblocks
};

// A thread-block takes those candidates that begin in so many columns, and all that follow them.
constexpr int kCandidateColumns = 8;
constexpr int kIntraBlocks = 4;  // that run at once on a multiprocessor
// Codes the candidates as intra, and keeps that where it is cheaper. The picture is pictures[0]: its macroblocks and
// levels, and the arrays here, have all macroblocks as inter before. Grid: thread-blocks of kWavefrontThreads, any
// number.
struct IntraMacroblocksArguments : WavefrontArguments {
    const MacroblockSlice *slices;
    const uint8_t *candidates;
    const InterOutcome *outcomes;
    MacroblockMotion *motion;
    ReconstructedPlane decoded[3];
    uint32_t *modes_below;  // of candidates: Intra4x4PredMode of the last row, a byte a block
    uint64_t *coded;        // of candidates: the serial number of the picture that they were last coded in; 0: of none
    RefreshColumns refresh;
};
// Bytes: of a decoded sample.
template <ChromaFormat F, int Bytes>
struct IntraMacroblocksParams : IntraMacroblocksArguments {
    static constexpr KernelName kernel{"h264/inter/intra", Bytes == 1                ? "h264_intra_macroblocks"
                                                           : F == ChromaFormat::c400 ? "h264_intra_macroblocks_400_wide"
                                                           : F == ChromaFormat::c420 ? "h264_intra_macroblocks_420_wide"
                                                           : F == ChromaFormat::c422
                                                               ? "h264_intra_macroblocks_422_wide"
                                                               : "h264_intra_macroblocks_444_wide"};
};

}  // namespace cudaenc::h264
