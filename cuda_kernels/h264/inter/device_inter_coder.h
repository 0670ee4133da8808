// SPDX-License-Identifier: LGPL-2.1-or-later
// The coder of inter macroblocks on a device, as InterCoder. 4:2:0 of 8 bits.
#pragma once
#include <memory>

#include "code_params.h"
#include "reference_picture.h"

namespace cudaenc::h264 {

class DeviceInterCoder {
  public:
    // width, height: the picture's, of which macroblocks are made; vertical: the level's limit for vectors, in samples.
    DeviceInterCoder(std::shared_ptr<Device> device, int width, int height, int vertical, bool transform_8x8);

    // Arrays in device memory, of all macroblocks.
    struct Picture {
        MarginPlane luma;        // the source's, of whole macroblocks
        SampleLayout chroma[2];  // the source's
        MarginPlane decoded[3];  // gets the reconstruction
        const int8_t *qps;       // QPY, from 0 on
        int drop_step;           // is added
        const MacroblockMotion *field;
        RefreshColumns refresh = {};  // what limits the vector of P_Skip
    };
    // Of all macroblocks.
    struct Results {
        Macroblock *macroblocks;  // but for mvd, qp_delta and slices
        int16_t *levels;
        MacroblockMotion *motion;  // with the vectors of P_Skip
        InterOutcome *outcomes;
    };
    struct Buffers {
        DeviceArray<Macroblock> macroblocks;
        DeviceArray<int16_t> levels;
        DeviceArray<MacroblockMotion> motion;
        DeviceArray<InterOutcome> outcomes;
        operator Results() const { return {macroblocks.data(), levels.data(), motion.data(), outcomes.data()}; }
    };
    Buffers make_buffers() const;
    // Queues the coding.
    void code(Device::Stream stream, const Picture &picture, const ReferencePlanes &reference,
              const Results &results) const;

  private:
    const std::shared_ptr<Device> device_;
    const int width_, height_, columns_, rows_, vertical_;
    const bool transform_8x8_;
    DeviceArray<QpChoice> qp_choices_;
    DeviceArray<WavefrontTables> tables_;
};

}  // namespace cudaenc::h264
