// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_encoder.h"

#include <algorithm>
#include <limits>

#include "../error.h"
#include "../option_checks.h"
#include "../planes.h"

namespace cudaenc::h264 {

namespace {

void append(std::vector<uint8_t> &to, const std::vector<uint8_t> &bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

Sei make_sei_of(const CudaencFrame &frame, bool timecodes) {
    Sei sei;
    sei.pic_struct = timecodes;
    if (timecodes && frame.timecode) {
        const CudaencTimecode &t = *frame.timecode;
        check_range("timecode hours", t.hours, 0, 23);
        check_range("timecode minutes", t.minutes, 0, 59);
        check_range("timecode seconds", t.seconds, 0, 59);
        check_range("timecode frames", t.frames, 0, 255);
        sei.timecode = {.hours = t.hours,
                        .minutes = t.minutes,
                        .seconds = t.seconds,
                        .frames = t.frames,
                        .drop_frame = t.drop_frame != 0};
    }
    if (frame.mastering_display) {
        const CudaencMasteringDisplay &m = *frame.mastering_display;
        const auto &[red, green, blue] = m.primaries;
        sei.mastering_display = {.primaries = {{green[0], green[1]}, {blue[0], blue[1]}, {red[0], red[1]}},
                                 .white_point = {m.white_point[0], m.white_point[1]},
                                 .max_luminance = m.max_luminance,
                                 .min_luminance = m.min_luminance};
    }
    if (frame.content_light)
        sei.content_light = {.max_content = frame.content_light->max_content,
                             .max_average = frame.content_light->max_average};
    if (frame.captions_size % 3 || frame.captions_size > 31 * 3)
        refuse(format_string("captions of %zu bytes are not allowed: they are 3 bytes each, and at most 31",
                             frame.captions_size));
    sei.captions = {frame.captions, frame.captions_size};
    for (int i = 0; i < frame.user_data_count; i++) {
        const CudaencUserData &data = frame.user_data[i];
        if (!data.data || data.size < 16 || data.size > 0xFFFFFF)
            refuse(format_string("user data of %zu bytes is not allowed: it has 16 bytes of UUID, and at most %d",
                                 data.size, 0xFFFFFF));
        sei.unregistered.emplace_back(data.data, data.size);
    }
    return sei;
}

}  // namespace

PictureEncoder::PictureEncoder(const Params &params, int slots, int threads, std::span<const char *const> stage_names,
                               bool stage_times, const std::shared_ptr<Device> &device)
    : CpuEncoder(slots, threads, stage_names, stage_times, device),
      p_(params),
      parameter_sets_(make_sps(p_.sets)),
      rate_(p_.rate) {
    append(parameter_sets_, make_pps(p_.sets));
    for (int i = 0; i < slots; i++) pictures_.emplace_back(p_.picture);
}

void PictureEncoder::set_output(int slot, Macroblock *macroblocks, int16_t *levels, uint16_t *sign_flips) {
    pictures_[slot].macroblocks = macroblocks;
    pictures_[slot].levels = levels;
    pictures_[slot].sign_flips = p_.keystream ? sign_flips : nullptr;
}

void PictureEncoder::take(int slot, const CudaencFrame &frame) {
    Picture &picture = pictures_[slot];
    Sei sei = make_sei_of(frame, p_.timecodes);
    picture.number = pictures_taken_;
    picture.idr_pic_id = picture.number % 2;  // 7.4.3: not that of the picture before
    picture.prefix.clear();
    if (p_.aud) append(picture.prefix, make_aud());
    if (p_.repeat_headers) append(picture.prefix, parameter_sets_);
    picture.sei_at = picture.prefix.size();
    if (p_.sets.vui.hrd) {  // picture timing comes with buffering periods, in analyse()
        picture.timecode = sei.timecode;
        sei.timecode.reset();
    }
    if (!sei.empty()) append(picture.prefix, make_sei(sei));
    if (p_.keystream) make_sign_flips(picture);
    for (int c = 0; c < p_.input.components; c++) {
        const CudaencComponent &k = p_.input.component[c];
        picture.layouts[static_cast<size_t>(c)] = layout_of(k, frame.data[k.plane], frame.stride[k.plane]);
    }
}

// A word for each block, its high byte first.
void PictureEncoder::make_sign_flips(const Picture &picture) const {
    uint8_t *const bytes = reinterpret_cast<uint8_t *>(picture.sign_flips);
    p_.keystream(p_.keystream_opaque, picture.number, bytes, sign_flip_words() * sizeof *picture.sign_flips);
    for (size_t i = 0; i < sign_flip_words(); i++)
        picture.sign_flips[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
}

// ---- Analysis

void PictureEncoder::begin(int slot) noexcept {
    pictures_taken_++;
    if (p_.rate.constant()) return start(slot);
    {
        const std::lock_guard lock(mutex_);
        if (waiting_++) return;
    }
    start(slot);
}

void PictureEncoder::begin_after(int slot) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (!--waiting_) return;
    }
    start((slot + 1) % static_cast<int>(pictures_.size()));
}

void PictureEncoder::analyse(int slot) {
    Picture &picture = pictures_[slot];
    const bool constant = p_.rate.constant();
    struct Next {  // also after an exception
        PictureEncoder *encoder;
        int slot;
        ~Next() {
            if (encoder) encoder->begin_after(slot);
        }
    } next{constant ? nullptr : this, slot};
    RateControl rate(*rate_);  // of a picture that fails nothing is kept
    picture.qp = rate.begin();
    if (p_.sets.vui.hrd) write_buffering_period(picture, rate);
    uint64_t bytes, likely_bytes;
    do {
        encode_picture(picture);
        likely_bytes = picture.prefix.size() + slice_bytes(picture);
        // An upper estimate: emulation prevention is rare.
        bytes = likely_bytes + slice_bytes(picture) / 512 + 16 + 2 * p_.slices.size();
        if (p_.rate.cbr) likely_bytes = bytes += kLeastFillerBytes;  // so that any smaller size can be filled up
    } while (rate.again(picture.qp, bytes));
    picture.filler = rate.end(picture.qp, bytes, likely_bytes);
    if (!constant) rate_.emplace(rate);  // else a picture knows nothing of others
    const bool limited = !constant || p_.rate.most != std::numeric_limits<uint64_t>::max();
    picture.most_slice_bytes = limited ? bytes - picture.prefix.size() : std::numeric_limits<uint64_t>::max();
}

// A tick is half a picture's time.
void PictureEncoder::write_buffering_period(Picture &picture, const RateControl &rate) {
    const uint32_t delay = rate.initial_delay();
    Sei sei;
    sei.buffering_period = {.initial_cpb_removal_delay = delay,
                            .initial_cpb_removal_delay_offset = rate.longest_delay() - delay,
                            .cpb_removal_delay = picture.number ? 2u : 0u};
    sei.pic_struct = p_.timecodes;
    sei.timecode = picture.timecode;
    const std::vector<uint8_t> nal = make_sei(sei);
    picture.prefix.insert(picture.prefix.begin() + static_cast<ptrdiff_t>(picture.sei_at), nal.begin(), nal.end());
}

void PictureEncoder::encode_picture(Picture &picture) {
    picture.coder.encode(picture.layouts.data(), {.qp = picture.qp, .effort = p_.effort, .aq_strength = p_.aq_strength},
                         pool(), picture.macroblocks, picture.levels);
    picture.headers.clear();
    for (const Slice &slice : p_.slices) {
        picture.headers.push_back(make_slice_header({.first_macroblock = slice.first,
                                                     .idr_pic_id = picture.idr_pic_id,
                                                     .qp_delta = std::min(picture.qp, kMaxQp) - p_.rate.qp,
                                                     .disable_deblocking_filter_idc = p_.deblock ? 0 : 1}));
    }
}

// Of the slices' NAL units, without emulation prevention.
uint64_t PictureEncoder::slice_bytes(const Picture &picture) const {
    uint64_t bits = picture.coder.bits();
    for (const SliceHeaderBits &header : picture.headers) bits += header.count + 8 * kNalPrefixBytes + 4;
    return bits / 8;
}

bool PictureEncoder::analyse_again(int slot, uint64_t slice_bytes) {
    Picture &picture = pictures_[slot];
    const uint64_t most = picture.most_slice_bytes - (p_.rate.cbr ? kLeastFillerBytes : 0);
    if (slice_bytes <= most || picture.qp == kLastQp) return false;
    picture.qp++;
    encode_picture(picture);
    return true;
}

// ---- Packets

size_t PictureEncoder::packet_bytes(const Picture &picture, uint64_t slice_bytes) const {
    const uint64_t slices =
        p_.rate.cbr ? std::max(slice_bytes, picture.most_slice_bytes + picture.filler) : slice_bytes;
    return picture.prefix.size() + static_cast<size_t>(slices);
}

void PictureEncoder::write_around(const Picture &picture, uint64_t slice_bytes, uint8_t *packet) const {
    if (reconstructed) reconstructed(p_.picture, picture.coder);
    std::copy(picture.prefix.begin(), picture.prefix.end(), packet);
    const size_t begin = picture.prefix.size() + static_cast<size_t>(slice_bytes);
    const size_t end = packet_bytes(picture, slice_bytes);
    if (end == begin) return;
    const std::vector<uint8_t> filler = make_filler(end - begin);
    std::copy(filler.begin(), filler.end(), packet + begin);
}

}  // namespace cudaenc::h264
