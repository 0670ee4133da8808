// The base of encoders on a device: a device pipeline with the planes of frames and memory for packets.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include "../common/packet_pool.h"
#include "../common/planes.h"
#include "device_pipeline.h"
#include "frame_staging.h"

namespace cudaenc {

struct FrameSlot : DeviceSlot<PooledBuffer> {
    explicit FrameSlot(const std::shared_ptr<Device> &device);
    CudaencFrame frame{};
    PinnedArray<SampleLayout> layout;         // of each component
    DeviceArray<SampleLayout> device_layout;  // the same in device memory, after upload_layout()
    bool layout_uploaded = false;
    DeviceArray<uint8_t> pixels;  // planes of a frame from host memory
};

class DeviceEncoder : public DevicePipeline<Encoder> {
  protected:
    // threads: that copy frames; 0: one per core.
    DeviceEncoder(std::shared_ptr<Device> device, const CudaencFormat &format, int threads, bool device_frames,
                  std::span<const char *const> stages, bool stage_times, bool device_packets = false);
    void add_slot(std::unique_ptr<FrameSlot> slot);

    // prepare() copies what the codec needs of a frame except its samples. code() is DevicePipeline::queue() after the
    // upload. code_on() is DevicePipeline::go_on(), make_packet() complete().
    virtual void prepare(FrameSlot &) {}
    virtual void code(FrameSlot &) = 0;
    virtual bool code_on(FrameSlot &) { return false; }
    virtual PooledBuffer make_packet(FrameSlot &) = 0;

    void reset(BaseSlot &slot) noexcept override { static_cast<FrameSlot &>(slot).layout_uploaded = false; }
    void upload_layout(FrameSlot &slot);  // for code()

    const std::shared_ptr<PacketPool> packets_;

  private:
    void take(BaseSlot &slot, const CudaencFrame &frame) final;
    void queue(BaseSlot &slot) final;
    bool go_on(BaseSlot &slot) final { return code_on(static_cast<FrameSlot &>(slot)); }
    void complete(BaseSlot &slot, PooledBuffer &packet) final { packet = make_packet(static_cast<FrameSlot &>(slot)); }
    void place_pixels(FrameSlot &slot);
    bool is_staged(const CudaencFrame &frame) const;

    const CudaencFormat format_;
    const int threads_;
    const bool device_frames_;
    std::vector<UploadedPlane> planes_;
    size_t pixel_bytes_ = 0;
    std::unique_ptr<FrameStaging> staging_;  // from the first frame that takes that way
};

}  // namespace cudaenc
