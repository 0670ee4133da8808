// SPDX-License-Identifier: LGPL-2.1-or-later
// MQ decoding of whole blocks (T.800 Annexes C, D), a lane a block. The lanes of a warp take the same word of the same
// pass at once, and wait where others have more to decode in it.
#include "../../../common/j2k/codestream/coefficient.h"
#include "../../../common/j2k/t1/block_decoder.h"
#include "../../../common/j2k/t1/mq_decoder.h"
#include "../../device.cuh"
#include "codeword_words.cuh"
#include "mq_decode_params.h"
#include "sample_words.cuh"

namespace cudaenc::j2k {

// What lanes of a warp share: MqDecodeTables in shared memory.
struct MqTables {
    const MqState *rows;
    const uint8_t *codings;
};

class MqLane {
  public:
    // contexts, significant, negative: the lane's columns, the latter two in rows of `stride`.
    DEVICE_MEMBER MqLane(const MqDecodeInput &p, const DecoderBlock &block, const MqTables &tables, MqState *contexts,
                         uint32_t *significant, uint32_t *negative, int stride, uint32_t *planes)
        : p_(p),
          b_(block),
          tables_(tables),
          zero_codings_(512u * (block.orientation == kHH   ? kHH
                                : block.orientation == kHL ? kLH
                                                           : kHL)),  // transposed
          contexts_(contexts),
          significant_(significant),
          negative_(negative),
          planes_(planes),
          stride_(stride),
          columns_((block.width + 7) / 8),
          stripes_((block.height + 3) / 4) {}

    // Whether the block is whole.
    DEVICE_MEMBER bool run() {
        for (int i = 0; i < columns_ * stripes_; i++) significant_[i * stride_] = negative_[i * stride_] = 0;
        reset_contexts();
        const bool whole = b_.planes <= p_.most_planes && decode();
        write();
        return whole;
    }

  private:
    DEVICE_MEMBER bool decode() {
        const int most = coding_passes(b_.planes);
        CUDAENC_NO_UNROLL
        for (int i = 0; i < b_.segments; i++) {
            const DecoderSegment &segment = p_.coded.segments[b_.first_segment + static_cast<uint32_t>(i)];
            const int end = passes_ + static_cast<int>(segment.passes);
            if (end > most || end - 1 > segment_end(b_.style, passes_)) return false;
            const CodewordWords bytes(p_.coded.bytes, segment.at, segment.bytes);
            if (!(is_raw(b_.style, passes_) ? decode_raw(bytes, end) : decode_coded(bytes, end))) return false;
        }
        return true;
    }
    DEVICE_MEMBER bool decode_raw(const CodewordWords &bytes, int end) {
        RawReaderOf<CodewordWords> raw(bytes);
        CUDAENC_NO_UNROLL
        for (; passes_ < end; passes_++)
            if (pass_kind(passes_) == kSignificancePropagation)
                propagate<true>(raw);
            else
                refine<true>(raw);
        return true;
    }
    DEVICE_MEMBER bool decode_coded(const CodewordWords &bytes, int end) {
        MqDecoderOf<CodewordWords> mq(bytes);
        CUDAENC_NO_UNROLL
        while (passes_ < end) {
            const int kind = pass_kind(passes_);
            if (kind == kSignificancePropagation)
                propagate<false>(mq);
            else if (kind == kMagnitudeRefinement)
                refine<false>(mq);
            else
                clean_up(mq);
            passes_++;
            if (kind == kCleanUp && (b_.style & kSegmentationSymbols) && !has_symbols(mq)) return false;
            if (b_.style & kReset) reset_contexts();
        }
        return true;
    }
    template <class Mq>
    DEVICE_MEMBER bool has_symbols(Mq &mq) {  // D.5
        uint32_t symbols = 0;
        CUDAENC_NO_UNROLL
        for (int i = 0; i < 4; i++) symbols = symbols << 1 | decode(mq, kUniform);
        return symbols == 10;
    }
    DEVICE_MEMBER void reset_contexts() {
        for (int i = 0; i < kContexts; i++) contexts_[i * 32] = tables_.rows[mq_initial_row(i)];
    }
    template <class Mq>
    DEVICE_MEMBER uint32_t decode(Mq &mq, uint32_t context) {
        return mq.decode(contexts_[context * 32], tables_.rows);
    }

    // ---- Words

    DEVICE_MEMBER int plane() const { return b_.planes - 1 - (passes_ + 2) / 3; }
    DEVICE_MEMBER uint32_t &visited(uint32_t word) const { return planes_[word * p_.lanes]; }
    DEVICE_MEMBER uint32_t &refined(uint32_t word) const { return planes_[(p_.most_words + word) * p_.lanes]; }
    DEVICE_MEMBER uint32_t &bits(uint32_t word, int plane) const {
        return planes_[((static_cast<uint32_t>(plane) + 2) * p_.most_words + word) * p_.lanes];
    }
    DEVICE_MEMBER uint32_t load(const uint32_t *array, int x, int y) const {
        return x < columns_ && y >= 0 && y < stripes_ ? array[(y * columns_ + x) * stride_] : 0;
    }
    // Calls body(word) for each word in the order of the scan, and stores what became significant.
    template <bool kSigns, class Body>
    DEVICE_MEMBER void for_each_word(const Body &body) {
        const bool causal = (b_.style & kVerticallyCausal) != 0;
        uint32_t index = 0;
        CUDAENC_NO_UNROLL
        for (int y = 0; y < stripes_; y++) {
            const int below_y = causal ? stripes_ : y + 1;  // nothing is there
            Window above, own, below, sign;
            above.right = load(significant_, 0, y - 1);
            own.right = load(significant_, 0, y);
            below.right = load(significant_, 0, below_y);
            if (kSigns) sign.right = load(negative_, 0, y);
            CUDAENC_NO_UNROLL
            for (int x = 0; x < columns_; x++, index++) {
                above.shift(load(significant_, x + 1, y - 1));
                own.shift(load(significant_, x + 1, y));
                below.shift(load(significant_, x + 1, below_y));
                Word word;
                word.index = index;
                word.valid = samples_within(b_.width - 8 * x, b_.height - 4 * y);
                word.own = own.widened();
                word.north = north_of(word.own, above.widened());
                word.south = south_of(word.own, below.widened());
                if (kSigns) {
                    sign.shift(load(negative_, x + 1, y));
                    word.negative = sign.widened();
                    word.negative_north = north_of(sign.own, load(negative_, x, y - 1));
                    word.negative_south = south_of(sign.own, load(negative_, x, below_y));
                }
                body(word);
                if (kSigns && word.added) {
                    significant_[index * stride_] = own.own = word.significant();
                    negative_[index * stride_] = sign.own = word.signs();
                }
            }
        }
    }

    // What a lane decodes next. Lanes of a warp have different ones, so that all pass through the same code.
    enum Next { kZero, kSign, kSecondPlaceBit, kFirstPlaceBit };

    // Decodes which of a word's samples become significant, and their signs, where the scan meets a member (D.3.1). In
    // run-length mode (D.3.4) a column of four members has one decision if none does, and else two that tell the first
    // one. uncoded: samples that may become members. Returns those that were.
    template <bool kCleanUp, bool kRaw, class Source>
    DEVICE_MEMBER uint32_t find_significant(Source &source, Word &word, uint32_t members, uint32_t uncoded) {
        uint32_t visited = 0;
        int i = 0;
        Next next = kZero;
        while (members || next != kZero) {
            if (next == kZero) i = find_first_set(members);
            const Neighbours n = word.neighbours(i);
            bool run = false;
            uint32_t decision;
            if constexpr (kRaw) {
                decision = source.get();
            } else {
                const uint32_t of_sign = kSignCodings + word.sign_index(i, n), of_zero = zero_codings_ + n.around();
                uint32_t coding = tables_.codings[next == kSign ? of_sign : of_zero];
                if constexpr (kCleanUp) {
                    // The whole column is left, and nothing around it is significant.
                    run = next == kZero && i % 4 == 0 && (members >> i & 15) == 15 &&
                          !((n.north | n.middle | n.south) & 0xFFF);
                    if (run) coding = kRunLength << 1;
                    if (next > kSign) coding = kUniform << 1;
                }
                decision = decode(source, coding >> 1) ^ (coding & 1);
            }
            const uint32_t bit = 1u << i;
            if (next == kSign) {
                const uint32_t reached = word.add(bit, decision);
                if (!kCleanUp) members |= reached & uncoded;
                next = kZero;
            } else if (kCleanUp && next != kZero) {
                i += static_cast<int>(decision) << (next == kFirstPlaceBit);
                members &= next == kFirstPlaceBit ? members : ~((2u << i) - 1);
                next = next == kFirstPlaceBit ? kSecondPlaceBit : kSign;
            } else {
                members ^= run && !decision ? 15 * bit : bit;
                visited |= bit;
                if (decision) next = run ? kFirstPlaceBit : kSign;
            }
        }
        return visited;
    }

    // D.3.1
    template <bool kRaw, class Source>
    DEVICE_MEMBER void propagate(Source &source) {
        const int plane = this->plane();
        for_each_word<true>([&](Word &word) {
            const uint32_t uncoded = word.valid & ~word.significant();
            visited(word.index) = find_significant<false, kRaw>(source, word, uncoded & word.near(), uncoded);
            bits(word.index, plane) = word.added;
        });
    }

    // D.3.3
    template <bool kRaw, class Source>
    DEVICE_MEMBER void refine(Source &source) {
        const int plane = this->plane();
        const bool first = passes_ == 2;
        for_each_word<false>([&](Word &word) {
            uint32_t members = word.significant() & ~visited(word.index);
            if (!members && !first) return;
            const uint32_t again = first ? 0 : refined(word.index), near = word.near();
            refined(word.index) = members;  // all that were significant before this bit-plane
            uint32_t ones = 0;
            while (members) {
                const int i = find_first_set(members);
                members &= members - 1;
                uint32_t decision;
                if constexpr (kRaw)
                    decision = source.get();
                else
                    decision =
                        decode(source, static_cast<uint32_t>(kRefinement) + (again >> i & 1 ? 2 : near >> i & 1));
                ones |= decision << i;
            }
            if (ones) bits(word.index, plane) |= ones;
        });
    }

    // D.3.4
    template <class Mq>
    DEVICE_MEMBER void clean_up(Mq &mq) {
        const int plane = this->plane();
        const bool first = passes_ == 0;
        for_each_word<true>([&](Word &word) {
            const uint32_t coded = word.significant() | (first ? 0 : visited(word.index));
            find_significant<true, false>(mq, word, word.valid & ~coded, 0);
            if (first)
                bits(word.index, plane) = word.added;
            else if (word.added)
                bits(word.index, plane) |= word.added;
        });
    }

    // ---- Coefficients

    DEVICE_MEMBER void write() {
        const int last = b_.planes - 1 - (passes_ + 1) / 3;  // of the bit-planes that were decoded
        // The significance propagation alone knows of its own samples only.
        const bool is_partial = passes_ && pass_kind(passes_ - 1) == kSignificancePropagation;
        uint32_t index = 0;
        CUDAENC_NO_UNROLL
        for (int y = 0; y < stripes_; y++) CUDAENC_NO_UNROLL
        for (int x = 0; x < columns_; x++, index++) {
            uint32_t word[32];  // by bits, then by samples
            const uint32_t significant = passes_ ? significant_[index * stride_] : 0;
            const uint32_t known = is_partial ? bits(index, last) : significant;
            CUDAENC_UNROLL
            for (int q = 0; q < 31; q++) {
                const int plane = q - 1;
                word[q] = significant && plane >= last && plane < b_.planes ? bits(index, plane) : 0;
                word[q] |= q == last ? known : q == last + 1 ? significant & ~known : 0;
            }
            word[31] = negative_[index * stride_];
            transpose_stage<16>(word, 0x0000FFFFu);
            transpose_stage<8>(word, 0x00FF00FFu);
            transpose_stage<4>(word, 0x0F0F0F0Fu);
            transpose_stage<2>(word, 0x33333333u);
            transpose_stage<1>(word, 0x55555555u);
            store(word, 8 * x, 4 * y);
        }
    }
    DEVICE_MEMBER void store(const uint32_t (&samples)[32], int x0, int y0) const {
        uint32_t *const to = p_.coded.coefficients + b_.coefficients + static_cast<uint64_t>(y0) * b_.stride + x0;
        CUDAENC_UNROLL
        for (int y = 0; y < 4; y++) CUDAENC_UNROLL
        for (int x = 0; x < 8; x++)
            if (x0 + x < b_.width && y0 + y < b_.height)
                to[static_cast<uint64_t>(y) * b_.stride + static_cast<uint32_t>(x)] = samples[4 * x + y];
    }

    const MqDecodeInput &p_;
    const DecoderBlock b_;
    const MqTables tables_;
    const uint32_t zero_codings_;  // where those of the sub-band begin
    MqState *const contexts_;
    uint32_t *const significant_, *const negative_;
    uint32_t *const planes_;
    const int stride_;             // of significant_ and negative_
    const int columns_, stripes_;  // of words
    int passes_ = 0;               // that were decoded
};

// kRoom: words of all lanes, in rows of `stride`.
template <uint32_t kRoom>
DEVICE void decode_blocks(const MqDecodeInput &p, int stride) {
    SHARED(uint32_t, words, kMqDecodeTableWords);
    SHARED(MqState, contexts, kContexts * 32);
    SHARED(uint32_t, significant, kRoom);
    SHARED(uint32_t, negative, kRoom);
    const int lane = thread_x();
    for (uint32_t i = static_cast<uint32_t>(lane); i < kMqDecodeTableWords; i += kMqDecodeThreads)
        words[i] = load_readonly(reinterpret_cast<const uint32_t *>(p.tables) + i);
    block_sync();
    const uint32_t count = *p.coded.count, warp = static_cast<uint32_t>(block_x());
    const uint32_t index = warp * static_cast<uint32_t>(p.lanes) + static_cast<uint32_t>(lane);
    if (lane >= p.lanes || index >= count) return;
    uint32_t *const planes = p.planes + warp * mq_planes_words(p.lanes, p.most_words, p.most_planes) + lane;
    const MqTables tables{opaque_shared<const MqState>(&words[0]),
                          opaque_shared<const uint8_t>(reinterpret_cast<const uint8_t *>(&words[kMqRows]))};
    MqLane block(p, p.coded.blocks[index], tables, opaque_shared<MqState>(&contexts[lane]),
                 opaque_shared<uint32_t>(&significant[lane]), opaque_shared<uint32_t>(&negative[lane]), stride, planes);
    if (!block.run()) atomic_add(p.coded.damaged, 1u);
}

KERNEL(kMqDecodeThreads, j2k_t1_mq_decode, MqDecodeParams)
{
    decode_blocks<kMqDecodeRoom>(p, mq_decode_lanes(kMqDecodeWords));
}

KERNEL(kMqDecodeThreads, j2k_t1_mq_decode_large, MqDecodeLargeParams)
{
    decode_blocks<kMqDecodeLargeRoom>(p, mq_decode_lanes(p.most_words));
}

}  // namespace cudaenc::j2k
