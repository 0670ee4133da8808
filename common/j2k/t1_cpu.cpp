// SPDX-License-Identifier: LGPL-2.1-or-later
#include "t1_cpu.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../simd.h"
#include "context_planes.h"
#include "mq.h"
#include "quantise.h"
#include "rate.h"
#include "raw.h"

namespace cudaenc::j2k {

namespace {

// ---- Context modelling

using Word = uint64_t;
constexpr int kColumns = 16;  // of a stripe in a word: bit 4 x + y is row y of column x
constexpr int kStripeRows = 4;
constexpr Word kFirst = kFirstRows<Word>, kLast = kLastRows<Word>;

int words_of(int width) { return (width + kColumns - 1) / kColumns; }
int stripes_of(int height) { return (height + kStripeRows - 1) / kStripeRows; }
// Words of a block with a border of one word all around.
size_t bordered_words(int width, int height) {
    return static_cast<size_t>(words_of(width) + 2) * static_cast<size_t>(stripes_of(height) + 2);
}

// What of a block is kept in words. The magnitude bit-planes follow the signs, the highest first.
enum Layer { kSignificant, kValid, kVisited, kRefined, kAhead, kNegative, kLayers };

// A block's words, a layer after the other; in each a word's neighbours are 1 and `row` away.
struct Words {
    Word *memory;
    size_t count;  // of a layer
    ptrdiff_t row;
    int across, stripes;
    Word *layer(int i) const { return memory + static_cast<size_t>(i) * count; }
    // Calls body(index) for all words, as the scan visits them.
    template <class Body>
    void scan(const Body &body) const {
        for (ptrdiff_t stripe = 1; stripe <= stripes; stripe++)
            for (ptrdiff_t i = stripe * row + 1; i <= stripe * row + across; i++) body(i);
    }
};

Word from_west(const Word *w) { return w[0] << 4 | w[-1] >> 60; }
Word from_east(const Word *w) { return w[0] >> 4 | w[1] << 60; }
Word from_north(Word here, Word above) { return ((here << 1) & ~kFirst) | ((above >> 3) & kFirst); }
Word from_south(Word here, Word below) { return ((here >> 1) & ~kLast) | ((below << 3) & kLast); }

Around<Word> around(const Word *here, ptrdiff_t row) {
    const Word *above = here - row, *below = here + row;
    const Word w = from_west(here), e = from_east(here), nw = from_west(above), ne = from_east(above),
               sw = from_west(below), se = from_east(below);
    return {w,
            e,
            from_north(*here, *above),
            from_south(*here, *below),
            from_north(w, nw),
            from_north(e, ne),
            from_south(w, sw),
            from_south(e, se)};
}
// Of samples that become significant in this word, what the scan reaches after them. Words that it visited earlier
// tell of theirs themselves.
Around<Word> around_within(Word word) {
    return {word << 4, 0, (word << 1) & ~kFirst, 0, (word << 5) & ~kFirst, 0, word << 3, 0};
}

// Of significance, as contexts of the style see it.
Around<Word> significant_around(const Words &words, ptrdiff_t i, uint32_t style) {
    const Around<Word> all = around(words.layer(kSignificant) + i, words.row);
    return style & kVerticallyCausal ? causal(all) : all;
}

// Byte of sample i, of what planes_to_bytes() made.
uint8_t byte_of(const Word (&word)[8], int i) { return static_cast<uint8_t>(word[i & 7] >> (i & 56)); }

template <class Body>
void for_each_bit(Word word, const Body &body) {
    for (; word; word &= word - 1) body(std::countr_zero(word));
}

int bit_of(Word word, int i) { return static_cast<int>(word >> i & 1); }

// Pairs of zero coding and of signs, for members in scan order; `runs` in run-length mode, of which `ended` end.
uint8_t *put_significance(uint8_t *at, Word members, Word becoming, Word runs, Word ended, const ContextBits<Word> &c,
                          const SignBits<Word> &s) {
    if (!(members | becoming)) {
        const int count = std::popcount(runs);
        std::memset(at, kRunLength << 1, static_cast<size_t>(count));
        return at + count;
    }
    Word coded[8] = {c.bit[0], c.bit[1], c.bit[2], c.bit[3], s.decision, s.bit[0], s.bit[1], s.bit[2]};
    planes_to_bytes(coded);
    // Both pairs are written, and what of them does not count is written over.
    const auto put = [&](int i) {
        const int byte = byte_of(coded, i), significant = bit_of(becoming, i);
        *at = static_cast<uint8_t>((byte & 15) << 1 | significant);
        at += bit_of(members, i);
        *at = static_cast<uint8_t>((kSignCoding << 1) + (byte >> 4));
        at += significant;
    };
    if (!runs)
        for_each_bit(members, put);
    else
        for_each_bit(members | becoming | runs, [&](int i) {
            if (bit_of(runs, i)) {
                const int ends = bit_of(ended, i);
                *at++ = static_cast<uint8_t>(kRunLength << 1 | ends);
                if (ends) {
                    const int y = std::countr_zero(becoming >> i);
                    *at++ = static_cast<uint8_t>(kUniform << 1 | y >> 1);
                    *at++ = static_cast<uint8_t>(kUniform << 1 | (y & 1));
                }
            }
            put(i);
        });
    return at;
}

// Bits of a raw pass, a byte each: of members, and the signs of those that become significant.
uint8_t *put_raw(uint8_t *at, Word members, Word bits, Word becoming, Word negative) {
    for_each_bit(members, [&](int i) {
        *at++ = static_cast<uint8_t>(bit_of(bits, i));
        *at = static_cast<uint8_t>(bit_of(negative, i));
        at += bit_of(becoming, i);
    });
    return at;
}

// Adds a word's samples to counts. near: those of the second class.
void count(DecisionCounts &counts, Word members, Word becoming, Word near) {
    const auto add = [](uint32_t &sum, Word word) { sum += static_cast<uint32_t>(std::popcount(word)); };
    add(counts.all[0], members & ~near);
    add(counts.ones[0], becoming & ~near);
    add(counts.all[1], members & near);
    add(counts.ones[1], becoming & near);
}

uint8_t *significance_propagation(const Words &words, const Word *bits, int orientation, uint32_t style, bool raw,
                                  uint8_t *at) {
    Word *significant = words.layer(kSignificant), *visited = words.layer(kVisited);
    const Word *negative = words.layer(kNegative), *valid = words.layer(kValid);
    words.scan([&](ptrdiff_t i) {
        const Around<Word> before = significant_around(words, i, style);
        const Word candidates = ~significant[i] & valid[i], near = before.any();
        Word members = candidates & near;
        visited[i] = 0;
        if (!members) return;
        Around<Word> in_pass;
        Word becoming;
        for (Word more = members;; members = more) {
            becoming = members & bits[i];
            in_pass = around_within(becoming);
            more = candidates & (near | reached_in_pass(in_pass));
            if (more == members) break;
        }
        visited[i] = members;
        significant[i] |= becoming;
        if (raw) {
            at = put_raw(at, members, bits[i], becoming, negative[i]);
            return;
        }
        const Around<Word> now = when_visited(before, in_pass);
        const SignBits<Word> sign = sign_coding_planes(now, negative[i], around(negative + i, words.row));
        at = put_significance(at, members, becoming, 0, 0, zero_coding_planes(now, orientation), sign);
    });
    return at;
}

uint8_t *magnitude_refinement(const Words &words, const Word *bits, uint32_t style, bool raw, uint8_t *at) {
    const Word *significant = words.layer(kSignificant), *visited = words.layer(kVisited);
    Word *refined = words.layer(kRefined);
    words.scan([&](ptrdiff_t i) {
        const Word members = significant[i] & ~visited[i];
        if (!members) return;
        if (raw) {
            at = put_raw(at, members, bits[i], 0, 0);
            refined[i] |= members;
            return;
        }
        const ContextBits<Word> c = refinement_planes(significant_around(words, i, style).any(), refined[i]);
        refined[i] |= members;
        Word coded[8] = {bits[i], c.bit[0], c.bit[1], c.bit[2], c.bit[3], c.bit[4], 0, 0};
        planes_to_bytes(coded);
        for_each_bit(members, [&](int k) { *at++ = byte_of(coded, k); });
    });
    return at;
}

uint8_t *clean_up(const Words &words, const Word *bits, int orientation, uint32_t style, uint8_t *at) {
    Word *significant = words.layer(kSignificant);
    const Word *negative = words.layer(kNegative), *valid = words.layer(kValid), *visited = words.layer(kVisited);
    words.scan([&](ptrdiff_t i) {
        const Word members = valid[i] & ~(significant[i] | visited[i]);
        if (!members) return;
        const Word becoming = members & bits[i];
        const Around<Word> before = significant_around(words, i, style), in_pass = around_within(becoming),
                           now = when_visited(before, in_pass);
        significant[i] |= becoming;
        const SignBits<Word> sign = sign_coding_planes(now, negative[i], around(negative + i, words.row));
        const RunLength<Word> runs = run_length(members, becoming, before, in_pass, now);
        at = put_significance(at, runs.members, becoming, runs.columns, runs.ended,
                              zero_coding_planes(now, orientation), sign);
    });
    if (style & kSegmentationSymbols)
        for (int i = 0; i < 4; i++) *at++ = static_cast<uint8_t>(kUniform << 1 | ((i & 1) ^ 1));
    return at;
}

Word little_endian(const uint8_t (&bytes)[8]) {
    Word word = 0;
    for (int i = 0; i < 8; i++) word |= Word{bytes[i]} << 8 * i;
    return word;
}

// Coefficients to bit-planes, the signs being one more above them; and which samples there are.
void slice(const Words &words, const uint32_t *coefficients, uint32_t stride, int width, int height, int planes) {
    for (int y = 0; y < height; y += kStripeRows)
        for (int x = 0; x < width; x += kColumns) {
            const int rows = std::min(kStripeRows, height - y), columns = std::min(kColumns, width - x);
            uint32_t tile[kStripeRows][kColumns] = {};
            for (int r = 0; r < rows; r++)
                std::memcpy(tile[r], coefficients + static_cast<size_t>(y + r) * stride + x,
                            static_cast<size_t>(columns) * sizeof(uint32_t));
            for (auto &row : tile)
                for (uint32_t &c : row) c = (c & ~kSignBit) | c >> 31 << planes;
            const ptrdiff_t at = (y / kStripeRows + 1) * words.row + x / kColumns + 1;
            const Word all_rows = kFirst * ((1u << rows) - 1);
            words.layer(kValid)[at] = columns == kColumns ? all_rows : all_rows & ((Word{1} << 4 * columns) - 1);
            for (int plane = 0; plane <= planes; plane += 8) {
                // Sample 8 g + j is byte g of word j.
                uint8_t bytes[8][8];
                for (int r = 0; r < kStripeRows; r++)
                    for (int g = 0; g < 8; g++) {
                        bytes[r][g] = static_cast<uint8_t>(tile[r][2 * g] >> plane);
                        bytes[r + kStripeRows][g] = static_cast<uint8_t>(tile[r][2 * g + 1] >> plane);
                    }
                Word word[8];
                for (int j = 0; j < 8; j++) word[j] = little_endian(bytes[j]);
                planes_to_bytes(word);
                for (int i = plane; i <= std::min(plane + 7, planes); i++)
                    words.layer(kNegative + planes - i)[at] = word[i - plane];
            }
        }
}

// What is left to code once significance propagation has been through bit-plane 0.
NextSamples<> count_last_passes(const Words &words, const Word *bits) {
    const Word *significant = words.layer(kSignificant), *valid = words.layer(kValid), *visited = words.layer(kVisited);
    Word *ahead = words.layer(kAhead);  // significance as the clean-up would find it
    std::memcpy(ahead, significant, words.count * sizeof(Word));
    NextSamples<> counts{};
    words.scan([&](ptrdiff_t i) {
        counts.refined += static_cast<uint32_t>(std::popcount(significant[i] & ~visited[i]));
        const Word members = valid[i] & ~(significant[i] | visited[i]);
        if (!members) return;
        const Word becoming = members & bits[i];
        count(counts.decisions, members, becoming,
              around(ahead + i, words.row).any() | reached_in_pass(around_within(becoming)));
        ahead[i] |= becoming;
    });
    return counts;
}

// Of a pass: how many decisions but signs it has, of which `ones` are 1, and what it takes off the squared error.
struct PassWorth {
    bool refinement;
    int ones, all, eighths;
    int32_t gain(int plane, bool reversible) const {
        const GainRounding rounding = gain_rounding(plane, reversible);
        return refinement ? gain_of_refined(rounding, ones, all - ones, eighths)
                          : gain_of_found(rounding, ones, eighths);
    }
};
// Before a clean-up, after other passes.
PassWorth worth_of_pass(const Words &words, int kind, const Word *bits, int plane) {
    const Word *significant = words.layer(kSignificant), *valid = words.layer(kValid), *visited = words.layer(kVisited);
    const int below = min_of(plane, kGainPlanes);
    int ones = 0, all = 0, eighths = 0;
    words.scan([&](ptrdiff_t i) {
        const Word members = kind == kSignificancePropagation ? visited[i]
                             : kind == kMagnitudeRefinement   ? significant[i] & ~visited[i]
                                                              : valid[i] & ~(significant[i] | visited[i]);
        const Word one = members & bits[i], zero = kind == kMagnitudeRefinement ? members & ~bits[i] : 0;
        all += std::popcount(members);
        if (!(one | zero)) return;
        ones += std::popcount(one);
        for (int k = 0; k < below; k++) {
            const Word next = bits[i + (k + 1) * static_cast<ptrdiff_t>(words.count)];
            eighths += (std::popcount(one & next) - std::popcount(zero & next)) * (4 >> k);
        }
    });
    return {kind == kMagnitudeRefinement, ones, all, eighths};
}

// Whether what comes next is not worth its bits: significance propagation, by what it reaches from samples that are
// significant before.
bool stops_at_propagation(const Words &words, const Word *bits, int plane, bool reversible, const StopRule &stop) {
    const Word *significant = words.layer(kSignificant), *valid = words.layer(kValid);
    const int below = min_of(plane, kGainPlanes);
    DecisionCounts counts{};
    int eighths = 0;
    words.scan([&](ptrdiff_t i) {
        const Around<Word> before = around(significant + i, words.row);
        const Word members = ~significant[i] & valid[i] & before.any(), becoming = members & bits[i];
        if (!members) return;
        count(counts, members, becoming, before.nearest());
        for (int k = 0; k < below; k++)
            eighths += std::popcount(becoming & bits[i + (k + 1) * static_cast<ptrdiff_t>(words.count)]) * (4 >> k);
    });
    const int32_t gain = gain_of_found(gain_rounding(plane, reversible), static_cast<int>(counts.found()), eighths);
    return stop.stops(plane, gain, NextSamples<>{0, counts});
}
// Refinement and clean-up.
bool stops_at_refinement(const Words &words, const Word *bits, int plane, bool reversible, const StopRule &stop) {
    int32_t gain = 0;
    for (int kind : {kMagnitudeRefinement, kCleanUp})
        gain += worth_of_pass(words, kind, bits, plane).gain(plane, reversible);
    return stop.stops(plane, gain, count_last_passes(words, bits));
}

// The passes that are coded; returns how many. results.bytes[i] becomes the number of pairs up to the end of pass i.
CUDAENC_CLONES int model_passes(const Words &words, const uint32_t *coefficients, const CodeBlock &block, int planes,
                                uint32_t style, uint8_t *pairs, const PassResults &results, const StopRule &stop) {
    if (stop.leaves(0, planes - 1)) return 0;
    slice(words, coefficients, block.stride, block.width, block.height, planes);
    uint8_t *at = pairs;
    const int passes = coding_passes(planes), without_last = max_of(passes - kLastPasses, 0),
              certain = stop.certain_passes(planes);
    for (int pass = 0; pass < passes; pass++) {
        const Word *bits = words.layer(kNegative + 1 + (pass + 2) / 3);
        const bool raw = is_raw(style, pass);
        if (pass == without_last && block.lossy && !worth_coding(count_last_passes(words, bits))) return pass;
        const int kind = pass_kind(pass), plane = planes - 1 - (pass + 2) / 3;
        const auto measure = [&] {
            if (results.gains && pass >= certain)
                results.gains[pass] = worth_of_pass(words, kind, bits, plane).gain(plane, block.reversible);
        };
        const auto stops = [&] {
            return kind == kSignificancePropagation ? stops_at_propagation(words, bits, plane, block.reversible, stop)
                                                    : stops_at_refinement(words, bits, plane, block.reversible, stop);
        };
        if (stop.asks(pass, plane) && (stop.leaves(pass, plane) || stops())) return pass;
        if (kind == kCleanUp) measure();
        if (kind == kSignificancePropagation)
            at = significance_propagation(words, bits, block.orientation, style, raw, at);
        else if (kind == kMagnitudeRefinement)
            at = magnitude_refinement(words, bits, style, raw, at);
        else
            at = clean_up(words, bits, block.orientation, style, at);
        if (kind != kCleanUp) measure();
        results.bytes[pass] = static_cast<uint32_t>(at - pairs);
    }
    return passes;
}

// A look at a block; returns how many steps.
CUDAENC_CLONES int look_at(const Words &words, const uint32_t *coefficients, const CodeBlock &block, int planes,
                           const LookRule &rule, LookStep *steps) {
    slice(words, coefficients, block.stride, block.width, block.height, planes);
    const Word *valid = words.layer(kValid), *negative = words.layer(kNegative);
    Word *significant = words.layer(kSignificant), *visited = words.layer(kVisited), *found = words.layer(kAhead);
    const auto count = [](Word all, Word ones) {
        return static_cast<uint32_t>(std::popcount(ones) | std::popcount(all) << 16);
    };
    const auto add = [](LookStep &sum, const LookStep &s) {
        for (int k = 0; k < 3; k++) sum.decisions[k] += s.decisions[k];
        for (int k = 0; k < 2; k++) sum.signs[k] += s.signs[k];
    };
    int step = 0;
    uint32_t looked_at = 0;
    for (int plane = planes - 1; plane >= 0; plane--) {
        const Word *bits = words.layer(kNegative + planes - plane);
        words.scan([&](ptrdiff_t i) { found[i] = valid[i] & ~significant[i] & bits[i]; });
        LookStep propagation{}, rest{};
        words.scan([&](ptrdiff_t i) {
            const Word left = valid[i] & ~significant[i];
            const LookPlane<Word> p =
                look_at_plane(left, around(significant + i, words.row), around(found + i, words.row), negative[i],
                              around(negative + i, words.row));
            visited[i] = p.reached;
            add(propagation, count_step(p, true, p.reached, found[i], count));
            add(rest, count_step(p, false, left & ~p.reached, found[i], count));
        });
        const PassWorth refined = worth_of_pass(words, kMagnitudeRefinement, bits, plane);
        propagation.eighths = 3 * worth_of_pass(words, kSignificancePropagation, bits, plane).eighths;
        rest.refined = static_cast<uint32_t>(refined.ones | refined.all << 16);
        rest.eighths = refined.eighths + 3 * worth_of_pass(words, kCleanUp, bits, plane).eighths;
        if (step) steps[step++] = propagation;
        steps[step++] = rest;
        looked_at += static_cast<uint32_t>(refined.all) + kLookBits * (propagation.found() + rest.found());
        if (rule.ends(step, looked_at)) break;
        words.scan([&](ptrdiff_t i) { significant[i] |= found[i]; });
    }
    return step;
}

// Pairs as the kernels count them, which fill up passes behind which there may be a cut. ends: pairs up to theirs.
uint32_t pairs_filled_up(const uint32_t *ends, int passes, int certain) {
    uint32_t pairs = 0;
    for (int pass = 0; pass < passes; pass++) {
        pairs += ends[pass] - (pass ? ends[pass - 1] : 0);
        if (pass >= certain - 1) pairs = (pairs + kPassAlignment - 1) / kPassAlignment * kPassAlignment;
    }
    return pairs;
}

// ---- MQ coding, as MqEncoder::encode() does, with less to do for each decision

// A context's state: where the transitions of both decisions are, in bytes from the table's begin.
struct ContextState {
    uint16_t transition[2];
};
// What a decision does in a state.
struct Transition {
    uint32_t qe;            // Qe << 16, as A is kept here
    uint32_t upper;         // all ones for the MPS, which takes the upper sub-interval unless that is the smaller one
    ContextState after[2];  // with renormalisation, and without
};
struct TransitionTable {
    Transition row[kMqRows][2];  // [row of MqTable][decision]
};
constexpr ContextState context_state(uint32_t row) {
    const size_t first = row * sizeof(Transition[2]);
    return {{static_cast<uint16_t>(first), static_cast<uint16_t>(first + sizeof(Transition))}};
}
constexpr TransitionTable make_transition_table() {
    TransitionTable table{};
    for (uint32_t row = 0; row < kMqRows; row++)
        for (uint32_t decision = 0; decision < 2; decision++) {
            const MqState state = kMqTable.row[row];
            const uint32_t lps = (decision ^ state) & 1;
            table.row[row][decision] = {
                state >> 17 << 16, lps - 1, {context_state(mq_next_row(state, lps)), context_state(row)}};
        }
    return table;
}
constexpr TransitionTable kTransitions = make_transition_table();

// C as MqEncoder has it, and above it a bit that shifts along: once it reaches kByteDue, a byte is due.
constexpr int kByteDue = 48;
uint64_t mark(const MqEncoder &mq) { return mq.c | uint64_t{1} << (kByteDue - mq.ct); }

// A block's codeword in the making, from the pairs that it codes, which it never overtakes. They may begin behind it.
class Codeword {
  public:
    void begin(uint8_t *out, const uint8_t *pairs, const PassResults &results, int pass_count, uint32_t style) {
        out_ = out;
        pairs_ = pairs;
        passes_ = results.bytes;
        tails_ = results.tails;
        pass_count_ = pass_count;
        style_ = style;
        at_ = 0;
        pass_ = 0;
        count_ = passes_[pass_count - 1];
        bytes_ = 0;
        begin_segment();
        reset_contexts();
    }

    // Pairs until there is something else to do, which reach() does.
    uint32_t left() const {
        const uint32_t granule = style_ ? 1 : kPassGranule;
        const uint32_t end = (passes_[pass_] + granule - 1) / granule * granule;
        return std::min(end, count_) - at_;
    }
    // Measures passes that end here, ends segments and codes raw ones; true when the last pair was coded.
    bool reach() {
        if (!style_ && at_ == count_) return true;
        while (pass_ < pass_count_ && passes_[pass_] <= at_) {
            measure_pass();
            end_pass();
            if (first_ < pass_) continue;
            while (pass_ < pass_count_ && is_raw(style_, pass_)) code_raw_segment();
            begin_segment();
        }
        return pass_ == pass_count_;
    }
    // Returns the codeword's bytes.
    uint32_t finish() {
        while (pass_ < pass_count_) {
            measure_pass();
            end_pass();
        }
        return bytes_;
    }

    friend void encode(Codeword &, uint32_t);
    friend void encode(Codeword &, Codeword &, uint32_t);

  private:
    // What the loops of encode() keep in registers.
    struct Registers {
        Codeword &word;
        const uint8_t *next;
        uint32_t a;
        uint64_t c;
        void encode() {
            const uint32_t pair = *next++;
            const char *const table = reinterpret_cast<const char *>(kTransitions.row);
            const auto *t = reinterpret_cast<const Transition *>(table + word.transitions_[pair]);
            const uint32_t rest = a - t->qe;
            // All ones for the upper sub-interval. No choice here is a branch: none could be predicted.
            const uint32_t upper = (0 - static_cast<uint32_t>(rest < t->qe)) ^ t->upper;
            c += (t->qe & upper) >> 16;
            a = t->qe ^ ((rest ^ t->qe) & upper);
            word.set(pair >> 1, t->after[a >> 31]);
            const int shift = __builtin_clz(a);
            a <<= shift;
            c <<= shift;
            if (c >= uint64_t{1} << kByteDue) [[unlikely]]
                c = word.bytes_out(c);
        }
    };

    void begin_segment() {
        first_ = pass_;
        from_ = at_;
        mq_ = MqEncoder(out_ + bytes_);
        a_ = mq_.a << 16;
        c_ = mark(mq_);
    }
    void measure_pass() {
        CodewordEnd end{mq_.sufficient_bytes(), 0};
        if (style_ & kCuttable) {
            load_coder();
            end = at_ == from_ ? CodewordEnd{0, 0} : mq_.end((style_ & kPredictableTermination) != 0);
            tails_[pass_] = end.tail;
        }
        passes_[pass_] = bytes_ + end.bytes;
    }
    // The pass has been coded, and so has its segment if it ends there: then first_ == pass_.
    void end_pass() {
        const bool last = pass_ + 1 == pass_count_ || ends_segment(style_, pass_);
        pass_++;
        if (style_ & kReset) reset_contexts();
        if (last) end_segment(at_ == from_ ? 0 : flush());
    }
    uint32_t flush() {
        load_coder();
        return mq_.flush((style_ & kPredictableTermination) != 0);
    }
    void load_coder() {
        mq_.ct = kByteDue + 1 - std::bit_width(c_);
        mq_.c = static_cast<uint32_t>(c_ ^ std::bit_floor(c_));
        mq_.a = a_ >> 16;
    }
    void end_segment(uint32_t bytes) {
        bytes_ += bytes;
        for (int i = first_; i < pass_; i++) {
            if ((passes_[i] < bytes_ || (style_ & kCuttable)) && i < pass_ - 1) continue;
            passes_[i] = bytes_;
            if (tails_) tails_[i] = 0;
        }
        first_ = pass_;
    }
    void code_raw_segment() {
        do pass_++;
        while (pass_ < pass_count_ && !ends_segment(style_, pass_ - 1));
        const uint32_t bits = passes_[pass_ - 1] - at_;
        uint32_t words[raw_words(2 * kMostSamples)] = {};
        const auto or_word = [&](uint32_t i, uint32_t word) { words[i] |= word; };
        for (uint32_t i = 0; i < bits; i++) put_raw_bits(i, pairs_[at_ + i], 1, or_word);
        put_raw_bits(bits, kRawPadding, kRawPaddingBits, or_word);
        uint8_t *out = out_ + bytes_;
        const uint32_t first_bits = passes_[first_] - at_;
        uint32_t bytes = 0, first_bytes = 0;
        stuff_bytes(words, 0, most_raw_bytes(bits), {}, [&](uint32_t i, uint32_t byte, uint32_t begin, uint32_t end) {
            bytes = std::max(bytes, raw_bytes_for(bits, i, byte, begin, end));
            first_bytes = std::max(first_bytes, raw_bytes_for(first_bits, i, byte, begin, end));
            if (is_raw_byte(bits, begin, end)) out[i] = static_cast<uint8_t>(byte);
        });
        at_ += bits;
        passes_[first_] = bytes_ + first_bytes;
        if (tails_) tails_[first_] = 0;
        if (style_ & kReset) reset_contexts();
        end_segment(bytes);
    }
    void reset_contexts() {
        for (int i = 0; i < kContexts; i++)
            set(static_cast<size_t>(i), context_state(static_cast<uint32_t>(mq_initial_row(i))));
    }
    void set(size_t context, const ContextState &state) {
        std::memcpy(&transitions_[2 * context], &state, sizeof state);
    }
    Registers load() { return {*this, pairs_ + at_, a_, c_}; }
    void store(const Registers &r) {
        at_ = static_cast<uint32_t>(r.next - pairs_);
        a_ = r.a;
        c_ = r.c;
    }

    __attribute__((noinline)) uint64_t bytes_out(uint64_t c) {
        const int late = std::bit_width(c) - 1 - kByteDue;
        mq_.c = static_cast<uint32_t>(c >> late);
        mq_.ct = 0;
        mq_.append_step(0, late);
        return mark(mq_);
    }

    uint8_t *out_ = nullptr;
    const uint8_t *pairs_ = nullptr;
    uint32_t *passes_ = nullptr;  // pairs up to the end of a pass, then the bytes it needs
    uint32_t *tails_ = nullptr;
    uint32_t style_ = 0;
    uint32_t at_ = 0, count_ = 0;  // pairs coded, and all
    uint32_t bytes_ = 0;           // of the segments that have ended
    uint32_t from_ = 0;            // pairs where the segment begins
    int first_ = 0;                // its first pass
    int pass_ = 0, pass_count_ = 0;
    MqEncoder mq_{nullptr};
    uint32_t a_ = 0;
    uint64_t c_ = 0;
    alignas(uint32_t) uint16_t transitions_[2 * kContexts];  // the contexts' states: indexed by pairs
};

CUDAENC_CLONES void encode(Codeword &word, uint32_t count) {
    Codeword::Registers r = word.load();
    while (count--) r.encode();
    word.store(r);
}
// Two in turns: each waits for its own last decision.
CUDAENC_CLONES void encode(Codeword &first, Codeword &second, uint32_t count) {
    Codeword::Registers r = first.load(), s = second.load();
    while (count--) {
        r.encode();
        s.encode();
    }
    first.store(r);
    second.store(s);
}

}  // namespace

ContextModeller::ContextModeller(size_t most_words)
    : memory_(std::make_unique_for_overwrite<uint64_t[]>(most_words * (kLayers + kMaxPlanes))) {}

size_t ContextModeller::words(int width, int height) { return bordered_words(width, height); }

namespace {

// Calls body(words, planes) with scratch for a block that is not zero. coefficients: of the block.
template <class Body>
void with_words(uint64_t *memory, const uint32_t *coefficients, const CodeBlock &block, const Body &body) {
    uint32_t all = 0;
    for (int y = 0; y < block.height; y++)
        for (int x = 0; x < block.width; x++) all |= coefficients[static_cast<size_t>(y) * block.stride + x];
    const int planes = bit_width(all & ~kSignBit);
    if (!planes) return;
    const Words words{memory, bordered_words(block.width, block.height), words_of(block.width) + 2,
                      words_of(block.width), stripes_of(block.height)};
    std::memset(words.memory, 0, kLayers * words.count * sizeof(Word));
    body(words, planes);
}

}  // namespace

CodedBlock ContextModeller::model(const uint32_t *coefficients, const CodeBlock &block, uint32_t style, uint8_t *pairs,
                                  const PassResults &results, const StopRule &stop) {
    CodedBlock made{};
    coefficients += block.coefficients;
    with_words(memory_.get(), coefficients, block, [&](const Words &words, int planes) {
        const int passes = model_passes(words, coefficients, block, planes, style, pairs, results, stop);
        const int certain = stop.certain_passes(planes);
        made = {0, static_cast<uint8_t>(passes ? planes : 0), static_cast<uint8_t>(passes),
                static_cast<uint8_t>(certain), guessed_bytes(pairs_filled_up(results.bytes, passes, certain))};
    });
    return made;
}

LookedAt ContextModeller::look(const uint32_t *coefficients, const CodeBlock &block, const LookRule &rule) {
    LookedAt made{};
    coefficients += block.coefficients;
    with_words(memory_.get(), coefficients, block, [&](const Words &words, int planes) {
        made.planes = planes;
        made.count = look_at(words, coefficients, block, planes, rule, made.steps);
    });
    return made;
}

void code_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, uint32_t style, int max_passes,
                 const PassResults &results, std::vector<uint8_t> &bytes, uint32_t *offsets, CodedBlock *coded,
                 const StopRule *stops) {
    size_t most_words = 0, longest = 0;
    for (const CodeBlock &b : blocks) {
        most_words = std::max(most_words, ContextModeller::words(b.width, b.height));
        longest = std::max<size_t>(longest, slot_layout(b.width, b.height, b.planes, style).bytes);
    }
    ContextModeller modeller(most_words);
    const auto slots = std::make_unique_for_overwrite<uint8_t[]>(2 * longest);
    struct Lane {
        uint8_t *slot;
        size_t block;
        Codeword codeword;
    } lanes[2] = {{slots.get(), 0, {}}, {slots.get() + longest, 0, {}}};
    bytes.clear();
    size_t next = 0;
    // Gives the lane the next block that has something to code; false when there is none left.
    const auto take = [&](Lane &lane) {
        while (next < blocks.size()) {
            const CodeBlock &b = blocks[next];
            const PassResults passes = results.from(next * static_cast<size_t>(max_passes));
            uint8_t *pairs = lane.slot + slot_layout(b.width, b.height, b.planes, style).pairs;
            coded[next] = modeller.model(coefficients, b, style, pairs, passes, stops ? stops[next] : StopRule());
            offsets[next] = 0;
            lane.block = next++;
            if (!coded[lane.block].passes) continue;
            lane.codeword.begin(lane.slot, pairs, passes, coded[lane.block].passes, style);
            return true;
        }
        return false;
    };
    const auto finish = [&](Lane &lane) {
        const uint32_t count = lane.codeword.finish();
        coded[lane.block].bytes = count;
        offsets[lane.block] = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), lane.slot, lane.slot + count);
        if (style & kCuttable) bytes.resize(bytes.size() + kCutSlack);
    };
    Lane *lane = &lanes[0], *other = &lanes[1];
    if (!take(*lane)) return;
    if (take(*other))
        for (;;) {
            encode(lane->codeword, other->codeword, std::min(lane->codeword.left(), other->codeword.left()));
            if (lane->codeword.left()) std::swap(lane, other);
            if (!lane->codeword.reach()) continue;
            finish(*lane);
            if (take(*lane)) continue;
            lane = other;
            break;
        }
    do encode(lane->codeword, lane->codeword.left());
    while (!lane->codeword.reach());
    finish(*lane);
}

}  // namespace cudaenc::j2k
