// SPDX-License-Identifier: LGPL-2.1-or-later
// The base of encoders on a device: a device pipeline with the planes of frames and memory for packets.
#pragma once
#include <memory>
#include <vector>

#include "../common/packet_pool.h"
#include "../common/planes.h"
#include "device_pipeline.h"
#include "frame_staging.h"

namespace cudaenc {

struct FrameSlot : DeviceSlot<PooledBuffer> {
    explicit FrameSlot(const std::shared_ptr<Device> &device, size_t components = kDescribedComponents)
        : DeviceSlot(device), layout(device, components), device_layout(device, components) {}
    SourcePicture frame{};
    PinnedArray<SampleLayout> layout;         // of each component
    DeviceArray<SampleLayout> device_layout;  // the same in device memory, after FrameUpload::queue_layout()
    bool layout_uploaded = false;
    DeviceArray<uint8_t> pixels;  // planes of a frame from host memory
    size_t packet_bytes = 0;      // 0: it is not complete
};

// Brings the planes of frames where kernels read them. Frames in device memory stay where they are.
class FrameUpload {
  public:
    // threads: that copy frames; 0: one per core.
    FrameUpload(std::shared_ptr<Device> device, const CudaencFormat &format, int threads, bool device_frames);
    size_t pixel_bytes() const { return device_frames_ ? 0 : pixel_bytes_; }  // FrameSlot::pixels
    // The coordinates of a component's first sample in the layout; else 0, 0.
    void set_origin(size_t component, int x, int y) { origins_[component] = {x, y}; }
    // Fills the slot's layout, and queues the upload on `queued_on`, or the wait for the frame's producer.
    void queue(FrameSlot &slot);
    // Queues the upload of the layout, where it has changed.
    void queue_layout(FrameSlot &slot) const;

  private:
    struct Origin {
        int x, y;
    };
    bool is_staged(const CudaencFrame &frame) const;

    const std::shared_ptr<Device> device_;
    const CudaencFormat format_;
    const int threads_;
    const bool device_frames_;
    std::vector<Origin> origins_;  // [component]
    std::vector<UploadedPlane> planes_;
    size_t pixel_bytes_ = 0;
    std::unique_ptr<FrameStaging> staging_;  // from the first frame that takes that way
};

// S: a FrameSlot.
template <class S>
class DeviceEncoder : public DevicePipeline<Encoder, S> {
  protected:
    using Pipeline = DevicePipeline<Encoder, S>;
    // threads: that copy frames; 0: one per core.
    DeviceEncoder(std::shared_ptr<Device> device, const CudaencFormat &format, int threads, bool device_frames,
                  std::span<const char *const> stages, bool stage_times, bool device_packets = false)
        : Pipeline(std::move(device), stages, stage_times),
          packets_(std::make_shared<PacketPool>(this->device_, device_packets)),
          upload_(this->device_, format, threads, device_frames) {}
    void add_slot(std::unique_ptr<S> slot) {
        if (upload_.pixel_bytes()) this->make(slot->pixels, upload_.pixel_bytes());
        Pipeline::add_slot(std::move(slot));
    }

    // Codecs that need more of a frame than its samples call it first.
    void take(S &s, const SourcePicture &frame) override {
        s.frame = frame;
        s.packet_bytes = 0;
        s.earlier = frame.second_field ? last_taken_ : nullptr;
        last_taken_ = &s;
    }
    void reset(S &s) noexcept override { s.layout_uploaded = false; }

    // For complete(): a packet of so many bytes. place(from, to) writes that of slot `from` to `to`, and queues
    // downloads on the stream of `s`. A first field stays where it is until the second one, which is of the frame,
    // places both.
    template <class Place>
    PooledBuffer make_packet(S &s, size_t bytes, const Place &place) {
        s.packet_bytes = bytes;
        if (s.frame.is_first_field()) return PacketPool::without_memory(bytes);
        S *const first = static_cast<S *>(s.earlier);
        const size_t before = first ? first->packet_bytes : 0;  // a field that failed, whose frame is lost, has none
        PooledBuffer packet = packets_->take(before + bytes);
        if (before) place(*first, packet->data);
        place(s, packet->data + before);
        packet->set_packet(before, bytes);
        return packet;
    }

    const std::shared_ptr<PacketPool> packets_;
    FrameUpload upload_;  // queue() begins with it

  private:
    S *last_taken_ = nullptr;
};

}  // namespace cudaenc
