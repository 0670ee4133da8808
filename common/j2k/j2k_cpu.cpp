// JPEG 2000 on the CPU, top to bottom: load -> component transform -> wavelet transform and quantisation -> tier-1 ->
// tier-2. It is also the oracle: the device pipeline gives the same bytes. SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <thread>

#include "../error.h"
#include "../thread_pool.h"
#include "codestream.h"
#include "dwt_cpu.h"
#include "geometry.h"
#include "header_bytes.h"
#include "headers.h"
#include "j2k.h"
#include "load.h"
#include "quantise.h"
#include "t1.h"
#include "t2.h"

namespace cudaenc::j2k {

namespace {

constexpr int kStripColumns = 256;  // of vertical filtering: rows of a strip stay in the first-level cache
constexpr int kBatchRows = 16;      // of horizontal filtering and of loading
constexpr uint32_t kBatchBlocks = 16;

enum Stage { kLoad, kDwt, kTier1, kTier2, kStages };
constexpr const char *kStageNames[kStages] = {"load", "dwt", "tier-1", "tier-2"};
using Clock = std::chrono::steady_clock;

// A frame in flight.
struct Slot {
    std::vector<uint32_t> samples, halves, coefficients;  // see TileComponent
    std::vector<CodedBlock> coded;
    std::vector<uint32_t> offsets;              // of each block's bytes in its batch
    std::vector<std::vector<uint8_t>> batches;  // codewords of kBatchBlocks blocks
    std::vector<uint32_t> pass_bytes;           // [block * max_passes + pass]
    std::vector<TagNode> nodes;
    std::vector<uint8_t> icc_profile;
    CudaencFrame frame;
    PooledBuffer packet;
    std::exception_ptr error;
    std::array<Clock::time_point, kStages + 1> times;  // when each stage began, and the last ended
    bool done = false;
};

int thread_count(int threads) {
    return threads ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class CpuEncoder : public Encoder {
  public:
    CpuEncoder(const Params &params, int slots, int threads, bool stage_times)
        : p_(params),
          g_(make_geometry(params)),
          header_(make_main_header(params)),
          packets_(std::make_shared<PacketPool>(nullptr)),
          slots_(slots),
          name_(format_string("cpu, %d thread%s", thread_count(threads), thread_count(threads) == 1 ? "" : "s")),
          pool_(thread_count(threads)) {
        for (Slot &s : slots_) {
            s.samples.resize(g_.samples);
            s.halves.resize(g_.halves);
            s.coefficients.resize(g_.samples);
            s.coded.resize(g_.blocks.size());
            s.offsets.resize(g_.blocks.size());
            s.batches.resize((g_.blocks.size() + kBatchBlocks - 1) / kBatchBlocks);
            s.pass_bytes.resize(g_.blocks.size() * g_.max_passes);
            s.nodes.resize(g_.tag_tree_nodes);
        }
        // Known from the start, though zero: callers may ask for their number.
        if (stage_times)
            for (const char *name : kStageNames) times_.push_back({name, 0, 0});
    }

    const std::string &device_name() const override { return name_; }

    void submit(int slot, const CudaencFrame &frame) override {
        Slot &s = slots_[slot];
        s.frame = frame;
        s.icc_profile.assign(frame.icc_profile, frame.icc_profile + frame.icc_profile_size);
        s.error = nullptr;
        s.done = false;
        pool_.post([this, &s] {
            try {
                encode(s);
            } catch (...) {
                s.error = std::current_exception();
            }
            const std::lock_guard lock(mutex_);
            s.done = true;
            finished_.notify_all();
        });
    }

    PooledBuffer finish(int slot) override {
        Slot &s = slots_[slot];
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [&] { return s.done; });
        if (s.error) std::rethrow_exception(s.error);
        for (size_t i = 0; i < times_.size(); i++) {
            times_[i].milliseconds += std::chrono::duration<double, std::milli>(s.times[i + 1] - s.times[i]).count();
            times_[i].frames++;
        }
        return std::move(s.packet);
    }

    std::span<const CudaencStageTime> stage_times() const override { return times_; }

  private:
    void encode(Slot &s) {
        if (p_.reversible)
            transform<Dwt53>(s);
        else
            transform<Dwt97>(s);
        s.times[kTier1] = Clock::now();
        code_blocks(s);
        s.times[kTier2] = Clock::now();
        write_packet(s);
        s.times[kStages] = Clock::now();
    }

    template <class W>
    void transform(Slot &s) {
        s.times[kLoad] = Clock::now();
        load<typename W::Sample>(s);
        s.times[kDwt] = Clock::now();
        pool_.for_each(g_.tile_components.size(), [&](size_t i) {
            transform_tile_component<W>(s, g_.tile_components[i], p_.quantisers[i % p_.components.size()]);
        });
    }

    template <class Sample>
    void load(Slot &s) {
        const size_t components = p_.components.size();
        SampleLayout layout[kMaxComponents];
        for (size_t c = 0; c < components; c++) {
            const CudaencComponent &k = p_.input.component[c];
            layout[c] = {s.frame.data[k.plane] + k.offset, s.frame.stride[k.plane], k.step, k.shift, k.depth};
        }
        Sample *samples = reinterpret_cast<Sample *>(s.samples.data());
        const size_t batches = (g_.highest + kBatchRows - 1) / kBatchRows;
        pool_.for_each(g_.tiles.size() * batches, [&](size_t job) {
            const TileComponent *tile = &g_.tile_components[job / batches * components];
            const int from = static_cast<int>(job % batches) * kBatchRows;
            for (size_t c = 0; c < components; c++) {
                const TileComponent &t = tile[c];
                const int width = t.x1 - t.x0;
                for (int y = from; y < std::min(from + kBatchRows, t.y1 - t.y0); y++) {
                    Sample *row = samples + t.samples + static_cast<size_t>(y) * width;
                    for (int x = 0; x < width; x++)
                        row[x] = static_cast<Sample>(load_sample(layout[c], t.x0 + x, t.y0 + y));
                }
            }
            if (!p_.mct) return;
            const int width = tile->x1 - tile->x0;
            for (int y = from; y < std::min(from + kBatchRows, tile->y1 - tile->y0); y++) {
                const size_t at = static_cast<size_t>(y) * width;
                Sample *r = samples + tile[0].samples + at, *g = samples + tile[1].samples + at,
                       *b = samples + tile[2].samples + at;
                for (int x = 0; x < width; x++) component_transform(r[x], g[x], b[x]);
            }
        });
    }

    template <class W>
    void transform_tile_component(Slot &s, const TileComponent &t, const std::vector<Quantiser> &quantisers) {
        using Sample = typename W::Sample;
        Sample *in = reinterpret_cast<Sample *>(s.samples.data()) + t.samples;
        Sample *next = reinterpret_cast<Sample *>(s.halves.data()) + t.halves;
        uint32_t *out = s.coefficients.data() + t.samples;
        const size_t stride = t.x1 - t.x0;
        const auto store = [](uint32_t *to, const Sample *from, int count, const Quantiser &q) {
            const uint32_t limit = (1u << q.planes) - 1;
            for (int i = 0; i < count; i++) to[i] = quantise(from[i], q.inverse_step, limit);
        };
        for (int level = 1; level <= p_.levels; level++) {
            const Extent e = extent_at(t, level - 1);
            const int width = e.width(), height = e.height();
            if (!width || !height) return;
            const int lows = low_begin(e.x1) - low_begin(e.x0), low_rows = low_begin(e.y1) - low_begin(e.y0);
            const Quantiser *q = &quantisers[band_index(p_.levels + 1 - level, kHL)];
            pool_.for_each((width + kStripColumns - 1) / kStripColumns, [&](size_t i) {
                const int x = static_cast<int>(i) * kStripColumns;
                transform_columns<W>(in, width, x, std::min(x + kStripColumns, width), e.y0, e.y1);
            });
            pool_.for_each((height + kBatchRows - 1) / kBatchRows, [&](size_t i) {
                std::vector<Sample> scratch(width + 6);
                Sample *low = scratch.data() + 1, *high = low + lows + 2;
                const int from = static_cast<int>(i) * kBatchRows;
                for (int y = from; y < std::min(from + kBatchRows, height); y++) {
                    transform_row<W>(in + static_cast<size_t>(y) * width, e.x0, e.x1, low, high);
                    const int position = e.y0 + y;
                    if (position & 1) {
                        uint32_t *row = out + (low_rows + high_begin(position) - high_begin(e.y0)) * stride;
                        store(row, low, lows, q[kLH - kHL]);
                        store(row + lows, high, width - lows, q[kHH - kHL]);
                    } else {
                        const size_t row = low_begin(position) - low_begin(e.y0);
                        std::memcpy(next + row * lows, low, lows * sizeof(Sample));
                        store(out + row * stride + lows, high, width - lows, q[kHL - kHL]);
                    }
                }
            });
            std::swap(in, next);
        }
        const Extent e = extent_at(t, p_.levels);
        for (int y = 0; y < e.height(); y++)
            store(out + y * stride, in + static_cast<size_t>(y) * e.width(), e.width(), quantisers[0]);
    }

    void code_blocks(Slot &s) {
        pool_.for_each(s.batches.size(), [&](size_t batch) {
            std::vector<uint8_t> &bytes = s.batches[batch];
            bytes.clear();
            std::vector<uint16_t> flags(flags_count(1 << p_.cblk_width_log2, 1 << p_.cblk_height_log2));
            const size_t end = std::min<size_t>((batch + 1) * kBatchBlocks, g_.blocks.size());
            for (size_t i = batch * kBatchBlocks; i < end; i++) {
                const CodeBlock &b = g_.blocks[i];
                const size_t offset = bytes.size();
                bytes.resize(offset + slot_bytes(b.width, b.height, b.planes));
                MqSink sink(bytes.data() + offset, &s.pass_bytes[i * g_.max_passes], kMqTable.row);
                BlockCoder coder(s.coefficients.data() + b.coefficients, b.stride, b.width, b.height, b.orientation,
                                 flags.data(), sink);
                const int planes = coder.code();
                const uint32_t length = sink.finish();
                bytes.resize(offset + length);
                s.offsets[i] = static_cast<uint32_t>(offset);
                s.coded[i] = {length, static_cast<uint8_t>(planes), {}};
            }
        });
    }

    void write_packet(Slot &s) {
        build_tag_trees(s);
        const uint32_t packets = static_cast<uint32_t>(g_.packets.size());
        std::vector<std::vector<uint8_t>> headers(packets);
        std::vector<uint64_t> lengths(packets);
        pool_.for_each((packets + 63) / 64, [&](size_t job) {
            for (uint32_t i = static_cast<uint32_t>(job) * 64;
                 i < std::min<uint32_t>(packets, (static_cast<uint32_t>(job) + 1) * 64); i++) {
                headers[i] = packet_header(s, g_.packets[i]);
                lengths[i] = headers[i].size();
                for (uint32_t b = g_.packets[i].first_block; b < g_.packets[i].last_block; b++)
                    lengths[i] += s.coded[b].bytes;
            }
        });
        // Tile-parts: their headers' and packets' places.
        std::vector<uint64_t> tile_at(g_.tiles.size() + 1, header_.bytes.size()), plt(packets + 1);
        std::vector<uint64_t> tile_header(g_.tiles.size());
        for (size_t t = 0; t < g_.tiles.size(); t++) {
            const Tile &tile = g_.tiles[t];
            uint64_t size = kSotBytes + kSodBytes;
            for (uint32_t i = tile.first_packet; i < tile.last_packet; i++) {
                plt[i + 1] = plt[i] + plt_bytes(lengths[i]);
                size += lengths[i];
            }
            if (p_.plt) {
                const uint64_t bytes = plt[tile.last_packet] - plt[tile.first_packet] +
                                       uint64_t{plt_segments(tile.last_packet - tile.first_packet)} * kPltHeaderBytes;
                tile_header[t] = bytes;
                size += bytes;
            }
            tile_header[t] += kSotBytes + kSodBytes;
            if (size > 0xFFFFFFFFu)
                throw Error(CUDAENC_ERR_UNSUPPORTED,
                            "a tile of 4 GiB or more: cut the picture with tile_width and tile_height");
            tile_at[t + 1] = tile_at[t] + size;
        }
        const uint64_t codestream = tile_at.back() + 2;
        std::vector<uint8_t> boxes;
        if (p_.jp2)
            boxes = make_jp2_boxes(p_, s.icc_profile.data(), s.icc_profile.size(), s.frame.sample_aspect_num,
                                   s.frame.sample_aspect_den, codestream);
        s.packet = packets_->take(boxes.size() + codestream);
        std::copy(boxes.begin(), boxes.end(), s.packet->data);
        uint8_t *out = s.packet->data + boxes.size();
        std::copy(header_.bytes.begin(), header_.bytes.end(), out);
        pool_.for_each(g_.tiles.size(), [&](size_t t) {
            const Tile &tile = g_.tiles[t];
            uint8_t *at = out + tile_at[t];
            const uint64_t part = tile_at[t + 1] - tile_at[t];
            put_tile_header(at, static_cast<uint32_t>(t), part, tile.last_packet - tile.first_packet,
                            p_.plt ? &plt[tile.first_packet] : nullptr);
            if (header_.tlm)
                put_be32(out + header_.tlm + tlm_entry(static_cast<uint32_t>(t)) + 2, static_cast<uint32_t>(part));
            uint8_t *body = at + tile_header[t];
            for (uint32_t i = tile.first_packet; i < tile.last_packet; i++) {
                if (p_.plt) put_plt_length(at, g_.packets[i].in_tile, plt[i] - plt[tile.first_packet], lengths[i]);
                body = std::copy(headers[i].begin(), headers[i].end(), body);
                for (uint32_t b = g_.packets[i].first_block; b < g_.packets[i].last_block; b++) {
                    const uint8_t *bytes = s.batches[b / kBatchBlocks].data() + s.offsets[b];
                    body = std::copy(bytes, bytes + s.coded[b].bytes, body);
                }
            }
        });
        put_be16(out + codestream - 2, kEoc);
    }

    void build_tag_trees(Slot &s) {
        for (const PrecinctBand &cell : g_.precinct_bands) {
            TagNode *level_nodes = &s.nodes[cell.nodes];
            for (uint32_t i = 0; i < cell.columns * cell.rows; i++) {
                const uint32_t b = cell.first_block + i;
                level_nodes[i] = tag_leaf(s.coded[b], g_.blocks[b].planes, i);
            }
            for (int level = 1; level < tag_tree_levels(cell.columns, cell.rows); level++) {
                const uint32_t below_columns = tag_tree_columns(cell.columns, level - 1),
                               below_rows = tag_tree_columns(cell.rows, level - 1);
                const uint32_t columns = tag_tree_columns(cell.columns, level),
                               rows = tag_tree_columns(cell.rows, level);
                TagNode *nodes = level_nodes + below_columns * below_rows;
                for (uint32_t y = 0; y < rows; y++)
                    for (uint32_t x = 0; x < columns; x++)
                        nodes[y * columns + x] = tag_parent(level_nodes, below_columns, below_rows, x, y);
                level_nodes = nodes;
            }
        }
    }

    std::vector<uint8_t> packet_header(Slot &s, const Packet &packet) {
        HeaderBytes header;
        bool any = false;
        for (uint32_t b = packet.first_block; b < packet.last_block; b++) any |= s.coded[b].planes != 0;
        header.put(any, 1);  // B.10.3: a packet of which nothing is coded is one bit
        for (uint32_t b = packet.first_block; any && b < packet.last_block; b++) {
            const CodeBlock &block = g_.blocks[b];
            const PrecinctBand &cell = g_.precinct_bands[block.cell];
            put_block_header(header, cell, &s.nodes[cell.nodes], block.x, block.y, s.coded[b]);
        }
        header.finish();
        if (p_.sop) {
            uint8_t sop[kSopBytes];
            put_sop(sop, packet.in_tile);
            header.bytes.insert(header.bytes.begin(), sop, sop + kSopBytes);
        }
        if (p_.eph) header.bytes.insert(header.bytes.end(), {kEph >> 8, kEph & 0xFF});
        return std::move(header.bytes);
    }

    const Params p_;
    const Geometry g_;
    const MainHeader header_;
    std::shared_ptr<PacketPool> packets_;
    std::vector<Slot> slots_;
    std::mutex mutex_;  // of Slot::done
    std::condition_variable finished_;
    const std::string name_;
    std::vector<CudaencStageTime> times_;  // empty: not asked for
    ThreadPool pool_;                      // the last member, so that it ends first: frames in flight use all others
};

}  // namespace

std::unique_ptr<Encoder> make_cpu_encoder(const Params &params, int slots, int threads, bool stage_times) {
    return std::make_unique<CpuEncoder>(params, slots, threads, stage_times);
}

}  // namespace cudaenc::j2k
