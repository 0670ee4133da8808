/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encodes frames through libavcodec, in CUDA memory or in the host's: sends, receives, drains, and times packets.
 *   cc encode_hwframes.c -o encode_hwframes $(pkg-config --cflags --libs libavcodec libavutil)
 *   encode_hwframes j2k_cuda cuda|cpu OUT.j2c     25 frames of a moving gradient, one packet behind the other */
#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 352, HEIGHT = 288, FRAMES = 25 };
static const enum AVPixelFormat FORMAT = AV_PIX_FMT_YUV420P; /* of the pixels, wherever they are; full range */

/* The encoder takes frames in GPU memory: the context says so, and a pool of such frames comes with it. */
static int use_cuda_frames(AVCodecContext *encoder) {
    AVBufferRef *device = NULL;
    int error = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0);
    if (error < 0) return error;
    encoder->hw_frames_ctx = av_hwframe_ctx_alloc(device);
    av_buffer_unref(&device);
    if (!encoder->hw_frames_ctx) return AVERROR(ENOMEM);
    AVHWFramesContext *frames = (AVHWFramesContext *)encoder->hw_frames_ctx->data;
    frames->format = encoder->pix_fmt = AV_PIX_FMT_CUDA;
    frames->sw_format = FORMAT;
    frames->width = WIDTH, frames->height = HEIGHT;
    return av_hwframe_ctx_init(encoder->hw_frames_ctx);
}

/* A frame with pixels of its own: the encoder may still read the one before. */
static AVFrame *make_frame(const AVCodecContext *encoder, int number) {
    AVFrame *frame = av_frame_alloc(), *uploaded = av_frame_alloc();
    if (!frame || !uploaded) return NULL;
    frame->format = FORMAT;
    frame->width = WIDTH, frame->height = HEIGHT;
    if (av_frame_get_buffer(frame, 0) < 0) return NULL;
    for (int plane = 0; plane < 3; plane++)
        for (int y = 0; y < (plane ? HEIGHT / 2 : HEIGHT); y++)
            for (int x = 0; x < (plane ? WIDTH / 2 : WIDTH); x++)
                frame->data[plane][y * frame->linesize[plane] + x] = (uint8_t)(x + y * (plane + 1) + 3 * number);
    if (encoder->hw_frames_ctx) {
        if (av_hwframe_get_buffer(encoder->hw_frames_ctx, uploaded, 0) < 0 ||
            av_hwframe_transfer_data(uploaded, frame, 0) < 0)
            return NULL;
        av_frame_free(&frame);
        frame = uploaded;
    } else {
        av_frame_free(&uploaded);
    }
    frame->color_range = AVCOL_RANGE_JPEG;
    frame->pts = number;
    return frame;
}

/* Sends a frame, or NULL, after which packets come until AVERROR_EOF; writes the packets that are ready. */
static int encode(AVCodecContext *encoder, AVFrame *frame, AVPacket *packet, FILE *output) {
    int error = avcodec_send_frame(encoder, frame);
    while (error >= 0 && (error = avcodec_receive_packet(encoder, packet)) >= 0) {
        printf("pts %2d: %d bytes\n", (int)packet->pts, packet->size);
        if (fwrite(packet->data, 1, (size_t)packet->size, output) != (size_t)packet->size) error = AVERROR(EIO);
        av_packet_unref(packet);
    }
    return error == AVERROR(EAGAIN) || (!frame && error == AVERROR_EOF) ? 0 : error;
}

int main(int argc, char **argv) {
    const AVCodec *codec = argc == 4 ? avcodec_find_encoder_by_name(argv[1]) : NULL;
    if (!codec) {
        fprintf(stderr, "usage: encode_hwframes j2k_cuda|mjpeg_cuda|h264_cavlc_cuda cuda|cpu OUT\n");
        return 2;
    }
    const int cuda = !strcmp(argv[2], "cuda");
    AVCodecContext *encoder = avcodec_alloc_context3(codec);
    AVPacket *packet = av_packet_alloc();
    FILE *output = fopen(argv[3], "wb");
    if (!encoder || !packet || !output) return 1;
    encoder->width = WIDTH, encoder->height = HEIGHT;
    encoder->pix_fmt = FORMAT;
    encoder->color_range = AVCOL_RANGE_JPEG;
    encoder->time_base = (AVRational){1, 25}; /* of pts */
    encoder->framerate = (AVRational){25, 1};
    av_opt_set_int(encoder->priv_data, "async_depth", 8, 0);
    av_opt_set(encoder->priv_data, "format", "j2k", 0); /* JPEG 2000: codestreams, which follow each other */
    if (!cuda) av_opt_set(encoder->priv_data, "device", "cpu", 0);
    int error = cuda ? use_cuda_frames(encoder) : 0;
    if (error >= 0) error = avcodec_open2(encoder, codec, NULL);
    for (int n = 0; n < FRAMES && error >= 0; n++) {
        AVFrame *frame = make_frame(encoder, n);
        error = frame ? encode(encoder, frame, packet, output) : AVERROR(ENOMEM);
        av_frame_free(&frame); /* the encoder holds what it needs */
    }
    if (error >= 0) error = encode(encoder, NULL, packet, output);
    if (error < 0) fprintf(stderr, "%s: %s\n", argv[1], av_err2str(error));
    av_packet_free(&packet);
    avcodec_free_context(&encoder);
    return fclose(output) || error < 0;
}
