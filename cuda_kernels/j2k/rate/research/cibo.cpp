// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cibo.h"

#include "../../../../common/error.h"
#include "../../../device_pipeline.h"

namespace cudaenc::j2k {

std::vector<uint64_t> place_codewords(std::span<const CodeBlock> blocks) {
    std::vector<uint64_t> begins{0};
    for (const CodeBlock &b : blocks)
        begins.push_back(begins.back() + codeword_alone_room(b.width, b.height, b.planes));
    return begins;
}

CiboTier1::CiboTier1(const std::shared_ptr<Device> &device, const Tier1Batch &batch, SymbolMemory symbols)
    : device_(device), batch_(batch), most_planes_((batch.max_passes + 2) / 3) {
    const size_t count = batch.blocks, planes = static_cast<size_t>(most_planes_),
                 columns = size_t{32} * static_cast<size_t>(batch.tiles_x * batch.tiles_y);
    for (auto *words : {&negative_, &significant_, &refined_}) *words = DeviceArray<uint32_t>(device, count * columns);
    bits_ = DeviceArray<uint32_t>(device, count * planes * columns);
    for (auto *values : {&planes_, &raw_bytes_, &order_}) *values = DeviceArray<uint32_t>(device, count);
    for (auto *values : {&active_, &plane_symbols_}) *values = DeviceArray<uint32_t>(device, count * planes);
    active_counts_ = DeviceArray<uint32_t>(device, planes);
    table_ = DeviceArray<uint32_t>(device, kStopBins);
    if (symbols == SymbolMemory::kTwoPlanes) {
        if (batch.coding.style & kBypass)
            throw Error(CUDAENC_ERR_INVALID, "symbols of two planes alone are not allowed with the bypass");
        symbols_ = DeviceArray<uint8_t>(device, 2 * count * plane_symbols_room(32 * batch.tiles_x, 32 * batch.tiles_y));
        overflowed_ = DeviceArray<uint32_t>(device, 1);
    }
    work_ = DeviceArray<WorkOrder>(device, planes);
    bins_ = DeviceArray<uint16_t>(device, count);
    stopped_ = DeviceArray<uint8_t>(device, count);
    progress_ = DeviceArray<MqProgress>(device, count);
    for (size_t i = 0; i < 2 * planes + 1; i++) events_.push_back(std::make_unique<Event>(device, false));
}

PlaneBuffers CiboTier1::buffers(const Tier1Buffers &t1) const {
    PlaneBuffers buffers{.t1 = t1,
                         .bits = bits_.data(),
                         .negative = negative_.data(),
                         .significant = significant_.data(),
                         .refined = refined_.data(),
                         .planes = planes_.data(),
                         .raw_bytes = raw_bytes_.data(),
                         .stopped = stopped_.data(),
                         .progress = progress_.data(),
                         .active = active_.data(),
                         .active_counts = active_counts_.data(),
                         .plane_symbols = plane_symbols_.data(),
                         .order = order_.data(),
                         .symbols = symbols_.data(),
                         .overflowed = overflowed_.data(),
                         .symbols_stride = plane_symbols_room(32 * batch_.tiles_x, 32 * batch_.tiles_y),
                         .most_planes = most_planes_,
                         .tiles_x = batch_.tiles_x,
                         .tiles_y = batch_.tiles_y,
                         .style = batch_.coding.style};
    buffers.t1.work = work_.data();
    return buffers;
}

void CiboTier1::queue(Device::Stream stream, Device::Stream other, const Tier1Buffers &t1, const uint32_t *coefficients,
                      const Options &options) {
    const PlaneBuffers b = buffers(t1);
    const uint32_t count = batch_.blocks;
    const unsigned tiles = static_cast<unsigned>(batch_.tiles_x * batch_.tiles_y);
    const unsigned by_block = blocks_for(count, kActiveThreads), by_warp = blocks_for(count, kContextWarps),
                   by_lane = blocks_for(count, static_cast<uint64_t>(kMqThreads / 32 * options.lanes));
    const bool styled = batch_.coding.style != 0, two_planes = symbols_.count() != 0;
    const Device::Stream mq = options.overlap ? other : stream;
    event_ = 0;
    for (const auto *zeroed : {&planes_, &active_counts_, &table_})
        device_->fill(stream, zeroed->data(), 0, zeroed->bytes());
    if (two_planes) device_->fill(stream, overflowed_.data(), 0, overflowed_.bytes());
    device_->fill(stream, work_.data(), 0, work_.bytes());
    device_->launch(stream, {blocks_for(uint64_t{count} * tiles, kContextWarps)}, kContextWarps * 32,
                    SliceParams{.buffers = b, .coefficients = coefficients});
    for (int plane = most_planes_ - 1; plane >= 0; plane--) {
        const PlaneInput input{.buffers = b, .plane = plane};
        device_->launch(stream, {by_block}, kActiveThreads, ActiveParams{input, !options.compaction});
        if (tiles > 1 && styled)
            device_->launch(stream, {count}, tiles * 32, StyledContextPlaneTiledParams{input});
        else if (tiles > 1)
            device_->launch(stream, {count}, tiles * 32, ContextPlaneTiledParams{input});
        else if (styled)
            device_->launch(stream, {by_warp}, kContextWarps * 32, StyledContextPlaneParams{input});
        else
            device_->launch(stream, {by_warp}, kContextWarps * 32, ContextPlaneParams{input});
        // Earlier MQ coding chose the blocks that stop at the plane above. Context modelling of the plane below waits
        // for that, so that it does not model them. Symbols of two planes take the place of those above as well.
        if (options.overlap && (two_planes || options.stop != EarlyStop::kNone) && plane < most_planes_ - 1)
            follow(stream, mq);
        if (options.overlap) follow(mq, stream);
        device_->launch(mq, {blocks_for(count, kWorkClasses)}, kOrderThreads, OrderPlaneParams{input});
        device_->launch(mq, {by_lane}, kMqThreads, MqPlaneParams{input});
        if (options.stop == EarlyStop::kNone || !plane) continue;
        device_->launch(mq, {by_block}, kActiveThreads,
                        PlaneCostParams{input, options.bands, table_.data(), bins_.data()});
        device_->launch(mq, {blocks_for(count, kStopBins)}, kStopBins,
                        StopParams{input, table_.data(), bins_.data(), options.budget, options.stop});
    }
    if (options.overlap) follow(stream, mq);
}

uint32_t CiboTier1::overflowed(Device::Stream stream) const {
    if (!overflowed_.count()) return 0;
    uint32_t blocks = 0;
    device_->download(stream, &blocks, overflowed_.data(), sizeof blocks);
    device_->synchronize(stream);
    return blocks;
}

uint64_t CiboTier1::bytes() const {
    uint64_t sum = work_.bytes() + bins_.bytes() + stopped_.bytes() + symbols_.bytes() + progress_.bytes();
    for (const auto *words : {&bits_, &negative_, &significant_, &refined_, &raw_bytes_, &active_, &plane_symbols_,
                              &order_, &planes_, &active_counts_, &table_, &overflowed_})
        sum += words->bytes();
    return sum;
}

void CiboTier1::follow(Device::Stream later, Device::Stream earlier) {
    Event &event = *events_[event_++];
    device_->record(event, earlier);
    device_->wait(later, event);
}

}  // namespace cudaenc::j2k
