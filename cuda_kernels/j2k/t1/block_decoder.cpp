// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_decoder.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "../../device_pipeline.h"

namespace cudaenc::j2k {

namespace {

// Lanes of a warp that take a block. With fewer they wait less for each other, as long as a multiprocessor holds the
// warps.
int choose_mq_lanes(uint32_t blocks, uint32_t words, int multiprocessors) {
    constexpr int kWarps = 16;  // that a multiprocessor should have at least
    const int most = words <= kMqDecodeWords ? kMqDecodeLanes : kMqDecodeLargeLanes;
    const int64_t lanes = ceil_div(blocks, int64_t{multiprocessors} * kWarps);
    return static_cast<int>(std::clamp<int64_t>(lanes, 4, most));
}

}  // namespace

void most_work_first(std::span<DecoderBlock> blocks, std::span<const DecoderSegment> segments) {
    const auto bytes_of = [&](const DecoderBlock &b) {
        uint32_t bytes = 0;
        for (const DecoderSegment &segment : segments.subspan(b.first_segment, b.segments)) bytes += segment.bytes;
        return bytes;
    };
    // By counting: classes of work, the largest first.
    constexpr uint32_t kClasses = 1024, kBytes = 8;
    std::vector<uint32_t> begins(kClasses + 1);
    std::vector<uint16_t> classes(blocks.size());
    for (size_t i = 0; i < blocks.size(); i++) {
        classes[i] = static_cast<uint16_t>(kClasses - 1 - std::min(bytes_of(blocks[i]) / kBytes, kClasses - 1));
        begins[classes[i] + 1u]++;
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    const std::vector<DecoderBlock> before(blocks.begin(), blocks.end());
    for (size_t i = 0; i < before.size(); i++) blocks[begins[classes[i]]++] = before[i];
}

BlockDecoder::BlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      mq_lanes_(choose_mq_lanes(limits.mq_blocks, limits.mq_words, device_->multiprocessors())) {
    Stream setup(device_);
    const MqDecodeTables mq_tables{};
    if (limits.mq_blocks) {
        mq_tables_ = {device_, 1};
        device_->upload(setup, mq_tables_.data(), &mq_tables, sizeof mq_tables);
        mq_planes_ = {device_, blocks_for(limits.mq_blocks, static_cast<uint64_t>(mq_lanes_)) *
                                   mq_planes_words(mq_lanes_, limits.mq_words, limits.mq_planes)};
    }
    if (limits.ht_blocks) {
        ht_tables_ = {device_, 1};
        device_->upload(setup, ht_tables_.data(), &kHtDecodeTables, sizeof kHtDecodeTables);
        ht_quads_ = {device_, size_t{limits.ht_blocks} * (1 + limits.ht_quads)};
    }
    device_->synchronize(setup);
}

void BlockDecoder::decode_mq(Device::Stream stream, const CodedBlocks &coded) const {
    const MqDecodeInput input{.coded = coded,
                              .tables = mq_tables_.data(),
                              .planes = mq_planes_.data(),
                              .lanes = mq_lanes_,
                              .most_words = limits_.mq_words,
                              .most_planes = limits_.mq_planes};
    const Grid grid{blocks_for(limits_.mq_blocks, static_cast<uint64_t>(mq_lanes_))};
    if (limits_.mq_words <= kMqDecodeWords)
        device_->launch(stream, grid, kMqDecodeThreads, MqDecodeParams{input});
    else
        device_->launch(stream, grid, kMqDecodeThreads, MqDecodeLargeParams{input});
}

void BlockDecoder::decode_ht(Device::Stream stream, const CodedBlocks &coded) const {
    const HtDecodeInput input{
        .coded = coded, .tables = ht_tables_.data(), .quads = ht_quads_.data(), .most_quads = limits_.ht_quads};
    device_->launch(stream, {blocks_for(limits_.ht_blocks, kHtVlcThreads)}, kHtVlcThreads, HtVlcParams{input});
    device_->launch(stream, {blocks_for(limits_.ht_blocks, kHtSampleWarps)}, kHtSampleWarps * 32,
                    HtSamplesParams{input});
}

}  // namespace cudaenc::j2k
