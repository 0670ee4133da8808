// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_sequence_coder.h"

#include <algorithm>

#include "../../common/h264/intra/qp_choice.h"
#include "../../common/h264/lookahead.h"
#include "intra/adaptive_qp_params.h"

namespace cudaenc::h264 {

namespace {

DeblockPicture deblock_format(const PictureFormat &f) {
    return {.format = f.chroma,
            .bit_depth = f.bit_depth,
            .columns = f.macroblock_columns(),
            .rows = f.macroblock_rows(),
            .field = f.separate_field(),
            .across_slices = true,
            .tables = nullptr,
            .macroblocks = nullptr,
            .vectors = nullptr};
}

}  // namespace

DeviceSequenceCoder::DeviceSequenceCoder(std::shared_ptr<Device> device, const PictureFormat &format, int vertical,
                                         bool deblock, int aq_strength)
    : device_(std::move(device)),
      format_(format),
      columns_(format.macroblock_columns()),
      rows_(format.macroblock_rows()),
      aq_strength_(aq_strength),
      search_(device_, format.width, format.height, vertical),
      refinement_(device_, columns_, rows_, vertical),
      intra_coder_(device_, format, 1),
      inter_coder_(device_, format, vertical),
      intra_macroblocks_(device_, format, intra_coder_),
      slices_(upload_now(device_, macroblock_slices(format.all_slices()))),
      refined_(refinement_.make_buffers()) {
    const size_t count = static_cast<size_t>(format.macroblocks());
    const int bytes = decoded_sample_bytes(format.chroma, format.bit_depth);
    between_.resize(format.separate_field() ? 2 : 1);
    for (Between &between : between_)
        for (int i = bytes == 1 ? kRight : kWhole; i < kHalfPlanes; i++)
            between.planes[i] = DevicePlane(device_, 16 * columns_, 16 * rows_);
    motion_ = {device_, count};
    outcomes_ = {device_, count};
    decoded_qps_ = {device_, count};
    deblock_macroblocks_ = {device_, count};
    deblock_vectors_ = {device_, 16 * count};
    if (!deblock) return;
    deblocker_ = std::make_unique<DeviceDeblocker>(device_, deblock_format(format),
                                                   make_deblock_tables(format.bit_depth), bytes);
    deblock_buffers_ = deblocker_->make_buffers();
}

void DeviceSequenceCoder::set_slices(Device::Stream stream, const std::vector<Slice> &slices) {
    host_slices_ = macroblock_slices(slices);
    device_->upload(stream, slices_.data(), host_slices_.data(), slices_.bytes());
}

SequenceFrame DeviceSequenceCoder::make_frame() const {
    SequenceFrame frame{.source = search_.make_pyramid(), .decoded = {}};
    const int bytes = decoded_sample_bytes(format_.chroma, format_.bit_depth);
    for (int c = 0; c < format_.components(); c++)
        frame.decoded[c] = DevicePlane(device_, columns_ * format_.columns(c), rows_ * format_.rows(c), bytes);
    return frame;
}

SequenceBuffers DeviceSequenceCoder::make_buffers(bool finds_costs, bool weighs, bool looks_ahead) const {
    SequenceBuffers buffers{
        .intra = intra_coder_.make_buffers(), .intra_macroblocks = intra_macroblocks_.make_buffers(), .searches = {}};
    for (size_t i = 0; i < between_.size(); i++) buffers.searches.push_back(search_.make_buffers());
    const size_t rows = between_.size() * static_cast<size_t>(rows_);
    if (finds_costs) buffers.costs = std::make_unique<PinnedArray<SceneCosts>>(device_, rows);
    if (weighs) buffers.weighed = search_.make_weighed_source();
    const size_t count = static_cast<size_t>(format_.macroblocks());
    if (looks_ahead)
        buffers.lookahead.reset(
            new LookaheadBuffers{{device_, count}, {device_, count}, {device_, count}, {device_, count}});
    return buffers;
}

ReferencePlanes DeviceSequenceCoder::planes_of(const SequenceFrame &frame, const Between &between) const {
    ReferencePlanes planes{};
    for (int i = 0; i < 3; i++) planes.decoded[i] = frame.decoded[i].plane();
    for (int i = 0; i < kHalfPlanes; i++) planes.luma[i] = between.planes[i].plane();
    if (decoded_sample_bytes(format_.chroma, format_.bit_depth) == 1) planes.luma[kWhole] = planes.decoded[0];
    return planes;
}

// ---- Ahead

void DeviceSequenceCoder::load(Device::Stream stream, const Picture &picture) const {
    search_.build(stream, picture.components[0], picture.own->source);
}

void DeviceSequenceCoder::search(Device::Stream stream, const Picture &picture) const {
    if (!picture.before[0]) return;
    if (host_slices_.empty()) intra_macroblocks_.rank(stream, picture.components, picture.buffers->intra_macroblocks);
    const SequenceBuffers &b = *picture.buffers;
    if (b.weighed) search_.weigh(stream, picture.own->source, picture.before[0]->source, *b.weighed);
    const DevicePyramid &source = compared(picture);
    for (size_t i = 0; i < b.searches.size() && picture.before[i]; i++) {
        const DevicePyramid &before = picture.before[i]->source;
        search_.find(stream, source, before, motion_lambda_of(picture.qp), b.searches[i]);
        if (b.costs)
            search_.find_costs(stream, source, before, b.searches[i], b.costs->data() + i * static_cast<size_t>(rows_));
    }
}

void DeviceSequenceCoder::find_source_costs(Device::Stream stream, const SequenceBuffers &buffers,
                                            const SequenceFrame &own, const SequenceFrame *before) const {
    const DevicePyramid *const source = before ? &before->source : nullptr;
    const DeviceMotionSearch::Buffers &search = buffers.searches.front();
    const LookaheadBuffers &to = *buffers.lookahead;
    if (source) search_.find_halves(stream, own.source, *source, motion_lambda_of(kLookaheadQp), search);
    search_.find_source_costs(stream, own.source, source, search, to.costs.data());
    device_->download(stream, to.host_costs.data(), to.costs.data(), to.costs.bytes());
}

void DeviceSequenceCoder::upload_offsets(Device::Stream stream, const SequenceBuffers &buffers) const {
    const LookaheadBuffers &b = *buffers.lookahead;
    device_->upload(stream, b.offsets.data(), b.host_offsets.data(), b.offsets.bytes());
}

SceneCosts DeviceSequenceCoder::scene_costs(const SequenceBuffers &buffers, int distance) const {
    SceneCosts sum{};
    const SceneCosts *const rows = buffers.costs->data() + (distance - 1) * rows_;
    for (int y = 0; y < rows_; y++) sum.add(rows[y]);
    return sum;
}

void DeviceSequenceCoder::choose_qps(Device::Stream stream, const Picture &picture) const {
    SequenceBuffers &b = *picture.buffers;
    const uint32_t count = static_cast<uint32_t>(format_.macroblocks());
    if (is_adaptive(picture)) {
        b.constant_qp.reset();
        device_->launch(stream, {static_cast<unsigned>(ceil_div(count, kQpThreads / 32))}, kQpThreads,
                        AdaptiveQpParams{.luma = picture.components[0],
                                         .picture_width = format_.width,
                                         .picture_height = format_.height,
                                         .columns = static_cast<uint32_t>(columns_),
                                         .macroblocks = count,
                                         .choice = {.qp = picture.qp,
                                                    .strength = aq_strength_,
                                                    .lowest_adapted = picture.qp,  // as PredictedPictureCoder
                                                    .lowest = format_.lowest_qp,
                                                    .bit_depth = format_.bit_depth,
                                                    .regions = picture.regions},
                                         .qps = b.intra.qps.data(),
                                         .offsets = offsets(picture)});
        return;
    }
    const int qp = std::min(picture.qp, kMaxQp);
    if (b.constant_qp != qp) device_->fill(stream, b.intra.qps.data(), static_cast<uint8_t>(qp), b.intra.qps.bytes());
    b.constant_qp = qp;
}

// ---- In order

void DeviceSequenceCoder::code(Device::Stream stream, const Picture &picture) {
    const IntraBuffers &intra = picture.buffers->intra;
    const bool predicted = picture.before[0] != nullptr;
    if (predicted) {
        code_predicted(stream, picture);
    } else {
        std::array<ReconstructedPlane, 3> planes{};
        for (size_t c = 0; c < 3; c++)
            planes[c] = {picture.own->decoded[c].plane().data, picture.own->decoded[c].plane().stride};
        intra_coder_.code(stream,
                          {.buffers = &picture.buffers->intra,
                           .components = picture.components,
                           .qp = picture.qp,
                           .regions = picture.regions,
                           .offsets = offsets(picture)},
                          aq_strength_, planes, slices_.data());
    }
    finish_picture(*device_, stream,
                   {.format = format_.chroma,
                    .columns = columns_,
                    .rows = rows_,
                    .slice_qp = std::min(picture.qp, kMaxQp),
                    .slices = slices_.data(),
                    .motion = predicted ? motion_.data() : nullptr,
                    .qps = is_adaptive(picture) ? intra.qps.data() : nullptr,
                    .levels = intra.levels.data(),
                    .macroblocks = intra.macroblocks.data(),
                    .decoded_qps = decoded_qps_.data(),
                    .deblock_macroblocks = deblock_macroblocks_.data(),
                    .deblock_vectors = deblock_vectors_.data()});
    if (predicted && is_adaptive(picture))
        device_->launch(stream, {static_cast<unsigned>(ceil_div(format_.macroblocks(), kQpThreads))}, kQpThreads,
                        QpDeltaParams{.macroblocks = intra.macroblocks.data(),
                                      .count = static_cast<uint32_t>(format_.macroblocks()),
                                      .qps = intra.qps.data(),
                                      .slice_qp = picture.qp,
                                      .bit_depth = format_.bit_depth});
}

void DeviceSequenceCoder::code_predicted(Device::Stream stream, const Picture &picture) {
    const IntraBuffers &intra = picture.buffers->intra;
    if (!host_slices_.empty())
        intra_macroblocks_.rank(stream, picture.components, picture.buffers->intra_macroblocks, slices_.data());
    const size_t distance = static_cast<size_t>(picture.refers_to.distance);
    const ReferencePlanes planes = reference(stream, *picture.before[distance - 1]);
    const int drop_step = std::max(0, picture.qp - kMaxQp);
    const DevicePlane &luma = picture.own->source.levels[0];
    refinement_.find(stream, compared(picture).levels[0], planes, picture.buffers->searches[distance - 1].found.data(),
                     intra.qps.data(), drop_step, picture.refresh, refined_);
    DeviceInterCoder::Picture inter{.luma = luma.plane(),
                                    .components = picture.components,
                                    .decoded = {},
                                    .qps = intra.qps.data(),
                                    .drop_step = drop_step,
                                    .field = refined_.motion[0].data(),
                                    .refresh = picture.refresh,
                                    .weights = picture.weights,
                                    .chroma_offset = picture.refers_to.chroma_offset};
    for (int c = 0; c < 3; c++) inter.decoded[c] = picture.own->decoded[c].plane();
    const DeviceInterCoder::Results results{.macroblocks = intra.macroblocks.data(),
                                            .levels = intra.levels.data(),
                                            .motion = motion_.data(),
                                            .outcomes = outcomes_.data()};
    inter_coder_.code(stream, inter, planes, results);
    intra_macroblocks_.code(stream,
                            {.components = picture.components,
                             .luma = luma.plane(),
                             .decoded = {inter.decoded[0], inter.decoded[1], inter.decoded[2]},
                             .qps = intra.qps.data(),
                             .slices = slices_.data(),
                             .drop_step = drop_step,
                             .estimates = refined_.estimates[0].data(),
                             .refresh = picture.refresh},
                            results, picture.buffers->intra_macroblocks);
}

void DeviceSequenceCoder::keep(Device::Stream stream, const Picture &picture) {
    if (deblocker_) {
        DeviceDeblocker::Picture filtered{
            .planes = {}, .macroblocks = deblock_macroblocks_.data(), .vectors = deblock_vectors_.data()};
        for (size_t c = 0; c < 3; c++)
            filtered.planes[c] = {picture.own->decoded[c].plane().data, picture.own->decoded[c].plane().stride};
        deblocker_->filter(stream, deblock_buffers_, filtered);
    }
    make_between(stream, *picture.own);
}

// In place of those that were made first.
void DeviceSequenceCoder::make_between(Device::Stream stream, const SequenceFrame &frame) {
    const auto own =
        std::find_if(between_.begin(), between_.end() - 1, [&](const Between &b) { return b.of == &frame; });
    std::rotate(between_.begin(), own, own + 1);
    between_[0].of = nullptr;
    complete_reference(*device_, stream, planes_of(frame, between_[0]), format_.chroma, format_.bit_depth);
    between_[0].of = &frame;
}

// Of a frame that was kept. When pictures are coded again, others have taken its place.
ReferencePlanes DeviceSequenceCoder::reference(Device::Stream stream, const SequenceFrame &frame) {
    for (const Between &between : between_)
        if (between.of == &frame) return planes_of(frame, between);
    make_between(stream, frame);
    return planes_of(frame, between_[0]);
}

void DeviceSequenceCoder::reset() {
    deblock_buffers_.pictures = 0;
    for (Between &between : between_) between.of = nullptr;
}

}  // namespace cudaenc::h264
