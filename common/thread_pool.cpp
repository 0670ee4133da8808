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
    } catch (...) {  // no memory or no more threads: ends those that began
        stop();
        throw;
    }
}

void ThreadPool::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread &t : threads_) t.join();
    threads_.clear();
}

namespace {

// Yields until the condition holds, but not for long: loops follow each other within tens of microseconds, less than it
// takes to sleep and be woken.
template <class Condition>
void linger_until(Condition condition) {
    for (int i = 0; i < 64 && !condition(); i++) std::this_thread::yield();
}

}  // namespace

void ThreadPool::post(std::function<void()> task) {
    post({std::make_shared<const std::function<void()>>(std::move(task)), 1});
}

void ThreadPool::post(Task task) {
    size_t wanted;
    bool all;
    {
        const std::lock_guard lock(mutex_);
        wanted = std::min(task.times, asleep_);
        all = wanted == asleep_;
        tasks_.push_back(std::move(task));
        queued_ = tasks_.size();
    }
    if (all)
        wake_.notify_all();
    else
        for (; wanted; wanted--) wake_.notify_one();
}

void ThreadPool::work() {
    for (;;) {
        linger_until([this] { return queued_ != 0; });
        std::shared_ptr<const std::function<void()>> run;
        {
            std::unique_lock lock(mutex_);
            asleep_++;
            wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
            asleep_--;
            if (tasks_.empty()) return;
            run = tasks_.front().run;
            if (--tasks_.front().times == 0) tasks_.pop_front();
            queued_ = tasks_.size();
        }
        (*run)();
    }
}

namespace {

// A for_each(). Helpers that start after it returned find no index left and do not touch the body.
struct Loop {
    Loop(size_t n, const std::function<void(size_t)> &f) : count(n), body(&f) {}
    const size_t count;
    const std::function<void(size_t)> *body;
    std::atomic<size_t> next{0}, done{0};
    std::mutex mutex;
    std::condition_variable finished;
    std::exception_ptr error;

    void run() {
        for (;;) {
            const size_t i = next.fetch_add(1, std::memory_order_relaxed);
            if (i >= count) return;
            try {
                (*body)(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!error) error = std::current_exception();
            }
            if (done.fetch_add(1) + 1 < count) continue;
            const std::lock_guard lock(mutex);
            finished.notify_all();
        }
    }
};

}  // namespace

void ThreadPool::for_each(size_t count, const std::function<void(size_t)> &body) {
    if (count == 0) return;
    const size_t helpers = std::min<size_t>(count, threads_.size()) - 1;
    if (helpers == 0) {
        for (size_t i = 0; i < count; i++) body(i);
        return;
    }
    const auto loop = std::make_shared<Loop>(count, body);
    try {
        post({std::make_shared<const std::function<void()>>([loop] { loop->run(); }), helpers});
    } catch (const std::bad_alloc &) {
        // This thread runs alone.
    }
    loop->run();
    const auto finished = [&] { return loop->done == count; };
    linger_until(finished);
    std::unique_lock lock(loop->mutex);
    loop->finished.wait(lock, finished);
    if (loop->error) std::rethrow_exception(loop->error);
}

}  // namespace cudaenc
