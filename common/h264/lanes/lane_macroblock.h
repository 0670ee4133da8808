// SPDX-License-Identifier: LGPL-2.1-or-later
// A macroblock of each lane while it is coded.
// No includes: see lane_coder.h.
#pragma once

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// A macroblock as one of its types.
struct Candidate {
    Lanes levels[3][16 * kLumaBlocks], reconstruction[3][256];  // of the components that are coded as luma
    Lanes pred_modes[16];                                       // the syntax; Intra16x16PredMode
    Lanes other_modes;                                          // blocks whose mode is not the predicted one
    Lanes modes[5][5];                                          // of 4x4 blocks, with neighbours
    Lanes coded;                                                // bits of coded_block_pattern
    Wide distortion, of_luma, bits, nonzero;  // squared errors, and those of luma alone; see LevelSums
};

struct Work {
    CodedFormat coded;
    int components;  // that are coded as luma
    bool all_rows;   // of the reconstruction are stored; else the last one
    LumaSamples luma[3];
    ChromaSamples chroma[2];
    Lanes source[3][256], chroma_source[2][128];
    Neighbours available;
    // Of luma and of chroma.
    LaneQuantiser<4> quantisers_4x4[2];
    LaneQuantiser<8> quantisers_8x8[2];
    LaneDcQuantiser dc_quantisers[2];
    Wide price, satd_lambda;
    int qps[kLanes];  // of these tables
    Candidate candidates[3];
    Lanes ranked_4x4[16], ranked_8x8[4];
    Lanes chroma_mode, chroma_coded;
    Lanes chroma_levels[17 * 16];  // DC first
    Lanes chroma_reconstruction[2][128];
    Wide chroma_bits, chroma_nonzero;
};

[[gnu::always_inline]] inline void begin(Candidate &c) {
    c.coded = c.other_modes = Lanes{};
    c.distortion = c.of_luma = c.bits = c.nonzero = all_wide(0);
    for (Lanes &m : c.pred_modes) m = Lanes{};
}
// What is stored of it.
[[gnu::always_inline]] inline void keep_reconstruction(Work &w, Candidate &c) {
    for (int i = 0; i < w.components; i++) {
        for (int y = w.all_rows ? 0 : 15; y < 16; y++)
            std::memcpy(c.reconstruction[i] + 16 * y, w.luma[i].at(0, y), 16 * sizeof(Lanes));
        for (int y = 0; y < 16; y++) c.reconstruction[i][16 * y + 15] = *w.luma[i].at(15, y);
    }
}

void set_qp(Work &w, int lane, int qp) {
    if (w.qps[lane] == qp) return;
    w.qps[lane] = qp;
    const int depth = w.coded.luma_depth, qp_of[2] = {qp + qp_bd_offset(depth), chroma_qp(qp, depth)};  // QP'
    for (int i = 0; i < 2; i++) {
        const Quantiser *const q = &kQuantisers[static_cast<size_t>(qp_of[i])];
        set_quantiser(w.quantisers_4x4[i], lane, *q, depth);
        set_quantiser(w.quantisers_8x8[i], lane, *q, depth);
        set_quantiser(w.dc_quantisers[i], lane, q[i && w.coded.chroma == ChromaFormat::c422 ? 3 : 0]);
    }
    lane_of(w.price, lane) = static_cast<int32_t>(estimated_price(lambda_of(qp_of[0])));
    lane_of(w.satd_lambda, lane) = static_cast<int32_t>(satd_lambda_of(qp_of[0]));
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
