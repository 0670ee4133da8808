// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rate_control.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../../../common/j2k/rate/predict_cpu.h"
#include "../../device_pipeline.h"

namespace cudaenc::j2k {

RateController::RateController(std::shared_ptr<Device> device, const Params &params, const EncoderGeometry &geometry,
                               const RateBudget &budget, const Tier2 &tier2, const Tier1Batch &batch, bool is_short,
                               Device::Stream setup)
    : device_(std::move(device)),
      params_(params),
      geometry_(geometry),
      budget_(budget),
      tier2_(tier2),
      tiles_x_(batch.tiles_x),
      tiles_y_(batch.tiles_y),
      is_short_(is_short),
      bands_(upload_table(device_, setup, geometry.band_codings)) {
    if (params_.rate.predicts_slopes())
        sampled_blocks_ = upload_table(device_, setup, choose_sampled_blocks(params_, geometry_));
}

void RateController::allocate_buffers(Buffers &b) const {
    const auto make = [&]<class T>(DeviceArray<T> &array, size_t count) { array = DeviceArray<T>(device_, count); };
    const size_t blocks = geometry_.blocks.size(), packets = geometry_.packets.size(),
                 slopes = static_cast<size_t>(budget_.groups()) * kSlopes;
    make(b.allocation, 1);
    make(b.layer_passes, geometry_.block_layers.size());
    make(b.layer_bytes, geometry_.block_layers.size());
    make(b.slopes, blocks * static_cast<size_t>(geometry_.max_passes));
    make(b.bytes_at_or_above, slopes);
    make(b.bytes_at, slopes);
    make(b.packet_bits, packets);
    make(b.packet_bytes, packets);
    make(b.measures_done, 1);
    make(b.sample_table, 3 * kStopBins);
    make(b.samples_done, 1);
    if (!params_.takes_regions) return;
    make(b.region_weights, blocks);
    b.next_weights.emplace(device_, blocks);
}

void RateController::clear(Device::Stream stream, Buffers &b) const {
    const auto zero = [&](const auto &...array) { (device_->fill(stream, array.data(), 0, array.bytes()), ...); };
    zero(b.bytes_at, b.packet_bits, b.packet_bytes, b.measures_done, b.sample_table, b.samples_done);
    if (params_.takes_regions) zero(b.region_weights);
    b.has_regions = false;
    b.cleared = true;
}

void RateController::upload_regions(Device::Stream stream, Buffers &b, const std::vector<int16_t> &weights) const {
    if (weights.empty() && std::exchange(b.has_regions, false))
        device_->fill(stream, b.region_weights.data(), 0, b.region_weights.bytes());
    if (weights.empty()) return;
    std::ranges::copy(weights, b.next_weights->data());
    device_->upload(stream, b.region_weights.data(), b.next_weights->data(), b.region_weights.bytes());
    b.has_regions = true;
}

void RateController::upload(Device::Stream stream, const Buffers &b) const {
    device_->upload(stream, b.allocation.data(), b.begin.data(), sizeof(RateAllocation));
}

void RateController::sample(Device::Stream stream, const Buffers &b, const CodeBlock *blocks,
                            const uint32_t *coefficients) const {
    const uint32_t count = static_cast<uint32_t>(sampled_blocks_.count());
    const SampleInput input{.blocks = blocks,
                            .bands = bands_.data(),
                            .regions = b.regions(),
                            .coefficients = coefficients,
                            .sampled_blocks = sampled_blocks_.data(),
                            .table = b.sample_table.data(),
                            .held_back = b.sample_table.data() + kStopBins,
                            .alike = b.sample_table.data() + 2 * kStopBins,
                            .done = b.samples_done.data(),
                            .allocation = b.allocation.data(),
                            .count = count,
                            .block_count = static_cast<uint32_t>(geometry_.blocks.size()),
                            .layers = static_cast<uint32_t>(params_.layers),
                            .style = params_.style,
                            .lossy = geometry_.coding.lossy,
                            .frame_steps = params_.frame_steps,
                            .step_weights = params_.step_weights,
                            .is_short = is_short_,
                            .tiles_x = tiles_x_,
                            .tiles_y = tiles_y_};
    const unsigned groups = blocks_for(count, kSampleWarps), tiles = static_cast<unsigned>(tiles_x_ * tiles_y_);
    if (are_alternatives(params_.style))
        device_->launch(stream, {groups}, kSampleWarps * 32, SampleAlternativesParams{input});
    else if (tiles == 1)
        device_->launch(stream, {groups}, kSampleWarps * 32, SampleParams{input});
    else
        device_->launch(stream, {count}, tiles * 32, SampleTiledParams{input});
}

RateBuffers RateController::rate(const Buffers &b, const Tier2Buffers &t2) const {
    return {.t2 = t2,
            .bands = bands_.data(),
            .regions = b.regions(),
            .slopes = b.slopes.data(),
            .bytes_at = b.bytes_at.data(),
            .bytes_at_or_above = b.bytes_at_or_above.data(),
            .allocation = b.allocation.data(),
            .packet_bits = b.packet_bits.data(),
            .packet_bytes = b.packet_bytes.data(),
            .done = b.measures_done.data(),
            .groups = static_cast<uint32_t>(budget_.groups())};
}

// Finds all hulls and the next thresholds. measured, revision: see AllocateParams.
void RateController::allocate(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2, bool measured,
                              const RateRevision &revision) const {
    const TruncationChoice *choice = revision.layer < 0 ? nullptr : &b.allocation.data()->choice[revision.layer];
    device_->launch(stream, {blocks_for(t2.block_count, kHullThreads)}, kHullThreads,
                    HullParams{.rate = rate(b, t2), .choice = choice});
    device_->launch(stream, {1}, kAllocateThreads,
                    AllocateParams{.rate = rate(b, t2), .measured = measured, .revision = revision});
}

// See MeasureParams.
void RateController::measure(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2, bool last,
                             bool ahead) const {
    device_->launch(stream, {blocks_for(t2.block_layer_count, kMeasureThreads)}, kMeasureThreads,
                    MeasureParams{.rate = rate(b, t2),
                                  .fixed = budget_.outside_packets(),
                                  .group_fixed = budget_.tile_part_header(),
                                  .last = last,
                                  .ahead = ahead});
}

void RateController::measure_ahead(Device::Stream stream, const Buffers &b, Tier2Buffers t2) const {
    t2.layer_passes = t2.coded.passes;
    t2.layer_bytes = t2.coded.estimated_bytes;
    tier2_.make_tag_trees(stream, t2);
    measure(stream, b, t2, false, true);
}

void RateController::truncate(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2, bool measured) const {
    allocate(stream, b, t2, measured, {});
    const int rounds = budget_.rounds();
    for (int round = measured ? rounds - 1 : 0; round < rounds; round++) {
        device_->launch(stream, {tier2_.bands()}, tier2_.tag_tree_threads(),
                        TruncateParams{{rate(b, t2), round == rounds - 1}});
        if (round < rounds - 1) measure(stream, b, t2, round == rounds - 2, false);
    }
}

void RateController::truncate_again(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2,
                                    const RateRevision &revision) const {
    allocate(stream, b, t2, false, revision);
    device_->launch(stream, {tier2_.bands()}, tier2_.tag_tree_threads(), TruncateAgainParams{{rate(b, t2), true}});
}

static_assert(sizeof(LayerThresholds) <= kNoteWords * sizeof(uint32_t));
std::span<const uint32_t> RateController::note(const Buffers &b) const {
    const LayerThresholds *thresholds = b.allocation.data();
    return {reinterpret_cast<const uint32_t *>(thresholds), sizeof(LayerThresholds) / sizeof(uint32_t)};
}
LayerThresholds RateController::noted(const CodestreamResult &result) {
    LayerThresholds thresholds;
    std::memcpy(&thresholds, result.note, sizeof thresholds);
    return thresholds;
}

}  // namespace cudaenc::j2k
