// SPDX-License-Identifier: LGPL-2.1-or-later
// The coder of inter macroblocks on a device, as InterCoder.
#pragma once
#include <array>
#include <memory>

#include "../../../common/h264/syntax/picture_format.h"
#include "code_params.h"
#include "reference_picture.h"

namespace cudaenc::h264 {

class DeviceInterCoder {
  public:
    // vertical: the level's limit for vectors, in samples.
    DeviceInterCoder(std::shared_ptr<Device> device, const PictureFormat &format, int vertical);

    // Arrays in device memory, of all macroblocks.
    struct Picture {
        MarginPlane luma;                        // the source's of 8 bits, of whole macroblocks
        std::array<SampleLayout, 3> components;  // the source
        MarginPlane decoded[3];                  // gets the reconstruction
        const int8_t *qps;                       // QPY
        int drop_step;                           // is added
        const MacroblockMotion *field;
        RefreshColumns refresh = {};  // what limits the vector of P_Skip
        PictureWeights weights = {};
        int chroma_offset = 0;  // see FieldReference
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
    const PictureFormat format_;
    const int columns_, rows_, vertical_;
    DeviceArray<QpChoice> qp_choices_;
    DeviceArray<WavefrontTables> tables_;
};

}  // namespace cudaenc::h264
