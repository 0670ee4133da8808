// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_coder.h"

#include "../../common/error.h"

namespace cudaenc::h264 {

namespace {

std::vector<PieceRange> make_ranges(const std::vector<Slice> &slices) {
    std::vector<PieceRange> ranges;
    for (uint32_t s = 0; s < slices.size(); s++)
        for (uint32_t i = 0; i < slices[s].count; i += kPieceMacroblocks)
            ranges.push_back({slices[s].first + i, min_of(slices[s].count - i, uint32_t{kPieceMacroblocks}), s});
    return ranges;
}

template <class T>
DeviceArray<T> upload(const std::shared_ptr<Device> &device, const std::vector<T> &host) {
    DeviceArray<T> array = upload_table(device, nullptr, host);
    device->synchronize(Device::Stream{});
    return array;
}

template <ChromaFormat F>
void launch_cavlc(Device &device, Device::Stream stream, unsigned pieces, const CavlcArguments &arguments) {
    device.launch(stream, {pieces}, PieceThreads<F>::kThreads, CavlcParams<F>{arguments});
}

}  // namespace

DeviceSliceCoder::DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format,
                                   const std::vector<Slice> &slices)
    : device_(std::move(device)),
      format_(format),
      slice_count_(static_cast<uint32_t>(slices.size())),
      slices_(upload(device_, slices)),
      ranges_(upload(device_, make_ranges(slices))),
      tables_(upload(device_, std::vector<CavlcTables>{kCavlcTables})) {
    if (uint64_t{ranges_.count()} * most_piece_words(format_) * 32 > UINT32_MAX)
        throw Error(CUDAENC_ERR_UNSUPPORTED, "a picture of 2^32 bits or more");
}

PictureBuffers DeviceSliceCoder::make_buffers() const {
    const size_t pieces = ranges_.count(), words = pieces * most_piece_words(format_);
    PictureBuffers b;
    b.bits = DeviceArray<PieceBits>(device_, pieces);
    b.zeros = DeviceArray<PieceZeros>(device_, pieces);
    b.words = DeviceArray<uint32_t>(device_, words + 1);  // where bits are read, the next word is
    b.places = DeviceArray<PiecePlace>(device_, pieces);
    b.device_result = DeviceArray<NalResult>(device_, 1);
    b.bytes = DeviceArray<uint8_t>(device_, most_nal_bytes(4 * words) + slice_count_ * kNalPrefixBytes);
    b.result = std::make_unique<PinnedArray<NalResult>>(device_, 1);
    return b;
}

CodedPieces DeviceSliceCoder::pieces_of(const PictureBuffers &b) const {
    return {b.bits.data(), b.zeros.data(), b.words.data(), most_piece_words(format_)};
}

void DeviceSliceCoder::code_pieces(Device::Stream stream, const PictureBuffers &buffers, const CodedPicture &picture,
                                   const SliceHeaderBits *headers) const {
    const CavlcArguments arguments{format_,        picture,        headers,           slices_.data(),
                                   ranges_.data(), tables_.data(), pieces_of(buffers)};
    const unsigned pieces = static_cast<unsigned>(ranges_.count());
    switch (format_.chroma) {
        case ChromaFormat::c400:
            return launch_cavlc<ChromaFormat::c400>(*device_, stream, pieces, arguments);
        case ChromaFormat::c420:
            return launch_cavlc<ChromaFormat::c420>(*device_, stream, pieces, arguments);
        case ChromaFormat::c422:
            return launch_cavlc<ChromaFormat::c422>(*device_, stream, pieces, arguments);
        case ChromaFormat::c444:
            return launch_cavlc<ChromaFormat::c444>(*device_, stream, pieces, arguments);
    }
}

void DeviceSliceCoder::join_pieces(Device::Stream stream, const PictureBuffers &b) const {
    const uint32_t pieces = static_cast<uint32_t>(ranges_.count());
    const NalBuffers buffers{pieces_of(b), ranges_.data(), b.places.data(), b.device_result.data(), pieces};
    device_->launch(stream, {1}, kPlaceThreads, PlaceParams{buffers});
    constexpr unsigned kWarps = kPackThreads / 32;
    device_->launch(stream, {(pieces + kWarps - 1) / kWarps}, kPackThreads, PackParams{buffers, b.bytes.data()});
    device_->download(stream, b.result->data(), b.device_result.data(), sizeof(NalResult));
}

void DeviceSliceCoder::code(Device::Stream stream, const PictureBuffers &buffers, const CodedPicture &picture,
                            const SliceHeaderBits *headers) const {
    code_pieces(stream, buffers, picture, headers);
    join_pieces(stream, buffers);
}

uint64_t nal_bytes(const PictureBuffers &buffers) {
    const NalResult &result = *buffers.result->data();
    if (result.failed) throw Error(CUDAENC_ERR_INTERNAL, "a macroblock has more bits than it may");
    return result.bytes;
}

}  // namespace cudaenc::h264
