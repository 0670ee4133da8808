/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cudaenc: glue between libavcodec and the cudaenc library
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

#ifndef AVCODEC_CUDAENC_GLUE_H
#define AVCODEC_CUDAENC_GLUE_H

#include <stddef.h>

#include <cudaenc.h>

#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/opt.h"

#include "avcodec.h"
#include "hwconfig.h"

/** What every encoder has; the first member of its private context. */
typedef struct FFCudaencContext {
    const AVClass *class;
    /* options */
    char *device;
    int async_depth;
    int a53cc; /* of encoders whose streams have SEI messages: which ones */
    int udu_sei;
    int s12m_tc;

    CudaencSession *session;
    /** The owner of the session's CUDA context; NULL: the library. */
    AVBufferRef *device_ref;
    /** Frames in flight, the oldest at first_frame. The library reads a frame
     *  until its packet is received. */
    AVFrame *frames[CUDAENC_MAX_ASYNC_DEPTH];
    int first_frame;
    int nb_frames;
    int draining;
    /** What a rate control counts frames by; 0/x: nothing does. */
    AVRational frame_rate;
    int64_t last_pts;
    enum CudaencFields fields; /**< of the session */
    int fields_warned;
    int roi_warned;
    int matrix_warned;
    int timecode_warned;
    int alpha_warned;
    int (*before_frame)(AVCodecContext *avctx); /**< set by a codec whose options may change between frames */
} FFCudaencContext;

#define CUDAENC_OPTION_FLAGS (AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_ENCODING_PARAM)

#define CUDAENC_COMMON_OPTIONS                                                                    \
    { "device", "Where to encode: auto (a GPU, else the CPU), cpu, cuda or cuda:N",               \
      offsetof(FFCudaencContext, device), AV_OPT_TYPE_STRING, { .str = "auto" }, 0, 0,            \
      CUDAENC_OPTION_FLAGS },                                                                     \
    { "async_depth", "Frames in flight: more fill a GPU better and take more memory; "            \
      "0: 4, of H.264 on a CPU 1.5 a thread",                                                     \
      offsetof(FFCudaencContext, async_depth), AV_OPT_TYPE_INT, { .i64 = 0 }, 0,                  \
      CUDAENC_MAX_ASYNC_DEPTH, CUDAENC_OPTION_FLAGS }

#define CUDAENC_CONST(name, help, value, unit_) \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, 0, 0, CUDAENC_OPTION_FLAGS, .unit = unit_ }

#define CUDAENC_CLASS(name, options) \
    { .class_name = name, .item_name = av_default_item_name, .option = options, .version = LIBAVUTIL_VERSION_INT }

/** The fields of FFCodec that all encoders have alike. */
#define CUDAENC_ENCODER                                                               \
    .p.type         = AVMEDIA_TYPE_VIDEO,                                             \
    .p.capabilities = AV_CODEC_CAP_DR1 | AV_CODEC_CAP_DELAY | AV_CODEC_CAP_HYBRID |   \
                      AV_CODEC_CAP_OTHER_THREADS | AV_CODEC_CAP_ENCODER_FLUSH |       \
                      AV_CODEC_CAP_ENCODER_REORDERED_OPAQUE,                          \
    .p.wrapper_name = "cudaenc",                                                      \
    FF_CODEC_RECEIVE_PACKET_CB(ff_cudaenc_receive_packet),                            \
    .flush          = ff_cudaenc_flush,                                               \
    .hw_configs     = ff_cudaenc_hw_configs

extern const AVCodecHWConfigInternal *const ff_cudaenc_hw_configs[];

/** The AVERROR of a code of the library. */
int ff_cudaenc_error(int code);

/** A CudaencLog whose opaque is an AVCodecContext. */
void ff_cudaenc_log(void *avctx, CudaencLogLevel level, const char *line);

/**
 * Open the session.
 *
 * @param config from cudaenc_config_defaults(), with the codec's options set;
 *               the rest is filled in here
 */
int ff_cudaenc_init(AVCodecContext *avctx, CudaencConfig *config);

int ff_cudaenc_receive_packet(AVCodecContext *avctx, AVPacket *pkt);

/** Drop the frames in flight; encoding can go on. */
void ff_cudaenc_flush(AVCodecContext *avctx);

int ff_cudaenc_close(AVCodecContext *avctx);

/**
 * The quality to code with: the option when it was set (not negative), else
 * what -q:v or -global_quality asks for, else fallback.
 *
 * @return 1..100, or an error, logged, when they ask for more or less
 */
int ff_cudaenc_quality(AVCodecContext *avctx, int option, int fallback);

/** Frames a second; 0/1 where neither the frame rate nor the time base tells. */
AVRational ff_cudaenc_known_frame_rate(const AVCodecContext *avctx);

/**
 * Frames a second, for what -b:v and its like give a frame. Where filters such
 * as setpts have lost them and no time base tells, they are 25, as FFmpeg takes
 * them; a warning says so.
 */
AVRational ff_cudaenc_frame_rate(AVCodecContext *avctx);

#endif /* AVCODEC_CUDAENC_GLUE_H */
