// SPDX-License-Identifier: LGPL-2.1-or-later
// What all pipelines of H.264 share around the slices of a picture: NAL units before and after them, slice headers, and
// the QP of the rate control.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "../../packet_pool.h"
#include "../params.h"
#include "rate.h"

namespace cudaenc::h264 {

// A picture in flight.
struct PictureState {
    std::vector<SliceHeaderBits> headers;
    std::vector<uint8_t> prefix;  // NAL units before the slices
    size_t sei_at;                // where SEI messages begin in it
    std::optional<Timecode> timecode;
    std::optional<RateControl> rate;  // while it is analysed
    uint64_t number;                  // of the stream's pictures
    uint64_t skipped;                 // frames that are left out before it
    int idr_pic_id;
    int qp;
    std::string missed;         // a target that it misses, see CudaencBuffer
    uint64_t most_slice_bytes;  // of the NAL units of slices; UINT64_MAX: no limit
    uint64_t filler;            // bytes of filler data beyond that
};

class PictureControl {
  public:
    explicit PictureControl(const Params &params);
    const std::vector<uint8_t> &parameter_sets() const { return parameter_sets_; }

    // The next picture: its prefix. Throws Error for side data that is not allowed. It counts from taken() on.
    void take(PictureState &picture, const CudaencFrame &frame) const;
    void taken() { pictures_taken_++; }

    // plan() chooses the QP of the first analysis, in order. It knows the bits of the first picture and of those that
    // are RateTarget::delay or more before; of all before where the last of these has a QP beyond kMaxQp, since sizes
    // are hard to foresee there. Others count as if they were like the last known one, at their planned QPs. So
    // pictures are analysed side by side, and their QPs do not depend on how many are.
    void plan(PictureState &picture);
    // Whether plan() needs the bits of a picture, by number. Those before it are known.
    bool knows(const PictureState &picture, uint64_t other) const;

    // Then, for a picture after the other: begin() finds what the decoder's buffer holds. After each analysis again()
    // gets IntraCoder::bits() and tells whether the picture has to be analysed once more, at its new QP;
    // make_headers() comes before.
    void begin(PictureState &picture) const;
    void make_headers(PictureState &picture) const;
    bool again(PictureState &picture, uint64_t bits);
    // In place of again() with a constant QP, once the slices are coded: whether again() would be false.
    bool fits(PictureState &picture, uint64_t slice_bytes) const;
    // If the slices exceed their limit: true, at a higher QP.
    bool too_large(PictureState &picture, uint64_t slice_bytes) const;

    // Packets leave in the order of pictures. renumber() comes before: if a picture was lost, this one may have the
    // idr_pic_id of the packet before, which 7.4.3 does not allow. Then it gets another one, in its headers as well,
    // and its slices have to be coded once more.
    bool renumber(PictureState &picture) const;
    void left(const PictureState &picture) { last_idr_pic_id_ = picture.idr_pic_id; }

    // The size of the packet. All of its bytes but the slices, which begin at prefix.size(), and what it tells of
    // itself.
    size_t packet_bytes(const PictureState &picture, uint64_t slice_bytes) const;
    void write_around(const PictureState &picture, uint64_t slice_bytes, CudaencBuffer &packet) const;

    // 0 without a keystream. make_sign_flips() fills so many words.
    size_t sign_flip_words() const;
    void make_sign_flips(const PictureState &picture, uint16_t *words) const;

  private:
    void write_buffering_period(PictureState &picture) const;
    uint64_t slice_bytes(const PictureState &picture, uint64_t bits) const;
    uint64_t most_bytes(uint64_t slice_bytes) const;

    const Params &p_;
    std::vector<uint8_t> parameter_sets_;
    std::vector<uint8_t> prefix_;  // NAL units before SEI messages, of each picture
    uint64_t pictures_taken_ = 0;
    int last_idr_pic_id_ = -1;         // of the packet that left last
    std::optional<RateControl> rate_;  // behind the last picture whose QP stands
    // What plans go back to, in order.
    struct Known {
        uint64_t number;
        RateControl rate;  // behind the picture
    };
    struct Planned {
        uint64_t number;
        uint64_t skipped;
        int qp;
    };
    std::deque<Known> known_;
    std::deque<Planned> planned_;
};

}  // namespace cudaenc::h264
