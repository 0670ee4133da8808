// Tier-1 on the CPU: the contexts bit-sliced, 16 columns of a stripe at a time, into pairs as the kernels make them;
// then the MQ coder, two blocks in turns. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "early_stop.h"
#include "rate.h"
#include "t2.h"
#include "tables.h"

namespace cudaenc::j2k {

// What is found out about passes, [block * max_passes + pass]. bytes: up to the end of the pass, that suffice to decode
// it, see MqEncoder::sufficient_bytes(). With kCuttable, of the codeword if it is cut behind the pass, of which tails
// ends it, see CodewordEnd; gains: what the pass takes off the squared error, not of those that are certain.
struct PassResults {
    uint32_t *bytes;
    uint32_t *tails = nullptr;  // this and gains: nullptr without kCuttable
    int32_t *gains = nullptr;

    PassResults from(size_t pass) const {
        return tails ? PassResults{bytes + pass, tails + pass, gains + pass} : PassResults{bytes + pass};
    }
};

// What a look at a block finds.
struct LookedAt {
    int planes, count;
    LookStep steps[kLookSteps];  // [count]
};

// Context modelling of one block at a time.
class ContextModeller {
  public:
    // Words of scratch for a block, and a modeller of blocks of at most so many.
    static size_t words(int width, int height);
    explicit ContextModeller(size_t most_words);

    // The decisions of all passes that are coded, in order: a byte is context << 1 | decision, of raw passes the
    // decision alone. pairs: as many as slot_layout() of the block's planes has room for; results.bytes[i] becomes
    // the number of pairs up to the end of pass i. Coefficients are as quantise() makes them, block.coefficients counts
    // from their first. Returns planes and passes, and guessed_bytes().
    CodedBlock model(const uint32_t *coefficients, const CodeBlock &block, uint32_t style, uint8_t *pairs,
                     const PassResults &results, const StopRule &stop = {});

    // Looks at a block instead.
    LookedAt look(const uint32_t *coefficients, const CodeBlock &block, const LookRule &rule);

  private:
    std::unique_ptr<uint64_t[]> memory_;
};

// A codeword that is cut can be longer than the whole one, which ends more luckily, by as many bytes as end it.
constexpr size_t kCutSlack = 3;

// Whether tier-1 stops early, where there is a slope to stop at: not with a style.
inline bool can_stop(uint32_t style) { return style == kCuttable; }

// Codes blocks: appends the codeword segments of blocks[i] to `bytes`, at offsets[i]; with kCuttable each is followed
// by kCutSlack more. results: of the first block on; stops: [block], nullptr: none.
void code_blocks(std::span<const CodeBlock> blocks, const uint32_t *coefficients, uint32_t style, int max_passes,
                 const PassResults &results, std::vector<uint8_t> &bytes, uint32_t *offsets, CodedBlock *coded,
                 const StopRule *stops = nullptr);

}  // namespace cudaenc::j2k
