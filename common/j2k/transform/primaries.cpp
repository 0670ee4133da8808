// SPDX-License-Identifier: LGPL-2.1-or-later
#include "primaries.h"

#include <cstddef>

namespace cudaenc::j2k {

std::optional<Chromaticities> chromaticities(int code_point) {
    constexpr std::array<double, 2> kD65{0.3127, 0.3290}, kC{0.310, 0.316}, kDci{0.314, 0.351};
    const auto with = [](const std::array<double, 6> &p, const std::array<double, 2> &white) {
        return Chromaticities{p[0], p[1], p[2], p[3], p[4], p[5], white[0], white[1]};
    };
    switch (code_point) {
        case 1:
            return with({0.640, 0.330, 0.300, 0.600, 0.150, 0.060}, kD65);
        case 4:
            return with({0.67, 0.33, 0.21, 0.71, 0.14, 0.08}, kC);
        case 5:
            return with({0.64, 0.33, 0.29, 0.60, 0.15, 0.06}, kD65);
        case 6:
        case 7:
            return with({0.630, 0.340, 0.310, 0.595, 0.155, 0.070}, kD65);
        case 8:
            return with({0.681, 0.319, 0.243, 0.692, 0.145, 0.049}, kC);
        case 9:
            return with({0.708, 0.292, 0.170, 0.797, 0.131, 0.046}, kD65);
        case 11:
            return with({0.680, 0.320, 0.265, 0.690, 0.150, 0.060}, kDci);
        case 12:
            return with({0.680, 0.320, 0.265, 0.690, 0.150, 0.060}, kD65);
        case 22:
            return with({0.630, 0.340, 0.295, 0.605, 0.155, 0.077}, kD65);
    }
    return std::nullopt;
}

Matrix rgb_to_xyz(const Chromaticities &xy) {
    Matrix m;  // columns: X, Y and Z of a primary of Y = 1
    for (size_t i = 0; i < 3; i++)
        m[0][i] = xy[2 * i] / xy[2 * i + 1], m[1][i] = 1, m[2][i] = (1 - xy[2 * i] - xy[2 * i + 1]) / xy[2 * i + 1];
    const double white[3] = {xy[6] / xy[7], 1, (1 - xy[6] - xy[7]) / xy[7]};
    const auto determinant = [](const Matrix &a) {
        return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
               a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
    };
    Matrix scaled = m;  // each primary by what white takes of it: Cramer's rule
    for (size_t i = 0; i < 3; i++) {
        Matrix replaced = m;
        for (size_t k = 0; k < 3; k++) replaced[k][i] = white[k];
        const double share = determinant(replaced) / determinant(m);
        for (size_t k = 0; k < 3; k++) scaled[k][i] = m[k][i] * share;
    }
    return scaled;
}

}  // namespace cudaenc::j2k
