/*
 * cudaenc: GPU video encoders. The public C API; the only header that FFmpeg's glue and C programs include.
 * Copyright (c) 2026 the cudaenc developers. SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A session encodes frames of one format with one set of options. cudaenc_open() -> { cudaenc_submit() ->
 * cudaenc_receive() }* -> cudaenc_flush() -> cudaenc_receive() until CUDAENC_EOF -> cudaenc_close().
 * Up to async_depth frames are in flight; packets leave in the order in which frames came in.
 * A session is used by one thread at a time; different sessions are independent. Buffers of packets may be freed by any
 * thread, also after cudaenc_close().
 * The same input and options give the same bytes on every device, for every thread count and async depth.
 */
#ifndef CUDAENC_H
#define CUDAENC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDAENC_VERSION_MAJOR 0
#define CUDAENC_VERSION_MINOR 1
#define CUDAENC_VERSION_PATCH 0
/** Major in bits 16 and up, minor in bits 8 to 15, patch in bits 0 to 7. */
#define CUDAENC_VERSION ((CUDAENC_VERSION_MAJOR << 16) | (CUDAENC_VERSION_MINOR << 8) | CUDAENC_VERSION_PATCH)

/** The version of the library that is linked, in the form of CUDAENC_VERSION. */
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
/** A short English sentence for an error code. */
const char *cudaenc_error_string(int code);

typedef enum CudaencCodec {
    CUDAENC_CODEC_J2K = 1,   /**< JPEG 2000 Part 1, ITU-T T.800. */
    CUDAENC_CODEC_MJPEG = 2, /**< JPEG, baseline, ITU-T T.81: a picture a packet. */
    CUDAENC_CODEC_H264 = 3,  /**< H.264, ITU-T H.264: IDR pictures of I slices with CAVLC, a picture a packet. */
} CudaencCodec;

typedef enum CudaencLogLevel {
    CUDAENC_LOG_ERROR,
    CUDAENC_LOG_WARNING,
    CUDAENC_LOG_INFO,
    CUDAENC_LOG_VERBOSE
} CudaencLogLevel;
/** Gets one line without a newline; called on the thread that called the library. */
typedef void (*CudaencLog)(void *opaque, CudaencLogLevel level, const char *line);

typedef enum CudaencColorModel {
    CUDAENC_COLOR_GRAY,
    CUDAENC_COLOR_YUV,
    CUDAENC_COLOR_RGB,
    CUDAENC_COLOR_XYZ,
} CudaencColorModel;

/** Where a component's samples lie: sample (x, y) is (word >> shift) of `depth` bits, the word at
 *  data[plane] + y * stride[plane] + offset + x * step; it has two bytes, of the host's order, where
 *  depth + shift > 8, and an even address then, else one. Components are in the order R G B, Y Cb Cr, X Y Z or gray,
 * then alpha. */
typedef struct CudaencComponent {
    int plane;
    int offset;           /**< bytes */
    int step;             /**< bytes from a sample to its right neighbour */
    int shift;            /**< bits */
    int depth;            /**< bits, 1 to 16 */
    int log2_subsample_x; /**< the component has ceil(width / 2^log2_subsample_x) columns */
    int log2_subsample_y;
} CudaencComponent;

typedef struct CudaencFormat {
    int width, height; /**< of the picture, in samples of its densest component */
    int components;    /**< 1 to 4 */
    int planes;        /**< 1 to 4 */
    CudaencComponent component[4];
    CudaencColorModel color_model;
    int has_alpha;       /**< the last component is alpha */
    int full_range;      /**< of YUV and gray: 1 full (JPEG), 0 limited */
    int color_primaries; /**< ITU-T H.273 code points, 2 unspecified */
    int color_transfer;
    int color_matrix;
} CudaencFormat;

/* Options of CUDAENC_CODEC_J2K. The names are those of the options that messages name. */
typedef enum CudaencJ2kFileFormat { CUDAENC_J2K_CODESTREAM, CUDAENC_J2K_JP2 } CudaencJ2kFileFormat;
typedef enum CudaencJ2kWavelet { CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53 } CudaencJ2kWavelet;
typedef enum CudaencJ2kProgression {
    CUDAENC_J2K_LRCP,
    CUDAENC_J2K_RLCP,
    CUDAENC_J2K_RPCL,
    CUDAENC_J2K_PCRL,
    CUDAENC_J2K_CPRL,
} CudaencJ2kProgression;

/** Code-block styles, ITU-T T.800 Table A.19. */
typedef enum CudaencJ2kStyle {
    CUDAENC_J2K_BYPASS = 1,  /**< from the fifth bit-plane on only clean-up passes are arithmetic coded */
    CUDAENC_J2K_RESET = 2,   /**< contexts begin anew with each pass */
    CUDAENC_J2K_TERMALL = 4, /**< a codeword segment for each pass */
    CUDAENC_J2K_VSC = 8,     /**< vertically causal contexts */
    CUDAENC_J2K_ERTERM = 16, /**< predictable termination of segments */
    CUDAENC_J2K_SEGSYM = 32, /**< segmentation symbols */
} CudaencJ2kStyle;
/* Flags: where a tile-part ends. */
typedef enum CudaencJ2kTileParts {
    CUDAENC_J2K_TILE_PART_RESOLUTION = 1, /**< where the resolution changes from a packet to the next */
    CUDAENC_J2K_TILE_PART_COMPONENT = 2,  /**< where the component does */
} CudaencJ2kTileParts;

/* How the size of a frame is kept to what is asked for. */
typedef enum CudaencJ2kRateControl {
    CUDAENC_J2K_RATE_NONE, /**< it is not: quality alone decides */
    CUDAENC_J2K_RATE_PCRD, /**< all is coded, then cut where the least quality is lost for the bytes (PCRD-opt) */
    CUDAENC_J2K_RATE_PST, /**< the same, but passes with smaller slopes than an earlier frame's last ones are not coded:
                               of the frame async_depth before */
    CUDAENC_J2K_RATE_PSB, /**< the same, but code-blocks are coded no further where the budget has no room for it */
    CUDAENC_J2K_RATE_BPI, /**< the same, but nothing is coded further once there are more bytes than the budget */
    CUDAENC_J2K_RATE_PSP, /**< the same, but what would be cut, by an estimate from the frame's coefficients, is not
                               coded at all (parallel slope prediction) */
} CudaencJ2kRateControl;

/* Restrictions that an application makes (Rsiz), with their levels. Options that are left open follow them, others are
 * refused where they do not comply; a frame that is larger than its profile and level allow is cut. */
typedef enum CudaencJ2kProfile {
    CUDAENC_J2K_NO_PROFILE,
    CUDAENC_J2K_CINEMA_2K, /**< digital cinema, DCP */
    CUDAENC_J2K_CINEMA_4K,
    CUDAENC_J2K_IMF_2K, /**< IMF Application 2E: 9/7, one tile */
    CUDAENC_J2K_IMF_4K,
    CUDAENC_J2K_IMF_8K,
    CUDAENC_J2K_IMF_2K_R, /**< 5/3 */
    CUDAENC_J2K_IMF_4K_R,
    CUDAENC_J2K_IMF_8K_R,
    CUDAENC_J2K_BROADCAST, /**< broadcast contribution: one or four tiles, 9/7 or 5/3 */
} CudaencJ2kProfile;

typedef struct CudaencJ2kOptions {
    int profile;    /**< CudaencJ2kProfile; default none */
    int main_level; /**< of IMF 1..11, of broadcast 1..7; 0 (default): the lowest one that has the samples a second */
    int sub_level;  /**< of IMF, 0..9: limits the bit rate; 0 (default): does not */
    int frame_rate_num, frame_rate_den; /**< frames/s; 0/x (default): unknown, not allowed with a profile */
    int format;       /**< CudaencJ2kFileFormat; -1 (default): jp2; with a profile the bare codestream */
    int tile_width;   /**< samples, 0: as wide as the picture (default) */
    int tile_height;  /**< samples, 0: as high as the picture (default) */
    int pred;         /**< CudaencJ2kWavelet; dwt53 is lossless; -1 (default): dwt97, or what the profile demands */
    int quality;      /**< 1..100, Q-factor of dwt97; -1 (default): 90, with a target 100; dwt53 does not use it */
    int rate_control; /**< CudaencJ2kRateControl; -1 (default): none without a target, else PSP */
    /* The target: one of these, others 0. A frame's packet takes at most that, and, where the picture has that much to
     * give, at least 99.5 % of it. */
    int64_t bit_rate;         /**< bits/s, a frame has its share by the frame rate */
    int64_t frame_bytes;      /**< bytes of a packet */
    double compression_ratio; /**< bytes of the samples as they are over bytes of a packet */
    double psnr;              /**< dB, 1..150: each frame has that, and at most 0.04 more, in as few bytes as it takes;
                                   of all samples of all components alike, in parts of 2^depth - 1 */
    const char *layer_rates;  /**< "R0,R1,...": compression ratios up to each quality layer, falling; 1: no limit.
                                   `layers` follows. NULL or "" (default): none */
    int levels;               /**< decompositions, 0..32; -1 (default): 5, or as many as the profile allows */
    int cblk_width;           /**< power of two, 4..1024; width x height at most 4096; default 32 */
    int cblk_height;
    int cblk_style;        /**< sum of CudaencJ2kStyle; default 0 */
    const char *precincts; /**< "WxH[,WxH...]", powers of two, highest resolution first, the last one repeats; NULL or
                                "" (default): 32768x32768, or what the profile demands */
    int layers; /**< quality layers, 1..100; default 1. Without layer_rates each has cuts of four times the slope of
                     the next one's, as a bit-plane less has */
    int prog;   /**< CudaencJ2kProgression; -1 (default): LRCP, with a profile CPRL */
    const char *roi; /**< "X,Y,WIDTH,HEIGHT", region of interest, in samples of the picture: it comes before all
                          else in quality, by max-shift; NULL or "": none (default) */
    const char *poc; /**< progression order changes, "RS,CS,LYE,RE,CE,ORDER[/...]": from resolution RS and
                          component CS to those before RE and CE, layers before LYE, in an order named as lrcp;
                          they hold for all tiles instead of prog. NULL or "" (default): none, or what the
                          profile demands */
    int tile_parts;  /**< CudaencJ2kTileParts; 0 (default): one a tile, with a profile one a component */
    int mct; /**< component transform of the first three components: -1 auto (on for RGB and digital cinema; default),
                0, 1 */
    int guard_bits;      /**< 1..7; -1 (default): 2, or what the profile demands */
    int sop;             /**< 1: SOP marker segment before each packet; default 0 */
    int eph;             /**< 1: EPH marker after each packet header; default 0 */
    int tlm;             /**< 1: TLM marker segments in the main header; -1 (default): with a profile */
    int plt;             /**< 1: PLT marker segments in the tile-part headers; default 0 */
    const char *comment; /**< text of a COM marker segment; NULL: the library's name and version; "": none */
} CudaencJ2kOptions;
/** Fills in the defaults. */
void cudaenc_j2k_defaults(CudaencJ2kOptions *options);

/* Options of CUDAENC_CODEC_MJPEG. Formats: 8 bits; gray, YUV or RGB, no alpha. */
typedef enum CudaencMjpegHuffman {
    CUDAENC_MJPEG_HUFFMAN_DEFAULT, /**< the tables of Annex K */
    CUDAENC_MJPEG_HUFFMAN_OPTIMAL, /**< made for each picture */
} CudaencMjpegHuffman;

typedef struct CudaencMjpegOptions {
    int quality; /**< 1..100, scales the matrices as libjpeg does, 50 takes them as they are; default 90 */
    const uint16_t *luma_matrix;   /**< 64 divisors, 1..255, by rows, also of RGB and gray; NULL: Annex K's (default) */
    const uint16_t *chroma_matrix; /**< of Cb and Cr */
    int huffman;                   /**< CudaencMjpegHuffman; default optimal */
    int restart_interval;          /**< MCUs between restart markers, 0..65535; 0: none (default); -1: a row of them */
    int mct;                       /**< RGB: 0 stays RGB, told by an Adobe marker (default); 1 becomes YCbCr, 4:4:4 */
    int64_t frame_bytes;          /**< size of each packet, met by choosing the quality; 0: `quality` holds (default) */
    int quality_min, quality_max; /**< what frame_bytes chooses from, 1..100; default 1 and 100 */
    const char *comment;          /**< text of a COM marker segment; NULL: the library's name and version; "": none */
} CudaencMjpegOptions;
/** Fills in the defaults. */
void cudaenc_mjpeg_defaults(CudaencMjpegOptions *options);

/* Options of CUDAENC_CODEC_H264. Formats: 8 or 10 bits; gray, or YUV of 4:2:0, 4:2:2 or 4:4:4, no alpha. */
typedef enum CudaencH264Profile {
    CUDAENC_H264_AUTO_PROFILE, /**< the first one below that has the format; not Baseline nor Main */
    CUDAENC_H264_CONSTRAINED_BASELINE,
    CUDAENC_H264_MAIN,
    CUDAENC_H264_HIGH,
    CUDAENC_H264_HIGH_10_INTRA,
    CUDAENC_H264_HIGH_422_INTRA,
    CUDAENC_H264_CAVLC_444_INTRA,
} CudaencH264Profile;
typedef enum CudaencH264RateControl {
    CUDAENC_H264_CONSTANT_QP,
    CUDAENC_H264_CONSTANT_QUALITY,
    CUDAENC_H264_BIT_RATE,
} CudaencH264RateControl;

/** Writes `size` bytes of a cipher's keystream, those of a picture, whose number is counted from 0 on. Called by
 *  cudaenc_submit(). */
typedef void (*CudaencKeystream)(void *opaque, uint64_t picture, uint8_t *bytes, size_t size);

typedef struct CudaencH264Options {
    int profile;      /**< CudaencH264Profile; default auto */
    int level;        /**< ten times the level, 10..62; 0 (default): the lowest one that size and rates allow */
    int slices;       /**< a picture, of whole rows of macroblocks; 0 (default): as few as the level allows */
    int rate_control; /**< CudaencH264RateControl; default constant quality */
    int qp;           /**< QP of constant QP, and of constant quality where nothing is adapted; -12 (8 bits: 0)..51;
                           default 20 */
    int aq;           /**< adaptive quantisation: by how many 1/256 QP changes where a macroblock's variance doubles,
                           0..1024; -1 (default): 256, but 0 with constant QP */
    int effort;       /**< how hard modes and levels are looked for, 1 to 3; default 2 */
    int64_t bit_rate; /**< bits/s, of CUDAENC_H264_BIT_RATE */
    int64_t max_rate; /**< bits/s into the decoder's buffer; 0 (default): none, or bit_rate where there is a buffer */
    int64_t buffer_size; /**< bits, of the decoder's buffer, which never runs out; 0 (default): none, or a second of
                              max_rate */
    int cbr;             /**< 1: filler data keeps the rate at bit_rate; default 0 */
    int hrd;             /**< 1: the stream tells of the buffer: HRD parameters, buffering periods, picture timing;
                              default 0; rates and sizes are rounded to what these can say */
    int qp_min, qp_max;  /**< what the rate control chooses from; default -12 and 51. Buffers come before qp_max */
    int deblock;         /**< 1: decoders run the deblocking filter; default 0 */
    int aud;             /**< 1: access unit delimiters; default 0 */
    int repeat_headers;  /**< 1: parameter sets are in every packet (default); 0: in cudaenc_extradata() only */
    int timecodes;       /**< 1: the stream tells that frames have timecodes; default 0: theirs are not written */
    int frame_rate_num, frame_rate_den;       /**< frames/s; 0/x (default): unknown, not allowed with rates */
    int sample_aspect_num, sample_aspect_den; /**< 0/x (default): unknown */
    CudaencKeystream keystream; /**< signs of levels turn by it, any decoder shows a scrambled picture; NULL (default):
                                     none. 2 bytes for each block of 16 levels that a picture of this format can have,
                                     filled up to 16 */
    void *keystream_opaque;
    int chroma_location; /**< chroma_sample_loc_type of 4:2:0, 0..5; -1 (default): not told */
} CudaencH264Options;
/** Fills in the defaults. */
void cudaenc_h264_defaults(CudaencH264Options *options);

typedef struct CudaencConfig {
    size_t struct_size; /**< sizeof(CudaencConfig), set by cudaenc_config_defaults() */
    CudaencCodec codec;
    CudaencFormat format;
    const char *device; /**< "auto" (default), "cpu", "cuda", "cuda:N" */
    int device_frames;  /**< 1: frames are in CUDA device memory of cuda_context */
    void *cuda_context; /**< CUcontext to run in, NULL: the primary context of the device that `device` names.
                             The caller keeps it alive until the session is closed and its buffers are freed. */
    int async_depth;    /**< frames in flight, 1..64; default 4 */
    int threads;        /**< of the CPU device; 0 (default): one per core */
    int stage_times;    /**< 1: measure every stage, see cudaenc_stage_times(); default 0 */
    CudaencLog log;     /**< may be NULL */
    void *log_opaque;
    CudaencJ2kOptions j2k;     /**< of CUDAENC_CODEC_J2K */
    CudaencMjpegOptions mjpeg; /**< of CUDAENC_CODEC_MJPEG */
    CudaencH264Options h264;   /**< of CUDAENC_CODEC_H264 */
} CudaencConfig;
void cudaenc_config_defaults(CudaencConfig *config, CudaencCodec codec);

/* What CUDAENC_CODEC_H264 writes as SEI messages. */
typedef struct CudaencTimecode { /**< SMPTE ST 12-1 */
    int hours, minutes, seconds, frames;
    int drop_frame;
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

typedef struct CudaencFrame {
    const uint8_t *data[4]; /**< planes; must stay valid and unchanged until the frame's packet was received, or the
                                 session was closed */
    ptrdiff_t stride[4];    /**< bytes; may be negative for frames in host memory */
    void *cuda_stream;      /**< frames in device memory: CUstream whose queued work makes the frame; NULL: the default
                                 stream */
    void *opaque;           /**< comes back with the packet */
    const uint8_t *icc_profile; /**< embedded where the file format can hold it; copied by cudaenc_submit() */
    size_t icc_profile_size;
    int sample_aspect_num, sample_aspect_den; /**< 0/x: unknown */
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
} CudaencFrame;

typedef struct CudaencBuffer CudaencBuffer;

/** Bytes after a packet's data that are readable and zero. */
#define CUDAENC_PACKET_PADDING 64

typedef struct CudaencPacket {
    const uint8_t *data;
    size_t size;           /**< bytes */
    void *opaque;          /**< the frame's */
    CudaencBuffer *buffer; /**< owns data; cudaenc_buffer_free() it */
} CudaencPacket;

typedef struct CudaencSession CudaencSession;

/** Opens a session: checks options and format, takes the device, allocates what all frames in flight need.
 *  @return CUDAENC_OK, or an error and *session NULL; the log has said why. */
int cudaenc_open(CudaencSession **session, const CudaencConfig *config);

/** "cpu, 16 threads" or "cuda:0 NVIDIA H200, sm_90": what runs. Valid until the session is closed. */
const char *cudaenc_device_name(const CudaencSession *session);

/** What decoders need before the first packet: parameter sets of H.264, as a byte stream. NULL: nothing. Valid until
 * the session is closed. */
const uint8_t *cudaenc_extradata(const CudaencSession *session, size_t *size);

/** Starts encoding a frame; does not wait for it. @return CUDAENC_OK, CUDAENC_AGAIN when async_depth frames are in
 * flight, or an error of this frame. */
int cudaenc_submit(CudaencSession *session, const CudaencFrame *frame);

/** Takes the oldest frame's packet and waits for it when the ring is full or the session is flushed.
 *  @return CUDAENC_OK, CUDAENC_AGAIN, CUDAENC_EOF, or an error of the oldest frame, which leaves the ring with
 *  packet->opaque set and packet->buffer NULL. */
int cudaenc_receive(CudaencSession *session, CudaencPacket *packet);

/** No frame follows: receive gives the packets in flight, then CUDAENC_EOF. The next submit starts anew. */
void cudaenc_flush(CudaencSession *session);

/** Drops the frames in flight (after waiting for the device) and frees the session. NULL does nothing. */
void cudaenc_close(CudaencSession *session);

void cudaenc_buffer_free(CudaencBuffer *buffer);

typedef struct CudaencStageTime {
    const char *name;
    double milliseconds; /**< sum over the frames received since the session was opened */
    int frames;
} CudaencStageTime;
/** Copies at most `capacity` rows. @return how many stages there are; 0 unless CudaencConfig.stage_times was set. */
int cudaenc_stage_times(const CudaencSession *session, CudaencStageTime *times, int capacity);

#ifdef __cplusplus
}
#endif
#endif
