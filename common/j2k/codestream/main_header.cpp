// SPDX-License-Identifier: LGPL-2.1-or-later
#include "main_header.h"

#include <algorithm>

#include "../../bytes.h"
#include "../../error.h"
#include "markers.h"

namespace cudaenc::j2k {

namespace {

constexpr uint32_t kRsizCap = 1u << 14;  // there is a CAP marker segment, T.800 Table A.10

// bytes: of the marker segment without its marker.
void begin_segment(Bytes &out, Marker marker, size_t bytes) {
    out.put16(marker);
    out.put16(static_cast<uint32_t>(bytes));
}

void put_siz(Bytes &out, const Description &p) {  // A.5.1
    begin_segment(out, kSiz, 38 + 3 * p.components.size());
    out.put16(static_cast<uint32_t>(p.rsiz) | (p.part ? kRsizCap : 0));
    out.put32(p.x0 + p.width), out.put32(p.y0 + p.height), out.put32(p.x0), out.put32(p.y0);
    out.put32(p.tile_width), out.put32(p.tile_height), out.put32(p.tile_x0), out.put32(p.tile_y0);
    out.put16(static_cast<uint32_t>(p.components.size()));
    for (const Component &c : p.components)
        out.put8((c.depth - 1) | (c.is_signed ? 128 : 0)), out.put8(c.dx), out.put8(c.dy);
}

void put_cap(Bytes &out, const Description &p) {  // T.800 A.5.2
    begin_segment(out, kCap, 8);
    out.put32(1u << (32 - p.part));
    out.put16(p.capabilities);
}

// SPcod, SPcoc.
void put_component_coding(Bytes &out, const ComponentCoding &coding) {
    out.put8(coding.levels);
    out.put8(coding.cblk_width_log2 - 2), out.put8(coding.cblk_height_log2 - 2);
    out.put8(coding.style);
    out.put8(coding.reversible ? 1 : 0);
    for (int r = 0; r <= coding.levels && !coding.default_precincts; r++)
        out.put8(coding.precinct_width_log2[r] | coding.precinct_height_log2[r] << 4);
}
size_t precinct_bytes(const ComponentCoding &coding) {
    return coding.default_precincts ? 0 : static_cast<size_t>(coding.levels) + 1;
}

void put_cod(Bytes &out, const TileCoding &p) {  // A.6.1
    begin_segment(out, kCod, 12 + precinct_bytes(p));
    out.put8((p.default_precincts ? 0 : 1) | (p.sop ? 2 : 0) | (p.eph ? 4 : 0));
    out.put8(p.progression);
    out.put16(static_cast<uint32_t>(p.layers));
    out.put8(p.mct);
    put_component_coding(out, p);
}

// The number of a component, of `count`: Ccoc, Cqcc, Crgn, CSpoc. As CEpoc a byte of 0 is 256 (A.6.6).
size_t component_bytes(size_t count) { return count < 257 ? 1 : 2; }
void put_component(Bytes &out, size_t component, size_t count) {
    if (component_bytes(count) == 1)
        out.put8(static_cast<uint32_t>(component & 0xFF));
    else
        out.put16(static_cast<uint32_t>(component));
}

void put_coc(Bytes &out, size_t component, size_t count, const ComponentCoding &coding) {  // A.6.2
    begin_segment(out, kCoc, 8 + component_bytes(count) + precinct_bytes(coding));
    put_component(out, component, count), out.put8(coding.default_precincts ? 0 : 1);
    put_component_coding(out, coding);
}

// A.6.4 and A.6.5: QCD for the first component, QCC for each that differs from it.
void put_quantisation(Bytes &out, const TileCoding &p, size_t component, std::vector<SpqcdField> &steps) {
    const Quantisation &bands = p.quantisation[component];
    const bool reversible = p.of_component(component).reversible;
    const size_t count = p.quantisation.size();
    begin_segment(out, component ? kQcc : kQcd,
                  3 + (component ? component_bytes(count) : 0) + bands.steps.size() * (reversible ? 1 : 2));
    if (component) put_component(out, component, count);
    out.put8((reversible ? 0 : 2) | bands.guard_bits << 5);
    for (const StepSize &step : bands.steps)
        if (reversible) {
            out.put8(step.exponent << 3);
        } else {
            steps.push_back({static_cast<uint32_t>(out.data.size()), step.spqcd()});
            out.put16(step.spqcd());
        }
}

size_t progression_change_bytes(size_t components) { return 5 + 2 * component_bytes(components); }

void put_poc(Bytes &out, const TileCoding &p) {  // A.6.6
    const size_t count = p.quantisation.size();
    begin_segment(out, kPoc, 2 + progression_change_bytes(count) * p.poc.size());
    for (const ProgressionChange &change : p.poc) {
        out.put8(change.first_resolution), put_component(out, static_cast<size_t>(change.first_component), count);
        out.put16(change.last_layer);
        out.put8(change.last_resolution), put_component(out, static_cast<size_t>(change.last_component), count);
        out.put8(change.progression);
    }
}

// region_shifts: that others tell, which the tile's own replace.
void put_coding(Bytes &out, const TileCoding &p, const std::vector<int> &region_shifts,
                std::vector<SpqcdField> &steps) {
    put_cod(out, p);
    for (const auto &[c, coding] : p.coc) put_coc(out, c, p.quantisation.size(), coding);
    for (size_t c = 0; c < p.quantisation.size(); c++)
        if (!c || p.quantisation[c] != p.quantisation[0] || p.of_component(c).reversible != p.reversible)
            put_quantisation(out, p, c, steps);
    for (size_t c = 0; c < p.quantisation.size(); c++)  // A.6.3
        if (p.region_shift(c) || (!region_shifts.empty() && region_shifts[c])) {
            begin_segment(out, kRgn, 4 + component_bytes(p.quantisation.size()));
            put_component(out, c, p.quantisation.size()), out.put8(0), out.put8(p.region_shift(c));
        }
    if (!p.poc.empty()) put_poc(out, p);
}

}  // namespace

size_t most_progression_changes(size_t components) { return (65535 - 2) / progression_change_bytes(components); }

std::vector<uint8_t> make_tile_header(const Description &d, const TileCoding &tile) {
    Bytes out;
    std::vector<SpqcdField> steps;
    put_coding(out, tile, d.region_shifts, steps);
    return std::move(out.data);
}

MainHeader make_main_header(const Description &p, std::span<const TilePart> tile_parts) {
    MainHeader header;
    Bytes out;
    out.put16(kSoc);
    put_siz(out, p);
    if (p.part) put_cap(out, p);
    put_coding(out, p, {}, header.steps);
    if (!p.comment.empty()) {  // A.9.2
        begin_segment(out, kCom, 4 + p.comment.size());
        out.put16(1);                                                      // Latin text
        for (const char c : p.comment) out.put8(static_cast<uint8_t>(c));  // it may have zeros
    }
    if (p.tlm) {  // A.7.1
        header.tlm = static_cast<uint32_t>(out.data.size());
        const uint32_t parts = static_cast<uint32_t>(tile_parts.size());
        for (uint32_t first = 0, index = 0; first < parts; first += kTlmTileParts, index++) {
            const uint32_t count = std::min(kTlmTileParts, parts - first);
            begin_segment(out, kTlm, 4 + count * kTlmEntryBytes);
            out.put8(index);
            out.put8(0x60);  // indices of 16 bits, lengths of 32
            for (const TilePart &part : tile_parts.subspan(first, count)) out.put16(part.tile), out.put32(0);
        }
    }
    header.bytes = std::move(out.data);
    return header;
}

std::vector<uint8_t> make_filler(uint64_t least, uint64_t bytes) {  // A.9.2
    constexpr uint64_t kLeast = 7, kMost = 65537;                   // of a segment of binary values, with its marker
    Bytes out;
    for (uint64_t all = bytes; all < least; all = bytes + out.data.size()) {
        uint64_t size = std::clamp(least - all, kLeast, kMost);
        if (const uint64_t rest = least - std::min(least, all + size); rest && rest < kLeast)
            size -= kLeast;  // the last one has room
        begin_segment(out, kCom, size - 2);
        out.put16(0);
        out.data.resize(out.data.size() + size - 6);
    }
    return std::move(out.data);
}

void check_tile_part_length(uint64_t bytes) {
    if (bytes > 0xFFFFFFFFu)
        throw Error(CUDAENC_ERR_UNSUPPORTED,
                    "a tile-part of 4 GiB or more: cut the picture with tile_width and tile_height");
}

}  // namespace cudaenc::j2k
