// SPDX-License-Identifier: LGPL-2.1-or-later
// The limits of levels (H.264, Annex A).
#pragma once
#include <cstdint>

namespace cudaenc::h264 {

// Tables, without level 1b, whose bit rate is too low for intra pictures.
struct Level {
    int idc;              // ten times the level
    int64_t mbps;         // MaxMBPS, macroblocks/s
    int32_t frame_size;   // MaxFS, macroblocks
    int32_t bit_rate;     // MaxBR, by cpbBrVclFactor or cpbBrNalFactor bits/s
    int32_t buffer_size;  // MaxCPB, by the same, bits
    int32_t min_cr;       // MinCR
    int32_t slice_rate;   // SliceRate; 0: none
};
inline constexpr Level kLevels[] = {
    {10, 1485, 99, 64, 175, 2, 0},
    {11, 3000, 396, 192, 500, 2, 0},
    {12, 6000, 396, 384, 1000, 2, 0},
    {13, 11880, 396, 768, 2000, 2, 0},
    {20, 11880, 396, 2000, 2000, 2, 0},
    {21, 19800, 792, 4000, 4000, 2, 0},
    {22, 20250, 1620, 4000, 4000, 2, 0},
    {30, 40500, 1620, 10000, 10000, 2, 22},
    {31, 108000, 3600, 14000, 14000, 4, 60},
    {32, 216000, 5120, 20000, 20000, 4, 60},
    {40, 245760, 8192, 20000, 25000, 4, 60},
    {41, 245760, 8192, 50000, 62500, 2, 24},
    {42, 522240, 8704, 50000, 62500, 2, 24},
    {50, 589824, 22080, 135000, 135000, 2, 24},
    {51, 983040, 36864, 240000, 240000, 2, 24},
    {52, 2073600, 36864, 240000, 240000, 2, 24},
    {60, 4177920, 139264, 240000, 240000, 2, 24},
    {61, 8355840, 139264, 480000, 480000, 2, 24},
    {62, 16711680, 139264, 800000, 800000, 2, 24},
};

}  // namespace cudaenc::h264
