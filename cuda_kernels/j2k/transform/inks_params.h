// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../../../common/j2k/transform/inks.h"
#include "../../../common/kernel_name.h"

namespace cudaenc::j2k {

constexpr int kInksThreads = 128;
constexpr int kInksRows = 16;

// Inks to light, see inks_to_light(). Grid: kInksThreads columns x kInksRows rows, one piece behind the other.
struct InksParams {
    static constexpr KernelName kernel{"j2k/transform/inks", "j2k_inks"};
    InkPlanes planes;
    int32_t pieces_a_row;
};

}  // namespace cudaenc::j2k
