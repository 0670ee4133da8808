// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG on a device, top to bottom: load, forward DCT, quantisation, Huffman coding, byte stuffing, in one launch. Large
// frames in flight take another one, which joins pieces. Optimal tables take two: levels are stored and symbols
// counted. For a target size the host searches for the scale of the matrices, and the device transforms at each trial.
// The host writes the headers. Fields of a frame are further scans, with headers of a picture between them.
#include <algorithm>

#include "../../common/error.h"
#include "../../common/fields.h"
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

// A frame, or a field of one.
struct Picture {
    Metadata metadata;
    int32_t scale;
    Divisors divisors;                 // at that scale
    WideQuantiser quantiser[kTables];  // of these
    Trellis trellis;                   // of these
    HuffmanSpecs huffman;
    std::vector<uint8_t> header;  // SOI to the first SOS
};

struct Slot : FrameSlot {
    explicit Slot(const std::shared_ptr<Device> &device)
        : FrameSlot(device), result(device, 1), host_sums(device, kMostPictures), host_codes(device, kMostPictures) {}
    PinnedArray<FrameResult> result;
    PinnedArray<FrameSums> host_sums;  // [picture]; these two for a target size
    PinnedArray<CodeTables> host_codes;
    DeviceArray<FrameSums> sums;        // [picture]
    DeviceArray<uint32_t> level_words;  // these three for stored levels
    DeviceArray<NonzeroPlaces> nonzero;
    DeviceArray<CodeTables> codes;  // [picture]
    DeviceArray<uint64_t> links;
    DeviceArray<uint32_t> bit_words;  // these two where a kernel of its own joins them
    DeviceArray<PieceBits> piece_bits;
    DeviceArray<uint8_t> bytes;
    uint32_t serial = 0;            // of the frame; 0: links and sums must be cleared
    PooledBuffer out;               // the packet that kernels write, if they do; coded bytes begin at `room`
    size_t room;                    // for the headers before them
    std::vector<Picture> pictures;  // in the order of the packet
};

CudaencFormat format_of_frames(CudaencFormat pictures, int fields) {
    if (fields) pictures.height *= 2;
    return pictures;
}

class MjpegDeviceEncoder : public DeviceEncoder<Slot> {
  public:
    MjpegDeviceEncoder(const Params &params, int slots, int threads, std::shared_ptr<Device> device, bool device_frames,
                       bool stage_times, bool device_packets, int fields)
        : DeviceEncoder(std::move(device), format_of_frames(params.input, fields), threads, device_frames, kStageNames,
                        stage_times, device_packets),
          p_(params),
          fields_(fields),
          pictures_(fields ? 2 : 1),
          device_packets_(device_packets),
          scans_(cut_scans(p_, pictures_)),
          pieces_(scans_.back().first_piece + scans_.back().pieces),
          groups_(scans_.back().first_group + scans_.back().groups()),
          coded_bytes_(pictures_ * p_.blocks * (kBlockSamples / 4)),
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
        s.pictures.resize(pictures_);
        for (Picture &picture : s.pictures) {
            set_scale(picture, p_.scale);
            picture.huffman = default_huffman();
        }
        if (p_.optimal || p_.frame_bytes) {
            make(s.sums, pictures_);
            make(s.level_words, size_t{pieces_} * kPieceLevelWords);
            make(s.nonzero, size_t{pieces_} * kPieceBlocks);
            make(s.codes, pictures_);
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
        if (kernels_write_packet()) s.out = packets_->take(s.room + bytes + kEndRoom);
        const size_t words = StoredBits::words_for(coded(s).capacity, pieces_);
        if (joined_ && words > s.bit_words.count()) {
            s.bit_words = {};
            make(s.bit_words, words);
        }
    }

    void take(Slot &s, const SourcePicture &frame) override {
        DeviceEncoder::take(s, frame);
        for (size_t i = 0; i < pictures_; i++)
            s.pictures[i].metadata = take_metadata(p_, fields_ ? field_of(s.frame, fields_, i == 1) : s.frame);
        const Metadata &metadata = s.pictures[0].metadata;
        const size_t icc = metadata.icc_profile.size();
        s.room = (kHeaderRoom + p_.comment.size() + metadata.exif.size() + icc + icc / 1024 + kLineBytes - 1) /
                 kLineBytes * kLineBytes;
        make_room(s, coded_bytes_);
    }

    void queue(Slot &s) override {
        upload_.queue(s);
        mark(s, kTransform);
        if (p_.frame_bytes || (p_.optimal && s.serial == 0)) device_->fill(s.stream, s.sums.data(), 0, s.sums.bytes());
        if (is_headed() && fields_) make_header(s, s.pictures[1]);  // for which launches leave room
        const bool optimal = p_.optimal && !p_.frame_bytes;
        if (p_.frame_bytes)
            count_bins(s);
        else if (optimal)
            for (size_t i = 0; i < pictures_; i++) transform(s, i);
        else
            encode(s);
        mark(s, kMakeTables);
        if (optimal) make_tables(s);
        mark(s, kCode);
        if (optimal) code_levels(s);
        if (is_headed()) make_header(s, s.pictures[0]);  // while the device works
        if (device_packets_ && is_headed()) place_header(s);
    }

    // Whether headers are known before levels are.
    bool is_headed() const { return !p_.frame_bytes && !p_.optimal; }
    void make_header(const Slot &s, Picture &picture) const {
        picture.header = make_frame_header(p_, picture.metadata, picture.divisors);
        append_dht(picture.header, picture.huffman, p_.tables);
        picture.header.insert(picture.header.end(), scan_headers_[0].begin(), scan_headers_[0].end());
        if (picture.header.size() > s.room)
            throw Error(CUDAENC_ERR_INTERNAL, "marker segments that are larger than their room");
    }
    uint8_t *packet_begin(Slot &s) const { return s.out->memory + s.room - s.pictures[0].header.size(); }
    void place_header(Slot &s) { place(s, packet_begin(s), s.pictures[0].header); }

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

    // Else it is downloaded. So are fields whose headers have tables that the device makes.
    bool kernels_write_packet() const {
        return device_packets_ || !(copied_ || (fields_ && p_.optimal && !p_.frame_bytes));
    }
    // What kernels leave free before a scan: for its header, behind a first field also for EOI.
    uint32_t room_before(const Slot &s, size_t scan) const {
        if (scan != p_.scans.size() || !fields_) return scans_[scan].header_bytes;
        return kernels_write_packet() ? static_cast<uint32_t>(2 + s.pictures[1].header.size()) : 0;
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

    // A launch for each scan of the picture, or two.
    template <class P>
    void launch_pieces(Slot &s, size_t picture, P params) {
        const size_t first = picture * p_.scans.size();
        for (size_t i = first; i < first + p_.scans.size(); i++) {
            params.scan = scans_[i];
            params.scan.header_bytes = room_before(s, i);
            device_->launch(s.stream, {params.scan.pieces}, kPieceBlocks, params);
            if constexpr (requires { params.stored; })
                if (joined_)
                    device_->launch(s.stream, {params.scan.groups()}, kJoinThreads,
                                    JoinParams{params.out, params.links, params.stored, params.scan});
        }
    }
    // From its samples.
    template <class WithTrellis, class P>
    void launch_samples(Slot &s, size_t picture, P params) {
        set_samples(s, picture, params);
        if (p_.trellis)
            launch_pieces(s, picture, WithTrellis{params, s.pictures[picture].trellis});
        else
            launch_pieces(s, picture, params);
    }

    void set_scale(Picture &to, int32_t scale) const {
        to.scale = scale;
        to.divisors = make_divisors(p_, scale);
        for (int table = 0; table < kTables; table++)
            for (int i = 0; i < kBlockSamples; i++)
                to.quantiser[table].multiplier[i] = wide_reciprocal_of(to.divisors.of[table][i]);
        if (!p_.trellis) return;
        to.trellis = {.tables = {.steps = {}, .lengths = annexk_lengths()}, .lambda = lambda_of(to.divisors.of[kLuma])};
        for (int table = 0; table < kTables; table++)
            for (int k = 0; k < kBlockSamples; k++)
                to.trellis.tables.steps[table][k] = {.multiplier = to.quantiser[table].multiplier[kZigzag[k]],
                                                     .step = 8 * to.divisors.of[table][kZigzag[k]]};
    }

    // Where the samples lie, and their quantisers.
    template <class P>
    void set_samples(const Slot &s, size_t picture, P &params) const {
        const bool bottom = fields_ && (picture == 1) != (fields_ == CUDAENC_BOTTOM_FIELD_FIRST);
        for (size_t c = 0; c < p_.components.size(); c++) {
            SampleLayout &layout = params.layouts[c] = s.layout.data()[c];
            if (bottom) layout = begin_at(layout, 0, -1);
            layout.stride *= static_cast<int64_t>(pictures_);
        }
        if constexpr (requires { params.quantiser; })
            std::copy_n(s.pictures[picture].quantiser, kTables, params.quantiser);
    }

    void encode(Slot &s) {
        const EncodeParams params{.codes = default_codes_.data(),
                                  .out = coded(s),
                                  .links = links(s),
                                  .stored = stored_bits(s),
                                  .scan = {},
                                  .layouts = {},
                                  .quantiser = {}};
        for (size_t i = 0; i < pictures_; i++) launch_samples<EncodeTrellisParams>(s, i, params);
    }
    void transform(Slot &s, size_t picture) {
        launch_samples<TransformTrellisParams>(
            s, picture,
            TransformParams{
                .levels = levels(s), .sums = s.sums.data() + picture, .scan = {}, .layouts = {}, .quantiser = {}});
    }
    void count_bins(Slot &s) {
        for (size_t i = 0; i < pictures_; i++) {
            BinsParams params{.sums = s.sums.data() + i, .scan = {}, .layouts = {}, .threshold = {}};
            set_samples(s, i, params);
            for (int table = 0; table < kTables; table++)
                for (int k = 0; k < kBlockSamples; k++)
                    params.threshold[table][k] = rate_threshold(p_.matrix[table][k]);
            launch_pieces(s, i, params);
        }
        device_->download(s.stream, s.host_sums.data(), s.sums.data(), s.sums.bytes());
    }
    void make_tables(Slot &s) {
        for (size_t i = 0; i < pictures_; i++)
            device_->launch(s.stream, {2 * static_cast<unsigned>(p_.tables)}, kTablesThreads,
                            TablesParams{.counts = &s.sums.data()[i].symbols,
                                         .specs = &s.result.data()->huffman[i],
                                         .codes = s.codes.data() + i});
    }
    void code_levels(Slot &s) {
        CodeParams params{.levels = levels(s),
                          .codes = nullptr,
                          .out = coded(s),
                          .links = links(s),
                          .stored = stored_bits(s),
                          .scan = {}};
        for (size_t i = 0; i < pictures_; i++) {
            params.codes = s.codes.data() + i;
            launch_pieces(s, i, params);
        }
    }

    // Searches from the bins that the device has counted. Each trial transforms again: that is faster than to store
    // coefficients.
    void meet_size(Slot &s, size_t i) {
        Picture &picture = s.pictures[i];
        FrameSums &host_sums = s.host_sums.data()[i];
        const std::vector<uint32_t> bins(host_sums.bins, host_sums.bins + kRateBins);
        RateSearch search{.target = static_cast<uint64_t>(p_.frame_bytes),
                          .bins = bins.data(),
                          .blocks = p_.blocks,
                          .low = p_.min_scale,
                          .high = p_.max_scale};
        search_scale(search, [&](int32_t scale) {
            set_scale(picture, scale);
            device_->fill(s.stream, s.sums.data() + i, 0, sizeof(FrameSums));
            transform(s, i);
            device_->download(s.stream, &host_sums, s.sums.data() + i, sizeof(FrameSums));
            device_->synchronize(s.stream);
            if (p_.optimal) picture.huffman = optimal_huffman(host_sums.symbols, p_.tables);
            return packet_bytes(p_, picture.metadata, picture.divisors, picture.huffman,
                                count_bits(host_sums.symbols, make_codes(picture.huffman, p_.tables)));
        });
        make_header(s, picture);
        s.host_codes.data()[i] = make_codes(picture.huffman, p_.tables);
    }

    void complete(Slot &s, PooledBuffer &packet) override {
        const FrameResult &result = *s.result.data();
        if (p_.frame_bytes) {
            for (size_t i = 0; i < pictures_; i++) meet_size(s, i);
            device_->upload(s.stream, s.codes.data(), s.host_codes.data(), s.codes.bytes());
            code_levels(s);
            device_->synchronize(s.stream);
        }
        while (result.bytes > coded(s).capacity) {  // rare; the samples are still there
            make_room(s, result.bytes);
            if (device_packets_ && is_headed()) place_header(s);
            if (is_headed())
                encode(s);
            else
                code_levels(s);
            device_->synchronize(s.stream);
        }
        coded_bytes_ = std::max(coded_bytes_, result.bytes);
        if (p_.optimal && !p_.frame_bytes)
            for (size_t i = 0; i < pictures_; i++) {
                s.pictures[i].huffman = result.huffman[i];
                make_header(s, s.pictures[i]);
            }
        size_t size = 0;
        for (size_t i = 0; i < pictures_; i++) size += picture_bytes(s, i);
        if (kernels_write_packet()) {
            packet = std::move(s.out);
            packet->set_packet(s.room - s.pictures[0].header.size(), size);
        } else {
            packet = packets_->take(size);
        }
        place_packet(s, packet->data);
        if (device_packets_ && (!is_headed() || scans_.size() > 1)) s.copying = true;
        for (size_t i = pictures_; i-- > 0;) describe_packet(p_, s.pictures[i].scale, picture_bytes(s, i), *packet);
        packet->metadata_warning = s.pictures[0].metadata.warning;
    }

    uint64_t scan_bytes(const Slot &s, size_t scan) const {
        const FrameResult &result = *s.result.data();
        const size_t next = scan + 1;
        return (next < scans_.size() ? result.scan[next] - room_before(s, next) : result.bytes) - result.scan[scan];
    }
    // SOI to EOI.
    uint64_t picture_bytes(const Slot &s, size_t picture) const {
        uint64_t bytes = s.pictures[picture].header.size() + 2;
        for (size_t i = 0; i < p_.scans.size(); i++)
            bytes += (i ? scan_headers_[i].size() : 0) + scan_bytes(s, picture * p_.scans.size() + i);
        return bytes;
    }

    // Brings to `to` what kernels did not write there of the packet.
    void place_packet(Slot &s, uint8_t *to) {
        for (size_t picture = 0, scan = 0; picture < pictures_; picture++) {
            uint8_t *const begin = to;
            for (size_t i = 0; i < p_.scans.size(); i++, scan++) {
                const std::vector<uint8_t> &header = i ? scan_headers_[i] : s.pictures[picture].header;
                if (scan || !device_packets_ || !is_headed()) place(s, to, header);
                to += header.size();
                const uint64_t bytes = scan_bytes(s, scan);
                if (!kernels_write_packet()) queue_download(s, to, s.bytes.data() + s.result.data()->scan[scan], bytes);
                to += bytes;
            }
            if (device_packets_) continue;
            *to++ = kEoi >> 8, *to++ = kEoi & 0xFF;
            if (fields_) set_field_size(begin, static_cast<size_t>(to - begin));
        }
    }

    const Params p_;             // of a picture
    const int fields_;           // CudaencFields of frames that are two pictures
    const size_t pictures_;      // of a frame
    const bool device_packets_;  // the kernels write them where they stay
    const std::vector<ScanPieces> scans_;
    const uint32_t pieces_, groups_;                  // of all scans
    std::vector<std::vector<uint8_t>> scan_headers_;  // of a picture
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
                                             bool device_packets, int fields) {
    return std::make_unique<MjpegDeviceEncoder>(params, slots, threads, std::move(device), device_frames, stage_times,
                                                device_packets, fields);
}

}  // namespace cudaenc::mjpeg
