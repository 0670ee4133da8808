// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../options.h"

namespace cudaenc {

#define OPTION(member) #member, &CudaencMjpegOptions::member
static constexpr Option<CudaencMjpegOptions> rows[] = {
    {OPTION(quality), "Quality on libjpeg's scale, best is 100", 90, 1, 100},
    {OPTION(matrix), "Quantisation matrices, which quality scales", CUDAENC_MJPEG_MATRIX_ANNEXK, 0, 2,
     "annexk flat mpeg"},
    {OPTION(trellis), "Levels whose bits cost more than they give become smaller", 0, 0, 1},
    {OPTION(huffman), "Huffman tables", CUDAENC_MJPEG_HUFFMAN_OPTIMAL, 0, 1, "default optimal"},
    {OPTION(restart_interval), "MCUs between restart markers; 0: none, -1: a row", 0, -1, 65535, "row"},
    {OPTION(mct), "RGB becomes YCbCr, else it stays RGB", 0, 0, 1},
    {OPTION(frame_bytes), "Target: bytes of each packet; 0: none, quality holds", 0, 1, INT32_MAX},
    {OPTION(quality_min), "Lowest quality that a target chooses", 1, 1, 100},
    {OPTION(quality_max), "Highest quality that a target chooses", 100, 1, 100},
    {OPTION(comment), "COM marker segment's text, empty: none; not set: name and version"},
};
const OptionTable<CudaencMjpegOptions> kMjpegOptions = rows;

}  // namespace cudaenc
