// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block coding (ITU-T T.814 Clause 7): what a quad of 2x2 samples puts into the three bit-streams of a cleanup pass.
// MagSgn has the magnitudes' bits and signs; VLC, which grows backwards, significance and exponents; MEL, where nothing
// near is significant yet, whether the quad is.
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "../codestream/tables.h"
#include "block.h"
#include "ht_codes.h"
#include "step.h"
#include "stop.h"

namespace cudaenc::j2k {

// Samples of a quad: 0 upper left, 1 lower left, 2 upper right, 3 lower right. Sets of them have bit i for sample i.
//
// A significant sample of magnitude m (from the lowest coded bit-plane on) and sign s has the value 2 (m - 1) + s,
// below 2^32, and as exponent the bits of 2 m - 1, 1 to 32. Others have the exponent 0, and any value. coefficient: as
// quantise() makes it.
struct HtSample {
    uint32_t value;
    int exponent;
};
CUDAENC_HD HtSample ht_sample(uint32_t coefficient) {
    const uint32_t magnitude = coefficient & 0x7FFFFFFFu, value = 2 * magnitude - 2 + (coefficient >> 31);
    const int exponent = bit_width(value | 1);
    return {value, magnitude ? exponent : 0};
}

// What later quads read of a quad, in 16 bits: its significant samples, the exponents of samples 1 and 3. 0: none.
CUDAENC_HD uint32_t quad_state(uint32_t significant, int lower_left, int lower_right) {
    return significant | static_cast<uint32_t>(lower_left) << 4 | static_cast<uint32_t>(lower_right) << 10;
}
struct QuadNeighbours {
    uint32_t left, above_left, above, above_right;
};

// Clause 7.3.5: the context of a quad's significance, 0 to 7.
CUDAENC_HD uint32_t quad_context(bool first_row, const QuadNeighbours &n) {
    const uint32_t left = n.left & 15;
    if (first_row) return ((left | left >> 1) & 1) | (left >> 1 & 6);
    return ((n.above_left >> 3 | n.above >> 1) & 1) | ((left >> 1 | left >> 2) & 2) |
           ((n.above >> 1 | n.above_right << 1) & 4);
}

// Clause 7.3.7: kappa, the exponent that the row above predicts for a quad with the significance pattern rho.
CUDAENC_HD int predicted_exponent(uint32_t rho, const QuadNeighbours &n) {
    const auto left = [](uint32_t state) { return static_cast<int>(state >> 4 & 63); };
    const auto right = [](uint32_t state) { return static_cast<int>(state >> 10); };
    const int most = max_of(max_of(right(n.above_left), left(n.above)), max_of(right(n.above), left(n.above_right)));
    return rho & (rho - 1) ? max_of(most - 1, 1) : 1;
}

// A quad's U, the most that its exponents may be, u = U - kappa, and its HtCode. codes: HtCodes::entries of the row.
struct QuadCode {
    int U, u;
    uint32_t entry;
    // The MagSgn bits of a sample: so many low bits of its value.
    CUDAENC_HD int bits(uint32_t rho, int i) const {
        return rho >> i & 1 ? U - static_cast<int>(entry >> (10 + i) & 1) : 0;
    }
};
// most: the largest exponent; e_1: the samples that have it, a bit each.
CUDAENC_HD QuadCode code_quad(const uint16_t *codes, uint32_t context, uint32_t rho, int most, uint32_t e_1,
                              int kappa) {
    const int U = max_of(most, kappa);
    return {U, U - kappa, codes[context << 8 | rho << 4 | (U > kappa ? e_1 : 0)]};
}

// Bits, the first one lowest; those above `count` are 0.
struct CodeBits {
    uint32_t bits;
    int count;
    CUDAENC_HD CodeBits then(const CodeBits &next) const {
        return {bits | next.bits << count, count + next.count};  // count: below 32
    }
};

// Clause 7.3.6, U-VLC: the codewords of u_pfx and u_sfx, for a u of 0 to 32.
CUDAENC_HD CodeBits u_pfx_code(int u) {
    const int kind = min_of(u, 5);  // 0: nothing; 1: 1; 2: 01; 3 and 4: 001; above: 000
    return {0x044210u >> 4 * kind & 7, 0x333210 >> 4 * kind & 7};
}
CUDAENC_HD CodeBits u_sfx_code(int u) {
    return {static_cast<uint32_t>(u > 4 ? u - 5 : u > 2 ? u - 3 : 0), u > 4 ? 5 : u > 2 ? 1 : 0};
}

// The VLC bits of two quads side by side, at most 30. The second one may be missing: {}.
CUDAENC_HD CodeBits pair_code(bool first_row, const QuadCode &first, const QuadCode &second) {
    const auto word = [](uint32_t entry) { return CodeBits{entry & 127, static_cast<int>(entry >> 7 & 7)}; };
    const CodeBits words = word(first.entry).then(word(second.entry));
    int a = first.u, b = second.u;
    // Where both have one in the first row, the MEL event says whether both are above 2.
    if (first_row && a > 2 && b > 2)
        a -= 2, b -= 2;
    else if (first_row && a > 2 && b > 0)
        return words.then(u_pfx_code(a)).then({static_cast<uint32_t>(b - 1), 1}).then(u_sfx_code(a));
    return words.then(u_pfx_code(a)).then(u_pfx_code(b)).then(u_sfx_code(a)).then(u_sfx_code(b));
}

// Clause 7.3.3, MEL: an adaptive run-length code of events that are mostly 0. See mel_entry().
// Sink: put(bits, count), first bit lowest. entries: HtCodes::mel.
class MelCoder {
  public:
    CUDAENC_HD void put_zeros(uint32_t count) { position_ += count; }
    template <class Sink>
    CUDAENC_HD void put_one(const uint32_t *entries, Sink &sink) {
        const uint32_t entry = end_run(entries, sink);
        sink.put(entry & 63, static_cast<int>(entry >> 6 & 7));
        position_ = entry >> 13;
        state_ = max_of(static_cast<int>(entry >> 9 & 15) - 1, 0);
    }
    template <class Sink>
    CUDAENC_HD void finish(const uint32_t *entries, Sink &sink) {
        if (end_run(entries, sink) & 62) sink.put(1, 1);
    }

  private:
    // Writes the full runs. Returns the entry of where it ends.
    template <class Sink>
    CUDAENC_HD uint32_t end_run(const uint32_t *entries, Sink &sink) {
        for (; position_ >= kMelEnd; position_ -= kMelEnd - kMelRepeated) sink.put(1, 1);
        const uint32_t entry = entries[position_];
        const int passed = static_cast<int>(entry >> 9 & 15) - state_;
        sink.put((1u << passed) - 1, passed);
        return entry;
    }
    uint32_t position_ = 0;
    int state_ = 0;
};

// Bit-stuffing: which bytes take seven bits. Bytes are taken from the bits, first bit lowest, as if all had eight; what
// is said of the first one that has seven holds, and those behind it are to be taken anew. before: each byte's
// predecessor. The result has the highest bit of such bytes. Word: an unsigned type of 4 or 8 bytes.
enum class Stuffing {
    kForward,   // MagSgn and MEL: behind a byte 0xFF
    kBackward,  // VLC: behind a byte above 0x8F, where all seven bits are 1
};
template <Stuffing kStuffing, class Word>
CUDAENC_HD Word short_bytes(Word bytes, Word before) {
    constexpr Word kOnes = static_cast<Word>(0x0101010101010101ull), kTops = kOnes << 7;
    const auto seven_ones = [](Word x) { return static_cast<Word>((x & ~kTops) + kOnes); };
    if constexpr (kStuffing == Stuffing::kForward)
        return seven_ones(before) & before & kTops;
    else
        return seven_ones(bytes) & before & (before << 1 | before << 2 | before << 3) & kTops;
}
// Of a MEL byte the first bit is the highest. width: 7 or 8.
CUDAENC_HD uint32_t mel_byte(uint32_t bits, int width) {
    const uint32_t pairs = (bits & 0x0F) << 4 | bits >> 4, quads = (pairs & 0x33) << 2 | (pairs >> 2 & 0x33);
    return ((quads & 0x55) << 1 | (quads >> 1 & 0x55)) >> (8 - width);
}

// What begins the VLC bit-stream: the byte before its first one counts as 0xFF, and the first four bits as 1. In their
// place, and in that byte, stands the length of MEL and VLC together (Clause 7.1.1).
constexpr uint32_t kVlcBefore = 0xFF, kVlcFirstBits = 4;

// The last, incomplete bytes of MEL and VLC, which share one where they do not contradict each other. width: of MEL's,
// 7 or 8; bits: so many are set by the stream, of MEL's the highest, of VLC's the lowest; others are 0.
struct LastBytes {
    uint32_t mel;
    int mel_width, mel_bits;
    uint32_t vlc;
    int vlc_bits;
    bool vlc_has_bytes;  // complete ones, without the one for the length

    CUDAENC_HD bool empty() const { return !vlc_bits && mel_width == 8 && !mel_bits; }
    CUDAENC_HD bool shared() const {
        const uint32_t both = mel | vlc, of_mel = 0xFFu << (mel_width - mel_bits) & 0xFF, of_vlc = (1u << vlc_bits) - 1;
        return !((both ^ mel) & of_mel) && !((both ^ vlc) & of_vlc) && both != 0xFF && vlc_has_bytes;
    }
};

// ---- Truncation. A block's cleanup pass ends with a bit-plane, which rate allocation chooses: a record has a pass for
// each, in place of the one before. Near a slope three are worth a trial. One of them is coded, the likeliest one by
// estimate; records have estimates of the others' bytes. One of these is coded in its place where estimates were wrong.

// What a block's cleanup pass takes from a bit-plane on, from counts of its quads, in 1/256 bits each. Fitted to
// photographs, where it is 2 % off in a block, 1 % in a picture; 4 % on a screen. lowered: where lower_largest()
// changes samples, which is 1 % off in a picture, 2 % on a screen.
struct HtBitsOf {
    uint32_t magnitude, quad, empty_quad, block;  // empty ones count up to as many as others
};
CUDAENC_HD constexpr HtBitsOf ht_bits() { return {253, 1060, 270, 13150}; }
CUDAENC_HD constexpr HtBitsOf ht_lowered_bits() { return {333, 3131, 258, 13130}; }
constexpr uint32_t kHtSampleBits = 290, kHtLoweredSampleBits = 636,
                   kHtLowestQuadBits = 1110;  // the latter two are saved
struct HtCounts {
    uint32_t samples = 0;    // that are significant
    uint32_t quads = 0;      // with such a sample
    uint32_t magnitude = 0;  // of each quad's significant samples the bits of the largest magnitude

    // a, b, c, d: a quad's magnitudes, from the plane on.
    CUDAENC_HD void add(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
        const uint32_t all = a | b | c | d, significant = uint32_t{a != 0} + (b != 0) + (c != 0) + (d != 0);
        samples += significant;
        quads += all != 0;
        magnitude += significant * static_cast<uint32_t>(bit_width(all));
    }
    // In 1/256. all_quads: of the block.
    CUDAENC_HD uint32_t bits(uint32_t all_quads) const { return sum(ht_bits(), all_quads, kHtSampleBits * samples); }
    // The same where lower_largest() changes samples. above: the counts from the plane above on, which tell the quads
    // whose largest magnitude is 1.
    CUDAENC_HD uint32_t lowered_bits(uint32_t all_quads, const HtCounts &above) const {
        return sum(ht_lowered_bits(), all_quads,
                   0 - kHtLoweredSampleBits * samples - kHtLowestQuadBits * (quads - above.quads));
    }
    // Of some of a block's quads those of all, which are so many times as many, in 2^-12.
    CUDAENC_HD HtCounts times(uint32_t scale) const {
        const auto scaled = [scale](uint32_t x) { return (x * scale + 2048) >> 12; };
        HtCounts all;
        all.samples = scaled(samples), all.quads = scaled(quads), all.magnitude = scaled(magnitude);
        return all;
    }

  private:
    CUDAENC_HD uint32_t sum(HtBitsOf of, uint32_t all_quads, uint32_t more) const {
        return quads ? of.magnitude * magnitude + of.quad * quads + of.empty_quad * min_of(all_quads - quads, quads) +
                           of.block + more
                     : 0;
    }
};
// How counts of all planes come, by bit widths of a block's quads: a quad counts where its largest magnitude is, a
// sample where its own is.
struct HtWidths {
    uint32_t quads;    // of this width
    uint32_t samples;  // of this width
    uint32_t largest;  // the widths of their quads' largest magnitudes, added up
    CUDAENC_HD HtWidths operator+(const HtWidths &o) const {
        return {quads + o.quads, samples + o.samples, largest + o.largest};
    }
    // From a plane on, of the widths above it.
    CUDAENC_HD HtCounts from(int plane) const {
        HtCounts counts;
        counts.samples = samples, counts.quads = quads;
        counts.magnitude = largest - samples * static_cast<uint32_t>(plane);
        return counts;
    }
};
CUDAENC_HD uint32_t quads_of(int width, int height) {
    return static_cast<uint32_t>((width + 1) / 2) * static_cast<uint32_t>((height + 1) / 2);
}

// The step from a plane to the one below.
struct HtStep {
    uint32_t bits;      // in 1/256
    int32_t reduction;  // in 1/64 of 4^plane squared steps
};
CUDAENC_HD HtStep ht_step(uint32_t all_quads, const HtCounts &low, const HtCounts &high) {
    // On average of a sample that becomes significant, and of one that is refined, in 1/64 squared steps.
    constexpr uint32_t kFound = 136, kRefined = 16;
    return {low.bits(all_quads) - high.bits(all_quads),
            static_cast<int32_t>(kFound * (low.samples - high.samples) + kRefined * high.samples)};
}
CUDAENC_HD uint32_t ht_bytes(uint32_t bits) { return (bits + 1024) >> 11; }

// Three bit-planes are worth a trial, the lowest one from a level on. A plane that refines samples takes a quarter of a
// squared step off the error for a bit, which is worth it from level 4 on; sparse ones are worth it sooner, or later.
// The lowest plane is at 2 to 4, so that the slope may be an octave off. Where a frame chooses its steps, it is the one
// that the steps are for, which most blocks have: by trial the most PSNR at equal bytes.
constexpr int kHtTried = 3;
constexpr int kTriedLevel = 2 * kSlopeOctave, kRefinedLevel = 4 * kSlopeOctave, kFrameStepLevel = 9 * kSlopeOctave / 2;

// Where a frame chooses its steps and has so many code-blocks, they have that plane or none: leaving out the sparsest
// is fine enough to meet the budget, and no block is coded twice.
constexpr uint32_t kManyHtBlocks = 256;

// How a truncatable block is coded: where it ends, by bit-planes of the frame's steps.
struct HtRule {
    StopRule stop;
    StepRatio step;
    int tried = kRefinedLevel;  // the level from which on planes are tried
    bool one_plane = false;     // one is tried
    CUDAENC_HD int lowest_plane() const { return plane_from(tried); }
    // Of most blocks.
    CUDAENC_HD int likeliest_plane() const { return plane_from(kRefinedLevel); }
    // Whether samples are changed where that pays; without a slope records tell of them as they are.
    CUDAENC_HD bool lowers() const { return stop.base != kNeverStop; }

  private:
    CUDAENC_HD int plane_from(int level) const {
        constexpr int kPlane = 2 * kSlopeOctave;
        return max_of(min_of(max_of(level - stop.base + kPlane - 1, 0) / kPlane, kMaxPlanes), step.lowest_plane);
    }
};
// planes: of the sub-band; blocks: of the frame.
CUDAENC_HD HtRule ht_rule(const StopSlope &stop, const BandCoding &band, int planes, uint32_t blocks) {
    HtRule rule{stop_rule(stop, band.weight), step_ratio(band.step, stop.step, planes, band.spare),
                band.step ? kRefinedLevel : kTriedLevel, band.step && blocks >= kManyHtBlocks};
    if (stop.slope) rule.stop.base += rule.step.weight();
    return rule;
}

// The exponent of a quad's largest magnitude costs each of its significant samples a bit. So where all of the largest
// are just above a power of two, they become that. That adds 2 t squared steps to the error, t from 0 to 1 being where
// a sample lies in its step, and is done where it adds less than 3/16 a bit. magnitudes: of a quad; coded: these from
// the plane on.
CUDAENC_HD void lower_largest(const uint32_t (&magnitudes)[4], int plane, uint32_t (&coded)[4]) {
    const uint32_t most = max_of(max_of(coded[0], coded[1]), max_of(coded[2], coded[3]));
    if (most < 2 || ((most - 1) & (most - 2))) return;
    uint32_t significant = 0, above = 0;
    CUDAENC_UNROLL
    for (int i = 0; i < 4; i++) {
        significant += coded[i] != 0;
        above += coded[i] == most ? 2 * (magnitudes[i] & ((1u << plane) - 1)) + 1 : 0;
    }
    if (16 * above >= 3 * significant << plane) return;
    CUDAENC_UNROLL
    for (uint32_t &x : coded) x -= x == most;
}

// By how many squared steps a sample's error is less when it is coded, but for a sixth, if it lies in the middle of its
// step. Large magnitudes count as 511: their blocks are not left out.
CUDAENC_HD uint32_t ht_energy(uint32_t magnitude) {
    const uint32_t m = min_of(magnitude, 511u);
    return m * m + m;
}
// A block's counts from the lowest plane that is tried on, and from those above it. Where one plane is tried, those of
// samples and quads from it on are enough.
struct HtTriedCounts {
    HtCounts from[kHtTried];
    uint32_t energy = 0;  // where one plane is tried: what ht_energy() makes of each sample
    // a, b, c, d: a quad's magnitudes, from the lowest plane on. one_plane: see HtRule.
    CUDAENC_HD void add(uint32_t a, uint32_t b, uint32_t c, uint32_t d, bool one_plane = false) {
        from[0].add(a, b, c, d);
        if (one_plane) {
            energy += ht_energy(a) + ht_energy(b) + ht_energy(c) + ht_energy(d);
            return;
        }
        CUDAENC_UNROLL
        for (int i = 1; i < kHtTried; i++) from[i].add(a >> i, b >> i, c >> i, d >> i);
    }
};
// of(plane): the counts from a plane on.
template <class Counts>
CUDAENC_HD HtTriedCounts tried_counts(int lowest, const Counts &of) {
    HtTriedCounts counts;
    CUDAENC_UNROLL
    for (int i = 0; i < kHtTried; i++) counts.from[i] = of(lowest + i);
    return counts;
}

// A block's reduction, as records have it.
CUDAENC_HD int32_t record_reduction(int64_t sum) { return static_cast<int32_t>(min_of<int64_t>(sum, 0x7FFFFFFF)); }

// A block's planes that are tried: kHtTried from the lowest one on, or as many as there are. None is where the lowest
// is above the highest.
struct HtTrial {
    int lowest, highest;
    int coded;                     // the likeliest one; above the highest: rather none
    uint32_t more[kHtTried];       // bytes, by estimate, that a plane takes more than the one above
    int32_t reductions[kHtTried];  // as records have them

    CUDAENC_HD int32_t reduction(int plane) const {
        int32_t of = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < kHtTried; i++) of = plane == lowest + i ? reductions[i] : of;
        return of;
    }
    // By how many bytes a plane and the one that is coded differ.
    CUDAENC_HD uint32_t between(int plane) const {
        uint32_t sum = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < kHtTried; i++)
            sum += lowest + i >= min_of(plane, coded) && lowest + i < max_of(plane, coded) ? more[i] : 0;
        return sum;
    }
};
// The bytes of a plane. is_above: of the one that is coded, which has coded_bytes.
CUDAENC_HD uint32_t ht_plane_bytes(bool is_above, uint32_t between, uint32_t coded_bytes) {
    return is_above ? max_of(coded_bytes, between + 2) - between : coded_bytes + between;
}
// Of a block with so many bit-planes, where one is tried. Only blocks whose magnitudes are 1 may be left out before
// they are coded.
CUDAENC_HD HtTrial ht_one_plane(const HtRule &rule, int planes, uint32_t all_quads, const HtTriedCounts &counts) {
    HtTrial t{};
    t.lowest = t.highest = rule.lowest_plane();
    HtCounts ones = counts.from[0];
    ones.magnitude = ones.samples;
    const HtStep step = ht_step(all_quads, ones, {});
    const int64_t reduction = int64_t{64} * counts.energy + 11 * ones.samples;
    t.reductions[0] = record_reduction(reduction * rule.step.square >> 12);
    const bool is_worth =
        planes > t.lowest + 1 ||
        (step.reduction &&
         rule.stop.level(t.lowest) + log2_code(static_cast<uint32_t>(step.reduction)) >= log2_code(step.bits));
    t.coded = t.lowest + (planes <= t.lowest || !is_worth);
    if (t.coded > t.lowest) t.highest = t.lowest - 1;
    return t;
}
// Of a block with so many bit-planes.
CUDAENC_HD HtTrial ht_trial(const HtRule &rule, int planes, uint32_t all_quads, const HtTriedCounts &counts) {
    if (rule.one_plane) return ht_one_plane(rule, planes, all_quads, counts);
    HtTrial t{};
    t.lowest = rule.lowest_plane();
    t.highest = min_of(t.lowest + kHtTried - 1, planes - 1);
    t.coded = max_of(t.highest, t.lowest - 1) + 1;
    CUDAENC_UNROLL
    for (int i = kHtTried - 1; i >= 0; i--) {
        const bool is_top = i == kHtTried - 1;
        const HtStep step =
            ht_step(all_quads, counts.from[i], is_top ? HtCounts{} : counts.from[min_of(i + 1, kHtTried - 1)]);
        t.more[i] = ht_bytes(step.bits);
        // From nothing on larger samples bring more.
        const uint32_t octaves = counts.from[i].magnitude / max_of(counts.from[i].samples, 1u);
        const int64_t reduction = int64_t{step.reduction} << (is_top ? 2 * min_of(max_of(octaves, 1u) - 1, 5u) : 0);
        t.reductions[i] = record_reduction(reduction * rule.step.square >> 12);
        const bool is_worth =
            step.reduction &&
            rule.stop.level(t.lowest + i) + log2_code(static_cast<uint32_t>(step.reduction)) >= log2_code(step.bits);
        if (t.coded == t.lowest + i + 1 && (is_top || is_worth)) t.coded = t.lowest + i;
    }
    return t;
}

// Of a record. A block that is left out has none where one plane is tried.
CUDAENC_HD int ht_passes(const HtTrial &trial, int planes) {
    return trial.highest < trial.lowest ? 0 : max_of(planes - trial.lowest, 0);
}

// By estimate, the bytes of the plane that is coded. of(plane): the block's counts from a plane on.
template <class Counts>
CUDAENC_HD uint32_t ht_trial_bytes(const HtTrial &trial, uint32_t all_quads, const Counts &of) {
    const HtCounts coded = of(trial.coded), above = of(trial.coded + 1);
    return trial.coded > trial.highest ? 0 : ht_bytes(coded.lowered_bits(all_quads, above));
}

// What a bit-plane takes off a sample's squared error, in 1/64 of 4^plane squared steps: see
// reduction_of_significance() and reduction_of_refinement().
CUDAENC_HD int32_t ht_reduction(uint32_t magnitude, int plane, bool reversible) {
    const ReductionRounding r = reduction_rounding(plane, reversible);
    const uint32_t known = magnitude >> plane,
                   parts = (plane > kReductionPlanes ? magnitude >> (plane - kReductionPlanes)
                                                     : magnitude << (kReductionPlanes - plane)) &
                           ((1u << kReductionPlanes) - 1);
    const int below = static_cast<int>((64 >> kReductionPlanes) * parts) + r.half;  // the plane, in 1/64
    const int refined = r.whole + (known & 1 ? below - 16 : 48 - below), found = r.whole + 48 + 3 * below;
    return !known ? 0 : known > 1 ? refined : found;
}
// The most bytes of a cleanup pass. A sample's bits are at most its bit-planes and one; a pair of quads has 30 VLC
// bits; an event takes at most 1.5 MEL bits, and a quad of the first row makes up to 1.5 events. At most every other
// byte has seven bits.
constexpr int kMostPairBits = 30;
CUDAENC_HD uint32_t most_ht_bytes(uint32_t width, uint32_t height, uint32_t planes) {
    const uint32_t pairs = (width + 3) / 4 * ((height + 1) / 2),
                   bits = width * height * (planes + 1) + pairs * (kMostPairBits + 3) + (width + 3) / 4 * 2;
    return bits / 15 * 2 + 16;
}

}  // namespace cudaenc::j2k
