// SPDX-License-Identifier: LGPL-2.1-or-later
// The deblocking filter (H.264, 8.7), in place. A warp owns a row of macroblocks, of luma or of chroma. In a macroblock
// a lane has a row of samples while edges between columns are filtered, then a column. Rows are a wavefront: edges
// between columns need the macroblock to the left alone; those between rows also need the next macroblock above to have
// done its left edge. The last rows of a macroblock go to the row below through memory, in words that tell whether they
// are there, and it is that row which stores them.
#include <type_traits>

#include "../look_back.cuh"
#include "deblock_params.h"

namespace cudaenc::h264 {

// The components that a warp filters, and its tile of them: rows of the macroblock above, then those of the macroblock
// and of the one before, in turn on the left and on the right.
template <class T, bool IsLuma, int Count, int W, int H>
struct Components {
    using Sample = T;
    static constexpr bool kLuma = IsLuma;  // filtered as luma is
    static constexpr int kCount = Count, kWidth = W, kHeight = H;
    static constexpr int kUpper = IsLuma ? kUpperLuma : kUpperChroma, kRows = kUpper + H;
    static constexpr int kRing = 2 * W, kPitch = kRing + 4 / static_cast<int>(sizeof(T));  // banks of rows differ
    static constexpr int kBits = 8 * static_cast<int>(sizeof(T));
    static constexpr int kRowWords = W * static_cast<int>(sizeof(T)) / 4;
    static constexpr int kRecordSamples = Count * kUpper * W, kWordSamples = 6 / static_cast<int>(sizeof(T));
    static constexpr int kRecordWords = deblock_words(kRecordSamples, sizeof(T));
    static constexpr int kRounds = (kRecordWords + 31) / 32;
    static_assert(Count * H <= 32 && Count * W <= 32);
};

// A row of a macroblock's samples.
template <int Words>
struct alignas(Words % 4 ? 8 : 16) [[gnu::may_alias]] RowWords {
    uint32_t of[Words];
};
using TileWord __attribute__((may_alias)) = uint32_t;

// The tile of a warp, of those that the thread-block has.
template <class Tiles>
struct WarpTile {
    Tiles &tiles;
    int first;  // row
    DEVICE_MEMBER decltype(auto) operator[](int row) { return tiles[first + row]; }
};

// What a lane knows of a macroblock and of the one above: all of them, and the vectors that its edge lies between.
struct MacroblockEdges {
    DeblockMacroblock own, above;
    DeblockVector vector, vector_above;
};
DEVICE MacroblockEdges load_edges(const DeblockPicture &picture, int x, int y) {
    const int64_t at = int64_t{y} * picture.columns + x, at_above = y ? at - picture.columns : at;
    const int block = lane_id() & 15;
    return {.own = load_readonly(picture.macroblocks + at),
            .above = load_readonly(picture.macroblocks + at_above),
            .vector = load_readonly(picture.vectors + 16 * at + block),
            .vector_above = load_readonly(picture.vectors + 16 * at_above + (block + 12) % 16)};
}

// A macroblock's bS, and the indices of tables at its edges: inside it, on the left and above. With a whole warp.
struct EdgeFilters {
    EdgeMasks masks;
    uint32_t any;
    int qp, qp_left, qp_above;
    bool transform_8x8;
};
template <class C>
DEVICE EdgeFilters edge_filters(const DeblockPicture &picture, const DeblockTables &tables, const MacroblockEdges &m,
                                const MacroblockEdges &before, int x, int y, int component) {
    const int lane = lane_id(), block = lane & 15;
    const DeblockVector left_in = warp_shuffle(m.vector, lane + 31), left_out = warp_shuffle(before.vector, lane + 3),
                        above_in = warp_shuffle(m.vector, lane + 28);
    const DeblockVector other = lane < 16 ? (block & 3 ? left_in : left_out) : (block >= 4 ? above_in : m.vector_above);
    const uint32_t moved = warp_ballot(moved_apart(m.vector, other, picture.field));
    const bool left = x > 0 && (picture.across_slices || before.own.slice == m.own.slice);
    const bool above = y > 0 && (picture.across_slices || m.above.slice == m.own.slice);
    EdgeFilters f{};
    f.masks = edge_masks(m.own, before.own, left, m.above, above, moved, picture.field);
    f.any = f.masks.any();
    const int offset = qp_bd_offset(picture.bit_depth);
    const auto qp_of = [&](const DeblockMacroblock &of) {
        return component ? static_cast<int>(tables.chroma_qp[of.qp + offset]) : static_cast<int>(of.qp);
    };
    const int qp = qp_of(m.own);
    f.qp = qp + offset;
    f.qp_left = ((qp + (left ? qp_of(before.own) : qp) + 1) >> 1) + offset;
    f.qp_above = ((qp + (above ? qp_of(m.above) : qp) + 1) >> 1) + offset;
    f.transform_8x8 = m.own.transform_8x8 != 0;
    return f;
}

// Filters a line of samples across the edges of a direction, whose part of edges is `part`: Length samples, with four
// before them.
template <class C, int Direction, int Length>
DEVICE void filter_line(const EdgeFilters &f, const DeblockTables &tables, int bit_depth, int part,
                        int32_t (&s)[4 + Length]) {
    const int32_t most = (1 << bit_depth) - 1;
    CUDAENC_UNROLL
    for (int i = 0; i < Length / 4; i++) {
        const int edge = Length == 16 ? i : 2 * i;  // of luma
        const uint32_t bits = edge_bits(Direction, edge);
        if (!(f.any & bits) || (C::kLuma && (edge & 1) && f.transform_8x8)) continue;
        const int qp = edge ? f.qp : Direction ? f.qp_above : f.qp_left;
        const int32_t alpha = tables.alpha[qp], beta = tables.beta[qp];
        int32_t across[8];
        CUDAENC_UNROLL
        for (int k = 0; k < 8; k++) across[k] = s[4 * i + k];
        if (edge == 0 && (f.masks.strong & bits))
            filter_strong_edge<C::kLuma>(across, alpha, beta);
        else
            filter_edge<C::kLuma, int32_t>(across, alpha, beta, tables.tc0[qp][f.masks.strength(Direction, edge, part)],
                                           most);
        CUDAENC_UNROLL
        for (int k = 1; k < 7; k++) s[4 * i + k] = across[k];
    }
}

// Sample `at` of those that a record has: of the last rows of macroblock x, or where those of the one above are.
template <class C, class Tile>
DEVICE typename C::Sample &record_sample(Tile &tile, int at, int x, int first_row) {
    const int component = at / (C::kUpper * C::kWidth), row = at / C::kWidth % C::kUpper;
    return tile[component * C::kRows + first_row + row][(x & 1) * C::kWidth + at % C::kWidth];
}

// Waits for the last rows of macroblocks of the row above. The first look at the next macroblock's comes early.
template <class C>
struct Receiver {
    const uint64_t *records;  // of the row above
    uint32_t serial;
    uint64_t words[C::kRounds];

    DEVICE_MEMBER void look(int x) {
        CUDAENC_UNROLL
        for (int round = 0; round < C::kRounds; round++)
            words[round] = atomic_load(records + int64_t{x} * C::kRecordWords +
                                       min_of(32 * round + lane_id(), C::kRecordWords - 1));
    }
    DEVICE_MEMBER bool there() const {
        bool all = true;
        CUDAENC_UNROLL
        for (int round = 0; round < C::kRounds; round++) all = all && words[round] >> 48 == serial;
        return warp_all(all);
    }
    template <class Tile>
    DEVICE_MEMBER void receive(int x, Tile &tile) {
        for (; !there(); look(x)) back_off();
        CUDAENC_UNROLL
        for (int round = 0; round < C::kRounds; round++) CUDAENC_UNROLL
        for (int i = 0; i < C::kWordSamples; i++) {
            const int at = C::kWordSamples * (32 * round + lane_id()) + i;
            if (at < C::kRecordSamples)
                record_sample<C>(tile, at, x, 0) = static_cast<typename C::Sample>(words[round] >> C::kBits * i);
        }
    }
};

// Where the lane's row of samples is, in planes. Lanes have the rows of the first component, then of the next one.
template <class C>
struct Row {
    using Words = RowWords<C::kRowWords>;
    uint8_t *data;  // of macroblock 0
    int component, row;

    DEVICE_MEMBER Words *at(int x) const { return reinterpret_cast<Words *>(data) + x; }
};
// Of `rows` rows a component, from row `first` of the picture on.
template <class C>
DEVICE Row<C> row_of(const DeblockPlane *planes, int first, int rows) {
    const int component = min_of(lane_id() / rows, C::kCount - 1), row = lane_id() % rows;
    return {planes[component].data + (int64_t{first} + row) * planes[component].stride, component, row};
}
template <class C, class Tile>
DEVICE RowWords<C::kRowWords> tile_row(Tile &tile, int row, int x) {
    const TileWord *from = reinterpret_cast<const TileWord *>(&tile[row][(x & 1) * C::kWidth]);
    RowWords<C::kRowWords> words;
    CUDAENC_UNROLL
    for (int i = 0; i < C::kRowWords; i++) words.of[i] = from[i];
    return words;
}

// Macroblock x is done but for what the row below does: stores it, and leaves its last rows to the row below. Where
// there is none, stores these too.
template <class C, class Tile>
DEVICE void leave_macroblock(const Row<C> &row, uint64_t *records, uint32_t serial, bool last_row, Tile &tile, int x) {
    const int lane = lane_id();
    if (lane < C::kCount * C::kHeight && (last_row || row.row < C::kHeight - C::kUpper))
        *row.at(x) = tile_row<C>(tile, row.component * C::kRows + C::kUpper + row.row, x);
    if (last_row) return;
    CUDAENC_UNROLL
    for (int round = 0; round < C::kRounds; round++) {
        uint64_t word = uint64_t{serial} << 48;
        CUDAENC_UNROLL
        for (int i = 0; i < C::kWordSamples; i++) {
            const int at = C::kWordSamples * (32 * round + lane) + i;
            if (at < C::kRecordSamples) word |= uint64_t{record_sample<C>(tile, at, x, C::kHeight)} << C::kBits * i;
        }
        if (32 * round + lane < C::kRecordWords)
            atomic_store(records + int64_t{x} * C::kRecordWords + 32 * round + lane, word);
    }
}

// Edges between columns: a lane has a row, with the last four samples of the macroblock before.
template <class C, class Tile>
DEVICE void filter_columns(const EdgeFilters &f, const DeblockTables &tables, int bit_depth, Tile &tile, int x) {
    const int lane = lane_id(), row = lane % C::kHeight, in_tile = lane / C::kHeight * C::kRows + C::kUpper + row;
    if (lane >= C::kCount * C::kHeight || !(f.any & 0xFFFF)) return;
    const int first = (x & 1) * C::kWidth;
    int32_t s[4 + C::kWidth];
    CUDAENC_UNROLL
    for (int i = 0; i < 4 + C::kWidth; i++) s[i] = tile[in_tile][(first - 4 + i) & (C::kRing - 1)];
    filter_line<C, 0, C::kWidth>(f, tables, bit_depth, row * 4 / C::kHeight, s);
    CUDAENC_UNROLL
    for (int i = 0; i < 4 + C::kWidth; i++)
        tile[in_tile][(first - 4 + i) & (C::kRing - 1)] = static_cast<typename C::Sample>(s[i]);
}

// Edges between rows: a lane has a column, with the last samples of the macroblock above.
template <class C, class Tile>
DEVICE void filter_rows(const EdgeFilters &f, const DeblockTables &tables, int bit_depth, Tile &tile, int x) {
    const int lane = lane_id(), component = lane / C::kWidth, column = lane % C::kWidth;
    if (lane >= C::kCount * C::kWidth || !(f.any >> 16)) return;
    const int in_tile = (x & 1) * C::kWidth + column, first = component * C::kRows, skipped = 4 - C::kUpper;
    int32_t s[4 + C::kHeight];
    CUDAENC_UNROLL
    for (int i = 0; i < 4 + C::kHeight; i++) s[i] = i < skipped ? 0 : tile[first + i - skipped][in_tile];
    filter_line<C, 1, C::kHeight>(f, tables, bit_depth, column * 4 / C::kWidth, s);
    CUDAENC_UNROLL
    for (int i = skipped; i < 4 + C::kHeight; i++)
        tile[first + i - skipped][in_tile] = static_cast<typename C::Sample>(s[i]);
}

// component: the first that the warp has; records: of its macroblocks.
template <class C>
DEVICE void filter_macroblock_row(const DeblockArguments &p, int component, uint64_t *records, int y,
                                  const DeblockTables &tables) {
    constexpr int kTileRows = C::kCount * C::kRows;
    SHARED2(typename C::Sample, tiles, kDeblockWarps * kTileRows, C::kPitch);
    WarpTile<std::remove_reference_t<decltype(tiles)>> tile{tiles, warp_id() * kTileRows};
    const int lane = lane_id(), columns = p.picture.columns, depth = p.picture.bit_depth;
    const bool last_row = y == p.picture.rows - 1, has_row = lane < C::kCount * C::kHeight;
    const Row<C> row = row_of<C>(p.planes + component, y * C::kHeight, C::kHeight);
    const Row<C> upper = row_of<C>(p.planes + component, y * C::kHeight - C::kUpper, C::kUpper);
    uint64_t *const own_records = records + int64_t{y} * columns * C::kRecordWords;
    Receiver<C> receiver{own_records - int64_t{columns} * C::kRecordWords, p.serial, {}};
    RowWords<C::kRowWords> source = *row.at(0);
    MacroblockEdges edges = load_edges(p.picture, 0, y), before = edges;
    EdgeFilters f{};
    if (y > 0) receiver.look(0);
    CUDAENC_NO_UNROLL
    for (int x = 0; x <= columns; x++) {
        if (x < columns) {
            if (has_row) {
                TileWord *const to = reinterpret_cast<TileWord *>(
                    &tile[row.component * C::kRows + C::kUpper + row.row][(x & 1) * C::kWidth]);
                CUDAENC_UNROLL
                for (int i = 0; i < C::kRowWords; i++) to[i] = source.of[i];
            }
            const MacroblockEdges own = edges;
            const int next = min_of(x + 1, columns - 1);  // loaded while this one is filtered
            source = *row.at(next);
            edges = load_edges(p.picture, next, y);
            f = edge_filters<C>(p.picture, tables, own, before, x, y, component);
            before = own;
            warp_sync();
            filter_columns<C>(f, tables, depth, tile, x);
            warp_sync();
        }
        if (x > 0) leave_macroblock<C>(row, own_records, p.serial, last_row, tile, x - 1);
        if (x == columns) break;
        if (y > 0) {
            receiver.receive(x, tile);
            if (x + 1 < columns) receiver.look(x + 1);
            warp_sync();
        }
        filter_rows<C>(f, tables, depth, tile, x);
        warp_sync();
        if (y > 0 && lane < C::kCount * C::kUpper)
            *upper.at(x) = tile_row<C>(tile, upper.component * C::kRows + upper.row, x);
    }
    warp_sync();
}

template <ChromaFormat F, int SampleBytes>
DEVICE void filter_picture(const DeblockArguments &p) {
    using Sample = std::conditional_t<SampleBytes == 1, uint8_t, uint16_t>;
    using Luma = Components<Sample, true, 1, 16, 16>;
    constexpr bool kFull = F == ChromaFormat::c444;
    using Chroma = Components<Sample, kFull, 2, kFull ? 16 : 8, F == ChromaFormat::c420 ? 8 : 16>;
    constexpr uint32_t kJobs = deblock_jobs(F);
    SHARED(DeblockTables, tables, 1);
    static_assert(sizeof(DeblockTables) % 4 == 0);
    for (int i = thread_x(); i < static_cast<int>(sizeof(DeblockTables) / 4); i += 32 * kDeblockWarps)
        reinterpret_cast<TileWord *>(&tables[0])[i] = reinterpret_cast<const TileWord *>(p.picture.tables)[i];
    block_sync();
    const uint32_t jobs = kJobs * static_cast<uint32_t>(p.picture.rows);
    uint32_t ticket;
    CUDAENC_NO_UNROLL
    while ((ticket = take_warp_ticket(p.tickets, jobs + static_cast<uint32_t>(grid_x() * kDeblockWarps))) < jobs) {
        const int y = static_cast<int>(ticket / kJobs);
        if (ticket % kJobs == 0)
            filter_macroblock_row<Luma>(p, 0, p.luma_records, y, tables[0]);
        else if constexpr (kJobs == 2)
            filter_macroblock_row<Chroma>(p, 1, p.chroma_records, y, tables[0]);
    }
}

#define DEBLOCK_KERNEL(format, bytes, name)                           \
    using name##_params = DeblockParams<ChromaFormat::format, bytes>; \
    KERNEL(32 * kDeblockWarps, name, name##_params)                   \
    {                                                                 \
        filter_picture<ChromaFormat::format, bytes>(p);               \
    }
DEBLOCK_KERNEL(c400, 1, h264_deblock_400)
DEBLOCK_KERNEL(c420, 1, h264_deblock_420)
DEBLOCK_KERNEL(c422, 1, h264_deblock_422)
DEBLOCK_KERNEL(c444, 1, h264_deblock_444)
DEBLOCK_KERNEL(c400, 2, h264_deblock_400_wide)
DEBLOCK_KERNEL(c420, 2, h264_deblock_420_wide)
DEBLOCK_KERNEL(c422, 2, h264_deblock_422_wide)
DEBLOCK_KERNEL(c444, 2, h264_deblock_444_wide)
#undef DEBLOCK_KERNEL

}  // namespace cudaenc::h264
