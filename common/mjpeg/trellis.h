// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate-distortion optimised quantisation of AC levels.
//
// A level may stay, become one less in magnitude, or 0. Its cost is its squared error over its divisor, and lambda for
// each bit. The bits of a level depend on the run of zeros before it, thus on the level that is kept before it. Of all
// ways to keep levels up to a place two are followed: the one that keeps the level at the place, and the one of least
// cost. So a level takes bounded work, and decisions need no table.
#pragma once
#include <cstdint>

#include "../hd.h"
#include "huffman.h"
#include "tables.h"

namespace cudaenc::mjpeg {

// Bits of fraction of costs.
constexpr int kCostFraction = 6;

// What a bit is worth, lambda. The squared error of a uniform quantiser is q^2 / 12, and a bit more divides it by 4, so
// that a bit is worth 2 ln 2 q^2 / 12: over q that is ln 2 / 6 q. Two thirds of it keep more of what the eye sees
// (docs/experiments/jpeg-matrices.md). q is the harmonic mean of the AC divisors of luma (by index, 1..255),
// since most bits are in the finest. In units of fdct.h, 8 times as large. 39..10055.
inline int32_t lambda_of(const uint8_t (&luma)[kBlockSamples]) {
    constexpr int64_t kOne = int64_t{1} << 32;
    // 2^kCostFraction times 8 times 2/3 ln 2 / 6 times 63 divisors, in 1/1000.
    constexpr int64_t kNumerator = 2484240;
    int64_t reciprocals = 0;
    for (int i = 1; i < kBlockSamples; i++) reciprocals += kOne / luma[i];
    return static_cast<int32_t>((kNumerator * kOne / reciprocals + 500) / 1000);
}

// By table and symbol, the bits of an AC code and of the magnitude that follows it. They are Annex K's, also where
// tables are made for the picture afterwards.
struct AcLengths {
    uint8_t of[kTables][256];
};
inline AcLengths annexk_lengths() {
    AcLengths lengths{};
    uint32_t words[256];
    for (int table = 0; table < kTables; table++) {
        make_code_words(kAcHuffman[table], words, 256);
        for (int s = 0; s < 256; s++) lengths.of[table][s] = static_cast<uint8_t>(word_length(words[s]));
    }
    return lengths;
}

// A nonzero AC level before the choice: magnitudes of the coefficient of fdct.h and of its quotient by `step`, 8 times
// the divisor, rounded to the nearest.
struct QuantisedLevel {
    int32_t coefficient, step, level;

    // The cost of a level's error, less that of 0: at least -2^29 in a block, whose squared coefficients add up to
    // 2^26.
    CUDAENC_HD int32_t error_cost(int32_t of_level) const {
        return of_level * (step * of_level - 2 * coefficient) * (1 << kCostFraction);
    }
};

// A set of places of the zig-zag sequence, for hosts: bit k is place k.
struct PlaceSet {
    uint64_t bits;
    bool any() const { return bits != 0; }
    int first() const { return count_trailing_zeros(bits); }
    void add(int place) { bits |= uint64_t{1} << place; }
    void remove(int place) { bits &= ~(uint64_t{1} << place); }
};

// The levels that are kept up to a place.
template <class Places>
struct LevelPath {
    int32_t cost;   // less that of keeping none
    int32_t place;  // of the last one; 0: none
    Places kept;
};

// Chooses among the AC levels of a block. nonzero: their places, as PlaceSet has them; place 0 is ignored. lengths: a
// row of AcLengths. get(place) returns a QuantisedLevel; set(place, level) takes the magnitude to keep, if it is kept.
// Returns the places of those that are kept. With these codes no block takes more bits than before.
template <class Places, class Get, class Set>
CUDAENC_HD Places choose_levels(Places nonzero, const uint8_t *lengths, int32_t lambda, const Get &get,
                                const Set &set) {
    const auto price = [&](uint32_t symbol) { return lambda * lengths[symbol]; };
    const int32_t price_of_zrl = price(kZrl);
    LevelPath<Places> last{}, best{};
    for (nonzero.remove(0); nonzero.any(); nonzero.remove(last.place)) {
        const int place = nonzero.first();
        const QuantisedLevel now = get(place);
        const int category = bit_width(static_cast<uint32_t>(now.level));
        const int run = place - last.place - 1, longer_run = place - best.place - 1;
        // Costs up to the code of the level, then with it.
        const int32_t to_last = last.cost + (run >> 4) * price_of_zrl,
                      to_best = best.cost + (longer_run >> 4) * price_of_zrl;
        const uint32_t after_last = ac_symbol(run & 15, category), after_best = ac_symbol(longer_run & 15, category);
        const int32_t cost_last = to_last + price(after_last), cost_best = to_best + price(after_best);
        const bool skips = cost_best < cost_last;
        int32_t level = now.level, cost = min_of(cost_last, cost_best) + now.error_cost(level);
        // One less takes fewer bits only where it falls into the category below.
        const int32_t less = level - 1, cost_of_less = (skips ? to_best : to_last) +
                                                       price((skips ? after_best : after_last) - 1) +
                                                       now.error_cost(less);
        if (less && !(level & less) && cost_of_less < cost) {
            level = less;
            cost = cost_of_less;
        }
        set(place, level);
        last = {cost, place, skips ? best.kept : last.kept};
        last.kept.add(place);
        if (cost < best.cost) best = last;
    }
    return last.place == kBlockSamples - 1 && last.cost < best.cost + price(kEob) ? last.kept : best.kept;
}

}  // namespace cudaenc::mjpeg
