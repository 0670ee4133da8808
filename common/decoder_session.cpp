// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of decoders: checks arguments, chooses the pipeline.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi.h"
#include "codecs.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"
#include "planes.h"
#include "session.h"

using namespace cudaenc;

namespace {

// A header that the caller has read.
struct KnownHeader {
    const uint8_t *data;
    std::vector<uint8_t> bytes;  // that it was read from
    std::unique_ptr<PictureHeader> header;

    // Whether it is that of a packet, which the caller may have overwritten, or cut behind the first of two pictures.
    bool is_of(std::span<const uint8_t> packet) const {
        return header && data == packet.data() && bytes.size() <= packet.size() &&
               std::ranges::equal(bytes, packet.first(bytes.size()));
    }
};

}  // namespace

struct CudaencDecoder {
    SessionLog log;
    const DecoderCodec *codec;
    CudaencDecoderConfig config;
    std::string region, channels;        // of config
    std::array<KnownHeader, 2> headers;  // the fields of a frame; the last one is the newest
    Ring<Decoder> ring;
    bool warned = false;  // of a fallback
    bool warned_of_loss = false;
};

namespace {

Ring<Decoder> make_ring(const CudaencDecoder &decoder) {
    const CudaencDecoderConfig &c = decoder.config;
    const std::shared_ptr<Device> device =
        choose_device(decoder.log, c.device, c.device_frames ? "frames" : nullptr, c.cuda_context, "decoding");
    const int slots = c.async_depth                           ? c.async_depth
                      : !device && decoder.codec->few_threads ? depth_of_threads(c.threads)
                                                              : kUsualDepth;
    return {decoder.codec->make(c, {.slots = slots,
                                    .threads = c.threads,
                                    .device = device,
                                    .device_frames = c.device_frames != 0,
                                    .device_packets = false,
                                    .stage_times = c.stage_times != 0}),
            slots};
}

// The header of a packet, which is not read twice.
std::unique_ptr<PictureHeader> take_header(CudaencDecoder &decoder, std::span<const uint8_t> packet) {
    for (KnownHeader &known : decoder.headers)
        if (known.is_of(packet)) return std::move(known.header);
    std::unique_ptr<PictureHeader> header = decoder.codec->read_header(packet, decoder.config);
    if (header->loss && !std::exchange(decoder.warned_of_loss, true))
        decoder.log.print(CUDAENC_LOG_WARNING, format_string("%s (said once)", header->loss).c_str());
    return header;
}

void check_planes(const CudaencDecoder &decoder, const CudaencFormat &format, const CudaencCodedPicture &picture) {
    for (int i = 0; i < format.planes; i++) {
        if (!picture.planes[i])
            refuse(format_string("planes[%d] is NULL: a picture of %d planes fills it", i, format.planes));
        if (decoder.config.device_frames && picture.stride[i] < 0)
            refuse("a negative stride is not allowed for planes in CUDA memory");
        check_stride(format, i, picture.stride[i], Rows::any);
    }
}

int receive(CudaencDecoder *decoder, CudaencDecodedPicture *picture, Receive when) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"picture", picture}}, [&] {
        Result<CudaencDecodedPicture> result("the picture", *picture);
        Decoded decoded;
        const int code = decoder->ring.receive(decoded, result->opaque, when);
        if (!decoded.damage.empty()) decoder->log.print(CUDAENC_LOG_WARNING, decoded.damage.c_str());
        if (decoded.fallback && !std::exchange(decoder->warned, true))
            decoder->log.print(CUDAENC_LOG_WARNING,
                               format_string("slow: the CPU decodes %s (said once)", decoded.fallback).c_str());
        result->corrupt = !decoded.damage.empty();
        return code;
    });
}

}  // namespace

int cudaenc_decoder_init(CudaencDecoderConfig *config, size_t struct_size, CudaencCodec codec) {
    CudaencDecoderConfig defaults;
    const DecoderCodec *known = find_codec(kDecoders, codec);
    set_defaults(known ? known->options : kDecoderOptions, defaults);
    defaults.struct_size = struct_size;
    defaults.codec = codec;
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_decoder_open(CudaencDecoder **out, const CudaencDecoderConfig *config) {
    return open_session("decoder", out, config, [&](CudaencDecoder &decoder) {
        CudaencDecoderConfig defaults;
        set_defaults(kDecoderOptions, defaults);
        decoder.config = read_struct("the configuration", *config, defaults);
        decoder.codec = find_codec(kDecoders, decoder.config.codec);
        if (!decoder.codec) refuse(format_string("codec %d is not decoded", number_of(decoder.config.codec)));
        check_options(decoder.codec->options, decoder.config);
        check_range("device_frames", decoder.config.device_frames, 0, 1);
        decoder.codec->check(decoder.config);
        if (decoder.config.region) decoder.config.region = (decoder.region = decoder.config.region).c_str();
        if (decoder.config.channels) decoder.config.channels = (decoder.channels = decoder.config.channels).c_str();
        decoder.ring = make_ring(decoder);
        decoder.config.device = nullptr;  // the caller's
    });
}

int cudaenc_decoder_async_depth(const CudaencDecoder *decoder) {
    return ask("decoder", decoder, int{CUDAENC_ERR_INVALID}, [](const auto &d) { return d.ring.slots(); });
}

const char *cudaenc_decoder_device_name(const CudaencDecoder *decoder) {
    return ask("decoder", decoder, "", [](const auto &d) { return d.ring.pipeline().device_name().c_str(); });
}

int cudaenc_decoder_read_header(CudaencDecoder *decoder, const uint8_t *data, size_t size,
                                CudaencPictureInfo *callers) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"data", data}, {"info", callers}}, [&] {
        Result<CudaencPictureInfo> info("the picture's information", *callers);
        KnownHeader known{.data = data, .bytes = {}, .header = take_header(*decoder, {data, size})};
        *info = known.header->info;
        known.bytes.assign(data, data + known.header->size);
        decoder->headers[0] = std::exchange(decoder->headers[1], std::move(known));
        return CUDAENC_OK;
    });
}

size_t cudaenc_decoder_picture_size(const uint8_t *data, size_t size) {
    size_t bytes = 0;
    guarded({}, {{"data", data}}, [&] {
        for (const DecoderCodec &d : kDecoders)
            if ((bytes = d.picture_size({data, size}))) return;
    });
    return bytes;
}

int cudaenc_decoder_submit(CudaencDecoder *decoder, const CudaencCodedPicture *coded) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"coded", coded}}, [&]() -> int {
        if (decoder->ring.full()) return CUDAENC_AGAIN;
        const CudaencCodedPicture known = read_struct("the coded picture", *coded);
        if (!known.data)
            refuse(format_string("data NULL of the coded picture is not allowed, of size %zu", known.size));
        const std::shared_ptr<PictureHeader> header = take_header(*decoder, {known.data, known.size});
        check_planes(*decoder, header->info.format, known);
        decoder->ring.submit({known, header}, known.opaque);
        return CUDAENC_OK;
    });
}

int cudaenc_decoder_receive(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::when_due);
}
int cudaenc_decoder_poll(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::when_done);
}
int cudaenc_decoder_wait(CudaencDecoder *decoder, CudaencDecodedPicture *picture) {
    return receive(decoder, picture, Receive::now);
}

int cudaenc_decoder_flush(CudaencDecoder *decoder) {
    return guarded(log_of(decoder), {{"decoder", decoder}}, [&] { decoder->ring.flush(); });
}

void cudaenc_decoder_close(CudaencDecoder *decoder) { delete decoder; }

int cudaenc_decoder_stage_times(const CudaencDecoder *decoder, CudaencStageTime *times, int capacity) {
    return stage_times("decoder", decoder, times, capacity);
}
