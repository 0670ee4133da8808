# SPDX-License-Identifier: LGPL-2.1-or-later
"""Encodes real pictures with j2k_cuda, losslessly and at three qualities, decodes and compares them.

usage: media.py FFMPEG_BUILD MEDIA_DIR DEVICE JPYLYZER
FFmpeg's decoder reads every frame; OpenJPEG, Grok, jpylyzer and opj_dump take the first one of each stream.
"""
import os
import re
import sys
import tempfile

import pictures
from decoders import HAVE_GROK, Failure, check_headers, read, run, with_grok, with_openjpeg

BUILD, MEDIA, DEVICE, JPYLYZER = sys.argv[1:5]
FRAMES = os.environ.get('MEDIA_FRAMES', '2')
FFMPEG = BUILD + '/ffmpeg'


def probe(path):
    said = run(BUILD + '/ffprobe', '-v', 'error', '-select_streams', 'v:0', '-show_entries', 'stream=pix_fmt,width,height',
               '-of', 'default=nw=1', path)
    found = dict(line.split('=') for line in said.split())
    return re.sub('be$', 'le', found['pix_fmt']), int(found['width']), int(found['height'])


def check(path, quality, where):
    """What the table says of one encoding; quality None is lossless."""
    pix_fmt, width, height = probe(path)
    stream, raw = where + '/stream', where + '/source.raw'
    options = ['-pred', 'dwt53'] if quality is None else ['-quality', str(quality)]
    run(FFMPEG, '-nostdin', '-y', '-v', 'error', '-i', path, '-frames:v', FRAMES, '-fps_mode', 'passthrough', '-pix_fmt', pix_fmt,
        '-f', 'rawvideo', raw)
    layout = ['-f', 'rawvideo', '-pixel_format', pix_fmt, '-video_size', f'{width}x{height}', '-i', raw]
    run(FFMPEG, '-nostdin', '-y', '-v', 'error', *layout, '-c:v', 'j2k_cuda', '-device', DEVICE, *options, '-f', 'image2pipe', stream)
    said = run(FFMPEG, '-nostdin', '-y', '-f', 'j2k_pipe', '-i', stream, *layout, '-lavfi',
               f'[0:v]format={pix_fmt}[a];[a][1:v]psnr', '-f', 'null', '-')
    psnr = re.search(r'PSNR .*average:(\S+)', said)[1]
    files = pictures.split_files(read(stream))
    sources = len(read(raw)) // pictures.components_of(pix_fmt, width, height)[1]
    if len(files) != sources:
        raise Failure(f'{len(files)} packets for {sources} pictures')
    if quality is None and psnr != 'inf':
        raise Failure(f'jpeg2000: not the source, PSNR {psnr}')
    check_headers(JPYLYZER, files[0], where)

    source = pictures.raw_pictures(read(raw)[:pictures.components_of(pix_fmt, width, height)[1]], pix_fmt, width, height)[0]
    decoded = {'opj_decompress': with_openjpeg(files[0], where, source)}
    if HAVE_GROK:
        decoded['grk_decompress'] = with_grok(files[0], where, source)
    if quality is None:
        for name, picture in decoded.items():
            if pictures.difference(picture, source) != 0:
                raise Failure(f'{name}: not the source')
    elif HAVE_GROK and ((apart := pictures.difference(*decoded.values())) is None or apart > 1):
        raise Failure(f'opj_decompress and grk_decompress are {apart} apart')
    size = sum(map(len, files)) / len(files)
    return f'{size:10.0f} bytes/frame {8 * size / width / height:6.2f} bits/pixel  ' + \
        ('exact' if quality is None else f'PSNR {float(psnr):.2f} dB')


def main():
    passed = failed = 0
    for name in sorted(os.listdir(MEDIA)):
        if not name.endswith(('.png', '.mkv')):
            continue
        for quality in None, 90, 75, 50:
            label = f"{name:40} {'lossless' if quality is None else f'quality {quality}':10}"
            with tempfile.TemporaryDirectory() as where:
                try:
                    print(label, check(f'{MEDIA}/{name}', quality, where), flush=True)
                    passed += 1
                except (Failure, OSError, ValueError) as e:
                    print(label, 'FAILED', e, flush=True)
                    failed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


sys.exit(main())
