// SPDX-License-Identifier: LGPL-2.1-or-later
// What the targets of decoders share: a packet, on the CPU. The first byte chooses the size of the pictures, and
// whether planes have a usual format.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "../../../common/cudaenc.h"

inline CudaencDecoder *open_decoder(CudaencCodec codec, int lowres, int usual_format) {
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, codec);
    config.device = "cpu";
    config.async_depth = 1;
    config.threads = 1;
    config.lowres = lowres;
    config.usual_format = usual_format;
    config.max_pixels = 1 << 16;
    CudaencDecoder *decoder;
    if (cudaenc_decoder_open(&decoder, &config) != CUDAENC_OK) std::abort();
    return decoder;
}

template <CudaencCodec codec>
void decode_input(const uint8_t *data, size_t size) {
    static CudaencDecoder *const decoders[] = {
        open_decoder(codec, 0, 0), open_decoder(codec, 1, 0), open_decoder(codec, 2, 0), open_decoder(codec, 3, 0),
        open_decoder(codec, 0, 1), open_decoder(codec, 1, 1), open_decoder(codec, 2, 1), open_decoder(codec, 3, 1)};
    if (size == 0) return;
    CudaencDecoder *const decoder = decoders[data[0] & 7];
    CudaencPictureInfo info{};
    info.struct_size = sizeof info;
    if (cudaenc_decoder_read_header(decoder, data + 1, size - 1, &info) != CUDAENC_OK) return;
    CudaencCodedPicture coded{};
    coded.struct_size = sizeof coded;
    coded.data = data + 1, coded.size = size - 1;
    std::unique_ptr<uint8_t[]> planes[4];  // of the exact size
    for (int i = 0; i < info.format.planes; i++) {
        size_t row_bytes, rows;
        if (cudaenc_plane_size(&info.format, i, &row_bytes, &rows) != CUDAENC_OK) std::abort();
        planes[i] = std::make_unique_for_overwrite<uint8_t[]>(row_bytes * rows);
        coded.planes[i] = planes[i].get();
        coded.stride[i] = static_cast<ptrdiff_t>(row_bytes);
    }
    if (cudaenc_decoder_submit(decoder, &coded) != CUDAENC_OK) return;
    cudaenc_decoder_flush(decoder);
    CudaencDecodedPicture picture{};
    picture.struct_size = sizeof picture;
    cudaenc_decoder_receive(decoder, &picture);
}
