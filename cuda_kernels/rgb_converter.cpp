// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../common/rgb_converter.h"

#include "device_pipeline.h"
#include "rgb_params.h"

namespace cudaenc {

namespace {

class Converter : public DeviceConverter {
  public:
    explicit Converter(std::shared_ptr<Device> device)
        : device_(std::move(device)), stream_(device_), wrong_(device_, 1), host_wrong_(device_, 1) {}
    ~Converter() override { stream_.settle(); }

    uint32_t convert(const RgbFrames &frames, const YcbcrWeights &weights, void *cuda_stream) override {
        try {
            device_->wait_foreign(stream_, cuda_stream);
            device_->fill(stream_, wrong_.data(), 0, wrong_.bytes());
            const Grid grid{.x = blocks_for(static_cast<uint64_t>(frames.block_columns()), kRgbThreads),
                            .y = static_cast<unsigned>(frames.block_rows()),
                            .z = static_cast<unsigned>(frames.count)};
            device_->launch(stream_, grid, kRgbThreads,
                            RgbParams{.frames = frames, .weights = weights, .wrong = wrong_.data()});
            device_->download(stream_, host_wrong_.data(), wrong_.data(), wrong_.bytes());
            device_->synchronize(static_cast<Device::Stream>(stream_));
            return *host_wrong_.data();
        } catch (...) {
            stream_.settle();
            throw;
        }
    }

  private:
    const std::shared_ptr<Device> device_;
    const Stream stream_;
    const DeviceArray<uint32_t> wrong_;
    const PinnedArray<uint32_t> host_wrong_;
};

}  // namespace

std::unique_ptr<DeviceConverter> make_device_converter(std::shared_ptr<Device> device) {
    return std::make_unique<Converter>(std::move(device));
}

}  // namespace cudaenc
