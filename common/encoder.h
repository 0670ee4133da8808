// What a codec's pipeline offers to the session: slots for frames in flight. One implementation a codec and way to run:
// <codec>_cpu.cpp here and <codec>_cuda.cpp in cuda_kernels (which the emulator runs too).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>
#include <span>
#include <string>

#include "cudaenc.h"
#include "packet_pool.h"

namespace cudaenc {

// A slot is empty, or holds one frame from submit() to finish(). Slots are used in rotation, and finished in the order
// of their submits. Errors are thrown as Error; after one the slot is empty and the encoder can go on.
class Encoder {
  public:
    virtual ~Encoder() = default;  // waits for frames in flight and drops them
    virtual const std::string &device_name() const = 0;
    virtual void submit(int slot, const CudaencFrame &frame) = 0;  // returns before the frame is coded
    virtual PooledBuffer finish(int slot) = 0;                     // waits; the finished packet
    virtual std::span<const CudaencStageTime> stage_times() const { return {}; }
    virtual std::span<const uint8_t> extradata() const { return {}; }  // what decoders need before the first packet
};

}  // namespace cudaenc
