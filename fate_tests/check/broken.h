// SPDX-License-Identifier: LGPL-2.1-or-later
// Breaks a stream at random: bytes that change, go, or come twice; markers where there are none; an early end.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudaenc::testing {

// random.below(n): 0 to n - 1.
template <class Random>
std::vector<uint8_t> broken(Random &random, std::vector<uint8_t> packet) {
    using Bytes = std::vector<uint8_t>;
    const uint32_t changes = 1 + random.below(4);
    for (uint32_t i = 0; i < changes && packet.size() > 2; i++) {
        const size_t at = random.below(static_cast<uint32_t>(packet.size()));
        const size_t count = std::min<size_t>(packet.size() - at, 1 + random.below(8));
        const auto place = packet.begin() + static_cast<ptrdiff_t>(at);
        switch (random.below(5)) {
            case 0:
                packet[at] = static_cast<uint8_t>(random.below(256));
                break;
            case 1:
                packet[at] ^= static_cast<uint8_t>(1 << random.below(8));
                break;
            case 2:
                packet.erase(place, place + static_cast<ptrdiff_t>(count));
                break;
            case 3: {
                const Bytes twice(place, place + static_cast<ptrdiff_t>(count));
                packet.insert(place, twice.begin(), twice.end());
                break;
            }
            default: {
                const uint8_t codes[] = {0x00, 0xd0, 0xd3, 0xd7, 0xd9, 0xda, 0xc4, 0xff};
                packet[at] = 0xff;
                if (at + 1 < packet.size()) packet[at + 1] = codes[random.below(8)];
            }
        }
    }
    if (random.below(4) == 0) packet.resize(random.below(static_cast<uint32_t>(packet.size() + 1)));
    return packet;
}

}  // namespace cudaenc::testing
