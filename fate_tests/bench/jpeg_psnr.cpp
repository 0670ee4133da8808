// SPDX-License-Identifier: LGPL-2.1-or-later
#include "jpeg_psnr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../check/jpeg_decoder.h"

namespace cudaenc::bench {

double jpeg_psnr(const FrameFormat &format, const CudaencFrame &frame, const std::vector<uint8_t> &stream) {
    const testing::JpegDecoder decoder(stream.data(), stream.size());
    double sum = 0, samples = 0;
    for (int c = 0; c < 3; c++) {
        const int width = format.component_width(c), height = format.component_height(c);
        const std::vector<double> decoded = decoder.samples(c);
        if (decoded.size() != static_cast<size_t>(width) * height)
            throw Error(CUDAENC_ERR_INTERNAL, "JPEG: a component has another size than the frame's");
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                const double value = std::clamp(std::round(decoded[static_cast<size_t>(y) * width + x]), 0.0, 255.0);
                const double error = value - frame.data[c][y * frame.stride[c] + x];
                sum += error * error;
            }
        samples += static_cast<double>(width) * height;
    }
    return sum > 0 ? 10 * std::log10(255 * 255 * samples / sum) : std::numeric_limits<double>::infinity();
}

}  // namespace cudaenc::bench
