# SPDX-License-Identifier: LGPL-2.1-or-later
"""Has other decoders read the streams that FATE's tests of j2k_cuda left, and compares what they make of them.

usage: streams.py FFMPEG_BUILD JPYLYZER <list of streams
A line of the list: name, pixel format, WxH, frames, source file, encoder options.
"""
import sys
import tempfile

import pictures
from cases import check_all
from decoders import HAVE_GROK, Case, Failure, check_headers, known, openjph_reads, read, run, tolerance, warned, with_ffmpeg, with_grok, \
    with_openjpeg, with_openjph

BUILD, JPYLYZER = sys.argv[1:3]

def check_layers(case, file, where, source):
    """Each quality layer that is decoded more brings the picture nearer to the source, and decoders agree on it."""
    best = None
    for layers in range(1, case.layers + 1) if case.layers <= 10 else (1, case.layers // 2, case.layers):
        some = {'openjpeg': with_openjpeg(file, where, source, layers)}
        if HAVE_GROK and not known('grok', case):
            some['grok'] = with_grok(file, where, source, layers)
            wrong = pictures.difference(*some.values())
            if wrong is None or wrong > tolerance(some, case):
                raise Failure(f'{layers} layers: {" and ".join(some)} are {wrong} apart')
        error = pictures.squared_error(some['openjpeg'], source)
        if best is not None and error > best:
            raise Failure(f'{layers} layers are worse than those before')
        best = error


def check(line):
    name, pix_fmt, size, frames, source_path, options = (line.split(' ', 5) + [''])[:6]
    words = options.split()
    case = Case(pix_fmt, size, {name[1:]: value for name, value in zip(words[::2], words[1::2])})
    case.frames = int(frames)
    path = f'{BUILD}/tests/data/fate/j2k_cuda-{name}.image2pipe'
    failures = []
    case.warned = warned(run(BUILD + '/ffmpeg', '-nostdin', '-v', 'warning', '-f', 'rawvideo', '-pixel_format', pix_fmt, '-video_size',
                             size, '-i', f'{BUILD}/{source_path}', '-frames:v', '1', '-c:v', 'j2k_cuda', '-device', 'cpu', *words,
                             '-f', 'null', '-').splitlines())
    with tempfile.TemporaryDirectory() as where:
        try:
            sources = pictures.raw_pictures(read(f'{BUILD}/{source_path}'), pix_fmt, case.width, case.height)
            files = pictures.split_files(read(path))
            if not len(files) == len(sources) == int(frames):
                raise Failure(f'{len(files)} packets for {len(sources)} pictures, {frames} expected')
        except (Failure, OSError, ValueError) as e:
            return [f'{name}: {e}']
        by_ffmpeg = None
        try:
            by_ffmpeg = with_ffmpeg(BUILD + '/ffmpeg', path, where, case.depth)
            if len(by_ffmpeg) != len(sources):
                raise Failure(f'{len(by_ffmpeg)} pictures')
        except (Failure, OSError, ValueError) as e:
            if not known('jpeg2000', case):
                failures.append(f'{name}: jpeg2000: {e}')
            by_ffmpeg = None
        for number, (file, source) in enumerate(zip(files, sources)):
            decoded = {'jpeg2000': by_ffmpeg[number]} if by_ffmpeg else {}
            for decoder, decode in ('openjpeg', with_openjpeg), ('grok', with_grok), ('openjph', with_openjph):
                if (decoder == 'grok' and not HAVE_GROK) or (decoder == 'openjph' and not openjph_reads(case)):
                    continue
                try:
                    decoded[decoder] = decode(file, where, source)
                except (Failure, OSError, ValueError) as e:
                    if not known(decoder, case):
                        failures.append(f'{name}: {decoder}: {e}')
            try:
                check_headers(None if known('jpylyzer', case) else JPYLYZER, file, where)
            except Failure as e:
                failures.append(f'{name}: {e}')
            try:
                if case.layers > 1:
                    check_layers(case, file, where, source)
            except (Failure, OSError, ValueError) as e:
                failures.append(f'{name}: {e}')
            trusted = [decoder for decoder in decoded if not known(decoder, case)]
            if case.lossless:
                for decoder in trusted:
                    wrong = pictures.difference(decoded[decoder], source)
                    if wrong != 0:
                        failures.append(f'{name}: {decoder}: not the source, {wrong} off')
            else:
                for i, a in enumerate(trusted):
                    for b in trusted[i + 1:]:
                        wrong = pictures.difference(decoded[a], decoded[b])
                        if wrong is None or wrong > tolerance((a, b), case):
                            failures.append(f'{name}: {a} and {b} are {wrong} apart')
    return failures


def main():
    lines = [line.rstrip('\n') for line in sys.stdin if ' ' in line]  # make tells of a new source by a tab
    return check_all(check, lines)


sys.exit(main())
