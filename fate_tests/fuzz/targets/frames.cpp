// SPDX-License-Identifier: LGPL-2.1-or-later
// libFuzzer: AVFrames and text options through FFmpeg's glue. The bytes are an encoder's context, its options as
// `ffmpeg` would have them, and frames of any format, size, stride and side data.
#include <algorithm>
#include <cstring>
#include <memory>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include "input.h"

using namespace cudaenc::testing;

namespace {

constexpr int kLongest = 18;      // samples of a side: more than a macroblock
constexpr int kUsual = 6;         // of most pictures, since the glue is what is tested
constexpr int kMostStride = 256;  // bytes
constexpr int kMostCalls = 5;

template <auto release>
struct Releaser {
    template <class T>
    void operator()(T *object) const {
        release(&object);
    }
};
using Frame = std::unique_ptr<AVFrame, Releaser<av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, Releaser<av_packet_free>>;
using Context = std::unique_ptr<AVCodecContext, Releaser<avcodec_free_context>>;

// What ends a run too late: options that make a small picture long.
bool is_long(const AVDictionary *options) {
    const auto number = [&](const char *name, int otherwise) {
        const AVDictionaryEntry *entry = av_dict_get(options, name, nullptr, 0);
        return entry ? std::atoi(entry->value) : otherwise;
    };
    const int tile =
        std::min(std::max(number("tile_width", kLongest), 1), std::max(number("tile_height", kLongest), 1));
    return (kLongest / tile) * (kLongest / tile) * (number("levels", 5) + 2) * number("layers", 1) > 2000 ||
           (av_dict_get(options, "precincts", nullptr, 0) && number("layers", 1) > 4);
}

Context make_context(Input &in) {
    const char *const names[] = {"j2k_cuda", "mjpeg_cuda", "h264_cavlc_cuda"};
    const AVCodec *codec = avcodec_find_encoder_by_name(in.PickValueInArray(names));
    const void *formats = nullptr;
    int count = 0;
    avcodec_get_supported_config(nullptr, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, &count);
    Context context(avcodec_alloc_context3(codec));
    const int longest = in.one_in(16) ? kLongest : kUsual;
    context->width = in.between(1, longest);
    context->height = in.between(1, longest);
    context->pix_fmt = in.one_in(32) ? static_cast<AVPixelFormat>(in.between(-1, AV_PIX_FMT_NB))
                                     : static_cast<const AVPixelFormat *>(formats)[in.between(0, count - 1)];
    const auto ratio = [&](AVRational usual) { return in.one_in(8) ? AVRational{in.any(), in.any()} : usual; };
    context->time_base = ratio({1, 25});
    context->framerate = ratio({25, 1});
    context->sample_aspect_ratio = ratio({1, 1});
    context->color_range = in.one_in(4) ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG;
    context->strict_std_compliance = in.between(-2, 1);
    context->flags = in.any() & (AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT | AV_CODEC_FLAG_GLOBAL_HEADER |
                                 AV_CODEC_FLAG_COPY_OPAQUE | AV_CODEC_FLAG_FRAME_DURATION);
    int *const numbers[] = {&context->global_quality, &context->qmin, &context->qmax, &context->slices,
                            &context->rc_buffer_size};
    int64_t *const rates[] = {&context->bit_rate, &context->rc_max_rate};
    for (int *number : numbers)
        if (in.one_in(8)) *number = in.any();
    for (int64_t *rate : rates)
        if (in.one_in(8)) *rate = in.ConsumeIntegral<int64_t>();
    if (in.one_in(8)) {
        context->color_primaries = static_cast<AVColorPrimaries>(in.any());
        context->color_trc = static_cast<AVColorTransferCharacteristic>(in.any());
        context->colorspace = static_cast<AVColorSpace>(in.any());
        context->chroma_sample_location = static_cast<AVChromaLocation>(in.any());
    }
    return context;
}

// Options as text, name=value:name=value; and those that the target decides.
bool open(Input &in, AVCodecContext *context) {
    AVDictionary *options = nullptr;
    av_dict_parse_string(&options, in.text(160), "=", ":", 0);
    av_dict_set(&options, "device", "cpu", 0);
    av_dict_set_int(&options, "async_depth", in.between(0, 9), 0);
    av_dict_set(&options, "threads", "1", 0);
    const bool opened = !is_long(options) && avcodec_open2(context, context->codec, &options) >= 0;
    av_dict_free(&options);
    return opened;
}

// Side data of any kind and size. Frames of other programs may have them.
void add_side_data(Input &in, AVFrame *frame) {
    const AVFrameSideDataType types[] = {AV_FRAME_DATA_A53_CC,
                                         AV_FRAME_DATA_S12M_TIMECODE,
                                         AV_FRAME_DATA_ICC_PROFILE,
                                         AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
                                         AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,
                                         AV_FRAME_DATA_SEI_UNREGISTERED,
                                         AV_FRAME_DATA_DISPLAYMATRIX,
                                         AV_FRAME_DATA_AFD};
    const AVFrameSideDataType type = in.PickValueInArray(types);
    for (int i = in.one_in(8) ? 20 : 1; i > 0; i--) {
        const std::vector<uint8_t> &bytes = in.bytes(200);
        AVFrameSideData *data = av_frame_new_side_data(frame, type, bytes.size());
        if (data && !bytes.empty()) std::memcpy(data->data, bytes.data(), bytes.size());
    }
}

// A frame whose planes have exactly what its format needs.
Frame make_frame(Input &in, const AVCodecContext *context) {
    Frame frame(av_frame_alloc());
    frame->width = in.one_in(16) ? in.between(1, kLongest) : context->width;
    frame->height = in.one_in(16) ? in.between(1, kLongest) : context->height;
    frame->format = in.one_in(16) ? in.between(0, AV_PIX_FMT_NB - 1) : context->pix_fmt;
    const auto format = static_cast<AVPixelFormat>(frame->format);
    int widths[4];
    if (av_image_fill_linesizes(widths, format, frame->width) < 0) return nullptr;
    const AVPixFmtDescriptor *layout = av_pix_fmt_desc_get(format);
    for (int plane = 0; plane < av_pix_fmt_count_planes(format); plane++) {
        const bool chroma = plane == 1 || plane == 2;
        const ptrdiff_t rows = AV_CEIL_RSHIFT(frame->height, chroma ? layout->log2_chroma_h : 0);
        ptrdiff_t stride = widths[plane] + in.between(0, 3) * 2;
        if (in.one_in(8)) stride = in.between(-kMostStride, kMostStride);
        if (in.one_in(4)) stride = -stride;
        const ptrdiff_t before = std::max<ptrdiff_t>(0, -stride * (rows - 1));
        const ptrdiff_t bytes = before + std::max<ptrdiff_t>(0, stride * (rows - 1)) + widths[plane];
        frame->buf[plane] = av_buffer_alloc(static_cast<size_t>(bytes));
        if (!frame->buf[plane]) return nullptr;
        uint32_t noise = in.ConsumeIntegral<uint16_t>();
        for (ptrdiff_t i = 0; i < bytes; i++)
            frame->buf[plane]->data[i] = static_cast<uint8_t>((noise = noise * 1664525 + 1013904223) >> 24);
        frame->data[plane] = frame->buf[plane]->data + before;
        frame->linesize[plane] = static_cast<int>(stride);
    }
    frame->pts = in.ConsumeIntegral<int64_t>();
    frame->duration = in.any();
    frame->sample_aspect_ratio = {in.between(0, 3), in.between(0, 3)};
    while (in.one_in(3)) add_side_data(in, frame.get());
    return frame;
}

void code(Input &in, AVCodecContext *context) {
    const Packet packet(av_packet_alloc());
    const auto receive = [&] {
        int ret;
        while ((ret = avcodec_receive_packet(context, packet.get())) >= 0)
            for (int i = 0; i < AV_INPUT_BUFFER_PADDING_SIZE; i++)
                expect(!packet->data[packet->size + i], "padding is zero");
        expect(ret != AVERROR_BUG && ret != AVERROR_EXTERNAL, "no internal error");
    };
    for (int i = 0; i < kMostCalls && in.remaining_bytes(); i++) {
        switch (in.between(0, 7)) {
            case 0:
                avcodec_send_frame(context, nullptr);
                [[fallthrough]];
            case 1:
            case 2:
                receive();
                break;
            case 3:
                avcodec_flush_buffers(context);
                break;
            default:
                if (const Frame frame = make_frame(in, context)) {
                    const int ret = avcodec_send_frame(context, frame.get());
                    expect(ret != AVERROR_BUG && ret != AVERROR_EXTERNAL, "no internal error");
                }
        }
    }
    if (in.one_in(2)) return;  // closed with frames in flight
    avcodec_send_frame(context, nullptr);
    receive();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    av_log_set_level(AV_LOG_QUIET);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in(data, size);
    const Context context = make_context(in);
    if (open(in, context.get())) code(in, context.get());
    return 0;
}
