// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG on a device, top to bottom: load, forward DCT, quantisation, Huffman coding, byte stuffing, in one launch. Large
// frames in flight take another one, which joins pieces. Optimal tables take two: levels are stored and symbols
// counted. For a target size the host searches for the scale of the matrices, and the device transforms at each trial.
// The host writes the headers.
#include <algorithm>

#include "../../common/error.h"
#include "../../common/mjpeg/headers.h"
#include "../../common/mjpeg/markers.h"
#include "../../common/mjpeg/mjpeg.h"
#include "../../common/mjpeg/rate.h"
#include "../device_encoder.h"
#include "scan_pieces.h"
#include "tables_params.h"

namespace cudaenc::mjpeg {

namespace {

enum Stage { kUpload, kTransform, kMakeTables, kCode, kPacket, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "load and dct", "tables", "huffman", "packet"};

// Frames of so many pieces are large, see copied_.
constexpr uint32_t kCopiedPieces = 1000;

// More than all marker segments take, those with text or data excepted.
constexpr size_t kHeaderRoom = 2048;

// Behind the coded bytes: EOI and zero bytes in host memory, a line that kernels may read on a device.
constexpr size_t kEndRoom = 2 * kLineBytes;
static_assert(kEndRoom >= kLineBytes + 2 && kEndRoom >= 2 + CUDAENC_PACKET_PADDING);

struct Slot : FrameSlot {
    explicit Slot(const std::shared_ptr<Device> &device)
        : FrameSlot(device), result(device, 1), host_sums(device, 1), host_codes(device, 1) {}
    PinnedArray<FrameResult> result;
    PinnedArray<FrameSums> host_sums;  // these two for a target size
    PinnedArray<CodeTables> host_codes;
    DeviceArray<FrameSums> sums;
    DeviceArray<uint32_t> level_words;  // these three for stored levels
    DeviceArray<NonzeroPlaces> nonzero;
    DeviceArray<CodeTables> codes;
    DeviceArray<uint64_t> links;
    DeviceArray<uint32_t> bit_words;  // these two where a kernel of its own joins them
    DeviceArray<PieceBits> piece_bits;
    DeviceArray<uint8_t> bytes;
    uint32_t serial = 0;  // of the frame; 0: links and sums must be cleared
    PooledBuffer out;     // the packet that kernels write, if they do; coded bytes begin at `room`
    size_t room;          // for the headers before them
    Metadata metadata;
    int32_t scale;
    Divisors divisors;                 // at that scale
    WideQuantiser quantiser[kTables];  // of these
    Trellis trellis;                   // of these
    HuffmanSpecs huffman;
    std::vector<uint8_t> header;
};

class MjpegDeviceEncoder : public DeviceEncoder<Slot> {
  public:
    MjpegDeviceEncoder(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                       bool stage_times, bool device_packets)
        : DeviceEncoder(std::move(device), params.input, threads, device_frames, kStageNames, stage_times,
                        device_packets),
          p_(params),
          device_packets_(device_packets),
          scans_(cut_scans(p_)),
          pieces_(scans_.back().first_piece + scans_.back().pieces),
          groups_(scans_.back().first_group + scans_.back().groups()),
          coded_bytes_(p_.blocks * (kBlockSamples / 4)),
          setup_(device_) {
        for (const Scan &scan : p_.scans) scan_headers_.push_back(make_scan_header(p_, scan));
        copied_ = slots > 1 && pieces_ >= kCopiedPieces;
        joined_ = device_packets_ || copied_;
        const std::vector<CodeTables> codes{make_codes(default_huffman(), p_.tables)};
        default_codes_ = upload_table(device_, setup_, codes);
        for (int i = 0; i < slots; i++) add_slot(make_slot());
        device_->synchronize(setup_);
    }
    ~MjpegDeviceEncoder() override { drain(); }

  private:
    std::unique_ptr<Slot> make_slot() {
        auto slot = std::make_unique<Slot>(device_);
        Slot &s = *slot;
        set_scale(s, p_.scale);
        s.huffman = default_huffman();
        if (p_.optimal || p_.frame_bytes) {
            make(s.sums, 1);
            make(s.level_words, size_t{pieces_} * kPieceLevelWords);
            make(s.nonzero, size_t{pieces_} * kPieceBlocks);
            make(s.codes, 1);
        }
        make(s.links, 3 * size_t{pieces_} + groups_ / 2 + 2);
        if (joined_) make(s.piece_bits, pieces_);
        return slot;
    }

    // Makes room for so many coded bytes, on the device and in a packet.
    void make_room(Slot &s, uint64_t bytes) {
        if (!device_packets_ && bytes + kLineBytes > s.bytes.count()) {
            s.bytes = {};  // device memory may lack room for both
            make(s.bytes, bytes + bytes / 4 + kLineBytes);
        }
        s.out.reset();
        if (kernels_write_packet(s)) s.out = packets_->take(s.room + bytes + kEndRoom);
        const size_t words = StoredBits::words_for(coded(s).capacity, pieces_);
        if (joined_ && words > s.bit_words.count()) {
            s.bit_words = {};
            make(s.bit_words, words);
        }
    }

    void take(Slot &s, const SourcePicture &frame) override {
        DeviceEncoder::take(s, frame);
        s.metadata = take_metadata(p_, s.frame);
        const size_t icc = s.metadata.icc_profile.size();
        s.room = (kHeaderRoom + p_.comment.size() + s.metadata.exif.size() + icc + icc / 1024 + kLineBytes - 1) /
                 kLineBytes * kLineBytes;
        make_room(s, coded_bytes_);
    }

    void queue(Slot &s) override {
        upload_.queue(s);
        mark(s, kTransform);
        if (p_.frame_bytes || (p_.optimal && s.serial == 0))
            device_->fill(s.stream, s.sums.data(), 0, sizeof(FrameSums));
        const bool optimal = p_.optimal && !p_.frame_bytes;
        if (p_.frame_bytes)
            count_bins(s);
        else if (optimal)
            transform(s);
        else
            encode(s);
        mark(s, kMakeTables);
        if (optimal) make_tables(s);
        mark(s, kCode);
        if (optimal) code_levels(s);
        if (p_.frame_bytes) return;
        s.header = make_frame_header(p_, s.metadata, s.divisors);
        if (optimal) return;
        complete_header(s);
        if (device_packets_) place_header(s);
    }

    // The tables, and what begins the first scan.
    void complete_header(Slot &s) const {
        append_dht(s.header, s.huffman, p_.tables);
        s.header.insert(s.header.end(), scan_headers_[0].begin(), scan_headers_[0].end());
        if (s.header.size() > s.room)
            throw Error(CUDAENC_ERR_INTERNAL, "marker segments that are larger than their room");
    }
    uint8_t *packet_begin(Slot &s) const { return s.out->memory + s.room - s.header.size(); }
    void place_header(Slot &s) { place(s, packet_begin(s), s.header); }

    // Copies what the host has made to the packet.
    void place(Slot &s, uint8_t *to, const std::vector<uint8_t> &bytes) {
        if (device_packets_)
            device_->upload(s.stream, to, bytes.data(), bytes.size());
        else
            std::copy(bytes.begin(), bytes.end(), to);
    }

    void reset(Slot &s) noexcept override {
        DeviceEncoder::reset(s);
        s.serial = 0;
    }

    // Else it is downloaded, once its place is known: behind the first field that of the second.
    bool kernels_write_packet(const Slot &s) const {
        return device_packets_ || (!copied_ && s.frame.kind == PictureKind::frame);
    }
    CodedBytes coded(Slot &s) const {
        uint8_t *const packet = s.out ? s.out->memory + s.room : nullptr;
        const uint64_t capacity = s.out ? s.out->capacity - s.room - kEndRoom : UINT64_MAX;
        return {.bytes = device_packets_ ? packet : s.bytes.data(),
                .packet = device_packets_ ? nullptr : packet,
                .capacity = device_packets_ ? capacity : std::min(s.bytes.count() - kLineBytes, capacity),
                .result = s.result.data()};
    }
    PieceLinks links(Slot &s) {
        if (s.serial == 0) device_->fill(s.stream, s.links.data(), 0, s.links.bytes());
        s.serial = s.serial % 255 + 1;
        uint64_t *words = s.links.data();
        uint32_t *counters = reinterpret_cast<uint32_t *>(words + 3 * size_t{pieces_});
        return {.tickets = counters,
                .written = counters + 2,
                .bits = words,
                .tails = words + pieces_,
                .bytes = words + 2 * size_t{pieces_},
                .serial = s.serial};
    }
    StoredBits stored_bits(Slot &s) const {
        uint32_t *const counters = reinterpret_cast<uint32_t *>(s.links.data() + 3 * size_t{pieces_});
        return {.words = joined_ ? s.bit_words.data() : nullptr,
                .capacity = s.bit_words.count(),
                .used = counters + 1,
                .pieces = s.piece_bits.data()};
    }
    StoredLevels levels(Slot &s) const { return {.words = s.level_words.data(), .nonzero = s.nonzero.data()}; }

    // A launch for each scan, or two.
    template <class P>
    void launch_pieces(Slot &s, P params) {
        for (const ScanPieces &scan : scans_) {
            params.scan = scan;
            device_->launch(s.stream, {scan.pieces}, kPieceBlocks, params);
            if constexpr (requires { params.stored; })
                if (joined_)
                    device_->launch(s.stream, {scan.groups()}, kJoinThreads,
                                    JoinParams{params.out, params.links, params.stored, scan});
        }
    }

    void set_scale(Slot &s, int32_t scale) const {
        s.scale = scale;
        s.divisors = make_divisors(p_, scale);
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++)
                s.quantiser[table].multiplier[i] = wide_reciprocal_of(s.divisors.of[table][i]);
        if (!p_.trellis) return;
        s.trellis = {.tables = {.steps = {}, .lengths = annexk_lengths()}, .lambda = lambda_of(s.divisors.of[kLuma])};
        for (int table = 0; table < kTables; table++)
            for (int k = 0; k < kBlockSamples; k++)
                s.trellis.tables.steps[table][k] = {.multiplier = s.quantiser[table].multiplier[kZigzag[k]],
                                                    .step = 8 * s.divisors.of[table][kZigzag[k]]};
    }

    // Where the samples lie, and their quantisers.
    template <class P>
    static void set_pixels(const Slot &s, P &params) {
        std::copy_n(s.layout.data(), kMaxComponents, params.layouts);
        if constexpr (requires { params.quantiser; }) std::copy_n(s.quantiser, kTables, params.quantiser);
    }

    void encode(Slot &s) {
        EncodeParams params{.codes = default_codes_.data(),
                            .out = coded(s),
                            .links = links(s),
                            .stored = stored_bits(s),
                            .scan = {},
                            .layouts = {},
                            .quantiser = {}};
        set_pixels(s, params);
        if (p_.trellis)
            launch_pieces(s, EncodeTrellisParams{params, s.trellis});
        else
            launch_pieces(s, params);
    }
    void transform(Slot &s) {
        TransformParams params{.levels = levels(s), .sums = s.sums.data(), .scan = {}, .layouts = {}, .quantiser = {}};
        set_pixels(s, params);
        if (p_.trellis)
            launch_pieces(s, TransformTrellisParams{params, s.trellis});
        else
            launch_pieces(s, params);
    }
    void count_bins(Slot &s) {
        BinsParams params{.sums = s.sums.data(), .scan = {}, .layouts = {}, .threshold = {}};
        set_pixels(s, params);
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++) params.threshold[table][i] = rate_threshold(p_.matrix[table][i]);
        launch_pieces(s, params);
        device_->download(s.stream, s.host_sums.data(), s.sums.data(), sizeof(FrameSums));
    }
    void make_tables(Slot &s) {
        device_->launch(
            s.stream, {2 * static_cast<unsigned>(p_.tables)}, kTablesThreads,
            TablesParams{
                .counts = &s.sums.data()->symbols, .specs = &s.result.data()->huffman, .codes = s.codes.data()});
    }
    void code_levels(Slot &s) {
        launch_pieces(s, CodeParams{.levels = levels(s),
                                    .codes = s.codes.data(),
                                    .out = coded(s),
                                    .links = links(s),
                                    .stored = stored_bits(s),
                                    .scan = {}});
    }

    // Searches from the bins that the device has counted. Each trial transforms again: that is faster than to store
    // coefficients.
    void meet_size(Slot &s) {
        const std::vector<uint32_t> bins(s.host_sums.data()->bins, s.host_sums.data()->bins + kRateBins);
        RateSearch search{.target = static_cast<uint64_t>(p_.frame_bytes),
                          .bins = bins.data(),
                          .blocks = p_.blocks,
                          .low = p_.min_scale,
                          .high = p_.max_scale};
        search_scale(search, [&](int32_t scale) {
            set_scale(s, scale);
            device_->fill(s.stream, s.sums.data(), 0, sizeof(FrameSums));
            transform(s);
            device_->download(s.stream, s.host_sums.data(), s.sums.data(), sizeof(FrameSums));
            device_->synchronize(s.stream);
            const SymbolCounts &counts = s.host_sums.data()->symbols;
            if (p_.optimal) s.huffman = optimal_huffman(counts, p_.tables);
            return packet_bytes(p_, s.metadata, s.divisors, s.huffman,
                                count_bits(counts, make_codes(s.huffman, p_.tables)));
        });
        *s.host_codes.data() = make_codes(s.huffman, p_.tables);
        device_->upload(s.stream, s.codes.data(), s.host_codes.data(), sizeof(CodeTables));
        code_levels(s);
        device_->synchronize(s.stream);
    }

    void complete(Slot &s, PooledBuffer &packet) override {
        const FrameResult &result = *s.result.data();
        const bool headed = !p_.frame_bytes && !p_.optimal;  // since code()
        if (p_.frame_bytes) meet_size(s);
        while (result.bytes > coded(s).capacity) {  // rare; the samples are still there
            make_room(s, result.bytes);
            if (device_packets_ && headed) place_header(s);
            if (p_.frame_bytes || p_.optimal)
                code_levels(s);
            else
                encode(s);
            device_->synchronize(s.stream);
        }
        coded_bytes_ = std::max(coded_bytes_, result.bytes);
        if (p_.optimal && !p_.frame_bytes) s.huffman = result.huffman;
        if (p_.frame_bytes) s.header = make_frame_header(p_, s.metadata, s.divisors);
        if (!headed) complete_header(s);
        const size_t size = s.header.size() + result.bytes + 2;
        if (kernels_write_packet(s)) {
            place_packet(s, s, packet_begin(s));
            if (device_packets_ && (!headed || scans_.size() > 1)) s.copying = true;
            s.out->set_packet(s.room - s.header.size(), size);
            packet = std::move(s.out);
        } else {
            packet = make_packet(s, size, [&](const Slot &from, uint8_t *to) { place_packet(s, from, to); });
        }
        describe_packet(p_, s.scale, *packet);
        packet->metadata_warning = s.metadata.warning;
    }

    // Brings to `to` what kernels did not write there of the packet of `from`; downloads are those of `s`.
    void place_packet(Slot &s, const Slot &from, uint8_t *to) {
        const FrameResult &result = *from.result.data();
        if (!device_packets_ || p_.frame_bytes || p_.optimal) place(s, to, from.header);
        uint8_t *bytes = to + from.header.size();
        for (size_t i = 0; i < scans_.size(); i++) {
            const uint64_t begin = result.scan[i], end = i + 1 < scans_.size()
                                                             ? result.scan[i + 1] - scan_headers_[i + 1].size()
                                                             : result.bytes;
            if (!kernels_write_packet(from)) queue_download(s, bytes + begin, from.bytes.data() + begin, end - begin);
            if (i) place(s, bytes + begin - scan_headers_[i].size(), scan_headers_[i]);
        }
        if (!device_packets_) bytes[result.bytes] = kEoi >> 8, bytes[result.bytes + 1] = kEoi & 0xFF;
    }

    const Params p_;
    const bool device_packets_;  // the kernels write them where they stay
    const std::vector<ScanPieces> scans_;
    const uint32_t pieces_, groups_;  // of all scans
    std::vector<std::vector<uint8_t>> scan_headers_;
    // Whether a frame is copied to the host after it is coded, or the kernels write it there. The kernels are faster
    // for one frame in flight, and for small frames, where each call of the driver counts (1920x1080, one H200: 83 200
    // frames/s against 66 900). Copies are faster for large frames in flight (3840x2160: 24 400 frames/s, as much as
    // the link carries, against 21 400).
    bool copied_ = false;
    // Whether pieces are joined by a kernel of its own: then none waits for another while it is coded.
    bool joined_ = false;
    uint64_t coded_bytes_;  // of the largest frame so far; at first an estimate
    Stream setup_;
    DeviceArray<CodeTables> default_codes_;
};

}  // namespace

std::unique_ptr<Encoder> make_device_encoder(const Params &params, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times,
                                             bool device_packets) {
    return std::make_unique<MjpegDeviceEncoder>(params, slots, threads, std::move(device), device_frames, stage_times,
                                                device_packets);
}

}  // namespace cudaenc::mjpeg
