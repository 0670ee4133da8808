#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What MXF files say of JPEG 2000: descriptors and the label of the essence follow the codestream, as read here, by the
distribution's ffprobe and by mediainfo; of JP2 files the codestream becomes essence. Frames in CUDA memory are stood for by
mxf_cuda.c. Warnings where a file's name and its contents disagree.

Usage: mxf.py FFMPEG_BUILD. Ends in a line "N passed, N failed".
"""
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
HERE = Path(__file__).resolve().parent
FOLDER = Path(tempfile.mkdtemp())
SAMPLES = FOLDER / 'samples.raw'  # zeros, of two frames of any format
counts = [0, 0]

SETS = {0x28: 'CDCI', 0x29: 'RGBA', 0x5A: 'JPEG 2000'}  # byte 14 of a set's key


def expect(got, wanted, what):
    counts[got != wanted] += 1
    if got != wanted:
        print(f'failed: {what}: {got}, not {wanted}')


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def encode(file, pixels, *options, frames=2):
    done = run(BUILD / 'ffmpeg', '-nostdin', '-y', '-v', 'warning', '-f', 'rawvideo', '-pixel_format', pixels,
               '-video_size', '64x48', '-framerate', 24, '-i', SAMPLES, '-frames:v', frames, '-c:v', 'j2k_cuda',
               '-device', 'cpu', *options, file)
    expect(done.returncode, 0, f'{pixels} {options}: {done.stderr}')
    # What the encoder and the muxer say; but pictures are smaller than validators of IMF want them, and MXF has no .jp2.
    return ''.join(line + '\n' for line in done.stderr.splitlines() if line.startswith(('[j2k_cuda', '[mxf', '[image2'))
                   and 'validators' not in line and 'decoders of .jp2 files' not in line)


def read_sets(file):
    """The local tags of each set of the header that SETS names: {name: {tag: bytes}}."""
    data, at, found = file.read_bytes(), 0, {}
    while at + 17 <= len(data):
        key, length, at = data[at:at + 16], data[at + 16], at + 17
        if length & 128:
            length, at = int.from_bytes(data[at:at + (length & 127)], 'big'), at + (length & 127)
        if key[:6] == bytes.fromhex('060e2b340253') and key[14] in SETS and key[13] == 1:
            tags, place = {}, at
            while place + 4 <= at + length:
                tag, size = struct.unpack('>HH', data[place:place + 4])
                tags[tag] = data[place + 4:place + 4 + size]
                place += 4 + size
            found.setdefault(SETS[key[14]], tags)
        if key[:13] == bytes.fromhex('060e2b34010201010d01030115') and 'essence' not in found:
            found['essence'] = data[at:at + 4]
        at += length
    return found


def number(tags, tag):
    return int.from_bytes(tags[tag], 'big')


def check_file(what, file, kind, depth, sampling, components, coding):
    sets = read_sets(file)
    expect(sets.get('essence'), bytes.fromhex('ff4fff51'), f'{what}: the essence begins with')
    expect(kind in sets, True, f'{what}: a descriptor {kind}')
    if kind not in sets:
        return
    tags = sets[kind]
    expect(tags[0x3201].hex(), f'060e2b34040101{coding}', f'{what}: essence coding')
    if kind == 'CDCI':
        expect([number(tags, tag) for tag in (0x3301, 0x3302, 0x3308)], [depth, *sampling], f'{what}: depth, sampling')
    else:
        letters = b'\xd8\xd9\xda' if kind_is_xyz(what) else b'RGBA'[:components]
        expect(tags[0x3401], b''.join(bytes([c, depth]) for c in letters).ljust(16, b'\0'), f'{what}: pixel layout')
        expect((number(tags, 0x3406), number(tags, 0x3407)), (2**depth - 1, 0), f'{what}: component references')
    if 'JPEG 2000' in sets:  # 5.1 has none
        expect(number(sets['JPEG 2000'], 0x840A), components, f'{what}: components of the sub-descriptor')
        expect(len(sets['JPEG 2000'][0x840B]), 8 + 3 * components, f'{what}: their sizes')
        expect(number(sets['JPEG 2000'], 0x8401), number({0: RSIZ.get(what.split()[-1], b'\0')}, 0), f'{what}: Rsiz')


def kind_is_xyz(what):
    return what.startswith('xyz')


def check_strangers(what, file, pixels, depth, chroma):
    """What the distribution's tools make of it; pixels: as FFmpeg's decoder names the format."""
    if shutil.which('ffprobe'):
        done = run('ffprobe', '-v', 'error', '-show_entries', 'stream=codec_name,pix_fmt,width', '-of', 'json', file)
        stream = json.loads(done.stdout)['streams'][0]
        expect((stream['codec_name'], stream['pix_fmt'], stream['width']), ('jpeg2000', pixels, 64), f'{what}: ffprobe')
        expect(done.stderr, '', f'{what}: ffprobe complains')
    else:
        print('skipped: no ffprobe here')
    if shutil.which('mediainfo'):
        tracks = json.loads(run('mediainfo', '--Output=JSON', file).stdout)['media']['track']
        video = next(track for track in tracks if track['@type'] == 'Video')
        expect((video['Format'], video.get('BitDepth')), ('JPEG 2000', str(depth)), f'{what}: mediainfo')
        if chroma:
            expect((video.get('ColorSpace'), video.get('ChromaSubsampling')), chroma, f'{what}: mediainfo, colours')
    else:
        print('skipped: no mediainfo here')


GENERIC = '070401020203010100'
# pixel format; options; descriptor, depth, sub-sampling, components; the label's end; what strangers see
CASES = (
    ('yuv422p10le', (), 'CDCI', 10, (2, 1), 3, GENERIC, 'yuv422p10le', ('YUV', '4:2:2')),
    ('yuv420p', (), 'CDCI', 8, (2, 2), 3, GENERIC, 'yuv420p', ('YUV', '4:2:0')),
    ('nv12', (), 'CDCI', 8, (2, 2), 3, GENERIC, 'yuv420p', ('YUV', '4:2:0')),
    ('p010le', (), 'CDCI', 10, (2, 2), 3, GENERIC, 'yuv420p10le', ('YUV', '4:2:0')),
    ('p210le', (), 'CDCI', 10, (2, 1), 3, GENERIC, 'yuv422p10le', ('YUV', '4:2:2')),
    ('gray12le', (), 'CDCI', 12, (1, 1), 1, GENERIC, 'gray16le', None),
    ('rgb24', (), 'RGBA', 8, (1, 1), 3, GENERIC, 'rgb24', None),
    ('rgb0', (), 'RGBA', 8, (1, 1), 3, GENERIC, 'rgb24', None),
    ('bgra', (), 'RGBA', 8, (1, 1), 4, GENERIC, 'rgba', None),
    ('gbrp12le', (), 'RGBA', 12, (1, 1), 3, GENERIC, 'rgb48le', None),
    ('xyz12le', ('-profile:v', 'cinema2k'), 'RGBA', 12, (1, 1), 3, '090401020203010103', 'xyz12le', None),
    ('xyz12le', ('-profile:v', 'cinema4k'), 'RGBA', 12, (1, 1), 3, '090401020203010104', 'xyz12le', None),
    ('yuv422p10le', ('-profile:v', 'imf2k', '-main_level', '4', '-sub_level', '2'), 'CDCI', 10, (2, 1), 3,
     '0d040102020301020a', 'yuv422p10le', None),
    ('gbrp12le', ('-profile:v', 'imf4k_r', '-main_level', '6'), 'RGBA', 12, (1, 1), 3, '0d040102020301060f', 'rgb48le', None),
    ('yuv422p10le', ('-profile:v', 'imf8k', '-main_level', '8', '-sub_level', '6'), 'CDCI', 10, (2, 1), 3,
     '0d0401020203010420', 'yuv422p10le', None),
    ('yuv422p10le', ('-profile:v', 'broadcast', '-main_level', '3'), 'CDCI', 10, (2, 1), 3,
     '0d0401020203010113', 'yuv422p10le', None),
    ('yuv422p10le', ('-profile:v', 'broadcast', '-pred', 'dwt53', '-main_level', '6'), 'CDCI', 10, (2, 1), 3,
     '0d0401020203010116', 'yuv422p10le', None),
)
# Rsiz of the codestream, by the options' last word.
RSIZ = {'cinema2k': b'\0\3', 'cinema4k': b'\0\4', 'imf2k': b'\4\x24', 'imf4k_r': b'\x08\6', 'imf8k': b'\6\x68',
        'broadcast': b'\1\3', 'reversible': b'\3\6'}


def main():
    SAMPLES.write_bytes(bytes(2 * 64 * 48 * 8))
    for pixels, options, *wanted, strange_pixels, chroma in CASES:
        name = 'reversible' if 'dwt53' in options else options[1] if options else ''
        what, file = f'{pixels} {name}'.strip() if name else pixels, FOLDER / 'x.mxf'
        for file_format in ((), ('-format', 'jp2')) if not options else ((),):
            expect(encode(file, pixels, *options, *file_format), '', f'{what}: complaints')
            check_file(what, file, *wanted)
            check_strangers(what, file, strange_pixels or pixels, wanted[1], chroma)

    # Frames in CUDA memory: a muxer sees their format alone.
    program = FOLDER / 'mxf_cuda'
    values = dict(line.split('=', 1) for line in (BUILD / 'ffbuild/config.mak').read_text().splitlines() if '=' in line)
    names = ('avformat', 'avcodec', 'swresample', 'avutil')
    extra = [flag for name in names for flag in values['EXTRALIBS-' + name].split()]
    done = subprocess.run(
        [*values['CC'].split(), '-I.', '-I' + values['SRC_PATH'], str(HERE / 'mxf_cuda.c'), '-o', str(program),
         *values['LDFLAGS'].split(), *('-Llib' + name for name in names), *('-l' + name for name in names), *extra],
        cwd=BUILD, capture_output=True, text=True, check=False)
    expect(done.returncode, 0, f'mxf_cuda.c: {done.stderr}')
    for pixels, rgb, *wanted in (('nv12', '0', 'CDCI', 8, (2, 2), 3), ('p010le', '0', 'CDCI', 10, (2, 2), 3),
                                 ('yuv444p', '0', 'CDCI', 8, (1, 1), 3), ('rgb0', '1', 'RGBA', 8, (1, 1), 3)):
        codestream, file = FOLDER / 'x.j2k', FOLDER / 'cuda.mxf'
        encode(codestream, pixels, '-update', '1', '-format', 'j2k', frames=1)
        done = run(program, codestream, file, rgb)
        expect((done.returncode, done.stderr), (0, ''), f'mxf_cuda {pixels}')
        check_file(f'{pixels} in CUDA memory', file, *wanted, GENERIC)

    # Names and contents.
    for name, file_format, told in (('x.j2k', 'jp2', True), ('x.j2c', 'auto', True), ('x.jp2', 'j2k', True),
                                    ('x.j2k', 'j2k', False), ('x.j2c', 'j2k', False), ('x.jp2', 'jp2', False),
                                    ('x.jp2', 'auto', False)):
        lines = encode(FOLDER / name, 'rgb24', '-update', '1', '-format', file_format, frames=1).splitlines()
        expect(['-format' in line for line in lines], [True] * told, f'{file_format} in {name}')
    lines = encode(FOLDER / 'x%d.j2k', 'rgb24', '-format', 'jp2').splitlines()
    expect(len(lines), 1, 'two files with another name: told once')
    shutil.rmtree(FOLDER)
    print(f'{counts[0]} passed, {counts[1]} failed')
    return counts[1] > 0


if __name__ == '__main__':
    sys.exit(main())
