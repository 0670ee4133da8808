// Formats, options and pictures at random, as long as you like: the device gives the CPU's bytes, JPEG streams are what
// the tests' decoder takes, and options that are not allowed give one line. Every round is a process of its own, and
// its seed tells how to see it again. Usage: cudaenc_fuzz [ROUNDS [FIRST_SEED [DEVICE]]]   SPDX-License-Identifier:
// LGPL-2.1-or-later
#include "../check/mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

static int rounds = 500, first_seed = 1;
static const char *device = "emu";

// A round's session, from its seed: JPEG 2000 and JPEG in turn. In one of eight rounds one option is anything.
struct Round {
    explicit Round(int seed) : random(static_cast<uint64_t>(seed)), jpeg(seed % 2 == 0) {
        const int longest = random.one_in(8) ? 200 : 70;
        const CudaencFormat format = jpeg ? random_jpeg_format(random, longest) : random_format(random, longest);
        config = jpeg ? make_jpeg_config(format, "cpu", &log) : make_config(format, "cpu", &log);
        if (jpeg)
            config.mjpeg = random_jpeg_options(random, format, texts);
        else
            config.j2k = random_options(random, format, precincts);
        wild = random.one_in(8);
        if (!wild) return;
        const int values[] = {-2147483647, -7, -1, 0, 1, 2, 3, 5, 100, 101, 1 << 20, 2147483647};
        const std::vector<int *> options = options_of_all(), own = jpeg ? options_of_jpeg() : options_of_j2k();
        const size_t chosen = random.below(static_cast<uint32_t>(options.size() + own.size()));
        *(chosen < own.size() ? own[chosen] : options[chosen - own.size()]) = random.of(values);
    }
    std::vector<int *> options_of_all() {
        return {&config.async_depth,   &config.format.width,
                &config.format.height, &config.format.component[0].depth,
                &config.threads,       &config.format.component[1].log2_subsample_x};
    }
    std::vector<int *> options_of_j2k() {
        CudaencJ2kOptions &o = config.j2k;
        return {&o.format,         &o.tile_width, &o.tile_height, &o.pred,      &o.quality,
                &o.levels,         &o.cblk_width, &o.cblk_height, &o.prog,      &o.mct,
                &o.guard_bits,     &o.profile,    &o.main_level,  &o.sub_level, &o.tile_parts,
                &o.frame_rate_num, &o.cblk_style, &o.layers};
    }
    std::vector<int *> options_of_jpeg() {
        CudaencMjpegOptions &o = config.mjpeg;
        return {&o.quality, &o.huffman, &o.restart_interval, &o.mct, &o.quality_min, &o.quality_max};
    }
    std::string text() const { return jpeg ? describe_jpeg(config) : describe(config); }

    Random random;
    const bool jpeg;
    Log log;
    std::string precincts;
    JpegTexts texts;
    CudaencConfig config;
    bool wild;
};

START_TEST(device_gives_the_cpus_bytes) {
    Round round(first_seed + _i);
    if (round.wild) {
        CudaencSession *session = nullptr;
        const int code = cudaenc_open(&session, &round.config);
        if (code != CUDAENC_OK) {
            EXPECT(code == CUDAENC_ERR_INVALID || code == CUDAENC_ERR_MEMORY ||
                       (round.jpeg && code == CUDAENC_ERR_UNSUPPORTED),
                   "seed %d: open gives %d", first_seed + _i, code);
            EXPECT(round.log.lines.size() == 1, "seed %d: %zu lines", first_seed + _i, round.log.lines.size());
            return;
        }
        cudaenc_close(session);
        // What is allowed after all may be larger than a round has time for.
        if (int64_t{round.config.format.width} * round.config.format.height > 200 * 200) return;
        if (!round.jpeg) {
            const Work work(round.config.format, round.config.j2k);
            if (work.packets > Work::kMostPackets || work.warps > Work::kMostWarps) return;
        }
    }
    Picture picture = make_picture(round.random, round.config.format);
    fill(round.random, picture, static_cast<Content>(round.random.below(static_cast<uint32_t>(Content::kinds))));
    picture.upside_down = round.random.one_in(4);
    CudaencFrame frame = picture.frame();
    const std::vector<uint8_t> metadata(round.random.below(300), 'm');
    if (round.random.one_in(4)) frame.icc_profile = metadata.data(), frame.icc_profile_size = metadata.size();
    if (round.random.one_in(4)) frame.exif = metadata.data(), frame.exif_size = metadata.size();
    frame.sample_aspect_num = round.random.between(0, 100000),
    frame.sample_aspect_den = round.random.between(0, 100000);
    const std::vector<uint8_t> expected = encode(round.config, frame);
    if (round.jpeg) try {
            const JpegDecoder jpeg(expected.data(), expected.size());
            EXPECT(jpeg.width == round.config.format.width && jpeg.height == round.config.format.height,
                   "seed %d: size", first_seed + _i);
        } catch (const Error &e) {
            ck_abort_msg("seed %d: %s: %s", first_seed + _i, e.what(), round.text().c_str());
        }
    round.config.device = device;
    round.config.async_depth = round.random.between(1, 3);
    EXPECT(encode(round.config, frame) == expected, "seed %d: %s differs from the CPU: %s", first_seed + _i, device,
           round.text().c_str());
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 1) rounds = std::atoi(argv[1]);
    if (argc > 2) first_seed = std::atoi(argv[2]);
    if (argc > 3) device = argv[3];
    Suite *suite = suite_create("fuzz");
    tcase_add_loop_test(add_case(suite, "sessions"), device_gives_the_cpus_bytes, 0, rounds);
    return run_suite(suite);
}
