// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ht_coder.h"

#include "../../device_pipeline.h"

namespace cudaenc::j2k {

namespace {

template <class Small, class Large, class Input>
void launch(Device &device, Device::Stream stream, const Input &input, uint32_t count, int most_samples,
            uint32_t blocks_of_small, uint32_t blocks_of_large) {
    if (most_samples <= 1024)
        device.launch(stream, {blocks_for(count, blocks_of_small)}, kHtWarps * 32, Small{input});
    else
        device.launch(stream, {blocks_for(count, blocks_of_large)}, kHtLargeWarps * 32, Large{input});
}

}  // namespace

void code_ht_blocks(Device &device, Device::Stream stream, const HtInput &input, int most_samples) {
    if (input.is_short)
        launch<HtShortParams, HtShortLargeParams>(device, stream, input, input.count, most_samples, kHtWarps,
                                                  kHtLargeWarps);
    else
        launch<HtParams, HtLargeParams>(device, stream, input, input.count, most_samples, kHtWarps, kHtLargeWarps);
}
void code_ht_blocks(Device &device, Device::Stream stream, const HtTruncatedInput &input, int most_samples) {
    launch<HtTruncatedParams, HtTruncatedLargeParams>(device, stream, input, input.ht.count, most_samples,
                                                      input.chosen ? kHtChosenBlocks : kHtWarps,
                                                      input.chosen ? kHtChosenBlocks : kHtLargeWarps);
}
void code_ht_blocks(Device &device, Device::Stream stream, const HtOnePlaneInput &input, int most_samples) {
    launch<HtOnePlaneParams, HtOnePlaneLargeParams>(device, stream, input, input.truncated.ht.count, most_samples,
                                                    kHtWarps, kHtLargeWarps);
}

HtCoder::HtCoder(std::shared_ptr<Device> device, const HtBlocks &blocks, const CodewordRooms &rooms)
    : device_(std::move(device)),
      blocks_(blocks),
      codes_(device_, 1),
      codewords_(device_, rooms.bytes),
      planes_(device_, blocks.count),
      passes_(device_, blocks.count),
      bytes_(device_, blocks.count) {
    Stream setup(device_);
    device_->upload(setup, codes_.data(), &kHtCodes, sizeof kHtCodes);
    records_.codewords = codewords_.data();
    records_.rooms = rooms.begins;
    records_.planes = planes_.data();
    records_.passes = passes_.data();
    records_.bytes = records_.pass_bytes = bytes_.data();  // of the one pass
    if (blocks_.truncatable) {
        const size_t points = size_t{blocks.count} * static_cast<unsigned>(blocks.max_passes);
        pass_bytes_ = {device_, points};
        terminations_ = {device_, points};
        reductions_ = {device_, points};
        always_included_ = {device_, blocks.count};
        coded_planes_ = {device_, blocks.count};
        // A codeword ends as it is, and none is always included.
        device_->fill(setup, terminations_.data(), 0, terminations_.bytes());
        device_->fill(setup, always_included_.data(), 0, always_included_.bytes());
        records_.pass_bytes = pass_bytes_.data();
        records_.terminations = terminations_.data();
        records_.reductions = reductions_.data();
        records_.always_included = always_included_.data();
    }
    device_->synchronize(setup);
}

HtInput HtCoder::input(const uint32_t *coefficients) const {
    return {.blocks = blocks_.blocks,
            .coefficients = coefficients,
            .codes = codes_.data(),
            .coded = records_,
            .count = blocks_.count,
            .is_short = blocks_.is_short};
}

void HtCoder::analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) {
    coefficients_ = coefficients;
    stop_ = stop;
    if (blocks_.one_plane)
        code_ht_blocks(*device_, stream, HtOnePlaneInput{truncated(nullptr, nullptr)}, blocks_.most_samples);
    else if (blocks_.truncatable)
        code_truncated(stream, nullptr, nullptr);
    else
        code_ht_blocks(*device_, stream, input(coefficients), blocks_.most_samples);
}

void HtCoder::code_truncated(Device::Stream stream, const uint8_t *passes, uint32_t *bytes) {
    if (blocks_.truncatable) code_ht_blocks(*device_, stream, truncated(passes, bytes), blocks_.most_samples);
}

HtTruncatedInput HtCoder::truncated(const uint8_t *passes, uint32_t *bytes) const {
    return {.ht = input(coefficients_),
            .bands = blocks_.bands,
            .stop = stop_,
            .chosen = passes,
            .chosen_bytes = bytes,
            .coded_planes = coded_planes_.data(),
            .max_passes = blocks_.max_passes};
}

}  // namespace cudaenc::j2k
