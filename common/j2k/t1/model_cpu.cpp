// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../simd.h"
#include "mq.h"
#include "t1_cpu.h"
#include "words_cpu.h"

namespace cudaenc::j2k {

namespace {

// Of samples that become significant in this word: what the scan reaches after them. Words that it visited earlier have
// theirs in the layer of significance.
Around<Word> around_within(Word word) {
    return {word << 4, 0, (word << 1) & ~kFirst, 0, (word << 5) & ~kFirst, 0, word << 3, 0};
}

// Significance, as contexts of the style see it.
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

// Symbols of zero coding and of signs, for members in scan order; `runs` are in run-length mode, of which `ended` end.
uint8_t *put_significance(uint8_t *at, Word members, Word becoming, Word runs, Word ended, const ContextBits<Word> &c,
                          const SignBits<Word> &s) {
    if (!(members | becoming)) {
        const int count = std::popcount(runs);
        std::memset(at, kRunLength << 1, static_cast<size_t>(count));
        return at + count;
    }
    Word coded[8] = {c.bit[0], c.bit[1], c.bit[2], c.bit[3], s.decision, s.bit[0], s.bit[1], s.bit[2]};
    planes_to_bytes(coded);
    // Both symbols are written, and what does not count is written over.
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

// Counts the samples that the last two passes code.
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

// Whether the block ends before a significance propagation, by what that reaches from significant samples.
bool stops_at_propagation(const Words &words, const Word *bits, int plane, uint32_t style, bool reversible,
                          const StopRule &stop) {
    const Word *significant = words.layer(kSignificant), *valid = words.layer(kValid);
    const int below = min_of(plane, kReductionPlanes);
    DecisionCounts counts{};
    int parts = 0;
    words.scan([&](ptrdiff_t i) {
        const Around<Word> before = significant_around(words, i, style);
        const Word members = ~significant[i] & valid[i] & before.any(), becoming = members & bits[i];
        if (!members) return;
        count(counts, members, becoming, before.nearest());
        for (int k = 0; k < below; k++)
            parts += std::popcount(becoming & bits[i + (k + 1) * static_cast<ptrdiff_t>(words.count)]) *
                     (1 << (kReductionPlanes - 1 - k));
    });
    const int32_t reduction = reduction_of_significance(reduction_rounding(plane, reversible),
                                                        static_cast<int>(counts.newly_significant()), parts);
    return stop.should_stop(plane, reduction, NextSamples<>{0, counts});
}
// ... before a refinement and its clean-up.
bool stops_at_refinement(const Words &words, const Word *bits, int plane, bool reversible, const StopRule &stop) {
    int32_t reduction = 0;
    for (int kind : {kMagnitudeRefinement, kCleanUp})
        reduction += count_pass(words, kind, bits, plane).reduction(plane, reversible);
    return stop.should_stop(plane, reduction, count_last_passes(words, bits));
}

// What rate allocation needs of passes, at run time: their distortion reductions, and where the block ends.
struct PassPolicy {
    const Words &words;
    const CodeBlock &block;
    const uint32_t style;
    int32_t *reductions;
    const StopRule &stop;
    int always_included;

    bool ends_before(int pass, int plane, const Word *bits) const {
        if (!stop.needs_test(pass, plane)) return false;
        return stop.skip(pass, plane) || (pass_kind(pass) == kSignificancePropagation
                                              ? stops_at_propagation(words, bits, plane, style, block.reversible, stop)
                                              : stops_at_refinement(words, bits, plane, block.reversible, stop));
    }
    void measure(int pass, int plane, const Word *bits) const {
        if (reductions && pass >= always_included)
            reductions[pass] = count_pass(words, pass_kind(pass), bits, plane).reduction(plane, block.reversible);
    }
};

// Returns how many passes are coded.
CUDAENC_CLONES int model_passes(const Words &words, const uint32_t *coefficients, const CodeBlock &block, int planes,
                                const BlockCoding &coding, uint8_t *symbols, uint32_t *symbol_ends, int32_t *reductions,
                                const StopRule &stop) {
    if (stop.skip(0, planes - 1)) return 0;
    slice(words, coefficients, block, planes);
    uint8_t *at = symbols;
    const uint32_t style = coding.style;
    const int passes = coding_passes(planes), without_last = max_of(passes - kLastPasses, 0);
    const PassPolicy policy{.words = words,
                            .block = block,
                            .style = style,
                            .reductions = reductions,
                            .stop = stop,
                            .always_included = stop.always_included_passes(planes)};
    for (int pass = 0; pass < passes; pass++) {
        const Word *bits = words.layer(kNegative + 1 + (pass + 2) / 3);
        const bool raw = is_raw(style, pass);
        if (pass == without_last && coding.lossy && !worth_coding(count_last_passes(words, bits))) return pass;
        const int kind = pass_kind(pass), plane = planes - 1 - (pass + 2) / 3;
        if (policy.ends_before(pass, plane, bits)) return pass;
        if (kind == kCleanUp) policy.measure(pass, plane, bits);
        if (kind == kSignificancePropagation)
            at = significance_propagation(words, bits, block.orientation, style, raw, at);
        else if (kind == kMagnitudeRefinement)
            at = magnitude_refinement(words, bits, style, raw, at);
        else
            at = clean_up(words, bits, block.orientation, style, at);
        if (kind != kCleanUp) policy.measure(pass, plane, bits);
        symbol_ends[pass] = static_cast<uint32_t>(at - symbols);
    }
    return passes;
}

// Symbols as the kernels count them, which fill up passes behind which a truncation point may lie.
uint32_t symbols_filled_up(const uint32_t *ends, int passes, uint32_t style, int always_included) {
    uint32_t symbols = 0;
    for (int pass = 0; pass < passes; pass++) {
        if (is_raw(style, pass)) continue;
        symbols += ends[pass] - (pass ? ends[pass - 1] : 0);
        if (is_filled_up(style, pass, always_included - 1))
            symbols = (symbols + kPassAlignment - 1) / kPassAlignment * kPassAlignment;
    }
    return symbols;
}

}  // namespace

CodedBlock model_block(const uint32_t *coefficients, const CodeBlock &block, const BlockCoding &coding,
                       uint8_t *symbols, uint32_t *symbol_ends, int32_t *reductions, const StopRule &stop,
                       uint64_t *memory) {
    CodedBlock made{};
    coefficients += block.coefficients;
    with_words(memory, coefficients, block, [&](const Words &words, int planes) {
        const int passes =
            model_passes(words, coefficients, block, planes, coding, symbols, symbol_ends, reductions, stop);
        const int always_included = stop.always_included_passes(planes);
        made = {.bytes = 0,
                .planes = static_cast<uint8_t>(passes ? planes : 0),
                .passes = static_cast<uint8_t>(passes),
                .always_included = static_cast<uint8_t>(always_included),
                .estimated_bytes =
                    estimated_codeword_bytes(symbols_filled_up(symbol_ends, passes, coding.style, always_included))};
    });
    return made;
}

}  // namespace cudaenc::j2k
