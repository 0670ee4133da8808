// SPDX-License-Identifier: LGPL-2.1-or-later
// From decoded coefficients to planes on a device: dequantisation, inverse wavelet and component transforms, rounding
// and clipping.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "../../../common/device.h"
#include "../../../common/j2k/codestream/description.h"
#include "idwt_params.h"

namespace cudaenc::j2k {

// What of a component is asked for.
struct ComponentOutput {
    // Its first sample is that of column 0 and row 0 of planes. Coordinates are those of the resolution that is asked
    // for: of all samples component_extent(), of a region less.
    Extent part;
    uint32_t first_channel, last_channel;  // [first, last) of InverseBuffers::channels; none: it is not stored
};

struct InverseLaunch {
    enum Kind { kIdwt53, kIdwt97, kIdwt53Store, kIdwt97Store, kIdwt53MctStore, kIdwt97MctStore, kStore } kind;
    int level;                   // of the resolution that it makes: levels below the samples
    uint32_t first_work, works;  // of InversePlan::work
    uint32_t warps;
    int segment_rows;  // as InverseLaunchInput has it
};

// What follows from headers: the same for all pictures with the same description and outputs.
struct InversePlan {
    std::vector<InverseWork> work;
    std::vector<InverseLaunch> launches;
    std::array<uint64_t, 2> values{};  // of InverseBuffers::resolutions
};

// tile_components: [tile * components + component], Geometry's or, for a region, others whose coefficients have what
// its samples are made of. lowres: resolutions that are left out; no tile-component has fewer levels. outputs: of each
// component.
// multiprocessors: of the device that is to be filled. Throws Error, CUDAENC_ERR_INVALID, if the components of a
// component transform differ in size.
InversePlan plan_inverse_transform(const Description &description, const std::vector<TileComponent> &tile_components,
                                   int lowres, const std::vector<ComponentOutput> &outputs, int multiprocessors);

// In device memory.
struct InverseBuffers {
    const InverseWork *work;  // InversePlan::work
    // As block decoders leave them (block_decoder.h): Geometry::samples words, with 0 where nothing was decoded. They
    // stay as they are.
    const uint32_t *coefficients;
    std::array<uint32_t *, 2> resolutions;  // InversePlan::values words each: of even and of odd levels
    const ChannelLayout *channels;          // planes of this picture, and palettes, are in device memory too
};

// Queues the transforms of a picture.
void queue_inverse_transform(Device &device, Device::Stream stream, const InversePlan &plan,
                             const InverseBuffers &buffers);

}  // namespace cudaenc::j2k
