// SPDX-License-Identifier: LGPL-2.1-or-later
// Contexts of single samples, as block decoders look them up.
#pragma once
#include <cstdint>

#include "contexts.h"

namespace cudaenc::j2k {

// By what is around a sample: the contexts of contexts.h, which finds 32 at a time. around: of the 3 x 3 samples around
// it, which are significant, bit 3 * row + column. Transposed they have the contexts of the transposed sub-band.
struct ContextTables {
    uint8_t zero_coding[4][512];  // [orientation][around]
    // [whether N, W, E, S are significant, above each bit whether they are negative]: context << 1 | what the decision
    // is flipped by.
    uint8_t sign[256];
    ContextTables() {
        using Bit = uint32_t;
        for (uint32_t i = 0; i < 512; i++) {
            const auto at = [i](int k) { return Bit{i >> k & 1}; };
            const Around<Bit> a{at(3), at(5), at(1), at(7), at(0), at(2), at(6), at(8)};
            for (int o = kLL; o <= kHH; o++) {
                const ContextBits<Bit> bits = zero_coding_planes(a, o);
                uint32_t context = 0;
                for (int k = 0; k < 5; k++) context |= (bits.bit[k] & 1) << k;
                zero_coding[o][i] = static_cast<uint8_t>(kZeroCoding + context);
            }
        }
        for (uint32_t i = 0; i < 256; i++) {
            const auto at = [i](int k) { return Bit{i >> k & 1}; };
            const Around<Bit> a{at(2), at(4), at(0), at(6), 0, 0, 0, 0},
                negative{at(3), at(5), at(1), at(7), 0, 0, 0, 0};
            const SignBits<Bit> s = sign_coding_planes(a, Bit{0}, negative);
            const uint32_t context = (s.bit[0] & 1) | (s.bit[1] & 1) << 1 | (s.bit[2] & 1) << 2;
            sign[i] = static_cast<uint8_t>((kSignCoding + context) << 1 | (s.decision & 1));
        }
    }
};

}  // namespace cudaenc::j2k
