// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_coder.h"

#include <algorithm>
#include <thread>

#include "../load_cpu.h"
#include "adaptive_qp.h"
#include "macroblock_lanes.h"
#include "rank_cpu.h"
#include "slice_cpu.h"

namespace cudaenc::h264 {

std::vector<int> order_rows(const PictureFormat &f) {
    std::vector<int> begins;  // of runs
    for (int s = 0; s <= f.slices; s++)
        if (const int first = f.first_macroblock(s); first % f.macroblock_columns() == 0)
            begins.push_back(first / f.macroblock_columns());
    std::vector<int> order;
    for (int i = 0; i < f.macroblock_rows(); i++)
        for (size_t r = 0; r + 1 < begins.size(); r++)
            if (begins[r] + i < begins[r + 1]) order.push_back(begins[r] + i);
    return order;
}

PictureCoder::PictureCoder(const PictureFormat &format)
    : format_(format),
      neighbours_(static_cast<size_t>(format.macroblocks())),
      qp_(static_cast<size_t>(format.macroblocks())),
      rows_(std::make_unique<Row[]>(static_cast<size_t>(format.macroblock_rows()))),
      order_(order_rows(format)) {
    for (int c = 0; c < format.components(); c++) {
        // Rows of a macroblock must not share cache sets.
        planes_[c].stride = (format.macroblock_columns() * format.columns(c) + 63) / 64 * 64 + 32;
        planes_[c].samples.resize(static_cast<size_t>(planes_[c].stride * format.macroblock_rows() * format.rows(c)));
    }
    for (int s = 0; s < format.slices; s++)
        slice_of_.resize(static_cast<size_t>(format.first_macroblock(s + 1)), static_cast<uint16_t>(s));
    if (format.scaling) weighted_ = std::make_unique<WeightedQuantisers>(*format.scaling);
    for (int y = 0; y < format.macroblock_rows(); y++)
        rows_[y].begins_slice = !y || slice_of(0, y) != slice_of(format.macroblock_columns() - 1, y - 1);
}

// The macroblocks of the same slice around one (6.4.9).
Available PictureCoder::available(int x, int y) const {
    const int slice = slice_of(x, y), columns = format_.macroblock_columns();
    const auto same = [&](int i, int j) { return i >= 0 && i < columns && j >= 0 && slice_of(i, j) == slice; };
    return {.left = same(x - 1, y),
            .above = same(x, y - 1),
            .above_right = same(x + 1, y - 1),
            .other_corner = !same(x - 1, y - 1)};
}

void PictureCoder::encode(const SampleLayout *components, const PictureQuality &quality, ThreadPool &pool,
                          Macroblock *macroblocks, int16_t *levels) {
    components_ = components;
    quality_ = quality;
    macroblocks_ = macroblocks;
    levels_ = levels;
    const size_t rows = order_.size();
    for (size_t y = 0; y < rows; y++) {
        rows_[y].done.store(0, std::memory_order_relaxed);
        rows_[y].loaded.store(false, std::memory_order_relaxed);
    }
    if (quality.effort == kAllTypes) {
        ranked_.resize(neighbours_.size());
        likely_.resize(neighbours_.size());
        totals_.resize(neighbours_.size() * static_cast<size_t>(blocks_per_macroblock(format_.chroma)));
        pool.for_each(rows, [this](size_t y) {
            load_rows(static_cast<int>(y));
            rows_[y].loaded.store(true, std::memory_order_release);
            measure_row(static_cast<int>(y));
            while (y && !rows_[y - 1].loaded.load(std::memory_order_acquire)) std::this_thread::yield();
            rank_row(static_cast<int>(y));
        });
    }
    if (quality.effort == kAllTypes && MacroblockLanes::takes(format_) && quality.qp >= kLeastLaneQp &&
        quality.qp <= kMostLaneQp) {
        for (size_t y = 0; y < rows; y++) rows_[y].bits = rows_[y].luma_distortion = 0;
        const size_t lanes = static_cast<size_t>(lane_vectors().front().lanes);
        pool.for_each((rows + lanes - 1) / lanes, [this](size_t) { encode_rows(); });
    } else {
        pool.for_each(rows, [this](size_t i) { encode_row(order_[i]); });
    }
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
    MacroblockCoder coder(format_, weighted_ ? *weighted_ : Quantisers{});
    int ahead = row.begins_slice ? columns : 0;  // macroblocks that the row above has coded
    for (int x = 0; x < columns; x++) {
        const int wanted = std::min(x + 2, columns);
        while (ahead < wanted) {
            ahead = rows_[y - 1].done.load(std::memory_order_acquire);
            if (ahead < wanted) std::this_thread::yield();
        }
        const MacroblockCoder::Place place = place_of(x, y);
        const size_t at = index_of(x, y);
        const auto result = coder.code(place, macroblocks_[at], levels_of(at), neighbours_[at]);
        keep(row, at, place.qp, result);
        row.done.store(x + 1, std::memory_order_release);
    }
}

MacroblockCoder::Place PictureCoder::place_of(int x, int y) {
    const size_t at = index_of(x, y);
    MacroblockCoder::Place place{};
    for (int c = 0; c < format_.components(); c++)
        place.samples[c] = {planes_[c].at(x * format_.columns(c), y * format_.rows(c)), planes_[c].stride};
    place.available = available(x, y);
    place.left = place.available.left ? &neighbours_[at - 1] : nullptr;
    place.above =
        place.available.above ? &neighbours_[at - static_cast<size_t>(format_.macroblock_columns())] : nullptr;
    place.qp = quality_.effort == kAllTypes ? qp_[at] : macroblock_qp(x, y);
    place.drop_step = std::max(0, quality_.qp - kMaxQp);
    place.effort = quality_.effort;
    if (quality_.effort == kAllTypes) {
        place.ranked = &ranked_[at];
        place.likely = likely_[at];
    }
    return place;
}

void PictureCoder::keep(Row &row, size_t at, int qp, const MacroblockCoder::Result &result) {
    Macroblock &macroblock = macroblocks_[at];
    macroblock.qp_delta = 0;
    macroblock.first_in_slice = at == 0 || slice_of_[at] != slice_of_[at - 1];
    macroblock.slice = slice_of_[at];
    qp_[at] = static_cast<int8_t>(qp);
    if (quality_.counts) row.bits += quality_.effort == kAllTypes ? count_bits(at) : result.bits;
    row.luma_distortion += result.luma_distortion;
}

// Macroblocks of several rows side by side. The lowest rows go first: their macroblocks have the longest way to go.
// Where more are ready than there are lanes, those that are coded as the types that most of them have come before those
// of fewer types, and those of more types wait.
void PictureCoder::encode_rows() {
    const std::span<const LaneVectors> vectors = lane_vectors();
    const std::unique_ptr<MacroblockLanes> coder = vectors[0].make(format_);
    std::unique_ptr<MacroblockLanes> narrow;  // where it has fewer lanes, for few macroblocks
    if (vectors.size() > 1 && vectors[1].lanes < vectors[0].lanes) narrow = vectors[1].make(format_);
    MacroblockCoder alone(format_, Quantisers{});
    const int columns = format_.macroblock_columns(), lanes = vectors[0].lanes;
    int first = 0;  // those before are coded
    std::vector<int8_t> types(order_.size());
    for (;;) {
        const auto done = [&](int y) { return rows_[y].done.load(std::memory_order_acquire); };
        const int rows = static_cast<int>(order_.size());
        while (first < rows && done(order_[first]) == columns) first++;
        if (first == rows) return;
        // The types of a row's next macroblock, where it is ready.
        constexpr int kNotReady = -1;
        const auto types_of = [&](int y) -> int {
            const int x = done(y);
            const bool ready = x < columns && (rows_[y].begins_slice || done(y - 1) >= std::min(x + 2, columns));
            return ready ? likely_[index_of(x, y)] : kNotReady;
        };
        int ready[kLikelyTypes]{}, all_ready = 0;
        for (int i = first; i < rows; i++) {
            const int y = order_[i];
            types[i] = static_cast<int8_t>(rows_[y].taken.load(std::memory_order_relaxed) ? kNotReady : types_of(y));
            if (types[i] != kNotReady) ready[types[i]]++, all_ready++;
        }
        MacroblockLanes::Task tasks[kMostLanes]{};
        int taken[kMostLanes], count = 0;
        const auto take = [&](int wanted) {
            for (int i = rows - 1; i >= first && count < lanes; i--) {
                const int y = order_[i];
                Row &row = rows_[y];
                if (types[i] != wanted || row.taken.exchange(true, std::memory_order_acquire)) continue;
                if (types_of(y) != wanted) {
                    row.taken.store(false, std::memory_order_release);
                    continue;
                }
                const int x = done(y);
                const size_t at = index_of(x, y);
                tasks[count] = {.place = place_of(x, y),
                                .macroblock = &macroblocks_[at],
                                .levels = levels_of(at),
                                .neighbour = &neighbours_[at],
                                .result = {}};
                taken[count++] = y;
            }
        };
        int most = kAlso4x4;
        for (int t = kAlso8x8; t >= kOnly16x16 && all_ready > lanes; t--)
            if (ready[t] > ready[most]) most = t;
        for (int wanted = most; wanted >= kOnly16x16; wanted--) take(wanted);
        if (!count) {
            std::this_thread::yield();
            continue;
        }
        (narrow && count <= vectors[1].lanes ? narrow : coder)->code(tasks);
        for (int i = 0; i < count; i++) {
            MacroblockLanes::Task &t = tasks[i];
            Row &row = rows_[taken[i]];
            if (t.macroblock->type == MacroblockType::pcm)
                t.result = alone.code(t.place, *t.macroblock, t.levels, *t.neighbour);
            const int x = done(taken[i]);
            keep(row, index_of(x, taken[i]), t.place.qp, t.result);
            row.done.store(x + 1, std::memory_order_release);
            row.taken.store(false, std::memory_order_release);
        }
    }
}

// Of macroblock_layer(), mb_qp_delta of 0 assumed. Estimates decide with kAllTypes, so bits are counted once.
uint32_t PictureCoder::count_bits(size_t at) {
    return count_macroblock(format_.coded(), {macroblocks_, levels_, nullptr}, static_cast<uint32_t>(at),
                            static_cast<uint32_t>(format_.first_macroblock(slice_of_[at])), totals_.data());
}

void PictureCoder::count() {
    totals_.resize(neighbours_.size() * static_cast<size_t>(blocks_per_macroblock(format_.chroma)));
    bits_ = 0;
    for (size_t at = 0; at < neighbours_.size(); at++) bits_ += count_bits(at);
}

uint32_t PictureCoder::satd_lambda(size_t at) const {
    return satd_lambda_of(qp_[at] + qp_bd_offset(format_.bit_depth) + std::max(0, quality_.qp - kMaxQp));
}

// What needs no neighbours, while the row's samples are in a cache.
void PictureCoder::measure_row(int y) {
    for (int x = 0; x < format_.macroblock_columns(); x++) {
        const size_t at = index_of(x, y);
        qp_[at] = static_cast<int8_t>(macroblock_qp(x, y));
        ranked_[at] = {};
        for (int c = 0; c < luma_components(format_.chroma); c++)
            ranked_[at].texture += texture_of({planes_[c].at(16 * x, 16 * y), planes_[c].stride});
    }
}

void PictureCoder::rank_row(int y) {
    const bool in_lanes = MacroblockLanes::takes(format_);
    std::vector<int> textured;  // columns
    for (int x = 0; x < format_.macroblock_columns(); x++) {
        const size_t at = index_of(x, y);
        likely_[at] = kOnly16x16;
        if (ranked_[at].likely_16x16(satd_lambda(at)) && !format_.only_8x8) continue;
        if (in_lanes) {
            textured.push_back(x);
            continue;
        }
        const int components = luma_components(format_.chroma);
        ConstBlock samples[3];
        for (int c = 0; c < components; c++) samples[c] = {planes_[c].at(16 * x, 16 * y), planes_[c].stride};
        ranked_[at] = rank_modes(samples, components, available(x, y), format_.bit_depth);
        likely_[at] = ranked_[at].likely_types(satd_lambda(at), format_.transform_8x8);
    }
    rank_in_lanes(y, textured);
}

void PictureCoder::rank_in_lanes(int y, std::span<const int> columns) {
    const LaneVectors &vectors = lane_vectors().front();
    const int components = luma_components(format_.chroma);
    while (!columns.empty()) {
        const size_t count = std::min(columns.size(), static_cast<size_t>(vectors.lanes));
        const Sample *at[3][kMostLanes];
        Available neighbours[kMostLanes];
        uint32_t satd_lambdas[kMostLanes];
        RankedModes modes[kMostLanes];
        for (size_t i = 0; i < static_cast<size_t>(vectors.lanes); i++) {
            const int x = columns[std::min(i, count - 1)];
            for (int c = 0; c < components; c++) at[c][i] = planes_[c].at(16 * x, 16 * y);
            neighbours[i] = available(x, y);
            satd_lambdas[i] = satd_lambda(index_of(x, y));
            modes[i] = ranked_[index_of(x, y)];
        }
        vectors.rank(format_, at, planes_[0].stride, neighbours, satd_lambdas, modes);
        for (size_t i = 0; i < count; i++) {
            const size_t macroblock = index_of(columns[i], y);
            ranked_[macroblock] = modes[i];
            likely_[macroblock] = modes[i].likely_types(satd_lambdas[i], format_.transform_8x8);
        }
        columns = columns.subspan(count);
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
    return std::max(format_.lowest_qp, adapted_qp(qp, quality_.aq_strength, sum, squares, format_.bit_depth));
}

void PictureCoder::write_qp_deltas(int slice) {
    int qp = std::min(quality_.qp, kMaxQp);
    for (int i = format_.first_macroblock(slice); i < format_.first_macroblock(slice + 1); i++) {
        Macroblock &m = macroblocks_[i];
        if (!has_qp_delta(m.type, m.coded_block_pattern)) continue;
        const int delta = qp_delta_of(qp_[static_cast<size_t>(i)], qp, format_.bit_depth);
        m.qp_delta = static_cast<int8_t>(delta);
        bits_ += qp_delta_bits(delta);
        qp = qp_[static_cast<size_t>(i)];
    }
}

}  // namespace cudaenc::h264
