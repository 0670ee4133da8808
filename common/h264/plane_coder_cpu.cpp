// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include "../bit_writer.h"
#include "plane_coder.h"

namespace cudaenc::h264 {

namespace {

constexpr uint8_t kInOrder[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

class CpuPlaneCoder : public PlaneCoder {
  public:
    explicit CpuPlaneCoder(const BlockPlane &plane)
        : plane_(plane), places_((plane.scanned ? kInOrder : kZigzag4x4) + plane.without_dc), above_(plane.columns) {}

    uint64_t code(const PlaneInput &input, const PlaneOutput &output) override {
        const int size = plane_.without_dc ? 15 : 16;
        std::fill(above_.begin(), above_.end(), -1);
        writer_.clear();
        lengths_.resize(output.lengths ? plane_.blocks() : 0);
        uint64_t bits = 0;
        for (uint32_t y = 0; y < plane_.rows; y++) {
            writer_.reserve(uint64_t{plane_.columns} * kMostBlockBits);
            int left = -1;
            for (uint32_t x = 0; x < plane_.columns; x++) {
                const size_t block = size_t{y} * plane_.columns + x;
                const ScannedLevels levels{input.coefficients + 16 * block, places_, 1};
                const uint32_t nonzero = nonzero_of(levels, size);
                Counted counted{writer_};
                code_block(kCavlcTables, {token_table(predict_total(left, above_[x])), kZeros4x4, size}, nonzero,
                           levels, 0, counted);
                left = above_[x] = count_ones(nonzero);
                if (output.lengths) lengths_[block] = static_cast<uint16_t>(counted.bits);
                bits += counted.bits;
            }
        }
        const size_t first = writer_.end().first_word;
        std::copy(lengths_.begin(), lengths_.end(), output.lengths);
        if (whole_words(bits) > output.capacity) return bits;
        const uint64_t *words = writer_.words() + first;
        for (size_t i = 0; i < whole_words(bits); i++)
            output.bytes[i] = static_cast<uint8_t>(words[i / 8] >> (56 - 8 * (i % 8)));
        return bits;
    }

  private:
    struct Counted {
        BitWriter &writer;
        uint32_t bits = 0;
        void put(uint32_t value, uint32_t count) {
            writer.put(value, count);
            bits += count;
        }
    };
    const BlockPlane plane_;
    const uint8_t *const places_;
    std::vector<int> above_;  // total_coeff of the row above
    std::vector<uint16_t> lengths_;
    BitWriter writer_;
};

}  // namespace

std::unique_ptr<PlaneCoder> make_cpu_plane_coder(const BlockPlane &plane) {
    return std::make_unique<CpuPlaneCoder>(plane);
}

}  // namespace cudaenc::h264
