// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ coding of a block by one lane (T.800 Annex C): (CX,D) symbols to codewords. The codeword takes the place of the
// symbols that it codes, which it never overtakes.
#pragma once
#include "model.cuh"

namespace cudaenc::j2k {

constexpr int kMqTableRows = 96;
constexpr int kMqContexts = 32;  // behind the last symbol anything may stand
constexpr int kMqWords = kMqTableRows + kMqContexts * kMqThreads;

// Where all passes end, a lane waits at an end for a turn of which the number is a multiple of it, so that lanes that
// get to ends of theirs by then see to them at once. With the bypass, which has fewer, waiting costs more.
constexpr uint32_t kEndTurns = 4;

// A block with all its passes. A part of a block says which of its passes are coded, up to which symbol, whether no
// more follow, the state behind those before, and where its symbols are.
struct WholeBlock {
    static constexpr bool kPart = false;
};

// Codes a block. rows: the table, in shared memory; contexts: a column of shared memory behind it. Styles and policies
// are those of context modelling; parts are of any style, and measured.
template <StyleVariant kStyle, bool kMeasures, class Part = WholeBlock>
struct MqBlock {
    static constexpr bool kPart = Part::kPart, kPlain = kStyle == StyleVariant::kNone && !kMeasures,
                          kStyled = kStyle == StyleVariant::kAny, kSegments = kStyle == StyleVariant::kBypass,
                          kKeepsPasses = kMeasures && !kStyled;

    const Tier1Buffers &t1;
    const uint32_t block, style;
    const MqState *const rows;
    MqState *const contexts;
    const Part &part;
    uint8_t *const room;
    const uint64_t first;  // its first pass in the arrays
    const uint32_t *const ends;
    uint32_t *const pass_bytes;
    const int first_point;  // the first pass behind which the codeword may be truncated
    MqEncoder mq;
    // The context to code next, read while the symbol before it is coded.
    MqState *own = nullptr, state = 0;
    // The steps of four symbols are appended while the next four are coded, to which they mean nothing.
    MqSteps<4> pending{};
    uint32_t count = 0, i = 0;  // symbols: all, and coded
    int pass = 0, passes = 0;
    uint32_t end = 0, later = 0;  // where the pass ends that is coded, and the one behind it
    bool last = true;
    // Bytes of segments that have ended, of the MQ coder and raw ones; of the one that is coded the first symbol and
    // pass, with the bypass alone its number and where it ends.
    uint32_t coded = 0, raw = 0, segment_symbol = 0;
    int segment_pass = 0;
    uint32_t segment_end = 0;

    DEVICE_MEMBER MqBlock(const Tier1Buffers &t1, uint32_t block, uint32_t style, const MqState *rows,
                          MqState *contexts, const Part &part)
        : t1(t1),
          block(block),
          style(style),
          rows(rows),
          contexts(contexts),
          part(part),
          room(t1.coded.room(block)),
          first(static_cast<uint64_t>(block) * t1.max_passes),
          ends(t1.pass_ends + first),
          pass_bytes(t1.coded.pass_bytes + first),
          first_point(kMeasures && !kPart ? max_of(int{t1.coded.always_included[block]} - 1, 0) : 0),
          mq(room) {}

    DEVICE_MEMBER void run() {
        for (int k = 0; k < kMqContexts; k++) contexts[k * kMqThreads] = rows[mq_initial_row(k)];
        if (!kPlain) contexts[(kNoSymbol >> 1) * kMqThreads] = 0;  // a Qe of 0 and its MPS leave A and C as they are
        if constexpr (kPart)
            pass = part.first_pass, passes = part.passes, count = part.symbols, last = part.last;
        else
            passes = t1.coded.passes[block], count = t1.symbols[block];
        if constexpr (kKeepsPasses) pass = first_point;
        if (!count) {
            t1.coded.bytes[block] = 0;
            return;
        }
        if constexpr (kSegments) segment_end = ends[last_pass_of_segment(0)];
        if constexpr (kStyled)
            find_end();
        else if constexpr (!kSegments || kKeepsPasses)
            end = end_of(pass), later = end_of(pass + 1);
        if constexpr (kPart)
            if (pass) part.load(*this);
        code_symbols();
    }

    // The symbols, sixteen a load, the next ones in flight; bytes are written behind what was loaded. Rooms have room
    // beyond the last symbol.
    DEVICE_MEMBER void code_symbols() {
        const CodeBlock &b = t1.blocks[block];
        const uint8_t *begin;
        if constexpr (kPart)
            begin = part.symbols_at;
        else
            begin = kPlain ? room : room + room_layout(b, BlockCoding{style, kMeasures}).symbols;
        const Uint4 *symbols = reinterpret_cast<const Uint4 *>(begin);
        Uint4 next = symbols[i / 16];
        uint32_t words[5] = {next.x, next.y, next.z, next.w, 0};
        own = place_of(words[0]);
        state = *own;
        static_assert(kPassAlignment == 16);
        [[maybe_unused]] const uint32_t wait = !kPart && (kMeasures || (style & kTermAll)) ? kEndTurns : 1;
        for (uint32_t whole = (count - i) / 16, turn = 0; whole; turn++) {
            if (kStyled ? end <= i : kSegments && segment_end <= i) {
                if (kStyled && turn % wait) continue;
                append_pending();
                pending = {};
                if constexpr (kStyled)
                    end_passes();
                else
                    keep_segments(i);
            }
            whole--;
            next = symbols[i / 16 + 1];
            words[4] = next.x;
            [[maybe_unused]] const uint32_t from = i, a = mq.a;
            CUDAENC_UNROLL
            for (int k = 0; k < 4; k++) {
                code_four(words[k], words[k + 1]);
                if (kKeepsPasses && k == 0) keep_passes(from, a);  // the last four are appended by now
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
        finish(words[0]);
    }

    // ---- Symbols

    DEVICE_MEMBER MqState *place_of(uint32_t symbol) const {
        return reinterpret_cast<MqState *>(reinterpret_cast<uint8_t *>(contexts) +
                                           (symbol & 62) * (kMqThreads / 2 * sizeof(MqState)));
    }
    template <class Steps>
    DEVICE_MEMBER void code(uint32_t symbol, uint32_t following, Steps &steps, int index) {
        MqState *other = place_of(following);
        const MqState ahead = *other, after = mq.code(state, symbol, rows, steps, index);
        *own = after;
        state = other == own ? after : ahead;
        own = other;
    }
    DEVICE_MEMBER void code_four(uint32_t word, uint32_t following) {
        MqSteps<4> steps;
        code(word, word >> 8, steps, 0);
        code(word >> 8, word >> 16, steps, 1);
        code(word >> 16, word >> 24, steps, 2);
        code(word >> 24, following, steps, 3);
        append_pending();
        pending = steps;
        i += 4;
    }
    DEVICE_MEMBER void append_pending() {
        mq.append(pending);
        while (kPlain && end <= i) {  // a pass may be empty
            pass_bytes[pass++] = mq.sufficient_bytes();
            end = later;
            later = end_of(pass + 1);
        }
    }
    DEVICE_MEMBER uint32_t end_of(int of) const { return of < last_end() ? ends[of] : 0xFFFFFFFFu; }
    // Behind the last pass of which `end` tells. With the bypass alone it tells of those within the first segment: all
    // others end one, or are raw.
    DEVICE_MEMBER int last_end() const { return kSegments ? min_of(passes, kFirstRawPass) - 1 : passes; }

    // Behind the last symbol but, without style and policy, `rest`.
    DEVICE_MEMBER void finish(uint32_t rest) {
        if constexpr (kStyled) {
            end_passes();
            t1.coded.bytes[block] = raw + coded;
            if constexpr (kPart) part.store(*this);
        } else if constexpr (kSegments) {
            keep_segments(i);
            if constexpr (kKeepsPasses) work_out_ends();
            end_segments();
        } else if constexpr (kKeepsPasses) {
            keep_passes(i, mq.a);
            work_out_ends();
            const uint32_t bytes = mq.flush();
            set_end(passes - 1, bytes, 0);
            t1.coded.bytes[block] = bytes;
        } else {
            for (; i < count; i++, rest >>= 8) {
                MqSteps<1> steps;
                code(rest, rest >> 8, steps, 0);
                mq.append(steps);
            }
            while (pass < passes) pass_bytes[pass++] = mq.sufficient_bytes();
            const uint32_t bytes = mq.flush();
            for (int k = 0; k < passes; k++) pass_bytes[k] = min_of(pass_bytes[k], bytes);
            t1.coded.bytes[block] = bytes;
        }
    }

    DEVICE_MEMBER void set_end(int of, uint32_t bytes, uint32_t termination) const {
        pass_bytes[of] = bytes;
        if (kMeasures) t1.coded.terminations[first + of] = termination;
    }

    // A coder as it was, to end the codeword: C below a 1, A | the pending byte << 16.
    DEVICE_MEMBER MqEncoder kept_coder(int at, uint32_t c, uint32_t rest) const {
        MqEncoder coder(room);
        const int top = floor_log2(c);
        coder.at = at;
        coder.c = c - (1u << top);
        coder.ct = 28 - top;
        coder.a = rest & 0xFFFF;
        coder.byte = rest >> 16;
        return coder;
    }

    // ---- Any style: what ends at `i`, where all symbols are appended, passes and segments. Raw passes have been
    // coded.

    DEVICE_MEMBER void end_passes() {
        for (; pass < passes; pass++) {
            if (is_raw(style, pass)) {
                raw = ends[pass];
                set_end(pass, raw + coded, 0);
                segment_pass = pass + 1;
                continue;
            }
            if (!has_end(pass)) continue;
            if (ends[pass] > i) break;
            const bool predictable = (style & kPredictableTermination) != 0,
                       is_last = ends_segment(style, pass) || (pass + 1 == passes && last);
            if (is_last) {
                // Its bytes are known below.
            } else if (!kMeasures) {
                pass_bytes[pass] = raw + mq.sufficient_bytes();
            } else if (pass >= first_point) {
                const CodewordEnd point = i > segment_symbol ? mq.end(predictable) : CodewordEnd{coded, 0};
                set_end(pass, raw + point.bytes, point.termination);
            }
            if (style & kReset) {
                for (int k = 0; k < kContexts; k++) contexts[k * kMqThreads] = rows[mq_initial_row(k)];
                state = *own;
            }
            if (!is_last) continue;
            if (i > segment_symbol) coded = mq.flush(predictable);
            for (int k = segment_pass; k <= pass; k++)
                if (k == pass || (!kMeasures && pass_bytes[k] >= raw + coded)) set_end(k, raw + coded, 0);
            mq.begin_behind(coded);
            segment_pass = pass + 1;
            segment_symbol = i;
        }
        find_end();
    }
    DEVICE_MEMBER bool has_end(int of) const { return is_filled_up(style, of, first_point); }
    DEVICE_MEMBER void find_end() {
        while (pass < passes && !has_end(pass)) pass++;
        end = end_of(pass);
    }

    // ---- No style or the bypass alone, measured: of passes that end at `at`, up to which all symbols are appended,
    // the coder as it was there is kept, `a` its A register. What ends the codeword is worked out behind the last
    // symbol, by all lanes at once.

    DEVICE_MEMBER void keep_passes(uint32_t at, uint32_t a) {
        for (; end <= at; pass++) {
            t1.pass_coders[first + pass] = {static_cast<uint32_t>(mq.at), mq.c | 1u << (28 - mq.ct), a | mq.byte << 16,
                                            0};
            end = later;
            later = end_of(pass + 2);
        }
    }
    DEVICE_MEMBER void work_out_ends() const {
        const PassCoder *coders = t1.pass_coders + first;
        PassCoder following = coders[first_point];
        for (int of = first_point; of < last_end(); of++) {
            const PassCoder kept = following;
            following = coders[min_of(of + 1, passes - 1)];  // on its way meanwhile
            const CodewordEnd point = kept_coder(static_cast<int>(kept.at), kept.c, kept.rest).end(false);
            set_end(of, point.bytes, point.termination);
        }
    }

    // ---- The bypass alone: of an MQ segment that ends at `up_to`, up to which all symbols are appended, the coder is
    // kept behind the segment's bytes. Segments end behind the last symbol, by all lanes at once. The next one begins
    // behind that. What it puts into its first word, which is whole, are no bytes of its own. pass_bytes has mq.at
    // meanwhile.

    struct KeptSegment {
        uint32_t c, rest;  // see kept_coder(); c is 0 where nothing was coded
    };
    DEVICE_MEMBER KeptSegment *kept_segment(int at) const {
        return reinterpret_cast<KeptSegment *>(room + ((at + 4) & ~3));
    }
    DEVICE_MEMBER static int begin_behind_kept(int at) {
        constexpr int kRoom = sizeof(KeptSegment) + 4;  // and for a word of ending bytes
        static_assert(4 + kRoom <= kSegmentGap);
        return ((at + 4) & ~3) + kRoom;
    }
    DEVICE_MEMBER int last_pass_of_segment(int segment) const {
        return min_of(kFirstRawPass - 1 + 3 * segment, passes - 1);
    }
    DEVICE_MEMBER int segments() const { return 1 + max_of(passes - kFirstRawPass, 0) / 3; }
    DEVICE_MEMBER void keep_segments(uint32_t up_to) {
        if constexpr (kKeepsPasses) keep_passes(up_to, mq.a);
        for (; segment_pass < segments() && segment_end <= up_to; segment_pass++) {
            *kept_segment(mq.at) = {up_to > segment_symbol ? mq.c | 1u << (28 - mq.ct) : 0, mq.a | mq.byte << 16};
            mq.store_rest();
            pass_bytes[last_pass_of_segment(segment_pass)] = static_cast<uint32_t>(mq.at);
            segment_symbol = up_to;
            mq.begin_at(begin_behind_kept(mq.at));
            segment_end = segment_pass + 1 < segments() ? ends[last_pass_of_segment(segment_pass + 1)] : 0xFFFFFFFFu;
        }
    }
    DEVICE_MEMBER void end_segments() {
        uint32_t *begins = t1.coded.segment_begins + first;
        for (int k = 0, begin = 0; k < segments(); k++) {
            const int of = last_pass_of_segment(k), at = static_cast<int>(pass_bytes[of]);
            const KeptSegment kept = *kept_segment(at);
            if (k) end_raw_passes(of - 2, of);  // which come before it
            begins[of] = static_cast<uint32_t>(begin);
            if (kept.c) {
                const CodewordEnd point = kept_coder(at, kept.c, kept.rest).end(false);
                for (uint32_t k = point.termination & 0xFF, rest = point.termination >> 8; k; k--, rest >>= 8)
                    room[point.bytes - k] = static_cast<uint8_t>(rest);
                coded += point.bytes - static_cast<uint32_t>(begin);
            }
            set_end(of, raw + coded, 0);
            begin = begin_behind_kept(at);
        }
        end_raw_passes(last_pass_of_segment(segments() - 1) + 1, passes);
        t1.coded.bytes[block] = raw + coded;
    }
    DEVICE_MEMBER void end_raw_passes(int from, int to) {
        for (int of = from; of < to; of++) {
            raw = ends[of];
            set_end(of, raw + coded, 0);
        }
    }
};

DEVICE void load_mq_table(MqState *rows) {
    for (int i = thread_x(); i < kMqRows; i += kMqThreads) rows[i] = kMqTable.row[i];
    block_sync();
}

}  // namespace cudaenc::j2k
