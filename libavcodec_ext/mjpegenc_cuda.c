/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JPEG encoder on CUDA
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



#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "libavutil/mathematics.h"
#include "libavutil/opt.h"

typedef struct MjpegCudaContext {
    FFCudaencContext common;
    CudaencMjpegOptions mjpeg;
} MjpegCudaContext;

/* -b:v as a size for each packet. */
static int set_frame_bytes(AVCodecContext *avctx, CudaencMjpegOptions *mjpeg)
{
    AVRational rate;

    if (!avctx->bit_rate)
        return 0;
    if (avctx->rc_max_rate || avctx->rc_buffer_size) {
        av_log(avctx, AV_LOG_ERROR, "-maxrate and -bufsize are not supported: with -b:v all "
               "packets have one size\n");
        return AVERROR(ENOSYS);
    }
    rate = ff_cudaenc_frame_rate(avctx);
    mjpeg->frame_bytes = av_rescale(avctx->bit_rate, rate.den, 8LL * rate.num);
    if (mjpeg->frame_bytes < 1)  /* or more than 64 bits hold, which is refused */
        mjpeg->frame_bytes = mjpeg->frame_bytes < 0 ? INT64_MAX : 1;
    if (avctx->qmin > 0)
        mjpeg->quality_min = avctx->qmin;
    if (avctx->qmax > 0)
        mjpeg->quality_max = avctx->qmax;
    return 0;
}

static av_cold int mjpeg_cuda_init(AVCodecContext *avctx)
{
    MjpegCudaContext *s = avctx->priv_data;
    const enum AVPixelFormat fmt = avctx->pix_fmt == AV_PIX_FMT_CUDA ? avctx->sw_pix_fmt : avctx->pix_fmt;
    CudaencConfig config;
    int quality, ret;

    /* The native encoder's rule. Decoders leave frames in GPU memory as they
     * are coded, and nothing could convert them on the way. */
    if (avctx->pix_fmt != AV_PIX_FMT_CUDA && avctx->color_range != AVCOL_RANGE_JPEG &&
        !(av_pix_fmt_desc_get(avctx->pix_fmt)->flags & AV_PIX_FMT_FLAG_RGB) &&
        avctx->pix_fmt != AV_PIX_FMT_GRAY8 &&
        avctx->strict_std_compliance > FF_COMPLIANCE_UNOFFICIAL) {
        av_log(avctx, AV_LOG_ERROR, "YUV that is not of full range is not standard: convert it, "
               "or set -strict unofficial\n");
        return AVERROR(EINVAL);
    }

    cudaenc_config_defaults(&config, CUDAENC_CODEC_MJPEG);

    quality = ff_cudaenc_quality(avctx, s->mjpeg.quality, config.mjpeg.quality);
    if (quality < 0)
        return quality;
    if (s->mjpeg.quality < 0 && avctx->flags & AV_CODEC_FLAG_QSCALE && quality <= 31)
        av_log(avctx, AV_LOG_WARNING, "-q:v %d: of this encoder 1 is the worst and 100 the best quality, "
               "not 2 the best and 31 the worst\n", quality);

    s->mjpeg.quality       = quality;
    s->mjpeg.quality_min   = config.mjpeg.quality_min;
    s->mjpeg.quality_max   = config.mjpeg.quality_max;
    s->mjpeg.luma_matrix   = avctx->intra_matrix;
    s->mjpeg.chroma_matrix = avctx->chroma_intra_matrix;
    ret = set_frame_bytes(avctx, &s->mjpeg);
    if (ret < 0)
        return ret;
    config.mjpeg = s->mjpeg;
    /* without the library's version, so that its packets can be compared */
    if (!config.mjpeg.comment && avctx->flags & AV_CODEC_FLAG_BITEXACT)
        config.mjpeg.comment = "cudaenc";

    ret = ff_cudaenc_init(avctx, &config);
    if (ret < 0)
        return ret;
    avctx->profile = AV_PROFILE_MJPEG_HUFFMAN_BASELINE_DCT;
    if (av_pix_fmt_desc_get(fmt)->flags & AV_PIX_FMT_FLAG_RGB && !config.mjpeg.mct)
        av_log(avctx, AV_LOG_INFO, "RGB stays RGB in the pictures; -mct 1 makes YCbCr of it\n");
    return 0;
}

#define OFFSET(x) offsetof(MjpegCudaContext, x)
#define VE CUDAENC_OPTION_FLAGS
#define CONST CUDAENC_CONST
static const AVOption options[] = {
    CUDAENC_COMMON_OPTIONS,
    { "quality", "Quality on libjpeg's scale, best is 100; -1: as -q:v says, else 90", OFFSET(mjpeg.quality), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 100, VE },
    { "matrix", "Quantisation matrices, which quality scales", OFFSET(mjpeg.matrix), AV_OPT_TYPE_INT, { .i64 = CUDAENC_MJPEG_MATRIX_ANNEXK }, CUDAENC_MJPEG_MATRIX_ANNEXK, CUDAENC_MJPEG_MATRIX_MPEG, VE, .unit = "matrix" },
    CONST("annexk", "The standard's (Annex K): made for the eye", CUDAENC_MJPEG_MATRIX_ANNEXK, "matrix"),
    CONST("flat", "One divisor for all coefficients: for PSNR", CUDAENC_MJPEG_MATRIX_FLAT, "matrix"),
    CONST("mpeg", "The intra matrix of MPEG-2, as FFmpeg's mjpeg has it: between the two", CUDAENC_MJPEG_MATRIX_MPEG, "matrix"),
    { "trellis", "Levels whose bits cost more than they give become smaller", OFFSET(mjpeg.trellis), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "huffman", "Huffman tables", OFFSET(mjpeg.huffman), AV_OPT_TYPE_INT, { .i64 = CUDAENC_MJPEG_HUFFMAN_OPTIMAL }, CUDAENC_MJPEG_HUFFMAN_DEFAULT, CUDAENC_MJPEG_HUFFMAN_OPTIMAL, VE, .unit = "huffman" },
    CONST("default", "The standard's (Annex K): for RTP, and faster", CUDAENC_MJPEG_HUFFMAN_DEFAULT, "huffman"),
    CONST("optimal", "Made for each picture: smaller", CUDAENC_MJPEG_HUFFMAN_OPTIMAL, "huffman"),
    { "restart_interval", "MCUs between restart markers; 0: none, -1: a row", OFFSET(mjpeg.restart_interval), AV_OPT_TYPE_INT, { .i64 = 0 }, -1, 65535, VE, .unit = "restart_interval" },
    CONST("row", "A row of MCUs: decoders can work in parallel", -1, "restart_interval"),
    { "mct", "RGB becomes YCbCr, else it stays RGB", OFFSET(mjpeg.mct), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "comment", "COM marker segment's text, empty: none; not set: name and version", OFFSET(mjpeg.comment), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { NULL }
};

/* of full range, whatever the frame says */
#define FULL_RANGE_FORMATS \
    AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P, \
    AV_PIX_FMT_GRAY8,                                                                                        \
    AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_GBRP,                                                     \
    AV_PIX_FMT_RGB0, AV_PIX_FMT_BGR0, AV_PIX_FMT_0RGB, AV_PIX_FMT_0BGR

#if CUDAENC_HAVE_SUPPORTED_CONFIG
static int mjpeg_cuda_supported_config(const AVCodecContext *avctx, const AVCodec *codec,
                                       enum AVCodecConfig config, unsigned flags,
                                       const void **out, int *out_num)
{
    static const enum AVPixelFormat formats[] = {
        FULL_RANGE_FORMATS, CUDAENC_FMT_CUDA, AV_PIX_FMT_NONE
    };
    const int nb_formats = FF_ARRAY_ELEMS(formats) - 1 - (CUDAENC_FMT_CUDA == AV_PIX_FMT_NONE);

    return cudaenc_jpeg_supported_config(avctx, codec, formats, nb_formats, config, flags, out, out_num);
}
#endif

static const FFCodecDefault mjpeg_cuda_defaults[] = {
    { "b",    "0" },
    { "qmin", "-1" },
    { "qmax", "-1" },
    { NULL },
};

static const AVClass mjpeg_cuda_class = CUDAENC_CLASS("mjpeg_cuda", options);

/* not const: libavcodec writes to encoders with get_supported_config */
FFCodec ff_mjpeg_cuda_encoder = {
    .p.name         = "mjpeg_cuda",
    CODEC_LONG_NAME("MJPEG (Motion JPEG) on CUDA (cudaenc)"),
    .p.id           = AV_CODEC_ID_MJPEG,
    .p.priv_class   = &mjpeg_cuda_class,
    .priv_data_size = sizeof(MjpegCudaContext),
    .defaults       = mjpeg_cuda_defaults,
    .init           = mjpeg_cuda_init,
    .close          = ff_cudaenc_close,
    CUDAENC_ENCODER,
    CUDAENC_GET_SUPPORTED_CONFIG(mjpeg_cuda_supported_config)
    CODEC_PIXFMTS(
        FULL_RANGE_FORMATS,
        CUDAENC_JPEG_FMT_LIMITED
        CUDAENC_FMT_CUDA),
    .caps_internal  = FF_CODEC_CAP_INIT_CLEANUP | FF_CODEC_CAP_AUTO_THREADS |
                      FF_CODEC_CAP_ICC_PROFILES,
};
