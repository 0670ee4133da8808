// SPDX-License-Identifier: LGPL-2.1-or-later
#include "deblocker.h"

#include <vector>

namespace cudaenc::h264 {

DeviceDeblocker::DeviceDeblocker(std::shared_ptr<Device> device, const DeblockPicture &picture,
                                 const DeblockTables &tables, int sample_bytes)
    : device_(std::move(device)),
      picture_(picture),
      sample_bytes_(sample_bytes),
      tables_(upload_now(device_, std::vector<DeblockTables>{tables})) {}

DeblockBuffers DeviceDeblocker::make_buffers() const {
    const size_t macroblocks = static_cast<size_t>(picture_.columns) * static_cast<size_t>(picture_.rows);
    return {.luma_records = {device_, macroblocks * static_cast<size_t>(luma_record_words(sample_bytes_))},
            .chroma_records = {device_,
                               macroblocks * static_cast<size_t>(chroma_record_words(picture_.format, sample_bytes_))},
            .tickets = {device_, 1}};
}

void DeviceDeblocker::filter(Device::Stream stream, DeblockBuffers &buffers, const Picture &picture) const {
    if (buffers.pictures == 0) {
        device_->fill(stream, buffers.luma_records.data(), 0, buffers.luma_records.bytes());
        if (buffers.chroma_records.count())
            device_->fill(stream, buffers.chroma_records.data(), 0, buffers.chroma_records.bytes());
        device_->fill(stream, buffers.tickets.data(), 0, buffers.tickets.bytes());
    }
    DeblockArguments arguments{.picture = picture_,
                               .planes = {picture.planes[0], picture.planes[1], picture.planes[2]},
                               .luma_records = buffers.luma_records.data(),
                               .chroma_records = buffers.chroma_records.data(),
                               .tickets = buffers.tickets.data(),
                               .serial = buffers.pictures++ % kDeblockSerials + 1};
    arguments.picture.tables = tables_.data();
    arguments.picture.macroblocks = picture.macroblocks;
    arguments.picture.vectors = picture.vectors;
    with_format(picture_.format, [&]<ChromaFormat F>() {
        const Grid grid{static_cast<unsigned>(ceil_div(deblock_jobs(F) * picture_.rows, kDeblockWarps))};
        if (sample_bytes_ == 1)
            device_->launch(stream, grid, 32 * kDeblockWarps, DeblockParams<F, 1>{arguments});
        else
            device_->launch(stream, grid, 32 * kDeblockWarps, DeblockParams<F, 2>{arguments});
    });
}

}  // namespace cudaenc::h264
