// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ coder on the CPU: MqEncoder with less to do for each decision.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "block.h"
#include "mq.h"
#include "raw.h"

namespace cudaenc::j2k {

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
inline uint64_t mark(const MqEncoder &mq) { return mq.c | uint64_t{1} << (kByteDue - mq.ct); }

// A block's codeword in the making. It may overwrite the symbols that it has coded, which it never overtakes.
class Codeword {
  public:
    // symbols, symbol_ends: see model_block(); points: of the block.
    void begin(uint8_t *out, const uint8_t *symbols, const uint32_t *symbol_ends, const TruncationPoints &points,
               int pass_count, const BlockCoding &coding) {
        out_ = out;
        symbols_ = symbols;
        symbol_ends_ = symbol_ends;
        points_ = points;
        pass_count_ = pass_count;
        coding_ = coding;
        at_ = 0;
        pass_ = 0;
        count_ = symbol_ends_[pass_count - 1];
        bytes_ = 0;
        begin_segment();
        reset_contexts();
    }

    // Symbols until there is something else to do, which reach() does.
    uint32_t symbols_ahead() const {
        const uint32_t granule = knows_passes() ? 1 : kPassGranule;
        const uint32_t end = (symbol_ends_[pass_] + granule - 1) / granule * granule;
        return std::min(end, count_) - at_;
    }
    // Measures passes that end here, ends segments and codes raw ones; true when the last symbol was coded.
    bool reach() {
        if (!knows_passes() && at_ == count_) return true;
        while (pass_ < pass_count_ && symbol_ends_[pass_] <= at_) {
            measure_pass();
            end_pass();
            if (first_ < pass_) continue;
            while (pass_ < pass_count_ && is_raw(coding_.style, pass_)) code_raw_segment();
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
    bool knows_passes() const { return coding_.style || coding_.truncatable; }

    // What the loops of encode() keep in registers.
    struct Registers {
        Codeword &word;
        const uint8_t *next;
        uint32_t a;
        uint64_t c;
        void encode() {
            const uint32_t symbol = *next++;
            const char *const table = reinterpret_cast<const char *>(kTransitions.row);
            const auto *t = reinterpret_cast<const Transition *>(table + word.transitions_[symbol]);
            const uint32_t rest = a - t->qe;
            // All ones for the upper sub-interval. No choice here is a branch: none could be predicted.
            const uint32_t upper = (0 - static_cast<uint32_t>(rest < t->qe)) ^ t->upper;
            c += (t->qe & upper) >> 16;
            a = t->qe ^ ((rest ^ t->qe) & upper);
            word.set(symbol >> 1, t->after[a >> 31]);
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
        if (coding_.truncatable) {
            load_coder();
            end = at_ == from_ ? CodewordEnd{0, 0} : mq_.end((coding_.style & kPredictableTermination) != 0);
            points_.terminations[pass_] = end.termination;
        }
        points_.bytes[pass_] = bytes_ + end.bytes;
    }
    // The pass has been coded, and so has its segment if it ends there: then first_ == pass_.
    void end_pass() {
        const bool last = pass_ + 1 == pass_count_ || ends_segment(coding_.style, pass_);
        pass_++;
        if (coding_.style & kReset) reset_contexts();
        if (last) end_segment(at_ == from_ ? 0 : flush());
    }
    uint32_t flush() {
        load_coder();
        return mq_.flush((coding_.style & kPredictableTermination) != 0);
    }
    void load_coder() {
        mq_.ct = kByteDue + 1 - std::bit_width(c_);
        mq_.c = static_cast<uint32_t>(c_ ^ std::bit_floor(c_));
        mq_.a = a_ >> 16;
    }
    void end_segment(uint32_t bytes) {
        bytes_ += bytes;
        for (int i = first_; i < pass_; i++) {
            if ((points_.bytes[i] < bytes_ || coding_.truncatable) && i < pass_ - 1) continue;
            points_.bytes[i] = bytes_;
            if (points_.terminations) points_.terminations[i] = 0;
        }
        first_ = pass_;
    }
    void code_raw_segment() {
        do pass_++;
        while (pass_ < pass_count_ && !ends_segment(coding_.style, pass_ - 1));
        RawWriter raw{out_ + bytes_};
        uint32_t needed = 0;  // bytes of the first pass
        for (const uint32_t first_end = symbol_ends_[first_]; at_ < symbol_ends_[pass_ - 1];) {
            raw.put(symbols_[at_++]);
            if (at_ == first_end) needed = raw.needed();
        }
        raw.pad();
        if (needed && raw.out[needed - 1] == 0xFF) needed++;
        points_.bytes[first_] = bytes_ + needed;
        if (points_.terminations) points_.terminations[first_] = 0;
        if (coding_.style & kReset) reset_contexts();
        end_segment(raw.bytes);
    }
    void reset_contexts() {
        for (int i = 0; i < kContexts; i++)
            set(static_cast<size_t>(i), context_state(static_cast<uint32_t>(mq_initial_row(i))));
    }
    void set(size_t context, const ContextState &state) {
        std::memcpy(&transitions_[2 * context], &state, sizeof state);
    }
    Registers load() { return {*this, symbols_ + at_, a_, c_}; }
    void store(const Registers &r) {
        at_ = static_cast<uint32_t>(r.next - symbols_);
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
    const uint8_t *symbols_ = nullptr;
    const uint32_t *symbol_ends_ = nullptr;  // [pass]
    TruncationPoints points_{};
    BlockCoding coding_;
    uint32_t at_ = 0, count_ = 0;  // symbols coded, and all
    uint32_t bytes_ = 0;           // of the segments that have ended
    uint32_t from_ = 0;            // symbols where the segment begins
    int first_ = 0;                // its first pass
    int pass_ = 0, pass_count_ = 0;
    MqEncoder mq_{nullptr};
    uint32_t a_ = 0;
    uint64_t c_ = 0;
    alignas(uint32_t) uint16_t transitions_[2 * kContexts];  // the contexts' states: indexed by symbols
};

// Codes `count` symbols of a block; or of two in turns, since each waits for its own last decision.
void encode(Codeword &word, uint32_t count);
void encode(Codeword &first, Codeword &second, uint32_t count);

}  // namespace cudaenc::j2k
