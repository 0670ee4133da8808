// Tier-1's arithmetic coding: pairs to codewords. The codeword takes the place of the pairs that it codes, which it
// never overtakes. SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../common/j2k/mq.h"

#include "../device.cuh"
#include "t1_planes_params.h"

namespace cudaenc::j2k {

constexpr int kMqTableRows = 96;
constexpr int kMqContexts = 32;  // behind the last pair anything may stand
// Where all passes end, a lane waits at an end for a turn of which the number is a multiple of it, so that lanes that
// get to ends of theirs by then see to them at once. With the bypass, which has fewer, waiting costs more.
constexpr uint32_t kEndTurns = 4;

// A block with all its passes, or a part of it: passes [first_pass, passes), whose predecessors left `progress`, and
// the pairs up to their end; `last`: no more follow.
struct WholeBlock {
    static constexpr bool kPart = false;
};
struct PartOfBlock {
    static constexpr bool kPart = true;
    MqProgress *progress;
    int first_pass, passes;
    uint32_t pairs;
    bool last;
};

// Codes a block with one lane. rows: the table, in shared memory; contexts: a column of shared memory behind them, read
// for the next pair while this one is coded. Only with Kind::kStyled is there a style, and parts of a block.
template <Kind kKind, class Part = WholeBlock>
DEVICE void code_block(const Tier1Buffers &t1, uint32_t block, [[maybe_unused]] uint32_t style, const MqState *rows,
                       MqState *contexts, [[maybe_unused]] const Part &part = {}) {
    constexpr bool kPart = Part::kPart, kPlain = kKind == Kind::kPlain, kStyled = kKind == Kind::kStyled,
                   kSegments = kKind == Kind::kBypass;
    static_assert(kStyled || !kPart);
    for (int i = 0; i < kMqContexts; i++) contexts[i * kMqThreads] = rows[mq_initial_row(i)];
    if (!kPlain) contexts[(kNoPair >> 1) * kMqThreads] = 0;  // a Qe of 0 and its MPS leave A and C as they are
    const CodeBlock &b = t1.blocks[block];
    uint8_t *slot = t1.slots + b.slot;
    uint32_t count;
    int pass = 0, passes;
    bool last = true;
    if constexpr (kPart)
        pass = part.first_pass, passes = part.passes, count = part.pairs, last = part.last;
    else
        passes = t1.passes[block], count = t1.pairs[block];
    if constexpr (kKind == Kind::kCuttable) pass = max_of(int{t1.certain[block]} - 1, 0);
    [[maybe_unused]] const int first_cut = pass;
    if (!count) {
        t1.bytes[block] = 0;
        return;
    }
    const uint64_t first_end = static_cast<uint64_t>(block) * t1.max_passes;
    uint32_t *ends = t1.pass_ends + first_end;
    // The pass that is being coded ends at `end`, the one behind it at `later`.
    const auto end_of = [&](int i) { return i < passes ? ends[i] : 0xFFFFFFFFu; };
    uint32_t end = end_of(pass), later = end_of(pass + 1);
    MqEncoder mq(slot);
    uint32_t i = 0;
    // Bytes of segments that have ended, of the MQ coder and raw ones; the first pass and pair of the one that is
    // coded.
    [[maybe_unused]] uint32_t coded = 0, raw = 0, segment_pair = 0;
    [[maybe_unused]] int segment_pass = 0;
    if constexpr (kPart) {
        if (pass) {
            const MqProgress &p = *part.progress;
            mq.a = p.a, mq.c = p.c, mq.byte = p.byte, mq.word = p.word, mq.ct = p.ct, mq.at = p.at;
            i = p.pairs, coded = p.coded, raw = p.raw;
            segment_pair = p.segment_pair, segment_pass = p.segment_pass;
            for (int k = 0; k < kContexts; k++) contexts[k * kMqThreads] = p.contexts[k];
        }
    }
    // Sixteen pairs a load, the next ones in flight; bytes are written behind what was loaded. Slots have room beyond
    // the last pair.
    const Uint4 *pairs =
        reinterpret_cast<const Uint4 *>(kPlain ? slot : slot + slot_layout(b.width, b.height, b.planes, style).pairs);
    Uint4 next = pairs[i / 16];
    uint32_t words[5] = {next.x, next.y, next.z, next.w, 0};
    // A context's place, from a pair; `own` is that of the pair to code.
    const auto place_of = [&](uint32_t pair) {
        return reinterpret_cast<MqState *>(reinterpret_cast<uint8_t *>(contexts) +
                                           (pair & 62) * (kMqThreads / 2 * sizeof(MqState)));
    };
    MqState *own = place_of(words[0]), state = *own;
    const auto code = [&](uint32_t pair, uint32_t following, auto &steps, int index) {
        MqState *other = place_of(following);
        const MqState ahead = *other, after = mq.code(state, pair, rows, steps, index);
        *own = after;
        state = other == own ? after : ahead;
        own = other;
    };
    // Four pairs' steps are appended while the next four are coded, to which they mean nothing.
    MqSteps<4> pending{};
    const auto append_pending = [&] {
        mq.append(pending);
        while (kPlain && end <= i) {  // a pass may be empty
            ends[pass++] = mq.sufficient_bytes();
            end = later;
            later = end_of(pass + 1);
        }
    };
    [[maybe_unused]] const auto set_end = [&](int of, uint32_t bytes, uint32_t tail) {
        ends[of] = bytes;
        if (style & kCuttable) t1.tails[first_end + of] = tail;
    };
    // Styled: what ends at `i`, where all pairs are appended, passes and segments. Raw passes have been coded.
    const auto end_passes = [&] {
        for (; pass < passes; pass++) {
            if (is_raw(style, pass)) {
                raw = ends[pass];
                set_end(pass, raw + coded, 0);
                segment_pass = pass + 1;
                continue;
            }
            if (ends[pass] > i) break;
            const bool predictable = (style & kPredictableTermination) != 0;
            if (style & kCuttable) {
                const CodewordEnd cut = i > segment_pair ? mq.end(predictable) : CodewordEnd{coded, 0};
                set_end(pass, raw + cut.bytes, cut.tail);
            } else {
                ends[pass] = raw + mq.sufficient_bytes();
            }
            if (style & kReset) {
                for (int k = 0; k < kContexts; k++) contexts[k * kMqThreads] = rows[mq_initial_row(k)];
                state = *own;
            }
            if ((pass + 1 < passes || !last) && !ends_segment(style, pass)) continue;
            if (i > segment_pair) coded = mq.flush(predictable);
            for (int k = segment_pass; k <= pass; k++)
                if (k == pass || (ends[k] >= raw + coded && !(style & kCuttable))) set_end(k, raw + coded, 0);
            mq.begin_behind(coded);
            segment_pass = pass + 1;
            segment_pair = i;
        }
        end = end_of(pass);
    };
    const auto code_four = [&](uint32_t word, uint32_t following) {
        MqSteps<4> steps;
        code(word, word >> 8, steps, 0);
        code(word >> 8, word >> 16, steps, 1);
        code(word >> 16, word >> 24, steps, 2);
        code(word >> 24, following, steps, 3);
        append_pending();
        pending = steps;
        i += 4;
    };
    // A coder as it was, to end the codeword: C below a 1, A | the pending byte << 16.
    [[maybe_unused]] const auto kept_coder = [slot](int at, uint32_t c, uint32_t rest) {
        MqEncoder coder(slot);
        const int top = floor_log2(c);
        coder.at = at;
        coder.c = c - (1u << top);
        coder.ct = 28 - top;
        coder.a = rest & 0xFFFF;
        coder.byte = rest >> 16;
        return coder;
    };
    // Of passes that end at `at`, up to which all pairs are appended: the coder as it was there, `a` its A register.
    // What ends the codeword there is worked out behind the last pair, by all lanes at once.
    [[maybe_unused]] const auto keep_ends = [&](uint32_t at, uint32_t a) {
        for (; end <= at; pass++) {
            ends[pass] = static_cast<uint32_t>(mq.at);
            t1.tails[first_end + pass] = mq.c | 1u << (28 - mq.ct);  // C is below
            t1.registers[first_end + pass] = a | mq.byte << 16;
            end = later;
            later = end_of(pass + 2);
        }
    };
    [[maybe_unused]] const auto work_out_ends = [&] {
        struct Kept {
            uint32_t at, c, rest;
        };
        const auto kept = [&](int i) { return Kept{ends[i], t1.tails[first_end + i], t1.registers[first_end + i]}; };
        Kept following = kept(first_cut);
        for (int i = first_cut; i < passes; i++) {
            const auto [at, c, rest] = following;
            following = kept(min_of(i + 1, passes - 1));  // on its way meanwhile
            const CodewordEnd cut = kept_coder(static_cast<int>(at), c, rest).end(false);
            ends[i] = cut.bytes;
            t1.tails[first_end + i] = cut.tail;
        }
    };
    // With the bypass alone: of an MQ segment whose last pass ends here, up to which all pairs are appended, the coder
    // as it is, behind the segment's bytes, so that all lanes end segments at once, behind the last pair. The next one
    // begins behind that. What it puts into its first word, which is whole, are no bytes of its own.
    struct KeptSegment {
        uint32_t c, rest;  // see kept_coder(); c is 0 where nothing was coded
    };
    [[maybe_unused]] const auto kept_segment = [&](int at) {
        return reinterpret_cast<KeptSegment *>(slot + ((at + 4) & ~3));
    };
    [[maybe_unused]] const auto begin_behind_kept = [](int at) {
        constexpr int kRoom = sizeof(KeptSegment) + 4;  // and for a word of ending bytes
        static_assert(4 + kRoom <= kSegmentGap);
        return ((at + 4) & ~3) + kRoom;
    };
    [[maybe_unused]] const auto last_pass_of_segment = [&](int segment) {
        return min_of(kFirstRawPass - 1 + 3 * segment, passes - 1);
    };
    [[maybe_unused]] const auto keep_segments = [&](uint32_t up_to, int segments) {
        for (; segment_pass < segments && end <= up_to; segment_pass++) {
            *kept_segment(mq.at) = {up_to > segment_pair ? mq.c | 1u << (28 - mq.ct) : 0, mq.a | mq.byte << 16};
            mq.store_rest();
            ends[last_pass_of_segment(segment_pass)] = static_cast<uint32_t>(mq.at);
            segment_pair = up_to;
            mq.begin_at(begin_behind_kept(mq.at));
            end = segment_pass + 1 < segments ? ends[last_pass_of_segment(segment_pass + 1)] : 0xFFFFFFFFu;
        }
    };
    [[maybe_unused]] const auto end_segments = [&](int segments) {
        uint32_t *begins = t1.segment_begins + first_end;
        for (int k = 0, begin = 0; k < segments; k++) {
            const int of = last_pass_of_segment(k), at = static_cast<int>(ends[of]);
            const KeptSegment kept = *kept_segment(at);
            if (k) {  // raw passes come before it
                raw = ends[of - 1];
                ends[of - 1] = raw + coded;
            }
            begins[of] = static_cast<uint32_t>(begin);
            if (kept.c) {
                const CodewordEnd cut = kept_coder(at, kept.c, kept.rest).end(false);
                for (uint32_t i = cut.tail & 0xFF, rest = cut.tail >> 8; i; i--, rest >>= 8)
                    slot[cut.bytes - i] = static_cast<uint8_t>(rest);
                coded += cut.bytes - static_cast<uint32_t>(begin);
            }
            ends[of] = raw + coded;
            begin = begin_behind_kept(at);
        }
        // Raw passes behind the last one.
        if (last_pass_of_segment(segments - 1) < passes - 1) {
            raw = ends[passes - 1];
            ends[passes - 1] = raw + coded;
        }
        t1.bytes[block] = raw + coded;
    };
    [[maybe_unused]] const int segments = 1 + max_of(passes - kFirstRawPass, 0) / 3;
    if constexpr (kSegments) end = ends[last_pass_of_segment(0)];
    static_assert(kPassAlignment == 16);
    [[maybe_unused]] const uint32_t wait = !kPart && (style & (kTermAll | kCuttable)) ? kEndTurns : 1;
    for (uint32_t whole = (count - i) / 16, turn = 0; whole; turn++) {
        if (kStyled && end <= i) {
            if (turn % wait) continue;
            append_pending();
            pending = {};
            end_passes();
        }
        if (kSegments && end <= i) {
            append_pending();
            pending = {};
            keep_segments(i, segments);
        }
        whole--;
        next = pairs[i / 16 + 1];
        words[4] = next.x;
        [[maybe_unused]] const uint32_t from = i, a = mq.a;
        CUDAENC_UNROLL
        for (int k = 0; k < 4; k++) {
            code_four(words[k], words[k + 1]);
            if (kKind == Kind::kCuttable && k == 0) keep_ends(from, a);  // the last four are appended by now
        }
        words[0] = next.x;
        words[1] = next.y;
        words[2] = next.z;
        words[3] = next.w;
    }
    while (kPlain && i + 4 <= count) {
        code_four(words[0], words[1]);
        words[0] = words[1];
        words[1] = words[2];
        words[2] = words[3];
    }
    append_pending();
    if constexpr (kStyled) {
        end_passes();
        t1.bytes[block] = raw + coded;
        if constexpr (kPart) {
            mq.store_rest();  // the block may stop here
            MqProgress &p = *part.progress;
            p.a = mq.a, p.c = mq.c, p.byte = mq.byte, p.word = mq.word, p.ct = mq.ct, p.at = mq.at;
            p.pairs = i, p.coded = coded, p.raw = raw;
            p.segment_pair = segment_pair, p.segment_pass = segment_pass;
            for (int k = 0; k < kContexts; k++) p.contexts[k] = contexts[k * kMqThreads];
        }
    } else if constexpr (kSegments) {
        keep_segments(i, segments);
        end_segments(segments);
    } else if constexpr (!kPlain) {
        keep_ends(i, mq.a);
        work_out_ends();
        const uint32_t bytes = mq.flush();
        ends[passes - 1] = bytes;
        t1.tails[first_end + passes - 1] = 0;
        t1.bytes[block] = bytes;
    } else {
        for (uint32_t rest = words[0]; i < count; i++, rest >>= 8) {
            MqSteps<1> steps;
            code(rest, rest >> 8, steps, 0);
            mq.append(steps);
        }
        while (pass < passes) ends[pass++] = mq.sufficient_bytes();
        const uint32_t bytes = mq.flush();
        for (int k = 0; k < passes; k++) ends[k] = min_of(ends[k], bytes);
        t1.bytes[block] = bytes;
    }
}

DEVICE void load_mq_table(MqState *rows) {
    for (int i = thread_x(); i < kMqRows; i += kMqThreads) rows[i] = kMqTable.row[i];
    block_sync();
}

// A lane owns a block. memory: the table's rows, then contexts; one array, since a second one's address costs
// instructions in the innermost loop.
template <Kind kKind>
DEVICE void code_blocks(const MqParams &p, uint32_t style, MqState *memory) {
    load_mq_table(memory);
    const uint32_t index = (static_cast<uint32_t>(block_x()) * (kMqThreads / 32) + warp_id()) * p.lanes + lane_id();
    if (lane_id() >= p.lanes || index >= p.t1.count) return;
    code_block<kKind>(p.t1, p.order[index], style, memory, memory + kMqTableRows + thread_x());
}

KERNEL(kMqThreads, j2k_t1_mq, MqParams)
{
    SHARED(MqState, memory, kMqTableRows + kMqContexts * kMqThreads);
    code_blocks<Kind::kPlain>(p, 0, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_styled, StyledMqParams)
{
    SHARED(MqState, memory, kMqTableRows + kMqContexts * kMqThreads);
    code_blocks<Kind::kStyled>(p, p.style, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_cuttable, CuttableMqParams)
{
    SHARED(MqState, memory, kMqTableRows + kMqContexts * kMqThreads);
    code_blocks<Kind::kCuttable>(p, kCuttable, memory);
}

KERNEL(kMqThreads, j2k_t1_mq_plane, MqPlaneParams)
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
    // Context modelling of the plane below may run by now, and change the block's number of pairs.
    const int before = static_cast<int>(k.planes[block]) - 1 - p.plane, passes = coding_passes(before + 1);
    const uint32_t pairs = k.t1.pass_ends[static_cast<uint64_t>(block) * k.t1.max_passes + passes - 1];
    code_block<Kind::kStyled>(k.t1, block, k.style, memory, memory + kMqTableRows + thread_x(),
                              PartOfBlock{&k.progress[block], coding_passes(before), passes, pairs, p.plane == 0});
    k.t1.planes[block] = static_cast<uint8_t>(k.planes[block]);
    k.t1.passes[block] = static_cast<uint8_t>(passes);
}

// For the bypass alone.
KERNEL(kMqThreads, j2k_t1_mq_bypass, BypassMqParams)
{
    SHARED(MqState, memory, kMqTableRows + kMqContexts * kMqThreads);
    code_blocks<Kind::kBypass>(p, kBypass, memory);
}

}  // namespace cudaenc::j2k
