// SPDX-License-Identifier: LGPL-2.1-or-later
#include "t1_planes.h"

namespace cudaenc::j2k {

namespace {
unsigned blocks_for(uint64_t work, uint64_t threads) { return static_cast<unsigned>((work + threads - 1) / threads); }
}  // namespace

PlanesTier1::PlanesTier1(const std::shared_ptr<Device> &device, uint32_t count, int most_planes, int tiles_x,
                         int tiles_y, uint32_t style)
    : device_(device),
      count_(count),
      style_(style | kCuttable),
      most_planes_(most_planes),
      tiles_x_(tiles_x),
      tiles_y_(tiles_y) {
    const size_t planes = static_cast<size_t>(most_planes),
                 columns = size_t{32} * static_cast<size_t>(tiles_x) * static_cast<size_t>(tiles_y);
    for (auto *words : {&negative_, &significant_, &refined_}) *words = DeviceArray<uint32_t>(device, count * columns);
    bits_ = DeviceArray<uint32_t>(device, count * planes * columns);
    zeroed_ = DeviceArray<uint32_t>(device, count + planes + 2 * planes * kWorkClasses + kStopSlopes);
    for (auto *values : {&raw_bytes_, &order_}) *values = DeviceArray<uint32_t>(device, count);
    for (auto *values : {&active_, &plane_pairs_}) *values = DeviceArray<uint32_t>(device, count * planes);
    slopes_ = DeviceArray<uint16_t>(device, count);
    stopped_ = DeviceArray<uint8_t>(device, count);
    progress_ = DeviceArray<MqProgress>(device, count);
    for (size_t i = 0; i < 2 * planes + 1; i++) events_.push_back(std::make_unique<Event>(device, false));
}

void PlanesTier1::queue(Device::Stream stream, Device::Stream other, const Tier1Buffers &t1,
                        const uint32_t *coefficients, const Options &options) {
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
    uint32_t *table = b.t1.work_counts + most_planes_ * kWorkClasses;
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
    const unsigned by_block = blocks_for(count_, kActiveThreads), by_warp = blocks_for(count_, kContextWarps),
                   by_lane = blocks_for(count_, static_cast<uint64_t>(kMqThreads / 32 * options.lanes));
    const Device::Stream mq = options.overlap ? other : stream;
    event_ = 0;
    device_->fill(stream, zeroed_.data(), 0, zeroed_.bytes());
    device_->launch(stream, {blocks_for(uint64_t{count_} * tiles, kContextWarps)}, kContextWarps * 32,
                    SliceParams{b, coefficients});
    for (int plane = most_planes_ - 1; plane >= 0; plane--) {
        const PlaneParams params{b, plane};
        device_->launch(stream, {by_block}, kActiveThreads, ActiveParams{b, plane, !options.compaction});
        if (tiles > 1 && style_ != kCuttable)
            device_->launch(stream, {count_}, tiles * 32, StyledContextPlaneTiledParams{params});
        else if (tiles > 1)
            device_->launch(stream, {count_}, tiles * 32, ContextPlaneTiledParams{params});
        else if (style_ != kCuttable)
            device_->launch(stream, {by_warp}, kContextWarps * 32, StyledContextPlaneParams{params});
        else
            device_->launch(stream, {by_warp}, kContextWarps * 32, ContextPlaneParams{params});
        // MQ coding of the plane above, and who stops there, are behind it; context modelling of the one below waits
        // for that, lest it models contexts of blocks that have stopped.
        if (options.overlap && options.stop != EarlyStop::kNone && plane < most_planes_ - 1) follow(stream, mq);
        if (options.overlap) follow(mq, stream);
        device_->launch(mq, {blocks_for(count_, kWorkClasses)}, kOrderThreads, OrderPlaneParams{params});
        device_->launch(mq, {by_lane}, kMqThreads, MqPlaneParams{params});
        if (options.stop == EarlyStop::kNone || !plane) continue;
        device_->launch(mq, {by_block}, kActiveThreads, PlaneCostParams{params, options.bands, table, slopes_.data()});
        device_->launch(mq, {blocks_for(count_, kStopSlopes)}, kStopSlopes,
                        StopParams{params, table, slopes_.data(), options.budget, options.stop});
    }
    if (options.overlap) follow(stream, mq);
}

void PlanesTier1::follow(Device::Stream later, Device::Stream earlier) {
    Event &event = *events_[event_++];
    device_->record(event, earlier);
    device_->wait(later, event);
}

}  // namespace cudaenc::j2k
