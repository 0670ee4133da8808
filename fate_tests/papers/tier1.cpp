// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tier1.h"

#include <algorithm>
#include <cstdio>

#include "tier1_forms.h"

namespace cudaenc::bench {

using namespace j2k;

namespace {

// With the case's style against none, each with the lanes a warp that suit it best.
bool compare_styles(const std::shared_ptr<Device> &device, const Picture &picture, const Case &c, int quality,
                    const Params &params, const EncoderGeometry &geometry,
                    const std::vector<std::vector<uint32_t>> &coefficients, const std::vector<int> &frame_counts,
                    int runs, Json &json) {
    std::printf("  %6s %24s %32s\n", "", "no style", "with the style");
    std::printf("  %6s %8s %7s %7s %8s %8s %7s %7s %8s %8s %8s %8s %s\n", "frames", "context", "mq", "ms", "context",
                "mq", "ms", "faster", "bytes", "1 kernel", "3", "streams", "blocks that differ");
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
        // Of the bypass, the other strategies. On streams: by bit-planes, contexts and raw passes of one beside MQ
        // coding of the one above.
        Spread one{}, three{}, streams{};
        if (c.cblk <= 32) {
            one = median_of(runs, [&] { return blocks.code_by_one_kernel(); });
            const bool same = !blocks.compare_with_cpu(coefficients[0]);
            for (const int lanes : {1, 2, 4, 8, 16, 32}) {
                const Spread total = median_of(runs, [&] { return blocks.code_by_three_kernels(lanes); });
                if (!three.median || total.median < three.median) three = total;
            }
            const bool also = !blocks.compare_with_cpu(coefficients[0]);
            for (const int lanes : {4, 8, 16, 32}) {
                const Spread total = median_of(runs, [&] { return blocks.code_by_planes({.lanes = lanes}, 0); });
                if (!streams.median || total.median < streams.median) streams = total;
            }
            const bool overlapped = !blocks.compare_with_cpu(coefficients[0], true);
            if (!same || !also || !overlapped) std::printf("  one or three kernels, or streams: blocks differ\n");
            all_equal &= same && also && overlapped;
        }
        const double faster = plain.total.median / styled.total.median,
                     bytes = static_cast<double>(blocks.bytes()) / static_cast<double>(blocks.plain_bytes());
        std::printf("  %6d %8.3f %7.3f %7.3f %8.3f %8.3f %7.3f %7.2fx %7.4fx %8.3f %8.3f %8.3f %zu of %zu\n", n,
                    plain.context.median, plain.total.median - plain.context.median, plain.total.median,
                    styled.context.median, styled.total.median - styled.context.median, styled.total.median, faster,
                    bytes, one.median, three.median, streams.median, different, geometry.blocks.size());
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
        json.put("streams_ms", streams);
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
        bool plain = false;
        for (const bool form : {false, true})
            for (const int t : {32, 64, kBlockThreadMost}) {
                const Spread s = median_of(runs, [&] { return blocks.code_baseline(t, form); });
                if (!threads || s.median < baseline.median) baseline = s, threads = t, plain = form;
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
        std::printf("         %.1f frames/s (%d threads%s)  %.1f frames/s (%d lanes a warp)\n",
                    n / baseline.median * 1e3, threads, plain ? ", plain MQ coder" : "", n / product.median * 1e3,
                    lanes);
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
