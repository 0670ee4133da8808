// SPDX-License-Identifier: LGPL-2.1-or-later
// nvJPEG reads what a GPU coded, and makes of it the samples that the tests' own decoder makes, within its rounding. Of
// no tests where there is no GPU (it is the program's argument), no library, or no header of it when the program was
// built.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "../bench/nvjpeg_library.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

#ifdef CUDAENC_HAS_NVJPEG

const char *device_spec;

class Decoder {
  public:
    Decoder() : lib_(""), device_(open_cuda_device(device_spec, nullptr)), stream_(device_->create_stream()) {
        check_nvjpeg(lib_.create(&handle_), "nvjpegCreateSimple");
        check_nvjpeg(lib_.decoder_state_create(handle_, &state_), "nvjpegJpegStateCreate");
    }
    ~Decoder() {
        lib_.decoder_state_destroy(state_);
        lib_.destroy(handle_);
        device_->destroy_stream(stream_);
    }
    Decoder(const Decoder &) = delete;

    std::string name() const { return lib_.name(); }

    // Samples of each component by rows; none where nvJPEG does not support such streams.
    std::vector<std::vector<uint8_t>> decode(const std::vector<uint8_t> &stream, const JpegDecoder &header) {
        int components = 0, widths[NVJPEG_MAX_COMPONENT] = {}, heights[NVJPEG_MAX_COMPONENT] = {};
        nvjpegChromaSubsampling_t sampling;
        const nvjpegStatus_t known =
            lib_.get_image_info(handle_, stream.data(), stream.size(), &components, &sampling, widths, heights);
        if (known != NVJPEG_STATUS_SUCCESS && header.scans > 1) return {};
        check_nvjpeg(known, "nvjpegGetImageInfo");
        EXPECT_EQ(components, static_cast<int>(header.components.size()));
        nvjpegImage_t image = {};
        std::vector<DeviceArray<uint8_t>> planes;
        std::vector<std::vector<uint8_t>> samples;
        for (size_t c = 0; c < header.components.size(); c++) {
            const auto &k = header.components[c];
            EXPECT(widths[c] == k.width && heights[c] == k.height, "component %zu is %dx%d, told as %dx%d", c, k.width,
                   k.height, widths[c], heights[c]);
            samples.emplace_back(static_cast<size_t>(k.width) * static_cast<size_t>(k.height));
            planes.emplace_back(device_, samples.back().size());
            image.channel[c] = planes.back().data();
            image.pitch[c] = static_cast<size_t>(k.width);
        }
        const nvjpegStatus_t status =
            lib_.decode(handle_, state_, stream.data(), stream.size(), NVJPEG_OUTPUT_UNCHANGED, &image,
                        reinterpret_cast<cudaStream_t>(stream_));
        if (status == NVJPEG_STATUS_JPEG_NOT_SUPPORTED || status == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED ||
            (status != NVJPEG_STATUS_SUCCESS && header.scans > 1))
            return {};
        check_nvjpeg(status, "nvjpegDecode");
        for (size_t c = 0; c < samples.size(); c++)
            device_->download(stream_, samples[c].data(), planes[c].data(), samples[c].size());
        device_->synchronize(stream_);
        return samples;
    }

  private:
    const NvjpegLibrary lib_;
    const std::shared_ptr<Device> device_;
    const Device::Stream stream_;
    nvjpegHandle_t handle_ = nullptr;
    nvjpegJpegState_t state_ = nullptr;
};

// Each format, from small odd sizes to one of many MCUs; tables and restart markers of all kinds.
void compare_decoders(const JpegFormat &of) {
    Random random(1);
    Decoder decoder;
    double most = 0, square = 0, count = 0;
    int streams = 0, unsupported = 0;
    const int intervals[] = {0, -1, 3};
    for (const auto &[width, height] : {std::pair{640, 360}, {83, 45}, {9, 7}, {1, 1}})
        for (const Content content : {Content::smooth, Content::noise})
            for (const int quality : {75, 100}) {
                Picture picture = make_picture(random, make_jpeg_format(of, width, height), content);
                Log log;
                CudaencConfig config = make_jpeg_config(picture.format, device_spec, &log);
                const int interval = random.of(intervals);
                config.mjpeg.quality = quality;
                config.mjpeg.restart_interval = interval;
                config.mjpeg.huffman = random.between(0, 1);
                const std::vector<uint8_t> stream = encode_jpeg(config, picture.frame());
                const JpegDecoder jpeg(stream.data(), stream.size());
                const std::string what = format_string("%s %dx%d, quality %d, restart_interval %d, huffman %d", of.name,
                                                       width, height, quality, interval, config.mjpeg.huffman);
                std::vector<std::vector<uint8_t>> decoded;
                try {
                    decoded = decoder.decode(stream, jpeg);
                } catch (const Error &e) {
                    ck_abort_msg("%s: %s", what.c_str(), e.what());
                }
                streams++;
                if (decoded.empty()) {
                    unsupported++;
                    continue;
                }
                for (size_t c = 0; c < decoded.size(); c++) {
                    const std::vector<double> expected = jpeg.samples(static_cast<int>(c));
                    for (size_t i = 0; i < expected.size(); i++) {
                        const double error = std::fabs(decoded[c][i] - std::clamp(expected[i], 0.0, 255.0));
                        most = std::max(most, error);
                        square += error * error;
                        count++;
                        EXPECT(error < 2, "%s: sample %zu of component %zu is %d instead of %g", what.c_str(), i, c,
                               decoded[c][i], expected[i]);
                    }
                }
            }
    std::printf("%s, %s: %d streams, %d not supported; at most %.2f from a double's samples, mean square %.3f\n",
                decoder.name().c_str(), of.name, streams, unsupported, most, count > 0 ? square / count : 0.0);
    // Blocks of more than ten an MCU are in scans of their own, which it need not read.
    EXPECT(!unsupported || of.log2_x + of.log2_y == 4, "%s: nvJPEG does not support %d of %d streams", of.name,
           unsupported, streams);
    EXPECT(count == 0 || square / count < 0.2, "%s: mean square error %g", of.name, square / count);
}

START_TEST(decodes) {
    try {
        compare_decoders(jpeg_formats[_i]);
    } catch (const Error &e) {
        ck_abort_msg("%s: %s", jpeg_formats[_i].name, e.what());
    }
}
END_TEST

bool usable(int argc, char **argv) {
    const std::string spec = argc > 1 ? argv[1] : "";
    if (spec != "cuda" && spec != "cuda:0") {
        std::printf("skipped: nvJPEG reads what a GPU coded\n");
        return false;
    }
    try {
        const NvjpegLibrary library("");
    } catch (const Error &e) {
        std::printf("skipped: nvJPEG: %s\n", e.what());
        return false;
    }
    device_spec = argv[1];
    return true;
}

void add_tests(Suite *suite) {
    tcase_add_loop_test(add_case(suite, "nvJPEG"), decodes, 0, static_cast<int>(std::size(jpeg_formats)));
}

#else

bool usable(int, char **) {
    std::printf("skipped: nvJPEG's header was not there when this was built\n");
    return false;
}
void add_tests(Suite *) {}

#endif

}  // namespace

int main(int argc, char **argv) {
    Suite *suite = suite_create("nvjpeg");
    if (usable(argc, argv)) add_tests(suite);
    return run_suite(suite);
}
