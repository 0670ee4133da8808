// SPDX-License-Identifier: LGPL-2.1-or-later
// Marker segments (T.81 Annex B, ITU-T T.871).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../pipeline.h"
#include "huffman.h"
#include "params.h"

namespace cudaenc::mjpeg {

// The metadata of a frame.
struct Metadata {
    int aspect_num = 0, aspect_den = 0;  // 0/x: unknown
    std::vector<uint8_t> icc_profile, exif;
    PictureKind kind = PictureKind::frame;
    std::string warning;  // of a profile that is left out, in a line; mostly empty
};
// Copies the metadata that the stream can hold. Profiles of a colour space that decoders do not show are left out.
// Throws Error(CUDAENC_ERR_INVALID) where a segment would be too large.
Metadata take_metadata(const Params &params, const SourcePicture &frame);

// SOI to SOF0. Fields have an APP0 marker segment that tells which one they are.
std::vector<uint8_t> make_frame_header(const Params &params, const Metadata &metadata, const Divisors &divisors);

// The tables of Annex K.
HuffmanSpecs default_huffman();

// Appends DHT with all tables in use, 1 or 2 of each class. It comes before the first scan.
void append_dht(std::vector<uint8_t> &to, const HuffmanSpecs &huffman, int tables);

// DRI and SOS.
std::vector<uint8_t> make_scan_header(const Params &params, const Scan &scan);

// Bytes of a packet with `bits` bits of codes, stuffed zeros estimated.
uint64_t packet_bytes(const Params &params, const Metadata &metadata, const Divisors &divisors,
                      const HuffmanSpecs &huffman, uint64_t bits);

}  // namespace cudaenc::mjpeg
