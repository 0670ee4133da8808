// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice of levels of trellis.h, by the thread that owns the block.
#pragma once
#include "../../common/mjpeg/trellis.h"
#include "../bits.cuh"
#include "../device.cuh"
#include "code_params.h"

namespace cudaenc::mjpeg {

// To shared memory, since lanes look at different places. With all threads.
DEVICE const TrellisTables &load_tables(const TrellisTables &from) {
    SHARED(TrellisTables, tables, 1);
    for (uint32_t i = static_cast<uint32_t>(thread_x()); i < sizeof from / sizeof(Uint4); i += kPieceBlocks)
        reinterpret_cast<Uint4 *>(&tables[0])[i] = reinterpret_cast<const Uint4 *>(&from)[i];
    block_sync();
    return tables[0];
}

// values: coefficients in the zig-zag sequence; those of nonzero levels become the chosen levels. tables: in shared
// memory; table: of the block. Returns which are kept.
DEVICE NonzeroPlaces choose_block_levels(const TrellisTables &tables, int table, int32_t lambda, uint32_t *values,
                                         NonzeroPlaces nonzero) {
    SignedHalf *value = reinterpret_cast<SignedHalf *>(values);
    const QuantiserStep *steps = tables.steps[table];
    return choose_levels(
        nonzero, tables.lengths.of[table], lambda,
        [&](int place) -> QuantisedLevel {
            const QuantiserStep step = steps[place];
            const int32_t coefficient = value[place] < 0 ? -value[place] : value[place];
            return {coefficient, step.step, quantise_wide(coefficient, step.multiplier)};
        },
        [&](int place, int32_t level) { value[place] = static_cast<int16_t>(value[place] < 0 ? -level : level); });
}

}  // namespace cudaenc::mjpeg
