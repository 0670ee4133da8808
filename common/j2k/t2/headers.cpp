// SPDX-License-Identifier: LGPL-2.1-or-later
#include "headers.h"

#include <algorithm>
#include <cstring>

#include "../../bytes.h"
#include "../../error.h"
#include "../../icc_profile.h"
#include "codestream.h"

namespace cudaenc::j2k {

namespace {

void put_siz(Bytes &out, const Params &p) {  // A.5.1
    out.put16(kSiz);
    out.put16(38 + 3 * static_cast<uint32_t>(p.components.size()));
    out.put16(static_cast<uint32_t>(p.rsiz));
    out.put32(p.width), out.put32(p.height), out.put32(0), out.put32(0);
    out.put32(p.tile_width), out.put32(p.tile_height), out.put32(0), out.put32(0);
    out.put16(static_cast<uint32_t>(p.components.size()));
    for (const Component &c : p.components) out.put8(c.depth - 1), out.put8(c.dx), out.put8(c.dy);
}

void put_cod(Bytes &out, const Params &p) {  // A.6.1
    out.put16(kCod);
    out.put16(12 + (p.default_precincts ? 0 : p.levels + 1));
    out.put8((p.default_precincts ? 0 : 1) | (p.sop ? 2 : 0) | (p.eph ? 4 : 0));
    out.put8(p.progression);
    out.put16(static_cast<uint32_t>(p.layers));
    out.put8(p.mct);
    out.put8(p.levels);
    out.put8(p.cblk_width_log2 - 2), out.put8(p.cblk_height_log2 - 2);
    out.put8(p.style);
    out.put8(p.reversible ? 1 : 0);
    if (!p.default_precincts)
        for (int r = 0; r <= p.levels; r++) out.put8(p.precinct_width_log2[r] | p.precinct_height_log2[r] << 4);
}

// A.6.4 and A.6.5: QCD for the first component, QCC for each that differs from it.
void put_quantisation(Bytes &out, const Params &p, int component) {
    const auto &bands = p.quantisers[component];
    const uint32_t size = 1 + static_cast<uint32_t>(bands.size()) * (p.reversible ? 1 : 2);
    out.put16(component ? kQcc : kQcd);
    out.put16(2 + (component ? 1 : 0) + size);
    if (component) out.put8(component);
    out.put8((p.reversible ? 0 : 2) | p.guard_bits << 5);
    for (const Quantiser &q : bands)
        if (p.reversible)
            out.put8(q.exponent << 3);
        else
            out.put16(q.exponent << 11 | q.mantissa);
}

void put_poc(Bytes &out, const Params &p) {  // A.6.6
    out.put16(kPoc);
    out.put16(2 + 7 * static_cast<uint32_t>(p.poc.size()));
    for (const ProgressionChange &change : p.poc) {
        out.put8(change.first_resolution), out.put8(change.first_component);
        out.put16(change.last_layer);
        out.put8(change.last_resolution), out.put8(change.last_component);
        out.put8(change.progression);
    }
}

bool same_quantisation(const std::vector<Quantiser> &a, const std::vector<Quantiser> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Quantiser &x, const Quantiser &y) {
        return x.exponent == y.exponent && x.mantissa == y.mantissa;
    });
}

}  // namespace

MainHeader make_main_header(const Params &p, std::span<const TilePart> tile_parts) {
    MainHeader header;
    Bytes out;
    out.put16(kSoc);
    put_siz(out, p);
    put_cod(out, p);
    for (size_t c = 0; c < p.components.size(); c++)
        if (!c || !same_quantisation(p.quantisers[c], p.quantisers[0])) put_quantisation(out, p, static_cast<int>(c));
    for (size_t c = 0; p.roi.shift && c < p.components.size(); c++) {  // A.6.3
        out.put16(kRgn);
        out.put16(5);
        out.put8(static_cast<uint32_t>(c)), out.put8(0), out.put8(p.roi.shift);
    }
    if (!p.poc.empty()) put_poc(out, p);
    if (!p.comment.empty()) {  // A.9.2
        out.put16(kCom);
        out.put16(4 + static_cast<uint32_t>(p.comment.size()));
        out.put16(1);  // Latin text
        out.put_text(p.comment.c_str());
    }
    if (p.tlm) {  // A.7.1
        header.tlm = static_cast<uint32_t>(out.data.size());
        const uint32_t parts = static_cast<uint32_t>(tile_parts.size());
        for (uint32_t first = 0, index = 0; first < parts; first += kTlmTileParts, index++) {
            const uint32_t count = std::min(kTlmTileParts, parts - first);
            out.put16(kTlm);
            out.put16(4 + count * kTlmEntryBytes);
            out.put8(index);
            out.put8(0x60);  // indices of 16 bits, lengths of 32
            for (const TilePart &part : tile_parts.subspan(first, count)) out.put16(part.tile), out.put32(0);
        }
    }
    header.bytes = std::move(out.data);
    return header;
}

namespace {

// Of YUV samples, or of grey ones from an RGB picture, a profile would say what is not so.
bool describes(const uint8_t *icc_profile, size_t size, CudaencColorModel model) {
    return (model == CUDAENC_COLOR_RGB && icc_profile_is_of(icc_profile, size, "RGB ")) ||
           (model == CUDAENC_COLOR_GRAY && icc_profile_is_of(icc_profile, size, "GRAY"));
}

}  // namespace

std::vector<uint8_t> make_jp2_boxes(const Params &p, const uint8_t *icc_profile, size_t icc_profile_size,
                                    int aspect_num, int aspect_den, uint64_t codestream) {
    Bytes out;
    const auto open_box = [&](const char *type) {
        out.put32(0);
        out.put_text(type);
        return out.data.size() - 8;
    };
    const auto close_box = [&](size_t at) {
        const uint32_t size = static_cast<uint32_t>(out.data.size() - at);
        for (int i = 0; i < 4; i++) out.data[at + i] = static_cast<uint8_t>(size >> (24 - 8 * i));
    };
    const uint32_t count = static_cast<uint32_t>(p.components.size());

    size_t box = open_box("jP  ");  // I.5.1
    out.put32(0x0D0A870A);
    close_box(box);
    box = open_box("ftyp");  // I.5.2
    out.put_text("jp2 "), out.put32(0), out.put_text("jp2 ");
    close_box(box);

    const size_t header = open_box("jp2h");  // I.5.3
    box = open_box("ihdr");
    const bool one_depth = std::all_of(p.components.begin(), p.components.end(),
                                       [&](const Component &c) { return c.depth == p.components[0].depth; });
    out.put32(p.height), out.put32(p.width), out.put16(count);
    out.put8(one_depth ? p.components[0].depth - 1 : 255);
    out.put8(7), out.put8(0), out.put8(0);
    close_box(box);
    if (!one_depth) {
        box = open_box("bpcc");
        for (const Component &c : p.components) out.put8(c.depth - 1);
        close_box(box);
    }
    box = open_box("colr");
    if (describes(icc_profile, icc_profile_size, p.input.color_model)) {
        out.put8(2), out.put8(0), out.put8(0);
        out.put_bytes(icc_profile, icc_profile_size);
    } else {
        // Table I.10: sRGB, greyscale, sYCC. XYZ has no number in Part 1; it travels as three unnamed channels.
        const CudaencColorModel model = p.input.color_model;
        out.put8(1), out.put8(0), out.put8(0);
        out.put32(model == CUDAENC_COLOR_GRAY ? 17 : model == CUDAENC_COLOR_YUV ? 18 : 16);
    }
    close_box(box);
    if (p.input.has_alpha) {  // I.5.3.6: colour channels in order, then one for opacity
        box = open_box("cdef");
        out.put16(count);
        for (uint32_t c = 0; c < count; c++) {
            const bool alpha = c == count - 1;
            out.put16(c), out.put16(alpha ? 1 : 0), out.put16(alpha ? 0 : c + 1);
        }
        close_box(box);
    }
    if (aspect_num > 0 && aspect_den > 0 && aspect_num != aspect_den) {
        // I.5.3.7: samples a metre, of which only the ratio is known. Terms have 16 bits: what is larger is divided,
        // and the ratio of the divisors goes to the other direction.
        const auto divisor = [](int64_t x) { return (x + 65534) / 65535; };
        const auto put_quotient = [&](int64_t x) {
            out.put16(static_cast<uint32_t>((x + divisor(x) / 2) / divisor(x)));
        };
        const size_t resolution = open_box("res ");
        box = open_box("resd");
        put_quotient(aspect_num), put_quotient(aspect_den);  // vertical
        out.put16(static_cast<uint32_t>(divisor(aspect_den))), out.put16(static_cast<uint32_t>(divisor(aspect_num)));
        out.put8(0), out.put8(0);
        close_box(box);
        close_box(resolution);
    }
    close_box(header);

    // A box of more than 32 bits says 1 and gives its length after the type (I.4).
    const uint64_t size = codestream + 8;
    if (size <= 0xFFFFFFFFu) {
        out.put32(static_cast<uint32_t>(size)), out.put_text("jp2c");
    } else {
        out.put32(1), out.put_text("jp2c");
        out.put32(static_cast<uint32_t>((size + 8) >> 32)), out.put32(static_cast<uint32_t>(size + 8));
    }
    return std::move(out.data);
}

}  // namespace cudaenc::j2k
