// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice of levels of JPEG's trellis: what may become of a level, bits and errors against what was before, costs
// against the best of all choices.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../common/mjpeg/fdct.h"
#include "../../common/mjpeg/headers.h"
#include "../../common/mjpeg/trellis.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::mjpeg;
using namespace cudaenc::testing;

namespace {

// In the zig-zag sequence.
struct Block {
    int32_t coefficient[kBlockSamples];  // of fdct.h
    int32_t level[kBlockSamples];
};

struct Quality {
    int table;
    uint8_t divisors[kBlockSamples];  // by index
    int32_t lambda;
    int32_t step(int place) const { return 8 * divisors[kZigzag[place]]; }
};
Quality random_quality(Random &random) {
    Quality q{.table = random.between(0, 1), .divisors = {}, .lambda = 0};
    const bool flat = random.one_in(3);
    const int32_t scale = scale_of_quality(random.between(1, 100));
    for (int i = 0; i < kBlockSamples; i++)
        q.divisors[i] = static_cast<uint8_t>(scaled_divisor(flat ? kMpegNonIntra : kQuantisation[q.table][i], scale));
    q.lambda = lambda_of(q.divisors);
    return q;
}

// Samples that vary from smooth ones to black and white at random.
Block random_block(Random &random, const Quality &q) {
    const int roughness = random.between(0, 8), slope_x = random.between(-9, 9), slope_y = random.between(-9, 9);
    int32_t c[kBlockSamples], v[8];
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) {
            const int noise = roughness == 8 ? 255 * random.between(-1, 1) : random.between(-1, 1) << roughness;
            v[x] = std::clamp(slope_x * x + slope_y * y + noise, -128, 127);
        }
        fdct<FdctPass::rows>(v);
        std::copy_n(v, 8, c + 8 * y);
    }
    Block block;
    for (int x = 0; x < 8; x++) {
        for (int y = 0; y < 8; y++) v[y] = c[8 * y + x];
        fdct<FdctPass::columns>(v);
        for (int y = 0; y < 8; y++) c[8 * y + x] = v[y];
    }
    for (int k = 0; k < kBlockSamples; k++) {
        block.coefficient[k] = c[kZigzag[k]];
        block.level[k] = quantise_wide(c[kZigzag[k]], wide_reciprocal_of(q.divisors[kZigzag[k]]));
    }
    return block;
}

uint64_t nonzero_of(const Block &block) {
    uint64_t nonzero = 0;
    for (int k = 1; k < kBlockSamples; k++) nonzero |= uint64_t{block.level[k] != 0} << k;
    return nonzero;
}

Block choose(const Block &block, const Quality &q) {
    static const AcLengths lengths = annexk_lengths();
    Block chosen = block;
    const PlaceSet kept = choose_levels(
        PlaceSet{nonzero_of(block)}, lengths.of[q.table], q.lambda,
        [&](int k) -> QuantisedLevel { return {std::abs(block.coefficient[k]), q.step(k), std::abs(block.level[k])}; },
        [&](int k, int32_t level) { chosen.level[k] = block.level[k] < 0 ? -level : level; });
    for (int k = 1; k < kBlockSamples; k++)
        if (!(kept.bits >> k & 1)) chosen.level[k] = 0;
    return chosen;
}

// A sink of code_block() that adds up the bits of AC codes.
struct BitCounter {
    const CodeTables codes = make_codes(default_huffman(), kTables);
    int table = 0;
    int64_t bits = 0;
    void put_dc(uint32_t, uint32_t) {}
    void put_ac(uint32_t symbol, uint32_t) { bits += word_length(codes.ac[table][symbol]); }
};
int64_t bits_of(const Block &block, const Quality &q) {
    static BitCounter counter;
    counter.table = q.table;
    counter.bits = 0;
    code_block(
        0, ZeroRuns(nonzero_of(block)), [&, k = 0](int steps) mutable { return block.level[k += steps]; }, counter);
    return counter.bits;
}
// Of the errors of AC levels, less that of levels of 0.
int64_t error_cost_of(const Block &block, const Quality &q) {
    int64_t cost = 0;
    for (int k = 1; k < kBlockSamples; k++) {
        const int64_t level = block.level[k], step = q.step(k), c = block.coefficient[k];
        cost += ((c - step * level) * (c - step * level) - c * c) / step << kCostFraction;
    }
    return cost;
}
int64_t cost_of(const Block &block, const Quality &q) { return error_cost_of(block, q) + q.lambda * bits_of(block, q); }

// The least cost of all choices, by all levels that may come before each.
int64_t least_cost(const Block &block, const Quality &q) {
    const auto length = [&](uint32_t symbol) {
        static const CodeTables codes = make_codes(default_huffman(), kTables);
        return int64_t{word_length(codes.ac[q.table][symbol])};
    };
    std::vector<std::pair<int, int64_t>> ways{{0, 0}};  // the last place, and the cost so far
    int64_t least = q.lambda * length(kEob);
    for (int k = 1; k < kBlockSamples; k++) {
        const int64_t c = std::abs(block.coefficient[k]);
        const int level = std::abs(block.level[k]);
        if (!level) continue;
        int64_t cost = INT64_MAX;
        for (const auto &[place, before] : ways)
            for (int to = std::max(level - 1, 1); to <= level; to++) {
                const int run = k - place - 1;
                const int64_t error = (q.step(k) * to - 2 * c) * to << kCostFraction;
                cost = std::min(cost, before + error +
                                          q.lambda * (run / 16 * length(kZrl) +
                                                      length(ac_symbol(run % 16, magnitude_category(to)))));
            }
        ways.push_back({k, cost});
        least = std::min(least, cost + (k == kBlockSamples - 1 ? 0 : q.lambda * length(kEob)));
    }
    return least;
}

START_TEST(lambda_follows_the_divisors) {
    const double of_one = 2.0 / 3 * std::log(2.0) / 6 * 8 * (1 << kCostFraction);
    for (int q = 1; q <= 255; q++) {
        uint8_t flat[kBlockSamples];
        std::fill_n(flat, kBlockSamples, static_cast<uint8_t>(q));
        EXPECT(std::fabs(lambda_of(flat) - of_one * q) < 0.51, "%d of divisor %d", lambda_of(flat), q);
    }
    uint8_t mixed[kBlockSamples];
    double reciprocals = 0;
    for (int i = 0; i < kBlockSamples; i++) mixed[i] = static_cast<uint8_t>(i ? 4 * i : 1);
    for (int i = 1; i < kBlockSamples; i++) reciprocals += 1.0 / mixed[i];
    EXPECT(std::fabs(lambda_of(mixed) - of_one * 63 / reciprocals) < 0.51, "%d", lambda_of(mixed));
}
END_TEST

START_TEST(choices) {
    Random random(1);
    int blocks = 0, smaller = 0, zeros = 0, lower = 0, best = 0;
    double excess = 0, most = 0;
    for (int i = 0; i < 3000; i++) {
        const Quality q = random_quality(random);
        for (int j = 0; j < 20; j++) {
            const Block block = random_block(random, q), chosen = choose(block, q);
            for (int k = 0; k < kBlockSamples; k++) {
                const int was = std::abs(block.level[k]), is = std::abs(chosen.level[k]);
                EXPECT(chosen.level[k] == 0 || (chosen.level[k] < 0) == (block.level[k] < 0), "a sign");
                EXPECT(is == was || (k && (is == 0 || is == was - 1)), "place %d: %d becomes %d", k, was, is);
                zeros += was && !is;
                lower += is && is < was;
            }
            const int64_t bits = bits_of(chosen, q), bits_before = bits_of(block, q);
            EXPECT(bits <= bits_before, "%lld bits instead of %lld", static_cast<long long>(bits),
                   static_cast<long long>(bits_before));
            const int64_t cost = cost_of(chosen, q), before = cost_of(block, q), least = least_cost(block, q);
            EXPECT(cost <= before, "cost %lld instead of %lld", static_cast<long long>(cost),
                   static_cast<long long>(before));
            EXPECT(cost >= least, "cost %lld below the least of all choices, %lld", static_cast<long long>(cost),
                   static_cast<long long>(least));
            blocks++;
            smaller += bits < bits_before;
            if (before == least) continue;
            best += cost == least;
            const double left = static_cast<double>(cost - least) / static_cast<double>(before - least);
            excess += left;
            most = std::max(most, left);
        }
    }
    std::printf(
        "of %d blocks %d are smaller: %d levels become 0, %d one less; in %d nothing costs less, %.2f %% is left\n",
        blocks, smaller, zeros, lower, best, 100 * excess / blocks);
    EXPECT(smaller > blocks / 4 && zeros && lower, "little is chosen");
    EXPECT(excess < 0.02 * blocks, "%.2f %% of what can be saved is left", 100 * excess / blocks);
}
END_TEST

START_TEST(nothing_to_choose) {
    Random random(2);
    for (int i = 0; i < 200; i++) {
        Quality q = random_quality(random);
        for (uint8_t &divisor : q.divisors) divisor = std::max<uint8_t>(divisor, 16);
        const Block block = random_block(random, q);
        // Where bits cost nothing, no error is made; where they cost all, no level stays.
        q.lambda = 0;
        EXPECT(error_cost_of(choose(block, q), q) == error_cost_of(block, q), "errors without need");
        q.lambda = 1 << 24;
        const Block empty = choose(block, q);
        EXPECT(nonzero_of(empty) == 0 && empty.level[0] == block.level[0], "levels stay");
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_trellis");
    TCase *c = add_case(suite, "trellis");
    tcase_add_test(c, lambda_follows_the_divisors);
    tcase_add_test(c, choices);
    tcase_add_test(c, nothing_to_choose);
    return run_suite(suite);
}
