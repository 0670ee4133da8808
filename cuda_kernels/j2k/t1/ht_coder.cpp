// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ht_coder.h"

#include "../../device_pipeline.h"

namespace cudaenc::j2k {

void code_ht_blocks(Device &device, Device::Stream stream, const HtInput &input, int most_samples) {
    if (most_samples <= 1024)
        device.launch(stream, {blocks_for(input.count, kHtWarps)}, kHtWarps * 32, HtParams{input});
    else
        device.launch(stream, {blocks_for(input.count, kHtLargeWarps)}, kHtLargeWarps * 32, HtLargeParams{input});
}

HtCoder::HtCoder(std::shared_ptr<Device> device, const CodeBlock *blocks, uint32_t count, int most_samples,
                 uint64_t slot_bytes)
    : device_(std::move(device)),
      blocks_(blocks),
      count_(count),
      most_samples_(most_samples),
      codes_(device_, 1),
      slots_(device_, slot_bytes),
      planes_(device_, count),
      passes_(device_, count),
      bytes_(device_, count) {
    Stream setup(device_);
    device_->upload(setup, codes_.data(), &kHtCodes, sizeof kHtCodes);
    device_->synchronize(setup);
    records_.slots = slots_.data();
    records_.planes = planes_.data();
    records_.passes = passes_.data();
    records_.bytes = records_.pass_bytes = bytes_.data();  // of the one pass
}

void HtCoder::analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *) {
    code_ht_blocks(
        *device_, stream,
        {.blocks = blocks_, .coefficients = coefficients, .codes = codes_.data(), .coded = records_, .count = count_},
        most_samples_);
}

}  // namespace cudaenc::j2k
