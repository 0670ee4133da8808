// SPDX-License-Identifier: LGPL-2.1-or-later
// What a process takes of the host and of its GPU.
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace cudaenc::bench {

// Bytes of the GPU's memory that are in use, by all; 0 where no driver says so. The Device has no such call.
inline size_t gpu_bytes_in_use() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 0;
    const auto find = [&]<class F>(F *&function, const char *name) {
        return (function = reinterpret_cast<F *>(dlsym(driver, name))) != nullptr;
    };
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*info)(size_t *, size_t *);
    void *context = nullptr;
    size_t available = 0, total = 0;
    if (!find(retain, "cuDevicePrimaryCtxRetain") || !find(push, "cuCtxPushCurrent_v2") ||
        !find(pop, "cuCtxPopCurrent_v2") || !find(info, "cuMemGetInfo_v2") || retain(&context, 0) || push(context))
        return 0;
    const bool known = info(&available, &total) == 0;
    pop(&context);
    return known ? total - available : 0;
}

inline double resident_mib() {
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

}  // namespace cudaenc::bench
