// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 on a device, top to bottom: load, wavelet transform and quantisation -> context modelling -> MQ coding ->
// tier-2 -> gather -> download. The host waits once a frame, at its end, to learn how long the codestream is, and
// whether it is coded again.
#include <algorithm>
#include <array>
#include <optional>

#include "../../common/error.h"
#include "../../common/j2k/codestream/main_header.h"
#include "../../common/j2k/encoder_tables.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/jp2_boxes.h"
#include "../../common/j2k/jp2_metadata.h"
#include "../../common/j2k/rate/region_weights.h"
#include "../../common/j2k/rate/research/early_stop_cpu.h"
#include "../device_encoder.h"
#include "rate/psnr_target.h"
#include "rate/rate_control.h"
#include "rate/research/cibo.h"
#include "t1/ht_coder.h"
#include "t1/tier1.h"
#include "t2/tier2.h"
#include "transform/transform.h"

namespace cudaenc::j2k {

namespace {

// A second stream measures headers ahead and uploads the allocation. With more frames in flight it does not pay.
constexpr int kForkedFrames = 2;
enum Stage { kUpload, kDwt, kContext, kMq, kRate, kTier2, kGather, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "load and dwt", "context modelling", "mq", "rate control",
                                              "tier-2", "gather",       "download"};

// A frame in flight, stage by stage.
struct Slot : FrameSlot {
    Slot(const std::shared_ptr<Device> &device, size_t components)
        : FrameSlot(device, components), rate(device), tier2(device) {}
    Transform::Buffers transformed;
    std::unique_ptr<BlockCoder> coder;
    BlockRecords coded{};
    RateController::Buffers rate;
    std::unique_ptr<Stream> second_stream;  // beside tier-1
    std::unique_ptr<Event> forks, joins;
    Tier2::Buffers tier2;
    FrameMetadata metadata;  // that frame points to
    std::vector<int16_t> region_weights;
    uint64_t box_bytes = 0, number = 0;  // of the frame
    std::vector<uint8_t> boxes, filler;  // before its codestream, and behind the main header
    bool has_psnr = false;               // truncate_to_psnr() was called
    double missed_psnr = 0;              // see PsnrThreshold
    std::vector<int> revisions;          // of each layer; none before the first
    QueuedGraph graph_again;             // where it is coded again
};

// Whether coefficients can take 16 bits. Those of the MQ coder and of targets of PSNR have 32.
bool fits_short(const Params &p) {
    const auto fits = [](const Quantiser &q) { return q.planes <= kShortPlanes; };
    return (p.style & kHt) && p.levels && p.rate.error == 0 &&
           std::all_of(p.quantisers.begin(), p.quantisers.end(),
                       [&](const auto &bands) { return std::all_of(bands.begin(), bands.end(), fits); });
}

// Throws Error where it has more than kernels count.
EncoderGeometry make_checked_geometry(const Params &params) {
    EncoderGeometry g = make_encoder_geometry(params);
    constexpr size_t kMost = size_t{1} << 26;
    if (g.block_layers.size() >= kMost || g.packets.size() + g.tile_parts.size() >= kMost)
        throw Error(
            CUDAENC_ERR_MEMORY,
            "the picture has more code-blocks than a device session holds: choose larger ones, or fewer layers");
    return g;
}

class J2kDeviceEncoder : public DeviceEncoder<Slot> {
  public:
    J2kDeviceEncoder(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                     bool stage_times)
        : DeviceEncoder(std::move(device), params.input, threads, device_frames, kStageNames, stage_times),
          p_(params),
          g_(make_checked_geometry(params)),
          header_(make_main_header(params, g_.tile_parts)),
          batch_(tier1_batch(g_.blocks.size(), g_.max_passes, p_.cblk_width_log2, p_.cblk_height_log2, g_.coding)),
          budget_(p_, g_, header_.bytes.size()),
          early_stopping_(p_.rate),
          setup_(device_),
          is_short_(fits_short(p_)),
          transform_(device_, make_transform_plan(p_, g_), setup_, slots, is_short_),
          tier2_(device_, p_, g_, header_, setup_),
          rate_control_(device_, p_, g_, budget_, tier2_, batch_, is_short_, setup_),
          device_frames_(device_frames) {
        if (p_.rate.error != 0) psnr_.emplace(device_, p_, g_);
        for (size_t c = 0; c < p_.components.size(); c++)
            upload_.set_origin(c, p_.first_column(p_.components[c]), p_.first_row(p_.components[c]));
        blocks_ = upload_table(device_, setup_, g_.blocks);
        const std::vector<uint64_t> rooms = place_rooms(g_.blocks, g_.coding);
        room_begins_ = upload_table(device_, setup_, rooms);
        rooms_ = {room_begins_.data(), rooms.back()};
        for (int i = 0; i < slots; i++) add_slot(make_slot(slots));
        device_->synchronize(setup_);
    }
    ~J2kDeviceEncoder() override { drain(); }

  private:
    std::unique_ptr<Slot> make_slot(int slots) {
        auto slot = std::make_unique<Slot>(device_, p_.components.size());
        Slot &s = *slot;
        s.transformed = transform_.make_buffers(setup_);
        if (g_.coding.truncatable) rate_control_.allocate_buffers(s.rate);
        s.coder = make_block_coder(s, slots);
        s.coded = s.coder->records();
        if (budget_.measures_ahead() && slots <= kForkedFrames) {
            s.second_stream = std::make_unique<Stream>(device_);
            s.forks = std::make_unique<Event>(device_, false);
            s.joins = std::make_unique<Event>(device_, false);
        }
        tier2_.allocate(setup_, s.tier2);  // behind its tables
        return slot;
    }

    std::unique_ptr<BlockCoder> make_block_coder(Slot &s, int slots) const {
        if (p_.style & kHt)
            return std::make_unique<HtCoder>(device_,
                                             HtBlocks{.blocks = blocks_.data(),
                                                      .bands = rate_control_.bands(),
                                                      .count = block_count(),
                                                      .most_samples = 1 << (p_.cblk_width_log2 + p_.cblk_height_log2),
                                                      .max_passes = g_.max_passes,
                                                      .truncatable = p_.truncatable,
                                                      .is_short = is_short_,
                                                      .one_plane = is_short_ && has_one_plane()},
                                             rooms_);
        const int lanes = mq_lanes(slots);
        if (early_stopping_.by_planes() == EarlyStop::kNone)
            return std::make_unique<MqCoder>(device_, batch_, rooms_, blocks_.data(), rate_control_.bands(),
                                             s.rate.regions(), lanes);
        return std::make_unique<CiboCoder>(
            device_, batch_, rooms_, blocks_.data(),
            CiboTier1::Options{.lanes = lanes,
                               .stop = early_stopping_.by_planes(),
                               .budget = &s.rate.allocation.data()->budget[p_.layers - 1],
                               .bands = rate_control_.bands()});
    }

    void reset(Slot &s) noexcept override {
        DeviceEncoder::reset(s);
        if (s.second_stream) s.second_stream->settle();
        s.coder->settle();
        s.rate.cleared = false;
    }

    void take(Slot &s, const SourcePicture &frame) override {
        DeviceEncoder::take(s, frame);
        s.metadata.keep(s.frame, p_.input.planes);
        s.region_weights = find_region_weights(p_, g_, frame);
        s.box_bytes = make_jp2_boxes(p_, s.frame, 0).size();
        s.number = frames_++;
        s.has_psnr = false;
        s.revisions.clear();
        if (g_.coding.truncatable) *s.rate.begin.data() = budget_.begin(s.box_bytes);
        if (g_.coding.truncatable) s.rate.begin.data()->stop.slope = early_stopping_.slope(s.number);
    }

    void queue(Slot &s) override {
        upload_.queue(s);
        upload_.queue_layout(s);
        if (g_.coding.truncatable && !s.rate.cleared) rate_control_.clear(s.stream, s.rate);
        if (g_.coding.truncatable) rate_control_.upload_regions(s.stream, s.rate, s.region_weights);
        queue_as_graph(s, s.graph, [this, &s] { queue_stages(s); });
    }

    // Between fork() and join(), beside() is a second stream; or the frame's own.
    void fork(Slot &s) {
        if (!s.forks) return;
        device_->record(*s.forks, s.stream);
        device_->wait(beside(s), *s.forks);
    }
    Device::Stream beside(Slot &s) { return s.forks ? *s.second_stream : s.stream; }
    void join(Slot &s) {
        if (!s.joins) return;
        device_->record(*s.joins, beside(s));
        device_->wait(s.stream, *s.joins);
    }

    void queue_stages(Slot &s) {
        mark(s, kDwt);
        if (g_.coding.truncatable) {
            fork(s);
            rate_control_.upload(beside(s), s.rate);
        }
        transform_.queue(s.stream, s.transformed, s.device_layout.data(), blocks_.data());
        if (g_.coding.truncatable) join(s);
        mark(s, kContext);
        if (g_.coding.truncatable && p_.rate.predicts_slopes())
            rate_control_.sample(s.stream, s.rate, blocks_.data(), s.transformed.coefficients.data());
        code_from_coefficients(s, false);
    }

    // again: the slope to stop at is known.
    void code_from_coefficients(Slot &s, bool again) {
        const bool ahead = !again && budget_.measures_ahead();
        s.coder->analyse(s.stream, s.transformed.coefficients.data(),
                         g_.coding.truncatable ? &s.rate.allocation.data()->stop : nullptr);
        if (ahead) fork(s);
        mark(s, kMq);
        s.coder->code(s.stream);  // first, since the rest waits for it
        if (ahead) {
            rate_control_.measure_ahead(beside(s), s.rate, tier2(s));
            join(s);
        }
        mark(s, kRate);
        if (!psnr_) truncate_and_write(s, ahead);  // else go_on() does so, with the threshold that it finds
    }

    // measured: headers were, ahead.
    void truncate_and_write(Slot &s, bool measured) {
        if (g_.coding.truncatable) rate_control_.truncate(s.stream, s.rate, tier2(s), measured);
        write_frame(s);
    }

    void write_frame(Slot &s) {
        if (g_.coding.truncatable && !has_one_plane())  // else none is coded again
            s.coder->code_truncated(s.stream, s.rate.layer_passes.data() + last_layer(),
                                    s.rate.layer_bytes.data() + last_layer());
        mark(s, kTier2);
        tier2_.assemble_packets(s.stream, s.tier2, tier2(s));
        mark(s, kGather);
        write_codestream(s);
    }

    // Lanes of a warp that code a block. Fewer diverge less. So they are as few as keep the device full.
    int mq_lanes(int slots) const {
        const uint64_t warps = uint64_t{16} * static_cast<unsigned>(device_->multiprocessors());
        int lanes = 1;
        while (lanes < 32 && lanes * warps < uint64_t{block_count()} * static_cast<unsigned>(slots)) lanes *= 2;
        return lanes;
    }

    Tier2Buffers tier2(Slot &s) const {
        const bool truncatable = g_.coding.truncatable;
        return tier2_.parameters(s.tier2, blocks_.data(), s.coded,
                                 truncatable ? s.rate.layer_passes.data() : s.coded.passes,
                                 truncatable ? s.rate.layer_bytes.data() : s.coded.bytes);
    }

    void write_codestream(Slot &s) {
        if (g_.coding.truncatable)
            tier2_.write_codestream(s.stream, s.tier2, tier2(s), &s.rate.allocation.data()->stop.step,
                                    rate_control_.note(s.rate));
        else
            tier2_.write_codestream(s.stream, s.tier2, tier2(s), nullptr, {});
    }

    // A frame that tier-1 ended at the wrong slope is coded again, one that misses its budgets is truncated again.
    bool go_on(Slot &s) override {
        if (!g_.coding.truncatable) return false;
        if (psnr_ && !std::exchange(s.has_psnr, true)) truncate_to_psnr(s);
        const StopOutcome stop = RateController::noted(*s.tier2.result.data()).stop;
        if (stopped_too_early(stop, p_.frame_steps) ||
            (s.revisions.empty() &&
             (stopped_too_late(stop) || (p_.frame_steps && steps_too_fine(stop, p_.step_weights))))) {
            s.revisions.clear();
            *s.rate.begin.data() = budget_.begin(s.box_bytes);
            s.rate.begin.data()->stop = {next_try(stop, p_.style, p_.frame_steps, p_.step_weights), 0, 0, 0};
            queue_as_graph(s, s.graph_again, [this, &s] {
                rate_control_.upload(s.stream, s.rate);
                code_from_coefficients(s, true);
            });
            return true;
        }
        s.revisions.resize(p_.layers);
        const RateRevision next = budget_.revision(
            s.box_bytes, {*s.tier2.result.data(), RateController::noted(*s.tier2.result.data())}, s.revisions);
        if (next.layer < 0) return false;
        rate_control_.truncate_again(s.stream, s.rate, tier2(s), next);
        write_frame(s);
        return true;
    }

    void complete(Slot &s, PooledBuffer &packet) override {
        check_tile_part_length(s.tier2.result.data()->longest);
        early_stopping_.note(s.number, RateController::noted(*s.tier2.result.data()).stop);
        const uint64_t bytes = s.tier2.result.data()->bytes;
        if (bytes >
            s.tier2.codestream.count()) {  // rare: more than the pixels took. Codewords still lie in their rooms
            s.graph.graph.reset();
            s.graph_again.graph.reset();
            tier2_.allocate_codestream(s.stream, s.tier2, bytes + bytes / 4);
            write_codestream(s);
            device_->synchronize(s.stream);
        }
        s.filler = make_filler(p_.least_bytes, s.box_bytes + bytes);
        s.boxes = make_jp2_boxes(p_, s.frame, bytes + s.filler.size());
        packet = make_packet(s, s.boxes.size() + bytes + s.filler.size(),
                             [&](const Slot &from, uint8_t *to) { place_packet(s, from, to); });
        budget_.describe_packet(s.missed_psnr, *packet);
        packet->metadata_warning = metadata_warning(p_, s.frame);
    }

    // Brings the packet of `from` to `to`; downloads are those of `s`.
    void place_packet(Slot &s, const Slot &from, uint8_t *to) {
        to = std::copy(from.boxes.begin(), from.boxes.end(), to);
        const size_t before = from.filler.empty() ? 0 : header_.bytes.size();
        if (before) queue_download(s, to, from.tier2.codestream.data(), before);
        to = std::copy(from.filler.begin(), from.filler.end(), to + before);
        queue_download(s, to, from.tier2.codestream.data() + before, from.tier2.result.data()->bytes - before);
    }

    // Finds the threshold at which the frame has its PSNR, truncates and writes it.
    void truncate_to_psnr(Slot &s) {
        std::vector<SampleLayout> layouts;  // [component]
        for (int c = 0; c < static_cast<int>(p_.components.size()); c++) {
            const CudaencComponent k = component_of(p_.input, c);
            const FramePlane plane = plane_of(s.frame, k.plane);
            layouts.push_back(p_.xyz ? xyz_plane(s.transformed.xyz.data(), p_.width, p_.height, c)
                                     : layout_of(k, plane.data, plane.stride));
        }
        const PsnrThreshold threshold =
            psnr_->find(s.stream, s.transformed.coefficients.data(), s.coded, layouts, device_frames_ || p_.xyz);
        s.rate.begin.data()->least = threshold.slope;
        s.missed_psnr = threshold.missed;
        rate_control_.upload(s.stream, s.rate);
        truncate_and_write(s, false);
        mark(s, kDownload);
        device_->synchronize(s.stream);
    }

    // Whether all blocks have the plane of the frame's steps, or none: see kManyHtBlocks.
    bool has_one_plane() const { return p_.frame_steps && block_count() >= kManyHtBlocks; }
    uint32_t block_count() const { return static_cast<uint32_t>(g_.blocks.size()); }
    uint32_t layers() const { return static_cast<uint32_t>(p_.layers); }
    size_t last_layer() const { return size_t{layers() - 1} * block_count(); }

    const Params p_;
    const EncoderGeometry g_;
    const MainHeader header_;
    const Tier1Batch batch_;
    const RateBudget budget_;
    EarlyStopping early_stopping_;
    uint64_t frames_ = 0;  // so far
    Stream setup_;
    const bool is_short_;  // coefficients take 16 bits
    const Transform transform_;
    const Tier2 tier2_;
    const RateController rate_control_;
    const bool device_frames_;
    std::optional<PsnrTarget> psnr_;
    DeviceArray<CodeBlock> blocks_;
    DeviceArray<uint64_t> room_begins_;
    CodewordRooms rooms_{};
};

}  // namespace

std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<J2kDeviceEncoder>(params, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::j2k
