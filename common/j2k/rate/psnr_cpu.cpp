// SPDX-License-Identifier: LGPL-2.1-or-later
#include "psnr_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>

#include "../../load_cpu.h"
#include "../dwt.h"
#include "../quantise.h"
#include "../roi.h"

namespace cudaenc::j2k {

namespace {

// ---- A block's coefficients as decoders know them after some passes.

// Who is coded by the significance propagation of a plane (T.800 D.3.1).
class Propagation {
  public:
    Propagation(const uint32_t *coefficients, const CodeBlock &b, int plane, bool causal)
        : columns_(b.width + 2), state_(static_cast<size_t>(columns_) * (b.height + 2)) {
        const auto magnitude = [&](int x, int y) {
            return coefficients[b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x)] &
                   ~kSignBit;
        };
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++) at(x, y) = magnitude(x, y) >> plane > 1 ? kSignificant : 0;
        for (int y0 = 0; y0 < b.height; y0 += 4)
            for (int x = 0; x < b.width; x++)
                for (int y = y0; y < std::min<int>(y0 + 4, b.height); y++) {
                    if (at(x, y)) continue;
                    const bool below = !causal || y + 1 < y0 + 4;
                    uint8_t near = at(x - 1, y) | at(x + 1, y);
                    for (int i = -1; i <= 1; i++) near |= at(x + i, y - 1) | (below ? at(x + i, y + 1) : 0);
                    if (near & kSignificant) at(x, y) = kCoded | (magnitude(x, y) >> plane & 1 ? kSignificant : 0);
                }
    }
    bool coded(int x, int y) const { return at(x, y) & kCoded; }

  private:
    static constexpr uint8_t kSignificant = 1, kCoded = 2;
    uint8_t &at(int x, int y) { return state_[static_cast<size_t>((y + 1) * columns_ + x + 1)]; }
    uint8_t at(int x, int y) const { return state_[static_cast<size_t>((y + 1) * columns_ + x + 1)]; }

    const int columns_;
    std::vector<uint8_t> state_;
};

// To the middle of what is known: down to bit-plane `plane`.
void reconstruct(uint32_t coefficient, int plane, const Quantiser &, int shift, int32_t &value) {
    uint32_t magnitude = (coefficient & ~kSignBit) >> plane << plane;
    if (magnitude && plane) magnitude |= 1u << (plane - 1);
    if (magnitude >> shift) magnitude >>= shift;
    value = coefficient & kSignBit ? -static_cast<int32_t>(magnitude) : static_cast<int32_t>(magnitude);
}
void reconstruct(uint32_t coefficient, int plane, const Quantiser &q, int shift, float &value) {
    const uint32_t magnitude = (coefficient & ~kSignBit) >> plane << plane;
    float x = magnitude ? static_cast<float>(magnitude) + static_cast<float>(1u << plane) / 2 : 0;
    if (magnitude >> shift) x /= static_cast<float>(1u << shift);
    value = (coefficient & kSignBit ? -x : x) / q.inverse_step;
}

// ---- The inverse wavelet transform: Dwt53 and Dwt97 backwards.

// Undoes a lifting step: samples of [begin, begin + count), `width` signals beside each other.
template <class W, int Step>
void undo_step(typename W::Sample *x, int begin, int count, int width) {
    for (int i = (begin + Step + 1) & 1; i < count; i += 2) {
        const typename W::Sample *before = x + static_cast<ptrdiff_t>(mirror(i - 1, 0, count)) * width,
                                 *after = x + static_cast<ptrdiff_t>(mirror(i + 1, 0, count)) * width;
        typename W::Sample *centre = x + static_cast<ptrdiff_t>(i) * width;
        for (int k = 0; k < width; k++) centre[k] -= W::template lift<Step>(0, before[k], after[k]);
    }
    if constexpr (Step > 0) undo_step<W, Step - 1>(x, begin, count, width);
}

void unscale(int32_t *, int, int, int) {}
void unscale(float *x, int begin, int count, int width) {
    for (int i = 0; i < count; i++) {
        const float scale = static_cast<float>((begin + i) & 1 ? 1 / kScale : kScale);
        for (int k = 0; k < width; k++) x[static_cast<ptrdiff_t>(i) * width + k] *= scale;
    }
}

template <class W>
void synthesise(typename W::Sample *x, int begin, int count, int width) {
    if (count == 1) {  // T.800 F.3.6: a single odd sample is doubled
        for (int k = 0; k < width && begin & 1; k++) x[k] /= 2;
        return;
    }
    unscale(x, begin, count, width);
    undo_step<W, W::kSteps - 1>(x, begin, count, width);
}

// Where sample i of [begin, end) lies among its signal's low half and high half.
int place(int begin, int end, int i) {
    const int lows = low_begin(end) - low_begin(begin), at = begin + i;
    return at & 1 ? lows + (at >> 1) - high_begin(begin) : (at >> 1) - low_begin(begin);
}

constexpr int kStrip = 64;  // columns, or rows, in one go

// One level, of the resolution e, whose rows are `stride` samples. Rows come first: the steps of 5/3 round.
template <class W>
void synthesise_level(ThreadPool &pool, typename W::Sample *samples, const Extent &e, int stride) {
    using Sample = typename W::Sample;
    const int width = e.width(), height = e.height();
    const auto strips = [](int size) { return static_cast<size_t>((size + kStrip - 1) / kStrip); };
    pool.for_each(strips(height), [&](size_t strip) {
        std::vector<Sample> signal(static_cast<size_t>(width));
        for (int y = static_cast<int>(strip) * kStrip; y < std::min(height, static_cast<int>(strip + 1) * kStrip);
             y++) {
            Sample *row = samples + static_cast<ptrdiff_t>(y) * stride;
            for (int x = 0; x < width; x++) signal[static_cast<size_t>(x)] = row[place(e.x0, e.x1, x)];
            synthesise<W>(signal.data(), e.x0, width, 1);
            std::copy(signal.begin(), signal.end(), row);
        }
    });
    pool.for_each(strips(width), [&](size_t strip) {
        const int first = static_cast<int>(strip) * kStrip, columns = std::min(kStrip, width - first);
        std::vector<Sample> signal(static_cast<size_t>(height) * static_cast<size_t>(columns));
        for (int y = 0; y < height; y++)
            std::copy_n(samples + static_cast<ptrdiff_t>(place(e.y0, e.y1, y)) * stride + first, columns,
                        &signal[static_cast<size_t>(y) * static_cast<size_t>(columns)]);
        synthesise<W>(signal.data(), e.y0, height, columns);
        for (int y = 0; y < height; y++)
            std::copy_n(&signal[static_cast<size_t>(y) * static_cast<size_t>(columns)], columns,
                        samples + static_cast<ptrdiff_t>(y) * stride + first);
    });
}

// ---- The inverse component transforms, T.800 G.2.2 and G.3.2.
void undo_component_transform(int32_t &c0, int32_t &c1, int32_t &c2) {
    const int32_t green = c0 - ((c1 + c2) >> 2), red = c2 + green, blue = c1 + green;
    c0 = red, c1 = green, c2 = blue;
}
void undo_component_transform(float &c0, float &c1, float &c2) {
    const float red = c0 + 1.402f * c2, green = c0 - 0.344136f * c1 - 0.714136f * c2, blue = c0 + 1.772f * c1;
    c0 = red, c1 = green, c2 = blue;
}

int32_t whole(int32_t x) { return x; }
int32_t whole(float x) { return static_cast<int32_t>(std::floor(x + 0.5f)); }

}  // namespace

PsnrSearch::PsnrSearch(const Params &params, const Geometry &geometry)
    : p_(params), g_(geometry), decoded_(geometry.samples) {}

template <class W>
void PsnrSearch::decode(ThreadPool &pool, const uint32_t *coefficients, std::span<const CodedBlock> coded,
                        const HullTable &hulls, uint32_t threshold) {
    using Sample = typename W::Sample;
    constexpr size_t kBatch = 16;
    pool.for_each((coded.size() + kBatch - 1) / kBatch, [&](size_t batch) {
        for (size_t i = batch * kBatch; i < std::min(coded.size(), (batch + 1) * kBatch); i++) {
            const CodeBlock &b = g_.blocks[i];
            const PrecinctBand &band = g_.precinct_bands[b.precinct_band];
            const Quantiser &q = p_.quantisers[band.component][band.band];
            const int passes =
                passes_at_or_above(hulls.slopes(i), coded[i].always_included, coded[i].passes, threshold);
            // The plane of the last pass, in which only some are coded but by clean-up.
            const int plane = coded[i].planes - 1 - (passes + 1) / 3, kind = passes % 3;  // 1: clean-up, 2: propagation
            std::optional<Propagation> propagation;
            if (passes && kind != 1) propagation.emplace(coefficients, b, plane, (p_.style & kVerticallyCausal) != 0);
            for (int y = 0; y < b.height; y++)
                for (int x = 0; x < b.width; x++) {
                    const size_t at = b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x);
                    int known = passes ? plane : kMaxPlanes;
                    if (propagation && !propagation->coded(x, y) &&
                        (kind == 2 || (coefficients[at] & ~kSignBit) >> plane <= 1))
                        known++;
                    reconstruct(coefficients[at], known, q, p_.roi.shift, reinterpret_cast<Sample &>(decoded_[at]));
                }
        }
    });
    for (const TileComponent &t : g_.tile_components)
        for (int level = p_.levels; level > 0; level--)
            if (const Extent e = extent_at(t, level - 1); e.width() && e.height())
                synthesise_level<W>(pool, samples<Sample>(t), e, t.x1 - t.x0);
}

template <class W>
double PsnrSearch::compare(ThreadPool &pool, std::span<const SampleLayout> layouts) {
    using Sample = typename W::Sample;
    const size_t components = p_.components.size();
    std::vector<std::atomic<uint64_t>> squares(components);
    double count = 0;
    for (size_t tile = 0; tile < g_.tile_components.size(); tile += components) {
        const TileComponent *t = &g_.tile_components[tile];
        if (p_.mct) {
            Sample *c[3] = {samples<Sample>(t[0]), samples<Sample>(t[1]), samples<Sample>(t[2])};
            const size_t width = static_cast<size_t>(t->x1 - t->x0);
            pool.for_each(static_cast<size_t>(t->y1 - t->y0), [&](size_t y) {
                for (size_t i = y * width; i < (y + 1) * width; i++)
                    undo_component_transform(c[0][i], c[1][i], c[2][i]);
            });
        }
        for (size_t k = 0; k < components; k++) {
            const int width = t[k].x1 - t[k].x0, rows = t[k].y1 - t[k].y0;
            const int32_t least = -(1 << (p_.components[k].depth - 1)), most = -least - 1;
            count += static_cast<double>(width) * rows;
            pool.for_each(static_cast<size_t>(rows), [&](size_t y) {
                std::vector<int32_t> row(static_cast<size_t>(width));
                load_row(layouts[k], t[k].x0, t[k].y0 + static_cast<int>(y), width, row.data());
                const Sample *decoded = samples<Sample>(t[k]) + y * static_cast<size_t>(width);
                uint64_t sum = 0;
                for (int x = 0; x < width; x++) {
                    const int64_t error = std::clamp(whole(decoded[x]), least, most) - row[static_cast<size_t>(x)];
                    sum += static_cast<uint64_t>(error * error);
                }
                squares[k] += sum;
            });
        }
    }
    double error = 0;
    for (size_t k = 0; k < components; k++) error += static_cast<double>(squares[k]) / squared_peak(p_.components[k]);
    return error / (count * p_.rate.error);
}

double PsnrSearch::error(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                         std::span<const CodedBlock> coded, const HullTable &hulls, uint32_t threshold) {
    if (p_.reversible) {
        decode<Dwt53>(pool, coefficients, coded, hulls, threshold);
        return compare<Dwt53>(pool, layouts);
    }
    decode<Dwt97>(pool, coefficients, coded, hulls, threshold);
    return compare<Dwt97>(pool, layouts);
}

uint32_t PsnrSearch::threshold(ThreadPool &pool, std::span<const SampleLayout> layouts, const uint32_t *coefficients,
                               std::span<const CodedBlock> coded, const HullTable &hulls) {
    // By secants: octaves of the error go up with those of slopes. Where rates are high a byte more takes eight times
    // the mean square off the sum of squares.
    constexpr double kEnough = 0.013;
    constexpr int kSecants = 6;
    const double mean_square = p_.rate.error * squared_peak(p_.components.front());
    uint32_t met = 1, missed = kSlopes;  // at 1 as far as it can be
    double next = (std::log2(mean_square) + 3 - kLowestSlope) * kSlopeOctave, rise = 0.8 / kSlopeOctave;
    double last = 0, last_octaves = 0;
    for (int i = 0; missed - met > 1; i++) {
        if (i > kSecants) next = (met + missed) / 2;
        const uint32_t at = static_cast<uint32_t>(std::clamp<double>(std::round(next), met + 1, missed - 1));
        const double octaves = std::log2(std::max(error(pool, layouts, coefficients, coded, hulls, at), 1e-9));
        (octaves <= 0 ? met : missed) = at;
        if (octaves <= 0 && octaves > -kEnough) break;
        if (i && at != last)
            rise = std::clamp((octaves - last_octaves) / (at - last), 0.2 / kSlopeOctave, 2.0 / kSlopeOctave);
        last = at;
        last_octaves = octaves;
        next = at - (octaves + kEnough / 2) / rise;
    }
    return met;
}

}  // namespace cudaenc::j2k
