// SPDX-License-Identifier: LGPL-2.1-or-later
#include "coded_data.h"

#include <algorithm>
#include <cstring>

#include "huffman_decode.h"
#include "markers.h"

namespace cudaenc::mjpeg {

size_t take_coded_data(std::span<const uint8_t> data, CodedData &to) {
    to.segments.assign(1, {.begin = 0, .end = 0, .interval = 0});
    if (to.bytes.size() < data.size() + kCodedPadding) to.bytes.resize(data.size() + kCodedPadding);
    uint8_t *out = to.bytes.data();
    const uint8_t *at = data.data(), *const end = at + data.size();
    int marker_before = kFirstMarkerBefore;
    const auto end_segment = [&] { to.segments.back().end = static_cast<size_t>(out - to.bytes.data()); };
    while (at < end) {
        const auto *marker = static_cast<const uint8_t *>(std::memchr(at, 0xFF, static_cast<size_t>(end - at)));
        const uint8_t *const stop = marker ? marker : end;
        out = std::copy(at, stop, out);
        at = stop;
        while (at < end && *at == 0xFF) at++;  // fill bytes
        if (at == end) break;
        if (*at == 0) {
            *out++ = 0xFF;
        } else if (is_restart(0xFF00u | *at)) {
            end_segment();
            const int number = *at & 7;
            const int64_t interval = to.segments.back().interval + interval_step(number, marker_before);
            marker_before = number;
            to.segments.push_back({.begin = to.segments.back().end, .end = 0, .interval = interval});
        } else {
            at--;
            break;
        }
        at++;
    }
    end_segment();
    std::fill_n(out, kCodedPadding, uint8_t{0});
    return static_cast<size_t>(at - data.data());
}

}  // namespace cudaenc::mjpeg
