// SPDX-License-Identifier: LGPL-2.1-or-later
// The one table that lists the codecs. Sessions of the C API know of a codec what its row tells.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cudaenc.h"
#include "device.h"
#include "options.h"
#include "pipeline.h"

namespace cudaenc {

// What every pipeline is made with.
struct PipelineSetup {
    int slots;
    int threads;                     // 0: one per core
    std::shared_ptr<Device> device;  // nullptr: the CPU
    bool device_frames, device_packets, stage_times;
    int fields = 0;  // CudaencFields, where a slot has both of a frame
};

// An encoder of checked options, before its device is known.
struct EncoderPlan {
    std::string summary, warning;      // a line; lines
    std::string device_warning = {};   // where a device is there; mostly empty
    int most_slots;                    // that may be in flight
    int lookahead = 0;                 // slots beside those of the caller, see Pipeline
    bool device_codes_frames = false;  // a slot on a device has both fields
    double host_bytes, device_bytes;   // that its pipelines have at least for each sample of a frame in flight
    std::function<std::unique_ptr<Encoder>(const PipelineSetup &)> make;
};

// What of a frame beside its samples a packet may have a place for.
enum Metadata : unsigned { kIccProfile = 1, kExif = 2, kXmp = 4, kIptc = 8, kSei = 16, kRegions = 32 };

struct EncoderCodec {
    CudaencCodec codec;
    const char *name;                                   // of its options
    char (CudaencConfig::*room)[CUDAENC_OPTIONS_ROOM];  // of its options, and how much of it they take
    size_t options_size;
    void (*set_defaults)(CudaencConfig &config);          // of its options
    unsigned metadata;                                    // bits of Metadata
    bool device_packets;                                  // may be
    bool few_threads;                                     // are all that a picture keeps busy
    void (*set_field_size)(uint8_t *field, size_t size);  // in its headers; nullptr: they have none
    EncoderPlan (*plan)(const CudaencConfig &config);     // throws Error for options that are not allowed
};

// Decoders keep no pointer of `config`: strings are the caller's.
struct DecoderCodec {
    CudaencCodec codec;
    const OptionTable<CudaencDecoderConfig> &options;
    bool few_threads;
    // Throws Error for options that are not allowed.
    void (*check)(const CudaencDecoderConfig &config);
    // Throws Error for what is no picture of this codec, or not supported.
    std::unique_ptr<PictureHeader> (*read_header)(std::span<const uint8_t> packet, const CudaencDecoderConfig &config);
    // Bytes up to the end of the first picture; 0: the packet begins with no picture of this codec.
    size_t (*picture_size)(std::span<const uint8_t> packet);
    bool (*has_two_fields)(std::span<const uint8_t> packet);
    std::unique_ptr<Decoder> (*make)(const CudaencDecoderConfig &config, const PipelineSetup &setup);
};

extern const std::span<const EncoderCodec> kEncoders;
extern const std::span<const DecoderCodec> kDecoders;

// Codecs are the caller's, who may give any number.
inline int number_of(const CudaencCodec &codec) {
    int number;
    std::memcpy(&number, &codec, sizeof number);
    return number;
}

// The row of a codec; nullptr: there is none.
template <class Row>
const Row *find_codec(std::span<const Row> rows, const CudaencCodec &codec) {
    const int number = number_of(codec);
    const auto row = std::ranges::find_if(rows, [&](const Row &r) { return int{r.codec} == number; });
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace cudaenc
