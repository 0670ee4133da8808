// What H.264's pipelines share: pictures analysed on CPU threads, with the QPs that the rate control gives them, and
// packets around the slices. The slices are coded by who derives from it. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../cpu_encoder.h"
#include "params.h"
#include "rate.h"

namespace cudaenc::h264 {

// The tests' build has this function, which learns of the reconstruction of each packet's picture.
[[gnu::weak]] void reconstructed(const PictureFormat &format, const PictureCoder &coder);

class PictureEncoder : public CpuEncoder {
  public:
    std::span<const uint8_t> extradata() const override { return parameter_sets_; }

  protected:
    // A frame in flight.
    struct Picture {
        explicit Picture(const PictureFormat &format) : coder(format) {}
        PictureCoder coder;
        std::array<SampleLayout, 3> layouts;  // where analyse() reads samples
        Macroblock *macroblocks;              // where it writes: as many as the picture has
        int16_t *levels;
        std::vector<SliceHeaderBits> headers;
        std::vector<uint8_t> prefix;  // NAL units before the slices
        size_t sei_at;                // where the first SEI message belongs among them
        std::optional<Timecode> timecode;
        uint16_t *sign_flips = nullptr;  // where they go: sign_flip_words() of them; none without a keystream
        uint64_t number;                 // of the stream's pictures
        int idr_pic_id;
        int qp;
        uint64_t most_slice_bytes;  // what the slices' NAL units may have; UINT64_MAX: any
        uint64_t filler;            // bytes to be filled up beyond that
    };

    PictureEncoder(const Params &params, int slots, int threads, std::span<const char *const> stage_names,
                   bool stage_times, const std::shared_ptr<Device> &device = nullptr);

    // On a thread of the pool: samples to macroblocks, levels and slice headers.
    void analyse(int slot);
    // Whether the picture is coded again, since its slices have become larger than was foreseen. Then it has been
    // analysed anew.
    bool analyse_again(int slot, uint64_t slice_bytes);

    // Bytes of the packet, and all of it but the slices, which begin at prefix.size().
    size_t packet_bytes(const Picture &picture, uint64_t slice_bytes) const;
    void write_around(const Picture &picture, uint64_t slice_bytes, uint8_t *packet) const;

    size_t macroblocks() const { return static_cast<size_t>(p_.picture.macroblocks()); }
    size_t levels() const { return macroblocks() * 16 * static_cast<size_t>(blocks_per_macroblock(p_.picture.chroma)); }

    // 0 without a keystream.
    size_t sign_flip_words() const { return p_.keystream ? (levels() / 16 + 7) / 8 * 8 : 0; }

    void take(int slot, const CudaencFrame &frame) override;
    void begin(int slot) override;

    const Params p_;
    std::vector<Picture> pictures_;  // [slot]

  private:
    void encode_picture(Picture &picture);
    void make_sign_flips(const Picture &picture) const;
    void write_buffering_period(Picture &picture);
    uint64_t slice_bytes(const Picture &picture) const;
    void begin_next();

    const std::vector<uint8_t> parameter_sets_;
    uint64_t pictures_taken_ = 0;
    // Where pictures depend on those before, they are analysed in order.
    RateControl rate_;
    std::mutex mutex_;         // of what follows
    std::deque<int> waiting_;  // slots; the first one is being analysed
};

}  // namespace cudaenc::h264
