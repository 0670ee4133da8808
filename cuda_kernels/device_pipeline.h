// What the codecs' pipelines on a device have in common: slots for frames in flight, frames' pixels, a frame's work as
// one graph, downloads. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/encoder.h"
#include "../common/load.h"
#include "device_objects.h"

namespace cudaenc {

// What a frame in flight owns. Codecs derive theirs with the buffers of their stages; members are freed in reverse
// order, buffers before the stream that works on them.
struct FrameSlot {
    explicit FrameSlot(const std::shared_ptr<Device> &device);
    virtual ~FrameSlot() = default;
    Stream stream;
    Event coded;                       // everything but the download is done
    PinnedArray<SampleLayout> layout;  // of the components
    DeviceArray<uint8_t> pixels;       // of frames in host memory
    // Of queue_as_graph():
    DeviceArray<SampleLayout> device_layout;  // constant at its address
    std::optional<Graph> coding;              // after the first frame
    bool coded_once = false, layout_uploaded = false;
    std::vector<std::unique_ptr<Event>> times;  // one more than there are stages, where their times are asked for
    CudaencFrame frame{};
    bool in_flight = false;
    bool copying = false;      // downloads are queued
    PooledBuffer packet;       // once they are
    std::exception_ptr error;  // why it could not be
};

class DevicePipeline : public Encoder {
  public:
    const std::string &device_name() const override { return name_; }
    void submit(int slot, const CudaencFrame &frame) override;
    PooledBuffer finish(int slot) override;
    std::span<const CudaencStageTime> stage_times() const override { return times_; }

  protected:
    // stages: their names, the first one that of the upload, the last one that of the download; empty: times are not
    // asked for.
    DevicePipeline(std::shared_ptr<Device> device, const CudaencFormat &format, bool device_frames,
                   std::span<const char *const> stages);

    // What a codec adds. prepare(): what is kept of a frame but its pixels. code(): queues the frame's work on its
    // stream, and begins each stage of its own with mark(). make_packet(): after that work; what there is to copy to
    // the packet it queues with queue_download().
    virtual void prepare(FrameSlot &) {}
    virtual void code(FrameSlot &) = 0;
    virtual PooledBuffer make_packet(FrameSlot &) = 0;

    // For code(): `work` queues what is always the same, but for what set `coding` to nothing. From a slot's second
    // frame on that is one graph, which takes less of the host's time than many launches. The layouts are in
    // device_layout.
    void queue_as_graph(FrameSlot &slot, const std::function<void()> &work);
    void queue_download(FrameSlot &slot, void *host, const void *device, size_t bytes);

    void add_slot(std::unique_ptr<FrameSlot> slot);
    int slots() const { return static_cast<int>(slots_.size()); }
    void mark(FrameSlot &slot, int stage);
    void drain() noexcept;  // for the codec's destructor: waits for frames in flight

    // So many elements, at least one.
    template <class T>
    void make(DeviceArray<T> &array, size_t count) const {
        array = DeviceArray<T>(device_, std::max<size_t>(count, 1));
    }

    const std::shared_ptr<Device> device_;
    const std::shared_ptr<PacketPool> packets_;

  private:
    // Where a plane of an uploaded frame lies.
    struct Plane {
        size_t offset, pitch, row_bytes, rows;
    };
    void plan_plane(int plane);
    void place_pixels(FrameSlot &slot);
    void begin_download(FrameSlot &slot) noexcept;
    void begin_later_downloads(int slot) noexcept;
    void settle(FrameSlot &slot) noexcept;

    const CudaencFormat format_;
    const std::string name_;
    const bool device_frames_;
    std::vector<Plane> planes_;
    size_t pixel_bytes_ = 0;
    std::vector<CudaencStageTime> times_;
    std::vector<std::unique_ptr<FrameSlot>> slots_;
};

// Thread-blocks of so many threads, or of so much of other work.
inline unsigned blocks_for(uint64_t work, uint64_t threads) {
    return static_cast<unsigned>((work + threads - 1) / threads);
}

}  // namespace cudaenc
