// SPDX-License-Identifier: LGPL-2.1-or-later
#include "params.h"

#include <algorithm>

#include "../error.h"
#include "../options.h"
#include "headers.h"
#include "rate.h"

namespace cudaenc::mjpeg {

namespace {

constexpr int kMaxSide = 65535;                    // B.2.2: X and Y have 16 bits
constexpr int64_t kMaxSamples = int64_t{1} << 31;  // so that counts of symbols fit 32 bits

void check_components(const CudaencFormat &format) {
    const bool gray = format.color_model == CUDAENC_COLOR_GRAY;
    if (format.has_alpha) refuse("a format with alpha is not allowed: JPEG has no place for it");
    if (format.color_model == CUDAENC_COLOR_XYZ) refuse("XYZ is not allowed: it is gray, YUV or RGB");
    if (format.components != (gray ? 1 : 3))
        refuse(format_string("%d components are not allowed: gray has 1, YUV and RGB have 3", format.components));
    int densest_x = 3, densest_y = 3;
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &s = format.component[c];
        if (s.depth != 8) refuse(format_string("component %d: depth %d is not allowed: it is 8", c, s.depth));
        if (s.log2_subsample_x > 2 || s.log2_subsample_y > 2)
            refuse(format_string("component %d: sub-sampling by 2^%d, 2^%d is not allowed: the exponents are 0 to 2", c,
                                 s.log2_subsample_x, s.log2_subsample_y));
        densest_x = std::min(densest_x, s.log2_subsample_x);
        densest_y = std::min(densest_y, s.log2_subsample_y);
    }
    if (densest_x || densest_y) refuse("every component is sub-sampled: the picture's size is that of its densest one");
}

// By index, of the matrix that the option names.
int divisor_of(int matrix, int table, int index) {
    return matrix == CUDAENC_MJPEG_MATRIX_FLAT   ? kMpegNonIntra
           : matrix == CUDAENC_MJPEG_MATRIX_MPEG ? kMpegIntra[index]
                                                 : kQuantisation[table][index];
}

void set_matrix(Params &p, int table, const char *name, const uint16_t *matrix, int named) {
    for (int i = 0; i < kBlockSamples; i++) {
        const int divisor = matrix ? matrix[i] : divisor_of(named, table, i);
        if (divisor < 1 || divisor > 255)
            refuse(format_string("%s: divisor %d at row %d, column %d is not allowed: it is 1 to 255", name, divisor,
                                 i / kBlockSize, i % kBlockSize));
        p.matrix[table][i] = static_cast<uint8_t>(divisor);
    }
}

// A.2: one interleaved scan of all components, or a scan each.
void set_geometry(Params &p, int restart_interval) {
    int largest_h = 1, largest_v = 1, mcu_blocks = 0;
    for (const Component &c : p.components) {
        largest_h = std::max(largest_h, c.h);
        largest_v = std::max(largest_v, c.v);
        mcu_blocks += c.h * c.v;
    }
    const int count = static_cast<int>(p.components.size());
    const bool interleaved = count > 1 && mcu_blocks <= kMaxMcuBlocks;
    const auto add_scan = [&](int first, int components, int64_t mcus_x, int64_t mcus_y) {
        const int32_t columns = static_cast<int32_t>(mcus_x);
        p.scans.push_back({.first = first,
                           .count = components,
                           .grid = {.mcus_x = columns,
                                    .mcus_y = static_cast<int32_t>(mcus_y),
                                    .restart_interval = restart_interval < 0 ? columns : restart_interval,
                                    .by_mcus_x = Divider(columns)}});
    };
    if (interleaved)
        add_scan(0, count, ceil_div(p.width, kBlockSize * largest_h), ceil_div(p.height, kBlockSize * largest_v));
    for (int i = 0; i < count; i++) {
        Component &c = p.components[i];
        c.width = static_cast<int>(ceil_div(int64_t{p.width} * c.h, largest_h));
        c.height = static_cast<int>(ceil_div(int64_t{p.height} * c.v, largest_v));
        c.grid = {.h = interleaved ? c.h : 1,
                  .v = interleaved ? c.v : 1,
                  .columns = static_cast<int32_t>(ceil_div(c.width, kBlockSize)),
                  .rows = static_cast<int32_t>(ceil_div(c.height, kBlockSize))};
        c.first_block = p.blocks;
        p.blocks += c.blocks();
        if (!interleaved) add_scan(i, 1, c.grid.columns, c.grid.rows);
    }
    if (static_cast<int64_t>(p.blocks) * kBlockSamples > kMaxSamples)
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    format_string("a picture of %dx%d in %d components is too large: it has at most 2^31 samples",
                                  p.width, p.height, count));
}

// Of a picture of one colour: a block is a DC of 0 and an EOB.
int64_t least_bytes(const Params &p) {
    uint64_t bits = 0;
    for (const Component &c : p.components) bits += c.blocks() * (p.optimal ? 2 : c.table == kLuma ? 6 : 4);
    return static_cast<int64_t>(
        packet_bytes(p, {}, make_divisors(p, p.max_scale), p.optimal ? HuffmanSpecs{} : default_huffman(), bits));
}

// Of others FFmpeg's decoder refuses pictures, or resamples them.
bool has_sampling_of_ffmpeg(const Params &p) {
    const std::vector<Component> &c = p.components;
    if (c.size() == 1) return true;
    if (c[1].h != 1 || c[1].v != 1 || c[2].h != 1 || c[2].v != 1) return false;
    const int blocks = c[0].h * c[0].v;
    return blocks == 1 || (!p.coded_rgb && blocks <= 4 && c[0].v <= 2);
}

// The inverse of scale_of_quality(): 1 to 100, and what lies between.
double quality_of_scale(int32_t scale) { return scale > 10000 ? 500000.0 / scale : 100 - scale / 200.0; }

// What the options do that their user may not want; mostly empty.
std::string warning_of(const Params &p) {
    std::string line;
    const auto add = [&](bool condition, const std::string &what) {
        if (condition) line += (line.empty() ? "" : "; ") + what;
    };
    const long long least = least_bytes(p), bytes = p.frame_bytes;
    add(bytes && bytes < least,
        format_string("frame_bytes %lld is low: a picture of one colour has %lld", bytes, least));
    const int matrix = p.input.color_matrix;  // H.273: 0 of RGB, 2 not told, 5 and 6 BT.601
    add(p.input.color_model == CUDAENC_COLOR_YUV && matrix != 0 && matrix != 2 && matrix != 5 && matrix != 6,
        format_string("JPEG cannot tell of colour matrix %d: decoders take samples for those of BT.601", matrix));
    add(!has_sampling_of_ffmpeg(p), "FFmpeg's decoder refuses this sub-sampling, or resamples it");
    add(std::max(p.width, p.height) > 65500, "libjpeg refuses more than 65500 columns or rows");
    return line;
}

}  // namespace

Params make_params(const CudaencFormat &format, const CudaencMjpegOptions &options) {
    check_format(format, kMaxSide);
    check_components(format);
    check_options(kMjpegOptions, options);
    check_range("quality_max", options.quality_max, options.quality_min, 100);

    Params p{};
    p.input = format;
    p.width = format.width;
    p.height = format.height;
    const bool rgb = format.color_model == CUDAENC_COLOR_RGB;
    const auto same_grid = [&](const CudaencComponent &c) {
        return c.log2_subsample_x == format.component[0].log2_subsample_x &&
               c.log2_subsample_y == format.component[0].log2_subsample_y;
    };
    if (options.mct && (!rgb || !std::all_of(format.component, format.component + format.components, same_grid)))
        refuse("mct 1 is not allowed: it takes RGB, of one size; allowed is 0");
    p.transform = options.mct ? ColorTransform::rgb_to_ycbcr : ColorTransform::none;
    p.coded_rgb = rgb && !options.mct;
    p.tables = format.components == 1 || p.coded_rgb ? 1 : 2;

    int most_h = 0, most_v = 0;  // exponents of the sparsest component
    for (int i = 0; i < format.components; i++) {
        most_h = std::max(most_h, format.component[i].log2_subsample_x);
        most_v = std::max(most_v, format.component[i].log2_subsample_y);
    }
    for (int i = 0; i < format.components; i++) {
        Component c{};
        c.id = p.coded_rgb ? "RGB"[i] : i + 1;
        c.h = 1 << (most_h - format.component[i].log2_subsample_x);
        c.v = 1 << (most_v - format.component[i].log2_subsample_y);
        c.table = i && p.tables > 1 ? kChroma : kLuma;
        p.components.push_back(c);
    }
    set_geometry(p, options.restart_interval);

    if (options.matrix && (options.luma_matrix || options.chroma_matrix))
        refuse(format_string("matrix %d is not allowed with luma_matrix or chroma_matrix: allowed is 0 (annexk)",
                             options.matrix));
    set_matrix(p, kLuma, "luma_matrix", options.luma_matrix, options.matrix);
    set_matrix(p, kChroma, "chroma_matrix", options.chroma_matrix, options.matrix);
    p.scale = scale_of_quality(options.quality);
    p.optimal = options.huffman == CUDAENC_MJPEG_HUFFMAN_OPTIMAL;
    p.trellis = options.trellis;
    p.frame_bytes = options.frame_bytes;
    p.min_scale = scale_of_quality(options.quality_max);
    p.max_scale = scale_of_quality(options.quality_min);
    p.comment = comment_of(options.comment, 65533);
    p.warning = warning_of(p);
    return p;
}

Divisors make_divisors(const Params &params, int32_t scale) {
    Divisors divisors;
    for (int table = 0; table < kTables; table++)
        for (int i = 0; i < kBlockSamples; i++)
            divisors.of[table][i] = static_cast<uint8_t>(scaled_divisor(params.matrix[table][i], scale));
    return divisors;
}

Quantiser make_quantiser(const uint8_t (&divisors)[kBlockSamples]) {
    Quantiser quantiser;
    for (int i = 0; i < kBlockSamples; i++) set_divisor(quantiser, i, divisors[i]);
    return quantiser;
}

void describe_packet(const Params &params, int32_t scale, uint64_t bytes, CudaencBuffer &packet) {
    packet.quality = quality_of_scale(scale);
    const uint64_t target = static_cast<uint64_t>(params.frame_bytes);
    if (!target || (bytes > target ? bytes - target : target - bytes) <= target / RateSearch::kTolerance) return;
    if (params.frame_bytes < least_bytes(params)) return;  // warning_of() told
    packet.missed_above = bytes > target;
    packet.missed = format_string(
        "a packet has %llu bytes at quality %.1f, not the %llu of its target%s", static_cast<unsigned long long>(bytes),
        packet.quality, static_cast<unsigned long long>(target),
        scale == (bytes > target ? params.max_scale : params.min_scale) ? ": no other quality is allowed" : "");
}

std::string summary(const Params &p) {
    const std::string size = p.frame_bytes ? format_string("%lld bytes a frame", static_cast<long long>(p.frame_bytes))
                                           : format_string("quality %.0f", quality_of_scale(p.scale));
    return size + (p.optimal ? ", optimal Huffman tables" : ", default Huffman tables");
}

}  // namespace cudaenc::mjpeg
