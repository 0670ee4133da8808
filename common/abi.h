// SPDX-License-Identifier: LGPL-2.1-or-later
// Structures of the C API across versions: struct_size says how much of one the caller's header knows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cudaenc.h"
#include "option_checks.h"

namespace cudaenc {

// The bytes of a structure up to the end of a member.
#define CUDAENC_END_OF(type, member) (offsetof(type, member) + sizeof(type::member))

// The least struct_size: that of the soname's first version.
inline constexpr size_t first_size(const CudaencConfig *) { return CUDAENC_END_OF(CudaencConfig, h264_room); }
inline constexpr size_t first_size(const CudaencFrame *) { return CUDAENC_END_OF(CudaencFrame, user_data_count); }
inline constexpr size_t first_size(const CudaencPacket *) { return CUDAENC_END_OF(CudaencPacket, buffer); }
inline constexpr size_t first_size(const CudaencDecoderConfig *) {
    return CUDAENC_END_OF(CudaencDecoderConfig, log_opaque);
}
inline constexpr size_t first_size(const CudaencPictureInfo *) {
    return CUDAENC_END_OF(CudaencPictureInfo, icc_profile_size);
}
inline constexpr size_t first_size(const CudaencCodedPicture *) { return CUDAENC_END_OF(CudaencCodedPicture, opaque); }
inline constexpr size_t first_size(const CudaencDecodedPicture *) {
    return CUDAENC_END_OF(CudaencDecodedPicture, corrupt);
}
inline constexpr size_t first_size(const CudaencCodedBatch *) { return CUDAENC_END_OF(CudaencCodedBatch, corrupt); }
inline constexpr size_t first_size(const CudaencConverterConfig *) {
    return CUDAENC_END_OF(CudaencConverterConfig, log_opaque);
}
inline constexpr size_t first_size(const CudaencRgbFrames *) { return CUDAENC_END_OF(CudaencRgbFrames, planes); }
inline constexpr size_t first_size(const CudaencCavlcConfig *) {
    return CUDAENC_END_OF(CudaencCavlcConfig, log_opaque);
}
inline constexpr size_t first_size(const CudaencJ2kRecode *) { return CUDAENC_END_OF(CudaencJ2kRecode, log_opaque); }
inline constexpr size_t first_size(const CudaencJ2kRecoderConfig *) {
    return CUDAENC_END_OF(CudaencJ2kRecoderConfig, log_opaque);
}
inline constexpr size_t first_size(const CudaencCavlcPlane *) { return CUDAENC_END_OF(CudaencCavlcPlane, lengths); }

constexpr size_t kLargestStruct = 65536;  // more is no sizeof

// Throws Error(CUDAENC_ERR_INVALID) unless of[from...to) is 0.
void check_unknown(const char *name, const void *of, size_t from, size_t to);
void check_struct_size(const char *name, size_t size, size_t least);

// What the caller gives: its members, and those of `known` where it has none. Throws Error(CUDAENC_ERR_INVALID).
template <class T>
T read_struct(const char *name, const T &callers, T known = {}) {
    check_struct_size(name, callers.struct_size, first_size(&callers));
    check_unknown(name, &callers, sizeof known, callers.struct_size);
    std::memcpy(&known, &callers, std::min(callers.struct_size, sizeof known));
    known.struct_size = sizeof known;
    return known;
}

// Gives the caller as much as its structure holds; its struct_size stays.
template <class T>
void write_struct(T &callers, T known) {
    const size_t size = callers.struct_size;
    known.struct_size = size;
    std::memset(static_cast<void *>(&callers), 0, size);
    std::memcpy(&callers, &known, std::min(size, sizeof known));
}

// What a call gives: written to the caller's structure when the call ends, however it ends.
template <class T>
class Result {
  public:
    // Throws Error(CUDAENC_ERR_INVALID).
    Result(const char *name, T &callers) : callers_(callers) {
        check_struct_size(name, callers.struct_size, first_size(&callers));
    }
    ~Result() { write_struct(callers_, value_); }
    Result(const Result &) = delete;
    Result &operator=(const Result &) = delete;
    T *operator->() { return &value_; }
    T &operator*() { return value_; }

  private:
    T &callers_;
    T value_{};
};

// Fills the structure of a caller, of `size` bytes. Throws Error(CUDAENC_ERR_INVALID).
template <class T>
void give_defaults(const char *name, T *callers, size_t size, size_t least, const T &defaults) {
    check_struct_size(name, size, least);
    std::memset(static_cast<void *>(callers), 0, size);
    std::memcpy(callers, &defaults, std::min(size, sizeof defaults));
}

}  // namespace cudaenc
