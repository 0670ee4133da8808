// SPDX-License-Identifier: LGPL-2.1-or-later
// HT block decoding on the CPU (ITU-T T.814 Clause 7): a cleanup pass, quad pair by quad pair, and the refinement of
// what it left.
#include <algorithm>
#include <array>
#include <bit>

#include "../codestream/coefficient.h"
#include "block_decoder.h"
#include "ht_decoder.h"

namespace cudaenc::j2k {

namespace {

HtBytes bytes_of(std::span<const uint8_t> bytes) { return {bytes.data(), bytes.size()}; }

class Cleanup {
  public:
    // suffix: bytes of MEL and VLC.
    Cleanup(const BlockToDecode &b, std::span<const uint8_t> bytes, uint32_t suffix, int plane, const BlockSamples &to)
        : b_(b),
          plane_(plane),
          to_(to),
          columns_((b.width + 1) / 2),
          magsgn_(bytes_of(bytes.first(bytes.size() - suffix)), 0xFF),
          mel_(bytes_of(bytes.subspan(bytes.size() - suffix, suffix - 1))),
          vlc_(bytes_of(bytes.subspan(bytes.size() - suffix, suffix - 2)), 0) {
        vlc_.begin_with_nibble(bytes[bytes.size() - 2]);
    }
    bool decode() {
        states_[0].fill(0);
        for (int y = 0; 2 * y < b_.height; y++) {
            const uint32_t *above = states_[y & 1].data() + 1;
            uint32_t *now = states_[~y & 1].data() + 1;
            now[-1] = now[columns_] = 0;
            if (!(y ? decode_row<false>(y, above, now) : decode_row<true>(y, above, now))) return false;
        }
        return !vlc_.is_exceeded();
    }

  private:
    // above, now: quad_state() of the quads, 0 to the left and to the right.
    template <bool FirstRow>
    bool decode_row(int y, const uint32_t *above, uint32_t *now) {
        for (int x = 0; x < columns_; x += 2) {
            vlc_.fill();
            HtDecoded quad[2]{};
            const bool second = x + 1 < columns_;
            if (!read_quad<FirstRow>(above, now, x, quad[0])) return false;
            now[x] = quad[0].rho;  // for the context of the second one
            if (second && !read_quad<FirstRow>(above, now, x + 1, quad[1])) return false;
            int u[2];
            if (!read_u<FirstRow>(quad, mel_, vlc_, u)) return false;
            if (!decode_quad(x, y, above, now, quad[0], u[0])) return false;
            if (second && !decode_quad(x + 1, y, above, now, quad[1], u[1])) return false;
        }
        return true;
    }

    static QuadNeighbours neighbours(const uint32_t *above, const uint32_t *now, int x) {
        return {now[x - 1], above[x - 1], above[x], above[x + 1]};
    }

    template <bool FirstRow>
    bool read_quad(const uint32_t *above, const uint32_t *now, int x, HtDecoded &quad) {
        const uint32_t context = quad_context(FirstRow, neighbours(above, now, x));
        return read_codeword(kHtDecodeTables.entries[FirstRow ? 0 : 1][context], context, mel_, vlc_, quad);
    }

    [[gnu::always_inline]] bool decode_quad(int x, int y, const uint32_t *above, uint32_t *now, const HtDecoded &quad,
                                            int u) {
        const uint32_t rho = quad.rho;
        uint32_t sample[4]{}, exponents[4]{};
        if (rho) {
            const int U = predicted_exponent(rho, neighbours(above, now, x)) + u;
            if (U > 32) return false;
            magsgn_.fill();
            const bool all = 4 * U <= kHtWindow;  // are in the window
            uint64_t exceeding = 0;
            for (int i = 0; i < 4; i++) {
                if (!all) magsgn_.fill();
                const uint32_t has = 0u - (rho >> i & 1);  // all ones where it is significant
                const int bits = (U - (quad.e_k >> i & 1)) & static_cast<int>(has);
                const HtDecodedSample decoded =
                    ht_decoded_sample(magsgn_.get(bits), bits, static_cast<uint32_t>(quad.e_1 >> i & 1), plane_);
                exceeding |= decoded.exceeding;
                exponents[i] = decoded.exponent & has;
                sample[i] = decoded.coefficient & has;
            }
            if (exceeding) return false;
        }
        now[x] = quad_state(rho, static_cast<int>(exponents[1]), static_cast<int>(exponents[3]));
        uint32_t *to = to_.coefficients + static_cast<size_t>(2 * y) * to_.stride + 2 * x;
        const bool right = 2 * x + 1 < b_.width, below = 2 * y + 1 < b_.height;
        to[0] = sample[0];
        if (right) to[1] = sample[2];
        if (below) to[to_.stride] = sample[1];
        if (right && below) to[to_.stride + 1] = sample[3];
        return true;
    }

    const BlockToDecode &b_;
    const int plane_;
    const BlockSamples to_;
    const int columns_;  // of quads
    HtForwards magsgn_;
    MelDecoder mel_;
    HtBackwards vlc_;
    std::array<std::array<uint32_t, 1024 / 2 + 3>, 2> states_;
};

// The significance propagation and the magnitude refinement of the plane below (7.4, 7.5).
class Refinement {
  public:
    // bytes: of its segment.
    Refinement(const BlockToDecode &b, const HtSet &set, std::span<const uint8_t> bytes, const BlockSamples &to)
        : b_(b), set_(set), bytes_(bytes_of(bytes)), to_(to), pitch_(static_cast<size_t>(b.width) + 2) {
        std::fill_n(significant_.begin(), pitch_ * (static_cast<size_t>(b.height) + 2), uint8_t{0});
        for (int y = 0; y < b.height; y++)
            for (int x = 0; x < b.width; x++) at(x, y) = sample(x, y) ? kByCleanup : 0;
    }
    void decode() {
        propagate();
        if (set_.refinement_passes > 1) refine();
    }

  private:
    // Four columns of a stripe at a time: significance, then signs.
    void propagate() {
        HtForwards bits(bytes_, 0);
        for (int y0 = 0; y0 < b_.height; y0 += 4)
            for (int x0 = 0; x0 < b_.width; x0 += 4) {
                struct {
                    int x, y;
                } found[16];
                int count = 0;
                const int x1 = std::min(x0 + 4, b_.width), y1 = std::min(y0 + 4, b_.height);
                bits.fill();
                for (int x = x0; x < x1; x++)
                    for (int y = y0; y < y1; y++) {
                        if (at(x, y) || !has_neighbour(x, y, (b_.style & kVerticallyCausal) && y == y0 + 3)) continue;
                        if (!bits.get(1)) continue;
                        at(x, y) = kByPropagation;
                        found[count++] = {x, y};
                    }
                for (int i = 0; i < count; i++)
                    sample(found[i].x, found[i].y) = bits.get(1) << 31 | 3u << (set_.plane - 1);
            }
    }
    bool has_neighbour(int x, int y, bool causal) {
        const uint8_t *row = &at(x, y), *above = row - pitch_, *below = row + pitch_;
        return row[-1] | row[1] | above[-1] | above[0] | above[1] | (causal ? 0 : below[-1] | below[0] | below[1]);
    }
    void refine() {
        HtBackwards bits(bytes_, 0xFF);
        for (int y0 = 0; y0 < b_.height; y0 += 4)
            for (int x = 0; x < b_.width; x++) {
                bits.fill();
                for (int y = y0; y < std::min(y0 + 4, b_.height); y++)
                    if (at(x, y) == kByCleanup)
                        sample(x, y) ^= (bits.get(1) ^ 1) << set_.plane | 1u << (set_.plane - 1);
            }
    }

    static constexpr uint8_t kByCleanup = 1, kByPropagation = 2;
    uint8_t &at(int x, int y) { return significant_[static_cast<size_t>(y + 1) * pitch_ + static_cast<size_t>(x + 1)]; }
    uint32_t &sample(int x, int y) {
        return to_.coefficients[static_cast<size_t>(y) * to_.stride + static_cast<size_t>(x)];
    }

    const BlockToDecode &b_;
    const HtSet &set_;
    const HtBytes bytes_;
    const BlockSamples to_;
    const size_t pitch_;
    std::array<uint8_t, (1024 + 2) * (4 + 2) + 64> significant_;
};

bool decode_set(const BlockToDecode &b, const HtSet &set, const BlockSamples &to) {
    const auto bytes_of_segment = [&](int index) {
        size_t at = 0;
        for (const CodewordSegment &before : b.segments.first(static_cast<size_t>(index))) at += before.bytes;
        return std::span(b.bytes + at, b.segments[static_cast<size_t>(index)].bytes);
    };
    const std::span<const uint8_t> bytes = bytes_of_segment(set.cleanup);
    const uint32_t suffix = ht_suffix(bytes.data(), static_cast<uint32_t>(bytes.size()));
    if (!suffix || set.plane < 0 || set.plane >= kMaxDecodedPlanes) return false;
    if (!Cleanup(b, bytes, suffix, set.plane, to).decode()) return false;
    if (!set.refinement_passes) return true;
    if (!set.plane) return false;
    Refinement(b, set, bytes_of_segment(set.refinement), to).decode();
    return true;
}

}  // namespace

bool decode_ht_block(const BlockToDecode &block, const BlockSamples &to) {
    const auto clear = [&] {
        for (int y = 0; y < block.height; y++)
            std::fill_n(to.coefficients + static_cast<size_t>(y) * to.stride, block.width, 0u);
    };
    const HtSet set = last_set(block.segments.data(), static_cast<int>(block.segments.size()), block.planes);
    if (set.cleanup < 0) {
        clear();
        return true;
    }
    if (decode_set(block, set, to)) return true;
    clear();
    return false;
}

}  // namespace cudaenc::j2k
