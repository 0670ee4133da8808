// SPDX-License-Identifier: LGPL-2.1-or-later
// Decoding on the CPU, top to bottom: tier-2 tile by tile -> tier-1 and dequantisation block by block -> inverse
// wavelet transform level by level -> component transforms, rounding and clipping row by row.
#include "picture_decoder_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "../error.h"
#include "t1/block.h"
#include "t1/block_decoder.h"
#include "t2/packet_reader.h"
#include "transform/dequantise.h"
#include "transform/idwt_cpu.h"
#include "transform/step_size.h"
#include "transform/store.h"

namespace cudaenc::j2k {

namespace {

constexpr size_t kBatch = 8;  // blocks, or rows, that a thread takes at once

class PictureDecoder {
  public:
    PictureDecoder(std::span<const uint8_t> codestream, const Description &d, const DecoderOptions &options,
                   ThreadPool &pool, const TakeSamples &take)
        : codestream_(codestream),
          d_(d),
          lowres_(options.lowres),
          wanted_(wanted_packets(options)),
          area_(area_of(d, options.region)),
          pool_(pool),
          take_(take),
          g_(make_decoder_geometry(d, codestream.size(), options)) {
        const TileRange range = tiles_of(d, area_);
        for (int ty = range.y0; ty < range.y1; ty++)
            for (int tx = range.x0; tx < range.x1; tx++) tiles_.push_back(static_cast<uint32_t>(ty * d.tiles_x + tx));
        windows_ = g_.tile_components;
        uint64_t samples = 0;
        for (const uint32_t tile : tiles_)
            for (size_t c = 0; c < d.components.size(); c++) {
                TileComponent &window = windows_[tile * d.components.size() + c];
                window = window_of(window, extent_of(c), d.of_tile(tile).of_component(c).levels, lowres_);
                window.samples = samples;
                samples += static_cast<uint64_t>(window.x1 - window.x0) * static_cast<uint64_t>(window.y1 - window.y0);
            }
        coefficients_.resize(samples);
    }

    std::string decode() {
        std::vector<TilePackets> packets(tiles_.size());
        const PacketReader reader(codestream_, d_, g_, wanted_);
        pool_.for_each(tiles_.size(), [&](size_t i) { reader.read(tiles_[i], packets[i]); });
        for (const TilePackets &p : packets) decode_blocks(p);
        for (const uint32_t tile : tiles_) decode_tile(tile);
        if (!d_.damage.empty()) return d_.damage;
        for (const TilePackets &p : packets)
            if (!p.damage.empty()) return p.damage;
        return damage_of_blocks(damaged_);
    }

  private:
    const TileComponent &tile_component(size_t tile, size_t c) const {
        return g_.tile_components[tile * d_.components.size() + c];
    }
    const TileComponent &window(size_t tile, size_t c) const { return windows_[tile * d_.components.size() + c]; }
    Extent extent_of(size_t c) const { return component_extent(d_.components[c], area_, lowres_); }
    // The samples of a tile that are given off.
    Extent part_of(size_t tile, size_t c) const {
        return common_part(extent_at(window(tile, c), lowres_), extent_of(c));
    }

    // ---- Blocks

    void decode_blocks(const TilePackets &packets) {
        pool_.for_each((packets.blocks.size() + kBatch - 1) / kBatch, [&](size_t batch) {
            Scratch scratch;
            for (size_t i = batch * kBatch; i < std::min((batch + 1) * kBatch, packets.blocks.size()); i++)
                decode_block(packets, i, scratch);
        });
    }

    struct Scratch {
        std::vector<CodewordSegment> segments;
        std::vector<uint8_t> bytes;
        std::vector<uint32_t> coefficients;  // of a block at the edge of a window
    };

    // Where samples of the region need it.
    void decode_block(const TilePackets &packets, size_t index, Scratch &scratch) {
        const CodeBlock &b = g_.blocks[packets.first_block + index];
        const PrecinctBand &band = g_.precinct_bands[b.precinct_band];
        const size_t c = band.component;
        const ComponentCoding &k = d_.of_tile(packets.tile).of_component(c);
        const int resolution = resolution_of(band.band);
        const TileComponent &t = tile_component(packets.tile, c);
        if (!is_needed(b, t, k.levels, resolution, part_of(packets.tile, c), lowres_)) return;
        const SubBand part = sub_band(window(packets.tile, c), k.levels, resolution, b.orientation);
        const Extent place = extent_of_block(b, t, k.levels, resolution);
        const Extent kept = common_part(place, part.extent);
        const size_t stride = static_cast<size_t>(window(packets.tile, c).x1 - window(packets.tile, c).x0);
        uint32_t *const first = coefficients_.data() + part.coefficients +
                                static_cast<size_t>(kept.y0 - part.extent.y0) * stride +
                                static_cast<size_t>(kept.x0 - part.extent.x0);
        if (kept.width() == b.width && kept.height() == b.height)
            return decode_block_to(packets, index, scratch, {first, stride});
        scratch.coefficients.resize(size_t{b.width} * b.height);
        decode_block_to(packets, index, scratch, {scratch.coefficients.data(), b.width});
        for (int y = kept.y0; y < kept.y1; y++)
            std::copy_n(scratch.coefficients.data() + (y - place.y0) * b.width + kept.x0 - place.x0, kept.width(),
                        first + static_cast<size_t>(y - kept.y0) * stride);
    }

    void decode_block_to(const TilePackets &packets, size_t index, Scratch &scratch, const BlockSamples &to) {
        const CodeBlock &b = g_.blocks[packets.first_block + index];
        const PrecinctBand &band = g_.precinct_bands[b.precinct_band];
        const TileCoding &coding = d_.of_tile(packets.tile);
        const uint32_t style = coding.of_component(band.component).style;
        const BlockPieces &pieces = packets.blocks[index];
        const BlockToDecode block = packets.gather(index, b, style, codestream_, scratch.segments, scratch.bytes);
        if (!(is_ht_block(pieces, style) ? decode_ht_block(block, to) : decode_mq_block(block, to))) damaged_++;
        const float step = step_size(coding, d_.components[band.component], band.component, band.band);
        const int shift = coding.region_shift(band.component);
        for (int y = 0; y < b.height; y++) {
            uint32_t *row = to.coefficients + static_cast<size_t>(y) * to.stride;
            if (b.reversible)
                dequantise_row<int32_t>(row, b.width, shift, step);
            else
                dequantise_row<float>(row, b.width, shift, step);
        }
    }

    // ---- Samples

    void decode_tile(size_t tile) {
        const TileCoding &coding = d_.of_tile(static_cast<uint32_t>(tile));
        for (size_t c = 0; c < d_.components.size(); c++) {
            const ComponentCoding &k = coding.of_component(c);
            if (k.reversible)
                synthesise(reinterpret_cast<int32_t *>(coefficients_.data()), window(tile, c), k.levels);
            else
                synthesise(reinterpret_cast<float *>(coefficients_.data()), window(tile, c), k.levels);
        }
        size_t first = 0;
        if (coding.mct) {
            const Extent e = part_of(tile, 0);
            for (size_t c = 1; c < 3; c++) {
                const Extent other = part_of(tile, c);
                if (other.width() != e.width() || other.height() != e.height())
                    throw Error(CUDAENC_ERR_INVALID,
                                "JPEG 2000: a component transformation of components of different sizes");
            }
            if (coding.of_component(0).reversible)
                store_three(tile, reinterpret_cast<int32_t *>(coefficients_.data()));
            else
                store_three(tile, reinterpret_cast<float *>(coefficients_.data()));
            first = 3;
        }
        for (size_t c = first; c < d_.components.size(); c++)
            if (coding.of_component(c).reversible)
                store_one(tile, c, reinterpret_cast<int32_t *>(coefficients_.data()));
            else
                store_one(tile, c, reinterpret_cast<float *>(coefficients_.data()));
    }

    template <class Sample>
    void synthesise(Sample *samples, const TileComponent &t, int levels) {
        for (int level = levels - 1; level >= lowres_; level--)
            if (const Extent e = extent_at(t, level); e.width() && e.height())
                inverse_transform_level(pool_, samples + t.samples, e, t.x1 - t.x0);
    }

    // Row y of what part_of() has.
    template <class Sample>
    Sample *row_of(Sample *samples, const TileComponent &t, const Extent &e, size_t y) const {
        const Extent all = extent_at(t, lowres_);
        return samples + t.samples + (static_cast<size_t>(e.y0 - all.y0) + y) * static_cast<size_t>(t.x1 - t.x0) +
               (e.x0 - all.x0);
    }

    template <class Sample>
    void store_one(size_t tile, size_t c, Sample *samples) {
        const Extent e = part_of(tile, c);
        if (is_empty(e)) return;
        pool_.for_each(static_cast<size_t>(e.height()), kBatch,
                       [&](size_t y) { store_row(c, e, y, row_of(samples, window(tile, c), e, y)); });
    }

    template <class Sample>
    void store_three(size_t tile, Sample *samples) {
        const Extent e = part_of(tile, 0);
        if (is_empty(e)) return;
        pool_.for_each(static_cast<size_t>(e.height()), kBatch, [&](size_t y) {
            Sample *row[3];
            for (size_t c = 0; c < 3; c++) row[c] = row_of(samples, window(tile, c), part_of(tile, c), y);
            for (int x = 0; x < e.width(); x++) inverse_component_transform(row[0][x], row[1][x], row[2][x]);
            for (size_t c = 0; c < 3; c++) store_row(c, part_of(tile, c), y, row[c]);
        });
    }

    template <class Sample>
    void store_row(size_t c, const Extent &e, size_t y, const Sample *row) {
        const Component &k = d_.components[c];
        const Extent all = extent_of(c);
        const int32_t level = k.is_signed ? 0 : 1 << (k.depth - 1);
        std::array<int32_t, 1024> out;
        for (int x = 0; x < e.width(); x += static_cast<int>(out.size())) {
            const size_t count = std::min(out.size(), static_cast<size_t>(e.width() - x));
            for (size_t i = 0; i < count; i++) out[i] = to_sample(row[static_cast<size_t>(x) + i], k.depth) + level;
            take_(c, e.x0 - all.x0 + x, e.y0 - all.y0 + static_cast<int>(y), {out.data(), count});
        }
    }

    const std::span<const uint8_t> codestream_;
    const Description &d_;
    const int lowres_;
    const WantedPackets wanted_;
    const Area area_;
    ThreadPool &pool_;
    const TakeSamples &take_;
    const Geometry g_;
    std::vector<uint32_t> tiles_;         // that have samples of the area
    std::vector<TileComponent> windows_;  // [tile_component()]: the part that is transformed
    std::vector<uint32_t> coefficients_;  // by stages: block decoder's, then int32_t or float
    std::atomic<size_t> damaged_{0};
};

}  // namespace

std::string decode_codestream(std::span<const uint8_t> codestream, const Description &description,
                              const DecoderOptions &options, ThreadPool &pool, const TakeSamples &take) {
    return PictureDecoder(codestream, description, options, pool, take).decode();
}

}  // namespace cudaenc::j2k
