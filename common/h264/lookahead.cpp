// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lookahead.h"

#include <algorithm>
#include <utility>

#include "inter/block_inter_cpu.h"

namespace cudaenc::h264 {

// The QP of the search: vectors and costs do not depend on those of rate control, which come later.
constexpr int kSearchQp = 26;

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

Lookahead::Lookahead(const PictureFormat &format, int pictures, int vertical)
    : columns_(format.macroblock_columns()),
      rows_(format.macroblock_rows()),
      kept_(static_cast<size_t>(std::max(pictures / 2, 1))),
      search_(columns_, rows_, vertical),
      propagation_(columns_, rows_) {}

const int8_t *Lookahead::find(const std::vector<Picture> &pictures, const Gop &gop, const Load &load,
                              ThreadPool &pool) {
    const uint64_t number = pictures.front().number;
    for (; !costs_.empty() && first_ < number; first_++) costs_.pop_front();
    if (costs_.empty()) first_ = number;
    for (size_t i = costs_.size(); i < pictures.size(); i++) add(pictures[i], load, pool);
    if (number < first_offsets_ || number >= first_offsets_ + offsets_.size()) {
        std::vector<const SourcePicture8x8 *> known;
        int since = gop.begins(pictures.front().forced_key) ? gop.size() : gop.pictures();
        for (size_t i = 0; i < pictures.size(); i++, since++) {
            costs_[i].key = pictures[i].forced_key || since >= gop.size();
            if (costs_[i].key) since = 0;
            known.push_back(&costs_[i]);
        }
        offsets_.resize(std::min(kept_, pictures.size()));
        propagation_.find(known, offsets_);
        first_offsets_ = number;
    }
    return offsets_[static_cast<size_t>(number - first_offsets_)].data();
}

// Of the first picture of a stream all costs are those of intra.
void Lookahead::add(const Picture &picture, const Load &load, ThreadPool &pool) {
    load(*picture.luma, source_);
    SourcePicture8x8 result;
    result.costs.resize(static_cast<size_t>(columns_ * rows_));
    const bool predicted = has_before_;
    if (predicted) search_.find_halves(source_, before_, motion_lambda_of(kSearchQp), pool);
    pool.for_each(static_cast<size_t>(rows_), [&](size_t y) {
        for (int x = 0; x < columns_; x++) {
            const Vector v = predicted ? search_.of_block(1, x, static_cast<int>(y)) : Vector{};
            result.costs[y * static_cast<size_t>(columns_) + static_cast<size_t>(x)] =
                costs_of(source_, predicted ? &before_ : nullptr, 8 * x, 8 * static_cast<int>(y), v);
        }
    });
    costs_.push_back(std::move(result));
    std::swap(source_, before_);
    has_before_ = true;
}

}  // namespace cudaenc::h264
