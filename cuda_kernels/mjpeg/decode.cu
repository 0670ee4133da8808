// SPDX-License-Identifier: LGPL-2.1-or-later
// Entropy decoding (T.81 F.2.2): from coded data to the levels of each block.
#include "walk.cuh"

namespace cudaenc::mjpeg {

namespace {

// A sink of a walk that lists levels.
struct LevelLister {
    static constexpr bool kBlocksOnly = false;
    const CodedScan &scan;
    uint32_t components;  // ScanTables::block_components
    uint32_t subsequence;
    uint32_t list;         // the place of its first level
    uint32_t *levels;      // of all subsequences
    BlockLevels *blocks;   // [scan.blocks]
    uint32_t next = list;  // the place of the next level
    uint32_t first = 0;    // that of the block's first one
    uint32_t block = 0;    // the number of the next block
    uint32_t limit = 0;    // the first block behind the interval
    DcDifferences differences{};
    uint32_t decoded = 0;
    uint32_t damaged = 0;
    bool extra = false;  // more behind the scan's last block than may be there

    // Blocks of broken data may have none.
    DEVICE_MEMBER bool has_place() const { return block < limit; }
    DEVICE_MEMBER void symbol(uint32_t phase, bool dc, int place, uint32_t bits, Step step) {
        int32_t level = magnitude_of(bits, step);
        if (dc) {
            first = next;
            damaged |= static_cast<uint32_t>(place > 1 && has_place());
            place = 1;
            const uint32_t component = block_field(components, phase);
            CUDAENC_UNROLL
            for (uint32_t c = 0; c < kMaxStreamComponents; c++) {
                differences.value[c] += c == component ? static_cast<uint32_t>(level) : 0;
                level = c == component ? static_cast<int32_t>(differences.value[c]) : level;
            }
        }
        if (!dc && !step.magnitude_bits()) return;
        damaged |= static_cast<uint32_t>(place > kBlockSamples && has_place());
        if (place > kBlockSamples) return;
        levels[next] = listed_level(place - 1, level);
        next += kListPitch;
    }
    DEVICE_MEMBER void end_block(uint32_t bits) {
        if (has_place()) {
            extra |= block + 1 == scan.blocks && bits >= scan.excess_bits;
            blocks[block] = {.subsequence = subsequence,
                             .first = static_cast<uint16_t>((first - list) / kListPitch),
                             .count = static_cast<uint8_t>((next - first) / kListPitch),
                             .restarted = static_cast<uint8_t>(differences.restarted)};
            decoded++;
        }
        block++;
    }
    // Blocks that are missing are missed in the sum of all.
    DEVICE_MEMBER void end_interval(uint32_t interval) {
        begin_interval(interval + 1, 0);
        differences = {.restarted = 1, .value = {}};
    }
    DEVICE_MEMBER void begin_interval(uint32_t interval, uint32_t blocks_before) {
        const uint32_t begin = min_of(interval, scan.intervals) * scan.interval_blocks;
        limit = min_of(begin + scan.interval_blocks, scan.blocks);
        block = begin + blocks_before;
    }
};

}  // namespace

// A thread owns a subsequence.
KERNEL(kTileSubsequences, mjpeg_decode, DecodeParams)
{
    SHARED(TableVector, table_memory, kTableVectors);
    const DecodePicture &picture = p.picture[block_y()];
    const uint32_t bits = 8 * picture.scan.state->bytes, tile = static_cast<uint32_t>(block_x());
    const uint32_t own = tile * kTileSubsequences + static_cast<uint32_t>(thread_x());
    if (tile * tile_bits(picture.scan) >= bits) return;
    const LookUps &tables = load_tables<kTableVectors>(picture.scan, table_memory);
    LevelLister lister{.scan = picture.scan,
                       .components = load_readonly(&picture.scan.tables->block_components),
                       .subsequence = own,
                       .list = listed_at(picture.scan.subsequence_bits, own, 0),
                       .levels = picture.levels,
                       .blocks = picture.blocks};
    BlockStart start = picture.starts[own];
    if (start.bit < bits) {
        const uint32_t before = joined(picture.tiles_before[tile], picture.before[own]).value[0];
        start.phase = before % picture.scan.mcu_blocks;
        lister.begin_interval(interval_at(picture.scan, start.bit, bits / 8).number, before);
        Walk(picture.scan, tables, start).run((own + 1) * picture.scan.subsequence_bits, lister);
    }
    const RunSums<kMaxStreamComponents> sums = sum_runs<kTileSubsequences / 32>(lister.differences);
    picture.differences_before[own] = sums.before;
    if (thread_x() == 0) picture.differences[tile] = sums.all;
    const uint32_t decoded = warp_add(lister.decoded), damaged = warp_or(lister.damaged);
    const bool extra = warp_any(lister.extra);
    if (lane_id() == 0) {
        atomic_add(&picture.scan.state->blocks, decoded);
        if (damaged) atomic_or(&picture.scan.state->damaged, 1u);
        if (extra) atomic_or(&picture.scan.state->extra, 1u);
    }
    if (!is_last_tile(picture.scan, &picture.scan.state->listed)) return;
    sum_tiles(picture.differences, picture.all_before, tiles_of(picture.scan));
    if (thread_x() == 0) *picture.result = *picture.scan.state;
}

}  // namespace cudaenc::mjpeg
