/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The encoders through libavcodec's API, where the ffmpeg command does not go: timing of packets, flush, buffers of the caller's
 * own, packets that outlive the encoder, an encoder that is closed while frames are in flight.
 */
#include <stdio.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/time.h>
#include <libavutil/timecode.h>

/* FFmpeg does not upload the last chroma row of an odd height. */
enum { WIDTH = 63, HEIGHT = 48, FRAMES = 10, SPECIAL = 3 };
static const char *device = "cpu", *encoder, *options = "";
static int most_bytes; /* of a packet, by these options; 0: any */
static int rate = 25; /* frames/s */
static int passed, failed, own_buffers;

static void check(int good, const char *what, int depth)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED %s %s, async_depth %d: %s\n", encoder, options, depth, what);
}

static int own_get_encode_buffer(AVCodecContext *avctx, AVPacket *pkt, int flags)
{
    own_buffers++;
    return avcodec_default_get_encode_buffer(avctx, pkt, flags);
}

static int open_error; /* of the last open_encoder() */

/* With frames_ref the encoder takes CUDA frames, with device_ref it takes software frames to that device. */
static AVCodecContext *open_encoder(const char *device, int depth, int own, AVBufferRef *device_ref, AVBufferRef *frames_ref)
{
    const AVCodec *codec  = avcodec_find_encoder_by_name(encoder);
    AVCodecContext *avctx = avcodec_alloc_context3(codec);
    AVDictionary *dict    = NULL;

    avctx->width       = WIDTH;
    avctx->height      = HEIGHT;
    avctx->pix_fmt     = frames_ref ? AV_PIX_FMT_CUDA : AV_PIX_FMT_YUV420P;
    avctx->color_range = AVCOL_RANGE_JPEG;
    avctx->time_base   = (AVRational) { 1, 25 };
    avctx->framerate   = (AVRational) { rate, 1 };
    avctx->flags      |= AV_CODEC_FLAG_COPY_OPAQUE | AV_CODEC_FLAG_FRAME_DURATION;
    if (frames_ref)
        avctx->hw_frames_ctx = av_buffer_ref(frames_ref);
    if (device_ref)
        avctx->hw_device_ctx = av_buffer_ref(device_ref);
    if (own)
        avctx->get_encode_buffer = own_get_encode_buffer;
    av_opt_set(avctx->priv_data, "device", device, 0);
    av_opt_set_int(avctx->priv_data, "async_depth", depth, 0);
    av_dict_parse_string(&dict, options, "=", ":", 0);
    open_error = avcodec_open2(avctx, codec, &dict);
    check(open_error < 0 || !av_dict_count(dict), "knows the options", depth);
    av_dict_free(&dict);
    if (open_error < 0)
        avcodec_free_context(&avctx);
    return avctx;
}

/* Sends frame number i, of a format with planes of 8 bits. */
static int send_as(AVCodecContext *avctx, int i, enum AVPixelFormat format, int width, int height)
{
    AVFrame *frame = av_frame_alloc(), *uploaded = NULL;
    int ret;

    frame->format   = format;
    frame->width    = width;
    frame->height   = height;
    av_frame_get_buffer(frame, 0);
    for (int p = 0; p < av_pix_fmt_count_planes(format); p++)
        for (int y = 0; y < (p ? (height + 1) / 2 : height); y++)
            for (int x = 0; x < (p ? (width + 1) / 2 : width); x++)
                frame->data[p][y * frame->linesize[p] + x] = x * (i + 1) + y * 3 + p * 50;
    frame->pts      = i * 10;
    frame->duration = 7;
    frame->opaque   = (void *)(intptr_t)(i + 100);
    if (i == SPECIAL) {
        memset(av_frame_new_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, sizeof(AVContentLightMetadata))->data,
               5, sizeof(AVContentLightMetadata));
        memset(av_frame_new_side_data(frame, AV_FRAME_DATA_ICC_PROFILE, 300)->data, 7, 300);
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 8, 100)
        memcpy(av_frame_new_side_data(frame, AV_FRAME_DATA_EXIF, 14)->data, "II*\0\10\0\0\0\0\0\0\0\0\0", 14);
#endif
    }
    if (avctx->hw_frames_ctx) {
        uploaded = av_frame_alloc();
        if (av_hwframe_get_buffer(avctx->hw_frames_ctx, uploaded, 0) < 0 || av_hwframe_transfer_data(uploaded, frame, 0) < 0)
            check(0, "upload", 0);
        av_frame_copy_props(uploaded, frame);
    }
    ret = avcodec_send_frame(avctx, uploaded ? uploaded : frame);
    av_frame_free(&uploaded);
    av_frame_free(&frame);
    return ret;
}

static int send(AVCodecContext *avctx, int i)
{
    return send_as(avctx, i, AV_PIX_FMT_YUV420P, WIDTH, HEIGHT);
}

/* Takes all packets that are due; returns what ended that. */
static int take(AVCodecContext *avctx, AVPacket **packets, int *count)
{
    AVPacket *pkt = av_packet_alloc();
    int ret;

    while ((ret = avcodec_receive_packet(avctx, pkt)) >= 0 && *count < 2 * FRAMES)
        packets[(*count)++] = av_packet_clone(pkt);
    av_packet_free(&pkt);
    return ret;
}

static int holds(const AVPacket *pkt, const char *bytes, int count)
{
    for (int i = 0; i + count <= pkt->size; i++)
        if (!memcmp(pkt->data + i, bytes, count))
            return 1;
    return 0;
}

static void check_packet(const AVPacket *pkt, int i, int depth)
{
    static const uint8_t zeros[AV_INPUT_BUFFER_PADDING_SIZE];
    const uint8_t *stats;

    check(pkt->pts == i * 10 && pkt->dts == i * 10 && pkt->duration == 7, "timestamps", depth);
    check(!!(pkt->flags & AV_PKT_FLAG_KEY), "key frame", depth);
    check(pkt->opaque == (void *)(intptr_t)(i + 100), "opaque", depth);
    if (!strcmp(encoder, "j2k_cuda"))
        check(pkt->size > 100 && !memcmp(pkt->data + 4, "jP  ", 4), "a JP2 file", depth);
    else
        check(pkt->size > 100 && !memcmp(pkt->data, "\xFF\xD8\xFF\xE0", 4) &&
              !memcmp(pkt->data + pkt->size - 2, "\xFF\xD9", 2), "a JPEG file", depth);
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 8, 100)
    if (strcmp(encoder, "j2k_cuda"))
        check(holds(pkt, "Exif\0\0II*", 9) == (i == SPECIAL), "EXIF", depth);
#endif
    check(!most_bytes || pkt->size <= most_bytes, "at most the target", depth);
    check(!memcmp(pkt->data + pkt->size, zeros, sizeof(zeros)), "padding", depth);
    check(!!av_packet_get_side_data(pkt, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, NULL) == (i == SPECIAL), "content light", depth);
    check(!!av_packet_get_side_data(pkt, AV_PKT_DATA_ICC_PROFILE, NULL) == (i == SPECIAL), "ICC profile", depth);
    /* what q= of the command line shows: 90, or nothing where a target decides */
    stats = av_packet_get_side_data(pkt, AV_PKT_DATA_QUALITY_STATS, NULL);
    check(*options ? !stats : stats && AV_RL32(stats) == 90 * FF_QP2LAMBDA, "quality", depth);
}

static void test(int depth, int own)
{
    AVCodecContext *avctx = open_encoder(device, depth, own, NULL, NULL);
    AVPacket *packets[2 * FRAMES], *dropped[2 * FRAMES];
    int count = 0, after = 0, ret = 0;

    check(!!avctx, "opens", depth);
    if (!avctx)
        return;
    own_buffers = 0;

    check(take(avctx, packets, &count) == AVERROR(EAGAIN), "nothing is due at first", depth);
    for (int i = 0; i < FRAMES; i++) {
        check(send(avctx, i) == 0, "takes a frame", depth);
        check(take(avctx, packets, &count) == AVERROR(EAGAIN), "wants another frame", depth);
    }
    check(count >= FFMAX(0, FRAMES - depth + 1), "no more frames in flight than asked for", depth);
    /* What is finished leaves without another frame. */
    for (int i = 0; i < 10000 && count < FRAMES; i++) {
        av_usleep(1000);
        take(avctx, packets, &count);
    }
    check(count == FRAMES, "finished packets leave", depth);
    avcodec_send_frame(avctx, NULL);
    check(take(avctx, packets, &count) == AVERROR_EOF, "ends", depth);
    check(count == FRAMES, "a packet a frame", depth);
    check(own_buffers == (own ? FRAMES : 0), "the caller's buffers", depth);

    /* A flush drops what is in flight, and the encoder goes on. */
    avcodec_flush_buffers(avctx);
    check(take(avctx, dropped, &after) == AVERROR(EAGAIN), "nothing is due after a flush", depth);
    for (int i = 0; i < depth / 2; i++)
        send(avctx, i);
    avcodec_flush_buffers(avctx);
    send(avctx, 5);

    /* A frame of another size or format is refused, and the encoder goes on. */
    take(avctx, dropped, &after);
    for (int i = 0; i < 3; i++) {
        ret = send_as(avctx, 6, i == 2 ? AV_PIX_FMT_YUV444P : AV_PIX_FMT_YUV420P, WIDTH + (i == 0), HEIGHT + (i == 1));
        if (ret >= 0)
            ret = take(avctx, dropped, &after);
        check(ret == AVERROR(EINVAL), i == 2 ? "refuses another format" : "refuses another size", depth);
    }
    avcodec_send_frame(avctx, NULL);
    check(take(avctx, dropped, &after) == AVERROR_EOF, "ends again", depth);
    check(after == 1 && dropped[0]->pts == 50, "one packet after the flush", depth);

    /* Closed with frames in flight. */
    avcodec_flush_buffers(avctx);
    for (int i = 0; i < depth; i++)
        send(avctx, i);
    avcodec_free_context(&avctx);

    /* The packets are still there. */
    for (int i = 0; i < count; i++) {
        check_packet(packets[i], i, depth);
        check(i != 5 || after != 1 || (packets[i]->size == dropped[0]->size &&
                                       !memcmp(packets[i]->data, dropped[0]->data, packets[i]->size)),
              "the same bytes after the flush", depth);
    }
    while (count)
        av_packet_free(&packets[--count]);
    while (after)
        av_packet_free(&dropped[--after]);
}

/* Frames 0 to FRAMES - 1, encoded. */
static int encode_all(const char *device, int depth, AVBufferRef *device_ref, AVBufferRef *frames_ref, AVPacket **packets)
{
    AVCodecContext *avctx = open_encoder(device, depth, 0, device_ref, frames_ref);
    int count = 0;

    if (!avctx)
        return 0;
    for (int i = 0; i < FRAMES; i++) {
        send(avctx, i);
        take(avctx, packets, &count);
    }
    avcodec_send_frame(avctx, NULL);
    take(avctx, packets, &count);
    avcodec_free_context(&avctx);
    return count;
}

/* CUDA frames, and software frames for a given device: the bytes of the CPU, in packets that outlive the encoder and the
 * last reference to device and frames that the caller had. */
static void test_cuda(void)
{
    AVBufferRef *device_ref = NULL, *frames_ref;
    AVHWFramesContext *frames;
    AVPacket *expected[2 * FRAMES], *packets[2][2 * FRAMES];
    int counts[2];

    check(av_hwdevice_ctx_create(&device_ref, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0) >= 0, "a CUDA device", 0);
    if (!device_ref)
        return;
    frames_ref        = av_hwframe_ctx_alloc(device_ref);
    frames            = (AVHWFramesContext *)frames_ref->data;
    frames->format    = AV_PIX_FMT_CUDA;
    frames->sw_format = AV_PIX_FMT_YUV420P;
    frames->width     = WIDTH;
    frames->height    = HEIGHT;
    check(av_hwframe_ctx_init(frames_ref) >= 0, "CUDA frames", 0);

    check(!open_encoder("cpu", 4, 0, NULL, frames_ref) && open_error == AVERROR(EINVAL), "device cpu refuses CUDA frames", 4);
    check(encode_all("cpu", 4, NULL, NULL, expected) == FRAMES, "encodes on the CPU", 4);
    for (int depth = 1; depth <= 16; depth *= 4) {
        AVBufferRef *device_again = av_buffer_ref(device_ref), *frames_again = av_buffer_ref(frames_ref);

        counts[0] = encode_all("auto", depth, NULL, frames_again, packets[0]);
        counts[1] = encode_all("cuda", depth, device_again, NULL, packets[1]);
        av_buffer_unref(&frames_again);
        av_buffer_unref(&device_again);
        if (depth == 16) {
            av_buffer_unref(&frames_ref);
            av_buffer_unref(&device_ref);
        }
        for (int kind = 0; kind < 2; kind++) {
            check(counts[kind] == FRAMES, kind ? "a packet a software frame" : "a packet a CUDA frame", depth);
            for (int i = 0; i < counts[kind]; i++) {
                check_packet(packets[kind][i], i, depth);
                check(packets[kind][i]->size == expected[i]->size &&
                      !memcmp(packets[kind][i]->data, expected[i]->data, expected[i]->size),
                      kind ? "the CPU's bytes from software frames" : "the CPU's bytes from CUDA frames", depth);
                av_packet_free(&packets[kind][i]);
            }
        }
    }
    for (int i = 0; i < FRAMES; i++)
        av_packet_free(&expected[i]);
}

/* Limited range is not JPEG's: software frames of it only where the caller does not insist, and marked; then the matrices. */
static void test_mjpeg(void)
{
    static const int strict[] = { FF_COMPLIANCE_NORMAL, FF_COMPLIANCE_UNOFFICIAL };

    encoder = "mjpeg_cuda";
    for (int i = 0; i < 5; i++) {
        const AVCodec *codec  = avcodec_find_encoder_by_name(encoder);
        AVCodecContext *avctx = avcodec_alloc_context3(codec);
        AVPacket *packets[2 * FRAMES];
        const int gray = i == 4, limited = i < 3, accepted = i != 0;
        int count = 0, ret;

        avctx->width                 = WIDTH;
        avctx->height                = HEIGHT;
        avctx->pix_fmt               = gray ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_YUV420P;
        avctx->color_range           = i < 2 ? AVCOL_RANGE_MPEG : i == 3 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED;
        avctx->time_base             = (AVRational) { 1, 25 };
        avctx->strict_std_compliance = strict[i == 1 || i == 2];
        avctx->intra_matrix          = av_malloc_array(64, sizeof(*avctx->intra_matrix));
        avctx->chroma_intra_matrix   = av_malloc_array(64, sizeof(*avctx->chroma_intra_matrix));
        for (int k = 0; k < 64; k++) {
            avctx->intra_matrix[k]        = 77;
            avctx->chroma_intra_matrix[k] = 88;
        }
        av_opt_set(avctx->priv_data, "device", device, 0);
        av_opt_set_int(avctx->priv_data, "quality", 50, 0);
        ret = avcodec_open2(avctx, codec, NULL);
        check(accepted ? ret >= 0 : ret == AVERROR(EINVAL), accepted ? "accepts the range" : "refuses limited range", i);
        if (ret >= 0) {
            send_as(avctx, 0, avctx->pix_fmt, WIDTH, HEIGHT);
            avcodec_send_frame(avctx, NULL);
            take(avctx, packets, &count);
            check(count == 1, "a packet", i);
            for (int k = 0; k < count; k++) {
                check(holds(packets[k], "CS=ITU601", 10) == limited, "the mark of limited range", i);
                check(holds(packets[k], "MMMMMMMMMMMMMMMM", 16) && holds(packets[k], "XXXXXXXXXXXXXXXX", 16) == !gray, "the matrices", i);
                av_packet_free(&packets[k]);
            }
        }
        avcodec_free_context(&avctx);
    }
}

static int warnings;

static void count_warnings(void *avcl, int level, const char *format, va_list arguments)
{
    warnings += level == AV_LOG_WARNING;
}

/* Gray without a range, with alpha too, has the full one, of which there is nothing to say. That regions of interest have no effect
 * is said once; and that a colour of libavutil's own, which H.273 does not have, is not told. */
static void test_warnings(void)
{
    static const enum AVPixelFormat formats[] = { AV_PIX_FMT_GRAY8, AV_PIX_FMT_YA8 };

    static const char *const encoders[] = { "j2k_cuda", "mjpeg_cuda", "h264_cavlc_cuda" };
    AVPacket *packets[2];
    int count = 0;

    av_log_set_callback(count_warnings);
    for (int i = 0; i < FF_ARRAY_ELEMS(encoders); i++) {
        const AVCodec *codec  = avcodec_find_encoder_by_name(encoders[i]);
        AVCodecContext *avctx = avcodec_alloc_context3(codec);

        avctx->width       = WIDTH;
        avctx->height      = HEIGHT;
        avctx->pix_fmt     = AV_PIX_FMT_YUV420P;
        avctx->color_range = AVCOL_RANGE_JPEG;
        avctx->color_trc   = 256;
        avctx->time_base   = (AVRational) { 1, 25 };
        av_opt_set(avctx->priv_data, "device", device, 0);
        warnings = 0;
        check(avcodec_open2(avctx, codec, NULL) >= 0 && warnings == 1, "a transfer function of libavutil's own", i);
        avcodec_free_context(&avctx);
    }
    encoder = "j2k_cuda";
    for (int i = 0; i < 2; i++) {
        const AVCodec *codec  = avcodec_find_encoder_by_name(encoder);
        AVCodecContext *avctx = avcodec_alloc_context3(codec);

        avctx->width     = WIDTH;
        avctx->height    = HEIGHT;
        avctx->pix_fmt   = formats[i];
        avctx->time_base = (AVRational) { 1, 25 };
        av_opt_set(avctx->priv_data, "device", device, 0);
        warnings = 0;
        check(avcodec_open2(avctx, codec, NULL) >= 0 && !warnings, "gray without a range", i);
        for (int frames = 0; frames < 2; frames++) {
            AVFrame *frame = av_frame_alloc();
            AVFrameSideData *sd;

            frame->format = formats[i];
            frame->width  = WIDTH;
            frame->height = HEIGHT;
            av_frame_get_buffer(frame, 0);
            memset(frame->data[0], 0, frame->linesize[0] * HEIGHT);
            sd = av_frame_new_side_data(frame, AV_FRAME_DATA_REGIONS_OF_INTEREST, sizeof(AVRegionOfInterest));
            *(AVRegionOfInterest *)sd->data = (AVRegionOfInterest) {
                .self_size = sizeof(AVRegionOfInterest), .bottom = HEIGHT, .right = WIDTH, .qoffset = { -1, 8 },
            };
            check(avcodec_send_frame(avctx, frame) >= 0, "regions of interest", frames);
            av_frame_free(&frame);
        }
        avcodec_send_frame(avctx, NULL);
        take(avctx, packets, &count);
        check(count == 2 && warnings == 1, "regions of interest without a target are said once", i);
        while (count)
            av_packet_free(&packets[--count]);
        avcodec_free_context(&avctx);
    }
    av_log_set_callback(av_log_default_callback);
}

/* A flush of the decoder drops what is in flight, and it goes on; as often as asked. */
static void test_decoder(void)
{
    const AVCodec *codec  = avcodec_find_decoder_by_name("mjpeg_cuda");
    AVCodecContext *avctx = avcodec_alloc_context3(codec);
    AVFrame *frame        = av_frame_alloc();
    AVPacket *packets[2 * FRAMES];
    int count;

    encoder = "mjpeg_cuda";
    count   = encode_all("cpu", 4, NULL, NULL, packets);
    check(count == FRAMES, "a packet a frame", 4);
    av_opt_set(avctx->priv_data, "device", device, 0);
    av_opt_set_int(avctx->priv_data, "async_depth", 4, 0);
    check(avcodec_open2(avctx, codec, NULL) >= 0, "the decoder opens", 4);
    for (int round = 0; round < 3; round++) {
        int frames = 0, ret;

        for (int i = 0; i < 3; i++)
            avcodec_send_packet(avctx, packets[i]);
        avcodec_flush_buffers(avctx);
        avcodec_send_packet(avctx, packets[5 + round]);
        avcodec_send_packet(avctx, NULL);
        while ((ret = avcodec_receive_frame(avctx, frame)) >= 0)
            frames += frame->pts == 10 * (5 + round) ? 1 : 100;
        check(ret == AVERROR_EOF && frames == 1, "one frame after a flush of the decoder", round);
        avcodec_flush_buffers(avctx);
    }
    while (count)
        av_packet_free(&packets[--count]);
    av_frame_free(&frame);
    avcodec_free_context(&avctx);
}

/* With low_delay a packet leaves before the next frame. */
static void test_low_delay(void)
{
    AVCodecContext *avctx;
    AVPacket *packets[2 * FRAMES];
    int count = 0;

    encoder = "j2k_cuda";
    options = "flags=+low_delay";
    avctx   = open_encoder(device, 16, 0, NULL, NULL);
    check(!!avctx, "opens", 16);
    for (int i = 0; avctx && i < 3; i++) {
        send(avctx, i);
        take(avctx, packets, &count);
        check(count == i + 1, "a packet before the next frame", 16);
    }
    while (count)
        av_packet_free(&packets[--count]);
    avcodec_free_context(&avctx);
}

/* The size of packet i of H.264, where `name`, of the options or of the codec's own, has another value from frame 4 on;
 * -1: that is refused. */
static int size_after_change(const char *opened, const char *name, int64_t value, int i)
{
    AVCodecContext *avctx;
    AVPacket *packets[2 * FRAMES];
    int count = 0, ret = 0, size = -1;

    encoder = "h264_cavlc_cuda";
    options = opened;
    avctx   = open_encoder(device, 1, 0, NULL, NULL);
    check(!!avctx, "opens", 1);
    for (int n = 0; avctx && ret >= 0 && n < FRAMES; n++) {
        if (n == 4)
            av_opt_set_int(avctx, name, value, AV_OPT_SEARCH_CHILDREN);
        ret = send(avctx, 1);
        if (ret >= 0 && (ret = take(avctx, packets, &count)) == AVERROR(EAGAIN))
            ret = 0;
    }
    if (avctx && ret >= 0)
        size = packets[i]->size;
    while (count)
        av_packet_free(&packets[--count]);
    avcodec_free_context(&avctx);
    return size;
}

/* As with libx264, rates change between two frames. */
static void test_changes(void)
{
    check(size_after_change("qp=45", "qp", 45, 9) > 0, "codes", 1);
    check(size_after_change("qp=45", "qp", 10, 3) == size_after_change("qp=45", "qp", 45, 3), "qp: before", 1);
    check(size_after_change("qp=45", "qp", 10, 9) > 2 * size_after_change("qp=45", "qp", 45, 9), "qp", 1);
    check(size_after_change("crf=45", "crf", 10, 9) > 2 * size_after_change("crf=45", "crf", 45, 9), "crf", 1);
    check(2 * size_after_change("b=100k", "b", 350000, 9) > 3 * size_after_change("b=100k", "b", 100000, 9), "b", 1);
    check(size_after_change("qp=45", "b", 100000, 9) == -1, "b with qp is refused", 1);
}

static uint8_t *add_side_data(AVFrame *frame, enum AVFrameSideDataType type, size_t size)
{
    uint8_t *data = av_frame_new_side_data(frame, type, size)->data;

    memset(data, 0, size);
    return data;
}

/* The SEI messages of H.264: what frames have too much or too little of; and timecodes above 30 frames/s, where the bit that tells
 * two frames of a number apart depends on the rate. One that the rate does not have is left out. */
static void test_messages(void)
{
    static const struct {
        int rate, frame;
    } timecodes[] = { { 25, 24 }, { 50, 37 }, { 50, 48 }, { 60, 59 }, { 60, 58 }, { 25, 25 } };

    encoder = "h264_cavlc_cuda";
    for (int i = 0; i < FF_ARRAY_ELEMS(timecodes); i++) {
        const char picture_timing[3] = { 0x09, 0x04, timecodes[i].frame };
        AVFrame *frame = av_frame_alloc();
        AVCodecContext *avctx;
        AVMasteringDisplayMetadata *display;
        AVPacket *packets[2 * FRAMES];
        uint32_t *timecode;
        int count = 0;

        options = "s12m_tc=1:udu_sei=1";
        rate    = timecodes[i].rate;
        avctx   = open_encoder(device, 1, 0, NULL, NULL);
        check(!!avctx, "opens", 1);
        if (!avctx)
            return;
        frame->format = AV_PIX_FMT_YUV420P;
        frame->width  = WIDTH;
        frame->height = HEIGHT;
        av_frame_get_buffer(frame, 0);
        for (int p = 0; p < 3; p++)
            memset(frame->data[p], 128, frame->linesize[p] * (p ? HEIGHT / 2 : HEIGHT));
        timecode    = (uint32_t *)add_side_data(frame, AV_FRAME_DATA_S12M_TIMECODE, 16);
        timecode[0] = 1;
        timecode[1] = av_timecode_get_smpte(avctx->framerate, 0, 1, 2, 3, timecodes[i].frame);
        add_side_data(frame, AV_FRAME_DATA_A53_CC, 100); /* 33 triples and a byte */
        add_side_data(frame, AV_FRAME_DATA_SEI_UNREGISTERED, 5);
        display = (AVMasteringDisplayMetadata *)add_side_data(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, sizeof(*display));
        display->has_primaries = 1;
        display->has_luminance = i; /* half of it cannot be told */
        avcodec_send_frame(avctx, frame);
        avcodec_send_frame(avctx, NULL);
        take(avctx, packets, &count);
        check(count == 1, "takes all side data", 1);
        if (count) {
            check(holds(packets[0], picture_timing, 3) == (timecodes[i].frame < rate), "the timecode", timecodes[i].frame);
            check(holds(packets[0], "GA94\3\x5F", 6), "31 captions", 1);
            check(holds(packets[0], "\x89\x18", 2) == !!i, "the mastering display", i);
            av_packet_free(&packets[0]);
        }
        av_frame_free(&frame);
        avcodec_free_context(&avctx);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *encoder, *options;
        int most_bytes;
    } cases[] = {
        { "j2k_cuda", "" },
        { "j2k_cuda", "cblk_style=bypass+reset+termall+vsc+segsym:b=300k", 1500 },
        { "j2k_cuda", "pred=dwt53:layers=3:rate_control=psb:frame_bytes=1200", 1200 },
        { "mjpeg_cuda", "" },
    };

    if (argc > 1)
        device = argv[1];
    av_log_set_level(AV_LOG_FATAL); /* what is refused here is refused on purpose */
    for (int i = 0; i < FF_ARRAY_ELEMS(cases); i++) {
        encoder    = cases[i].encoder;
        options    = cases[i].options;
        most_bytes = cases[i].most_bytes;
        for (int depth = 1; depth <= 16; depth *= *options ? 4 : 2)
            for (int own = 0; own < (*options ? 1 : 2); own++)
                test(depth, own);
        if (!strncmp(device, "cuda", 4))
            test_cuda();
    }
    options    = "";
    most_bytes = 0;
    test_mjpeg();
    test_warnings();
    test_decoder();
    test_low_delay();
    test_changes();
    test_messages();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
