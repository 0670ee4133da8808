// SPDX-License-Identifier: LGPL-2.1-or-later
// Which bytes of a codestream are whose: marker segments, tile-parts and packed packet headers (T.800 A.3, A.4, A.7).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "description.h"
#include "markers.h"

namespace cudaenc::j2k {

[[noreturn]] void refuse_codestream(size_t at, const std::string &why);  // Error(CUDAENC_ERR_INVALID)

// A marker segment without its marker and length.
struct MarkerSegment {
    uint16_t marker;
    size_t at;  // byte of the codestream at which the marker is
    std::span<const uint8_t> body;
};

// Big-endian fields of a marker segment. Reading beyond its end is an error.
class SegmentFields {
  public:
    explicit SegmentFields(const MarkerSegment &segment) : segment_(segment), rest_(segment.body) {}
    uint32_t get(int bytes);
    uint32_t get(int bytes, uint32_t least, uint32_t most, const char *name);
    size_t size() const { return rest_.size(); }
    std::span<const uint8_t> rest() const { return rest_; }
    void end() const;  // an error if fields are left
    [[noreturn]] void refuse(const std::string &why) const { refuse_codestream(segment_.at, why); }

  private:
    const MarkerSegment &segment_;
    std::span<const uint8_t> rest_;
};

// The marker segments from byte `at` of the codestream up to the marker `last`, SOT or SOD, which is none of them.
// Moves `at` behind them. Markers without a segment (0xFF30 to 0xFF3F) are left out.
std::vector<MarkerSegment> read_segments(std::span<const uint8_t> codestream, size_t &at, size_t end, Marker last);

// A tile-part with its marker segments.
struct TilePartHeader {
    CodedTilePart part;
    std::vector<MarkerSegment> segments;  // behind SOT
};
// The tile-parts from byte `at` on. Where the codestream ends early, the last one is cut. damage: why bytes behind the
// last one are not read; else it stays as it is. Throws Error where the first one is damaged.
std::vector<TilePartHeader> read_tile_parts(std::span<const uint8_t> codestream, size_t at, int tiles,
                                            std::string &damage);

// Gives tile-parts the packet headers of PPM marker segments, those of the main header, or of their own PPT marker
// segments. Either kind may be missing; both together are refused.
void unpack_headers(std::span<const MarkerSegment> main_header, std::span<TilePartHeader> tile_parts);

}  // namespace cudaenc::j2k
