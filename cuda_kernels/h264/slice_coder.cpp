// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_coder.h"

#include <algorithm>

#include "../../common/error.h"

namespace cudaenc::h264 {

namespace {

std::vector<PieceRange> make_ranges(const std::vector<Slice> &slices, uint32_t width) {
    std::vector<PieceRange> ranges;
    for (uint32_t s = 0; s < slices.size(); s++)
        for (uint32_t i = 0; i < slices[s].count; i += kPieceMacroblocks) {
            PieceRange range{
                .first = slices[s].first + i,
                .count = static_cast<uint8_t>(min_of(slices[s].count - i, uint32_t{kPieceMacroblocks})),
                .begins_slice = i == 0,
                .without_left = 0,
                .without_above = 0,
                .slice = s,
            };
            for (uint32_t m = 0; m < range.count; m++) {
                const bool left = i + m > 0 && (range.first + m) % width, above = i + m >= width;
                range.without_left |= static_cast<uint8_t>(!left << m);
                range.without_above |= static_cast<uint8_t>(!above << m);
            }
            ranges.push_back(range);
        }
    return ranges;
}

std::vector<GroupRange> make_groups(const std::vector<PieceRange> &pieces) {
    std::vector<GroupRange> groups;
    for (uint32_t i = 0; i < pieces.size(); i++) {
        const bool begins_slice = pieces[i].begins_slice;
        if (begins_slice || groups.back().count == kGroupPieces)
            groups.push_back({.first = i, .count = 0, .begins_slice = begins_slice, .ends_slice = 0});
        groups.back().count++;
        groups.back().ends_slice = i + 1 == pieces.size() || pieces[i + 1].begins_slice;
    }
    return groups;
}

// Above each macroblock, then to the left of the first.
template <ChromaFormat F>
std::vector<Border> make_borders() {
    constexpr int kChroma = chroma_blocks(F);
    std::vector<Border> borders;
    const auto add = [&](int macroblock, bool left, int a, int b, int c, int d) {
        borders.push_back({.blocks = static_cast<uint32_t>(a | b << 8 | c << 16 | d << 24),
                           .macroblock = static_cast<uint16_t>(macroblock),
                           .left = left});
    };
    const auto add_luma = [&](int macroblock, bool left, int first) {  // of two 8x8 blocks
        for (int c = 0; c < luma_components(F); c++)
            for (const int at : {c * kLumaBlocks + first, c * kLumaBlocks + 12})
                add(macroblock, left, at, at + 1, at + 2, at + 3);
    };
    for (int m = 0; m < kPieceMacroblocks; m++) {
        add_luma(m, false, 8);
        const int cb = kChromaAcBlock + kChroma - 2, cr = cb + kChroma;
        if (kChroma) add(m, false, cb, cb + 1, cr, cr + 1);
    }
    add_luma(0, true, 4);
    for (int b = kChromaAcBlock + 1; b < kChromaAcBlock + kChroma; b += 4)
        add(0, true, b, b + 2, b + kChroma, b + kChroma + 2);
    return borders;
}

template <ChromaFormat F>
std::vector<Unit> make_units() {
    using Threads = PieceThreads<F>;
    using Totals = PieceTotals<F>;
    const std::vector<Border> borders = make_borders<F>();
    // The place of the total_coeff of a block beyond the piece.
    const auto border_of = [&](int macroblock, bool left, int block) {
        for (size_t i = 0; i < borders.size(); i++)
            for (size_t k = 0; k < 4 && borders[i].macroblock == macroblock && borders[i].left == left; k++)
                if (static_cast<int>(borders[i].blocks >> 8 * k & 255) == block)
                    return Totals::kOwn + 4 * static_cast<int>(i) + static_cast<int>(k);
        throw Error(CUDAENC_ERR_INTERNAL, "a block is not on the border of a piece");
    };
    std::vector<Unit> units;
    const auto add = [&](UnitKind kind, int macroblock, int block, int component, int order) {
        const bool has_nc = kind != UnitKind::chroma_dc && kind != UnitKind::header;
        const BlockNeighbours n = has_nc ? neighbours_of(F, block) : BlockNeighbours{};
        const int own = macroblock * blocks_per_macroblock(F);
        const int left = n.left_outside && !macroblock ? border_of(macroblock, true, n.left)
                         : n.left_outside              ? own - blocks_per_macroblock(F) + n.left
                                                       : own + n.left;
        const int above = n.above_outside ? border_of(macroblock, false, n.above) : own + n.above;
        units.push_back({.kind = kind,
                         .macroblock = static_cast<uint8_t>(macroblock),
                         .block = static_cast<uint8_t>(block),
                         .component = static_cast<uint8_t>(component & 1),
                         .order = static_cast<uint8_t>(order & 127),
                         .left = static_cast<uint16_t>(left & 0x7FFF),
                         .left_outside = n.left_outside,
                         .above = static_cast<uint16_t>(above & 0x7FFF),
                         .above_outside = n.above_outside});
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

PartTables make_part_tables() {
    PartTables t{};
    for (int k = 0; k < 64; k++) {
        const int at = kZigzag8x8[k];
        t.places[k % 4][k / 4] = static_cast<uint8_t>(at / 16 * 2 * kLevelPitch + at % 16);
        t.rows[at / 8] |= 1u << (8 * (k % 4) + at % 8);
    }
    return t;
}

}  // namespace

DeviceSliceCoder::DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format,
                                   const std::vector<Slice> &slices)
    : device_(std::move(device)),
      format_(format),
      slice_count_(slices.size()),
      ranges_(upload_now(device_, make_ranges(slices, static_cast<uint32_t>(format.width)))),
      groups_(upload_now(device_, make_groups(make_ranges(slices, static_cast<uint32_t>(format.width))))),
      units_(upload_now(device_, with_format(format.chroma, []<ChromaFormat F>() { return make_units<F>(); }))),
      borders_(upload_now(device_, with_format(format.chroma, []<ChromaFormat F>() { return make_borders<F>(); }))),
      tables_(upload_now(device_, std::vector<CavlcTables>{kCavlcTables})),
      parts_(upload_now(device_, std::vector<PartTables>{make_part_tables()})) {}

PictureBuffers DeviceSliceCoder::make_buffers() const {
    const uint64_t slice_bytes = most_nal_bytes(sizeof(SliceHeaderBits::words) + 1);
    const uint64_t bits = static_cast<uint64_t>(format_.macroblocks()) * (most_macroblock_bits(format_) + 7);
    return {.bits = {device_, ranges_.count()},
            .words = {device_, ranges_.count() * most_piece_words(format_)},
            .layer_bits = {device_, 1},
            .links = {device_, 3 * groups_.count()},
            .tickets = {device_, 1},
            .bytes = {device_, slice_count_ * slice_bytes + most_nal_bytes(bits / 8 + 1)},
            .result = std::make_unique<PinnedArray<NalResult>>(device_, 1)};
}

PictureUpload DeviceSliceCoder::make_upload(bool sign_flips) const {
    const size_t macroblocks = static_cast<size_t>(format_.macroblocks());
    const size_t blocks = macroblocks * static_cast<size_t>(blocks_per_macroblock(format_.chroma));
    return {.macroblocks = {device_, macroblocks},
            .levels = {device_, 16 * blocks},
            .sign_flips = {device_, sign_flips ? blocks : 0},
            .headers = {device_, slice_count_}};
}

CodedPicture DeviceSliceCoder::upload(Device::Stream stream, const PictureUpload &to, const CodedPicture &picture,
                                      const SliceHeaderBits *headers) const {
    device_->upload(stream, to.macroblocks.data(), picture.macroblocks, to.macroblocks.bytes());
    device_->upload(stream, to.levels.data(), picture.levels, to.levels.bytes());
    device_->upload(stream, to.headers.data(), headers, to.headers.bytes());
    if (picture.sign_flips) device_->upload(stream, to.sign_flips.data(), picture.sign_flips, to.sign_flips.bytes());
    return {.macroblocks = to.macroblocks.data(),
            .levels = to.levels.data(),
            .sign_flips = picture.sign_flips ? to.sign_flips.data() : nullptr};
}

void DeviceSliceCoder::code(Device::Stream stream, PictureBuffers &b, const CodedPicture &picture,
                            const SliceHeaderBits *headers) const {
    if (b.pictures == 0) {
        device_->fill(stream, b.layer_bits.data(), 0, b.layer_bits.bytes());
        device_->fill(stream, b.links.data(), 0, b.links.bytes());
        device_->fill(stream, b.tickets.data(), 0, b.tickets.bytes());
        *b.result->data() = {};
    }
    const uint32_t serial = b.pictures % 255 + 1;
    b.pictures++;
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
                                   .layer_bits = b.layer_bits.data(),
                                   .words = b.words.data(),
                                   .word_pitch = pitch,
                                   .number = b.pictures,
                                   .result = b.result->data()};
    with_format(format_.chroma, [&]<ChromaFormat F>() {
        device_->launch(stream, {static_cast<unsigned>(ranges_.count())}, PieceThreads<F>::kThreads,
                        CavlcParams<F>{arguments});
    });
    const size_t groups = groups_.count();
    uint64_t *links = b.links.data();
    device_->launch(stream, {static_cast<unsigned>(groups)}, kGroupThreads,
                    NalParams{.ranges = groups_.data(),
                              .bits = b.bits.data(),
                              .words = b.words.data(),
                              .word_pitch = pitch,
                              .links = {.phases = links,
                                        .ends = links + groups,
                                        .bytes = links + 2 * groups,
                                        .tickets = b.tickets.data(),
                                        .serial = serial},
                              .layer_bits = b.layer_bits.data(),
                              .bytes = b.bytes.data(),
                              .result = b.result->data()});
}

uint64_t nal_bytes(const PictureBuffers &buffers) {
    const NalResult &result = *buffers.result->data();
    if (result.failed == buffers.pictures) throw Error(CUDAENC_ERR_INTERNAL, "a macroblock has more bits than it may");
    return result.bytes;
}

uint64_t layer_bits(const PictureBuffers &buffers) { return buffers.result->data()->bits; }

}  // namespace cudaenc::h264
