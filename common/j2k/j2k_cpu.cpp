// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 on the CPU, top to bottom: load, component transform, wavelet transform and quantisation -> tier-1 ->
// tier-2. It is also the oracle: the device pipeline gives the same bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "../cpu_encoder.h"
#include "../planes.h"
#include "codestream/main_header.h"
#include "encoder_tables.h"
#include "j2k.h"
#include "jp2_boxes.h"
#include "jp2_metadata.h"
#include "rate/budget.h"
#include "rate/hull_cpu.h"
#include "rate/predict_cpu.h"
#include "rate/psnr_cpu.h"
#include "rate/region_weights.h"
#include "rate/research/early_stop_cpu.h"
#include "rate/truncate.h"
#include "t1/ht_cpu.h"
#include "t1/t1_cpu.h"
#include "t2/tier2_cpu.h"
#include "transform/transform_cpu.h"

namespace cudaenc::j2k {

namespace {

// Samples and code-blocks of a batch that tier-1 codes in one go. Batches are so large that tier-1 nearly always has
// two blocks in hand, and so small that the last ones end at about the same time.
constexpr int kBatchSamplesLog2 = 14, kLeastBatchLog2 = 2;

enum Stage { kDwt, kTier1, kRate, kTier2, kStages };
constexpr const char *kStageNames[kStages] = {"load and dwt", "tier-1", "rate control", "tier-2"};

// A frame in flight.
struct Slot {
    std::vector<SampleLayout> layouts;  // [component]
    TransformBuffers transformed;
    std::vector<CodedBlock> coded;
    std::vector<uint32_t> offsets;              // of each block's bytes in its batch
    std::vector<std::vector<uint8_t>> batches;  // codewords of batch_blocks_ blocks each
    std::vector<uint32_t> pass_bytes;           // [block * max_passes + pass]
    std::vector<uint8_t> layer_passes;          // [layer * blocks + block]: see LayerEnds
    std::vector<uint32_t> layer_bytes;
    std::vector<uint32_t> terminations;  // this and reductions of truncatable blocks, as pass_bytes
    std::vector<int32_t> reductions;
    std::optional<HullTable> hulls;
    std::vector<uint32_t> decoded;  // for a target of PSNR
    PsnrThreshold psnr{};
    RateAllocation allocation{};
    uint64_t box_bytes = 0, number = 0;  // of the frame
    Tier2Cpu::Buffers tier2;
    CudaencFrame frame;
    FrameMetadata metadata;  // that frame points to
    std::vector<int16_t> region_weights;
    RegionWeights regions() const { return {region_weights.empty() ? nullptr : region_weights.data()}; }
};

class J2kCpuEncoder : public CpuEncoder {
  public:
    J2kCpuEncoder(const Params &params, int slots, int threads, bool stage_times)
        : CpuEncoder(slots, threads, kStageNames, stage_times),
          p_(params),
          g_(make_encoder_geometry(params)),
          transform_plan_(make_transform_plan(p_, g_)),
          header_(make_main_header(params, g_.tile_parts)),
          tier2_(p_, g_, header_),
          budget_(p_, g_, header_.bytes.size()),
          early_stopping_(p_.rate),
          sampled_blocks_(p_.rate.predicts_slopes() ? choose_sampled_blocks(p_, g_) : std::vector<SampledBlock>()),
          slots_(slots),
          batch_blocks_(
              1u << std::max(kBatchSamplesLog2 - params.cblk_width_log2 - params.cblk_height_log2, kLeastBatchLog2)) {
        for (Slot &s : slots_) {
            s.layouts.resize(p_.components.size());
            s.transformed = TransformBuffers(transform_plan_);
            s.coded.resize(g_.blocks.size());
            s.offsets.resize(g_.blocks.size());
            s.batches.resize((g_.blocks.size() + batch_blocks_ - 1) / batch_blocks_);
            s.pass_bytes.resize(g_.blocks.size() * g_.max_passes);
            s.layer_passes.resize(g_.blocks.size() * p_.layers);
            s.layer_bytes.resize(g_.blocks.size() * p_.layers);
            s.tier2 = tier2_.make_buffers();
            if (!g_.coding.truncatable) continue;
            s.terminations.resize(s.pass_bytes.size());
            s.reductions.resize(s.pass_bytes.size());
            s.hulls.emplace(g_, p_.style, budget_.groups(), are_whole(p_.style, p_.layers));
            if (p_.rate.error != 0) s.decoded.resize(g_.samples);
        }
    }
    ~J2kCpuEncoder() override { stop(); }

  private:
    void take(int slot, const SourcePicture &frame) override {
        Slot &s = slots_[slot];
        s.frame = frame;
        s.number = frames_++;
        s.metadata.keep(s.frame, p_.input.planes);
        s.region_weights = find_region_weights(p_, g_, frame);
    }

    std::optional<PooledBuffer> complete(int slot) override {
        Slot &s = slots_[slot];
        for (size_t c = 0; c < p_.components.size(); c++) {
            const CudaencComponent k = component_of(p_.input, static_cast<int>(c));
            const FramePlane plane = plane_of(s.frame, k.plane);
            s.layouts[c] = layout_of(k, plane.data, plane.stride);
        }
        begin_stage(slot, kDwt);
        transform(pool(), transform_plan_, s.layouts, s.transformed);
        begin_stage(slot, kTier1);
        const uint64_t boxes = s.box_bytes = make_jp2_boxes(p_, s.frame, 0).size();
        StopSlope stop = budget_.begin(boxes).stop;
        if (g_.coding.truncatable && p_.rate.predicts_slopes())
            stop = find_stop_slope(pool(), p_, g_, sampled_blocks_, s.transformed.coefficients.data(),
                                   budget_.codestream(boxes), stop, s.regions());
        else if (g_.coding.truncatable)
            stop.slope = early_stopping_.slope(s.number);
        for (bool again = false;;
             stop = next_try(s.allocation.stop, p_.style, p_.frame_steps, p_.step_weights), again = true) {
            code_blocks(s, stop);
            begin_stage(slot, kRate);
            const bool ahead = !again && budget_.measures_ahead();
            if (ahead) measure_ahead(s, boxes);
            if (g_.coding.truncatable) {
                early_stopping_.truncate(g_, budget_.codestream(boxes), s.pass_bytes.data(), s.reductions.data(),
                                         s.coded);
                s.hulls->find_hulls(pool(), s.coded, s.pass_bytes.data(), s.reductions.data(), s.regions());
            }
            begin_stage(slot, kTier2);
            if (!g_.coding.truncatable)
                take_all(s, &CodedBlock::bytes);
            else if (!truncate_blocks(s, boxes, stop, ahead))
                continue;
            Packets packets = tier2_.assemble_packets(pool(), s.tier2, tier2_blocks(s));
            if (g_.coding.truncatable && !truncate_again(s, boxes, packets)) continue;
            early_stopping_.note(s.number, s.allocation.stop);
            return write_packet(s, packets);
        }
    }

    void code_blocks(Slot &s, const StopSlope &stop) {
        const bool ht = g_.coding.style & kHt;
        std::vector<StopRule> stops(stop.slope && !ht ? g_.blocks.size() : 0);
        for (size_t b = 0; b < stops.size(); b++)
            stops[b] = stop_rule(stop, g_.coding_of(g_.blocks[b]).weight + s.regions()[b]);
        pool().for_each(s.batches.size(), [&](size_t batch) {
            const size_t first = batch * batch_blocks_,
                         count = std::min<size_t>(batch_blocks_, g_.blocks.size() - first);
            const std::span<const CodeBlock> blocks{&g_.blocks[first], count};
            const TruncationPoints points = truncation_points(s).from(first * static_cast<size_t>(g_.max_passes));
            if (!ht)
                j2k::code_blocks(blocks, s.transformed.coefficients.data(), g_.coding, g_.max_passes, points,
                                 s.batches[batch], &s.offsets[first], &s.coded[first],
                                 stop.slope ? &stops[first] : nullptr);
            else if (g_.coding.truncatable)
                code_truncatable_ht_blocks(blocks, s.transformed.coefficients.data(), g_.max_passes, points,
                                           s.batches[batch], &s.offsets[first], &s.coded[first],
                                           ht_rules(blocks, stop).data(), are_whole(g_.coding.style, p_.layers));
            else
                code_ht_blocks(blocks, s.transformed.coefficients.data(), s.batches[batch], &s.offsets[first],
                               &s.coded[first]);
        });
    }

    std::vector<HtRule> ht_rules(std::span<const CodeBlock> blocks, const StopSlope &stop) const {
        std::vector<HtRule> rules;
        for (const CodeBlock &b : blocks)
            rules.push_back(ht_rule(stop, g_.coding_of(b), b.planes, static_cast<uint32_t>(g_.blocks.size())));
        return rules;
    }

    // Of passes that are alternatives, a block has the last one alone. Its codeword may not be there yet.
    void code_chosen(Slot &s) {
        if (!are_alternatives(g_.coding.style)) return;
        pool().for_each(s.batches.size(), [&](size_t batch) {
            const size_t first = batch * batch_blocks_,
                         last = std::min<size_t>(first + batch_blocks_, g_.blocks.size());
            const std::span<const CodeBlock> blocks{&g_.blocks[first], last - first};
            code_chosen_ht_blocks(blocks, s.transformed.coefficients.data(), &s.layer_passes[first], s.batches[batch],
                                  &s.offsets[first], &s.coded[first], ht_rules(blocks, s.allocation.stop).data());
            for (size_t b = first; b < last; b++)
                if (const size_t passes = s.layer_passes[b])
                    s.layer_bytes[b] = s.pass_bytes[b * static_cast<size_t>(g_.max_passes) + passes - 1] =
                        s.coded[b].bytes;
        });
    }

    // Measures the headers of all that is coded.
    void measure_ahead(Slot &s, uint64_t boxes) {
        s.allocation = budget_.begin(boxes);
        take_all(s, &CodedBlock::estimated_bytes);
        measure(s, true);
    }

    TruncationPoints truncation_points(Slot &s) const {
        if (!g_.coding.truncatable) return {.bytes = s.pass_bytes.data()};
        return {.bytes = s.pass_bytes.data(), .terminations = s.terminations.data(), .reductions = s.reductions.data()};
    }

    Tier2Blocks tier2_blocks(const Slot &s) const {
        return {.coded = s.coded,
                .pass_bytes = s.pass_bytes.data(),
                .layer_passes = s.layer_passes.data(),
                .layer_bytes = s.layer_bytes.data()};
    }

    // Gives one layer all passes. bytes: what they take.
    void take_all(Slot &s, uint32_t CodedBlock::*bytes) {
        for (size_t b = 0; b < s.coded.size(); b++) {
            s.layer_passes[b] = s.coded[b].passes;
            s.layer_bytes[b] = s.coded[b].*bytes;
        }
    }

    // Finds the thresholds that keep the budgets, and truncates the blocks. measured: headers were, ahead. Returns
    // false if tier-1 had stopped too early for them, or too late.
    bool truncate_blocks(Slot &s, uint64_t boxes, const StopSlope &stop, bool measured) {
        RateAllocation &allocation = s.allocation;
        if (measured)
            add_codewords(allocation, s.hulls->bytes_at_or_above(), budget_.groups());
        else
            allocation = budget_.begin(boxes);
        allocation.stop = {stop, 0, 0, 0};
        if (p_.rate.error != 0) {
            s.psnr = psnr_threshold(pool(), p_, g_, {s.layouts, s.transformed.coefficients.data(), s.coded, *s.hulls},
                                    s.decoded.data());
            allocation.least = s.psnr.slope;
        }
        const int rounds = budget_.rounds();
        for (int round = measured ? rounds - 1 : 0; round < rounds; round++) {
            const bool last = round == rounds - 1;
            allocate(allocation, s.hulls->bytes_at_or_above(), budget_.groups(), p_.layers, last, LowestSlope{});
            truncate_at_thresholds(s, last, false);
            if (!last) measure(s, false);
        }
        code_chosen(s);
        return !stopped_too_early(allocation.stop, p_.frame_steps) && !stopped_too_late(allocation.stop) &&
               !(p_.frame_steps && steps_too_fine(allocation.stop, p_.step_weights));
    }

    // Truncates a frame again until it keeps its budgets. Returns false if that takes passes that are not coded.
    bool truncate_again(Slot &s, uint64_t boxes, Packets &packets) {
        std::vector<int> revisions(p_.layers);
        for (;;) {
            const RateRevision next = budget_.revision(boxes, {tier2_.written(packets), s.allocation}, revisions);
            if (next.layer < 0) return true;
            if (are_alternatives(g_.coding.style))  // estimates gave way to bytes
                s.hulls->find_hulls(pool(), s.coded, s.pass_bytes.data(), s.reductions.data());
            s.hulls->sum_bytes(s.coded, s.pass_bytes.data(), s.allocation.choice[next.layer]);
            revise_thresholds(s.allocation, s.hulls->bytes_at_or_above(), budget_.groups(), p_.layers, next,
                              LowestSlope{});
            if (stopped_too_early(s.allocation.stop, p_.frame_steps)) return false;
            truncate_at_thresholds(s, true, true);
            code_chosen(s);
            packets = tier2_.assemble_packets(pool(), s.tier2, tier2_blocks(s));
        }
    }

    // again: blocks were truncated before, and their codewords go on first.
    void truncate_at_thresholds(Slot &s, bool last, bool again) {
        pool().for_each(g_.blocks.size(), batch_blocks_, [&](size_t b) { truncate(s, b, last, again); });
    }
    void truncate(Slot &s, size_t b, bool last, bool again) {
        const size_t first = b * static_cast<size_t>(g_.max_passes);
        const uint32_t group = budget_.groups() > 1 ? g_.coding_of(g_.blocks[b]).group : 0;
        uint8_t *codeword = s.batches[b / batch_blocks_].data() + s.offsets[b];
        const auto byte = [&](uint32_t, uint32_t i) -> uint8_t & { return codeword[i]; };
        const int before = again ? s.layer_passes[(p_.layers - 1) * g_.blocks.size() + b] : 0;
        uint32_t *const pass_bytes = s.pass_bytes.data() + first;
        if (before) swap_termination(p_.style, before, pass_bytes, s.terminations[first + before - 1], byte);
        truncate_block(s.allocation, group, p_.layers, p_.style, s.coded[b].always_included, s.coded[b].passes,
                       s.hulls->slopes(b), pass_bytes, s.terminations.data() + first, last, again, byte,
                       [&](int layer, const LayerEnd &end) {
                           s.layer_passes[layer * g_.blocks.size() + b] = end.passes;
                           s.layer_bytes[layer * g_.blocks.size() + b] = end.bytes;
                       });
    }

    // Measures packets as they are truncated. ahead: their headers alone.
    void measure(Slot &s, bool ahead) {
        const Tier2Blocks blocks = tier2_blocks(s);
        tier2_.build_tag_trees(s.tier2, blocks);
        std::vector<uint64_t> lengths(g_.packets.size());
        pool().for_each(g_.packets.size(), [&](size_t i) {
            const Packet &packet = g_.packets[i];
            const uint32_t bits = tier2_.header_bits(s.tier2, blocks, packet);
            const uint64_t codewords = tier2_.codeword_bytes(blocks, packet);
            lengths[i] = packet_bytes(bits, codewords, p_.sop, p_.eph, p_.plt) - (ahead ? codewords : 0);
        });
        for (size_t i = 0; i < lengths.size(); i++) {
            const Packet &packet = g_.packets[i];
            s.allocation.packets[packet.layer] += lengths[i];
            if (packet.tile_part < kLimitedTileParts) s.allocation.group_packets[packet.tile_part] += lengths[i];
        }
        take_measure(s.allocation, p_.layers, budget_.outside_packets(), budget_.tile_part_header());
    }

    PooledBuffer write_packet(const Slot &s, const Packets &packets) {
        const uint64_t coded = packets.codestream_bytes();
        const std::vector<uint8_t> filler = make_filler(p_.least_bytes, s.box_bytes + coded);
        const uint64_t codestream = coded + filler.size();
        const std::vector<uint8_t> boxes = make_jp2_boxes(p_, s.frame, codestream);
        PooledBuffer packet = take_packet(boxes.size() + codestream);
        std::copy(boxes.begin(), boxes.end(), packet->data);
        tier2_.write_codestream(
            pool(), tier2_blocks(s), packets, filler, s.allocation.stop.step,
            [&](uint32_t b) { return s.batches[b / batch_blocks_].data() + s.offsets[b]; },
            packet->data + boxes.size());
        budget_.describe_packet(s.psnr.missed, *packet);
        packet->metadata_warning = metadata_warning(p_, s.frame);
        return packet;
    }

    const Params p_;
    const EncoderGeometry g_;
    const TransformPlan transform_plan_;
    const MainHeader header_;
    const Tier2Cpu tier2_;
    const RateBudget budget_;
    EarlyStopping early_stopping_;
    const std::vector<SampledBlock> sampled_blocks_;
    uint64_t frames_ = 0;  // so far
    std::vector<Slot> slots_;
    const uint32_t batch_blocks_;
};

}  // namespace

std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times) {
    return std::make_unique<J2kCpuEncoder>(params, slots, threads, stage_times);
}

}  // namespace cudaenc::j2k
