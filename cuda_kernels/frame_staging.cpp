// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_staging.h"

#include <algorithm>
#include <cstring>

namespace cudaenc {

namespace {

constexpr size_t kPieceBytes = 1 << 17;

int copying_threads(int threads) { return std::min(thread_count(threads), FrameStaging::kMostThreads); }

}  // namespace

FrameStaging::FrameStaging(const std::shared_ptr<Device> &device, std::span<const UploadedPlane> planes, size_t bytes,
                           int threads)
    : device_(device),
      planes_(planes.begin(), planes.end()),
      bytes_(bytes),
      buffers_{Buffer{.pixels = {device, bytes}, .uploaded = {device, false}},
               Buffer{.pixels = {device, bytes}, .uploaded = {device, false}}},
      pool_(copying_threads(threads)) {
    for (size_t plane = 0; plane < planes_.size(); plane++) {
        const PlaneSize &size = planes_[plane].size;
        const size_t most = std::max<size_t>(1, kPieceBytes / std::max<size_t>(1, size.row_bytes));
        for (size_t row = 0; row < size.rows; row += most)
            pieces_.push_back({.plane = plane, .row = row, .rows = std::min(most, size.rows - row)});
    }
}

void FrameStaging::upload(Device::Stream stream, uint8_t *pixels, const CudaencFrame &frame) {
    Buffer &buffer = buffers_[next_];
    next_ = (next_ + 1) % buffers_.size();
    device_->synchronize(buffer.uploaded);
    pool_.for_each(pieces_.size(), [&](size_t i) {
        const Piece &piece = pieces_[i];
        const UploadedPlane &plane = planes_[piece.plane];
        const FramePlane source = plane_of(frame, static_cast<int>(piece.plane));
        for (size_t row = piece.row; row < piece.row + piece.rows; row++)
            std::memcpy(buffer.pixels.data() + plane.offset + row * plane.pitch,
                        source.data + static_cast<ptrdiff_t>(row) * source.stride, plane.size.row_bytes);
    });
    device_->upload(stream, pixels, buffer.pixels.data(), bytes_);
    device_->record(buffer.uploaded, stream);
}

}  // namespace cudaenc
