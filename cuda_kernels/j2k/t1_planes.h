// Tier-1 of a batch of blocks by bit-planes. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>
#include <vector>

#include "../device_objects.h"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

class PlanesTier1 {
  public:
    // tiles: of 32x32 in the largest block; style: with kCuttable.
    PlanesTier1(const std::shared_ptr<Device> &device, uint32_t count, int most_planes, int tiles_x, int tiles_y,
                uint32_t style);

    struct Options {
        bool overlap = true;     // of context modelling and MQ coding
        bool compaction = true;  // thread-blocks and lanes for active blocks only
        int lanes = 32;          // of a warp that code a block, at most
        EarlyStop stop = EarlyStop::kNone;
        const uint64_t *budget = nullptr;     // of early stops, in bytes, on the device
        const PrecinctBand *bands = nullptr;  // of the blocks, for early stops
    };
    // Queues all of it on `stream`; MQ coding that overlaps takes `other`, which `stream` waits for. What blocks that
    // stopped have is as it is with all passes, up to the last one. t1: without work_counts.
    void queue(Device::Stream stream, Device::Stream other, const Tier1Buffers &t1, const uint32_t *coefficients,
               const Options &options);

  private:
    void follow(Device::Stream later, Device::Stream earlier);

    const std::shared_ptr<Device> device_;
    const uint32_t count_, style_;
    const int most_planes_, tiles_x_, tiles_y_;
    DeviceArray<uint32_t> bits_, negative_, significant_, refined_, zeroed_, raw_bytes_, active_, plane_pairs_, order_;
    DeviceArray<uint16_t> slopes_;
    DeviceArray<uint8_t> stopped_;
    DeviceArray<MqProgress> progress_;
    std::vector<std::unique_ptr<Event>> events_;
    size_t event_ = 0;  // the next one
};

}  // namespace cudaenc::j2k
