// The name under which a kernel's parameters find its code. Device compilers read this header too.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstddef>

namespace cudaenc {

// Where thread-blocks of several kernels wait for room, those of high priority start first. Kernels that end a frame
// have it: frames in flight then end one after the other, and each makes room for the next.
enum class LaunchPriority { kNormal, kHigh };

// Where a kernel's code is: the source file's path below cuda_kernels without its ending, and the function in it.
struct KernelName {
    const char *module;
    const char *function;
    LaunchPriority priority = LaunchPriority::kNormal;
    // Of a multiprocessor's first-level memory. It changes the split only when it is idle, so that kernels with splits
    // of their own do not run beside each other: one value for all of a codec.
    int shared_memory_percent = 58;
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
