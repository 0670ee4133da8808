// SPDX-License-Identifier: LGPL-2.1-or-later
// The coded data of a scan on the CPU: segments between restart markers, without stuffed zeros.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cudaenc::mjpeg {

// What follows the start of a scan, or a restart marker.
struct CodedSegment {
    size_t begin, end;  // bytes of CodedData::bytes
    int64_t interval;   // the restart interval that it holds; others may be missing
};

constexpr size_t kCodedPadding = 16;  // bytes that may be read behind the last segment

struct CodedData {
    std::vector<uint8_t> bytes;  // kCodedPadding of 0 follow the last segment
    std::vector<CodedSegment> segments;
};

// Takes stuffed zeros, fill bytes and restart markers away, up to any other marker (B.1.1.5). Overwrites `to`, whose
// memory serves again. @return the bytes of `data` up to that marker
size_t take_coded_data(std::span<const uint8_t> data, CodedData &to);

}  // namespace cudaenc::mjpeg
