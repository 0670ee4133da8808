// SPDX-License-Identifier: LGPL-2.1-or-later
// The search for motion on a device: pyramids of source pictures, and vectors in whole samples.
#pragma once
#include <memory>

#include "device_plane.h"
#include "fade_params.h"
#include "lookahead_params.h"
#include "scene_params.h"
#include "search_params.h"

namespace cudaenc::h264 {

// A source picture, see SourcePyramid.
struct DevicePyramid {
    DevicePlane levels[kPyramidLevels];
};

// A source picture as the picture before has it, see SourcePyramid::build_before().
struct WeighedSource {
    DevicePyramid pyramid;
    DeviceArray<PictureWeights> weights;
    PinnedArray<PictureWeights> host_weights;
};

class DeviceMotionSearch {
  public:
    // vertical: as of MotionSearch; width, height: the picture's, of which macroblocks are made.
    DeviceMotionSearch(std::shared_ptr<Device> device, int width, int height, int vertical);

    DevicePyramid make_pyramid() const;
    std::unique_ptr<WeighedSource> make_weighed_source() const;
    // Of a picture in flight.
    struct Buffers {
        DeviceArray<Vector> grids[kPyramidLevels];  // from level 1 on
        DeviceArray<FoundMotion> found;             // of macroblocks
    };
    Buffers make_buffers() const;

    // Queues the pyramid of a picture, 8 bits, in device memory.
    void build(Device::Stream stream, const SampleLayout &luma, const DevicePyramid &to) const;
    // Queues find_weights(), and `to`, the source with its weights inverted, for find().
    void weigh(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
               const WeighedSource &to) const;
    // Queues the search; lambda: satd_lambda_of().
    void find(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before, uint32_t lambda,
              const Buffers &buffers) const;
    // The same of levels from 1 on alone.
    void find_halves(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before, uint32_t lambda,
                     const Buffers &buffers) const;
    // Queues the costs of macroblocks for the lookahead, behind find_halves(). before: nullptr: there is none.
    void find_source_costs(Device::Stream stream, const DevicePyramid &source, const DevicePyramid *before,
                           const Buffers &buffers, SourceCosts *costs) const;
    // Queues the sums that tell of scene cuts and of the better field, behind find(). costs: of rows of macroblocks, in
    // pinned memory as well.
    void find_costs(Device::Stream stream, const DevicePyramid &source, const DevicePyramid &before,
                    const Buffers &buffers, SceneCosts *costs) const;

  private:
    SearchArguments arguments_of(const DevicePyramid &source, const DevicePyramid &before, uint32_t lambda, int level,
                                 const Buffers &buffers) const;
    void build_halves(Device::Stream stream, const DevicePyramid &to) const;

    const std::shared_ptr<Device> device_;
    const int width_, height_, columns_, rows_, vertical_;
};

}  // namespace cudaenc::h264
