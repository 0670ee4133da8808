/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * H.264 encoder with CAVLC on CUDA
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
#include <string.h>

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "libavutil/aes.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"

#define NOT_SET (-13) /* below every QP */
#define LEVEL_1B 9    /* level_idc of profiles from High on */

typedef struct H264CudaContext {
    FFCudaencContext common;
    CudaencH264Options h264;
    int qp, crf; /* NOT_SET, or QPs */
    float aq;    /* -1: auto */
    int repeat_headers; /* -1: auto */
    int nal_hrd;
    double level; /* ten times the level; a float, so that none is rounded to another one */
    uint8_t *encrypt_key;
    int encrypt_key_size;
    uint8_t *encrypt_iv;
    int encrypt_iv_size;
    struct AVAES *aes; /* NULL: no encryption */
    int64_t known_bit_rate, known_max_rate; /* what the session has */
    int known_qp, known_crf;
} H264CudaContext;

enum { HRD_NONE, HRD_VBR, HRD_CBR };

static av_cold int h264_cuda_close(AVCodecContext *avctx)
{
    H264CudaContext *s = avctx->priv_data;

    ff_cudaenc_close(avctx);
    av_freep(&s->aes);
    return 0;
}

/* AES in counter mode. Counter blocks are numbers of 128 bits: that of block i
 * of picture n is encrypt_iv + 2^64 n + i. */
static void write_keystream(void *opaque, uint64_t picture, uint8_t *bytes, size_t size)
{
    H264CudaContext *s = opaque;
    const uint64_t high = AV_RB64(s->encrypt_iv) + picture, low = AV_RB64(s->encrypt_iv + 8);

    for (size_t i = 0; i < size / 16; i++) {
        AV_WB64(bytes + 16 * i,     high + (low + i < low));
        AV_WB64(bytes + 16 * i + 8, low + i);
    }
    av_aes_crypt(s->aes, bytes, bytes, size / 16, NULL, 0);
}

static int set_encryption(AVCodecContext *avctx, H264CudaContext *s, CudaencH264Options *h264)
{
    const int size = s->encrypt_key_size;

    if (s->encrypt_iv_size && (!size || s->encrypt_iv_size != 16)) {
        av_log(avctx, AV_LOG_ERROR, "encrypt_iv of %d bytes is not allowed: it has 16, and goes with encrypt_key\n",
               s->encrypt_iv_size);
        return AVERROR(EINVAL);
    }
    if (!size && h264->encrypt_parts) {
        av_log(avctx, AV_LOG_ERROR, "encrypt_parts is not allowed without encrypt_key\n");
        return AVERROR(EINVAL);
    }
    if (!size)
        return 0;
    if (size != 16 && size != 24 && size != 32) {
        av_log(avctx, AV_LOG_ERROR, "encrypt_key of %d bytes is not allowed: it has 16, 24 or 32\n", size);
        return AVERROR(EINVAL);
    }
    if (!s->encrypt_iv_size) {
        av_log(avctx, AV_LOG_ERROR, "encrypt_key is not allowed without encrypt_iv, 16 bytes that no other stream of this key has\n");
        return AVERROR(EINVAL);
    }
    s->aes = av_aes_alloc();
    if (!s->aes)
        return AVERROR(ENOMEM);
    av_aes_init(s->aes, s->encrypt_key, 8 * size, 0);
    h264->keystream        = write_keystream;
    h264->keystream_opaque = s;
    return 0;
}

static int set_level(AVCodecContext *avctx, const H264CudaContext *s, CudaencH264Options *h264)
{
    if (s->level == LEVEL_1B) {
        av_log(avctx, AV_LOG_ERROR, "level 1b is not allowed: its 128 kbit/s are too few for pictures that are all intra. It is 1 to 6.2, or auto\n");
        return AVERROR(EINVAL);
    }
    if (s->level != floor(s->level)) {
        av_log(avctx, AV_LOG_ERROR, "level %g is not allowed: it is a level of table A-1, 1 to 6.2, or ten times it, 10 to 62, or auto\n", s->level);
        return AVERROR(EINVAL);
    }
    h264->level = s->level;
    return 0;
}

/* Told here by the name of the option: the library has one QP. */
static int check_crf(AVCodecContext *avctx, const H264CudaContext *s)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(avctx->pix_fmt == AV_PIX_FMT_CUDA ? avctx->sw_pix_fmt : avctx->pix_fmt);
    const int lowest = desc ? -6 * (desc->comp[0].depth - 8) : 0;

    if (s->crf == NOT_SET || s->crf >= lowest)
        return 0;
    av_log(avctx, AV_LOG_ERROR, "crf %d is not allowed: it is %d to 51 with %d bits\n", s->crf, lowest, desc ? desc->comp[0].depth : 8);
    return AVERROR(EINVAL);
}

/* One of qp, crf, -q:v and -b:v, and what limits it. */
static int set_rate(AVCodecContext *avctx, const H264CudaContext *s, CudaencH264Options *h264)
{
    AVRational rate = avctx->framerate;
    int qp = s->qp;

    if (qp == NOT_SET && s->crf == NOT_SET && avctx->flags & AV_CODEC_FLAG_QSCALE)
        qp = avctx->global_quality / FF_QP2LAMBDA;
    else if (qp == NOT_SET && s->crf == NOT_SET && avctx->global_quality)
        qp = avctx->global_quality;
    if (h264->avc_intra_class && (qp != NOT_SET || s->crf != NOT_SET || avctx->bit_rate > 0)) {
        av_log(avctx, AV_LOG_ERROR, "qp (or -q:v, -global_quality), crf and -b:v are not allowed with avcintra-class: it tells the size of frames\n");
        return AVERROR(EINVAL);
    }
    if ((qp != NOT_SET) + (s->crf != NOT_SET) + (avctx->bit_rate > 0) > 1) {
        av_log(avctx, AV_LOG_ERROR, "qp (or -q:v, -global_quality), crf and -b:v exclude each other: give one of them\n");
        return AVERROR(EINVAL);
    }
    if (avctx->bit_rate > 0) {
        h264->rate_control = CUDAENC_H264_BIT_RATE;
        h264->bit_rate     = avctx->bit_rate;
    } else if (qp != NOT_SET) {
        h264->rate_control = CUDAENC_H264_CONSTANT_QP;
        h264->qp           = qp;
    } else if (s->crf != NOT_SET) {
        h264->qp = s->crf;
    }
    h264->max_rate    = avctx->rc_max_rate;
    h264->buffer_size = avctx->rc_buffer_size;
    if (avctx->qmin >= 0)
        h264->qp_min = avctx->qmin;
    if (avctx->qmax >= 0)
        h264->qp_max = avctx->qmax;

    if ((rate.num <= 0 || rate.den <= 0) &&
        (h264->bit_rate || h264->max_rate || h264->avc_intra_class))
        rate = ff_cudaenc_frame_rate(avctx);
    if (rate.num > 0 && rate.den > 0)
        av_reduce(&h264->frame_rate_num, &h264->frame_rate_den, rate.num, rate.den, 1 << 30);
    return 0;
}

static void keep_rate(const AVCodecContext *avctx, H264CudaContext *s)
{
    s->known_bit_rate = avctx->bit_rate;
    s->known_max_rate = avctx->rc_max_rate;
    s->known_qp       = s->qp;
    s->known_crf      = s->crf;
}

/* As with libx264, a program may change rates, qp and crf between two frames. */
static int change_rate(AVCodecContext *avctx)
{
    H264CudaContext *s = avctx->priv_data;
    int ret = CUDAENC_OK;

    if (avctx->bit_rate != s->known_bit_rate || avctx->rc_max_rate != s->known_max_rate)
        ret = cudaenc_set_bit_rate(s->common.session, avctx->bit_rate, avctx->rc_max_rate);
    else if (s->qp != s->known_qp || s->crf != s->known_crf)
        ret = cudaenc_set_qp(s->common.session, s->qp != s->known_qp ? s->qp : s->crf);
    keep_rate(avctx, s);
    return ff_cudaenc_error(ret);
}

/* What muxers and callers ask for: taken from the parameter sets themselves. */
static int take_parameter_sets(AVCodecContext *avctx, const CudaencSession *session)
{
    size_t size;
    const uint8_t *sets = cudaenc_extradata(session, &size);

    /* a start code of 4 bytes, the NAL unit's header, profile, constraint sets, level */
    avctx->profile = sets[5];
    if (sets[5] == 66 && sets[6] & 0x40)
        avctx->profile |= 1 << 9; /* constrained */
    if (sets[5] > 100 && sets[6] & 0x10)
        avctx->profile |= 1 << 11; /* intra */
    avctx->level = sets[7];

    if (!(avctx->flags & AV_CODEC_FLAG_GLOBAL_HEADER))
        return 0;
    avctx->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!avctx->extradata)
        return AVERROR(ENOMEM);
    memcpy(avctx->extradata, sets, size);
    avctx->extradata_size = size;
    return 0;
}

/* What FFmpeg's MOV muxer takes for AVC-Intra, whoever coded it: then it leaves out the parameter sets of the stream. */
static int is_avc_intra_of_mov(const AVCodecContext *avctx)
{
    static const struct {
        enum AVPixelFormat pix_fmt;
        int width, height;
    } formats[] = {
        { AV_PIX_FMT_YUV420P10, 960,  720 },  { AV_PIX_FMT_YUV420P10, 1440, 1080 }, { AV_PIX_FMT_YUV422P10, 1280, 720 },
        { AV_PIX_FMT_YUV422P10, 1920, 1080 }, { AV_PIX_FMT_YUV422P10, 2048, 1080 }, { AV_PIX_FMT_YUV422P10, 3840, 2160 },
        { AV_PIX_FMT_YUV422P10, 4096, 2160 },
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++)
        if (avctx->pix_fmt == formats[i].pix_fmt && avctx->width == formats[i].width && avctx->height == formats[i].height)
            return 1;
    return 0;
}

static av_cold int h264_cuda_init(AVCodecContext *avctx)
{
    H264CudaContext *s = avctx->priv_data;
    CudaencConfig config;
    AVRational sar = avctx->sample_aspect_ratio;
    int ret;

    cudaenc_config_defaults(&config, CUDAENC_CODEC_H264);

    config.h264.profile   = s->h264.profile;
    config.h264.slices    = avctx->slices;
    config.h264.effort    = s->h264.effort;
    config.h264.cbr       = s->h264.cbr || s->nal_hrd == HRD_CBR;
    config.h264.hrd       = s->nal_hrd != HRD_NONE;
    config.h264.deblock   = s->h264.deblock;
    config.h264.aud       = s->h264.aud;
    config.h264.timecodes = s->common.s12m_tc;
    config.h264.aq        = s->aq < 0 ? -1 : lrintf(256 * s->aq);
    config.h264.repeat_headers = s->repeat_headers >= 0 ? s->repeat_headers
                                                        : !(avctx->flags & AV_CODEC_FLAG_GLOBAL_HEADER) ||
                                                          s->h264.avc_intra_class || is_avc_intra_of_mov(avctx);
    config.h264.avc_intra_class  = s->h264.avc_intra_class;
    config.h264.avc_intra_flavor = s->h264.avc_intra_flavor;
    config.h264.encrypt_parts    = s->h264.encrypt_parts;
    if (!config.h264.repeat_headers && !(avctx->flags & AV_CODEC_FLAG_GLOBAL_HEADER))
        av_log(avctx, AV_LOG_WARNING, "repeat_headers 0 without -flags +global_header: no packet has parameter sets, and nobody is told of them. "
               "Decoders cannot begin; leave the option out, or give the flag\n");
    config.h264.gop_size     = FFMAX(avctx->gop_size, 1);
    config.h264.scene_cut    = s->h264.scene_cut;
    config.h264.min_gop_size = FFMAX(avctx->keyint_min, 0);
    config.h264.intra_refresh = s->h264.intra_refresh;
    config.h264.slice_max_bytes = s->h264.slice_max_bytes;
    config.h264.lookahead = s->h264.lookahead;
    config.h264.weighted_prediction = s->h264.weighted_prediction;
    if (s->h264.lookahead && avctx->flags & AV_CODEC_FLAG_LOW_DELAY) {
        av_log(avctx, AV_LOG_ERROR, "lookahead %d is not allowed with -flags low_delay: it is 0\n", s->h264.lookahead);
        return AVERROR(EINVAL);
    }
    if (avctx->max_b_frames > 0)
        av_log(avctx, AV_LOG_WARNING, "-bf has no effect: there are no B pictures\n");
    ret = set_level(avctx, s, &config.h264);
    if (ret < 0)
        return ret;
    ret = check_crf(avctx, s);
    if (ret < 0)
        return ret;
    ret = set_rate(avctx, s, &config.h264);
    if (ret < 0)
        return ret;
    ret = set_encryption(avctx, s, &config.h264);
    if (ret < 0)
        return ret;
    if (sar.num > 0 && sar.den > 0)
        av_reduce(&config.h264.sample_aspect_num, &config.h264.sample_aspect_den,
                  sar.num, sar.den, 65535);
    if (avctx->chroma_sample_location != AVCHROMA_LOC_UNSPECIFIED)
        config.h264.chroma_location = avctx->chroma_sample_location - 1;

    keep_rate(avctx, s);
    s->common.before_frame = change_rate;
    ret = ff_cudaenc_init(avctx, &config);
    if (ret < 0)
        return ret;
    return take_parameter_sets(avctx, s->common.session);
}

#define OFFSET(x) offsetof(H264CudaContext, x)
#define VE CUDAENC_OPTION_FLAGS
#define CONST CUDAENC_CONST
static const AVOption options[] = {
    CUDAENC_COMMON_OPTIONS,
    { "profile", "Profile", OFFSET(h264.profile), AV_OPT_TYPE_INT, { .i64 = CUDAENC_H264_AUTO_PROFILE }, CUDAENC_H264_AUTO_PROFILE, CUDAENC_H264_HIGH_444, VE, .unit = "profile" },
    CONST("auto",     "High, or the profile that the format needs", CUDAENC_H264_AUTO_PROFILE, "profile"),
    CONST("baseline", "Constrained Baseline", CUDAENC_H264_CONSTRAINED_BASELINE, "profile"),
    CONST("main",     "Main",                 CUDAENC_H264_MAIN,                 "profile"),
    CONST("high",     "High",                 CUDAENC_H264_HIGH,                 "profile"),
    CONST("high10",   "High 10, or High 10 Intra",       CUDAENC_H264_HIGH_10_INTRA,   "profile"),
    CONST("high422",  "High 4:2:2, or High 4:2:2 Intra", CUDAENC_H264_HIGH_422_INTRA,  "profile"),
    CONST("cavlc444", "CAVLC 4:4:4 Intra",    CUDAENC_H264_CAVLC_444_INTRA,      "profile"),
    CONST("high444",  "High 4:4:4 Predictive",           CUDAENC_H264_HIGH_444,        "profile"),
    { "level", "Ten times the level; 0: the lowest that fits", OFFSET(level), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 62, VE, .unit = "level" },
    CONST("auto", "The lowest that size, rates and QP allow", 0, "level"),
    CONST("1",   "", 10, "level"), CONST("1.0", "", 10, "level"), CONST("1b", "", LEVEL_1B, "level"), CONST("1.1", "", 11, "level"),
    CONST("1.2", "", 12, "level"), CONST("1.3", "", 13, "level"),
    CONST("2",   "", 20, "level"), CONST("2.0", "", 20, "level"), CONST("2.1", "", 21, "level"),
    CONST("2.2", "", 22, "level"),
    CONST("3",   "", 30, "level"), CONST("3.0", "", 30, "level"), CONST("3.1", "", 31, "level"),
    CONST("3.2", "", 32, "level"),
    CONST("4",   "", 40, "level"), CONST("4.0", "", 40, "level"), CONST("4.1", "", 41, "level"),
    CONST("4.2", "", 42, "level"),
    CONST("5",   "", 50, "level"), CONST("5.0", "", 50, "level"), CONST("5.1", "", 51, "level"),
    CONST("5.2", "", 52, "level"),
    CONST("6",   "", 60, "level"), CONST("6.0", "", 60, "level"), CONST("6.1", "", 61, "level"),
    CONST("6.2", "", 62, "level"),
    { "qp", "Constant QP, -12 (8 bits: 0) to 51; -13: not set", OFFSET(qp), AV_OPT_TYPE_INT, { .i64 = NOT_SET }, NOT_SET, 51, VE },
    { "crf", "Constant quality, a QP as qp's; -13: 20 unless qp or -b:v is set", OFFSET(crf), AV_OPT_TYPE_INT, { .i64 = NOT_SET }, NOT_SET, 51, VE },
    { "aq-strength", "QP more where variance doubles; -1: 1, with constant QP 0", OFFSET(aq), AV_OPT_TYPE_FLOAT, { .dbl = -1 }, -1, 4, VE },
    { "effort", "How modes are looked for: 0 (on a GPU as a whole), 1 and 2 (by CPU threads), 3 (small)", OFFSET(h264.effort), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 3, VE },
    { "cbr", "Fill the stream up to its bit rate", OFFSET(h264.cbr), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "nal-hrd", "HRD parameters, buffering periods and picture timing", OFFSET(nal_hrd), AV_OPT_TYPE_INT, { .i64 = HRD_NONE }, HRD_NONE, HRD_CBR, VE, .unit = "nal_hrd" },
    CONST("none", "None", HRD_NONE, "nal_hrd"),
    CONST("vbr",  "Of a variable bit rate", HRD_VBR, "nal_hrd"),
    CONST("cbr",  "Of a constant bit rate, with cbr", HRD_CBR, "nal_hrd"),
    { "deblock", "Let decoders run the deblocking filter; -1: with P pictures", OFFSET(h264.deblock), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "aud", "Access unit delimiters", OFFSET(h264.aud), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "repeat_headers", "Parameter sets in every packet; -1: unless they are global", OFFSET(repeat_headers), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "a53cc", "Closed captions of frames as SEI messages", OFFSET(common.a53cc), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1, VE },
    { "udu_sei", "Unregistered user data of frames as SEI messages", OFFSET(common.udu_sei), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "s12m_tc", "Timecodes of frames as SEI messages", OFFSET(common.s12m_tc), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "avcintra-class", "AVC-Intra or XAVC Intra: 100, 200, 300 or 480; 0: none", OFFSET(h264.avc_intra_class), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 480, VE },
    { "avcintra-flavor", "Whose AVC-Intra", OFFSET(h264.avc_intra_flavor), AV_OPT_TYPE_INT, { .i64 = CUDAENC_AVC_INTRA_PANASONIC }, CUDAENC_AVC_INTRA_PANASONIC, CUDAENC_AVC_INTRA_SONY, VE, .unit = "avcintra_flavor" },
    CONST("panasonic", "AVC-Intra: 10 slices, SEI messages, classes up to 200", CUDAENC_AVC_INTRA_PANASONIC, "avcintra_flavor"),
    CONST("sony",      "XAVC Intra: 8 slices", CUDAENC_AVC_INTRA_SONY, "avcintra_flavor"),
    { "sc_threshold", "Scene cuts become IDR pictures: where prediction saves at most so many percent; 0: none", OFFSET(h264.scene_cut), AV_OPT_TYPE_INT, { .i64 = 20 }, 0, 100, VE },
    { "intra_refresh", "Pictures in which columns of intra macroblocks pass over the picture, again and again; 0: none", OFFSET(h264.intra_refresh), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1000, VE },
    { "slice_max_bytes", "Bytes of NAL units of slices at most, without start codes, with P pictures; 0: any", OFFSET(h264.slice_max_bytes), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1000000, VE },
    { "lookahead", "Pictures that a P picture waits for, to lower QPs of what they are predicted from; 0: none", OFFSET(h264.lookahead), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 48, VE },
    { "weighted_prediction", "Weights of P pictures, which fades need", OFFSET(h264.weighted_prediction), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "encrypt_key", "AES key in hex, 16, 24 or 32 bytes: signs of levels turn by it, with encrypt_iv", OFFSET(encrypt_key), AV_OPT_TYPE_BINARY, .flags = VE },
    { "encrypt_parts", "What a key turns beside signs, any combination", OFFSET(h264.encrypt_parts), AV_OPT_TYPE_FLAGS, { .i64 = 0 }, 0, CUDAENC_H264_ENCRYPT_PLACES | CUDAENC_H264_ENCRYPT_MODES, VE, .unit = "encrypt_parts" },
    CONST("places", "Places of levels in their blocks", CUDAENC_H264_ENCRYPT_PLACES, "encrypt_parts"),
    CONST("modes",  "Intra prediction modes",           CUDAENC_H264_ENCRYPT_MODES,  "encrypt_parts"),
    { "encrypt_iv", "First counter block in hex, 16 bytes that no other stream of the key has", OFFSET(encrypt_iv), AV_OPT_TYPE_BINARY, .flags = VE },
    { NULL }
};

static const FFCodecDefault h264_cuda_defaults[] = {
    { "b",    "0" },
    { "qmin", "-1" },
    { "qmax", "-1" },
    { "g",    "-1" },
    { "keyint_min", "0" },
    { NULL },
};

static const AVClass h264_cuda_class = CUDAENC_CLASS("h264_cavlc_cuda", options);

const FFCodec ff_h264_cavlc_cuda_encoder = {
    .p.name         = "h264_cavlc_cuda",
    CODEC_LONG_NAME("H.264 / AVC with CAVLC on CUDA (cudaenc)"),
    .p.id           = AV_CODEC_ID_H264,
    .p.priv_class   = &h264_cuda_class,
    .priv_data_size = sizeof(H264CudaContext),
    .defaults       = h264_cuda_defaults,
    .init           = h264_cuda_init,
    .close          = h264_cuda_close,
    CUDAENC_ENCODER,
    CUDAENC_COLOR_RANGES
    CODEC_PIXFMTS(
        AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P,
        AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10,
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10,
        AV_PIX_FMT_NV12, AV_PIX_FMT_NV16, AV_PIX_FMT_P010, AV_PIX_FMT_P210,
        CUDAENC_FMT_CUDA),
    .caps_internal  = FF_CODEC_CAP_INIT_CLEANUP | FF_CODEC_CAP_AUTO_THREADS,
};
