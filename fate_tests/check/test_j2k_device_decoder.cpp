// SPDX-License-Identifier: LGPL-2.1-or-later
// The JPEG 2000 decoder on a device against that on the CPU: samples, errors and what is said of damage. Pictures in
// flight, sizes that change, resolutions left out, damaged and cut codestreams, CUDA frames, calls that fail.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../../common/j2k/j2k.h"
#include "fault_device.h"
#include "j2k_case.h"
#include "j2k_file.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

using Bytes = std::vector<uint8_t>;

// text: of options, which the configuration points to.
CudaencConfig random_config(Random &random, const CudaencFormat &format, bool ht, std::string &text, Log *log) {
    CudaencConfig config = make_config(format, "cpu", log);
    config.j2k = ht ? random_ht_options(random, format, text) : random_options(random, format, text);
    config.j2k.format = random.one_in(3) ? CUDAENC_J2K_JP2 : CUDAENC_J2K_CODESTREAM;
    try {
        j2k::make_params(format, config.j2k);
    } catch (const Error &) {
        config.j2k.roi = nullptr;  // there are too many bit-planes
    }
    return config;
}

// Some pictures of one configuration, so that headers are alike.
void add_packets(Random &random, int longest, std::vector<Bytes> &packets) {
    Log log;
    std::string text;
    const CudaencFormat format = random_format(random, longest);
    const CudaencConfig config = random_config(random, format, random.one_in(2), text, &log);
    for (int i = random.between(1, 3); i > 0; i--) {
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))));
        packets.push_back(encode(config, picture.frame()));
    }
}

Bytes damaged(Random &random, Bytes packet) {
    const auto at = [&] { return random.below(static_cast<uint32_t>(packet.size())); };
    if (random.one_in(3)) packet.resize(at() + 1);
    for (uint32_t n = random.below(5); n; n--) packet[at()] = static_cast<uint8_t>(random.word());
    return packet;
}

// What came of a packet.
struct Outcome {
    int code = CUDAENC_OK;
    bool corrupt = false;
    std::string said;  // the last line
    Picture picture;   // with what is between its rows
};

class DecoderOf {
  public:
    DecoderOf(const std::string &spec, int lowres, int depth, int layers = 0, const char *region = nullptr,
              bool usual_format = false)
        : depth_(depth) {
        CudaencDecoderConfig config;
        cudaenc_decoder_defaults(&config, CUDAENC_CODEC_J2K);
        config.device = spec.c_str(), config.async_depth = depth, config.threads = 2, config.lowres = lowres;
        config.layers = layers, config.region = region, config.usual_format = usual_format;
        config.log = [](void *opaque, CudaencLogLevel level, const char *line) {
            if (level <= CUDAENC_LOG_WARNING) *static_cast<std::string *>(opaque) = line;
        };
        config.log_opaque = &said_;
        const int code = cudaenc_decoder_open(&decoder_, &config);
        EXPECT(code == CUDAENC_OK, "%s: %s", spec.c_str(), said_.c_str());
    }
    ~DecoderOf() { cudaenc_decoder_close(decoder_); }
    DecoderOf(const DecoderOf &) = delete;

    std::vector<Outcome> decode(const std::vector<Bytes> &packets) {
        std::vector<Outcome> outcomes(packets.size());
        for (size_t i = 0; i < packets.size(); i++) {
            if (in_flight_ == depth_) receive();
            submit(packets[i], outcomes[i]);
            if (i % 3 == 0 && in_flight_) receive_if_done();
        }
        cudaenc_decoder_flush(decoder_);
        while (in_flight_) receive();
        return outcomes;
    }

  private:
    void submit(const Bytes &packet, Outcome &o) {
        Random random(7);  // what planes have before
        said_.clear();
        CudaencPictureInfo info{};
        info.struct_size = sizeof info;
        o.code = cudaenc_decoder_read_header(decoder_, packet.data(), packet.size(), &info);
        if (o.code == CUDAENC_OK) {
            o.picture = make_picture(random, info.format);
            CudaencCodedPicture coded{};
            coded.struct_size = sizeof coded;
            coded.data = packet.data(), coded.size = packet.size(), coded.opaque = &o;
            for (size_t i = 0; i < static_cast<size_t>(info.format.planes); i++)
                coded.planes[i] = o.picture.memory[i].data(), coded.stride[i] = o.picture.stride[i];
            o.code = cudaenc_decoder_submit(decoder_, &coded);
        }
        if (o.code == CUDAENC_OK)
            in_flight_++;
        else
            o.said = said_;
    }
    void receive() { receive(cudaenc_decoder_wait); }
    void receive_if_done() { receive(cudaenc_decoder_poll); }
    void receive(int (*call)(CudaencDecoder *, CudaencDecodedPicture *)) {
        CudaencDecodedPicture decoded{};
        decoded.struct_size = sizeof decoded;
        said_.clear();
        const int code = call(decoder_, &decoded);
        if (code == CUDAENC_AGAIN) return;
        in_flight_--;
        auto &o = *static_cast<Outcome *>(decoded.opaque);
        o.code = code, o.corrupt = decoded.corrupt, o.said = said_;
    }
    const int depth_;
    int in_flight_ = 0;
    std::string said_;
    CudaencDecoder *decoder_ = nullptr;
};

// Returns how many came out whole, damaged, and as errors.
std::array<int, 3> compare(const std::vector<Bytes> &packets, const std::string &spec, int lowres, int depth,
                           int layers = 0, const char *region = nullptr, bool usual_format = false) {
    const std::vector<Outcome> expected = DecoderOf("cpu", lowres, 1, layers, region, usual_format).decode(packets),
                               made = DecoderOf(spec, lowres, depth, layers, region, usual_format).decode(packets);
    std::array<int, 3> counts{};
    for (size_t i = 0; i < packets.size(); i++) {
        const Outcome &is = made[i], &was = expected[i];
        EXPECT(is.code == was.code && is.corrupt == was.corrupt && is.said == was.said,
               "packet %zu, lowres %d: %d, \"%s\", not %d, \"%s\"", i, lowres, is.code, is.said.c_str(), was.code,
               was.said.c_str());
        counts[is.code != CUDAENC_OK ? 2 : is.corrupt]++;
        if (is.code != CUDAENC_OK) continue;
        EXPECT(std::ranges::equal(is.picture.memory, was.picture.memory),
               "packet %zu of %zu, lowres %d, %dx%d: other samples", i, packets.size(), lowres, is.picture.format.width,
               is.picture.format.height);
    }
    return counts;
}

START_TEST(pictures_in_flight) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 1);
    for (const int depth : {1, 4}) {
        std::vector<Bytes> packets;
        for (int i = 0; i < 20; i++) add_packets(random, i % 5 ? 70 : 200, packets);
        EXPECT(compare(packets, spec, 0, depth)[0] == static_cast<int>(packets.size()), "pictures are damaged");
        compare(packets, spec, 1, depth);
        compare(packets, spec, 3, depth);
    }
}
END_TEST

// Whose bytes are uploaded part by part while their packets are read, where they are alone; those of many blocks are
// then decoded part by part, too.
START_TEST(large_pictures) {
    Random random(21);
    Log log;
    const bool has_many_blocks = _i % 2;
    const std::string &spec = device_specs[static_cast<size_t>(_i / 2)];
    CudaencConfig config = make_config(make_format(1100, 1000, 1, 16, true, CUDAENC_COLOR_GRAY), "cpu", &log);
    config.j2k.pred = CUDAENC_J2K_DWT53;
    config.j2k.cblk_style = CUDAENC_J2K_HT;
    if (has_many_blocks) {
        config.j2k.cblk_width = 8, config.j2k.cblk_height = 16;
        config.j2k.precincts = "256x256";
    }
    Picture picture = make_picture(random, config.format, Content::noise);
    std::vector<Bytes> packets(3, encode(config, picture.frame()));
    EXPECT(packets[0].size() > 2 << 20, "%zu bytes", packets[0].size());
    packets[1].resize(packets[1].size() / 2);
    for (const int depth : {1, 2}) {
        const std::array<int, 3> counts = compare(packets, spec, 0, depth);
        EXPECT(counts[0] == 2 && counts[1] == 1, "%d whole, %d damaged", counts[0], counts[1]);
    }
}
END_TEST

// With HT blocks that are decoded part by part, where it is alone.
CudaencConfig config_in_parts(int width, int height, Log *log) {
    CudaencConfig config = make_config(make_format(width, height, 3, 8, false, CUDAENC_COLOR_RGB), "cpu", log);
    config.j2k.cblk_style = CUDAENC_J2K_HT;
    config.j2k.cblk_width = config.j2k.cblk_height = 4;
    return config;
}

// Whose first blocks are decoded while further packets are read, where they are alone. Damage of later packets leaves
// those as they are.
START_TEST(blocks_in_parts) {
    Random random(22);
    std::vector<Bytes> packets;
    for (const bool has_precincts : {false, true}) {
        Log log;
        CudaencConfig config = config_in_parts(440, 300, &log);
        if (has_precincts) config.j2k.precincts = "64x64";
        Picture picture = make_picture(random, config.format, Content::noise);
        const Bytes packet = encode(config, picture.frame());
        packets.push_back(packet);
        for (const size_t percent : {50, 85}) {
            packets.push_back(packet);
            packets.back().resize(packet.size() * percent / 100);
        }
        for (int i = 0; i < 5; i++) packets.push_back(damaged(random, packet));
        packets.push_back(packet);
    }
    const std::array<int, 3> counts = compare(packets, device_specs[static_cast<size_t>(_i)], 0, 1);
    EXPECT(counts[0] >= 4 && counts[1] >= 4, "%d whole, %d damaged", counts[0], counts[1]);
}
END_TEST

// Also of pictures that are smaller than the region.
START_TEST(regions_and_layers) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 50);
    std::array<int, 3> counts{};
    for (int repeat = 0; repeat < 12; repeat++) {
        std::vector<Bytes> packets;
        for (int i = 0; i < 6; i++) add_packets(random, i % 3 ? 90 : 250, packets);
        const auto number = [&](uint32_t below) { return static_cast<int>(random.below(below)); };
        const std::string region =
            format_string("%d,%d,%d,%d", 4 * number(12), 4 * number(12), 1 + number(40), 1 + number(40));
        const std::array<int, 3> more = compare(packets, spec, repeat % 3, 3, number(3), region.c_str());
        for (size_t i = 0; i < counts.size(); i++) counts[i] += more[i];
    }
    EXPECT(counts[0] > 20 && !counts[1], "%d whole, %d damaged, %d refused", counts[0], counts[1], counts[2]);
}
END_TEST

// Components that are no channels, also beside those of a picture before, whose codestream has the same headers.
START_TEST(channels_of_many_components) {
    Random random(11);
    Picture picture = make_picture(random, make_format(37, 29, 3, 8, false, CUDAENC_COLOR_YUV), Content::noise);
    const Bytes stream = of_five_components(picture), colr = box("colr", {1, 0, 0, 0, 0, 0, 17});
    const Bytes gray = box("cdef", {0, 1, 0, 2, 0, 0, 0, 1}),
                twice = box("cdef", {0, 2, 0, 1, 0, 0, 0, 1, 0, 1, 0, 2, 0, 0});
    const std::vector<Bytes> packets{file_of(stream, {colr, channels_of_five()}), file_of(stream, {colr, gray}),
                                     file_of(stream, {colr, twice}), file_of(stream, {colr})};
    const std::array<int, 3> counts = compare(packets, device_specs[static_cast<size_t>(_i)], 0, 2);
    EXPECT(counts[0] == 3 && counts[2] == 1, "%d whole, %d refused", counts[0], counts[2]);
}
END_TEST

// CMYK that becomes RGB, beside the same codestream as RGB and alpha.
START_TEST(inks) {
    Random random(12);
    std::vector<Bytes> packets;
    for (const int depth : {8, 10, 12}) {
        Log log;
        Picture picture =
            make_picture(random, make_format(141, 53, 4, depth, false, CUDAENC_COLOR_RGB), Content::noise);
        CudaencConfig config = make_config(picture.format, "cpu", &log);
        cudaenc_j2k_defaults(&config.j2k);
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        const Bytes stream = encode(config, picture.frame());
        for (const uint8_t colours : {12, 16, 12})
            packets.push_back(file_of(stream, {box("colr", {1, 0, 0, 0, 0, 0, colours})}));
    }
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    for (const char *region : {static_cast<const char *>(nullptr), "7,5,131,40"}) {
        const std::array<int, 3> counts = compare(packets, spec, 0, 3, 0, region, true);
        EXPECT_EQ(counts[0], static_cast<int>(packets.size()));
    }
}
END_TEST

START_TEST(damage_is_said_alike) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 100);
    std::array<int, 3> counts{};
    for (int repeat = 0; repeat < 6; repeat++) {
        std::vector<Bytes> packets, changed;
        for (int i = 0; i < 5; i++) add_packets(random, 60, packets);
        for (const Bytes &packet : packets)
            for (int i = 0; i < 10; i++) changed.push_back(damaged(random, packet));
        const std::array<int, 3> more = compare(changed, spec, repeat % 3 ? 0 : 1, 3);
        for (size_t i = 0; i < counts.size(); i++) counts[i] += more[i];
    }
    EXPECT(counts[0] > 5 && counts[1] > 30 && counts[2] > 30, "%d whole, %d damaged, %d refused", counts[0], counts[1],
           counts[2]);
}
END_TEST

// The codestreams of T.803, or others, in the folder J2K_FILES.
START_TEST(files) {
    const char *const folder = std::getenv("J2K_FILES");
    if (!folder) return;
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (const auto ending = entry.path().extension();
            ending == ".j2k" || ending == ".j2c" || ending == ".jp2" || ending == ".jph" || ending == ".jhc")
            paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<Bytes> packets;
    for (const auto &path : paths) {
        std::ifstream in(path, std::ios::binary);
        packets.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>{});
    }
    for (const int lowres : {0, 1, 2}) {
        const std::array<int, 3> counts = compare(packets, device_specs[0], lowres, 4);
        std::printf("lowres %d: %d of %zu whole, %d damaged, %d refused\n", lowres, counts[0], packets.size(),
                    counts[1], counts[2]);
    }
}
END_TEST

constexpr j2k::DecoderOptions kOptions{.lowres = 0, .max_pixels = 1 << 20};

// Planes in a device's memory, guarded.
START_TEST(device_frames) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 200);
    std::vector<Bytes> packets;
    for (int i = 0; i < 12; i++) add_packets(random, 70, packets);
    const std::vector<Outcome> expected = DecoderOf("cpu", 0, 1).decode(packets);
    Ring<Decoder> ring(j2k::make_device_decoder(kOptions, 3, 2, device, true, false), 3);
    std::vector<std::vector<Guarded<uint8_t>>> planes(packets.size());
    size_t received = 0;
    const auto receive = [&] {
        Decoded decoded;
        void *opaque = nullptr;
        EXPECT_EQ(ring.receive(decoded, opaque, Receive::now), CUDAENC_OK);
        const Picture &picture = expected[received].picture;
        for (size_t i = 0; i < planes[received].size(); i++)
            EXPECT(planes[received][i].read("plane") == picture.memory[i], "packet %zu, plane %zu", received, i);
        received++;
    };
    for (size_t k = 0; k < packets.size(); k++) {
        if (ring.full()) receive();
        CudaencCodedPicture coded{};
        coded.data = packets[k].data(), coded.size = packets[k].size();
        Random before(7);
        const Picture picture = make_picture(before, expected[k].picture.format);
        for (size_t i = 0; i < static_cast<size_t>(picture.format.planes); i++) {
            planes[k].emplace_back(device, picture.memory[i]);
            coded.planes[i] = planes[k].back().data(), coded.stride[i] = picture.stride[i];
        }
        device->synchronize(Device::Stream{});
        ring.submit({coded, j2k::read_header(packets[k], kOptions)}, nullptr);
    }
    while (received < packets.size()) receive();
}
END_TEST

// From a call of the device on all fail, until a packet is lost. Then the slots are as new. Of pictures in flight, or
// of one that is decoded part by part.
START_TEST(every_device_call_may_fail) {
    const bool has_parts = _i;
    const int slots = has_parts ? 1 : 3;
    Random random(13);
    std::vector<Bytes> packets;
    if (has_parts) {
        Log log;
        CudaencConfig config = config_in_parts(240, 200, &log);
        config.j2k.precincts = "64x64";
        packets.push_back(encode(config, make_picture(random, config.format, Content::flat).frame()));
    } else {
        while (packets.size() < 7) add_packets(random, 40, packets);
    }
    const std::vector<Outcome> expected = DecoderOf("cpu", 0, 1).decode(packets);
    const std::shared_ptr<Device> device = open_test_device(0);
    const auto decode = [&](Ring<Decoder> &ring, const std::function<void()> &on_error) {
        std::vector<Picture> pictures;
        for (const Outcome &o : expected) {
            Random before(7);
            pictures.push_back(make_picture(before, o.picture.format));
        }
        int lost = 0;
        const auto attempt = [&](const std::function<void()> &work) {
            try {
                work();
            } catch (const Error &e) {
                EXPECT(e.code == CUDAENC_ERR_DEVICE || e.code == CUDAENC_ERR_MEMORY, "code %d: %s", e.code, e.what());
                lost++;
                on_error();
            }
        };
        int code = CUDAENC_OK;
        const auto receive = [&] {
            attempt([&] {
                Decoded decoded;
                void *opaque = nullptr;
                code = ring.receive(decoded, opaque, Receive::when_due);
                if (code != CUDAENC_OK) return;
                const auto number = static_cast<size_t>(static_cast<Picture *>(opaque) - pictures.data());
                EXPECT(std::ranges::equal(pictures[number].memory, expected[number].picture.memory),
                       "the samples of packet %zu", number);
            });
        };
        for (size_t i = 0; i < packets.size(); i++) {
            while (ring.full()) receive();
            CudaencCodedPicture coded{};
            coded.data = packets[i].data(), coded.size = packets[i].size();
            for (size_t k = 0; k < static_cast<size_t>(pictures[i].format.planes); k++)
                coded.planes[k] = pictures[i].memory[k].data(), coded.stride[k] = pictures[i].stride[k];
            attempt([&] { ring.submit({coded, j2k::read_header(packets[i], kOptions)}, &pictures[i]); });
        }
        ring.flush();
        for (code = CUDAENC_OK; code != CUDAENC_EOF;) receive();
        return lost;
    };
    int reached = 0;
    for (int call = 1;; call++) {
        Failures failures;
        Ring<Decoder> ring(
            j2k::make_device_decoder(kOptions, slots, 1, std::make_shared<FaultDevice>(device, failures), false, false),
            slots);
        failures.begin(call, true);
        const int lost = decode(ring, [&] { failures.end(); });
        EXPECT(failures.end() == (lost > 0) && lost <= slots, "call %d: %d packets are lost", call, lost);
        EXPECT(decode(ring, [] {}) == 0, "a packet is lost after call %d", call);
        if (!lost) break;
        reached++;
    }
    EXPECT(reached > (has_parts ? 20 : 7 * 8), "%d calls", reached);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("j2k_device_decoder");
    TCase *pictures = add_case(suite, "pictures");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(pictures, pictures_in_flight, 0, devices);
    tcase_add_loop_test(pictures, large_pictures, 0, std::min(devices, 1) * 2);
    tcase_add_loop_test(pictures, blocks_in_parts, 0, std::min(devices, 1));
    tcase_add_loop_test(pictures, regions_and_layers, 0, devices);
    tcase_add_loop_test(pictures, channels_of_many_components, 0, devices);
    tcase_add_loop_test(pictures, inks, 0, devices);
    tcase_add_loop_test(pictures, damage_is_said_alike, 0, devices);
    tcase_add_loop_test(pictures, device_frames, 0, devices);
    tcase_add_test(pictures, files);
    tcase_add_loop_test(pictures, every_device_call_may_fail, 0, 2);
    return run_suite(suite);
}
