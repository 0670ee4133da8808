// SPDX-License-Identifier: LGPL-2.1-or-later
// Interlaced frames: a session codes each as two pictures, of every other line, and gives both in one packet.
#pragma once
#include <deque>
#include <exception>
#include <memory>
#include <utility>

#include "packet_pool.h"
#include "pipeline.h"

namespace cudaenc {

// Whether a session codes fields as pictures of their own. AVC-Intra has frames of field macroblock pairs instead.
bool has_separate_fields(const CudaencConfig &config);

// What a session with separate fields codes its pictures by: half the height, twice the rate, half the size.
// Throws Error(CUDAENC_ERR_INVALID) for heights and options that fields do not have.
CudaencConfig config_of_fields(const CudaencConfig &config);

// The first or the second field of a frame. Metadata of the frame go with the first one.
SourcePicture field_of(const CudaencFrame &frame, int fields, bool second);

// The frames of a session in flight: a slot of the ring each, or two where they are interlaced. Its functions are those
// of Ring.
class FrameRing {
  public:
    // Writes the size of a coded field into its own headers; nullptr: they have none.
    using SetFieldSize = void (*)(uint8_t *field, size_t size);

    FrameRing() = default;
    // fields: CudaencFields of separate fields; but for CUDAENC_PROGRESSIVE the slots are of fields, two or more.
    FrameRing(std::unique_ptr<Encoder> pipeline, int slots, int fields, SetFieldSize set_field_size)
        : ring_(std::move(pipeline), slots), fields_(fields), set_field_size_(set_field_size) {}
    const Encoder &pipeline() const { return ring_.pipeline(); }
    int slots() const { return fields_ ? ring_.slots() / 2 : ring_.slots(); }
    bool full() const { return fields_ ? static_cast<int>(frames_.size()) == slots() : ring_.full(); }
    void submit(const CudaencFrame &frame, void *opaque);
    int receive(PooledBuffer &output, void *&opaque, Receive when);
    void flush();
    void change_rate(const RateChange &change) { ring_.change_rate(change); }

  private:
    // A frame whose first field was submitted.
    struct Frame {
        std::exception_ptr error;     // of a field; the frame is lost, once its turn comes
        bool has_second = true;       // it is in the ring
        bool first_received = false;  // it left the ring
        PooledBuffer first;           // and this is its packet, if it has no error
    };
    int receive_field(PooledBuffer &output, void *&opaque, Receive when);
    PooledBuffer join(const CudaencBuffer &first, PooledBuffer second) const;

    Ring<Encoder> ring_;
    int fields_ = CUDAENC_PROGRESSIVE;
    SetFieldSize set_field_size_ = nullptr;
    std::deque<Frame> frames_;  // the oldest first
    std::exception_ptr lost_;   // of a frame whose fields were coded: packets that need others are lost as well
    bool flushed_ = false;
    std::shared_ptr<PacketPool> packets_ = std::make_shared<PacketPool>(nullptr);
};

}  // namespace cudaenc
