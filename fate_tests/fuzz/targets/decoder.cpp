// SPDX-License-Identifier: LGPL-2.1-or-later
// A libFuzzer target: a packet of the JPEG decoder, on the CPU. The first byte chooses the size of the pictures, and
// whether planes have a usual format.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "../../../common/cudaenc.h"

namespace {

CudaencDecoder *open_decoder(int lowres, int usual_format) {
    CudaencDecoderConfig config;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static CudaencDecoder *const decoders[] = {open_decoder(0, 0), open_decoder(1, 0), open_decoder(2, 0),
                                               open_decoder(3, 0), open_decoder(0, 1), open_decoder(1, 1),
                                               open_decoder(2, 1), open_decoder(3, 1)};
    if (size == 0) return 0;
    CudaencDecoder *const decoder = decoders[data[0] & 7];
    CudaencPictureInfo info;
    if (cudaenc_decoder_read_header(decoder, data + 1, size - 1, &info) != CUDAENC_OK) return 0;
    CudaencCodedPicture coded{};
    coded.data = data + 1, coded.size = size - 1;
    std::unique_ptr<uint8_t[]> planes[4];  // of the exact size
    for (int c = 0; c < info.format.components; c++) {
        const CudaencComponent &k = info.format.component[c];
        const size_t width = (static_cast<size_t>((info.format.width - 1) >> k.log2_subsample_x) + 1) *
                             static_cast<size_t>(k.step),
                     height = static_cast<size_t>((info.format.height - 1) >> k.log2_subsample_y) + 1;
        planes[c] = std::make_unique_for_overwrite<uint8_t[]>(width * height);
        coded.planes[c] = planes[c].get();
        coded.stride[c] = static_cast<ptrdiff_t>(width);
    }
    if (cudaenc_decoder_submit(decoder, &coded) != CUDAENC_OK) return 0;
    cudaenc_decoder_flush(decoder);
    CudaencDecodedPicture picture;
    cudaenc_decoder_receive(decoder, &picture);
    return 0;
}
