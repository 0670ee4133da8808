// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 on the CPU, top to bottom: samples to macroblocks and levels, at the QP of the rate control -> CAVLC, NAL units
// -> packet. It is also the oracle: the device pipeline gives the same bytes.
#include "h264_cpu.h"

#include <algorithm>

#include "h264.h"
#include "h264_sequence.h"

namespace cudaenc::h264 {

namespace {

enum Stage { kAnalyse, kCode, kStages };
constexpr const char *kStageNames[kStages] = {"intra pipeline", "cavlc"};

}  // namespace

H264CpuEncoder::H264CpuEncoder(const Params &params, int slots, int threads, bool stage_times,
                               const std::shared_ptr<Device> &device)
    : H264Pipeline(params, slots, threads, kStageNames, stage_times, device), slots_(static_cast<size_t>(slots)) {
    for (size_t i = 0; i < slots_.size(); i++) {
        Slot &s = slots_[i];
        s.macroblocks.resize(macroblocks());
        s.levels.resize(levels());
        s.sign_flips.resize(sign_flip_words());
        s.coder = std::make_unique<SliceCoder>(p_.sets.format, p_.slices);
        set_output(static_cast<int>(i), s.macroblocks.data(), s.levels.data(), s.sign_flips.data());
    }
}

PooledBuffer H264CpuEncoder::finish(int slot) {
    PooledBuffer packet = H264Pipeline::finish(slot);
    if (renumber(slot)) packet = code(slot);
    end(slot);
    return packet;
}

std::optional<PooledBuffer> H264CpuEncoder::complete(int slot) {
    if (!analyse(slot)) return std::nullopt;
    begin_stage(slot, kCode);
    return code(slot);
}

PooledBuffer H264CpuEncoder::code(int slot) {
    Slot &s = slots_[static_cast<size_t>(slot)];
    const Picture &picture = pictures_[static_cast<size_t>(slot)];
    std::span<const uint8_t> slices;
    do slices = s.coder->code(pool(), picture.analysed(), picture.headers.data());
    while (analyse_again(slot, slices.size()));
    PooledBuffer packet = take_packet(packet_bytes(picture, slices.size()));
    write_around(picture, slices.size(), *packet);
    std::copy(slices.begin(), slices.end(), packet->data + picture.prefix.size());
    return packet;
}

std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times) {
    if (params.gop_size > 1) return std::make_unique<SequencePipeline>(params, slots, threads, stage_times);
    return std::make_unique<H264CpuEncoder>(params, slots, threads, stage_times);
}

}  // namespace cudaenc::h264
