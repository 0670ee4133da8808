// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns a stream that h264_cavlc_cuda made with encrypt_key back: signs and I_PCM samples, and encrypt_parts. The
// stream, a byte stream (ffmpeg -c copy -bsf:v h264_mp4toannexb -f h264), has to begin with the first picture and to
// lack none: they are counted.
//   c++ -std=c++20 -O2 docs/examples/h264_decrypt.cpp -o h264_decrypt -Lbuild/lib -lcudaenc -lavutil -ldl -lpthread
//   h264_decrypt KEY_IN_HEX IN OUT IV_IN_HEX [PARTS]   PARTS: of encrypt_parts, 1 places, 2 modes, 3 both
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
#include <libavutil/aes.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
}

#include "../../common/h264/syntax/scramble.h"
#include "h264_rewrite.h"

using namespace cudaenc;
using namespace cudaenc::examples;

namespace {

std::vector<uint8_t> from_hex(const std::string &hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
    return bytes;
}

// AES in counter mode: the counter block of block i of picture n is iv + 2^64 n + i.
class Keystream {
  public:
    Keystream(const std::vector<uint8_t> &key, const std::vector<uint8_t> &iv)
        : aes_(av_aes_alloc()), high_(AV_RB64(iv.data())), low_(AV_RB64(iv.data() + 8)) {
        av_aes_init(aes_, key.data(), static_cast<int>(8 * key.size()), 0);
    }
    ~Keystream() { av_free(aes_); }
    Keystream(const Keystream &) = delete;
    Keystream &operator=(const Keystream &) = delete;
    // So many words, the higher byte first.
    std::vector<uint16_t> words(uint64_t picture, size_t count) {
        std::vector<uint16_t> flips;
        for (uint64_t i = 0; flips.size() < count; i++) {
            uint8_t block[16];
            AV_WB64(block, high_ + picture + (low_ + i < low_));
            AV_WB64(block + 8, low_ + i);
            av_aes_crypt(aes_, block, block, 1, nullptr, 0);
            for (int k = 0; k < 16; k += 2) flips.push_back(AV_RB16(block + k));
        }
        return flips;
    }

  private:
    AVAES *aes_;
    uint64_t high_, low_;
};

// The flips of a picture by its number: what was flipped twice is as it was.
class Decrypter {
  public:
    Decrypter(const std::vector<uint8_t> &key, const std::vector<uint8_t> &iv, uint32_t parts)
        : keystream_(key, iv), parts_(parts) {}
    std::vector<uint16_t> operator()(const h264::CodedFormat &format, ParsedPicture &picture) {
        const size_t macroblocks = picture.macroblocks.size();
        std::vector<uint16_t> flips =
            keystream_.words(number_++, h264::block_words(macroblocks, format.chroma) + h264::kModeWords * macroblocks);
        // Levels move back, with the bits that turn their signs.
        const std::vector<uint16_t> words = flips;
        const h264::ScrambledPicture scrambled{format, parts_, picture.macroblocks.data(), picture.levels.data(),
                                               words.data()};
        const size_t blocks = picture.levels.size() / 16 / macroblocks;
        for (size_t address = 0; address < macroblocks; address++)
            h264::scramble(scrambled, static_cast<uint32_t>(address), [&](int block, int bit, h264::LevelMove move) {
                uint16_t &word = flips[address * blocks + static_cast<size_t>(block)];
                const int from = move.from + bit, to = move.to + bit;
                if ((word >> from ^ word >> to) & 1) word = static_cast<uint16_t>(word ^ 1u << from ^ 1u << to);
            });
        return flips;
    }

  private:
    Keystream keystream_;
    const uint32_t parts_;
    uint64_t number_ = 0;
};

}  // namespace

int main(int argc, char **argv) {
    const std::vector<uint8_t> key = argc >= 5 ? from_hex(argv[1]) : std::vector<uint8_t>();
    const std::vector<uint8_t> iv = argc >= 5 ? from_hex(argv[4]) : std::vector<uint8_t>();
    const uint32_t parts = argc == 6 ? static_cast<uint32_t>(std::strtoul(argv[5], nullptr, 10)) : 0;
    if (argc > 6 || parts > 3 || (key.size() != 16 && key.size() != 24 && key.size() != 32) || iv.size() != 16) {
        std::fprintf(stderr, "usage: h264_decrypt KEY_IN_HEX IN OUT IV_IN_HEX [PARTS]\n");
        return 2;
    }
    std::ofstream out(argv[3], std::ios::binary);
    try {
        Decrypter decrypter(key, iv, parts);
        const std::vector<uint8_t> restored = rewrite_stream(
            read_file(argv[2]), [&](const auto &format, auto &picture) { return decrypter(format, picture); });
        out.write(reinterpret_cast<const char *>(restored.data()), static_cast<std::streamsize>(restored.size()));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", argv[2], e.what());
        return 1;
    }
    return !out.good();
}
