#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What FFmpeg's frames say of a JPEG picture: mjpeg_cuda's are those of FFmpeg's mjpeg, field by field as ffprobe prints them. Samplings,
colours, scans, marker segments, fields of interlaced frames, -lowres, -skip_frame; where the two differ, by purpose, and what is refused.

Usage: jpeg_frames.py FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed".
"""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import frame_fields
from frame_fields import equal, run, value
from jpeg_segments import joined, segments
from tally import expect, finish

BUILD, DEVICE = Path(sys.argv[1]).resolve(), (sys.argv[2:] or ['cpu'])[0]
HERE = Path(__file__).resolve().parent
FOLDER = Path(tempfile.mkdtemp())
fields = frame_fields.Fields(BUILD, FOLDER, 'mjpeg_cuda', DEVICE)
FEATURE = 'error=Not yet implemented in FFmpeg, patches welcome'
INVALID = 'error=Invalid data found when processing input'


def save(name, data):
    (FOLDER / name).write_bytes(data)
    return FOLDER / name


def same(name, data, *options, suffix='.jpg', but=()):
    """Both decoders say the same but for the keys `but`."""
    file = save(name + suffix, data)
    def rest(lines):
        return [line for line in lines if line.split('=')[0] not in but]
    own, log = fields(file, 'mjpeg_cuda', *options)
    equal(rest(own), rest(fields(file, 'mjpeg', *options)[0]), f'{name} {options}: {log}')
    expect('[FRAME]' in own, f'{name} {options}: no frame')
    return own


def refused(name, data, error, word, *options, suffix='.jpg'):
    file = save(name + suffix, data)
    lines, log = fields(file, 'mjpeg_cuda', *options)
    equal((error in lines, '[FRAME]' in lines, len(log)), (True, False, 1), f'{name}: {lines} {log}')
    expect(word in ''.join(log), f'{name}: {log}')


# ---- Marker segments

def with_segment(data, marker, payload):
    parts = segments(data)
    at = 1 if parts[0][0] == 0xE0 else 0
    return joined(parts[:at] + [(marker, payload)] + parts[at:])


def changed(data, marker, change):
    return joined([(m, change(payload) if m == marker else payload) for m, payload in segments(data)])


def exif(orientation, order, kind=3):
    """kind: a type of TIFF."""
    text = b'II*\0' if order == '<' else b'MM\0*'
    value = struct.pack(order + {1: 'B', 3: 'H', 4: 'I', 6: 'b', 8: 'h', 9: 'i'}[kind], orientation).ljust(4, b'\0')
    return b'Exif\0\0' + text + struct.pack(order + 'IHHHI', 8, 1, 0x112, kind, 1) + value + bytes(4)


def tags(order):
    """A maker, a resolution, and a directory behind them."""
    text = {'<': b'II*\0', '>': b'MM\0*'}[order] + struct.pack(order + 'IH', 8, 3)
    for entry in ((0x10F, 2, 6, 50), (0x11A, 5, 1, 56), (0x8769, 4, 1, 64)):
        text += struct.pack(order + 'HHII', *entry)
    text += bytes(4) + b'Maker\0' + struct.pack(order + 'II', 300, 1)
    return b'Exif\0\0' + text + struct.pack(order + 'HHHIHHI', 1, 0xA001, 3, 1, 1, 0, 0)


def icc(chunk, count, data):
    return b'ICC_PROFILE\0' + bytes([chunk, count]) + data


def sixteen_bits(payload):
    """Tables of 8 bits as tables of 16."""
    text = b''
    for at in range(0, len(payload), 65):
        text += bytes([0x10 | payload[at]]) + b''.join(bytes([0, value]) for value in payload[at + 1:at + 65])
    return text


def check_coding(picture):
    for sampling in ('1x1', '2x1', '1x2', '2x2', '4x1'):
        for kind in ((), ('-progressive',), ('-optimize',), ('-restart', '1B')):
            same(f'{sampling}{"".join(kind)}', run('cjpeg', '-sample', sampling, *kind, data=picture))
    scans, ten = save('scans', b'0;\n2;\n1;\n'), ('-sample', '4x4', '-scans', FOLDER / 'scans')
    same('scans', run('cjpeg', '-scans', scans, data=picture))
    same('gray', run('cjpeg', '-grayscale', data=picture))
    same('rgb', run('cjpeg', '-rgb', data=picture))
    four_to_one = save('410.jpg', run('cjpeg', *ten, data=picture))  # which FFmpeg's decoder refuses
    equal(value(fields(four_to_one, 'mjpeg_cuda')[0], 'pix_fmt'), 'yuv410p', '4:1:0')
    run('g++', '-O2', '-o', FOLDER / 'cmyk', HERE / 'cmyk.cpp', '-ljpeg')
    for inks in (('cmyk', '1'), ('cmyk', '2'), ('ycck', '1', '7'), ('ycck', '2')):
        same('-'.join(inks), run(FOLDER / 'cmyk', *inks, data=picture))


def check_segments(jpeg):
    own = same('limited', with_segment(jpeg, 0xFE, b'CS=ITU601\0'))
    equal((value(own, 'pix_fmt'), value(own, 'color_range')), ('yuv420p', 'tv'), 'CS=ITU601')
    for x, y in ((72, 72), (72, 36), (3, 4), (0, 0), (65535, 65534)):
        same(f'density-{x}-{y}', changed(jpeg, 0xE0, lambda payload: payload[:8] + struct.pack('>HH', x, y) + payload[12:]))
    for order in '<>':
        for orientation in range(10):
            own = same(f'orientation-{orientation}', with_segment(jpeg, 0xE1, exif(orientation, order)))
            equal('side_data' in '\n'.join(own), orientation in range(2, 9), f'orientation {orientation}')
        for kind in (1, 3, 4, 6, 8, 9):
            lines = fields(save('typed.jpg', with_segment(jpeg, 0xE1, exif(6, order, kind))), 'mjpeg_cuda')[0]
            equal('side_data' in '\n'.join(lines), True, f'orientation of type {kind}, {order}')
    for order in '<>':
        segment = tags(order)
        own = same(f'tags {order}', with_segment(jpeg, 0xE1, segment))
        equal([(value(own, f'TAG:{name}') or '').strip() for name in ('Make', 'XResolution', 'ColorSpace')], ['Maker', '300:1', '1'], f'tags of EXIF, {order}')
        for size in range(8, len(segment), 9):  # the tags that it has, or a line and the picture
            same(f'tags {order} {size}', with_segment(jpeg, 0xE1, segment[:size]))
    for order in ((1,), (1, 2, 3), (2, 3, 1), (1, 3)):
        count, data = max(order), jpeg
        for chunk in reversed(order):
            data = with_segment(data, 0xE2, icc(chunk, count, bytes([chunk] * 100)))
        own = same(f'icc-{order}', data)
        equal('side_data=ICC profile' in '\n'.join(own), len(order) == count, f'ICC chunks {order}')
    same('another height', jpeg + cropped(jpeg, '238x90') + cropped(jpeg, '96x90'), suffix='.mjpeg')
    same('16-bit DQT', changed(jpeg, 0xDB, sixteen_bits))
    same('no DHT', joined([part for part in segments(jpeg) if part[0] != 0xC4]))
    same('junk', b'junk\xff\0\xff' + jpeg + b'behind EOI')
    same('fill bytes', joined(segments(jpeg), fill=b'\xff\xff\xff'))
    same('no EOI', jpeg[:-2])
    same('no EOI, zeros', jpeg[:-2] + bytes(300))
    equal('[FRAME]' in fields(FOLDER / 'no EOI, zeros.jpg', 'mjpeg_cuda', 'err_detect=explode')[0], True, 'no EOI, zeros: explode')
    same('tables before each scan', joined(sorted(segments(jpeg), key=lambda part: (part[0] == 0xDA, part[0] == 0xDB))))


def check_options(jpeg, progressive):
    for data in (jpeg, progressive):
        for lowres in '123':
            same('lowres', data, 'lowres=' + lowres)
        for skip in ('none', 'default', 'noref', 'bidir', 'nointra', 'nokey'):
            same('skip', data, 'skip_frame=' + skip)
    lines, log = fields(save('skip.jpg', jpeg), 'mjpeg_cuda', 'skip_frame=all')
    equal(('[FRAME]' in lines, log), (False, []), 'skip_frame=all')
    done = subprocess.run([BUILD / 'ffmpeg', '-v', 'error', '-max_pixels', '1000', '-c:v', 'mjpeg_cuda', '-device', DEVICE, '-i',
                           FOLDER / 'lowres.jpg', '-f', 'null', '-'], capture_output=True, check=False, timeout=120)
    expect(b'max_pixels is 1000' in done.stderr, f'max_pixels: {done.stderr}')
    for name, data in (('cut', jpeg[:len(jpeg) * 2 // 3]), ('broken', jpeg[:-900] + bytes(50) + jpeg[-850:])):
        lines, log = fields(save(name + '.jpg', data), 'mjpeg_cuda')
        equal((value(lines, 'corrupt'), value(lines, 'decode_error_flags')), ('1', '1'), f'{name}: {log}')
        lines = fields(FOLDER / (name + '.jpg'), 'mjpeg_cuda', 'err_detect=explode')[0]
        equal((INVALID in lines, '[FRAME]' in lines), (True, False), f'{name}, explode')


def cropped(jpeg, size):
    """Its upper left corner."""
    return run('jpegtran', '-crop', size + '+0+0', data=jpeg)


def check_fields(picture):
    """Two pictures a packet. FFmpeg's decoder loses the flags of interlaced frames."""
    plain, capture = [], []
    for number in range(6):
        data = run('cjpeg', '-quality', 50 + 8 * number, data=picture)
        plain.append(save(f'field-{number}', data))
        parts = [(m, payload) for m, payload in segments(data) if m not in (0xE0, 0xC4)]
        marker = (0xE0, b'AVI1' + bytes([1 + number % 2]) + bytes(9))
        capture.append(save(f'capture-{number}', joined([marker] + parts)))
    width, height = picture.split()[1:3]
    for name, files in (('plain', plain), ('AVI1', capture)):
        avi = run(HERE / 'fields.py', int(width), 2 * int(height), *files)
        own = same('fields of ' + name, avi, suffix='.avi', but=('interlaced_frame', 'top_field_first'))
        equal((own.count('[FRAME]'), value(own, 'height'), value(own, 'interlaced_frame'), value(own, 'top_field_first')),
               (3, str(2 * int(height)), '1', '0'), f'fields of {name}')
    same('a field alone', capture[0].read_bytes())

    def frames_of(*fields_of_frames):
        files = [save(f'of-frames-{i}', data) for i, data in enumerate(fields_of_frames)]
        return run(HERE / 'fields.py', int(width), 2 * int(height), *files)
    first = plain[0].read_bytes()
    check_mixed_fields(picture, first)
    others = {'of another height': cropped(first, f'{int(width)}x{int(height) - 16}'), 'with more chroma': run('cjpeg', '-sample', '1x1', data=picture)}
    for name, second in others.items():
        lines, log = fields(save('second.avi', frames_of(first, first, first, second)), 'mjpeg_cuda')
        equal([line for line in lines if line.startswith('corrupt=')], ['corrupt=0', 'corrupt=1'], f'a second field {name}')
        expect('second field is missing' in ''.join(log), f'a second field {name}: {log}')
    refused('fields of half the size', frames_of(first, first), FEATURE, 'Fields with -lowres', 'lowres=1', suffix='.avi')
    inks = run(FOLDER / 'cmyk', 'cmyk', '1', data=picture)
    scaled = run('cjpeg', '-sample', '2x2,2x1,1x2', data=picture)
    for name, field in (('of inks', inks), ('that are scaled', scaled)):
        same('fields ' + name, frames_of(field, field), suffix='.avi', but=('interlaced_frame', 'top_field_first'))
    odd = cropped(first, f'{width.decode()}x33')
    refused('fields of an odd height', run(HERE / 'fields.py', int(width), 66, *2 * [save('odd', odd)]), FEATURE, 'of odd heights', suffix='.avi')


def check_mixed_fields(picture, field):
    """Each packet tells for itself whether it holds two fields, whatever came before it, in any container, behind a seek."""
    width, height = (int(number) for number in picture.split()[1:3])
    small = cropped(field, f'{width // 2}x{height // 2}')
    frame = run('cjpeg', data=run(BUILD / 'ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=s={width}x{2 * height}', '-frames:v', 1,
                                  '-pix_fmt', 'rgb24', '-c:v', 'ppm', '-f', 'image2pipe', '-'))
    wide = run('cjpeg', '-sample', '1x1', data=picture)
    large = run('cjpeg', data=run(BUILD / 'ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=s={2 * width}x{2 * height}', '-frames:v',
                                  1, '-pix_fmt', 'rgb24', '-c:v', 'ppm', '-f', 'image2pipe', '-'))
    kinds = {'p': (frame, b''), 'f': (field, field), 's': (small, b''), 'w': (wide, wide), 'l': (large, large)}
    size = {'l': (2 * width, 4 * height, 1), 'p': (width, 2 * height, 0), 'f': (width, 2 * height, 1), 's': (width // 2, height // 2, 0), 'w': (width, 2 * height, 1)}

    def samples(kind):  # of 4:2:0, to which ffmpeg converts all frames
        columns, rows, _ = size[kind]
        return columns * rows + (columns + 1) // 2 * ((rows + 1) // 2) * 2
    for order in ('pfff', 'ffpp', 'pfpf', 'psfp', 'fspw', 'pffwwp', 'flpl'):
        files = [save(f'mixed-{i}', part) for i, part in enumerate(part for kind in order for part in kinds[kind])]
        avi = save('mixed.avi', run(HERE / 'fields.py', width, 2 * height, *files))
        for suffix in ('avi', 'mkv', 'mov'):
            file = FOLDER / ('mixed.' + suffix)
            if suffix != 'avi':
                run(BUILD / 'ffmpeg', '-v', 'error', '-y', '-i', avi, '-c', 'copy', file)
            lines, log = fields(file, 'mjpeg_cuda')
            frames = list(zip(*([int(line.split('=')[1]) for line in lines if line.startswith(key + '=')]
                                for key in ('width', 'height', 'interlaced_frame', 'corrupt'))))
            equal(frames, [(*size[kind], 0) for kind in order], f'fields {order} in {suffix}: {log}')
        for first in range(1, len(order)):  # behind a seek
            done = run(BUILD / 'ffmpeg', '-v', 'error', '-ss', first / 25, '-c:v', 'mjpeg_cuda', '-device', DEVICE, '-i', FOLDER / 'mixed.avi',
                       '-noautoscale', '-f', 'framemd5', '-')
            sizes = [int(line.split(b',')[4]) for line in done.splitlines() if not line.startswith(b'#')]
            equal(sizes, [samples(kind) for kind in order[first:]], f'fields {order} from {first} on')


def check_refusals(picture, jpeg):
    refused('arithmetic', run('cjpeg', '-arithmetic', data=picture), FEATURE, 'arithmetic coding')
    refused('arithmetic-progressive', run('cjpeg', '-arithmetic', '-progressive', data=picture), FEATURE, 'arithmetic coding')
    for marker, word in ((0xC5, 'hierarchical'), (0xC7, 'hierarchical'), (0xCB, 'arithmetic')):
        refused(f'SOF {marker:x}', joined([(marker if m == 0xC0 else m, payload) for m, payload in segments(jpeg)]), FEATURE, word)
    for marker in (0xC0, 0xC1, 0xC2):
        parts = [(marker if m == 0xC0 else m, b'\x0a' + payload[1:] if m == 0xC0 else payload) for m, payload in segments(jpeg)]
        refused(f'10 bit {marker:x}', joined(parts), FEATURE, 'depth of 10 bits')
    refused('DNL', changed(jpeg, 0xC0, lambda payload: payload[:1] + b'\0\0' + payload[3:]), FEATURE, 'DNL')


def check_scaled(picture, jpeg):
    """Components that no format has are scaled up to the nearest one, as FFmpeg's decoder does."""
    def sampled(data, *factors):
        """With these sampling factors in the frame header."""
        def change(payload):
            payload = bytearray(payload)
            payload[7:7 + 3 * len(factors):3] = bytes(factors)
            return bytes(payload)
        return changed(data, 0xC0, change)
    inks = run(FOLDER / 'cmyk', 'cmyk', '1', data=picture)
    for sampling, pix_fmt in (('4x2', 'yuvj420p'), ('1x4', 'yuvj440p'), ('2x2,2x1,1x2', 'yuvj444p'), ('2x2,2x2,1x1', 'yuvj444p'),
                              ('2x2,1x1,2x2', 'yuvj444p'), ('1x2,1x2,1x1', 'yuvj444p'), ('2x1,1x1,2x1', 'yuvj444p')):
        own = same('scaled ' + sampling, run('cjpeg', '-sample', sampling, data=picture))
        equal(value(own, 'pix_fmt'), pix_fmt, sampling)
    same('sub-sampled RGB', sampled(run('cjpeg', '-rgb', data=picture), 0x21, 0x11, 0x11), but=('corrupt', 'decode_error_flags'))
    for name, data in (('chroma of two heights', sampled(jpeg, 0x22, 0x12, 0x11)), ('less of luma', sampled(jpeg, 0x11, 0x22, 0x22)),
                       ('less of black', sampled(inks, 0x21, 0x21, 0x21, 0x11)),
                       ('inks in half of the columns', sampled(inks, 0x21, 0x11, 0x11, 0x21))):
        lines, log = fields(save(name + '.jpg', data), 'mjpeg_cuda')  # some of which FFmpeg's decoder refuses
        equal(('[FRAME]' in lines, value(lines, 'pix_fmt') in ('yuvj444p', 'yuvj422p', 'gbrap')), (True, True), f'{name}: {lines} {log}')


def lossless(bits, components, factors=(0x11, 0x11, 0x11, 0x11)):
    """A stream of SOF3 and predictor 1 whose samples are all those that come first, 2^(bits - 1)."""
    width, height = 32, 16
    frame = struct.pack('>BHHB', bits, height, width, components)
    frame += b''.join(bytes([c + 1, factors[c], 0]) for c in range(components))
    scan = bytes([components]) + b''.join(bytes([c + 1, 0]) for c in range(components)) + bytes([1, 0, 0])
    largest = max(factors[:components])
    blocks = sum((f >> 4) * (f & 15) for f in factors[:components]) if components > 1 else 1
    mcus = width * height // ((largest >> 4) * (largest & 15) if components > 1 else 1)
    codes = bytes((blocks * mcus + 7) // 8)  # of a bit each: 0
    table = bytes([0, 1] + [0] * 15 + [0])
    return joined([(0xC3, frame), (0xC4, table), (0xDA, scan + codes + b'\xff\xd9')])


def check_depths():
    """Lossless coding. FFmpeg's decoder makes packed pictures of RGB, of more than 9 bits in the lowest bits of words."""
    for bits in range(2, 17):
        own = same(f'lossless gray {bits}', lossless(bits, 1))
        equal(value(own, 'pix_fmt'), 'gray' if bits <= 8 else 'gray16le', f'{bits} bits')
        for components, formats in ((3, ('gbrp', 'gbrp16le')), (4, ('gbrap', 'gbrap16le'))):
            own = same(f'lossless {bits} {components}', lossless(bits, components), but=('pix_fmt',))
            equal(value(own, 'pix_fmt'), formats[bits > 8], f'{components} components of {bits} bits')
    for factors, name in ((0x21, 'yuvj422p'), (0x22, 'yuvj420p'), (0x12, 'yuvj440p')):
        own = same('lossless ' + name, lossless(8, 3, (factors, 0x11, 0x11)))
        equal(value(own, 'pix_fmt'), name, 'lossless')
    for factors, name in ((0x21, 'yuv422p16le'), (0x22, 'yuv420p16le')):
        own = same('lossless ' + name, lossless(12, 3, (factors, 0x11, 0x11)))
        equal(value(own, 'pix_fmt'), name, 'lossless')
    refused('lossless 4:4:0 of 12 bits', lossless(12, 3, (0x12, 0x11, 0x11)), FEATURE, 'of more than 8 bits')
    refused('lossless at half the size', lossless(8, 1), FEATURE, 'lossless coding at a reduced size', 'lowres=1')


def main():
    ffmpeg = (BUILD / 'ffmpeg', '-nostdin', '-v', 'error', '-f', 'lavfi')
    picture = run(*ffmpeg, '-i', 'testsrc2=s=238x170', '-frames:v', 1, '-pix_fmt', 'rgb24', '-c:v', 'ppm', '-f', 'image2pipe', '-')
    jpeg = run('cjpeg', data=picture)
    check_coding(picture)
    check_segments(jpeg)
    check_options(jpeg, run('cjpeg', '-progressive', data=picture))
    check_fields(picture)
    check_refusals(picture, jpeg)
    check_scaled(picture, jpeg)
    check_depths()
    finish()


main()
