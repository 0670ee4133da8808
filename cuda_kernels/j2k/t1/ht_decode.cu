// SPDX-License-Identifier: LGPL-2.1-or-later
// HT decoding of whole blocks (T.814 Clause 7). MEL and VLC are serial: a lane a block. They tell how many MagSgn bits
// a sample has, but for what the row above predicts. So a warp takes a block's MagSgn row by row, placed by scans.
#include "../../../common/j2k/codestream/coefficient.h"
#include "../../../common/j2k/t1/ht_decoder.h"
#include "../../device.cuh"
#include "ht_decode_params.h"
#include "sample_words.cuh"

namespace cudaenc::j2k {

// What a codeword and u tell of a quad.
struct HtQuad {
    uint32_t word;
    DEVICE_MEMBER static HtQuad make(const HtDecoded &quad, int u) {
        return {static_cast<uint32_t>(quad.rho | quad.e_k << 4 | quad.e_1 << 8 | u << 12)};
    }
    DEVICE_MEMBER uint32_t rho() const { return word & 15; }
    DEVICE_MEMBER int e_k(int i) const { return static_cast<int>(word >> (4 + i) & 1); }
    DEVICE_MEMBER uint32_t e_1(int i) const { return word >> (8 + i) & 1; }
    DEVICE_MEMBER int u() const { return static_cast<int>(word >> 12); }
};

// A block, and its set of passes.
struct HtPasses {
    DecoderBlock block;
    HtSet set;
    DEVICE_MEMBER HtPasses(const CodedBlocks &coded, uint32_t index)
        : block(coded.blocks[index]),
          set(last_set(coded.segments + block.first_segment, block.segments, block.planes)) {}
    DEVICE_MEMBER const DecoderSegment &segment(const CodedBlocks &coded, int number) const {
        return coded.segments[block.first_segment + static_cast<uint32_t>(number)];
    }
};

// ---- MEL and VLC

// VLC's bits as HtBackwards has them, four bytes at a time, of which the next ones are on their way.
class HtVlcWords : public HtWindow {
  public:
    // Bytes [at, at + count) of `bytes`, which is aligned to 4, and behind them the upper half of a byte (7.1.4).
    DEVICE_MEMBER HtVlcWords(const uint8_t *bytes, uint32_t at, uint32_t count)
        : from_(reinterpret_cast<const uint32_t *>(bytes) + (at + count) / 4),
          bytes_(static_cast<int>(count)),
          shift_((at + count) % 4 * 8),
          last_(bytes[at + count]) {
        const uint32_t nibble = last_ >> 4;
        const int width = (nibble & 7) == 7 ? 3 : 4;
        put_bits(nibble & ((1u << width) - 1), width);
        load_readonly_if(shift_ != 0, from_, above_);
        load();
    }
    // At least 32 bits are there then, which is more than a pair of quads takes.
    DEVICE_MEMBER void fill() {
        while (count() <= 32) take();
    }
    // Whether more was taken than the stream has.
    DEVICE_MEMBER bool is_exceeded() const { return count() < before_; }

  private:
    // The word below, of which all that is needed may lie before the stream.
    DEVICE_MEMBER void load() {
        from_--;
        load_readonly_if(bytes_ > static_cast<int>(shift_ / 8), from_, below_);
    }
    DEVICE_MEMBER void take() {
        uint32_t word = funnel_shift_right(below_, above_, shift_);
        const int missing = 4 - max_of(min_of(bytes_, 4), 0);
        if (missing) word = missing < 4 ? word & ~0u << 8 * missing : 0;
        before_ += 8 * missing;
        above_ = below_;
        bytes_ -= 4;
        load();
        word = byte_permute(word, 0, 0x0123);  // the first byte lowest
        const uint32_t shorts = short_bytes<Stuffing::kBackward>(word, word << 8 | last_);
        last_ = word >> 24;
        if (!shorts) return put_bits(word, 32);
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const int width = shorts >> (8 * i + 7) & 1 ? 7 : 8;
            put_bits(word >> 8 * i & ((1u << width) - 1), width);
        }
    }

    const uint32_t *from_;  // of below_
    int bytes_;             // that are left
    const uint32_t shift_;  // where those begin that are next, in `above_` and `below_`
    uint32_t above_ = 0, below_ = 0, last_;
    int before_ = 0;  // bits from before its beginning
};

constexpr int kRhoWords = 1024 / 2 / 8;  // of a row of quads, a nibble each

// The VLC part of a block. above: a column of kRhoWords words, in rows of kHtVlcThreads.
class HtVlcLane {
  public:
    // bytes: see CodedBlocks; MEL and VLC are the last `suffix` of those before `end`.
    DEVICE_MEMBER HtVlcLane(const HtDecoded *entries, const DecoderBlock &block, const uint8_t *bytes, uint32_t end,
                            uint32_t suffix, uint32_t *above, uint32_t *quads)
        : entries_(entries),
          columns_((block.width + 1) / 2),
          rows_((block.height + 1) / 2),
          mel_(HtBytes{bytes + end - suffix, suffix - 1}),
          vlc_(bytes, end - suffix, suffix - 2),
          above_(above),
          quads_(quads) {}
    DEVICE_MEMBER bool run() {
        if (!decode_row<true>()) return false;
        CUDAENC_NO_UNROLL
        for (int y = 1; y < rows_; y++)
            if (!decode_row<false>()) return false;
        return !vlc_.is_exceeded();
    }

  private:
    template <bool kFirstRow>
    DEVICE_MEMBER bool decode_row() {
        Window above;
        above.right = kFirstRow ? 0 : above_[0];
        uint32_t left = 0;
        CUDAENC_NO_UNROLL
        for (int x0 = 0; x0 < columns_; x0 += 8) {
            const int word = x0 / 8;
            above.shift(!kFirstRow && x0 + 8 < columns_ ? above_[(word + 1) * kHtVlcThreads] : 0);
            const Widened near = above.widened();
            const int last = min_of(columns_ - x0, 8);
            uint32_t now = 0;
            CUDAENC_NO_UNROLL
            for (int x = 0; x < last; x += 2) {
                const uint32_t around = near.from(4 * x);  // from the quad above the one to the left on
                HtDecoded quad[2]{};
                int u[2];
                vlc_.fill();
                if (!read_quad<kFirstRow>(left, around, quad[0])) return false;
                if (x + 1 < last && !read_quad<kFirstRow>(quad[0].rho, around >> 4, quad[1])) return false;
                if (!read_u<kFirstRow>(quad, mel_, vlc_, u)) return false;
                left = quad[1].rho;
                now |= (quad[0].rho | left << 4) << 4 * x;
                quads_[0] = HtQuad::make(quad[0], u[0]).word;
                if (x + 1 < last) quads_[1] = HtQuad::make(quad[1], u[1]).word;
                quads_ += min_of(last - x, 2);
            }
            above_[word * kHtVlcThreads] = now;
        }
        return true;
    }
    // around: nibbles from that of the quad above the one to the left on.
    template <bool kFirstRow>
    DEVICE_MEMBER bool read_quad(uint32_t left, uint32_t around, HtDecoded &quad) {
        const uint32_t context = quad_context(kFirstRow, {left, around & 15, around >> 4 & 15, around >> 8 & 15});
        return read_codeword(entries_ + ((kFirstRow ? 0 : 8) + context) * 128, context, mel_, vlc_, quad);
    }

    const HtDecoded *const entries_;  // [2][8][128]
    const int columns_, rows_;        // of quads
    MelDecoder mel_;
    HtVlcWords vlc_;
    uint32_t *const above_;
    uint32_t *quads_;
};

KERNEL(kHtVlcThreads, j2k_t1_ht_vlc, HtVlcParams)
{
    constexpr uint32_t kWords = sizeof(HtDecodeTables) / 4;
    SHARED(uint32_t, words, kWords);
    SHARED(uint32_t, above, kRhoWords *kHtVlcThreads);
    const int lane = thread_x();
    for (uint32_t i = static_cast<uint32_t>(lane); i < kWords; i += kHtVlcThreads)
        words[i] = load_readonly(reinterpret_cast<const uint32_t *>(p.tables) + i);
    block_sync();
    const uint32_t index = static_cast<uint32_t>(block_x() * p.vlc_lanes + lane);
    if (lane >= p.vlc_lanes || index >= *p.coded.count) return;
    const HtPasses passes(p.coded, index);
    uint32_t *const quads = p.quads + static_cast<uint64_t>(index) * (1 + p.most_quads);
    bool whole = false;
    if (passes.set.cleanup >= 0) {
        const DecoderSegment &segment = passes.segment(p.coded, passes.set.cleanup);
        const uint32_t suffix = ht_suffix(p.coded.bytes + segment.at, segment.bytes);
        if (suffix)
            whole = HtVlcLane(reinterpret_cast<const HtDecoded *>(opaque_shared<uint32_t>(&words[0])), passes.block,
                              p.coded.bytes, segment.at + segment.bytes, suffix, opaque_shared<uint32_t>(&above[lane]),
                              quads + 1)
                        .run();
    }
    quads[0] = whole;
}

// ---- MagSgn

// Lanes of a warp that take a block: all, or the half. The lanes of both halves call these together.
template <int kLanes>
struct Lanes {
    DEVICE_MEMBER static int own() { return lane_id() % kLanes; }
    DEVICE_MEMBER static int first() { return lane_id() / kLanes * kLanes; }
    DEVICE_MEMBER static bool any(bool condition) {
        return (warp_ballot(condition) >> first() & (~0u >> (32 - kLanes))) != 0;
    }
    DEVICE_MEMBER static uint32_t of_last(uint32_t value) { return warp_shuffle(value, first() + kLanes - 1); }
    DEVICE_MEMBER static uint32_t inclusive_add(uint32_t value) {
        CUDAENC_UNROLL
        for (int distance = 1; distance < kLanes; distance <<= 1) {
            const uint32_t below = warp_shuffle_up(value, distance);
            value += own() >= distance ? below : 0;
        }
        return value;
    }
};

// A window of the MagSgn bits, first one lowest, without what is stuffed. Behind its end the stream has ones.
template <int kLanes>
class MagSgnWindow {
  public:
    static constexpr uint32_t kWords = 8 * kLanes;  // a power of two: a quad a lane of 4 x 32 bits, and 4 bytes a lane
    DEVICE_MEMBER MagSgnWindow(uint32_t *words, const uint8_t *bytes, uint32_t at, uint32_t count)
        : words_(words), from_(reinterpret_cast<const uint32_t *>(bytes)), at_(at), end_(at + count) {}
    // The next `count` bits are there then, at most 128 a lane.
    DEVICE_MEMBER void need(uint32_t count) {
        warp_sync();
        while (warp_any(filled_ - begin_ < count)) unstuff(filled_ - begin_ < count);
    }
    // The 32 bits from bit `at` of those on.
    DEVICE_MEMBER uint32_t peek(uint32_t at) const {
        const uint32_t bit = begin_ + at, word = bit / 32;
        return funnel_shift_right(words_[word % kWords], words_[(word + 1) % kWords], bit);
    }
    DEVICE_MEMBER void skip(uint32_t count) { begin_ += count; }

  private:
    // Takes four bytes a lane; takes: whether these lanes do.
    DEVICE_MEMBER void unstuff(bool takes) {
        const uint32_t lane = static_cast<uint32_t>(Lanes<kLanes>::own()), word = at_ / 4 + lane, at = at_ + 4 * lane;
        const uint32_t lower = word * 4 < end_ ? load_readonly(from_ + word) : 0;
        const uint32_t upper = word * 4 + 4 < end_ ? load_readonly(from_ + word + 1) : 0;
        uint32_t bytes = funnel_shift_right(lower, upper, at_ % 4 * 8);
        if (at + 4 > end_) bytes |= at < end_ ? ~0u << 8 * (end_ - at) : ~0u;
        const uint32_t below = warp_shuffle_up(bytes, 1);
        const uint32_t before = bytes << 8 | (lane ? below >> 24 : last_);
        const uint32_t shorts = short_bytes<Stuffing::kForward>(bytes, before);
        const uint32_t last = Lanes<kLanes>::of_last(bytes) >> 24;
        uint32_t bits = bytes;
        int count = 32;
        if (shorts) {
            bits = 0;
            count = 0;
            CUDAENC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int width = shorts >> (8 * i + 7) & 1 ? 7 : 8;
                bits |= (bytes >> 8 * i & ((1u << width) - 1)) << count;
                count += width;
            }
        }
        const uint32_t up_to = Lanes<kLanes>::inclusive_add(static_cast<uint32_t>(count)),
                       all = Lanes<kLanes>::of_last(up_to);
        if (takes) words_[((filled_ + 31) / 32 + lane) % kWords] = 0;
        warp_sync();
        if (takes) {
            const uint32_t to = filled_ + up_to - static_cast<uint32_t>(count), shift = to % 32;
            atomic_or(&words_[to / 32 % kWords], bits << shift);
            if (shift) atomic_or(&words_[(to / 32 + 1) % kWords], bits >> (32 - shift));
            last_ = last;
            filled_ += all;
            at_ += 4 * kLanes;
        }
        warp_sync();
    }

    uint32_t *const words_;
    const uint32_t *const from_;
    uint32_t at_;  // the next byte
    const uint32_t end_;
    uint32_t begin_ = 0, filled_ = 0;  // bits of the stream that are taken, and that are there
    uint32_t last_ = 0;                // the byte before
};

constexpr int kMostColumns = 1024 / 2;  // of quads

// The samples of a block. All lanes of a warp call its functions together.
template <int kLanes>
class HtSamples {
  public:
    static constexpr int kRowStates = kMostColumns * kLanes / 32 + 2, kStates = 2 * kRowStates;
    // states: [2][kRowStates]
    DEVICE_MEMBER HtSamples(const CodedBlocks &coded, const HtPasses &passes, uint16_t *states)
        : b_(passes.block),
          plane_(passes.set.plane),
          to_(coded.coefficients + b_.coefficients),
          columns_((b_.width + 1) / 2),
          states_(states) {}

    // clears: whether these lanes do.
    DEVICE_MEMBER void clear(bool clears) const {
        warp_sync();  // behind what other lanes have stored
        if (!clears) return;
        for (uint32_t y = 0; y < b_.height; y++)
            for (uint32_t x = static_cast<uint32_t>(Lanes<kLanes>::own()); x < b_.width; x += kLanes)
                to_[static_cast<uint64_t>(y) * b_.stride + x] = 0;
    }

    // decodes: whether these lanes do. False: they do not, or samples are of more bit-planes than there can be.
    DEVICE_MEMBER bool decode(MagSgnWindow<kLanes> &bits, const uint32_t *quads, bool decodes) {
        if (decodes)
            for (int x = Lanes<kLanes>::own(); x < columns_ + 2; x += kLanes) states_[x] = states_[kRowStates + x] = 0;
        CUDAENC_NO_UNROLL
        for (int y = 0; warp_any(decodes && 2 * y < b_.height); y++) {
            const uint16_t *above = states_ + (y & 1) * kRowStates + 1;
            uint16_t *now = states_ + (~y & 1) * kRowStates + 1;
            int x0 = 0;
            do {
                const int x = x0 + Lanes<kLanes>::own();
                const bool is_there = decodes && 2 * y < b_.height && x < columns_;
                if (!decode_quads(bits, is_there ? quads[y * columns_ + x] : 0, above, now, x, y, is_there))
                    decodes = false;
                x0 += kLanes;
            } while (warp_any(decodes && x0 < columns_));
        }
        return decodes;
    }

  private:
    // A lane a quad: what HtQuad has of it, and whether there is one.
    DEVICE_MEMBER bool decode_quads(MagSgnWindow<kLanes> &bits, uint32_t word, const uint16_t *above, uint16_t *now,
                                    int x, int y, bool is_there) const {
        const HtQuad quad{word};
        warp_sync();  // the row above is there
        const uint32_t rho = quad.rho();
        int U = 0;
        if (rho) U = predicted_exponent(rho, {0, above[x - 1], above[x], above[x + 1]}) + quad.u();
        const bool too_many = Lanes<kLanes>::any(U > 32);
        int counts[4], sum = 0;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) sum += counts[i] = !too_many && rho >> i & 1 ? U - quad.e_k(i) : 0;
        const uint32_t up_to = Lanes<kLanes>::inclusive_add(static_cast<uint32_t>(sum)),
                       all = Lanes<kLanes>::of_last(up_to);
        bits.need(all);
        uint32_t at = up_to - static_cast<uint32_t>(sum), samples[4], exponents[4];
        bool exceeding = too_many;
        CUDAENC_UNROLL
        for (int i = 0; i < 4; i++) {
            const int count = counts[i];
            const uint32_t has = 0u - (rho >> i & 1);  // all ones where it is significant
            const uint32_t value = bits.peek(at) & static_cast<uint32_t>((uint64_t{1} << count) - 1);
            const HtDecodedSample decoded = ht_decoded_sample(value, count, quad.e_1(i), plane_);
            exceeding |= has && decoded.exceeding;
            samples[i] = decoded.coefficient & has;
            exponents[i] = decoded.exponent & has;
            at += static_cast<uint32_t>(count);
        }
        bits.skip(all);
        if (Lanes<kLanes>::any(exceeding)) return false;
        if (is_there) {
            now[x] =
                static_cast<uint16_t>(quad_state(rho, static_cast<int>(exponents[1]), static_cast<int>(exponents[3])));
            store(samples, x, y);
        }
        return true;
    }
    DEVICE_MEMBER void store(const uint32_t (&samples)[4], int x, int y) const {
        uint32_t *const to = to_ + static_cast<uint64_t>(2 * y) * b_.stride + 2 * x;
        const bool right = 2 * x + 1 < b_.width, below = 2 * y + 1 < b_.height;
        to[0] = samples[0];
        if (right) to[1] = samples[2];
        if (below) to[b_.stride] = samples[1];
        if (right && below) to[b_.stride + 1] = samples[3];
    }

    const DecoderBlock &b_;
    const int plane_;
    uint32_t *const to_;
    const int columns_;
    uint16_t *const states_;
};

// ---- Refinement (7.4, 7.5)

// A warp a block, a lane a sample of a word. Which bit is whose is one after the other, and all lanes work it out.
class HtRefinement {
  public:
    // by_cleanup, significant: [words of the block]
    DEVICE_MEMBER HtRefinement(const CodedBlocks &coded, const HtPasses &passes, uint32_t *by_cleanup,
                               uint32_t *significant)
        : b_(passes.block),
          plane_(passes.set.plane),
          to_(coded.coefficients + b_.coefficients),
          columns_((b_.width + 7) / 8),
          stripes_((b_.height + 3) / 4),
          by_cleanup_(by_cleanup),
          significant_(significant) {}

    DEVICE_MEMBER void decode(const HtBytes &bytes, uint32_t passes) {
        warp_sync();  // the coefficients are there
        for (int i = 0; i < columns_ * stripes_; i++) {
            const uint32_t *const sample = own_sample(i % columns_, i / columns_);
            const uint32_t word = warp_ballot(sample && *sample);
            if (lane_id() == 0) by_cleanup_[i] = significant_[i] = word;
        }
        warp_sync();
        propagate(bytes);
        if (passes > 1) refine(bytes);
    }

  private:
    // The lane's sample of a word; nullptr: it is not in the block.
    DEVICE_MEMBER uint32_t *own_sample(int x, int y) const {
        const int column = 8 * x + lane_id() / 4, row = 4 * y + lane_id() % 4;
        return column < b_.width && row < b_.height ? to_ + static_cast<uint64_t>(row) * b_.stride + column : nullptr;
    }
    DEVICE_MEMBER uint32_t load(int x, int y) const {
        return x < columns_ && y >= 0 && y < stripes_ ? significant_[y * columns_ + x] : 0;
    }

    // Four columns of a stripe at a time: significance, then signs.
    DEVICE_MEMBER void propagate(const HtBytes &bytes) {
        HtForwards bits(bytes, 0);
        const uint32_t own_bit = 1u << lane_id();
        for (int y = 0; y < stripes_; y++) {
            const int below_y = b_.style & kVerticallyCausal ? stripes_ : y + 1;  // nothing is there
            Window above, own, below;
            above.right = load(0, y - 1);
            own.right = load(0, y);
            below.right = load(0, below_y);
            for (int x = 0; x < columns_; x++) {
                above.shift(load(x + 1, y - 1));
                own.shift(load(x + 1, y));
                below.shift(load(x + 1, below_y));
                Word word;
                word.own = own.widened();
                word.north = north_of(word.own, above.widened());
                word.south = south_of(word.own, below.widened());
                const uint32_t uncoded = samples_within(b_.width - 8 * x, b_.height - 4 * y) & ~own.own;
                for (uint32_t half = 0xFFFF; half; half <<= 16) {
                    const uint32_t found = find(bits, word, uncoded & half);
                    const uint32_t signs = bits.get(popcount(found));
                    if (found & own_bit)
                        *own_sample(x, y) = (signs >> popcount(found & (own_bit - 1)) & 1) << 31 | 3u << (plane_ - 1);
                }
                own.own = word.significant();
                warp_sync();  // others have read what is here
                if (lane_id() == 0) significant_[y * columns_ + x] = own.own;
                warp_sync();
            }
        }
    }
    // Of four columns the samples that become significant.
    DEVICE_MEMBER static uint32_t find(HtForwards &bits, Word &word, uint32_t uncoded) {
        uint32_t members = uncoded & word.near(), found = 0;
        bits.fill();
        while (members) {
            const uint32_t bit = members & (0u - members);
            members ^= bit;
            if (!bits.get(1)) continue;
            found |= bit;
            members |= word.add(bit, 0) & uncoded;
        }
        return found;
    }

    DEVICE_MEMBER void refine(const HtBytes &bytes) {
        HtBackwards bits(bytes, 0xFF);
        const uint32_t own_bit = 1u << lane_id();
        for (int i = 0; i < columns_ * stripes_; i++) {
            const uint32_t word = by_cleanup_[i];
            bits.fill();
            const uint32_t values = bits.get(popcount(word));
            if (word & own_bit)
                *own_sample(i % columns_, i / columns_) ^=
                    (~values >> popcount(word & (own_bit - 1)) & 1) << plane_ | 1u << (plane_ - 1);
        }
    }

    const DecoderBlock &b_;
    const int plane_;  // of the cleanup pass
    uint32_t *const to_;
    const int columns_, stripes_;  // of words
    uint32_t *const by_cleanup_, *const significant_;
};

template <int kLanes>
DEVICE void decode_samples(const HtDecodeInput &p) {
    constexpr int kMostWords = 256, kShares = 32 / kLanes, kWindow = kShares * MagSgnWindow<kLanes>::kWords,
                  kStates = HtSamples<kLanes>::kStates;
    SHARED(uint32_t, window, kHtSampleWarps *kWindow);
    SHARED(uint32_t, significant, kHtSampleWarps *kMostWords);
    SHARED(uint16_t, states, kHtSampleWarps *kShares *kStates);
    static_assert(kWindow >= kMostWords);
    const int warp = warp_id(), share = warp * kShares + lane_id() / kLanes;
    const uint32_t first = static_cast<uint32_t>(block_x() * kHtSampleWarps + warp) * kShares, count = *p.coded.count;
    if (first >= count) return;
    const bool is_there = first + static_cast<uint32_t>(lane_id() / kLanes) < count;
    const uint32_t index = is_there ? first + static_cast<uint32_t>(lane_id() / kLanes) : first;
    const HtPasses passes(p.coded, index);
    const HtSet &set = passes.set;
    HtSamples<kLanes> samples(p.coded, passes, &states[share * kStates]);
    const uint32_t *const quads = p.quads + static_cast<uint64_t>(index) * (1 + p.most_quads);
    const bool has_bytes = is_there && set.cleanup >= 0;
    const bool may_be_whole = has_bytes && quads[0] && set.plane >= 0 && set.plane < kMaxDecodedPlanes &&
                              !(set.refinement_passes && !set.plane);
    uint32_t at = 0, bytes = 0;  // of MagSgn
    if (may_be_whole) {
        const DecoderSegment &segment = passes.segment(p.coded, set.cleanup);
        at = segment.at;
        bytes = segment.bytes - ht_suffix(p.coded.bytes + segment.at, segment.bytes);
    }
    MagSgnWindow<kLanes> bits(&window[share * static_cast<int>(MagSgnWindow<kLanes>::kWords)], p.coded.bytes, at,
                              bytes);
    const bool whole = samples.decode(bits, quads + 1, may_be_whole);
    samples.clear(is_there && !whole);
    if (has_bytes && !whole && Lanes<kLanes>::own() == 0) atomic_add(p.coded.damaged, 1u);
    // The whole warp refines its blocks, one after the other.
    const uint32_t refined = warp_ballot(whole && set.refinement_passes);
    CUDAENC_NO_UNROLL
    for (int i = 0; i < kShares; i++) {
        if (!(refined >> i * kLanes & 1)) continue;
        const HtPasses of_block(p.coded, first + static_cast<uint32_t>(i));
        const DecoderSegment &segment = of_block.segment(p.coded, of_block.set.refinement);
        HtRefinement(p.coded, of_block, &window[warp * kWindow], &significant[warp * kMostWords])
            .decode({p.coded.bytes + segment.at, segment.bytes}, of_block.set.refinement_passes);
    }
}

KERNEL(kHtSampleWarps * 32, j2k_t1_ht_samples, HtSamplesParams)
{
    decode_samples<16>(p);
}

KERNEL(kHtSampleWarps * 32, j2k_t1_ht_samples_large, HtSamplesLargeParams)
{
    decode_samples<32>(p);
}

}  // namespace cudaenc::j2k
