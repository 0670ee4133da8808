// The threads of the CPU device, shared by all frames in flight.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cudaenc {

class ThreadPool {
  public:
    explicit ThreadPool(int threads);
    ~ThreadPool() { stop(); }
    void stop();  // runs what is queued, then ends the threads
    int threads() const { return static_cast<int>(threads_.size()); }

    // Queues a task, which must not throw.
    void post(std::function<void()> task);

    // Calls body(i) for every i in [0, count), on this thread and on idle ones of the pool, and returns when all calls
    // have. Tasks and bodies may call it. Throws the first exception of a body; then some calls may be missing.
    void for_each(size_t count, const std::function<void(size_t)> &body);

  private:
    // A function for `times` threads to run once each.
    struct Task {
        std::shared_ptr<const std::function<void()>> run;
        size_t times;
    };
    void post(Task task);
    void work();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> tasks_;
    std::atomic<size_t> queued_{0};  // the size of tasks_, to be read without the lock
    size_t asleep_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cudaenc
