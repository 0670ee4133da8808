// Tier-1 as T.800 Annex D tells it: the context of every decision, and the sequential coder of a code-block. No encoder
// runs it, since bit-sliced contexts (context_planes.h) take a third of its time and less: it is what the tests hold
// those against, and the benchmarks' baseline on the GPU. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <cstdint>

#include "../hd.h"
#include "mq.h"
#include "quantise.h"
#include "tables.h"

namespace cudaenc::j2k {

// T.800 Table D.1: from the significant neighbours, horizontal (0..2), vertical (0..2), diagonal (0..4).
CUDAENC_HD constexpr int zero_coding_context(int orientation, int h, int v, int d) {
    if (orientation == kHH) {
        const int hv = h + v;
        return d >= 3 ? 8 : d == 2 ? (hv ? 7 : 6) : d == 1 ? (hv >= 2 ? 5 : hv ? 4 : 3) : hv >= 2 ? 2 : hv;
    }
    const int along = orientation == kHL ? v : h, across = orientation == kHL ? h : v;
    if (along == 2) return 8;
    if (along == 1) return across ? 7 : d ? 6 : 5;
    return across ? across + 2 : d >= 2 ? 2 : d;
}

// T.800 Tables D.2 and D.3: contributions are -1, 0, 1. The context, and in bit 7 the XOR bit.
CUDAENC_HD constexpr int sign_coding_context(int h, int v) {
    const bool flip = h < 0 || (h == 0 && v < 0);
    const int hh = flip ? -h : h, vv = flip ? -v : v;
    return (kSignCoding + (hh == 1 ? 3 + vv : vv)) | (flip ? 128 : 0);
}

// A sample's flags: its neighbours' significance, the signs of the four nearest, its own state.
enum Flag : uint16_t {
    kSigN = 1,
    kSigS = 2,
    kSigW = 4,
    kSigE = 8,
    kSigNW = 16,
    kSigNE = 32,
    kSigSW = 64,
    kSigSE = 128,
    kNegN = 256,
    kNegS = 512,
    kNegW = 1024,
    kNegE = 2048,
    kSignificant = 4096,
    kVisited = 8192,
    kRefined = 16384,
    kNeighbours = 255,
};

struct ContextTables {
    uint8_t zero[4][256];  // [orientation][neighbour bits]
    uint8_t sign[256];     // [SigN.. SigE | NegN.. NegE << 4]
};
constexpr ContextTables make_context_tables() {
    ContextTables t{};
    for (int i = 0; i < 256; i++) {
        const auto bit = [i](int flag) { return (i & flag) != 0 ? 1 : 0; };
        for (int o = 0; o < 4; o++)
            t.zero[o][i] =
                static_cast<uint8_t>(zero_coding_context(o, bit(kSigW) + bit(kSigE), bit(kSigN) + bit(kSigS),
                                                         bit(kSigNW) + bit(kSigNE) + bit(kSigSW) + bit(kSigSE)));
        const auto part = [&](int sig) { return bit(sig) ? (bit(sig << 4) ? -1 : 1) : 0; };
        const auto clamp = [](int x) { return x < -1 ? -1 : x > 1 ? 1 : x; };
        t.sign[i] = static_cast<uint8_t>(
            sign_coding_context(clamp(part(kSigW) + part(kSigE)), clamp(part(kSigN) + part(kSigS))));
    }
    return t;
}
CUDAENC_TABLE ContextTables kContextTables = make_context_tables();

// Flags of a block, with a border of one sample all around: rows of width + 2.
CUDAENC_HD constexpr int flags_count(int width, int height) { return (width + 2) * (height + 2); }

// The three coding passes over each bit-plane of a code-block, T.800 D.3. Decisions go to the sink: sink.put(context,
// decision) and, after each pass, sink.end_pass().
template <class Sink>
class BlockCoder {
  public:
    // coefficients: sign and magnitude as quantise() makes them; flags: flags_count() of scratch.
    CUDAENC_HD BlockCoder(const uint32_t *coefficients, uint32_t stride, int width, int height, int orientation,
                          uint16_t *flags, Sink &sink)
        : coefficients_(coefficients),
          stride_(stride),
          width_(width),
          height_(height),
          row_(width + 2),
          zero_(kContextTables.zero[orientation]),
          flags_(flags),
          sink_(sink) {}

    // All passes but the last `dropped`. Returns the number of magnitude bit-planes down from the highest that is not
    // all zero; 0 when no pass is coded.
    CUDAENC_HD int code(int dropped) {
        uint32_t all = 0;
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) all |= coefficients_[static_cast<size_t>(y) * stride_ + x];
        const int planes = bit_width(all & ~kSignBit);
        int passes = coding_passes(planes, dropped);
        if (!passes) return 0;
        for (int i = 0; i < flags_count(width_, height_); i++) flags_[i] = 0;
        enum { kSignificancePropagation, kMagnitudeRefinement, kCleanUp };
        for (int step = kCleanUp; passes--; step++) {
            plane_ = planes - 1 - step / 3;
            if (step % 3 == kSignificancePropagation)
                significance_propagation();
            else if (step % 3 == kMagnitudeRefinement)
                magnitude_refinement();
            else
                clean_up();
            sink_.end_pass();
        }
        return planes;
    }

  private:
    CUDAENC_HD uint32_t coefficient(int x, int y) const { return coefficients_[static_cast<size_t>(y) * stride_ + x]; }
    CUDAENC_HD uint32_t bit(int x, int y) const { return (coefficient(x, y) >> plane_) & 1; }
    CUDAENC_HD uint16_t *flag(int x, int y) const { return flags_ + (y + 1) * row_ + x + 1; }

    // Codes the sign and tells the neighbours.
    CUDAENC_HD void become_significant(uint16_t *f, uint32_t negative) {
        const int sign = kContextTables.sign[(*f & 15) | ((*f >> 4) & 0xF0)];
        sink_.put(sign & 127, negative ^ static_cast<uint32_t>(sign >> 7));
        *f |= kSignificant;
        f[-row_ - 1] |= kSigSE;
        f[-row_] |= static_cast<uint16_t>(kSigS | (negative ? kNegS : 0));
        f[-row_ + 1] |= kSigSW;
        f[-1] |= static_cast<uint16_t>(kSigE | (negative ? kNegE : 0));
        f[1] |= static_cast<uint16_t>(kSigW | (negative ? kNegW : 0));
        f[row_ - 1] |= kSigNE;
        f[row_] |= static_cast<uint16_t>(kSigN | (negative ? kNegN : 0));
        f[row_ + 1] |= kSigNW;
    }

    CUDAENC_HD void zero_coding(uint16_t *f, int x, int y) {
        const uint32_t b = bit(x, y);
        sink_.put(zero_[*f & kNeighbours], b);
        if (b) become_significant(f, coefficient(x, y) >> 31);
    }

    CUDAENC_HD void significance_propagation() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++)
                for (int y = y0; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if ((*f & kSignificant) || !(*f & kNeighbours)) continue;
                    zero_coding(f, x, y);
                    *f |= kVisited;
                }
    }

    CUDAENC_HD void magnitude_refinement() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++)
                for (int y = y0; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if ((*f & (kSignificant | kVisited)) != kSignificant) continue;
                    sink_.put(*f & kRefined ? kRefinement + 2 : kRefinement + (*f & kNeighbours ? 1 : 0), bit(x, y));
                    *f |= kRefined;
                }
    }

    CUDAENC_HD void clean_up() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++) {
                int y = y0;
                if (y0 + 4 <= height_ && quiet(x, y0)) {
                    while (y < y0 + 4 && !bit(x, y)) y++;
                    sink_.put(kRunLength, y < y0 + 4);
                    if (y == y0 + 4) continue;
                    sink_.put(kUniform, static_cast<uint32_t>(y - y0) >> 1);
                    sink_.put(kUniform, static_cast<uint32_t>(y - y0) & 1);
                    become_significant(flag(x, y), coefficient(x, y) >> 31);
                    y++;
                }
                for (; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if (!(*f & (kSignificant | kVisited))) zero_coding(f, x, y);
                    *f &= static_cast<uint16_t>(~kVisited);
                }
            }
    }

    // Run-length mode: four samples of a column, none significant nor beside one that is.
    CUDAENC_HD bool quiet(int x, int y0) const {
        const uint16_t *f = flag(x, y0);
        return !((f[0] | f[row_] | f[2 * row_] | f[3 * row_]) & (kSignificant | kVisited | kNeighbours));
    }

    const uint32_t *coefficients_;
    uint32_t stride_;
    int width_, height_, row_, plane_ = 0;
    const uint8_t *zero_;
    uint16_t *flags_;
    Sink &sink_;
};

// A sink that codes: one MQ codeword for all passes. pass_bytes[i] becomes how many bytes suffice to decode passes up
// to i; see MqEncoder::sufficient_bytes().
class MqSink {
  public:
    CUDAENC_HD MqSink(uint8_t *bytes, uint32_t *pass_bytes, const MqState *table)
        : mq_(bytes), pass_bytes_(pass_bytes), table_(table) {
        for (int i = 0; i < kContexts; i++) contexts_[i] = table[mq_initial_row(i)];
    }
    CUDAENC_HD void put(int context, uint32_t decision) {
        contexts_[context] = mq_.encode(contexts_[context], decision, table_);
        if (++decisions_ % kPassGranule == 0) measure();
    }
    CUDAENC_HD void end_pass() {
        passes_++;
        if (decisions_ % kPassGranule == 0) measure();
    }
    // Returns the bytes of the whole codeword.
    CUDAENC_HD uint32_t finish() {
        if (!passes_) return 0;
        measure();
        const uint32_t length = mq_.flush();
        for (int i = 0; i < passes_; i++) pass_bytes_[i] = min_of(pass_bytes_[i], length);
        pass_bytes_[passes_ - 1] = length;
        return length;
    }

  private:
    CUDAENC_HD void measure() {
        while (measured_ < passes_) pass_bytes_[measured_++] = mq_.sufficient_bytes();
    }
    MqEncoder mq_;
    uint32_t *pass_bytes_;
    const MqState *table_;
    uint32_t decisions_ = 0;
    int passes_ = 0, measured_ = 0;
    MqState contexts_[kContexts];
};

}  // namespace cudaenc::j2k
