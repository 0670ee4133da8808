// SPDX-License-Identifier: LGPL-2.1-or-later
// The MQ arithmetic encoder, T.800 Annex C. One piece of code for the CPU and the kernel: free of branches but for the
// byte output, since lanes of a warp code different blocks.
#pragma once
#include <cstdint>

#include "block.h"
#include "contexts.h"

namespace cudaenc::j2k {

// A context's state: Qe << 17 | row after an LPS << 10 | row after an MPS that renormalises << 2 | MPS. Rows of the
// table below are 2 * index + MPS, so that a switch of the MPS is a row like any other.
using MqState = uint32_t;
constexpr int kMqRows = 94;

namespace mq_detail {
struct Row {  // T.800 Table C.2
    uint16_t qe;
    uint8_t next_mps, next_lps, switch_mps;
};
constexpr Row kProbabilities[47] = {
    {0x5601, 1, 1, 1},   {0x3401, 2, 6, 0},   {0x1801, 3, 9, 0},   {0x0AC1, 4, 12, 0},  {0x0521, 5, 29, 0},
    {0x0221, 38, 33, 0}, {0x5601, 7, 6, 1},   {0x5401, 8, 14, 0},  {0x4801, 9, 14, 0},  {0x3801, 10, 14, 0},
    {0x3001, 11, 17, 0}, {0x2401, 12, 18, 0}, {0x1C01, 13, 20, 0}, {0x1601, 29, 21, 0}, {0x5601, 15, 14, 1},
    {0x5401, 16, 14, 0}, {0x5101, 17, 15, 0}, {0x4801, 18, 16, 0}, {0x3801, 19, 17, 0}, {0x3401, 20, 18, 0},
    {0x3001, 21, 19, 0}, {0x2801, 22, 19, 0}, {0x2401, 23, 20, 0}, {0x2201, 24, 21, 0}, {0x1C01, 25, 22, 0},
    {0x1801, 26, 23, 0}, {0x1601, 27, 24, 0}, {0x1401, 28, 25, 0}, {0x1201, 29, 26, 0}, {0x1101, 30, 27, 0},
    {0x0AC1, 31, 28, 0}, {0x09C1, 32, 29, 0}, {0x08A1, 33, 30, 0}, {0x0521, 34, 31, 0}, {0x0441, 35, 32, 0},
    {0x02A1, 36, 33, 0}, {0x0221, 37, 34, 0}, {0x0141, 38, 35, 0}, {0x0111, 39, 36, 0}, {0x0085, 40, 37, 0},
    {0x0049, 41, 38, 0}, {0x0025, 42, 39, 0}, {0x0015, 43, 40, 0}, {0x0009, 44, 41, 0}, {0x0005, 45, 42, 0},
    {0x0001, 45, 43, 0}, {0x5601, 46, 46, 0},
};
constexpr MqState state_of_row(int row) {
    const Row &r = kProbabilities[row / 2];
    const uint32_t mps = row & 1;
    return static_cast<uint32_t>(r.qe) << 17 | (2u * r.next_lps + (r.switch_mps ? 1 - mps : mps)) << 10 |
           (2u * r.next_mps + mps) << 2 | mps;
}
}  // namespace mq_detail

// The row that follows when the decision renormalises; lps: 1 for the less probable symbol.
CUDAENC_HD constexpr uint32_t mq_next_row(MqState state, uint32_t lps) { return (state >> (8 * lps)) >> 2 & 127; }

struct MqTable {
    MqState row[kMqRows]{};
    constexpr MqTable() {
        for (int i = 0; i < kMqRows; i++) row[i] = mq_detail::state_of_row(i);
    }
};
CUDAENC_TABLE MqTable kMqTable;

// The row a context starts with, T.800 Table D.7.
CUDAENC_HD constexpr int mq_initial_row(int context) {
    return 2 * (context == kZeroCoding ? 4 : context == kRunLength ? 3 : context == kUniform ? 46 : 0);
}

// The bytes that a pass needs are read off the coder where the number of decisions is the next multiple of this, which
// costs the kernel one comparison for as many; at the end of the codeword at the latest.
constexpr uint32_t kPassGranule = 4;

// What N decisions add to the codeword: each step is what is added to C << 4 | the shift that follows it.
template <int N>
struct MqSteps {
    uint32_t step[N];
    uint32_t sum = 0;  // of what they add, all shifted; valid while `shifts` is at most 16
    int shifts = 0;
};

// What the codeword of so many symbols takes, near enough for its packet header.
CUDAENC_HD uint32_t estimated_codeword_bytes(uint32_t symbols) { return symbols / 16 + 1; }

// Writes code bytes to `out`, a multiple of 4 bytes. Fewer bytes are ever written than decisions were coded, five more
// at the end excepted.
struct MqEncoder {
    uint8_t *out;
    uint32_t a = 0x8000, c = 0, byte = kNoByte;  // A and C registers, the byte that a carry may still change
    int ct = 12, at = -1;                        // shifts until the next byte; where `byte` goes
    uint32_t word = 0;  // the last four bytes before it, of which `at` modulo 4 are not written yet

    // Set in `byte` while that is none of the codeword's, which has no byte yet.
    static constexpr uint32_t kNoByte = 0x100;

    CUDAENC_HD explicit MqEncoder(uint8_t *bytes) : out(bytes) {}

    // CODEMPS and CODELPS with RENORME, T.800 C.2.4 to C.2.6, as far as A and the context go; append() does the rest.
    // Returns the context's next state. Bits of `decision` above the lowest do not count.
    template <int N>
    CUDAENC_HD MqState code(MqState state, uint32_t decision, const MqState *table, MqSteps<N> &steps, int index) {
        const uint32_t lps = (decision ^ state) & 1;
        const MqState renormalised = table[mq_next_row(state, lps)];
        const uint32_t qe = state >> 17, rest = a - qe;
        const bool upper = (rest < qe) == (lps != 0);
        const uint32_t add = upper ? qe : 0, interval = upper ? rest : qe;
        const int shift = 15 - floor_log2(interval);
        a = interval << shift;
        steps.step[index] = (add << 4) + static_cast<uint32_t>(shift);
        steps.sum = (steps.sum + add) << shift;
        steps.shifts += shift;
        return interval < 0x8000 ? renormalised : state;
    }

    // Adds the steps to C and takes the byte off it that is complete on the way, most often one or none. That is done
    // once for all steps, without branches, so that lanes of a warp do not wait for each other; where it is not so
    // simple, step by step.
    template <int N>
    CUDAENC_HD void append(const MqSteps<N> &steps) {
        const MqEncoder before = *this;
        const bool simple = append_at_once(steps.sum, steps.shifts);
        if (simple) return;
        const uint32_t coded = a;
        *this = before;
        a = coded;
        CUDAENC_UNROLL
        for (int i = 0; i < N; i++) append_step(steps.step[i] >> 4, static_cast<int>(steps.step[i] & 15));
    }

    // Adds to C and shifts it, with the bytes that are complete on the way.
    CUDAENC_HD void append_step(uint32_t add, int shift) {
        c += add;
        while (shift >= ct) {
            c <<= ct;
            shift -= ct;
            ct = 0;
            byte_out(true);
        }
        c <<= shift;
        ct -= shift;
    }

    // Bytes from the start that let a decoder decode all that was coded so far, whatever follows; at least that many
    // are there once flush() was called, or flush() returns fewer. The interval's lower end has its last bit 20 shifts
    // and one stuffed bit away from the pending byte.
    CUDAENC_HD uint32_t sufficient_bytes() const { return static_cast<uint32_t>(at + 5); }

    // How the codeword would end if this were its end: FLUSH, T.800 C.2.9, with as few bytes as a decoder needs that
    // reads ones behind the last (C.3.4); `predictable`: D.4.2, no bit but those of C is in the bytes. The last byte
    // is not 0xFF, and there is one unless nothing was coded.
    CUDAENC_HD CodewordEnd end(bool predictable) const {
        const uint32_t top = c + a;
        uint32_t ones = c | 0xFFFF;
        if (ones >= top) ones -= 0x8000;
        // Bits of C that are in no byte yet, a carry excepted; then without the next byte, and the one behind it.
        const bool full = byte == 0xFF;
        const int left = 27 - ct;
        const uint32_t carry = full ? 0 : c >> left, first = byte + carry;
        const int left_1 = left - 8 + (first == 0xFF ? 1 : 0);
        const uint32_t rest = (predictable ? c : ones) - (carry << left), second = rest >> left_1;
        const int left_2 = max_of(left_1 - 8 + (second == 0xFF ? 1 : 0), 0);
        const uint32_t third = (rest & ((1u << left_1) - 1)) >> left_2;
        const bool own = byte < kNoByte;
        int more;  // bytes behind the pending one
        if (predictable) {
            more = ct >= 12 ? 0 : 12 - ct <= 8 - (first == 0xFF ? 1 : 0) ? 1 : 2;
        } else {
            const auto enough = [&](int bits) { return (c | ((1u << bits) - 1)) < top; };
            more = own && first < 0xFF && enough(left) ? 0 : left_1 <= 15 || enough(left_1) ? 1 : 2;
        }
        const uint32_t last = more == 0 ? first : more == 1 ? second : third;
        if (last == 0xFF) more += more > (own ? 0 : 1) || predictable ? -1 : 1;
        const uint32_t termination = own ? first | second << 8 | third << 16 : second | third << 8;
        return {static_cast<uint32_t>(at + more + 1), static_cast<uint32_t>(more + (own ? 1 : 0)) | termination << 8};
    }

    // Ends the codeword so. Returns how many bytes were written.
    CUDAENC_HD uint32_t flush(bool predictable = false) {
        const CodewordEnd e = end(predictable);
        const int ending_bytes = static_cast<int>(e.termination & 0xFF);
        const bool own = byte < kNoByte;
        if (own) byte = e.termination >> 8 & 0xFF;
        for (int i = own ? 1 : 0; i < ending_bytes; i++) {
            take_byte();
            byte = e.termination >> (8 * i + 8) & 0xFF;
        }
        store_rest();
        if (ending_bytes) out[at] = static_cast<uint8_t>(byte);
        return e.bytes;
    }

    // All bytes before the pending one are in place then.
    CUDAENC_HD void store_rest() const {
        if (at > 0)
            for (int i = at & ~3; i < at; i++) out[i] = static_cast<uint8_t>(word >> (32 - 8 * (at - i)));
    }

    // Begins a codeword with byte `place` of `out`, a multiple of four; the word before it may be written as well.
    CUDAENC_HD void begin_at(int place) {
        *this = MqEncoder(out);
        at = place - 1;
    }

    // Begins a codeword behind the one that was flushed, of which so many bytes and those before it are written.
    CUDAENC_HD void begin_behind(uint32_t bytes) {
        if (static_cast<int>(bytes) == at) {  // the pending byte was 0xFF and is not one of them
            byte = word >> 24;
            word <<= 8;
        }
        byte |= kNoByte;
        at = static_cast<int>(bytes) - 1;
        a = 0x8000;
        c = 0;
        ct = 12;
    }

  private:
    // Returns false, and has made a mess, if a second byte is complete; or where it would show that the byte has a
    // carry already that in time would have come after it was taken: if the carry has passed the byte, which was 0xFF,
    // where in time it would have met a stuffed bit.
    CUDAENC_HD bool append_at_once(uint32_t sum, int shifts) {
        const bool due = shifts >= ct;
        const int late = max_of(shifts - ct, 0);
        c = (c << (shifts - late)) + (sum >> (late & 31));
        const bool special = (late >= 7) | (shifts > 16) | ((c >> 19 == 0x100) & due);
        ct -= shifts - late;
        byte_out(due);
        c = (c << (late & 31)) + (sum & ((1u << (late & 31)) - 1));
        ct -= late;
        return !special;
    }

    // BYTEOUT with its bit stuffing, T.800 C.2.7, if `due`. No branches.
    CUDAENC_HD void byte_out(bool due) {
        const uint32_t carry = byte == 0xFF ? 0 : c >> 27, complete = byte + carry;
        const int stuff = complete == 0xFF ? 1 : 0, width = 19 + stuff;
        const uint32_t taken = (c - (carry << 27)) >> width, left = c & ((1u << width) - 1);
        word = due ? word >> 8 | complete << 24 : word;
        byte = due ? taken : byte;
        c = due ? left : c;
        ct = due ? 8 - stuff : ct;
        at += due ? 1 : 0;
        if (due & (at % 4 == 0) & (at != 0)) store_word();
    }

    // The pending byte is what it is.
    CUDAENC_HD void take_byte() {
        word = word >> 8 | byte << 24;
        at++;
        if ((at % 4 == 0) & (at != 0)) store_word();
    }

    // Little-endian.
    CUDAENC_HD void store_word() const {
#if CUDAENC_DEVICE_CODE
        *reinterpret_cast<uint32_t *>(out + at - 4) = word;
#else
        for (int i = 0; i < 4; i++) out[at - 4 + i] = static_cast<uint8_t>(word >> (8 * i));
#endif
    }
};

}  // namespace cudaenc::j2k
