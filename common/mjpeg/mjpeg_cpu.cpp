// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG on the CPU, top to bottom: load, forward DCT, quantisation -> the scale for a target size -> Huffman tables ->
// coding -> bytes. It is also the oracle: the device pipeline gives the same bytes.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "../cpu_encoder.h"
#include "../load_cpu.h"
#include "../planes.h"
#include "bits.h"
#include "block_cpu.h"
#include "headers.h"
#include "huffman.h"
#include "markers.h"
#include "mjpeg.h"
#include "rate.h"
#include "trellis.h"

namespace cudaenc::mjpeg {

namespace {

enum Stage { kTransform, kChoose, kCode, kWrite, kStages };
constexpr const char *kStageNames[kStages] = {"load and dct", "tables", "huffman", "packet"};

// A row of MCUs of a scan, the work of a thread at a time.
struct McuRow {
    const Scan *scan;
    int32_t y;
};

struct CodedRow {
    BitWriter writer;
    struct Run {
        BitWriter::Run bits;
        bool after_restart;  // whether a restart marker comes before it
    };
    std::vector<Run> runs;
};

using RateBins = std::array<uint32_t, kRateBins>;

// A frame in flight.
struct Slot {
    std::array<SampleLayout, kMaxComponents> layouts;
    std::vector<int16_t> coefficients;  // of fdct.h, for a target size
    std::vector<int16_t> levels;        // by index, where `nonzero` says so, and of DC
    std::vector<uint64_t> nonzero;      // bits by place in the zig-zag sequence
    std::vector<SymbolCounts> row_counts;
    std::vector<RateBins> row_bins;
    std::vector<CodedRow> rows;
    int32_t scale;
    Divisors divisors;  // at that scale, as what follows
    Quantiser quantisers[kTables];
    int32_t lambda;  // of the trellis
    HuffmanSpecs huffman;
    CodeTables codes;
    uint64_t bits;  // of the codes; 0: symbols were not counted
    Metadata metadata;
    std::vector<uint8_t> bytes;
    SourcePicture frame;
};

class MjpegCpuEncoder : public CpuEncoder {
  public:
    MjpegCpuEncoder(const Params &params, int slots, int threads, bool stage_times)
        : CpuEncoder(slots, threads, kStageNames, stage_times), p_(params), slots_(slots) {
        for (const Scan &scan : p_.scans)
            for (int32_t y = 0; y < scan.grid.mcus_y; y++) rows_.push_back({&scan, y});
        for (Slot &s : slots_) {
            s.levels.resize(p_.blocks * kBlockSamples);
            s.nonzero.resize(p_.blocks);
            s.rows.resize(rows_.size());
            if (p_.optimal || p_.frame_bytes) s.row_counts.resize(rows_.size());
            if (!p_.frame_bytes) continue;
            s.coefficients.resize(p_.blocks * kBlockSamples);
            s.row_bins.resize(rows_.size());
        }
    }
    ~MjpegCpuEncoder() override { stop(); }

  private:
    void take(int slot, const SourcePicture &frame) override {
        slots_[slot].metadata = take_metadata(p_, frame);
        slots_[slot].frame = frame;
    }

    std::optional<PooledBuffer> complete(int slot) override {
        Slot &s = slots_[slot];
        for (size_t c = 0; c < p_.components.size(); c++) {
            const CudaencComponent &k = p_.input.component[c];
            s.layouts[c] = layout_of(k, s.frame.data[k.plane], s.frame.stride[k.plane]);
        }
        begin_stage(slot, kTransform);
        set_scale(s, p_.scale);
        pool().for_each(rows_.size(), [&](size_t row) { transform_row(s, row); });
        begin_stage(slot, kChoose);
        if (p_.frame_bytes)
            meet_size(s);
        else
            make_tables(s);
        begin_stage(slot, kCode);
        pool().for_each(rows_.size(), [&](size_t row) { code_row(s, row); });
        begin_stage(slot, kWrite);
        return write_packet(s);
    }

    // ---- Load, forward DCT; without a target size quantisation too.

    void transform_row(Slot &s, size_t row) {
        const Scan &scan = *rows_[row].scan;
        std::unique_ptr<int8_t[]> samples[kMaxComponents];
        size_t size = 0;
        for (int c = scan.first; c < scan.first + scan.count; c++) samples[c] = load_rows(s, c, rows_[row].y, size);
        if (p_.transform == ColorTransform::rgb_to_ycbcr)
            rgb_to_ycbcr_rows(samples[0].get(), samples[1].get(), samples[2].get(), size);
        std::vector<int16_t> coefficients;
        if (p_.frame_bytes) s.row_bins[row].fill(0);
        for_each_block_row(rows_[row], [&](int c, int32_t v, size_t first, size_t count) {
            const ptrdiff_t stride = static_cast<ptrdiff_t>(count) * kBlockSize;
            const int8_t *from = samples[c].get() + v * kBlockSize * stride;
            if (p_.frame_bytes) {
                int16_t *to = &s.coefficients[first * kBlockSamples];
                fdct_blocks(from, stride, count, to);
                count_thresholds(p_.matrix[p_.components[c].table], to, count, s.row_bins[row]);
            } else {
                coefficients.resize(count * kBlockSamples);
                fdct_blocks(from, stride, count, coefficients.data());
                quantise(s, c, coefficients.data(), first, count);
            }
        });
    }

    // Calls body(component, row of blocks in the MCU, first block, blocks) for each row of blocks with samples.
    template <class Body>
    void for_each_block_row(const McuRow &row, const Body &body) const {
        for (int c = row.scan->first; c < row.scan->first + row.scan->count; c++) {
            const Component &k = p_.components[c];
            for (int32_t v = 0, y = row.y * k.grid.v; v < k.grid.v && y < k.grid.rows; v++, y++)
                body(c, v, k.first_block + static_cast<size_t>(y) * k.grid.columns,
                     static_cast<size_t>(k.grid.columns));
        }
    }

    // Level-shifted samples of a component in a row of MCUs. The last column and row repeat.
    std::unique_ptr<int8_t[]> load_rows(const Slot &s, int component, int32_t mcu_y, size_t &size) const {
        const Component &k = p_.components[component];
        const size_t width = static_cast<size_t>(k.grid.columns) * kBlockSize;
        size = width * static_cast<size_t>(k.grid.v * kBlockSize);
        auto samples = std::make_unique_for_overwrite<int8_t[]>(size);
        int y = mcu_y * k.grid.v * kBlockSize;
        for (int8_t *row = samples.get(); row != samples.get() + size; row += width, y++) {
            if (y < k.height) {
                load_row(s.layouts[component], 0, y, k.width, row);
                std::fill(row + k.width, row + width, row[k.width - 1]);
            } else {
                std::copy_n(row - width, width, row);
            }
        }
        return samples;
    }

    static void count_thresholds(const uint8_t (&matrix)[kBlockSamples], const int16_t *coefficients, size_t blocks,
                                 RateBins &bins) {
        uint32_t thresholds[kBlockSamples];
        for (int i = 0; i < kBlockSamples; i++) thresholds[i] = rate_threshold(matrix[i]);
        for (size_t b = 0; b < blocks; b++, coefficients += kBlockSamples)
            for (int i = 1; i < kBlockSamples; i++)
                if (coefficients[i]) bins[static_cast<size_t>(rate_bin(coefficients[i], thresholds[i]))]++;
    }

    void set_scale(Slot &s, int32_t scale) const {
        s.scale = scale;
        s.divisors = make_divisors(p_, scale);
        for (int table = 0; table < kTables; table++) s.quantisers[table] = make_quantiser(s.divisors.of[table]);
        s.lambda = lambda_of(s.divisors.of[kLuma]);
    }

    void quantise(Slot &s, int component, const int16_t *coefficients, size_t first, size_t count) const {
        const int table = p_.components[component].table;
        quantise_blocks(coefficients, count, s.quantisers[table], &s.levels[first * kBlockSamples], &s.nonzero[first]);
        if (!p_.trellis) return;
        for (size_t block = first; block < first + count; block++, coefficients += kBlockSamples)
            s.nonzero[block] = choose_block_levels(s, table, coefficients, block);
    }
    uint64_t choose_block_levels(Slot &s, int table, const int16_t *coefficients, size_t block) const {
        int16_t *levels = &s.levels[block * kBlockSamples];
        const PlaceSet kept = choose_levels(
            PlaceSet{s.nonzero[block]}, ac_lengths_.of[table], s.lambda,
            [&](int place) -> QuantisedLevel {
                const int index = kZigzag[place];
                return {std::abs(coefficients[index]), 8 * s.divisors.of[table][index], std::abs(levels[index])};
            },
            [&](int place, int32_t level) {
                int16_t &to = levels[kZigzag[place]];
                to = static_cast<int16_t>(to < 0 ? -level : level);
            });
        return kept.bits;
    }

    // ---- The scale for a target size.

    void meet_size(Slot &s) {
        RateBins bins{};
        for (const RateBins &row : s.row_bins)
            for (size_t i = 0; i < bins.size(); i++) bins[i] += row[i];
        RateSearch search{.target = static_cast<uint64_t>(p_.frame_bytes),
                          .bins = bins.data(),
                          .blocks = p_.blocks,
                          .low = p_.min_scale,
                          .high = p_.max_scale};
        search_scale(search, [&](int32_t scale) {
            set_scale(s, scale);
            pool().for_each(rows_.size(), [&](size_t row) {
                for_each_block_row(rows_[row], [&](int c, int32_t, size_t first, size_t count) {
                    quantise(s, c, &s.coefficients[first * kBlockSamples], first, count);
                });
            });
            make_tables(s);
            return packet_bytes(p_, s.metadata, s.divisors, s.huffman, s.bits);
        });
    }

    // ---- Huffman tables.

    void make_tables(Slot &s) {
        SymbolCounts counts{};
        if (!s.row_counts.empty()) {
            pool().for_each(rows_.size(), [&](size_t row) { count_row(s, row); });
            for (const SymbolCounts &row : s.row_counts) add(counts, row);
        }
        s.huffman = p_.optimal ? optimal_huffman(counts, p_.tables) : default_huffman();
        s.codes = make_codes(s.huffman, p_.tables);
        s.bits = count_bits(counts, s.codes);
    }

    void count_row(Slot &s, size_t row) {
        SymbolCounts &counts = s.row_counts[row];
        counts = {};
        const auto sink_of = [&](int table) { return SymbolCounter{counts.dc[table], counts.ac[table]}; };
        walk_row(s, rows_[row], [](bool) {}, sink_of);
    }

    // ---- Coding.

    void code_row(Slot &s, size_t row) {
        CodedRow &coded = s.rows[row];
        coded.writer.clear();
        coded.runs.clear();
        bool after_restart = false;
        size_t mcu_bits = 0;
        const Scan &scan = *rows_[row].scan;
        for (int c = scan.first; c < scan.first + scan.count; c++)
            mcu_bits += static_cast<size_t>(p_.components[c].grid.h * p_.components[c].grid.v) * kMaxBlockBits;
        const auto end_run = [&] {
            const BitWriter::Run run = coded.writer.end();
            if (run.bits || after_restart) coded.runs.push_back({run, after_restart});
        };
        walk_row(
            s, rows_[row],
            [&](bool restart) {
                if (restart) {
                    end_run();
                    after_restart = true;
                }
                coded.writer.reserve(mcu_bits);
            },
            [&](int table) { return CodeWriter<BitWriter>{s.codes.dc[table], s.codes.ac[table], coded.writer}; });
        end_run();
    }

    // Hands the blocks of a row of MCUs to the sinks of code_block() that sink_of(table) returns. begin_mcu(restart)
    // comes before each MCU; restart: whether a restart marker does.
    template <class BeginMcu, class SinkOf>
    void walk_row(const Slot &s, const McuRow &row, const BeginMcu &begin_mcu, const SinkOf &sink_of) const {
        const Scan &scan = *row.scan;
        int32_t prediction[kMaxComponents] = {};
        const int64_t first_mcu = int64_t{row.y} * scan.grid.mcus_x;
        for (int c = scan.first; c < scan.first + scan.count; c++) {
            const Component &k = p_.components[c];
            const BlockPlace from = dc_predictor(scan.grid, k.grid, first_mcu, 0);
            if (from.x >= 0) prediction[c] = s.levels[block_at(k, from) * kBlockSamples];
        }
        for (int64_t mcu = first_mcu; mcu < first_mcu + scan.grid.mcus_x; mcu++) {
            const bool begins = scan.grid.begins_interval(mcu);
            begin_mcu(begins && mcu > 0);
            for (int c = scan.first; c < scan.first + scan.count; c++) {
                const Component &k = p_.components[c];
                auto sink = sink_of(k.table);
                if (begins) prediction[c] = 0;
                for (int i = 0; i < k.grid.h * k.grid.v; i++) {
                    const BlockPlace place = block_of_mcu(scan.grid, k.grid, mcu, i);
                    if (!has_samples(k.grid, place)) {
                        code_block(0, ZeroRuns(0), [](int) { return 0; }, sink);
                        continue;
                    }
                    const size_t block = block_at(k, place);
                    const int16_t *levels = &s.levels[block * kBlockSamples];
                    code_block(
                        levels[0] - prediction[c], ZeroRuns(s.nonzero[block]),
                        [levels, at = 0](int steps) mutable { return levels[kZigzag[at += steps]]; }, sink);
                    prediction[c] = levels[0];
                }
            }
        }
    }
    static size_t block_at(const Component &k, const BlockPlace &place) {
        return k.first_block + static_cast<size_t>(place.y) * k.grid.columns + place.x;
    }

    // ---- The packet.

    PooledBuffer write_packet(Slot &s) {
        std::vector<uint8_t> header = make_frame_header(p_, s.metadata, s.divisors);
        append_dht(header, s.huffman, p_.tables);
        size_t most = header.size() + 2;
        for (const Scan &scan : p_.scans) most += make_scan_header(p_, scan).size();
        for (const CodedRow &row : s.rows)
            for (const CodedRow::Run &run : row.runs) most += 2 * (run.bits.bits / 8 + 1) + 4;
        if (s.bytes.size() < most) s.bytes.resize(most);
        uint8_t *to = std::copy(header.begin(), header.end(), s.bytes.data());
        size_t row = 0;
        for (const Scan &scan : p_.scans) {
            const std::vector<uint8_t> scan_header = make_scan_header(p_, scan);
            StuffedBytes out(std::copy(scan_header.begin(), scan_header.end(), to));
            uint32_t restarts = 0;
            for (const size_t end = row + scan.grid.mcus_y; row < end; row++)
                for (const CodedRow::Run &run : s.rows[row].runs) {
                    if (run.after_restart) {
                        out.pad();
                        out.put_marker(kRst0 + restarts++ % 8);
                    }
                    out.append(s.rows[row].writer.words() + run.bits.first_word, run.bits.bits);
                }
            out.pad();
            to = out.end();
        }
        *to++ = kEoi >> 8;
        *to++ = kEoi & 0xFF;
        const size_t size = static_cast<size_t>(to - s.bytes.data());
        PooledBuffer packet = take_packet(size);
        std::copy_n(s.bytes.data(), size, packet->data);
        describe_packet(p_, s.scale, packet->size, *packet);
        packet->metadata_warning = s.metadata.warning;
        return packet;
    }

    const Params p_;
    const AcLengths ac_lengths_ = annexk_lengths();  // for the trellis
    std::vector<McuRow> rows_;                       // in the order of the stream
    std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times) {
    return std::make_unique<MjpegCpuEncoder>(params, slots, threads, stage_times);
}

}  // namespace cudaenc::mjpeg
