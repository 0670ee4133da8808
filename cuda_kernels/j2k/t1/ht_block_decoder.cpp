// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "../../device_pipeline.h"
#include "block_decoder.h"
#include "ht_decode_params.h"

namespace cudaenc::j2k {

namespace {

// Lanes of a warp that take a block in the VLC kernel. With fewer they wait less for each other, as long as schedulers
// have a warp or two.
int choose_vlc_lanes(uint32_t blocks, int pictures, int multiprocessors) {
    constexpr int kWarps = 6;  // of a multiprocessor
    const int64_t lanes = ceil_div(int64_t{blocks} * pictures, int64_t{multiprocessors} * kWarps);
    return static_cast<int>(std::clamp<int64_t>(lanes, 4, kHtVlcThreads));
}

}  // namespace

HtBlockDecoder::HtBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      tables_(device_, 1),
      quads_(device_, size_t{limits.blocks} * (1 + limits.quads)) {
    Stream setup(device_);
    device_->upload(setup, tables_.data(), &kHtDecodeTables, sizeof kHtDecodeTables);
    device_->synchronize(setup);
}

void HtBlockDecoder::decode(Device::Stream stream, const CodedBlocks &coded, uint32_t most) const {
    const int vlc_lanes = choose_vlc_lanes(most, limits_.pictures, device_->multiprocessors());
    const HtDecodeInput input{.coded = coded,
                              .tables = tables_.data(),
                              .quads = quads_.data(),
                              .most_quads = limits_.quads,
                              .vlc_lanes = vlc_lanes};
    device_->launch(stream, {blocks_for(most, static_cast<uint64_t>(vlc_lanes))}, kHtVlcThreads, HtVlcParams{input});
    if (limits_.quads <= kHtSamplesQuads)
        device_->launch(stream, {blocks_for(most, 2 * kHtSampleWarps)}, kHtSampleWarps * 32, HtSamplesParams{input});
    else
        device_->launch(stream, {blocks_for(most, kHtSampleWarps)}, kHtSampleWarps * 32, HtSamplesLargeParams{input});
}

}  // namespace cudaenc::j2k
