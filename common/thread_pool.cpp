// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <new>

#include "error.h"

namespace cudaenc {

ThreadPool::ThreadPool(int threads) {
    try {
        for (int i = 0; i < threads; i++) threads_.emplace_back([this] { work(); });
    } catch (const std::exception &) {  // no memory or no more threads: ends those that began
        const int begun = this->threads();
        stop();
        throw Error(CUDAENC_ERR_MEMORY, format_string("only %d of %d threads can be started", begun, threads));
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

void ThreadPool::post(std::shared_ptr<Task> task, size_t times) noexcept {
    size_t wanted;
    bool all;
    {
        const std::lock_guard lock(mutex_);
        wanted = std::min(times, asleep_);
        all = wanted == asleep_;
        task->times = times;
        Task *const last = std::exchange(last_, task.get());
        (first_ ? last->next : first_) = std::move(task);
        queued_ = true;
    }
    if (all)
        wake_.notify_all();
    else
        for (; wanted; wanted--) wake_.notify_one();
}

void ThreadPool::work() {
    for (;;) {
        linger_until([this] { return queued_.load(); });
        std::shared_ptr<Task> task;
        {
            std::unique_lock lock(mutex_);
            asleep_++;
            wake_.wait(lock, [this] { return stop_ || first_; });
            asleep_--;
            if (!first_) return;
            task = first_;
            if (--task->times == 0) first_ = std::move(task->next);
            queued_ = first_ != nullptr;
        }
        task->run();
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
    std::shared_ptr<Loop> loop;
    try {
        if (helpers) {
            loop = std::make_shared<Loop>(count, body);
            post(std::make_shared<Task>([loop] { loop->run(); }), helpers);
        }
    } catch (const std::bad_alloc &) {  // nobody helps
        loop = nullptr;
    }
    if (!loop) {
        for (size_t i = 0; i < count; i++) body(i);
        return;
    }
    loop->run();
    const auto finished = [&] { return loop->done == count; };
    linger_until(finished);
    std::unique_lock lock(loop->mutex);
    loop->finished.wait(lock, finished);
    if (loop->error) std::rethrow_exception(loop->error);
}

}  // namespace cudaenc
