// SPDX-License-Identifier: LGPL-2.1-or-later
// What is measured.
#pragma once
#include <string>
#include <vector>

#include "picture.h"

namespace cudaenc::bench {

constexpr double kLossyBitsPerPixel = 1.23;  // 1.28 MB for 3840x2160
constexpr int kJpegQuality = 90;

struct Case {
    const char *name;
    FrameFormat format;
    CudaencCodec codec;
    bool lossless = false;  // JPEG 2000: 5/3; else 9/7 at kLossyBitsPerPixel
    int cblk = 0;           // JPEG 2000
    int huffman = 0;        // JPEG: CudaencMjpegHuffman
    int style = 0;          // JPEG 2000: cblk_style
    int trellis = 0;        // JPEG
    int restart = 0;        // JPEG: restart_interval
    int tile = 0;           // JPEG 2000: side of tiles; 0: there is one
    int profile = 0;        // JPEG 2000: CudaencJ2kProfile
    bool fields = false;    // a frame is coded as two

    double pixels() const { return static_cast<double>(format.width) * format.height; }
    bool is_j2k() const { return codec == CUDAENC_CODEC_J2K; }
    size_t target_bytes() const { return static_cast<size_t>(kLossyBitsPerPixel * pixels() / 8); }
    // "3840x2160 RGB 8 bit, 5/3 lossless, blocks 32x32"
    std::string text() const;
};

// Code-block styles to and from the names that FFmpeg's option has, joined by +. Throws Error where one is not known.
std::string style_text(int style);
int parse_style(const std::string &text);

const std::vector<Case> &all_cases();
// A list of names, of codecs ("j2k", "mjpeg"), or "all". Throws Error where one is not known.
std::vector<Case> choose_cases(const std::string &list);

// Frames in host memory; JPEG 2000: default quality.
CudaencConfig make_config(const Case &c, const char *device);
// The quality of the session's codec.
int &quality_of(CudaencConfig &config);

}  // namespace cudaenc::bench
