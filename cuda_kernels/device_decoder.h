// SPDX-License-Identifier: LGPL-2.1-or-later
// The base of decoders on devices: what the host's threads do of a picture, memory that grows with pictures.
#pragma once
#include <condition_variable>
#include <mutex>

#include "../common/thread_pool.h"
#include "device_pipeline.h"

namespace cudaenc {

// Memory of a device that is written by way of pinned memory, from which an upload neither waits nor copies again.
struct StagedBytes {
    std::unique_ptr<PinnedArray<uint8_t>> host;
    DeviceArray<uint8_t> device;
    size_t room = 0;
};

// A picture in flight. Codecs derive theirs.
struct DecoderSlot : DeviceSlot<Decoded> {
    using DeviceSlot::DeviceSlot;
    CodedPicture picture{};
    std::shared_ptr<ThreadPool::Task> task;  // DeviceDecoder::run()
    bool is_running = false;                 // the task runs, or is about to
    std::exception_ptr failure;              // of it
};

// S: a DecoderSlot.
template <class S>
class DeviceDecoder : public DevicePipeline<Decoder, S> {
  protected:
    using DevicePipeline<Decoder, S>::device_;

    DeviceDecoder(std::shared_ptr<Device> device, std::span<const char *const> stages, int slots, int threads,
                  bool device_frames, bool stage_times)
        : DevicePipeline<Decoder, S>(std::move(device), stages, stage_times),
          device_frames_(device_frames),
          pool_(thread_count(threads)) {
        for (int i = 0; i < slots; i++) {
            auto slot = std::make_unique<S>(device_);
            slot->task = std::make_shared<ThreadPool::Task>([this, s = slot.get()] { run_task(*s); });
            this->add_slot(std::move(slot));
        }
    }
    // For destructors of codecs, as drain().
    void stop() noexcept {
        pool_.stop();
        this->drain();
    }

    // ---- The host's part

    // What post() asks of a thread of the pool.
    virtual void run(S &) = 0;
    void post(S &s) {
        {
            const std::lock_guard lock(mutex_);
            s.is_running = true;
        }
        pool_.post(s.task);
    }
    bool is_running(const S &s) noexcept {
        const std::lock_guard lock(mutex_);
        return s.is_running;
    }
    // Throws what run() threw.
    void wait(S &s) {
        settle_task(s);
        if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
    }
    // For run(): changes what look() and wait_for() see.
    template <class Change>
    void tell(const Change &change) {
        const std::lock_guard lock(mutex_);
        change();
        told_.notify_all();
    }
    template <class Condition>
    bool look(const Condition &condition) {
        const std::lock_guard lock(mutex_);
        return condition();
    }
    // Whether `condition` holds before run() returns.
    template <class Condition>
    bool wait_for(const S &s, const Condition &condition) {
        std::unique_lock lock(mutex_);
        told_.wait(lock, [&] { return !s.is_running || condition(); });
        return s.is_running;
    }
    void reset(S &s) noexcept override {
        std::erase(deferred_, &s);
        settle_task(s);
        s.failure = nullptr;
    }

    // ---- Memory

    // `room` elements, where there are fewer than `count`. What the array had is lost.
    template <class T>
    void grow(DeviceArray<T> &array, size_t count, size_t room) const {
        if (count <= array.count()) return;
        array = {};  // device memory may lack room for both
        this->make(array, room);
    }
    // The device may read kMargin bytes behind `count`.
    void grow(StagedBytes &bytes, size_t count) const {
        constexpr size_t kMargin = 1 << 16;  // and room for tables, which most pictures' are less than
        if (bytes.host && count <= bytes.room) return;
        bytes.host.reset();
        bytes.device = {};
        bytes.room = 0;
        const size_t room = count + count / 4;
        bytes.host = std::make_unique<PinnedArray<uint8_t>>(device_, room + kMargin);
        this->make(bytes.device, room + kMargin);
        bytes.room = room;
    }
    void upload(const S &s, const StagedBytes &staged, size_t at, size_t bytes) const {
        if (bytes) device_->upload(s.queued_on, staged.device.data() + at, staged.host->data() + at, bytes);
    }

    const bool device_frames_;
    std::vector<S *> deferred_;  // what queue_deferred() queues, in order
    ThreadPool pool_;

  private:
    void run_task(S &s) noexcept {
        try {
            run(s);
        } catch (...) {
            s.failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        s.is_running = false;
        told_.notify_all();
    }
    void settle_task(const S &s) noexcept {
        std::unique_lock lock(mutex_);
        told_.wait(lock, [&] { return !s.is_running; });
    }

    std::mutex mutex_;  // of DecoderSlot::is_running, and of what is told
    std::condition_variable told_;
};

}  // namespace cudaenc
