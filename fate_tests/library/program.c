/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that is built with headers of other versions: encodes and decodes, and prints what came out.
 * LATER: the header is of a later version, whose structures have a member `later`. */
#include <cudaenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, HEIGHT = 60, FRAMES = 6 };

static void require(int holds, const char *what) {
    if (holds) return;
    printf("FAILED: %s\n", what);
    exit(1);
}

static unsigned long long checksum(const uint8_t *data, size_t size) { /* FNV-1a */
    unsigned long long sum = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) sum = (sum ^ data[i]) * 1099511628211u;
    return sum;
}

static int lines;
static void count_line(void *opaque, CudaencLogLevel level, const char *line) {
    (void)opaque;
    lines += level == CUDAENC_LOG_ERROR && strlen(line) > 10;
}

static void decode(const CudaencPacket *packet) {
    static uint8_t picture[WIDTH * HEIGHT];
    CudaencDecoderConfig config;
    CudaencDecoder *decoder;
    CudaencPictureInfo info = {.struct_size = sizeof(info)};
    CudaencCodedPicture coded = {.struct_size = sizeof(coded), .data = packet->data, .size = packet->size};
    CudaencDecodedPicture decoded = {.struct_size = sizeof(decoded)};
    cudaenc_decoder_defaults(&config, CUDAENC_CODEC_MJPEG);
    config.device = "cpu";
    require(cudaenc_decoder_open(&decoder, &config) == CUDAENC_OK, "decoder");
    require(cudaenc_decoder_read_header(decoder, packet->data, packet->size, &info) == CUDAENC_OK, "header");
    require(info.width == WIDTH && info.height == HEIGHT && info.format.planes == 1, "picture's size");
    require(info.orientation == 1 && !info.icc_profile && !info.icc_profile_size, "picture's metadata");
    coded.planes[0] = picture;
    coded.stride[0] = WIDTH;
    coded.opaque = &coded;
    require(cudaenc_decoder_submit(decoder, &coded) == CUDAENC_OK, "decoder's submit");
    require(cudaenc_decoder_wait(decoder, &decoded) == CUDAENC_OK, "decoder's wait");
    require(decoded.opaque == &coded && !decoded.corrupt, "decoded picture");
    printf("decoded %016llx\n", checksum(picture, sizeof(picture)));
    cudaenc_decoder_close(decoder);
}

static void encode(CudaencConfig *config) {
    static uint8_t pixels[FRAMES][WIDTH * HEIGHT];
    CudaencSession *session;
    int code;
    require(cudaenc_open(&session, config) == CUDAENC_OK, "open");
    for (int n = 0; n < FRAMES; n++) {
        CudaencFrame frame = {.struct_size = sizeof(frame)};
        CudaencPacket packet = {.struct_size = sizeof(packet)};
        for (int i = 0; i < WIDTH * HEIGHT; i++) pixels[n][i] = (uint8_t)((i % WIDTH) * (n + 2) + i / WIDTH);
        frame.data[0] = pixels[n];
        frame.stride[0] = WIDTH;
        frame.opaque = pixels[n];
        frame.sample_aspect_num = frame.sample_aspect_den = 1;
        require(cudaenc_submit(session, &frame) == CUDAENC_OK, "submit");
        while ((code = n % 2 ? cudaenc_wait(session, &packet) : cudaenc_poll(session, &packet)) == CUDAENC_AGAIN) {
        }
        require(code == CUDAENC_OK && packet.opaque == pixels[n], "receive");
        printf("codec %d: %zu bytes, %016llx\n", (int)config->codec, packet.size, checksum(packet.data, packet.size));
        if (config->codec == CUDAENC_CODEC_MJPEG && n == 0) decode(&packet);
        cudaenc_buffer_free(packet.buffer);
    }
#ifdef LATER
    CudaencFrame frame = {.struct_size = sizeof(frame), .data = {pixels[0]}, .stride = {WIDTH}, .later = {0, 1}};
    require(cudaenc_submit(session, &frame) == CUDAENC_ERR_INVALID && lines == 1, "a frame with a later member");
#endif
    cudaenc_close(session);
}

int main(void) {
    const CudaencCodec codecs[] = {CUDAENC_CODEC_J2K, CUDAENC_CODEC_MJPEG, CUDAENC_CODEC_H264};
    for (int i = 0; i < 3; i++) {
        CudaencConfig config;
        CudaencJ2kOptions j2k;
        lines = 0;
        cudaenc_config_defaults(&config, codecs[i]);
        require(cudaenc_format_by_name(&config.format, "gray", WIDTH, HEIGHT) == CUDAENC_OK, "format");
        config.device = "cpu";
        config.log = count_line;
        cudaenc_j2k_defaults(&j2k);
        config.j2k = j2k;
        config.j2k.levels = 3;
        config.j2k.comment = config.mjpeg.comment = "program";
        config.mjpeg.quality = 80;
        config.h264.qp = 24;
        encode(&config);
#ifdef LATER
        CudaencSession *session;
        lines = 0;
        config.j2k.later_option[1] = 1;
        require(cudaenc_open(&session, &config) == CUDAENC_ERR_INVALID && lines == 1, "a later option");
        config.j2k.later_option[1] = 0;
        config.later[2] = 1;
        require(cudaenc_open(&session, &config) == CUDAENC_ERR_INVALID && lines == 2, "a later member");
#endif
    }
    return 0;
}
