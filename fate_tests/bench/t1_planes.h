// Tier-1 of a batch of blocks by bit-planes. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "../../cuda_kernels/device_objects.h"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

class PlanesTier1 {
  public:
    // tiles: of 32x32 in the largest block.
    PlanesTier1(const std::shared_ptr<Device> &device, uint32_t count, int most_planes, int tiles_x, int tiles_y,
                uint32_t style)
        : device_(device), count_(count), most_planes_(most_planes), style_(style) {
        const size_t planes = static_cast<size_t>(most_planes), columns = size_t{32} * tiles_x * tiles_y;
        for (auto *words : {&negative_, &significant_, &refined_})
            *words = DeviceArray<uint32_t>(device, count * columns);
        bits_ = DeviceArray<uint32_t>(device, count * planes * columns);
        zeroed_ = DeviceArray<uint32_t>(device, count + planes + 2 * planes * kWorkClasses);
        raw_bytes_ = DeviceArray<uint32_t>(device, count);
        active_ = DeviceArray<uint32_t>(device, count * planes);
        plane_pairs_ = DeviceArray<uint32_t>(device, count * planes);
        order_ = DeviceArray<uint32_t>(device, count);
        stopped_ = DeviceArray<uint8_t>(device, count);
        progress_ = DeviceArray<MqProgress>(device, count);
        tiles_x_ = tiles_x;
        tiles_y_ = tiles_y;
        for (int i = 0; i <= most_planes; i++) events_.push_back(std::make_unique<Event>(device, false));
    }

    struct Options {
        bool overlap = true;     // of context modelling and MQ coding
        bool compaction = true;  // thread-blocks and lanes for active blocks only
        int lanes = 32;          // of a warp that code a block, at most
    };
    // Queues all of it on `stream`; MQ coding that overlaps takes `other`, which `stream` waits for.
    void queue(Device::Stream stream, Device::Stream other, const Tier1Buffers &t1, const uint32_t *coefficients,
               const Options &options) {
        const auto blocks_for = [](uint64_t work, uint64_t threads) {
            return static_cast<unsigned>((work + threads - 1) / threads);
        };
        PlaneBuffers b{};
        b.t1 = t1;
        b.bits = bits_.data();
        b.negative = negative_.data();
        b.significant = significant_.data();
        b.refined = refined_.data();
        b.planes = zeroed_.data();
        b.active_counts = b.planes + count_;
        b.taken = b.active_counts + most_planes_;
        b.t1.work_counts = b.taken + most_planes_ * kWorkClasses;
        b.raw_bytes = raw_bytes_.data();
        b.stopped = stopped_.data();
        b.progress = progress_.data();
        b.active = active_.data();
        b.plane_pairs = plane_pairs_.data();
        b.order = order_.data();
        b.most_planes = most_planes_;
        b.tiles_x = tiles_x_;
        b.tiles_y = tiles_y_;
        b.style = style_;
        const unsigned tiles = static_cast<unsigned>(tiles_x_ * tiles_y_);
        const Device::Stream mq = options.overlap ? other : stream;
        device_->fill(stream, zeroed_.data(), 0, zeroed_.bytes());
        device_->launch(stream, {blocks_for(uint64_t{count_} * tiles, kContextWarps)}, kContextWarps * 32,
                        SliceParams{b, coefficients});
        for (int plane = most_planes_ - 1; plane >= 0; plane--) {
            device_->launch(stream, {blocks_for(count_, kActiveThreads)}, kActiveThreads,
                            ActiveParams{b, plane, !options.compaction});
            const ContextPlaneParams params{b, plane};
            if (tiles == 1)
                device_->launch(stream, {blocks_for(count_, kContextWarps)}, kContextWarps * 32, params);
            else
                device_->launch(stream, {count_}, tiles * 32, ContextPlaneTiledParams{params});
            if (options.overlap) follow(mq, stream, plane);
            device_->launch(mq, {blocks_for(count_, kWorkClasses)}, kWorkClasses, OrderPlaneParams{params});
            device_->launch(mq, {blocks_for(count_, static_cast<uint64_t>(kMqThreads / 32 * options.lanes))},
                            kMqThreads, MqPlaneParams{params});
        }
        if (options.overlap) follow(stream, mq, most_planes_);
    }

  private:
    void follow(Device::Stream later, Device::Stream earlier, int event) {
        device_->record(*events_[static_cast<size_t>(event)], earlier);
        device_->wait(later, *events_[static_cast<size_t>(event)]);
    }

    const std::shared_ptr<Device> device_;
    const uint32_t count_;
    const int most_planes_;
    const uint32_t style_;
    int tiles_x_, tiles_y_;
    DeviceArray<uint32_t> bits_, negative_, significant_, refined_, zeroed_, raw_bytes_, active_, plane_pairs_, order_;
    DeviceArray<uint8_t> stopped_;
    DeviceArray<MqProgress> progress_;
    std::vector<std::unique_ptr<Event>> events_;
};

}  // namespace cudaenc::j2k
