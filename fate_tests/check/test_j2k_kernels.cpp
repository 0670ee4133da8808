// The kernels of load, wavelet transform and tier-2, each alone, against the same work done plainly on the host, with
// guard bytes around every buffer; then whole pictures, device = CPU. With arguments ("cuda:0") on those devices too.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../common/j2k/dwt_cpu.h"
#include "../../common/j2k/geometry.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/load.h"
#include "../../common/j2k/params.h"
#include "../../common/j2k/quantise.h"
#include "../../common/j2k/rate/predict_cpu.h"
#include "../../common/j2k/t2/headers.h"
#include "../../common/j2k/t2/packet_header.h"
#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/j2k/dwt_params.h"
#include "../../cuda_kernels/j2k/t2/t2_params.h"
#include "packet_header.h"
#include "pictures.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

template <class T>
uint32_t word_of(T value) {
    uint32_t word;
    static_assert(sizeof value == sizeof word);
    std::memcpy(&word, &value, sizeof word);
    return word;
}

// ---- load ----

START_TEST(component_transforms_are_the_standards) {
    Random random(1);
    for (int repeat = 0; repeat < 10000; repeat++) {
        const int limit = 1 << random.between(0, 15);
        int32_t c[3];
        for (int32_t &x : c) x = random.between(-limit, limit - 1);
        const int32_t r = c[0], g = c[1], b = c[2];
        component_transform(c[0], c[1], c[2]);
        // T.800 G.2.2 gives it back.
        const int32_t green = c[0] - static_cast<int32_t>(std::floor((c[1] + c[2]) / 4.0));
        EXPECT(green == g && c[2] + green == r && c[1] + green == b, "RCT of %d %d %d", r, g, b);
        float f[3] = {static_cast<float>(r), static_cast<float>(g), static_cast<float>(b)};
        component_transform(f[0], f[1], f[2]);
        const double y = static_cast<double>(f[0]), cb = static_cast<double>(f[1]), cr = static_cast<double>(f[2]);
        // T.800 G.3.1.
        EXPECT(std::fabs(0.299 * r + 0.587 * g + 0.114 * b - y) < limit * 1e-6 &&
                   std::fabs(-0.16875 * r - 0.33126 * g + 0.5 * b - cb) < limit * 1e-6 &&
                   std::fabs(0.5 * r - 0.41869 * g - 0.08131 * b - cr) < limit * 1e-6,
               "ICT of %d %d %d", r, g, b);
    }
}
END_TEST

// Random formats and options with the tables that follow from them.
struct Case {
    std::string text;
    CudaencFormat format;
    CudaencJ2kOptions options;
    Params params;
    Geometry geometry;
    Case(Random &random, int longest)
        : format(random_format(random, longest)),
          options(random_options(random, format, text)),
          params(make_params(format, options)),
          geometry(make_geometry(params)) {}
};

// ---- sampled blocks ----

START_TEST(sampled_blocks_stand_for_all) {
    Random random(3);
    for (int repeat = 0; repeat < 200; repeat++) {
        Case k(random, repeat % 4 ? 200 : 1500);
        std::map<std::pair<int, int>, uint64_t> blocks, stands_for;  // of a component's sub-band
        const auto band_of = [&](uint32_t block) {
            const PrecinctBand &precinct_band = k.geometry.precinct_bands[k.geometry.blocks[block].precinct_band];
            return std::pair<int, int>{precinct_band.component, precinct_band.band};
        };
        for (uint32_t b = 0; b < k.geometry.blocks.size(); b++) blocks[band_of(b)]++;
        std::set<uint32_t> seen;
        for (const SampledBlock &sample : choose_sampled_blocks(k.params, k.geometry)) {
            EXPECT(sample.block < k.geometry.blocks.size() && sample.blocks && seen.insert(sample.block).second,
                   "%s: block %u, sampled for %u", k.text.c_str(), sample.block, sample.blocks);
            stands_for[band_of(sample.block)] += sample.blocks;
        }
        for (const auto &[band, count] : blocks)
            if (stands_for.count(band))
                EXPECT(stands_for[band] == count, "%s: sub-band %d of component %d: samples for %llu of %llu blocks",
                       k.text.c_str(), band.second, band.first, static_cast<unsigned long long>(stands_for[band]),
                       static_cast<unsigned long long>(count));
        // Sub-bands of fewer blocks than a sample stands for may have none.
        const size_t all = k.geometry.blocks.size();
        uint64_t sum = 0;
        for (const auto &[band, count] : stands_for) sum += count;
        EXPECT(10 * sum >= 9 * all, "%s: samples for %llu of %zu blocks", k.text.c_str(),
               static_cast<unsigned long long>(sum), all);
        EXPECT(10 * seen.size() >= 9 * std::min<size_t>(all, 400) && seen.size() < 2500 + all / 8,
               "%s: %zu samples of %zu blocks", k.text.c_str(), seen.size(), all);
    }
}
END_TEST

// What is near is alike, so samples keep their distance: where one of n blocks is sampled, no two are nearer than
// sqrt(n / 2).
START_TEST(sampled_blocks_lie_apart) {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    const Params params = make_params(make_format(2048, 2048, 1, 8, false, CUDAENC_COLOR_GRAY), options);
    const Geometry geometry = make_geometry(params);
    std::map<uint32_t, std::vector<const CodeBlock *>> sampled;  // of a sub-band
    for (const SampledBlock &sample : choose_sampled_blocks(params, geometry))
        sampled[geometry.blocks[sample.block].precinct_band].push_back(&geometry.blocks[sample.block]);
    EXPECT(sampled.size() == geometry.precinct_bands.size(), "%zu sub-bands of %zu", sampled.size(),
           geometry.precinct_bands.size());
    for (const auto &[index, samples] : sampled) {
        const PrecinctBand &band = geometry.precinct_bands[index];
        for (size_t i = 0; i < samples.size(); i++)
            for (size_t k = 0; k < i; k++) {
                const int dx = samples[i]->x - samples[k]->x, dy = samples[i]->y - samples[k]->y;
                EXPECT(2 * static_cast<size_t>(dx * dx + dy * dy) * samples.size() >= size_t{band.columns} * band.rows,
                       "sub-band %d: samples %d, %d apart", band.band, dx, dy);
            }
    }
}
END_TEST

// ---- load and wavelet transform ----

// One level of a tile-component on the host: every column, then every row, by the walker of rows. Returns the low
// quarter; the others go to `out`, quantised.
template <class W>
std::vector<typename W::Sample> level_on_host(const std::vector<typename W::Sample> &in, const Extent &e,
                                              const Quantiser *bands, uint32_t *out, size_t stride) {
    using Sample = typename W::Sample;
    const int width = e.width(), height = e.height();
    const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
    std::vector<Sample> turned = in, low(static_cast<size_t>(std::max(width, height)) + 2), high(low);
    std::vector<Sample> line(low.size());
    for (int x = 0; x < width; x++) {  // low rows above, high rows below
        for (int y = 0; y < height; y++) line[static_cast<size_t>(y)] = in[static_cast<size_t>(y * width + x)];
        transform_row(line.data(), e.y0, e.y1, low.data() + 1, high.data() + 1);
        for (int y = 0; y < height; y++)
            turned[static_cast<size_t>(y * width + x)] =
                y < low_rows ? low[static_cast<size_t>(y) + 1] : high[static_cast<size_t>(y - low_rows) + 1];
    }
    std::vector<Sample> next(static_cast<size_t>(lows * low_rows));
    for (int y = 0; y < height; y++) {
        transform_row(&turned[static_cast<size_t>(y * width)], e.x0, e.x1, low.data() + 1, high.data() + 1);
        for (int x = 0; x < width; x++) {
            const bool right = x >= lows, lower = y >= low_rows;
            const Sample value = right ? high[static_cast<size_t>(x - lows) + 1] : low[static_cast<size_t>(x) + 1];
            if (!right && !lower) {
                next[static_cast<size_t>(y * lows + x)] = value;
                continue;
            }
            const Quantiser &q = bands[(lower ? (right ? kHH : kLH) : kHL) - kHL];
            out[static_cast<size_t>(y) * stride + static_cast<size_t>(x)] =
                quantise(value, q.inverse_step, (1u << q.planes) - 1);
        }
    }
    return next;
}

// What a tile-component's transform begins with: its pixels around 0, after the component transform.
template <class Sample>
std::vector<Sample> load_on_host(const Params &p, const Picture &picture, const TileComponent *tile, int component) {
    const TileComponent &t = tile[component];
    std::vector<Sample> samples;
    for (int y = t.y0; y < t.y1; y++)
        for (int x = t.x0; x < t.x1; x++) {
            const auto value = [&](int c) {
                return static_cast<Sample>(static_cast<int32_t>(picture.get(c, x, y)) -
                                           (1 << (picture.format.component[c].depth - 1)));
            };
            if (p.mct && component < 3) {
                Sample all[3] = {value(0), value(1), value(2)};
                component_transform(all[0], all[1], all[2]);
                samples.push_back(all[component]);
            } else {
                samples.push_back(value(component));
            }
        }
    return samples;
}

// A picture's coefficients, from its pixels.
template <class W>
std::vector<uint32_t> coefficients_on_host(const Case &k, const Picture &picture) {
    const Params &p = k.params;
    const Geometry &g = k.geometry;
    const size_t components = p.components.size();
    auto coefficients = Guarded<uint32_t>::garbage(g.samples);
    for (size_t i = 0; i < g.tile_components.size(); i++) {
        const size_t component = i % components;
        const TileComponent &t = g.tile_components[i];
        const auto &quantisers = p.quantisers[component];
        const size_t width = static_cast<size_t>(t.x1 - t.x0);
        auto in = load_on_host<typename W::Sample>(p, picture, &t - component, static_cast<int>(component));
        for (int level = 1; level <= p.levels; level++) {
            const Extent e = extent_at(t, level - 1);
            if (e.width() && e.height())
                in = level_on_host<W>(in, e, &quantisers[static_cast<size_t>(band_index(p.levels + 1 - level, kHL))],
                                      coefficients.data() + t.samples, width);
        }
        const Extent e = extent_at(t, p.levels);
        for (int y = 0; y < e.height(); y++)
            for (int x = 0; x < e.width(); x++)
                coefficients[t.samples + static_cast<size_t>(y) * width + static_cast<size_t>(x)] =
                    quantise(in[static_cast<size_t>(y * e.width() + x)], quantisers[0].inverse_step,
                             (1u << quantisers[0].planes) - 1);
    }
    return coefficients;
}

BandQuantiser band_quantiser(const Params &p, size_t component, int resolution, int orientation) {
    const Quantiser &q = p.quantisers[component][static_cast<size_t>(band_index(resolution, orientation))];
    return {q.inverse_step, static_cast<float>((1u << q.planes) - 1)};
}

// The same on the device, from pixels in memory that ends where they do. `segment_row_pairs`:
// DwtLevel::segment_row_pairs.
template <class W, class First, class Next>
std::vector<uint32_t> coefficients_on_device(const std::shared_ptr<Device> &device, const Case &k,
                                             const Picture &picture, int segment_row_pairs) {
    const Params &p = k.params;
    const Geometry &g = k.geometry;
    const size_t components = p.components.size();
    std::vector<DeviceArray<uint8_t>> planes;
    for (int i = 0; i < k.format.planes; i++) {
        planes.emplace_back(device, picture.memory[i].size());
        device->upload(nullptr, planes.back().data(), picture.memory[i].data(), picture.memory[i].size());
    }
    std::vector<SampleLayout> layouts;
    for (size_t c = 0; c < components; c++) {
        const CudaencComponent &s = k.format.component[c];
        layouts.push_back({planes[static_cast<size_t>(s.plane)].data() + s.offset, picture.stride[s.plane], s.step,
                           s.shift, s.depth});
    }
    const Guarded<SampleLayout> layout(device, layouts);
    const Guarded<TileComponent> tile_components(device, g.tile_components);
    const Guarded<uint32_t> ll_odd(device, size_t{g.ll_odd}), ll_even(device, size_t{g.ll_even}),
        coefficients(device, size_t{g.samples});
    const int depth = static_cast<int>(components);
    if (!p.levels) {
        const int chunks = (g.widest + kLoadThreads - 1) / kLoadThreads;
        LoadParams load{.layout = layout.data(),
                        .tile_components = tile_components.data(),
                        .coefficients = coefficients.data(),
                        .quantiser = {},
                        .components = depth,
                        .column_chunks = chunks,
                        .mct = p.mct,
                        .reversible = p.reversible};
        for (size_t c = 0; c < components; c++) load.quantiser[c] = band_quantiser(p, c, 0, kLL);
        device->launch(nullptr, {static_cast<unsigned>(chunks * g.highest), static_cast<unsigned>(p.tiles())},
                       kLoadThreads, load);
    }
    for (int level = 1; level <= p.levels; level++) {
        const int pairs = ceil_shift(g.widest, level - 1) / 2 + 1, rows = ceil_shift(g.highest, level - 1) / 2 + 1;
        DwtLevel dwt{.tile_components = tile_components.data(),
                     .low = level % 2 ? ll_odd.data() : ll_even.data(),
                     .coefficients = coefficients.data(),
                     .quantiser = {},
                     .components = depth,
                     .level = level,
                     .last = level == p.levels,
                     .block_columns = static_cast<int>(ceil_div(ceil_div(pairs, kStripPairs<W>), kDwtThreads / 32)),
                     .segment_row_pairs = segment_row_pairs};
        for (size_t c = 0; c < components; c++)
            for (int o = dwt.last ? kLL : kHL; o <= kHH; o++)
                dwt.quantiser[c][o] = band_quantiser(p, c, o ? p.levels + 1 - level : 0, o);
        const auto launch = [&](int z, const auto &params) {
            device->launch(nullptr,
                           {static_cast<unsigned>(dwt.block_columns * p.tiles()),
                            static_cast<unsigned>(ceil_div(rows, segment_row_pairs)), static_cast<unsigned>(z)},
                           kDwtThreads, params);
        };
        if (level == 1)
            launch(p.mct ? depth - 2 : depth, First{{.dwt = dwt, .layout = layout.data(), .mct = p.mct}});
        else
            launch(depth, Next{{.dwt = dwt, .in = level % 2 ? ll_even.data() : ll_odd.data()}});
    }
    for (size_t i = 0; i < planes.size(); i++) {
        std::vector<uint8_t> pixels(planes[i].count());
        device->download(nullptr, pixels.data(), planes[i].data(), pixels.size());
        device->synchronize(Device::Stream{});
        EXPECT(pixels == picture.memory[i], "plane %zu has changed", i);
    }
    layout.read("layout");
    tile_components.read("tile-components");
    ll_odd.read("ll_odd");
    ll_even.read("ll_even");
    return coefficients.read("coefficients");
}

void check_transform(const std::shared_ptr<Device> &device, Random &random, Case &k) {
    // A step of its own for every sub-band: what the encoder chooses is alike for HL and LH.
    for (auto &bands : k.params.quantisers)
        for (Quantiser &q : bands)
            if (!k.params.reversible) {
                q.inverse_step = static_cast<float>(random.between(1, 10000)) / 1000;
                q.planes = random.between(1, 24);
            }
    const Params &p = k.params;
    Picture picture = make_picture(random, k.format);
    fill(random, picture, random.one_in(3) ? Content::one_bit : Content::noise);
    const int segment_row_pairs = random.between(1, 24);
    const auto is =
        p.reversible
            ? coefficients_on_device<Dwt53, LoadDwt53Params, Dwt53Params>(device, k, picture, segment_row_pairs)
            : coefficients_on_device<Dwt97, LoadDwt97Params, Dwt97Params>(device, k, picture, segment_row_pairs);
    const auto expected =
        p.reversible ? coefficients_on_host<Dwt53>(k, picture) : coefficients_on_host<Dwt97>(k, picture);
    const auto wrong = std::mismatch(is.begin(), is.end(), expected.begin());
    EXPECT(wrong.first == is.end(),
           "coefficient %td of %zu is %08x, not %08x: %dx%d, %d components, tiles %dx%d, %d levels, segments of %d",
           wrong.first - is.begin(), is.size(), *wrong.first, *wrong.second, p.width, p.height, k.format.components,
           p.tile_width, p.tile_height, p.levels, segment_row_pairs);
}

START_TEST(load_and_dwt_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 100; repeat++) {
        Case k(random, repeat % 6 == 0 ? 300 : repeat % 6 == 1 ? 5 : 70);
        check_transform(device, random, k);
    }
}
END_TEST

START_TEST(load_alone_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 100);
    for (int repeat = 0; repeat < 40; repeat++) {
        Case k(random, repeat % 4 ? 40 : 600);
        k.options.levels = 0;
        k.options.poc = k.options.roi = nullptr;
        k.options.precincts = "";
        k.params = make_params(k.format, k.options);
        k.geometry = make_geometry(k.params);
        check_transform(device, random, k);
    }
}
END_TEST

// Where the samples of common pixel formats lie.
struct PixelFormat {
    const char *name;
    CudaencColorModel model;
    int planes, components;
    CudaencComponent component[4];
};
constexpr PixelFormat kPixelFormats[] = {
    {"gray", CUDAENC_COLOR_GRAY, 1, 1, {{0, 0, 1, 0, 8, 0, 0}}},
    {"gray12", CUDAENC_COLOR_GRAY, 1, 1, {{0, 0, 2, 0, 12, 0, 0}}},
    {"ya8", CUDAENC_COLOR_GRAY, 1, 2, {{0, 0, 2, 0, 8, 0, 0}, {0, 1, 2, 0, 8, 0, 0}}},
    {"rgb24", CUDAENC_COLOR_RGB, 1, 3, {{0, 0, 3, 0, 8, 0, 0}, {0, 1, 3, 0, 8, 0, 0}, {0, 2, 3, 0, 8, 0, 0}}},
    {"bgra",
     CUDAENC_COLOR_RGB,
     1,
     4,
     {{0, 2, 4, 0, 8, 0, 0}, {0, 1, 4, 0, 8, 0, 0}, {0, 0, 4, 0, 8, 0, 0}, {0, 3, 4, 0, 8, 0, 0}}},
    {"0rgb", CUDAENC_COLOR_RGB, 1, 3, {{0, 1, 4, 0, 8, 0, 0}, {0, 2, 4, 0, 8, 0, 0}, {0, 3, 4, 0, 8, 0, 0}}},
    {"gbrp", CUDAENC_COLOR_RGB, 3, 3, {{2, 0, 1, 0, 8, 0, 0}, {0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 0, 0}}},
    {"gbrap16",
     CUDAENC_COLOR_RGB,
     4,
     4,
     {{2, 0, 2, 0, 16, 0, 0}, {0, 0, 2, 0, 16, 0, 0}, {1, 0, 2, 0, 16, 0, 0}, {3, 0, 2, 0, 16, 0, 0}}},
    {"rgb48", CUDAENC_COLOR_RGB, 1, 3, {{0, 0, 6, 0, 16, 0, 0}, {0, 2, 6, 0, 16, 0, 0}, {0, 4, 6, 0, 16, 0, 0}}},
    {"rgb565", CUDAENC_COLOR_RGB, 1, 3, {{0, 1, 2, 3, 5, 0, 0}, {0, 0, 2, 5, 6, 0, 0}, {0, 0, 2, 0, 5, 0, 0}}},
    {"xyz12", CUDAENC_COLOR_XYZ, 1, 3, {{0, 0, 6, 4, 12, 0, 0}, {0, 2, 6, 4, 12, 0, 0}, {0, 4, 6, 4, 12, 0, 0}}},
    {"yuv420p", CUDAENC_COLOR_YUV, 3, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 1, 1}, {2, 0, 1, 0, 8, 1, 1}}},
    {"yuv410p", CUDAENC_COLOR_YUV, 3, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 1, 0, 8, 2, 2}, {2, 0, 1, 0, 8, 2, 2}}},
    {"nv12", CUDAENC_COLOR_YUV, 2, 3, {{0, 0, 1, 0, 8, 0, 0}, {1, 0, 2, 0, 8, 1, 1}, {1, 1, 2, 0, 8, 1, 1}}},
    {"p210", CUDAENC_COLOR_YUV, 2, 3, {{0, 0, 2, 6, 10, 0, 0}, {1, 0, 4, 6, 10, 1, 0}, {1, 2, 4, 6, 10, 1, 0}}},
};

// Sides from 1 to 70 with every format, in tiles that begin at odd places, by both wavelets.
START_TEST(load_and_dwt_of_every_size) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 200);
    for (const PixelFormat &f : kPixelFormats)
        for (int size = 1; size <= 70; size += _i ? random.between(1, 12) : 1) {
            Case k(random, 4);
            const bool wide = random.one_in(2);
            k.format = make_format(wide ? size : random.between(1, 70), wide ? random.between(1, 70) : size,
                                   f.components, 8, true, f.model);
            k.format.planes = f.planes;
            std::copy(f.component, f.component + f.components, k.format.component);
            cudaenc_j2k_defaults(&k.options);
            k.options.levels = random.between(1, 5);
            k.options.poc = k.options.roi = nullptr;
            if (random.one_in(2)) k.options.tile_width = random.between(1, k.format.width) | 1;
            if (random.one_in(2)) k.options.tile_height = random.between(1, k.format.height) | 1;
            for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
                k.options.pred = pred;
                k.params = make_params(k.format, k.options);
                k.geometry = make_geometry(k.params);
                check_transform(device, random, k);
            }
        }
}
END_TEST

// Sizes at which strips, thread-blocks and segments begin and end.
START_TEST(dwt_at_the_edges_of_thread_blocks) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
        const int strip = 2 * (pred == CUDAENC_J2K_DWT97 ? kStripPairs<Dwt97> : kStripPairs<Dwt53>);
        const int block = strip * kDwtThreads / 32;
        for (const int width : {1, 2, strip - 1, strip, strip + 1, 2 * strip + 1, block - 1, block, block + 1})
            for (const int height : {1, 31, 32, 33, 65}) {
                Case k(random, 4);
                k.format = make_format(2 * width + 1, height, 1, 8, false, CUDAENC_COLOR_GRAY);
                cudaenc_j2k_defaults(&k.options);
                k.options.tile_width = width;
                k.options.levels = random.between(1, 3);
                k.options.poc = k.options.roi = nullptr;
                k.options.pred = pred;
                k.params = make_params(k.format, k.options);
                k.geometry = make_geometry(k.params);
                check_transform(device, random, k);
            }
    }
}
END_TEST

// ---- tier-2 and gather ----

void put_bytes(std::vector<uint8_t> &out, uint64_t value, int bytes) {
    while (bytes--) out.push_back(static_cast<uint8_t>(value >> (8 * bytes)));
}

struct CodedPicture {
    std::vector<uint8_t> planes, passes;
    std::vector<uint32_t> bytes, pass_bytes;
    std::vector<uint8_t> layer_passes;  // [layer * blocks + block]
    std::vector<uint32_t> layer_bytes;
    std::vector<uint8_t> slots;
};

// Layers at random, some of them with little or nothing; the last one ends with the codewords.
void make_layers(Random &random, const Params &p, const Geometry &g, CodedPicture &coded) {
    const size_t blocks = g.blocks.size(), layers = static_cast<size_t>(p.layers);
    coded.layer_passes.assign(blocks * layers, 0);
    coded.layer_bytes.assign(blocks * layers, 0);
    uint32_t passes = 0, bytes = 0;  // of the layers before
    for (size_t layer = 0; layer < layers; layer++) {
        const uint32_t rarity = random.one_in(3) ? 1000000 : random.below(8) + 1;
        for (size_t b = 0; b < blocks; b++) {
            if (layer) passes = coded.layer_passes[(layer - 1) * blocks + b];
            if (layer) bytes = coded.layer_bytes[(layer - 1) * blocks + b];
            const uint32_t all = coded.passes[b];
            if (layer == layers - 1 && passes < all) {
                passes = all;
                bytes = coded.bytes[b];
            } else if (passes < all && random.one_in(rarity)) {
                passes += random.below(all - passes) + 1;
                bytes = p.style || passes == all ? coded.pass_bytes[b * static_cast<size_t>(g.max_passes) + passes - 1]
                                                 : bytes + random.below(coded.bytes[b] - bytes + 1);
            }
            coded.layer_passes[layer * blocks + b] = static_cast<uint8_t>(passes);
            coded.layer_bytes[layer * blocks + b] = bytes;
            passes = bytes = 0;
        }
    }
}

BlockCoding coding_of(const Params &p) { return {.style = p.style, .truncatable = p.truncatable}; }

// Planes, lengths and codewords at random, in slots of their own, many of them with long runs of ones in their headers.
CodedPicture make_coded(Random &random, const Params &p, Geometry &g) {
    CodedPicture coded;
    coded.slots.resize(place_slots(g.blocks, coding_of(p)));
    for (uint8_t &byte : coded.slots) byte = static_cast<uint8_t>(random.word());
    const uint32_t rarity = random.one_in(4) ? 1000000 : random.below(8) + 1;
    const bool ones = random.one_in(2);
    for (const CodeBlock &b : g.blocks) {
        const bool included = !random.one_in(rarity);
        const uint32_t longest = static_cast<uint32_t>(slot_layout(b, {}).bytes) - 4;
        const SlotLayout slot = slot_layout(b, coding_of(p));

        uint32_t bytes = random.below(longest + 1) >> random.between(0, 12);
        if (ones) bytes = std::min((1u << random.between(0, 16)) - 1, longest);
        coded.planes.push_back(included ? static_cast<uint8_t>(random.between(1, b.planes)) : 0);
        int passes = coding_passes(coded.planes.back());
        if (b.lossy && passes > kLastPasses && random.one_in(2)) passes -= kLastPasses;
        coded.passes.push_back(static_cast<uint8_t>(passes));
        // Each pass has some bytes; raw ones have little room.
        const uint32_t raw_room = static_cast<uint32_t>(slot.bytes - slot.raw), all = bytes;
        uint32_t sum = 0, raw = 0;
        for (int i = 0; i < g.max_passes; i++) {
            const bool is = is_raw(p.style, i);
            if (p.style) bytes = random.below(all / static_cast<uint32_t>(std::max(passes, 1)) + 1);
            if (is) bytes = std::min(bytes, raw_room - raw);
            raw += is && i < passes ? bytes : 0;
            sum += i < passes ? bytes : 0;
            coded.pass_bytes.push_back(i < passes ? sum : 0xDEADBEEF);
            if (!p.style) bytes = 0;
        }
        coded.bytes.push_back(sum);
    }
    make_layers(random, p, g, coded);
    return coded;
}

// A block's codeword: what its passes have, raw ones from another place.
std::vector<uint8_t> codeword(const Params &p, const Geometry &g, const CodedPicture &coded, uint32_t b) {
    const CodeBlock &block = g.blocks[b];
    const uint64_t mq = block.slot, raw = mq + slot_layout(block, coding_of(p)).raw;
    uint64_t at[2] = {mq, raw};
    std::vector<uint8_t> bytes;
    uint32_t before = 0;
    for (int i = 0; i < coded.passes[b]; i++) {
        const uint32_t end = coded.pass_bytes[b * static_cast<size_t>(g.max_passes) + static_cast<size_t>(i)];
        uint64_t &from = at[is_raw(p.style, i)];
        for (; before < end; before++) bytes.push_back(coded.slots[from++]);
    }
    return bytes;
}

// The codestream, sequentially.
std::vector<uint8_t> assemble_on_host(const Params &p, const Geometry &g, const CodedPicture &coded) {
    const MainHeader header = make_main_header(p, g.tile_parts);
    std::vector<uint8_t> out = header.bytes;
    const uint32_t layers = static_cast<uint32_t>(p.layers);
    const auto layers_of = [&](uint32_t b) {
        return LayerEnds{&coded.layer_passes[b], &coded.layer_bytes[b], g.blocks.size()};
    };
    std::vector<LayerSet> sets(g.precinct_bands.size());
    for (uint32_t b = 0; b < g.blocks.size(); b++)
        for (uint32_t layer = 0; layer < layers; layer++)
            if (layers_of(b).adds(layer)) sets[g.blocks[b].precinct_band].add(layer);
    uint32_t in_tile = 0;
    for (uint32_t t = 0; t < g.tile_parts.size(); t++) {
        const TilePart &tile_part = g.tile_parts[t];
        if (!tile_part.part) in_tile = 0;
        std::vector<std::vector<uint8_t>> packets;
        for (uint32_t i = tile_part.first_packet; i < tile_part.last_packet; i++) {
            const Packet &packet = g.packets[i];
            HeaderBytes bits;
            const bool any = has_codewords(sets.data(), packet, packet.layer);
            bits.put(any, 1);
            for (uint32_t n = packet.first_band; any && n < packet.last_band; n++) {
                const PrecinctBand &precinct_band = g.precinct_bands[n];
                std::vector<TagNode> nodes;
                for (uint32_t j = 0, b = precinct_band.first_block; j < precinct_band.columns * precinct_band.rows;
                     j++, b++)
                    nodes.push_back(tag_leaf(layers_of(b).first(layers), g.blocks[b].planes - coded.planes[b], j));
                size_t below = 0;
                for (int level = 1; level < tag_tree_levels(precinct_band.columns, precinct_band.rows); level++) {
                    const uint32_t c = tag_tree_columns(precinct_band.columns, level - 1),
                                   r = tag_tree_columns(precinct_band.rows, level - 1);
                    for (uint32_t y = 0; y < (r + 1) / 2; y++)
                        for (uint32_t x = 0; x < (c + 1) / 2; x++)
                            nodes.push_back(tag_parent(&nodes[below], c, r, x, y));
                    below += size_t{c} * r;
                }
                for (uint32_t j = 0; j < precinct_band.columns * precinct_band.rows; j++)
                    put_block_header(
                        bits, precinct_band, nodes.data(), j % precinct_band.columns, j / precinct_band.columns,
                        layers_of(precinct_band.first_block + j), packet.layer,
                        empty_packets_before(sets.data(), packet), p.style,
                        &coded.pass_bytes[(precinct_band.first_block + j) * static_cast<size_t>(g.max_passes)]);
            }
            bits.finish();
            std::vector<uint8_t> bytes;
            if (p.sop) put_bytes(bytes, 0xFF910004, 4), put_bytes(bytes, in_tile & 0xFFFF, 2);
            in_tile++;
            bytes.insert(bytes.end(), bits.bytes.begin(), bits.bytes.end());
            if (p.eph) put_bytes(bytes, 0xFF92, 2);
            for (uint32_t b = packet.first_block; b < packet.last_block; b++) {
                const std::vector<uint8_t> word = codeword(p, g, coded, b);
                bytes.insert(bytes.end(), word.begin() + layers_of(b).bytes_before(packet.layer),
                             word.begin() + layers_of(b).bytes_before(packet.layer + 1));
            }
            packets.push_back(bytes);
        }
        std::vector<uint8_t> plt;
        for (size_t first = 0, index = 0; p.plt && first < packets.size(); first += kPltPackets, index++) {
            std::vector<uint8_t> lengths;
            for (size_t i = first; i < std::min(first + kPltPackets, packets.size()); i++) {
                int groups = 1;
                while (packets[i].size() >> (7 * groups)) groups++;
                while (groups--)
                    lengths.push_back(
                        static_cast<uint8_t>((packets[i].size() >> (7 * groups) & 127) | (groups ? 128 : 0)));
            }
            put_bytes(plt, 0xFF58, 2), put_bytes(plt, lengths.size() + 3, 2), put_bytes(plt, index, 1);
            plt.insert(plt.end(), lengths.begin(), lengths.end());
        }
        uint64_t part = 14 + plt.size();
        for (const auto &packet : packets) part += packet.size();
        put_bytes(out, 0xFF90000A, 4), put_bytes(out, tile_part.tile, 2), put_bytes(out, part, 4);
        put_bytes(out, tile_part.part, 1), put_bytes(out, tile_part.parts, 1);
        out.insert(out.end(), plt.begin(), plt.end());
        put_bytes(out, 0xFF93, 2);
        for (const auto &packet : packets) out.insert(out.end(), packet.begin(), packet.end());
        if (header.tlm) {
            std::vector<uint8_t> length;
            put_bytes(length, part, 4);
            std::copy(length.begin(), length.end(),
                      out.begin() + header.tlm + (t / 10000 + 1) * 6 + static_cast<ptrdiff_t>(t) * 6 + 2);
        }
    }
    put_bytes(out, 0xFFD9, 2);
    return out;
}

unsigned blocks_for(size_t work, size_t threads) { return static_cast<unsigned>((work + threads - 1) / threads); }

void check_tier2(const std::shared_ptr<Device> &device, const Params &p, const Geometry &g, const CodedPicture &coded) {
    const std::vector<uint8_t> expected = assemble_on_host(p, g, coded);
    const uint32_t blocks = static_cast<uint32_t>(g.blocks.size()), packets = static_cast<uint32_t>(g.packets.size()),
                   block_layers = static_cast<uint32_t>(g.block_layers.size()),
                   layers = static_cast<uint32_t>(p.layers), tile_parts = static_cast<uint32_t>(g.tile_parts.size());
    const Guarded<CodeBlock> block_table(device, g.blocks);
    const Guarded<PrecinctBand> bands(device, g.precinct_bands);
    const Guarded<Packet> packet_table(device, g.packets);
    const Guarded<TilePart> tile_part_table(device, g.tile_parts);
    const Guarded<uint32_t> block_layer_table(device, g.block_layers);
    const Guarded<uint8_t> slots(device, coded.slots), planes(device, coded.planes),
        layer_passes(device, coded.layer_passes);
    const Guarded<uint32_t> layer_bytes(device, coded.layer_bytes), bytes(device, size_t{block_layers}),
        header_bits(device, size_t{block_layers}),
        raw(device, std::vector<uint32_t>(blocks * ((most_block_header_bits(p.style, g.max_passes, layers) + 31) / 32) +
                                          packets + 2)),
        pass_bytes(device, coded.pass_bytes), segment_bytes(device, size_t{packets} + tile_parts),
        plt_bytes(device, size_t{p.plt ? packets : 0});
    const Guarded<uint32_t> raw_states(device, raw.count());
    const Guarded<TagNode> nodes(device, size_t{g.tag_tree_nodes});
    const Guarded<LayerSet> layer_sets(device, g.precinct_bands.size());
    const Guarded<uint64_t> header_bits_before(device, size_t{block_layers} + 1),
        segments_before(device, size_t{packets} + tile_parts + 1), bytes_before(device, size_t{block_layers} + 1),
        plt_before(device, size_t{packets} + 1),
        partials(device, prefix_sum_partials(std::max(block_layers, packets + tile_parts)));
    const Guarded<CodestreamResult> result(device, std::vector<CodestreamResult>(1));
    BlockRecords coded_blocks{};
    coded_blocks.slots = slots.data();
    coded_blocks.planes = planes.data();
    coded_blocks.pass_bytes = pass_bytes.data();
    const Tier2Buffers t2{.blocks = block_table.data(),
                          .bands = bands.data(),
                          .packets = packet_table.data(),
                          .tile_parts = tile_part_table.data(),
                          .block_layers = block_layer_table.data(),
                          .coded = coded_blocks,
                          .layer_passes = layer_passes.data(),
                          .layer_bytes = layer_bytes.data(),
                          .nodes = nodes.data(),
                          .layer_sets = layer_sets.data(),
                          .header_bits = header_bits.data(),
                          .header_bits_before = header_bits_before.data(),
                          .raw_states = raw_states.data(),
                          .raw = raw.data(),
                          .segment_bytes = segment_bytes.data(),
                          .segments_before = segments_before.data(),
                          .bytes = bytes.data(),
                          .bytes_before = bytes_before.data(),
                          .plt_bytes = p.plt ? plt_bytes.data() : nullptr,
                          .plt_before = p.plt ? plt_before.data() : nullptr,
                          .block_count = blocks,
                          .layers = layers,
                          .block_layer_count = block_layers,
                          .band_count = static_cast<uint32_t>(g.precinct_bands.size()),
                          .packet_count = packets,
                          .tile_part_count = tile_parts,
                          .sop = p.sop,
                          .eph = p.eph,
                          .coding = coding_of(p),
                          .max_passes = g.max_passes};
    const auto sum = [&](const uint32_t *sizes, const Guarded<uint64_t> &before, uint32_t count) {
        prefix_sum(*device, nullptr, sizes, before.data(), count, partials.data());
    };
    const unsigned by_block_layer = blocks_for(block_layers, kTier2Threads);
    device->launch(nullptr, {t2.band_count}, kTier2Threads, TagTreesParams{t2});
    device->launch(nullptr, {by_block_layer}, kTier2Threads, HeaderBitsParams{t2});
    sum(bytes.data(), bytes_before, block_layers);
    sum(header_bits.data(), header_bits_before, block_layers);
    device->launch(nullptr, {by_block_layer}, kTier2Threads, WriteBitsParams{t2});
    device->launch(nullptr, {packets}, kStuffingThreads, PacketSizesParams{t2});
    if (p.plt) sum(plt_bytes.data(), plt_before, packets);
    device->launch(nullptr, {blocks_for(tile_parts, kTier2Threads)}, kTier2Threads, TilePartSizesParams{t2});
    sum(segment_bytes.data(), segments_before, packets + tile_parts);

    // Into memory of just the size; then one byte less, where nothing may be written.
    const MainHeader header = make_main_header(p, g.tile_parts);
    for (const size_t less : {0, 1}) {
        auto stream = Guarded<uint8_t>::garbage(expected.size() - less);
        std::copy(header.bytes.begin(), header.bytes.end(), stream.begin());
        const Guarded<uint8_t> data(device, stream);
        const Codestream out{.data = data.data(),
                             .capacity = data.count(),
                             .main_header = static_cast<uint32_t>(header.bytes.size()),
                             .tlm = header.tlm,
                             .result = result.data(),
                             .allocation = nullptr};
        device->launch(nullptr, {std::max(packets, tile_parts)}, kStuffingThreads, WriteHeadersParams{t2, out});
        const unsigned by_warp = blocks_for(size_t{block_layers} * 32, kTier2Threads);
        if (p.style & kBypass)
            device->launch(nullptr, {by_warp}, kTier2Threads, GatherWithRawParams{{t2, out}});
        else
            device->launch(nullptr, {by_warp}, kTier2Threads, GatherParams{t2, out});
        const auto is = data.read("codestream");
        EXPECT(result.read("result")[0].bytes == expected.size(), "%llu bytes, not %zu",
               static_cast<unsigned long long>(result.read("result")[0].bytes), expected.size());
        EXPECT(result.read("result")[0].longest == 0, "no tile-part is that long");
        const auto &should = less ? stream : expected;
        const auto wrong = std::mismatch(is.begin(), is.end(), should.begin());
        EXPECT(wrong.first == is.end(), "byte %td of %zu, %zu too few: %02x, not %02x", wrong.first - is.begin(),
               is.size(), less, *wrong.first, *wrong.second);
    }
    header_bits.read("header bits"), raw.read("raw headers"), raw_states.read("states of raw headers"),
        segment_bytes.read("segments"), nodes.read("nodes");
    plt_bytes.read("PLT"), header_bits_before.read("header bits before"), segments_before.read("segments before");
    bytes_before.read("bytes before"), plt_before.read("PLT before"), partials.read("partial sums");
    EXPECT(pass_bytes.read("bytes of passes") == coded.pass_bytes, "bytes of passes");
    bytes.read("bytes"), layer_sets.read("layers of sub-bands");
    EXPECT(slots.read("slots") == coded.slots && layer_bytes.read("bytes of layers") == coded.layer_bytes &&
               planes.read("planes") == coded.planes && layer_passes.read("passes of layers") == coded.layer_passes,
           "what tier-2 only reads");
}

START_TEST(tier_2_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 60; repeat++) {
        Case k(random, repeat % 4 ? 60 : 250);
        check_tier2(device, k.params, k.geometry, make_coded(random, k.params, k.geometry));
    }
}
END_TEST

// Headers of kilobytes, with many blocks in a packet.
START_TEST(long_packet_headers_on_the_device) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 4; repeat++) {
        CudaencJ2kOptions options;
        cudaenc_j2k_defaults(&options);
        options.cblk_width = options.cblk_height = 4;
        options.levels = repeat % 2;
        options.guard_bits = 7;
        options.pred = CUDAENC_J2K_DWT53;
        options.plt = options.eph = 1;
        if (repeat % 2) options.cblk_style = CUDAENC_J2K_TERMALL;
        options.layers = repeat == 1 ? 4 : 1;
        const Params params = make_params(make_format(211, 157, 1, 16, false, CUDAENC_COLOR_GRAY), options);
        Geometry geometry = make_geometry(params);
        CodedPicture coded = make_coded(random, params, geometry);
        for (size_t i = 0; repeat >= 2 && i < coded.bytes.size();
             i++) {  // nothing but ones, as far as headers have them
            coded.planes[i] = geometry.blocks[i].planes;
            coded.passes[i] = static_cast<uint8_t>(coding_passes(coded.planes[i]));
            for (int k = 0; k < coded.passes[i]; k++)
                coded.pass_bytes[i * static_cast<size_t>(geometry.max_passes) + static_cast<size_t>(k)] =
                    coded.bytes[i] = params.style ? 7 * static_cast<uint32_t>(k + 1) : 127;
        }
        make_layers(random, params, geometry, coded);
        check_tier2(device, params, geometry, coded);
    }
}
END_TEST

START_TEST(more_packets_than_a_plt_segment_holds) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    options.cblk_width = options.cblk_height = 4;
    options.levels = 0;
    options.precincts = "4x4";
    options.plt = options.sop = 1;
    const Params params = make_params(make_format(475, 475, 1, 8, false, CUDAENC_COLOR_GRAY), options);
    Geometry geometry = make_geometry(params);
    ck_assert_uint_gt(geometry.packets.size(), kPltPackets);
    CodedPicture coded = make_coded(random, params, geometry);
    check_tier2(device, params, geometry, coded);
}
END_TEST

// ---- whole pictures ----

START_TEST(pictures_are_alike_on_device_and_cpu) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 1000);
    for (int done = 0; done < 25;) {
        const CudaencFormat format = random_format(random, done % 5 ? 50 : 200);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, text);
        if (Work(format, config.j2k).warps > 1500) continue;
        done++;
        Picture picture = make_picture(random, format);
        picture.upside_down = random.one_in(3);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
    }
}
END_TEST

// Tier-1 that stops early: the CPU codes all and sees where it would have stopped.
constexpr int kEarlyStops[] = {CUDAENC_J2K_RATE_PSB, CUDAENC_J2K_RATE_BPI};
START_TEST(early_stops_are_alike) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 3000);
    for (int done = 0; done < 20;) {
        const CudaencFormat format = random_format(random, done % 5 ? 120 : 200);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, text);
        config.j2k.layers = std::min(config.j2k.layers, 3);
        config.j2k.poc = config.j2k.roi = nullptr;
        config.j2k.format = CUDAENC_J2K_CODESTREAM;
        config.j2k.quality = -1;
        config.j2k.rate_control = random.of(kEarlyStops);
        config.j2k.frame_bytes = random.between(3000, 30000);
        if (Work(format, config.j2k).warps > 1000) continue;
        CudaencSession *session;
        if (cudaenc_open(&session, &config) != CUDAENC_OK) continue;  // no frame is that small
        cudaenc_close(session);
        done++;
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "rate control %d, %lld bytes: %s", config.j2k.rate_control,
               static_cast<long long>(config.j2k.frame_bytes), describe(config).c_str());
    }
}
END_TEST

// Of frames in host memory and in the device's.
START_TEST(targets_of_psnr_are_alike) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 4000);
    for (int done = 0; done < 10;) {
        const CudaencFormat format = random_format(random, 120);
        Log log;
        std::string text;
        CudaencConfig config = make_config(format, "cpu", &log);
        config.j2k = random_options(random, format, text);
        config.j2k.psnr = random.between(10, 70);
        if (Work(format, config.j2k).warps > 1000) continue;
        done++;
        Picture picture = make_picture(random, format);
        fill(random, picture, static_cast<Content>(random.between(0, static_cast<int>(Content::kinds) - 1)));
        const auto on_cpu = encode(config, picture.frame());
        config.device = spec.c_str();
        EXPECT(encode(config, picture.frame()) == on_cpu, "%g dB: %s", config.j2k.psnr, describe(config).c_str());
        std::vector<DeviceArray<uint8_t>> planes;
        CudaencFrame frame = picture.frame();
        for (int plane = 0; plane < format.planes; plane++) {
            planes.emplace_back(device, picture.memory[plane].size());
            device->upload(nullptr, planes.back().data(), picture.memory[plane].data(), planes.back().bytes());
            frame.data[plane] = planes.back().data();
        }
        device->synchronize(Device::Stream{});
        const auto encoder = make_device_encoder(make_params(format, config.j2k), 1, device, true, false);
        encoder->submit(0, frame);
        const PooledBuffer packet = encoder->finish(0);
        EXPECT(std::vector<uint8_t>(packet->data, packet->data + packet->size) == on_cpu,
               "%g dB, frames on the device: %s", config.j2k.psnr, describe(config).c_str());
    }
}
END_TEST

// Resolutions that begin at an odd position and end where strips do take one strip more.
START_TEST(tiles_that_begin_at_odd_places) {
    const std::string &spec = device_specs[static_cast<size_t>(_i)];
    Random random(static_cast<uint64_t>(_i) + 2000);
    for (const bool wide : {false, true})
        for (const int pred : {CUDAENC_J2K_DWT97, CUDAENC_J2K_DWT53}) {
            // The third tile begins at an odd position one level down, with as many columns as a strip has.
            const int tile = 4 * (pred == CUDAENC_J2K_DWT97 ? kStripPairs<Dwt97> : kStripPairs<Dwt53>)-1;
            const CudaencFormat format =
                make_format(wide ? 3 * tile : 6, wide ? 6 : 3 * tile, 1, 8, false, CUDAENC_COLOR_GRAY);
            Log log;
            CudaencConfig config = make_config(format, "cpu", &log);
            config.j2k.pred = pred;
            config.j2k.levels = 3;
            if (wide)
                config.j2k.tile_width = tile;
            else
                config.j2k.tile_height = tile;
            Picture picture = make_picture(random, format);
            fill(random, picture, Content::noise);
            const auto on_cpu = encode(config, picture.frame());
            config.device = spec.c_str();
            EXPECT(encode(config, picture.frame()) == on_cpu, "%s", describe(config).c_str());
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    const int devices = static_cast<int>(device_specs.size());
    Suite *suite = suite_create("j2k_kernels");
    TCase *host = add_case(suite, "host");
    tcase_add_test(host, component_transforms_are_the_standards);
    tcase_add_test(host, sampled_blocks_stand_for_all);
    tcase_add_test(host, sampled_blocks_lie_apart);
    TCase *kernels = add_case(suite, "kernels");
    tcase_add_loop_test(kernels, load_alone_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, load_and_dwt_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, load_and_dwt_of_every_size, 0, devices);
    tcase_add_loop_test(kernels, dwt_at_the_edges_of_thread_blocks, 0, devices);
    tcase_add_loop_test(kernels, tier_2_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, long_packet_headers_on_the_device, 0, devices);
    tcase_add_loop_test(kernels, more_packets_than_a_plt_segment_holds, 0, devices);
    TCase *pictures = add_case(suite, "pictures");
    tcase_add_loop_test(pictures, pictures_are_alike_on_device_and_cpu, 0, devices);
    tcase_add_loop_test(pictures, early_stops_are_alike, 0, devices);
    tcase_add_loop_test(pictures, targets_of_psnr_are_alike, 0, devices);
    tcase_add_loop_test(pictures, tiles_that_begin_at_odd_places, 0, devices);
    return run_suite(suite);
}
