// SPDX-License-Identifier: LGPL-2.1-or-later
#include "option_checks.h"

#include <algorithm>
#include <cstring>

#include "abi.h"
#include "error.h"
#include "planes.h"

namespace cudaenc {

void refuse(const std::string &message) {
    std::string line = message;  // texts of the caller's are in it, newlines too
    std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, '?');
    throw Error(CUDAENC_ERR_INVALID, line);
}

void check_range(const char *name, int value, int low, int high) {
    if (value < low || value > high)
        refuse(format_string("%s %d is not allowed: it is %d to %d", name, value, low, high));
}

void check_struct_size(const char *name, size_t size, size_t least) {
    if (size < least || size > kLargestStruct)
        refuse(format_string("struct_size %zu of %s is not allowed: it is sizeof the caller's, at least %zu", size,
                             name, least));
}

void check_unknown(const char *name, const void *of, size_t from, size_t to) {
    const uint8_t *bytes = static_cast<const uint8_t *>(of);
    if (from < to && std::any_of(bytes + from, bytes + to, [](uint8_t byte) { return byte; }))
        refuse(format_string("%s has members that libcudaenc %d.%d.%d does not know, and they are not 0", name,
                             CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR, CUDAENC_VERSION_PATCH));
}

std::string comment_of(const char *comment, size_t longest) {
    const std::string text = comment ? comment
                                     : format_string("cudaenc %d.%d.%d", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR,
                                                     CUDAENC_VERSION_PATCH);
    if (text.size() > longest)
        refuse(format_string("comment of %zu bytes is not allowed: it has at most %zu", text.size(), longest));
    return text;
}

void check_size(int width, int height, int largest_side) {
    if (width < 1 || height < 1 || width > largest_side || height > largest_side)
        refuse(format_string("picture size %dx%d is not allowed: each side is 1 to %d", width, height, largest_side));
}

void check_format(const CudaencFormat &format, int largest_side, CudaencColorModel last, int most) {
    check_size(format.width, format.height, largest_side);
    const bool alike = format.components > kDescribedComponents;
    if (format.components < 1 || format.components > most || format.planes < 1 ||
        (alike ? format.planes != format.components : format.planes > kDescribedComponents))
        refuse(format_string("a format of %d components in %d planes is not allowed: both are 1 to 4%s",
                             format.components, format.planes,
                             most > kDescribedComponents ? format_string(", or alike, 5 to %d", most).c_str() : ""));
    for (const int reserved : format.reserved)
        if (reserved) refuse(format_string("reserved %d of the format is not allowed: it is 0", reserved));
    int model;  // may be anything
    std::memcpy(&model, &format.color_model, sizeof model);
    check_range("color_model", model, CUDAENC_COLOR_GRAY, last);
    check_range("has_alpha", format.has_alpha, 0, 1);
    if (format.has_alpha && format.components == 1) refuse("has_alpha 1 is not allowed with one component");
    check_range("full_range", format.full_range, 0, 1);
    check_range("is_signed", format.is_signed, 0, 1);
    if (format.is_signed && most == kDescribedComponents)
        refuse("is_signed 1 is not allowed: it is 0 with codecs other than JPEG 2000");
    check_range("color_primaries", format.color_primaries, 0, 255);
    check_range("color_transfer", format.color_transfer, 0, 255);
    check_range("color_matrix", format.color_matrix, 0, 255);
    for (int c = 0; c < (alike ? 1 : format.components); c++) {
        const CudaencComponent &s = format.component[c];
        if (alike && (s.plane || s.log2_subsample_x || s.log2_subsample_y))
            refuse(format_string(
                "component 0 of %d: plane %d, sub-sampling by 2^%d, 2^%d is not allowed: it is in plane 0, and whole",
                format.components, s.plane, s.log2_subsample_x, s.log2_subsample_y));
        if (s.depth < 1 || s.depth > 16 || s.shift < 0 || s.shift > 16 - s.depth)
            refuse(format_string("component %d: depth %d with shift %d is not allowed: together they are 1 to 16", c,
                                 s.depth, s.shift));
        if (s.plane < 0 || s.plane >= format.planes || s.offset < 0 || s.step < 1)
            refuse(format_string("component %d: plane %d, offset %d, step %d is not allowed", c, s.plane, s.offset,
                                 s.step));
        if (s.depth + s.shift > 8 && (s.offset | s.step) & 1)
            refuse(
                format_string("component %d: offset %d, step %d is not allowed: samples of two bytes lie at even ones",
                              c, s.offset, s.step));
        if (s.log2_subsample_x < 0 || s.log2_subsample_x > 3 || s.log2_subsample_y < 0 || s.log2_subsample_y > 3)
            refuse(format_string("component %d: sub-sampling by 2^%d, 2^%d is not allowed: the exponents are 0 to 3", c,
                                 s.log2_subsample_x, s.log2_subsample_y));
    }
}

}  // namespace cudaenc
