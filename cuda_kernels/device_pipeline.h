// SPDX-License-Identifier: LGPL-2.1-or-later
// The base of device pipelines: slots for work in flight, the work of a slot as a graph, downloads, errors, stage
// times.
#pragma once
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "../common/pipeline.h"
#include "device_objects.h"

namespace cudaenc {

// Work that queue_as_graph() queues.
struct QueuedGraph {
    std::optional<Graph> graph;
    bool launched = false;  // it was queued before
};

// The memory of an input in flight. Codecs derive theirs with the buffers of their stages. Members are destroyed in
// reverse order: buffers before the stream that uses them.
template <class Output>
struct DeviceSlot {
    explicit DeviceSlot(const std::shared_ptr<Device> &device)
        : stream(device), worked(device, false), copied(device, false) {}
    virtual ~DeviceSlot() = default;
    bool is_complete() const { return !in_flight || output || error; }
    Stream stream;
    Event worked;                               // all work but the download is done
    bool deferred = false;                      // the work waits for queue_deferred()
    Device::Stream queued_on = stream;          // the stream of that work: its own, or that of another slot
    Device::Event awaited = nullptr;            // behind it: `worked`, or that of a later slot; nullptr: not recorded
    Event copied;                               // of done(): the download, too
    QueuedGraph graph;                          // of its work
    std::vector<std::unique_ptr<Event>> times;  // one more than stages; none unless they are timed
    bool in_flight = false;
    bool went_on = false;           // go_on() queued work that may not be done
    bool copying = false;           // downloads are queued
    bool copied_recorded = false;   // behind them
    std::optional<Output> output;   // of complete()
    std::exception_ptr error;       // of complete()
    DeviceSlot *earlier = nullptr;  // a slot that is to complete before this one
};

// P: a Pipeline, such as Encoder. S: a DeviceSlot of its output, with the buffers of the codec's stages.
template <class P, class S>
class DevicePipeline : public P {
  public:
    using typename P::Input, typename P::Output;

    void submit(int slot, const Input &input) override {
        S &s = *slots_[static_cast<size_t>(slot)];
        try {
            s.queued_on = s.stream;
            s.awaited = nullptr;
            take(s, input);
            mark(s, 0);
            queue(s);
            if (!s.deferred && !s.awaited) record_worked(s);
            s.in_flight = true;
            submitted(s);
        } catch (...) {
            settle(s);
            throw;
        }
    }

    Output finish(int slot) override {
        S &s = *slots_[static_cast<size_t>(slot)];
        try {
            if (s.deferred) queue_deferred();
            while (!s.output && !s.error) {
                wait_for_work(slot);
                go_on_or_complete(s);
            }
            if (s.copying) go_on_with_later(slot);
            if (s.error) std::rethrow_exception(s.error);
            if (s.copying || !s.times.empty()) device_->synchronize(s.stream);
            for (size_t i = 0; i < this->timed_stages(); i++)
                this->add_time(i, device_->elapsed_ms(*s.times[i], *s.times[i + 1]));
            s.in_flight = s.went_on = s.copying = s.copied_recorded = false;
            queue_deferred_if_idle();
            return *std::exchange(s.output, std::nullopt);
        } catch (...) {
            settle(s);
            throw;
        }
    }

    bool done(int slot) noexcept override {
        S &s = *slots_[static_cast<size_t>(slot)];
        try {
            if (s.deferred) queue_deferred();
            if (s.deferred) return false;
            while (!s.output && !s.error) {
                if (!device_->done(s.awaited)) return false;
                go_on_or_complete(s);
            }
            if (s.error || !s.copying) return true;
            if (!std::exchange(s.copied_recorded, true)) device_->record(s.copied, s.stream);
            return device_->done(s.copied);
        } catch (...) {  // finish() meets it again, or waits
            return true;
        }
    }

  protected:
    // stages: their names; the first is the upload, the last the download. stage_times: whether they are timed for the
    // caller.
    DevicePipeline(std::shared_ptr<Device> device, std::span<const char *const> stages, bool stage_times)
        : device_(std::move(device)) {
        this->describe(device_->name(), stage_times ? stages : stages.first(0));
    }

    // The life of an input, as on the CPU. take() copies it but for samples. queue() queues the upload and the work of
    // the slot on its stream, and calls mark() where a stage after the upload begins. It may defer the work, to queue
    // it with that of later inputs. Then queue_deferred() queues what was deferred, but for what has to wait for later
    // inputs; where it fails, each of these slots has the error. go_on() follows that work: it returns false, or queues
    // more of it and is called again. complete() comes last and fills the output, which outlives the copies that it may
    // queue_download() into it. submitted() follows a submit() that did not fail. reset() follows an error, once
    // nothing runs: it makes the slot as new.
    virtual void take(S &, const Input &) = 0;
    virtual void queue(S &) = 0;
    virtual void queue_deferred() {}
    virtual bool go_on(S &) { return false; }
    virtual void complete(S &, Output &) = 0;
    virtual void submitted(S &) noexcept {}
    virtual void reset(S &) noexcept {}

    // For queue(). `work` must queue the same for each input; else reset the graph. From the second time on it is one
    // graph, which takes less host time than many launches.
    void queue_as_graph(S &s, QueuedGraph &queued, const std::function<void()> &work) {
        if (!queued.launched || !s.times.empty()) {  // a graph has no events within
            work();
            queued.launched = true;
            return;
        }
        if (!queued.graph) queued.graph.emplace(device_, s.stream, work);
        device_->run(s.stream, *queued.graph);
    }

    // For complete().
    void queue_download(S &s, void *host, const void *device, size_t bytes) {
        device_->download(s.stream, host, device, bytes);
        s.copying = true;
    }

    // For finish(), after that of this class: the slot's output anew, behind what `work` queues.
    Output complete_again(S &s, const std::function<void()> &work) {
        try {
            work();
            device_->synchronize(s.stream);
            Output output;
            complete(s, output);
            device_->synchronize(s.stream);
            s.copying = false;
            return output;
        } catch (...) {
            settle(s);
            throw;
        }
    }

    void mark(S &s, int stage) {
        if (!s.times.empty()) device_->record(*s.times[static_cast<size_t>(stage)], s.stream);
    }

    void add_slot(std::unique_ptr<S> slot) {
        const size_t stages = this->timed_stages();
        for (size_t i = 0; stages && i <= stages; i++) slot->times.push_back(std::make_unique<Event>(device_, true));
        slots_.push_back(std::move(slot));
    }
    int slots() const { return static_cast<int>(slots_.size()); }
    S &slot(int i) const { return *slots_[static_cast<size_t>(i)]; }
    // For take(): whether no other slot holds work.
    bool alone() const {
        return std::none_of(slots_.begin(), slots_.end(), [](const auto &slot) { return slot->in_flight; });
    }

    // For destructors of codecs: waits for what is in flight.
    void drain() noexcept {
        for (const auto &s : slots_) settle(*s);
    }

    // Allocates so many elements, at least one.
    template <class T>
    void make(DeviceArray<T> &array, size_t count) const {
        array = DeviceArray<T>(device_, std::max<size_t>(count, 1));
    }

    const std::shared_ptr<Device> device_;

  private:
    void record_worked(S &s) {
        device_->record(s.worked, s.stream);
        s.awaited = s.worked;
        mark(s, static_cast<int>(this->timed_stages()) - 1);
    }

    // Where the device has no other work, what was deferred waits no longer. Errors are those of its slots.
    void queue_deferred_if_idle() noexcept {
        if (std::any_of(slots_.begin(), slots_.end(), [](const auto &s) { return s->in_flight && !s->deferred; }))
            return;
        try {
            queue_deferred();
        } catch (...) {
        }
    }

    // Of an input whose work is done.
    void go_on_or_complete(S &s) noexcept {
        try {
            if ((s.went_on = go_on(s))) return record_worked(s);
            complete(s, s.output.emplace());
            mark(s, static_cast<int>(this->timed_stages()));
        } catch (...) {
            s.error = std::current_exception();
        }
    }

    // Where an input's work goes on, others are done in the meantime, and may have to go on too: they need not wait for
    // each other.
    void wait_for_work(int slot) {
        S &s = *slots_[static_cast<size_t>(slot)];
        while (s.went_on && !device_->done(s.awaited)) {
            go_on_with_later(slot);
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        device_->synchronize(s.awaited);
    }

    // Of the inputs after `slot` that are done: what follows need not wait until the caller asks for them.
    void go_on_with_later(int slot) noexcept {
        for (int i = 1; i < slots(); i++) {
            S &s = *slots_[static_cast<size_t>((slot + i) % slots())];
            if (!s.in_flight || s.deferred) return;
            if (s.is_complete() || (s.earlier && !s.earlier->is_complete())) continue;
            try {
                if (!device_->done(s.awaited)) {
                    if (s.went_on) continue;
                    return;
                }
            } catch (...) {
                s.error = std::current_exception();
                continue;
            }
            go_on_or_complete(s);
        }
    }

    // After an error: waits until nothing of the slot runs.
    void settle(S &s) noexcept {
        s.stream.settle();
        if (s.queued_on != s.stream) settle_stream(*device_, s.queued_on);
        s.in_flight = s.deferred = s.went_on = s.copying = s.copied_recorded = false;
        s.output.reset();
        s.error = nullptr;
        reset(s);
    }

    std::vector<std::unique_ptr<S>> slots_;
};

// The thread-blocks for `work` items, so many `threads` a block.
inline unsigned blocks_for(uint64_t work, uint64_t threads) {
    return static_cast<unsigned>((work + threads - 1) / threads);
}

}  // namespace cudaenc
