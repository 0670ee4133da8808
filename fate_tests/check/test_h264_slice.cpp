// SPDX-License-Identifier: LGPL-2.1-or-later
// Slices that the CPU codes, read back by a parser of its own; emulation prevention; headers.

#include "../../common/h264/lanes/intra_coder.h"
#include "../../common/h264/syntax/slice_cpu.h"
#include "h264_parser.h"
#include "h264_pictures.h"

using namespace cudaenc;
using namespace cudaenc::h264;
using namespace cudaenc::testing;

namespace {

std::vector<uint8_t> code_slices(const CodedMacroblocks &p, int threads) {
    ThreadPool pool(threads);
    SliceCoder coder(p.format, p.slices);
    const auto bytes = coder.code(pool, p.picture(), p.headers.data());
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

ParsedPicture parse_picture(const CodedFormat &f, const std::vector<uint8_t> &bytes) {
    ParsedPicture parsed(f.chroma, f.luma_depth, f.chroma_depth, f.transform_8x8_mode, f.width, f.height);
    for (const Nal &nal : split_stream(bytes)) {
        require((nal.type == 5 || nal.type == 1) && nal.ref_idc, "a slice");
        BitReader in(nal.rbsp);
        const ParsedSliceHeader header = parse_slice_header(in, {.nal_type = nal.type, .ref_idc = nal.ref_idc});
        parsed.parse_slice(in, header.first_macroblock, header.is_p);
    }
    return parsed;
}

// Of inter macroblocks the parser has more than ours.
void expect_inter(const Macroblock &m, const Macroblock &parsed, const decoder::InterMacroblock &inter, size_t i) {
    EXPECT(inter.inter && inter.skip == (m.type == MacroblockType::skip), "macroblock %zu: skipped", i);
    EXPECT(parsed.coded_block_pattern == m.coded_block_pattern && parsed.qp_delta == m.qp_delta &&
               parsed.slice == m.slice && parsed.first_in_slice == m.first_in_slice,
           "macroblock %zu: coded_block_pattern, mb_qp_delta, slice", i);
    if (inter.skip) return;
    EXPECT(inter.mb_type == static_cast<int>(m.type) - static_cast<int>(MacroblockType::p16x16) &&
               inter.transform_8x8 == (m.transform_size_8x8_flag != 0),
           "macroblock %zu: mb_type %d", i, inter.mb_type);
    for (size_t part = 0; part < 4; part++)
        EXPECT(inter.sub_mb_type[part] == 0 && inter.mvd[4 * part][0] == m.mvd[part].x &&
                   inter.mvd[4 * part][1] == m.mvd[part].y,
               "macroblock %zu: part %zu", i, part);
}

void expect_same(const CodedMacroblocks &p, const ParsedPicture &parsed) {
    const std::string text = describe(p.format);
    const size_t levels = static_cast<size_t>(blocks_per_macroblock(p.format.chroma)) * 16;
    for (size_t i = 0; i < p.macroblocks.size(); i++) {
        const Macroblock &m = p.macroblocks[i];
        if (is_inter(m.type))
            expect_inter(m, parsed.macroblocks[i], parsed.inter[i], i);
        else
            EXPECT(!parsed.inter[i].inter && !std::memcmp(&parsed.macroblocks[i], &m, sizeof m), "%s: macroblock %zu",
                   text.c_str(), i);
        for (size_t k = 0; k < levels && m.type != MacroblockType::skip; k++)
            EXPECT(parsed.levels[i * levels + k] == p.levels[i * levels + k],
                   "%s: macroblock %zu, block %zu, level %zu is %d, not %d", text.c_str(), i, k / 16, k % 16,
                   parsed.levels[i * levels + k], p.levels[i * levels + k]);
    }
}

const Mix mixes[] = {{0, 1, 0, 0},     {1, 1, 0, 0}, {3, 2, 10, 255}, {5, 8, 0, 0}, {8, 100, 5, 255}, {8, 2063, 0, 0},
                     {8, 32767, 0, 0}, {2, 1, 2, 1}, {1, 3000, 1, 0}, {8, 1, 0, 0}, {4, 4, 3, 0},     {6, 30, 1, 4}};

START_TEST(macroblocks) {
    Random random(1);
    for (size_t f = 0; f < std::size(h264_formats); f++)
        for (const Mix &mix : mixes) {
            const CodedFormat format = h264_format(f, random.between(1, 9), random.between(1, 7));
            const CodedMacroblocks p = random_picture(random, format, 1 + random.below(5), mix);
            const std::vector<uint8_t> bytes = code_slices(p, 2);
            try {
                const ParsedPicture parsed = parse_picture(format, bytes);
                expect_same(p, parsed);
                for (const size_t bits : parsed.macroblock_bits)
                    EXPECT(bits <= most_macroblock_bits(format), "a macroblock of %zu bits", bits);
                EXPECT(mix.range > kMaxLevelOfPrefix15 || parsed.highest_prefix <= 15, "level_prefix %d",
                       parsed.highest_prefix);
            } catch (const std::exception &e) {
                EXPECT(false, "%s: %s", describe(format).c_str(), e.what());
            }
        }
}
END_TEST

// Of P slices: every type, skipped ones in runs, all of them skipped.
START_TEST(macroblocks_of_p) {
    Random random(9);
    for (const ChromaFormat chroma : {ChromaFormat::c420, ChromaFormat::c422})
        for (const bool high : {false, true})
            for (const Mix &mix : mixes)
                for (const auto &[skipped, coded] : {std::pair(0, 9), {3, 3}, {40, 2}, {9, 0}}) {
                    const CodedFormat format{chroma, high, 8, 8, random.between(1, 9), random.between(1, 7),
                                             false,  false};
                    const CodedMacroblocks p =
                        random_p_picture(random, format, 1 + random.below(5), mix, skipped, coded);
                    try {
                        expect_same(p, parse_picture(format, code_slices(p, 2)));
                    } catch (const std::exception &e) {
                        EXPECT(false, "%s: %s", describe(format).c_str(), e.what());
                    }
                }
}
END_TEST

// mb_skip_run of more than 32 bits, before a macroblock and at a slice's end.
START_TEST(long_skip_runs) {
    Random random(10);
    for (const uint32_t run : {65534u, 65535u, 65536u, 131071u, 139263u}) {
        BitWriter out;
        out.reserve(64);
        put_skip_run(run, out);
        const BitWriter::Run written = out.end();
        std::vector<uint8_t> bytes;
        for (int shift = 56; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<uint8_t>(out.words()[written.first_word] >> shift));
        BitReader in(bytes);
        EXPECT(in.ue() == run && in.position() == written.bits, "mb_skip_run %u", run);
        BitCounter counter;
        put_skip_run(run, counter);
        EXPECT(counter.bits == written.bits, "%u bits are counted", counter.bits);
    }
}
END_TEST

START_TEST(threads) {
    Random random(2);
    const CodedMacroblocks p = random_picture(random, h264_format(1, 20, 12), 12, {3, 4, 30, 255});
    EXPECT(code_slices(p, 1) == code_slices(p, 4), "threads");
}
END_TEST

// What the intra pipeline hands over is within the limits, and nothing of it is lost.
START_TEST(pictures) {
    Random random(7);
    ThreadPool pool(2);
    for (const ChromaFormat chroma : {ChromaFormat::c400, ChromaFormat::c420, ChromaFormat::c422, ChromaFormat::c444})
        for (const int depth : {8, 10})
            for (const bool high : {false, true})
                for (const int qp : {-6 * (depth - 8), 0, 20, 51}) {
                    const int width = random.between(1, 70), height = random.between(33, 70);
                    const PictureFormat format{width, height, chroma, depth, random.between(1, 3), high, high, !high};
                    // From noise of the whole range, where I_PCM is cheapest, to nothing.
                    const int noise = random.of({0, 4, 64, 1 << depth});
                    std::vector<uint16_t> samples(static_cast<size_t>(width * height));
                    for (size_t i = 0; i < samples.size(); i++)
                        samples[i] = static_cast<uint16_t>((i % static_cast<size_t>(width) + random.below(noise + 1)) %
                                                           (1u << depth));
                    const SampleLayout layout{reinterpret_cast<const uint8_t *>(samples.data()), 2 * width, 2, 0,
                                              depth};
                    const SampleLayout layouts[3] = {layout, layout, layout};
                    CodedMacroblocks p{format.coded(), {}, {}, {}, {}, {}, false};
                    p.macroblocks.resize(static_cast<size_t>(format.macroblocks()));
                    p.levels.resize(p.macroblocks.size() * static_cast<size_t>(blocks_per_macroblock(chroma)) * 16);
                    PictureQuality quality{};
                    quality.qp = qp;
                    quality.effort = random.between(0, 3);
                    quality.aq_strength = random.of({0, 256});
                    IntraCoder(format).encode(layouts, quality, pool, p.macroblocks.data(), p.levels.data());
                    for (int s = 0; s < format.slices; s++) {
                        p.slices.push_back(format.slice(s));
                        p.headers.push_back(make_slice_header({p.slices.back().first, 0, 0}));
                    }
                    try {
                        const ParsedPicture parsed = parse_picture(p.format, code_slices(p, 2));
                        expect_same(p, parsed);
                        for (const size_t bits : parsed.macroblock_bits)
                            EXPECT(bits <= most_macroblock_bits(p.format), "a macroblock of %zu bits", bits);
                        EXPECT(high || parsed.highest_prefix <= 15, "level_prefix %d", parsed.highest_prefix);
                    } catch (const std::exception &e) {
                        EXPECT(false, "%s, QP %d: %s", describe(p.format).c_str(), qp, e.what());
                    }
                }
}
END_TEST

// The standard's rule, a byte at a time.
std::vector<uint8_t> prevent_emulation(const std::vector<uint8_t> &rbsp) {
    std::vector<uint8_t> out;
    for (const uint8_t byte : rbsp) {
        const size_t n = out.size();
        if (n >= 2 && !out[n - 1] && !out[n - 2] && byte <= 3) out.push_back(3);
        out.push_back(byte);
    }
    return out;
}

START_TEST(emulation_prevention) {
    Random random(3);
    for (int i = 0; i < 20000; i++) {
        std::vector<uint8_t> rbsp(random.below(60));
        for (uint8_t &byte : rbsp)
            byte = random.one_in(4) ? static_cast<uint8_t>(random.below(6)) : random.one_in(9) ? 255 : 0;
        rbsp.push_back(static_cast<uint8_t>(1 + random.below(255)));
        BitWriter bits;
        bits.reserve(8 * rbsp.size());
        for (const uint8_t byte : rbsp) bits.put(byte, 8);
        const BitWriter::Run run = bits.end();
        std::vector<uint8_t> nal(most_nal_bytes(rbsp.size()));
        NalWriter writer(nal.data());
        writer.begin(nal_header(kNalIdrSlice, 3));
        writer.put(bits.words() + run.first_word, run.bits);
        nal.resize(static_cast<size_t>(writer.end() - nal.data()));
        const std::vector<uint8_t> expected = prevent_emulation(rbsp);
        EXPECT(std::equal(nal.begin() + kNalPrefixBytes, nal.end(), expected.begin(), expected.end()), "RBSP %d", i);
        EXPECT(split_stream(nal).at(0).rbsp == rbsp, "read back");
    }
}
END_TEST

START_TEST(parameter_sets) {
    Random random(4);
    for (int i = 0; i < 3000; i++) {
        ParameterSets s{};
        s.profile_idc = random.of({66, 77, 100, 110, 122, 44});
        const bool high = is_high_profile(s.profile_idc);
        s.constraint_sets = static_cast<uint8_t>(random.below(64) << 2);
        s.level_idc = random.of({10, 31, 40, 52, 62});
        s.format = high ? h264_formats[random.below(std::size(h264_formats))] : h264_formats[0];
        s.format.transform_8x8_mode = high && random.one_in(2);
        s.format.width = random.between(1, 512);
        s.format.height = random.between(1, 512);
        const int unit_x = chroma_blocks(s.format.chroma) ? 2 : 1;
        const int unit_y = s.format.chroma == ChromaFormat::c420 ? 2 : 1;
        s.width = 16 * s.format.width - unit_x * random.between(0, 15 / unit_x);
        s.height = 16 * s.format.height - unit_y * random.between(0, 15 / unit_y);
        Vui &v = s.vui;
        if (random.one_in(2)) v.sar_num = random.of({1, 4, 64, 77}), v.sar_den = random.of({1, 3, 33});
        v.full_range = random.one_in(2);
        if (random.one_in(2)) v.primaries = 9, v.transfer = 16, v.matrix = 9;
        v.chroma_location = random.between(-1, 5);
        if (random.one_in(2)) v.frame_rate_num = 60000, v.frame_rate_den = 1001, v.fixed_frame_rate = random.one_in(2);
        v.timecodes = random.one_in(2);
        if (random.one_in(2))
            v.hrd = Hrd{.bit_rate = hrd_rate(int64_t{random.word()}),
                        .size = hrd_size(int64_t{random.word()}),
                        .cbr = random.one_in(2),
                        .delay_length = random.between(1, 32)};
        s.pic_init_qp = random.between(0, 51 + 6 * (s.format.luma_depth - 8));
        s.chroma_qp_index_offset = random.between(-12, 12);
        s.second_chroma_qp_index_offset = high ? random.between(-12, 12) : s.chroma_qp_index_offset;
        const std::vector<uint8_t> sps_nal = make_sps(s), pps_nal = make_pps(s);
        const ParsedSps sps = parse_sps(split_stream(sps_nal).at(0));
        EXPECT(sps.profile_idc == s.profile_idc && sps.level_idc == s.level_idc &&
                   sps.constraint_sets == s.constraint_sets,
               "profile and level");
        EXPECT(sps.chroma_format_idc == static_cast<int>(s.format.chroma) && sps.luma_depth == s.format.luma_depth &&
                   sps.chroma_depth == s.format.chroma_depth,
               "samples");
        EXPECT(sps.width == s.format.width && sps.height == s.format.height &&
                   16 * sps.width - unit_x * sps.crop_right == s.width &&
                   16 * sps.height - unit_y * sps.crop_bottom == s.height,
               "size");
        EXPECT((sps.sar_idc >= 0) == (v.sar_num > 0) && (sps.sar_idc != 1 || v.sar_num == v.sar_den), "aspect ratio");
        if (sps.sar_idc == 255) EXPECT(sps.sar_width == v.sar_num && sps.sar_height == v.sar_den, "extended SAR");
        EXPECT((sps.full_range == 1) == v.full_range && sps.colours[0] == v.primaries && sps.colours[1] == v.transfer &&
                   sps.colours[2] == v.matrix && sps.chroma_location == v.chroma_location,
               "colours");
        EXPECT(sps.time_scale == 2 * v.frame_rate_num && sps.num_units_in_tick == v.frame_rate_den, "frame rate");
        EXPECT(sps.pic_struct_present == v.timecodes, "pic_struct_present_flag");
        EXPECT(!sps.hrd_bit_rate == !v.hrd, "nal_hrd_parameters_present_flag");
        if (v.hrd)
            EXPECT(static_cast<int64_t>(sps.hrd_bit_rate) == v.hrd->bit_rate &&
                       static_cast<int64_t>(sps.hrd_size) == v.hrd->size && (sps.hrd_cbr == 1) == v.hrd->cbr,
                   "HRD parameters");
        const ParsedPps pps = parse_pps(split_stream(pps_nal).at(0));
        EXPECT(pps.pic_init_qp + 6 * (s.format.luma_depth - 8) == s.pic_init_qp &&
                   pps.chroma_qp_index_offset == s.chroma_qp_index_offset &&
                   pps.second_chroma_qp_index_offset == s.second_chroma_qp_index_offset &&
                   pps.transform_8x8_mode == s.format.transform_8x8_mode,
               "picture parameter set");
    }
}
END_TEST

START_TEST(slice_headers) {
    Random random(5);
    for (int i = 0; i < 3000; i++) {
        SliceHeader s{random.one_in(3) ? 0 : random.below(300000), random.between(0, 1), random.between(-80, 80)};
        s.disable_deblocking_filter_idc = random.between(0, 2);
        if (s.disable_deblocking_filter_idc != 1) {
            s.alpha_c0_offset_div2 = random.between(-6, 6);
            s.beta_offset_div2 = random.between(-6, 6);
        }
        const SliceHeaderBits bits = make_slice_header(s);
        EXPECT(bits.count <= 128, "%u bits", bits.count);
        std::vector<uint8_t> bytes;
        for (const uint32_t word : bits.words)
            for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
        BitReader in(bytes);
        const ParsedSliceHeader h = parse_slice_header(in);
        EXPECT(in.position() == bits.count && h.first_macroblock == s.first_macroblock &&
                   static_cast<int>(h.idr_pic_id) == s.idr_pic_id && h.qp_delta == s.qp_delta &&
                   h.disable_deblocking_filter_idc == s.disable_deblocking_filter_idc &&
                   h.alpha_c0_offset_div2 == s.alpha_c0_offset_div2 && h.beta_offset_div2 == s.beta_offset_div2,
               "slice header %d", i);
    }
}
END_TEST

// Of a picture that is no IDR picture, with pic_order_cnt_type 0.
START_TEST(slice_headers_of_p) {
    for (const int nal_ref_idc : {0, 2}) {
        SliceHeader s{.first_macroblock = 40, .idr_pic_id = 0, .qp_delta = -3};
        s.pic_order_cnt_lsb = 14;
        s.nal_unit_type = kNalSlice;
        s.nal_ref_idc = nal_ref_idc;
        s.slice_type = SliceType::p;
        s.frame_num = 7;
        const SliceHeaderBits bits = make_slice_header(s);
        EXPECT(bits.nal_header == static_cast<uint32_t>(nal_ref_idc << 5 | 1), "header of the NAL unit");
        std::vector<uint8_t> bytes;
        for (const uint32_t word : bits.words)
            for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
        BitReader in(bytes);
        EXPECT(in.ue() == 40 && in.ue() == 5 && in.ue() == 0 && in.u(4) == 7 && in.u(4) == 14, "P, frame_num, order");
        EXPECT(in.u(2) == 0 && (!nal_ref_idc || !in.u1()), "num_ref_idx, modification, marking");
        EXPECT(in.se() == -3 && in.ue() == 1 && in.position() == bits.count, "slice_qp_delta, filter");
    }
    EXPECT((make_aud(SliceType::p) == std::vector<uint8_t>{0, 0, 0, 1, 9, 0x30}), "access unit delimiter");
}
END_TEST

START_TEST(sei_and_others) {
    const std::vector<uint8_t> captions = {0xFC, 0x94, 0x20, 0xFD, 0x80, 0x80};
    std::vector<uint8_t> user(300);
    for (size_t i = 0; i < user.size(); i++) user[i] = static_cast<uint8_t>(i / 7);
    Sei sei;
    EXPECT(sei.empty(), "empty");
    sei.pic_struct = true;
    sei.timecode = Timecode{13, 59, 2, 29, true};
    sei.captions = captions;
    sei.unregistered = {user};
    sei.mastering_display =
        MasteringDisplay{{{13250, 34500}, {7500, 3000}, {34000, 16000}}, {15635, 16450}, 10000000, 1};
    sei.content_light = ContentLight{1000, 400};
    const Nal nal = split_stream(make_sei(sei)).at(0);
    EXPECT(nal.type == 6 && nal.ref_idc == 0, "an SEI NAL unit");
    BitReader in(nal.rbsp);
    const auto message = [&](uint32_t type) {
        uint32_t values[2] = {};
        for (uint32_t &value : values) {
            uint32_t byte;
            do value += byte = in.u(8);
            while (byte == 255);
        }
        EXPECT(values[0] == type, "payloadType %u, not %u", values[0], type);
        return in.position() + 8 * values[1];
    };
    size_t end = message(1);
    EXPECT(in.u(4) == 0 && in.u1() && in.u(2) == 0 && in.u1() && in.u(5) == 4 && in.u1() && !in.u1() && in.u1(),
           "flags");
    EXPECT(in.u(8) == 29 && in.u(6) == 2 && in.u(6) == 59 && in.u(5) == 13 && in.u(24) == 0, "13:59:02:29");
    EXPECT(in.u1() == 1, "bit_equal_to_one");
    while (in.position() < end) EXPECT(!in.u1(), "zeros");
    end = message(4);
    EXPECT(in.u(8) == 0xB5 && in.u(16) == 0x31 && in.u(32) == 0x47413934 && in.u(8) == 3 && in.u(8) == 0x42 &&
               in.u(8) == 0xFF,
           "A/53");
    for (const uint8_t byte : captions) EXPECT(in.u(8) == byte, "cc_data");
    EXPECT(in.u(8) == 0xFF && in.position() == end, "marker_bits");
    end = message(5);
    for (const uint8_t byte : user) EXPECT(in.u(8) == byte, "user data");
    EXPECT(in.position() == end, "size");
    end = message(137);
    for (const uint32_t value : {13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450})
        EXPECT(in.u(16) == value, "coordinates");
    EXPECT(in.u(32) == 10000000 && in.u(32) == 1 && in.position() == end, "luminance");
    end = message(144);
    EXPECT(in.u(16) == 1000 && in.u(16) == 400 && in.position() == end, "light levels");
    in.trailing_bits();

    EXPECT((make_aud(SliceType::i) == std::vector<uint8_t>{0, 0, 0, 1, 9, 0x10}), "access unit delimiter");
    for (const size_t size : {kLeastFillerBytes, size_t{7}, size_t{1000}}) {
        const Nal filler = split_stream(make_filler(size)).at(0);
        EXPECT(make_filler(size).size() == size && filler.type == 12 && filler.rbsp.back() == 0x80, "filler");
    }
}
END_TEST

START_TEST(large_pictures) {
    Random random(8);
    const CodedMacroblocks p =
        random_picture(random, h264_format(1, benching ? 120 : 20, benching ? 68 : 12), 1, {3, 4, 0, 0});
    std::vector<uint8_t> bytes;
    bench("h264: slice, one thread", p.format.macroblocks(), "macroblocks", [&] { bytes = code_slices(p, 1); });
    expect_same(p, parse_picture(p.format, bytes));
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("h264_slice");
    TCase *c = add_case(suite, "slices");
    tcase_add_test(c, macroblocks);
    tcase_add_test(c, macroblocks_of_p);
    tcase_add_test(c, long_skip_runs);
    tcase_add_test(c, threads);
    tcase_add_test(c, large_pictures);
    tcase_add_test(c, pictures);
    tcase_add_test(c, emulation_prevention);
    tcase_add_test(c, parameter_sets);
    tcase_add_test(c, slice_headers);
    tcase_add_test(c, slice_headers_of_p);
    tcase_add_test(c, sei_and_others);
    return run_suite(suite);
}
