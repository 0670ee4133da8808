/*
 * JPEG 2000 encoder on CUDA
 * Copyright (c) 2026 the cudaenc developers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
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
#include <stdio.h>

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "libavutil/opt.h"

typedef struct J2kCudaContext {
    const AVClass *class;
    FFCudaencContext common;
    CudaencJ2kOptions j2k;
    int quality; /* -1: not set */
} J2kCudaContext;

static int j2k_cuda_receive_packet(AVCodecContext *avctx, AVPacket *pkt)
{
    J2kCudaContext *s = avctx->priv_data;

    return ff_cudaenc_receive_packet(avctx, &s->common, pkt);
}

static void j2k_cuda_flush(AVCodecContext *avctx)
{
    J2kCudaContext *s = avctx->priv_data;

    ff_cudaenc_flush(&s->common);
}

static av_cold int j2k_cuda_close(AVCodecContext *avctx)
{
    J2kCudaContext *s = avctx->priv_data;

    ff_cudaenc_close(&s->common);
    return 0;
}

static const char *const profile_names[] = {
    [CUDAENC_J2K_NO_PROFILE] = "none",
    [CUDAENC_J2K_CINEMA_2K]  = "cinema2k",
    [CUDAENC_J2K_CINEMA_4K]  = "cinema4k",
    [CUDAENC_J2K_IMF_2K]     = "imf2k",
    [CUDAENC_J2K_IMF_4K]     = "imf4k",
    [CUDAENC_J2K_IMF_8K]     = "imf8k",
    [CUDAENC_J2K_IMF_2K_R]   = "imf2k_r",
    [CUDAENC_J2K_IMF_4K_R]   = "imf4k_r",
    [CUDAENC_J2K_IMF_8K_R]   = "imf8k_r",
    [CUDAENC_J2K_BROADCAST]  = "broadcast",
};

/* Whether the library codes without loss: by the option, else by the profile. */
static int is_lossless(const CudaencJ2kOptions *j2k)
{
    if (j2k->pred >= 0)
        return j2k->pred == CUDAENC_J2K_DWT53;
    return j2k->profile >= CUDAENC_J2K_IMF_2K_R && j2k->profile <= CUDAENC_J2K_IMF_8K_R;
}

/* What decides how large a frame is, in a few words. */
static void describe_rate(const CudaencJ2kOptions *j2k, int target, char *line, size_t size)
{
    char quality[32] = "9/7";

    if (is_lossless(j2k))
        snprintf(quality, sizeof(quality), target ? "5/3" : "5/3 lossless");
    else if (j2k->quality > 0 || !target)
        snprintf(quality, sizeof(quality), "9/7 quality %d", j2k->quality > 0 ? j2k->quality : 90);
    if (j2k->bit_rate)
        snprintf(line, size, "%s, %lld bits/s", quality, (long long)j2k->bit_rate);
    else if (j2k->frame_bytes)
        snprintf(line, size, "%s, %lld bytes a frame", quality, (long long)j2k->frame_bytes);
    else if (j2k->compression_ratio)
        snprintf(line, size, "%s, %g:1", quality, j2k->compression_ratio);
    else if (j2k->psnr)
        snprintf(line, size, "%s, %g dB", quality, j2k->psnr);
    else
        snprintf(line, size, "%s", quality);
}

/* The options in a few words. */
static void describe(const CudaencJ2kOptions *j2k, char *line, size_t size)
{
    int profile = j2k->profile != CUDAENC_J2K_NO_PROFILE;
    int jp2     = j2k->format >= 0 ? j2k->format == CUDAENC_J2K_JP2 : !profile;
    int target  = j2k->bit_rate || j2k->frame_bytes || j2k->compression_ratio || j2k->psnr ||
                  j2k->layer_rates;
    char coding[64], levels[16] = "";

    describe_rate(j2k, target, coding, sizeof(coding));
    if (j2k->levels >= 0 || !profile)
        snprintf(levels, sizeof(levels), "%d levels, ", j2k->levels >= 0 ? j2k->levels : 5);
    snprintf(line, size, "%s%s%s, %s, %s%dx%d blocks", jp2 ? "jp2" : "j2k", profile ? " " : "",
             profile ? profile_names[j2k->profile] : "", coding, levels, j2k->cblk_width,
             j2k->cblk_height);
}

static av_cold int j2k_cuda_init(AVCodecContext *avctx)
{
    J2kCudaContext *s = avctx->priv_data;
    AVRational rate   = avctx->framerate;
    CudaencConfig config;
    char summary[128];
    int quality;

    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);

    quality = ff_cudaenc_quality(avctx, s->quality, INT_MAX);
    if (quality < 0)
        return quality;

    config.j2k          = s->j2k;
    config.j2k.quality  = quality < INT_MAX ? quality : -1;
    config.j2k.bit_rate = avctx->bit_rate;
    /* without the library's version, so that its packets can be compared */
    if (!config.j2k.comment && avctx->flags & AV_CODEC_FLAG_BITEXACT)
        config.j2k.comment = "cudaenc";

    if (rate.num <= 0 || rate.den <= 0)
        rate = av_inv_q(avctx->time_base);
    if (rate.num > 0 && rate.den > 0)
        av_reduce(&config.j2k.frame_rate_num, &config.j2k.frame_rate_den, rate.num, rate.den, 1 << 30);

    if (is_lossless(&config.j2k) && (s->quality >= 0 || avctx->flags & AV_CODEC_FLAG_QSCALE))
        av_log(avctx, AV_LOG_WARNING, "pred dwt53 has no quality: %d has no effect\n", quality);
    describe(&config.j2k, summary, sizeof(summary));
    return ff_cudaenc_init(avctx, &s->common, &config, summary);
}

#define OFFSET(x) offsetof(J2kCudaContext, x)
#define VE CUDAENC_OPTION_FLAGS
static const AVOption options[] = {
    CUDAENC_COMMON_OPTIONS(J2kCudaContext),
    { "profile",     "Restrictions that an application makes: sets what it demands, refuses what it does not allow", OFFSET(j2k.profile), AV_OPT_TYPE_INT, { .i64 = CUDAENC_J2K_NO_PROFILE }, CUDAENC_J2K_NO_PROFILE, CUDAENC_J2K_BROADCAST, VE, .unit = "profile" },
    { "none",        "No restrictions",                                                0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_NO_PROFILE }, 0, 0, VE, .unit = "profile" },
    { "cinema2k",    "Digital cinema (DCP), 2K: 9/7, xyz12",                           0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_CINEMA_2K }, 0, 0, VE, .unit = "profile" },
    { "cinema4k",    "Digital cinema (DCP), 4K, with a 2K portion",                    0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_CINEMA_4K }, 0, 0, VE, .unit = "profile" },
    { "imf2k",       "IMF Application 2E, up to 2048x1556: 9/7, one tile",             0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_2K }, 0, 0, VE, .unit = "profile" },
    { "imf4k",       "The same, up to 4096x3112",                                      0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_4K }, 0, 0, VE, .unit = "profile" },
    { "imf8k",       "The same, up to 8192x6224",                                      0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_8K }, 0, 0, VE, .unit = "profile" },
    { "imf2k_r",     "IMF Application 2E, up to 2048x1556: 5/3, lossless",             0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_2K_R }, 0, 0, VE, .unit = "profile" },
    { "imf4k_r",     "The same, up to 4096x3112",                                      0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_4K_R }, 0, 0, VE, .unit = "profile" },
    { "imf8k_r",     "The same, up to 8192x6224",                                      0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_IMF_8K_R }, 0, 0, VE, .unit = "profile" },
    { "broadcast",   "Broadcast contribution: one or four tiles, 9/7 or 5/3",          0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_BROADCAST }, 0, 0, VE, .unit = "profile" },
    { "main_level",  "Main level of IMF (1 to 11) and broadcast (1 to 7); 0: the lowest one that has the samples a second", OFFSET(j2k.main_level), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 11, VE },
    { "sub_level",   "Sub level of IMF, which limits the bit rate; 0: does not",       OFFSET(j2k.sub_level),   AV_OPT_TYPE_INT,    { .i64 = 0 }, 0, 9, VE },
    { "format",      "File format of a packet; not set: jp2, with a profile j2k",      OFFSET(j2k.format),      AV_OPT_TYPE_INT,    { .i64 = -1 }, -1, CUDAENC_J2K_JP2, VE, .unit = "format" },
    { "j2k",         "Bare codestream, as MXF and digital cinema have it",             0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_CODESTREAM }, 0, 0, VE, .unit = "format" },
    { "jp2",         "Codestream in JP2 boxes, with colour space and ICC profile",     0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_JP2 }, 0, 0, VE, .unit = "format" },
    { "tile_width",  "Tile width in samples, 0: as wide as the picture",               OFFSET(j2k.tile_width),  AV_OPT_TYPE_INT,    { .i64 = 0 }, 0, 1 << 30, VE },
    { "tile_height", "Tile height in samples, 0: as high as the picture",              OFFSET(j2k.tile_height), AV_OPT_TYPE_INT,    { .i64 = 0 }, 0, 1 << 30, VE },
    { "pred",        "Wavelet: lossy 9/7 or lossless 5/3; not set: the profile's, else dwt97", OFFSET(j2k.pred), AV_OPT_TYPE_INT,    { .i64 = -1 }, -1, CUDAENC_J2K_DWT53, VE, .unit = "pred" },
    { "dwt97",       "Irreversible 9/7: lossy, see quality",                           0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_DWT97 }, 0, 0, VE, .unit = "pred" },
    { "dwt97int",    "The same as dwt97, under the name the jpeg2000 encoder has",     0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_DWT97 }, 0, 0, VE, .unit = "pred" },
    { "dwt53",       "Reversible 5/3: lossless",                                       0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_DWT53 }, 0, 0, VE, .unit = "pred" },
    { "quality",     "Quality of dwt97, 1 (worst) to 100 (best); -1: what -q:v says, else 90, or finer with a target", OFFSET(quality), AV_OPT_TYPE_INT,    { .i64 = -1 }, -1, 100, VE },
    { "rate_control", "How frames keep to a target, which -b:v, frame_bytes, compression_ratio, psnr or layer_rates sets; auto: none without one", OFFSET(j2k.rate_control), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_RATE_PSP, VE, .unit = "rate_control" },
    { "auto",        "None without a target, pcrd with psnr, else psp",                               0,                       AV_OPT_TYPE_CONST,  { .i64 = -1 }, 0, 0, VE, .unit = "rate_control" },
    { "none",        "No target: the quality decides",                                 0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RATE_NONE }, 0, 0, VE, .unit = "rate_control" },
    { "pcrd",        "Code all, then cut where the least quality is lost for the bytes (PCRD-opt)", 0,          AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RATE_PCRD }, 0, 0, VE, .unit = "rate_control" },
    { "pst",         "The same, without passes that are worth less than the last ones of the frame async_depth before", 0, AV_OPT_TYPE_CONST, { .i64 = CUDAENC_J2K_RATE_PST }, 0, 0, VE, .unit = "rate_control" },
    { "psb",         "The same, but blocks are coded no further than the budget has room for by their slopes", 0, AV_OPT_TYPE_CONST, { .i64 = CUDAENC_J2K_RATE_PSB }, 0, 0, VE, .unit = "rate_control" },
    { "bpi",         "The same, but no further bit-plane is coded once the budget is exceeded", 0,              AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RATE_BPI }, 0, 0, VE, .unit = "rate_control" },
    { "psp",         "The same, without coding what a look at the coefficients says would be cut", 0,           AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RATE_PSP }, 0, 0, VE, .unit = "rate_control" },
    { "frame_bytes", "Bytes of each packet, at most; 0: no target",                    OFFSET(j2k.frame_bytes), AV_OPT_TYPE_INT64,  { .i64 = 0 }, 0, INT64_MAX, VE },
    { "compression_ratio", "Bytes of the samples over bytes of a packet, at least; 0: no target", OFFSET(j2k.compression_ratio), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 1e6, VE },
    { "psnr",        "PSNR of each frame in dB, at least; 0: no target",               OFFSET(j2k.psnr),        AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 150, VE },
    { "layer_rates", "Compression ratios up to each quality layer R0,R1,..., falling; 1: all that there is; not set: no target", OFFSET(j2k.layer_rates), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "levels",      "Wavelet decompositions, each halves width and height; -1: 5, or as many as the profile allows", OFFSET(j2k.levels), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 32, VE },
    { "cblk_width",  "Code-block width, a power of two; width x height is at most 4096", OFFSET(j2k.cblk_width), AV_OPT_TYPE_INT,    { .i64 = 32 }, 4, 1024, VE },
    { "cblk_height", "Code-block height, a power of two; width x height is at most 4096", OFFSET(j2k.cblk_height), AV_OPT_TYPE_INT,  { .i64 = 32 }, 4, 1024, VE },
    { "cblk_style",  "Code-block style, any combination",                              OFFSET(j2k.cblk_style),  AV_OPT_TYPE_FLAGS,  { .i64 = 0 }, 0, 63, VE, .unit = "cblk_style" },
    { "bypass",      "Arithmetic coding bypass: fast mode, a little larger",           0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_BYPASS }, 0, 0, VE, .unit = "cblk_style" },
    { "reset",       "Contexts begin anew with each coding pass",                      0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RESET }, 0, 0, VE, .unit = "cblk_style" },
    { "termall",     "Each coding pass has a codeword of its own",                     0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_TERMALL }, 0, 0, VE, .unit = "cblk_style" },
    { "vsc",         "Vertically causal contexts",                                     0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_VSC }, 0, 0, VE, .unit = "cblk_style" },
    { "erterm",      "Predictable termination, by which decoders find errors",         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_ERTERM }, 0, 0, VE, .unit = "cblk_style" },
    { "segsym",      "Segmentation symbols, by which decoders find errors",            0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_SEGSYM }, 0, 0, VE, .unit = "cblk_style" },
    { "precincts",   "Precinct sizes WxH[,WxH...], powers of two, highest resolution first, the last one repeats; not set: the profile's, else 32768x32768", OFFSET(j2k.precincts), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "layers",      "Quality layers",                                                 OFFSET(j2k.layers),      AV_OPT_TYPE_INT,    { .i64 = 1 }, 1, 100, VE },
    { "prog",        "Progression order of the packets of a codestream; not set: lrcp, with a profile cprl", OFFSET(j2k.prog), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_CPRL, VE, .unit = "prog" },
    { "lrcp",        "Layer, resolution, component, position",                         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_LRCP }, 0, 0, VE, .unit = "prog" },
    { "rlcp",        "Resolution, layer, component, position",                         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RLCP }, 0, 0, VE, .unit = "prog" },
    { "rpcl",        "Resolution, position, component, layer",                         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_RPCL }, 0, 0, VE, .unit = "prog" },
    { "pcrl",        "Position, component, resolution, layer",                         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_PCRL }, 0, 0, VE, .unit = "prog" },
    { "cprl",        "Component, position, resolution, layer",                         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_CPRL }, 0, 0, VE, .unit = "prog" },
    { "roi",         "Region of interest X,Y,WIDTH,HEIGHT: its bit-planes come before all others (max-shift)", OFFSET(j2k.roi), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "poc",         "Progression order changes RS,CS,LYE,RE,CE,ORDER[/...]: packets from resolution RS and component CS to those before RE and CE, layers before LYE, in an order named as prog's", OFFSET(j2k.poc), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "tile_parts",  "Cut tiles into tile-parts, at most 255 a tile; not set: with a profile component", OFFSET(j2k.tile_parts), AV_OPT_TYPE_FLAGS, { .i64 = 0 }, 0, CUDAENC_J2K_TILE_PART_RESOLUTION | CUDAENC_J2K_TILE_PART_COMPONENT, VE, .unit = "tile_parts" },
    { "resolution",  "Where the resolution changes from a packet to the next",         0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_TILE_PART_RESOLUTION }, 0, 0, VE, .unit = "tile_parts" },
    { "component",   "Where the component does",                                       0,                       AV_OPT_TYPE_CONST,  { .i64 = CUDAENC_J2K_TILE_PART_COMPONENT }, 0, 0, VE, .unit = "tile_parts" },
    { "mct",         "Multiple component transform of the first three components, which must be of one size and depth", OFFSET(j2k.mct), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 1, VE, .unit = "mct" },
    { "auto",        "On for RGB and digital cinema, off for everything else",         0,                       AV_OPT_TYPE_CONST,  { .i64 = -1 }, 0, 0, VE, .unit = "mct" },
    { "guard_bits",  "Guard bits against overflow of the wavelet's subbands, 1 to 7; -1: the profile's, else 2", OFFSET(j2k.guard_bits), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 7, VE },
    { "sop",         "SOP marker segment before every packet of the codestream",       OFFSET(j2k.sop),         AV_OPT_TYPE_BOOL,   { .i64 = 0 }, 0, 1, VE },
    { "eph",         "EPH marker after every packet header",                           OFFSET(j2k.eph),         AV_OPT_TYPE_BOOL,   { .i64 = 0 }, 0, 1, VE },
    { "tlm",         "TLM marker segments: the lengths of the tile-parts, in the main header; auto: with a profile", OFFSET(j2k.tlm), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "plt",         "PLT marker segments: the lengths of the packets, in the tile-part headers", OFFSET(j2k.plt), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "comment",     "Text of the COM marker segment, empty: none; not set: the library's name and version", OFFSET(j2k.comment), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { NULL }
};

static const FFCodecDefault j2k_cuda_defaults[] = {
    { "b", "0" },
    { NULL }
};

static const AVClass j2k_cuda_class = {
    .class_name = "j2k_cuda",
    .item_name  = av_default_item_name,
    .option     = options,
    .version    = LIBAVUTIL_VERSION_INT,
};

const FFCodec ff_j2k_cuda_encoder = {
    .p.name         = "j2k_cuda",
    CODEC_LONG_NAME("JPEG 2000 on CUDA (cudaenc)"),
    .p.type         = AVMEDIA_TYPE_VIDEO,
    .p.id           = AV_CODEC_ID_JPEG2000,
    .p.capabilities = AV_CODEC_CAP_DR1 | AV_CODEC_CAP_DELAY | AV_CODEC_CAP_HARDWARE |
                      AV_CODEC_CAP_OTHER_THREADS | AV_CODEC_CAP_ENCODER_FLUSH |
                      AV_CODEC_CAP_ENCODER_REORDERED_OPAQUE,
    .p.priv_class   = &j2k_cuda_class,
    .p.wrapper_name = "cudaenc",
    .priv_data_size = sizeof(J2kCudaContext),
    .init           = j2k_cuda_init,
    FF_CODEC_RECEIVE_PACKET_CB(j2k_cuda_receive_packet),
    .flush          = j2k_cuda_flush,
    .close          = j2k_cuda_close,
    .hw_configs     = ff_cudaenc_hw_configs,
    .defaults       = j2k_cuda_defaults,
    CUDAENC_COLOR_RANGES
    CODEC_PIXFMTS(
        AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGB48,
        AV_PIX_FMT_GBRP, AV_PIX_FMT_GBRP9, AV_PIX_FMT_GBRP10, AV_PIX_FMT_GBRP12, AV_PIX_FMT_GBRP14, AV_PIX_FMT_GBRP16,
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY9, AV_PIX_FMT_GRAY10, AV_PIX_FMT_GRAY12, AV_PIX_FMT_GRAY14, AV_PIX_FMT_GRAY16,
        AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P9, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV420P14, AV_PIX_FMT_YUV420P16,
        AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV422P9, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV422P14, AV_PIX_FMT_YUV422P16,
        AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P9, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV444P14, AV_PIX_FMT_YUV444P16,
        AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV440P10, AV_PIX_FMT_YUV440P12,
        AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,
        AV_PIX_FMT_YA8, AV_PIX_FMT_YA16,
        AV_PIX_FMT_RGBA, AV_PIX_FMT_BGRA, AV_PIX_FMT_ARGB, AV_PIX_FMT_ABGR, AV_PIX_FMT_RGBA64,
        AV_PIX_FMT_RGB0, AV_PIX_FMT_BGR0, AV_PIX_FMT_0RGB, AV_PIX_FMT_0BGR,
        AV_PIX_FMT_GBRAP, AV_PIX_FMT_GBRAP10, AV_PIX_FMT_GBRAP12, CUDAENC_FMT_GBRAP14 AV_PIX_FMT_GBRAP16,
        AV_PIX_FMT_YUVA420P, AV_PIX_FMT_YUVA420P9, AV_PIX_FMT_YUVA420P10, AV_PIX_FMT_YUVA420P16,
        AV_PIX_FMT_YUVA422P, AV_PIX_FMT_YUVA422P9, AV_PIX_FMT_YUVA422P10, AV_PIX_FMT_YUVA422P12, AV_PIX_FMT_YUVA422P16,
        AV_PIX_FMT_YUVA444P, AV_PIX_FMT_YUVA444P9, AV_PIX_FMT_YUVA444P10, AV_PIX_FMT_YUVA444P12, AV_PIX_FMT_YUVA444P16,
        AV_PIX_FMT_XYZ12,
        AV_PIX_FMT_NV12, AV_PIX_FMT_P010, CUDAENC_FMT_P012 AV_PIX_FMT_P016,
        AV_PIX_FMT_NV16, AV_PIX_FMT_P210, CUDAENC_FMT_P212 AV_PIX_FMT_P216,
        CUDAENC_FMT_CUDA),
    .caps_internal  = FF_CODEC_CAP_INIT_CLEANUP | FF_CODEC_CAP_AUTO_THREADS |
                      FF_CODEC_CAP_ICC_PROFILES,
};
