// SPDX-License-Identifier: LGPL-2.1-or-later
// Context modelling of whole blocks: a kernel for each variant of styles and policies that the product needs, for small
// blocks and for tiled ones.
#include "model.cuh"

namespace cudaenc::j2k {

constexpr int kContextThreads = kContextWarps * 32, kPlanesWords = kContextWarps * kMaxPlanes * 32;

// ---- A warp owns a block.

DEVICE NoSegments no_segments(const OneTile &, uint32_t, int) { return {}; }

KERNEL_BLOCKS(kContextThreads, 9, j2k_t1_context, ContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    model_small_block<StyleVariant::kNone, KeepAll>(p, block_of_warp(), 0, planes, no_segments);
}

KERNEL_BLOCKS(kContextThreads, 7, j2k_t1_context_predicted, PredictedContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    model_small_block<StyleVariant::kNone, Predict>(p, block_of_warp(), 0, planes, no_segments);
}

// raw: shared, kTileRawWords a warp.
template <StyleVariant kStyle, class Policy, class P>
DEVICE void model_styled_block(const P &p, const BlockCoding &coding, uint32_t *planes, uint32_t *raw) {
    model_small_block<kStyle, Policy>(p, block_of_warp(), coding.style, planes,
                                      MakeRawSegments{p.t1, coding, raw + warp_id() * kTileRawWords});
}

KERNEL_BLOCKS(kContextThreads, 8, j2k_t1_context_bypass, BypassContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<StyleVariant::kBypass, KeepAll>(p, {kBypass, false}, planes, raw);
}

KERNEL_BLOCKS(kContextThreads, 7, j2k_t1_context_bypass_predicted, BypassPredictedContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<StyleVariant::kBypass, Predict>(p, {kBypass, true}, planes, raw);
}

KERNEL_BLOCKS(kContextThreads, 8, j2k_t1_context_styled, StyledContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<StyleVariant::kAny, KeepAll>(p, {p.style, false}, planes, raw);
}

KERNEL_BLOCKS(kContextThreads, 8, j2k_t1_context_styled_predicted, StyledPredictedContextParams) {
    SHARED(uint32_t, planes, kPlanesWords);
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_styled_block<StyleVariant::kAny, Predict>(p, {p.style, true}, planes, raw);
}

// ---- A thread-block owns a block, a warp a tile of it.

KERNEL(1024, j2k_t1_context_tiled, ContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_block<StyleVariant::kNone, KeepAll>(p, 0, words, totals, nullptr);
}

KERNEL(1024, j2k_t1_context_tiled_predicted, PredictedContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_block<StyleVariant::kNone, Predict>(p, 0, words, totals, nullptr);
}

KERNEL(1024, j2k_t1_context_tiled_bypass, BypassContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<StyleVariant::kBypass, KeepAll>(p, kBypass, words, totals, raw);
}

KERNEL(1024, j2k_t1_context_tiled_bypass_predicted, BypassPredictedContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<StyleVariant::kBypass, Predict>(p, kBypass, words, totals, raw);
}

KERNEL(1024, j2k_t1_context_tiled_styled, StyledContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<StyleVariant::kAny, KeepAll>(p, p.style, words, totals, raw);
}

KERNEL(1024, j2k_t1_context_tiled_styled_predicted, StyledPredictedContextTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_block<StyleVariant::kAny, Predict>(p, p.style, words, totals, raw);
}

}  // namespace cudaenc::j2k
