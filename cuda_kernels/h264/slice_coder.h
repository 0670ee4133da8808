// Slices coded on a device: macroblocks and levels to NAL units. The entropy backend of a pipeline, which has what goes
// in and what comes out. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <memory>
#include <vector>

#include "../device_objects.h"
#include "nal_params.h"

namespace cudaenc::h264 {

// What the coder needs for a picture in flight.
struct PictureBuffers {
    DeviceArray<PieceBits> bits;
    DeviceArray<PieceZeros> zeros;
    DeviceArray<uint32_t> words;
    DeviceArray<PiecePlace> places;
    DeviceArray<NalResult> device_result;
    DeviceArray<uint8_t> bytes;  // the NAL units of all slices, result->bytes of them
    std::unique_ptr<PinnedArray<NalResult>> result;
};

class DeviceSliceCoder {
  public:
    // slices: all macroblocks, in order.
    DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format, const std::vector<Slice> &slices);
    PictureBuffers make_buffers() const;

    // Queues the picture's work; buffers.result tells the host of it when the stream has run it. All of picture and
    // headers, one a slice, is in device memory, levels at a multiple of 16 bytes. The launches are always the same,
    // as graphs ask for.
    void code(Device::Stream stream, const PictureBuffers &buffers, const CodedPicture &picture,
              const SliceHeaderBits *headers) const;

    // The two steps of it, for who measures them.
    void code_pieces(Device::Stream stream, const PictureBuffers &buffers, const CodedPicture &picture,
                     const SliceHeaderBits *headers) const;
    void join_pieces(Device::Stream stream, const PictureBuffers &buffers) const;

  private:
    CodedPieces pieces_of(const PictureBuffers &buffers) const;

    const std::shared_ptr<Device> device_;
    const CodedFormat format_;
    const uint32_t slice_count_;
    DeviceArray<Slice> slices_;
    DeviceArray<PieceRange> ranges_;
    DeviceArray<CavlcTables> tables_;
};

// Bytes of the NAL units, once the stream has run. Throws Error where macroblocks have more bits than they may.
uint64_t nal_bytes(const PictureBuffers &buffers);

}  // namespace cudaenc::h264
