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
    DeviceArray<uint32_t> words;
    DeviceArray<uint64_t> links;
    DeviceArray<uint32_t> tickets;
    uint32_t pictures = 0;  // that were coded; 0: all is to be cleared, as after errors; no picture is in flight then
    DeviceArray<uint8_t> bytes;                      // the NAL units of all slices, nal_bytes() of them
    std::unique_ptr<PinnedArray<NalResult>> result;  // which the kernel writes
};

// Device memory for what the host hands over of a picture in flight.
struct PictureUpload {
    DeviceArray<Macroblock> macroblocks;
    DeviceArray<int16_t> levels;
    DeviceArray<uint16_t> sign_flips;  // none where no picture has any
    DeviceArray<SliceHeaderBits> headers;
};

class DeviceSliceCoder {
  public:
    // slices: all macroblocks, in order.
    DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format, const std::vector<Slice> &slices);
    PictureBuffers make_buffers() const;
    PictureUpload make_upload(bool sign_flips) const;

    // Queues the copies of a picture in host memory, which has to stay as it is until the stream has run them. Returns
    // the picture that code() asks for, with upload.headers.
    CodedPicture upload(Device::Stream stream, const PictureUpload &upload, const CodedPicture &picture,
                        const SliceHeaderBits *headers) const;

    // Queues the picture's work; buffers.result tells the host of it when the stream has run it. All of picture and
    // headers, one a slice, is in device memory, levels at a multiple of 16 bytes. Parameters change from picture to
    // picture: not for graphs.
    void code(Device::Stream stream, PictureBuffers &buffers, const CodedPicture &picture,
              const SliceHeaderBits *headers) const;

  private:
    const std::shared_ptr<Device> device_;
    const CodedFormat format_;
    const size_t slice_count_;
    DeviceArray<PieceRange> ranges_;
    DeviceArray<GroupRange> groups_;
    DeviceArray<Unit> units_;
    DeviceArray<CavlcTables> tables_;
};

// Bytes of the NAL units, once the stream has run. Throws Error where macroblocks have more bits than they may.
uint64_t nal_bytes(const PictureBuffers &buffers);

}  // namespace cudaenc::h264
