// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tile_parts.h"

#include <algorithm>
#include <map>

#include "../../error.h"

namespace cudaenc::j2k {

void refuse_codestream(size_t at, const std::string &why) {
    throw Error(CUDAENC_ERR_INVALID, format_string("JPEG 2000 codestream, byte %zu: ", at) + why);
}

uint32_t SegmentFields::get(int bytes) {
    if (rest_.size() < static_cast<size_t>(bytes))
        refuse(format_string("marker segment %04X is too short", segment_.marker));
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | rest_[static_cast<size_t>(i)];
    rest_ = rest_.subspan(static_cast<size_t>(bytes));
    return value;
}
uint32_t SegmentFields::get(int bytes, uint32_t least, uint32_t most, const char *name) {
    const uint32_t value = get(bytes);
    if (value < least || value > most)
        refuse(format_string("%s is %u: it has to be %u to %u", name, value, least, most));
    return value;
}
void SegmentFields::end() const {
    if (!rest_.empty())
        refuse(format_string("marker segment %04X is %zu bytes too long", segment_.marker, rest_.size()));
}

namespace {

uint32_t get16(std::span<const uint8_t> bytes, size_t at) {
    return static_cast<uint32_t>(bytes[at] << 8 | bytes[at + 1]);
}

// A.4.2. end: of the bytes that are there.
CodedTilePart read_sot(std::span<const uint8_t> codestream, size_t at, int tiles) {
    if (codestream.size() - at < kSotBytes) refuse_codestream(at, "SOT is cut");
    const MarkerSegment sot{kSot, at, codestream.subspan(at + 4, kSotBytes - 4)};
    if (get16(codestream, at + 2) != 10) refuse_codestream(at, "SOT has a length other than 10");
    SegmentFields fields(sot);
    CodedTilePart part{};
    part.tile = fields.get(2, 0, static_cast<uint32_t>(tiles - 1), "Isot");
    const uint32_t length = fields.get(4);
    part.part = static_cast<uint8_t>(fields.get(1, 0, kMaxTileParts - 1, "TPsot"));
    part.parts = static_cast<uint8_t>(fields.get(1));  // too few in files of some encoders
    if (length && length < kSotBytes + kSodBytes)
        fields.refuse(format_string("Psot is %u: it has to be 0, or 14 or more", length));
    // Without a length it is the last one: read_tile_parts() finds its end.
    const size_t rest = codestream.size() - at;
    part.is_cut = length > rest;
    part.end = at + (length ? std::min<size_t>(length, rest) : rest);
    return part;
}

// The first EOC from `at` on, among packets. These have no two bytes above FF8F (B.10.1, C.2), but in SOP, whose number
// of the packet may be any (A.8.1).
size_t find_eoc(std::span<const uint8_t> codestream, size_t at) {
    constexpr size_t kSopBytes = 6;
    for (; codestream.size() - at >= 2; at++) {
        const uint32_t marker = get16(codestream, at);
        if (marker == kEoc) return at;
        if (marker == kSop) at += std::min(kSopBytes, codestream.size() - at) - 1;
    }
    return codestream.size();
}

// The bytes of PPM or PPT marker segments, in the order of their indices (A.7.4, A.7.5).
std::vector<uint8_t> joined(std::span<const MarkerSegment> segments, Marker marker) {
    std::map<uint32_t, std::span<const uint8_t>> by_index;
    for (const MarkerSegment &segment : segments) {
        if (segment.marker != marker) continue;
        SegmentFields fields(segment);
        const uint32_t index = fields.get(1);
        if (!by_index.emplace(index, fields.rest()).second)
            fields.refuse(format_string("two packed packet headers have the index %u", index));
    }
    std::vector<uint8_t> bytes;
    for (const auto &[index, part] : by_index) bytes.insert(bytes.end(), part.begin(), part.end());
    return bytes;
}
bool has(std::span<const MarkerSegment> segments, Marker marker) {
    return std::any_of(segments.begin(), segments.end(), [&](const MarkerSegment &s) { return s.marker == marker; });
}

}  // namespace

std::vector<MarkerSegment> read_segments(std::span<const uint8_t> codestream, size_t &at, size_t end, Marker last) {
    std::vector<MarkerSegment> segments;
    for (;;) {
        if (end - at < 2) refuse_codestream(at, format_string("a header is cut before marker %04X", last));
        const auto marker = static_cast<uint16_t>(get16(codestream, at));
        if (marker == last) return segments;
        if (marker < 0xFF00) refuse_codestream(at, format_string("%04X is no marker", marker));
        if (marker == kSoc || marker == kSot || marker == kSod || marker == kEoc)
            refuse_codestream(at, format_string("marker %04X stands in a header", marker));
        if (marker >= 0xFF30 && marker <= 0xFF3F) {
            at += 2;
            continue;
        }
        const size_t length = end - at < 4 ? 0 : get16(codestream, at + 2);
        if (length < 2 || length > end - at - 2)
            refuse_codestream(at, format_string("marker segment %04X is cut", marker));
        segments.push_back({marker, at, codestream.subspan(at + 4, length - 2)});
        at += 2 + length;
    }
}

std::vector<TilePartHeader> read_tile_parts(std::span<const uint8_t> codestream, size_t at, int tiles,
                                            std::string &damage) {
    std::vector<TilePartHeader> all;
    std::map<uint32_t, uint32_t> parts;  // of each tile so far
    const auto read_next = [&] {
        CodedTilePart part = read_sot(codestream, at, tiles);
        uint32_t &next = parts[part.tile];
        if (part.part != next)
            refuse_codestream(at,
                              format_string("tile %u: tile-part %d comes where %u is due", part.tile, part.part, next));
        next++;
        size_t header = at + kSotBytes;
        TilePartHeader read{part, read_segments(codestream, header, part.end, kSod)};
        read.part.begin = header + kSodBytes;
        const bool has_length = get16(codestream, at + 6) || get16(codestream, at + 8);  // Psot
        if (!has_length) read.part.end = find_eoc(codestream, read.part.begin);
        at = read.part.end;
        all.push_back(std::move(read));
    };
    try {
        while (codestream.size() - at >= 2 && get16(codestream, at) == kSot) read_next();
        if (all.empty()) refuse_codestream(at, "there is no tile-part");
        if (!all.back().part.is_cut && codestream.size() - at >= 2 && get16(codestream, at) != kEoc)
            refuse_codestream(at, "neither a tile-part nor EOC follows a tile-part");
    } catch (const Error &e) {
        if (all.empty()) throw;
        damage = e.what();  // what came before is there
    }
    return all;
}

void unpack_headers(std::span<const MarkerSegment> main_header, std::span<TilePartHeader> tile_parts) {
    const bool in_main = has(main_header, kPpm);
    const std::vector<uint8_t> packed = joined(main_header, kPpm);
    size_t at = 0;
    for (TilePartHeader &t : tile_parts) {
        const bool own = has(t.segments, kPpt);
        if (own && in_main) refuse_codestream(t.part.begin, "there are PPM and PPT marker segments");
        t.part.has_packed_headers = own || in_main;
        if (own) t.part.packet_headers = joined(t.segments, kPpt);
        if (!in_main) continue;
        // Nppm, of four bytes, and so many bytes of headers for each tile-part.
        if (packed.size() - at < 4)
            refuse_codestream(t.part.begin, "PPM marker segments have no headers for this tile-part");
        size_t bytes = 0;
        for (int i = 0; i < 4; i++) bytes = bytes << 8 | packed[at++];
        if (bytes > packed.size() - at)
            refuse_codestream(t.part.begin, format_string("Nppm is %zu where PPM marker segments have %zu bytes more",
                                                          bytes, packed.size() - at));
        t.part.packet_headers.assign(packed.begin() + static_cast<ptrdiff_t>(at),
                                     packed.begin() + static_cast<ptrdiff_t>(at + bytes));
        at += bytes;
    }
}

}  // namespace cudaenc::j2k
