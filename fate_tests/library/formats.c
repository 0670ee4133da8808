/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The usual formats of cudaenc_format_by_name() against FFmpeg's pixel formats of the same names.
 * Ends in a line "N passed, N failed". */
#include <cudaenc.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>

static int same(const CudaencFormat *format, const AVPixFmtDescriptor *desc, enum AVPixelFormat pixel_format) {
    const int rgb = !!(desc->flags & AV_PIX_FMT_FLAG_RGB), xyz = !!(desc->flags & AV_PIX_FMT_FLAG_XYZ);
    const CudaencColorModel model = xyz ? CUDAENC_COLOR_XYZ : rgb ? CUDAENC_COLOR_RGB : desc->nb_components < 3 ? CUDAENC_COLOR_GRAY : CUDAENC_COLOR_YUV;
    if (format->components != desc->nb_components || format->planes != av_pix_fmt_count_planes(pixel_format)) return 0;
    if (format->color_model != model || format->has_alpha != !!(desc->flags & AV_PIX_FMT_FLAG_ALPHA)) return 0;
    for (int c = 0; c < format->components; c++) {
        const CudaencComponent *ours = &format->component[c];
        const AVComponentDescriptor *theirs = &desc->comp[c];
        const int chroma = model == CUDAENC_COLOR_YUV && (c == 1 || c == 2);
        if (ours->plane != theirs->plane || ours->offset != theirs->offset || ours->step != theirs->step ||
            ours->shift != theirs->shift || ours->depth != theirs->depth ||
            ours->log2_subsample_x != (chroma ? desc->log2_chroma_w : 0) ||
            ours->log2_subsample_y != (chroma ? desc->log2_chroma_h : 0))
            return 0;
    }
    return 1;
}

int main(void) {
    /* every pixel format of FFmpeg that has a name of ours */
    int passed = 0, failed = 0;
    for (int i = 0; i < AV_PIX_FMT_NB; i++) {
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(i);
        char name[64];
        CudaencFormat format;
        if (!desc) continue;
        snprintf(name, sizeof(name), "%s", desc->name);
        for (char *c = name; *c; c++) /* words of the host's order, which is the little endian one */
            if (c[0] == 'l' && c[1] == 'e' && !c[2]) *c = 0;
        if (cudaenc_format_by_name(&format, name, 64, 64) != CUDAENC_OK) continue;
        if (same(&format, desc, i)) {
            passed++;
        } else {
            printf("FAILED %s\n", name);
            failed++;
        }
    }
    if (passed < 50) failed++; /* names that nobody has */
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
