/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frames for the tests of the CUDA codecs, in any pixel format and without
 * swscale, whose results differ between versions.
 * Usage: cudaenc_frames PIXEL_FORMAT WIDTHxHEIGHT FRAMES FILE
 *
 * This file is part of cudaenc and is built as a part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/imgutils.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"

/* of 0 to 65535: up and down again, once in a period */
static unsigned triangle(unsigned at, unsigned period)
{
    const unsigned phase = at % period * 131070 / period;

    return phase < 65536 ? phase : 131070 - phase;
}

static unsigned noise(unsigned x, unsigned y, unsigned seed)
{
    unsigned v = x * 0x9E3779B1u ^ y * 0x85EBCA77u ^ seed * 0xC2B2AE3Du;

    v = (v ^ v >> 15) * 0x2C1B3C6Du;
    return v ^ v >> 13;
}

/* Gradients, a disc and bars that move, a grainy corner; each component has content of its own. 16 bits. */
static unsigned sample(unsigned x, unsigned y, unsigned component, unsigned frame)
{
    const int dx = (int)x - (int)(40 + 3 * frame), dy = (int)y - (int)(30 + 9 * component);
    unsigned v   = triangle(x + 2 * frame, 150 + 37 * component) / 2 + triangle(y + 40 * component, 110) / 3;

    if (dx * dx + dy * dy < 20 * 20)
        v = 65535 - v / 2;
    if ((x + frame) / 7 % 6 == component && y / 11 % 3 == 1)
        v /= 4;
    if ((x + 5 * y) % 200 > 120)
        v += (noise(x, y, frame * 4 + component) & 4095) - 2048;
    return v > 0x80000000u ? 0 : FFMIN(v, 65535);
}

static int write_frame(FILE *out, enum AVPixelFormat format, int width, int height, unsigned frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    uint8_t *data[4], *packed;
    int linesize[4], ret;
    const int size = av_image_alloc(data, linesize, width, height, format, 1);
    uint16_t *line = av_malloc_array(width, sizeof(*line));

    if (size < 0 || !line)
        return -1;
    memset(data[0], 0, size);
    for (int c = 0; c < desc->nb_components; c++) {
        const int chroma = c == 1 || c == 2;
        const int log2_x = chroma ? desc->log2_chroma_w : 0, log2_y = chroma ? desc->log2_chroma_h : 0;
        const int columns = AV_CEIL_RSHIFT(width, log2_x), rows = AV_CEIL_RSHIFT(height, log2_y);

        for (int y = 0; y < rows; y++) {
            for (int x = 0; x < columns; x++)
                line[x] = sample(x << log2_x, y << log2_y, c, frame) >> (16 - desc->comp[c].depth);
            av_write_image_line(line, data, linesize, desc, 0, y, c, columns);
        }
    }
    packed = av_malloc(size);
    ret    = packed ? av_image_copy_to_buffer(packed, size, (const uint8_t *const *)data, linesize, format, width, height, 1) : -1;
    if (ret >= 0 && fwrite(packed, 1, ret, out) != (size_t)ret)
        ret = -1;
    av_free(packed);
    av_free(line);
    av_free(data[0]);
    return ret;
}

int main(int argc, char **argv)
{
    enum AVPixelFormat format = argc == 5 ? av_get_pix_fmt(argv[1]) : AV_PIX_FMT_NONE;
    int width, height;
    FILE *out;

    if (format == AV_PIX_FMT_NONE || sscanf(argv[2], "%dx%d", &width, &height) != 2) {
        fprintf(stderr, "usage: cudaenc_frames PIXEL_FORMAT WIDTHxHEIGHT FRAMES FILE\n");
        return 1;
    }
    out = fopen(argv[4], "wb");
    if (!out) {
        perror(argv[4]);
        return 1;
    }
    for (int frame = 0; frame < atoi(argv[3]); frame++)
        if (write_frame(out, format, width, height, frame) < 0) {
            fprintf(stderr, "%s: cannot be written\n", argv[4]);
            return 1;
        }
    return fclose(out) != 0;
}
