/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Muxes a JPEG 2000 codestream as a stream of CUDA frames, which needs no GPU. Usage: mxf_cuda FILE OUT.mxf RGB
 */
#include <stdio.h>
#include <stdlib.h>

#include <libavformat/avformat.h>

int main(int argc, char **argv)
{
    AVFormatContext *s = NULL;
    AVPacket *pkt      = av_packet_alloc();
    FILE *file         = argc == 4 ? fopen(argv[1], "rb") : NULL;
    AVStream *st;
    int size;

    if (!file || !pkt || av_new_packet(pkt, 1 << 20) < 0 ||
        avformat_alloc_output_context2(&s, NULL, NULL, argv[2]) < 0 || !(st = avformat_new_stream(s, NULL)))
        return 1;
    size = fread(pkt->data, 1, pkt->size, file);
    fclose(file);
    av_shrink_packet(pkt, size);
    pkt->pts = pkt->dts = 0;
    pkt->duration       = 1;
    pkt->flags         |= AV_PKT_FLAG_KEY;
    st->codecpar->codec_type = AVMEDIA_TYPE_VIDEO;
    st->codecpar->codec_id   = AV_CODEC_ID_JPEG2000;
    st->codecpar->format     = AV_PIX_FMT_CUDA;
    st->codecpar->width      = 64;
    st->codecpar->height     = 48;
    st->codecpar->sample_aspect_ratio = (AVRational) { 1, 1 };
    if (atoi(argv[3]))
        st->codecpar->color_space = AVCOL_SPC_RGB;
    st->time_base      = (AVRational) { 1, 24 };
    st->avg_frame_rate = (AVRational) { 24, 1 };
    if (avio_open(&s->pb, argv[2], AVIO_FLAG_WRITE) < 0 || avformat_write_header(s, NULL) < 0 ||
        av_write_frame(s, pkt) < 0 || av_write_trailer(s) < 0)
        return 1;
    avio_closep(&s->pb);
    avformat_free_context(s);
    av_packet_free(&pkt);
    return 0;
}
