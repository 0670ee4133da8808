// SPDX-License-Identifier: LGPL-2.1-or-later
// The emulator as a Device. A stream's work runs as late as may be: when the host waits for it, or work of another
// stream does that the host waits for. With seeds other than 1 about half of the streams run theirs at once, with what
// it waits for. So what lacks an order goes wrong here, each time.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../../common/device.h"
#include "../../common/error.h"
#include "../../common/host_memory.h"
#include "emu_launch.h"

namespace cudaenc::emu {
namespace {

using Clock = std::chrono::steady_clock;

using Work = std::function<void()>;

struct Queue {
    std::deque<Work> work;
    uint64_t queued = 0, done = 0;  // how much of it
};

struct EmulatedStream {
    std::shared_ptr<Queue> queue = std::make_shared<Queue>();
    bool at_once;  // its work runs
};

// A place in a queue.
struct Mark {
    std::shared_ptr<Queue> queue;  // nullptr: not recorded
    uint64_t at = 0;
};

struct EmulatedEvent {
    bool timing = false;
    Mark mark;
    std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();  // when its work was done
};

using EmulatedGraph = std::vector<Work>;

class EmulatedDevice final : public Device {
  public:
    explicit EmulatedDevice(uint64_t seed) : seed_(seed) {}

    std::string name() const override { return "emu, seed " + std::to_string(seed_); }
    int multiprocessors() const override { return 4; }
    uint64_t free_memory() override { return available_host_memory(); }

    void *alloc(size_t bytes) override { return allocate(bytes, sizes_); }
    void free(void *memory) noexcept override {
        if (!memory) return;
        run_all();
        {
            std::lock_guard lock(mutex_);
            if (!sizes_.erase(static_cast<const char *>(memory))) {
                std::fprintf(stderr, "emu: free() of memory that alloc() did not return\n");
                std::abort();
            }
        }
        std::free(memory);
    }

    void *alloc_pinned(size_t bytes) override { return allocate(bytes, pinned_); }
    void free_pinned(void *memory) noexcept override {
        if (memory) run_all();
        {
            std::lock_guard lock(mutex_);
            pinned_.erase(static_cast<const char *>(memory));
        }
        std::free(memory);
    }
    bool pageable(const void *host) override {
        std::lock_guard lock(mutex_);
        return !holds(pinned_, host, 1);
    }

    Stream create_stream() override {
        auto stream = std::make_unique<EmulatedStream>();
        std::lock_guard lock(mutex_);
        stream->at_once = seed_ != 1 && (seed_ + ++streams_) * 0x9e3779b97f4a7c15 >> 63;
        queues_.push_back(stream->queue);
        return reinterpret_cast<Stream>(stream.release());
    }
    void destroy_stream(Stream stream) noexcept override {
        run(*queue_of(stream), UINT64_MAX);
        {
            std::lock_guard lock(mutex_);
            std::erase(queues_, queue_of(stream));
        }
        delete reinterpret_cast<EmulatedStream *>(stream);
    }

    Event create_event(bool timing) override {
        auto event = std::make_unique<EmulatedEvent>();
        event->timing = timing;
        return reinterpret_cast<Event>(event.release());
    }
    void destroy_event(Event event) noexcept override { delete &event_of(event); }

    void record(Event event, Stream stream) override {
        EmulatedEvent &e = event_of(event);
        queue(stream, [time = e.time] { *time = Clock::now(); });
        e.mark = {queue_of(stream), queue_of(stream)->queued};
    }
    void wait(Stream stream, Event event) override {
        queue(stream, [this, mark = event_of(event).mark] { run_to(mark); });
    }
    void wait_foreign(Stream, void *) override {}
    // Those who ask go on with other things once.
    bool done(Event event) override {
        const Mark &mark = event_of(event).mark;
        if (!mark.queue || mark.queue->done >= mark.at) return true;
        synchronize(event);
        return false;
    }
    void synchronize(Event event) override {
        run_to(event_of(event).mark);
        throw_error();
    }
    void synchronize(Stream stream) override {
        run(*queue_of(stream), UINT64_MAX);
        throw_error();
    }

    float elapsed_ms(Event begin, Event end) override {
        const EmulatedEvent &b = event_of(begin), &e = event_of(end);
        if (!b.timing || !e.timing || !b.mark.queue || !e.mark.queue) {
            throw Error(CUDAENC_ERR_INTERNAL, "elapsed_ms of events that were not recorded, or without timing");
        }
        return std::chrono::duration<float, std::milli>(*e.time - *b.time).count();
    }

    // As CUDA has it, memory that is not pinned is read before an upload returns, and written before a download does.
    void upload(Stream stream, void *device, const void *host, size_t bytes) override {
        upload_2d(stream, device, bytes, host, 0, bytes, 1);
    }
    void upload_2d(Stream stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch,
                   size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        if (device_pitch < row_bytes) throw Error(CUDAENC_ERR_INTERNAL, "upload_2d with rows that overlap");
        check_range(device, (rows - 1) * device_pitch + row_bytes, "upload_2d");
        const auto pitch = static_cast<ptrdiff_t>(device_pitch);
        if (!pageable(host)) return queue(stream, [=] { copy(device, pitch, host, host_pitch, row_bytes, rows); });
        const auto kept = std::make_shared<std::vector<char>>(row_bytes * rows);
        const auto kept_pitch = static_cast<ptrdiff_t>(row_bytes);
        copy(kept->data(), kept_pitch, host, host_pitch, row_bytes, rows);
        queue(stream, [=] { copy(device, pitch, kept->data(), kept_pitch, row_bytes, rows); });
    }
    void download(Stream stream, void *host, const void *device, size_t bytes) override {
        download_2d(stream, host, 0, device, bytes, bytes, 1);
    }
    void download_2d(Stream stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                     size_t row_bytes, size_t rows) override {
        if (!row_bytes || !rows) return;
        check_range(device, (rows - 1) * device_pitch + row_bytes, "download_2d");
        queue(stream, [=] { copy(host, host_pitch, device, static_cast<ptrdiff_t>(device_pitch), row_bytes, rows); });
        if (pageable(host)) synchronize(stream);
    }
    void fill(Stream stream, void *device, uint8_t value, size_t bytes) override {
        check_range(device, bytes, "fill");
        if (bytes) queue(stream, [=] { std::memset(device, value, bytes); });
    }

    Graph create_graph(Stream, const std::function<void()> &work) override {
        auto graph = std::make_unique<EmulatedGraph>();
        captured_ = graph.get();
        try {
            work();
        } catch (...) {
            captured_ = nullptr;
            throw;
        }
        captured_ = nullptr;
        return reinterpret_cast<Graph>(graph.release());
    }
    void run(Stream stream, Graph graph) override {
        for (const Work &work : *reinterpret_cast<EmulatedGraph *>(graph)) queue(stream, work);
    }
    void destroy_graph(Graph graph) noexcept override { delete reinterpret_cast<EmulatedGraph *>(graph); }

  protected:
    void launch_kernel(Stream stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
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
        std::vector<std::max_align_t> kept((size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
        std::memcpy(kept.data(), params, size);
        queue(stream, [=, this, kept = std::move(kept)] {
            const std::string error = run_kernel(*kernel, grid, static_cast<int>(threads), kept.data(), seed_);
            if (!error.empty()) throw Error(CUDAENC_ERR_INTERNAL, error);
        });
    }

  private:
    static EmulatedEvent &event_of(Event event) { return *reinterpret_cast<EmulatedEvent *>(event); }
    const std::shared_ptr<Queue> &queue_of(Stream stream) const {
        return stream ? reinterpret_cast<EmulatedStream *>(stream)->queue : queues_[0];
    }

    void queue(Stream stream, Work work) {
        if (captured_) return captured_->push_back(std::move(work));
        Queue &queue = *queue_of(stream);
        queue.work.push_back(std::move(work));
        queue.queued++;
        if (stream && reinterpret_cast<EmulatedStream *>(stream)->at_once) run(queue, UINT64_MAX);
    }
    static void copy(void *to, ptrdiff_t to_pitch, const void *from, ptrdiff_t from_pitch, size_t row_bytes,
                     size_t rows) {
        for (ptrdiff_t y = 0; y < static_cast<ptrdiff_t>(rows); y++)
            std::memcpy(static_cast<char *>(to) + y * to_pitch, static_cast<const char *>(from) + y * from_pitch,
                        row_bytes);
    }

    // Runs a queue's work up to that place. After an error none runs, until the host is told.
    void run(Queue &queue, uint64_t at) noexcept {
        while (queue.done < at && !queue.work.empty()) {
            const Work work = std::move(queue.work.front());
            queue.work.pop_front();
            try {
                if (!error_) work();
            } catch (...) {
                error_ = std::current_exception();
            }
            queue.done++;
        }
    }
    void run_to(const Mark &mark) noexcept {
        if (mark.queue) run(*mark.queue, mark.at);
    }
    void run_all() noexcept {
        for (size_t i = 0; i < queues_.size(); i++) run(*queues_[i], UINT64_MAX);
    }
    void throw_error() {
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

    using Sizes = std::map<const char *, size_t>;

    // Of exactly the size asked for, so that AddressSanitizer sees the first byte too many.
    void *allocate(size_t bytes, Sizes &sizes) {
        void *memory = nullptr;
        if (posix_memalign(&memory, 256, bytes ? bytes : 1)) {
            throw Error(CUDAENC_ERR_MEMORY, format_string("no memory for %zu bytes", bytes));
        }
        fill_garbage(memory, bytes, seed_ + ++allocations_);
        std::lock_guard lock(mutex_);
        try {
            sizes[static_cast<const char *>(memory)] = bytes;
        } catch (...) {
            std::free(memory);
            throw;
        }
        return memory;
    }

    static bool holds(const Sizes &sizes, const void *of, size_t bytes) {
        const char *begin = static_cast<const char *>(of);
        auto after = sizes.upper_bound(begin);
        if (after == sizes.begin()) return false;
        const auto &[memory, size] = *--after;
        const auto offset = static_cast<size_t>(begin - memory);
        return offset <= size && bytes <= size - offset;
    }
    void check_range(const void *device, size_t bytes, const char *what) {
        if (!bytes) return;
        std::lock_guard lock(mutex_);
        if (holds(sizes_, device, bytes)) return;
        throw Error(CUDAENC_ERR_INTERNAL, format_string("%s of %zu bytes that are not in device memory", what, bytes));
    }

    const uint64_t seed_;
    uint64_t streams_ = 0;  // that were created
    std::atomic<uint64_t> allocations_{0};
    std::mutex mutex_;
    Sizes sizes_, pinned_;                                                   // device memory, pinned memory
    std::vector<std::shared_ptr<Queue>> queues_{std::make_shared<Queue>()};  // the first one is nullptr's
    EmulatedGraph *captured_ = nullptr;                                      // while create_graph() runs
    std::exception_ptr error_;                                               // of work
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
