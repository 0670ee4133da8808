// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of decoders: checks arguments, chooses the pipeline.
#include <cstring>
#include <utility>
#include <vector>

#include "abi.h"
#include "cpu_pipeline.h"
#include "cudaenc.h"
#include "mjpeg/mjpeg.h"
#include "option_checks.h"
#include "options.h"
#include "pipeline.h"
#include "session.h"

using namespace cudaenc;

struct CudaencDecoder {
    SessionLog log;
    bool device_frames;
    mjpeg::DecoderOptions options;
    std::vector<uint8_t> icc_profile;  // of the last header that was read
    Ring<Decoder> ring;
    bool warned = false;  // of a fallback
};

namespace {

Ring<Decoder> make_ring(const CudaencDecoder &decoder, const CudaencDecoderConfig &c) {
    int codec;  // may be anything
    std::memcpy(&codec, &c.codec, sizeof codec);
    if (codec != CUDAENC_CODEC_MJPEG) refuse(format_string("codec %d is not decoded", codec));
    const std::shared_ptr<Device> device =
        choose_device(decoder.log, c.device, c.device_frames ? "frames" : nullptr, c.cuda_context, "decoding");
    const int slots = c.async_depth ? c.async_depth : device ? kUsualDepth : depth_of_threads(c.threads);
    if (!device) return {mjpeg::make_cpu_decoder(decoder.options, slots, c.threads, c.stage_times), slots};
    return {mjpeg::make_device_decoder(decoder.options, slots, c.threads, device, c.device_frames, c.stage_times),
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
    set_defaults(kDecoderOptions, defaults);
    defaults.struct_size = struct_size;
    defaults.codec = codec;
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_decoder_open(CudaencDecoder **out, const CudaencDecoderConfig *config) {
    return open_session("decoder", out, config, [&](CudaencDecoder &decoder) {
        CudaencDecoderConfig defaults;
        cudaenc_decoder_defaults(&defaults, CUDAENC_CODEC_MJPEG);
        const CudaencDecoderConfig known = read_struct("the configuration", *config, defaults);
        check_options(kDecoderOptions, known);
        check_range("device_frames", known.device_frames, 0, 1);
        decoder.device_frames = known.device_frames;
        decoder.options = {.lowres = known.lowres, .max_pixels = known.max_pixels};
        decoder.ring = make_ring(decoder, known);
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
        const mjpeg::CodedStream stream = mjpeg::read_stream({data, size}, mjpeg::StreamPart::header);
        info->width = stream.width, info->height = stream.height;
        info->format = mjpeg::make_format(stream, decoder->options);
        const mjpeg::StreamMetadata &m = stream.metadata;
        info->sample_aspect_num = m.density_num;
        info->sample_aspect_den = m.density_den;
        info->orientation = m.orientation;
        info->exif = m.exif.empty() ? nullptr : m.exif.data();
        info->exif_size = m.exif.size();
        decoder->icc_profile.clear();
        for (const std::span<const uint8_t> chunk : m.icc_chunks)
            decoder->icc_profile.insert(decoder->icc_profile.end(), chunk.begin(), chunk.end());
        info->icc_profile = decoder->icc_profile.empty() ? nullptr : decoder->icc_profile.data();
        info->icc_profile_size = decoder->icc_profile.size();
        return CUDAENC_OK;
    });
}

size_t cudaenc_decoder_picture_size(const uint8_t *data, size_t size) {
    size_t bytes = 0;
    guarded({}, {{"data", data}}, [&] { bytes = mjpeg::picture_size({data, size}); });
    return bytes;
}

int cudaenc_decoder_submit(CudaencDecoder *decoder, const CudaencCodedPicture *coded) {
    return guarded(log_of(decoder), {{"decoder", decoder}, {"coded", coded}}, [&]() -> int {
        if (decoder->ring.full()) return CUDAENC_AGAIN;
        const CudaencCodedPicture known = read_struct("the coded picture", *coded);
        if (!known.data)
            refuse(format_string("data NULL of the coded picture is not allowed, of size %zu", known.size));
        if (decoder->device_frames)
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
