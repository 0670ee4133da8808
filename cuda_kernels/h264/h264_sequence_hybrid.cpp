// SPDX-License-Identifier: LGPL-2.1-or-later
// What CPU threads code on every device (common/h264): frames in device memory are copied to them.
#include "../../common/h264/h264_cpu.h"
#include "../../common/h264/h264_sequence.h"
#include "frame_download.h"
#include "h264_hybrid.h"

namespace cudaenc::h264 {

namespace {

template <class Pipeline>
class OnThreads : public Pipeline {
  public:
    OnThreads(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
              bool stage_times)
        : Pipeline(params, slots, threads, stage_times, device), device_(std::move(device)), stream_(device_) {
        if (device_frames) pixels_.resize(static_cast<size_t>(slots));
    }
    ~OnThreads() override { this->stop(); }

  private:
    void take(int slot, const SourcePicture &frame) override {
        Pipeline::take(slot, frame);
        if (pixels_.empty()) return;
        try {
            pixels_[static_cast<size_t>(slot)].download(device_, stream_, this->p_.input, frame,
                                                        this->pictures_[static_cast<size_t>(slot)].layouts.data());
        } catch (...) {
            stream_.settle();
            throw;
        }
    }

    const std::shared_ptr<Device> device_;
    Stream stream_;
    std::vector<FrameDownload> pixels_;  // [slot]; empty: frames are in host memory
};

}  // namespace

std::unique_ptr<Encoder> make_threads_encoder(const Params &params, int slots, int threads,
                                              std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    if (params.gop_size > 1)
        return std::make_unique<OnThreads<SequencePipeline>>(params, slots, threads, std::move(device), device_frames,
                                                             stage_times);
    return std::make_unique<OnThreads<H264CpuEncoder>>(params, slots, threads, std::move(device), device_frames,
                                                       stage_times);
}

}  // namespace cudaenc::h264
