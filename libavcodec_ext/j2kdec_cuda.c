/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JPEG 2000 decoder
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

static av_cold int j2k_cuda_init(AVCodecContext *avctx)
{
    return ff_cudadec_init(avctx, CUDAENC_CODEC_J2K);
}

static const AVOption options[] = {
    CUDADEC_COMMON_OPTIONS,
    { "layers", "Of JPEG 2000: quality layers that are decoded; 0: all",
      offsetof(FFCudadecContext, layers), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 65535, CUDADEC_OPTION_FLAGS },
    { "region", "Of JPEG 2000: the part X,Y,WIDTH,HEIGHT that is decoded, in samples before lowres; not set: all",
      offsetof(FFCudadecContext, region), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, CUDADEC_OPTION_FLAGS },
    { "channels", "Of JPEG 2000: one to four channels C,C,... that planes have, counted from 0: gray, gray and opacity, three colours, or these and opacity; not set: as the file says",
      offsetof(FFCudadecContext, channels), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, CUDADEC_OPTION_FLAGS },
    { NULL }
};

static const AVClass j2k_cuda_decoder_class = CUDAENC_CLASS("j2k_cuda decoder", options);

const FFCodec ff_j2k_cuda_decoder = {
    .p.name         = "j2k_cuda",
    CODEC_LONG_NAME("JPEG 2000 and HTJ2K (cudaenc)"),
    .p.id           = AV_CODEC_ID_JPEG2000,
    .p.priv_class   = &j2k_cuda_decoder_class,
    .p.max_lowres   = 3,
    .priv_data_size = sizeof(FFCudadecContext),
    .init           = j2k_cuda_init,
    CUDADEC_DECODER,
};
