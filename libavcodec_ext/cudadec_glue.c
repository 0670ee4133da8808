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

#include <stdint.h>
#include <string.h>

#include "cudadec_glue.h"

#include "libavutil/avstring.h"
#include "libavutil/display.h"
#include "libavutil/hwcontext.h"
#include "libavutil/opt.h"

#include "decode.h"

const AVCodecHWConfigInternal *const ff_cudadec_hw_configs[] = {
#if CONFIG_CUDA
    &(const AVCodecHWConfigInternal) {
        .public = {
            .pix_fmt     = AV_PIX_FMT_CUDA,
            .methods     = AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX | AV_CODEC_HW_CONFIG_METHOD_INTERNAL,
            .device_type = AV_HWDEVICE_TYPE_CUDA,
        },
    },
#endif
    NULL,
};

/* ---- formats ------------------------------------------------------------ */

/* The format of planes with a component each, or of XYZ, or gray and alpha. Samples are in the highest bits, or in the
 * lowest of 9 to 14. */
static enum AVPixelFormat software_format(const CudaencFormat *f)
{
    static const struct {
        CudaencColorModel model;
        int components, log2_x, log2_y; /* the latter two of chroma */
        enum AVPixelFormat full, limited, deep;
    } formats[] = {
        { CUDAENC_COLOR_GRAY, 1, 0, 0, AV_PIX_FMT_GRAY8,    AV_PIX_FMT_GRAY8,    AV_PIX_FMT_GRAY16 },
        { CUDAENC_COLOR_GRAY, 2, 0, 0, AV_PIX_FMT_YA8,      AV_PIX_FMT_YA8,      AV_PIX_FMT_YA16 },
        { CUDAENC_COLOR_RGB,  3, 0, 0, AV_PIX_FMT_GBRP,     AV_PIX_FMT_GBRP,     AV_PIX_FMT_GBRP16 },
        { CUDAENC_COLOR_RGB,  4, 0, 0, AV_PIX_FMT_GBRAP,    AV_PIX_FMT_GBRAP,    AV_PIX_FMT_GBRAP16 },
        { CUDAENC_COLOR_YUV,  3, 0, 0, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P,  AV_PIX_FMT_YUV444P16 },
        { CUDAENC_COLOR_YUV,  3, 1, 0, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P,  AV_PIX_FMT_YUV422P16 },
        { CUDAENC_COLOR_YUV,  3, 1, 1, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P,  AV_PIX_FMT_YUV420P16 },
        { CUDAENC_COLOR_YUV,  3, 0, 1, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P,  AV_PIX_FMT_NONE },
        { CUDAENC_COLOR_YUV,  3, 2, 0, AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUV411P,  AV_PIX_FMT_NONE },
        { CUDAENC_COLOR_YUV,  3, 2, 2, AV_PIX_FMT_YUV410P,  AV_PIX_FMT_YUV410P,  AV_PIX_FMT_NONE },
        { CUDAENC_COLOR_YUV,  4, 0, 0, AV_PIX_FMT_YUVA444P, AV_PIX_FMT_YUVA444P, AV_PIX_FMT_YUVA444P16 },
        { CUDAENC_COLOR_YUV,  4, 1, 0, AV_PIX_FMT_YUVA422P, AV_PIX_FMT_YUVA422P, AV_PIX_FMT_YUVA422P16 },
        { CUDAENC_COLOR_YUV,  4, 1, 1, AV_PIX_FMT_YUVA420P, AV_PIX_FMT_YUVA420P, AV_PIX_FMT_YUVA420P16 },
        { CUDAENC_COLOR_XYZ,  3, 0, 0, AV_PIX_FMT_NONE,     AV_PIX_FMT_NONE,     AV_PIX_FMT_XYZ12 },
    };
    const CudaencComponent *c = f->component;

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        char name[32];

        if (formats[i].model != f->color_model || formats[i].components != f->components ||
            f->components > 1 && (formats[i].log2_x != c[1].log2_subsample_x || formats[i].log2_y != c[1].log2_subsample_y) ||
            f->components > 2 && (formats[i].log2_x != c[2].log2_subsample_x || formats[i].log2_y != c[2].log2_subsample_y) ||
            f->components > 3 && (c[3].log2_subsample_x || c[3].log2_subsample_y))
            continue;
        if (c[0].depth + c[0].shift <= 8)
            return f->full_range ? formats[i].full : formats[i].limited;
        if (c[0].shift || c[0].depth == 16)
            return formats[i].deep;
        snprintf(name, sizeof(name), "%s%d", av_get_pix_fmt_name(formats[i].limited), c[0].depth);
        return av_get_pix_fmt(name);
    }
    return AV_PIX_FMT_NONE;
}

#if CONFIG_CUDA
/* The same samples without a range in the format's name, as CUDA frames have them. */
static enum AVPixelFormat cuda_format(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P: return AV_PIX_FMT_YUV411P;
    default:                  return format;
    }
}

static int cuda_frames_can(AVBufferRef *device_ref, enum AVPixelFormat format)
{
    AVHWFramesConstraints *constraints = av_hwdevice_get_hwframe_constraints(device_ref, NULL);
    int found = 0;

    if (!constraints)
        return 0;
    for (const enum AVPixelFormat *f = constraints->valid_sw_formats; f && *f != AV_PIX_FMT_NONE; f++)
        found |= *f == format;
    av_hwframe_constraints_free(&constraints);
    return found;
}

static int set_hw_frames(AVCodecContext *avctx)
{
    const FFCudadecContext *s = avctx->priv_data;
    const enum AVPixelFormat sw_format = cuda_format(s->software);
    const AVHWFramesContext *old = avctx->hw_frames_ctx ?
                                   (AVHWFramesContext *)avctx->hw_frames_ctx->data : NULL;
    AVHWFramesContext *frames;
    int ret;

    if (old && old->sw_format == sw_format &&
        old->width == avctx->width && old->height == avctx->height)
        return 0;
    av_buffer_unref(&avctx->hw_frames_ctx);
    avctx->hw_frames_ctx = av_hwframe_ctx_alloc(avctx->hw_device_ctx);
    if (!avctx->hw_frames_ctx)
        return AVERROR(ENOMEM);
    frames            = (AVHWFramesContext *)avctx->hw_frames_ctx->data;
    frames->format    = AV_PIX_FMT_CUDA;
    frames->sw_format = sw_format;
    frames->width     = avctx->width;
    frames->height    = avctx->height;
    ret = av_hwframe_ctx_init(avctx->hw_frames_ctx);
    if (ret < 0)
        av_buffer_unref(&avctx->hw_frames_ctx);
    return ret;
}
#endif

/* Asks the caller for a format where size or format have changed. */
static int set_format(AVCodecContext *avctx, const CudaencPictureInfo *info)
{
    FFCudadecContext *s = avctx->priv_data;
    enum AVPixelFormat formats[3], *next = formats, software = software_format(&info->format);
    const int has_region = s->region && *s->region;
    /* FFmpeg divides them by 2^lowres, rounded up */
    const int width  = has_region ? info->format.width << avctx->lowres : info->width;
    const int height = (has_region ? info->format.height << avctx->lowres : info->height) * s->fields;
    int ret;

    if (software == AV_PIX_FMT_NONE) {
        const CudaencFormat *f = &info->format;

        av_log(avctx, AV_LOG_ERROR, "No pixel format has %d components of %d bits, the second of 1/%d x 1/%d of the samples\n",
               f->components, f->component[0].depth, 1 << f->component[f->components > 1].log2_subsample_x,
               1 << f->component[f->components > 1].log2_subsample_y);
        return AVERROR_PATCHWELCOME;
    }
    if (s->fields == 2 && (has_region || avctx->lowres && s->codec == CUDAENC_CODEC_MJPEG ||
                           info->format.height & ((1 << info->format.component[1].log2_subsample_y) - 1))) {
        av_log(avctx, AV_LOG_ERROR, "%s, or of odd heights with half the chroma are not supported%s\n",
               s->codec == CUDAENC_CODEC_MJPEG ? "Fields with -lowres" : "Fields with -region",
               s->codec == CUDAENC_CODEC_MJPEG ? ": -c:v mjpeg reads them" : "");
        return AVERROR_PATCHWELCOME;
    }
    if (AV_CEIL_RSHIFT(width, avctx->lowres) != info->format.width ||
        AV_CEIL_RSHIFT(height, avctx->lowres) != info->format.height * s->fields) {
        av_log(avctx, AV_LOG_ERROR, "-lowres %d of a picture at an odd offset%s is not supported: it has %dx%d samples\n",
               avctx->lowres, s->fields == 2 ? ", or of fields of this height" : "", info->format.width,
               info->format.height * s->fields);
        return AVERROR_PATCHWELCOME;
    }
    if (width != avctx->coded_width || height != avctx->coded_height) {
        ret = ff_set_dimensions(avctx, width, height);
        if (ret < 0)
            return ret;
        s->software = AV_PIX_FMT_NONE;
    }
    if (s->codec == CUDAENC_CODEC_MJPEG && !(av_pix_fmt_desc_get(software)->flags & AV_PIX_FMT_FLAG_RGB) &&
        info->format.components > 1) /* as the native decoders */
        avctx->color_range = info->format.full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    avctx->bits_per_raw_sample = info->format.component[0].depth;
    if (info->sample_aspect_num > 0 && info->sample_aspect_den > 0)
        ff_set_sar(avctx, (AVRational) { info->sample_aspect_num, info->sample_aspect_den });

    if (s->software == software)
        return 0;
#if CONFIG_CUDA
    if (avctx->hw_device_ctx && cuda_frames_can(avctx->hw_device_ctx, cuda_format(software)))
        *next++ = AV_PIX_FMT_CUDA;
#endif
    *next++ = software;
    *next   = AV_PIX_FMT_NONE;
    ret = ff_get_format(avctx, formats);
    if (ret < 0)
        return ret;
    avctx->pix_fmt = ret;
    s->software    = software;
    return 0;
}

/* ---- the decoder -------------------------------------------------------- */

static int open_decoder(AVCodecContext *avctx, int device_frames)
{
    FFCudadecContext *s = avctx->priv_data;
    CudaencDecoderConfig config;
    int ret;

    if (s->decoder && device_frames == s->device_frames && s->fields == s->decoder_fields)
        return 0;
    cudaenc_decoder_close(s->decoder);
    s->decoder = NULL;
    av_buffer_unref(&s->device_ref);

    cudaenc_decoder_defaults(&config, s->codec);
    config.device = s->device && *s->device ? s->device : "auto";
#if CONFIG_CUDA
    if (avctx->hw_device_ctx && (!strcmp(config.device, "auto") || av_strstart(config.device, "cuda", NULL))) {
        const AVHWDeviceContext *device = (AVHWDeviceContext *)avctx->hw_device_ctx->data;

        if (device->type == AV_HWDEVICE_TYPE_CUDA) {
            s->device_ref = av_buffer_ref(avctx->hw_device_ctx);
            if (!s->device_ref)
                return AVERROR(ENOMEM);
            config.cuda_context = ((AVCUDADeviceContext *)device->hwctx)->cuda_ctx;
        }
    }
#endif
    config.device_frames = device_frames;
    config.async_depth   = FFMIN((s->async_depth ? s->async_depth : s->depth) * s->fields, CUDAENC_MAX_ASYNC_DEPTH);
    config.threads       = avctx->thread_count;
    config.lowres        = avctx->lowres;
    config.layers        = s->layers;
    config.region        = s->region;
    config.channels      = s->channels;
    config.usual_format  = 1;
    config.max_pixels    = FFMIN(avctx->max_pixels, config.max_pixels);
    config.log           = ff_cudaenc_log;
    config.log_opaque    = avctx;
    ret = cudaenc_decoder_open(&s->decoder, &config);
    if (ret == CUDAENC_ERR_DEVICE)
        return AVERROR(ENODEV);
    if (ret < 0)
        return ff_cudaenc_error(ret);
    s->device_frames  = device_frames;
    s->decoder_fields = s->fields;
    s->depth          = cudaenc_decoder_async_depth(s->decoder) / s->fields;
    av_log(avctx, AV_LOG_VERBOSE, "%s, async depth %d\n", cudaenc_decoder_device_name(s->decoder), s->depth);
    return 0;
}

static int add_side_data(AVCodecContext *avctx, AVFrame *frame, const CudaencPictureInfo *info)
{
    /* of EXIF: in 5 degrees, and whether the picture is mirrored */
    static const struct {
        int8_t rotation, mirrored;
    } orientations[9] = { [2] = { 0, 1 },  [3] = { 36, 0 },  [4] = { 36, 1 }, [5] = { 18, 1 },
                          [6] = { 18, 0 }, [7] = { -18, 1 }, [8] = { -18, 0 } };
    AVFrameSideData *sd;
    int ret;

    if (info->icc_profile) {
        ret = cudaenc_new_side_data(avctx, frame, AV_FRAME_DATA_ICC_PROFILE, info->icc_profile_size, &sd);
        if (ret < 0)
            return ret;
        if (sd)
            memcpy(sd->data, info->icc_profile, info->icc_profile_size);
    }
    if (info->exif) {
        ret = cudaenc_attach_exif(avctx, frame, info->exif, info->exif_size);
        if (ret == AVERROR(ENOMEM))
            return ret;
        if (ret < 0)
            av_log(avctx, AV_LOG_WARNING, "EXIF is damaged: frames have what can be read of it\n");
    }
    if (info->orientation > 1) {
        ret = cudaenc_new_side_data(avctx, frame, AV_FRAME_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t), &sd);
        if (ret < 0)
            return ret;
        if (sd) {
            av_display_rotation_set((int32_t *)sd->data, 5.0 * orientations[info->orientation].rotation);
            av_display_matrix_flip((int32_t *)sd->data, orientations[info->orientation].mirrored, 0);
        }
    }
    return 0;
}

/* Whether the bytes behind the first field are another one. */
static int has_second_field(AVCodecContext *avctx, const CudaencPictureInfo *first, const uint8_t *data, size_t size)
{
    FFCudadecContext *s = avctx->priv_data;
    CudaencPictureInfo info = { .struct_size = sizeof(info) };

    return size && cudaenc_decoder_read_header(s->decoder, data, size, &info) == CUDAENC_OK &&
           info.width == first->width && info.height == first->height &&
           software_format(&info.format) == software_format(&first->format);
}

/* Whether a packet holds two fields. Another picture of the same size follows the first one. This is flatter than the
 * container's, as FFmpeg's decoder tells them; not so of JPEG 2000, where two codestreams are fields alone (SMPTE ST
 * 422), and FFmpeg, which reads the first one, may have taken its size for the container's. Or the first one has half of
 * the container's lines, and the other is lost. */
static void set_fields(AVCodecContext *avctx, const CudaencPictureInfo *info)
{
    FFCudadecContext *s = avctx->priv_data;
    const int64_t width = s->container_width, height = s->container_height;
    const size_t size = s->pkt->size;

    s->fields     = 1;
    s->missing    = 0;
    s->first_size = size;
    if (4 * info->height * width < 3 * height * info->width || s->codec == CUDAENC_CODEC_J2K) {
        const size_t first = cudaenc_decoder_picture_size(s->pkt->data, size);
        const int second   = has_second_field(avctx, info, s->pkt->data + first, size - first);

        if (second || info->width == width && height > 1 && info->height == (height + 1) / 2) {
            s->fields     = 2;
            s->missing    = !second;
            s->first_size = first;
        }
    }
    s->bottom_first = avctx->field_order == AV_FIELD_BB ||
                      s->codec == CUDAENC_CODEC_J2K && avctx->field_order == AV_FIELD_BT ||
                      avctx->field_order == AV_FIELD_UNKNOWN && avctx->codec_tag == MKTAG('M', 'J', 'P', 'G');
    s->top_shown_first = s->codec == CUDAENC_CODEC_J2K && avctx->field_order == AV_FIELD_TB ? 0 :
                         s->codec == CUDAENC_CODEC_J2K && avctx->field_order == AV_FIELD_BT ? 1 : !s->bottom_first;
}

static void drop_frames(FFCudadecContext *s)
{
    for (; s->nb_frames; s->nb_frames--) {
        av_frame_unref(s->ring[s->first_frame].frame);
        av_packet_unref(s->ring[s->first_frame].pkt);
        s->first_frame = (s->first_frame + 1) % CUDAENC_MAX_ASYNC_DEPTH;
    }
}

/* Starts to decode the pictures of s->pkt to the planes of a frame, each to its own lines. */
static int submit_pictures(AVCodecContext *avctx, AVFrame *frame)
{
    FFCudadecContext *s = avctx->priv_data;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->software);
    const size_t first = s->first_size;
    CudaencCodedPicture coded = { .struct_size = sizeof(coded), .opaque = frame };
    int ret = 0;

#if CONFIG_CUDA
    if (s->device_frames)
        coded.cuda_stream = ((AVCUDADeviceContext *)((AVHWDeviceContext *)avctx->hw_device_ctx->data)->hwctx)->stream;
#endif
    for (int field = 0; field < s->fields; field++) {
        const int second = field && !s->missing;
        const int line   = s->fields == 2 && field != s->bottom_first;

        coded.data = s->pkt->data + (second ? first : 0);
        coded.size = second ? s->pkt->size - first : first;
        for (int i = 0; i < desc->nb_components; i++) {
            const int plane = desc->comp[i].plane;

            coded.planes[i] = frame->data[plane] + line * frame->linesize[plane];
            coded.stride[i] = frame->linesize[plane] * s->fields;
        }
        ret = cudaenc_decoder_submit(s->decoder, &coded);
        if (ret < 0 && field) {
            /* a field without the other is in flight: begin anew */
            cudaenc_decoder_close(s->decoder);
            s->decoder = NULL;
            drop_frames(s);
        }
        if (ret < 0)
            break;
    }
    return ff_cudaenc_error(ret);
}

/* Starts to decode s->pkt. AVERROR(EAGAIN): pictures in flight must leave first. */
static int submit_packet(AVCodecContext *avctx)
{
    FFCudadecContext *s = avctx->priv_data;
    const int slot = (s->first_frame + s->nb_frames) % CUDAENC_MAX_ASYNC_DEPTH;
    AVFrame *frame = s->ring[slot].frame;
    CudaencPictureInfo info = { .struct_size = sizeof(info) };
    int ret;

    if (!s->decoder && (ret = open_decoder(avctx, 0)) < 0)
        return ret;
    ret = cudaenc_decoder_read_header(s->decoder, s->pkt->data, s->pkt->size, &info);
    if (ret < 0)
        return ret == CUDAENC_ERR_UNSUPPORTED ? AVERROR_PATCHWELCOME : ret == CUDAENC_ERR_INVALID ? AVERROR_INVALIDDATA
                                                                                                   : ff_cudaenc_error(ret);
    set_fields(avctx, &info);
    ret = set_format(avctx, &info);
    if (ret < 0)
        return ret;
    if ((avctx->pix_fmt == AV_PIX_FMT_CUDA) != s->device_frames || s->fields != s->decoder_fields) {
        if (s->nb_frames)
            return AVERROR(EAGAIN);
        ret = open_decoder(avctx, avctx->pix_fmt == AV_PIX_FMT_CUDA);
        if (ret < 0)
            return ret;
        /* the old decoder owned the profile */
        ret = ff_cudaenc_error(cudaenc_decoder_read_header(s->decoder, s->pkt->data, s->pkt->size, &info));
        if (ret < 0)
            return ret;
    }
#if CONFIG_CUDA
    if (s->device_frames) {
        ret = set_hw_frames(avctx);
        if (ret < 0)
            return ret;
    }
#endif
    ret = ff_get_buffer(avctx, frame, 0);
    if (ret < 0)
        return ret;
    avctx->sw_pix_fmt = s->software;
#if CONFIG_CUDA
    if (s->device_frames)
        avctx->sw_pix_fmt = cuda_format(s->software);
#endif
    cudaenc_set_packet_props(frame, s->pkt);
    frame->pict_type  = AV_PICTURE_TYPE_I;
    cudaenc_set_key_frame(frame);
    ret = add_side_data(avctx, frame, &info);
    if (s->fields == 2)
        cudaenc_set_interlaced(frame, s->top_shown_first);
    if (ret >= 0)
        ret = submit_pictures(avctx, frame);
    if (ret < 0) {
        av_frame_unref(frame);
        return ret;
    }
    s->ring[slot].missing = s->missing;
    av_packet_move_ref(s->ring[slot].pkt, s->pkt);
    s->nb_frames++;
    return 0;
}

/* The pictures of the oldest frame. */
static int receive_pictures(FFCudadecContext *s, int wait, int *corrupt)
{
    CudaencDecodedPicture picture = { .struct_size = sizeof(picture) };
    int ret = 0;

    *corrupt = 0;
    for (int field = 0; field < s->decoder_fields; field++) {
        int code;

        if (field)
            cudaenc_decoder_flush(s->decoder); /* which gives the second one, too; the next submit starts anew */
        else if (!wait && (ret = cudaenc_decoder_poll(s->decoder, &picture)) == CUDAENC_AGAIN)
            return ret;
        code = wait || field ? cudaenc_decoder_receive(s->decoder, &picture) : ret;
        ret  = ret < 0 ? ret : code;
        *corrupt |= picture.corrupt;
    }
    return ret;
}

int ff_cudadec_receive_frame(AVCodecContext *avctx, AVFrame *frame)
{
    FFCudadecContext *s = avctx->priv_data;
    AVFrame *oldest;
    int slot, corrupt, wait = 1, ret;

    /* Fill the ring, then wait for the oldest picture. Else take it where it is
     * finished, so that no picture waits for packets that come later. */
    while (!s->draining && s->nb_frames < (s->decoder ? s->depth : 1)) {
        if (!s->pkt->data) {
            ret = ff_decode_get_packet(avctx, s->pkt);
            if (ret == AVERROR(EAGAIN)) {
                wait = 0;
                break;
            }
            if (ret == AVERROR_EOF) {
                if (s->decoder)
                    cudaenc_decoder_flush(s->decoder);
                s->draining = 1;
                break;
            }
            if (ret < 0)
                return ret;
        }
        if (!s->pkt->size || avctx->skip_frame >= AVDISCARD_ALL) {
            av_packet_unref(s->pkt);
            continue;
        }
        ret = submit_packet(avctx);
        if (ret == AVERROR(EAGAIN)) {
            cudaenc_decoder_flush(s->decoder); /* the next submit starts anew */
            break;
        }
        if (ret < 0) {
            av_packet_unref(s->pkt);
            return ret;
        }
    }
    if (!s->nb_frames)
        return s->draining ? AVERROR_EOF : AVERROR(EAGAIN);

    ret = receive_pictures(s, wait, &corrupt);
    if (ret == CUDAENC_AGAIN && !wait)
        return AVERROR(EAGAIN);
    if (ret == CUDAENC_AGAIN || ret == CUDAENC_EOF)
        return AVERROR_BUG;
    slot   = s->first_frame;
    oldest = s->ring[slot].frame;
    av_packet_unref(s->ring[slot].pkt);
    s->first_frame = (s->first_frame + 1) % CUDAENC_MAX_ASYNC_DEPTH;
    s->nb_frames--;
    if (ret < 0) {
        av_frame_unref(oldest);
        return ret == CUDAENC_ERR_INVALID ? AVERROR_INVALIDDATA : ff_cudaenc_error(ret);
    }
    av_frame_move_ref(frame, oldest);
    if (s->ring[slot].missing) {
        av_log(avctx, AV_LOG_WARNING, "The second field is missing: the first one is in its place\n");
        corrupt = 1;
    }
    if (corrupt) {
        if (avctx->err_recognition & AV_EF_EXPLODE) {
            av_frame_unref(frame);
            return AVERROR_INVALIDDATA;
        }
        frame->flags |= AV_FRAME_FLAG_CORRUPT;
        frame->decode_error_flags |= FF_DECODE_ERROR_INVALID_BITSTREAM;
    }
    return 0;
}

void ff_cudadec_flush(AVCodecContext *avctx)
{
    FFCudadecContext *s = avctx->priv_data;
    int corrupt;

    if (s->decoder)
        cudaenc_decoder_flush(s->decoder);
    for (int i = 0; i < s->nb_frames; i++)
        receive_pictures(s, 1, &corrupt);
    drop_frames(s);
    av_packet_unref(s->pkt);
    s->draining = 0;
}

av_cold int ff_cudadec_init(AVCodecContext *avctx, CudaencCodec codec)
{
    FFCudadecContext *s = avctx->priv_data;

    s->codec            = codec;
    s->software         = AV_PIX_FMT_NONE;
    s->container_width  = avctx->coded_width;
    s->container_height = avctx->coded_height;
    s->fields           = 1;
    s->pkt              = av_packet_alloc();
    if (!s->pkt)
        return AVERROR(ENOMEM);
    for (int i = 0; i < CUDAENC_MAX_ASYNC_DEPTH; i++) {
        s->ring[i].frame = av_frame_alloc();
        s->ring[i].pkt   = av_packet_alloc();
        if (!s->ring[i].frame || !s->ring[i].pkt)
            return AVERROR(ENOMEM);
    }
    return open_decoder(avctx, 0);
}

av_cold int ff_cudadec_close(AVCodecContext *avctx)
{
    FFCudadecContext *s = avctx->priv_data;

    /* first the decoder, which waits until the device has left frames and packets alone */
    cudaenc_decoder_close(s->decoder);
    s->decoder = NULL;
    for (int i = 0; i < CUDAENC_MAX_ASYNC_DEPTH; i++) {
        av_frame_free(&s->ring[i].frame);
        av_packet_free(&s->ring[i].pkt);
    }
    av_packet_free(&s->pkt);
    av_buffer_unref(&s->device_ref);
    return 0;
}
