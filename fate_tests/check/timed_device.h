// SPDX-License-Identifier: LGPL-2.1-or-later
// A device that notes how long each kernel takes.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../cuda_kernels/device_objects.h"

namespace cudaenc::testing {

// All streams are one, so that kernels run one after the other, and a graph's work is queued piece by piece. Work is
// otherwise as on the device beneath.
class TimedDevice final : public Device {
  public:
    explicit TimedDevice(std::shared_ptr<Device> device) : device_(std::move(device)), stream_(device_) {}

    struct KernelTime {
        std::string module, kernel;
        double ms;  // between an event before the launch and one behind it
    };
    // From now on launches are timed.
    void begin() {
        count_ = 0;
        timing_ = true;
    }
    // Waits for the launches since then.
    std::vector<KernelTime> end() {
        timing_ = false;
        device_->synchronize(static_cast<Stream>(stream_));
        std::vector<KernelTime> times;
        for (size_t i = 0; i < count_; i++)
            times.push_back({launches_[i]->module, launches_[i]->kernel,
                             device_->elapsed_ms(launches_[i]->begin, launches_[i]->end)});
        return times;
    }
    bool emulated() const { return name().rfind("emu", 0) == 0; }

    std::string name() const override { return device_->name(); }
    int multiprocessors() const override { return device_->multiprocessors(); }
    uint64_t free_memory() override { return device_->free_memory(); }
    void *alloc(size_t bytes) override { return device_->alloc(bytes); }
    void free(void *memory) noexcept override { device_->free(memory); }
    void *alloc_pinned(size_t bytes) override { return device_->alloc_pinned(bytes); }
    void free_pinned(void *memory) noexcept override { device_->free_pinned(memory); }
    bool pageable(const void *host) override { return device_->pageable(host); }

    Stream create_stream() override { return stream_; }
    void destroy_stream(Stream) noexcept override {}
    Event create_event(bool timing) override { return device_->create_event(timing); }
    void destroy_event(Event event) noexcept override { device_->destroy_event(event); }
    void record(Event event, Stream) override { device_->record(event, stream_); }
    void wait(Stream, Event event) override { device_->wait(stream_, event); }
    void wait_foreign(Stream, void *cuda_stream) override { device_->wait_foreign(stream_, cuda_stream); }
    bool done(Event event) override { return device_->done(event); }
    void synchronize(Event event) override {
        device_->synchronize(event);
        waiting_ = true;
    }
    void synchronize(Stream) override {
        device_->synchronize(static_cast<Stream>(stream_));
        waiting_ = true;
    }
    float elapsed_ms(Event begin, Event end) override { return device_->elapsed_ms(begin, end); }

    void upload(Stream, void *device, const void *host, size_t bytes) override {
        device_->upload(stream_, device, host, bytes);
        waiting_ = true;
    }
    void upload_2d(Stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch, size_t row_bytes,
                   size_t rows) override {
        device_->upload_2d(stream_, device, device_pitch, host, host_pitch, row_bytes, rows);
        waiting_ = true;
    }
    void download(Stream, void *host, const void *device, size_t bytes) override {
        device_->download(stream_, host, device, bytes);
        waiting_ = true;
    }
    void download_2d(Stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                     size_t row_bytes, size_t rows) override {
        device_->download_2d(stream_, host, host_pitch, device, device_pitch, row_bytes, rows);
        waiting_ = true;
    }
    void fill(Stream, void *device, uint8_t value, size_t bytes) override {
        device_->fill(stream_, device, value, bytes);
    }

    Graph create_graph(Stream, const std::function<void()> &work) override {
        return reinterpret_cast<Graph>(new std::function<void()>(work));
    }
    void run(Stream, Graph graph) override { (*reinterpret_cast<std::function<void()> *>(graph))(); }
    void destroy_graph(Graph graph) noexcept override { delete reinterpret_cast<std::function<void()> *>(graph); }

  protected:
    void launch_kernel(Stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
                       size_t size) override {
        if (!timing_) return Launcher::launch(*device_, stream_, name, grid, threads, params, size);
        keep_busy();
        if (count_ == launches_.size()) launches_.push_back(std::make_unique<Launch>(device_));
        Launch &l = *launches_[count_++];
        l.module = name.module;
        l.kernel = name.function;
        device_->record(l.begin, stream_);
        Launcher::launch(*device_, stream_, name, grid, threads, params, size);
        device_->record(l.end, stream_);
    }

  private:
    struct Launch {
        explicit Launch(const std::shared_ptr<Device> &device) : begin(device, true), end(device, true) {}
        std::string module, kernel;
        cudaenc::Event begin, end;
    };
    // launch_kernel() of another device is protected, but for a pointer to it.
    struct Launcher : Device {
        template <class... Arguments>
        static void launch(Device &device, const Arguments &...arguments) {
            (device.*&Launcher::launch_kernel)(arguments...);
        }
    };

    // An idle device records the first event before the launch has reached it, and the host's time would be the
    // kernel's. So it is given a large fill where the host may have waited.
    void keep_busy() {
        constexpr size_t kBytes = size_t{256} << 20;
        if (!waiting_ || emulated()) return;
        if (!work_.count()) work_ = DeviceArray<uint8_t>(device_, kBytes);
        device_->fill(stream_, work_.data(), 0, work_.bytes());
        waiting_ = false;
    }

    const std::shared_ptr<Device> device_;
    const cudaenc::Stream stream_;
    DeviceArray<uint8_t> work_;
    std::vector<std::unique_ptr<Launch>> launches_;
    size_t count_ = 0;
    bool timing_ = false, waiting_ = true;
};

}  // namespace cudaenc::testing
