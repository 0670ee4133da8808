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
    int noted; /* what is not kept was said */
} J2kRecodeContext;

/* Errors are logged once it is known that the packet was not too large. */
static void log_note(void *opaque, CudaencLogLevel level, const char *line)
{
    AVBSFContext *ctx   = opaque;
    J2kRecodeContext *s = ctx->priv_data;

    if (level == CUDAENC_LOG_ERROR)
        return;
    ff_cudaenc_log(ctx, s->noted ? CUDAENC_LOG_VERBOSE : level, line);
    s->noted |= level == CUDAENC_LOG_WARNING;
}

static int recode(AVBSFContext *ctx, AVPacket *out, const AVPacket *in, size_t *bytes)
{
    const J2kRecodeContext *s = ctx->priv_data;
    const CudaencJ2kRecode config = {
        .struct_size = sizeof(config),
        .data        = in->data,
        .size        = in->size,
        .htj2k       = s->ht,
        .threads     = s->threads,
        .bytes       = out->data,
        .capacity    = out->size,
        .log         = log_note,
        .log_opaque  = ctx,
    };

    return cudaenc_j2k_recode(&config, bytes);
}

static int j2k_recode_filter(AVBSFContext *ctx, AVPacket *out)
{
    const size_t most   = INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE;
    J2kRecodeContext *s = ctx->priv_data;
    AVPacket *in        = s->pkt;
    size_t bytes;
    int code = CUDAENC_OK, ret;

    ret = ff_bsf_get_packet_ref(ctx, in);
    if (ret < 0)
        return ret;
    if (!in->size) {
        av_packet_move_ref(out, in);
        return 0;
    }

    bytes = FFMIN(2 * (size_t)in->size + 4096, most);
    do { /* once more where it takes more than that */
        av_packet_unref(out);
        ret = av_new_packet(out, bytes);
        if (ret < 0) {
            av_log(ctx, AV_LOG_ERROR, "no memory for a packet of %zu bytes\n", bytes);
            goto end;
        }
        code = recode(ctx, out, in, &bytes);
    } while (code == CUDAENC_ERR_INVALID && bytes > out->size && bytes <= most);

    if (code == CUDAENC_OK) {
        av_shrink_packet(out, bytes);
        ret = av_packet_copy_props(out, in);
    } else if (bytes > most) {
        av_log(ctx, AV_LOG_ERROR, "a packet of %zu bytes, libavcodec takes at most %zu\n", bytes, most);
        ret = AVERROR(ERANGE);
    } else {
        av_log(ctx, AV_LOG_ERROR, "%s\n", cudaenc_last_error());
        ret = code == CUDAENC_ERR_INVALID ? AVERROR_INVALIDDATA : ff_cudaenc_error(code);
    }
end:
    if (ret < 0)
        av_packet_unref(out);
    av_packet_unref(in);
    return ret;
}

static av_cold int j2k_recode_init(AVBSFContext *ctx)
{
    J2kRecodeContext *s = ctx->priv_data;

    s->pkt = av_packet_alloc();
    if (!s->pkt)
        return AVERROR(ENOMEM);
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
