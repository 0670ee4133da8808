// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of recoding: checks arguments.
#include "j2k/recode.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "abi.h"
#include "option_checks.h"
#include "session.h"

using namespace cudaenc;

struct CudaencJ2kRecoder {
    SessionLog log;
    bool to_ht = true;
    std::unique_ptr<ThreadPool> pool;
    std::vector<uint8_t> packet;  // the last one that was made
    bool warned = false;          // of what is not kept

    void start(int htj2k, int threads) {
        check_range("htj2k", htj2k, 0, 1);
        check_range("threads", threads, 0, 1024);
        to_ht = htj2k != 0;
        pool = std::make_unique<ThreadPool>(thread_count(threads));
    }

    j2k::Recoded recode(std::span<const uint8_t> data) { return j2k::recode_packet(data, to_ht, *pool); }

    void tell(const std::string &note) {
        if (!note.empty() && !std::exchange(warned, true))
            log.print(CUDAENC_LOG_WARNING, ("JPEG 2000: " + note).c_str());
    }
};

int cudaenc_j2k_recode(const CudaencJ2kRecode *recode, size_t *bytes) {
    if (bytes) *bytes = 0;
    CudaencJ2kRecoder recoder;
    if (recode && recode->struct_size >= CUDAENC_END_OF(CudaencJ2kRecode, log_opaque))
        recoder.log = {.log = recode->log, .opaque = recode->log_opaque};
    return guarded(recoder.log, {{"recode", recode}, {"bytes", bytes}}, [&] {
        const CudaencJ2kRecode known = read_struct("the recoding", *recode);
        if (!known.data) refuse("data NULL of the recoding is not allowed");
        if (!known.bytes) refuse("bytes NULL of the recoding is not allowed");
        recoder.start(known.htj2k, known.threads);
        const j2k::Recoded recoded = recoder.recode({known.data, known.size});
        *bytes = recoded.codestream.size();
        if (*bytes > known.capacity)
            refuse(format_string("capacity %zu is not allowed: the packet has %zu bytes", known.capacity, *bytes));
        std::ranges::copy(recoded.codestream, known.bytes);
        recoder.tell(recoded.note);
    });
}

int cudaenc_j2k_recoder_init(CudaencJ2kRecoderConfig *config, size_t struct_size) {
    CudaencJ2kRecoderConfig defaults{};
    defaults.struct_size = struct_size;
    defaults.htj2k = 1;
    return init_struct("config", config, struct_size, first_size(config), defaults);
}

int cudaenc_j2k_recoder_open(CudaencJ2kRecoder **out, const CudaencJ2kRecoderConfig *config) {
    return open_session("recoder", out, config, [&](CudaencJ2kRecoder &recoder) {
        const CudaencJ2kRecoderConfig known = read_struct("the configuration", *config);
        recoder.start(known.htj2k, known.threads);
    });
}

int cudaenc_j2k_recoder_recode(CudaencJ2kRecoder *recoder, const uint8_t *data, size_t size, const uint8_t **bytes,
                               size_t *count) {
    if (bytes) *bytes = nullptr;
    if (count) *count = 0;
    return guarded(log_of(recoder), {{"recoder", recoder}, {"data", data}, {"bytes", bytes}, {"count", count}}, [&] {
        j2k::Recoded recoded = recoder->recode({data, size});
        recoder->tell(recoded.note);
        recoder->packet = std::move(recoded.codestream);
        *bytes = recoder->packet.data();
        *count = recoder->packet.size();
    });
}

void cudaenc_j2k_recoder_close(CudaencJ2kRecoder *recoder) { delete recoder; }
