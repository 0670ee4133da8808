// Loops that the compiler makes into vectors, for the processor at hand. SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once
#include <cstdint>  // says whose C library this is

// Before a function, which should not be a template nor inline: it is compiled for several levels of x86-64, with what
// it inlines, and the program's loader takes the best that the processor has. Elsewhere there is one level, the
// compiler's own (NEON on aarch64). Results are the same on each, since nothing may be contracted (-ffp-contract=off).
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDAENC_ONE_TARGET
#endif
#endif
#if defined(__SANITIZE_THREAD__)  // its run-time library is not there yet when the loader asks
#define CUDAENC_ONE_TARGET
#endif

#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(CUDAENC_ONE_TARGET)
#define CUDAENC_CLONES
#elif defined(__clang__)
#define CUDAENC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif __GNUC__ >= 12
#define CUDAENC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define CUDAENC_CLONES __attribute__((target_clones("avx2", "default"), flatten))
#endif
