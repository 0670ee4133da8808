// SPDX-License-Identifier: LGPL-2.1-or-later
// J. Matela, V. Rusnak, P. Holub, "GPU-Based Sample-Parallel Context Modelling for EBCOT in JPEG2000" (2010): table 2.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "papers.h"
#include "sample_contexts.h"
#include "tier1_forms.h"

namespace cudaenc::bench {

namespace {

Picture one_color(int width, int height) {
    Picture p{"one colour", width, height, 8, {}};
    for (auto &plane : p.plane) plane.assign(static_cast<size_t>(width) * static_cast<size_t>(height), 100);
    return p;
}
Picture white_noise(int width, int height) {
    Picture p{"white noise", width, height, 8, {}};
    uint32_t state = 1;
    for (size_t i = 0; i < static_cast<size_t>(width) * static_cast<size_t>(height); i++) {
        state = state * 1664525 + 1013904223;
        for (auto &plane : p.plane) plane.push_back(static_cast<uint16_t>(state >> 24));
    }
    return p;
}

// Encoders of the CPU with one thread, in milliseconds; 0: not there.
double openjpeg_ms(const PaperRun &run, const Case &c, const Frames &frames) {
    std::vector<uint8_t> stream;
    const Effort effort{.single_frames = run.small ? 1 : 3, .runs = 1, .run_seconds = 0, .depths = {}, .sessions = {}};
    return run.openjpeg ? run.openjpeg->encode(c, frames, 0, 1, effort, stream).milliseconds.median : 0;
}
// By its own clock. GRK_COMPRESS: its program; else the one that the system finds.
double grok_ms(const PaperRun &run, const Case &c, const Frames &frames) {
    char folder[] = "/tmp/matela.XXXXXX";
    if (!mkdtemp(folder)) return 0;
    const std::string in = std::string(folder) + "/in.ppm", out = std::string(folder) + "/out.j2k";
    const CudaencFrame &frame = frames[0];
    {
        std::ofstream file(in, std::ios::binary);
        file << "P6\n" << c.format.width << ' ' << c.format.height << "\n255\n";
        for (int y = 0; y < c.format.height; y++)
            for (int x = 0; x < c.format.width; x++)
                for (int k = 0; k < 3; k++) file.put(static_cast<char>(frame.data[k][y * frame.stride[k] + x]));
    }
    const char *program = std::getenv("GRK_COMPRESS");
    const std::string command =
        format_string("%s -v -i %s -o %s -n 6 -b %d,%d -H 1 -e %d 2>&1", program ? program : "grk_compress", in.c_str(),
                      out.c_str(), c.cblk, c.cblk, run.small || c.pixels() > 1 << 20 ? 1 : 3);
    double ms = 0;
    if (FILE *said = popen(command.c_str(), "r")) {
        char line[1024];
        while (std::fgets(line, sizeof line, said))
            if (const char *at = std::strstr(line, "compress time: ")) ms = std::atof(at + 15);
        pclose(said);
    }
    std::filesystem::remove_all(folder);
    return ms;
}
std::string text_of(double ms) { return ms > 0 ? format_string("%.1f", ms) : "–"; }

bool measure_picture(const PaperRun &run, const Picture &picture, int width, int height, int cblk) {
    Case c = choose_cases("4k-lossless")[0];
    c.format = {width, height, 8, Layout::kRgb};
    c.cblk = cblk;
    const Frames frames({picture}, c.format, 1, nullptr);
    const CodedCase coded = code_case(c, frames, 0);
    Blocks blocks(run.device, coded.params, coded.geometry, coded.coefficients, 1);

    // By samples.
    int most_planes = 1;
    for (const uint32_t coefficient : coded.coefficients[0])
        most_planes = std::max(most_planes, static_cast<int>(bit_width(coefficient & ~kSignBit)));
    const Stream stream(run.device);
    const Event begin(run.device, true), end(run.device, true);
    const auto device_blocks = upload_now(run.device, coded.geometry.blocks);
    const auto coefficients = upload_now(run.device, coded.coefficients[0]);
    const SampleContexts contexts(run.device, static_cast<uint32_t>(coded.geometry.blocks.size()), most_planes);
    const double samples = median_of(run.runs, [&] {
                               run.device->record(begin, stream);
                               contexts.model(stream, device_blocks.data(), coefficients.data());
                               run.device->record(end, stream);
                               run.device->synchronize(static_cast<Device::Event>(end));
                               return static_cast<double>(run.device->elapsed_ms(begin, end));
                           }).median;
    size_t different = 0;
    const size_t step = coded.geometry.blocks.size() / 40 + 1;
    for (size_t i = 0; i < coded.geometry.blocks.size(); i += step) {
        const CodeBlock &b = coded.geometry.blocks[i];
        different += contexts.symbols(static_cast<uint32_t>(i), b.width, b.height) !=
                     model_plainly(&coded.coefficients[0][b.coefficients], b.stride, b.width, b.height, b.orientation);
    }

    // The encoder's, and a thread a block, each at its best.
    double own = 0, own_context = 0, block_thread = 0;
    for (const int lanes : {1, 4, 8, 16, 32}) {
        double context = 0;
        const double all = median_of(run.runs, [&] {
                               const Blocks::Times times = blocks.code(lanes);
                               context = times.context;
                               return times.context + times.mq;
                           }).median;
        if (own == 0 || all < own) own = all, own_context = context;
    }
    for (const bool plain : {false, true}) {
        for (const int threads : {32, 64, kBlockThreadMost}) {
            const double ms = median_of(run.runs, [&] { return blocks.code_baseline(threads, plain); }).median;
            if (block_thread == 0 || ms < block_thread) block_thread = ms;
        }
        uint64_t symbols, bytes;
        different += blocks.compare(symbols, bytes);
    }

    // A thread of the CPU, by the library's coder.
    const size_t count = coded.geometry.blocks.size(), most = static_cast<size_t>(coded.geometry.max_passes);
    std::vector<uint32_t> pass_bytes(count * most), offsets(count);
    std::vector<uint8_t> codewords;
    std::vector<CodedBlock> out(count);
    const double cpu =
        median_of(std::min(run.runs, 2), [&] {
            const Clock::time_point start = Clock::now();
            code_blocks(coded.geometry.blocks, coded.coefficients[0].data(), {}, coded.geometry.max_passes,
                        {pass_bytes.data()}, codewords, offsets.data(), out.data());
            return 1e3 * seconds_since(start);
        }).median;
    std::printf("| %s | %dx%d | %d | %.3f | %.3f | %.1f | %.3f | %.3f | %.1f | %.1f | %.0f | %s | %s |%s\n",
                picture.name.c_str(), width, height, cblk, samples, own_context, samples / own_context, block_thread,
                own, block_thread / own, cpu, cpu / own, text_of(openjpeg_ms(run, c, frames)).c_str(),
                text_of(grok_ms(run, c, frames)).c_str(), different ? " BLOCKS DIFFER" : "");
    std::fflush(stdout);
    return !different;
}

}  // namespace

bool measure_matela(const PaperRun &run) {
    std::printf(
        "\nMatela 2010: ms of a picture of three components, 5/3, blocks of 16x16 and 32x32. A thread a block: the "
        "better of two "
        "MQ coders. OpenJPEG and Grok: the whole encoder, a thread; – where it is not there\n\n");
    std::printf(
        "| picture | size | blocks | contexts, a thread a sample | cudaenc's contexts | times | all, a thread a "
        "block | cudaenc's all | times | a CPU thread | times | OpenJPEG | Grok "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    bool good = true;
    if (run.small) {
        good &= measure_picture(run, run.pictures[0], 70, 50, 16);
        return measure_picture(run, white_noise(40, 40), 40, 40, 32) && good;
    }
    for (const int cblk : {16, 32})
        for (const Picture &picture : {one_color(512, 512), run.pictures[0], white_noise(512, 512)})
            good &= measure_picture(run, picture, 512, 512, cblk);
    struct Size {
        int width, height;
    };
    for (const auto &[width, height] : {Size{1280, 720}, Size{1920, 1080}, Size{4096, 2160}})
        good &= measure_picture(run, run.pictures[0], width, height, 32);
    return measure_picture(run, white_noise(4096, 2160), 4096, 2160, 32) && good;
}

}  // namespace cudaenc::bench
