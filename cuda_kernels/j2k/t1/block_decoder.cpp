// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_decoder.h"

#include <algorithm>
#include <bit>
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

uint64_t work_of(const DecoderBlock &block, std::span<const DecoderSegment> segments) {
    uint64_t work = 0;
    for (const DecoderSegment &segment : segments.subspan(block.first_segment, block.segments))
        work += decode_work(segment.bytes, segment.passes);
    return work;
}

// Of a warp that takes 1 << i blocks, for each unit of the longest one's work: cycles until it ends, where it has the
// scheduler for itself, and how many instructions it issues.
struct LaneCost {
    double latency, issue;
};
constexpr LaneCost kLaneCosts[kLaneShares] = {{180, 97}, {290, 126}, {410, 156}, {560, 190}, {680, 222}, {800, 254}};
// Of a multiprocessor: instructions in a cycle, up to which warps seldom wait for each other; warps that a picture may
// have on it.
constexpr double kIssued = 1.6;
constexpr unsigned kMostWarps = 32;

}  // namespace

MqBlockDecoder::MqBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      most_lanes_(mq_decode_lanes(limits.words)),
      warps_(std::min(limits.blocks, blocks_for(limits.blocks, static_cast<uint64_t>(most_lanes_)) + kLaneShares +
                                         static_cast<unsigned>(device_->multiprocessors()) * kMostWarps)),
      tables_(device_, 1),
      visits_(device_, size_t{limits.blocks} * limits.words),
      planes_(device_, limits.blocks * mq_planes_words(limits.words, limits.planes)) {
    const MqDecodeTables tables = make_mq_decode_tables();
    Stream setup(device_);
    device_->upload(setup, tables_.data(), &tables, sizeof tables);
    device_->synchronize(setup);
}

LaneShares MqBlockDecoder::share_lanes(std::span<const DecoderBlock> blocks,
                                       std::span<const DecoderSegment> segments) const {
    // Blocks that lie side by side are alike: few of the longest ones, many of the others. The first one has the most
    // work.
    struct Run {
        double work, blocks;
    };
    std::vector<Run> runs;
    for (size_t i = 0; i < blocks.size();) {
        const size_t count = std::min(std::max<size_t>(i / 16, 8), blocks.size() - i);
        runs.push_back({static_cast<double>(work_of(blocks[i], segments)), static_cast<double>(count)});
        i += count;
    }
    const int most = std::bit_width(static_cast<unsigned>(most_lanes_)) - 1;
    const double multiprocessors = device_->multiprocessors(), part = multiprocessors / limits_.pictures;
    for (double cycles = runs.empty() ? 0 : runs[0].work * kLaneCosts[0].latency;; cycles *= 1.1) {
        // As many lanes as let a block end in time.
        LaneShares shares{};
        double issued = 0, warps = 0;
        int share = 0;
        for (const Run &run : runs) {
            while (share < most && run.work * kLaneCosts[share + 1].latency <= cycles) share++;
            const double of_share = run.blocks / (1 << share);
            shares.blocks[share] += static_cast<uint32_t>(run.blocks);
            warps += of_share;
            issued += of_share * run.work * kLaneCosts[share].issue;
        }
        const bool fits = warps <= multiprocessors * kMostWarps && issued <= part * kIssued * cycles;
        if (fits || shares.blocks[most] == blocks.size()) return shares;
    }
}

void MqBlockDecoder::decode(Device::Stream stream, const CodedBlocks &coded) const {
    const MqDecodeInput input{.coded = coded,
                              .tables = tables_.data(),
                              .visits = visits_.data(),
                              .planes = planes_.data(),
                              .most_words = limits_.words,
                              .most_planes = limits_.planes};
    if (limits_.words > kMqDecodeWords)
        device_->launch(stream, {warps_}, kMqDecodeThreads, MqDecodeLargeParams{input});
    else
        device_->launch(stream, {warps_}, kMqDecodeThreads, MqDecodeParams{input});
}

}  // namespace cudaenc::j2k
