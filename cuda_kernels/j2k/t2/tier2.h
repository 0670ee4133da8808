// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-2 on a device: packet headers, and the codestream from codewords in their rooms.
#pragma once
#include <memory>
#include <span>

#include "../../../common/j2k/codestream/main_header.h"
#include "../../../common/j2k/t1/encoder_geometry.h"
#include "../../device_objects.h"
#include "t2_params.h"

namespace cudaenc::j2k {

class Tier2 {
  public:
    // Of a frame in flight: see Tier2Buffers.
    struct Buffers {
        explicit Buffers(const std::shared_ptr<Device> &device) : result(device, 1) {}
        DeviceArray<LayerSet> layer_sets;
        DeviceArray<TagNode> nodes;
        DeviceArray<uint32_t> added_bytes, header_bits, raw, raw_states, segment_bytes, plt_bytes;
        DeviceArray<uint64_t> header_bits_before, segments_before, bytes_before, plt_before, partials;
        DeviceArray<uint8_t> codestream;  // with the main header: only TLM entries change in it
        DeviceArray<CodestreamResult> device_result;
        PinnedArray<CodestreamResult> result;
    };

    // description, geometry and header live longer. setup: the stream of uploads, to be waited for.
    Tier2(std::shared_ptr<Device> device, const Description &description, const EncoderGeometry &geometry,
          const MainHeader &header, Device::Stream setup);
    // For codestreams that are about as long as the samples.
    void allocate(Device::Stream stream, Buffers &buffers) const;
    // For one of at most `bytes`. The one before is lost.
    void allocate_codestream(Device::Stream stream, Buffers &buffers, size_t bytes) const;

    // blocks: Geometry::blocks. The others are in device memory, too.
    Tier2Buffers parameters(const Buffers &buffers, const CodeBlock *blocks, const BlockRecords &coded,
                            uint8_t *layer_passes, uint32_t *layer_bytes) const;

    // Each one queues kernels.
    void make_tag_trees(Device::Stream stream, const Tier2Buffers &t2) const;
    // Where blocks are truncated, tag trees have been made.
    void assemble_packets(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2) const;
    // buffers.result tells what has been written, once the stream has run. frame_step, note: see Codestream.
    void write_codestream(Device::Stream stream, const Buffers &buffers, const Tier2Buffers &t2,
                          const uint32_t *frame_step, std::span<const uint32_t> note) const;

    uint32_t bands() const { return static_cast<uint32_t>(geometry_.precinct_bands.size()); }
    unsigned tag_tree_threads() const { return tag_tree_threads_; }

  private:
    // Of headers: of each frame, where they have PLT.
    void size_tile_parts(Device::Stream stream, const Tier2Buffers &t2) const;
    uint32_t block_layers() const { return static_cast<uint32_t>(geometry_.block_layers.size()); }
    uint32_t packets() const { return static_cast<uint32_t>(geometry_.packets.size()); }
    uint32_t tile_parts() const { return static_cast<uint32_t>(geometry_.tile_parts.size()); }

    const std::shared_ptr<Device> device_;
    const Description &description_;
    const EncoderGeometry &geometry_;
    const MainHeader &header_;
    const unsigned tag_tree_threads_;
    DeviceArray<PrecinctBand> band_table_;
    DeviceArray<Packet> packet_table_;
    DeviceArray<uint32_t> block_layer_table_;
    DeviceArray<TilePart> tile_part_table_;
    DeviceArray<SpqcdField> steps_;
};

}  // namespace cudaenc::j2k
