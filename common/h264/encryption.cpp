// SPDX-License-Identifier: LGPL-2.1-or-later
#include "encryption.h"

#include <algorithm>

namespace cudaenc::h264 {

namespace {

constexpr uint8_t times_x(uint8_t a) { return static_cast<uint8_t>(a << 1 ^ (a & 0x80 ? 0x1B : 0)); }

// S-box: the inverse in GF(2^8), then an affine map. 3 generates the field's multiplicative group.
constexpr std::array<uint8_t, 256> kSBox = [] {
    std::array<uint8_t, 256> box{}, powers{}, logs{};
    uint8_t p = 1;
    for (int i = 0; i < 255; i++) {
        powers[static_cast<size_t>(i)] = p;
        logs[p] = static_cast<uint8_t>(i);
        p ^= times_x(p);
    }
    for (size_t a = 0; a < 256; a++) {
        const uint8_t b = a ? powers[(255 - logs[a]) % 255] : uint8_t{0};
        uint8_t s = 0x63;
        for (int turn = 0; turn < 5; turn++) s ^= static_cast<uint8_t>(b << turn | b >> (8 - turn));
        box[a] = s;
    }
    return box;
}();

}  // namespace

Aes::Aes(std::span<const uint8_t> key) : rounds_(static_cast<int>(key.size() / 4) + 6), round_keys_{} {
    std::copy(key.begin(), key.end(), round_keys_.begin());
    uint8_t constant = 1;
    const size_t words = key.size() / 4;
    for (size_t i = words; i < 4 * static_cast<size_t>(rounds_ + 1); i++) {
        uint8_t word[4];
        std::copy_n(&round_keys_[4 * (i - 1)], 4, word);
        if (i % words == 0) {
            std::rotate(word, word + 1, word + 4);
            for (uint8_t &byte : word) byte = kSBox[byte];
            word[0] ^= constant;
            constant = times_x(constant);
        } else if (words > 6 && i % words == 4) {
            for (uint8_t &byte : word) byte = kSBox[byte];
        }
        for (size_t k = 0; k < 4; k++) round_keys_[4 * i + k] = round_keys_[4 * (i - words) + k] ^ word[k];
    }
}

void Aes::encrypt(uint8_t (&block)[kBlock]) const {
    const auto add_round_key = [&](int round) {
        for (size_t i = 0; i < kBlock; i++) block[i] ^= round_keys_[static_cast<size_t>(round) * kBlock + i];
    };
    add_round_key(0);
    for (int round = 1; round <= rounds_; round++) {
        uint8_t s[kBlock];  // SubBytes, ShiftRows
        for (size_t i = 0; i < kBlock; i++) s[i] = kSBox[block[(i + 4 * (i % 4)) % kBlock]];
        for (size_t i = 0; i < kBlock; i += 4) {  // MixColumns
            const uint8_t all = s[i] ^ s[i + 1] ^ s[i + 2] ^ s[i + 3];
            for (size_t k = 0; k < 4; k++)
                block[i + k] = round == rounds_
                                   ? s[i + k]
                                   : static_cast<uint8_t>(s[i + k] ^ all ^ times_x(s[i + k] ^ s[i + (k + 1) % 4]));
        }
        add_round_key(round);
    }
}

void make_sign_flips(const Aes &aes, uint64_t picture, size_t first, size_t count, uint16_t *flips) {
    for (size_t i = 0; i < count; i += 8) {
        uint8_t block[Aes::kBlock];
        const uint64_t number = (first + i) / 8;
        for (int k = 0; k < 8; k++) {
            block[k] = static_cast<uint8_t>(picture >> (56 - 8 * k));
            block[8 + k] = static_cast<uint8_t>(number >> (56 - 8 * k));
        }
        aes.encrypt(block);
        for (size_t k = 0; k < 8; k++) flips[i + k] = static_cast<uint16_t>(block[2 * k] << 8 | block[2 * k + 1]);
    }
}

}  // namespace cudaenc::h264
