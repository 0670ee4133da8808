// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../device_pipeline.h"
#include "block_decoder.h"
#include "ht_decode_params.h"

namespace cudaenc::j2k {

HtBlockDecoder::HtBlockDecoder(std::shared_ptr<Device> device, const DecoderLimits &limits)
    : device_(std::move(device)),
      limits_(limits),
      tables_(device_, 1),
      quads_(device_, size_t{limits.blocks} * (1 + limits.quads)) {
    Stream setup(device_);
    device_->upload(setup, tables_.data(), &kHtDecodeTables, sizeof kHtDecodeTables);
    device_->synchronize(setup);
}

void HtBlockDecoder::decode(Device::Stream stream, const CodedBlocks &coded) const {
    const HtDecodeInput input{
        .coded = coded, .tables = tables_.data(), .quads = quads_.data(), .most_quads = limits_.quads};
    device_->launch(stream, {blocks_for(limits_.blocks, kHtVlcThreads)}, kHtVlcThreads, HtVlcParams{input});
    if (limits_.quads <= kHtSamplesQuads)
        device_->launch(stream, {blocks_for(limits_.blocks, 2 * kHtSampleWarps)}, kHtSampleWarps * 32,
                        HtSamplesParams{input});
    else
        device_->launch(stream, {blocks_for(limits_.blocks, kHtSampleWarps)}, kHtSampleWarps * 32,
                        HtSamplesLargeParams{input});
}

}  // namespace cudaenc::j2k
