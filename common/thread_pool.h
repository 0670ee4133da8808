// SPDX-License-Identifier: LGPL-2.1-or-later
// The threads of the CPU device, shared by all frames in flight.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cudaenc {

// threads 0: one per core.
inline int thread_count(int threads) {
    return threads ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class ThreadPool {
  public:
    explicit ThreadPool(int threads);  // throws Error(CUDAENC_ERR_MEMORY) where one of them cannot begin
    ~ThreadPool() { stop(); }
    void stop();  // runs what is queued, then ends the threads
    int threads() const { return static_cast<int>(threads_.size()); }

    // What threads of the pool run; it must not throw. It may be queued again once it has begun.
    struct Task {
        explicit Task(std::function<void()> work) : run(std::move(work)) {}
        const std::function<void()> run;
        size_t times = 0;            // this and next belong to the pool
        std::shared_ptr<Task> next;  // in the queue
    };
    // Queues a task for `times` threads.
    void post(std::shared_ptr<Task> task, size_t times = 1) noexcept;

    // Calls body(i) for every i in [0, count), on this thread and on idle ones of the pool, and returns when all calls
    // have. Tasks and bodies may call it. Throws the first exception of a body; then some calls may be missing.
    void for_each(size_t count, const std::function<void(size_t)> &body);
    // The same, `batch` calls at a time, for short bodies.
    template <class Body>
    void for_each(size_t count, size_t batch, const Body &body) {
        for_each((count + batch - 1) / batch, [&](size_t k) {
            for (size_t i = k * batch; i < std::min(count, (k + 1) * batch); i++) body(i);
        });
    }

  private:
    void work();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::shared_ptr<Task> first_;      // of the queue
    Task *last_ = nullptr;             // where there is a first one
    std::atomic<bool> queued_{false};  // whether there is, for those who look before they lock
    size_t asleep_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cudaenc
