// SPDX-License-Identifier: LGPL-2.1-or-later
// From samples to quantised coefficients: conversion to X'Y'Z', load, component transform, wavelet transform,
// quantisation, region of interest.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "../../thread_pool.h"
#include "transform_plan.h"

namespace cudaenc::j2k {

// Of a frame in flight.
struct TransformBuffers {
    TransformBuffers() = default;
    TransformBuffers(const TransformPlan &plan);
    std::vector<uint16_t> xyz;                            // planes of TransformPlan::xyz
    std::vector<uint32_t> ll_odd, ll_even, coefficients;  // see TileComponent
};

// layouts: of the samples of each component. With TransformPlan::xyz they become those of X'Y'Z'.
void transform(ThreadPool &pool, const TransformPlan &plan, std::span<SampleLayout> layouts, TransformBuffers &buffers);

}  // namespace cudaenc::j2k
