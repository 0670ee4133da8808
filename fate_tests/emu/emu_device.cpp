// The emulator as a Device. Every call has done its work when it returns, so that streams need no order of their own.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../../common/device.h"
#include "../../common/error.h"
#include "emu_launch.h"

namespace cudaenc::emu {
namespace {

using Clock = std::chrono::steady_clock;

struct EmulatedStream {
    int unused = 0;
};

struct EmulatedEvent {
    bool timing = false;
    bool recorded = false;
    Clock::time_point time;
};

class EmulatedDevice final : public Device {
  public:
    explicit EmulatedDevice(uint64_t seed) : seed_(seed) {}

    std::string name() const override { return "emu, seed " + std::to_string(seed_); }
    int multiprocessors() const override { return 4; }

    void *alloc(size_t bytes) override {
        void *memory = allocate(bytes);
        std::lock_guard lock(mutex_);
        try {
            sizes_[static_cast<const char *>(memory)] = bytes;
        } catch (...) {
            std::free(memory);
            throw;
        }
        return memory;
    }

    void free(void *memory) noexcept override {
        if (!memory) return;
        {
            std::lock_guard lock(mutex_);
            if (!sizes_.erase(static_cast<const char *>(memory))) {
                std::fprintf(stderr, "emu: free() of memory that alloc() did not return\n");
                std::abort();
            }
        }
        std::free(memory);
    }

    void *alloc_pinned(size_t bytes) override { return allocate(bytes); }
    void free_pinned(void *memory) noexcept override { std::free(memory); }
    bool pageable(const void *) override { return true; }  // all memory is alike

    Stream create_stream() override { return reinterpret_cast<Stream>(new EmulatedStream); }
    void destroy_stream(Stream stream) noexcept override { delete reinterpret_cast<EmulatedStream *>(stream); }

    Event create_event(bool timing) override {
        auto *event = new EmulatedEvent;
        event->timing = timing;
        return reinterpret_cast<Event>(event);
    }
    void destroy_event(Event event) noexcept override { delete reinterpret_cast<EmulatedEvent *>(event); }

    void record(Event event, Stream) override {
        auto *e = reinterpret_cast<EmulatedEvent *>(event);
        e->recorded = true;
        e->time = Clock::now();
    }
    void wait(Stream, Event) override {}
    void wait_foreign(Stream, void *) override {}
    bool done(Event) override { return true; }
    void synchronize(Event) override {}
    void synchronize(Stream) override {}

    float elapsed_ms(Event begin, Event end) override {
        const auto *b = reinterpret_cast<EmulatedEvent *>(begin), *e = reinterpret_cast<EmulatedEvent *>(end);
        if (!b->timing || !e->timing || !b->recorded || !e->recorded) {
            throw Error(CUDAENC_ERR_INTERNAL, "elapsed_ms of events that were not recorded, or without timing");
        }
        return std::chrono::duration<float, std::milli>(e->time - b->time).count();
    }

    void upload(Stream, void *device, const void *host, size_t bytes) override {
        check_range(device, bytes, "upload");
        if (bytes) std::memcpy(device, host, bytes);
    }

    void upload_2d(Stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch, size_t row_bytes,
                   size_t rows) override {
        if (!row_bytes || !rows) return;
        if (device_pitch < row_bytes) throw Error(CUDAENC_ERR_INTERNAL, "upload_2d with rows that overlap");
        check_range(device, (rows - 1) * device_pitch + row_bytes, "upload_2d");
        for (size_t y = 0; y < rows; ++y) {
            std::memcpy(static_cast<char *>(device) + y * device_pitch,
                        static_cast<const char *>(host) + static_cast<ptrdiff_t>(y) * host_pitch, row_bytes);
        }
    }

    void download(Stream, void *host, const void *device, size_t bytes) override {
        check_range(device, bytes, "download");
        if (bytes) std::memcpy(host, device, bytes);
    }

    void download_2d(Stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                     size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        check_range(device, (rows - 1) * device_pitch + row_bytes, "download_2d");
        for (size_t y = 0; y < rows; ++y)
            std::memcpy(static_cast<char *>(host) + static_cast<ptrdiff_t>(y) * host_pitch,
                        static_cast<const char *>(device) + y * device_pitch, row_bytes);
    }

    void fill(Stream, void *device, uint8_t value, size_t bytes) override {
        check_range(device, bytes, "fill");
        if (bytes) std::memset(device, value, bytes);
    }

    // Work is done when it is queued; a graph keeps how.
    Graph create_graph(Stream, const std::function<void()> &work) override {
        return reinterpret_cast<Graph>(new std::function<void()>(work));
    }
    void run(Stream, Graph graph) override { (*reinterpret_cast<std::function<void()> *>(graph))(); }
    void destroy_graph(Graph graph) noexcept override { delete reinterpret_cast<std::function<void()> *>(graph); }

  protected:
    void launch_kernel(Stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
                       size_t size) override {
        const auto refuse = [&](const std::string &why) {
            throw Error(CUDAENC_ERR_INTERNAL, std::string("kernel ") + name.function + " of " + name.module + why);
        };
        const Kernel *kernel = find_kernel(name);
        if (!kernel) return refuse(" is not linked into this program");
        if (size != kernel->params_size) refuse(": parameters of another size");
        if (threads < 1 || threads > static_cast<unsigned>(kernel->max_threads))
            refuse(format_string(": launched with %u threads a block, declared with %d", threads, kernel->max_threads));
        if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
            refuse(format_string(": a grid of %u x %u x %u", grid.x, grid.y, grid.z));
        const std::string error = run_kernel(*kernel, grid, static_cast<int>(threads), params, seed_);
        if (!error.empty()) throw Error(CUDAENC_ERR_INTERNAL, error);
    }

  private:
    // Of exactly the size asked for, so that AddressSanitizer sees the first byte too many.
    void *allocate(size_t bytes) {
        void *memory = nullptr;
        if (posix_memalign(&memory, 256, bytes ? bytes : 1)) {
            throw Error(CUDAENC_ERR_MEMORY, format_string("no memory for %zu bytes", bytes));
        }
        fill_garbage(memory, bytes, seed_ + ++allocations_);
        return memory;
    }

    void check_range(const void *device, size_t bytes, const char *what) {
        if (!bytes) return;
        const char *begin = static_cast<const char *>(device);
        std::lock_guard lock(mutex_);
        auto after = sizes_.upper_bound(begin);
        if (after != sizes_.begin()) {
            const auto &[memory, size] = *--after;
            const auto offset = static_cast<size_t>(begin - memory);
            if (offset <= size && bytes <= size - offset) return;
        }
        throw Error(CUDAENC_ERR_INTERNAL, format_string("%s of %zu bytes that are not in device memory", what, bytes));
    }

    const uint64_t seed_;
    std::atomic<uint64_t> allocations_{0};
    std::mutex mutex_;
    std::map<const char *, size_t> sizes_;
};

std::shared_ptr<Device> open(const std::string &spec) {
    uint64_t seed = 1;
    if (spec != "emu") {
        char *end = nullptr;
        errno = 0;
        if (spec.rfind("emu:", 0) == 0 && spec.size() > 4 && spec[4] >= '0' && spec[4] <= '9') {
            seed = std::strtoull(spec.c_str() + 4, &end, 10);
        }
        if (!end || *end || errno) {
            throw Error(CUDAENC_ERR_INVALID, "device \"" + spec + "\" is not \"emu\" or \"emu:SEED\"");
        }
    }
    return std::make_shared<EmulatedDevice>(seed);
}

// Linking this file is what makes the emulator a device.
struct Hook {
    Hook() { open_emulator = open; }
} hook;

}  // namespace

}  // namespace cudaenc::emu

// Programs that link the emulator from an archive pull it in with -Wl,-u,cudaenc_emulator_anchor.
extern "C" {
extern const int cudaenc_emulator_anchor;
const int cudaenc_emulator_anchor = 1;
}
