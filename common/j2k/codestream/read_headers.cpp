// SPDX-License-Identifier: LGPL-2.1-or-later
#include "read_headers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "../../error.h"
#include "tile_parts.h"

namespace cudaenc::j2k {

namespace {

constexpr uint32_t kMaxCsiz = 16384;  // A.5.1
// Components of all tiles that have marker segments of their own: each has its own steps in memory.
constexpr size_t kMaxOwnComponents = size_t{1} << 16;

[[noreturn]] void unsupported(const std::string &what) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "JPEG 2000 codestream: " + what + " is not supported");
}

// The marker segments of a main header or of a tile's headers, as they stand there.
struct Steps {
    enum class Style { none, derived, expounded } style;
    int guard_bits;
    std::vector<StepSize> sizes;
};
struct Cod {
    ComponentCoding coding;
    int layers;
    CudaencJ2kProgression progression;
    bool mct, sop, eph;
};
struct HeaderSegments {
    std::optional<Cod> cod;
    std::optional<Steps> qcd;
    std::map<size_t, ComponentCoding> coc;  // by component, as the next two
    std::map<size_t, Steps> qcc;
    std::map<size_t, int> rgn;
    std::vector<ProgressionChange> poc;
    bool plt = false;
};

int32_t coordinate(SegmentFields &fields, uint32_t least, const char *name) {  // of the reference grid
    const uint32_t value = fields.get(4);
    if (value > 0x7FFFFFFF) unsupported(format_string("%s of %u", name, value));
    if (value < least) fields.refuse(format_string("%s is %u: it has to be %u or more", name, value, least));
    return static_cast<int32_t>(value);
}

bool read_siz(const MarkerSegment &segment, Description &d) {  // A.5.1. Returns whether CAP is due.
    SegmentFields fields(segment);
    const uint32_t rsiz = fields.get(2);
    if (rsiz & 0x8000) unsupported("an extension of Part 2 (Rsiz)");
    d.rsiz = static_cast<int>(rsiz & 0x3FFF);
    const int32_t x1 = coordinate(fields, 1, "Xsiz"), y1 = coordinate(fields, 1, "Ysiz");
    d.x0 = coordinate(fields, 0, "XOsiz"), d.y0 = coordinate(fields, 0, "YOsiz");
    d.tile_width = coordinate(fields, 1, "XTsiz"), d.tile_height = coordinate(fields, 1, "YTsiz");
    d.tile_x0 = coordinate(fields, 0, "XTOsiz"), d.tile_y0 = coordinate(fields, 0, "YTOsiz");
    if (d.x0 >= x1 || d.y0 >= y1) fields.refuse("the image area is empty");
    // B-3, B-4
    if (d.tile_x0 > d.x0 || d.tile_y0 > d.y0 || int64_t{d.tile_x0} + d.tile_width <= d.x0 ||
        int64_t{d.tile_y0} + d.tile_height <= d.y0)
        fields.refuse("the first tile has nothing of the image");
    d.width = x1 - d.x0, d.height = y1 - d.y0;
    const int64_t across = ceil_div(int64_t{x1} - d.tile_x0, d.tile_width),
                  down = ceil_div(int64_t{y1} - d.tile_y0, d.tile_height);
    constexpr int64_t kMaxTiles = 65535;  // A.4.2
    if (across > kMaxTiles || down > kMaxTiles || across * down > kMaxTiles)
        fields.refuse(format_string("there are %lld x %lld tiles: at most 65535 are allowed",
                                    static_cast<long long>(across), static_cast<long long>(down)));
    d.tiles_x = static_cast<int>(across), d.tiles_y = static_cast<int>(down);
    const uint32_t count = fields.get(2, 1, kMaxCsiz, "Csiz");
    for (uint32_t c = 0; c < count; c++) {
        const uint32_t ssiz = fields.get(1);
        Component k{};
        k.depth = static_cast<int>(ssiz & 127) + 1, k.is_signed = ssiz & 128;
        if (k.depth > 38) fields.refuse(format_string("component %u has %d bits: at most 38 are allowed", c, k.depth));
        k.dx = static_cast<int>(fields.get(1, 1, 255, "XRsiz")),
        k.dy = static_cast<int>(fields.get(1, 1, 255, "YRsiz"));
        d.components.push_back(k);
    }
    fields.end();
    return rsiz & 0x4000;
}

void read_cap(const MarkerSegment &segment, Description &d) {  // A.5.2
    SegmentFields fields(segment);
    const uint32_t parts = fields.get(4);
    for (int part = 1; part <= 32; part++) {
        if (!(parts >> (32 - part) & 1)) continue;
        const uint32_t capabilities = fields.get(2);
        if (part != 15) unsupported(format_string("part %d of the standard (CAP)", part));
        d.part = part, d.capabilities = capabilities;
    }
    fields.end();
}

class HeaderReader {
  public:
    explicit HeaderReader(const Description &description) : d_(description) {}

    // first: of the tile's tile-parts, or the main header; POC alone may stand in later ones.
    void read(std::span<const MarkerSegment> segments, HeaderSegments &to, bool first) const {
        for (const MarkerSegment &segment : segments) {
            SegmentFields fields(segment);
            const uint16_t marker = segment.marker;
            if (!first && (marker == kCod || marker == kCoc || marker == kQcd || marker == kQcc || marker == kRgn))
                fields.refuse(
                    format_string("marker segment %04X stands behind the first tile-part of its tile", marker));
            if (marker == kCod)
                only_one(fields, to.cod.has_value(), marker), to.cod = read_cod(fields);
            else if (marker == kQcd)
                only_one(fields, to.qcd.has_value(), marker), to.qcd = read_steps(fields);
            else if (marker == kCoc)
                read_of_component(fields, to.coc, marker, [&] {
                    const bool default_precincts = !fields.get(1, 0, 1, "Scoc");
                    return read_component_coding(fields, default_precincts);
                });
            else if (marker == kQcc)
                read_of_component(fields, to.qcc, marker, [&] { return read_steps(fields); });
            else if (marker == kRgn)
                read_of_component(fields, to.rgn, marker, [&] {
                    fields.get(1, 0, 0, "Srgn");
                    return static_cast<int>(fields.get(1, 0, 255, "SPrgn"));
                });
            else if (marker == kPoc)
                read_poc(fields, to.poc);
            else if (marker == kPlt)
                to.plt = true;
        }
    }

  private:
    static void only_one(const SegmentFields &fields, bool exists, uint16_t marker) {
        if (exists) fields.refuse(format_string("there are two marker segments %04X", marker));
    }
    uint32_t get_component(SegmentFields &fields) const {
        const auto count = static_cast<uint32_t>(d_.components.size());
        return fields.get(count < 257 ? 1 : 2, 0, count - 1, "the component");
    }
    template <class T, class Read>
    void read_of_component(SegmentFields &fields, std::map<size_t, T> &to, uint16_t marker, const Read &read) const {
        const size_t c = get_component(fields);
        only_one(fields, to.count(c) != 0, marker);
        to.emplace(c, read());
        fields.end();
    }

    static ComponentCoding read_component_coding(SegmentFields &fields, bool default_precincts) {
        ComponentCoding coding{};
        coding.levels = static_cast<int>(fields.get(1, 0, kMaxLevels, "the number of decomposition levels"));
        coding.cblk_width_log2 = static_cast<int>(fields.get(1, 0, 8, "the code-block width exponent")) + 2;
        coding.cblk_height_log2 = static_cast<int>(fields.get(1, 0, 8, "the code-block height exponent")) + 2;
        if (coding.cblk_width_log2 + coding.cblk_height_log2 > 12)
            fields.refuse(format_string("code-blocks have 2^%d x 2^%d samples: at most 4096 are allowed",
                                        coding.cblk_width_log2, coding.cblk_height_log2));
        coding.style = fields.get(1);
        if ((coding.style & 192) == 128)  // T.814 Table A.4: 64 has HT blocks alone, 192 some
            fields.refuse(format_string("the code-block style is %u: 128 needs 64", coding.style));
        coding.reversible = fields.get(1, 0, 1, "the transformation");
        coding.default_precincts = default_precincts;
        coding.precinct_width_log2.fill(15), coding.precinct_height_log2.fill(15);
        for (size_t r = 0; !default_precincts && r <= static_cast<size_t>(coding.levels); r++) {
            const int size = static_cast<int>(fields.get(1));
            coding.precinct_width_log2[r] = size & 15, coding.precinct_height_log2[r] = size >> 4;
            if (r && (!(size & 15) || !(size >> 4)))  // Table A.21
                fields.refuse(format_string("precincts of resolution %zu have a side of 1", r));
        }
        return coding;
    }

    static Cod read_cod(SegmentFields &fields) {  // A.6.1
        Cod cod{};
        const uint32_t style = fields.get(1, 0, 7, "Scod");
        cod.sop = style & 2, cod.eph = style & 4;
        cod.progression = static_cast<CudaencJ2kProgression>(fields.get(1, 0, 4, "the progression order"));
        cod.layers = static_cast<int>(fields.get(2, 1, 65535, "the number of layers"));
        cod.mct = fields.get(1, 0, 1, "the multiple component transformation");
        cod.coding = read_component_coding(fields, !(style & 1));
        fields.end();
        return cod;
    }

    static Steps read_steps(SegmentFields &fields) {  // A.6.4, A.6.5: from Sqcd on
        const uint32_t style = fields.get(1);
        if ((style & 31) > 2)
            fields.refuse(format_string("the quantisation style is %u: it has to be 0 to 2", style & 31));
        Steps steps{static_cast<Steps::Style>(style & 31), static_cast<int>(style >> 5), {}};
        while (fields.size() && (steps.sizes.empty() || steps.style != Steps::Style::derived)) {
            const uint32_t value = steps.style == Steps::Style::none ? fields.get(1) << 8 : fields.get(2);
            steps.sizes.push_back({static_cast<int>(value >> 11), static_cast<int>(value & 2047)});
            if (steps.style == Steps::Style::none) steps.sizes.back().mantissa = 0;
        }
        if (steps.sizes.empty()) fields.refuse("there is no quantisation step");
        fields.end();
        return steps;
    }

    void read_poc(SegmentFields &fields, std::vector<ProgressionChange> &poc) const {  // A.6.6
        const int components = static_cast<int>(d_.components.size()), bytes = components < 257 ? 1 : 2;
        if (!fields.size()) fields.refuse("POC has no progression order change");
        while (fields.size()) {
            ProgressionChange change{};
            change.first_resolution = static_cast<int>(fields.get(1, 0, kMaxLevels, "RSpoc"));
            change.first_component =
                static_cast<int>(fields.get(bytes, 0, static_cast<uint32_t>(components - 1), "CSpoc"));
            change.last_layer = static_cast<int>(fields.get(2, 1, 65535, "LYEpoc"));
            change.last_resolution = static_cast<int>(
                fields.get(1, static_cast<uint32_t>(change.first_resolution + 1), kMaxLevels + 1, "REpoc"));
            const int last = static_cast<int>(fields.get(bytes));
            change.last_component = last ? last : bytes == 1 ? 256 : static_cast<int>(kMaxCsiz);
            if (change.last_component <= change.first_component)
                fields.refuse(format_string("CEpoc is %d where CSpoc is %d", last, change.first_component));
            change.last_component = std::min(change.last_component, components);
            change.progression = static_cast<CudaencJ2kProgression>(fields.get(1, 0, 4, "Ppoc"));
            poc.push_back(change);
        }
    }

    const Description &d_;
};

// The steps of a component, derived ones too (E-5).
Quantisation quantisation_of(const Steps &steps, int levels, size_t component) {
    Quantisation q{steps.guard_bits, {}};
    const size_t bands = static_cast<size_t>(3 * levels + 1);
    if (steps.style != Steps::Style::derived && steps.sizes.size() < bands)
        throw Error(CUDAENC_ERR_INVALID,
                    format_string("JPEG 2000 codestream: component %zu has %zu quantisation steps for %zu sub-bands",
                                  component, steps.sizes.size(), bands));
    for (size_t band = 0; band < bands; band++) {
        StepSize size = steps.sizes[steps.style == Steps::Style::derived ? 0 : band];
        const int above = band ? (static_cast<int>(band) - 1) / 3 : 0;  // resolutions between it and the LL sub-band
        if (steps.style == Steps::Style::derived) size.exponent = std::max(size.exponent - above, 0);
        q.steps.push_back(size);
    }
    return q;
}

// A.6: what a tile's header says goes before the main header's, there what is said of a component before what is said
// of all. own: nullptr for tiles without marker segments of their own.
TileCoding coding_of(const HeaderSegments &main, const HeaderSegments *own, size_t components) {
    TileCoding t{};
    const Cod &cod = own && own->cod ? *own->cod : *main.cod;
    static_cast<ComponentCoding &>(t) = cod.coding;
    t.layers = cod.layers, t.progression = cod.progression;
    t.mct = cod.mct, t.sop = cod.sop, t.eph = cod.eph;
    if (!own || !own->cod) t.coc = main.coc;
    if (own)
        for (const auto &[c, coding] : own->coc) t.coc.insert_or_assign(c, coding);
    std::erase_if(t.coc, [&](const auto &entry) { return entry.second == cod.coding; });
    t.poc = own && !own->poc.empty() ? own->poc : main.poc;
    for (ProgressionChange &change : t.poc) change.last_layer = std::min(change.last_layer, t.layers);
    for (size_t c = 0; c < components; c++) {
        const auto find = [&](const auto &in) { return in.find(c); };
        const Steps *steps = nullptr;
        if (own && find(own->qcc) != own->qcc.end())
            steps = &find(own->qcc)->second;
        else if (own && own->qcd)
            steps = &*own->qcd;
        else
            steps = find(main.qcc) != main.qcc.end() ? &find(main.qcc)->second : &*main.qcd;
        t.quantisation.push_back(quantisation_of(*steps, t.of_component(c).levels, c));
    }
    if (main.rgn.empty() && (!own || own->rgn.empty())) return t;
    t.region_shifts.resize(components);
    for (const auto &[c, shift] : main.rgn) t.region_shifts[c] = shift;
    if (own)
        for (const auto &[c, shift] : own->rgn) t.region_shifts[c] = shift;
    return t;
}

}  // namespace

Description read_headers(std::span<const uint8_t> codestream) {
    if (codestream.size() < 2 || codestream[0] != kSoc >> 8 || codestream[1] != (kSoc & 0xFF))
        refuse_codestream(0, "it does not begin with SOC");
    size_t at = 2;
    const std::vector<MarkerSegment> segments = read_segments(codestream, at, codestream.size(), kSot);
    if (segments.empty() || segments.front().marker != kSiz) refuse_codestream(2, "SIZ does not follow SOC");
    Description d{};
    const bool cap_is_due = read_siz(segments.front(), d);
    HeaderSegments main;
    const HeaderReader reader(d);
    reader.read(segments, main, true);
    for (const MarkerSegment &segment : segments) {
        if (segment.marker == kCap) read_cap(segment, d);
        if (segment.marker == kTlm) d.tlm = true;
        const bool is_text = segment.marker == kCom && segment.body.size() > 2 && segment.body[1] == 1;
        if (is_text && d.comment.empty()) d.comment.assign(segment.body.begin() + 2, segment.body.end());
    }
    if (cap_is_due && !d.part) refuse_codestream(2, "Rsiz announces CAP, which is missing");
    if (!main.cod) refuse_codestream(at, "COD is missing");
    if (!main.qcd) refuse_codestream(at, "QCD is missing");

    std::vector<TilePartHeader> parts = read_tile_parts(codestream, at, d.tiles(), d.damage);
    unpack_headers(segments, parts);
    std::map<uint32_t, HeaderSegments> tiles;
    for (TilePartHeader &t : parts) {
        HeaderSegments own;
        reader.read(t.segments, t.part.part ? tiles[t.part.tile] : own, !t.part.part);
        if (!t.part.part) tiles[t.part.tile] = std::move(own);
        d.coded_tile_parts.push_back(std::move(t.part));
    }
    static_cast<TileCoding &>(d) = coding_of(main, nullptr, d.components.size());
    for (const auto &[tile, own] : tiles) {
        d.plt |= own.plt;
        if (!own.cod && !own.qcd && own.coc.empty() && own.qcc.empty() && own.rgn.empty() && own.poc.empty()) continue;
        if ((d.own_coding.size() + 1) * d.components.size() > kMaxOwnComponents)
            unsupported("a picture with more tiles that are coded in a way of their own");
        d.own_coding.emplace(tile, coding_of(main, &own, d.components.size()));
    }
    return d;
}

}  // namespace cudaenc::j2k
