// SPDX-License-Identifier: LGPL-2.1-or-later
#include "predicted_picture.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "../../load_cpu.h"
#include "../intra/adaptive_qp.h"
#include "../intra/rank_cpu.h"
#include "../syntax/slice_cpu.h"

namespace cudaenc::h264 {

namespace {

constexpr int kSquare[8][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}};

// Estimated bits of mb_type and sub_mb_type, by Shape.
constexpr uint32_t kShapeBits[4] = {1, 3, 3, 9};
// A macroblock is divided only where its difference is worth more than so many bits.
constexpr uint32_t kLeastDividedBits = 24;
// Bits that intra macroblocks take beside their residual: modes of I_16x16, I_8x8 and I_4x4.
constexpr uint32_t kBits16x16 = 8, kBits8x8 = 18, kBits4x4 = 54;

Vector quarters_of(Vector whole) { return {static_cast<int16_t>(4 * whole.x), static_cast<int16_t>(4 * whole.y)}; }

uint32_t worth(uint32_t satd_lambda, uint32_t bits) { return satd_lambda * bits >> 8; }

void copy(ConstBlock from, Block to, int size) {
    for (int y = 0; y < size; y++) std::copy_n(from.at(0, y).data, size, to.at(0, y).data);
}

}  // namespace

PredictedPictureCoder::PredictedPictureCoder(const PictureFormat &format, int vertical)
    : format_(format),
      columns_(format.macroblock_columns()),
      rows_(format.macroblock_rows()),
      vertical_(vertical),
      search_(columns_, rows_, vertical),
      intra_done_(std::make_unique<std::atomic<int>[]>(static_cast<size_t>(rows_))) {
    const size_t count = static_cast<size_t>(columns_ * rows_);
    for (int c = 0; c < 3; c++) {  // rows of a macroblock must not share cache sets
        strides_[c] = (columns_ * format.columns(c) + 63) / 64 * 64 + 32;
        planes_[c].resize(static_cast<size_t>(strides_[c] * rows_ * format.rows(c)));
    }
    qp_.resize(count);
    for (int i = 0; i < 2; i++) {
        motion_[i].resize(count);
        estimates_[i].resize(count);
    }
    ranked_.resize(count);
    maybe_intra_.resize(count);
    inter_.resize(count);
    neighbours_.resize(count);
    totals_.resize(count * static_cast<size_t>(blocks_per_macroblock(ChromaFormat::c420)));
}

template <class Body>
void PredictedPictureCoder::for_rows(ThreadPool &pool, const Body &body) {
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) body(x, static_cast<int>(y));
    });
}

Available PredictedPictureCoder::available(int x, int y) const {
    return {.left = x > 0, .above = y > 0, .above_right = y > 0 && x + 1 < columns_, .other_corner = x == 0 || y == 0};
}

void PredictedPictureCoder::encode(const SampleLayout *components, const PictureQuality &quality,
                                   const PictureBefore &before, SourcePyramid &source, ThreadPool &pool,
                                   Macroblock *macroblocks, int16_t *levels) {
    before_ = &before;
    source_ = &source;
    macroblocks_ = macroblocks;
    levels_ = levels;
    picture_qp_ = std::min(quality.qp, kMaxQp);
    drop_step_ = std::max(0, quality.qp - kMaxQp);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int c = 0; c < 3; c++) load_lines(components[c], c, static_cast<int>(y));
        choose_qps(quality, static_cast<int>(y));
    });
    source.build(reconstruction(0), 16 * columns_, 16 * rows_, pool);
    search_.find(source, before.source, satd_lambda_of(quality.qp), pool);
    for_rows(pool, [this](int x, int y) { motion_[1][index_of(x, y)].fill(quarters_of(search_.found(x, y).whole)); });
    for_rows(pool, [this](int x, int y) { refine(x, y); });
    constexpr int kSpreads = 2;
    for (int i = 0; i < kSpreads; i++) {
        std::swap(motion_[0], motion_[1]);
        std::swap(estimates_[0], estimates_[1]);
        for_rows(pool, [this](int x, int y) { spread(x, y); });
    }
    for_rows(pool, [this](int x, int y) { maybe_intra_[index_of(x, y)] = may_be_intra(x, y); });
    std::swap(motion_[0], motion_[1]);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        const auto coder = std::make_unique<InterCoder>(format_, before.decoded);
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
    const int size = format_.rows(component), whole = columns_ * size;
    const int width = component ? (format_.width + 1) / 2 : format_.width;
    const int height = component ? (format_.height + 1) / 2 : format_.height;
    for (int i = size * y; i < size * (y + 1); i++) {
        Sample *const to = planes_[component].data() + i * strides_[component];
        load_row(layout, 0, std::min(i, height - 1), width, to);
        std::fill(to + width, to + whole, to[width - 1]);
    }
}

void PredictedPictureCoder::load_source(const SampleLayout &luma, SourcePyramid &source, ThreadPool &pool) {
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) { load_lines(luma, 0, static_cast<int>(y)); });
    source.build(reconstruction(0), 16 * columns_, 16 * rows_, pool);
}

void PredictedPictureCoder::choose_qps(const PictureQuality &quality, int y) {
    for (int x = 0; x < columns_; x++) {
        int qp = picture_qp_;
        if (quality.aq_strength && !drop_step_) {
            const ConstBlock luma = at(0, x, y);
            uint32_t sum = 0, squares = 0;
            for (int i = 0; i < 16; i++)
                for (int j = 0; j < 16; j++) {
                    const uint32_t sample = luma.at(j, i).data[0];
                    sum += sample, squares += sample * sample;
                }
            qp = adapted_qp(qp, quality.aq_strength, sum, squares, 8);
        }
        qp_[index_of(x, y)] = static_cast<int8_t>(qp);
    }
}

// ---- Motion

void PredictedPictureCoder::refine(int x, int y) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i);
    const MotionField field{motion_[1].data(), columns_};
    const VectorRange range = range_of(x, y, columns_, rows_, vertical_);
    const Vector predicted = field.predicted(x, y, Shape::p16x16, 0);
    const ByteBlock source = source_at(16 * x, 16 * y);
    Vector best{};
    QuarterSums least{};
    uint32_t cost = UINT32_MAX;
    const auto try_vector = [&](Vector v) {
        if (!range.has(v)) return;
        const QuarterSums sums = satd_16x16(source, quarter_block(before_->decoded, 16 * x, 16 * y, v));
        const uint32_t other = sums.all() + worth(lambda, vector_bits(v, predicted));
        if (other < cost) cost = other, best = v, least = sums;
    };
    const Vector found = field.motion[i].vectors[0];
    try_vector({});
    if (!(found == Vector{})) try_vector(found);
    if (!(predicted == Vector{}) && !(predicted == found)) try_vector(range.clamp(predicted.x, predicted.y));
    for (const int step : {2, 1}) {
        const Vector middle = best;
        for (const auto &move : kSquare)
            try_vector(
                {static_cast<int16_t>(middle.x + step * move[0]), static_cast<int16_t>(middle.y + step * move[1])});
    }
    MacroblockMotion motion;
    motion.fill(best);
    cost += worth(lambda, kShapeBits[0]);
    if (least.all() > worth(lambda, kLeastDividedBits)) divide(x, y, best, least, motion, cost);
    motion_[0][i] = motion;
    estimates_[0][i].satd = cost - worth(lambda, field.bits(x, y, motion) + kShapeBits[static_cast<int>(motion.shape)]);
}

// Other shapes, of the macroblock's vector and of those of its 8x8 blocks. sums: of the former.
void PredictedPictureCoder::divide(int x, int y, Vector whole, const QuarterSums &sums, MacroblockMotion &motion,
                                   uint32_t &cost) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i);
    const MotionField field{motion_[1].data(), columns_};
    const VectorRange range = range_of(x, y, columns_, rows_, vertical_);
    const ByteBlock source = source_at(16 * x, 16 * y);
    constexpr int kVectors = 5;
    Vector vectors[kVectors] = {whole};
    uint32_t satd[kVectors][4];
    std::copy_n(sums.of, 4, satd[0]);
    const auto satd_of = [&](Vector v, int b) {
        const int dx = 8 * (b & 1), dy = 8 * (b >> 1);
        return satd_8x8(source.at(dx, dy), quarter_block(before_->decoded, 16 * x + dx, 16 * y + dy, v));
    };
    for (int b = 0; b < 4; b++) {
        Vector best = whole;
        uint32_t least = satd[0][b];
        const auto try_vector = [&](Vector v) {
            if (!range.has(v)) return;
            const uint32_t other = satd_of(v, b) + worth(lambda, vector_bits(v, whole));
            if (other < least) least = other, best = v;
        };
        const Vector found = quarters_of(search_.found(x, y).of_8x8[b]);
        if (!(found == whole)) try_vector(found);
        for (const int step : {2, 1}) {
            const Vector middle = best;
            for (const auto &move : kSquare)
                try_vector(
                    {static_cast<int16_t>(middle.x + step * move[0]), static_cast<int16_t>(middle.y + step * move[1])});
        }
        vectors[1 + b] = best;
        for (int k = 0; k < 4; k++) satd[1 + b][k] = best == whole ? satd[0][k] : satd_of(best, k);
    }
    for (const Shape shape : {Shape::p16x8, Shape::p8x16, Shape::p8x8}) {
        MacroblockMotion other{{}, shape, true};
        uint32_t sum = 0;
        for (int part = 0; part < parts_of(shape); part++) {
            uint32_t least = UINT32_MAX, of_part = 0;
            int chosen = 0;
            for (int k = 0; k < kVectors; k++) {
                uint32_t difference = 0;
                for (int b = 0; b < 4; b++) difference += part_of_block(shape, b) == part ? satd[k][b] : 0;
                const uint32_t with_bits = difference + worth(lambda, k ? vector_bits(vectors[k], whole) : 2);
                if (with_bits < least) least = with_bits, of_part = difference, chosen = k;
            }
            sum += of_part;
            for (int b = 0; b < 4; b++)
                if (part_of_block(shape, b) == part) other.vectors[b] = vectors[chosen];
        }
        const uint32_t with_bits = sum + worth(lambda, field.bits(x, y, other) + kShapeBits[static_cast<int>(shape)]);
        if (with_bits < cost) cost = with_bits, motion = other;
    }
}

// Vectors of the macroblocks around, and those that take fewest bits.
void PredictedPictureCoder::spread(int x, int y) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i);
    const MotionField field{motion_[1].data(), columns_};
    const VectorRange range = range_of(x, y, columns_, rows_, vertical_);
    MacroblockMotion best = motion_[1][i];
    uint32_t satd = estimates_[1][i].satd;
    uint32_t cost = satd + worth(lambda, field.bits(x, y, best) + kShapeBits[static_cast<int>(best.shape)]);
    const Vector predicted = field.predicted(x, y, Shape::p16x16, 0);
    const ByteBlock source = source_at(16 * x, 16 * y);
    Vector tried[7];
    int count = 0;
    if (best.shape == Shape::p16x16) tried[count++] = best.vectors[0];
    const auto try_vector = [&](Vector v) {
        if (!range.has(v)) return;
        for (int k = 0; k < count; k++)
            if (tried[k] == v) return;
        tried[count++] = v;
        const uint32_t bits = worth(lambda, vector_bits(v, predicted) + kShapeBits[0]);
        if (bits >= cost) return;
        const uint32_t other = satd_16x16(source, quarter_block(before_->decoded, 16 * x, 16 * y, v)).all();
        if (other + bits < cost) {
            cost = other + bits;
            satd = other;
            best.fill(v);
        }
    };
    try_vector(field.skipped(x, y));
    try_vector(predicted);
    const auto try_block = [&](int bx, int by) {
        if (by < 2 * rows_ && by >= 0 && bx >= 0 && bx < 2 * columns_) try_vector(field.block(bx, by).vector);
    };
    try_block(2 * x - 1, 2 * y);
    try_block(2 * x, 2 * y - 1);
    try_block(2 * x + 2, 2 * y);
    try_block(2 * x, 2 * y + 2);
    motion_[0][i] = best;
    estimates_[0][i] = {satd, cost};
}

// ---- Intra macroblocks

// Modes are ranked on source samples; cost_16x16 gets the least cost of I_16x16.
RankedModes PredictedPictureCoder::rank(int x, int y, uint32_t *cost_16x16) const {
    constexpr ptrdiff_t kStride = 32;  // a line above, a column to the left, 8 samples above right
    alignas(32) Sample samples[17 * kStride + 32];
    Sample *const own = samples + kStride + 4;
    for (int row = -1; row < 16; row++) {
        const uint8_t *const from = source_at(16 * x, 16 * y + row).data;
        for (int i = -1; i < (row < 0 ? 24 : 16); i++) own[row * kStride + i] = from[i];
    }
    const ConstBlock block{own, kStride};
    MacroblockPredictions predictions;
    uint32_t costs[k16x16Modes]{};
    rank_16x16(block, available(x, y), 8, block, predictions, costs);
    *cost_16x16 = *std::min_element(costs, costs + k16x16Modes);
    RankedModes modes = rank_modes(&block, 1, available(x, y), 8);
    return modes;
}

// From source samples, so intra macroblocks seem better than they are: code_intra() compares.
bool PredictedPictureCoder::may_be_intra(int x, int y) {
    const size_t i = index_of(x, y);
    const uint32_t lambda = satd_lambda(i), inter = estimates_[0][i].cost;
    // No block is predicted better than that.
    if (inter < worth(lambda, kBits16x16)) return false;
    uint32_t cost_16x16;
    ranked_[i] = rank(x, y, &cost_16x16);
    uint32_t intra = std::min(cost_16x16 + worth(lambda, kBits16x16), ranked_[i].satd_4x4 + worth(lambda, kBits4x4));
    if (format_.transform_8x8) intra = std::min(intra, ranked_[i].satd_8x8 + worth(lambda, kBits8x8));
    return intra < inter;
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
    for (int c = 0; c < 3; c++) place.samples[c] = at(c, x, y);
    place.available = available(x, y);
    place.left = x ? &neighbours_[i - 1] : nullptr;
    place.above = y ? &neighbours_[i - static_cast<size_t>(columns_)] : nullptr;
    place.qp = qp_[i];
    place.drop_step = drop_step_;
    place.effort = kAllTypes;
    place.ranked = &ranked_[i];
    place.likely = ranked_[i].likely_types(satd_lambda(i), format_.transform_8x8);
    MacroblockSamples source, reconstruction;
    get_samples(x, y, source);
    const Neighbour as_inter = neighbours_[i];
    coder.code(place, macroblocks_[i], levels_of(i), neighbours_[i]);
    const Inter &inter = *inter_[i];
    if (!inter.allowed) {
        motion_[0][i] = {};
        return;
    }
    get_samples(x, y, reconstruction);
    if (InterCoder::intra_cost(format_.coded(), source, qp_[i], drop_step_, macroblocks_[i], levels_of(i),
                               reconstruction) < inter.cost) {
        motion_[0][i] = {};
        return;
    }
    neighbours_[i] = as_inter;
    macroblocks_[i] = inter.macroblock;
    std::copy(std::begin(inter.levels), std::end(inter.levels), levels_of(i));
    put_samples(x, y, inter.reconstruction);
}

void PredictedPictureCoder::get_samples(int x, int y, MacroblockSamples &to) {
    copy(at(0, x, y), {to.luma, 16}, 16);
    for (int c = 0; c < 2; c++) copy(at(1 + c, x, y), {to.chroma[c], 8}, 8);
}
void PredictedPictureCoder::put_samples(int x, int y, const MacroblockSamples &from) {
    copy({from.luma, 16}, at(0, x, y), 16);
    for (int c = 0; c < 2; c++) copy({from.chroma[c], 8}, at(1 + c, x, y), 8);
}

// ---- Coding

void PredictedPictureCoder::code_inter(InterCoder &coder, int x, int y) {
    const size_t i = index_of(x, y);
    MacroblockMotion &motion = motion_[0][i] = motion_[1][i];
    Neighbour &neighbour = neighbours_[i];
    neighbour = {};
    neighbour.type = MacroblockType::i16x16;  // or any that has no modes
    std::fill_n(neighbour.mode_right, 4, int8_t{kDc});
    std::fill_n(neighbour.mode_below, 4, int8_t{kDc});
    const MotionField field{motion_[1].data(), columns_};
    const Vector skipped = field.skipped(x, y);
    MacroblockSamples source, reconstruction;
    get_samples(x, y, source);
    const InterCoder::Place place = {
        .x = x,
        .y = y,
        .qp = qp_[i],
        .drop_step = drop_step_,
        .skipped = skipped,
        .can_skip = range_of(x, y, columns_, rows_, vertical_).has(skipped),
        .vector_bits = field.bits(x, y, motion) + kShapeBits[static_cast<int>(motion.shape)]};
    const InterCoder::Result result = coder.code(place, source, motion, macroblocks_[i], levels_of(i), reconstruction);
    if (result.skipped) motion.fill(skipped);
    const bool allowed = result.cost != InterCoder::kNotAllowed;
    if (allowed && !maybe_intra_[i]) return put_samples(x, y, reconstruction);
    if (!maybe_intra_[i]) {
        uint32_t cost;
        ranked_[i] = rank(x, y, &cost);
        maybe_intra_[i] = true;
    }
    if (!inter_[i]) inter_[i] = std::make_unique<Inter>();
    Inter &inter = *inter_[i];
    inter.allowed = allowed;
    inter.cost = result.cost;
    inter.macroblock = macroblocks_[i];
    inter.reconstruction = reconstruction;
    std::copy_n(levels_of(i), std::size(inter.levels), inter.levels);
}

// Differences of vectors, now that all are known.
void PredictedPictureCoder::finish_motion(int x, int y) {
    const size_t i = index_of(x, y);
    Macroblock &m = macroblocks_[i];
    m.qp_delta = 0;
    m.first_in_slice = i == 0;
    m.slice = 0;
    const MacroblockMotion &motion = motion_[0][i];
    if (!motion.inter) return;
    const MotionField field{motion_[0].data(), columns_};
    if (motion.shape == Shape::p16x16 && !m.coded_block_pattern && motion.vectors[0] == field.skipped(x, y)) {
        m.type = MacroblockType::skip;
        return;
    }
    for (int part = 0; part < parts_of(motion.shape); part++) {
        const Vector v = motion.vectors[first_block_of(motion.shape, part)];
        const Vector predicted = field.predicted(x, y, motion.shape, part);
        m.mvd[part] = {static_cast<int16_t>(v.x - predicted.x), static_cast<int16_t>(v.y - predicted.y)};
    }
}

void PredictedPictureCoder::write_qp_deltas() {
    int qp = picture_qp_;
    for (size_t i = 0; i < qp_.size(); i++) {
        Macroblock &m = macroblocks_[i];
        if (!has_qp_delta(m.type, m.coded_block_pattern)) continue;
        const int delta = qp_delta_of(qp_[i], qp, 8);
        m.qp_delta = static_cast<int8_t>(delta);
        qp = qp_[i];
    }
}

void PredictedPictureCoder::count() {
    const CodedPicture picture{macroblocks_, levels_, nullptr, true};
    bits_ = 0;
    uint32_t run = 0;
    BitCounter runs;
    for (size_t i = 0; i < qp_.size(); i++) {
        if (macroblocks_[i].type != MacroblockType::skip) {
            put_ue(run, runs);
            run = 0;
        } else {
            run++;
        }
        bits_ += count_macroblock(format_.coded(), picture, static_cast<uint32_t>(i), 0, totals_.data());
    }
    if (run) put_ue(run, runs);
    bits_ += runs.bits;
}

}  // namespace cudaenc::h264
