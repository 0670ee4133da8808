# SPDX-License-Identifier: LGPL-2.1-or-later
"""All combinations of code-block styles, lossless and lossy: FFmpeg's decoder, OpenJPEG and Grok decode them alike and find nothing to
warn of, whole codewords and, where there are segmentation symbols or predictable terminations, those too.

usage: styles.py FFMPEG_BUILD DEVICE
"""
import array
import random
import re
import sys
import tempfile

import pictures
from cases import check_all
from decoders import HAVE_GROK, Failure, read, run, with_ffmpeg, with_grok, with_openjpeg

BUILD, DEVICE = sys.argv[1:3]
FLAGS = 'bypass', 'reset', 'termall', 'vsc', 'erterm', 'segsym'
WIDTH, HEIGHT, DEPTH, FORMAT = 93, 71, 12, 'gray12le'


def source():
    """A gradient, then noise, then flat: blocks with many planes and with few."""
    dice = random.Random(1)
    samples = array.array('H')
    for y in range(HEIGHT):
        for x in range(WIDTH):
            samples.append(x * 17 + y * 5 if x < 40 else dice.randrange(1 << DEPTH) if x < 80 else 1000)
    return samples


def warnings(said):
    """What decoders say of codewords that do not end where they think they should."""
    found = re.findall(r'.*(?:mismatch|Synthetic|PTERM|ERTERM|[Ss]egmentation|SEGSYM|\[WARNING\]|\[ERROR\]).*', said)
    return [line for line in found if 'extra cblk styles' not in line]


def check(case):
    style, lossless, block = case
    flags = '+'.join(f for i, f in enumerate(FLAGS) if style >> i & 1)
    name = f'{flags}, {"lossless" if lossless else "lossy"}, blocks {block}'
    failures = []
    with tempfile.TemporaryDirectory() as where:
        raw, path = where + '/source.raw', where + '/stream.jp2'
        samples = source()
        with open(raw, 'wb') as file:
            samples.tofile(file)
        original = [(WIDTH, HEIGHT, DEPTH, list(samples))]
        try:
            run(BUILD + '/ffmpeg', '-nostdin', '-y', '-f', 'rawvideo', '-pixel_format', FORMAT, '-video_size',
                f'{WIDTH}x{HEIGHT}', '-i', raw, '-c:v', 'j2k_cuda', '-device', DEVICE, '-cblk_style', flags,
                '-pred', 'dwt53' if lossless else 'dwt97', '-quality', '100', '-levels', '2', '-cblk_width', block.split('x')[0],
                '-cblk_height', block.split('x')[1], '-f', 'image2pipe', path)
            stream = read(path)
            decoded = {'jpeg2000': with_ffmpeg(BUILD + '/ffmpeg', path, where, DEPTH)[0],
                       'opj_decompress': with_openjpeg(stream, where, original)}
            if HAVE_GROK:
                decoded['grk_decompress'] = with_grok(stream, where, original)
            failures += [f'{name}: {line}' for line in warnings(
                run(BUILD + '/ffmpeg', '-nostdin', '-v', 'warning', '-f', 'j2k_pipe', '-i', path, '-f', 'null', '-') +
                run('opj_decompress', '-i', path, '-o', where + '/again.pgx'))]
        except (Failure, OSError, ValueError) as e:
            return [f'{name}: {e}']
        if lossless:
            for decoder, picture in decoded.items():
                wrong = pictures.difference(picture, original)
                if wrong != 0:
                    failures.append(f'{name}: {decoder}: not the source, {wrong} off')
        else:
            for decoder, picture in decoded.items():
                wrong = pictures.difference(picture, decoded['opj_decompress'])
                if wrong is None or wrong > 1:
                    failures.append(f'{name}: {decoder} is {wrong} from opj_decompress')
                wrong = pictures.difference(picture, original)
                if wrong is None or wrong > 64:
                    failures.append(f'{name}: {decoder}: {wrong} from the source')
    return failures


def main():
    cases = [(style, lossless, block) for style in range(1, 64) for lossless in (True, False)
             for block in ('32x32', '64x64', '4x16') if block == '32x32' or style % 3 == (block == '64x64')]
    return check_all(check, cases)


sys.exit(main())
