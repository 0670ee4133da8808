// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <new>

namespace cudaenc {

ThreadPool::ThreadPool(int threads) {
    try {
        for (int i = 0; i < threads; i++) threads_.emplace_back([this] { work(); });
    } catch (...) {  // no memory, or no more threads: those that began have to end
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread &t : threads_) t.join();
}

void ThreadPool::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
}

void ThreadPool::work() {
    for (;;) {
        std::function<void()> task;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
    }
}

namespace {

// One for_each(). Helpers may start after it returned: they find no index left and do not touch the body.
struct Loop {
    explicit Loop(size_t n, const std::function<void(size_t)> &f) : count(n), body(&f) {}
    const size_t count;
    const std::function<void(size_t)> *body;
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::condition_variable finished;
    size_t done = 0;
    std::exception_ptr error;

    void run() {
        for (;;) {
            const size_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= count) return;
            std::exception_ptr caught;
            try {
                (*body)(i);
            } catch (...) {
                caught = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            if (caught && !error) error = caught;
            if (++done == count) finished.notify_all();
        }
    }
};

}  // namespace

void ThreadPool::for_each(size_t count, const std::function<void(size_t)> &body) {
    if (count == 0) return;
    if (count == 1) return body(0);
    const auto loop = std::make_shared<Loop>(count, body);
    const size_t helpers = std::min<size_t>(count, threads_.size()) - 1;
    try {
        for (size_t i = 0; i < helpers; i++) post([loop] { loop->run(); });
    } catch (const std::bad_alloc &) {
        // Fewer help. Those that do use the body, so this must not return before them.
    }
    loop->run();
    std::unique_lock lock(loop->mutex);
    loop->finished.wait(lock, [&] { return loop->done == count; });
    if (loop->error) std::rethrow_exception(loop->error);
}

}  // namespace cudaenc
