// SPDX-License-Identifier: LGPL-2.1-or-later
// The refinement of motion: quarter samples are found, and on devices the CPU's vectors, shapes and estimates.
#include "../../common/h264/inter/refine.h"
#include "../../common/h264/intra/qp_choice.h"
#include "../../cuda_kernels/h264/inter/motion_refinement.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

// A source, and the picture before as it was and as it was decoded; whole macroblocks.
struct Sequence {
    int columns, rows;
    std::vector<Sample> before, decoded, source;  // luma
    std::vector<Sample> chroma;                   // of any picture
    std::vector<int8_t> qps;
    RefreshColumns refresh{};

    // Texture that moves by `motion` quarter samples at most, another vector for each part.
    Sequence(Random &random, int w, int h, int motion, int noise) : columns(w), rows(h) {
        const int phase = random.between(0, 999);
        const auto texture = [=](int x4, int y4) {
            const auto wave = [](int v, int period) {
                const int t = (v % (2 * period) + 2 * period) % (2 * period);
                return t < period ? t : 2 * period - t;
            };
            return 20 + wave(x4 + 3 * phase, 60) + wave(y4 + x4 / 3, 44) + wave(x4 - 2 * y4, 37) * 2;
        };
        const int part = 4 * random.of({2, 4, 9});
        int dx = 0, dy = 0;
        for (int y = 0; y < 16 * h; y++)
            for (int x = 0; x < 16 * w; x++) {
                if (x % part == 0) dx = random.between(-motion, motion), dy = random.between(-motion, motion);
                const bool alike = y / part % 2 != 0;
                const auto noisy = [&](int v) {
                    return static_cast<Sample>(std::clamp(v + random.between(-noise, noise), 0, 255));
                };
                before.push_back(noisy(texture(4 * x, 4 * y)));
                source.push_back(noisy(texture(4 * x + (alike ? motion : dx), 4 * y - (alike ? motion / 2 : dy))));
                decoded.push_back(static_cast<Sample>(std::clamp(before.back() + random.between(-3, 3), 0, 255)));
            }
        chroma.resize(static_cast<size_t>(64 * w * h));
        const int qp = random.between(0, kMaxQp);
        for (int i = 0; i < w * h; i++)
            qps.push_back(static_cast<int8_t>(random.one_in(3) ? random.between(0, kMaxQp) : qp));
    }
};

struct OnCpu {
    SourcePyramid before, source;
    ReferencePicture reference;
    MotionSearch search;
    MotionRefinement refinement;
    OnCpu(const Sequence &s, int vertical, int drop_step, ThreadPool &pool)
        : search(s.columns, s.rows, vertical), refinement(s.columns, s.rows, vertical) {
        const int width = 16 * s.columns, height = 16 * s.rows;
        before.build({s.before.data(), width}, width, height, pool);
        source.build({s.source.data(), width}, width, height, pool);
        const ConstBlock planes[3] = {
            {s.decoded.data(), width}, {s.chroma.data(), width / 2}, {s.chroma.data(), width / 2}};
        reference.build(planes, width, height, pool);
        search.find(source, before, satd_lambda_of(s.qps[0]), pool);
        refinement.find(source.levels[0], reference, search, s.qps.data(), drop_step, s.refresh, pool);
    }
};

void expect_same(const std::shared_ptr<Device> &device, const Sequence &s, int vertical, int drop_step,
                 ThreadPool &pool) {
    const int width = 16 * s.columns, height = 16 * s.rows;
    const OnCpu on_cpu(s, vertical, drop_step, pool);
    const DeviceMotionSearch search(device, width, height, vertical);
    const DeviceMotionRefinement refinement(device, s.columns, s.rows, vertical);
    const DevicePyramid before = search.make_pyramid(), source = search.make_pyramid();
    const DeviceMotionSearch::Buffers found = search.make_buffers();
    const DeviceMotionRefinement::Buffers buffers = refinement.make_buffers();
    const DeviceReference reference(device, s.columns, s.rows);
    const auto bytes_of = [&](const std::vector<Sample> &samples) {
        return upload_now(device, std::vector<uint8_t>(samples.begin(), samples.end()));
    };
    const DeviceArray<uint8_t> before_bytes = bytes_of(s.before), source_bytes = bytes_of(s.source);
    const DeviceArray<int8_t> qps = upload_now(device, s.qps);
    const auto layout = [&](const DeviceArray<uint8_t> &bytes) { return SampleLayout{bytes.data(), width, 1, 0, 8}; };
    const std::vector<uint8_t> decoded(s.decoded.begin(), s.decoded.end());
    for (int y = 0; y < height; y++)
        device->upload(nullptr, reference.luma[kWhole].plane().at(0, y), &decoded[static_cast<size_t>(y * width)],
                       static_cast<size_t>(width));
    reference.complete(*device, nullptr);
    search.build(nullptr, layout(before_bytes), before);
    search.build(nullptr, layout(source_bytes), source);
    search.find(nullptr, source, before, satd_lambda_of(s.qps[0]), found);
    refinement.find(nullptr, source.levels[0], reference, found.found.data(), qps.data(), drop_step, s.refresh,
                    buffers);
    std::vector<MacroblockMotion> motion(s.qps.size());
    std::vector<MotionEstimate> estimates(s.qps.size());
    device->download(nullptr, motion.data(), buffers.motion[0].data(), buffers.motion[0].bytes());
    device->download(nullptr, estimates.data(), buffers.estimates[0].data(), buffers.estimates[0].bytes());
    device->synchronize(Device::Stream{});
    for (size_t i = 0; i < motion.size(); i++) {
        const MacroblockMotion &own = motion[i], &other = on_cpu.refinement.motion()[i];
        const int x = static_cast<int>(i) % s.columns, y = static_cast<int>(i) / s.columns;
        EXPECT(own.shape == other.shape && own.inter == other.inter, "%dx%d, macroblock (%d, %d): shape %d, not %d",
               s.columns, s.rows, x, y, static_cast<int>(own.shape), static_cast<int>(other.shape));
        for (int b = 0; b < 4; b++)
            EXPECT(own.vectors[b] == other.vectors[b], "%dx%d, macroblock (%d, %d), block %d: (%d, %d), not (%d, %d)",
                   s.columns, s.rows, x, y, b, own.vectors[b].x, own.vectors[b].y, other.vectors[b].x,
                   other.vectors[b].y);
        EXPECT(estimates[i].satd == on_cpu.refinement.estimates()[i].satd &&
                   estimates[i].cost == on_cpu.refinement.estimates()[i].cost,
               "%dx%d, macroblock (%d, %d): estimates %u and %u", s.columns, s.rows, x, y, estimates[i].satd,
               estimates[i].cost);
    }
}

// Pans by quarter samples, of which macroblocks inside have the vector.
START_TEST(quarter_samples) {
    ThreadPool pool(2);
    Random random(2);
    for (const int motion : {0, 1, 2, 3, 6, 13}) {
        Sequence s(random, 12, 10, 0, 0);
        Sequence moved(random, 12, 10, 0, 0);
        const auto texture = [](int x4, int y4) {  // random numbers on a lattice, and between them linear
            constexpr int kLattice = 32;
            const auto corner = [](int x, int y) {
                return static_cast<int>(
                    (static_cast<uint32_t>(x) * 73856093u ^ static_cast<uint32_t>(y) * 19349663u) * 2654435761u >> 24);
            };
            x4 += 1024, y4 += 1024;
            const int x = x4 / kLattice, y = y4 / kLattice, fx = x4 % kLattice, fy = y4 % kLattice;
            const auto row = [&](int at) { return corner(x, at) * (kLattice - fx) + corner(x + 1, at) * fx; };
            return static_cast<Sample>((row(y) * (kLattice - fy) + row(y + 1) * fy) / (kLattice * kLattice));
        };
        for (int y = 0; y < 160; y++)
            for (int x = 0; x < 192; x++) {
                const size_t at = static_cast<size_t>(192 * y + x);
                s.before[at] = s.decoded[at] = texture(4 * x, 4 * y);
                s.source[at] = texture(4 * x + motion, 4 * y - motion);
            }
        std::fill(s.qps.begin(), s.qps.end(), int8_t{20});
        const OnCpu on_cpu(s, 128, 0, pool);
        int found = 0, inside = 0;
        for (int y = 2; y < 8; y++)
            for (int x = 2; x < 10; x++, inside++) {
                const Vector v = on_cpu.refinement.motion()[12 * y + x].vectors[0];
                found += v == Vector{static_cast<int16_t>(motion), static_cast<int16_t>(-motion)};
            }
        EXPECT(found >= inside * 3 / 4, "by %d quarters: of %d macroblocks %d have the vector", motion, inside, found);
    }
}
END_TEST

START_TEST(devices) {
    const auto device = open_test_device(_i);
    ThreadPool pool(1);
    Random random(static_cast<uint64_t>(_i) + 1);
    int divided = 0;
    for (int round = 0; round < 16; round++) {
        Sequence s(random, round ? random.between(1, 9) : 1, round != 1 ? random.between(1, 7) : 1,
                   random.between(0, 70), random.of({0, 4, 60}));
        if (round % 3 == 1) s.refresh.first = s.refresh.end = random.between(1, s.columns);
        expect_same(device, s, random.of({8, 32, 128, 512}), round % 4 ? 0 : random.between(0, kDropSteps), pool);
        const OnCpu on_cpu(s, 128, 0, pool);
        for (size_t i = 0; i < s.qps.size(); i++) divided += on_cpu.refinement.motion()[i].shape != Shape::p16x16;
    }
    EXPECT(divided > 20, "%d macroblocks are divided", divided);
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    ThreadPool pool(2);
    Random random(3);
    const bool large = benched_on_gpu(device);
    const Sequence s(random, large ? 240 : 11, large ? 135 : 8, 30, 4);
    bench(
        "refinement", device, s.columns * s.rows, "macroblocks", [&] { expect_same(device, s, 512, 0, pool); },
        "h264/inter/refine");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 refine");
    TCase *c = add_case(suite, "refine");
    tcase_add_test(c, quarter_samples);
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
