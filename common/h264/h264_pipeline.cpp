// SPDX-License-Identifier: LGPL-2.1-or-later
#include "h264_pipeline.h"

#include "../planes.h"

namespace cudaenc::h264 {

H264Pipeline::H264Pipeline(const Params &params, int slots, int threads, std::span<const char *const> stage_names,
                           bool stage_times, const std::shared_ptr<Device> &device)
    : CpuEncoder(slots, threads, stage_names, stage_times, device), p_(params), control_(p_) {
    for (int i = 0; i < slots; i++) pictures_.emplace_back(p_.picture);
    waiting_.reserve(slots);
    planned_.reserve(slots);
}

void H264Pipeline::set_output(int slot, Macroblock *macroblocks, int16_t *levels, uint16_t *sign_flips) {
    pictures_[slot].macroblocks = macroblocks;
    pictures_[slot].levels = levels;
    pictures_[slot].sign_flips = p_.keystream ? sign_flips : nullptr;
}

void H264Pipeline::take(int slot, const CudaencFrame &frame) {
    Picture &picture = pictures_[slot];
    control_.take(picture, frame);
    if (p_.keystream) control_.make_sign_flips(picture, picture.sign_flips);
    for (int c = 0; c < p_.input.components; c++) {
        const CudaencComponent &k = p_.input.component[c];
        picture.layouts[static_cast<size_t>(c)] = layout_of(k, frame.data[k.plane], frame.stride[k.plane]);
    }
}

void H264Pipeline::queue(int slot) noexcept {
    control_.taken();
    if (p_.rate.constant()) return start(slot);
    const std::lock_guard lock(mutex_);
    waiting_.push_back(slot);
    start_waiting();
}

// Those whose plan needs no bits but known ones.
void H264Pipeline::start_waiting() noexcept {
    while (!waiting_.empty()) {
        const int slot = waiting_.front();
        Picture &picture = pictures_[slot];
        if (!planned_.empty() && control_.knows(picture, pictures_[planned_.front()].number)) return;
        waiting_.erase(waiting_.begin());
        planned_.push_back(slot);
        try {
            control_.plan(picture);
        } catch (...) {
            picture.failed = std::current_exception();
        }
        start(slot);
    }
}

bool H264Pipeline::analyse(int slot) {
    Picture &picture = pictures_[slot];
    if (p_.rate.constant()) {
        begin_stage(slot, 0);
        control_.plan(picture);
        control_.begin(picture);
        encode_picture(picture);
        return true;
    }
    struct Leave {  // also after an exception
        H264Pipeline *encoder;
        int slot;
        ~Leave() {
            if (encoder) encoder->leave(slot);
        }
    } leave{this, slot};
    if (picture.failed) std::rethrow_exception(std::exchange(picture.failed, nullptr));
    if (!picture.analysed_once) {
        begin_stage(slot, 0);
        encode_picture(picture);
        if (!is_first(slot)) {
            leave.encoder = nullptr;
            return false;
        }
    }
    {
        const std::lock_guard lock(mutex_);
        control_.begin(picture);
    }
    settle_qp(picture);
    return true;
}

// Whether the QPs of all pictures before are settled. If not, leave() of the one before goes on with this one.
bool H264Pipeline::is_first(int slot) noexcept {
    const std::lock_guard lock(mutex_);
    pictures_[slot].analysed_once = true;
    return planned_.front() == slot;
}

void H264Pipeline::leave(int slot) noexcept {
    const std::lock_guard lock(mutex_);
    pictures_[slot].analysed_once = false;
    const bool first = planned_.front() == slot;
    std::erase(planned_, slot);
    if (first && !planned_.empty() && pictures_[planned_.front()].analysed_once) start(planned_.front());
    start_waiting();
}

void H264Pipeline::settle_qp(Picture &picture) {
    const auto again = [&] {
        const std::lock_guard lock(mutex_);
        return control_.again(picture, picture.coder.bits());
    };
    while (again()) encode_picture(picture);
}

void H264Pipeline::encode_picture(Picture &picture) {
    const PictureQuality quality = {.qp = picture.qp,
                                    .effort = p_.effort,
                                    .aq_strength = p_.aq_strength,
                                    .counts = counts(picture),
                                    .reconstructs = reconstructed != nullptr};
    picture.coder.encode(picture.layouts.data(), quality, pool(), picture.macroblocks, picture.levels);
    control_.make_headers(picture);
}

bool H264Pipeline::analyse_again(int slot, uint64_t slice_bytes) {
    Picture &picture = pictures_[slot];
    if (!counts(picture)) {
        if (control_.fits(picture, slice_bytes)) return false;
        picture.coder.count();
        const int qp = picture.qp;
        settle_qp(picture);
        if (picture.qp != qp) return true;
    }
    if (!control_.too_large(picture, slice_bytes)) return false;
    encode_picture(picture);
    return true;
}

void H264Pipeline::write_around(const Picture &picture, uint64_t slice_bytes, CudaencBuffer &packet) const {
    if (reconstructed) reconstructed(p_.picture, picture.coder);
    control_.write_around(picture, slice_bytes, packet);
}

}  // namespace cudaenc::h264
