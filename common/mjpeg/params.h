// SPDX-License-Identifier: LGPL-2.1-or-later
// Validated options of JPEG coding, and the geometry that follows from them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../cudaenc.h"
#include "../packet_pool.h"
#include "geometry.h"
#include "quantise.h"
#include "tables.h"

namespace cudaenc::mjpeg {

struct Component {
    int id;             // C_i
    int h, v;           // H_i, V_i as SOF tells them
    int table;          // kLuma or kChroma, of quantisation and Huffman tables
    int width, height;  // samples
    BlockGrid grid;
    size_t first_block;  // among the blocks with samples of all components, by rows

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
    std::vector<Scan> scans;  // one, or one a component where an MCU would have more blocks than B.2.3 allows
    size_t blocks;            // with samples, of all components
    bool coded_rgb;           // the components of the stream are R G B
    ColorTransform transform;
    int tables;                              // in use: 1 or 2
    uint8_t matrix[kTables][kBlockSamples];  // by index
    int32_t scale;                           // of the matrices, see scaled_divisor(), without frame_bytes
    bool optimal;                            // Huffman tables
    bool trellis;                            // levels are those of choose_levels()
    int64_t frame_bytes;                     // target size of a packet; 0: none
    int32_t min_scale, max_scale;            // of the scales that may meet it
    std::string comment;
    std::string warning;  // what the options do that their user may not want; mostly empty
};

// Checks options and format and derives the rest.
// Throws Error(CUDAENC_ERR_INVALID) with a line that names the option, its value and what is allowed.
Params make_params(const CudaencFormat &format, const CudaencMjpegOptions &options);

// What is coded, in a few words for logs.
std::string summary(const Params &params);

// The quantisation tables at a scale, by index.
struct Divisors {
    uint8_t of[kTables][kBlockSamples];
};
Divisors make_divisors(const Params &params, int32_t scale);
Quantiser make_quantiser(const uint8_t (&divisors)[kBlockSamples]);

// Notes in a packet at which scale a picture of so many bytes is coded, and whether it misses a target size by more
// than its tolerance.
void describe_packet(const Params &params, int32_t scale, uint64_t bytes, CudaencBuffer &packet);

}  // namespace cudaenc::mjpeg
