// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../options.h"

namespace cudaenc {

#define OPTION(member) #member, &CudaencJ2kOptions::member
static constexpr Option<CudaencJ2kOptions> rows[] = {
    {OPTION(profile), "Application whose rules the codestream follows", 0, 0, 16,
     "none cinema2k cinema4k imf2k imf4k imf8k imf2k_r imf4k_r imf8k_r broadcast archive_lossless access imf_ht "
     "imf_ht_r dicom_ht_lossless dicom_ht_rpcl dicom_ht"},
    {OPTION(main_level), "Main level of IMF, of broadcast up to 7; 0: the lowest that fits", 0, 1, 11},
    {OPTION(sub_level), "Sub level of IMF, limits the bit rate; -1: the lowest that the target fits", -1, 0, 9},
    {OPTION(hfr), "Digital cinema at a high frame rate: 500 Mbit/s", 0, 0, 1},
    {OPTION(stereo), "Digital cinema: frames of one eye, which has half of the bits", 0, 0, 1},
    {OPTION(format), "File format of a packet", -1, 0, 1, "auto j2k jp2"},
    {OPTION(tile_width), "Tile width in samples; 0: the picture's, or the profile's", 0, 1, 1 << 30},
    {OPTION(tile_height), "Tile height in samples; 0: the picture's, or the profile's", 0, 1, 1 << 30},
    {OPTION(pred), "Wavelet", -1, 0, 1, "auto dwt97|dwt97int dwt53"},
    {OPTION(quality), "Quality of dwt97, best is 100; -1: 90, finer with a target", -1, 1, 100},
    {OPTION(rate_control), "How frames keep to a target", -1, 0, 5, "auto none pcrd pst psb bpi psp"},
    {OPTION(pst_lag), "With pst: how many frames back the slope comes from", 4, 1, 64},
    {OPTION(bit_rate), "Target: bits/s, of which each frame has its share; 0: none", 0, 1, INT64_MAX},
    {OPTION(frame_bytes), "Target: bytes of a packet, at most; 0: none", 0, 1, INT64_MAX},
    {OPTION(min_frame_bytes), "Least bytes of a packet, smaller ones are filled up; 0: none", 0, 1, INT64_MAX},
    {OPTION(compression_ratio), "Target: bytes of samples over bytes of a packet; 0: none", 0, 1, 1000000},
    {OPTION(psnr), "Target: dB of each frame, at least; 0: none", 0, 1, 150},
    {OPTION(layer_rates), "Targets R0,R1,...: compression ratios up to each layer, falling"},
    {OPTION(levels), "Wavelet decompositions; -1: 5, or what the profile allows", -1, 0, 32},
    {OPTION(cblk_width), "Code-block width; width x height is at most 4096; 0: 32, or the profile's", 0, 4, 1024,
     nullptr, true},
    {OPTION(cblk_height), "Code-block height; width x height is at most 4096; 0: 32, or the profile's", 0, 4, 1024,
     nullptr, true},
    {OPTION(cblk_style), "Code-block style, any combination; 0: none or the profile's", 0, 0, 127,
     "bypass reset termall vsc erterm segsym ht"},
    {OPTION(precincts), "Precincts WxH,..., highest resolution first; not set: 32768x32768, or the profile's"},
    {OPTION(layers), "Quality layers; -1: 1, or the profile's", -1, 1, 100},
    {OPTION(prog), "Progression order", -1, 0, 4, "auto lrcp rlcp rpcl pcrl cprl"},
    {OPTION(visual_weights), "With a target of bytes: errors weigh as the eye sees them", 0, 0, 1},
    {OPTION(roi), "Region of interest X,Y,WIDTH,HEIGHT"},
    {OPTION(poc), "Progression order changes RS,CS,LYE,RE,CE,ORDER[/...]"},
    {OPTION(tile_parts), "Where tiles are cut into tile-parts; 0: nowhere, or the profile's", 0, 0, 3,
     "resolution component"},
    {OPTION(mct), "Transform of the first three components", -1, 0, 1, "auto"},
    {OPTION(guard_bits), "Guard bits of sub-bands; -1: 2, in cinema2k 1", -1, 1, 7},
    {OPTION(sop), "SOP marker segment before each packet; -1: as the profile says", -1, 0, 1},
    {OPTION(eph), "EPH marker after each packet header; -1: as the profile says", -1, 0, 1},
    {OPTION(tlm), "TLM marker segments, lengths of tile-parts; -1: with a profile", -1, 0, 1},
    {OPTION(plt), "PLT marker segments, lengths of packets; -1: as the profile says", -1, 0, 1},
    {OPTION(xyz), "Frames become X'Y'Z' of 12 bits", -1, 0, 2, "auto off on already"},
    {OPTION(xyz_range), "With xyz: range of frames", -1, 0, 1, "auto limited full"},
    {OPTION(xyz_matrix), "With xyz: matrix of YUV", -1, 0, 2, "auto bt601 bt709 bt2020"},
    {OPTION(xyz_transfer), "With xyz: what makes light of R'G'B'", -1, 0, 6,
     "auto linear srgb gamma22 gamma24 gamma26 gamma28 smpte428"},
    {OPTION(xyz_primaries), "With xyz: colour primaries", -1, 0, 4, "auto bt709 p3d65 p3dci bt2020 xyz"},
    {OPTION(xyz_lut), "With xyz: .cube file of a 3D LUT that R'G'B' goes through first"},
    {OPTION(xmp), "With format jp2: file of an XMP packet"},
    {OPTION(iptc), "With format jp2: file of IPTC-IIM or of Photoshop image resources"},
    {OPTION(capture_ppi), "With format jp2: capture resolution, samples an inch; 0: as EXIF tells", 0, 1, 100000},
    {OPTION(display_ppi), "With format jp2: display resolution, samples an inch; 0: not told", 0, 1, 100000},
    {OPTION(comment), "COM marker segment's text, empty: none; not set: name and version"},
};
const OptionTable<CudaencJ2kOptions> kJ2kOptions = rows;

}  // namespace cudaenc
