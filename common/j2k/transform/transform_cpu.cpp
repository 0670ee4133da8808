// SPDX-License-Identifier: LGPL-2.1-or-later
#include "transform_cpu.h"

#include <algorithm>
#include <array>

#include "../../load_cpu.h"
#include "dwt_cpu.h"
#include "xyz_cpu.h"

namespace cudaenc::j2k {

namespace {

// The least row pairs and samples of a strip of the wavelet transform. A strip lifts 1 (5/3) or 3 (9/7) row pairs that
// are not its own. So many samples are some 30 microseconds' work.
constexpr int kStripPairs = 16;
constexpr int kStripSamples = 1 << 15;

class Transform {
  public:
    Transform(ThreadPool &pool, const TransformPlan &plan, std::span<SampleLayout> layouts, TransformBuffers &buffers)
        : pool_(pool),
          plan_(plan),
          p_(plan.description),
          g_(plan.geometry),
          layouts_(layouts),
          samples_(layouts.size()),
          buffers_(buffers) {}

    void run() {
        if (plan_.xyz) convert();
        for (size_t c = 0; c < p_.components.size(); c++)
            samples_[c] = begin_at(layouts_[c], p_.first_column(p_.components[c]), p_.first_row(p_.components[c]));
        if (p_.reversible)
            transform_tiles<Dwt53>();
        else
            transform_tiles<Dwt97>();
        shift_region();
    }

  private:
    // Frames become planes of X'Y'Z', which are loaded instead.
    void convert() {
        const std::vector<SampleLayout> source(layouts_.begin(), layouts_.end());
        pool_.for_each(static_cast<size_t>(p_.height), [&](size_t y) {
            load_xyz_row(plan_.xyz->conversion, source.data(), p_.width, p_.height, static_cast<int>(y),
                         buffers_.xyz.data());
        });
        for (int c = 0; c < 3; c++)
            layouts_[static_cast<size_t>(c)] = xyz_plane(buffers_.xyz.data(), p_.width, p_.height, c);
    }

    // A strip of rows goes through load, component transform, wavelet transform and quantisation at once.
    template <class W>
    void transform_tiles() {
        pool_.for_each(static_cast<size_t>(p_.tiles()),
                       [&](size_t tile) { transform_tile<W>(&g_.tile_components[tile * p_.components.size()]); });
    }

    // Row pairs of one level, of components [component, component + count) of a tile; see transform_row_pairs().
    struct Strip {
        int component, count, from, to;
    };
    static Strip whole(const Extent &e, int component, int count) {
        return {component, count, e.y0 >> 1, (e.y1 + 1) >> 1};
    }

    template <class W>
    void transform_tile(const TileComponent *tile) {
        const int components = static_cast<int>(p_.components.size()), levels = std::max(p_.levels, 1);
        const int tiles = p_.tiles();
        const auto large = [&](int level) {
            const Extent e = extent_at(*tile, level - 1);
            return int64_t{e.width()} * e.height() >= 2 * kStripSamples;
        };
        int level = 1;
        do {
            std::vector<Strip> strips;
            for (int c = 0, count; c < components; c += count) {
                count = level == 1 && p_.mct && c == 0 ? 3 : 1;
                const Extent e = extent_at(tile[c], level - 1);
                const Strip all = whole(e, c, count);
                const int64_t pairs = all.to - all.from, samples = int64_t{e.width()} * e.height() * count;
                if (!samples) continue;
                const int64_t parts = std::max<int64_t>(
                    1, std::min({samples / kStripSamples, pairs / kStripPairs, ceil_div(2 * pool_.threads(), tiles)}));
                for (int64_t i = 0; i < parts; i++)
                    strips.push_back({c, count, all.from + static_cast<int>(pairs * i / parts),
                                      all.from + static_cast<int>(pairs * (i + 1) / parts)});
            }
            pool_.for_each(strips.size(), [&](size_t i) { transform_strip<W>(tile, level, strips[i]); });
        } while (++level <= levels && large(level));
        // The other levels are too small for more than a thread a component, or a tile where these are many.
        const auto transform_rest = [&](size_t c) {
            for (int i = level; i <= levels; i++) {
                const Extent e = extent_at(tile[c], i - 1);
                if (e.width() && e.height()) transform_strip<W>(tile, i, whole(e, static_cast<int>(c), 1));
            }
        };
        if (tiles < pool_.threads())
            pool_.for_each(components, transform_rest);
        else
            for (int c = 0; c < components; c++) transform_rest(c);
    }

    template <class W>
    void transform_strip(const TileComponent *tile, int level, const Strip &strip) {
        using Sample = typename W::Sample;
        const Extent e = extent_at(tile[strip.component], level - 1);
        const auto low_half = [&](int component, int of_level) {
            const TileComponent &t = tile[component];
            return reinterpret_cast<Sample *>(of_level & 1 ? &buffers_.ll_odd[t.ll_odd] : &buffers_.ll_even[t.ll_even]);
        };
        const auto load = [&](int y, const auto &memory, auto &rows) {
            if (level > 1) {
                rows[0] = low_half(strip.component, level - 1) + static_cast<size_t>(y - e.y0) * e.width();
                return;
            }
            for (int i = 0; i < strip.count; i++) {
                load_row(samples_[strip.component + i], e.x0, y, e.width(), memory[i]);
                if (const uint32_t flipped = p_.components[strip.component + i].flipped())
                    flip_row(memory[i], e.width(), static_cast<int>(flipped));
                rows[i] = memory[i];
            }
            if (strip.count == 3) component_transform_rows(memory[0], memory[1], memory[2], e.width());
        };
        const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
        const auto store = [&](int i, int y, const Sample *low, const Sample *high) {
            const int component = strip.component + i;
            const TileComponent &t = tile[component];
            const auto &quantisers = plan_.quantisers[component];
            const Quantiser *q = &quantisers[band_index(p_.levels + 1 - level, kHL)];
            const bool odd = y & 1;
            const size_t row = odd ? low_rows + high_begin(y) - high_begin(e.y0) : low_begin(y) - low_begin(e.y0);
            uint32_t *out = buffers_.coefficients.data() + t.samples + row * (t.x1 - t.x0);
            quantise_row(high, e.width() - lows, q[(odd ? kHH : kHL) - kHL], out + lows);
            if (odd)
                quantise_row(low, lows, q[kLH - kHL], out);
            else if (level == p_.levels)
                quantise_row(low, lows, quantisers[0], out);
            else
                std::copy_n(low, lows, low_half(component, level) + row * lows);
        };
        if (p_.levels) return transform_row_pairs<W>(e, strip.count, strip.from, strip.to, load, store);
        std::vector<Sample> samples(static_cast<size_t>(e.width()) * strip.count);
        std::array<Sample *, kTransformedTogether> memory{};
        std::array<const Sample *, kTransformedTogether> rows{};
        for (int i = 0; i < strip.count; i++) memory[i] = &samples[static_cast<size_t>(e.width()) * i];
        for (int y = std::max(2 * strip.from, e.y0); y < std::min(2 * strip.to, e.y1); y++) {
            load(y, memory, rows);
            for (int i = 0; i < strip.count; i++) {
                const TileComponent &t = tile[strip.component + i];
                quantise_row(rows[i], e.width(), plan_.quantisers[strip.component + i][0],
                             buffers_.coefficients.data() + t.samples + static_cast<size_t>(y - e.y0) * e.width());
            }
        }
    }

    void shift_region() {
        pool_.for_each(plan_.roi_blocks.size(), [&](size_t i) {
            const RoiBlock &roi = plan_.roi_blocks[i];
            const CodeBlock &block = g_.blocks[roi.block];
            const PrecinctBand &band = g_.precinct_bands[block.precinct_band];
            for (int y = roi.y0; y < roi.y1; y++) {
                uint32_t *row = &buffers_.coefficients[block.coefficients + static_cast<size_t>(y) * block.stride];
                for (int x = roi.x0; x < roi.x1; x++) row[x] = shift_up(row[x], p_.region_shift(band.component));
            }
        });
    }

    ThreadPool &pool_;
    const TransformPlan &plan_;
    const Description &p_;
    const Geometry &g_;
    const std::span<SampleLayout> layouts_;
    std::vector<SampleLayout> samples_;  // [component], by their coordinates in tile-components
    TransformBuffers &buffers_;
};

}  // namespace

TransformBuffers::TransformBuffers(const TransformPlan &plan)
    : xyz(plan.xyz ? 3 * static_cast<size_t>(xyz_stride(plan.description.width) * plan.description.height) : 0),
      ll_odd(plan.geometry.ll_odd),
      ll_even(plan.geometry.ll_even),
      coefficients(plan.geometry.samples) {}

void transform(ThreadPool &pool, const TransformPlan &plan, std::span<SampleLayout> layouts,
               TransformBuffers &buffers) {
    Transform(pool, plan, layouts, buffers).run();
}

}  // namespace cudaenc::j2k
