// SPDX-License-Identifier: LGPL-2.1-or-later
// CIBO: tier-1 of a batch of blocks by bit-planes, with early stops (Martinez-del-Amor et al. 2017).
#pragma once
#include <memory>
#include <vector>

#include "../../../device_objects.h"
#include "../../t1/tier1.h"
#include "cibo_params.h"

namespace cudaenc::j2k {

// Rooms of blocks that have symbols of two planes: as place_rooms() returns.
std::vector<uint64_t> place_codewords(std::span<const CodeBlock> blocks);

class CiboTier1 {
  public:
    // Blocks of the batch are truncatable.
    CiboTier1(const std::shared_ptr<Device> &device, const Tier1Batch &batch,
              SymbolMemory symbols = SymbolMemory::kRooms);

    struct Options {
        bool overlap = true;     // of context modelling and MQ coding
        bool compaction = true;  // thread-blocks and lanes for active blocks only
        int lanes = 32;          // of a warp that code a block, at most
        EarlyStop stop = EarlyStop::kNone;
        const uint64_t *budget = nullptr;   // of early stops, in bytes, on the device
        const BandCoding *bands = nullptr;  // of the blocks, for early stops
    };
    // Queues all of it on `stream`; MQ coding that overlaps takes `other`, which `stream` waits for. Blocks that
    // stopped have what they have with all passes, up to their last one. t1.work is not used.
    void queue(Device::Stream stream, Device::Stream other, const Tier1Buffers &t1, const uint32_t *coefficients,
               const Options &options);

    // Blocks of the last batch that lack planes since their rooms were too small: it is coded again with larger ones.
    uint32_t overflowed(Device::Stream stream) const;
    // What it holds on the device, in bytes.
    uint64_t bytes() const;

  private:
    PlaneBuffers buffers(const Tier1Buffers &t1) const;
    void follow(Device::Stream later, Device::Stream earlier);

    const std::shared_ptr<Device> device_;
    const Tier1Batch batch_;
    const int most_planes_;
    DeviceArray<uint32_t> bits_, negative_, significant_, refined_, raw_bytes_, active_, plane_symbols_, order_;
    DeviceArray<uint32_t> planes_, active_counts_, table_, overflowed_;  // zero before; so are
    DeviceArray<WorkOrder> work_;                                        // [plane]
    DeviceArray<uint16_t> bins_;
    DeviceArray<uint8_t> stopped_, symbols_;
    DeviceArray<MqProgress> progress_;
    std::vector<std::unique_ptr<Event>> events_;
    size_t event_ = 0;  // the next one
};

// CIBO as a block coder. Its context modelling and MQ coding are queued together.
class CiboCoder : public BlockCoder {
  public:
    // blocks, options.bands and options.budget: on the device.
    CiboCoder(const std::shared_ptr<Device> &device, const Tier1Batch &batch, const CodewordRooms &rooms,
              const CodeBlock *blocks, const CiboTier1::Options &options)
        : memory_(device, batch, rooms),
          t1_(memory_.buffers(blocks)),
          options_(options),
          other_(device),
          planes_(device, batch) {
        t1_.coded.segment_begins = nullptr;  // its segments follow each other
        device->fill(other_, memory_.always_included.data(), 0, memory_.always_included.bytes());
        device->synchronize(other_);
    }
    void analyse(Device::Stream stream, const uint32_t *coefficients, const StopSlope *) override {
        planes_.queue(stream, other_, t1_, coefficients, options_);
    }
    void code(Device::Stream) override {}
    void settle() noexcept override { other_.settle(); }
    const BlockRecords &records() const override { return t1_.coded; }

  private:
    const Tier1Memory memory_;
    Tier1Buffers t1_;
    const CiboTier1::Options options_;
    Stream other_;
    CiboTier1 planes_;
};

}  // namespace cudaenc::j2k
