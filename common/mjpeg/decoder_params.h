// SPDX-License-Identifier: LGPL-2.1-or-later
// What decoders derive from a stream: the planes that they fill, the blocks of a scan, its tables.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "../pipeline.h"
#include "geometry.h"
#include "huffman_decode.h"
#include "stream.h"
#include "upsample.h"

namespace cudaenc::mjpeg {

struct DecoderOptions {
    int lowres;          // pictures are 1/2^lowres as large: 0 to 3
    int64_t max_pixels;  // of a picture, before that
    bool usual_format = false;
    bool rgb = false;
};

// The planes of a picture as they are coded, one a component, and the samples of each: in the highest bits of one or
// two bytes. Throws Error: CUDAENC_ERR_UNSUPPORTED for components that no format has, CUDAENC_ERR_INVALID for too many
// pixels.
CudaencFormat make_format(const CodedStream &stream, const DecoderOptions &options);

// What the headers of a packet say, and the reader of what follows.
struct Header : PictureHeader {
    explicit Header(std::span<const uint8_t> packet) : reader(packet) {}
    StreamReader reader;
    Upsampling upsampling{};  // from planes as they are coded to those of info.format
};
// Throws Error as StreamReader and make_format() do.
std::unique_ptr<PictureHeader> read_header(std::span<const uint8_t> packet, const DecoderOptions &options);

inline Header &header_of(const CodedPicture &picture) { return static_cast<Header &>(*picture.header); }

// All of a picture.
inline CodedStream read_stream(const CodedPicture &picture) {
    return header_of(picture).reader.read_scans({picture.data, picture.size});
}

// Whether only the CPU decodes a stream, and to samples: of lossless coding and of 12 bits.
inline bool is_for_cpu(const CodedStream &stream) { return stream.lossless || stream.bits > 8; }

// Samples of a component at 1/2^lowres of the size.
inline int reduced_size(int samples, int lowres) { return (samples + (1 << lowres) - 1) >> lowres; }

// The geometry of a scan. One component alone has MCUs of one block (A.2.2).
struct ScanLayout {
    ScanGrid grid;
    int count;
    int component[kMaxStreamComponents];
    BlockGrid blocks[kMaxStreamComponents];
    int mcu_blocks;

    int64_t intervals() const {
        const int64_t mcus = grid.mcus();
        return grid.restart_interval ? (mcus + grid.restart_interval - 1) / grid.restart_interval : 1;
    }
};
ScanLayout make_scan_layout(const CodedStream &stream, const StreamScan &scan);

}  // namespace cudaenc::mjpeg
