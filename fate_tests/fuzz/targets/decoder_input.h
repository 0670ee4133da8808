// SPDX-License-Identifier: LGPL-2.1-or-later
// What the targets of decoders share: a packet. The first byte chooses the size of the pictures, and whether planes
// have a usual format.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../../../common/cudaenc.h"

// What came of a packet. code: of the first call that failed.
struct DecodedInput {
    int code = CUDAENC_ERR_INVALID, corrupt = 0;
    std::vector<std::vector<uint8_t>> planes;  // of the exact size; empty: there is no picture
    bool operator==(const DecodedInput &) const = default;
};

// The decoders that a first byte may choose. They live as long as the process.
class InputDecoders {
  public:
    InputDecoders(CudaencCodec codec, const char *device, int64_t max_pixels) {
        for (size_t i = 0; i < decoders_.size(); i++) {
            CudaencDecoderConfig config;
            cudaenc_decoder_defaults(&config, codec);
            config.device = device;
            config.async_depth = 1;
            config.threads = 1;
            config.lowres = static_cast<int>(i & 3);
            config.usual_format = static_cast<int>(i >> 2);
            config.max_pixels = max_pixels;
            if (cudaenc_decoder_open(&decoders_[i], &config) != CUDAENC_OK) std::abort();
        }
    }

    DecodedInput decode(const uint8_t *data, size_t size) const {
        DecodedInput decoded;
        if (size == 0) return decoded;
        CudaencDecoder *const decoder = decoders_[data[0] % decoders_.size()];
        CudaencPictureInfo info{};
        info.struct_size = sizeof info;
        decoded.code = cudaenc_decoder_read_header(decoder, data + 1, size - 1, &info);
        if (decoded.code != CUDAENC_OK) return decoded;
        CudaencCodedPicture coded{};
        coded.struct_size = sizeof coded;
        coded.data = data + 1, coded.size = size - 1;
        std::vector<std::vector<uint8_t>> planes;
        for (int i = 0; i < info.format.planes; i++) {
            size_t row_bytes, rows;
            if (cudaenc_plane_size(&info.format, i, &row_bytes, &rows) != CUDAENC_OK) std::abort();
            planes.emplace_back(row_bytes * rows);
            coded.planes[i] = planes.back().data();
            coded.stride[i] = static_cast<ptrdiff_t>(row_bytes);
        }
        decoded.code = cudaenc_decoder_submit(decoder, &coded);
        if (decoded.code != CUDAENC_OK) return decoded;
        cudaenc_decoder_flush(decoder);
        CudaencDecodedPicture picture{};
        picture.struct_size = sizeof picture;
        decoded.code = cudaenc_decoder_receive(decoder, &picture);
        decoded.corrupt = picture.corrupt;
        if (decoded.code == CUDAENC_OK) decoded.planes = std::move(planes);
        return decoded;
    }

  private:
    std::array<CudaencDecoder *, 8> decoders_;
};
