// SPDX-License-Identifier: LGPL-2.1-or-later
// The forms of CAVLC that are compared: what all of them read, and CAVLC_SU with its buffers.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "../../common/h264/lanes/intra_coder.h"
#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/h264/slice_coder.h"
#include "../bench/measure.h"
#include "cavlc_su_params.h"

namespace cudaenc::bench {

using namespace h264;

// A frame as the intra pipeline leaves it.
struct CodedFrame {
    std::vector<Macroblock> macroblocks;
    std::vector<int16_t> levels;
    size_t coded_blocks = 0;
};

inline CodedFrame code_frame(IntraCoder &coder, const CodedFormat &format, const CudaencFormat &input,
                             const CudaencFrame &frame, int qp, ThreadPool &pool) {
    SampleLayout layouts[3];
    for (int c = 0; c < 3; c++) {
        const CudaencComponent &k = input.component[c];
        layouts[c] = {frame.data[k.plane] + k.offset, frame.stride[k.plane], k.step, k.shift, k.depth};
    }
    const size_t macroblocks = static_cast<size_t>(format.macroblocks());
    const int blocks = blocks_per_macroblock(format.chroma);
    CodedFrame coded{std::vector<Macroblock>(macroblocks),
                     std::vector<int16_t>(macroblocks * static_cast<size_t>(blocks) * 16)};
    PictureQuality quality{};
    quality.qp = qp;
    coder.encode(layouts, quality, pool, coded.macroblocks.data(), coded.levels.data());
    for (Macroblock &m : coded.macroblocks) {
        if (m.type == MacroblockType::pcm) {  // CAVLC_SU knows nothing of it
            m.type = MacroblockType::i16x16;
            m.coded_block_pattern = 0;
            std::fill_n(
                &coded.levels[static_cast<size_t>(&m - coded.macroblocks.data()) * static_cast<size_t>(blocks) * 16],
                16 * blocks, int16_t{0});
        }
        for (int b = 0; b < blocks; b++) coded.coded_blocks += is_coded(m, format.chroma, b);
    }
    return coded;
}

// What both ways read, in device memory.
struct DeviceFrame {
    DeviceFrame(const std::shared_ptr<Device> &device, const CodedFrame &frame)
        : macroblocks(device, frame.macroblocks.size()), levels(device, frame.levels.size()) {
        device->upload(nullptr, macroblocks.data(), frame.macroblocks.data(), macroblocks.bytes());
        device->upload(nullptr, levels.data(), frame.levels.data(), levels.bytes());
        device->synchronize(Device::Stream{});
    }
    DeviceArray<Macroblock> macroblocks;
    DeviceArray<int16_t> levels;
    h264::CodedPicture picture() const { return {macroblocks.data(), levels.data(), nullptr}; }
};

// CAVLC_SU with all its buffers allocated once.
class SuCoder {
  public:
    SuCoder(std::shared_ptr<Device> device, const CodedFormat &format, const SliceHeaderBits *header,
            const CavlcTables *tables)
        : device_(std::move(device)),
          macroblocks_(static_cast<uint32_t>(format.macroblocks())),
          blocks_(size_t{macroblocks_} * kSuBlocks),
          units_(macroblocks_ * kSuUnits),
          zigzag_(device_, 8 * blocks_),
          symbols_(device_, 5 * blocks_),
          values_(device_, 16 * blocks_),
          runs_(device_, 16 * blocks_),
          codes_(device_, size_t{units_} * kSuUnitWords),
          bits_(device_, units_),
          longer_(device_, 1),
          offsets_(device_, size_t{units_} + 1),
          partials_(device_, prefix_sum_partials(units_)),
          words_(device_, size_t{macroblocks_} * most_macroblock_bits(format) / 32 + 8) {
        uint8_t *symbols = symbols_.data();
        buffers_ = {.format = format,
                    .macroblocks = nullptr,
                    .levels = nullptr,
                    .header = header,
                    .tables = tables,
                    .zigzag = zigzag_.data(),
                    .totals = symbols,
                    .nc = symbols + blocks_,
                    .ones = symbols + 2 * blocks_,
                    .signs = symbols + 3 * blocks_,
                    .zeros = symbols + 4 * blocks_,
                    .values = values_.data(),
                    .runs = runs_.data(),
                    .codes = codes_.data(),
                    .bits = bits_.data(),
                    .longer = longer_.data()};
    }

    // Queues a picture. streams: none, or one more for each path but the first, which run beside each other.
    void code(Device::Stream stream, const h264::CodedPicture &picture, const std::vector<Stream *> &streams = {}) {
        buffers_.macroblocks = picture.macroblocks;
        buffers_.levels = picture.levels;
        device_->fill(stream, longer_.data(), 0, longer_.bytes());
        device_->fill(stream, words_.data(), 0, words_.bytes());
        if (streams.empty()) {
            for (int path = 0; path < kSuPaths; path++) scan_forward(stream, path);
            for (int path = 0; path < kSuPaths; path++) scan_backward(stream, path);
            for (int path = 0; path < kSuPaths; path++) code_path(stream, path);
        } else {
            code_beside(stream, streams);
        }
        device_->launch(stream, {blocks_for(macroblocks_, kSuThreads)}, kSuThreads,
                        SuHeadersParams{.buffers = buffers_});
        prefix_sum(*device_, stream, {{bits_.data(), offsets_.data()}}, units_, partials_.data());
        device_->launch(stream, {blocks_for(units_, kSuThreads)}, kSuThreads,
                        SuPackParams{.codes = codes_.data(),
                                     .bits = bits_.data(),
                                     .offsets = offsets_.data(),
                                     .words = words_.data(),
                                     .units = units_});
    }

    // The three kernels of one path alone.
    void code_alone(Device::Stream stream, const h264::CodedPicture &picture, int path) {
        buffers_.macroblocks = picture.macroblocks;
        buffers_.levels = picture.levels;
        scan_forward(stream, path);
        scan_backward(stream, path);
        code_path(stream, path);
    }

    // The bits of the last picture, in bytes; and the blocks for which a unit was too small.
    std::vector<uint8_t> bytes(uint64_t &bits, uint32_t &longer) const {
        device_->download(nullptr, &bits, offsets_.data() + units_, sizeof bits);
        device_->download(nullptr, &longer, longer_.data(), sizeof longer);
        device_->synchronize(Device::Stream{});
        std::vector<uint32_t> words((bits + 31) / 32);
        device_->download(nullptr, words.data(), words_.data(), words.size() * sizeof(uint32_t));
        device_->synchronize(Device::Stream{});
        std::vector<uint8_t> bytes;
        for (const uint32_t word : words)
            for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
        return bytes;
    }

  private:
    void scan_forward(Device::Stream stream, int path) {
        device_->launch(stream, {blocks_of(path)}, kSuThreads, SuForwardParams{.buffers = buffers_, .path = path});
    }
    void scan_backward(Device::Stream stream, int path) {
        const CodedFormat &f = buffers_.format;
        const unsigned regions = blocks_for(static_cast<uint64_t>(f.width), kSuRegionWidth) *
                                 blocks_for(static_cast<uint64_t>(f.height), kSuRegionHeight);
        device_->launch(stream, {regions}, kSuThreads, SuBackwardParams{.buffers = buffers_, .path = path});
    }
    void code_path(Device::Stream stream, int path) {
        device_->launch(stream, {blocks_of(path)}, kSuThreads, SuCodeParams{.buffers = buffers_, .path = path});
    }
    // Each path on a stream of its own. nC of luma DC comes from luma AC's totals.
    void code_beside(Device::Stream stream, const std::vector<Stream *> &streams) {
        if (!begun_) {
            begun_ = std::make_unique<Event>(device_, false);
            for (auto &done : scanned_) done = std::make_unique<Event>(device_, false);
            for (auto &done : coded_) done = std::make_unique<Event>(device_, false);
        }
        const auto stream_of = [&](int path) {
            return path ? static_cast<Device::Stream>(*streams[static_cast<size_t>(path - 1)]) : stream;
        };
        device_->record(*begun_, stream);
        for (int path = 0; path < kSuPaths; path++) {
            if (path) device_->wait(stream_of(path), *begun_);
            scan_forward(stream_of(path), path);
            device_->record(*scanned_[path], stream_of(path));
        }
        device_->wait(stream_of(kSuLumaDc), *scanned_[kSuLumaAc]);
        for (int path = 0; path < kSuPaths; path++) {
            scan_backward(stream_of(path), path);
            code_path(stream_of(path), path);
            if (path) device_->record(*coded_[path], stream_of(path));
        }
        for (int path = 1; path < kSuPaths; path++) device_->wait(stream, *coded_[path]);
    }
    unsigned blocks_of(int path) const {
        return blocks_for(uint64_t{macroblocks_} * static_cast<uint64_t>(su_blocks(path)), kSuThreads);
    }
    const std::shared_ptr<Device> device_;
    const uint32_t macroblocks_;
    const size_t blocks_;
    const uint32_t units_;
    DeviceArray<uint32_t> zigzag_;
    DeviceArray<uint8_t> symbols_;
    DeviceArray<int16_t> values_;
    DeviceArray<uint8_t> runs_;
    DeviceArray<uint32_t> codes_, bits_, longer_;
    DeviceArray<uint64_t> offsets_, partials_;
    DeviceArray<uint32_t> words_;
    SuBuffers buffers_{};
    std::unique_ptr<Event> begun_, scanned_[kSuPaths], coded_[kSuPaths];
};

// Milliseconds a picture: all of them are queued one after the other.
class Timer {
  public:
    explicit Timer(std::shared_ptr<Device> device)
        : device_(std::move(device)), begin_(device_, true), end_(device_, true) {}
    template <class Work>
    Spread measure(Device::Stream stream, size_t pictures, int runs, const Work &work) {
        for (size_t i = 0; i < pictures; i++) work(i);
        std::vector<double> times;
        for (int run = 0; run < runs; run++) {
            device_->synchronize(stream);
            device_->record(begin_, stream);
            constexpr size_t kRounds = 4;
            for (size_t i = 0; i < kRounds * pictures; i++) work(i % pictures);
            device_->record(end_, stream);
            device_->synchronize(static_cast<Device::Event>(end_));
            times.push_back(device_->elapsed_ms(begin_, end_) / static_cast<double>(kRounds * pictures));
        }
        return make_spread(times);
    }

  private:
    const std::shared_ptr<Device> device_;
    const Event begin_, end_;
};

}  // namespace cudaenc::bench
