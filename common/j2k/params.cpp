// SPDX-License-Identifier: LGPL-2.1-or-later
#include "params.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "../error.h"
#include "../hd.h"
#include "../options.h"
#include "block_coders.h"
#include "decoders.h"
#include "dwt.h"
#include "jp2_metadata.h"
#include "profile.h"
#include "quantise.h"
#include "slope.h"

namespace cudaenc::j2k {

namespace {

constexpr int kMaxSize = 32768;
constexpr int kMaxTiles = 65535;  // T.800 A.4.2: Isot has 16 bits, 65535 is reserved

// "WxH,WxH,...", highest resolution first; T.800 A.6.1: exponents 0 to 15, 0 for the lowest resolution only.
void parse_precincts(Params &params, const char *text) {
    params.precinct_width_log2.fill(15);
    params.precinct_height_log2.fill(15);
    params.default_precincts = !text || !*text;
    if (params.default_precincts) return;
    int width = 0, height = 0;  // exponents; of all resolutions behind the last size
    const char *at = text;
    for (int resolution = params.levels; resolution >= 0; resolution--) {
        if (*at) {
            long w, h;
            int used = 0;
            if (std::sscanf(at, "%ld%*1[xX]%ld%n", &w, &h, &used) != 2 || (at[used] && at[used] != ',') ||
                (at[used] && !at[used + 1]))
                refuse(
                    format_string("precincts '%s' is not allowed: it is WxH[,WxH...], highest resolution first", text));
            at += used + (at[used] == ',');
            const int low = resolution ? 2 : 1;
            if (w < low || w > 32768 || h < low || h > 32768 || (w & (w - 1)) || (h & (h - 1)))
                refuse(format_string("precincts '%s': %ldx%ld is not allowed: sides are powers of two, %d to 32768%s",
                                     text, w, h, low, resolution ? " (1 only at the lowest resolution)" : ""));
            width = bit_width(static_cast<uint32_t>(w)) - 1;
            height = bit_width(static_cast<uint32_t>(h)) - 1;
        }
        params.precinct_width_log2[resolution] = std::max(width, resolution ? 1 : 0);
        params.precinct_height_log2[resolution] = std::max(height, resolution ? 1 : 0);
    }
    if (*at)
        refuse(format_string("precincts '%s' has more sizes than levels %d has resolutions (%d)", text, params.levels,
                             params.levels + 1));
}

constexpr size_t kMaxPoc = 9361;  // T.800 A.6.6: Lpoc has 16 bits, a change takes 7 bytes
constexpr const char *kProgressionNames[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};

// "RS,CS,LYE,RE,CE,ORDER[/...]": the fields of A.6.6, a change after a slash.
void parse_poc(Params &params, const char *text) {
    for (const char *at = text ? text : ""; *at;) {
        ProgressionChange change{};
        int used = 0;
        char order[5] = "";
        std::sscanf(at, "%d,%d,%d,%d,%d,%4[a-z]%n", &change.first_resolution, &change.first_component,
                    &change.last_layer, &change.last_resolution, &change.last_component, order, &used);
        const auto *name = std::find_if(std::begin(kProgressionNames), std::end(kProgressionNames),
                                        [&](const char *x) { return !std::strcmp(x, order); });
        if (!used || (at[used] && at[used] != '/') || name == std::end(kProgressionNames))
            refuse(
                format_string("poc '%s' is not allowed: it is RS,CS,LYE,RE,CE,ORDER[/...], the order one of lrcp, "
                              "rlcp, rpcl, pcrl, cprl",
                              text));
        const auto within = [&](const char *what, int first, int last, int most) {
            if (first < 0 || first >= most || last <= first || last > most)
                refuse(format_string("poc '%s': %s %d to %d are not allowed: they are 0 to %d, the last one excluded",
                                     text, what, first, last, most));
        };
        within("resolutions", change.first_resolution, change.last_resolution, params.levels + 1);
        within("components", change.first_component, change.last_component, static_cast<int>(params.components.size()));
        within("layers", 0, change.last_layer, params.layers);
        change.progression = static_cast<CudaencJ2kProgression>(name - std::begin(kProgressionNames));
        params.poc.push_back(change);
        if (params.poc.size() > kMaxPoc) refuse(format_string("poc has more than %zu changes", kMaxPoc));
        at += used + (at[used] == '/');
        if (at[-1] == '/' && !*at) refuse(format_string("poc '%s' is not allowed: nothing follows its last /", text));
    }
    for (int c = 0; !params.poc.empty() && c < static_cast<int>(params.components.size()); c++)
        for (int r = 0; r <= params.levels; r++)
            if (std::none_of(params.poc.begin(), params.poc.end(), [&](const ProgressionChange &change) {
                    return change.first_resolution <= r && r < change.last_resolution && change.first_component <= c &&
                           c < change.last_component && change.last_layer == params.layers;
                }))
                refuse(
                    format_string("poc '%s' leaves out resolution %d of component %d%s", text, r, c,
                                  params.layers > 1 ? format_string(" in layer %d", params.layers - 1).c_str() : ""));
}

using Filter = std::vector<double>;

Filter upsample_and_convolve(const Filter &a, const Filter &b, size_t factor) {
    Filter r(a.size() + (b.size() - 1) * factor);
    for (size_t i = 0; i < a.size(); i++)
        for (size_t j = 0; j < b.size(); j++) r[i + j * factor] += a[i] * b[j];
    return r;
}

double sum_of_magnitudes(const Filter &filter) {
    double sum = 0;
    for (double x : filter) sum += std::fabs(x);
    return sum;
}

double norm(const Filter &filter) {
    double sum = 0;
    for (double x : filter) sum += x * x;
    return std::sqrt(sum);
}

// The filters from the signal to the sub-bands of each level, on the signal's grid.
class FilterBank {
  public:
    FilterBank(const Filter &low, const Filter &high) : levels_{{{1.0}, {}}} {
        for (int level = 1; level <= kLevels; level++) {
            const size_t factor = size_t{1} << (level - 1);
            const Filter before = levels_.back().low;
            levels_.push_back(
                {upsample_and_convolve(before, low, factor), upsample_and_convolve(before, high, factor)});
        }
    }
    double band_sum(int level, int o) const { return product(level, o, sum_of_magnitudes); }
    // From kLevels on, a norm doubles with each level.
    double band_norm(int level, int o) const {
        return product(level, o, norm) * std::ldexp(1.0, std::max(level - kLevels, 0));
    }

  private:
    static constexpr int kLevels = 8;  // norms have converged by then
    struct Filters {
        Filter low, high;
    };
    // Of both directions' filters.
    double product(int level, int o, double (*measure)(const Filter &)) const {
        const Filters &f = levels_[std::min(level, kLevels)];
        return measure(o == kLL || o == kLH ? f.low : f.high) * measure(o == kLL || o == kHL ? f.low : f.high);
    }
    std::vector<Filters> levels_;
};

// log2_code() of a weight of the squared error.
int weight_code(double weight) {
    const int scale = std::min(24, 62 - std::ilogb(weight));  // bits
    return log2_code(static_cast<uint64_t>(std::ldexp(weight, scale)) + 1) - scale * kSlopeOctave;
}

// The norm of a component's column in the inverse ICT (T.800 G.3.2) or RCT (G.2.2, without rounding).
double component_norm(const Params &params, size_t c) {
    if (!params.mct || c > 2) return 1;
    if (c == 0) return std::sqrt(3.0);
    if (params.reversible) return std::sqrt(0.6875);
    return c == 1 ? std::sqrt(0.344136 * 0.344136 + 1.772 * 1.772) : std::sqrt(1.402 * 1.402 + 0.714136 * 0.714136);
}

// make(c, level, o): the quantiser of a component's sub-band.
template <class Make>
void set_quantisers(Params &params, const Make &make) {
    params.quantisers.resize(params.components.size());
    for (size_t c = 0; c < params.components.size(); c++)
        for (int r = 0; r <= params.levels; r++)
            for (int o = r ? kHL : kLL; o <= (r ? kHH : kLL); o++)
                params.quantisers[c].push_back(make(c, r ? params.levels + 1 - r : params.levels, o));
}

// T.800 E.1.1 fixes M_b = G + epsilon_b - 1. Without quantisation epsilon_b is free. It is the smallest that no input
// outgrows, by the largest sample and the sum of the analysis filters' magnitudes.
void set_reversible(Params &params) {
    static const FilterBank analysis({-0.125, 0.25, 0.75, 0.25, -0.125}, {-0.5, 1.0, -0.5});
    static const FilterBank synthesis({0.5, 1.0, 0.5}, {-0.125, -0.25, 0.75, -0.25, -0.125});
    set_quantisers(params, [&](size_t c, int level, int o) -> Quantiser {
        // The RCT's differences have one bit more than the samples. With a target all components have their planes,
        // which takes less than QCC marker segments.
        const bool differs = params.mct && (c == 1 || c == 2 || (c == 0 && params.rate.target()));
        const double largest = std::ldexp(1.0, params.components[c].depth - (differs ? 0 : 1));
        // Two more a level for the lifting steps' rounding; a single odd sample is doubled in each direction.
        const double bound = std::max(largest * analysis.band_sum(level, o), o != kLL ? largest * 4 : 0.0) + 2 * level;
        const int fewest = bit_width(static_cast<uint32_t>(std::ceil(bound))),
                  spare = block_coder_traits(params.style).spare_planes,
                  room = params.magnitude_bound ? std::max(params.magnitude_bound, fewest) : fewest + spare,
                  planes = std::max(std::min(fewest + spare, room), params.guard_bits - 1);
        const double energy = synthesis.band_norm(level, o), norm = component_norm(params, c);
        return {.exponent = planes + 1 - params.guard_bits,
                .mantissa = 0,
                .inverse_step = 1,
                .planes = planes,
                .weight = weight_code(energy * energy * norm * norm)};
    });
}

// The synthesis filters of 9/7 (T.800 F.3.8.2), from the lifting parameters of dwt.h.
FilterBank synthesis_97() {
    // Synthesis undoes lifting: a low coefficient at 0 and a high one at 1, on even and odd positions.
    const auto impulse = [&](bool high) {
        Filter x(17);
        const size_t centre = 8 + (high ? 1 : 0);
        x[centre] = high ? 1 / kScale : kScale;
        const auto lift = [&](size_t first, double weight) {
            Filter y = x;
            for (size_t i = first; i < x.size(); i += 2)
                y[i] -= weight * ((i ? x[i - 1] : 0) + (i + 1 < x.size() ? x[i + 1] : 0));
            x = y;
        };
        lift(0, kDelta), lift(1, kGamma), lift(0, kBeta), lift(1, kAlpha);
        return x;
    };
    return {impulse(false), impulse(true)};
}

// Delta_b = 2^(R_b - epsilon_b) (1 + mu_b / 2^11), T.800 E.1.1, nearest to the step of `quality`.
// An error of a step weighs the same in the picture's mean square error in all sub-bands and components. So a step is
// the base step over the norms of the synthesis filters and of the inverse component transform. The base step, as a
// share of the samples' range, falls with quality as JPEG's tables do. At 100 it is below half of a code value. The
// block coder scales it. Quality 0 is for blocks that are truncated to a target: half of a code value; where frames
// choose their steps see fit_frame_steps(). No sub-band has more bit-planes than a float's significand has bits: the
// transform would not fill them, and decoders need not hold them.
constexpr int kFloatPlanes = 24;
// Of frames that choose their steps the finest, with which next to no sample of 8 bits is wrong. The session's have
// more bit-planes, so that thresholds of the frame's fall between those of the session's.
constexpr double kFinestStep = 0.15, kExactStep = 1.2;
constexpr int kSparePlanes = 2;
void set_irreversible(Params &params, int quality) {
    static const FilterBank synthesis = synthesis_97();
    const double scale = !quality ? 0 : quality < 50 ? 50.0 / quality : 2.0 * (1.0 - quality / 100.0);
    set_quantisers(params, [&](size_t c, int level, int o) -> Quantiser {
        const Component &component = params.components[c];
        double base = quality ? (0.04 * scale * std::ldexp(1.0, component.depth) + 0.5) *
                                    block_coder_traits(params.style).quality_step
                      : params.frame_steps ? kFinestStep
                                           : 0.5;
        // With all passes coded, the error is a small part of what the target allows.
        if (!quality && params.rate.error != 0)
            base = std::min(base, std::sqrt(params.rate.error * squared_peak(component)) / 6);
        const double norm = component_norm(params, c), energy = synthesis.band_norm(level, o);
        // Where blocks are truncated, components have the same steps: QCC marker segments would take 76 bytes, and say
        // a tenth of a step.
        const bool by_component = c < 3 && (quality || block_coder_traits(params.style).frame_steps);
        const double weight = by_component ? norm / component_norm(params, 0) : 1;
        const double step = base / (weight * energy);
        const int nominal = component.depth + (o == kLL ? 0 : o == kHH ? 2 : 1);  // R_b
        int binary;
        const double fraction = std::frexp(step, &binary) * 2;  // step = fraction 2^(binary - 1), fraction in [1, 2)
        int exponent = nominal - (binary - 1);
        int mantissa = static_cast<int>((fraction - 1) * 2048 + 0.5);
        if (mantissa == 2048) mantissa = 0, exponent--;
        const int planes = params.magnitude_bound ? params.magnitude_bound + level - 1 : kFloatPlanes,
                  highest = std::min(planes, kFloatPlanes) + 1 - params.guard_bits;
        const int spare = params.frame_steps ? kSparePlanes + std::max(exponent - highest, 0) : 0;
        if (exponent > highest) exponent = highest, mantissa = 0;
        // A frame's larger steps may have an exponent less by one.
        const int least = params.frame_steps ? 1 : 0;
        if (exponent < least) exponent = least, mantissa = 2047;
        exponent += spare;
        const double coded = std::ldexp(1 + mantissa / 2048.0, nominal - exponent);
        return {.exponent = exponent,
                .mantissa = mantissa,
                .inverse_step = static_cast<float>(1 / coded),
                .planes = params.guard_bits + exponent - 1,
                .weight = weight_code(coded * coded * energy * energy * norm * norm),
                .spare = spare};
    });
}

// Where frames choose their steps, coefficients have 16 bits if steps of four times the finest fit these, as those of 8
// bits and 5 levels do. Then lower resolutions, whose sub-bands have the most bit-planes, leave out the lowest ones.
constexpr int kCoarserPlanes = 2;
void fit_frame_steps(Params &params) {
    const Quantiser &first = params.quantisers[0][0];
    const double exact = kExactStep * component_norm(params, 0);
    params.step_weights = {.finest = first.weight + 2 * kSlopeOctave * first.spare,
                           .exact = weight_code(exact * exact)};
    bool is_short = true;
    for (const auto &bands : params.quantisers)
        for (const Quantiser &q : bands)
            is_short = is_short && q.planes - std::max(q.spare, kSparePlanes + kCoarserPlanes) <= kShortPlanes;
    for (auto &bands : params.quantisers)
        for (Quantiser &q : bands) {
            const int less = std::max(q.planes - (is_short ? kShortPlanes : kFloatPlanes), 0);
            q.exponent -= less;
            q.planes -= less;
            q.inverse_step = std::ldexp(q.inverse_step, -less);
            q.weight += 2 * kSlopeOctave * less;
            q.spare = std::max(q.spare - less, 0);
        }
}

// "X,Y,WIDTH,HEIGHT"; T.800 H.1.2: shifted by all bit-planes of coefficients without it. One more is for decoders that
// keep half a bit below the magnitude, and compare with that.
constexpr int kMaxRoiPlanes = 14;  // twice that, and two, fit the planes that decoders hold
void parse_roi(Params &params, const char *text) {
    if (!text || !*text) return;
    Roi &roi = params.roi;
    int used = 0;
    if (std::sscanf(text, "%d,%d,%d,%d%n", &roi.x, &roi.y, &roi.width, &roi.height, &used) != 4 || text[used])
        refuse(format_string("roi '%s' is not allowed: it is X,Y,WIDTH,HEIGHT", text));
    if (roi.x < 0 || roi.y < 0 || roi.width < 1 || roi.height < 1 || roi.x > params.width - roi.width ||
        roi.y > params.height - roi.height)
        refuse(format_string("roi '%s' is not allowed: it lies within the picture of %dx%d", text, params.width,
                             params.height));
    for (const auto &bands : params.quantisers)
        for (const Quantiser &q : bands) roi.shift = std::max(roi.shift, q.planes);
    if (roi.shift > kMaxRoiPlanes)
        refuse(
            format_string("roi '%s' is not allowed with %d bit-planes: there are at most %d; a lower quality, fewer "
                          "guard_bits or fewer levels have less",
                          text, roi.shift, kMaxRoiPlanes));
    roi.shift++;
}

constexpr uint64_t kMaxTarget = uint64_t{1} << 40;  // bytes: no frame has more
void parse_rate(Params &params, const CudaencJ2kOptions &options) {
    const bool by_layers = options.layer_rates && *options.layer_rates;
    const int targets = (options.bit_rate != 0) + (options.frame_bytes != 0) + (options.compression_ratio != 0) +
                        (options.psnr != 0) + by_layers;
    if (targets > 1)
        refuse(
            "b, frame_bytes, compression_ratio, psnr and layer_rates are not allowed together: one of them is the "
            "target");
    if (options.rate_control > CUDAENC_J2K_RATE_NONE && !targets)
        refuse("rate_control needs a target: b, frame_bytes, compression_ratio, psnr or layer_rates");
    if (options.rate_control == CUDAENC_J2K_RATE_NONE && targets)
        refuse("rate_control none is not allowed with a target");
    if (options.psnr != 0 && options.rate_control > CUDAENC_J2K_RATE_PCRD)
        refuse("rate_control pst, psb, bpi and psp are not allowed with psnr: allowed are pcrd and auto");
    params.rate.mode = !targets                   ? CUDAENC_J2K_RATE_NONE
                       : options.psnr != 0        ? CUDAENC_J2K_RATE_PCRD
                       : options.rate_control < 0 ? CUDAENC_J2K_RATE_PSP
                                                  : static_cast<CudaencJ2kRateControl>(options.rate_control);
    params.rate.pst_lag = options.pst_lag;
    uint64_t bytes = 0;
    if (options.bit_rate) {
        if (options.frame_rate_num <= 0 || options.frame_rate_den <= 0) refuse("b is not allowed without a frame rate");
        bytes = static_cast<uint64_t>(
            std::min(static_cast<long double>(options.bit_rate) * options.frame_rate_den / options.frame_rate_num / 8,
                     static_cast<long double>(kMaxTarget)));
    } else if (options.frame_bytes) {
        bytes = std::min(static_cast<uint64_t>(options.frame_bytes), kMaxTarget);
    } else if (options.compression_ratio != 0) {
        bytes = static_cast<uint64_t>(params.sample_bytes() / options.compression_ratio);
    } else if (options.psnr != 0) {
        params.rate.error = std::pow(10, -options.psnr / 10);
    }
    if (targets && options.psnr == 0 && !by_layers) bytes = std::max<uint64_t>(bytes, 1);
    if (!by_layers) {
        params.rate.layers.assign(static_cast<size_t>(params.layers), 0);
        params.rate.layers.back() = bytes;
        return;
    }
    double last = 1e9;
    for (const char *at = options.layer_rates; *at;) {
        char *end;
        const double ratio = std::strtod(at, &end);
        if (end == at || !(ratio >= 1 && ratio < last) || (*end && *end != ',') || (*end == ',' && !end[1]))
            refuse(format_string(
                "layer_rates '%s' is not allowed: it is compression ratios R0,R1,..., each smaller than the "
                "one before and at least 1",
                options.layer_rates));
        params.rate.layers.push_back(ratio > 1 ? static_cast<uint64_t>(params.sample_bytes() / ratio) : 0);
        last = ratio;
        at = *end ? end + 1 : end;
    }
    const int count = static_cast<int>(params.rate.layers.size());
    if (count > kMaxLayers || (params.layers > 1 && params.layers != count))
        refuse(format_string(
            "layer_rates '%s' has %d layers: %s", options.layer_rates, count,
            count > kMaxLayers ? "at most 100 are allowed" : format_string("layers says %d", params.layers).c_str()));
    params.layers = count;
}

// A frame is filled up by a COM marker segment, of seven bytes or more, and stays within its limits.
uint64_t least_bytes(const Params &params, const CudaencJ2kOptions &options) {
    const uint64_t least = static_cast<uint64_t>(options.min_frame_bytes);
    for (const uint64_t most : {params.limits.frame, params.rate.layers.back(), uint64_t{1} << 24})
        if (most && least && least + 6 > most)
            refuse(format_string("min_frame_bytes %lld is not allowed: with these options it is at most %lld",
                                 static_cast<long long>(least), static_cast<long long>(most) - 6));
    return least;
}

bool is_cinema(int profile) { return profile == CUDAENC_J2K_CINEMA_2K || profile == CUDAENC_J2K_CINEMA_4K; }

// SMPTE ST 428-1: files of DCDMs have 12 bits in the upper ones of 16.
void take_as_xyz(CudaencFormat &format) {
    if (format.color_model != CUDAENC_COLOR_RGB || format.has_alpha)
        refuse("xyz 2 is not allowed: it takes RGB without alpha, of 12 or 16 bits");
    for (int c = 0; c < format.components; c++) {
        CudaencComponent &k = format.component[c];
        if (k.depth != kXyzDepth && k.depth != 16)
            refuse(format_string("xyz 2 is not allowed with depth %d: it is 12 or 16", k.depth));
        k.shift += k.depth - kXyzDepth;
        k.depth = kXyzDepth;
    }
    format.color_model = CUDAENC_COLOR_XYZ;
}

void set_colours(Params &p, const CudaencFormat &format, const CudaencJ2kOptions &options) {
    p.input = format;
    const bool is_xyz = format.color_model == CUDAENC_COLOR_XYZ;
    const int xyz = options.xyz >= 0 ? options.xyz : is_cinema(options.profile) && can_become_xyz(format);
    std::string assumed;
    if (xyz == CUDAENC_XYZ_ALREADY && !is_xyz) take_as_xyz(p.input);
    if (xyz == CUDAENC_XYZ_ON && !is_xyz) p.xyz = make_xyz_tables(format, options, assumed);
    p.warn(assumed);
    p.color_model = p.xyz ? CUDAENC_COLOR_XYZ : p.input.color_model;
}

// The bytes of a file that an option names.
std::vector<uint8_t> read_file(const char *option, const char *path) {
    constexpr size_t kMost = 0x7FFFFFFF, kPiece = 1 << 20;
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> bytes;
    while (file && bytes.size() <= kMost) {
        const size_t before = bytes.size();
        bytes.resize(before + kPiece);
        file.read(reinterpret_cast<char *>(bytes.data()) + before, kPiece);
        bytes.resize(before + static_cast<size_t>(file.gcount()));
    }
    const char *why = !file.is_open()        ? "it cannot be opened"
                      : bytes.empty()        ? "it cannot be read, or is empty"
                      : bytes.size() > kMost ? "it is larger than 2 GiB"
                                             : nullptr;
    if (why) refuse(format_string("%s '%s' is not allowed: %s", option, path, why));
    return bytes;
}

bool has_text(const std::vector<uint8_t> &bytes, std::string_view text) {
    return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

void set_metadata(Params &p, const CudaencJ2kOptions &options) {
    const bool xmp = options.xmp && *options.xmp, iptc = options.iptc && *options.iptc;
    if (xmp) p.xmp = read_file("xmp", options.xmp);
    if (iptc) p.iptc = read_file("iptc", options.iptc);
    if (xmp && !has_text(p.xmp, "rdf:RDF"))
        refuse(
            format_string("xmp '%s' is not allowed: it is no XMP, which has an element rdf:RDF in UTF-8", options.xmp));
    if (iptc && !is_iptc(p.iptc))
        refuse(
            format_string("iptc '%s' is not allowed: it is neither IPTC-IIM, which begins with 1C hexadecimal, nor "
                          "Photoshop image resources, which begin with 8BIM",
                          options.iptc));
    p.capture_ppi = options.capture_ppi;
    p.display_ppi = options.display_ppi;
    if (!p.jp2 && (xmp || iptc || p.capture_ppi != 0 || p.display_ppi != 0))
        p.warn("xmp, iptc, capture_ppi and display_ppi have no effect: format j2k has no place for them");
}

}  // namespace

Params make_params(const CudaencFormat &format, const CudaencJ2kOptions &given) {
    check_format(format, kMaxSize);
    check_options(kJ2kOptions, given);

    const CudaencJ2kOptions options = fill_in(given, format);
    Params p{};
    set_colours(p, format, options);
    p.width = format.width;
    p.height = format.height;
    for (int c = 0; c < format.components; c++) {
        const CudaencComponent &k = p.input.component[c];
        p.components.push_back(p.xyz ? Component{1, 1, kXyzDepth}
                                     : Component{1 << k.log2_subsample_x, 1 << k.log2_subsample_y, k.depth});
    }

    // Profiles check the options' tile sizes, also those larger than the picture. That of digital cinema is the
    // picture, since libdcp's verifier refuses larger ones.
    const auto tile_side = [&](int option, int side) {
        return !option ? side : given.profile && !is_cinema(given.profile) ? option : std::min(option, side);
    };
    p.tile_width = tile_side(options.tile_width, p.width);
    p.tile_height = tile_side(options.tile_height, p.height);
    p.tiles_x = static_cast<int>(ceil_div(p.width, p.tile_width));
    p.tiles_y = static_cast<int>(ceil_div(p.height, p.tile_height));
    if (int64_t{p.tiles_x} * p.tiles_y > kMaxTiles)
        refuse(format_string("tile_width %d, tile_height %d cut %dx%d into %lld tiles: at most %d are allowed",
                             p.tile_width, p.tile_height, p.width, p.height,
                             static_cast<long long>(p.tiles_x) * p.tiles_y, kMaxTiles));

    // Options that are not set follow the profile.
    const int profile = is_strict(options.profile) ? options.profile : CUDAENC_J2K_NO_PROFILE;
    const auto or_else = [](int option, int otherwise) { return option < 0 ? otherwise : option; };
    p.levels = or_else(options.levels, default_levels(profile, p.tile_width));
    p.cblk_width_log2 = bit_width(static_cast<uint32_t>(options.cblk_width)) - 1;
    p.cblk_height_log2 = bit_width(static_cast<uint32_t>(options.cblk_height)) - 1;
    if (p.cblk_width_log2 + p.cblk_height_log2 > 12)
        refuse(format_string("cblk_width %d x cblk_height %d is not allowed: a code-block has at most 4096 samples",
                             options.cblk_width, options.cblk_height));
    p.style = static_cast<uint32_t>(options.cblk_style);
    p.layers = options.layers;
    parse_rate(p, options);
    block_coder_traits(p.style).check(p, options);
    const auto text_or_else = [](const char *option, const std::string &otherwise) {
        return option && *option ? std::string(option) : otherwise;
    };
    parse_precincts(p, text_or_else(options.precincts, default_precincts(profile, p.levels)).c_str());
    parse_poc(p, text_or_else(options.poc, default_poc(profile, p.levels)).c_str());
    p.tile_parts = options.tile_parts ? options.tile_parts : default_tile_parts(profile);

    const bool cinema = is_cinema(profile);
    p.reversible = or_else(options.pred, default_wavelet(profile)) == CUDAENC_J2K_DWT53;
    const bool alike =
        p.components.size() >= 3 &&
        std::all_of(p.components.begin() + 1, p.components.begin() + 3, [&](const Component &c) {
            return c.dx == p.components[0].dx && c.dy == p.components[0].dy && c.depth == p.components[0].depth;
        });
    if (options.mct == 1 && !alike)
        refuse("mct 1 is not allowed: it needs three components of one size and depth; allowed are auto and 0");
    p.mct = options.mct == 1 || (options.mct == -1 && alike && (cinema || p.color_model == CUDAENC_COLOR_RGB));
    p.progression = static_cast<CudaencJ2kProgression>(or_else(options.prog, default_progression(profile)));
    p.guard_bits = or_else(options.guard_bits, profile == CUDAENC_J2K_CINEMA_2K ? 1 : 2);
    p.sop = options.sop;
    p.eph = options.eph;
    p.tlm = or_else(options.tlm, profile != CUDAENC_J2K_NO_PROFILE);
    p.plt = options.plt;
    p.jp2 = or_else(options.format, profile ? CUDAENC_J2K_CODESTREAM : CUDAENC_J2K_JP2) == CUDAENC_J2K_JP2;
    if (p.jp2) p.colour = jp2_colour(p.input, p.color_model);
    set_metadata(p, options);
    if (!p.colour.untrue.empty())
        p.warn("format jp2 cannot tell of " + p.colour.untrue + ": decoders of .jp2 files take samples for " +
               (p.colour.enumerated == 17   ? "full-range grey"
                : p.colour.enumerated == 18 ? "sYCC"
                                            : "sRGB"));
    if (!p.jp2 && alike && p.color_model == CUDAENC_COLOR_YUV)
        p.warn("format j2k cannot tell of YUV 4:4:4: FFmpeg's decoder takes it for RGB");
    p.comment = comment_of(options.comment, 65531);
    apply_profile(p, options);
    p.truncatable = p.rate.target() || p.limits.frame || p.limits.component || p.layers > 1;
    p.frame_steps = block_coder_traits(p.style).frame_steps && !p.reversible && p.rate.predicts_slopes();
    if (p.reversible && options.quality >= 0)
        p.warn(format_string("pred dwt53 has no quality: %d has no effect", options.quality));
    if (p.reversible)
        set_reversible(p);
    else
        set_irreversible(p, p.quality = or_else(options.quality, p.rate.target() ? 0 : 90));
    if (p.frame_steps) fit_frame_steps(p);
    parse_roi(p, options.roi);
    p.least_bytes = least_bytes(p, options);
    p.warn(decoder_warning(p));
    return p;
}

std::string summary(const Params &p) {
    const uint64_t bytes = p.rate.layers.back();
    const bool target = bytes || p.rate.error != 0;
    std::string line = p.profile_name ? p.profile_name + std::string(", ") : "";
    line += std::string(p.jp2 ? "jp2, " : "j2k, ") + (!p.reversible ? "9/7" : target ? "5/3" : "5/3 lossless");
    if (const char *coder = block_coder_traits(p.style).style) line += std::string(", ") + coder;
    if (!p.reversible && p.quality) line += format_string(", quality %d", p.quality);
    if (bytes) line += format_string(", %llu bytes a frame", static_cast<unsigned long long>(bytes));
    if (p.rate.error != 0) line += format_string(", %g dB", -10 * std::log10(p.rate.error));
    return line + format_string(", %d levels, %dx%d blocks", p.levels, 1 << p.cblk_width_log2, 1 << p.cblk_height_log2);
}

}  // namespace cudaenc::j2k
