// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions: what they refuse and how they say so, the protocol of submit and receive, packets that outlive the session,
// and the same bytes whatever runs them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/j2k/rate/budget.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

CudaencFormat gray(int width, int height, int depth = 8) {
    return make_format(width, height, 1, depth, false, CUDAENC_COLOR_GRAY);
}

// ---- what is refused ----

START_TEST(defaults_and_version) {
    EXPECT_EQ(cudaenc_version(), CUDAENC_VERSION);
    EXPECT_EQ(CUDAENC_VERSION >> 16, CUDAENC_VERSION_MAJOR);
    CudaencConfig config;
    std::memset(static_cast<void *>(&config), 0xEE, sizeof config);
    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);
    EXPECT_EQ(config.struct_size, sizeof config);
    EXPECT_EQ(config.codec, CUDAENC_CODEC_J2K);
    EXPECT_EQ(config.device, "auto");
    EXPECT_EQ(config.async_depth, 0);
    EXPECT_EQ(config.threads, 0);
    EXPECT_EQ(config.stage_times, 0);
    EXPECT(!config.log && !config.cuda_context && !config.device_frames);
    const CudaencJ2kOptions &o = config.j2k;
    EXPECT_EQ(o.profile, CUDAENC_J2K_NO_PROFILE);
    EXPECT(o.format == -1 && o.pred == -1 && o.prog == -1 && o.tlm == -1);
    EXPECT(o.quality == -1 && o.rate_control == -1);
    EXPECT_EQ(o.levels, -1);
    EXPECT(!o.cblk_width && !o.cblk_height && o.layers == -1 && o.mct == -1 && o.guard_bits == -1 && o.cblk_style == 0);
    EXPECT(!o.tile_width && !o.tile_height && !o.precincts && !o.comment);
    EXPECT(o.sop == -1 && o.eph == -1 && o.plt == -1 && !o.poc && !o.tile_parts);
    std::set<std::string> sentences;
    for (int code = CUDAENC_ERR_INTERNAL; code <= CUDAENC_OK; code++) sentences.insert(cudaenc_error_string(code));
    EXPECT_EQ(sentences.size(), 8);
    EXPECT(!sentences.count(cudaenc_error_string(-1000)));
}
END_TEST

struct Refusal {
    const char *what;
    std::function<void(CudaencConfig &)> change;
    std::vector<const char *> parts;  // of the line
};

const std::string long_comment(65532, 'x');
const std::string long_poc = [] {
    std::string text = "0,0,1,6,1,lrcp";
    for (int i = 1; i < 9362; i++) text += "/0,0,1,1,1,lrcp";
    return text;
}();

const std::string many_rates = [] {
    std::string text = "200";
    for (int rate = 199; rate > 99; rate--) text += format_string(",%d", rate);
    return text;
}();

// An enumeration's member may have any number in memory.
template <int model>
void set_color_model(CudaencConfig &config) {
    const int number = model;
    std::memcpy(&config.format.color_model, &number, sizeof number);
}

#define SET(expression) [](CudaencConfig &c) { c.expression; }
const std::vector<Refusal> kRefusals = {
    {"async_depth -1", SET(async_depth = -1), {"async_depth", " -1 ", "0 to 64"}},
    {"async_depth 65", SET(async_depth = 65), {"async_depth", " 65 ", "0 to 64"}},
    {"color_model 4", set_color_model<4>, {"color_model", " 4 ", "0 to 3"}},
    {"color_model -1", set_color_model<-1>, {"color_model", " -1 ", "0 to 3"}},
    {"threads -1", SET(threads = -1), {"threads", "-1", "0", "1024"}},
    {"threads 1025", SET(threads = 1025), {"threads", "1025", "1024"}},
    {"device gpu", SET(device = "gpu"), {"device", "'gpu'", "auto", "cpu", "cuda:N"}},
    {"device cuda:", SET(device = "cuda:"), {"device", "'cuda:'", "auto", "cpu", "cuda:N"}},
    {"device cuda:x", SET(device = "cuda:x"), {"device", "'cuda:x'", "cuda:N"}},
    {"device cpu0", SET(device = "cpu0"), {"device", "'cpu0'", "cuda:N"}},
    {"device packets on cpu",
     [](CudaencConfig &c) { c.codec = CUDAENC_CODEC_MJPEG, c.device_packets = 1; },
     {"device", "'cpu'", "packets", "cuda:N"}},
    {"device packets of J2K", SET(device_packets = 1), {"device_packets 1", "JPEG"}},
    {"device frames on cpu", SET(device_frames = 1), {"device", "'cpu'", "cuda:N"}},
    {"fields 3", SET(fields = 3), {"fields", " 3 ", "0 to 2"}},
    {"fields of an odd height",
     [](CudaencConfig &c) { c.fields = 1, c.format.height = 15; },
     {"height 15", "fields", "a multiple of 2"}},
    {"fields of an odd height of chroma",
     [](CudaencConfig &c) {
         c.fields = 2;
         c.format = make_format(20, 18, 3, 8, false, CUDAENC_COLOR_YUV);
         c.format.component[1].log2_subsample_y = 1;
     },
     {"height 18", "fields", "a multiple of 4"}},
    {"fields in JP2",
     [](CudaencConfig &c) { c.fields = 1, c.j2k.format = 1; },
     {"format 1 (jp2)", "fields", "0 (j2k)"}},
    {"fields and pst_lag",
     [](CudaencConfig &c) {
         c.fields = 1, c.j2k.compression_ratio = 9, c.j2k.rate_control = CUDAENC_J2K_RATE_PST, c.j2k.pst_lag = 33;
     },
     {"pst_lag 33", "fields", "1 to 32"}},
    {"fields and device packets",
     [](CudaencConfig &c) { c.codec = CUDAENC_CODEC_MJPEG, c.fields = c.device_packets = 1; },
     {"device_packets 1", "fields"}},
    {"codec 0", [](CudaencConfig &c) { c.codec = static_cast<CudaencCodec>(0); }, {"codec", " 0 "}},
    {"format", SET(j2k.format = 2), {"format", " 2 ", "-1 to 1"}},
    {"pred", SET(j2k.pred = -2), {"pred", "-2", "-1 to 1"}},
    {"prog", SET(j2k.prog = 5), {"prog", " 5 ", "-1 to 4"}},
    {"quality 0", SET(j2k.quality = 0), {"quality", " 0 ", "1 to 100"}},
    {"quality 101", SET(j2k.quality = 101), {"quality", "101", "1 to 100"}},
    {"levels -2", SET(j2k.levels = -2), {"levels", "-2", "-1 to 32"}},
    {"levels 33", SET(j2k.levels = 33), {"levels", "33", "-1 to 32"}},
    {"mct -2", SET(j2k.mct = -2), {"mct", "-2", "-1 to 1"}},
    {"mct 2", SET(j2k.mct = 2), {"mct", " 2 ", "-1 to 1"}},
    {"mct 1 of gray", SET(j2k.mct = 1), {"mct", " 1 ", "auto and 0"}},
    {"guard_bits 0", SET(j2k.guard_bits = 0), {"guard_bits", " 0 ", "1 to 7"}},
    {"guard_bits 8", SET(j2k.guard_bits = 8), {"guard_bits", " 8 ", "1 to 7"}},
    {"profile", SET(j2k.profile = 17), {"profile", " 17 ", "0 to 16"}},
    {"main_level 12", SET(j2k.main_level = 12), {"main_level", " 12 ", "0 to 11"}},
    {"main_level alone", SET(j2k.main_level = 2), {"main_level", "profile"}},
    {"sub_level 10", SET(j2k.sub_level = 10), {"sub_level", " 10 ", "-1 to 9"}},
    {"no frame rate", SET(j2k.profile = CUDAENC_J2K_IMF_2K), {"profile imf2k", "frame rate"}},
    {"gray in a DCP", SET(j2k.profile = CUDAENC_J2K_CINEMA_2K), {"profile cinema2k", "XYZ", "ST 428-1"}},
    {"tile_parts 4", SET(j2k.tile_parts = 4), {"tile_parts", " 4 ", "0 to 3"}},
    {"poc x", SET(j2k.poc = "x"), {"poc", "'x'", "RS,CS,LYE,RE,CE,ORDER"}},
    {"poc with a gap", SET(j2k.poc = "1,0,1,6,1,lrcp"), {"poc", "'1,0,1,6,1,lrcp'", "leaves out resolution 0"}},
    {"poc of 9362 changes", SET(j2k.poc = long_poc.c_str()), {"poc", "9361"}},
    {"sop", SET(j2k.sop = 2), {"sop", " 2 ", "-1 to 1"}},
    {"eph", SET(j2k.eph = -2), {"eph", "-2", "-1 to 1"}},
    {"tlm", SET(j2k.tlm = 2), {"tlm", " 2 ", "-1 to 1"}},
    {"plt", SET(j2k.plt = 2), {"plt", " 2 ", "-1 to 1"}},
    {"tile_width", SET(j2k.tile_width = -1), {"tile_width", "-1", "0 to"}},
    {"tile_height", SET(j2k.tile_height = -7), {"tile_height", "-7", "0 to"}},
    {"many tiles",
     [](CudaencConfig &c) {
         c.format = gray(256, 256);
         c.j2k.tile_width = c.j2k.tile_height = 1;
     },
     {"tile_width 1", "tile_height 1", "65536 tiles", "65535"}},
    {"min_frame_bytes", SET(j2k.min_frame_bytes = 1 << 24), {"min_frame_bytes 16777216", "at most 16777210"}},
    {"cblk_width 3", SET(j2k.cblk_width = 3), {"cblk_width", " 3 ", "power of two", "4 to 1024"}},
    {"cblk_style 128", SET(j2k.cblk_style = 128), {"cblk_style", " 128 ", "0 to 127"}},
    {"layers 0", SET(j2k.layers = 0), {"layers", " 0 ", "1 to 100"}},
    {"layers 101", SET(j2k.layers = 101), {"layers", "101", "1 to 100"}},
    {"layer_rates of 101 layers", SET(j2k.layer_rates = many_rates.c_str()), {"has 101 layers", "at most 100"}},
    {"a bit rate without a frame rate", SET(j2k.bit_rate = 1000000), {"b is not allowed", "frame rate"}},
    {"a master that is lossy",
     [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_ARCHIVE_LOSSLESS, c.j2k.pred = CUDAENC_J2K_DWT97; },
     {"profile archive_lossless", "pred dwt97", "it is lossless"}},
    {"a master of a size",
     [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_ARCHIVE_LOSSLESS, c.j2k.frame_bytes = 5000; },
     {"profile archive_lossless", "frame_bytes 5000", "it is lossless"}},
    {"a master of layers that end early",
     [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_ARCHIVE_LOSSLESS, c.j2k.layer_rates = "20,4"; },
     {"profile archive_lossless", "layer_rates '20,4'", "it is lossless"}},
    {"a level of a library's profile",
     [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_ACCESS, c.j2k.main_level = 2; },
     {"main_level", "IMF or broadcast"}},
    {"another coder in a profile",
     [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_IMF_HT, c.j2k.cblk_style = CUDAENC_J2K_SEGSYM; },
     {"profile imf_ht", "cblk_style other than ht", "Annex H"}},
    {"unlike depths in a profile",
     [](CudaencConfig &c) {
         c.format.components = 2;
         c.format.component[1] = c.format.component[0];
         c.format.component[1].depth = 7;
         c.format.component[0].depth = 8;
         c.j2k.profile = CUDAENC_J2K_IMF_HT_R;
     },
     {"profile imf_ht_r", "depth 7 of component 1", "8 to 16"}},
    {"unlike chroma in a profile",
     [](CudaencConfig &c) {
         c.format = make_format(8, 8, 3, 8, false, CUDAENC_COLOR_YUV);
         c.format.component[1].log2_subsample_x = 1;
         c.j2k.profile = CUDAENC_J2K_IMF_2K;
     },
     {"profile imf2k", "component 1 sub-sampled by 2, 1"}},
    {"sub-sampled alpha in a profile",
     [](CudaencConfig &c) {
         c.format = make_format(8, 8, 2, 8, false, CUDAENC_COLOR_GRAY);
         c.format.component[1].log2_subsample_x = 1;
         c.j2k.profile = CUDAENC_J2K_BROADCAST;
     },
     {"profile broadcast", "component 1 sub-sampled by 2, 1"}},
    {"two components in DICOM",
     [](CudaencConfig &c) {
         c.format.components = 2;
         c.format.component[1] = c.format.component[0];
         c.j2k.profile = CUDAENC_J2K_DICOM_HT;
     },
     {"profile dicom_ht", "2 components", "1 or 3", "PS3.5"}},
    {"few levels in DICOM",
     [](CudaencConfig &c) {
         c.format = gray(300, 300);
         c.j2k.profile = CUDAENC_J2K_DICOM_HT_RPCL, c.j2k.levels = 2;
     },
     {"profile dicom_ht_rpcl", "levels 2", "3 or more", "PS3.5 10.18"}},
    {"xmp that is missing", SET(j2k.xmp = "/nowhere/x.xmp"), {"xmp '/nowhere/x.xmp'", "cannot be opened"}},
    {"xmp that is none", SET(j2k.xmp = "/proc/version"), {"xmp '/proc/version'", "rdf:RDF"}},
    {"xmp that is a folder", SET(j2k.xmp = "/"), {"xmp '/'", "cannot be read"}},
    {"iptc that is empty", SET(j2k.iptc = "/dev/null"), {"iptc '/dev/null'", "is empty"}},
    {"iptc that is none", SET(j2k.iptc = "/proc/version"), {"iptc '/proc/version'", "8BIM"}},
    {"capture_ppi 0.5", SET(j2k.capture_ppi = 0.5), {"capture_ppi", " 0.5 ", "1 to 100000"}},
    {"psnr -1", SET(j2k.psnr = -1), {"psnr", " -1 ", "1 to 150"}},
    {"two targets", [](CudaencConfig &c) { c.j2k.psnr = 40, c.j2k.frame_bytes = 9000; }, {"psnr", "one of them"}},
    {"psnr that stops early",
     [](CudaencConfig &c) { c.j2k.psnr = 40, c.j2k.rate_control = CUDAENC_J2K_RATE_PSP; },
     {"rate_control", "psnr", "pcrd and auto"}},
    {"poc with a gap in layers",
     [](CudaencConfig &c) { c.j2k.layers = 3, c.j2k.poc = "0,0,2,6,1,lrcp/0,0,3,5,1,lrcp"; },
     {"poc", "leaves out resolution 5 of component 0 in layer 2"}},
    {"layers of a profile",
     [](CudaencConfig &c) { c.j2k.layers = 2, c.j2k.profile = CUDAENC_J2K_IMF_2K; },
     {"profile imf2k", "layers 2", "one quality layer"}},
    {"cblk_style -1", SET(j2k.cblk_style = -1), {"cblk_style", " -1 ", "0 to 127"}},
    {"cblk_width 2", SET(j2k.cblk_width = 2), {"cblk_width", " 2 ", "4 to 1024"}},
    {"cblk_height 2048", SET(j2k.cblk_height = 2048), {"cblk_height", "2048", "4 to 1024"}},
    {"cblk area",
     [](CudaencConfig &c) { c.j2k.cblk_width = 128, c.j2k.cblk_height = 64; },
     {"cblk_width 128", "cblk_height 64", "4096"}},
    {"precincts x", SET(j2k.precincts = "x"), {"precincts", "'x'", "WxH"}},
    {"precincts 16", SET(j2k.precincts = "16"), {"precincts", "'16'", "WxH"}},
    {"precincts 16x", SET(j2k.precincts = "16x"), {"precincts", "'16x'", "WxH"}},
    {"precincts 16x16,", SET(j2k.precincts = "16x16,"), {"precincts", "'16x16,'", "WxH"}},
    {"precincts 16x16 8x8", SET(j2k.precincts = "16x16 8x8"), {"precincts", "'16x16 8x8'", "WxH"}},
    {"precincts and a newline", SET(j2k.precincts = "16\n"), {"precincts", "'16?'", "WxH"}},
    {"precincts 3x4", SET(j2k.precincts = "3x4"), {"precincts", "3x4", "powers of two"}},
    {"precincts 65536x4", SET(j2k.precincts = "65536x4"), {"precincts", "65536x4", "32768"}},
    {"precincts -4x4", SET(j2k.precincts = "-4x4"), {"precincts", "-4x4", "2 to 32768"}},
    {"precincts 1x1", SET(j2k.precincts = "1x1"), {"precincts", "1x1", "lowest"}},
    {"precincts, too many",
     [](CudaencConfig &c) { c.j2k.levels = 1, c.j2k.precincts = "16x16,16x16,16x16"; },
     {"precincts", "'16x16,16x16,16x16'", "levels 1", "2"}},
    {"comment", SET(j2k.comment = long_comment.c_str()), {"comment", "65532", "65531"}},
    {"width 0", SET(format.width = 0), {"size", "0x8", "1 to 32768"}},
    {"height 32769", SET(format.height = 32769), {"size", "8x32769", "1 to 32768"}},
    {"components 0", SET(format.components = 0), {"0 components", "1 to 4"}},
    {"components 5", SET(format.components = 5), {"5 components", "1 to 4"}},
    {"color_model 7",
     [](CudaencConfig &c) {
         const int any = 7;
         std::memcpy(&c.format.color_model, &any, sizeof any);
     },
     {"color_model 7", "0 to 3"}},
    {"planes 5", SET(format.planes = 5), {"5 planes", "1 to 4"}},
    {"depth 0", SET(format.component[0].depth = 0), {"component 0", "depth 0", "1 to 16"}},
    {"depth 17", SET(format.component[0].depth = 17), {"component 0", "depth 17", "1 to 16"}},
    {"depth 10 shift 7",
     [](CudaencConfig &c) { c.format.component[0].depth = 10, c.format.component[0].shift = 7; },
     {"component 0", "depth 10", "shift 7", "1 to 16"}},
    {"shift", SET(format.component[0].shift = INT32_MAX), {"component 0", "shift 2147483647", "1 to 16"}},
    {"plane 1 of 1", SET(format.component[0].plane = 1), {"component 0", "plane 1"}},
    {"step 0", SET(format.component[0].step = 0), {"component 0", "step 0"}},
    {"step 3 of two bytes",
     [](CudaencConfig &c) { c.format.component[0].depth = 10, c.format.component[0].step = 3; },
     {"component 0", "offset 0", "step 3", "even"}},
    {"subsampling", SET(format.component[0].log2_subsample_x = 4), {"component 0", "2^4", "0 to 3"}},
};
#undef SET

START_TEST(refusals_name_what_and_why) {
    const Refusal &refusal = kRefusals[static_cast<size_t>(_i)];
    Log log;
    CudaencConfig config = make_config(gray(8, 8), "cpu", &log);
    refusal.change(config);
    auto *session = reinterpret_cast<CudaencSession *>(&log);
    const int code = cudaenc_open(&session, &config);
    EXPECT(code == CUDAENC_ERR_INVALID && !session, "%s: %d", refusal.what, code);
    EXPECT(log.lines.size() == 1, "%s: %zu lines", refusal.what, log.lines.size());
    EXPECT(log.lines[0].find('\n') == std::string::npos, "%s: more than a line", refusal.what);
    for (const char *part : refusal.parts)
        EXPECT(log.lines[0].find(part) != std::string::npos, "%s: no \"%s\" in \"%s\"", refusal.what, part,
               log.lines[0].c_str());
    config.log = nullptr;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
}
END_TEST

START_TEST(mct_needs_components_alike) {
    for (const bool depth : {false, true}) {
        Log log;
        CudaencConfig config = make_config(make_format(8, 8, 3, 8, false, CUDAENC_COLOR_YUV), "cpu", &log);
        config.j2k.mct = 1;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        cudaenc_close(session);
        if (depth)
            config.format.component[2].depth = 7;
        else
            config.format.component[1].log2_subsample_y = 1;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        EXPECT_EQ(log.lines.size(), 1);
    }
}
END_TEST

START_TEST(configurations_of_other_versions_are_refused) {
    Log log;
    CudaencConfig config = make_config(gray(8, 8), "cpu", &log);
    config.struct_size = offsetof(CudaencConfig, fields) - 1;
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
    EXPECT(!session);
    EXPECT_EQ(cudaenc_open(&session, nullptr), CUDAENC_ERR_INVALID);
    EXPECT(!session);
}
END_TEST

// ---- devices ----

struct Lines {
    std::vector<std::pair<CudaencLogLevel, std::string>> all;
    static void print(void *opaque, CudaencLogLevel level, const char *line) {
        static_cast<Lines *>(opaque)->all.push_back({level, line});
    }
};

START_TEST(devices_have_names) {
    const auto name_of = [](const char *device, int threads) {
        Log log;
        CudaencConfig config = make_config(gray(8, 8), device, &log);
        config.threads = threads;
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "%s", device);
        const std::string name = cudaenc_device_name(session);
        cudaenc_close(session);
        return name;
    };
    EXPECT(name_of("cpu", 1) == "cpu, 1 thread");
    EXPECT(name_of("cpu", 3) == "cpu, 3 threads");
    EXPECT(name_of("cpu", 0).rfind("cpu, ", 0) == 0);
    EXPECT(name_of("emu", 0) == "emu, seed 1");
    EXPECT(name_of("emu:9", 0) == "emu, seed 9");
    // auto: what is there; the CPU only with a warning that says so.
    for (const char *device : {"auto", "", static_cast<const char *>(nullptr)}) {
        Lines lines;
        CudaencConfig config = make_config(gray(8, 8), device, nullptr);
        config.format.full_range = 1;
        config.log = Lines::print;
        config.log_opaque = &lines;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        const std::string name = cudaenc_device_name(session);
        const bool cpu = name.rfind("cpu", 0) == 0;
        EXPECT(cpu || name.rfind("cuda:0", 0) == 0);
        const auto warnings = std::count_if(lines.all.begin(), lines.all.end(),
                                            [](const auto &l) { return l.first == CUDAENC_LOG_WARNING; });
        EXPECT_EQ(warnings, cpu);
        cudaenc_close(session);
    }
    Log log;
    CudaencConfig config = make_config(gray(8, 8), "cuda:999", &log);  // which no machine has
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_ERR_DEVICE);
    EXPECT(!session);
    EXPECT_EQ(log.lines.size(), 1);
}
END_TEST

// ---- protocol ----

void *tag(size_t i) { return reinterpret_cast<void *>(i + 1); }

std::vector<Picture> make_pictures(Random &random, const CudaencFormat &format, size_t count) {
    std::vector<Picture> pictures;
    for (size_t i = 0; i < count; i++) {
        pictures.push_back(make_picture(random, format));
        fill(random, pictures.back(), i % 3 ? Content::smooth : Content::noise);
    }
    return pictures;
}

CudaencFrame tagged(const Picture &picture, size_t i) {
    CudaencFrame frame = picture.frame();
    frame.opaque = tag(i);
    return frame;
}

// All packets of a session that is kept as full as it can be.
std::vector<std::vector<uint8_t>> encode_all(const CudaencConfig &config, const std::vector<Picture> &pictures) {
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
    std::vector<std::vector<uint8_t>> packets;
    CudaencPacket packet;
    const auto take = [&] {
        EXPECT(packet.opaque == tag(packets.size()), "packet %zu is another frame's", packets.size());
        packets.emplace_back(packet.data, packet.data + packet.size);
        for (size_t i = 0; i < CUDAENC_PACKET_PADDING; i++) EXPECT(!packet.data[packet.size + i], "padding %zu", i);
        cudaenc_buffer_free(packet.buffer);
    };
    for (size_t i = 0; i < pictures.size(); i++) {
        const CudaencFrame frame = tagged(pictures[i], i);
        int code;
        while ((code = cudaenc_submit(session, &frame)) == CUDAENC_AGAIN) {
            const int received = cudaenc_receive(session, &packet);
            EXPECT(received == CUDAENC_OK, "receive from a full ring: %d", received);
            take();
        }
        EXPECT(code == CUDAENC_OK, "submit: %d", code);
    }
    cudaenc_flush(session);
    int code;
    while ((code = cudaenc_receive(session, &packet)) == CUDAENC_OK) take();
    EXPECT(code == CUDAENC_EOF, "receive: %d", code);
    cudaenc_close(session);
    EXPECT(packets.size() == pictures.size(), "%zu packets", packets.size());
    return packets;
}

START_TEST(submit_and_receive_take_turns) {
    Random random(1);
    const auto pictures = make_pictures(random, gray(20, 10), 9);
    for (const char *device : {"cpu", "emu"})
        for (const int depth : {1, 2, 5}) {
            Log log;
            CudaencConfig config = make_config(pictures[0].format, device, &log);
            config.threads = 2;
            const auto expected = encode_all(config, pictures);
            config.async_depth = depth;
            CudaencSession *session;
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            CudaencPacket packet;
            const auto receive = [&](size_t i) {
                EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_OK);
                EXPECT(packet.opaque == tag(i) && !packet.delta);
                EXPECT(std::vector<uint8_t>(packet.data, packet.data + packet.size) == expected[i]);
                cudaenc_buffer_free(packet.buffer);
            };
            const auto submit = [&](size_t i) {
                const CudaencFrame frame = tagged(pictures[i], i);
                return cudaenc_submit(session, &frame);
            };
            const size_t n = static_cast<size_t>(depth);
            // Twice, since a flush ends nothing.
            for (int round = 0; round < 2; round++) {
                EXPECT_EQ(cudaenc_receive(session, &packet), round ? CUDAENC_EOF : CUDAENC_AGAIN);
                for (size_t i = 0; i < n; i++) {
                    EXPECT_EQ(submit(i), CUDAENC_OK);
                    if (i + 1 < n) EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_AGAIN);
                    EXPECT(i + 1 == n || (!packet.buffer && !packet.opaque));
                }
                EXPECT_EQ(submit(n), CUDAENC_AGAIN);
                receive(0);
                EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_AGAIN);
                EXPECT_EQ(submit(n), CUDAENC_OK);
                receive(1);
                cudaenc_flush(session);
                for (size_t i = 2; i <= n; i++) receive(i);
                EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_EOF);
                EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_EOF);
            }
            // A frame that is refused changes nothing.
            CudaencFrame bad = pictures[0].frame();
            bad.data[0] = nullptr;
            EXPECT(log.lines.empty());
            EXPECT_EQ(cudaenc_submit(session, &bad), CUDAENC_ERR_INVALID);
            EXPECT_EQ(log.lines.size(), 1);
            EXPECT(log.lines[0].find("plane 0") != std::string::npos);
            EXPECT_EQ(cudaenc_receive(session, &packet), CUDAENC_EOF);
            EXPECT_EQ(submit(3), CUDAENC_OK);
            cudaenc_flush(session);
            receive(3);
            cudaenc_close(session);
        }
    cudaenc_close(nullptr);
    cudaenc_buffer_free(nullptr);
}
END_TEST

constexpr CudaencCodec kCodecs[] = {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264};

// Waits by polling, a minute at most.
int poll_until_there(CudaencSession *session, CudaencPacket &packet) {
    int code = CUDAENC_AGAIN;
    for (int i = 0; i < 60000 && (code = cudaenc_poll(session, &packet)) == CUDAENC_AGAIN; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return code;
}

// A packet leaves when it is finished, with room for other frames in the ring.
START_TEST(finished_packets_are_polled) {
    Random random(11);
    const auto pictures = make_pictures(random, gray(48, 40), 3);
    for (const char *device : {"cpu", "emu"})
        for (const int depth : {1, 4}) {
            Log log;
            CudaencConfig config = make_config(pictures[0].format, device, &log);
            config.codec = kCodecs[_i];
            const auto expected = encode_all(config, pictures);
            config.async_depth = depth;
            CudaencSession *session;
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            CudaencPacket packet;
            EXPECT_EQ(cudaenc_poll(session, &packet), CUDAENC_AGAIN);
            for (size_t i = 0; i < pictures.size(); i++) {
                const CudaencFrame frame = tagged(pictures[i], i);
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
                EXPECT_EQ(poll_until_there(session, packet), CUDAENC_OK);
                EXPECT(packet.opaque == tag(i) && !packet.delta);
                EXPECT(std::vector<uint8_t>(packet.data, packet.data + packet.size) == expected[i]);
                cudaenc_buffer_free(packet.buffer);
                EXPECT_EQ(cudaenc_poll(session, &packet), CUDAENC_AGAIN);
                EXPECT(!packet.buffer && !packet.opaque);
            }
            cudaenc_flush(session);
            EXPECT_EQ(cudaenc_poll(session, &packet), CUDAENC_EOF);
            cudaenc_close(session);
        }
}
END_TEST

// What a session says of targets. [level]: lines
struct LogOfTargets {
    std::vector<std::string> lines[CUDAENC_LOG_VERBOSE + 1];
    static void print(void *opaque, CudaencLogLevel level, const char *line) {
        if (std::strstr(line, "(said once)")) static_cast<LogOfTargets *>(opaque)->lines[level].push_back(line);
    }
};

// The qualities of all packets. icc: of each frame.
std::vector<double> qualities(CudaencConfig config, const std::vector<Picture> &pictures, LogOfTargets &log,
                              const std::vector<uint8_t> &icc = {}) {
    config.log = LogOfTargets::print;
    config.log_opaque = &log;
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open");
    std::vector<double> result;
    for (size_t i = 0; i < pictures.size(); i++) {
        CudaencFrame frame = tagged(pictures[i], i);
        frame.icc_profile = icc.data(), frame.icc_profile_size = icc.size();
        CudaencPacket packet;
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
        EXPECT(cudaenc_receive(session, &packet) == CUDAENC_OK, "receive");
        result.push_back(packet.quality);
        cudaenc_buffer_free(packet.buffer);
    }
    cudaenc_close(session);
    return result;
}

std::vector<Picture> noises(int width, int height, int count) {
    Random random(12);
    auto pictures = make_pictures(random, gray(width, height), static_cast<size_t>(count));
    for (Picture &picture : pictures) fill(random, picture, Content::noise);
    return pictures;
}

START_TEST(packets_tell_their_quality) {
    const auto pictures = noises(64, 48, 2);
    for (const char *device : {"cpu", "emu"}) {
        Log log;
        LogOfTargets targets;
        CudaencConfig config = make_config(pictures[0].format, device, &log);
        const auto all_are = [&](double quality) {
            for (const double q : qualities(config, pictures, targets)) EXPECT(std::fabs(q - (quality)) < 1e-9);
        };
        all_are(90);
        config.j2k.quality = 42;
        all_are(42);
        config.j2k.pred = CUDAENC_J2K_DWT53;
        all_are(CUDAENC_NO_QUALITY);
        config.codec = CUDAENC_CODEC_MJPEG;
        for (const int quality : {1, 25, 50, 77, 100}) {
            config.mjpeg.quality = quality;
            all_are(quality);
        }
        config.mjpeg.frame_bytes = 1000;
        for (const double q : qualities(config, pictures, targets)) EXPECT(q > 1 && q < 60);
        config.codec = CUDAENC_CODEC_H264;
        config.h264.rate_control = CUDAENC_H264_CONSTANT_QP;
        config.h264.qp = 31;
        all_are(31);
        for (const auto &lines : targets.lines) EXPECT(lines.empty());
    }
}
END_TEST

#define SET(expression) [](CudaencConfig &c) { c.expression; }
struct MissedTarget {
    CudaencCodec codec;
    void (*change)(CudaencConfig &);
    CudaencLogLevel level;
    const char *line;  // its beginning
};
const MissedTarget missed_targets[] = {
    {CUDAENC_CODEC_J2K, SET(j2k.frame_bytes = 100000), CUDAENC_LOG_INFO, "a packet has "},
    {CUDAENC_CODEC_J2K, SET(j2k.psnr = 60; c.j2k.quality = 10), CUDAENC_LOG_WARNING, "psnr 60 is not reached: "},
    {CUDAENC_CODEC_MJPEG, SET(mjpeg.frame_bytes = 100000), CUDAENC_LOG_INFO, "a packet has "},
    {CUDAENC_CODEC_MJPEG, SET(mjpeg.frame_bytes = 800; c.mjpeg.quality_min = 80), CUDAENC_LOG_WARNING, "a packet has "},
    {CUDAENC_CODEC_H264,
     SET(h264.rate_control = CUDAENC_H264_BIT_RATE; c.h264.bit_rate = 100000; c.h264.qp_max = 20; c.h264.qp_min = 0),
     CUDAENC_LOG_WARNING, "-b:v 100000 is exceeded: at QP 20"},
    {CUDAENC_CODEC_H264, SET(h264.rate_control = CUDAENC_H264_BIT_RATE; c.h264.bit_rate = 1000), CUDAENC_LOG_WARNING,
     "-b:v 1000 is exceeded: at QP 51"},  // beyond it pictures lose frequencies
    {CUDAENC_CODEC_H264, SET(h264.max_rate = 1000; c.h264.buffer_size = 1000), CUDAENC_LOG_WARNING, "a picture has "},
};

START_TEST(missed_targets_are_told_once) {
    const MissedTarget &missed = missed_targets[_i];
    const auto pictures = noises(64, 48, 30);
    for (const char *device : {"cpu", "emu"}) {
        Log log;
        LogOfTargets targets;
        CudaencConfig config = make_config(pictures[0].format, device, &log);
        config.codec = missed.codec;
        config.h264.frame_rate_num = 25;
        config.h264.frame_rate_den = 1;
        missed.change(config);
        for (const double quality : qualities(config, pictures, targets))
            EXPECT(quality <= (missed.codec == CUDAENC_CODEC_H264 ? 51 : 100));
        for (int level = 0; level <= CUDAENC_LOG_VERBOSE; level++)
            EXPECT_EQ(targets.lines[level].size(), level == missed.level);
        EXPECT(targets.lines[missed.level][0].rfind(missed.line, 0) == 0, "%s", targets.lines[missed.level][0].c_str());
    }
}
END_TEST

// A target that is missed in both directions, or beside metadata that readers may refuse.
START_TEST(each_notice_is_told_once) {
    Random random(13);
    auto pictures = noises(64, 48, 4);
    for (const size_t i : {1, 3}) fill(random, pictures[i], Content::flat);
    Log log;
    LogOfTargets both, beside;
    CudaencConfig config = make_config(pictures[0].format, "cpu", &log);
    config.codec = CUDAENC_CODEC_MJPEG;
    config.mjpeg.frame_bytes = 2000, config.mjpeg.quality_min = 90;
    qualities(config, pictures, both);
    EXPECT_EQ(both.lines[CUDAENC_LOG_WARNING].size(), 1);
    EXPECT_EQ(both.lines[CUDAENC_LOG_INFO].size(), 1);
    config = make_config(pictures[0].format, "cpu", &log);
    config.j2k.psnr = 60, config.j2k.quality = 10;
    std::vector<uint8_t> icc(200);  // of no class
    std::memcpy(&icc[16], "GRAY", 4);
    qualities(config, pictures, beside, icc);
    const std::vector<std::string> &lines = beside.lines[CUDAENC_LOG_WARNING];
    EXPECT_EQ(lines.size(), 2);
    EXPECT(lines[0].rfind("psnr 60 is not reached", 0) == 0, "%s", lines[0].c_str());
    EXPECT(lines[1].rfind("readers may refuse the file", 0) == 0, "%s", lines[1].c_str());
    config.j2k.format = CUDAENC_J2K_CODESTREAM;  // which has no profile
    LogOfTargets alone;
    qualities(config, pictures, alone, icc);
    EXPECT_EQ(alone.lines[CUDAENC_LOG_WARNING].size(), 2);
    EXPECT(alone.lines[CUDAENC_LOG_WARNING][1].find("are left out: format jp2") != std::string::npos);
}
END_TEST

// Profiles that JP2 has no place for, and what a codec has none for.
START_TEST(metadata_that_is_left_out_is_told) {
    const auto pictures = noises(20, 12, 2);
    for (const char *device : {"cpu", "emu"}) {
        Log log;
        CudaencConfig config = make_config(pictures[0].format, device, &log);
        std::vector<uint8_t> icc(100);
        LogOfTargets zeros, other, placeless;
        qualities(config, pictures, zeros, icc);
        EXPECT_EQ(zeros.lines[CUDAENC_LOG_WARNING].size(), 1);
        EXPECT_EQ(zeros.lines[CUDAENC_LOG_WARNING][0].c_str(),
                  "the frame's ICC profile of 100 bytes is left out: its header alone has 128 (said once)");
        icc.resize(200);
        std::memcpy(&icc[16], "RGB ", 4);
        qualities(config, pictures, other, icc);
        EXPECT_EQ(other.lines[CUDAENC_LOG_WARNING].size(), 1);
        EXPECT(other.lines[CUDAENC_LOG_WARNING][0].find("its colour space is 'RGB ', that of the samples 'GRAY'") !=
               std::string::npos);
        config.codec = CUDAENC_CODEC_H264;
        config.h264.frame_rate_num = 25, config.h264.frame_rate_den = 1;
        qualities(config, pictures, placeless, icc);
        EXPECT_EQ(placeless.lines[CUDAENC_LOG_INFO].size(), 1);
        EXPECT_EQ(placeless.lines[CUDAENC_LOG_INFO][0].c_str(),
                  "packets of this codec have no place for, and leave out: ICC profiles (said once)");
    }
}
END_TEST
#undef SET

START_TEST(packets_outlive_the_session) {
    Random random(2);
    const auto pictures = make_pictures(random, gray(50, 40), 6);
    for (const char *device : {"cpu", "emu"}) {
        Log log;
        CudaencConfig config = make_config(pictures[0].format, device, &log);
        config.threads = 3;
        const auto expected = encode_all(config, pictures);
        config.async_depth = 3;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        std::vector<CudaencPacket> packets;
        for (size_t i = 0; i < pictures.size(); i++) {
            const CudaencFrame frame = tagged(pictures[i], i);
            EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            CudaencPacket packet;
            if (cudaenc_receive(session, &packet) == CUDAENC_OK) packets.push_back(packet);
        }
        EXPECT_EQ(packets.size(), 4);
        cudaenc_close(session);  // with two frames in flight
        for (size_t i = 0; i < packets.size(); i++)
            EXPECT(std::vector<uint8_t>(packets[i].data, packets[i].data + packets[i].size) == expected[i]);
        std::thread([&] {
            for (const CudaencPacket &packet : packets) cudaenc_buffer_free(packet.buffer);
        }).join();
        // Closed at once, and with a full ring.
        for (const size_t frames : {0, 1, 3}) {
            EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
            for (size_t i = 0; i < frames; i++) {
                const CudaencFrame frame = pictures[i].frame();
                EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            cudaenc_close(session);
        }
    }
}
END_TEST

START_TEST(bytes_do_not_depend_on_what_runs) {
    Random random(static_cast<uint64_t>(_i) + 3);
    CudaencFormat format = make_format(67, 45, 3, 10, _i == 1, _i ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV);
    if (!_i) format.component[1].log2_subsample_x = format.component[2].log2_subsample_x = 1;
    const auto pictures = make_pictures(random, format, 10);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.pred = _i;
    config.j2k.tile_width = 40;
    config.j2k.tile_height = 33;
    config.j2k.plt = config.j2k.tlm = 1;
    const auto expected = encode_all(config, pictures);
    for (config.threads = 1; config.threads <= 8; config.threads++)
        for (config.async_depth = 1; config.async_depth <= 8; config.async_depth++)
            EXPECT(encode_all(config, pictures) == expected, "%d threads, async_depth %d", config.threads,
                   config.async_depth);
    config.threads = 1;
    const char *const devices[] = {"emu", "emu:2", "emu:3", "emu:77", "emu:123456789"};
    for (config.async_depth = 1; config.async_depth <= 8; config.async_depth++) {
        config.device = random.of(devices);
        EXPECT(encode_all(config, pictures) == expected, "%s, async_depth %d", config.device, config.async_depth);
    }
}
END_TEST

// What a session says of itself: defaults and what a profile decides, too.
START_TEST(summaries) {
    const struct {
        CudaencCodec codec;
        void (*set)(CudaencConfig &);
        const char *summary;
    } cases[] = {
        {CUDAENC_CODEC_J2K, [](CudaencConfig &) {}, "jp2, 9/7, quality 90, 5 levels, 32x32 blocks"},
        {CUDAENC_CODEC_J2K, [](CudaencConfig &c) { c.j2k.pred = CUDAENC_J2K_DWT53, c.j2k.cblk_style = CUDAENC_J2K_HT; },
         "jp2, 5/3 lossless, ht, 5 levels, 32x32 blocks"},
        {CUDAENC_CODEC_J2K, [](CudaencConfig &c) { c.j2k.pred = CUDAENC_J2K_DWT53, c.j2k.frame_bytes = 3000; },
         "jp2, 5/3, 3000 bytes a frame, 5 levels, 32x32 blocks"},
        {CUDAENC_CODEC_J2K, [](CudaencConfig &c) { c.j2k.psnr = 42.5, c.j2k.levels = 2, c.j2k.cblk_width = 64; },
         "jp2, 9/7, 42.5 dB, 2 levels, 64x32 blocks"},
        {CUDAENC_CODEC_J2K, [](CudaencConfig &c) { c.j2k.profile = CUDAENC_J2K_ACCESS; },
         "jp2, 9/7, 9830 bytes a frame, 5 levels, 64x64 blocks"},
        {CUDAENC_CODEC_J2K,
         [](CudaencConfig &c) {
             c.j2k.profile = CUDAENC_J2K_BROADCAST, c.j2k.frame_rate_num = c.j2k.frame_rate_den = 1;
         },
         "broadcast, j2k, 9/7, quality 90, 5 levels, 32x32 blocks"},
        {CUDAENC_CODEC_MJPEG, [](CudaencConfig &) {}, "quality 90, optimal Huffman tables"},
        {CUDAENC_CODEC_MJPEG,
         [](CudaencConfig &c) { c.mjpeg.frame_bytes = 9000, c.mjpeg.huffman = CUDAENC_MJPEG_HUFFMAN_DEFAULT; },
         "9000 bytes a frame, default Huffman tables"},
        {CUDAENC_CODEC_H264, [](CudaencConfig &) {}, "QP 20, adaptive quantisation 1, effort 0"},
        {CUDAENC_CODEC_H264,
         [](CudaencConfig &c) {
             c.h264.rate_control = CUDAENC_H264_BIT_RATE, c.h264.bit_rate = 1000000, c.h264.cbr = 1, c.h264.effort = 3;
             c.h264.frame_rate_num = 25, c.h264.frame_rate_den = 1;
         },
         "1000000 bits/s, constant, adaptive quantisation 1, effort 3"},
    };
    for (const auto &c : cases) {
        Log log;
        CudaencConfig config = make_config(make_format(256, 256, 3, 8, true, CUDAENC_COLOR_YUV), "cpu", &log);
        config.codec = c.codec;
        c.set(config);
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "%s: %s", c.summary,
               log.lines.empty() ? "" : log.lines.back().c_str());
        EXPECT(!std::strcmp(cudaenc_summary(session), c.summary), "'%s' instead of '%s'", cudaenc_summary(session),
               c.summary);
        cudaenc_close(session);
    }
}
END_TEST

// async_depth as it is given, or what 0 stands for; pst_lag where it is less.
START_TEST(frames_in_flight) {
    struct {
        CudaencCodec codec;
        const char *device;
        int async_depth, threads, frames;
    } const cases[] = {
        {CUDAENC_CODEC_J2K, "cpu", 0, 6, 4},    {CUDAENC_CODEC_J2K, "cpu", 7, 2, 7},
        {CUDAENC_CODEC_MJPEG, "cpu", 0, 6, 4},  {CUDAENC_CODEC_H264, "cpu", 0, 1, 4},
        {CUDAENC_CODEC_H264, "cpu", 0, 6, 9},   {CUDAENC_CODEC_H264, "cpu", 0, 50, 64},
        {CUDAENC_CODEC_H264, "cpu", 64, 1, 64}, {CUDAENC_CODEC_H264, "emu", 0, 20, 4},
        {CUDAENC_CODEC_J2K, "pst", 8, 2, 3},
    };
    for (const auto &c : cases) {
        Random random(5);
        Log log;
        const bool pst = !std::strcmp(c.device, "pst");
        const Picture picture = make_picture(random, make_format(32, 32, 1, 8, false, CUDAENC_COLOR_GRAY));
        CudaencConfig config = make_config(picture.format, pst ? "cpu" : c.device, &log);
        config.codec = c.codec, config.async_depth = c.async_depth, config.threads = c.threads;
        if (pst) {
            config.j2k.rate_control = CUDAENC_J2K_RATE_PST;
            config.j2k.compression_ratio = 2, config.j2k.pst_lag = c.frames;
        }
        CudaencSession *session;
        EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "%s, async_depth %d: %s", c.device, c.async_depth,
               log.lines.empty() ? "" : log.lines.back().c_str());
        EXPECT(cudaenc_async_depth(session) == c.frames, "%s, async_depth %d, %d threads: %d", c.device, c.async_depth,
               c.threads, cudaenc_async_depth(session));
        const CudaencFrame frame = picture.frame();
        int submitted = 0;
        while (submitted <= c.frames && cudaenc_submit(session, &frame) == CUDAENC_OK) submitted++;
        EXPECT(submitted == c.frames, "%s: %d frames are taken", c.device, submitted);
        cudaenc_close(session);
    }
}
END_TEST

// A frame takes the slope of an earlier one, a fixed number of frames before.
START_TEST(slopes_of_earlier_frames_have_a_fixed_lag) {
    Random random(static_cast<uint64_t>(_i) + 3);
    const auto pictures = make_pictures(random, make_format(150, 130, 1, 8, false, CUDAENC_COLOR_GRAY), 9);
    Log log;
    CudaencConfig config = make_config(pictures[0].format, "cpu", &log);
    config.j2k.rate_control = CUDAENC_J2K_RATE_PST;
    config.j2k.compression_ratio = 8;
    config.j2k.pst_lag = _i + 1;
    const auto expected = encode_all(config, pictures);
    for (const char *device : {"cpu", "emu"}) {
        config.device = device;
        for (config.async_depth = 1; config.async_depth <= 7; config.async_depth += 2)
            EXPECT(encode_all(config, pictures) == expected, "pst_lag %d, %s, async_depth %d", config.j2k.pst_lag,
                   device, config.async_depth);
    }
}
END_TEST

START_TEST(sessions_run_side_by_side) {
    Random random(5);
    const auto pictures = make_pictures(random, gray(33, 34), 6);
    Log log;
    const CudaencConfig config = make_config(pictures[0].format, "cpu", &log);
    const auto expected = encode_all(config, pictures);
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            CudaencConfig own = config;
            Log own_log;
            own.log_opaque = &own_log;
            own.device = t % 2 ? "cpu" : "emu";
            own.async_depth = t + 1;
            good += encode_all(own, pictures) == expected;
        });
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(good, 4);
}
END_TEST

START_TEST(stages_are_timed_when_asked) {
    Random random(6);
    const auto pictures = make_pictures(random, gray(40, 40), 5);
    for (int kind = 0; kind < 12; kind++) {
        const bool asked = kind & 1;
        constexpr CudaencCodec codecs[] = {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264};
        Log log;
        CudaencConfig config = make_config(pictures[0].format, kind & 2 ? "emu" : "cpu", &log);
        config.codec = codecs[kind / 4];
        config.stage_times = asked;
        config.async_depth = 2;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        const int before = cudaenc_stage_times(session, nullptr, 0);
        for (const Picture &picture : pictures) {
            const CudaencFrame frame = picture.frame();
            EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
            CudaencPacket packet;
            if (cudaenc_receive(session, &packet) == CUDAENC_OK) cudaenc_buffer_free(packet.buffer);
        }
        CudaencStageTime times[33];
        std::memset(static_cast<void *>(times), 0xEE, sizeof times);
        const CudaencStageTime untouched = times[32];
        const int stages = cudaenc_stage_times(session, times, 32);
        EXPECT_EQ(stages, before);
        EXPECT_EQ(cudaenc_stage_times(session, nullptr, -1), stages);
        if (asked) {
            EXPECT(stages >= 2);
            EXPECT(stages <= 32);
            std::set<std::string> names;
            double sum = 0;
            for (int i = 0; i < stages; i++) {
                names.insert(times[i].name);
                EXPECT(times[i].milliseconds >= 0);
                sum += times[i].milliseconds;
                EXPECT_EQ(times[i].frames, 4);  // received; one is in flight
            }
            EXPECT(sum > 0);
            EXPECT_EQ(names.size(), stages);
            CudaencStageTime two[3] = {times[0], times[1], untouched};
            EXPECT_EQ(cudaenc_stage_times(session, two, 2), stages);
            EXPECT(!std::memcmp(&two[2], &untouched, sizeof untouched));
        } else {
            EXPECT_EQ(stages, 0);
        }
        cudaenc_close(session);
    }
}
END_TEST

// ---- pictures ----

START_TEST(rows_may_run_upwards) {
    Random random(7);
    const CudaencFormat format = make_format(31, 23, 3, 9, true, CUDAENC_COLOR_RGB);
    Picture down = make_picture(random, format), up = make_picture(random, format);
    up.upside_down = true;
    fill(random, down, Content::noise);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 23; y++)
            for (int x = 0; x < 31; x++) up.set(c, x, y, down.get(c, x, y));
    EXPECT(up.frame().stride[0] < 0);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    const auto expected = encode(config, down.frame());
    EXPECT(encode(config, up.frame()) == expected);
    config.device = "emu";
    EXPECT(encode(config, up.frame()) == expected);
    // Not in device memory.
    config.device_frames = 1;
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    const CudaencFrame frame = up.frame();
    EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
    EXPECT_EQ(log.lines.size(), 1);
    EXPECT(log.lines[0].find("negative stride") != std::string::npos);
    cudaenc_close(session);
}
END_TEST

// A packet of an interlaced frame has the packets of two pictures, the first field's first. Nothing is copied but
// these.
START_TEST(fields_are_pictures_of_every_other_line) {
    Random random(12);
    const auto pictures = make_pictures(random, gray(40, 30), 6);
    for (const int fields : {CUDAENC_TOP_FIELD_FIRST, CUDAENC_BOTTOM_FIELD_FIRST}) {
        Log log;
        CudaencConfig config = make_config(gray(40, 15), "cpu", &log);
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        std::vector<std::vector<uint8_t>> expected;
        for (const Picture &picture : pictures) {
            CudaencFrame field = picture.frame();
            const uint8_t *const top = field.data[0], *const bottom = top + field.stride[0];
            field.stride[0] *= 2;
            field.data[0] = fields == CUDAENC_TOP_FIELD_FIRST ? top : bottom;
            std::vector<uint8_t> both = encode(config, field);
            field.data[0] = fields == CUDAENC_TOP_FIELD_FIRST ? bottom : top;
            const std::vector<uint8_t> second = encode(config, field);
            both.insert(both.end(), second.begin(), second.end());
            expected.push_back(both);
        }
        config.format = pictures[0].format;
        config.fields = fields;
        for (const char *device : {"cpu", "emu"})
            for (config.device_frames = 0; config.device_frames <= (*device == 'e'); config.device_frames++)
                for (config.async_depth = 0; config.async_depth < 5; config.async_depth++) {
                    config.device = device;
                    EXPECT(encode_all(config, pictures) == expected, "%s, async_depth %d", device, config.async_depth);
                }
        config.device_frames = 0;
        config.async_depth = 64;
        CudaencSession *session;
        EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
        EXPECT_EQ(cudaenc_async_depth(session), 32);
        cudaenc_close(session);
    }
}
END_TEST

// Both fields come from the device into one packet: where frames are coded again, outgrow their memory or have filler.
START_TEST(fields_share_a_packet) {
    using Set = void (*)(CudaencConfig &);
    const Set sets[] = {
        [](CudaencConfig &) {},
        [](CudaencConfig &c) { c.j2k.pred = CUDAENC_J2K_DWT53; },
        [](CudaencConfig &c) { c.j2k.compression_ratio = 5; },
        [](CudaencConfig &c) { c.j2k.min_frame_bytes = 4000; },
        [](CudaencConfig &c) { c.j2k.cblk_style = CUDAENC_J2K_HT; },
        [](CudaencConfig &c) { c.j2k.cblk_style = CUDAENC_J2K_HT, c.j2k.compression_ratio = 5; },
        [](CudaencConfig &c) { c.j2k.cblk_style = CUDAENC_J2K_BYPASS, c.j2k.compression_ratio = 2; },
        [](CudaencConfig &c) { c.j2k.psnr = 35; },
        [](CudaencConfig &c) { c.j2k.compression_ratio = 5, c.j2k.rate_control = CUDAENC_J2K_RATE_PST; },
        [](CudaencConfig &c) { c.j2k.compression_ratio = 5, c.j2k.rate_control = CUDAENC_J2K_RATE_PSB; },
        [](CudaencConfig &c) { c.codec = CUDAENC_CODEC_MJPEG, c.mjpeg.quality = 100; },
        [](CudaencConfig &c) { c.codec = CUDAENC_CODEC_MJPEG, c.mjpeg.huffman = CUDAENC_MJPEG_HUFFMAN_DEFAULT; },
        [](CudaencConfig &c) { c.codec = CUDAENC_CODEC_MJPEG, c.mjpeg.frame_bytes = 1200; },
    };
    constexpr size_t jpeg_2000 = std::size(sets) - 3;  // of these
    Random random(13);
    const auto pictures = make_pictures(random, gray(48, 32), 6);
    for (const Set set : sets) {
        const size_t number = static_cast<size_t>(&set - sets);
        Log log;
        CudaencConfig config = make_config(pictures[0].format, "cpu", &log);
        cudaenc_config_defaults(&config, number < jpeg_2000 ? CUDAENC_CODEC_J2K : CUDAENC_CODEC_MJPEG);
        config.format = pictures[0].format;
        config.fields = CUDAENC_TOP_FIELD_FIRST;
        if (number < jpeg_2000) config.j2k.format = CUDAENC_J2K_CODESTREAM;
        set(config);
        config.device = "cpu";
        const auto expected = encode_all(config, pictures);
        config.device = "emu";  // whose memory is the host's
        for (config.device_frames = 0; config.device_frames < 2; config.device_frames++)
            for (config.async_depth = 1; config.async_depth < 5; config.async_depth++)
                EXPECT(encode_all(config, pictures) == expected, "%zu, async_depth %d", number, config.async_depth);
    }
}
END_TEST

// Threads copy frames of a megabyte and more to pinned memory; their rows have other places there.
// Frames may lie in one place of device memory with rows of other strides, but not with those of 4 GiB.
START_TEST(strides_in_device_memory_may_change) {
    Random random(9);
    const Picture picture = make_picture(random, gray(40, 30));
    Log log;
    CudaencConfig config = make_config(picture.format, "cpu", &log);
    const auto expected = encode(config, picture.frame());
    config.device = "emu";  // whose memory is the host's
    config.device_frames = 1;
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    std::vector<uint8_t> memory(64 * 30);
    CudaencFrame frame = picture.frame();
    frame.data[0] = memory.data();
    for (const int stride : {40, 64, 48, 48}) {
        for (int y = 0; y < 30; y++)
            for (int x = 0; x < 40; x++)
                memory[static_cast<size_t>(y * stride + x)] = static_cast<uint8_t>(picture.get(0, x, y));
        frame.stride[0] = stride;
        EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_OK);
        CudaencPacket packet;
        EXPECT_EQ(cudaenc_wait(session, &packet), CUDAENC_OK);
        EXPECT(std::vector<uint8_t>(packet.data, packet.data + packet.size) == expected, "stride %d", stride);
        cudaenc_buffer_free(packet.buffer);
    }
    frame.stride[0] = ptrdiff_t{1} << 32;
    EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
    EXPECT(log.lines.size() == 1 && log.lines[0].find("4 GiB") != std::string::npos);
    cudaenc_close(session);
}
END_TEST

// Noise without loss takes more than its samples: a slot's codestream grows.
START_TEST(codestreams_larger_than_their_pictures) {
    Random random(10);
    const CudaencFormat format = make_format(256, 256, 3, 8, false, CUDAENC_COLOR_RGB);
    std::vector<Picture> pictures = make_pictures(random, format, 3);
    for (Picture &picture : pictures) fill(random, picture, Content::noise);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.pred = CUDAENC_J2K_DWT53;
    config.async_depth = 1;
    const auto expected = encode_all(config, pictures);
    EXPECT(expected[0].size() > 210000, "%zu bytes", expected[0].size());
    config.device = "emu";
    EXPECT(encode_all(config, pictures) == expected);
}
END_TEST

START_TEST(large_frames_take_memory_of_any_kind) {
    Random random(8);
    CudaencFormat format = make_format(1101, 701, 3, 8, false, CUDAENC_COLOR_YUV);
    format.component[1].log2_subsample_x = format.component[2].log2_subsample_x = 1;
    std::vector<Picture> pictures = make_pictures(random, format, 5);
    pictures[1].upside_down = pictures[3].upside_down = true;
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    cudaenc_config_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.format = format;
    config.device = "cpu";
    const auto expected = encode_all(config, pictures);
    for (const std::string &device : device_specs) {
        config.device = device.c_str();
        for (config.async_depth = 1; config.async_depth <= 4; config.async_depth += 3)
            for (config.threads = 0; config.threads <= 3; config.threads += 3)
                EXPECT(encode_all(config, pictures) == expected, "%s, async_depth %d, %d threads", config.device,
                       config.async_depth, config.threads);
    }
}
END_TEST

// Sums of rate allocation have 32 bits.
START_TEST(targets_of_huge_pictures_are_refused) {
    CudaencFormat format = gray(32768, 32768, 16);
    for (const bool targeted : {false, true}) {
        CudaencJ2kOptions options = default_options();
        if (targeted) options.compression_ratio = 10;
        options.cblk_width = options.cblk_height = 64;
        const j2k::Params params = j2k::make_params(format, options);
        const j2k::Geometry geometry = j2k::make_encoder_geometry(params);
        int code = CUDAENC_OK;
        try {
            j2k::RateBudget(params, geometry, 100);
        } catch (const Error &e) {
            code = e.code;
        }
        EXPECT_EQ(code, targeted ? CUDAENC_ERR_UNSUPPORTED : CUDAENC_OK);
    }
}
END_TEST

START_TEST(frames_are_checked) {
    Random random(1);
    const Picture picture = make_picture(random, make_format(8, 8, 3, 8, false, CUDAENC_COLOR_YUV));
    Log log;
    const CudaencConfig config = make_config(picture.format, "cpu", &log);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    const auto refused = [&](const CudaencFrame &frame, const std::string &line) {
        log.lines.clear();
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_ERR_INVALID && log.lines.size() == 1 &&
                   log.lines[0].find(line) == 0,
               "%s", line.c_str());
    };
    for (int plane = 0; plane < 3; plane++) {
        CudaencFrame frame = picture.frame();
        frame.data[plane] = nullptr;
        refused(frame, format_string("plane %d of the frame is missing", plane));
    }
    const struct {
        const char *name;
        const uint8_t *CudaencFrame::*data;
        size_t CudaencFrame::*size;
    } metadata[] = {{"icc_profile", &CudaencFrame::icc_profile, &CudaencFrame::icc_profile_size},
                    {"exif", &CudaencFrame::exif, &CudaencFrame::exif_size},
                    {"xmp", &CudaencFrame::xmp, &CudaencFrame::xmp_size},
                    {"iptc", &CudaencFrame::iptc, &CudaencFrame::iptc_size}};
    for (const auto &m : metadata) {
        CudaencFrame frame = picture.frame();
        frame.*m.data = picture.memory[0].data();
        frame.*m.size = size_t{1} << 31;
        refused(frame, format_string("%s_size 2147483648 is not allowed: it is less than 2 GiB", m.name));
    }
    size_t size = 1;
    EXPECT(!cudaenc_extradata(session, &size) && !size);
    cudaenc_close(session);
}
END_TEST

START_TEST(odd_addresses_of_two_bytes_are_refused) {
    Random random(1);
    const Picture picture = make_picture(random, make_format(8, 8, 1, 10, true, CUDAENC_COLOR_GRAY));
    Log log;
    const CudaencConfig config = make_config(picture.format, "cpu", &log);
    CudaencSession *session;
    EXPECT_EQ(cudaenc_open(&session, &config), CUDAENC_OK);
    CudaencFrame frame = picture.frame();
    frame.data[0]++;
    EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
    frame = picture.frame();
    frame.stride[0]++;
    EXPECT_EQ(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
    EXPECT_EQ(log.lines.size(), 2);
    for (const std::string &line : log.lines) EXPECT(line.find("plane 0") != std::string::npos);
    cudaenc_close(session);
}
END_TEST

// Contents that make the most and the fewest bytes, of 1, 8 and 16 bits, with both wavelets.
START_TEST(extreme_pictures) {
    Random random(static_cast<uint64_t>(_i) + 8);
    const auto content = static_cast<Content>(_i);
    for (const int depth : {1, 8, 16})
        for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53})
            for (const int components : {1, 3}) {
                const CudaencFormat format = make_format(70, 50, components, depth, false,
                                                         components == 3 ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_GRAY);
                Picture picture = make_picture(random, format, content);
                Log log;
                CudaencConfig config = make_config(format, "cpu", &log);
                config.j2k.pred = pred;
                config.j2k.quality = random.one_in(2) ? 100 : random.between(1, 99);
                config.j2k.guard_bits = random.between(1, 7);
                config.j2k.format = CUDAENC_J2K_CODESTREAM;
                config.j2k.comment = "";
                const auto bytes = encode(config, picture.frame());
                const bool flat = content == Content::flat || content == Content::black || content == Content::white;
                const size_t raw = static_cast<size_t>(70 * 50 * components * depth) / 8;
                if (flat)
                    EXPECT(bytes.size() < 700, "%zu bytes of nothing: %s", bytes.size(), describe(config).c_str());
                // Noise cannot be kept in less.
                if (content == Content::noise && pred == CUDAENC_J2K_DWT53)
                    EXPECT(bytes.size() > raw * 98 / 100, "%zu bytes of %zu", bytes.size(), raw);
                config.device = "emu:5";
                EXPECT(encode(config, picture.frame()) == bytes, "%s", describe(config).c_str());
            }
}
END_TEST

// Steps so large that no block has a bit-plane to code.
START_TEST(no_bit_planes) {
    const CudaencFormat format = gray(20, 10, 1);
    Random random(9);
    Picture picture = make_picture(random, format, Content::noise);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k.quality = 1;
    config.j2k.guard_bits = 1;
    config.j2k.levels = 0;
    config.j2k.rate_control = _i;
    config.j2k.frame_bytes = 1000;
    EXPECT_EQ(j2k::make_encoder_geometry(j2k::make_params(format, config.j2k)).max_passes, 0);
    const auto bytes = encode(config, picture.frame());
    config.device = "emu:5";
    EXPECT(encode(config, picture.frame()) == bytes, "rate_control %d", _i);
}
END_TEST

START_TEST(small_sizes) {
    Random random(9);
    for (int width = 1; width <= 40; width++)
        for (int height = 1; height <= 40; height++) {
            const bool corner = (width <= 2 || width == 33) && (height <= 2 || height == 33);
            if (!corner && !random.one_in(16)) continue;
            const CudaencFormat format =
                make_format(width, height, random.one_in(2) ? 3 : 1, 8, true, CUDAENC_COLOR_RGB);
            Picture picture = make_picture(random, format, Content::noise);
            Log log;
            CudaencConfig config = make_config(format, "cpu", &log);
            config.j2k.pred = random.between(0, 1);
            config.j2k.levels = random.between(0, 7);
            const auto bytes = encode(config, picture.frame());
            config.device = "emu";
            EXPECT(encode(config, picture.frame()) == bytes, "%s", describe(config).c_str());
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("session");
    TCase *refused = add_case(suite, "refusals");
    tcase_add_test(refused, defaults_and_version);
    tcase_add_loop_test(refused, refusals_name_what_and_why, 0, static_cast<int>(kRefusals.size()));
    tcase_add_test(refused, mct_needs_components_alike);
    tcase_add_test(refused, configurations_of_other_versions_are_refused);
    tcase_add_test(refused, devices_have_names);
    TCase *protocol = add_case(suite, "protocol");
    tcase_add_test(protocol, submit_and_receive_take_turns);
    tcase_add_loop_test(protocol, finished_packets_are_polled, 0, 3);
    tcase_add_test(protocol, packets_tell_their_quality);
    tcase_add_test(protocol, each_notice_is_told_once);
    tcase_add_test(protocol, metadata_that_is_left_out_is_told);
    tcase_add_loop_test(protocol, missed_targets_are_told_once, 0, static_cast<int>(std::size(missed_targets)));
    tcase_add_test(protocol, packets_outlive_the_session);
    tcase_add_loop_test(protocol, bytes_do_not_depend_on_what_runs, 0, 2);
    tcase_add_test(protocol, summaries);
    tcase_add_test(protocol, frames_in_flight);
    tcase_add_loop_test(protocol, slopes_of_earlier_frames_have_a_fixed_lag, 0, 3);
    tcase_add_test(protocol, sessions_run_side_by_side);
    tcase_add_test(protocol, stages_are_timed_when_asked);
    TCase *pictures = add_case(suite, "pictures");
    tcase_add_test(pictures, rows_may_run_upwards);
    tcase_add_test(pictures, large_frames_take_memory_of_any_kind);
    tcase_add_test(pictures, strides_in_device_memory_may_change);
    tcase_add_test(pictures, fields_are_pictures_of_every_other_line);
    tcase_add_test(pictures, fields_share_a_packet);
    tcase_add_test(pictures, codestreams_larger_than_their_pictures);
    tcase_add_test(pictures, targets_of_huge_pictures_are_refused);
    tcase_add_test(pictures, frames_are_checked);
    tcase_add_test(pictures, odd_addresses_of_two_bytes_are_refused);
    tcase_add_loop_test(pictures, extreme_pictures, 0, static_cast<int>(Content::kinds));
    tcase_add_loop_test(pictures, no_bit_planes, CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PSP + 1);
    tcase_add_test(pictures, small_sizes);
    return run_suite(suite);
}
