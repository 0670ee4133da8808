// SPDX-License-Identifier: LGPL-2.1-or-later
// The name by which a kernel's parameters find its code. Device compilers read this header too.
#pragma once
#include <cstddef>

namespace cudaenc {

// Thread-blocks of high priority start first where several kernels wait for room. Kernels that end a frame have it:
// frames in flight then end one after the other, and each makes room for the next.
enum class LaunchPriority { kNormal, kHigh };

// The source file of a kernel, as a path below cuda_kernels without its ending, and the function in it.
struct KernelName {
    const char *module;
    const char *function;
    LaunchPriority priority = LaunchPriority::kNormal;
    // The share of shared memory in the L1 memory. A multiprocessor changes it only when idle, so that kernels with
    // different shares do not run side by side: all kernels of a codec have one value.
    int shared_memory_percent = 72;
    // Whether thread-blocks may start before the launch before it on the stream has ended: see allow_next_launch().
    bool overlaps = false;
};

template <size_t kSize>
struct Literal {
    char text[kSize]{};
    constexpr Literal(const char (&from)[kSize]) {
        for (size_t i = 0; i < kSize; i++) text[i] = from[i];
    }
};

// The parameters of a kernel that takes an Input.
template <class Input, Literal kModule, Literal kFunction, LaunchPriority kPriority = LaunchPriority::kNormal>
struct KernelOf : Input {
    static constexpr KernelName kernel{.module = kModule.text, .function = kFunction.text, .priority = kPriority};
};

constexpr bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

}  // namespace cudaenc
