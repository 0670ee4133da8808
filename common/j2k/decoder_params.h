// SPDX-License-Identifier: LGPL-2.1-or-later
// What decoders of JPEG 2000 derive from a packet: its codestream, the format of the planes that they fill.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../pipeline.h"
#include "codestream/description.h"
#include "codestream/geometry.h"
#include "codestream/region.h"
#include "transform/inks.h"
#include "transform/store.h"

namespace cudaenc::j2k {

struct DecoderOptions {
    int lowres = 0;                  // resolutions to leave out
    int layers = 0;                  // of quality, that are decoded; 0: all
    Region region = {};              // that is decoded
    std::vector<int> channels = {};  // that planes have, up to four; empty: as the file says
    int64_t max_pixels = 0;          // of the region, before resolutions are left out
    bool usual_format = false;       // as FFmpeg has it: signed samples get the level shift that others have
};

// X,Y,WIDTH,HEIGHT; NULL or empty: all. Throws Error(CUDAENC_ERR_INVALID).
Region parse_region(const char *text);

// C,C,...: one to four numbers; NULL or empty: none. Throws the same.
std::vector<int> parse_channels(const char *text);

WantedPackets wanted_packets(const DecoderOptions &options);

// The geometry of a codestream, of the tiles that options ask for. Throws Error, CUDAENC_ERR_INVALID, where it has more
// tiles, packets or code-blocks than the bytes can be of, or more pixels than options allow, or where a region is not
// within the picture; CUDAENC_ERR_UNSUPPORTED where a tile has fewer levels than are to be left out, or more bit-planes
// than a coefficient.
Geometry make_decoder_geometry(const Description &description, size_t bytes, const DecoderOptions &options);
// Throws the same Error, for a codestream whose geometry is known.
void check_codestream(const Description &description, size_t bytes, const DecoderOptions &options);

// A component of the format: which one of the codestream it is of, and what its samples become.
struct Channel {
    size_t component;
    size_t place;  // in the format
    bool is_signed;
    std::vector<int32_t> values;  // [sample], of a palette; empty: as they are
};
// What the headers of a packet say.
struct Header : PictureHeader {
    std::vector<Channel> channels;
    bool has_inks = false;  // CMYK, of which planes get RGB and opacity: once samples are there, by ink_planes()
};
// Throws Error as read_headers() does; CUDAENC_ERR_UNSUPPORTED for components that no format has.
std::unique_ptr<PictureHeader> read_header(std::span<const uint8_t> packet, const DecoderOptions &options);
inline const Header &header_of(const CodedPicture &picture) { return static_cast<const Header &>(*picture.header); }

// Where the samples of a channel go, in a plane that begins at `plane`. Palettes are the channel's own memory.
ChannelLayout channel_layout(const CudaencFormat &format, const Channel &channel, uint8_t *plane, int64_t stride,
                             const DecoderOptions &options);

// A picture's planes whose header has inks.
InkPlanes ink_planes(const CudaencFormat &format, const std::array<uint8_t *, 4> &planes,
                     const std::array<int64_t, 4> &strides);

// What is said of a picture with damaged code-blocks; empty: there are none.
std::string damage_of_blocks(size_t damaged);

// Bytes up to the end of the first picture; 0: the packet begins with none.
size_t picture_size(std::span<const uint8_t> packet);
// Whether a codestream follows another, as the fields of a frame do.
bool has_two_fields(std::span<const uint8_t> packet);

}  // namespace cudaenc::j2k
