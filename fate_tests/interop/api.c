/*
 * The encoders through libavcodec's API, where the ffmpeg command does not go: timing of packets, flush, buffers of the caller's
 * own, packets that outlive the encoder, an encoder that is closed while frames are in flight.
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/time.h>

/* FFmpeg does not upload the last chroma row of an odd height. */
enum { WIDTH = 63, HEIGHT = 48, FRAMES = 10, SPECIAL = 3 };
static const char *device = "cpu", *encoder, *options = "";
static int most_bytes; /* of a packet, by these options; 0: any */
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

/* Sends frame number i. */
static int send(AVCodecContext *avctx, int i, int width)
{
    AVFrame *frame = av_frame_alloc(), *uploaded = NULL;
    int ret;

    frame->format   = AV_PIX_FMT_YUV420P;
    frame->width    = width;
    frame->height   = HEIGHT;
    av_frame_get_buffer(frame, 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? (HEIGHT + 1) / 2 : HEIGHT); y++)
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
        check(send(avctx, i, WIDTH) == 0, "takes a frame", depth);
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
        send(avctx, i, WIDTH);
    avcodec_flush_buffers(avctx);
    send(avctx, 5, WIDTH);

    /* A frame of another size is refused, and the encoder goes on. */
    take(avctx, dropped, &after);
    ret = send(avctx, 6, WIDTH + 1);
    if (ret >= 0)
        ret = take(avctx, dropped, &after);
    check(ret == AVERROR(EINVAL), "refuses another size", depth);
    avcodec_send_frame(avctx, NULL);
    check(take(avctx, dropped, &after) == AVERROR_EOF, "ends again", depth);
    check(after == 1 && dropped[0]->pts == 50, "one packet after the flush", depth);

    /* Closed with frames in flight. */
    avcodec_flush_buffers(avctx);
    for (int i = 0; i < depth; i++)
        send(avctx, i, WIDTH);
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
        send(avctx, i, WIDTH);
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
    for (int i = 0; i < 4; i++) {
        const AVCodec *codec  = avcodec_find_encoder_by_name(encoder);
        AVCodecContext *avctx = avcodec_alloc_context3(codec);
        AVPacket *packets[2 * FRAMES];
        const int limited = i < 3, accepted = i != 0;
        int count = 0, ret;

        avctx->width                 = WIDTH;
        avctx->height                = HEIGHT;
        avctx->pix_fmt               = AV_PIX_FMT_YUV420P;
        avctx->color_range           = i < 2 ? AVCOL_RANGE_MPEG : i == 2 ? AVCOL_RANGE_UNSPECIFIED : AVCOL_RANGE_JPEG;
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
            send(avctx, 0, WIDTH);
            avcodec_send_frame(avctx, NULL);
            take(avctx, packets, &count);
            check(count == 1, "a packet", i);
            for (int k = 0; k < count; k++) {
                check(holds(packets[k], "CS=ITU601", 10) == limited, "the mark of limited range", i);
                check(holds(packets[k], "MMMMMMMMMMMMMMMM", 16) && holds(packets[k], "XXXXXXXXXXXXXXXX", 16), "the matrices", i);
                av_packet_free(&packets[k]);
            }
        }
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
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
