// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of scene.cu.
#pragma once
#include "../../../common/h264/gop.h"
#include "../../../common/h264/inter/search_steps.h"
#include "../../../common/kernel_name.h"
#include "margin_plane.h"

namespace cudaenc::h264 {

constexpr int kSceneThreads = 128;
// SceneCosts of rows of macroblocks. Grid: a thread-block of kSceneThreads a row.
struct SceneCostsParams {
    static constexpr KernelName kernel{"h264/inter/scene", "h264_scene_costs"};
    int32_t columns;          // macroblocks
    MarginPlane now, before;  // of level 1
    VectorGrid vectors;       // likewise
    const FoundMotion *found;
    SceneCosts *costs;  // of rows
};

}  // namespace cudaenc::h264
