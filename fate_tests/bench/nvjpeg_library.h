// SPDX-License-Identifier: LGPL-2.1-or-later
// NVIDIA's nvJPEG, opened at run time. Nothing of it is part of the programs: the header is asked for when they are
// built (make NVJPEG=its folder), the library when they run. Defines CUDAENC_HAS_NVJPEG where the header is there.
#pragma once
#include <string>

#include "../../common/error.h"

#if __has_include(<nvjpeg.h>) && __has_include(<cuda_runtime_api.h>)
#define CUDAENC_HAS_NVJPEG 1
#include <dlfcn.h>
#include <nvjpeg.h>

namespace cudaenc::testing {

inline void check_nvjpeg(nvjpegStatus_t status, const char *call) {
    if (status != NVJPEG_STATUS_SUCCESS)
        throw Error(CUDAENC_ERR_DEVICE, format_string("%s: status %d", call, static_cast<int>(status)));
}

struct NvjpegLibrary {
    // file: "": where the system or a CUDA toolkit has it. Throws Error(CUDAENC_ERR_UNSUPPORTED) where it is not there.
    explicit NvjpegLibrary(const std::string &file) {
        std::string reasons;
        for (const char *name : {file.c_str(), "libnvjpeg.so.13", "/usr/local/cuda/lib64/libnvjpeg.so.13",
                                 "libnvjpeg.so.12", "/usr/local/cuda/lib64/libnvjpeg.so.12"}) {
            if (!handle && *name && !(handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
                reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
            if (!file.empty()) break;
        }
        if (!handle) throw Error(CUDAENC_ERR_UNSUPPORTED, reasons);
        find(get_property, "nvjpegGetProperty");
        find(create, "nvjpegCreateSimple");
        find(create_ex, "nvjpegCreateEx");
        find(destroy, "nvjpegDestroy");
        find(encoder_state_create, "nvjpegEncoderStateCreate");
        find(encoder_state_destroy, "nvjpegEncoderStateDestroy");
        find(params_create, "nvjpegEncoderParamsCreate");
        find(params_destroy, "nvjpegEncoderParamsDestroy");
        find(set_quality, "nvjpegEncoderParamsSetQuality");
        find(set_optimized_huffman, "nvjpegEncoderParamsSetOptimizedHuffman");
        find(set_sampling_factors, "nvjpegEncoderParamsSetSamplingFactors");
        find(get_buffer_size, "nvjpegEncodeGetBufferSize");
        find(encode_yuv, "nvjpegEncodeYUV");
        find(retrieve, "nvjpegEncodeRetrieveBitstream");
        find(decoder_state_create, "nvjpegJpegStateCreate");
        find(decoder_state_destroy, "nvjpegJpegStateDestroy");
        find(get_image_info, "nvjpegGetImageInfo");
        find(decode, "nvjpegDecode");
        find(decode_batched_initialize, "nvjpegDecodeBatchedInitialize");
        find(decode_batched, "nvjpegDecodeBatched");
    }
    NvjpegLibrary(const NvjpegLibrary &) = delete;  // and never unloaded, as libraries that run CUDA do not like to be

    // "nvJPEG 13.0.1"
    std::string name() const {
        int number[3] = {};
        for (int i = 0; i < 3; i++) get_property(static_cast<libraryPropertyType>(i), &number[i]);
        return format_string("nvJPEG %d.%d.%d", number[0], number[1], number[2]);
    }

    void *handle = nullptr;
    decltype(&nvjpegGetProperty) get_property;
    decltype(&nvjpegCreateSimple) create;
    decltype(&nvjpegCreateEx) create_ex;
    decltype(&nvjpegDestroy) destroy;
    decltype(&nvjpegEncoderStateCreate) encoder_state_create;
    decltype(&nvjpegEncoderStateDestroy) encoder_state_destroy;
    decltype(&nvjpegEncoderParamsCreate) params_create;
    decltype(&nvjpegEncoderParamsDestroy) params_destroy;
    decltype(&nvjpegEncoderParamsSetQuality) set_quality;
    decltype(&nvjpegEncoderParamsSetOptimizedHuffman) set_optimized_huffman;
    decltype(&nvjpegEncoderParamsSetSamplingFactors) set_sampling_factors;
    decltype(&nvjpegEncodeGetBufferSize) get_buffer_size;
    decltype(&nvjpegEncodeYUV) encode_yuv;
    decltype(&nvjpegEncodeRetrieveBitstream) retrieve;
    decltype(&nvjpegJpegStateCreate) decoder_state_create;
    decltype(&nvjpegJpegStateDestroy) decoder_state_destroy;
    decltype(&nvjpegGetImageInfo) get_image_info;
    decltype(&nvjpegDecode) decode;
    decltype(&nvjpegDecodeBatchedInitialize) decode_batched_initialize;
    decltype(&nvjpegDecodeBatched) decode_batched;

  private:
    template <class F>
    void find(F &function, const char *name) {
        function = reinterpret_cast<F>(dlsym(handle, name));
        if (!function) throw Error(CUDAENC_ERR_UNSUPPORTED, std::string("nvJPEG has no ") + name);
    }
};

}  // namespace cudaenc::testing
#endif
