// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of a codestream that CPU and CUDA pipelines place alike: packet headers' bits to bytes, marker segments of
// tile-parts (T.800 A.4, A.7.3, A.8).
#pragma once
#include <cstdint>

#include "../../hd.h"
#include "tables.h"

namespace cudaenc::j2k {

// Marker codes, T.800 Table A.2.
enum Marker : uint16_t {
    kSoc = 0xFF4F,
    kSot = 0xFF90,
    kSod = 0xFF93,
    kEoc = 0xFFD9,
    kCap = 0xFF50,
    kSiz = 0xFF51,
    kCod = 0xFF52,
    kCoc = 0xFF53,
    kQcd = 0xFF5C,
    kQcc = 0xFF5D,
    kRgn = 0xFF5E,
    kPoc = 0xFF5F,
    kTlm = 0xFF55,
    kPpm = 0xFF60,
    kPpt = 0xFF61,
    kPlt = 0xFF58,
    kSop = 0xFF91,
    kEph = 0xFF92,
    kCom = 0xFF64,
};

// SOP and EPH marker segments, T.800 A.8.
constexpr uint32_t kSopBytes = 6, kEphBytes = 2;

// Bytes of a packet's length in a PLT marker segment: seven bits each, T.800 A.7.3.
CUDAENC_HD uint32_t plt_bytes(uint64_t length) {
    uint32_t n = 1;
    for (; length >>= 7;) n++;
    return n;
}
constexpr uint32_t kPltHeaderBytes = 5;  // marker, Lplt, Zplt
constexpr uint32_t kSotBytes = 12, kSodBytes = 2;

// A tile-part's entry in a TLM marker segment: two bytes of its tile's index, four of length (T.800 A.7.1).
constexpr uint32_t kTlmEntryBytes = 6;

// Where tile-part `index`'s entry is, in bytes from MainHeader::tlm.
CUDAENC_HD uint32_t tlm_entry(uint32_t index) { return (index / kTlmTileParts + 1) * 6 + index * kTlmEntryBytes; }

CUDAENC_HD void put_be16(uint8_t *at, uint32_t x) {
    at[0] = static_cast<uint8_t>(x >> 8);
    at[1] = static_cast<uint8_t>(x);
}
CUDAENC_HD void put_be32(uint8_t *at, uint32_t x) {
    put_be16(at, x >> 16);
    put_be16(at + 2, x);
}

// A tile-part's header: SOT, PLT segments (their bodies are written by put_plt_length()), SOD. length: of the whole
// tile-part; plt_offsets[0..packets]: bytes of lengths before a packet; nullptr: no PLT.
CUDAENC_HD void put_tile_part_header(uint8_t *at, const TilePart &part, uint64_t length, const uint64_t *plt_offsets) {
    put_be16(at, kSot);
    put_be16(at + 2, 10);
    put_be16(at + 4, part.tile);
    put_be32(at + 6, static_cast<uint32_t>(length));
    at[10] = part.part;
    at[11] = part.parts;
    at += kSotBytes;
    const uint32_t packets = part.last_packet - part.first_packet;
    for (uint32_t segment = 0; plt_offsets && segment < plt_segments(packets); segment++) {
        const uint32_t last = min_of((segment + 1) * kPltPackets, packets);
        const uint32_t bytes = static_cast<uint32_t>(plt_offsets[last] - plt_offsets[segment * kPltPackets]);
        put_be16(at, kPlt);
        put_be16(at + 2, 3 + bytes);
        at[4] = static_cast<uint8_t>(segment);
        at += kPltHeaderBytes + bytes;
    }
    put_be16(at, kSod);
}

// The length of the tile-part's packet `index` in the PLT segments of the tile-part header at `at`; `before` bytes of
// lengths precede it.
CUDAENC_HD void put_plt_length(uint8_t *at, uint32_t index, uint64_t before, uint64_t length) {
    at += kSotBytes + (index / kPltPackets + 1) * kPltHeaderBytes + before;
    const uint32_t n = plt_bytes(length);
    for (uint32_t i = 0; i < n; i++)
        at[i] = static_cast<uint8_t>(((length >> (7 * (n - 1 - i))) & 127) | (i + 1 < n ? 128 : 0));
}

// Bytes of a codestream that are in no packet, and of a tile-part: markers, headers, the main one of `main_header`
// bytes. PLT entries do not count, their segments' heads do.
CUDAENC_HD uint64_t tile_part_overhead(const TilePart &part, bool plt) {
    return kSotBytes + kSodBytes +
           (plt ? uint64_t{plt_segments(part.last_packet - part.first_packet)} * kPltHeaderBytes : 0);
}

CUDAENC_HD void put_sop(uint8_t *at, uint32_t in_tile) {
    put_be16(at, kSop);
    put_be16(at + 2, 4);
    put_be16(at + 4, in_tile & 0xFFFF);
}

}  // namespace cudaenc::j2k
