// Formats, options and pictures at random, as long as you like: the device gives the CPU's packets and errors, JPEG and
// H.264 streams are what the tests' decoders take, no frame is larger than its target, and what is not allowed gives
// one line. Every round is a process of its own, and its seed tells how to see it again.
// Usage: cudaenc_fuzz [ROUNDS [FIRST_SEED [DEVICE]]]   SPDX-License-Identifier: LGPL-2.1-or-later
#include "../check/h264_inputs.h"
#include "../check/h264_stream.h"
#include "../check/mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

static int rounds = 500, first_seed = 1;
static const char *device = "emu";

// A round's session, from its seed: JPEG 2000 every other time. In one of eight rounds one option is anything.
struct Round {
    explicit Round(int seed)
        : random(static_cast<uint64_t>(seed)),
          codec(seed % 2   ? CUDAENC_CODEC_J2K
                : seed % 4 ? CUDAENC_CODEC_MJPEG
                           : CUDAENC_CODEC_H264) {
        const int longest = random.one_in(8) ? 200 : 70;
        if (codec == CUDAENC_CODEC_J2K) {
            const CudaencFormat format = random_format(random, longest);
            config = make_config(format, "cpu", &log);
            config.j2k = random_options(random, format, precincts);
            if (random.one_in(2)) random_target(random, format, config.j2k, layer_rates);
        } else if (codec == CUDAENC_CODEC_MJPEG) {
            const CudaencFormat format = random_jpeg_format(random, longest);
            config = make_jpeg_config(format, "cpu", &log);
            config.mjpeg = random_jpeg_options(random, format, texts);
        } else {
            const int width = random.between(1, longest), height = random.between(1, longest);
            config = make_h264_config(make_h264_format(random.of(h264_inputs), width, height), "cpu", &log);
            config.h264 = random_h264_options(random, config.format);
        }
        wild = random.one_in(8);
        if (!wild) return;
        const int values[] = {-2147483647, -7, -1, 0, 1, 2, 3, 5, 100, 101, 1 << 20, 2147483647};
        const std::vector<int *> options = options_of_all(), own = options_of_codec();
        const std::vector<int64_t *> sizes = sizes_of_codec();
        size_t chosen = random.below(static_cast<uint32_t>(options.size() + own.size() + sizes.size()));
        if (chosen < own.size())
            *own[chosen] = random.of(values);
        else if ((chosen -= own.size()) < options.size())
            *options[chosen] = random.of(values);
        else
            *sizes[chosen - options.size()] = random.one_in(4) ? INT64_MAX : random.of(values);
    }
    std::vector<int *> options_of_all() {
        return {&config.async_depth,   &config.format.width,
                &config.format.height, &config.format.component[0].depth,
                &config.threads,       &config.format.component[1].log2_subsample_x};
    }
    std::vector<int *> options_of_codec() {
        CudaencJ2kOptions &j = config.j2k;
        CudaencMjpegOptions &m = config.mjpeg;
        CudaencH264Options &h = config.h264;
        switch (codec) {
            case CUDAENC_CODEC_J2K:
                return {&j.format,     &j.tile_width, &j.tile_height,  &j.pred,           &j.quality,
                        &j.levels,     &j.cblk_width, &j.cblk_height,  &j.prog,           &j.mct,
                        &j.guard_bits, &j.profile,    &j.main_level,   &j.sub_level,      &j.tile_parts,
                        &j.cblk_style, &j.layers,     &j.rate_control, &j.frame_rate_num, &j.pst_lag};
            case CUDAENC_CODEC_MJPEG:
                return {&m.quality, &m.huffman, &m.restart_interval, &m.mct, &m.quality_min, &m.quality_max};
            default:
                return {&h.profile,
                        &h.level,
                        &h.slices,
                        &h.rate_control,
                        &h.qp,
                        &h.aq,
                        &h.effort,
                        &h.cbr,
                        &h.hrd,
                        &h.qp_min,
                        &h.qp_max,
                        &h.deblock,
                        &h.aud,
                        &h.repeat_headers,
                        &h.timecodes,
                        &h.frame_rate_num,
                        &h.frame_rate_den,
                        &h.sample_aspect_num,
                        &h.chroma_location};
        }
    }
    std::vector<int64_t *> sizes_of_codec() {
        switch (codec) {
            case CUDAENC_CODEC_J2K:
                return {&config.j2k.bit_rate, &config.j2k.frame_bytes};
            case CUDAENC_CODEC_MJPEG:
                return {&config.mjpeg.frame_bytes};
            default:
                return {&config.h264.bit_rate, &config.h264.max_rate, &config.h264.buffer_size};
        }
    }
    std::string text() const {
        return codec == CUDAENC_CODEC_J2K     ? describe(config)
               : codec == CUDAENC_CODEC_MJPEG ? describe_jpeg(config)
                                              : describe_h264(config);
    }

    Random random;
    const CudaencCodec codec;
    Log log;
    std::string precincts, layer_rates;
    JpegTexts texts;
    CudaencConfig config;
    bool wild;
};

// What came of a session: its code, and each frame's, with its packet or the line that says why there is none.
struct Outcome {
    int code = CUDAENC_OK;
    std::vector<int> codes;
    std::vector<std::vector<uint8_t>> packets;
    std::vector<std::string> lines;
    std::vector<uint8_t> extradata;
    bool operator==(const Outcome &) const = default;
};

static Outcome encode_all(const CudaencConfig &config, std::vector<CudaencFrame> frames) {
    Log log;
    CudaencConfig logged = config;
    logged.log_opaque = &log;
    Outcome outcome;
    CudaencSession *session;
    outcome.code = cudaenc_open(&session, &logged);
    if (outcome.code == CUDAENC_OK) {
        size_t size = 0;
        if (const uint8_t *data = cudaenc_extradata(session, &size)) outcome.extradata.assign(data, data + size);
        outcome.codes.resize(frames.size());
        outcome.packets.resize(frames.size());
        const auto receive = [&] {
            for (;;) {
                CudaencPacket packet{};
                const int code = cudaenc_receive(session, &packet);
                if (code == CUDAENC_AGAIN || code == CUDAENC_EOF) return;
                const size_t i = reinterpret_cast<size_t>(packet.opaque);
                outcome.codes[i] = code;
                if (code != CUDAENC_OK) continue;
                outcome.packets[i].assign(packet.data, packet.data + packet.size);
                for (int k = 0; k < CUDAENC_PACKET_PADDING; k++) EXPECT(!packet.data[packet.size + k], "padding");
                cudaenc_buffer_free(packet.buffer);
            }
        };
        for (size_t i = 0; i < frames.size(); i++) {
            frames[i].opaque = reinterpret_cast<void *>(i);
            outcome.codes[i] = cudaenc_submit(session, &frames[i]);
            receive();
        }
        cudaenc_flush(session);
        receive();
        cudaenc_close(session);
    }
    outcome.lines = log.lines;
    return outcome;
}

// That there is a line for each error, and that it may be.
static void check_errors(const Round &round, const Outcome &outcome, int seed) {
    std::vector<int> codes = outcome.codes;
    codes.push_back(outcome.code);
    size_t errors = 0;
    for (const int code : codes) {
        if (code == CUDAENC_OK) continue;
        errors++;
        EXPECT(code == CUDAENC_ERR_INVALID ||
                   (round.wild && (code == CUDAENC_ERR_MEMORY || code == CUDAENC_ERR_UNSUPPORTED)),
               "seed %d: code %d, %s: %s", seed, code, outcome.lines.empty() ? "" : outcome.lines[0].c_str(),
               round.text().c_str());
    }
    EXPECT(outcome.lines.size() == errors, "seed %d: %zu lines of %zu errors", seed, outcome.lines.size(), errors);
    if (round.wild) return;
    for (const std::string &line : outcome.lines)
        EXPECT(line.find("is not possible") != line.npos, "seed %d: %s: %s", seed, line.c_str(), round.text().c_str());
}

// That packets are what a decoder takes, and not larger than they may be.
static void check_packets(const Round &round, const Outcome &outcome) {
    const CudaencFormat &format = round.config.format;
    for (size_t i = 0; i < outcome.packets.size(); i++) {
        const std::vector<uint8_t> &packet = outcome.packets[i];
        if (outcome.codes[i] != CUDAENC_OK) continue;
        if (round.codec == CUDAENC_CODEC_J2K) {
            const uint64_t most = j2k::make_params(format, round.config.j2k).rate.layers.back();
            if (most && packet.size() > most) throw Error(CUDAENC_ERR_INTERNAL, "a packet is larger than its target");
        } else if (round.codec == CUDAENC_CODEC_MJPEG) {
            const JpegDecoder jpeg(packet.data(), packet.size());
            if (jpeg.width != format.width || jpeg.height != format.height) throw Error(CUDAENC_ERR_INTERNAL, "size");
        } else if (decode_stream(packet, outcome.extradata).size() != 1) {
            throw Error(CUDAENC_ERR_INTERNAL, "a packet is not a picture");
        }
    }
}

START_TEST(device_gives_the_cpus_packets) {
    const int seed = first_seed + _i;
    Round round(seed);
    const CudaencFormat &format = round.config.format;
    if (round.wild) {
        const Outcome opened = encode_all(round.config, {});
        check_errors(round, opened, seed);
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
        input.push_back(frame);
    }
    const int depth = round.random.between(1, 3);
    const Outcome expected = encode_all(round.config, input);
    check_errors(round, expected, seed);
    try {
        check_packets(round, expected);
    } catch (const std::exception &e) {
        ck_abort_msg("seed %d: %s: %s", seed, e.what(), round.text().c_str());
    }
    round.config.device = device;
    round.config.async_depth = depth;
    EXPECT(encode_all(round.config, input) == expected, "seed %d: %s differs from the CPU: %s", seed, device,
           round.text().c_str());
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 1) rounds = std::atoi(argv[1]);
    if (argc > 2) first_seed = std::atoi(argv[2]);
    if (argc > 3) device = argv[3];
    Suite *suite = suite_create("fuzz");
    tcase_add_loop_test(add_case(suite, "sessions"), device_gives_the_cpus_packets, 0, rounds);
    return run_suite(suite);
}
