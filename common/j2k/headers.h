// Marker segments of the main header (T.800 Annex A) and the boxes of a JP2 file (Annex I).
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "geometry.h"
#include "params.h"

namespace cudaenc::j2k {

// Marker codes, T.800 Table A.2.
enum Marker : uint16_t {
    kSoc = 0xFF4F,
    kSot = 0xFF90,
    kSod = 0xFF93,
    kEoc = 0xFFD9,
    kSiz = 0xFF51,
    kCod = 0xFF52,
    kQcd = 0xFF5C,
    kQcc = 0xFF5D,
    kTlm = 0xFF55,
    kPlt = 0xFF58,
    kSop = 0xFF91,
    kEph = 0xFF92,
    kCom = 0xFF64,
};

// Tiles that share a TLM marker segment, and what each takes in it: two bytes of index, four of length (T.800 A.7.1).
constexpr uint32_t kTlmTiles = 10000;
constexpr uint32_t kTlmEntryBytes = 6;

struct MainHeader {
    std::vector<uint8_t> bytes;  // SOC to the end of the main header, lengths of tile-parts zero
    uint32_t tlm = 0;            // where the first TLM marker segment begins; 0: there is none
};
MainHeader make_main_header(const Params &params);

// Where tile `tile`'s entry is, in bytes from MainHeader::tlm.
CUDAENC_HD uint32_t tlm_entry(uint32_t tile) { return (tile / kTlmTiles + 1) * 6 + tile * kTlmEntryBytes; }

// The boxes before a codestream of `codestream` bytes: signature, file type, header with colour, and the head of the
// codestream's box. icc_profile may be empty.
std::vector<uint8_t> make_jp2_boxes(const Params &params, const uint8_t *icc_profile, size_t icc_profile_size,
                                    int aspect_num, int aspect_den, uint64_t codestream);

}  // namespace cudaenc::j2k
