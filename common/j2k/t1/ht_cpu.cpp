// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ht_cpu.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "../../simd.h"
#include "ht.h"
#include "ht_codes.h"

namespace cudaenc::j2k {

namespace {

constexpr int kWidest = 1024;

// A bit-stream before stuffing, first bit lowest. `memory` has room for eight bytes behind the last one.
class BitWriter {
  public:
    void begin(uint8_t *memory) { *this = {}, memory_ = memory; }
    // The low `count` bits, at most 56; those above are 0.
    void put(uint64_t bits, int count) {
        pending_ |= bits << filled_;
        std::memcpy(memory_ + bytes_, &pending_, 8);
        filled_ += count;
        bytes_ += static_cast<uint32_t>(filled_) / 8;
        pending_ >>= filled_ & ~7;
        filled_ &= 7;
    }
    // Behind the last bit are bits of `fill`. Returns the number of bits.
    uint32_t finish(uint64_t fill) {
        const uint64_t last = pending_ | fill << filled_;
        std::memcpy(memory_ + bytes_, &last, 8);
        return 8 * bytes_ + static_cast<uint32_t>(filled_);
    }
    const uint8_t *memory() const { return memory_; }

  private:
    uint8_t *memory_ = nullptr;
    uint64_t pending_ = 0;
    uint32_t bytes_ = 0;
    int filled_ = 0;
};

// A stuffed bit-stream: its complete bytes, and the bits behind them, of which the last, incomplete byte has `left`.
struct Stuffed {
    uint32_t bytes;
    uint32_t last;  // byte; before the first: as given
    uint32_t rest;
    int left;
};

uint64_t bits_at(const uint8_t *memory, uint32_t at) {  // at least 56
    uint64_t word;
    std::memcpy(&word, memory + at / 8, 8);
    return word >> at % 8;
}

// put(bytes, count): eight bytes, of which so many belong to the stream.
template <Stuffing kStuffing, class Put>
inline Stuffed stuff(const uint8_t *memory, uint32_t bits, uint32_t last, const Put &put) {
    constexpr uint64_t kSevenBytes = (uint64_t{1} << 56) - 1;
    uint32_t at = 0, bytes = 0;
    for (;;) {
        const uint64_t word = bits_at(memory, at);
        const uint64_t shorts = short_bytes<kStuffing>(word, word << 8 | last) & kSevenBytes;
        const uint32_t left = bits - at;
        // Bytes before the first short one, and that one.
        const int whole = shorts ? std::countr_zero(shorts) / 8 : 7;
        const uint32_t taken = shorts ? 8 * static_cast<uint32_t>(whole) + 7 : 56;
        if (taken > left) {
            const int complete = static_cast<int>(std::min(left / 8, static_cast<uint32_t>(whole)));
            put(word, complete);
            if (complete) last = static_cast<uint8_t>(word >> (8 * complete - 8));
            return {bytes + static_cast<uint32_t>(complete), last, static_cast<uint32_t>(word >> 8 * complete),
                    static_cast<int>(left) - 8 * complete};
        }
        if (!shorts) {
            put(word, 7);
            bytes += 7;
            last = static_cast<uint8_t>(word >> 48);
        } else {
            put(word & ~(uint64_t{0x80} << 8 * whole), whole + 1);
            bytes += static_cast<uint32_t>(whole) + 1;
            last = static_cast<uint32_t>(word >> 8 * whole) & 0x7F;
        }
        at += taken;
    }
}

// A row of quads. Missing samples, where a side is odd, are 0.
struct QuadRow {
    uint32_t values[2][kWidest + 4];  // of upper and lower samples
    int32_t exponents[2][kWidest + 4];
    uint16_t significant[kWidest / 2 + 2];
    uint16_t e_1[kWidest / 2 + 2];    // samples that have the largest exponent
    uint16_t most[kWidest / 2 + 2];   // the largest exponent
    uint16_t U[kWidest / 2 + 2];      // QuadCode::U
    uint16_t u[kWidest / 2 + 2];      // QuadCode::u
    uint16_t entry[kWidest / 2 + 2];  // where HtCodes::entries has its codeword; the highest three of 11 bits: context
};

// Exponents by conversion to float, which every level of x86-64 does eight or four at a time. Returns all magnitudes'
// bits.
CUDAENC_CLONES uint32_t load_row(const uint32_t *coefficients, int width, int plane, uint32_t *__restrict values,
                                 int32_t *__restrict exponents) {
    uint32_t bits = 0;
    for (int x = 0; x < width; x++) {
        const uint32_t magnitude = (coefficients[x] & 0x7FFFFFFFu) >> plane, significant = magnitude ? ~0u : 0u;
        const uint32_t below = magnitude - 1;
        // Without the bit below its highest one, a number is not rounded up to a power of two.
        const float rounded = static_cast<float>(static_cast<int32_t>(below & ~(below >> 1) & 0x7FFFFFFFu));
        const int32_t width_of_below = (std::bit_cast<int32_t>(rounded) >> 23) - 126;
        values[x] = (2 * below + (coefficients[x] >> 31)) & significant;
        exponents[x] = ((width_of_below < 0 ? 0 : width_of_below) + 1) & static_cast<int32_t>(significant);
        bits |= magnitude;
    }
    return bits;
}

// What of each quad follows from its own exponents. states: quad_state() of each.
CUDAENC_CLONES void summarise_quads(QuadRow &__restrict row, int quads, uint16_t *__restrict states) {
    for (int q = 0; q < quads; q++) {
        const int32_t e0 = row.exponents[0][2 * q], e1 = row.exponents[1][2 * q], e2 = row.exponents[0][2 * q + 1],
                      e3 = row.exponents[1][2 * q + 1];
        const int32_t left = e0 > e1 ? e0 : e1, right = e2 > e3 ? e2 : e3, most = left > right ? left : right;
        const int32_t significant = (e0 != 0) | (e1 != 0) << 1 | (e2 != 0) << 2 | (e3 != 0) << 3;
        row.significant[q] = static_cast<uint16_t>(significant);
        row.e_1[q] = static_cast<uint16_t>((e0 == most) | (e1 == most) << 1 | (e2 == most) << 2 | (e3 == most) << 3);
        row.most[q] = static_cast<uint16_t>(most);
        states[q] = static_cast<uint16_t>(significant | e1 << 4 | e3 << 10);
    }
}

// What follows from its neighbours' states, too: those of its row, and of the row above, where quads -1 and `quads` are
// none. There are no rows above the first one.
template <bool kFirst>
inline void predict(QuadRow &__restrict row, int quads, const uint16_t *__restrict states,
                    const uint16_t *__restrict above) {
    for (int q = 0; q < quads; q++) {
        const QuadNeighbours near{states[q - 1], above[q - 1], above[q], above[q + 1]};
        const uint32_t significant = row.significant[q], e_1 = row.e_1[q];
        const int most = row.most[q], kappa = kFirst ? 1 : predicted_exponent(significant, near),
                  u = most > kappa ? most - kappa : 0;
        row.U[q] = static_cast<uint16_t>(kappa + u);
        row.u[q] = static_cast<uint16_t>(u);
        row.entry[q] =
            static_cast<uint16_t>(quad_context(kFirst, near) << 8 | significant << 4 | (e_1 & (u ? ~0u : 0u)));
    }
}
CUDAENC_CLONES void predict_quads(QuadRow &row, int quads, const uint16_t *states, const uint16_t *above) {
    predict<false>(row, quads, states, above);
}
CUDAENC_CLONES void predict_first_quads(QuadRow &row, int quads, const uint16_t *states) {
    predict<true>(row, quads, states, states);
}

// The U-VLC bits of two quads that are not in the first row, by their u.
class UvlcCodes {
  public:
    UvlcCodes() {
        for (int a = 0; a <= kMost; a++)
            for (int b = 0; b <= kMost; b++) {
                const CodeBits code = pair_code(false, {0, a, 0}, {0, b, 0});
                codes_[a][b] = code.bits | static_cast<uint32_t>(code.count) << 16;  // up to 16 bits
            }
    }
    CodeBits of(int a, int b) const { return {codes_[a][b] & 0xFFFF, static_cast<int>(codes_[a][b] >> 16)}; }

  private:
    static constexpr int kMost = 32;
    uint32_t codes_[kMost + 1][kMost + 1];
};
const UvlcCodes kUvlcCodes;

class HtBlockCoder {
  public:
    // longest: most_ht_bytes() of the largest block.
    explicit HtBlockCoder(uint32_t longest) : capacity_(longest + 16), memory_(new uint8_t[4 * size_t{capacity_}]) {}

    // Writes the block's codeword to out(), down to a bit-plane. Returns its bytes, 0 if no sample is significant.
    CUDAENC_CLONES uint32_t code(const uint32_t *coefficients, const CodeBlock &block, int plane) {
        const int width = block.width, height = block.height;
        magsgn_.begin(&memory_[0]), vlc_.begin(&memory_[capacity_]), mel_bits_.begin(&memory_[2 * size_t{capacity_}]);
        mel_ = {};
        vlc_.put((1u << kVlcFirstBits) - 1, kVlcFirstBits);
        std::memset(states_, 0, sizeof states_);
        bool any = false, above = false;  // whether any sample, and any of the row of quads above, is significant
        for (int y = 0; y < height; y += 2) {
            const uint32_t *row = coefficients + block.coefficients + static_cast<size_t>(y) * block.stride;
            const bool own = load_rows(row, block.stride, width, std::min(height - y, 2), plane);
            if (own || above) {
                uint16_t *const states = states_[y / 2 & 1] + 1;  // those left of the first and right of the last are 0
                const int quads = (width + 1) / 2;
                summarise_quads(row_, quads, states);
                states[quads] = 0;
                if (y) {
                    predict_quads(row_, quads, states, states_[(y / 2 + 1) & 1] + 1);
                    code_row<false>(quads);
                } else {
                    predict_first_quads(row_, quads, states);
                    code_row<true>(quads);
                }
            } else {
                skip_row(width, y / 2);
            }
            any |= own;
            above = own;
        }
        return any ? finish() : 0;
    }
    const uint8_t *out() const { return &memory_[3 * size_t{capacity_}]; }

  private:
    // A row of quads from up to two rows of samples. Returns whether any is significant.
    bool load_rows(const uint32_t *coefficients, uint32_t stride, int width, int rows, int plane) {
        uint32_t bits = 0;
        for (int lower = 0; lower < 2; lower++) {
            uint32_t *values = row_.values[lower];
            int32_t *exponents = row_.exponents[lower];
            const int present = lower < rows ? width : 0;
            if (present) bits |= load_row(coefficients + size_t{stride} * lower, width, plane, values, exponents);
            std::fill(values + present, values + (width + 1) / 2 * 2, 0u);
            std::fill(exponents + present, exponents + (width + 1) / 2 * 2, 0);
        }
        return bits != 0;
    }

    // Codes a row of quads without a significant sample, below another such row, or the first one.
    void skip_row(int width, int row) {
        const int quads = (width + 1) / 2;
        std::fill_n(states_[row & 1] + 1, quads + 1, uint16_t{0});
        mel_.put_zeros(static_cast<uint32_t>(quads));
    }

    // Codes a row of quads.
    template <bool kFirst>
    void code_row(int quads) {
        const uint16_t *codes = kHtCodes.entries[kFirst ? 0 : 1];
        for (int q = 0; q < quads; q += 2) {
            QuadCode pair[2]{};
            SampleBits bits{};
            for (int i = q; i < std::min(q + 2, quads); i++) {
                const uint32_t significant = row_.significant[i], entry = row_.entry[i];
                const QuadCode code = pair[i - q] = {row_.U[i], row_.u[i], codes[entry]};
                if (!(entry >> 8)) put_event(significant != 0);
                if (significant) put_samples(&row_.values[0][2 * i], &row_.values[1][2 * i], significant, code, bits);
            }
            magsgn_.put(bits.bits, bits.count);
            if (kFirst) {
                if (pair[0].u && pair[1].u) put_event(std::min(pair[0].u, pair[1].u) > 2);
                const CodeBits code = pair_code(true, pair[0], pair[1]);
                vlc_.put(code.bits, code.count);
            } else {
                const auto word = [](uint32_t entry) {
                    return CodeBits{entry & 127, static_cast<int>(entry >> 7 & 7)};
                };
                const CodeBits code =
                    word(pair[0].entry).then(word(pair[1].entry)).then(kUvlcCodes.of(pair[0].u, pair[1].u));
                vlc_.put(code.bits, code.count);
            }
        }
    }
    struct SampleBits {
        uint64_t bits;
        int count;
    };
    // before: bits that are not put yet, of another quad.
    void put_samples(const uint32_t *upper, const uint32_t *lower, uint32_t significant, const QuadCode &code,
                     SampleBits &before) {
        const auto low_bits = [](uint32_t value, int bits) { return value & ((uint64_t{1} << bits) - 1); };
        const int b0 = code.bits(significant, 0), b1 = code.bits(significant, 1), b2 = code.bits(significant, 2),
                  b3 = code.bits(significant, 3), count = b0 + b1 + b2 + b3;
        const uint64_t left = low_bits(upper[0], b0) | low_bits(lower[0], b1) << b0,
                       right = low_bits(upper[1], b2) | low_bits(lower[1], b3) << b2;
        if (before.count + count <= 56) {
            before = {before.bits | (left | right << (b0 + b1)) << before.count, before.count + count};
            return;
        }
        magsgn_.put(before.bits, before.count);
        before = {};
        if (code.U <= 28) {
            magsgn_.put(left, b0 + b1);
            magsgn_.put(right, b2 + b3);
        } else {
            magsgn_.put(low_bits(upper[0], b0), b0);
            magsgn_.put(low_bits(lower[0], b1), b1);
            magsgn_.put(low_bits(upper[1], b2), b2);
            magsgn_.put(low_bits(lower[1], b3), b3);
        }
    }
    void put_event(bool one) {
        if (one)
            mel_.put_one(kHtCodes.mel, mel_bits_);
        else
            mel_.put_zeros(1);
    }

    // Joins the three bit-streams.
    uint32_t finish() {
        uint8_t *const begin = &memory_[3 * size_t{capacity_}], *to = begin;
        // MagSgn: filled with ones, which decoders also read behind its end. So it does not end with 0xFF.
        const uint32_t magsgn_bits = magsgn_.finish(~uint64_t{0});
        const auto put = [&to](uint64_t bytes, int count) {
            std::memcpy(to, &bytes, 8);
            to += count;
        };
        const Stuffed magsgn = stuff<Stuffing::kForward>(magsgn_.memory(), magsgn_bits, 0, put);
        if (magsgn.left) *to++ = static_cast<uint8_t>(magsgn.rest & (magsgn.last == 0xFF ? 0x7F : 0xFF));
        if (to > begin && to[-1] == 0xFF) to--;
        uint8_t *const mel_begin = to;

        mel_.finish(kHtCodes.mel, mel_bits_);
        uint32_t last = 0;
        const Stuffed mel =
            stuff<Stuffing::kForward>(mel_bits_.memory(), mel_bits_.finish(0), 0, [&](uint64_t bytes, int count) {
                for (int i = 0; i < count; i++, bytes >>= 8) {
                    const uint32_t byte = bytes & 0xFF;
                    *to++ = static_cast<uint8_t>(mel_byte(byte, last == 0xFF ? 7 : 8));
                    last = byte;
                }
            });
        uint8_t *const vlc_out = &memory_[0];  // MagSgn's bits are not needed any more
        uint8_t *end = vlc_out;
        const Stuffed vlc =
            stuff<Stuffing::kBackward>(vlc_.memory(), vlc_.finish(0), kVlcBefore, [&end](uint64_t bytes, int count) {
                std::memcpy(end, &bytes, 8);
                end += count;
            });
        const int width = mel.last == 0xFF ? 7 : 8;
        const LastBytes ends{
            mel_byte(mel.rest & 0xFF, width), width, mel.left, vlc.rest & 0xFF, vlc.left, end > vlc_out};
        if (!ends.empty()) {
            if (ends.shared()) {
                *to++ = static_cast<uint8_t>(ends.mel | ends.vlc);
            } else {
                *to++ = static_cast<uint8_t>(ends.mel);
                *to++ = static_cast<uint8_t>(ends.vlc);
            }
        }
        to = std::reverse_copy(vlc_out, end, to);
        const uint32_t tail = static_cast<uint32_t>(to - mel_begin) + 1;
        to[-1] = static_cast<uint8_t>((to[-1] & 0xF0) | (tail & 0x0F));
        *to++ = static_cast<uint8_t>(tail >> 4);
        return static_cast<uint32_t>(to - begin);
    }

    const uint32_t capacity_;
    const std::unique_ptr<uint8_t[]> memory_;  // MagSgn, VLC, MEL before stuffing; the codeword
    BitWriter magsgn_, vlc_, mel_bits_;
    MelCoder mel_;
    QuadRow row_;
    uint16_t states_[2][kWidest / 2 + 2];  // of the quads of this row and the one before
};

// The sum of ht_reduction().
CUDAENC_CLONES int64_t reduction_of_row(const uint32_t *coefficients, int width, int plane, bool reversible) {
    int64_t sum = 0;
    for (int x = 0; x < width; x++) sum += ht_reduction(coefficients[x] & 0x7FFFFFFFu, plane, reversible);
    return sum;
}
// Adds up the quads of two rows of samples, or of one and none, from a plane on. Returns all magnitudes' bits.
CUDAENC_CLONES uint32_t count_quads(const uint32_t *upper, const uint32_t *lower, int width, int plane,
                                    HtTriedCounts &counts) {
    const uint32_t magnitude = 0x7FFFFFFFu, mask = lower ? magnitude : 0;
    if (!lower) lower = upper;
    uint32_t bits = 0, energy = 0, sums[kHtTried][3] = {};
    for (int x = 0; x + 1 < width; x += 2) {
        const uint32_t a = (upper[x] & magnitude) >> plane, b = (lower[x] & mask) >> plane,
                       c = (upper[x + 1] & magnitude) >> plane, d = (lower[x + 1] & mask) >> plane;
        bits |= upper[x] | (lower[x] & mask) | upper[x + 1] | (lower[x + 1] & mask);
        energy += ht_energy(a) + ht_energy(b) + ht_energy(c) + ht_energy(d);
        for (int k = 0; k < kHtTried; k++) {
            const uint32_t all = (a | b | c | d) >> k,
                           some = uint32_t{a >> k != 0} + (b >> k != 0) + (c >> k != 0) + (d >> k != 0);
            // The width by conversion to float, as in load_row().
            const float rounded = static_cast<float>(static_cast<int32_t>(all & ~(all >> 1)));
            const int32_t exponent = (std::bit_cast<int32_t>(rounded) >> 23) - 126;
            sums[k][0] += some;
            sums[k][1] += all != 0;
            sums[k][2] += some * static_cast<uint32_t>(exponent < 0 ? 0 : exponent);
        }
    }
    for (int k = 0; k < kHtTried; k++) {
        counts.from[k].samples += sums[k][0];
        counts.from[k].quads += sums[k][1];
        counts.from[k].magnitude += sums[k][2];
    }
    counts.energy += energy;
    if (width % 2) {
        const uint32_t a = upper[width - 1] & magnitude, b = lower[width - 1] & mask;
        bits |= a | b;
        counts.add(a >> plane, b >> plane, 0, 0);
        counts.energy += ht_energy(a >> plane) + ht_energy(b >> plane);
    }
    return bits & magnitude;
}

// Of a row of quads, see lower_largest(). rows: of samples, two.
CUDAENC_CLONES void lower_row(uint32_t *upper, uint32_t *lower, int width, int plane) {
    for (int x = 0; x < width; x += 2) {
        const uint32_t magnitude = 0x7FFFFFFFu, quad[4] = {upper[x] & magnitude, lower[x] & magnitude,
                                                           upper[x + 1] & magnitude, lower[x + 1] & magnitude};
        const uint32_t before[4] = {quad[0] >> plane, quad[1] >> plane, quad[2] >> plane, quad[3] >> plane};
        uint32_t coded[4] = {before[0], before[1], before[2], before[3]};
        lower_largest(quad, plane, coded);
        const auto less = [&](int i) { return (before[i] - coded[i]) << plane; };
        upper[x] -= less(0), lower[x] -= less(1), upper[x + 1] -= less(2), lower[x + 1] -= less(3);
    }
}
CUDAENC_CLONES void scale_row(const uint32_t *from, int width, const StepRatio &step, uint32_t *to) {
    for (int x = 0; x < width; x++) to[x] = (from[x] & 0x80000000u) | step.magnitude(from[x]);
}

// A block's coefficients by the steps of its frame. Both sides become even, with zeros.
class FrameSamples {
  public:
    static constexpr size_t kMostSamples = 4096 + kWidest + 4096 / kWidest;
    FrameSamples(const uint32_t *coefficients, const CodeBlock &block, const StepRatio &step) : block_(block) {
        block_.coefficients = 0;
        block_.stride = (block.width + 1) & ~1;
        for (int y = 0; y < block.height; y++) {
            scale_row(coefficients + block.coefficients + static_cast<size_t>(y) * block.stride, block.width, step,
                      row(y));
            if (block.width % 2) row(y)[block.width] = 0;
        }
        if (block.height % 2) std::fill_n(row(block.height), block_.stride, 0u);
    }
    void lower(int plane) {
        for (int y = 0; y < block_.height; y += 2) lower_row(row(y), row(y + 1), block_.stride, plane);
    }
    uint32_t *row(int y) { return samples_ + static_cast<size_t>(y) * block_.stride; }
    const uint32_t *samples() const { return samples_; }
    const CodeBlock &block() const { return block_; }

  private:
    CodeBlock block_;
    uint32_t samples_[kMostSamples];
};

std::unique_ptr<HtBlockCoder> make_coder(std::span<const CodeBlock> blocks) {
    uint32_t longest = 0;
    for (const CodeBlock &b : blocks) longest = std::max(longest, most_ht_bytes(b.width, b.height, b.planes));
    return std::make_unique<HtBlockCoder>(longest);
}

// Makes the records of all bit-planes of a block; whole: those above the lowest have no bytes. Returns the codeword's
// bytes of the lowest.
uint32_t measure_all_planes(HtBlockCoder &coder, const CodeBlock &b, const uint32_t *coefficients, int planes,
                            const TruncationPoints &points, bool whole) {
    uint32_t bytes = 0;
    for (int pass = 0; pass < planes; pass++) {
        const int plane = planes - 1 - pass;
        int64_t reduction = 0;
        for (int y = 0; y < b.height; y++)
            reduction += reduction_of_row(coefficients + b.coefficients + static_cast<size_t>(y) * b.stride, b.width,
                                          plane, b.reversible);
        points.reductions[pass] = record_reduction(reduction);
        if (!whole || !plane) bytes = coder.code(coefficients, b, plane);
        points.bytes[pass] = bytes;
    }
    return bytes;
}

}  // namespace

void code_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, std::vector<uint8_t> &bytes,
                    uint32_t *offsets, CodedBlock *coded) {
    const auto coder = make_coder(blocks);
    bytes.clear();
    for (size_t i = 0; i < blocks.size(); i++) {
        const uint32_t count = coder->code(coefficients, blocks[i], 0);
        const uint8_t some = count ? 1 : 0;
        coded[i] = {.bytes = count, .planes = some, .passes = some};
        offsets[i] = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), coder->out(), coder->out() + count);
    }
}

void code_truncatable_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, int max_passes,
                                const TruncationPoints &points, std::vector<uint8_t> &bytes, uint32_t *offsets,
                                CodedBlock *coded, const HtRule *rules, bool whole) {
    const auto coder = make_coder(blocks);
    bytes.clear();
    for (size_t i = 0; i < blocks.size(); i++) {
        const CodeBlock &b = blocks[i];
        const TruncationPoints own = points.from(i * static_cast<size_t>(max_passes));
        const HtRule &rule = rules[i];
        const int lowest = rule.lowest_plane();
        FrameSamples samples(coefficients, b, rule.step);
        HtTriedCounts counts;
        uint32_t bits = 0;
        for (int y = 0; y < b.height; y += 2)
            bits |=
                count_quads(samples.row(y), y + 1 < b.height ? samples.row(y + 1) : nullptr, b.width, lowest, counts);
        const int planes = bit_width(bits);
        int passes = std::max(planes - lowest, 0);
        uint32_t count = 0;
        int plane = 0;
        if (!rule.lowers()) {
            count = measure_all_planes(*coder, samples.block(), samples.samples(), planes, own, whole);
        } else {
            const HtTrial trial = ht_trial(rule, planes, quads_of(b.width, b.height), counts);
            plane = trial.coded;
            passes = ht_passes(trial, planes);
            if (passes && plane < planes) {
                samples.lower(plane);
                count = coder->code(samples.samples(), samples.block(), plane);
            }
            for (int pass = 0; pass < passes; pass++) {
                const int of = planes - 1 - pass;
                own.bytes[pass] = of <= trial.highest ? ht_plane_bytes(of > plane, trial.between(of), count) : 0;
                own.reductions[pass] = of <= trial.highest ? trial.reduction(of) : 0;
            }
        }
        coded[i] = {.bytes = count,
                    .planes = static_cast<uint8_t>(passes ? planes : 0),
                    .passes = static_cast<uint8_t>(passes),
                    .codeword_passes = static_cast<uint8_t>(std::max(planes - plane, 0))};
        offsets[i] = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), coder->out(), coder->out() + count);
    }
}

void code_chosen_ht_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, const uint8_t *passes,
                           std::vector<uint8_t> &bytes, uint32_t *offsets, CodedBlock *coded, const HtRule *rules) {
    std::unique_ptr<HtBlockCoder> coder;
    for (size_t i = 0; i < blocks.size(); i++) {
        if (!passes[i] || passes[i] == coded[i].codeword_passes) continue;
        if (!coder) coder = make_coder(blocks);
        FrameSamples samples(coefficients, blocks[i], rules[i].step);
        const int plane = coded[i].planes - passes[i];
        if (rules[i].lowers()) samples.lower(plane);
        coded[i].bytes = coder->code(samples.samples(), samples.block(), plane);
        coded[i].codeword_passes = passes[i];
        offsets[i] = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), coder->out(), coder->out() + coded[i].bytes);
    }
}

}  // namespace cudaenc::j2k
