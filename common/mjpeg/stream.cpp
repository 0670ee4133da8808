// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stream.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "../cudaenc.h"
#include "../error.h"
#include "../exif.h"
#include "huffman_decode.h"
#include "markers.h"

namespace cudaenc::mjpeg {

namespace {

[[noreturn]] void invalid(const std::string &why) { throw Error(CUDAENC_ERR_INVALID, "JPEG: " + why); }
[[noreturn]] void unsupported(const std::string &what) {
    throw Error(CUDAENC_ERR_UNSUPPORTED, "JPEG: " + what + " is not supported");
}

// The bytes of a segment. Reading beyond them is an error.
class SegmentReader {
  public:
    explicit SegmentReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    size_t size() const { return bytes_.size(); }
    int get8() {
        if (bytes_.empty()) invalid("a marker segment is too short");
        const int value = bytes_[0];
        bytes_ = bytes_.subspan(1);
        return value;
    }
    int get16() {
        const int high = get8();
        return high << 8 | get8();
    }
    // Whether it begins with `head`, its final zero included; then that is skipped.
    template <size_t N>
    bool skip(const char (&head)[N]) {
        if (bytes_.size() < N || std::memcmp(bytes_.data(), head, N) != 0) return false;
        bytes_ = bytes_.subspan(N);
        return true;
    }
    std::span<const uint8_t> rest() const { return bytes_; }

  private:
    std::span<const uint8_t> bytes_;
};

}  // namespace

class StreamReader::Parser {
  public:
    explicit Parser(std::span<const uint8_t> packet) : packet_(packet) {}
    const CodedStream &stream() const { return s_; }
    size_t at() const { return at_; }

    void read_headers() {
        find_start();
        while (read_segment()) {
        }
        if (!has_scan_) invalid("there is no scan");
        s_.metadata.icc_chunks = complete_chunks();
    }

    CodedStream read_scans(std::span<const uint8_t> packet) {
        packet_ = packet;
        try {
            for (bool more = keep_scan(); more;) more = read_segment();
        } catch (const Error &e) {
            s_.damage = e.what();
        }
        if (s_.damage.empty())
            for (const StreamComponent &c : s_.components)
                if (!c.scanned) s_.damage = "JPEG: a component is in no scan";
        return std::move(s_);
    }

  private:
    static constexpr int kNotCoded = -1;
    struct CodedBits {
        std::array<int8_t, kBlockSamples> low;  // Al of the last scan of each place; kNotCoded: there was none
        CodedBits() { low.fill(kNotCoded); }
    };

    void find_start() {
        for (; at_ + 1 < packet_.size(); at_++)
            if (packet_[at_] == 0xFF && packet_[at_ + 1] == (kSoi & 0xFF)) {
                at_ += 2;
                return;
            }
        invalid("there is no SOI marker");
    }

    // The next marker, behind whatever precedes it; 0: the end.
    uint32_t next_marker() {
        at_ += find_marker(packet_.subspan(at_));
        while (at_ < packet_.size() && packet_[at_] == 0xFF) at_++;
        return at_ < packet_.size() ? 0xFF00u | packet_[at_++] : 0;
    }

    // Whether the scans tell all bits of all coefficients, so that nothing can follow them.
    bool is_complete() const {
        for (size_t c = 0; c < s_.components.size(); c++)
            if (s_.progressive ? std::ranges::any_of(coded_bits_[c].low, [](int8_t low) { return low != 0; })
                               : !s_.components[c].scanned)
                return false;
        return has_scan_;
    }

    // False: nothing that matters follows, or the first scan's data.
    bool read_segment() {
        const uint32_t marker = next_marker();
        if (marker == 0 || marker == kEoi) {
            if (marker == 0 && s_.damage.empty() && !is_complete()) s_.damage = "JPEG: the end is missing";
            return false;
        }
        if (marker == kSoi || marker == kTem) return true;
        if (at_ + 2 > packet_.size()) invalid("the stream ends within a marker segment");
        const size_t length = static_cast<size_t>(packet_[at_] << 8 | packet_[at_ + 1]);
        if (length < 2 || length > packet_.size() - at_)
            invalid(format_string("a marker segment of length %zu with %zu bytes left", length, packet_.size() - at_));
        SegmentReader segment(packet_.subspan(at_ + 2, length - 2));
        at_ += length;
        switch (marker) {
            case kDqt:
                while (segment.size()) read_divisors(segment);
                break;
            case kDht:
                while (segment.size()) read_huffman(segment);
                break;
            case kDri:
                restart_interval_ = segment.get16();
                break;
            case kSos:
                return read_scan(segment);
            case kApp0:
                read_app0(segment);
                break;
            case kApp1:
                if (segment.skip("Exif\0") && s_.metadata.exif.empty()) {
                    s_.metadata.exif = segment.rest();
                    s_.metadata.orientation = Exif(segment.rest()).orientation();
                    read_aspect(segment.rest());
                }
                break;
            case kApp2:
                if (segment.skip("ICC_PROFILE")) read_icc_chunk(segment);
                break;
            case kApp14:
                read_app14(segment);
                break;
            case kCom:
                if (segment.skip("CS=ITU601")) s_.metadata.limited_range = true;
                break;
            default:
                if (marker >= kSof0 && marker <= kSof15 && marker != kJpg) read_frame(marker, segment);
        }
        return true;
    }

    void read_divisors(SegmentReader &segment) {  // B.2.4.1
        const int pq_tq = segment.get8(), tq = pq_tq & 15;
        if (pq_tq >> 4 > 1 || tq >= kDestinations)
            invalid(format_string("a quantisation table of Pq and Tq %02x", pq_tq));
        for (int place = 0; place < kBlockSamples; place++)
            divisors_[tq][kZigzag[place]] = static_cast<uint16_t>(pq_tq >> 4 ? segment.get16() : segment.get8());
        has_divisors_[tq] = true;
    }

    void read_huffman(SegmentReader &segment) {  // B.2.4.2
        const int tc_th = segment.get8(), tc = tc_th >> 4, th = tc_th & 15;
        if (tc > 1 || th >= kDestinations) invalid(format_string("a Huffman table of Tc and Th %02x", tc_th));
        StreamHuffman table{};
        int count = 0, code = 0;
        for (int i = 0; i < 16; i++) {
            table.codes[i] = static_cast<uint8_t>(segment.get8());
            count += table.codes[i];
            code = code * 2 + table.codes[i];
            if (code > 2 << i) invalid(format_string("a Huffman table with too many codes of %d bits", i + 1));
        }
        if (count > kMaxHuffmanCodes) invalid(format_string("a Huffman table of %d codes", count));
        for (int i = 0; i < count; i++) {
            table.symbols[i] = static_cast<uint8_t>(segment.get8());
            if (tc == 0 && table.symbols[i] > kHalfRange)
                invalid(format_string("a DC category of %d", table.symbols[i]));
        }
        destination_[tc][th] = add_huffman(table);
    }

    // Equal tables are one.
    int add_huffman(const StreamHuffman &table) {
        const auto at = std::find(s_.huffman.begin(), s_.huffman.end(), table);
        if (at != s_.huffman.end()) return static_cast<int>(at - s_.huffman.begin());
        s_.huffman.push_back(table);
        return static_cast<int>(s_.huffman.size()) - 1;
    }

    // The table of class 0 (DC) or 1 (AC) in effect.
    int huffman_of(int tc, int th) {
        if (th >= kDestinations) invalid(format_string("a scan with Huffman table %d", th));
        int &destination = destination_[tc][th];
        if (destination < 0) {
            if (th >= kTables) invalid(format_string("Huffman table %d is missing", th));
            const HuffmanSpec &spec = tc ? kAcHuffman[th] : kDcHuffman[th];
            StreamHuffman table{};
            std::copy_n(spec.codes, 16, table.codes);
            std::copy_n(spec.symbols, tc ? kAcSymbols : kDcSymbols, table.symbols);
            destination = add_huffman(table);
        }
        // Frame headers may follow tables.
        const StreamHuffman &table = s_.huffman[static_cast<size_t>(destination)];
        if (tc == 0 && !s_.lossless)
            for (int i = 0; i < count_of(table); i++)
                if (table.symbols[i] == kHalfRange) invalid(format_string("a DC category of %d", kHalfRange));
        return destination;
    }
    static int count_of(const StreamHuffman &table) {
        return std::accumulate(std::begin(table.codes), std::end(table.codes), 0);
    }

    void read_app0(SegmentReader &segment) {
        if (!segment.skip("JFIF") || segment.size() < 7) return;
        s_.metadata.jfif = true;
        segment.get16(), segment.get8();  // version, unit
        s_.metadata.density_num = segment.get16();
        s_.metadata.density_den = segment.get16();
    }

    // Densities without a unit (TIFF 6.0), where there is no JFIF: RGB pictures of this library have them.
    void read_aspect(std::span<const uint8_t> tiff) {
        constexpr uint32_t kNoUnit = 1;
        const Exif exif(tiff);
        const auto x = exif.rational(Exif::kXResolution), y = exif.rational(Exif::kYResolution);
        if (s_.metadata.jfif || !x || !y || exif.number(Exif::kResolutionUnit) != kNoUnit) return;
        const uint64_t num = uint64_t{y->numerator} * x->denominator, den = uint64_t{x->numerator} * y->denominator;
        if (num > INT32_MAX || den > INT32_MAX) return;
        s_.metadata.density_num = static_cast<int>(num);
        s_.metadata.density_den = static_cast<int>(den);
    }

    void read_app14(SegmentReader &segment) {
        if (segment.size() < 12 || std::memcmp(segment.rest().data(), "Adobe", 5) != 0) return;
        s_.metadata.adobe_transform = segment.rest()[11];
    }

    void read_icc_chunk(SegmentReader &segment) {  // ICC.1 B.4
        if (segment.size() < 2) return;
        const size_t number = static_cast<size_t>(segment.get8()), count = static_cast<size_t>(segment.get8());
        std::vector<std::span<const uint8_t>> &chunks = s_.metadata.icc_chunks;
        if (chunks.empty()) chunks.resize(count);
        if (number >= 1 && number <= chunks.size() && count == chunks.size()) chunks[number - 1] = segment.rest();
    }
    std::vector<std::span<const uint8_t>> complete_chunks() {
        for (const auto &chunk : s_.metadata.icc_chunks)
            if (chunk.empty()) return {};
        return std::move(s_.metadata.icc_chunks);
    }

    void read_frame(uint32_t marker, SegmentReader &segment) {  // B.2.2
        if (marker == kDac || marker > kSof2 + 5 + 1) unsupported("arithmetic coding");
        if (marker > kSof3) unsupported("hierarchical coding");
        if (!s_.components.empty()) invalid("a second frame header");
        s_.progressive = marker == kSof2, s_.lossless = marker == kSof3;
        s_.bits = segment.get8();
        if (s_.lossless ? s_.bits < 2 || s_.bits > 16 : s_.bits != 8 && s_.bits != 12)
            unsupported(format_string("a depth of %d bits", s_.bits));
        s_.height = segment.get16(), s_.width = segment.get16();
        if (s_.height == 0 && s_.width) unsupported("a height that DNL tells");
        if (s_.width == 0) invalid("a width of 0");
        const int count = segment.get8();
        if (count < 1 || count > kMaxStreamComponents) unsupported(format_string("a frame of %d components", count));
        std::vector<StreamComponent> components;
        s_.max_h = s_.max_v = 1;
        for (int i = 0; i < count; i++) {
            StreamComponent c{};
            c.id = segment.get8();
            const int hv = segment.get8();
            const int tq = segment.get8();
            c.h = hv >> 4, c.v = hv & 15;
            if (c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4) invalid(format_string("sampling factors %02x", hv));
            if (count == 1) c.h = c.v = 1;
            if (tq >= kDestinations) invalid(format_string("quantisation table %d", tq));
            table_of_[static_cast<size_t>(i)] = tq;
            s_.max_h = std::max(s_.max_h, c.h), s_.max_v = std::max(s_.max_v, c.v);
            components.push_back(c);
        }
        const auto divide = [](int a, int b) { return (a + b - 1) / b; };
        for (StreamComponent &c : components) {  // A.1.1, A.2.3
            c.width = divide(s_.width * c.h, s_.max_h);
            c.height = divide(s_.height * c.v, s_.max_v);
            c.columns = divide(c.width, kBlockSize), c.rows = divide(c.height, kBlockSize);
            c.mcu_columns = divide(s_.width, kBlockSize * s_.max_h) * c.h;
            c.mcu_rows = divide(s_.height, kBlockSize * s_.max_v) * c.v;
        }
        s_.components = std::move(components);
    }

    // B.2.3
    bool read_scan(SegmentReader &segment) {
        if (s_.components.empty()) invalid("a scan before the frame header");
        StreamScan scan{};
        scan.count = segment.get8();
        if (scan.count < 1 || scan.count > static_cast<int>(s_.components.size()))
            invalid(format_string("a scan of %d components", scan.count));
        int blocks = 0, td[kMaxStreamComponents], ta[kMaxStreamComponents];
        for (int i = 0; i < scan.count; i++) {
            const int id = segment.get8(), td_ta = segment.get8();
            td[i] = td_ta >> 4, ta[i] = td_ta & 15;
            scan.component[i] = component_of(scan, i, id);
            const StreamComponent &c = s_.components[static_cast<size_t>(scan.component[i])];
            blocks += c.h * c.v;
        }
        if (scan.count > 1 && blocks > kMaxMcuBlocks) invalid(format_string("an MCU of %d blocks", blocks));
        scan.first = segment.get8(), scan.last = segment.get8();
        const int high_low = segment.get8();
        scan.high = high_low >> 4, scan.low = high_low & 15;
        if (s_.lossless)
            scan.last = scan.high = 0;
        else if (!s_.progressive)
            scan.first = 0, scan.last = kBlockSamples - 1, scan.high = scan.low = 0;
        scan.restart_interval = restart_interval_;
        for (int i = 0; i < scan.count; i++) {
            scan.dc[i] = s_.lossless || (scan.first == 0 && scan.high == 0) ? huffman_of(0, td[i]) : -1;
            scan.ac[i] = scan.last > 0 ? huffman_of(1, ta[i]) : -1;
        }
        fault_ = scan_fault(scan);
        if (!fault_) latch_divisors(scan);
        if (!fault_ && is_early(scan)) s_.damage = "JPEG: a scan of AC comes before that of DC";
        scan_ = scan;
        return std::exchange(has_scan_, true) && keep_scan();
    }

    int component_of(const StreamScan &scan, int i, int id) const {
        for (size_t c = 0; c < s_.components.size(); c++) {
            const int number = static_cast<int>(c);
            if (s_.components[c].id == id &&
                std::find(scan.component, scan.component + i, number) == scan.component + i)
                return number;
        }
        invalid(format_string("a scan of component %d, which the frame does not have", id));
    }

    // What makes a scan one that cannot be: nullptr, or what is wrong. So each place has a bounded number of scans.
    const char *scan_fault(const StreamScan &scan) {
        for (int i = 0; i < scan.count; i++) {
            const StreamComponent &c = s_.components[static_cast<size_t>(scan.component[i])];
            if (!s_.progressive && c.scanned) return "JPEG: a component is in two scans";
        }
        if (s_.lossless) return lossless_fault(scan);
        if (!s_.progressive) return nullptr;
        if (scan.last > 63 || scan.first > scan.last || scan.low > 13 || (scan.high && scan.high != scan.low + 1) ||
            (scan.first == 0 ? scan.last != 0 : scan.count != 1))
            return "JPEG: a scan's spectral selection or successive approximation is not allowed";
        for (int i = 0; i < scan.count; i++) {
            CodedBits &bits = coded_bits_[static_cast<size_t>(scan.component[i])];
            for (int k = scan.first; k <= scan.last; k++)
                if (bits.low[static_cast<size_t>(k)] != (scan.high ? scan.high : kNotCoded))
                    return "JPEG: a scan refines bits that are not there, or repeats them";
        }
        for (int i = 0; i < scan.count; i++)
            for (int k = scan.first; k <= scan.last; k++)
                coded_bits_[static_cast<size_t>(scan.component[i])].low[static_cast<size_t>(k)] =
                    static_cast<int8_t>(scan.low);
        return nullptr;
    }

    const char *lossless_fault(const StreamScan &scan) const {  // H.1.1, Table H.1
        if (scan.first < 1 || scan.first > 7) return "JPEG: a scan's predictor is not 1 to 7";
        if (scan.low >= s_.bits) return "JPEG: a scan's point transform leaves no bits";
        const StreamComponent &c = s_.components[static_cast<size_t>(scan.component[0])];
        const int row_mcus = scan.count == 1 ? c.width : (s_.width + s_.max_h - 1) / s_.max_h;
        if (scan.restart_interval % row_mcus) return "JPEG: a restart interval of lossless coding has no whole rows";
        return nullptr;
    }

    // Whether DC should come first (G.1.1.1.1). What is missing counts as 0, as in libjpeg.
    bool is_early(const StreamScan &scan) const {
        return s_.progressive && scan.first && coded_bits_[static_cast<size_t>(scan.component[0])].low[0] == kNotCoded;
    }

    void take_divisors(StreamComponent &c, int tq) const {
        if (!has_divisors_[tq]) invalid(format_string("quantisation table %d is missing", tq));
        std::copy_n(divisors_[tq], kBlockSamples, c.divisors);
    }
    void latch_divisors(const StreamScan &scan) {
        for (int i = 0; i < scan.count; i++) {
            StreamComponent &c = s_.components[static_cast<size_t>(scan.component[i])];
            if (c.scanned) continue;
            if (!s_.lossless) take_divisors(c, table_of_[static_cast<size_t>(scan.component[i])]);
            c.scanned = true;
        }
    }

    // The data of a sequential scan of all components reach to the packet's end: whoever decodes them finds the end.
    bool keep_scan() {
        const std::span<const uint8_t> rest = packet_.subspan(at_);
        const bool single = !s_.progressive && scan_.count == static_cast<int>(s_.components.size());
        const size_t size = single ? rest.size() : find_marker(rest);
        scan_.data = rest.first(size);
        if (size == rest.size()) scan_.padding = ending_zeros(rest);
        at_ += size;
        if (fault_)
            s_.damage = fault_;
        else
            s_.scans.push_back(scan_);
        return !single;
    }

    // Of data without a marker.
    int ending_zeros(std::span<const uint8_t> data) const {
        if (data.empty() || data.back() != 0 || find_marker(data) != data.size()) return 0;
        constexpr ptrdiff_t most = 1 << 24;  // whose bits are a number of 32 bits
        const auto last = std::find_if(data.rbegin(), data.rend(), [](uint8_t byte) { return byte != 0; });
        return static_cast<int>(std::min(last - data.rbegin(), most));
    }

    std::span<const uint8_t> packet_;
    bool has_scan_ = false;        // a scan's header was read
    StreamScan scan_{};            // the last one
    const char *fault_ = nullptr;  // of it
    size_t at_ = 0;
    CodedStream s_{};
    std::array<CodedBits, kMaxStreamComponents> coded_bits_;
    std::array<int, kMaxStreamComponents> table_of_{};  // Tq
    uint16_t divisors_[kDestinations][kBlockSamples] = {};
    bool has_divisors_[kDestinations] = {};
    int destination_[2][kDestinations] = {{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    int restart_interval_ = 0;
};

StreamReader::StreamReader(std::span<const uint8_t> packet) : parser_(std::make_unique<Parser>(packet)) {
    parser_->read_headers();
}
StreamReader::~StreamReader() = default;
const CodedStream &StreamReader::headers() const { return parser_->stream(); }
size_t StreamReader::header_size() const { return parser_->at(); }
CodedStream StreamReader::read_scans(std::span<const uint8_t> packet) { return parser_->read_scans(packet); }

size_t picture_size(std::span<const uint8_t> packet) {
    for (size_t at = 0; at < packet.size();) {
        at += find_marker(packet.subspan(at));
        while (at < packet.size() && packet[at] == 0xFF) at++;
        if (at == packet.size()) break;
        const uint32_t marker = 0xFF00u | packet[at++];
        if (marker == kEoi) return at;
        if (marker == kSoi || marker == kTem) continue;
        if (at + 2 > packet.size()) break;
        at += static_cast<size_t>(packet[at] << 8 | packet[at + 1]);
    }
    return packet.size();
}

namespace {

// Whether APP0 "AVI1" (Open DML AVI M-JPEG) tells the polarity of a field.
bool is_field(std::span<const uint8_t> picture) {
    if (picture.size() < 2 || picture[0] != 0xFF || (0xFF00u | picture[1]) != kSoi) return false;
    for (size_t at = 2; at + 8 < picture.size() && picture[at] == 0xFF;) {
        const uint32_t marker = 0xFF00u | picture[at + 1];
        if (marker == kEoi || marker == kSos) break;
        if (marker == kApp0 && !std::memcmp(&picture[at + 4], "AVI1", 4))
            return picture[at + 8] == 1 || picture[at + 8] == 2;
        at += 2 + static_cast<size_t>(picture[at + 2] << 8 | picture[at + 3]);
    }
    return false;
}

}  // namespace

bool has_two_fields(std::span<const uint8_t> packet) {
    if (!is_field(packet)) return false;
    const std::span<const uint8_t> rest = packet.subspan(picture_size(packet));
    constexpr uint8_t kBegin[] = {kSoi >> 8, kSoi & 0xFF};
    const auto second = std::ranges::search(rest, kBegin).begin();  // behind padding
    return is_field({second, rest.end()});
}

size_t find_marker(std::span<const uint8_t> data) {
    const uint8_t *at = data.data(), *const end = at + data.size();
    while (at < end) {
        at = static_cast<const uint8_t *>(std::memchr(at, 0xFF, static_cast<size_t>(end - at)));
        if (!at || at + 1 >= end) break;
        if (at[1] != 0 && at[1] != 0xFF && !is_restart(0xFF00u | at[1])) return static_cast<size_t>(at - data.data());
        at++;
    }
    return data.size();
}

}  // namespace cudaenc::mjpeg
