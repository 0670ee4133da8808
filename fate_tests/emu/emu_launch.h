// SPDX-License-Identifier: LGPL-2.1-or-later
// What the emulator's two files share: finding kernels and running them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "../../common/device.h"
#include "emu.h"

namespace cudaenc::emu {

struct Kernel {
    KernelName name;
    size_t params_size;
    int max_threads;
    void (*run)(const void *params);  // the current thread
};

// nullptr where no such kernel is linked into the program.
const Kernel *find_kernel(const KernelName &name);

// Runs all thread-blocks. Returns what went wrong, or an empty string.
std::string run_kernel(const Kernel &kernel, Grid grid, int threads, const void *params, uint64_t seed);

void fill_garbage(void *memory, size_t bytes, uint64_t seed);

}  // namespace cudaenc::emu
