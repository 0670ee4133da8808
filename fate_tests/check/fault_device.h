// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that are told to fail: the n-th one alone, or all from there on. And a device whose calls do.
#pragma once
#include <sys/mman.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../common/device.h"
#include "../../common/error.h"

namespace cudaenc::testing {

// While it lives: whether calls from its thread may fail.
class MayFail {
  public:
    explicit MayFail(bool may) : before_(std::exchange(may_, may)) {}
    ~MayFail() { may_ = before_; }
    MayFail(const MayFail &) = delete;
    MayFail &operator=(const MayFail &) = delete;
    static bool now() { return may_; }

  private:
    inline static thread_local bool may_ = true;
    const bool before_;
};

// A set of numbers that are not 0, which processes share that were forked after it was made.
class SharedSet {
  public:
    SharedSet()
        : table_(static_cast<uint64_t *>(
              mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (table_ == MAP_FAILED) throw Error(CUDAENC_ERR_MEMORY, "no memory for a set");
    }
    ~SharedSet() { munmap(table_, kBytes); }
    SharedSet(const SharedSet &) = delete;
    SharedSet &operator=(const SharedSet &) = delete;
    // Returns whether the number is a new one.
    bool insert(uint64_t number) {
        size_t at = static_cast<size_t>(number % kCount);
        while (table_[at] && table_[at] != number) at = (at + 1) % kCount;
        return std::exchange(table_[at], number) == 0;
    }

  private:
    static constexpr size_t kCount = 1 << 18, kBytes = kCount * sizeof(uint64_t);  // many times as many as are inserted
    uint64_t *const table_;
};

// The calls of one kind, from any thread. Nothing here allocates but points().
class Failures {
  public:
    // The call-th one from now fails; onwards: and all that follow.
    void begin(long call, bool onwards) {
        reached_ = false;
        onwards_ = onwards;
        left_ = call;
    }
    // From now on none fails. Returns whether one did.
    bool end() {
        left_ = 0;
        return reached_;
    }
    // Notes where calls come from.
    void note(bool on) {
        if (on) noted_ = 0;
        noting_ = on;
    }

    // For the call: whether it is to fail.
    bool fails() {
        if (!MayFail::now()) return false;
        if (noting_) note_site();
        long left = left_.load();
        while (left > 1 && !left_.compare_exchange_weak(left, left - 1)) {
        }
        if (left != 1 || (!onwards_ && !left_.compare_exchange_strong(left, 0))) return false;
        reached_ = true;
        return true;
    }

    // Of the calls that were noted: the first and the last one of each site that is not known to the group, since a
    // later frame is another state, and every `stride`-th one.
    std::vector<long> points(long stride, uint64_t group, SharedSet &known) const {
        const long count = static_cast<long>(std::min(noted_.load(), sites_.size()));
        std::set<uint64_t> fresh;
        std::set<long> chosen;
        for (long i = 0; i < count; i++) {
            const bool is_new = known.insert((sites_[i] ^ group * 0xD6E8FEB86659FD93u) | 1);
            if (is_new) fresh.insert(sites_[i]);
            if (is_new || i % stride == 0) chosen.insert(i + 1);
        }
        for (long i = count; i-- > 0;)
            if (fresh.erase(sites_[i])) chosen.insert(i + 1);
        return {chosen.begin(), chosen.end()};
    }

  private:
    // A site is a stack of return addresses.
    void note_site() {
        struct Site {
            uint64_t hash = 0;
            int depth = 0;
        } site;
        _Unwind_Backtrace(
            [](_Unwind_Context *context, void *opaque) {
                Site &s = *static_cast<Site *>(opaque);
                s.hash = (s.hash ^ _Unwind_GetIP(context)) * 0x9E3779B97F4A7C15u;
                return ++s.depth < 24 ? _URC_NO_REASON : _URC_END_OF_STACK;
            },
            &site);
        const size_t at = noted_++;
        if (at < sites_.size()) sites_[at] = site.hash;
    }
    std::atomic<long> left_{0};  // calls up to the one that fails; 0: none does
    std::atomic<bool> onwards_{false}, reached_{false}, noting_{false};
    std::atomic<size_t> noted_{0};
    std::array<uint64_t, 1 << 16> sites_{};
};

// Any device, but for the calls that fail. Such a call does nothing, but a wait. It also counts what it made and did
// not destroy, and graphs. Within a call nothing else fails, unless the device is the library's own.
class FaultDevice final : public Device {
  public:
    FaultDevice(std::shared_ptr<Device> device, Failures &failures, bool own = false)
        : device_(std::move(device)), failures_(failures), own_(own) {}
    ~FaultDevice() override {
        if (living_) {
            std::fprintf(stderr, "%ld things of the device are left\n", living_.load());
            std::abort();
        }
    }

    long graphs_made() const { return graphs_made_; }
    long graphs_run() const { return graphs_run_; }

    std::string name() const override { return device_->name(); }
    int multiprocessors() const override { return device_->multiprocessors(); }
    uint64_t free_memory() override {
        const MayFail inside = may_fail("free_memory");
        return device_->free_memory();
    }
    void *alloc(size_t bytes) override {
        const MayFail inside = may_fail("alloc", CUDAENC_ERR_MEMORY);
        return made(device_->alloc(bytes));
    }
    void free(void *memory) noexcept override {
        living_ -= memory != nullptr;
        device_->free(memory);
    }
    void *alloc_pinned(size_t bytes) override {
        const MayFail inside = may_fail("alloc_pinned", CUDAENC_ERR_MEMORY);
        return made(device_->alloc_pinned(bytes));
    }
    void free_pinned(void *memory) noexcept override {
        living_ -= memory != nullptr;
        device_->free_pinned(memory);
    }
    bool pageable(const void *host) override {
        const MayFail inside = may_fail("pageable");
        return device_->pageable(host);
    }
    Stream create_stream() override {
        const MayFail inside = may_fail("create_stream");
        return made(device_->create_stream());
    }
    void destroy_stream(Stream stream) noexcept override {
        living_--;
        device_->destroy_stream(stream);
    }
    Event create_event(bool timing) override {
        const MayFail inside = may_fail("create_event");
        return made(device_->create_event(timing));
    }
    void destroy_event(Event event) noexcept override {
        living_--;
        device_->destroy_event(event);
    }
    void record(Event event, Stream stream) override {
        const MayFail inside = may_fail("record");
        device_->record(event, stream);
    }
    void wait(Stream stream, Event event) override {
        const MayFail inside = may_fail("wait");
        device_->wait(stream, event);
    }
    void wait_foreign(Stream stream, void *cuda_stream) override {
        const MayFail inside = may_fail("wait_foreign");
        device_->wait_foreign(stream, cuda_stream);
    }
    bool done(Event event) override {
        const MayFail inside = may_fail("done");
        return device_->done(event);
    }
    // After a wait that fails nothing runs: a real one fails where the device's context is lost.
    void synchronize(Event event) override { wait_for(event); }
    void synchronize(Stream stream) override { wait_for(stream); }
    float elapsed_ms(Event begin, Event end) override {
        const MayFail inside = may_fail("elapsed_ms");
        return device_->elapsed_ms(begin, end);
    }
    void upload(Stream stream, void *device, const void *host, size_t bytes) override {
        const MayFail inside = may_fail("upload");
        device_->upload(stream, device, host, bytes);
    }
    void upload_2d(Stream stream, void *device, size_t device_pitch, const void *host, ptrdiff_t host_pitch,
                   size_t row_bytes, size_t rows) override {
        const MayFail inside = may_fail("upload_2d");
        device_->upload_2d(stream, device, device_pitch, host, host_pitch, row_bytes, rows);
    }
    void download(Stream stream, void *host, const void *device, size_t bytes) override {
        const MayFail inside = may_fail("download");
        device_->download(stream, host, device, bytes);
    }
    void download_2d(Stream stream, void *host, ptrdiff_t host_pitch, const void *device, size_t device_pitch,
                     size_t row_bytes, size_t rows) override {
        const MayFail inside = may_fail("download_2d");
        device_->download_2d(stream, host, host_pitch, device, device_pitch, row_bytes, rows);
    }
    void fill(Stream stream, void *device, uint8_t value, size_t bytes) override {
        const MayFail inside = may_fail("fill");
        device_->fill(stream, device, value, bytes);
    }
    Graph create_graph(Stream stream, const std::function<void()> &work) override {
        const MayFail inside = may_fail("create_graph");
        graphs_made_++;
        return made(device_->create_graph(stream, [&] {
            const MayFail outside(true);
            work();
        }));
    }
    void run(Stream stream, Graph graph) override {
        const MayFail inside = may_fail("run");
        graphs_run_++;
        device_->run(stream, graph);
    }
    void destroy_graph(Graph graph) noexcept override {
        living_--;
        device_->destroy_graph(graph);
    }

  protected:
    void launch_kernel(Stream stream, const KernelName &name, Grid grid, unsigned threads, const void *params,
                       size_t size) override {
        const MayFail inside = may_fail("launch");
        Launcher::launch(*device_, stream, name, grid, threads, params, size);
    }

  private:
    // launch_kernel() of another device is protected, but for a pointer to it.
    struct Launcher : Device {
        template <class... Arguments>
        static void launch(Device &device, const Arguments &...arguments) {
            (device.*&Launcher::launch_kernel)(arguments...);
        }
    };
    // Returns what lives until the call is over.
    [[nodiscard]] MayFail may_fail(const char *what, int code = CUDAENC_ERR_DEVICE) const {
        if (failures_.fails()) throw Error(code, std::string(what) + " failed, as the test asked for");
        return MayFail(own_);
    }
    template <class T>
    void wait_for(T what) {
        {
            const MayFail inside(own_);
            device_->synchronize(what);
        }
        const MayFail inside = may_fail("synchronize");
    }
    template <class T>
    T made(T object) {
        living_++;
        return object;
    }
    const std::shared_ptr<Device> device_;
    Failures &failures_;
    const bool own_;
    std::atomic<long> living_{0}, graphs_made_{0}, graphs_run_{0};
};

}  // namespace cudaenc::testing
