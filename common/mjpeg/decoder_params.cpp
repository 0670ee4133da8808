// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoder_params.h"

#include <algorithm>

#include "../error.h"

namespace cudaenc::mjpeg {

namespace {

// Lossless coding without sub-sampling is of RGB where Adobe's marker tells nothing else, as in FFmpeg, which marks its
// own as JFIF.
bool is_lossless_rgb(const CodedStream &s) {
    return s.lossless && s.max_h == 1 && s.max_v == 1 && s.components.size() >= 3 && s.metadata.adobe_transform <= 0;
}

// T.871, T.872 6.5.3: JFIF knows no RGB; else Adobe's marker tells; without either the identifiers do, as in libjpeg.
bool is_rgb(const CodedStream &s) {
    if (is_lossless_rgb(s)) return true;
    if (s.metadata.jfif) return false;
    if (s.metadata.adobe_transform >= 0) return s.metadata.adobe_transform == 0;
    return s.components[0].id == 'R' && s.components[1].id == 'G' && s.components[2].id == 'B';
}

CudaencColorModel color_model_of(const CodedStream &s) {
    switch (s.components.size()) {
        case 1:
            return CUDAENC_COLOR_GRAY;
        case 3:
            return is_rgb(s) ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV;
        case 4:
            if (s.lossless && s.metadata.adobe_transform < 0) return CUDAENC_COLOR_RGB;  // and alpha
            // Adobe's 1, too, which is none of four components.
            return s.metadata.adobe_transform > 0 ? CUDAENC_COLOR_YCCK : CUDAENC_COLOR_CMYK;
    }
    throw Error(CUDAENC_ERR_UNSUPPORTED,
                format_string("JPEG: a picture of %zu components is not supported", s.components.size()));
}

// How often the largest sampling factor is divided by 2 to get another.
int log2_subsample(int factor, int max_factor) {
    int log2 = 0;
    while (factor << log2 < max_factor) log2++;
    if (factor << log2 != max_factor)
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    format_string("JPEG: sampling factors of %d and %d are not supported", max_factor, factor));
    return log2;
}

// Chroma of YUV that FFmpeg has a format for.
bool is_usual(int log2_x, int log2_y, bool deep) {
    if (log2_x == 0 && log2_y == 0) return true;
    if (log2_x == 1 && log2_y <= 1) return true;
    return !deep && ((log2_x == 0 && log2_y == 1) || (log2_x == 2 && log2_y == 0) || (log2_x == 2 && log2_y == 2));
}

// The nearest usual format that holds all samples, and what leads there. Throws Error, CUDAENC_ERR_UNSUPPORTED.
Upsampling make_usual(CudaencFormat &f) {
    Upsampling u{};
    const bool deep = f.component[0].depth > 8;
    int x = 0, y = 0;  // of chroma
    if (f.color_model == CUDAENC_COLOR_YUV) {
        x = std::min(f.component[1].log2_subsample_x, f.component[2].log2_subsample_x);
        y = std::min(f.component[1].log2_subsample_y, f.component[2].log2_subsample_y);
        while (!is_usual(x, y, deep)) x >= y ? x-- : y--;
    }
    for (int c = 0; c < f.components; c++) {
        CudaencComponent &k = f.component[c];
        const bool chroma = c == 1 || c == 2;
        u.double_x[c] = static_cast<uint8_t>(k.log2_subsample_x - (chroma ? x : 0));
        u.double_y[c] = static_cast<uint8_t>(k.log2_subsample_y - (chroma ? y : 0));
        k.log2_subsample_x = chroma ? x : 0, k.log2_subsample_y = chroma ? y : 0;
    }
    if (f.color_model == CUDAENC_COLOR_CMYK || f.color_model == CUDAENC_COLOR_YCCK) {
        u.inks = f.color_model == CUDAENC_COLOR_CMYK ? Inks::cmyk : Inks::ycck;
        f.color_model = f.color_model == CUDAENC_COLOR_CMYK ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV;
        f.has_alpha = 1;
        if (u.inks == Inks::cmyk) f.color_matrix = 0;
    }
    if (deep && u.any())
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    u.inks != Inks::none
                        ? "JPEG: a usual format for CMYK and YCCK of more than 8 bits is not supported"
                        : "JPEG: a usual format for this sampling of components of more than 8 bits is not supported");
    return u;
}

// The same for R, G and B of Y, Cb and Cr. Gray and RGB stay.
Upsampling make_rgb(CudaencFormat &f) {
    Upsampling u{};
    if (f.color_model == CUDAENC_COLOR_GRAY || f.color_model == CUDAENC_COLOR_RGB) return u;
    if (f.color_model != CUDAENC_COLOR_YUV || !f.full_range || f.component[0].depth > 8)
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    "JPEG: rgb of CMYK and YCCK, of a limited range and of more than 8 bits is not supported");
    u.rgb = true;
    for (int c = 0; c < f.components; c++) {
        CudaencComponent &k = f.component[c];
        u.double_x[c] = static_cast<uint8_t>(k.log2_subsample_x),
        u.double_y[c] = static_cast<uint8_t>(k.log2_subsample_y);
        k.log2_subsample_x = k.log2_subsample_y = 0;
    }
    f.color_model = CUDAENC_COLOR_RGB;
    f.color_matrix = 0;
    return u;
}

}  // namespace

CudaencFormat make_format(const CodedStream &s, const DecoderOptions &options) {
    if (int64_t{s.width} * s.height > options.max_pixels)
        throw Error(CUDAENC_ERR_INVALID, format_string("JPEG: %dx%d is not allowed: max_pixels is %lld", s.width,
                                                       s.height, static_cast<long long>(options.max_pixels)));
    if (s.lossless && options.lowres)
        throw Error(CUDAENC_ERR_UNSUPPORTED, "JPEG: lossless coding at a reduced size is not supported");
    const int count = static_cast<int>(s.components.size()), bytes = s.bits > 8 ? 2 : 1;
    CudaencFormat f{};
    f.color_model = color_model_of(s);
    f.width = reduced_size(s.width, options.lowres), f.height = reduced_size(s.height, options.lowres);
    f.components = f.planes = count;
    f.has_alpha = f.color_model == CUDAENC_COLOR_RGB && count == 4;
    f.full_range = !s.metadata.limited_range;
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    if (f.color_model == CUDAENC_COLOR_RGB) f.color_matrix = 0;
    if (f.color_model == CUDAENC_COLOR_YUV || f.color_model == CUDAENC_COLOR_YCCK) f.color_matrix = 5;  // T.871: BT.601
    for (int c = 0; c < count; c++) {
        const StreamComponent &from = s.components[static_cast<size_t>(c)];
        CudaencComponent &k = f.component[c];
        k = {.plane = c,
             .offset = 0,
             .step = bytes,
             .shift = 8 * bytes - s.bits,
             .depth = s.bits,
             .log2_subsample_x = 0,
             .log2_subsample_y = 0};
        k.log2_subsample_x = log2_subsample(from.h, s.max_h);
        k.log2_subsample_y = log2_subsample(from.v, s.max_v);
    }
    return f;
}

std::unique_ptr<PictureHeader> read_header(std::span<const uint8_t> packet, const DecoderOptions &options) {
    auto header = std::make_unique<Header>(packet);
    const CodedStream &stream = header->reader.headers();
    const StreamMetadata &m = stream.metadata;
    header->size = header->reader.header_size();
    for (const std::span<const uint8_t> chunk : m.icc_chunks)
        header->icc_profile.insert(header->icc_profile.end(), chunk.begin(), chunk.end());
    CudaencPictureInfo &info = header->info;
    info.width = stream.width, info.height = stream.height;
    info.format = make_format(stream, options);
    if (options.usual_format) header->upsampling = make_usual(info.format);
    if (options.rgb) header->upsampling = make_rgb(info.format);
    if (header->upsampling.inks != Inks::none)
        header->loss = "CMYK and YCCK become RGB and YUV with alpha, black is multiplied in: inks are not kept";
    info.sample_aspect_num = m.density_num, info.sample_aspect_den = m.density_den;
    info.orientation = m.orientation;
    info.exif = m.exif.empty() ? nullptr : m.exif.data();
    info.exif_size = m.exif.size();
    info.icc_profile = header->icc_profile.empty() ? nullptr : header->icc_profile.data();
    info.icc_profile_size = header->icc_profile.size();
    return header;
}

ScanLayout make_scan_layout(const CodedStream &stream, const StreamScan &scan) {
    ScanLayout layout{};
    layout.count = scan.count;
    for (int i = 0; i < scan.count; i++) {
        const StreamComponent &c = stream.components[static_cast<size_t>(scan.component[i])];
        const bool alone = scan.count == 1;
        layout.component[i] = scan.component[i];
        layout.blocks[i] = {.h = alone ? 1 : c.h, .v = alone ? 1 : c.v, .columns = c.columns, .rows = c.rows};
        layout.mcu_blocks += layout.blocks[i].h * layout.blocks[i].v;
        layout.grid.mcus_x = alone ? c.columns : c.mcu_columns / c.h;
        layout.grid.mcus_y = alone ? c.rows : c.mcu_rows / c.v;
    }
    layout.grid.restart_interval = scan.restart_interval;
    layout.grid.by_mcus_x = Divider(layout.grid.mcus_x);
    return layout;
}

}  // namespace cudaenc::mjpeg
