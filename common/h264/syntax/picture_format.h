// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <vector>

#include "macroblock_layer.h"
#include "quantise.h"

namespace cudaenc::h264 {

// The format of all pictures of a sequence.
struct PictureFormat {
    int width, height;  // luma samples; macroblocks beyond repeat the last column and row
    ChromaFormat chroma;
    int bit_depth;           // 8 or 10, of luma and chroma
    int slices;              // of whole rows of macroblocks, at most one a row
    bool transform_8x8;      // High profiles
    bool long_level_prefix;  // level_prefix may exceed 15; not in Baseline, Main and Extended profile
    bool pcm_without_zeros;  // I_PCM samples of 0 become 1, as the profile demands
    // Of AVC-Intra alone
    bool even_slices = false;               // slices may begin within a row, and have as many macroblocks each
    bool only_8x8 = false;                  // of the types only I_8x8 is tried
    int lowest_qp = -2 * kMaxQp;            // QPY of macroblocks
    int chroma_qp_index_offset = 0;         // of Cb and of Cr
    const ScalingLists *scaling = nullptr;  // nullptr: flat lists
    bool field = false;                     // macroblocks are of fields
    bool field_pairs = false;               // of both fields of the frame, see CodedFormat; else of one
    bool plain() const { return !even_slices && !only_8x8 && !chroma_qp_index_offset && !scaling; }

    // A picture is a field of a frame that is twice as high.
    bool separate_field() const { return field && !field_pairs; }
    int step() const { return field_pairs ? 2 : 1; }  // see CodedFormat

    int macroblock_columns() const { return (width + 15) / 16 * step(); }
    int macroblock_rows() const { return (height / step() + 15) / 16; }
    // Where samples of both fields lie side by side, macroblocks to the left of one.
    int place_in_row(int x) const { return field_pairs ? (x & 1) * macroblock_columns() / 2 + x / 2 : x; }
    int macroblocks() const { return macroblock_columns() * macroblock_rows(); }
    int first_row(int slice) const { return static_cast<int>(int64_t{slice} * macroblock_rows() / slices); }
    int first_macroblock(int slice) const {
        return even_slices ? static_cast<int>(int64_t{slice} * (macroblocks() / step()) / slices) * step()
                           : first_row(slice) * macroblock_columns();
    }
    int components() const { return chroma == ChromaFormat::c400 ? 1 : 3; }
    // 4:2:0 and 4:2:2; all components of 4:4:4 are coded as luma.
    bool has_chroma_blocks() const { return chroma_blocks(chroma) > 0; }
    // A macroblock's samples of a component.
    int columns(int component) const { return component && has_chroma_blocks() ? 8 : 16; }
    int rows(int component) const { return component && chroma == ChromaFormat::c420 ? 8 : 16; }

    // For the coders of slices and headers.
    CodedFormat coded() const {
        return {.chroma = chroma,
                .transform_8x8_mode = transform_8x8,
                .luma_depth = bit_depth,
                .chroma_depth = bit_depth,
                .width = macroblock_columns(),
                .height = macroblock_rows(),
                .field = field,
                .field_pairs = field_pairs};
    }
    Slice slice(int i) const {
        const int first = first_macroblock(i);
        return {static_cast<uint32_t>(first), static_cast<uint32_t>(first_macroblock(i + 1) - first)};
    }
    std::vector<Slice> all_slices() const {
        std::vector<Slice> all;
        for (int i = 0; i < slices; i++) all.push_back(slice(i));
        return all;
    }
};

}  // namespace cudaenc::h264
