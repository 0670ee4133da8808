// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter of H.264: the CPU's against one written from the text of clause 8.7, and devices' against the
// CPU's.
#include "../../common/h264/deblock_cpu.h"
#include "../../common/h264/syntax/quantise.h"
#include "../../cuda_kernels/h264/deblocker.h"
#include "h264_loop_filter.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

const ChromaFormat formats[] = {ChromaFormat::c400, ChromaFormat::c420, ChromaFormat::c422, ChromaFormat::c444};

// What macroblocks of a picture are.
enum class Kind { intra, still, moving, mixed, kinds };

// A picture of random macroblocks.
struct Case {
    ChromaFormat format;
    int bit_depth, columns, rows;
    bool field, across_slices;
    int offset_a, offset_b, chroma_offset;
    std::vector<DeblockMacroblock> macroblocks;
    std::vector<DeblockVector> vectors;
    std::vector<uint16_t> planes[3];  // whole macroblocks
    DeblockTables tables;

    Case(Random &random, ChromaFormat chroma, int depth, int w, int h, Kind kind, int lowest_qp, int highest_qp)
        : format(chroma),
          bit_depth(depth),
          columns(w),
          rows(h),
          field(random.one_in(3)),
          across_slices(!random.one_in(4)),
          offset_a(2 * random.between(-6, 6) * random.one_in(2)),
          offset_b(2 * random.between(-6, 6) * random.one_in(2)),
          chroma_offset(random.one_in(2) ? random.between(-12, 12) : 0),
          tables(make_deblock_tables(depth, offset_a, offset_b, chroma_offset)) {
        const bool one_qp = random.one_in(3), slices = random.one_in(2);
        const int qp = random.between(lowest_qp, highest_qp);
        uint16_t slice = 0;
        for (int i = 0; i < w * h; i++) {
            DeblockMacroblock m{};
            const Kind own = kind == Kind::mixed ? static_cast<Kind>(random.between(0, 2)) : kind;
            m.intra = own == Kind::intra;
            m.transform_8x8 = random.one_in(3);
            m.qp = static_cast<int8_t>(one_qp ? qp : random.between(lowest_qp, highest_qp));
            if (slices && random.one_in(5)) slice++;
            m.slice = slice;
            m.nonzero = own == Kind::still || random.one_in(3) ? 0 : static_cast<uint16_t>(random.word());
            if (m.transform_8x8)  // whole 8x8 blocks
                m.nonzero = static_cast<uint16_t>((m.nonzero & 0x0505) * 0x33);
            macroblocks.push_back(m);
            const DeblockVector v{static_cast<int16_t>(random.between(-2, 2)),
                                  static_cast<int16_t>(random.between(-2, 2))};
            for (int b = 0; b < 16; b++)
                vectors.push_back(own == Kind::still || random.one_in(2)
                                      ? v
                                      : DeblockVector{static_cast<int16_t>(v.x + random.between(-5, 5)),
                                                      static_cast<int16_t>(v.y + random.between(-5, 5))});
        }
        fill_planes(random);
    }

    int components() const { return format == ChromaFormat::c400 ? 1 : 3; }
    int mb_width(int c) const { return c && format != ChromaFormat::c444 ? 8 : 16; }
    int mb_height(int c) const { return c && format == ChromaFormat::c420 ? 8 : 16; }
    int width(int c) const { return columns * mb_width(c); }
    int height(int c) const { return rows * mb_height(c); }

    DeblockPicture picture() const {
        return {.format = format,
                .bit_depth = bit_depth,
                .columns = columns,
                .rows = rows,
                .field = field,
                .across_slices = across_slices,
                .tables = &tables,
                .macroblocks = macroblocks.data(),
                .vectors = vectors.data()};
    }

    // As clause 8.7 has it.
    void filter_by_text(std::vector<uint16_t> *to) const {
        std::vector<decoder::FilteredMacroblock> of(macroblocks.size());
        for (size_t i = 0; i < of.size(); i++) {
            const DeblockMacroblock &m = macroblocks[i];
            of[i] = {.intra = m.intra != 0,
                     .pcm = false,
                     .transform_8x8 = m.transform_8x8 != 0,
                     .qp = m.qp,
                     .slice = m.slice,
                     .disable_deblocking_filter_idc = across_slices ? 0 : 2,
                     .offset_a = offset_a,
                     .offset_b = offset_b,
                     .field = field};
            for (size_t b = 0; b < 16; b++) {
                of[i].coded[b] = m.nonzero >> b & 1;
                of[i].vectors[b][0] = vectors[16 * i + b].x;
                of[i].vectors[b][1] = vectors[16 * i + b].y;
            }
        }
        decoder::LoopFilter(columns, rows, format, bit_depth, chroma_offset, chroma_offset).run(of, to);
    }

    std::string name() const {
        return format_string("format %d, %d bits, %dx%d macroblocks, field %d, across slices %d, offsets %d %d %d",
                             static_cast<int>(format), bit_depth, columns, rows, field, across_slices, offset_a,
                             offset_b, chroma_offset);
    }

  private:
    // Steps at the edges of blocks, of all heights that thresholds tell apart, and some noise.
    void fill_planes(Random &random) {
        const int scale = 1 << (bit_depth - 8), most = 256 * scale - 1;
        for (int c = 0; c < components(); c++) {
            planes[c].resize(static_cast<size_t>(width(c) * height(c)));
            for (int by = 0; by < height(c); by += 4)
                for (int bx = 0; bx < width(c); bx += 4) {
                    const int step = random.of({1, 3, 10, 30, 120, 255}) * scale, noise = random.of({0, 1, 2, 4, 30});
                    const int base =
                        random.one_in(8) ? random.of({0, most}) : 128 * scale + random.between(-step, step) / 2;
                    for (int y = by; y < by + 4; y++)
                        for (int x = bx; x < bx + 4; x++)
                            planes[c][static_cast<size_t>(y * width(c) + x)] = static_cast<uint16_t>(
                                std::clamp(base + random.between(-noise, noise) * scale / 2, 0, most));
                }
        }
    }
};

// The first sample that differs, or nothing.
std::string difference(const Case &c, const std::vector<uint16_t> *a, const std::vector<uint16_t> *b) {
    for (int k = 0; k < c.components(); k++)
        for (size_t i = 0; i < a[k].size(); i++)
            if (a[k][i] != b[k][i]) {
                const int x = static_cast<int>(i) % c.width(k), y = static_cast<int>(i) / c.width(k);
                return format_string("component %d, (%d, %d) of macroblock (%d, %d): %d, not %d; %d before", k,
                                     x % c.mb_width(k), y % c.mb_height(k), x / c.mb_width(k), y / c.mb_height(k),
                                     a[k][i], b[k][i], c.planes[k][i]);
            }
    return "";
}

// On the CPU, by so many threads.
void filter_on_cpu(const Case &c, const DeblockPicture &picture, ThreadPool &pool, std::vector<uint16_t> *to) {
    Block planes[3]{};
    for (int k = 0; k < c.components(); k++) planes[k] = {to[k].data(), c.width(k)};
    deblock(picture, planes, pool);
}

// Calls check(case) for pictures of all formats, QPs and sizes.
template <class Check>
void for_cases(uint64_t seed, int rounds, const Check &check) {
    Random random(seed);
    for (const ChromaFormat format : formats)
        for (const int depth : {8, 10})
            for (int kind = 0; kind < static_cast<int>(Kind::kinds); kind++)
                for (int round = 0; round < rounds; round++) {
                    const int columns = round == 0 ? 1 : random.between(1, 9),
                              rows = round == 1 ? 1 : random.between(1, 6);
                    const int lowest = round % 2 ? -qp_bd_offset(depth) : 15;
                    check(Case(random, format, depth, columns, rows, static_cast<Kind>(kind), lowest, kMaxQp));
                }
}

START_TEST(cpu) {
    ThreadPool pool(_i);
    size_t changed = 0, samples = 0;
    for_cases(static_cast<uint64_t>(_i) + 1, 12, [&](const Case &c) {
        std::vector<uint16_t> expected[3], own[3];
        for (int k = 0; k < 3; k++) expected[k] = own[k] = c.planes[k];
        c.filter_by_text(expected);
        filter_on_cpu(c, c.picture(), pool, own);
        const std::string where = difference(c, own, expected);
        EXPECT(where.empty(), "%s: %s", c.name().c_str(), where.c_str());
        for (int k = 0; k < 3; k++)
            for (size_t i = 0; i < own[k].size(); i++) changed += own[k][i] != c.planes[k][i], samples++;
    });
    EXPECT(changed > samples / 10, "of %zu samples %zu are filtered", samples, changed);
}
END_TEST

// A wrong entry of a table shows.
START_TEST(tables) {
    ThreadPool pool(1);
    Random random(5);
    const auto shows = [&](int qp, const auto &spoil) {
        for (int round = 0; round < 60; round++) {
            Case c(random, ChromaFormat::c420, 8, 6, 4, round % 2 ? Kind::mixed : Kind::moving, qp, qp);
            c.offset_a = c.offset_b = c.chroma_offset = 0;
            c.tables = make_deblock_tables(8);
            std::vector<uint16_t> expected[3], own[3];
            for (int k = 0; k < 3; k++) expected[k] = own[k] = c.planes[k];
            c.filter_by_text(expected);
            spoil(c.tables);
            filter_on_cpu(c, c.picture(), pool, own);
            if (!difference(c, own, expected).empty()) return true;
        }
        return false;
    };
    for (int qp = 0; qp <= kMaxQp; qp++) {
        EXPECT(!shows(qp, [](DeblockTables &) {}), "nothing is spoilt at QP %d", qp);
        if (qp >= 16) {
            EXPECT(shows(qp, [=](DeblockTables &t) { t.alpha[qp]++; }), "alpha at QP %d", qp);
            EXPECT(shows(qp, [=](DeblockTables &t) { t.beta[qp]++; }), "beta at QP %d", qp);
            for (int s = 1; s < 4; s++)
                EXPECT(shows(qp, [=](DeblockTables &t) { t.tc0[qp][s]++; }), "tc0 of bS %d at QP %d", s, qp);
        }
        if (qp >= 17) EXPECT(shows(qp, [=](DeblockTables &t) { t.chroma_qp[qp] = 0; }), "QPC of QP %d", qp);
    }
}
END_TEST

START_TEST(nonzero) {
    Random random(9);
    for (int round = 0; round < 1000; round++) {
        int16_t levels[256] = {};
        for (int i = random.between(0, 6); i > 0; i--)
            levels[random.below(256)] = static_cast<int16_t>(random.between(-2, 2));
        const int pattern = random.between(0, 15);
        const bool eight = random.one_in(2);
        uint32_t expected = 0;
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++) {
                const int b8 = y / 8 * 2 + x / 8, b4 = y % 8 / 4 * 2 + x % 8 / 4;
                const int at = eight ? 64 * b8 + y % 8 * 8 + x % 8 : 64 * b8 + 16 * b4 + y % 4 * 4 + x % 4;
                if (!levels[at] || !(pattern >> b8 & 1)) continue;
                expected |= eight ? 0x33u << (y / 8 * 8 + x / 8 * 2) : 1u << (y / 4 * 4 + x / 4);
            }
        EXPECT_EQ(nonzero_blocks(levels, pattern, eight), expected);
    }
}
END_TEST

// A case in a device's memory.
class OnDevice {
  public:
    OnDevice(const std::shared_ptr<Device> &device, const Case &c)
        : device_(device),
          case_(c),
          deblocker_(device, c.picture(), c.tables, c.picture().bit_depth > 8 ? 2 : 1),
          buffers_(deblocker_.make_buffers()),
          macroblocks_(upload_now(device, c.macroblocks)),
          vectors_(upload_now(device, c.vectors)) {
        for (int k = 0; k < c.components(); k++) {
            const size_t row = static_cast<size_t>(c.width(k) * bytes());
            strides_[k] = row + 16 * static_cast<size_t>(k);  // a multiple of 16 more
            strides_[k] = (strides_[k] + 15) / 16 * 16;
            planes_[k] = {device, strides_[k] * static_cast<size_t>(c.height(k))};
        }
    }
    int bytes() const { return case_.bit_depth > 8 ? 2 : 1; }
    void filter(std::vector<uint16_t> *to) {
        for (int k = 0; k < case_.components(); k++) upload(k);
        DeviceDeblocker::Picture picture{.planes = {}, .macroblocks = macroblocks_.data(), .vectors = vectors_.data()};
        for (size_t k = 0; k < 3; k++) picture.planes[k] = {planes_[k].data(), static_cast<int64_t>(strides_[k])};
        deblocker_.filter(nullptr, buffers_, picture);
        for (int k = 0; k < case_.components(); k++) {
            std::vector<uint8_t> memory(planes_[k].bytes());
            device_->download(nullptr, memory.data(), planes_[k].data(), memory.size());
            device_->synchronize(Device::Stream{});
            for (int y = 0; y < case_.height(k); y++)
                for (int x = 0; x < case_.width(k); x++) {
                    const uint8_t *const at =
                        &memory[static_cast<size_t>(y) * strides_[k] + static_cast<size_t>(x * bytes())];
                    to[k][static_cast<size_t>(y * case_.width(k) + x)] =
                        static_cast<uint16_t>(bytes() == 2 ? at[0] | at[1] << 8 : at[0]);
                }
        }
    }

  private:
    void upload(int k) {
        std::vector<uint8_t> memory(planes_[k].bytes(), 0xA5);
        for (int y = 0; y < case_.height(k); y++)
            for (int x = 0; x < case_.width(k); x++) {
                const uint16_t sample = case_.planes[k][static_cast<size_t>(y * case_.width(k) + x)];
                std::memcpy(&memory[static_cast<size_t>(y) * strides_[k] + static_cast<size_t>(x * bytes())], &sample,
                            static_cast<size_t>(bytes()));
            }
        device_->upload(nullptr, planes_[k].data(), memory.data(), memory.size());
        device_->synchronize(Device::Stream{});
    }

    const std::shared_ptr<Device> device_;
    const Case &case_;
    const DeviceDeblocker deblocker_;
    DeblockBuffers buffers_;
    DeviceArray<DeblockMacroblock> macroblocks_;
    DeviceArray<DeblockVector> vectors_;
    DeviceArray<uint8_t> planes_[3];
    size_t strides_[3] = {};
};

// Twice, with the same buffers.
START_TEST(devices) {
    const auto device = open_test_device(_i);
    ThreadPool pool(1);
    for_cases(static_cast<uint64_t>(_i) + 100, 5, [&](const Case &c) {
        std::vector<uint16_t> expected[3], own[3];
        for (int k = 0; k < 3; k++) expected[k] = own[k] = c.planes[k];
        filter_on_cpu(c, c.picture(), pool, expected);
        OnDevice on_device(device, c);
        for (int round = 0; round < 2; round++) {
            on_device.filter(own);
            const std::string where = difference(c, own, expected);
            EXPECT(where.empty(), "%s: %s", c.name().c_str(), where.c_str());
        }
    });
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    ThreadPool pool(2);
    Random random(3);
    const bool large = benched_on_gpu(device);
    const struct {
        const char *name;
        Kind kind;
    } kinds[] = {{"intra", Kind::intra}, {"moving", Kind::moving}, {"still", Kind::still}};
    for (const auto &[name, kind] : kinds) {
        const Case c(random, ChromaFormat::c420, 8, large ? 240 : 23, large ? 135 : 14, kind, 26, 26);
        std::vector<uint16_t> expected[3], own[3];
        for (int k = 0; k < 3; k++) expected[k] = own[k] = c.planes[k];
        filter_on_cpu(c, c.picture(), pool, expected);
        OnDevice on_device(device, c);
        bench(format_string("%s macroblocks", name), device, c.columns * c.rows, "macroblocks", [&] {
            on_device.filter(own);
            const std::string where = difference(c, own, expected);
            EXPECT(where.empty(), "%s: %s", c.name().c_str(), where.c_str());
        });
    }
}
END_TEST

START_TEST(speed) {
    Random random(3);
    ThreadPool pool(1);
    const struct {
        const char *name;
        Kind kind;
    } kinds[] = {{"intra", Kind::intra}, {"moving", Kind::moving}, {"still", Kind::still}};
    for (const auto &[name, kind] : kinds) {
        Case c(random, ChromaFormat::c420, 8, benching ? 120 : 4, benching ? 68 : 4, kind, 26, 26);
        bench(format_string("%s macroblocks, a thread", name), c.columns * c.rows, "macroblocks",
              [&] { filter_on_cpu(c, c.picture(), pool, c.planes); });
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264 deblock");
    TCase *c = add_case(suite, "deblock");
    tcase_add_loop_test(c, cpu, 1, 4);
    tcase_add_test(c, tables);
    tcase_add_test(c, nonzero);
    tcase_add_test(c, speed);
    tcase_add_loop_test(c, devices, 0, static_cast<int>(device_specs.size()));
    tcase_add_loop_test(c, large_pictures, 0, static_cast<int>(device_specs.size()));
    return run_suite(suite);
}
