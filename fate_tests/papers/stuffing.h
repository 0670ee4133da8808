// SPDX-License-Identifier: LGPL-2.1-or-later
// Raw segments on a device, and their stuffing.
#pragma once
#include <memory>
#include <vector>

#include "../../cuda_kernels/device_pipeline.h"
#include "stuffing_params.h"

namespace cudaenc::bench {

// Bits of raw segments before stuffing.
struct RawBitsOf {
    std::vector<std::vector<bool>> segments;
    std::vector<uint32_t> words() const {
        std::vector<uint32_t> words(segments.size() * j2k::kSegmentWords);
        for (size_t s = 0; s < segments.size(); s++)
            for (size_t i = 0; i < segments[s].size(); i++)
                words[s * j2k::kSegmentWords + i / 32] |= static_cast<uint32_t>(segments[s][i]) << (31 - i % 32);
        return words;
    }
    std::vector<uint32_t> lengths() const {
        std::vector<uint32_t> lengths;
        for (const auto &segment : segments) lengths.push_back(static_cast<uint32_t>(segment.size()));
        return lengths;
    }
};
// The same by a plain loop.
inline std::vector<uint8_t> stuff_plainly(const std::vector<bool> &segment) {
    std::vector<uint8_t> bytes(j2k::most_raw_bytes(static_cast<uint32_t>(segment.size())) + 2);
    j2k::RawWriter writer{bytes.data()};
    for (const bool bit : segment) writer.put(bit);
    writer.pad();
    bytes.resize(writer.bytes);
    return bytes;
}

class Stuffing {
  public:
    Stuffing(std::shared_ptr<Device> device, const RawBitsOf &raw)
        : device_(std::move(device)),
          count_(static_cast<uint32_t>(raw.segments.size())),
          bits_(upload_now(device_, raw.words())),
          lengths_(upload_now(device_, raw.lengths())),
          bytes_(device_, size_t{count_} * j2k::kStuffThreads),
          sizes_(device_, count_),
          iterations_(device_, count_),
          stuffed_(device_, count_) {}
    void by_bytes(Device::Stream stream) const {
        device_->launch(stream, {count_}, j2k::kStuffThreads,
                        j2k::StuffParams{arguments(), iterations_.data(), stuffed_.data()});
    }
    void by_warps(Device::Stream stream) const {
        device_->launch(stream, {blocks_for(count_, j2k::kStuffWarps)}, 32 * j2k::kStuffWarps,
                        j2k::WarpStuffParams{arguments()});
    }
    std::vector<uint32_t> iterations() const { return download(iterations_); }
    std::vector<uint32_t> stuffed() const { return download(stuffed_); }
    // Segments of the last call that a plain loop makes otherwise.
    size_t compare(const RawBitsOf &raw) const {
        const std::vector<uint8_t> bytes = download(bytes_);
        const std::vector<uint32_t> sizes = download(sizes_);
        size_t different = 0;
        for (size_t i = 0; i < count_; i++) {
            const std::vector<uint8_t> expected = stuff_plainly(raw.segments[i]);
            different += sizes[i] != expected.size() ||
                         !std::equal(expected.begin(), expected.end(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(i * j2k::kStuffThreads));
        }
        return different;
    }

  private:
    j2k::StuffArguments arguments() const {
        return {bits_.data(), lengths_.data(), bytes_.data(), sizes_.data(), count_};
    }
    template <class T>
    std::vector<T> download(const DeviceArray<T> &from) const {
        std::vector<T> host(from.count());
        device_->download(nullptr, host.data(), from.data(), from.bytes());
        device_->synchronize(Device::Stream{});
        return host;
    }
    const std::shared_ptr<Device> device_;
    const uint32_t count_;
    const DeviceArray<uint32_t> bits_, lengths_;
    const DeviceArray<uint8_t> bytes_;
    const DeviceArray<uint32_t> sizes_, iterations_, stuffed_;
};

}  // namespace cudaenc::bench
