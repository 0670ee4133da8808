// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block.h"

#include "ht.h"

namespace cudaenc::j2k {

uint32_t codeword_room(const CodeBlock &b, const BlockCoding &coding) {
    return are_alternatives(coding.style) ? round_up_room(most_ht_bytes(b.width, b.height, b.planes))
                                          : room_layout(b, coding).bytes;
}

std::vector<uint64_t> place_rooms(std::span<const CodeBlock> blocks, const BlockCoding &coding) {
    std::vector<uint64_t> begins{0};
    for (const CodeBlock &b : blocks) begins.push_back(begins.back() + codeword_room(b, coding));
    return begins;
}

}  // namespace cudaenc::j2k
