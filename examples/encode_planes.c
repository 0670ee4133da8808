/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encodes raw frames to JPEG 2000 and to JPEG at once: two sessions, each in a thread of its own.
 *   cc encode_planes.c -o encode_planes $(pkg-config --cflags --libs libcudaenc) -lpthread
 *   encode_planes IN.yuv yuvj420p WIDTH HEIGHT OUT [DEVICE]     makes OUT0000.jp2, OUT0000.jpg, OUT0001.jp2, ... */
#include <cudaenc.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4 }; /* frames in flight */

typedef struct Job {
    char **arguments; /* those of the program */
    CudaencCodec codec;
    const char *ending;
    int packets, failed;
} Job;

static void print_line(void *opaque, CudaencLogLevel level, const char *line) {
    if (level <= CUDAENC_LOG_WARNING) fprintf(stderr, "%s: %s\n", ((Job *)opaque)->ending, line);
}

/* Points the planes of a frame into `memory`, or only counts its bytes. */
static size_t lay_planes(const CudaencFormat *format, uint8_t *memory, CudaencFrame *frame) {
    size_t end = 0;
    for (int plane = 0; plane < format->planes; plane++) {
        size_t row_bytes, rows;
        cudaenc_plane_size(format, plane, &row_bytes, &rows);
        if (frame) {
            frame->data[plane] = memory + end;
            frame->stride[plane] = (ptrdiff_t)row_bytes;
        }
        end += row_bytes * rows;
    }
    return end;
}

/* Takes the oldest frame's packet. Returns its code. */
static int write_packet(Job *job, CudaencSession *session) {
    CudaencPacket packet = {.struct_size = sizeof(packet)};
    const int code = cudaenc_receive(session, &packet);
    if (code != CUDAENC_OK) return code;
    char name[4096];
    snprintf(name, sizeof(name), "%s%04d.%s", job->arguments[5], job->packets++, job->ending);
    FILE *file = fopen(name, "wb");
    int failed = !file || fwrite(packet.data, 1, packet.size, file) != packet.size;
    if (file) failed |= fclose(file) != 0;
    if (failed && !job->failed) fprintf(stderr, "%s: %s\n", name, strerror(errno));
    job->failed |= failed;
    cudaenc_buffer_free(packet.buffer);
    return code;
}

/* Submits all frames of the input. A frame stays in its memory until its packet was received. */
static int encode(Job *job, CudaencSession *session, const CudaencFormat *format, FILE *input, uint8_t *memory[DEPTH]) {
    const size_t bytes = lay_planes(format, NULL, NULL);
    int code = CUDAENC_OK;
    for (int n = 0; code == CUDAENC_OK; n++) {
        CudaencFrame frame = {.struct_size = sizeof(frame)};
        if (n >= DEPTH && (code = write_packet(job, session)) != CUDAENC_OK) break;
        const size_t got = fread(memory[n % DEPTH], 1, bytes, input);
        if (got && got != bytes) fprintf(stderr, "the input ends within frame %d, which is left out\n", n);
        job->failed |= ferror(input) || (got && got != bytes);
        if (got != bytes) break;
        lay_planes(format, memory[n % DEPTH], &frame);
        code = cudaenc_submit(session, &frame);
    }
    cudaenc_flush(session);
    while (code == CUDAENC_OK) code = write_packet(job, session);
    return code; /* CUDAENC_EOF: every packet has left */
}

static void *run(void *argument) {
    Job *job = argument;
    char **a = job->arguments;
    uint8_t *memory[DEPTH] = {0};
    CudaencSession *session = NULL;
    CudaencConfig config;
    job->failed = 1;
    cudaenc_config_defaults(&config, job->codec);
    if (cudaenc_format_by_name(&config.format, a[2], atoi(a[3]), atoi(a[4])) != CUDAENC_OK) {
        fprintf(stderr, "%s %sx%s is no format\n", a[2], a[3], a[4]);
        return NULL;
    }
    config.device = a[6] ? a[6] : "auto";
    config.async_depth = DEPTH;
    config.log = print_line;
    config.log_opaque = job;
    config.j2k.pred = CUDAENC_J2K_DWT53; /* lossless */
    config.mjpeg.quality = 90;
    FILE *input = fopen(a[1], "rb");
    for (int i = 0; i < DEPTH; i++) memory[i] = malloc(lay_planes(&config.format, NULL, NULL));
    if (!input) {
        perror(a[1]);
    } else if (memory[0] && memory[1] && memory[2] && memory[3] && cudaenc_open(&session, &config) == CUDAENC_OK) {
        job->failed = 0;
        const int code = encode(job, session, &config.format, input, memory);
        if (code != CUDAENC_EOF) job->failed = 1;
        printf("%s: %d packets on %s: %s\n", job->ending, job->packets, cudaenc_device_name(session),
               code != CUDAENC_EOF ? cudaenc_error_string(code)
               : job->failed       ? "not all frames were read and written"
                                   : "done");
    }
    cudaenc_close(session);
    for (int i = 0; i < DEPTH; i++) free(memory[i]);
    if (input) fclose(input);
    return NULL;
}

int main(int argc, char **argv) {
    Job jobs[2] = {{argv, CUDAENC_CODEC_J2K, "jp2", 0, 0}, {argv, CUDAENC_CODEC_MJPEG, "jpg", 0, 0}};
    pthread_t threads[2];
    if (argc != 6 && argc != 7) {
        fprintf(stderr, "usage: encode_planes IN FORMAT WIDTH HEIGHT OUT [DEVICE]\n");
        return 2;
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, &jobs[i])) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return jobs[0].failed || jobs[1].failed;
}
