// SPDX-License-Identifier: LGPL-2.1-or-later
// Files as they are, broken at random, and every prefix of them: a device decodes the same samples as the CPU, with the
// same codes and flags. A thread, with decoders of its own, takes a file. Usage: jpeg_broken DEVICE ROUNDS PREFIX_STEP
// FILE...   ROUNDS: of each file; PREFIX_STEP: bytes by which prefixes differ; 0: none. Ends in a line "N passed, N
// failed".
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <cudaenc.h>

#include "../check/broken.h"

namespace {

using Bytes = std::vector<uint8_t>;

// SplitMix64.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint32_t below(uint32_t n) {
        uint64_t x = state_ += 0x9E3779B97F4A7C15;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
        x = (x ^ x >> 27) * 0x94D049BB133111EB;
        return static_cast<uint32_t>((x ^ x >> 31) % n);
    }

  private:
    uint64_t state_;
};

class DecoderOf {
  public:
    explicit DecoderOf(const char *device) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
        config.device = device;
        config.async_depth = 1;
        config.threads = 2;  // of each file's decoders
        config.max_pixels = 1 << 22;
        config.log_opaque = this;
        config.log = [](void *opaque, CudaencLogLevel, const char *line) {
            static_cast<DecoderOf *>(opaque)->line_ = line;
        };
        if (cudaenc_decoder_open(&decoder_, &config) != CUDAENC_OK)
            std::fprintf(stderr, "%s: %s\n", device, line_.c_str()), std::exit(1);
    }
    ~DecoderOf() { cudaenc_decoder_close(decoder_); }
    DecoderOf(const DecoderOf &) = delete;

    struct Outcome {
        int code = CUDAENC_OK, corrupt = 0;
        std::vector<Bytes> planes;
        bool operator==(const Outcome &) const = default;
    };
    Outcome decode(const Bytes &packet) {
        Outcome outcome;
        CudaencPictureInfo info;
        outcome.code = cudaenc_decoder_read_header(decoder_, packet.data(), packet.size(), &info);
        if (outcome.code != CUDAENC_OK) return outcome;
        CudaencCodedPicture coded{};
        coded.data = packet.data(), coded.size = packet.size();
        for (int c = 0; c < info.format.components; c++) {
            const CudaencComponent &k = info.format.component[c];
            coded.stride[c] = (((info.format.width - 1) >> k.log2_subsample_x) + 1) * k.step;
            const int rows = ((info.format.height - 1) >> k.log2_subsample_y) + 1;
            outcome.planes.emplace_back(static_cast<size_t>(coded.stride[c] * rows));
        }
        for (size_t c = 0; c < outcome.planes.size(); c++) coded.planes[c] = outcome.planes[c].data();
        CudaencDecodedPicture picture{};
        outcome.code = cudaenc_decoder_submit(decoder_, &coded);
        cudaenc_decoder_flush(decoder_);
        if (outcome.code == CUDAENC_OK) outcome.code = cudaenc_decoder_receive(decoder_, &picture);
        outcome.corrupt = picture.corrupt;
        if (outcome.code != CUDAENC_OK) outcome.planes.clear();
        return outcome;
    }

  private:
    CudaencDecoder *decoder_ = nullptr;
    std::string line_;
};

// What all threads have compared.
struct Tally {
    std::atomic<int> passed = 0, failed = 0, decoded = 0, corrupt = 0;
};

// number: of the file, with which its random numbers begin.
void compare_file(const char *device_name, const char *name, int number, int rounds, int step, Tally &tally) {
    DecoderOf cpu("cpu"), device(device_name);
    const auto compare = [&](const char *what, int which, const Bytes &packet) {
        const DecoderOf::Outcome ours = cpu.decode(packet), theirs = device.decode(packet);
        tally.decoded += ours.code == CUDAENC_OK, tally.corrupt += ours.corrupt;
        if (ours == theirs)
            tally.passed++;
        else if (++tally.failed <= 10)
            std::printf("%s, %s %d: codes %d and %d, corrupt %d and %d%s\n", name, what, which, ours.code, theirs.code,
                        ours.corrupt, theirs.corrupt, ours.planes == theirs.planes ? "" : ", samples differ");
    };
    std::ifstream in(name, std::ios::binary);
    const Bytes file((std::istreambuf_iterator<char>(in)), {});
    if (file.empty()) std::printf("%s cannot be read\n", name), tally.failed++;
    compare("as it is", 0, file);
    for (int round = 0; round < rounds; round++) {
        Random random(static_cast<uint64_t>(number) << 32 | static_cast<uint64_t>(round));
        compare("round", round, cudaenc::testing::broken(random, file));
    }
    for (size_t size = 0; step && size < file.size(); size += static_cast<size_t>(step))
        compare("prefix", static_cast<int>(size), Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(size)));
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 5) return std::fprintf(stderr, "usage: %s DEVICE ROUNDS PREFIX_STEP FILE...\n", argv[0]), 2;
    const int rounds = std::atoi(argv[2]), step = std::atoi(argv[3]);
    Tally tally;
    std::atomic<int> next = 4;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); t++)
        threads.emplace_back([&] {
            for (int i; (i = next++) < argc;) compare_file(argv[1], argv[i], i, rounds, step, tally);
        });
    threads.clear();
    const int passed = tally.passed, failed = tally.failed;
    std::printf("%s: %d broken streams, %d decoded, %d of them corrupt\n", argv[1], passed + failed,
                tally.decoded.load(), tally.corrupt.load());
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
