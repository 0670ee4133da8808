// SPDX-License-Identifier: LGPL-2.1-or-later
// Hides a file in a stream that h264_cavlc_cuda made, and reads it back: a bit is the sign of a block's first trailing
// one (Kim et al., 2007). No code word changes its length. Blocks are those that nothing is predicted from, so that a
// sign changes its own 4x4 samples alone: of chroma, and of luma in Intra_16x16 macroblocks, those that touch neither
// the right nor the lower edge of the macroblock. The stream is a byte stream of intra pictures
// without a deblocking filter.
//   c++ -std=c++20 -O2 docs/examples/h264_hide.cpp -o h264_hide -Lbuild/lib -lcudaenc -ldl -lpthread
//   h264_hide hide IN OUT FILE [N]   a bit in one of N such blocks; 1 (default) hides most
//   h264_hide read IN FILE [N]
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "h264_rewrite.h"

using namespace cudaenc;
using namespace cudaenc::examples;

namespace {

// Calls take(level) for the first trailing one of each block that may hide a bit, in the order of macroblocks.
template <class Take>
void for_each_carrier(const h264::CodedFormat &format, ParsedPicture &picture, const Take &take) {
    const size_t blocks = static_cast<size_t>(h264::blocks_per_macroblock(format.chroma));
    const int chroma = h264::chroma_blocks(format.chroma);
    for (size_t address = 0; address < picture.macroblocks.size(); address++) {
        const h264::Macroblock &m = picture.macroblocks[address];
        if (m.type == h264::MacroblockType::pcm) continue;
        const auto carry = [&](int block) {
            if (!h264::is_coded(m, format.chroma, block)) return;
            int16_t *const levels = &picture.levels[(address * blocks + static_cast<size_t>(block)) * 16];
            for (int k = 15; k > 0; k--)
                if (int16_t &level = levels[h264::kZigzag4x4[k]]) {
                    if (level == 1 || level == -1) take(level);
                    return;
                }
        };
        if (m.type == h264::MacroblockType::i16x16)
            for (int c = 0; c < h264::luma_components(format.chroma); c++)
                for (int i = 0; i < 9; i++) carry(c * h264::kLumaBlocks + h264::luma_block(i % 3, i / 3));
        for (int i = 0; i < 2 * chroma; i++)
            if (i % 2 == 0 && i % chroma < chroma - 2) carry(h264::kChromaAcBlock + i);
    }
}

// A file as bits: its size in 32 bits, then its bytes.
std::vector<bool> to_bits(const std::vector<uint8_t> &file) {
    std::vector<bool> bits;
    for (int i = 31; i >= 0; i--) bits.push_back(file.size() >> i & 1);
    for (const uint8_t byte : file)
        for (int i = 7; i >= 0; i--) bits.push_back(byte >> i & 1);
    return bits;
}
std::vector<uint8_t> from_bits(const std::vector<bool> &bits) {
    size_t size = 0;
    for (size_t i = 0; i < 32 && i < bits.size(); i++) size = size << 1 | bits[i];
    if (bits.size() < 32 || (bits.size() - 32) / 8 < size) throw std::runtime_error("nothing is hidden here");
    std::vector<uint8_t> file(size);
    for (size_t i = 0; i < 8 * size; i++) file[i / 8] = static_cast<uint8_t>(file[i / 8] << 1 | bits[32 + i]);
    return file;
}

void write_file(const char *name, const std::vector<uint8_t> &bytes) {
    std::ofstream out(name, std::ios::binary);
    out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error("it cannot be written");
}

void hide(const char *in, const char *out, const char *file, size_t every) {
    const std::vector<bool> bits = to_bits(read_file(file));
    size_t carriers = 0, next = 0;
    const auto stream = rewrite_stream(read_file(in), [&](const auto &format, auto &picture) {
        for_each_carrier(format, picture, [&](int16_t &level) {
            if (carriers++ % every == 0 && next < bits.size()) level = bits[next++] ? -1 : 1;
        });
        return std::vector<uint16_t>();
    });
    if (next < bits.size())
        throw std::runtime_error("the file has " + std::to_string(bits.size()) + " bits, the stream room for " +
                                 std::to_string(next));
    write_file(out, stream);
    std::printf("%zu bits are hidden, in %zu blocks there is room\n", next, carriers);
}

void read(const char *in, const char *file, size_t every) {
    std::vector<bool> bits;
    size_t carriers = 0;
    rewrite_stream(read_file(in), [&](const auto &format, auto &picture) {
        for_each_carrier(format, picture, [&](const int16_t &level) {
            if (carriers++ % every == 0) bits.push_back(level < 0);
        });
        return std::vector<uint16_t>();
    });
    write_file(file, from_bits(bits));
}

}  // namespace

int main(int argc, char **argv) {
    const std::string task = argc > 1 ? argv[1] : "";
    const int files = task == "hide" ? 3 : 2;
    const long every = argc == files + 3 ? std::strtol(argv[files + 2], nullptr, 10) : 1;
    if ((task != "hide" && task != "read") || argc < files + 2 || argc > files + 3 || every < 1) {
        std::fprintf(stderr, "usage: h264_hide hide IN OUT FILE [N], h264_hide read IN FILE [N]\n");
        return 2;
    }
    try {
        if (task == "hide")
            hide(argv[2], argv[3], argv[4], static_cast<size_t>(every));
        else
            read(argv[2], argv[3], static_cast<size_t>(every));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", argv[2], e.what());
        return 1;
    }
    return 0;
}
