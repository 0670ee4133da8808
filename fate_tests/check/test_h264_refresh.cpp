// SPDX-License-Identifier: LGPL-2.1-or-later
// Intra refresh: a decoder that begins anywhere with garbage in place of the picture before, or that loses a picture,
// has exact pictures once a refresh has passed over it.
#include "../../common/h264/inter/refresh.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

using Bytes = std::vector<uint8_t>;

// Texture that pans, in samples of 1/4 a picture; a part of it goes the other way.
struct Scene {
    int dx, dy, split, noise;
};
Picture draw(Random &random, const CudaencFormat &format, const Scene &scene, int time) {
    Picture picture = make_picture(random, format);
    const auto wave = [](int v, int period) {
        const int t = v & (2 * period - 1);
        return t < period ? t : 2 * period - t;
    };
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < picture.component_rows(c); y++)
            for (int x = 0; x < picture.columns(c); x++) {
                const int scale = c ? 8 : 4, way = y * scale / 4 % 40 < scene.split ? -1 : 1;
                const int u = scale * x + way * scene.dx * time + 4000, v = scale * y + scene.dy * time + 4000;
                const int patch = (u / 52 * 5 + v / 44 * 7) % 9;
                const int value = 30 + wave(u + v / 2, 64) / 2 + wave(v, 128) / 4 + 14 * patch +
                                  random.between(-scene.noise, scene.noise);
                picture.set(c, x, y, static_cast<uint32_t>(std::clamp(value, 0, 255)));
            }
    return picture;
}

std::vector<Bytes> encode(const CudaencConfig &config, const std::vector<Picture> &pictures) {
    std::vector<Bytes> packets;
    encode_pictures(config, pictures, [&](const CudaencPacket &packet) {
        packets.emplace_back(packet.data, packet.data + packet.size);
        EXPECT(packet.delta == (packets.size() > 1), "only IDR pictures are keys: packet %zu", packets.size() - 1);
    });
    return packets;
}

// recovery_frame_cnt of a recovery point with exact_match_flag; -1: there is none.
int recovery_frame_cnt(const StreamPicture &picture) {
    for (const Bytes &rbsp : picture.sei) {
        if (rbsp[0] != 6) continue;
        BitReader in(Bytes(rbsp.begin() + 2, rbsp.end()));
        const int count = static_cast<int>(in.ue());
        EXPECT(in.u(1) == 1 && in.u(3) == 0, "exact_match_flag, broken_link_flag, changing_slice_group_idc");
        return count;
    }
    return -1;
}

Bytes joined(const std::vector<Bytes> &packets, size_t first) {
    Bytes bytes;
    for (size_t i = first; i < packets.size(); i++) bytes.insert(bytes.end(), packets[i].begin(), packets[i].end());
    return bytes;
}

// The stream from packet `first` on, decoded from `before` as the picture before it.
std::vector<StreamPicture> decode_from(const std::vector<Bytes> &packets, size_t first, StreamPicture &before,
                                       const std::vector<StreamPicture> &all) {
    before.sps = all[0].sps;
    before.pps = all[0].pps;
    before.slices = all[first].slices;
    before.slices[0].frame_num--;  // of a P picture
    if (all[first].slices[0].frame_num == 0) before.slices[0].frame_num = (1u << before.sps.frame_num_bits) - 1;
    return decode_stream(joined(packets, first), {}, false, &before);
}

struct Stream {
    std::vector<Bytes> packets;
    std::vector<StreamPicture> pictures;
    int refresh;  // pictures of one
    std::string name;

    // The last picture of the first refresh that begins with picture `first` or later; one begins behind the IDR
    // picture.
    size_t exact_from(size_t first) const {
        const size_t r = static_cast<size_t>(refresh);
        return (first - 1 + r - 1) / r * r + r;
    }
    // Whether the pictures from `first` on, decoded from something else, end as they should. Some are wrong before.
    int expect_recovery(size_t first, StreamPicture &before) const {
        int wrong = 0;
        const std::vector<StreamPicture> own = decode_from(packets, first, before, pictures);
        for (size_t i = first; i < pictures.size(); i++) {
            const bool same = own[i - first].checksum(true) == pictures[i].checksum(true);
            wrong += !same;
            EXPECT(same || i < exact_from(first), "%s: from picture %zu on, picture %zu is wrong", name.c_str(), first,
                   i);
        }
        return wrong;
    }
};

Stream make_stream(Random &random, const CudaencFormat &format, CudaencConfig config, int refresh) {
    const Scene scene{.dx = random.between(-30, 30),
                      .dy = random.between(-12, 12),
                      .split = random.of({0, 13, 25}),
                      .noise = random.of({0, 2, 10})};
    std::vector<Picture> pictures;
    for (int i = 0; i < 3 * refresh + 3; i++) pictures.push_back(draw(random, format, scene, i));
    config.h264.gop_size = 1000;
    config.h264.scene_cut = 0;
    config.h264.intra_refresh = refresh;
    Stream stream{.packets = encode(config, pictures), .pictures = {}, .refresh = refresh, .name = {}};
    stream.name = describe_h264(config);
    stream.pictures = decode_stream(joined(stream.packets, 0));
    EXPECT_EQ(stream.pictures.size(), pictures.size());
    return stream;
}

CudaencConfig config_of(Random &random, const CudaencFormat &format, Log *log) {
    CudaencConfig config = make_h264_config(format, "cpu", log);
    CudaencH264Options &o = config.h264;
    o.profile = random.between(CUDAENC_H264_CONSTRAINED_BASELINE, CUDAENC_H264_HIGH);
    o.effort = 0;
    o.rate_control = CUDAENC_H264_CONSTANT_QP;
    o.qp = random.between(8, 45);
    o.deblock = random.one_in(4) ? 0 : 1;
    o.aud = random.between(0, 1);
    config.threads = 2;
    return config;
}

StreamPicture make_garbage(Random &random, const CudaencFormat &format, CudaencConfig config) {
    Picture noise = make_picture(random, format, Content::noise);
    config.h264.gop_size = 1;
    config.h264.intra_refresh = 0;
    return std::move(decode_stream(joined(encode(config, {noise}), 0))[0]);
}

START_TEST(columns) {
    for (int columns = 1; columns < 40; columns++)
        for (int pictures = 1; pictures < 90; pictures++) {
            int end = 0;
            for (int i = 0; i < pictures; i++) {
                const RefreshColumns r = refresh_columns(i, pictures, columns);
                EXPECT(r.first == end && r.end >= end && r.end - r.first <= (columns + pictures - 1) / pictures,
                       "%d columns, picture %d of %d: %d to %d", columns, i, pictures, r.first, r.end);
                for (int x = 0; x < columns; x++)
                    EXPECT(r.must_be_intra(x) == (x >= r.first && x < r.end) &&
                           r.only_16x16(x, columns) == (x == r.end - 1 && r.end < columns));
                end = r.end;
            }
            EXPECT_EQ(end, columns);
        }
    // The rightmost luma sample that a vector needs, of columns that the filter has not changed.
    const VectorRange whole{-1000, 1000, -100, 100};
    for (int first = 1; first < 6; first++)
        for (int x = 0; x < 6; x++) {
            const VectorRange range = RefreshColumns{first, first + 1}.limited(whole, x);
            EXPECT(x < first || range.right == whole.right);
            for (int v = range.left; x < first && v <= range.right; v++)
                EXPECT(16 * x + 15 + (v >> 2) + (v & 3 ? 3 : 0) < 16 * first - 3 &&
                       8 * x + 7 + (v >> 3) + (v & 7 ? 1 : 0) < 8 * first - 1);
        }
}
END_TEST

START_TEST(recovery) {
    Random random(static_cast<uint64_t>(_i) + 1);
    int wrong = 0;
    for (int round = 0; round < 3; round++) {
        Log log;
        const int columns = random.between(1, 9), refresh = random.between(1, columns + 4);
        const CudaencFormat format =
            make_h264_format(h264_inputs[0], 16 * columns - random.between(0, 15), random.between(17, 64));
        const CudaencConfig config = config_of(random, format, &log);
        StreamPicture garbage = make_garbage(random, format, config);
        Stream stream = make_stream(random, format, config, refresh);
        for (size_t i = 0; i < stream.pictures.size(); i++) {
            const bool begins = i > 0 && (i - 1) % static_cast<size_t>(refresh) == 0;
            EXPECT(recovery_frame_cnt(stream.pictures[i]) == (begins ? refresh - 1 : -1), "picture %zu", i);
            const std::vector<int> &types = stream.pictures[i].nal_types;
            EXPECT((std::find(types.begin(), types.end(), 7) != types.end()) == (begins || !i),
                   "%s: parameter sets of picture %zu", stream.name.c_str(), i);
        }
        for (size_t first = 1; first < stream.pictures.size(); first++) {
            wrong += stream.expect_recovery(first, garbage);
            if (first + 1 < stream.pictures.size())  // picture `first` is lost
                wrong += stream.expect_recovery(first + 1, stream.pictures[first - 1]), first += 2;
        }
    }
    EXPECT(wrong > 10, "%d pictures are wrong before they recover", wrong);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 refresh");
    TCase *c = add_case(suite, "refresh");
    tcase_add_test(c, columns);
    tcase_add_loop_test(c, recovery, 0, 8);
    return run_suite(suite);
}
