// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoder_params.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "../error.h"
#include "../exif.h"
#include "../option_checks.h"
#include "codestream/markers.h"
#include "codestream/read_headers.h"
#include "jp2_reader.h"

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

void check_pixels(const Area &area, const DecoderOptions &options) {
    const int64_t width = area.x1 - area.x0, height = area.y1 - area.y0;
    if (width * height > options.max_pixels)
        throw Error(CUDAENC_ERR_INVALID, format_string("JPEG 2000: %lldx%lld is not allowed: max_pixels is %lld",
                                                       static_cast<long long>(width), static_cast<long long>(height),
                                                       static_cast<long long>(options.max_pixels)));
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

constexpr uint32_t kCmyk = 12;  // EnumCS

// The colours of what a file tells (I.5.3.3), else as FFmpeg's decoder takes them: of digital cinema XYZ (Rsiz 3 and
// 4), YUV where the second and third component are sub-sampled, else RGB.
CudaencColorModel color_model_of(const Description &d, const Jp2File &file) {
    const size_t count = d.components.size();
    if (count > 4) unsupported(format_string("a picture of %zu components", count));
    constexpr uint32_t kSycc = 18, kEsycc = 24;
    if (file.enumerated_colour == kCmyk && count == 4) return CUDAENC_COLOR_CMYK;
    if (count < 3) return CUDAENC_COLOR_GRAY;
    if (file.enumerated_colour == kSycc || file.enumerated_colour == kEsycc) return CUDAENC_COLOR_YUV;
    const auto &c = d.components;
    const auto sampled_as_first = [&](size_t i) { return c[i].dx == c[0].dx && c[i].dy == c[0].dy; };
    if (!sampled_as_first(1) || !sampled_as_first(2)) return CUDAENC_COLOR_YUV;
    return count == 3 && (d.rsiz == 3 || d.rsiz == 4) ? CUDAENC_COLOR_XYZ : CUDAENC_COLOR_RGB;
}

// The components of what a file's palette makes of the codestream's. channels: without their places.
Description map_channels(const Description &d, const Jp2File &file, std::vector<Channel> &channels) {
    if (file.palette.empty() || file.mappings.empty()) {
        for (size_t c = 0; c < d.components.size(); c++) channels.push_back({c, c, d.components[c].is_signed, {}});
        return d;
    }
    Description mapped = d;
    mapped.components.clear();
    for (const ChannelMapping &m : file.mappings) {
        if (m.component >= d.components.size() || (m.by_palette && m.column >= file.palette.size()))
            throw Error(CUDAENC_ERR_INVALID,
                        format_string("JPEG 2000: channel %zu is mapped to component %d, column %d", channels.size(),
                                      m.component, m.column));
        Component component = d.components[m.component];
        channels.push_back({m.component, channels.size(), component.is_signed, {}});
        if (m.by_palette) {
            const PaletteColumn &column = file.palette[m.column];
            component.depth = column.depth, component.is_signed = column.is_signed;
            channels.back().is_signed = column.is_signed;
            channels.back().values = column.values;
        }
        mapped.components.push_back(component);
    }
    return mapped;
}

// Those that are asked for, in their order. Four of them are no inks.
void choose_channels(Description &d, Jp2File &file, std::vector<Channel> &channels, const std::vector<int> &chosen) {
    std::vector<Channel> selected;
    std::vector<Component> components;
    for (const int k : chosen) {
        const size_t channel = static_cast<size_t>(k);
        if (channel >= channels.size())
            refuse(format_string("channels: %d is not allowed: the picture has %zu, from 0 on", k, channels.size()));
        selected.push_back(channels[channel]);
        components.push_back(d.components[channel]);
    }
    channels = std::move(selected), d.components = std::move(components);
    file.channels.clear();
    if (file.enumerated_colour == kCmyk) file.enumerated_colour = 0;
}

// Of more components than a format has those that cdef names: the colours in their order, then opacity of the whole
// picture.
void select_channels(Description &d, Jp2File &file, std::vector<Channel> &channels) {
    std::array<const ChannelDefinition *, kMaxComponents> told{};
    for (const ChannelDefinition &k : file.channels) {
        const bool is_colour = k.type == 0 && k.association >= 1, is_opacity = k.type == 1 || k.type == 2;
        const size_t place = is_colour                          ? k.association - 1u
                             : is_opacity && k.association == 0 ? kMaxComponents - 1
                                                                : kMaxComponents;
        if (k.channel >= channels.size() || place >= kMaxComponents) continue;
        if (told[place])
            unsupported(format_string("a picture of %zu components where cdef gives channels %d and %d one meaning",
                                      channels.size(), told[place]->channel, k.channel));
        told[place] = &k;
    }
    std::vector<Channel> selected;
    std::vector<Component> components;
    for (const ChannelDefinition *k : told) {
        if (!k) continue;
        selected.push_back(channels[k->channel]);
        components.push_back(d.components[k->channel]);
    }
    const bool is_gray = told[0] && !told[1] && !told[2], is_three = told[0] && told[1] && told[2];
    if (!is_gray && !is_three)
        unsupported(format_string("a picture of %zu components of which cdef names no colours", channels.size()));
    channels = std::move(selected), d.components = std::move(components);
    file.channels.clear();  // they are in their order
}

// Where components go by cdef: colours in their order, then opacity.
std::array<uint8_t, kMaxComponents> places_of(const Jp2File &file, size_t components) {
    std::array<uint8_t, kMaxComponents> places{0, 1, 2, 3}, told = places;
    uint32_t taken = 0;
    for (const ChannelDefinition &k : file.channels) {
        const bool is_colour = k.type == 0 && k.association >= 1;
        const size_t place = is_colour ? k.association - 1u : k.type == 1 || k.type == 2 ? components - 1 : components;
        if (k.channel >= components || place >= components) return places;
        told[k.channel] = static_cast<uint8_t>(place);
        taken |= 1u << place;
    }
    return taken == (1u << components) - 1 ? told : places;
}

// Inks become RGB pixel by pixel.
void check_inks(const Description &d) {
    for (const Component &k : d.components)
        if (k.depth != d.components[0].depth || k.dx != d.components[0].dx || k.dy != d.components[0].dy)
            unsupported("a usual format for inks of different depths or samplings");
}

// FFmpeg's formats have one sampling for both chroma components, and that of the first one for the others.
void check_usual(const CudaencFormat &f) {
    const auto is_as = [&](int c, int other) {
        return f.component[c].log2_subsample_x == f.component[other].log2_subsample_x &&
               f.component[c].log2_subsample_y == f.component[other].log2_subsample_y;
    };
    const bool first_is_whole = !f.component[0].log2_subsample_x && !f.component[0].log2_subsample_y;
    if (!first_is_whole || (f.components == 2 && !is_as(1, 0)) || (f.components > 2 && !is_as(2, 1)) ||
        (f.components == 4 && !is_as(3, 0)))
        unsupported("a usual format for components of these samplings");
}

CudaencFormat make_format(const Description &d, const Jp2File &file, const std::array<uint8_t, kMaxComponents> &places,
                          const DecoderOptions &options, const Area &area) {
    CudaencFormat f{};
    f.color_model = color_model_of(d, file);
    if (f.color_model == CUDAENC_COLOR_CMYK && options.usual_format) {
        check_inks(d);
        f.color_model = CUDAENC_COLOR_RGB;
    }
    const auto by_dx = [](const Component &a, const Component &b) { return a.dx < b.dx; };
    const auto by_dy = [](const Component &a, const Component &b) { return a.dy < b.dy; };
    const int dx = std::ranges::min_element(d.components, by_dx)->dx,
              dy = std::ranges::min_element(d.components, by_dy)->dy;
    f.components = f.planes = static_cast<int>(d.components.size());
    f.has_alpha = f.components == 2 || (f.components == 4 && f.color_model != CUDAENC_COLOR_CMYK);
    f.full_range = f.color_model != CUDAENC_COLOR_YUV;  // not told, which is taken for limited
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    if (f.color_model == CUDAENC_COLOR_RGB) f.color_matrix = 0;
    bool deep = false;
    for (const Component &k : d.components) {
        if (k.depth > 16) unsupported(format_string("a component of %d bits", k.depth));
        deep |= k.depth > 8;
    }
    for (size_t c = 0; c < d.components.size(); c++) {
        const Component &from = d.components[c];
        // With alpha there are few formats of a depth of their own.
        const bool whole_word =
            from.depth == 10 || (!f.has_alpha && (from.depth == 9 || from.depth == 12 || from.depth == 14));
        f.component[places[c]] = {.plane = places[c],
                                  .offset = 0,
                                  .step = deep ? 2 : 1,
                                  .shift = deep ? (whole_word ? 0 : 16 - from.depth) : 8 - from.depth,
                                  .depth = from.depth,
                                  .log2_subsample_x = log2_subsample(from.dx, dx),
                                  .log2_subsample_y = log2_subsample(from.dy, dy)};
        const Extent e = component_extent(from, area, options.lowres);
        if (from.dx == dx) f.width = std::max(f.width, e.width());
        if (from.dy == dy) f.height = std::max(f.height, e.height());
    }
    if (f.color_model == CUDAENC_COLOR_XYZ && options.usual_format) {  // xyz12 is packed, in the highest bits
        if (f.component[0].depth != 12) unsupported(format_string("a format of XYZ of %d bits", f.component[0].depth));
        f.planes = 1;
        for (int c = 0; c < 3; c++)
            f.component[c].plane = 0, f.component[c].offset = 2 * c, f.component[c].step = 6, f.component[c].shift = 4;
    }
    // A format's words have one alignment.
    for (int c = 1; c < f.components; c++)
        if (deep && d.components[static_cast<size_t>(c)].depth != d.components[0].depth)
            for (int k = 0; k < f.components; k++) f.component[k].shift = 16 - f.component[k].depth;
    if (f.components == 2 && options.usual_format) {  // gray and alpha are packed
        f.planes = 1;
        for (int c = 0; c < 2; c++) {
            CudaencComponent &k = f.component[c];
            k.plane = 0, k.offset = c * k.step, k.step *= 2, k.shift = (deep ? 16 : 8) - k.depth;
        }
    }
    for (size_t c = 0; c < d.components.size(); c++) {
        const Extent e = component_extent(d.components[c], area, options.lowres);
        const CudaencComponent &k = f.component[places[c]];
        if (options.region.x % (1 << k.log2_subsample_x) || options.region.y % (1 << k.log2_subsample_y))
            unsupported(format_string("a region from %d, %d on where component %zu has every %d. column, every %d. row",
                                      options.region.x, options.region.y, c, 1 << k.log2_subsample_x,
                                      1 << k.log2_subsample_y));
        if (e.width() != ceil_shift(f.width, k.log2_subsample_x) ||
            e.height() != ceil_shift(f.height, k.log2_subsample_y))
            unsupported(format_string("component %zu of %d x %d samples in a picture of %d x %d", c, e.width(),
                                      e.height(), f.width, f.height));
        if (!e.width() || !e.height()) unsupported(format_string("component %zu without samples", c));
    }
    check_format(f, std::numeric_limits<int>::max(), CUDAENC_COLOR_YCCK);
    if (options.usual_format) check_usual(f);
    return f;
}

}  // namespace

Region parse_region(const char *text) {
    Region r;
    if (!text || !*text) return r;
    int used = 0;
    if (std::sscanf(text, "%d,%d,%d,%d%n", &r.x, &r.y, &r.width, &r.height, &used) != 4 || text[used] || r.x < 0 ||
        r.y < 0 || r.width < 1 || r.height < 1)
        refuse(format_string("region '%s' is not allowed: it is X,Y,WIDTH,HEIGHT", text));
    return r;
}

std::vector<int> parse_channels(const char *text) {
    std::vector<int> channels;
    if (!text || !*text) return channels;
    const char *at = text;
    for (bool more = true; more && channels.size() <= kMaxComponents;) {
        int channel = -1, used = 0;
        if (*at < '0' || *at > '9' || std::sscanf(at, "%5d%n", &channel, &used) != 1 || channel > 16383) break;
        channels.push_back(channel);
        at += used;
        more = *at == ',';
        if (more) at++;
        if (!more && !*at && channels.size() <= kMaxComponents) return channels;
    }
    refuse(format_string("channels '%s' is not allowed: it is C,C,..., one to four channels from 0 on", text));
}

WantedPackets wanted_packets(const DecoderOptions &options) {
    return {.lowres = options.lowres, .layers = options.layers ? static_cast<uint32_t>(options.layers) : ~0u};
}

void check_codestream(const Description &d, size_t bytes, const DecoderOptions &options) {
    check_pixels(area_of(d, options.region), options);
    for (const Component &k : d.components)
        if (k.depth > 16) unsupported(format_string("a component of %d bits", k.depth));
    check_coding(d, d.components.size(), options);
    for (const auto &[tile, coding] : d.own_coding) check_coding(coding, d.components.size(), options);
    check_counts(d, bytes);
}

Geometry make_decoder_geometry(const Description &d, size_t bytes, const DecoderOptions &options) {
    check_codestream(d, bytes, options);
    return make_geometry(d, tiles_of(d, area_of(d, options.region)));
}

ChannelLayout channel_layout(const CudaencFormat &format, const Channel &channel, uint8_t *plane, int64_t stride,
                             const DecoderOptions &options) {
    const CudaencComponent &to = format.component[channel.place];
    const bool flips = options.usual_format && channel.is_signed, has_palette = !channel.values.empty();
    return {.data = plane + to.offset,
            .stride = stride,
            .step = to.step,
            .shift = to.shift,
            .depth = to.depth,
            .flipped = flips ? 1u << (to.depth - 1) : 0,
            .values = has_palette ? channel.values.data() : nullptr,
            .last_value = has_palette ? static_cast<int32_t>(channel.values.size() - 1) : 0};
}

InkPlanes ink_planes(const CudaencFormat &format, const std::array<uint8_t *, 4> &planes,
                     const std::array<int64_t, 4> &strides) {
    InkPlanes inks{.data = {},
                   .stride = {},
                   .width = format.width,
                   .height = format.height,
                   .depth = format.component[0].depth,
                   .shift = format.component[0].shift};
    for (size_t i = 0; i < planes.size(); i++) inks.data[i] = planes[i], inks.stride[i] = strides[i];
    return inks;
}

std::string damage_of_blocks(size_t damaged) {
    return damaged ? format_string("JPEG 2000: %zu code-blocks are damaged", damaged) : std::string{};
}

std::unique_ptr<PictureHeader> read_header(std::span<const uint8_t> packet, const DecoderOptions &options) {
    Jp2File file = read_jp2(packet);
    if (file.codestream.empty()) throw Error(CUDAENC_ERR_INVALID, "JPEG 2000: this is neither a codestream nor a file");
    const Description coded = read_headers(file.codestream);
    const Area area = area_of(coded, options.region);
    check_pixels(area, options);
    auto header = std::make_unique<Header>();
    // What follows may be of another picture with the same headers.
    header->size = static_cast<size_t>(file.codestream.data() - packet.data()) + coded.coded_tile_parts.front().begin;
    Description d = map_channels(coded, file, header->channels);
    if (!options.channels.empty())
        choose_channels(d, file, header->channels, options.channels);
    else if (d.components.size() > kMaxComponents)
        select_channels(d, file, header->channels);
    const std::array<uint8_t, kMaxComponents> places = places_of(file, d.components.size());
    CudaencPictureInfo &info = header->info;
    info.format = make_format(d, file, places, options, area);
    DecoderOptions whole = options;
    whole.lowres = 0, whole.region = {};
    const CudaencFormat before = make_format(d, file, places, whole, area_of(coded, {}));
    info.width = before.width, info.height = before.height;
    header->has_inks = color_model_of(d, file) == CUDAENC_COLOR_CMYK && options.usual_format;
    if (header->has_inks) header->loss = "CMYK becomes RGB, black is multiplied in: inks are not kept";
    info.sample_aspect_num = static_cast<int>(file.sample_aspect_num);
    info.sample_aspect_den = static_cast<int>(file.sample_aspect_den);
    info.orientation = Exif(file.exif).orientation();
    info.exif = file.exif.empty() ? nullptr : file.exif.data();
    info.exif_size = file.exif.size();
    for (size_t c = 0; c < header->channels.size(); c++) {
        header->channels[c].place = places[c];
        info.is_signed[places[c]] = d.components[c].is_signed && !options.usual_format;
    }
    header->icc_profile.assign(file.icc_profile.begin(), file.icc_profile.end());
    info.icc_profile = header->icc_profile.empty() ? nullptr : header->icc_profile.data();
    info.icc_profile_size = header->icc_profile.size();
    return header;
}

size_t picture_size(std::span<const uint8_t> packet) {
    const Jp2File file = read_jp2(packet);
    if (file.codestream.empty()) return 0;
    if (file.is_file) return packet.size();
    try {
        const std::span<const uint8_t> rest =
            file.codestream.subspan(read_headers(file.codestream).coded_tile_parts.back().end);
        const bool has_eoc = rest.size() >= 2 && rest[0] == kEoc >> 8 && rest[1] == (kEoc & 0xFF);
        return static_cast<size_t>(rest.data() - packet.data()) + (has_eoc ? 2 : 0);
    } catch (const Error &) {
        return packet.size();
    }
}

bool has_two_fields(std::span<const uint8_t> packet) {
    const size_t first = picture_size(packet);
    return first && first < packet.size();
}

}  // namespace cudaenc::j2k
