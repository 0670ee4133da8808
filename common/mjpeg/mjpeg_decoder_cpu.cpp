// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG decoding on the CPU, top to bottom: headers -> coded data without stuffing -> entropy decoding and inverse DCT,
// some MCUs at a time -> a usual format. It is also the oracle: the device pipeline gives the same samples. Pictures in
// flight run side by side, and so do the segments between restart markers.
#include <algorithm>
#include <array>
#include <atomic>

#include "../cpu_pipeline.h"
#include "entropy_cpu.h"
#include "extended_cpu.h"
#include "idct_cpu.h"
#include "lossless_cpu.h"
#include "mjpeg.h"
#include "progressive_cpu.h"
#include "upsample_cpu.h"

namespace cudaenc::mjpeg {

namespace {

enum Stage { kHeaders, kDecode, kStages };
constexpr const char *kStageNames[kStages] = {"headers", "decode"};

constexpr int kRunMcus = 32;  // whose levels fit the L1 cache

// A scan with what its decoding needs.
struct SequentialScan {
    ScanLayout layout;
    int padding;
    std::array<DecodeTable, kMaxStreamComponents> dc, ac;
};

// A picture in flight.
struct Slot {
    CodedPicture coded;
    CodedStream stream;
    CodedData data;
};

class MjpegCpuDecoder : public CpuPipeline<Decoder> {
  public:
    MjpegCpuDecoder(const DecoderOptions &options, int slots, int threads, bool stage_times)
        : CpuPipeline(slots, threads, kStageNames, stage_times),
          options_(options),
          slots_(static_cast<size_t>(slots)) {}
    ~MjpegCpuDecoder() override { stop(); }

  private:
    void take(int slot, const CodedPicture &coded) override { slots_[static_cast<size_t>(slot)].coded = coded; }

    std::optional<Decoded> complete(int slot) override {
        Slot &s = slots_[static_cast<size_t>(slot)];
        begin_stage(slot, kHeaders);
        s.stream = read_stream(s.coded);
        begin_stage(slot, kDecode);
        Decoded decoded{.damage = s.stream.damage};
        if (is_for_cpu(s.stream)) {
            decode_planes(s.stream, options_, s.coded, pool(), decoded.damage);
        } else if (s.stream.progressive) {
            const std::vector<CoefficientPlane> planes = decode_coefficients(s.stream, pool(), decoded.damage);
            for (size_t c = 0; c < planes.size(); c++) transform(s, static_cast<int>(c), planes[c]);
        } else {
            decode_sequential(s, decoded.damage);
        }
        upsample(header_of(s.coded).upsampling, s.coded.header->info.format, s.coded, pool());
        return decoded;
    }

    // ---- Sequential scans

    void decode_sequential(Slot &s, std::string &damage) {
        std::atomic<bool> damaged = false;
        for (const StreamScan &scan : s.stream.scans) decode_scan(s, scan, damaged);
        for (size_t c = 0; c < s.stream.components.size(); c++)
            if (!s.stream.components[c].scanned) fill_gray(s, c);
        if (damaged && damage.empty()) damage = kBrokenData;
    }

    void decode_scan(Slot &s, const StreamScan &from, std::atomic<bool> &damaged) {
        SequentialScan scan{.layout = make_scan_layout(s.stream, from), .padding = from.padding, .dc = {}, .ac = {}};
        for (size_t i = 0; i < static_cast<size_t>(from.count); i++) {
            scan.dc[i] = make_decode_table(s.stream.huffman[static_cast<size_t>(from.dc[i])], TableUse::dc);
            scan.ac[i] = make_decode_table(s.stream.huffman[static_cast<size_t>(from.ac[i])], TableUse::ac);
        }
        take_coded_data(from.data, s.data);
        // Of each interval its segment; an empty one where it is missing.
        const int64_t intervals = scan.layout.intervals();
        std::vector<CodedSegment> segments(static_cast<size_t>(intervals));
        int64_t found = 0;
        for (const CodedSegment &segment : s.data.segments)
            if (segment.interval < intervals) segments[static_cast<size_t>(segment.interval)] = segment, found++;
        if (found != intervals) damaged = true;
        pool().for_each(segments.size(), [&](size_t i) {
            if (!decode_interval(s, scan, segments[i], static_cast<int64_t>(i))) damaged = true;
        });
    }

    // False: its data are broken.
    bool decode_interval(const Slot &s, const SequentialScan &scan, const CodedSegment &segment,
                         int64_t interval) const {
        const ScanGrid &grid = scan.layout.grid;
        const int64_t per_interval = grid.restart_interval ? grid.restart_interval : grid.mcus();
        const int32_t end = static_cast<int32_t>(std::min<int64_t>((interval + 1) * per_interval, grid.mcus()));
        BitReader reader(s.data, segment);
        std::array<uint32_t, kMaxStreamComponents> prediction{};
        std::vector<int16_t> levels(static_cast<size_t>(kRunMcus * scan.layout.mcu_blocks) * kBlockSamples);
        std::vector<uint8_t> last(static_cast<size_t>(kRunMcus * scan.layout.mcu_blocks));
        bool ended = false, damaged = false;
        for (int32_t mcu = static_cast<int32_t>(interval * per_interval); mcu < end;) {
            const int32_t row = grid.by_mcus_x.quotient(mcu), row_end = (row + 1) * grid.mcus_x;
            const int32_t count = std::min({kRunMcus, row_end - mcu, end - mcu});
            std::fill(levels.begin(), levels.end(), int16_t{0});
            std::fill(last.begin(), last.end(), uint8_t{0});
            for (int32_t m = 0; m < count && !ended; m++)
                decode_mcu(scan, reader, prediction, m, count, levels.data(), last.data(), ended, damaged);
            transform_run(s, scan.layout, mcu, count, levels.data(), last.data());
            mcu += count;
        }
        return !ended && !damaged && !(end == grid.mcus() && reader.has_excess(scan.padding));
    }

    // MCU m of a run of `count`. The run's blocks lie by component, then by row.
    static void decode_mcu(const SequentialScan &scan, BitReader &reader,
                           std::array<uint32_t, kMaxStreamComponents> &prediction, int m, int count, int16_t *levels,
                           uint8_t *last, bool &ended, bool &damaged) {
        int first = 0;
        for (size_t i = 0; i < static_cast<size_t>(scan.layout.count); i++) {
            const BlockGrid &blocks = scan.layout.blocks[i];
            for (int v = 0; v < blocks.v; v++)
                for (int h = 0; h < blocks.h; h++) {
                    const int at = first + (v * count + m) * blocks.h + h;
                    const DecodedBlock block =
                        decode_block(reader, scan.dc[i], scan.ac[i], prediction[i], levels + at * kBlockSamples);
                    last[at] = static_cast<uint8_t>(block.last);
                    damaged |= block.damaged;
                    if ((ended = block.ended)) return;
                }
            first += blocks.h * blocks.v * count;
        }
    }

    void transform_run(const Slot &s, const ScanLayout &layout, int32_t mcu, int count, const int16_t *levels,
                       const uint8_t *last) const {
        const int32_t mcu_y = layout.grid.by_mcus_x.quotient(mcu), mcu_x = mcu - mcu_y * layout.grid.mcus_x;
        for (int i = 0; i < layout.count; i++) {
            const BlockGrid &blocks = layout.blocks[i];
            const int across = count * blocks.h;
            for (int v = 0; v < blocks.v; v++, levels += across * kBlockSamples, last += across)
                transform_blocks(s, layout.component[i], mcu_x * blocks.h, mcu_y * blocks.v + v, across, levels, last);
        }
    }

    // ---- Inverse DCT

    // `count` blocks of a component from block (x, y) on, to its plane. Those without samples are left out.
    void transform_blocks(const Slot &s, int component, int x, int y, int count, const int16_t *levels,
                          const uint8_t *last) const {
        const StreamComponent &c = s.stream.components[static_cast<size_t>(component)];
        const int size = kBlockSize >> options_.lowres;
        const int width = reduced_size(c.width, options_.lowres) - x * size;
        const int height = reduced_size(c.height, options_.lowres) - y * size;
        if (width <= 0 || height <= 0) return;
        const ptrdiff_t stride = s.coded.stride[component];
        idct_blocks(levels, last, count, c.divisors, options_.lowres,
                    {.samples = s.coded.planes[component] + y * size * stride + x * size,
                     .stride = stride,
                     .width = width,
                     .height = height});
    }

    void transform(const Slot &s, int component, const CoefficientPlane &plane) {
        pool().for_each(static_cast<size_t>(plane.rows), [&](size_t y) {
            const size_t first = y * static_cast<size_t>(plane.columns);
            transform_blocks(s, component, 0, static_cast<int>(y), plane.columns,
                             plane.levels.get() + first * kBlockSamples, plane.last.data() + first);
        });
    }

    void fill_gray(const Slot &s, size_t component) const {
        const StreamComponent &c = s.stream.components[component];
        uint8_t *row = s.coded.planes[component];
        for (int y = 0; y < reduced_size(c.height, options_.lowres); y++, row += s.coded.stride[component])
            std::fill_n(row, reduced_size(c.width, options_.lowres), uint8_t{128});
    }

    const DecoderOptions options_;
    std::vector<Slot> slots_;
};

}  // namespace

void decode_planes(const CodedStream &stream, const DecoderOptions &options, const CudaencCodedPicture &to,
                   ThreadPool &pool, std::string &damage) {
    if (stream.lossless)
        decode_lossless(stream, to, pool, damage);
    else
        decode_12_bits(stream, options, to, pool, damage);
}

std::unique_ptr<Decoder> make_cpu_decoder(const DecoderOptions &options, int slots, int threads, bool stage_times) {
    return std::make_unique<MjpegCpuDecoder>(options, slots, threads, stage_times);
}

}  // namespace cudaenc::mjpeg
