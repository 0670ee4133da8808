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

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "bytestream.h"

#include "libavutil/avstring.h"
#include "libavutil/common.h"
#include "libavutil/dict.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mastering_display_metadata.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/timestamp.h"

const AVCodecHWConfigInternal *const ff_cudaenc_hw_configs[] = {
#if CONFIG_CUDA
    HW_CONFIG_ENCODER_FRAMES(CUDA, CUDA),
    HW_CONFIG_ENCODER_DEVICE(NONE, CUDA),
#endif
    NULL,
};

int ff_cudaenc_error(int code)
{
    switch (code) {
    case CUDAENC_OK:              return 0;
    case CUDAENC_AGAIN:           return AVERROR(EAGAIN);
    case CUDAENC_EOF:             return AVERROR_EOF;
    case CUDAENC_ERR_INVALID:     return AVERROR(EINVAL);
    case CUDAENC_ERR_MEMORY:      return AVERROR(ENOMEM);
    case CUDAENC_ERR_DEVICE:      return AVERROR_EXTERNAL;
    case CUDAENC_ERR_UNSUPPORTED: return AVERROR(ENOSYS);
    default:                      return AVERROR_BUG;
    }
}

void ff_cudaenc_log(void *avctx, CudaencLogLevel level, const char *line)
{
    static const int levels[] = {
        [CUDAENC_LOG_ERROR]   = AV_LOG_ERROR,
        [CUDAENC_LOG_WARNING] = AV_LOG_WARNING,
        [CUDAENC_LOG_INFO]    = AV_LOG_INFO,
        [CUDAENC_LOG_VERBOSE] = AV_LOG_VERBOSE,
    };

    av_log(avctx, levels[level], "%s\n", line);
}

/* ---- frames in ---------------------------------------------------------- */

static int check_frame(AVCodecContext *avctx, const AVFrame *frame)
{
    if (frame->width  != avctx->width || frame->height != avctx->height ||
        frame->format != avctx->pix_fmt) {
        const char *name = av_get_pix_fmt_name(frame->format);

        av_log(avctx, AV_LOG_ERROR, "a frame of %dx%d %s in a stream of %dx%d %s: "
               "size and format cannot change within a stream\n",
               frame->width, frame->height, name ? name : "unknown format",
               avctx->width, avctx->height, av_get_pix_fmt_name(avctx->pix_fmt));
        return AVERROR(EINVAL);
    }
#if CONFIG_CUDA
    if (frame->format == AV_PIX_FMT_CUDA) {
        const AVHWFramesContext *frames, *expected;

        if (!frame->hw_frames_ctx) {
            av_log(avctx, AV_LOG_ERROR, "a CUDA frame without hw_frames_ctx\n");
            return AVERROR(EINVAL);
        }
        frames   = (AVHWFramesContext *)frame->hw_frames_ctx->data;
        expected = (AVHWFramesContext *)avctx->hw_frames_ctx->data;
        if (frames->sw_format != expected->sw_format) {
            av_log(avctx, AV_LOG_ERROR, "a CUDA frame of %s in a stream of %s: the format "
                   "cannot change within a stream\n",
                   av_get_pix_fmt_name(frames->sw_format),
                   av_get_pix_fmt_name(expected->sw_format));
            return AVERROR(EINVAL);
        }
        if (((AVCUDADeviceContext *)frames->device_ctx->hwctx)->cuda_ctx !=
            ((AVCUDADeviceContext *)expected->device_ctx->hwctx)->cuda_ctx) {
            av_log(avctx, AV_LOG_ERROR, "a CUDA frame of another CUDA context than the one of "
                   "hw_frames_ctx, in which the encoder runs\n");
            return AVERROR(EINVAL);
        }
    }
#endif
    return 0;
}

/* Side data of a frame. A structure has `size` bytes, which a caller may have
 * got wrong. */
static const AVFrameSideData *frame_side_data(const AVFrame *frame, enum AVFrameSideDataType type,
                                              size_t size)
{
    const AVFrameSideData *sd = av_frame_get_side_data(frame, type);

    return sd && sd->size >= size ? sd : NULL;
}

/* Side data of a frame, else of the stream. */
static const AVFrameSideData *find_side_data(const AVCodecContext *avctx, const AVFrame *frame,
                                             enum AVFrameSideDataType type, size_t size)
{
    const AVFrameSideData *sd = frame_side_data(frame, type, size);

    if (!sd)
        sd = cudaenc_stream_side_data(avctx, type);
    return sd && sd->size >= size ? sd : NULL;
}

#define MAX_USER_DATA 16

/* What encoders take of a frame's side data: SEI messages of H.264; regions of interest of it and of JPEG 2000. */
typedef struct FrameMessages {
    CudaencTimecode timecode;
    CudaencMasteringDisplay mastering_display;
    CudaencContentLight content_light;
    CudaencUserData user_data[MAX_USER_DATA];
    CudaencRegion regions[CUDAENC_MAX_REGIONS];
} FrameMessages;

static int bcd(uint32_t value)
{
    return (value >> 4 & 15) * 10 + (value & 15);
}

/* The inverse of av_timecode_get_smpte(). */
static CudaencTimecode timecode_from(uint32_t tc, AVRational rate)
{
    CudaencTimecode timecode = {
        .hours      = bcd(tc & 0x3f),
        .minutes    = bcd(tc >> 8 & 0x7f),
        .seconds    = bcd(tc >> 16 & 0x7f),
        .frames     = bcd(tc >> 24 & 0x3f),
        .drop_frame = tc >> 30 & 1,
    };

    /* above 30 frames/s two frames share a number, and a bit marks the second */
    if (av_cmp_q(rate, (AVRational) { 30, 1 }) == 1)
        timecode.frames = 2 * timecode.frames +
                          !!(tc & (av_cmp_q(rate, (AVRational) { 50, 1 }) ? 1 << 23 : 1 << 7));
    return timecode;
}

static uint32_t in_units(AVRational value, int units, uint32_t most)
{
    const int64_t scaled = value.den ? av_rescale(value.num, units, value.den) : 0;

    return av_clip64(scaled, 0, most);
}

/* whether there is such a time at this frame rate */
static int is_timecode(const CudaencTimecode *t, AVRational rate)
{
    return t->hours < 24 && t->minutes < 60 && t->seconds < 60 &&
           (rate.num <= 0 || t->frames * (int64_t)rate.den < rate.num);
}

static void add_messages(const AVCodecContext *avctx, FFCudaencContext *ctx,
                         const AVFrame *frame, CudaencFrame *f, FrameMessages *m)
{
    const AVFrameSideData *sd;

    sd = frame_side_data(frame, AV_FRAME_DATA_S12M_TIMECODE, 4 * sizeof(uint32_t));
    if (sd && ctx->s12m_tc && ((const uint32_t *)sd->data)[0] > 0) {
        m->timecode = timecode_from(((const uint32_t *)sd->data)[1], avctx->framerate);
        if (is_timecode(&m->timecode, ctx->frame_rate)) {
            f->timecode = &m->timecode;
        } else if (!ctx->timecode_warned) {
            av_log((void *)avctx, AV_LOG_WARNING, "timecode %02d:%02d:%02d:%02d is none at %d/%d frames/s, "
                   "and is left out (said once)\n", m->timecode.hours, m->timecode.minutes, m->timecode.seconds,
                   m->timecode.frames, ctx->frame_rate.num, ctx->frame_rate.den);
            ctx->timecode_warned = 1;
        }
    }
    sd = av_frame_get_side_data(frame, AV_FRAME_DATA_A53_CC);
    if (sd && ctx->a53cc) {
        f->captions      = sd->data;
        f->captions_size = FFMIN(sd->size / 3, 31) * 3;
    }
    for (int i = 0; ctx->udu_sei && i < frame->nb_side_data; i++) {
        sd = frame->side_data[i];
        if (sd->type != AV_FRAME_DATA_SEI_UNREGISTERED || sd->size < 16)
            continue;
        if (f->user_data_count == MAX_USER_DATA) {
            av_log((void *)avctx, AV_LOG_WARNING, "a frame has more than %d unregistered user data, "
                   "the rest is left out\n", MAX_USER_DATA);
            break;
        }
        m->user_data[f->user_data_count++] = (CudaencUserData) { sd->data, sd->size };
    }
    f->user_data = m->user_data;

    sd = find_side_data(avctx, frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
                        sizeof(AVMasteringDisplayMetadata));
    if (sd) {
        const AVMasteringDisplayMetadata *display = (const AVMasteringDisplayMetadata *)sd->data;

        if (display->has_primaries && display->has_luminance) {
            for (int i = 0; i < 3; i++)
                for (int k = 0; k < 2; k++)
                    m->mastering_display.primaries[i][k] =
                        in_units(display->display_primaries[i][k], 50000, UINT16_MAX);
            for (int k = 0; k < 2; k++)
                m->mastering_display.white_point[k] =
                    in_units(display->white_point[k], 50000, UINT16_MAX);
            m->mastering_display.max_luminance = in_units(display->max_luminance, 10000, UINT32_MAX);
            m->mastering_display.min_luminance = in_units(display->min_luminance, 10000, UINT32_MAX);
            f->mastering_display = &m->mastering_display;
        }
    }
    sd = find_side_data(avctx, frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,
                        sizeof(AVContentLightMetadata));
    if (sd) {
        const AVContentLightMetadata *light = (const AVContentLightMetadata *)sd->data;

        m->content_light = (CudaencContentLight) {
            .max_content = FFMIN(light->MaxCLL,  UINT16_MAX),
            .max_average = FFMIN(light->MaxFALL, UINT16_MAX),
        };
        f->content_light = &m->content_light;
    }
}

static int add_regions(AVCodecContext *avctx, FFCudaencContext *ctx,
                       const AVFrame *frame, CudaencFrame *f, FrameMessages *m)
{
    const AVFrameSideData *sd = av_frame_get_side_data(frame, AV_FRAME_DATA_REGIONS_OF_INTEREST);
    const uint32_t size = sd && sd->size >= sizeof(AVRegionOfInterest) ?
                          ((const AVRegionOfInterest *)sd->data)->self_size : 0;

    if (!sd || !sd->size)
        return 0;
    if (size < sizeof(AVRegionOfInterest) || sd->size % size) {
        av_log(avctx, AV_LOG_ERROR, "regions of interest have %u bytes each and %zu in all\n", size, (size_t)sd->size);
        return AVERROR(EINVAL);
    }
    for (size_t at = 0; at < sd->size; at += size) {
        const AVRegionOfInterest *region = (const AVRegionOfInterest *)(sd->data + at);
        const int left = FFMAX(region->left, 0), right  = FFMIN(region->right,  frame->width);
        const int top  = FFMAX(region->top,  0), bottom = FFMIN(region->bottom, frame->height);

        if (left >= right || top >= bottom)
            continue;
        if (f->region_count == CUDAENC_MAX_REGIONS) {
            if (!ctx->roi_warned)
                av_log(avctx, AV_LOG_WARNING, "a frame has more than %d regions of interest, "
                       "the rest is left out (said once)\n", CUDAENC_MAX_REGIONS);
            ctx->roi_warned = 1;
            break;
        }
        m->regions[f->region_count++] = (CudaencRegion) {
            .x          = left,
            .y          = top,
            .width      = right - left,
            .height     = bottom - top,
            .offset_num = region->qoffset.num,
            .offset_den = region->qoffset.den,
        };
    }
    f->regions = m->regions;
    return 0;
}

/* Frames of the frame rate that are left out before this one, where that varies. */
static uint64_t skipped_frames(const AVCodecContext *avctx, const FFCudaencContext *ctx, const AVFrame *frame)
{
    int64_t frames;

    if (ctx->frame_rate.num <= 0 || ctx->last_pts == AV_NOPTS_VALUE || frame->pts == AV_NOPTS_VALUE ||
        frame->pts <= ctx->last_pts)
        return 0;
    frames = av_rescale_q(av_sat_sub64(frame->pts, ctx->last_pts), avctx->time_base, av_inv_q(ctx->frame_rate));
    return FFMAX(frames, 1) - 1;
}

/* Three entries of TIFF in big endian, and two rational numbers. */
#define EXIF_OF_RESOLUTION_SIZE (8 + 2 + 3 * 12 + 4 + 2 * 8)

/* What branches without EXIF in frames tell of it in their metadata, as text: the
 * resolution. Returns whether they do. */
static int exif_of_resolution(const AVFrame *frame, uint8_t exif[EXIF_OF_RESOLUTION_SIZE])
{
    static const struct { const char *name; int tag, type, value; } entries[] = {
        { "XResolution",    0x11A, 5, EXIF_OF_RESOLUTION_SIZE - 16 },
        { "YResolution",    0x11B, 5, EXIF_OF_RESOLUTION_SIZE - 8 },
        { "ResolutionUnit", 0x128, 3, 2 << 16 }, /* an inch, where it is not told */
    };
    uint8_t *at = exif, *rationals = exif + EXIF_OF_RESOLUTION_SIZE - 16;

    bytestream_put_be32(&at, MKBETAG('M', 'M', 0, 42));
    bytestream_put_be32(&at, 8);
    bytestream_put_be16(&at, FF_ARRAY_ELEMS(entries));
    for (int i = 0; i < FF_ARRAY_ELEMS(entries); i++) {
        const AVDictionaryEntry *e = av_dict_get(frame->metadata, entries[i].name, NULL, 0);
        int value = entries[i].value, num, den;

        if (entries[i].type == 5) {
            if (!e || sscanf(e->value, "%d :%d", &num, &den) != 2 || num <= 0 || den <= 0)
                return 0;
            bytestream_put_be32(&rationals, num);
            bytestream_put_be32(&rationals, den);
        } else if (e) {
            value = atoi(e->value) << 16;
        }
        bytestream_put_be16(&at, entries[i].tag);
        bytestream_put_be16(&at, entries[i].type);
        bytestream_put_be32(&at, 1);
        bytestream_put_be32(&at, value);
    }
    bytestream_put_be32(&at, 0);
    return 1;
}

static enum CudaencFields fields_of(const AVFrame *frame)
{
    if (!cudaenc_is_interlaced(frame))
        return CUDAENC_PROGRESSIVE;
    return cudaenc_is_top_field_first(frame) ? CUDAENC_TOP_FIELD_FIRST : CUDAENC_BOTTOM_FIELD_FIRST;
}

static void warn_of_fields(AVCodecContext *avctx, FFCudaencContext *ctx, const AVFrame *frame)
{
    static const char *const names[] = { "progressive", "interlaced, top field first", "interlaced, bottom field first" };
    const enum CudaencFields fields = fields_of(frame);

    if (ctx->fields_warned || fields == ctx->fields)
        return;
    av_log(avctx, AV_LOG_WARNING, "a frame is marked %s in a stream that is %s, and coded as the stream is. "
           "The filter setfield marks frames, bwdif makes progressive ones (said once)\n",
           names[fields], names[ctx->fields]);
    ctx->fields_warned = 1;
}

static void warn_of_frame(AVCodecContext *avctx, FFCudaencContext *ctx, const AVFrame *frame)
{
    const AVFrameSideData *matrix = frame_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t));
    static const int32_t upright[9] = { 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30 };

    if (!ctx->roi_warned && avctx->codec_id == AV_CODEC_ID_MJPEG &&
        av_frame_get_side_data(frame, AV_FRAME_DATA_REGIONS_OF_INTEREST)) {
        av_log(avctx, AV_LOG_WARNING, "regions of interest in frames' side data have no effect\n");
        ctx->roi_warned = 1;
    }
    if (!ctx->matrix_warned && matrix && memcmp(matrix->data, upright, sizeof(upright))) {
        av_log(avctx, AV_LOG_WARNING, "frames are to be turned or mirrored when they are shown, which packets "
               "do not tell: containers may. Without -noautorotate ffmpeg turns them\n");
        ctx->matrix_warned = 1;
    }
    if (!ctx->alpha_warned && cudaenc_is_premultiplied(frame)) {
        av_log(avctx, AV_LOG_WARNING, "frames have premultiplied alpha, which packets do not tell: "
               "-vf unpremultiply=inplace=1 makes it straight\n");
        ctx->alpha_warned = 1;
    }
}

static int submit_frame(AVCodecContext *avctx, FFCudaencContext *ctx, AVFrame *frame)
{
    CudaencFrame f = { .struct_size = sizeof(f), .opaque = frame };
    FrameMessages messages;
    uint8_t resolution[EXIF_OF_RESOLUTION_SIZE];
    const AVFrameSideData *icc, *exif;
    AVRational sar = frame->sample_aspect_ratio;
    int ret;

    ret = check_frame(avctx, frame);
    if (ret < 0)
        return ret;
    warn_of_frame(avctx, ctx, frame);
    warn_of_fields(avctx, ctx, frame);

    for (int i = 0; i < FF_ARRAY_ELEMS(f.data); i++) {
        f.data[i]   = frame->data[i];
        f.stride[i] = frame->linesize[i];
    }
#if CONFIG_CUDA
    if (frame->format == AV_PIX_FMT_CUDA) {
        const AVHWFramesContext *frames = (AVHWFramesContext *)frame->hw_frames_ctx->data;

        f.cuda_stream = ((AVCUDADeviceContext *)frames->device_ctx->hwctx)->stream;
    }
#endif

    icc = find_side_data(avctx, frame, AV_FRAME_DATA_ICC_PROFILE, 0);
    if (icc) {
        f.icc_profile      = icc->data;
        f.icc_profile_size = icc->size;
    }
    exif = cudaenc_exif(frame);
    if (exif) {
        f.exif      = exif->data;
        f.exif_size = exif->size;
    } else if (exif_of_resolution(frame, resolution)) {
        f.exif      = resolution;
        f.exif_size = sizeof(resolution);
    }

    if (!sar.num)
        sar = avctx->sample_aspect_ratio;
    if (sar.num > 0 && sar.den > 0) {
        f.sample_aspect_num = sar.num;
        f.sample_aspect_den = sar.den;
    }
    f.skipped = skipped_frames(avctx, ctx, frame);
    f.key     = frame->pict_type == AV_PICTURE_TYPE_I; /* -force_key_frames */

    add_messages(avctx, ctx, frame, &f, &messages);
    if (avctx->codec_id != AV_CODEC_ID_MJPEG) {
        ret = add_regions(avctx, ctx, frame, &f, &messages);
        if (ret < 0)
            return ret;
    }

    ret = cudaenc_submit(ctx->session, &f);
    /* the caller counts frames, so the ring has room */
    if (ret == CUDAENC_AGAIN)
        return AVERROR_BUG;
    if (ret == CUDAENC_OK)
        ctx->last_pts = frame->pts;
    return ff_cudaenc_error(ret);
}

/* ---- packets out -------------------------------------------------------- */

/* A packet lies in pinned memory of the library, which belongs to the CUDA
 * context. The context must therefore outlive every packet, even after the
 * encoder is closed. */
typedef struct PacketOwner {
    CudaencBuffer *buffer;
    AVBufferRef *device_ref;
} PacketOwner;

static void free_packet_data(void *opaque, uint8_t *data)
{
    PacketOwner *owner = opaque;

    cudaenc_buffer_free(owner->buffer);
    av_buffer_unref(&owner->device_ref);
    av_free(owner);
}

static int wrap_packet_data(const FFCudaencContext *ctx, AVPacket *pkt,
                            const CudaencPacket *p)
{
    PacketOwner *owner = av_mallocz(sizeof(*owner));

    if (!owner)
        return AVERROR(ENOMEM);
    if (ctx->device_ref) {
        owner->device_ref = av_buffer_ref(ctx->device_ref);
        if (!owner->device_ref) {
            av_free(owner);
            return AVERROR(ENOMEM);
        }
    }

    pkt->buf = av_buffer_create((uint8_t *)p->data, p->size + CUDAENC_PACKET_PADDING,
                                free_packet_data, owner, 0);
    if (!pkt->buf) {
        av_buffer_unref(&owner->device_ref);
        av_free(owner);
        return AVERROR(ENOMEM);
    }
    owner->buffer = p->buffer;
    pkt->data     = pkt->buf->data;
    pkt->size     = p->size;
    return 0;
}

/* Always takes p->buffer. */
static int set_packet_data(AVCodecContext *avctx, const FFCudaencContext *ctx,
                           AVPacket *pkt, const CudaencPacket *p)
{
    int ret;

    /* the library pads packets as libavcodec demands */
    if (avctx->get_encode_buffer == avcodec_default_get_encode_buffer &&
        CUDAENC_PACKET_PADDING >= AV_INPUT_BUFFER_PADDING_SIZE &&
        p->size <= INT_MAX - CUDAENC_PACKET_PADDING) {
        ret = wrap_packet_data(ctx, pkt, p);
        if (ret >= 0)
            return 0;
    } else {
        ret = ff_get_encode_buffer(avctx, pkt, p->size, 0);
        if (ret >= 0)
            memcpy(pkt->data, p->data, p->size);
        else if (p->size > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE)
            av_log(avctx, AV_LOG_ERROR, "a packet of %zu bytes, libavcodec takes at most %d\n",
                   p->size, INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE);
    }
    cudaenc_buffer_free(p->buffer);
    return ret;
}

/* Frame side data with a counterpart in packets. */
static const struct {
    enum AVFrameSideDataType frame;
    enum AVPacketSideDataType packet;
} side_data_types[] = {
    { AV_FRAME_DATA_ICC_PROFILE,                AV_PKT_DATA_ICC_PROFILE },
    { AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_MASTERING_DISPLAY_METADATA },
    { AV_FRAME_DATA_CONTENT_LIGHT_LEVEL,        AV_PKT_DATA_CONTENT_LIGHT_LEVEL },
    { AV_FRAME_DATA_DYNAMIC_HDR_PLUS,           AV_PKT_DATA_DYNAMIC_HDR10_PLUS },
    { AV_FRAME_DATA_DISPLAYMATRIX,              AV_PKT_DATA_DISPLAYMATRIX },
    { AV_FRAME_DATA_STEREO3D,                   AV_PKT_DATA_STEREO3D },
    { AV_FRAME_DATA_SPHERICAL,                  AV_PKT_DATA_SPHERICAL },
    { AV_FRAME_DATA_A53_CC,                     AV_PKT_DATA_A53_CC },
    { AV_FRAME_DATA_AFD,                        AV_PKT_DATA_AFD },
    { AV_FRAME_DATA_S12M_TIMECODE,              AV_PKT_DATA_S12M_TIMECODE },
};

/* Copies what differs from the side data of the stream (coded_side_data). */
static int copy_side_data(const AVCodecContext *avctx, AVPacket *pkt, const AVFrame *frame)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(side_data_types); i++) {
        const AVFrameSideData *src = av_frame_get_side_data(frame, side_data_types[i].frame);
        uint8_t *dst;
        int j;

        if (!src)
            continue;
        for (j = 0; j < avctx->nb_coded_side_data; j++)
            if (avctx->coded_side_data[j].type == side_data_types[i].packet &&
                avctx->coded_side_data[j].size == src->size &&
                !memcmp(avctx->coded_side_data[j].data, src->data, src->size))
                break;
        if (j < avctx->nb_coded_side_data)
            continue;

        dst = av_packet_new_side_data(pkt, side_data_types[i].packet, src->size);
        if (!dst)
            return AVERROR(ENOMEM);
        memcpy(dst, src->data, src->size);
    }
    return 0;
}

static int fill_packet(AVCodecContext *avctx, const FFCudaencContext *ctx, AVPacket *pkt,
                       const CudaencPacket *p, const AVFrame *frame)
{
    int ret = set_packet_data(avctx, ctx, pkt, p);

    if (ret < 0)
        return ret;

    pkt->pts      = frame->pts;
    pkt->dts      = frame->pts; /* packets leave in the order of the frames */
    pkt->duration = cudaenc_frame_duration(frame);
    if (!p->delta)
        pkt->flags |= AV_PKT_FLAG_KEY;

    ret = copy_side_data(avctx, pkt, frame);
    if (ret < 0)
        return ret;
    /* not where packets are compared as they are */
    if (p->quality != CUDAENC_NO_QUALITY && !(avctx->flags & AV_CODEC_FLAG_BITEXACT)) {
        ret = cudaenc_add_quality(pkt, lrint(p->quality * FF_QP2LAMBDA),
                                  p->delta ? AV_PICTURE_TYPE_P : AV_PICTURE_TYPE_I);
        if (ret < 0)
            return ret;
    }
    return cudaenc_reordered_opaque(avctx, pkt, frame);
}

/* ---- the loop between them ---------------------------------------------- */

int ff_cudaenc_receive_packet(AVCodecContext *avctx, AVPacket *pkt)
{
    FFCudaencContext *ctx = avctx->priv_data;
    CudaencPacket p = { .struct_size = sizeof(p) };
    AVFrame *frame;
    int ret, code;

    /* Fill the ring, then wait for the oldest frame. Else take it where it is
     * finished, so that no packet waits for frames that come later. */
    while (!ctx->draining && ctx->nb_frames < ctx->async_depth) {
        frame = ctx->frames[(ctx->first_frame + ctx->nb_frames) % ctx->async_depth];

        ret = ff_encode_get_frame(avctx, frame);
        if (ret == AVERROR(EAGAIN))
            break;
        if (ret == AVERROR_EOF) {
            cudaenc_flush(ctx->session);
            ctx->draining = 1;
            break;
        }
        if (ret < 0)
            return ret;

        ret = ctx->before_frame ? ctx->before_frame(avctx) : 0;
        if (ret >= 0)
            ret = submit_frame(avctx, ctx, frame);
        if (ret < 0) {
            av_frame_unref(frame);
            return ret;
        }
        ctx->nb_frames++;
    }

    if (!ctx->nb_frames)
        return ctx->draining ? AVERROR_EOF : AVERROR(EAGAIN);
    code = ctx->draining || ctx->nb_frames == ctx->async_depth ? cudaenc_receive(ctx->session, &p)
                                                               : cudaenc_poll(ctx->session, &p);
    if (code == CUDAENC_AGAIN || code == CUDAENC_EOF)
        return ff_cudaenc_error(code);

    /* the packet or the error of the oldest frame */
    frame = ctx->frames[ctx->first_frame];
    ctx->first_frame = (ctx->first_frame + 1) % ctx->async_depth;
    ctx->nb_frames--;

    if (code == CUDAENC_OK) {
        ret = fill_packet(avctx, ctx, pkt, &p, frame);
    } else {
        ret = ff_cudaenc_error(code);
        av_log(avctx, AV_LOG_ERROR, "the frame with pts %s was lost: %s\n",
               av_ts2str(frame->pts), cudaenc_error_string(code));
    }
    av_frame_unref(frame);
    return ret;
}

void ff_cudaenc_flush(AVCodecContext *avctx)
{
    FFCudaencContext *ctx = avctx->priv_data;
    CudaencPacket p = { .struct_size = sizeof(p) };
    int code;

    /* The device may read a frame until its packet is received. */
    cudaenc_flush(ctx->session);
    while ((code = cudaenc_receive(ctx->session, &p)) != CUDAENC_EOF) {
        if (code == CUDAENC_OK)
            cudaenc_buffer_free(p.buffer);
        else if (code == CUDAENC_AGAIN || !ctx->nb_frames)
            break;
        if (ctx->nb_frames) {
            av_frame_unref(ctx->frames[ctx->first_frame]);
            ctx->first_frame = (ctx->first_frame + 1) % ctx->async_depth;
            ctx->nb_frames--;
        }
    }
    ctx->draining = 0;
    ctx->last_pts = AV_NOPTS_VALUE;
}

/* ---- opening and closing ------------------------------------------------ */

/* libavutil's values are those of H.273, and from 256 on its own */
static int h273_code_point(AVCodecContext *avctx, const char *name, int value)
{
    if (value >= 0 && value < 256)
        return value;
    av_log(avctx, AV_LOG_WARNING, "%s %d is none of H.273, and is not told\n", name, value);
    return 2; /* unspecified */
}

static int fill_format(AVCodecContext *avctx, CudaencFormat *format)
{
    const enum AVPixelFormat fmt   = avctx->pix_fmt == AV_PIX_FMT_CUDA ? avctx->sw_pix_fmt
                                                                       : avctx->pix_fmt;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(fmt);
    const uint64_t refused         = AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL   |
                                     AV_PIX_FMT_FLAG_BAYER   | AV_PIX_FMT_FLAG_FLOAT |
                                     AV_PIX_FMT_FLAG_BITSTREAM;
    const int alpha = desc && desc->flags & AV_PIX_FMT_FLAG_ALPHA;

    if (!desc || desc->flags & refused) {
        av_log(avctx, AV_LOG_ERROR, "the pixel format %s has no integer samples that can be "
               "coded\n", desc ? desc->name : "none");
        return AVERROR(EINVAL);
    }

    format->width      = avctx->width;
    format->height     = avctx->height;
    format->components = desc->nb_components;
    format->planes     = av_pix_fmt_count_planes(fmt);
    format->has_alpha  = alpha;

    if (cudaenc_is_xyz(fmt, desc))
        format->color_model = CUDAENC_COLOR_XYZ;
    else if (desc->flags & AV_PIX_FMT_FLAG_RGB)
        format->color_model = CUDAENC_COLOR_RGB;
    else if (desc->nb_components - alpha == 1)
        format->color_model = CUDAENC_COLOR_GRAY;
    else
        format->color_model = CUDAENC_COLOR_YUV;

    /* FFmpeg's component order is the library's: RGB, YUV, XYZ or gray, then
     * alpha; a padding byte is no component. */
    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *c = &desc->comp[i];
        const int chroma = format->color_model == CUDAENC_COLOR_YUV && (i == 1 || i == 2);

        if (c->depth + c->shift > 8 && !(desc->flags & AV_PIX_FMT_FLAG_BE) != !HAVE_BIGENDIAN) {
            av_log(avctx, AV_LOG_ERROR, "the pixel format %s has not this machine's byte order\n",
                   desc->name);
            return AVERROR(EINVAL);
        }
        format->component[i] = (CudaencComponent) {
            .plane            = c->plane,
            .offset           = c->offset,
            .step             = c->step,
            .shift            = c->shift,
            .depth            = c->depth,
            .log2_subsample_x = chroma ? desc->log2_chroma_w : 0,
            .log2_subsample_y = chroma ? desc->log2_chroma_h : 0,
        };
    }

    /* gray is of full range, as FFmpeg's filters have it */
    format->full_range      = avctx->color_range == AVCOL_RANGE_JPEG ||
                              (format->color_model == CUDAENC_COLOR_GRAY && avctx->color_range == AVCOL_RANGE_UNSPECIFIED);
    format->color_primaries = h273_code_point(avctx, "color_primaries", avctx->color_primaries);
    format->color_transfer  = h273_code_point(avctx, "color_trc", avctx->color_trc);
    format->color_matrix    = h273_code_point(avctx, "colorspace", avctx->colorspace);
    return 0;
}

static int select_device(AVCodecContext *avctx, FFCudaencContext *ctx, CudaencConfig *config)
{
    const char *const name = ctx->device && *ctx->device ? ctx->device : "auto";

    config->device = name;
#if CONFIG_CUDA
    if (avctx->pix_fmt == AV_PIX_FMT_CUDA) {
        const AVHWFramesContext *frames;

        if (!avctx->hw_frames_ctx) {
            av_log(avctx, AV_LOG_ERROR, "CUDA frames need hw_frames_ctx, which names their "
                   "device and format\n");
            return AVERROR(EINVAL);
        }
        if (strcmp(name, "auto") && !av_strstart(name, "cuda", NULL)) {
            av_log(avctx, AV_LOG_ERROR, "device %s cannot encode CUDA frames: use device auto or "
                   "cuda, or the filter hwdownload before the encoder\n", name);
            return AVERROR(EINVAL);
        }
        frames = (AVHWFramesContext *)avctx->hw_frames_ctx->data;
        config->device_frames = 1;
        ctx->device_ref = av_buffer_ref(frames->device_ref);
        if (!ctx->device_ref)
            return AVERROR(ENOMEM);
    } else if (avctx->hw_device_ctx &&
               (!strcmp(name, "auto") || !strcmp(name, "cuda"))) {
        const AVHWDeviceContext *device = (AVHWDeviceContext *)avctx->hw_device_ctx->data;

        if (device->type != AV_HWDEVICE_TYPE_CUDA) {
            av_log(avctx, AV_LOG_ERROR, "hw_device_ctx is of the type %s, this encoder takes "
                   "cuda\n", av_hwdevice_get_type_name(device->type));
            return AVERROR(EINVAL);
        }
        ctx->device_ref = av_buffer_ref(avctx->hw_device_ctx);
        if (!ctx->device_ref)
            return AVERROR(ENOMEM);
    }
    if (ctx->device_ref) {
        const AVHWDeviceContext *device = (AVHWDeviceContext *)ctx->device_ref->data;

        config->cuda_context = ((AVCUDADeviceContext *)device->hwctx)->cuda_ctx;
    }
#endif
    return 0;
}

AVRational ff_cudaenc_known_frame_rate(const AVCodecContext *avctx)
{
    const AVRational finest = { 1, 300 }; /* of time bases that are a frame's duration */

    if (avctx->framerate.num > 0 && avctx->framerate.den > 0)
        return avctx->framerate;
    if (avctx->time_base.num > 0 && av_cmp_q(avctx->time_base, finest) >= 0)
        return av_inv_q(avctx->time_base);
    return (AVRational) { 0, 1 };
}

AVRational ff_cudaenc_frame_rate(AVCodecContext *avctx)
{
    const AVRational rate = ff_cudaenc_known_frame_rate(avctx);

    if (rate.num)
        return rate;
    av_log(avctx, AV_LOG_WARNING, "the frame rate is not known, and taken for 25: -r sets it\n");
    return (AVRational) { 25, 1 };
}

/* What -b:v, -maxrate and -bufsize promise, for muxers. Packets of JPEG 2000 and
 * JPEG keep to the bit rate one by one. */
static int add_cpb_properties(AVCodecContext *avctx, const CudaencConfig *config)
{
    const int constant = config->codec != CUDAENC_CODEC_H264 || config->h264.cbr;
    AVCPBProperties *cpb;

    if (!avctx->bit_rate && !avctx->rc_max_rate && !avctx->rc_buffer_size)
        return 0;
    cpb = cudaenc_add_cpb_side_data(avctx);
    if (!cpb)
        return AVERROR(ENOMEM);
    cpb->avg_bitrate = avctx->bit_rate;
    cpb->max_bitrate = avctx->rc_max_rate || !constant ? avctx->rc_max_rate : avctx->bit_rate;
    cpb->buffer_size = avctx->rc_buffer_size;
    return 0;
}

/* Options of FFmpeg for rates that users may rely on, and that do nothing here. */
static void warn_of_ignored(AVCodecContext *avctx, const CudaencConfig *config)
{
    const int h264 = config->codec == CUDAENC_CODEC_H264;

    if (avctx->flags & (AV_CODEC_FLAG_PASS1 | AV_CODEC_FLAG_PASS2))
        av_log(avctx, AV_LOG_WARNING, "-pass has no effect: frames are coded in one pass\n");
    if (avctx->rc_min_rate && !(h264 && config->h264.cbr))
        av_log(avctx, AV_LOG_WARNING, "-minrate has no effect%s\n",
               h264 ? ": -cbr 1 fills the stream up to its bit rate" : "");
    if (!h264 && (avctx->rc_max_rate || avctx->rc_buffer_size) && !avctx->bit_rate)
        av_log(avctx, AV_LOG_WARNING, "-maxrate and -bufsize have no effect: -b:v limits each frame\n");
    else if (!h264 && avctx->rc_max_rate && avctx->rc_max_rate < avctx->bit_rate)
        av_log(avctx, AV_LOG_WARNING, "-maxrate has no effect: no frame exceeds -b:v\n");
}

/* ffmpeg sets the field order by the first frame, or by -flags ildct and ilme. A
 * packet has its fields one behind the other, which muxers are told. */
static int stream_fields(AVCodecContext *avctx)
{
    const int flags = avctx->flags & (AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME);

    switch (avctx->field_order) {
    case AV_FIELD_TT:
    case AV_FIELD_TB:
        avctx->field_order = AV_FIELD_TT;
        return CUDAENC_TOP_FIELD_FIRST;
    case AV_FIELD_BB:
    case AV_FIELD_BT:
        avctx->field_order = AV_FIELD_BB;
        return CUDAENC_BOTTOM_FIELD_FIRST;
    default:
        if (flags) {
            av_log(avctx, AV_LOG_ERROR, "-flags ildct and ilme are not allowed without a field order: it is tt or bb\n");
            return AVERROR(EINVAL);
        }
        return CUDAENC_PROGRESSIVE;
    }
}

int ff_cudaenc_init(AVCodecContext *avctx, CudaencConfig *config)
{
    FFCudaencContext *ctx = avctx->priv_data;
    int ret;

    ret = stream_fields(avctx);
    if (ret < 0)
        return ret;
    ctx->fields = config->fields = ret;
    warn_of_ignored(avctx, config);
    if (avctx->flags & AV_CODEC_FLAG_LOW_DELAY) /* each frame's packet before the next frame */
        ctx->async_depth = 1;
    ret = add_cpb_properties(avctx, config);
    if (ret < 0)
        return ret;
    ret = select_device(avctx, ctx, config);
    if (ret < 0)
        return ret;
    ret = fill_format(avctx, &config->format);
    if (ret < 0)
        return ret;

    if (config->codec == CUDAENC_CODEC_H264)
        ctx->frame_rate = (AVRational) { config->h264.frame_rate_num, config->h264.frame_rate_den };
    ctx->last_pts = AV_NOPTS_VALUE;
    config->async_depth = ctx->async_depth;
    config->threads     = avctx->thread_count;
    config->log         = ff_cudaenc_log;
    config->log_opaque  = avctx;
    ret = cudaenc_open(&ctx->session, config);
    if (ret == CUDAENC_ERR_DEVICE)
        return AVERROR(ENODEV); /* the command line's last lines tell of it */
    if (ret < 0)
        return ff_cudaenc_error(ret);

    ctx->async_depth = cudaenc_async_depth(ctx->session);
    for (int i = 0; i < ctx->async_depth; i++) {
        ctx->frames[i] = av_frame_alloc();
        if (!ctx->frames[i])
            return AVERROR(ENOMEM);
    }

    av_log(avctx, AV_LOG_INFO, "%s: %dx%d %s%s, %s, async depth %d\n",
           cudaenc_device_name(ctx->session), avctx->width, avctx->height,
           av_get_pix_fmt_name(config->device_frames ? avctx->sw_pix_fmt : avctx->pix_fmt),
           config->device_frames ? " in GPU memory" : "", cudaenc_summary(ctx->session), ctx->async_depth);
    return 0;
}

av_cold int ff_cudaenc_close(AVCodecContext *avctx)
{
    FFCudaencContext *ctx = avctx->priv_data;

    /* first the session, which waits until the device has left the frames alone */
    cudaenc_close(ctx->session);
    ctx->session = NULL;
    for (int i = 0; i < FF_ARRAY_ELEMS(ctx->frames); i++)
        av_frame_free(&ctx->frames[i]);
    av_buffer_unref(&ctx->device_ref);
    return 0;
}

int ff_cudaenc_quality(AVCodecContext *avctx, int option, int fallback)
{
    const int scaled  = avctx->flags & AV_CODEC_FLAG_QSCALE;
    const int quality = scaled ? avctx->global_quality / FF_QP2LAMBDA : avctx->global_quality;

    if (option >= 0)
        return option;
    if (!scaled && !quality)
        return fallback;
    if (quality < 1 || quality > 100) {
        av_log(avctx, AV_LOG_ERROR, "%s %d is out of range: the quality is 1 (worst) to 100 "
               "(best)\n", scaled ? "-q:v" : "-global_quality", quality);
        return AVERROR(EINVAL);
    }
    return quality;
}
