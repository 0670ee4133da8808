// SPDX-License-Identifier: LGPL-2.1-or-later
// A libFuzzer target: a packet of the JPEG 2000 decoder.
#include "decoder_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const InputDecoders decoders(CUDAENC_CODEC_J2K, "cpu", 1 << 16);
    decoders.decode(data, size);
    return 0;
}
