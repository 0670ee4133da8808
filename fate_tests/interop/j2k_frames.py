#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What FFmpeg's frames say of a JPEG 2000 picture: j2k_cuda's are those of FFmpeg's jpeg2000, field by field as ffprobe prints them.
Boxes of JP2 files, fields of interlaced frames; where the two differ, by purpose, and what is refused.

Usage: j2k_frames.py FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed".
"""
import itertools
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import frame_fields
from frame_fields import equal, run, value
from tally import expect, finish

BUILD, DEVICE = Path(sys.argv[1]).resolve(), (sys.argv[2:] or ['cpu'])[0]
HERE = Path(__file__).resolve().parent
FOLDER = Path(tempfile.mkdtemp())
fields = frame_fields.Fields(BUILD, FOLDER, 'j2k_cuda', DEVICE)
FFMPEG = (BUILD / 'ffmpeg', '-nostdin', '-v', 'error', '-y')
FEATURE = 'error=Not yet implemented in FFmpeg, patches welcome'
SIGNATURE, EXIF = bytes.fromhex('0d0a870a'), b'JpgTiffExif->JP2'


def save(name, data):
    (FOLDER / name).write_bytes(data)
    return FOLDER / name


def coded(pix_fmt, *options, size='96x54', frame=0):
    """A codestream."""
    return run(*FFMPEG, '-f', 'lavfi', '-i', 'testsrc2=s=96x54', '-vf', f"select=eq(n\\,{frame}),format={pix_fmt},crop={size.replace('x', ':')}:0:0:exact=1", '-frames:v', 1, '-c:v',
               'j2k_cuda', '-device', 'cpu', '-format', 'j2k', '-pred', 'dwt53', *options, '-f', 'image2pipe', '-')


def box(kind, *content):
    data = b''.join(content)
    return struct.pack('>I4s', len(data) + 8, kind) + data


def jp2(codestream, *header, behind=b''):
    """A file; header: boxes of jp2h behind ihdr."""
    height, width = (struct.unpack_from('>I', codestream, at)[0] for at in (12, 8))
    count, depth = struct.unpack_from('>H', codestream, 40)[0], codestream[42]
    ihdr = box(b'ihdr', struct.pack('>IIHBBBB', height, width, count, depth, 7, 0, 0))
    return box(b'jP  ', SIGNATURE) + box(b'ftyp', b'jp2 ', bytes(4), b'jp2 ') + box(b'jp2h', ihdr, *header) + box(b'jp2c', codestream) + behind


def colour(number):
    return box(b'colr', b'\1\0\0', struct.pack('>I', number))


def rest_of(lines, but):
    return [line for line in lines if line.split('=')[0] not in but]


def same(name, data, *options, but=()):
    """Both decoders say the same but for the keys `but`."""
    file = save(name.replace('/', ' of ') + '.jp2', data)
    own, log = fields(file, 'j2k_cuda', *options)
    equal(rest_of(own, but), rest_of(fields(file, 'jpeg2000', *options)[0], but), f'{name} {options}: {log}')
    expect('[FRAME]' in own, f'{name} {options}: no frame')
    return own


def refused(name, data, word, *options, suffix='.jp2'):
    lines, log = fields(save(name + suffix, data), 'j2k_cuda', *options)
    equal((FEATURE in lines, '[FRAME]' in lines), (True, False), f'{name}: {lines} {log}')
    expect(word in ''.join(log), f'{name}: {log}')


def check_formats():
    for pix_fmt in ('gray', 'gray16', 'ya8', 'yuv420p', 'yuv422p', 'yuv444p', 'yuv422p10', 'yuv420p12', 'yuva420p'):
        data = coded(pix_fmt)
        same(pix_fmt, data, but=('pix_fmt',) if pix_fmt == 'yuv444p' else ())  # RGB without boxes
        for lowres in '12':
            same(pix_fmt, data, 'lowres=' + lowres, but=('pix_fmt',) if pix_fmt == 'yuv444p' else ())
    for pix_fmt, own in (('gbrp', 'gbrp'), ('gbrap', 'gbrap'), ('gbrp10', 'gbrp10le'), ('gray10', 'gray10le'), ('gray12', 'gray12le'), ('gray14', 'gray14le')):
        lines = same(pix_fmt, coded(pix_fmt), but=('pix_fmt', 'color_space'))  # FFmpeg's are packed, or in 16 bits
        equal(value(lines, 'pix_fmt'), own, pix_fmt)
    same('sYCC', jp2(coded('yuv444p'), colour(18)))
    lines = same('e-sYCC', jp2(coded('yuv444p'), colour(24)), but=('pix_fmt', 'color_space'))
    equal(value(lines, 'pix_fmt'), 'yuv444p', 'e-sYCC')
    for pix_fmt, own in ('gbrap', 'gbrap'), ('gbrap12', 'gbrap16le'):
        lines, log = fields(save('cmyk.jp2', jp2(coded(pix_fmt), colour(12))), 'j2k_cuda')
        equal(value(lines, 'pix_fmt'), own, f'CMYK of {pix_fmt}')
        expect(''.join(log).count('inks are not kept (said once)') == 1, f'CMYK: {log}')
    same('skip', coded('gray'), 'skip_frame=nokey')


def check_resolutions():
    gray = coded('gray')
    def res(kind, *terms):
        return box(kind, struct.pack('>4HBB', *terms))
    for terms in ((1, 1, 1, 1, 0, 0), (2, 1, 1, 1, 0, 0), (1, 3, 1, 2, 0, 0), (75, 127, 75, 127, 4, 4), (60000, 7, 59999, 11, 5, 5), (1, 1, 1, 1, 6, 5),
                  (0, 1, 1, 1, 0, 0), (1, 0, 1, 1, 0, 0), (32765, 32749, 32719, 32713, 0, 0)):
        for kind in (b'resc', b'resd'):
            lines = same(f'{kind} {terms}', jp2(gray, colour(17), box(b'res ', res(kind, *terms))))
            equal(value(lines, 'sample_aspect_ratio') == '0:1', not all(terms[:4]), f'{terms}')
    both = box(b'res ', res(b'resd', 1, 1, 2, 1, 0, 0), res(b'resc', 3, 1, 1, 1, 0, 0))
    equal(value(same('two resolutions', jp2(gray, colour(17), both)), 'sample_aspect_ratio'), '1:2', 'two resolutions')
    lines, log = fields(save('tall.jp2', jp2(gray, colour(17), box(b'res ', res(b'resd', 1, 1, 1, 1, 0, 9)))), 'j2k_cuda')
    equal((value(lines, 'sample_aspect_ratio'), 'invalid SAR' in ''.join(log)), ('0:1', True), 'an aspect beyond those of FFmpeg')
    # An exponent below 0, which FFmpeg takes for 255.
    lines = fields(save('negative.jp2', jp2(gray, colour(17), box(b'res ', res(b'resd', 1, 1, 1, 1, 255, 0)))), 'j2k_cuda')[0]
    equal(value(lines, 'sample_aspect_ratio'), '1:10', 'an exponent of -1')


def check_metadata():
    """EXIF, which FFmpeg's decoder does not read: side data and tags are those that its mjpeg gives of the same. ICC."""
    gray, jpeg = coded('gray'), run(*FFMPEG, '-f', 'lavfi', '-i', 'testsrc2=s=96x54', '-frames:v', 1, '-c:v', 'mjpeg', '-f', 'image2pipe', '-')
    for order, orientation in itertools.product('<>', range(10)):
        tiff = {'<': b'II*\0', '>': b'MM\0*'}[order] + struct.pack(order + 'IHHHIHHI', 8, 1, 0x112, 3, 1, orientation, 0, 0)
        file = jp2(gray, colour(17), behind=box(b'uuid', EXIF, tiff))
        segment = b'Exif\0\0' + tiff
        marked = jpeg[:2] + b'\xff\xe1' + struct.pack('>H', len(segment) + 2) + segment + jpeg[2:]
        own = same(f'orientation {orientation}', file, but=('side_data', 'TAG:Orientation'))
        lines = fields(save('marked.jpg', marked), 'mjpeg')[0]
        equal([line for line in own if line.startswith(('side_data', 'TAG'))], [line for line in lines if line.startswith(('side_data', 'TAG'))],
              f'orientation {orientation}')
    own = same('ICC', jp2(coded('gbrp'), box(b'colr', b'\2\0\0', b'profile' * 20)), but=('pix_fmt', 'color_space', 'side_data'))
    equal(value(own, 'side_data'), 'ICC profile,' + (b'profile' * 20).hex(), 'ICC')


def check_channels():
    rgba = coded('gbrap')
    for order in itertools.permutations(range(3)):
        cdef = box(b'cdef', struct.pack('>H', 4), *(struct.pack('>3H', c, 0, order[c] + 1) for c in range(3)), struct.pack('>3H', 3, 1, 0))
        own = save('own.jp2', jp2(rgba, colour(16), cdef))
        sums = [run(*FFMPEG, '-c:v', decoder, *(('-device', DEVICE) if decoder == 'j2k_cuda' else ()), '-i', own, '-pix_fmt', 'rgba', '-f',
                    'framemd5', '-') for decoder in ('j2k_cuda', 'jpeg2000')]
        equal(sums[0], sums[1], f'cdef {order}')
    pclr = box(b'pclr', struct.pack('>HB3B', 4, 3, 7, 7, 7), bytes(range(7, 19)))
    cmap = box(b'cmap', *(struct.pack('>HBB', 0, 1, c) for c in range(3)))
    own = same('palette', jp2(coded('gray'), colour(16), pclr, cmap), but=('pix_fmt', 'color_space'))  # FFmpeg's is pal8
    equal(value(own, 'pix_fmt'), 'gbrp', 'a palette')


# Of a format its bytes a sample, and the columns and rows that share one, of each plane.
PLANES = {'yuv422p10': (2, ((1, 1), (2, 1), (2, 1))), 'yuv420p': (1, ((1, 1), (2, 2), (2, 2))), 'gbrp': (1, 3 * ((1, 1),)), 'gray': (1, ((1, 1),))}


def samples(file):
    return run(*FFMPEG, '-c:v', 'j2k_cuda', '-device', DEVICE, '-i', file, '-f', 'rawvideo', '-')


def woven(first, second, pix_fmt, width, height):
    """The frame of two fields of width x height samples."""
    sample_bytes, planes = PLANES[pix_fmt]
    frame, at = b'', 0
    for x, y in planes:
        stride = -(-width // x) * sample_bytes
        for _ in range(-(-height // y)):
            frame += first[at:at + stride] + second[at:at + stride]
            at += stride
    return frame


def check_fields():
    """Two codestreams in a packet (SMPTE ST 422). FFmpeg's decoder gives the first one alone."""
    for pix_fmt, size in (('yuv422p10', '96x54'), ('yuv420p', '64x18'), ('gbrp', '31x17'), ('gray', '33x1')):
        streams = [coded(pix_fmt, size=size, frame=n) for n in range(6)]
        files = [save(f'field-{n}.j2k', data) for n, data in enumerate(streams)]
        width, height = map(int, size.split('x'))
        avi = save('fields.avi', run(HERE / 'fields.py', width, 2 * height, *files))
        single = [samples(file) for file in files]
        frames_are = b''.join(woven(*single[n:n + 2], pix_fmt, width, height) for n in (0, 2, 4))
        for suffix in ('avi', 'mkv', 'mov', 'mxf'):
            file = FOLDER / ('fields.' + suffix)
            if suffix == 'mxf' and pix_fmt == 'gray':
                continue  # which FFmpeg's muxer does not take
            if suffix != 'avi':
                run(*FFMPEG, '-i', avi, '-c', 'copy', file)
            lines, log = fields(file, 'j2k_cuda')
            frames = list(zip(*([line.split('=')[1] for line in lines if line.startswith(key + '=')][:3]
                                for key in ('width', 'height', 'interlaced_frame', 'top_field_first', 'corrupt'))))
            equal(frames, 3 * [(str(width), str(2 * height), '1', '1', '0')], f'fields of {pix_fmt} in {suffix}: {log}')
            expect(samples(file) == frames_are, f'fields of {pix_fmt} in {suffix}: other samples')
        # Which field comes first, and which is shown first.
        for order, is_top in (('tt', '1'), ('bb', '0'), ('tb', '0'), ('bt', '1')):
            equal(value(fields(avi, 'j2k_cuda', 'field_order=' + order)[0], 'top_field_first'), is_top, order)
    check_field_errors()


def check_field_errors():
    def avi_of(*parts, size=(64, 36)):
        return run(HERE / 'fields.py', *size, *(save(f'part-{n}', data) for n, data in enumerate(parts)))
    field, frame = coded('yuv420p', size='64x18'), coded('yuv420p', size='64x36')
    # Each packet tells for itself.
    lines = fields(save('mixed.avi', avi_of(field, field, frame, b'', field, field)), 'j2k_cuda')[0]
    equal([line for line in lines if line.startswith('interlaced_frame=')], [f'interlaced_frame={n}' for n in (1, 0, 1)], 'mixed')
    lines = fields(save('half.avi', avi_of(field, field)), 'j2k_cuda', 'lowres=1')[0]
    refused('an odd field at half the size', avi_of(field, field), 'odd heights', 'lowres=1', suffix='.avi')
    gray = coded('gray', size='64x18')
    equal(value(fields(save('half.avi', avi_of(gray, gray)), 'j2k_cuda', 'lowres=1')[0], 'height'), '18', 'fields at half the size')
    refused('a region of fields', avi_of(field, field), 'Fields with -region', 'region=0,0,8,8', suffix='.avi')
    for name, second in (('damaged', field[:-2] + bytes(2)), ('cut', field[:len(field) // 2])):
        lines, log = fields(save(name + '.avi', avi_of(field, second)), 'j2k_cuda')
        equal((value(lines, 'interlaced_frame'), value(lines, 'corrupt')), ('1', '1'), f'a {name} second field: {log}')
    # A second field of another size is none.
    lines = fields(save('other.avi', avi_of(field, gray)), 'j2k_cuda')[0]
    expect('[FRAME]' in lines, 'a second codestream of another format')
    done = subprocess.run([*map(str, FFMPEG), '-c:v', 'j2k_cuda', '-device', DEVICE, '-i', str(FOLDER / 'mixed.avi'), '-f', 'null', '-'],
                          capture_output=True, check=False, timeout=120)
    equal((done.returncode, done.stderr), (0, b''), 'mixed, by ffmpeg')


def main():
    check_formats()
    check_resolutions()
    check_metadata()
    check_channels()
    check_fields()
    finish()


main()
