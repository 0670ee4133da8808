// SPDX-License-Identifier: LGPL-2.1-or-later
// The launcher of tier-1 with the MQ coder, for product, tests and bench.
#pragma once
#include "../../device_objects.h"
#include "block_coder.h"
#include "t1_params.h"

namespace cudaenc::j2k {

// A batch of blocks, and how they are coded.
struct Tier1Batch {
    uint32_t blocks;
    int max_passes;
    int tiles_x, tiles_y;  // of 32x32 samples, in the largest block
    BlockCoding coding;
};
inline Tier1Batch tier1_batch(size_t blocks, int max_passes, int width_log2, int height_log2,
                              const BlockCoding &coding) {
    return {.blocks = static_cast<uint32_t>(blocks),
            .max_passes = max_passes,
            .tiles_x = std::max(1 << width_log2 >> 5, 1),
            .tiles_y = std::max(1 << height_log2 >> 5, 1),
            .coding = coding};
}

// The buffers of tier-1 on a device. Those that the coding does not need are empty.
struct Tier1Memory {
    Tier1Memory(const std::shared_ptr<Device> &device, const Tier1Batch &batch, const CodewordRooms &rooms);
    Tier1Buffers buffers(const CodeBlock *blocks) const;

    const Tier1Batch batch;
    const uint64_t *const rooms;
    DeviceArray<uint8_t> codewords, planes, passes, always_included;
    DeviceArray<uint32_t> symbols, bytes, pass_ends, pass_bytes, terminations, estimated_bytes, segment_begins, order;
    DeviceArray<int32_t> reductions;
    DeviceArray<PassCoder> pass_coders;
    DeviceArray<WorkOrder> work;
};

// Context modelling. bands, stop, regions: of truncatable blocks without a style, see PredictedContextInput.
void model_contexts(Device &device, Device::Stream stream, const Tier1Batch &batch, const Tier1Buffers &t1,
                    const uint32_t *coefficients, const BandCoding *bands = nullptr, const StopSlope *stop = nullptr,
                    RegionWeights regions = {});

// MQ coding, in the order of symbols. order: [blocks], scratch; lanes: of a warp that take a block, 1 to 32.
void code_symbols(Device &device, Device::Stream stream, const Tier1Batch &batch, const Tier1Buffers &t1,
                  uint32_t *order, int lanes);

// The block coder of T.800: context modelling, then MQ coding.
class MqCoder : public BlockCoder {
  public:
    // blocks, bands, regions: on the device; lanes: see code_symbols().
    MqCoder(std::shared_ptr<Device> device, const Tier1Batch &batch, const CodewordRooms &rooms,
            const CodeBlock *blocks, const BandCoding *bands, RegionWeights regions, int lanes);
    void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *stop) override;
    void code(Device::Stream stream) override;
    const BlockRecords &records() const override { return t1_.coded; }

  private:
    const std::shared_ptr<Device> device_;
    const Tier1Memory memory_;
    const Tier1Buffers t1_;
    const BandCoding *const bands_;
    const RegionWeights regions_;
    const int lanes_;
};

}  // namespace cudaenc::j2k
