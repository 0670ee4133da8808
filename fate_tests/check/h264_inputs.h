// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that H.264 takes, and options at random, for the C API. Include it last, as testing.h.
#pragma once
#include <algorithm>
#include <string>

#include "../../common/h264/syntax/macroblock.h"
#include "pictures.h"

namespace cudaenc::testing {

struct H264Format {
    const char *name;
    h264::ChromaFormat chroma;
    int depth;
    bool interleaved;
};
inline constexpr H264Format h264_inputs[] = {
    {"yuv420p", h264::ChromaFormat::c420, 8, false},    {"yuv422p", h264::ChromaFormat::c422, 8, false},
    {"yuv444p", h264::ChromaFormat::c444, 8, false},    {"gray", h264::ChromaFormat::c400, 8, false},
    {"yuv420p10", h264::ChromaFormat::c420, 10, false}, {"yuv422p10", h264::ChromaFormat::c422, 10, false},
    {"yuv444p10", h264::ChromaFormat::c444, 10, false}, {"gray10", h264::ChromaFormat::c400, 10, false},
    {"nv12", h264::ChromaFormat::c420, 8, true},        {"nv16", h264::ChromaFormat::c422, 8, true},
    {"p010", h264::ChromaFormat::c420, 10, true},       {"p210", h264::ChromaFormat::c422, 10, true},
};

inline CudaencFormat make_h264_format(const H264Format &of, int width, int height) {
    const bool gray = of.chroma == h264::ChromaFormat::c400;
    CudaencFormat f =
        make_format(width, height, gray ? 1 : 3, of.depth, false, gray ? CUDAENC_COLOR_GRAY : CUDAENC_COLOR_YUV);
    f.has_alpha = 0;
    for (int c = 0; c < f.components; c++) {
        CudaencComponent &k = f.component[c];
        if (c)
            k.log2_subsample_x = of.chroma != h264::ChromaFormat::c444,
            k.log2_subsample_y = of.chroma == h264::ChromaFormat::c420;
        if (!of.interleaved) continue;
        if (of.depth == 10) k.shift = 6;
        if (c) k.plane = 1, k.step *= 2, k.offset = c == 2 ? k.step / 2 : 0;
    }
    if (of.interleaved) f.planes = 2;
    return f;
}

inline CudaencConfig make_h264_config(const CudaencFormat &format, const char *device, Log *log) {
    CudaencConfig config = make_config(format, device, log);
    config.codec = CUDAENC_CODEC_H264;
    config.h264.effort = 2;  // tests of a device's analysis say 0
    config.h264.frame_rate_num = 25;
    config.h264.frame_rate_den = 1;
    return config;
}

// Options at random, all of them allowed.
inline CudaencH264Options random_h264_options(Random &random, const CudaencFormat &format) {
    CudaencH264Options o;
    cudaenc_h264_defaults(&o);
    const int depth = format.component[0].depth, lowest_qp = depth == 10 ? -12 : 0;
    const bool is_420 = format.components == 3 && format.component[1].log2_subsample_y;
    if (is_420 && depth == 8) o.profile = random.between(CUDAENC_H264_AUTO_PROFILE, CUDAENC_H264_HIGH_444);
    o.slices = std::min(random.between(0, 3), (format.height + 15) / 16);
    o.rate_control = random.between(CUDAENC_H264_CONSTANT_QP, CUDAENC_H264_BIT_RATE);
    o.qp = random.one_in(4) ? lowest_qp : random.between(lowest_qp, 51);
    if (random.one_in(2)) o.aq = random.between(-1, 1024);
    o.effort = random.between(0, 3);
    const int rates[][2] = {{25, 1}, {30000, 1001}, {50, 1}, {1, 1}};
    const auto &rate = random.of(rates);
    o.frame_rate_num = rate[0], o.frame_rate_den = rate[1];
    const int64_t frame = 1 << random.between(7, 18), bits = std::max<int64_t>(1000, frame * rate[0] / rate[1]);
    if (o.rate_control == CUDAENC_H264_BIT_RATE) o.bit_rate = bits, o.cbr = random.between(0, 1);
    if (o.rate_control != CUDAENC_H264_CONSTANT_QP) {
        if (!o.cbr && random.one_in(2)) o.max_rate = bits * random.between(1, 3);
        const int64_t most = o.max_rate ? o.max_rate : o.bit_rate;
        // More than a frame, since HRD parameters round it.
        if (most && random.one_in(2)) o.buffer_size = most * rate[1] / rate[0] * random.between(11, 200) / 10 + 100;
        o.hrd = (o.max_rate || o.buffer_size || o.cbr) && rate[0] > rate[1] && random.one_in(2);
    }
    if (random.one_in(4)) o.qp_min = random.between(-12, 51), o.qp_max = random.between(o.qp_min, 51);
    o.deblock = random.between(0, 1), o.aud = random.between(0, 1), o.repeat_headers = random.between(0, 1),
    o.timecodes = random.between(0, 1);
    o.sample_aspect_num = random.between(0, 3), o.sample_aspect_den = random.between(1, 3);
    if (is_420) o.chroma_location = random.between(-1, 5);
    if (random.one_in(4))
        o.keystream = [](void *, uint64_t picture, uint8_t *bytes, size_t size) {
            for (size_t i = 0; i < size; i++)
                bytes[i] = static_cast<uint8_t>((picture + 3) * (i + 5) * 0x9E3779B1 >> 16);
        };
    if (random.one_in(3)) {  // P pictures
        o.gop_size = random.between(2, 12);
        o.scene_cut = random.between(0, 100), o.min_gop_size = random.between(0, o.gop_size);
        if (random.one_in(2)) o.intra_refresh = random.between(1, o.gop_size - 1);
        if (random.one_in(4)) o.slices = 0, o.slice_max_bytes = random.between(1600, 4000);
        o.weighted_prediction = o.profile != CUDAENC_H264_CONSTRAINED_BASELINE && random.one_in(2);
        if (random.one_in(4)) o.intra_refresh = 0, o.lookahead = random.between(1, 48);
        o.effort = 0;
        o.keystream = nullptr;
        if (o.profile == CUDAENC_H264_CAVLC_444_INTRA) o.profile = CUDAENC_H264_HIGH_444;
    }
    if (o.keystream) o.encrypt_parts = random.between(0, 3);
    return o;
}

inline std::string describe_h264(const CudaencConfig &config) {
    const CudaencFormat &f = config.format;
    const CudaencH264Options &o = config.h264;
    return format_string(
        "%dx%d, %d components in %d planes, Cb 2^%d, 2^%d, depth %d; profile %d, level %d, slices %d, rate_control %d, "
        "qp %d, aq %d, effort %d, bit_rate %lld, max_rate %lld, buffer_size %lld, cbr %d, hrd %d, qp_min %d, qp_max "
        "%d, deblock %d, aud %d, repeat_headers %d, timecodes %d, %d/%d frames/s, keystream %d, encrypt_parts %d, "
        "gop_size %d, scene_cut %d, min_gop_size %d, intra_refresh %d, slice_max_bytes %d, lookahead %d, "
        "weighted_prediction %d",
        f.width, f.height, f.components, f.planes, f.component[1].log2_subsample_x, f.component[1].log2_subsample_y,
        f.component[0].depth, o.profile, o.level, o.slices, o.rate_control, o.qp, o.aq, o.effort,
        static_cast<long long>(o.bit_rate), static_cast<long long>(o.max_rate), static_cast<long long>(o.buffer_size),
        o.cbr, o.hrd, o.qp_min, o.qp_max, o.deblock, o.aud, o.repeat_headers, o.timecodes, o.frame_rate_num,
        o.frame_rate_den, o.keystream != nullptr, o.encrypt_parts, o.gop_size, o.scene_cut, o.min_gop_size,
        o.intra_refresh, o.slice_max_bytes, o.lookahead, o.weighted_prediction);
}

}  // namespace cudaenc::testing
