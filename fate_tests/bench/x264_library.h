// SPDX-License-Identifier: LGPL-2.1-or-later
// x264's library, opened at run time: an encoder of the CPU to compare with. The program knows it where it was built
// with its header.
#pragma once
#include <string>

#include "../../common/error.h"

#if __has_include(<x264.h>)
#define CUDAENC_HAS_X264 1
#include <dlfcn.h>

extern "C" {
#include <x264.h>
}

namespace cudaenc::bench {

#define CUDAENC_TEXT_OF(x) #x
#define CUDAENC_TEXT(x) CUDAENC_TEXT_OF(x)

struct X264Library {
    // file: "": as the system names it. Throws Error(CUDAENC_ERR_UNSUPPORTED) where it, or its version, is not there.
    explicit X264Library(const std::string &file)
        : handle(dlopen(file.empty() ? "libx264.so." CUDAENC_TEXT(X264_BUILD) : file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) throw Error(CUDAENC_ERR_UNSUPPORTED, dlerror());
        find(default_preset, "x264_param_default_preset");
        find(picture_init, "x264_picture_init");
        find(open, CUDAENC_TEXT(x264_encoder_open));  // whose name has the number of the ABI
        find(encode, "x264_encoder_encode");
        find(delayed_frames, "x264_encoder_delayed_frames");
        find(close, "x264_encoder_close");
    }
    ~X264Library() { dlclose(handle); }
    X264Library(const X264Library &) = delete;
    static const char *name() { return "x264 " CUDAENC_TEXT(X264_BUILD); }

    void *handle;
    decltype(&x264_param_default_preset) default_preset;
    decltype(&x264_picture_init) picture_init;
    decltype(&x264_encoder_open) open;
    decltype(&x264_encoder_encode) encode;
    decltype(&x264_encoder_delayed_frames) delayed_frames;
    decltype(&x264_encoder_close) close;

  private:
    template <class Function>
    void find(Function &function, const char *symbol) {
        function = reinterpret_cast<Function>(dlsym(handle, symbol));
        if (!function) throw Error(CUDAENC_ERR_UNSUPPORTED, dlerror());
    }
};

}  // namespace cudaenc::bench
#endif
