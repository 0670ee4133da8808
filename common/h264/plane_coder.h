// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLC of planes of 4x4 blocks without any macroblocks, for coefficients of other formats.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../device.h"
#include "syntax/cavlc.h"

namespace cudaenc::h264 {

// A plane of blocks, row by row. A block has 16 coefficients in memory, in the order of its rows or of the scan.
struct BlockPlane {
    uint32_t columns, rows;
    bool scanned;     // in the order of the scan
    bool without_dc;  // the first coefficient of the scan is not coded, as of Intra_16x16's AC blocks
    CUDAENC_HD uint32_t blocks() const { return columns * rows; }
};

// A coeff_token of 16 bits and 16 levels of 36 bits; zeros take none then.
constexpr uint32_t kMostBlockBits = 16 + 16 * 36;

// The coefficients of a plane, and where its bits go: to whole words of 32 bits, the first bit the highest of a byte.
struct PlaneInput {
    const int16_t *coefficients;  // [blocks][16], on a device at a multiple of 16 bytes
    void *cuda_stream;            // whose work makes them, where they are in a device's memory
};
struct PlaneOutput {
    uint8_t *bytes;
    size_t capacity;    // bytes
    uint16_t *lengths;  // [blocks], bits of each block, or nullptr
};
constexpr uint64_t whole_words(uint64_t bits) { return (bits + 31) / 32 * 4; }

class PlaneCoder {
  public:
    virtual ~PlaneCoder() = default;
    // Codes a plane, and returns once all is there. Returns its bits. Writes lengths alone where their words exceed
    // the capacity.
    virtual uint64_t code(const PlaneInput &input, const PlaneOutput &output) = 0;
};

std::unique_ptr<PlaneCoder> make_cpu_plane_coder(const BlockPlane &plane);

// Implemented in cuda_kernels/h264/plane_coder_cuda.cpp. device_memory: input and output are in the device's memory.
std::unique_ptr<PlaneCoder> make_device_plane_coder(const BlockPlane &plane, std::shared_ptr<Device> device,
                                                    bool device_memory);

}  // namespace cudaenc::h264
