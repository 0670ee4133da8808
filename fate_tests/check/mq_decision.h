// SPDX-License-Identifier: LGPL-2.1-or-later
// The library's MQ coder, a decision at a time.
#pragma once
#include "../../common/j2k/t1/mq.h"

namespace cudaenc::j2k {

// Codes a decision and its bytes. Returns the context's next state. table: kMqTable.row.
CUDAENC_HD MqState encode_decision(MqEncoder &mq, MqState state, uint32_t decision, const MqState *table) {
    MqSteps<1> steps;
    const MqState next = mq.code(state, decision, table, steps, 0);
    mq.append_step(steps.step[0] >> 4, steps.shifts);
    return next;
}

}  // namespace cudaenc::j2k
