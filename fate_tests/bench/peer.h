// SPDX-License-Identifier: LGPL-2.1-or-later
// What the bench knows of another encoder, and how its rates are measured.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"

namespace cudaenc::bench {

// The first frame, coded as it was asked for.
struct PeerStream {
    std::string quality_type;  // how it was asked for
    double value;
    std::vector<uint8_t> bytes;
};

struct PeerResult {
    std::string name;                       // with its version
    std::vector<PeerStream> first_streams;  // lossy: one for each type of quality; rates are of the first
    Single single;
    std::vector<Multi> multis;  // depth: threads, each with a state, a stream and a buffer
};

// Codes `count` frames with all workers, each on its thread. Returns seconds.
template <class Worker>
double run_workers(const std::vector<std::unique_ptr<Worker>> &workers, const Frames &frames, int count) {
    std::atomic<int> next{0};
    std::vector<std::exception_ptr> errors(workers.size());
    const auto start = Clock::now();
    std::vector<std::thread> threads;
    for (size_t t = 0; t < workers.size(); t++)
        threads.emplace_back([&, t] {
            try {
                for (int i; (i = next++) < count;) workers[t]->encode(frames[static_cast<size_t>(i)]);
            } catch (...) {
                errors[t] = std::current_exception();
                next = count;
            }
        });
    for (std::thread &thread : threads) thread.join();
    const double seconds = seconds_since(start);
    for (const std::exception_ptr &error : errors)
        if (error) std::rethrow_exception(error);
    return seconds;
}

// One frame at a time.
template <class Worker>
Single measure_worker(Worker &worker, const Frames &frames, const Effort &effort) {
    for (size_t i = 0; i < 3; i++) worker.encode(frames[i]);
    std::vector<double> milliseconds;
    double sum = 0;
    int distinct = 0;
    for (int i = 0; i < effort.single_frames; i++) {
        const auto start = Clock::now();
        const size_t size = worker.encode(frames[static_cast<size_t>(i)]);
        milliseconds.push_back(seconds_since(start) * 1e3);
        if (i < frames.count()) sum += static_cast<double>(size), distinct++;
    }
    Single single;
    single.milliseconds = make_spread(milliseconds);
    single.bytes_per_frame = sum / distinct;
    return single;
}

// Many, by each number of threads, with a worker each.
template <class Worker>
std::vector<Multi> measure_workers(const std::function<std::unique_ptr<Worker>()> &make, const Frames &frames,
                                   const Effort &effort, const std::vector<int> &thread_counts) {
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Multi> multis;
    for (const int threads : thread_counts) {
        while (workers.size() > static_cast<size_t>(threads)) workers.pop_back();
        while (workers.size() < static_cast<size_t>(threads)) workers.push_back(make());
        run_workers(workers, frames, 2 * threads);  // what first frames wait for
        const double rate = 4 * threads / run_workers(workers, frames, 4 * threads);
        Multi multi;
        multi.depth = threads;
        multi.frames = std::max(4 * threads, static_cast<int>(std::ceil(rate * effort.run_seconds * 1.1)));
        std::vector<double> fps;
        for (int i = 0; i < effort.runs; i++) fps.push_back(multi.frames / run_workers(workers, frames, multi.frames));
        multi.fps = make_spread(fps);
        multis.push_back(multi);
    }
    return multis;
}

}  // namespace cudaenc::bench
