// SPDX-License-Identifier: LGPL-2.1-or-later
#include "xyz_tables.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "../../error.h"
#include "../../option_checks.h"
#include "primaries.h"

namespace cudaenc::j2k {

namespace {

// x^y of x >= 0, by additions and multiplications alone: C libraries differ in the last bits of theirs.
double power(double x, double y) {
    if (x <= 0) return 0;
    int binary;
    double m = std::frexp(x, &binary);  // 1/2 to 1
    if (m < 0.70710678118654752) m *= 2, binary--;
    constexpr double kLn2 = 0.693147180559945309417;
    const double s = (m - 1) / (m + 1), square = s * s;  // ln m = 2 artanh s, |s| < 0.172
    double series = 0;
    for (int k = 33; k > 0; k -= 2) series = series * square + 1.0 / k;
    const double exponent = y * (2 * s * series + binary * kLn2);
    const double whole = std::floor(exponent / kLn2 + 0.5), rest = exponent - whole * kLn2;
    double e = 1;
    for (int k = 20; k > 0; k--) e = 1 + e * rest / k;
    return std::ldexp(e, static_cast<int>(whole));
}

// SMPTE ST 428-1: light 1 is 52.37 cd/m2 in X'Y'Z', of which the picture's white has 48.
constexpr double kWhite = 48 / 52.37, kGamma = 2.6;

}  // namespace

double light_of(int transfer, double x) {
    switch (transfer) {
        case CUDAENC_XYZ_LINEAR:
            return x;
        case CUDAENC_XYZ_SRGB:  // IEC 61966-2-1
            return x <= 0.04045 ? x / 12.92 : power((x + 0.055) / 1.055, 2.4);
        case CUDAENC_XYZ_GAMMA_22:
            return power(x, 2.2);
        case CUDAENC_XYZ_GAMMA_24:  // BT.1886
            return power(x, 2.4);
        case CUDAENC_XYZ_GAMMA_26:  // RP 431-2
            return power(x, 2.6);
        case CUDAENC_XYZ_GAMMA_28:
            return power(x, 2.8);
        default:  // SMPTE ST 428-1
            return power(x, kGamma) / kWhite;
    }
}

namespace {

template <int octaves, class Function>
std::vector<CurvePiece> make_curve(const Curve<octaves> &, const Function &f) {
    std::vector<CurvePiece> pieces;
    const auto add = [&](double x0, double x1) {
        const double y0 = f(x0), y1 = f(x1), slope = (y1 - y0) / (x1 - x0);
        const double bulge = x0 > 0 ? (f((x0 + x1) / 2) - (y0 + y1) / 2) / 2 : 0;  // half of it lies on either side
        pieces.push_back({static_cast<float>(y0 - slope * x0 + bulge), static_cast<float>(slope)});
    };
    add(0, std::ldexp(1, -octaves));
    constexpr int kBits = Curve<octaves>::kMantissaBits, kPieces = 1 << kBits;
    for (int octave = -octaves; octave < 0; octave++)
        for (int i = kPieces; i < 2 * kPieces; i++)
            add(std::ldexp(i, octave - kBits), std::ldexp(i + 1, octave - kBits));
    pieces.push_back({static_cast<float>(f(1)), 0});
    return pieces;
}

// What a code point of H.273 Table 3 is on a display.
int transfer_of(int code_point) {
    switch (code_point) {
        case 1:
        case 6:
        case 7:
        case 14:
        case 15:
            return CUDAENC_XYZ_GAMMA_24;
        case 4:
            return CUDAENC_XYZ_GAMMA_22;
        case 5:
            return CUDAENC_XYZ_GAMMA_28;
        case 8:
            return CUDAENC_XYZ_LINEAR;
        case 13:
            return CUDAENC_XYZ_SRGB;
        case 17:
            return CUDAENC_XYZ_ST428;
    }
    refuse(format_string(
        "xyz: frames of transfer %d are not converted: xyz_transfer names another, or xyz_lut is given", code_point));
}

// K_R and K_B, H.273 Table 4.
struct Luma {
    double red, blue;
};
Luma luma_of(int code_point) {
    switch (code_point) {
        case 1:
            return {0.2126, 0.0722};
        case 4:
            return {0.30, 0.11};
        case 5:
        case 6:
            return {0.299, 0.114};
        case 7:
            return {0.212, 0.087};
        case 9:
            return {0.2627, 0.0593};
    }
    refuse(
        format_string("xyz: frames of the colour matrix %d are not converted: xyz_matrix names another", code_point));
}

// The colours of frames: what the options say, else the format, else what FFmpeg assumes.
struct Colours {
    int primaries, matrix;  // of H.273; primaries 10: XYZ
    int transfer;           // CudaencXyzTransfer
    bool full_range;
};
Colours colours_of(const CudaencFormat &format, const CudaencJ2kOptions &options, std::string &note) {
    constexpr int kPrimaries[] = {1, 12, 11, 9, 10}, kMatrices[] = {5, 1, 9};
    const bool yuv = format.color_model == CUDAENC_COLOR_YUV, lut = options.xyz_lut && *options.xyz_lut;
    std::string assumed;
    const auto choose = [&](const char *what, int code_point, int standard, const char *name) {
        if (code_point != 2) return code_point;
        assumed += format_string("%s%s %s", assumed.empty() ? "" : ", ", what, name);
        return standard;
    };
    Colours c{};
    c.primaries = options.xyz_primaries >= 0 ? kPrimaries[options.xyz_primaries]
                  : lut                      ? 12
                                             : choose("primaries", format.color_primaries, 1, "bt709");
    c.transfer = options.xyz_transfer >= 0 ? options.xyz_transfer
                 : lut                     ? CUDAENC_XYZ_GAMMA_26
                                           : transfer_of(choose("transfer", format.color_transfer, 1, "gamma24"));
    c.matrix = !yuv                      ? 0
               : options.xyz_matrix >= 0 ? kMatrices[options.xyz_matrix]
                                         : choose("matrix", format.color_matrix, 5, "bt601");
    c.full_range = options.xyz_range >= 0 ? options.xyz_range : !yuv || format.full_range;
    if (!assumed.empty())
        note = "xyz: the frames do not tell all of their colours, taken are " + assumed +
               ": xyz_primaries, xyz_transfer and xyz_matrix name others";
    return c;
}

void set_rgb(XyzConversion &x, const CudaencFormat &format, const Colours &c) {
    x.is_yuv = format.color_model == CUDAENC_COLOR_YUV;
    double scale[3];
    for (int i = 0; i < 3; i++) {
        const int depth = format.component[i].depth;
        const bool chroma = x.is_yuv && i;
        const double whole = std::ldexp(1, depth), unit = whole / 256;
        x.offset[i] = static_cast<float>(chroma ? whole / 2 : c.full_range ? 0 : 16 * unit);
        scale[i] = 1 / (c.full_range ? whole - 1 : (chroma ? 224 : 219) * unit);
    }
    if (!x.is_yuv) {
        for (int i = 0; i < 3; i++) x.to_rgb[i][i] = static_cast<float>(scale[i]);
        return;
    }
    x.log2_subsample_x = format.component[1].log2_subsample_x;
    x.log2_subsample_y = format.component[1].log2_subsample_y;
    x.chroma_scale = static_cast<float>(std::ldexp(0.5, -x.log2_subsample_x - x.log2_subsample_y));
    const Luma k = luma_of(c.matrix);
    const double green = 1 - k.red - k.blue, cb = 2 * (1 - k.blue), cr = 2 * (1 - k.red);
    for (auto &row : x.to_rgb) row[0] = static_cast<float>(scale[0]);
    x.to_rgb[0][2] = static_cast<float>(cr * scale[2]);
    x.to_rgb[1][1] = static_cast<float>(-cb * k.blue / green * scale[1]);
    x.to_rgb[1][2] = static_cast<float>(-cr * k.red / green * scale[2]);
    x.to_rgb[2][1] = static_cast<float>(cb * scale[1]);
}

// A .cube file of Adobe's: LUT_3D_SIZE, DOMAIN_MIN, DOMAIN_MAX, then lines of three values, red fastest. DaVinci
// Resolve has LUT_3D_INPUT_RANGE in place of the domain. A byte order mark may come first.
void read_cube(XyzTables &tables, const char *path) {
    const auto fail = [&](const std::string &why) {
        refuse(format_string("xyz_lut '%s' is not allowed: %s", path, why.c_str()));
    };
    std::ifstream file(path);
    if (!file) fail("it cannot be opened");
    int size = 0;
    float low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
        std::istringstream words(line);
        words.imbue(std::locale::classic());
        std::string word;
        if (!(words >> word) || word[0] == '#' || word == "TITLE") continue;
        const auto three = [&](float(&to)[3]) {
            if (!(words >> to[0] >> to[1] >> to[2])) fail("'" + line + "' has not three numbers");
        };
        if (word == "LUT_3D_SIZE") {
            if (!(words >> size) || size < 2 || size > 129) fail("LUT_3D_SIZE is 2 to 129");
        } else if (word == "DOMAIN_MIN") {
            three(low);
        } else if (word == "DOMAIN_MAX") {
            three(high);
        } else if (word == "LUT_3D_INPUT_RANGE") {
            if (!(words >> low[0] >> high[0])) fail("'" + line + "' has not two numbers");
            std::fill(low + 1, low + 3, low[0]);
            std::fill(high + 1, high + 3, high[0]);
        } else if (word[0] == '-' || word[0] == '+' || word[0] == '.' || (word[0] >= '0' && word[0] <= '9')) {
            words.seekg(0);
            float value[3];
            three(value);
            for (const float v : value) {
                if (!std::isfinite(v)) fail("'" + line + "' has a value that is no number");
                tables.cube.push_back(v);
            }
            if (tables.cube.size() > size_t{3} * 129 * 129 * 129) fail("it has more lines than 129 x 129 x 129");
        } else {
            fail("'" + word +
                 "' is not known: it is LUT_3D_SIZE, DOMAIN_MIN, DOMAIN_MAX, LUT_3D_INPUT_RANGE, TITLE or three "
                 "numbers");
        }
    }
    if (!size) fail("it has no LUT_3D_SIZE");
    const size_t count = static_cast<size_t>(size) * static_cast<size_t>(size) * static_cast<size_t>(size);
    if (tables.cube.size() != 3 * count)
        fail(format_string("it has %zu lines of values, not %zu", tables.cube.size() / 3, count));
    ColorCube &cube = tables.conversion.cube;
    cube = {.values = tables.cube.data(), .size = size, .low = {}, .scale = {}};
    for (int i = 0; i < 3; i++) {
        if (!(high[i] > low[i]) || !std::isfinite(high[i] - low[i])) fail("its domain ends where it begins, or before");
        cube.low[i] = low[i];
        cube.scale[i] = static_cast<float>((size - 1) / (static_cast<double>(high[i]) - low[i]));
    }
}

}  // namespace

bool can_become_xyz(const CudaencFormat &format) {
    return format.components == 3 &&
           (format.color_model == CUDAENC_COLOR_RGB || format.color_model == CUDAENC_COLOR_YUV);
}

std::shared_ptr<const XyzTables> make_xyz_tables(const CudaencFormat &format, const CudaencJ2kOptions &options,
                                                 std::string &note) {
    const auto &k = format.component;
    if (!can_become_xyz(format)) refuse("xyz 1 is not allowed: it takes RGB and YUV without alpha");
    if (k[1].log2_subsample_x != k[2].log2_subsample_x || k[1].log2_subsample_y != k[2].log2_subsample_y ||
        k[0].log2_subsample_x || k[0].log2_subsample_y)
        refuse("xyz 1 is not allowed: chroma of different sizes");
    const auto tables = std::make_shared<XyzTables>();
    XyzConversion &x = tables->conversion;
    const Colours c = colours_of(format, options, note);
    set_rgb(x, format, c);
    tables->to_light = make_curve(x.to_light, [&](double v) { return light_of(c.transfer, v); });
    tables->to_code = make_curve(x.to_code, [](double v) { return ((1 << kXyzDepth) - 1) * power(v, 1 / kGamma); });
    x.to_light.piece = tables->to_light.data();
    x.to_code.piece = tables->to_code.data();
    Matrix xyz{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (c.primaries != 10) {
        const auto xy = chromaticities(c.primaries);
        if (!xy)
            refuse(format_string("xyz: frames of colour primaries %d are not converted: xyz_primaries names others",
                                 c.primaries));
        xyz = rgb_to_xyz(*xy);
    }
    for (size_t row = 0; row < 3; row++)
        for (size_t i = 0; i < 3; i++) x.to_xyz[row][i] = static_cast<float>(xyz[row][i] * kWhite);
    if (options.xyz_lut && *options.xyz_lut) read_cube(*tables, options.xyz_lut);
    return tables;
}

}  // namespace cudaenc::j2k
