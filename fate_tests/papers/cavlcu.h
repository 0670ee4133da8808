// SPDX-License-Identifier: LGPL-2.1-or-later
// CAVLCU with its buffers.
#pragma once
#include <memory>
#include <vector>

#include "../../cuda_kernels/device_pipeline.h"
#include "cavlcu_params.h"

namespace cudaenc::bench {

// The luma coefficients of a frame as CAVLCU reads them.
struct LumaCoefficients {
    uint32_t width = 0, height = 0;     // in macroblocks
    std::vector<int16_t> coefficients;  // [macroblock][16][16]
    std::vector<uint8_t> intra_16x16;   // [macroblock]
    std::vector<uint16_t> slices;       // [macroblock]
    uint32_t macroblocks() const { return width * height; }
};

class Cavlcu {
  public:
    Cavlcu(std::shared_ptr<Device> device, uint32_t width, uint32_t height)
        : device_(std::move(device)),
          width_(width),
          macroblocks_(width * height),
          tables_(upload_now(device_, std::vector<h264::CavlcTables>{h264::kCavlcTables})),
          words_(device_, size_t{16} * macroblocks_ * h264::kCavlcuBlockWords),
          lengths_(device_, size_t{16} * macroblocks_),
          right_(upload_now(device_, std::vector<uint64_t>(size_t{4} * regions()))),
          below_(upload_now(device_, std::vector<uint64_t>(size_t{4} * macroblocks_))),
          tickets_(upload_now(device_, std::vector<uint32_t>(1))) {}

    struct Input {
        Input(const std::shared_ptr<Device> &device, const LumaCoefficients &luma)
            : coefficients(upload_now(device, luma.coefficients)),
              intra_16x16(upload_now(device, luma.intra_16x16)),
              slices(upload_now(device, luma.slices)) {}
        DeviceArray<int16_t> coefficients;
        DeviceArray<uint8_t> intra_16x16;
        DeviceArray<uint16_t> slices;
    };
    void code(Device::Stream stream, const Input &input) const {
        device_->launch(stream, {regions()}, h264::kCavlcuThreads,
                        h264::CavlcuParams{.coefficients = input.coefficients.data(),
                                           .intra_16x16 = input.intra_16x16.data(),
                                           .slices = input.slices.data(),
                                           .tables = tables_.data(),
                                           .words = words_.data(),
                                           .lengths = lengths_.data(),
                                           .right = right_.data(),
                                           .below = below_.data(),
                                           .tickets = tickets_.data(),
                                           .width = width_,
                                           .macroblocks = macroblocks_});
    }
    // Of the last frame.
    std::vector<uint32_t> words() const { return download(words_); }
    std::vector<uint16_t> lengths() const { return download(lengths_); }

  private:
    unsigned regions() const { return blocks_for(macroblocks_, h264::kRegionMacroblocks); }
    template <class T>
    std::vector<T> download(const DeviceArray<T> &from) const {
        std::vector<T> host(from.count());
        device_->download(nullptr, host.data(), from.data(), from.bytes());
        device_->synchronize(Device::Stream{});
        return host;
    }
    const std::shared_ptr<Device> device_;
    const uint32_t width_, macroblocks_;
    const DeviceArray<h264::CavlcTables> tables_;
    const DeviceArray<uint32_t> words_;
    const DeviceArray<uint16_t> lengths_;
    const DeviceArray<uint64_t> right_, below_;
    const DeviceArray<uint32_t> tickets_;
};

// The same by a plain loop, each block's bits as a text of 0 and 1.
inline std::vector<std::string> code_luma_plainly(const LumaCoefficients &luma) {
    struct Text {
        std::string bits;
        void put(uint32_t value, uint32_t count) {
            while (count--) bits += static_cast<char>('0' + (value >> count & 1));
        }
    };
    const uint32_t columns = 4 * luma.width;
    std::vector<int> totals(size_t{columns} * 4 * luma.height);
    std::vector<std::string> blocks(size_t{16} * luma.macroblocks());
    for (uint32_t m = 0; m < luma.macroblocks(); m++)
        for (uint32_t i = 0; i < 16; i++) {
            const uint32_t x = m % luma.width * 4 + i % 4, y = m / luma.width * 4 + i / 4, at = y * columns + x;
            const bool ac = luma.intra_16x16[m];
            const int size = ac ? 15 : 16;
            const h264::ScannedLevels levels{&luma.coefficients[size_t{256} * m + size_t{16} * i],
                                             h264::kZigzag4x4 + ac, 1};
            const auto total_at = [&](bool inside, uint32_t px, uint32_t py) {
                const bool same = inside && luma.slices[py / 4 * luma.width + px / 4] == luma.slices[m];
                return same ? totals[py * columns + px] : -1;
            };
            const int nc = h264::predict_total(total_at(x > 0, x - 1, y), total_at(y > 0, x, y - 1));
            const uint32_t nonzero = h264::nonzero_of(levels, size);
            totals[at] = count_ones(nonzero);
            Text text;
            h264::code_block(h264::kCavlcTables, {h264::token_table(nc), h264::kZeros4x4, size}, nonzero, levels, 0,
                             text);
            blocks[size_t{16} * m + i] = text.bits;
        }
    return blocks;
}

// Blocks whose bits or lengths differ from the plain loop's.
inline size_t compare_luma(const Cavlcu &coder, const LumaCoefficients &luma) {
    const std::vector<std::string> expected = code_luma_plainly(luma);
    const std::vector<uint32_t> words = coder.words();
    const std::vector<uint16_t> lengths = coder.lengths();
    size_t different = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        bool same = lengths[i] == expected[i].size() && lengths[i] <= 32 * h264::kCavlcuBlockWords;
        for (size_t k = 0; same && k < expected[i].size(); k++)
            same = (words[h264::kCavlcuBlockWords * i + k / 32] >> (31 - k % 32) & 1) == (expected[i][k] == '1');
        different += !same;
    }
    return different;
}

}  // namespace cudaenc::bench
