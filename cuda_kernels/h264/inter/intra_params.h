// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of intra.cu. 4:2:0 of 8 bits.
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
struct IntraCandidatesParams {
    static constexpr KernelName kernel{"h264/inter/intra", "h264_intra_candidates"};
    int32_t columns;
    bool transform_8x8;
    const MacroblockRow *rows;
    MarginPlane source;          // luma
    const int8_t *qps;           // QPY of macroblocks
    const QpChoice *qp_choices;  // by QP from 0 on; drop steps are in the pointer
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
struct IntraMacroblocksParams : WavefrontArguments {
    static constexpr KernelName kernel{"h264/inter/intra", "h264_intra_macroblocks"};
    const uint8_t *candidates;
    const InterOutcome *outcomes;
    MacroblockMotion *motion;
    ReconstructedPlane decoded[3];
    uint32_t *modes_below;  // of candidates: Intra4x4PredMode of the last row, a byte a block
    uint64_t *coded;        // of candidates: the serial number of the picture that they were last coded in; 0: of none
    RefreshColumns refresh;
};

}  // namespace cudaenc::h264
