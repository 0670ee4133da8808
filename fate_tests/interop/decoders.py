"""Decoders of JPEG 2000: each gives a picture as pictures.py has it, or raises Failure.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pictures


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


def with_ffmpeg(ffmpeg, path, where, depth):
    raw = where + '/ffmpeg.raw'
    said = run(ffmpeg, '-nostdin', '-y', '-threads', '1', '-f', 'j2k_pipe', '-i', path, '-fps_mode', 'passthrough',
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


# Grok is not in every distribution.
HAVE_GROK = shutil.which('grk_decompress') is not None


def check_headers(jpylyzer, file, where):
    jp2 = file[4:8] == b'jP  '
    path = where + ('/headers.jp2' if jp2 else '/headers.j2k')
    with open(path, 'wb') as out:
        out.write(file)
    said = run('opj_dump', '-i', path)
    if re.search(r'\[(ERROR|WARNING)\]', said):
        raise Failure('opj_dump: ' + re.search(r'\[(?:ERROR|WARNING)\].*', said)[0])
    if not jpylyzer:
        return
    said = run(jpylyzer, '--format', 'jp2' if jp2 else 'j2c', path)
    root = xml.etree.ElementTree.fromstring(said[said.index('<?xml'):said.index('</jpylyzer>') + 11])
    valid = [e.text for e in root.iter() if e.tag.endswith('isValid')]
    if valid != ['True']:
        tests = next((e for e in root.iter() if e.tag.endswith('}tests') or e.tag == 'tests'), root)
        wrong = [e.tag.split('}')[-1] for e in tests.iter() if e.text == 'False']
        raise Failure('jpylyzer: not valid: ' + ' '.join(wrong))
