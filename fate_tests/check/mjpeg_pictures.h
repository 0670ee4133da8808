// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that JPEG takes, and encodes of them through the C API. Include it last, as testing.h.
#pragma once
#include <string>
#include <vector>

#include "jpeg_decoder.h"
#include "pictures.h"

namespace cudaenc::testing {

struct JpegFormat {
    const char *name;
    CudaencColorModel model;
    int log2_x, log2_y;  // of Cb and Cr
    enum { planar, semi_planar, packed } layout;
};
inline constexpr JpegFormat jpeg_formats[] = {
    {"gray", CUDAENC_COLOR_GRAY, 0, 0, JpegFormat::planar},
    {"yuv444p", CUDAENC_COLOR_YUV, 0, 0, JpegFormat::planar},
    {"yuv422p", CUDAENC_COLOR_YUV, 1, 0, JpegFormat::planar},
    {"yuv420p", CUDAENC_COLOR_YUV, 1, 1, JpegFormat::planar},
    {"yuv440p", CUDAENC_COLOR_YUV, 0, 1, JpegFormat::planar},
    {"yuv411p", CUDAENC_COLOR_YUV, 2, 0, JpegFormat::planar},
    {"yuv410p", CUDAENC_COLOR_YUV, 2, 2, JpegFormat::planar},
    {"nv12", CUDAENC_COLOR_YUV, 1, 1, JpegFormat::semi_planar},
    {"nv16", CUDAENC_COLOR_YUV, 1, 0, JpegFormat::semi_planar},
    {"nv24", CUDAENC_COLOR_YUV, 0, 0, JpegFormat::semi_planar},
    {"gbrp", CUDAENC_COLOR_RGB, 0, 0, JpegFormat::planar},
    {"rgb24", CUDAENC_COLOR_RGB, 0, 0, JpegFormat::packed},
};

inline CudaencFormat make_jpeg_format(const JpegFormat &of, int width, int height) {
    const int components = of.model == CUDAENC_COLOR_GRAY ? 1 : 3;
    CudaencFormat format = make_format(width, height, components, 8, of.layout == JpegFormat::packed, of.model);
    format.has_alpha = 0;
    format.full_range = 1;
    for (int c = 1; c < components; c++) {
        CudaencComponent &k = format.component[c];
        k.log2_subsample_x = of.log2_x, k.log2_subsample_y = of.log2_y;
        if (of.layout == JpegFormat::semi_planar) k.plane = 1, k.offset = c - 1, k.step = 2;
    }
    if (of.layout == JpegFormat::semi_planar) format.planes = 2;
    return format;
}

// One of jpeg_formats, or Cb and Cr of any sampling that is allowed, each of its own.
inline CudaencFormat random_jpeg_format(Random &random, int longest) {
    CudaencFormat format =
        make_jpeg_format(random.of(jpeg_formats), random.between(1, longest), random.between(1, longest));
    if (format.planes == 3 && random.one_in(3))
        for (int c = 1; c < 3; c++) {
            format.component[c].log2_subsample_x = random.between(0, 2);
            format.component[c].log2_subsample_y = random.between(0, 2);
        }
    format.full_range = random.between(0, 1);
    return format;
}

// What options point to.
struct JpegTexts {
    uint16_t luma[64], chroma[64];
    std::string comment;
};

// Options at random, all of them allowed.
inline CudaencMjpegOptions random_jpeg_options(Random &random, const CudaencFormat &format, JpegTexts &texts) {
    CudaencMjpegOptions o;
    cudaenc_mjpeg_defaults(&o);
    o.quality = random.between(1, 100);
    o.huffman = random.between(0, 1);
    const int intervals[] = {0, 0, -1, 1, 2, random.between(3, 40), 65535};
    o.restart_interval = random.of(intervals);
    const bool one_size = !format.component[1].log2_subsample_x && !format.component[1].log2_subsample_y &&
                          !format.component[2].log2_subsample_x && !format.component[2].log2_subsample_y;
    o.mct = format.color_model == CUDAENC_COLOR_RGB && one_size && random.one_in(2);
    for (int i = 0; i < 64; i++) {
        texts.luma[i] = static_cast<uint16_t>(random.between(1, 255));
        texts.chroma[i] = static_cast<uint16_t>(random.between(1, 255));
    }
    if (random.one_in(4)) o.luma_matrix = texts.luma;
    if (random.one_in(4)) o.chroma_matrix = texts.chroma;
    if (!o.luma_matrix && !o.chroma_matrix) o.matrix = random.between(0, 2);
    o.trellis = random.between(0, 1);
    if (random.one_in(4)) {
        o.frame_bytes = 1 << random.between(4, 16);
        o.quality_min = random.between(1, 100);
        o.quality_max = random.between(o.quality_min, 100);
    }
    texts.comment.assign(random.below(40), 'c');
    if (random.one_in(2)) o.comment = texts.comment.c_str();
    return o;
}

inline std::string describe_jpeg(const CudaencConfig &config) {
    const CudaencFormat &f = config.format;
    const CudaencMjpegOptions &o = config.mjpeg;
    return format_string(
        "%dx%d, %d components in %d planes, Cb 2^%d, 2^%d; quality %d, huffman %d, restart_interval %d, mct %d, "
        "frame_bytes %lld, quality_min %d, quality_max %d, matrices %d %d, matrix %d, trellis %d",
        f.width, f.height, f.components, f.planes, f.component[1].log2_subsample_x, f.component[1].log2_subsample_y,
        o.quality, o.huffman, o.restart_interval, o.mct, static_cast<long long>(o.frame_bytes), o.quality_min,
        o.quality_max, o.luma_matrix != nullptr, o.chroma_matrix != nullptr, o.matrix, o.trellis);
}

inline CudaencConfig make_jpeg_config(const CudaencFormat &format, const char *device, Log *log) {
    CudaencConfig config = make_config(format, device, log);
    config.codec = CUDAENC_CODEC_MJPEG;
    return config;
}

inline std::vector<uint8_t> encode_jpeg(const CudaencConfig &config, const CudaencFrame &frame) {
    CudaencSession *session;
    Log &log = *static_cast<Log *>(config.log_opaque);
    const int opened = cudaenc_open(&session, &config);
    EXPECT(opened == CUDAENC_OK, "open: %d %s", opened, log.lines.empty() ? "" : log.lines[0].c_str());
    EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
    cudaenc_flush(session);
    CudaencPacket packet;
    const int received = cudaenc_receive(session, &packet);
    EXPECT(received == CUDAENC_OK, "receive: %d %s", received, log.lines.empty() ? "" : log.lines[0].c_str());
    std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
    for (int i = 0; i < CUDAENC_PACKET_PADDING; i++) EXPECT(packet.data[packet.size + i] == 0, "padding");
    cudaenc_buffer_free(packet.buffer);
    cudaenc_close(session);
    return bytes;
}

}  // namespace cudaenc::testing
