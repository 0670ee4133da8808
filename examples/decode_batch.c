/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decodes JPEG files of one size to R, G and B by one call, and writes them below each other into one PPM file.
 *   cc decode_batch.c -o decode_batch $(pkg-config --cflags --libs libcudaenc)
 *   decode_batch OUT.ppm cpu|cuda|auto IN.jpg... */
#include <cudaenc.h>
#include <stdio.h>
#include <stdlib.h>

static void print_line(void *opaque, CudaencLogLevel level, const char *line) {
    (void)opaque;
    if (level <= CUDAENC_LOG_WARNING) fprintf(stderr, "%s\n", line);
}

static uint8_t *read_file(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    uint8_t *data = NULL;
    long end;
    if (file && !fseek(file, 0, SEEK_END) && (end = ftell(file)) > 0 && (data = malloc((size_t)end))) {
        rewind(file);
        *size = fread(data, 1, (size_t)end, file);
    }
    if (file) fclose(file);
    if (!data) perror(name);
    return data;
}

/* samples: [count][3][height][width]. Returns whether it is written. */
static int write_ppm(const char *name, const uint8_t *samples, int count, const CudaencFormat *format) {
    const size_t plane = (size_t)format->width * (size_t)format->height;
    FILE *file = fopen(name, "wb");
    if (!file) return 0;
    fprintf(file, "P6\n%d %d\n255\n", format->width, count * format->height);
    for (int n = 0; n < count; n++)
        for (size_t i = 0; i < plane; i++)
            for (int c = 0; c < 3; c++) putc(samples[((size_t)n * 3 + (size_t)c) * plane + i], file);
    return fclose(file) == 0;
}

int main(int argc, char **argv) {
    const int count = argc - 3;
    if (count < 1) {
        fprintf(stderr, "usage: decode_batch OUT.ppm DEVICE IN.jpg...\n");
        return 2;
    }
    size_t size;
    uint8_t *first = read_file(argv[3], &size);
    if (!first) return 1;

    CudaencDecoderConfig config;
    CudaencDecoder *decoder;
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.device = argv[2];
    config.async_depth = 32;
    config.rgb = 1;
    config.log = print_line;
    CudaencPictureInfo info = {.struct_size = sizeof(info)};
    if (cudaenc_decoder_open(&decoder, &config) != CUDAENC_OK) return 1;
    if (cudaenc_decoder_read_header(decoder, first, size, &info) != CUDAENC_OK || info.format.planes != 3) return 1;

    const ptrdiff_t width = info.format.width, plane = width * info.format.height;
    CudaencCodedBatch batch = {.struct_size = sizeof(batch), .count = count, .format = info.format};
    uint8_t *samples = malloc((size_t)plane * 3 * (size_t)count);
    batch.paths = (const char *const *)argv + 3; /* threads read them ahead */
    for (int c = 0; c < 3 && samples; c++) {
        batch.planes[c] = samples + c * plane;
        batch.stride[c] = width;
        batch.step[c] = 3 * plane;
    }
    const int code = cudaenc_decoder_batch(decoder, &batch); /* what fails is in the log, by its number */
    cudaenc_decoder_close(decoder);
    const int written = code == CUDAENC_OK && write_ppm(argv[1], samples, count, &info.format);
    free(samples);
    free(first);
    return !written;
}
