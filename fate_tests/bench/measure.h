// SPDX-License-Identifier: LGPL-2.1-or-later
// Boundary A: from pixels in the device's memory to the finished bytes in host memory, through the public API.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "../../common/cudaenc.h"
#include "cases.h"

namespace cudaenc::bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of one number measured several times.
struct Spread {
    double median = 0, least = 0, most = 0;
    std::vector<double> all;
};
Spread make_spread(std::vector<double> values);

class Session {
  public:
    explicit Session(const CudaencConfig &config);  // throws Error with the session's message
    ~Session() { cudaenc_close(session_); }
    Session(const Session &) = delete;
    std::string device_name() const { return cudaenc_device_name(session_); }

    bool submit(const CudaencFrame &frame);  // false: the ring is full
    CudaencPacket receive();                 // waits; the caller frees its buffer
    size_t receive_size();                   // ... and here it is freed
    void flush() { cudaenc_flush(session_); }
    // Codes `count` frames, from frames[first] on, with the ring always full but at its beginning and end. Returns
    // seconds.
    double run(const Frames &frames, int count, int first = 0);
    double bytes_per_frame() const { return bytes_ / packets_; }  // of receive_size()
    std::vector<CudaencStageTime> stage_times() const;

  private:
    static void log(void *opaque, CudaencLogLevel level, const char *line);
    [[noreturn]] void fail(int code);
    CudaencSession *session_ = nullptr;
    std::string message_;
    double bytes_ = 0, packets_ = 0;
};

// How long to measure.
struct Effort {
    int single_frames = 32;
    double single_seconds = 15;  // no more frames than this after the first five
    int runs = 5;
    double run_seconds = 0.5;
    std::vector<int> depths;
    std::vector<int> sessions;  // beyond one, each with kSessionDepth frames in flight
};
constexpr int kSessionDepth = 8;

struct Single {
    Spread milliseconds;         // submit to packet, one frame in flight
    double bytes_per_frame = 0;  // mean over the distinct frames that were coded
};
Single measure_single(CudaencConfig config, const Frames &frames, const Effort &effort);

struct Multi {
    int depth = 0, frames = 0;  // in flight in each session; of a run
    int sessions = 1;           // each on a thread
    Spread fps;
    double bytes_per_frame = 0;  // of the first session

    // "16", "4x8": four sessions with 8 each
    std::string in_flight() const {
        return (sessions > 1 ? std::to_string(sessions) + "x" : "") + std::to_string(depth);
    }
};
Multi measure_multi(CudaencConfig config, const Frames &frames, int sessions, int depth, const Effort &effort);

struct Stage {
    std::string name;
    double milliseconds, percent;  // of one frame
};
std::vector<Stage> measure_stages(CudaencConfig config, const Frames &frames);

// Copies of frames in host memory to the device, one after the other, frames/s.
Spread measure_copies(Device &device, const Frames &frames, const Effort &effort);

// The highest quality 1..100 at which the first frame takes no more than the target, or 1.
int find_quality(CudaencConfig config, const Frames &frames, size_t target_bytes);

}  // namespace cudaenc::bench
