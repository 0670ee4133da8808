// SPDX-License-Identifier: LGPL-2.1-or-later
// A codestream to samples on CPU threads.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "../thread_pool.h"
#include "decoder_params.h"

namespace cudaenc::j2k {

// Takes samples of a row of a component, from column x and row y of component_extent() of the region on: in the range
// of their depth, signed ones around 0.
using TakeSamples = std::function<void(size_t component, int x, int y, std::span<const int32_t> samples)>;

// Decodes a codestream whose headers are read. Rows come from any thread, each sample once. Returns what is damaged:
// there samples are what the rest tells; empty: nothing is. Throws Error as make_decoder_geometry() does.
std::string decode_codestream(std::span<const uint8_t> codestream, const Description &description,
                              const DecoderOptions &options, ThreadPool &pool, const TakeSamples &take);

}  // namespace cudaenc::j2k
