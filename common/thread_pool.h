// Threads of the CPU device. Work of several frames shares them.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
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

    // Calls body(i) for every i in [0, count), on this thread and on idle ones of the pool; returns when all have
    // returned. May be called from tasks and from bodies. Throws what a body threw first; then some bodies may not have
    // been called.
    void for_each(size_t count, const std::function<void(size_t)> &body);
    // The same, `batch` calls at a time, for short bodies.
    template <class Body>
    void for_each(size_t count, size_t batch, const Body &body) {
        for_each((count + batch - 1) / batch, [&](size_t k) {
            for (size_t i = k * batch; i < std::min(count, (k + 1) * batch); i++) body(i);
        });
    }

  private:
    // What `times` threads are to run, each once.
    struct Task {
        std::shared_ptr<const std::function<void()>> run;
        size_t times;
    };
    void post(Task task);
    void work();
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> tasks_;
    std::atomic<size_t> queued_{0};  // of tasks_, for those who look before they lock
    size_t asleep_ = 0;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cudaenc
