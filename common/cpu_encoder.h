// SPDX-License-Identifier: LGPL-2.1-or-later
// The base of encoders on the CPU: a CPU pipeline with memory for packets.
#pragma once
#include "cpu_pipeline.h"
#include "packet_pool.h"

namespace cudaenc {

class CpuEncoder : public CpuPipeline<Encoder> {
  protected:
    // device: runs the last stages and copies into packets; nullptr: none.
    CpuEncoder(int slots, int threads, std::span<const char *const> stage_names, bool stage_times,
               const std::shared_ptr<Device> &device = nullptr)
        : CpuPipeline(slots, threads, stage_names, stage_times, device ? device->name() : ""),
          packets_(std::make_shared<PacketPool>(device)) {}
    PooledBuffer take_packet(size_t size) { return packets_->take(size); }

  private:
    const std::shared_ptr<PacketPool> packets_;
};

}  // namespace cudaenc
