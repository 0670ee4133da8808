// SPDX-License-Identifier: LGPL-2.1-or-later
// OpenJPEG's library, opened at run time: an encoder of the CPU to compare with, and the decoder that says what PSNR
// the streams of all encoders have. The program knows it where it was built with its header.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "cases.h"
#include "measure.h"

namespace cudaenc::bench {

class OpenJpeg {
  public:
    explicit OpenJpeg(const std::string &file);  // throws Error where it cannot be opened
    ~OpenJpeg();
    std::string name() const;  // with its version

    // Against the frame, which is in host memory: over all samples of all components, infinite where all are the same.
    double psnr(const Case &c, const CudaencFrame &frame, const std::vector<uint8_t> &stream) const;

    // One frame at a time, from its own form of a picture to bytes, both in memory. Lossy cases get `bytes` as target.
    // frames: in host memory. first_stream: of the first frame.
    Single encode(const Case &c, const Frames &frames, double bytes, int threads, const Effort &effort,
                  std::vector<uint8_t> &first_stream) const;

  private:
    struct Library;
    std::unique_ptr<const Library> lib_;
};

}  // namespace cudaenc::bench
