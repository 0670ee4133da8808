// SPDX-License-Identifier: LGPL-2.1-or-later
// A. Fuentes-Alventosa et al., "CAVLCU: an efficient GPU-based implementation of CAVLC" (2021): figures 15 to 17.
#include <cstdio>
#include <thread>

#include "cavlc_forms.h"
#include "cavlcu.h"
#include "papers.h"

namespace cudaenc::bench {

namespace {

// Luma as CAVLCU reads it. It has no coded_block_pattern: blocks that are not coded are blocks of zeros.
LumaCoefficients luma_of(const CodedFrame &frame, const CodedFormat &format) {
    LumaCoefficients luma{.width = static_cast<uint32_t>(format.width),
                          .height = static_cast<uint32_t>(format.height),
                          .coefficients = {},
                          .intra_16x16 = {},
                          .slices = std::vector<uint16_t>(frame.macroblocks.size())};
    const int blocks = blocks_per_macroblock(format.chroma);
    for (size_t m = 0; m < frame.macroblocks.size(); m++) {
        luma.intra_16x16.push_back(frame.macroblocks[m].type == MacroblockType::i16x16);
        for (int i = 0; i < 16; i++) {
            const int block = luma_block(i % 4, i / 4);
            const int16_t *levels = &frame.levels[(m * static_cast<size_t>(blocks) + static_cast<size_t>(block)) * 16];
            if (is_coded(frame.macroblocks[m], format.chroma, block))
                luma.coefficients.insert(luma.coefficients.end(), levels, levels + 16);
            else
                luma.coefficients.resize(luma.coefficients.size() + 16);
        }
    }
    return luma;
}

// All forms of a picture size.
class Forms {
  public:
    Forms(const PaperRun &run, int width, int height)
        : run_(run),
          device_(run.device),
          stream_(device_),
          others_{std::make_unique<Stream>(device_), std::make_unique<Stream>(device_),
                  std::make_unique<Stream>(device_)},
          format_{.chroma = ChromaFormat::c420,
                  .transform_8x8_mode = false,
                  .luma_depth = 8,
                  .chroma_depth = 8,
                  .width = (width + 15) / 16,
                  .height = (height + 15) / 16,
                  .field = false,
                  .field_pairs = false},
          frame_format_{width, height, 8, Layout::kYuv420},
          sources_(run.pictures, frame_format_, run.small ? 2 : 4, nullptr),
          pool_(static_cast<int>(std::thread::hardware_concurrency())),
          intra_coder_(PictureFormat{width, height, ChromaFormat::c420, 8, 1, false, true, false}),
          headers_(upload_now(device_, std::vector<SliceHeaderBits>{make_slice_header({0, 0, 0})})),
          tables_(upload_now(device_, std::vector<CavlcTables>{kCavlcTables})),
          product_(device_, format_, {{0, static_cast<uint32_t>(format_.macroblocks())}}),
          buffers_(product_.make_buffers()),
          su_(device_, format_, headers_.data(), tables_.data()),
          cavlcu_(device_, static_cast<uint32_t>(format_.width), static_cast<uint32_t>(format_.height)) {}

    // A row of the table. Returns whether CAVLCU's bits are right.
    bool measure(int qp) {
        std::vector<DeviceFrame> frames;
        std::vector<Cavlcu::Input> luma;
        size_t different = 0;
        for (int i = 0; i < sources_.count(); i++) {
            const CodedFrame frame = code_frame(intra_coder_, format_, make_format(frame_format_),
                                                sources_[static_cast<size_t>(i)], qp, pool_);
            frames.emplace_back(device_, frame);
            const LumaCoefficients coefficients = luma_of(frame, format_);
            luma.emplace_back(device_, coefficients);
            if (i) continue;
            cavlcu_.code(stream_, luma[0]);
            device_->synchronize(static_cast<Device::Stream>(stream_));
            different = compare_luma(cavlcu_, coefficients);
        }
        const double su_luma =
            time_graphs(frames, [&](size_t i) { su_.code_alone(stream_, frames[i].picture(), kSuLumaAc); });
        const double cavlcu = time_graphs(frames, [&](size_t i) { cavlcu_.code(stream_, luma[i]); });
        const double su = time_graphs(frames, [&](size_t i) { su_.code(stream_, frames[i].picture()); });
        const double su_streams =
            time_graphs(frames, [&](size_t i) { su_.code(stream_, frames[i].picture(), others()); });
        Timer timer(device_);
        const double own =
            timer
                .measure(stream_, frames.size(), run_.runs,
                         [&](size_t i) { product_.code(stream_, buffers_, frames[i].picture(), headers_.data()); })
                .median;
        std::printf("| %dx%d | %d | %.4f | %.4f | %.2f | %.4f | %.4f | %.4f | %.2f |%s\n", frame_format_.width,
                    frame_format_.height, qp, su_luma, cavlcu, su_luma / cavlcu, su, su_streams, own, su_streams / own,
                    different ? " BLOCKS DIFFER" : "");
        std::fflush(stdout);
        return !different;
    }

  private:
    std::vector<Stream *> others() const { return {others_[0].get(), others_[1].get(), others_[2].get()}; }
    template <class Work>
    double time_graphs(const std::vector<DeviceFrame> &frames, const Work &work) {
        std::vector<std::unique_ptr<Graph>> graphs;
        for (size_t i = 0; i < frames.size(); i++) {
            work(i);  // kernels of graphs were launched before
            device_->synchronize(static_cast<Device::Stream>(stream_));
            graphs.push_back(std::make_unique<Graph>(device_, stream_, [&] { work(i); }));
        }
        Timer timer(device_);
        return timer.measure(stream_, frames.size(), run_.runs, [&](size_t i) { device_->run(stream_, *graphs[i]); })
            .median;
    }

    const PaperRun &run_;
    const std::shared_ptr<Device> device_;
    const Stream stream_;
    const std::unique_ptr<Stream> others_[3];
    const CodedFormat format_;
    const FrameFormat frame_format_;
    const Frames sources_;
    ThreadPool pool_;
    IntraCoder intra_coder_;
    const DeviceArray<SliceHeaderBits> headers_;
    const DeviceArray<CavlcTables> tables_;
    const DeviceSliceCoder product_;
    PictureBuffers buffers_;
    SuCoder su_;
    const Cavlcu cavlcu_;
};

}  // namespace

bool measure_fuentes(const PaperRun &run) {
    struct Size {
        int width, height;
    };
    // 16x16 is one macroblock: what launches take.
    const std::vector<Size> sizes =
        run.small ? std::vector<Size>{{16, 16}, {100, 72}}
                  : std::vector<Size>{{16, 16}, {176, 144}, {352, 288}, {1280, 720}, {1920, 1080}, {3840, 2160}};
    const std::vector<int> qps = run.small ? std::vector<int>{0, 25} : std::vector<int>{0, 10, 20, 30, 40, 50};
    std::printf("\nFuentes-Alventosa 2021: ms a picture, each form a graph; 16x16 is what launches take\n\n");
    std::printf(
        "| size | QP | CAVLC_SU, luma | CAVLCU, luma | times | CAVLC_SU, all | on streams | cudaenc, all | times |\n");
    std::printf("|---|---|---|---|---|---|---|---|---|\n");
    bool good = true;
    for (const auto &[width, height] : sizes) {
        Forms forms(run, width, height);
        for (const int qp : qps) good &= forms.measure(qp);
    }
    return good;
}

}  // namespace cudaenc::bench
