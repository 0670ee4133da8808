// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate control: the scale of the matrices that meets a packet size.
//
// A trial gives the exact size of the Huffman codes at a scale. A histogram of the AC coefficients, by the scale above
// which each becomes 0, gives an estimate; each trial corrects it for this picture. Integers make all devices choose
// alike.
#pragma once
#include <cstdint>

#include "../hd.h"
#include "geometry.h"
#include "quantise.h"

namespace cudaenc::mjpeg {

constexpr int kRateBins = 256;  // 8 an octave

// 16 times the scale above which a coefficient of 1 becomes 0. divisor: the value in the matrix.
CUDAENC_HD constexpr uint32_t rate_threshold(uint32_t divisor) { return (40000 + divisor / 2) / divisor; }

// The bin of a nonzero AC coefficient of fdct.h. threshold: rate_threshold() of its index, at least 16.
CUDAENC_HD int rate_bin(int32_t coefficient, uint32_t threshold) {
    const uint32_t t = static_cast<uint32_t>(coefficient < 0 ? -coefficient : coefficient) * threshold;
    const int octave = floor_log2(t);
    return (octave - 3) * 8 + static_cast<int>(t >> (octave - 3) & 7);
}

// The bits of AC coefficients and blocks at a scale, estimated, in 1/64 bit: falls as the scale grows. Fitted to
// photographs.
CUDAENC_HD uint64_t estimate_bits(const uint32_t *bins, uint64_t blocks, int32_t scale) {
    // A level of 1 takes kFirst, and each eighth of an octave above kStep more.
    constexpr uint64_t kFirst = 238, kStep = 9, kBlock = 256;
    const uint32_t scale16 = static_cast<uint32_t>(max_of(scale, 1)) * 16;
    uint64_t bits = blocks * kBlock;
    const int first = rate_bin(1, scale16);
    // The bin of the scale itself lies partly below it: so many 1024ths.
    const int octave = first / 8 + 3;
    const uint64_t within = (uint64_t{scale16} << 10 >> (octave - 3)) & 1023;
    for (int bin = first; bin < kRateBins; bin++) {
        const uint64_t bin_bits = bins[bin] * (kFirst + kStep * static_cast<uint64_t>(bin - first));
        bits += bin == first ? bin_bits * (1024 - within) >> 10 : bin_bits - (bins[bin] * kStep * within >> 10);
    }
    return bits;
}

// Bytes for so many bits of codes, with the zeros that random bits would need stuffed.
CUDAENC_HD uint64_t coded_bytes(uint64_t bits) { return bits / 8 + bits / 2048; }
// Bytes of restart markers, and of the padding before them.
CUDAENC_HD uint64_t marker_bytes(const ScanGrid &scan) {
    return scan.restart_interval ? static_cast<uint64_t>((scan.mcus() - 1) / scan.restart_interval) * 5 / 2 : 0;
}

// next() returns a scale to try, each followed by tried(), then -1: `best` is the scale to code with.
struct RateSearch {
    uint64_t target;       // bytes
    const uint32_t *bins;  // [kRateBins]
    uint64_t blocks;
    int32_t low, high;  // scales left: packets are too large below, too small above
    int32_t best = 0;
    uint64_t best_error = ~uint64_t{0};
    uint64_t size = 0, estimate = 0;  // of the last trial: bytes, and what estimate_bits() says
    int32_t trials = 0;

    static constexpr int32_t kTrials = 12;
    static constexpr uint64_t kTolerance = 40;  // the search ends within a 40th of the target

    CUDAENC_HD int32_t next() const {
        if (trials && (best_error <= target / kTolerance || trials == kTrials || high < low)) return -1;
        // The scale whose estimate, corrected by the last trial, is the target. 20 bits of fraction fit 64 bits.
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
        // Estimates may stay wrong: after some trials bisect the scales left, in octaves.
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

// Searches with trial(scale), which codes at a scale and returns the bytes. Its last call is for the best scale.
template <class Trial>
void search_scale(RateSearch &search, const Trial &trial) {
    int32_t last = -1;
    for (int32_t scale; (scale = search.next()) >= 0; last = scale) search.tried(scale, trial(scale));
    if (search.best != last) trial(search.best);
}

}  // namespace cudaenc::mjpeg
