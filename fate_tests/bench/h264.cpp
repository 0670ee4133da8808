// SPDX-License-Identifier: LGPL-2.1-or-later
#include "h264.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "kernel_times.h"
#include "x264_library.h"

namespace cudaenc::bench {

namespace {

void put_rates(Json &json, const char *encoder, int qp, const FrameFormat &f, double bytes, double fps) {
    json.put("encoder", encoder);
    json.put("qp", qp);
    json.put("size", format_string("%dx%d%s", f.width, f.height, f.layout == Layout::kYuv444 ? " 4:4:4" : ""));
    json.put("bits_per_pixel", 8 * bytes / (static_cast<double>(f.width) * f.height));
    json.put("fps", fps);
}

CudaencConfig make_config_of(const FrameFormat &format, const char *device, bool device_frames, int qp, int slices,
                             const H264Cases &cases) {
    CudaencConfig config;
    cudaenc_config_init(&config, sizeof config, CUDAENC_CODEC_H264);
    config.format = make_format(format);
    config.device = device;
    config.device_frames = device_frames;
    config.h264.effort = 0;
    config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
    config.h264.qp = qp;
    config.h264.slices = slices;
    config.h264.gop_size = cases.gop;
    config.h264.lookahead = cases.lookahead;
    config.fields = cases.fields ? CUDAENC_TOP_FIELD_FIRST : CUDAENC_PROGRESSIVE;
    config.h264.frame_rate_num = 25;
    config.h264.frame_rate_den = 1;
    return config;
}

#ifdef CUDAENC_HAS_X264
struct X264Rate {
    double fps, bytes;
};
// Codes for as long as a run lasts, twice the threads at least.
X264Rate measure_x264(const X264Library &lib, const char *preset, const FrameFormat &f, int qp, int gop,
                      const Frames &frames, double seconds) {
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    x264_param_t p;
    lib.default_preset(&p, preset, "psnr");
    p.i_width = f.width;
    p.i_height = f.height;
    const int space = f.layout == Layout::kYuv444 ? X264_CSP_I444 : X264_CSP_I420;
    p.i_csp = space;
    p.i_threads = threads;
    p.i_keyint_max = gop;
    p.i_bframe = 0;
    p.i_frame_reference = 1;
    p.b_cabac = 0;
    p.i_log_level = X264_LOG_ERROR;
    p.i_fps_num = 25;
    p.i_fps_den = 1;
    p.rc.i_rc_method = X264_RC_CQP;
    p.rc.i_qp_constant = qp;
    if (gop == 1) p.rc.f_ip_factor = 1;  // intra pictures have the QP itself
    x264_t *encoder = lib.open(&p);
    if (!encoder) throw Error(CUDAENC_ERR_DEVICE, "x264_encoder_open fails");
    double bytes = 0;
    int coded = 0, given = 0;
    const auto encode = [&](bool flush) {
        x264_picture_t picture, out;
        lib.picture_init(&picture);
        const CudaencFrame &frame = frames[static_cast<size_t>(given)];
        picture.img.i_csp = space;
        picture.img.i_plane = 3;
        for (int c = 0; c < 3; c++) {
            picture.img.plane[c] = static_cast<uint8_t *>(const_cast<void *>(static_cast<const void *>(frame.data[c])));
            picture.img.i_stride[c] = static_cast<int>(frame.stride[c]);
        }
        picture.i_pts = given;
        given += !flush;
        x264_nal_t *units;
        int count;
        const int size = lib.encode(encoder, &units, &count, flush ? nullptr : &picture, &out);
        if (size < 0) throw Error(CUDAENC_ERR_DEVICE, "x264_encoder_encode fails");
        bytes += size;
        coded += size > 0;
    };
    const auto start = Clock::now();
    while (given < 2 * threads || seconds_since(start) < seconds) encode(false);
    while (lib.delayed_frames(encoder)) encode(true);
    const double all = seconds_since(start);
    lib.close(encoder);
    return {coded / all, bytes / coded};
}
#endif

// One frame and many, in so many slices.
void measure_ours(const std::string &device, bool device_frames, const Frames &frames, const FrameFormat &format,
                  int qp, int slices, const H264Cases &cases, const Effort &effort, Json &json) {
    const CudaencConfig config = make_config_of(format, device.c_str(), device_frames, qp, slices, cases);
    const Single single = measure_single(config, frames, effort);
    std::vector<int> depths = effort.depths;
    if (depths.empty()) depths = {4, 8, 16};
    Multi best;
    for (const int depth : depths) {
        const Multi multi = measure_multi(config, frames, 1, depth, effort);
        std::printf("  QP %2d, %2d in flight %50.0f frames/s\n", qp, depth, multi.fps.median);
        if (multi.fps.median > best.fps.median) best = multi;
    }
    for (const int sessions : effort.sessions) {
        const Multi multi = measure_multi(config, frames, sessions, kSessionDepth, effort);
        std::printf("  QP %2d, %d sessions %46.0f frames/s in all\n", qp, sessions, multi.fps.median);
        if (multi.fps.median > best.fps.median) best = multi;
    }
    for (const Stage &stage : measure_stages(config, frames))
        std::printf("  QP %2d  %-16s %8.3f ms\n", qp, stage.name.c_str(), stage.milliseconds);
    const double alone = 1e3 / single.milliseconds.median;  // with a lookahead that sees nothing
    const double bytes = cases.lookahead ? best.bytes_per_frame : single.bytes_per_frame;
    std::printf("  QP %2d, %d slices  h264_cavlc_cuda %8.0f alone, %8.0f frames/s  %9.0f bytes, %s in flight\n", qp,
                slices, alone, best.fps.median, bytes, best.in_flight().c_str());
    json.open('{');
    put_rates(json, "h264_cavlc_cuda", qp, format, bytes, best.fps.median);
    json.put("slices", slices);
    json.put("gop", cases.gop);
    json.put("lookahead", cases.lookahead);
    json.put("fields", cases.fields);
    json.put("fps_alone", alone);
    json.put("in_flight", best.in_flight());
    json.close('}');
}

void measure_peers([[maybe_unused]] const std::vector<Picture> &pictures, [[maybe_unused]] const FrameFormat &format,
                   [[maybe_unused]] int qp, [[maybe_unused]] int gop, [[maybe_unused]] const Effort &effort,
                   [[maybe_unused]] int frame_count, [[maybe_unused]] const std::string &file,
                   [[maybe_unused]] Json &json) {
#ifdef CUDAENC_HAS_X264
    const X264Library lib(file);
    const Frames frames(pictures, format, frame_count, nullptr);
    for (const char *preset : {"ultrafast", "superfast", "veryfast"}) {
        const X264Rate rate = measure_x264(lib, preset, format, qp, gop, frames, effort.run_seconds);
        const std::string name = std::string(lib.name()) + " " + preset;
        std::printf("  QP %2d  %-20s %24.0f frames/s  %9.0f bytes\n", qp, name.c_str(), rate.fps, rate.bytes);
        json.open('{');
        put_rates(json, name.c_str(), qp, format, rate.bytes, rate.fps);
        json.close('}');
    }
#else
    throw Error(CUDAENC_ERR_UNSUPPORTED, "this program was built without x264's header (libx264-dev)");
#endif
}

}  // namespace

void measure_h264(const std::shared_ptr<Device> &device, const std::string &device_name,
                  const std::vector<Picture> &pictures, const H264Cases &cases, const Effort &effort, int frame_count,
                  const std::string &x264, Json &json) {
    const FrameFormat format{cases.width, cases.height, 8, cases.layout};
    const int rows_of_macroblocks = (cases.height + 15) / 16;
    const Frames frames(pictures, format, frame_count, device);
    bool peers = x264 != "no";
    std::printf("\n%dx%d, %s, 8 bits; h264_cavlc_cuda: effort 0; x264: CAVLC, %s, tune psnr, all threads\n",
                cases.width, cases.height, cases.layout == Layout::kYuv444 ? "4:4:4" : "4:2:0",
                cases.gop > 1  ? "P pictures"
                : cases.fields ? "intra, two fields a frame"
                               : "intra");
    for (const int qp : cases.qps) {
        if (cases.kernels) {
            if (!device) throw Error(CUDAENC_ERR_INVALID, "-kernels is for frames in the memory of a GPU");
            const CudaencConfig config = make_config_of(format, device_name.c_str(), true, qp, cases.slices[0], cases);
            std::printf("  QP %d\n", qp);
            print_kernel_times(device, config, frames);
            continue;
        }
        for (const int slices : cases.slices)
            if (slices <= rows_of_macroblocks)
                measure_ours(device_name, device != nullptr, frames, format, qp, slices, cases, effort, json);
        if (!peers) continue;
        try {
            measure_peers(pictures, format, qp, cases.gop, effort, frame_count, x264, json);
        } catch (const Error &e) {
            std::fprintf(stderr, "warning: x264 is not measured: %s\n", e.what());
            peers = false;
        }
    }
}

}  // namespace cudaenc::bench
