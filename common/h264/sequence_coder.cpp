// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sequence_coder.h"

#include <algorithm>
#include <utility>

#include "../load_cpu.h"

namespace cudaenc::h264 {

SequenceCoder::SequenceCoder(const PictureFormat &format, int vertical, bool deblock)
    : format_(format),
      deblock_(deblock),
      intra_coder_(format),
      predicted_coder_(format, vertical),
      before_(format.separate_field() ? 2 : 1) {
    for (PictureBefore &before : before_) {
        before.decoded.format = format.chroma;
        before.decoded.bit_depth = format.bit_depth;
    }
    for (int c = 0; c < format.components(); c++) {
        strides_[c] = (format.macroblock_columns() * format.columns(c) + 63) / 64 * 64 + 32;
        planes_[c].resize(static_cast<size_t>(strides_[c] * format.macroblock_rows() * format.rows(c)));
    }
}

void SequenceCoder::begin(const SampleLayout *components, ThreadPool &pool) {
    predicted_coder_.load_source(components[0], source_, pool);
}

const MotionSearch &SequenceCoder::search_by(int distance, int qp, ThreadPool &pool) {
    return predicted_coder_.search(qp, before_[static_cast<size_t>(distance) - 1], source_, pool, distance);
}

int SequenceCoder::find_distance(int qp, ThreadPool &pool) {
    return field_distance(search_by(1, qp, pool).cost(), search_by(2, qp, pool).cost());
}

SceneCosts SequenceCoder::scene_costs(int qp, ThreadPool &pool) {
    const MotionSearch &search = search_by(static_cast<int>(before_.size()), qp, pool);
    const BytePlane &now = predicted_coder_.compared(source_).levels[1], &before = before_.back().source.levels[1];
    const size_t rows = static_cast<size_t>(format_.macroblock_rows());
    std::vector<SceneCosts> of_rows(rows);
    pool.for_each(rows, [&](size_t row) {
        for (int x = 0; x < format_.macroblock_columns(); x++) {
            const int left = 8 * x, top = 8 * static_cast<int>(row);
            const ByteBlock block = block_at(now, left, top);
            uint32_t sum = 0;
            for (int i = 0; i < 8; i++) sum += block.at(i, -1).data[0] + block.at(-1, i).data[0];
            uint8_t dc[8], horizontal[64];
            std::fill_n(dc, 8, static_cast<uint8_t>(scene_dc(sum)));
            for (int y = 0; y < 8; y++) std::fill_n(horizontal + 8 * y, 8, block.at(-1, y).data[0]);
            const Vector v = search.of_block(1, x, static_cast<int>(row));
            of_rows[row].add(sad_8x8(block, block_at(before, left + v.x, top + v.y)),
                             sad_8x8(block, {block.at(0, -1).data, 0}), sad_8x8(block, {horizontal, 8}),
                             sad_8x8(block, {dc, 0}));
        }
    });
    SceneCosts costs{.inter = 0, .intra = 0, .found = search.cost()};
    for (const SceneCosts &row : of_rows) costs.add(row);
    return costs;
}

void SequenceCoder::encode(const SampleLayout *components, const PictureQuality &quality, bool predicted,
                           ThreadPool &pool, Macroblock *macroblocks, int16_t *levels, const RefreshColumns &refresh,
                           const FieldReference &refers_to) {
    predicted_ = predicted;
    qp_ = std::min(quality.qp, kMaxQp);
    macroblocks_ = macroblocks;
    levels_ = levels;
    PictureQuality own = quality;
    own.reconstructs = true;
    if (predicted) {
        predicted_coder_.encode(components, own, before_[static_cast<size_t>(refers_to.distance) - 1], source_, pool,
                                macroblocks, levels, refresh, refers_to);
    } else {
        intra_coder_.encode(components, own, pool, macroblocks, levels);
    }
}

void SequenceCoder::keep(ThreadPool &pool) {
    const int columns = format_.macroblock_columns(), rows = format_.macroblock_rows();
    ConstBlock blocks[3];
    for (int c = 0; c < format_.components(); c++) {
        const ConstBlock from = predicted_ ? predicted_coder_.reconstruction(c) : intra_coder_.reconstruction(c);
        const int size = format_.rows(c), width = columns * format_.columns(c);
        pool.for_each(static_cast<size_t>(rows), [&](size_t row) {
            for (int y = size * static_cast<int>(row); y < size * (static_cast<int>(row) + 1); y++)
                std::copy_n(from.at(0, y).data, width, planes_[c].data() + y * strides_[c]);
        });
        blocks[c] = decoded(c);
    }
    if (deblock_) deblock(pool);
    std::rotate(before_.begin(), before_.end() - 1, before_.end());
    before_.front().decoded.build(blocks, 16 * columns, 16 * rows, pool);
    std::swap(before_.front().source, source_);
}

// QPY of macroblocks without mb_qp_delta is that of the one before, whatever they were coded with.
void SequenceCoder::deblock(ThreadPool &pool) {
    static constexpr DeblockTables tables[] = {make_deblock_tables(8), make_deblock_tables(10)};
    const int lowest = -qp_bd_offset(format_.bit_depth);
    const size_t count = static_cast<size_t>(format_.macroblocks());
    deblock_macroblocks_.resize(count);
    deblock_vectors_.resize(16 * count);
    int qp = qp_;
    for (size_t i = 0; i < count; i++) {
        const Macroblock &m = macroblocks_[i];
        if (m.first_in_slice) qp = qp_;
        qp += m.qp_delta;
        if (qp < lowest) qp += kMaxQp + 1 - lowest;
        if (qp > kMaxQp) qp -= kMaxQp + 1 - lowest;
        deblock_macroblocks_[i] = {.intra = !is_inter(m.type),
                                   .transform_8x8 = has_8x8_transform(m),
                                   .qp = static_cast<int8_t>(m.type == MacroblockType::pcm ? 0 : qp),
                                   .nonzero = 0,
                                   .slice = m.slice};
    }
    const size_t columns = static_cast<size_t>(format_.macroblock_columns());
    pool.for_each(static_cast<size_t>(format_.macroblock_rows()), [&](size_t y) {
        for (size_t i = y * columns; i < (y + 1) * columns; i++) {
            const Macroblock &m = macroblocks_[i];
            if (!is_inter(m.type)) continue;
            const int16_t *levels = levels_ + i * 16 * static_cast<size_t>(blocks_per_macroblock(format_.chroma));
            deblock_macroblocks_[i].nonzero = nonzero_blocks(levels, m.coded_block_pattern & 15, has_8x8_transform(m));
            for (size_t b = 0; b < 16; b++) {
                const Vector v = predicted_coder_.motion()[i].vectors[b / 8 * 2 + b % 4 / 2];
                deblock_vectors_[16 * i + b] = {v.x, v.y};
            }
        }
    });
    Block planes[3];
    for (int c = 0; c < format_.components(); c++) planes[c] = {planes_[c].data(), strides_[c]};
    h264::deblock({.format = format_.chroma,
                   .bit_depth = format_.bit_depth,
                   .columns = format_.macroblock_columns(),
                   .rows = format_.macroblock_rows(),
                   .field = format_.separate_field(),
                   .across_slices = true,
                   .tables = &tables[format_.bit_depth > 8],
                   .macroblocks = deblock_macroblocks_.data(),
                   .vectors = deblock_vectors_.data()},
                  planes, pool);
}

}  // namespace cudaenc::h264
