// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lossless_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "entropy_cpu.h"

namespace cudaenc::mjpeg {

namespace {

// Table H.1, from the samples at the left (a), above (b) and above at the left (c).
int32_t predict(int predictor, int32_t a, int32_t b, int32_t c) {
    switch (predictor) {
        case 1:
            return a;
        case 2:
            return b;
        case 3:
            return c;
        case 4:
            return a + b - c;
        case 5:
            return a + ((b - c) >> 1);
        case 6:
            return b + ((a - c) >> 1);
        default:
            return (a + b) >> 1;
    }
}

// A component of a scan: an MCU has h x v of its samples.
struct ScanComponent {
    int number, h, v;
    DecodeTable table;
};

// A scan's MCUs, by rows. One component alone has MCUs of one sample (A.2.2).
struct LosslessScan {
    const StreamScan &from;
    std::vector<ScanComponent> components;
    int columns, rows;
    int interval_rows;  // of a restart interval: whole ones (H.1.1)
};

// Rows of a component, of whole MCUs, as they are coded: the last one of the MCUs above, then v of those at hand.
class Lines {
  public:
    Lines(int columns, const ScanComponent &c)
        : columns_(columns * c.h), v_(c.v), samples_(static_cast<size_t>(columns_) * static_cast<size_t>(c.v + 1)) {}
    uint16_t *row(int y) { return samples_.data() + static_cast<ptrdiff_t>(y + 1) * columns_; }
    int columns() const { return columns_; }
    void begin_mcus(uint16_t value) {
        std::copy_n(row(v_ - 1), columns_, row(-1));
        std::fill_n(row(0), static_cast<ptrdiff_t>(columns_) * v_, value);
    }

  private:
    int columns_, v_;
    std::vector<uint16_t> samples_;
};

class LosslessDecoder {
  public:
    LosslessDecoder(const CodedStream &stream, const CudaencCodedPicture &to, ThreadPool &pool)
        : stream_(stream), to_(to), pool_(pool) {}

    void decode(std::string &damage) {
        for (size_t c = 0; c < stream_.components.size(); c++)
            if (!stream_.components[c].scanned) fill_gray(static_cast<int>(c));
        for (const StreamScan &scan : stream_.scans) decode_scan(scan);
        if (damaged_ && damage.empty()) damage = kBrokenData;
    }

  private:
    uint16_t gray(int point_transform) const {
        return static_cast<uint16_t>(1u << (stream_.bits - 1) >> point_transform);
    }

    void decode_scan(const StreamScan &from) {
        const auto divide = [](int a, int b) { return (a + b - 1) / b; };
        const bool alone = from.count == 1;
        LosslessScan scan{.from = from, .components = {}, .columns = 0, .rows = 0, .interval_rows = 0};
        for (int i = 0; i < from.count; i++) {
            const StreamComponent &c = stream_.components[static_cast<size_t>(from.component[i])];
            scan.components.push_back(
                {.number = from.component[i],
                 .h = alone ? 1 : c.h,
                 .v = alone ? 1 : c.v,
                 .table = make_decode_table(stream_.huffman[static_cast<size_t>(from.dc[i])], TableUse::difference)});
            scan.columns = alone ? c.width : divide(stream_.width, stream_.max_h);
            scan.rows = alone ? c.height : divide(stream_.height, stream_.max_v);
        }
        scan.interval_rows = from.restart_interval ? from.restart_interval / scan.columns : scan.rows;
        CodedData data;
        take_coded_data(from.data, data);
        // Of each interval its segment; an empty one where it is missing.
        std::vector<CodedSegment> segments(static_cast<size_t>(divide(scan.rows, scan.interval_rows)));
        size_t found = 0;
        for (const CodedSegment &segment : data.segments) {
            const auto interval = static_cast<size_t>(segment.interval);
            if (interval < segments.size()) segments[interval] = segment, found++;
        }
        if (found != segments.size()) damaged_ = true;
        pool_.for_each(segments.size(), [&](size_t i) {
            if (!decode_interval(scan, data, segments[i], static_cast<int>(i) * scan.interval_rows)) damaged_ = true;
        });
    }

    // From row `first` of MCUs on. False: its data are broken.
    bool decode_interval(const LosslessScan &scan, const CodedData &data, const CodedSegment &segment,
                         int first) const {
        BitReader reader(data, segment);
        const int end = std::min(scan.rows, first + scan.interval_rows);
        std::vector<Lines> lines;
        for (const ScanComponent &c : scan.components) lines.emplace_back(scan.columns, c);
        bool ended = false, damaged = false;
        for (int y = first; y < end; y++) {
            for (Lines &of : lines) of.begin_mcus(gray(scan.from.low));
            for (int x = 0; x < scan.columns && !ended; x++)
                for (size_t i = 0; i < lines.size() && !ended; i++)
                    ended = !decode_samples(scan, i, x, y == first, reader, lines[i], damaged);
            for (size_t i = 0; i < lines.size(); i++) store(scan, scan.components[i], lines[i], y);
        }
        return !ended && !damaged && !(end == scan.rows && reader.has_excess(scan.from.padding));
    }

    // Those of component i in MCU x of a row. False: the segment ended (H.1.2.1).
    bool decode_samples(const LosslessScan &scan, size_t i, int x, bool begins, BitReader &reader, Lines &lines,
                        bool &damaged) const {
        const ScanComponent &c = scan.components[i];
        for (int v = 0; v < c.v; v++) {
            uint16_t *const row = lines.row(v) + x * c.h;
            const uint16_t *const above = lines.row(v - 1) + x * c.h;
            for (int h = 0; h < c.h; h++) {
                const bool first_row = begins && v == 0, first_column = x == 0 && h == 0;
                const int32_t prediction = first_row ? first_column ? gray(scan.from.low) : row[h - 1]
                                           : first_column
                                               ? above[h]
                                               : predict(scan.from.first, row[h - 1], above[h], above[h - 1]);
                const uint32_t bits = reader.peek();
                const Step step = c.table.find(bits);
                if (!reader.skip(step.bits())) return false;
                damaged |= step.places() > 2;
                const int32_t difference = step.places() == 2 ? 1 << 15 : magnitude_of(bits, step);
                row[h] = static_cast<uint16_t>(prediction + difference);  // modulo 2^16
            }
        }
        return true;
    }

    // The rows of MCUs y that the component has.
    void store(const LosslessScan &scan, const ScanComponent &from, Lines &lines, int y) const {
        const StreamComponent &c = stream_.components[static_cast<size_t>(from.number)];
        const uint32_t mask = (1u << (stream_.bits - scan.from.low)) - 1;
        for (int v = 0; v < from.v && y * from.v + v < c.height; v++)
            put_row(from.number, y * from.v + v, std::min(c.width, lines.columns()), scan.from.low,
                    [row = lines.row(v), mask](int x) { return row[x] & mask; });
    }

    template <class SampleAt>
    void put_row(int component, int y, int width, int shift, const SampleAt &sample_at) const {
        uint8_t *const row = to_.planes[component] + y * to_.stride[component];
        if (stream_.bits <= 8) {
            shift += 8 - stream_.bits;
            for (int x = 0; x < width; x++) row[x] = static_cast<uint8_t>(sample_at(x) << shift);
            return;
        }
        shift += 16 - stream_.bits;
        for (int x = 0; x < width; x++) {
            const auto word = static_cast<uint16_t>(sample_at(x) << shift);
            std::memcpy(row + 2 * static_cast<ptrdiff_t>(x), &word, sizeof word);
        }
    }

    void fill_gray(int component) const {
        const StreamComponent &c = stream_.components[static_cast<size_t>(component)];
        for (int y = 0; y < c.height; y++)
            put_row(component, y, c.width, 0, [value = uint32_t{gray(0)}](int) { return value; });
    }

    const CodedStream &stream_;
    const CudaencCodedPicture &to_;
    ThreadPool &pool_;
    std::atomic<bool> damaged_ = false;
};

}  // namespace

void decode_lossless(const CodedStream &stream, const CudaencCodedPicture &to, ThreadPool &pool, std::string &damage) {
    LosslessDecoder(stream, to, pool).decode(damage);
}

}  // namespace cudaenc::mjpeg
