// SPDX-License-Identifier: LGPL-2.1-or-later
// CIBO: tier-1 by bit-planes, and early stops after each (Martinez-del-Amor et al. 2017).
#include "../../t1/mq.cuh"
#include "../../t1/order.cuh"
#include "cibo_params.h"

namespace cudaenc::j2k {

// ---- Context modelling

KERNEL(kContextWarps * 32, j2k_cibo_slice, SliceParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t tiles = static_cast<uint32_t>(k.tiles_x * k.tiles_y),
                   index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id(), block = index / tiles;
    if (block >= k.t1.count) return;
    const CodeBlock &b = k.t1.blocks[block];
    const int tile = static_cast<int>(index % tiles), lane = lane_id();
    uint32_t rows[32], negative;
    const int count =
        read_column(p.coefficients, b, tile % k.tiles_x * 32 + lane, tile / k.tiles_x * 32, rows, negative);
    const uint32_t column = static_cast<uint32_t>(tile * 32 + lane);
    uint32_t *own = k.bits + static_cast<uint64_t>(block) * k.most_planes * k.columns() + column;
    slice_column(rows, b.planes, [&](int plane, uint32_t word) { own[plane * k.columns()] = word; });
    k.negative[static_cast<uint64_t>(block) * k.columns() + column] = negative;
    if (lane == 0) atomic_max(&k.planes[block], static_cast<uint32_t>(count));
    if (tile || lane) return;
    k.stopped[block] = 0;
    k.raw_bytes[block] = 0;
    k.t1.symbols[block] = 0;
    k.t1.coded.planes[block] = 0;
    k.t1.coded.passes[block] = 0;
    k.t1.coded.bytes[block] = 0;
}

// A tile whose bit-planes are in device memory.
template <class Tile>
struct Sliced : Tile {
    const uint32_t *bits;  // of this lane's column, plane 0
    uint32_t columns;
    DEVICE_MEMBER uint32_t plane(int plane) const { return bits[plane * columns]; }
};

// A plane of the active block `index`, whose tiles `tile` is one of. raw: of RawSegments; writes: one thread of the
// block.
template <StyleVariant kStyle, class Tile>
DEVICE void model_plane(const PlaneBuffers &k, int plane, uint32_t index, const Tile &tile, uint32_t *raw,
                        bool writes) {
    const uint64_t entry = static_cast<uint64_t>(plane) * k.t1.count + index;
    const uint32_t block = k.active[entry];
    uint32_t symbols = 0;
    if (k.is_active(block, plane)) {
        const CodeBlock &b = k.t1.blocks[block];
        const int planes = static_cast<int>(k.planes[block]), before = planes - 1 - plane,
                  number = warp_id() % (k.tiles_x * k.tiles_y), lane = lane_id();
        const uint32_t column = static_cast<uint32_t>(number * 32 + lane);
        const uint64_t at = static_cast<uint64_t>(block) * k.columns() + column;
        const bool inside = number % k.tiles_x * 32 + lane < b.width;
        const int rows = inside ? max_of(min_of(b.height - number / k.tiles_x * 32, 32), 0) : 0;
        const Sliced<Tile> own{tile, k.bits + static_cast<uint64_t>(block) * k.most_planes * k.columns() + column,
                               k.columns()};
        Measure policy(k.t1, block);
        BlockState state;
        if (before) state = {k.significant[at], k.refined[at], k.t1.symbols[block]};
        symbols = state.symbols;
        uint8_t *to = k.symbols ? k.symbols_of(block, plane) - symbols
                                : symbols_in_room<kStyle, Measure>(k.t1, block, b, k.style);
        const auto model = [&](auto segments) {
            constexpr bool kRaw = kStyle != StyleVariant::kNone;
            if constexpr (kRaw) segments.bytes = k.raw_bytes[block];
            const Modelled modelled =
                model_passes<kStyle>(k.t1, block, b, to, own, first_rows(rows), k.negative[at], planes, k.style,
                                     segments, policy, writes, coding_passes(before), coding_passes(before + 1), state);
            if constexpr (kRaw)
                if (writes) k.raw_bytes[block] = segments.bytes;
            return modelled.symbols;
        };
        uint32_t all;
        if constexpr (kStyle == StyleVariant::kNone)
            all = model(NoSegments{});
        else
            all = model(RawSegments<Sliced<Tile>>{own, raw, raw_place(k.t1, block, BlockCoding{k.style, true})});
        symbols = all - symbols;
        k.significant[at] = state.significant;
        k.refined[at] = state.refined;
        if (writes) k.t1.symbols[block] = all;
    }
    if (!writes) return;
    k.plane_symbols[entry] = symbols;
    atomic_add(&k.t1.work[plane].counts[work_class(symbols)], 1u);
}

// A warp owns a block. raw: shared, see RawSegments.
template <StyleVariant kStyle>
DEVICE void model_small_plane(const PlaneInput &p, uint32_t *raw) {
    const uint32_t index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id();
    if (index >= p.buffers.active_counts[p.plane]) return;
    uint32_t *words = raw + warp_id() * kTileRawWords;
    if (kStyle != StyleVariant::kNone)
        for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
    model_plane<kStyle>(p.buffers, p.plane, index, OneTile{nullptr}, words, lane_id() == 0);
}

KERNEL(kContextWarps * 32, j2k_cibo_context, ContextPlaneParams)
{
    model_small_plane<StyleVariant::kNone>(p, nullptr);
}

KERNEL(kContextWarps * 32, j2k_cibo_context_styled, StyledContextPlaneParams)
{
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    model_small_plane<StyleVariant::kAny>(p, raw);
}

// A thread-block owns a block. words, totals: see ManyTiles.
template <StyleVariant kStyle>
DEVICE void model_large_plane(const PlaneInput &p, uint32_t *words, uint32_t *totals, uint32_t *raw) {
    const uint32_t index = static_cast<uint32_t>(block_x());
    if (index >= p.buffers.active_counts[p.plane]) return;
    if (kStyle != StyleVariant::kNone) {
        for (int i = thread_x(); i < kRawWords; i += block_threads()) raw[i] = 0;
        block_sync();
    }
    const ManyTiles tile{nullptr, 0, 0, p.buffers.tiles_x, p.buffers.tiles_y, words, totals};
    model_plane<kStyle>(p.buffers, p.plane, index, tile, raw, thread_x() == 0);
}

KERNEL(1024, j2k_cibo_context_tiled, ContextPlaneTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    model_large_plane<StyleVariant::kNone>(p, words, totals, nullptr);
}

KERNEL(1024, j2k_cibo_context_tiled_styled, StyledContextPlaneTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    model_large_plane<StyleVariant::kAny>(p, words, totals, raw);
}

// ---- MQ coding

// A thread a block. Their order among the active ones is any.
KERNEL(kActiveThreads, j2k_cibo_active, ActiveParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t block = static_cast<uint32_t>(block_x()) * kActiveThreads + thread_x();
    const bool active = block < k.t1.count && (p.all || k.is_active(block, p.plane));
    const uint32_t warp = warp_ballot(active);
    uint32_t first = 0;
    if (lane_id() == 0 && warp) first = atomic_add(&k.active_counts[p.plane], static_cast<uint32_t>(popcount(warp)));
    first = warp_shuffle(first, 0);
    if (active)
        k.active[static_cast<uint64_t>(p.plane) * k.t1.count + first + popcount(warp & ((1u << lane_id()) - 1))] =
            block;
}

KERNEL(kOrderThreads, j2k_cibo_order, OrderPlaneParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t *active = k.active + static_cast<uint64_t>(p.plane) * k.t1.count;
    order_by_work(k.plane_symbols + static_cast<uint64_t>(p.plane) * k.t1.count, k.t1.work[p.plane],
                  k.active_counts[p.plane], [&](uint32_t at, uint32_t index) { k.order[at] = active[index]; });
}

// A part of a block, see WholeBlock: passes [first_pass, passes) and symbols up to their end.
struct PartOfBlock {
    static constexpr bool kPart = true;
    MqProgress *progress;
    int first_pass, passes;
    uint32_t symbols;
    bool last;
    const uint8_t *symbols_at;  // of the block's first one, were all there

    template <class Block>
    DEVICE_MEMBER void load(Block &b) const {
        const MqProgress &p = *progress;
        b.mq.a = p.a, b.mq.c = p.c, b.mq.byte = p.byte, b.mq.word = p.word, b.mq.ct = p.ct, b.mq.at = p.at;
        b.i = p.symbols, b.coded = p.coded, b.raw = p.raw;
        b.segment_symbol = p.segment_symbol, b.segment_pass = static_cast<int>(p.segment_pass);
        for (int k = 0; k < kContexts; k++) b.contexts[k * kMqThreads] = p.contexts[k];
    }
    template <class Block>
    DEVICE_MEMBER void store(Block &b) const {
        b.mq.store_rest();  // the block may stop here
        MqProgress &p = *progress;
        p.a = b.mq.a, p.c = b.mq.c, p.byte = b.mq.byte, p.word = b.mq.word, p.ct = b.mq.ct, p.at = b.mq.at;
        p.symbols = b.i, p.coded = b.coded, p.raw = b.raw;
        p.segment_symbol = b.segment_symbol, p.segment_pass = static_cast<uint32_t>(b.segment_pass);
        for (int k = 0; k < kContexts; k++) p.contexts[k] = b.contexts[k * kMqThreads];
    }
};

// Whether a codeword alone has room for so many symbols more. Else the block is counted, and no more of it is coded.
// Context modelling goes on: it runs by now, and its threads must agree.
constexpr uint32_t kNoRoom = ~0u;
DEVICE bool has_room(const PlaneBuffers &k, uint32_t block, int before, uint32_t symbols) {
    const uint64_t *rooms = k.t1.coded.rooms + block;
    const uint32_t at = before ? static_cast<uint32_t>(max_of(k.progress[block].at, 0)) : 0;
    if (at + symbols + 3 * kMostEndingBytes + 4 <= rooms[1] - rooms[0]) return true;
    k.progress[block].symbols = kNoRoom;
    atomic_add(k.overflowed, 1u);
    return false;
}

KERNEL(kMqThreads, j2k_cibo_mq, MqPlaneParams)
{
    SHARED(MqState, memory, kMqWords);
    const PlaneBuffers &k = p.buffers;
    const uint32_t active = k.active_counts[p.plane];
    const int lanes = static_cast<int>((active + grid_x() - 1) / grid_x());
    load_mq_table(memory);
    const uint32_t index = static_cast<uint32_t>(block_x() * lanes + lane_id());
    if (lane_id() >= lanes || index >= active) return;
    const uint32_t block = k.order[index];
    if (!k.is_active(block, p.plane)) return;
    // Context modelling of the plane below may run by now, and change the block's number of symbols.
    const int before = static_cast<int>(k.planes[block]) - 1 - p.plane, passes = coding_passes(before + 1);
    const uint32_t symbols = k.t1.pass_ends[static_cast<uint64_t>(block) * k.t1.max_passes + passes - 1];
    const uint32_t begin = before ? k.progress[block].symbols : 0;
    if (begin == kNoRoom || (k.symbols && !has_room(k, block, before, symbols - begin))) return;
    const uint8_t *at = k.symbols
                            ? k.symbols_of(block, p.plane) - begin
                            : symbols_in_room<StyleVariant::kAny, Measure>(k.t1, block, k.t1.blocks[block], k.style);
    const PartOfBlock part{&k.progress[block], coding_passes(before), passes, symbols, p.plane == 0, at};
    MqBlock<StyleVariant::kAny, true, PartOfBlock>(k.t1, block, k.style, memory, memory + kMqTableRows + thread_x(),
                                                   part)
        .run();
    k.t1.coded.planes[block] = static_cast<uint8_t>(k.planes[block]);
    k.t1.coded.passes[block] = static_cast<uint8_t>(passes);
}

// ---- Early stops

// A thread an active block.
KERNEL(kActiveThreads, j2k_cibo_plane_cost, PlaneCostParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t index = static_cast<uint32_t>(block_x()) * kActiveThreads + thread_x();
    if (index >= k.active_counts[p.plane]) return;
    const uint32_t block = k.active[static_cast<uint64_t>(p.plane) * k.t1.count + index];
    if (!k.is_active(block, p.plane)) return;
    const uint64_t first = static_cast<uint64_t>(block) * k.t1.max_passes;
    const PlaneCost cost =
        plane_cost(k.t1.coded.pass_bytes + first, k.t1.coded.reductions + first, static_cast<int>(k.planes[block]),
                   p.plane, p.bands[k.t1.blocks[block].precinct_band].weight);
    p.bins[block] = static_cast<uint16_t>(cost.bin);
    atomic_add(&p.table[cost.bin], cost.bytes);
}

// A thread owns a bin, then an active block.
KERNEL(kStopBins, j2k_cibo_stop, StopParams)
{
    SHARED(uint32_t, sums, 32);
    SHARED(uint32_t, limits, 32);
    const PlaneBuffers &k = p.buffers;
    const uint64_t budget = *p.budget;
    if (!budget) return;
    // Bytes from the own bin on: the highest comes first.
    const int bin = kStopBins - 1 - thread_x();
    const bool exceeds = block_inclusive_add<uint32_t>(p.table[bin], sums) > budget;
    const uint32_t limit = warp_max(exceeds ? stop_limit(p.method, bin) : 0);
    if (lane_id() == 0) limits[warp_id()] = limit;
    block_sync();
    const uint32_t lowest = warp_max(limits[lane_id()]),
                   index = static_cast<uint32_t>(block_x()) * kStopBins + thread_x();
    if (index >= k.active_counts[p.plane]) return;
    const uint32_t block = k.active[static_cast<uint64_t>(p.plane) * k.t1.count + index];
    if (k.is_active(block, p.plane) && p.bins[block] < lowest) k.stopped[block] = 1;
}

}  // namespace cudaenc::j2k
