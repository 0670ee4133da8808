// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_inter_coder.h"

#include <vector>

#include "../../../common/h264/intra/qp_choice.h"
#include "../intra/intra_coder.h"

namespace cudaenc::h264 {

namespace {

std::vector<QpChoice> qp_choices(const PictureFormat &f) {
    std::vector<QpChoice> choices;
    for (int qp = -qp_bd_offset(f.bit_depth); qp <= kLastQp; qp++)
        choices.push_back(make_qp_choice(qp, f.bit_depth, f.chroma, 0, Quantisers{}));
    return choices;
}

}  // namespace

DeviceInterCoder::DeviceInterCoder(std::shared_ptr<Device> device, const PictureFormat &format, int vertical)
    : device_(std::move(device)),
      format_(format),
      columns_(format.macroblock_columns()),
      rows_(format.macroblock_rows()),
      vertical_(vertical),
      qp_choices_(upload_now(device_, qp_choices(format))),
      tables_(upload_now(device_, make_wavefront_tables(format.chroma, format.field))) {}

DeviceInterCoder::Buffers DeviceInterCoder::make_buffers() const {
    const size_t count = static_cast<size_t>(columns_) * static_cast<size_t>(rows_);
    return {.macroblocks = {device_, count},
            .levels = {device_, count * 16 * static_cast<size_t>(blocks_per_macroblock(format_.chroma))},
            .motion = {device_, count},
            .outcomes = {device_, count}};
}

void DeviceInterCoder::code(Device::Stream stream, const Picture &picture, const ReferencePlanes &reference,
                            const Results &results) const {
    const auto &[first, second, third] = picture.components;
    CodeInterArguments arguments{
        .columns = columns_,
        .rows = rows_,
        .vertical = vertical_,
        .transform_8x8 = format_.transform_8x8,
        .source = picture.luma,
        .components = {first, second, third},
        .width = format_.width,
        .height = format_.height,
        .chroma_width = (format_.width + 1) / 2,
        .chroma_height = format_.chroma == ChromaFormat::c420 ? (format_.height + 1) / 2 : format_.height,
        .bit_depth = format_.bit_depth,
        .chroma_offset = picture.chroma_offset,
        .reference = {},
        .samples = {reference.decoded[0], reference.decoded[1], reference.decoded[2]},
        .decoded = {picture.decoded[0], picture.decoded[1], picture.decoded[2]},
        .qps = picture.qps,
        .qp_choices = qp_choices_.data() + qp_bd_offset(format_.bit_depth) + picture.drop_step,
        .tables = tables_.data(),
        .field = picture.field,
        .motion = results.motion,
        .macroblocks = results.macroblocks,
        .levels = results.levels,
        .outcomes = results.outcomes,
        .refresh = picture.refresh,
        .weights = picture.weights};
    for (int i = 0; i < kHalfPlanes; i++) arguments.reference[i] = reference.luma[i];
    const Grid grid{static_cast<unsigned>(ceil_div(columns_ * rows_, kCodeThreads / 32))};
    with_decoded(format_.chroma, format_.bit_depth, [&]<ChromaFormat F, int Bytes>() {
        device_->launch(stream, grid, kCodeThreads, CodeInterParams<F, Bytes>{arguments});
    });
}

}  // namespace cudaenc::h264
