// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_division.h"

#include "../error.h"

namespace cudaenc::h264 {

// Parts of three quarters of the bytes: so the next picture seldom has to be coded again.
void SliceDivision::add(const SliceSizes &sizes, const Slice &slice, std::vector<Slice> &to) const {
    const uint64_t most_bits = 8 * most_bytes_ / 4 * 3;
    uint64_t bits = 0;
    Slice part{slice.first, 0};
    for (uint32_t at = slice.first; at < slice.first + slice.count; at++) {
        const uint64_t own = sizes.macroblock_bits[at];
        if (part.count && bits + own > most_bits) {
            to.push_back(part);
            part = {at, 0};
            bits = 0;
        }
        part.count++;
        bits += own;
    }
    to.push_back(part);
}

void SliceDivision::next(const SliceSizes &sizes) {
    std::vector<Slice> slices;
    add(sizes, {0, slices_.back().first + slices_.back().count}, slices);
    slices_ = std::move(slices);
}

bool SliceDivision::fits(const SliceSizes &sizes) {
    std::vector<Slice> slices;
    bool all = true;
    for (size_t i = 0; i < slices_.size(); i++) {
        const Slice &slice = slices_[i];
        if (sizes.nal_bytes[i] <= most_bytes_) {
            slices.push_back(slice);
            continue;
        }
        if (slice.count == 1)
            throw Error(CUDAENC_ERR_INTERNAL, format_string("a macroblock of %zu bytes", sizes.nal_bytes[i]));
        all = false;
        const size_t before = slices.size();
        add(sizes, slice, slices);
        if (slices.size() > before + 1) continue;
        slices.pop_back();  // emulation prevention made it so large
        slices.push_back({slice.first, slice.count / 2});
        slices.push_back({slice.first + slice.count / 2, slice.count - slice.count / 2});
    }
    slices_ = std::move(slices);
    return all;
}

}  // namespace cudaenc::h264
