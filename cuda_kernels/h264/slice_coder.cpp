// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_coder.h"

#include <algorithm>

#include "../../common/error.h"

namespace cudaenc::h264 {

namespace {

std::vector<PieceRange> make_ranges(const std::vector<Slice> &slices) {
    std::vector<PieceRange> ranges;
    for (uint32_t s = 0; s < slices.size(); s++)
        for (uint32_t i = 0; i < slices[s].count; i += kPieceMacroblocks) {
            const uint32_t count = min_of(slices[s].count - i, uint32_t{kPieceMacroblocks});
            ranges.push_back(
                {.first = slices[s].first + i, .count = count, .slice = s, .slice_first = slices[s].first});
        }
    return ranges;
}

std::vector<GroupRange> make_groups(const std::vector<PieceRange> &pieces) {
    std::vector<GroupRange> groups;
    for (uint32_t i = 0; i < pieces.size(); i++) {
        const bool begins_slice = pieces[i].first == pieces[i].slice_first;
        if (begins_slice || groups.back().count == kGroupPieces)
            groups.push_back({.first = i, .count = 0, .begins_slice = begins_slice, .ends_slice = 0});
        groups.back().count++;
        groups.back().ends_slice = i + 1 == pieces.size() || pieces[i + 1].slice != pieces[i].slice;
    }
    return groups;
}

template <ChromaFormat F>
std::vector<Unit> make_units() {
    using Threads = PieceThreads<F>;
    std::vector<Unit> units;
    const auto add = [&](UnitKind kind, int macroblock, int block, int component, int order) {
        const bool has_nc = kind != UnitKind::chroma_dc && kind != UnitKind::header;
        const BlockNeighbours n = has_nc ? neighbours_of(F, block) : BlockNeighbours{};
        units.push_back({.kind = kind,
                         .macroblock = static_cast<uint8_t>(macroblock),
                         .block = static_cast<uint8_t>(block),
                         .component = static_cast<uint8_t>(component),
                         .order = static_cast<uint8_t>(order),
                         .left = static_cast<uint8_t>(n.left),
                         .above = static_cast<uint8_t>(n.above),
                         .left_outside = n.left_outside,
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

}  // namespace

DeviceSliceCoder::DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format,
                                   const std::vector<Slice> &slices)
    : device_(std::move(device)),
      format_(format),
      slice_count_(slices.size()),
      ranges_(upload_now(device_, make_ranges(slices))),
      groups_(upload_now(device_, make_groups(make_ranges(slices)))),
      units_(upload_now(device_, with_format(format.chroma, []<ChromaFormat F>() { return make_units<F>(); }))),
      tables_(upload_now(device_, std::vector<CavlcTables>{kCavlcTables})) {}

PictureBuffers DeviceSliceCoder::make_buffers() const {
    const uint64_t slice_bytes = most_nal_bytes(sizeof(SliceHeaderBits::words) + 1);
    const uint64_t bits = static_cast<uint64_t>(format_.macroblocks()) * (most_macroblock_bits(format_) + 7);
    return {.bits = {device_, ranges_.count()},
            .words = {device_, ranges_.count() * most_piece_words(format_)},
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
                                   .tables = tables_.data(),
                                   .bits = b.bits.data(),
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
                              .bytes = b.bytes.data(),
                              .result = b.result->data()});
}

uint64_t nal_bytes(const PictureBuffers &buffers) {
    const NalResult &result = *buffers.result->data();
    if (result.failed == buffers.pictures) throw Error(CUDAENC_ERR_INTERNAL, "a macroblock has more bits than it may");
    return result.bytes;
}

}  // namespace cudaenc::h264
