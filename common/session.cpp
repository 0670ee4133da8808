// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of encoders: checks arguments, chooses the pipeline.
#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "abi.h"
#include "codecs.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "error.h"
#include "fields.h"
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
    bool told_metadata = false;                   // of what is left out, or may be refused
    bool told_placeless = false;
    const EncoderCodec *codec;
    std::string summary;
    FrameRing ring;
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
FrameRing make_ring(CudaencSession &session, const CudaencConfig &config) {
    const bool separate = has_separate_fields(config);
    const CudaencConfig c = separate ? config_of_fields(config) : config;
    const EncoderPlan plan = session.codec->plan(c);
    session.summary = plan.summary;
    if (c.fields) session.summary += c.fields == CUDAENC_TOP_FIELD_FIRST ? ", top field first" : ", bottom field first";
    std::string line;
    for (std::istringstream lines(plan.warning); std::getline(lines, line);)
        session.log.print(CUDAENC_LOG_WARNING, line.c_str());
    if (c.device_packets && !session.codec->device_packets)
        refuse("device_packets 1 is not allowed: it is 0 with codecs other than JPEG");
    const char *const in_device = c.device_frames ? "frames" : c.device_packets ? "packets" : nullptr;
    const std::shared_ptr<Device> device = choose_device(session.log, c.device, in_device, c.cuda_context, "encoding");
    const bool few = session.codec->few_threads;
    const int depth = c.async_depth ? c.async_depth : !device && few ? depth_of_threads(c.threads) : kUsualDepth;
    const int per_frame = separate ? 2 : 1;  // pictures
    const int pictures = std::min(depth * per_frame + plan.lookahead, plan.most_slots) / per_frame * per_frame;
    const bool both = separate && device && plan.device_codes_frames;  // a slot has both fields
    check_memory(c.format, device ? plan.device_bytes : plan.host_bytes, pictures, device.get());
    if (device && !few) hint_at_queues(session, c, *device);
    if (device && !plan.device_warning.empty()) session.log.print(CUDAENC_LOG_WARNING, plan.device_warning.c_str());
    const int slots = both ? pictures / 2 : pictures;
    return {plan.make({.slots = slots,
                       .threads = c.threads,
                       .device = device,
                       .device_frames = c.device_frames != 0,
                       .device_packets = c.device_packets != 0,
                       .stage_times = c.stage_times != 0,
                       .fields = both ? c.fields : CUDAENC_PROGRESSIVE}),
            slots, separate && !both ? c.fields : CUDAENC_PROGRESSIVE, session.codec->set_field_size};
}

// The caller's, with defaults where it has no members. Throws Error(CUDAENC_ERR_INVALID).
CudaencConfig read_config(const CudaencConfig &callers) {
    CudaencConfig defaults;
    cudaenc_config_defaults(&defaults, CUDAENC_CODEC_J2K);
    const CudaencConfig config = read_struct("the configuration", callers, defaults);
    for (const EncoderCodec &e : kEncoders)
        check_unknown(e.name, config.*e.room, e.options_size, sizeof(config.*e.room));
    return config;
}

// A frame whose planes are where all codecs look for them.
CudaencFrame place_planes(const CudaencSession &session, CudaencFrame frame) {
    const int planes = session.format.planes;
    if (!frame.plane_data != !frame.plane_stride)
        refuse("plane_data and plane_stride are not allowed without each other");
    if (!frame.plane_data && planes > kDescribedComponents)
        refuse(
            format_string("plane_data NULL is not allowed with %d planes: data has %d", planes, kDescribedComponents));
    if (frame.plane_data && planes <= kDescribedComponents) {
        std::copy_n(frame.plane_data, planes, frame.data);
        std::copy_n(frame.plane_stride, planes, frame.stride);
        frame.plane_data = nullptr;
    }
    return frame;
}

void check_planes(const CudaencSession &session, const CudaencFrame &frame) {
    const CudaencFormat &format = session.format;
    for (int i = 0; i < format.planes; i++) {
        const FramePlane plane = plane_of(frame, i);
        if (!plane.data) refuse(format_string("plane %d of the frame is missing", i));
        if (session.device_frames && plane.stride < 0)
            refuse("a negative stride is not allowed for frames in CUDA memory");
        check_stride(format, i, plane.stride);
    }
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent k = component_of(format, c);
        const FramePlane plane = plane_of(frame, k.plane);
        if (k.depth + k.shift > 8 &&
            (reinterpret_cast<uintptr_t>(plane.data) | static_cast<uintptr_t>(plane.stride)) & 1)
            refuse(format_string("plane %d of the frame has samples of two bytes at odd addresses", k.plane));
    }
}

void check_timecode(const CudaencTimecode &t) {
    check_range("timecode hours", t.hours, 0, 23);
    check_range("timecode minutes", t.minutes, 0, 59);
    check_range("timecode seconds", t.seconds, 0, 59);
    check_range("timecode frames", t.frames, 0, 255);
    check_range("timecode drop_frame", t.drop_frame, 0, 1);
}

void check_regions(const CudaencFrame &frame) {
    check_range("region_count", frame.region_count, 0, CUDAENC_MAX_REGIONS);
    if (frame.region_count && !frame.regions)
        refuse(format_string("regions NULL is not allowed with region_count %d", frame.region_count));
    for (int i = 0; i < frame.region_count; i++) {
        const CudaencRegion &r = frame.regions[i];
        check_range("region x", r.x, 0, INT_MAX);
        check_range("region y", r.y, 0, INT_MAX);
        check_range("region width", r.width, 1, INT_MAX);
        check_range("region height", r.height, 1, INT_MAX);
        check_range("region offset_den", r.offset_den, 1, INT_MAX);
        check_range("region offset_num", r.offset_num, -r.offset_den, r.offset_den);
    }
}

// What a frame brings beside its samples. A codec checks what depends on its options.
void check_metadata(const CudaencFrame &frame) {
    const struct {
        const char *name;
        const void *data;
        size_t size;
    } parts[] = {{"icc_profile", frame.icc_profile, frame.icc_profile_size},
                 {"exif", frame.exif, frame.exif_size},
                 {"xmp", frame.xmp, frame.xmp_size},
                 {"iptc", frame.iptc, frame.iptc_size},
                 {"captions", frame.captions, frame.captions_size}};
    for (const auto &[name, data, size] : parts) {
        if (size && !data) refuse(format_string("%s NULL is not allowed with %s_size %zu", name, name, size));
        if (size > 0x7FFFFFFF) refuse(format_string("%s_size %zu is not allowed: it is less than 2 GiB", name, size));
    }
    if (frame.captions_size % 3 || frame.captions_size > 31 * 3)
        refuse(format_string("captions_size %zu is not allowed: captions are 3 bytes each, and at most 31",
                             frame.captions_size));
    check_range("user_data_count", frame.user_data_count, 0, INT_MAX);
    if (frame.user_data_count && !frame.user_data)
        refuse(format_string("user_data NULL is not allowed with user_data_count %d", frame.user_data_count));
    for (int i = 0; i < frame.user_data_count; i++) {
        const CudaencUserData &data = frame.user_data[i];
        if (!data.data || data.size < 16 || data.size > 0xFFFFFF)
            refuse(format_string("user data of %zu bytes%s is not allowed: it has 16 bytes of UUID, and at most %d",
                                 data.size, data.data ? "" : " at NULL", 0xFFFFFF));
    }
    if (frame.timecode) check_timecode(*frame.timecode);
    check_range("key", frame.key, 0, 1);
    check_regions(frame);
    check_range("sample_aspect_num", frame.sample_aspect_num, 0, INT_MAX);
    check_range("sample_aspect_den", frame.sample_aspect_den, 0, INT_MAX);
}

// Says once that packets are larger than a target asks for, once that they are smaller, and once that metadata is left
// out or may be refused.
void tell_of_packet(CudaencSession &session, const CudaencBuffer &buffer) {
    const auto tell = [&](const std::string &line, bool &told, CudaencLogLevel level) {
        if (!line.empty() && !std::exchange(told, true)) session.log.print(level, (line + " (said once)").c_str());
    };
    if (buffer.missed_above)
        tell(buffer.missed, session.told_above, CUDAENC_LOG_WARNING);
    else
        tell(buffer.missed, session.told_below, CUDAENC_LOG_INFO);
    tell(buffer.metadata_warning, session.told_metadata, CUDAENC_LOG_WARNING);
}

// Says once what of a frame the codec has no place for. A container may have one.
void tell_of_placeless(CudaencSession &session, const CudaencFrame &f) {
    if (session.told_placeless) return;
    const struct {
        Metadata kind;
        bool is_there;
        const char *name;
    } parts[] = {{kIccProfile, f.icc_profile_size != 0, "ICC profiles"},
                 {kExif, f.exif_size != 0, "EXIF"},
                 {kXmp, f.xmp_size != 0, "XMP"},
                 {kIptc, f.iptc_size != 0, "IPTC"},
                 {kSei, f.captions_size != 0, "captions"},
                 {kSei, f.user_data_count != 0, "user data"},
                 {kSei, f.timecode != nullptr, "timecodes"},
                 {kSei, f.mastering_display != nullptr, "mastering displays"},
                 {kSei, f.content_light != nullptr, "content light levels"},
                 {kRegions, f.region_count != 0, "regions of interest"}};
    std::string names;
    for (const auto &[kind, is_there, name] : parts)
        if (is_there && !(session.codec->metadata & kind)) names += std::string(names.empty() ? "" : ", ") + name;
    session.told_placeless = !names.empty();
    if (!names.empty())
        session.log.print(
            CUDAENC_LOG_INFO,
            ("packets of this codec have no place for, and leave out: " + names + " (said once)").c_str());
}

int receive(CudaencSession *session, CudaencPacket *packet, Receive when) {
    return guarded(log_of(session), {{"session", session}, {"packet", packet}}, [&] {
        Result<CudaencPacket> result("the packet", *packet);
        PooledBuffer buffer;
        const int code = session->ring.receive(buffer, result->opaque, when);
        if (code != CUDAENC_OK) return code;
        tell_of_packet(*session, *buffer);
        result->data = buffer->data;
        result->size = buffer->size;
        result->quality = buffer->quality;
        result->delta = buffer->delta;
        result->buffer = buffer.release();
        return code;
    });
}

}  // namespace

static thread_local char last_error[1024];  // no heap memory: it may have run out

void cudaenc::keep_last_error(const char *line) noexcept { std::snprintf(last_error, sizeof last_error, "%s", line); }

const char *cudaenc_last_error(void) { return last_error; }

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

int cudaenc_config_init(CudaencConfig *config, size_t struct_size, CudaencCodec codec) {
    CudaencConfig defaults;
    set_defaults(kSharedOptions, defaults);
    defaults.struct_size = struct_size;
    defaults.codec = codec;
    defaults.format.color_primaries = defaults.format.color_transfer = defaults.format.color_matrix = 2;
    // All of their room, so that a caller that knows fewer options leaves the others at their defaults.
    for (const EncoderCodec &e : kEncoders) {
        std::memset(defaults.*e.room, 0, sizeof(defaults.*e.room));
        e.set_defaults(defaults);
    }
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_open(CudaencSession **out, const CudaencConfig *config) {
    return open_session("session", out, config, [&](CudaencSession &session) {
        const CudaencConfig known = read_config(*config);
        check_options(kSharedOptions, known);
        check_range("device_frames", known.device_frames, 0, 1);
        check_range("device_packets", known.device_packets, 0, 1);
        check_range("fields", known.fields, CUDAENC_PROGRESSIVE, CUDAENC_BOTTOM_FIELD_FIRST);
        session.format = known.format;
        session.codec = find_codec(kEncoders, known.codec);
        if (!session.codec) refuse(format_string("codec %d is not known", number_of(known.codec)));
        session.device_frames = known.device_frames;
        session.ring = make_ring(session, known);
    });
}

const char *cudaenc_device_name(const CudaencSession *session) {
    return ask("session", session, "", [](const auto &s) { return s.ring.pipeline().device_name().c_str(); });
}

const char *cudaenc_summary(const CudaencSession *session) {
    return ask("session", session, "", [](const auto &s) { return s.summary.c_str(); });
}

int cudaenc_async_depth(const CudaencSession *session) {
    return ask("session", session, int{CUDAENC_ERR_INVALID}, [](const auto &s) { return s.ring.slots(); });
}

const uint8_t *cudaenc_extradata(const CudaencSession *session, size_t *size) {
    std::span<const uint8_t> extradata;
    if (size) *size = 0;
    guarded(log_of(session), {{"session", session}, {"size", size}}, [&] {
        extradata = session->ring.pipeline().extradata();
        *size = extradata.size();
    });
    return extradata.empty() ? nullptr : extradata.data();
}

int cudaenc_submit(CudaencSession *session, const CudaencFrame *frame) {
    return guarded(log_of(session), {{"session", session}, {"frame", frame}}, [&]() -> int {
        if (session->ring.full()) return CUDAENC_AGAIN;
        const CudaencFrame known = place_planes(*session, read_struct("the frame", *frame));
        check_planes(*session, known);
        check_metadata(known);
        tell_of_placeless(*session, known);
        session->ring.submit(known, known.opaque);
        return CUDAENC_OK;
    });
}

int cudaenc_set_qp(CudaencSession *session, int qp) {
    return guarded(log_of(session), {{"session", session}}, [&] { session->ring.change_rate({.qp = qp}); });
}

int cudaenc_set_bit_rate(CudaencSession *session, int64_t bit_rate, int64_t max_rate) {
    return guarded(log_of(session), {{"session", session}},
                   [&] { session->ring.change_rate({.qp = {}, .bit_rate = bit_rate, .max_rate = max_rate}); });
}

int cudaenc_receive(CudaencSession *session, CudaencPacket *packet) {
    return receive(session, packet, Receive::when_due);
}
int cudaenc_poll(CudaencSession *session, CudaencPacket *packet) {
    return receive(session, packet, Receive::when_done);
}
int cudaenc_wait(CudaencSession *session, CudaencPacket *packet) { return receive(session, packet, Receive::now); }

int cudaenc_flush(CudaencSession *session) {
    return guarded(log_of(session), {{"session", session}}, [&] { session->ring.flush(); });
}

void cudaenc_close(CudaencSession *session) { delete session; }

void cudaenc_buffer_free(CudaencBuffer *buffer) {
    if (buffer) BufferReturn()(buffer);
}

int cudaenc_stage_times(const CudaencSession *session, CudaencStageTime *times, int capacity) {
    return stage_times("session", session, times, capacity);
}
