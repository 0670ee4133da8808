// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "../../common/error.h"

namespace cudaenc::bench {

Spread make_spread(std::vector<double> values) {
    Spread s;
    s.all = values;
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    s.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    s.least = values.front();
    s.most = values.back();
    return s;
}

Session::Session(const CudaencConfig &config) {
    CudaencConfig own = config;
    own.log = log;
    own.log_opaque = this;
    const int code = cudaenc_open(&session_, &own);
    if (code != CUDAENC_OK) fail(code);
}

void Session::log(void *opaque, CudaencLogLevel level, const char *line) {
    if (level == CUDAENC_LOG_ERROR)
        static_cast<Session *>(opaque)->message_ = line;
    else if (level == CUDAENC_LOG_WARNING)
        std::fprintf(stderr, "warning: %s\n", line);
}

void Session::fail(int code) { throw Error(code, message_.empty() ? cudaenc_error_string(code) : message_); }

bool Session::submit(const CudaencFrame &frame) {
    const int code = cudaenc_submit(session_, &frame);
    if (code != CUDAENC_OK && code != CUDAENC_AGAIN) fail(code);
    return code == CUDAENC_OK;
}

CudaencPacket Session::receive() {
    CudaencPacket packet;
    const int code = cudaenc_wait(session_, &packet);
    if (code != CUDAENC_OK) fail(code);
    return packet;
}

size_t Session::receive_size() {
    const CudaencPacket packet = receive();
    cudaenc_buffer_free(packet.buffer);
    bytes_ += static_cast<double>(packet.size);
    packets_++;
    return packet.size;
}

std::vector<CudaencStageTime> Session::stage_times() const {
    std::vector<CudaencStageTime> times(static_cast<size_t>(cudaenc_stage_times(session_, nullptr, 0)));
    cudaenc_stage_times(session_, times.data(), static_cast<int>(times.size()));
    return times;
}

double Session::run(const Frames &frames, int count, int first) {
    const auto start = Clock::now();
    for (int submitted = 0, received = 0; received < count;) {
        if (submitted < count && submit(frames[static_cast<size_t>(first + submitted)])) {
            if (++submitted == count) flush();
        } else {
            receive_size();
            received++;
        }
    }
    return seconds_since(start);
}

Single measure_single(CudaencConfig config, const Frames &frames, const Effort &effort) {
    config.async_depth = 1;
    Session session(config);
    for (size_t i = 0; i < 3; i++) {
        session.submit(frames[i]);
        session.receive_size();
    }
    std::vector<double> milliseconds;
    std::vector<size_t> bytes;
    const auto begin = Clock::now();
    for (int i = 0; i < effort.single_frames && (i < 5 || seconds_since(begin) < effort.single_seconds); i++) {
        const auto start = Clock::now();
        session.submit(frames[static_cast<size_t>(i)]);
        const size_t size = session.receive_size();
        milliseconds.push_back(seconds_since(start) * 1e3);
        if (i < frames.count()) bytes.push_back(size);
    }
    Single single;
    single.milliseconds = make_spread(milliseconds);
    for (const size_t size : bytes)
        single.bytes_per_frame += static_cast<double>(size) / static_cast<double>(bytes.size());
    return single;
}

namespace {

// Codes `count` frames with each session, on a thread of its own where there are several. Returns seconds.
double run_all(const std::vector<std::unique_ptr<Session>> &sessions, const Frames &frames, int count) {
    if (sessions.size() == 1) return sessions[0]->run(frames, count);
    std::vector<std::exception_ptr> errors(sessions.size());
    std::vector<std::thread> threads;
    const auto start = Clock::now();
    for (size_t i = 0; i < sessions.size(); i++)
        threads.emplace_back([&, i] {
            try {
                sessions[i]->run(frames, count, static_cast<int>(i) * count);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        });
    for (std::thread &thread : threads) thread.join();
    const double seconds = seconds_since(start);
    for (const std::exception_ptr &error : errors)
        if (error) std::rethrow_exception(error);
    return seconds;
}

}  // namespace

Multi measure_multi(CudaencConfig config, const Frames &frames, int sessions, int depth, const Effort &effort) {
    config.async_depth = depth;
    std::vector<std::unique_ptr<Session>> all;
    for (int i = 0; i < sessions; i++) all.push_back(std::make_unique<Session>(config));
    run_all(all, frames, depth);  // what the first frames of a session wait for, such as loading kernels
    const double rate = 2 * depth / run_all(all, frames, 2 * depth);  // of each session
    const int count = std::max(2 * depth, static_cast<int>(std::ceil(rate * effort.run_seconds * 1.1)));
    Multi multi;
    multi.depth = depth;
    multi.sessions = sessions;
    multi.frames = sessions * count;
    std::vector<double> fps;
    for (int i = 0; i < effort.runs; i++) fps.push_back(multi.frames / run_all(all, frames, count));
    multi.fps = make_spread(fps);
    multi.bytes_per_frame = all.front()->bytes_per_frame();
    return multi;
}

Spread measure_copies(Device &device, const Frames &frames, const Effort &effort) {
    constexpr size_t kBuffers = 4;
    void *buffers[kBuffers];
    for (void *&buffer : buffers) buffer = device.alloc(frames.bytes());
    const Device::Stream stream = device.create_stream();
    const auto copy = [&](size_t count) {
        const auto start = Clock::now();
        for (size_t i = 0; i < count; i++)
            device.upload(stream, buffers[i % kBuffers], frames[i].data[0], frames.bytes());
        device.synchronize(stream);
        return static_cast<double>(count) / seconds_since(start);
    };
    copy(kBuffers);
    const size_t count = static_cast<size_t>(copy(2 * kBuffers) * effort.run_seconds) + 2 * kBuffers;
    std::vector<double> fps;
    for (int i = 0; i < effort.runs; i++) fps.push_back(copy(count));
    device.destroy_stream(stream);
    for (void *buffer : buffers) device.free(buffer);
    return make_spread(fps);
}

std::vector<Stage> measure_stages(CudaencConfig config, const Frames &frames) {
    config.async_depth = 1;
    config.stage_times = 1;
    Session session(config);
    const auto code = [&](int count) {
        for (int i = 0; i < count; i++) {
            session.submit(frames[static_cast<size_t>(i)]);
            session.receive_size();
        }
        return session.stage_times();
    };
    const std::vector<CudaencStageTime> before = code(1);
    if (before.empty()) return {};
    code(2);
    const std::vector<CudaencStageTime> warm = session.stage_times(), after = code(frames.count());
    std::vector<Stage> stages;
    double sum = 0;
    for (size_t i = 0; i < after.size(); i++) {
        const double milliseconds =
            (after[i].milliseconds - warm[i].milliseconds) / std::max(after[i].frames - warm[i].frames, 1);
        stages.push_back({after[i].name, milliseconds, 0});
        sum += milliseconds;
    }
    for (Stage &stage : stages) stage.percent = sum > 0 ? 100 * stage.milliseconds / sum : 0;
    return stages;
}

int find_quality(CudaencConfig config, const Frames &frames, size_t target_bytes) {
    config.async_depth = 1;
    int fits = 1, above = 101;
    while (above - fits > 1) {
        const int middle = (fits + above) / 2;
        quality_of(config) = middle;
        Session session(config);
        session.submit(frames[0]);
        (session.receive_size() <= target_bytes ? fits : above) = middle;
    }
    return fits;
}

}  // namespace cudaenc::bench
