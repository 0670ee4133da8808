// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC of other formats: planes of blocks through the C API against a parser, on every device.
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/h264/plane_coder.h"
#include "h264_parser.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

constexpr int kZigzag[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};  // figure 6-13, table 8-2

struct Plane {
    int columns, rows, scanned = 0, without_dc = 0;
    size_t blocks() const { return static_cast<size_t>(columns) * static_cast<size_t>(rows); }
};

std::vector<int16_t> random_coefficients(Random &random, const Plane &plane) {
    std::vector<int16_t> coefficients(16 * plane.blocks());
    for (size_t i = 0; i < coefficients.size(); i += 16) {
        const int density = random.between(0, 8), range = random.of({1, 1, 2, 3, 10, 100, 3000, 32767});
        for (size_t k = i; k < i + 16; k++)
            if (random.between(0, 7) < density) coefficients[k] = static_cast<int16_t>(random.between(-range, range));
    }
    return coefficients;
}

struct Coded {
    int code;
    uint64_t bits;
    std::vector<uint8_t> bytes;
    std::vector<uint16_t> lengths;
};

CudaencCavlcConfig cavlc_config(const Plane &plane, const std::string &device, Log *log = nullptr) {
    CudaencCavlcConfig config;
    cudaenc_cavlc_defaults(&config);
    config.device = device.c_str();
    config.columns = plane.columns;
    config.rows = plane.rows;
    config.scanned = plane.scanned;
    config.without_dc = plane.without_dc;
    config.log = log ? Log::print : nullptr;
    config.log_opaque = log;
    return config;
}

CudaencCavlc *open_coder(const CudaencCavlcConfig &config) {
    CudaencCavlc *coder;
    EXPECT(cudaenc_cavlc_open(&coder, &config) == CUDAENC_OK, "%s", cudaenc_last_error());
    return coder;
}

Coded code(CudaencCavlc *coder, const Plane &plane, const std::vector<int16_t> &coefficients, size_t capacity) {
    Coded coded{0, 1, std::vector<uint8_t>(capacity, 0xA5), std::vector<uint16_t>(plane.blocks(), 0xA5)};
    const CudaencCavlcPlane input{.coefficients = coefficients.data(),
                                  .cuda_stream = nullptr,
                                  .bytes = coded.bytes.data(),
                                  .capacity = capacity,
                                  .lengths = coded.lengths.data()};
    coded.code = cudaenc_cavlc_code(coder, &input, &coded.bits);
    return coded;
}
size_t enough(const Plane &plane) { return 74 * plane.blocks() + 4; }

// What a decoder makes of the bits (9.2), whose neighbours are those of the plane.
void expect_decodes(const Coded &coded, const Plane &plane, const std::vector<int16_t> &coefficients) {
    EXPECT(coded.code == CUDAENC_OK, "%s", cudaenc_last_error());
    BitReader in(coded.bytes);
    std::vector<int> totals(plane.blocks());
    const size_t columns = static_cast<size_t>(plane.columns);
    for (size_t i = 0; i < plane.blocks(); i++) {
        const bool left = i % columns != 0, above = i >= columns;
        const int a = left ? totals[i - 1] : 0, b = above ? totals[i - columns] : 0;
        const int nc = left && above ? (a + b + 1) >> 1 : a + b;
        int level[16] = {};
        const size_t begin = in.position();
        totals[i] = parse_block(in, nc, 16 - plane.without_dc, level + plane.without_dc);
        EXPECT(in.position() - begin == coded.lengths[i], "block %zu: %zu bits, length %d", i, in.position() - begin,
               coded.lengths[i]);
        for (int k = plane.without_dc; k < 16; k++) {
            const int16_t expected = coefficients[16 * i + static_cast<size_t>(plane.scanned ? k : kZigzag[k])];
            EXPECT(level[k] == expected, "block %zu, level %d: %d for %d", i, k, level[k], expected);
        }
    }
    EXPECT_EQ(in.position(), coded.bits);
    for (uint64_t i = coded.bits; i % 32; i++) EXPECT(!in.u1(), "bit %d behind the end", static_cast<int>(i % 32));
    for (size_t i = (coded.bits + 31) / 32 * 4; i < coded.bytes.size(); i++)
        EXPECT(coded.bytes[i] == 0xA5, "byte %zu behind the end", i);
}

const Plane planes[] = {{1, 1},   {1, 1, 1},  {7, 1},         {1, 9},         {44, 36, 0, 0},
                        {33, 20}, {31, 5, 1}, {16, 12, 0, 1}, {129, 7, 1, 1}, {300, 11}};

START_TEST(planes_decode) {
    std::vector<std::string> devices = device_specs;
    devices.push_back("cpu");
    Random random(5);
    for (const Plane &plane : planes) {
        const std::vector<int16_t> first = random_coefficients(random, plane), zeros(first.size());
        std::vector<int16_t> most(first.size());  // the longest codes
        for (size_t i = 0; i < most.size(); i++) most[i] = i & 1 ? 32767 : -32768;
        for (const std::string &device : devices) {
            CudaencCavlc *coder = open_coder(cavlc_config(plane, device));
            for (const auto &coefficients : {first, zeros, most, first})
                expect_decodes(code(coder, plane, coefficients, enough(plane)), plane, coefficients);
            cudaenc_cavlc_close(coder);
        }
    }
}
END_TEST

START_TEST(device_memory) {
    const std::shared_ptr<Device> device = open_test_device(_i);
    const Plane plane{44, 36};
    Random random(6);
    const std::vector<int16_t> coefficients = random_coefficients(random, plane);
    const Guarded<int16_t> input(device, coefficients);
    const Guarded<uint8_t> bytes(device, enough(plane));
    const Guarded<uint16_t> lengths(device, plane.blocks());
    device->synchronize(Device::Stream{});
    const auto coder = h264::make_device_plane_coder({.columns = static_cast<uint32_t>(plane.columns),
                                                      .rows = static_cast<uint32_t>(plane.rows),
                                                      .scanned = false,
                                                      .without_dc = false},
                                                     device, true);
    Coded coded{};
    coded.bits = coder->code({input.data(), nullptr}, {bytes.data(), bytes.count(), lengths.data()});
    coded.bytes = bytes.read("bytes");
    coded.lengths = lengths.read("lengths");
    expect_decodes(coded, plane, coefficients);
    EXPECT_EQ(coder->code({input.data(), nullptr}, {bytes.data(), bytes.count(), nullptr}), coded.bits);

    CudaencCavlcConfig config = cavlc_config(plane, device_specs[static_cast<size_t>(_i)]);
    config.device_memory = 1;
    CudaencCavlc *session = open_coder(config);
    CudaencCavlcPlane in{.coefficients = input.data() + 1,
                         .cuda_stream = nullptr,
                         .bytes = bytes.data(),
                         .capacity = bytes.count(),
                         .lengths = lengths.data()};
    EXPECT_EQ(cudaenc_cavlc_code(session, &in, &coded.bits), CUDAENC_ERR_INVALID);
    in.coefficients--;
    in.bytes += 2;
    EXPECT_EQ(cudaenc_cavlc_code(session, &in, &coded.bits), CUDAENC_ERR_INVALID);
    cudaenc_cavlc_close(session);
}
END_TEST

START_TEST(capacity) {
    std::vector<std::string> devices = device_specs;
    devices.push_back("cpu");
    const Plane plane{12, 10};
    Random random(7);
    const std::vector<int16_t> coefficients = random_coefficients(random, plane);
    for (const std::string &device : devices) {
        CudaencCavlc *coder = open_coder(cavlc_config(plane, device));
        const Coded whole = code(coder, plane, coefficients, enough(plane));
        const size_t bytes = (whole.bits + 31) / 32 * 4;
        expect_decodes(code(coder, plane, coefficients, bytes), plane, coefficients);
        const Coded small = code(coder, plane, coefficients, bytes - 1);
        EXPECT_EQ(small.code, CUDAENC_ERR_INVALID);
        EXPECT(std::string(cudaenc_last_error()) ==
                   format_string("capacity %zu is not allowed: the blocks take %zu bytes", bytes - 1, bytes),
               "%s", cudaenc_last_error());
        EXPECT(small.bits == whole.bits && small.lengths == whole.lengths);
        EXPECT(small.bytes == std::vector<uint8_t>(bytes - 1, 0xA5), "bytes were written");
        cudaenc_cavlc_close(coder);
    }
}
END_TEST

START_TEST(refusals) {
    Log log;
    const auto refused = [&](int code, const char *line) {
        const bool as_expected = code == CUDAENC_ERR_INVALID && log.lines.size() == 1 &&
                                 log.lines[0].rfind(line, 0) == 0 && log.lines[0] == cudaenc_last_error();
        log.lines.clear();
        return as_expected;
    };
    CudaencCavlc *coder;
    const auto opened = [&](auto set) {
        CudaencCavlcConfig config = cavlc_config({4, 3}, "cpu", &log);
        set(config);
        const int code = cudaenc_cavlc_open(&coder, &config);
        EXPECT(!coder == (code != CUDAENC_OK));
        return code;
    };
    EXPECT(refused(opened([](auto &c) { c.columns = 0; }), "columns 0 is not allowed: it is 1 to 65536"));
    EXPECT(refused(opened([](auto &c) { c.rows = 65537; }), "rows 65537 is not allowed: it is 1 to 65536"));
    EXPECT(refused(opened([](auto &c) { c.columns = 65536, c.rows = 1025; }),
                   "columns 65536 with rows 1025 is not allowed: blocks are at most 2^26"));
    EXPECT(refused(opened([](auto &c) { c.scanned = 2; }), "scanned 2 is not allowed: it is 0 or 1"));
    EXPECT(refused(opened([](auto &c) { c.without_dc = -1; }), "without_dc -1 is not allowed: it is 0 or 1"));
    EXPECT(refused(opened([](auto &c) { c.device_memory = 2; }), "device_memory 2 is not allowed"));
    EXPECT(refused(opened([](auto &c) { c.device_memory = 1; }), "device 'cpu' is not allowed with coefficients in"));
    EXPECT(refused(opened([](auto &c) { c.device = "gpu"; }), "device 'gpu' is not allowed"));
    const CudaencCavlcConfig config = cavlc_config({4, 3}, "cpu", &log);
    EXPECT(refused(cudaenc_cavlc_open(nullptr, &config), "coder NULL is not allowed"));
    EXPECT_EQ(cudaenc_cavlc_open(&coder, nullptr), CUDAENC_ERR_INVALID);
    EXPECT_EQ(cudaenc_cavlc_init(nullptr, sizeof config), CUDAENC_ERR_INVALID);

    EXPECT_EQ(cudaenc_cavlc_open(&coder, &config), CUDAENC_OK);
    std::vector<int16_t> coefficients(16 * 12);
    std::vector<uint8_t> bytes(1000);
    uint64_t bits;
    const CudaencCavlcPlane plane{.coefficients = coefficients.data(),
                                  .cuda_stream = nullptr,
                                  .bytes = bytes.data(),
                                  .capacity = bytes.size(),
                                  .lengths = nullptr};
    EXPECT_EQ(cudaenc_cavlc_code(coder, &plane, &bits), CUDAENC_OK);
    EXPECT_EQ(bits, 12);  // a coeff_token of 1 bit each
    EXPECT(refused(cudaenc_cavlc_code(coder, nullptr, &bits), "plane NULL is not allowed"));
    EXPECT(refused(cudaenc_cavlc_code(coder, &plane, nullptr), "bits NULL is not allowed"));
    EXPECT_EQ(cudaenc_cavlc_code(nullptr, &plane, &bits), CUDAENC_ERR_INVALID);
    CudaencCavlcPlane without = plane;
    without.coefficients = nullptr;
    EXPECT(refused(cudaenc_cavlc_code(coder, &without, &bits), "coefficients NULL of the plane"));
    without = plane;
    without.bytes = nullptr;
    EXPECT(refused(cudaenc_cavlc_code(coder, &without, &bits), "bytes NULL of the plane"));
    without = plane;
    without.struct_size = 3;
    EXPECT(refused(cudaenc_cavlc_code(coder, &without, &bits), "struct_size 3 of the plane"));
    cudaenc_cavlc_close(coder);
    cudaenc_cavlc_close(nullptr);
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("cavlc_planes");
    TCase *c = add_case(suite, "planes");
    tcase_add_test(c, planes_decode);
    tcase_add_loop_test(c, device_memory, 0, static_cast<int>(device_specs.size()));
    tcase_add_test(c, capacity);
    tcase_add_test(c, refusals);
    return run_suite(suite);
}
