// SPDX-License-Identifier: LGPL-2.1-or-later
// A libFuzzer target: a packet of the JPEG 2000 decoder.
#include "decoder_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    decode_input<CUDAENC_CODEC_J2K>(data, size);
    return 0;
}
