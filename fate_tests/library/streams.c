/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encodes random pictures with random options on the CPU, and prints a line for each stream: what it is, its bytes and their
 * FNV-1a. The same on every processor.  streams COUNT SEED [FIRST] */
#include <cudaenc.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;
static unsigned below(unsigned n) { /* splitmix64 */
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (unsigned)((z ^ z >> 31) >> 32) % n;
}

static const char *const formats[][6] = {{"rgb24", "gray", "yuv420p", "yuv422p10", "rgb48", "gbrp12"},
                                         {"gray", "yuvj420p", "yuvj422p", "yuvj444p", "rgb24", "yuvj420p"},
                                         {"yuv420p", "yuv422p10", "yuv444p", "gray", "yuv420p", "nv12"}};

static void choose_options(CudaencConfig *config) {
    CudaencJ2kOptions *j2k = &config->j2k;
    CudaencH264Options *h264 = &config->h264;
    switch (config->codec) {
        case CUDAENC_CODEC_J2K:
            j2k->pred = (int)below(2) ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
            j2k->levels = (int)below(6);
            j2k->cblk_style = below(2) ? CUDAENC_J2K_HT : 0;
            if (j2k->pred == CUDAENC_J2K_DWT97) j2k->quality = 20 + (int)below(80);
            if (below(3) == 0) j2k->tile_width = j2k->tile_height = 64;
            break;
        case CUDAENC_CODEC_MJPEG:
            config->mjpeg.quality = 1 + (int)below(100);
            config->mjpeg.trellis = (int)below(2);
            break;
        case CUDAENC_CODEC_H264:
            h264->qp = (int)below(52);
            h264->effort = (int)below(4);
            h264->gop_size = below(2) ? 4 : 1;
            h264->slices = 1 + (int)below(2);
            break;
    }
}

/* A gradient with noise, which moves. */
static void paint(const CudaencFormat *format, CudaencFrame *frame, int number) {
    for (int plane = 0; plane < format->planes; plane++) {
        const int wide = format->component[plane].depth > 8;
        const unsigned mask = (1u << format->component[plane].depth) - 1, noise = 1 + below(32);
        size_t row_bytes, rows;
        cudaenc_plane_size(format, plane, &row_bytes, &rows);
        frame->stride[plane] = (ptrdiff_t)row_bytes;
        for (size_t y = 0; y < rows; y++) {
            uint8_t *row = (uint8_t *)frame->data[plane] + y * row_bytes;
            for (size_t x = 0; x < row_bytes >> wide; x++) {
                const unsigned value = (unsigned)((x + (size_t)number) * 3 + y * 2 + below(noise)) << (wide ? 2 : 0) & mask;
                row[x << wide] = (uint8_t)value;
                if (wide) row[2 * x + 1] = (uint8_t)(value >> 8);
            }
        }
    }
}

static uint64_t encode(CudaencConfig *config, size_t *size, int *code) {
    uint64_t hash = 0xCBF29CE484222325u;
    CudaencSession *session = NULL;
    CudaencFrame frame = {.struct_size = sizeof(frame)};
    *size = 0;
    for (int plane = 0; plane < config->format.planes; plane++) {
        size_t row_bytes, rows;
        cudaenc_plane_size(&config->format, plane, &row_bytes, &rows);
        frame.data[plane] = malloc(row_bytes * rows);
        if (!frame.data[plane]) exit(1);
    }
    *code = cudaenc_open(&session, config);
    for (int n = 0; *code == CUDAENC_OK && n < 3; n++) {
        CudaencPacket packet = {.struct_size = sizeof(packet)};
        paint(&config->format, &frame, n);
        *code = cudaenc_submit(session, &frame);
        if (*code == CUDAENC_OK) *code = cudaenc_wait(session, &packet);
        if (*code != CUDAENC_OK) break;
        for (size_t i = 0; i < packet.size; i++) hash = (hash ^ packet.data[i]) * 0x100000001B3u;
        *size += packet.size;
        cudaenc_buffer_free(packet.buffer);
    }
    cudaenc_close(session);
    for (int plane = 0; plane < config->format.planes; plane++) free((void *)frame.data[plane]);
    return hash;
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 0;
    const unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    for (int n = argc > 3 ? atoi(argv[3]) : 0; n < count; n++) {
        CudaencConfig config;
        size_t size;
        int code;
        state = ((uint64_t)seed << 32) + (unsigned)n;
        const unsigned codec = (unsigned)n % 3;
        const char *format = formats[codec][below(6)];
        const int width = 16 + 2 * (int)below(60), height = 16 + 2 * (int)below(40);
        cudaenc_config_defaults(&config, codec == 0   ? CUDAENC_CODEC_J2K
                                         : codec == 1 ? CUDAENC_CODEC_MJPEG
                                                      : CUDAENC_CODEC_H264);
        if (cudaenc_format_by_name(&config.format, format, width, height) != CUDAENC_OK) return 1;
        config.device = "cpu";
        config.threads = 2;
        config.async_depth = 1;
        choose_options(&config);
        const uint64_t hash = encode(&config, &size, &code);
        printf("%d codec %u %s %dx%d: %d, %zu bytes, %016llx\n", n, codec, format, width, height, code, size, (unsigned long long)hash);
    }
    return 0;
}
