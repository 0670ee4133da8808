# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw pictures of FFmpeg's pixel formats, PGX pictures and JPEG 2000 files, as lists of components.

A component is (width, height, depth, samples); components are in the order R G B, Y Cb Cr, X Y Z or gray, then alpha.
"""
import array
import re
import struct
import sys

PACKED = {  # order of the bytes or words of a pixel; 0 is padding
    'rgb24': 'rgb', 'bgr24': 'bgr', 'rgba': 'rgba', 'bgra': 'bgra', 'argb': 'argb', 'abgr': 'abgr',
    'rgb0': 'rgb0', 'bgr0': 'bgr0', '0rgb': '0rgb', '0bgr': '0bgr', 'ya8': 'ya',
    'rgb48': 'rgb', 'rgba64': 'rgba', 'ya16': 'ya', 'xyz12': 'xyz',
}
SUBSAMPLING = {'410': (2, 2), '411': (2, 0), '420': (1, 1), '422': (1, 0), '440': (0, 1), '444': (0, 0)}


def components_of(pix_fmt, width, height):
    """(width, height, depth, bytes of a word, shift, offset, step, stride) of each component of a raw picture, and its size."""
    name = re.sub('le$', '', pix_fmt)
    out, size = [], 0

    def plane(w, h, word, depth, shift, count=1, used=None):
        nonlocal size
        for i in range(count) if used is None else used:
            out.append((w, h, depth, word, shift, size + i * word, count * word, w * count * word))
        size += w * h * count * word

    def chroma(layout):
        x, y = SUBSAMPLING[layout]
        return -(-width >> x), -(-height >> y)

    if name in PACKED:
        order = PACKED[name]
        word = 2 if name in ('rgb48', 'rgba64', 'ya16', 'xyz12') else 1
        depth = 12 if name == 'xyz12' else 8 * word
        used = [order.index(c) for c in ('xyz' if 'x' in order else 'rgbya') if c in order]
        plane(width, height, word, depth, 8 * word - depth, len(order), used)
    elif name == 'gray' or re.fullmatch(r'gray\d+', name):
        depth = int(name[4:] or 8)
        plane(width, height, 1 + (depth > 8), depth, 0)
    elif m := re.fullmatch(r'gbr(a?)p(\d*)', name):
        depth = int(m[2] or 8)
        for _ in range(4 if m[1] else 3):
            plane(width, height, 1 + (depth > 8), depth, 0)
        out[:3] = out[2], out[0], out[1]
    elif m := re.fullmatch(r'yuv([aj]?)(4\d\d)p(\d*)', name):
        depth = int(m[3] or 8)
        word = 1 + (depth > 8)
        plane(width, height, word, depth, 0)
        plane(*chroma(m[2]), word, depth, 0)
        plane(*chroma(m[2]), word, depth, 0)
        if m[1] == 'a':
            plane(width, height, word, depth, 0)
    elif m := re.fullmatch(r'nv1([26])|p([02])1([026])', name):
        layout = '420' if m[1] == '2' or m[2] == '0' else '422'
        depth = 8 if m[1] else 10 + int(m[3])
        word = 1 + (depth > 8)
        plane(width, height, word, depth, 8 * word - depth)
        plane(*chroma(layout), word, depth, 8 * word - depth, 2)
    else:
        raise ValueError('pixel format ' + pix_fmt)
    return out, size


def raw_pictures(data, pix_fmt, width, height):
    layout, size = components_of(pix_fmt, width, height)
    if len(data) % size:
        raise ValueError(f'{len(data)} bytes are no whole number of {width}x{height} {pix_fmt} pictures')
    pictures = []
    for start in range(0, len(data), size):
        picture = []
        for w, h, depth, word, shift, offset, step, stride in layout:
            at = start + offset
            if word == 1:
                samples = data[at:at + (h - 1) * stride + (w - 1) * step + 1:step]
            else:
                words = array.array('H')
                words.frombytes(data[start:start + size])
                if sys.byteorder == 'big':
                    words.byteswap()
                samples = words[offset // 2:(offset + (h - 1) * stride + (w - 1) * step) // 2 + 1:step // 2]
                if shift:
                    samples = array.array('H', [v >> shift for v in samples])
            picture.append((w, h, depth, samples))
        pictures.append(picture)
    return pictures


def pgx_component(data):
    m = re.match(rb'PG (ML|LM) ([+-]?) ?(\d+) (\d+) (\d+)\s', data)
    if not m or m[2] == b'-':
        raise ValueError('no unsigned PGX picture')
    depth, width, height = int(m[3]), int(m[4]), int(m[5])
    samples = data[m.end():]
    if depth > 8:
        words = array.array('H')
        words.frombytes(samples)
        if (m[1] == b'ML') == (sys.byteorder == 'little'):
            words.byteswap()
        samples = words
    if len(samples) != width * height:
        raise ValueError('a PGX picture of the wrong length')
    return width, height, depth, samples


def netpbm_components(data):
    """The components of a binary PGM or PPM file."""
    m = re.match(rb'P([56])\s(?:#[^\n]*\n)*(\d+)\s+(\d+)\s+(\d+)\s', data)
    if not m:
        raise ValueError('no binary netpbm picture')
    width, height, most, count = int(m[2]), int(m[3]), int(m[4]), 1 if m[1] == b'5' else 3
    samples = data[m.end():]
    if most > 255:
        words = array.array('H')
        words.frombytes(samples)
        if sys.byteorder == 'little':
            words.byteswap()
        samples = words
    if len(samples) != width * height * count:
        raise ValueError('a netpbm picture of the wrong length')
    return [(width, height, most.bit_length(), samples[c::count]) for c in range(count)]


def to_depth(component, depth, pix_fmt):
    """FFmpeg's decoder stores fewer bits than a format has in the high bits, but those of YUV in the low ones."""
    w, h, d, samples = component
    if d == depth:
        return component
    shift = 0 if pix_fmt.startswith('yuv') else d - depth
    return w, h, depth, [v >> shift for v in samples]


def difference(a, b):
    """The greatest difference between two pictures' samples; None where they are of different shapes."""
    if [c[:3] for c in a] != [c[:3] for c in b]:
        return None
    return max(0 if x[3] == y[3] else max(map(abs, map(int.__sub__, x[3], y[3]))) for x, y in zip(a, b))


def squared_error(a, b):
    """Of two pictures of one shape."""
    return sum((x - y) ** 2 for p, q in zip(a, b) for x, y in zip(p[3], q[3]))


def split_files(data):
    """Cuts concatenated JP2 files or codestreams apart."""
    files, at = [], 0
    while at < len(data):
        start = at
        if data[at + 4:at + 8] == b'jP  ':
            while True:
                length, kind = struct.unpack_from('>I4s', data, at)
                at = len(data) if length == 0 else at + (length if length != 1 else struct.unpack_from('>Q', data, at + 8)[0])
                if kind == b'jp2c' or at >= len(data):
                    break
        else:
            at = end_of_codestream(data, at)
        files.append(data[start:at])
    return files


def end_of_codestream(data, at):
    if data[at:at + 2] != b'\xff\x4f':
        raise ValueError('no codestream')
    at += 2
    while True:
        marker = data[at:at + 2]
        if marker == b'\xff\xd9':
            return at + 2
        if marker == b'\xff\x90':  # SOT: jump over the tile-part
            at += struct.unpack_from('>I', data, at + 6)[0]
        else:
            at += 2 + struct.unpack_from('>H', data, at + 2)[0]


def codestream(data):
    at = 0
    while data[at:at + 2] != b'\xff\x4f':
        length, kind = struct.unpack_from('>I4s', data, at)
        if kind == b'jp2c':
            return data[at + (16 if length == 1 else 8):]
        at += length
    return data


def subsampled(data):
    stream = codestream(data)
    count = struct.unpack_from('>H', stream, 40)[0]
    return any(stream[43 + 3 * i:45 + 3 * i] != b'\1\1' for i in range(count))


def without_colour(data):
    """The codestream in a JP2 file whose colour space makes no decoder convert, upsample or refuse anything."""
    stream = codestream(data)
    right, bottom, left, top = struct.unpack_from('>4I', stream, 8)
    height, width, count = bottom - top, right - left, struct.unpack_from('>H', stream, 40)[0]

    def box(kind, content):
        return struct.pack('>I4s', 8 + len(content), kind) + content
    header = box(b'ihdr', struct.pack('>IIHBBBB', height, width, count, stream[42], 7, 0, 0)) + \
        box(b'colr', b'\1\0\0' + struct.pack('>I', 17))
    return box(b'jP  ', b'\r\n\x87\n') + box(b'ftyp', b'jp2 \0\0\0\0jp2 ') + box(b'jp2h', header) + box(b'jp2c', stream)
