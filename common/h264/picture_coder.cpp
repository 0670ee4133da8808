// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_coder.h"

#include <algorithm>
#include <thread>

#include "../load_cpu.h"
#include "adaptive_qp.h"
#include "rank_cpu.h"

namespace cudaenc::h264 {

PictureCoder::PictureCoder(const PictureFormat &format)
    : format_(format),
      neighbours_(static_cast<size_t>(format.macroblocks())),
      qp_(static_cast<size_t>(format.macroblocks())),
      rows_(std::make_unique<Row[]>(static_cast<size_t>(format.macroblock_rows()))) {
    for (int c = 0; c < format.components(); c++) {
        // Rows of a macroblock must not share cache sets.
        planes_[c].stride = (format.macroblock_columns() * format.columns(c) + 63) / 64 * 64 + 32;
        planes_[c].samples.resize(static_cast<size_t>(planes_[c].stride * format.macroblock_rows() * format.rows(c)));
    }
    int most = 0;
    for (int s = 0; s < format.slices; s++) {
        const int first = format.first_row(s), end = format.first_row(s + 1);
        most = std::max(most, end - first);
        for (int y = first; y < end; y++) {
            rows_[y].slice = s;
            rows_[y].first_in_slice = y == first;
        }
    }
    for (int i = 0; i < most; i++)
        for (int s = 0; s < format.slices; s++)
            if (format.first_row(s) + i < format.first_row(s + 1)) order_.push_back(format.first_row(s) + i);
}

void PictureCoder::encode(const SampleLayout *components, const PictureQuality &quality, ThreadPool &pool,
                          Macroblock *macroblocks, int16_t *levels) {
    components_ = components;
    quality_ = quality;
    macroblocks_ = macroblocks;
    levels_ = levels;
    const size_t rows = order_.size();
    for (size_t y = 0; y < rows; y++) rows_[y].done.store(0, std::memory_order_relaxed);
    if (quality.effort == kAllTypes) {
        ranked_.resize(neighbours_.size());
        pool.for_each(rows, [this](size_t y) { load_rows(static_cast<int>(y)); });
        pool.for_each(rows, [this](size_t y) { rank_row(static_cast<int>(y)); });
    }
    pool.for_each(rows, [this](size_t i) { encode_row(order_[i]); });
    bits_ = luma_distortion_ = 0;
    for (int s = 0; s < format_.slices; s++) write_qp_deltas(s);
    for (size_t y = 0; y < rows; y++) bits_ += rows_[y].bits, luma_distortion_ += rows_[y].luma_distortion;
}

// A row stays two macroblocks behind the one above, as blocks are predicted from above right. Rows begin in order, so
// the row above is running.
void PictureCoder::encode_row(int y) {
    Row &row = rows_[y];
    const int columns = format_.macroblock_columns();
    struct End {  // also where something is thrown: the row below waits
        Row &row;
        int columns;
        ~End() { row.done.store(columns, std::memory_order_release); }
    } end{row, columns};
    if (quality_.effort != kAllTypes) load_rows(y);
    row.bits = row.luma_distortion = 0;
    const bool above = !row.first_in_slice;
    MacroblockCoder coder(format_);
    int ahead = above ? 0 : columns;  // macroblocks that the row above has coded
    for (int x = 0; x < columns; x++) {
        const int wanted = std::min(x + 2, columns);
        while (ahead < wanted) {
            ahead = rows_[y - 1].done.load(std::memory_order_acquire);
            if (ahead < wanted) std::this_thread::yield();
        }
        const size_t at = static_cast<size_t>(y) * columns + x;
        MacroblockCoder::Place place{};
        for (int c = 0; c < format_.components(); c++)
            place.samples[c] = {planes_[c].at(x * format_.columns(c), y * format_.rows(c)), planes_[c].stride};
        place.available = {x > 0, above, above && x + 1 < columns};
        place.left = x > 0 ? &neighbours_[at - 1] : nullptr;
        place.above = above ? &neighbours_[at - columns] : nullptr;
        place.qp = macroblock_qp(x, y);
        place.drop_step = std::max(0, quality_.qp - kMaxQp);
        place.effort = quality_.effort;
        if (quality_.effort == kAllTypes) place.ranked = &ranked_[at];
        Macroblock &macroblock = macroblocks_[at];
        const auto result =
            coder.code(place, macroblock, levels_ + at * 16 * blocks_per_macroblock(format_.chroma), neighbours_[at]);
        macroblock.qp_delta = 0;
        macroblock.first_in_slice = row.first_in_slice && x == 0;
        macroblock.slice = static_cast<uint16_t>(row.slice);
        qp_[at] = static_cast<int8_t>(place.qp);
        row.bits += result.bits;
        row.luma_distortion += result.luma_distortion;
        row.done.store(x + 1, std::memory_order_release);
    }
}

void PictureCoder::rank_row(int y) {
    const int columns = format_.macroblock_columns();
    const bool above = !rows_[y].first_in_slice;
    for (int x = 0; x < columns; x++) {
        ConstBlock samples[3];
        for (int c = 0; c < luma_components(format_.chroma); c++)
            samples[c] = {planes_[c].at(16 * x, 16 * y), planes_[c].stride};
        ranked_[static_cast<size_t>(y * columns + x)] = rank_modes(
            samples, luma_components(format_.chroma), {x > 0, above, above && x + 1 < columns}, format_.bit_depth);
    }
}

// Source samples of a row of macroblocks.
void PictureCoder::load_rows(int y) {
    for (int c = 0; c < format_.components(); c++) {
        Plane &plane = planes_[c];
        const bool half_x = format_.columns(c) == 8, half_y = format_.rows(c) == 8;
        const int width = half_x ? (format_.width + 1) / 2 : format_.width;
        const int height = half_y ? (format_.height + 1) / 2 : format_.height;
        const int whole = format_.macroblock_columns() * format_.columns(c);
        const int first = y * format_.rows(c);
        for (int i = first; i < first + format_.rows(c); i++) {
            Sample *row = plane.at(0, i);
            if (i < height) {
                load_row(components_[c], 0, i, width, row);
                std::fill(row + width, row + whole, row[width - 1]);
            } else {
                std::copy_n(row - plane.stride, whole, row);
            }
        }
    }
}

int PictureCoder::macroblock_qp(int x, int y) const {
    const int qp = quality_.qp;
    if (!quality_.aq_strength || qp > kMaxQp) return std::min(qp, kMaxQp);
    uint32_t sum = 0, squares = 0;
    for (int i = 0; i < 16; i++) {
        const Sample *row = planes_[0].at(16 * x, 16 * y + i);
        for (int j = 0; j < 16; j++) sum += row[j], squares += uint32_t{row[j]} * row[j];
    }
    return adapted_qp(qp, quality_.aq_strength, sum, squares, format_.bit_depth);
}

void PictureCoder::write_qp_deltas(int slice) {
    const int columns = format_.macroblock_columns();
    int qp = std::min(quality_.qp, kMaxQp);
    for (int i = format_.first_row(slice) * columns; i < format_.first_row(slice + 1) * columns; i++) {
        Macroblock &m = macroblocks_[i];
        if (!has_qp_delta(m.type, m.coded_block_pattern)) continue;
        const int delta = qp_delta_of(qp_[static_cast<size_t>(i)], qp, format_.bit_depth);
        m.qp_delta = static_cast<int8_t>(delta);
        bits_ += qp_delta_bits(delta);
        qp = qp_[static_cast<size_t>(i)];
    }
}

}  // namespace cudaenc::h264
