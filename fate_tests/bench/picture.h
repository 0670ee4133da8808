// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that the benchmarks code, and the frames that are made of them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../common/cudaenc.h"
#include "../../common/device.h"

namespace cudaenc::bench {

struct Picture {
    std::string name;
    int width = 0, height = 0, depth = 0;
    std::vector<uint16_t> plane[3];  // R, G, B; rows of `width`
};

// PPM and PGM (P5, P6), PNG without interlacing; 8 and 16 bits. Gray becomes R = G = B. With `raw`, which is
// "WxH:FORMAT" and FORMAT one of yuv420p, yuv422p, yuv444p with 10 appended for 10 bits in 16, the file is the first
// frame of planar video (BT.709, limited range). Throws Error with what is wrong with it.
Picture read_picture(const std::string &file, const std::string &raw);
// All frames of raw video.
std::vector<Picture> read_video(const std::string &file, const std::string &raw);

// A deterministic picture of 16 bits with the statistics of a photograph: things of all sizes that hide each other,
// with edges, texture of several octaves on them, the blur of a lens and a sensor's noise.
Picture generate_picture(int width, int height);

enum class Layout { kRgb, kRgbPacked, kYuv444, kYuv422, kYuv420 };  // planar but for kRgbPacked
struct FrameFormat {
    int width, height, depth;
    Layout layout;
    bool full_range = false;  // of YUV: BT.601's full range, as JPEG has it; else BT.709's limited one

    int log2_subsample_x(int component) const { return component && layout >= Layout::kYuv422; }
    int log2_subsample_y(int component) const { return component && layout == Layout::kYuv420; }
    int component_width(int c) const { return (width + (1 << log2_subsample_x(c)) - 1) >> log2_subsample_x(c); }
    int component_height(int c) const { return (height + (1 << log2_subsample_y(c)) - 1) >> log2_subsample_y(c); }
    int sample_bytes() const { return depth > 8 ? 2 : 1; }
};
CudaencFormat make_format(const FrameFormat &format);

// The picture at the format's size and depth: its centre, after a mean of 2x2 where it is twice as large, or the
// picture with reflections of it where it is smaller. Bits that the picture lacks become noise, as a sensor's would be.
Picture fit_picture(const Picture &picture, const FrameFormat &format);

// Where frames lie. Copies to a device reach pinned memory of the host at full speed.
enum class Memory { kDevice, kPinned, kHost };

// Distinct frames, of each picture in turn: the picture itself, then cyclic shifts of it by odd numbers of columns and
// rows.
class Frames {
  public:
    // In memory of `device`, which outlives the object, or of the host where it is null. Fits the pictures.
    Frames(const std::vector<Picture> &pictures, const FrameFormat &format, int count, std::shared_ptr<Device> device,
           Memory memory = Memory::kDevice);
    const CudaencFrame &operator[](size_t i) const { return frames_[i % frames_.size()]; }
    const CudaencFrame &first_on_host() const { return first_on_host_; }
    int count() const { return static_cast<int>(frames_.size()); }
    size_t bytes() const { return bytes_; }  // of a frame

  private:
    size_t bytes_ = 0;
    std::vector<CudaencFrame> frames_;
    CudaencFrame first_on_host_{};
    std::vector<std::vector<uint8_t>> host_;
    std::vector<DeviceArray<uint8_t>> device_;
    std::vector<std::shared_ptr<void>> pinned_;
};

// Runs job(i) for all i below count on all cores.
void parallel(int count, const std::function<void(int)> &job);

}  // namespace cudaenc::bench
