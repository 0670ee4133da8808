// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tier1.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

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

namespace {

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
    Coded(const std::shared_ptr<Device> &device, Device::Stream stream, std::vector<CodeBlock> all,
          const Tier1Batch &batch)
        : rooms(place_rooms(all, batch.coding)),
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

    // What rate control's kernels left of the first frame.
    struct FirstFrame {
        std::vector<uint8_t> codewords, passes;
        std::vector<uint32_t> bytes;
    };
    FirstFrame first_frame() {
        const size_t blocks = g_.blocks.size();
        const Tier1Memory &m = measured_->memory;
        return {download(m.codewords, 0, measured_->rooms.back() / (count() / blocks)), download(m.passes, 0, blocks),
                download(m.bytes, 0, blocks)};
    }
    // Blocks that differ.
    size_t compare(const FirstFrame &a, const FirstFrame &b) {
        const auto &rooms = measured_->rooms;
        size_t different = 0;
        for (size_t i = 0; i < g_.blocks.size(); i++)
            different += a.bytes[i] != b.bytes[i] || a.passes[i] != b.passes[i] ||
                         std::memcmp(&a.codewords[rooms[i]], &b.codewords[rooms[i]], a.bytes[i]);
        return different;
    }
    // Passes of all blocks.
    uint64_t passes() {
        uint64_t sum = 0;
        for (const uint8_t n : download(measured_->memory.passes, 0, count())) sum += n;
        return sum;
    }

    // Milliseconds.
    double code_baseline(int threads) {
        const Tier1Memory &m = plain_.memory;
        device_->record(*events_[0], stream_);
        device_->launch(stream_, {blocks_for(count(), static_cast<uint64_t>(threads))}, static_cast<unsigned>(threads),
                        BlockThreadParams{.blocks = plain_.blocks.data(),
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
                                          .lossy = g_.coding.lossy});
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

    // Blocks of the first frame whose segments end elsewhere than the CPU device has them.
    size_t compare_with_cpu(const std::vector<uint32_t> &coefficients) {
        const size_t count = g_.blocks.size(), most = static_cast<size_t>(g_.max_passes);
        std::vector<uint32_t> pass_bytes(count * most), offsets(count);
        std::vector<uint8_t> bytes;
        std::vector<CodedBlock> coded(count);
        code_blocks(g_.blocks, coefficients.data(), coding_, g_.max_passes, {pass_bytes.data()}, bytes, offsets.data(),
                    coded.data());
        const auto here = download(product_.memory.pass_bytes, 0, count * most);
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
        device_->synchronize(stream_);
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
    std::unique_ptr<Coded> measured_;
    std::unique_ptr<CiboTier1> planes_;
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

// With the case's style against none, each with the lanes a warp that suit it best.
bool compare_styles(const std::shared_ptr<Device> &device, const Picture &picture, const Case &c, int quality,
                    const Params &params, const EncoderGeometry &geometry,
                    const std::vector<std::vector<uint32_t>> &coefficients, const std::vector<int> &frame_counts,
                    int runs, Json &json) {
    std::printf("  %6s %24s %32s\n", "", "no style", "with the style");
    std::printf("  %6s %8s %7s %7s %8s %8s %7s %7s %8s %8s %8s %s\n", "frames", "context", "mq", "ms", "context", "mq",
                "ms", "faster", "bytes", "1 kernel", "3", "blocks that differ");
    bool all_equal = true;
    for (const int n : frame_counts) {
        Blocks blocks(device, params, geometry, coefficients, n);
        struct Best {
            Spread total{}, context{};
            int lanes = 0;
        } best[2];
        for (const bool styled : {false, true})
            for (const int lanes : {1, 2, 4, 8, 16, 32}) {
                std::vector<double> contexts;
                const Spread total = median_of(runs, [&] {
                    const Blocks::Times times = styled ? blocks.code(lanes) : blocks.code_plainly(lanes);
                    contexts.push_back(times.context);
                    return times.context + times.mq;
                });
                Best &b = best[styled];
                if (!b.lanes || total.median < b.total.median) b = {total, make_spread(contexts), lanes};
            }
        const Best &plain = best[0], &styled = best[1];
        const size_t different = blocks.compare_with_cpu(coefficients[0]);
        all_equal &= !different;
        // Of the bypass, the other strategies.
        Spread one{}, three{};
        if (c.cblk <= 32) {
            one = median_of(runs, [&] { return blocks.code_by_one_kernel(); });
            const bool same = !blocks.compare_with_cpu(coefficients[0]);
            for (const int lanes : {1, 2, 4, 8, 16, 32}) {
                const Spread total = median_of(runs, [&] { return blocks.code_by_three_kernels(lanes); });
                if (!three.median || total.median < three.median) three = total;
            }
            const bool also = !blocks.compare_with_cpu(coefficients[0]);
            if (!same || !also) std::printf("  one or three kernels: blocks differ\n");
            all_equal &= same && also;
        }
        const double faster = plain.total.median / styled.total.median,
                     bytes = static_cast<double>(blocks.bytes()) / static_cast<double>(blocks.plain_bytes());
        std::printf("  %6d %8.3f %7.3f %7.3f %8.3f %8.3f %7.3f %7.2fx %7.4fx %8.3f %8.3f %zu of %zu\n", n,
                    plain.context.median, plain.total.median - plain.context.median, plain.total.median,
                    styled.context.median, styled.total.median - styled.context.median, styled.total.median, faster,
                    bytes, one.median, three.median, different, geometry.blocks.size());
        std::fflush(stdout);
        json.open('{');
        json.put("case", c.name);
        json.put("style", style_text(c.style));
        json.put("picture", picture.name);
        json.put("quality", c.lossless ? 0 : quality);
        json.put("frames", n);
        json.put("blocks_that_differ", different);
        json.put("plain_ms", plain.total);
        json.put("plain_context_ms", plain.context.median);
        json.put("styled_ms", styled.total);
        json.put("styled_context_ms", styled.context.median);
        json.put("one_kernel_ms", one);
        json.put("three_kernels_ms", three);
        json.put("faster", faster);
        json.put("bytes", bytes);
        json.close('}');
    }
    return all_equal;
}

// By bit-planes, one kernel after the other or overlapping, with and without compaction, against all planes at once;
// and with early stops, where the budget is kLossyBitsPerPixel. Each with the lanes a warp that suit it best.
bool compare_planes(const std::shared_ptr<Device> &device, const Picture &picture, const Case &c, int quality,
                    const Params &params, const EncoderGeometry &geometry,
                    const std::vector<std::vector<uint32_t>> &coefficients, const std::vector<int> &frame_counts,
                    int runs, Json &json) {
    constexpr int kForms = 8;
    const CiboTier1::Options forms[kForms] = {{},
                                              {},
                                              {.overlap = false, .compaction = false},
                                              {.overlap = false},
                                              {.compaction = false},
                                              {},
                                              {.stop = EarlyStop::kPsb},
                                              {.stop = EarlyStop::kBpi}};
    const char *const names[kForms] = {"plain_ms",       "measured_ms",        "all_ms", "compact_ms",
                                       "overlap_all_ms", "overlap_compact_ms", "psb_ms", "bpi_ms"};
    std::printf("  %6s %17s %19s %19s\n", "", "all planes at once", "one after another", "overlapping");
    std::printf("  %6s %8s %8s %9s %9s %9s %9s %9s %9s %8s %8s %s\n", "frames", "plain", "measured", "all", "compact",
                "all", "compact", "psb", "bpi", "passes", "passes", "blocks that differ");
    bool all_equal = true;
    for (const int n : frame_counts) {
        Blocks blocks(device, params, geometry, coefficients, n);
        Spread ms[kForms];
        int lanes[kForms] = {};
        double passes[kForms] = {};
        size_t different = 0;
        Blocks::FirstFrame expected;
        for (int i = 0; i < kForms; i++) {
            for (const int most : {4, 8, 16, 32}) {
                CiboTier1::Options options = forms[i];
                options.lanes = most;
                const Spread s = median_of(runs, [&] {
                    return i == 0   ? blocks.code_as_graph(most)
                           : i == 1 ? blocks.code_measured(most)
                                    : blocks.code_by_planes(options, c.target_bytes() * static_cast<size_t>(n));
                });
                if (!lanes[i] || s.median < ms[i].median) ms[i] = s, lanes[i] = most;
            }
            if (!i) continue;
            passes[i] = static_cast<double>(blocks.passes());
            if (i == 1) expected = blocks.first_frame();
            if (forms[i].stop == EarlyStop::kNone) different += blocks.compare(expected, blocks.first_frame());
        }
        all_equal &= !different;
        std::printf("  %6d %8.3f %8.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %7.1f%% %7.1f%% %zu of %zu\n", n,
                    ms[0].median, ms[1].median, ms[2].median, ms[3].median, ms[4].median, ms[5].median, ms[6].median,
                    ms[7].median, 100 * passes[6] / passes[1], 100 * passes[7] / passes[1], different,
                    geometry.blocks.size());
        std::printf("  %6s %8d %8d %9d %9d %9d %9d %9d %9d  lanes a warp, at most\n", "", lanes[0], lanes[1], lanes[2],
                    lanes[3], lanes[4], lanes[5], lanes[6], lanes[7]);
        std::fflush(stdout);
        json.open('{');
        json.put("case", c.name);
        json.put("picture", picture.name);
        json.put("quality", c.lossless ? 0 : quality);
        json.put("frames", n);
        json.put("blocks_that_differ", different);
        for (int i = 0; i < kForms; i++) json.put(names[i], ms[i]);
        json.put("psb_passes", passes[6] / passes[1]);
        json.put("bpi_passes", passes[7] / passes[1]);
        json.close('}');
    }
    return all_equal;
}

}  // namespace

bool compare_tier1(const std::shared_ptr<Device> &device, const Picture &picture, const Case &c, bool by_planes,
                   int quality, const std::vector<int> &frame_counts, int runs, Json &json) {
    const int most = *std::max_element(frame_counts.begin(), frame_counts.end());
    const Frames frames({picture}, c.format, most, nullptr);
    CudaencConfig config = make_config(c, "cpu");
    config.j2k.cblk_style = 0;  // all styles at one quality
    if (!c.lossless) config.j2k.quality = quality ? quality : find_quality(config, frames, c.target_bytes());
    config.j2k.cblk_style = c.style;
    const Params params = make_params(config.format, config.j2k);
    const EncoderGeometry geometry = make_encoder_geometry(params);
    std::vector<std::vector<uint32_t>> coefficients(static_cast<size_t>(most));
    parallel(most, [&](int i) {
        coefficients[static_cast<size_t>(i)] =
            params.reversible ? make_coefficients<Dwt53>(params, geometry, frames[static_cast<size_t>(i)])
                              : make_coefficients<Dwt97>(params, geometry, frames[static_cast<size_t>(i)]);
    });

    std::printf("\n%s: %s%s\n", c.name, c.text().c_str(),
                c.lossless ? "" : format_string(", quality %d", config.j2k.quality).c_str());
    if (by_planes)
        return compare_planes(device, picture, c, config.j2k.quality, params, geometry, coefficients, frame_counts,
                              runs, json);
    if (c.style)
        return compare_styles(device, picture, c, config.j2k.quality, params, geometry, coefficients, frame_counts,
                              runs, json);
    std::printf("  %6s %21s %30s %8s\n", "", "thread a block", "context + order and MQ", "");
    std::printf("  %6s %9s %11s %7s %7s %14s %8s %s\n", "frames", "ms", "Msymb./s", "ms", "ms", "Msymb./s", "faster",
                "blocks that differ");
    bool all_equal = true;
    for (const int n : frame_counts) {
        Blocks blocks(device, params, geometry, coefficients, n);
        Spread baseline{}, product{};
        int threads = 0, lanes = 0;
        for (const int t : {32, 64, kBlockThreadMost}) {
            const Spread s = median_of(runs, [&] { return blocks.code_baseline(t); });
            if (!threads || s.median < baseline.median) baseline = s, threads = t;
        }
        for (const int l : {1, 2, 4, 8, 16, 32}) {
            const Spread s = median_of(runs, [&] {
                const Blocks::Times times = blocks.code(l);
                return times.context + times.mq;
            });
            if (!lanes || s.median < product.median) product = s, lanes = l;
        }
        std::vector<double> context, mq;
        for (int i = 0; i < runs; i++) {
            const Blocks::Times times = blocks.code(lanes);
            context.push_back(times.context);
            mq.push_back(times.mq);
        }
        const double context_ms = make_spread(context).median, mq_ms = make_spread(mq).median;
        uint64_t symbols = 0, bytes = 0;
        const size_t different = blocks.compare(symbols, bytes);
        all_equal &= !different;
        const double msymbols = static_cast<double>(symbols) / 1e6;
        std::printf("  %6d %9.3f %11.0f %7.3f %7.3f %14.0f %7.2fx %zu of %zu\n", n, baseline.median,
                    msymbols / baseline.median * 1e3, context_ms, mq_ms, msymbols / product.median * 1e3,
                    baseline.median / product.median, different, geometry.blocks.size() * n);
        std::printf("         %.1f frames/s (%d threads)  %.1f frames/s (%d lanes a warp)\n", n / baseline.median * 1e3,
                    threads, n / product.median * 1e3, lanes);
        std::fflush(stdout);

        json.open('{');
        json.put("case", c.name);
        json.put("picture", picture.name);
        json.put("quality", c.lossless ? 0 : config.j2k.quality);
        json.put("frames", n);
        json.put("blocks", geometry.blocks.size() * n);
        json.put("symbols", static_cast<size_t>(symbols));
        json.put("bytes", static_cast<size_t>(bytes));
        json.put("blocks_that_differ", different);
        json.put("block_thread_ms", baseline);
        json.put("block_thread_threads", threads);
        json.put("block_thread_fps", n / baseline.median * 1e3);
        json.put("sample_parallel_ms", product);
        json.put("sample_parallel_fps", n / product.median * 1e3);
        json.put("context_ms", context_ms);
        json.put("order_mq_ms", mq_ms);
        json.put("mq_lanes", lanes);
        json.close('}');
    }
    return all_equal;
}

}  // namespace cudaenc::bench
