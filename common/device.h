// SPDX-License-Identifier: LGPL-2.1-or-later
// A device that runs kernels: memory, streams, events, launches. CUDA implements it (cuda_kernels/cuda_device.cpp) and
// the tests' emulator (fate_tests/emu). The host code of device pipelines runs unchanged on both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel_name.h"

namespace cudaenc {

// The thread-blocks of a launch in each dimension. CUDA's limits hold: x < 2^31, y and z < 65536.
struct Grid {
    unsigned x = 1, y = 1, z = 1;
};

// Calls throw Error on failure: CUDAENC_ERR_MEMORY if an allocation failed, else CUDAENC_ERR_DEVICE. Frees, destroys
// and destructors do not throw. Any thread may call, one at a time for each Device.
class Device {
  public:
    struct StreamTag;
    struct EventTag;
    struct GraphTag;
    using Stream = StreamTag *;
    using Event = EventTag *;
    using Graph = GraphTag *;

    virtual ~Device() = default;
    virtual std::string name() const = 0;  // "cuda:0 NVIDIA H200, sm_90"
    virtual int multiprocessors() const = 0;
    virtual uint64_t free_memory() = 0;            // bytes, of all programs' on this device
    virtual void *alloc(size_t bytes) = 0;         // device memory, aligned to 256 bytes, contents undefined
    virtual void free(void *memory) noexcept = 0;  // nobody gets it while work uses it; nullptr does nothing
    virtual void *alloc_pinned(size_t bytes) = 0;  // host memory that copies reach at full speed, aligned to 256 bytes
    virtual void free_pinned(void *memory) noexcept = 0;  // as free()
    virtual bool pageable(const void *host) = 0;          // whether this host memory is not pinned

    virtual Stream create_stream() = 0;
    virtual void destroy_stream(Stream) noexcept = 0;
    virtual Event create_event(bool timing) = 0;
    virtual void destroy_event(Event) noexcept = 0;
    virtual void record(Event, Stream) = 0;
    virtual void wait(Stream, Event) = 0;                      // later work of the stream waits for the event
    virtual void wait_foreign(Stream, void *cuda_stream) = 0;  // ... for all work queued so far on that stream
    virtual bool done(Event) = 0;                              // whether synchronize() would return at once
    virtual void synchronize(Event) = 0;                       // the calling thread waits
    virtual void synchronize(Stream) = 0;
    virtual float elapsed_ms(Event begin, Event end) = 0;

    // The stream orders copies and fills; host memory must stay valid until they ran. Uploads from memory that is not
    // pinned may block the caller.
    virtual void upload(Stream, void *device, const void *host, size_t bytes) = 0;
    virtual void upload_2d(Stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch,
                           size_t row_bytes, size_t rows) = 0;
    virtual void download(Stream, void *host, const void *device, size_t bytes) = 0;
    virtual void download_2d(Stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                             size_t row_bytes, size_t rows) = 0;
    virtual void fill(Stream, void *device, uint8_t value, size_t bytes) = 0;

    // A graph keeps what `work` queues on the stream. run() queues it again, in less host time. `work` may launch
    // kernels that were launched before, fill, upload and download. Memory that it uses must live as long as the graph.
    virtual Graph create_graph(Stream, const std::function<void()> &work) = 0;
    virtual void run(Stream, Graph) = 0;
    virtual void destroy_graph(Graph) noexcept = 0;

    // Runs the kernel whose parameters are a P: P::kernel is its KernelName.
    template <class P>
    void launch(Stream stream, Grid grid, unsigned threads, const P &params) {
        static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= 4000);
        if (grid.x && grid.y && grid.z) launch_kernel(stream, P::kernel, grid, threads, &params, sizeof params);
    }

  protected:
    virtual void launch_kernel(Stream, const KernelName &, Grid, unsigned threads, const void *params, size_t size) = 0;
};

// "cuda" is device 0, "cuda:N" device N. With a CUcontext the device is that of the context, and spec must agree.
// Throws Error(CUDAENC_ERR_DEVICE) if there is no driver, no device or no such N; its text says which.
std::shared_ptr<Device> open_cuda_device(const std::string &spec, void *cuda_context);

// The emulator sets this where it is linked (tests only); then "emu" and "emu:SEED" are devices too.
inline std::shared_ptr<Device> (*open_emulator)(const std::string &spec) = nullptr;

// Device memory for `count` elements of T.
template <class T>
class DeviceArray {
  public:
    DeviceArray() = default;
    DeviceArray(std::shared_ptr<Device> device, size_t count)
        : device_(std::move(device)),
          data_(count ? static_cast<T *>(device_->alloc(count * sizeof(T))) : nullptr),
          count_(count) {}
    DeviceArray(DeviceArray &&o) noexcept { swap(o); }
    DeviceArray &operator=(DeviceArray &&o) noexcept {
        DeviceArray(std::move(o)).swap(*this);
        return *this;
    }
    ~DeviceArray() {
        if (data_) device_->free(data_);
    }
    T *data() const { return data_; }
    size_t count() const { return count_; }
    size_t bytes() const { return count_ * sizeof(T); }

  private:
    void swap(DeviceArray &o) noexcept {
        std::swap(device_, o.device_);
        std::swap(data_, o.data_);
        std::swap(count_, o.count_);
    }
    std::shared_ptr<Device> device_;
    T *data_ = nullptr;
    size_t count_ = 0;
};

}  // namespace cudaenc
