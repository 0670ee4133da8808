// SPDX-License-Identifier: LGPL-2.1-or-later
// A libFuzzer target: a packet of the JPEG 2000 decoder, by its kernels on the emulator. What comes of it is what the
// CPU makes of it.
#include "decoder_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // The emulator takes far longer.
    constexpr int64_t kMaxPixels = 1 << 12;
    static const InputDecoders emulated(CUDAENC_CODEC_J2K, "emu", kMaxPixels),
        host(CUDAENC_CODEC_J2K, "cpu", kMaxPixels);
    if (emulated.decode(data, size) != host.decode(data, size)) std::abort();
    return 0;
}
