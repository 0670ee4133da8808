// SPDX-License-Identifier: LGPL-2.1-or-later
// H.264 with P pictures, all on a device: pyramid and search ahead, on the slot's stream -> macroblocks and levels,
// then the reference, on one stream for all pictures -> CAVLC, NAL units, download, on the slot's stream.
#include <algorithm>
#include <optional>
#include <utility>

#include "../../common/h264/gop.h"
#include "../../common/h264/lookahead.h"
#include "../../common/h264/packet_writer.h"
#include "../../common/h264/slice_division.h"
#include "../device_encoder.h"
#include "device_sequence_coder.h"
#include "h264_hybrid.h"
#include "slice_coder.h"

namespace cudaenc::h264 {

namespace {

enum Stage { kUpload, kSearch, kPicture, kCode, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "motion search", "pictures", "cavlc", "download"};

// A frame with the event behind load().
struct LoadedFrame : SequenceFrame {
    LoadedFrame(const std::shared_ptr<Device> &device, SequenceFrame frame)
        : SequenceFrame(std::move(frame)), loaded(device, false) {}
    Event loaded;
};

struct Slot : FrameSlot {
    Slot(const std::shared_ptr<Device> &device, const DeviceSequenceCoder &coder, const DeviceSliceCoder &slice_coder,
         size_t slices, bool finds_costs, bool weighs, bool divides, bool looks_ahead)
        : FrameSlot(device),
          buffers(coder.make_buffers(finds_costs, weighs, looks_ahead)),
          coded(slice_coder.make_buffers(divides)),
          host_headers(device, slices),
          headers(device, slices),
          compared(device, false),
          searched(device, false),
          prepared(device, false),
          macroblocks_coded(device, false) {}
    PictureState picture{};
    struct {
        SliceHeader header;
        std::vector<uint8_t> prefix;
        size_t sei_at;
    } as_key{};  // of the picture, before make_predicted()
    SequenceBuffers buffers;
    PictureBuffers coded;
    PinnedArray<SliceHeaderBits> host_headers;
    DeviceArray<SliceHeaderBits> headers;
    Event compared;  // behind costs of the lookahead
    Event searched, prepared, macroblocks_coded;
    LookaheadPicture ahead{};
    const LoadedFrame *own = nullptr;
    std::array<const LoadedFrame *, 2> before{};  // pictures before as sources, the last one first; nullptr: none
    int searched_qp = -1;                         // -1: the picture is not searched
    // What the picture's type and QP follow from.
    std::optional<Gop> gop;
    std::optional<SliceDivision> division;  // with slice_max_bytes
    SliceSizes sizes{};                     // likewise, of the coded picture
    std::unique_ptr<QpPlanner> planner;     // nullptr: the QP is constant
    bool settled = false;
};

class H264SequenceCuda : public DeviceEncoder<Slot> {
  public:
    H264SequenceCuda(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                     bool stage_times)
        : DeviceEncoder(std::move(device), params.input, threads, device_frames, kStageNames, stage_times),
          p_(params),
          fields_(p_.picture.separate_field()),
          packet_writer_(p_),
          slice_coder_(device_, p_.sets.format, p_.slices),
          coder_(device_, p_.picture, p_.most_vertical_vector, p_.deblock, p_.aq_strength),
          chain_(device_) {
        gop_.emplace(p_.gop_size, p_.least_gop_size, p_.scene_cut, p_.picture.macroblocks(), fields_);
        planner_ = std::make_unique<QpPlanner>(p_.rate, slots);
        if (p_.slice_max_bytes) division_.emplace(p_.picture.macroblocks(), p_.slice_max_bytes);
        if (p_.lookahead) lookahead_.emplace(p_.picture, p_.lookahead);
        const size_t most_slices = division_ ? static_cast<size_t>(p_.picture.macroblocks()) : p_.slices.size();
        order_.reserve(static_cast<size_t>(slots));
        waiting_.reserve(static_cast<size_t>(slots));
        // More than slots: what the oldest picture in flight refers to, or may.
        for (int i = 0; i < slots + (fields_ ? 2 : 1); i++)
            frames_.push_back(std::make_unique<LoadedFrame>(device_, coder_.make_frame()));
        for (int i = 0; i < slots; i++) {
            add_slot(std::make_unique<Slot>(device_, coder_, slice_coder_, most_slices, needs_costs(),
                                            p_.weighted_prediction, division_.has_value(), p_.lookahead > 0));
            slot(i).picture.slot = i;
        }
    }
    ~H264SequenceCuda() override {
        closing_ = true;
        drain();
        chain_.settle();
    }
    std::span<const uint8_t> extradata() const override { return packet_writer_.parameter_sets(); }
    void change_rate(const RateChange &change) override { packet_writer_.change_rate(change); }

    int lookahead() const noexcept override { return p_.lookahead; }
    void flush() noexcept override {
        for (Slot *const s : waiting_)
            if (!s->ahead.end) s->ahead.end = waiting_.back()->ahead.number + 1;
        queue_deferred();
    }

    PooledBuffer finish(int slot) override {
        queue_deferred();
        PooledBuffer packet = DeviceEncoder::finish(slot);
        std::erase(order_, &this->slot(slot));
        return packet;
    }

  private:
    void take(Slot &s, const SourcePicture &frame) override {
        DeviceEncoder::take(s, frame);
        packet_writer_.begin(s.picture, s.frame);
        s.as_key = {s.picture.header, s.picture.prefix, s.picture.sei_at};
        s.ahead = {.number = s.picture.number, .forced_key = s.picture.forced_key};
        if (const LookaheadBuffers *const b = s.buffers.lookahead.get()) {
            s.ahead.costs = {b->host_costs.data(), static_cast<size_t>(p_.picture.macroblocks())};
            s.ahead.offsets = b->host_offsets.data();
        }
    }

    // Whether pictures are queued before those ahead of them are known to stand.
    bool runs_ahead() const { return p_.rate.constant() && !division_ && !codes_again_ && this->timed_stages() == 0; }

    // At a constant QP a picture is searched at once, and waits until the next one comes before its type is chosen.
    // With a lookahead each picture waits, until one more has come than it looks at.
    void queue(Slot &s) override {
        LoadedFrame &own = *frames_[next_frame_];
        s.own = &own;
        s.before = submitted_;
        s.searched_qp = -1;
        s.settled = false;
        upload_.queue(s);
        mark(s, kSearch);
        coder_.load(s.stream, picture_of(s));
        device_->record(own.loaded, s.stream);
        if (lookahead_) {
            if (s.before[0]) device_->wait(s.stream, s.before[0]->loaded);
            coder_.find_source_costs(s.stream, s.buffers, own, s.before[0]);
            device_->record(s.compared, s.stream);
        }
        const bool ahead = runs_ahead();
        if (ahead && s.before[0]) {
            s.picture.key = false;
            planner_->plan(s.picture);
            search(s);
        }
        queue_deferred();
        if (lookahead_ || (ahead && s.before[0] && plans_by_search())) {
            s.deferred = true;
            waiting_.push_back(&s);
        } else {
            start(s);
        }
    }
    // Those that need not wait for others; where they do not run ahead, the first one. Each has its own errors.
    void queue_deferred() noexcept override {
        while (!waiting_.empty() &&
               (waiting_.front()->ahead.end || waiting_.size() > static_cast<size_t>(p_.lookahead))) {
            Slot &s = *waiting_.front();
            waiting_.erase(waiting_.begin());
            s.deferred = false;
            try {
                start(s);
                device_->record(s.worked, s.stream);
                s.awaited = s.worked;
                mark(s, kDownload);
            } catch (...) {
                s.error = std::current_exception();
                lose(s);
            }
            if (!runs_ahead()) break;
        }
    }
    void start(Slot &s) {
        if (!runs_ahead()) settle_all();
        order_.push_back(&s);
        plan(s);
        encode(s);
    }

    bool needs_costs() const { return fields_ || gop_->looks_for_cuts(); }
    // Whether a picture's type, its reference or its weights follow from its search.
    bool plans_by_search() const { return needs_costs() || p_.weighted_prediction; }
    // Offsets to QPs, which the first picture of a window finds for others.
    void look_ahead(Slot &s) {
        if (!s.ahead.has_offsets()) {
            std::vector<LookaheadPicture *> pictures;
            const auto look = [&](Slot *later) {
                if (!lookahead_->sees(s.ahead, later->ahead)) return;
                device_->synchronize(later->compared);
                pictures.push_back(&later->ahead);
            };
            std::for_each(std::find(order_.begin(), order_.end(), &s), order_.end(), look);
            std::for_each(waiting_.begin(), waiting_.end(), look);
            lookahead_->find(pictures, *gop_);
        }
        coder_.upload_offsets(s.stream, s.buffers);
    }
    // The picture's type, and its first QP.
    void plan(Slot &s) {
        if (lookahead_) look_ahead(s);
        s.gop.emplace(*gop_);
        if (division_) s.division.emplace(*division_);
        s.picture.header = s.as_key.header;
        s.picture.prefix = s.as_key.prefix;
        s.picture.sei_at = s.as_key.sei_at;
        s.picture.refresh = {};
        s.picture.weights = {};
        const bool second = s.picture.second_field;
        s.picture.key = gop_->begins(s.picture.forced_key, second);
        if (!p_.rate.constant()) s.planner = std::make_unique<QpPlanner>(*planner_);
        planner_->plan(s.picture);
        const bool looks_for_cut = gop_->looks_for_cuts() && !second, chooses = fields_ && gop_->frame_num();
        if (!s.picture.key && (looks_for_cut || chooses || p_.weighted_prediction)) {
            search(s);
            device_->synchronize(s.searched);
            s.picture.weights = DeviceSequenceCoder::weights(s.buffers);
            if (looks_for_cut && gop_->is_cut(coder_.scene_costs(s.buffers, fields_ ? 2 : 1))) {
                s.picture.key = true;
                planner_->plan_again(s.picture);
            }
        }
        if (s.picture.key) {
            s.picture.header.idr_pic_id = gop_->idr_pic_id();
        } else {
            const auto cost = [&](int distance) { return coder_.scene_costs(s.buffers, distance).found; };
            packet_writer_.make_predicted(s.picture, gop_->frame_num(), chooses ? field_distance(cost(1), cost(2)) : 1);
        }
        gop_->end(s.picture.key, second);
    }

    static DeviceSequenceCoder::Picture picture_of(Slot &s) {
        const SampleLayout *c = s.layout.data();
        return {.buffers = &s.buffers,
                .own = s.own,
                .before = {s.picture.key ? nullptr : s.before[0], s.picture.key ? nullptr : s.before[1]},
                .components = {c[0], c[1], c[2]},
                .qp = s.picture.qp,
                .refresh = s.picture.refresh,
                .regions = s.picture.regions,
                .weights = s.picture.weights,
                .refers_to = s.picture.reference};
    }

    // Queues the search of a P picture, where it was not searched at its QP.
    void search(Slot &s) {
        if (s.searched_qp == s.picture.qp) return;
        s.searched_qp = -1;
        for (const LoadedFrame *before : s.before)
            if (before) device_->wait(s.stream, before->loaded);
        coder_.search(s.stream, picture_of(s));
        device_->record(s.searched, s.stream);
        s.searched_qp = s.picture.qp;
    }

    // Queues the coding at the picture's QP. With slices of so many bytes it waits, and codes the picture again while
    // one of them is too large.
    void encode(Slot &s) {
        if (division_) set_slices();
        queue_coding(s);
        while (division_) {
            device_->synchronize(s.stream);
            s.sizes = slice_coder_.sizes(s.coded, s.picture.headers);
            if (division_->fits(s.sizes)) return;
            set_slices();
            queue_coding(s);
        }
    }
    void set_slices() {
        coder_.set_slices(chain_, division_->slices());
        slice_coder_.set_slices(chain_, division_->slices());
    }

    void queue_coding(Slot &s) {
        const DeviceSequenceCoder::Picture picture = picture_of(s);
        if (division_)
            packet_writer_.make_headers(s.picture, division_->slices());
        else
            packet_writer_.make_headers(s.picture);
        if (picture.before[0]) {
            search(s);
            coder_.choose_qps(s.stream, picture);
        }
        device_->record(s.prepared, s.stream);
        mark(s, kPicture);
        device_->wait(chain_, s.prepared);
        coder_.code(chain_, picture);
        device_->record(s.macroblocks_coded, chain_);
        coder_.keep(chain_, picture);
        device_->wait(s.stream, s.macroblocks_coded);
        mark(s, kCode);
        std::copy(s.picture.headers.begin(), s.picture.headers.end(), s.host_headers.data());
        device_->upload(s.stream, s.headers.data(), s.host_headers.data(),
                        s.picture.headers.size() * sizeof(SliceHeaderBits));
        slice_coder_.code(s.stream, s.coded,
                          {s.buffers.intra.macroblocks.data(), s.buffers.intra.levels.data(), nullptr, !s.picture.key},
                          s.headers.data());
    }

    void encode_again(Slot &s) {
        encode(s);
        device_->synchronize(s.stream);
    }

    // Waits until the picture is coded, and codes it anew where it exceeds what rate control or the level allow. Then
    // pictures after it are coded anew as well.
    void settle(Slot &s) {
        if (s.settled) return;
        device_->synchronize(s.awaited);
        PictureState &picture = s.picture;
        const auto size = [&] { return packet_writer_.size(picture, nal_bytes(s.coded)); };
        bool again = false;
        if (!p_.rate.constant()) {
            planner_->begin(picture);
            packet_writer_.write_timing(picture, s.gop->pictures());
        }
        if (!p_.rate.constant() || !planner_->fits(picture, size()))
            while (planner_->recode(picture, packet_writer_.estimate(picture, layer_bits(s.coded))))
                encode_again(s), again = true;
        planner_->settle(picture);
        while (planner_->too_large(picture, size())) encode_again(s), again = true;
        if (division_) division_->next(s.sizes);
        codes_again_ = again;
        s.settled = true;
        if (const auto next = std::next(std::find(order_.begin(), order_.end(), &s)); again && next != order_.end()) {
            gop_.emplace(*(*next)->gop);
            queue_again(next);
        }
    }
    void settle_all() noexcept {
        for (size_t i = 0; i < order_.size();) {
            Slot &s = *order_[i];
            try {
                if (s.error) std::rethrow_exception(s.error);
                settle(s);
                i++;
            } catch (...) {
                s.error = std::current_exception();
                lose(s);
            }
        }
    }

    // Pictures in flight from `first` on, since the one before has changed.
    void queue_again(std::vector<Slot *>::iterator first) noexcept {
        std::for_each(first, order_.end(), [](Slot *s) { s->stream.settle(); });
        for (auto at = first; at != order_.end(); at++) {
            Slot &s = **at;
            try {
                s.output.reset();
                s.error = nullptr;
                s.copying = s.copied_recorded = s.settled = false;
                planner_->settle(s.picture);
                plan(s);
                encode(s);
                device_->record(s.worked, s.stream);
                s.awaited = s.worked;
            } catch (...) {
                s.error = std::current_exception();
                gop_.emplace(*s.gop);
                gop_->forget();
            }
        }
    }

    // Of a picture that fails nothing is kept: the next one is an IDR picture.
    void lose(Slot &s) noexcept {
        const auto at = std::find(order_.begin(), order_.end(), &s);
        if (at == order_.end()) return;
        planner_->settle(s.picture);
        s.stream.settle();
        chain_.settle();
        s.buffers.intra.pictures = s.buffers.intra_macroblocks.pictures = s.coded.pictures = 0;
        s.buffers.constant_qp = -1;
        coder_.reset();
        gop_.emplace(*s.gop);
        gop_->forget();
        if (s.division) division_.emplace(*s.division);
        const auto next = order_.erase(at);
        if (closing_ || next == order_.end()) return;
        if ((*next)->planner) planner_.swap((*next)->planner);
        queue_again(next);
    }

    bool go_on(Slot &s) override {
        const auto failed = std::find_if(order_.begin(), std::find(order_.begin(), order_.end(), &s),
                                         [](const Slot *before) { return before->error != nullptr; });
        if (failed != order_.end() && *failed != &s) {
            lose(**failed);
            return true;
        }
        settle(s);
        return false;
    }

    void complete(Slot &s, PooledBuffer &packet) override {
        const uint64_t bytes = nal_bytes(s.coded);
        packet = packets_->take(packet_writer_.packet_bytes(s.picture, bytes));
        queue_download(s, packet->data + s.picture.prefix.size(), s.coded.bytes.data(), static_cast<size_t>(bytes));
        packet_writer_.write_around(s.picture, bytes, *packet);
    }

    void submitted(Slot &) noexcept override {
        packet_writer_.accept();
        submitted_ = {frames_[next_frame_].get(), fields_ ? submitted_[0] : nullptr};
        next_frame_ = (next_frame_ + 1) % frames_.size();
    }

    void reset(Slot &s) noexcept override {
        DeviceEncoder::reset(s);
        std::erase(waiting_, &s);
        lose(s);
    }

    const Params p_;
    const bool fields_;
    PacketWriter packet_writer_;
    std::unique_ptr<QpPlanner> planner_;
    std::optional<SliceDivision> division_;  // with slice_max_bytes: a picture waits for those before
    DeviceSliceCoder slice_coder_;
    DeviceSequenceCoder coder_;
    std::vector<std::unique_ptr<LoadedFrame>> frames_;  // taken in turn
    size_t next_frame_ = 0;
    std::array<const LoadedFrame *, 2> submitted_{};  // the last picture, and of fields the one before
    Stream chain_;                                    // on which pictures are coded
    std::optional<Gop> gop_;
    std::optional<Lookahead> lookahead_;
    std::vector<Slot *> waiting_;  // those that are deferred, behind order_
    std::vector<Slot *> order_;    // pictures that are queued
    bool codes_again_ = false;     // the last picture had to be coded again: the next ones wait
    bool closing_ = false;
};

}  // namespace

std::unique_ptr<Encoder> make_sequence_encoder(const Params &params, int slots, int threads,
                                               std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<H264SequenceCuda>(params, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::h264
