// SPDX-License-Identifier: LGPL-2.1-or-later
// Loops that the compiler vectorises for several processors.
#pragma once
#include <cstdint>  // defines __GLIBC__

// Compiles a function, neither template nor inline, for several levels of x86-64, with what it inlines. The loader
// takes the best that the processor has. Other processors have one level (aarch64: NEON). Results are the same on each,
// as nothing is contracted (-ffp-contract=off).
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDAENC_ONE_TARGET
#endif
#endif
#if defined(__SANITIZE_THREAD__)  // its run-time library is not ready when the loader chooses
#define CUDAENC_ONE_TARGET
#endif

namespace cudaenc {
// Whether multiply_add() is an instruction, of a clone or behind the C library's call. Else that call is slow, or
// mingw-w64's, which may round twice.
inline bool has_multiply_add() {
#if !defined(__x86_64__)
    return true;
#elif defined(__GLIBC__)
    return __builtin_cpu_supports("fma");
#else
    return false;
#endif
}
}  // namespace cudaenc

#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(CUDAENC_ONE_TARGET)
#define CUDAENC_CLONES
#elif defined(__clang__)
#define CUDAENC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif __GNUC__ >= 12
#define CUDAENC_LEVELS  // a part of a file may be compiled for a level
#define CUDAENC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define CUDAENC_CLONES __attribute__((target_clones("avx2", "default"), flatten))
#endif
