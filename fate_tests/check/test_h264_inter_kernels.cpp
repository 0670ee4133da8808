// SPDX-License-Identifier: LGPL-2.1-or-later
// Inter coding on devices: macroblocks, levels, reconstruction, P_Skip and costs are those of the CPU, over motion,
// QPs, sizes and contents.
#include "../../common/h264/inter/inter_coder.h"
#include "../../common/h264/inter/refine_steps.h"
#include "../../cuda_kernels/h264/inter/device_inter_coder.h"
#include "h264_reconstructed_picture.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

constexpr int kLevelCount = 16 * blocks_per_macroblock(ChromaFormat::c420);

// Planes of a source and of the decoded picture before, with motion for each macroblock.
struct Case {
    int width, height, columns, rows, vertical, drop_step;
    bool transform_8x8;
    std::vector<uint8_t> source[3];  // of the picture's size
    std::vector<Sample> decoded[3];  // whole macroblocks
    std::vector<int8_t> qps;
    std::vector<MacroblockMotion> motion;

    // noise: what the source differs by, at most.
    Case(Random &random, int w, int h, int noise, int lowest_qp)
        : width(w), height(h), columns((w + 15) / 16), rows((h + 15) / 16), vertical(random.of({8, 64, 512})) {
        drop_step = random.one_in(5) ? random.between(1, kDropSteps) : 0;
        transform_8x8 = !random.one_in(4);
        const bool slow = random.one_in(2);
        const int slope = random.between(1, 9), extremes = random.one_in(5);
        for (int c = 0; c < 3; c++) {
            decoded[c].resize(static_cast<size_t>(plane_width(c) * plane_height(c)));
            for (int y = 0; y < plane_height(c); y++)
                for (int x = 0; x < plane_width(c); x++)
                    decoded[c][static_cast<size_t>(y * plane_width(c) + x)] = static_cast<Sample>(
                        extremes ? random.of({0, 255}) : (slope * x + 3 * y + random.between(0, slow ? 3 : 40)) % 256);
            source[c].resize(static_cast<size_t>(source_width(c) * source_height(c)));
            for (int y = 0; y < source_height(c); y++)
                for (int x = 0; x < source_width(c); x++)
                    source[c][static_cast<size_t>(y * source_width(c) + x)] = static_cast<uint8_t>(std::clamp(
                        int{decoded[c][static_cast<size_t>(y * plane_width(c) + x)]} + random.between(-noise, noise), 0,
                        255));
        }
        const int qp = random.between(lowest_qp, kMaxQp);
        for (int i = 0; i < columns * rows; i++) {
            qps.push_back(static_cast<int8_t>(drop_step          ? kMaxQp
                                              : random.one_in(3) ? random.between(lowest_qp, kMaxQp)
                                                                 : qp));
            const VectorRange range = range_of(i % columns, i / columns, columns, rows, vertical);
            const auto vector = [&] {
                return slow || random.one_in(2) ? range.clamp(random.between(-3, 3), random.between(-3, 3))
                                                : range.clamp(random.between(-99, 99), random.between(-99, 99));
            };
            MacroblockMotion m{};
            m.fill(slow && random.one_in(2) ? Vector{} : vector());
            m.shape = random.one_in(3) ? static_cast<Shape>(random.between(1, 3)) : Shape::p16x16;
            for (int b = 1; b < 4; b++)
                m.vectors[b] = part_of_block(m.shape, b) == part_of_block(m.shape, b - 1)         ? m.vectors[b - 1]
                               : part_of_block(m.shape, b) == part_of_block(m.shape, 0)           ? m.vectors[0]
                               : b == 3 && part_of_block(m.shape, 3) == part_of_block(m.shape, 1) ? m.vectors[1]
                                                                                                  : vector();
            motion.push_back(m);
        }
    }
    int plane_width(int c) const { return columns * (c ? 8 : 16); }
    int plane_height(int c) const { return rows * (c ? 8 : 16); }
    int source_width(int c) const { return c ? (width + 1) / 2 : width; }
    int source_height(int c) const { return c ? (height + 1) / 2 : height; }
    int source_sample(int c, int x, int y) const {
        return source[c][static_cast<size_t>(std::min(y, source_height(c) - 1) * source_width(c) +
                                             std::min(x, source_width(c) - 1))];
    }
};

// What coders leave.
struct Coded {
    std::vector<Macroblock> macroblocks;
    std::vector<int16_t> levels;
    std::vector<MacroblockMotion> motion;
    std::vector<InterOutcome> outcomes;
    std::vector<uint8_t> planes[3];
    explicit Coded(const Case &c)
        : macroblocks(c.motion.size()),
          levels(c.motion.size() * kLevelCount),
          motion(c.motion),
          outcomes(c.motion.size()) {
        for (int k = 0; k < 3; k++) planes[k].resize(c.decoded[k].size());
    }
};

Coded code_on_cpu(const Case &c) {
    ThreadPool pool(1);
    ReferencePicture reference;
    const ConstBlock planes[3] = {{c.decoded[0].data(), c.plane_width(0)},
                                  {c.decoded[1].data(), c.plane_width(1)},
                                  {c.decoded[2].data(), c.plane_width(2)}};
    reference.build(planes, c.plane_width(0), c.plane_height(0), pool);
    PictureFormat format{};
    format.width = c.width, format.height = c.height;
    format.chroma = ChromaFormat::c420;
    format.bit_depth = 8;
    format.slices = 1;
    format.transform_8x8 = c.transform_8x8;
    InterCoder coder(format, reference);
    Coded coded(c);
    const MotionField field{c.motion.data(), c.columns};
    for (size_t m = 0; m < c.motion.size(); m++) {
        const int x = static_cast<int>(m) % c.columns, y = static_cast<int>(m) / c.columns;
        MacroblockSamples source, reconstruction;
        for (int i = 0; i < 256; i++)
            source.luma[i] = static_cast<Sample>(c.source_sample(0, 16 * x + i % 16, 16 * y + i / 16));
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 64; i++)
                source.chroma[k][i] = static_cast<Sample>(c.source_sample(1 + k, 8 * x + i % 8, 8 * y + i / 8));
        const Vector skipped = field.skipped(x, y);
        coded.outcomes[m] =
            coder.code({.x = x,
                        .y = y,
                        .qp = c.qps[m],
                        .drop_step = c.drop_step,
                        .skipped = skipped,
                        .can_skip = range_of(x, y, c.columns, c.rows, c.vertical).has(skipped),
                        .vector_bits = field.bits(x, y, c.motion[m]) + shape_bits(c.motion[m].shape)},
                       source, c.motion[m], coded.macroblocks[m], &coded.levels[m * kLevelCount], reconstruction);
        if (coded.outcomes[m].skipped) coded.motion[m].fill(skipped);
        for (int i = 0; i < 256; i++)
            coded.planes[0][static_cast<size_t>((16 * y + i / 16) * c.plane_width(0) + 16 * x + i % 16)] =
                static_cast<uint8_t>(reconstruction.luma[i]);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 64; i++)
                coded.planes[1 + k][static_cast<size_t>((8 * y + i / 8) * c.plane_width(1) + 8 * x + i % 8)] =
                    static_cast<uint8_t>(reconstruction.chroma[k][i]);
    }
    return coded;
}

Coded code_on_device(const std::shared_ptr<Device> &device, const Case &c) {
    const DeviceReference reference(device, c.columns, c.rows), decoded(device, c.columns, c.rows);
    const DevicePlane luma(device, c.plane_width(0), c.plane_height(0));
    const auto put = [&](const MarginPlane &to, const auto &sample) {
        std::vector<uint8_t> row(static_cast<size_t>(to.width));
        for (int y = 0; y < to.height; y++) {
            for (int x = 0; x < to.width; x++) row[static_cast<size_t>(x)] = static_cast<uint8_t>(sample(x, y));
            device->upload(nullptr, to.at(0, y), row.data(), row.size());
            device->synchronize(Device::Stream{});
        }
    };
    for (int k = 0; k < 3; k++)
        put(k ? reference.chroma[k - 1].plane() : reference.luma[kWhole].plane(),
            [&](int x, int y) { return c.decoded[k][static_cast<size_t>(y * c.plane_width(k) + x)]; });
    reference.complete(*device, nullptr);
    put(luma.plane(), [&](int x, int y) { return c.source_sample(0, x, y); });
    const DeviceArray<uint8_t> chroma[2] = {upload_now(device, c.source[1]), upload_now(device, c.source[2])};
    const DeviceArray<int8_t> qps = upload_now(device, c.qps);
    const DeviceArray<MacroblockMotion> field = upload_now(device, c.motion);
    PictureFormat format = make_picture_format(c.width, c.height, true);
    format.transform_8x8 = c.transform_8x8;
    const DeviceInterCoder coder(device, format, c.vertical);
    const DeviceInterCoder::Buffers buffers = coder.make_buffers();
    DeviceInterCoder::Picture picture{
        .luma = luma.plane(),
        .components = {},
        .decoded = {decoded.luma[kWhole].plane(), decoded.chroma[0].plane(), decoded.chroma[1].plane()},
        .qps = qps.data(),
        .drop_step = c.drop_step,
        .field = field.data()};
    for (size_t k = 0; k < 2; k++) picture.components[1 + k] = {chroma[k].data(), c.source_width(1), 1, 0, 8};
    coder.code(nullptr, picture, reference, buffers);
    Coded coded(c);
    const auto get = [&](auto &to, const auto &from) {
        device->download(nullptr, to.data(), from.data(), from.bytes());
    };
    get(coded.macroblocks, buffers.macroblocks);
    get(coded.levels, buffers.levels);
    get(coded.motion, buffers.motion);
    get(coded.outcomes, buffers.outcomes);
    for (int k = 0; k < 3; k++)
        for (int y = 0; y < picture.decoded[k].height; y++)
            device->download(nullptr, &coded.planes[k][static_cast<size_t>(y * c.plane_width(k))],
                             picture.decoded[k].at(0, y), static_cast<size_t>(c.plane_width(k)));
    device->synchronize(Device::Stream{});
    return coded;
}

void expect_same(const Case &c, const Coded &own, const Coded &other) {
    for (size_t m = 0; m < c.motion.size(); m++) {
        const std::string what = format_string("%dx%d, QP %d + %d, 8x8 %d, macroblock %zu", c.width, c.height, c.qps[m],
                                               c.drop_step, c.transform_8x8, m);
        EXPECT(own.outcomes[m].skipped == other.outcomes[m].skipped, "%s: skipped %d", what.c_str(),
               own.outcomes[m].skipped);
        EXPECT(own.outcomes[m].cost == other.outcomes[m].cost, "%s: cost %llu, not %llu", what.c_str(),
               static_cast<unsigned long long>(own.outcomes[m].cost),
               static_cast<unsigned long long>(other.outcomes[m].cost));
        EXPECT(!std::memcmp(&own.macroblocks[m], &other.macroblocks[m], sizeof(Macroblock)), "%s: pattern %d, not %d",
               what.c_str(), own.macroblocks[m].coded_block_pattern, other.macroblocks[m].coded_block_pattern);
        for (int b = 0; b < 4; b++)
            EXPECT(
                own.motion[m].vectors[b] == other.motion[m].vectors[b] && own.motion[m].shape == other.motion[m].shape,
                "%s: another vector", what.c_str());
        for (size_t i = m * kLevelCount; i < (m + 1) * kLevelCount; i++)
            EXPECT(own.levels[i] == other.levels[i], "%s: block %zu, level %zu: %d, not %d", what.c_str(),
                   i % kLevelCount / 16, i % 16, own.levels[i], other.levels[i]);
    }
    for (int k = 0; k < 3; k++)
        EXPECT(own.planes[k] == other.planes[k], "%dx%d: another reconstruction of component %d", c.width, c.height, k);
}

START_TEST(devices) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    int skipped = 0, refused = 0, eight = 0, four = 0, none = 0;
    for (int round = 0; round < 40; round++) {
        const Case c(random, round ? random.between(1, 90) : 1, round != 1 ? random.between(1, 70) : 1,
                     random.of({0, 2, 9, 40, 255}), round % 3 ? 12 : 0);
        const Coded expected = code_on_cpu(c);
        expect_same(c, code_on_device(device, c), expected);
        for (size_t m = 0; m < c.motion.size(); m++) {
            skipped += expected.outcomes[m].skipped;
            refused += expected.outcomes[m].cost == kNotAllowed;
            (expected.macroblocks[m].transform_size_8x8_flag    ? eight
             : expected.macroblocks[m].coded_block_pattern & 15 ? four
                                                                : none)++;
        }
    }
    EXPECT(skipped > 20 && refused > 3 && eight > 20 && four > 20 && none > 20,
           "macroblocks: %d skipped, %d refused, %d and %d of 8x8 and 4x4 transforms, %d without", skipped, refused,
           eight, four, none);
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    Random random(3);
    const bool large = benched_on_gpu(device);
    const Case c(random, large ? 3840 : 150, large ? 2160 : 100, 4, 26);
    const Coded expected = code_on_cpu(c);
    bench(
        "inter macroblocks", device, static_cast<double>(c.motion.size()), "macroblocks",
        [&] { expect_same(c, code_on_device(device, c), expected); }, "h264/inter/code");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 inter kernels");
    TCase *c = add_case(suite, "code");
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
