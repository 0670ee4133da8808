// SPDX-License-Identifier: LGPL-2.1-or-later
// The pipeline of the decoder on CPU threads: headers of a packet, then its samples to planes. Pictures in flight share
// the threads.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "../cpu_pipeline.h"
#include "codestream/read_headers.h"
#include "decoder_params.h"
#include "j2k.h"
#include "jp2_reader.h"
#include "picture_decoder_cpu.h"
#include "transform/store.h"

namespace cudaenc::j2k {

namespace {

enum Stage { kHeaders, kDecode, kStages };
constexpr const char *kStageNames[kStages] = {"headers", "decode"};

void store_samples(const ChannelLayout &to, int x, int y, std::span<const int32_t> samples) {
    uint8_t *at = to.data + y * to.stride + ptrdiff_t{x} * to.step;
    for (const int32_t sample : samples) {
        const uint32_t word = to.word_of(sample);
        if (to.wide()) {
            const auto two = static_cast<uint16_t>(word);
            std::memcpy(at, &two, 2);
        } else {
            *at = static_cast<uint8_t>(word);
        }
        at += to.step;
    }
}

class J2kCpuDecoder : public CpuPipeline<Decoder> {
  public:
    J2kCpuDecoder(const DecoderOptions &options, int slots, int threads, bool stage_times)
        : CpuPipeline(slots, threads, kStageNames, stage_times),
          options_(options),
          slots_(static_cast<size_t>(slots)) {}
    ~J2kCpuDecoder() override { stop(); }

  private:
    void take(int slot, const CodedPicture &coded) override { slots_[static_cast<size_t>(slot)] = coded; }

    std::optional<Decoded> complete(int slot) override {
        const CodedPicture &coded = slots_[static_cast<size_t>(slot)];
        begin_stage(slot, kHeaders);
        const std::span<const uint8_t> codestream = read_jp2({coded.data, coded.size}).codestream;
        const Description description = read_headers(codestream);
        const Header &header = header_of(coded);
        begin_stage(slot, kDecode);
        Decoded decoded{};
        const auto take = [&](size_t c, int x, int y, std::span<const int32_t> samples) {
            for (const Channel &channel : header.channels)
                if (channel.component == c) store_channel(coded, channel, x, y, samples);
        };
        decoded.damage = decode_codestream(codestream, description, options_, pool(), take);
        if (header.has_inks) store_light(coded);
        return decoded;
    }

    void store_channel(const CodedPicture &coded, const Channel &channel, int x, int y,
                       std::span<const int32_t> samples) const {
        const CudaencFormat &format = coded.header->info.format;
        const int plane = format.component[channel.place].plane;
        store_samples(channel_layout(format, channel, coded.planes[plane], coded.stride[plane], options_), x, y,
                      samples);
    }

    // Over inks.
    void store_light(const CodedPicture &coded) {
        const CudaencFormat &format = coded.header->info.format;
        const InkPlanes planes = ink_planes(format, std::to_array(coded.planes),
                                            {coded.stride[0], coded.stride[1], coded.stride[2], coded.stride[3]});
        constexpr size_t kBatch = 8;  // rows that a thread takes at once
        pool().for_each(static_cast<size_t>(format.height), kBatch, [&](size_t y) {
            for (int x = 0; x < format.width; x++) inks_to_light(planes, x, static_cast<int>(y));
        });
    }

    const DecoderOptions options_;
    std::vector<CodedPicture> slots_;
};

}  // namespace

std::unique_ptr<Decoder> make_cpu_decoder(const DecoderOptions &options, int slots, int threads, bool stage_times) {
    return std::make_unique<J2kCpuDecoder>(options, slots, threads, stage_times);
}

}  // namespace cudaenc::j2k
