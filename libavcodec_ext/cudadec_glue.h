/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cudaenc: glue between libavcodec and the decoders of the cudaenc library
 * Copyright (c) 2026 the cudaenc developers
 *
 * This file is part of cudaenc and is built as a part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

#ifndef AVCODEC_CUDADEC_GLUE_H
#define AVCODEC_CUDADEC_GLUE_H

#include <stddef.h>

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

/** What every decoder has; the first member of its private context, which begins as zeros. */
typedef struct FFCudadecContext {
    const AVClass *class;
    /* options */
    char *device;
    int async_depth;
    int layers;           /**< of JPEG 2000 */
    char *region;         /**< the same */
    char *channels;       /**< the same */

    CudaencCodec codec;
    CudaencDecoder *decoder;
    int device_frames;    /* the decoder's mode */
    int decoder_fields;   /**< for which the decoder was opened */
    int depth;            /**< packets in flight of the decoder that was opened last */
    AVBufferRef *device_ref;
    int container_width;  /**< 0: not known */
    int container_height;
    /** Of the pictures, as software frames have it. FFmpeg overwrites avctx->sw_pix_fmt. */
    enum AVPixelFormat software;
    /** The packet that comes next; it waits while pictures of another mode leave. */
    AVPacket *pkt;
    int fields;           /**< its pictures: 1, or 2 of half the container's height */
    int missing;          /**< the second of them, in whose place the first one is */
    int bottom_first;     /**< the first one is the bottom field */
    int top_shown_first;
    size_t first_size;    /**< bytes of the first one */
    /** Pictures in flight with their packets, the oldest at first_frame. */
    struct {
        AVPacket *pkt;
        AVFrame *frame;
        int missing;
    } ring[CUDAENC_MAX_ASYNC_DEPTH];
    int first_frame;
    int nb_frames;
    int draining;
} FFCudadecContext;

#define CUDADEC_OPTION_FLAGS (AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_DECODING_PARAM)

#define CUDADEC_COMMON_OPTIONS                                                                    \
    { "device", "Where to decode: auto (a GPU, else the CPU), cpu, cuda or cuda:N",               \
      offsetof(FFCudadecContext, device), AV_OPT_TYPE_STRING, { .str = "auto" }, 0, 0,            \
      CUDADEC_OPTION_FLAGS },                                                                     \
    { "async_depth", "Pictures in flight: more fill a GPU better and take more memory; "          \
      "0: 4, on a CPU 1.5 a thread",                                                              \
      offsetof(FFCudadecContext, async_depth), AV_OPT_TYPE_INT, { .i64 = 0 }, 0,                  \
      CUDAENC_MAX_ASYNC_DEPTH, CUDADEC_OPTION_FLAGS }

/** The fields of FFCodec that all decoders have alike. */
#define CUDADEC_DECODER                                                                           \
    .p.type         = AVMEDIA_TYPE_VIDEO,                                                         \
    .p.capabilities = AV_CODEC_CAP_DR1 | AV_CODEC_CAP_DELAY | AV_CODEC_CAP_AVOID_PROBING |        \
                      AV_CODEC_CAP_HYBRID | AV_CODEC_CAP_OTHER_THREADS,                           \
    .p.wrapper_name = "cudaenc",                                                                  \
    FF_CODEC_RECEIVE_FRAME_CB(ff_cudadec_receive_frame),                                          \
    .flush          = ff_cudadec_flush,                                                           \
    .close          = ff_cudadec_close,                                                           \
    .hw_configs     = ff_cudadec_hw_configs,                                                      \
    .caps_internal  = FF_CODEC_CAP_INIT_CLEANUP | FF_CODEC_CAP_AUTO_THREADS | FF_CODEC_CAP_ICC_PROFILES

extern const AVCodecHWConfigInternal *const ff_cudadec_hw_configs[];

/** Open the decoder. A device that is not there is an error here, not one a packet. */
int ff_cudadec_init(AVCodecContext *avctx, CudaencCodec codec);

int ff_cudadec_receive_frame(AVCodecContext *avctx, AVFrame *frame);

/** Drop the pictures in flight; decoding can go on. */
void ff_cudadec_flush(AVCodecContext *avctx);

int ff_cudadec_close(AVCodecContext *avctx);

#endif /* AVCODEC_CUDADEC_GLUE_H */
