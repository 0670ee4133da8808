// JPEG 2000 on a device, top to bottom: load, wavelet transform and quantisation -> context modelling -> MQ coding ->
// tier-2 -> gather -> download. The host waits once a frame, at its end, to learn how long the codestream is.
// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "../../common/error.h"
#include "../../common/j2k/codestream.h"
#include "../../common/j2k/early_stop_cpu.h"
#include "../../common/j2k/geometry.h"
#include "../../common/j2k/headers.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/profile.h"
#include "../../common/j2k/psnr_cpu.h"
#include "../../common/j2k/rate_cpu.h"
#include "../compact.h"
#include "../device_encoder.h"
#include "dwt_params.h"
#include "load_params.h"
#include "rate_params.h"
#include "roi_params.h"
#include "t1_planes.h"
#include "t2_params.h"

namespace cudaenc::j2k {

namespace {

// As many as the largest sub-band of a precinct has code-blocks.
unsigned tag_tree_threads(const Geometry &g) {
    uint32_t most = 1;
    for (const PrecinctBand &band : g.precinct_bands) most = std::max(most, band.columns * band.rows);
    return std::min<unsigned>((most + 31) / 32 * 32, kTagTreeThreads);
}

// With more frames in flight a second stream, which measures headers ahead and uploads the search, costs more than it
// gains.
constexpr int kForkedFrames = 2;

enum Stage { kUpload, kDwt, kContext, kMq, kRate, kTier2, kGather, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "load and dwt", "context modelling", "mq", "rate control",
                                              "tier-2", "gather",       "download"};

struct Slot : FrameSlot {
    explicit Slot(const std::shared_ptr<Device> &device) : FrameSlot(device), result(device, 1), search(device, 1) {}
    PinnedArray<CodestreamResult> result;
    PinnedArray<RateSearch> search;  // as it begins
    DeviceArray<uint32_t> halves, quarters, coefficients;
    DeviceArray<uint8_t> slots, planes, passes, certain, codestream;
    DeviceArray<uint32_t> pairs, pass_ends, bytes, order, work;
    DeviceArray<uint8_t> layer_passes;
    DeviceArray<uint32_t> layer_bytes, added_bytes;
    DeviceArray<LayerSet> layer_sets;
    DeviceArray<uint32_t> tails, bytes_at, above, done;  // of rate control
    DeviceArray<uint64_t> packet_bits, packet_bytes;
    DeviceArray<int32_t> gains;
    DeviceArray<uint32_t> registers, segment_begins;
    DeviceArray<uint16_t> slopes;
    DeviceArray<RateSearch> device_search;
    DeviceArray<uint64_t> look_table;
    DeviceArray<uint32_t> done_looks;
    std::unique_ptr<PlanesTier1> planes_tier1;  // where tier-1 stops early
    std::unique_ptr<Stream> second_stream;      // of what goes on beside tier-1's other half
    std::unique_ptr<Event> forks, joins;
    DeviceArray<TagNode> nodes;
    DeviceArray<uint32_t> header_bits, raw, raw_states, segment_bytes, plt_bytes;
    DeviceArray<uint64_t> header_bits_before, segments_before, bytes_before, plt_before, partials;
    DeviceArray<CodestreamResult> device_result;
    std::vector<uint8_t> icc_profile;
    uint64_t box_bytes = 0;
    uint32_t next_stop = 0;  // for the slot's next frame
};

// What the host decodes frames with, for a target of PSNR: as the CPU's slots have it. It has one frame at a time.
struct PsnrTarget {
    PsnrTarget(const Params &params, const Geometry &g)
        : threads(static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u))),
          cuts(g, params.style, 1),
          search(params, g),
          coefficients(g.samples),
          pass_bytes(g.blocks.size() * static_cast<size_t>(g.max_passes)),
          gains(pass_bytes.size()),
          planes(g.blocks.size()),
          passes(g.blocks.size()),
          coded(g.blocks.size()) {}
    ThreadPool threads;
    CutTable cuts;
    PsnrSearch search;
    std::vector<uint32_t> coefficients, pass_bytes;
    std::vector<int32_t> gains;
    std::vector<uint8_t> planes, passes;
    std::vector<CodedBlock> coded;
    std::vector<uint8_t> pixels[kMaxComponents];  // of frames in device memory
};

class J2kDeviceEncoder : public DeviceEncoder {
  public:
    J2kDeviceEncoder(const Params &params, int slots, std::shared_ptr<Device> device, bool device_frames,
                     bool stage_times)
        : DeviceEncoder(std::move(device), params.input, device_frames, kStageNames, stage_times),
          p_(params),
          g_(make_geometry(params)),
          header_(make_main_header(params, g_.tile_parts)),
          budget_(p_, g_, header_.bytes.size()),
          tag_tree_threads_(tag_tree_threads(g_)),
          setup_(device_),
          device_frames_(device_frames) {
        if (p_.rate.error != 0) psnr_.emplace(p_, g_);
        if (g_.contributions.size() >= size_t{1} << 26 || g_.packets.size() + g_.tile_parts.size() >= size_t{1} << 26)
            throw Error(
                CUDAENC_ERR_MEMORY,
                "the picture has more code-blocks than a device session holds: choose larger ones, or fewer layers");
        tile_components_ = upload_table(device_, setup_, g_.tile_components);
        blocks_ = upload_table(device_, setup_, g_.blocks);
        roi_blocks_ = upload_table(device_, setup_, g_.roi_blocks);
        const std::vector<Look> looks = p_.rate.predicts_slopes() ? choose_looks(p_, g_) : std::vector<Look>();
        if (!looks.empty()) looks_ = upload_table(device_, setup_, looks);
        bands_ = upload_table(device_, setup_, g_.precinct_bands);
        packet_table_ = upload_table(device_, setup_, g_.packets);
        contributions_ = upload_table(device_, setup_, g_.contributions);
        tile_parts_ = upload_table(device_, setup_, g_.tile_parts);
        for (int i = 0; i < slots; i++) add_slot(make_slot());
        device_->synchronize(static_cast<Device::Stream>(setup_));
    }
    ~J2kDeviceEncoder() override { drain(); }

  private:
    std::unique_ptr<Slot> make_slot() {
        auto slot = std::make_unique<Slot>(device_);
        const size_t blocks = g_.blocks.size(), contributions = g_.contributions.size(), packets = g_.packets.size(),
                     segments = packets + g_.tile_parts.size();
        Slot &s = *slot;
        make(s.halves, p_.levels > 1 ? g_.halves : 0);
        make(s.quarters, p_.levels > 2 ? g_.quarters : 0);
        make(s.coefficients, g_.samples);
        make(s.slots, g_.slot_bytes);
        make(s.planes, blocks);
        make(s.passes, blocks);
        make(s.pairs, blocks);
        make(s.pass_ends, blocks * g_.max_passes);
        make(s.bytes, blocks);
        make(s.order, blocks);
        make(s.work, 2 * kWorkClasses);
        make(s.nodes, g_.tag_tree_nodes);
        if (p_.style == kBypass) make(s.segment_begins, s.pass_ends.count());
        if (cuttable()) {
            make(s.certain, blocks);
            make(s.layer_passes, contributions);
            make(s.layer_bytes, contributions);
            make(s.tails, s.pass_ends.count());
            make(s.gains, s.pass_ends.count());
            make(s.registers, s.pass_ends.count());
            make(s.slopes, s.pass_ends.count());
            make(s.bytes_at, static_cast<size_t>(budget_.groups()) * kSlopes);
            make(s.above, s.bytes_at.count());
            make(s.packet_bits, packets);
            make(s.packet_bytes, packets);
            make(s.device_search, 1);
            make(s.look_table, kStopSlopes);
            make(s.done_looks, 1);
            make(s.done, 1);
            clear(s, s.bytes_at);
            clear(s, s.packet_bits);
            clear(s, s.packet_bytes);
            clear(s, s.done);
            clear(s, s.look_table);
            clear(s, s.certain);
            clear(s, s.done_looks);
        }
        if (p_.rate.early_stop() != EarlyStop::kNone) {
            s.second_stream = std::make_unique<Stream>(device_);
            s.planes_tier1 = std::make_unique<PlanesTier1>(device_, block_count(), (g_.max_passes + 2) / 3, tiles_x(),
                                                           tiles_y(), p_.style);
        }
        if (measures_ahead() && slots() <= kForkedFrames) {
            s.second_stream = std::make_unique<Stream>(device_);
            s.forks = std::make_unique<Event>(device_, false);
            s.joins = std::make_unique<Event>(device_, false);
        }
        make(s.added_bytes, contributions);
        make(s.layer_sets, g_.precinct_bands.size());
        make(s.header_bits, contributions);
        make(s.header_bits_before, contributions + 1);
        make(s.raw, blocks * ((most_block_header_bits(p_.style, g_.max_passes, layers()) + 31) / 32) + packets + 2);
        make(s.raw_states, s.raw.count());
        make(s.segment_bytes, segments);
        make(s.segments_before, segments + 1);
        make(s.bytes_before, contributions + 1);
        if (p_.plt) {
            make(s.plt_bytes, packets);
            make(s.plt_before, packets + 1);
        }
        make(s.partials, prefix_sum_partials(static_cast<uint32_t>(std::max(contributions, segments))));
        make(s.device_result, 1);
        size_t bits = 0;
        for (size_t c = 0; c < p_.components.size(); c++)
            bits += static_cast<size_t>(ceil_div(p_.width, p_.components[c].dx) *
                                        ceil_div(p_.height, p_.components[c].dy)) *
                    p_.components[c].depth;
        make_codestream(s, bits / 8 + segments * 32 + contributions * 8 + header_.bytes.size() + 4096);
        return slot;
    }

    // A codestream's memory, with the main header, which only its TLM entries change.
    void make_codestream(Slot &s, size_t bytes) {
        s.graph.reset();
        s.codestream = {};  // there may be no room for both
        DeviceArray<uint8_t> memory(device_, bytes);
        device_->upload(s.stream, memory.data(), header_.bytes.data(), header_.bytes.size());
        s.codestream = std::move(memory);
    }

    void prepare(FrameSlot &slot) override {
        const CudaencFrame &frame = slot.frame;
        Slot &s = static_cast<Slot &>(slot);
        s.icc_profile.assign(frame.icc_profile, frame.icc_profile + frame.icc_profile_size);
        s.box_bytes = make_boxes(s, 0).size();
        if (cuttable()) *s.search.data() = budget_.begin(s.box_bytes);
        if (stops()) s.search.data()->stop.slope = s.next_stop;
    }

    std::vector<uint8_t> make_boxes(const Slot &s, uint64_t codestream) const {
        return p_.jp2 ? make_jp2_boxes(p_, s.icc_profile.data(), s.icc_profile.size(), s.frame.sample_aspect_num,
                                       s.frame.sample_aspect_den, codestream)
                      : std::vector<uint8_t>();
    }

    void code(FrameSlot &slot) override {
        Slot &s = static_cast<Slot &>(slot);
        upload_layout(s);
        queue_as_graph(s, [this, &s] { queue_stages(s); });
    }

    void upload_search(Slot &s, Device::Stream stream) {
        device_->upload(stream, s.device_search.data(), s.search.data(), sizeof(RateSearch));
    }

    // A second stream begins at fork(), and what is queued on beside() is done at join(); or it is the frame's own.
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
        if (cuttable()) {
            fork(s);
            upload_search(s, beside(s));
        }
        transform(s);
        shift_region(s);
        if (cuttable()) join(s);
        mark(s, kContext);
        if (stops() && p_.rate.predicts_slopes()) look_at_coefficients(s);
        code_from_coefficients(s, false);
    }

    bool measures_ahead() const { return stops() && budget_.measures_ahead(); }

    bool stops() const { return can_stop(p_.style) && (p_.rate.predicts_slopes() || p_.rate.keeps_slopes()); }

    // Finds where tier-1 stops.
    void look_at_coefficients(Slot &s) {
        const int columns = tiles_x(), rows = tiles_y();
        const uint32_t count = static_cast<uint32_t>(looks_.count());
        const LookBuffers look{
            looks_.data(), bands_.data(), s.look_table.data(), s.done_looks.data(), s.device_search.data(),
            count,         layers()};
        if (columns * rows == 1)
            device_->launch(s.stream, {blocks_for(count, kContextWarps)}, kContextWarps * 32,
                            LookParams{{tier1(s), s.coefficients.data()}, look});
        else
            device_->launch(s.stream, {count}, static_cast<unsigned>(columns * rows * 32),
                            LookTiledParams{{tier1(s), s.coefficients.data(), columns, rows}, look});
    }

    // again: the slope to stop at is known.
    void code_from_coefficients(Slot &s, bool again) {
        const bool ahead = measures_ahead() && !again;
        if (s.planes_tier1) {
            code_planes(s);
            mark(s, kMq);
        } else {
            model_contexts(s);
            if (ahead) fork(s);
            mark(s, kMq);
            code_pairs(s);  // before the others, which wait for it
            if (ahead) {
                measure_ahead(s, beside(s));
                join(s);
            }
        }
        mark(s, kRate);
        if (!psnr_) cut_and_write(s, ahead);  // else make_packet() does when it has found out where
    }

    // measured: headers were, ahead.
    void cut_and_write(Slot &s, bool measured) {
        if (cuttable()) {
            find_cuts(s, measured, {});
            if (measured)
                cut_at(s, true);
            else
                search_cuts(s);
        }
        write_frame(s);
    }

    void write_frame(Slot &s) {
        mark(s, kTier2);
        assemble_packets(s);
        mark(s, kGather);
        write_codestream(s);
    }

    void transform(Slot &s) {
        if (!p_.levels)
            load(s);
        else if (p_.reversible)
            transform_levels<Dwt53, LoadDwt53Params, Dwt53Params>(s);
        else
            transform_levels<Dwt97, LoadDwt97Params, Dwt97Params>(s);
    }

    BandQuantiser band_quantiser(size_t component, int resolution, int orientation) const {
        const Quantiser &q = p_.quantisers[component][band_index(resolution, orientation)];
        return {q.inverse_step, static_cast<float>((1u << q.planes) - 1)};
    }

    void load(Slot &s) {
        LoadParams load{};
        load.layout = s.device_layout.data();
        load.tile_components = tile_components_.data();
        load.coefficients = s.coefficients.data();
        for (size_t c = 0; c < p_.components.size(); c++) load.quantiser[c] = band_quantiser(c, 0, kLL);
        load.components = components();
        load.column_chunks = (g_.widest + kLoadThreads - 1) / kLoadThreads;
        load.mct = p_.mct;
        load.reversible = p_.reversible;
        device_->launch(s.stream, {static_cast<unsigned>(load.column_chunks) * g_.highest, tiles()}, kLoadThreads,
                        load);
    }

    template <class W, class First, class Next>
    void transform_levels(Slot &s) {
        First first{};
        first.layout = s.device_layout.data();
        first.mct = p_.mct;
        launch_level<W>(s, 1, p_.mct ? components() - 2 : components(), first);
        for (int level = 2; level <= p_.levels; level++) {
            Next next{};
            next.in = level & 1 ? s.quarters.data() : s.halves.data();
            launch_level<W>(s, level, components(), next);
        }
    }

    // `dwt` has what only its own kind of level needs; the grid is `components` deep.
    template <class W, class P>
    void launch_level(Slot &s, int level, int components, P &dwt) {
        dwt.tile_components = tile_components_.data();
        dwt.low = level & 1 ? s.halves.data() : s.quarters.data();
        dwt.coefficients = s.coefficients.data();
        dwt.components = this->components();
        dwt.level = level;
        dwt.last = level == p_.levels;
        for (size_t c = 0; c < p_.components.size(); c++) {
            for (int o = kHL; o <= kHH; o++) dwt.quantiser[c][o] = band_quantiser(c, p_.levels + 1 - level, o);
            if (dwt.last) dwt.quantiser[c][kLL] = band_quantiser(c, 0, kLL);
        }
        // Of the resolution that the level takes. Where a tile begins between the columns of a pair there is one more.
        const int pairs = (ceil_shift(g_.widest, level - 1) + (p_.tiles_x > 1 ? 2 : 1)) / 2;
        const int row_pairs = ceil_shift(g_.highest, level - 1) / 2 + 1;
        constexpr int kBlockPairs = kDwtThreads / 32 * kStripPairs<W>;
        dwt.block_columns = (pairs + kBlockPairs - 1) / kBlockPairs;
        // What a segment reads beyond its own rows is lost, so it is as long as leaves every multiprocessor the
        // thread-blocks that run on it together.
        constexpr int kShortest = 4;
        const int together = device_->multiprocessors() * (level == 1 ? 5 : 8);
        const int segments = std::max(together / (dwt.block_columns * components * static_cast<int>(tiles())), 1);
        dwt.segment_pairs = std::max(kShortest, (row_pairs + segments - 1) / segments);
        device_->launch(
            s.stream,
            {dwt.block_columns * tiles(), blocks_for(row_pairs, dwt.segment_pairs), static_cast<unsigned>(components)},
            kDwtThreads, dwt);
    }

    void shift_region(Slot &s) {
        const unsigned count = static_cast<unsigned>(g_.roi_blocks.size());
        if (count)
            device_->launch(s.stream, {count}, kRoiThreads,
                            RoiParams{roi_blocks_.data(), blocks_.data(), s.coefficients.data(), p_.roi.shift});
    }

    Tier1Buffers tier1(Slot &s) const {
        return {blocks_.data(),     s.slots.data(),     s.pairs.data(),       s.planes.data(),
                s.passes.data(),    s.pass_ends.data(), s.bytes.data(),       s.work.data(),
                block_count(),      g_.max_passes,      s.tails.data(),       s.gains.data(),
                s.registers.data(), s.certain.data(),   s.layer_bytes.data(), s.segment_begins.data()};
    }

    void model_contexts(Slot &s) {
        device_->fill(s.stream, s.work.data(), 0, s.work.bytes());
        const int columns = tiles_x(), rows = tiles_y();
        if (columns * rows == 1)
            launch_contexts<CuttableContextParams, StyledContextParams, BypassContextParams>(
                s, blocks_for(block_count(), kContextWarps), kContextWarps * 32,
                ContextParams{tier1(s), s.coefficients.data()});
        else
            launch_contexts<CuttableContextTiledParams, StyledContextTiledParams, BypassContextTiledParams>(
                s, block_count(), static_cast<unsigned>(columns * rows * 32),
                ContextTiledParams{tier1(s), s.coefficients.data(), columns, rows});
    }

    template <class Cuttable, class Styled, class Bypass, class P>
    void launch_contexts(Slot &s, unsigned grid, unsigned threads, const P &params) {
        if (p_.style == kCuttable)
            device_->launch(s.stream, {grid}, threads, Cuttable{params, bands_.data(), s.device_search.data()});
        else
            launch_with_style<Styled, Bypass>(s, grid, threads, params);
    }

    // The kernel that knows styles where there is one, else the other.
    template <class Styled, class Bypass, class P>
    void launch_with_style(Slot &s, unsigned grid, unsigned threads, const P &params) {
        if (p_.style == kBypass)
            device_->launch(s.stream, {grid}, threads, Bypass{params});
        else if (p_.style)
            device_->launch(s.stream, {grid}, threads, Styled{params, p_.style});
        else
            device_->launch(s.stream, {grid}, threads, params);
    }

    void code_pairs(Slot &s) {
        device_->launch(
            s.stream, {blocks_for(block_count(), kWorkClasses)}, kOrderThreads,
            OrderParams{s.pairs.data(), s.work.data(), s.work.data() + kWorkClasses, s.order.data(), block_count()});
        const int lanes = mq_lanes();
        const unsigned grid = blocks_for(block_count(), kMqThreads / 32 * lanes);
        const MqParams params{tier1(s), s.order.data(), lanes};
        if (p_.style == kCuttable)
            device_->launch(s.stream, {grid}, kMqThreads, CuttableMqParams{params});
        else
            launch_with_style<StyledMqParams, BypassMqParams>(s, grid, kMqThreads, params);
    }

    // Of a warp that code a block. Fewer diverge less, more leave room for other warps: as few as keep the device full.
    int mq_lanes() const {
        const uint64_t warps = uint64_t{16} * static_cast<unsigned>(device_->multiprocessors());
        int lanes = 1;
        while (lanes < 32 && lanes * warps < uint64_t{block_count()} * static_cast<unsigned>(slots())) lanes *= 2;
        return lanes;
    }

    // Both, bit-plane by bit-plane, and no further than the budget has room for.
    void code_planes(Slot &s) {
        PlanesTier1::Options options;
        options.lanes = mq_lanes();
        options.stop = p_.rate.early_stop();
        options.budget = &s.device_search.data()->budget[p_.layers - 1];
        options.bands = bands_.data();
        s.planes_tier1->queue(s.stream, *s.second_stream, tier1(s), s.coefficients.data(), options);
    }

    // Of 32x32, in a block.
    int tiles_x() const { return std::max(1 << p_.cblk_width_log2 >> 5, 1); }
    int tiles_y() const { return std::max(1 << p_.cblk_height_log2 >> 5, 1); }

    Tier2Buffers tier2(Slot &s) const {
        Tier2Buffers t2{};
        t2.blocks = blocks_.data();
        t2.bands = bands_.data();
        t2.packets = packet_table_.data();
        t2.tile_parts = tile_parts_.data();
        t2.slots = s.slots.data();
        t2.contributions = contributions_.data();
        t2.planes = s.planes.data();
        t2.layer_passes = cuttable() ? s.layer_passes.data() : s.passes.data();
        t2.layer_bytes = cuttable() ? s.layer_bytes.data() : s.bytes.data();
        t2.pass_bytes = s.pass_ends.data();
        t2.segment_begins = s.segment_begins.data();
        t2.layer_sets = s.layer_sets.data();
        t2.bytes = s.added_bytes.data();
        t2.nodes = s.nodes.data();
        t2.header_bits = s.header_bits.data();
        t2.header_bits_before = s.header_bits_before.data();
        t2.raw = s.raw.data();
        t2.raw_states = s.raw_states.data();
        t2.segment_bytes = s.segment_bytes.data();
        t2.segments_before = s.segments_before.data();
        t2.bytes_before = s.bytes_before.data();
        t2.plt_bytes = s.plt_bytes.data();
        t2.plt_before = s.plt_before.data();
        t2.block_count = block_count();
        t2.layers = layers();
        t2.contribution_count = contribution_count();
        t2.band_count = static_cast<uint32_t>(g_.precinct_bands.size());
        t2.packet_count = packet_count();
        t2.tile_part_count = tile_part_count();
        t2.sop = p_.sop;
        t2.eph = p_.eph;
        t2.style = p_.style;
        t2.max_passes = g_.max_passes;
        return t2;
    }

    bool cuttable() const { return p_.style & kCuttable; }

    RateBuffers rate(Slot &s) const {
        RateBuffers rate{};
        rate.blocks = blocks_.data();
        rate.bands = bands_.data();
        rate.planes = s.planes.data();
        rate.passes = s.passes.data();
        rate.certain = s.certain.data();
        rate.pass_bytes = s.pass_ends.data();
        rate.tails = s.tails.data();
        rate.gains = s.gains.data();
        rate.slots = s.slots.data();
        rate.slopes = s.slopes.data();
        rate.bytes_at = s.bytes_at.data();
        rate.above = s.above.data();
        rate.search = s.device_search.data();
        rate.layer_passes = s.layer_passes.data();
        rate.layer_bytes = s.layer_bytes.data();
        rate.packet_bits = s.packet_bits.data();
        rate.packet_bytes = s.packet_bytes.data();
        rate.done = s.done.data();
        rate.block_count = block_count();
        rate.layers = layers();
        rate.groups = static_cast<uint32_t>(budget_.groups());
        rate.style = p_.style;
        rate.max_passes = g_.max_passes;
        return rate;
    }

    // Finds all cuts and the next thresholds. measured, revision: see AboveParams.
    void find_cuts(Slot &s, bool measured, const RateRevision &revision) {
        const CutChoice *choice = revision.layer < 0 ? nullptr : &s.device_search.data()->choice[revision.layer];
        device_->launch(s.stream, {blocks_for(block_count(), kRateThreads)}, kRateThreads, CutsParams{rate(s), choice});
        device_->launch(s.stream, {1}, kAboveThreads, AboveParams{rate(s), measured, revision});
    }

    // Finds the thresholds that keep to the budgets, and cuts the blocks; see RateSearch, whose first ones there are.
    void search_cuts(Slot &s) {
        for (int round = 0;; round++) {
            const bool last = round == budget_.rounds() - 1;
            cut_at(s, last);
            if (last) return;
            measure(s, s.stream, tier2(s), round == budget_.rounds() - 2, false);
        }
    }

    // Headers, of all that is coded, whose bytes context modelling has guessed, while the MQ coder works or behind it.
    void measure_ahead(Slot &s, Device::Stream stream) {
        Tier2Buffers t2 = tier2(s);
        t2.layer_passes = s.passes.data();
        device_->launch(stream, {t2.band_count}, tag_tree_threads_, TagTreesParams{t2});
        measure(s, stream, t2, false, true);
    }

    void cut_at(Slot &s, bool last) {
        const Tier2Buffers t2 = tier2(s);
        device_->launch(s.stream, {t2.band_count}, tag_tree_threads_, CutParams{rate(s), t2, last});
    }

    // See MeasureParams.
    void measure(Slot &s, Device::Stream stream, const Tier2Buffers &t2, bool last, bool ahead) {
        device_->launch(stream, {blocks_for(contribution_count(), kMeasureThreads)}, kMeasureThreads,
                        MeasureParams{rate(s), t2, budget_.outside_packets(), budget_.tile_part_header(), last, ahead});
    }

    void assemble_packets(Slot &s) {
        const Tier2Buffers t2 = tier2(s);
        const unsigned by_contribution = blocks_for(contribution_count(), kTier2Threads);
        device_->fill(s.stream, s.raw.data(), 0, s.raw.bytes());
        if (!cuttable())  // else they are there
            device_->launch(s.stream, {t2.band_count}, tag_tree_threads_, TagTreesParams{t2});
        device_->launch(s.stream, {by_contribution}, kTier2Threads, HeaderBitsParams{t2});
        sum(s, s.added_bytes.data(), s.bytes_before, contribution_count());
        sum(s, s.header_bits.data(), s.header_bits_before, contribution_count());
        device_->launch(s.stream, {by_contribution}, kTier2Threads, WriteBitsParams{t2});
        device_->launch(s.stream, {packet_count()}, kStuffingThreads, PacketSizesParams{t2});
        if (p_.plt) sum(s, s.plt_bytes.data(), s.plt_before, packet_count());
        device_->launch(s.stream, {blocks_for(tile_part_count(), kTier2Threads)}, kTier2Threads,
                        TilePartSizesParams{t2});
        sum(s, s.segment_bytes.data(), s.segments_before, packet_count() + tile_part_count());
    }

    void sum(Slot &s, const uint32_t *sizes, DeviceArray<uint64_t> &before, uint32_t count) {
        prefix_sum(*device_, s.stream, sizes, before.data(), count, s.partials.data());
    }

    void write_codestream(Slot &s) {
        const Tier2Buffers t2 = tier2(s);
        const Codestream out{
            s.codestream.data(), s.codestream.count(),   static_cast<uint32_t>(header_.bytes.size()),
            header_.tlm,         s.device_result.data(), cuttable() ? s.device_search.data() : nullptr};
        device_->fill(s.stream, s.device_result.data(), 0, s.device_result.bytes());
        device_->launch(s.stream, {std::max(packet_count(), tile_part_count())}, kStuffingThreads,
                        WriteHeadersParams{t2, out});
        const unsigned by_warp = blocks_for(uint64_t{contribution_count()} * 32, kTier2Threads);
        if (p_.style & kBypass)
            device_->launch(s.stream, {by_warp}, kTier2Threads, GatherWithRawParams{{t2, out}});
        else
            device_->launch(s.stream, {by_warp}, kTier2Threads, GatherParams{t2, out});
        device_->download(s.stream, s.result.data(), s.device_result.data(), sizeof(CodestreamResult));
    }

    PooledBuffer make_packet(FrameSlot &slot) override {
        Slot &s = static_cast<Slot &>(slot);
        if (psnr_) cut_to_psnr(s);
        if (s.result.data()->longest)
            throw Error(CUDAENC_ERR_UNSUPPORTED,
                        "a tile-part of 4 GiB or more: cut the picture with tile_width and tile_height");
        const RateStop &stop = s.result.data()->stop;
        while (cuttable() && (stopped_too_early(stop) || stopped_too_late(stop) || !cut_again(s))) {
            *s.search.data() = budget_.begin(s.box_bytes);
            s.search.data()->stop = next_try(stop);
            upload_search(s, s.stream);
            code_from_coefficients(s, true);
            finish_again(s);
        }
        if (stops() && p_.rate.keeps_slopes()) s.next_stop = next_stop(stop);
        const uint64_t bytes = s.result.data()->bytes;
        if (bytes > s.codestream.count()) {  // rare: more than the pixels took; codewords are there still
            make_codestream(s, bytes + bytes / 4);
            write_codestream(s);
        }
        const std::vector<uint8_t> boxes = make_boxes(s, bytes);
        PooledBuffer packet = packets_->take(boxes.size() + bytes);
        queue_download(s, packet->data + boxes.size(), s.codestream.data(), bytes);
        std::copy(boxes.begin(), boxes.end(), packet->data);
        return packet;
    }

    // Cuts a frame again that is not yet as its budgets ask for. Returns false where it takes what tier-1 did not code.
    bool cut_again(Slot &s) {
        std::vector<int> revisions(p_.layers);
        for (;;) {
            const RateRevision next = budget_.revision(s.box_bytes, *s.result.data(), revisions);
            if (next.layer < 0) return true;
            find_cuts(s, false, next);
            const Tier2Buffers t2 = tier2(s);
            device_->launch(s.stream, {t2.band_count}, tag_tree_threads_, CutAgainParams{{rate(s), t2, true}});
            write_frame(s);
            finish_again(s);
            if (stopped_too_early(s.result.data()->stop)) return false;
        }
    }

    // Finds where the frame has its PSNR, and cuts and writes it.
    void cut_to_psnr(Slot &s) {
        PsnrTarget &psnr = *psnr_;
        const auto fetch = [&](auto &to, const auto &from) {
            device_->download(s.stream, to.data(), from.data(), to.size() * sizeof(to[0]));
        };
        fetch(psnr.coefficients, s.coefficients);
        fetch(psnr.pass_bytes, s.pass_ends);
        fetch(psnr.gains, s.gains);
        fetch(psnr.planes, s.planes);
        fetch(psnr.passes, s.passes);
        std::array<SampleLayout, kMaxComponents> layouts{};
        for (size_t c = 0; c < p_.components.size(); c++) {
            const CudaencComponent &k = p_.input.component[c];
            layouts[c] = s.layout.data()[c];
            if (device_frames_) {
                std::vector<uint8_t> &pixels = psnr.pixels[c];
                pixels.resize(static_cast<size_t>(layouts[c].stride * (ceil_div(p_.height, p_.components[c].dy) - 1) +
                                                  layouts[c].step * (ceil_div(p_.width, p_.components[c].dx) - 1) +
                                                  (k.shift + k.depth > 8 ? 2 : 1)));
                device_->download(s.stream, pixels.data(), layouts[c].data, pixels.size());
                layouts[c].data = pixels.data();
            } else {
                layouts[c].data = s.frame.data[k.plane] + k.offset;
                layouts[c].stride = s.frame.stride[k.plane];
            }
        }
        device_->synchronize(static_cast<Device::Stream>(s.stream));
        for (size_t b = 0; b < g_.blocks.size(); b++) psnr.coded[b] = {0, psnr.planes[b], psnr.passes[b]};
        psnr.cuts.find_cuts(psnr.threads, psnr.coded, psnr.pass_bytes.data(), psnr.gains.data());
        s.search.data()->least =
            psnr.search.threshold(psnr.threads, layouts, psnr.coefficients.data(), psnr.coded, psnr.cuts);
        upload_search(s, s.stream);
        cut_and_write(s, false);
        finish_again(s);
    }

    // Waits for a frame that is coded again. The stage from which on it is has the time that was lost.
    void finish_again(Slot &s) {
        mark(s, kDownload);
        device_->synchronize(static_cast<Device::Stream>(s.stream));
    }

    template <class T>
    void clear(Slot &s, DeviceArray<T> &array) const {
        device_->fill(s.stream, array.data(), 0, array.bytes());
    }

    uint32_t block_count() const { return static_cast<uint32_t>(g_.blocks.size()); }
    uint32_t layers() const { return static_cast<uint32_t>(p_.layers); }
    uint32_t contribution_count() const { return static_cast<uint32_t>(g_.contributions.size()); }
    uint32_t packet_count() const { return static_cast<uint32_t>(g_.packets.size()); }
    int components() const { return static_cast<int>(p_.components.size()); }
    uint32_t tile_part_count() const { return static_cast<uint32_t>(g_.tile_parts.size()); }
    unsigned tiles() const { return static_cast<unsigned>(p_.tiles()); }

    const Params p_;
    const Geometry g_;
    const MainHeader header_;
    const RateBudget budget_;
    const unsigned tag_tree_threads_;
    Stream setup_;
    const bool device_frames_;
    std::optional<PsnrTarget> psnr_;
    DeviceArray<TileComponent> tile_components_;
    DeviceArray<CodeBlock> blocks_;
    DeviceArray<RoiBlock> roi_blocks_;
    DeviceArray<Look> looks_;
    DeviceArray<PrecinctBand> bands_;
    DeviceArray<Packet> packet_table_;
    DeviceArray<uint32_t> contributions_;
    DeviceArray<TilePart> tile_parts_;
};

}  // namespace

std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, std::shared_ptr<Device> device,
                                             bool device_frames, bool stage_times) {
    return std::make_unique<J2kDeviceEncoder>(params, slots, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::j2k
