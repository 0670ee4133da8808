// SPDX-License-Identifier: LGPL-2.1-or-later
// JPEG 2000 decoding on a device, top to bottom. Threads read headers and packet headers, and write what kernels take
// to memory that is uploaded, while the device decodes the pictures before. Then block decoders, inverse wavelet and
// component transforms to planes.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>

#include "../../common/error.h"
#include "../../common/j2k/codestream/read_headers.h"
#include "../../common/j2k/j2k.h"
#include "../../common/j2k/jp2_reader.h"
#include "../../common/planes.h"
#include "../device_decoder.h"
#include "t1/block_decoder.h"
#include "t2/block_lists.h"
#include "transform/inks_params.h"
#include "transform/inverse_transform.h"

namespace cudaenc::j2k {

namespace {

enum Stage { kUpload, kBlocks, kTransform, kDownload, kStages };
constexpr const char *kStageNames[kStages] = {"upload", "blocks", "transform", "download"};

constexpr size_t kCopyBytes = 1 << 17;    // that a thread copies at a time
constexpr size_t kUploadBytes = 1 << 21;  // that are copied, then uploaded, of a picture alone
constexpr size_t kSharedBytes = 1 << 21;  // of a picture alone, whose copy is worth a thread beside the reader
constexpr size_t kPartBlocks = 4096;      // of a picture alone, whose decoders are queued while packets are read
constexpr size_t kAlignment = 32;         // of what is uploaded
constexpr size_t kKnownTables = 4;        // such as of the tiles of a slide, its edges and its corner
constexpr size_t kKnownBlocks = 1 << 20;  // of all of these; the latest may have more

// What follows from headers: the same for all pictures that have them alike.
struct PictureTables {
    Description description;         // without tile-parts
    std::vector<size_t> components;  // of channels
    Geometry geometry;
    DecodedBlocks decoded;
    InversePlan plan;
    std::vector<uint32_t> places;  // [channel]: in the order of components
};

// What of the tables is more than that. Kernels add to the first `damaged`.
struct Counters {
    std::array<uint32_t, 2> blocks;  // for the MQ decoder, for the HT decoder
    LaneShares lanes;                // of the former
    uint32_t damaged;
};

// Where the parts of the tables are, one behind the other. Where a picture's blocks are decoded part by part, the first
// parts have no channels.
struct TablePlaces {
    size_t counters = 0, channels = 0, values = 0, segments = 0, blocks = 0, end = 0;
};

// How far it is.
struct Progress {
    std::vector<PacketsRead> read;  // by a thread, part by part
    PacketsRead queued;             // for decoders
};

struct Slot : DecoderSlot {
    explicit Slot(const std::shared_ptr<Device> &device) : DecoderSlot(device), damaged(device, 1) {}
    std::shared_ptr<const PictureTables> tables;
    std::span<const uint8_t> codestream;
    Description description;
    BlockLists lists;
    std::array<uint32_t, 2> blocks{};  // of Counters
    StagedBytes bytes, staged_tables;  // of the codestream, of tables
    TablePlaces places;                // of what is queued next
    Progress progress;
    bool bytes_are_queued = false, tables_are_written = false, in_parts = false;
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
    bool reads_headers = false;  // or the caller did, and copies the codestream
};

class J2kDeviceDecoder : public DeviceDecoder<Slot> {
  public:
    J2kDeviceDecoder(const DecoderOptions &options, int slots, int threads, std::shared_ptr<Device> device,
                     bool device_frames, bool stage_times)
        : DeviceDecoder(std::move(device), kStageNames, slots, threads, device_frames, stage_times),
          options_(options) {}
    ~J2kDeviceDecoder() override { stop(); }

    bool done(int number) noexcept override { return !is_running(slot(number)) && DevicePipeline::done(number); }

  private:
    void take(Slot &s, const CodedPicture &picture) override {
        s.picture = picture;
        s.bytes_are_queued = s.tables_are_written = s.in_parts = false;
        s.progress = {};
        DeviceDecoder::grow(s.bytes, picture.size);
    }

    // A picture alone is read at once, while its bytes are uploaded, a large one while they are copied, too, and while
    // the blocks of its first packets are decoded. Others are read by a thread each, and queued once they are, in their
    // order.
    void queue(Slot &s) override {
        if (!alone()) {
            s.reads_headers = true;
            post(s);
            s.deferred = true;
            deferred_.push_back(&s);
            return queue_those_read();
        }
        read_headers_of(s);
        const DecodedBlocks &decoded = s.tables->decoded;
        const bool in_place = decoded.in_place;
        // Stages that are timed follow each other.
        s.in_parts = decoded.in_order && decoded.blocks.size() >= 2 * kPartBlocks && s.times.empty();
        const bool is_shared = s.in_parts || (in_place && s.codestream.size() >= kSharedBytes);
        s.reads_headers = false;
        if (s.in_parts) make_room_for_parts(s);
        if (is_shared) post(s);
        for (size_t at = 0; in_place && at < s.codestream.size(); at += kUploadBytes) {
            const size_t size = std::min(kUploadBytes, s.codestream.size() - at);
            copy_codestream(s, at, size);
            upload(s, s.bytes, at, size);
            s.bytes_are_queued = true;
            if (s.in_parts) queue_parts(s, at + size);
        }
        if (is_shared)
            wait(s);
        else
            read_blocks(s);
        if (s.in_parts) place_rest(s);
        queue_work(s);
    }

    // ---- Parts: blocks whose packets are read, while a thread reads on

    void make_room_for_parts(Slot &s) {
        const DecodedBlocks &decoded = s.tables->decoded;
        make_room_for_samples(s);
        make_block_decoder(s.ht_decoder, s.ht_limits, decoded.limits);
        s.places = {};
        place_tables(s, {.blocks = decoded.blocks.size(), .segments = decoded.blocks.size()}, true);
        DeviceDecoder::grow(s.staged_tables, s.places.end);
        s.places = {};
    }

    // Of `uploaded` bytes. Where these are all, waits for what is read, until the thread ends.
    void queue_parts(Slot &s, size_t uploaded) {
        PacketsRead &queued = s.progress.queued;
        PacketsRead read;
        const auto is_read = [&] {
            for (const PacketsRead &part : s.progress.read)
                if (part.end <= uploaded) read = part;
            return read.blocks > queued.blocks;
        };
        while (uploaded < s.codestream.size() ? look(is_read) : wait_for(s, is_read)) {
            const TablePlaces before = s.places;
            place_tables(s, read, false);
            if (s.places.end > s.staged_tables.room) {
                s.places = before;
                return;
            }
            write_tables(s, read);
            put_counters(s);
            upload(s, s.staged_tables, s.places.counters, s.places.end - s.places.counters);
            s.ht_decoder->decode(s.stream, coded_blocks(s, 1), s.blocks[1]);
            queued = read;
        }
    }

    // What is left. Where the tables have no room for it, all is decoded anew.
    void place_rest(Slot &s) const {
        if (!s.progress.queued.blocks) s.places = {};
        place_tables(s, all_read(s), true);
        if (s.places.end <= s.staged_tables.room || !s.progress.queued.blocks) return;
        device_->synchronize(s.stream);
        s.progress.queued = {};
        s.places = {};
        place_tables(s, all_read(s), true);
    }

    // The oldest one, which the caller waits for.
    void queue_deferred() override {
        if (!deferred_.empty()) queue_oldest();
        queue_those_read();
    }
    void queue_those_read() {
        while (!deferred_.empty() && !is_running(*deferred_.front())) queue_oldest();
    }
    void queue_oldest() noexcept {
        Slot &s = *deferred_.front();
        deferred_.erase(deferred_.begin());
        s.deferred = false;
        try {
            wait(s);
            queue_work(s);
            device_->record(s.worked, s.stream);
            s.awaited = s.worked;
            mark(s, kDownload);
        } catch (...) {
            s.error = std::current_exception();
        }
    }

    void queue_work(Slot &s) {
        const PictureTables &t = *s.tables;
        make_room(s);
        place_planes(s);
        mark(s, kUpload);
        upload_all(s);
        mark(s, kBlocks);
        if (!t.decoded.are_all)
            device_->fill(s.stream, s.coefficients.data(), 0, t.geometry.samples * sizeof(uint32_t));
        if (s.blocks[0]) s.mq_decoder->decode(s.stream, coded_blocks(s, 0));
        if (s.blocks[1]) s.ht_decoder->decode(s.stream, coded_blocks(s, 1), s.blocks[1]);
        device_->download(s.stream, s.damaged.data(), coded_blocks(s, 0).damaged, sizeof(uint32_t));
        mark(s, kTransform);
        if (device_frames_) device_->wait_foreign(s.stream, s.picture.cuda_stream);
        queue_inverse_transform(
            *device_, s.stream, t.plan,
            {.work = s.work.data(),
             .coefficients = s.coefficients.data(),
             .resolutions = {s.resolutions[0].data(), s.resolutions[1].data()},
             .channels = reinterpret_cast<const ChannelLayout *>(s.staged_tables.device.data() + s.places.channels)});
        if (header_of(s.picture).has_inks) queue_light(s);
    }

    // Over inks.
    void queue_light(const Slot &s) const {
        const InkPlanes planes = ink_planes(s.picture.header->info.format, s.planes, s.strides);
        const unsigned pieces = blocks_for(static_cast<uint64_t>(planes.width), kInksThreads),
                       rows = blocks_for(static_cast<uint64_t>(planes.height), kInksRows);
        device_->launch(s.stream, {pieces * rows}, kInksThreads,
                        InksParams{.planes = planes, .pieces_a_row = static_cast<int32_t>(pieces)});
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
        decoded.damage = !s.description.damage.empty() ? s.description.damage
                         : !s.lists.damage().empty()   ? s.lists.damage()
                                                       : damage_of_blocks(*s.damaged.data());
    }

    void reset(Slot &s) noexcept override {
        DeviceDecoder::reset(s);
        s.tables_of_work.reset();
    }

    // ---- Reading

    void read_headers_of(Slot &s) {
        s.codestream = read_jp2({s.picture.data, s.picture.size}).codestream;
        s.description = read_headers(s.codestream);
        s.tables = find_tables(s.description, header_of(s.picture), s.codestream.size());
        if (s.codestream.size() > std::numeric_limits<uint32_t>::max())
            throw Error(CUDAENC_ERR_UNSUPPORTED,
                        format_string("JPEG 2000: a codestream of %zu bytes on a device", s.codestream.size()));
    }

    // Where its bytes are uploaded from, unless those of the segments are joined there.
    void copy_codestream(Slot &s, size_t first, size_t size) {
        if (!s.tables->decoded.in_place) return;
        pool_.for_each((size + kCopyBytes - 1) / kCopyBytes, [&](size_t i) {
            const size_t at = first + i * kCopyBytes;
            std::memcpy(s.bytes.host->data() + at, s.codestream.data() + at, std::min(kCopyBytes, first + size - at));
        });
    }

    // Which bytes are whose. Tables it writes if there is room for them, but where others write them in parts.
    void read_blocks(Slot &s) {
        const PictureTables &t = *s.tables;
        std::function<void(const PacketsRead &)> told;
        if (s.in_parts)
            told = [&, from = size_t{0}](const PacketsRead &read) mutable {
                if (read.blocks - from < kPartBlocks || read.blocks == t.decoded.blocks.size()) return;
                tell([&] { s.progress.read.push_back(read); });
                from = read.blocks;
            };
        s.lists.read(pool_, s.codestream, s.description, t.geometry, wanted_packets(options_), t.decoded, told);
        if (s.in_parts) return;
        s.places = {};
        place_tables(s, all_read(s), true);
        if (s.places.end <= s.staged_tables.room) write_all(s);
    }
    static PacketsRead all_read(const Slot &s) {
        return {.blocks = s.tables->decoded.blocks.size(), .segments = s.lists.segments()};
    }

    void run(Slot &s) override {
        if (s.reads_headers) {
            read_headers_of(s);
            copy_codestream(s, 0, s.codestream.size());
        }
        read_blocks(s);
    }

    // ---- Tables

    // Those of a picture before, where headers are alike.
    std::shared_ptr<const PictureTables> find_tables(Description &d, const Header &header, size_t bytes) {
        std::vector<CodedTilePart> parts = std::exchange(d.coded_tile_parts, {});
        std::string damage = std::exchange(d.damage, {});
        std::vector<size_t> components;
        for (const Channel &channel : header.channels) components.push_back(channel.component);
        std::shared_ptr<const PictureTables> tables = find_known_tables(d, components);
        if (tables) {
            check_codestream(d, bytes, options_);
        } else {
            tables = make_tables(d, std::move(components), bytes);
            const std::lock_guard lock(tables_mutex_);
            known_.insert(known_.begin(), tables);
            const auto blocks = [&] {
                size_t count = 0;
                for (const auto &t : known_) count += t->geometry.blocks.size();
                return count;
            };
            while (known_.size() > 1 && (known_.size() > kKnownTables || blocks() > kKnownBlocks)) known_.pop_back();
        }
        d.coded_tile_parts = std::move(parts);
        d.damage = std::move(damage);
        return tables;
    }
    std::shared_ptr<const PictureTables> find_known_tables(const Description &d,
                                                           const std::vector<size_t> &components) {
        const std::lock_guard lock(tables_mutex_);
        const auto found = std::ranges::find_if(known_, [&](const std::shared_ptr<const PictureTables> &t) {
            return t->description == d && t->components == components;
        });
        if (found == known_.end()) return nullptr;
        std::rotate(known_.begin(), found, found + 1);
        return known_.front();
    }

    std::shared_ptr<const PictureTables> make_tables(const Description &d, std::vector<size_t> components,
                                                     size_t bytes) const {
        auto t = std::make_shared<PictureTables>();
        t->geometry = make_decoder_geometry(d, bytes, options_);
        t->decoded = list_decoded_blocks(d, t->geometry, options_.region, options_.lowres);
        t->decoded.limits.pictures = slots();
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

    // ---- Memory

    template <class T>
    void grow(DeviceArray<T> &array, size_t count) const {
        DeviceDecoder::grow(array, count, count);
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

    void make_room(Slot &s) {
        const PictureTables &t = *s.tables;
        if (!s.tables_are_written) {
            DeviceDecoder::grow(s.staged_tables, s.places.end);
            write_all(s);
        }
        make_room_for_samples(s);
        if (s.blocks[0]) make_block_decoder(s.mq_decoder, s.mq_limits, t.decoded.limits);
        if (s.blocks[1]) make_block_decoder(s.ht_decoder, s.ht_limits, t.decoded.limits);
    }

    void make_room_for_samples(Slot &s) const {
        const PictureTables &t = *s.tables;
        grow(s.coefficients, t.geometry.samples);
        for (size_t i = 0; i < s.resolutions.size(); i++) grow(s.resolutions[i], t.plan.values[i]);
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

    // Behind s.places, of what is read up to `to` and not queued. is_last: with the channels.
    void place_tables(Slot &s, const PacketsRead &to, bool is_last) const {
        const Header &header = header_of(s.picture);
        size_t values = 0;
        for (const Channel &channel : header.channels) values += channel.values.size();
        size_t end = s.places.end;
        const auto take = [&]<class T>(size_t TablePlaces::*place, T, size_t count) {
            s.places.*place = end;
            end = (end + count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
        };
        take(&TablePlaces::counters, Counters{}, 1);
        take(&TablePlaces::channels, ChannelLayout{}, is_last ? header.channels.size() : 0);
        take(&TablePlaces::values, int32_t{}, is_last ? values : 0);
        take(&TablePlaces::segments, DecoderSegment{}, to.segments - s.progress.queued.segments);
        take(&TablePlaces::blocks, DecoderBlock{}, to.blocks - s.progress.queued.blocks);
        s.places.end = end;
    }

    void write_all(Slot &s) {
        write_tables(s, all_read(s));
        s.tables_are_written = true;
    }
    void write_tables(Slot &s, const PacketsRead &read) {
        uint8_t *const to = s.staged_tables.host->data();
        const DecodedBlocks &decoded = s.tables->decoded;
        const PacketsRead &queued = s.progress.queued;
        s.blocks = s.lists.write(pool_, s.codestream, decoded,
                                 {.first = queued.blocks, .last = read.blocks, .first_segment = queued.segments},
                                 read.pieces, decoded.in_place ? nullptr : s.bytes.host->data(),
                                 reinterpret_cast<DecoderSegment *>(to + s.places.segments),
                                 reinterpret_cast<DecoderBlock *>(to + s.places.blocks));
    }

    void upload_all(Slot &s) {
        put_channels(s);
        put_counters(s);
        if (!s.bytes_are_queued)
            upload(s, s.bytes, 0, s.tables->decoded.in_place ? s.codestream.size() : s.lists.bytes());
        upload(s, s.staged_tables, s.places.counters, s.places.end - s.places.counters);
        upload_work(s);
    }

    // Of s.places, for the MQ decoder, 0, or the HT decoder, 1.
    static CodedBlocks coded_blocks(const Slot &s, size_t list) {
        uint8_t *const tables = s.staged_tables.device.data();
        const auto *const counters = reinterpret_cast<const Counters *>(tables + s.places.counters);
        return {.bytes = s.bytes.device.data(),
                .segments = reinterpret_cast<const DecoderSegment *>(tables + s.places.segments),
                .blocks = reinterpret_cast<const DecoderBlock *>(tables + s.places.blocks) + (list ? s.blocks[0] : 0),
                .count = &counters->blocks[list],
                .lanes = &counters->lanes,
                .coefficients = s.coefficients.data(),
                .damaged = &reinterpret_cast<Counters *>(tables)->damaged};
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

    void put_counters(Slot &s) const {
        uint8_t *const to = s.staged_tables.host->data();
        Counters counters{.blocks = s.blocks, .lanes = {}, .damaged = 0};
        if (s.blocks[0])
            counters.lanes = s.mq_decoder->share_lanes(
                {reinterpret_cast<const DecoderBlock *>(to + s.places.blocks), s.blocks[0]},
                {reinterpret_cast<const DecoderSegment *>(to + s.places.segments), s.lists.segments()});
        std::memcpy(to + s.places.counters, &counters, sizeof counters);
    }

    void put_channels(Slot &s) const {
        uint8_t *const to = s.staged_tables.host->data();
        size_t values_at = s.places.values;
        const Header &header = header_of(s.picture);
        const CudaencFormat &format = header.info.format;
        for (size_t i = 0; i < header.channels.size(); i++) {
            const Channel &channel = header.channels[i];
            const auto plane = static_cast<size_t>(format.component[channel.place].plane);
            ChannelLayout layout = channel_layout(format, channel, s.planes[plane], s.strides[plane], options_);
            if (layout.values) {
                const size_t bytes = channel.values.size() * sizeof(int32_t);
                std::memcpy(to + values_at, channel.values.data(), bytes);
                layout.values = reinterpret_cast<const int32_t *>(s.staged_tables.device.data() + values_at);
                values_at += bytes;
            }
            std::memcpy(to + s.places.channels + s.tables->places[i] * sizeof layout, &layout, sizeof layout);
        }
    }

    const DecoderOptions options_;
    std::mutex tables_mutex_;
    std::vector<std::shared_ptr<const PictureTables>> known_;  // the latest first
};

}  // namespace

std::unique_ptr<Decoder> make_device_decoder(const DecoderOptions &options, int slots, int threads,
                                             std::shared_ptr<Device> device, bool device_frames, bool stage_times) {
    return std::make_unique<J2kDeviceDecoder>(options, slots, threads, std::move(device), device_frames, stage_times);
}

}  // namespace cudaenc::j2k
