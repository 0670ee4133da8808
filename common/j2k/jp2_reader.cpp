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

void read_palette(Bytes pclr, Jp2File &file) {
    if (pclr.size() < 3 || !file.palette.empty()) return;
    const size_t entries = get16(pclr, 0), columns = pclr[2];
    if (!entries || entries > 1024 || pclr.size() < 3 + columns) return;
    for (size_t i = 0; i < columns; i++) {
        const int depth = (pclr[3 + i] & 127) + 1;
        if (depth > 16) return file.palette.clear();
        file.palette.push_back({depth, (pclr[3 + i] & 128) != 0, std::vector<int32_t>(entries)});
    }
    size_t at = 3 + columns;
    for (size_t entry = 0; entry < entries; entry++)
        for (PaletteColumn &column : file.palette) {
            const size_t bytes = column.depth > 8 ? 2 : 1;
            if (pclr.size() - at < bytes) return;  // the others are 0
            const auto value = static_cast<int32_t>(bytes == 2 ? get16(pclr, at) : pclr[at]);
            const int unused = 32 - column.depth;
            column.values[entry] = column.is_signed
                                       ? static_cast<int32_t>(static_cast<uint32_t>(value) << unused) >> unused
                                       : value & ((1 << column.depth) - 1);
            at += bytes;
        }
}

void read_mappings(Bytes cmap, Jp2File &file) {
    for (size_t at = 0; at + 4 <= cmap.size() && file.mappings.size() < 256; at += 4)
        file.mappings.push_back({static_cast<uint16_t>(get16(cmap, at)), cmap[at + 2] == 1, cmap[at + 3]});
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
        if (box->type == type_of("cmap")) read_mappings(box->content, file);  // of some writers
        if (box->type != type_of("jp2h")) continue;
        Bytes header = box->content;
        while (const auto inner = take_box(header)) {
            if (inner->type == type_of("colr")) read_colour(inner->content, file);
            if (inner->type == type_of("cdef")) read_channels(inner->content, file);
            if (inner->type == type_of("pclr")) read_palette(inner->content, file);
            if (inner->type == type_of("cmap")) read_mappings(inner->content, file);
        }
    }
    // Without a mapping that uses columns alone each column is a channel of the first component, as readers take it.
    const bool by_columns = std::ranges::all_of(file.mappings, [](const ChannelMapping &m) { return m.by_palette; });
    if (!file.palette.empty() && (file.mappings.empty() || !by_columns)) {
        file.mappings.clear();
        for (size_t i = 0; i < file.palette.size(); i++) file.mappings.push_back({0, true, static_cast<uint8_t>(i)});
    }
    return file;
}

}  // namespace cudaenc::j2k
