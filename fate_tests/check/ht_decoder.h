// SPDX-License-Identifier: LGPL-2.1-or-later
// The cleanup pass of HT block coding decoded a bit at a time, from ITU-T T.814 Clause 7 and nothing of the library's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace cudaenc::testing {

// Annex C, a string a context: codewords as they are read, each with significance, excess, known exponents, and which
// of these are at the bound, a hexadecimal digit each.
constexpr const char *kFirstRowTable[8] = {
    // 0
    "000 2000 001 8000 010 4000 0110 1000 01110 5000 01111 C000 10000 A000 10001 3000 100100 B110 100101 F1F4 "
    "100110 F1E2 100111 F1F8 101000 E1A8 101001 C1C8 101010 C1C4 101011 A188 101100 7120 101101 9100 101110 9000 "
    "101111 8188 110000 6000 110001 5144 110010 4144 1100110 F1F1 1100111 F1E6 1101000 F1F5 1101001 E122 "
    "1101010 F1FC 1101011 F1BA 1101100 F199 1101101 F000 1101110 E1E4 1101111 E000 1110000 D1D8 1110001 D154 "
    "1110010 D111 1110011 D000 1110100 C1CC 1110101 B111 1110110 B000 1110111 A1A2 1111000 5151 1111001 7122 "
    "1111010 7000 1111011 6100 1111100 3131 1111101 3122 1111110 1111 1111111 2122",
    // 1
    "00 0000 0100 8000 0101 4000 0110 2000 0111 1000 10000 C000 100010 B110 100011 F1E4 100100 F1A2 100101 F1B8 "
    "100110 E1A8 100111 D154 101000 C1C4 101001 C188 101010 A188 101011 A000 101100 9100 101101 9000 101110 8188 "
    "101111 3100 110000 7120 110001 6100 110010 6000 110011 5144 110100 5000 110101 4144 110110 3000 110111 2122 "
    "1110000 F000 1110001 F1F1 1110010 F188 1110011 E1E4 1110100 D111 1110101 E122 1110110 E000 1110111 D1D8 "
    "1111000 D000 1111001 B111 1111010 B000 1111011 A1A2 1111100 1111 1111101 7122 1111110 7000 1111111 5151",
    // 2
    "00 0000 0100 8000 0101 4000 0110 2000 0111 1000 10000 5000 100010 7131 100011 F174 100100 F111 100101 F1F1 "
    "100110 E120 100111 D1C4 101000 D188 101001 C144 101010 C000 101011 B120 101100 A100 101101 A000 101110 9100 "
    "101111 9000 110000 6000 110001 5154 110010 5151 110011 3111 110100 4144 110101 3000 110110 1111 "
    "1101110 F1F8 1101111 E122 1110000 F132 1110001 F000 1110010 E000 1110011 D1D1 1110100 D000 1110101 C1C8 "
    "1110110 7174 1110111 B122 1111000 B000 1111001 8188 1111010 5155 1111011 7122 1111100 7000 1111101 6100 "
    "1111110 2122 1111111 3132",
    // 3
    "000 0000 0010 1000 00110 2000 00111 F1F1 01000 F1F4 01001 F1F8 01010 8000 01011 5155 01100 5000 01101 4000 "
    "011100 F1AA 011101 F1F2 011110 F1F5 011111 E1C8 100000 D1D4 100001 D1D1 100010 C144 100011 C000 100100 B132 "
    "100101 A188 100110 A000 100111 9000 101000 3111 101001 7171 101010 7164 101011 5154 101100 5151 101101 4144 "
    "101110 3000 101111 1111 1100000 F1FC 1100001 F1F3 1100010 F1E6 1100011 F1B9 1100100 E144 1100101 F000 "
    "1100110 E1E2 1100111 E1E4 1101000 E000 1101001 D1D8 1101010 D1D5 1101011 D1DC 1101100 D199 1101101 D000 "
    "1101110 C1C8 1101111 B1B8 1110000 8188 1110001 B111 1110010 B1B1 1110011 B000 1110100 A1A2 1110101 9198 "
    "1110110 9111 1110111 7173 1111000 7172 1111001 2122 1111010 7166 1111011 7000 1111100 6162 1111101 6144 "
    "1111110 6000 1111111 3132",
    // 4
    "00 0000 0100 8000 0101 4000 0110 2000 0111 1000 10000 A000 100010 9000 100011 F1B8 100100 F172 100101 F191 "
    "100110 E1C8 100111 E144 101000 D110 101001 C188 101010 C000 101011 B100 101100 A1A8 101101 A1A2 101110 8188 "
    "101111 3122 110000 7140 110001 6100 110010 6000 110011 5100 110100 5000 110101 3000 110110 2122 "
    "1101110 F1F4 1101111 F176 1110000 D111 1110001 F199 1110010 F000 1110011 E1E2 1110100 E000 1110101 D000 "
    "1110110 C1C4 1110111 9100 1111000 B1B2 1111001 B000 1111010 A1AA 1111011 7144 1111100 7000 1111101 4144 "
    "1111110 1111 1111111 3131",
    // 5
    "000 0000 00100 F1F2 00101 F1F8 00110 F1F4 00111 A000 01000 8000 01001 4000 01010 2000 01011 1000 "
    "011000 F1F1 011001 9000 011010 F176 011011 E1E8 011100 E1E2 011101 D1D4 011110 D198 011111 C188 100000 C000 "
    "100001 B1B2 100010 B198 100011 A1A8 100100 A1A2 100101 A1AA 100110 8188 100111 3132 101000 7164 101001 6122 "
    "101010 6000 101011 5144 101100 5000 101101 3000 101110 2122 1011110 F1FA 1011111 F1F3 1100000 F1D9 "
    "1100001 F177 1100010 F1FC 1100011 F175 1100100 F000 1100101 E1E4 1100110 E1EA 1100111 E1EC 1101000 E166 "
    "1101001 E000 1101010 D1D1 1101011 D199 1101100 D1D5 1101101 D000 1101110 C1C4 1101111 B1B1 1110000 B199 "
    "1110001 B1B3 1110010 B000 1110011 9191 1110100 9188 1110101 7166 1110110 7171 1110111 7172 1111000 7173 "
    "1111001 7000 1111010 6164 1111011 5151 1111100 4144 1111101 3133 1111110 3131 1111111 1111",
    // 6
    "000 0000 0010 1000 00110 2000 00111 F1F1 01000 F1F2 01001 8000 01010 4000 01011 3000 011000 F1F8 "
    "011001 F1F4 011010 F1FC 011011 7171 011100 F1F3 011101 F1EA 011110 F166 011111 E1E8 100000 D154 100001 C1C8 "
    "100010 C000 100011 B1B2 100100 B191 100101 A122 100110 A000 100111 9000 101000 7164 101001 6000 101010 5111 "
    "101011 5000 101100 2122 101101 3132 101110 3131 101111 3133 110000 1111 1100010 F1F5 1100011 F1B9 "
    "1100100 F000 1100101 E1E4 1100110 D155 1100111 E1EC 1101000 E122 1101001 E1E2 1101010 E000 1101011 D1D1 "
    "1101100 D1C8 1101101 D000 1101110 C1C4 1101111 B1B8 1110000 C1CC 1110001 B199 1110010 B1BA 1110011 B000 "
    "1110100 A1A8 1110101 9198 1110110 9111 1110111 7172 1111000 8188 1111001 7166 1111010 7173 1111011 7000 "
    "1111100 6164 1111101 6122 1111110 4144 1111111 5154",
    // 7
    "0000 F1F1 0001 F1F4 0010 F1F8 0011 F1F2 01000 F1FA 01001 0000 01010 F1F3 01011 F1F5 01100 F1FF 011010 F1FC "
    "011011 F1F6 011100 E1E8 011101 F1F9 011110 E1E2 011111 D1D4 100000 D1D1 100001 B1B2 100010 A122 100011 9100 "
    "100100 7171 100101 6100 100110 5111 100111 2000 101000 1000 1010010 F1FB 1010011 F1FE 1010100 F000 "
    "1010101 F1F7 1010110 F1FD 1010111 E1E4 1011000 E1EA 1011001 E1EC 1011010 E166 1011011 E000 1011100 D1D8 "
    "1011101 D1D5 1011110 D1DC 1011111 D199 1100000 D000 1100001 C1C4 1100010 C188 1100011 C000 1100100 B1B8 "
    "1100101 A000 1100110 B1BA 1100111 B1B1 1101000 B1B3 1101001 B199 1101010 B000 1101011 A1A8 1101100 7175 "
    "1101101 9000 1101110 8188 1101111 8000 1110000 7174 1110001 7172 1110010 7173 1110011 7166 1110100 7000 "
    "1110101 5000 1110110 6000 1110111 5154 1111000 4144 1111001 4000 1111010 3131 1111011 3132 1111100 3133 "
    "1111101 3000 1111110 2122 1111111 1111",
};
constexpr const char *kOtherRowsTable[8] = {
    // 0
    "000 1000 001 8000 010 4000 011 2000 10000 6000 10001 C000 10010 A000 10011 9000 10100 8188 10101 5000 "
    "10110 3000 101110 F110 101111 E140 110000 D100 110001 C188 110010 9100 110011 B100 110100 A188 110101 5100 "
    "110110 7100 110111 3100 111000 4144 111001 1111 111010 2122 1110110 F111 1110111 F000 1111000 D000 "
    "1111001 E144 1111010 E000 1111011 C1C4 1111100 7000 1111101 B000 1111110 A1A2 1111111 6100",
    // 1
    "0 0000 1000 8000 1001 2000 1010 1000 10110 4000 10111 3000 110000 5000 110001 F140 110010 C000 110011 A000 "
    "110100 9000 1101010 B100 1101011 F144 1101100 F000 1101101 E100 1101110 E000 1101111 D100 1110000 D000 "
    "1110001 C100 1110010 B000 1110011 A100 1110100 8188 1110101 9100 1110110 4144 1110111 7100 1111000 7000 "
    "1111001 6100 1111010 6000 1111011 5100 1111100 2122 1111101 3132 1111110 3111 1111111 1111",
    // 2
    "0 0000 1000 2000 1001 1000 10100 8000 10101 4000 101100 C000 101101 A1A2 101110 A000 101111 3000 "
    "110000 5000 110001 2122 1100100 F1F8 1100101 F172 1100110 F151 1100111 F144 1101000 F000 1101001 E140 "
    "1101010 E144 1101011 E000 1101100 D100 1101101 D000 1101110 C100 1101111 A1AA 1110000 B100 1110001 B1B2 "
    "1110010 B000 1110011 A1A8 1110100 7100 1110101 9100 1110110 9000 1110111 8188 1111000 7000 1111001 6100 "
    "1111010 6000 1111011 5100 1111100 3131 1111101 4144 1111110 3122 1111111 1111",
    // 3
    "00 0000 0100 2000 0101 1000 01100 8000 01101 4000 01110 3000 011110 7151 011111 F1F1 100000 F1F8 "
    "100001 F1F2 100010 F000 100011 D140 100100 C100 100101 C000 100110 B1B2 100111 B188 101000 B000 101001 A122 "
    "101010 A000 101011 9100 101100 9000 101101 7000 101110 6000 101111 5111 110000 5000 110001 2122 110010 3131 "
    "110011 3132 110100 1111 1101010 F1F4 1101011 E1E2 1101100 F1F5 1101101 F1A8 1101110 F1FA 1101111 F173 "
    "1110000 F166 1110001 E1C8 1110010 E144 1110011 E000 1110100 B1B3 1110101 D144 1110110 D000 1110111 B1B1 "
    "1111000 A1A8 1111001 8188 1111010 7144 1111011 7172 1111100 5154 1111101 6100 1111110 4144 1111111 3133",
    // 4
    "0 0000 1000 8000 1001 4000 10100 C000 10101 2000 10110 1000 101110 A000 101111 F130 110000 E120 110001 4144 "
    "110010 6000 110011 5000 1101000 F132 1101001 F111 1101010 F000 1101011 B100 1101100 E122 1101101 E000 "
    "1101110 D100 1101111 D000 1110000 C1C4 1110001 C1C8 1110010 C1CC 1110011 B000 1110100 A100 1110101 7100 "
    "1110110 9100 1110111 9000 1111000 8188 1111001 7000 1111010 6100 1111011 3100 1111100 5100 1111101 3000 "
    "1111110 2122 1111111 1111",
    // 5
    "00 0000 0100 4000 01010 2000 01011 F000 01100 C000 01101 8000 01110 5000 01111 1000 100000 E1A8 100001 F1F2 "
    "100010 F1F8 100011 F1F4 100100 F1FC 100101 F1F1 100110 E000 100111 D154 101000 D000 101001 C144 101010 7120 "
    "101011 B110 101100 B000 101101 A100 101110 A000 101111 9000 110000 8188 110001 7000 110010 6000 110011 5144 "
    "110100 3100 110101 4144 110110 3000 110111 1111 1110000 F1F3 1110001 F1FA 1110010 F176 1110011 F1D5 "
    "1110100 F199 1110101 E122 1110110 E1E4 1110111 D111 1111000 D1D8 1111001 B111 1111010 C1C8 1111011 6100 "
    "1111100 9100 1111101 7122 1111110 2122 1111111 5151",
    // 6
    "000 0000 0010 4000 0011 2000 0100 1000 01010 5000 01011 C000 01100 A000 01101 8000 011100 B000 011101 F1F4 "
    "011110 F1F8 011111 F1F2 100000 F000 100001 E1E8 100010 E000 100011 D000 100100 A1A2 100101 7122 100110 9100 "
    "100111 9000 101000 8188 101001 7000 101010 6000 101011 5144 101100 3122 101101 4144 101110 3000 101111 2122 "
    "110000 1111 1100010 F1F1 1100011 F1FC 1100100 F1F5 1100101 F1B9 1100110 E1E2 1100111 F1FA 1101000 F176 "
    "1101001 F133 1101010 D1D1 1101011 E1EA 1101100 E144 1101101 E1E4 1101110 D1C8 1101111 D144 1110000 D1D4 "
    "1110001 B1B1 1110010 C1C4 1110011 C1C8 1110100 C1CC 1110101 B1A8 1110110 B122 1110111 B1B2 1111000 A1AA "
    "1111001 A1A8 1111010 5151 1111011 7174 1111100 7131 1111101 6164 1111110 6122 1111111 3131",
    // 7
    "000 F000 0010 0000 00110 D000 00111 F1F4 01000 F1F1 01001 F1F8 01010 F1F2 01011 B000 01100 7000 01101 5000 "
    "011100 F1FC 011101 F1F5 011110 F1B9 011111 E1A8 100000 F1FA 100001 F176 100010 F1F3 100011 E000 100100 D154 "
    "100101 A100 100110 C100 100111 C000 101000 B132 101001 A000 101010 9000 101011 8000 101100 7171 101101 4000 "
    "101110 6000 101111 5111 110000 3000 110001 2000 110010 1111 110011 1000 1101000 E1E4 1101001 F1FB "
    "1101010 F1F7 1101011 F1FF 1101100 D1D8 1101101 E122 1101110 E1E2 1101111 B1B8 1110000 D111 1110001 D1D1 "
    "1110010 9100 1110011 B111 1110100 B1B1 1110101 7172 1110110 8188 1110111 6100 1111000 7173 1111001 7144 "
    "1111010 7174 1111011 3132 1111100 5154 1111101 4144 1111110 3111 1111111 2122",
};

class HtDecoder {
  public:
    // The samples, 2 (m - 1) + s + 1 of a magnitude m with sign s, else 0. Throws what is wrong with the bytes.
    std::vector<uint64_t> decode(const std::vector<uint8_t> &bytes, int width, int height) {
        bytes_ = bytes;
        const size_t all = bytes.size();
        if (all < 2) fail("no room for the length");
        const size_t tail = size_t{bytes[all - 1]} * 16 + (bytes[all - 2] & 15);
        if (tail < 2 || tail > all || tail > 4079) fail("length of MEL and VLC");
        begin_ = all - tail;
        for (size_t i = 0; i + 1 < all; i++)
            if (bytes[i] == 0xFF && bytes[i + 1] > 0x8F) fail("a marker within the codeword");
        if (bytes[all - 1] == 0xFF) fail("it ends with 0xFF");
        magsgn_ = {}, mel_ = {}, vlc_ = {};
        mel_.at = begin_;
        vlc_.at = all - 2;
        vlc_.last = 0xFF;
        bytes_[all - 2] |= 15;  // as if the length were not there
        for (int i = 0; i < 4; i++)
            if (!vlc_bit()) fail("VLC's first bits");
        columns_ = (width + 1) / 2;
        quads_.assign(static_cast<size_t>(columns_) * static_cast<size_t>((height + 1) / 2), {});
        state_ = run_ = 0;
        one_follows_ = false;
        for (int y = 0; y < (height + 1) / 2; y++)
            for (int x = 0; x < columns_; x += 2) decode_pair(x, y);
        std::vector<uint64_t> samples(static_cast<size_t>(width) * static_cast<size_t>(height));
        for (int y = 0; y < (height + 1) / 2 * 2; y++)
            for (int x = 0; x < columns_ * 2; x++) {
                const Quad &q = quad(x / 2, y / 2);
                const uint64_t value = q.value[x % 2 * 2 + y % 2];
                if (x < width && y < height)
                    samples[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] = value;
                else if (value)
                    fail("a significant sample outside of the block");
            }
        return samples;
    }

  private:
    struct Quad {
        int significant[4], exponent[4];
        uint64_t value[4];
        int excess, known[4], at_bound[4];
    };
    struct Reader {
        size_t at = 0;
        int bits = 0, byte = 0, last = 0;
    };
    struct Code {
        int significant, has_excess, known, at_bound;
    };

    [[noreturn]] static void fail(const char *what) { throw std::runtime_error(what); }
    Quad &quad(int x, int y) {
        return quads_[static_cast<size_t>(y) * static_cast<size_t>(columns_) + static_cast<size_t>(x)];
    }
    int significant(int x, int y, int i) { return x < 0 || y < 0 || x >= columns_ ? 0 : quad(x, y).significant[i]; }
    int exponent(int x, int y, int i) { return x < 0 || y < 0 || x >= columns_ ? 0 : quad(x, y).exponent[i]; }

    // 7.1.2: lowest bit first; seven bits behind 0xFF; ones behind the end.
    int magsgn_bit() {
        Reader &r = magsgn_;
        if (!r.bits) {
            r.bits = r.last == 0xFF ? 7 : 8;
            r.byte = r.at < begin_ ? bytes_[r.at] : 0xFF;
            r.at++;
            r.last = r.byte;
        }
        const int bit = r.byte & 1;
        r.byte >>= 1;
        r.bits--;
        return bit;
    }
    // 7.1.3: highest bit first.
    int mel_bit() {
        Reader &r = mel_;
        if (!r.bits) {
            r.bits = r.last == 0xFF ? 7 : 8;
            if (r.at >= bytes_.size()) fail("MEL beyond the end");
            r.last = r.byte = bytes_[r.at++];
        }
        return r.byte >> --r.bits & 1;
    }
    // 7.1.4: backwards, lowest bit first; of a byte that follows one above 0x8F, seven bits where all of them are 1.
    int vlc_bit() {
        Reader &r = vlc_;
        if (!r.bits) {
            if (r.at < begin_ || r.at == ~size_t{0}) fail("VLC beyond its beginning");
            r.byte = bytes_[r.at--];
            r.bits = r.last > 0x8F && (r.byte & 0x7F) == 0x7F ? 7 : 8;
            r.last = r.byte;
        }
        const int bit = r.byte & 1;
        r.byte >>= 1;
        r.bits--;
        return bit;
    }
    int vlc_bits(int count) {
        int value = 0;
        for (int i = 0; i < count; i++) value |= vlc_bit() << i;
        return value;
    }

    // 7.3.3
    int event() {
        static constexpr int kExponents[13] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5};
        if (!run_ && !one_follows_) {
            const int log2 = kExponents[state_];
            if (mel_bit()) {
                run_ = 1 << log2;
                state_ = std::min(state_ + 1, 12);
            } else {
                for (int i = 0; i < log2; i++) run_ = 2 * run_ + mel_bit();
                state_ = std::max(state_ - 1, 0);
                one_follows_ = true;
            }
        }
        if (run_) {
            run_--;
            return 0;
        }
        one_follows_ = false;
        return 1;
    }

    Code codeword(bool first_row, int context) {
        auto &table = tables_[first_row ? 0 : 1][context];
        if (table.empty()) {
            const std::string text = (first_row ? kFirstRowTable : kOtherRowsTable)[context];
            for (size_t at = 0; at < text.size();) {
                const size_t space = text.find(' ', at);
                const auto digit = [&](size_t i) { return std::stoi(text.substr(space + i, 1), nullptr, 16); };
                table[text.substr(at, space - at)] = {digit(1), digit(2), digit(3), digit(4)};
                at = space + 6;
            }
        }
        std::string word;
        while (word.size() < 7) {
            word += vlc_bit() ? '1' : '0';
            if (const auto found = table.find(word); found != table.end()) return found->second;
        }
        fail("no codeword");
    }

    void decode_significance(int x, int y) {
        Quad &q = quad(x, y);
        int context;
        if (!y)
            context = (significant(x - 1, y, 0) | significant(x - 1, y, 1)) + 2 * significant(x - 1, y, 2) +
                      4 * significant(x - 1, y, 3);
        else
            context = (significant(x - 1, y - 1, 3) | significant(x, y - 1, 1)) +
                      2 * (significant(x - 1, y, 2) | significant(x - 1, y, 3)) +
                      4 * (significant(x, y - 1, 3) | significant(x + 1, y - 1, 1));
        if (!context && !event()) return;
        const Code code = codeword(!y, context);
        if (!context && !code.significant) fail("an event without a significant sample");
        q.excess = code.has_excess;
        for (int i = 0; i < 4; i++) {
            q.significant[i] = code.significant >> i & 1;
            q.known[i] = code.known >> i & 1;
            q.at_bound[i] = code.at_bound >> i & 1;
        }
    }

    int prefix() { return vlc_bit() ? 1 : vlc_bit() ? 2 : vlc_bit() ? 3 : 5; }
    int suffix(int of_prefix) { return of_prefix < 3 ? 0 : of_prefix == 3 ? vlc_bit() : vlc_bits(5); }

    void decode_pair(int x, int y) {
        const bool second = x + 1 < columns_;
        decode_significance(x, y);
        if (second) decode_significance(x + 1, y);
        Quad none{}, &a = quad(x, y), &b = second ? quad(x + 1, y) : none;
        const bool both = a.excess && b.excess;
        if (!y && both && event()) {
            const int p = prefix(), q = prefix(), s = suffix(p), t = suffix(q);
            if (s >= 28 || t >= 28) fail("an extension");
            a.excess = 2 + p + s, b.excess = 2 + q + t;
        } else {
            const int p = a.excess ? prefix() : 0;
            if (!y && both && p > 2) {
                b.excess = vlc_bit() + 1;
                a.excess = p + suffix(p);
            } else {
                const int q = b.excess ? prefix() : 0, s = suffix(p), t = suffix(q);
                if (s >= 28 || t >= 28) fail("an extension");
                a.excess = p + s, b.excess = q + t;
            }
        }
        decode_magnitudes(x, y);
        if (second) decode_magnitudes(x + 1, y);
    }

    void decode_magnitudes(int x, int y) {
        Quad &q = quad(x, y);
        int predicted = 1;
        if (q.significant[0] + q.significant[1] + q.significant[2] + q.significant[3] > 1)
            predicted = std::max(1, std::max({exponent(x - 1, y - 1, 3), exponent(x, y - 1, 1), exponent(x, y - 1, 3),
                                              exponent(x + 1, y - 1, 1)}) -
                                        1);
        const int bound = predicted + q.excess;
        if (bound > 62) fail("more bits than a word has");
        for (int i = 0; i < 4; i++) {
            if (!q.significant[i]) continue;
            const int bits = bound - q.known[i];
            uint64_t value = 0;
            for (int k = 0; k < bits; k++) value |= static_cast<uint64_t>(magsgn_bit()) << k;
            if (q.known[i]) value |= static_cast<uint64_t>(q.at_bound[i]) << bits;
            int exponent = 1;
            while ((value | 1) >> exponent) exponent++;
            q.exponent[i] = exponent;
            if (exponent > bound) fail("an exponent above its bound");
            q.value[i] = value + 1;
        }
    }

    std::vector<uint8_t> bytes_;
    size_t begin_ = 0;  // of MEL
    Reader magsgn_, mel_, vlc_;
    int columns_ = 0, state_ = 0, run_ = 0;
    bool one_follows_ = false;
    std::vector<Quad> quads_;
    std::map<std::string, Code> tables_[2][8];
};

}  // namespace cudaenc::testing
