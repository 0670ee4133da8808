// The MQ arithmetic encoder, T.800 Annex C. One piece of code for the CPU and the kernel: free of branches but for the
// byte output, since lanes of a warp code different blocks. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>

#include "../hd.h"

namespace cudaenc::j2k {

// Contexts, T.800 Table D.1 to D.4.
constexpr int kZeroCoding = 0;   // 0 to 8
constexpr int kSignCoding = 9;   // 9 to 13
constexpr int kRefinement = 14;  // 14 to 16
constexpr int kRunLength = 17;
constexpr int kUniform = 18;
constexpr int kContexts = 19;

// A context's state: Qe << 17 | MPS << 16 | row after an LPS << 8 | row after an MPS that renormalises. Rows of the
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
    return static_cast<uint32_t>(r.qe) << 17 | mps << 16 | (2u * r.next_lps + (r.switch_mps ? 1 - mps : mps)) << 8 |
           (2u * r.next_mps + mps);
}
}  // namespace mq_detail

struct MqTable {
    MqState row[kMqRows];
};
constexpr MqTable make_mq_table() {
    MqTable table{};
    for (int i = 0; i < kMqRows; i++) table.row[i] = mq_detail::state_of_row(i);
    return table;
}
CUDAENC_TABLE MqTable kMqTable = make_mq_table();

// The row a context starts with, T.800 Table D.7.
CUDAENC_HD constexpr int mq_initial_row(int context) {
    return 2 * (context == kZeroCoding ? 4 : context == kRunLength ? 3 : context == kUniform ? 46 : 0);
}

// Writes code bytes to `out`. Fewer bytes are ever written than decisions were coded, five more at the end excepted.
// `kStride` is the distance of contexts in the array given to encode(): lanes that interleave theirs have one of their
// own.
struct MqEncoder {
    uint8_t *out;
    uint32_t a = 0x8000, c = 0, byte = 0;  // A and C registers, the byte that a carry may still change
    int ct = 12, at = -1;                  // shifts until the next byte; where `byte` goes

    CUDAENC_HD explicit MqEncoder(uint8_t *bytes) : out(bytes) {}

    // BYTEOUT with its bit stuffing, T.800 C.2.7.
    CUDAENC_HD void byte_out() {
        const bool stuffed = byte == 0xFF;
        byte += stuffed ? 0 : c >> 27;
        c &= stuffed ? ~0u : 0x7FFFFFFu;
        const bool stuff = byte == 0xFF;
        if (at >= 0) out[at] = static_cast<uint8_t>(byte);
        at++;
        const int shift = stuff ? 20 : 19;
        byte = c >> shift;
        c &= (1u << shift) - 1;
        ct = stuff ? 7 : 8;
    }

    // CODEMPS and CODELPS with RENORME, T.800 C.2.4 to C.2.6. The shift follows from the sub-interval: Qe's is known as
    // soon as the state is; what is left of A above it is at least 0x8000 - 0x5601, so it needs two at most.
    // Returns the context's next state. Bits of `decision` above the lowest do not count.
    CUDAENC_HD MqState encode(MqState state, uint32_t decision, const MqState *table) {
        const uint32_t qe = state >> 17;
        const bool lps = ((decision ^ (state >> 16)) & 1) != 0;
        const MqState renormalised = table[(lps ? state >> 8 : state) & 255];
        const int shift_of_qe = count_leading_zeros(qe) - 16;
        const uint32_t rest = a - qe;
        const bool upper = (rest < qe) == lps;
        c += upper ? qe : 0;
        int shift = upper ? (rest < 0x8000) + (rest < 0x4000) : shift_of_qe;
        a = (upper ? rest : qe) << shift;
        const MqState after = shift ? renormalised : state;
        while (shift >= ct) {
            c <<= ct;
            shift -= ct;
            byte_out();
        }
        c <<= shift;
        ct -= shift;
        return after;
    }

    // Bytes from the start that let a decoder decode all that was coded so far, whatever follows; at least that many
    // are there once flush() was called, or flush() returns fewer. The interval's lower end has its last bit 20 shifts
    // and one stuffed bit away from the pending byte.
    CUDAENC_HD uint32_t sufficient_bytes() const { return static_cast<uint32_t>(at + 5); }

    // FLUSH, T.800 C.2.9. Returns how many bytes were written; the last one is not 0xFF.
    CUDAENC_HD uint32_t flush() {
        const uint32_t top = c + a;
        c |= 0xFFFF;
        if (c >= top) c -= 0x8000;
        c <<= ct;
        byte_out();
        c <<= ct;
        byte_out();
        if (at >= 0 && byte != 0xFF) out[at++] = static_cast<uint8_t>(byte);
        return static_cast<uint32_t>(max_of(at, 0));
    }
};

}  // namespace cudaenc::j2k
