// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 with P pictures, on CPU threads: each picture is coded behind the one that it refers to, by all threads.
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "../cpu_encoder.h"
#include "gop.h"
#include "lookahead.h"
#include "packet_writer.h"
#include "sequence_coder.h"
#include "slice_division.h"
#include "syntax/slice_cpu.h"

namespace cudaenc::h264 {

// The tests' build has this function, which learns of the reconstruction of each packet's picture.
[[gnu::weak]] void reconstructed(const PictureFormat &format, const SequenceCoder &coder);

class SequencePipeline : public CpuEncoder {
  public:
    SequencePipeline(const Params &params, int slots, int threads, bool stage_times,
                     const std::shared_ptr<Device> &device = nullptr);
    ~SequencePipeline() override { stop(); }
    std::span<const uint8_t> extradata() const override { return packet_writer_.parameter_sets(); }
    void change_rate(const RateChange &change) override { packet_writer_.change_rate(change); }
    void flush() noexcept override;
    int lookahead() const noexcept override { return p_.lookahead; }

  protected:
    struct Picture : PictureState {
        std::array<SampleLayout, 3> layouts;
        LookaheadPicture ahead;
        std::vector<SourceCosts> costs;  // of the lookahead
        std::vector<int8_t> offsets;     // likewise
    };
    void take(int slot, const SourcePicture &frame) override;
    void queue(int slot) noexcept override;
    std::optional<PooledBuffer> complete(int slot) override;

    const Params p_;
    std::vector<Picture> pictures_;  // [slot]

  private:
    void start_next() noexcept;
    void look_ahead(Picture &picture);
    PooledBuffer code(int slot);
    void choose_type(Picture &picture);
    void encode(Picture &picture);
    void set_slices();
    std::span<const uint8_t> code_slices(const Picture &picture);
    void settle_qp(Picture &picture);
    bool recode(Picture &picture);
    bool encode_again(Picture &picture, uint64_t slice_bytes, bool counted);

    PacketWriter packet_writer_;
    QpPlanner planner_;
    SequenceCoder sequence_;
    SliceCoder slice_coder_;
    std::optional<SliceDivision> division_;  // with slice_max_bytes
    std::vector<Macroblock> macroblocks_;
    LineVector<int16_t> levels_;
    Gop gop_;
    std::optional<Lookahead> lookahead_;
    std::optional<SourceComparison> comparison_;
    uint64_t compared_ = 0;     // the number behind the last picture of it
    std::mutex mutex_;          // of what follows
    std::vector<int> waiting_;  // slots in order
    bool codes_ = false;        // the first of them
};

}  // namespace cudaenc::h264
