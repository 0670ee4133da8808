// SPDX-License-Identifier: LGPL-2.1-or-later
#include "packet_writer.h"

#include <algorithm>
#include <limits>

#include "../error.h"
#include "../option_checks.h"
#include "syntax/avc_intra.h"
#include "syntax/scramble.h"

namespace cudaenc::h264 {

namespace {

void append(std::vector<uint8_t> &to, const std::vector<uint8_t> &bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// The session has checked what does not depend on options.
Sei make_sei_of(const CudaencFrame &frame, FieldParity field, const Params &p) {
    Sei sei;
    sei.pic_struct = p.timecodes;
    sei.field = field;
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

// Of a frame. A field, and a pair of macroblocks of fields, has every second line.
QpRegions qp_regions(const CudaencFrame &frame, const PictureFormat &format) {
    QpRegions to{.count = frame.region_count, .regions = {}};
    const int height = format.field ? 32 : 16, highest = kMaxQp + qp_bd_offset(format.bit_depth);
    const auto units = [](int64_t samples, int size) {
        return static_cast<int16_t>(std::min<int64_t>(samples / size, std::numeric_limits<int16_t>::max()));
    };
    for (int i = 0; i < frame.region_count; i++) {
        const CudaencRegion &r = frame.regions[i];
        const int64_t scaled = int64_t{2} * highest * r.offset_num, unit = int64_t{2} * r.offset_den;
        to.regions[i] = {.left = units(r.x, 16),
                         .top = units(r.y, height),
                         .right = units(int64_t{r.x} + r.width + 15, 16),
                         .bottom = units(int64_t{r.y} + r.height + height - 1, height),
                         .offset = static_cast<int16_t>((scaled + (scaled < 0 ? -r.offset_den : r.offset_den)) / unit)};
    }
    return to;
}

}  // namespace

PacketWriter::PacketWriter(const Params &params)
    : p_(params), rate_(params.rate), parameter_sets_(make_sps(params.sets)) {
    append(parameter_sets_, make_pps(p_.sets));
    if (p_.picture.separate_field() && p_.aud) append(second_field_prefix_, make_aud(SliceType::i));
    if (p_.avc_intra_class) {
        prefix_ = make_avc_intra_prefix(p_.sets, p_.avc_intra_flavor);
        return;
    }
    if (p_.aud) append(prefix_, make_aud(SliceType::i));
    if (p_.aud) append(predicted_prefix_, make_aud(SliceType::p));
    recovery_prefix_ = predicted_prefix_;
    if (p_.repeat_headers) append(prefix_, parameter_sets_), append(recovery_prefix_, parameter_sets_);
}

void PacketWriter::begin(PictureState &picture, const SourcePicture &frame) const {
    const FieldParity field = p_.picture.field_pairs                 ? FieldParity::both
                              : frame.kind == PictureKind::frame     ? FieldParity::none
                              : frame.kind == PictureKind::top_field ? FieldParity::top
                                                                     : FieldParity::bottom;
    Sei sei = make_sei_of(frame, field, p_);
    picture.number = pictures_;
    picture.forced_key = frame.key;
    picture.regions = qp_regions(frame, p_.picture);
    picture.target = rate_;
    picture.skipped = p_.sets.vui.hrd ? 0 : frame.skipped;  // HRD parameters tell of a fixed frame rate
    picture.second_field = frame.second_field;
    const uint64_t frames = p_.picture.separate_field() ? picture.number / 2 : picture.number;
    picture.header = {.first_macroblock = 0,
                      // Not that of the picture before, see renumber().
                      .idr_pic_id = p_.avc_intra_class ? avc_intra_idr_pic_id(frames) : static_cast<int>(frames % 2),
                      .qp_delta = 0,
                      .disable_deblocking_filter_idc = p_.deblock ? 0 : 1,
                      .frame_num_bits = p_.sets.frame_num_bits};
    if (!p_.sets.pic_order_cnt_type) picture.header.pic_order_cnt_lsb = frame.second_field;
    picture.header.field = sei.field;
    if (frame.second_field) picture.header.nal_unit_type = kNalSlice;  // of the IDR picture that the first one is
    picture.refresh = {};
    picture.recovery_point = false;
    picture.prefix = frame.second_field ? second_field_prefix_ : prefix_;
    picture.sei_at = picture.prefix.size();
    if (p_.sets.vui.hrd) {  // picture timing comes with buffering periods
        picture.timecode = sei.timecode;
        sei.timecode.reset();
        sei.pic_struct = false;
    }
    if (!sei.empty()) append(picture.prefix, make_sei(sei));
}

void PacketWriter::make_predicted(PictureState &picture, int frame_num, int distance) const {
    picture.header.nal_unit_type = kNalSlice;
    picture.header.nal_ref_idc = 2;
    picture.header.slice_type = SliceType::p;
    if (p_.weighted_prediction) picture.header.weights = picture.weights;
    picture.header.has_chroma = p_.picture.chroma != ChromaFormat::c400;
    picture.header.frame_num = frame_num % (1 << p_.sets.frame_num_bits);
    if (p_.picture.separate_field()) {
        picture.header.pic_order_cnt_lsb = (2 * frame_num + picture.second_field) % 16;
        picture.reference =
            field_reference(distance, picture.header.field == FieldParity::bottom, picture.second_field);
        picture.header.abs_diff_pic_num = picture.reference.abs_diff_pic_num;
    }
    if (p_.intra_refresh) {
        const int number = (frame_num - 1) % p_.intra_refresh;
        picture.refresh = refresh_columns(number, p_.intra_refresh, p_.picture.macroblock_columns());
        picture.recovery_point = number == 0;
    }
    std::vector<uint8_t> prefix = picture.recovery_point ? recovery_prefix_ : predicted_prefix_;
    const size_t sei_at = prefix.size();
    if (picture.recovery_point) {
        Sei sei;
        sei.recovery_frame_cnt = p_.intra_refresh - 1;
        append(prefix, make_sei(sei));
    }
    prefix.insert(prefix.end(), picture.prefix.begin() + static_cast<ptrdiff_t>(picture.sei_at), picture.prefix.end());
    picture.sei_at = sei_at;
    picture.prefix = std::move(prefix);
}

// Pictures since the one that began the last buffering period, from those since the IDR picture. A refresh begins
// behind the IDR picture.
int PacketWriter::since_buffering_period(int pictures) const {
    return p_.intra_refresh && pictures > 1 ? (pictures - 2) % p_.intra_refresh + 1 : pictures;
}

// A tick is half a frame's time. Buffering periods begin with frames.
void PacketWriter::write_timing(PictureState &picture, int pictures) const {
    if (!p_.sets.vui.hrd) return;
    Sei sei;
    if ((picture.key && !picture.second_field) || picture.recovery_point) {
        const uint32_t delay = picture.rate->initial_delay();
        sei.buffering_period = {.initial_cpb_removal_delay = delay,
                                .initial_cpb_removal_delay_offset = picture.rate->longest_delay() - delay};
    }
    sei.removal_delay = {.ticks = 2 * static_cast<uint32_t>(since_buffering_period(pictures)) - picture.second_field,
                         .length = p_.sets.vui.hrd->delay_length};
    sei.pic_struct = p_.timecodes;
    sei.field = picture.header.field;
    sei.timecode = picture.timecode;
    const std::vector<uint8_t> nal = make_sei(sei);
    picture.prefix.insert(picture.prefix.begin() + static_cast<ptrdiff_t>(picture.sei_at), nal.begin(), nal.end());
}

void PacketWriter::make_headers(PictureState &picture, const std::vector<Slice> &slices) const {
    picture.headers.clear();
    picture.header.qp_delta = std::min(picture.qp, kMaxQp) - p_.rate.qp;
    for (const Slice &slice : slices) {
        picture.header.first_macroblock = slice.first / static_cast<uint32_t>(p_.picture.step());
        picture.headers.push_back(make_slice_header(picture.header));
    }
}

PacketSize PacketWriter::size(const PictureState &picture, uint64_t slice_bytes) const {
    const uint64_t likely = picture.prefix.size() + slice_bytes + (p_.rate.cbr ? kLeastFillerBytes : 0);
    return {.likely = likely,
            .most = likely + slice_bytes / 512 + 2 + 2 * std::max(p_.slices.size(), picture.headers.size())};
}

PacketSize PacketWriter::estimate(const PictureState &picture, uint64_t bits) const {
    for (const SliceHeaderBits &header : picture.headers) bits += header.count + 8 * kNalPrefixBytes + 4;
    return size(picture, bits / 8);
}

bool PacketWriter::renumber(PictureState &picture) const {
    if (p_.picture.separate_field() || picture.header.idr_pic_id != last_idr_pic_id_) return false;
    picture.header.idr_pic_id = 2;  // no picture's own
    make_headers(picture);
    return true;
}

size_t PacketWriter::packet_bytes(const PictureState &picture, uint64_t slice_bytes) const {
    const uint64_t filled = p_.rate.cbr ? picture.most_bytes + picture.filler : p_.rate.picture_bytes;
    return static_cast<size_t>(std::max(picture.prefix.size() + slice_bytes, filled));
}

// Of the next NAL unit of filler data, where so many bytes are to be filled. No rest is too small for one.
size_t PacketWriter::filler_bytes(size_t left) const {
    const size_t most = static_cast<size_t>(p_.slice_max_bytes) + kStartCodeBytes;
    if (!p_.slice_max_bytes || left <= most) return left;
    return std::min(most, left - kLeastFillerBytes);
}

void PacketWriter::write_around(const PictureState &picture, uint64_t slice_bytes, CudaencBuffer &packet) const {
    packet.quality = std::min(picture.qp, kMaxQp);  // beyond it frequencies are lost
    packet.delta = !picture.header.is_idr();
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
    for (size_t at = begin; at < end;) {
        const std::vector<uint8_t> filler = make_filler(filler_bytes(end - at));
        std::copy(filler.begin(), filler.end(), packet.data + at);
        at += filler.size();
    }
}

// ---- Encryption

size_t PacketWriter::sign_flip_words() const {
    if (!p_.keystream) return 0;
    const size_t macroblocks = static_cast<size_t>(p_.picture.macroblocks());
    const size_t of_modes = p_.encrypt_parts & kScrambleModes ? (kModeWords * macroblocks + 7) / 8 * 8 : 0;
    return static_cast<size_t>(block_words(macroblocks, p_.picture.chroma)) + of_modes;
}

// A word for each block, and those of modes, the high byte first.
void PacketWriter::make_sign_flips(const PictureState &picture, uint16_t *words) const {
    uint8_t *const bytes = reinterpret_cast<uint8_t *>(words);
    p_.keystream(p_.keystream_opaque, picture.number, bytes, sign_flip_words() * sizeof *words);
    for (size_t i = 0; i < sign_flip_words(); i++)
        words[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
}

}  // namespace cudaenc::h264
