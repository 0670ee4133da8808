// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tier1.h"

#include "../../device_pipeline.h"

namespace cudaenc::j2k {

namespace {

// Neither a style but the bypass. Its MQ segments have gaps between them.
bool is_bypass_alone(const BlockCoding &coding) { return coding.style == kBypass; }

}  // namespace

Tier1Memory::Tier1Memory(const std::shared_ptr<Device> &device, const Tier1Batch &batch, const CodewordRooms &rooms)
    : batch(batch), rooms(rooms.begins) {
    const size_t blocks = batch.blocks, all_passes = blocks * static_cast<size_t>(batch.max_passes);
    const bool truncatable = batch.coding.truncatable, styled = batch.coding.style != 0;
    const auto make = [&](auto &array, size_t count) {
        array = std::remove_reference_t<decltype(array)>(device, std::max<size_t>(count, 1));
    };
    make(codewords, rooms.bytes);
    for (auto *array : {&planes, &passes}) make(*array, blocks);
    for (auto *array : {&symbols, &bytes, &order}) make(*array, blocks);
    for (auto *array : {&pass_ends, &pass_bytes}) make(*array, all_passes);
    make(work, 1);
    if (is_bypass_alone(batch.coding)) make(segment_begins, all_passes);
    if (!truncatable) return;
    make(always_included, blocks);
    make(estimated_bytes, blocks);
    make(terminations, all_passes);
    make(reductions, all_passes);
    if (!styled || is_bypass_alone(batch.coding)) make(pass_coders, all_passes);
}

Tier1Buffers Tier1Memory::buffers(const CodeBlock *blocks) const {
    return {.blocks = blocks,
            .coded = {.codewords = codewords.data(),
                      .rooms = rooms,
                      .planes = planes.data(),
                      .passes = passes.data(),
                      .bytes = bytes.data(),
                      .estimated_bytes = estimated_bytes.data(),
                      .always_included = always_included.data(),
                      .pass_bytes = pass_bytes.data(),
                      .terminations = terminations.data(),
                      .reductions = reductions.data(),
                      .segment_begins = segment_begins.data()},
            .symbols = symbols.data(),
            .pass_ends = pass_ends.data(),
            .pass_coders = pass_coders.data(),
            .work = work.data(),
            .count = batch.blocks,
            .max_passes = batch.max_passes,
            .lossy = batch.coding.lossy};
}

void model_contexts(Device &device, Device::Stream stream, const Tier1Batch &batch, const Tier1Buffers &t1,
                    const uint32_t *coefficients, const BandCoding *bands, const StopSlope *stop,
                    RegionWeights regions) {
    device.fill(stream, t1.work, 0, sizeof(WorkOrder));
    const ContextInput input{
        .t1 = t1, .coefficients = coefficients, .tiles_x = batch.tiles_x, .tiles_y = batch.tiles_y};
    const StyledContextInput styled{input, batch.coding.style};
    const PredictedContextInput predicted{input, bands, stop, regions};
    const auto launch = [&](const auto &small, const auto &tiled) {
        if (const unsigned tiles = static_cast<unsigned>(batch.tiles_x * batch.tiles_y); tiles > 1)
            device.launch(stream, {batch.blocks}, tiles * 32, tiled);
        else
            device.launch(stream, {blocks_for(batch.blocks, kContextWarps)}, kContextWarps * 32, small);
    };
    const BlockCoding &coding = batch.coding;
    if (coding.truncatable && !coding.style)
        launch(PredictedContextParams{predicted}, PredictedContextTiledParams{predicted});
    else if (coding.truncatable && coding.style == kBypass)
        launch(BypassPredictedContextParams{predicted}, BypassPredictedContextTiledParams{predicted});
    else if (coding.truncatable)
        launch(StyledPredictedContextParams{{predicted, coding.style}},
               StyledPredictedContextTiledParams{{predicted, coding.style}});
    else if (coding.style == kBypass)
        launch(BypassContextParams{input}, BypassContextTiledParams{input});
    else if (coding.style)
        launch(StyledContextParams{styled}, StyledContextTiledParams{styled});
    else
        launch(ContextParams{input}, ContextTiledParams{input});
}

void code_symbols(Device &device, Device::Stream stream, const Tier1Batch &batch, const Tier1Buffers &t1,
                  uint32_t *order, int lanes) {
    device.launch(stream, {blocks_for(batch.blocks, kWorkClasses)}, kOrderThreads,
                  OrderParams{.symbols = t1.symbols, .work = t1.work, .order = order, .count = batch.blocks});
    const MqInput input{.t1 = t1, .order = order, .lanes = lanes};
    const auto launch = [&](const auto &params) {
        device.launch(stream, {blocks_for(batch.blocks, static_cast<uint64_t>(kMqThreads / 32 * lanes))}, kMqThreads,
                      params);
    };
    const BlockCoding &coding = batch.coding;
    if (coding.truncatable && !coding.style)
        launch(MeasuredMqParams{input});
    else if (coding.truncatable && coding.style == kBypass)
        launch(BypassMeasuredMqParams{input});
    else if (coding.truncatable)
        launch(StyledMeasuredMqParams{{input, coding.style}});
    else if (coding.style == kBypass)
        launch(BypassMqParams{input});
    else if (coding.style)
        launch(StyledMqParams{{input, coding.style}});
    else
        launch(MqParams{input});
}

MqCoder::MqCoder(std::shared_ptr<Device> device, const Tier1Batch &batch, const CodewordRooms &rooms,
                 const CodeBlock *blocks, const BandCoding *bands, RegionWeights regions, int lanes)
    : device_(std::move(device)),
      memory_(device_, batch, rooms),
      t1_(memory_.buffers(blocks)),
      bands_(bands),
      regions_(regions),
      lanes_(lanes) {}

void MqCoder::analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) {
    model_contexts(*device_, stream, memory_.batch, t1_, coefficients, bands_, stop, regions_);
}

void MqCoder::code(Device::Stream stream) {
    code_symbols(*device_, stream, memory_.batch, t1_, memory_.order.data(), lanes_);
}

}  // namespace cudaenc::j2k
