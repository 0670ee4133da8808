// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_decoder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "../../../common/j2k/t1/context_tables.h"
#include "../../device_pipeline.h"
#include "mq_decode_params.h"

namespace cudaenc::j2k {

namespace {

MqDecodeTables make_mq_decode_tables() {
    MqDecodeTables tables{};
    const ContextTables contexts;
    for (uint32_t row = 0; row < 3; row++) {  // see MqLane's zero_codings_
        constexpr int kOrientations[] = {kLH, kHL, kHH};
        for (uint32_t i = 0; i < 512; i++) {
            uint32_t around = 0;
            for (uint32_t x = 0; x < 3; x++)
                for (uint32_t y = 0; y < 3; y++) around |= (i >> (3 * (2 - x) + y) & 1) << (3 * y + x);
            tables.codings[row * 512 + i] = static_cast<uint8_t>(contexts.zero_coding[kOrientations[row]][around] << 1);
        }
    }
    for (uint32_t i = 0; i < 256; i++) {
        const auto at = [i](uint32_t bit, uint32_t to) { return (i >> bit & 1) << to; };
        const uint32_t significant = at(0, 6) | at(2, 1) | at(4, 13) | at(6, 8),  // N, W, E, S
            negative = at(1, 7) | at(3, 2) | at(5, 14) | at(7, 9);
        tables.codings[kSignCodings + sign_coding_index(significant, negative)] = contexts.sign[i];
    }
    return tables;
}

uint32_t bytes_of(const DecoderBlock &block, std::span<const DecoderSegment> segments) {
    uint32_t bytes = 0;
    for (const DecoderSegment &segment : segments.subspan(block.first_segment, block.segments)) bytes += segment.bytes;
    return bytes;
}

// Of a warp that takes 1 << i blocks: cycles that a byte of the longest takes, and how many of them it issues
// instructions in.
struct LaneCost {
    double latency, issue;
};
constexpr LaneCost kLaneCosts[kLaneShares] = {{2000, 600},  {3100, 880},  {4500, 1220},
                                              {6200, 1600}, {8200, 2030}, {10200, 2320}};

}  // namespace

void most_work_first(std::span<DecoderBlock> blocks, std::span<const DecoderSegment> segments) {
    // By counting.
    std::vector<uint32_t> begins(kWorkClasses + 1);
    std::vector<uint16_t> classes(blocks.size());
    for (size_t i = 0; i < blocks.size(); i++) {
        classes[i] = static_cast<uint16_t>(work_class(bytes_of(blocks[i], segments)));
        begins[classes[i] + 1u]++;
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    const std::vector<DecoderBlock> before(blocks.begin(), blocks.end());
    for (size_t i = 0; i < before.size(); i++) blocks[begins[classes[i]]++] = before[i];
}

MqBlockDecoder::MqBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      warps_(blocks_for(limits.blocks, static_cast<uint64_t>(mq_decode_lanes(limits.words))) + kLaneShares +
             static_cast<unsigned>(device_->multiprocessors()) * 32),
      tables_(device_, 1),
      planes_(device_, limits.blocks * mq_planes_words(limits.words, limits.planes)) {
    const MqDecodeTables tables = make_mq_decode_tables();
    Stream setup(device_);
    device_->upload(setup, tables_.data(), &tables, sizeof tables);
    device_->synchronize(setup);
}

LaneShares MqBlockDecoder::share_lanes(std::span<const DecoderBlock> blocks,
                                       std::span<const DecoderSegment> segments) const {
    constexpr size_t kSamples = 512;
    const size_t step = std::max<size_t>(blocks.size() / kSamples, 1);
    const int most = std::bit_width(static_cast<unsigned>(mq_decode_lanes(limits_.words))) - 1;
    std::vector<uint32_t> bytes;
    for (size_t i = 0; i < blocks.size(); i += step) bytes.push_back(bytes_of(blocks[i], segments));
    // The multiprocessors' four schedulers, of which a picture in flight has its part.
    const double issues = 4.0 * device_->multiprocessors() / limits_.pictures * 0.7;
    for (double cycles = bytes.empty() ? 0 : bytes[0] * kLaneCosts[0].latency;; cycles *= 1.25) {
        // As many lanes as let a block end in time.
        LaneShares shares{};
        double issued = 0, warps = 0;
        int share = 0;
        for (size_t i = 0; i < bytes.size(); i++) {
            while (share < most && bytes[i] * kLaneCosts[share + 1].latency <= cycles) share++;
            const size_t count = std::min(step, blocks.size() - i * step);
            shares.blocks[share] += static_cast<uint32_t>(count);
            warps += static_cast<double>(count) / (1 << share);
            issued += bytes[i] * kLaneCosts[share].issue * static_cast<double>(count) / (1 << share);
        }
        if (blocks.empty() || shares.blocks[most] == blocks.size() ||
            (issued <= issues * cycles && warps <= 32.0 * device_->multiprocessors()))
            return shares;
    }
}

void MqBlockDecoder::decode(Device::Stream stream, const CodedBlocks &coded) const {
    const MqDecodeInput input{.coded = coded,
                              .tables = tables_.data(),
                              .planes = planes_.data(),
                              .most_words = limits_.words,
                              .most_planes = limits_.planes};
    if (limits_.words <= kMqDecodeWords)
        device_->launch(stream, {warps_}, kMqDecodeThreads, MqDecodeParams{input});
    else
        device_->launch(stream, {warps_}, kMqDecodeThreads, MqDecodeLargeParams{input});
}

}  // namespace cudaenc::j2k
