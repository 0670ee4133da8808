// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_decoder.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "../../../common/j2k/t1/context_tables.h"
#include "../../device_pipeline.h"
#include "mq_decode_params.h"

namespace cudaenc::j2k {

namespace {

// Lanes of a warp that take a block. With fewer they wait less for each other, but take more warps: no more than a
// device holds at once.
int choose_mq_lanes(const DecoderLimits &limits, int multiprocessors) {
    const int warps = limits.words <= kMqDecodeWords ? 12 : 7;  // that a multiprocessor holds, by their shared memory
    const int64_t lanes = ceil_div(int64_t{limits.blocks} * limits.pictures, int64_t{multiprocessors} * warps);
    return static_cast<int>(std::clamp<int64_t>(lanes, 4, mq_decode_lanes(limits.words)));
}

MqDecodeTables make_mq_decode_tables() {
    MqDecodeTables tables{};
    const ContextTables contexts;
    for (uint32_t i = 0; i < kSignCodings; i++)
        tables.codings[i] = static_cast<uint8_t>(contexts.zero_coding[i / 512][i % 512] << 1);
    std::copy(std::begin(contexts.sign), std::end(contexts.sign), tables.codings + kSignCodings);
    return tables;
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

MqBlockDecoder::MqBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      lanes_(choose_mq_lanes(limits, device_->multiprocessors())),
      tables_(device_, 1),
      planes_(device_, blocks_for(limits.blocks, static_cast<uint64_t>(lanes_)) *
                           mq_planes_words(lanes_, limits.words, limits.planes)) {
    const MqDecodeTables tables = make_mq_decode_tables();
    Stream setup(device_);
    device_->upload(setup, tables_.data(), &tables, sizeof tables);
    device_->synchronize(setup);
}

void MqBlockDecoder::decode(Device::Stream stream, const CodedBlocks &coded) const {
    const MqDecodeInput input{.coded = coded,
                              .tables = tables_.data(),
                              .planes = planes_.data(),
                              .lanes = lanes_,
                              .most_words = limits_.words,
                              .most_planes = limits_.planes};
    const Grid grid{blocks_for(limits_.blocks, static_cast<uint64_t>(lanes_))};
    if (limits_.words <= kMqDecodeWords)
        device_->launch(stream, grid, kMqDecodeThreads, MqDecodeParams{input});
    else
        device_->launch(stream, grid, kMqDecodeThreads, MqDecodeLargeParams{input});
}

}  // namespace cudaenc::j2k
