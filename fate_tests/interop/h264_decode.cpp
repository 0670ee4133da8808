// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a byte stream of h264_cavlc_cuda with the unit tests' own decoder, without the deblocking filter, to planes
// of 8 bits, or 16 bits of the host's order. Prints profile_idc, chroma_format_idc, the bit depth and the
// highest level_prefix. With RECONSTRUCTIONS each picture has to be one that the encoder wrote there
// (fate_tests/emu/reconstruction.cpp). Usage: h264_decode [-z] IN OUT [RECONSTRUCTIONS]; -z: zeros may follow NAL units
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../check/h264_stream.h"

using namespace cudaenc::testing;

int main(int argc, char **argv) {
    const bool zeros_follow = argc > 1 && std::string(argv[1]) == "-z";
    if (zeros_follow) argc--, argv++;
    if (argc != 3 && argc != 4) return 2;
    try {
        std::ifstream in(argv[1], std::ios::binary);
        std::ofstream out(argv[2], std::ios::binary);
        const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        const std::vector<StreamPicture> pictures = decode_stream(bytes, {}, zeros_follow);
        for (const StreamPicture &p : pictures)
            for (int c = 0; c < p.decoded->components(); c++)
                for (int y = 0; y < p.height(c); y++)
                    for (int x = 0; x < p.width(c); x++) {
                        const uint16_t sample = p.decoded->sample(c, x, y);
                        out.write(reinterpret_cast<const char *>(&sample), p.sps.luma_depth > 8 ? 2 : 1);
                    }
        std::set<std::string> sums;
        if (argc == 4) {
            std::ifstream known(argv[3]);
            sums.insert(std::istream_iterator<std::string>(known), {});
        }
        for (const StreamPicture &p : pictures)
            if (argc == 4 && !sums.contains(p.checksum()))
                throw std::runtime_error("not what the encoder reconstructed");
        const ParsedSps &sps = pictures.at(0).sps;
        int highest_prefix = 0;
        for (const StreamPicture &p : pictures) highest_prefix = std::max(highest_prefix, p.parsed->highest_prefix);
        std::printf("%d %d %d %d\n", sps.profile_idc, has_chroma_format(sps.profile_idc) ? sps.chroma_format_idc : 1,
                    sps.luma_depth, highest_prefix);
        return out.good() ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
