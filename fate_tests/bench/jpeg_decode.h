// SPDX-License-Identifier: LGPL-2.1-or-later
// The decoders, nvJPEG's, libjpeg-turbo's and nvJPEG2000's, from packets in host memory to planes: in the device's
// memory, but for the CPU's in the host's.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../../common/device.h"
#include "json.h"

namespace cudaenc::bench {

using CodedPictures = std::vector<std::vector<uint8_t>>;

// Libraries of peers; "": where the system has it; "no": not measured.
struct DecodingPeers {
    std::string nvjpeg, turbojpeg, nvjpeg2k;
    std::string only;  // names of decoders with commas between them; "": all
    bool has(const std::string &name) const {
        return only.empty() || ("," + only + ",").find("," + name + ",") != std::string::npos;
    }
};

// What is decoded of JPEG 2000: see CudaencDecoderConfig.
struct DecodedPart {
    int lowres = 0;
    std::string region;
    bool is_whole() const { return !lowres && region.empty(); }
};

// Prints rates over the pictures, which are of one size, and puts them into the open object of json. device: nullptr:
// planes are in host memory. spec: of the decoder's option `device`.
void measure_decoding(CudaencCodec codec, const DecodedPart &part, const std::shared_ptr<Device> &device,
                      const std::string &spec, const CodedPictures &pictures, const Effort &effort,
                      const std::vector<int> &depths, const std::vector<int> &sessions, const DecodingPeers &peers,
                      Json &json);

}  // namespace cudaenc::bench
