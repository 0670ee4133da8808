// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes a byte stream of three pictures with SEI messages of all kinds, through the library's C API.
// Usage: h264_sei OUT
#include <cudaenc.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    CudaencConfig config;
    cudaenc_config_defaults(&config, CUDAENC_CODEC_H264);
    config.device = "cpu";
    config.format.width = 64;
    config.format.height = 48;
    config.format.components = config.format.planes = 1;
    config.format.component[0] = {0, 0, 1, 0, 8, 0, 0};
    config.h264.timecodes = 1;
    config.h264.frame_rate_num = 25;
    config.h264.frame_rate_den = 1;
    CudaencSession *session;
    std::FILE *out = std::fopen(argv[1], "wb");
    if (!out || cudaenc_open(&session, &config)) return 1;

    const std::vector<uint8_t> samples(64 * 48, 100);
    const CudaencMasteringDisplay display{{{34000, 16000}, {13250, 34500}, {7500, 3000}}, {15635, 16450}, 10000000, 50};
    const CudaencContentLight light{1000, 400};
    const uint8_t captions[6] = {0xFC, 0x94, 0x2C, 0xFD, 0x80, 0x80};
    uint8_t text[20] = "0123456789abcdefABC";
    const CudaencUserData user_data{text, sizeof text};
    for (int i = 0; i < 3; i++) {
        const CudaencTimecode timecode{11, 22, 33, i, 0};
        CudaencFrame frame{};
        frame.data[0] = samples.data();
        frame.stride[0] = 64;
        frame.timecode = &timecode;
        frame.mastering_display = &display;
        frame.content_light = &light;
        frame.captions = captions;
        frame.captions_size = sizeof captions;
        frame.user_data = &user_data;
        frame.user_data_count = 1;
        if (cudaenc_submit(session, &frame)) return 1;
    }
    cudaenc_flush(session);
    for (CudaencPacket packet; cudaenc_receive(session, &packet) == CUDAENC_OK;) {
        std::fwrite(packet.data, 1, packet.size, out);
        cudaenc_buffer_free(packet.buffer);
    }
    cudaenc_close(session);
    return std::fclose(out) != 0;
}
