// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of deblock.cu.
#pragma once
#include "../../common/h264/deblock.h"
#include "../../common/kernel_name.h"

namespace cudaenc::h264 {

// A warp filters luma, another one Cb and Cr, side by side: they do not depend on each other.
CUDAENC_HD constexpr int deblock_jobs(ChromaFormat f) {
    return f == ChromaFormat::c400 ? 1 : 2;
}  // of a row of macroblocks

// What a macroblock leaves to the row below: the samples of its last rows, of which an upper edge is filtered. A word
// of 64 bits has 6 bytes of them. Its upper 16 bits are the picture's serial number, so each word tells by itself
// whether it is there.
constexpr int kUpperLuma = 4, kUpperChroma = 2;  // rows
CUDAENC_HD constexpr int deblock_words(int samples, int sample_bytes) { return (samples * sample_bytes + 5) / 6; }
// Of the luma warp's macroblock, then of the chroma warp's.
CUDAENC_HD constexpr int luma_record_words(int sample_bytes) { return deblock_words(kUpperLuma * 16, sample_bytes); }
CUDAENC_HD constexpr int chroma_record_words(ChromaFormat f, int sample_bytes) {
    return f == ChromaFormat::c400   ? 0
           : f == ChromaFormat::c444 ? deblock_words(2 * kUpperLuma * 16, sample_bytes)
                                     : deblock_words(2 * kUpperChroma * 8, sample_bytes);
}
constexpr uint32_t kDeblockSerials = 65535;

struct DeblockPlane {
    uint8_t *data;   // whole macroblocks; 16-aligned, or 8-aligned where a macroblock's row has 8 bytes
    int64_t stride;  // bytes, a multiple of that
};
struct DeblockArguments {
    DeblockPicture picture;  // its arrays lie in device memory
    DeblockPlane planes[3];
    uint64_t *luma_records, *chroma_records;  // [words * macroblock]; 0 before the first picture
    uint32_t *tickets;                        // 0
    uint32_t serial;                          // 1 to kDeblockSerials
};
// Warps of a thread-block. They mostly wait: a picture's keep to few multiprocessors, and leave others to other
// kernels.
constexpr int kDeblockWarps = 4;
// Grid: thread-blocks of kDeblockWarps, a warp a job of all rows, or fewer. SampleBytes: 1 with 8 bits, else 2.
template <ChromaFormat F, int SampleBytes>
struct DeblockParams : DeblockArguments {
    static constexpr bool kWide = SampleBytes == 2;
    static constexpr KernelName kernel{
        "h264/deblock", F == ChromaFormat::c400   ? (kWide ? "h264_deblock_400_wide" : "h264_deblock_400")
                        : F == ChromaFormat::c420 ? (kWide ? "h264_deblock_420_wide" : "h264_deblock_420")
                        : F == ChromaFormat::c422 ? (kWide ? "h264_deblock_422_wide" : "h264_deblock_422")
                                                  : (kWide ? "h264_deblock_444_wide" : "h264_deblock_444")};
};

}  // namespace cudaenc::h264
