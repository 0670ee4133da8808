// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jp2_colour.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "../bytes.h"
#include "../error.h"
#include "transform/primaries.h"
#include "transform/xyz_tables.h"

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

// What tags of a profile point to, one behind the other, each padded to four bytes.
class TagData {
  public:
    // put(out): appends a tag's data.
    template <class Put>
    void add(const Put &put) {
        const size_t begin = bytes.data.size();
        put(bytes);
        ranges.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(bytes.data.size() - begin)});
        bytes.data.resize((bytes.data.size() + 3) / 4 * 4);
    }
    void add_texts() {
        add([](Bytes &out) {
            out.put_text("desc"), out.put32(0), out.put32(8), out.put_text(kText);
            out.data.resize(out.data.size() + 98 - 12 - std::strlen(kText));
        });
        add([](Bytes &out) {
            out.put_text("text"), out.put32(0), out.put_text(kText);
            out.data.push_back(0);
        });
    }
    void add_xyz(const double (&v)[3]) {
        add([&](Bytes &out) {
            out.put_text("XYZ "), out.put32(0);
            for (const double x : v) put_fixed(out, x);
        });
    }
    // gamma 0: the curve of sRGB.
    void add_curve(double gamma) {
        add([&](Bytes &out) {
            constexpr uint32_t kEntries = 1024;  // of a curve that is no power
            out.put_text("curv"), out.put32(0), out.put32(gamma > 0 ? 1 : kEntries);
            if (gamma > 0) out.put16(static_cast<uint32_t>(gamma * 256 + 0.5));
            for (uint32_t i = 0; gamma <= 0 && i < kEntries; i++)
                out.put16(static_cast<uint32_t>(65535 * light_of(CUDAENC_XYZ_SRGB, i / (kEntries - 1.0)) + 0.5));
        });
    }

    Bytes bytes;
    struct Range {
        uint32_t at, size;
    };
    std::vector<Range> ranges;

  private:
    static constexpr const char *kText = "cudaenc";
};

// An input profile (ICC.1:1998-09, as T.800 I.5.3.3 restricts it). space: of its samples. Tags that are more than the
// data share the last.
std::vector<uint8_t> input_profile(const char *space, std::span<const char *const> tags, const TagData &data) {
    const auto count = static_cast<uint32_t>(tags.size()), first = 128 + 4 + 12 * count;
    Bytes out;
    out.put32(first + static_cast<uint32_t>(data.bytes.data.size())), out.put32(0), out.put32(0x02200000);
    out.put_text("scnr"), out.put_text(space), out.put_text("XYZ ");
    for (const int x : {1998, 9, 1, 0, 0, 0}) out.put16(static_cast<uint32_t>(x));
    out.put_text("acsp");
    for (int i = 0; i < 7; i++) out.put32(0);
    for (const double x : kD50) put_fixed(out, x);
    out.data.resize(128);
    out.put32(count);
    for (size_t i = 0; i < tags.size(); i++) {
        const TagData::Range &of = data.ranges[std::min(i, data.ranges.size() - 1)];
        out.put_text(tags[i]), out.put32(first + of.at), out.put32(of.size);
    }
    out.put_bytes(data.bytes.data.data(), data.bytes.data.size());
    return std::move(out.data);
}

using White = double[3];
void white_of(const Chromaticities &xy, White &white) {
    white[0] = xy[6] / xy[7], white[1] = 1, white[2] = (1 - xy[6] - xy[7]) / xy[7];
}

// Of three components, with a matrix and one curve for all.
std::vector<uint8_t> matrix_profile(const Chromaticities &xy, double gamma) {
    White white;
    white_of(xy, white);
    TagData data;
    data.add_texts();
    data.add_xyz(white);
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
        data.add_xyz(adapted);
    }
    data.add_curve(gamma);
    constexpr const char *kTags[] = {"desc", "cprt", "wtpt", "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"};
    return input_profile("RGB ", kTags, data);
}

// Of grey.
std::vector<uint8_t> curve_profile(const Chromaticities &xy, double gamma) {
    White white;
    white_of(xy, white);
    TagData data;
    data.add_texts();
    data.add_xyz(white);
    data.add_curve(gamma);
    constexpr const char *kTags[] = {"desc", "cprt", "wtpt", "kTRC"};
    return input_profile("GRAY", kTags, data);
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
    else if (model == CUDAENC_COLOR_GRAY && xy && gamma)
        colour.icc = curve_profile(*xy, *gamma);
    else
        say(format_string("colour primaries %d with transfer %d", f.color_primaries, f.color_transfer));
    return colour;
}

}  // namespace cudaenc::j2k
