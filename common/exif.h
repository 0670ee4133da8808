// SPDX-License-Identifier: LGPL-2.1-or-later
// What EXIF data tell in the first directory of their TIFF structure (TIFF 6.0, section 2). Any bytes may be given.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

namespace cudaenc {

struct ExifRational {
    uint32_t numerator, denominator;
};

class Exif {
  public:
    enum Tag { kOrientation = 0x0112, kXResolution = 0x011A, kYResolution = 0x011B, kResolutionUnit = 0x0128 };
    explicit Exif(std::span<const uint8_t> tiff) : tiff_(tiff), little_(!tiff.empty() && tiff[0] == 'I') {}

    // Of any type of integers: the first of them. Those below 0 are none.
    std::optional<uint32_t> number(Tag tag) const {
        enum { kByte = 1, kShort = 3, kLong = 4, kSignedByte = 6, kSignedShort = 8, kSignedLong = 9 };
        const size_t at = entry(tag);
        if (!at) return {};
        const uint32_t type = get16(at + 2), count = get32(at + 4);
        const bool is_byte = type == kByte || type == kSignedByte, is_short = type == kShort || type == kSignedShort;
        const uint32_t size = is_byte ? 1 : is_short ? 2 : type == kLong || type == kSignedLong ? 4 : 0;
        const size_t value_at = uint64_t{size} * count <= 4 ? at + 8 : get32(at + 8);  // there, or where it says
        if (!size || !count || value_at + size > tiff_.size()) return {};
        const uint32_t value = is_byte ? tiff_[value_at] : is_short ? get16(value_at) : get32(value_at);
        if (type >= kSignedByte && value >> (8 * size - 1)) return {};
        return value;
    }
    // 1 to 8 (CIPA DC-008, 4.6.4 A); 1: as it is, also where none is told.
    int orientation() const {
        const uint32_t value = number(kOrientation).value_or(1);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    // Of type RATIONAL; without those of denominator 0.
    std::optional<ExifRational> rational(Tag tag) const {
        constexpr uint32_t kRational = 5;
        const size_t entry_at = entry(tag);
        if (!entry_at || get16(entry_at + 2) != kRational) return {};
        const size_t at = get32(entry_at + 8);
        if (at + 8 > tiff_.size() || !get32(at + 4)) return {};
        return ExifRational{get32(at), get32(at + 4)};
    }

  private:
    // Where the entry of a tag lies; 0: there is none.
    size_t entry(Tag tag) const {
        constexpr size_t kEntry = 12;
        if (tiff_.size() < 8) return 0;
        const size_t directory = get32(4);
        if (directory + 2 > tiff_.size()) return 0;
        const size_t entries = get16(directory);
        for (size_t at = directory + 2; at + kEntry <= tiff_.size() && at < directory + 2 + entries * kEntry;
             at += kEntry)
            if (get16(at) == static_cast<uint32_t>(tag)) return at;
        return 0;
    }
    uint32_t get16(size_t at) const {
        const uint32_t first = tiff_[at], second = tiff_[at + 1];
        return little_ ? first | second << 8 : first << 8 | second;
    }
    uint32_t get32(size_t at) const {
        return little_ ? get16(at) | get16(at + 2) << 16 : get16(at) << 16 | get16(at + 2);
    }

    const std::span<const uint8_t> tiff_;
    const bool little_;
};

}  // namespace cudaenc
