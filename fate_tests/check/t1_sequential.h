// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 as T.800 Annex D tells it: the context of every decision, and a sequential coder of code-blocks. Tests hold
// the bit-sliced coders against it; the bench takes it as the baseline on the GPU.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../common/j2k/rate/predict.h"
#include "../../common/j2k/t1/block.h"
#include "../../common/j2k/transform/quantise.h"
#include "mq_decision.h"

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
    kIsSignificant = 4096,
    kIsVisited = 8192,
    kIsRefined = 16384,
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
// decision), in raw passes sink.put_raw(bit), and, after each pass, sink.end_pass().
template <class Sink>
class SequentialCoder {
  public:
    // coefficients: sign and magnitude as quantise() makes them; flags: flags_count() of scratch.
    CUDAENC_HD SequentialCoder(const uint32_t *coefficients, uint32_t stride, int width, int height, int orientation,
                               uint32_t style, uint16_t *flags, Sink &sink)
        : coefficients_(coefficients),
          stride_(stride),
          width_(width),
          height_(height),
          row_(width + 2),
          style_(style),
          zero_(kContextTables.zero[orientation]),
          flags_(flags),
          sink_(sink) {}

    // For code(): reductions[pass] becomes what each pass takes off the squared error; see distortion.h. steps[step]:
    // what sampling the block finds, of kSampledSteps at most; see predict.h.
    CUDAENC_HD void measure(int32_t *reductions, SampledStep *steps, bool reversible) {
        reductions_ = reductions;
        steps_ = steps;
        reversible_ = reversible;
    }

    // All passes; if `lossy`, the last ones where they are worth their bits. Returns planes and passes, not bytes.
    CUDAENC_HD CodedBlock code(bool lossy) {
        uint32_t all = 0;
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) all |= coefficients_[static_cast<size_t>(y) * stride_ + x];
        const int planes = bit_width(all & ~kSignBit);
        const int passes = coding_passes(planes), without_last = max_of(passes - kLastPasses, 0);
        for (int i = 0; i < flags_count(width_, height_); i++) flags_[i] = 0;
        for (int pass = 0; pass < passes; pass++) {
            plane_ = planes - 1 - (pass + 2) / 3;
            raw_ = is_raw(style_, pass);
            reduction_ = 0;
            if (steps_ && (!pass || pass_kind(pass) == kSignificancePropagation)) sample_plane(pass);
            if (pass == without_last && lossy && !worth_coding(count_last_passes()))
                return {0, static_cast<uint8_t>(pass ? planes : 0), static_cast<uint8_t>(pass)};
            if (pass_kind(pass) == kSignificancePropagation)
                significance_propagation();
            else if (pass_kind(pass) == kMagnitudeRefinement)
                magnitude_refinement();
            else
                clean_up();
            if (reductions_) reductions_[pass] = reduction_;
            sink_.end_pass();
        }
        return {0, static_cast<uint8_t>(planes), static_cast<uint8_t>(passes)};
    }

    // How many steps there are after code().
    CUDAENC_HD int steps() const { return step_; }

  private:
    CUDAENC_HD uint32_t coefficient(int x, int y) const { return coefficients_[static_cast<size_t>(y) * stride_ + x]; }
    CUDAENC_HD uint32_t bit(int x, int y) const { return (coefficient(x, y) >> plane_) & 1; }
    // The bits below the plane that count.
    CUDAENC_HD int parts(int x, int y) const {
        const uint64_t magnitude = coefficient(x, y) & ~kSignBit;
        return static_cast<int>(magnitude << kReductionPlanes >> plane_ & ((1 << kReductionPlanes) - 1));
    }
    CUDAENC_HD uint16_t *flag(int x, int y) const { return flags_ + (y + 1) * row_ + x + 1; }
    // What contexts know: vertically causal ones nothing of the next stripe (D.7).
    CUDAENC_HD int seen(const uint16_t *f, int y) const {
        return (style_ & kVerticallyCausal) && y % 4 == 3 ? *f & ~(kSigS | kSigSW | kSigSE | kNegS) : *f;
    }
    CUDAENC_HD void put(int context, uint32_t decision) {
        if (raw_)
            sink_.put_raw(decision);
        else
            sink_.put(context, decision);
    }

    // Codes the sign and tells the neighbours.
    CUDAENC_HD void become_significant(int x, int y) {
        uint16_t *f = flag(x, y);
        const uint32_t negative = coefficient(x, y) >> 31;
        const int sign = kContextTables.sign[(seen(f, y) & 15) | ((seen(f, y) >> 4) & 0xF0)];
        const uint32_t decision = negative ^ static_cast<uint32_t>(sign >> 7);
        put(sign & 127, raw_ ? negative : decision);
        reduction_ += reduction_of_significance(reduction_rounding(plane_, reversible_), 1, parts(x, y));
        *f |= kIsSignificant;
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
        put(zero_[seen(f, y) & kNeighbours], b);
        if (b) become_significant(x, y);
    }

    CUDAENC_HD void significance_propagation() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++)
                for (int y = y0; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if ((*f & kIsSignificant) || !(seen(f, y) & kNeighbours)) continue;
                    zero_coding(f, x, y);
                    *f |= kIsVisited;
                }
    }

    CUDAENC_HD void magnitude_refinement() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++)
                for (int y = y0; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if ((*f & (kIsSignificant | kIsVisited)) != kIsSignificant) continue;
                    put(*f & kIsRefined ? kRefinement + 2 : kRefinement + (seen(f, y) & kNeighbours ? 1 : 0),
                        bit(x, y));
                    *f |= kIsRefined;
                    const int one = static_cast<int>(bit(x, y)), next = parts(x, y);
                    reduction_ += reduction_of_refinement(reduction_rounding(plane_, reversible_), one, 1 - one,
                                                          one ? next : -next);
                }
    }

    CUDAENC_HD void clean_up() {
        for (int y0 = 0; y0 < height_; y0 += 4)
            for (int x = 0; x < width_; x++) {
                int y = y0;
                if (y0 + 4 <= height_ && quiet(x, y0)) {
                    while (y < y0 + 4 && !bit(x, y)) y++;
                    put(kRunLength, y < y0 + 4);
                    if (y == y0 + 4) continue;
                    put(kUniform, static_cast<uint32_t>(y - y0) >> 1);
                    put(kUniform, static_cast<uint32_t>(y - y0) & 1);
                    become_significant(x, y);
                    y++;
                }
                for (; y < min_of(y0 + 4, height_); y++) {
                    uint16_t *f = flag(x, y);
                    if (!(*f & (kIsSignificant | kIsVisited))) zero_coding(f, x, y);
                    *f &= static_cast<uint16_t>(~kIsVisited);
                }
            }
        if (style_ & kSegmentationSymbols)
            for (uint32_t i = 0; i < 4; i++) put(kUniform, (i & 1) ^ 1);
    }

    CUDAENC_HD NextSamples<> count_last_passes() const {
        NextSamples<> counts{};
        const auto left = [&](int x, int y) { return !(*flag(x, y) & (kIsSignificant | kIsVisited)); };
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) {
                if ((*flag(x, y) & (kIsSignificant | kIsVisited)) == kIsSignificant) counts.refined++;
                if (!left(x, y)) continue;
                bool near = (*flag(x, y) & kNeighbours) != 0;
                for (int v = max_of(y - 1, 0); v <= min_of(y + 1, height_ - 1); v++)
                    for (int u = max_of(x - 1, 0); u <= min_of(x + 1, width_ - 1); u++) {
                        const bool earlier = v / 4 != y / 4 ? v < y : u != x ? u < x : v < y;
                        near |= earlier && left(u, v) && bit(u, v);
                    }
                counts.decisions.all[near]++;
                counts.decisions.ones[near] += bit(x, y);
            }
        return counts;
    }

    // A plane before its first pass: the steps of a sampled block.
    CUDAENC_HD void sample_plane(int pass) {
        SampledStep propagation{}, rest{};
        const auto is_found = [&](int x, int y) {
            return x >= 0 && x < width_ && y >= 0 && y < height_ && !(*flag(x, y) & kIsSignificant) && bit(x, y);
        };
        const auto add = [](uint32_t &counted, uint32_t one) { counted += one | 1 << 16; };
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) {
                const int before = *flag(x, y) & kNeighbours, next = parts(x, y);
                const uint32_t b = bit(x, y);
                if (*flag(x, y) & kIsSignificant) {
                    add(rest.refined, b);
                    rest.parts += b ? next : -next;
                    continue;
                }
                // What is significant when the scan gets there, if all that is found was so in one pass.
                int now = before;
                now |= is_found(x - 1, y) ? kSigW : 0;
                now |= is_found(x, y - 1) ? kSigN : 0;
                now |= is_found(x - 1, y - 1) ? kSigNW : 0;
                now |= y % 4 == 0 && is_found(x + 1, y - 1) ? kSigNE : 0;
                now |= y % 4 != 3 && is_found(x - 1, y + 1) ? kSigSW : 0;
                const auto sig = [now](int which) { return now & which ? 1 : 0; };
                const int nearest = sig(kSigW) + sig(kSigE) + sig(kSigN) + sig(kSigS);
                SampledStep &step = before ? propagation : rest;
                add(step.decisions[before ? min_of(nearest, 2) : now ? 1 : 0], b);
                if (!b) continue;
                step.parts += 3 * next;
                const auto part = [&](int u, int v, int which) {
                    return !sig(which) ? 0 : coefficient(x + u, y + v) & kSignBit ? -1 : 1;
                };
                const int h = min_of(max_of(part(-1, 0, kSigW) + part(1, 0, kSigE), -1), 1),
                          v = min_of(max_of(part(0, -1, kSigN) + part(0, 1, kSigS), -1), 1);
                if (!h && !v) continue;
                const bool by_vertical = v && (!h || h == v);
                add(step.signs[by_vertical ? 0 : 1],
                    (coefficient(x, y) & kSignBit) != ((by_vertical ? v : h) < 0 ? kSignBit : 0));
            }
        if (pass && step_ < kSampledSteps) steps_[step_++] = propagation;
        if (step_ < kSampledSteps) steps_[step_++] = rest;
    }

    // Run-length mode: four samples of a column, none significant nor beside one that is.
    CUDAENC_HD bool quiet(int x, int y0) const {
        const uint16_t *f = flag(x, y0);
        return !((f[0] | f[row_] | f[2 * row_] | seen(f + 3 * row_, y0 + 3)) &
                 (kIsSignificant | kIsVisited | kNeighbours));
    }

    const uint32_t *coefficients_;
    uint32_t stride_;
    int width_, height_, row_, plane_ = 0;
    uint32_t style_;
    bool raw_ = false, reversible_ = false;
    int32_t *reductions_ = nullptr;
    int32_t reduction_ = 0;  // of the pass so far
    SampledStep *steps_ = nullptr;
    int step_ = 0;
    const uint8_t *zero_;
    uint16_t *flags_;
    Sink &sink_;
};

// A sink that codes, segment by segment. pass_bytes[i] becomes how many bytes suffice to decode passes up to i: see
// MqEncoder::sufficient_bytes(). With truncatable blocks how many the codeword has if it is truncated there, of which
// terminations[i] ends it: see CodewordEnd. With several segments for the host only, since an MqEncoder's bytes are
// aligned on a device. Mq: MqEncoder, or another that has its calls and encode_decision().
template <class Mq>
class MqSinkOf {
  public:
    CUDAENC_HD MqSinkOf(uint8_t *bytes, uint32_t *pass_bytes, const MqState *table, const BlockCoding &coding,
                        uint32_t *terminations = nullptr)
        : bytes_(bytes),
          mq_(bytes),
          pass_bytes_(pass_bytes),
          terminations_(terminations),
          table_(table),
          style_(coding.style),
          truncatable_(coding.truncatable) {
        reset_contexts();
    }
    CUDAENC_HD void put(int context, uint32_t decision) {
        contexts_[context] = encode_decision(mq_, contexts_[context], decision, table_);
        if (++decisions_ % kPassGranule == 0) measure();
    }
    CUDAENC_HD void put_raw(uint32_t bit) {
        if (!room_) {
            room_ = ends_with_ff(count_ + raw_) ? 7 : 8;  // a 0 is stuffed
            bytes_[count_ + raw_++] = 0;
        }
        bytes_[count_ + raw_ - 1] |= static_cast<uint8_t>(bit << --room_);
    }
    CUDAENC_HD void end_pass() {
        const int pass = passes_++;
        if (style_ || truncatable_ || decisions_ % kPassGranule == 0) measure();
        if (style_ & kReset) reset_contexts();
        if (ends_segment(style_, pass)) end_segment();
    }
    // Returns the bytes of all segments.
    CUDAENC_HD uint32_t finish() {
        if (first_ < passes_) end_segment();
        return count_;
    }

  private:
    CUDAENC_HD void reset_contexts() {
        for (int i = 0; i < kContexts; i++) contexts_[i] = table_[mq_initial_row(i)];
    }
    CUDAENC_HD void measure() {
        while (measured_ < passes_) {
            const bool raw = is_raw(style_, measured_);
            CodewordEnd end{raw ? raw_ : mq_.sufficient_bytes(), 0};
            if (truncatable_ && !raw)
                end = decisions_ ? mq_.end((style_ & kPredictableTermination) != 0) : CodewordEnd{0, 0};
            if (truncatable_) terminations_[measured_] = end.termination;
            pass_bytes_[measured_++] = count_ + end.bytes;
        }
    }
    // Of the segment: whether its bytes up to `end` do.
    CUDAENC_HD bool ends_with_ff(uint32_t end) const { return end > count_ && bytes_[end - 1] == 0xFF; }
    CUDAENC_HD void end_segment() {
        measure();
        uint32_t length = 0;  // no decisions, no bytes
        if (is_raw(style_, first_)) {
            for (uint32_t bit = 0; room_ || ends_with_ff(count_ + raw_); bit ^= 1) put_raw(bit);
            length = raw_;
            for (int i = first_; i < passes_; i++) pass_bytes_[i] += ends_with_ff(pass_bytes_[i]) ? 1 : 0;
        } else if (decisions_) {
            length = mq_.flush((style_ & kPredictableTermination) != 0);
        }
        count_ += length;
        for (int i = first_; i < passes_; i++) {
            if ((pass_bytes_[i] < count_ || truncatable_) && i < passes_ - 1) continue;
            pass_bytes_[i] = count_;
            if (truncatable_) terminations_[i] = 0;
        }
        first_ = passes_;
        decisions_ = raw_ = 0;
        mq_ = Mq(bytes_ + count_);
    }

    uint8_t *bytes_;
    Mq mq_;
    uint32_t *pass_bytes_, *terminations_;
    const MqState *table_;
    uint32_t style_;
    bool truncatable_;
    uint32_t count_ = 0;                // bytes of the segments before this one
    uint32_t decisions_ = 0, raw_ = 0;  // of this one: decisions of the MQ coder; bytes, if it is raw
    int room_ = 0;                      // bits left in the last one of these
    int first_ = 0, passes_ = 0, measured_ = 0;
    MqState contexts_[kContexts];
};
using MqSink = MqSinkOf<MqEncoder>;

}  // namespace cudaenc::j2k
