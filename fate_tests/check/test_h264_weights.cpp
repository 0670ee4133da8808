// SPDX-License-Identifier: LGPL-2.1-or-later
// Weighted prediction: weights of fades, on devices those of the CPU, and what they save.
#include "../../common/h264/inter/fade.h"
#include "../../common/h264/inter/reference.h"
#include "../../cuda_kernels/h264/inter/motion_search.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

// A fade: samples times `times` / 64, and `light`.
struct Fade {
    int times, light, noise;
    int of(Random &random, int sample) const {
        return std::clamp(sample * times / 64 + light + random.between(-noise, noise), 0, 255);
    }
};
int texture(int x, int y) {
    const auto wave = [](int v, int period) { return v % (2 * period) < period ? v % period : period - v % period; };
    return 40 + 2 * wave(x + y / 2, 29) + 3 * wave(y, 17) + 12 * ((x / 13 * 5 + y / 11 * 7) % 5);
}

// Two pictures of a width and height: texture, and what becomes of it.
struct Pair {
    int width, height;
    std::vector<uint8_t> before, now;
    Pair(Random &random, int w, int h, const Fade &fade) : width(w), height(h) {
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                const int sample = texture(x, y);
                before.push_back(static_cast<uint8_t>(sample));
                now.push_back(static_cast<uint8_t>(fade.of(random, sample)));
            }
    }
    SourcePyramid pyramid(const std::vector<uint8_t> &samples, ThreadPool &pool) const {
        const int columns = (width + 15) / 16 * 16, rows = (height + 15) / 16 * 16;
        std::vector<Sample> whole;
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++)
                whole.push_back(samples[static_cast<size_t>(std::min(y, height - 1) * width + std::min(x, width - 1))]);
        SourcePyramid pyramid;
        pyramid.build({whole.data(), columns}, columns, rows, pool);
        return pyramid;
    }
};

START_TEST(fades) {
    ThreadPool pool(1);
    Random random(1);
    const auto weights = [&](const Fade &fade) {
        const Pair pair(random, 320, 200, fade);
        return find_weights(pair.pyramid(pair.now, pool), pair.pyramid(pair.before, pool));
    };
    for (const int times : {20, 32, 50, 60, 70, 90}) {
        const PictureWeights w = weights({times, 0, 1});
        const double factor = static_cast<double>(w.weight) / (1 << w.log2_denominator);
        EXPECT(w.any() && std::abs(factor - times / 64.0) < 0.04, "times %d: %d / 2^%d", times, w.weight,
               w.log2_denominator);
        EXPECT(std::abs(w.offset) < 5, "times %d: offset %d", times, w.offset);
    }
    for (const int light : {-30, 12, 60}) {
        const PictureWeights w = weights({64, light, 0});
        EXPECT(w.any() && std::abs(w.offset - light) < 4, "light %d: offset %d", light, w.offset);
    }
    EXPECT(!weights({64, 0, 0}).any() && !weights({64, 0, 9}).any(), "no fade");
    EXPECT(!weights({0, 128, 0}).any() && !weights({4, 0, 0}).any(), "little is left of the picture before");
    EXPECT(!weights_of({}, 100).any(), "black");
    // Every sample that weights make of another one leads back to it, as far as it can.
    for (int weight = 16; weight < 128; weight++)
        for (const int offset : {-40, 0, 17}) {
            const PictureWeights w{.log2_denominator = 6, .weight = weight, .offset = offset};
            for (int s = 0; s < 256; s++) {
                const int to = w.weigh(s, offset, 8);
                if (to == 0 || to == 255) continue;
                EXPECT(std::abs(w.before(to) - s) <= 64 / weight + 1, "weight %d, offset %d: %d, %d, %d", weight,
                       offset, s, to, w.before(to));
            }
        }
}
END_TEST

// What a device finds, and the source that it searches, are the CPU's.
START_TEST(kernels) {
    ThreadPool pool(1);
    const auto device = open_test_device(_i);
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(7);
    const int sizes[][2] = {{16, 16}, {130, 50}, {333, 250}};
    for (const auto &[width, height] : sizes)
        for (int round = 0; round < 6; round++) {
            const Fade fade{random.between(10, 120), random.between(-60, 60), random.between(0, 3)};
            const Pair pair(random, width, height, fade);
            const DeviceMotionSearch search(device, width, height, 128);
            const DevicePyramid now = search.make_pyramid(), before = search.make_pyramid();
            const auto weighed = search.make_weighed_source();
            const Stream stream(device);
            const auto build = [&](const std::vector<uint8_t> &samples, const DevicePyramid &to) {
                const DeviceArray<uint8_t> copy = upload_now(device, samples);
                search.build(stream, {copy.data(), width, 1, 0, 8}, to);
                device->synchronize(stream);
            };
            build(pair.now, now);
            build(pair.before, before);
            search.weigh(stream, now, before, *weighed);
            device->synchronize(stream);
            const SourcePyramid source = pair.pyramid(pair.now, pool);
            const PictureWeights own = find_weights(source, pair.pyramid(pair.before, pool));
            const PictureWeights &w = *weighed->host_weights.data();
            EXPECT(w.log2_denominator == own.log2_denominator && w.weight == own.weight && w.offset == own.offset,
                   "%s, %dx%d: %d / 2^%d + %d, not %d / 2^%d + %d", spec.c_str(), width, height, w.weight,
                   w.log2_denominator, w.offset, own.weight, own.log2_denominator, own.offset);
            SourcePyramid expected;
            if (own.any()) expected.build_before(source, own, pool);
            for (int level = 0; level < kPyramidLevels; level++) {
                const BytePlane &plane = (own.any() ? expected : source).levels[level];
                const DevicePlane &found = weighed->pyramid.levels[level];
                std::vector<uint8_t> memory(found.memory().bytes());
                device->download(nullptr, memory.data(), found.memory().data(), memory.size());
                device->synchronize(Device::Stream{});
                const ptrdiff_t first = found.plane().data - found.memory().data();
                for (int y = 0; y < plane.height(); y++)
                    EXPECT(std::equal(plane.at(0, y), plane.at(plane.width(), y),
                                      memory.begin() + first + y * found.plane().stride),
                           "%s, %dx%d: level %d, row %d", spec.c_str(), width, height, level, y);
            }
        }
}
END_TEST

// A fade of a moving picture takes at most half of the bytes with weights, in every format, and the tests' decoder
// comes as near to it.
START_TEST(saving) {
    const H264Format &input = h264_inputs[_i];
    const CudaencFormat format = make_h264_format(input, 96, 80);
    Random random(3);
    std::vector<Picture> pictures;
    for (int i = 0; i < 8; i++) {
        Picture picture = make_picture(random, format);
        for (int c = 0; c < format.components; c++)
            for (int y = 0; y < picture.component_rows(c); y++)
                for (int x = 0; x < picture.columns(c); x++) {
                    const int sample = texture((c ? 2 : 1) * x + 2 * i, (c ? 2 : 1) * y) - (c ? 128 : 0);
                    const int deep = (sample * (10 - i) / 10 + (c ? 128 : 0)) << (input.depth - 8);
                    picture.set(c, x, y, static_cast<uint32_t>(deep));
                }
        pictures.push_back(std::move(picture));
    }
    size_t bytes[2] = {};
    double errors[2] = {};
    for (const int weighted : {0, 1}) {
        Log log;
        CudaencConfig config = make_h264_config(format, "cpu", &log);
        config.h264.effort = 0;
        config.h264.gop_size = 8;
        config.h264.scene_cut = 0;
        config.h264.qp = 24;
        config.h264.weighted_prediction = weighted;
        std::vector<uint8_t> stream;
        encode_pictures(config, pictures, [&](const CudaencPacket &packet) {
            stream.insert(stream.end(), packet.data, packet.data + packet.size);
            if (packet.delta) bytes[weighted] += packet.size;
        });
        const std::vector<StreamPicture> decoded = decode_stream(stream);
        EXPECT_EQ(decoded.size(), pictures.size());
        for (size_t i = 0; i < decoded.size(); i++) {
            EXPECT(!weighted == !decoded[i].pps.weighted_pred, "weighted_pred_flag");
            for (int y = 0; y < 80; y++)
                for (int x = 0; x < 96; x++) {
                    const double d = decoded[i].decoded->shown(0, x, y) - static_cast<double>(pictures[i].get(0, x, y));
                    errors[weighted] += d * d;
                }
        }
    }
    EXPECT(2 * bytes[1] < bytes[0], "%s: %zu bytes of %zu", input.name, bytes[1], bytes[0]);
    EXPECT(errors[1] < 1.1 * errors[0], "%s: an error of %f, %f without", input.name, errors[1], errors[0]);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 weights");
    TCase *c = add_case(suite, "weights");
    tcase_add_test(c, fades);
    tcase_add_loop_test(c, kernels, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, saving, 0, static_cast<int>(std::size(h264_inputs)));
    return run_suite(suite);
}
