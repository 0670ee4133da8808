// SPDX-License-Identifier: LGPL-2.1-or-later
// From decoded coefficients to planes on a device, against the CPU's walkers: any offsets, tiles, subsampling, levels
// and wavelets, resolutions left out, regions, component transforms, formats and palettes.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../../common/j2k/decoder_params.h"
#include "../../common/j2k/transform/dequantise.h"
#include "../../common/j2k/transform/idwt_cpu.h"
#include "../../common/j2k/transform/step_size.h"
#include "../../common/j2k/transform/store.h"
#include "../../cuda_kernels/j2k/transform/inverse_transform.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

// A channel in a plane of its own; `layout` without addresses.
struct ChannelCase {
    size_t component;
    ChannelLayout layout;
    size_t offset;  // of the first sample in the plane
    std::vector<int32_t> values;
    std::vector<uint8_t> plane;
};

struct InverseCase {
    Description d{};
    Geometry g{};
    int lowres = 0;
    std::vector<ComponentOutput> outputs;
    std::vector<ChannelCase> channels;
    std::vector<uint32_t> coefficients;
    int multiprocessors = 4;  // that the plan is for

    std::string text() const {
        std::string s =
            format_string("[%d, %d) x [%d, %d), tiles %dx%d from %d, %d, lowres %d, mct %d", d.x0, d.x0 + d.width, d.y0,
                          d.y0 + d.height, d.tile_width, d.tile_height, d.tile_x0, d.tile_y0, lowres, d.mct);
        for (size_t c = 0; c < d.components.size(); c++) {
            const Component &k = d.components[c];
            const Extent &part = outputs[c].part;
            s += format_string("; %zu: %dx%d, %d bits, %s, %d levels, part [%d, %d) x [%d, %d)", c, k.dx, k.dy, k.depth,
                               d.of_component(c).reversible ? "5/3" : "9/7", d.of_component(c).levels, part.x0, part.x1,
                               part.y0, part.y1);
        }
        return s;
    }
};

// ---- Cases at random

void set_levels(ComponentCoding &k, int levels, bool reversible) {
    k.levels = levels, k.reversible = reversible;
    k.cblk_width_log2 = k.cblk_height_log2 = 6;
    k.default_precincts = true;
    k.precinct_width_log2.fill(15), k.precinct_height_log2.fill(15);
}

int random_levels(Random &random, int least) {
    return std::max(least, random.one_in(12) ? random.between(6, kMaxLevels) : random.between(0, 5));
}

void set_coding(Random &random, TileCoding &coding, const Description &d, int lowres, bool mct) {
    set_levels(coding, random_levels(random, lowres), random.one_in(2));
    coding.layers = 1, coding.progression = CUDAENC_J2K_LRCP, coding.mct = mct;
    const size_t components = d.components.size();
    for (size_t c = mct ? 3 : 0; c < components; c++)
        if (random.one_in(3)) set_levels(coding.coc[c] = coding, random_levels(random, lowres), random.one_in(2));
    for (size_t c = 0; c < components; c++) {
        Quantisation q{.guard_bits = 1, .steps = {}};
        for (int band = 0; band < 3 * coding.of_component(c).levels + 1; band++)
            q.steps.push_back({random.between(0, 31), random.between(0, 2047)});
        coding.quantisation.push_back(q);
        coding.region_shifts.push_back(random.one_in(3) ? random.between(0, 37) : 0);
    }
}

void add_channel(Random &random, InverseCase &k, size_t c) {
    const Component &component = k.d.components[c];
    const Extent &part = k.outputs[c].part;
    ChannelCase channel{.component = c, .layout = {}, .offset = 0, .values = {}, .plane = {}};
    ChannelLayout &to = channel.layout;
    to.depth = component.depth;
    if (random.one_in(6)) {
        to.depth = random.between(1, 16);
        for (int i = random.between(1, 300); i > 0; i--)
            channel.values.push_back(static_cast<int32_t>(random.below(1u << to.depth)));
    }
    to.shift = random.one_in(2) ? 0 : random.between(0, 16 - to.depth);
    if (component.is_signed && random.one_in(2)) to.flipped = 1u << (to.depth - 1);
    const int word = to.wide() ? 2 : 1;
    to.step = word * (random.one_in(3) ? random.between(1, 3) : 1);
    to.stride = int64_t{to.step} * std::max(part.width(), 0) + word * random.between(0, 5);
    channel.offset = static_cast<size_t>(word * random.between(0, 3));
    channel.plane.assign(channel.offset + static_cast<size_t>(to.stride * std::max(part.height(), 0)), 0xA5);
    k.channels.push_back(channel);
}

void fill(Random &random, InverseCase &k) {
    k.coefficients.resize(k.g.samples);
    const int bits = random.between(1, 31);
    for (uint32_t &x : k.coefficients)
        x = random.one_in(3) ? 0 : (random.word() & kSignBit) | random.below(1u << random.between(1, bits));
}

Extent random_part(Random &random, const Extent &e) {
    const auto side = [&](int begin, int end) {
        const int from = random.between(begin, std::max(end - 1, begin));
        return std::pair{from, random.between(std::min(from + 1, end), end)};
    };
    const auto x = side(e.x0, e.x1), y = side(e.y0, e.y1);
    return {x.first, y.first, x.second, y.second};
}

Extent intersection(const Extent &a, const Extent &b) {
    return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

InverseCase random_case(Random &random, int longest) {
    InverseCase k;
    Description &d = k.d;
    const int least = random.one_in(3) ? random.between(1, 3) : 1;  // most components have this sampling
    d.x0 = random.between(0, random.one_in(3) ? 1000 : 9), d.y0 = random.between(0, random.one_in(3) ? 1000 : 9);
    d.width = random.between(1, random.one_in(4) ? 5 : longest), d.height = random.between(1, longest);
    d.tile_width = random.one_in(2) ? 4 * longest : random.between(longest / 5 + 1, longest);
    d.tile_height = random.one_in(2) ? 4 * longest : random.between(longest / 5 + 1, longest);
    d.tile_x0 = random.between(std::max(0, d.x0 - d.tile_width + 1), d.x0);
    d.tile_y0 = random.between(std::max(0, d.y0 - d.tile_height + 1), d.y0);
    d.tiles_x = static_cast<int>(ceil_div(d.x0 + d.width - d.tile_x0, d.tile_width));
    d.tiles_y = static_cast<int>(ceil_div(d.y0 + d.height - d.tile_y0, d.tile_height));
    const bool deep = random.one_in(2), alike = random.one_in(2);
    for (int c = random.between(1, 5); c > 0; c--) {
        const bool other = random.one_in(4);
        d.components.push_back({.dx = other ? random.between(1, 3) : least,
                                .dy = other ? random.between(1, 3) : least,
                                .depth = random.between(1, deep ? 16 : 8),
                                .is_signed = random.one_in(4)});
        if (alike) d.components.back().depth = d.components[0].depth;
    }
    k.lowres = random.one_in(3) ? random.between(0, 3) : 0;
    const auto has_mct = [&] { return d.components.size() >= 3 && random.one_in(2); };
    set_coding(random, d, d, k.lowres, has_mct());
    for (int tile = 0; tile < d.tiles(); tile++)
        if (random.one_in(3)) set_coding(random, d.own_coding[static_cast<uint32_t>(tile)], d, k.lowres, has_mct());
    k.g = make_geometry(d);
    const bool region = random.one_in(3), few = random.one_in(4);
    for (size_t c = 0; c < d.components.size(); c++) {
        const Extent e = component_extent(d, c, k.lowres);
        const auto first = static_cast<uint32_t>(k.channels.size());
        k.outputs.push_back({.part = region ? random_part(random, e) : e, .first_channel = first, .last_channel = 0});
        if (region && c && e.x0 == component_extent(d, 0, k.lowres).x0 && !random.one_in(4))
            k.outputs[c].part = intersection(k.outputs[0].part, e);
        for (int i = few ? random.between(0, 2) : 1; i > 0; i--) add_channel(random, k, c);
        k.outputs[c].last_channel = static_cast<uint32_t>(k.channels.size());
    }
    fill(random, k);
    k.multiprocessors = random.of<int>({1, 4, 132});
    return k;
}

// ---- On the host

template <class Sample>
Sample *values_at(std::vector<uint32_t> &words, uint64_t at) {
    return reinterpret_cast<Sample *>(words.data() + at);
}

template <class Sample>
void make_resolution(ThreadPool &pool, const InverseCase &k, const TileCoding &coding, size_t c, const TileComponent &t,
                     std::vector<uint32_t> &words) {
    const ComponentCoding &own = coding.of_component(c);
    const int stride = t.x1 - t.x0;
    for (int r = 0; r <= own.levels; r++)
        for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++) {
            const SubBand band = sub_band(t, own.levels, r, o);
            const float step = step_size(coding, k.d.components[c], c, band_index(r, o));
            for (int y = 0; y < band.extent.height() && band.extent.width() > 0; y++)
                dequantise_row<Sample>(
                    &words[band.coefficients + static_cast<uint64_t>(y) * static_cast<uint64_t>(stride)],
                    band.extent.width(), coding.region_shift(c), step);
        }
    for (int level = own.levels - 1; level >= k.lowres; level--)
        if (const Extent e = extent_at(t, level); e.width() > 0 && e.height() > 0)
            inverse_transform_level(pool, values_at<Sample>(words, t.samples), e, stride);
}

template <class Sample>
void transform_components(const InverseCase &k, const TileComponent *t, std::vector<uint32_t> &words) {
    const Extent e = extent_at(t[0], k.lowres);
    for (int y = 0; y < e.height(); y++)
        for (int x = 0; x < e.width(); x++) {
            const auto at = [&](size_t c) -> Sample & {
                return *values_at<Sample>(
                    words, t[c].samples + static_cast<uint64_t>(y) * static_cast<uint64_t>(t[c].x1 - t[c].x0) +
                               static_cast<uint64_t>(x));
            };
            inverse_component_transform(at(0), at(1), at(2));
        }
}

template <class Sample>
void store(InverseCase &k, size_t c, const TileComponent &t, std::vector<uint32_t> &words) {
    const Component &component = k.d.components[c];
    const Extent e = extent_at(t, k.lowres), part = k.outputs[c].part;
    const int32_t level = component.is_signed ? 0 : 1 << (component.depth - 1);
    for (int y = std::max(e.y0, part.y0); y < std::min(e.y1, part.y1); y++)
        for (int x = std::max(e.x0, part.x0); x < std::min(e.x1, part.x1); x++) {
            const uint64_t at = t.samples + static_cast<uint64_t>(y - e.y0) * static_cast<uint64_t>(t.x1 - t.x0) +
                                static_cast<uint64_t>(x - e.x0);
            const int32_t sample = to_sample(*values_at<Sample>(words, at), component.depth) + level;
            for (uint32_t i = k.outputs[c].first_channel; i < k.outputs[c].last_channel; i++) {
                ChannelCase &channel = k.channels[i];
                ChannelLayout to = channel.layout;
                if (!channel.values.empty())
                    to.values = channel.values.data(), to.last_value = static_cast<int32_t>(channel.values.size() - 1);
                const auto word = static_cast<uint16_t>(to.word_of(sample));
                std::memcpy(&channel.plane[channel.offset + static_cast<size_t>((y - part.y0) * to.stride +
                                                                                int64_t{x - part.x0} * to.step)],
                            &word, to.wide() ? 2 : 1);
            }
        }
}

// Fills the channels' planes. False: components of a component transform differ in size.
bool make_planes(InverseCase &k) {
    ThreadPool pool(2);
    std::vector<uint32_t> words = k.coefficients;
    const size_t components = k.d.components.size();
    for (size_t tile = 0; tile < static_cast<size_t>(k.d.tiles()); tile++) {
        const TileCoding &coding = k.d.of_tile(static_cast<uint32_t>(tile));
        const TileComponent *t = &k.g.tile_components[tile * components];
        const auto each = [&](const auto &make) {
            for (size_t c = 0; c < components; c++)
                coding.of_component(c).reversible ? make.template operator()<int32_t>(c)
                                                  : make.template operator()<float>(c);
        };
        each([&]<class Sample>(size_t c) { make_resolution<Sample>(pool, k, coding, c, t[c], words); });
        bool same_size = true, is_wanted = false;
        for (size_t c = 0; coding.mct && c < 3; c++) {
            const Extent e = extent_at(t[0], k.lowres), own = extent_at(t[c], k.lowres),
                         part = intersection(own, k.outputs[c].part);
            same_size = same_size && own.width() == e.width() && own.height() == e.height();
            is_wanted = is_wanted || (part.width() > 0 && part.height() > 0);
        }
        if (is_wanted && !same_size) return false;
        if (coding.mct && same_size)
            coding.reversible ? transform_components<int32_t>(k, t, words) : transform_components<float>(k, t, words);
        each([&]<class Sample>(size_t c) { store<Sample>(k, c, t[c], words); });
    }
    return true;
}

// ---- On a device

void check_case(const std::shared_ptr<Device> &device, const InverseCase &k, const InverseCase &expected) {
    const InversePlan plan = plan_inverse_transform(k.d, k.g.tile_components, k.lowres, k.outputs, k.multiprocessors);
    const Guarded<InverseWork> work(device, plan.work);
    const Guarded<uint32_t> even(device, size_t{plan.values[0]}), odd(device, size_t{plan.values[1]});
    const DeviceArray<uint32_t> coefficients = upload_now(device, k.coefficients);  // it ends where they do
    std::vector<Guarded<uint8_t>> planes;
    std::vector<Guarded<int32_t>> palettes;
    std::vector<ChannelLayout> layouts;
    for (const ChannelCase &channel : k.channels) {
        planes.emplace_back(device, channel.plane);
        palettes.emplace_back(device, channel.values);
        layouts.push_back(channel.layout);
        layouts.back().data = planes.back().data() + channel.offset;
        if (channel.values.empty()) continue;
        layouts.back().values = palettes.back().data();
        layouts.back().last_value = static_cast<int32_t>(channel.values.size() - 1);
    }
    const Guarded<ChannelLayout> channels(device, layouts);
    queue_inverse_transform(*device, nullptr, plan,
                            {.work = work.data(),
                             .coefficients = coefficients.data(),
                             .resolutions = {even.data(), odd.data()},
                             .channels = channels.data()});
    for (size_t i = 0; i < planes.size(); i++) {
        const ChannelCase &channel = expected.channels[i];
        const std::vector<uint8_t> is = planes[i].read("plane");
        const auto wrong = std::mismatch(is.begin(), is.end(), channel.plane.begin());
        if (wrong.first == is.end()) continue;
        const int64_t at = wrong.first - is.begin() - static_cast<int64_t>(channel.offset);
        ck_abort_msg("channel %zu of component %zu, row %d, column %d is %d, not %d: %s", i, channel.component,
                     static_cast<int>(at / channel.layout.stride),
                     static_cast<int>(at % channel.layout.stride / channel.layout.step), *wrong.first, *wrong.second,
                     k.text().c_str());
    }
    std::vector<uint32_t> read(k.coefficients.size());
    device->download(nullptr, read.data(), coefficients.data(), read.size() * sizeof(uint32_t));
    device->synchronize(Device::Stream{});
    EXPECT(read == k.coefficients, "coefficients have changed: %s", k.text().c_str());
    even.read("even resolutions");
    odd.read("odd resolutions");
    work.read("work");
    channels.read("channels");
}

void check_random(const std::shared_ptr<Device> &device, Random &random, int longest) {
    const InverseCase k = random_case(random, longest);
    InverseCase expected = k;
    if (make_planes(expected)) return check_case(device, k, expected);
    bool refused = false;
    try {
        plan_inverse_transform(k.d, k.g.tile_components, k.lowres, k.outputs, 1);
    } catch (const Error &) {
        refused = true;
    }
    EXPECT(refused, "a component transform of different sizes is planned: %s", k.text().c_str());
}

START_TEST(any_coefficients_to_any_planes) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 1);
    for (int repeat = 0; repeat < 400; repeat++)
        check_random(device, random, repeat % 10 == 0 ? 300 : repeat % 3 ? 40 : repeat % 2 ? 9 : 130);
}
END_TEST

// ---- All samples of a picture in one tile, or in many alike

InverseCase plain_case(Random &random, int width, int height, int components, int depth, int levels, bool reversible,
                       int tile = 0) {
    InverseCase k;
    Description &d = k.d;
    d.width = width, d.height = height;
    d.tile_width = tile ? tile : width, d.tile_height = tile ? tile : height;
    d.tiles_x = static_cast<int>(ceil_div(width, d.tile_width));
    d.tiles_y = static_cast<int>(ceil_div(height, d.tile_height));
    for (int c = 0; c < components; c++) d.components.push_back({.dx = 1, .dy = 1, .depth = depth});
    set_coding(random, d, d, 0, components >= 3);
    d.coc.clear(), d.region_shifts.clear(), d.quantisation.clear();
    set_levels(d, levels, reversible);
    Quantisation q{.guard_bits = 1, .steps = {}};
    for (int band = 0; band < 3 * levels + 1; band++) q.steps.push_back({depth + 2, 500});
    d.quantisation.assign(static_cast<size_t>(components), q);
    k.g = make_geometry(d);
    for (size_t c = 0; c < d.components.size(); c++) {
        const auto i = static_cast<uint32_t>(c);
        k.outputs.push_back({component_extent(d, c, 0), i, i + 1});
        ChannelCase channel{.component = c, .layout = {}, .offset = 0, .values = {}, .plane = {}};
        channel.layout.depth = depth, channel.layout.step = depth > 8 ? 2 : 1;
        channel.layout.stride = int64_t{width} * channel.layout.step;
        channel.plane.assign(static_cast<size_t>(channel.layout.stride * height), 0xA5);
        k.channels.push_back(channel);
    }
    k.coefficients.resize(k.g.samples);
    for (uint32_t &x : k.coefficients)
        if (random.one_in(3)) x = (random.word() & kSignBit) | random.below(64);
    return k;
}

START_TEST(strips_and_segments_of_every_size) {
    const auto device = open_test_device(_i);
    Random random(static_cast<uint64_t>(_i) + 100);
    for (const bool reversible : {true, false}) {
        const int strip = 2 * (reversible ? kStripPairs<Dwt53> : kStripPairs<Dwt97>);
        for (const int width : {1, 2, 3, strip - 1, strip, strip + 1, 4 * strip, 4 * strip + 1})
            for (const int height : {1, 2, 3, 7, 8, 9, 33}) {
                InverseCase k = plain_case(random, width, height, random.one_in(2) ? 1 : 3, random.one_in(2) ? 8 : 12,
                                           random.between(1, 3), reversible);
                k.multiprocessors = random.of<int>({1, 132});
                InverseCase expected = k;
                make_planes(expected);
                check_case(device, k, expected);
            }
    }
}
END_TEST

START_TEST(large_pictures) {
    const auto device = open_test_device(_i);
    const bool large = benched_on_gpu(device);
    const int width = large ? 3840 : 96, height = large ? 2160 : 96;
    Random random(static_cast<uint64_t>(_i) + 200);
    struct Samples {
        int components, depth, tile;
    };
    for (const auto &[components, depth, tile] : {Samples{3, 8, 0}, {3, 12, 0}, {1, 8, 0}, {3, 8, large ? 256 : 32}})
        for (const bool reversible : {true, false}) {
            InverseCase k = plain_case(random, width, height, components, depth, 5, reversible, tile);
            k.multiprocessors = device->multiprocessors();
            InverseCase expected = k;
            make_planes(expected);
            bench(
                format_string("%s, %d x %d bits%s", reversible ? "5/3" : "9/7", components, depth,
                              tile ? ", tiles" : ""),
                device, 1. * components * width * height, "samples", [&] { check_case(device, k, expected); },
                "j2k/transform");
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("j2k_idwt");
    TCase *kernels = add_case(suite, "kernels");
    const int devices = static_cast<int>(device_specs.size());
    tcase_add_loop_test(kernels, any_coefficients_to_any_planes, 0, devices);
    tcase_add_loop_test(kernels, strips_and_segments_of_every_size, 0, devices);
    tcase_add_loop_test(kernels, large_pictures, 0, devices);
    return run_suite(suite);
}
