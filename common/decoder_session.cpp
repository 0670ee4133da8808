// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of decoders: checks arguments, chooses the pipeline.
#include <memory>
#include <utility>

#include "abi.h"
#include "codecs.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"
#include "session.h"

using namespace cudaenc;

struct CudaencDecoder {
    SessionLog log;
    const DecoderCodec *codec;
    CudaencDecoderConfig config;
    std::unique_ptr<PictureHeader> header;  // that was read last
    Ring<Decoder> ring;
    bool warned = false;  // of a fallback
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
        decoder->header = decoder->codec->read_header({data, size}, decoder->config);
        *info = decoder->header->info;
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
        if (decoder->config.device_frames)
            for (const ptrdiff_t stride : known.stride)
                if (stride < 0) refuse("a negative stride is not allowed for planes in CUDA memory");
        decoder->ring.submit(known, known.opaque);
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
