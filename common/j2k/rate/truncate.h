// SPDX-License-Identifier: LGPL-2.1-or-later
// Truncation of codewords at the thresholds of the rate allocation.
#pragma once
#include <cstdint>

#include "allocate.h"

namespace cudaenc::j2k {

// The passes up to the last truncation point at or above a threshold. Threshold 1 takes all.
CUDAENC_HD int passes_at_or_above(const HullSlopes<const uint16_t> &slopes, int always_included, int passes,
                                  uint32_t threshold) {
    const auto is_above = [&](int pass) {
        return pass >= always_included - 1 && slopes[pass] && slopes[pass] >= threshold;
    };
    while (passes && threshold > 1 && !is_above(passes - 1)) passes--;
    return passes;
}
// ... of the points that may be taken. pass_bytes: [pass].
CUDAENC_HD int passes_at_or_above(const HullSlopes<const uint16_t> &slopes, int always_included, int passes,
                                  uint32_t threshold, const uint32_t *pass_bytes, const TruncationChoice &choice) {
    int kept = passes_at_or_above(slopes, always_included, passes, max_of(threshold, choice.all_from));
    if (threshold >= choice.all_from) return kept;
    for (int pass = max_of(kept, always_included - 1); pass < passes; pass++) {
        if (!slopes[pass]) continue;
        const uint32_t more = pass_bytes[pass] - (kept ? pass_bytes[kept - 1] : 0);
        if (slopes[pass] < threshold || !choice.takes(slopes[pass], more)) break;
        kept = pass + 1;
    }
    return kept;
}

// Of the bytes of so many passes, those of MQ segments; 0 where the last segment is raw.
CUDAENC_HD uint32_t mq_bytes_of(uint32_t style, int passes, uint32_t bytes, const uint32_t *pass_bytes) {
    uint32_t mq = 0;
    bool raw = false;
    for_each_segment(style, 0, passes, 0, bytes, pass_bytes, [&](int first, int, uint32_t segment_bytes) {
        raw = is_raw(style, first);
        mq += raw ? 0 : segment_bytes;
    });
    return raw ? 0 : mq;
}

// Terminates the codeword of a block's first `passes`: the bytes of `termination` (CodewordEnd) change places with
// those that the codeword had there. A second call lets the codeword go on. byte: see truncate_block().
template <class Byte>
CUDAENC_HD void swap_termination(uint32_t style, int passes, const uint32_t *pass_bytes, uint32_t &termination,
                                 const Byte &byte) {
    const uint32_t count = termination & 0xFF;
    if (!count) return;
    const uint32_t bytes = pass_bytes[passes - 1], mq = mq_bytes_of(style, passes, bytes, pass_bytes);
    uint32_t others = count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t &at = byte(mq - count + i, bytes - count + i);
        others |= uint32_t{at} << (8 * i + 8);
        at = static_cast<uint8_t>(termination >> (8 * i + 8));
    }
    termination = others;
}

// Truncates a block of `passes` at the thresholds of its group. Calls body(layer, LayerEnd) for each layer. pass_bytes,
// terminations: [pass]. byte(i, j): a byte of the MQ coder, i among its own, j among all. last: the codeword is
// terminated. again: the block was truncated before, and small truncation points may be added: see TruncationChoice.
template <class Byte, class Body>
CUDAENC_HD void truncate_block(const RateAllocation &allocation, uint32_t group, int layers, uint32_t style,
                               int always_included, int passes, const HullSlopes<const uint16_t> &slopes,
                               const uint32_t *pass_bytes, uint32_t *terminations, bool last, bool again,
                               const Byte &byte, const Body &body) {
    const auto passes_of = [&](int layer) {
        const uint32_t threshold = max_of(allocation.threshold[layer], allocation.group_threshold[group]);
        return again ? passes_at_or_above(slopes, always_included, passes, threshold, pass_bytes,
                                          allocation.choice[layer])
                     : passes_at_or_above(slopes, always_included, passes, threshold);
    };
    const int all = passes_of(layers - 1);
    const uint32_t bytes = all ? pass_bytes[all - 1] : 0;
    // Its bytes are in place in the end only.
    const uint32_t termination = all ? terminations[all - 1] : 0, first_of_termination = bytes - (termination & 0xFF);
    const auto termination_byte = [&](uint32_t i) {
        return static_cast<uint8_t>(termination >> (8 * (i - first_of_termination) + 8));
    };
    if (last && all) swap_termination(style, all, pass_bytes, terminations[all - 1], byte);
    // Bytes that suffice to decode some passes, up to the segment's end at most. They do not end with 0xFF, since what
    // follows in the packet would make a marker of it.
    const auto enough = [&](int kept) {
        if (kept == all) return bytes;
        const uint32_t ending = terminations[kept - 1] & 0xFF;
        uint32_t count = min_of(pass_bytes[kept - 1] + (ending ? 5 - ending : 0), bytes);
        for (int pass = kept - 1; pass < all - 1; pass++)
            if (ends_segment(style, pass)) {
                count = min_of(count, pass_bytes[pass]);
                break;
            }
        // Where nothing is to be terminated, the last byte is the segment's, and not 0xFF.
        const uint32_t mq = ending ? mq_bytes_of(style, kept, count, pass_bytes) : 0;
        if (!mq) return count;
        const uint8_t end = count > first_of_termination ? termination_byte(count - 1) : byte(mq - 1, count - 1);
        return end == 0xFF ? count - 1 : count;
    };
    LayerEnd end{0, 0};
    for (int layer = 0; layer < layers; layer++) {
        int kept = layer < layers - 1 ? min_of(passes_of(layer), all) : all;
        if (kept > end.passes) {
            const uint32_t count = max_of(enough(kept), end.bytes);
            // Passes that need no byte more are in the layer too.
            while (kept < all && enough(kept + 1) <= count) kept++;
            end = {static_cast<uint8_t>(kept), count};
        }
        body(layer, end);
    }
}

}  // namespace cudaenc::j2k
