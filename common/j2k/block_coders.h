// SPDX-License-Identifier: LGPL-2.1-or-later
// The block coders as parameters, geometry and headers know them; t1 has the coders themselves.
#pragma once
#include <cstdint>

#include "params.h"

namespace cudaenc::j2k {

struct BlockCoderTraits {
    int (*most_passes)(int planes, bool truncatable);  // of the record of a block with so many bit-planes
    double quality_step;  // quantiser steps of a quality, relative to those whose passes are all coded
    bool frame_steps;     // frames with a target choose their steps: see step.h
    bool regions;         // of frames weigh the slopes of its passes
    int spare_planes;     // of reversible sub-bands: bit-planes beyond those that samples fill
    const char *style;    // the name of the style that asks for it, alone; nullptr: other styles, or none
    const char *brand;    // of a file: T.800 I.5.2 or the coder's own part
    int part;             // of the standard, whose capabilities a CAP marker segment tells; 0: none
    uint32_t (*capabilities)(const Params &params);                         // Ccap of that part
    void (*check)(const Params &params, const CudaencJ2kOptions &options);  // refuses what the coder does not do
};

// Of the coder that a style asks for.
const BlockCoderTraits &block_coder_traits(uint32_t style);

// The style that asks for the coder of a part of the standard, BlockCoderTraits::part.
uint32_t style_of_part(int part);
constexpr int kPart15 = 15;  // T.814, whose coder IMF's and DICOM's HT profiles have

}  // namespace cudaenc::j2k
