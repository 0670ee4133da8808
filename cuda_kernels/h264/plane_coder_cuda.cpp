// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../compact.h"
#include "../device_pipeline.h"
#include "plane_coder_params.h"

namespace cudaenc::h264 {

namespace {

class DevicePlaneCoder : public PlaneCoder {
  public:
    DevicePlaneCoder(const BlockPlane &plane, std::shared_ptr<Device> device, bool device_memory)
        : plane_(plane),
          device_(std::move(device)),
          device_memory_(device_memory),
          stream_(device_),
          tables_(upload_now(device_, std::vector<CavlcTables>{kCavlcTables})),
          coefficients_(device_, device_memory ? 0 : size_t{16} * plane.blocks()),
          lengths_(device_, device_memory ? 0 : plane.blocks()),
          sizes_(device_, plane.blocks()),
          offsets_(device_, size_t{plane.blocks()} + 1),
          partials_(device_, prefix_sum_partials(plane.blocks())),
          all_(device_, 1) {}
    ~DevicePlaneCoder() override { stream_.settle(); }

    uint64_t code(const PlaneInput &input, const PlaneOutput &output) override {
        try {
            return code_settled(input, output);
        } catch (...) {
            stream_.settle();
            throw;
        }
    }

  private:
    uint64_t code_settled(const PlaneInput &input, const PlaneOutput &output) {
        const uint32_t blocks = plane_.blocks();
        const int16_t *coefficients = input.coefficients;
        if (device_memory_) {
            device_->wait_foreign(stream_, input.cuda_stream);
        } else {
            device_->upload(stream_, coefficients_.data(), coefficients, coefficients_.bytes());
            coefficients = coefficients_.data();
        }
        const PlaneArguments arguments{plane_, coefficients, tables_.data()};
        const Grid grid{blocks_for(blocks, kPlaneThreads)};
        uint16_t *const lengths = !output.lengths ? nullptr : device_memory_ ? output.lengths : lengths_.data();
        device_->launch(stream_, grid, kPlaneThreads, PlaneCountParams{arguments, sizes_.data(), lengths});
        prefix_sum(*device_, stream_, {{sizes_.data(), offsets_.data()}}, blocks, partials_.data());
        if (lengths && !device_memory_) device_->download(stream_, output.lengths, lengths, lengths_.bytes());
        device_->download(stream_, all_.data(), offsets_.data() + blocks, sizeof(uint64_t));
        device_->synchronize(static_cast<Device::Stream>(stream_));
        const uint64_t bits = *all_.data(), bytes = whole_words(bits);
        if (bytes > output.capacity) return bits;
        if (!device_memory_ && words_.bytes() < bytes) words_ = DeviceArray<uint32_t>(device_, bytes / 4 + bytes / 32);
        uint32_t *const words = device_memory_ ? reinterpret_cast<uint32_t *>(output.bytes) : words_.data();
        device_->fill(stream_, words, 0, bytes);
        device_->launch(stream_, grid, kPlaneThreads, PlaneCodeParams{arguments, offsets_.data(), words});
        if (!device_memory_) device_->download(stream_, output.bytes, words, bytes);
        device_->synchronize(static_cast<Device::Stream>(stream_));
        return bits;
    }

    const BlockPlane plane_;
    const std::shared_ptr<Device> device_;
    const bool device_memory_;
    const Stream stream_;
    const DeviceArray<CavlcTables> tables_;
    const DeviceArray<int16_t> coefficients_;
    const DeviceArray<uint16_t> lengths_;
    const DeviceArray<uint32_t> sizes_;
    const DeviceArray<uint64_t> offsets_, partials_;
    const PinnedArray<uint64_t> all_;
    DeviceArray<uint32_t> words_;
};

}  // namespace

std::unique_ptr<PlaneCoder> make_device_plane_coder(const BlockPlane &plane, std::shared_ptr<Device> device,
                                                    bool device_memory) {
    return std::make_unique<DevicePlaneCoder>(plane, std::move(device), device_memory);
}

}  // namespace cudaenc::h264
