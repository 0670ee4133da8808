/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JPEG 2000 recoding bitstream filter
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
 * Codes the code-blocks of JPEG 2000 packets anew, from Part 1 to HTJ2K or
 * back: no wavelet and no samples.
 */

#include <limits.h>
#include <string.h>

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "libavutil/opt.h"

#include "bsf.h"
#include "bsf_internal.h"

typedef struct J2kRecodeContext {
    const AVClass *class;
    /* options */
    int ht;
    int threads;

    AVPacket *pkt;
    CudaencJ2kRecoder *recoder;
} J2kRecodeContext;

static int j2k_recode_filter(AVBSFContext *ctx, AVPacket *out)
{
    J2kRecodeContext *s = ctx->priv_data;
    AVPacket *in        = s->pkt;
    const uint8_t *bytes;
    size_t count;
    int code, ret;

    ret = ff_bsf_get_packet_ref(ctx, in);
    if (ret < 0)
        return ret;
    if (!in->size) {
        av_packet_move_ref(out, in);
        return 0;
    }

    code = cudaenc_j2k_recoder_recode(s->recoder, in->data, in->size, &bytes, &count);
    if (code < 0) {
        ret = code == CUDAENC_ERR_INVALID ? AVERROR_INVALIDDATA : ff_cudaenc_error(code);
    } else if (count > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE) {
        av_log(ctx, AV_LOG_ERROR, "a packet of %zu bytes, libavcodec takes at most %d\n", count,
               INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE);
        ret = AVERROR(ERANGE);
    } else if ((ret = av_new_packet(out, count)) < 0) {
        av_log(ctx, AV_LOG_ERROR, "no memory for a packet of %zu bytes\n", count);
    } else {
        memcpy(out->data, bytes, count);
        ret = av_packet_copy_props(out, in);
    }
    if (ret < 0)
        av_packet_unref(out);
    av_packet_unref(in);
    return ret;
}

static av_cold int j2k_recode_init(AVBSFContext *ctx)
{
    J2kRecodeContext *s = ctx->priv_data;
    CudaencJ2kRecoderConfig config;
    int code;

    s->pkt = av_packet_alloc();
    if (!s->pkt)
        return AVERROR(ENOMEM);
    cudaenc_j2k_recoder_defaults(&config);
    config.htj2k      = s->ht;
    config.threads    = s->threads;
    config.log        = ff_cudaenc_log;
    config.log_opaque = ctx;
    code = cudaenc_j2k_recoder_open(&s->recoder, &config);
    if (code < 0)
        return ff_cudaenc_error(code);
    /* FFmpeg's profile is Rsiz, whose bit 14 tells of HT */
    if (ctx->par_in->profile >= 0)
        ctx->par_out->profile = ctx->par_in->profile & ~0x4000 | (s->ht ? 0x4000 : 0);
    ctx->par_out->bit_rate = 0; /* not known before all packets are */
    return 0;
}

static void j2k_recode_flush(AVBSFContext *ctx)
{
    J2kRecodeContext *s = ctx->priv_data;

    av_packet_unref(s->pkt);
}

static av_cold void j2k_recode_close(AVBSFContext *ctx)
{
    J2kRecodeContext *s = ctx->priv_data;

    cudaenc_j2k_recoder_close(s->recoder);
    s->recoder = NULL;
    av_packet_free(&s->pkt);
}

#define OFFSET(x) offsetof(J2kRecodeContext, x)
#define FLAGS (AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_BSF_PARAM)
static const AVOption options[] = {
    { "cblk_style", "Block coder of packets", OFFSET(ht), AV_OPT_TYPE_INT, { .i64 = 1 }, 0, 1, FLAGS, .unit = "cblk_style" },
    { "none", "MQ coder of Part 1, without style", 0, AV_OPT_TYPE_CONST, { .i64 = 0 }, 0, 0, FLAGS, .unit = "cblk_style" },
    { "ht",   "HT block coder (ITU-T T.814, HTJ2K)", 0, AV_OPT_TYPE_CONST, { .i64 = 1 }, 0, 0, FLAGS, .unit = "cblk_style" },
    { "threads", "Threads of the CPU; 0: one per core", OFFSET(threads), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1024, FLAGS },
    { NULL }
};

static const AVClass j2k_recode_class = CUDAENC_CLASS("j2k_recode bsf", options);

static const enum AVCodecID codec_ids[] = { AV_CODEC_ID_JPEG2000, AV_CODEC_ID_NONE };

const FFBitStreamFilter ff_j2k_recode_bsf = {
    .p.name         = "j2k_recode",
    .p.codec_ids    = codec_ids,
    .p.priv_class   = &j2k_recode_class,
    .priv_data_size = sizeof(J2kRecodeContext),
    .init           = j2k_recode_init,
    .filter         = j2k_recode_filter,
    .flush          = j2k_recode_flush,
    .close          = j2k_recode_close,
};
