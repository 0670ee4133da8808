// SPDX-License-Identifier: LGPL-2.1-or-later
#include "inverse_transform.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "../../../common/error.h"
#include "../../../common/j2k/transform/step_size.h"
#include "../../device_pipeline.h"

namespace cudaenc::j2k {

namespace {

bool has_none(const Extent &e) { return e.width() <= 0 || e.height() <= 0; }
bool operator==(const Extent &a, const Extent &b) {
    return std::tie(a.x0, a.y0, a.x1, a.y1) == std::tie(b.x0, b.y0, b.x1, b.y1);
}
Extent intersection(const Extent &a, const Extent &b) {
    return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

// What of the low half a part of a resolution is made of, and what lanes beside it read.
Extent low_part(const Extent &e, const Extent &part) {
    static constexpr int kMargin = 5;  // so far 9/7 reaches, and one more where that is half a pair
    const auto begin = [](int least, int x) { return ceil_shift(std::max(least, x - kMargin), 1); };
    const auto end = [](int most, int x) { return ceil_shift(x + std::min(most - x, kMargin), 1); };
    return {begin(e.x0, part.x0), begin(e.y0, part.y0), end(e.x1, part.x1), end(e.y1, part.y1)};
}

// Counts columns and rows as InverseWork does. halves: `in` is of the low half.
void rebase(InverseWork &w, bool halves) {
    const int x = w.extent.x0 & ~1, y = w.extent.y0 & ~1, half = halves ? 1 : 0;
    for (Extent *e : {&w.extent, &w.part}) e->x0 -= x, e->x1 -= x, e->y0 -= y, e->y1 -= y;
    w.in.x0 -= x >> half, w.in.y0 -= y >> half;
    w.out.x0 -= x, w.out.y0 -= y;
    w.plane_x0 -= x, w.plane_y0 -= y;
}

class InversePlanner {
  public:
    InversePlanner(const Description &d, const std::vector<TileComponent> &tile_components, int lowres,
                   const std::vector<ComponentOutput> &outputs, int multiprocessors)
        : d_(d),
          tile_components_(tile_components),
          lowres_(lowres),
          outputs_(outputs),
          multiprocessors_(multiprocessors) {}

    InversePlan plan() {
        const size_t components = d_.components.size();
        for (size_t tile = 0; tile < static_cast<size_t>(d_.tiles()); tile++) {
            const TileCoding &coding = d_.of_tile(static_cast<uint32_t>(tile));
            const TileComponent *t = &tile_components_[tile * components];
            if (coding.mct) add_transformed(coding, t);
            for (size_t c = coding.mct ? 3 : 0; c < components; c++)
                if (is_stored(c)) add_one(coding, t[c], c);
        }
        for (const auto &[key, work] : work_) add_launch(-key.first, key.second, work);
        return std::move(plan_);
    }

  private:
    bool is_stored(size_t c) const { return outputs_[c].first_channel < outputs_[c].last_channel; }
    Extent wanted(const TileComponent &t, size_t c) const {
        return intersection(extent_at(t, lowres_), outputs_[c].part);
    }

    // The three components of a component transform.
    void add_transformed(const TileCoding &coding, const TileComponent *t) {
        const Extent e = extent_at(t[0], lowres_), part = wanted(t[0], 0);
        bool alike = true, same_size = true, is_wanted = false, stores = false;
        for (size_t c = 0; c < 3; c++) {
            const Extent own = extent_at(t[c], lowres_), own_part = wanted(t[c], c);
            same_size = same_size && own.width() == e.width() && own.height() == e.height();
            alike = alike && own_part == part &&
                    std::tie(t[c].x0, t[c].y0, t[c].x1, t[c].y1) == std::tie(t[0].x0, t[0].y0, t[0].x1, t[0].y1);
            is_wanted = is_wanted || !has_none(own_part);
            stores = stores || (is_stored(c) && !has_none(own_part));
        }
        if (is_wanted && !same_size)
            throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: a component transformation of components of different sizes");
        if (!stores) return;
        std::array<ResolutionRows, 3> rows{};
        for (size_t c = 0; c < 3; c++)
            rows[c] = add_levels(coding, t[c], c, alike ? part : extent_at(t[c], lowres_),
                                 alike ? Last::with_component_transform : Last::to_memory);
        if (alike && coding.of_component(0).levels > lowres_) return;
        for (size_t c = 0; c < 3; c++) {
            add_store(coding, t[c], c, rows[c], extent_at(t[c], lowres_), wanted(t[c], c));
            work_[{-lowres_, InverseLaunch::kStore}].back().transformed = true;
        }
    }

    void add_one(const TileCoding &coding, const TileComponent &t, size_t c) {
        const Extent part = wanted(t, c);
        if (has_none(part)) return;
        add_levels(coding, t, c, part, Last::to_planes);
        if (coding.of_component(c).levels > lowres_) return;
        add_store(coding, t, c, {}, part, part);
    }

    // The resolutions of a tile-component down to the one that is asked for. Returns where that is, if in memory.
    enum class Last { to_memory, to_planes, with_component_transform };
    ResolutionRows add_levels(const TileCoding &coding, const TileComponent &t, size_t c, const Extent &wanted,
                              Last last) {
        const ComponentCoding &k = coding.of_component(c);
        std::vector<Extent> parts{wanted};  // from lowres_ on
        for (int level = lowres_; level + 1 < k.levels; level++)
            parts.push_back(low_part(extent_at(t, level), parts.back()));
        ResolutionRows rows{};
        for (int level = k.levels - 1; level >= lowres_; level--) {
            const Extent &part = parts[static_cast<size_t>(level - lowres_)];
            if (has_none(part)) continue;
            InverseWork work = make_work(coding, t, c, level, part);
            set_input(work, k, t, level + 1, rows);
            const Last to = level == lowres_ ? last : Last::to_memory;
            if (to == Last::to_memory) work.out = rows = make_rows(level, part);
            work.transformed = to == Last::with_component_transform;
            rebase(work, true);
            work_[{-level, kind_of(to, k.reversible)}].push_back(work);
        }
        return rows;
    }

    static InverseLaunch::Kind kind_of(Last to, bool reversible) {
        switch (to) {
            case Last::to_memory:
                return reversible ? InverseLaunch::kIdwt53 : InverseLaunch::kIdwt97;
            case Last::to_planes:
                return reversible ? InverseLaunch::kIdwt53Store : InverseLaunch::kIdwt97Store;
            case Last::with_component_transform:
                break;
        }
        return reversible ? InverseLaunch::kIdwt53MctStore : InverseLaunch::kIdwt97MctStore;
    }

    void add_store(const TileCoding &coding, const TileComponent &t, size_t c, const ResolutionRows &rows,
                   const Extent &extent, const Extent &part) {
        InverseWork work = make_work(coding, t, c, lowres_, part);
        set_input(work, coding.of_component(c), t, lowres_, rows);
        work.extent = extent;
        rebase(work, false);
        work_[{-lowres_, InverseLaunch::kStore}].push_back(work);
    }

    // The resolution `level`, which is coded or in memory.
    static void set_input(InverseWork &work, const ComponentCoding &k, const TileComponent &t, int level,
                          const ResolutionRows &rows) {
        const Extent e = extent_at(t, level);
        work.low_is_coded = level == k.levels;
        work.in = work.low_is_coded ? ResolutionRows{t.samples, e.x0, e.y0, work.stride} : rows;
    }

    InverseWork make_work(const TileCoding &coding, const TileComponent &t, size_t c, int level,
                          const Extent &part) const {
        const Component &component = d_.components[c];
        const ComponentCoding &k = coding.of_component(c);
        InverseWork work{};
        work.extent = extent_at(t, level);
        work.part = part;
        work.coefficients = t.samples;
        work.stride = static_cast<uint32_t>(t.x1 - t.x0);
        work.region_shift = coding.region_shift(c);
        for (int o = kLL; o <= kHH; o++)
            if (const int resolution = o ? k.levels - level : 0; resolution || !o)
                work.step[o] = step_size(coding, component, c, band_index(resolution, o));
        work.first_channel = outputs_[c].first_channel, work.last_channel = outputs_[c].last_channel;
        work.depth = component.depth;
        work.level = component.is_signed ? 0 : 1 << (component.depth - 1);
        work.plane_x0 = outputs_[c].part.x0, work.plane_y0 = outputs_[c].part.y0;
        work.reversible = k.reversible;
        return work;
    }

    // Rows of whole pairs of columns, which one store writes.
    ResolutionRows make_rows(int level, const Extent &part) {
        const int x0 = part.x0 & ~1;
        const uint32_t stride = static_cast<uint32_t>(part.x1 - x0 + 1) & ~1u;
        uint64_t &used = used_[level];
        const ResolutionRows rows{used, x0, part.y0, stride};
        used = (used + uint64_t{stride} * static_cast<uint32_t>(part.height()) + 7) / 8 * 8;
        uint64_t &values = plan_.values[level & 1];
        values = std::max(values, used);
        return rows;
    }

    // Strips of columns, and rows or row pairs, that a work has.
    static std::pair<int, int> size_of(InverseLaunch::Kind kind, const InverseWork &w) {
        const auto strips = [](int count, int of_strip) { return (count + of_strip - 1) / of_strip; };
        if (kind == InverseLaunch::kStore) return {strips(w.extent.width(), kStoreColumns), w.extent.height()};
        const int pairs = ((w.part.x1 - 1) >> 1) - (w.part.x0 >> 1) + 1,
                  row_pairs = ((w.part.y1 - 1) >> 1) - (w.part.y0 >> 1) + 1;
        return {strips(pairs, w.reversible ? kStripPairs<Dwt53> : kStripPairs<Dwt97>), row_pairs};
    }

    void add_launch(int level, InverseLaunch::Kind kind, const std::vector<InverseWork> &work) {
        constexpr int kShortest = 4;  // a segment reads rows beyond its own
        const bool is_mct = kind == InverseLaunch::kIdwt53MctStore || kind == InverseLaunch::kIdwt97MctStore;
        const int64_t together =
            int64_t{multiprocessors_} * (is_mct ? kIdwtMctBlocks : kIdwtBlocks) * (kDwtThreads / 32);
        int64_t rows = 0;
        const auto each = [&](const auto &take) {  // of a component transform the first one stands for all
            for (size_t i = 0; i < work.size(); i += work[i].transformed ? 3 : 1) take(i, size_of(kind, work[i]));
        };
        each([&](size_t, const std::pair<int, int> &size) { rows += int64_t{size.first} * size.second; });
        InverseLaunch launch{.kind = kind,
                             .level = level,
                             .first_work = static_cast<uint32_t>(plan_.work.size()),
                             .works = static_cast<uint32_t>(work.size()),
                             .warps = 0,
                             .segment_rows = std::max(kShortest, static_cast<int>(ceil_div(rows, together)))};
        plan_.work.insert(plan_.work.end(), work.begin(), work.end());
        each([&](size_t i, const std::pair<int, int> &size) {
            InverseWork *w = &plan_.work[launch.first_work + i];
            w[0].first_warp = launch.warps;
            launch.warps += static_cast<uint32_t>(size.first * ceil_div(size.second, launch.segment_rows));
            if (w[0].transformed) w[1].first_warp = w[2].first_warp = launch.warps;
        });
        plan_.launches.push_back(launch);
    }

    const Description &d_;
    const std::vector<TileComponent> &tile_components_;
    const int lowres_;
    const std::vector<ComponentOutput> &outputs_;
    const int multiprocessors_;
    InversePlan plan_;
    std::map<std::pair<int, InverseLaunch::Kind>, std::vector<InverseWork>> work_;  // by -level: in order
    std::map<int, uint64_t> used_;                                                  // of resolutions, by level
};

}  // namespace

InversePlan plan_inverse_transform(const Description &description, const std::vector<TileComponent> &tile_components,
                                   int lowres, const std::vector<ComponentOutput> &outputs, int multiprocessors) {
    return InversePlanner(description, tile_components, lowres, outputs, multiprocessors).plan();
}

void queue_inverse_transform(Device &device, Device::Stream stream, const InversePlan &plan,
                             const InverseBuffers &buffers) {
    for (const InverseLaunch &l : plan.launches) {
        const int parity = l.level & 1;
        const InverseLaunchInput input{
            .work = buffers.work + l.first_work,
            .works = l.works,
            .warps = l.warps,
            .segment_rows = l.segment_rows,
            .coefficients = buffers.coefficients,
            .in = buffers.resolutions[l.kind == InverseLaunch::kStore ? parity : 1 - parity]};
        const IdwtInput to_memory{.launch = input, .out = buffers.resolutions[parity]};
        const IdwtStoreInput to_planes{.launch = input, .channels = buffers.channels};
        const auto launch = [&](const auto &params) {
            device.launch(stream, {blocks_for(l.warps, kDwtThreads / 32)}, kDwtThreads, params);
        };
        switch (l.kind) {
            case InverseLaunch::kIdwt53:
                launch(Idwt53Params{to_memory});
                break;
            case InverseLaunch::kIdwt97:
                launch(Idwt97Params{to_memory});
                break;
            case InverseLaunch::kIdwt53Store:
                launch(Idwt53StoreParams{to_planes});
                break;
            case InverseLaunch::kIdwt97Store:
                launch(Idwt97StoreParams{to_planes});
                break;
            case InverseLaunch::kIdwt53MctStore:
                launch(Idwt53MctStoreParams{to_planes});
                break;
            case InverseLaunch::kIdwt97MctStore:
                launch(Idwt97MctStoreParams{to_planes});
                break;
            case InverseLaunch::kStore:
                launch(StoreParams{to_planes});
                break;
        }
    }
}

}  // namespace cudaenc::j2k
