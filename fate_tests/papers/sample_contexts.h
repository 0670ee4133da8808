// SPDX-License-Identifier: LGPL-2.1-or-later
// Context modelling by samples on a device, and the symbols that Annex D has.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "../../common/j2k/t1/contexts.h"
#include "../../cuda_kernels/device_pipeline.h"
#include "../check/t1_sequential.h"
#include "sample_contexts_params.h"

namespace cudaenc::bench {

using Symbols = std::vector<std::pair<int, int>>;  // context, decision

class SampleContexts {
  public:
    SampleContexts(std::shared_ptr<Device> device, uint32_t blocks, int most_planes)
        : device_(std::move(device)),
          most_planes_(most_planes),
          symbols_(device_, size_t{blocks} * static_cast<size_t>(most_planes) * kSamples),
          planes_(device_, blocks) {}
    void model(Device::Stream stream, const j2k::CodeBlock *blocks, const uint32_t *coefficients) const {
        device_->launch(stream, {static_cast<unsigned>(planes_.count())}, kSamples,
                        j2k::SampleContextsParams{blocks, coefficients, symbols_.data(), planes_.data(), most_planes_});
    }
    // Those of a block in the order in which the MQ coder takes them.
    Symbols symbols(uint32_t block, int width, int height) const {
        std::vector<j2k::SampleSymbols> all(static_cast<size_t>(most_planes_) * kSamples);
        uint8_t planes = 0;
        device_->download(nullptr, all.data(), symbols_.data() + block * all.size(), all.size() * 4);
        device_->download(nullptr, &planes, planes_.data() + block, 1);
        device_->synchronize(Device::Stream{});
        Symbols out;
        for (int plane = planes - 1; plane >= 0; plane--)
            for (uint32_t pass = plane == planes - 1 ? 2 : 0; pass < 3; pass++)
                for (int y0 = 0; y0 < height; y0 += 4)
                    for (int x = 0; x < width; x++)
                        for (int y = y0; y < std::min(y0 + 4, height); y++)
                            append(all[static_cast<size_t>(plane) * kSamples +
                                       static_cast<size_t>(y * j2k::kSampleBlock + x)],
                                   pass, out);
        return out;
    }

  private:
    static constexpr unsigned kSamples = j2k::kSampleBlock * j2k::kSampleBlock;
    static void append(const j2k::SampleSymbols &s, uint32_t pass, Symbols &out) {
        if (s.pass != pass) return;
        if (s.run) {
            out.emplace_back(j2k::kRunLength, s.run_ends);
            if (s.run_ends) {
                out.emplace_back(j2k::kUniform, s.run_at >> 1);
                out.emplace_back(j2k::kUniform, s.run_at & 1);
            }
        }
        if (s.magnitude) out.emplace_back(s.magnitude_context, s.magnitude_decision);
        if (s.sign) out.emplace_back(s.sign_context, s.sign_decision);
    }
    const std::shared_ptr<Device> device_;
    const int most_planes_;
    const DeviceArray<j2k::SampleSymbols> symbols_;
    const DeviceArray<uint8_t> planes_;
};

// The same by the sequential coder of Annex D.
inline Symbols model_plainly(const uint32_t *coefficients, uint32_t stride, int width, int height, int orientation) {
    struct Sink {
        Symbols symbols;
        void put(int context, uint32_t decision) { symbols.emplace_back(context, static_cast<int>(decision)); }
        void put_raw(uint32_t) {}
        void end_pass() {}
    } sink;
    std::vector<uint16_t> flags(static_cast<size_t>(j2k::flags_count(width, height)));
    j2k::SequentialCoder<Sink> coder(coefficients, stride, width, height, orientation, 0, flags.data(), sink);
    coder.code(false);
    return sink.symbols;
}

}  // namespace cudaenc::bench
