// SPDX-License-Identifier: LGPL-2.1-or-later
#include "motion_search.h"

namespace cudaenc::h264 {

namespace {

Grid grid_of_plane(const MarginPlane &plane) {
    const int words = (plane.width + 2 * kPlaneMargin + 3) / 4;
    return {static_cast<unsigned>(ceil_div(words, kPyramidThreads)),
            static_cast<unsigned>(plane.height + 2 * kPlaneMargin)};
}
Grid grid_of_warps(int count) { return {static_cast<unsigned>(ceil_div(count, kSearchThreads / 32))}; }

}  // namespace

DeviceMotionSearch::DeviceMotionSearch(std::shared_ptr<Device> device, int width, int height, int vertical)
    : device_(std::move(device)),
      width_(width),
      height_(height),
      columns_((width + 15) / 16),
      rows_((height + 15) / 16),
      vertical_(vertical) {}

DevicePyramid DeviceMotionSearch::make_pyramid() const {
    DevicePyramid pyramid;
    for (int level = 0; level < kPyramidLevels; level++)
        pyramid.levels[level] = DevicePlane(device_, 16 * columns_ >> level, 16 * rows_ >> level);
    return pyramid;
}

std::unique_ptr<WeighedSource> DeviceMotionSearch::make_weighed_source() const {
    return std::unique_ptr<WeighedSource>(new WeighedSource{make_pyramid(), {device_, 1}, {device_, 1}});
}

DeviceMotionSearch::Buffers DeviceMotionSearch::make_buffers() const {
    Buffers buffers;
    for (int level = 1; level < kPyramidLevels; level++)
        buffers.grids[level] = {device_, static_cast<size_t>(level_blocks(level, columns_)) *
                                             static_cast<size_t>(level_blocks(level, rows_))};
    buffers.found = {device_, static_cast<size_t>(columns_) * static_cast<size_t>(rows_)};
    return buffers;
}

void DeviceMotionSearch::build(Device::Stream stream, const SampleLayout &luma, const DevicePyramid &to) const {
    const MarginPlane &first = to.levels[0].plane();
    device_->launch(stream, grid_of_plane(first), kPyramidThreads,
                    SourcePlaneParams{
                        .luma = eight_bits_of(luma), .picture_width = width_, .picture_height = height_, .to = first});
    build_halves(stream, to);
}

void DeviceMotionSearch::weigh(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
                               const WeighedSource &to) const {
    device_->launch(stream, {1}, kFadeThreads,
                    FindWeightsParams{.now = source.levels[kPyramidLevels - 1].plane(),
                                      .before = before.levels[kPyramidLevels - 1].plane(),
                                      .weights = to.weights.data(),
                                      .host_weights = to.host_weights.data()});
    const MarginPlane &first = to.pyramid.levels[0].plane();
    device_->launch(stream, grid_of_plane(first), kPyramidThreads,
                    SourceBeforeParams{.from = source.levels[0].plane(), .weights = to.weights.data(), .to = first});
    build_halves(stream, to.pyramid);
}

void DeviceMotionSearch::build_halves(Device::Stream stream, const DevicePyramid &to) const {
    for (int level = 1; level < kPyramidLevels; level++) {
        const MarginPlane &plane = to.levels[level].plane();
        device_->launch(stream, grid_of_plane(plane), kPyramidThreads,
                        HalvePlaneParams{.from = to.levels[level - 1].plane(), .to = plane});
    }
}

SearchArguments DeviceMotionSearch::arguments_of(const DevicePyramid &source, const DevicePyramid &before,
                                                 uint32_t lambda, int level, const Buffers &buffers) const {
    VectorGrid above{};
    if (const int i = level + 1; i < kPyramidLevels)
        above = {buffers.grids[i].data(), level_blocks(i, columns_), level_blocks(i, rows_)};
    return {.columns = columns_,
            .rows = rows_,
            .vertical = vertical_,
            .lambda = lambda,
            .source = source.levels[level].plane(),
            .before = before.levels[level].plane(),
            .above = above};
}

void DeviceMotionSearch::find_halves(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
                                     uint32_t lambda, const Buffers &buffers) const {
    for (int level = kPyramidLevels - 1; level > 0; level--)
        device_->launch(stream, grid_of_warps(level_blocks(level, columns_) * level_blocks(level, rows_)),
                        kSearchThreads,
                        LevelSearchParams{arguments_of(source, before, lambda, level, buffers), level,
                                          buffers.grids[level].data()});
}

void DeviceMotionSearch::find(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
                              uint32_t lambda, const Buffers &buffers) const {
    find_halves(stream, source, before, lambda, buffers);
    device_->launch(stream, grid_of_warps(columns_ * rows_), kSearchThreads,
                    MacroblockSearchParams{arguments_of(source, before, lambda, 0, buffers), buffers.found.data()});
}

void DeviceMotionSearch::find_source_costs(Device::Stream stream, const DevicePyramid &source,
                                           const DevicePyramid *before, const Buffers &buffers,
                                           SourceCosts *costs) const {
    const int macroblocks = columns_ * rows_;
    device_->launch(stream, {static_cast<unsigned>(ceil_div(macroblocks, kLookaheadThreads / 16))}, kLookaheadThreads,
                    SourceCostsParams{.columns = columns_,
                                      .macroblocks = macroblocks,
                                      .now = source.levels[1].plane(),
                                      .before = (before ? *before : source).levels[1].plane(),
                                      .vectors = before ? buffers.grids[1].data() : nullptr,
                                      .costs = costs});
}

void DeviceMotionSearch::find_costs(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
                                    const Buffers &buffers, SceneCosts *costs) const {
    device_->launch(
        stream, {static_cast<unsigned>(rows_)}, kSceneThreads,
        SceneCostsParams{.columns = columns_,
                         .now = source.levels[1].plane(),
                         .before = before.levels[1].plane(),
                         .vectors = {buffers.grids[1].data(), level_blocks(1, columns_), level_blocks(1, rows_)},
                         .found = buffers.found.data(),
                         .costs = costs});
}

}  // namespace cudaenc::h264
