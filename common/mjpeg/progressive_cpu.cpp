// SPDX-License-Identifier: LGPL-2.1-or-later
#include "progressive_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "decoder_params.h"
#include "entropy_cpu.h"

namespace cudaenc::mjpeg {

namespace {

// A scan with its tables. Segments between restart markers are independent.
struct CoefficientScan {
    const StreamScan &from;
    ScanLayout layout;
    std::array<DecodeTable, kMaxStreamComponents> dc, ac;
};

// What goes from block to block of a segment.
struct State {
    BitReader reader;
    std::array<uint32_t, kMaxStreamComponents> prediction{};
    uint32_t eob_run = 0;  // blocks, this one included, without further levels (G.1.2.2)
    bool damaged = false;
};

// A block's levels, and the highest place that may hold one.
struct Block {
    int16_t *levels;
    uint8_t *last;
};

// Each decodes a block of a scan, and is false where the segment ends within it.

bool decode_sequential(const CoefficientScan &scan, size_t i, State &s, const Block &block) {
    const DecodedBlock decoded = decode_block(s.reader, scan.dc[i], scan.ac[i], s.prediction[i], block.levels);
    *block.last = static_cast<uint8_t>(decoded.last);
    s.damaged |= decoded.damaged;
    return !decoded.ended;
}

bool decode_dc_first(const CoefficientScan &scan, size_t i, State &s, const Block &block) {
    const uint32_t bits = s.reader.peek();
    const Step step = scan.dc[i].find(bits);
    if (!s.reader.skip(step.bits())) return false;
    s.damaged |= step.places() > 1;
    s.prediction[i] += static_cast<uint32_t>(magnitude_of(bits, step));
    block.levels[0] = static_cast<int16_t>(s.prediction[i] << scan.from.low);
    return true;
}

bool decode_dc_refinement(const CoefficientScan &scan, State &s, const Block &block) {
    const uint32_t bit = s.reader.peek() >> 31;
    if (!s.reader.skip(1)) return false;
    block.levels[0] = static_cast<int16_t>(block.levels[0] | static_cast<int>(bit) << scan.from.low);
    return true;
}

// The blocks of an end-of-band run: 2^r and r bits.
uint32_t eob_run_of(const Step &step, uint32_t bits) {
    const int r = step.magnitude_bits(), code_bits = step.bits() - r;
    return (1u << r) + (r ? bits << code_bits >> (32 - r) : 0);
}

bool decode_ac_first(const CoefficientScan &scan, State &s, const Block &block) {
    if (s.eob_run) {
        s.eob_run--;
        return true;
    }
    for (int place = scan.from.first; place <= scan.from.last;) {
        const uint32_t bits = s.reader.peek();
        const Step step = scan.ac[0].find(bits);
        if (!s.reader.skip(step.bits())) return false;
        if (step.places() == kBlockSamples) {
            s.eob_run = eob_run_of(step, bits) - 1;
            return true;
        }
        place += step.places();
        if (!step.magnitude_bits()) continue;
        if (place > scan.from.last + 1) {
            s.damaged = true;
            return true;
        }
        const uint32_t value = static_cast<uint32_t>(magnitude_of(bits, step));
        block.levels[kZigzag[place - 1]] = static_cast<int16_t>(value << scan.from.low);
        *block.last = std::max(*block.last, static_cast<uint8_t>(place - 1));
    }
    return true;
}

// Reads the next bit of a level that is not 0 already.
bool refine(State &s, int16_t &level, int bit) {
    const uint32_t more = s.reader.peek() >> 31;
    if (!s.reader.skip(1)) return false;
    if (more) level = static_cast<int16_t>(level + (level < 0 ? -bit : bit));
    return true;
}

// G.1.2.3
bool decode_ac_refinement(const CoefficientScan &scan, State &s, const Block &block) {
    const int bit = 1 << scan.from.low;
    int place = scan.from.first;
    while (s.eob_run == 0 && place <= scan.from.last) {
        const uint32_t bits = s.reader.peek();
        const Step step = scan.ac[0].find(bits);
        if (!s.reader.skip(step.bits())) return false;
        if (step.places() == kBlockSamples) {
            s.eob_run = eob_run_of(step, bits);
            break;
        }
        const int category = step.magnitude_bits();
        s.damaged |= category > 1;
        int zeros = step.places() - 1;  // to be passed before the new level
        for (; place <= scan.from.last; place++) {
            int16_t &level = block.levels[kZigzag[place]];
            if (level) {
                if (!refine(s, level, bit)) return false;
            } else if (zeros-- == 0) {
                break;
            }
        }
        if (place > scan.from.last) break;
        if (category) {
            const int code_bits = step.bits() - category;
            block.levels[kZigzag[place]] = static_cast<int16_t>(bits << code_bits >> 31 ? bit : -bit);
            *block.last = std::max(*block.last, static_cast<uint8_t>(place));
        }
        place++;
    }
    if (s.eob_run == 0) return true;
    for (; place <= scan.from.last; place++) {
        int16_t &level = block.levels[kZigzag[place]];
        if (level && !refine(s, level, bit)) return false;
    }
    s.eob_run--;
    return true;
}

bool decode_block_of(const CodedStream &stream, const CoefficientScan &scan, size_t i, State &s, const Block &block) {
    if (!stream.progressive) return decode_sequential(scan, i, s, block);
    if (scan.from.first == 0)
        return scan.from.high ? decode_dc_refinement(scan, s, block) : decode_dc_first(scan, i, s, block);
    return scan.from.high ? decode_ac_refinement(scan, s, block) : decode_ac_first(scan, s, block);
}

class CoefficientDecoder {
  public:
    CoefficientDecoder(const CodedStream &stream, ThreadPool &pool) : stream_(stream), pool_(pool) {
        for (const StreamComponent &c : stream.components) {
            const size_t blocks = static_cast<size_t>(c.mcu_columns) * static_cast<size_t>(c.mcu_rows);
            planes_.push_back({.columns = c.mcu_columns,
                               .rows = c.mcu_rows,
                               .levels = std::make_unique<int16_t[]>(blocks * kBlockSamples),
                               .last = std::vector<uint8_t>(blocks)});
        }
    }

    // Scans of DC and of each component's AC touch levels of their own: they form chains that run side by side.
    std::vector<CoefficientPlane> decode(std::string &damage) {
        std::vector<std::vector<const StreamScan *>> chains(1 + planes_.size());
        for (const StreamScan &scan : stream_.scans)
            chains[scan.first ? 1 + static_cast<size_t>(scan.component[0]) : 0].push_back(&scan);
        pool_.for_each(chains.size(), [&](size_t i) {
            CodedData data;
            for (const StreamScan *scan : chains[i]) decode_scan(*scan, data);
        });
        if (damaged_ && damage.empty()) damage = kBrokenData;
        return std::move(planes_);
    }

  private:
    void decode_scan(const StreamScan &from, CodedData &data) {
        CoefficientScan scan{.from = from, .layout = make_scan_layout(stream_, from), .dc = {}, .ac = {}};
        for (size_t i = 0; i < static_cast<size_t>(from.count); i++) {
            if (from.dc[i] >= 0)
                scan.dc[i] = make_decode_table(stream_.huffman[static_cast<size_t>(from.dc[i])], TableUse::dc);
            if (from.ac[i] >= 0)
                scan.ac[i] = make_decode_table(stream_.huffman[static_cast<size_t>(from.ac[i])],
                                               stream_.progressive ? TableUse::progressive_ac : TableUse::ac);
        }
        take_coded_data(from.data, data);
        int64_t found = 0;
        for (const CodedSegment &segment : data.segments) found += segment.interval < scan.layout.intervals();
        if (found != scan.layout.intervals()) damaged_ = true;
        pool_.for_each(data.segments.size(), [&](size_t i) {
            if (data.segments[i].interval < scan.layout.intervals() && !decode_segment(scan, data, data.segments[i]))
                damaged_ = true;
        });
    }

    // False: its data are broken.
    bool decode_segment(const CoefficientScan &scan, const CodedData &data, const CodedSegment &segment) {
        const ScanGrid &grid = scan.layout.grid;
        const int64_t per_interval = grid.restart_interval ? grid.restart_interval : grid.mcus();
        const int64_t end = std::min<int64_t>((segment.interval + 1) * per_interval, grid.mcus());
        State state{.reader = BitReader(data, segment)};
        for (int64_t mcu = segment.interval * per_interval; mcu < end; mcu++)
            for (size_t i = 0; i < static_cast<size_t>(scan.layout.count); i++) {
                const BlockGrid &blocks = scan.layout.blocks[i];
                CoefficientPlane &plane = planes_[static_cast<size_t>(scan.layout.component[i])];
                for (int b = 0; b < blocks.h * blocks.v; b++) {
                    const BlockPlace place = block_of_mcu(grid, blocks, static_cast<int32_t>(mcu), b);
                    const size_t at = static_cast<size_t>(place.y) * static_cast<size_t>(plane.columns) +
                                      static_cast<size_t>(place.x);
                    if (!decode_block_of(stream_, scan, i, state, {&plane.levels[at * kBlockSamples], &plane.last[at]}))
                        return false;
                }
            }
        return !state.damaged && !(end == grid.mcus() && state.reader.has_excess(scan.from.padding));
    }

    const CodedStream &stream_;
    ThreadPool &pool_;
    std::vector<CoefficientPlane> planes_;
    std::atomic<bool> damaged_ = false;
};

}  // namespace

std::vector<CoefficientPlane> decode_coefficients(const CodedStream &stream, ThreadPool &pool, std::string &damage) {
    return CoefficientDecoder(stream, pool).decode(damage);
}

}  // namespace cudaenc::mjpeg
