// SPDX-License-Identifier: LGPL-2.1-or-later
// The pipeline of the decoder on CPU threads: headers of a packet, then its samples to planes. Pictures in flight share
// the threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "../cpu_pipeline.h"
#include "codestream/read_headers.h"
#include "decoder_params.h"
#include "j2k.h"
#include "jp2_reader.h"
#include "picture_decoder_cpu.h"

namespace cudaenc::j2k {

namespace {

enum Stage { kHeaders, kDecode, kStages };
constexpr const char *kStageNames[kStages] = {"headers", "decode"};

// flipped: a bit of the words.
void store_samples(const CodedPicture &coded, const CudaencComponent &k, uint32_t flipped, int x, int y,
                   std::span<const int32_t> samples) {
    uint8_t *to = coded.planes[k.plane] + y * coded.stride[k.plane] + k.offset + ptrdiff_t{x} * k.step;
    const uint32_t mask = (1u << k.depth) - 1;  // of signed samples, two's complement
    const bool wide = k.depth + k.shift > 8;
    for (const int32_t sample : samples) {
        const uint32_t word = ((static_cast<uint32_t>(sample) & mask) ^ flipped) << k.shift;
        if (wide) {
            const auto two = static_cast<uint16_t>(word);
            std::memcpy(to, &two, 2);
        } else {
            *to = static_cast<uint8_t>(word);
        }
        to += k.step;
    }
}

class J2kCpuDecoder : public CpuPipeline<Decoder> {
  public:
    J2kCpuDecoder(const DecoderOptions &options, int slots, int threads, bool stage_times, const char *fallback)
        : CpuPipeline(slots, threads, kStageNames, stage_times),
          options_(options),
          fallback_(fallback),
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
        Decoded decoded{.damage = {}, .fallback = fallback_};
        const auto take = [&](size_t c, int x, int y, std::span<const int32_t> samples) {
            for (const Channel &channel : header.channels)
                if (channel.component == c) store_channel(coded, channel, x, y, samples);
        };
        decoded.damage = decode_codestream(codestream, description, options_, pool(), take);
        return decoded;
    }

    void store_channel(const CodedPicture &coded, const Channel &channel, int x, int y,
                       std::span<const int32_t> samples) const {
        const CudaencComponent &to = coded.header->info.format.component[channel.place];
        const uint32_t flipped = options_.usual_format && channel.is_signed ? 1u << (to.depth - 1) : 0;
        if (channel.values.empty()) return store_samples(coded, to, flipped, x, y, samples);
        std::vector<int32_t> values;
        const auto last = static_cast<int32_t>(channel.values.size() - 1);
        for (const int32_t sample : samples)
            values.push_back(channel.values[static_cast<size_t>(std::clamp(sample, 0, last))]);
        store_samples(coded, to, flipped, x, y, values);
    }

    const DecoderOptions options_;
    const char *const fallback_;
    std::vector<CodedPicture> slots_;
};

}  // namespace

std::unique_ptr<Decoder> make_cpu_decoder(const DecoderOptions &options, int slots, int threads, bool stage_times,
                                          const char *fallback) {
    return std::make_unique<J2kCpuDecoder>(options, slots, threads, stage_times, fallback);
}

}  // namespace cudaenc::j2k
