// SPDX-License-Identifier: LGPL-2.1-or-later
// P pictures of fields through the C API: what decoders show is what was coded, which field each refers to, and which
// frames begin with an IDR picture. Bytes do not depend on threads, nor on the device.
#include <string>
#include <vector>

#include "../../common/fields.h"
#include "../../common/h264/inter/motion.h"
#include "../../common/h264/params.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "reconstructions.h"
#include "session_packets.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// Patches that move by `speed` samples a field, and down by half of it, on a background that stays.
Picture draw(const CudaencFormat &format, int fields, int scene, int frame, int speed) {
    Random random(1);  // what is beyond the samples
    Picture picture = make_picture(random, format);
    const int scale = 1 << (format.component[0].depth - 8);
    for (int c = 0; c < format.components; c++)
        for (int y = 0; y < picture.component_rows(c); y++)
            for (int x = 0; x < picture.columns(c); x++) {
                const bool second = (y & 1) != (fields == CUDAENC_BOTTOM_FIELD_FIRST);
                const int time = 2 * frame + second, moved = speed * time;
                const int u = (x << format.component[c].log2_subsample_x) + 500 * scene,
                          v = (y << format.component[c].log2_subsample_y) + 97 * scene;
                const bool moves = (u / 32 + v / 24) % 3 != 0;
                const int a = moves ? u + moved : u, b = moves ? v + moved / 2 : v;
                const int patch = ((a / 13) * 5 + (b / 11) * 7 + scene * (a / 13 + b / 7)) % 9;
                const int wave = (a + b / 2) % 46 < 23 ? (a + b / 2) % 23 : 23 - (a + b / 2) % 23;
                picture.set(c, x, y, static_cast<uint32_t>(scale * (30 + 2 * wave + 16 * patch)));
            }
    return picture;
}

CudaencConfig make_fields_config(const CudaencFormat &format, int gop_size, Log *log) {
    CudaencConfig config = make_h264_config(format, "cpu", log);
    config.fields = CUDAENC_TOP_FIELD_FIRST;
    config.h264.effort = 0;
    config.h264.gop_size = gop_size;
    config.threads = 2;
    return config;
}

// Options that fields have, at random.
CudaencConfig random_config(Random &random, const CudaencFormat &format, Log *log) {
    CudaencConfig config = make_fields_config(format, random.of({2, 3, 40}), log);
    CudaencH264Options &o = config.h264;
    config.fields = random.of({CUDAENC_TOP_FIELD_FIRST, CUDAENC_BOTTOM_FIELD_FIRST});
    if (format.component[0].depth == 8 && format.component[1].log2_subsample_y)
        o.profile = random.between(CUDAENC_H264_MAIN, CUDAENC_H264_HIGH);
    o.deblock = random.between(-1, 1), o.aud = random.between(0, 1), o.timecodes = random.between(0, 1);
    o.qp = random.between(0, 51), o.aq = random.between(-1, 512);
    o.scene_cut = random.one_in(2) ? 20 : 0;
    o.slices = std::min(random.between(0, 2), (format.height / 2 + 15) / 16);
    if (random.one_in(4)) o.slices = 0, o.slice_max_bytes = random.between(1024, 2000);
    switch (random.below(4)) {
        case 0:
            o.rate_control = CUDAENC_H264_BIT_RATE;
            o.bit_rate = random.of({300000, 1000000, 3000000});
            o.cbr = o.hrd = random.between(0, 1);
            break;
        case 1:
            o.rate_control = CUDAENC_H264_CONSTANT_QUALITY;
            break;
        default:
            o.rate_control = CUDAENC_H264_CONSTANT_QP;
    }
    return config;
}

// All formats, sizes and options at random.
START_TEST(streams_show_the_reconstruction) {
    const auto held = open_test_devices();
    Random random(static_cast<uint64_t>(_i) + 1);
    const H264Format &of = h264_inputs[static_cast<size_t>(_i) % std::size(h264_inputs)];
    if (of.chroma == h264::ChromaFormat::c444) return;
    Log log;
    const CudaencFormat format = make_h264_format(of, random.between(1, 150), 4 * random.between(1, 40));
    CudaencConfig config = random_config(random, format, &log);
    const int speed = random.between(0, 7);
    std::vector<Picture> pictures;
    for (int i = 0; i < 5; i++)
        pictures.push_back(random.one_in(6) ? make_picture(random, format, Content::noise)
                                            : draw(format, config.fields, random.one_in(6), i, speed));
    const std::string what = format_string("%s, fields %d, %s", of.name, config.fields, describe_h264(config).c_str());
    const CudaencConfig of_fields = config_of_fields(config);
    EXPECT_EQ(h264::only_on_cpu(h264::make_params(of_fields.format, of_fields.h264, config.fields)), std::string());
    Reconstructions reconstructions;
    const Packets coded = encode_with_keys(config, pictures);
    const std::vector<std::string> got = reconstructions.take();
    try {
        std::vector<std::string> shown;
        const std::vector<StreamPicture> decoded = decode_stream(coded.stream);
        EXPECT(decoded.size() == 2 * pictures.size(), "%s: %zu fields", what.c_str(), decoded.size());
        add_checksums(decoded, shown, true);
        EXPECT(got == shown, "%s: %zu and %zu reconstructions", what.c_str(), got.size(), shown.size());
    } catch (const std::exception &e) {
        EXPECT(false, "%s: %s", what.c_str(), e.what());
    }
    config.threads = 3, config.async_depth = random.between(1, 5);
    EXPECT(encode_with_keys(config, pictures).stream == coded.stream, "%s: threads", what.c_str());
    for (const std::string &device : device_specs) {
        config.device = device.c_str();
        EXPECT(encode_with_keys(config, pictures).stream == coded.stream, "%s: %s", what.c_str(), device.c_str());
    }
}
END_TEST

// IDR pictures, the numbers of pictures and what they refer to, through wraps of frame_num and of pic_order_cnt_lsb.
START_TEST(order) {
    const CudaencFormat format = make_h264_format(h264_inputs[0], 48, 64);
    Log log;
    CudaencConfig config = make_fields_config(format, 40, &log);
    if (_i % 2) config.fields = CUDAENC_BOTTOM_FIELD_FIRST;
    if (_i / 2) config.h264.rate_control = CUDAENC_H264_BIT_RATE, config.h264.bit_rate = 300000;
    std::vector<Picture> pictures;
    for (int i = 0; i < 26; i++) pictures.push_back(draw(format, config.fields, i >= 22, i, 3));
    const Packets coded = encode_with_keys(config, pictures, {0, 2});
    EXPECT(coded.types == "KdKdddddddddddddddddddKddd", "%s", coded.types.c_str());
    const std::vector<StreamPicture> decoded = decode_stream(coded.stream);
    EXPECT_EQ(decoded.size(), 2 * pictures.size());
    EXPECT(decoded[0].sps.reference_frames == 2 && decoded[0].sps.max_dec_frame_buffering == 2, "frames of references");
    uint32_t frame = 0;
    for (size_t i = 0; i < decoded.size(); i++) {
        const ParsedSliceHeader &h = decoded[i].slices[0];
        const bool second = i % 2, key = coded.types[i / 2] == 'K', bottom = second != (_i % 2);
        frame = key ? 0 : frame + !second;
        EXPECT((decoded[i].nal_types.back() == 5) == (key && !second) && h.is_p == !(key && !second), "field %zu", i);
        EXPECT(h.frame_num == frame % 16 && h.pic_order_cnt_lsb == (2 * frame + second) % 16 && h.is_bottom == bottom,
               "field %zu: frame_num %u, pic_order_cnt_lsb %u", i, h.frame_num, h.pic_order_cnt_lsb);
    }
}
END_TEST

// What does not move costs next to nothing.
START_TEST(saves_bytes) {
    const CudaencFormat format = make_h264_format(h264_inputs[_i], 176, 144);
    Log log;
    const CudaencConfig config = make_fields_config(format, 50, &log);
    const std::vector<Picture> still(8, draw(format, config.fields, 0, 0, 0));
    const size_t first = encode_with_keys(config, {still[0]}).stream.size(),
                 all = encode_with_keys(config, still).stream.size();
    EXPECT(all < first + first / 4, "%zu bytes, of the first frame %zu", all, first);
}
END_TEST

// Table 8-9 and 8.2.4.1.
START_TEST(references) {
    using h264::field_reference, h264::FieldReference;
    const FieldReference same = field_reference(2, true, false), top = field_reference(1, false, false),
                         bottom = field_reference(1, true, true);
    EXPECT(same.distance == 2 && same.chroma_offset == 0 && same.abs_diff_pic_num == 0);
    EXPECT(top.distance == 1 && top.chroma_offset == -2 && top.abs_diff_pic_num == 3);
    EXPECT(bottom.distance == 1 && bottom.chroma_offset == 2 && bottom.abs_diff_pic_num == 1);
}
END_TEST

START_TEST(refused) {
    Log log;
    const CudaencFormat format = make_h264_format(h264_inputs[0], 64, 64);
    CudaencSession *session;
    const auto expect_line = [&](const CudaencConfig &config, const char *line) {
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        EXPECT(log.lines.back().find(line) != std::string::npos, "'%s'", log.lines.back().c_str());
    };
    CudaencConfig config = make_fields_config(format, 10, &log);
    config.h264.lookahead = 8;
    expect_line(config, "lookahead 8 is not allowed with fields: it is 0");
    config.h264.lookahead = 0, config.h264.intra_refresh = 4;
    expect_line(config, "intra_refresh 4 is not allowed with fields: it is 0");
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 fields");
    TCase *c = add_case(suite, "fields");
    tcase_add_loop_test(c, streams_show_the_reconstruction, 0, 5 * static_cast<int>(std::size(h264_inputs)));
    tcase_add_loop_test(c, order, 0, 4);
    tcase_add_loop_test(c, saves_bytes, 0, 2);
    tcase_add_test(c, references);
    tcase_add_test(c, refused);
    return run_suite(suite);
}
