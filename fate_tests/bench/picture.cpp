// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "../../common/error.h"
#include "../../common/hd.h"

namespace cudaenc::bench {

namespace {

// A number that looks random, of what it is for.
uint32_t hash(uint32_t a, uint32_t b = 0, uint32_t c = 0) {
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u ^ (c + 0x165667B1u) * 0xC2B2AE3Du;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return h ^ h >> 15;
}
float hash_unit(uint32_t a, uint32_t b = 0, uint32_t c = 0) {
    return static_cast<float>(hash(a, b, c) >> 8) * 0x1p-24f;
}

void allocate(Picture &p, int width, int height, int depth) {
    p.width = width;
    p.height = height;
    p.depth = depth;
    for (auto &plane : p.plane) plane.resize(static_cast<size_t>(width) * height);
}

[[noreturn]] void fail(const std::string &file, const std::string &why) {
    throw Error(CUDAENC_ERR_INVALID, file + ": " + why);
}

// Samples in file order, `channels` a pixel of which the first is gray or the first three are R G B, 8 bits or 16 with
// the high byte first.
void unpack(Picture &p, const uint8_t *from, int channels, int bytes) {
    const size_t pixels = p.plane[0].size();
    for (int c = 0; c < 3; c++) {
        const uint8_t *at = from + (channels >= 3 ? c * bytes : 0);
        for (size_t i = 0; i < pixels; i++, at += static_cast<size_t>(channels) * bytes)
            p.plane[c][i] = static_cast<uint16_t>(bytes == 1 ? at[0] : at[0] << 8 | at[1]);
    }
}

void read_pnm(Picture &p, const std::string &file, const std::vector<uint8_t> &bytes) {
    size_t at = 2;
    const auto number = [&] {
        for (;;) {
            while (at < bytes.size() && std::isspace(bytes[at])) at++;
            if (at >= bytes.size() || bytes[at] != '#') break;
            while (at < bytes.size() && bytes[at] != '\n') at++;
        }
        int value = 0;
        for (; at < bytes.size() && std::isdigit(bytes[at]) && value < 1 << 20; at++)
            value = 10 * value + bytes[at] - '0';
        return value;
    };
    const int channels = bytes[1] == '6' ? 3 : 1, width = number(), height = number(), most = number();
    at++;  // the one space after the header
    if (width < 1 || height < 1 || most < 1 || most > 65535) fail(file, "not a PPM or PGM header");
    const int size = most > 255 ? 2 : 1;
    if (bytes.size() < at + static_cast<size_t>(width) * height * channels * size) fail(file, "is cut off");
    allocate(p, width, height, bit_width(static_cast<uint32_t>(most)));
    unpack(p, bytes.data() + at, channels, size);
}

uint32_t be32(const uint8_t *p) { return uint32_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

void read_png(Picture &p, const std::string &file, const std::vector<uint8_t> &bytes) {
    std::vector<uint8_t> packed;
    int width = 0, height = 0, depth = 0, channels = 0;
    for (size_t at = 8; at + 12 <= bytes.size();) {
        const size_t length = be32(&bytes[at]);
        const uint8_t *type = &bytes[at + 4], *data = &bytes[at] + 8;
        if (length > bytes.size() - at - 12) fail(file, "is cut off");
        if (!std::memcmp(type, "IHDR", 4) && length >= 13) {
            width = static_cast<int>(be32(data));
            height = static_cast<int>(be32(data + 4));
            depth = data[8];
            channels = data[9] == 0 ? 1 : data[9] == 2 ? 3 : data[9] == 4 ? 2 : data[9] == 6 ? 4 : 0;
            if (data[12]) channels = 0;
        } else if (!std::memcmp(type, "IDAT", 4)) {
            packed.insert(packed.end(), data, data + length);
        }
        at += 12 + length;
    }
    if (!channels || (depth != 8 && depth != 16) || width < 1 || height < 1 || width > 32768 || height > 32768)
        fail(file, "a PNG of 8 or 16 bits, gray or RGB, not interlaced, is read; this is another");
    const size_t step = static_cast<size_t>(channels) * (depth / 8), row = step * width;
    std::vector<uint8_t> raw((row + 1) * height);
    uLongf size = raw.size();
    if (uncompress(raw.data(), &size, packed.data(), packed.size()) != Z_OK || size != raw.size())
        fail(file, "its pixels do not unpack");
    std::vector<uint8_t> pixels(row * height);
    const std::vector<uint8_t> zeros(row);
    for (int y = 0; y < height; y++) {  // PNG (ISO/IEC 15948) clause 9: filters
        const uint8_t *in = &raw[(row + 1) * y];
        const int filter = *in++;
        uint8_t *out = &pixels[row * y];
        const uint8_t *above = y ? out - row : zeros.data();
        for (size_t x = 0; x < row; x++) {
            const int a = x >= step ? out[x - step] : 0, b = above[x], c = x >= step ? above[x - step] : 0;
            const int pa = std::abs(b - c), pb = std::abs(a - c), pc = std::abs(a + b - 2 * c);
            const int predicted = filter == 1   ? a
                                  : filter == 2 ? b
                                  : filter == 3 ? (a + b) / 2
                                  : filter == 4 ? (pa <= pb && pa <= pc ? a
                                                   : pb <= pc           ? b
                                                                        : c)
                                                : 0;
            out[x] = static_cast<uint8_t>(in[x] + predicted);
        }
    }
    allocate(p, width, height, depth);
    unpack(p, pixels.data(), channels, depth / 8);
}

uint16_t to_range(float value, int depth) {
    return static_cast<uint16_t>(std::clamp(value + 0.5f, 0.0f, static_cast<float>((1 << depth) - 1)));
}

// Returns the bytes of a frame. `number`: of the frame.
size_t read_yuv(Picture &p, const std::string &file, const std::string &raw, const std::vector<uint8_t> &bytes,
                size_t number = 0) {
    int width = 0, height = 0, used = 0;
    if (std::sscanf(raw.c_str(), "%dx%d:%n", &width, &height, &used) != 2 || !used || width < 1 || height < 1 ||
        width > 32768 || height > 32768)
        fail(raw, "a raw file's size and format are written WxH:FORMAT");
    std::string format = raw.substr(static_cast<size_t>(used));
    int depth = 8;
    if (format.size() > 2 && format.substr(format.size() - 2) == "10") {
        depth = 10;
        format.resize(format.size() - 2);
    }
    const bool is_420 = format == "yuv420p", is_422 = format == "yuv422p";
    if (!is_420 && !is_422 && format != "yuv444p")
        fail(raw, "raw formats are yuv420p, yuv422p, yuv444p and the same with 10 appended");
    const int sx = is_420 || is_422 ? 1 : 0, sy = is_420 ? 1 : 0, size = depth > 8 ? 2 : 1;
    const size_t chroma_width = (static_cast<size_t>(width) + sx) >> sx,
                 chroma_height = (static_cast<size_t>(height) + sy) >> sy;
    const size_t luma = static_cast<size_t>(width) * height, chroma = chroma_width * chroma_height;
    const size_t frame_bytes = (luma + 2 * chroma) * size, first = number * frame_bytes / size;
    if (bytes.size() < (number + 1) * frame_bytes) fail(file, "is smaller than a frame of " + raw);
    const auto sample = [&](size_t i) {
        i += first;
        return static_cast<float>(size == 1 ? bytes[i] : bytes[2 * i] | bytes[2 * i + 1] << 8);
    };
    allocate(p, width, height, depth);
    const float unit = static_cast<float>(1 << (depth - 8)), most = static_cast<float>((1 << depth) - 1);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const size_t at = static_cast<size_t>(y) * width + x,
                         c = luma + (static_cast<size_t>(y) >> sy) * chroma_width + (static_cast<size_t>(x) >> sx);
            const float l = (sample(at) / unit - 16) / 219, u = (sample(c) / unit - 128) / 224,
                        v = (sample(c + chroma) / unit - 128) / 224;
            p.plane[0][at] = to_range((l + 1.5748f * v) * most, depth);
            p.plane[1][at] = to_range((l - 0.1873f * u - 0.4681f * v) * most, depth);
            p.plane[2][at] = to_range((l + 1.8556f * u) * most, depth);
        }
    return frame_bytes;
}

// Noise between -1 and 1 that varies over `size` samples.
float value_noise(int x, int y, int size, uint32_t seed) {
    const int cx = x / size, cy = y / size;
    const auto at = [&](int dx, int dy) {
        return hash_unit(static_cast<uint32_t>(cx + dx), static_cast<uint32_t>(cy + dy), seed) * 2 - 1;
    };
    const auto smooth = [](float t) { return t * t * (3 - 2 * t); };
    const float fx = smooth(static_cast<float>(x % size) / static_cast<float>(size)),
                fy = smooth(static_cast<float>(y % size) / static_cast<float>(size));
    const float top = at(0, 0) + (at(1, 0) - at(0, 0)) * fx, bottom = at(0, 1) + (at(1, 1) - at(0, 1)) * fx;
    return top + (bottom - top) * fy;
}

}  // namespace

void parallel(int count, const std::function<void(int)> &job) {
    std::atomic<int> next{0};
    const auto work = [&] {
        for (int i; (i = next++) < count;) job(i);
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < std::min<int>(count, static_cast<int>(std::thread::hardware_concurrency())); i++)
        threads.emplace_back(work);
    work();
    for (std::thread &thread : threads) thread.join();
}

namespace {

std::vector<uint8_t> read_bytes(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) fail(file, "cannot be opened");
    return {std::istreambuf_iterator<char>(in), {}};
}
std::string name_of(const std::string &file) {
    const size_t slash = file.rfind('/');
    return slash == std::string::npos ? file : file.substr(slash + 1);
}

}  // namespace

std::vector<Picture> read_video(const std::string &file, const std::string &raw) {
    const std::vector<uint8_t> bytes = read_bytes(file);
    std::vector<Picture> pictures;
    for (size_t size = bytes.size(), frame; size > 0; size = size > frame ? size - frame : 0) {
        Picture p;
        p.name = name_of(file);
        frame = read_yuv(p, file, raw, bytes, pictures.size());
        pictures.push_back(std::move(p));
    }
    return pictures;
}

Picture read_picture(const std::string &file, const std::string &raw) {
    const std::vector<uint8_t> bytes = read_bytes(file);
    Picture p;
    p.name = name_of(file);
    if (!raw.empty())
        read_yuv(p, file, raw, bytes);
    else if (bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6'))
        read_pnm(p, file, bytes);
    else if (bytes.size() > 8 && !std::memcmp(bytes.data(), "\x89PNG\r\n\x1a\n", 8))
        read_png(p, file, bytes);
    else
        fail(file, "is neither PPM, PGM nor PNG; raw video needs -yuv WxH:FORMAT");
    return p;
}

Picture generate_picture(int width, int height) {
    Picture p;
    p.name = "generated";
    allocate(p, width, height, 16);
    const size_t pixels = p.plane[0].size();

    // Discs with a density of radii of r^-3, which makes a picture look the same at all scales; later ones hide
    // earlier.
    constexpr float kSmallest = 5;
    const float largest = static_cast<float>(std::min(width, height)) / 4 + kSmallest, ratio = kSmallest / largest;
    std::vector<uint32_t> thing(pixels);
    const uint32_t things = static_cast<uint32_t>(pixels / 250) + 1;
    for (uint32_t i = 1; i <= things; i++) {
        const float r = kSmallest / std::sqrt(1 - hash_unit(i, 1) * (1 - ratio * ratio));
        const float cx = hash_unit(i, 2) * static_cast<float>(width), cy = hash_unit(i, 3) * static_cast<float>(height);
        for (int y = std::max(0, static_cast<int>(cy - r)); y < std::min(height, static_cast<int>(cy + r) + 1); y++) {
            const float dy = static_cast<float>(y) - cy, square = r * r - dy * dy;
            if (square <= 0) continue;
            const float half = std::sqrt(square);
            const int x0 = std::max(0, static_cast<int>(cx - half)), x1 = std::min(width, static_cast<int>(cx + half));
            if (x0 < x1) std::fill_n(&thing[static_cast<size_t>(y) * width + x0], x1 - x0, i);
        }
    }

    std::vector<float> sharp[3];
    for (auto &plane : sharp) plane.resize(pixels);
    parallel(height, [&](int y) {
        for (int x = 0; x < width; x++) {
            const size_t at = static_cast<size_t>(y) * width + x;
            const uint32_t id = thing[at];
            float texture = 0, amplitude = 0.5f;  // halved with each octave
            for (int size = 128; size >= 2; size /= 2, amplitude *= 0.6f)
                texture += amplitude * value_noise(x, y, size, id * 8 + static_cast<uint32_t>(size));
            const float light = 0.08f + 0.75f * hash_unit(id, 4) * hash_unit(id, 5) + 0.03f,
                        rough = hash_unit(id, 6) * hash_unit(id, 6);
            const float luma = light * (1 + 0.5f * rough * texture);
            for (uint32_t c = 0; c < 3; c++) sharp[c][at] = luma * (0.85f + 0.3f * hash_unit(id, 7, c));
        }
    });
    parallel(height, [&](int y) {
        const size_t above = static_cast<size_t>(std::max(y - 1, 0)) * width, here = static_cast<size_t>(y) * width,
                     below = static_cast<size_t>(std::min(y + 1, height - 1)) * width;
        for (uint32_t c = 0; c < 3; c++)
            for (int x = 0; x < width; x++) {
                const auto column = [&](int i) {
                    const size_t k = static_cast<size_t>(std::clamp(i, 0, width - 1));
                    return sharp[c][above + k] + 2 * sharp[c][here + k] + sharp[c][below + k];
                };
                const float blurred = (column(x - 1) + 2 * column(x) + column(x + 1)) / 16;
                // Four uniform numbers are nearly normal; a sensor's noise grows with the light.
                float noise = -2;
                for (uint32_t k = 0; k < 4; k++)
                    noise += hash_unit(static_cast<uint32_t>(x), static_cast<uint32_t>(y), 64 + c * 4 + k);
                p.plane[c][here + x] = to_range((blurred + noise * 0.005f * (0.4f + std::sqrt(blurred))) * 65535, 16);
            }
    });
    return p;
}

CudaencFormat make_format(const FrameFormat &format) {
    CudaencFormat f{};
    f.width = format.width;
    f.height = format.height;
    const bool packed = format.layout == Layout::kRgbPacked, rgb = packed || format.layout == Layout::kRgb;
    f.components = 3;
    f.planes = packed ? 1 : 3;
    f.color_model = rgb ? CUDAENC_COLOR_RGB : CUDAENC_COLOR_YUV;
    f.full_range = rgb || format.full_range;
    f.color_primaries = f.color_transfer = f.color_matrix = 2;
    for (int c = 0; c < 3; c++) {
        f.component[c].plane = packed ? 0 : c;
        f.component[c].offset = packed ? c * format.sample_bytes() : 0;
        f.component[c].step = format.sample_bytes() * (packed ? 3 : 1);
        f.component[c].depth = format.depth;
        f.component[c].log2_subsample_x = format.log2_subsample_x(c);
        f.component[c].log2_subsample_y = format.log2_subsample_y(c);
    }
    return f;
}

Picture fit_picture(const Picture &from, const FrameFormat &format) {
    Picture to;
    to.name = from.name;
    allocate(to, format.width, format.height, format.depth);
    const bool halve = from.width >= 2 * format.width && from.height >= 2 * format.height;
    const int scale = halve ? 2 : 1;
    const int x0 = std::max(0, (from.width - scale * format.width) / 2),
              y0 = std::max(0, (from.height - scale * format.height) / 2);
    const auto reflect = [](int i, int size) {
        i %= 2 * size;
        return i < size ? i : 2 * size - 1 - i;
    };
    parallel(format.height, [&](int y) {
        for (int c = 0; c < 3; c++)
            for (int x = 0; x < format.width; x++) {
                const auto sample = [&](int dx, int dy) -> uint32_t {
                    return from.plane[c][static_cast<size_t>(reflect(y0 + scale * y + dy, from.height)) * from.width +
                                         reflect(x0 + scale * x + dx, from.width)];
                };
                uint32_t value = sample(0, 0);
                int depth = from.depth;
                if (halve) {  // the sum of four has two bits more
                    value += sample(1, 0) + sample(0, 1) + sample(1, 1);
                    depth += 2;
                }
                const uint32_t most = (1u << format.depth) - 1;
                if (depth > format.depth)
                    value = std::min((value + (1u << (depth - format.depth - 1))) >> (depth - format.depth), most);
                else if (depth < format.depth)
                    value = value << (format.depth - depth) | hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                                                   1000u + static_cast<uint32_t>(c)) >>
                                                                  (32 - (format.depth - depth));
                to.plane[c][static_cast<size_t>(y) * format.width + x] = static_cast<uint16_t>(value);
            }
    });
    return to;
}

namespace {

// All planes one after the other, or packed.
std::vector<uint8_t> shifted_frame(const Picture &p, const FrameFormat &f, int dx, int dy) {
    size_t samples = 0;
    for (int c = 0; c < 3; c++) samples += static_cast<size_t>(f.component_width(c)) * f.component_height(c);
    std::vector<uint8_t> bytes(samples * f.sample_bytes());
    size_t at = 0;
    const auto put = [&](uint16_t value) {
        std::memcpy(&bytes[at], &value, f.sample_bytes());  // little-endian host, as all that CUDA has
        at += f.sample_bytes();
    };
    const auto place = [&](int x, int y) {
        return static_cast<size_t>((y + dy) % p.height) * p.width + static_cast<size_t>((x + dx) % p.width);
    };
    if (f.layout == Layout::kRgbPacked) {
        for (int y = 0; y < f.height; y++)
            for (int x = 0; x < f.width; x++)
                for (const auto &plane : p.plane) put(plane[place(x, y)]);
        return bytes;
    }
    if (f.layout == Layout::kRgb) {
        for (const auto &plane : p.plane)
            for (int y = 0; y < f.height; y++)
                for (int x = 0; x < f.width; x++) put(plane[place(x, y)]);
        return bytes;
    }
    constexpr float kLimited709[3][3] = {
        {0.2126f, 0.7152f, 0.0722f}, {-0.1146f, -0.3854f, 0.5f}, {0.5f, -0.4542f, -0.0458f}};
    constexpr float kFull601[3][3] = {
        {0.299f, 0.587f, 0.114f}, {-0.168736f, -0.331264f, 0.5f}, {0.5f, -0.418688f, -0.081312f}};
    const auto &weights = f.full_range ? kFull601 : kLimited709;
    const float unit = static_cast<float>(1 << (f.depth - 8)), most = static_cast<float>((1 << f.depth) - 1);
    for (int c = 0; c < 3; c++) {
        const float range = f.full_range ? most / unit : c ? 224.0f : 219.0f;
        const float base = c ? 128.0f : f.full_range ? 0.0f : 16.0f;
        const auto component = [&](size_t i) {
            float sum = 0;
            for (int k = 0; k < 3; k++) sum += weights[c][k] * static_cast<float>(p.plane[k][i]);
            return (base + range * sum / most) * unit;
        };
        const int step_x = 1 << f.log2_subsample_x(c), step_y = 1 << f.log2_subsample_y(c);
        for (int y = 0; y < f.height; y += step_y)
            for (int x = 0; x < f.width; x += step_x) {
                float sum = 0;
                for (int j = 0; j < step_y; j++)
                    for (int i = 0; i < step_x; i++)
                        sum += component(place(std::min(x + i, f.width - 1), std::min(y + j, f.height - 1)));
                put(to_range(sum / static_cast<float>(step_x * step_y), f.depth));
            }
    }
    return bytes;
}

}  // namespace

Frames::Frames(const std::vector<Picture> &pictures, const FrameFormat &format, int count,
               std::shared_ptr<Device> device, Memory memory)
    : frames_(static_cast<size_t>(count)), host_(static_cast<size_t>(count)) {
    std::vector<Picture> fitted;
    for (const Picture &picture : pictures) fitted.push_back(fit_picture(picture, format));
    const int distinct = static_cast<int>(fitted.size());
    parallel(count, [&](int i) {
        const Picture &of = fitted[static_cast<size_t>(i % distinct)];
        const int shift = i / distinct;
        const int dx = shift ? (2 * (97 * shift % of.width) + 1) % of.width : 0,
                  dy = shift ? (2 * (53 * shift % of.height) + 1) % of.height : 0;
        host_[static_cast<size_t>(i)] = shifted_frame(of, format, dx, dy);
    });
    const auto planes_at = [&](const uint8_t *data) {
        CudaencFrame frame{};
        const bool packed = format.layout == Layout::kRgbPacked;
        for (int c = 0; c < (packed ? 1 : 3); c++) {
            frame.data[c] = data;
            frame.stride[c] =
                static_cast<ptrdiff_t>(format.component_width(c)) * format.sample_bytes() * (packed ? 3 : 1);
            data += frame.stride[c] * format.component_height(c);
        }
        return frame;
    };
    first_on_host_ = planes_at(host_[0].data());
    bytes_ = host_[0].size();
    for (size_t i = 0; i < frames_.size(); i++) {
        frames_[i] = planes_at(host_[i].data());
        if (!device || memory == Memory::kHost) continue;
        if (memory == Memory::kPinned) {
            void *const pinned = device->alloc_pinned(bytes_);
            pinned_.emplace_back(pinned, [device](void *p) { device->free_pinned(p); });
            std::memcpy(pinned, host_[i].data(), bytes_);
            frames_[i] = planes_at(static_cast<const uint8_t *>(pinned));
            if (i) host_[i] = {};
            continue;
        }
        device_.emplace_back(device, host_[i].size());
        const Device::Stream stream = device->create_stream();
        device->upload(stream, device_.back().data(), host_[i].data(), host_[i].size());
        device->synchronize(stream);
        device->destroy_stream(stream);
        frames_[i] = planes_at(device_.back().data());
        if (i) host_[i] = {};
    }
}

}  // namespace cudaenc::bench
