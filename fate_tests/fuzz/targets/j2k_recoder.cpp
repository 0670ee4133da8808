// SPDX-License-Identifier: LGPL-2.1-or-later
// A libFuzzer target: a packet of JPEG 2000 is recoded to HTJ2K, to Part 1, and so on, or the other way round, as the
// first byte says. What is made of a packet that is taken is whole: the other way takes it, and back and forth leads to
// the same.
#include <cstdlib>
#include <vector>

#include "../../../common/cudaenc.h"

namespace {

std::vector<uint8_t> recode(const std::vector<uint8_t> &packet, int htj2k) {
    std::vector<uint8_t> out(3 * packet.size() + 65536);
    CudaencJ2kRecode recode{};
    recode.struct_size = sizeof recode;
    recode.data = packet.data(), recode.size = packet.size(), recode.htj2k = htj2k, recode.threads = 1;
    recode.bytes = out.data(), recode.capacity = out.size();
    size_t bytes = 0;
    out.resize(cudaenc_j2k_recode(&recode, &bytes) == CUDAENC_OK ? bytes : 0);
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    const int htj2k = data[0] & 1;
    const std::vector<uint8_t> first = recode({data + 1, data + size}, htj2k);
    if (first.empty()) return 0;
    const std::vector<uint8_t> other = recode(first, !htj2k);
    if (other.empty() || recode(recode(other, htj2k), !htj2k) != other) std::abort();
    return 0;
}
