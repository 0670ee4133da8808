// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * cudaenc: GPU video codecs. The public C API; the only header that FFmpeg's glue and C programs include.
 * Copyright (c) 2026 the cudaenc developers.
 *
 * A session encodes frames of one format with one set of options. cudaenc_open() -> { cudaenc_submit() ->
 * cudaenc_receive() }* -> cudaenc_flush() -> cudaenc_receive() until CUDAENC_EOF -> cudaenc_close().
 * Up to async_depth frames are in flight; packets leave in the order in which frames came in.
 * A session is used by one thread at a time, which may change ("the session's thread" below); a log or a keystream must
 * not call functions of its session. Different sessions are independent. All else may be called by any thread.
 * A pointer must not be NULL unless its function says so: CUDAENC_ERR_INVALID. A function that returns no code says
 * what it returns then. Why a call failed goes to the session's log, and to cudaenc_last_error(). The same input and
 * options give the same bytes on every device, for every thread count and async depth.
 *
 * A program that was built with an older or a newer header of the same soname works with this library. Structures begin
 * with struct_size, the caller's sizeof; C++ sets it by itself. Members that the caller's header lacks have their
 * defaults; those that the library lacks have to be 0. Structures grow at their ends, options within their room.
 */
#ifndef CUDAENC_H
#define CUDAENC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDAENC_VERSION_MAJOR 0
#define CUDAENC_VERSION_MINOR 2
#define CUDAENC_VERSION_PATCH 0
/** Major in bits 16 and up, minor in bits 8 to 15, patch in bits 0 to 7. */
#define CUDAENC_VERSION ((CUDAENC_VERSION_MAJOR << 16) | (CUDAENC_VERSION_MINOR << 8) | CUDAENC_VERSION_PATCH)

/* In C: CudaencFrame frame = { .struct_size = sizeof(frame) }; */
#ifdef __cplusplus
#define CUDAENC_SIZE_OF(type) = sizeof(type)
#else
#define CUDAENC_SIZE_OF(type)
#endif

/** The version of the library that is linked, in the form of CUDAENC_VERSION. Any thread. */
unsigned cudaenc_version(void);

enum {
    CUDAENC_OK = 0,
    CUDAENC_AGAIN = -1,       /**< submit: the ring is full, receive first. receive: nothing is due, submit first. */
    CUDAENC_EOF = -2,         /**< receive: flushed, and every packet has left. */
    CUDAENC_ERR_INVALID = -3, /**< option, format or call that is not allowed; the log names it. */
    CUDAENC_ERR_MEMORY = -4,  /**< host or device memory ran out. */
    CUDAENC_ERR_DEVICE = -5,  /**< the device is missing, failed or was lost. */
    CUDAENC_ERR_UNSUPPORTED = -6, /**< valid, but this library cannot do it. */
    CUDAENC_ERR_INTERNAL = -7,    /**< a bug of the library. */
};
/** A short English sentence for an error code. Any thread. */
const char *cudaenc_error_string(int code);
/** The line of the last call that failed on this thread, also where there was no log; empty: none has. Valid until the
 *  next one fails. Any thread. */
const char *cudaenc_last_error(void);

typedef enum CudaencCodec {
    CUDAENC_CODEC_J2K = 1,   /**< JPEG 2000 Part 1, ITU-T T.800; with CUDAENC_J2K_HT HTJ2K, ITU-T T.814. */
    CUDAENC_CODEC_MJPEG = 2, /**< JPEG, baseline, ITU-T T.81: a picture a packet. */
    CUDAENC_CODEC_H264 = 3,  /**< H.264, ITU-T H.264: IDR and P pictures with CAVLC, a picture a packet. */
} CudaencCodec;

typedef enum CudaencLogLevel {
    CUDAENC_LOG_ERROR,
    CUDAENC_LOG_WARNING,
    CUDAENC_LOG_INFO,
    CUDAENC_LOG_VERBOSE
} CudaencLogLevel;
/** Gets one line without a newline; called on the thread that called the library. */
typedef void (*CudaencLog)(void *opaque, CudaencLogLevel level, const char *line);

/** When the lines of a frame were taken. */
typedef enum CudaencFields {
    CUDAENC_PROGRESSIVE,        /**< All at one time */
    CUDAENC_TOP_FIELD_FIRST,    /**< Lines 0, 2, 4, ... before the others */
    CUDAENC_BOTTOM_FIELD_FIRST, /**< Lines 1, 3, 5, ... before the others */
} CudaencFields;

typedef enum CudaencColorModel {
    CUDAENC_COLOR_GRAY,
    CUDAENC_COLOR_YUV,
    CUDAENC_COLOR_RGB,
    CUDAENC_COLOR_XYZ,
    CUDAENC_COLOR_CMYK, /**< of decoders; of JPEG as Adobe writes it: 255 is no ink; of JPEG 2000 that is 0 */
    CUDAENC_COLOR_YCCK, /**< the same: 255 - R, G and B as Y, Cb and Cr, then K */
} CudaencColorModel;

/** Where a component's samples lie: sample (x, y) is (word >> shift) of `depth` bits, the word at
 *  data[plane] + y * stride[plane] + offset + x * step; it has two bytes, of the host's order, where
 *  depth + shift > 8, and an even address then, else one. Components are in the order R G B, Y Cb Cr, X Y Z or gray,
 * then alpha; C M Y K; Y Cb Cr K. */
typedef struct CudaencComponent {
    int plane;
    int offset;           /**< bytes */
    int step;             /**< bytes from a sample to its right neighbour */
    int shift;            /**< bits */
    int depth;            /**< bits, 1 to 16 */
    int log2_subsample_x; /**< the component has ceil(width / 2^log2_subsample_x) columns */
    int log2_subsample_y;
} CudaencComponent;

/** Components of a picture at most, as T.800 has them. */
#define CUDAENC_MAX_COMPONENTS 16384

typedef struct CudaencFormat {
    int width, height;             /**< of the picture, in samples of its densest component */
    int components;                /**< 1 to 4; JPEG 2000 is encoded of up to CUDAENC_MAX_COMPONENTS */
    int planes;                    /**< 1 to 4; of more than 4 components as many as these */
    CudaencComponent component[4]; /**< of more than 4 components the first one tells of all, in plane 0, which is not
                                      sub-sampled: component c is alike, in plane c; the others are not read */
    CudaencColorModel color_model;
    int has_alpha;       /**< 1: the last component is alpha, of more than 4 the one behind the colours; else 0 */
    int full_range;      /**< of YUV and gray: 1 full (JPEG), 0 limited */
    int color_primaries; /**< ITU-T H.273 code points, 0 to 255, 2 unspecified */
    int color_transfer;
    int color_matrix;
    int is_signed;   /**< 1: samples are in two's complement, which JPEG 2000 is encoded of; else 0.
                        Of decoded ones CudaencPictureInfo tells */
    int reserved[7]; /**< 0 */
} CudaencFormat;

/** Fills in a usual format by the name that FFmpeg's pixel formats have: gray, rgb24, bgr24, rgba, bgra, rgb48, rgba64,
 *  gbrp, gbrap, yuv420p, yuv422p, yuv444p, yuva420p, yuva422p, yuva444p, nv12, nv16, nv24, p010, p012, p016, p210,
 * p410, xyz12; planar ones and gray also of 9, 10, 12, 14 or 16 bits (yuv422p10). Words of two bytes have the host's
 * order. RGB, XYZ and gray are of full range, YUV of limited range, or of full range as yuvj420p, yuvj422p and
 * yuvj444p.
 *  Any thread. Neither pointer may be NULL.
 *  @return CUDAENC_OK, or CUDAENC_ERR_INVALID: no such name, or a side that is not 1 to 2^30; *format is 0 then */
int cudaenc_format_by_name(CudaencFormat *format, const char *name, int width, int height);

/** The bytes of a row and the rows of a plane that its components use; the least stride is *row_bytes. Any thread. No
 *  pointer may be NULL.
 *  @return CUDAENC_OK, or CUDAENC_ERR_INVALID: no such plane, or a format that is none; both are 0 then */
int cudaenc_plane_size(const CudaencFormat *format, int plane, size_t *row_bytes, size_t *rows);

/* Options. Messages name them as the members are named. A number is its default or within its range; a text that is
 * NULL is not set. docs/encoders.md says more of each. */

typedef enum CudaencJ2kFileFormat {
    CUDAENC_J2K_CODESTREAM, /**< Bare codestream, as MXF and digital cinema have it */
    CUDAENC_J2K_JP2,        /**< JP2 file, with colour space and ICC profile */
} CudaencJ2kFileFormat;
typedef enum CudaencJ2kWavelet {
    CUDAENC_J2K_DWT97, /**< Irreversible 9/7: lossy */
    CUDAENC_J2K_DWT53, /**< Reversible 5/3: lossless without a target */
} CudaencJ2kWavelet;
typedef enum CudaencJ2kProgression {
    CUDAENC_J2K_LRCP, /**< Layer, resolution, component, position */
    CUDAENC_J2K_RLCP, /**< Resolution, layer, component, position */
    CUDAENC_J2K_RPCL, /**< Resolution, position, component, layer */
    CUDAENC_J2K_PCRL, /**< Position, component, resolution, layer */
    CUDAENC_J2K_CPRL, /**< Component, position, resolution, layer */
} CudaencJ2kProgression;
/** Code-block styles, ITU-T T.800 Table A.19 and T.814 Table A.4. */
typedef enum CudaencJ2kStyle {
    CUDAENC_J2K_BYPASS = 1,  /**< From the fifth bit-plane on only clean-up passes are MQ coded */
    CUDAENC_J2K_RESET = 2,   /**< Contexts begin anew with each coding pass */
    CUDAENC_J2K_TERMALL = 4, /**< A codeword segment for each coding pass */
    CUDAENC_J2K_VSC = 8,     /**< Vertically causal contexts */
    CUDAENC_J2K_ERTERM = 16, /**< Predictable termination, by which decoders find errors */
    CUDAENC_J2K_SEGSYM = 32, /**< Segmentation symbols, by which decoders find errors */
    CUDAENC_J2K_HT = 64,     /**< HT block coder (ITU-T T.814, HTJ2K) in place of the MQ coder; alone */
} CudaencJ2kStyle;
typedef enum CudaencJ2kTileParts {
    CUDAENC_J2K_TILE_PART_RESOLUTION = 1, /**< Where the resolution changes from a packet to the next */
    CUDAENC_J2K_TILE_PART_COMPONENT = 2,  /**< Where the component changes from a packet to the next */
} CudaencJ2kTileParts;
typedef enum CudaencJ2kRateControl {
    CUDAENC_J2K_RATE_NONE, /**< No target: the quality decides */
    CUDAENC_J2K_RATE_PCRD, /**< Code all, then cut where the least quality is lost (PCRD-opt) */
    CUDAENC_J2K_RATE_PST,  /**< As pcrd, without passes below the slope of the frame pst_lag before */
    CUDAENC_J2K_RATE_PSB,  /**< As pcrd, by bit-planes: blocks stop where the budget has no room */
    CUDAENC_J2K_RATE_BPI,  /**< As pcrd, by bit-planes: all blocks stop once the budget is used */
    CUDAENC_J2K_RATE_PSP,  /**< As pcrd, without passes that an estimated slope would cut */
} CudaencJ2kRateControl;

/* Restrictions that an application makes. Options that are left open follow them, others are refused where they do not
 * comply; a frame that is larger than its profile and level allow is cut. Beside profiles of libraries what is set
 * holds, but for what would lose data of a master. */
typedef enum CudaencJ2kProfile {
    CUDAENC_J2K_NO_PROFILE,        /**< No restrictions */
    CUDAENC_J2K_CINEMA_2K,         /**< Digital cinema (DCP), 2K: 9/7, XYZ */
    CUDAENC_J2K_CINEMA_4K,         /**< Digital cinema (DCP), 4K, with a 2K portion */
    CUDAENC_J2K_IMF_2K,            /**< IMF Application 2E, up to 2048x1556: 9/7 */
    CUDAENC_J2K_IMF_4K,            /**< IMF Application 2E, up to 4096x3112: 9/7 */
    CUDAENC_J2K_IMF_8K,            /**< IMF Application 2E, up to 8192x6224: 9/7 */
    CUDAENC_J2K_IMF_2K_R,          /**< IMF Application 2E, up to 2048x1556: 5/3 */
    CUDAENC_J2K_IMF_4K_R,          /**< IMF Application 2E, up to 4096x3112: 5/3 */
    CUDAENC_J2K_IMF_8K_R,          /**< IMF Application 2E, up to 8192x6224: 5/3 */
    CUDAENC_J2K_BROADCAST,         /**< Broadcast contribution: one or four tiles, 9/7 or 5/3 */
    CUDAENC_J2K_ARCHIVE_LOSSLESS,  /**< Masters of libraries, without loss: tiles, RPCL, 11 layers, 5/3 */
    CUDAENC_J2K_ACCESS,            /**< Access copies of libraries, 20:1: tiles, RPCL, 8 layers, 9/7 */
    CUDAENC_J2K_IMF_HT,            /**< IMF Application 2E with the HT block coder, up to 8192x6224: 9/7 */
    CUDAENC_J2K_IMF_HT_R,          /**< IMF Application 2E with the HT block coder, up to 8192x6224: 5/3 */
    CUDAENC_J2K_DICOM_HT_LOSSLESS, /**< DICOM 1.2.840.10008.1.2.4.201: HT block coder, 5/3, lossless */
    CUDAENC_J2K_DICOM_HT_RPCL,     /**< DICOM 1.2.840.10008.1.2.4.202: as dicom_ht_lossless, RPCL, TLM */
    CUDAENC_J2K_DICOM_HT,          /**< DICOM 1.2.840.10008.1.2.4.203: HT block coder */
} CudaencJ2kProfile;

/* What frames of RGB and YUV go through to become X'Y'Z' of digital cinema. */
typedef enum CudaencXyz {
    CUDAENC_XYZ_OFF,     /**< Samples are coded as they are */
    CUDAENC_XYZ_ON,      /**< RGB and YUV are converted */
    CUDAENC_XYZ_ALREADY, /**< RGB samples are X'Y'Z', of 12 bits or in the upper 12 of 16 */
} CudaencXyz;
typedef enum CudaencXyzRange {
    CUDAENC_XYZ_LIMITED, /**< 16 to 235 of 8 bits */
    CUDAENC_XYZ_FULL,    /**< 0 to 255 of 8 bits */
} CudaencXyzRange;
typedef enum CudaencXyzMatrix {
    CUDAENC_XYZ_BT601,  /**< BT.601 */
    CUDAENC_XYZ_BT709,  /**< BT.709 */
    CUDAENC_XYZ_BT2020, /**< BT.2020, non-constant luminance */
} CudaencXyzMatrix;
typedef enum CudaencXyzTransfer {
    CUDAENC_XYZ_LINEAR,   /**< Samples are linear light */
    CUDAENC_XYZ_SRGB,     /**< IEC 61966-2-1 */
    CUDAENC_XYZ_GAMMA_22, /**< Power of 2.2 */
    CUDAENC_XYZ_GAMMA_24, /**< Power of 2.4, a display of BT.1886 */
    CUDAENC_XYZ_GAMMA_26, /**< Power of 2.6, a projector of RP 431-2 */
    CUDAENC_XYZ_GAMMA_28, /**< Power of 2.8 */
    CUDAENC_XYZ_ST428,    /**< SMPTE ST 428-1: power of 2.6, 48/52.37 is white */
} CudaencXyzTransfer;
typedef enum CudaencXyzPrimaries {
    CUDAENC_XYZ_PRIMARIES_BT709,  /**< BT.709, sRGB */
    CUDAENC_XYZ_PRIMARIES_P3D65,  /**< P3, white D65 */
    CUDAENC_XYZ_PRIMARIES_P3DCI,  /**< P3, white of RP 431-2 */
    CUDAENC_XYZ_PRIMARIES_BT2020, /**< BT.2020 */
    CUDAENC_XYZ_PRIMARIES_XYZ,    /**< CIE 1931 XYZ */
} CudaencXyzPrimaries;

typedef struct CudaencJ2kOptions {
    int profile;    /**< Application whose rules the codestream follows; CudaencJ2kProfile, default 0 */
    int main_level; /**< Main level of IMF, of broadcast up to 7; 0: the lowest that fits; 1..11, default 0 */
    int sub_level;  /**< Sub level of IMF, limits the bit rate; -1: the lowest that the target fits; 0..9, default -1 */
    int hfr;        /**< Digital cinema at a high frame rate: 500 Mbit/s; 0 or 1, default 0 */
    int stereo;     /**< Digital cinema: frames of one eye, which has half of the bits; 0 or 1, default 0 */
    int frame_rate_num, frame_rate_den; /**< frames/s; 0/x (default): unknown, not allowed with a profile or bit_rate */
    int format;       /**< File format of a packet; CudaencJ2kFileFormat, default -1: jp2; j2k with a profile, but for
                         archive_lossless and access */
    int tile_width;   /**< Tile width in samples; 0: the picture's, or the profile's; 1..1073741824, default 0 */
    int tile_height;  /**< Tile height in samples; 0: the picture's, or the profile's; 1..1073741824, default 0 */
    int pred;         /**< Wavelet; CudaencJ2kWavelet, default -1: dwt97, or the profile's */
    int quality;      /**< Quality of dwt97, best is 100; -1: 90, finer with a target; 1..100, default -1 */
    int rate_control; /**< How frames keep to a target; CudaencJ2kRateControl, default -1: psp; pcrd with psnr, none
                         without a target */
    int pst_lag;      /**< With pst: how many frames back the slope comes from; 1..64, default 4 */
    /* At most one of the next five is the target. Packets have 99.5 to 100 % of a size, if the picture has as much. */
    int64_t bit_rate;         /**< Target: bits/s, of which each frame has its share; 0: none; 1 or more, default 0 */
    int64_t frame_bytes;      /**< Target: bytes of a packet, at most; 0: none; 1 or more, default 0 */
    double compression_ratio; /**< Target: bytes of samples over bytes of a packet; 0: none; 1..1000000, default 0 */
    double psnr;              /**< Target: dB of each frame, at least; 0: none; 1..150, default 0 */
    int64_t min_frame_bytes;  /**< Least bytes of a packet, smaller ones are filled up; 0: none; 1 or more, default 0 */
    const char *layer_rates;  /**< Targets R0,R1,...: compression ratios up to each layer, falling */
    int levels;               /**< Wavelet decompositions; -1: 5, or what the profile allows; 0..32, default -1 */
    int cblk_width;           /**< Code-block width; width x height is at most 4096; 0: 32, or the profile's; powers of
                                 two, 4..1024, default 0 */
    int cblk_height;          /**< Code-block height; width x height is at most 4096; 0: 32, or the profile's; powers of
                                 two, 4..1024, default 0 */
    int cblk_style; /**< Code-block style, any combination; 0: none or the profile's; sum of CudaencJ2kStyle, default 0
                     */
    const char *precincts; /**< Precincts WxH,..., highest resolution first; not set: 32768x32768, or the profile's */
    int layers;            /**< Quality layers; -1: 1, or the profile's; 1..100, default -1 */
    int prog;              /**< Progression order; CudaencJ2kProgression, default -1: lrcp, or the profile's */
    const char *roi;       /**< Region of interest X,Y,WIDTH,HEIGHT */
    const char *poc;       /**< Progression order changes RS,CS,LYE,RE,CE,ORDER[/...] */
    int tile_parts; /**< Where tiles are cut into tile-parts; 0: nowhere, or the profile's; sum of CudaencJ2kTileParts,
                       default 0 */
    int mct; /**< Transform of the first three components; 0 or 1, default -1: 1 for RGB and digital cinema, else 0 */
    int guard_bits;      /**< Guard bits of sub-bands; -1: 2, in cinema2k 1; 1..7, default -1 */
    int sop;             /**< SOP marker segment before each packet; -1: as the profile says; 0 or 1, default -1 */
    int eph;             /**< EPH marker after each packet header; -1: as the profile says; 0 or 1, default -1 */
    int tlm;             /**< TLM marker segments, lengths of tile-parts; -1: with a profile; 0 or 1, default -1 */
    int plt;             /**< PLT marker segments, lengths of packets; -1: as the profile says; 0 or 1, default -1 */
    const char *comment; /**< COM marker segment's text, empty: none; not set: name and version */
    int xyz; /**< Frames become X'Y'Z' of 12 bits; CudaencXyz, default -1: on with digital cinema, unless frames are
                XYZ; else off */
    int xyz_range;     /**< With xyz: range of frames; CudaencXyzRange, default -1: as the frames tell */
    int xyz_matrix;    /**< With xyz: matrix of YUV; CudaencXyzMatrix, default -1: as the frames tell, else bt601 */
    int xyz_transfer;  /**< With xyz: what makes light of R'G'B'; CudaencXyzTransfer, default -1: as the frames tell,
                          else gamma24; with a LUT gamma26 */
    int xyz_primaries; /**< With xyz: colour primaries; CudaencXyzPrimaries, default -1: as the frames tell, else bt709;
                          with a LUT p3d65 */
    const char *xyz_lut; /**< With xyz: .cube file of a 3D LUT that R'G'B' goes through first */
    const char *xmp;     /**< With format jp2: file of an XMP packet */
    const char *iptc;    /**< With format jp2: file of IPTC-IIM or of Photoshop image resources */
    double capture_ppi;  /**< With format jp2: capture resolution, samples an inch; 0: as EXIF tells; 1..100000, default
                            0 */
    double display_ppi;  /**< With format jp2: display resolution, samples an inch; 0: not told; 1..100000, default 0 */
    int visual_weights;  /**< With a target of bytes: errors weigh as the eye sees them; 0 or 1, default 0 */
    int x_offset;        /**< Column of the reference grid where the picture begins; 0..16777216, default 0 */
    int y_offset;        /**< Row of the reference grid where the picture begins; 0..16777216, default 0 */
    int tile_x_offset;   /**< Column where the first tile begins, at most x_offset; 0..16777216, default 0 */
    int tile_y_offset;   /**< Row where the first tile begins, at most y_offset; 0..16777216, default 0 */
} CudaencJ2kOptions;
/** Fills in the defaults. size: that of the caller's structure. Any thread. options may not be NULL.
 *  @return CUDAENC_OK, or CUDAENC_ERR_INVALID */
int cudaenc_j2k_init(CudaencJ2kOptions *options, size_t size);
static inline int cudaenc_j2k_defaults(CudaencJ2kOptions *options) {
    return cudaenc_j2k_init(options, sizeof(*options));
}

/* Of CUDAENC_CODEC_MJPEG. Formats: 8 bits; gray, YUV or RGB, no alpha. */
typedef enum CudaencMjpegHuffman {
    CUDAENC_MJPEG_HUFFMAN_DEFAULT, /**< The standard's (Annex K): for RTP, and faster */
    CUDAENC_MJPEG_HUFFMAN_OPTIMAL, /**< Made for each picture: smaller */
} CudaencMjpegHuffman;
typedef enum CudaencMjpegMatrix {
    CUDAENC_MJPEG_MATRIX_ANNEXK, /**< The standard's (Annex K): made for the eye */
    CUDAENC_MJPEG_MATRIX_FLAT,   /**< One divisor for all coefficients: for PSNR */
    CUDAENC_MJPEG_MATRIX_MPEG,   /**< The intra matrix of MPEG-2, as FFmpeg's mjpeg has it: between the two */
} CudaencMjpegMatrix;

typedef struct CudaencMjpegOptions {
    int quality;                   /**< Quality on libjpeg's scale, best is 100; 1..100, default 90 */
    const uint16_t *luma_matrix;   /**< 64 divisors, 1..255, by rows, also of RGB and gray; NULL: as matrix says */
    const uint16_t *chroma_matrix; /**< of Cb and Cr */
    int huffman;                   /**< Huffman tables; CudaencMjpegHuffman, default 1 */
    int restart_interval;          /**< MCUs between restart markers; 0: none, -1: a row; -1..65535, default 0 */
    int mct;                       /**< RGB becomes YCbCr, else it stays RGB; 0 or 1, default 0 */
    int64_t frame_bytes; /**< Target: bytes of each packet; 0: none, quality holds; 1..2147483647, default 0 */
    int quality_min;     /**< Lowest quality that a target chooses; 1..100, default 1 */
    int quality_max;     /**< Highest quality that a target chooses; 1..100, default 100 */
    const char *comment; /**< COM marker segment's text, empty: none; not set: name and version */
    int matrix;          /**< Quantisation matrices, which quality scales; CudaencMjpegMatrix, default 0 */
    int trellis;         /**< Levels whose bits cost more than they give become smaller; 0 or 1, default 0 */
} CudaencMjpegOptions;
/** As cudaenc_j2k_init(). */
int cudaenc_mjpeg_init(CudaencMjpegOptions *options, size_t size);
static inline int cudaenc_mjpeg_defaults(CudaencMjpegOptions *options) {
    return cudaenc_mjpeg_init(options, sizeof(*options));
}

/* Of CUDAENC_CODEC_H264. Formats: 8 or 10 bits; gray, or YUV of 4:2:0, 4:2:2 or 4:4:4, no alpha. */
typedef enum CudaencH264Profile {
    CUDAENC_H264_AUTO_PROFILE,         /**< High, or the profile that the format needs */
    CUDAENC_H264_CONSTRAINED_BASELINE, /**< Constrained Baseline */
    CUDAENC_H264_MAIN,                 /**< Main */
    CUDAENC_H264_HIGH,                 /**< High */
    CUDAENC_H264_HIGH_10_INTRA,        /**< High 10, or High 10 Intra */
    CUDAENC_H264_HIGH_422_INTRA,       /**< High 4:2:2, or High 4:2:2 Intra */
    CUDAENC_H264_CAVLC_444_INTRA,      /**< CAVLC 4:4:4 Intra */
    CUDAENC_H264_HIGH_444,             /**< High 4:4:4 Predictive */
} CudaencH264Profile;
typedef enum CudaencH264RateControl {
    CUDAENC_H264_CONSTANT_QP,
    CUDAENC_H264_CONSTANT_QUALITY,
    CUDAENC_H264_BIT_RATE,
} CudaencH264RateControl;
typedef enum CudaencAvcIntraFlavor {
    CUDAENC_AVC_INTRA_PANASONIC, /**< AVC-Intra: 10 slices, SEI messages, classes up to 200 */
    CUDAENC_AVC_INTRA_SONY,      /**< XAVC Intra: 8 slices */
} CudaencAvcIntraFlavor;

/** What a keystream turns beside signs of levels and samples of I_PCM. */
typedef enum CudaencH264EncryptedParts {
    CUDAENC_H264_ENCRYPT_PLACES = 1, /**< Places of levels in their blocks */
    CUDAENC_H264_ENCRYPT_MODES = 2,  /**< Intra prediction modes */
} CudaencH264EncryptedParts;

/** Writes `size` bytes of a cipher's keystream, those of a picture, whose number is counted from 0 on: 2 bytes for each
 *  block of 16 levels that a picture of this format can have, filled up to 16. Samples of I_PCM take them as levels do.
 *  With CUDAENC_H264_ENCRYPT_MODES 8 bytes for each macroblock follow, filled up to 16. Called by cudaenc_submit(). */
typedef void (*CudaencKeystream)(void *opaque, uint64_t picture, uint8_t *bytes, size_t size);

typedef struct CudaencH264Options {
    int profile;      /**< Profile; CudaencH264Profile, default 0 */
    int level;        /**< Ten times the level; 0: the lowest that fits; 10..62, default 0 */
    int slices;       /**< Slices of a picture; 0: as few as the level allows; 1..16880, default 0 */
    int rate_control; /**< What the rate control keeps; CudaencH264RateControl, default 1 */
    int qp;           /**< Constant QP, or the middle one of constant quality; 8 bits: from 0; -12..51, default 20 */
    int aq;           /**< 1/256 QP more where variance doubles; -1: 256, with constant QP 0; 0..1024, default -1 */
    int effort;       /**< How modes are looked for: 0 (on a GPU as a whole), 1 and 2 (by CPU threads), 3 (small); 0..3,
                         default 0 */
    int64_t bit_rate; /**< Bits/s on average; 1..4000000000, default 0 */
    int64_t max_rate; /**< Bits/s into the decoder's buffer; 0: bit_rate, or no buffer; 1..4000000000, default 0 */
    int64_t buffer_size; /**< Bits of the decoder's buffer; 0: a second of max_rate; 1..4000000000, default 0 */
    int cbr;             /**< Fill the stream up to its bit rate; 0 or 1, default 0 */
    int hrd;             /**< HRD parameters, buffering periods and picture timing; 0 or 1, default 0 */
    int qp_min;          /**< Lowest QP that the rate control chooses; -12..51, default -12 */
    int qp_max;          /**< Highest QP that the rate control chooses, but for the buffer; -12..51, default 51 */
    int deblock;         /**< Let decoders run the deblocking filter; -1: with P pictures; 0 or 1, default -1 */
    int aud;             /**< Access unit delimiters; 0 or 1, default 0 */
    int repeat_headers;  /**< Parameter sets in every packet; 0 or 1, default 1 */
    int timecodes;       /**< Timecodes of frames as SEI messages; 0 or 1, default 0 */
    int frame_rate_num, frame_rate_den;       /**< frames/s; 0/x (default): unknown, not allowed with rates */
    int sample_aspect_num, sample_aspect_den; /**< 0/x (default): unknown */
    CudaencKeystream keystream; /**< signs of levels turn by it, and I_PCM samples; decoders show scrambled pictures;
                                   NULL (default): none */
    void *keystream_opaque;     /**< passed to keystream */
    int chroma_location;        /**< chroma_sample_loc_type of 4:2:0; -1: not told; 0..5, default -1 */
    int avc_intra_class;        /**< AVC-Intra or XAVC Intra: 100, 200, 300 or 480; 0: none; 50..480, default 0 */
    int avc_intra_flavor;       /**< Whose AVC-Intra; CudaencAvcIntraFlavor, default 0 */
    int gop_size; /**< Pictures from an IDR picture to the next, P pictures between them; 1: all are IDR; 1..1000000,
                     default 1 */
    int encrypt_parts; /**< What a key turns beside signs, any combination; sum of CudaencH264EncryptedParts, default 0
                        */
    int scene_cut; /**< Scene cuts become IDR pictures: where prediction saves at most so many percent; 0: none; 0..100,
                      default 20 */
    int min_gop_size;  /**< Pictures before an IDR picture of a scene cut, at least; 0: a tenth of gop_size; 1..1000000,
                          default 0 */
    int intra_refresh; /**< Pictures in which columns of intra macroblocks pass over the picture, again and again; 0:
                          none; 1..1000, default 0 */
    int slice_max_bytes;     /**< Bytes of NAL units of slices at most, without start codes, with P pictures; 0: any;
                                640..1000000, default 0 */
    int lookahead;           /**< Pictures that a P picture waits for, to lower QPs of what they are predicted from; 0:
                                none; 1..48, default 0 */
    int weighted_prediction; /**< Weights of P pictures, which fades need; 0 or 1, default 0 */
} CudaencH264Options;
/** As cudaenc_j2k_init(). */
int cudaenc_h264_init(CudaencH264Options *options, size_t size);
static inline int cudaenc_h264_defaults(CudaencH264Options *options) {
    return cudaenc_h264_init(options, sizeof(*options));
}

/** Bytes that a CudaencConfig has for the options of a codec, so that they can grow. */
#define CUDAENC_OPTIONS_ROOM 1024

/** The most that async_depth may be, and that its 0 stands for: a caller's arrays of that size hold all in flight. */
#define CUDAENC_MAX_ASYNC_DEPTH 64

typedef struct CudaencConfig {
    size_t struct_size; /**< the caller's sizeof(CudaencConfig), set by cudaenc_config_defaults() */
    CudaencCodec codec;
    CudaencFormat format;
    const char *device; /**< Where to encode: auto (a GPU, else the CPU), cpu, cuda or cuda:N; default "auto" */
    int device_frames;  /**< 1: frames are in CUDA device memory of cuda_context */
    int device_packets; /**< 1: packets stay in CUDA device memory of cuda_context; CUDAENC_CODEC_MJPEG. No zero bytes
                             follow their data. */
    void *cuda_context; /**< CUcontext to run in, NULL: the primary context of the device that `device` names.
                             The caller keeps it alive until the session is closed and its buffers are freed. */
    int async_depth; /**< Frames in flight: more fill a GPU better and take more memory; 0: 4, of H.264 on a CPU 1.5 a
                        thread; 1..64, default 0 */
    int threads;     /**< Threads of the CPU; 0: one per core; 1..1024, default 0 */
    int stage_times; /**< Measure every stage, see cudaenc_stage_times(); 0 or 1, default 0 */
    CudaencLog log;  /**< may be NULL */
    void *log_opaque;
    union {
        CudaencJ2kOptions j2k; /**< of CUDAENC_CODEC_J2K */
        char j2k_room[CUDAENC_OPTIONS_ROOM];
    };
    union {
        CudaencMjpegOptions mjpeg; /**< of CUDAENC_CODEC_MJPEG */
        char mjpeg_room[CUDAENC_OPTIONS_ROOM];
    };
    union {
        CudaencH264Options h264; /**< of CUDAENC_CODEC_H264 */
        char h264_room[CUDAENC_OPTIONS_ROOM];
    };
    int fields; /**< How frames are interlaced: each is coded as two fields; CudaencFields, default 0. A packet has
                   both, the first one first. Frame rates, sizes of packets and pst_lag are of frames, and a field has
                   its half; tiles, roi and psnr are of a field. The height is a multiple of 2, or of 4 with half the
                   chroma rows. At most 32 frames are in flight. Not with device_packets, nor with format jp2. With
                   avc_intra_class a frame is one picture, of field macroblock pairs */
} CudaencConfig;
/** Fills in the defaults, and 0 where this library knows none. struct_size: that of the caller's structure. Any thread.
 *  config may not be NULL. @return CUDAENC_OK, or CUDAENC_ERR_INVALID */
int cudaenc_config_init(CudaencConfig *config, size_t struct_size, CudaencCodec codec);
static inline int cudaenc_config_defaults(CudaencConfig *config, CudaencCodec codec) {
    return cudaenc_config_init(config, sizeof(*config), codec);
}

/* What CUDAENC_CODEC_H264 writes as SEI messages. */
typedef struct CudaencTimecode {         /**< SMPTE ST 12-1 */
    int hours, minutes, seconds, frames; /**< frames: less than the frame rate */
    int drop_frame;                      /**< 0 or 1 */
} CudaencTimecode;
typedef struct CudaencMasteringDisplay {
    uint16_t primaries[3][2]; /**< red, green, blue; x and y in units of 0.00002 */
    uint16_t white_point[2];
    uint32_t max_luminance, min_luminance; /**< 0.0001 cd/m2 */
} CudaencMasteringDisplay;
typedef struct CudaencContentLight {
    uint16_t max_content, max_average; /**< cd/m2 */
} CudaencContentLight;
typedef struct CudaencUserData {
    const uint8_t *data; /**< 16 bytes of UUID, then what belongs to it */
    size_t size;
} CudaencUserData;

/** Regions of a frame at most. */
#define CUDAENC_MAX_REGIONS 16

/** A region of interest: its part within the frame, luma samples. offset_num / offset_den, from -1 to 1: lower is
 *  better. H.264 adds that part of the highest QP (51, with 10 bits 63) to its QPs; JPEG 2000 weighs errors alike. */
typedef struct CudaencRegion {
    int x, y, width, height;
    int offset_num, offset_den; /**< offset_den > 0 */
} CudaencRegion;

typedef struct CudaencFrame {
    size_t struct_size CUDAENC_SIZE_OF(CudaencFrame);
    const uint8_t *data[4]; /**< planes; must stay valid and unchanged until the frame's packet was received, or the
                                 session was closed */
    ptrdiff_t stride[4];    /**< bytes, at least those of a row; may be negative for frames in host memory */
    void *cuda_stream;      /**< frames in device memory: CUstream whose queued work makes the frame; NULL: the default
                                 stream */
    void *opaque;           /**< comes back with the packet */
    const uint8_t *icc_profile; /**< embedded where the file format can hold it; copied by cudaenc_submit() */
    size_t icc_profile_size;
    int sample_aspect_num, sample_aspect_den; /**< 0/x, x/0: unknown */
    const uint8_t *exif; /**< a TIFF structure, embedded where the codec has a place for it; copied as the profile is */
    size_t exif_size;
    /* These are copied too; NULL or 0: none. */
    const CudaencTimecode *timecode;
    const CudaencMasteringDisplay *mastering_display;
    const CudaencContentLight *content_light;
    const uint8_t *captions; /**< A/53 cc_data: 3 bytes each, at most 31 of them */
    size_t captions_size;
    const CudaencUserData *user_data; /**< unregistered */
    int user_data_count;
    /* Of JP2 files, in place of the files that the options xmp and iptc name; copied too. */
    const uint8_t *xmp; /**< an XMP packet, UTF-8 */
    size_t xmp_size;
    const uint8_t *iptc; /**< IPTC-IIM, or Photoshop image resources ("8BIM") */
    size_t iptc_size;
    uint64_t skipped; /**< frames of the frame rate that are left out before this one, where it varies: H.264's rate
                           control has their time for others, up to a second; not with hrd */
    int key;          /**< 1: its packet is a key packet, with which decoding can begin: an IDR picture of H.264; 0: the
                           encoder chooses. Other codecs have no other packets */
    int region_count; /**< at most CUDAENC_MAX_REGIONS; where they overlap, the first one counts */
    const CudaencRegion *regions;     /**< copied; NULL with region_count 0 */
    const uint8_t *const *plane_data; /**< [planes]: in place of data, which has 4; copied, but for the planes; NULL:
                                         data and stride tell of them, of at most 4 */
    const ptrdiff_t *plane_stride;    /**< [planes]: in place of stride; copied */
} CudaencFrame;

typedef struct CudaencBuffer CudaencBuffer;

/** Bytes after a packet's data that are readable and zero. */
#define CUDAENC_PACKET_PADDING 64

/** CudaencPacket.quality where there is none: without loss, or where a target of JPEG 2000 decides. */
#define CUDAENC_NO_QUALITY (-100.0)

typedef struct CudaencPacket {
    size_t struct_size CUDAENC_SIZE_OF(CudaencPacket); /**< the caller's; it stays */
    const uint8_t *data;
    size_t size;           /**< bytes */
    void *opaque;          /**< the frame's */
    CudaencBuffer *buffer; /**< owns data; cudaenc_buffer_free() it */
    double quality;        /**< that the frame has: the QP of H.264, the quality of JPEG and JPEG 2000 */
    int delta;             /**< 0: a key packet, with which decoding can begin; 1: it needs packets before */
} CudaencPacket;

typedef struct CudaencSession CudaencSession;

/** Opens a session: checks options and format, takes the device, allocates what all frames in flight need. Any thread,
 *  which becomes the session's. Neither pointer may be NULL.
 *  @return CUDAENC_OK, or an error and *session NULL. The log has said why, but for a config that is NULL or whose
 *  struct_size has no room for a log. CUDAENC_ERR_MEMORY, too, where the frames in flight need more than is free. */
int cudaenc_open(CudaencSession **session, const CudaencConfig *config);

/** "cpu, 16 threads" or "cuda:0 NVIDIA H200, sm_90": what runs. Valid until the session is closed. By the
 *  session's thread. Of NULL "". */
const char *cudaenc_device_name(const CudaencSession *session);

/** "jp2, 9/7, quality 90, 5 levels, 32x32 blocks": what is coded, for logs. Valid until the session is
 *  closed. By the session's thread. Of NULL "". */
const char *cudaenc_summary(const CudaencSession *session);

/** Frames that may be in flight: async_depth, and what 0 stands for; with pst at most pst_lag; with lookahead so many
 *  more, at most CUDAENC_MAX_ASYNC_DEPTH. By the session's thread.
 *  Of NULL CUDAENC_ERR_INVALID. */
int cudaenc_async_depth(const CudaencSession *session);

/** What decoders need before the first packet: parameter sets of H.264, as a byte stream. NULL: nothing. Valid until
 *  the session is closed. By the session's thread. Neither pointer may be NULL; else it returns NULL. */
const uint8_t *cudaenc_extradata(const CudaencSession *session, size_t *size);

/** Starts encoding a frame; does not wait for it. @return CUDAENC_OK, CUDAENC_AGAIN when async_depth frames are in
 *  flight, or an error of this frame. By the session's thread. Neither pointer may be NULL, nor a plane of the frame;
 *  its other pointers may, their sizes are 0 then. */
int cudaenc_submit(CudaencSession *session, const CudaencFrame *frame);

/** Changes the QP of CUDAENC_CODEC_H264 with constant QP or quality, from the next frame on. By the session's thread.
 * The session may not be NULL.
 *  @return CUDAENC_OK, or CUDAENC_ERR_INVALID: a QP that is not allowed, or another rate control; or
 *  CUDAENC_ERR_UNSUPPORTED: another codec. Then nothing changes. */
int cudaenc_set_qp(CudaencSession *session, int qp);

/** Changes bits/s of CUDAENC_CODEC_H264 with rate control by bit rate, from the next frame on: on average, which counts
 *  from there, and into the decoder's buffer. max_rate 0: as before; where that was bit_rate, it stays so. The buffer's
 *  size stays; with hrd its rate does, too, which the stream tells. The level has to allow both. As cudaenc_set_qp().
 */
int cudaenc_set_bit_rate(CudaencSession *session, int64_t bit_rate, int64_t max_rate);

/** Takes the oldest frame's packet and waits for it when the ring is full or the session is flushed. By the session's
 *  thread. Neither pointer may be NULL.
 *  @return CUDAENC_OK, CUDAENC_AGAIN, CUDAENC_EOF, or an error of the oldest frame, which leaves the ring with
 *  packet->opaque set and packet->buffer NULL. */
int cudaenc_receive(CudaencSession *session, CudaencPacket *packet);

/** As cudaenc_receive(), but never waits for the oldest frame: CUDAENC_AGAIN until it is done. Of CUDAENC_CODEC_H264 on
 *  a GPU only the CPU's part has to be done; the entropy coder is waited for. */
int cudaenc_poll(CudaencSession *session, CudaencPacket *packet);

/** As cudaenc_receive(), but waits for the oldest frame wherever there is one: CUDAENC_AGAIN only from an empty ring.
 *  With a lookahead that the oldest frame still waits for, those in flight look at no frame that comes later. */
int cudaenc_wait(CudaencSession *session, CudaencPacket *packet);

/** No frame follows: receive gives the packets in flight, then CUDAENC_EOF. The next submit starts anew. By the
 *  session's thread. The session may not be NULL. @return CUDAENC_OK, or CUDAENC_ERR_INVALID */
int cudaenc_flush(CudaencSession *session);

/** Drops the frames in flight (after waiting for the device) and frees the session. By the session's thread, the last
 *  call of it. NULL does nothing. */
void cudaenc_close(CudaencSession *session);

/** Frees a packet's bytes, also after cudaenc_close(). Any thread. NULL does nothing. */
void cudaenc_buffer_free(CudaencBuffer *buffer);

typedef struct CudaencStageTime {
    const char *name;
    double milliseconds; /**< sum over the frames received since the session was opened */
    int frames;
} CudaencStageTime;
/** Copies at most `capacity` rows. By the session's thread. times may be NULL where capacity is 0 or less.
 *  @return how many stages there are, 0 unless CudaencConfig.stage_times was set; or CUDAENC_ERR_INVALID */
int cudaenc_stage_times(const CudaencSession *session, CudaencStageTime *times, int capacity);

/* ---- Decoding
 *
 * A decoder takes packets of one codec, of any format and size, and fills planes of the caller.
 * cudaenc_decoder_open() -> { cudaenc_decoder_read_header() -> cudaenc_decoder_submit() -> cudaenc_decoder_receive() }*
 * -> cudaenc_decoder_flush() -> cudaenc_decoder_receive() until CUDAENC_EOF -> cudaenc_decoder_close().
 * What holds for sessions and their threads holds for decoders. Packets may come from strangers: any bytes give a
 * picture or an error. */

typedef struct CudaencDecoderConfig {
    size_t struct_size; /**< the caller's sizeof(CudaencDecoderConfig), set by cudaenc_decoder_defaults() */
    CudaencCodec codec; /**< CUDAENC_CODEC_MJPEG: baseline, extended and progressive JPEG of 8 or 12 bits, lossless
                           JPEG of 2 to 16 bits; CUDAENC_CODEC_J2K: JPEG 2000 Part 1 and HTJ2K of 1 to 16 bits,
                           codestreams and JP2 files */
    const char *device; /**< Where to decode: auto (a GPU, else the CPU), cpu, cuda or cuda:N; default "auto" */
    int device_frames;  /**< 1: planes are in CUDA device memory of cuda_context */
    void *cuda_context; /**< CUcontext to run in, NULL: the primary context of the device that `device` names */
    int async_depth;    /**< Pictures in flight: more fill a GPU better and take more memory; 0: 4, on a CPU 1.5 a
                           thread; 1..64, default 0 */
    int threads;        /**< Threads of the CPU; 0: one per core; 1..1024, default 0 */
    int stage_times;    /**< Measure every stage, see cudaenc_decoder_stage_times(); 0 or 1, default 0 */
    int lowres; /**< Pictures are 1/2^lowres as large; of JPEG at most 3, of JPEG 2000 the levels of the stream; 0..32,
                   default 0 */
    int64_t max_pixels; /**< Larger pictures are refused; 1..4294836225, default 4294836225 */
    CudaencLog log;     /**< may be NULL */
    void *log_opaque;
    int usual_format; /**< Planes have a usual format: components are scaled up to it, and inks become light; 0 or 1,
                         default 0 */
    int layers;       /**< Of JPEG 2000: quality layers that are decoded; 0: all; 1..65535, default 0 */
    const char
        *region; /**< Of JPEG 2000: the part X,Y,WIDTH,HEIGHT that is decoded, in samples before lowres; not set: all */
    const char *channels; /**< Of JPEG 2000: one to four channels C,C,... that planes have, counted from 0: gray, gray
                             and opacity, three colours, or these and opacity; not set: as the file says */
    int rgb; /**< Of JPEG of 8 bits: Y, Cb and Cr become R, G and B, of which each has all samples; 0 or 1, default 0 */
} CudaencDecoderConfig;
/** As cudaenc_config_init(). */
int cudaenc_decoder_init(CudaencDecoderConfig *config, size_t struct_size, CudaencCodec codec);
static inline int cudaenc_decoder_defaults(CudaencDecoderConfig *config, CudaencCodec codec) {
    return cudaenc_decoder_init(config, sizeof(*config), codec);
}

/** What the headers of a packet say. */
typedef struct CudaencPictureInfo {
    size_t struct_size CUDAENC_SIZE_OF(CudaencPictureInfo);
    int width, height;    /**< as they are coded, before lowres; of the whole picture, also of a region */
    CudaencFormat format; /**< of the planes: one a component; samples in the highest bits of a
                             byte, or of two where they have more than 8; of JPEG 2000 with 9, 10,
                             12 or 14 bits in the lowest. XYZ of usual_format is packed */
    int sample_aspect_num, sample_aspect_den; /**< 0/x: unknown */
    int orientation;                          /**< of EXIF, 1 to 8; 1: as it is */
    const uint8_t *exif;                      /**< a TIFF structure, within the packet; NULL: none */
    size_t exif_size;
    const uint8_t *icc_profile; /**< valid until the packet is submitted, or two other headers are read; NULL: none */
    size_t icc_profile_size;
    int is_signed[4]; /**< of each component: 1 where its samples are signed, in two's complement; JPEG has none,
                         nor a usual_format */
} CudaencPictureInfo;

typedef struct CudaencCodedPicture {
    size_t struct_size CUDAENC_SIZE_OF(CudaencCodedPicture);
    const uint8_t *data; /**< the packet; must stay valid and unchanged until the picture was received */
    size_t size;         /**< bytes */
    uint8_t *planes[4];  /**< that the picture fills, of the format that its headers tell */
    ptrdiff_t stride[4]; /**< bytes, at least those of a row; may be negative for planes in host memory */
    void *cuda_stream;   /**< planes in device memory: CUstream whose queued work comes first; NULL: the default
                              stream. It must stay until the picture was received; then the planes are complete. */
    void *opaque;        /**< comes back with the picture */
} CudaencCodedPicture;

typedef struct CudaencDecodedPicture {
    size_t struct_size CUDAENC_SIZE_OF(CudaencDecodedPicture);
    void *opaque; /**< of the packet */
    int corrupt;  /**< 1: parts of the packet were broken or missing, and are gray, or data were left over; the log
                       says what */
} CudaencDecodedPicture;

typedef struct CudaencDecoder CudaencDecoder;

/** Opens a decoder. Any thread, which becomes the decoder's. Neither pointer may be NULL. @return as cudaenc_open() */
int cudaenc_decoder_open(CudaencDecoder **decoder, const CudaencDecoderConfig *config);

/** As cudaenc_device_name(). */
const char *cudaenc_decoder_device_name(const CudaencDecoder *decoder);
/** Pictures that may be in flight. By the decoder's thread. Of NULL CUDAENC_ERR_INVALID. */
int cudaenc_decoder_async_depth(const CudaencDecoder *decoder);

/** Reads the headers of a packet, which needs no device. A cudaenc_decoder_submit() of that packet does not read them
 *  again. By the decoder's thread. No pointer may be NULL.
 *  @return CUDAENC_OK; CUDAENC_ERR_INVALID: this is no picture,
 *  or too large a one; CUDAENC_ERR_UNSUPPORTED */
int cudaenc_decoder_read_header(CudaencDecoder *decoder, const uint8_t *data, size_t size, CudaencPictureInfo *info);

/** The bytes of a packet up to the end of its first picture. What follows may be another picture, such as the second
 *  field in AVI; it is a packet of its own for the decoder. Any thread. Of data NULL 0. */
size_t cudaenc_decoder_picture_size(const uint8_t *data, size_t size);

/** Starts decoding a packet; does not wait for it. By the decoder's thread. No pointer may be NULL, nor the data, nor a
 *  plane that the picture has.
 *  @return CUDAENC_OK, CUDAENC_AGAIN when async_depth pictures are in flight, or an error of this packet */
int cudaenc_decoder_submit(CudaencDecoder *decoder, const CudaencCodedPicture *coded);

/** Takes the oldest picture, and waits for it when the ring is full or the decoder is flushed. By the decoder's thread.
 *  Neither pointer may be NULL. @return as cudaenc_receive() */
int cudaenc_decoder_receive(CudaencDecoder *decoder, CudaencDecodedPicture *picture);

/** As cudaenc_poll() and cudaenc_wait(). */
int cudaenc_decoder_poll(CudaencDecoder *decoder, CudaencDecodedPicture *picture);
int cudaenc_decoder_wait(CudaencDecoder *decoder, CudaencDecodedPicture *picture);

/** Packets whose pictures have one format, and lie at even distances, as in a tensor of (pictures, components, rows,
 *  columns). */
typedef struct CudaencCodedBatch {
    size_t struct_size CUDAENC_SIZE_OF(CudaencCodedBatch);
    int count;                  /**< pictures, 0 or more */
    const uint8_t *const *data; /**< [count]: the packets; NULL: all are files */
    const size_t *size;         /**< [count]: their bytes; NULL: as data */
    CudaencFormat format;       /**< of each picture, as cudaenc_decoder_read_header() tells it */
    int is_signed[4];           /**< as it tells it, too */
    uint8_t *planes[4];         /**< of the first picture */
    ptrdiff_t stride[4];        /**< bytes from a row to the next one, as of CudaencCodedPicture */
    ptrdiff_t step[4];          /**< bytes from a picture to the next one; may be negative */
    void *cuda_stream;          /**< as of CudaencCodedPicture */
    int *codes;                 /**< [count]: gets CUDAENC_OK or the error of each picture; NULL: not wanted */
    int *corrupt;               /**< [count]: gets CudaencDecodedPicture.corrupt of each; NULL: not wanted */
    const char *const
        *paths;  /**< [count]: regular files, which are packets where data has none; NULL: there are none */
    int readers; /**< threads that read files before they are due; 0: one per core, at most 8; 0..64 */
    int *errors; /**< [count]: gets the errno of each file that cannot be read, else 0; NULL: not wanted */
} CudaencCodedBatch;

/** Decodes a batch, async_depth pictures at a time, and returns once all of them are there. No other picture may be in
 *  flight. The log names a picture by its number, from 0 on. Where one fails, its memory has any content, and the
 * others are decoded. One of two fields fails. By the decoder's thread. No pointer may be NULL, nor a packet that is no
 * file, nor a plane that the format has.
 *  @return CUDAENC_OK, or the error of the first picture that failed; CUDAENC_ERR_INVALID without codes where the batch
 *  is not allowed */
int cudaenc_decoder_batch(CudaencDecoder *decoder, const CudaencCodedBatch *batch);

/** No packet follows, as cudaenc_flush(). */
int cudaenc_decoder_flush(CudaencDecoder *decoder);

/** Drops the pictures in flight, after waiting for them, and frees the decoder. By the decoder's thread, the last call
 *  of it. NULL does nothing. */
void cudaenc_decoder_close(CudaencDecoder *decoder);

/** As cudaenc_stage_times(). */
int cudaenc_decoder_stage_times(const CudaencDecoder *decoder, CudaencStageTime *times, int capacity);

/* ---- Recoding of JPEG 2000 without loss */

typedef struct CudaencJ2kRecode {
    size_t struct_size CUDAENC_SIZE_OF(CudaencJ2kRecode);
    const uint8_t *data; /**< a codestream, a JP2 or JPH file, or two fields */
    size_t size;         /**< bytes */
    int htj2k;           /**< 1: to HTJ2K; 0: to Part 1, without style of code-blocks but vertically causal contexts */
    int threads;         /**< of the CPU; 0: one per core; 0..1024 */
    uint8_t *bytes;      /**< gets the packet */
    size_t capacity;     /**< bytes that there is room for; twice the size is nearly always enough */
    CudaencLog log;      /**< may be NULL; gets what is not kept, as a warning */
    void *log_opaque;
} CudaencJ2kRecode;

/** Codes the code-blocks of a picture anew, from Part 1 to HTJ2K or back: no wavelet and no samples. Coefficients stay
 * as they are, also where a code-block ends within a bit-plane, and so do headers and boxes, but for what tells of the
 * coder. With several layers a code-block is in the last one that had bytes of it. A packet may hold two fields.
 * Any thread, on the CPU. No pointer may be NULL, nor data, nor bytes. Its threads are started and ended: for many
 * pictures there is a recoder.
 *  @return CUDAENC_OK and *bytes, the packet's size; CUDAENC_ERR_INVALID where the capacity is too small, then with
 * *bytes that it takes, or where the data are damaged; CUDAENC_ERR_UNSUPPORTED for more than 100
 * layers */
int cudaenc_j2k_recode(const CudaencJ2kRecode *recode, size_t *bytes);

typedef struct CudaencJ2kRecoderConfig {
    size_t struct_size; /**< the caller's sizeof(CudaencJ2kRecoderConfig), set by cudaenc_j2k_recoder_defaults() */
    int htj2k;          /**< as of CudaencJ2kRecode; 0 or 1, default 1 */
    int threads;        /**< of the CPU; 0: one per core; 0..1024, default 0 */
    CudaencLog log;     /**< may be NULL; gets what is not kept, as a warning that is said once */
    void *log_opaque;
} CudaencJ2kRecoderConfig;
/** As cudaenc_config_init(). */
int cudaenc_j2k_recoder_init(CudaencJ2kRecoderConfig *config, size_t struct_size);
static inline int cudaenc_j2k_recoder_defaults(CudaencJ2kRecoderConfig *config) {
    return cudaenc_j2k_recoder_init(config, sizeof(*config));
}

/** Recodes packets as cudaenc_j2k_recode(), on threads of its own. It is used by one thread at a time. */
typedef struct CudaencJ2kRecoder CudaencJ2kRecoder;

/** Opens a recoder. Any thread. Neither pointer may be NULL. @return as cudaenc_open() */
int cudaenc_j2k_recoder_open(CudaencJ2kRecoder **recoder, const CudaencJ2kRecoderConfig *config);

/** Recodes a packet, and returns once it is there. No pointer may be NULL.
 *  @return CUDAENC_OK and *bytes, the recoder's until its next call, and their *count; or an error as of
 * cudaenc_j2k_recode(), *bytes NULL and *count 0. The next packet may follow */
int cudaenc_j2k_recoder_recode(CudaencJ2kRecoder *recoder, const uint8_t *data, size_t size, const uint8_t **bytes,
                               size_t *count);

/** Frees the recoder. NULL does nothing. */
void cudaenc_j2k_recoder_close(CudaencJ2kRecoder *recoder);

/* ---- Frames of R, G and B as planes of Y, Cb and Cr */

typedef enum CudaencSampleType {
    CUDAENC_SAMPLE_UINT8,   /**< 0 to 255 */
    CUDAENC_SAMPLE_FLOAT16, /**< of IEEE 754, 0 to 1 */
    CUDAENC_SAMPLE_FLOAT32, /**< the same */
} CudaencSampleType;

typedef struct CudaencConverterConfig {
    size_t struct_size; /**< the caller's sizeof(CudaencConverterConfig), set by cudaenc_converter_defaults() */
    const char *device; /**< of frames in device memory: auto, cuda or cuda:N; default "auto" */
    int device_memory;  /**< 1: frames and planes are in CUDA device memory of cuda_context, and a GPU converts them;
                             0: they are in the host's, and the CPU does; default 0 */
    void *cuda_context; /**< CUcontext to run in, NULL: the primary context of the device that `device` names */
    int threads;        /**< of the CPU; 0: one per core; 0..1024, default 0 */
    CudaencLog log;     /**< may be NULL */
    void *log_opaque;
} CudaencConverterConfig;
/** As cudaenc_config_init(). */
int cudaenc_converter_init(CudaencConverterConfig *config, size_t struct_size);
static inline int cudaenc_converter_defaults(CudaencConverterConfig *config) {
    return cudaenc_converter_init(config, sizeof(*config));
}

typedef struct CudaencRgbFrames {
    size_t struct_size CUDAENC_SIZE_OF(CudaencRgbFrames);
    const void *samples;      /**< R of the first sample, at a multiple of a sample's size */
    int type;                 /**< a CudaencSampleType */
    int count, height, width; /**< frames, rows and columns; 0..65535, the latter two at least 1 */
    int channels;             /**< 1: gray; 3 or 4: R, G, B and what is left out */
    ptrdiff_t step[4];        /**< bytes from a frame, row, column and channel to the next one; any multiples of a
                                   sample's size */
    double kr, kb;            /**< what R and B are of Y, such as 0.2126 and 0.0722 of BT.709 */
    int full_range;           /**< 1: Y is 0 to 255; 0: 16 to 235 */
    void *cuda_stream;        /**< in device memory: CUstream whose queued work comes first; NULL: the default one */
    uint8_t *planes[3];       /**< get Y, Cb and Cr of yuv420p, [count][rows][columns] without gaps; odd rows and
                                   columns of the frames are even ones here, with the last ones twice */
} CudaencRgbFrames;

/** Converts frames; used by one thread at a time. */
typedef struct CudaencConverter CudaencConverter;

/** Opens a converter. Any thread. Neither pointer may be NULL. @return as cudaenc_open() */
int cudaenc_converter_open(CudaencConverter **converter, const CudaencConverterConfig *config);

/** Converts frames, and returns once the planes are there, within one of the exact values (ITU-T H.273, 8.3); chroma is
 *  the mean of 2x2 samples. No pointer may be NULL, nor samples, nor planes.
 *  @return CUDAENC_OK; CUDAENC_ERR_INVALID, also where a sample is not 0 to 1, then with planes of any content; or an
 *  error of the device */
int cudaenc_convert(CudaencConverter *converter, const CudaencRgbFrames *frames);

/** Frees the converter. NULL does nothing. */
void cudaenc_converter_close(CudaencConverter *converter);

/* ---- CAVLC of other formats
 *
 * The entropy coder of H.264 (ITU-T H.264, 9.2) for quantised coefficients of another format: a plane of 4x4 blocks
 * becomes bits, each block as residual_block_cavlc() has it (7.3.5.3.2). A block's coefficients come row by row, and
 * the library takes them in zigzag order (6.4.3), or in the order of the scan. There are at most 2^26 blocks. The nC of
 * a block is that of 9.2.1, of its neighbours to the left and above in the plane. A coder is used by one thread at a
 * time. */

typedef struct CudaencCavlcConfig {
    size_t struct_size; /**< the caller's sizeof(CudaencCavlcConfig), set by cudaenc_cavlc_defaults() */
    const char *device; /**< Where to code: auto (a GPU, else the CPU), cpu, cuda or cuda:N; default "auto" */
    int device_memory;  /**< 1: coefficients, bytes and lengths are in CUDA device memory of cuda_context */
    void *cuda_context; /**< CUcontext to run in, NULL: the primary context of the device that `device` names */
    int columns;        /**< Blocks in a row; 1..65536, default 1 */
    int rows;           /**< Rows of blocks; 1..65536, default 1 */
    int scanned;        /**< Coefficients come in the order of the scan; 0 or 1, default 0 */
    int without_dc;     /**< The first coefficient of a block is not coded; 0 or 1, default 0 */
    CudaencLog log;     /**< may be NULL */
    void *log_opaque;
} CudaencCavlcConfig;
/** As cudaenc_config_init(). */
int cudaenc_cavlc_init(CudaencCavlcConfig *config, size_t struct_size);
static inline int cudaenc_cavlc_defaults(CudaencCavlcConfig *config) {
    return cudaenc_cavlc_init(config, sizeof(*config));
}

typedef struct CudaencCavlcPlane {
    size_t struct_size CUDAENC_SIZE_OF(CudaencCavlcPlane);
    const int16_t *coefficients; /**< [rows][columns][16], any values; in device memory at a multiple of 16 bytes.
                                      Levels beyond 2063 have a level_prefix above 15, which profiles below High lack */
    void *cuda_stream;           /**< in device memory: CUstream whose queued work makes them; NULL: the default one */
    uint8_t *bytes;              /**< gets the bits of all blocks, one behind the other, the first one the highest of
                                      a byte; zeros fill the last 32 bits. In device memory at a multiple of 4 bytes */
    size_t capacity;             /**< bytes that there is room for; 74 a block, and 4, are always enough */
    uint16_t *lengths;           /**< [rows][columns]: gets the bits of each block; NULL: not wanted */
} CudaencCavlcPlane;

typedef struct CudaencCavlc CudaencCavlc;

/** Opens a coder. Any thread. Neither pointer may be NULL. @return as cudaenc_open() */
int cudaenc_cavlc_open(CudaencCavlc **coder, const CudaencCavlcConfig *config);

/** Codes a plane, and returns once its bits are there. No pointer may be NULL, nor coefficients, nor bytes.
 *  @return CUDAENC_OK and *bits, the bits of all blocks; CUDAENC_ERR_INVALID where the capacity is too small: then
 *  *bits and the lengths are right, and no bytes are written; or another error, and *bits 0 */
int cudaenc_cavlc_code(CudaencCavlc *coder, const CudaencCavlcPlane *plane, uint64_t *bits);

/** Frees the coder. NULL does nothing. */
void cudaenc_cavlc_close(CudaencCavlc *coder);

#ifdef __cplusplus
}
#endif
#endif
