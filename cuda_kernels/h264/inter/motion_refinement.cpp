// SPDX-License-Identifier: LGPL-2.1-or-later
#include "motion_refinement.h"

#include <vector>

#include "../../../common/h264/intra/qp_choice.h"

namespace cudaenc::h264 {

namespace {

constexpr int kLowestQp = -qp_bd_offset(kMaxBitDepth);

std::vector<uint32_t> lambdas() {
    std::vector<uint32_t> of_qps;
    for (int qp = kLowestQp; qp <= kLastQp; qp++) of_qps.push_back(motion_lambda_of(qp));
    return of_qps;
}

}  // namespace

DeviceMotionRefinement::DeviceMotionRefinement(std::shared_ptr<Device> device, int columns, int rows, int vertical)
    : device_(std::move(device)),
      columns_(columns),
      rows_(rows),
      vertical_(vertical),
      lambdas_(upload_now(device_, lambdas())) {}

DeviceMotionRefinement::Buffers DeviceMotionRefinement::make_buffers() const {
    const size_t count = static_cast<size_t>(columns_) * static_cast<size_t>(rows_);
    Buffers buffers;
    for (int i = 0; i < 2; i++) {
        buffers.motion[i] = {device_, count};
        buffers.estimates[i] = {device_, count};
    }
    return buffers;
}

void DeviceMotionRefinement::find(Device::Stream stream, const DevicePlane &source, const ReferencePlanes &reference,
                                  const FoundMotion *found, const int8_t *qps, int drop_step,
                                  const RefreshColumns &refresh, const Buffers &buffers) const {
    const int count = columns_ * rows_;
    const Grid warps{static_cast<unsigned>(ceil_div(count, kRefineThreads / 32))};
    // Passes write either buffer in turn, the last one the first.
    int own = kSpreads % 2;
    device_->launch(stream, {static_cast<unsigned>(ceil_div(count, kRefineThreads))}, kRefineThreads,
                    StartMotionParams{.macroblocks = count, .found = found, .motion = buffers.motion[1 - own].data()});
    for (int pass = 0; pass <= kSpreads; pass++, own = 1 - own) {
        RefineArguments arguments{.columns = columns_,
                                  .rows = rows_,
                                  .vertical = vertical_,
                                  .source = source.plane(),
                                  .reference = {},
                                  .qps = qps,
                                  .lambdas = lambdas_.data() - kLowestQp + drop_step,
                                  .before = buffers.motion[1 - own].data(),
                                  .motion = buffers.motion[own].data(),
                                  .estimates = buffers.estimates[own].data(),
                                  .refresh = refresh};
        for (int i = 0; i < kHalfPlanes; i++) arguments.reference[i] = reference.luma[i];
        if (pass == 0)
            device_->launch(stream, warps, kRefineThreads, RefineParams{arguments, found});
        else
            device_->launch(stream, warps, kRefineThreads, SpreadParams{arguments, buffers.estimates[1 - own].data()});
    }
}

}  // namespace cudaenc::h264
