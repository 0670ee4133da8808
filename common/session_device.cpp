// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstring>

#include "host_memory.h"
#include "option_checks.h"
#include "planes.h"
#include "session.h"

namespace cudaenc {

namespace {

bool is_or_has_number(const std::string &spec, const char *kind) {
    const size_t n = std::strlen(kind);
    if (spec.compare(0, n, kind)) return false;
    return spec.size() == n || (spec[n] == ':' && spec.size() > n + 1 && spec.size() <= n + 10 &&
                                std::all_of(spec.begin() + static_cast<std::ptrdiff_t>(n) + 1, spec.end(),
                                            [](char c) { return c >= '0' && c <= '9'; }));
}

}  // namespace

std::shared_ptr<Device> choose_device(const SessionLog &log, const char *device, const char *in_device,
                                      void *cuda_context, const char *task) {
    const std::string spec = device && *device ? device : "auto";
    const bool emulator = open_emulator && is_or_has_number(spec, "emu");
    if (spec != "auto" && spec != "cpu" && !is_or_has_number(spec, "cuda") && !emulator)
        refuse(format_string("device '%s' is not allowed: it is auto, cpu, cuda or cuda:N", spec.c_str()));
    if (emulator) return open_emulator(spec);
    if (spec == "cpu") {
        if (in_device)
            refuse(format_string("device 'cpu' is not allowed with %s in CUDA memory: it is auto, cuda or cuda:N",
                                 in_device));
        return nullptr;
    }
    if (spec != "auto") return open_cuda_device(spec, cuda_context);
    try {
        return open_cuda_device("cuda", cuda_context);
    } catch (const Error &e) {
        if (in_device || cuda_context || e.code != CUDAENC_ERR_DEVICE) throw;
        log.print(CUDAENC_LOG_WARNING, format_string("no CUDA device, %s on the CPU: %s", task, e.what()).c_str());
        return nullptr;
    }
}

void check_memory(const CudaencFormat &format, double sample_bytes, int slots, Device *device) {
    constexpr double kGiB = 1 << 30;
    const double need = sample_bytes * static_cast<double>(sample_count(format)) * slots,
                 free = static_cast<double>(device ? device->free_memory() : available_host_memory());
    if (need > free)
        throw Error(
            CUDAENC_ERR_MEMORY,
            format_string("%d frames in flight of %dx%d need %.1f GiB of %s memory at least, and %.1f GiB are "
                          "free: a smaller async_depth needs less",
                          slots, format.width, format.height, need / kGiB, device ? "device" : "host", free / kGiB));
}

}  // namespace cudaenc
