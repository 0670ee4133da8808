// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jp2_reader.h"

#include <algorithm>
#include <optional>

#include "codestream/markers.h"

namespace cudaenc::j2k {

namespace {

using Bytes = std::span<const uint8_t>;

uint32_t get16(Bytes b, size_t at) { return static_cast<uint32_t>(b[at] << 8 | b[at + 1]); }
uint32_t get32(Bytes b, size_t at) { return get16(b, at) << 16 | get16(b, at + 2); }

constexpr uint32_t type_of(const char (&name)[5]) {
    uint32_t type = 0;
    for (int i = 0; i < 4; i++) type = type << 8 | static_cast<uint8_t>(name[i]);
    return type;
}

struct Box {
    uint32_t type;
    Bytes content;
};
// The box at the front (I.4), which is taken off; nothing: there is none. One that is cut goes up to the end.
std::optional<Box> take_box(Bytes &from) {
    if (from.size() < 8) return {};
    uint64_t length = get32(from, 0), header = 8;
    const uint32_t type = get32(from, 4);
    if (length == 1) {
        if (from.size() < 16) return {};
        length = uint64_t{get32(from, 8)} << 32 | get32(from, 12);
        header = 16;
    }
    if (!length) length = from.size();
    if (length < header) return {};
    length = std::min<uint64_t>(length, from.size());
    const Box box{type, from.subspan(header, length - header)};
    from = from.subspan(length);
    return box;
}

bool is_codestream(Bytes b) { return b.size() >= 4 && get16(b, 0) == kSoc && get16(b, 2) == kSiz; }

void read_colour(Bytes colr, Jp2File &file) {  // I.5.3.3. Of several the first one counts.
    if (colr.size() < 3 || file.enumerated_colour || !file.icc_profile.empty()) return;
    if (colr[0] == 1 && colr.size() >= 7) file.enumerated_colour = get32(colr, 3);
    if (colr[0] == 2) file.icc_profile = colr.subspan(3);
}

void read_channels(Bytes cdef, Jp2File &file) {
    if (cdef.size() < 2 || !file.channels.empty()) return;
    for (size_t at = 2, count = get16(cdef, 0); count && at + 6 <= cdef.size(); at += 6, count--)
        file.channels.push_back({static_cast<uint16_t>(get16(cdef, at)), static_cast<uint16_t>(get16(cdef, at + 2)),
                                 static_cast<uint16_t>(get16(cdef, at + 4))});
}

}  // namespace

Jp2File read_jp2(Bytes packet) {
    Jp2File file;
    if (is_codestream(packet)) {
        file.codestream = packet;
        return file;
    }
    if (packet.size() < 12 || get32(packet, 0) != 12 || get32(packet, 4) != type_of("jP  ")) return file;
    while (const auto box = take_box(packet)) {
        if (box->type == type_of("jp2c") && file.codestream.empty()) file.codestream = box->content;
        if (box->type != type_of("jp2h")) continue;
        Bytes header = box->content;
        while (const auto inner = take_box(header)) {
            if (inner->type == type_of("colr")) read_colour(inner->content, file);
            if (inner->type == type_of("cdef")) read_channels(inner->content, file);
            file.has_palette |= inner->type == type_of("pclr");
        }
    }
    return file;
}

}  // namespace cudaenc::j2k
