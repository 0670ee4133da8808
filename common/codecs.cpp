// SPDX-License-Identifier: LGPL-2.1-or-later
#include "codecs.h"

#include "abi.h"
#include "h264/h264.h"
#include "j2k/j2k.h"
#include "mjpeg/mjpeg.h"
#include "session.h"

namespace cudaenc {

namespace {

// ---- Encoders

template <class Params>
EncoderPlan make_plan(const Params &params, double host_bytes, double device_bytes,
                      int most_slots = CUDAENC_MAX_ASYNC_DEPTH) {
    return {.summary = summary(params),
            .warning = params.warning,
            .most_slots = most_slots,
            .host_bytes = host_bytes,
            .device_bytes = device_bytes,
            .make = [params](const PipelineSetup &s) {
                if (!s.device) return make_cpu_encoder(params, s.slots, s.threads, s.stage_times);
                if constexpr (std::is_same_v<Params, mjpeg::Params>)
                    return make_device_encoder(params, s.slots, s.threads, s.device, s.device_frames, s.stage_times,
                                               s.device_packets, s.fields);
                else
                    return make_device_encoder(params, s.slots, s.threads, s.device, s.device_frames, s.stage_times);
            }};
}

// Coefficients with LL bands, which may be short on a device.
EncoderPlan plan_j2k(const CudaencConfig &config) {
    const j2k::Params params = j2k::make_params(config.format, config.j2k);
    return make_plan(params, 5, 3, j2k::frames_in_flight(params, CUDAENC_MAX_ASYNC_DEPTH));
}

// Levels; coded data, where levels are not kept.
EncoderPlan plan_mjpeg(const CudaencConfig &config) {
    const mjpeg::Params params = mjpeg::make_params(config.format, config.mjpeg);
    EncoderPlan plan = make_plan(params, 2, params.optimal || params.frame_bytes ? 2 : 0.25);
    plan.device_codes_frames = true;
    return plan;
}

EncoderPlan plan_h264(const CudaencConfig &config) {
    const h264::Params params = h264::make_params(config.format, config.h264, config.fields);
    EncoderPlan plan = make_plan(params, 2, 2);
    plan.lookahead = params.lookahead;
    if (const std::string reason = h264::only_on_cpu(params); !reason.empty())
        plan.device_warning = reason + ": CPU threads code them, the device only copies frames";
    return plan;
}

constexpr EncoderCodec encoders[] = {
    {.codec = CUDAENC_CODEC_J2K,
     .name = "j2k",
     .room = &CudaencConfig::j2k_room,
     .options_size = sizeof(CudaencJ2kOptions),
     .set_defaults = [](CudaencConfig &c) { set_defaults(kJ2kOptions, c.j2k); },
     .metadata = kIccProfile | kExif | kXmp | kIptc | kRegions,
     .device_packets = false,
     .few_threads = false,
     .set_field_size = nullptr,
     .plan = plan_j2k},
    {.codec = CUDAENC_CODEC_MJPEG,
     .name = "mjpeg",
     .room = &CudaencConfig::mjpeg_room,
     .options_size = sizeof(CudaencMjpegOptions),
     .set_defaults = [](CudaencConfig &c) { set_defaults(kMjpegOptions, c.mjpeg); },
     .metadata = kIccProfile | kExif,
     .device_packets = true,
     .few_threads = false,
     .set_field_size = mjpeg::set_field_size,
     .plan = plan_mjpeg},
    {.codec = CUDAENC_CODEC_H264,
     .name = "h264",
     .room = &CudaencConfig::h264_room,
     .options_size = sizeof(CudaencH264Options),
     .set_defaults = [](CudaencConfig &c) { set_defaults(kH264Options, c.h264); },
     .metadata = kSei | kRegions,
     .device_packets = false,
     .few_threads = true,
     .set_field_size = nullptr,
     .plan = plan_h264},
};
static_assert(std::ranges::all_of(encoders,
                                  [](const EncoderCodec &e) { return e.options_size <= CUDAENC_OPTIONS_ROOM; }));

// ---- Decoders

mjpeg::DecoderOptions mjpeg_options(const CudaencDecoderConfig &c) {
    check_range("lowres", c.lowres, 0, 3);
    if (c.layers) refuse(format_string("layers %d is not allowed: JPEG has none", c.layers));
    if (c.region && *c.region)
        refuse(format_string("region '%s' is not allowed: of JPEG whole pictures are decoded", c.region));
    if (c.channels && *c.channels)
        refuse(format_string("channels '%s' is not allowed: JPEG has none to choose", c.channels));
    if (c.rgb && c.usual_format) refuse("rgb 1 is not allowed with usual_format 1: each says what planes are");
    return {.lowres = c.lowres, .max_pixels = c.max_pixels, .usual_format = c.usual_format != 0, .rgb = c.rgb != 0};
}

j2k::DecoderOptions j2k_options(const CudaencDecoderConfig &c) {
    if (c.rgb) refuse("rgb 1 is not allowed: of JPEG 2000 colours are as the file has them");
    return {.lowres = c.lowres,
            .layers = c.layers,
            .region = j2k::parse_region(c.region),
            .channels = j2k::parse_channels(c.channels),
            .max_pixels = c.max_pixels,
            .usual_format = c.usual_format != 0};
}

const DecoderCodec decoders[] = {
    {.codec = CUDAENC_CODEC_J2K,
     .options = kDecoderOptions,
     .few_threads = false,
     .check = [](const CudaencDecoderConfig &c) { j2k_options(c); },
     .read_header = [](std::span<const uint8_t> packet,
                       const CudaencDecoderConfig &c) { return j2k::read_header(packet, j2k_options(c)); },
     .picture_size = j2k::picture_size,
     .has_two_fields = j2k::has_two_fields,
     .make =
         [](const CudaencDecoderConfig &c, const PipelineSetup &s) {
             return s.device ? j2k::make_device_decoder(j2k_options(c), s.slots, s.threads, s.device, s.device_frames,
                                                        s.stage_times)
                             : j2k::make_cpu_decoder(j2k_options(c), s.slots, s.threads, s.stage_times);
         }},
    {.codec = CUDAENC_CODEC_MJPEG,
     .options = kDecoderOptions,
     .few_threads = true,
     .check = [](const CudaencDecoderConfig &c) { mjpeg_options(c); },
     .read_header = [](std::span<const uint8_t> packet,
                       const CudaencDecoderConfig &c) { return mjpeg::read_header(packet, mjpeg_options(c)); },
     .picture_size = mjpeg::picture_size,
     .has_two_fields = mjpeg::has_two_fields,
     .make =
         [](const CudaencDecoderConfig &c, const PipelineSetup &s) {
             return s.device ? mjpeg::make_device_decoder(mjpeg_options(c), s.slots, s.threads, s.device,
                                                          s.device_frames, s.stage_times)
                             : mjpeg::make_cpu_decoder(mjpeg_options(c), s.slots, s.threads, s.stage_times);
         }},
};

template <class Options>
int init_options(Options *options, size_t size, OptionTable<Options> table) {
    Options defaults;
    set_defaults(table, defaults);
    return init_struct("options", options, size, sizeof(int), defaults);
}

}  // namespace

const std::span<const EncoderCodec> kEncoders = encoders;
const std::span<const DecoderCodec> kDecoders = decoders;

}  // namespace cudaenc

using namespace cudaenc;

int cudaenc_j2k_init(CudaencJ2kOptions *options, size_t size) { return init_options(options, size, kJ2kOptions); }
int cudaenc_mjpeg_init(CudaencMjpegOptions *options, size_t size) { return init_options(options, size, kMjpegOptions); }
int cudaenc_h264_init(CudaencH264Options *options, size_t size) { return init_options(options, size, kH264Options); }
