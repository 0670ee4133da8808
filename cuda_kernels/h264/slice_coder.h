// SPDX-License-Identifier: LGPL-2.1-or-later
// The entropy coder on a device: macroblocks and levels to NAL units. The pipeline owns its buffers.
#pragma once
#include <memory>
#include <vector>

#include "../../common/h264/syntax/slice_cpu.h"
#include "../device_objects.h"
#include "nal_params.h"

namespace cudaenc::h264 {

// The device memory of a picture in flight.
struct PictureBuffers {
    DeviceArray<PieceBits> bits;
    DeviceArray<uint32_t> words;
    DeviceArray<uint32_t> coded;  // SkipMapParams::coded
    DeviceArray<uint64_t> layer_bits;
    DeviceArray<uint64_t> links;  // GroupLinks, in each half those of every other picture
    DeviceArray<uint32_t> tickets;
    uint32_t pictures = 0;       // coded so far; 0, as after errors: the coder clears its buffers, nothing is in flight
    DeviceArray<uint8_t> bytes;  // the NAL units of all slices, nal_bytes() of them
    std::unique_ptr<PinnedArray<NalResult>> result;  // of the kernel
    // For sizes(); nullptr: nobody asks.
    std::unique_ptr<PinnedArray<uint32_t>> macroblock_bits = nullptr;
    std::unique_ptr<PinnedArray<uint64_t>> begins = nullptr;
    uint32_t division = 0;  // DeviceSliceCoder's, with which they were last used
};

// Device memory for the input of a picture in flight.
struct PictureUpload {
    DeviceArray<Macroblock> macroblocks;
    DeviceArray<int16_t> levels;
    DeviceArray<uint16_t> sign_flips;  // empty: no picture has any
    DeviceArray<SliceHeaderBits> headers;
};

class DeviceSliceCoder {
  public:
    // format: that of field pairs is 4:2:2. slices: all macroblocks, in order.
    DeviceSliceCoder(std::shared_ptr<Device> device, const CodedFormat &format, const std::vector<Slice> &slices);
    // The slices from the next code() on. Queues copies for it; nothing is in flight. Errors leave no slices: they have
    // to be set anew.
    void set_slices(Device::Stream stream, const std::vector<Slice> &slices);
    // has_sizes: for sizes().
    PictureBuffers make_buffers(bool has_sizes = false) const;
    PictureUpload make_upload(bool sign_flips) const;

    // Queues the copies of a picture in host memory, which must not change until the stream has run them. Returns the
    // copy, for code() with upload.headers.
    CodedPicture upload(Device::Stream stream, const PictureUpload &upload, const CodedPicture &picture,
                        const SliceHeaderBits *headers) const;

    // Queues the coding of a picture, of P slices where picture.predicted, in 4:2:0; buffers.result has its size once
    // the stream has run that. picture and headers, one a slice, are in device memory, levels at a multiple of 16
    // bytes. Not for graphs: parameters change with pictures. Buffers that have no room for the slices are replaced.
    void code(Device::Stream stream, PictureBuffers &buffers, const CodedPicture &picture,
              const SliceHeaderBits *headers) const;

    // Of the last code() with the buffers, once the stream has run. headers: on the host.
    SliceSizes sizes(const PictureBuffers &buffers, const std::vector<SliceHeaderBits> &headers) const;

  private:
    const std::shared_ptr<Device> device_;
    const CodedFormat format_;
    std::vector<Slice> slices_;
    std::vector<PieceRange> host_ranges_;
    std::vector<GroupRange> host_groups_;
    size_t slice_room_;      // of buffers
    uint32_t division_ = 0;  // how often slices were set
    DeviceArray<PieceRange> ranges_;
    DeviceArray<GroupRange> groups_;
    DeviceArray<Unit> units_;
    DeviceArray<BorderShare> borders_;
    DeviceArray<CavlcTables> tables_;
    DeviceArray<PartTables> parts_;
};

// Bytes of the NAL units, once the stream has run. Throws Error if a macroblock exceeds most_macroblock_bits().
uint64_t nal_bytes(const PictureBuffers &buffers);
// IntraCoder::bits() of the picture, likewise.
uint64_t layer_bits(const PictureBuffers &buffers);

}  // namespace cudaenc::h264
