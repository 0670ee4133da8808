// SPDX-License-Identifier: LGPL-2.1-or-later
// NVIDIA's JPEG 2000 encoder and decoder at the same boundary, where its library is there. Nothing of it is part of
// this program: the header is asked for when the bench is built (make bench NVJPEG2K=its folder), the library when it
// runs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/region.h"
#include "cases.h"
#include "peer.h"

namespace cudaenc::bench {

bool has_nvjpeg2k();  // was built with its header

// frames: in memory of cuda:0. bytes: of the first frame in lossy cases. Throws Error where the library is not there,
// or fails.
PeerResult measure_nvjpeg2k(const std::string &library, const Case &c, const Frames &frames, size_t bytes,
                            const Effort &effort, const std::vector<int> &threads);

// Its decoder, a picture at a time.
class Nvjpeg2kDecoder {
  public:
    explicit Nvjpeg2kDecoder(const std::string &library);  // throws Error as measure_nvjpeg2k() does
    ~Nvjpeg2kDecoder();
    // To planes in memory of cuda:0, of 8 bits, or 16 where it is `wide`. lowres, region: as of our decoder; not both.
    void decode(const std::vector<uint8_t> &picture, uint8_t *const planes[], const ptrdiff_t strides[], int count,
                bool wide, int lowres, const j2k::Region &region);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cudaenc::bench
