// SPDX-License-Identifier: LGPL-2.1-or-later
#include "memory.h"

#include <cstdio>
#include <map>

#include "../../common/error.h"
#include "../../common/j2k/j2k.h"
#include "../../common/mjpeg/mjpeg.h"
#include "resources.h"

namespace cudaenc::bench {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// Notes what is allocated. It opens sessions only: nothing is launched.
class MeteredDevice final : public Device {
  public:
    explicit MeteredDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

    std::map<size_t, int, std::greater<>> device_buffers, pinned_buffers;  // how many of each size

    std::string name() const override { return device_->name(); }
    int multiprocessors() const override { return device_->multiprocessors(); }
    uint64_t free_memory() override { return device_->free_memory(); }
    void *alloc(size_t bytes) override {
        device_buffers[bytes]++;
        return device_->alloc(bytes);
    }
    void free(void *memory) noexcept override { device_->free(memory); }
    void *alloc_pinned(size_t bytes) override {
        pinned_buffers[bytes]++;
        return device_->alloc_pinned(bytes);
    }
    void free_pinned(void *memory) noexcept override { device_->free_pinned(memory); }
    bool pageable(const void *host) override { return device_->pageable(host); }
    Stream create_stream() override { return device_->create_stream(); }
    void destroy_stream(Stream stream) noexcept override { device_->destroy_stream(stream); }
    Event create_event(bool timing) override { return device_->create_event(timing); }
    void destroy_event(Event event) noexcept override { device_->destroy_event(event); }
    void record(Event event, Stream stream) override { device_->record(event, stream); }
    void wait(Stream stream, Event event) override { device_->wait(stream, event); }
    void wait_foreign(Stream stream, void *other) override { device_->wait_foreign(stream, other); }
    bool done(Event event) override { return device_->done(event); }
    void synchronize(Event event) override { device_->synchronize(event); }
    void synchronize(Stream stream) override { device_->synchronize(stream); }
    float elapsed_ms(Event begin, Event end) override { return device_->elapsed_ms(begin, end); }
    void upload(Stream stream, void *to, const void *from, size_t bytes) override {
        device_->upload(stream, to, from, bytes);
    }
    void upload_2d(Stream stream, void *to, size_t to_pitch, const void *from, ptrdiff_t from_pitch, size_t row_bytes,
                   size_t rows) override {
        device_->upload_2d(stream, to, to_pitch, from, from_pitch, row_bytes, rows);
    }
    void download(Stream stream, void *to, const void *from, size_t bytes) override {
        device_->download(stream, to, from, bytes);
    }
    void download_2d(Stream stream, void *to, ptrdiff_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                     size_t rows) override {
        device_->download_2d(stream, to, to_pitch, from, from_pitch, row_bytes, rows);
    }
    void fill(Stream stream, void *memory, uint8_t value, size_t bytes) override {
        device_->fill(stream, memory, value, bytes);
    }
    Graph create_graph(Stream stream, const std::function<void()> &work) override {
        return device_->create_graph(stream, work);
    }
    void run(Stream stream, Graph graph) override { device_->run(stream, graph); }
    void destroy_graph(Graph graph) noexcept override { device_->destroy_graph(graph); }

  protected:
    void launch_kernel(Stream, const KernelName &, Grid, unsigned, const void *, size_t) override {
    }  // opening needs none

  private:
    const std::shared_ptr<Device> device_;
};

double print_buffers(const char *where, const std::map<size_t, int, std::greater<>> &buffers, const Case &c,
                     Json &json) {
    double sum = 0, small = 0;
    int small_count = 0;
    json.open(where, '[');
    for (const auto &[bytes, count] : buffers) {
        const double all = static_cast<double>(bytes) * count;
        sum += all;
        json.open('{');
        json.put("bytes", bytes);
        json.put("count", count);
        json.close('}');
        if (all < kMiB)
            small += all, small_count += count;
        else
            std::printf("  %-7s %8.2f MiB x %-3d = %8.2f MiB  %7.3f bytes/pixel\n", where,
                        static_cast<double>(bytes) / kMiB, count, all / kMiB, static_cast<double>(bytes) / c.pixels());
    }
    json.close(']');
    std::printf("  %-7s %d smaller ones, %.2f MiB; together %.1f MiB\n", where, small_count, small / kMiB, sum / kMiB);
    return sum / kMiB;
}

}  // namespace

void print_session_memory(const std::shared_ptr<Device> &device, const Case &c, int depth, const Frames &frames,
                          Json &json) {
    CudaencConfig config = make_config(c, device->name().rfind("cuda", 0) == 0 ? "cuda" : "emu");
    config.device_frames = config.device == std::string("cuda");
    config.async_depth = depth;
    std::printf("\n%s: %s, async_depth %d\n", c.name, c.text().c_str(), depth);
    json.open('{');
    json.put("case", c.name);
    json.put("async_depth", depth);
    const auto metered = std::make_shared<MeteredDevice>(device);
    if (c.is_j2k())
        j2k::make_device_encoder(j2k::make_params(config.format, config.j2k), depth, 0, metered, true, false);
    else
        mjpeg::make_device_encoder(mjpeg::make_params(config.format, config.mjpeg), depth, 0, metered, true, false);
    json.put("allocated_mib", print_buffers("device", metered->device_buffers, c, json));
    print_buffers("pinned", metered->pinned_buffers, c, json);
    if (config.device_frames) {
        const uint64_t before = device->free_memory();  // as if no memory were kept for sessions
        Session session(config);
        const uint64_t opened = device->free_memory();
        session.run(frames, 4 * depth);
        const uint64_t used = device->free_memory();
        std::printf("  driver  %.1f MiB more in use with the session open, %.1f MiB after %d frames\n",
                    static_cast<double>(before - opened) / kMiB, static_cast<double>(before - used) / kMiB, 4 * depth);
        json.put("in_use_mib", static_cast<double>(before - used) / kMiB);
    }
    json.close('}');
}

bool measure_endurance(const CudaencConfig &config, const Frames &frames, int count, Json &json) {
    constexpr int kLooks = 10;
    constexpr double kMostGrowth = 8;  // MiB: what allocators keep here and there
    Session session(config);
    session.run(frames, 2 * config.async_depth);  // fills what frames in flight hold
    double settled = 0, last = 0;
    json.open("memory", '[');
    for (int i = 1; i <= kLooks; i++) {
        session.run(frames, count / kLooks);
        last = resident_mib();
        const double gpu = static_cast<double>(gpu_bytes_in_use()) / kMiB;
        if (i == 1) settled = last;
        std::printf("  %7d frames  resident %8.2f MiB", i * (count / kLooks), last);
        std::printf(gpu > 0 ? "  GPU %.1f MiB in use\n" : "\n", gpu);
        std::fflush(stdout);
        json.open('{');
        json.put("frames", i * (count / kLooks));
        json.put("resident_mib", last);
        if (gpu > 0) json.put("gpu_in_use_mib", gpu);
        json.close('}');
    }
    json.close(']');
    const bool flat = last - settled <= kMostGrowth;
    std::printf("  %s: %+.2f MiB after the first %d frames\n", flat ? "flat" : "grows", last - settled, count / kLooks);
    return flat;
}

}  // namespace cudaenc::bench
