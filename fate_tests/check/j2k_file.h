// SPDX-License-Identifier: LGPL-2.1-or-later
// JP2 files of boxes, and codestreams that the encoder does not make. Include it before testing.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "../../common/j2k/codestream/markers.h"
#include "pictures.h"

namespace cudaenc::testing {

// A box of a file.
inline std::vector<uint8_t> box(const char *type, const std::vector<uint8_t> &content) {
    std::vector<uint8_t> out(8 + content.size());
    j2k::put_be32(out.data(), static_cast<uint32_t>(out.size()));
    std::copy_n(type, 4, out.begin() + 4);
    std::ranges::copy(content, out.begin() + 8);
    return out;
}
inline std::vector<uint8_t> joined(std::initializer_list<std::vector<uint8_t>> parts) {
    std::vector<uint8_t> out;
    for (const auto &part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

// A file around a codestream, with boxes of its header and behind it.
inline std::vector<uint8_t> file_of(const std::vector<uint8_t> &codestream,
                                    std::initializer_list<std::vector<uint8_t>> header,
                                    const std::vector<uint8_t> &behind = {}) {
    return joined({box("jP  ", {13, 10, 0x87, 10}), box("jp2h", joined(header)), box("jp2c", codestream), behind});
}

// A picture's three components, which must not be RGB, and two more, whose packets are empty: samples of half of their
// range.
inline std::vector<uint8_t> of_five_components(const Picture &picture) {
    Log log;
    CudaencConfig config = make_config(picture.format, "cpu", &log);
    cudaenc_j2k_defaults(&config.j2k);
    config.j2k.format = CUDAENC_J2K_CODESTREAM, config.j2k.levels = 0, config.j2k.pred = CUDAENC_J2K_DWT53;
    std::vector<uint8_t> stream = encode(config, picture.frame());
    constexpr size_t kLsiz = 4, kCsiz = 40, kThird = 48;
    stream[kLsiz + 1] += 6, stream[kCsiz + 1] = 5;
    stream.insert(stream.begin() + kThird + 3, {7, 1, 1, 7, 1, 1});
    size_t sot = 2;
    while (stream[sot] != 0xFF || stream[sot + 1] != 0x90) sot++;
    j2k::put_be32(&stream[sot + 6], static_cast<uint32_t>(stream.size() - sot));  // Psot: two bytes more, without EOC
    stream.insert(stream.end() - 2, {0, 0});
    return stream;
}
// cdef: the second component is red, then green, the first one blue; the fourth is no channel, the last one opacity.
inline std::vector<uint8_t> channels_of_five() {
    return box("cdef", {0, 5, 0, 0, 0, 0, 0,   3,   0,   1,   0, 0, 0, 1, 0, 2,
                        0, 0, 0, 2, 0, 3, 255, 255, 255, 255, 0, 4, 0, 1, 0, 0});
}

}  // namespace cudaenc::testing
