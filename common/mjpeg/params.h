// Validated options of JPEG coding, and the geometry that follows from them. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "geometry.h"
#include "quantise.h"
#include "tables.h"

namespace cudaenc::mjpeg {

struct Component {
    int id;             // C_i
    int h, v;           // H_i, V_i as SOF tells them
    int table;          // kLuma or kChroma, of both kinds of tables
    int width, height;  // samples
    BlockGrid grid;
    size_t first_block;  // of all components' blocks with samples, by rows

    size_t blocks() const { return static_cast<size_t>(grid.columns) * grid.rows; }
};

struct Scan {
    int first, count;  // components
    ScanGrid grid;
};

enum class ColorTransform { none, rgb_to_ycbcr };

struct Params {
    CudaencFormat input;
    int width, height;
    std::vector<Component> components;
    std::vector<Scan> scans;  // one, but where an MCU would have more blocks than B.2.3 allows
    size_t blocks;            // of all components, with samples
    bool coded_rgb;           // the stream's components are R G B
    ColorTransform transform;
    int tables;                              // in use: 1 or 2
    uint8_t matrix[kTables][kBlockSamples];  // by index
    int32_t scale;                           // of matrix, see scaled_divisor(); frame_bytes chooses another one
    bool optimal;
    int64_t frame_bytes;           // 0: none
    int32_t min_scale, max_scale;  // that it chooses from
    std::string comment;
    std::string warning;  // what the options do that their user may not want; mostly empty
};

// Checks options and format and derives the rest.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencMjpegOptions &options);

// Divisors by index, of a table at a scale.
struct Divisors {
    uint8_t of[kTables][kBlockSamples];
};
Divisors make_divisors(const Params &params, int32_t scale);
Quantiser make_quantiser(const uint8_t (&divisors)[kBlockSamples]);

}  // namespace cudaenc::mjpeg
