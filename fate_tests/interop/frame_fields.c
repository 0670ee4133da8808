/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a decoder says of the frames of a file: a line for each field of a frame and for each of its side data, as ffprobe
 * names them, which cannot be told which decoder to take. Usage: frame_fields FILE DECODER [OPTION=VALUE...]
 */
#include <stdio.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/dict.h>
#include <libavutil/pixdesc.h>

static void print_name(const char *key, const char *name)
{
    printf("%s=%s\n", key, name ? name : "unknown");
}

static void print_frame(const AVFrame *f)
{
    const AVDictionaryEntry *tag = NULL;

    printf("[FRAME]\nkey_frame=%d\npts=%" PRId64 "\npkt_dts=%" PRId64 "\nbest_effort_timestamp=%" PRId64 "\nduration=%" PRId64 "\n",
           !!(f->flags & AV_FRAME_FLAG_KEY), f->pts, f->pkt_dts, f->best_effort_timestamp, f->duration);
    printf("width=%d\nheight=%d\ncrop=%zu,%zu,%zu,%zu\n", f->width, f->height, f->crop_top, f->crop_bottom, f->crop_left,
           f->crop_right);
    print_name("pix_fmt", av_get_pix_fmt_name(f->format));
    printf("sample_aspect_ratio=%d:%d\npict_type=%c\n", f->sample_aspect_ratio.num, f->sample_aspect_ratio.den,
           av_get_picture_type_char(f->pict_type));
    printf("interlaced_frame=%d\ntop_field_first=%d\nrepeat_pict=%d\n", !!(f->flags & AV_FRAME_FLAG_INTERLACED),
           !!(f->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST), f->repeat_pict);
    print_name("color_range", av_color_range_name(f->color_range));
    print_name("color_space", av_color_space_name(f->colorspace));
    print_name("color_primaries", av_color_primaries_name(f->color_primaries));
    print_name("color_transfer", av_color_transfer_name(f->color_trc));
    print_name("chroma_location", av_chroma_location_name(f->chroma_location));
    printf("corrupt=%d\ndecode_error_flags=%d\nquality=%d\n", !!(f->flags & AV_FRAME_FLAG_CORRUPT), f->decode_error_flags,
           f->quality);
    while ((tag = av_dict_iterate(f->metadata, tag)))
        printf("TAG:%s=%s\n", tag->key, tag->value);
    for (int i = 0; i < f->nb_side_data; i++) {
        const AVFrameSideData *sd = f->side_data[i];

        printf("side_data=%s,", av_frame_side_data_name(sd->type));
        for (size_t k = 0; k < sd->size; k++)
            printf("%02x", sd->data[k]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    AVFormatContext *s    = NULL;
    AVDictionary *options = NULL;
    AVPacket *pkt         = av_packet_alloc();
    AVFrame *frame        = av_frame_alloc();
    const AVCodec *codec  = argc > 2 ? avcodec_find_decoder_by_name(argv[2]) : NULL;
    AVCodecContext *avctx = codec ? avcodec_alloc_context3(codec) : NULL;
    int ret, stream;

    if (!avctx || !pkt || !frame)
        return 1;
    for (int i = 3; i < argc; i++)
        if (av_dict_parse_string(&options, argv[i], "=", "", 0) < 0)
            return 1;
    if (avformat_open_input(&s, argv[1], NULL, NULL) < 0 || avformat_find_stream_info(s, NULL) < 0 ||
        (stream = av_find_best_stream(s, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0)) < 0 ||
        avcodec_parameters_to_context(avctx, s->streams[stream]->codecpar) < 0)
        return 1;
    avctx->pkt_timebase = s->streams[stream]->time_base;
    ret = avcodec_open2(avctx, codec, &options);
    if (ret < 0 || av_dict_count(options))
        return 1;
    while (ret >= 0) {
        ret = av_read_frame(s, pkt);
        if (ret >= 0 && pkt->stream_index != stream)
            continue;
        ret = avcodec_send_packet(avctx, ret < 0 ? NULL : pkt);
        if (ret < 0 && ret != AVERROR_EOF)
            printf("error=%s\n", av_err2str(ret));
        av_packet_unref(pkt);
        while ((ret = avcodec_receive_frame(avctx, frame)) != AVERROR(EAGAIN) && ret != AVERROR_EOF) {
            if (ret < 0)
                printf("error=%s\n", av_err2str(ret));
            else
                print_frame(frame);
            av_frame_unref(frame);
        }
        ret = ret == AVERROR_EOF ? ret : 0;
    }
    printf("[STREAM]\nwidth=%d\nheight=%d\nfield_order=%d\nhas_b_frames=%d\n", avctx->width, avctx->height, avctx->field_order,
           avctx->has_b_frames);
    print_name("pix_fmt", av_get_pix_fmt_name(avctx->pix_fmt));
    print_name("color_range", av_color_range_name(avctx->color_range));
    print_name("color_space", av_color_space_name(avctx->colorspace));
    print_name("chroma_location", av_chroma_location_name(avctx->chroma_sample_location));
    printf("sample_aspect_ratio=%d:%d\nprofile=%s\n", avctx->sample_aspect_ratio.num, avctx->sample_aspect_ratio.den,
           avcodec_profile_name(avctx->codec_id, avctx->profile) ? avcodec_profile_name(avctx->codec_id, avctx->profile) : "unknown");
    av_frame_free(&frame);
    av_packet_free(&pkt);
    av_dict_free(&options);
    avcodec_free_context(&avctx);
    avformat_close_input(&s);
    return 0;
}
