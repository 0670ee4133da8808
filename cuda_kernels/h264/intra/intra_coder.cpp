// SPDX-License-Identifier: LGPL-2.1-or-later
#include "intra_coder.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "../../../common/h264/intra/intra_lines.h"
#include "../../../common/h264/intra/qp_choice.h"
#include "adaptive_qp_params.h"
#include "rank_params.h"

namespace cudaenc::h264 {

namespace {

// Of each field of a frame of field pairs.
PictureFormat field_of(PictureFormat f) {
    f.height /= f.step();
    f.field_pairs = false;
    return f;
}
SampleLayout field_of(SampleLayout s, int field, int fields) {
    s.data += field * s.stride;
    s.stride *= fields;
    return s;
}

// At most one slice begins in each.
std::vector<MacroblockRow> make_rows(const PictureFormat &f) {
    const int columns = f.macroblock_columns();
    std::vector<MacroblockRow> rows;  // from top to bottom
    for (int y = 0, slice = 0; y < f.macroblock_rows(); y++) {
        const int first = y * columns;
        const int above = y && rows.back().next < columns ? rows.back().next : 0;
        while (f.first_macroblock(slice + 1) <= first) slice++;
        rows.push_back({.y = static_cast<uint32_t>(y),
                        .slice = static_cast<uint32_t>(slice),
                        .first_in_slice = f.first_macroblock(slice) == first,
                        .next = static_cast<uint16_t>(std::min(f.first_macroblock(slice + 1) - first, columns)),
                        .above = static_cast<uint16_t>(above)});
    }
    std::vector<MacroblockRow> ordered;
    for (const int y : order_rows(f)) ordered.push_back(rows[static_cast<size_t>(y)]);
    return ordered;
}

std::vector<QpChoice> make_qp_choices(const PictureFormat &f) {
    std::optional<WeightedQuantisers> weighted;
    if (f.scaling) weighted.emplace(*f.scaling);
    const Quantisers quantisers = weighted ? *weighted : Quantisers{};
    std::vector<QpChoice> choices;
    for (int qp = -qp_bd_offset(f.bit_depth); qp <= kLastQp; qp++)
        choices.push_back(make_qp_choice(qp, f.bit_depth, f.chroma, f.chroma_qp_index_offset, quantisers));
    return choices;
}

// Streams that run side by side, as the driver decides.
int connections() {
    const char *text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int number = text ? std::atoi(text) : 0;
    return number >= 1 && number <= 32 ? number : 8;
}

// Thread-blocks of a picture. From half of the columns on, more would only wait: a row begins two steps after the one
// above, and a thread-block's next row as many steps as there are columns after its last one.
int useful_blocks(const PictureFormat &f) {
    return std::min(f.macroblock_rows(), f.slices * (f.macroblock_columns() + 1) / 2);
}

// Launches in flight, and the pictures that share one. More of them than connections would wait for each other. Four
// keep the device busy where one of them ends.
struct Launches {
    int count, pictures;
};
Launches launches_of(int in_flight) {
    if (in_flight <= connections()) return {in_flight, 1};
    const int pictures = std::min((in_flight + 3) / 4, kLaunchPictures);
    return {std::min((in_flight + pictures - 1) / pictures, connections()), pictures};
}

// Of a thread-block. Of formats other than AVC-Intra three where there is no chroma to code apart, or where more
// thread-blocks are useful than fit.
int warps_of(const Device &device, const PictureFormat &f, int in_flight) {
    if (f.only_8x8) return kAvcIntraWarps;
    const Launches launches = launches_of(in_flight);
    const int useful = useful_blocks(f) * std::min(in_flight, launches.count * launches.pictures);
    const bool fit = useful <= device.multiprocessors() * wavefront_blocks(f.chroma, kWavefrontParts);
    return chroma_blocks(f.chroma) > 0 && fit ? kWavefrontParts : kWavefrontParts - 1;
}

// Of a launch. Those in flight share the device.
int blocks_of(const Device &device, const PictureFormat &f, int in_flight) {
    const int all = device.multiprocessors() * wavefront_blocks(f.chroma, warps_of(device, f, in_flight));
    return std::max(1, all / launches_of(in_flight).count);
}

bool is_adaptive(const DeviceIntraCoder::Picture &picture, int aq_strength) {
    return (aq_strength || picture.offsets || picture.regions.count) && picture.qp <= kMaxQp;
}

}  // namespace

std::vector<WavefrontTables> make_wavefront_tables(ChromaFormat format, bool field) {
    std::vector<WavefrontTables> tables(1);
    const auto offset = [](uint8_t value) { return static_cast<uint8_t>(value * sizeof(uint16_t)); };
    std::transform(kPredictedValues<4>.begin(), kPredictedValues<4>.end(), tables[0].predicted_4x4, offset);
    std::transform(kPredictedValues<8>.begin(), kPredictedValues<8>.end(), tables[0].predicted_8x8, offset);
    std::copy_n(scan_4x4_of(field), 16, tables[0].scans + kScan4x4);
    std::copy_n(scan_8x8_of(field), 64, tables[0].scans + kScan8x8);
    const bool is_422 = format == ChromaFormat::c422;
    std::copy_n(is_422 ? kChromaDcScan422 : kChromaDcScan420, is_422 ? 8 : 4, tables[0].scans + kScanChromaDc);
    tables[0].cavlc = kCavlcTables;
    return tables;
}

DeviceIntraCoder::DeviceIntraCoder(std::shared_ptr<Device> device, const PictureFormat &format, int in_flight)
    : device_(std::move(device)),
      fields_(format.step()),
      format_(field_of(format)),
      launch_pictures_(std::min(launches_of(in_flight).pictures, kLaunchPictures / fields_)),
      threads_(static_cast<unsigned>(32 * warps_of(*device_, format, in_flight))),
      blocks_(blocks_of(*device_, format, in_flight)),
      rows_(upload_now(device_, make_rows(format_))),
      qp_choices_(upload_now(device_, make_qp_choices(format))),
      tables_(upload_now(device_, make_wavefront_tables(format.chroma, format.field))) {}

IntraBuffers DeviceIntraCoder::make_buffers() const {
    const size_t macroblocks = static_cast<size_t>(format_.macroblocks() * fields_);
    return {.macroblocks = {device_, macroblocks},
            .levels = {device_, macroblocks * 16 * static_cast<size_t>(blocks_per_macroblock(format_.chroma))},
            .ranked = {device_, macroblocks},
            .records = {device_, macroblocks * static_cast<size_t>(record_words(format_.chroma))},
            .tickets = {device_, 1},
            .qps = {device_, macroblocks}};
}

WavefrontArguments DeviceIntraCoder::arguments() const {
    return {.format = format_.coded(),
            .picture_width = format_.width,
            .picture_height = format_.height,
            .long_level_prefix = format_.long_level_prefix,
            .pcm_without_zeros = format_.pcm_without_zeros,
            .rows = rows_.data(),
            .row_count = static_cast<uint32_t>(format_.macroblock_rows()),
            .qp_choices = qp_choices_.data(),
            .tables = tables_.data(),
            .tickets = nullptr,
            .picture_count = 0,
            .pictures = {}};
}

WavefrontArguments DeviceIntraCoder::arguments_of(Device::Stream stream, std::span<const Picture> pictures,
                                                  int aq_strength, const MacroblockSlice *slices) const {
    WavefrontArguments arguments = this->arguments();
    arguments.tickets = pictures.front().buffers->tickets.data();
    for (const Picture &picture : pictures) prepare(stream, picture, aq_strength, slices, arguments);
    return arguments;
}

Grid DeviceIntraCoder::grid_of(size_t pictures) const {
    return {static_cast<unsigned>(std::min(blocks_, useful_blocks(format_) * static_cast<int>(pictures) * fields_))};
}

void DeviceIntraCoder::code(Device::Stream stream, std::span<const Picture> pictures, int aq_strength) const {
    const WavefrontArguments arguments = arguments_of(stream, pictures, aq_strength);
    const Grid grid = grid_of(pictures.size());
    if (format_.only_8x8)
        device_->launch(stream, grid, threads_, WavefrontParams<ChromaFormat::c422, true>{arguments});
    else
        with_format(format_.chroma,
                    [&]<ChromaFormat F>() { device_->launch(stream, grid, threads_, WavefrontParams<F>{arguments}); });
    for (const Picture &picture : pictures)
        if (is_adaptive(picture, aq_strength)) queue_qp_deltas(stream, picture);
}

void DeviceIntraCoder::code(Device::Stream stream, const Picture &picture, int aq_strength,
                            const std::array<ReconstructedPlane, 3> &reconstruction,
                            const MacroblockSlice *slices) const {
    const WavefrontArguments arguments = arguments_of(stream, {&picture, 1}, aq_strength, slices);
    with_decoded(format_.chroma, format_.bit_depth, [&]<ChromaFormat F, int Bytes>() {
        device_->launch(stream, grid_of(1), threads_,
                        ReconstructingWavefrontParams<F, Bytes>{
                            arguments, {reconstruction[0], reconstruction[1], reconstruction[2]}, slices});
    });
    if (is_adaptive(picture, aq_strength)) queue_qp_deltas(stream, picture);
}

// Queues what comes before the wavefront, and adds the picture to its arguments.
void DeviceIntraCoder::prepare(Device::Stream stream, const Picture &picture, int aq_strength,
                               const MacroblockSlice *slices, WavefrontArguments &arguments) const {
    IntraBuffers &b = *picture.buffers;
    const bool adaptive = is_adaptive(picture, aq_strength);
    if (b.pictures == 0) {
        device_->fill(stream, b.records.data(), 0, b.records.bytes());
        device_->fill(stream, b.tickets.data(), 0, b.tickets.bytes());
    }
    const uint32_t serial = b.pictures++ % kRecordSerials + 1;
    for (int field = 0; field < fields_; field++) {
        std::array<SampleLayout, 3> components = picture.components;
        for (SampleLayout &layout : components) layout = field_of(layout, field, fields_);
        const int64_t first = int64_t{field} * format_.macroblocks();
        if (adaptive) queue_qps(stream, picture, aq_strength, components[0], b.qps.data() + field);
        rank(stream, components, luma_components(format_.chroma), b.ranked.data() + first, slices);
        arguments.pictures[arguments.picture_count++] = {
            .components = {components[0], components[1], components[2]},
            .qps = adaptive ? b.qps.data() : nullptr,
            .ranked = b.ranked.data() + first,
            .records = b.records.data() + first * record_words(format_.chroma),
            .macroblocks = b.macroblocks.data(),
            .levels = b.levels.data(),
            .qp = picture.qp,
            .serial = serial,
            .step = static_cast<uint32_t>(fields_),
            .field = static_cast<uint32_t>(field)};
    }
}

void DeviceIntraCoder::rank(Device::Stream stream, const std::array<SampleLayout, 3> &components, int count,
                            RankedModes *to, const MacroblockSlice *slices) const {
    const RankArguments arguments{.components = {components[0], components[1], components[2]},
                                  .picture_width = format_.width,
                                  .picture_height = format_.height,
                                  .columns = static_cast<uint32_t>(format_.macroblock_columns()),
                                  .rows = rows_.data(),
                                  .ranked = to,
                                  .slices = slices};
    const auto grid = [&](int blocks) {
        return Grid{static_cast<unsigned>(format_.macroblock_rows()),
                    static_cast<unsigned>(ceil_div(blocks * format_.macroblock_columns(), kRankThreads))};
    };
    const auto queue = [&]<int Components>() {
        if (!format_.only_8x8) device_->launch(stream, grid(16), kRankThreads, RankParams<4, Components>{arguments});
        if (format_.transform_8x8) device_->launch(stream, grid(4), kRankThreads, RankParams<8, Components>{arguments});
    };
    if (count == 1)
        queue.operator()<1>();
    else
        queue.operator()<3>();
}

void DeviceIntraCoder::queue_qps(Device::Stream stream, const Picture &picture, int aq_strength,
                                 const SampleLayout &luma, int8_t *qps) const {
    const uint32_t macroblocks = static_cast<uint32_t>(format_.macroblocks());
    device_->launch(stream, {static_cast<unsigned>(ceil_div(macroblocks, kQpThreads / 32))}, kQpThreads,
                    AdaptiveQpParams{.luma = luma,
                                     .picture_width = format_.width,
                                     .picture_height = format_.height,
                                     .columns = static_cast<uint32_t>(format_.macroblock_columns()),
                                     .macroblocks = macroblocks,
                                     .choice = {.qp = picture.qp,
                                                .strength = aq_strength,
                                                .lowest_adapted = format_.lowest_qp,
                                                .lowest = format_.lowest_qp,
                                                .bit_depth = format_.bit_depth,
                                                .regions = picture.regions},
                                     .qps = qps,
                                     .step = static_cast<uint32_t>(fields_),
                                     .offsets = picture.offsets});
}

void DeviceIntraCoder::queue_qp_deltas(Device::Stream stream, const Picture &picture) const {
    const uint32_t macroblocks = static_cast<uint32_t>(format_.macroblocks() * fields_);
    device_->launch(stream, {static_cast<unsigned>(ceil_div(macroblocks, kQpThreads))}, kQpThreads,
                    QpDeltaParams{.macroblocks = picture.buffers->macroblocks.data(),
                                  .count = macroblocks,
                                  .qps = picture.buffers->qps.data(),
                                  .slice_qp = picture.qp,
                                  .bit_depth = format_.bit_depth});
}

}  // namespace cudaenc::h264
