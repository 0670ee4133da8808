/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JPEG 2000 encoder on CUDA
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

#include "cudaenc_compat.h"
#include "cudaenc_glue.h"

#include "libavutil/opt.h"

typedef struct J2kCudaContext {
    FFCudaencContext common;
    CudaencJ2kOptions j2k;
} J2kCudaContext;

static av_cold int j2k_cuda_init(AVCodecContext *avctx)
{
    J2kCudaContext *s = avctx->priv_data;
    CudaencConfig config;
    AVRational rate;
    int quality, ret;

    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);

    quality = ff_cudaenc_quality(avctx, s->j2k.quality, INT_MAX);
    if (quality < 0)
        return quality;

    config.j2k          = s->j2k;
    config.j2k.quality  = quality < INT_MAX ? quality : -1;
    config.j2k.bit_rate = avctx->bit_rate;
    /* without the library's version, so that its packets can be compared */
    if (!config.j2k.comment && avctx->flags & AV_CODEC_FLAG_BITEXACT)
        config.j2k.comment = "cudaenc";

    /* profiles refuse one that is not known */
    rate = avctx->bit_rate && !s->j2k.profile ? ff_cudaenc_frame_rate(avctx) : ff_cudaenc_known_frame_rate(avctx);
    if (rate.num)
        av_reduce(&config.j2k.frame_rate_num, &config.j2k.frame_rate_den, rate.num, rate.den, 1 << 30);

    if (config.j2k.profile == CUDAENC_J2K_CINEMA_2K)
        avctx->profile = AV_PROFILE_JPEG2000_DCINEMA_2K;
    else if (config.j2k.profile == CUDAENC_J2K_CINEMA_4K)
        avctx->profile = AV_PROFILE_JPEG2000_DCINEMA_4K;
    ret = ff_cudaenc_init(avctx, &config);
    /* muxers see no more of CUDA frames */
    if (config.device_frames && config.format.color_model == CUDAENC_COLOR_RGB &&
        avctx->colorspace == AVCOL_SPC_UNSPECIFIED)
        avctx->colorspace = AVCOL_SPC_RGB;
    return ret;
}

#define OFFSET(x) offsetof(J2kCudaContext, x)
#define VE CUDAENC_OPTION_FLAGS
#define CONST CUDAENC_CONST
static const AVOption options[] = {
    CUDAENC_COMMON_OPTIONS,
    { "profile", "Application whose rules the codestream follows", OFFSET(j2k.profile), AV_OPT_TYPE_INT, { .i64 = CUDAENC_J2K_NO_PROFILE }, CUDAENC_J2K_NO_PROFILE, CUDAENC_J2K_DICOM_HT, VE, .unit = "profile" },
    CONST("none",      "No restrictions", CUDAENC_J2K_NO_PROFILE, "profile"),
    CONST("cinema2k",  "Digital cinema (DCP), 2K: 9/7, XYZ", CUDAENC_J2K_CINEMA_2K, "profile"),
    CONST("cinema4k",  "Digital cinema (DCP), 4K, with a 2K portion", CUDAENC_J2K_CINEMA_4K, "profile"),
    CONST("imf2k",     "IMF Application 2E, up to 2048x1556: 9/7", CUDAENC_J2K_IMF_2K, "profile"),
    CONST("imf4k",     "IMF Application 2E, up to 4096x3112: 9/7", CUDAENC_J2K_IMF_4K, "profile"),
    CONST("imf8k",     "IMF Application 2E, up to 8192x6224: 9/7", CUDAENC_J2K_IMF_8K, "profile"),
    CONST("imf2k_r",   "IMF Application 2E, up to 2048x1556: 5/3", CUDAENC_J2K_IMF_2K_R, "profile"),
    CONST("imf4k_r",   "IMF Application 2E, up to 4096x3112: 5/3", CUDAENC_J2K_IMF_4K_R, "profile"),
    CONST("imf8k_r",   "IMF Application 2E, up to 8192x6224: 5/3", CUDAENC_J2K_IMF_8K_R, "profile"),
    CONST("broadcast", "Broadcast contribution: one or four tiles, 9/7 or 5/3", CUDAENC_J2K_BROADCAST, "profile"),
    CONST("archive_lossless", "Masters of libraries, without loss: tiles, RPCL, 11 layers, 5/3", CUDAENC_J2K_ARCHIVE_LOSSLESS, "profile"),
    CONST("access", "Access copies of libraries, 20:1: tiles, RPCL, 8 layers, 9/7", CUDAENC_J2K_ACCESS, "profile"),
    CONST("imf_ht", "IMF Application 2E with the HT block coder, up to 8192x6224: 9/7", CUDAENC_J2K_IMF_HT, "profile"),
    CONST("imf_ht_r", "IMF Application 2E with the HT block coder, up to 8192x6224: 5/3", CUDAENC_J2K_IMF_HT_R, "profile"),
    CONST("dicom_ht_lossless", "DICOM 1.2.840.10008.1.2.4.201: HT block coder, 5/3, lossless", CUDAENC_J2K_DICOM_HT_LOSSLESS, "profile"),
    CONST("dicom_ht_rpcl", "DICOM 1.2.840.10008.1.2.4.202: as dicom_ht_lossless, RPCL, TLM", CUDAENC_J2K_DICOM_HT_RPCL, "profile"),
    CONST("dicom_ht", "DICOM 1.2.840.10008.1.2.4.203: HT block coder", CUDAENC_J2K_DICOM_HT, "profile"),
    { "main_level", "Main level of IMF, of broadcast up to 7; 0: the lowest that fits", OFFSET(j2k.main_level), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 11, VE },
    { "sub_level", "Sub level of IMF, limits the bit rate; -1: the lowest that the target fits", OFFSET(j2k.sub_level), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 9, VE },
    { "hfr", "Digital cinema at a high frame rate: 500 Mbit/s", OFFSET(j2k.hfr), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "stereo", "Digital cinema: frames of one eye, which has half of the bits", OFFSET(j2k.stereo), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "format", "File format of a packet", OFFSET(j2k.format), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_JP2, VE, .unit = "format" },
    CONST("auto", "jp2; j2k with a profile, but for archive_lossless and access", -1, "format"),
    CONST("j2k",  "Bare codestream, as MXF and digital cinema have it", CUDAENC_J2K_CODESTREAM, "format"),
    CONST("jp2",  "JP2 file, with colour space and ICC profile", CUDAENC_J2K_JP2, "format"),
    { "tile_width", "Tile width in samples; 0: the picture's, or the profile's", OFFSET(j2k.tile_width), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 30, VE },
    { "tile_height", "Tile height in samples; 0: the picture's, or the profile's", OFFSET(j2k.tile_height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 30, VE },
    { "x_offset", "Column of the reference grid where the picture begins", OFFSET(j2k.x_offset), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 24, VE },
    { "y_offset", "Row of the reference grid where the picture begins", OFFSET(j2k.y_offset), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 24, VE },
    { "tile_x_offset", "Column where the first tile begins, at most x_offset", OFFSET(j2k.tile_x_offset), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 24, VE },
    { "tile_y_offset", "Row where the first tile begins, at most y_offset", OFFSET(j2k.tile_y_offset), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1 << 24, VE },
    { "pred", "Wavelet", OFFSET(j2k.pred), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_DWT53, VE, .unit = "pred" },
    CONST("auto",     "dwt97, or the profile's", -1, "pred"),
    CONST("dwt97",    "Irreversible 9/7: lossy", CUDAENC_J2K_DWT97, "pred"),
    CONST("dwt97int", "Irreversible 9/7: lossy", CUDAENC_J2K_DWT97, "pred"),
    CONST("dwt53",    "Reversible 5/3: lossless without a target", CUDAENC_J2K_DWT53, "pred"),
    { "quality", "Quality of dwt97, best is 100; -1: 90, finer with a target", OFFSET(j2k.quality), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 100, VE },
    { "rate_control", "How frames keep to a target", OFFSET(j2k.rate_control), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_RATE_PSP, VE, .unit = "rate_control" },
    CONST("auto", "psp; pcrd with psnr, none without a target", -1, "rate_control"),
    CONST("none", "No target: the quality decides", CUDAENC_J2K_RATE_NONE, "rate_control"),
    CONST("pcrd", "Code all, then cut where the least quality is lost (PCRD-opt)", CUDAENC_J2K_RATE_PCRD, "rate_control"),
    CONST("pst",  "As pcrd, without passes below the slope of the frame pst_lag before", CUDAENC_J2K_RATE_PST, "rate_control"),
    CONST("psb",  "As pcrd, by bit-planes: blocks stop where the budget has no room", CUDAENC_J2K_RATE_PSB, "rate_control"),
    CONST("bpi",  "As pcrd, by bit-planes: all blocks stop once the budget is used", CUDAENC_J2K_RATE_BPI, "rate_control"),
    CONST("psp",  "As pcrd, without passes that an estimated slope would cut", CUDAENC_J2K_RATE_PSP, "rate_control"),
    { "pst_lag", "With pst: how many frames back the slope comes from", OFFSET(j2k.pst_lag), AV_OPT_TYPE_INT, { .i64 = 4 }, 1, 64, VE },
    { "frame_bytes", "Target: bytes of a packet, at most; 0: none", OFFSET(j2k.frame_bytes), AV_OPT_TYPE_INT64, { .i64 = 0 }, 0, INT64_MAX, VE },
    { "min_frame_bytes", "Least bytes of a packet, smaller ones are filled up; 0: none", OFFSET(j2k.min_frame_bytes), AV_OPT_TYPE_INT64, { .i64 = 0 }, 0, INT64_MAX, VE },
    { "compression_ratio", "Target: bytes of samples over bytes of a packet; 0: none", OFFSET(j2k.compression_ratio), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 1e6, VE },
    { "psnr", "Target: dB of each frame, at least; 0: none", OFFSET(j2k.psnr), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 150, VE },
    { "layer_rates", "Targets R0,R1,...: compression ratios up to each layer, falling", OFFSET(j2k.layer_rates), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "levels", "Wavelet decompositions; -1: 5, or what the profile allows", OFFSET(j2k.levels), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 32, VE },
    { "cblk_width", "Code-block width; width x height is at most 4096; 0: 32, or the profile's", OFFSET(j2k.cblk_width), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1024, VE },
    { "cblk_height", "Code-block height; width x height is at most 4096; 0: 32, or the profile's", OFFSET(j2k.cblk_height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1024, VE },
    { "cblk_style", "Code-block style, any combination; 0: none or the profile's", OFFSET(j2k.cblk_style), AV_OPT_TYPE_FLAGS, { .i64 = 0 }, 0, 127, VE, .unit = "cblk_style" },
    CONST("bypass",  "From the fifth bit-plane on only clean-up passes are MQ coded", CUDAENC_J2K_BYPASS, "cblk_style"),
    CONST("reset",   "Contexts begin anew with each coding pass", CUDAENC_J2K_RESET, "cblk_style"),
    CONST("termall", "A codeword segment for each coding pass", CUDAENC_J2K_TERMALL, "cblk_style"),
    CONST("vsc",     "Vertically causal contexts", CUDAENC_J2K_VSC, "cblk_style"),
    CONST("erterm",  "Predictable termination, by which decoders find errors", CUDAENC_J2K_ERTERM, "cblk_style"),
    CONST("segsym",  "Segmentation symbols, by which decoders find errors", CUDAENC_J2K_SEGSYM, "cblk_style"),
    CONST("ht",      "HT block coder (ITU-T T.814, HTJ2K) in place of the MQ coder; alone", CUDAENC_J2K_HT, "cblk_style"),
    { "precincts", "Precincts WxH,..., highest resolution first; not set: 32768x32768, or the profile's", OFFSET(j2k.precincts), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "layers", "Quality layers; -1: 1, or the profile's", OFFSET(j2k.layers), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 100, VE },
    { "prog", "Progression order", OFFSET(j2k.prog), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_J2K_CPRL, VE, .unit = "prog" },
    CONST("auto", "lrcp, or the profile's", -1, "prog"),
    CONST("lrcp", "Layer, resolution, component, position", CUDAENC_J2K_LRCP, "prog"),
    CONST("rlcp", "Resolution, layer, component, position", CUDAENC_J2K_RLCP, "prog"),
    CONST("rpcl", "Resolution, position, component, layer", CUDAENC_J2K_RPCL, "prog"),
    CONST("pcrl", "Position, component, resolution, layer", CUDAENC_J2K_PCRL, "prog"),
    CONST("cprl", "Component, position, resolution, layer", CUDAENC_J2K_CPRL, "prog"),
    { "visual_weights", "With a target of bytes: errors weigh as the eye sees them", OFFSET(j2k.visual_weights), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, VE },
    { "roi", "Region of interest X,Y,WIDTH,HEIGHT", OFFSET(j2k.roi), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "poc", "Progression order changes RS,CS,LYE,RE,CE,ORDER[/...]", OFFSET(j2k.poc), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "tile_parts", "Where tiles are cut into tile-parts; 0: nowhere, or the profile's", OFFSET(j2k.tile_parts), AV_OPT_TYPE_FLAGS, { .i64 = 0 }, 0, CUDAENC_J2K_TILE_PART_RESOLUTION | CUDAENC_J2K_TILE_PART_COMPONENT, VE, .unit = "tile_parts" },
    CONST("resolution", "Where the resolution changes from a packet to the next", CUDAENC_J2K_TILE_PART_RESOLUTION, "tile_parts"),
    CONST("component",  "Where the component changes from a packet to the next", CUDAENC_J2K_TILE_PART_COMPONENT, "tile_parts"),
    { "mct", "Transform of the first three components", OFFSET(j2k.mct), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 1, VE, .unit = "mct" },
    CONST("auto", "1 for RGB and digital cinema, else 0", -1, "mct"),
    { "guard_bits", "Guard bits of sub-bands; -1: 2, in cinema2k 1", OFFSET(j2k.guard_bits), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, 7, VE },
    { "sop", "SOP marker segment before each packet; -1: as the profile says", OFFSET(j2k.sop), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "eph", "EPH marker after each packet header; -1: as the profile says", OFFSET(j2k.eph), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "tlm", "TLM marker segments, lengths of tile-parts; -1: with a profile", OFFSET(j2k.tlm), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "plt", "PLT marker segments, lengths of packets; -1: as the profile says", OFFSET(j2k.plt), AV_OPT_TYPE_BOOL, { .i64 = -1 }, -1, 1, VE },
    { "xyz", "Frames become X'Y'Z' of 12 bits", OFFSET(j2k.xyz), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_XYZ_ALREADY, VE, .unit = "xyz" },
    CONST("auto",    "on with digital cinema, unless frames are XYZ; else off", -1, "xyz"),
    CONST("off",     "Samples are coded as they are", CUDAENC_XYZ_OFF, "xyz"),
    CONST("on",      "RGB and YUV are converted", CUDAENC_XYZ_ON, "xyz"),
    CONST("already", "RGB samples are X'Y'Z', of 12 bits or in the upper 12 of 16", CUDAENC_XYZ_ALREADY, "xyz"),
    { "xyz_range", "With xyz: range of frames", OFFSET(j2k.xyz_range), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_XYZ_FULL, VE, .unit = "xyz_range" },
    CONST("auto",    "as the frames tell", -1, "xyz_range"),
    CONST("limited", "16 to 235 of 8 bits", CUDAENC_XYZ_LIMITED, "xyz_range"),
    CONST("full",    "0 to 255 of 8 bits", CUDAENC_XYZ_FULL, "xyz_range"),
    { "xyz_matrix", "With xyz: matrix of YUV", OFFSET(j2k.xyz_matrix), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_XYZ_BT2020, VE, .unit = "xyz_matrix" },
    CONST("auto",   "as the frames tell, else bt601", -1, "xyz_matrix"),
    CONST("bt601",  "BT.601", CUDAENC_XYZ_BT601, "xyz_matrix"),
    CONST("bt709",  "BT.709", CUDAENC_XYZ_BT709, "xyz_matrix"),
    CONST("bt2020", "BT.2020, non-constant luminance", CUDAENC_XYZ_BT2020, "xyz_matrix"),
    { "xyz_transfer", "With xyz: what makes light of R'G'B'", OFFSET(j2k.xyz_transfer), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_XYZ_ST428, VE, .unit = "xyz_transfer" },
    CONST("auto",     "as the frames tell, else gamma24; with a LUT gamma26", -1, "xyz_transfer"),
    CONST("linear",   "Samples are linear light", CUDAENC_XYZ_LINEAR, "xyz_transfer"),
    CONST("srgb",     "IEC 61966-2-1", CUDAENC_XYZ_SRGB, "xyz_transfer"),
    CONST("gamma22",  "Power of 2.2", CUDAENC_XYZ_GAMMA_22, "xyz_transfer"),
    CONST("gamma24",  "Power of 2.4, a display of BT.1886", CUDAENC_XYZ_GAMMA_24, "xyz_transfer"),
    CONST("gamma26",  "Power of 2.6, a projector of RP 431-2", CUDAENC_XYZ_GAMMA_26, "xyz_transfer"),
    CONST("gamma28",  "Power of 2.8", CUDAENC_XYZ_GAMMA_28, "xyz_transfer"),
    CONST("smpte428", "SMPTE ST 428-1: power of 2.6, 48/52.37 is white", CUDAENC_XYZ_ST428, "xyz_transfer"),
    { "xyz_primaries", "With xyz: colour primaries", OFFSET(j2k.xyz_primaries), AV_OPT_TYPE_INT, { .i64 = -1 }, -1, CUDAENC_XYZ_PRIMARIES_XYZ, VE, .unit = "xyz_primaries" },
    CONST("auto",   "as the frames tell, else bt709; with a LUT p3d65", -1, "xyz_primaries"),
    CONST("bt709",  "BT.709, sRGB", CUDAENC_XYZ_PRIMARIES_BT709, "xyz_primaries"),
    CONST("p3d65",  "P3, white D65", CUDAENC_XYZ_PRIMARIES_P3D65, "xyz_primaries"),
    CONST("p3dci",  "P3, white of RP 431-2", CUDAENC_XYZ_PRIMARIES_P3DCI, "xyz_primaries"),
    CONST("bt2020", "BT.2020", CUDAENC_XYZ_PRIMARIES_BT2020, "xyz_primaries"),
    CONST("xyz",    "CIE 1931 XYZ", CUDAENC_XYZ_PRIMARIES_XYZ, "xyz_primaries"),
    { "xyz_lut", "With xyz: .cube file of a 3D LUT that R'G'B' goes through first", OFFSET(j2k.xyz_lut), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "xmp", "With format jp2: file of an XMP packet", OFFSET(j2k.xmp), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "iptc", "With format jp2: file of IPTC-IIM or of Photoshop image resources", OFFSET(j2k.iptc), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { "capture_ppi", "With format jp2: capture resolution, samples an inch; 0: as EXIF tells", OFFSET(j2k.capture_ppi), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 100000, VE },
    { "display_ppi", "With format jp2: display resolution, samples an inch; 0: not told", OFFSET(j2k.display_ppi), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 100000, VE },
    { "comment", "COM marker segment's text, empty: none; not set: name and version", OFFSET(j2k.comment), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, VE },
    { NULL }
};

static const FFCodecDefault j2k_cuda_defaults[] = {
    { "b", "0" },
    { NULL }
};

static const AVClass j2k_cuda_class = CUDAENC_CLASS("j2k_cuda", options);

const FFCodec ff_j2k_cuda_encoder = {
    .p.name         = "j2k_cuda",
    CODEC_LONG_NAME("JPEG 2000 on CUDA (cudaenc)"),
    .p.id           = AV_CODEC_ID_JPEG2000,
    .p.priv_class   = &j2k_cuda_class,
    .priv_data_size = sizeof(J2kCudaContext),
    .init           = j2k_cuda_init,
    .close          = ff_cudaenc_close,
    .defaults       = j2k_cuda_defaults,
    CUDAENC_ENCODER,
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
        AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P,
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
