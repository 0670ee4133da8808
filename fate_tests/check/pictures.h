// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures, formats and options at random; whole encodes, through the C API and on a device. Include it last, as
// testing.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/error.h"
#include "../../common/j2k/encoder_tables.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/params.h"
#include "testing.h"

namespace cudaenc::testing {

struct Picture {
    CudaencFormat format;
    std::vector<uint8_t> memory[4];  // planes, the last row at the end of what is allocated
    ptrdiff_t stride[4] = {};
    bool upside_down = false;

    CudaencFrame frame() const {
        CudaencFrame frame{};
        for (int i = 0; i < format.planes; i++) {
            frame.data[i] = memory[i].data();
            frame.stride[i] = stride[i];
            if (!upside_down) continue;
            frame.data[i] += stride[i] * (rows(i) - 1);
            frame.stride[i] = -stride[i];
        }
        return frame;
    }
    int columns(int component) const {
        return (format.width - 1) / (1 << format.component[component].log2_subsample_x) + 1;
    }
    int component_rows(int component) const {
        return (format.height - 1) / (1 << format.component[component].log2_subsample_y) + 1;
    }
    ptrdiff_t rows(int plane) const {
        ptrdiff_t rows = 0;
        for (int c = 0; c < format.components; c++)
            if (format.component[c].plane == plane) rows = std::max<ptrdiff_t>(rows, component_rows(c));
        return rows;
    }
    size_t at(int component, int x, int y) const {
        const CudaencComponent &k = format.component[component];
        const ptrdiff_t row = upside_down ? rows(k.plane) - 1 - y : y;
        return static_cast<size_t>(row * stride[k.plane] + k.offset + ptrdiff_t{x} * k.step);
    }
    // Bits of the word around the sample stay.
    void set(int component, int x, int y, uint32_t value) {
        const CudaencComponent &k = format.component[component];
        uint8_t *to = &memory[k.plane][at(component, x, y)];
        const uint32_t mask = ((1u << k.depth) - 1) << k.shift;
        if (k.depth + k.shift > 8) {
            uint16_t word;
            std::memcpy(&word, to, 2);
            word = static_cast<uint16_t>((word & ~mask) | (value << k.shift & mask));
            std::memcpy(to, &word, 2);
        } else {
            *to = static_cast<uint8_t>((*to & ~mask) | (value << k.shift & mask));
        }
    }
    uint32_t get(int component, int x, int y) const {
        const CudaencComponent &k = format.component[component];
        const uint8_t *from = &memory[k.plane][at(component, x, y)];
        uint32_t word = *from;
        if (k.depth + k.shift > 8) {
            uint16_t both;
            std::memcpy(&both, from, 2);
            word = both;
        }
        return word >> k.shift & ((1u << k.depth) - 1);
    }
};

// Memory for a picture of the format, in which bits that belong to no sample are noise.
inline Picture make_picture(Random &random, const CudaencFormat &format) {
    Picture picture{format, {}, {}, false};
    for (int plane = 0; plane < format.planes; plane++) {
        ptrdiff_t row = 1;
        for (int c = 0; c < format.components; c++) {
            const CudaencComponent &k = format.component[c];
            if (k.plane != plane) continue;
            row = std::max<ptrdiff_t>(
                row, k.offset + ptrdiff_t{k.step} * (picture.columns(c) - 1) + (k.depth + k.shift > 8 ? 2 : 1));
        }
        picture.stride[plane] = (row + random.between(0, 9) + 1) / 2 * 2;
        picture.memory[plane].resize(static_cast<size_t>(picture.stride[plane] * (picture.rows(plane) - 1) + row));
        for (uint8_t &byte : picture.memory[plane]) byte = static_cast<uint8_t>(random.word());
    }
    return picture;
}

// What a picture shows.
enum class Content { noise, flat, black, white, one_bit, board, columns, rows, smooth, kinds };
inline void fill(Random &random, Picture &picture, Content content) {
    const uint32_t flat = random.word();
    const int period = random.between(1, 4);
    for (int c = 0; c < picture.format.components; c++) {
        const uint32_t limit = (1u << picture.format.component[c].depth) - 1;
        for (int y = 0; y < picture.component_rows(c); y++)
            for (int x = 0; x < picture.columns(c); x++) {
                uint32_t value = 0;
                switch (content) {
                    case Content::noise:
                        value = random.word() & limit;
                        break;
                    case Content::flat:
                        value = flat & limit;
                        break;
                    case Content::black:
                        break;
                    case Content::white:
                        value = limit;
                        break;
                    case Content::one_bit:
                        value = random.one_in(2) ? limit : 0;
                        break;
                    case Content::board:
                        value = (x / period + y / period) & 1 ? limit : 0;
                        break;
                    case Content::columns:
                        value = x / period & 1 ? limit : 0;
                        break;
                    case Content::rows:
                        value = y / period & 1 ? limit : 0;
                        break;
                    default: {
                        const uint32_t ramp = static_cast<uint32_t>(x * 3 + y * 5 + c * 40) * (limit / 255 + 1) / 4;
                        value = (ramp + random.below(limit / 32 + 1)) & limit;
                    }
                }
                picture.set(c, x, y, value);
            }
    }
}
inline Picture make_picture(Random &random, const CudaencFormat &format, Content content) {
    Picture picture = make_picture(random, format);
    fill(random, picture, content);
    return picture;
}

// Components in planes of their own, or interleaved in one.
inline CudaencFormat make_format(int width, int height, int components, int depth, bool packed,
                                 CudaencColorModel model) {
    CudaencFormat format{};
    format.width = width;
    format.height = height;
    format.components = components;
    format.planes = packed ? 1 : components;
    format.color_model = model;
    format.has_alpha = components == 2 || components == 4;
    format.color_primaries = format.color_transfer = format.color_matrix = 2;
    const int bytes = depth > 8 ? 2 : 1;
    for (int c = 0; c < components; c++)
        format.component[c] = {
            packed ? 0 : c, packed ? c * bytes : 0, packed ? components * bytes : bytes, 0, depth, 0, 0};
    return format;
}

inline CudaencFormat random_format(Random &random, int longest) {
    const int components = random.between(1, 4), depth = random.between(1, 16);
    const CudaencColorModel models[] = {CUDAENC_COLOR_RGB, CUDAENC_COLOR_YUV, CUDAENC_COLOR_XYZ};
    CudaencFormat format = make_format(random.between(1, longest), random.between(1, longest), components, depth,
                                       random.one_in(2), components < 3 ? CUDAENC_COLOR_GRAY : random.of(models));
    for (int c = 0; c < components; c++) {
        CudaencComponent &k = format.component[c];
        if (k.depth > 8) k.shift = random.between(0, 16 - k.depth);
        if (k.depth < 8 && random.one_in(3)) k.shift = random.between(0, 8 - k.depth);
        if (format.color_model == CUDAENC_COLOR_YUV && (c == 1 || c == 2)) {
            k.log2_subsample_x = format.component[c == 2 ? 1 : c].log2_subsample_x;
            if (c == 1) k.log2_subsample_x = random.between(0, 2), k.log2_subsample_y = random.between(0, 2);
            if (c == 2) k.log2_subsample_y = format.component[1].log2_subsample_y;
        }
        if (format.color_model == CUDAENC_COLOR_XYZ && random.one_in(4)) k.depth = random.between(1, k.depth);
    }
    return format;
}

// What the emulator takes long for: thousands of packets, or of small code-blocks that have the threads of large ones.
struct Work {
    static constexpr size_t kMostPackets = 12000, kMostWarps = 8000;  // some seconds
    size_t packets, warps;
    Work(const CudaencFormat &format, const CudaencJ2kOptions &options) {
        const j2k::Geometry geometry = j2k::make_encoder_geometry(j2k::make_params(format, options));
        packets = geometry.packets.size();
        warps = geometry.blocks.size() *
                static_cast<size_t>(std::max(options.cblk_width / 32, 1) * std::max(options.cblk_height / 32, 1));
    }
};

// Options at random, all of them allowed. `text` keeps what they point to.
inline CudaencJ2kOptions random_options(Random &random, const CudaencFormat &format, std::string &text) {
    CudaencJ2kOptions o;
    cudaenc_j2k_defaults(&o);
    o.format = random.between(0, 1);
    o.pred = random.between(0, 1);
    o.prog = random.between(0, 4);
    o.quality = random.between(1, 100);
    o.levels = random.one_in(12) ? random.between(7, 32) : random.between(0, 6);
    const int width_log2 = random.between(2, random.one_in(4) ? 10 : 6);
    o.cblk_width = 1 << width_log2;
    o.cblk_height = 1 << random.between(2, std::min(10, 12 - width_log2));
    if (random.one_in(2)) o.cblk_style = random.between(0, 63);
    o.layers = !random.one_in(2) ? 1 : random.one_in(8) ? 100 : random.between(2, 7);
    o.guard_bits = random.between(1, 7);
    o.sop = random.between(0, 1), o.eph = random.between(0, 1), o.tlm = random.between(0, 1),
    o.plt = random.between(0, 1);
    if (random.one_in(2)) o.tile_width = random.between(std::max(1, format.width / 5), format.width);
    if (random.one_in(2)) o.tile_height = random.between(std::max(1, format.height / 5), format.height);
    if (random.one_in(4)) {  // a multiple of any sub-sampling; the first tile has some of the picture
        o.x_offset = 4 * random.between(0, 30), o.y_offset = 4 * random.between(0, 30);
        const auto tile_begin = [&](int begin, int size) {
            return random.between(size ? std::max(0, begin - size + 1) : 0, begin);
        };
        o.tile_x_offset = tile_begin(o.x_offset, o.tile_width);
        o.tile_y_offset = tile_begin(o.y_offset, o.tile_height);
    }
    if (random.one_in(3)) o.mct = 0;
    text.clear();
    if (random.one_in(2))
        for (int i = random.between(1, std::min(4, o.levels + 1)); i > 0; i--)
            text += (text.empty() ? "" : ",") + std::to_string(1 << random.between(1, 8)) + "x" +
                    std::to_string(1 << random.between(1, 8));
    o.precincts = text.c_str();
    if (const size_t packets = Work(format, o).packets; packets > Work::kMostPackets) {
        o.layers = std::max(1, static_cast<int>(static_cast<size_t>(o.layers) * Work::kMostPackets / packets));
        if (Work(format, o).packets > Work::kMostPackets) text.clear();
    }
    if (Work(format, o).warps > Work::kMostWarps)
        o.cblk_width = std::min(o.cblk_width, 32), o.cblk_height = std::min(o.cblk_height, 32);
    if (o.prog < CUDAENC_J2K_PCRL)
        o.tile_parts = random.between(0, 3) & ~(o.prog == CUDAENC_J2K_RPCL ? CUDAENC_J2K_TILE_PART_COMPONENT : 0);
    else if (o.prog == CUDAENC_J2K_CPRL)
        o.tile_parts = random.one_in(2) ? CUDAENC_J2K_TILE_PART_COMPONENT : 0;
    if (o.layers * (o.levels + 1) * format.components > 255) o.tile_parts = 0;
    const size_t roi = text.size() + 1;
    if (random.one_in(4)) {
        const int x = random.between(0, format.width - 1), y = random.between(0, format.height - 1);
        text += '\0';
        text += format_string("%d,%d,%d,%d", x, y, random.between(1, format.width - x),
                              random.between(1, format.height - y));
        o.guard_bits = std::min(o.guard_bits, 2);
    }
    const size_t poc = text.size() + 1;
    if (random.one_in(4)) {  // some resolutions, components or layers first; the rest, and those once more
        const char *const orders[] = {"lrcp", "rlcp", "rpcl", "pcrl", "cprl"};
        text += '\0';
        text += format_string("0,0,%d,%d,%d,%s/", random.between(1, o.layers), random.between(1, o.levels + 1),
                              random.between(1, format.components), random.of(orders)) +
                format_string("0,0,%d,%d,%d,%s", o.layers, o.levels + 1, format.components, random.of(orders));
        o.tile_parts = 0;
    }
    o.precincts = text.c_str();
    if (text.size() > poc) o.poc = text.c_str() + poc;
    if (roi < poc) o.roi = text.c_str() + roi;
    try {
        j2k::make_params(format, o);
    } catch (const Error &) {
        o.roi = nullptr;  // there are too many bit-planes
    }
    return o;
}

// The same with picture and tiles that begin where the reference grid does.
inline CudaencJ2kOptions at_origin(CudaencJ2kOptions o) {
    o.x_offset = o.y_offset = o.tile_x_offset = o.tile_y_offset = 0;
    return o;
}

// The same with the HT block coder.
inline CudaencJ2kOptions random_ht_options(Random &random, const CudaencFormat &format, std::string &text) {
    CudaencJ2kOptions o = random_options(random, format, text);
    o.cblk_style = CUDAENC_J2K_HT;
    o.roi = nullptr;
    return o;
}

// A target at random: often a share of what the samples take besides what packets take that have nothing, else
// anything, which no frame may be able to meet. `text` keeps what it points to.
inline void random_target(Random &random, const CudaencFormat &format, CudaencJ2kOptions &o, std::string &text) {
    double samples = 0;  // their bytes
    for (int i = 0; i < format.components; i++) {
        const CudaencComponent &c = format.component[i];
        samples += static_cast<double>((((format.width - 1) >> c.log2_subsample_x) + 1) *
                                       (((format.height - 1) >> c.log2_subsample_y) + 1) * c.depth) /
                   8;
    }
    const double packets = static_cast<double>(Work(format, o).packets) * (2 + 6 * o.sop + 2 * o.eph + 2 * o.plt);
    const int share = random.between(2, 70), any = 1 << random.between(6, 16);
    const double bytes = random.one_in(6) ? any : 300 + packets + samples * share / 100;
    const double least_ratio = std::clamp(samples / bytes, 1., 1e6);
    switch (random.below(5)) {
        case 0:
            o.frame_rate_num = 30000, o.frame_rate_den = 1001;
            o.bit_rate = static_cast<int64_t>(bytes * 8 * 30000 / 1001);
            break;
        case 1:
            o.frame_bytes = static_cast<int64_t>(bytes);
            break;
        case 2:
            o.compression_ratio = least_ratio;
            break;
        case 3:
            o.psnr = random.between(10, random.one_in(4) ? 1500 : 700) / 10.;
            break;
        default: {
            text.clear();
            double ratio = random.one_in(3) ? 1 : least_ratio;  // the last one is written first
            for (int layer = 0; layer < o.layers; layer++, ratio *= 1 + random.between(1, 600 / o.layers) / 100.)
                text.insert(0, format_string(layer ? "%.3f," : "%.3f", ratio));
            o.layer_rates = text.c_str();
        }
    }
    const int modes[] = {-1, CUDAENC_J2K_RATE_PCRD, CUDAENC_J2K_RATE_PST, CUDAENC_J2K_RATE_PSB, CUDAENC_J2K_RATE_BPI};
    o.rate_control = modes[random.below(o.psnr != 0 ? 2 : 5)];  // those of psnr come first
    o.pst_lag = random.between(1, 4);
    if (random.one_in(2)) o.quality = -1;
    try {
        j2k::make_params(format, o);
    } catch (const Error &) {
        o.roi = nullptr;  // finer steps have too many bit-planes
    }
}

struct Log {
    std::vector<std::string> lines;  // errors
    static void print(void *opaque, CudaencLogLevel level, const char *line) {
        if (level == CUDAENC_LOG_ERROR) static_cast<Log *>(opaque)->lines.push_back(line);
    }
};

// Encodes pictures. take() gets each packet, which lives as long as the call.
template <class Take>
void encode_pictures(const CudaencConfig &config, const std::vector<Picture> &pictures, const Take &take) {
    CudaencSession *session;
    EXPECT(cudaenc_open(&session, &config) == CUDAENC_OK, "open: %s",
           static_cast<Log *>(config.log_opaque)->lines.back().c_str());
    const auto receive = [&] {
        CudaencPacket packet;
        while (cudaenc_receive(session, &packet) == CUDAENC_OK) {
            take(packet);
            cudaenc_buffer_free(packet.buffer);
        }
    };
    for (const Picture &picture : pictures) {
        const CudaencFrame frame = picture.frame();
        EXPECT(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
        receive();
    }
    cudaenc_flush(session);
    receive();
    cudaenc_close(session);
}

inline CudaencConfig make_config(const CudaencFormat &format, const char *device, Log *log) {
    CudaencConfig config;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_J2K);
    config.format = format;
    config.device = device;
    config.threads = 1;
    config.async_depth = 1;
    config.log = Log::print;
    config.log_opaque = log;
    return config;
}

// One picture's packet.
inline std::vector<uint8_t> encode(const CudaencConfig &config, const CudaencFrame &frame) {
    CudaencSession *session;
    const auto log = static_cast<const Log *>(config.log_opaque);
    const int opened = cudaenc_open(&session, &config);
    EXPECT(opened == CUDAENC_OK, "open: %d, %s", opened, log->lines.empty() ? "" : log->lines.back().c_str());
    const int submitted = cudaenc_submit(session, &frame);
    EXPECT(submitted == CUDAENC_OK, "submit: %d, %s", submitted, log->lines.empty() ? "" : log->lines.back().c_str());
    cudaenc_flush(session);
    CudaencPacket packet;
    const int received = cudaenc_receive(session, &packet);
    EXPECT(received == CUDAENC_OK, "receive: %d, %s", received, log->lines.empty() ? "" : log->lines.back().c_str());
    const std::vector<uint8_t> bytes(packet.data, packet.data + packet.size);
    for (int i = 0; i < CUDAENC_PACKET_PADDING; i++) EXPECT(!packet.data[packet.size + i], "padding %d", i);
    cudaenc_buffer_free(packet.buffer);
    cudaenc_close(session);
    return bytes;
}

inline std::string describe(const CudaencConfig &config) {
    const CudaencFormat &f = config.format;
    const CudaencJ2kOptions &o = config.j2k;
    return format_string(
        "%dx%d, %d components, depth %d; tiles %dx%d, offsets %d,%d and %d,%d, pred %d, quality %d, levels %d, blocks "
        "%dx%d, style %d, "
        "precincts '%s', roi '%s', layers %d, prog %d, poc '%s', tile_parts %d, mct %d, guard_bits %d, sop %d, eph %d, "
        "tlm %d, plt %d, rate_control %d, bit_rate %lld, frame_bytes %lld, compression_ratio %g, psnr %g, "
        "layer_rates '%s'",
        f.width, f.height, f.components, f.component[0].depth, o.tile_width, o.tile_height, o.x_offset, o.y_offset,
        o.tile_x_offset, o.tile_y_offset, o.pred, o.quality, o.levels, o.cblk_width, o.cblk_height, o.cblk_style,
        o.precincts ? o.precincts : "", o.roi ? o.roi : "", o.layers, o.prog, o.poc ? o.poc : "", o.tile_parts, o.mct,
        o.guard_bits, o.sop, o.eph, o.tlm, o.plt, o.rate_control, static_cast<long long>(o.bit_rate),
        static_cast<long long>(o.frame_bytes), o.compression_ratio, o.psnr, o.layer_rates ? o.layer_rates : "");
}

// An RGB frame whose packet is the CPU's: of 3840x2160 where a GPU is timed, else a small one. With --bench the kernels
// whose module begins with `module` have a line each.
inline void check_frame(const std::shared_ptr<Device> &device, const std::string &what, const char *module,
                        const CudaencJ2kOptions &options) {
    const bool large = benched_on_gpu(device);
    const CudaencFormat format = make_format(large ? 3840 : 96, large ? 2160 : 96, 3, 8, true, CUDAENC_COLOR_RGB);
    Random random(1);
    Picture picture = make_picture(random, format, Content::smooth);
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.threads = 0;
    config.j2k = options;
    const std::vector<uint8_t> expected = encode(config, picture.frame());
    const auto encoder = j2k::make_device_encoder(j2k::make_params(format, options), 1, 0, device, false, false);
    const auto code = [&] {
        encoder->submit(0, picture.frame());
        const PooledBuffer packet = encoder->finish(0);
        EXPECT(std::equal(expected.begin(), expected.end(), packet->data, packet->data + packet->size),
               "%s: %zu bytes, the CPU has %zu", what.c_str(), packet->size, expected.size());
    };
    bench(what, device, 3. * format.width * format.height, "samples", code, module);
}

inline CudaencJ2kOptions default_options() {
    CudaencJ2kOptions options;
    cudaenc_j2k_defaults(&options);
    return options;
}

}  // namespace cudaenc::testing
