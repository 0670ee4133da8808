// SPDX-License-Identifier: LGPL-2.1-or-later
// M. A. Martinez-del-Amor et al., "Parallel efficient rate control methods for JPEG 2000" (2017): table 1 and figure 8.
#include <cmath>
#include <cstdio>

#include "papers.h"
#include "tier1_forms.h"

namespace cudaenc::bench {

namespace {

struct Method {
    const char *name;
    int rate_control;
};
constexpr Method kMethods[] = {{"pcrd", CUDAENC_J2K_RATE_PCRD},
                               {"psp", CUDAENC_J2K_RATE_PSP},
                               {"pst", CUDAENC_J2K_RATE_PST},
                               {"psb", CUDAENC_J2K_RATE_PSB},
                               {"bpi", CUDAENC_J2K_RATE_BPI}};
constexpr int kShot = 4;  // frames between cuts

// Shots of shifts of a picture each.
struct Clip {
    std::vector<std::unique_ptr<Frames>> shots;
    Clip(const std::vector<Picture> &pictures, const FrameFormat &format, const std::shared_ptr<Device> &device) {
        for (const Picture &picture : pictures)
            shots.push_back(std::make_unique<Frames>(std::vector<Picture>{picture}, format, kShot, device));
    }
    size_t frames() const { return shots.size() * kShot; }
    const CudaencFrame &operator[](size_t i) const { return (*shots[i / kShot % shots.size()])[i % kShot]; }
};

double quartile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// What pcrd has: the rate, and PSNR of each frame.
struct Reference {
    double fps = 0;
    std::vector<double> psnrs;
};

void measure_method(const PaperRun &run, const Case &c, const Clip &clip, const Clip &host, size_t bytes,
                    const Method &method, Reference &pcrd) {
    const bool on_gpu = run.device->name().rfind("cuda", 0) == 0;
    CudaencConfig config = make_config(c, on_gpu ? "cuda" : "emu");
    config.device_frames = on_gpu;
    config.async_depth = run.small ? 2 : 4;  // of pst at most pst_lag
    config.j2k.rate_control = method.rate_control;
    config.j2k.quality = -1;
    config.j2k.frame_bytes = static_cast<int64_t>(bytes);
    const uint64_t before = run.device->free_memory();
    Session session(config);
    const double slot =
        (static_cast<double>(before) - static_cast<double>(run.device->free_memory())) / config.async_depth / (1 << 20);
    std::vector<double> misses;
    std::vector<std::vector<uint8_t>> packets;
    const auto code = [&](bool keep) {
        const Clock::time_point start = Clock::now();
        size_t next = 0, received = 0;
        while (received < clip.frames()) {
            while (next < clip.frames() && session.submit(clip[next])) next++;
            if (next == clip.frames()) session.flush();
            const CudaencPacket packet = session.receive();
            if (keep) {
                misses.push_back(100 * (static_cast<double>(packet.size) / static_cast<double>(bytes) - 1));
                packets.emplace_back(packet.data, packet.data + packet.size);
            }
            cudaenc_buffer_free(packet.buffer);
            received++;
        }
        return static_cast<double>(clip.frames()) / seconds_since(start);
    };
    code(true);
    const double fps = median_of(run.runs, [&] { return code(false); }).median;
    std::vector<double> psnrs(run.openjpeg ? packets.size() : 0);
    parallel(static_cast<int>(psnrs.size()), [&](int i) {
        psnrs[static_cast<size_t>(i)] =
            run.openjpeg->psnr(c, host[static_cast<size_t>(i)], packets[static_cast<size_t>(i)]);
    });
    if (method.rate_control == CUDAENC_J2K_RATE_PCRD) pcrd = {fps, psnrs};
    std::printf("| %zu | %s | %.0f | %.2f | %.2f, %.2f, %.2f, %.2f, %.2f | ", bytes, method.name, fps, fps / pcrd.fps,
                quartile(misses, 0), quartile(misses, 0.25), quartile(misses, 0.5), quartile(misses, 0.75),
                quartile(misses, 1));
    if (psnrs.empty()) {
        std::printf("| ");
    } else {
        std::vector<double> drops;
        double sum = 0, at_cuts = -100;
        for (size_t i = 0; i < psnrs.size(); i++) {
            drops.push_back(pcrd.psnrs[i] - psnrs[i]);
            sum += psnrs[i];
            if (i % kShot == 0) at_cuts = std::max(at_cuts, drops.back());
        }
        std::printf("%.2f; %.3f, %.3f, %.3f, %.3f, %.3f; %.3f | ", sum / static_cast<double>(psnrs.size()),
                    quartile(drops, 0), quartile(drops, 0.25), quartile(drops, 0.5), quartile(drops, 0.75),
                    quartile(drops, 1), at_cuts);
    }
    std::printf("%.1f |\n", slot);
    std::fflush(stdout);
}

// What tier-1 of a frame holds, and the time of it. Returns whether all forms have the same bytes.
bool measure_memory(const PaperRun &run, const Case &c) {
    const CodedCase coded = code_case(c, Frames({run.pictures[0]}, c.format, 1, nullptr), 0);
    Blocks blocks(run.device, coded.params, coded.geometry, coded.coefficients, 1);
    const Blocks::Bytes bytes = blocks.tier1_bytes();
    const double at_once = median_of(run.runs, [&] { return blocks.code_measured(8); }).median;
    const Blocks::FirstFrame expected = blocks.first_frame();
    const double by_planes = median_of(run.runs, [&] { return blocks.code_by_planes({}, 0); }).median;
    size_t different = blocks.compare(expected, blocks.first_frame());
    const double two_planes = median_of(run.runs, [&] { return blocks.code_by_two_planes({}); }).median;
    different += blocks.compare(expected, blocks.first_frame(true));
    const auto mib = [](uint64_t size) { return static_cast<double>(size) / (1 << 20); };
    std::printf("| %s | %s | %.1f, %.3f | %.1f, %.3f | %.1f, %.3f |%s\n", c.text().c_str(),
                run.pictures[0].name.c_str(), mib(bytes.at_once), at_once, mib(bytes.by_planes), by_planes,
                mib(bytes.of_two_planes), two_planes, different ? " BLOCKS DIFFER" : "");
    std::fflush(stdout);
    return !different;
}

}  // namespace

bool measure_martinez(const PaperRun &run) {
    Case c = choose_cases("hd-lossy")[0];
    if (run.small) c.format.width = 100, c.format.height = 72;
    const bool on_gpu = run.device->name().rfind("cuda", 0) == 0;
    const Clip clip(run.pictures, c.format, on_gpu ? run.device : nullptr), host(run.pictures, c.format, nullptr);
    std::printf(
        "\nMartinez-del-Amor 2017: a clip of %zu frames, %dx%d, a cut each %d frames. Frames/s of 4 in flight, "
        "times pcrd; by how many %% packets miss their size: least, quartiles, most; mean PSNR; by how much it is less "
        "than pcrd's: least, quartiles, most; most at cuts; MiB of GPU memory a slot\n\n",
        clip.frames(), c.format.width, c.format.height, kShot);
    std::printf("| bytes | method | frames/s | times | misses | PSNR | MiB |\n|---|---|---|---|---|---|---|\n");
    const double pixels = c.pixels();
    for (const double rate : run.small ? std::vector<double>{1.2} : std::vector<double>{0.5, 1.2, 2.3}) {
        Reference pcrd;
        for (const Method &method : kMethods)
            measure_method(run, c, clip, host, static_cast<size_t>(rate * pixels / 8), method, pcrd);
    }
    std::printf(
        "\nMartinez-del-Amor 2017, memory: MiB of GPU memory that tier-1 of a frame holds, coefficients excepted, and "
        "ms: all planes at once; by planes (CIBO) with symbols of all; and of two planes, the active ones\n\n");
    std::printf("| case | picture | all at once | CIBO | CIBO, two planes |\n|---|---|---|---|---|\n");
    bool good = true;
    for (const char *name : {"hd-lossless", "hd-lossy"}) {
        Case k = choose_cases(name)[0];
        if (run.small) k.format.width = 100, k.format.height = 72;
        good &= measure_memory(run, k);
    }
    return good;
}

}  // namespace cudaenc::bench
