// SPDX-License-Identifier: LGPL-2.1-or-later
// The stages of Patel et al. on a device, and by plain loops.
#pragma once
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "../../cuda_kernels/device_pipeline.h"
#include "dct_forms_params.h"

namespace cudaenc::bench {

// Their matrix (section 4.2).
inline constexpr float kPatelDivisors[64] = {32, 33, 51, 81, 66, 39, 34, 17, 33, 36, 48, 47, 28, 23, 12, 12,
                                             51, 48, 47, 28, 23, 12, 12, 12, 81, 47, 28, 23, 12, 12, 12, 12,
                                             66, 28, 23, 12, 12, 12, 12, 12, 39, 23, 12, 12, 12, 12, 12, 12,
                                             34, 12, 12, 12, 12, 12, 12, 12, 17, 12, 12, 12, 12, 12, 12, 12};

inline std::vector<float> dct_matrix(bool inverse) {
    std::vector<float> matrix(64);
    for (size_t k = 0; k < 8; k++)
        for (size_t n = 0; n < 8; n++) {
            const double c = (k ? 0.5 : std::sqrt(0.125)) * std::cos((2.0 * static_cast<double>(n) + 1) *
                                                                     static_cast<double>(k) * std::numbers::pi / 16);
            matrix[inverse ? 8 * n + k : 8 * k + n] = static_cast<float>(c);
        }
    return matrix;
}

// A plane, and its stages by plain loops in the order of the kernels' sums.
struct PatelPlane {
    uint32_t width, height;  // multiples of 8
    std::vector<float> samples;

    void transform(const std::vector<float> &c) {
        for (uint32_t y = 0; y < height; y += 8)
            for (uint32_t x = 0; x < width; x += 8) {
                float in[64], half[64];
                for (uint32_t i = 0; i < 64; i++) in[i] = at(x + i % 8, y + i / 8);
                for (uint32_t i = 0; i < 64; i++) {
                    half[i] = 0;
                    for (uint32_t k = 0; k < 8; k++) half[i] += c[i / 8 * 8 + k] * in[8 * k + i % 8];
                }
                for (uint32_t i = 0; i < 64; i++) {
                    float sum = 0;
                    for (uint32_t k = 0; k < 8; k++) sum += half[i / 8 * 8 + k] * c[i % 8 * 8 + k];
                    at(x + i % 8, y + i / 8) = sum;
                }
            }
    }
    void quantise() {
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++) {
                const float q = kPatelDivisors[y % 8 * 8 + x % 8];
                at(x, y) = std::round(at(x, y) / q) * q;
            }
    }

  private:
    float &at(uint32_t x, uint32_t y) { return samples[size_t{y} * width + x]; }
};

class DctForms {
  public:
    DctForms(std::shared_ptr<Device> device, uint32_t width, uint32_t height)
        : device_(std::move(device)),
          samples_(device_, size_t{width} * height),
          forward_(upload_now(device_, dct_matrix(false))),
          inverse_(upload_now(device_, dct_matrix(true))),
          divisors_(upload_now(device_, std::vector<float>(kPatelDivisors, kPatelDivisors + 64))),
          across_(width / 8),
          blocks_(width / 8 * (height / 8)) {}
    void upload(Device::Stream stream, const float *from) const {
        device_->upload(stream, samples_.data(), from, samples_.bytes());
    }
    void download(Device::Stream stream, float *to) const {
        device_->download(stream, to, samples_.data(), samples_.bytes());
    }
    void dct(Device::Stream stream, bool inverse, int blocks) const {
        const mjpeg::DctPlane p = plane(inverse);
        if (blocks == 1)
            device_->launch(stream, {blocks_}, 64, mjpeg::DctOneBlockParams{p});
        else
            device_->launch(stream, {blocks_for(blocks_, 8)}, 512, mjpeg::DctEightBlocksParams{p});
    }
    void quantise(Device::Stream stream, int method) const {
        const mjpeg::DctPlane p = plane(false);
        if (method == 1) device_->launch(stream, {blocks_}, 64, mjpeg::QuantiseGlobalParams{p});
        if (method == 2) device_->launch(stream, {blocks_}, 64, mjpeg::QuantiseSharedParams{p});
        if (method == 3) device_->launch(stream, {blocks_}, 64, mjpeg::QuantiseLoadedParams{p});
    }

  private:
    mjpeg::DctPlane plane(bool inverse) const {
        return {samples_.data(), inverse ? inverse_.data() : forward_.data(), divisors_.data(), across_, blocks_};
    }
    const std::shared_ptr<Device> device_;
    const DeviceArray<float> samples_, forward_, inverse_, divisors_;
    const uint32_t across_, blocks_;
};

}  // namespace cudaenc::bench
