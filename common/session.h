// SPDX-License-Identifier: LGPL-2.1-or-later
// What sessions of both directions share: the boundary of the C API, which makes codes of errors, and the choice of a
// device.
#pragma once
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "abi.h"
#include "cudaenc.h"
#include "device.h"
#include "error.h"

namespace cudaenc {

struct SessionLog {
    CudaencLog log = nullptr;
    void *opaque = nullptr;

    void print(CudaencLogLevel level, const char *line) const {
        if (log) log(opaque, level, line);
    }
};

// Of a session or decoder, which may be nullptr.
template <class Handle>
SessionLog log_of(const Handle *handle) {
    return handle ? handle->log : SessionLog{};
}

// A pointer of the caller that must not be NULL.
struct Needed {
    const char *name;
    const void *pointer;
};

// What cudaenc_last_error() tells, on this thread.
void keep_last_error(const char *line) noexcept;

// The boundary of the C API: a public function that can fail is a body within it. Refuses NULL where a pointer is
// needed. Returns the code of body(), CUDAENC_OK where it has none, or the code of its exception, whose line goes to
// the log and to cudaenc_last_error() without heap memory.
template <class F>
int guarded(const SessionLog &log, std::initializer_list<Needed> needed, F body) noexcept {
    const auto fail = [&](int code, const char *line) {
        keep_last_error(line);
        log.print(CUDAENC_LOG_ERROR, line);
        return code;
    };
    try {
        for (const auto &[name, pointer] : needed)
            if (!pointer) refuse(format_string("%s NULL is not allowed", name));
        if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
            body();
            return CUDAENC_OK;
        } else {
            return body();
        }
    } catch (const Error &e) {
        return fail(e.code, e.what());
    } catch (const std::bad_alloc &) {
        return fail(CUDAENC_ERR_MEMORY, "out of host memory");
    } catch (const std::length_error &) {
        return fail(CUDAENC_ERR_MEMORY, "out of host memory");
    } catch (const std::exception &e) {
        char line[512];
        std::snprintf(line, sizeof line, "internal error: %s", e.what());
        return fail(CUDAENC_ERR_INTERNAL, line);
    }
}

// cudaenc_config_init() and its like.
template <class T>
int init_struct(const char *name, T *callers, size_t size, size_t least, const T &defaults) {
    return guarded({}, {{name, callers}}, [&] { give_defaults(name, callers, size, least, defaults); });
}

// cudaenc_open() and its like: a Session with the log of the configuration, which begin(session) makes ready. *out is
// nullptr where that fails. name: of the parameter `out`.
template <class Session, class Config, class F>
int open_session(const char *name, Session **out, const Config *config, F begin) {
    if (out) *out = nullptr;
    SessionLog log;
    if (config && config->struct_size >= CUDAENC_END_OF(Config, log_opaque))
        log = {.log = config->log, .opaque = config->log_opaque};
    return guarded(log, {{name, out}, {"config", config}}, [&] {
        auto session = std::make_unique<Session>();
        session->log = log;
        begin(*session);
        *out = session.release();
    });
}

// cudaenc_stage_times() and its like.
template <class Session>
int stage_times(const char *name, const Session *session, CudaencStageTime *times, int capacity) {
    return guarded(log_of(session), {{name, session}}, [&] {
        capacity = std::max(capacity, 0);
        if (capacity && !times) refuse(format_string("times NULL is not allowed with capacity %d", capacity));
        const std::span<const CudaencStageTime> all = session->ring.pipeline().stage_times();
        std::copy_n(all.begin(), std::min<size_t>(all.size(), static_cast<size_t>(capacity)), times);
        return static_cast<int>(all.size());
    });
}

// What a function of a session gives: of(*session), or `none` where there is no session.
template <class Session, class T, class F>
T ask(const char *name, const Session *session, T none, F of) {
    guarded(log_of(session), {{name, session}}, [&] { none = of(*session); });
    return none;
}

// Throws Error(CUDAENC_ERR_MEMORY) where `slots` frames of so many samples need more than is free, at the least bytes
// that a pipeline has for a sample. So a session that cannot be fails before it takes memory, which takes long and
// ends other programs. device: whose memory it is; nullptr: the host's.
void check_memory(const CudaencFormat &format, double sample_bytes, int slots, Device *device);

// The device of the options `device` and `cuda_context`; nullptr: the CPU. in_device: what has to be in its memory,
// such as "frames"; nullptr: nothing. task: what the CPU would do ("encoding"), for a warning.
std::shared_ptr<Device> choose_device(const SessionLog &log, const char *device, const char *in_device,
                                      void *cuda_context, const char *task);

}  // namespace cudaenc
