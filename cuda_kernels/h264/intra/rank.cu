// SPDX-License-Identifier: LGPL-2.1-or-later
// The likely modes of 4x4 and 8x8 blocks, ranked on source samples. A thread owns a block and has it in registers.
#include "../../../common/h264/intra/intra_lines.h"
#include "arithmetic.cuh"
#include "rank_params.h"

namespace cudaenc::h264 {

// The neighbours of a block, as in intra_lines.h.
template <int N>
struct BlockValues {
    static constexpr int kNeighbours = neighbours_in_line(N), kPitch = line_pitch(N);
    uint32_t of[3 * kPitch];

    template <class SampleAt>
    DEVICE_MEMBER BlockValues(const SampleAt &sample_at, const Available &a, int bit_depth) {
        CUDAENC_UNROLL
        for (int i = 0; i < kNeighbours; i++) of[i] = i < N ? sample_at(-1, N - 1 - i) : sample_at(i - N - 1, -1);
        CUDAENC_UNROLL
        for (int i = 2 * N + 1; i < kNeighbours; i++) of[i] = a.above_right ? of[i] : of[2 * N];
        if constexpr (N == 8) filter_neighbours(a);
        uint32_t left = 0, above = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) left += of[i], above += of[N + 1 + i];
        of[kNeighbours] = a.left && a.above ? (left + above + N) / (2 * N)
                          : a.left          ? (left + N / 2) / N
                          : a.above         ? (above + N / 2) / N
                                            : 1u << (bit_depth - 1);
        CUDAENC_UNROLL
        for (int i = 0; i < kNeighbours; i++) {
            const uint32_t before = of[i ? i - 1 : 0], after = of[i + 1 < kNeighbours ? i + 1 : i];
            of[kPitch + i] = (of[i] + after + 1) >> 1;
            of[2 * kPitch + i] = (before + 2 * of[i] + after + 2) >> 2;
        }
    }
    // 8.3.2.2.1
    DEVICE_MEMBER void filter_neighbours(const Available &a) {
        uint32_t raw[kNeighbours];
        CUDAENC_UNROLL
        for (int i = 0; i < kNeighbours; i++)
            raw[i] = i <= N && !a.left ? of[N + 1] : i >= N && !a.above ? of[N - 1] : of[i];
        if (a.other_corner && a.above) raw[N] = raw[N + 1];
        CUDAENC_UNROLL
        for (int i = 0; i < kNeighbours; i++) {
            const uint32_t next = raw[i + 1 < kNeighbours ? i + 1 : i];
            const uint32_t after = i == N - 1 && a.other_corner ? raw[i] : next;
            of[i] = (raw[i ? i - 1 : 0] + 2 * raw[i] + after + 2) >> 2;
        }
    }
};

// In the units of block_rank_cpu.h.
DEVICE uint32_t satd_of(uint32_t (&v)[4][2]) { return half_satd(v); }
DEVICE uint32_t satd_of(uint32_t (&v)[8][4]) {
    uint32_t upper[4][4], lower[4][4], sum = 0;
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) upper[y][i] = v[y][i], lower[y][i] = v[4 + y][i];
    hadamard_rows(upper);
    hadamard_rows(lower);
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) CUDAENC_UNROLL
    for (int i = 0; i < 4; i++)
        sum += larger_of_pair(upper[y][i] + lower[y][i]) + larger_of_pair(upper[y][i] - lower[y][i]);
    return sum / 2;
}

// The SATD of a block of pairs of samples less its mean.
DEVICE uint32_t texture_of(const uint32_t (&source)[4][2]) {
    uint32_t v[4][2], sum = 0;
    CUDAENC_UNROLL
    for (int y = 0; y < 4; y++) CUDAENC_UNROLL
    for (int i = 0; i < 2; i++) v[y][i] = source[y][i], sum += source[y][i];
    return 2 * half_satd(v) - (sum & 0xFFFF) - (sum >> 16);
}

template <int N, int Components>
DEVICE void rank_blocks(const RankArguments &p) {
    constexpr int kBlocks = 256 / (N * N);
    const MacroblockRow row = p.rows[block_x()];
    const uint32_t item = static_cast<uint32_t>(block_y() * kRankThreads + thread_x());
    const uint32_t column = min_of(item / kBlocks, p.columns - 1);  // beyond it the last one is ranked again
    const int b = static_cast<int>(item % kBlocks);
    const int x = 16 * static_cast<int>(column) + (N == 4 ? 4 * luma_block_x(b) : 8 * (b & 1));
    const int y = 16 * static_cast<int>(row.y) + (N == 4 ? 4 * luma_block_y(b) : 8 * (b >> 1));
    const uint32_t address = row.y * p.columns + column;
    const Available of_macroblock =
        p.slices ? available_in(p.slices[address], address, column, p.columns) : available_in(row, column, p.columns);
    const Available a = N == 4 ? available_4x4(of_macroblock, b) : available_8x8(of_macroblock, b);
    LikelyModes modes;
    uint32_t satds[kModes]{}, texture = 0;
    CUDAENC_NO_UNROLL
    for (int component = 0; component < Components; component++) {
        const SampleLayout &layout = p.components[component];
        const auto sample_at = [&](int column, int row) {
            const int64_t y_in = max_of(min_of(y + row, p.picture_height - 1), 0);
            return sample_of(layout, layout.data + y_in * layout.stride,
                             max_of(min_of(x + column, p.picture_width - 1), 0));
        };
        uint32_t source[N][N / 2];
        CUDAENC_UNROLL
        for (int j = 0; j < N; j++) CUDAENC_UNROLL
        for (int i = 0; i < N / 2; i++) source[j][i] = pair_of(sample_at(2 * i, j), sample_at(2 * i + 1, j));
        if constexpr (N == 4) texture += texture_of(source);
        const BlockValues<N> values(sample_at, a, layout.depth);
        CUDAENC_UNROLL
        for (int mode = 0; mode < kModes; mode++) {
            uint32_t pairs[N][N / 2];
            CUDAENC_UNROLL
            for (int j = 0; j < N; j++) CUDAENC_UNROLL
            for (int i = 0; i < N / 2; i++)
                pairs[j][i] = pair_of(values.of[predicted_value(N, mode, 2 * i, j)],
                                      values.of[predicted_value(N, mode, 2 * i + 1, j)]) -
                              source[j][i];
            satds[mode] += satd_of(pairs);
            if (component == Components - 1 && mode_available(mode, a)) modes.add(mode, satds[mode]);
        }
    }
    RankedModes &ranked = p.ranked[address];
    (N == 4 ? ranked.of_4x4 : ranked.of_8x8)[b] = modes.packed();
    const uint32_t satd = sum_of_lanes<kBlocks - 1>(modes.least_satd());
    if (b == 0) (N == 4 ? ranked.satd_4x4 : ranked.satd_8x8) = satd;
    if constexpr (N == 4) {
        texture = sum_of_lanes<kBlocks - 1>(texture);
        if (b == 0) ranked.texture = texture;
    }
}

#define RANK_KERNEL(n, components, name)             \
    using name##_params = RankParams<n, components>; \
    KERNEL(kRankThreads, name, name##_params)        \
    {                                                \
        rank_blocks<n, components>(p);               \
    }
RANK_KERNEL(4, 1, h264_rank_4x4)
RANK_KERNEL(8, 1, h264_rank_8x8)
RANK_KERNEL(4, 3, h264_rank_4x4_444)
RANK_KERNEL(8, 3, h264_rank_8x8_444)
#undef RANK_KERNEL

}  // namespace cudaenc::h264
