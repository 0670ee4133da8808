// SPDX-License-Identifier: LGPL-2.1-or-later
// The base of CPU pipelines: work in flight as tasks of a thread pool, errors, stage times.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "error.h"
#include "pipeline.h"
#include "thread_pool.h"

namespace cudaenc {

// Slots where the caller leaves async_depth open.
constexpr int kUsualDepth = 4;
// The same on CPUs, for codecs whose pictures keep few threads busy: each thread has its own, and every second one has
// another while a picture that is ready waits for those before it.
inline int depth_of_threads(int threads) {
    return std::clamp(thread_count(threads) * 3 / 2, kUsualDepth, CUDAENC_MAX_ASYNC_DEPTH);
}

// P: a Pipeline, such as Encoder.
template <class P>
class CpuPipeline : public P {
  public:
    using typename P::Input, typename P::Output;
    void submit(int slot, const Input &input) override {
        take(slot, input);
        tasks_[slot].done = false;
        queue(slot);
    }

    Output finish(int slot) override {
        Task &task = tasks_[slot];
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [&] { return task.done; });
        if (task.error) std::rethrow_exception(std::exchange(task.error, nullptr));
        for (size_t i = 0; i < this->timed_stages(); i++)
            this->add_time(i, std::chrono::duration<double, std::milli>(task.began[i + 1] - task.began[i]).count());
        return *std::exchange(task.output, std::nullopt);
    }

    bool done(int slot) noexcept override {
        const std::lock_guard lock(mutex_);
        return tasks_[slot].done;
    }

  protected:
    // threads 0: one per core. stage_times: whether stages are timed for the caller. device: the name of a device that
    // runs the last stages; empty: none.
    CpuPipeline(int slots, int threads, std::span<const char *const> stage_names, bool stage_times,
                const std::string &device = {})
        : tasks_(slots), pool_(thread_count(threads)) {
        for (int slot = 0; slot < slots; slot++) {
            tasks_[slot].began.resize(stage_names.size() + 1);
            tasks_[slot].work = std::make_shared<ThreadPool::Task>([this, slot] { execute(slot); });
        }
        this->describe((device.empty() ? "" : device + " and ") +
                           format_string("cpu, %d thread%s", pool_.threads(), pool_.threads() == 1 ? "" : "s"),
                       stage_times ? stage_names : stage_names.first(0));
    }

    // The life of an input, as on a device. take() copies it but for samples, on the caller's thread. queue() calls
    // start(): at once, unless the codec waits for other slots. Neither fails, so that a slot that was taken ends.
    // complete() does the slot's work on a thread of the pool, whose for_each() it may use, and gives the output.
    // Nothing: it goes on in another call, which another slot start()s; from there on this one does not touch the slot.
    virtual void take(int slot, const Input &input) = 0;
    virtual void queue(int slot) noexcept { start(slot); }
    virtual std::optional<Output> complete(int slot) = 0;

    void start(int slot) noexcept { pool_.post(tasks_[slot].work); }

    // For complete(), where a stage begins.
    void begin_stage(int slot, int stage) { tasks_[slot].began[stage] = Clock::now(); }
    ThreadPool &pool() { return pool_; }

    // Waits for what is in flight. Derived classes call it in their destructors, since tasks use their members.
    void stop() { pool_.stop(); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Task {
        std::vector<Clock::time_point> began;  // when each stage began, and when the last ended
        std::optional<Output> output;
        std::exception_ptr error;
        bool done = false;
        std::shared_ptr<ThreadPool::Task> work;
    };
    void execute(int slot) noexcept {
        Task &task = tasks_[slot];
        try {
            std::optional<Output> output = complete(slot);
            if (!output) return;
            task.output = std::move(output);
            begin_stage(slot, static_cast<int>(task.began.size()) - 1);
        } catch (...) {
            task.error = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        task.done = true;
        finished_.notify_all();
    }
    std::vector<Task> tasks_;  // [slot]
    std::mutex mutex_;         // of Task::done
    std::condition_variable finished_;
    ThreadPool pool_;
};

}  // namespace cudaenc
