// SPDX-License-Identifier: LGPL-2.1-or-later
// All intra H.264 on CPU threads.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "../lines.h"
#include "h264_pipeline.h"
#include "syntax/slice_cpu.h"

namespace cudaenc::h264 {

// device: of a pipeline that copies its frames from there; it stops the pipeline's threads before it ends.
class H264CpuEncoder : public H264Pipeline {
  public:
    H264CpuEncoder(const Params &params, int slots, int threads, bool stage_times,
                   const std::shared_ptr<Device> &device = nullptr);
    ~H264CpuEncoder() override { stop(); }

    PooledBuffer finish(int slot) override;

  private:
    std::optional<PooledBuffer> complete(int slot) override;
    PooledBuffer code(int slot);

    struct Slot {
        std::vector<Macroblock> macroblocks;
        LineVector<int16_t> levels;
        std::vector<uint16_t> sign_flips;
        std::unique_ptr<SliceCoder> coder;
    };
    std::vector<Slot> slots_;
};

}  // namespace cudaenc::h264
