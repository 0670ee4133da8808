// The name under which a kernel's parameters find its code. Device compilers read this header too.
// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace cudaenc {

// Where a kernel's code is: the source file's path below cuda_kernels without its ending, and the function in it.
struct KernelName {
    const char *module;
    const char *function;
};

constexpr bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

}  // namespace cudaenc
