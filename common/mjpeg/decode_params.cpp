// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decode_params.h"

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

}  // namespace

CudaencFormat make_format(const CodedStream &s, const DecoderOptions &options) {
    if (int64_t{s.width} * s.height > options.max_pixels)
        throw Error(CUDAENC_ERR_INVALID, format_string("JPEG: %dx%d is not allowed: max_pixels is %lld", s.width,
                                                       s.height, static_cast<long long>(options.max_pixels)));
    const int count = static_cast<int>(s.components.size());
    if (count != 1 && count != 3)
        throw Error(CUDAENC_ERR_UNSUPPORTED, format_string("JPEG: a picture of %d components is not supported", count));
    CudaencFormat f{};
    f.width = reduced_size(s.width, options.lowres), f.height = reduced_size(s.height, options.lowres);
    f.components = f.planes = count;
    f.color_model = count == 1 ? CUDAENC_COLOR_GRAY : is_rgb(s) ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV;
    f.full_range = !s.metadata.limited_range;
    f.color_primaries = f.color_transfer = 2;
    f.color_matrix = count == 1 ? 2 : f.color_model == CUDAENC_COLOR_RGB ? 0 : 5;  // T.871: BT.601
    for (int c = 0; c < count; c++) {
        const StreamComponent &from = s.components[static_cast<size_t>(c)];
        CudaencComponent &k = f.component[c];
        k = {.plane = c, .offset = 0, .step = 1, .shift = 0, .depth = 8, .log2_subsample_x = 0, .log2_subsample_y = 0};
        while (from.h << k.log2_subsample_x < s.max_h) k.log2_subsample_x++;
        while (from.v << k.log2_subsample_y < s.max_v) k.log2_subsample_y++;
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
