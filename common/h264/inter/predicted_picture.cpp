// SPDX-License-Identifier: LGPL-2.1-or-later
#include "predicted_picture.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "../../load_cpu.h"
#include "../intra/adaptive_qp.h"
#include "../intra/rank_cpu.h"
#include "../syntax/slice_cpu.h"
#include "finish.h"

namespace cudaenc::h264 {

namespace {

template <int Width>
void copy(ConstBlock from, Block to, int rows) {
    for (int y = 0; y < rows; y++) std::memcpy(to.at(0, y).data, from.at(0, y).data, Width * sizeof(Sample));
}
void copy(ConstBlock from, Block to, int columns, int rows) {
    if (columns == 16)
        copy<16>(from, to, rows);
    else
        copy<8>(from, to, rows);
}

}  // namespace

PredictedPictureCoder::PredictedPictureCoder(const PictureFormat &format, int vertical)
    : format_(format),
      columns_(format.macroblock_columns()),
      rows_(format.macroblock_rows()),
      vertical_(vertical),
      slices_(columns_, format.all_slices()),
      searches_(format.separate_field() ? 2 : 1, {MotionSearch(columns_, rows_, vertical), {}}),
      refinement_(columns_, rows_, vertical),
      intra_done_(std::make_unique<std::atomic<int>[]>(static_cast<size_t>(rows_))) {
    const size_t count = static_cast<size_t>(columns_ * rows_);
    for (int c = 0; c < format.components(); c++) {  // rows of a macroblock must not share cache sets
        strides_[c] = (columns_ * format.columns(c) + 63) / 64 * 64 + 32;
        planes_[c].resize(static_cast<size_t>(strides_[c] * rows_ * format.rows(c)));
    }
    qp_.resize(count);
    motion_.resize(count);
    ranked_.resize(count);
    maybe_intra_.resize(count);
    inter_.resize(count);
    neighbours_.resize(count);
    totals_.resize(count * static_cast<size_t>(blocks_per_macroblock(format.chroma)));
}

template <class Body>
void PredictedPictureCoder::for_rows(ThreadPool &pool, const Body &body) {
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) body(x, static_cast<int>(y));
    });
}

void PredictedPictureCoder::encode(const SampleLayout *components, const PictureQuality &quality,
                                   const PictureBefore &before, const SourcePyramid &source, ThreadPool &pool,
                                   Macroblock *macroblocks, int16_t *levels, const RefreshColumns &refresh,
                                   const FieldReference &refers_to) {
    before_ = &before;
    source_ = &source;
    refresh_ = refresh;
    macroblocks_ = macroblocks;
    levels_ = levels;
    picture_qp_ = std::min(quality.qp, kMaxQp);
    drop_step_ = std::max(0, quality.qp - kMaxQp);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int c = 0; c < format_.components(); c++) load_lines(components[c], c, static_cast<int>(y));
        choose_qps(quality, static_cast<int>(y));
    });
    const MotionSearch &found = search(quality.qp, before, source, pool, refers_to.distance);
    refinement_.find(compared(source).levels[0], before.decoded, found, qp_.data(), drop_step_, refresh_, pool);
    pool.for_each(static_cast<size_t>(rows_), [this](size_t y) { find_intra(static_cast<int>(y)); });
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        const auto coder = std::make_unique<InterCoder>(format_, before.decoded, refers_to.chroma_offset, weights_);
        for (int x = 0; x < columns_; x++) code_inter(*coder, x, static_cast<int>(y));
        intra_done_[y].store(0, std::memory_order_relaxed);
    });
    pool.for_each(static_cast<size_t>(rows_), [this](size_t y) { code_intra_row(static_cast<int>(y)); });
    for_rows(pool, [this](int x, int y) { finish_motion(x, y); });
    write_qp_deltas();
    if (quality.counts) count();
}

// A row of macroblocks.
void PredictedPictureCoder::load_lines(const SampleLayout &layout, int component, int y) {
    const int size = format_.rows(component), whole = columns_ * format_.columns(component);
    const int width = format_.columns(component) == 8 ? (format_.width + 1) / 2 : format_.width;
    const int height = size == 8 ? (format_.height + 1) / 2 : format_.height;
    for (int i = size * y; i < size * (y + 1); i++) {
        Sample *const to = planes_[component].data() + i * strides_[component];
        load_row(layout, 0, std::min(i, height - 1), width, to);
        std::fill(to + width, to + whole, to[width - 1]);
    }
}

void PredictedPictureCoder::load_source(const SampleLayout &luma, SourcePyramid &source, ThreadPool &pool) {
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) { load_lines(luma, 0, static_cast<int>(y)); });
    source.build(reconstruction(0), 16 * columns_, 16 * rows_, pool, format_.bit_depth);
    for (Search &each : searches_) each.lambda.reset();
    weights_ = {};
}

const PictureWeights &PredictedPictureCoder::choose_weights(const PictureBefore &before, const SourcePyramid &source,
                                                            ThreadPool &pool) {
    weights_ = find_weights(source, before.source);
    if (weights_.any()) weighed_.build_before(source, weights_, pool);
    return weights_;
}

const MotionSearch &PredictedPictureCoder::search(int qp, const PictureBefore &before, const SourcePyramid &source,
                                                  ThreadPool &pool, int distance) {
    Search &s = searches_[static_cast<size_t>(distance) - 1];
    const uint32_t lambda = motion_lambda_of(qp);
    if (s.lambda != lambda) s.search.find(compared(source), before.source, lambda, pool);
    s.lambda = lambda;
    return s.search;
}

void PredictedPictureCoder::choose_qps(const PictureQuality &quality, int y) {
    const MacroblockQps qps{.qp = picture_qp_,
                            .strength = quality.aq_strength,
                            // What IDR pictures have coded with a lower QP is predicted from them.
                            .lowest_adapted = picture_qp_,
                            .lowest = format_.lowest_qp,
                            .bit_depth = format_.bit_depth,
                            .regions = quality.regions};
    for (int x = 0; x < columns_; x++) {
        int qp = picture_qp_;
        if (quality.is_adaptive()) {
            const auto [sum, squares] = sums_of(at(0, x, y));
            qp = qps.at(x, y, sum, squares, quality.offsets ? quality.offsets[index_of(x, y)] : 0);
        }
        qp_[index_of(x, y)] = static_cast<int8_t>(qp);
    }
}

// ---- Intra macroblocks

// What types have to cost less than as SATDs, where inter costs so much.
SatdLimits PredictedPictureCoder::limits_of(size_t at, uint32_t inter) const {
    const auto left = [&](uint32_t bits) { return inter - std::min(inter, worth(satd_lambda(at), bits)); };
    return {left(kBits16x16), format_.transform_8x8 ? left(kBits8x8) : 0, left(kBits4x4)};
}

// Ranks modes on source samples. Whether one of the types is below its limit.
bool PredictedPictureCoder::rank(int x, int y, const SatdLimits &limits) {
    constexpr ptrdiff_t kStride = 32;  // a line above, a column to the left, 8 samples above right
    alignas(32) Sample samples[17 * kStride + 32];
    Sample *const own = samples + kStride + 4;
    for (int row = -1; row < 16; row++)
        std::copy_n(source_at(16 * x - 1, 16 * y + row).data, row < 0 ? 25 : 17, own + row * kStride - 1);
    const ConstBlock luma{own, kStride};
    const RankedModes &modes = ranked_[index_of(x, y)] = rank_modes(&luma, 1, available(x, y), 8);
    return least_satd_16x16(luma, available(x, y), 8) < limits.of_16x16 || modes.satd_8x8 < limits.of_8x8 ||
           modes.satd_4x4 < limits.of_4x4;
}

// From source samples, so intra macroblocks seem better than they are: code_intra() compares.
void PredictedPictureCoder::find_intra(int y) {
    std::vector<int> likely;  // columns, of macroblocks that lanes take
    for (int x = 0; x < columns_; x++) {
        const size_t i = index_of(x, y);
        const uint32_t inter = inter_cost(x, y);
        maybe_intra_[i] = false;
        if (inter < worth(satd_lambda(i), kBits16x16)) continue;  // no block is predicted better than that
        const Available around = available(x, y);
        if (around.left && around.above && around.other_corner)
            maybe_intra_[i] = rank(x, y, limits_of(i, inter));
        else
            likely.push_back(x);
    }
    if (likely.empty()) return;
    constexpr int kBeyond = 16;  // samples on both sides
    const ptrdiff_t stride = 16 * columns_ + 2 * kBeyond;
    std::vector<Sample> samples(static_cast<size_t>(17 * stride));  // with the line above
    for (int row = 0; row < 17; row++)
        std::copy_n(source_at(-kBeyond, 16 * y + row - 1).data, stride, samples.data() + row * stride);
    rank_in_lanes(y, {samples.data() + stride + kBeyond, stride}, likely);
}

// As rank(). luma: the row's first sample.
void PredictedPictureCoder::rank_in_lanes(int y, ConstBlock luma, std::span<const int> columns) {
    PictureFormat format = format_;
    format.chroma = ChromaFormat::c400;
    format.bit_depth = 8;
    while (!columns.empty()) {
        const LaneVectors *vectors = &lane_vectors().front();
        for (const LaneVectors &each : lane_vectors())
            if (each.lanes < vectors->lanes && each.lanes >= static_cast<int>(columns.size())) vectors = &each;
        const size_t lanes = static_cast<size_t>(vectors->lanes), count = std::min(columns.size(), lanes);
        const Sample *at[1][kMostLanes];
        Available neighbours[kMostLanes];
        uint32_t satd_lambdas[kMostLanes];
        SatdLimits limits[kMostLanes];
        RankedModes modes[kMostLanes];
        for (size_t lane = 0; lane < lanes; lane++) {
            const int x = columns[std::min(lane, count - 1)];
            const size_t i = index_of(x, y);
            at[0][lane] = luma.at(16 * x, 0).data;
            neighbours[lane] = available(x, y);
            satd_lambdas[lane] = satd_lambda(i);
            limits[lane] = limits_of(i, inter_cost(x, y));
        }
        const uint32_t below = vectors->rank(format, at, luma.stride, neighbours, satd_lambdas, limits, modes);
        for (size_t lane = 0; lane < count; lane++) {
            if (!(below >> lane & 1)) continue;
            const size_t i = index_of(columns[lane], y);
            maybe_intra_[i] = true;
            ranked_[i] = modes[lane];
            ranked_[i].texture = texture_of({at[0][lane], luma.stride});
        }
        columns = columns.subspan(count);
    }
}

// As rows of IntraCoder: two macroblocks behind the one above.
void PredictedPictureCoder::code_intra_row(int y) {
    struct End {  // also where something is thrown: the row below waits
        std::atomic<int> &done;
        int columns;
        ~End() { done.store(columns, std::memory_order_release); }
    } end{intra_done_[y], columns_};
    std::unique_ptr<MacroblockCoder> coder;
    for (int x = 0; x < columns_; x++) {
        if (maybe_intra_[index_of(x, y)]) {
            const int wanted = std::min(x + 2, columns_);
            while (y && intra_done_[y - 1].load(std::memory_order_acquire) < wanted) std::this_thread::yield();
            if (!coder) coder = std::make_unique<MacroblockCoder>(format_, Quantisers{});
            code_intra(*coder, x, y);
        }
        intra_done_[y].store(x + 1, std::memory_order_release);
    }
}

void PredictedPictureCoder::code_intra(MacroblockCoder &coder, int x, int y) {
    const size_t i = index_of(x, y);
    MacroblockCoder::Place place{};
    for (int c = 0; c < format_.components(); c++) place.samples[c] = at(c, x, y);
    place.available = available(x, y);
    place.left = place.available.left ? &neighbours_[i - 1] : nullptr;
    place.above = place.available.above ? &neighbours_[i - static_cast<size_t>(columns_)] : nullptr;
    place.qp = qp_[i];
    place.drop_step = drop_step_;
    place.effort = kAllTypes;
    place.ranked = &ranked_[i];
    place.likely =
        refresh_.only_16x16(x, columns_) ? kOnly16x16 : ranked_[i].likely_types(satd_lambda(i), format_.transform_8x8);
    MacroblockSamples source, reconstruction;
    get_samples(x, y, source);
    const Neighbour as_inter = neighbours_[i];
    coder.code(place, macroblocks_[i], levels_of(i), neighbours_[i]);
    const Inter &inter = *inter_[i];
    if (!inter.allowed) {
        motion_[i] = {};
        return;
    }
    get_samples(x, y, reconstruction);
    if (InterCoder::intra_cost(format_, source, qp_[i], drop_step_, macroblocks_[i], levels_of(i), reconstruction) <
        inter.cost) {
        motion_[i] = {};
        return;
    }
    neighbours_[i] = as_inter;
    macroblocks_[i] = inter.macroblock;
    std::copy(inter.levels.begin(), inter.levels.end(), levels_of(i));
    put_samples(x, y, inter.reconstruction);
}

void PredictedPictureCoder::get_samples(int x, int y, MacroblockSamples &to) {
    for (int c = 0; c < format_.components(); c++)
        copy(at(c, x, y), {to.of(c), format_.columns(c)}, format_.columns(c), format_.rows(c));
}
void PredictedPictureCoder::put_samples(int x, int y, const MacroblockSamples &from) {
    for (int c = 0; c < format_.components(); c++)
        copy({from.of(c), format_.columns(c)}, at(c, x, y), format_.columns(c), format_.rows(c));
}

// ---- Coding

void PredictedPictureCoder::code_inter(InterCoder &coder, int x, int y) {
    const size_t i = index_of(x, y);
    MacroblockMotion &motion = motion_[i] = refinement_.motion()[i];
    Neighbour &neighbour = neighbours_[i];
    neighbour = {};
    neighbour.type = MacroblockType::i16x16;  // or any that has no modes
    std::fill_n(neighbour.mode_right, 4, int8_t{kDc});
    std::fill_n(neighbour.mode_below, 4, int8_t{kDc});
    // Across slices as well, where the vector may be another one in the end: see finish_macroblock().
    const MotionField field{refinement_.motion(), columns_};
    const Vector skipped = field.skipped(x, y);
    MacroblockSamples source, reconstruction;
    get_samples(x, y, source);
    const InterCoder::Place place = {
        .x = x,
        .y = y,
        .qp = qp_[i],
        .drop_step = drop_step_,
        .skipped = skipped,
        .can_skip = refresh_.limited(range_of(x, y, columns_, rows_, vertical_), x).has(skipped),
        .vector_bits = field.bits(x, y, motion) + shape_bits(motion.shape)};
    const InterOutcome result = coder.code(place, source, motion, macroblocks_[i], levels_of(i), reconstruction);
    if (result.skipped) motion.fill(skipped);
    const bool allowed = result.cost != kNotAllowed && !refresh_.must_be_intra(x);
    if (allowed && !maybe_intra_[i]) return put_samples(x, y, reconstruction);
    if (!maybe_intra_[i]) maybe_intra_[i] = rank(x, y, limits_of(i, UINT32_MAX));
    if (!inter_[i]) inter_[i] = std::make_unique<Inter>();
    Inter &inter = *inter_[i];
    inter.allowed = allowed;
    inter.cost = result.cost;
    inter.macroblock = macroblocks_[i];
    inter.reconstruction = reconstruction;
    const int16_t *const levels = levels_of(i);
    inter.levels.assign(levels, levels + 16 * blocks_per_macroblock(format_.chroma));
}

// Differences of vectors, now that all are known.
void PredictedPictureCoder::finish_motion(int x, int y) {
    const size_t i = index_of(x, y);
    const MotionField field = {
        .motion = motion_.data(), .columns = columns_, .first = static_cast<int>(slices_.first(i))};
    finish_macroblock(field, x, y, macroblocks_[i], slices_.number(i));
}

void PredictedPictureCoder::write_qp_deltas() {
    int qp = picture_qp_;
    for (size_t i = 0; i < qp_.size(); i++) {
        Macroblock &m = macroblocks_[i];
        if (m.first_in_slice) qp = picture_qp_;
        if (!has_qp_delta(m.type, m.coded_block_pattern)) continue;
        const int delta = qp_delta_of(qp_[i], qp, format_.bit_depth);
        m.qp_delta = static_cast<int8_t>(delta);
        qp = qp_[i];
    }
}

void PredictedPictureCoder::count() {
    const CodedPicture picture{macroblocks_, levels_, nullptr, true};
    bits_ = 0;
    uint32_t run = 0, first = 0;
    BitCounter runs;
    for (size_t i = 0; i < qp_.size(); i++) {
        if (macroblocks_[i].first_in_slice) {
            if (run) put_ue(std::exchange(run, 0u), runs);
            first = static_cast<uint32_t>(i);
        }
        if (macroblocks_[i].type != MacroblockType::skip) {
            put_skip_run(run, runs);
            run = 0;
        } else {
            run++;
        }
        bits_ += count_macroblock(format_.coded(), picture, static_cast<uint32_t>(i), first, totals_.data());
    }
    if (run) put_skip_run(run, runs);
    bits_ += runs.bits;
}

}  // namespace cudaenc::h264
