// SPDX-License-Identifier: LGPL-2.1-or-later
// Slices of at most so many bytes: no NAL unit has more, whatever size, QP, content and rate control are, and streams
// decode to what was coded. Bytes do not depend on threads, nor on the device, which codes all of it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "../../common/h264/params.h"
#include "../../common/h264/slice_division.h"
#include "h264_inputs.h"
#include "h264_stream.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

std::vector<uint8_t> encode(const CudaencConfig &config, const std::vector<Picture> &pictures) {
    std::vector<uint8_t> result;
    encode_pictures(config, pictures, [&](const CudaencPacket &packet) {
        result.insert(result.end(), packet.data, packet.data + packet.size);
    });
    return result;
}

// Bytes of NAL units without their start codes.
std::vector<size_t> nal_sizes(const std::vector<uint8_t> &stream) {
    std::vector<size_t> begins, sizes;
    for (size_t i = 0; i + 4 <= stream.size(); i++)
        if (!stream[i] && !stream[i + 1] && !stream[i + 2] && stream[i + 3] == 1) begins.push_back(i + 4);
    for (size_t i = 0; i < begins.size(); i++)
        sizes.push_back((i + 1 < begins.size() ? begins[i + 1] - 4 : stream.size()) - begins[i]);
    return sizes;
}

// Checksums of what the encoder reconstructed while it lives.
class Reconstructions {
  public:
    Reconstructions() {
        close(mkstemp(name_));
        setenv("CUDAENC_RECONSTRUCTIONS", name_, 1);
    }
    ~Reconstructions() {
        unsetenv("CUDAENC_RECONSTRUCTIONS");
        std::remove(name_);
    }
    std::set<std::string> sums() const {
        std::ifstream file(name_);
        return {std::istream_iterator<std::string>(file), {}};
    }

  private:
    char name_[64] = "/tmp/h264-reconstructions-XXXXXX";
};

CudaencConfig config_of(Random &random, const CudaencFormat &format, Log *log) {
    CudaencConfig config = make_h264_config(format, "cpu", log);
    CudaencH264Options &o = config.h264;
    o.effort = 0;
    o.profile = random.between(CUDAENC_H264_CONSTRAINED_BASELINE, CUDAENC_H264_HIGH);
    o.gop_size = random.of({3, 5, 100});
    if (random.one_in(3)) o.intra_refresh = 2;
    o.deblock = random.between(-1, 1);
    o.qp = random.between(0, 45);
    o.aq = random.between(-1, 512);
    o.slice_max_bytes = random.one_in(2) ? random.between(640, 1500) : 1200;
    switch (random.below(4)) {
        case 0:
            o.rate_control = CUDAENC_H264_BIT_RATE;
            o.bit_rate = random.of({100000, 500000, 3000000});
            o.cbr = random.between(0, 1);
            o.hrd = o.cbr;
            break;
        case 1:
            o.rate_control = CUDAENC_H264_CONSTANT_QUALITY;
            break;
        default:
            o.rate_control = CUDAENC_H264_CONSTANT_QP;
    }
    return config;
}

START_TEST(bounds) {
    Random random(static_cast<uint64_t>(_i) + 1);
    size_t slices = 0, within_rows = 0;
    for (int round = 0; round < 5; round++) {
        Log log;
        const auto held = open_test_devices();
        const CudaencFormat format = make_h264_format(h264_inputs[0], random.between(30, 200), random.between(20, 130));
        CudaencConfig config = config_of(random, format, &log);
        std::vector<Picture> pictures;
        const Content content = random.of({Content::noise, Content::smooth, Content::rows});
        for (int i = 0; i < 7; i++) {
            pictures.push_back(make_picture(random, format));
            if (i % 3)
                pictures.back() = pictures[pictures.size() - 2];  // P_Skip
            else
                fill(random, pictures.back(), content);
        }
        const std::string what = describe_h264(config);
        EXPECT_EQ(h264::only_on_cpu(h264::make_params(format, config.h264)), std::string());
        const Reconstructions reconstructions;
        const std::vector<uint8_t> encoded = encode(config, pictures);
        const std::set<std::string> sums = reconstructions.sums();
        for (const size_t size : nal_sizes(encoded))
            EXPECT(size <= static_cast<size_t>(config.h264.slice_max_bytes), "%s: a NAL unit of %zu", what.c_str(),
                   size);
        const std::vector<StreamPicture> decoded = decode_stream(encoded);
        EXPECT_EQ(decoded.size(), pictures.size());
        for (size_t i = 0; i < decoded.size(); i++) {
            slices += decoded[i].slices.size();
            for (const ParsedSliceHeader &slice : decoded[i].slices)
                within_rows += slice.first_macroblock % static_cast<uint32_t>((format.width + 15) / 16) != 0;
            EXPECT(sums.contains(decoded[i].checksum(true)), "%s: picture %zu is not what was coded", what.c_str(), i);
        }
        config.threads = 3, config.async_depth = 4;
        EXPECT(encode(config, pictures) == encoded, "%s: threads", what.c_str());
        for (const std::string &device : device_specs) {
            config.device = device.c_str();
            config.async_depth = random.between(1, 5);
            EXPECT(encode(config, pictures) == encoded, "%s: %s", what.c_str(), device.c_str());
        }
    }
    EXPECT(slices > 30 && within_rows > 0, "%zu slices, %zu begin within rows", slices, within_rows);
}
END_TEST

START_TEST(refused) {
    Log log;
    CudaencConfig config = make_h264_config(make_h264_format(h264_inputs[0], 64, 48), "cpu", &log);
    config.h264.effort = 0;
    CudaencSession *session;
    const auto expect_line = [&](const char *line) {
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        EXPECT(log.lines.back().find(line) != std::string::npos, "'%s'", log.lines.back().c_str());
    };
    config.h264.slice_max_bytes = 1200;
    expect_line("slice_max_bytes 1200 is not allowed with gop_size 1");
    config.h264.gop_size = 10, config.h264.slices = 2;
    expect_line("slices 2 is not allowed with slice_max_bytes");
    config.h264.slices = 0, config.h264.slice_max_bytes = 639;
    expect_line("slice_max_bytes 639 is not allowed: it is 640 to 1000000, or 0");
    config.h264.slice_max_bytes = 640, config.h264.weighted_prediction = 1;
    expect_line("slice_max_bytes 640 is not allowed: it is 660 to 1000000");
    config.format = make_h264_format(h264_inputs[std::size(h264_inputs) - 1], 64, 48);
    config.h264.weighted_prediction = 0, config.h264.slice_max_bytes = 800;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 slice bytes");
    TCase *c = add_case(suite, "slices");
    tcase_add_loop_test(c, bounds, 0, 8);
    tcase_add_test(c, refused);
    return run_suite(suite);
}
