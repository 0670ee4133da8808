// SPDX-License-Identifier: LGPL-2.1-or-later
// The wavelet transforms as the CPU walks them: an inverse transform of the tests' own, after T.800 F.3, gives back
// what went in, for every length at even and odd positions; and the symmetric extension. Then the kernels of load and
// transform, each alone, against the same walkers, with guard bytes around every buffer.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "../../common/j2k/params.h"
#include "../../common/j2k/transform/dequantise.h"
#include "../../common/j2k/transform/dwt_cpu.h"
#include "../../common/j2k/transform/idwt_cpu.h"
#include "../../common/j2k/transform/load.h"
#include "../../common/j2k/transform/quantise.h"
#include "../../common/j2k/transform/roi.h"
#include "../../common/j2k/transform/store.h"
#include "../../common/load_cpu.h"
#include "../../cuda_kernels/j2k/transform/dwt_params.h"
#include "j2k_case.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// PSE_O of T.800 F.3.7 (F-4): the position of what is found at i.
int extended(int i, int i0, int i1) {
    const int period = 2 * (i1 - i0 - 1);
    if (!period) return i0;
    const int m = ((i - i0) % period + period) % period;
    return i0 + std::min(m, period - m);
}

START_TEST(mirror_extends_as_the_standard_says) {
    for (int i0 = 0; i0 < 3; i0++)
        for (int length = 1; length < 40; length++)
            for (int i = i0 - 100; i < i0 + length + 100; i++)
                EXPECT(mirror(i, i0, i0 + length) == extended(i, i0, i0 + length), "%d of [%d, %d)", i, i0,
                       i0 + length);
}
END_TEST

// 1D_SR, T.800 F.3.6: y is interleaved, y[0] at position i0.
std::vector<int64_t> inverse_53(const std::vector<int64_t> &y, int i0) {
    const int i1 = i0 + static_cast<int>(y.size());
    std::vector<int64_t> x = y;
    if (y.size() == 1) {
        if (i0 & 1) x[0] = y[0] / 2;
        return x;
    }
    const auto at = [&](int i) -> int64_t & { return x[static_cast<size_t>(extended(i, i0, i1) - i0)]; };
    const auto floored = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
    for (int i = i0; i < i1; i++)
        if (!(i & 1)) at(i) -= floored(at(i - 1) + at(i + 1) + 2, 4);
    for (int i = i0; i < i1; i++)
        if (i & 1) at(i) += floored(at(i - 1) + at(i + 1), 2);
    return x;
}

std::vector<double> inverse_97(const std::vector<double> &y, int i0) {
    const double alpha = -1.586134342059924, beta = -0.052980118572961, gamma = 0.882911075530934,
                 delta = 0.443506852043971, k = 1.230174104914001;
    const int i1 = i0 + static_cast<int>(y.size());
    std::vector<double> x = y;
    if (y.size() == 1) {
        if (i0 & 1) x[0] = y[0] / 2;
        return x;
    }
    const auto at = [&](int i) -> double & { return x[static_cast<size_t>(extended(i, i0, i1) - i0)]; };
    for (int i = i0; i < i1; i++) at(i) *= i & 1 ? 1 / k : k;
    const auto step = [&](int parity, double weight) {
        for (int i = i0; i < i1; i++)
            if ((i & 1) == parity) at(i) -= weight * (at(i - 1) + at(i + 1));
    };
    step(0, delta), step(1, gamma), step(0, beta), step(1, alpha);
    return x;
}

template <class W>
constexpr typename W::Sample kGuard = 12345;

// A row through transform_row(), its halves interleaved again. Beside the halves and their one sample of extension
// nothing may be written.
template <class W>
std::vector<typename W::Sample> row_transformed(const std::vector<typename W::Sample> &in, int i0,
                                                const RowScale<typename W::Sample> &scale) {
    using Sample = typename W::Sample;
    const int length = static_cast<int>(in.size()), i1 = i0 + length;
    const int lows = (i1 + 1) / 2 - (i0 + 1) / 2, highs = i1 / 2 - i0 / 2;
    std::vector<Sample> low(static_cast<size_t>(lows) + 4, kGuard<W>), high(static_cast<size_t>(highs) + 4, kGuard<W>);
    transform_row(in.data(), i0, i1, scale, low.data() + 2, high.data() + 2);
    EXPECT(low.front() == kGuard<W> && low.back() == kGuard<W> && high.front() == kGuard<W> && high.back() == kGuard<W>,
           "%d samples from %d: guards", length, i0);
    std::vector<Sample> out(in.size());
    size_t l = 2, h = 2;
    for (int i = i0; i < i1; i++) out[static_cast<size_t>(i - i0)] = i & 1 ? high[h++] : low[l++];
    return out;
}
template <class W>
std::vector<typename W::Sample> row_transformed(const std::vector<typename W::Sample> &in, int i0) {
    return row_transformed<W>(in, i0, W::row_scale(false, in.size() > 1, false));
}

// A picture of one level, its halves interleaved again, in strips that begin at the row pairs `cuts`.
template <class W>
std::vector<typename W::Sample> picture_transformed(const std::vector<std::vector<typename W::Sample>> &components,
                                                    const Extent &e, const std::vector<int> &cuts) {
    using Sample = typename W::Sample;
    const size_t width = static_cast<size_t>(e.width()), area = width * static_cast<size_t>(e.height());
    std::vector<Sample> out(area * components.size());
    std::vector<int> stored(components.size() * static_cast<size_t>(e.height()));
    for (size_t cut = 0; cut + 1 < cuts.size(); cut++)
        transform_row_pairs<W>(
            e, static_cast<int>(components.size()), cuts[cut], cuts[cut + 1],
            [&](int y, const auto &memory, auto &rows) {
                EXPECT(y >= e.y0 && y < e.y1, "row %d of [%d, %d)", y, e.y0, e.y1);
                const size_t at = static_cast<size_t>(y - e.y0) * width;
                for (size_t c = 0; c < components.size(); c++) {
                    rows[c] = &components[c][at];
                    if (y & 1) rows[c] = std::copy_n(rows[c], width, memory[c]) - width;  // as rows that are loaded
                }
            },
            [&](int c, int y, const Sample *low, const Sample *high) {
                const size_t row = static_cast<size_t>(c * e.height() + y - e.y0);
                for (int x = e.x0; x < e.x1; x++)
                    out[row * width + static_cast<size_t>(x - e.x0)] = x & 1 ? *high++ : *low++;
                stored[row]++;
            });
    for (const int times : stored) EXPECT(times == 1, "a row was stored %d times", times);
    return out;
}

// A column of samples: rows of one sample at an even position stay as they are.
template <class W>
std::vector<typename W::Sample> column_transformed(const std::vector<typename W::Sample> &in, int i0) {
    const Extent e{0, i0, 1, i0 + static_cast<int>(in.size())};
    return picture_transformed<W>({in}, e, {e.y0 >> 1, (e.y1 + 1) >> 1});
}

std::vector<int32_t> make_signal(Random &random, int length) {
    const int bits = random.between(1, 20);
    std::vector<int32_t> signal(static_cast<size_t>(length));
    const bool extremes = random.one_in(4);
    for (int32_t &x : signal) {
        const int32_t limit = 1 << bits;
        x = extremes ? (random.one_in(2) ? limit - 1 : -limit)
                     : static_cast<int32_t>(random.below(static_cast<uint32_t>(limit) * 2)) - limit;
    }
    return signal;
}

constexpr int kLongest = 4097;

START_TEST(reversible_round_trips_are_exact) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int length = 1; length <= kLongest; length++) {
        const int i0 = _i + 2 * random.between(0, 3);
        const std::vector<int32_t> signal = make_signal(random, length);
        const std::vector<int32_t> row = row_transformed<Dwt53>(signal, i0);
        EXPECT(row == column_transformed<Dwt53>(signal, i0), "rows and columns of %d samples from %d differ", length,
               i0);
        const std::vector<int64_t> back = inverse_53({row.begin(), row.end()}, i0);
        EXPECT(std::equal(back.begin(), back.end(), signal.begin(), signal.end()), "%d samples from %d", length, i0);
    }
}
END_TEST

START_TEST(irreversible_round_trips_are_close) {
    Random random(static_cast<uint64_t>(_i) + 10);
    for (int length = 1; length <= kLongest; length++) {
        const int i0 = _i + 2 * random.between(0, 3);
        std::vector<float> signal;
        double largest = 1;
        for (const int32_t x : make_signal(random, length)) {
            signal.push_back(static_cast<float>(x));
            largest = std::max(largest, std::fabs(static_cast<double>(x)));
        }
        const std::vector<float> row = row_transformed<Dwt97>(signal, i0);
        EXPECT(row == column_transformed<Dwt97>(signal, i0), "rows and columns of %d samples from %d differ", length,
               i0);
        const std::vector<double> back = inverse_97({row.begin(), row.end()}, i0);
        for (size_t i = 0; i < back.size(); i++)
            EXPECT(std::fabs(back[i] - static_cast<double>(signal[i])) <= 1e-5 * largest,
                   "%d samples from %d, at %zu: %g, not %g", length, i0, i, back[i], static_cast<double>(signal[i]));
    }
}
END_TEST

// A level of the product's forward and inverse transforms, with 5/3 exactly, in rows that are longer than the picture.
template <class W>
void check_inverse(Random &random, double tolerance) {
    using Sample = typename W::Sample;
    ThreadPool pool(2);
    for (int repeat = 0; repeat < 300; repeat++) {
        Extent e{random.between(0, 5), random.between(0, 5), 0, 0};
        e.x1 = e.x0 + random.between(1, random.one_in(3) ? 3 : 200);
        e.y1 = e.y0 + random.between(1, random.one_in(3) ? 3 : 150);
        const int width = e.width(), height = e.height(), stride = width + random.between(0, 3);
        std::vector<Sample> picture;
        double largest = 1;
        for (const int32_t x : make_signal(random, width * height)) {
            picture.push_back(static_cast<Sample>(x));
            largest = std::max(largest, std::fabs(static_cast<double>(x)));
        }
        const auto mixed = picture_transformed<W>({picture}, e, {e.y0 >> 1, (e.y1 + 1) >> 1});
        std::vector<Sample> bands(static_cast<size_t>(stride) * static_cast<size_t>(height), kGuard<W>);
        const auto index = [](int y, int x, int columns) { return static_cast<size_t>(y * columns + x); };
        for (int o = kLL; o <= kHH; o++) {
            const int right = o & 1, below = o >> 1, lows = low_begin(e.x1) - low_begin(e.x0),
                      low_rows = low_begin(e.y1) - low_begin(e.y0);
            for (int y = e.y0, to_y = below * low_rows; y < e.y1; y++) {
                if ((y & 1) != below) continue;
                for (int x = e.x0, to_x = right * lows; x < e.x1; x++)
                    if ((x & 1) == right) bands[index(to_y, to_x++, stride)] = mixed[index(y - e.y0, x - e.x0, width)];
                to_y++;
            }
        }
        inverse_transform_level(pool, bands.data(), e, stride);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < stride; x++) {
                const double is = static_cast<double>(bands[index(y, x, stride)]),
                             was = static_cast<double>(x < width ? picture[index(y, x, width)] : kGuard<W>);
                EXPECT(std::fabs(is - was) <= (x < width ? tolerance * largest : 0),
                       "[%d, %d) x [%d, %d), row %d, column %d: %g, not %g", e.x0, e.x1, e.y0, e.y1, y, x, is, was);
            }
    }
}

START_TEST(inverse_transforms_give_pictures_back) {
    Random random(60);
    check_inverse<Dwt53>(random, 0);
    check_inverse<Dwt97>(random, 1e-5);
}
END_TEST

// Whatever the strips: every column alone, then every row.
template <class W>
void check_pictures(Random &random) {
    using Sample = typename W::Sample;
    for (int repeat = 0; repeat < 500; repeat++) {
        Extent e{random.between(0, 5), random.between(0, 5), 0, 0};
        e.x1 = e.x0 + random.between(1, 70);
        e.y1 = e.y0 + random.between(1, random.one_in(3) ? 6 : 70);
        const size_t width = static_cast<size_t>(e.width()), height = static_cast<size_t>(e.height());
        std::vector<std::vector<Sample>> components(static_cast<size_t>(random.between(1, kTransformedTogether)));
        std::vector<Sample> expected;
        for (auto &samples : components) {
            for (const int32_t x : make_signal(random, static_cast<int>(width * height)))
                samples.push_back(static_cast<Sample>(x));
            auto rows = samples;
            for (size_t x = 0; x < width; x++) {
                std::vector<Sample> column(height);
                for (size_t y = 0; y < height; y++) column[y] = samples[y * width + x];
                column = row_transformed<W>(column, e.y0, {1, 1});
                for (size_t y = 0; y < height; y++) rows[y * width + x] = column[y];
            }
            for (size_t y = 0; y < height; y++) {
                const auto scale = W::row_scale((static_cast<int>(y) + e.y0) & 1, width > 1, height > 1);
                const auto row = row_transformed<W>({&rows[y * width], &rows[y * width] + width}, e.x0, scale);
                expected.insert(expected.end(), row.begin(), row.end());
            }
        }
        std::vector<int> cuts{e.y0 >> 1, (e.y1 + 1) >> 1};
        for (int pair = cuts[0] + 1; pair < cuts.back(); pair++)
            if (random.one_in(repeat % 10 + 1)) cuts.insert(cuts.end() - 1, pair);
        EXPECT(picture_transformed<W>(components, e, cuts) == expected,
               "[%d, %d) x [%d, %d), %zu components, %zu strips", e.x0, e.x1, e.y0, e.y1, components.size(),
               cuts.size() - 1);
    }
}

// The samples of a span stay what they are when every coefficient outside of its region is another one.
template <class T, class Inverse>
void check_region(Random &random, Inverse inverse, bool reversible) {
    for (int i0 = 0; i0 < 2; i0++)
        for (int length = 1; length < 24; length++)
            for (int begin = i0; begin < i0 + length; begin++)
                for (int end = begin + 1; end <= i0 + length; end++) {
                    std::vector<T> coefficients(static_cast<size_t>(length)), others;
                    for (T &x : coefficients) x = static_cast<T>(random.between(-1000, 1000));
                    others = coefficients;
                    for (int i = i0; i < i0 + length; i++) {
                        const Span region = region_of_half({begin, end}, i & 1, reversible);
                        if (i >> 1 < region.begin || i >> 1 >= region.end)
                            others[static_cast<size_t>(i - i0)] += static_cast<T>(random.between(1, 5000));
                    }
                    const std::vector<T> samples = inverse(coefficients, i0), changed = inverse(others, i0);
                    for (int i = begin; i < end; i++)
                        EXPECT(samples[static_cast<size_t>(i - i0)] == changed[static_cast<size_t>(i - i0)],
                               "sample %d of [%d, %d) in [%d, %d)", i, begin, end, i0, i0 + length);
                }
}

START_TEST(regions_have_all_that_their_samples_are_made_of) {
    Random random(1);
    check_region<int64_t>(random, inverse_53, true);
    check_region<double>(random, inverse_97, false);
}
END_TEST

START_TEST(strips_do_not_show) {
    Random random(_i + 20);
    check_pictures<Dwt53>(random);
    check_pictures<Dwt97>(random);
}
END_TEST

// A round trip does not see steps that undo each other. A constant has no high band, and the low band keeps it; an
// alternation of the highest frequency has the high band's gain of 2 (T.800 E.1.1, Table E.1).
template <class W>
void check_gains(double tolerance) {
    using Sample = typename W::Sample;
    for (int length = 2; length < 100; length++)
        for (int i0 = 0; i0 < 2; i0++) {
            const std::vector<Sample> flat(static_cast<size_t>(length), 1000);
            const auto low = row_transformed<W>(flat, i0);
            for (size_t i = 0; i < low.size(); i++) {
                const double expected = (static_cast<int>(i) + i0) & 1 ? 0 : 1000;
                EXPECT(std::fabs(static_cast<double>(low[i]) - expected) <= tolerance, "flat, %d from %d", length, i0);
            }
            std::vector<Sample> alternation(static_cast<size_t>(length));
            for (int i = 0; i < length; i++) alternation[static_cast<size_t>(i)] = (i + i0) & 1 ? 1000 : -1000;
            const auto high = row_transformed<W>(alternation, i0);
            for (size_t i = 0; i < high.size(); i++) {
                const double expected = (static_cast<int>(i) + i0) & 1 ? 2000 : 0;
                EXPECT(std::fabs(static_cast<double>(high[i]) - expected) <= tolerance, "alternation, %d from %d: %g",
                       length, i0, static_cast<double>(high[i]));
            }
        }
}

START_TEST(bands_have_the_standard_gains) {
    check_gains<Dwt53>(0);
    check_gains<Dwt97>(0.01);
}
END_TEST

// ---- bit-planes of the reversible path ----

// A line through `levels` levels of the 5/3 transform: its bands, lowest first; [0] is LL's direction, [r] the high
// band of resolution r.
template <class T, class F>
std::vector<std::vector<T>> bands_of(std::vector<T> line, int levels, F transform) {
    std::vector<std::vector<T>> bands(static_cast<size_t>(levels) + 1);
    for (int level = levels; level > 0; level--) {
        const std::vector<T> out = transform(line);
        line.clear();
        for (size_t i = 0; i < out.size(); i++) (i & 1 ? bands[static_cast<size_t>(level)] : line).push_back(out[i]);
    }
    bands[0] = line;
    return bands;
}

// 5/3 without rounding, to learn what weight each input has.
std::vector<double> linear_53(const std::vector<double> &in) {
    std::vector<double> x = in;
    const int n = static_cast<int>(x.size());
    if (n == 1) return x;
    const auto at = [&](int i) -> double & { return x[static_cast<size_t>(extended(i, 0, n))]; };
    for (int i = 1; i < n; i += 2) at(i) -= (at(i - 1) + at(i + 1)) / 2;
    for (int i = 0; i < n; i += 2) at(i) += (at(i - 1) + at(i + 1)) / 4;
    return x;
}

// For every sub-band, the picture whose samples are all at an end of their range, on the side that makes one
// coefficient of the band as large as can be: its magnitude has to fit the band's bit-planes.
START_TEST(no_picture_outgrows_the_bit_planes) {
    constexpr int kSide = 64;
    const int depth = _i & 1 ? 16 : 8, levels = 1 + _i / 2;
    CudaencConfig config;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);
    config.j2k.pred = CUDAENC_J2K_DWT53;
    config.j2k.levels = levels;
    config.j2k.guard_bits = 1;
    const Params params = make_params(make_format(kSide, kSide, 1, depth, false, CUDAENC_COLOR_GRAY), config.j2k);
    // weights[r][position of the input]: of the middle coefficient of band r of a line.
    std::vector<std::vector<double>> weights(static_cast<size_t>(levels) + 1, std::vector<double>(kSide));
    for (size_t i = 0; i < kSide; i++) {
        std::vector<double> impulse(kSide);
        impulse[i] = 1;
        const auto bands = bands_of(impulse, levels, linear_53);
        for (size_t r = 0; r < bands.size(); r++) weights[r][i] = bands[r][bands[r].size() / 2];
    }
    const int high = (1 << (depth - 1)) - 1, low = -high - 1;
    int closest = 100;
    for (int r = 0; r <= levels; r++)
        for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++)
            for (const bool inverted : {false, true}) {
                // The low direction of a band is the cascade of its level, without the high filter: that of LL at it.
                const int level = r ? levels + 1 - r : levels;
                std::vector<double> low_weights(kSide);
                for (size_t i = 0; i < kSide; i++) {
                    std::vector<double> impulse(kSide);
                    impulse[i] = 1;
                    const auto bands = bands_of(impulse, level, linear_53);
                    low_weights[i] = bands[0][bands[0].size() / 2];
                }
                const auto &along = o == kHL || o == kHH ? weights[static_cast<size_t>(r)] : low_weights;
                const auto &down = o == kLH || o == kHH ? weights[static_cast<size_t>(r)] : low_weights;
                std::vector<std::vector<int32_t>> rows(kSide, std::vector<int32_t>(kSide));
                for (size_t y = 0; y < kSide; y++)
                    for (size_t x = 0; x < kSide; x++) rows[y][x] = (along[x] * down[y] >= 0) != inverted ? high : low;
                // Level by level, columns first.
                int width = kSide, height = kSide;
                int32_t largest = 0;
                for (int n = 1; n <= level; n++) {
                    for (int x = 0; x < width; x++) {
                        std::vector<int32_t> column(static_cast<size_t>(height));
                        for (int y = 0; y < height; y++)
                            column[static_cast<size_t>(y)] = rows[static_cast<size_t>(y)][static_cast<size_t>(x)];
                        column = row_transformed<Dwt53>(column, 0);
                        for (int y = 0; y < height; y++)
                            rows[static_cast<size_t>(y)][static_cast<size_t>(x)] = column[static_cast<size_t>(y)];
                    }
                    std::vector<std::vector<int32_t>> next;
                    for (int y = 0; y < height; y++) {
                        std::vector<int32_t> row(rows[static_cast<size_t>(y)].begin(),
                                                 rows[static_cast<size_t>(y)].begin() + width);
                        row = row_transformed<Dwt53>(row, 0);
                        std::vector<int32_t> lows;
                        for (int x = 0; x < width; x++) {
                            const int band = (x & 1 ? kHL : 0) + (y & 1 ? kLH : 0);
                            if (!band) lows.push_back(row[static_cast<size_t>(x)]);
                            if (n == level && band == o)
                                largest = std::max(largest, std::abs(row[static_cast<size_t>(x)]));
                        }
                        if (!(y & 1)) next.push_back(lows);
                    }
                    rows = next;
                    width = (width + 1) / 2;
                    height = (height + 1) / 2;
                }
                const int planes = params.quantisers[0][static_cast<size_t>(band_index(r, o))].planes;
                const int needed = bit_width(static_cast<uint32_t>(largest));
                EXPECT(needed <= planes, "level %d, orientation %d: %d needs %d bits, not %d", level, o, largest,
                       needed, planes);
                closest = std::min(closest, planes - needed);
            }
    EXPECT(closest <= 1);  // else the pictures are not the worst, or planes are wasted
}
END_TEST

// ---- rows before and after the transform ----

START_TEST(rows_are_loaded_as_samples_are) {
    Random random(30);
    for (int repeat = 0; repeat < 2000; repeat++) {
        const int depth = random.between(1, 16), shift = random.between(0, 16 - depth), count = random.between(1, 100);
        const int step = random.between(1, 9);
        std::vector<uint16_t> memory(1000);
        for (uint16_t &word : memory) word = static_cast<uint16_t>(random.below(1 << 16));
        const SampleLayout layout{reinterpret_cast<const uint8_t *>(memory.data()), 50,
                                  depth + shift > 8 ? (step + 1) / 2 * 2 : step, shift, depth};
        const int x = random.between(0, 10), y = random.between(0, 10);
        std::vector<int32_t> integers(static_cast<size_t>(count) + 1, kGuard<Dwt53>);
        std::vector<float> floats(integers.size(), kGuard<Dwt97>);
        load_row(layout, x, y, count, integers.data());
        load_row(layout, x, y, count, floats.data());
        for (int i = 0; i < count; i++) {
            const int32_t sample = load_sample(layout, x + i, y);
            EXPECT(integers[static_cast<size_t>(i)] == sample && floats[static_cast<size_t>(i)] == sample,
                   "sample %d of %d, step %d, shift %d, depth %d", i, count, layout.step, shift, depth);
        }
        EXPECT(integers.back() == kGuard<Dwt53> && floats.back() == kGuard<Dwt97>, "%d samples: guards", count);
    }
}
END_TEST

// By the instruction and without it: also where the double sum lies between two floats, or next to the middle.
START_TEST(multiply_add_rounds_once) {
    Random random(50);
    for (int repeat = 0; repeat < 1000000; repeat++) {
        const auto odd = [&] { return static_cast<float>(2 * random.between(2048, 4000) + 1); };
        const float a = odd(), b = random.one_in(2) ? odd() : -odd();
        const float c = std::ldexp(static_cast<float>(random.between(-5000, 5000)), random.between(-70, 20));
        const float once = multiply_add(a, b, c), by_double = multiply_add_by_double(a, b, c);
        EXPECT(once == by_double, "%g * %g + %g: %.9g and %.9g", static_cast<double>(a), static_cast<double>(b),
               static_cast<double>(c), static_cast<double>(once), static_cast<double>(by_double));
    }
}
END_TEST

START_TEST(component_transforms_are_the_standards) {
    Random random(1);
    for (int repeat = 0; repeat < 10000; repeat++) {
        const int limit = 1 << random.between(0, 15);
        int32_t c[3];
        for (int32_t &x : c) x = random.between(-limit, limit - 1);
        const int32_t r = c[0], g = c[1], b = c[2];
        component_transform(c[0], c[1], c[2]);
        // T.800 G.2.2 gives it back.
        const int32_t green = c[0] - static_cast<int32_t>(std::floor((c[1] + c[2]) / 4.0));
        EXPECT(green == g && c[2] + green == r && c[1] + green == b, "RCT of %d %d %d", r, g, b);
        inverse_component_transform(c[0], c[1], c[2]);
        EXPECT(c[0] == r && c[1] == g && c[2] == b, "inverse RCT of %d %d %d", r, g, b);
        float f[3] = {static_cast<float>(r), static_cast<float>(g), static_cast<float>(b)};
        component_transform(f[0], f[1], f[2]);
        const double y = static_cast<double>(f[0]), cb = static_cast<double>(f[1]), cr = static_cast<double>(f[2]);
        // T.800 G.3.1, whose weights of Cb and Cr have five digits, and G.3.2, whose green ones have them.
        EXPECT(std::fabs(0.299 * r + 0.587 * g + 0.114 * b - y) < limit * 1e-6 &&
                   std::fabs(-0.16875 * r - 0.33126 * g + 0.5 * b - cb) < limit * 3e-5 &&
                   std::fabs(0.5 * r - 0.41869 * g - 0.08131 * b - cr) < limit * 3e-5,
               "ICT of %d %d %d", r, g, b);
        EXPECT(std::fabs(y + 1.402 * cr - r) < limit * 1e-6 && std::fabs(y + 1.772 * cb - b) < limit * 1e-6 &&
                   std::fabs(y - 0.34413 * cb - 0.71414 * cr - g) < limit * 1e-5,
               "ICT of %d %d %d back", r, g, b);
        inverse_component_transform(f[0], f[1], f[2]);
        EXPECT(to_sample(f[0], 17) == r && to_sample(f[1], 17) == g && to_sample(f[2], 17) == b,
               "inverse ICT of %d %d %d", r, g, b);
    }
}
END_TEST

START_TEST(samples_are_rounded_and_clipped) {
    const std::pair<float, int32_t> cases[] = {{-128.6f, -128}, {-1e30f, -128}, {1e30f, 127}, {127.5f, 127},
                                               {126.5f, 127},   {-0.5f, 0},     {-0.6f, -1},  {-1.5f, -1},
                                               {0.49f, 0},      {0.5f, 1}};
    for (const auto &[x, sample] : cases)
        EXPECT(to_sample(x, 8) == sample, "%g is %d", static_cast<double>(x), to_sample(x, 8));
    EXPECT(to_sample(-129, 8) == -128 && to_sample(128, 8) == 127 && to_sample(5, 8) == 5, "integers");
    Random random(42);
    for (int depth = 1; depth <= 16; depth++)
        for (int repeat = 0; repeat < 10000; repeat++) {
            const int half = 1 << (depth - 1), sixteenth = random.between(-20 * half, 20 * half);
            const float x = std::nextafter(static_cast<float>(sixteenth) / 16,
                                           static_cast<float>(random.between(-1, 1) * 2 * half));
            const int nearest = static_cast<int>(std::floor(x + 0.5f));
            EXPECT_EQ(to_sample(x, depth), std::clamp(nearest, -half, half - 1));
        }
}
END_TEST

// T.800 E-6 and E-8 with r = 1/2: an index lies in the middle of its step, of all planes or of the known ones.
START_TEST(coefficients_are_dequantised_as_the_standard_says) {
    Random random(41);
    for (int repeat = 0; repeat < 10000; repeat++) {
        const int plane = random.between(0, 8), shift = random.one_in(2) ? 0 : 12;
        const uint32_t index = random.below(1 << 12), sign = random.one_in(2) ? kSignBit : 0,
                       known = index >> plane << plane;
        const float inverse_step = 1.f / static_cast<float>(1 << random.between(0, 6));
        const bool in_region = shift && random.one_in(2);
        const int up = in_region ? shift : 0;  // with all of its bit-planes known above
        int32_t whole;
        float real;
        dequantise(sign | index << up, plane + up, shift, inverse_step, whole);
        dequantise(sign | index << up, plane + up, shift, inverse_step, real);
        const double middle = known ? known + std::ldexp(0.5, plane) : 0, expected = sign ? -middle : middle;
        EXPECT(std::fabs(whole - expected) <= (plane ? 0 : 0.5), "%u from plane %d: %d", index, plane, whole);
        EXPECT(std::fabs(static_cast<double>(real * inverse_step) - expected) < 1e-6, "%u from plane %d: %g", index,
               plane, static_cast<double>(real));
    }
}
END_TEST

// T.800 E-1, of the product that a float holds.
START_TEST(rows_are_quantised_as_the_standard_says) {
    Random random(40);
    for (int repeat = 0; repeat < 2000; repeat++) {
        const int count = random.between(1, 100), planes = random.between(1, 24);
        const Quantiser quantiser{0, 0, static_cast<float>(random.between(1, 1 << 20)) / (1 << 14), planes, 0};
        const std::vector<int32_t> integers = make_signal(random, count);
        std::vector<float> floats(integers.begin(), integers.end());
        for (float &x : floats) x /= static_cast<float>(random.between(1, 100));
        std::vector<uint32_t> exact(integers.size() + 1, 12345), quantised = exact;
        quantise_row(integers.data(), count, quantiser, exact.data());
        quantise_row(floats.data(), count, quantiser, quantised.data());
        for (size_t i = 0; i < integers.size(); i++) {
            const uint32_t sign = integers[i] < 0 ? 1u << 31 : 0;
            EXPECT(exact[i] == (sign | static_cast<uint32_t>(std::abs(integers[i]))), "%d", integers[i]);
            const float scaled = std::fabs(floats[i]) * quantiser.inverse_step;
            const uint32_t index =
                static_cast<uint32_t>(std::fmin(std::floor(static_cast<double>(scaled)), std::ldexp(1.0, planes) - 1));
            EXPECT(quantised[i] == (index ? sign | index : 0), "%g by %g, %d planes: %08x",
                   static_cast<double>(floats[i]), static_cast<double>(quantiser.inverse_step), planes, quantised[i]);
        }
        EXPECT(exact.back() == 12345 && quantised.back() == 12345, "%d coefficients: guards", count);
    }
}
END_TEST

// ---- a large picture ----

// As the CPU pipeline has it: strips of rows, whose halves are stored one beside the other.
template <class W>
void check_large_picture(const char *what) {
    using Sample = typename W::Sample;
    const Extent e{0, 0, benching ? 1920 : 192, benching ? 1080 : 108};
    const size_t width = static_cast<size_t>(e.width()), area = width * static_cast<size_t>(e.height());
    Random random(50);
    std::vector<std::vector<Sample>> components(3);
    for (auto &samples : components)
        for (size_t i = 0; i < area; i++) samples.push_back(static_cast<Sample>(random.between(-128, 127)));
    std::vector<Sample> out(3 * area);
    const int pairs = e.height() / 2;
    bench(what, static_cast<double>(3 * area), "samples", [&] {
        for (int begin = 0; begin < pairs; begin += 32)
            transform_row_pairs<W>(
                e, 3, begin, std::min(begin + 32, pairs),
                [&](int y, const auto &, auto &rows) {
                    for (size_t c = 0; c < 3; c++) rows[c] = &components[c][static_cast<size_t>(y) * width];
                },
                [&](int c, int y, const Sample *low, const Sample *high) {
                    Sample *row = &out[static_cast<size_t>(c * e.height() + y) * width];
                    std::copy_n(high, width / 2, std::copy_n(low, width / 2, row));
                });
    });
    const std::vector<Sample> expected = picture_transformed<W>(components, e, {0, pairs});
    for (size_t i = 0; i < expected.size(); i++)
        EXPECT(out[i - i % width + i % width / 2 + (i & 1) * (width / 2)] == expected[i], "%s: sample %zu", what, i);
}

START_TEST(large_pictures) {
    check_large_picture<Dwt53>("dwt53: level 1");
    check_large_picture<Dwt97>("dwt97: level 1");
}
END_TEST

// ---- kernels

// One level of a tile-component on the host: every column, then every row, by the walker of rows. Returns the low
// quarter; the others go to `out`, quantised.
template <class W>
std::vector<typename W::Sample> level_on_host(const std::vector<typename W::Sample> &in, const Extent &e,
                                              const Quantiser *bands, uint32_t *out, size_t stride) {
    using Sample = typename W::Sample;
    const int width = e.width(), height = e.height();
    const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
    std::vector<Sample> turned = in, low(static_cast<size_t>(std::max(width, height)) + 2), high(low);
    std::vector<Sample> line(low.size());
    for (int x = 0; x < width; x++) {  // low rows above, high rows below
        for (int y = 0; y < height; y++) line[static_cast<size_t>(y)] = in[static_cast<size_t>(y * width + x)];
        transform_row(line.data(), e.y0, e.y1, {1, 1}, low.data() + 1, high.data() + 1);
        for (int y = 0; y < height; y++)
            turned[static_cast<size_t>(y * width + x)] =
                y < low_rows ? low[static_cast<size_t>(y) + 1] : high[static_cast<size_t>(y - low_rows) + 1];
    }
    std::vector<Sample> next(static_cast<size_t>(lows * low_rows));
    for (int y = 0; y < height; y++) {
        const auto scale = W::row_scale(y >= low_rows, width > 1, height > 1);
        transform_row(&turned[static_cast<size_t>(y * width)], e.x0, e.x1, scale, low.data() + 1, high.data() + 1);
        for (int x = 0; x < width; x++) {
            const bool right = x >= lows, lower = y >= low_rows;
            const Sample value = right ? high[static_cast<size_t>(x - lows) + 1] : low[static_cast<size_t>(x) + 1];
            if (!right && !lower) {
                next[static_cast<size_t>(y * lows + x)] = value;
                continue;
            }
            const Quantiser &q = bands[(lower ? (right ? kHH : kLH) : kHL) - kHL];
            out[static_cast<size_t>(y) * stride + static_cast<size_t>(x)] =
                quantise(value, q.inverse_step, (1u << q.planes) - 1);
        }
    }
    return next;
}

// What a tile-component's transform begins with: its pixels around 0, after the component transform.
template <class Sample>
std::vector<Sample> load_on_host(const Params &p, const Picture &picture, const TileComponent *tile, int component) {
    const TileComponent &t = tile[component];
    std::vector<Sample> samples;
    for (int y = t.y0; y < t.y1; y++)
        for (int x = t.x0; x < t.x1; x++) {
            const auto value = [&](int c) {
                return static_cast<Sample>(static_cast<int32_t>(picture.get(c, x, y)) -
                                           (1 << (picture.format.component[c].depth - 1)));
            };
            if (p.mct && component < 3) {
                Sample all[3] = {value(0), value(1), value(2)};
                component_transform(all[0], all[1], all[2]);
                samples.push_back(all[component]);
            } else {
                samples.push_back(value(component));
            }
        }
    return samples;
}

// A picture's coefficients, from its pixels.
template <class W>
std::vector<uint32_t> coefficients_on_host(const Case &k, const Picture &picture) {
    const Params &p = k.params;
    const Geometry &g = k.geometry;
    const size_t components = p.components.size();
    auto coefficients = Guarded<uint32_t>::garbage(g.samples);
    for (size_t i = 0; i < g.tile_components.size(); i++) {
        const size_t component = i % components;
        const TileComponent &t = g.tile_components[i];
        const auto &quantisers = p.quantisers[component];
        const size_t width = static_cast<size_t>(t.x1 - t.x0);
        auto in = load_on_host<typename W::Sample>(p, picture, &t - component, static_cast<int>(component));
        for (int level = 1; level <= p.levels; level++) {
            const Extent e = extent_at(t, level - 1);
            if (e.width() && e.height())
                in = level_on_host<W>(in, e, &quantisers[static_cast<size_t>(band_index(p.levels + 1 - level, kHL))],
                                      coefficients.data() + t.samples, width);
        }
        const Extent e = extent_at(t, p.levels);
        for (int y = 0; y < e.height(); y++)
            for (int x = 0; x < e.width(); x++)
                coefficients[t.samples + static_cast<size_t>(y) * width + static_cast<size_t>(x)] =
                    quantise(in[static_cast<size_t>(y * e.width() + x)], quantisers[0].inverse_step,
                             (1u << quantisers[0].planes) - 1);
    }
    return coefficients;
}

BandQuantiser band_quantiser(const Params &p, size_t component, int resolution, int orientation) {
    const Quantiser &q = p.quantisers[component][static_cast<size_t>(band_index(resolution, orientation))];
    return {q.inverse_step, static_cast<float>((1u << q.planes) - 1)};
}

// Whether all coefficients fit 16 bits.
bool fits_short(const Params &p) {
    bool fits = p.levels > 0;
    for (const auto &bands : p.quantisers)
        for (const Quantiser &q : bands) fits = fits && q.planes <= kShortPlanes;
    return fits;
}

// The same on the device, from pixels in memory that ends where they do. `segment_row_pairs`:
// DwtLevel::segment_row_pairs. Coefficients have 16 bits where they fit.
template <class W, class First, class Next>
std::vector<uint32_t> coefficients_on_device(const std::shared_ptr<Device> &device, const Case &k,
                                             const Picture &picture, int segment_row_pairs) {
    const Params &p = k.params;
    const Geometry &g = k.geometry;
    const size_t components = p.components.size();
    std::vector<DeviceArray<uint8_t>> planes;
    for (int i = 0; i < k.format.planes; i++) {
        planes.emplace_back(device, picture.memory[i].size());
        device->upload(nullptr, planes.back().data(), picture.memory[i].data(), picture.memory[i].size());
    }
    std::vector<SampleLayout> layouts;
    for (size_t c = 0; c < components; c++) {
        const CudaencComponent &s = k.format.component[c];
        layouts.push_back({planes[static_cast<size_t>(s.plane)].data() + s.offset, picture.stride[s.plane], s.step,
                           s.shift, s.depth});
    }
    const Guarded<SampleLayout> layout(device, layouts);
    const Guarded<TileComponent> tile_components(device, g.tile_components);
    const Guarded<uint32_t> ll_odd(device, size_t{g.ll_odd}), ll_even(device, size_t{g.ll_even}),
        coefficients(device, fits_short(p) ? (size_t{g.samples} + 1) / 2 : size_t{g.samples});
    const int depth = static_cast<int>(components);
    if (!p.levels) {
        const int chunks = (g.widest + kLoadThreads - 1) / kLoadThreads;
        LoadParams load{.layout = layout.data(),
                        .tile_components = tile_components.data(),
                        .coefficients = coefficients.data(),
                        .quantiser = {},
                        .components = depth,
                        .column_chunks = chunks,
                        .mct = p.mct,
                        .reversible = p.reversible,
                        .is_signed = false};
        for (size_t c = 0; c < components; c++) load.quantiser[c] = band_quantiser(p, c, 0, kLL);
        device->launch(nullptr,
                       {static_cast<unsigned>(chunks * g.highest), static_cast<unsigned>(p.tiles()),
                        static_cast<unsigned>(p.mct ? depth - 2 : depth)},
                       kLoadThreads, load);
    }
    for (int level = 1; level <= p.levels; level++) {
        const int pairs = ceil_shift(g.widest, level - 1) / 2 + 1, rows = ceil_shift(g.highest, level - 1) / 2 + 1;
        DwtLevel dwt{.tile_components = tile_components.data(),
                     .low = level % 2 ? ll_odd.data() : ll_even.data(),
                     .coefficients = coefficients.data(),
                     .quantiser = {},
                     .components = depth,
                     .level = level,
                     .last = level == p.levels,
                     .block_columns = static_cast<int>(ceil_div(ceil_div(pairs, kStripPairs<W>), kDwtThreads / 32)),
                     .segment_row_pairs = segment_row_pairs,
                     .is_short = fits_short(p)};
        for (size_t c = 0; c < components; c++)
            for (int o = dwt.last ? kLL : kHL; o <= kHH; o++)
                dwt.quantiser[c][o] = band_quantiser(p, c, o ? p.levels + 1 - level : 0, o);
        const auto launch = [&](int z, const auto &params) {
            device->launch(nullptr,
                           {static_cast<unsigned>(dwt.block_columns * p.tiles()),
                            static_cast<unsigned>(ceil_div(rows, segment_row_pairs)), static_cast<unsigned>(z)},
                           kDwtThreads, params);
        };
        if (level == 1)
            launch(p.mct ? depth - 2 : depth, First{{.dwt = dwt, .layout = layout.data(), .mct = p.mct}});
        else
            launch(depth, Next{{.dwt = dwt, .in = level % 2 ? ll_even.data() : ll_odd.data()}});
    }
    for (size_t i = 0; i < planes.size(); i++) {
        std::vector<uint8_t> pixels(planes[i].count());
        device->download(nullptr, pixels.data(), planes[i].data(), pixels.size());
        device->synchronize(Device::Stream{});
        EXPECT(pixels == picture.memory[i], "plane %zu has changed", i);
    }
    layout.read("layout");
    tile_components.read("tile-components");
    ll_odd.read("ll_odd");
    ll_even.read("ll_even");
    std::vector<uint32_t> words = coefficients.read("coefficients");
    if (!fits_short(p)) return words;
    std::vector<int16_t> indices(2 * words.size());
    std::memcpy(indices.data(), words.data(), 2 * indices.size());
    std::vector<uint32_t> made(size_t{g.samples});
    std::transform(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(made.size()), made.begin(),
                   sign_and_magnitude);
    return made;
}

std::vector<uint32_t> on_device(const std::shared_ptr<Device> &device, const Case &k, const Picture &picture,
                                int segment_row_pairs) {
    return k.params.reversible
               ? coefficients_on_device<Dwt53, LoadDwt53Params, Dwt53Params>(device, k, picture, segment_row_pairs)
               : coefficients_on_device<Dwt97, LoadDwt97Params, Dwt97Params>(device, k, picture, segment_row_pairs);
}
std::vector<uint32_t> on_host(const Case &k, const Picture &picture) {
    std::vector<uint32_t> made =
        k.params.reversible ? coefficients_on_host<Dwt53>(k, picture) : coefficients_on_host<Dwt97>(k, picture);
    constexpr uint32_t kUntouched = 0xA5A5A5A5;  // between tile-components
    if (fits_short(k.params))
        std::replace(made.begin(), made.end(), kUntouched, sign_and_magnitude(static_cast<int16_t>(0xA5A5)));
    return made;
}

void check_coefficients(const Case &k, const std::vector<uint32_t> &is, const std::vector<uint32_t> &expected,
                        const std::string &what) {
    const Params &p = k.params;
    const auto wrong = std::mismatch(is.begin(), is.end(), expected.begin());
    EXPECT(wrong.first == is.end(),
           "coefficient %td of %zu is %08x, not %08x: %dx%d, %d components, tiles %dx%d, %d levels, %s",
           wrong.first - is.begin(), is.size(), *wrong.first, *wrong.second, p.width, p.height, k.format.components,
           p.tile_width, p.tile_height, p.levels, what.c_str());
}

void check_transform(const std::shared_ptr<Device> &device, Random &random, Case &k) {
    // A step of its own for every sub-band: what the encoder chooses is alike for HL and LH.
    const bool few_planes = random.one_in(2);
    for (auto &bands : k.params.quantisers)
        for (Quantiser &q : bands)
            if (!k.params.reversible) {
                q.inverse_step = static_cast<float>(random.between(1, 10000)) / 1000;
                q.planes = random.between(1, few_planes ? kShortPlanes : 24);
            }
    Picture picture = make_picture(random, k.format);
    fill(random, picture, random.one_in(3) ? Content::one_bit : Content::noise);
    const int segment_row_pairs = random.between(1, 24);
    check_coefficients(k, on_device(device, k, picture, segment_row_pairs), on_host(k, picture),
                       format_string("segments of %d", segment_row_pairs));
}

START_TEST(load_and_dwt_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 100; repeat++) {
        Case k(random, repeat % 6 == 0 ? 300 : repeat % 6 == 1 ? 5 : 70);
        k.begin_at_origin();
        check_transform(device, random, k);
    }
}
END_TEST

START_TEST(load_alone_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 100);
    for (int repeat = 0; repeat < 40; repeat++) {
        Case k(random, repeat % 4 ? 40 : 600);
        k.begin_at_origin();
        k.options.levels = 0;
        k.options.poc = k.options.roi = nullptr;
        k.options.precincts = "";
        k.update();
        check_transform(device, random, k);
    }
}
END_TEST

// Where the samples of common pixel formats lie.
struct PixelFormat {
    const char *name;
    CudaencColorModel model;
    int planes, components;
    CudaencComponent component[4];
};
constexpr PixelFormat kPixelFormats[] = {
    {"gray", CUDAENC_COLOR_GRAY, 1, 1, {{0, 0, 1, 0, 8, 0, 0}}},
    {"gray12", CUDAENC_COLOR_GRAY, 1, 1, {{0, 0, 2, 0, 12, 0, 0}}},
    {"ya8", CUDAENC_COLOR_GRAY, 1, 2, {{0, 0, 2, 0, 8, 0, 0}, {0, 1, 2, 0, 8, 0, 0}}},
    {"rgb24", CUDAENC_COLOR_RGB, 1, 3, {{0, 0, 3, 0, 8, 0, 0}, {0, 1, 3, 0, 8, 0, 0}, {0, 2, 3, 0, 8, 0, 0}}},
    {"bgra",
     CUDAENC_COLOR_RGB,
     1,
     4,
     {{0, 2, 4, 0, 8, 0, 0}, {0, 1, 4, 0, 8, 0, 0}, {0, 0, 4, 0, 8, 0, 0}, {0, 3, 4, 0, 8, 0, 0}}},
    {"0rgb", CUDAENC_COLOR_RGB, 1, 3, {{0, 1, 4, 0, 8, 0, 0}, {0, 2, 4, 0, 8, 0, 0}, {0, 3, 4, 0, 8, 0, 0}}},
    {"gbrp", CUDAENC_COLOR_RGB, 3, 3, {{2, 0, 1, 0, 8, 0, 0}, {0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 0, 0}}},
    {"gbrap16",
     CUDAENC_COLOR_RGB,
     4,
     4,
     {{2, 0, 2, 0, 16, 0, 0}, {0, 0, 2, 0, 16, 0, 0}, {1, 0, 2, 0, 16, 0, 0}, {3, 0, 2, 0, 16, 0, 0}}},
    {"rgb48", CUDAENC_COLOR_RGB, 1, 3, {{0, 0, 6, 0, 16, 0, 0}, {0, 2, 6, 0, 16, 0, 0}, {0, 4, 6, 0, 16, 0, 0}}},
    {"rgb565", CUDAENC_COLOR_RGB, 1, 3, {{0, 1, 2, 3, 5, 0, 0}, {0, 0, 2, 5, 6, 0, 0}, {0, 0, 2, 0, 5, 0, 0}}},
    {"xyz12", CUDAENC_COLOR_XYZ, 1, 3, {{0, 0, 6, 4, 12, 0, 0}, {0, 2, 6, 4, 12, 0, 0}, {0, 4, 6, 4, 12, 0, 0}}},
    {"yuv420p", CUDAENC_COLOR_YUV, 3, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 1, 1}, {2, 0, 1, 0, 8, 1, 1}}},
    {"yuv410p", CUDAENC_COLOR_YUV, 3, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 2, 2}, {2, 0, 1, 0, 8, 2, 2}}},
    {"nv12", CUDAENC_COLOR_YUV, 2, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 2, 0, 8, 1, 1}, {1, 1, 2, 0, 8, 1, 1}}},
    {"p210", CUDAENC_COLOR_YUV, 2, 3, {{0, 0, 2, 6, 10, 0, 0}, {1, 0, 4, 6, 10, 1, 0}, {1, 2, 4, 6, 10, 1, 0}}},
};

// Sides from 1 to 70 with every format, in tiles that begin at odd places, by both wavelets.
START_TEST(load_and_dwt_of_every_size) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 200);
    for (const PixelFormat &f : kPixelFormats)
        for (int size = 1; size <= 70; size += _i ? random.between(1, 12) : 1) {
            Case k(random, 4);
            k.begin_at_origin();
            const bool wide = random.one_in(2);
            k.format = make_format(wide ? size : random.between(1, 70), wide ? random.between(1, 70) : size,
                                   f.components, 8, true, f.model);
            k.format.planes = f.planes;
            std::copy(f.component, f.component + f.components, k.format.component);
            cudaenc_j2k_defaults(&k.options);
            k.options.levels = random.between(1, 5);
            k.options.poc = k.options.roi = nullptr;
            if (random.one_in(2)) k.options.tile_width = random.between(1, k.format.width) | 1;
            if (random.one_in(2)) k.options.tile_height = random.between(1, k.format.height) | 1;
            for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
                k.options.pred = pred;
                k.update();
                check_transform(device, random, k);
            }
        }
}
END_TEST

// Sizes at which strips, thread-blocks and segments begin and end.
START_TEST(dwt_at_the_edges_of_thread_blocks) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
        const int strip = 2 * (pred == CUDAENC_J2K_DWT97 ? kStripPairs<Dwt97> : kStripPairs<Dwt53>);
        const int block = strip * kDwtThreads / 32;
        for (const int width : {1, 2, strip - 1, strip, strip + 1, 2 * strip + 1, block - 1, block, block + 1})
            for (const int height : {1, 31, 32, 33, 65}) {
                Case k(random, 4);
                k.begin_at_origin();
                k.format = make_format(2 * width + 1, height, 1, 8, false, CUDAENC_COLOR_GRAY);
                cudaenc_j2k_defaults(&k.options);
                k.options.tile_width = width;
                k.options.levels = random.between(1, 3);
                k.options.poc = k.options.roi = nullptr;
                k.options.pred = pred;
                k.update();
                check_transform(device, random, k);
            }
    }
}
END_TEST

START_TEST(kernels_alone) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 300);
    CudaencJ2kOptions options = default_options();
    for (const int pred : {CUDAENC_J2K_DWT53, CUDAENC_J2K_DWT97})
        for (const int levels : {0, 5}) {
            options.pred = pred;
            options.levels = levels;
            const Case k(bench_format(device), options);
            Picture picture = make_picture(random, k.format, Content::smooth);
            const auto expected = on_host(k, picture);
            const std::string what =
                format_string("%s alone, levels %d", pred == CUDAENC_J2K_DWT53 ? "dwt53" : "dwt97", levels);
            bench(what, device, 3. * k.format.width * k.format.height, "samples",
                  [&] { check_coefficients(k, on_device(device, k, picture, 16), expected, what); });
        }
}
END_TEST

START_TEST(frames) {
    const auto device = open_test_device(_i);
    CudaencJ2kOptions options = default_options();
    for (const int pred : {CUDAENC_J2K_DWT53, CUDAENC_J2K_DWT97})
        for (options.levels = 0; options.levels <= 5; options.levels += options.levels ? 4 : 1) {
            options.pred = pred;
            const std::string what =
                format_string("%s, levels %d", pred == CUDAENC_J2K_DWT53 ? "lossless" : "lossy", options.levels);
            check_frame(device, what, options.levels ? "j2k/transform/dwt" : "j2k/transform/load", options);
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("dwt");
    TCase *lines = add_case(suite, "lines");
    tcase_add_test(lines, mirror_extends_as_the_standard_says);
    tcase_add_loop_test(lines, reversible_round_trips_are_exact, 0, 2);
    tcase_add_loop_test(lines, irreversible_round_trips_are_close, 0, 2);
    tcase_add_test(lines, regions_have_all_that_their_samples_are_made_of);
    tcase_add_test(lines, bands_have_the_standard_gains);
    tcase_add_loop_test(lines, strips_do_not_show, 0, 4);
    tcase_add_test(lines, inverse_transforms_give_pictures_back);
    tcase_add_loop_test(lines, no_picture_outgrows_the_bit_planes, 0, 8);
    TCase *rows = add_case(suite, "rows");
    tcase_add_test(rows, rows_are_loaded_as_samples_are);
    tcase_add_test(rows, multiply_add_rounds_once);
    tcase_add_test(rows, component_transforms_are_the_standards);
    tcase_add_test(rows, rows_are_quantised_as_the_standard_says);
    tcase_add_test(rows, samples_are_rounded_and_clipped);
    tcase_add_test(rows, coefficients_are_dequantised_as_the_standard_says);
    tcase_add_test(rows, large_pictures);
    TCase *kernels = add_case(suite, "kernels");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(kernels, load_alone_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, load_and_dwt_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, load_and_dwt_of_every_size, 0, devices);
    tcase_add_loop_test(kernels, dwt_at_the_edges_of_thread_blocks, 0, devices);
    tcase_add_loop_test(kernels, kernels_alone, 0, devices);
    tcase_add_loop_test(kernels, frames, 0, devices);
    return run_suite(suite);
}
