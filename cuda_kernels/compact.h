// SPDX-License-Identifier: LGPL-2.1-or-later
// The prefix sum of compact.cu.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "../common/device.h"
#include "compact_params.h"

namespace cudaenc {

// The elements of scratch memory that prefix_sum() needs for n sizes of an array; at least 1.
size_t prefix_sum_partials(uint32_t n);

// Queues launches that turn sizes[n] into offsets[n + 1], of each array: offsets[i] is the sum of the sizes before i,
// offsets[n] that of all. n is at most 2^26, arrays are at most prefix_sum_most_arrays. All pointers are to device
// memory; `partials` is scratch memory of these launches. Throws Error as Device::launch() does.
void prefix_sum(Device &device, Device::Stream stream, std::initializer_list<PrefixSumArray> arrays, uint32_t n,
                uint64_t *partials);

}  // namespace cudaenc
