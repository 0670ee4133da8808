// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of recoding: checks arguments.
#include "j2k/recode.h"

#include <algorithm>

#include "abi.h"
#include "option_checks.h"
#include "session.h"

using namespace cudaenc;

int cudaenc_j2k_recode(const CudaencJ2kRecode *recode, size_t *bytes) {
    if (bytes) *bytes = 0;
    SessionLog log;
    if (recode && recode->struct_size >= CUDAENC_END_OF(CudaencJ2kRecode, log_opaque))
        log = {.log = recode->log, .opaque = recode->log_opaque};
    return guarded(log, {{"recode", recode}, {"bytes", bytes}}, [&] {
        const CudaencJ2kRecode known = read_struct("the recoding", *recode);
        if (!known.data) refuse("data NULL of the recoding is not allowed");
        if (!known.bytes) refuse("bytes NULL of the recoding is not allowed");
        check_range("htj2k", known.htj2k, 0, 1);
        check_range("threads", known.threads, 0, 1024);
        ThreadPool pool(known.threads);
        const j2k::Recoded recoded = j2k::recode_packet({known.data, known.size}, known.htj2k != 0, pool);
        *bytes = recoded.codestream.size();
        if (*bytes > known.capacity)
            refuse(format_string("capacity %zu is not allowed: the packet has %zu bytes", known.capacity, *bytes));
        std::ranges::copy(recoded.codestream, known.bytes);
        if (!recoded.note.empty()) log.print(CUDAENC_LOG_WARNING, ("JPEG 2000: " + recoded.note).c_str());
    });
}
