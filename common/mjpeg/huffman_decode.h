// SPDX-License-Identifier: LGPL-2.1-or-later
// Huffman decoding (T.81 F.2.2): a symbol is a look-up and a step.
#pragma once
#include <cstdint>

#include "../hd.h"
#include "stream.h"

namespace cudaenc::mjpeg {

// So many bits behind the last block of a scan mean that blocks were lost. Cameras leave up to three bytes there, and
// more before restart markers.
constexpr int kExcessBits = 32;
// The same where the packet ends without a marker, in bytes of 0: some writers pad it.
constexpr int64_t excess_bits(int padding) { return kExcessBits + int64_t{8} * padding; }

// What a code does. DC and AC take the same step: read so many bits, the last ones the magnitude, and advance so many
// places of the zig-zag sequence. A level belongs to the last of these. A block ends at place 64.
class Step {
  public:
    Step() = default;
    CUDAENC_HD constexpr explicit Step(uint16_t packed) : packed_(packed) {}
    CUDAENC_HD constexpr Step(int code_bits, int magnitude_bits, int places)
        : packed_(static_cast<uint32_t>((code_bits + magnitude_bits) | magnitude_bits << 5 | places << 9)) {}
    CUDAENC_HD constexpr bool empty() const { return packed_ == 0; }
    CUDAENC_HD constexpr int bits() const { return packed_ & 31; }  // 1 to 31, of code and magnitude
    CUDAENC_HD constexpr int magnitude_bits() const { return packed_ >> 5 & 15; }
    CUDAENC_HD constexpr int places() const { return static_cast<int>(packed_ >> 9); }  // 1 to 64; of a run to 127
    CUDAENC_HD constexpr uint16_t packed() const { return static_cast<uint16_t>(packed_); }

  private:
    uint32_t packed_;  // below 2^16
};
// Of bits that no code begins with.
constexpr Step kNoCode(16, 0, kBlockSamples);
constexpr int kMaxStepBits = 31;

constexpr Step dc_step(int code_bits, int category) { return {code_bits, category, 1}; }
// F.2.2.2: runs of 16 zeros have no magnitude; the other symbols without one end the block.
constexpr Step ac_step(int code_bits, int symbol) {
    const int run = symbol >> 4, category = symbol & 15;
    return {code_bits, category, category || run == 15 ? run + 1 : kBlockSamples};
}
// G.1.2.2: symbols of no level and a run of r below 15 are followed by r bits, of an end-of-band run.
constexpr Step progressive_ac_step(int code_bits, int symbol) {
    const int run = symbol >> 4, category = symbol & 15;
    if (category == 0 && run < 15) return {code_bits, run, kBlockSamples};
    return {code_bits, category, run + 1};
}

// A Huffman table for decoding. Codes up to kPrefixBits are a look-up. So are longer ones that begin with kSuffixFirst
// or above, as nearly all do. Of others the length is searched.
struct DecodeTable {
    static constexpr int kPrefixBits = 9, kLongLengths = 16 - kPrefixBits;
    static constexpr uint32_t kSuffixFirst = 0xFC00, kSuffixes = 0x10000 - kSuffixFirst;
    uint32_t limit[kLongLengths];  // by length: what codes of 16 bits that begin with one of these lengths are below
    int32_t offset[kLongLengths];  // of step[], less the first code
    uint16_t by_prefix[1 << kPrefixBits];  // Step::packed(): empty where the code is longer
    uint16_t by_suffix[kSuffixes];         // of 16 bits from kSuffixFirst on
    uint16_t by_code[kMaxHuffmanCodes];    // the same, in the order of codes

    // bits: the next 32, the first the highest.
    CUDAENC_HD Step find(uint32_t bits) const {
        const Step step(by_prefix[bits >> (32 - kPrefixBits)]);
        return step.empty() ? find_long(bits >> 16) : step;
    }
    // code: of 16 bits.
    CUDAENC_HD Step find_long(uint32_t code) const {
        if (code >= kSuffixFirst) return Step(by_suffix[code - kSuffixFirst]);
        CUDAENC_NO_UNROLL
        for (int i = 0; i < kLongLengths; i++)
            if (code < limit[i]) return Step(by_code[offset[i] + static_cast<int32_t>(code >> (kLongLengths - 1 - i))]);
        return kNoCode;
    }
};
static_assert(sizeof(DecodeTable) % 4 == 0);  // copied by words

// Several symbols of a block in one step, for those who ask only where blocks end: as many as the next kRunBits bits,
// `number`, have the codes of. Its places are the sum of theirs, to which the end of the block adds 64. Empty where the
// first code is longer. first: the table of the first symbol; then: of the others, which may have none.
constexpr int kRunBits = 11;
CUDAENC_HD Step run_of(const DecodeTable *first, const DecodeTable *then, uint32_t number) {
    int bits = 0, places = 0;
    for (const DecodeTable *table = first; table && bits < kRunBits && places < kBlockSamples; table = then) {
        const Step step = table->find(number << (32 - kRunBits) << bits);
        const int code_bits = step.bits() - step.magnitude_bits();
        const bool fits = bits + code_bits <= kRunBits && bits + step.bits() <= kMaxStepBits;
        if (!fits || (step.places() < kBlockSamples && places + step.places() >= kBlockSamples)) break;
        bits += step.bits(), places += step.places();
    }
    return {bits, 0, places};
}

// H.1.2.2: a difference of 32768 has no further bits. It takes two places, as no other difference does.
constexpr int kHalfRange = 16;
constexpr Step difference_step(int code_bits, int category) {
    return category == kHalfRange ? Step(code_bits, 0, 2) : Step(code_bits, category, 1);
}

enum class TableUse { dc, ac, progressive_ac, difference };
DecodeTable make_decode_table(const StreamHuffman &huffman, TableUse use);

// EXTEND of Figure F.12: the value of the magnitude behind the code in `bits`; 0 without one.
CUDAENC_HD int32_t magnitude_of(uint32_t bits, const Step &step) {
    const int count = step.magnitude_bits();
    const uint32_t ones = (1u << count) - 1;
    const uint32_t value = bits >> ((32 - step.bits()) & 31) & ones;
    return static_cast<int32_t>(value) - static_cast<int32_t>(value <= ones >> 1 ? ones : 0);
}

// How many intervals on a segment of coded data belongs, from the numbers of the restart markers before it and before
// the segment in front, 0 to 7. Of markers that are missing, up to three are believed.
CUDAENC_HD constexpr int interval_step(int marker, int marker_before) {
    const int missing = (marker - marker_before - 1) & 7;
    return 1 + (missing <= 3 ? missing : 0);
}
constexpr int kFirstMarkerBefore = 7;

}  // namespace cudaenc::mjpeg
