// SPDX-License-Identifier: LGPL-2.1-or-later
// Tier-1 backwards on the CPU (T.800 Annex D): a word of flags for each column of a stripe, which knows the
// significance of all neighbours, so that columns with nothing to do are passed by at once.
#include <algorithm>
#include <array>
#include <memory>

#include "../codestream/coefficient.h"
#include "block_decoder.h"
#include "context_tables.h"
#include "mq_decoder.h"
#include "styles.h"

namespace cudaenc::j2k {

namespace {

// Flags of a stripe's column. Significance of 6 rows x 3 columns around it: bit 3 * row + column, row 0 the one above,
// column 0 the one to the west. Signs of its own column's 6 rows. Of its own four rows: whether the significance
// propagation has coded them in this bit-plane, and whether they were refined.
using Flags = uint32_t;
constexpr int kSigns = 18, kVisited = 24, kRefined = 28;
constexpr Flags kSignificance = (1u << kSigns) - 1;
constexpr Flags kAllVisited = 15u << kVisited;
constexpr Flags own_bit(int row) { return 16u << 3 * row; }
constexpr Flags kOwn = own_bit(0) | own_bit(1) | own_bit(2) | own_bit(3);
// The 3 x 3 samples around a row's, bits from 0: its own in the middle.
constexpr uint32_t around(Flags flags, int row) { return flags >> 3 * row & 511; }
constexpr uint32_t kMiddle = 16;

// North, west, east, south: whether they are significant, and above that bit whether they are negative.
uint32_t sign_index(Flags own, Flags west, Flags east, int row) {
    const auto sign = [row](Flags flags, int at) { return flags >> (kSigns + row + at) & 1; };
    return (around(own, row) >> 1 & 0x55) | sign(own, 0) << 1 | sign(west, 1) << 3 | sign(east, 1) << 5 |
           sign(own, 2) << 7;
}

class Decoder {
  public:
    Decoder(const BlockToDecode &block, const BlockSamples &to)
        : b_(block),
          to_(to),
          stride_(to.stride),
          pitch_(static_cast<size_t>(block.width) + 2),
          causal_((block.style & kVerticallyCausal) != 0),
          zero_coding_(tables().zero_coding[block.orientation]) {
        const size_t stripes = static_cast<size_t>(block.height + 3) / 4;
        std::fill_n(flags_.begin(), pitch_ * (stripes + 2), Flags{0});
        for (int y = 0; y < block.height; y++)
            std::fill_n(to.coefficients + static_cast<size_t>(y) * to.stride, block.width, 0u);
        reset_contexts();
    }

    bool decode() {
        const uint8_t *bytes = b_.bytes;
        int pass = 0;
        for (const CodewordSegment &segment : b_.segments) {
            const std::span<const uint8_t> codeword(bytes, segment.bytes);
            bytes += segment.bytes;
            const int end = pass + static_cast<int>(segment.passes);
            if (end > coding_passes(b_.planes) || end - 1 > segment_end(b_.style, pass)) return false;
            if (is_raw(b_.style, pass)) {
                RawReader raw{CodewordBytes(codeword)};
                for (; pass < end; pass++) decode_pass<RawPass>(pass, raw);
                continue;
            }
            MqDecoder mq{CodewordBytes(codeword)};
            for (; pass < end; pass++) {
                decode_pass<MqPass>(pass, mq);
                if (pass_kind(pass) == kCleanUp && (b_.style & kSegmentationSymbols) && !has_symbols(mq)) return false;
                if (b_.style & kReset) reset_contexts();
            }
        }
        return true;
    }

  private:
    static const ContextTables &tables() {
        static const ContextTables all;
        return all;
    }
    void reset_contexts() {
        for (int i = 0; i < kContexts; i++) contexts_[static_cast<size_t>(i)] = kMqTable.row[mq_initial_row(i)];
    }
    bool has_symbols(MqDecoder &mq) {  // D.5
        uint32_t symbols = 0;
        for (int i = 0; i < 4; i++) symbols = symbols << 1 | mq.decode(contexts_[kUniform], kMqTable.row);
        return symbols == 10;
    }

    // How decisions are read: by the MQ decoder with contexts, or as they are.
    struct MqPass {
        using Reader = MqDecoder;
        static constexpr bool kHasContexts = true;
    };
    struct RawPass {
        using Reader = RawReader;
        static constexpr bool kHasContexts = false;
    };

    template <class Pass>
    void decode_pass(int pass, typename Pass::Reader &from) {
        typename Pass::Reader reader = from;  // its registers
        const int plane = b_.planes - 1 - (pass + 2) / 3;
        const int kind = pass_kind(pass);
        for (int y = 0; y < b_.height; y += 4) {
            Flags *flags = &flags_[(static_cast<size_t>(y) / 4 + 1) * pitch_ + 1];
            uint32_t *samples = to_.coefficients + static_cast<size_t>(y) * to_.stride;
            if (y + 4 <= b_.height)
                decode_stripe<Pass, 4>(reader, kind, flags, samples, 4, plane);
            else
                decode_stripe<Pass, 3>(reader, kind, flags, samples, b_.height - y, plane);
        }
        from = reader;
    }

    // Most: rows of a stripe at most, all of them where it is 4.
    template <class Pass, int Most>
    [[gnu::always_inline]] void decode_stripe(typename Pass::Reader &reader, int kind, Flags *flags, uint32_t *samples,
                                              int rows, int plane) {
        if (kind == kSignificancePropagation)
            propagate<Pass, Most>(reader, flags, samples, rows, plane);
        else if (kind == kMagnitudeRefinement)
            refine<Pass, Most>(reader, flags, samples, rows, plane);
        else if constexpr (Pass::kHasContexts)
            clean_up<Most>(reader, flags, samples, rows, plane);
    }

    template <class Pass>
    [[gnu::always_inline]] uint32_t read(typename Pass::Reader &reader, uint32_t context) {
        if constexpr (Pass::kHasContexts)
            return reader.decode(contexts_[context], kMqTable.row);
        else
            return reader.get();
    }

    // A sample of column f becomes significant: its sign, and what its neighbours know of it. flags: of the column,
    // which are not at f yet.
    template <class Pass>
    [[gnu::always_inline]] void become_significant(typename Pass::Reader &reader, Flags *f, Flags &flags,
                                                   uint32_t *sample, int row, int plane) {
        uint32_t negative;
        if constexpr (Pass::kHasContexts) {
            const uint32_t coding = tables_.sign[sign_index(flags, f[-1], f[1], row)];
            negative = reader.decode(contexts_[coding >> 1], kMqTable.row) ^ (coding & 1);
        } else {
            negative = reader.get();
        }
        *sample = negative << 31 | 3u << plane;
        const int at = 3 * (row + 1);
        f[-1] |= 4u << at;
        flags |= 2u << at | negative << (kSigns + row + 1);
        f[1] |= 1u << at;
        if (row == 0 && !causal_) {
            Flags *above = f - pitch_;
            above[-1] |= 4u << 15;
            above[0] |= 2u << 15 | negative << (kSigns + 5);
            above[1] |= 1u << 15;
        }
        if (row == 3) {
            Flags *below = f + pitch_;
            below[-1] |= 4u;
            below[0] |= 2u | negative << kSigns;
            below[1] |= 1u;
        }
    }

    template <class Pass, int Most>
    [[gnu::always_inline]] void propagate(typename Pass::Reader &reader, Flags *f, uint32_t *samples, int rows,
                                          int plane) {
        for (int x = 0; x < b_.width; x++, f++, samples++) {
            Flags flags = *f;
            if (!(flags & kSignificance)) continue;
#pragma GCC unroll 4
            for (int row = 0; row < Most; row++) {
                if (Most < 4 && row >= rows) break;
                const uint32_t near = around(flags, row);
                if ((near & kMiddle) || !near) continue;
                if (read<Pass>(reader, zero_coding_[near]))
                    become_significant<Pass>(reader, f, flags, samples + static_cast<size_t>(row) * stride_, row,
                                             plane);
                flags |= 1u << (kVisited + row);
            }
            *f = flags;
        }
    }

    template <class Pass, int Most>
    [[gnu::always_inline]] void refine(typename Pass::Reader &reader, Flags *f, uint32_t *samples, int rows,
                                       int plane) {
        for (int x = 0; x < b_.width; x++, f++, samples++) {
            Flags flags = *f;
            if (!(flags & kOwn)) continue;
#pragma GCC unroll 4
            for (int row = 0; row < Most; row++) {
                if (Most < 4 && row >= rows) break;
                if ((flags & (own_bit(row) | 1u << (kVisited + row))) != own_bit(row)) continue;
                const uint32_t context = flags & 1u << (kRefined + row)          ? kRefinement + 2
                                         : around(flags, row) & (511 & ~kMiddle) ? kRefinement + 1
                                                                                 : kRefinement;
                const uint32_t bit = read<Pass>(reader, context);
                // The half that was the middle becomes the bit, and half of that the middle.
                samples[static_cast<size_t>(row) * stride_] ^= (bit ^ 1) << (plane + 1) | 1u << plane;
                flags |= 1u << (kRefined + row);
            }
            *f = flags;
        }
    }

    template <int Most>
    [[gnu::always_inline]] void clean_up(MqDecoder &reader, Flags *f, uint32_t *samples, int rows, int plane) {
        for (int x = 0; x < b_.width; x++, f++, samples++) {
            Flags flags = *f;
            int first = 0;
            if (Most == 4 && !(flags & (kSignificance | kAllVisited))) {  // run-length mode (D.3.4)
                if (!reader.decode(contexts_[kRunLength], kMqTable.row)) continue;
                int row = static_cast<int>(reader.decode(contexts_[kUniform], kMqTable.row) << 1);
                row |= static_cast<int>(reader.decode(contexts_[kUniform], kMqTable.row));
                become_significant<MqPass>(reader, f, flags, samples + static_cast<size_t>(row) * stride_, row, plane);
                first = row + 1;
            }
#pragma GCC unroll 4
            for (int row = 0; row < Most; row++) {
                if (Most < 4 && row >= rows) break;
                if (row < first || (flags & (own_bit(row) | 1u << (kVisited + row)))) continue;
                if (reader.decode(contexts_[zero_coding_[around(flags, row)]], kMqTable.row))
                    become_significant<MqPass>(reader, f, flags, samples + static_cast<size_t>(row) * stride_, row,
                                               plane);
            }
            *f = flags & ~kAllVisited;
        }
    }

    // The most words of flags: a row of them above the first stripe, one below the last, a column on either side.
    static constexpr size_t kMostFlags = (1024 + 2) * 3;
    static_assert((4 + 2) * (256 + 2) < kMostFlags && (64 + 2) * (16 + 2) < kMostFlags && (512 + 2) * 4 < kMostFlags);

    const BlockToDecode &b_;
    const BlockSamples to_;
    const size_t stride_, pitch_;  // of samples, of flags
    const bool causal_;
    const uint8_t *const zero_coding_;
    const ContextTables &tables_ = tables();
    std::array<MqState, kContexts> contexts_;
    std::array<Flags, kMostFlags> flags_;
};

}  // namespace

bool decode_mq_block(const BlockToDecode &block, const BlockSamples &to) {
    const bool allowed = block.planes <= kMaxDecodedPlanes;
    BlockToDecode b = block;
    if (!allowed) b.segments = {};
    return Decoder(b, to).decode() && allowed;
}

}  // namespace cudaenc::j2k
