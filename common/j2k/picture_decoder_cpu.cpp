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
          pool_(pool),
          take_(take),
          g_(make_decoder_geometry(d, codestream.size(), options)),
          coefficients_(g_.samples) {}

    std::string decode() {
        const size_t tiles = static_cast<size_t>(d_.tiles());
        std::vector<TilePackets> packets(tiles);
        pool_.for_each(tiles, [&](size_t tile) {
            packets[tile] = read_packets(codestream_, d_, g_, static_cast<uint32_t>(tile));
        });
        for (const TilePackets &p : packets) decode_blocks(p);
        for (size_t tile = 0; tile < tiles; tile++) decode_tile(tile);
        for (const TilePackets &p : packets)
            if (!p.damage.empty()) return p.damage;
        return damage_of_blocks(damaged_);
    }

  private:
    const TileComponent &tile_component(size_t tile, size_t c) const {
        return g_.tile_components[tile * d_.components.size() + c];
    }

    // ---- Blocks

    void decode_blocks(const TilePackets &packets) {
        pool_.for_each((packets.blocks.size() + kBatch - 1) / kBatch, [&](size_t batch) {
            std::vector<CodewordSegment> segments;
            std::vector<uint8_t> bytes;
            for (size_t i = batch * kBatch; i < std::min((batch + 1) * kBatch, packets.blocks.size()); i++)
                decode_block(packets, i, segments, bytes);
        });
    }

    void decode_block(const TilePackets &packets, size_t index, std::vector<CodewordSegment> &segments,
                      std::vector<uint8_t> &bytes) {
        const CodeBlock &b = g_.blocks[packets.first_block + index];
        const PrecinctBand &band = g_.precinct_bands[b.precinct_band];
        const TileCoding &coding = d_.of_tile(packets.tile);
        const ComponentCoding &k = coding.of_component(band.component);
        if (resolution_of(band.band) > k.levels - lowres_) return;
        const BlockPieces &pieces = packets.blocks[index];
        packets.gather(index, codestream_, segments, bytes);
        const BlockSamples to{coefficients_.data() + b.coefficients, b.stride};
        const BlockToDecode block{.width = b.width,
                                  .height = b.height,
                                  .orientation = b.orientation,
                                  .style = k.style,
                                  .planes = b.planes - pieces.zero_planes,
                                  .segments = segments,
                                  .bytes = bytes.data()};
        if (!(is_ht_block(pieces, k.style) ? decode_ht_block(block, to) : decode_mq_block(block, to))) damaged_++;
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
                synthesise(reinterpret_cast<int32_t *>(coefficients_.data()), tile_component(tile, c), k.levels);
            else
                synthesise(reinterpret_cast<float *>(coefficients_.data()), tile_component(tile, c), k.levels);
        }
        size_t first = 0;
        if (coding.mct) {
            const Extent e = extent_at(tile_component(tile, 0), lowres_);
            for (size_t c = 1; c < 3; c++) {
                const Extent other = extent_at(tile_component(tile, c), lowres_);
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

    template <class Sample>
    void store_one(size_t tile, size_t c, const Sample *samples) {
        const TileComponent &t = tile_component(tile, c);
        const Extent e = extent_at(t, lowres_);
        const size_t stride = static_cast<size_t>(t.x1 - t.x0);
        pool_.for_each(static_cast<size_t>(e.height()), kBatch,
                       [&](size_t y) { store_row(c, e, y, samples + t.samples + y * stride); });
    }

    template <class Sample>
    void store_three(size_t tile, Sample *samples) {
        const TileComponent *t = &tile_component(tile, 0);
        const Extent e = extent_at(*t, lowres_);
        const size_t stride = static_cast<size_t>(t->x1 - t->x0), width = static_cast<size_t>(e.width());
        pool_.for_each(static_cast<size_t>(e.height()), kBatch, [&](size_t y) {
            Sample *row[3];
            for (size_t c = 0; c < 3; c++) row[c] = samples + t[c].samples + y * stride;
            for (size_t x = 0; x < width; x++) inverse_component_transform(row[0][x], row[1][x], row[2][x]);
            for (size_t c = 0; c < 3; c++) store_row(c, extent_at(t[c], lowres_), y, row[c]);
        });
    }

    template <class Sample>
    void store_row(size_t c, const Extent &e, size_t y, const Sample *row) {
        const Component &k = d_.components[c];
        const Extent all = component_extent(d_, c, lowres_);
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
    ThreadPool &pool_;
    const TakeSamples &take_;
    const Geometry g_;
    std::vector<uint32_t> coefficients_;  // by stages: block decoder's, then int32_t or float
    std::atomic<size_t> damaged_{0};
};

}  // namespace

std::string decode_codestream(std::span<const uint8_t> codestream, const Description &description,
                              const DecoderOptions &options, ThreadPool &pool, const TakeSamples &take) {
    return PictureDecoder(codestream, description, options, pool, take).decode();
}

}  // namespace cudaenc::j2k
