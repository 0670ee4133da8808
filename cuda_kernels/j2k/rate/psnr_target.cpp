// SPDX-License-Identifier: LGPL-2.1-or-later
#include "psnr_target.h"

namespace cudaenc::j2k {

PsnrTarget::PsnrTarget(std::shared_ptr<Device> device, const Params &params, const EncoderGeometry &geometry)
    : device_(std::move(device)),
      params_(params),
      geometry_(geometry),
      threads_(thread_count(0)),
      hulls_(geometry, params.style, 1, are_whole(params.style, params.layers)),
      coefficients_(geometry.samples),
      decoded_(geometry.samples),
      pass_bytes_(geometry.blocks.size() * static_cast<size_t>(geometry.max_passes)),
      reductions_(pass_bytes_.size()),
      planes_(geometry.blocks.size()),
      passes_(geometry.blocks.size()),
      coded_(geometry.blocks.size()),
      samples_(params.components.size()) {}

PsnrThreshold PsnrTarget::find(Device::Stream stream, const uint32_t *coefficients, const BlockRecords &coded,
                               std::span<SampleLayout> layouts, bool in_device_memory) {
    const auto download = [&](auto &to, const auto *from) {
        device_->download(stream, to.data(), from, to.size() * sizeof(to[0]));
    };
    download(coefficients_, coefficients);
    download(pass_bytes_, coded.pass_bytes);
    download(reductions_, coded.reductions);
    download(planes_, coded.planes);
    download(passes_, coded.passes);
    if (in_device_memory) download_samples(stream, layouts);
    device_->synchronize(stream);
    for (size_t b = 0; b < coded_.size(); b++) coded_[b] = {.bytes = 0, .planes = planes_[b], .passes = passes_[b]};
    hulls_.find_hulls(threads_, coded_, pass_bytes_.data(), reductions_.data());
    return psnr_threshold(threads_, params_, geometry_, {layouts, coefficients_.data(), coded_, hulls_},
                          decoded_.data());
}

void PsnrTarget::download_samples(Device::Stream stream, std::span<SampleLayout> layouts) {
    for (size_t c = 0; c < params_.components.size(); c++) {
        SampleLayout &layout = layouts[c];
        const int64_t rows = ceil_div(params_.height, params_.components[c].dy),
                      columns = ceil_div(params_.width, params_.components[c].dx);
        std::vector<uint8_t> &samples = samples_[c];
        samples.resize(static_cast<size_t>(layout.stride * (rows - 1) + layout.step * (columns - 1) +
                                           (layout.shift + layout.depth > 8 ? 2 : 1)));
        device_->download(stream, samples.data(), layout.data, samples.size());
        layout.data = samples.data();
    }
}

}  // namespace cudaenc::j2k
