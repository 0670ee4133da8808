// SPDX-License-Identifier: LGPL-2.1-or-later
// The lookahead: costs that are propagated, beside a model in floating point; bytes of sessions, which do not depend on
// device, threads, frames in flight or on when packets are asked for.
#include <cmath>

#include "../../common/h264/rate/propagation.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;
using namespace cudaenc::h264;

namespace {

std::vector<SourceCosts> random_costs(Random &random, int columns, int rows) {
    std::vector<SourceCosts> costs;
    const int most = random.of({40, 500, 64 * 255}), reach = random.of({1, 12, 8 * columns + 30});
    for (int i = 0; i < columns * rows; i++) {
        const int intra = random.one_in(8) ? 0 : random.between(0, most);
        costs.push_back({.intra = static_cast<uint16_t>(intra),
                         .inter = static_cast<uint16_t>(random.between(0, random.one_in(2) ? intra : intra / 8)),
                         .x = static_cast<int16_t>(random.between(-reach, reach)),
                         .y = static_cast<int16_t>(random.between(-reach, reach))});
    }
    return costs;
}

// The offsets of the first picture, not rounded.
std::vector<double> model(const std::vector<SourcePicture8x8> &pictures, size_t first, int columns, int rows) {
    std::vector<double> later(static_cast<size_t>(columns * rows));
    for (size_t i = pictures.size() - 1; i > first; i--) {
        std::vector<double> before(later.size());
        for (int y = 0; y < rows && !pictures[i].key; y++)
            for (int x = 0; x < columns; x++) {
                const size_t at = static_cast<size_t>(y * columns + x);
                const SourceCosts &c = pictures[i].costs[at];
                const double share = c.intra ? (1. * c.intra - c.inter - static_cast<double>(kNoiseCost)) / c.intra : 0;
                if (share <= 0) continue;
                // Of each sample of the 8x8 block, where it comes from.
                for (int dy = 0; dy < 8; dy++)
                    for (int dx = 0; dx < 8; dx++) {
                        const int column = static_cast<int>(std::floor((8 * x + dx + c.x) / 8.));
                        const int row = static_cast<int>(std::floor((8 * y + dy + c.y) / 8.));
                        if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
                        before[static_cast<size_t>(row * columns + column)] += (c.intra + later[at]) * share / 64;
                    }
            }
        later = before;
    }
    for (size_t at = 0; at < later.size(); at++) {
        const SourceCosts &c = pictures[first].costs[at];
        const double intra = c.intra;
        later[at] = !c.intra ? 0
                             : -std::min(kPropagationStrength * std::log2((intra + later[at]) / intra) *
                                             (intra + c.inter) / (2 * intra),
                                         1. * kMostPropagation);
    }
    return later;
}

START_TEST(propagation) {
    Random random(static_cast<uint64_t>(_i) + 1);
    const int columns = random.between(1, 9), rows = random.between(1, 7);
    std::vector<std::vector<SourceCosts>> costs(static_cast<size_t>(random.between(1, 20)));
    std::vector<SourcePicture8x8> pictures;
    for (auto &each : costs) {
        each = random_costs(random, columns, rows);
        pictures.push_back({random.one_in(12), each});
    }
    std::vector<std::vector<int8_t>> offsets(static_cast<size_t>(random.between(1, static_cast<int>(pictures.size()))));
    std::vector<int8_t *> places;
    for (auto &each : offsets) each.resize(static_cast<size_t>(columns * rows)), places.push_back(each.data());
    Propagation(columns, rows).find(pictures, places);
    for (size_t i = 0; i < offsets.size(); i++) {
        const std::vector<double> expected = model(pictures, i, columns, rows);
        // Half for rounding, 0.18 for the logarithm that is linear between powers of two, and what divisions cut off.
        for (size_t at = 0; at < expected.size(); at++)
            EXPECT(std::abs(offsets[i][at] - expected[at]) < 0.8, "picture %zu, macroblock %zu: %d for %g", i, at,
                   offsets[i][at], expected[at]);
    }
}
END_TEST

// What many pictures are predicted from has a lower QP, and what none is has none.
START_TEST(direction) {
    const SourceCosts still{.intra = 1000, .inter = 0, .x = 0, .y = 0},
        fresh{.intra = 1000, .inter = 1000, .x = 0, .y = 0};
    const SourceCosts of_first[] = {fresh, fresh}, of_next[] = {still, fresh};
    const SourcePicture8x8 first{.key = true, .costs = of_first}, next{.key = false, .costs = of_next};
    int8_t offsets[2], *const places[] = {offsets};
    Propagation(2, 1).find(std::vector<SourcePicture8x8>{first, next, next, next}, places);
    EXPECT_EQ(offsets[0], -4);
    EXPECT_EQ(offsets[1], 0);
}
END_TEST

std::vector<std::vector<uint8_t>> encode(const CudaencConfig &config, const std::vector<Picture> &pictures,
                                         bool polls = false) {
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    std::vector<std::vector<uint8_t>> packets;
    CudaencPacket packet{};
    packet.struct_size = sizeof packet;
    const auto take = [&] {
        packets.emplace_back(packet.data, packet.data + packet.size);
        cudaenc_buffer_free(packet.buffer);
    };
    for (size_t i = 0; i < pictures.size(); i++) {
        CudaencFrame frame = pictures[i].frame();
        frame.key = i == 6;
        while (cudaenc_submit(session, &frame) == CUDAENC_AGAIN)
            if (cudaenc_receive(session, &packet) == CUDAENC_OK) take();
        if (polls && cudaenc_poll(session, &packet) == CUDAENC_OK) take();
        EXPECT(i > 8 || packets.empty() || packets.size() + static_cast<size_t>(config.h264.lookahead) <= i + 1,
               "packet %zu left with frame %zu", packets.size(), i);
        if (i == 8) cudaenc_flush(session);  // what follows is not looked at, but the stream goes on
    }
    cudaenc_flush(session);
    while (cudaenc_receive(session, &packet) == CUDAENC_OK) take();
    cudaenc_close(session);
    return packets;
}

START_TEST(sessions) {
    const auto held = open_test_devices();
    Random random(static_cast<uint64_t>(_i) + 1);
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], random.between(30, 120), random.between(20, 90));
    CudaencConfig config = make_h264_config(format, "cpu", &log);
    CudaencH264Options &o = config.h264;
    o.effort = 0;
    o.gop_size = random.of({3, 10, 100});
    o.lookahead = random.of({1, 2, 5, 8, 48});
    o.qp = random.between(10, 45), o.aq = random.between(-1, 512);
    o.rate_control = random.of({CUDAENC_H264_CONSTANT_QP, CUDAENC_H264_CONSTANT_QUALITY, CUDAENC_H264_BIT_RATE});
    if (o.rate_control == CUDAENC_H264_BIT_RATE) {
        o.bit_rate = random.of({100000, 1000000});
        o.frame_rate_num = 25, o.frame_rate_den = 1;
        o.cbr = o.hrd = random.between(0, 1);
    }
    config.threads = 1, config.async_depth = 1;
    std::vector<Picture> pictures;
    for (int i = 0; i < 14; i++) {
        pictures.push_back(make_picture(random, format));
        if (i % 5)
            pictures.back() = pictures[pictures.size() - 2];
        else
            fill(random, pictures.back(), random.of({Content::noise, Content::smooth, Content::rows}));
    }
    const std::string what = describe_h264(config);
    const auto packets = encode(config, pictures);
    EXPECT_EQ(packets.size(), pictures.size());
    std::vector<uint8_t> stream;
    for (const auto &packet : packets) stream.insert(stream.end(), packet.begin(), packet.end());
    EXPECT_EQ(decode_stream(stream).size(), pictures.size());
    config.threads = 3, config.async_depth = random.of({2, 5, 64});
    EXPECT(encode(config, pictures, true) == packets, "%s: in flight", what.c_str());
    for (const std::string &device : device_specs) {
        config.device = device.c_str();
        EXPECT(encode(config, pictures, true) == packets, "%s: on %s", what.c_str(), device.c_str());
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 lookahead");
    TCase *c = add_case(suite, "propagation");
    tcase_add_loop_test(c, propagation, 0, 60);
    tcase_add_test(c, direction);
    c = add_case(suite, "sessions");
    tcase_add_loop_test(c, sessions, 0, 12);
    return run_suite(suite);
}
