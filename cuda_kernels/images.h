// SPDX-License-Identifier: LGPL-2.1-or-later
// The compiled kernels, which the build embeds in the library.
#pragma once
#include <cstddef>

// A fatbin or cubin, or PTX with the NUL that ends its text, aligned to 8 bytes.
struct CudaencImage {
    const char *module;  // the source file's path below cuda_kernels without its ending: KernelName::module
    const unsigned char *data;
    size_t size;  // bytes
};

// A null module ends the table.
extern "C" const CudaencImage cudaenc_images[];
