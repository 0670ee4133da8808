// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_inter_coder.h"

#include <vector>

#include "../../../common/h264/intra/qp_choice.h"
#include "../intra/intra_coder.h"

namespace cudaenc::h264 {

namespace {

std::vector<QpChoice> qp_choices() {
    std::vector<QpChoice> choices;
    for (int qp = 0; qp <= kLastQp; qp++) choices.push_back(make_qp_choice(qp, 8, ChromaFormat::c420, 0, Quantisers{}));
    return choices;
}

}  // namespace

DeviceInterCoder::DeviceInterCoder(std::shared_ptr<Device> device, int width, int height, int vertical,
                                   bool transform_8x8)
    : device_(std::move(device)),
      width_(width),
      height_(height),
      columns_((width + 15) / 16),
      rows_((height + 15) / 16),
      vertical_(vertical),
      transform_8x8_(transform_8x8),
      qp_choices_(upload_now(device_, qp_choices())),
      tables_(upload_now(device_, make_wavefront_tables(ChromaFormat::c420, false))) {}

DeviceInterCoder::Buffers DeviceInterCoder::make_buffers() const {
    const size_t count = static_cast<size_t>(columns_) * static_cast<size_t>(rows_);
    return {.macroblocks = {device_, count},
            .levels = {device_, count * 16 * static_cast<size_t>(blocks_per_macroblock(ChromaFormat::c420))},
            .motion = {device_, count},
            .outcomes = {device_, count}};
}

void DeviceInterCoder::code(Device::Stream stream, const Picture &picture, const ReferencePlanes &reference,
                            const Results &results) const {
    CodeInterParams params{.columns = columns_,
                           .rows = rows_,
                           .vertical = vertical_,
                           .transform_8x8 = transform_8x8_,
                           .source = picture.luma,
                           .chroma_source = {picture.chroma[0], picture.chroma[1]},
                           .chroma_width = (width_ + 1) / 2,
                           .chroma_height = (height_ + 1) / 2,
                           .reference = {},
                           .chroma_reference = {reference.chroma[0], reference.chroma[1]},
                           .decoded = {picture.decoded[0], picture.decoded[1], picture.decoded[2]},
                           .qps = picture.qps,
                           .qp_choices = qp_choices_.data() + picture.drop_step,
                           .tables = tables_.data(),
                           .field = picture.field,
                           .motion = results.motion,
                           .macroblocks = results.macroblocks,
                           .levels = results.levels,
                           .outcomes = results.outcomes,
                           .refresh = picture.refresh};
    for (int i = 0; i < kHalfPlanes; i++) params.reference[i] = reference.luma[i];
    device_->launch(stream, {static_cast<unsigned>(ceil_div(columns_ * rows_, kCodeThreads / 32))}, kCodeThreads,
                    params);
}

}  // namespace cudaenc::h264
