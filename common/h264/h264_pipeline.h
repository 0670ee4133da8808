// SPDX-License-Identifier: LGPL-2.1-or-later
// What both pipelines of H.264 share: the intra pipeline on CPU threads, at the QPs of the rate control, and packets
// around the slices. Derived classes code the slices.
#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "../cpu_encoder.h"
#include "lanes/intra_coder.h"
#include "packet_writer.h"

namespace cudaenc::h264 {

// The tests' build has this function, which learns of the reconstruction of each packet's picture.
[[gnu::weak]] void reconstructed(const PictureFormat &format, const IntraCoder &coder);

class H264Pipeline : public CpuEncoder {
  public:
    std::span<const uint8_t> extradata() const override { return packet_writer_.parameter_sets(); }
    void change_rate(const RateChange &change) override { packet_writer_.change_rate(change); }

  protected:
    // A frame in flight.
    struct Picture : PictureState {
        explicit Picture(const PictureFormat &format) : PictureState(), coder(format) {}
        IntraCoder coder;
        bool scrambled = false;      // since it was analysed
        bool analysed_once = false;  // its QP waits for those of pictures before
        std::exception_ptr failed;   // where its QP was planned
        CodedPicture analysed() const { return {macroblocks, levels, sign_flips}; }
        std::array<SampleLayout, 3> layouts;  // the input of analyse()
        Macroblock *macroblocks;              // its output, see set_output()
        int16_t *levels;
        uint16_t *sign_flips;  // nullptr: there is no keystream
    };

    H264Pipeline(const Params &params, int slots, int threads, std::span<const char *const> stage_names,
                 bool stage_times, const std::shared_ptr<Device> &device = nullptr);

    // Where analyse() writes: macroblocks(), levels() and sign_flip_words() elements.
    void set_output(int slot, Macroblock *macroblocks, int16_t *levels, uint16_t *sign_flips);
    // In complete(), as its first stage: samples to macroblocks, levels and slice headers. False: its QP may change
    // with the bits of pictures before; complete() follows again once they are known.
    bool analyse(int slot);
    // If the slices exceed their limit, analyses the picture again at a higher QP and returns true.
    bool analyse_again(int slot, uint64_t slice_bytes);

    // See PacketWriter. renumber() and end() are for finish().
    bool renumber(int slot) { return packet_writer_.renumber(pictures_[slot]); }
    void end(int slot) { packet_writer_.end(pictures_[slot]); }
    size_t packet_bytes(const Picture &picture, uint64_t slice_bytes) const {
        return packet_writer_.packet_bytes(picture, slice_bytes);
    }
    void write_around(const Picture &picture, uint64_t slice_bytes, CudaencBuffer &packet) const;

    size_t macroblocks() const { return static_cast<size_t>(p_.picture.macroblocks()); }
    size_t levels() const { return macroblocks() * 16 * static_cast<size_t>(blocks_per_macroblock(p_.picture.chroma)); }

    size_t sign_flip_words() const { return packet_writer_.sign_flip_words(); }

    void take(int slot, const SourcePicture &frame) override;
    void queue(int slot) noexcept override;

    const Params p_;
    std::vector<Picture> pictures_;  // [slot]

  private:
    // Whether QpPlanner::recode() needs the picture's bits. At a constant QP slices are coded first, see fits().
    bool counts(const Picture &picture) const { return !p_.rate.constant() || picture.qp != picture.target.qp; }
    void encode_picture(Picture &picture);
    void scramble(Picture &picture);
    bool encode_again(Picture &picture, uint64_t slice_bytes);
    void settle_qp(Picture &picture);
    void plan_waiting() noexcept;
    bool is_first(Picture &picture) noexcept;
    void qp_settled(Picture &picture) noexcept;

    PacketWriter packet_writer_;
    // Where QPs depend on the bits of pictures before, they are planned and settled in order.
    std::mutex mutex_;  // of what follows
    QpPlanner planner_;
    std::vector<int> waiting_;  // slots in order, before QpPlanner::plan()
};

}  // namespace cudaenc::h264
