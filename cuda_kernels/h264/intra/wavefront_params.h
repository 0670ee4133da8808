// SPDX-License-Identifier: LGPL-2.1-or-later
// Parameters of wavefront.cu.
#pragma once
#include "../../../common/h264/intra/decisions.h"
#include "../../../common/h264/intra/intra_modes.h"
#include "../../../common/h264/intra/rank.h"
#include "../../../common/h264/syntax/macroblock_layer.h"
#include "../../../common/kernel_name.h"
#include "../../../common/load.h"
#include "decoded_samples.h"
#include "macroblock_slice.h"

namespace cudaenc::h264 {

// A macroblock is coded as I_4x4, as I_8x8, as I_16x16, and its chroma. Each part has a warp, or the last two share
// one: then more thread-blocks fit, but each takes longer. All components of 4:4:4 are coded as luma.
enum WavefrontPart { kPart4x4, kPart8x8, kPart16x16, kPartChroma, kWavefrontParts };
constexpr int kWavefrontThreads = 32 * kWavefrontParts;  // of a thread-block, at most
// Thread-blocks of so many warps that a multiprocessor has registers for.
constexpr int wavefront_blocks(ChromaFormat f, int warps) { return (f == ChromaFormat::c444 ? 16 : 24) / warps; }
// AVC-Intra has 4:2:2 and I_8x8 alone: a warp codes luma, another one chroma.
constexpr int kAvcIntraWarps = 2;

// A row of macroblocks, in an order in which the row above comes first.
struct alignas(16) MacroblockRow {
    uint32_t y, slice, first_in_slice;  // the slice of its first macroblock; 1: which begins there
    uint16_t next;                      // the column that the next slice begins with; none: the number of columns
    uint16_t above;                     // the column from which on the row above is of `slice`
};
// The neighbours of the macroblock in column x.
CUDAENC_HD constexpr Available available_in(const MacroblockRow &row, uint32_t x, uint32_t columns) {
    const bool above = !row.first_in_slice && x < row.next && x >= row.above;
    return {.left = x > 0 && x != row.next,
            .above = above,
            .above_right = above && x + 1 < columns,
            .other_corner = x <= row.above};
}

// What a macroblock leaves to the row below: numbers of 16 bits, three a word of 64. The word's upper bits are the
// picture's serial number, so each word tells by itself whether it is there.
//   the last rows of luma, 16, and of Cb and Cr, 8 each, or 16 of 4:4:4
//   record_modes()   the prediction modes of luma's blocks, two a number, the first in the low byte
CUDAENC_HD constexpr int record_modes(ChromaFormat f) { return f == ChromaFormat::c444 ? 48 : 32; }
CUDAENC_HD constexpr int record_words(ChromaFormat f) { return (record_modes(f) + 2 + 2) / 3; }
constexpr uint32_t kRecordSerials = 65535;

// Places of scans: of 4x4 blocks, of 8x8 blocks, of chroma DC.
constexpr int kScan4x4 = 0, kScan8x8 = 16, kScanChromaDc = 80, kScans = 88;
struct WavefrontTables {
    uint8_t predicted_4x4[9 * 16], predicted_8x8[9 * 64];  // kPredictedValues, offsets of 16-bit samples in bytes
    uint8_t scans[kScans];
    CavlcTables cavlc;
};

// A picture of a launch; of a frame of field macroblock pairs a field, whose macroblocks lie in turn with those of the
// other one.
struct WavefrontPicture {
    SampleLayout components[3];
    const int8_t *qps;          // QPY by address; nullptr: all have `qp`
    const RankedModes *ranked;  // of the picture's own macroblocks
    uint64_t *records;          // of the same, [record_words() * macroblock]
    Macroblock *macroblocks;    // by address; qp_delta is 0
    int16_t *levels;            // by address
    int32_t qp;
    uint32_t serial;       // 1 to kRecordSerials; 0 before the first
    uint32_t step, field;  // the address of macroblock i is i step + field; step: see CodedFormat
};
constexpr int kLaunchPictures = 8;  // at most
struct WavefrontArguments {
    static constexpr bool kReconstructs = false;
    CodedFormat format;  // of field pairs that of a field
    int32_t picture_width, picture_height;
    uint32_t long_level_prefix, pcm_without_zeros;  // PictureFormat
    const MacroblockRow *rows;                      // the same of all pictures
    uint32_t row_count;
    const QpChoice *qp_choices;  // of the QPYs from -QpBdOffset on
    const WavefrontTables *tables;
    uint32_t *tickets;
    uint32_t picture_count;
    WavefrontPicture pictures[kLaunchPictures];
};
// Grid: thread-blocks of 3 or 4 warps, kAvcIntraWarps of AVC-Intra, as many as there are rows of all pictures or fewer.
template <ChromaFormat F, bool AvcIntra = false>
struct WavefrontParams : WavefrontArguments {
    static constexpr KernelName kernel{"h264/intra/wavefront", AvcIntra                  ? "h264_wavefront_avc_intra"
                                                               : F == ChromaFormat::c400 ? "h264_wavefront_400"
                                                               : F == ChromaFormat::c420 ? "h264_wavefront_420"
                                                               : F == ChromaFormat::c422 ? "h264_wavefront_422"
                                                                                         : "h264_wavefront_444"};
};

// A component of a picture in device memory, of whole macroblocks.
struct ReconstructedPlane {
    uint8_t *data;   // 8-aligned
    int64_t stride;  // bytes, a multiple of 8
    template <class T>
    CUDAENC_HD T *samples(int x, int y) const {
        return reinterpret_cast<T *>(data + y * stride) + x;
    }
};
// The same where the reconstruction is asked for. A launch has one picture, whose slices are those of `slices`. A row
// waits for the one above unless MacroblockRow says that it begins a slice. Bytes: see decoded_sample_bytes().
template <ChromaFormat F, int Bytes>
struct ReconstructingWavefrontParams : WavefrontArguments {
    static constexpr KernelName kernel{"h264/intra/wavefront",
                                       Bytes == 1                ? "h264_wavefront_420_reconstructing"
                                       : F == ChromaFormat::c400 ? "h264_wavefront_400_reconstructing_wide"
                                       : F == ChromaFormat::c420 ? "h264_wavefront_420_reconstructing_wide"
                                       : F == ChromaFormat::c422 ? "h264_wavefront_422_reconstructing_wide"
                                                                 : "h264_wavefront_444_reconstructing_wide"};
    static constexpr bool kReconstructs = true;
    static constexpr int kBytes = Bytes;
    ReconstructedPlane reconstruction[3];
    const MacroblockSlice *slices;
};

}  // namespace cudaenc::h264
