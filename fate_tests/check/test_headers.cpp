// What a packet says about itself: marker segments, lengths of tile-parts and packets, boxes, read by a parser of the
// test's own, after T.800 Annexes A, B.6, B.9 and I.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/j2k/params.h"
#include "../../common/j2k/step.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::testing;

namespace {

// Bytes in network order; a read beyond the end fails the test.
class Reader {
  public:
    Reader(const uint8_t *data, size_t size) : data_(data), size_(size) {}
    size_t at = 0;
    size_t size() const { return size_; }
    const uint8_t *here() const { return data_ + at; }
    uint64_t get(int bytes) {
        EXPECT(at + static_cast<size_t>(bytes) <= size_, "the end is at %zu, not before %zu", size_, at);
        uint64_t value = 0;
        while (bytes--) value = value << 8 | data_[at++];
        return value;
    }
    void expect(uint64_t value, int bytes, const char *what) {
        const uint64_t is = get(bytes);
        EXPECT(is == value, "%s is %llx, not %llx, at %zu", what, static_cast<unsigned long long>(is),
               static_cast<unsigned long long>(value), at - static_cast<size_t>(bytes));
    }
    Reader part(size_t size) {
        EXPECT(size <= size_ - at, "%zu bytes from %zu are more than there are", size, at);
        at += size;
        return Reader(data_ + at - size, size);
    }

  private:
    const uint8_t *data_;
    size_t size_;
};

// B.6 and B-15: precincts of all resolutions of all components of a tile, in each layer.
size_t packets_of_tile(const CudaencConfig &config, int tile_x, int tile_y, int tile_width, int tile_height) {
    const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const CudaencFormat &f = config.format;
    const int levels = config.j2k.levels;
    std::vector<std::pair<int, int>> precincts;  // highest resolution first, log2
    const std::string text = config.j2k.precincts ? config.j2k.precincts : "";
    for (size_t i = 0; i < text.size();) {
        size_t next = text.find(',', i);
        if (next == std::string::npos) next = text.size();
        const size_t x = text.find('x', i);
        precincts.push_back({std::stoi(text.substr(i)), std::stoi(text.substr(x + 1))});
        i = next + 1;
    }
    if (precincts.empty()) precincts.push_back({32768, 32768});
    size_t packets = 0;
    for (int c = 0; c < f.components; c++)
        for (int r = 0; r <= levels; r++) {
            const auto &precinct = precincts[std::min(precincts.size() - 1, static_cast<size_t>(levels - r))];
            const auto count = [&](int index, int step, int64_t picture, int log2_subsample, int precinct_side) {
                const int64_t d = int64_t{1} << log2_subsample, scale = int64_t{1} << (levels - r);
                const int64_t begin = ceil_div(ceil_div(int64_t{index} * step, d), scale);
                const int64_t end = ceil_div(ceil_div(std::min((int64_t{index} + 1) * step, picture), d), scale);
                return end > begin ? ceil_div(end, precinct_side) - begin / precinct_side : 0;
            };
            packets += static_cast<size_t>(
                count(tile_x, tile_width, f.width, f.component[c].log2_subsample_x, precinct.first) *
                count(tile_y, tile_height, f.height, f.component[c].log2_subsample_y, precinct.second));
        }
    return packets * static_cast<size_t>(config.j2k.layers);
}

struct Parsed {
    std::string comment;
    bool has_comment = false;
    size_t tiles = 0, tile_parts = 0, packets = 0, tlm_segments = 0, plt_segments = 0;
    std::map<int, int> segments;  // of the main header
};

// Inside a packet's data no two bytes look like a marker.
void expect_no_marker(const uint8_t *data, size_t size) {
    for (size_t i = 0; i + 1 < size; i++)
        EXPECT(data[i] != 0xFF || data[i + 1] <= 0x8F, "a marker %02x%02x within data", data[i], data[i + 1]);
    EXPECT(!size || data[size - 1] != 0xFF, "data end with 0xFF");
}

// A.6.4. bands: what the component is quantised with.
void check_quantisation(Reader &in, const CudaencJ2kOptions &o, const std::vector<j2k::Quantiser> &bands) {
    const int reversible = o.pred == CUDAENC_J2K_DWT53;
    in.expect(static_cast<uint64_t>(o.guard_bits << 5 | (reversible ? 0 : 2)), 1, "Sqcd");
    for (int band = 0; band < 3 * o.levels + 1; band++) {
        const uint64_t step = in.get(reversible ? 1 : 2), exponent = step >> (reversible ? 3 : 11);
        if (reversible) EXPECT((step & 7) == 0, "a reversible step has a mantissa");
        // M_b fits what decoders hold: 31 magnitude bit-planes.
        const j2k::Quantiser &q = bands[static_cast<size_t>(band)];
        EXPECT(step == static_cast<uint64_t>(reversible ? q.exponent << 3 : q.exponent << 11 | q.mantissa),
               "the step of band %d", band);
        EXPECT(
            static_cast<int>(exponent) + o.guard_bits - 1 <= 31 && exponent + static_cast<uint64_t>(o.guard_bits) >= 1,
            "exponent %d", static_cast<int>(exponent));
    }
}

bool same_steps(const std::vector<j2k::Quantiser> &a, const std::vector<j2k::Quantiser> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
        return x.exponent == y.exponent && x.mantissa == y.mantissa;
    });
}

// T.814 A.3: all blocks are HT ones of one HT set. With 5/3 a band's magnitudes have M_b bits, with 9/7 one more and
// one less a level.
void check_capabilities(Reader &segment, const CudaencJ2kOptions &o, const j2k::Params &params) {
    segment.expect(0x20000, 4, "Pcap");
    const bool reversible = o.pred == CUDAENC_J2K_DWT53;
    const uint64_t capability = segment.get(2), parameter = capability & 31;
    EXPECT(capability >> 5 == (reversible ? 0 : 1), "Ccap15 %x", static_cast<unsigned>(capability));
    int most = 0;
    for (const auto &bands : params.quantisers)
        for (int band = 0; band < 3 * o.levels + 1; band++) {
            const int level = band ? o.levels - (band - 1) / 3 : o.levels;
            most = std::max(most, bands[static_cast<size_t>(band)].planes + (reversible ? 0 : 1 - level));
        }
    const int bound = static_cast<int>(parameter < 20 ? parameter + 8 : 4 * (parameter - 19) + 27);
    EXPECT(bound >= most && (parameter == 0 || bound < most + 4), "bound %d of %d bits", bound, most);
}

Parsed parse_codestream(Reader in, const CudaencConfig &config) {
    const CudaencFormat &f = config.format;
    const CudaencJ2kOptions &o = config.j2k;
    const j2k::Params params = j2k::make_params(f, o);
    Parsed parsed;
    const bool ht = o.cblk_style == CUDAENC_J2K_HT;
    const int tile_width = o.tile_width ? std::min(o.tile_width, f.width) : f.width;
    const int tile_height = o.tile_height ? std::min(o.tile_height, f.height) : f.height;
    const int across = (f.width - 1) / tile_width + 1, down = (f.height - 1) / tile_height + 1;
    parsed.tiles = static_cast<size_t>(across) * static_cast<size_t>(down);
    in.expect(0xFF4F, 2, "SOC");
    in.expect(0xFF51, 2, "SIZ is the second marker and");
    std::vector<std::pair<uint64_t, uint64_t>> tlm;
    std::string poc;
    uint64_t rgn = 0;
    std::vector<bool> quantised(static_cast<size_t>(f.components));
    for (int marker = 0xFF51;; marker = static_cast<int>(in.get(2))) {
        if (marker == 0xFF90) break;
        parsed.segments[marker]++;
        const size_t length = static_cast<size_t>(in.get(2));
        EXPECT(length >= 2, "the length of %x", marker);
        Reader segment = in.part(length - 2);
        switch (marker) {
            case 0xFF51:  // A.5.1
                segment.expect(ht ? 0x4000 : 0, 2, "Rsiz");
                for (const int value : {f.width, f.height, 0, 0, tile_width, tile_height, 0, 0})
                    segment.expect(static_cast<uint64_t>(value), 4, "a size in SIZ");
                segment.expect(static_cast<uint64_t>(f.components), 2, "Csiz");
                for (int c = 0; c < f.components; c++) {
                    segment.expect(static_cast<uint64_t>(f.component[c].depth - 1), 1, "Ssiz");
                    segment.expect(1u << f.component[c].log2_subsample_x, 1, "XRsiz");
                    segment.expect(1u << f.component[c].log2_subsample_y, 1, "YRsiz");
                }
                break;
            case 0xFF50:
                EXPECT(ht && parsed.segments.size() == 2, "CAP behind SIZ");
                check_capabilities(segment, o, params);
                break;
            case 0xFF52: {  // A.6.1
                const bool precincts = o.precincts && *o.precincts;
                segment.expect((precincts ? 1u : 0u) | (o.sop ? 2u : 0u) | (o.eph ? 4u : 0u), 1, "Scod");
                segment.expect(static_cast<uint64_t>(o.prog), 1, "the progression");
                segment.expect(static_cast<uint64_t>(o.layers), 2, "the number of layers");
                const bool mct = o.mct == 1 || (o.mct < 0 && f.components >= 3 && f.color_model == CUDAENC_COLOR_RGB);
                segment.expect(mct, 1, "the component transform");
                segment.expect(static_cast<uint64_t>(o.levels), 1, "the number of levels");
                segment.expect(static_cast<uint64_t>(__builtin_ctz(static_cast<unsigned>(o.cblk_width)) - 2), 1, "xcb");
                segment.expect(static_cast<uint64_t>(__builtin_ctz(static_cast<unsigned>(o.cblk_height)) - 2), 1,
                               "ycb");
                segment.expect(static_cast<uint64_t>(o.cblk_style), 1, "the code-block style");
                segment.expect(o.pred == CUDAENC_J2K_DWT53, 1, "the wavelet");
                for (int r = 0; precincts && r <= o.levels; r++) {
                    const uint64_t size = segment.get(1);
                    EXPECT(!r || ((size & 15) && size >> 4), "precincts of 1 at resolution %d", r);
                }
                break;
            }
            case 0xFF5C:
                for (size_t c = 0; c < quantised.size(); c++)
                    quantised[c] = same_steps(params.quantisers[c], params.quantisers[0]);
                check_quantisation(segment, o, params.quantisers[0]);
                break;
            case 0xFF5D: {
                const uint64_t c = segment.get(1);
                EXPECT(c > 0 && c < quantised.size() && parsed.segments[0xFF5C] == 1, "QCC of component %d",
                       static_cast<int>(c));
                check_quantisation(segment, o, params.quantisers[c]);
                EXPECT(!quantised[c], "QCC of component %d says what QCD does, or twice", static_cast<int>(c));
                quantised[c] = true;
                break;
            }
            case 0xFF5E:  // A.6.3
                EXPECT(params.roi.shift, "RGN without a region");
                segment.expect(rgn++, 1, "Crgn");
                segment.expect(0, 1, "Srgn");
                segment.expect(static_cast<uint64_t>(params.roi.shift), 1, "SPrgn");
                break;
            case 0xFF5F:  // A.6.6
                while (segment.at < segment.size()) {
                    const char *const orders[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};
                    if (!poc.empty()) poc += '/';
                    for (const int bytes : {1, 1, 2, 1, 1}) poc += std::to_string(segment.get(bytes)) + ',';
                    const uint64_t order = segment.get(1);
                    EXPECT(order < 5, "Ppoc");
                    poc += orders[order];
                }
                break;
            case 0xFF64:
                segment.expect(1, 2, "Rcom");
                parsed.comment.assign(reinterpret_cast<const char *>(segment.here()), segment.size() - 2);
                parsed.has_comment = true;
                segment.at = segment.size();
                break;
            case 0xFF55:  // A.7.1: 16 bits of index, 32 of length
                segment.expect(parsed.tlm_segments++, 1, "Ztlm");
                segment.expect(0x60, 1, "Stlm");
                while (segment.at < segment.size()) {
                    const uint64_t tile = segment.get(2);
                    tlm.push_back({tile, segment.get(4)});
                }
                break;
            default:
                EXPECT(false, "marker %x in the main header", marker);
        }
        EXPECT(segment.at == segment.size(), "marker segment %x is longer than what is in it", marker);
    }
    EXPECT(std::all_of(quantised.begin(), quantised.end(), [](bool x) { return x; }), "a component has no steps");
    for (const int marker : {0xFF51, 0xFF52, 0xFF5C})
        EXPECT(parsed.segments[marker] == 1, "%d marker segments %x", parsed.segments[marker], marker);
    EXPECT((parsed.tlm_segments > 0) == (o.tlm == 1), "TLM");
    EXPECT(parsed.segments[0xFF50] == ht, "CAP");
    EXPECT(rgn == (params.roi.shift ? static_cast<uint64_t>(f.components) : 0), "RGN");
    EXPECT(poc == (o.poc ? o.poc : ""), "POC says %s", poc.c_str());

    size_t tile = 0, part = 0, packets = 0;  // of the tile
    while (tile < parsed.tiles) {            // A.4.2; the first SOT has been read
        if (parsed.tile_parts) in.expect(0xFF90, 2, "SOT");
        const size_t begin = in.at - 2;
        in.expect(10, 2, "Lsot");
        in.expect(tile, 2, "Isot");
        const uint64_t length = in.get(4);
        in.expect(part, 1, "TPsot");
        const uint64_t parts = in.get(1);
        EXPECT(parts > part && (o.tile_parts || parts == 1), "tile %zu: TNsot", tile);
        EXPECT(begin + length <= in.size() - 2, "tile %zu: Psot", tile);
        if (o.tlm)
            EXPECT(parsed.tile_parts < tlm.size() && tlm[parsed.tile_parts] == std::make_pair(uint64_t{tile}, length),
                   "TLM of tile %zu", tile);
        parsed.tile_parts++;
        std::vector<uint64_t> lengths;
        uint64_t marker = in.get(2), segments = 0;
        for (; marker == 0xFF58; marker = in.get(2)) {  // A.7.3
            Reader plt = in.part(static_cast<size_t>(in.get(2)) - 2);
            plt.expect(segments++, 1, "Zplt");
            while (plt.at < plt.size()) {
                uint64_t value = 0, byte;
                do value = value << 7 | ((byte = plt.get(1)) & 127);
                while (byte & 128);
                lengths.push_back(value);
            }
        }
        parsed.plt_segments += segments;
        EXPECT(marker == 0xFF93, "SOD is %x", static_cast<int>(marker));
        EXPECT((segments > 0) == (o.plt == 1), "PLT");
        const size_t expected = packets_of_tile(config, static_cast<int>(tile) % across,
                                                static_cast<int>(tile) / across, tile_width, tile_height);
        Reader body = in.part(static_cast<size_t>(begin + length - in.at));
        if (o.plt) {
            for (size_t i = 0; i < lengths.size(); i++) {
                Reader packet = body.part(static_cast<size_t>(lengths[i]));
                if (o.sop) {  // A.8.1
                    packet.expect(0xFF910004, 4, "SOP");
                    packet.expect((packets + i) & 0xFFFF, 2, "Nsop");
                }
                size_t header = packet.at;
                if (o.eph) {
                    const uint8_t eph[] = {0xFF, 0x92};
                    const uint8_t *end = packet.here() + packet.size() - packet.at;
                    const uint8_t *at = std::search(packet.here(), end, std::begin(eph), std::end(eph));
                    EXPECT(at != end, "no EPH in packet %zu", i);
                    expect_no_marker(packet.here(), static_cast<size_t>(at - packet.here()));
                    header += static_cast<size_t>(at - packet.here()) + 2;
                }
                EXPECT(packet.size() > packet.at, "packet %zu has no header", i);
                // A packet that says that it has nothing has nothing more.
                if (!(*packet.here() & 0x80))
                    EXPECT(packet.size() == packet.at + 1 + (o.eph ? 2 : 0), "%zu bytes in an empty packet",
                           packet.size());
                packet.at = o.eph ? header : packet.at;
                expect_no_marker(packet.here(), packet.size() - packet.at);
            }
            EXPECT(body.at == body.size(), "tile %zu: %zu bytes of packets, lengths of %zu", tile, body.size(),
                   body.at);
            packets += lengths.size();
        } else if (o.sop) {  // nothing else looks like SOP
            for (size_t i = 0; i + 1 < body.size(); i++) {
                body.at = i;
                if (body.here()[0] != 0xFF || body.here()[1] != 0x91) continue;
                body.expect(0xFF910004, 4, "SOP");
                body.expect(packets++ & 0xFFFF, 2, "Nsop");
                i += 5;  // whose last byte may be 0xFF
            }
        }
        if (++part < parts) continue;
        if (o.plt || o.sop) EXPECT(packets == expected, "tile %zu: %zu packets, not %zu", tile, packets, expected);
        parsed.packets += packets;
        tile++;
        part = packets = 0;
    }
    if (o.tlm) EXPECT(tlm.size() == parsed.tile_parts, "%zu tile-parts in TLM, not %zu", tlm.size(), parsed.tile_parts);
    in.expect(0xFFD9, 2, "EOC");
    EXPECT(in.at == in.size(), "%zu bytes follow EOC", in.size() - in.at);
    return parsed;
}

// Annex I. Returns the codestream.
Reader parse_boxes(Reader in, const CudaencConfig &config, const CudaencFrame &frame) {
    const CudaencFormat &f = config.format;
    const auto box = [](Reader &from, const std::string &type) {
        const size_t length = static_cast<size_t>(from.get(4));
        EXPECT(length >= 8, "a box of %zu bytes", length);
        std::string is;
        for (int i = 0; i < 4; i++) is += static_cast<char>(from.get(1));
        EXPECT(is == type, "box '%s', not '%s'", is.c_str(), type.c_str());
        return from.part(length - 8);
    };
    Reader signature = box(in, "jP  ");
    signature.expect(0x0D0A870A, 4, "the signature");
    Reader type = box(in, "ftyp");
    const uint64_t brand = config.j2k.cblk_style == CUDAENC_J2K_HT ? 0x6A706820 : 0x6A703220;  // "jph ", "jp2 "
    type.expect(brand, 4, "BR");
    type.expect(0, 4, "MinV");
    type.expect(brand, 4, "CL");
    Reader header = box(in, "jp2h");
    Reader image = box(header, "ihdr");
    image.expect(static_cast<uint64_t>(f.height), 4, "HEIGHT");
    image.expect(static_cast<uint64_t>(f.width), 4, "WIDTH");
    image.expect(static_cast<uint64_t>(f.components), 2, "NC");
    bool alike = true;
    for (int c = 0; c < f.components; c++) alike &= f.component[c].depth == f.component[0].depth;
    image.expect(alike ? static_cast<uint64_t>(f.component[0].depth - 1) : 255, 1, "BPC");
    image.expect(7, 1, "C");
    image.expect(0, 1, "UnkC");
    image.expect(0, 1, "IPR");
    if (!alike) {
        Reader depths = box(header, "bpcc");
        for (int c = 0; c < f.components; c++)
            depths.expect(static_cast<uint64_t>(f.component[c].depth - 1), 1, "a depth in bpcc");
        EXPECT(depths.at == depths.size(), "bpcc");
    }
    Reader colour = box(header, "colr");
    // A profile of another colour space than the samples', or less than a profile's header, is left out.
    const char *space = f.color_model == CUDAENC_COLOR_RGB    ? "RGB "
                        : f.color_model == CUDAENC_COLOR_GRAY ? "GRAY"
                                                              : "none";
    const bool profile = frame.icc_profile_size >= 128 && std::equal(space, space + 4, frame.icc_profile + 16);
    colour.expect(profile ? 2 : 1, 1, "METH");
    colour.expect(0, 1, "PREC");
    colour.expect(0, 1, "APPROX");
    if (profile) {
        EXPECT(colour.size() - colour.at == frame.icc_profile_size &&
                   std::equal(frame.icc_profile, frame.icc_profile + frame.icc_profile_size, colour.here()),
               "the ICC profile");
    } else {
        colour.expect(f.color_model == CUDAENC_COLOR_GRAY  ? 17
                      : f.color_model == CUDAENC_COLOR_YUV ? 18
                                                           : 16,
                      4, "EnumCS");
        EXPECT(colour.at == colour.size(), "colr");
    }
    if (f.has_alpha) {
        Reader channels = box(header, "cdef");
        channels.expect(static_cast<uint64_t>(f.components), 2, "N");
        for (int c = 0; c < f.components; c++) {
            const bool alpha = c == f.components - 1;
            channels.expect(static_cast<uint64_t>(c), 2, "Cn");
            channels.expect(alpha, 2, "Typ");
            channels.expect(alpha ? 0 : static_cast<uint64_t>(c) + 1, 2, "Asoc");
        }
        EXPECT(channels.at == channels.size(), "cdef");
    }
    const int num = frame.sample_aspect_num, den = frame.sample_aspect_den;
    if (num > 0 && den > 0 && num != den) {
        Reader resolution = box(header, "res ");
        Reader display = box(resolution, "resd");
        const double vertical = static_cast<double>(display.get(2)) / static_cast<double>(display.get(2));
        const double horizontal = static_cast<double>(display.get(2)) / static_cast<double>(display.get(2));
        display.expect(0, 1, "VRdE"), display.expect(0, 1, "HRdE");
        // A sample is num wide where it is den high: fewer of them across.
        const double ratio = vertical / horizontal * den / num;
        EXPECT(ratio > 0.999 && ratio < 1.001, "%d:%d is %g:%g", num, den, vertical, horizontal);
        EXPECT(display.at == display.size() && resolution.at == resolution.size(), "res");
    }
    EXPECT(header.at == header.size(), "jp2h");
    Reader codestream = box(in, "jp2c");
    EXPECT(in.at == in.size(), "%zu bytes follow the codestream", in.size() - in.at);
    return codestream;
}

// What an option means that is left open, where no profile tells: as docs/encoders.md has it.
CudaencJ2kOptions with_defaults(CudaencJ2kOptions o) {
    const auto set = [](int &option, int open, int value) { option = option == open ? value : option; };
    set(o.cblk_width, 0, 32), set(o.cblk_height, 0, 32);
    set(o.sop, -1, 0), set(o.eph, -1, 0), set(o.plt, -1, 0);
    set(o.layers, -1, 1);
    return o;
}

Parsed parse(const std::vector<uint8_t> &packet, const CudaencConfig &config, const CudaencFrame &frame) {
    const Reader all(packet.data(), packet.size());
    CudaencConfig filled = config;
    filled.j2k = with_defaults(config.j2k);
    return parse_codestream(config.j2k.format == CUDAENC_J2K_JP2 ? parse_boxes(all, config, frame) : all, filled);
}

START_TEST(random_pictures_say_what_they_are) {
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 60; repeat++) {
        const CudaencFormat format = random_format(random, repeat % 4 ? 60 : 300);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = repeat % 3 ? random_options(random, format, text) : random_ht_options(random, format, text);
        if (repeat % 2) config.j2k.plt = 1;
        const std::string comment(random.below(300), 'c');
        if (random.one_in(2)) config.j2k.comment = comment.c_str();
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        CudaencFrame frame = picture.frame();
        std::vector<uint8_t> profile(static_cast<size_t>(random.between(1, random.one_in(4) ? 130 : 5000)));
        for (uint8_t &byte : profile) byte = static_cast<uint8_t>(random.word());
        const char *const spaces[] = {"RGB ", "GRAY", "CMYK"};
        if (profile.size() >= 20) std::memcpy(profile.data() + 16, random.of(spaces), 4);
        if (random.one_in(2)) frame.icc_profile = profile.data(), frame.icc_profile_size = profile.size();
        frame.sample_aspect_num = random.between(0, 3) * (random.one_in(9) ? 100001 : 1);
        frame.sample_aspect_den = random.between(0, 3) * (random.one_in(9) ? 99999 : 1);
        const Parsed parsed = parse(encode(config, frame), config, frame);
        if (!config.j2k.comment) {
            EXPECT(parsed.comment == format_string("cudaenc %d.%d.%d", CUDAENC_VERSION_MAJOR, CUDAENC_VERSION_MINOR,
                                                   CUDAENC_VERSION_PATCH),
                   "comment '%s'", parsed.comment.c_str());
        } else {
            EXPECT(parsed.has_comment == !comment.empty() && parsed.comment == comment, "comment '%s'",
                   parsed.comment.c_str());
        }
    }
}
END_TEST

// Steps grow with the frame's choice, below twice the session's, in what the header tells: 2^-exponent (1 + mantissa /
// 2048).
START_TEST(steps_that_frames_choose) {
    const auto size = [](uint32_t told) { return std::ldexp(1 + told % 2048 / 2048., -static_cast<int>(told >> 11)); };
    for (int depth : {8, 16})
        for (int quality : {1, 2, 5, 50, 100})
            for (int levels : {0, 1, 5, 32}) {
                CudaencJ2kOptions o = default_options();
                o.pred = CUDAENC_J2K_DWT97, o.cblk_style = CUDAENC_J2K_HT;
                o.quality = quality, o.levels = levels, o.guard_bits = 1, o.frame_bytes = 1000;
                const j2k::Params p = j2k::make_params(make_format(64, 64, 3, depth, true, CUDAENC_COLOR_RGB), o);
                ck_assert(p.frame_steps);
                for (const auto &bands : p.quantisers)
                    for (size_t b = 0; b < static_cast<size_t>(3 * levels + 1); b++) {
                        const uint32_t told = bands[b].told();
                        double before = size(told);
                        for (uint32_t step = 1; step < j2k::kFrameSteps; step++) {
                            const uint32_t frames = j2k::frame_step(told, step);
                            EXPECT(frames >> 16 == 0 && size(frames) > before && size(frames) < 2 * size(told),
                                   "depth %d, quality %d, %d levels, sub-band %d: step %u of %04x is %04x", depth,
                                   quality, levels, static_cast<int>(b), step, told, frames);
                            before = size(frames);
                        }
                    }
            }
}
END_TEST

// Colours that no enumerated space has: a restricted ICC profile of RGB, or a warning. EXIF lies in a box of its own.
START_TEST(colours_of_jp2) {
    struct {
        CudaencColorModel model;
        int primaries, transfer, matrix, full_range;
        double gamma;      // of the profile; 0: of a table; -1: there is none
        const char *says;  // in a warning
    } const cases[] = {
        {CUDAENC_COLOR_RGB, 1, 13, 0, 1, -1, ""},
        {CUDAENC_COLOR_RGB, 2, 2, 2, 0, -1, ""},
        {CUDAENC_COLOR_RGB, 12, 17, 0, 1, 2.6, ""},
        {CUDAENC_COLOR_RGB, 12, 13, 0, 1, 0, ""},
        {CUDAENC_COLOR_RGB, 9, 14, 0, 1, 2.4, ""},
        {CUDAENC_COLOR_RGB, 1, 8, 0, 1, 1, ""},
        {CUDAENC_COLOR_RGB, 9, 16, 0, 1, -1,
         "colour primaries 9 with transfer 16: decoders of .jp2 files take samples for sRGB"},
        {CUDAENC_COLOR_YUV, 1, 13, 5, 1, -1, ""},
        {CUDAENC_COLOR_YUV, 1, 1, 1, 0, -1,
         "limited range, colour matrix 1: decoders of .jp2 files take samples for sYCC"},
        {CUDAENC_COLOR_XYZ, 2, 2, 2, 0, -1, "XYZ: decoders of .jp2 files take samples for sRGB"},
    };
    for (const auto &c : cases) {
        CudaencFormat format = make_format(8, 8, 3, 8, true, c.model);
        format.color_primaries = c.primaries, format.color_transfer = c.transfer, format.color_matrix = c.matrix;
        format.full_range = c.full_range;
        CudaencJ2kOptions options = default_options();
        const j2k::Params p = j2k::make_params(format, options);
        EXPECT(*c.says ? p.warning.find(c.says) != std::string::npos : p.warning.find("jp2") == std::string::npos,
               "primaries %d, transfer %d: '%s'", c.primaries, c.transfer, p.warning.c_str());
        const std::vector<uint8_t> &icc = p.colour.icc;
        EXPECT(icc.empty() == (c.gamma < 0), "primaries %d, transfer %d: a profile", c.primaries, c.transfer);
        if (icc.empty()) continue;
        const auto word = [&](size_t at) {
            return static_cast<uint32_t>(icc[at] << 24 | icc[at + 1] << 16 | icc[at + 2] << 8 | icc[at + 3]);
        };
        EXPECT(word(0) == icc.size() && !std::memcmp(&icc[12], "scnrRGB XYZ ", 12) && !std::memcmp(&icc[36], "acsp", 4),
               "its header");
        const auto tag = [&](const char *name) -> size_t {
            for (uint32_t i = 0; i < word(128); i++)
                if (!std::memcmp(&icc[132 + 12 * i], name, 4)) {
                    EXPECT(word(136 + 12 * i) + word(140 + 12 * i) <= icc.size(), "tag %s", name);
                    return word(136 + 12 * i);
                }
            EXPECT(false, "no tag %s", name);
            return 0;
        };
        const double white[] = {0.9642, 1, 0.8249};
        for (size_t k = 0; k < 3; k++) {
            int64_t sum = 0;
            for (const char *name : {"rXYZ", "gXYZ", "bXYZ"}) sum += static_cast<int32_t>(word(tag(name) + 8 + 4 * k));
            EXPECT(std::fabs(static_cast<double>(sum) / 65536 - white[k]) < 2e-5, "white is not D50");
        }
        const size_t curve = tag("gTRC");
        EXPECT(word(curve + 8) == (c.gamma > 0 ? 1 : 1024), "entries of the curve");
        const auto entry = [&](size_t i) { return icc[curve + 12 + 2 * i] << 8 | icc[curve + 13 + 2 * i]; };
        if (c.gamma > 0)
            EXPECT(std::fabs(entry(0) / 256. - c.gamma) < 0.002, "a power of %g", entry(0) / 256.);
        else
            EXPECT(!entry(0) && std::abs(entry(512) - 14055) < 40, "%d in the middle of sRGB's curve", entry(512));
    }
    const std::vector<uint8_t> exif{'I', 'I', '*', 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    Random random(9);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    CudaencFrame frame = picture.frame();
    frame.exif = exif.data(), frame.exif_size = exif.size();
    Log log;
    const std::vector<uint8_t> packet = encode(make_config(format, "cpu", &log), frame);
    const std::string box = std::string("\0\0\0\x26uuidJpgTiffExif->JP2", 24) + std::string(exif.begin(), exif.end());
    EXPECT(std::search(packet.begin(), packet.end(), box.begin(), box.end()) != packet.end(), "no EXIF");
}
END_TEST

// EXIF's resolution is the capture resolution: samples a metre, vertical first.
START_TEST(capture_resolution_of_jp2) {
    struct {
        uint32_t x[2], y[2];
        uint8_t unit;  // 0: none is told
        std::string contents;
    } const cases[] = {
        {{300, 1}, {600, 1}, 2, {"\xEA\x60\x00\xFE\x75\x30\x00\xFE\x02\x02", 10}},
        {{300, 1}, {300, 1}, 0, {"\x75\x30\x00\xFE\x75\x30\x00\xFE\x02\x02", 10}},
        {{11811, 100}, {4000, 1}, 3, {"\x9C\x40\x00\x01\x2E\x23\x00\x01\x01\x00", 10}},
        {{72, 1}, {72, 1}, 2, ""},  // unknown
        {{300, 1}, {300, 0}, 2, ""},
        {{300, 1}, {300, 1}, 1, ""},
    };
    Random random(10);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    for (const auto &c : cases)
        for (const bool little : {false, true}) {
            std::vector<uint8_t> exif;
            const auto put = [&](uint32_t value, int bytes) {
                for (int i = 0; i < bytes; i++)
                    exif.push_back(static_cast<uint8_t>(value >> 8 * (little ? i : bytes - 1 - i)));
            };
            put(little ? 0x4949 : 0x4D4D, 2), put(42, 2), put(8, 4), put(3, 2);
            put(0x011A, 2), put(5, 2), put(1, 4), put(50, 4);
            put(0x011B, 2), put(5, 2), put(1, 4), put(58, 4);
            put(c.unit ? 0x0128 : 0x0129, 2), put(3, 2), put(1, 4), put(c.unit, 2), put(0, 2), put(0, 4);
            for (const uint32_t value : {c.x[0], c.x[1], c.y[0], c.y[1]}) put(value, 4);
            for (const size_t size : {exif.size(), exif.size() - 1, size_t{40}, size_t{9}}) {
                CudaencFrame frame = picture.frame();
                frame.exif = exif.data(), frame.exif_size = size;
                Log log;
                const std::vector<uint8_t> packet = encode(make_config(format, "cpu", &log), frame);
                const std::string expected = std::string("\0\0\0\x1Ares \0\0\0\x12resc", 16) + c.contents,
                                  name = "res ";
                const bool told = size == exif.size() && !c.contents.empty();
                const std::string content(packet.begin(), packet.end());
                EXPECT((content.find(told ? expected : name) != std::string::npos) == told,
                       "%u/%u, unit %d, %zu bytes of EXIF", c.x[0], c.x[1], c.unit, size);
            }
        }
}
END_TEST

// What a frame brings along lies in a box of its own, once, before the codestream; options tell resolutions.
START_TEST(metadata_of_jp2) {
    const auto bytes = [](const std::string &text) { return std::vector<uint8_t>(text.begin(), text.end()); };
    const std::string xmp_uuid = "\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC",
                      iptc_uuid = "\x33\xC7\xA4\xD2\xB8\x1D\x47\x23\xA0\xBA\xF1\xA3\xE0\x97\xAD\x38",
                      resources_uuid{"\x2C\x4C\x01\x00\x85\x04\x40\xB9\xA0\x3E\x56\x21\x48\xD6\xDF\xEB", 16};
    const std::vector<uint8_t> xmp = bytes("<rdf:RDF/>"), iim = bytes("\x1C\x02\x05"), resources = bytes("8BIM\4\4");
    const std::vector<uint8_t> large(3000000, '<'), none;
    struct {
        const std::vector<uint8_t> &xmp, &iptc;
        const std::string &uuid;  // of iptc
    } const cases[] = {{xmp, iim, iptc_uuid}, {large, resources, resources_uuid}, {none, none, iptc_uuid}};
    Random random(11);
    const CudaencFormat format = make_format(8, 8, 3, 8, true, CUDAENC_COLOR_RGB);
    Picture picture = make_picture(random, format);
    for (const auto &c : cases)
        for (const char *device : {"cpu", "emu"}) {
            CudaencFrame frame = picture.frame();
            frame.xmp = c.xmp.data(), frame.xmp_size = c.xmp.size();
            frame.iptc = c.iptc.data(), frame.iptc_size = c.iptc.size();
            Log log;
            const std::vector<uint8_t> packet = encode(make_config(format, device, &log), frame);
            const std::string content(packet.begin(), packet.end());
            const auto has_box = [&](const std::string &uuid, const std::vector<uint8_t> &inside) {
                const size_t at = content.find("uuid" + uuid);
                if (inside.empty()) return at == std::string::npos;
                Reader size(packet.data() + (at == std::string::npos ? 0 : at - 4), 4);
                return at != std::string::npos && at < content.find("jp2c") && size.get(4) == 24 + inside.size() &&
                       content.find("uuid" + uuid, at + 1) == std::string::npos &&
                       std::equal(inside.begin(), inside.end(), packet.begin() + static_cast<ptrdiff_t>(at) + 20);
            };
            EXPECT(has_box(xmp_uuid, c.xmp), "%s: XMP of %zu bytes", device, c.xmp.size());
            EXPECT(has_box(c.uuid, c.iptc), "%s: IPTC of %zu bytes", device, c.iptc.size());
        }
    struct {
        double capture, display;
        int num, den;
        std::string box;  // resd, then resc: vertical, horizontal
    } const resolutions[] = {
        {600, 0, 1, 1, {"\0\0\0\x1Ares \0\0\0\x12resc\xEA\x60\0\xFE\xEA\x60\0\xFE\2\2", 26}},
        {0, 300, 2, 1, {"\0\0\0\x1Ares \0\0\0\x12resd\x75\x30\0\xFE\x3A\x98\0\xFE\2\2", 26}},
        {72,
         96,
         0,
         1,
         {"\0\0\0\x2Cres \0\0\0\x12resd\x25\x80\0\xFE\x25\x80\0\xFE\2\2\0\0\0\x12resc\x1C\x20\0\xFE\x1C\x20\0\xFE\2\2",
          44}},
    };
    for (const auto &r : resolutions) {
        CudaencFrame frame = picture.frame();
        frame.sample_aspect_num = r.num, frame.sample_aspect_den = r.den;
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.capture_ppi = r.capture, config.j2k.display_ppi = r.display;
        const std::vector<uint8_t> packet = encode(config, frame);
        const std::string content(packet.begin(), packet.end());
        EXPECT(content.find(r.box) != std::string::npos, "%g and %g ppi", r.capture, r.display);
    }
}
END_TEST

// Counters that wrap or overflow their marker segment, the same on a device.
START_TEST(many_tiles_and_packets) {
    struct {
        int side, tile;
        const char *precincts;
        size_t tiles, packets, tlm_segments, plt_segments;
        const char *device;
    } const cases[] = {{101, 1, "", 10201, 10201, 2, 10201, "emu"},
                       {475, 0, "4x4", 1, 14161, 1, 2, "emu"},
                       {1040, 0, "4x4", 1, 67600, 1, 6, nullptr}};
    Random random(1);
    for (const auto &k : cases) {
        const CudaencFormat format = make_format(k.side, k.side, 1, 8, false, CUDAENC_COLOR_GRAY);
        Log log;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k.tile_width = config.j2k.tile_height = k.tile;
        config.j2k.format = CUDAENC_J2K_JP2;
        config.j2k.pred = CUDAENC_J2K_DWT97;
        config.j2k.prog = CUDAENC_J2K_LRCP;
        config.j2k.guard_bits = 2;
        config.j2k.levels = 0;
        config.j2k.precincts = k.precincts;
        config.j2k.sop = config.j2k.eph = config.j2k.tlm = config.j2k.plt = 1;
        config.j2k.quality = 1;
        Picture picture = make_picture(random, format);
        fill(random, picture, Content::smooth);
        const CudaencFrame frame = picture.frame();
        const auto packet = encode(config, frame);
        const Parsed parsed = parse(packet, config, frame);
        ck_assert_uint_eq(parsed.tiles, k.tiles);
        ck_assert_uint_eq(parsed.packets, k.packets);
        ck_assert_uint_eq(parsed.tlm_segments, k.tlm_segments);
        ck_assert_uint_eq(parsed.plt_segments, k.plt_segments);
        if (!k.device) continue;
        config.device = k.device;
        ck_assert(encode(config, frame) == packet);
    }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("headers");
    TCase *headers = add_case(suite, "headers");
    tcase_add_loop_test(headers, random_pictures_say_what_they_are, 0, 8);
    tcase_add_test(headers, steps_that_frames_choose);
    tcase_add_test(headers, colours_of_jp2);
    tcase_add_test(headers, capture_resolution_of_jp2);
    tcase_add_test(headers, metadata_of_jp2);
    tcase_add_test(headers, many_tiles_and_packets);
    return run_suite(suite);
}
