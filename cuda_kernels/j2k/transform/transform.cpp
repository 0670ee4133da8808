// SPDX-License-Identifier: LGPL-2.1-or-later
#include "transform.h"

#include <algorithm>

#include "../../device_pipeline.h"
#include "roi_params.h"
#include "xyz_params.h"

namespace cudaenc::j2k {

namespace {

// So many frames in flight fill the device where the small levels of each take little of it.
constexpr int kManyFrames = 8;

// Whether a LUT, a target of PSNR or the transform asks for planes of X'Y'Z'. Else conversion is part of the load.
bool needs_xyz_planes(const TransformPlan &p) {
    return p.xyz && (p.description.reversible || !p.description.levels || p.keeps_xyz || !p.xyz->cube.empty() ||
                     p.xyz->conversion.log2_subsample_x > 1);
}

}  // namespace

Transform::Transform(std::shared_ptr<Device> device, TransformPlan plan, Device::Stream setup, int slots, bool is_short)
    : device_(std::move(device)),
      plan_(std::move(plan)),
      description_(plan_.description),
      geometry_(plan_.geometry),
      slots_(slots),
      is_short_(is_short),
      xyz_planes_(needs_xyz_planes(plan_)),
      tile_components_(upload_table(device_, setup, geometry_.tile_components)),
      roi_blocks_(upload_table(device_, setup, plan_.roi_blocks)) {
    if (plan_.xyz) upload_xyz(setup);
}

void Transform::upload_xyz(Device::Stream setup) {
    const XyzTables &tables = *plan_.xyz;
    xyz_ = tables.conversion;
    to_light_ = upload_table(device_, setup, tables.to_light);
    to_code_ = upload_table(device_, setup, tables.to_code);
    xyz_.to_light.piece = to_light_.data();
    xyz_.to_code.piece = to_code_.data();
    if (tables.cube.empty()) return;
    cube_ = upload_table(device_, setup, tables.cube);
    xyz_.cube.values = cube_.data();
}

Transform::Buffers Transform::make_buffers(Device::Stream setup) const {
    const auto elements = [](size_t count) { return std::max<size_t>(count, 1); };
    Buffers b{.xyz = {},
              .xyz_layout = {},
              .ll_odd = {device_, elements(description_.levels > 1 ? geometry_.ll_odd : 0)},
              .ll_even = {device_, elements(description_.levels > 2 ? geometry_.ll_even : 0)},
              .coefficients = {device_, elements(is_short_ ? (geometry_.samples + 1) / 2 : geometry_.samples)}};
    if (!xyz_planes_) return b;
    b.xyz = {device_, elements(3 * static_cast<size_t>(xyz_stride(description_.width) * description_.height))};
    std::vector<SampleLayout> planes;
    for (int c = 0; c < 3; c++) planes.push_back(xyz_plane(b.xyz.data(), description_.width, description_.height, c));
    b.xyz_layout = upload_table(device_, setup, planes);
    return b;
}

void Transform::queue(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout,
                      const CodeBlock *blocks) const {
    if (xyz_planes_) {
        convert(stream, buffers, layout);
        layout = buffers.xyz_layout.data();
    }
    if (!description_.levels)
        load(stream, buffers, layout);
    else if (description_.reversible)
        transform_levels<Dwt53, LoadDwt53Params, LoadSignedDwt53Params, Dwt53Params>(stream, buffers, layout);
    else
        transform_levels<Dwt97, LoadDwt97Params, LoadSignedDwt97Params, Dwt97Params>(stream, buffers, layout);
    shift_region(stream, buffers, blocks);
}

void Transform::convert(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const {
    device_->launch(
        stream, {blocks_for(description_.width, kXyzThreads * kXyzPixels), static_cast<unsigned>(description_.height)},
        kXyzThreads,
        XyzParams{.layout = layout,
                  .conversion = xyz_,
                  .planes = buffers.xyz.data(),
                  .width = description_.width,
                  .height = description_.height});
}

BandQuantiser Transform::band_quantiser(size_t component, int resolution, int orientation) const {
    const Quantiser &q = plan_.quantisers[component][band_index(resolution, orientation)];
    return {q.inverse_step, static_cast<float>((1u << q.planes) - 1)};
}

void Transform::load(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const {
    const int chunks = (geometry_.widest + kLoadThreads - 1) / kLoadThreads;
    LoadParams load{.layout = layout,
                    .tile_components = tile_components_.data(),
                    .coefficients = buffers.coefficients.data(),
                    .quantiser = {},
                    .components = components(),
                    .column_chunks = chunks,
                    .mct = description_.mct,
                    .reversible = description_.reversible,
                    .is_signed = is_signed()};
    for (size_t c = 0; c < quantised_components(); c++) load.quantiser[c] = band_quantiser(c, 0, kLL);
    const int depth = components() - (description_.mct ? 2 : 0);
    device_->launch(stream, {static_cast<unsigned>(chunks * geometry_.highest), tiles(), static_cast<unsigned>(depth)},
                    kLoadThreads, load);
}

template <class W, class First, class FirstSigned, class Next>
void Transform::transform_levels(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const {
    for (int level = 1; level <= description_.levels; level++) {
        const int depth = level == 1 && (description_.mct || loads_xyz()) ? components() - 2 : components(),
                  row_pairs = row_pairs_at(level);
        const DwtLevel dwt = dwt_level<W>(buffers, level, depth);
        const auto launch = [&](const auto &params) {
            device_->launch(stream,
                            {dwt.block_columns * tiles(), blocks_for(row_pairs, dwt.segment_row_pairs),
                             static_cast<unsigned>(depth)},
                            kDwtThreads, params);
        };
        if (level == 1 && is_signed())
            launch(FirstSigned{{.dwt = dwt, .layout = layout, .mct = description_.mct}});
        else if (level == 1)
            launch_first<First>({.dwt = dwt, .layout = layout, .mct = description_.mct}, launch);
        else
            launch(Next{{.dwt = dwt, .in = level & 1 ? buffers.ll_even.data() : buffers.ll_odd.data()}});
    }
}

template <class First, class Launch>
void Transform::launch_first(const LoadDwtInput &load, const Launch &launch) const {
    if (!loads_xyz()) return launch(First{load});
    const LoadXyzDwtInput xyz{
        .load = load, .conversion = xyz_, .width = description_.width, .height = description_.height};
    if (xyz_.is_yuv)
        launch(LoadYuvXyzDwt97Params{xyz});
    else
        launch(LoadRgbXyzDwt97Params{xyz});
}

// The most row pairs of the resolution that a level takes.
int Transform::row_pairs_at(int level) const { return ceil_shift(geometry_.highest, level - 1) / 2 + 1; }

// depth: of the grid.
template <class W>
DwtLevel Transform::dwt_level(const Buffers &buffers, int level, int depth) const {
    // A tile that begins between the columns of a pair has one pair more.
    const int pairs =
        (ceil_shift(geometry_.widest, level - 1) + (description_.tiles_x > 1 || description_.x0 ? 2 : 1)) / 2;
    constexpr int kBlockPairs = kDwtThreads / 32 * kStripPairs<W>;
    const int block_columns = (pairs + kBlockPairs - 1) / kBlockPairs;
    // A segment reads rows beyond its own. So there are only as many as give each multiprocessor all the
    // thread-blocks that run on it together; of small levels fewer, which leave room for other frames.
    constexpr int kShortest = 4;
    const int together = device_->multiprocessors() * (level == 1 ? 5 : slots_ < kManyFrames ? 4 : 2);
    const int segments = std::max(together / (block_columns * depth * static_cast<int>(tiles())), 1);
    DwtLevel dwt{.tile_components = tile_components_.data(),
                 .low = level & 1 ? buffers.ll_odd.data() : buffers.ll_even.data(),
                 .coefficients = buffers.coefficients.data(),
                 .quantiser = {},
                 .components = components(),
                 .level = level,
                 .last = level == description_.levels,
                 .block_columns = block_columns,
                 .segment_row_pairs = std::max(kShortest, (row_pairs_at(level) + segments - 1) / segments),
                 .is_short = is_short_};
    for (size_t c = 0; c < quantised_components(); c++)
        for (int o = dwt.last ? kLL : kHL; o <= kHH; o++)
            dwt.quantiser[c][o] = band_quantiser(c, o ? description_.levels + 1 - level : 0, o);
    return dwt;
}

void Transform::shift_region(Device::Stream stream, const Buffers &buffers, const CodeBlock *blocks) const {
    const unsigned count = static_cast<unsigned>(plan_.roi_blocks.size());
    if (count)
        device_->launch(stream, {count}, kRoiThreads,
                        RoiParams{.roi_blocks = roi_blocks_.data(),
                                  .blocks = blocks,
                                  .coefficients = buffers.coefficients.data(),
                                  .shift = description_.region_shift(0)});
}

}  // namespace cudaenc::j2k
