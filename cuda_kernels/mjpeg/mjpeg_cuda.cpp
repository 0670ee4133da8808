// JPEG on a device, top to bottom: load, forward DCT, quantisation and Huffman coding of pieces -> their places ->
// bytes -> download. Where tables are made for the picture, its levels are stored and its symbols counted before it is
// coded. Where a size is to be met, the host searches for the scale of the matrices, and the device codes what it
// tries. The host writes the headers. SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "../../common/error.h"
#include "../../common/mjpeg/headers.h"
#include "../../common/mjpeg/mjpeg.h"
#include "../../common/mjpeg/rate.h"
#include "../device_pipeline.h"
#include "code_params.h"
#include "pack_params.h"
#include "tables_params.h"

namespace cudaenc::mjpeg {

namespace {

enum Stage { kUpload, kTransform, kMakeTables, kCode, kPack, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "load and dct", "tables", "huffman", "pack", "download"};

struct Slot : FrameSlot {
    explicit Slot(const std::shared_ptr<Device> &device)
        : FrameSlot(device), result(device, 1), host_sums(device, 1), host_codes(device, 1) {}
    PinnedArray<FrameResult> result;
    PinnedArray<FrameSums> host_sums;  // these two where a size is to be met
    PinnedArray<CodeTables> host_codes;
    DeviceArray<FrameResult> device_result;
    DeviceArray<FrameSums> sums;
    DeviceArray<uint32_t> level_words;  // these three where levels are stored
    DeviceArray<uint64_t> nonzero;
    DeviceArray<CodeTables> codes;
    DeviceArray<Piece> pieces;
    DeviceArray<uint32_t> words;
    DeviceArray<uint64_t> bits_before, places;
    DeviceArray<uint8_t> bytes;
    Metadata metadata;
    Divisors divisors;
    HuffmanSpecs huffman;
};

class DeviceEncoder : public DevicePipeline {
  public:
    DeviceEncoder(const Params &params, int slots, std::shared_ptr<Device> device, bool device_frames, bool stage_times)
        : DevicePipeline(std::move(device), params.input, device_frames,
                         stage_times ? std::span<const char *const>(kStageNames) : std::span<const char *const>()),
          p_(params),
          setup_(device_) {
        for (const Scan &scan : p_.scans) plan_scan(scan);
        const std::vector<CodeTables> codes{make_codes(default_huffman(), p_.tables)};
        default_codes_ = upload_table(device_, setup_, codes);
        for (int i = 0; i < slots; i++) add_slot(make_slot());
        device_->synchronize(static_cast<Device::Stream>(setup_));
    }
    ~DeviceEncoder() override { drain(); }

  private:
    void plan_scan(const Scan &scan) {
        ScanPieces s{};
        s.grid = scan.grid;
        s.components = scan.count;
        for (int i = 0; i < scan.count; i++) {
            const Component &c = p_.components[static_cast<size_t>(scan.first + i)];
            s.component[i] = {c.grid, c.width, c.height, c.table, scan.first + i, s.mcu_blocks};
            s.mcu_blocks += c.grid.h * c.grid.v;
        }
        s.mcus = kPieceBlocks / s.mcu_blocks;
        const int64_t mcus = s.grid.mcus();
        const int64_t interval = s.grid.restart_interval ? std::min<int64_t>(s.grid.restart_interval, mcus) : mcus;
        s.interval_pieces = static_cast<int32_t>(ceil_div(interval, s.mcus));
        s.first_piece = pieces_;
        s.rgb_to_ycbcr = p_.transform == ColorTransform::rgb_to_ycbcr;
        const uint32_t pieces =
            static_cast<uint32_t>(mcus / interval * s.interval_pieces + ceil_div(mcus % interval, s.mcus));
        data_[scans_.size()] = {pieces_, pieces, static_cast<uint32_t>(s.interval_pieces)};
        scans_.push_back(s);
        pieces_ += pieces;
    }

    std::unique_ptr<Slot> make_slot() {
        auto slot = std::make_unique<Slot>(device_);
        Slot &s = *slot;
        make(s.device_result, 1);
        make(s.sums, 1);
        s.divisors = make_divisors(p_, p_.scale);
        s.huffman = default_huffman();
        if (p_.optimal || p_.frame_bytes) {
            make(s.level_words, size_t{pieces_} * kPieceLevelWords);
            make(s.nonzero, size_t{pieces_} * kPieceBlocks);
            make(s.codes, 1);
        }
        make(s.pieces, pieces_);
        make(s.bits_before, pieces_);
        make(s.places, pieces_);
        // As many bytes as there are samples, which noise exceeds at the highest qualities.
        make_room(s, p_.blocks * (kBlockSamples / 4) + pieces_, 0);
        return slot;
    }

    void make_room(Slot &s, uint64_t words, uint64_t bytes) {
        if (words > UINT32_MAX) throw Error(CUDAENC_ERR_UNSUPPORTED, "a picture of 16 GiB of codes or more");
        s.coding.reset();
        if (words > s.words.count()) {
            s.words = {};  // there may be no room for both
            make(s.words, words);
        }
        bytes = std::max(bytes, 4 * words + words / 8);  // some zeros are stuffed
        if (bytes > s.bytes.count()) {
            s.bytes = {};
            make(s.bytes, bytes);
        }
    }

    void prepare(FrameSlot &slot) override { static_cast<Slot &>(slot).metadata = take_metadata(p_, slot.frame); }

    void code(FrameSlot &slot) override {
        Slot &s = static_cast<Slot &>(slot);
        mark(s, kTransform);
        device_->fill(s.stream, s.sums.data(), 0,
                      p_.optimal || p_.frame_bytes ? sizeof(FrameSums) : sizeof(FrameSums::words));
        if (p_.frame_bytes) {
            count_bins(s);
            for (const Stage stage : {kMakeTables, kCode, kPack}) mark(s, stage);
            return;
        }
        if (p_.optimal) {
            transform(s);
            mark(s, kMakeTables);
            make_tables(s);
            mark(s, kCode);
            code_levels(s);
        } else {
            encode(s);
            mark(s, kMakeTables);
            mark(s, kCode);
        }
        mark(s, kPack);
        pack(s);
    }

    CodedWords coded(Slot &s) const {
        return {s.pieces.data(), s.words.data(), s.sums.data(), static_cast<uint32_t>(s.words.count())};
    }
    StoredLevels levels(Slot &s) const { return {s.level_words.data(), s.nonzero.data()}; }

    // A launch for each scan.
    template <class P>
    void launch_pieces(Slot &s, P params) {
        for (size_t i = 0; i < scans_.size(); i++) {
            params.scan = scans_[i];
            device_->launch(s.stream, {data_[i].pieces}, kPieceBlocks, params);
        }
    }

    static void set_quantisers(const Divisors &divisors, WideQuantiser (&quantisers)[kTables]) {
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++)
                quantisers[table].multiplier[i] = wide_reciprocal_of(divisors.of[table][i]);
    }

    void encode(Slot &s) {
        EncodeParams params{s.device_layout.data(), default_codes_.data(), coded(s), {}, {}};
        set_quantisers(s.divisors, params.quantiser);
        launch_pieces(s, params);
    }
    void transform(Slot &s) {
        TransformParams params{s.device_layout.data(), levels(s), s.sums.data(), {}, {}};
        set_quantisers(s.divisors, params.quantiser);
        launch_pieces(s, params);
    }
    void count_bins(Slot &s) {
        BinsParams params{s.device_layout.data(), s.sums.data(), {}, {}};
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++) params.threshold[table][i] = rate_threshold(p_.matrix[table][i]);
        launch_pieces(s, params);
        device_->download(s.stream, s.host_sums.data(), s.sums.data(), sizeof(FrameSums));
    }
    void make_tables(Slot &s) {
        device_->launch(s.stream, {2 * static_cast<unsigned>(p_.tables)}, kTablesThreads,
                        TablesParams{&s.sums.data()->symbols, &s.device_result.data()->huffman, s.codes.data()});
    }
    void code_levels(Slot &s) { launch_pieces(s, CodeParams{levels(s), s.codes.data(), coded(s), {}}); }

    void pack(Slot &s) {
        PackBuffers buffers{coded(s), s.bits_before.data(), s.places.data(), s.device_result.data(), pieces_, {}, {}};
        buffers.scans = static_cast<uint32_t>(scans_.size());
        std::copy_n(data_, scans_.size(), buffers.scan);
        device_->launch(s.stream, {1}, kPlaceThreads, PlaceParams{buffers});
        device_->launch(s.stream, {blocks_for(pieces_, kPackThreads / 32)}, kPackThreads,
                        PackParams{buffers, s.bytes.data(), s.bytes.count()});
        device_->download(s.stream, s.result.data(), s.device_result.data(), sizeof(FrameResult));
    }

    // The device has counted the bins. It transforms anew for each trial, which takes less time than to store what it
    // would not have to.
    void meet_size(Slot &s) {
        const std::vector<uint32_t> bins(s.host_sums.data()->bins, s.host_sums.data()->bins + kRateBins);
        RateSearch search{static_cast<uint64_t>(p_.frame_bytes), bins.data(), p_.blocks, p_.min_scale, p_.max_scale};
        search_scale(search, [&](int32_t scale) {
            s.divisors = make_divisors(p_, scale);
            device_->fill(s.stream, s.sums.data(), 0, sizeof(FrameSums));
            transform(s);
            device_->download(s.stream, s.host_sums.data(), s.sums.data(), sizeof(FrameSums));
            device_->synchronize(static_cast<Device::Stream>(s.stream));
            const SymbolCounts &counts = s.host_sums.data()->symbols;
            if (p_.optimal) s.huffman = optimal_huffman(counts, p_.tables);
            return packet_bytes(p_, s.metadata, s.divisors, s.huffman,
                                count_bits(counts, make_codes(s.huffman, p_.tables)));
        });
        code_with(s, s.huffman);
        device_->synchronize(static_cast<Device::Stream>(s.stream));
    }

    // Codes the stored levels.
    void code_with(Slot &s, const HuffmanSpecs &huffman) {
        *s.host_codes.data() = make_codes(huffman, p_.tables);
        device_->upload(s.stream, s.codes.data(), s.host_codes.data(), sizeof(CodeTables));
        device_->fill(s.stream, s.sums.data(), 0, sizeof(FrameSums::words));
        code_levels(s);
        pack(s);
    }

    PooledBuffer download(FrameSlot &slot) override {
        Slot &s = static_cast<Slot &>(slot);
        const FrameResult &result = *s.result.data();
        if (p_.frame_bytes) meet_size(s);
        while (result.words > s.words.count() || result.bytes > s.bytes.count()) {  // rare; the pixels are there still
            make_room(s, result.words + result.words / 8, result.bytes + result.bytes / 8);
            if (p_.frame_bytes)
                code_with(s, s.huffman);
            else
                code(s);
            device_->synchronize(static_cast<Device::Stream>(s.stream));
        }
        if (p_.optimal && !p_.frame_bytes) s.huffman = result.huffman;
        std::vector<uint8_t> header = make_frame_header(p_, s.metadata, s.divisors).bytes;
        const size_t frame_header = header.size();
        header.resize(frame_header + kMaxDhtBytes);
        header.resize(frame_header + static_cast<size_t>(put_dht(header.data() + frame_header, s.huffman, p_.tables)));
        std::vector<std::vector<uint8_t>> scan_headers;
        size_t size = header.size() + result.bytes + 2;
        for (const Scan &scan : p_.scans) {
            scan_headers.push_back(make_scan_header(p_, scan));
            size += scan_headers.back().size();
        }
        PooledBuffer packet = packets_->take(size);
        uint8_t *to = std::copy(header.begin(), header.end(), packet->data);
        for (size_t i = 0; i < p_.scans.size(); i++) {
            to = std::copy(scan_headers[i].begin(), scan_headers[i].end(), to);
            const uint64_t begin = result.scan[i], end = i + 1 < p_.scans.size() ? result.scan[i + 1] : result.bytes;
            device_->download(s.stream, to, s.bytes.data() + begin, end - begin);
            to += end - begin;
        }
        *to++ = kEoi >> 8;
        *to++ = kEoi & 0xFF;
        return packet;
    }

    const Params p_;
    std::vector<ScanPieces> scans_;
    ScanData data_[kMaxComponents];
    uint32_t pieces_ = 0;
    Stream setup_;
    DeviceArray<CodeTables> default_codes_;
};

}  // namespace

std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, std::shared_ptr<Device> device,
                                             bool device_frames, bool stage_times) {
    return std::make_unique<DeviceEncoder>(params, slots, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::mjpeg
