// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jp2_reader.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "codestream/markers.h"
#include "jp2_metadata.h"

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

void read_colour(Bytes colr, Jp2File &file) {  // I.5.3.3; method 3 is of T.801. Of several the first one counts.
    if (colr.size() < 3 || file.enumerated_colour || !file.icc_profile.empty()) return;
    if (colr[0] == 1 && colr.size() >= 7) file.enumerated_colour = get32(colr, 3);
    if (colr[0] == 2 || colr[0] == 3) file.icc_profile = colr.subspan(3);
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
            if (pclr.size() - at < bytes) break;  // the others are 0
            column.values[entry] = static_cast<int32_t>(bytes == 2 ? get16(pclr, at) : pclr[at]);
            at += bytes;
        }
    for (PaletteColumn &column : file.palette) {
        // Some writers declare the depth of the indices. Then entries have more bits: those of their bytes.
        if (std::ranges::any_of(column.values, [&](int32_t value) { return value >> column.depth; }))
            column.depth = column.depth > 8 ? 16 : 8;
        const int unused = 32 - column.depth;
        if (column.is_signed)
            for (int32_t &value : column.values)
                value = static_cast<int32_t>(static_cast<uint32_t>(value) << unused) >> unused;
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

// I.5.3.7: samples a metre, vertically and horizontally, as numerators, denominators and powers of ten. A sample is as
// many times wider than high as there are more of them in a column. Of several boxes the first one counts.
void read_resolution(Bytes res, Jp2File &file) {
    const auto box = take_box(res);
    if (!box || (box->type != type_of("resc") && box->type != type_of("resd")) || box->content.size() < 10) return;
    const Bytes r = box->content;
    uint64_t num = uint64_t{get16(r, 0)} * get16(r, 6), den = uint64_t{get16(r, 4)} * get16(r, 2);
    const int tens = static_cast<int8_t>(r[8]) - static_cast<int8_t>(r[9]);
    for (int i = 0; i < std::abs(tens) && num && den; i++) {
        uint64_t &term = tens > 0 ? num : den;
        if (term > std::numeric_limits<uint64_t>::max() / 10) return;  // beyond any aspect
        term *= 10;
    }
    if (!num || !den) return;
    const uint64_t common = std::gcd(num, den);
    num /= common, den /= common;
    while (std::max(num, den) > std::numeric_limits<int32_t>::max()) num = (num + 1) / 2, den = (den + 1) / 2;
    file.sample_aspect_num = static_cast<uint32_t>(num), file.sample_aspect_den = static_cast<uint32_t>(den);
}

void read_uuid(Bytes uuid, Jp2File &file) {  // I.7.2
    if (file.exif.empty() && uuid.size() > kExifUuid.size() &&
        std::ranges::equal(uuid.first(kExifUuid.size()), kExifUuid))
        file.exif = uuid.subspan(kExifUuid.size());
}

void read_header_box(Bytes header, Jp2File &file) {  // I.5.3
    while (const auto box = take_box(header)) {
        if (box->type == type_of("colr")) read_colour(box->content, file);
        if (box->type == type_of("cdef")) read_channels(box->content, file);
        if (box->type == type_of("pclr")) read_palette(box->content, file);
        if (box->type == type_of("cmap")) read_mappings(box->content, file);
        if (box->type == type_of("res ") && !file.sample_aspect_num) read_resolution(box->content, file);
    }
}

// From the first SOC on that SIZ follows; empty: there is none.
Bytes find_codestream(Bytes packet) {
    while (packet.size() >= 4 && !is_codestream(packet)) packet = packet.subspan(1);
    return is_codestream(packet) ? packet : Bytes{};
}

}  // namespace

Jp2File read_jp2(Bytes packet) {
    Jp2File file;
    if (is_codestream(packet)) {
        file.codestream = packet;
        return file;
    }
    file.is_file = packet.size() >= 12 && get32(packet, 0) == 12 && get32(packet, 4) == type_of("jP  ");
    Bytes boxes = packet;
    while (const auto box = take_box(boxes)) {
        // Samples of Motion JPEG 2000 (ISO/IEC 15444-3) are boxes without the signature.
        if (!file.is_file && box->type != type_of("jp2c") && box->type != type_of("jp2h")) break;
        if (box->type == type_of("jp2c") && file.codestream.empty()) file.codestream = box->content;
        if (box->type == type_of("cmap")) read_mappings(box->content, file);  // of some writers
        if (box->type == type_of("uuid")) read_uuid(box->content, file);
        if (box->type == type_of("jp2h")) read_header_box(box->content, file);
    }
    if (file.codestream.empty()) file.codestream = find_codestream(packet);
    // Without a mapping that uses columns alone each column is a channel of the first component, as readers take it.
    const bool by_columns = std::ranges::all_of(file.mappings, [](const ChannelMapping &m) { return m.by_palette; });
    if (!file.palette.empty() && (file.mappings.empty() || !by_columns)) {
        file.mappings.clear();
        for (size_t i = 0; i < file.palette.size(); i++) file.mappings.push_back({0, true, static_cast<uint8_t>(i)});
    }
    return file;
}

}  // namespace cudaenc::j2k
