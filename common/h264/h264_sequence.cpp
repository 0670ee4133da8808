// SPDX-License-Identifier: LGPL-2.1-or-later
#include "h264_sequence.h"

#include <algorithm>

#include "../planes.h"
#include "h264.h"

namespace cudaenc::h264 {

namespace {

enum Stage { kAnalyse, kStages };
constexpr const char *kStageNames[kStages] = {"pictures"};

}  // namespace

SequencePipeline::SequencePipeline(const Params &params, int slots, int threads, bool stage_times,
                                   const std::shared_ptr<Device> &device)
    : CpuEncoder(slots, threads, kStageNames, stage_times, device),
      p_(params),
      pictures_(static_cast<size_t>(slots)),
      packet_writer_(p_),
      planner_(p_.rate, slots),
      sequence_(p_.picture, p_.most_vertical_vector, p_.deblock),
      slice_coder_(p_.sets.format, p_.slices),
      macroblocks_(static_cast<size_t>(p_.picture.macroblocks())),
      levels_(macroblocks_.size() * 16 * static_cast<size_t>(blocks_per_macroblock(p_.picture.chroma))),
      gop_(p_.gop_size, p_.least_gop_size, p_.scene_cut, p_.picture.macroblocks(), p_.picture.separate_field()) {
    for (int i = 0; i < slots; i++) pictures_[static_cast<size_t>(i)].slot = i;
    waiting_.reserve(static_cast<size_t>(slots));
    if (p_.lookahead) {
        lookahead_.emplace(p_.picture, p_.lookahead);
        comparison_.emplace(p_.picture, p_.most_vertical_vector);
        for (Picture &picture : pictures_) {
            picture.costs.resize(macroblocks_.size());
            picture.offsets.resize(macroblocks_.size());
        }
    }
    if (p_.slice_max_bytes) division_.emplace(p_.picture.macroblocks(), p_.slice_max_bytes);
}

void SequencePipeline::take(int slot, const SourcePicture &frame) {
    Picture &picture = pictures_[static_cast<size_t>(slot)];
    packet_writer_.begin(picture, frame);
    picture.ahead = {.number = picture.number,
                     .forced_key = picture.forced_key,
                     .costs = picture.costs,
                     .offsets = picture.offsets.data()};
    for (int c = 0; c < p_.input.components; c++) {
        const CudaencComponent &k = p_.input.component[c];
        picture.layouts[static_cast<size_t>(c)] = layout_of(k, frame.data[k.plane], frame.stride[k.plane]);
    }
}

void SequencePipeline::queue(int slot) noexcept {
    packet_writer_.accept();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(slot);
    start_next();
}

void SequencePipeline::flush() noexcept {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    const uint64_t end = pictures_[static_cast<size_t>(waiting_.back())].number + 1;
    for (const int slot : waiting_)
        if (LookaheadPicture &picture = pictures_[static_cast<size_t>(slot)].ahead; !picture.end) picture.end = end;
    start_next();
}

// The first picture, once all are there that it looks at.
void SequencePipeline::start_next() noexcept {
    if (codes_ || waiting_.empty()) return;
    const bool ends = pictures_[static_cast<size_t>(waiting_.front())].ahead.end.has_value();
    if (!ends && waiting_.size() <= static_cast<size_t>(p_.lookahead)) return;
    codes_ = true;
    start(waiting_.front());
}

// Finds the offsets to QPs of the first picture.
void SequencePipeline::look_ahead(Picture &picture) {
    std::vector<LookaheadPicture *> pictures;
    std::vector<Picture *> compared;
    {
        const std::lock_guard lock(mutex_);
        for (const int slot : waiting_) {
            Picture &later = pictures_[static_cast<size_t>(slot)];
            if (!lookahead_->sees(picture.ahead, later.ahead)) break;
            pictures.push_back(&later.ahead);
            if (later.number >= compared_) compared.push_back(&later);
        }
    }
    for (Picture *const each : compared) {
        sequence_.load_source(each->layouts[0], comparison_->source(), pool());
        comparison_->find(each->costs, pool());
        compared_ = each->number + 1;
    }
    lookahead_->find(pictures, gop_);
}

// Of a picture that fails nothing is kept: the next one is an IDR picture.
std::optional<PooledBuffer> SequencePipeline::complete(int slot) {
    struct Next {
        SequencePipeline *pipeline;
        ~Next() {
            const std::lock_guard lock(pipeline->mutex_);
            pipeline->waiting_.erase(pipeline->waiting_.begin());
            pipeline->codes_ = false;
            pipeline->start_next();
        }
    } next{this};
    begin_stage(slot, kAnalyse);
    try {
        return code(slot);
    } catch (...) {
        planner_.settle(pictures_[static_cast<size_t>(slot)]);
        gop_.forget();
        throw;
    }
}

PooledBuffer SequencePipeline::code(int slot) {
    Picture &picture = pictures_[static_cast<size_t>(slot)];
    if (lookahead_) look_ahead(picture);
    sequence_.begin(picture.layouts.data(), pool());
    choose_type(picture);
    if (division_) set_slices();
    encode(picture);
    if (!p_.rate.constant()) settle_qp(picture);
    std::span<const uint8_t> slices;
    for (bool counted = !p_.rate.constant();; counted = true) {
        slices = code_slices(picture);
        if (!encode_again(picture, slices.size(), counted)) break;
    }
    PooledBuffer packet = take_packet(packet_writer_.packet_bytes(picture, slices.size()));
    packet_writer_.write_around(picture, slices.size(), *packet);
    std::copy(slices.begin(), slices.end(), packet->data + picture.prefix.size());
    sequence_.keep(pool());
    if (reconstructed) reconstructed(p_.picture, sequence_);
    gop_.end(picture.key, picture.second_field);
    if (division_) division_->next(slice_coder_.sizes());
    return packet;
}

// An IDR or a P picture, and its first QP. The search of a P picture has its QP.
void SequencePipeline::choose_type(Picture &picture) {
    picture.key = gop_.begins(picture.forced_key, picture.second_field);
    planner_.plan(picture);
    picture.weights = p_.weighted_prediction && !picture.key ? sequence_.choose_weights(pool()) : PictureWeights{};
    if (!picture.key && !picture.second_field && gop_.looks_for_cuts() &&
        gop_.is_cut(sequence_.scene_costs(picture.qp, pool()))) {
        picture.key = true;
        planner_.plan_again(picture);
    }
    if (picture.key) {
        picture.header.idr_pic_id = gop_.idr_pic_id();
        return;
    }
    const int frame_num = gop_.frame_num();
    const bool chooses = p_.picture.separate_field() && frame_num;  // of an IDR picture's frame there is no other field
    packet_writer_.make_predicted(picture, frame_num, chooses ? sequence_.find_distance(picture.qp, pool()) : 1);
}

void SequencePipeline::settle_qp(Picture &picture) {
    planner_.begin(picture);
    packet_writer_.write_timing(picture, gop_.pictures());
    while (recode(picture)) encode(picture);
    planner_.settle(picture);
}

bool SequencePipeline::recode(Picture &picture) {
    sequence_.count();
    return planner_.recode(picture, packet_writer_.estimate(picture, sequence_.bits()));
}

void SequencePipeline::encode(Picture &picture) {
    const PictureQuality quality = {.qp = picture.qp,
                                    .effort = p_.effort,
                                    .aq_strength = p_.aq_strength,
                                    .offsets = lookahead_ ? picture.offsets.data() : nullptr,
                                    .counts = false,
                                    .reconstructs = true,
                                    .regions = picture.regions};
    for (;;) {
        sequence_.encode(picture.layouts.data(), quality, !picture.key, pool(), macroblocks_.data(), levels_.data(),
                         picture.refresh, picture.reference);
        packet_writer_.make_headers(picture, division_ ? division_->slices() : p_.slices);
        if (!division_) return;
        code_slices(picture);
        if (division_->fits(slice_coder_.sizes())) return;
        set_slices();
    }
}

void SequencePipeline::set_slices() {
    sequence_.set_slices(division_->slices());
    slice_coder_.set_slices(division_->slices());
}

std::span<const uint8_t> SequencePipeline::code_slices(const Picture &picture) {
    return slice_coder_.code(pool(), {macroblocks_.data(), levels_.data(), nullptr, !picture.key},
                             picture.headers.data());
}

// Where the packet exceeds what the level allows: true, at a higher QP. counted: whether it was asked before.
bool SequencePipeline::encode_again(Picture &picture, uint64_t slice_bytes, bool counted) {
    const PacketSize size = packet_writer_.size(picture, slice_bytes);
    if (!counted) {
        if (planner_.fits(picture, size)) return false;
        const int qp = picture.qp;
        while (recode(picture)) encode(picture);
        if (picture.qp != qp) return true;
    }
    if (!planner_.too_large(picture, size)) return false;
    encode(picture);
    return true;
}

}  // namespace cudaenc::h264
