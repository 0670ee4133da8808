// SPDX-License-Identifier: LGPL-2.1-or-later
// Inverse wavelet transform: one level, dequantisation of its sub-bands and both directions, in one pass over memory.
// The last level goes on to planes, with inverse component transform, rounding and clipping. Rows come first (T.800
// F.3.2) and cross the lanes of a warp by shuffles. A lane walks down its two columns and keeps the vertical filter's
// state in registers.
#include "../../../common/j2k/transform/dwt.h"
#include "store.cuh"

namespace cudaenc::j2k {

// The inverse vertical filter of a column, from top to bottom.
template <class W>
class InverseColumn {
  public:
    using Sample = typename W::Sample;
    static constexpr int kDelay = W::kSteps / 2;
    // Takes the next row pair, an even row and the odd one below it. Gives the samples of the pair kDelay above.
    DEVICE_MEMBER void push(Sample &even, Sample &odd) {
        if constexpr (W::kSteps == 4) unlift<3>(even, odd);
        unlift<1>(even, odd);
    }

  private:
    // Undoes two steps of the lifting. The second one needs the sample below.
    template <int Step>
    DEVICE_MEMBER void unlift(Sample &even, Sample &odd) {
        Sample &even_above = even_[Step / 2], &odd_above = odd_[Step / 2];
        const Sample low = W::template unlift<Step>(even, odd_above, odd);
        const Sample high = W::template unlift<Step - 1>(odd_above, even_above, low);
        even = even_above, even_above = low;
        odd_above = odd, odd = high;
    }
    Sample even_[kDelay] = {}, odd_[kDelay] = {};  // the row pair above: even after its step, odd before
};

// The inverse horizontal filter of a row. Each lane has an even sample and the odd one right of it.
template <class W, int Step>
DEVICE void unlift_row(typename W::Sample &even, typename W::Sample &odd) {
    even = W::template unlift<Step>(even, warp_shuffle_up(odd, 1), odd);
    odd = W::template unlift<Step - 1>(odd, even, warp_shuffle_down(even, 1));
}
template <class W>
DEVICE void synthesise_row(typename W::Sample &even, typename W::Sample &odd) {
    even *= W::inverse_scale().low, odd *= W::inverse_scale().high;
    if constexpr (W::kSteps == 4) unlift_row<W, 3>(even, odd);
    unlift_row<W, 1>(even, odd);
}

// A warp's part of a resolution.
template <class W>
struct InverseStrip {
    Extent e, part;
    int first, last;  // row pairs 2 n and 2 n + 1, n in [first, last)
    int pair;         // the lane's columns: 2 pair and 2 pair + 1
    bool writes[2];   // whether the lane writes them
    int x[2];         // where they lie after symmetric extension

    DEVICE_MEMBER InverseStrip(const WarpWork &warp, int segment_rows) : e(warp.work->extent), part(warp.work->part) {
        constexpr int kHelpers = kStripHelpers<W>;
        const int first_pair = part.x0 >> 1, last_pair = (part.x1 - 1) >> 1;
        const int strips = (last_pair - first_pair + kStripPairs<W>) / kStripPairs<W>;
        first = (part.y0 >> 1) + warp.number / strips * segment_rows;
        last = min_of(first + segment_rows, ((part.y1 - 1) >> 1) + 1);
        const int lane = lane_id();
        pair = first_pair + warp.number % strips * kStripPairs<W> + lane - kHelpers;
        const bool owns = lane >= kHelpers && lane < 32 - kHelpers;
        for (int i = 0; i < 2; i++) {
            writes[i] = owns && 2 * pair + i >= part.x0 && 2 * pair + i < part.x1;
            // Lanes beyond the extension read some valid column. No lane uses theirs.
            x[i] = mirror(2 * min_of(pair, last_pair + kHelpers) + i, e.x0, e.x1);
        }
    }
};

// Two columns of the sub-bands of N tile-components of the same extent.
template <class Sample, int N>
class SubBands {
  public:
    DEVICE_MEMBER SubBands(const InverseLaunchInput &p, const InverseWork *w, const int (&x)[2])
        : work_(w), low_stride_(w->in.stride), stride_(w->stride), low_is_coded_(w->low_is_coded) {
        const Extent &e = w->extent;
        y0_ = e.y0;
        low_y0_ = w->in.y0;
        low_rows_ = low_begin(e.y1) - low_begin(e.y0);
        has_even_ = !(x[0] & 1), has_odd_ = x[1] & 1;
        has_region_ = false;
        // Where a column is not there, no address is used.
        const int even = (x[0] >> 1) - low_begin(e.x0), odd = low_begin(e.x1) - low_begin(e.x0) + (x[1] >> 1);
        right_ = odd - even;
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            low_[c] = opaque((low_is_coded_ ? p.coefficients : p.in) + w[c].in.first + int64_t{(x[0] >> 1) - w->in.x0});
            left_[c] = opaque(p.coefficients + w[c].coefficients + int64_t{even});
            has_region_ = has_region_ || w[c].region_shift;
            CUDAENC_UNROLL
            for (int o = kHL; o <= kHH; o++) step_[c][o - kHL] = w[c].step[o];
        }
    }
    struct Row {
        uint32_t even[N], odd[N];
    };
    // Row y, even or odd. kInside: it is there, and so are both columns.
    template <bool kOdd, bool kInside>
    DEVICE_MEMBER Row fetch(int y) const {
        Row row{};
        if (!kInside && (y & 1) != kOdd) return row;
        const uint32_t k = static_cast<uint32_t>(kOdd ? low_rows_ + (y >> 1) : (y >> 1) - y0_);
        const uint64_t at = uint64_t{k} * stride_;
        const uint64_t low_at = static_cast<uint64_t>((y >> 1) - low_y0_) * low_stride_;
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            if (kInside || has_even_) row.even[c] = kOdd ? left_[c][at] : low_[c][low_at];
            if (kInside || has_odd_) row.odd[c] = left_[c][at + static_cast<uint64_t>(int64_t{right_})];
        }
        return row;
    }
    template <bool kOdd>
    DEVICE_MEMBER void convert(const Row &row, Sample (&v)[N][2]) const {
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            if (!kOdd && !low_is_coded_)
                v[c][0] = value_of<Sample>(row.even[c]);
            else
                dequantise_decoded(out_of_region(row.even[c], c), 0, kOdd ? step_[c][kLH - kHL] : work_[c].step[kLL],
                                   v[c][0]);
            dequantise_decoded(out_of_region(row.odd[c], c), 0, step_[c][(kOdd ? kHH : kHL) - kHL], v[c][1]);
        }
    }

  private:
    DEVICE_MEMBER uint32_t out_of_region(uint32_t coefficient, int c) const {
        if (!has_region_) return coefficient;
        return (coefficient & kSignBit) | without_region(magnitude(coefficient), work_[c].region_shift);
    }

    const InverseWork *work_;
    const uint32_t *low_[N], *left_[N];  // of LL; of LL and LH in the coefficients
    int right_;                          // from there to HL and HH
    uint32_t low_stride_, stride_;
    int low_y0_, y0_, low_rows_;  // rows of HL are above those of LH and HH
    bool has_even_, has_odd_;     // columns: the only one lacks the other
    bool low_is_coded_, has_region_;
    float step_[N][3];
};

// Makes a strip of N tile-components. sink.store(y, v) takes v[component][i], the sample of the lane's column i, of the
// rows of the part.
template <class W, int N, class Sink>
DEVICE void synthesise(const InverseLaunchInput &p, const InverseWork *w, const InverseStrip<W> &s, const Sink &sink) {
    using Sample = typename W::Sample;
    using Bands = SubBands<Sample, N>;
    constexpr int kDelay = InverseColumn<W>::kDelay;
    const Extent e = s.e, part = s.part;
    const Bands bands(p, w, s.x);

    struct Rows {
        typename Bands::Row even, odd;
    };
    const auto fetch = [&]<bool kInside>(int n) {
        return Rows{bands.template fetch<false, kInside>(kInside ? 2 * n : mirror(2 * n, e.y0, e.y1)),
                    bands.template fetch<true, kInside>(kInside ? 2 * n + 1 : mirror(2 * n + 1, e.y0, e.y1))};
    };
    // A multiprocessor has few warps. So the next rows are fetched while these are filtered.
    const int begin = s.first - kDelay, end = s.last + kDelay;
    Rows next = fetch.template operator()<false>(begin);
    InverseColumn<W> column[N][2];

    // Reads the nth row pair and writes the one kDelay above. kInside: all rows exist, and a row and a column have more
    // than one sample.
    const auto step = [&]<bool kInside>(int n) {
        const Rows rows = next;
        next = fetch.template operator()<kInside>(min_of(n + 1, end - 1));
        Sample even[N][2], odd[N][2];
        bands.template convert<false>(rows.even, even);
        bands.template convert<true>(rows.odd, odd);
        // A signal of one sample passes, halved at an odd position (T.800 F.3.6).
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            if (kInside || e.width() > 1) {
                synthesise_row<W>(even[c][0], even[c][1]);
                synthesise_row<W>(odd[c][0], odd[c][1]);
            } else {
                even[c][1] /= 2, odd[c][1] /= 2;
            }
            CUDAENC_UNROLL
            for (int i = 0; i < 2; i++) {
                if (kInside || e.height() > 1) {
                    even[c][i] *= W::inverse_scale().low, odd[c][i] *= W::inverse_scale().high;
                    column[c][i].push(even[c][i], odd[c][i]);
                } else {
                    odd[c][i] /= 2;
                }
            }
        }
        const int y = 2 * (n - kDelay);
        if (y < 2 * s.first) return;
        if (kInside || (y >= part.y0 && y < part.y1)) sink.store(y, even);
        if (kInside || (y + 1 >= part.y0 && y + 1 < part.y1)) sink.store(y + 1, odd);
    };
    const int inside = low_begin(part.y0) + kDelay,
              beyond = e.width() > 1 ? min_of(min_of((e.y1 - 2) >> 1, (part.y1 >> 1) + kDelay), end) : inside;
    for (int n = begin; n < end;) {
        if (n < inside || n >= beyond)
            step.template operator()<false>(n++);
        else
            do step.template operator()<true>(n++);
            while (n < beyond);
    }
}

// To memory, pairs of columns at once.
template <class Sample>
struct ToResolution {
    Sample *at;
    uint32_t stride;
    int y0;
    bool writes;

    template <class W>
    DEVICE_MEMBER ToResolution(uint32_t *out, const ResolutionRows &rows, const InverseStrip<W> &s)
        : at(opaque(reinterpret_cast<Sample *>(out) + rows.first + (2 * s.pair - rows.x0))),
          stride(rows.stride),
          y0(rows.y0),
          writes(s.writes[0] || s.writes[1]) {}
    DEVICE_MEMBER void store(int y, const Sample (&v)[1][2]) const {
        if (writes) *reinterpret_cast<Two<Sample> *>(at + static_cast<uint64_t>(y - y0) * stride) = {v[0][0], v[0][1]};
    }
};

// To planes, whatever they are.
template <class Sample, int N>
struct ToChannels {
    const InverseWork *work;
    const ChannelLayout *channels;
    int pair;
    bool writes[2];

    DEVICE_MEMBER void store(int y, const Sample (&in)[N][2]) const {
        Sample v[2][N];
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) v[i][c] = in[c][i];
            if constexpr (N == 3) inverse_component_transform(v[i][0], v[i][1], v[i][2]);
            if (!writes[i]) continue;
            for (int c = 0; c < N; c++)
                store_sample(channels, work[c], 2 * pair + i, y, to_sample(v[i][c], work[c].depth) + work[c].level);
        }
    }
};

// To one channel a component, without palettes, all of which are alike.
template <class Sample, int N, class Word>
struct ToPlanes {
    uint8_t *first[N];  // of the lane's even column
    int64_t stride;
    int32_t step, depth, level, shift, y0;
    uint32_t mask, flipped;
    bool writes[2], both;  // both: columns at once

    // Of a warp, which takes one way.
    DEVICE_MEMBER static bool fits(const InverseWork *w, const ChannelLayout *channels) {
        bool all = true;
        const ChannelLayout &one = channels[w->first_channel];
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            if (w[c].last_channel - w[c].first_channel != 1) return false;
            const ChannelLayout &l = channels[w[c].first_channel];
            all = all && !l.values && l.wide() == (sizeof(Word) == 2) && l.step == one.step && l.stride == one.stride &&
                  l.depth == one.depth && l.shift == one.shift && l.flipped == one.flipped && w[c].depth == w->depth &&
                  w[c].level == w->level;
        }
        return all;
    }
    template <class W>
    DEVICE_MEMBER ToPlanes(const InverseWork *w, const ChannelLayout *channels, const InverseStrip<W> &s) {
        const ChannelLayout &one = channels[w->first_channel];
        stride = one.stride, step = one.step, shift = one.shift, flipped = one.flipped, mask = (1u << one.depth) - 1;
        depth = w->depth, level = w->level, y0 = w->plane_y0;
        auto places = static_cast<uint64_t>(stride);
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            const ChannelLayout &l = channels[w[c].first_channel];
            first[c] = opaque(l.data + int64_t{2 * s.pair - w->plane_x0} * step);
            places |= reinterpret_cast<uintptr_t>(first[c]);
        }
        for (int i = 0; i < 2; i++) writes[i] = s.writes[i];
        both = writes[0] && writes[1] && step == sizeof(Word) && places % (2 * sizeof(Word)) == 0;
    }
    DEVICE_MEMBER Word word_of(Sample x) const {
        const uint32_t sample = static_cast<uint32_t>(to_sample(x, depth) + level);
        return static_cast<Word>(((sample & mask) ^ flipped) << shift);
    }
    DEVICE_MEMBER void store(int y, const Sample (&in)[N][2]) const {
        Sample v[2][N];
        CUDAENC_UNROLL
        for (int i = 0; i < 2; i++) {
            CUDAENC_UNROLL
            for (int c = 0; c < N; c++) v[i][c] = in[c][i];
            if constexpr (N == 3) inverse_component_transform(v[i][0], v[i][1], v[i][2]);
        }
        CUDAENC_UNROLL
        for (int c = 0; c < N; c++) {
            uint8_t *at = first[c] + (y - y0) * stride;
            const Word even = word_of(v[0][c]), odd = word_of(v[1][c]);
            if (both) {
                *reinterpret_cast<Two<Word> *>(at) = {even, odd};
            } else {
                if (writes[0]) *reinterpret_cast<Word *>(at) = even;
                if (writes[1]) *reinterpret_cast<Word *>(at + step) = odd;
            }
        }
    }
};

template <class W>
DEVICE void synthesise_to_memory(const IdwtInput &p) {
    const uint32_t number = launch_warp();
    if (number >= p.launch.warps) return;
    const WarpWork warp = find_work(p.launch, number);
    const InverseStrip<W> strip(warp, p.launch.segment_rows);
    using Sample = typename W::Sample;
    synthesise<W, 1>(p.launch, warp.work, strip, ToResolution<Sample>(p.out, warp.work->out, strip));
}

template <class W, int N>
DEVICE void synthesise_to_planes(const IdwtStoreInput &p) {
    const uint32_t number = launch_warp();
    if (number >= p.launch.warps) return;
    const WarpWork warp = find_work(p.launch, number);
    const InverseStrip<W> strip(warp, p.launch.segment_rows);
    using Sample = typename W::Sample;
    using Bytes = ToPlanes<Sample, N, uint8_t>;
    using Words = ToPlanes<Sample, N, uint16_t>;
    const auto to = [&](const auto &sink) { synthesise<W, N>(p.launch, warp.work, strip, sink); };
    if (Bytes::fits(warp.work, p.channels))
        to(Bytes(warp.work, p.channels, strip));
    else if (Words::fits(warp.work, p.channels))
        to(Words(warp.work, p.channels, strip));
    else
        to(ToChannels<Sample, N>{warp.work, p.channels, strip.pair, {strip.writes[0], strip.writes[1]}});
}

// A warp owns a strip of columns and a segment of its rows, a lane two columns.
KERNEL_BLOCKS(kDwtThreads, kIdwtBlocks, j2k_idwt53, Idwt53Params) { synthesise_to_memory<Dwt53>(p); }
KERNEL_BLOCKS(kDwtThreads, kIdwtBlocks, j2k_idwt97, Idwt97Params) { synthesise_to_memory<Dwt97>(p); }
KERNEL_BLOCKS(kDwtThreads, kIdwtBlocks, j2k_idwt53_store, Idwt53StoreParams) { synthesise_to_planes<Dwt53, 1>(p); }
KERNEL_BLOCKS(kDwtThreads, kIdwtBlocks, j2k_idwt97_store, Idwt97StoreParams) { synthesise_to_planes<Dwt97, 1>(p); }
KERNEL_BLOCKS(kDwtThreads, kIdwtMctBlocks, j2k_idwt53_mct_store, Idwt53MctStoreParams) {
    synthesise_to_planes<Dwt53, 3>(p);
}
KERNEL_BLOCKS(kDwtThreads, kIdwtMctBlocks, j2k_idwt97_mct_store, Idwt97MctStoreParams) {
    synthesise_to_planes<Dwt97, 3>(p);
}

}  // namespace cudaenc::j2k
