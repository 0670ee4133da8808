// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jp2_colour.h"

#include <cmath>

#include "../bytes.h"
#include "../error.h"
#include "primaries.h"
#include "xyz_tables.h"

namespace cudaenc::j2k {

namespace {

constexpr double kD50[3] = {0.9642, 1, 0.8249};  // ICC.1 6.3.4.3

// Bradford's cone responses, by which colours adapt to D50 (ICC.1 Annex E).
constexpr double kBradford[3][3] = {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}};
constexpr double kInverse[3][3] = {
    {0.9869929, -0.1470543, 0.1599627}, {0.4323053, 0.5183603, 0.0492912}, {-0.0085287, 0.0400428, 0.9684867}};

void apply(const double (&m)[3][3], const double (&v)[3], double (&to)[3]) {
    for (int i = 0; i < 3; i++) to[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
}

void put_fixed(Bytes &out, double x) {
    out.put32(static_cast<uint32_t>(static_cast<int32_t>(std::floor(x * 65536 + 0.5))));
}

void put_xyz(Bytes &out, const double (&v)[3]) {
    out.put_text("XYZ "), out.put32(0);
    for (const double x : v) put_fixed(out, x);
}

// A profile of three components with a matrix and one curve for all (ICC.1:1998-09, as T.800 I.5.3.3 restricts it).
// gamma: of the curve, 0: that of sRGB.
std::vector<uint8_t> matrix_profile(const Chromaticities &xy, double gamma) {
    constexpr uint32_t kEntries = 1024;  // of a curve that is no power
    const uint32_t curve = 12 + 2 * (gamma > 0 ? 1 : kEntries);
    constexpr const char *kText = "cudaenc";
    constexpr const char *kTags[] = {"desc", "cprt", "wtpt", "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"};
    const uint32_t sizes[] = {98, 16, 20, 20, 20, 20, curve, curve, curve};  // of their data, which is padded to four
    constexpr uint32_t kCount = 9, kCurve = 6;
    uint32_t at[kCount], size = 128 + 4 + 12 * kCount;
    for (uint32_t i = 0; i < kCount; i++) {
        at[i] = i > kCurve ? at[kCurve] : size;  // one curve for all
        if (i <= kCurve) size += (sizes[i] + 3) / 4 * 4;
    }
    Bytes out;
    out.put32(size), out.put32(0), out.put32(0x02200000);
    out.put_text("scnrRGB XYZ ");
    for (const int x : {1998, 9, 1, 0, 0, 0}) out.put16(static_cast<uint32_t>(x));
    out.put_text("acsp");
    for (int i = 0; i < 7; i++) out.put32(0);
    for (const double x : kD50) put_fixed(out, x);
    out.data.resize(128);
    out.put32(kCount);
    for (uint32_t i = 0; i < kCount; i++) out.put_text(kTags[i]), out.put32(at[i]), out.put32(sizes[i]);

    out.put_text("desc"), out.put32(0), out.put32(8), out.put_text(kText);
    out.data.resize(at[1]);
    out.put_text("text"), out.put32(0), out.put_text(kText);
    out.data.resize(at[2]);
    const double white[3] = {xy[6] / xy[7], 1, (1 - xy[6] - xy[7]) / xy[7]};
    put_xyz(out, white);
    double cone[3], wanted[3];
    apply(kBradford, white, cone), apply(kBradford, kD50, wanted);
    const Matrix rgb = rgb_to_xyz(xy);
    double sum[3] = {};
    for (size_t i = 0; i < 3; i++) {
        const double primary[3] = {rgb[0][i], rgb[1][i], rgb[2][i]};
        double response[3], adapted[3];
        apply(kBradford, primary, response);
        for (int k = 0; k < 3; k++) response[k] *= wanted[k] / cone[k];
        apply(kInverse, response, adapted);
        for (int k = 0; k < 3; k++) {
            if (i == 2) adapted[k] = kD50[k] - sum[k];  // white is D50 to the last bit
            adapted[k] = std::floor(adapted[k] * 65536 + 0.5) / 65536;
            sum[k] += adapted[k];
        }
        put_xyz(out, adapted);
    }
    out.put_text("curv"), out.put32(0), out.put32(gamma > 0 ? 1 : kEntries);
    if (gamma > 0) out.put16(static_cast<uint32_t>(gamma * 256 + 0.5));
    for (uint32_t i = 0; gamma <= 0 && i < kEntries; i++)
        out.put16(static_cast<uint32_t>(65535 * light_of(CUDAENC_XYZ_SRGB, i / (kEntries - 1.0)) + 0.5));
    out.data.resize(size);
    return std::move(out.data);
}

// Of H.273 Table 3, as displays have it; 0: the curve of sRGB.
std::optional<double> gamma_of(int transfer) {
    switch (transfer) {
        case 1:
        case 6:
        case 7:
        case 14:
        case 15:
            return 2.4;
        case 4:
            return 2.2;
        case 5:
            return 2.8;
        case 8:
            return 1;
        case 2:
        case 13:
            return 0;
        case 17:
            return 2.6;
    }
    return std::nullopt;
}

bool is_srgb(const CudaencFormat &f) {
    const auto one_of = [](int value, std::initializer_list<int> of) {
        for (const int x : of)
            if (value == x) return true;
        return false;
    };
    // Video of BT.709 and BT.601 is shown as sRGB is.
    return one_of(f.color_primaries, {1, 2}) && one_of(f.color_transfer, {1, 2, 6, 13});
}

}  // namespace

Jp2Colour jp2_colour(const CudaencFormat &f, CudaencColorModel model) {
    Jp2Colour colour{.enumerated = 16, .icc = {}, .untrue = {}};
    const auto say = [&](const std::string &what) { colour.untrue += (colour.untrue.empty() ? "" : ", ") + what; };
    if (model == CUDAENC_COLOR_XYZ) {
        say("XYZ");
        return colour;
    }
    if (model != CUDAENC_COLOR_RGB) {
        colour.enumerated = model == CUDAENC_COLOR_GRAY ? 17 : 18;
        if (!f.full_range) say("limited range");
        if (model == CUDAENC_COLOR_YUV && f.color_matrix != 2 && f.color_matrix != 5 && f.color_matrix != 6)
            say(format_string("colour matrix %d", f.color_matrix));
    }
    if (is_srgb(f)) return colour;
    const std::optional<double> gamma = gamma_of(f.color_transfer);
    const auto xy = chromaticities(f.color_primaries == 2 ? 1 : f.color_primaries);
    if (model == CUDAENC_COLOR_RGB && xy && gamma)
        colour.icc = matrix_profile(*xy, *gamma);
    else
        say(format_string("colour primaries %d with transfer %d", f.color_primaries, f.color_transfer));
    return colour;
}

}  // namespace cudaenc::j2k
