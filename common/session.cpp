// The C API: checks arguments, chooses the device, turns exceptions into codes.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "cudaenc.h"
#include "device.h"
#include "error.h"
#include "h264/h264.h"
#include "j2k/j2k.h"
#include "mjpeg/mjpeg.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"

using namespace cudaenc;

struct CudaencSession {
    CudaencLog log;
    void *log_opaque;
    CudaencFormat format;
    bool device_frames;
    Ring<Encoder> ring;

    void print(CudaencLogLevel level, const char *line) const {
        if (log) log(log_opaque, level, line);
    }
};

namespace {

// Returns the code of body(), or that of its exception, which is logged without heap memory.
template <class F>
int guarded(const CudaencSession &session, F body) noexcept {
    const auto fail = [&](int code, const char *line) {
        session.print(CUDAENC_LOG_ERROR, line);
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

bool is_or_has_number(const std::string &spec, const char *kind) {
    const size_t n = std::strlen(kind);
    if (spec.compare(0, n, kind)) return false;
    return spec.size() == n || (spec[n] == ':' && spec.size() > n + 1 && spec.size() <= n + 10 &&
                                std::all_of(spec.begin() + static_cast<std::ptrdiff_t>(n) + 1, spec.end(),
                                            [](char c) { return c >= '0' && c <= '9'; }));
}

// nullptr: the CPU.
std::shared_ptr<Device> choose_device(const CudaencSession &session, const CudaencConfig &config) {
    const std::string spec = config.device && *config.device ? config.device : "auto";
    const bool emulator = open_emulator && is_or_has_number(spec, "emu");
    if (spec != "auto" && spec != "cpu" && !is_or_has_number(spec, "cuda") && !emulator)
        refuse(format_string("device '%s' is not allowed: it is auto, cpu, cuda or cuda:N", spec.c_str()));
    if (emulator) return open_emulator(spec);
    if (spec == "cpu") {
        if (config.device_frames)
            refuse("device 'cpu' is not allowed with frames in CUDA memory: it is auto, cuda or cuda:N");
        return nullptr;
    }
    if (spec != "auto") return open_cuda_device(spec, config.cuda_context);
    try {
        return open_cuda_device("cuda", config.cuda_context);
    } catch (const Error &e) {
        if (config.device_frames || config.cuda_context || e.code != CUDAENC_ERR_DEVICE) throw;
        session.print(CUDAENC_LOG_WARNING, (std::string("no CUDA device, encoding on the CPU: ") + e.what()).c_str());
        return nullptr;
    }
}

// Streams wait for each other in the driver's work queues, 8 unless the environment says more: with 16 small frames in
// flight (1920x1080, 9/7, one H200) 2900 frames/s instead of 7100. A library cannot choose: with 32 queues a process
// starts half a second later, and 16 processes need more than the GPU has.
void hint_at_queues(const CudaencSession &session, const CudaencConfig &config, const Device &device) {
    if (config.async_depth > 4 && device.name().rfind("cuda", 0) == 0 && !std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        session.print(
            CUDAENC_LOG_INFO,
            "more than 4 frames in flight overlap better with CUDA_DEVICE_MAX_CONNECTIONS=32 in the environment");
}

template <class Params>
Ring<Encoder> make_ring(const CudaencSession &session, const CudaencConfig &c, const Params &params) {
    int slots = c.async_depth;
    if (!params.warning.empty()) session.print(CUDAENC_LOG_WARNING, params.warning.c_str());
    if constexpr (std::is_same_v<Params, j2k::Params>) slots = j2k::frames_in_flight(params, slots);
    const std::shared_ptr<Device> device = choose_device(session, c);
    if (!device) return {make_cpu_encoder(params, slots, c.threads, c.stage_times), slots};
    if constexpr (std::is_same_v<Params, h264::Params>) {
        return {make_device_encoder(params, slots, c.threads, device, c.device_frames, c.stage_times), slots};
    } else {
        hint_at_queues(session, c, *device);
        return {make_device_encoder(params, slots, device, c.device_frames, c.stage_times), slots};
    }
}

Ring<Encoder> make_ring(const CudaencSession &session, const CudaencConfig &config) {
    int codec;  // may be anything
    std::memcpy(&codec, &config.codec, sizeof codec);
    switch (codec) {
        case CUDAENC_CODEC_J2K:
            return make_ring(session, config, j2k::make_params(config.format, config.j2k));
        case CUDAENC_CODEC_MJPEG:
            return make_ring(session, config, mjpeg::make_params(config.format, config.mjpeg));
        case CUDAENC_CODEC_H264:
            return make_ring(session, config, h264::make_params(config.format, config.h264));
    }
    refuse(format_string("codec %d is not known", codec));
}

}  // namespace

unsigned cudaenc_version(void) { return CUDAENC_VERSION; }

const char *cudaenc_error_string(int code) {
    static constexpr std::pair<int, const char *> kStrings[] = {
        {CUDAENC_OK, "no error"},
        {CUDAENC_AGAIN, "call the other side first"},
        {CUDAENC_EOF, "every packet has left"},
        {CUDAENC_ERR_INVALID, "an option, a format or a call is not allowed"},
        {CUDAENC_ERR_MEMORY, "out of host or device memory"},
        {CUDAENC_ERR_DEVICE, "the device is missing or failed"},
        {CUDAENC_ERR_UNSUPPORTED, "not supported"},
        {CUDAENC_ERR_INTERNAL, "internal error"},
    };
    for (const auto &[known, text] : kStrings)
        if (code == known) return text;
    return "unknown error";
}

void cudaenc_j2k_defaults(CudaencJ2kOptions *options) { set_defaults(kJ2kOptions, *options); }
void cudaenc_mjpeg_defaults(CudaencMjpegOptions *options) { set_defaults(kMjpegOptions, *options); }
void cudaenc_h264_defaults(CudaencH264Options *options) { set_defaults(kH264Options, *options); }

void cudaenc_config_defaults(CudaencConfig *config, CudaencCodec codec) {
    set_defaults(kSharedOptions, *config);
    config->struct_size = sizeof *config;
    config->codec = codec;
    config->format.color_primaries = config->format.color_transfer = config->format.color_matrix = 2;
    cudaenc_j2k_defaults(&config->j2k);
    cudaenc_mjpeg_defaults(&config->mjpeg);
    cudaenc_h264_defaults(&config->h264);
}

int cudaenc_open(CudaencSession **out, const CudaencConfig *config) {
    *out = nullptr;
    if (!config || config->struct_size != sizeof *config) return CUDAENC_ERR_INVALID;  // made for another version
    std::unique_ptr<CudaencSession> session(new (std::nothrow) CudaencSession{});
    if (!session && config->log) config->log(config->log_opaque, CUDAENC_LOG_ERROR, "out of host memory");
    if (!session) return CUDAENC_ERR_MEMORY;
    session->log = config->log;
    session->log_opaque = config->log_opaque;
    const int code = guarded(*session, [&] {
        check_options(kSharedOptions, *config);
        session->format = config->format;
        session->device_frames = config->device_frames;
        session->ring = make_ring(*session, *config);
        return CUDAENC_OK;
    });
    if (code == CUDAENC_OK) *out = session.release();
    return code;
}

const char *cudaenc_device_name(const CudaencSession *session) {
    return session->ring.pipeline().device_name().c_str();
}

const uint8_t *cudaenc_extradata(const CudaencSession *session, size_t *size) {
    const std::span<const uint8_t> extradata = session->ring.pipeline().extradata();
    *size = extradata.size();
    return extradata.empty() ? nullptr : extradata.data();
}

int cudaenc_submit(CudaencSession *session, const CudaencFrame *frame) {
    if (session->ring.full()) return CUDAENC_AGAIN;
    return guarded(*session, [&] {
        for (int plane = 0; plane < session->format.planes; plane++) {
            if (!frame->data[plane]) refuse(format_string("plane %d of the frame is missing", plane));
            if (session->device_frames && frame->stride[plane] < 0)
                refuse("a negative stride is not allowed for frames in CUDA memory");
        }
        for (int c = 0; c < session->format.components; c++) {
            const CudaencComponent &k = session->format.component[c];
            const uintptr_t plane = reinterpret_cast<uintptr_t>(frame->data[k.plane]);
            if (k.depth + k.shift > 8 && (plane | static_cast<uintptr_t>(frame->stride[k.plane])) & 1)
                refuse(format_string("plane %d of the frame has samples of two bytes at odd addresses", k.plane));
        }
        CudaencFrame known = *frame;  // of what is not there the size is 0
        if (!known.icc_profile) known.icc_profile_size = 0;
        if (!known.exif) known.exif_size = 0;
        if (!known.captions) known.captions_size = 0;
        if (!known.user_data) known.user_data_count = 0;
        if (known.icc_profile_size > 0x7FFFFFFF) refuse("the ICC profile is larger than 2 GiB");
        session->ring.submit(known, known.opaque);
        return CUDAENC_OK;
    });
}

int cudaenc_receive(CudaencSession *session, CudaencPacket *packet) {
    *packet = {};
    return guarded(*session, [&] {
        PooledBuffer buffer;
        const int code = session->ring.receive(buffer, packet->opaque);
        if (code != CUDAENC_OK) return code;
        packet->data = buffer->data;
        packet->size = buffer->size;
        packet->buffer = buffer.release();
        return code;
    });
}

void cudaenc_flush(CudaencSession *session) { session->ring.flush(); }

void cudaenc_close(CudaencSession *session) { delete session; }

void cudaenc_buffer_free(CudaencBuffer *buffer) {
    if (buffer) BufferReturn()(buffer);
}

int cudaenc_stage_times(const CudaencSession *session, CudaencStageTime *times, int capacity) {
    const std::span<const CudaencStageTime> all = session->ring.pipeline().stage_times();
    std::copy_n(all.begin(), std::min<size_t>(all.size(), static_cast<size_t>(std::max(capacity, 0))), times);
    return static_cast<int>(all.size());
}
