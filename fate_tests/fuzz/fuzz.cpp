// Formats, options and pictures at random, as long as you like: the device gives the CPU's bytes, and options that are
// not allowed give one line. Every round is a process of its own, and its seed tells how to see it again. Usage:
// cudaenc_fuzz [ROUNDS [FIRST_SEED [DEVICE]]]   SPDX-License-Identifier: LGPL-2.1-or-later
#include "../check/pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

static int rounds = 500, first_seed = 1;
static const char *device = "emu";

// A round's session, from its seed. In one of eight rounds one option is anything.
struct Round {
    explicit Round(int seed) : random(static_cast<uint64_t>(seed)) {
        const CudaencFormat format = random_format(random, random.one_in(8) ? 200 : 70);
        config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, precincts);
        wild = random.one_in(8);
        if (!wild) return;
        int *const options[] = {&config.j2k.format,     &config.j2k.tile_width,  &config.j2k.tile_height,
                                &config.j2k.pred,       &config.j2k.quality,     &config.j2k.levels,
                                &config.j2k.cblk_width, &config.j2k.cblk_height, &config.j2k.prog,
                                &config.j2k.mct,        &config.j2k.guard_bits,  &config.async_depth,
                                &config.format.width,   &config.format.height,   &config.format.component[0].depth,
                                &config.threads};
        const int values[] = {-2147483647, -7, -1, 0, 1, 2, 3, 5, 100, 101, 1 << 20, 2147483647};
        *random.of(options) = random.of(values);
    }
    Random random;
    Log log;
    std::string precincts;
    CudaencConfig config;
    bool wild;
};

START_TEST(device_gives_the_cpus_bytes) {
    Round round(first_seed + _i);
    if (round.wild) {
        CudaencSession *session = nullptr;
        const int code = cudaenc_open(&session, &round.config);
        if (code != CUDAENC_OK) {
            EXPECT(code == CUDAENC_ERR_INVALID || code == CUDAENC_ERR_MEMORY, "seed %d: open gives %d", first_seed + _i,
                   code);
            EXPECT(round.log.lines.size() == 1, "seed %d: %zu lines", first_seed + _i, round.log.lines.size());
            return;
        }
        cudaenc_close(session);
        // What is allowed after all may be larger than a round has time for.
        if (int64_t{round.config.format.width} * round.config.format.height > 200 * 200) return;
    }
    Picture picture = make_picture(round.random, round.config.format);
    fill(round.random, picture, static_cast<Content>(round.random.below(static_cast<uint32_t>(Content::kinds))));
    picture.upside_down = round.random.one_in(4);
    const std::vector<uint8_t> expected = encode(round.config, picture.frame());
    round.config.device = device;
    round.config.async_depth = round.random.between(1, 3);
    EXPECT(encode(round.config, picture.frame()) == expected, "seed %d: %s differs from the CPU: %s", first_seed + _i,
           device, describe(round.config).c_str());
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
