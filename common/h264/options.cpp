// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../options.h"

namespace cudaenc {

constexpr int64_t kMostRate = 4'000'000'000;

#define OPTION(member) #member, &CudaencH264Options::member
static constexpr Option<CudaencH264Options> rows[] = {
    {OPTION(profile), "Profile", 0, 0, 7, "auto baseline main high high10 high422 cavlc444 high444"},
    {OPTION(level), "Ten times the level; 0: the lowest that fits", 0, 10, 62},
    {OPTION(slices), "Slices of a picture; 0: as few as the level allows", 0, 1, 16 * 1055},
    {OPTION(rate_control), "What the rate control keeps", CUDAENC_H264_CONSTANT_QUALITY, 0, CUDAENC_H264_BIT_RATE},
    {OPTION(qp), "Constant QP, or the middle one of constant quality; 8 bits: from 0", 20, -12, 51},
    {OPTION(aq), "1/256 QP more where variance doubles; -1: 256, with constant QP 0", -1, 0, 1024},
    {OPTION(effort), "How modes are looked for: 0 (on a GPU as a whole), 1 and 2 (by CPU threads), 3 (small)", 0, 0, 3},
    {OPTION(bit_rate), "Bits/s on average", 0, 1, kMostRate},
    {OPTION(max_rate), "Bits/s into the decoder's buffer; 0: bit_rate, or no buffer", 0, 1, kMostRate},
    {OPTION(buffer_size), "Bits of the decoder's buffer; 0: a second of max_rate", 0, 1, kMostRate},
    {OPTION(cbr), "Fill the stream up to its bit rate", 0, 0, 1},
    {OPTION(hrd), "HRD parameters, buffering periods and picture timing", 0, 0, 1},
    {OPTION(qp_min), "Lowest QP that the rate control chooses", -12, -12, 51},
    {OPTION(qp_max), "Highest QP that the rate control chooses, but for the buffer", 51, -12, 51},
    {OPTION(deblock), "Let decoders run the deblocking filter; -1: with P pictures", -1, 0, 1},
    {OPTION(aud), "Access unit delimiters", 0, 0, 1},
    {OPTION(repeat_headers), "Parameter sets in every packet", 1, 0, 1},
    {OPTION(timecodes), "Timecodes of frames as SEI messages", 0, 0, 1},
    {OPTION(chroma_location), "chroma_sample_loc_type of 4:2:0; -1: not told", -1, 0, 5},
    {OPTION(avc_intra_class), "AVC-Intra or XAVC Intra: 100, 200, 300 or 480; 0: none", 0, 50, 480},
    {OPTION(avc_intra_flavor), "Whose AVC-Intra", CUDAENC_AVC_INTRA_PANASONIC, 0, 1, "panasonic sony"},
    {OPTION(gop_size), "Pictures from an IDR picture to the next, P pictures between them; 1: all are IDR", 1, 1,
     1000000},
    {OPTION(scene_cut), "Scene cuts become IDR pictures: where prediction saves at most so many percent; 0: none", 20,
     0, 100},
    {OPTION(min_gop_size), "Pictures before an IDR picture of a scene cut, at least; 0: a tenth of gop_size", 0, 1,
     1000000},
    {OPTION(intra_refresh),
     "Pictures in which columns of intra macroblocks pass over the picture, again and again; 0: none", 0, 1, 1000},
    {OPTION(slice_max_bytes), "Bytes of NAL units of slices at most, without start codes, with P pictures; 0: any", 0,
     640, 1000000},
    {OPTION(lookahead), "Pictures that a P picture waits for, to lower QPs of what they are predicted from; 0: none", 0,
     1, 48},
    {OPTION(weighted_prediction), "Weights of P pictures, which fades need", 0, 0, 1},
    {OPTION(encrypt_parts), "What a key turns beside signs, any combination", 0, 0, 3, "places modes"},
};
const OptionTable<CudaencH264Options> kH264Options = rows;

}  // namespace cudaenc
