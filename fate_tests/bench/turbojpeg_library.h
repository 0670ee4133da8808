// SPDX-License-Identifier: LGPL-2.1-or-later
// libjpeg-turbo's library, opened at run time, where a program was built with its header: the calls that decode to
// planes. Defines CUDAENC_HAS_TURBOJPEG where the header is there.
#pragma once
#if __has_include(<turbojpeg.h>)
#define CUDAENC_HAS_TURBOJPEG 1
#include <dlfcn.h>
#include <turbojpeg.h>

#include <string>

#include "../../common/error.h"

namespace cudaenc::bench {

struct TurboJpegLibrary {
    // file: "": where the system has it. Throws Error(CUDAENC_ERR_UNSUPPORTED) where it is not there.
    explicit TurboJpegLibrary(const std::string &file)
        : handle(dlopen(file.empty() ? "libturbojpeg.so.0" : file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw Error(CUDAENC_ERR_UNSUPPORTED, dlerror());
        find(init_decompress, "tjInitDecompress");
        find(decompress_to_planes, "tjDecompressToYUVPlanes");
        find(destroy, "tjDestroy");
    }

    void *const handle;
    decltype(&tjInitDecompress) init_decompress;
    decltype(&tjDecompressToYUVPlanes) decompress_to_planes;
    decltype(&tjDestroy) destroy;

  private:
    template <class Function>
    void find(Function *&function, const char *name) {
        function = reinterpret_cast<Function *>(dlsym(handle, name));
        if (!function) throw Error(CUDAENC_ERR_UNSUPPORTED, std::string(name) + " is not in the TurboJPEG library");
    }
};

}  // namespace cudaenc::bench
#endif
