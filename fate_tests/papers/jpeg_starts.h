// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG's Huffman decoding by Patel et al.
#pragma once
#include <memory>
#include <vector>

#include "../../common/device.h"
#include "../bench/json.h"

namespace cudaenc::bench {

// Decodes a picture of one baseline scan without restart markers from each start of each subsequence of 512 bits, and
// chooses the right ones: prints and puts into json how long that takes, without unstuffing, coefficients and inverse
// DCT. Returns whether the chain has the scan's blocks.
bool measure_jpeg_starts(const std::shared_ptr<Device> &device, const std::vector<uint8_t> &picture, int runs,
                         Json &json);

}  // namespace cudaenc::bench
