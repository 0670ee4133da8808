/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cudaenc: what differs between the FFmpeg branches that the encoders build in
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

/**
 * @file
 * All conditions on FFmpeg versions; other files are written for the newest
 * branch.
 */

#ifndef AVCODEC_CUDAENC_COMPAT_H
#define AVCODEC_CUDAENC_COMPAT_H

#include "config.h"
#include "config_components.h"

#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"
#include "libavutil/version.h"

#include "avcodec.h"
#include "codec_internal.h"
#include "decode.h"
#include "encode.h"
#include "packet.h"
#include "version.h"

#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(60, 26, 100)
#include "internal.h" /* ff_get_format(), ff_get_buffer(), ff_add_cpb_side_data() */
#endif
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 10, 100)
#include "exif_internal.h" /* ff_decode_exif_attach_ifd() */
#else
#include "bytestream.h"
#include "libavcodec/exif.h" /* not the library's */
#include "tiff_common.h" /* ff_tdecode_header() */
#endif
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(62, 16, 0)
#include "packet_internal.h" /* ff_side_data_set_encoder_stats() */
#endif

#if CONFIG_CUDA
#include "libavutil/hwcontext_cuda_internal.h"
#endif

#ifndef CODEC_LONG_NAME /* 5.1 */
#define CODEC_LONG_NAME(str) .p.long_name = NULL_IF_CONFIG_SMALL(str)
#endif

#ifndef CODEC_PIXFMTS /* up to 7.1 */
#define CODEC_PIXFMTS(...) \
    .p.pix_fmts = (const enum AVPixelFormat[]) { __VA_ARGS__, AV_PIX_FMT_NONE }
#endif

/* Ranges are negotiated from 7.1 on; earlier branches accept both. */
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 19, 100)
#define CUDAENC_COLOR_RANGES .color_ranges = AVCOL_RANGE_MPEG | AVCOL_RANGE_JPEG,
#else
#define CUDAENC_COLOR_RANGES
#endif

/* JPEG has full range. FFmpeg must convert software frames of limited range,
 * unless the caller relaxes the standard; frames in GPU memory it cannot. As
 * ranges are negotiated for all formats together, the list of formats enforces
 * it: software formats in `formats` imply full range. Before 7.1 there are no
 * others. */
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 19, 100)
static inline int cudaenc_jpeg_supported_config(const AVCodecContext *avctx, const AVCodec *codec,
                                                const enum AVPixelFormat *formats, int nb_formats,
                                                enum AVCodecConfig config, unsigned flags,
                                                const void **out, int *out_num)
{
    if (config != AV_CODEC_CONFIG_PIX_FORMAT || !avctx || avctx->color_range == AVCOL_RANGE_JPEG ||
        avctx->strict_std_compliance <= FF_COMPLIANCE_UNOFFICIAL)
        return ff_default_get_supported_config(avctx, codec, config, flags, out, out_num);
    *out     = formats;
    *out_num = nb_formats;
    return 0;
}
#define CUDAENC_GET_SUPPORTED_CONFIG(function) .get_supported_config = function,
#define CUDAENC_HAVE_SUPPORTED_CONFIG 1
#define CUDAENC_JPEG_FMT_LIMITED \
    AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P, \
    AV_PIX_FMT_NV12, AV_PIX_FMT_NV16, AV_PIX_FMT_NV24,
#else
#define CUDAENC_JPEG_FMT_LIMITED
#define CUDAENC_GET_SUPPORTED_CONFIG(function)
#define CUDAENC_HAVE_SUPPORTED_CONFIG 0
#endif

#ifndef AV_PROFILE_UNKNOWN /* 5.1 */
#define AV_PROFILE_JPEG2000_DCINEMA_2K        FF_PROFILE_JPEG2000_DCINEMA_2K
#define AV_PROFILE_JPEG2000_DCINEMA_4K        FF_PROFILE_JPEG2000_DCINEMA_4K
#define AV_PROFILE_MJPEG_HUFFMAN_BASELINE_DCT FF_PROFILE_MJPEG_HUFFMAN_BASELINE_DCT
#endif

#ifndef FF_CODEC_CAP_ICC_PROFILES /* 5.1 */
#define FF_CODEC_CAP_ICC_PROFILES 0
#endif

#ifndef AV_PIX_FMT_FLAG_XYZ /* 5.1 */
#define AV_PIX_FMT_FLAG_XYZ 0
#endif

/* The last format of a list, which ends one format earlier without CUDA. */
#if CONFIG_CUDA
#define CUDAENC_FMT_CUDA AV_PIX_FMT_CUDA
#else
#define CUDAENC_FMT_CUDA AV_PIX_FMT_NONE
#endif

/* Formats that a branch lacks are left out of lists. */
#ifdef AV_PIX_FMT_P012
#define CUDAENC_FMT_P012 AV_PIX_FMT_P012,
#else
#define CUDAENC_FMT_P012
#endif
#ifdef AV_PIX_FMT_P212
#define CUDAENC_FMT_P212 AV_PIX_FMT_P212,
#else
#define CUDAENC_FMT_P212
#endif
#ifdef AV_PIX_FMT_GBRAP14
#define CUDAENC_FMT_GBRAP14 AV_PIX_FMT_GBRAP14,
#else
#define CUDAENC_FMT_GBRAP14
#endif

static inline int cudaenc_is_xyz(enum AVPixelFormat fmt,
                                 const AVPixFmtDescriptor *desc)
{
    /* 5.1 has no flag for it, and no other XYZ format */
    return desc->flags & AV_PIX_FMT_FLAG_XYZ || fmt == AV_PIX_FMT_XYZ12;
}

static inline void cudaenc_set_interlaced(AVFrame *frame, int top_field_first)
{
#ifdef AV_FRAME_FLAG_INTERLACED
    frame->flags |= AV_FRAME_FLAG_INTERLACED;
    if (top_field_first)
        frame->flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
    frame->interlaced_frame = 1;
    frame->top_field_first  = top_field_first;
#endif
}

static inline int cudaenc_is_top_field_first(const AVFrame *frame)
{
#ifdef AV_FRAME_FLAG_TOP_FIELD_FIRST
    return !!(frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST);
#else
    return frame->top_field_first;
#endif
}

static inline int cudaenc_is_interlaced(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
    return !!(frame->flags & AV_FRAME_FLAG_INTERLACED);
#else
    return frame->interlaced_frame;
#endif
}

/** @return NULL when there is no memory */
static inline AVCPBProperties *cudaenc_add_cpb_side_data(AVCodecContext *avctx)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 26, 100)
    return ff_encode_add_cpb_side_data(avctx);
#else
    return ff_add_cpb_side_data(avctx);
#endif
}

/** What `q=` of the command line shows. 8.1's call is missing in trees soon after 8.0. */
static inline int cudaenc_add_quality(AVPacket *pkt, int quality, enum AVPictureType type)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(62, 16, 0)
    return ff_encode_add_stats_side_data(pkt, quality, NULL, 0, type);
#else
    return ff_side_data_set_encoder_stats(pkt, quality, NULL, 0, type);
#endif
}

static inline int64_t cudaenc_frame_duration(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

/** Implements AV_CODEC_CAP_ENCODER_REORDERED_OPAQUE. */
static inline int cudaenc_reordered_opaque(AVCodecContext *avctx, AVPacket *pkt,
                                           const AVFrame *frame)
{
#if LIBAVCODEC_VERSION_MAJOR >= 60
    return ff_encode_reordered_opaque(avctx, pkt, frame);
#else
    avctx->reordered_opaque = frame->reordered_opaque;
    return 0;
#endif
}

/** A TIFF structure; up to 8.0 there is no such side data. */
static inline const AVFrameSideData *cudaenc_exif(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 10, 100)
    return av_frame_get_side_data(frame, AV_FRAME_DATA_EXIF);
#else
    return NULL;
#endif
}

/** Gives a frame the tags of a TIFF structure as metadata; from 8.1 on the structure too, without the orientation, which
 * is a display matrix. */
static inline int cudaenc_attach_exif(AVCodecContext *avctx, AVFrame *frame, const uint8_t *tiff, size_t size)
{
    int ret;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 10, 100)
    AVExifMetadata tags = { 0 };

    ret = av_exif_parse_buffer(avctx, tiff, size, &tags, AV_EXIF_TIFF_HEADER);
    if (ret >= 0)
        ret = av_exif_remove_entry(avctx, &tags, av_exif_get_tag_id("Orientation"), 0);
    if (ret >= 0)
        ret = ff_decode_exif_attach_ifd(avctx, frame, &tags);
    av_exif_free(&tags);
#else
    GetByteContext bytes;
    int is_little_endian, offset;

    bytestream2_init(&bytes, tiff, size);
    ret = ff_tdecode_header(&bytes, &is_little_endian, &offset);
    if (ret >= 0) {
        bytestream2_seek(&bytes, offset, SEEK_SET);
        ret = ff_exif_decode_ifd(avctx, &bytes, is_little_endian, 0, &frame->metadata);
    }
#endif
    return ret;
}

/** Whether colours of a frame with alpha are multiplied by it; up to 8.0 frames do not tell. */
static inline int cudaenc_is_premultiplied(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(60, 11, 100)
    return frame->alpha_mode == AVALPHA_MODE_PREMULTIPLIED;
#else
    return 0;
#endif
}

/** Side data of the stream, for frames without their own. */
static inline const AVFrameSideData *
cudaenc_stream_side_data(const AVCodecContext *avctx, enum AVFrameSideDataType type)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 2, 100)
    for (int i = 0; i < avctx->nb_decoded_side_data; i++)
        if (avctx->decoded_side_data[i]->type == type)
            return avctx->decoded_side_data[i];
#endif
    return NULL;
}

/** Side data of a decoded frame; *sd is NULL where the caller has better ones. */
static inline int cudaenc_new_side_data(const AVCodecContext *avctx, AVFrame *frame,
                                        enum AVFrameSideDataType type, size_t size, AVFrameSideData **sd)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 2, 100)
    return ff_frame_new_side_data(avctx, frame, type, size, sd);
#else
    *sd = av_frame_new_side_data(frame, type, size);
    return *sd ? 0 : AVERROR(ENOMEM);
#endif
}

/** 5.1 gives a frame what it knows of the oldest packet in flight. No branch gives the decoding time to frames of
 * receive_frame(), where a presentation time may be missing. */
static inline void cudaenc_set_packet_props(AVFrame *frame, const AVPacket *pkt)
{
    frame->pkt_dts = pkt->dts;
#if LIBAVCODEC_VERSION_MAJOR < 60
    frame->pts          = pkt->pts;
    frame->pkt_pos      = pkt->pos;
    frame->pkt_duration = pkt->duration;
    frame->pkt_size     = pkt->size;
#endif
}

static inline void cudaenc_set_key_frame(AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
    frame->flags |= AV_FRAME_FLAG_KEY;
#else
    frame->key_frame = 1;
#endif
}

#endif /* AVCODEC_CUDAENC_COMPAT_H */
