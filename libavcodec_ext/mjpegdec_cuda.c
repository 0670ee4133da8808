/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JPEG decoder on CUDA
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

#include "cudadec_glue.h"

static av_cold int mjpeg_cuda_init(AVCodecContext *avctx)
{
    avctx->colorspace             = AVCOL_SPC_BT470BG; /* of RGB too, as the native decoder */
    avctx->chroma_sample_location = AVCHROMA_LOC_CENTER;
    return ff_cudadec_init(avctx, CUDAENC_CODEC_MJPEG);
}

static const AVOption options[] = {
    CUDADEC_COMMON_OPTIONS,
    { NULL }
};

static const AVClass mjpeg_cuda_decoder_class = CUDAENC_CLASS("mjpeg_cuda decoder", options);

const FFCodec ff_mjpeg_cuda_decoder = {
    .p.name         = "mjpeg_cuda",
    CODEC_LONG_NAME("MJPEG (Motion JPEG) on CUDA (cudaenc)"),
    .p.id           = AV_CODEC_ID_MJPEG,
    .p.priv_class   = &mjpeg_cuda_decoder_class,
    .p.max_lowres   = 3,
    .priv_data_size = sizeof(FFCudadecContext),
    .init           = mjpeg_cuda_init,
    CUDADEC_DECODER,
};
