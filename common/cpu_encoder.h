// What the codecs' CPU pipelines share: frames in flight as tasks on a pool of threads, their errors, stage times.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "encoder.h"
#include "thread_pool.h"

namespace cudaenc {

class CpuEncoder : public Encoder {
  public:
    const std::string &device_name() const override { return name_; }
    void submit(int slot, const CudaencFrame &frame) override;
    PooledBuffer finish(int slot) override;
    std::span<const CudaencStageTime> stage_times() const override { return times_; }

  protected:
    // threads 0: one per core. stage_times: whether stages are timed for the caller. device: what the last stages run
    // on, and copy into packets from; nullptr: none.
    CpuEncoder(int slots, int threads, std::span<const char *const> stage_names, bool stage_times,
               std::shared_ptr<Device> device = nullptr);

    // Keeps what the frame brings, on the caller's thread: all but the pixels has to be copied.
    virtual void take(int slot, const CudaencFrame &frame) = 0;
    // Has encode() called for the frame, by start(): at once, unless the codec waits for other frames.
    virtual void begin(int slot) { start(slot); }
    void start(int slot);
    // Codes that frame, on a thread of the pool, whose loops it may use.
    virtual PooledBuffer encode(int slot) = 0;

    // encode() calls it where a stage begins.
    void begin_stage(int slot, int stage) { tasks_[slot].times[stage] = Clock::now(); }
    ThreadPool &pool() { return pool_; }
    PooledBuffer take_packet(size_t size) { return packets_->take(size); }

    // Waits for frames in flight. Derived classes call it in their destructors, since those frames use their members.
    void stop() { pool_.stop(); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Task {
        std::vector<Clock::time_point> times;  // when each stage began, and the last ended
        PooledBuffer packet;
        std::exception_ptr error;
        bool done = false;
    };
    const std::string name_;
    std::shared_ptr<PacketPool> packets_;
    std::vector<Task> tasks_;  // [slot]
    std::mutex mutex_;         // of Task::done
    std::condition_variable finished_;
    std::vector<CudaencStageTime> times_;  // empty: not asked for
    ThreadPool pool_;
};

}  // namespace cudaenc
