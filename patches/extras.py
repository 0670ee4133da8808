# SPDX-License-Identifier: LGPL-2.1-or-later
"""Optional hooks beyond the codecs: what FFmpeg says of JPEG 2000, and of options.

  mxfenc.c   descriptors and the label of the essence follow the codestream, also of packed and of CUDA frames; RGB and
             XYZ have the RGBA descriptor; of JP2 files the codestream becomes essence
  img2enc.c  a warning where a file's name and its contents disagree, as JP2 in .j2k
  img2.c     .jph and .jhc, the names of HTJ2K, are JPEG 2000 too; so in img2enc.c
  mov.c      a JPH file is no film, as a JP2 file is none
  opt.c      where an option has no such value, those that it has
  jpeg2000dec.c  with HT blocks, the main header of a second frame is not taken for a tile's, as up to 7.1
"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
MXF = 'libavformat/mxfenc.c'
IMAGE = 'libavformat/img2enc.c'
NAMES = 'libavformat/img2.c'
PROBE = 'libavformat/mov.c'
OPTIONS = 'libavutil/opt.c'
DECODER = 'libavcodec/jpeg2000dec.c'


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def text_of(name):
    return read(f'{HERE}/extras/{name}')


FIELDS = '''    UID jpeg2000_ul;         ///< essence coding that follows a JPEG 2000 profile
    uint8_t pixel_layout[16]; ///< letters and depths of a JPEG 2000 RGBA descriptor
'''
FIELD_ROWS = '''    mxf_write_local_tag(s, 4, 0x8403);
    avio_wb32(pb, st->codecpar->height >> sc->interlaced);'''
CALL = '''    if (st->codecpar->codec_id == AV_CODEC_ID_JPEG2000 && (err = mxf_describe_jpeg2000(s, st, pkt)) < 0)
        return err;

'''
WARNING = '''    if (par->codec_id == AV_CODEC_ID_JPEG2000 && img->img_number == img->start_img_number && pkt->size >= 8) {
        const int jp2 = !memcmp(pkt->data + 4, "jP  ", 4);

        if (av_match_ext(@NAME@, jp2 ? "j2c,j2k,jpc,jhc" : "jp2,jph"))
            av_log(s, AV_LOG_WARNING, "%s has %s; -format %s of the encoder makes what its name says\\n", @NAME@,
                   jp2 ? "the boxes of JP2" : "a bare codestream", jp2 ? "j2k" : "jp2");
        if (jp2 && pkt->size >= 24 && av_match_ext(@NAME@, memcmp(pkt->data + 20, "jph ", 4) ? "jph" : "jp2"))
            av_log(s, AV_LOG_WARNING, "%s has the content of a %s file; -cblk_style ht of the encoder makes JPH files\\n",
                   @NAME@, av_match_ext(@NAME@, "jph") ? "JP2" : "JPH");
    }
'''
VALUES = '''                    if (o->unit) {
                        char names[1024] = "";

                        for (int k = 0; k < ci - 5; k++) // the last five are of any option
                            av_strlcatf(names, sizeof(names), "%s%s", k ? ", " : "", const_names[k]);
                        av_log(obj, AV_LOG_ERROR, "%s has the values: %s\\n", o->name, names);
                    }
'''
TAGS = '''    // RGBA Picture Essence Descriptor
    { 0x3401, {0x06,0x0E,0x2B,0x34,0x01,0x01,0x01,0x05,0x04,0x01,0x05,0x03,0x06,0x00,0x00,0x00}}, /* Pixel Layout */
    { 0x3406, {0x06,0x0E,0x2B,0x34,0x01,0x01,0x01,0x05,0x04,0x01,0x05,0x03,0x0B,0x00,0x00,0x00}}, /* Component Max Ref */
    { 0x3407, {0x06,0x0E,0x2B,0x34,0x01,0x01,0x01,0x05,0x04,0x01,0x05,0x03,0x0C,0x00,0x00,0x00}}, /* Component Min Ref */
'''
UNUSED_TAGS = '''    for (i = 0; i < s->nb_streams; i++)
        if (((MXFStreamContext *)s->streams[i]->priv_data)->pixel_layout[0])
            break;
    if (i == s->nb_streams) {
        mxf_mark_tag_unused(mxf, 0x3401);
        mxf_mark_tag_unused(mxf, 0x3406);
        mxf_mark_tag_unused(mxf, 0x3407);
    }

'''
SAMPLING = '''    sc->component_depth = (components[0] & 127) + 1;
    if (count > 2) {
        sc->h_chroma_sub_sample = components[4];
        sc->v_chroma_sub_sample = components[5];
    }
'''
RGBA_KEY = '''static const UID mxf_rgba_descriptor_key      = \
{ 0x06,0x0E,0x2B,0x34,0x02,0x53,0x01,0x01,0x0D,0x01,0x01,0x01,0x01,0x01,0x29,0x00 };
'''
DESCRIPTOR = '''    MXFStreamContext *sc = st->priv_data;
    int64_t pos = mxf_write_cdci_common(s, st, sc->pixel_layout[0] ? mxf_rgba_descriptor_key : mxf_cdci_descriptor_key);
'''
SUBDESCRIPTOR = '''    if (st->codecpar->codec_id == AV_CODEC_ID_JPEG2000) {
        // write jpeg2000 sub descriptor ref
        mxf_write_local_tag(s, 8 + 16, 0x8100);
        mxf_write_refs_count(pb, 1);
        mxf_write_uuid(pb, JPEG2000SubDescriptor, 0);
    }

'''
ENDINGS = ' ' * 22 + '"png,ppm,sgi,tga,tif,tiff,jp2,j2c,j2k,'
BRAND = ' ' * 24 + "|| AV_RL32(p->buf + offset + 8) == MKTAG('j','p','%s',' ')\n"
BEFORE_SIGNAL = r'    if \(sc->signal_standard\) \{\n        mxf_write_local_tag'


def name_in(text, name):
    """A line of the names of JPEG 2000, as they are written in this tree."""
    line = re.search(r'.*JPEG2000,.*\bj2k\b.*\n', text)
    if not line:
        raise ValueError(f'{NAMES} has no line of j2k')
    return line[0].replace('j2k', name)


def hooks(text_in_tree, hook):
    """text_in_tree(file); hook: of hooks.py. The text of mxfenc.c tells how much of it a branch has."""
    mxf = text_in_tree(MXF)
    newest = 'picture_descriptor_key' in mxf  # 8.1
    set_format = '    if (rgb)\n        sc->picture_descriptor_key = &mxf_rgba_descriptor_key;\n' if newest else SAMPLING
    if 'j2k_rsiz' in mxf:
        set_format += '    sc->j2k_info.j2k_rsiz = AV_RB16(pkt->data + 6);\n'
    file_name = 'filename.str' if 'filename.str' in text_in_tree(IMAGE) else 'filename'
    result = [
        hook(OPTIONS, r' +av_log\(obj, AV_LOG_ERROR, "Unable to parse (\\"%s\\" )?option value \\"%s\\"\\n"', VALUES),
        hook(IMAGE, r'    for \(i = 0; i < 4; i\+\+\) \{\n        av_dict_copy', WARNING.replace('@NAME@', file_name)),
        hook(IMAGE, ENDINGS, ENDINGS + 'jph,jhc,', True),
        hook(NAMES, r'    (TAG\(|\{ AV_CODEC_ID_)DPX,', ''.join(name_in(text_in_tree(NAMES), name) for name in ('jph', 'jhc'))),
        hook(PROBE, re.escape(BRAND % 'x'), BRAND % 'h'),
        hook(MXF, r'    AVRational aspect_ratio; ///< display', FIELDS),
        hook(MXF, r'static const UID mxf_mpeg2_codec_uls\[\] = ',
             text_of('mxf_describe_jpeg2000.c').replace('@SET@', set_format)),
        hook(MXF, r'    if \(st->codecpar->codec_id == AV_CODEC_ID_MPEG2VIDEO\) \{\n        if \(!mxf_parse', CALL),
    ]
    if 'j2k_ysiz' in mxf:  # rows of the codestream
        result.append(hook(MXF, r'    mxf_write_local_tag\(s, 4, 0x8403\);\n    avio_wb32\(pb, st->codecpar->height\);', FIELD_ROWS, True))
    decoder = text_in_tree(DECODER)
    if 's->in_tile_headers == 1' in decoder and 's->in_tile_headers = 0;' not in decoder:  # 6.1 to 7.1; later it is a variable
        result.append(hook(DECODER, r'    s->isHT = 0;\n', '    s->in_tile_headers = 0;\n'))
    if newest:
        return result + [hook(MXF, r'        // pixel layout\n',
                              '        if (sc->pixel_layout[0])\n            memcpy(rgb_layout, sc->pixel_layout, 16);\n\n')]
    rgba = '    if (sc->pixel_layout[0]) {\n' + text_of('mxf_rgba.c')
    result += [
        hook(MXF, r'    // Generic Sound Essence Descriptor\n    \{ 0x3D02', TAGS),
        hook(MXF, r'    if \(!will_have_mastering_tags\) \{', UNUSED_TAGS),
        hook(MXF, r'    int64_t pos = mxf_write_cdci_common\(s, st, mxf_cdci_descriptor_key\);\n'
                  r'(?=    mxf_update_klv_size\(s->pb, pos\);\n\n    if)', DESCRIPTOR, True),
    ]
    if 'mxf_rgba_descriptor_key' in mxf:  # 6.1 to 8.0
        result.append(hook(MXF, BEFORE_SIGNAL, rgba + '    }\n\n'))
        if 'JPEG2000SubDescriptor' not in mxf:  # 6.1
            return result
        return result + [
            hook(MXF, r'    if \(!will_have_avc_tags && !will_have_ffv1_tags\) \{\n',
                 '    if (!will_have_avc_tags && !will_have_ffv1_tags && !will_have_jpeg2000_tags) {\n', True),
            hook(MXF, r'    if \(st->codecpar->codec_id == AV_CODEC_ID_FFV1\) \{\n        // write ffv1 sub', SUBDESCRIPTOR),
        ]
    return result + [  # 5.1, 6.0
        hook(MXF, r'static const UID mxf_generic_sound_descriptor_key', RGBA_KEY),
        hook(MXF, r'    // component depth\n    mxf_write_local_tag\(s, 4, 0x3301\)', rgba + '    } else {\n'),
        hook(MXF, BEFORE_SIGNAL, '    } // CDCI\n\n'),
    ]
