// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour primaries and white points, ITU-T H.273 Table 2.
#pragma once
#include <array>
#include <optional>

namespace cudaenc::j2k {

// x and y of red, green, blue and white.
using Chromaticities = std::array<double, 8>;
// nullopt: the code point names none, or XYZ.
std::optional<Chromaticities> chromaticities(int code_point);

using Matrix = std::array<std::array<double, 3>, 3>;
// Linear RGB to XYZ; white has Y = 1.
Matrix rgb_to_xyz(const Chromaticities &xy);

}  // namespace cudaenc::j2k
