// A macroblock of each lane while it is coded. SPDX-License-Identifier: LGPL-2.1-or-later
// No include guard, no includes: see lane_coder.h.

namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE {

namespace {

// A macroblock as one of its types.
struct Candidate {
    Lanes levels[17 * 16], reconstruction[256];
    Lanes pred_modes[16];            // the syntax; Intra16x16PredMode
    Lanes modes[5][5];               // of 4x4 blocks, with neighbours
    Lanes coded;                     // bits of coded_block_pattern
    Wide distortion, bits, nonzero;  // see LevelSums
};

struct Work {
    CodedFormat coded;
    LumaSamples luma;
    ChromaSamples chroma[2];
    Lanes source[256], chroma_source[2][64];
    Neighbours available;
    LaneQuantiser<4> quantiser_4x4, chroma_quantiser;
    LaneQuantiser<8> quantiser_8x8;
    Wide dc_scale, chroma_dc_scale;
    Wide price, satd_lambda;
    int qps[kLanes];  // of these tables
    Candidate candidates[3];
    Lanes ranked_4x4[16], ranked_8x8[4];
    Lanes chroma_mode, chroma_coded;
    Lanes chroma_levels[9 * 16];  // DC first
    Lanes chroma_reconstruction[2][64];
    Wide chroma_bits, chroma_nonzero;
};

[[gnu::always_inline]] inline void begin(Candidate &c) {
    c.coded = Lanes{};
    c.distortion = c.bits = c.nonzero = all_wide(0);
    for (Lanes &m : c.pred_modes) m = Lanes{};
}
[[gnu::always_inline]] inline void keep_reconstruction(Work &w, Candidate &c) {
    for (int y = 0; y < 16; y++) std::memcpy(c.reconstruction + 16 * y, w.luma.at(0, y), 16 * sizeof(Lanes));
}

void set_qp(Work &w, int lane, int qp) {
    if (w.qps[lane] == qp) return;
    w.qps[lane] = qp;
    const Quantiser &luma = kQuantisers[static_cast<size_t>(qp)];
    const Quantiser &chroma = kQuantisers[static_cast<size_t>(chroma_qp(qp, w.coded.luma_depth))];
    set_quantiser(w.quantiser_4x4, lane, luma);
    set_quantiser(w.quantiser_8x8, lane, luma);
    set_quantiser(w.chroma_quantiser, lane, chroma);
    lane_of(w.dc_scale, lane) = luma.dc_scale;
    lane_of(w.chroma_dc_scale, lane) = chroma.dc_scale;
    lane_of(w.price, lane) = static_cast<int32_t>(estimated_price(lambda_of(qp)));
    lane_of(w.satd_lambda, lane) = static_cast<int32_t>(satd_lambda_of(qp));
}

}  // namespace

}  // namespace cudaenc::h264::CUDAENC_LANE_NAMESPACE
