// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples of many kinds, for the intra pipelines. Include it last, as testing.h.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "../../common/device.h"
#include "h264_reconstructed_picture.h"
#include "testing.h"

namespace cudaenc::testing {

using h264::PictureFormat;

inline constexpr h264::ScalingLists test_scaling_lists = [] {
    h264::ScalingLists l{};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            if (i < 4 && j < 4) {
                l.luma_4x4[4 * i + j] = static_cast<uint8_t>(6 + 7 * (i + j));
                l.chroma_4x4[4 * i + j] = static_cast<uint8_t>(28 + 11 * (i + j) + i * j);
            }
            l.luma_8x8[8 * i + j] = static_cast<uint8_t>(12 + 3 * (i + j) + i * j);
        }
    return l;
}();

// As those of AVC-Intra's interlaced classes: that of 8x8 blocks is not symmetric.
inline constexpr h264::ScalingLists asymmetric_scaling_lists = [] {
    h264::ScalingLists l = test_scaling_lists;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) l.luma_8x8[8 * i + j] = static_cast<uint8_t>(l.luma_8x8[8 * i + j] - i + j);
    return l;
}();

// The coded_block_pattern that levels ask for (7.4.5); those of blocks that are not coded are zeros. Not of I_PCM.
inline int pattern_of_levels(h264::ChromaFormat f, h264::MacroblockType type, const int16_t *levels) {
    const auto any = [levels](int first, int last) {
        return std::any_of(levels + 16 * first, levels + 16 * last, [](int16_t level) { return level != 0; });
    };
    int pattern = 0;
    for (int c = 0; c < h264::luma_components(f); c++)
        for (int b = 0; b < 4; b++) {
            const int first = h264::kLumaBlocks * c + 4 * b;
            pattern |= any(first, first + 4) << b;
        }
    if (type == h264::MacroblockType::i16x16 && pattern) pattern = 15;
    if (!h264::chroma_blocks(f)) return pattern;
    if (any(h264::kChromaAcBlock, h264::blocks_per_macroblock(f))) return pattern | 2 << 4;
    return pattern | any(h264::kChromaDcBlock, h264::kChromaAcBlock) << 4;
}

enum class Content { noise, flat, extremes, smooth, stripes, mixed };

struct Source {
    PictureFormat format;
    std::vector<uint8_t> memory[3];
    SampleLayout layout[3];
    int width(int c) const { return format.columns(c) == 8 ? (format.width + 1) / 2 : format.width; }
    int height(int c) const { return format.rows(c) == 8 ? (format.height + 1) / 2 : format.height; }

    Source(Random &random, const PictureFormat &f, Content content) : format(f) {
        const int most = (1 << f.bit_depth) - 1, step = f.bit_depth > 8 ? 2 : 1;
        const int slope_x = random.between(-9, 9), slope_y = random.between(-9, 9), period = random.between(1, 9);
        const int angle_x = random.between(0, 3), angle_y = random.between(-3, 3), flat = random.between(0, most);
        for (int c = 0; c < f.components(); c++) {
            const size_t stride = static_cast<size_t>(width(c) * step + 2 * random.between(0, 4));
            memory[c].resize(stride * static_cast<size_t>(height(c)));
            layout[c] = {memory[c].data(), static_cast<int64_t>(stride), step, 0, f.bit_depth};
            for (int y = 0; y < height(c); y++)
                for (int x = 0; x < width(c); x++) {
                    Content kind = content;
                    if (kind == Content::mixed) kind = static_cast<Content>((x / 16 + y / 16 * 3) % 5);
                    int v = flat;
                    if (kind == Content::noise) v = random.between(0, most);
                    if (kind == Content::extremes) v = random.one_in(2) ? most : 0;
                    if (kind == Content::smooth) v = most / 2 + (slope_x * x + slope_y * y) / 8 + random.between(-2, 2);
                    if (kind == Content::stripes) v = (angle_x * x + angle_y * y + 4096) / period % 2 ? most - 20 : 20;
                    v = std::clamp(v, 0, most);
                    uint8_t *at = &memory[c][static_cast<size_t>(y) * stride + static_cast<size_t>(x * step)];
                    at[0] = static_cast<uint8_t>(v);
                    if (step == 2) at[1] = static_cast<uint8_t>(v >> 8);
                }
        }
    }
    int sample(int c, int x, int y) const {
        const int64_t at = std::min(y, height(c) - 1) * layout[c].stride + std::min(x, width(c) - 1) * layout[c].step;
        return memory[c][static_cast<size_t>(at)] +
               (layout[c].step == 2 ? memory[c][static_cast<size_t>(at) + 1] << 8 : 0);
    }
};

// A source in a device's memory.
struct DeviceSource {
    std::vector<DeviceArray<uint8_t>> planes;
    std::array<SampleLayout, 3> layout{};

    DeviceSource(const std::shared_ptr<Device> &device, const Source &source) {
        for (int c = 0; c < source.format.components(); c++) {
            planes.emplace_back(device, source.memory[c].size());
            device->upload(nullptr, planes.back().data(), source.memory[c].data(), planes.back().bytes());
            layout[static_cast<size_t>(c)] = source.layout[c];
            layout[static_cast<size_t>(c)].data = planes.back().data();
        }
    }
};

}  // namespace cudaenc::testing
