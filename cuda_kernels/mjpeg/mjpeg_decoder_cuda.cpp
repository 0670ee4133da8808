// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG decoding on a device, top to bottom: upload, coded data without stuffing, where threads begin to decode, levels
// and samples. What the device does not take the host's threads decode to levels, which the device transforms:
// progressive coding, broken data, and data that do not synchronise. Lossless coding and 12 bits they decode to
// samples. Then planes of a usual format, where they are asked for.
#include <algorithm>
#include <array>
#include <cstring>

#include "../../common/error.h"
#include "../../common/mjpeg/mjpeg.h"
#include "../../common/mjpeg/progressive_cpu.h"
#include "../../common/mjpeg/upsample_cpu.h"
#include "../../common/planes.h"
#include "../device_decoder.h"
#include "decode_params.h"
#include "scan_plan.h"
#include "upsample_params.h"

namespace cudaenc::mjpeg {

namespace {

enum Stage { kUpload, kUnstuff, kSynchronise, kDecode, kReconstruct, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "unstuff", "synchronise", "decode", "reconstruct", "download"};

constexpr const char *kBroken = "data that are broken, or do not synchronise";

constexpr size_t kStageBytes = 1 << 17;  // that a thread copies at a time
// Of a picture in flight with others, whose copy is work for several threads. To wake them takes longer for less.
constexpr size_t kSharedCopyBytes = 1 << 20;
constexpr size_t kCodedMargin = 64;  // bytes that kernels may read behind the data

// A sequential scan on the device.
struct DeviceScan : ScanPlan {
    explicit DeviceScan(const ScanPlan &plan) : ScanPlan(plan) {}
    size_t data_at = 0;                 // in what is uploaded
    const ScanTables *fresh = nullptr;  // uploaded; nullptr: the slot has them
};

// The kernels' parameters for a scan.
struct ScanWork {
    uint32_t unstuff_blocks, tiles, blocks;  // of grids: of unstuff, of subsequences, of JPEG's blocks
    uint32_t period;                         // ScanPlan::period
    UnstuffPicture unstuff;
    SpeculatePicture speculate;
    ChainPicture chain;
    DecodePicture decode;
    ReconstructPicture reconstruct;
};

struct Slot : DecoderSlot {
    explicit Slot(const std::shared_ptr<Device> &device) : DecoderSlot(device), states(device, kMaxStreamComponents) {}
    CodedStream coded;
    std::vector<DeviceScan> scans;                           // none: the host decodes
    ScanWork work;                                           // of the only one, while it is deferred
    std::array<TableSources, kMaxStreamComponents> sources;  // of `tables`
    DeviceArray<ScanTables> tables;                          // [scans], as the picture before left them
    DeviceArray<uint16_t> runs;                              // [scans][kRunTables][kRuns], the same
    DeviceArray<ScanState> scan_states;                      // [scans][2]: of this picture and of the next one, in turn
    std::array<int, kMaxStreamComponents> turns;
    PinnedArray<ScanState> states;  // [scans], as the kernels leave them
    StagedBytes staged;             // tables that are new, and all scans' data
    bool from_host = false;         // the data are read in the host's memory
    DeviceArray<uint8_t> bytes;     // of a scan, without stuffing
    DeviceArray<uint32_t> restarts;
    DeviceArray<uint64_t> look_back;  // words of both; cleared before serial 1
    uint32_t serial = 0;              // of look_back.cuh
    DeviceArray<Candidate> candidates;
    DeviceArray<BlockStart> starts;
    DeviceArray<BlockCount> before, counts, counts_before;                  // the latter of tiles
    DeviceArray<DcDifferences> dc_before, differences, differences_before;  // the same
    DeviceArray<uint32_t> listed_levels;
    DeviceArray<BlockLevels> blocks;
    DeviceArray<uint8_t> pixels;                              // of planes that are upsampled, or for host memory
    DeviceArray<uint8_t> usual;                               // of planes for host memory, upsampled
    std::array<OutputPlane, kMaxStreamComponents> planes;     // as they are coded
    std::array<OutputPlane, kMaxStreamComponents> upsampled;  // of these

    // The host's part: levels, or:
    bool samples = false;                // is_for_cpu()
    CudaencCodedPicture host_picture{};  // with planes in memory of the host
    std::vector<uint8_t> host_samples;   // of planes for device memory
    const char *fallback = nullptr;      // why it decodes
    DeviceArray<int16_t> device_levels;
    std::vector<CoefficientPlane> levels;
    std::string damage;
};

class MjpegDeviceDecoder : public DeviceDecoder<Slot> {
  public:
    MjpegDeviceDecoder(const DecoderOptions &options, int slots, int threads, std::shared_ptr<Device> device,
                       bool device_frames, bool stage_times)
        : DeviceDecoder(std::move(device), kStageNames, slots, threads, device_frames, stage_times),
          options_(options) {}
    ~MjpegDeviceDecoder() override { stop(); }

  private:
    void take(Slot &s, const CodedPicture &picture) override {
        s.picture = picture;
        s.coded = read_stream(picture);
        s.damage = s.coded.damage;
        s.samples = is_for_cpu(s.coded);
        if (s.samples)
            place_host_planes(s);
        else
            place_planes(s, s.planes, s.pixels, device_frames_ && !upsampling_of(s).any(),
                         [&](size_t c) { return coded_size(s, c); });
        s.scans.clear();
        s.fallback = s.coded.lossless          ? "lossless coding"
                     : s.coded.bits > 8        ? "12 bits"
                     : s.coded.progressive     ? "progressive coding"
                     : !s.coded.damage.empty() ? kBroken
                                               : nullptr;
        s.from_host = alone();
        for (size_t i = 0; i < s.coded.scans.size() && !s.fallback; i++) {
            ScanPlan plan;
            s.fallback = plan_scan(s.coded, s.coded.scans[i], s.from_host, plan);
            s.scans.emplace_back(plan);
        }
        if (s.fallback) s.scans.clear();
    }

    void queue(Slot &s) override {
        const bool joins = can_join(s);
        if (!joins) queue_deferred();
        if (!deferred_.empty()) s.queued_on = deferred_.front()->queued_on;
        if (!joins) wait_for_planes(s);
        if (s.scans.empty()) {
            for (const Stage stage : {kUnstuff, kSynchronise, kDecode, kReconstruct}) mark(s, stage);
            return post(s);
        }
        if (!s.scan_states.count()) make_kept(s);
        upload_scans(s);
        if (!joins) {
            for (size_t i = 0; i < s.scans.size(); i++) launch(s, std::array{plan_work(s, i)}, i == 0);
            if (upsampling_of(s).any()) upsample_planes(s, s.queued_on);
            return;
        }
        s.work = plan_work(s, 0);
        s.deferred = true;
        deferred_.push_back(&s);
        size_t bytes = 0;
        for (const Slot *other : deferred_) bytes += other->scans[0].data.size();
        const int most = std::clamp(slots() / 2, 1, kLaunchPictures);
        if (s.from_host || bytes >= kLaunchBytes || std::ssize(deferred_) >= most) queue_deferred();
    }

    // What others have queued on the planes' stream.
    void wait_for_planes(const Slot &s) {
        if (device_frames_) device_->wait_foreign(s.queued_on, s.picture.cuda_stream);
    }

    // Pictures in flight share launches, of which the driver takes but so many a second. Several scans, and stages that
    // are timed, have launches of their own.
    bool can_join(const Slot &s) const {
        if (s.scans.size() != 1 || !s.times.empty() || s.scans[0].data.size() >= kShortBytes) return false;
        return deferred_.empty() || deferred_.front()->scans[0].period == s.scans[0].period;
    }

    void queue_deferred() override {
        if (deferred_.empty()) return;
        const std::vector<Slot *> all = std::exchange(deferred_, {});
        for (Slot *s : all) s->deferred = false;
        // The last of them is finished last, and only then used again.
        Slot &last = *all.back();
        try {
            std::vector<ScanWork> works;
            for (size_t i = 0; i < all.size(); i++) {
                if (i == 0 || all[i]->picture.cuda_stream != all[i - 1]->picture.cuda_stream) wait_for_planes(*all[i]);
                works.push_back(all[i]->work);
            }
            launch(last, works, false);
            for (Slot *s : all)
                if (upsampling_of(*s).any()) upsample_planes(*s, s->queued_on);
            device_->record(last.worked, last.queued_on);
            for (Slot *s : all) s->awaited = last.worked;
        } catch (...) {
            for (Slot *s : all) s->error = std::current_exception();
            throw;
        }
    }

    void complete(Slot &s, Decoded &decoded) override {
        for (size_t i = 0; i < s.scans.size(); i++) {
            const ScanState &state = s.states.data()[i];
            if (state.damaged || state.excess < state.bytes || state.blocks != s.scans[i].coded.blocks)
                s.fallback = kBroken;
            else if (state.extra && s.damage.empty())
                s.damage = kBrokenData;
        }
        if (s.fallback) {
            if (!s.scans.empty()) post(s);
            wait(s);
            if (s.samples)
                upload_samples(s);
            else
                transform_levels(s);
        }
        const bool upsampled = !s.samples && upsampling_of(s).any();
        if (upsampled && s.fallback) upsample_planes(s, s.stream);
        if (!device_frames_ && !s.samples)
            for (size_t c = 0; c < s.coded.components.size(); c++) {
                const OutputPlane &plane = upsampled ? s.upsampled[c] : s.planes[c];
                device_->download_2d(s.stream, s.picture.planes[c], s.picture.stride[c], plane.samples,
                                     static_cast<size_t>(plane.stride), static_cast<size_t>(plane.width),
                                     static_cast<size_t>(plane.height));
            }
        s.copying |= (upsampled && s.fallback) || (!device_frames_ && !s.samples);
        decoded = {.damage = std::move(s.damage), .fallback = s.fallback};
    }

    void reset(Slot &s) noexcept override {
        DeviceDecoder::reset(s);
        s.serial = 0;
        s.scan_states = {};
        s.levels.clear();
    }

    // ---- Planes

    static const Upsampling &upsampling_of(const Slot &s) { return header_of(s.picture).upsampling; }
    static PlaneSize usual_size(const Slot &s, size_t c) {
        return plane_size(s.picture.header->info.format, static_cast<int>(c));
    }
    PlaneSize coded_size(const Slot &s, size_t c) const {
        const StreamComponent &component = s.coded.components[c];
        return {.row_bytes = static_cast<size_t>(reduced_size(component.width, options_.lowres)),
                .rows = static_cast<size_t>(reduced_size(component.height, options_.lowres))};
    }

    // The caller's, or as the host needs them.
    void place_host_planes(Slot &s) {
        s.host_picture = s.picture;
        if (!device_frames_) return;
        size_t bytes = 0;
        for (size_t c = 0; c < s.coded.components.size(); c++)
            bytes += usual_size(s, c).row_bytes * usual_size(s, c).rows;
        if (s.host_samples.size() < bytes) s.host_samples.resize(bytes);
        uint8_t *at = s.host_samples.data();
        for (size_t c = 0; c < s.coded.components.size(); c++) {
            const PlaneSize size = usual_size(s, c);
            s.host_picture.planes[c] = at, s.host_picture.stride[c] = static_cast<ptrdiff_t>(size.row_bytes);
            at += size.row_bytes * size.rows;
        }
    }
    void upload_samples(Slot &s) {
        if (!device_frames_) return;
        for (size_t c = 0; c < s.coded.components.size(); c++) {
            const PlaneSize size = usual_size(s, c);
            device_->upload_2d(s.stream, s.picture.planes[c], static_cast<size_t>(s.picture.stride[c]),
                               s.host_picture.planes[c], s.host_picture.stride[c], size.row_bytes, size.rows);
        }
        device_->synchronize(s.stream);  // the samples are the host's
    }

    // planes: the caller's where they are `in_place`, else in `memory`.
    template <class Size>
    void place_planes(const Slot &s, std::array<OutputPlane, kMaxStreamComponents> &planes,
                      DeviceArray<uint8_t> &memory, bool in_place, const Size &size_of) {
        size_t bytes = 0;
        for (size_t c = 0; c < s.coded.components.size(); c++) {
            const PlaneSize size = size_of(c);
            OutputPlane &plane = planes[c];
            plane = {.samples = s.picture.planes[c],
                     .stride = s.picture.stride[c],
                     .width = static_cast<int32_t>(size.row_bytes),
                     .height = static_cast<int32_t>(size.rows)};
            if (in_place) continue;
            plane.stride = (plane.width + 255) / 256 * 256;
            bytes += static_cast<size_t>(plane.stride) * size.rows;
        }
        if (in_place) return;
        grow(memory, bytes);
        uint8_t *at = memory.data();
        for (size_t c = 0; c < s.coded.components.size(); c++) {
            planes[c].samples = at;
            at += planes[c].stride * planes[c].height;
        }
    }

    // From planes as they are coded, to others.
    void upsample_planes(Slot &s, Device::Stream stream) {
        const Upsampling &upsampling = upsampling_of(s);
        place_planes(s, s.upsampled, s.usual, device_frames_, [&](size_t c) { return usual_size(s, c); });
        UpsampleParams params{.plane = {}, .row_blocks = 0, .inks = upsampling.inks, .rgb = upsampling.rgb};
        unsigned rows = 0;
        for (size_t c = 0; c < s.coded.components.size(); c++) {
            params.plane[c] = {.from = s.planes[c].samples,
                               .from_stride = s.planes[c].stride,
                               .to = s.upsampled[c],
                               .double_x = upsampling.double_x[c],
                               .double_y = upsampling.double_y[c]};
            rows = std::max(rows, static_cast<unsigned>(s.upsampled[c].height));
            params.row_blocks = std::max(
                params.row_blocks,
                static_cast<int32_t>(blocks_for(static_cast<uint64_t>(s.upsampled[c].width), kUpsampleThreads)));
        }
        device_->launch(
            stream, {rows * static_cast<unsigned>(params.row_blocks), static_cast<unsigned>(s.coded.components.size())},
            kUpsampleThreads, params);
    }

    template <class T>
    void grow(DeviceArray<T> &array, size_t count) const {
        DeviceDecoder::grow(array, count, count + count / 4);
    }

    // ---- Uploads

    // By way of pinned memory, from which an upload neither waits nor copies again. The data of a picture alone are not
    // uploaded: mjpeg_unstuff reads them there, which takes less time but more of the GPU. Tables that the slot's
    // picture before had as well are on the device.
    void upload_scans(Slot &s) {
        const auto aligned = [](size_t bytes) { return (bytes + 15) / 16 * 16; };
        std::vector<size_t> fresh;  // scans with new tables
        for (size_t i = 0; i < s.scans.size(); i++)
            if (s.scans[i].tables != s.sources[i]) fresh.push_back(i);
        const size_t table_bytes = fresh.size() * sizeof(ScanTables);
        size_t bytes = table_bytes;
        for (DeviceScan &scan : s.scans) {
            scan.data_at = bytes;
            bytes += aligned(scan.data.size());
        }
        DeviceDecoder::grow(s.staged, bytes);
        uint8_t *const staged = s.staged.host->data();
        for (size_t i = 0; i < fresh.size(); i++) {
            DeviceScan &scan = s.scans[fresh[i]];
            reinterpret_cast<ScanTables *>(staged)[i] = make_tables(scan.tables);
            scan.fresh = reinterpret_cast<const ScanTables *>(s.staged.device.data()) + i;
            s.sources[fresh[i]] = scan.tables;
        }
        if (s.from_host) upload(s, s.staged, 0, table_bytes);
        for (const DeviceScan &scan : s.scans) {
            const size_t size = scan.data.size(), most = s.from_host || size >= kSharedCopyBytes ? kStageBytes : size;
            pool_.for_each(size ? (size + most - 1) / most : 0, [&](size_t i) {
                const size_t at = i * most;
                std::memcpy(staged + scan.data_at + at, scan.data.data() + at, std::min(most, size - at));
            });
        }
        if (!s.from_host) upload(s, s.staged, 0, bytes);
    }

    // Makes what a slot keeps between pictures. Then it has no tables.
    void make_kept(Slot &s) {
        static constexpr std::array<ScanState, 2 * kMaxStreamComponents> states{};
        make(s.tables, kMaxStreamComponents);
        make(s.runs, kMaxStreamComponents * size_t{kRunTables} * kRuns);
        make(s.scan_states, states.size());
        device_->upload(s.queued_on, s.scan_states.data(), states.data(), sizeof states);
        s.sources = {};
        s.turns = {};
    }

    // ---- Kernels

    // What the kernels do with a scan. Queues what clears memory for them.
    ScanWork plan_work(Slot &s, size_t number) {
        const DeviceScan &scan = s.scans[number];
        CodedScan coded = scan.coded;
        make_room(s, scan);
        coded.words = reinterpret_cast<const uint32_t *>(s.bytes.data());
        coded.restarts = s.restarts.data();
        ScanTables *const tables = s.tables.data() + number;
        uint16_t *const runs = s.runs.data() + number * kRunTables * kRuns;
        coded.tables = tables;
        coded.runs = runs;
        ScanState *const states = s.scan_states.data() + 2 * number;
        coded.state = states + s.turns[number];
        s.turns[number] ^= 1;
        if (coded.intervals > 1)
            device_->fill(s.queued_on, s.restarts.data(), 0xFF, coded.intervals * sizeof(uint32_t));
        s.serial = (s.serial + 1) % 256;
        if (s.serial == 0) s.serial = 1;
        if (s.serial == 1) device_->fill(s.queued_on, s.look_back.data(), 0, s.look_back.bytes());
        s.states.data()[number] = ScanState{};  // no blocks, unless a kernel writes it
        const uint32_t subsequences = scan.tiles * kTileSubsequences;
        CodedScan within_period = coded;
        within_period.mcu_blocks = scan.period;
        return {.unstuff_blocks = std::max(scan.unstuff_tiles, scan.fresh ? kRunBlocks : 0),
                .tiles = scan.tiles,
                .blocks = coded.blocks,
                .period = scan.period,
                .unstuff = {.data = (s.from_host ? s.staged.host->data() : s.staged.device.data()) + scan.data_at,
                            .bytes = static_cast<uint32_t>(scan.data.size()),
                            .out = s.bytes.data(),
                            .restarts = s.restarts.data(),
                            .intervals = coded.intervals,
                            .state = coded.state,
                            .next_state = states + s.turns[number],
                            .kept_words = s.look_back.data(),
                            .restart_words = s.look_back.data() + scan.unstuff_tiles,
                            .tiles = scan.unstuff_tiles,
                            .serial = s.serial,
                            .uploaded = scan.fresh,
                            .tables = tables,
                            .runs = runs},
                .speculate = {.scan = within_period, .subsequences = subsequences, .candidates = s.candidates.data()},
                .chain = {.scan = within_period,
                          .subsequences = subsequences,
                          .rows = scan.period + 1,
                          .candidates = s.candidates.data(),
                          .starts = s.starts.data(),
                          .ends = s.look_back.data() + 2 * size_t{scan.unstuff_tiles},
                          .tiles = scan.tiles,
                          .serial = s.serial,
                          .before = s.before.data(),
                          .counts = s.counts.data(),
                          .counts_before = s.counts_before.data()},
                .decode = {.scan = coded,
                           .starts = s.starts.data(),
                           .before = s.before.data(),
                           .tiles_before = s.counts_before.data(),
                           .levels = s.listed_levels.data(),
                           .blocks = s.blocks.data(),
                           .differences_before = s.dc_before.data(),
                           .differences = s.differences.data(),
                           .all_before = s.differences_before.data(),
                           .result = &s.states.data()[number]},
                .reconstruct = plan_reconstruction(s, scan, coded)};
    }

    ReconstructPicture plan_reconstruction(const Slot &s, const DeviceScan &scan, const CodedScan &coded) const {
        ReconstructPicture work{.scan = coded,
                                .levels = s.listed_levels.data(),
                                .blocks = s.blocks.data(),
                                .differences_before = s.dc_before.data(),
                                .tiles_before = s.differences_before.data(),
                                .grid = scan.layout.grid,
                                .by_mcu_blocks = Divider(scan.layout.mcu_blocks),
                                .component_blocks = {},
                                .first_block = {},
                                .planes = {},
                                .lowres = options_.lowres};
        uint32_t first = 0;
        for (int i = 0; i < scan.layout.count; i++) {
            work.component_blocks[i] = scan.layout.blocks[i];
            work.first_block[i] = first;
            work.planes[i] = s.planes[static_cast<size_t>(scan.layout.component[i])];
            first += static_cast<uint32_t>(scan.layout.blocks[i].h * scan.layout.blocks[i].v);
        }
        return work;
    }

    // One kernel for some scans, each of another picture. columns: of the grid.
    template <class Params, class Picture>
    void launch_one(const Slot &s, std::span<const ScanWork> works, Picture ScanWork::*picture, unsigned columns,
                    unsigned threads) {
        Params params{};
        for (size_t i = 0; i < works.size(); i++) params.picture[i] = works[i].*picture;
        device_->launch(s.queued_on, {columns, static_cast<unsigned>(works.size())}, threads, params);
    }

    // All kernels, for up to kLaunchPictures scans of one period. marks: whether they begin stages of `s`.
    void launch(Slot &s, std::span<const ScanWork> works, bool marks) {
        const auto begin = [&](Stage stage) {
            if (marks) mark(s, stage);
        };
        const auto most = [&](uint32_t ScanWork::*of) { return std::ranges::max(works, {}, of).*of; };
        const uint32_t tiles = most(&ScanWork::tiles);
        begin(kUnstuff);
        launch_one<UnstuffParams>(s, works, &ScanWork::unstuff, most(&ScanWork::unstuff_blocks), kUnstuffThreads);
        begin(kSynchronise);
        launch_one<SpeculateParams>(s, works, &ScanWork::speculate, tiles * (kTileSubsequences / 32),
                                    32 * works[0].period);
        launch_one<ChainParams>(s, works, &ScanWork::chain, tiles, kTileSubsequences);
        begin(kDecode);
        launch_one<DecodeParams>(s, works, &ScanWork::decode, tiles, kTileSubsequences);
        begin(kReconstruct);
        launch_one<ReconstructParams>(s, works, &ScanWork::reconstruct,
                                      blocks_for(most(&ScanWork::blocks), kReconstructThreads), kReconstructThreads);
    }

    void make_room(Slot &s, const DeviceScan &scan) {
        const size_t subsequences = size_t{scan.tiles} * kTileSubsequences, words = s.look_back.count();
        grow(s.bytes, scan.data.size() + kCodedMargin);
        grow(s.restarts, scan.coded.intervals);
        grow(s.look_back, 2 * size_t{scan.unstuff_tiles} + (kCorrections + 1) * size_t{scan.tiles});
        if (s.look_back.count() != words) s.serial = 0;
        grow(s.candidates, subsequences * (scan.period + 1));
        grow(s.starts, subsequences);
        grow(s.before, subsequences);
        grow(s.counts, scan.tiles);
        grow(s.counts_before, scan.tiles);
        grow(s.dc_before, subsequences);
        grow(s.differences, scan.tiles);
        grow(s.differences_before, scan.tiles);
        grow(s.listed_levels, subsequences * list_levels(scan.coded.subsequence_bits));
        grow(s.blocks, scan.coded.blocks);
    }

    // ---- The host's part

    void run(Slot &s) override {
        if (!s.samples) {
            s.levels = decode_coefficients(s.coded, pool_, s.damage);
            return;
        }
        decode_planes(s.coded, options_, s.host_picture, pool_, s.damage);
        upsample(upsampling_of(s), s.picture.header->info.format, s.host_picture, pool_);
    }

    void transform_levels(Slot &s) {
        size_t blocks = 0;
        for (const CoefficientPlane &plane : s.levels) blocks += plane.last.size();
        grow(s.device_levels, blocks * kBlockSamples);
        int16_t *at = s.device_levels.data();
        for (size_t c = 0; c < s.levels.size(); c++) {
            const CoefficientPlane &plane = s.levels[c];
            device_->upload(s.stream, at, plane.levels.get(), plane.last.size() * kBlockSamples * sizeof(int16_t));
            TransformLevelsParams params{.levels = at,
                                         .divisors = {},
                                         .blocks = static_cast<uint32_t>(plane.last.size()),
                                         .columns = plane.columns,
                                         .by_columns = Divider(plane.columns),
                                         .plane = s.planes[c],
                                         .lowres = options_.lowres};
            std::copy_n(s.coded.components[c].divisors, kBlockSamples, params.divisors);
            device_->launch(s.stream, {blocks_for(plane.last.size(), kTransformThreads)}, kTransformThreads, params);
            at += plane.last.size() * kBlockSamples;
        }
        device_->synchronize(s.stream);  // the levels are the host's
        s.levels.clear();
    }

    const DecoderOptions options_;
};

}  // namespace

std::unique_ptr<Decoder> make_device_decoder(const DecoderOptions &options, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<MjpegDeviceDecoder>(options, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::mjpeg
