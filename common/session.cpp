// The C API of encoders: checks arguments, chooses the pipeline.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "error.h"
#include "h264/h264.h"
#include "j2k/j2k.h"
#include "mjpeg/mjpeg.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"
#include "planes.h"
#include "session.h"

using namespace cudaenc;

struct CudaencSession {
    SessionLog log;
    CudaencFormat format;
    bool device_frames;
    bool told_above = false, told_below = false;  // of a target that is missed
    bool told_refusable = false;                  // of metadata
    std::string summary;
    Ring<Encoder> ring;
};

namespace {

// Streams wait for each other in the driver's work queues, 8 unless the environment says more: with 16 small frames in
// flight (1920x1080, 9/7, one H200) 2900 frames/s instead of 7100. A library cannot choose: with 32 queues a process
// starts half a second later, and 16 processes need more than the GPU has.
void hint_at_queues(const CudaencSession &session, const CudaencConfig &config, const Device &device) {
    if (config.async_depth > 4 && device.name().rfind("cuda", 0) == 0 && !std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        session.log.print(
            CUDAENC_LOG_INFO,
            "more than 4 frames in flight overlap better with CUDA_DEVICE_MAX_CONNECTIONS=32 in the environment");
}

// The pipeline and its slots; and what the session says of itself.
template <class Params>
Ring<Encoder> make_ring(CudaencSession &session, const CudaencConfig &c, const Params &params) {
    constexpr bool kIsH264 = std::is_same_v<Params, h264::Params>;
    session.summary = summary(params);
    std::string line;
    for (std::istringstream lines(params.warning); std::getline(lines, line);)
        session.log.print(CUDAENC_LOG_WARNING, line.c_str());
    if constexpr (!std::is_same_v<Params, mjpeg::Params>)
        if (c.device_packets) refuse("device_packets 1 is not allowed: it is 0 with codecs other than JPEG");
    const char *const in_device = c.device_frames ? "frames" : c.device_packets ? "packets" : nullptr;
    const std::shared_ptr<Device> device = choose_device(session.log, c.device, in_device, c.cuda_context, "encoding");
    int slots = c.async_depth ? c.async_depth : !device && kIsH264 ? depth_of_threads(c.threads) : kUsualDepth;
    if constexpr (std::is_same_v<Params, j2k::Params>) slots = j2k::frames_in_flight(params, slots);
    if (!device) return {make_cpu_encoder(params, slots, c.threads, c.stage_times), slots};
    if (!kIsH264) hint_at_queues(session, c, *device);
    if constexpr (std::is_same_v<Params, mjpeg::Params>)
        return {make_device_encoder(params, slots, c.threads, device, c.device_frames, c.stage_times, c.device_packets),
                slots};
    else
        return {make_device_encoder(params, slots, c.threads, device, c.device_frames, c.stage_times), slots};
}

Ring<Encoder> make_ring(CudaencSession &session, const CudaencConfig &config) {
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

static_assert(sizeof(CudaencJ2kOptions) <= CUDAENC_OPTIONS_ROOM &&
              sizeof(CudaencMjpegOptions) <= CUDAENC_OPTIONS_ROOM &&
              sizeof(CudaencH264Options) <= CUDAENC_OPTIONS_ROOM);

// The caller's, with defaults where it has no members. Throws Error(CUDAENC_ERR_INVALID).
CudaencConfig read_config(const CudaencConfig &callers) {
    CudaencConfig defaults;
    cudaenc_config_defaults(&defaults, CUDAENC_CODEC_J2K);
    const CudaencConfig config = read_struct("the configuration", callers, defaults);
    check_unknown("j2k", config.j2k_room, sizeof config.j2k, sizeof config.j2k_room);
    check_unknown("mjpeg", config.mjpeg_room, sizeof config.mjpeg, sizeof config.mjpeg_room);
    check_unknown("h264", config.h264_room, sizeof config.h264, sizeof config.h264_room);
    return config;
}

void check_planes(const CudaencSession &session, const CudaencFrame &frame) {
    const CudaencFormat &format = session.format;
    for (int plane = 0; plane < format.planes; plane++) {
        if (!frame.data[plane]) refuse(format_string("plane %d of the frame is missing", plane));
        if (session.device_frames && frame.stride[plane] < 0)
            refuse("a negative stride is not allowed for frames in CUDA memory");
        check_stride(format, plane, frame.stride[plane]);
    }
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &k = format.component[c];
        const uintptr_t plane = reinterpret_cast<uintptr_t>(frame.data[k.plane]);
        if (k.depth + k.shift > 8 && (plane | static_cast<uintptr_t>(frame.stride[k.plane])) & 1)
            refuse(format_string("plane %d of the frame has samples of two bytes at odd addresses", k.plane));
    }
}

// Says once that packets are larger than a target asks for, once that they are smaller, and once that readers may
// refuse their files.
void tell_of_packet(CudaencSession &session, const CudaencBuffer &buffer) {
    const auto tell = [&](const std::string &line, bool &told, CudaencLogLevel level) {
        if (!line.empty() && !std::exchange(told, true)) session.log.print(level, (line + " (said once)").c_str());
    };
    if (buffer.missed_above)
        tell(buffer.missed, session.told_above, CUDAENC_LOG_WARNING);
    else
        tell(buffer.missed, session.told_below, CUDAENC_LOG_INFO);
    tell(buffer.refusable, session.told_refusable, CUDAENC_LOG_WARNING);
}

int receive(CudaencSession *session, CudaencPacket *packet, Receive when) {
    return guarded(session->log, [&] {
        Result<CudaencPacket> result("the packet", *packet);
        PooledBuffer buffer;
        const int code = session->ring.receive(buffer, result->opaque, when);
        if (code != CUDAENC_OK) return code;
        tell_of_packet(*session, *buffer);
        result->data = buffer->data;
        result->size = buffer->size;
        result->quality = buffer->quality;
        result->buffer = buffer.release();
        return code;
    });
}

}  // namespace

unsigned cudaenc_version(void) { return CUDAENC_VERSION; }

const char *cudaenc_error_string(int code) {
    static constexpr std::pair<int, const char *> kStrings[] = {
        {CUDAENC_OK, "no error"},
        {CUDAENC_AGAIN, "submit: receive a packet first; receive: submit a frame or flush first"},
        {CUDAENC_EOF, "every packet has left: a frame that is submitted starts anew"},
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

void cudaenc_j2k_init(CudaencJ2kOptions *options, size_t size) {
    CudaencJ2kOptions defaults;
    set_defaults(kJ2kOptions, defaults);
    give_defaults(options, size, defaults);
}

void cudaenc_mjpeg_init(CudaencMjpegOptions *options, size_t size) {
    CudaencMjpegOptions defaults;
    set_defaults(kMjpegOptions, defaults);
    give_defaults(options, size, defaults);
}

void cudaenc_h264_init(CudaencH264Options *options, size_t size) {
    CudaencH264Options defaults;
    set_defaults(kH264Options, defaults);
    give_defaults(options, size, defaults);
}

void cudaenc_config_init(CudaencConfig *config, size_t struct_size, CudaencCodec codec) {
    CudaencConfig defaults;
    set_defaults(kSharedOptions, defaults);
    defaults.struct_size = struct_size;
    defaults.codec = codec;
    defaults.format.color_primaries = defaults.format.color_transfer = defaults.format.color_matrix = 2;
    // All of their room, so that a caller that knows fewer options leaves the others at their defaults.
    std::memset(defaults.j2k_room, 0, sizeof defaults.j2k_room);
    std::memset(defaults.mjpeg_room, 0, sizeof defaults.mjpeg_room);
    std::memset(defaults.h264_room, 0, sizeof defaults.h264_room);
    cudaenc_j2k_defaults(&defaults.j2k);
    cudaenc_mjpeg_defaults(&defaults.mjpeg);
    cudaenc_h264_defaults(&defaults.h264);
    give_defaults(config, struct_size, defaults);
}

int cudaenc_open(CudaencSession **out, const CudaencConfig *config) {
    return open_session(out, config, [&](CudaencSession &session) {
        const CudaencConfig known = read_config(*config);
        check_options(kSharedOptions, known);
        session.format = known.format;
        session.device_frames = known.device_frames;
        session.ring = make_ring(session, known);
    });
}

const char *cudaenc_device_name(const CudaencSession *session) {
    return session->ring.pipeline().device_name().c_str();
}

const char *cudaenc_summary(const CudaencSession *session) { return session->summary.c_str(); }

int cudaenc_async_depth(const CudaencSession *session) { return session->ring.slots(); }

const uint8_t *cudaenc_extradata(const CudaencSession *session, size_t *size) {
    const std::span<const uint8_t> extradata = session->ring.pipeline().extradata();
    *size = extradata.size();
    return extradata.empty() ? nullptr : extradata.data();
}

int cudaenc_submit(CudaencSession *session, const CudaencFrame *frame) {
    if (session->ring.full()) return CUDAENC_AGAIN;
    return guarded(session->log, [&] {
        CudaencFrame known = read_struct("the frame", *frame);
        check_planes(*session, known);
        // Of what is not there the size is 0.
        if (!known.icc_profile) known.icc_profile_size = 0;
        if (!known.exif) known.exif_size = 0;
        if (!known.xmp) known.xmp_size = 0;
        if (!known.iptc) known.iptc_size = 0;
        if (!known.captions) known.captions_size = 0;
        if (!known.user_data) known.user_data_count = 0;
        for (const size_t size : {known.icc_profile_size, known.exif_size, known.xmp_size, known.iptc_size})
            if (size > 0x7FFFFFFF) refuse("an ICC profile, EXIF, XMP or IPTC data are larger than 2 GiB");
        session->ring.submit(known, known.opaque);
        return CUDAENC_OK;
    });
}

int cudaenc_receive(CudaencSession *session, CudaencPacket *packet) {
    return receive(session, packet, Receive::when_due);
}
int cudaenc_poll(CudaencSession *session, CudaencPacket *packet) {
    return receive(session, packet, Receive::when_done);
}
int cudaenc_wait(CudaencSession *session, CudaencPacket *packet) { return receive(session, packet, Receive::now); }

void cudaenc_flush(CudaencSession *session) { session->ring.flush(); }

void cudaenc_close(CudaencSession *session) { delete session; }

void cudaenc_buffer_free(CudaencBuffer *buffer) {
    if (buffer) BufferReturn()(buffer);
}

int cudaenc_stage_times(const CudaencSession *session, CudaencStageTime *times, int capacity) {
    return copy_times(session->ring.pipeline().stage_times(), times, capacity);
}
