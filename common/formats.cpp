// SPDX-License-Identifier: LGPL-2.1-or-later
// The usual formats by name, and what their planes take.
#include <cstring>
#include <string_view>

#include "cudaenc.h"
#include "option_checks.h"
#include "planes.h"
#include "session.h"

using namespace cudaenc;

namespace {

constexpr int kLargestSide = 1 << 30;

struct NamedFormat {
    std::string_view name;
    int planes, components;
    CudaencColorModel model;
    bool has_alpha, full_range;
    int depth, shift;              // bits; depth 0: the number behind the name, or 8
    int subsample_x, subsample_y;  // log2, of chroma
    struct {
        int plane, offset, step;  // samples
    } at[4];
};
constexpr auto kGray = CUDAENC_COLOR_GRAY;
constexpr auto kRgb = CUDAENC_COLOR_RGB;
constexpr auto kYuv = CUDAENC_COLOR_YUV;
constexpr NamedFormat kFormats[] = {
    {"gray", 1, 1, kGray, false, true, 0, 0, 0, 0, {{0, 0, 1}}},
    {"rgb24", 1, 3, kRgb, false, true, 8, 0, 0, 0, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
    {"bgr24", 1, 3, kRgb, false, true, 8, 0, 0, 0, {{0, 2, 3}, {0, 1, 3}, {0, 0, 3}}},
    {"rgba", 1, 4, kRgb, true, true, 8, 0, 0, 0, {{0, 0, 4}, {0, 1, 4}, {0, 2, 4}, {0, 3, 4}}},
    {"bgra", 1, 4, kRgb, true, true, 8, 0, 0, 0, {{0, 2, 4}, {0, 1, 4}, {0, 0, 4}, {0, 3, 4}}},
    {"rgb48", 1, 3, kRgb, false, true, 16, 0, 0, 0, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
    {"rgba64", 1, 4, kRgb, true, true, 16, 0, 0, 0, {{0, 0, 4}, {0, 1, 4}, {0, 2, 4}, {0, 3, 4}}},
    {"gbrp", 3, 3, kRgb, false, true, 0, 0, 0, 0, {{2, 0, 1}, {0, 0, 1}, {1, 0, 1}}},
    {"gbrap", 4, 4, kRgb, true, true, 0, 0, 0, 0, {{2, 0, 1}, {0, 0, 1}, {1, 0, 1}, {3, 0, 1}}},
    {"yuv420p", 3, 3, kYuv, false, false, 0, 0, 1, 1, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuv422p", 3, 3, kYuv, false, false, 0, 0, 1, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuv444p", 3, 3, kYuv, false, false, 0, 0, 0, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuvj420p", 3, 3, kYuv, false, true, 8, 0, 1, 1, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuvj422p", 3, 3, kYuv, false, true, 8, 0, 1, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuvj444p", 3, 3, kYuv, false, true, 8, 0, 0, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}},
    {"yuva420p", 4, 4, kYuv, true, false, 0, 0, 1, 1, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}}},
    {"yuva422p", 4, 4, kYuv, true, false, 0, 0, 1, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}}},
    {"yuva444p", 4, 4, kYuv, true, false, 0, 0, 0, 0, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}}},
    {"nv12", 2, 3, kYuv, false, false, 8, 0, 1, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"nv16", 2, 3, kYuv, false, false, 8, 0, 1, 0, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"nv24", 2, 3, kYuv, false, false, 8, 0, 0, 0, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"p010", 2, 3, kYuv, false, false, 10, 6, 1, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"p012", 2, 3, kYuv, false, false, 12, 4, 1, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"p016", 2, 3, kYuv, false, false, 16, 0, 1, 1, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"p210", 2, 3, kYuv, false, false, 10, 6, 1, 0, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"p410", 2, 3, kYuv, false, false, 10, 6, 0, 0, {{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}},
    {"xyz12", 1, 3, CUDAENC_COLOR_XYZ, false, true, 12, 4, 0, 0, {{0, 0, 3}, {0, 1, 3}, {0, 2, 3}}},
};

// The depth that the rest of a name tells; 0: none.
int depth_of(std::string_view rest) {
    constexpr std::pair<std::string_view, int> kDepths[] = {{"", 8},    {"9", 9},   {"10", 10},
                                                            {"12", 12}, {"14", 14}, {"16", 16}};
    for (const auto &[text, depth] : kDepths)
        if (rest == text) return depth;
    return 0;
}

CudaencFormat make_format(const NamedFormat &named, int depth, int width, int height) {
    CudaencFormat format{};
    format.width = width, format.height = height;
    format.components = named.components, format.planes = named.planes;
    format.color_model = named.model;
    format.has_alpha = named.has_alpha, format.full_range = named.full_range;
    format.color_primaries = format.color_transfer = format.color_matrix = 2;
    const int bytes = depth + named.shift > 8 ? 2 : 1;
    for (int c = 0; c < named.components; c++) {
        const bool chroma = named.model == kYuv && (c == 1 || c == 2);
        format.component[c] = {.plane = named.at[c].plane,
                               .offset = named.at[c].offset * bytes,
                               .step = named.at[c].step * bytes,
                               .shift = named.shift,
                               .depth = depth,
                               .log2_subsample_x = chroma ? named.subsample_x : 0,
                               .log2_subsample_y = chroma ? named.subsample_y : 0};
    }
    return format;
}

}  // namespace

int cudaenc_format_by_name(CudaencFormat *format, const char *name, int width, int height) {
    if (format) *format = {};
    return guarded({}, {{"format", format}, {"name", name}}, [&] {
        check_size(width, height, kLargestSide);
        const std::string_view wanted = name;
        for (const NamedFormat &named : kFormats) {
            if (wanted.substr(0, named.name.size()) != named.name) continue;
            const std::string_view rest = wanted.substr(named.name.size());
            const int depth = !named.depth ? depth_of(rest) : rest.empty() ? named.depth : 0;
            if (!depth) continue;
            *format = make_format(named, depth, width, height);
            return;
        }
        refuse(format_string("format '%s' is not known: cudaenc.h has the names", name));
    });
}

int cudaenc_plane_size(const CudaencFormat *format, int plane, size_t *row_bytes, size_t *rows) {
    if (row_bytes) *row_bytes = 0;
    if (rows) *rows = 0;
    return guarded({}, {{"format", format}, {"row_bytes", row_bytes}, {"rows", rows}}, [&] {
        check_format(*format, kLargestSide, CUDAENC_COLOR_YCCK, CUDAENC_MAX_COMPONENTS);
        check_range("plane", plane, 0, format->planes - 1);
        const PlaneSize size = plane_size(*format, plane);
        *row_bytes = size.row_bytes;
        *rows = size.rows;
    });
}
