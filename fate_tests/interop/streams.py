"""Has other decoders read the streams that FATE's tests of j2k_cuda left, and compares what they make of them.

usage: streams.py FFMPEG_BUILD JPYLYZER <list of streams
A line of the list: name, pixel format, WxH, frames, source file, encoder options.
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import concurrent.futures
import os
import sys
import tempfile

import pictures
from decoders import HAVE_GROK, Failure, check_headers, read, with_ffmpeg, with_grok, with_openjpeg

BUILD, JPYLYZER = sys.argv[1:3]
# What a decoder is known to do wrong, where the two others agree with the source.
KNOWN = {
    ('jpeg2000', 'format-yuv440p10'): 'no format for it',
    ('jpeg2000', 'format-yuv440p12'): 'no format for it',
    ('jpeg2000', 'prog-cprl-tiles'): 'CPRL visits a precinct twice where a tile begins within one of a coarser resolution',
    ('jpeg2000', 'quality-1-gray16'): 'refuses steps above 65535',
    ('jpylyzer', 'profile-imf4k_r'): 'fails within itself on that Rsiz',
    ('grk_decompress', 'roi-middle'): 'more than 24 bit-planes',
    ('grk_decompress', 'roi-pixel'): 'more than 24 bit-planes',
    ('grk_decompress', 'roi-tiles'): 'more than 24 bit-planes; and tiles at odd positions',
    ('grk_decompress', 'poc-overlap'): 'packets that two progression order changes have',
    ('grk_decompress', 'tiles-33x17'): 'subsampled components of tiles at odd positions',
}


def check(line):
    name, pix_fmt, size, frames, source_path, options = (line.split(' ', 5) + [''])[:6]
    width, height = map(int, size.split('x'))
    lossless = 'dwt53' in options
    path = f'{BUILD}/tests/data/fate/j2k_cuda-{name}.image2pipe'
    failures = []
    with tempfile.TemporaryDirectory() as where:
        try:
            sources = pictures.raw_pictures(read(f'{BUILD}/{source_path}'), pix_fmt, width, height)
            files = pictures.split_files(read(path))
            if not len(files) == len(sources) == int(frames):
                raise Failure(f'{len(files)} packets for {len(sources)} pictures, {frames} expected')
        except (Failure, OSError, ValueError) as e:
            return [f'{name}: {e}']
        depth = sources[0][0][2]
        known = {decoder for decoder, test in KNOWN if test == name.removesuffix('-lossless')}
        by_ffmpeg = None
        if 'jpeg2000' not in known:
            try:
                by_ffmpeg = with_ffmpeg(BUILD + '/ffmpeg', path, where, depth)
                if len(by_ffmpeg) != len(sources):
                    raise Failure(f'{len(by_ffmpeg)} pictures')
            except (Failure, OSError, ValueError) as e:
                failures.append(f'{name}: jpeg2000: {e}')
                by_ffmpeg = None
        for number, (file, source) in enumerate(zip(files, sources)):
            decoded = {'jpeg2000': by_ffmpeg[number]} if by_ffmpeg else {}
            for decoder, decode in ('opj_decompress', with_openjpeg), ('grk_decompress', with_grok):
                if decoder in known or (decoder == 'grk_decompress' and not HAVE_GROK):
                    continue
                try:
                    decoded[decoder] = decode(file, where, source)
                except (Failure, OSError, ValueError) as e:
                    failures.append(f'{name}: {decoder}: {e}')
            try:
                check_headers(None if 'jpylyzer' in known else JPYLYZER, file, where)
            except Failure as e:
                failures.append(f'{name}: {e}')
            if lossless:
                for decoder, picture in decoded.items():
                    wrong = pictures.difference(picture, source)
                    if wrong != 0:
                        failures.append(f'{name}: {decoder}: not the source, {wrong} off')
            else:
                names = list(decoded)
                for i, a in enumerate(names):
                    for b in names[i + 1:]:
                        wrong = pictures.difference(decoded[a], decoded[b])
                        # OpenJPEG, and Grok after it, take 1.625732422 for 2 / K, which is 1.625786132
                        if wrong is None or wrong > (4 if a == 'jpeg2000' and depth == 16 else 1):
                            failures.append(f'{name}: {a} and {b} are {wrong} apart')
    return failures


def main():
    lines = [line.rstrip('\n') for line in sys.stdin if line.strip()]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for failures in pool.map(check, lines):
            failed += bool(failures)
            for failure in failures:
                print('FAILED', failure)
    print(f'{len(lines) - failed} passed, {failed} failed')
    return 1 if failed or not lines else 0


sys.exit(main())
