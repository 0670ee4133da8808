// What sessions of both directions share: the log, errors as codes, the choice of a device.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

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

// Returns the code of body(), or that of its exception, which is logged without heap memory.
template <class F>
int guarded(const SessionLog &log, F body) noexcept {
    const auto fail = [&](int code, const char *line) {
        log.print(CUDAENC_LOG_ERROR, line);
        return code;
    };
    try {
        return body();
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

// cudaenc_open() and its like: a Session with the log of the configuration, which begin(session) makes ready. *out is
// nullptr where that fails.
template <class Session, class Config, class F>
int open_session(Session **out, const Config *config, F begin) {
    *out = nullptr;
    if (!config || config->struct_size < CUDAENC_END_OF(Config, log_opaque)) return CUDAENC_ERR_INVALID;
    std::unique_ptr<Session> session(new (std::nothrow) Session{});
    if (!session && config->log) config->log(config->log_opaque, CUDAENC_LOG_ERROR, "out of host memory");
    if (!session) return CUDAENC_ERR_MEMORY;
    session->log = {.log = config->log, .opaque = config->log_opaque};
    const int code = guarded(session->log, [&] {
        begin(*session);
        return CUDAENC_OK;
    });
    if (code == CUDAENC_OK) *out = session.release();
    return code;
}

// As many as there is room for. Returns how many there are.
inline int copy_times(std::span<const CudaencStageTime> all, CudaencStageTime *times, int capacity) {
    std::copy_n(all.begin(), std::min<size_t>(all.size(), static_cast<size_t>(std::max(capacity, 0))), times);
    return static_cast<int>(all.size());
}

// The device of the options `device` and `cuda_context`; nullptr: the CPU. in_device: what has to be in its memory,
// such as "frames"; nullptr: nothing. task: what the CPU would do ("encoding"), for a warning.
std::shared_ptr<Device> choose_device(const SessionLog &log, const char *device, const char *in_device,
                                      void *cuda_context, const char *task);

}  // namespace cudaenc
