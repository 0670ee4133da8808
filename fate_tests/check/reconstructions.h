// SPDX-License-Identifier: LGPL-2.1-or-later
// What h264_cavlc_cuda reconstructs, see emu/reconstruction.cpp, beside what a decoder shows.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "../../common/error.h"
#include "h264_stream.h"

namespace cudaenc::testing {

// While it lives, the process notes the reconstruction of each packet's picture.
class Reconstructions {
  public:
    Reconstructions() { setenv("CUDAENC_RECONSTRUCTIONS", name_.c_str(), 1); }
    ~Reconstructions() {
        unsetenv("CUDAENC_RECONSTRUCTIONS");
        std::remove(name_.c_str());
    }
    Reconstructions(const Reconstructions &) = delete;
    Reconstructions &operator=(const Reconstructions &) = delete;

    // The checksums of what was noted since the last call, sorted.
    std::vector<std::string> take() {
        std::vector<std::string> sums;
        std::ifstream file(name_);
        for (std::string line; file >> line;) sums.push_back(line);
        std::remove(name_.c_str());
        std::sort(sums.begin(), sums.end());
        return sums;
    }

  private:
    const std::string name_ = format_string("h264_reconstructions.%d", static_cast<int>(getpid()));
};

// The same of decoded pictures, with all of their macroblocks. filtered: see StreamPicture::checksum().
inline void add_checksums(const std::vector<StreamPicture> &pictures, std::vector<std::string> &sums,
                          bool filtered = false) {
    for (const StreamPicture &p : pictures) sums.push_back(p.checksum(filtered));
    std::sort(sums.begin(), sums.end());
}

}  // namespace cudaenc::testing
