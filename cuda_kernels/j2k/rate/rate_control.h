// SPDX-License-Identifier: LGPL-2.1-or-later
// Rate control on a device: the slope at which tier-1 stops, hulls, thresholds, truncation.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "../../../common/j2k/rate/budget.h"
#include "../../device_objects.h"
#include "../t1/tier1.h"
#include "../t2/tier2.h"
#include "rate_params.h"

namespace cudaenc::j2k {

class RateController {
  public:
    // Of a frame in flight: see RateBuffers and SampleInput.
    struct Buffers {
        explicit Buffers(const std::shared_ptr<Device> &device) : begin(device, 1) {}
        PinnedArray<RateAllocation> begin;  // what the allocation begins with
        DeviceArray<RateAllocation> allocation;
        DeviceArray<uint64_t> sample_table;
        DeviceArray<uint32_t> samples_done;
        DeviceArray<uint16_t> slopes;
        DeviceArray<uint32_t> bytes_at, bytes_at_or_above, measures_done;
        DeviceArray<uint64_t> packet_bits, packet_bytes;
        DeviceArray<uint8_t> layer_passes;
        DeviceArray<uint32_t> layer_bytes;
        DeviceArray<int16_t> region_weights;  // these where Params::takes_regions
        std::optional<PinnedArray<int16_t>> next_weights;
        bool has_regions = false;  // weights are not all zero
        bool cleared = false;      // what kernels need as zero, and leave so
        RegionWeights regions() const { return {region_weights.data()}; }
    };

    // params, geometry, budget and tier2 live longer. setup: the stream of uploads, to be waited for. is_short:
    // coefficients take 16 bits.
    RateController(std::shared_ptr<Device> device, const Params &params, const EncoderGeometry &geometry,
                   const RateBudget &budget, const Tier2 &tier2, const Tier1Batch &batch, bool is_short,
                   Device::Stream setup);
    void allocate_buffers(Buffers &buffers) const;
    // EncoderGeometry::band_codings.
    const BandCoding *bands() const { return bands_.data(); }

    // Each one queues its work. upload(): Buffers::begin.
    void clear(Device::Stream stream, Buffers &buffers) const;
    // weights: see find_region_weights(). Buffers::next_weights must not be in use.
    void upload_regions(Device::Stream stream, Buffers &buffers, const std::vector<int16_t> &weights) const;
    void upload(Device::Stream stream, const Buffers &buffers) const;
    // Finds the slope at which tier-1 stops. blocks: Geometry::blocks.
    void sample(Device::Stream stream, const Buffers &buffers, const CodeBlock *blocks,
                const uint32_t *coefficients) const;
    // Measures the headers of all that is coded, from estimates of its bytes, while the MQ coder works or behind it.
    void measure_ahead(Device::Stream stream, const Buffers &buffers, Tier2Buffers t2) const;
    // Finds thresholds, and truncates blocks. measured: headers were, ahead.
    void truncate(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2, bool measured) const;
    // ... of a frame that was truncated before.
    void truncate_again(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2,
                        const RateRevision &revision) const;

    // What goes along with a codestream's result, and comes out of it.
    std::span<const uint32_t> note(const Buffers &buffers) const;
    static LayerThresholds noted(const CodestreamResult &result);

  private:
    RateBuffers rate(const Buffers &buffers, const Tier2Buffers &t2) const;
    void allocate(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2, bool measured,
                  const RateRevision &revision) const;
    void measure(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2, bool last, bool ahead) const;

    const std::shared_ptr<Device> device_;
    const Params &params_;
    const EncoderGeometry &geometry_;
    const RateBudget &budget_;
    const Tier2 &tier2_;
    const int tiles_x_, tiles_y_;  // of the largest block, see ContextInput
    const bool is_short_;
    DeviceArray<BandCoding> bands_;
    DeviceArray<SampledBlock> sampled_blocks_;
};

}  // namespace cudaenc::j2k
