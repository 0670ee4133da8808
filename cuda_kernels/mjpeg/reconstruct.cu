// SPDX-License-Identifier: LGPL-2.1-or-later
// Dequantisation and inverse DCT (T.81 A.3.3, A.3.4) of the levels that entropy decoding lists.
#include "samples.cuh"

namespace cudaenc::mjpeg {

namespace {

using Half __attribute__((may_alias)) = int16_t;

}  // namespace

// A thread owns a block of the scan.
KERNEL(kReconstructThreads, mjpeg_reconstruct, ReconstructParams)
{
    SHARED(uint32_t, memory, kReconstructThreads *kBlockWords);
    SHARED(uint16_t, divisors, kBlockSamples *kMaxStreamComponents);  // by place in the zig-zag sequence
    SHARED(uint8_t, zigzag, kBlockSamples);
    const ReconstructPicture &picture = p.picture[block_y()];
    if (picture.scan.state->damaged || picture.scan.state->blocks != picture.scan.blocks) return;  // the host decodes
    for (int i = thread_x(); i < kBlockSamples; i += kReconstructThreads) {
        zigzag[i] = kZigzag[i];
        for (int c = 0; c < kMaxStreamComponents; c++)
            divisors[i * kMaxStreamComponents + c] = picture.scan.tables->divisors[kZigzag[i]][c];
    }
    block_sync();
    const uint32_t block = static_cast<uint32_t>(block_x() * kReconstructThreads + thread_x());
    if (block >= picture.scan.blocks) return;
    const int32_t mcu = picture.by_mcu_blocks.quotient(static_cast<int32_t>(block));
    const uint32_t in_mcu = block - static_cast<uint32_t>(mcu) * picture.scan.mcu_blocks;
    const uint32_t c = block_field(load_readonly(&picture.scan.tables->block_components), in_mcu);
    const BlockPlace place =
        block_of_mcu(picture.grid, picture.component_blocks[c], mcu, static_cast<int>(in_mcu - picture.first_block[c]));

    uint32_t *const words = opaque_shared(&memory[thread_x() * kBlockWords]);
    Half *const coefficients = reinterpret_cast<Half *>(words);
    CUDAENC_UNROLL
    for (int i = 0; i < kBlockSamples / 2; i++) words[i] = 0;
    const BlockLevels levels = picture.blocks[block];
    const auto set = [&](int at, int32_t level) {
        const int32_t divisor = divisors[at * kMaxStreamComponents + static_cast<int>(c)];
        coefficients[zigzag[at]] = static_cast<int16_t>(dequantise(level, divisor));
    };
    const uint32_t *listed =
        picture.levels + listed_at(picture.scan.subsequence_bits, levels.subsequence, levels.first);
    const DcDifferences &before = picture.differences_before[levels.subsequence];
    uint32_t dc = levels.restarted ? 0 : before.value[c];
    if (!levels.restarted && !before.restarted)
        dc += picture.tiles_before[levels.subsequence / kTileSubsequences].value[c];
    dc += static_cast<uint32_t>(level_of(load_readonly(listed)));
    set(0, static_cast<int16_t>(dc));
    for (uint32_t i = 1; i < levels.count; i++) {
        const uint32_t level = load_readonly(listed + i * kListPitch);
        set(listed_place(level), level_of(level));
    }
    transform_block([&](int index) { return static_cast<uint32_t>(int32_t{coefficients[index]}); }, picture.lowres,
                    picture.planes[c], place.x, place.y);
}

}  // namespace cudaenc::mjpeg
