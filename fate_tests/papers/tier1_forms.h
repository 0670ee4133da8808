// SPDX-License-Identifier: LGPL-2.1-or-later
// The forms of JPEG 2000's tier-1 that are compared, on the blocks of the same frames.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../../common/error.h"
#include "../../common/j2k/encoder_tables.h"
#include "../../common/j2k/t1/t1_cpu.h"
#include "../../common/j2k/transform/dwt_cpu.h"
#include "../../common/j2k/transform/load.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/j2k/rate/research/cibo.h"
#include "../bench/measure.h"
#include "../check/t1_sequential.h"
#include "t1_block_thread_params.h"
#include "t1_bypass_params.h"

namespace cudaenc::bench {

using namespace j2k;

// Quantised coefficients of a frame without tiles, as CodeBlock::coefficients indexes them.
template <class W>
std::vector<uint32_t> make_coefficients(const Params &p, const EncoderGeometry &g, const CudaencFrame &frame) {
    using Sample = typename W::Sample;
    const int components = static_cast<int>(p.components.size());
    std::vector<Sample> plane[kMaxComponents];
    for (int c = 0; c < components; c++) {
        const CudaencComponent &k = p.input.component[c];
        const SampleLayout layout{frame.data[k.plane] + k.offset, frame.stride[k.plane], k.step, k.shift, k.depth};
        const TileComponent &t = g.tile_components[c];
        for (int y = t.y0; y < t.y1; y++)
            for (int x = t.x0; x < t.x1; x++) plane[c].push_back(static_cast<Sample>(load_sample(layout, x, y)));
    }
    for (size_t i = 0; p.mct && i < plane[0].size(); i++) component_transform(plane[0][i], plane[1][i], plane[2][i]);

    std::vector<uint32_t> coefficients(g.samples);
    for (int c = 0; c < components; c++) {
        const TileComponent &t = g.tile_components[c];
        const size_t stride = static_cast<size_t>(t.x1 - t.x0);
        uint32_t *out = &coefficients[t.samples];
        const auto store = [&](size_t at, const Sample *from, int count, int band) {
            quantise_row(from, count, p.quantisers[c][band], out + at);
        };
        std::vector<Sample> halves(plane[c].size());
        Sample *in = plane[c].data(), *next = halves.data();
        for (int level = 1; level <= p.levels; level++) {
            const Extent e = extent_at(t, level - 1);
            const int width = e.width(), height = e.height(), low_rows = low_begin(e.y1) - low_begin(e.y0),
                      lows = low_begin(e.x1) - low_begin(e.x0), resolution = p.levels + 1 - level;
            if (!width || !height) break;
            const auto row_at = [&](int y, const auto &, auto &rows) {
                rows[0] = in + static_cast<size_t>(y - e.y0) * width;
            };
            const auto store_halves = [&](int, int y, const Sample *low, const Sample *high) {
                const bool odd = y & 1;
                const size_t at = (odd ? low_rows + high_begin(y) - high_begin(e.y0) : low_begin(y) - low_begin(e.y0)),
                             to = at * stride;
                if (odd)
                    store(to, low, lows, band_index(resolution, kLH));
                else
                    std::copy_n(low, lows, next + at * lows);
                store(to + lows, high, width - lows, band_index(resolution, odd ? kHH : kHL));
            };
            transform_row_pairs<W>(e, 1, e.y0 >> 1, (e.y1 + 1) >> 1, row_at, store_halves);
            std::swap(in, next);
        }
        const Extent e = extent_at(t, p.levels);
        for (int y = 0; y < e.height(); y++)
            store(static_cast<size_t>(y) * stride, in + static_cast<size_t>(y) * e.width(), e.width(), 0);
    }
    return coefficients;
}

// The blocks of several frames, with rooms for one coding, and what tier-1 makes of them.
struct Coded {
    Coded(const std::shared_ptr<Device> &device, Device::Stream stream, const std::vector<CodeBlock> &all,
          const Tier1Batch &batch)
        : Coded(device, stream, all, batch, place_rooms(all, batch.coding)) {}
    Coded(const std::shared_ptr<Device> &device, Device::Stream stream, const std::vector<CodeBlock> &all,
          const Tier1Batch &batch, std::vector<uint64_t> places)
        : rooms(std::move(places)),
          device_rooms(upload_table(device, stream, rooms)),
          blocks(upload_table(device, stream, all)),
          memory(device, batch, {device_rooms.data(), rooms.back()}) {
        device->synchronize(stream);
    }
    Tier1Buffers buffers() const { return memory.buffers(blocks.data()); }
    const std::vector<uint64_t> rooms;  // where each begins, and all end
    const DeviceArray<uint64_t> device_rooms;
    const DeviceArray<CodeBlock> blocks;
    const Tier1Memory memory;
};

// The blocks of several frames, and the ways to code them.
class Blocks {
  public:
    Blocks(std::shared_ptr<Device> device, const Params &p, const EncoderGeometry &g,
           const std::vector<std::vector<uint32_t>> &coefficients, int frames)
        : p_(p),
          g_(g),
          device_(std::move(device)),
          stream_(device_),
          other_stream_(device_),
          all_(all_blocks(g, frames)),
          coefficients_(device_, g.samples * frames),
          coding_{.style = p.style, .truncatable = false, .lossy = g.coding.lossy},
          product_(device_, stream_, all_, batch(coding_)),
          plain_(device_, stream_, all_, batch({.lossy = g.coding.lossy})),
          flags_(device_, all_.size() * flags_stride()) {
        for (auto &event : events_) event = std::make_unique<Event>(device_, true);
        for (int f = 0; f < frames; f++)
            device_->upload(stream_, coefficients_.data() + f * g.samples, coefficients[f].data(),
                            g.samples * sizeof(uint32_t));
        device_->synchronize(stream_);
    }

    struct Times {
        double context, mq;  // milliseconds; mq: order and MQ coding
    };
    Times code(int lanes) { return code(lanes, product_); }
    // Without a style, whatever the case has.
    Times code_plainly(int lanes) { return code(lanes, plain_); }
    // The same by one kernel or by three, in milliseconds. Blocks are at most 32x32.
    double code_by_one_kernel() {
        device_->record(*events_[0], stream_);
        device_->fill(stream_, product_.memory.work.data(), 0, product_.memory.work.bytes());
        device_->launch(stream_, {blocks_for(count(), kContextWarps)}, kContextWarps * 32,
                        OneKernelParams{context_input()});
        return finish();
    }
    double code_by_three_kernels(int lanes) {
        if (!bits_.count()) bits_ = DeviceArray<uint8_t>(device_, product_.rooms.back());
        device_->record(*events_[0], stream_);
        device_->fill(stream_, product_.memory.work.data(), 0, product_.memory.work.bytes());
        device_->launch(stream_, {blocks_for(count(), kContextWarps)}, kContextWarps * 32,
                        BitsContextParams{context_input(), bits_.data()});
        device_->launch(stream_, {blocks_for(count(), kContextWarps)}, kContextWarps * 32,
                        RawParams{context_input(), bits_.data()});
        // As of any style, since the kernels of the bypass alone have a layout of their own.
        const Tier1Buffers t1 = product_.buffers();
        uint32_t *order = product_.memory.order.data();
        device_->launch(stream_, {blocks_for(count(), kWorkClasses)}, kOrderThreads,
                        OrderParams{.symbols = t1.symbols, .work = t1.work, .order = order, .count = count()});
        device_->launch(stream_, {blocks_for(count(), static_cast<uint64_t>(kMqThreads / 32 * lanes))}, kMqThreads,
                        StyledMqParams{{{.t1 = t1, .order = order, .lanes = lanes}, p_.style}});
        return finish();
    }

    // All planes at once, in milliseconds. As in the encoder, launches are one graph.
    double code_as_graph(int lanes) {
        return run_as_graph([&] { queue(lanes, product_); });
    }
    // ... by the kernels of rate control, which measure passes.
    double code_measured(int lanes) {
        prepare_planes();
        return run_as_graph([&] { queue(lanes, *measured_); });
    }
    // ... and by bit-planes.
    double code_by_planes(CiboTier1::Options options, uint64_t budget) {
        prepare_planes();
        options.bands = bands_.data();
        options.budget = budget_.data();
        device_->upload(stream_, budget_.data(), &budget, sizeof budget);
        return run_as_graph(
            [&] { planes_->queue(stream_, other_stream_, measured_->buffers(), coefficients_.data(), options); });
    }

    // ... with symbols of two planes, as the paper has them. Throws Error where a room is too small.
    double code_by_two_planes(CiboTier1::Options options) {
        prepare_planes();
        const double ms = run_as_graph(
            [&] { two_planes_->queue(stream_, other_stream_, alone_->buffers(), coefficients_.data(), options); });
        if (const uint32_t blocks = two_planes_->overflowed(stream_))
            throw Error(CUDAENC_ERR_INTERNAL, format_string("rooms of %u code-blocks are too small", blocks));
        return ms;
    }

    // What rate control's kernels left of the first frame; with symbols of two planes, what those did.
    struct FirstFrame {
        std::vector<uint64_t> rooms;
        std::vector<uint8_t> codewords, passes;
        std::vector<uint32_t> bytes;
    };
    FirstFrame first_frame(bool of_two_planes = false) {
        const size_t blocks = g_.blocks.size();
        const Coded &coded = of_two_planes ? *alone_ : *measured_;
        const Tier1Memory &m = coded.memory;
        return {coded.rooms, download(m.codewords, 0, coded.rooms[blocks]), download(m.passes, 0, blocks),
                download(m.bytes, 0, blocks)};
    }
    // Blocks that differ.
    size_t compare(const FirstFrame &a, const FirstFrame &b) {
        size_t different = 0;
        for (size_t i = 0; i < g_.blocks.size(); i++)
            different += a.bytes[i] != b.bytes[i] || a.passes[i] != b.passes[i] ||
                         std::memcmp(&a.codewords[a.rooms[i]], &b.codewords[b.rooms[i]], a.bytes[i]);
        return different;
    }

    // Bytes on the device of tier-1 with a target, coefficients excepted: all planes at once; by planes, with symbols
    // of all in rooms, and of two.
    struct Bytes {
        uint64_t at_once, by_planes, of_two_planes;
    };
    Bytes tier1_bytes() {
        prepare_planes();
        const uint64_t at_once = bytes_of(measured_->memory);
        return {at_once, at_once + planes_->bytes(), bytes_of(alone_->memory) + two_planes_->bytes()};
    }
    // Passes of all blocks.
    uint64_t passes() {
        uint64_t sum = 0;
        for (const uint8_t n : download(measured_->memory.passes, 0, count())) sum += n;
        return sum;
    }

    // The baseline, in milliseconds. plain: with the MQ coder of the standard's flow charts.
    double code_baseline(int threads, bool plain) {
        const Tier1Memory &m = plain_.memory;
        const BlockThreadInput input{.blocks = plain_.blocks.data(),
                                     .coefficients = coefficients_.data(),
                                     .codewords = m.codewords.data(),
                                     .rooms = m.rooms,
                                     .flags = flags_.data(),
                                     .planes = m.planes.data(),
                                     .passes = m.passes.data(),
                                     .pass_bytes = m.pass_bytes.data(),
                                     .bytes = m.bytes.data(),
                                     .flags_stride = flags_stride(),
                                     .count = count(),
                                     .max_passes = g_.max_passes,
                                     .lossy = g_.coding.lossy};
        const auto launch = [&](const auto &params) {
            device_->launch(stream_, {blocks_for(count(), static_cast<uint64_t>(threads))},
                            static_cast<unsigned>(threads), params);
        };
        device_->record(*events_[0], stream_);
        if (plain)
            launch(PlainBlockThreadParams{input});
        else
            launch(BlockThreadParams{input});
        return finish();
    }

    // Blocks that differ between product and baseline, both without a style; and the sums over all blocks.
    size_t compare(uint64_t &symbols, uint64_t &bytes) {
        const size_t per_frame = g_.blocks.size();
        const uint64_t frame_bytes = product_.rooms.back() / (count() / per_frame);
        const Tier1Memory &x = product_.memory, &y = plain_.memory;
        size_t different = 0;
        symbols = sum(x.symbols);
        bytes = sum(x.bytes);
        for (size_t first = 0; first < count(); first += per_frame) {  // a frame at a time, since codewords are large
            const size_t passes = first * g_.max_passes;
            const auto both = [&](const auto &a, const auto &b, size_t from, size_t n) {
                return std::pair(download(a, from, n), download(b, from, n));
            };
            const auto codewords = both(x.codewords, y.codewords, first / per_frame * frame_bytes, frame_bytes);
            const auto sizes = both(x.bytes, y.bytes, first, per_frame);
            const auto coded_planes = both(x.planes, y.planes, first, per_frame);
            const auto coded_passes = both(x.passes, y.passes, first, per_frame);
            const auto ends = both(x.pass_bytes, y.pass_bytes, passes, per_frame * g_.max_passes);
            for (size_t i = 0; i < per_frame; i++) {
                const size_t at = i * g_.max_passes, room = product_.rooms[i];
                different += sizes.first[i] != sizes.second[i] || coded_planes.first[i] != coded_planes.second[i] ||
                             coded_passes.first[i] != coded_passes.second[i] ||
                             std::memcmp(&codewords.first[room], &codewords.second[room], sizes.first[i]) ||
                             std::memcmp(&ends.first[at], &ends.second[at], sizeof(uint32_t) * coded_passes.first[i]);
            }
        }
        return different;
    }

    // Bytes of all blocks with the style, and without.
    uint64_t bytes() { return sum(product_.memory.bytes); }
    uint64_t plain_bytes() { return sum(plain_.memory.bytes); }

    // Blocks of the first frame whose segments end elsewhere than the CPU device has them; by_planes: of those that
    // code_by_planes() made.
    size_t compare_with_cpu(const std::vector<uint32_t> &coefficients, bool by_planes = false) {
        const Coded &now = by_planes ? *measured_ : product_;
        const BlockCoding &coding = now.memory.batch.coding;
        const size_t count = g_.blocks.size(), most = static_cast<size_t>(g_.max_passes);
        std::vector<uint32_t> pass_bytes(count * most), terminations(count * most), offsets(count);
        std::vector<int32_t> reductions(count * most);
        std::vector<uint8_t> bytes;
        std::vector<CodedBlock> coded(count);
        TruncationPoints points{pass_bytes.data()};
        if (coding.truncatable) points = {pass_bytes.data(), terminations.data(), reductions.data()};
        code_blocks(g_.blocks, coefficients.data(), coding, g_.max_passes, points, bytes, offsets.data(), coded.data());
        const auto here = download(now.memory.pass_bytes, 0, count * most);
        size_t different = 0;
        for (size_t i = 0; i < count; i++) {
            bool same = true;
            for (int pass = 0; pass < coded[i].passes; pass++)
                if (pass == coded[i].passes - 1 || ends_segment(p_.style, pass))
                    same &=
                        here[i * most + static_cast<size_t>(pass)] == pass_bytes[i * most + static_cast<size_t>(pass)];
            different += !same;
        }
        return different;
    }

  private:
    static std::vector<CodeBlock> all_blocks(const EncoderGeometry &g, int frames) {
        std::vector<CodeBlock> blocks;
        for (int f = 0; f < frames; f++)
            for (CodeBlock b : g.blocks) {
                b.coefficients += f * g.samples;
                blocks.push_back(b);
            }
        return blocks;
    }
    uint32_t count() const { return static_cast<uint32_t>(all_.size()); }
    Tier1Batch batch(const BlockCoding &coding) const {
        return tier1_batch(all_.size(), g_.max_passes, p_.cblk_width_log2, p_.cblk_height_log2, coding);
    }
    void prepare_planes() {
        if (planes_) return;
        const BlockCoding coding{.style = p_.style, .truncatable = true};
        measured_ = std::make_unique<Coded>(device_, stream_, all_, batch(coding));
        budget_ = DeviceArray<uint64_t>(device_, 1);
        bands_ = upload_table(device_, stream_, g_.band_codings);
        planes_ = std::make_unique<CiboTier1>(device_, batch(coding));
        if (!(p_.style & kBypass)) {
            alone_ = std::make_unique<Coded>(device_, stream_, all_, batch(coding), place_codewords(all_));
            two_planes_ = std::make_unique<CiboTier1>(device_, batch(coding), SymbolMemory::kTwoPlanes);
        }
        device_->synchronize(stream_);
    }
    static uint64_t bytes_of(const Tier1Memory &m) {
        uint64_t sum = m.reductions.bytes() + m.pass_coders.bytes() + m.work.bytes();
        for (const auto *bytes : {&m.codewords, &m.planes, &m.passes, &m.always_included}) sum += bytes->bytes();
        for (const auto *words : {&m.symbols, &m.bytes, &m.pass_ends, &m.pass_bytes, &m.terminations,
                                  &m.estimated_bytes, &m.segment_begins, &m.order})
            sum += words->bytes();
        return sum;
    }
    template <class Work>
    double run_as_graph(const Work &work) {
        work();  // loads kernels
        const Graph graph(device_, stream_, work);
        device_->synchronize(stream_);
        device_->record(*events_[0], stream_);
        device_->run(stream_, graph);
        return finish();
    }
    StyledContextInput context_input() const {
        const Tier1Batch &b = product_.memory.batch;
        return {{.t1 = product_.buffers(),
                 .coefficients = coefficients_.data(),
                 .tiles_x = b.tiles_x,
                 .tiles_y = b.tiles_y},
                p_.style};
    }
    double finish() {
        device_->record(*events_[2], stream_);
        device_->synchronize(*events_[2]);
        return device_->elapsed_ms(*events_[0], *events_[2]);
    }

    Times code(int lanes, const Coded &coded) {
        device_->record(*events_[0], stream_);
        model(coded);
        device_->record(*events_[1], stream_);
        code_symbols(*device_, stream_, coded.memory.batch, coded.buffers(), coded.memory.order.data(), lanes);
        device_->record(*events_[2], stream_);
        device_->synchronize(*events_[2]);
        return {device_->elapsed_ms(*events_[0], *events_[1]), device_->elapsed_ms(*events_[1], *events_[2])};
    }
    void model(const Coded &coded) {
        model_contexts(*device_, stream_, coded.memory.batch, coded.buffers(), coefficients_.data());
    }
    void queue(int lanes, const Coded &coded) {
        model(coded);
        code_symbols(*device_, stream_, coded.memory.batch, coded.buffers(), coded.memory.order.data(), lanes);
    }

    uint64_t sum(const DeviceArray<uint32_t> &values) {
        uint64_t sum = 0;
        for (const uint32_t n : download(values, 0, count())) sum += n;
        return sum;
    }
    template <class T>
    std::vector<T> download(const DeviceArray<T> &from, size_t first, size_t count) {
        std::vector<T> host(count);
        device_->download(stream_, host.data(), from.data() + first, count * sizeof(T));
        device_->synchronize(stream_);
        return host;
    }
    uint32_t flags_stride() const {
        return static_cast<uint32_t>(flags_count(1 << p_.cblk_width_log2, 1 << p_.cblk_height_log2));
    }

    const Params &p_;
    const EncoderGeometry &g_;
    const std::shared_ptr<Device> device_;
    Stream stream_, other_stream_;
    const std::vector<CodeBlock> all_;
    DeviceArray<uint32_t> coefficients_;
    const BlockCoding coding_;
    const Coded product_, plain_;
    DeviceArray<uint16_t> flags_;
    DeviceArray<uint8_t> bits_;
    DeviceArray<BandCoding> bands_;
    DeviceArray<uint64_t> budget_;
    std::unique_ptr<Coded> measured_, alone_;
    std::unique_ptr<CiboTier1> planes_, two_planes_;
    std::unique_ptr<Event> events_[3];
};

// The median, and how it came about.
template <class Measure>
Spread median_of(int runs, Measure measure) {
    measure();  // warm
    std::vector<double> values;
    for (int i = 0; i < runs; i++) values.push_back(measure());
    return make_spread(values);
}

// A case's frames as tier-1 takes them.
struct CodedCase {
    Params params;
    EncoderGeometry geometry;
    std::vector<std::vector<uint32_t>> coefficients;  // of each frame
};
inline CodedCase code_case(const Case &c, const Frames &frames, int quality) {
    CudaencConfig config = make_config(c, "cpu");
    config.j2k.cblk_style = 0;  // all styles at one quality
    if (!c.lossless) config.j2k.quality = quality ? quality : find_quality(config, frames, c.target_bytes());
    config.j2k.cblk_style = c.style;
    CodedCase coded{make_params(config.format, config.j2k), {}, {}};
    coded.geometry = make_encoder_geometry(coded.params);
    coded.coefficients.resize(static_cast<size_t>(frames.count()));
    parallel(frames.count(), [&](int i) {
        const size_t at = static_cast<size_t>(i);
        coded.coefficients[at] = coded.params.reversible
                                     ? make_coefficients<Dwt53>(coded.params, coded.geometry, frames[at])
                                     : make_coefficients<Dwt97>(coded.params, coded.geometry, frames[at]);
    });
    return coded;
}

}  // namespace cudaenc::bench
