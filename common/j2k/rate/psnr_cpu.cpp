// SPDX-License-Identifier: LGPL-2.1-or-later
#include "psnr_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>

#include "../../load_cpu.h"
#include "../transform/dwt.h"
#include "../transform/quantise.h"
#include "../transform/roi.h"

namespace cudaenc::j2k {

namespace {

// ---- A block's coefficients as decoders know them after some passes.

// The samples that the significance propagation of a plane codes (T.800 D.3.1).
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

// Reconstructs to the middle of what is known, down to bit-plane `plane`.
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

// Undoes lifting steps from `Step` down: positions [begin, begin + count) of `width` signals beside each other.
template <class W, int Step>
void undo_step(typename W::Sample *x, int begin, int count, int width) {
    for (int i = (begin + Step + 1) & 1; i < count; i += 2) {
        const auto row = [&](int k) { return x + static_cast<ptrdiff_t>(mirror(k, 0, count)) * width; };
        typename W::Sample *centre = row(i), *before = row(i - 1), *after = row(i + 1);
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

// The place of sample i of [begin, end) in its signal's low half and, behind it, high half.
int place(int begin, int end, int i) {
    const int lows = low_begin(end) - low_begin(begin), at = begin + i;
    return at & 1 ? lows + (at >> 1) - high_begin(begin) : (at >> 1) - low_begin(begin);
}

constexpr int kStrip = 64;  // columns, or rows, in one go

// One level, to the resolution e, in rows of `stride` samples. Rows come first, since the steps of 5/3 round.
template <class W>
void synthesise_level(ThreadPool &pool, typename W::Sample *samples, const Extent &e, int stride) {
    using Sample = typename W::Sample;
    const size_t width = static_cast<size_t>(e.width()), height = static_cast<size_t>(e.height());
    const auto row_at = [=](size_t y) { return samples + y * static_cast<size_t>(stride); };
    pool.for_each(height, kStrip, [&](size_t y) {
        std::vector<Sample> signal(width);
        for (size_t x = 0; x < width; x++) signal[x] = row_at(y)[place(e.x0, e.x1, static_cast<int>(x))];
        synthesise<W>(signal.data(), e.x0, e.width(), 1);
        std::copy(signal.begin(), signal.end(), row_at(y));
    });
    pool.for_each((width + kStrip - 1) / kStrip, [&](size_t strip) {
        const size_t first = strip * kStrip, columns = std::min<size_t>(kStrip, width - first);
        std::vector<Sample> signal(height * columns);
        for (size_t y = 0; y < height; y++)
            std::copy_n(row_at(static_cast<size_t>(place(e.y0, e.y1, static_cast<int>(y)))) + first, columns,
                        &signal[y * columns]);
        synthesise<W>(signal.data(), e.y0, e.height(), static_cast<int>(columns));
        for (size_t y = 0; y < height; y++) std::copy_n(&signal[y * columns], columns, row_at(y) + first);
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

// Decodes a frame that is truncated at a threshold, and compares it with its samples.
template <class W>
class Decoder {
  public:
    Decoder(ThreadPool &pool, const Params &params, const Geometry &geometry, const PsnrInput &input, uint32_t *scratch)
        : pool_(pool), p_(params), g_(geometry), input_(input), decoded_(reinterpret_cast<Sample *>(scratch)) {}

    // The frame's mean squared error over the target's.
    double error(uint32_t threshold) const {
        pool_.for_each(input_.coded.size(), 16, [&](size_t block) { decode_block(block, threshold); });
        for (const TileComponent &t : g_.tile_components)
            for (int level = p_.levels; level > 0; level--)
                if (const Extent e = extent_at(t, level - 1); e.width() && e.height())
                    synthesise_level<W>(pool_, decoded_ + t.samples, e, t.x1 - t.x0);
        return compare();
    }

  private:
    using Sample = typename W::Sample;

    void decode_block(size_t block, uint32_t threshold) const {
        const CodeBlock &b = g_.blocks[block];
        const CodedBlock &coded = input_.coded[block];
        const PrecinctBand &band = g_.precinct_bands[b.precinct_band];
        const Quantiser &q = p_.quantisers[band.component][band.band];
        const int passes =
            passes_at_or_above(input_.hulls.slopes(block), coded.always_included, coded.passes, threshold);
        // The plane of the last pass. All passes but a clean-up code only some of its samples.
        const int plane = plane_of_pass(p_.style, coded.planes, passes - 1), kind = kind_of_pass(p_.style, passes - 1);
        std::optional<Propagation> propagation;
        if (passes && kind != kCleanUp)
            propagation.emplace(input_.coefficients, b, plane, (p_.style & kVerticallyCausal) != 0);
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++) {
                const size_t at = b.coefficients + static_cast<size_t>(y) * b.stride + static_cast<size_t>(x);
                const uint32_t coefficient = input_.coefficients[at];
                int known = passes ? plane : kMaxPlanes;
                if (propagation && !propagation->coded(x, y) &&
                    (kind == kSignificancePropagation || (coefficient & ~kSignBit) >> plane <= 1))
                    known++;
                reconstruct(coefficient, known, q, p_.roi.shift, decoded_[at]);
            }
    }

    double compare() const {
        const size_t components = p_.components.size();
        std::vector<std::atomic<uint64_t>> squares(components);
        double count = 0;
        for (size_t tile = 0; tile < g_.tile_components.size(); tile += components) {
            const TileComponent *t = &g_.tile_components[tile];
            if (p_.mct) {
                Sample *c[3] = {decoded_ + t[0].samples, decoded_ + t[1].samples, decoded_ + t[2].samples};
                const size_t width = static_cast<size_t>(t->x1 - t->x0);
                pool_.for_each(static_cast<size_t>(t->y1 - t->y0), [&](size_t y) {
                    for (size_t i = y * width; i < (y + 1) * width; i++)
                        undo_component_transform(c[0][i], c[1][i], c[2][i]);
                });
            }
            for (size_t k = 0; k < components; k++) {
                const int width = t[k].x1 - t[k].x0, rows = t[k].y1 - t[k].y0;
                const int32_t least = -(1 << (p_.components[k].depth - 1)), most = -least - 1;
                count += static_cast<double>(width) * rows;
                pool_.for_each(static_cast<size_t>(rows), [&](size_t y) {
                    std::vector<int32_t> row(static_cast<size_t>(width));
                    load_row(input_.layouts[k], t[k].x0, t[k].y0 + static_cast<int>(y), width, row.data());
                    const Sample *decoded = decoded_ + t[k].samples + y * static_cast<size_t>(width);
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
        for (size_t k = 0; k < components; k++)
            error += static_cast<double>(squares[k]) / squared_peak(p_.components[k]);
        return error / (count * p_.rate.error);
    }

    ThreadPool &pool_;
    const Params &p_;
    const Geometry &g_;
    const PsnrInput &input_;
    Sample *const decoded_;  // in the coefficients' places
};

}  // namespace

PsnrThreshold psnr_threshold(ThreadPool &pool, const Params &params, const Geometry &geometry, const PsnrInput &input,
                             uint32_t *scratch) {
    const auto error = [&](uint32_t at) {
        return params.reversible ? Decoder<Dwt53>(pool, params, geometry, input, scratch).error(at)
                                 : Decoder<Dwt97>(pool, params, geometry, input, scratch).error(at);
    };
    // By secants: octaves of the error grow with those of slopes. At high rates a byte more takes eight times the mean
    // square off the sum of squares.
    constexpr double kEnough = 0.013;
    constexpr int kSecants = 6;
    const double mean_square = params.rate.error * squared_peak(params.components.front());
    uint32_t met = 1, missed = kSlopes;  // the best that can be is at 1
    double next = (std::log2(mean_square) + 3 - kLowestSlope) * kSlopeOctave, rise = 0.8 / kSlopeOctave;
    double last = 0, last_octaves = 0;
    for (int i = 0; missed - met > 1; i++) {
        if (i > kSecants) next = (met + missed) / 2;
        const uint32_t at = static_cast<uint32_t>(std::clamp<double>(std::round(next), met + 1, missed - 1));
        const double octaves = std::log2(std::max(error(at), 1e-9));
        (octaves <= 0 ? met : missed) = at;
        if (octaves <= 0 && octaves > -kEnough) break;
        if (i && at != last)
            rise = std::clamp((octaves - last_octaves) / (at - last), 0.2 / kSlopeOctave, 2.0 / kSlopeOctave);
        last = at;
        last_octaves = octaves;
        next = at - (octaves + kEnough / 2) / rise;
    }
    if (met > 1) return {met};
    const double least = error(1);
    return {1, least > 1 ? -10 * std::log10(least * params.rate.error) : 0};
}

}  // namespace cudaenc::j2k
