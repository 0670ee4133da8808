// SPDX-License-Identifier: LGPL-2.1-or-later
#include "t1_cpu.h"

#include <algorithm>
#include <memory>

#include "../../simd.h"
#include "mq_cpu.h"
#include "words_cpu.h"

namespace cudaenc::j2k {

CUDAENC_CLONES void encode(Codeword &word, uint32_t count) {
    Codeword::Registers r = word.load();
    while (count--) r.encode();
    word.store(r);
}
CUDAENC_CLONES void encode(Codeword &first, Codeword &second, uint32_t count) {
    Codeword::Registers r = first.load(), s = second.load();
    while (count--) {
        r.encode();
        s.encode();
    }
    first.store(r);
    second.store(s);
}

void code_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const BlockCoding &coding,
                 int max_passes, const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                 CodedBlock *coded, const StopRule *stops) {
    size_t most_words = 0, longest = 0;
    for (const CodeBlock &b : blocks) {
        most_words = std::max(most_words, scratch_words(b.width, b.height));
        longest = std::max<size_t>(longest, room_layout(b, coding).bytes);
    }
    const auto memory = std::make_unique_for_overwrite<uint64_t[]>(most_words);
    const auto codewords = std::make_unique_for_overwrite<uint8_t[]>(2 * longest);
    std::vector<uint32_t> symbol_ends(2 * static_cast<size_t>(max_passes));
    struct Lane {
        uint8_t *room;
        uint32_t *symbol_ends;  // [pass]
        size_t block;
        Codeword codeword;
    } lanes[2] = {{codewords.get(), symbol_ends.data(), 0, {}},
                  {codewords.get() + longest, symbol_ends.data() + max_passes, 0, {}}};
    bytes.clear();
    size_t next = 0;
    // Gives the lane the next block that has something to code; false when there is none left.
    const auto take = [&](Lane &lane) {
        while (next < blocks.size()) {
            const CodeBlock &b = blocks[next];
            const TruncationPoints own = points.from(next * static_cast<size_t>(max_passes));
            uint8_t *symbols = lane.room + room_layout(b, coding).symbols;
            const CodedBlock &made = coded[next] =
                model_block(coefficients, b, coding, symbols, lane.symbol_ends, own.reductions,
                            stops ? stops[next] : StopRule(), memory.get());
            offsets[next] = 0;
            lane.block = next++;
            if (!made.passes) continue;
            lane.codeword.begin(lane.room, symbols, lane.symbol_ends, own, made.passes, coding);
            return true;
        }
        return false;
    };
    const auto finish = [&](Lane &lane) {
        const uint32_t count = lane.codeword.finish();
        coded[lane.block].bytes = count;
        offsets[lane.block] = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), lane.room, lane.room + count);
        if (coding.truncatable) bytes.resize(bytes.size() + kTerminationSlack);
    };
    Lane *lane = &lanes[0], *other = &lanes[1];
    if (!take(*lane)) return;
    if (take(*other))
        for (;;) {
            encode(lane->codeword, other->codeword,
                   std::min(lane->codeword.symbols_ahead(), other->codeword.symbols_ahead()));
            if (lane->codeword.symbols_ahead()) std::swap(lane, other);
            if (!lane->codeword.reach()) continue;
            finish(*lane);
            if (take(*lane)) continue;
            lane = other;
            break;
        }
    do encode(lane->codeword, lane->codeword.symbols_ahead());
    while (!lane->codeword.reach());
    finish(*lane);
}

}  // namespace cudaenc::j2k
