// Meeting a packet's size by the choice of the matrices' scale. SPDX-License-Identifier: LGPL-2.1-or-later
//
// A trial is the exact size of the picture's Huffman codes at a scale. What a scale gives is first estimated from a
// histogram of all AC coefficients by the scale above which each becomes 0; each trial then says by how much the
// estimate is wrong for this picture. All in integers, so that every device makes the same choices.
#pragma once
#include <cstdint>

#include "../hd.h"
#include "geometry.h"
#include "quantise.h"

namespace cudaenc::mjpeg {

constexpr int kRateBins = 256;  // 8 an octave

// 16 times the scale at which a coefficient of 1 becomes 0, by the matrix's value.
CUDAENC_HD constexpr uint32_t rate_threshold(uint32_t divisor) { return (40000 + divisor / 2) / divisor; }

// The bin of an AC coefficient of fdct.h that is not 0. threshold: rate_threshold() of its index, at least 16.
CUDAENC_HD int rate_bin(int32_t coefficient, uint32_t threshold) {
    const uint32_t t = static_cast<uint32_t>(coefficient < 0 ? -coefficient : coefficient) * threshold;
    const int octave = floor_log2(t);
    return (octave - 3) * 8 + static_cast<int>(t >> (octave - 3) & 7);
}

// Bits that AC coefficients and blocks take at a scale, roughly; falls as the scale grows. In 1/64: as many as
// photographs took, but for a few per cent.
CUDAENC_HD uint64_t estimate_bits(const uint32_t *bins, uint64_t blocks, int32_t scale) {
    // A coefficient takes kFirst when it becomes 1, and kStep more with each eighth of an octave.
    constexpr uint64_t kFirst = 238, kStep = 9, kBlock = 256;
    const uint32_t scale16 = static_cast<uint32_t>(max_of(scale, 1)) * 16;
    uint64_t bits = blocks * kBlock;
    const int first = rate_bin(1, scale16);
    // The bin of the scale itself: so many of its 1024 parts lie above.
    const int octave = first / 8 + 3;
    const uint64_t within = (uint64_t{scale16} << 10 >> (octave - 3)) & 1023;
    for (int bin = first; bin < kRateBins; bin++) {
        const uint64_t bin_bits = bins[bin] * (kFirst + kStep * static_cast<uint64_t>(bin - first));
        bits += bin == first ? bin_bits * (1024 - within) >> 10 : bin_bits - (bins[bin] * kStep * within >> 10);
    }
    return bits;
}

// Bytes of so many bits of codes, with the zeros that are stuffed into random ones.
CUDAENC_HD uint64_t coded_bytes(uint64_t bits) { return bits / 8 + bits / 2048; }
// Restart markers, and what fills the bytes before them.
CUDAENC_HD uint64_t marker_bytes(const ScanGrid &scan) {
    return scan.restart_interval ? static_cast<uint64_t>((scan.mcus() - 1) / scan.restart_interval) * 5 / 2 : 0;
}

// next() gives scales to try, each followed by tried(); it ends with -1, and `best` is the scale to code with.
struct RateSearch {
    uint64_t target;       // bytes
    const uint32_t *bins;  // [kRateBins]
    uint64_t blocks;
    int32_t low, high;  // scales that may be better: those below are known to be too large, those above too small
    int32_t best = 0;
    uint64_t best_error = ~uint64_t{0};
    uint64_t size = 0, estimate = 0;  // of the last trial: bytes, and what estimate_bits() says
    int32_t trials = 0;

    static constexpr int32_t kTrials = 12;
    static constexpr uint64_t kTolerance = 40;  // one part in so many of the target is near enough

    CUDAENC_HD int32_t next() const {
        if (trials && (best_error <= target / kTolerance || trials == kTrials || high < low)) return -1;
        // The scale at which the estimate, corrected by the last trial, is the target. 2^20 parts keep it in 64 bits.
        const uint64_t correction = trials ? (estimate << 20) / max_of<uint64_t>(size, 1) : uint64_t{512} << 20;
        const uint64_t wanted = target * (correction >> 10) >> 10;
        int32_t from = low, to = high;
        while (from < to) {
            const int32_t middle = from + (to - from) / 2;
            if (estimate_bits(bins, blocks, middle) > wanted)
                from = middle + 1;
            else
                to = middle;
        }
        // Estimates may be off for good: after some trials, halve what is left, in octaves.
        if (trials >= 4) {
            const int32_t a = max_of(low, 1), b = high;
            int32_t middle = a;
            while (int64_t{middle} * middle < int64_t{a} * b) middle += middle / 64 + 1;
            from = min_of(max_of(middle, low), high);
        }
        return from;
    }
    CUDAENC_HD void tried(int32_t scale, uint64_t bytes) {
        trials++;
        size = bytes;
        estimate = estimate_bits(bins, blocks, scale);
        const uint64_t error = bytes > target ? bytes - target : target - bytes;
        if (error < best_error) {
            best = scale;
            best_error = error;
        }
        if (bytes > target)
            low = scale + 1;
        else
            high = scale - 1;
    }
};

// Searches: trial(scale) codes at a scale and returns how many bytes that takes. The last one that it is called with is
// the best.
template <class Trial>
void search_scale(RateSearch &search, const Trial &trial) {
    int32_t last = -1;
    for (int32_t scale; (scale = search.next()) >= 0; last = scale) search.tried(scale, trial(scale));
    if (search.best != last) trial(search.best);
}

}  // namespace cudaenc::mjpeg
