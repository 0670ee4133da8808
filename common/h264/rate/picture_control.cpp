// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_control.h"

#include <algorithm>
#include <limits>

#include "../../error.h"
#include "../../option_checks.h"
#include "../syntax/avc_intra.h"

namespace cudaenc::h264 {

namespace {

void append(std::vector<uint8_t> &to, const std::vector<uint8_t> &bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// The session has checked what does not depend on options.
Sei make_sei_of(const CudaencFrame &frame, const Params &p) {
    Sei sei;
    sei.pic_struct = p.timecodes;
    if (p.timecodes && frame.timecode) {
        const CudaencTimecode &t = *frame.timecode;
        if (const Vui &vui = p.sets.vui; vui.frame_rate_num)  // n_frames is less than MaxFPS (D.2.3)
            check_range("timecode frames", t.frames, 0,
                        static_cast<int>(std::min((vui.frame_rate_num - 1) / vui.frame_rate_den, 255u)));
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
    sei.captions = {frame.captions, frame.captions_size};
    for (int i = 0; i < frame.user_data_count; i++)
        sei.unregistered.emplace_back(frame.user_data[i].data, frame.user_data[i].size);
    return sei;
}

}  // namespace

PictureControl::PictureControl(const Params &params)
    : p_(params), parameter_sets_(make_sps(params.sets)), rate_(params.rate) {
    append(parameter_sets_, make_pps(p_.sets));
    if (p_.avc_intra_class) {
        prefix_ = make_avc_intra_prefix(p_.sets, p_.avc_intra_flavor);
        return;
    }
    if (p_.aud) append(prefix_, make_aud());
    if (p_.repeat_headers) append(prefix_, parameter_sets_);
}

void PictureControl::take(PictureState &picture, const CudaencFrame &frame) const {
    Sei sei = make_sei_of(frame, p_);
    picture.number = pictures_taken_;
    picture.skipped = p_.sets.vui.hrd ? 0 : frame.skipped;  // HRD parameters tell of a fixed frame rate
    // Not that of the picture before, see renumber().
    picture.idr_pic_id = p_.avc_intra_class ? avc_intra_idr_pic_id(picture.number) : picture.number % 2;
    picture.prefix = prefix_;
    picture.sei_at = picture.prefix.size();
    if (p_.sets.vui.hrd) {  // picture timing comes with buffering periods, in begin()
        picture.timecode = sei.timecode;
        sei.timecode.reset();
    }
    if (!sei.empty()) append(picture.prefix, make_sei(sei));
}

// ---- Analysis

bool PictureControl::knows(const PictureState &picture, uint64_t other) const {
    if (p_.rate.constant() || other >= picture.number) return false;
    const uint64_t least = picture.number - std::min(picture.number, p_.rate.delay);
    if (other <= least) return true;
    const auto after = std::find_if(known_.begin(), known_.end(), [&](const Known &k) { return k.number > least; });
    return after != known_.begin() && std::prev(after)->rate.beyond();
}

void PictureControl::plan(PictureState &picture) {
    if (p_.rate.constant()) {
        picture.qp = p_.rate.qp;
        return;
    }
    const uint64_t least = picture.number - std::min(picture.number, p_.rate.delay);
    while (known_.size() > 1 && known_[1].number <= least) known_.pop_front();
    while (!planned_.empty() && planned_.front().number < least) planned_.pop_front();
    while (!planned_.empty() && planned_.back().number >= picture.number) planned_.pop_back();  // one that was lost
    const auto last =
        std::find_if(known_.rbegin(), known_.rend(), [&](const Known &k) { return knows(picture, k.number); });
    RateControl rate = last == known_.rend() ? RateControl(p_.rate) : last->rate;
    for (const Planned &between : planned_) {
        if (last != known_.rend() && between.number <= last->number) continue;
        rate.skip(between.skipped);
        rate.assume(between.qp);
    }
    rate.skip(picture.skipped);
    picture.qp = rate.begin();
    planned_.push_back({picture.number, picture.skipped, picture.qp});
}

void PictureControl::begin(PictureState &picture) const {
    picture.rate.emplace(*rate_);  // of a picture that fails nothing is kept
    picture.rate->skip(picture.skipped);
    picture.rate->begin();
    if (p_.sets.vui.hrd) write_buffering_period(picture);
}

// A tick is half a picture's time.
void PictureControl::write_buffering_period(PictureState &picture) const {
    const uint32_t delay = picture.rate->initial_delay();
    Sei sei;
    sei.buffering_period = {.initial_cpb_removal_delay = delay,
                            .initial_cpb_removal_delay_offset = picture.rate->longest_delay() - delay,
                            .cpb_removal_delay = picture.number ? 2u : 0u};
    sei.pic_struct = p_.timecodes;
    sei.timecode = picture.timecode;
    const std::vector<uint8_t> nal = make_sei(sei);
    picture.prefix.insert(picture.prefix.begin() + static_cast<ptrdiff_t>(picture.sei_at), nal.begin(), nal.end());
}

void PictureControl::make_headers(PictureState &picture) const {
    picture.headers.clear();
    for (const Slice &slice : p_.slices) {
        picture.headers.push_back(make_slice_header({.first_macroblock = slice.first,
                                                     .idr_pic_id = picture.idr_pic_id,
                                                     .qp_delta = std::min(picture.qp, kMaxQp) - p_.rate.qp,
                                                     .disable_deblocking_filter_idc = p_.deblock ? 0 : 1,
                                                     .has_pic_order_cnt_lsb = !p_.sets.pic_order_cnt_type}));
    }
}

// Of the slices' NAL units, without emulation prevention.
uint64_t PictureControl::slice_bytes(const PictureState &picture, uint64_t bits) const {
    for (const SliceHeaderBits &header : picture.headers) bits += header.count + 8 * kNalPrefixBytes + 4;
    return bits / 8;
}

// An upper estimate of the same: emulation prevention is rare.
uint64_t PictureControl::most_bytes(uint64_t slice_bytes) const {
    return slice_bytes + slice_bytes / 512 + 2 + 2 * p_.slices.size();
}

bool PictureControl::again(PictureState &picture, uint64_t bits) {
    uint64_t likely_bytes = picture.prefix.size() + slice_bytes(picture, bits);
    uint64_t bytes = picture.prefix.size() + most_bytes(slice_bytes(picture, bits));
    if (p_.rate.cbr) likely_bytes = bytes += kLeastFillerBytes;  // so that any smaller size can be filled up
    if (picture.rate->again(picture.qp, bytes)) return true;
    picture.missed.clear();
    if (bytes > picture.rate->most())
        picture.missed = format_string(
            "a picture has %llu bytes at the highest QP, %llu are allowed by the decoder's buffer or the level",
            static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(picture.rate->most()));
    picture.filler = picture.rate->end(picture.qp, bytes, likely_bytes);
    if (picture.rate->exceeds_average())
        picture.missed = format_string("-b:v %lld is exceeded: at QP %d, the highest allowed, pictures have more",
                                       static_cast<long long>(p_.rate.bit_rate), std::min(picture.qp, kMaxQp));
    const bool constant = p_.rate.constant();
    if (constant && p_.warning.empty() && picture.missed.empty() && picture.qp > p_.rate.qp)
        picture.missed = format_string(
            "level %d.%d allows pictures of %llu bytes at most, and at QP %d some have more: their QP rises. A higher "
            "level has room",
            p_.sets.level_idc / 10, p_.sets.level_idc % 10, static_cast<unsigned long long>(picture.rate->most()),
            p_.rate.qp);
    if (!constant) {  // else a picture knows nothing of others
        rate_.emplace(*picture.rate);
        known_.push_back({picture.number, *picture.rate});
    }
    picture.most_slice_bytes =
        std::max(bytes, constant ? picture.rate->most() : p_.rate.picture_bytes) - picture.prefix.size();
    return false;
}

bool PictureControl::fits(PictureState &picture, uint64_t slice_bytes) const {
    picture.missed.clear();
    picture.filler = 0;
    picture.most_slice_bytes = slice_bytes;
    return picture.prefix.size() + most_bytes(slice_bytes) <= picture.rate->most();
}

bool PictureControl::too_large(PictureState &picture, uint64_t slice_bytes) const {
    const uint64_t most = picture.most_slice_bytes - (p_.rate.cbr ? kLeastFillerBytes : 0);
    if (slice_bytes <= most || picture.qp == kLastQp) return false;
    picture.qp++;
    return true;
}

// ---- Packets

bool PictureControl::renumber(PictureState &picture) const {
    if (picture.idr_pic_id != last_idr_pic_id_) return false;
    picture.idr_pic_id = 2;  // no picture's own
    make_headers(picture);
    return true;
}

size_t PictureControl::packet_bytes(const PictureState &picture, uint64_t slice_bytes) const {
    const uint64_t slices =
        p_.rate.cbr ? std::max(slice_bytes, picture.most_slice_bytes + picture.filler) : slice_bytes;
    return static_cast<size_t>(std::max(picture.prefix.size() + slices, p_.rate.picture_bytes));
}

void PictureControl::write_around(const PictureState &picture, uint64_t slice_bytes, CudaencBuffer &packet) const {
    packet.quality = std::min(picture.qp, kMaxQp);  // beyond it frequencies are lost
    packet.missed = picture.missed;
    packet.missed_above = true;
    std::copy(picture.prefix.begin(), picture.prefix.end(), packet.data);
    const size_t begin = picture.prefix.size() + static_cast<size_t>(slice_bytes);
    const size_t end = packet_bytes(picture, slice_bytes);
    if (end == begin) return;
    if (p_.rate.picture_bytes) {  // trailing_zero_8bits (B.1)
        std::fill(packet.data + begin, packet.data + end, uint8_t{0});
        return;
    }
    const std::vector<uint8_t> filler = make_filler(end - begin);
    std::copy(filler.begin(), filler.end(), packet.data + begin);
}

// ---- Encryption

size_t PictureControl::sign_flip_words() const {
    const size_t blocks =
        static_cast<size_t>(p_.picture.macroblocks()) * static_cast<size_t>(blocks_per_macroblock(p_.picture.chroma));
    return p_.keystream ? (blocks + 7) / 8 * 8 : 0;
}

// A word for each block, its high byte first.
void PictureControl::make_sign_flips(const PictureState &picture, uint16_t *words) const {
    uint8_t *const bytes = reinterpret_cast<uint8_t *>(words);
    p_.keystream(p_.keystream_opaque, picture.number, bytes, sign_flip_words() * sizeof *words);
    for (size_t i = 0; i < sign_flip_words(); i++)
        words[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
}

}  // namespace cudaenc::h264
