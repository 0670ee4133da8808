// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference.h"

#include <algorithm>
#include <cstring>

#include "../../simd.h"
#include "fade.h"

namespace cudaenc::h264 {

namespace {

constexpr int kRows = 16;  // of a task

CUDAENC_CLONES void narrow_row(const Sample *from, int count, int shift, uint8_t *to) {
    for (int i = 0; i < count; i++) to[i] = static_cast<uint8_t>(from[i] >> shift);
}

CUDAENC_CLONES void halve_row(const uint8_t *above, const uint8_t *below, int count, uint8_t *to) {
    for (int i = 0; i < count; i++)
        to[i] = static_cast<uint8_t>((above[2 * i] + above[2 * i + 1] + below[2 * i] + below[2 * i + 1] + 2) >> 2);
}

constexpr int clip(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

// A row of b, h and j (8.4.2.2.1). at: the row's first whole sample; sums: room for count + 5.
CUDAENC_CLONES void interpolate_row(const uint8_t *at, ptrdiff_t stride, int count, int16_t *sums, uint8_t *right,
                                    uint8_t *below, uint8_t *centre) {
    for (int i = 0; i < count + 5; i++) {
        const uint8_t *const s = at + i - 2;
        sums[i] = static_cast<int16_t>(
            six_taps<int>(s[-2 * stride], s[-stride], s[0], s[stride], s[2 * stride], s[3 * stride]));
    }
    for (int i = 0; i < count; i++) below[i] = static_cast<uint8_t>(clip((sums[i + 2] + 16) >> 5));
    for (int i = 0; i < count; i++)
        centre[i] = static_cast<uint8_t>(clip(
            (six_taps<int>(sums[i], sums[i + 1], sums[i + 2], sums[i + 3], sums[i + 4], sums[i + 5]) + 512) >> 10));
    for (int i = 0; i < count; i++) {
        const uint8_t *const s = at + i;
        right[i] = static_cast<uint8_t>(clip((six_taps<int>(s[-2], s[-1], s[0], s[1], s[2], s[3]) + 16) >> 5));
    }
}

// copy(y): row y of `to`.
template <class T, class Copy>
void fill_rows(PaddedPlane<T> &to, ThreadPool &pool, const Copy &copy) {
    const int tasks = (to.height() + kRows - 1) / kRows;
    pool.for_each(static_cast<size_t>(tasks), [&](size_t task) {
        const int first = static_cast<int>(task) * kRows, end = std::min(first + kRows, to.height());
        for (int y = first; y < end; y++) copy(y);
        to.extend(first, end);
    });
}
void narrow(ConstBlock from, int bit_depth, BytePlane &to, ThreadPool &pool) {
    fill_rows(to, pool, [&](int y) { narrow_row(from.at(0, y).data, to.width(), bit_depth - 8, to.at(0, y)); });
}
void copy(ConstBlock from, SamplePlane &to, ThreadPool &pool) {
    fill_rows(to, pool, [&](int y) { std::copy_n(from.at(0, y).data, to.width(), to.at(0, y)); });
}

}  // namespace

template <class T>
void PaddedPlane<T>::resize(int width, int height) {
    width_ = width;
    height_ = height;
    stride_ = (width + 2 * kMargin + 63) / 64 * 64 + 64;  // rows of a macroblock must not share cache sets
    samples_.resize(static_cast<size_t>(stride_ * (height + 2 * kMargin)));
}

template <class T>
void PaddedPlane<T>::extend(int first, int end) {
    const size_t whole = static_cast<size_t>(width_) + 2 * kMargin;
    for (int y = first; y < end; y++) {
        T *const row = at(0, y);
        std::fill_n(row - kMargin, kMargin, row[0]);
        std::fill_n(row + width_, kMargin, row[width_ - 1]);
    }
    for (int y = -kMargin; y < 0 && !first; y++) std::copy_n(at(-kMargin, 0), whole, at(-kMargin, y));
    for (int y = height_; y < height_ + kMargin && end == height_; y++)
        std::copy_n(at(-kMargin, height_ - 1), whole, at(-kMargin, y));
}

template class PaddedPlane<uint8_t>;
template class PaddedPlane<Sample>;

void SourcePyramid::build(ConstBlock luma, int width, int height, ThreadPool &pool, int bit_depth) {
    levels[0].resize(width, height);
    narrow(luma, bit_depth, levels[0], pool);
    build_halves(pool);
}

void SourcePyramid::build_before(const SourcePyramid &from, const PictureWeights &weights, ThreadPool &pool) {
    uint8_t before[256];
    for (int i = 0; i < 256; i++) before[i] = weights.before(i);
    const BytePlane &luma = from.levels[0];
    levels[0].resize(luma.width(), luma.height());
    fill_rows(levels[0], pool, [&](int y) {
        std::transform(luma.at(0, y), luma.at(luma.width(), y), levels[0].at(0, y),
                       [&](uint8_t s) { return before[s]; });
    });
    build_halves(pool);
}

void SourcePyramid::build_halves(ThreadPool &pool) {
    for (int i = 1; i < kPyramidLevels; i++) {
        const BytePlane &from = levels[i - 1];
        BytePlane &to = levels[i];
        to.resize(from.width() / 2, from.height() / 2);
        fill_rows(to, pool,
                  [&](int y) { halve_row(from.at(0, 2 * y), from.at(0, 2 * y + 1), to.width(), to.at(0, y)); });
    }
}

PictureWeights find_weights(const SourcePyramid &now, const SourcePyramid &before) {
    const BytePlane &small = now.levels[kPyramidLevels - 1], &small_before = before.levels[kPyramidLevels - 1];
    FadeSums sums;
    FadeDifferences differences;
    const auto for_samples = [&](const auto &body) {
        for (int y = 0; y < small.height(); y++)
            for (int x = 0; x < small.width(); x++) body(*small.at(x, y), *small_before.at(x, y));
    };
    for_samples([&](uint8_t now_sample, uint8_t before_sample) { sums.add(now_sample, before_sample); });
    const PictureWeights weights = weights_of(sums, static_cast<uint64_t>(small.width() * small.height()));
    if (!weights.any()) return {};
    for_samples(
        [&](uint8_t now_sample, uint8_t before_sample) { differences.add(weights, now_sample, before_sample); });
    return differences.pays() ? weights : PictureWeights{};
}

void ReferencePicture::build(const ConstBlock *from, int width, int height, ThreadPool &pool) {
    for (BytePlane &plane : luma) plane.resize(width, height);
    for (int c = 0; c < (format == ChromaFormat::c400 ? 1 : 3); c++) {
        const int columns = c && chroma_blocks(format) ? width / 2 : width;
        const int rows = c && format == ChromaFormat::c420 ? height / 2 : height;
        if (predicts_from_samples(c)) {
            samples[c].resize(columns, rows);
            copy(from[c], samples[c], pool);
        } else if (c) {
            chroma[c - 1].resize(columns, rows);
            narrow(from[c], 8, chroma[c - 1], pool);
        }
    }
    narrow(from[0], bit_depth, luma[kWhole], pool);
    // A vector reaches kReach samples beyond the edge, and a sample more between samples.
    constexpr int kBeyond = BytePlane::kMargin - 3;
    static_assert(kBeyond > kReach + 1);
    const int rows = height + 2 * kBeyond, count = width + 2 * kBeyond;
    pool.for_each(static_cast<size_t>((rows + kRows - 1) / kRows), [&](size_t task) {
        std::vector<int16_t> sums(static_cast<size_t>(count) + 5);
        for (int i = static_cast<int>(task) * kRows; i < std::min(rows, (static_cast<int>(task) + 1) * kRows); i++) {
            const int y = i - kBeyond;
            interpolate_row(luma[kWhole].at(-kBeyond, y), luma[kWhole].stride(), count, sums.data(),
                            luma[kRight].at(-kBeyond, y), luma[kBelow].at(-kBeyond, y), luma[kCentre].at(-kBeyond, y));
        }
    });
}

}  // namespace cudaenc::h264
