// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of a codec's pipeline, in either direction: slots for work in flight, and the ring that hands them out.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cudaenc.h"
#include "error.h"
#include "packet_pool.h"

namespace cudaenc {

// An encoder takes frames and gives packets; a decoder takes packets and gives planes. A slot is empty, or holds one
// input from submit() to finish(). Slots are used in rotation and finished in the order of their submits. Errors are
// thrown as Error; then the slot is empty, and the pipeline can go on.
template <class In, class Out>
class Pipeline {
  public:
    using Input = In;
    using Output = Out;
    virtual ~Pipeline() = default;                          // waits for what is in flight and drops it
    virtual void submit(int slot, const Input &input) = 0;  // returns before the work is done
    virtual Output finish(int slot) = 0;                    // waits
    virtual bool done(int slot) noexcept = 0;               // whether finish() would not wait
    // An input waits for so many that follow it, unless flush() comes: no input follows for now.
    virtual int lookahead() const noexcept { return 0; }
    virtual void flush() noexcept {}
    const std::string &device_name() const { return device_name_; }
    std::span<const CudaencStageTime> stage_times() const { return times_; }

  protected:
    // The device, and the stages that are timed for the caller; none: an empty span. Their times are 0 at first.
    void describe(std::string device_name, std::span<const char *const> stages) {
        device_name_ = std::move(device_name);
        for (const char *name : stages) times_.push_back({.name = name, .milliseconds = 0, .frames = 0});
    }
    size_t timed_stages() const { return times_.size(); }
    void add_time(size_t stage, double milliseconds) {
        times_[stage].milliseconds += milliseconds;
        times_[stage].frames++;
    }

  private:
    std::string device_name_;
    std::vector<CudaencStageTime> times_;
};

// What another input is to have: a QP, or bits/s on average and into the decoder's buffer.
struct RateChange {
    std::optional<int> qp;
    int64_t bit_rate = 0, max_rate = 0;
};

// What a picture is of the frame that it came from.
enum class PictureKind { frame, top_field, bottom_field };

// A frame, or a field of one: every other line.
struct SourcePicture : CudaencFrame {
    SourcePicture() = default;
    SourcePicture(const CudaencFrame &frame, PictureKind its_kind = PictureKind::frame, bool is_second = false)
        : CudaencFrame(frame), kind(its_kind), second_field(is_second) {}
    bool is_first_field() const { return kind != PictureKind::frame && !second_field; }
    PictureKind kind = PictureKind::frame;
    bool second_field = false;
};

class Encoder : public Pipeline<SourcePicture, PooledBuffer> {
  public:
    virtual std::span<const uint8_t> extradata() const { return {}; }  // for decoders, before the first packet
    // Of inputs that are submitted from here on. Throws Error.
    virtual void change_rate(const RateChange &) {
        throw Error(CUDAENC_ERR_UNSUPPORTED, "the rate of this codec cannot change within a session");
    }
};

// What the headers of a packet say. A codec derives its own, by which its pipelines read on.
struct PictureHeader {
    virtual ~PictureHeader() = default;
    CudaencPictureInfo info{};
    std::vector<uint8_t> icc_profile;  // that info names
    size_t size = 0;                   // bytes at the front of the packet that were read
    const char *loss = nullptr;        // what the format of `info` does not keep, to be said once; nullptr: nothing
};

// A packet, and its header, which is the pipeline's from here on.
struct CodedPicture : CudaencCodedPicture {
    std::shared_ptr<PictureHeader> header;
};

struct Decoded {
    std::string damage;              // what is wrong with a picture that was decoded in part; mostly empty
    const char *fallback = nullptr;  // why a device left entropy decoding to the host; nullptr: it did not
};
using Decoder = Pipeline<CodedPicture, Decoded>;

// When the oldest output is taken: once it is due, as the ring is full or flushed; once it is done; at once.
enum class Receive { when_due, when_done, now };

// The slots of a pipeline P in rotation, each with a pointer of the caller.
template <class P>
class Ring {
  public:
    Ring() = default;
    Ring(std::unique_ptr<P> pipeline, int slots) : pipeline_(std::move(pipeline)), opaque_(slots) {}
    const P &pipeline() const { return *pipeline_; }
    int slots() const { return static_cast<int>(opaque_.size()); }
    bool full() const { return in_flight_ == opaque_.size(); }
    bool empty() const { return in_flight_ == 0; }

    // The ring must not be full. Throws as P::submit() does; then this input is not in flight.
    void submit(const typename P::Input &input, void *opaque) {
        const size_t slot = (oldest_ + in_flight_) % opaque_.size();
        pipeline_->submit(static_cast<int>(slot), input);
        opaque_[slot] = opaque;
        in_flight_++;
        flushed_ = false;
    }

    // CUDAENC_OK with the oldest output, else CUDAENC_AGAIN or CUDAENC_EOF. Throws as P::finish() does; then `opaque`
    // says whose output is lost.
    int receive(typename P::Output &output, void *&opaque, Receive when) {
        if (in_flight_ == 0) return flushed_ ? CUDAENC_EOF : CUDAENC_AGAIN;
        const size_t slot = oldest_;
        if (when == Receive::when_due && !flushed_ && !full()) return CUDAENC_AGAIN;
        if (when == Receive::when_done && !pipeline_->done(static_cast<int>(slot))) return CUDAENC_AGAIN;
        if (!ended_ && in_flight_ <= static_cast<size_t>(pipeline_->lookahead())) end_lookahead();
        if (ended_) ended_--;
        opaque = opaque_[slot];
        oldest_ = (slot + 1) % opaque_.size();
        in_flight_--;
        output = pipeline_->finish(static_cast<int>(slot));
        return CUDAENC_OK;
    }

    void flush() {  // no input follows
        flushed_ = true;
        if (pipeline_) end_lookahead();
    }

    void change_rate(const RateChange &change) { pipeline_->change_rate(change); }

  private:
    void end_lookahead() {
        pipeline_->flush();
        ended_ = in_flight_;
    }
    std::unique_ptr<P> pipeline_;
    std::vector<void *> opaque_;  // [slot]
    size_t oldest_ = 0, in_flight_ = 0;
    size_t ended_ = 0;  // of those in flight, the oldest ones, which wait for no later input
    bool flushed_ = false;
};

}  // namespace cudaenc
