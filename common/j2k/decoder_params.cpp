// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoder_params.h"

#include <algorithm>

#include "../error.h"
#include "codestream/read_headers.h"

namespace cudaenc::j2k {

namespace {

[[noreturn]] void unsupported(const std::string &what) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "JPEG 2000: " + what + " is not supported");
}

// Packets and code-blocks of a tile-component, about: at least as many as there are.
struct Counts {
    double packets = 0, blocks = 0;
    void add(const ComponentCoding &coding, const TileComponent &t) {
        for (int r = 0; r <= coding.levels; r++) {
            const Extent e = extent_at(t, coding.levels - r);
            if (e.width() <= 0 || e.height() <= 0) continue;
            const auto count = [](int begin, int end, int log2) {
                return static_cast<double>(ceil_shift(end, log2) - (begin >> log2));
            };
            const size_t k = static_cast<size_t>(r);
            const int width_log2 = coding.precinct_width_log2[k], height_log2 = coding.precinct_height_log2[k];
            packets += count(e.x0, e.x1, width_log2) * count(e.y0, e.y1, height_log2);
            // In samples of the resolution a code-block of its sub-bands is twice as large.
            const int twice = r ? 1 : 0;
            blocks += (r ? 3 : 1) * (count(e.x0, e.x1, std::min(coding.cblk_width_log2 + twice, width_log2)) + 1) *
                      (count(e.y0, e.y1, std::min(coding.cblk_height_log2 + twice, height_log2)) + 1);
        }
    }
};

// A packet has a byte at least. More than its bytes can be of, a codestream that is cut may have.
void check_counts(const Description &d, size_t bytes) {
    const double room = static_cast<double>(bytes);
    if (static_cast<double>(d.tiles()) * static_cast<double>(d.components.size()) > (1 << 20) + 4 * room)
        throw Error(CUDAENC_ERR_INVALID,
                    format_string("JPEG 2000: %d tiles are more than %zu bytes can be of", d.tiles(), bytes));
    double packets = 0, block_layers = 0;
    for (int ty = 0; ty < d.tiles_y; ty++)
        for (int tx = 0; tx < d.tiles_x; tx++) {
            const TileCoding &coding = d.of_tile(static_cast<uint32_t>(ty * d.tiles_x + tx));
            Counts counts;
            for (size_t c = 0; c < d.components.size(); c++) {
                const Component &k = d.components[c];
                const auto side = [](int64_t index, int64_t origin, int64_t size, int64_t begin, int64_t end,
                                     int step) {
                    const int64_t first = std::max(origin + index * size, begin),
                                  last = std::min(origin + (index + 1) * size, end);
                    return std::pair{static_cast<int32_t>(ceil_div(first, step)),
                                     static_cast<int32_t>(ceil_div(last, step))};
                };
                const auto x = side(tx, d.tile_x0, d.tile_width, d.x0, int64_t{d.x0} + d.width, k.dx),
                           y = side(ty, d.tile_y0, d.tile_height, d.y0, int64_t{d.y0} + d.height, k.dy);
                counts.add(coding.of_component(c), {x.first, y.first, x.second, y.second, 0, 0, 0});
            }
            packets += counts.packets * coding.layers;
            block_layers += counts.blocks * coding.layers;
        }
    if (packets > (1 << 20) + 16 * room || block_layers > (1 << 24) + 64 * room)
        throw Error(CUDAENC_ERR_INVALID,
                    format_string("JPEG 2000: %.0f packets of %.0f code-blocks are more than %zu bytes can be of",
                                  packets, block_layers, bytes));
}

void check_pixels(const Description &d, const DecoderOptions &options) {
    if (int64_t{d.width} * d.height > options.max_pixels)
        throw Error(CUDAENC_ERR_INVALID, format_string("JPEG 2000: %dx%d is not allowed: max_pixels is %lld", d.width,
                                                       d.height, static_cast<long long>(options.max_pixels)));
}

void check_coding(const TileCoding &coding, size_t components, const DecoderOptions &options) {
    for (size_t c = 0; c < components; c++) {
        const ComponentCoding &k = coding.of_component(c);
        if (k.levels < options.lowres)
            unsupported(format_string("lowres %d of %d decomposition levels", options.lowres, k.levels));
        for (int band = 0; band < 3 * k.levels + 1; band++)
            if (const int planes = coding.quantisation[c].planes(band) + coding.region_shift(c); planes > 255)
                unsupported(format_string("component %zu of %d bit-planes", c, planes));
    }
    if (!coding.mct) return;
    if (components < 3) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: a component transformation of fewer than three");
    for (size_t c = 1; c < 3; c++)
        if (coding.of_component(c).reversible != coding.of_component(0).reversible ||
            coding.of_component(c).levels != coding.of_component(0).levels)
            unsupported("a component transformation of components that are coded differently");
}

int log2_subsample(int step, int least) {
    int log2 = 0;
    while (least << log2 < step) log2++;
    if (least << log2 != step)
        unsupported(format_string("a sub-sampling of %d where another component has %d", step, least));
    return log2;
}

// As in FFmpeg's decoder: chroma is where components are sub-sampled; three that are not are RGB.
CudaencColorModel color_model_of(const Description &d) {
    const size_t count = d.components.size();
    if (count > 4) unsupported(format_string("a picture of %zu components", count));
    if (count < 3) return CUDAENC_COLOR_GRAY;
    const auto &c = d.components;
    return c[1].dx == c[0].dx && c[1].dy == c[0].dy && c[2].dx == c[0].dx && c[2].dy == c[0].dy ? CUDAENC_COLOR_RGB
                                                                                                : CUDAENC_COLOR_YUV;
}

CudaencFormat make_format(const Description &d, const DecoderOptions &options) {
    CudaencFormat f{};
    f.color_model = color_model_of(d);
    const auto by_dx = [](const Component &a, const Component &b) { return a.dx < b.dx; };
    const auto by_dy = [](const Component &a, const Component &b) { return a.dy < b.dy; };
    const int dx = std::ranges::min_element(d.components, by_dx)->dx,
              dy = std::ranges::min_element(d.components, by_dy)->dy;
    f.components = f.planes = static_cast<int>(d.components.size());
    f.has_alpha = f.components == 2 || f.components == 4;
    f.full_range = 1;
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    if (f.color_model == CUDAENC_COLOR_RGB) f.color_matrix = 0;
    bool deep = false;
    for (const Component &k : d.components) {
        if (k.depth > 16) unsupported(format_string("a component of %d bits", k.depth));
        deep |= k.depth > 8;
    }
    for (size_t c = 0; c < d.components.size(); c++) {
        const Component &from = d.components[c];
        const bool whole_word = from.depth == 9 || from.depth == 10 || from.depth == 12 || from.depth == 14;
        f.component[c] = {.plane = static_cast<int>(c),
                          .offset = 0,
                          .step = deep ? 2 : 1,
                          .shift = deep ? (whole_word ? 0 : 16 - from.depth) : 8 - from.depth,
                          .depth = from.depth,
                          .log2_subsample_x = log2_subsample(from.dx, dx),
                          .log2_subsample_y = log2_subsample(from.dy, dy)};
        const Extent e = component_extent(d, c, options.lowres);
        if (from.dx == dx) f.width = std::max(f.width, e.width());
        if (from.dy == dy) f.height = std::max(f.height, e.height());
    }
    // A format's words have one alignment.
    for (int c = 1; c < f.components; c++)
        if (deep && d.components[static_cast<size_t>(c)].depth != d.components[0].depth)
            for (int k = 0; k < f.components; k++) f.component[k].shift = 16 - f.component[k].depth;
    for (size_t c = 0; c < d.components.size(); c++) {
        const Extent e = component_extent(d, c, options.lowres);
        const CudaencComponent &k = f.component[c];
        if (e.width() != ceil_shift(f.width, k.log2_subsample_x) ||
            e.height() != ceil_shift(f.height, k.log2_subsample_y))
            unsupported(format_string("component %zu of %d x %d samples in a picture of %d x %d", c, e.width(),
                                      e.height(), f.width, f.height));
        if (!e.width() || !e.height()) unsupported(format_string("component %zu without samples", c));
    }
    return f;
}

}  // namespace

Extent component_extent(const Description &d, size_t component, int lowres) {
    const Component &k = d.components[component];
    const auto at = [lowres](int64_t x, int step) {
        return ceil_shift(static_cast<int32_t>(ceil_div(x, step)), lowres);
    };
    return {at(d.x0, k.dx), at(d.y0, k.dy), at(int64_t{d.x0} + d.width, k.dx), at(int64_t{d.y0} + d.height, k.dy)};
}

Geometry make_decoder_geometry(const Description &d, size_t bytes, const DecoderOptions &options) {
    check_pixels(d, options);
    check_coding(d, d.components.size(), options);
    for (const auto &[tile, coding] : d.own_coding) check_coding(coding, d.components.size(), options);
    check_counts(d, bytes);
    return make_geometry(d);
}

std::span<const uint8_t> find_codestream(std::span<const uint8_t> packet) { return packet; }

std::unique_ptr<PictureHeader> read_header(std::span<const uint8_t> packet, const DecoderOptions &options) {
    const std::span<const uint8_t> codestream = find_codestream(packet);
    const Description d = read_headers(codestream);
    auto header = std::make_unique<PictureHeader>();
    // What follows may be of another picture with the same headers.
    header->size = packet.size() - codestream.size() + d.coded_tile_parts.front().begin;
    check_pixels(d, options);
    CudaencPictureInfo &info = header->info;
    info.format = make_format(d, options);
    const DecoderOptions whole{.max_pixels = options.max_pixels};
    const CudaencFormat before = options.lowres ? make_format(d, whole) : info.format;
    info.width = before.width, info.height = before.height;
    info.sample_aspect_num = 0, info.sample_aspect_den = 1;
    info.orientation = 1;
    for (size_t c = 0; c < d.components.size() && !options.usual_format; c++)
        info.is_signed[c] = d.components[c].is_signed;
    return header;
}

}  // namespace cudaenc::j2k
