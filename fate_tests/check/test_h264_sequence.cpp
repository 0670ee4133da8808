// SPDX-License-Identifier: LGPL-2.1-or-later
// Sequences of IDR and P pictures through the C API: which pictures are IDR pictures, and what their packets tell.
#include <cmath>
#include <string>
#include <vector>

#include "../../common/h264/gop.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "session_packets.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

constexpr int kWidth = 90, kHeight = 70;
const CudaencFormat kFormat = make_h264_format(h264_inputs[0], kWidth, kHeight);

// A scene that pans by three samples a picture.
Picture draw(int scene, int time) {
    Random random(1);  // what is beyond the samples
    Picture picture = make_picture(random, kFormat);
    const auto wave = [](int v, int period) { return v % (2 * period) < period ? v % period : period - v % period; };
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < picture.component_rows(c); y++)
            for (int x = 0; x < picture.columns(c); x++) {
                const int scale = c ? 2 : 1, u = scale * x + 3 * time + 500 * scene, v = scale * y + 97 * scene;
                const int patch = ((u / 13) * 5 + (v / 11) * 7 + scene * (u / 13 + v / 7)) % 9;
                picture.set(c, x, y, static_cast<uint32_t>(30 + 2 * wave(u + v / 2, 23 + 6 * scene) + 16 * patch));
            }
    return picture;
}

Picture noise(int seed) {
    Random random(static_cast<uint64_t>(seed) + 7);
    return make_picture(random, kFormat, Content::noise);
}

CudaencConfig make_config_of(int gop_size, Log *log) {
    CudaencConfig config = make_h264_config(kFormat, "cpu", log);
    config.h264.effort = 0;
    config.h264.gop_size = gop_size;
    config.h264.level = 41;  // which has room for changes
    config.threads = 2;
    return config;
}

// Numbers of IDR and P pictures follow the standard, and the tests' decoder reads them.
void check_stream(const Packets &p, const std::string &what) {
    const std::vector<StreamPicture> pictures = decode_stream(p.stream);
    EXPECT(pictures.size() == p.types.size(), "%s: %zu pictures", what.c_str(), pictures.size());
    uint32_t last_id = 99;
    for (size_t i = 0; i < pictures.size(); i++) {
        const bool key = pictures[i].nal_types.back() == 5;
        EXPECT(key == (p.types[i] == 'K'), "%s: packet %zu", what.c_str(), i);
        if (!key) continue;
        EXPECT(pictures[i].slices[0].frame_num == 0, "%s: frame_num of packet %zu", what.c_str(), i);
        EXPECT(pictures[i].slices[0].idr_pic_id != last_id, "%s: idr_pic_id of packet %zu", what.c_str(), i);
        last_id = pictures[i].slices[0].idr_pic_id;
    }
}

START_TEST(gop) {
    using h264::Gop, h264::SceneCosts;
    const SceneCosts still{100, 10000, 0}, cut{9000, 10000, 0}, flat{90, 100, 0};
    Gop g(10, 3, 20, 100);
    const auto code = [&](const SceneCosts &costs, bool forced = false) {
        const bool key = g.begins(forced) || g.is_cut(costs);
        g.end(key);
        return key;
    };
    EXPECT(code(cut) && !code(cut) && !code(still), "least pictures before a cut");
    EXPECT(code(cut) && !code(cut) && !code(cut) && !code(cut) && !code(still) && code(cut), "a part that stays bad");
    for (int i = 1; i < 10; i++) EXPECT(!code(still), "picture %d", i);
    EXPECT(code(still) && !code(still) && code(still, true) && code(still, true), "size, and forced pictures");
    Gop often(10, 1, 20, 100);
    often.end(often.begins(false));
    EXPECT(!often.begins(false) && !often.is_cut(cut), "nothing is known of the picture before");
    for (int i = 0; i < 4; i++) EXPECT(!code(flat), "too little to tell");
    g.forget();
    EXPECT(code(still) && !code(still), "behind a picture that failed");
    EXPECT(!Gop(10, 3, 0, 100).looks_for_cuts());
    Gop fields(3, 1, 0, 100, true);
    const auto code_field = [&](bool second) {
        const bool key = fields.begins(false, second);
        fields.end(key, second);
        return key;
    };
    for (int i = 0; i < 12; i++) {
        EXPECT(fields.frame_num() == i / 2 % 3 || i % 6 == 0, "field %d: frame_num %d", i, fields.frame_num());
        EXPECT(code_field(i % 2) == (i % 6 == 0), "field %d", i);
    }
    code_field(false), fields.forget();
    const int id = fields.idr_pic_id();
    EXPECT(code_field(false) && !code_field(true) && fields.idr_pic_id() != id, "a second field that failed");
    fields.forget();
    EXPECT(code_field(true) && code_field(false), "a first field that failed");
    EXPECT(code_field(false) && !code_field(true) && !code_field(false), "a second field that is missing");
    SceneCosts sum{};
    sum.add(50, 40, 30, 60);
    sum.add(20, 40, 30, 60);
    EXPECT(sum.inter == 50 && sum.intra == 60, "%d, %d", static_cast<int>(sum.inter), static_cast<int>(sum.intra));
}
END_TEST

// A frame that asks for a key packet has one, and -g counts from there, for every number of threads and of frames in
// flight.
START_TEST(forced_keys) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 20; i++) pictures.push_back(draw(0, i));
    Log log;
    CudaencConfig config = make_config_of(6, &log);
    if (_i) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 300000;
    const Packets expected = encode_with_keys(config, pictures, {0, 2, 3, 11});
    EXPECT(expected.types == "KdKKdddddKdKdddddKdd", "%s", expected.types.c_str());
    check_stream(expected, "forced");
    for (const int depth : {1, 3, 8}) {
        config.async_depth = depth, config.threads = 1 + depth % 3;
        EXPECT(encode_with_keys(config, pictures, {0, 2, 3, 11}).stream == expected.stream, "%d in flight", depth);
    }
    config.h264.gop_size = 1;
    EXPECT(encode_with_keys(config, pictures, {2}).stream == encode_with_keys(config, pictures).stream,
           "all are keys anyway");
    // What is no flag is refused.
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    CudaencFrame frame = pictures[0].frame();
    frame.key = 2;
    EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
    EXPECT(log.lines.back().find("key 2 is not allowed: it is 0 to 1") != std::string::npos, "%s",
           log.lines.back().c_str());
    cudaenc_close(session);
}
END_TEST

// Cuts begin IDR pictures; motion, noise and what follows a cut at once do not.
START_TEST(scene_cuts) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 10; i++) pictures.push_back(draw(0, i));
    for (int i = 0; i < 3; i++) pictures.push_back(draw(1, i));  // shorter than min_gop_size
    for (int i = 0; i < 9; i++) pictures.push_back(draw(2, i));
    for (int i = 0; i < 12; i++) pictures.push_back(noise(i));
    Log log;
    CudaencConfig config = make_config_of(50, &log);
    if (_i) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 400000;
    config.h264.min_gop_size = 5;
    const Packets found = encode_with_keys(config, pictures);
    EXPECT(found.types ==
               "Kddddddddd"
               "Kdd"
               "ddddddddd"
               "Kddddddddddd",
           "%s", found.types.c_str());
    check_stream(found, "cuts");
    config.async_depth = 5, config.threads = 1;
    EXPECT(encode_with_keys(config, pictures).stream == found.stream, "threads");
    config.h264.scene_cut = 0;
    const Packets none = encode_with_keys(config, pictures);
    EXPECT(none.types.find('K', 1) == std::string::npos, "off: %s", none.types.c_str());
    check_stream(none, "no cuts");
    // A tenth of gop_size is the least.
    config.h264.scene_cut = 20, config.h264.min_gop_size = 0, config.h264.gop_size = 110;
    EXPECT(encode_with_keys(config, pictures).types.find('K', 1) == 13, "%s",
           encode_with_keys(config, pictures).types.c_str());
}
END_TEST

// A QP from a frame on; it does not depend on threads or frames in flight.
START_TEST(changed_qp) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 12; i++) pictures.push_back(draw(0, i));
    const Change change = [](CudaencSession *session, CudaencFrame &, size_t frame) {
        if (frame == 5 || frame == 9) EXPECT_EQ(cudaenc_set_qp(session, frame == 5 ? 40 : 12), CUDAENC_OK);
    };
    for (const int gop_size : {1, 30})
        for (const int control : {CUDAENC_H264_CONSTANT_QP, CUDAENC_H264_CONSTANT_QUALITY}) {
            Log log;
            CudaencConfig config = make_config_of(gop_size, &log);
            config.h264.qp = 30;
            config.h264.rate_control = control;
            const Packets expected = encode_pictures(config, pictures, pictures.size(), change);
            for (size_t i = 0; i < pictures.size(); i++) {
                const int wanted = i < 5 ? 30 : i < 9 ? 40 : 12;
                EXPECT(expected.qualities[i] == wanted - (gop_size > 1 && !i ? 3 : 0), "picture %zu: QP %g", i,
                       expected.qualities[i]);
            }
            check_stream(expected, "QPs");
            config.async_depth = 7;
            EXPECT(encode_pictures(config, pictures, pictures.size(), change).stream == expected.stream, "in flight");
            config.device = "emu";
            EXPECT(encode_pictures(config, pictures, pictures.size(), change).stream == expected.stream, "device");
        }
}
END_TEST

// Each part of a stream has its own average.
START_TEST(changed_bit_rate) {
    std::vector<Picture> pictures;
    for (int i = 0; i < 250; i++) pictures.push_back(draw(0, i));
    const int64_t rates[] = {100000, 230000};
    const Change change = [&](CudaencSession *session, CudaencFrame &, size_t frame) {
        if (frame == 125) EXPECT_EQ(cudaenc_set_bit_rate(session, rates[1], 0), CUDAENC_OK);
    };
    Log log;
    CudaencConfig config = make_config_of(_i ? 50 : 1, &log);
    config.h264.rate_control = CUDAENC_H264_BIT_RATE;
    config.h264.bit_rate = rates[0];
    config.h264.buffer_size = 100000;
    const Packets expected = encode_pictures(config, pictures, pictures.size(), change);
    for (const size_t part : {0, 1}) {
        double bits = 0;
        for (size_t i = 0; i < 125; i++) bits += 8 * static_cast<double>(expected.packets[125 * part + i].size());
        const double off = bits / 125 * 25 / static_cast<double>(rates[part]) - 1;
        EXPECT(std::abs(off) < 0.08, "gop_size %d, part %zu: %+.1f %%, QP %g", config.h264.gop_size, part, 100 * off,
               expected.qualities[125 * part + 100]);
    }
    config.async_depth = 9, config.threads = 1;
    EXPECT(encode_pictures(config, pictures, pictures.size(), change).stream == expected.stream, "in flight");
}
END_TEST

// What a session cannot have is refused with a line, and nothing changes.
START_TEST(refused_changes) {
    Log log;
    const auto with = [&](auto set, auto change, const char *line) {
        CudaencConfig config = make_config_of(30, &log);
        set(config.h264);
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "%s", line);
        EXPECT(change(session) == CUDAENC_ERR_INVALID, "%s", line);
        EXPECT(log.lines.back().find(line) != std::string::npos, "'%s', not '%s'", log.lines.back().c_str(), line);
        cudaenc_close(session);
    };
    const auto none = [](CudaencH264Options &) {};
    const auto rate = [](CudaencH264Options &o) { o.rate_control = CUDAENC_H264_BIT_RATE, o.bit_rate = 200000; };
    const auto buffer = [&](CudaencH264Options &o) { rate(o), o.max_rate = 300000, o.buffer_size = 30000; };
    const auto hrd = [&](CudaencH264Options &o) { rate(o), o.max_rate = 320000, o.hrd = 1; };
    const auto bits = [](int64_t average, int64_t most) {
        return [=](CudaencSession *s) { return cudaenc_set_bit_rate(s, average, most); };
    };
    const auto qp = [](int value) { return [=](CudaencSession *s) { return cudaenc_set_qp(s, value); }; };
    with(none, qp(52), "qp 52 is not allowed: it is 0 to 51");
    with(none, bits(100, 0), "bit_rate 100 is not allowed: the rate control has none");
    with(rate, qp(20), "qp 20 is not allowed: the rate control has a target of bits");
    with(rate, bits(0, 0), "bit_rate 0 is not allowed: it is 1 to");
    with(rate, bits(int64_t{1} << 40, 0), "bit_rate 1099511627776 is not allowed");
    with(rate, bits(100000, 200000), "max_rate 200000 is not allowed: there is no buffer");
    with(buffer, bits(400000, 0), "max_rate 300000 is not allowed: it is at least bit_rate, 400000");
    with(buffer, bits(400000, 900000), "max_rate 900000 is not allowed: the buffer has no room");
    with(hrd, bits(200000, 330000), "max_rate 330000 is not allowed: HRD parameters");
    EXPECT_EQ(cudaenc_set_qp(nullptr, 20), CUDAENC_ERR_INVALID);
    EXPECT_EQ(cudaenc_set_bit_rate(nullptr, 20, 0), CUDAENC_ERR_INVALID);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 sequence");
    TCase *c = add_case(suite, "pictures");
    tcase_add_test(c, gop);
    tcase_add_loop_test(c, forced_keys, 0, 2);
    tcase_add_loop_test(c, scene_cuts, 0, 2);
    TCase *changes = add_case(suite, "changes");
    tcase_add_test(changes, changed_qp);
    tcase_add_loop_test(changes, changed_bit_rate, 0, 2);
    tcase_add_test(changes, refused_changes);
    return run_suite(suite);
}
