// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <type_traits>

#include "../../../common/h264/syntax/macroblock.h"

namespace cudaenc::h264 {

// Samples of decoded pictures that P pictures refer to: bytes of 4:2:0 with 8 bits, else 16 bits.
constexpr int decoded_sample_bytes(ChromaFormat format, int bit_depth) {
    return format == ChromaFormat::c420 && bit_depth == 8 ? 1 : 2;
}
template <int Bytes>
using DecodedSample = std::conditional_t<Bytes == 1, uint8_t, uint16_t>;

// Calls use.operator()<F, Bytes>(), of a format's kernels.
template <class Use>
auto with_decoded(ChromaFormat format, int bit_depth, const Use &use) {
    if (decoded_sample_bytes(format, bit_depth) == 1) return use.template operator()<ChromaFormat::c420, 1>();
    return with_format(format, [&]<ChromaFormat F>() { return use.template operator()<F, 2>(); });
}

}  // namespace cudaenc::h264
