// SPDX-License-Identifier: LGPL-2.1-or-later
#include "intra_coder.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "../../load_cpu.h"
#include "../../simd.h"
#include "../intra/adaptive_qp.h"
#include "../intra/intra_nxn.h"
#include "../intra/rank_cpu.h"
#include "../syntax/slice_cpu.h"

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

namespace {

// A macroblock's component, 8 or 16 wide: see source_bytes().
CUDAENC_CLONES void keep_samples(ConstBlock from, int columns, int rows, int bit_depth, uint8_t *to) {
    using Bytes = uint8_t __attribute__((vector_size(16)));
    const auto get = [](auto &vector, const Sample *at)
                         __attribute__((always_inline)) { std::memcpy(&vector, at, sizeof vector); };
    for (int y = 0; y < rows; y += 16 / columns) {
        const Sample *const at = from.at(0, y).data;
        Lanes samples;
        if (columns == 16) {
            get(samples, at);
        } else {
            Half first, second;
            get(first, at);
            get(second, at + from.stride);
            samples = join(first, second);
        }
        if (bit_depth > 8) {
            std::memcpy(to, &samples, sizeof samples);
            to += sizeof samples;
        } else {
            const Bytes bytes = __builtin_convertvector(samples, Bytes);
            std::memcpy(to, &bytes, sizeof bytes);
            to += sizeof bytes;
        }
    }
}

}  // namespace

IntraCoder::IntraCoder(const PictureFormat &format)
    : format_(format),
      neighbours_(static_cast<size_t>(format.macroblocks())),
      qp_(static_cast<size_t>(format.macroblocks())),
      slices_(format.macroblock_columns(), format.all_slices(), format.step()),
      rows_(std::make_unique<Row[]>(static_cast<size_t>(format.macroblock_rows()))),
      coded_rows_(std::make_unique<CodedRow[]>(static_cast<size_t>(format.macroblock_rows()))),
      order_(order_rows(format)) {
    for (int c = 0; c < format.components(); c++)  // rows of a macroblock must not share cache sets
        planes_[c].stride = (format.macroblock_columns() * format.columns(c) + 63) / 64 * 64 + 32;
    if (format.scaling) weighted_ = std::make_unique<WeightedQuantisers>(transposed(*format.scaling));
    set_slices(format.all_slices());
}

void IntraCoder::set_slices(const std::vector<Slice> &slices) {
    slices_.set(slices);
    divides_rows_ = std::any_of(slices.begin(), slices.end(), [&](const Slice &slice) {
        return slice.first % static_cast<uint32_t>(format_.macroblock_columns()) != 0;
    });
    for (int y = 0; y < format_.macroblock_rows(); y++)
        rows_[y].begins_slice = slices_.first(index_of(0, y)) == index_of(0, y);
}

void IntraCoder::encode(const SampleLayout *components, const PictureQuality &quality, ThreadPool &pool,
                        Macroblock *macroblocks, int16_t *levels) {
    components_ = components;
    quality_ = quality;
    macroblocks_ = macroblocks;
    levels_ = levels;
    const bool in_lanes = quality.effort == kAllTypes && !divides_rows_ && MacroblockLanes::takes(format_) &&
                          quality.qp >= kLeastLaneQp && quality.qp <= kMostLaneQp;
    only_last_rows_ = in_lanes && !quality.reconstructs;
    const size_t rows = order_.size();
    for (int c = 0; c < format_.components(); c++) {
        const size_t lines = only_last_rows_ ? rows + 1 : rows * static_cast<size_t>(format_.rows(c));
        const size_t samples = lines * static_cast<size_t>(planes_[c].stride);
        if (planes_[c].samples.size() < samples) planes_[c].samples.resize(samples);
    }
    for (size_t y = 0; y < rows; y++) {
        rows_[y].done.store(0, std::memory_order_relaxed);
        coded_rows_[y].bits = coded_rows_[y].luma_distortion = 0;
    }
    if (quality.effort == kAllTypes) {
        ranked_.resize(neighbours_.size());
        likely_.resize(neighbours_.size());
        totals_.resize(neighbours_.size() * static_cast<size_t>(blocks_per_macroblock(format_.chroma)));
        if (in_lanes) source_.resize(neighbours_.size() * source_bytes(format_));
        std::atomic<int> next = 0;
        pool.for_each(std::min(rows, static_cast<size_t>(pool.threads())),
                      [&](size_t) { analyse_rows(next, in_lanes); });
    }
    if (in_lanes) {
        const size_t lanes = static_cast<size_t>(lane_vectors().front().lanes);
        pool.for_each((rows + lanes - 1) / lanes, [this](size_t) { encode_rows(); });
    } else {
        pool.for_each(rows, [this](size_t i) { encode_row(order_[i]); });
    }
    bits_ = luma_distortion_ = 0;
    for (const Slice &slice : slices_.slices()) write_qp_deltas(slice);
    for (size_t y = 0; y < rows; y++) bits_ += coded_rows_[y].bits, luma_distortion_ += coded_rows_[y].luma_distortion;
}

// A row stays two macroblocks behind the one above, as blocks are predicted from above right. Rows begin in order, so
// the row above is running.
void IntraCoder::encode_row(int y) {
    Row &row = rows_[y];
    const int columns = format_.macroblock_columns();
    struct End {  // also where something is thrown: the row below waits
        Row &row;
        int columns;
        ~End() { row.done.store(columns, std::memory_order_release); }
    } end{row, columns};
    for (int c = 0; c < format_.components(); c++)
        load_lines(c, y * format_.rows(c), format_.rows(c), planes_[c].at(0, y * format_.rows(c)));
    MacroblockCoder coder(format_, weighted_ ? *weighted_ : Quantisers{});
    int ahead = row.begins_slice ? columns : 0;  // macroblocks that the row above has coded
    for (int x = 0; x < columns; x++) {
        const int wanted = std::min(x + format_.step() + 1, columns);
        while (ahead < wanted) {
            ahead = rows_[y - 1].done.load(std::memory_order_acquire);
            if (ahead < wanted) std::this_thread::yield();
        }
        const MacroblockCoder::Place place = place_of(x, y);
        const size_t at = index_of(x, y);
        const auto result = coder.code(place, macroblocks_[at], levels_of(at), neighbours_[at]);
        keep(coded_rows_[y], at, place.qp, result);
        row.done.store(x + 1, std::memory_order_release);
    }
}

// Where a line is a row's last samples alone, a macroblock's rows are that much closer: its last one is on a line, the
// one above it on the line before.
Block IntraCoder::samples_of(int component, int x, int y) {
    Plane &plane = planes_[component];
    const int first = format_.place_in_row(x) * format_.columns(component), rows = format_.rows(component);
    if (!only_last_rows_) return {plane.at(first, y * rows), plane.stride};
    const ptrdiff_t stride = plane.stride / rows;
    return {plane.at(first, y + 1) - (rows - 1) * stride, stride};
}

MacroblockCoder::Place IntraCoder::place_of(int x, int y) {
    const size_t at = index_of(x, y);
    MacroblockCoder::Place place{};
    for (int c = 0; c < format_.components(); c++) place.samples[c] = samples_of(c, x, y);
    place.available = slices_.available(x, y);
    place.left = place.available.left ? &neighbours_[at - static_cast<size_t>(format_.step())] : nullptr;
    place.above =
        place.available.above ? &neighbours_[at - static_cast<size_t>(format_.macroblock_columns())] : nullptr;
    place.qp = quality_.effort == kAllTypes ? qp_[at] : macroblock_qp(x, y, place.samples[0]);
    place.drop_step = std::max(0, quality_.qp - kMaxQp);
    place.effort = quality_.effort;
    if (quality_.effort == kAllTypes) {
        place.ranked = &ranked_[at];
        place.likely = likely_[at];
    }
    return place;
}

void IntraCoder::keep(CodedRow &row, size_t at, int qp, const MacroblockCoder::Result &result) {
    Macroblock &macroblock = macroblocks_[at];
    macroblock.qp_delta = 0;
    macroblock.first_in_slice = slices_.first(at) == at;
    macroblock.slice = slices_.number(at);
    qp_[at] = static_cast<int8_t>(qp);
    const bool begins_pair = format_.field_pairs && at % 2 == 0;  // which has mb_field_decoding_flag
    if (quality_.counts) row.bits += quality_.effort == kAllTypes ? count_bits(at) : result.bits + begins_pair;
    row.luma_distortion += result.luma_distortion;
}

// Macroblocks of several rows side by side. The lowest rows go first: their macroblocks have the longest way to go.
// Where more are ready than there are lanes, those that are coded as the types that most of them have come before those
// of fewer types, and those of more types wait.
void IntraCoder::encode_rows() {
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
        int end = first;  // rows from there on wait
        for (bool waits = false; end < rows && !waits; end++) {
            const int y = order_[end], t = rows_[y].taken.load(std::memory_order_relaxed) ? kNotReady : types_of(y);
            types[end] = static_cast<int8_t>(t);
            if (t != kNotReady) ready[t]++, all_ready++;
            waits = t == kNotReady && !done(y) && format_.slices == 1;
        }
        MacroblockLanes::Task tasks[kMostLanes]{};
        int taken[kMostLanes], count = 0;
        const auto take = [&](int wanted) {
            for (int i = end - 1; i >= first && count < lanes; i--) {
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
                                .source = source_.data() + at * source_bytes(format_),
                                .columns = &coded_rows_[y].columns,
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
        (narrow && count <= vectors[1].lanes ? narrow : coder)->code(tasks, quality_.reconstructs);
        for (int i = 0; i < count; i++) {
            MacroblockLanes::Task &t = tasks[i];
            Row &row = rows_[taken[i]];
            if (t.macroblock->type == MacroblockType::pcm) encode_alone(alone, t);
            const int x = done(taken[i]);
            keep(coded_rows_[taken[i]], index_of(x, taken[i]), t.place.qp, t.result);
            row.done.store(x + 1, std::memory_order_release);
            row.taken.store(false, std::memory_order_release);
        }
    }
}

// A macroblock that lanes do not take, in samples of its own: as MacroblockCoder wants them.
void IntraCoder::encode_alone(MacroblockCoder &coder, MacroblockLanes::Task &task) const {
    constexpr ptrdiff_t kStride = 48, kFirst = kStride + 16;  // a line above, a column to the left, 8 above right
    alignas(64) Sample samples[3][17 * kStride]{};
    MacroblockCoder::Place place = task.place;
    const uint8_t *source = task.source;
    Sample *column = task.columns->samples;
    for (int c = 0; c < format_.components(); c++) {
        const int columns = format_.columns(c), rows = format_.rows(c);
        const Block own = place.samples[c] = {samples[c] + kFirst, kStride};
        if (place.above) std::copy_n(task.place.samples[c].at(-1, -1).data, 1 + columns + 8, own.at(-1, -1).data);
        for (int y = 0; y < rows; y++) {
            Sample *const row = own.at(0, y).data;
            if (place.left) row[-1] = column[y];
            for (int x = 0; x < columns; x++, source += format_.bit_depth > 8 ? 2 : 1)
                if (format_.bit_depth > 8)
                    std::memcpy(row + x, source, sizeof *row);
                else
                    row[x] = *source;
        }
        column += rows;
    }
    task.result = coder.code(place, *task.macroblock, task.levels, *task.neighbour);
    column = task.columns->samples;
    for (int c = 0; c < format_.components(); c++) {
        const int columns = format_.columns(c), rows = format_.rows(c);
        for (int y = 0; y < rows; y++) {
            const Sample *const row = place.samples[c].at(0, y).data;
            *column++ = row[columns - 1];
            if (quality_.reconstructs || y + 1 == rows) std::copy_n(row, columns, task.place.samples[c].at(0, y).data);
        }
    }
}

// Of macroblock_layer(), mb_qp_delta of 0 assumed. Estimates decide with kAllTypes, so bits are counted once.
uint32_t IntraCoder::count_bits(size_t at) {
    return count_macroblock(format_.coded(), {macroblocks_, levels_, nullptr}, static_cast<uint32_t>(at),
                            slices_.first(at), totals_.data());
}

void IntraCoder::count() {
    totals_.resize(neighbours_.size() * static_cast<size_t>(blocks_per_macroblock(format_.chroma)));
    bits_ = 0;
    for (size_t at = 0; at < neighbours_.size(); at++) bits_ += count_bits(at);
}

uint32_t IntraCoder::satd_lambda(size_t at) const {
    return satd_lambda_of(qp_[at] + qp_bd_offset(format_.bit_depth) + std::max(0, quality_.qp - kMaxQp));
}

// What is known of macroblocks before they are coded: rows that no other thread takes. A cache has a row, with the line
// above.
void IntraCoder::analyse_rows(std::atomic<int> &next, bool in_lanes) {
    LineVector<Sample> lines[3];
    for (int c = 0; c < format_.components(); c++)
        lines[c].resize(static_cast<size_t>(planes_[c].stride * (format_.rows(c) + 1)));
    for (int y; (y = next++) < format_.macroblock_rows();) {
        ConstBlock samples[3];
        for (int c = 0; c < format_.components(); c++) {
            const int first = y * format_.rows(c), above = y > 0 && c < luma_components(format_.chroma);
            Sample *const at = lines[c].data() + planes_[c].stride;
            load_lines(c, first - above, format_.rows(c) + above, at - above * planes_[c].stride);
            samples[c] = {at, planes_[c].stride};
        }
        measure_row(y, samples);
        rank_row(y, samples);
        if (in_lanes) keep_source(y, samples);
    }
}

void IntraCoder::measure_row(int y, const ConstBlock *samples) {
    for (int x = 0; x < format_.macroblock_columns(); x++) {
        const size_t at = index_of(x, y);
        const int first = 16 * format_.place_in_row(x);
        qp_[at] = static_cast<int8_t>(macroblock_qp(x, y, samples[0].at(first, 0)));
        ranked_[at] = {};
        for (int c = 0; c < luma_components(format_.chroma); c++)
            ranked_[at].texture += texture_of(samples[c].at(first, 0));
    }
}

void IntraCoder::rank_row(int y, const ConstBlock *samples) {
    const bool in_lanes = !divides_rows_ && MacroblockLanes::takes(format_);  // lanes know of no other corner
    std::vector<int> textured;                                                // columns
    for (int x = 0; x < format_.macroblock_columns(); x++) {
        const size_t at = index_of(x, y);
        likely_[at] = kOnly16x16;
        if (ranked_[at].likely_16x16(satd_lambda(at)) && !format_.only_8x8) continue;
        if (in_lanes) {
            textured.push_back(x);
            continue;
        }
        const int components = luma_components(format_.chroma);
        ConstBlock places[3];
        for (int c = 0; c < components; c++) places[c] = samples[c].at(16 * format_.place_in_row(x), 0);
        ranked_[at] = rank_modes(places, components, slices_.available(x, y), format_.bit_depth);
        likely_[at] = ranked_[at].likely_types(satd_lambda(at), format_.transform_8x8);
    }
    rank_in_lanes(y, samples, textured);
}

void IntraCoder::rank_in_lanes(int y, const ConstBlock *samples, std::span<const int> columns) {
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
            for (int c = 0; c < components; c++) at[c][i] = samples[c].at(16 * x, 0).data;
            neighbours[i] = slices_.available(x, y);
            satd_lambdas[i] = satd_lambda(index_of(x, y));
            modes[i] = ranked_[index_of(x, y)];
        }
        vectors.rank(format_, at, samples[0].stride, neighbours, satd_lambdas, nullptr, modes);
        for (size_t i = 0; i < count; i++) {
            const size_t macroblock = index_of(columns[i], y);
            ranked_[macroblock] = modes[i];
            likely_[macroblock] = modes[i].likely_types(satd_lambdas[i], format_.transform_8x8);
        }
        columns = columns.subspan(count);
    }
}

// Lines of source samples of whole macroblocks; of pairs those of both fields.
void IntraCoder::load_lines(int component, int first, int count, Sample *to) const {
    const bool half_x = format_.columns(component) == 8, half_y = format_.rows(component) == 8;
    const int fields = format_.step();
    const int width = half_x ? (format_.width + 1) / 2 : format_.width;
    const int height = (half_y ? (format_.height + 1) / 2 : format_.height) / fields;
    const int whole = format_.macroblock_columns() / fields * format_.columns(component);
    for (int y = first; y < first + count; y++, to += planes_[component].stride)
        for (int field = 0; field < fields; field++) {
            Sample *const line = to + field * whole;
            if (y < height) {
                load_row(components_[component], 0, fields * y + field, width, line);
                std::fill(line + width, line + whole, line[width - 1]);
            } else {
                std::copy_n(line - planes_[component].stride, whole, line);
            }
        }
}

void IntraCoder::keep_source(int y, const ConstBlock *samples) {
    uint8_t *to = source_.data() + index_of(0, y) * source_bytes(format_);
    for (int x = 0; x < format_.macroblock_columns(); x++)
        for (int c = 0; c < format_.components(); c++) {
            const int columns = format_.columns(c), rows = format_.rows(c);
            keep_samples(samples[c].at(columns * x, 0), columns, rows, format_.bit_depth, to);
            to += columns * rows * (format_.bit_depth > 8 ? 2 : 1);
        }
}

int IntraCoder::macroblock_qp(int x, int y, const ConstBlock &luma) const {
    if (!quality_.is_adaptive()) return std::min(quality_.qp, kMaxQp);
    const auto [sum, squares] = sums_of(luma);
    const MacroblockQps qps{.qp = quality_.qp,
                            .strength = quality_.aq_strength,
                            .lowest_adapted = format_.lowest_qp,
                            .lowest = format_.lowest_qp,
                            .bit_depth = format_.bit_depth,
                            .regions = quality_.regions};
    return qps.at(x / format_.step(), y, sum, squares, quality_.offsets ? quality_.offsets[index_of(x, y)] : 0);
}

void IntraCoder::write_qp_deltas(const Slice &slice) {
    int qp = std::min(quality_.qp, kMaxQp);
    for (size_t i = slice.first; i < slice.first + slice.count; i++) {
        Macroblock &m = macroblocks_[i];
        if (!has_qp_delta(m.type, m.coded_block_pattern)) continue;
        const int delta = qp_delta_of(qp_[i], qp, format_.bit_depth);
        m.qp_delta = static_cast<int8_t>(delta);
        bits_ += qp_delta_bits(delta);
        qp = qp_[i];
    }
}

}  // namespace cudaenc::h264
