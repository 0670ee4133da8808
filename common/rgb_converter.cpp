// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of conversion to Y, Cb and Cr: checks arguments, chooses the device.
#include <atomic>
#include <cmath>
#include <cstring>

#include "abi.h"
#include "option_checks.h"
#include "rgb_converter.h"
#include "session.h"
#include "thread_pool.h"

namespace cudaenc {

YcbcrWeights ycbcr_weights(double kr, double kb, bool full_range, bool gray) {
    const auto scaled = [](double weight, double most) {
        return static_cast<int>(std::lround(weight * most / 255 * 65536));
    };
    const double span = full_range ? 255 : 219, chroma = full_range ? 127.5 : 112, kg = 1 - kr - kb;
    YcbcrWeights weights{.luma = {scaled(gray ? 1 : kr, span), scaled(kg, span), scaled(kb, span)},
                         .cb = {},
                         .cr = {},
                         .black = full_range ? 0 : 16};
    if (gray) return weights;
    const double most_blue = chroma / (1 - kb), most_red = chroma / (1 - kr);
    return {.luma = {weights.luma[0], weights.luma[1], weights.luma[2]},
            .cb = {-scaled(kr, most_blue), -scaled(kg, most_blue), scaled(1 - kb, most_blue)},
            .cr = {scaled(1 - kr, most_red), -scaled(kg, most_red), -scaled(kb, most_red)},
            .black = weights.black};
}

}  // namespace cudaenc

using namespace cudaenc;

struct CudaencConverter {
    SessionLog log;
    std::unique_ptr<DeviceConverter> device;
    std::unique_ptr<ThreadPool> pool;  // of the CPU
};

namespace {

uint32_t convert_on_cpu(ThreadPool &pool, const RgbFrames &frames, const YcbcrWeights &weights) {
    std::atomic<uint32_t> wrong{0};
    const size_t rows = static_cast<size_t>(frames.block_rows());
    pool.for_each(rows * static_cast<size_t>(frames.count), [&](size_t i) {
        uint32_t own = 0;
        for (int column = 0; column < frames.block_columns(); column++)
            own = std::max(
                own, convert_block(frames, weights, static_cast<int>(i / rows), static_cast<int>(i % rows), column));
        for (uint32_t known = wrong; known < own && !wrong.compare_exchange_weak(known, own);) {
        }
    });
    return wrong;
}

void check_frames(const CudaencRgbFrames &f) {
    if (!f.samples) refuse("samples NULL of the frames is not allowed");
    for (int i = 0; i < 3; i++)
        if (!f.planes[i]) refuse(format_string("planes[%d] NULL of the frames is not allowed", i));
    check_range("type", f.type, CUDAENC_SAMPLE_UINT8, CUDAENC_SAMPLE_FLOAT32);
    check_range("count", f.count, 0, 65535);
    check_range("height", f.height, 1, 65535);
    check_range("width", f.width, 1, 65535);
    check_range("full_range", f.full_range, 0, 1);
    if (f.channels != 1 && f.channels != 3 && f.channels != 4)
        refuse(format_string("channels %d is not allowed: it is 1, 3 or 4", f.channels));
    if (!(f.kr > 0 && f.kb > 0 && f.kr + f.kb < 1))
        refuse(format_string("kr %g with kb %g is not allowed: both are above 0, and their sum below 1", f.kr, f.kb));
    const int bytes = 1 << f.type;
    for (int i = 0; i < 4; i++)
        if (f.step[i] % bytes)
            refuse(format_string("step[%d] %td is not allowed: a sample has %d bytes", i, f.step[i], bytes));
    if (reinterpret_cast<uintptr_t>(f.samples) % static_cast<size_t>(bytes))
        refuse(format_string("samples %p is not allowed: a sample has %d bytes", f.samples, bytes));
}

}  // namespace

int cudaenc_converter_init(CudaencConverterConfig *config, size_t struct_size) {
    CudaencConverterConfig defaults{};
    defaults.struct_size = struct_size;
    defaults.device = "auto";
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_converter_open(CudaencConverter **out, const CudaencConverterConfig *config) {
    return open_session("converter", out, config, [&](CudaencConverter &converter) {
        CudaencConverterConfig defaults;
        cudaenc_converter_defaults(&defaults);
        const CudaencConverterConfig known = read_struct("the configuration", *config, defaults);
        check_range("device_memory", known.device_memory, 0, 1);
        check_range("threads", known.threads, 0, 1024);
        if (known.device_memory)
            converter.device = make_device_converter(
                choose_device(converter.log, known.device, "frames", known.cuda_context, "converting"));
        else
            converter.pool = std::make_unique<ThreadPool>(thread_count(known.threads) - 1);
    });
}

int cudaenc_convert(CudaencConverter *converter, const CudaencRgbFrames *callers) {
    return guarded(log_of(converter), {{"converter", converter}, {"frames", callers}}, [&] {
        const CudaencRgbFrames f = read_struct("the frames", *callers);
        check_frames(f);
        RgbFrames frames{.samples = static_cast<const uint8_t *>(f.samples),
                         .type = f.type,
                         .count = f.count,
                         .height = f.height,
                         .width = f.width,
                         .gray = f.channels == 1,
                         .step = {},
                         .planes = {f.planes[0], f.planes[1], f.planes[2]}};
        std::copy_n(f.step, 4, frames.step);
        const YcbcrWeights weights = ycbcr_weights(f.kr, f.kb, f.full_range, frames.gray);
        const uint32_t wrong = converter->device ? converter->device->convert(frames, weights, f.cuda_stream)
                                                 : convert_on_cpu(*converter->pool, frames, weights);
        float value;
        std::memcpy(&value, &wrong, sizeof value);
        if (wrong)
            refuse(format_string("sample %g is not allowed: floating-point frames are 0 to 1",
                                 static_cast<double>(value)));
    });
}

void cudaenc_converter_close(CudaencConverter *converter) { delete converter; }
