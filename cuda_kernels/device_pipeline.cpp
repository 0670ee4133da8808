// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_pipeline.h"

#include <algorithm>

#include "../common/error.h"

namespace cudaenc {

namespace {
constexpr int kMaxFormatComponents = 4;
}

FrameSlot::FrameSlot(const std::shared_ptr<Device> &device)
    : stream(device),
      coded(device, false),
      layout(device, kMaxFormatComponents),
      device_layout(device, kMaxFormatComponents) {}

DevicePipeline::DevicePipeline(std::shared_ptr<Device> device, const CudaencFormat &format, bool device_frames,
                               std::span<const char *const> stages)
    : device_(std::move(device)),
      packets_(std::make_shared<PacketPool>(device_)),
      format_(format),
      name_(device_->name()),
      device_frames_(device_frames) {
    for (int plane = 0; plane < format_.planes; plane++) plan_plane(plane);
    for (const char *name : stages) times_.push_back({name, 0, 0});
}

void DevicePipeline::plan_plane(int plane) {
    Plane plan{pixel_bytes_, 0, 0, 0};
    for (int c = 0; c < format_.components; c++) {
        const CudaencComponent &k = format_.component[c];
        if (k.plane != plane) continue;
        const size_t width = (static_cast<size_t>(format_.width - 1) >> k.log2_subsample_x) + 1,
                     height = (static_cast<size_t>(format_.height - 1) >> k.log2_subsample_y) + 1;
        plan.row_bytes = std::max(plan.row_bytes, k.offset + k.step * (width - 1) + (k.depth + k.shift > 8 ? 2 : 1));
        plan.rows = std::max(plan.rows, height);
    }
    plan.pitch = (plan.row_bytes + 255) / 256 * 256;
    pixel_bytes_ += plan.pitch * plan.rows;
    planes_.push_back(plan);
}

void DevicePipeline::add_slot(std::unique_ptr<FrameSlot> slot) {
    if (!device_frames_) make(slot->pixels, pixel_bytes_);
    for (size_t i = 0; !times_.empty() && i <= times_.size(); i++)
        slot->times.push_back(std::make_unique<Event>(device_, true));
    slots_.push_back(std::move(slot));
}

void DevicePipeline::submit(int slot, const CudaencFrame &frame) {
    FrameSlot &s = *slots_[static_cast<size_t>(slot)];
    s.frame = frame;
    s.copying = false;
    prepare(s);
    try {
        mark(s, 0);
        place_pixels(s);
        code(s);
        device_->record(s.coded, s.stream);
        mark(s, static_cast<int>(times_.size()) - 1);
        s.in_flight = true;
    } catch (...) {
        settle(s);
        throw;
    }
}

void DevicePipeline::place_pixels(FrameSlot &s) {
    for (int c = 0; c < format_.components; c++) {
        const CudaencComponent &k = format_.component[c];
        const Plane &plane = planes_[static_cast<size_t>(k.plane)];
        const uint8_t *data = (device_frames_ ? s.frame.data[k.plane] : s.pixels.data() + plane.offset) + k.offset;
        const int64_t stride = device_frames_ ? s.frame.stride[k.plane] : static_cast<int64_t>(plane.pitch);
        if (stride >> 32) throw Error(CUDAENC_ERR_INVALID, "a stride of 4 GiB or more is not allowed");
        SampleLayout &layout = s.layout.data()[c];
        s.layout_uploaded = s.layout_uploaded && layout.data == data && layout.stride == stride;
        layout = {data, stride, k.step, k.shift, k.depth};
    }
    if (device_frames_) return device_->wait_foreign(s.stream, s.frame.cuda_stream);
    for (size_t i = 0; i < planes_.size(); i++) {
        const Plane &plane = planes_[i];
        if (plane.rows)
            device_->upload_2d(s.stream, s.pixels.data() + plane.offset, plane.pitch, s.frame.data[i],
                               s.frame.stride[i], plane.row_bytes, plane.rows);
    }
}

void DevicePipeline::queue_as_graph(FrameSlot &s, const std::function<void()> &work) {
    if (!s.layout_uploaded)
        device_->upload(s.stream, s.device_layout.data(), s.layout.data(),
                        static_cast<size_t>(format_.components) * sizeof(SampleLayout));
    s.layout_uploaded = true;
    if (!s.coded_once || !s.times.empty()) {  // a graph has no events within
        work();
        s.coded_once = true;
        return;
    }
    if (!s.coding) s.coding.emplace(device_, s.stream, work);
    device_->run(s.stream, *s.coding);
}

void DevicePipeline::queue_download(FrameSlot &s, void *host, const void *device, size_t bytes) {
    device_->download(s.stream, host, device, bytes);
    s.copying = true;
}

PooledBuffer DevicePipeline::finish(int slot) {
    FrameSlot &s = *slots_[static_cast<size_t>(slot)];
    try {
        if (!s.packet && !s.error) {
            device_->synchronize(static_cast<Device::Event>(s.coded));
            begin_download(s);
        }
        if (s.copying) begin_later_downloads(slot);
        if (s.error) std::rethrow_exception(s.error);
        if (s.copying || !s.times.empty()) device_->synchronize(static_cast<Device::Stream>(s.stream));
        for (size_t i = 0; i < times_.size(); i++) {
            times_[i].milliseconds += device_->elapsed_ms(*s.times[i], *s.times[i + 1]);
            times_[i].frames++;
        }
        s.in_flight = false;
        return std::move(s.packet);
    } catch (...) {
        settle(s);
        throw;
    }
}

void DevicePipeline::begin_download(FrameSlot &s) noexcept {
    try {
        s.packet = make_packet(s);
        mark(s, static_cast<int>(times_.size()));
    } catch (...) {
        s.error = std::current_exception();
    }
}

// Frames that are coded already, after the one of `slot`: their copies shall not wait for the caller to ask for them.
void DevicePipeline::begin_later_downloads(int slot) noexcept {
    for (int i = 1; i < slots(); i++) {
        FrameSlot &s = *slots_[static_cast<size_t>((slot + i) % slots())];
        if (!s.in_flight) return;
        if (s.packet || s.error) continue;
        try {
            if (!device_->done(s.coded)) return;
        } catch (...) {
            s.error = std::current_exception();
            continue;
        }
        begin_download(s);
    }
}

// After an error: nothing of the frame is left running.
void DevicePipeline::settle(FrameSlot &s) noexcept {
    try {
        device_->synchronize(static_cast<Device::Stream>(s.stream));
    } catch (const Error &) {
        // The first error is the one that tells.
    }
    s.in_flight = false;
    s.layout_uploaded = false;
    s.packet.reset();
    s.error = nullptr;
}

void DevicePipeline::drain() noexcept {
    for (const auto &s : slots_) settle(*s);
}

void DevicePipeline::mark(FrameSlot &s, int stage) {
    if (!s.times.empty()) device_->record(*s.times[static_cast<size_t>(stage)], s.stream);
}

}  // namespace cudaenc
