// Marker segments (T.81 Annex B, ITU-T T.871). SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "huffman.h"
#include "params.h"

namespace cudaenc::mjpeg {

// What a frame brings along, beside its pixels.
struct Metadata {
    int aspect_num = 0, aspect_den = 0;  // 0/x: unknown
    std::vector<uint8_t> icc_profile, exif;
};
// A frame's metadata, as far as the stream has a place for them: profiles of other colours than a decoder shows are
// left out. Throws Error(CUDAENC_ERR_INVALID) for what does not fit.
Metadata take_metadata(const Params &params, const CudaencFrame &frame);

// SOI to SOF0. The divisors of DQT follow the zig-zag sequence; table t's begin at `dqt` + 65 t, for whom chooses them
// later.
struct FrameHeader {
    std::vector<uint8_t> bytes;
    size_t dqt;
};
FrameHeader make_frame_header(const Params &params, const Metadata &metadata, const Divisors &divisors);

// DHT with the tables of Annex K comes before the first scan, or tables made for the picture by put_dht().
HuffmanSpecs default_huffman();

// DRI and SOS.
std::vector<uint8_t> make_scan_header(const Params &params, const Scan &scan);

// Bytes of a whole packet with so many bits of codes, nearly: what is stuffed is taken for that of random bits.
uint64_t packet_bytes(const Params &params, const Metadata &metadata, const Divisors &divisors,
                      const HuffmanSpecs &huffman, uint64_t bits);

}  // namespace cudaenc::mjpeg
