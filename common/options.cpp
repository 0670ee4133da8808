// SPDX-License-Identifier: LGPL-2.1-or-later
#include "options.h"

namespace cudaenc {

#define OPTION(member) #member, &CudaencConfig::member
static constexpr Option<CudaencConfig> rows[] = {
    {OPTION(device), "Where to encode: auto (a GPU, else the CPU), cpu, cuda or cuda:N", 0, 0, 0, nullptr, false,
     "auto"},
    {OPTION(async_depth),
     "Frames in flight: more fill a GPU better and take more memory; 0: 4, of H.264 on a CPU 1.5 a thread", 0, 1,
     CUDAENC_MAX_ASYNC_DEPTH},
    {OPTION(threads), "Threads of the CPU; 0: one per core", 0, 1, 1024},
    {OPTION(stage_times), "Measure every stage, see cudaenc_stage_times()", 0, 0, 1},
};
const OptionTable<CudaencConfig> kSharedOptions = rows;

#undef OPTION
#define OPTION(member) #member, &CudaencDecoderConfig::member
static constexpr Option<CudaencDecoderConfig> decoder_rows[] = {
    {OPTION(device), "Where to decode: auto (a GPU, else the CPU), cpu, cuda or cuda:N", 0, 0, 0, nullptr, false,
     "auto"},
    {OPTION(async_depth),
     "Pictures in flight: more fill a GPU better and take more memory; 0: 4, on a CPU 1.5 a thread", 0, 1,
     CUDAENC_MAX_ASYNC_DEPTH},
    {OPTION(threads), "Threads of the CPU; 0: one per core", 0, 1, 1024},
    {OPTION(stage_times), "Measure every stage, see cudaenc_decoder_stage_times()", 0, 0, 1},
    {OPTION(lowres), "Pictures are 1/2^lowres as large; of JPEG at most 3, of JPEG 2000 the levels of the stream", 0, 0,
     32},
    {OPTION(max_pixels), "Larger pictures are refused", 4294836225, 1, 4294836225},
    {OPTION(usual_format), "Planes have a usual format: components are scaled up to it, and inks become light", 0, 0,
     1},
    {OPTION(layers), "Of JPEG 2000: quality layers that are decoded; 0: all", 0, 1, 65535},
    {OPTION(region), "Of JPEG 2000: the part X,Y,WIDTH,HEIGHT that is decoded, in samples before lowres; not set: all"},
    {OPTION(channels),
     "Of JPEG 2000: one to four channels C,C,... that planes have, counted from 0: gray, gray and opacity, three "
     "colours, or these and opacity; not set: as the file says"},
    {OPTION(rgb), "Of JPEG of 8 bits: Y, Cb and Cr become R, G and B, of which each has all samples", 0, 0, 1},
};
const OptionTable<CudaencDecoderConfig> kDecoderOptions = decoder_rows;

#undef OPTION
#define OPTION(member) #member, &CudaencCavlcConfig::member
static constexpr Option<CudaencCavlcConfig> cavlc_rows[] = {
    {OPTION(device), "Where to code: auto (a GPU, else the CPU), cpu, cuda or cuda:N", 0, 0, 0, nullptr, false, "auto"},
    {OPTION(columns), "Blocks in a row", 1, 1, 65536},
    {OPTION(rows), "Rows of blocks", 1, 1, 65536},
    {OPTION(scanned), "Coefficients come in the order of the scan", 0, 0, 1},
    {OPTION(without_dc), "The first coefficient of a block is not coded", 0, 0, 1},
};
const OptionTable<CudaencCavlcConfig> kCavlcOptions = cavlc_rows;

}  // namespace cudaenc
