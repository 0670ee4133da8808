"""Has other decoders read the streams that FATE's tests of j2k_cuda left, and compares what they make of them.

usage: streams.py FFMPEG_BUILD JPYLYZER <list of streams
A line of the list: name, pixel format, WxH, frames, source file, encoder options.
SPDX-License-Identifier: LGPL-2.1-or-later
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import pictures

BUILD, JPYLYZER = sys.argv[1:3]
# What a decoder is known to do wrong, where the two others agree with the source.
KNOWN = {
    ('jpeg2000', 'format-yuv440p10'): 'no format for it',
    ('jpeg2000', 'format-yuv440p12'): 'no format for it',
    ('jpeg2000', 'prog-cprl-tiles'): 'CPRL visits a precinct twice where a tile begins within one of a coarser resolution',
    ('jpeg2000', 'quality-1-gray16'): 'refuses steps above 65535',
    ('grk_decompress', 'tiles-33x17'): 'subsampled components of tiles at odd positions',
}


class Failure(Exception):
    pass


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors='replace')
    said = done.stdout + done.stderr
    if done.returncode:
        raise Failure(f'{os.path.basename(command[0])} failed ({done.returncode}): {last_line(said)}')
    return said


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ''


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def with_ffmpeg(path, where, depth):
    raw = where + '/ffmpeg.raw'
    said = run(BUILD + '/ffmpeg', '-nostdin', '-y', '-threads', '1', '-f', 'j2k_pipe', '-i', path, '-fps_mode', 'passthrough',
               '-f', 'rawvideo', raw)
    output = said[said.index('Output #0'):]
    pix_fmt, width, height = re.search(r'Video: rawvideo.*?, (\w+)(?:\(.*?\))?, (\d+)x(\d+)',
                                       said[said.index('Output #0'):]).groups()
    found = pictures.raw_pictures(read(raw), pix_fmt, int(width), int(height))
    return [[pictures.to_depth(c, depth, pix_fmt) for c in picture] for picture in found]


def pgx_files(where, prefix, count):
    return [pictures.pgx_component(read(f'{where}/{prefix}_{i}.pgx')) for i in range(count)]


def with_openjpeg(file, where, source):
    """opj_decompress turns subsampled components into RGB where it can, but not when it is asked for one of them."""
    path = where + '/openjpeg.jp2'
    with open(path, 'wb') as out:
        out.write(pictures.without_colour(file))
    if len(source) == 3 and pictures.subsampled(file):
        found = []
        for i in range(3):
            run('opj_decompress', '-quiet', '-i', path, '-c', str(i), '-o', where + '/openjpeg.pgx')
            found += pgx_files(where, 'openjpeg', 1)
        return found
    run('opj_decompress', '-quiet', '-i', path, '-o', where + '/openjpeg.pgx')
    return pgx_files(where, 'openjpeg', len(source))


def with_grok(file, where, source):
    path = where + '/grok.jp2'
    with open(path, 'wb') as out:
        out.write(pictures.without_colour(file))
    run('grk_decompress', '-H', '1', '-i', path, '-o', where + '/grok.pgx')
    return pgx_files(where, 'grok', len(source))


def check_headers(file, where):
    jp2 = file[4:8] == b'jP  '
    path = where + ('/headers.jp2' if jp2 else '/headers.j2k')
    with open(path, 'wb') as out:
        out.write(file)
    said = run('opj_dump', '-i', path)
    if re.search(r'\[(ERROR|WARNING)\]', said):
        raise Failure('opj_dump: ' + re.search(r'\[(?:ERROR|WARNING)\].*', said)[0])
    said = run(JPYLYZER, '--format', 'jp2' if jp2 else 'j2c', path)
    root = xml.etree.ElementTree.fromstring(said[said.index('<?xml'):])
    valid = [e.text for e in root.iter() if e.tag.endswith('isValid')]
    if valid != ['True']:
        tests = next((e for e in root.iter() if e.tag.endswith('}tests') or e.tag == 'tests'), root)
        wrong = [e.tag.split('}')[-1] for e in tests.iter() if e.text == 'False']
        raise Failure('jpylyzer: not valid: ' + ' '.join(wrong))


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
                by_ffmpeg = with_ffmpeg(path, where, depth)
                if len(by_ffmpeg) != len(sources):
                    raise Failure(f'{len(by_ffmpeg)} pictures')
            except (Failure, OSError, ValueError) as e:
                failures.append(f'{name}: jpeg2000: {e}')
                by_ffmpeg = None
        for number, (file, source) in enumerate(zip(files, sources)):
            decoded = {'jpeg2000': by_ffmpeg[number]} if by_ffmpeg else {}
            for decoder, decode in ('opj_decompress', with_openjpeg), ('grk_decompress', with_grok):
                if decoder in known:
                    continue
                try:
                    decoded[decoder] = decode(file, where, source)
                except (Failure, OSError, ValueError) as e:
                    failures.append(f'{name}: {decoder}: {e}')
            try:
                check_headers(file, where)
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
