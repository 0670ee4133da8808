// SPDX-License-Identifier: LGPL-2.1-or-later
// Formats, options and pictures at random, as long as you like: the device gives the CPU's packets and errors, decoders
// take all streams and have the pictures without loss that were coded without, and of H.264 what the encoder
// reconstructed, no frame is larger than its target, and what is not allowed gives one line. Every round is a process
// of its own, and its seed tells how to see it again. Usage: cudaenc_fuzz [ROUNDS [FIRST_SEED [DEVICE]]]   DEVICE: emu
// (default), with the round's seed; emu:SEED, cpu, cuda, cuda:N
//        cudaenc_fuzz soak [FRAMES [FIRST_SEED [DEVICE [PROCESSES [THREADS]]]]]   for uptime
#include "../check/reconstructions.h"
#include "round.h"
#include "soak.h"

using namespace cudaenc;
using namespace cudaenc::testing;
using namespace std::string_literals;

static int first_seed = 1;
static const char *device = "emu";

// Compares what an H.264 encoder reconstructs with what a decoder shows, unless the stream is encrypted.
static Outcome encode_on_cpu(const Round &round, const std::vector<CudaencFrame> &input) {
    if (round.codec != CUDAENC_CODEC_H264 || round.config.h264.keystream) return encode_all(round.config, input);
    Reconstructions reconstructions;
    const Outcome outcome = encode_all(round.config, input);
    std::vector<std::string> shown;
    const bool filtered = round.config.h264.gop_size > 1;  // what P pictures refer to
    for (const std::vector<StreamPicture> &pictures : decode_packets(outcome)) add_checksums(pictures, shown, filtered);
    expect(reconstructions.take() == shown, "a decoder shows other pictures than were reconstructed");
    return outcome;
}

static void encode_and_check(Round &round, const std::string &device) {
    const CudaencFormat &format = round.config.format;
    if (round.wild) {
        const Outcome opened = encode_all(round.config, {});
        check_errors(round, opened);
        if (opened.code != CUDAENC_OK) return;
        // What is allowed after all may be larger than a round has time for.
        if (int64_t{format.width} * format.height > 200 * 200 || round.config.h264.bit_rate > 1'000'000'000) return;
    }
    int frames = round.random.between(1, 3);
    if (round.codec == CUDAENC_CODEC_J2K) {
        const Work work(format, round.config.j2k);
        if (work.packets > Work::kMostPackets || work.warps > Work::kMostWarps) return;
        if (work.packets > Work::kMostPackets / 4 || work.warps > Work::kMostWarps / 4) frames = 1;
    }
    std::vector<Picture> pictures;
    std::vector<CudaencFrame> input;
    const std::vector<uint8_t> metadata(round.random.below(300), 'm');
    CudaencRegion regions[3];
    for (CudaencRegion &region : regions)
        region = {.x = round.random.between(0, format.width),
                  .y = round.random.between(0, format.height),
                  .width = round.random.between(1, format.width),
                  .height = round.random.between(1, format.height),
                  .offset_num = round.random.between(-20, 20),
                  .offset_den = 20};
    for (int i = 0; i < frames; i++) {
        pictures.push_back(make_picture(round.random, format));
        fill(round.random, pictures.back(),
             static_cast<Content>(round.random.below(static_cast<uint32_t>(Content::kinds))));
        pictures.back().upside_down = round.random.one_in(4);
        CudaencFrame frame = pictures.back().frame();
        if (round.random.one_in(4)) frame.icc_profile = metadata.data(), frame.icc_profile_size = metadata.size();
        if (round.random.one_in(4)) frame.exif = metadata.data(), frame.exif_size = metadata.size();
        frame.sample_aspect_num = round.random.between(0, 100000);
        frame.sample_aspect_den = round.random.between(0, 100000);
        if (round.random.one_in(4)) frame.skipped = round.random.below(100);
        frame.key = round.random.one_in(6);
        if (round.random.one_in(4)) frame.regions = regions, frame.region_count = round.random.between(1, 3);
        input.push_back(frame);
    }
    const Outcome expected = encode_on_cpu(round, input);
    check_errors(round, expected);
    check_packets(round, expected, pictures);
    round.config.device = device.c_str();
    round.config.async_depth = round.random.between(1, 3);
    round.config.threads = round.random.between(1, 3);
    expect(encode_all(round.config, input) == expected, device + " differs from the CPU");
}

START_TEST(device_gives_the_cpus_packets) {
    const int seed = first_seed + _i;
    Round round(seed);
    try {
        encode_and_check(round, device == "emu"s ? "emu:" + std::to_string(seed) : device);
    } catch (const std::exception &e) {
        ck_abort_msg("seed %d: %s: %s", seed, e.what(), round.text().c_str());
    }
}
END_TEST

int main(int argc, char **argv) {
    const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
    const bool soaking = argc > 1 && !std::strcmp(argv[1], "soak");
    if (soaking) return soak(number(2, 10000), number(3, 1), argc > 4 ? argv[4] : device, number(5, 1), number(6, 1));
    if (argc > 3) device = argv[3];
    first_seed = number(2, first_seed);
    if (!open_j2k_decoder())
        std::printf("skipped: no OpenJPEG here, or none when this was built: it decodes JPEG 2000\n");
    Suite *suite = suite_create("fuzz");
    tcase_add_loop_test(add_case(suite, "sessions"), device_gives_the_cpus_packets, 0, number(1, 500));
    return run_suite(suite);
}
