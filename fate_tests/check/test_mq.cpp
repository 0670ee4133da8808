// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ coder: the standards' test sequence, a decoder of the tests' own, and what the pipelines rely on: the codeword
// never overtakes its pairs, and a truncated one decodes as far as sufficient_bytes() says.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "mq_decision.h"
#include "mq_decoder.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

struct Decision {
    uint8_t context, value;
};

// The contexts' states at a codeword's beginning, T.800 Table D.7.
std::array<MqContext, kContexts> initial_contexts() {
    std::array<MqContext, kContexts> contexts{};
    contexts[0].index = 4;    // all-zero neighbours
    contexts[17].index = 3;   // run length
    contexts[18].index = 46;  // uniform
    return contexts;
}

struct Coded {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> sufficient;  // after each decision
    std::vector<CodewordEnd> ends;
};

constexpr uint8_t kUntouched = 0x5A;

// Codes as t1_mq.cu does, four decisions at once.
std::vector<uint8_t> encode_by_fours(const std::vector<Decision> &decisions) {
    std::vector<uint8_t> bytes(decisions.size() + 16, kUntouched);
    MqEncoder mq(bytes.data());
    std::array<MqState, kContexts> contexts;
    for (int i = 0; i < kContexts; i++) contexts[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
    size_t i = 0;
    for (; i + 4 <= decisions.size(); i += 4) {
        MqSteps<4> steps;
        for (int k = 0; k < 4; k++) {
            const Decision &d = decisions[i + static_cast<size_t>(k)];
            contexts[d.context] = mq.code(contexts[d.context], d.value, kMqTable.row, steps, k);
        }
        mq.append(steps);
    }
    for (; i < decisions.size(); i++) {
        MqState &state = contexts[decisions[i].context];
        state = encode_decision(mq, state, decisions[i].value, kMqTable.row);
    }
    bytes.resize(mq.flush());
    return bytes;
}

// Codes one by one, checking after every decision that no byte lies at or behind the next pair.
Coded encode(const std::vector<Decision> &decisions) {
    Coded coded;
    coded.bytes.assign(decisions.size() + 16, kUntouched);
    MqEncoder mq(coded.bytes.data());
    std::array<MqState, kContexts> contexts;
    for (int i = 0; i < kContexts; i++) contexts[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
    for (size_t i = 0; i < decisions.size(); i++) {
        MqState &state = contexts[decisions[i].context];
        state = encode_decision(mq, state, decisions[i].value, kMqTable.row);
        EXPECT(mq.at <= static_cast<int>(i), "%d bytes after %zu decisions", mq.at, i + 1);
        coded.sufficient.push_back(mq.sufficient_bytes());
        coded.ends.push_back(mq.end(false));
    }
    const uint32_t size = mq.flush();
    EXPECT(size <= decisions.size() + 5);
    for (size_t i = decisions.size() + 5; i < coded.bytes.size(); i++)
        EXPECT(coded.bytes[i] == kUntouched, "byte %zu is written", i);
    coded.bytes.resize(size);
    EXPECT(coded.bytes == encode_by_fours(decisions), "other bytes by fours, of %zu decisions", decisions.size());
    // No marker in it, and none with what may follow: no 0xFF at its end (T.800 C.2.9, D.4.1).
    EXPECT(coded.bytes.empty() || coded.bytes.back() != 0xFF);
    for (size_t i = 0; i + 1 < size; i++)
        EXPECT(coded.bytes[i] != 0xFF || coded.bytes[i + 1] <= 0x8F, "a marker in the codeword");
    return coded;
}

// How many of the first `count` decisions the first `size` bytes give.
size_t decoded(const std::vector<Decision> &decisions, const std::vector<uint8_t> &bytes, size_t size, size_t count) {
    auto contexts = initial_contexts();
    MqDecoder decoder(bytes.data(), size);
    size_t i = 0;
    while (i < count && decoder.decode(contexts[decisions[i].context]) == decisions[i].value) i++;
    return i;
}

void check_decodes(const std::vector<Decision> &decisions, const std::vector<uint8_t> &bytes, size_t size,
                   size_t count) {
    const size_t good = decoded(decisions, bytes, size, count);
    EXPECT(good == count, "decision %zu of %zu is wrong, of %zu with the first %zu of %zu bytes", good, count,
           decisions.size(), size, bytes.size());
}

START_TEST(test_sequence_of_the_standard) {
    // ITU-T T.88 H.2: one context, from index 0. There FLUSH adds the marker FF AC; T.800's skip it off. Ours ends
    // two bytes earlier: what they add a decoder makes up.
    const uint8_t in[] = {0x00, 0x02, 0x00, 0x51, 0x00, 0x00, 0x00, 0xC0, 0x03, 0x52, 0x87,
                          0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x82, 0xC0, 0x20, 0x00, 0xFC, 0xD7,
                          0x9E, 0xF6, 0xBF, 0x7F, 0xED, 0x90, 0x4F, 0x46, 0xA3, 0xBF};
    const uint8_t out[] = {0x84, 0xC7, 0x3B, 0xFC, 0xE1, 0xA1, 0x43, 0x04, 0x02, 0x20, 0x00, 0x00, 0x41, 0x0D,
                           0xBB, 0x86, 0xF4, 0x31, 0x7F, 0xFF, 0x88, 0xFF, 0x37, 0x47, 0x1A, 0xDB, 0x6A, 0xDF};
    uint8_t bytes[64];
    MqEncoder mq(bytes);
    MqState state = kMqTable.row[0];
    for (int i = 0; i < 256; i++) state = encode_decision(mq, state, (in[i / 8] >> (7 - i % 8)) & 1, kMqTable.row);
    EXPECT_EQ(mq.flush(), sizeof out);
    EXPECT(std::memcmp(bytes, out, sizeof out) == 0);
    MqContext context{};
    MqDecoder decoder(out, sizeof out);
    for (int i = 0; i < 256; i++) EXPECT_EQ(decoder.decode(context), (in[i / 8] >> (7 - i % 8)) & 1);
}
END_TEST

START_TEST(contexts_begin_as_the_standard_says) {
    const auto contexts = initial_contexts();
    for (int i = 0; i < kContexts; i++) EXPECT_EQ(mq_initial_row(i), 2 * contexts[static_cast<size_t>(i)].index);
}
END_TEST

// Decisions of different nature: by the kind, all contexts alike, one context, runs, likely ones (skew of 1 in `rare`),
// or the unlikely symbol of the moment, which makes the most bytes.
std::vector<Decision> make_decisions(Random &random, int kind, size_t count) {
    std::vector<Decision> decisions(count);
    const int one_context = random.between(0, kContexts - 1);
    const uint32_t rare = 1u << random.between(1, 12);
    const size_t turn = random.below(static_cast<uint32_t>(count) + 1);
    uint32_t odds[kContexts];
    for (uint32_t &o : odds) o = random.below(rare) + 1;
    std::array<MqState, kContexts> states;
    for (int i = 0; i < kContexts; i++) states[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
    std::vector<uint8_t> scratch(count + 16);
    MqEncoder follow(scratch.data());
    for (Decision &d : decisions) {
        d.context = static_cast<uint8_t>(kind & 1 ? one_context : random.between(0, kContexts - 1));
        const uint32_t mps = states[d.context] & 1;
        switch (kind / 2) {
            case 0:
                d.value = random.one_in(2);
                break;
            case 1:
                d.value = random.one_in(odds[d.context]);
                break;
            case 2:  // always the less probable
                d.value = static_cast<uint8_t>(1 - mps);
                break;
            case 3:  // always the more probable
                d.value = static_cast<uint8_t>(mps);
                break;
            case 4:  // the more probable until it costs little, then the less probable
                d.value = static_cast<uint8_t>((states[d.context] >> 17) > rare ? mps : 1 - mps);
                break;
            default:  // at first anything, then the upper part of the interval, so that the codeword ends at its top
                if (&d < &decisions[turn]) {
                    d.value = random.one_in(2);
                } else {
                    const uint32_t qe = states[d.context] >> 17;
                    d.value = static_cast<uint8_t>(follow.a - qe < qe ? 1 - mps : mps);
                }
        }
        states[d.context] = encode_decision(follow, states[d.context], d.value, kMqTable.row);
    }
    return decisions;
}
constexpr int kKinds = 12;

// Carries that pass bytes of 0xFF within four decisions: contexts are made likely, then decisions are so chosen that
// the interval contains a value that ends in zeros, as long as they shift much; then it goes to one side of it.
std::vector<Decision> make_carries(Random &random, size_t count) {
    std::vector<Decision> decisions;
    std::array<MqState, kContexts> states;
    for (int i = 0; i < kContexts; i++) states[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
    std::vector<uint8_t> scratch(2 * count + 16);
    MqEncoder follow(scratch.data());
    uint32_t value = 0;  // above C
    const auto code = [&](size_t context, bool upper) {
        const uint32_t mps = states[context] & 1, qe = states[context] >> 17, rest = follow.a - qe;
        const bool lps = (rest < qe) == upper;
        decisions.push_back({static_cast<uint8_t>(context), static_cast<uint8_t>(lps ? 1 - mps : mps)});
        states[context] = encode_decision(follow, states[context], decisions.back().value, kMqTable.row);
        value = (value - (upper ? qe : 0)) * (follow.a / (upper ? rest : qe));
    };
    while (decisions.size() < count) {
        for (int i = random.between(0, 60); i > 0; i--) {
            const size_t context = random.below(kContexts);
            code(context, follow.a - (states[context] >> 17) >= states[context] >> 17);  // the MPS
        }
        value = (~follow.c & ((1u << random.between(3, 15)) - 1)) + 1;
        for (int i = random.between(0, 20); i >= 0 && value < follow.a; i--) {
            size_t below = kContexts, above = kContexts;  // the largest Qe up to the value, the smallest beyond it
            for (size_t k = 0; k < kContexts; k++) {
                const uint32_t qe = states[k] >> 17;
                if (qe <= value && (below == kContexts || qe > states[below] >> 17)) below = k;
                if (qe > value && (above == kContexts || qe < states[above] >> 17)) above = k;
            }
            if (above != kContexts && (below == kContexts || !i || random.below(2)))
                code(above, !i);
            else
                code(below, true);
        }
    }
    return decisions;
}

START_TEST(carries_by_fours) {
    Random random(static_cast<uint64_t>(_i) + 50);
    for (int repeat = 0; repeat < 400; repeat++) {
        const auto decisions = make_carries(random, 2000);
        encode(decisions);
    }
}
END_TEST

START_TEST(random_decisions_decode) {
    Random random(static_cast<uint64_t>(_i) + 1);
    size_t stuffed = 0;
    for (int repeat = 0; repeat < 60; repeat++) {
        const size_t count = repeat < 40 ? static_cast<size_t>(repeat) : random.below(20000);
        const auto decisions = make_decisions(random, _i, count);
        const Coded coded = encode(decisions);
        check_decodes(decisions, coded.bytes, coded.bytes.size(), count);
        stuffed += static_cast<size_t>(std::count(coded.bytes.begin(), coded.bytes.end(), 0xFF));
    }
    if (_i < 4) EXPECT(stuffed > 0);  // else nothing of it was tested
}
END_TEST

START_TEST(truncated_codewords_decode) {
    Random random(static_cast<uint64_t>(_i) + 100);
    for (int repeat = 0; repeat < 200; repeat++) {
        const size_t count = 1 + random.below(repeat % 10 ? 100 : 700);
        const auto decisions = make_decisions(random, _i, count);
        const Coded coded = encode(decisions);
        uint32_t before = 0;
        for (size_t i = 0; i < count; i++) {
            EXPECT(coded.sufficient[i] >= before, "fewer bytes suffice for more decisions");
            before = coded.sufficient[i];
            check_decodes(decisions, coded.bytes, std::min<size_t>(coded.sufficient[i], coded.bytes.size()), i + 1);
        }
    }
}
END_TEST

// Codewords one behind the other in the same memory, as t1_mq.cu has them, by both ways to end them: each is what a
// coder of its own writes, no longer than it needs to be, and decodes.
START_TEST(codewords_follow_each_other) {
    Random random(static_cast<uint64_t>(_i) + 200);
    for (int repeat = 0; repeat < 300; repeat++) {
        std::vector<uint8_t> bytes(4096, kUntouched);
        MqEncoder mq(bytes.data());
        std::vector<uint8_t> expected;
        for (int segment = 0; segment < 8; segment++) {
            const auto decisions =
                make_decisions(random, _i, random.one_in(3) ? 1 + random.below(4) : random.below(200));
            std::vector<uint8_t> alone(decisions.size() + 16);
            MqEncoder own(alone.data());
            std::array<MqState, kContexts> contexts;
            for (int i = 0; i < kContexts; i++) contexts[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
            for (const Decision &d : decisions) {
                encode_decision(mq, contexts[d.context], d.value, kMqTable.row);
                contexts[d.context] = encode_decision(own, contexts[d.context], d.value, kMqTable.row);
            }
            const bool predictable = random.one_in(2);
            alone.resize(own.flush(predictable));
            const uint32_t end = mq.flush(predictable);
            EXPECT(alone.empty() || alone.back() != 0xFF, "0xFF at the end");
            check_decodes(decisions, alone, alone.size(), decisions.size());
            expected.insert(expected.end(), alone.begin(), alone.end());
            EXPECT(end == expected.size() && std::equal(expected.begin(), expected.end(), bytes.begin()),
                   "segment %d ends at %u, not %zu", segment, end, expected.size());
            mq.begin_behind(end);
        }
    }
}
END_TEST

// The bound is a tight one: where the codeword stays at the interval's top, one byte less would not do.
START_TEST(sufficient_bytes_are_necessary) {
    Random random(7);
    int needed = 0;
    for (int repeat = 0; repeat < 2000; repeat++) {
        const auto decisions = make_decisions(random, kKinds - 2, 100);
        const Coded coded = encode(decisions);
        for (size_t i = 0; i < decisions.size(); i++)
            if (coded.sufficient[i] <= coded.bytes.size())
                needed += decoded(decisions, coded.bytes, coded.sufficient[i] - 1, i + 1) <= i;
    }
    EXPECT(needed > 0);
}
END_TEST

// What end() says of each decision: it can be the last one. A byte less would do at times, where bytes before the
// pending one happen to be what a decoder makes up.
START_TEST(codewords_end_anywhere) {
    Random random(static_cast<uint64_t>(_i) + 300);
    int longer = 0, all = 0;
    for (int repeat = 0; repeat < 100; repeat++) {
        const auto decisions = make_decisions(random, _i, 1 + random.below(150));
        const Coded coded = encode(decisions);
        for (size_t i = 0; i < decisions.size(); i++) {
            const auto [size, tail] = coded.ends[i];
            std::vector<uint8_t> bytes(coded.bytes.begin(), coded.bytes.begin() + size - (tail & 0xFF));
            for (uint32_t k = 1; k <= (tail & 0xFF); k++) bytes.push_back(static_cast<uint8_t>(tail >> 8 * k));
            EXPECT(bytes.size() == size && size && bytes.back() != 0xFF, "%u bytes", size);
            check_decodes(decisions, bytes, size, i + 1);
            EXPECT(size <= std::max(coded.sufficient[i], 1u), "%u bytes, %u suffice", size, coded.sufficient[i]);
            all++;
            longer += size > 1 && decoded(decisions, bytes, size - 1, i + 1) == i + 1;
        }
    }
    EXPECT(longer < all / 5);
}
END_TEST

START_TEST(every_state_codes) {
    // States that a context can be in, from where the contexts begin: [2 * index + MPS].
    bool reachable[kMqRows] = {}, seen[kMqRows][2] = {};
    std::vector<MqContext> open;
    for (const MqContext &context : initial_contexts()) open.push_back(context);
    while (!open.empty()) {
        const MqContext context = open.back();
        open.pop_back();
        if (reachable[2 * context.index + context.mps]) continue;
        reachable[2 * context.index + context.mps] = true;
        for (const bool lps : {false, true}) open.push_back(MqDecoder::next(context, lps));
    }
    Random random(3);
    for (int repeat = 0; repeat < 1000; repeat++) {
        // Each context goes on with the more probable symbol to a state of its own choice, then takes some less
        // probable ones.
        const size_t count = repeat % 16 ? 1000 : 200000;
        std::vector<Decision> decisions(count);
        std::array<MqState, kContexts> states;
        auto contexts = initial_contexts();
        std::vector<uint8_t> scratch(count + 16);
        MqEncoder follow(scratch.data());
        uint32_t target[kContexts], burst[kContexts] = {};
        for (size_t i = 0; i < kContexts; i++) {
            states[i] = kMqTable.row[mq_initial_row(static_cast<int>(i))];
            target[i] = random.word() >> random.between(16, 31);
        }
        size_t context = 0;
        for (Decision &d : decisions) {
            if (random.one_in(static_cast<uint32_t>(count) / (repeat % 16 ? 64 : 4))) context = random.below(kContexts);
            const uint32_t mps = states[context] & 1, qe = states[context] >> 17;
            if (qe <= target[context] && !burst[context]) {
                burst[context] = 1 + random.below(6);
                target[context] = random.word() >> random.between(16, 31);
            }
            const bool lps = burst[context] && burst[context]-- && random.below(4);
            d = {static_cast<uint8_t>(context), static_cast<uint8_t>(lps ? 1 - mps : mps)};
            const uint32_t before = follow.a;
            states[context] = encode_decision(follow, states[context], d.value, kMqTable.row);
            if (!lps && before - qe >= 0x8000) continue;
            seen[2 * contexts[context].index + contexts[context].mps][lps] = true;
            contexts[context] = MqDecoder::next(contexts[context], lps);
        }
        const Coded coded = encode(decisions);
        check_decodes(decisions, coded.bytes, coded.bytes.size(), count);
    }
    for (int row = 0; row < kMqRows; row++)
        for (const bool lps : {false, true})
            EXPECT(seen[row][lps] == reachable[row], "row %d, %s: %s", row, lps ? "LPS" : "MPS",
                   reachable[row] ? "not tested" : "cannot be reached, and was");
}
END_TEST

START_TEST(many_decisions) {
    Random random(8);
    const std::pair<const char *, int> kinds[] = {{"any", 0}, {"skewed", 2}, {"likely", 6}};
    for (const auto &[name, kind] : kinds) {
        const auto decisions = make_decisions(random, kind, benching ? 1000000 : 10000);
        std::vector<uint8_t> bytes;
        bench(format_string("mq: %s symbols", name), static_cast<double>(decisions.size()), "symbols",
              [&] { bytes = encode_by_fours(decisions); });
        check_decodes(decisions, bytes, bytes.size(), decisions.size());
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("mq");
    TCase *coder = add_case(suite, "coder");
    tcase_add_test(coder, test_sequence_of_the_standard);
    tcase_add_test(coder, contexts_begin_as_the_standard_says);
    tcase_add_test(coder, every_state_codes);
    tcase_add_test(coder, sufficient_bytes_are_necessary);
    tcase_add_test(coder, many_decisions);
    tcase_add_loop_test(coder, codewords_end_anywhere, 0, kKinds);
    tcase_add_loop_test(coder, codewords_follow_each_other, 0, kKinds);
    tcase_add_loop_test(coder, carries_by_fours, 0, 4);
    tcase_add_loop_test(coder, random_decisions_decode, 0, kKinds);
    tcase_add_loop_test(coder, truncated_codewords_decode, 0, kKinds);
    return run_suite(suite);
}
