// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tier2.h"

#include <algorithm>

#include "../../compact.h"
#include "../../device_pipeline.h"

namespace cudaenc::j2k {

namespace {

// As many threads as the largest precinct's sub-band has code-blocks.
unsigned threads_of_tag_trees(const Geometry &g) {
    uint32_t most = 1;
    for (const PrecinctBand &band : g.precinct_bands) most = std::max(most, band.columns * band.rows);
    return std::min<unsigned>((most + 31) / 32 * 32, kTagTreeThreads);
}

}  // namespace

Tier2::Tier2(std::shared_ptr<Device> device, const Description &description, const EncoderGeometry &geometry,
             const MainHeader &header, Device::Stream setup)
    : device_(std::move(device)),
      description_(description),
      geometry_(geometry),
      header_(header),
      tag_tree_threads_(threads_of_tag_trees(geometry)),
      band_table_(upload_table(device_, setup, geometry.precinct_bands)),
      packet_table_(upload_table(device_, setup, geometry.packets)),
      block_layer_table_(upload_table(device_, setup, geometry.block_layers)),
      tile_part_table_(upload_table(device_, setup, geometry.tile_parts)) {
    if (geometry_.coding.frame_steps) steps_ = upload_table(device_, setup, header_.steps);
}

void Tier2::allocate(Device::Stream stream, Buffers &b) const {
    const auto make = [&]<class T>(DeviceArray<T> &array, size_t count) {
        array = DeviceArray<T>(device_, std::max<size_t>(count, 1));
    };
    const size_t segments = packets() + tile_parts();
    const int block_bits =
        most_block_header_bits(description_.style, geometry_.max_passes, static_cast<uint32_t>(description_.layers));
    make(b.layer_sets, bands());
    make(b.nodes, geometry_.tag_tree_nodes);
    make(b.added_bytes, block_layers());
    make(b.header_bits, block_layers());
    make(b.header_bits_before, block_layers() + 1);
    make(b.raw, geometry_.blocks.size() * ((static_cast<size_t>(block_bits) + 31) / 32) + packets() + 2);
    make(b.raw_states, b.raw.count());
    make(b.segment_bytes, segments);
    make(b.segments_before, segments + 1);
    make(b.bytes_before, block_layers() + 1);
    if (description_.plt) {
        make(b.plt_bytes, packets());
        make(b.plt_before, packets() + 1);
    }
    make(b.partials, prefix_sum_most_arrays *
                         prefix_sum_partials(static_cast<uint32_t>(std::max<size_t>(block_layers(), segments))));
    make(b.device_result, 1);
    if (!description_.plt) size_tile_parts(stream, parameters(b, nullptr, {}, nullptr, nullptr));
    allocate_codestream(stream, b,
                        static_cast<size_t>(description_.sample_bytes()) + segments * 32 + size_t{block_layers()} * 8 +
                            header_.bytes.size() + 4096);
}

void Tier2::allocate_codestream(Device::Stream stream, Buffers &buffers, size_t bytes) const {
    buffers.codestream = {};  // both might not fit
    DeviceArray<uint8_t> memory(device_, bytes);
    device_->upload(stream, memory.data(), header_.bytes.data(), header_.bytes.size());
    buffers.codestream = std::move(memory);
}

Tier2Buffers Tier2::parameters(const Buffers &b, const CodeBlock *blocks, const BlockRecords &coded,
                               uint8_t *layer_passes, uint32_t *layer_bytes) const {
    return {.blocks = blocks,
            .bands = band_table_.data(),
            .packets = packet_table_.data(),
            .tile_parts = tile_part_table_.data(),
            .block_layers = block_layer_table_.data(),
            .coded = coded,
            .layer_passes = layer_passes,
            .layer_bytes = layer_bytes,
            .nodes = b.nodes.data(),
            .layer_sets = b.layer_sets.data(),
            .header_bits = b.header_bits.data(),
            .header_bits_before = b.header_bits_before.data(),
            .raw_states = b.raw_states.data(),
            .raw = b.raw.data(),
            .segment_bytes = b.segment_bytes.data(),
            .segments_before = b.segments_before.data(),
            .bytes = b.added_bytes.data(),
            .bytes_before = b.bytes_before.data(),
            .plt_bytes = b.plt_bytes.data(),
            .plt_before = b.plt_before.data(),
            .block_count = static_cast<uint32_t>(geometry_.blocks.size()),
            .layers = static_cast<uint32_t>(description_.layers),
            .block_layer_count = block_layers(),
            .band_count = bands(),
            .packet_count = packets(),
            .tile_part_count = tile_parts(),
            .sop = description_.sop,
            .eph = description_.eph,
            .coding = geometry_.coding,
            .max_passes = geometry_.max_passes};
}

void Tier2::make_tag_trees(Device::Stream stream, const Tier2Buffers &t2) const {
    device_->launch(stream, {bands()}, tag_tree_threads_, TagTreesParams{t2});
}

void Tier2::assemble_packets(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2) const {
    const unsigned by_block_layer = blocks_for(block_layers(), kTier2Threads);
    device_->fill(stream, b.raw.data(), 0, b.raw.bytes());
    if (!geometry_.coding.truncatable) make_tag_trees(stream, t2);
    device_->launch(stream, {by_block_layer}, kTier2Threads, HeaderBitsParams{t2});
    prefix_sum(*device_, stream,
               {{b.added_bytes.data(), b.bytes_before.data()}, {b.header_bits.data(), b.header_bits_before.data()}},
               block_layers(), b.partials.data());
    device_->launch(stream, {by_block_layer}, kTier2Threads, WriteBitsParams{t2});
    device_->launch(stream, {packets()}, kStuffingThreads, PacketSizesParams{t2});
    if (description_.plt) {
        prefix_sum(*device_, stream, {{b.plt_bytes.data(), b.plt_before.data()}}, packets(), b.partials.data());
        size_tile_parts(stream, t2);
    }
    prefix_sum(*device_, stream, {{b.segment_bytes.data(), b.segments_before.data()}}, packets() + tile_parts(),
               b.partials.data());
}

void Tier2::size_tile_parts(Device::Stream stream, const Tier2Buffers &t2) const {
    device_->launch(stream, {blocks_for(tile_parts(), kTier2Threads)}, kTier2Threads, TilePartSizesParams{t2});
}

void Tier2::write_codestream(Device::Stream stream, const Buffers &b, const Tier2Buffers &t2,
                             const uint32_t *frame_step, std::span<const uint32_t> note) const {
    const Codestream out{.data = b.codestream.data(),
                         .capacity = b.codestream.count(),
                         .main_header = static_cast<uint32_t>(header_.bytes.size()),
                         .tlm = header_.tlm,
                         .steps = steps_.data(),
                         .step_count = static_cast<uint32_t>(steps_.count()),
                         .result = b.device_result.data(),
                         .frame_step = frame_step,
                         .note = note.data(),
                         .note_words = static_cast<uint32_t>(note.size())};
    device_->fill(stream, b.device_result.data(), 0, b.device_result.bytes());
    device_->launch(stream, {std::max(packets(), tile_parts())}, kStuffingThreads, WriteHeadersParams{t2, out});
    const unsigned by_warp = blocks_for(uint64_t{block_layers()} * 32, kTier2Threads);
    if (description_.style & kBypass)
        device_->launch(stream, {by_warp}, kTier2Threads, GatherWithRawParams{{t2, out}});
    else
        device_->launch(stream, {by_warp}, kTier2Threads, GatherParams{t2, out});
    device_->download(stream, b.result.data(), b.device_result.data(), sizeof(CodestreamResult));
}

}  // namespace cudaenc::j2k
