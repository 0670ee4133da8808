// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_coders.h"

#include <algorithm>

#include "../error.h"
#include "../option_checks.h"

namespace cudaenc::j2k {

namespace {

// The HT block coder (ITU-T T.814) codes one pass a block.
void check_ht(const Params &params, const CudaencJ2kOptions &options) {
    if (params.style != CUDAENC_J2K_HT) refuse("cblk_style ht is not allowed with another style: it is ht alone");
    const CudaencJ2kRateControl mode = params.rate.mode;
    if (mode != CUDAENC_J2K_RATE_NONE && mode != CUDAENC_J2K_RATE_PCRD && mode != CUDAENC_J2K_RATE_PSP)
        refuse("rate_control pst, psb and bpi are not allowed with cblk_style ht: allowed are psp, pcrd and auto");
    // A layer has whole blocks, so the last one has all.
    if (params.layers > 1 && (params.rate.layers.back() || params.rate.error != 0))
        refuse(format_string("layers %d is not allowed with cblk_style ht and a target: the last of layer_rates is 1",
                             params.layers));
    if (options.roi && *options.roi)
        refuse(format_string("roi '%s' is not allowed with cblk_style ht: there is none", options.roi));
}

// The bit-planes that decoders must hold, T.814 8.7.3: of magnitudes, with 9/7 of those at the samples' scale.
int magnitude_bound(const Params &p) {
    int bound = 0;
    for (const auto &bands : p.quantisers)
        for (int r = 0; r <= p.levels; r++)
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) {
                const Quantiser &q = bands[static_cast<size_t>(band_index(r, o))];
                const int level = r ? p.levels + 1 - r : p.levels, planes = q.planes - q.spare;
                bound = std::max(bound, p.reversible ? planes : planes + 1 - level);
            }
    return bound;
}

// T.814 A.3: all code-blocks are HT ones of one HT set, with no region of interest, of one style.
uint32_t ht_capabilities(const Params &p) {
    const int bound = p.reversible ? std::max(magnitude_bound(p), p.magnitude_bound) : magnitude_bound(p);
    return (p.reversible ? 0u : 1u << 5) | static_cast<uint32_t>(bound <= 8   ? 0
                                                                 : bound < 28 ? bound - 8
                                                                              : 13 + (bound >> 2));
}

// The MQ coder leaves out passes that are not worth their bits (worth_coding()), which a smaller step makes up for.
constexpr BlockCoderTraits kMqCoder{
    .most_passes = [](int planes, bool) { return coding_passes(planes); },
    .quality_step = 0.8,
    .frame_steps = false,
    .regions = true,
    .spare_planes = 0,
    .style = nullptr,
    .brand = "jp2 ",
    .part = 0,
    .capabilities = nullptr,
    .check = [](const Params &, const CudaencJ2kOptions &) {},
};
constexpr BlockCoderTraits kHtCoder{
    .most_passes = [](int planes, bool truncatable) { return truncatable ? planes : std::min(planes, 1); },
    .quality_step = 1,
    .frame_steps = true,
    .regions = false,
    .spare_planes = 1,  // it costs nothing, and FFmpeg's decoder refuses magnitudes that fill all
    .style = "ht",
    .brand = "jph ",  // T.814 Annex D
    .part = kPart15,
    .capabilities = ht_capabilities,
    .check = check_ht,
};

}  // namespace

uint32_t style_of_part(int part) { return part == kHtCoder.part ? CUDAENC_J2K_HT : 0; }

const BlockCoderTraits &block_coder_traits(uint32_t style) { return style & CUDAENC_J2K_HT ? kHtCoder : kMqCoder; }

}  // namespace cudaenc::j2k
