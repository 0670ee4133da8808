// SPDX-License-Identifier: LGPL-2.1-or-later
// The hybrid, top to bottom: samples to macroblocks and levels on CPU threads (common/h264/h264_pipeline.h) -> upload
// -> CAVLC, NAL units on the device -> download into the packet.
#include "h264_hybrid.h"

#include <algorithm>

#include "../../common/error.h"
#include "../../common/h264/h264_pipeline.h"
#include "../device_objects.h"
#include "frame_download.h"
#include "slice_coder.h"

namespace cudaenc::h264 {

namespace {

enum Stage { kAnalyse, kStages };
constexpr const char *kStageNames[kStages] = {"intra pipeline"};

struct Slot {
    Slot(const std::shared_ptr<Device> &device, const DeviceSliceCoder &coder, size_t macroblock_count,
         size_t level_count, size_t flip_words, size_t slice_count)
        : stream(device),
          macroblocks(device, macroblock_count),
          levels(device, level_count),
          headers(device, slice_count),
          sign_flips(device, std::max<size_t>(flip_words, 1)),
          upload(coder.make_upload(flip_words > 0)),
          buffers(coder.make_buffers()) {}
    Stream stream;
    PinnedArray<Macroblock> macroblocks;
    PinnedArray<int16_t> levels;
    PinnedArray<SliceHeaderBits> headers;
    PinnedArray<uint16_t> sign_flips;
    PictureUpload upload;
    PictureBuffers buffers;
    FrameDownload pixels;  // of a frame in device memory
};

// Only the threads that call submit() and finish() call the device, one at a time.
class H264HybridEncoder : public H264Pipeline {
  public:
    H264HybridEncoder(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                      bool stage_times)
        : H264Pipeline(params, slots, threads, kStageNames, stage_times, device),
          device_(std::move(device)),
          device_frames_(device_frames),
          coder_(device_, p_.sets.format, p_.slices) {
        for (int i = 0; i < slots; i++) {
            slots_.push_back(
                std::make_unique<Slot>(device_, coder_, macroblocks(), levels(), sign_flip_words(), p_.slices.size()));
            const Slot &s = *slots_.back();
            set_output(i, s.macroblocks.data(), s.levels.data(), s.sign_flips.data());
        }
    }
    ~H264HybridEncoder() override {
        stop();
        for (const auto &s : slots_) settle(*s);
    }

    PooledBuffer finish(int slot) override {
        CpuEncoder::finish(slot);  // the intra pipeline
        Slot &s = *slots_[static_cast<size_t>(slot)];
        renumber(slot);
        try {
            PooledBuffer packet = code(slot, s);
            end(slot);
            return packet;
        } catch (...) {
            settle(s);
            throw;
        }
    }

  private:
    // The intra pipeline reads samples on the host.
    void take(int slot, const SourcePicture &frame) override {
        Slot &s = *slots_[static_cast<size_t>(slot)];
        H264Pipeline::take(slot, frame);
        if (!device_frames_) return;
        try {
            s.pixels.download(device_, s.stream, p_.input, frame, pictures_[static_cast<size_t>(slot)].layouts.data());
        } catch (...) {
            settle(s);
            throw;
        }
    }

    std::optional<PooledBuffer> complete(int slot) override {
        if (!analyse(slot)) return std::nullopt;
        return PooledBuffer();
    }

    PooledBuffer code(int slot, Slot &s) {
        const Picture &picture = pictures_[static_cast<size_t>(slot)];
        uint64_t bytes;
        do {
            std::copy(picture.headers.begin(), picture.headers.end(), s.headers.data());
            const CodedPicture coded = coder_.upload(s.stream, s.upload, picture.analysed(), s.headers.data());
            coder_.code(s.stream, s.buffers, coded, s.upload.headers.data());
            device_->synchronize(s.stream);
            bytes = nal_bytes(s.buffers);
        } while (analyse_again(slot, bytes));
        PooledBuffer packet = take_packet(packet_bytes(picture, bytes));
        device_->download(s.stream, packet->data + picture.prefix.size(), s.buffers.bytes.data(),
                          static_cast<size_t>(bytes));
        write_around(picture, bytes, *packet);
        device_->synchronize(s.stream);
        return packet;
    }

    // After an error: nothing of the picture is left running.
    void settle(Slot &s) noexcept {
        s.buffers.pictures = 0;
        s.stream.settle();
    }

    const std::shared_ptr<Device> device_;
    const bool device_frames_;
    const DeviceSliceCoder coder_;
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace

std::unique_ptr<Encoder> make_hybrid_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<H264HybridEncoder>(params, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::h264
