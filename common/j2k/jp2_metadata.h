// SPDX-License-Identifier: LGPL-2.1-or-later
// What frames bring along for boxes of a JP2 file: the identifiers of uuid boxes (T.800 I.7.2), and copies of it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../cudaenc.h"

namespace cudaenc::j2k {

// EXIF's are the letters "JpgTiffExif->JP2". XMP's stands in the XMP specification, part 3, at JPEG 2000. Those of
// IPTC-IIM and of Photoshop's image resources are what ExifTool and Exiv2 read, and Adobe's programs write.
using Uuid = std::array<uint8_t, 16>;
constexpr Uuid kExifUuid{'J', 'p', 'g', 'T', 'i', 'f', 'f', 'E', 'x', 'i', 'f', '-', '>', 'J', 'P', '2'};
constexpr Uuid kXmpUuid{0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC};
constexpr Uuid kIptcUuid{0x33, 0xC7, 0xA4, 0xD2, 0xB8, 0x1D, 0x47, 0x23,
                         0xA0, 0xBA, 0xF1, 0xA3, 0xE0, 0x97, 0xAD, 0x38};
constexpr Uuid kImageResourcesUuid{0x2C, 0x4C, 0x01, 0x00, 0x85, 0x04, 0x40, 0xB9,
                                   0xA0, 0x3E, 0x56, 0x21, 0x48, 0xD6, 0xDF, 0xEB};

// Image resources begin with their signature, data sets of IIM with a tag marker (IPTC-IIM 4.2, 1.5).
inline bool is_image_resources(std::span<const uint8_t> x) {
    return x.size() > 4 && x[0] == '8' && x[1] == 'B' && x[2] == 'I' && x[3] == 'M';
}
inline bool is_iptc(std::span<const uint8_t> x) { return (!x.empty() && x[0] == 0x1C) || is_image_resources(x); }

// Copies of what a frame brings along: the caller's memory is valid until cudaenc_submit() returns.
class FrameMetadata {
  public:
    // Copies, and lets the frame point to the copies. planes: of the frame.
    void keep(CudaencFrame &frame, int planes) {
        if (frame.plane_data) {
            plane_data_.assign(frame.plane_data, frame.plane_data + planes);
            plane_stride_.assign(frame.plane_stride, frame.plane_stride + planes);
            frame.plane_data = plane_data_.data(), frame.plane_stride = plane_stride_.data();
        }
        copy(icc_profile_, frame.icc_profile, frame.icc_profile_size);
        copy(exif_, frame.exif, frame.exif_size);
        copy(xmp_, frame.xmp, frame.xmp_size);
        copy(iptc_, frame.iptc, frame.iptc_size);
    }

  private:
    static void copy(std::vector<uint8_t> &to, const uint8_t *&from, size_t size) {
        to.assign(from, from + size);
        from = to.data();
    }
    std::vector<uint8_t> icc_profile_, exif_, xmp_, iptc_;
    std::vector<const uint8_t *> plane_data_;
    std::vector<ptrdiff_t> plane_stride_;
};

}  // namespace cudaenc::j2k
