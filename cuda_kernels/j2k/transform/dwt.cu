// SPDX-License-Identifier: LGPL-2.1-or-later
// Wavelet transform: one level, both directions and the quantisation of its sub-bands, in one pass over memory. The
// first level takes pixels of any layout, with level shift and component transform. The vertical filter comes first
// (T.800 F.4.2): a lane walks down its two columns and keeps the filter's state in registers. Rows cross the lanes of a
// warp by shuffles.
#include "../../../common/j2k/transform/dwt.h"

#include "../../../common/j2k/transform/quantise.h"
#include "../../device.cuh"
#include "dwt_params.h"

namespace cudaenc::j2k {

template <class Sample>
DEVICE uint32_t word_of(Sample x) {
    uint32_t word;
    static_assert(sizeof word == sizeof x);
    __builtin_memcpy(&word, &x, sizeof word);
    return word;
}

// The vertical filter of a column, from top to bottom.
template <class W>
class Column {
  public:
    using Sample = typename W::Sample;
    static constexpr int kDelay = W::kSteps / 2;
    // Takes the samples of the next two rows, an odd one and the even one below it. Gives the filtered ones of the two
    // rows that lie 2 kDelay above.
    DEVICE_MEMBER void push(Sample &odd, Sample &even) {
        lift<0>(odd, even);
        if constexpr (W::kSteps == 4) lift<2>(odd, even);
    }

  private:
    // Two steps of the lifting, which need the sample below.
    template <int Step>
    DEVICE_MEMBER void lift(Sample &odd, Sample &even) {
        Sample &even_above = even_[Step / 2], &odd_above = odd_[Step / 2];
        const Sample high = W::template lift<Step>(odd, even_above, even);
        const Sample low = W::template lift<Step + 1>(even_above, odd_above, high);
        odd = odd_above, odd_above = high;
        even_above = even, even = low;
    }
    Sample even_[kDelay] = {}, odd_[kDelay] = {};  // the row pair above: even before two steps, odd after its step
};

// The horizontal filter of a row. Each lane has an even sample and the odd one right of it.
template <class W, int Step>
DEVICE void lift_row(typename W::Sample &even, typename W::Sample &odd) {
    odd = W::template lift<Step>(odd, even, warp_shuffle_down(even, 1));
    even = W::template lift<Step + 1>(even, warp_shuffle_up(odd, 1), odd);
}
template <class W>
DEVICE void transform_row(typename W::Sample &even, typename W::Sample &odd) {
    lift_row<W, 0>(even, odd);
    if constexpr (W::kSteps == 4) lift_row<W, 2>(even, odd);
}

// A warp's part of the resolution `e`.
template <class W>
struct Strip {
    Extent e;
    bool empty;
    int first, last;               // row pairs 2 n - 1 and 2 n, n in [first, last)
    int pair;                      // the lane's columns: 2 pair and 2 pair + 1
    bool even_column, odd_column;  // whether the lane writes them
    int x[2];                      // where they lie after symmetric extension

    DEVICE_MEMBER Strip(const DwtLevel &p, const Extent &extent) : e(extent) {
        constexpr int kHelpers = kStripHelpers<W>;
        const int strip = block_x() % p.block_columns * (kDwtThreads / 32) + warp_id();
        const int first_pair = (e.x0 >> 1) + strip * kStripPairs<W>;
        first = low_begin(e.y0) + block_y() * p.segment_row_pairs;
        last = min_of(first + p.segment_row_pairs, high_begin(e.y1) + 1);
        empty = e.width() <= 0 || e.height() <= 0 || first >= last || 2 * first_pair >= e.x1;
        if (empty) return;
        const int lane = lane_id();
        pair = first_pair + lane - kHelpers;
        const bool writes = lane >= kHelpers && lane < 32 - kHelpers;
        even_column = writes && 2 * pair >= e.x0 && 2 * pair < e.x1;
        odd_column = writes && 2 * pair + 1 < e.x1;
        // Lanes beyond the extension read some valid column. No lane uses theirs.
        for (int i = 0; i < 2; i++) x[i] = mirror(min_of(2 * pair + i, e.x1 + W::kReach), e.x0, e.x1);
    }
};

// Transforms a strip of N tile-components of the same extent. source.fetch(y) gives what it has of row y in memory;
// source.convert(row, v) sets v[component][i] to the sample of the lane's column i in it.
// Coefficient: uint32_t as quantise() makes it, or int16_t, a quantisation index.
template <class Coefficient, class W, int N, class Source>
DEVICE void transform_to(const DwtLevel &p, const TileComponent *t, const BandQuantiser (*quantiser)[4],
                         const Strip<W> &s, Source source) {
    using Sample = typename W::Sample;
    constexpr int kDelay = Column<W>::kDelay;
    const Extent e = s.e;
    // In the coefficients' rows, the low half of a resolution lies left of and above its high half.
    const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
    const uint32_t low_x = s.pair - low_begin(e.x0), high_x = lows + s.pair - high_begin(e.x0);
    const uint32_t stride = t[0].x1 - t[0].x0, low_stride = lows;
    Coefficient *coefficients[N];
    uint32_t *low[N];  // where it is not coded
    CUDAENC_UNROLL
    for (int c = 0; c < N; c++) {
        coefficients[c] = opaque(reinterpret_cast<Coefficient *>(p.coefficients) + t[c].samples);
        low[c] = opaque(p.low + (p.level & 1 ? t[c].ll_odd : t[c].ll_even));
    }

    struct Rows {
        typename Source::Row odd, even;
    };
    const auto fetch = [&]<bool kInside>(int n) {
        return Rows{source.fetch(kInside ? 2 * n - 1 : mirror(2 * n - 1, e.y0, e.y1)),
                    source.fetch(kInside ? 2 * n : mirror(2 * n, e.y0, e.y1))};
    };
    // A multiprocessor has few warps. So the next rows are fetched while these are filtered.
    const int begin = s.first - kDelay, end = s.last + kDelay;
    Rows next = fetch.template operator()<false>(begin);
    Column<W> column[N][2];

    // Reads the nth row pair and writes the one kDelay above. kInside: all rows exist, and a row and a column have more
    // than one sample.
    const auto step = [&]<bool kInside>(int n) {
        const Rows rows = next;
        next = fetch.template operator()<kInside>(min_of(n + 1, end - 1));
        Sample odd[N][2], even[N][2];
        source.convert(rows.odd, odd);
        source.convert(rows.even, even);
        // A signal of one sample passes, doubled at an odd position (T.800 F.4.6).
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++)
                if (kInside || e.height() > 1)
                    column[c][i].push(odd[c][i], even[c][i]);
                else
                    odd[c][i] *= 2;
        }
        const int row_pair = n - kDelay;
        if (row_pair < s.first) return;
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            if (kInside || e.width() > 1) {
                transform_row<W>(odd[c][0], odd[c][1]);
                transform_row<W>(even[c][0], even[c][1]);
            } else {
                odd[c][1] *= 2;
                even[c][1] *= 2;
            }
        }

        const bool across = kInside || e.width() > 1, down = kInside || e.height() > 1;
        const auto odd_scale = W::row_scale(true, across, down), even_scale = W::row_scale(false, across, down);
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            odd[c][0] *= odd_scale.low, odd[c][1] *= odd_scale.high;
            even[c][0] *= even_scale.low, even[c][1] *= even_scale.high;
        }
        const bool odd_row = kInside || (2 * row_pair - 1 >= e.y0 && 2 * row_pair - 1 < e.y1);
        const bool even_row = kInside || (2 * row_pair >= e.y0 && 2 * row_pair < e.y1);
        const uint32_t high_y = low_rows + row_pair - 1 - high_begin(e.y0), low_y = row_pair - low_begin(e.y0);
        const auto quantised = [&](Sample x, const BandQuantiser &q) {
            if constexpr (sizeof(Coefficient) == 2)
                return static_cast<Coefficient>(quantisation_index(x, q.inverse_step, q.limit));
            else
                return quantise(x, q.inverse_step, q.limit);
        };
        if (s.even_column) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) {
                if (odd_row) coefficients[c][high_y * stride + low_x] = quantised(odd[c][0], quantiser[c][kLH]);
                if (even_row && p.last)
                    coefficients[c][low_y * stride + low_x] = quantised(even[c][0], quantiser[c][kLL]);
                else if (even_row)
                    low[c][low_y * low_stride + low_x] = word_of(even[c][0]);
            }
        }
        if (s.odd_column) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) {
                if (odd_row) coefficients[c][high_y * stride + high_x] = quantised(odd[c][1], quantiser[c][kHH]);
                if (even_row) coefficients[c][low_y * stride + high_x] = quantised(even[c][1], quantiser[c][kHL]);
            }
        }
    };
    const int inside = (e.y0 >> 1) + 1 + kDelay, beyond = e.width() > 1 ? min_of((e.y1 - 1) >> 1, end) : inside;
    for (int n = begin; n < end;) {
        if (n < inside || n >= beyond)
            step.template operator()<false>(n++);
        else
            do step.template operator()<true>(n++);
            while (n < beyond);
    }
}

template <class W, int N, class Source>
DEVICE void transform(const DwtLevel &p, const TileComponent *t, const BandQuantiser (*quantiser)[4], const Strip<W> &s,
                      const Source &source) {
    if (p.is_short)
        transform_to<int16_t, W, N>(p, t, quantiser, s, source);
    else
        transform_to<uint32_t, W, N>(p, t, quantiser, s, source);
}

// Two columns of pixels of N components: three with the component transform.
template <class Sample, int N, bool kSigned>
struct Pixels {
    const uint8_t *column[N][2];
    uint32_t stride[N];
    int32_t shift[N], depth[N];

    DEVICE_MEMBER Pixels(const SampleLayout *layout, const int (&x)[2]) {
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            const SampleLayout l = layout[c];
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++) column[c][i] = opaque(l.data + int64_t{x[i]} * l.step);
            stride[c] = static_cast<uint32_t>(l.stride);
            shift[c] = l.shift;
            depth[c] = l.depth;
        }
    }
    struct Row {
        int32_t sample[N][2];
    };
    DEVICE_MEMBER Row fetch(int y) const {
        Row row;
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) {
                const uint8_t *pixel = column[c][i] + uint64_t{stride[c]} * static_cast<uint32_t>(y);
                row.sample[c][i] =
                    load_sample({pixel, 0, 0, shift[c], depth[c]}, 0, 0, kSigned ? 1u << (depth[c] - 1) : 0);
            }
        }
        return row;
    }
    DEVICE_MEMBER void convert(const Row &row, Sample (&v)[N][2]) const {
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) v[c][i] = static_cast<Sample>(row.sample[c][i]);
            if constexpr (N == 3) component_transform(v[0][i], v[1][i], v[2][i]);
        }
    }
};

// The same of unsigned 8-bit planes where all lanes have two neighbouring columns, which one load brings.
template <class Sample, int N>
struct PixelPairs {
    const uint8_t *pair[N];
    uint32_t stride[N];

    // Of a warp, which takes one way.
    DEVICE_MEMBER static bool fits(const SampleLayout *layout, const int (&x)[2]) {
        bool all = x[1] == x[0] + 1;
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            const SampleLayout &l = layout[c];
            all = all && l.step == 1 && l.depth == 8 && l.shift == 0 &&
                  ((reinterpret_cast<uintptr_t>(l.data) + static_cast<uint32_t>(x[0])) | l.stride) % 2 == 0;
        }
        return warp_all(all);
    }
    DEVICE_MEMBER PixelPairs(const SampleLayout *layout, const int (&x)[2]) {
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            pair[c] = opaque(layout[c].data + x[0]);
            stride[c] = static_cast<uint32_t>(layout[c].stride);
        }
    }
    struct Row {
        uint32_t two[N];
    };
    DEVICE_MEMBER Row fetch(int y) const {
        Row row;
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++)
            row.two[c] = *reinterpret_cast<const uint16_t *>(pair[c] + uint64_t{stride[c]} * static_cast<uint32_t>(y));
        return row;
    }
    DEVICE_MEMBER void convert(const Row &row, Sample (&v)[N][2]) const {
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            v[c][0] = static_cast<Sample>(row.two[c] & 0xFF) - 128;
            v[c][1] = static_cast<Sample>(row.two[c] >> 8) - 128;
        }
        if constexpr (N == 3) {
            component_transform(v[0][0], v[1][0], v[2][0]);
            component_transform(v[0][1], v[1][1], v[2][1]);
        }
    }
};

// Two columns of pixels of RGB or YUV, as X'Y'Z'. Columns are even and odd, also after symmetric extension.
template <bool kYuv>
struct XyzPixels {
    static constexpr int kFull = kYuv ? 1 : 3;  // components that are not sub-sampled
    const LoadXyzDwtInput &p;
    const LightCurve to_light;  // in shared memory
    const CodeCurve to_code;
    const uint8_t *full[kFull][2];
    const uint8_t *chroma[2][3];  // of the even column; left and right of the odd column
    int32_t stride[3], shift[3], depth[3];
    uint32_t right;  // weight of chroma right of the odd column
    int chroma_rows;
    // Rows of chroma at the two columns, above and below the row that was read last: most are used four times.
    struct ChromaRow {
        int row = -1;
        uint32_t sum[2][2];  // [component - 1][column]
    } above, below;

    DEVICE_MEMBER XyzPixels(const LoadXyzDwtInput &input, LightCurve light, CodeCurve codes, const int (&x)[2])
        : p(input), to_light(light), to_code(codes) {
        const int columns = chroma_count(p.width, p.conversion.log2_subsample_x);
        const Between even = between_columns(x[0], p.conversion.log2_subsample_x, columns),
                      odd = between_columns(x[1], p.conversion.log2_subsample_x, columns);
        right = odd.second_weight;
        chroma_rows = chroma_count(p.height, p.conversion.log2_subsample_y);
        CUDAENC_UNROLL
        for (int c = 0; c < 3; c++) {
            const SampleLayout l = p.load.layout[c];
            const auto at = [&](int column) { return opaque(l.data + int64_t{column} * l.step); };
            if (c < kFull) {
                full[c][0] = at(x[0]), full[c][1] = at(x[1]);
            } else {
                chroma[c - 1][0] = at(even.first), chroma[c - 1][1] = at(odd.first), chroma[c - 1][2] = at(odd.second);
            }
            stride[c] = static_cast<int32_t>(l.stride);
            shift[c] = l.shift;
            depth[c] = l.depth;
        }
    }
    DEVICE_MEMBER uint32_t code(const uint8_t *column, int c, int y) const {
        return load_code(
            {column + uint64_t{static_cast<uint32_t>(stride[c])} * static_cast<uint32_t>(y), 0, 0, shift[c], depth[c]},
            0, 0);
    }
    DEVICE_MEMBER ChromaRow read_chroma(int row) const {
        ChromaRow made{row, {}};
        const uint32_t left = (1u << p.conversion.log2_subsample_x) - right;
        CUDAENC_UNROLL
        for (int c = 1; c < 3; c++) {
            const uint8_t *const(&k)[3] = chroma[c - 1];
            made.sum[c - 1][0] = code(k[0], c, row) << p.conversion.log2_subsample_x;
            made.sum[c - 1][1] = left * code(k[1], c, row) + right * code(k[2], c, row);
        }
        return made;
    }
    // Its many values would take too many registers: they are read when they are converted.
    struct Row {
        int y;
    };
    DEVICE_MEMBER Row fetch(int y) const { return {y}; }
    DEVICE_MEMBER void convert(const Row &row, float (&v)[3][2]) {
        const int y = row.y;
        float pixel[2][3];
        CUDAENC_UNROLL
        for (int c = 0; c < kFull; c++) {
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++) pixel[i][c] = float_of(code(full[c][i], c, y));
        }
        if constexpr (kYuv) {
            const Between rows = between_rows(y, p.conversion.log2_subsample_y, chroma_rows);
            if (rows.first == below.row)
                above = below;
            else if (rows.first != above.row)
                above = read_chroma(rows.first);
            if (rows.second != below.row) below = read_chroma(rows.second);
            CUDAENC_UNROLL
            for (int c = 0; c < 2; c++) {
                CUDAENC_UNROLL
                for (int i = 0; i < 2; i++)
                    pixel[i][c + 1] =
                        float_of(rows.first_weight * above.sum[c][i] + rows.second_weight * below.sum[c][i]) *
                        p.conversion.chroma_scale;
            }
        }
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            to_rgb<kYuv>(p.conversion, pixel[i]);
            to_codes(p.conversion, to_light, to_code, pixel[i]);
            CUDAENC_UNROLL
            for (int c = 0; c < 3; c++) v[c][i] = pixel[i][c] - static_cast<float>(1 << (kXyzDepth - 1));
            if (p.load.mct) component_transform(v[0][i], v[1][i], v[2][i]);
        }
    }
};

// Two columns of the low half of the level before.
template <class Sample>
struct LowSamples {
    const Sample *column[2];
    int y0, width;

    DEVICE_MEMBER LowSamples(const Sample *samples, const Extent &e, const int (&x)[2]) : y0(e.y0), width(e.width()) {
        for (int i = 0; i < 2; i++) column[i] = opaque(samples + (x[i] - e.x0));
    }
    struct Row {
        Sample sample[2];
    };
    DEVICE_MEMBER Row fetch(int y) const {
        const uint32_t at = static_cast<uint32_t>((y - y0) * width);
        return {{column[0][at], column[1][at]}};
    }
    DEVICE_MEMBER void convert(const Row &row, Sample (&v)[1][2]) const {
        for (int i = 0; i < 2; i++) v[0][i] = row.sample[i];
    }
};

// The thread-block's tile-component.
DEVICE const TileComponent *tile_component(const DwtLevel &p, int component) {
    return p.tile_components + block_x() / p.block_columns * p.components + component;
}

template <class W, int N, bool kSigned>
DEVICE void load_and_transform(const LoadDwtInput &p, int component) {
    const TileComponent *t = tile_component(p.dwt, component);
    const Strip<W> strip(p.dwt, extent_at(*t, 0));
    if (strip.empty) return;
    using Sample = typename W::Sample;
    const SampleLayout *const layout = p.layout + component;
    const auto from = [&](const auto &source) {
        transform<W, N>(p.dwt, t, p.dwt.quantiser + quantiser_of(component), strip, source);
    };
    if constexpr (!kSigned)
        if (PixelPairs<Sample, N>::fits(layout, strip.x)) return from(PixelPairs<Sample, N>(layout, strip.x));
    from(Pixels<Sample, N, kSigned>(layout, strip.x));
}
template <class W, bool kSigned = false>
DEVICE void load_and_transform(const LoadDwtInput &p) {
    if (p.mct && block_z() == 0)
        load_and_transform<W, 3, kSigned>(p, 0);
    else
        load_and_transform<W, 1, kSigned>(p, p.mct ? block_z() + 2 : block_z());
}

template <bool kYuv>
DEVICE void load_xyz_and_transform(const LoadXyzDwtInput &p) {
    SHARED(CurvePiece, to_light, LightCurve::kPieces);
    SHARED(CurvePiece, to_code, CodeCurve::kPieces);
    for (int i = thread_x(); i < LightCurve::kPieces; i += kDwtThreads) to_light[i] = p.conversion.to_light.piece[i];
    for (int i = thread_x(); i < CodeCurve::kPieces; i += kDwtThreads) to_code[i] = p.conversion.to_code.piece[i];
    block_sync();
    const DwtLevel &dwt = p.load.dwt;
    const TileComponent *t = tile_component(dwt, 0);
    const Strip<Dwt97> strip(dwt, extent_at(*t, 0));
    if (strip.empty) return;
    transform<Dwt97, 3>(dwt, t, dwt.quantiser, strip, XyzPixels<kYuv>(p, {to_light}, {to_code}, strip.x));
}

template <class W>
DEVICE void transform_low(const LowDwtInput &p) {
    using Sample = typename W::Sample;
    const TileComponent *t = tile_component(p.dwt, block_z());
    const Strip<W> strip(p.dwt, extent_at(*t, p.dwt.level - 1));
    if (strip.empty) return;
    const Sample *in = reinterpret_cast<const Sample *>(p.in) + (p.dwt.level & 1 ? t->ll_even : t->ll_odd);
    transform<W, 1>(p.dwt, t, p.dwt.quantiser + quantiser_of(block_z()), strip,
                    LowSamples<Sample>(in, strip.e, strip.x));
}

// A thread-block owns kDwtThreads / 32 strips side by side, a warp a strip, a lane two columns.
KERNEL(kDwtThreads, j2k_load_dwt53, LoadDwt53Params)
{
    load_and_transform<Dwt53>(p);
}
// As many thread-blocks fit a multiprocessor as dwt_level() counts on.
KERNEL_BLOCKS(kDwtThreads, 5, j2k_load_dwt97, LoadDwt97Params) { load_and_transform<Dwt97>(p); }
KERNEL(kDwtThreads, j2k_load_signed_dwt53, LoadSignedDwt53Params)
{
    load_and_transform<Dwt53, true>(p);
}
KERNEL_BLOCKS(kDwtThreads, 5, j2k_load_signed_dwt97, LoadSignedDwt97Params) { load_and_transform<Dwt97, true>(p); }
KERNEL(kDwtThreads, j2k_load_rgb_xyz_dwt97, LoadRgbXyzDwt97Params)
{
    load_xyz_and_transform<false>(p);
}
KERNEL(kDwtThreads, j2k_load_yuv_xyz_dwt97, LoadYuvXyzDwt97Params)
{
    load_xyz_and_transform<true>(p);
}
KERNEL(kDwtThreads, j2k_dwt53, Dwt53Params)
{
    transform_low<Dwt53>(p);
}
// Levels of several frames share a multiprocessor.
KERNEL_BLOCKS(kDwtThreads, 8, j2k_dwt97, Dwt97Params) { transform_low<Dwt97>(p); }

}  // namespace cudaenc::j2k
