// SPDX-License-Identifier: LGPL-2.1-or-later
// From samples to quantised coefficients on a device: conversion to X'Y'Z', load, wavelet transform, region of
// interest.
#pragma once
#include <algorithm>
#include <memory>

#include "../../../common/j2k/transform/transform_plan.h"
#include "../../device_objects.h"
#include "dwt_params.h"

namespace cudaenc::j2k {

class Transform {
  public:
    // Of a frame in flight.
    struct Buffers {
        DeviceArray<uint16_t> xyz;                            // planes of X'Y'Z', where frames become such planes first
        DeviceArray<SampleLayout> xyz_layout;                 // and where they lie
        DeviceArray<uint32_t> ll_odd, ll_even, coefficients;  // see TileComponent
    };

    // setup: the stream of uploads, to be waited for. slots: frames in flight.
    // is_short: coefficients take 16 bits.
    Transform(std::shared_ptr<Device> device, TransformPlan plan, Device::Stream setup, int slots, bool is_short);
    Buffers make_buffers(Device::Stream setup) const;

    // Queues the transform of a frame. layout: of its samples, of each component; blocks: Geometry::blocks; both in
    // device memory.
    void queue(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout,
               const CodeBlock *blocks) const;

  private:
    void upload_xyz(Device::Stream setup);
    void convert(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const;
    void load(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const;
    template <class W, class First, class FirstSigned, class Next>
    void transform_levels(Device::Stream stream, const Buffers &buffers, const SampleLayout *layout) const;
    template <class First, class Launch>
    void launch_first(const LoadDwtInput &load, const Launch &launch) const;
    template <class W>
    DwtLevel dwt_level(const Buffers &buffers, int level, int depth) const;
    void shift_region(Device::Stream stream, const Buffers &buffers, const CodeBlock *blocks) const;

    bool loads_xyz() const { return plan_.xyz && !xyz_planes_; }
    BandQuantiser band_quantiser(size_t component, int resolution, int orientation) const;
    int row_pairs_at(int level) const;
    int components() const { return static_cast<int>(description_.components.size()); }
    bool is_signed() const { return description_.components[0].is_signed; }
    size_t quantised_components() const {
        return std::min<size_t>(description_.components.size(), kQuantisedComponents);
    }
    unsigned tiles() const { return static_cast<unsigned>(description_.tiles()); }

    const std::shared_ptr<Device> device_;
    const TransformPlan plan_;
    const Description &description_;
    const Geometry &geometry_;
    const int slots_;
    const bool is_short_;
    const bool xyz_planes_;  // frames become planes of X'Y'Z' before they are loaded, not while they are
    XyzConversion xyz_{};    // with tables in device memory
    DeviceArray<CurvePiece> to_light_, to_code_;
    DeviceArray<float> cube_;
    DeviceArray<TileComponent> tile_components_;
    DeviceArray<RoiBlock> roi_blocks_;
};

}  // namespace cudaenc::j2k
