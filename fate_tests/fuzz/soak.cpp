// SPDX-License-Identifier: LGPL-2.1-or-later
#include "soak.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "../bench/resources.h"
#include "../check/fault_device.h"
#include "round.h"

namespace cudaenc::testing {

namespace {

constexpr int kPictures = 4;            // of a session, in turn
constexpr int kMostFrames = 800;        // of a session
constexpr int kFewFrames = 24;          // of one whose frames take long
constexpr double kLongSeconds = 20;     // a session that takes longer is named
constexpr int kLargest = 1280;          // samples of a side, of one picture in 64
constexpr int kSampled = 16;            // one session of so many is compared with the CPU's
constexpr int kSeedsApart = 1'000'000;  // of a process from the next one's
constexpr double kMostGrowth = 32;      // MiB: what allocators keep here and there

// Stands for a device, so that its objects are counted: the fault device aborts where some are left.
Failures none_fails;
std::string device_spec;
std::shared_ptr<Device> (*open_real_emulator)(const std::string &);
std::shared_ptr<Device> open_counted(const std::string &) {
    const bool emulated = device_spec.rfind("emu", 0) == 0;
    return std::make_shared<FaultDevice>(
        emulated ? open_real_emulator(device_spec) : open_cuda_device(device_spec, nullptr), none_fails);
}

struct Resources {
    double resident_mib, gpu_mib;
    int64_t files, threads;
    static int64_t entries(const char *folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    }
    static Resources now(bool of_gpu) {
        malloc_trim(0);
        return {bench::resident_mib(), of_gpu ? static_cast<double>(bench::gpu_bytes_in_use()) / (1 << 20) : 0,
                entries("/proc/self/fd"), entries("/proc/self/task")};
    }
    bool exceeds(const Resources &before) const {
        return resident_mib > before.resident_mib + kMostGrowth || gpu_mib > before.gpu_mib + kMostGrowth ||
               files > before.files || threads > before.threads;
    }
    std::string text() const {
        return format_string("resident %.1f MiB, GPU %.1f MiB, %" PRId64 " files, %" PRId64 " threads", resident_mib,
                             gpu_mib, files, threads);
    }
};

// Of a process, by all of its threads.
struct Counts {
    std::atomic<int64_t> frames{0}, sessions{0}, compared{0}, failed{0};
};
volatile std::sig_atomic_t ended = 0;  // by SIGTERM

bool is_large(const CudaencFormat &format) { return int64_t{format.width} * format.height > 200 * 200; }

// How many frames a session of the round has at most, so that none takes minutes for thousands of packets a frame.
// 0: leaves the session out.
int most_frames(const Round &round) {
    int frames = is_large(round.config.format) ? kFewFrames : kMostFrames;
    if (round.codec != CUDAENC_CODEC_J2K) return frames;
    const Work work(round.config.format, round.config.j2k);
    if (work.packets > Work::kMostPackets / 4 || work.warps > Work::kMostWarps) return 0;
    return std::max(kFewFrames, frames * 100 / std::max(100, static_cast<int>(work.packets)));
}

void run_session(Round &round, Counts &counts) {
    CudaencConfig &config = round.config;
    if (is_large(config.format)) config.h264.slices = 0;  // levels want some
    std::vector<Picture> pictures;
    for (int i = 0; i < kPictures; i++) {
        pictures.push_back(make_picture(round.random, config.format));
        fill(round.random, pictures.back(),
             static_cast<Content>(round.random.below(static_cast<uint32_t>(Content::kinds))));
    }
    const bool sampled = counts.sessions++ % kSampled == 0;
    std::vector<CudaencFrame> input;
    for (int i = round.random.between(1, sampled ? kFewFrames : most_frames(round)); i > 0; i--)
        input.push_back(pictures[static_cast<size_t>(i % kPictures)].frame());
    config.async_depth = round.random.between(1, 16);
    config.threads = round.random.between(1, 4);
    config.device = device_spec == "cpu" ? "cpu" : "emu";  // which stands for the counted device
    const Outcome outcome = encode_all(config, input);
    check_errors(round, outcome);
    if (sampled) {
        config.device = "cpu";
        config.threads = config.async_depth = 1;
        expect(encode_all(config, input) == outcome, device_spec + " differs from the CPU");
        counts.compared++;
    }
    counts.frames += std::count(outcome.codes.begin(), outcome.codes.end(), CUDAENC_OK);
}

// Sessions one after the other, until the threads have so many frames.
void run_sessions(int64_t frames, std::atomic<int> &next_seed, Counts &counts) {
    while (counts.frames < frames && !counts.failed && !ended) {
        const int seed = next_seed++;
        Round round(seed, seed % 32 < 4 ? kLargest : 200);
        if (round.wild || !most_frames(round)) continue;
        const auto began = std::chrono::steady_clock::now();
        try {
            run_session(round, counts);
        } catch (const std::exception &e) {
            std::printf("seed %d: %s: %s\n", seed, e.what(), round.text().c_str());
            counts.failed++;
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        if (took.count() > kLongSeconds) {
            std::printf("seed %d: a session of %.0f s: %s\n", seed, took.count(), round.text().c_str());
            std::fflush(stdout);
        }
    }
}

// Of seeds from the first one on. Ten times all threads end, and then nothing may be left. of_gpu: no
// other process uses the GPU.
int soak_process(int64_t frames, int first_seed, int threads, bool of_gpu) {
    open_real_emulator = std::exchange(open_emulator, open_counted);
    mallopt(M_TRIM_THRESHOLD, 1 << 17);  // fixed: else the C library keeps up to 64 MiB a thread of what was freed
    std::signal(SIGTERM, [](int) { ended = 1; });
    Counts counts;
    Resources settled{}, now{};
    std::atomic<int> seed(first_seed);
    int look = 0;
    while (look++ < 10 && !counts.failed && !ended) {
        std::vector<std::thread> workers;
        for (int i = 0; i < threads; i++) workers.emplace_back([&] { run_sessions(frames * look / 10, seed, counts); });
        for (std::thread &worker : workers) worker.join();
        now = Resources::now(of_gpu);
        if (look <= 2) settled = now;  // what the first fifth took stays: of a GPU's driver, 100 MiB
        std::printf("%9" PRId64 " frames, %" PRId64 " sessions, %" PRId64 " compared: %s\n", counts.frames.load(),
                    counts.sessions.load(), counts.compared.load(), now.text().c_str());
        std::fflush(stdout);
    }
    if (counts.failed) return EXIT_FAILURE;
    if (look <= 3) {
        std::printf("ended too early to tell what grows\n");
        return EXIT_FAILURE;
    }
    const bool grew = now.exceeds(settled);
    std::printf("%s since the first fifth, resident by %+.1f MiB\n", grew ? "grew" : "flat",
                now.resident_mib - settled.resident_mib);
    return grew ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

int soak(int64_t frames, int first_seed, const std::string &device, int processes, int threads) {
    device_spec = device;
    if (processes <= 1) return soak_process(frames, first_seed, threads, true);
    for (int i = 0; i < processes; i++) {
        const pid_t child = fork();
        if (child < 0) throw Error(CUDAENC_ERR_MEMORY, "a process cannot be started");
        if (!child) std::exit(soak_process(frames / processes, first_seed + i * kSeedsApart, threads, false));
    }
    int failed = 0;
    for (int status = 0; wait(&status) > 0;) failed += !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS;
    std::printf("%d of %d processes failed\n", failed, processes);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace cudaenc::testing
