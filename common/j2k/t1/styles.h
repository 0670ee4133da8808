// SPDX-License-Identifier: LGPL-2.1-or-later
// Code-block styles (T.800 Table A.19): which passes are raw, where codeword segments end, and how long they are.
#pragma once
#include <cstdint>

#include "../../hd.h"

namespace cudaenc::j2k {

// Bits of the style as the COD marker segment has them.
enum Style : uint32_t {
    kBypass = 1,                   // selective arithmetic coding bypass: raw passes
    kReset = 2,                    // contexts begin anew with each pass
    kTermAll = 4,                  // a codeword segment a pass
    kVerticallyCausal = 8,         // contexts know nothing of the next stripe
    kPredictableTermination = 16,  // segments end as D.4.2 says
    kSegmentationSymbols = 32,     // 1 0 1 0 at the end of each clean-up pass
    kStyles = 64,                  // combinations of these
    kRefinedCleanUp = 256,         // no style of T.800: a clean-up pass and up to two that refine it, see block.h
};

// Coding passes are counted from a block's first one, which is a clean-up pass.
enum PassKind { kSignificancePropagation, kMagnitudeRefinement, kCleanUp };
CUDAENC_HD constexpr int pass_kind(int pass) { return (pass + 2) % 3; }
CUDAENC_HD constexpr int clean_up_passes(int passes) { return (passes + 2) / 3; }

// Whether a pass bypasses the MQ coder: from the fifth bit-plane on all but clean-up passes (D.6).
constexpr int kFirstRawPass = 10;
CUDAENC_HD constexpr bool is_raw(uint32_t style, int pass) {
    return (style & kBypass) && pass >= kFirstRawPass && pass_kind(pass) != kCleanUp;
}

// The last pass of the codeword segment that a pass is in, if the block has so many (Tables D.8, D.9).
CUDAENC_HD constexpr int segment_end(uint32_t style, int pass) {
    if (style & kTermAll) return pass;
    if (style & kRefinedCleanUp) return pass ? 2 : 0;
    if (!(style & kBypass)) return 0x7FFFFFFF;
    return pass < kFirstRawPass ? kFirstRawPass - 1 : pass + (pass_kind(pass) == kSignificancePropagation);
}
// Whether a segment ends behind the pass, as it does behind a block's last one in any case.
CUDAENC_HD constexpr bool ends_segment(uint32_t style, int pass) { return segment_end(style, pass) == pass; }

// Whether a truncation point lies behind the pass. None lies within a raw segment whose end the style promises.
CUDAENC_HD constexpr bool can_truncate(uint32_t style, int pass) {
    return !(style & kPredictableTermination) || !is_raw(style, pass) || ends_segment(style, pass);
}

// Calls body(first pass, passes, bytes) for each segment, and for what [first, last) have of those that begin before or
// end behind them. pass_bytes[i]: bytes of the block up to the end of pass i, read where segments end; `before` bytes
// are those up to `first`, `bytes` those up to `last`.
template <class Body>
CUDAENC_HD void for_each_segment(uint32_t style, int first, int last, uint32_t before, uint32_t bytes,
                                 const uint32_t *pass_bytes, const Body &body) {
    for (int end = segment_end(style, first); end < last - 1; end = segment_end(style, first)) {
        body(first, end + 1 - first, pass_bytes[end] - before);
        first = end + 1;
        before = pass_bytes[end];
    }
    if (first < last) body(first, last - first, bytes - before);
}

// The most segments that so many passes make.
CUDAENC_HD constexpr int most_segments(uint32_t style, int passes) {
    return style & kTermAll          ? passes
           : style & kRefinedCleanUp ? min_of(passes, 2)
           : style & kBypass         ? 1 + (passes > kFirstRawPass ? (passes - kFirstRawPass + 2) / 3 * 2 : 0)
                                     : 1;
}

}  // namespace cudaenc::j2k
