// Tier-1 by bit-planes: the product's device functions, a plane at a time. SPDX-License-Identifier: LGPL-2.1-or-later
#include "t1_planes_params.h"

#include "../../cuda_kernels/j2k/t1_context.cu"
#include "../../cuda_kernels/j2k/t1_mq.cu"
#include "../../cuda_kernels/j2k/t1_order.cu"

namespace cudaenc::j2k {

KERNEL(kContextWarps * 32, bench_t1_slice, SliceParams)
{
    const PlaneBuffers &k = p.buffers;
    const uint32_t tiles = static_cast<uint32_t>(k.tiles_x * k.tiles_y),
                   index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id(), block = index / tiles;
    if (block >= k.t1.count) return;
    const CodeBlock &b = k.t1.blocks[block];
    const int tile = static_cast<int>(index % tiles), lane = lane_id();
    uint32_t words[32], negative;
    const int count =
        slice_column(p.coefficients, b, tile % k.tiles_x * 32 + lane, tile / k.tiles_x * 32, words, negative);
    const uint32_t column = static_cast<uint32_t>(tile * 32 + lane);
    uint32_t *own = k.bits + static_cast<uint64_t>(block) * k.most_planes * k.columns() + column;
    CUDAENC_UNROLL
    for (int i = 0; i < kMaxPlanes; i++)
        if (i < b.planes) own[i * k.columns()] = words[i];
    k.negative[static_cast<uint64_t>(block) * k.columns() + column] = negative;
    if (lane == 0) atomic_max(&k.planes[block], static_cast<uint32_t>(count));
    if (tile || lane) return;
    k.stopped[block] = 0;
    k.raw_bytes[block] = 0;
    k.t1.pairs[block] = 0;
    k.t1.planes[block] = 0;
    k.t1.passes[block] = 0;
    k.t1.bytes[block] = 0;
}

// A thread a block. Their order among the active ones is any.
KERNEL(kActiveThreads, bench_t1_active, ActiveParams)
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

// A tile that has one bit-plane.
template <class Tile>
struct OnePlane : Tile {
    uint32_t bits;
    DEVICE_MEMBER uint32_t plane(int) const { return bits; }
};

// `index`: of an active block, which has `tile`; raw_memory: of RawSegments; writes: one thread of the block.
template <class Tile>
DEVICE void model_plane(const PlaneBuffers &k, int plane, uint32_t index, const Tile &around, uint32_t *raw_memory,
                        bool writes) {
    const uint64_t entry = static_cast<uint64_t>(plane) * k.t1.count + index;
    const uint32_t block = k.active[entry];
    uint32_t own_pairs = 0;
    if (k.is_active(block, plane)) {
        const CodeBlock &b = k.t1.blocks[block];
        const int planes = static_cast<int>(k.planes[block]), before = planes - 1 - plane,
                  tile = thread_x() / 32 % (k.tiles_x * k.tiles_y);
        const uint32_t column = static_cast<uint32_t>(tile * 32 + lane_id());
        const uint64_t at = static_cast<uint64_t>(block) * k.columns() + column;
        const int x = tile % k.tiles_x * 32 + lane_id(),
                  rows = x < b.width ? max_of(min_of(b.height - tile / k.tiles_x * 32, 32), 0) : 0;
        const OnePlane<Tile> own{around,
                                 k.bits[(static_cast<uint64_t>(block) * k.most_planes + plane) * k.columns() + column]};
        RawSegments<OnePlane<Tile>> segments{own, raw_memory, raw_place(k.t1, b, k.style)};
        segments.bytes = k.raw_bytes[block];
        ContextState state;
        if (before) state = {k.significant[at], k.refined[at], k.t1.pairs[block]};
        const uint32_t pairs_before = state.pairs;
        const Modelled modelled = model_contexts<Kind::kStyled>(
            own, first_rows(rows), k.negative[at], planes, b, k.style, k.t1.slots + b.slot, segments,
            k.t1.pass_ends + static_cast<uint64_t>(block) * k.t1.max_passes, nullptr, writes, coding_passes(before),
            coding_passes(before + 1), state);
        k.significant[at] = state.significant;
        k.refined[at] = state.refined;
        own_pairs = modelled.pairs - pairs_before;
        if (writes) {
            k.raw_bytes[block] = segments.bytes;
            k.t1.pairs[block] = modelled.pairs;
            k.t1.planes[block] = static_cast<uint8_t>(modelled.passes ? planes : 0);
            k.t1.passes[block] = static_cast<uint8_t>(modelled.passes);
        }
    }
    if (!writes) return;
    k.plane_pairs[entry] = own_pairs;
    atomic_add(&k.t1.work_counts[plane * kWorkClasses + work_class(own_pairs)], 1u);
}

// A warp owns a block.
KERNEL(kContextWarps * 32, bench_t1_context_plane, ContextPlaneParams)
{
    SHARED(uint32_t, raw, kContextWarps *kTileRawWords);
    const uint32_t index = static_cast<uint32_t>(block_x()) * kContextWarps + warp_id();
    if (index >= p.buffers.active_counts[p.plane]) return;
    uint32_t *words = &raw[warp_id() * kTileRawWords];
    for (int i = lane_id(); i < kTileRawWords; i += 32) words[i] = 0;
    model_plane(p.buffers, p.plane, index, OneTile{nullptr}, words, lane_id() == 0);
}

// A thread-block owns a block.
KERNEL(1024, bench_t1_context_plane_tiled, ContextPlaneTiledParams)
{
    SHARED(uint32_t, words, 1024);
    SHARED(uint32_t, totals, 257);
    SHARED(uint32_t, raw, kRawWords);
    const uint32_t index = static_cast<uint32_t>(block_x());
    if (index >= p.buffers.active_counts[p.plane]) return;
    for (int i = thread_x(); i < kRawWords; i += block_threads()) raw[i] = 0;
    block_sync();
    model_plane(p.buffers, p.plane, index,
                ManyTiles{nullptr, 0, 0, p.buffers.tiles_x, p.buffers.tiles_y, words, totals}, raw, thread_x() == 0);
}

KERNEL(kWorkClasses, bench_t1_order_plane, OrderPlaneParams)
{
    SHARED(uint32_t, first, kWorkClasses);
    SHARED(uint32_t, sums, 32);
    const PlaneBuffers &k = p.buffers;
    const uint64_t plane = static_cast<uint64_t>(p.plane);
    const uint32_t *active = k.active + plane * k.t1.count;
    order_by_work(k.plane_pairs + plane * k.t1.count, k.t1.work_counts + plane * kWorkClasses,
                  k.taken + plane * kWorkClasses, k.active_counts[p.plane], first, sums,
                  [&](uint32_t at, uint32_t index) { k.order[at] = active[index]; });
}

KERNEL(kMqThreads, bench_t1_mq_plane, MqPlaneParams)
{
    SHARED(MqState, memory, kMqTableRows + kMqContexts * kMqThreads);
    const PlaneBuffers &k = p.buffers;
    const uint32_t active = k.active_counts[p.plane];
    const int lanes = static_cast<int>((active + grid_x() - 1) / grid_x());
    load_mq_table(memory);
    const uint32_t index = static_cast<uint32_t>(block_x() * lanes + lane_id());
    if (lane_id() >= lanes || index >= active) return;
    const uint32_t block = k.order[index];
    if (!k.is_active(block, p.plane)) return;
    // Context modelling of the plane below may run by now, and change the block's numbers of passes and pairs.
    const int before = static_cast<int>(k.planes[block]) - 1 - p.plane;
    const bool last = p.plane == 0;
    const int passes = last ? k.t1.passes[block] : coding_passes(before + 1);
    const uint32_t pairs =
        last ? k.t1.pairs[block] : k.t1.pass_ends[static_cast<uint64_t>(block) * k.t1.max_passes + passes - 1];
    code_block<true>(k.t1, block, k.style, memory, memory + kMqTableRows + thread_x(),
                     PartOfBlock{&k.progress[block], coding_passes(before), passes, pairs, last});
}

}  // namespace cudaenc::j2k
