// SPDX-License-Identifier: LGPL-2.1-or-later
// The search for motion: shifted pictures' vectors, and on devices those of the CPU; costs of the lookahead likewise.
#include "../../common/h264/inter/search.h"
#include "../../common/h264/intra/qp_choice.h"
#include "../../common/h264/lookahead.h"
#include "../../common/load_cpu.h"
#include "../../cuda_kernels/h264/inter/motion_search.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

// Two pictures: blobs and noise, the second one moved, by parts.
struct Pair {
    int width, height;
    std::vector<uint8_t> samples[2];  // before, source

    Pair(Random &random, int w, int h, int motion, bool noise) : width(w), height(h) {
        const int period_x = random.between(5, 40), period_y = random.between(5, 40), flat = random.between(0, 255);
        const bool is_flat = random.one_in(6);
        const auto content = [&](int x, int y) {
            if (is_flat) return flat;
            const int fx = (x % (2 * period_x) + 2 * period_x) % (2 * period_x),
                      fy = (y % (2 * period_y) + 2 * period_y) % (2 * period_y);
            return std::abs(fx - period_x) * 120 / period_x + std::abs(fy - period_y) * 120 / period_y +
                   static_cast<int>(static_cast<uint32_t>((x / 5) * 7919 + (y / 7) * 104729) % 16);
        };
        for (auto &plane : samples) plane.resize(static_cast<size_t>(w * h));
        int dx = 0, dy = 0;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                if (x % 48 == 0) dx = random.between(-motion, motion), dy = random.between(-motion, motion);
                const size_t at = static_cast<size_t>(y * w + x);
                samples[0][at] = static_cast<uint8_t>(content(x, y));
                samples[1][at] = static_cast<uint8_t>(
                    noise ? random.between(0, 255)
                          : content(x + (y / 40 % 2 ? dx : motion), y + (y / 40 % 2 ? dy : -motion)));
            }
    }
    int columns() const { return (width + 15) / 16; }
    int rows() const { return (height + 15) / 16; }
    SampleLayout layout(const uint8_t *data) const { return {data, width, 1, 0, 8}; }

    SourcePyramid pyramid(int of, ThreadPool &pool) const {
        std::vector<Sample> whole(static_cast<size_t>(256 * columns() * rows()));
        for (int y = 0; y < 16 * rows(); y++)
            for (int x = 0; x < 16 * columns(); x++)
                whole[static_cast<size_t>(16 * columns() * y + x)] =
                    samples[of][static_cast<size_t>(std::min(y, height - 1) * width + std::min(x, width - 1))];
        SourcePyramid pyramid;
        pyramid.build({whole.data(), 16 * columns()}, 16 * columns(), 16 * rows(), pool);
        return pyramid;
    }
};

// Everything moves alike: macroblocks inside have that vector, also where it is longer than any step.
START_TEST(one_motion) {
    ThreadPool pool(1);
    Random random(1);
    constexpr int kWidth = 320, kHeight = 256;
    std::vector<uint8_t> texture(640 * 640);
    for (auto &sample : texture) sample = static_cast<uint8_t>(random.between(0, 255));
    for (int round = 0; round < 4; round++)  // smooth
        for (size_t i = 641; i < texture.size(); i++)
            texture[i] =
                static_cast<uint8_t>((texture[i] + texture[i - 1] + texture[i - 640] + texture[i - 641] + 2) / 4);
    for (const Vector v : {Vector{0, 0}, Vector{3, -2}, Vector{-20, 9}, Vector{40, 31}}) {
        Pair pair(random, kWidth, kHeight, 0, false);
        for (int y = 0; y < kHeight; y++)
            for (int x = 0; x < kWidth; x++) {
                const size_t at = static_cast<size_t>(y * kWidth + x);
                pair.samples[0][at] = texture[static_cast<size_t>((y + 100) * 640 + x + 100)];
                pair.samples[1][at] = texture[static_cast<size_t>((y + 100 + v.y) * 640 + x + 100 + v.x)];
            }
        MotionSearch search(pair.columns(), pair.rows(), 128);
        search.find(pair.pyramid(1, pool), pair.pyramid(0, pool), satd_lambda_of(26), pool);
        int found = 0, inside = 0;
        for (int y = 4; y < pair.rows() - 4; y++)
            for (int x = 4; x < pair.columns() - 4; x++, inside++) found += search.found(x, y).whole == v;
        EXPECT(found >= inside * 9 / 10, "(%d, %d): of %d macroblocks %d have it", v.x, v.y, inside, found);
    }
}
END_TEST

void expect_same(const std::shared_ptr<Device> &device, const Pair &pair, int vertical, int qp, ThreadPool &pool) {
    const SourcePyramid before = pair.pyramid(0, pool), source = pair.pyramid(1, pool);
    MotionSearch search(pair.columns(), pair.rows(), vertical);
    search.find(source, before, satd_lambda_of(qp), pool);

    const DeviceMotionSearch on_device(device, pair.width, pair.height, vertical);
    const DevicePyramid pyramids[2] = {on_device.make_pyramid(), on_device.make_pyramid()};
    const DeviceMotionSearch::Buffers buffers = on_device.make_buffers();
    std::vector<DeviceArray<uint8_t>> uploaded;
    for (int i = 0; i < 2; i++) {
        uploaded.push_back(upload_now(device, pair.samples[i]));
        on_device.build(nullptr, pair.layout(uploaded.back().data()), pyramids[i]);
    }
    on_device.find(nullptr, pyramids[1], pyramids[0], satd_lambda_of(qp), buffers);
    std::vector<FoundMotion> found(static_cast<size_t>(pair.columns() * pair.rows()));
    device->download(nullptr, found.data(), buffers.found.data(), buffers.found.bytes());
    device->synchronize(Device::Stream{});

    for (int level = 0; level < kPyramidLevels; level++) {
        const MarginPlane &plane = pyramids[1].levels[level].plane();
        const DeviceArray<uint8_t> &memory = pyramids[1].levels[level].memory();
        std::vector<uint8_t> bytes(memory.bytes());
        device->download(nullptr, bytes.data(), memory.data(), bytes.size());
        device->synchronize(Device::Stream{});
        const uint8_t *const first = bytes.data() + (plane.data - memory.data());
        for (int y = -kPlaneMargin; y < plane.height + kPlaneMargin; y++)
            EXPECT(!std::memcmp(first + y * plane.stride - kPlaneMargin, source.levels[level].at(-kPlaneMargin, y),
                                static_cast<size_t>(plane.width + 2 * kPlaneMargin)),
                   "%dx%d: level %d, row %d", pair.width, pair.height, level, y);
    }
    for (int y = 0; y < pair.rows(); y++)
        for (int x = 0; x < pair.columns(); x++) {
            const FoundMotion &own = found[static_cast<size_t>(y * pair.columns() + x)], &other = search.found(x, y);
            EXPECT(own.whole == other.whole, "%dx%d, QP %d, macroblock (%d, %d): (%d, %d), not (%d, %d)", pair.width,
                   pair.height, qp, x, y, own.whole.x, own.whole.y, other.whole.x, other.whole.y);
            EXPECT(own.cost == other.cost, "%dx%d, QP %d, macroblock (%d, %d): cost %u, not %u", pair.width,
                   pair.height, qp, x, y, own.cost, other.cost);
            for (int b = 0; b < 4; b++)
                EXPECT(own.of_8x8[b] == other.of_8x8[b],
                       "%dx%d, QP %d, macroblock (%d, %d), block %d: (%d, %d), not (%d, %d)", pair.width, pair.height,
                       qp, x, y, b, own.of_8x8[b].x, own.of_8x8[b].y, other.of_8x8[b].x, other.of_8x8[b].y);
        }
}

void expect_same_costs(const std::shared_ptr<Device> &device, const Pair &pair, int vertical, ThreadPool &pool) {
    const size_t count = static_cast<size_t>(pair.columns() * pair.rows());
    PictureFormat format;
    format.width = pair.width;
    format.height = pair.height;
    SourceComparison comparison(format, vertical);
    const DeviceMotionSearch on_device(device, pair.width, pair.height, vertical);
    const DevicePyramid pyramids[2] = {on_device.make_pyramid(), on_device.make_pyramid()};
    const DeviceMotionSearch::Buffers buffers = on_device.make_buffers();
    const DeviceArray<SourceCosts> costs(device, count);
    for (int i = 0; i < 2; i++) {
        std::vector<SourceCosts> expected(count), own(count);
        comparison.source() = pair.pyramid(i, pool);
        comparison.find(expected, pool);
        const auto uploaded = upload_now(device, pair.samples[i]);
        on_device.build(nullptr, pair.layout(uploaded.data()), pyramids[i]);
        if (i) on_device.find_halves(nullptr, pyramids[1], pyramids[0], motion_lambda_of(kLookaheadQp), buffers);
        on_device.find_source_costs(nullptr, pyramids[i], i ? &pyramids[0] : nullptr, buffers, costs.data());
        device->download(nullptr, own.data(), costs.data(), costs.bytes());
        device->synchronize(Device::Stream{});
        for (size_t m = 0; m < count; m++) {
            const SourceCosts &a = own[m], &b = expected[m];
            EXPECT(a.intra == b.intra && a.inter == b.inter && a.x == b.x && a.y == b.y,
                   "%dx%d, picture %d, macroblock %zu: %d, %d by (%d, %d), not %d, %d by (%d, %d)", pair.width,
                   pair.height, i, m, a.intra, a.inter, a.x, a.y, b.intra, b.inter, b.x, b.y);
        }
    }
}

START_TEST(devices) {
    const auto device = open_test_device(_i);
    ThreadPool pool(1);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int round = 0; round < 30; round++) {
        const int width = round == 0 ? 1 : random.between(1, 200), height = round == 1 ? 1 : random.between(1, 150);
        const Pair pair(random, width, height, random.between(0, 30), random.one_in(6));
        const int vertical = random.of({8, 32, 128, 512});
        expect_same(device, pair, vertical, random.between(0, kLastQp), pool);
        expect_same_costs(device, pair, vertical, pool);
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    ThreadPool pool(2);
    Random random(3);
    const bool large = benched_on_gpu(device);
    const Pair pair(random, large ? 3840 : 400, large ? 2160 : 240, 12, false);
    bench(
        "search", device, pair.columns() * pair.rows(), "macroblocks",
        [&] { expect_same(device, pair, 512, 26, pool); }, "h264/inter/search");
    bench(
        "lookahead", device, pair.columns() * pair.rows(), "macroblocks",
        [&] { expect_same_costs(device, pair, 512, pool); }, "h264/inter/lookahead");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 search");
    TCase *c = add_case(suite, "search");
    tcase_add_test(c, one_motion);
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
