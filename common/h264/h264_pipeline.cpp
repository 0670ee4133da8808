// SPDX-License-Identifier: LGPL-2.1-or-later
#include "h264_pipeline.h"

#include "../planes.h"
#include "syntax/scramble.h"

namespace cudaenc::h264 {

H264Pipeline::H264Pipeline(const Params &params, int slots, int threads, std::span<const char *const> stage_names,
                           bool stage_times, const std::shared_ptr<Device> &device)
    : CpuEncoder(slots, threads, stage_names, stage_times, device),
      p_(params),
      packet_writer_(p_),
      planner_(p_.rate, slots) {
    for (int i = 0; i < slots; i++) pictures_.emplace_back(p_.picture).slot = i;
    waiting_.reserve(slots);
}

void H264Pipeline::set_output(int slot, Macroblock *macroblocks, int16_t *levels, uint16_t *sign_flips) {
    pictures_[slot].macroblocks = macroblocks;
    pictures_[slot].levels = levels;
    pictures_[slot].sign_flips = p_.keystream ? sign_flips : nullptr;
}

void H264Pipeline::take(int slot, const SourcePicture &frame) {
    Picture &picture = pictures_[slot];
    packet_writer_.begin(picture, frame);
    if (p_.keystream) packet_writer_.make_sign_flips(picture, picture.sign_flips);
    for (int c = 0; c < p_.input.components; c++) {
        const CudaencComponent &k = p_.input.component[c];
        picture.layouts[static_cast<size_t>(c)] = layout_of(k, frame.data[k.plane], frame.stride[k.plane]);
    }
}

void H264Pipeline::queue(int slot) noexcept {
    packet_writer_.accept();
    if (p_.rate.constant()) return start(slot);
    const std::lock_guard lock(mutex_);
    waiting_.push_back(slot);
    plan_waiting();
}

// Starts those whose plan needs no bits but known ones.
void H264Pipeline::plan_waiting() noexcept {
    while (!waiting_.empty()) {
        Picture &picture = pictures_[waiting_.front()];
        if (planner_.must_wait(picture)) return;
        waiting_.erase(waiting_.begin());
        try {
            planner_.plan(picture);
        } catch (...) {
            picture.failed = std::current_exception();
        }
        start(picture.slot);
    }
}

bool H264Pipeline::analyse(int slot) {
    Picture &picture = pictures_[slot];
    if (p_.rate.constant()) {
        begin_stage(slot, 0);
        planner_.plan(picture);
        encode_picture(picture);
        scramble(picture);
        return true;
    }
    struct Settled {  // also after an exception
        H264Pipeline *pipeline;
        Picture &picture;
        ~Settled() {
            if (pipeline) pipeline->qp_settled(picture);
        }
    } settled{this, picture};
    if (picture.failed) std::rethrow_exception(std::exchange(picture.failed, nullptr));
    if (!picture.analysed_once) {
        begin_stage(slot, 0);
        encode_picture(picture);
        if (!is_first(picture)) {
            settled.pipeline = nullptr;
            return false;
        }
    }
    {
        const std::lock_guard lock(mutex_);
        planner_.begin(picture);
    }
    packet_writer_.write_timing(picture, picture.number ? 1 : 0);
    settle_qp(picture);
    scramble(picture);
    return true;
}

// Whether the QPs of all pictures before are settled. If not, qp_settled() of the one before goes on with this one.
bool H264Pipeline::is_first(Picture &picture) noexcept {
    const std::lock_guard lock(mutex_);
    picture.analysed_once = true;
    return planner_.first_unsettled() == &picture;
}

void H264Pipeline::qp_settled(Picture &picture) noexcept {
    const std::lock_guard lock(mutex_);
    picture.analysed_once = false;
    const bool first = planner_.first_unsettled() == &picture;
    planner_.settle(picture);
    const PlannedPicture *const next = planner_.first_unsettled();
    if (first && next && pictures_[next->slot].analysed_once) start(next->slot);
    plan_waiting();
}

void H264Pipeline::settle_qp(Picture &picture) {
    const auto recode = [&] {
        const std::lock_guard lock(mutex_);
        return planner_.recode(picture, packet_writer_.estimate(picture, picture.coder.bits()));
    };
    while (recode()) encode_picture(picture);
}

void H264Pipeline::encode_picture(Picture &picture) {
    const PictureQuality quality = {.qp = picture.qp,
                                    .effort = p_.effort,
                                    .aq_strength = p_.aq_strength,
                                    .counts = counts(picture),
                                    .reconstructs = reconstructed != nullptr,
                                    .regions = picture.regions};
    picture.coder.encode(picture.layouts.data(), quality, pool(), picture.macroblocks, picture.levels);
    packet_writer_.make_headers(picture);
    picture.scrambled = false;
}

// Once, what the key turns beside signs. It keeps the bits of each macroblock.
void H264Pipeline::scramble(Picture &picture) {
    if (!p_.encrypt_parts || std::exchange(picture.scrambled, true)) return;
    const ScrambledPicture scrambled{p_.sets.format, p_.encrypt_parts, picture.macroblocks, picture.levels,
                                     picture.sign_flips};
    for (uint32_t address = 0; address < macroblocks(); address++)
        h264::scramble(scrambled, address, [](int, int, LevelMove) {});
}

bool H264Pipeline::analyse_again(int slot, uint64_t slice_bytes) {
    Picture &picture = pictures_[slot];
    if (!encode_again(picture, slice_bytes)) return false;
    scramble(picture);
    return true;
}

bool H264Pipeline::encode_again(Picture &picture, uint64_t slice_bytes) {
    if (!counts(picture)) {
        if (planner_.fits(picture, packet_writer_.size(picture, slice_bytes))) return false;
        picture.coder.count();
        const int qp = picture.qp;
        settle_qp(picture);
        if (picture.qp != qp) return true;
    }
    if (!planner_.too_large(picture, packet_writer_.size(picture, slice_bytes))) return false;
    encode_picture(picture);
    return true;
}

void H264Pipeline::write_around(const Picture &picture, uint64_t slice_bytes, CudaencBuffer &packet) const {
    if (reconstructed) reconstructed(p_.picture, picture.coder);
    packet_writer_.write_around(picture, slice_bytes, packet);
}

}  // namespace cudaenc::h264
