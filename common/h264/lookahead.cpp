// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lookahead.h"

#include <algorithm>
#include <utility>

#include "inter/block_inter_cpu.h"

namespace cudaenc::h264 {

namespace {

// Of the 8x8 block in column x and row y. Intra predictions are those from the samples around it (8.3.3), from the
// source. before: nullptr: there is none.
SourceCosts costs_of(const SourcePyramid &source, const SourcePyramid *before, int x, int y, Vector v) {
    const ByteBlock block = block_at(source.levels[1], x, y);
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++) sum += block.at(i, -1).data[0] + block.at(-1, i).data[0];
    uint8_t dc[8], horizontal[64];
    std::fill_n(dc, 8, static_cast<uint8_t>(scene_dc(sum)));
    for (int row = 0; row < 8; row++) std::fill_n(horizontal + 8 * row, 8, block.at(-1, row).data[0]);
    TransformedSource transformed;
    transform_source(block, transformed);
    const auto satd = [&](ByteBlock p) { return satd_8x8(transformed, 0, {p.data, p.data, p.stride}); };
    const uint32_t intra = std::min(std::min(satd({block.at(0, -1).data, 0}), satd({horizontal, 8})), satd({dc, 0}));
    const uint32_t inter = before ? std::min(satd(block_at(before->levels[1], x + v.x, y + v.y)), intra) : intra;
    return {.intra = static_cast<uint16_t>(intra), .inter = static_cast<uint16_t>(inter), .x = v.x, .y = v.y};
}

}  // namespace

// ---- The window

Lookahead::Lookahead(const PictureFormat &format, int pictures)
    : ahead_(static_cast<uint64_t>(pictures)),
      kept_(static_cast<size_t>(std::max(pictures / 2, 1))),
      propagation_(format.macroblock_columns(), format.macroblock_rows()) {}

bool Lookahead::sees(const LookaheadPicture &picture, const LookaheadPicture &later) const {
    return later.number <= picture.number + ahead_ && (!picture.end || later.number < *picture.end);
}

void Lookahead::find(std::span<LookaheadPicture *const> pictures, const Gop &gop) {
    const LookaheadPicture &first = *pictures.front();
    if (first.has_offsets()) return;
    std::vector<SourcePicture8x8> known;
    std::vector<int8_t *> offsets;
    int since = gop.begins(first.forced_key) ? gop.size() : gop.pictures();
    for (LookaheadPicture *const picture : pictures) {
        const bool key = picture->forced_key || since >= gop.size();
        since = key ? 1 : since + 1;
        known.push_back({key, picture->costs});
        if (offsets.size() == kept_) continue;
        offsets.push_back(picture->offsets);
        picture->found_by = first.number;
    }
    propagation_.find(known, offsets);
}

// ---- Costs

SourceComparison::SourceComparison(const PictureFormat &format, int vertical)
    : columns_(format.macroblock_columns()), rows_(format.macroblock_rows()), search_(columns_, rows_, vertical) {}

void SourceComparison::find(std::span<SourceCosts> costs, ThreadPool &pool) {
    if (has_before_) search_.find_halves(source_, before_, motion_lambda_of(kLookaheadQp), pool);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) {
            const Vector v = has_before_ ? search_.of_block(1, x, static_cast<int>(y)) : Vector{};
            costs[y * static_cast<size_t>(columns_) + static_cast<size_t>(x)] =
                costs_of(source_, has_before_ ? &before_ : nullptr, 8 * x, 8 * static_cast<int>(y), v);
        }
    });
    std::swap(source_, before_);
    has_before_ = true;
}

}  // namespace cudaenc::h264
