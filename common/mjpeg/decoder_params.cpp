// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decoder_params.h"

#include <algorithm>

#include "../error.h"
#include "../planes.h"

namespace cudaenc::mjpeg {

namespace {

// T.872 6.5.3; without Adobe's marker the identifiers tell, as in libjpeg and FFmpeg.
bool is_rgb(const CodedStream &s) {
    if (s.metadata.adobe_transform >= 0) return s.metadata.adobe_transform == 0;
    return !s.metadata.jfif && s.components[0].id == 'R' && s.components[1].id == 'G' && s.components[2].id == 'B';
}

CudaencColorModel color_model_of(const CodedStream &s) {
    switch (s.components.size()) {
        case 1:
            return CUDAENC_COLOR_GRAY;
        case 3:
            return is_rgb(s) ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV;
        case 4:
            if (s.metadata.adobe_transform == 0) return CUDAENC_COLOR_CMYK;
            if (s.metadata.adobe_transform == 2) return CUDAENC_COLOR_YCCK;
            throw Error(CUDAENC_ERR_UNSUPPORTED,
                        "JPEG: a picture of 4 components without Adobe's marker of CMYK or YCCK is not supported");
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

}  // namespace

CudaencFormat make_format(const CodedStream &s, const DecoderOptions &options) {
    if (int64_t{s.width} * s.height > options.max_pixels)
        throw Error(CUDAENC_ERR_INVALID, format_string("JPEG: %dx%d is not allowed: max_pixels is %lld", s.width,
                                                       s.height, static_cast<long long>(options.max_pixels)));
    const int count = static_cast<int>(s.components.size());
    CudaencFormat f{};
    f.color_model = color_model_of(s);
    f.width = reduced_size(s.width, options.lowres), f.height = reduced_size(s.height, options.lowres);
    f.components = f.planes = count;
    f.full_range = !s.metadata.limited_range;
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    if (f.color_model == CUDAENC_COLOR_RGB) f.color_matrix = 0;
    if (f.color_model == CUDAENC_COLOR_YUV || f.color_model == CUDAENC_COLOR_YCCK) f.color_matrix = 5;  // T.871: BT.601
    for (int c = 0; c < count; c++) {
        const StreamComponent &from = s.components[static_cast<size_t>(c)];
        CudaencComponent &k = f.component[c];
        k = {.plane = c, .offset = 0, .step = 1, .shift = 0, .depth = 8, .log2_subsample_x = 0, .log2_subsample_y = 0};
        k.log2_subsample_x = log2_subsample(from.h, s.max_h);
        k.log2_subsample_y = log2_subsample(from.v, s.max_v);
    }
    return f;
}

void check_planes(const CudaencFormat &format, const CudaencCodedPicture &picture) {
    for (int i = 0; i < format.planes; i++) {
        if (!picture.planes[i])
            throw Error(CUDAENC_ERR_INVALID,
                        format_string("planes[%d] is NULL: a picture of %d planes fills it", i, format.planes));
        check_stride(format, i, picture.stride[i]);
    }
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
