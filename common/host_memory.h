// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of the host's memory a session may take.
#pragma once
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace cudaenc {

// Bytes that can be taken without another program's; as many as there can be where the system does not tell. Linux:
// what is available, at most the limit of the container.
inline uint64_t available_host_memory() {
    uint64_t bytes = UINT64_MAX, kilobytes, limit;
    if (std::FILE *file = std::fopen("/proc/meminfo", "r")) {
        char line[128];
        while (std::fgets(line, sizeof line, file))
            if (std::sscanf(line, "MemAvailable: %" SCNu64 " kB", &kilobytes) == 1) bytes = kilobytes * 1024;
        std::fclose(file);
    }
    if (std::FILE *file = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
        if (std::fscanf(file, "%" SCNu64, &limit) == 1) bytes = std::min(bytes, limit);
        std::fclose(file);
    }
    return bytes;
}

}  // namespace cudaenc
