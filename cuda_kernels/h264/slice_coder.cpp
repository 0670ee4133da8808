// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_coder.h"

#include <algorithm>
#include <array>

#include "../../common/error.h"

namespace cudaenc::h264 {

namespace {

std::vector<PieceRange> make_ranges(const std::vector<Slice> &slices, const CodedFormat &format) {
    const uint32_t width = static_cast<uint32_t>(format.width), step = static_cast<uint32_t>(format.step());
    std::vector<PieceRange> ranges;
    uint32_t groups = 0;
    for (uint32_t s = 0; s < slices.size(); s++) {
        const uint32_t first_group = groups;
        for (uint32_t i = 0; i < slices[s].count; i += kPieceMacroblocks) {
            PieceRange range{
                .first = slices[s].first + i,
                .count = static_cast<uint8_t>(min_of(slices[s].count - i, uint32_t{kPieceMacroblocks})),
                .begins_slice = i == 0,
                .without_left = 0,
                .without_above = 0,
                .slice = static_cast<uint16_t>(s),
                .group = static_cast<uint16_t>(first_group + i / (kPieceMacroblocks * kGroupPieces)),
                .without_border = 1 << kNoBorder,
                .before = static_cast<uint16_t>(i / kPieceMacroblocks),
            };
            groups = range.group + 1u;
            for (uint32_t m = 0; m < range.count; m++) {
                const bool left = i + m >= step && (range.first + m) % width >= step, above = i + m >= width;
                range.without_left |= static_cast<uint8_t>(!left << m);
                range.without_above |= static_cast<uint8_t>(!above << m);
            }
            range.without_border |= static_cast<uint16_t>((0xFF << range.count & 0xFF) | range.without_above |
                                                          (range.without_left & 3) << kPieceMacroblocks);
            ranges.push_back(range);
        }
    }
    return ranges;
}

std::vector<GroupRange> make_groups(const std::vector<PieceRange> &pieces) {
    std::vector<GroupRange> groups;
    for (uint32_t i = 0; i < pieces.size(); i++) {
        if (pieces[i].group == groups.size())
            groups.push_back({.first = i, .count = 0, .begins_slice = pieces[i].begins_slice, .ends_slice = 0});
        groups.back().count++;
        groups.back().ends_slice = i + 1 == pieces.size() || pieces[i + 1].begins_slice;
    }
    return groups;
}

// Four blocks beyond the piece: above a macroblock of it, or to the left of one.
struct Border {
    int macroblock;
    bool left;
    std::array<int, 4> blocks;
};
// Above each macroblock, then to the left of the first `lefts`.
template <ChromaFormat F>
std::vector<Border> make_borders(int lefts) {
    constexpr int kChroma = chroma_blocks(F);
    std::vector<Border> borders;
    const auto add_luma = [&](int macroblock, bool left, int first) {  // of two 8x8 blocks
        for (int c = 0; c < luma_components(F); c++)
            for (const int at : {c * kLumaBlocks + first, c * kLumaBlocks + 12})
                borders.push_back({macroblock, left, {at, at + 1, at + 2, at + 3}});
    };
    for (int m = 0; m < kPieceMacroblocks; m++) {
        add_luma(m, false, 8);
        const int cb = kChromaAcBlock + kChroma - 2, cr = cb + kChroma;
        if (kChroma) borders.push_back({m, false, {cb, cb + 1, cr, cr + 1}});
    }
    for (int m = 0; m < lefts; m++) {
        add_luma(m, true, 4);
        for (int b = kChromaAcBlock + 1; b < kChromaAcBlock + kChroma; b += 4)
            borders.push_back({m, true, {b, b + 2, b + kChroma, b + kChroma + 2}});
    }
    return borders;
}

// See Unit::coded_by.
uint8_t coded_by(ChromaFormat f, int block) {
    uint32_t bits = is_coded(MacroblockType::i16x16, 0, f, block) ? kLumaDcPattern : 0;
    for (uint32_t bit = 1; bit < kLumaDcPattern; bit *= 2)
        if (is_coded(MacroblockType::i4x4, bit, f, block)) bits |= bit;
    return static_cast<uint8_t>(bits);
}

template <ChromaFormat F>
std::vector<BorderShare> make_border_shares(const CodedFormat &format) {
    std::vector<BorderShare> shares;
    for (const Border &border : make_borders<F>(format.step()))
        for (uint32_t i = 0; i < 8; i++) {
            const int block = border.blocks[i / 2];
            const int outside = border.macroblock + (border.left ? kPieceMacroblocks : 0);
            shares.push_back({.macroblock = border.macroblock - (border.left ? format.step() : format.width),
                              .level = (16 * static_cast<uint32_t>(block) + 8 * (i & 1)) & 1023,
                              .coded_by = coded_by(F, block),
                              .chroma = F != ChromaFormat::c444 && block >= kChromaAcBlock,
                              .outside = static_cast<uint32_t>(outside & 31)});
        }
    shares.resize(border_lanes<F>(), {.macroblock = 0, .level = 0, .coded_by = 0, .chroma = 0, .outside = kNoBorder});
    return shares;
}

// step: see CodedFormat.
template <ChromaFormat F>
std::vector<Unit> make_units(int step) {
    using Threads = PieceThreads<F>;
    using Totals = PieceTotals<F>;
    const std::vector<Border> borders = make_borders<F>(step);
    // The place of the total_coeff of a block beyond the piece.
    const auto border_of = [&](int macroblock, bool left, int block) {
        for (size_t i = 0; i < borders.size(); i++)
            for (size_t k = 0; k < 4 && borders[i].macroblock == macroblock && borders[i].left == left; k++)
                if (borders[i].blocks[k] == block) return Totals::kOwn + 4 * static_cast<int>(i) + static_cast<int>(k);
        throw Error(CUDAENC_ERR_INTERNAL, "a block is not on the border of a piece");
    };
    std::vector<Unit> units;
    const auto add = [&](UnitKind kind, int macroblock, int block, int component, int order) {
        const bool has_nc = kind != UnitKind::chroma_dc && kind != UnitKind::header;
        const BlockNeighbours n = has_nc ? neighbours_of(F, block) : BlockNeighbours{};
        const int own = macroblock * blocks_per_macroblock(F);
        const int left = n.left_outside && macroblock < step ? border_of(macroblock, true, n.left)
                         : n.left_outside                    ? own - step * blocks_per_macroblock(F) + n.left
                                                             : own + n.left;
        const int above = n.above_outside ? border_of(macroblock, false, n.above) : own + n.above;
        const bool has_levels = kind != UnitKind::header && macroblock < kPieceMacroblocks;
        const Unit unit{.block = static_cast<uint32_t>(block & 63),
                        .coded_by = has_levels ? coded_by(F, block) : uint8_t{0},
                        .order = static_cast<uint32_t>(order & 63),
                        .macroblock = static_cast<uint32_t>(macroblock & 15),
                        .component = static_cast<uint32_t>(component & 1),
                        .kind = kind,
                        .left = static_cast<uint16_t>(left & 0x7FFF),
                        .left_outside = n.left_outside,
                        .above = static_cast<uint16_t>(above & 0x7FFF),
                        .above_outside = n.above_outside};
        units.push_back(unit);
    };
    const auto fill_up = [&](size_t count) {
        while (units.size() < count) add(UnitKind::chroma_dc, kNoMacroblock, 0, 0, 0);
    };
    for (int c = 0; c < Threads::kLumaDc; c++)
        for (int m = 0; m < kPieceMacroblocks; m++)
            for (int b = c * kLumaBlocks; b < c * kLumaBlocks + 16; b++) add(UnitKind::luma, m, b, 0, 2 + b);
    for (int m = 0; m < kPieceMacroblocks; m++)
        for (int b = kChromaAcBlock; b < kChromaAcBlock + Threads::kChromaAc; b++)
            add(UnitKind::chroma_ac, m, b, 0, 2 + b);
    for (int c = 0; c < Threads::kLumaDc; c++)
        for (int m = 0; m < kPieceMacroblocks; m++)
            add(UnitKind::luma_dc, m, c * kLumaBlocks + kLumaDcBlock, 0, c * kLumaBlocks + 1);
    for (int c = 0; c < Threads::kChromaDc; c++)
        for (int m = 0; m < kPieceMacroblocks; m++)
            add(UnitKind::chroma_dc, m, kChromaDcBlock, c, 1 + kChromaDcBlock + c);
    fill_up(Threads::kHeaders);
    for (int m = 0; m < kPieceMacroblocks; m++) add(UnitKind::header, m, 0, 0, 0);
    fill_up(Threads::kThreads);
    return units;
}

PartTables make_part_tables(bool field) {
    PartTables t{};
    for (int k = 0; k < 64; k++) {
        const int at = scan_8x8_of(field)[k];
        t.places[k % 4][k / 4] = static_cast<uint8_t>(at / 16 * 2 * kLevelPitch + at % 16);
        t.rows[at / 8] |= 1u << (8 * (k % 4) + at % 8);
    }
    return t;
}

constexpr size_t kGroupLinks = 3;  // words of a group

}  // namespace

DeviceSliceCoder::DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format,
                                   const std::vector<Slice> &slices)
    : device_(std::move(device)),
      format_(format),
      slices_(slices),
      host_ranges_(make_ranges(slices, format)),
      host_groups_(make_groups(host_ranges_)),
      slice_room_(slices.size()),
      ranges_(upload_now(device_, host_ranges_)),
      groups_(upload_now(device_, host_groups_)),
      units_(upload_now(device_,
                        with_format(format.chroma, [&]<ChromaFormat F>() { return make_units<F>(format.step()); }))),
      borders_(upload_now(device_,
                          with_format(format.chroma, [&]<ChromaFormat F>() { return make_border_shares<F>(format); }))),
      tables_(upload_now(device_, std::vector<CavlcTables>{kCavlcTables})),
      parts_(upload_now(device_, std::vector<PartTables>{make_part_tables(format.field)})) {}

void DeviceSliceCoder::set_slices(Device::Stream stream, const std::vector<Slice> &slices) {
    host_ranges_ = make_ranges(slices, format_);
    host_groups_ = make_groups(host_ranges_);
    slices_ = slices;
    division_++;
    if (slices.size() > slice_room_ || host_ranges_.size() > ranges_.count() || host_groups_.size() > groups_.count()) {
        const size_t room = std::min(2 * slices.size(), static_cast<size_t>(format_.macroblocks()));
        const size_t pieces = static_cast<size_t>(format_.macroblocks()) / kPieceMacroblocks + room;
        ranges_ = {device_, pieces};
        groups_ = {device_, pieces / kGroupPieces + room};
        slice_room_ = room;
    }
    device_->upload(stream, ranges_.data(), host_ranges_.data(), host_ranges_.size() * sizeof(PieceRange));
    device_->upload(stream, groups_.data(), host_groups_.data(), host_groups_.size() * sizeof(GroupRange));
}

PictureBuffers DeviceSliceCoder::make_buffers(bool has_sizes) const {
    const uint64_t slice_bytes = most_nal_bytes(sizeof(SliceHeaderBits::words) + 1);
    const uint64_t bits = static_cast<uint64_t>(format_.macroblocks()) * (most_macroblock_bits(format_) + 7);
    PictureBuffers buffers{.bits = {device_, ranges_.count()},
                           .words = {device_, ranges_.count() * most_piece_words(format_)},
                           .coded = {device_, static_cast<size_t>(ceil_div(format_.macroblocks(), 32))},
                           .layer_bits = {device_, 1},
                           .links = {device_, 2 * kGroupLinks * groups_.count()},
                           .tickets = {device_, 1},
                           .bytes = {device_, slice_room_ * slice_bytes + most_nal_bytes(bits / 8 + 1)},
                           .result = std::make_unique<PinnedArray<NalResult>>(device_, 1)};
    if (has_sizes) {
        const size_t macroblocks = static_cast<size_t>(format_.macroblocks());
        buffers.macroblock_bits = std::make_unique<PinnedArray<uint32_t>>(device_, macroblocks);
        buffers.begins = std::make_unique<PinnedArray<uint64_t>>(device_, groups_.count());
    }
    return buffers;
}

PictureUpload DeviceSliceCoder::make_upload(bool sign_flips) const {
    const size_t macroblocks = static_cast<size_t>(format_.macroblocks());
    const size_t blocks = macroblocks * static_cast<size_t>(blocks_per_macroblock(format_.chroma));
    return {.macroblocks = {device_, macroblocks},
            .levels = {device_, 16 * blocks},
            .sign_flips = {device_, sign_flips ? blocks : 0},
            .headers = {device_, slice_room_}};
}

CodedPicture DeviceSliceCoder::upload(Device::Stream stream, const PictureUpload &to, const CodedPicture &picture,
                                      const SliceHeaderBits *headers) const {
    device_->upload(stream, to.macroblocks.data(), picture.macroblocks, to.macroblocks.bytes());
    device_->upload(stream, to.levels.data(), picture.levels, to.levels.bytes());
    device_->upload(stream, to.headers.data(), headers, to.headers.bytes());
    if (picture.sign_flips) device_->upload(stream, to.sign_flips.data(), picture.sign_flips, to.sign_flips.bytes());
    return {.macroblocks = to.macroblocks.data(),
            .levels = to.levels.data(),
            .sign_flips = picture.sign_flips ? to.sign_flips.data() : nullptr,
            .predicted = picture.predicted};
}

void DeviceSliceCoder::code(Device::Stream stream, PictureBuffers &b, const CodedPicture &picture,
                            const SliceHeaderBits *headers) const {
    if (b.bits.count() < host_ranges_.size() || b.links.count() < 2 * kGroupLinks * groups_.count())
        b = make_buffers(b.macroblock_bits != nullptr);
    if (b.division != division_) b.pictures = 0;  // links of other groups
    b.division = division_;
    if (b.pictures == 0) {
        device_->fill(stream, b.layer_bits.data(), 0, b.layer_bits.bytes());
        device_->fill(stream, b.links.data(), 0, b.links.bytes());
        device_->fill(stream, b.tickets.data(), 0, b.tickets.bytes());
        *b.result->data() = {};
    }
    const size_t groups = groups_.count();
    const auto links_of = [&](uint32_t number) {
        uint64_t *words = b.links.data() + number % 2 * kGroupLinks * groups;
        return GroupLinks{.sums = words, .ends = words + groups, .preventions = words + 2 * groups};
    };
    b.pictures++;
    const GroupLinks links = links_of(b.pictures);
    const uint32_t pitch = most_piece_words(format_);
    const CavlcArguments arguments{.format = format_,
                                   .picture = picture,
                                   .headers = headers,
                                   .ranges = ranges_.data(),
                                   .units = units_.data(),
                                   .borders = borders_.data(),
                                   .tables = tables_.data(),
                                   .parts = parts_.data(),
                                   .bits = b.bits.data(),
                                   .sums = links.sums,
                                   .layer_bits = b.layer_bits.data(),
                                   .words = b.words.data(),
                                   .word_pitch = pitch,
                                   .number = b.pictures,
                                   .result = b.result->data(),
                                   .coded = b.coded.data(),
                                   .macroblock_bits = b.macroblock_bits ? b.macroblock_bits->data() : nullptr};
    const Grid pieces{static_cast<unsigned>(host_ranges_.size())};
    if (picture.predicted)
        device_->launch(stream, {static_cast<unsigned>(ceil_div(format_.macroblocks(), kSkipMapThreads))},
                        kSkipMapThreads,
                        SkipMapParams{.count = static_cast<uint32_t>(format_.macroblocks()),
                                      .macroblocks = picture.macroblocks,
                                      .coded = b.coded.data()});
    with_format(format_.chroma, [&]<ChromaFormat F>() {
        if (picture.predicted)
            device_->launch(stream, pieces, PieceThreads<F>::kThreads, CavlcParams<F, true>{arguments});
        else
            device_->launch(stream, pieces, PieceThreads<F>::kThreads, CavlcParams<F, false>{arguments});
    });
    device_->launch(stream, {static_cast<unsigned>(host_groups_.size())}, kGroupThreads,
                    NalParams{.ranges = groups_.data(),
                              .headers = headers,
                              .bits = b.bits.data(),
                              .words = b.words.data(),
                              .word_pitch = pitch,
                              .links = links,
                              .next_links = links_of(b.pictures + 1),
                              .tickets = b.tickets.data(),
                              .layer_bits = b.layer_bits.data(),
                              .bytes = b.bytes.data(),
                              .result = b.result->data(),
                              .begins = b.begins ? b.begins->data() : nullptr});
}

SliceSizes DeviceSliceCoder::sizes(const PictureBuffers &b, const std::vector<SliceHeaderBits> &headers) const {
    SliceSizes sizes{std::vector<size_t>(slices_.size()),
                     std::vector<uint32_t>(static_cast<size_t>(format_.macroblocks()))};
    uint64_t end = nal_bytes(b);
    for (size_t slice = slices_.size(), group = host_groups_.size(); group--;) {
        if (!host_groups_[group].begins_slice) continue;
        const uint64_t begin = b.begins->data()[group];
        sizes.nal_bytes[--slice] = static_cast<size_t>(end - begin) - kStartCodeBytes;
        end = begin;
    }
    for (size_t i = 0; i < slices_.size(); i++) {
        uint32_t phase = headers[i].count;
        for (uint32_t m = slices_[i].first; m < slices_[i].first + slices_[i].count; m++) {
            const MacroblockBits own{b.macroblock_bits->data()[m]};
            // The samples of I_PCM are whole bytes.
            const uint32_t alignment = own.pcm() ? (0 - (phase + own.bits())) % 8 : 0;
            sizes.macroblock_bits[m] = own.bits() + alignment;
            phase += sizes.macroblock_bits[m];
        }
    }
    return sizes;
}

uint64_t nal_bytes(const PictureBuffers &buffers) {
    const NalResult &result = *buffers.result->data();
    if (result.failed == buffers.pictures) throw Error(CUDAENC_ERR_INTERNAL, "a macroblock has more bits than it may");
    return result.bytes;
}

uint64_t layer_bits(const PictureBuffers &buffers) { return buffers.result->data()->bits; }

}  // namespace cudaenc::h264
