/*
 * j2k_cuda through libavcodec's API, where the ffmpeg command does not go: timing of packets, flush, buffers of the caller's
 * own, packets that outlive the encoder, an encoder that is closed while frames are in flight.
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <stdio.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>

enum { WIDTH = 63, HEIGHT = 47, FRAMES = 10, SPECIAL = 3 };
static const char *device = "cpu";
static int passed, failed, own_buffers;

static void check(int good, const char *what, int depth)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED async_depth %d: %s\n", depth, what);
}

static int own_get_encode_buffer(AVCodecContext *avctx, AVPacket *pkt, int flags)
{
    own_buffers++;
    return avcodec_default_get_encode_buffer(avctx, pkt, flags);
}

static AVCodecContext *open_encoder(int depth, int own)
{
    const AVCodec *codec  = avcodec_find_encoder_by_name("j2k_cuda");
    AVCodecContext *avctx = avcodec_alloc_context3(codec);

    avctx->width     = WIDTH;
    avctx->height    = HEIGHT;
    avctx->pix_fmt   = AV_PIX_FMT_YUV420P;
    avctx->time_base = (AVRational) { 1, 25 };
    avctx->flags    |= AV_CODEC_FLAG_COPY_OPAQUE | AV_CODEC_FLAG_FRAME_DURATION;
    if (own)
        avctx->get_encode_buffer = own_get_encode_buffer;
    av_opt_set(avctx->priv_data, "device", device, 0);
    av_opt_set_int(avctx->priv_data, "async_depth", depth, 0);
    if (avcodec_open2(avctx, codec, NULL) < 0)
        avcodec_free_context(&avctx);
    return avctx;
}

/* Sends frame number i. */
static int send(AVCodecContext *avctx, int i, int width)
{
    AVFrame *frame = av_frame_alloc();
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
    }
    ret = avcodec_send_frame(avctx, frame);
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

static void check_packet(const AVPacket *pkt, int i, int depth)
{
    static const uint8_t zeros[AV_INPUT_BUFFER_PADDING_SIZE];

    check(pkt->pts == i * 10 && pkt->dts == i * 10 && pkt->duration == 7, "timestamps", depth);
    check(!!(pkt->flags & AV_PKT_FLAG_KEY), "key frame", depth);
    check(pkt->opaque == (void *)(intptr_t)(i + 100), "opaque", depth);
    check(pkt->size > 100 && !memcmp(pkt->data + 4, "jP  ", 4), "a JP2 file", depth);
    check(!memcmp(pkt->data + pkt->size, zeros, sizeof(zeros)), "padding", depth);
    check(!!av_packet_get_side_data(pkt, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, NULL) == (i == SPECIAL), "content light", depth);
    check(!!av_packet_get_side_data(pkt, AV_PKT_DATA_ICC_PROFILE, NULL) == (i == SPECIAL), "ICC profile", depth);
}

static void test(int depth, int own)
{
    AVCodecContext *avctx = open_encoder(depth, own);
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
    check(count == FFMAX(0, FRAMES - depth + 1), "as many frames in flight as asked for", depth);
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

int main(int argc, char **argv)
{
    if (argc > 1)
        device = argv[1];
    av_log_set_level(AV_LOG_FATAL); /* what is refused here is refused on purpose */
    for (int depth = 1; depth <= 16; depth *= 2)
        for (int own = 0; own < 2; own++)
            test(depth, own);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
