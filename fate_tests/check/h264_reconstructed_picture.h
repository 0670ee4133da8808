// SPDX-License-Identifier: LGPL-2.1-or-later
// What a coder makes of a picture: macroblocks, levels, and samples of whole macroblocks.
#pragma once
#include <algorithm>
#include <vector>

#include "../../common/h264/lanes/intra_coder.h"
#include "../../cuda_kernels/h264/intra/decoded_samples.h"

namespace cudaenc::testing {

// Blocks that are not coded have any levels; this gives them none. levels: of a macroblock.
inline void clear_uncoded(h264::ChromaFormat f, const h264::Macroblock &m, int16_t *levels) {
    for (int b = 0; b < h264::blocks_per_macroblock(f) && m.type != h264::MacroblockType::pcm; b++)
        if (!h264::is_coded(m, f, b)) std::fill_n(levels + 16 * b, 16, int16_t{0});
}

// high: of the High profile, else of Baseline.
inline h264::PictureFormat make_picture_format(int width, int height, bool high) {
    return {.width = width,
            .height = height,
            .chroma = h264::ChromaFormat::c420,
            .bit_depth = 8,
            .slices = 1,
            .transform_8x8 = high,
            .long_level_prefix = high,
            .pcm_without_zeros = !high};
}

struct ReconstructedPicture {
    h264::PictureFormat format;
    size_t levels_each;  // of a macroblock
    int sample_bytes;
    std::vector<h264::Macroblock> macroblocks;
    std::vector<int16_t> levels;
    std::vector<uint8_t> planes[3];

    explicit ReconstructedPicture(const h264::PictureFormat &f)
        : format(f),
          levels_each(16 * static_cast<size_t>(h264::blocks_per_macroblock(f.chroma))),
          sample_bytes(h264::decoded_sample_bytes(f.chroma, f.bit_depth)),
          macroblocks(static_cast<size_t>(f.macroblocks())),
          levels(macroblocks.size() * levels_each) {
        for (int c = 0; c < f.components(); c++)
            planes[c].resize(static_cast<size_t>(width(c) * height(c) * sample_bytes));
    }
    int width(int c) const { return format.macroblock_columns() * format.columns(c); }
    int height(int c) const { return format.macroblock_rows() * format.rows(c); }

    // copy(c, to, y, bytes): row y of component c.
    template <class Copy>
    void copy_rows(Copy copy) {
        for (int c = 0; c < format.components(); c++) {
            const size_t bytes = static_cast<size_t>(width(c) * sample_bytes);
            for (int y = 0; y < height(c); y++) copy(c, &planes[c][static_cast<size_t>(y) * bytes], y, bytes);
        }
    }
    void clear_uncoded() {
        for (size_t m = 0; m < macroblocks.size(); m++)
            testing::clear_uncoded(format.chroma, macroblocks[m], &levels[m * levels_each]);
    }
};

}  // namespace cudaenc::testing
