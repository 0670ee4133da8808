// SPDX-License-Identifier: LGPL-2.1-or-later
// What all pipelines of H.264 share around the slices of a picture: slice headers, and NAL units before and after them.
#pragma once
#include <optional>
#include <vector>

#include "../packet_pool.h"
#include "inter/refresh.h"
#include "intra/qp_regions.h"
#include "params.h"
#include "rate/qp_planner.h"

namespace cudaenc::h264 {

// A picture in flight.
struct PictureState : PlannedPicture {
    SliceHeader header;                    // what those of its slices have in common
    std::vector<SliceHeaderBits> headers;  // of its slices
    std::vector<uint8_t> prefix;           // NAL units before the slices
    size_t sei_at;                         // where SEI messages begin in it
    std::optional<Timecode> timecode;
    bool forced_key;         // its frame asks for an IDR picture
    QpRegions regions;       // of interest
    RefreshColumns refresh;  // of a P picture
    PictureWeights weights;  // likewise, before make_predicted()
    bool recovery_point;     // of a P picture with which a refresh begins
    bool second_field = false;
    FieldReference reference;  // of a P field
};

class PacketWriter {
  public:
    explicit PacketWriter(const Params &params);
    const std::vector<uint8_t> &parameter_sets() const { return parameter_sets_; }

    // Of pictures from the next one on. Throws Error(CUDAENC_ERR_INVALID).
    void change_rate(const RateChange &change) { rate_ = changed_rate(p_, rate_, change); }

    // The next picture: its number and prefix. Throws Error for side data that is not allowed. It counts from accept()
    // on.
    void begin(PictureState &picture, const SourcePicture &frame) const;
    void accept() { pictures_++; }
    // In place of an IDR picture, before make_headers(): the picture, of P slices, is of the frame_num-th frame after
    // one. distance: see FieldReference.
    void make_predicted(PictureState &picture, int frame_num, int distance = 1) const;
    // With HRD parameters, after QpPlanner::begin(): a buffering period and picture timing. pictures: frames of which a
    // picture was coded from the IDR picture before on, with that one; 0: there was none.
    void write_timing(PictureState &picture, int pictures) const;
    // At its QP, of the stream's slices or of others.
    void make_headers(PictureState &picture) const { make_headers(picture, p_.slices); }
    void make_headers(PictureState &picture, const std::vector<Slice> &slices) const;

    // Of the packet, from the bytes of the slices' NAL units, or from bits of all macroblock_layer().
    PacketSize size(const PictureState &picture, uint64_t slice_bytes) const;
    PacketSize estimate(const PictureState &picture, uint64_t bits) const;

    // Packets leave in the order of pictures. renumber() comes before: if a picture was lost, this one may have the
    // idr_pic_id of the packet before, which 7.4.3 does not allow. Then it gets another one, in its headers as well,
    // and its slices have to be coded once more.
    bool renumber(PictureState &picture) const;
    void end(const PictureState &picture) { last_idr_pic_id_ = picture.header.idr_pic_id; }

    // The size of the packet. All of its bytes but the slices, which begin at prefix.size(), and what it tells of
    // itself.
    size_t packet_bytes(const PictureState &picture, uint64_t slice_bytes) const;
    void write_around(const PictureState &picture, uint64_t slice_bytes, CudaencBuffer &packet) const;

    // 0 without a keystream. make_sign_flips() fills so many words.
    size_t sign_flip_words() const;
    void make_sign_flips(const PictureState &picture, uint16_t *words) const;

  private:
    int since_buffering_period(int pictures) const;
    size_t filler_bytes(size_t left) const;

    const Params &p_;
    RateTarget rate_;
    std::vector<uint8_t> parameter_sets_;
    // NAL units before SEI messages: of IDR pictures, of others, and of those with which decoding may begin.
    std::vector<uint8_t> prefix_, predicted_prefix_, recovery_prefix_, second_field_prefix_;
    uint64_t pictures_ = 0;     // so far
    int last_idr_pic_id_ = -1;  // of the packet that left last
};

}  // namespace cudaenc::h264
