// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block.h"

#include "ht.h"

namespace cudaenc::j2k {

uint32_t codeword_room(const CodeBlock &b, const BlockCoding &coding) {
    return are_alternatives(coding.style) ? round_up_room(most_ht_bytes(b.width, b.height, b.planes))
                                          : room_layout(b, coding).bytes;
}

uint64_t place_rooms(std::span<CodeBlock> blocks, const BlockCoding &coding) {
    uint64_t bytes = 0;
    for (CodeBlock &b : blocks) {
        b.room = bytes;
        bytes += codeword_room(b, coding);
    }
    return bytes;
}

}  // namespace cudaenc::j2k
