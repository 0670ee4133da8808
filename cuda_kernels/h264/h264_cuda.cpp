// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 with all of its stages on a device, top to bottom: samples to macroblocks and levels -> CAVLC, NAL units ->
// download into the packet.
#include <algorithm>

#include "../../common/h264/packet_writer.h"
#include "../device_encoder.h"
#include "h264_hybrid.h"
#include "intra/intra_coder.h"
#include "scramble_params.h"
#include "slice_coder.h"

namespace cudaenc::h264 {

namespace {

enum Stage { kUpload, kIntra, kCode, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "intra pipeline", "cavlc", "download"};

struct Slot : FrameSlot {
    Slot(const std::shared_ptr<Device> &device, const DeviceIntraCoder &intra_coder,
         const DeviceSliceCoder &slice_coder, size_t slices, size_t flip_words)
        : FrameSlot(device),
          intra(intra_coder.make_buffers()),
          coded(slice_coder.make_buffers()),
          host_headers(device, slices),
          headers(device, slices),
          host_sign_flips(device, std::max<size_t>(flip_words, 1)),
          sign_flips(device, flip_words) {}
    PictureState picture{};
    IntraBuffers intra;
    PictureBuffers coded;
    PinnedArray<SliceHeaderBits> host_headers;
    DeviceArray<SliceHeaderBits> headers;
    PinnedArray<uint16_t> host_sign_flips;
    DeviceArray<uint16_t> sign_flips;  // empty: there is no keystream
    std::exception_ptr failed;         // where its QP was settled
};

class H264CudaEncoder : public DeviceEncoder<Slot> {
  public:
    H264CudaEncoder(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                    bool stage_times)
        : DeviceEncoder(std::move(device), params.input, threads, device_frames, kStageNames, stage_times),
          p_(params),
          packet_writer_(p_),
          planner_(p_.rate, slots),
          intra_coder_(device_, p_.picture, slots),
          slice_coder_(device_, p_.sets.format, p_.slices) {
        // Before those of slots: the driver runs streams side by side that are made one after the other.
        // With rate control a picture waits for the bits of others before.
        if (const int pictures = intra_coder_.launch_pictures(); pictures > 1 && !stage_times && p_.rate.constant())
            for (int i = 0; i < (slots + pictures - 1) / pictures; i++)
                launch_streams_.push_back(std::make_unique<Stream>(device_));
        for (int i = 0; i < slots; i++) {
            add_slot(std::make_unique<Slot>(device_, intra_coder_, slice_coder_, p_.slices.size(),
                                            packet_writer_.sign_flip_words()));
            slot(i).picture.slot = i;
        }
    }
    ~H264CudaEncoder() override { drain(); }
    std::span<const uint8_t> extradata() const override { return packet_writer_.parameter_sets(); }
    void change_rate(const RateChange &change) override { packet_writer_.change_rate(change); }

    PooledBuffer finish(int slot) override {
        PooledBuffer packet = DeviceEncoder::finish(slot);
        Slot &s = this->slot(slot);
        if (packet_writer_.renumber(s.picture)) packet = complete_again(s, [&] { code_slices(s.stream, s); });
        packet_writer_.end(s.picture);
        return packet;
    }

  private:
    void take(Slot &s, const SourcePicture &frame) override {
        DeviceEncoder::take(s, frame);
        packet_writer_.begin(s.picture, s.frame);
        if (!launch_streams_.empty())
            s.queued_on = deferred_.empty() ? Device::Stream(*launch_streams_[launches_ % launch_streams_.size()])
                                            : deferred_.front()->queued_on;
        if (s.sign_flips.count()) packet_writer_.make_sign_flips(s.picture, s.host_sign_flips.data());
    }

    void queue(Slot &s) override {
        upload_.queue(s);
        while (Slot *const first = first_unsettled()) {
            if (!planner_.must_wait(s.picture) && !device_->done(first->worked)) break;
            settle_qp(*first);
        }
        planner_.plan(s.picture);
        if (launch_streams_.empty()) return encode(s.stream, std::array{&s});
        s.deferred = true;
        deferred_.push_back(&s);
        if (alone() || std::ssize(deferred_) >= intra_coder_.launch_pictures()) queue_deferred();
    }

    // Pictures in flight share launches of the wavefront where there are more of them than the driver runs streams side
    // by side.
    void queue_deferred() override {
        if (deferred_.empty()) return;
        const std::vector<Slot *> all = std::exchange(deferred_, {});
        for (Slot *s : all) s->deferred = false;
        launches_++;
        try {
            const Device::Stream stream = all.front()->queued_on;
            encode(stream, all);
            for (Slot *s : all) {
                device_->record(s->worked, stream);
                s->awaited = s->worked;
            }
        } catch (...) {
            for (Slot *s : all) s->error = std::current_exception();
            throw;
        }
    }

    // Queues the coding of pictures, whose bits rate control gets.
    void encode(Device::Stream stream, std::span<Slot *const> slots) {
        std::vector<DeviceIntraCoder::Picture> pictures;
        for (Slot *s : slots) {
            std::array<SampleLayout, 3> components{};
            for (int c = 0; c < p_.input.components; c++) components[static_cast<size_t>(c)] = s->layout.data()[c];
            pictures.push_back(
                {.buffers = &s->intra, .components = components, .qp = s->picture.qp, .regions = s->picture.regions});
            packet_writer_.make_headers(s->picture);
        }
        mark(*slots.front(), kIntra);
        intra_coder_.code(stream, pictures, p_.aq_strength);
        mark(*slots.front(), kCode);
        for (Slot *s : slots) {
            if (p_.encrypt_parts) scramble(stream, *s);
            code_slices(stream, *s);
        }
    }

    // Once for each analysis: what the key turns beside signs.
    void scramble(Device::Stream stream, Slot &s) {
        upload_sign_flips(stream, s);
        const auto threads = static_cast<uint64_t>(kScrambleThreads);
        device_->launch(stream, {blocks_for(static_cast<uint64_t>(p_.picture.macroblocks()), threads)},
                        kScrambleThreads,
                        ScrambleParams{{p_.sets.format, p_.encrypt_parts, s.intra.macroblocks.data(),
                                        s.intra.levels.data(), s.sign_flips.data()}});
    }
    void upload_sign_flips(Device::Stream stream, Slot &s) {
        device_->upload(stream, s.sign_flips.data(), s.host_sign_flips.data(), s.sign_flips.bytes());
    }

    Slot *first_unsettled() const {
        const PlannedPicture *const first = planner_.first_unsettled();
        return first ? &slot(first->slot) : nullptr;
    }

    // Waits for the bits of the first picture whose QP may change, and codes it anew where it has to. What fails is
    // told of that picture alone.
    void settle_qp(Slot &s) {
        try {
            planner_.begin(s.picture);
            packet_writer_.write_timing(s.picture, s.picture.number ? 1 : 0);
            device_->synchronize(s.stream);
            recode(s);
        } catch (...) {
            s.failed = std::current_exception();
        }
        planner_.settle(s.picture);
    }

    void recode(Slot &s) {
        while (planner_.recode(s.picture, packet_writer_.estimate(s.picture, layer_bits(s.coded)))) encode_again(s);
    }

    void encode_again(Slot &s) {
        encode(s.stream, std::array{&s});
        device_->synchronize(s.stream);
    }

    void code_slices(Device::Stream stream, Slot &s) {
        std::copy(s.picture.headers.begin(), s.picture.headers.end(), s.host_headers.data());
        device_->upload(stream, s.headers.data(), s.host_headers.data(), s.headers.bytes());
        if (s.sign_flips.count()) upload_sign_flips(stream, s);
        slice_coder_.code(
            stream, s.coded,
            {s.intra.macroblocks.data(), s.intra.levels.data(), s.sign_flips.count() ? s.sign_flips.data() : nullptr},
            s.headers.data());
    }

    void complete(Slot &s, PooledBuffer &packet) override {
        PictureState &picture = s.picture;
        if (p_.rate.constant()) recode(s);
        while (!planner_.is_settled(picture)) settle_qp(*first_unsettled());
        if (s.failed) std::rethrow_exception(std::exchange(s.failed, nullptr));
        uint64_t bytes;
        while (bytes = nal_bytes(s.coded), planner_.too_large(picture, packet_writer_.size(picture, bytes)))
            encode_again(s);
        packet = packets_->take(packet_writer_.packet_bytes(picture, bytes));
        queue_download(s, packet->data + picture.prefix.size(), s.coded.bytes.data(), static_cast<size_t>(bytes));
        packet_writer_.write_around(picture, bytes, *packet);
    }

    void submitted(Slot &) noexcept override { packet_writer_.accept(); }

    void reset(Slot &s) noexcept override {
        DeviceEncoder::reset(s);
        s.intra.pictures = s.coded.pictures = 0;
        s.failed = nullptr;
        planner_.settle(s.picture);
        std::erase(deferred_, &s);
    }

    const Params p_;
    PacketWriter packet_writer_;
    QpPlanner planner_;
    const DeviceIntraCoder intra_coder_;
    const DeviceSliceCoder slice_coder_;
    std::vector<std::unique_ptr<Stream>> launch_streams_;  // taken in turn; none where each picture has a launch
    size_t launches_ = 0;
    std::vector<Slot *> deferred_;  // what queue_deferred() launches
};

}  // namespace

std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    if (!only_on_cpu(params).empty())
        return make_threads_encoder(params, slots, threads, std::move(device), device_frames, stage_times);
    if (params.gop_size > 1)
        return make_sequence_encoder(params, slots, threads, std::move(device), device_frames, stage_times);
    if (params.effort != kAllTypes)
        return make_hybrid_encoder(params, slots, threads, std::move(device), device_frames, stage_times);
    return std::make_unique<H264CudaEncoder>(params, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::h264
