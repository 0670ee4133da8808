// SPDX-License-Identifier: LGPL-2.1-or-later
// A parser of JPEG 2000 codestreams and JP2 files, after T.800 Annexes A, B.6, B.9 and I. It fails the test where they
// do not say what the configuration asks for.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/j2k/params.h"
#include "testing.h"

namespace cudaenc::testing {

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
inline size_t packets_of_tile(const CudaencConfig &config, int tile_x, int tile_y, int tile_width, int tile_height) {
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
inline void expect_no_marker(const uint8_t *data, size_t size) {
    for (size_t i = 0; i + 1 < size; i++)
        EXPECT(data[i] != 0xFF || data[i + 1] <= 0x8F, "a marker %02x%02x within data", data[i], data[i + 1]);
    EXPECT(!size || data[size - 1] != 0xFF, "data end with 0xFF");
}

// A.6.4. bands: what the component is quantised with.
inline void check_quantisation(Reader &in, const CudaencJ2kOptions &o, const std::vector<j2k::Quantiser> &bands) {
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

inline bool same_steps(const std::vector<j2k::Quantiser> &a, const std::vector<j2k::Quantiser> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
        return x.exponent == y.exponent && x.mantissa == y.mantissa;
    });
}

// T.814 A.3: all blocks are HT ones of one HT set. With 5/3 a band's magnitudes have M_b bits, with 9/7 one more and
// one less a level.
inline void check_capabilities(Reader &segment, const CudaencJ2kOptions &o, const j2k::Params &params) {
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

// A codestream of one configuration, whose options are all set.
class CodestreamParser {
  public:
    CodestreamParser(const Reader &codestream, const CudaencConfig &config)
        : in_(codestream), f_(config.format), o_(config.j2k), config_(config), params_(j2k::make_params(f_, o_)) {}

    Parsed parse() {
        tile_width_ = o_.tile_width ? std::min(o_.tile_width, f_.width) : f_.width;
        tile_height_ = o_.tile_height ? std::min(o_.tile_height, f_.height) : f_.height;
        tiles_across_ = (f_.width - 1) / tile_width_ + 1;
        const int down = (f_.height - 1) / tile_height_ + 1;
        parsed_.tiles = static_cast<size_t>(tiles_across_) * static_cast<size_t>(down);
        main_header();
        for (size_t tile = 0; tile < parsed_.tiles; tile++) tile_parts(tile);
        if (o_.tlm)
            EXPECT(tlm_.size() == parsed_.tile_parts, "%zu tile-parts in TLM, not %zu", tlm_.size(),
                   parsed_.tile_parts);
        in_.expect(0xFFD9, 2, "EOC");
        EXPECT(in_.at == in_.size(), "%zu bytes follow EOC", in_.size() - in_.at);
        return parsed_;
    }

  private:
    // Up to the marker of the first SOT.
    void main_header() {
        in_.expect(0xFF4F, 2, "SOC");
        in_.expect(0xFF51, 2, "SIZ is the second marker and");
        for (int marker = 0xFF51; marker != 0xFF90; marker = static_cast<int>(in_.get(2))) {
            parsed_.segments[marker]++;
            const size_t length = static_cast<size_t>(in_.get(2));
            EXPECT(length >= 2, "the length of %x", marker);
            Reader segment = in_.part(length - 2);
            marker_segment(marker, segment);
            EXPECT(segment.at == segment.size(), "marker segment %x is longer than what is in it", marker);
        }
        EXPECT(std::all_of(quantised_.begin(), quantised_.end(), [](bool x) { return x; }), "a component has no steps");
        for (const int marker : {0xFF51, 0xFF52, 0xFF5C})
            EXPECT(parsed_.segments[marker] == 1, "%d marker segments %x", parsed_.segments[marker], marker);
        EXPECT((parsed_.tlm_segments > 0) == (o_.tlm == 1), "TLM");
        EXPECT(parsed_.segments[0xFF50] == is_ht(), "CAP");
        EXPECT(rgn_ == (params_.roi.shift ? static_cast<uint64_t>(f_.components) : 0), "RGN");
        EXPECT(poc_ == (o_.poc ? o_.poc : ""), "POC says %s", poc_.c_str());
    }

    void marker_segment(int marker, Reader &segment) {
        switch (marker) {
            case 0xFF51:
                return siz(segment);
            case 0xFF50:
                EXPECT(is_ht() && parsed_.segments.size() == 2, "CAP behind SIZ");
                return check_capabilities(segment, o_, params_);
            case 0xFF52:
                return cod(segment);
            case 0xFF5C:
                return qcd(segment);
            case 0xFF5D:
                return qcc(segment);
            case 0xFF5E:
                return rgn(segment);
            case 0xFF5F:
                return poc(segment);
            case 0xFF64:
                return com(segment);
            case 0xFF55:
                return tlm(segment);
            default:
                EXPECT(false, "marker %x in the main header", marker);
        }
    }

    void siz(Reader &segment) {  // A.5.1
        segment.expect(is_ht() ? 0x4000 : 0, 2, "Rsiz");
        for (const int value : {f_.width, f_.height, 0, 0, tile_width_, tile_height_, 0, 0})
            segment.expect(static_cast<uint64_t>(value), 4, "a size in SIZ");
        segment.expect(static_cast<uint64_t>(f_.components), 2, "Csiz");
        for (int c = 0; c < f_.components; c++) {
            segment.expect(static_cast<uint64_t>(f_.component[c].depth - 1), 1, "Ssiz");
            segment.expect(1u << f_.component[c].log2_subsample_x, 1, "XRsiz");
            segment.expect(1u << f_.component[c].log2_subsample_y, 1, "YRsiz");
        }
    }

    void cod(Reader &segment) {  // A.6.1
        const bool precincts = o_.precincts && *o_.precincts;
        segment.expect((precincts ? 1u : 0u) | (o_.sop ? 2u : 0u) | (o_.eph ? 4u : 0u), 1, "Scod");
        segment.expect(static_cast<uint64_t>(o_.prog), 1, "the progression");
        segment.expect(static_cast<uint64_t>(o_.layers), 2, "the number of layers");
        const bool mct = o_.mct == 1 || (o_.mct < 0 && f_.components >= 3 && f_.color_model == CUDAENC_COLOR_RGB);
        segment.expect(mct, 1, "the component transform");
        segment.expect(static_cast<uint64_t>(o_.levels), 1, "the number of levels");
        segment.expect(static_cast<uint64_t>(__builtin_ctz(static_cast<unsigned>(o_.cblk_width)) - 2), 1, "xcb");
        segment.expect(static_cast<uint64_t>(__builtin_ctz(static_cast<unsigned>(o_.cblk_height)) - 2), 1, "ycb");
        segment.expect(static_cast<uint64_t>(o_.cblk_style), 1, "the code-block style");
        segment.expect(o_.pred == CUDAENC_J2K_DWT53, 1, "the wavelet");
        for (int r = 0; precincts && r <= o_.levels; r++) {
            const uint64_t size = segment.get(1);
            EXPECT(!r || ((size & 15) && size >> 4), "precincts of 1 at resolution %d", r);
        }
    }

    void qcd(Reader &segment) {
        for (const auto &bands : params_.quantisers) quantised_.push_back(same_steps(bands, params_.quantisers[0]));
        check_quantisation(segment, o_, params_.quantisers[0]);
    }

    void qcc(Reader &segment) {
        const uint64_t c = segment.get(1);
        EXPECT(c > 0 && c < quantised_.size() && parsed_.segments[0xFF5C] == 1, "QCC of component %d",
               static_cast<int>(c));
        check_quantisation(segment, o_, params_.quantisers[c]);
        EXPECT(!quantised_[c], "QCC of component %d says what QCD does, or twice", static_cast<int>(c));
        quantised_[c] = true;
    }

    void rgn(Reader &segment) {  // A.6.3
        EXPECT(params_.roi.shift, "RGN without a region");
        segment.expect(rgn_++, 1, "Crgn");
        segment.expect(0, 1, "Srgn");
        segment.expect(static_cast<uint64_t>(params_.roi.shift), 1, "SPrgn");
    }

    void poc(Reader &segment) {  // A.6.6
        while (segment.at < segment.size()) {
            const char *const orders[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};
            if (!poc_.empty()) poc_ += '/';
            for (const int bytes : {1, 1, 2, 1, 1}) poc_ += std::to_string(segment.get(bytes)) + ',';
            const uint64_t order = segment.get(1);
            EXPECT(order < 5, "Ppoc");
            poc_ += orders[order];
        }
    }

    void com(Reader &segment) {
        segment.expect(1, 2, "Rcom");
        parsed_.comment.assign(reinterpret_cast<const char *>(segment.here()), segment.size() - 2);
        parsed_.has_comment = true;
        segment.at = segment.size();
    }

    void tlm(Reader &segment) {  // A.7.1: 16 bits of index, 32 of length
        segment.expect(parsed_.tlm_segments++, 1, "Ztlm");
        segment.expect(0x60, 1, "Stlm");
        while (segment.at < segment.size()) {
            const uint64_t tile = segment.get(2);
            tlm_.push_back({tile, segment.get(4)});
        }
    }

    // A.4.2; the marker of the first SOT has been read.
    void tile_parts(size_t tile) {
        size_t packets = 0;
        for (uint64_t part = 0, parts = 1; part < parts; part++) {
            if (parsed_.tile_parts) in_.expect(0xFF90, 2, "SOT");
            const size_t begin = in_.at - 2;
            in_.expect(10, 2, "Lsot");
            in_.expect(tile, 2, "Isot");
            const uint64_t length = in_.get(4);
            in_.expect(part, 1, "TPsot");
            parts = in_.get(1);
            EXPECT(parts > part && (o_.tile_parts || parts == 1), "tile %zu: TNsot", tile);
            EXPECT(begin + length <= in_.size() - 2, "tile %zu: Psot", tile);
            if (o_.tlm)
                EXPECT(parsed_.tile_parts < tlm_.size() &&
                           tlm_[parsed_.tile_parts] == std::make_pair(uint64_t{tile}, length),
                       "TLM of tile %zu", tile);
            parsed_.tile_parts++;
            const std::vector<uint64_t> lengths = tile_part_header();
            Reader body = in_.part(static_cast<size_t>(begin + length - in_.at));
            if (o_.plt) {
                for (const uint64_t bytes : lengths) packet(body.part(static_cast<size_t>(bytes)), packets++);
                EXPECT(body.at == body.size(), "tile %zu: %zu bytes of packets, lengths of %zu", tile, body.size(),
                       body.at);
            } else if (o_.sop) {
                packets = count_packets(body, packets);
            }
        }
        const size_t expected = packets_of_tile(config_, static_cast<int>(tile) % tiles_across_,
                                                static_cast<int>(tile) / tiles_across_, tile_width_, tile_height_);
        if (o_.plt || o_.sop) EXPECT(packets == expected, "tile %zu: %zu packets, not %zu", tile, packets, expected);
        parsed_.packets += packets;
    }

    // Up to SOD. Returns the packets' lengths, where PLT has them (A.7.3).
    std::vector<uint64_t> tile_part_header() {
        std::vector<uint64_t> lengths;
        uint64_t marker = in_.get(2), segments = 0;
        for (; marker == 0xFF58; marker = in_.get(2)) {
            Reader plt = in_.part(static_cast<size_t>(in_.get(2)) - 2);
            plt.expect(segments++, 1, "Zplt");
            while (plt.at < plt.size()) {
                uint64_t value = 0, byte;
                do value = value << 7 | ((byte = plt.get(1)) & 127);
                while (byte & 128);
                lengths.push_back(value);
            }
        }
        parsed_.plt_segments += segments;
        EXPECT(marker == 0xFF93, "SOD is %x", static_cast<int>(marker));
        EXPECT((segments > 0) == (o_.plt == 1), "PLT");
        return lengths;
    }

    void packet(Reader packet, size_t number) const {
        if (o_.sop) sop(packet, number);
        size_t header = packet.at;
        if (o_.eph) {
            const uint8_t eph[] = {0xFF, 0x92};
            const uint8_t *end = packet.here() + packet.size() - packet.at;
            const uint8_t *at = std::search(packet.here(), end, std::begin(eph), std::end(eph));
            EXPECT(at != end, "no EPH in packet %zu", number);
            expect_no_marker(packet.here(), static_cast<size_t>(at - packet.here()));
            header += static_cast<size_t>(at - packet.here()) + 2;
        }
        EXPECT(packet.size() > packet.at, "packet %zu has no header", number);
        // A packet that says that it has nothing has nothing more.
        if (!(*packet.here() & 0x80))
            EXPECT(packet.size() == packet.at + 1 + (o_.eph ? 2 : 0), "%zu bytes in an empty packet", packet.size());
        packet.at = o_.eph ? header : packet.at;
        expect_no_marker(packet.here(), packet.size() - packet.at);
    }

    void sop(Reader &in, size_t number) const {  // A.8.1
        in.expect(0xFF910004, 4, "SOP");
        in.expect(number & 0xFFFF, 2, "Nsop");
    }

    // By their SOP, which nothing else looks like. number: of the first one.
    size_t count_packets(Reader &body, size_t number) const {
        for (size_t i = 0; i + 1 < body.size(); i++) {
            body.at = i;
            if (body.here()[0] != 0xFF || body.here()[1] != 0x91) continue;
            sop(body, number++);
            i += 5;  // whose last byte may be 0xFF
        }
        return number;
    }

    bool is_ht() const { return o_.cblk_style == CUDAENC_J2K_HT; }

    Reader in_;
    const CudaencFormat &f_;
    const CudaencJ2kOptions &o_;
    const CudaencConfig &config_;
    const j2k::Params params_;
    int tile_width_ = 0, tile_height_ = 0, tiles_across_ = 0;
    std::vector<std::pair<uint64_t, uint64_t>> tlm_;  // tile, length
    std::string poc_;                                 // as the option has it
    uint64_t rgn_ = 0;                                // components with RGN
    std::vector<bool> quantised_;                     // components whose steps are known, from QCD on
    Parsed parsed_;
};

// A JP2 file (Annex I). Returns its codestream.
inline Reader parse_boxes(Reader in, const CudaencConfig &config, const CudaencFrame &frame) {
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

}  // namespace cudaenc::testing
