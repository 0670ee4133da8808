// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cavlc.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "../../common/error.h"
#include "../../common/h264/lanes/intra_coder.h"
#include "../../cuda_kernels/compact.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../../cuda_kernels/h264/slice_coder.h"
#include "cavlc_su_params.h"
#include "measure.h"

namespace cudaenc::bench {

using namespace h264;

namespace {

constexpr double kCopyBytesPerSecond = 4.3e12;  // device to device on an H200, read and written (docs/experiments)

// A frame as the intra pipeline leaves it.
struct CodedFrame {
    std::vector<Macroblock> macroblocks;
    std::vector<int16_t> levels;
    size_t coded_blocks = 0;
};

CodedFrame code_frame(IntraCoder &coder, const CodedFormat &format, const CudaencFormat &input,
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
    CodedPicture picture() const { return {macroblocks.data(), levels.data(), nullptr}; }
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

    void code(Device::Stream stream, const CodedPicture &picture) {
        buffers_.macroblocks = picture.macroblocks;
        buffers_.levels = picture.levels;
        const CodedFormat &f = buffers_.format;
        const unsigned regions = blocks_for(static_cast<uint64_t>(f.width), kSuRegionWidth) *
                                 blocks_for(static_cast<uint64_t>(f.height), kSuRegionHeight);
        device_->fill(stream, longer_.data(), 0, longer_.bytes());
        device_->fill(stream, words_.data(), 0, words_.bytes());
        for (int path = 0; path < kSuPaths; path++)
            device_->launch(stream, {blocks_of(path)}, kSuThreads, SuForwardParams{.buffers = buffers_, .path = path});
        for (int path = 0; path < kSuPaths; path++)
            device_->launch(stream, {regions}, kSuThreads, SuBackwardParams{.buffers = buffers_, .path = path});
        for (int path = 0; path < kSuPaths; path++)
            device_->launch(stream, {blocks_of(path)}, kSuThreads, SuCodeParams{.buffers = buffers_, .path = path});
        device_->launch(stream, {blocks_for(macroblocks_, kSuThreads)}, kSuThreads,
                        SuHeadersParams{.buffers = buffers_});
        prefix_sum(*device_, stream, bits_.data(), offsets_.data(), units_, partials_.data());
        device_->launch(stream, {blocks_for(units_, kSuThreads)}, kSuThreads,
                        SuPackParams{.codes = codes_.data(),
                                     .bits = bits_.data(),
                                     .offsets = offsets_.data(),
                                     .words = words_.data(),
                                     .units = units_});
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
};

// Whether a NAL unit has these bits and then rbsp_trailing_bits().
bool same_bits(const std::vector<uint8_t> &nal, std::vector<uint8_t> expected, uint64_t bits) {
    std::vector<uint8_t> rbsp;
    int zeros = 0;
    for (size_t i = kNalPrefixBytes; i < nal.size(); i++) {
        if (zeros == 2 && nal[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = nal[i] ? 0 : zeros + 1;
        rbsp.push_back(nal[i]);
    }
    expected.resize(bits / 8 + 1);
    expected[bits / 8] = static_cast<uint8_t>((expected[bits / 8] & (0xFF00 >> bits % 8)) | 0x80 >> bits % 8);
    return rbsp == expected;
}

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

}  // namespace

bool compare_cavlc(const std::shared_ptr<Device> &device, const Picture &picture, int width, int height,
                   const std::vector<int> &qps, int frames, int runs, Json &json) {
    const FrameFormat frame_format{width, height, 8, Layout::kYuv420};
    const Frames sources({picture}, frame_format, frames, nullptr);
    const CudaencFormat input = make_format(frame_format);
    ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
    IntraCoder coder(PictureFormat{width, height, ChromaFormat::c420, 8, 1, false, true, false});
    const CodedFormat format{ChromaFormat::c420, false, 8, 8, (width + 15) / 16, (height + 15) / 16};
    const std::vector<Slice> slices = {{0, static_cast<uint32_t>(format.macroblocks())}};
    const std::vector<SliceHeaderBits> header = {make_slice_header({0, 0, 0})};

    const Stream stream(device);
    const DeviceArray<SliceHeaderBits> headers = upload_table(device, stream, header);
    const DeviceArray<CavlcTables> tables = upload_table(device, stream, std::vector<CavlcTables>{kCavlcTables});
    device->synchronize(static_cast<Device::Stream>(stream));
    const DeviceSliceCoder product(device, format, slices);
    PictureBuffers buffers = product.make_buffers();
    SuCoder su(device, format, headers.data(), tables.data());
    Timer timer(device);

    std::printf("\nCAVLC, %dx%d 4:2:0, %d frames in turn; levels and macroblocks lie in device memory\n", width, height,
                frames);
    std::printf("  CAVLC_SU: to packed bits, %d launches as a graph; h264_cavlc_cuda: to NAL units, 2 launches\n", 16);
    std::printf("  %3s %10s %11s %14s %8s %9s %9s %7s\n", "QP", "bytes", "CAVLC_SU ms", "cudaenc ms", "faster",
                "moved MB", "GB/s", "copy");
    bool all_equal = true;
    double least = 0;
    for (const int qp : qps) {
        std::vector<DeviceFrame> device_frames;
        size_t coded_blocks = 0;
        for (int i = 0; i < frames; i++) {
            const CodedFrame frame = code_frame(coder, format, input, sources[static_cast<size_t>(i)], qp, pool);
            if (i == 0) coded_blocks = frame.coded_blocks;
            device_frames.emplace_back(device, frame);
        }
        std::vector<std::unique_ptr<Graph>> graphs;
        for (const DeviceFrame &frame : device_frames) {
            const CodedPicture coded = frame.picture();
            const auto work = [&su, &stream, coded] { su.code(stream, coded); };
            work();  // kernels of graphs were launched before
            graphs.push_back(std::make_unique<Graph>(device, stream, work));
        }
        const Spread su_ms =
            timer.measure(stream, device_frames.size(), runs, [&](size_t i) { device->run(stream, *graphs[i]); });
        const Spread own_ms = timer.measure(stream, device_frames.size(), runs, [&](size_t i) {
            product.code(stream, buffers, device_frames[i].picture(), headers.data());
        });

        su.code(stream, device_frames[0].picture());
        product.code(stream, buffers, device_frames[0].picture(), headers.data());
        device->synchronize(static_cast<Device::Stream>(stream));
        uint64_t bits;
        uint32_t longer;
        const std::vector<uint8_t> packed = su.bytes(bits, longer);
        std::vector<uint8_t> nal(nal_bytes(buffers));
        device->download(stream, nal.data(), buffers.bytes.data(), nal.size());
        device->synchronize(static_cast<Device::Stream>(stream));
        const bool equal = same_bits(nal, packed, bits);
        all_equal &= equal || longer;
        // What cannot be avoided: levels of coded blocks and all macroblocks in, bytes out.
        const double moved = static_cast<double>(coded_blocks * 32 + device_frames[0].macroblocks.bytes() + nal.size());
        const double rate = moved / (own_ms.median * 1e-3), ratio = su_ms.median / own_ms.median;
        if (least == 0 || ratio < least) least = ratio;
        std::printf("  %3d %10zu %11.4f %14.4f %7.2fx %9.2f %9.1f %6.1f%%", qp, nal.size(), su_ms.median, own_ms.median,
                    ratio, moved / 1e6, rate / 1e9, 100 * rate / kCopyBytesPerSecond);
        if (longer)
            std::printf("  (%u blocks have more bits than CAVLC_SU's units)", longer);
        else if (!equal)
            std::printf("  THE BITS DIFFER");
        std::printf("\n");
        std::fflush(stdout);

        json.open('{');
        json.put("picture", picture.name);
        json.put("width", width);
        json.put("height", height);
        json.put("qp", qp);
        json.put("bytes", nal.size());
        json.put("cavlc_su_ms", su_ms);
        json.put("cudaenc_ms", own_ms);
        json.put("times_as_fast", ratio);
        json.put("moved_bytes", moved);
        json.put("bytes_per_second", rate);
        json.put("equal", equal ? 1 : 0);
        json.close('}');
    }
    std::printf("  at least %.2f times as fast\n", least);
    return all_equal;
}

}  // namespace cudaenc::bench
