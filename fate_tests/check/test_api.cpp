// The C API: structures of other versions, usual formats by name, packets that are polled or waited for.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../common/abi.h"
#include "../../common/cudaenc.h"
#include "../../common/pipeline.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

CudaencFormat gray(int width, int height) { return make_format(width, height, 1, 8, false, CUDAENC_COLOR_GRAY); }

bool has_line(const Log &log, const char *part) {
    return log.lines.size() == 1 && log.lines[0].find(part) != std::string::npos;
}

// ---- structures of other versions ----

// A structure of the library's, and of programs that were built with a header before and behind it.
struct Known {
    size_t struct_size = sizeof(Known);
    int64_t first = 0, second = 7;
};
struct Behind {
    Known known;
    int64_t third = 0;
};
constexpr size_t first_size(const Known *) { return CUDAENC_END_OF(Known, first); }

START_TEST(structures_grow_at_their_ends) {
    Behind callers;
    callers.known = {.struct_size = sizeof callers, .first = 1, .second = 2};
    Known known = read_struct("it", callers.known);
    ck_assert(known.struct_size == sizeof known && known.first == 1 && known.second == 2);
    callers.third = 1;
    try {
        read_struct("it", callers.known);
        ck_abort_msg("an unknown member was taken");
    } catch (const Error &e) {
        ck_assert_int_eq(e.code, CUDAENC_ERR_INVALID);
    }
    // A caller that lacks `second` gets the default, and nothing is written behind its end.
    constexpr size_t before = CUDAENC_END_OF(Known, first);
    callers = {.known = {.struct_size = before, .first = 5, .second = 6}, .third = 8};
    known = read_struct("it", callers.known);
    ck_assert(known.first == 5 && known.second == 7);
    write_struct(callers.known, {.first = 3, .second = 4});
    ck_assert(callers.known.struct_size == before);
    ck_assert(callers.known.first == 3 && callers.known.second == 6 && callers.third == 8);
    // What the library does not know becomes 0.
    callers.known.struct_size = sizeof callers;
    write_struct(callers.known, {.first = 9, .second = 10});
    ck_assert(callers.known.first == 9 && callers.known.second == 10 && callers.third == 0);
}
END_TEST

// T as a later header has it.
template <class T>
struct Grown {
    T known;
    uint8_t tail[40] = {};
};

START_TEST(later_configurations_are_taken) {
    Log log;
    Grown<CudaencConfig> later;
    std::memset(static_cast<void *>(&later), 0xEE, sizeof later);
    cudaenc_config_init(&later.known, sizeof later, CUDAENC_CODEC_J2K);
    ck_assert_uint_eq(later.known.struct_size, sizeof later);
    for (const uint8_t byte : later.tail) ck_assert_uint_eq(byte, 0);
    CudaencConfig &config = later.known;
    config.format = gray(8, 8);
    config.device = "cpu";
    config.log = Log::print;
    config.log_opaque = &log;
    CudaencSession *session;
    ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_OK);
    cudaenc_close(session);
    later.tail[20] = 1;
    ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
    ck_assert(!session && has_line(log, "the configuration has members that libcudaenc"));
    later.tail[20] = 0;
    // Options grow into their room.
    static_assert(sizeof config.j2k < CUDAENC_OPTIONS_ROOM);
    char *const rooms[] = {config.j2k_room, config.mjpeg_room, config.h264_room};
    for (char *room : rooms) {
        log.lines.clear();
        room[CUDAENC_OPTIONS_ROOM - 1] = 1;
        ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        ck_assert(has_line(log, "has members that libcudaenc"));
        room[CUDAENC_OPTIONS_ROOM - 1] = 0;
    }
    // Every refusal is logged where there is a log.
    for (const size_t size : {CUDAENC_END_OF(CudaencConfig, log_opaque), sizeof config - 8, size_t{1} << 40}) {
        log.lines.clear();
        config.struct_size = size;
        ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_ERR_INVALID);
        ck_assert(has_line(log, "struct_size"));
    }
    ck_assert_int_eq(cudaenc_open(&session, nullptr), CUDAENC_ERR_INVALID);
    // A program that knows less of the options.
    CudaencJ2kOptions options;
    std::memset(static_cast<void *>(&options), 0xEE, sizeof options);
    cudaenc_j2k_init(&options, offsetof(CudaencJ2kOptions, tile_height));
    ck_assert_int_eq(options.format, -1);
    ck_assert_int_eq(options.tile_height, static_cast<int>(0xEEEEEEEE));
}
END_TEST

START_TEST(later_frames_and_packets_are_taken) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_config(gray(20, 10), "cpu", &log);
    Picture picture = make_picture(random, config.format);
    CudaencSession *session;
    ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_OK);
    Grown<CudaencFrame> frame{picture.frame()};
    frame.known.struct_size = sizeof frame;
    ck_assert_int_eq(cudaenc_submit(session, &frame.known), CUDAENC_OK);
    cudaenc_flush(session);
    Grown<CudaencPacket> packet{};
    packet.known.struct_size = sizeof packet;
    packet.tail[0] = 1;
    ck_assert_int_eq(cudaenc_receive(session, &packet.known), CUDAENC_OK);
    ck_assert(packet.known.struct_size == sizeof packet && packet.known.size && !packet.tail[0]);
    ck_assert(std::vector<uint8_t>(packet.known.data, packet.known.data + packet.known.size) ==
              encode(config, picture.frame()));
    cudaenc_buffer_free(packet.known.buffer);
    ck_assert(log.lines.empty());
    frame.tail[39] = 1;
    ck_assert_int_eq(cudaenc_submit(session, &frame.known), CUDAENC_ERR_INVALID);
    ck_assert(has_line(log, "the frame has members"));
    log.lines.clear();
    frame.known.struct_size = 0;  // as C has it where it was not set
    ck_assert_int_eq(cudaenc_submit(session, &frame.known), CUDAENC_ERR_INVALID);
    ck_assert(has_line(log, "struct_size 0 of the frame"));
    log.lines.clear();
    packet.known.struct_size = 8;
    ck_assert_int_eq(cudaenc_receive(session, &packet.known), CUDAENC_ERR_INVALID);
    ck_assert(has_line(log, "struct_size 8 of the packet"));
    cudaenc_close(session);
}
END_TEST

// ---- formats ----

START_TEST(formats_have_names) {
    const struct {
        const char *name;
        int planes, depth, shift;
        size_t row_bytes[4], rows[4];  // of 21x11
    } cases[] = {
        {"gray", 1, 8, 0, {21}, {11}},
        {"gray16", 1, 16, 0, {42}, {11}},
        {"rgb24", 1, 8, 0, {63}, {11}},
        {"bgra", 1, 8, 0, {84}, {11}},
        {"rgb48", 1, 16, 0, {126}, {11}},
        {"gbrp12", 3, 12, 0, {42, 42, 42}, {11, 11, 11}},
        {"yuv420p10", 3, 10, 0, {42, 22, 22}, {11, 6, 6}},
        {"yuva422p", 4, 8, 0, {21, 11, 11, 21}, {11, 11, 11, 11}},
        {"nv12", 2, 8, 0, {21, 22}, {11, 6}},
        {"p010", 2, 10, 6, {42, 44}, {11, 6}},
        {"xyz12", 1, 12, 4, {126}, {11}},
    };
    for (const auto &c : cases) {
        CudaencFormat format;
        EXPECT(cudaenc_format_by_name(&format, c.name, 21, 11) == CUDAENC_OK, "%s", c.name);
        EXPECT(
            format.planes == c.planes && format.component[0].depth == c.depth && format.component[0].shift == c.shift,
            "%s", c.name);
        for (int plane = 0; plane < format.planes; plane++) {
            size_t row_bytes, rows;
            EXPECT(cudaenc_plane_size(&format, plane, &row_bytes, &rows) == CUDAENC_OK, "%s", c.name);
            EXPECT(row_bytes == c.row_bytes[plane] && rows == c.rows[plane], "%s: plane %d has %zu x %zu", c.name,
                   plane, row_bytes, rows);
        }
        size_t row_bytes, rows;
        EXPECT(cudaenc_plane_size(&format, format.planes, &row_bytes, &rows) == CUDAENC_ERR_INVALID && !rows, "%s",
               c.name);
    }
    CudaencFormat format;
    for (const char *name : {"", "rgb", "gray11", "yuv420p8", "nv1", "nv120", "p010le", "gbrp10be", "rgb24 "})
        EXPECT(cudaenc_format_by_name(&format, name, 8, 8) == CUDAENC_ERR_INVALID && !format.planes, "'%s'", name);
    ck_assert_int_eq(cudaenc_format_by_name(&format, "gray", 0, 8), CUDAENC_ERR_INVALID);
    ck_assert_int_eq(cudaenc_format_by_name(&format, nullptr, 8, 8), CUDAENC_ERR_INVALID);
}
END_TEST

START_TEST(strides_are_checked) {
    Random random(1);
    Log log;
    const CudaencConfig config = make_config(gray(20, 10), "cpu", &log);
    Picture picture = make_picture(random, config.format);
    CudaencSession *session;
    ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_OK);
    CudaencFrame frame = picture.frame();
    for (const ptrdiff_t stride : {0, 19, -19}) {
        log.lines.clear();
        frame.stride[0] = stride;
        ck_assert_int_eq(cudaenc_submit(session, &frame), CUDAENC_ERR_INVALID);
        ck_assert(has_line(log, "of plane 0 is not allowed: a row has 20 bytes"));
    }
    cudaenc_close(session);
}
END_TEST

// ---- polling and waiting ----

struct FakePipeline {
    using Input = int;
    using Output = int;
    void submit(int, int) {}
    int finish(int slot) { return slot; }
    bool done(int) noexcept { return is_done; }
    bool is_done = false;
};

START_TEST(a_ring_is_received_from_when_asked) {
    auto pipeline = std::make_unique<FakePipeline>();
    bool &is_done = pipeline->is_done;
    Ring<FakePipeline> ring(std::move(pipeline), 3);
    int output = -1;
    void *opaque;
    for (const Receive when : {Receive::when_due, Receive::when_done, Receive::now})
        ck_assert_int_eq(ring.receive(output, opaque, when), CUDAENC_AGAIN);
    ring.submit(0, nullptr);
    ring.submit(0, nullptr);
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_due), CUDAENC_AGAIN);
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_done), CUDAENC_AGAIN);
    is_done = true;
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_due), CUDAENC_AGAIN);
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_done), CUDAENC_OK);
    ck_assert_int_eq(output, 0);
    is_done = false;
    ck_assert_int_eq(ring.receive(output, opaque, Receive::now), CUDAENC_OK);
    ck_assert_int_eq(output, 1);
    ring.submit(0, nullptr);
    ring.flush();
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_done), CUDAENC_AGAIN);  // polling never waits
    ck_assert_int_eq(ring.receive(output, opaque, Receive::when_due), CUDAENC_OK);
    for (const Receive when : {Receive::when_due, Receive::when_done, Receive::now})
        ck_assert_int_eq(ring.receive(output, opaque, when), CUDAENC_EOF);
}
END_TEST

START_TEST(packets_are_polled_and_waited_for) {
    std::vector<std::string> devices = device_specs;
    devices.push_back("cpu");
    for (const std::string &spec : devices)
        for (const CudaencCodec codec : {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264}) {
            const char *device = spec.c_str();
            Random random(7);
            Log log;
            CudaencConfig config = make_config(gray(70, 50), device, &log);
            cudaenc_config_defaults(&config, codec);
            config.format = gray(70, 50);
            config.format.full_range = 1;
            config.device = device;
            config.log = Log::print;
            config.log_opaque = &log;
            config.async_depth = 5;
            std::vector<Picture> pictures;
            std::vector<std::vector<uint8_t>> expected;
            for (int i = 0; i < 5; i++) {
                pictures.push_back(make_picture(random, config.format));
            }
            CudaencSession *session;
            CudaencPacket packet;
            ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_OK);
            for (const Picture &picture : pictures) {
                const CudaencFrame frame = picture.frame();
                ck_assert_int_eq(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            cudaenc_flush(session);
            while (cudaenc_receive(session, &packet) == CUDAENC_OK) {
                expected.emplace_back(packet.data, packet.data + packet.size);
                cudaenc_buffer_free(packet.buffer);
            }
            cudaenc_close(session);
            ck_assert_int_eq(cudaenc_open(&session, &config), CUDAENC_OK);
            const auto expect_packet = [&](size_t i) {
                const std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
                EXPECT(bytes == expected[i], "%s: packet %zu of codec %d", device, i, codec);
                cudaenc_buffer_free(packet.buffer);
            };
            ck_assert_int_eq(cudaenc_poll(session, &packet), CUDAENC_AGAIN);
            ck_assert_int_eq(cudaenc_wait(session, &packet), CUDAENC_AGAIN);
            const auto poll = [&](size_t i) {
                int code;
                while ((code = cudaenc_poll(session, &packet)) == CUDAENC_AGAIN) std::this_thread::yield();
                EXPECT(code == CUDAENC_OK, "%s: poll: %d", device, code);
                expect_packet(i);
            };
            for (size_t i = 0; i < 2; i++) {
                const CudaencFrame frame = pictures[i].frame();
                ck_assert_int_eq(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            poll(0);
            ck_assert_int_eq(cudaenc_wait(session, &packet), CUDAENC_OK);
            expect_packet(1);
            for (size_t i = 2; i < 5; i++) {
                const CudaencFrame frame = pictures[i].frame();
                ck_assert_int_eq(cudaenc_submit(session, &frame), CUDAENC_OK);
            }
            poll(2);
            cudaenc_flush(session);
            poll(3);
            ck_assert_int_eq(cudaenc_wait(session, &packet), CUDAENC_OK);
            expect_packet(4);
            ck_assert_int_eq(cudaenc_poll(session, &packet), CUDAENC_EOF);
            ck_assert_int_eq(cudaenc_wait(session, &packet), CUDAENC_EOF);
            cudaenc_close(session);
            ck_assert(log.lines.empty());
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("api");
    TCase *versions = add_case(suite, "versions");
    tcase_add_test(versions, structures_grow_at_their_ends);
    tcase_add_test(versions, later_configurations_are_taken);
    tcase_add_test(versions, later_frames_and_packets_are_taken);
    TCase *formats = add_case(suite, "formats");
    tcase_add_test(formats, formats_have_names);
    tcase_add_test(formats, strides_are_checked);
    TCase *receiving = add_case(suite, "receiving");
    tcase_add_test(receiving, a_ring_is_received_from_when_asked);
    tcase_add_test(receiving, packets_are_polled_and_waited_for);
    return run_suite(suite);
}
