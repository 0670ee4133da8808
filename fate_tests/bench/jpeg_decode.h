// The JPEG decoder and nvJPEG's, from packets in host memory to planes in the device's memory.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../../common/device.h"
#include "json.h"

namespace cudaenc::bench {

using CodedPictures = std::vector<std::vector<uint8_t>>;

// Prints rates over the pictures, which are of one size, and adds a row to the open array of json. device: nullptr:
// planes are in host memory. spec: of the decoder's option `device`. nvjpeg: its library; "no": not measured.
void measure_decoding(const std::shared_ptr<Device> &device, const std::string &spec, const CodedPictures &pictures,
                      const Effort &effort, const std::vector<int> &depths, const std::vector<int> &sessions,
                      const std::string &nvjpeg, Json &json);

}  // namespace cudaenc::bench
