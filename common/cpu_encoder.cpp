// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cpu_encoder.h"

#include <algorithm>
#include <thread>

#include "error.h"

namespace cudaenc {

namespace {

int thread_count(int threads) {
    return threads ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

CpuEncoder::CpuEncoder(int slots, int threads, std::span<const char *const> stage_names, bool stage_times,
                       std::shared_ptr<Device> device)
    : name_((device ? device->name() + " and " : "") +
            format_string("cpu, %d thread%s", thread_count(threads), thread_count(threads) == 1 ? "" : "s")),
      packets_(std::make_shared<PacketPool>(std::move(device))),
      tasks_(slots),
      pool_(thread_count(threads)) {
    for (Task &task : tasks_) task.times.resize(stage_names.size() + 1);
    if (!stage_times) return;
    // Known from the start, though zero: callers may ask for their number.
    for (const char *name : stage_names) times_.push_back({name, 0, 0});
}

void CpuEncoder::submit(int slot, const CudaencFrame &frame) {
    take(slot, frame);
    Task &task = tasks_[slot];
    task.error = nullptr;
    task.done = false;
    begin(slot);
}

void CpuEncoder::start(int slot) {
    pool_.post([this, slot] {
        Task &task = tasks_[slot];
        try {
            task.packet = encode(slot);
            begin_stage(slot, static_cast<int>(task.times.size()) - 1);
        } catch (...) {
            task.error = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        task.done = true;
        finished_.notify_all();
    });
}

PooledBuffer CpuEncoder::finish(int slot) {
    Task &task = tasks_[slot];
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return task.done; });
    if (task.error) std::rethrow_exception(task.error);
    for (size_t i = 0; i < times_.size(); i++) {
        times_[i].milliseconds += std::chrono::duration<double, std::milli>(task.times[i + 1] - task.times[i]).count();
        times_[i].frames++;
    }
    return std::move(task.packet);
}

}  // namespace cudaenc
