// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 decoding on a device, top to bottom. Threads read headers and packet headers, and join the bytes of each
// code-block in the memory of one upload, while the device decodes the pictures before. Then block decoders, inverse
// wavelet and component transforms to planes.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>

#include "../../common/error.h"
#include "../../common/j2k/codestream/read_headers.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/jp2_reader.h"
#include "../../common/j2k/t2/packet_reader.h"
#include "../../common/planes.h"
#include "../../common/thread_pool.h"
#include "../device_pipeline.h"
#include "t1/block_decoder.h"
#include "transform/inverse_transform.h"

namespace cudaenc::j2k {

namespace {

enum Stage { kUpload, kBlocks, kTransform, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "blocks", "transform", "download"};

constexpr size_t kCopies = 64;           // of pieces of segments, that a thread makes at a time
constexpr size_t kTableBytes = 1 << 16;  // of tables, which most pictures' are less than
constexpr size_t kAlignment = 32;        // of what is uploaded

// What follows from headers: the same for all pictures that have them alike.
struct PictureTables {
    Description description;         // without tile-parts
    std::vector<size_t> components;  // of channels
    Geometry geometry;
    DecoderLimits limits;         // of the blocks that are decoded, for either decoder
    bool blocks_are_all = false;  // coefficients that are read
    InversePlan plan;
    std::vector<uint32_t> places;  // [channel]: in the order of components
};

// Bytes of a segment: to byte `to` of all that are uploaded.
struct Copy {
    const uint8_t *from;
    uint64_t to;
    size_t bytes;
};

// The blocks of a tile, or of all of them, as kernels take them.
struct UploadedBlocks {
    std::array<std::vector<DecoderBlock>, 2> lists;  // for the MQ decoder, for the HT decoder
    std::vector<DecoderSegment> segments;
    std::vector<Copy> copies;
    uint64_t bytes = 0;
    std::string damage;  // of packets

    // Adds those of another tile.
    void append(const UploadedBlocks &other) {
        const auto first_segment = static_cast<uint32_t>(segments.size());
        for (size_t i = 0; i < lists.size(); i++)
            for (DecoderBlock block : other.lists[i]) {
                block.first_segment += first_segment;
                lists[i].push_back(block);
            }
        for (DecoderSegment segment : other.segments) {
            segment.at += static_cast<uint32_t>(bytes);
            segments.push_back(segment);
        }
        for (const Copy &copy : other.copies) copies.push_back({copy.from, bytes + copy.to, copy.bytes});
        bytes += other.bytes;
        if (damage.empty()) damage = other.damage;
    }
};

// What of the upload is more than tables. Kernels add to `damaged`.
struct Counters {
    std::array<uint32_t, 2> blocks;  // of UploadedBlocks::lists
    LaneShares lanes;                // of the first list
    uint32_t damaged;
};

struct Slot : DeviceSlot<Decoded> {
    explicit Slot(const std::shared_ptr<Device> &device) : DeviceSlot(device), damaged(device, 1) {}
    CodedPicture picture{};
    std::shared_ptr<const PictureTables> tables;
    UploadedBlocks blocks;
    std::unique_ptr<PinnedArray<uint8_t>> staged;  // what is uploaded: bytes, then tables
    size_t staged_bytes = 0;
    DeviceArray<uint8_t> data;                            // the same
    std::shared_ptr<const PictureTables> tables_of_work;  // nullptr: there is none
    DeviceArray<InverseWork> work;                        // of their plan
    DecoderLimits mq_limits, ht_limits;                   // of:
    std::unique_ptr<MqBlockDecoder> mq_decoder;           // nullptr: there were no blocks for it
    std::unique_ptr<HtBlockDecoder> ht_decoder;           // the same
    DeviceArray<uint32_t> coefficients;
    std::array<DeviceArray<uint32_t>, 2> resolutions;  // of even and of odd levels
    DeviceArray<uint8_t> pixels;                       // of planes for host memory
    std::array<uint8_t *, 4> planes{};                 // on the device
    std::array<int64_t, 4> strides{};
    PinnedArray<uint32_t> damaged;
    std::shared_ptr<ThreadPool::Task> reads;  // read() of the picture
    bool is_reading = false;                  // the task runs, or is about to
    std::exception_ptr failure;               // of it
};

class J2kDeviceDecoder : public DevicePipeline<Decoder, Slot> {
  public:
    J2kDeviceDecoder(const DecoderOptions &options, int slots, int threads, std::shared_ptr<Device> device,
                     bool device_frames, bool stage_times)
        : DevicePipeline(std::move(device), kStageNames, stage_times),
          options_(options),
          device_frames_(device_frames),
          pool_(thread_count(threads)) {
        for (int i = 0; i < slots; i++) {
            auto slot = std::make_unique<Slot>(device_);
            slot->reads = std::make_shared<ThreadPool::Task>([this, s = slot.get()] { read_as_task(*s); });
            add_slot(std::move(slot));
        }
    }
    ~J2kDeviceDecoder() override {
        pool_.stop();
        drain();
    }

    bool done(int number) noexcept override { return !is_reading(slot(number)) && DevicePipeline::done(number); }

  private:
    void take(Slot &s, const CodedPicture &picture) override {
        s.picture = picture;
        make_room_for_upload(s, picture.size);
    }

    // A picture alone is read at once. Others are read by a thread each, and queued once they are, in their order.
    void queue(Slot &s) override {
        if (alone()) {
            read(s);
            return queue_work(s);
        }
        {
            const std::lock_guard lock(mutex_);
            s.is_reading = true;
        }
        s.deferred = true;
        deferred_.push_back(&s);
        pool_.post(s.reads);
        queue_those_read();
    }

    // The oldest one, which the caller waits for.
    void queue_deferred() override {
        if (deferred_.empty()) return;
        wait_for_read(*deferred_.front());
        queue_those_read();
    }

    void queue_those_read() {
        while (!deferred_.empty() && !is_reading(*deferred_.front())) {
            Slot &s = *deferred_.front();
            deferred_.erase(deferred_.begin());
            s.deferred = false;
            try {
                if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
                queue_work(s);
                device_->record(s.worked, s.stream);
                s.awaited = s.worked;
                mark(s, kDownload);
            } catch (...) {
                s.error = std::current_exception();
            }
        }
    }

    void queue_work(Slot &s) {
        const PictureTables &t = *s.tables;
        make_room(s);
        place_planes(s);
        mark(s, kUpload);
        const Uploaded uploaded = upload(s);
        mark(s, kBlocks);
        if (!t.blocks_are_all) device_->fill(s.stream, s.coefficients.data(), 0, t.geometry.samples * sizeof(uint32_t));
        if (!s.blocks.lists[0].empty()) s.mq_decoder->decode(s.stream, uploaded.coded[0]);
        if (!s.blocks.lists[1].empty()) s.ht_decoder->decode(s.stream, uploaded.coded[1]);
        device_->download(s.stream, s.damaged.data(), uploaded.coded[0].damaged, sizeof(uint32_t));
        mark(s, kTransform);
        if (device_frames_) device_->wait_foreign(s.stream, s.picture.cuda_stream);
        queue_inverse_transform(*device_, s.stream, t.plan,
                                {.work = s.work.data(),
                                 .coefficients = s.coefficients.data(),
                                 .resolutions = {s.resolutions[0].data(), s.resolutions[1].data()},
                                 .channels = uploaded.channels});
    }

    void complete(Slot &s, Decoded &decoded) override {
        if (!device_frames_) {
            const CudaencFormat &format = s.picture.header->info.format;
            for (int i = 0; i < format.planes; i++) {
                const PlaneSize size = plane_size(format, i);
                device_->download_2d(s.stream, s.picture.planes[i], s.picture.stride[i], s.planes[i],
                                     static_cast<size_t>(s.strides[i]), size.row_bytes, size.rows);
            }
            s.copying = true;
        }
        decoded.damage = s.blocks.damage.empty() ? damage_of_blocks(*s.damaged.data()) : std::move(s.blocks.damage);
    }

    void reset(Slot &s) noexcept override {
        std::erase(deferred_, &s);
        wait_for_read(s);
        s.failure = nullptr;
        s.tables_of_work.reset();
    }

    // ---- Reading

    // Headers, and which bytes are whose. These it copies to where they are uploaded from.
    void read(Slot &s) {
        const std::span<const uint8_t> codestream = read_jp2({s.picture.data, s.picture.size}).codestream;
        Description description = read_headers(codestream);
        s.tables = find_tables(description, header_of(s.picture), codestream.size());
        const TileRange range = tiles_of(description, area_of(description, options_.region));
        const auto columns = static_cast<size_t>(range.x1 - range.x0), rows = static_cast<size_t>(range.y1 - range.y0);
        std::vector<UploadedBlocks> tiles(columns * rows);
        pool_.for_each(tiles.size(), [&](size_t i) {
            const int tx = range.x0 + static_cast<int>(i % columns), ty = range.y0 + static_cast<int>(i / columns);
            tiles[i] = list_blocks(codestream, description, s.tables->geometry,
                                   static_cast<uint32_t>(ty * description.tiles_x + tx));
        });
        UploadedBlocks &b = s.blocks = std::move(tiles[0]);
        if (!description.damage.empty()) b.damage = description.damage;
        for (size_t tile = 1; tile < tiles.size(); tile++) b.append(tiles[tile]);
        if (b.bytes > std::numeric_limits<uint32_t>::max())
            throw Error(CUDAENC_ERR_UNSUPPORTED, format_string("JPEG 2000: %llu bytes of code-blocks on a device",
                                                               static_cast<unsigned long long>(b.bytes)));
        for (auto &list : b.lists) most_work_first(list, b.segments);
        pool_.for_each(b.copies.size(), kCopies, [&](size_t i) {
            std::memcpy(s.staged->data() + b.copies[i].to, b.copies[i].from, b.copies[i].bytes);
        });
    }

    void read_as_task(Slot &s) noexcept {
        try {
            read(s);
        } catch (...) {
            s.failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        s.is_reading = false;
        is_read_.notify_all();
    }
    bool is_reading(const Slot &s) noexcept {
        const std::lock_guard lock(mutex_);
        return s.is_reading;
    }
    void wait_for_read(const Slot &s) noexcept {
        std::unique_lock lock(mutex_);
        is_read_.wait(lock, [&] { return !s.is_reading; });
    }

    // ---- Tables

    // Those of the picture before, where headers are alike.
    std::shared_ptr<const PictureTables> find_tables(Description &d, const Header &header, size_t bytes) {
        std::vector<CodedTilePart> parts = std::exchange(d.coded_tile_parts, {});
        std::vector<size_t> components;
        for (const Channel &channel : header.channels) components.push_back(channel.component);
        const std::lock_guard lock(tables_mutex_);
        if (latest_ && latest_->description == d && latest_->components == components)
            check_codestream(d, bytes, options_);
        else
            latest_ = make_tables(d, std::move(components), bytes);
        d.coded_tile_parts = std::move(parts);
        return latest_;
    }

    std::shared_ptr<const PictureTables> make_tables(const Description &d, std::vector<size_t> components,
                                                     size_t bytes) const {
        auto t = std::make_shared<PictureTables>();
        t->geometry = make_decoder_geometry(d, bytes, options_);
        add_limits(*t, d);
        std::vector<ComponentOutput> outputs;
        t->places.resize(components.size());
        uint32_t place = 0;
        for (size_t c = 0; c < d.components.size(); c++) {
            const uint32_t first = place;
            for (size_t i = 0; i < components.size(); i++)
                if (components[i] == c) t->places[i] = place++;
            const Extent part = component_extent(d.components[c], area_of(d, options_.region), options_.lowres);
            outputs.push_back({part, first, place});
        }
        t->plan = plan_inverse_transform(d, t->geometry.tile_components, options_.lowres, outputs,
                                         device_->multiprocessors());
        t->description = d;
        t->components = std::move(components);
        return t;
    }

    // Of the blocks that are decoded.
    void add_limits(PictureTables &t, const Description &d) const {
        const Geometry &g = t.geometry;
        t.limits.pictures = slots();
        uint64_t decoded = 0, read = 0;
        for (size_t tile = 0; tile < static_cast<size_t>(d.tiles()); tile++) {
            for (size_t c = 0; c < d.components.size(); c++) {
                const Extent e = extent_at(g.tile_components[tile * d.components.size() + c], options_.lowres);
                read += static_cast<uint64_t>(e.width()) * static_cast<uint64_t>(e.height());
            }
            for (uint32_t p = g.tile_parts[tile].first_packet; p < g.tile_parts[tile].last_packet; p++)
                for (uint32_t k = g.packets[p].first_band; k < g.packets[p].last_band && !g.packets[p].layer; k++) {
                    const PrecinctBand &band = g.precinct_bands[k];
                    for (uint32_t i = 0; i < band.columns * band.rows; i++) {
                        const CodeBlock &b = g.blocks[band.first_block + i];
                        if (!is_decoded(d, g, tile, band, b)) continue;
                        decoded += uint64_t{b.width} * b.height;
                        t.limits.blocks++;
                        t.limits.words = std::max(t.limits.words, decoder_words(b.width, b.height));
                        t.limits.quads = std::max(t.limits.quads, decoder_quads(b.width, b.height));
                        t.limits.planes = std::max(t.limits.planes, std::min(int{b.planes}, kMaxDecodedPlanes));
                    }
                }
        }
        t.blocks_are_all = decoded == read && !options_.region.width;
    }

    bool is_decoded(const Description &d, const Geometry &g, size_t tile, const PrecinctBand &band,
                    const CodeBlock &block) const {
        const int levels = d.of_tile(static_cast<uint32_t>(tile)).of_component(band.component).levels,
                  resolution = resolution_of(band.band);
        if (!options_.region.width) return resolution <= levels - options_.lowres;
        const TileComponent &t = g.tile_components[tile * d.components.size() + band.component];
        const Extent wanted =
            component_extent(d.components[band.component], area_of(d, options_.region), options_.lowres);
        return is_needed(block, t, levels, resolution, common_part(extent_at(t, options_.lowres), wanted),
                         options_.lowres);
    }

    // ---- Blocks

    UploadedBlocks list_blocks(std::span<const uint8_t> codestream, const Description &d, const Geometry &g,
                               uint32_t tile) const {
        TilePackets packets = read_packets(codestream, d, g, tile, wanted_packets(options_));
        const TileCoding &coding = d.of_tile(tile);
        UploadedBlocks out;
        out.damage = std::move(packets.damage);
        for (size_t i = 0; i < packets.blocks.size(); i++) {
            const CodeBlock &b = g.blocks[packets.first_block + i];
            const PrecinctBand &band = g.precinct_bands[b.precinct_band];
            if (!is_decoded(d, g, tile, band, b)) continue;
            const BlockPieces &pieces = packets.blocks[i];
            const uint32_t style = coding.of_component(band.component).style;
            const auto first_segment = static_cast<uint32_t>(out.segments.size());
            for (uint32_t k = pieces.first; k != kNoPiece; k = packets.pieces[k].next)
                add_piece(packets.pieces[k], k == pieces.first, codestream, out);
            out.lists[is_ht_block(pieces, style)].push_back(
                {.coefficients = b.coefficients,
                 .stride = b.stride,
                 .first_segment = first_segment,
                 .segments = static_cast<uint16_t>(out.segments.size() - first_segment),
                 .width = b.width,
                 .height = b.height,
                 .orientation = b.orientation,
                 .style = static_cast<uint8_t>(style),
                 .planes = static_cast<int16_t>(b.planes - pieces.zero_planes),
                 .reserved = {}});
        }
        return out;
    }

    static void add_piece(const SegmentPiece &piece, bool is_first, std::span<const uint8_t> codestream,
                          UploadedBlocks &out) {
        if (piece.begins_segment || is_first)
            out.segments.push_back({.at = static_cast<uint32_t>(out.bytes), .bytes = 0, .passes = 0});
        out.segments.back().bytes += piece.bytes;
        out.segments.back().passes += piece.passes;
        if (piece.bytes) out.copies.push_back({codestream.data() + piece.at, out.bytes, piece.bytes});
        out.bytes += piece.bytes;
    }

    // ---- Memory

    template <class T>
    void grow(DeviceArray<T> &array, size_t count) const {
        if (count <= array.count()) return;
        array = {};  // device memory may lack room for both
        make(array, count);
    }

    // A block decoder for `needs`, where the slot has none that is large enough.
    template <class BlockDecoder>
    void make_block_decoder(std::unique_ptr<BlockDecoder> &decoder, DecoderLimits &limits,
                            const DecoderLimits &needs) const {
        if (decoder && limits.blocks >= needs.blocks && limits.words >= needs.words && limits.quads >= needs.quads &&
            limits.planes >= needs.planes)
            return;
        decoder.reset();
        decoder = std::make_unique<BlockDecoder>(device_, needs);
        limits = needs;
    }

    void make_room(Slot &s) const {
        const PictureTables &t = *s.tables;
        grow(s.coefficients, t.geometry.samples);
        for (size_t i = 0; i < s.resolutions.size(); i++) grow(s.resolutions[i], t.plan.values[i]);
        if (!s.blocks.lists[0].empty()) make_block_decoder(s.mq_decoder, s.mq_limits, t.limits);
        if (!s.blocks.lists[1].empty()) make_block_decoder(s.ht_decoder, s.ht_limits, t.limits);
    }

    // s.planes: the caller's, or, for host memory, in s.pixels.
    void place_planes(Slot &s) const {
        const CudaencFormat &format = s.picture.header->info.format;
        std::array<size_t, 4> begins{};
        size_t bytes = 0;
        for (int i = 0; i < format.planes; i++) {
            const auto plane = static_cast<size_t>(i);
            const PlaneSize size = plane_size(format, i);
            s.planes[plane] = s.picture.planes[i];
            s.strides[plane] =
                device_frames_ ? s.picture.stride[i] : static_cast<int64_t>((size.row_bytes + 255) / 256 * 256);
            begins[plane] = bytes;
            bytes += static_cast<size_t>(s.strides[plane]) * size.rows;
        }
        if (device_frames_) return;
        grow(s.pixels, bytes);
        for (size_t i = 0; i < begins.size(); i++) s.planes[i] = s.pixels.data() + begins[i];
    }

    // ---- The upload

    // Gives parts of an array places, one behind the other.
    class Places {
      public:
        template <class T>
        size_t take(size_t count) {
            const size_t at = bytes_;
            bytes_ = (bytes_ + count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
            return at;
        }
        size_t bytes() const { return bytes_; }

      private:
        size_t bytes_ = 0;
    };

    // What kernels take of it.
    struct Uploaded {
        std::array<CodedBlocks, 2> coded;  // of UploadedBlocks::lists
        const ChannelLayout *channels;
    };

    // By way of pinned memory, from which an upload does not wait.
    Uploaded upload(Slot &s) {
        const UploadedBlocks &b = s.blocks;
        const Header &header = header_of(s.picture);
        size_t values = 0;
        for (const Channel &channel : header.channels) values += channel.values.size();
        Places places;
        places.take<uint8_t>(b.bytes);
        const size_t counters_at = places.take<Counters>(1),
                     channels_at = places.take<ChannelLayout>(header.channels.size()),
                     values_at = places.take<int32_t>(values),
                     segments_at = places.take<DecoderSegment>(b.segments.size());
        const std::array lists_at{places.take<DecoderBlock>(b.lists[0].size()),
                                  places.take<DecoderBlock>(b.lists[1].size())};
        make_room_for_upload(s, places.bytes(), b.bytes);
        grow(s.data, s.staged_bytes);
        uint8_t *const staged = s.staged->data(), *const data = s.data.data();
        const auto put = [&](size_t at, const auto &elements) {
            if (!elements.empty()) std::memcpy(staged + at, elements.data(), elements.size() * sizeof elements[0]);
        };
        const auto size_of = [&](size_t list) { return static_cast<uint32_t>(b.lists[list].size()); };
        const LaneShares lanes = s.mq_decoder ? s.mq_decoder->share_lanes(b.lists[0], b.segments) : LaneShares{};
        put(counters_at, std::array{Counters{.blocks = {size_of(0), size_of(1)}, .lanes = lanes, .damaged = 0}});
        put(segments_at, b.segments);
        for (size_t i = 0; i < lists_at.size(); i++) put(lists_at[i], b.lists[i]);
        put_channels(s, channels_at, values_at);
        device_->upload(s.stream, data, staged, places.bytes());
        upload_work(s);
        auto *const counters = reinterpret_cast<Counters *>(data + counters_at);
        Uploaded uploaded{.coded = {}, .channels = reinterpret_cast<const ChannelLayout *>(data + channels_at)};
        for (size_t i = 0; i < lists_at.size(); i++)
            uploaded.coded[i] = {.bytes = data,
                                 .segments = reinterpret_cast<const DecoderSegment *>(data + segments_at),
                                 .blocks = reinterpret_cast<const DecoderBlock *>(data + lists_at[i]),
                                 .count = &counters->blocks[i],
                                 .lanes = &counters->lanes,
                                 .coefficients = s.coefficients.data(),
                                 .damaged = &counters->damaged};
        return uploaded;
    }

    // kept: bytes that are there.
    void make_room_for_upload(Slot &s, size_t bytes, size_t kept = 0) const {
        if (s.staged && bytes <= s.staged_bytes) return;
        const size_t size = bytes + bytes / 4 + kTableBytes;
        auto larger = std::make_unique<PinnedArray<uint8_t>>(device_, size);
        if (kept) std::memcpy(larger->data(), s.staged->data(), kept);
        s.staged = std::move(larger);
        s.staged_bytes = size;
    }

    // The plan's, where the slot has another's. The tables hold it in host memory.
    void upload_work(Slot &s) const {
        if (s.tables_of_work == s.tables) return;
        const std::vector<InverseWork> &work = s.tables->plan.work;
        s.tables_of_work.reset();
        grow(s.work, work.size());
        if (!work.empty()) device_->upload(s.stream, s.work.data(), work.data(), work.size() * sizeof(InverseWork));
        s.tables_of_work = s.tables;
    }

    void put_channels(Slot &s, size_t channels_at, size_t values_at) const {
        const Header &header = header_of(s.picture);
        const CudaencFormat &format = header.info.format;
        for (size_t i = 0; i < header.channels.size(); i++) {
            const Channel &channel = header.channels[i];
            const auto plane = static_cast<size_t>(format.component[channel.place].plane);
            ChannelLayout layout = channel_layout(format, channel, s.planes[plane], s.strides[plane], options_);
            if (layout.values) {
                const size_t bytes = channel.values.size() * sizeof(int32_t);
                std::memcpy(s.staged->data() + values_at, channel.values.data(), bytes);
                layout.values = reinterpret_cast<const int32_t *>(s.data.data() + values_at);
                values_at += bytes;
            }
            std::memcpy(s.staged->data() + channels_at + s.tables->places[i] * sizeof layout, &layout, sizeof layout);
        }
    }

    const DecoderOptions options_;
    const bool device_frames_;
    std::vector<Slot *> deferred_;  // those that are read, or about to be, in their order
    std::mutex mutex_;              // of Slot::is_reading
    std::condition_variable is_read_;
    std::mutex tables_mutex_;
    std::shared_ptr<const PictureTables> latest_;  // of the picture before
    ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Decoder> make_device_decoder(const DecoderOptions &options, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<J2kDeviceDecoder>(options, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::j2k
