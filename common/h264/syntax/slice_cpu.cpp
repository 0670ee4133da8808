// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slice_cpu.h"

#include <utility>

#include "../../simd.h"
#include "code_macroblock.h"

namespace cudaenc::h264 {

namespace {

// See code_macroblock(). `out` has room.
CUDAENC_CLONES void code_macroblock_of_slice(const CodedFormat &format, const CodedPicture &picture, uint32_t address,
                                             uint32_t first, uint8_t *totals, BitWriter &out) {
    code_macroblock(format, picture, address, first, totals, out, [&] {
        if (out.phase()) out.put(0, 8 - out.phase());
    });
}

}  // namespace

CUDAENC_CLONES uint32_t count_macroblock(const CodedFormat &format, const CodedPicture &picture, uint32_t address,
                                         uint32_t first, uint8_t *totals) {
    BitCounter counter;
    code_macroblock(format, picture, address, first, totals, counter, [] {});
    constexpr uint32_t kMostAlignment = 7;
    return counter.bits + (picture.macroblocks[address].type == MacroblockType::pcm ? kMostAlignment : 0);
}

SliceCoder::SliceCoder(const CodedFormat &format, std::vector<Slice> slices)
    : format_(format),
      slices_(std::move(slices)),
      totals_(static_cast<size_t>(format.macroblocks() * blocks_per_macroblock(format.chroma))),
      sizes_{std::vector<size_t>(slices_.size()), std::vector<uint32_t>(static_cast<size_t>(format.macroblocks()))},
      coded_(slices_.size()) {}

void SliceCoder::set_slices(const std::vector<Slice> &slices) {
    slices_ = slices;
    coded_.resize(slices.size());
    sizes_.nal_bytes.resize(slices.size());
}

// No cache has the levels any more. Of those that are not coded none are read.
void SliceCoder::prefetch_levels(const CodedPicture &picture, uint32_t address) const {
    const Macroblock &m = picture.macroblocks[address];
    if (m.type != MacroblockType::i16x16 && !m.coded_block_pattern) return;
    const int blocks = blocks_per_macroblock(format_.chroma);
    const int16_t *const levels = picture.levels + 16 * size_t{address} * static_cast<size_t>(blocks);
    for (int b = 0; b < blocks; b += 2)  // a cache line
        if (is_coded(m, format_.chroma, b) || is_coded(m, format_.chroma, b + 1)) __builtin_prefetch(levels + 16 * b);
}

void SliceCoder::code_slice(const CodedPicture &picture, const SliceHeaderBits &header, const Slice &slice,
                            Coded &coded) {
    BitWriter &out = coded.bits;
    out.clear();
    out.reserve(sizeof header.words * 8);
    code_slice_header(header, out);
    constexpr uint32_t kAhead = 3;  // macroblocks
    // Room for any levels: each takes 36 bits at most.
    const size_t most = static_cast<size_t>(blocks_per_macroblock(format_.chroma)) * 16 * 40 + 512;
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < slice.count; i++) {
        out.reserve(most);
        const uint64_t before = out.bits();
        if (i + kAhead < slice.count) prefetch_levels(picture, slice.first + i + kAhead);
        if (picture.predicted && picture.macroblocks[slice.first + i].type == MacroblockType::skip)
            skipped++;
        else if (picture.predicted)
            put_skip_run(std::exchange(skipped, 0u), out);
        code_macroblock_of_slice(format_, picture, slice.first + i, slice.first, totals_.data(), out);
        sizes_.macroblock_bits[slice.first + i] = static_cast<uint32_t>(out.bits() - before);
    }
    if (skipped) put_skip_run(skipped, out);
    out.put(1, 1);  // rbsp_stop_one_bit
    const BitWriter::Run run = out.end();
    coded.nal.resize(most_nal_bytes((run.bits + 7) / 8));
    NalWriter nal(coded.nal.data());
    nal.begin(static_cast<uint8_t>(header.nal_header));
    nal.put(out.words() + run.first_word, run.bits);
    coded.nal.resize(static_cast<size_t>(nal.end() - coded.nal.data()));
}

std::span<const uint8_t> SliceCoder::code(ThreadPool &pool, const CodedPicture &picture,
                                          const SliceHeaderBits *headers) {
    pool.for_each(slices_.size(), [&](size_t i) { code_slice(picture, headers[i], slices_[i], coded_[i]); });
    bytes_.clear();
    for (size_t i = 0; i < coded_.size(); i++) {
        const std::vector<uint8_t> &nal = coded_[i].nal;
        sizes_.nal_bytes[i] = nal.size() - kStartCodeBytes;
        bytes_.insert(bytes_.end(), nal.begin(), nal.end());
    }
    return bytes_;
}

}  // namespace cudaenc::h264
