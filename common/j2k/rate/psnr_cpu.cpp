// SPDX-License-Identifier: LGPL-2.1-or-later
#include "psnr_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>

#include "../../load_cpu.h"
#include "../transform/dequantise.h"
#include "../transform/dwt_cpu.h"
#include "../transform/idwt_cpu.h"
#include "../transform/store.h"

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

// Decodes a frame that is truncated at a threshold, and compares it with its samples.
template <class Sample>
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
                    inverse_transform_level(pool_, decoded_ + t.samples, e, t.x1 - t.x0);
        return compare();
    }

  private:
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
                dequantise(coefficient, known, p_.roi.shift, q.inverse_step, decoded_[at]);
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
                        inverse_component_transform(c[0][i], c[1][i], c[2][i]);
                });
            }
            for (size_t k = 0; k < components; k++) {
                const int width = t[k].x1 - t[k].x0, rows = t[k].y1 - t[k].y0;
                const Component &component = p_.components[k];
                const SampleLayout samples =
                    begin_at(input_.layouts[k], p_.first_column(component), p_.first_row(component));
                count += static_cast<double>(width) * rows;
                pool_.for_each(static_cast<size_t>(rows), [&](size_t y) {
                    std::vector<int32_t> row(static_cast<size_t>(width));
                    load_row(samples, t[k].x0, t[k].y0 + static_cast<int>(y), width, row.data());
                    if (component.is_signed) flip_row(row.data(), width, static_cast<int>(component.flipped()));
                    const Sample *decoded = decoded_ + t[k].samples + y * static_cast<size_t>(width);
                    uint64_t sum = 0;
                    for (int x = 0; x < width; x++) {
                        const int64_t error = to_sample(decoded[x], component.depth) - row[static_cast<size_t>(x)];
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
        return params.reversible ? Decoder<int32_t>(pool, params, geometry, input, scratch).error(at)
                                 : Decoder<float>(pool, params, geometry, input, scratch).error(at);
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
