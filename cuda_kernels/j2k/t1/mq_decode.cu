// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ decoding of whole blocks (T.800 Annexes C, D), a lane a block. The lanes of a warp take the same word of the same
// pass at once, and wait where others have more to decode in it.
#include "../../../common/j2k/codestream/coefficient.h"
#include "../../../common/j2k/t1/block_decoder.h"
#include "../../../common/j2k/t1/mq_decoder.h"
#include "../../device.cuh"
#include "codeword_words.cuh"
#include "mq_decode_params.h"
#include "sample_words.cuh"

namespace cudaenc::j2k {

// The MQ decoder (T.800 C.3) without branches but for the next bytes, since lanes of a warp decode different blocks. Of
// C it has Chigh. The bits that follow come from a window of the codeword, without what is stuffed.
class MqLaneDecoder {
  public:
    DEVICE_MEMBER explicit MqLaneDecoder(const CodewordWords &bytes) : bytes_(bytes) {  // INITDEC
        shift(8);
        shift(7);
    }
    // A decision in a context of that state. Both take its next one. rows: of kMqTable.
    DEVICE_MEMBER uint32_t decode(MqState &state, MqState &context, const MqState *rows) {
        const uint32_t mps = state & 1, qe = state >> 17, rest = a_ - qe;
        const bool lower = c_ < qe;
        const uint32_t lps = lower != (rest < qe) ? 1 : 0;  // the exchange of C.3.2
        const uint32_t interval = lower ? qe : rest;
        const int shifts = zeros_above(interval) - 16;
        c_ -= lower ? 0 : qe;
        a_ = interval << shifts;
        const MqState next = rows[mq_next_row(state, lps)];
        shift(shifts);
        if (shifts) context = state = next;  // late, since it comes from memory
        return mps ^ lps;
    }

  private:
    DEVICE_MEMBER void shift(int count) {
        while (count > left_) [[unlikely]] {
            c_ = funnel_shift_left(window_, c_, static_cast<uint32_t>(left_));
            count -= left_;
            fill();
        }
        c_ = funnel_shift_left(window_, c_, static_cast<uint32_t>(count)) & 0xFFFF;
        window_ <<= count;
        left_ -= count;
    }
    // Of an empty window. Behind 0xFF a byte has seven bits and a carry, which counts now, as in BYTEIN; or it is a
    // marker, and ones follow for ever.
    DEVICE_MEMBER void fill() {
        const bool stuffed = last_ == 0xFF;
        if (!stuffed && bytes_.is_plain()) {
            window_ = bytes_.get_plain();
            left_ = 32;
            return;
        }
        const uint32_t next = bytes_.peek();
        if (stuffed && next > 0x8F) {
            window_ = ~0u;
            left_ = 32;
            return;
        }
        if (stuffed) c_ += next >> 7;
        window_ = next << (stuffed ? 25 : 24);
        left_ = stuffed ? 7 : 8;
        last_ = next;
        bytes_.skip();
    }

    CodewordWords bytes_;
    uint32_t a_ = 0x8000, c_ = 0, window_ = 0;  // the window's first bit is the highest
    uint32_t last_ = 0;                         // byte, where that may be 0xFF
    int left_ = 0;                              // bits of the window
};

// A word's samples in columns of six rows, with those beside, above and below them: bit 6 + 6 x + 1 + y is row y of
// column x.
DEVICE uint64_t in_columns(uint32_t own, uint32_t above, uint32_t below) {
    const uint32_t even = (own << 1 & 0x1E1E1E1E) | (above >> 3 & 0x01010101) | (below << 5 & 0x20202020),
                   odd = (own >> 3 & 0x1E1E1E1E) | (above >> 7 & 0x01010101) | (below << 1 & 0x20202020);
    const uint32_t first = (even & 0x00FF00FF) | (odd & 0x00FF00FF) << 6,
                   second = (even >> 8 & 0x00FF00FF) | (odd >> 8 & 0x00FF00FF) << 6;
    const uint32_t left = (first & 0xFFFF) | second << 12, right = first >> 16 | (second >> 16) << 12;
    return static_cast<uint64_t>(left & 0xFFFFFF) << 6 | static_cast<uint64_t>(right) << 30;
}
// The last column of a word, as the one before the word behind it; the first one, as the one behind the word before.
DEVICE uint64_t column_before(uint32_t own, uint32_t above, uint32_t below) {
    return (own >> 27 & 0x1E) | above >> 31 | (below >> 23 & 0x20);
}
DEVICE uint64_t column_behind(uint32_t own, uint32_t above, uint32_t below) {
    return static_cast<uint64_t>((own << 1 & 0x1E) | (above >> 3 & 1) | (below << 5 & 0x20)) << 54;
}

// The first one of a word's samples; any if there is none.
DEVICE uint32_t first_sample(uint32_t samples) {
    samples |= 1u << 31;
    return static_cast<uint32_t>(floor_log2(samples & (0u - samples)));
}

// What lanes of a warp share: MqDecodeTables in shared memory.
struct MqTables {
    const MqState *rows;
    const uint8_t *codings;
};

// Of a lane's words: which samples are significant, which of these negative.
struct MqLaneWords {
    uint32_t *significant, *negative;
};

// kLanes: the most of a warp.
template <int kLanes>
class MqLane {
  public:
    // contexts, words: the lane's columns, in rows of `stride`. visits, planes: its own, with those of `lanes` lanes
    // side by side.
    DEVICE_MEMBER MqLane(const MqDecodeInput &p, const DecoderBlock &block, const MqTables &tables, MqState *contexts,
                         const MqLaneWords &words, int stride, MqVisit *visits, uint32_t *planes, uint32_t lanes)
        : p_(p),
          b_(block),
          tables_(tables),
          zero_codings_(512u * (block.orientation == kHH   ? 2
                                : block.orientation == kHL ? 1
                                                           : 0)),
          contexts_(contexts),
          words_(words),
          visits_(visits),
          planes_(planes),
          lanes_(lanes),
          stride_(stride),
          columns_((block.width + 7) / 8),
          stripes_((block.height + 3) / 4) {}

    // Whether the block is whole.
    DEVICE_MEMBER bool run() {
        for (int i = 0; i < columns_ * stripes_; i++) {
            words_.significant[i * stride_] = words_.negative[i * stride_] = 0;
            visit(static_cast<uint32_t>(i)) = {0, 0};
        }
        reset_contexts();
        const bool whole = b_.planes <= p_.most_planes && decode();
        write();
        return whole;
    }

  private:
    DEVICE_MEMBER bool decode() {
        const int most = coding_passes(b_.planes);
        CUDAENC_NO_UNROLL
        for (int i = 0; i < b_.segments; i++) {
            const DecoderSegment &segment = p_.coded.segments[b_.first_segment + static_cast<uint32_t>(i)];
            const int end = passes_ + static_cast<int>(segment.passes);
            if (end > most || end - 1 > segment_end(b_.style, passes_)) return false;
            const CodewordWords bytes(p_.coded.bytes, segment.at, segment.bytes);
            if (!(is_raw(b_.style, passes_) ? decode_raw(bytes, end) : decode_coded(bytes, end))) return false;
        }
        return true;
    }
    DEVICE_MEMBER bool decode_raw(const CodewordWords &bytes, int end) {
        RawReaderOf<CodewordWords> raw(bytes);
        CUDAENC_NO_UNROLL
        for (; passes_ < end; passes_++)
            if (pass_kind(passes_) == kSignificancePropagation)
                propagate(raw);
            else
                refine<true>(raw);
        return true;
    }
    DEVICE_MEMBER bool decode_coded(const CodewordWords &bytes, int end) {
        MqLaneDecoder mq(bytes);
        CUDAENC_NO_UNROLL
        while (passes_ < end) {
            const int kind = pass_kind(passes_);
            if (kind == kSignificancePropagation)
                propagate(mq);
            else if (kind == kMagnitudeRefinement)
                refine<false>(mq);
            else
                clean_up(mq);
            passes_++;
            if (kind == kCleanUp && (b_.style & kSegmentationSymbols) && !has_symbols(mq)) return false;
            if (b_.style & kReset) reset_contexts();
        }
        return true;
    }
    DEVICE_MEMBER bool has_symbols(MqLaneDecoder &mq) {  // D.5
        uint32_t symbols = 0;
        CUDAENC_NO_UNROLL
        for (int i = 0; i < 4; i++) symbols = symbols << 1 | decode(mq, kUniform);
        return symbols == 10;
    }
    DEVICE_MEMBER void reset_contexts() {
        for (int i = 0; i < kContexts; i++) contexts_[i * kLanes] = tables_.rows[mq_initial_row(i)];
    }
    DEVICE_MEMBER MqState &context(uint32_t number) { return contexts_[number * kLanes]; }
    DEVICE_MEMBER uint32_t decode(MqLaneDecoder &mq, uint32_t number) {
        MqState state = context(number);
        return mq.decode(state, context(number), tables_.rows);
    }

    // ---- Words

    DEVICE_MEMBER int plane() const { return b_.planes - 1 - (passes_ + 2) / 3; }
    DEVICE_MEMBER uint32_t &bits(uint32_t word, int plane) const {
        return planes_[(static_cast<uint32_t>(plane) * p_.most_words + word) * lanes_];
    }
    DEVICE_MEMBER MqVisit &visit(uint32_t word) const { return visits_[word * lanes_]; }
    DEVICE_MEMBER uint32_t load(const uint32_t *array, int x, int y) const {
        return x >= 0 && x < columns_ && y >= 0 && y < stripes_ ? array[(y * columns_ + x) * stride_] : 0;
    }

    // Where the scan is: the significant samples of the word and those around it.
    struct Place {
        int x, y, below_y;  // below_y: the stripe below, or `stripes_` where there is none
        uint32_t index;     // of the word
        Window above, own, below;
        MqVisit visit;
        // Samples that have a significant neighbour.
        DEVICE_MEMBER uint32_t near() const {
            const uint32_t before = with_vertical(own.left, above.left, below.left),
                           behind = with_vertical(own.right, above.right, below.right),
                           vertical = north_of(own.own, above.own) | south_of(own.own, below.own),
                           all = vertical | own.own;
            return vertical | funnel_shift_right(before, all, 28) | funnel_shift_right(all, behind, 4);
        }
        DEVICE_MEMBER static uint32_t with_vertical(uint32_t own, uint32_t above, uint32_t below) {
            return own | north_of(own, above) | south_of(own, below);
        }
    };
    // Calls body(place) for each word in the order of the scan. It sets place.own.own to what is significant then.
    // kVisits: with place.visit, which comes from global memory a word ahead.
    template <bool kVisits, class Body>
    DEVICE_MEMBER void for_each_word(const Body &body) {
        const bool causal = (b_.style & kVerticallyCausal) != 0;
        const uint32_t last = static_cast<uint32_t>(columns_ * stripes_ - 1);
        Place place{};
        MqVisit ahead{};
        if (kVisits) ahead = visit(0);
        CUDAENC_NO_UNROLL
        for (place.y = 0; place.y < stripes_; place.y++) {
            place.below_y = causal ? stripes_ : place.y + 1;  // nothing is there
            place.above = place.own = place.below = {};
            place.above.right = load(words_.significant, 0, place.y - 1);
            place.own.right = load(words_.significant, 0, place.y);
            place.below.right = load(words_.significant, 0, place.below_y);
            CUDAENC_NO_UNROLL
            for (place.x = 0; place.x < columns_; place.x++, place.index++) {
                place.visit = ahead;
                if (kVisits) ahead = visit(min_of(place.index + 1, last));
                place.above.shift(load(words_.significant, place.x + 1, place.y - 1));
                place.own.shift(load(words_.significant, place.x + 1, place.y));
                place.below.shift(load(words_.significant, place.x + 1, place.below_y));
                body(place);
            }
        }
    }
    DEVICE_MEMBER uint32_t valid(const Place &place) const {
        return samples_within(b_.width - 8 * place.x, b_.height - 4 * place.y);
    }

    // A member, and how it is coded: its number, that of the sample before and above it in columns of six rows; whether
    // its column is in run-length mode (D.3.4).
    struct Member {
        uint32_t i, at, coding, is_run;
    };
    // The first one; any sample if there is none. fours: columns of four members.
    template <bool kCleanUp>
    DEVICE_MEMBER Member first_of(uint32_t members, uint32_t fours, uint64_t significant) const {
        const uint32_t i = opaque(first_sample(members)), at = opaque(i + (i >> 2) * 2),
                       around = static_cast<uint32_t>(significant >> at);
        const uint32_t coding = tables_.codings[zero_codings_ + zero_coding_index(around)];
        if constexpr (!kCleanUp) return {i, at, coding, 0};
        const uint32_t is_run = opaque(around & 0x3FFFF ? 0 : fours >> i & 1);
        return {i, at, is_run ? kRunLength << 1 : coding, is_run};
    }

    // What a lane decodes next, before the one above it. Lanes of a warp have different ones, so that all pass through
    // the same code.
    enum Next { kZero, kSign, kSecondPlaceBit, kFirstPlaceBit };

    // Decodes which of a word's samples become significant, and their signs, where the scan meets a member (D.3.1). In
    // run-length mode a column of four members has one decision if none does, and else two that tell the first one.
    // uncoded: samples that may become members. Returns those that were. While a decision is on its way, those that may
    // follow it are looked up.
    template <bool kCleanUp>
    DEVICE_MEMBER uint32_t find_significant(MqLaneDecoder &mq, Place &place, uint32_t members, uint32_t uncoded) {
        const Window &above = place.above, &own = place.own, &below = place.below;
        uint64_t significant = in_columns(own.own, above.own, below.own) |
                               column_before(own.left, above.left, below.left) |
                               column_behind(own.right, above.right, below.right);
        uint32_t signs = words_.negative[place.index * static_cast<uint32_t>(stride_)];
        uint64_t negative = negative_around(place, signs) << 1;
        const uint32_t pairs = members & members >> 1, fours = opaque(pairs & pairs >> 2 & kFirst);
        Member now = first_of<kCleanUp>(members, fours, significant);
        Next next = kZero;
        uint32_t visited = members, added = 0;
        MqState state = opaque(context(now.coding >> 1));
        while (members) {
            const uint32_t coding = now.coding, is_sign = next == kSign ? 1 : 0;
            // Around a column in run-length mode nothing is significant, so the sign is coded alike in all its rows.
            const uint32_t of_sign =
                tables_.codings[kSignCodings + sign_coding_index(static_cast<uint32_t>(significant >> now.at),
                                                                 static_cast<uint32_t>(negative >> now.at))];
            uint32_t behind = members & ~((now.is_run ? 15u : 1u) << now.i);  // the members, if this one is done
            added |= is_sign << now.i;
            significant |= static_cast<uint64_t>(is_sign << 7) << now.at;
            if (!kCleanUp && is_sign) {
                const uint32_t reached = reached_from(1u << now.i) & uncoded;
                behind |= reached;
                visited |= reached;
            }
            behind = opaque(behind);  // keeps it, where the compiler would compute it anew
            const Member following = first_of<kCleanUp>(behind, fours, significant);
            const uint32_t decision = mq.decode(state, context(coding >> 1), tables_.rows) ^ (coding & 1),
                           of_own_sign = decision & is_sign;
            signs |= of_own_sign << now.i;
            negative |= static_cast<uint64_t>(of_own_sign << 8) << now.at;
            const bool is_place = kCleanUp && next > kSign, is_done = is_sign || !(decision || is_place);
            const uint32_t step = is_place ? decision << (next == kFirstPlaceBit ? 1 : 0) : 0;
            next = is_done ? kZero : static_cast<Next>(is_place ? next - 1 : now.is_run ? kFirstPlaceBit : kSign);
            members = is_done ? behind : members & ~0u << (now.i + step);
            now.i = is_done ? following.i : now.i + step;
            now.at = is_done ? following.at : now.at + step;
            now.coding = is_done ? following.coding : kCleanUp && next > kSign ? kUniform << 1 : of_sign;
            now.is_run = is_done ? following.is_run : 0;
            state = opaque(context(now.coding >> 1));  // on its way while the next turn begins
        }
        keep(place, added, signs);
        return visited;
    }
    // The same of a raw segment.
    template <bool>
    DEVICE_MEMBER uint32_t find_significant(RawReaderOf<CodewordWords> &raw, Place &place, uint32_t members,
                                            uint32_t uncoded) {
        uint32_t visited = 0, added = 0, signs = words_.negative[place.index * static_cast<uint32_t>(stride_)];
        while (members) {
            const uint32_t i = first_sample(members), bit = 1u << i;
            visited |= bit;
            members ^= bit;
            if (!raw.get()) continue;
            added |= bit;
            signs |= raw.get() << i;
            members |= reached_from(bit) & uncoded;
        }
        keep(place, added, signs);
        return visited;
    }
    DEVICE_MEMBER void keep(Place &place, uint32_t added, uint32_t signs) {
        if (!added) return;
        place.own.own |= added;
        words_.significant[place.index * static_cast<uint32_t>(stride_)] = place.own.own;
        words_.negative[place.index * static_cast<uint32_t>(stride_)] = signs;
    }
    // The neighbours of a sample that the scan has yet to reach, in its word.
    DEVICE_MEMBER static uint32_t reached_from(uint32_t bit) {
        const uint32_t below = (bit & ~kLast) << 1, above = (bit & ~kFirst) >> 1;
        return below | (above | bit | below) << 4;
    }
    DEVICE_MEMBER uint64_t negative_around(const Place &place, uint32_t own) const {
        const auto at = [&](int x, int y) { return load(words_.negative, x, y); };
        return in_columns(own, at(place.x, place.y - 1), at(place.x, place.below_y)) |
               column_before(at(place.x - 1, place.y), 0, 0) | column_behind(at(place.x + 1, place.y), 0, 0);
    }

    // D.3.1
    template <class Source>
    DEVICE_MEMBER void propagate(Source &source) {
        for_each_word<false>([&](Place &place) {
            const uint32_t uncoded = valid(place) & ~place.own.own, members = uncoded & place.near();
            uint32_t visited = 0;
            if (members) visited = find_significant<false>(source, place, members, uncoded);
            visit(place.index).visited = visited;
        });
    }

    // D.3.3
    template <bool kRaw, class Source>
    DEVICE_MEMBER void refine(Source &source) {
        for_each_word<true>([&](const Place &place) {
            const uint32_t visited = place.visit.visited, again = place.visit.refined;
            const uint32_t refined = place.own.own & ~visited;
            if (!refined) return;
            const uint32_t near = place.near() & ~again;
            // The two that follow are looked up while a decision is on its way.
            const auto context_of = [&](uint32_t i) { return kRefinement + (near >> i & 1) + (again >> i & 1) * 2; };
            uint32_t left = refined, ones = 0;
            const auto take = [&] {
                const uint32_t i = first_sample(left);
                left &= left - 1;
                return i;
            };
            uint32_t i = take(), number = context_of(i);
            MqState state = opaque(context(number));
            uint32_t following = take(), number_of_it = context_of(following);
            CUDAENC_NO_UNROLL
            for (int count = popcount(refined); count > 0; count--) {
                const MqState ahead = kRaw ? 0 : opaque(context(number_of_it));
                const uint32_t last = take(), number_of_last = context_of(last);
                uint32_t decision;
                if constexpr (kRaw)
                    decision = source.get();
                else
                    decision = source.decode(state, context(number), tables_.rows);
                ones |= decision << i;
                if (number_of_it != number) state = ahead;
                i = following;
                number = number_of_it;
                following = last;
                number_of_it = number_of_last;
            }
            visit(place.index) = {visited | ones, refined};
        });
    }

    // D.3.4. It completes the bit-plane.
    DEVICE_MEMBER void clean_up(MqLaneDecoder &mq) {
        const int plane = this->plane();
        for_each_word<true>([&](Place &place) {
            const uint32_t visited = place.visit.visited, refined = place.visit.refined;
            const uint32_t members = valid(place) & ~(place.own.own | visited);
            if (members) find_significant<true>(mq, place, members, 0);
            bits(place.index, plane) = (place.own.own & ~refined) | (visited & refined);
        });
    }

    // ---- Coefficients

    DEVICE_MEMBER void write() {
        const int last = b_.planes - 1 - (passes_ + 1) / 3;  // of the bit-planes that were decoded
        const int kind = passes_ ? pass_kind(passes_ - 1) : kCleanUp;
        const int complete = kind == kCleanUp ? last : last + 1;
        uint32_t index = 0;
        CUDAENC_NO_UNROLL
        for (int y = 0; y < stripes_; y++) CUDAENC_NO_UNROLL
        for (int x = 0; x < columns_; x++, index++) {
            uint32_t word[32];  // by bits, then by samples
            const uint32_t at = index * static_cast<uint32_t>(stride_), significant = words_.significant[at];
            const uint32_t ones = visit(index).visited & significant;  // of a bit-plane without a clean-up pass
            // The significance propagation alone knows of its own samples only.
            const uint32_t known = kind == kSignificancePropagation ? ones : significant;
            CUDAENC_UNROLL
            for (int q = 0; q < 31; q++) {
                const int plane = q - 1;
                word[q] = significant && plane >= complete && plane < b_.planes ? bits(index, plane) : 0;
                word[q] |= plane == last && last != complete ? ones : 0;
                word[q] |= q == last ? known : q == last + 1 ? significant & ~known : 0;
            }
            word[31] = words_.negative[at];
            transpose_stage<16>(word, 0x0000FFFFu);
            transpose_stage<8>(word, 0x00FF00FFu);
            transpose_stage<4>(word, 0x0F0F0F0Fu);
            transpose_stage<2>(word, 0x33333333u);
            transpose_stage<1>(word, 0x55555555u);
            store(word, 8 * x, 4 * y);
        }
    }
    DEVICE_MEMBER void store(const uint32_t (&samples)[32], int x0, int y0) const {
        uint32_t *const to = p_.coded.coefficients + b_.coefficients + static_cast<uint64_t>(y0) * b_.stride + x0;
        const int columns = b_.width - x0, rows = b_.height - y0;
        const bool by_fours = columns >= 8 && !(reinterpret_cast<uintptr_t>(to) % 16) && b_.stride % 4 == 0;
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) {
            if (y >= rows) return;
            uint32_t *const row = to + static_cast<uint64_t>(y) * b_.stride;
            const auto sample = [&](int x) { return samples[4 * x + y]; };
            if (by_fours) {
                auto *const fours = reinterpret_cast<Uint4 *>(row);
                fours[0] = {sample(0), sample(1), sample(2), sample(3)};
                fours[1] = {sample(4), sample(5), sample(6), sample(7)};
                continue;
            }
            CUDAENC_UNROLL
            for (int x = 0; x < 8; x++)
                if (x < columns) row[x] = sample(x);
        }
    }

    const MqDecodeInput &p_;
    const DecoderBlock b_;
    const MqTables tables_;
    const uint32_t zero_codings_;  // where those of the sub-band begin
    MqState *const contexts_;
    const MqLaneWords words_;
    MqVisit *const visits_;
    uint32_t *const planes_;
    const uint32_t lanes_;         // that have theirs side by side
    const int stride_;             // of words_
    const int columns_, stripes_;  // of words
    int passes_ = 0;               // that were decoded
};

// The blocks of a warp: `lanes` of them from the first one on.
struct WarpBlocks {
    uint32_t first, lanes;
    DEVICE_MEMBER WarpBlocks(const LaneShares &shares, uint32_t warp) : first(0), lanes(0) {
        CUDAENC_UNROLL
        for (uint32_t i = 0; i < kLaneShares; i++) {
            const uint32_t count = shares.blocks[i], warps = (count + (1u << i) - 1) >> i;
            if (lanes) continue;
            if (warp < warps) {
                lanes = min_of(count - (warp << i), 1u << i);
                first += warp << i;
            } else {
                warp -= warps;
                first += count;
            }
        }
    }
};

// kLanes: the most of a warp. kRoom: words of all lanes, in rows of `stride`.
template <int kLanes, uint32_t kRoom>
DEVICE void decode_blocks(const MqDecodeInput &p, int stride) {
    SHARED(uint32_t, tables_words, kMqDecodeTableWords);
    SHARED(MqState, contexts, kContexts * kLanes);
    SHARED(uint32_t, significant, kRoom);
    SHARED(uint32_t, negative, kRoom);
    const uint32_t lane = static_cast<uint32_t>(thread_x());
    const WarpBlocks blocks(*p.coded.lanes, static_cast<uint32_t>(block_x()));
    if (!blocks.lanes) return;
    for (uint32_t i = lane; i < kMqDecodeTableWords; i += kMqDecodeThreads)
        tables_words[i] = load_readonly(reinterpret_cast<const uint32_t *>(p.tables) + i);
    block_sync();
    if (lane >= blocks.lanes) return;
    const MqTables tables{opaque_shared<const MqState>(&tables_words[0]),
                          opaque_shared<const uint8_t>(reinterpret_cast<const uint8_t *>(&tables_words[kMqRows]))};
    MqLane<kLanes> block(p, p.coded.blocks[blocks.first + lane], tables, opaque_shared<MqState>(&contexts[lane]),
                         {opaque_shared<uint32_t>(&significant[lane]), opaque_shared<uint32_t>(&negative[lane])},
                         stride, p.visits + blocks.first * static_cast<uint64_t>(p.most_words) + lane,
                         p.planes + blocks.first * mq_planes_words(p.most_words, p.most_planes) + lane, blocks.lanes);
    if (!block.run()) atomic_add(p.coded.damaged, 1u);
}

KERNEL_BLOCKS(kMqDecodeThreads, 16, j2k_t1_mq_decode, MqDecodeParams) {
    decode_blocks<32, kMqDecodeRoom>(p, mq_decode_lanes(kMqDecodeWords));
}

KERNEL_BLOCKS(kMqDecodeThreads, 12, j2k_t1_mq_decode_large, MqDecodeLargeParams) {
    decode_blocks<16, kMqDecodeLargeRoom>(p, mq_decode_lanes(p.most_words));
}

}  // namespace cudaenc::j2k
