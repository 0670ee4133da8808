// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a byte stream of I and P pictures by CAVLC with the unit tests' own decoder, to planes of 8 bits, or 16 bits
// of the host's order. Fields are woven. Prints profile_idc, chroma_format_idc, the bit depth, the highest level_prefix
// and whether there are fields. With RECONSTRUCTIONS each picture has to be one that the encoder wrote there
// (fate_tests/emu/reconstruction.cpp), before the deblocking filter or after it.
// Usage: h264_decode [-z] [-s] IN OUT [RECONSTRUCTIONS]; -z: zeros may follow NAL units; -s: start codes may have 3
// bytes
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../check/h264_stream.h"

using namespace cudaenc::testing;

namespace {

std::vector<uint8_t> with_long_start_codes(const std::vector<uint8_t> &bytes) {
    std::vector<uint8_t> to;
    size_t zeros = 0;
    for (const uint8_t byte : bytes) {
        if (byte == 1 && zeros == 2) to.push_back(0);
        zeros = byte ? 0 : zeros + 1;
        to.push_back(byte);
    }
    return to;
}

// fields: the top one first; or the same frame twice.
void write_frame(std::ofstream &out, const StreamPicture *const (&fields)[2], bool woven) {
    const StreamPicture &first = *fields[0];
    for (int c = 0; c < first.decoded->components(); c++)
        for (int y = 0; y < first.height(c) * (1 + woven); y++)
            for (int x = 0; x < first.width(c); x++) {
                const uint16_t sample = fields[woven && y % 2]->decoded->shown(c, x, woven ? y / 2 : y);
                out.write(reinterpret_cast<const char *>(&sample), first.sps.luma_depth > 8 ? 2 : 1);
            }
}

}  // namespace

int main(int argc, char **argv) {
    const auto take = [&](const char *option) {
        const bool given = argc > 1 && std::string(argv[1]) == option;
        if (given) argc--, argv++;
        return given;
    };
    const bool zeros_follow = take("-z"), short_codes = take("-s");
    if (argc != 3 && argc != 4) return 2;
    try {
        std::ifstream in(argv[1], std::ios::binary);
        std::ofstream out(argv[2], std::ios::binary);
        std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        if (short_codes) bytes = with_long_start_codes(bytes);
        const std::vector<StreamPicture> pictures = decode_stream(bytes, {}, zeros_follow);
        for (size_t i = 0; i < pictures.size(); i += 1 + pictures[i].is_field()) {
            const StreamPicture *fields[] = {&pictures[i], &pictures[i]};
            if (pictures[i].is_field()) fields[!pictures[i].is_bottom()] = &pictures[i + 1];
            write_frame(out, fields, pictures[i].is_field());
        }
        std::set<std::string> sums;
        if (argc == 4) {
            std::ifstream known(argv[3]);
            sums.insert(std::istream_iterator<std::string>(known), {});
        }
        for (const StreamPicture &p : pictures)
            if (argc == 4 && !sums.contains(p.checksum()) && !sums.contains(p.checksum(true)))
                throw std::runtime_error("not what the encoder reconstructed");
        const ParsedSps &sps = pictures.at(0).sps;
        int highest_prefix = 0;
        for (const StreamPicture &p : pictures) highest_prefix = std::max(highest_prefix, p.parsed->highest_prefix);
        std::printf("%d %d %d %d %d\n", sps.profile_idc, has_chroma_format(sps.profile_idc) ? sps.chroma_format_idc : 1,
                    sps.luma_depth, highest_prefix, sps.fields);
        return out.good() ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
