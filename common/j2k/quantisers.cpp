// SPDX-License-Identifier: LGPL-2.1-or-later
#include "quantisers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "../hd.h"
#include "block_coders.h"
#include "t1/slope.h"
#include "transform/dwt.h"
#include "transform/quantise.h"

namespace cudaenc::j2k {

namespace {

using Filter = std::vector<double>;

Filter upsample_and_convolve(const Filter &a, const Filter &b, size_t factor) {
    Filter r(a.size() + (b.size() - 1) * factor);
    for (size_t i = 0; i < a.size(); i++)
        for (size_t j = 0; j < b.size(); j++) r[i + j * factor] += a[i] * b[j];
    return r;
}

double sum_of_magnitudes(const Filter &filter) {
    double sum = 0;
    for (double x : filter) sum += std::fabs(x);
    return sum;
}

double norm(const Filter &filter) {
    double sum = 0;
    for (double x : filter) sum += x * x;
    return std::sqrt(sum);
}

// The filters from the signal to the sub-bands of each level, on the signal's grid.
class FilterBank {
  public:
    FilterBank(const Filter &low, const Filter &high) : levels_{{{1.0}, {}}} {
        for (int level = 1; level <= kLevels; level++) {
            const size_t factor = size_t{1} << (level - 1);
            const Filter before = levels_.back().low;
            levels_.push_back(
                {upsample_and_convolve(before, low, factor), upsample_and_convolve(before, high, factor)});
        }
    }
    double band_sum(int level, int o) const { return product(level, o, sum_of_magnitudes); }
    // From kLevels on, a norm doubles with each level.
    double band_norm(int level, int o) const {
        return product(level, o, norm) * std::ldexp(1.0, std::max(level - kLevels, 0));
    }

  private:
    static constexpr int kLevels = 8;  // norms have converged by then
    struct Filters {
        Filter low, high;
    };
    // Of both directions' filters.
    double product(int level, int o, double (*measure)(const Filter &)) const {
        const Filters &f = levels_[std::min(level, kLevels)];
        return measure(o == kLL || o == kLH ? f.low : f.high) * measure(o == kLL || o == kHL ? f.low : f.high);
    }
    std::vector<Filters> levels_;
};

// log2_code() of a weight of the squared error.
int weight_code(double weight) {
    const int scale = std::min(24, 62 - std::ilogb(weight));  // bits
    return log2_code(static_cast<uint64_t>(std::ldexp(weight, scale)) + 1) - scale * kSlopeOctave;
}

// The norm of a component's column in the inverse ICT (T.800 G.3.2) or RCT (G.2.2, without rounding).
double component_norm(const Params &params, size_t c) {
    if (!params.mct || c > 2) return 1;
    if (c == 0) return std::sqrt(3.0);
    if (params.reversible) return std::sqrt(0.6875);
    return c == 1 ? std::sqrt(0.344136 * 0.344136 + 1.772 * 1.772) : std::sqrt(1.402 * 1.402 + 0.714136 * 0.714136);
}

// make(c, level, o): the quantiser of a component's sub-band.
template <class Make>
void set_each(Params &params, const Make &make) {
    params.quantisers.resize(params.components.size());
    for (size_t c = 0; c < params.components.size() && c < kQuantisedComponents; c++)
        for (int r = 0; r <= params.levels; r++)
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++)
                params.quantisers[c].push_back(make(c, r ? params.levels + 1 - r : params.levels, o));
    for (size_t c = kQuantisedComponents; c < params.components.size(); c++)
        params.quantisers[c] = params.quantisers[kQuantisedComponents - 1];
}

// T.800 E.1.1 fixes M_b = G + epsilon_b - 1. Without quantisation epsilon_b is free. It is the smallest that no input
// outgrows, by the largest sample and the sum of the analysis filters' magnitudes.
void set_reversible(Params &params) {
    static const FilterBank analysis({-0.125, 0.25, 0.75, 0.25, -0.125}, {-0.5, 1.0, -0.5});
    static const FilterBank synthesis({0.5, 1.0, 0.5}, {-0.125, -0.25, 0.75, -0.25, -0.125});
    set_each(params, [&](size_t c, int level, int o) -> Quantiser {
        // The RCT's differences have one bit more than the samples. With a target all components have their planes,
        // which takes less than QCC marker segments.
        const bool many = params.components.size() > kQuantisedComponents,
                   differs = params.mct && (c == 1 || c == 2 || ((c == 0 || many) && params.rate.target()));
        const double largest = std::ldexp(1.0, params.components[c].depth - (differs ? 0 : 1));
        // Two more a level for the lifting steps' rounding; a single odd sample is doubled in each direction.
        const double bound = std::max(largest * analysis.band_sum(level, o), o != kLL ? largest * 4 : 0.0) + 2 * level;
        const int fewest = bit_width(static_cast<uint32_t>(std::ceil(bound))),
                  spare = block_coder_traits(params.style).spare_planes,
                  room = params.magnitude_bound ? std::max(params.magnitude_bound, fewest) : fewest + spare,
                  planes = std::max(std::min(fewest + spare, room), params.guard_bits - 1);
        const double energy = synthesis.band_norm(level, o), norm = component_norm(params, c);
        return {.exponent = planes + 1 - params.guard_bits,
                .mantissa = 0,
                .inverse_step = 1,
                .planes = planes,
                .weight = weight_code(energy * energy * norm * norm)};
    });
}

// The synthesis filters of 9/7 (T.800 F.3.8.2), from the lifting parameters of dwt.h.
FilterBank synthesis_97() {
    // Synthesis undoes lifting: a low coefficient at 0 and a high one at 1, on even and odd positions.
    const auto impulse = [&](bool high) {
        Filter x(17);
        const size_t centre = 8 + (high ? 1 : 0);
        x[centre] = high ? 1 / kScale : kScale;
        const auto lift = [&](size_t first, double weight) {
            Filter y = x;
            for (size_t i = first; i < x.size(); i += 2)
                y[i] -= weight * ((i ? x[i - 1] : 0) + (i + 1 < x.size() ? x[i + 1] : 0));
            x = y;
        };
        lift(0, kDelta), lift(1, kGamma), lift(0, kBeta), lift(1, kAlpha);
        return x;
    };
    return {impulse(false), impulse(true)};
}

// Delta_b = 2^(R_b - epsilon_b) (1 + mu_b / 2^11), T.800 E.1.1, nearest to the step of `quality`.
// An error of a step weighs the same in the picture's mean square error in all sub-bands and components. So a step is
// the base step over the norms of the synthesis filters and of the inverse component transform. The base step, as a
// share of the samples' range, falls with quality as JPEG's tables do. At 100 it is below half of a code value. The
// block coder scales it. Quality 0 is for blocks that are truncated to a target: half of a code value; where frames
// choose their steps see fit_frame_steps(). No sub-band has more bit-planes than a float's significand has bits: the
// transform would not fill them, and decoders need not hold them.
constexpr int kFloatPlanes = 24;
// Of frames that choose their steps the finest, with which next to no sample of 8 bits is wrong. The session's have
// more bit-planes, so that thresholds of the frame's fall between those of the session's.
constexpr double kFinestStep = 0.15, kExactStep = 1.2;
constexpr int kSparePlanes = 2;
void set_irreversible(Params &params) {
    static const FilterBank synthesis = synthesis_97();
    const int quality = params.quality;
    const double scale = !quality ? 0 : quality < 50 ? 50.0 / quality : 2.0 * (1.0 - quality / 100.0);
    set_each(params, [&](size_t c, int level, int o) -> Quantiser {
        const Component &component = params.components[c];
        double base = quality ? (0.04 * scale * std::ldexp(1.0, component.depth) + 0.5) *
                                    block_coder_traits(params.style).quality_step
                      : params.frame_steps ? kFinestStep
                                           : 0.5;
        // With all passes coded, the error is a small part of what the target allows.
        if (!quality && params.rate.error != 0)
            base = std::min(base, std::sqrt(params.rate.error * squared_peak(component)) / 6);
        const double norm = component_norm(params, c), energy = synthesis.band_norm(level, o);
        // Where blocks are truncated, components have the same steps: QCC marker segments would take 76 bytes, and say
        // a tenth of a step.
        const bool by_component = c < 3 && (quality || block_coder_traits(params.style).frame_steps);
        const double weight = by_component ? norm / component_norm(params, 0) : 1;
        const double step = base / (weight * energy);
        const int nominal = component.depth + (o == kLL ? 0 : o == kHH ? 2 : 1);  // R_b
        int binary;
        const double fraction = std::frexp(step, &binary) * 2;  // step = fraction 2^(binary - 1), fraction in [1, 2)
        int exponent = nominal - (binary - 1);
        int mantissa = static_cast<int>((fraction - 1) * 2048 + 0.5);
        if (mantissa == 2048) mantissa = 0, exponent--;
        const int planes = params.magnitude_bound ? params.magnitude_bound + level - 1 : kFloatPlanes,
                  highest = std::min(planes, kFloatPlanes) + 1 - params.guard_bits;
        const int spare = params.frame_steps ? kSparePlanes + std::max(exponent - highest, 0) : 0;
        if (exponent > highest) exponent = highest, mantissa = 0;
        // A frame's larger steps may have an exponent less by one.
        const int least = params.frame_steps ? 1 : 0;
        if (exponent < least) exponent = least, mantissa = 2047;
        exponent += spare;
        const double coded = std::ldexp(1 + mantissa / 2048.0, nominal - exponent);
        return {.exponent = exponent,
                .mantissa = mantissa,
                .inverse_step = static_cast<float>(1 / coded),
                .planes = params.guard_bits + exponent - 1,
                .weight = weight_code(coded * coded * energy * energy * norm * norm),
                .spare = spare};
    });
}

// Where frames choose their steps, coefficients have 16 bits if steps of four times the finest fit these, as those of 8
// bits and 5 levels do. Then lower resolutions, whose sub-bands have the most bit-planes, leave out the lowest ones.
constexpr int kCoarserPlanes = 2;
void fit_frame_steps(Params &params) {
    const Quantiser &first = params.quantisers[0][0];
    const double exact = kExactStep * component_norm(params, 0);
    params.step_weights = {.finest = first.weight + 2 * kSlopeOctave * first.spare,
                           .exact = weight_code(exact * exact)};
    bool is_short = true;
    for (const auto &bands : params.quantisers)
        for (const Quantiser &q : bands)
            is_short = is_short && q.planes - std::max(q.spare, kSparePlanes + kCoarserPlanes) <= kShortPlanes;
    for (auto &bands : params.quantisers)
        for (Quantiser &q : bands) {
            const int less = std::max(q.planes - (is_short ? kShortPlanes : kFloatPlanes), 0);
            q.exponent -= less;
            q.planes -= less;
            q.inverse_step = std::ldexp(q.inverse_step, -less);
            q.weight += 2 * kSlopeOctave * less;
            q.spare = std::max(q.spare - less, 0);
        }
}

// What the eye sees of an error, of HL and LH, and of HH, from the finest level on (T.800 J.8, colour images). Coarser
// levels, and LL, have 1. Of chroma: Cb and Cr.
struct VisualWeight {
    double hl, hh;
};
constexpr VisualWeight kVisualLuma[] = {{0.275783, 0.090078}, {0.837755, 0.701837}, {0.999994, 0.999988}};
constexpr VisualWeight kVisualChroma[2][5] = {
    {{0.089950, 0.027441}, {0.267216, 0.141965}, {0.488887, 0.348719}, {0.679829, 0.567414}, {0.812612, 0.737656}},
    {{0.166647, 0.070185}, {0.375136, 0.236030}, {0.587213, 0.457826}, {0.749805, 0.655884}, {0.856065, 0.796593}},
};

// A magnitude's weight. Levels of a component that is sub-sampled both ways are coarser by as much.
double visual_weight(const Params &params, size_t c, int level, int o) {
    const bool colour = params.mct || params.color_model == CUDAENC_COLOR_YUV;
    const Component &component = params.components[c];
    const std::span<const VisualWeight> weights = colour && (c == 1 || c == 2)
                                                      ? std::span<const VisualWeight>(kVisualChroma[c - 1])
                                                      : std::span<const VisualWeight>(kVisualLuma);
    const size_t at =
        static_cast<size_t>(level - 2 + bit_width(static_cast<uint32_t>(std::min(component.dx, component.dy))));
    return o == kLL || at >= weights.size() ? 1 : o == kHH ? weights[at].hh : weights[at].hl;
}

// Rate control minimises a squared error that is weighted so. Steps stay.
void weigh_visually(Params &params) {
    for (size_t c = 0; c < params.components.size(); c++)
        for (int r = 1; r <= params.levels; r++)
            for (int o = kHL; o <= kHH; o++) {
                const double weight = visual_weight(params, c, params.levels + 1 - r, o);
                params.quantisers[c][static_cast<size_t>(band_index(r, o))].weight +=
                    weight_code(weight * weight) - weight_code(1);
            }
}

}  // namespace

void set_quantisers(Params &params) {
    if (params.reversible)
        set_reversible(params);
    else
        set_irreversible(params);
    if (params.frame_steps) fit_frame_steps(params);
    if (params.visual_weights) weigh_visually(params);
}

}  // namespace cudaenc::j2k
