// SPDX-License-Identifier: LGPL-2.1-or-later
// P. Patel, J. Wong, M. Tatikonda, J. Marczewski, "JPEG Compression Algorithm Using CUDA" (2009): section 6.
#include <cstdio>

#include "dct_forms.h"
#include "papers.h"
#include "tier1_forms.h"

namespace cudaenc::bench {

namespace {

double cpu_ms(const PaperRun &run, const auto &work) {
    return median_of(std::min(run.runs, 3),
                     [&] {
                         const Clock::time_point start = Clock::now();
                         work();
                         return 1e3 * seconds_since(start);
                     })
        .median;
}

bool measure_plane(const PaperRun &run, int width, int height) {
    const FrameFormat format{width, height, 8, Layout::kRgb};
    const Picture picture = fit_picture(run.pictures[0], format);
    PatelPlane plane{static_cast<uint32_t>(width), static_cast<uint32_t>(height), {}};
    for (const uint16_t sample : picture.plane[1]) plane.samples.push_back(static_cast<float>(sample) - 128);
    const std::vector<float> source = plane.samples, forward = dct_matrix(false), inverse = dct_matrix(true);
    const double cpu_dct = cpu_ms(run, [&] {
        plane.samples = source;
        plane.transform(forward);
    });
    const std::vector<float> transformed = plane.samples;
    const double cpu_quantise = cpu_ms(run, [&] {
        plane.samples = transformed;
        plane.quantise();
    });
    const std::vector<float> quantised = plane.samples;
    const double cpu_idct = cpu_ms(run, [&] {
        plane.samples = quantised;
        plane.transform(inverse);
    });

    const Stream stream(run.device);
    const Event begin(run.device, true), end(run.device, true);
    const DctForms forms(run.device, plane.width, plane.height);
    const PinnedArray<float> host(run.device, source.size());
    const auto time = [&](auto work) {
        return median_of(run.runs,
                         [&] {
                             run.device->record(begin, stream);
                             work();
                             run.device->record(end, stream);
                             run.device->synchronize(static_cast<Device::Event>(end));
                             return static_cast<double>(run.device->elapsed_ms(begin, end));
                         })
            .median;
    };
    std::copy(source.begin(), source.end(), host.data());
    const double copy_in = time([&] { forms.upload(stream, host.data()); });
    const double dct_1 = time([&] { forms.dct(stream, false, 1); }), dct_8 = time([&] { forms.dct(stream, false, 8); });
    double quantise[3];
    for (int method = 1; method <= 3; method++) quantise[method - 1] = time([&] { forms.quantise(stream, method); });
    const double idct = time([&] { forms.dct(stream, true, 1); });
    // All stages once: beside the CPU's, by PSNR.
    std::copy(source.begin(), source.end(), host.data());
    forms.upload(stream, host.data());
    forms.dct(stream, false, 1);
    forms.quantise(stream, 3);
    forms.dct(stream, true, 1);
    const double copy_out = time([&] { forms.download(stream, host.data()); });
    double error = 0;
    for (size_t i = 0; i < source.size(); i++) {
        const double d = host.data()[i] - plane.samples[i];
        error += d * d;
    }
    const double psnr = 10 * std::log10(255 * 255 / std::max(error / static_cast<double>(source.size()), 1e-9));

    // Ours: a whole picture of one component, from GPU memory to a JPEG in host memory.
    Case c = choose_cases("mjpeg-hd-420")[0];
    c.format = {width, height, 8, Layout::kYuv444, true};
    const bool on_gpu = run.device->name().rfind("cuda", 0) == 0;
    const Frames frames({run.pictures[0]}, c.format, 2, on_gpu ? run.device : nullptr);
    const std::string device = on_gpu ? "cuda" : "emu";
    CudaencConfig config = make_config(c, device.c_str());
    config.device_frames = on_gpu;
    config.device_packets = 0;
    const Effort effort{
        .single_frames = run.small ? 1 : 16, .runs = 1, .run_seconds = 0.1, .depths = {}, .sessions = {}};
    const double own = measure_single(config, frames, effort).milliseconds.median;

    std::printf(
        "| %dx%d | %.2f, %.4f, %.4f, %.0f | %.2f, %.4f, %.4f, %.4f, %.0f | %.2f, %.4f, %.0f | %.4f, %.4f, %.0f %% "
        "| %.1f, %.0f | %.4f |\n",
        width, height, cpu_dct, dct_1, dct_8, cpu_dct / std::min(dct_1, dct_8), cpu_quantise, quantise[0], quantise[1],
        quantise[2], cpu_quantise / std::min({quantise[0], quantise[1], quantise[2]}), cpu_idct, idct, cpu_idct / idct,
        copy_in, copy_out, 100 * (copy_in + copy_out) / (copy_in + copy_out + dct_1 + quantise[2] + idct),
        (cpu_dct + cpu_quantise + cpu_idct) / (copy_in + copy_out + dct_1 + quantise[2] + idct), psnr, own);
    std::fflush(stdout);
    return psnr > 60;
}

}  // namespace

bool measure_patel(const PaperRun &run) {
    std::printf(
        "\nPatel 2009, ms of a plane. DCT: CPU, one block and eight blocks a thread-block, times; quantiser: CPU, "
        "methods 1 to 3, times; IDCT: CPU, one block, times; copies: in, out, share; all: times, PSNR of the "
        "GPU's beside the CPU's; cudaenc: all of a 4:4:4 JPEG, three planes and Huffman coding\n\n");
    std::printf("| size | DCT | quantiser | IDCT | copies | all | cudaenc |\n|---|---|---|---|---|---|---|\n");
    if (run.small) return measure_plane(run, 40, 24);
    bool good = measure_plane(run, 512, 512);
    good &= measure_plane(run, 1024, 768);
    good &= measure_plane(run, 2048, 2048);
    return measure_plane(run, 3840, 2160) && good;
}

}  // namespace cudaenc::bench
