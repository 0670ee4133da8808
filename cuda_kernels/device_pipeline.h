// What the codecs' pipelines on a device share, whichever their direction: slots for work in flight, a slot's work as
// one graph, downloads, errors, stage times. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <exception>
#include <optional>

#include "../common/pipeline.h"
#include "device_objects.h"

namespace cudaenc {

// What an input in flight owns. Codecs derive theirs with the buffers of their stages; members are freed in reverse
// order, buffers before the stream that works on them.
template <class Output>
struct DeviceSlot {
    explicit DeviceSlot(const std::shared_ptr<Device> &device) : stream(device), worked(device, false) {}
    virtual ~DeviceSlot() = default;
    Stream stream;
    Event worked;                               // everything but the download is done
    std::optional<Graph> graph;                 // of queue_as_graph(), after the first time
    bool launched = false;                      // that first time was
    std::vector<std::unique_ptr<Event>> times;  // one more than there are stages, where their times are asked for
    bool in_flight = false;
    bool copying = false;          // downloads are queued
    std::optional<Output> output;  // once they are
    std::exception_ptr error;      // why it is not to be used
};

// P: the Pipeline that this is, Encoder or a decoder's.
template <class P>
class DevicePipeline : public P {
  public:
    using typename P::Input, typename P::Output;
    using BaseSlot = DeviceSlot<Output>;
    const std::string &device_name() const override { return name_; }
    std::span<const CudaencStageTime> stage_times() const override { return times_; }

    void submit(int slot, const Input &input) override {
        BaseSlot &s = *slots_[static_cast<size_t>(slot)];
        try {
            take(s, input);
            mark(s, 0);
            queue(s);
            device_->record(s.worked, s.stream);
            mark(s, static_cast<int>(times_.size()) - 1);
            s.in_flight = true;
        } catch (...) {
            settle(s);
            throw;
        }
    }

    Output finish(int slot) override {
        BaseSlot &s = *slots_[static_cast<size_t>(slot)];
        try {
            if (!s.output && !s.error) {
                device_->synchronize(s.worked);
                begin_download(s);
            }
            if (s.copying) begin_later_downloads(slot);
            if (s.error) std::rethrow_exception(s.error);
            if (s.copying || !s.times.empty()) device_->synchronize(s.stream);
            for (size_t i = 0; i < times_.size(); i++) {
                times_[i].milliseconds += device_->elapsed_ms(*s.times[i], *s.times[i + 1]);
                times_[i].frames++;
            }
            s.in_flight = s.copying = false;
            return *std::exchange(s.output, std::nullopt);
        } catch (...) {
            settle(s);
            throw;
        }
    }

  protected:
    // stages: their names, the first one that of the upload, the last one that of the download; stage_times: whether
    // they are timed for the caller.
    DevicePipeline(std::shared_ptr<Device> device, std::span<const char *const> stages, bool stage_times)
        : device_(std::move(device)), name_(device_->name()) {
        if (!stage_times) return;
        for (const char *name : stages) times_.push_back({.name = name, .milliseconds = 0, .frames = 0});
    }

    // What direction and codec add. take() keeps what the input brings. queue() queues the upload and the slot's work
    // on its stream, and begins each stage after the upload with mark(). complete() comes after that work; it fills the
    // output, which outlives the copies of queue_download() into it. reset() comes after an error, when nothing runs
    // any more: then the slot is as new.
    virtual void take(BaseSlot &, const Input &) = 0;
    virtual void queue(BaseSlot &) = 0;
    virtual void complete(BaseSlot &, Output &) = 0;
    virtual void reset(BaseSlot &) noexcept {}

    // For queue(): `work` queues what is always the same, but for what set `graph` to nothing. From a slot's second
    // input on that is one graph, which takes less of the host's time than many launches.
    void queue_as_graph(BaseSlot &s, const std::function<void()> &work) {
        if (!s.launched || !s.times.empty()) {  // a graph has no events within
            work();
            s.launched = true;
            return;
        }
        if (!s.graph) s.graph.emplace(device_, s.stream, work);
        device_->run(s.stream, *s.graph);
    }

    // For complete().
    void queue_download(BaseSlot &s, void *host, const void *device, size_t bytes) {
        device_->download(s.stream, host, device, bytes);
        s.copying = true;
    }

    void mark(BaseSlot &s, int stage) {
        if (!s.times.empty()) device_->record(*s.times[static_cast<size_t>(stage)], s.stream);
    }

    void add_slot(std::unique_ptr<BaseSlot> slot) {
        for (size_t i = 0; !times_.empty() && i <= times_.size(); i++)
            slot->times.push_back(std::make_unique<Event>(device_, true));
        slots_.push_back(std::move(slot));
    }
    int slots() const { return static_cast<int>(slots_.size()); }

    // For the codec's destructor: waits for what is in flight.
    void drain() noexcept {
        for (const auto &s : slots_) settle(*s);
    }

    // So many elements, at least one.
    template <class T>
    void make(DeviceArray<T> &array, size_t count) const {
        array = DeviceArray<T>(device_, std::max<size_t>(count, 1));
    }

    const std::shared_ptr<Device> device_;

  private:
    void begin_download(BaseSlot &s) noexcept {
        try {
            complete(s, s.output.emplace());
            mark(s, static_cast<int>(times_.size()));
        } catch (...) {
            s.error = std::current_exception();
        }
    }

    // Of what is done already, after the input of `slot`: its copies shall not wait for the caller to ask for them.
    void begin_later_downloads(int slot) noexcept {
        for (int i = 1; i < slots(); i++) {
            BaseSlot &s = *slots_[static_cast<size_t>((slot + i) % slots())];
            if (!s.in_flight) return;
            if (s.output || s.error) continue;
            try {
                if (!device_->done(s.worked)) return;
            } catch (...) {
                s.error = std::current_exception();
                continue;
            }
            begin_download(s);
        }
    }

    // After an error: nothing of the slot is left running.
    void settle(BaseSlot &s) noexcept {
        s.stream.settle();
        s.in_flight = s.copying = false;
        s.output.reset();
        s.error = nullptr;
        reset(s);
    }

    const std::string name_;
    std::vector<CudaencStageTime> times_;
    std::vector<std::unique_ptr<BaseSlot>> slots_;
};

// Thread-blocks of so many threads, or of so much of other work.
inline unsigned blocks_for(uint64_t work, uint64_t threads) {
    return static_cast<unsigned>((work + threads - 1) / threads);
}

}  // namespace cudaenc
