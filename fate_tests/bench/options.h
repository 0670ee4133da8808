// SPDX-License-Identifier: LGPL-2.1-or-later
// The command line of cudaenc_bench.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "measure.h"

namespace cudaenc::bench {

enum class Mode { kRates, kTier1, kCibo, kCavlc, kDecode, kH264, kStarts, kMemory, kEndurance, kPapers, kSmoke };

struct Options {
    Mode mode = Mode::kRates;
    std::string device = "auto", cases, peers, yuv, output, save, nvjpeg, nvjpeg2k, openjpeg, turbojpeg, x264, command;
    int frames = 16;
    std::vector<std::pair<int, int>> sizes;  // width, height; none: the cases' own
    int endurance_frames = 0;
    int style = 0;    // of JPEG 2000's code-blocks
    int trellis = 0;  // of JPEG
    int restart = 0;  // of JPEG: restart_interval
    int gop = 1;      // of H.264: gop_size
    int lookahead = 0;
    int tile = 0;    // of JPEG 2000: side of tiles
    int lowres = 0;  // of decoding JPEG 2000, as the next one
    std::string region;
    bool rotation = false, device_packets = false, yuv444 = false, fields = false;
    bool kernels = false;             // of H.264: each kernel's time
    bool small = false;               // of -papers: sizes of a test
    Memory memory = Memory::kDevice;  // of frames, where a GPU is
    int rate_control = CUDAENC_J2K_RATE_NONE;
    std::vector<int> threads, qualities, frame_bytes, slices;
    Effort effort;
    std::vector<std::string> files;
};

// Answers -help and -list itself. Throws Error with what is wrong.
Options parse_options(int argc, char **argv);

}  // namespace cudaenc::bench
