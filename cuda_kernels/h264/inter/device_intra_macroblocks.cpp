// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_intra_macroblocks.h"

#include <algorithm>

namespace cudaenc::h264 {

DeviceIntraMacroblocks::DeviceIntraMacroblocks(std::shared_ptr<Device> device, const PictureFormat &format,
                                               const DeviceIntraCoder &intra)
    : device_(std::move(device)), format_(format), intra_(intra) {}

DeviceIntraMacroblocks::Buffers DeviceIntraMacroblocks::make_buffers() const {
    const size_t count = static_cast<size_t>(format_.macroblocks());
    return {.ranked = {device_, count},
            .candidates = {device_, count},
            .modes_below = {device_, count},
            .coded = {device_, count},
            .tickets = {device_, 1}};
}

void DeviceIntraMacroblocks::rank(Device::Stream stream, const std::array<SampleLayout, 3> &components,
                                  const Buffers &buffers, const MacroblockSlice *slices) const {
    const auto &[luma, cb, cr] = components;
    intra_.rank(stream, {eight_bits_of(luma), cb, cr}, 1, buffers.ranked.data(), slices);
}

void DeviceIntraMacroblocks::code(Device::Stream stream, const Picture &picture, const DeviceInterCoder::Results &inter,
                                  Buffers &buffers) const {
    if (buffers.pictures == 0) {
        device_->fill(stream, buffers.coded.data(), 0, buffers.coded.bytes());
        device_->fill(stream, buffers.tickets.data(), 0, buffers.tickets.bytes());
    }
    IntraMacroblocksArguments params{intra_.arguments(),
                                     picture.slices,
                                     buffers.candidates.data(),
                                     inter.outcomes,
                                     inter.motion,
                                     {},
                                     buffers.modes_below.data(),
                                     buffers.coded.data(),
                                     picture.refresh};
    params.qp_choices += qp_bd_offset(format_.bit_depth) + picture.drop_step;
    params.tickets = buffers.tickets.data();
    params.picture_count = 1;
    const auto &[first, second, third] = picture.components;
    params.pictures[0] = {.components = {first, second, third},
                          .qps = picture.qps,
                          .ranked = buffers.ranked.data(),
                          .records = nullptr,
                          .macroblocks = inter.macroblocks,
                          .levels = inter.levels,
                          .qp = 0,
                          .serial = ++buffers.pictures,
                          .step = 1,
                          .field = 0};
    for (int c = 0; c < 3; c++) params.decoded[c] = {picture.decoded[c].data, picture.decoded[c].stride};
    const unsigned rows = static_cast<unsigned>(format_.macroblock_rows());
    const int columns = format_.macroblock_columns();
    const auto queue_candidates = [&]<int BitDepth>() {
        device_->launch(stream, {static_cast<unsigned>(ceil_div(columns, kIntraCandidateThreads / 32)), rows},
                        kIntraCandidateThreads,
                        IntraCandidatesParams<BitDepth>{.columns = columns,
                                                        .transform_8x8 = format_.transform_8x8,
                                                        .slices = picture.slices,
                                                        .source = picture.luma,
                                                        .qps = picture.qps,
                                                        .qp_choices = params.qp_choices,
                                                        .ranked = buffers.ranked.data(),
                                                        .estimates = picture.estimates,
                                                        .outcomes = inter.outcomes,
                                                        .refresh = picture.refresh,
                                                        .candidates = buffers.candidates.data()});
    };
    if (format_.bit_depth == 8)
        queue_candidates.operator()<8>();
    else
        queue_candidates.operator()<10>();
    // As many as may run at once, where no other work is.
    const unsigned parts = rows * static_cast<unsigned>(ceil_div(columns, kCandidateColumns));
    const unsigned resident = kIntraBlocks * static_cast<unsigned>(device_->multiprocessors());
    with_decoded(format_.chroma, format_.bit_depth, [&]<ChromaFormat F, int Bytes>() {
        device_->launch(stream, {std::min(parts, resident)}, kWavefrontThreads,
                        IntraMacroblocksParams<F, Bytes>{params});
    });
}

}  // namespace cudaenc::h264
