// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of JP2 and JPH files (T.800 Annex I): where the codestream is, and what its components are.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace cudaenc::j2k {

// A channel of cdef (I.5.3.6). type: 0 colour, 1 opacity, 2 premultiplied opacity; association: the colour, from 1 on.
struct ChannelDefinition {
    uint16_t channel, type, association;
};

// A column of a palette (I.5.3.4), and what cmap makes a channel of (I.5.3.5): a component as it is, or by a column.
struct PaletteColumn {
    int depth;
    bool is_signed;
    std::vector<int32_t> values;
};
struct ChannelMapping {
    uint16_t component;
    bool by_palette;
    uint8_t column;
};

struct Jp2File {
    std::span<const uint8_t> codestream;  // from SOC on; empty: there is none
    bool is_file = false;                 // begins with the signature box; else what follows may be another codestream
    uint32_t enumerated_colour = 0;       // EnumCS of the first colr box that a reader knows; 0: none
    std::span<const uint8_t> icc_profile;
    std::span<const uint8_t> exif;                          // a TIFF structure
    uint32_t sample_aspect_num = 0, sample_aspect_den = 1;  // of the first resolution, up to INT32_MAX; 0/1: unknown
    std::vector<PaletteColumn> palette;
    std::vector<ChannelMapping> mappings;
    std::vector<ChannelDefinition> channels;
};

// Of a bare codestream that alone. Boxes that are cut, or unknown, are left out. Where no box has a codestream it is
// what begins with SOC and SIZ, as in files whose boxes are damaged.
Jp2File read_jp2(std::span<const uint8_t> packet);

}  // namespace cudaenc::j2k
