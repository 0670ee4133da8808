// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mq_cpu.h"

#include "../../simd.h"

namespace cudaenc::j2k {

CUDAENC_CLONES void encode(Codeword &word, uint32_t count) {
    Codeword::Registers r = word.load();
    while (count--) r.encode();
    word.store(r);
}
CUDAENC_CLONES void encode(Codeword &first, Codeword &second, uint32_t count) {
    Codeword::Registers r = first.load(), s = second.load();
    while (count--) {
        r.encode();
        s.encode();
    }
    first.store(r);
    second.store(s);
}

}  // namespace cudaenc::j2k
