// SPDX-License-Identifier: LGPL-2.1-or-later
// What a JPEG stream says about itself: JFIF, Adobe, EXIF, ICC profile, comments, range, components.
#include <algorithm>
#include <string>
#include <vector>

#include "exif.h"
#include "mjpeg/stream.h"
#include "mjpeg_pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

struct Warnings {
    std::vector<std::string> lines;
    static void print(void *opaque, CudaencLogLevel level, const char *line) {
        if (level == CUDAENC_LOG_WARNING) static_cast<Warnings *>(opaque)->lines.push_back(line);
    }
};

struct Stream {
    Log log;
    Picture picture;
    CudaencConfig config;
    CudaencFrame frame;
    explicit Stream(int format) {
        Random random(1);
        picture = make_picture(random, make_jpeg_format(jpeg_formats[format], 20, 12));
        config = make_jpeg_config(picture.format, "cpu", &log);
        frame = picture.frame();
    }
    JpegDecoder decode() const {
        const std::vector<uint8_t> bytes = encode_jpeg(config, frame);
        return JpegDecoder(bytes.data(), bytes.size());
    }
};
enum { kGray = 0, kYuv444 = 1, kYuv420 = 3, kYuv410 = 6, kRgb = 11 };

std::vector<const JpegDecoder::Segment *> segments_of(const JpegDecoder &jpeg, int marker) {
    std::vector<const JpegDecoder::Segment *> found;
    for (const auto &s : jpeg.segments)
        if (s.marker == marker) found.push_back(&s);
    return found;
}

START_TEST(order_of_markers) {
    Stream s(kYuv420);
    s.config.mjpeg.restart_interval = 3;
    const std::vector<int> expected = {0xE0, 0xFE, 0xDB, 0xC0, 0xC4, 0xDD, 0xDA, 0xD9};
    EXPECT(s.decode().markers == expected, "the markers of 4:2:0");
    Stream t(kYuv410);
    t.config.mjpeg.restart_interval = -1;
    const std::vector<int> three = {0xE0, 0xFE, 0xDB, 0xC0, 0xC4, 0xDD, 0xDA, 0xDD, 0xDA, 0xDD, 0xDA, 0xD9};
    EXPECT(t.decode().markers == three, "the markers of 4:1:0");
    Stream u(kRgb);
    const std::vector<int> adobe = {0xEE, 0xFE, 0xDB, 0xC0, 0xC4, 0xDA, 0xD9};
    EXPECT(u.decode().markers == adobe, "the markers of RGB");
}
END_TEST

START_TEST(components) {
    const JpegDecoder yuv = Stream(kYuv420).decode();
    const int expected[3][4] = {{1, 2, 2, 0}, {2, 1, 1, 1}, {3, 1, 1, 1}};
    for (size_t c = 0; c < 3; c++) {
        const auto &k = yuv.components[c];
        EXPECT(k.id == expected[c][0] && k.h == expected[c][1] && k.v == expected[c][2] && k.tq == expected[c][3] &&
                   k.dc == k.tq && k.ac == k.tq,
               "component %zu", c);
    }
    const JpegDecoder rgb = Stream(kRgb).decode();
    for (size_t c = 0; c < 3; c++) {
        const auto &k = rgb.components[c];
        EXPECT(k.id == "RGB"[c] && k.h == 1 && k.v == 1 && k.tq == 0 && k.dc == 0 && k.ac == 0, "component %zu", c);
    }
    const JpegDecoder gray = Stream(kGray).decode();
    EXPECT(gray.components.size() == 1 && gray.components[0].h == 1 && gray.components[0].v == 1);
    const JpegDecoder wide = Stream(kYuv410).decode();
    EXPECT(wide.components[0].h == 4 && wide.components[0].v == 4 && wide.components[2].h == 1);
}
END_TEST

START_TEST(jfif) {
    const int ratios[][4] = {{0, 1, 1, 1},          {1, 1, 1, 1},         {16, 11, 16, 11},
                             {0, 0, 1, 1},          {65535, 1, 65535, 1}, {131070, 65536, 65535, 32768},
                             {1 << 30, 1, 32768, 1}};
    for (const auto &ratio : ratios) {
        Stream s(kYuv444);
        s.frame.sample_aspect_num = ratio[0], s.frame.sample_aspect_den = ratio[1];
        const JpegDecoder jpeg = s.decode();
        const auto app0 = segments_of(jpeg, 0xE0);
        EXPECT_EQ(app0.size(), 1);
        const std::vector<uint8_t> expected = {'J',
                                               'F',
                                               'I',
                                               'F',
                                               0,
                                               1,
                                               2,
                                               0,
                                               static_cast<uint8_t>(ratio[2] >> 8),
                                               static_cast<uint8_t>(ratio[2]),
                                               static_cast<uint8_t>(ratio[3] >> 8),
                                               static_cast<uint8_t>(ratio[3]),
                                               0,
                                               0};
        EXPECT(app0[0]->data == expected, "JFIF of %d:%d", ratio[0], ratio[1]);
    }
}
END_TEST

START_TEST(adobe) {
    Stream s(kRgb);
    JpegDecoder jpeg = s.decode();
    const std::vector<uint8_t> expected = {'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0};
    EXPECT_EQ(segments_of(jpeg, 0xEE).size(), 1);
    EXPECT(segments_of(jpeg, 0xEE)[0]->data == expected, "APP14");
    EXPECT(segments_of(jpeg, 0xE0).empty());
    EXPECT(segments_of(jpeg, 0xE1).empty());
    s.frame.sample_aspect_num = 16, s.frame.sample_aspect_den = 11;  // EXIF's densities, as JFIF has no place here
    jpeg = s.decode();
    EXPECT_EQ(segments_of(jpeg, 0xE1).size(), 1);
    const std::vector<uint8_t> &exif = segments_of(jpeg, 0xE1)[0]->data;
    const Exif tiff({exif.data() + 6, exif.size() - 6});
    EXPECT(tiff.number(Exif::kResolutionUnit) == 1 && tiff.rational(Exif::kXResolution)->numerator == 11 &&
           tiff.rational(Exif::kYResolution)->numerator == 16);
    const std::vector<uint8_t> packet = encode_jpeg(s.config, s.frame);
    const mjpeg::StreamReader read(packet);
    EXPECT(read.headers().metadata.density_num == 16 && read.headers().metadata.density_den == 11);
    s.config.mjpeg.mct = 1;
    jpeg = s.decode();
    EXPECT(segments_of(jpeg, 0xEE).empty() && segments_of(jpeg, 0xE0).size() == 1 && jpeg.components[1].tq == 1);
}
END_TEST

START_TEST(comments) {
    Stream s(kYuv444);
    const auto text = [](const JpegDecoder::Segment *segment) {
        return std::string(segment->data.begin(), segment->data.end());
    };
    JpegDecoder jpeg = s.decode();
    EXPECT_EQ(segments_of(jpeg, 0xFE).size(), 1);
    EXPECT(text(segments_of(jpeg, 0xFE)[0]).rfind("cudaenc ", 0) == 0, "the library's name");
    s.config.mjpeg.comment = "";
    EXPECT(segments_of(s.decode(), 0xFE).empty());
    s.config.mjpeg.comment = "a comment";
    s.config.format.full_range = 0;
    jpeg = s.decode();
    EXPECT_EQ(segments_of(jpeg, 0xFE).size(), 2);
    EXPECT(text(segments_of(jpeg, 0xFE)[0]) == "a comment", "the comment");
    EXPECT(text(segments_of(jpeg, 0xFE)[1]) == std::string("CS=ITU601", 10), "limited range");
    Stream rgb(kRgb);
    rgb.config.mjpeg.comment = "";
    rgb.config.format.full_range = 0;
    EXPECT(segments_of(rgb.decode(), 0xFE).empty());
}
END_TEST

std::vector<uint8_t> make_profile(size_t size, const char *space) {
    std::vector<uint8_t> profile(size);
    for (size_t i = 0; i < size; i++) profile[i] = static_cast<uint8_t>(i * 7 + i / 251);
    std::copy_n(space, 4, profile.begin() + 16);
    return profile;
}

START_TEST(icc_profiles) {
    for (const size_t size : {size_t{128}, size_t{65519}, size_t{65520}, size_t{200000}}) {
        Stream s(kYuv420);
        const std::vector<uint8_t> profile = make_profile(size, "RGB ");
        s.frame.icc_profile = profile.data(), s.frame.icc_profile_size = size;
        const JpegDecoder jpeg = s.decode();
        const auto chunks = segments_of(jpeg, 0xE2);
        std::vector<uint8_t> joined;
        for (size_t i = 0; i < chunks.size(); i++) {
            EXPECT(chunks[i]->is(std::string("ICC_PROFILE", 12)) && chunks[i]->data[12] == i + 1 &&
                       chunks[i]->data[13] == chunks.size(),
                   "chunk %zu", i);
            joined.insert(joined.end(), chunks[i]->data.begin() + 14, chunks[i]->data.end());
        }
        EXPECT(joined == profile && chunks.size() == (size + 65518) / 65519, "a profile of %zu bytes", size);
    }
    // On a device headers have room beside the coded bytes.
    Stream large(kYuv420);
    const std::vector<uint8_t> profile = make_profile(9000000, "RGB ");
    large.frame.icc_profile = profile.data(), large.frame.icc_profile_size = profile.size();
    const std::vector<uint8_t> expected = encode_jpeg(large.config, large.frame);
    large.config.device = "emu";
    EXPECT(encode_jpeg(large.config, large.frame) == expected);
    // Of other colours.
    for (const int format : {kGray, kYuv444, kRgb})
        for (const char *space : {"RGB ", "GRAY", "CMYK"}) {
            Stream s(format);
            const std::vector<uint8_t> profile = make_profile(500, space);
            s.frame.icc_profile = profile.data(), s.frame.icc_profile_size = profile.size();
            const bool fits = std::string(space) == (format == kGray ? "GRAY" : "RGB ");
            Warnings warnings;
            s.config.log = Warnings::print, s.config.log_opaque = &warnings;
            EXPECT(segments_of(s.decode(), 0xE2).size() == fits, "a profile of %s in format %d", space, format);
            EXPECT_EQ(warnings.lines.size(), !fits);
            if (!fits)
                EXPECT(warnings.lines[0].find(format_string("its colour space is '%s'", space)) != std::string::npos);
        }
    for (const char *device : {"cpu", "emu"}) {  // zeros
        Stream s(kYuv420);
        Warnings warnings;
        s.config.device = device, s.config.log = Warnings::print, s.config.log_opaque = &warnings;
        const std::vector<uint8_t> zeros(100);
        s.frame.icc_profile = zeros.data(), s.frame.icc_profile_size = zeros.size();
        EXPECT(segments_of(s.decode(), 0xE2).empty(), "a profile of zeros");
        EXPECT_EQ(warnings.lines.at(0).c_str(),
                  "the frame's ICC profile of 100 bytes is left out: its header alone has 128 (said once)");
    }
}
END_TEST

START_TEST(exif) {
    Stream s(kYuv420);
    std::vector<uint8_t> data = {'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    s.frame.exif = data.data(), s.frame.exif_size = data.size();
    const JpegDecoder jpeg = s.decode();
    EXPECT_EQ(segments_of(jpeg, 0xE1).size(), 1);
    std::vector<uint8_t> expected = {'E', 'x', 'i', 'f', 0, 0};
    expected.insert(expected.end(), data.begin(), data.end());
    EXPECT(segments_of(jpeg, 0xE1)[0]->data == expected, "EXIF");

    // What does not fit is refused, and the session goes on.
    data.resize(65528);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &s.config), CUDAENC_OK);
    s.frame.exif = data.data(), s.frame.exif_size = data.size();
    EXPECT_EQ(cudaenc_submit(session, &s.frame), CUDAENC_ERR_INVALID);
    EXPECT(s.log.lines.size() == 1 && s.log.lines[0].find("65528") != std::string::npos, "the line");
    s.frame.exif_size = 65527;
    EXPECT_EQ(cudaenc_submit(session, &s.frame), CUDAENC_OK);
    const std::vector<uint8_t> huge = make_profile(255 * 65519 + 1, "RGB ");
    cudaenc_flush(session);
    CudaencPacket packet;
    EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_OK);
    cudaenc_buffer_free(packet.buffer);
    s.frame.icc_profile = huge.data(), s.frame.icc_profile_size = huge.size();
    EXPECT_EQ(cudaenc_submit(session, &s.frame), CUDAENC_ERR_INVALID);
    cudaenc_close(session);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mjpeg_headers");
    TCase *headers = add_case(suite, "headers");
    tcase_add_test(headers, order_of_markers);
    tcase_add_test(headers, components);
    tcase_add_test(headers, jfif);
    tcase_add_test(headers, adobe);
    tcase_add_test(headers, comments);
    tcase_add_test(headers, icc_profiles);
    tcase_add_test(headers, exif);
    return run_suite(suite);
}
