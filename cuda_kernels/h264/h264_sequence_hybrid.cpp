// SPDX-License-Identifier: LGPL-2.1-or-later
// P pictures of frames in device memory: they are copied to CPU threads (common/h264/h264_sequence.h).
#include "../../common/h264/h264_sequence.h"

#include "frame_download.h"
#include "h264_hybrid.h"

namespace cudaenc::h264 {

namespace {

class SequenceHybrid : public SequencePipeline {
  public:
    SequenceHybrid(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                   bool stage_times)
        : SequencePipeline(params, slots, threads, stage_times, device), device_(std::move(device)), stream_(device_) {
        if (device_frames) pixels_.resize(static_cast<size_t>(slots));
    }
    ~SequenceHybrid() override { stop(); }

  private:
    void take(int slot, const SourcePicture &frame) override {
        SequencePipeline::take(slot, frame);
        if (pixels_.empty()) return;
        try {
            pixels_[static_cast<size_t>(slot)].download(device_, stream_, p_.input, frame,
                                                        pictures_[static_cast<size_t>(slot)].layouts.data());
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

std::unique_ptr<Encoder> make_hybrid_sequence_encoder(const Params &params, int slots, int threads,
                                                      std::shared_ptr<Device> device, bool device_frames,
                                                      bool stage_times) {
    return std::make_unique<SequenceHybrid>(params, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::h264
