// SPDX-License-Identifier: LGPL-2.1-or-later
// The intra pipeline on a device, with the decisions of effort 0: samples to macroblocks and levels. The pipeline owns
// its buffers.
#pragma once
#include <array>
#include <memory>
#include <span>

#include "../../../common/h264/lanes/intra_coder.h"
#include "../../device_objects.h"
#include "wavefront_params.h"

namespace cudaenc::h264 {

// The device memory of a picture in flight.
struct IntraBuffers {
    DeviceArray<Macroblock> macroblocks;
    DeviceArray<int16_t> levels;
    DeviceArray<RankedModes> ranked;
    DeviceArray<uint64_t> records;
    DeviceArray<uint32_t> tickets;
    uint32_t pictures = 0;    // coded so far; 0, as after errors: the coder clears its buffers, nothing is in flight
    DeviceArray<int8_t> qps;  // QPY of each macroblock, with adaptive quantisation
};

// Tables of a format's kernels: one element.
std::vector<WavefrontTables> make_wavefront_tables(ChromaFormat format, bool field);

// Formats are plain(), or those of AVC-Intra: 4:2:2 with only_8x8, slices of a row of macroblocks or more, also with
// field_pairs. Those are coded as two field pictures, whose macroblocks have their places in the frame.
class DeviceIntraCoder {
  public:
    // in_flight: so many pictures are coded at once.
    DeviceIntraCoder(std::shared_ptr<Device> device, const PictureFormat &format, int in_flight);
    IntraBuffers make_buffers() const;
    // Pictures that are to share a launch: 1 where a driver runs as many launches side by side as there are pictures.
    int launch_pictures() const { return launch_pictures_; }

    // A picture, of field pairs a frame, whose components lie in device memory. qp: see PictureQuality.
    struct Picture {
        IntraBuffers *buffers;
        std::array<SampleLayout, 3> components;
        int qp;
        QpRegions regions = {};
        const int8_t *offsets = nullptr;  // to QPs, see PictureQuality, in device memory
    };
    // Queues the coding of at most kLaunchPictures, of frames of field pairs half as many. aq_strength: see
    // PictureQuality. The results lie in their buffers once the stream has run. Not for graphs: parameters change with
    // pictures.
    void code(Device::Stream stream, std::span<const Picture> pictures, int aq_strength) const;
    // The same of one picture, whose reconstruction is asked for: planes of whole macroblocks, of
    // decoded_sample_bytes(). slices: of macroblocks, in device memory. Each begins in or behind one of the format.
    void code(Device::Stream stream, const Picture &picture, int aq_strength,
              const std::array<ReconstructedPlane, 3> &reconstruction, const MacroblockSlice *slices) const;

    // Parts of code(). Queues the ranking of modes on source samples, of the first `count` components. slices: of
    // macroblocks; nullptr: the format's.
    void rank(Device::Stream stream, const std::array<SampleLayout, 3> &components, int count, RankedModes *to,
              const MacroblockSlice *slices = nullptr) const;
    // Parameters without pictures.
    WavefrontArguments arguments() const;

  private:
    WavefrontArguments arguments_of(Device::Stream stream, std::span<const Picture> pictures, int aq_strength,
                                    const MacroblockSlice *slices = nullptr) const;
    Grid grid_of(size_t pictures) const;
    void prepare(Device::Stream stream, const Picture &picture, int aq_strength, const MacroblockSlice *slices,
                 WavefrontArguments &arguments) const;
    void queue_qps(Device::Stream stream, const Picture &picture, int aq_strength, const SampleLayout &luma,
                   int8_t *qps) const;
    void queue_qp_deltas(Device::Stream stream, const Picture &picture) const;
    const std::shared_ptr<Device> device_;
    const int fields_;            // that a picture is coded as: 2 of field pairs, else 1
    const PictureFormat format_;  // of each
    const int launch_pictures_;
    const unsigned threads_;  // of a thread-block
    const int blocks_;        // that a launch has at most
    DeviceArray<MacroblockRow> rows_;
    DeviceArray<QpChoice> qp_choices_;
    DeviceArray<WavefrontTables> tables_;
};

}  // namespace cudaenc::h264
