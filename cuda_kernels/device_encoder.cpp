// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_encoder.h"

namespace cudaenc {

constexpr size_t kStagedBytes = 1 << 20;  // less is copied sooner than threads wake

FrameUpload::FrameUpload(std::shared_ptr<Device> device, const CudaencFormat &format, int threads, bool device_frames)
    : device_(std::move(device)),
      format_(format),
      threads_(threads),
      device_frames_(device_frames),
      origins_(static_cast<size_t>(format.components)) {
    for (int plane = 0; plane < format_.planes; plane++) {
        const PlaneSize size = plane_size(format_, plane);
        const size_t pitch = (size.row_bytes + 255) / 256 * 256;
        planes_.push_back({.offset = pixel_bytes_, .pitch = pitch, .size = size});
        pixel_bytes_ += pitch * size.rows;
    }
}

void FrameUpload::queue(FrameSlot &s) {
    for (int c = 0; c < format_.components; c++) {
        const CudaencComponent k = component_of(format_, c);
        const UploadedPlane &plane = planes_[static_cast<size_t>(k.plane)];
        const FramePlane source = device_frames_
                                      ? plane_of(s.frame, k.plane)
                                      : FramePlane{s.pixels.data() + plane.offset, static_cast<ptrdiff_t>(plane.pitch)};
        const int64_t stride = source.stride;
        if (stride >> 32) throw Error(CUDAENC_ERR_INVALID, "a stride of 4 GiB or more is not allowed");
        const Origin &origin = origins_[static_cast<size_t>(c)];
        const SampleLayout layout = begin_at(layout_of(k, source.data, stride), origin.x, origin.y);
        SampleLayout &last = s.layout.data()[c];
        s.layout_uploaded = s.layout_uploaded && layout.data == last.data && layout.stride == last.stride;
        last = layout;
    }
    if (device_frames_) return device_->wait_foreign(s.queued_on, s.frame.cuda_stream);
    if (is_staged(s.frame)) {
        if (!staging_) staging_ = std::make_unique<FrameStaging>(device_, planes_, pixel_bytes_, threads_);
        return staging_->upload(s.queued_on, s.pixels.data(), s.frame);
    }
    for (size_t i = 0; i < planes_.size(); i++) {
        const UploadedPlane &plane = planes_[i];
        const FramePlane source = plane_of(s.frame, static_cast<int>(i));
        if (plane.size.rows)
            device_->upload_2d(s.queued_on, s.pixels.data() + plane.offset, plane.pitch, source.data, source.stride,
                               plane.size.row_bytes, plane.size.rows);
    }
}

// Whether threads copy the frame before its upload.
bool FrameUpload::is_staged(const CudaencFrame &frame) const {
    if (pixel_bytes_ < kStagedBytes) return false;
    for (size_t i = 0; i < planes_.size(); i++)
        if (planes_[i].size.rows && device_->pageable(plane_of(frame, static_cast<int>(i)).data)) return true;
    return false;
}

void FrameUpload::queue_layout(FrameSlot &s) const {
    if (!s.layout_uploaded)
        device_->upload(s.stream, s.device_layout.data(), s.layout.data(),
                        static_cast<size_t>(format_.components) * sizeof(SampleLayout));
    s.layout_uploaded = true;
}

}  // namespace cudaenc
