#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes captions beside each other as a PPM picture, in white on black, with the font that FFmpeg's sources have.

Usage: captions.py FONT WIDTH OUT TEXT...   FONT: libavutil/xga_font_data.c   WIDTH: of each, in pixels; a letter has 16
"""
import re
import sys

SCALE, SIDE = 2, 8  # of a letter of 8 bytes, a row each
MARGIN = 2


def font_of(source):
    with open(source, encoding='utf-8') as file:
        text = file.read()
    bytes_of = re.findall(r'0x[0-9a-fA-F]{2}', text[re.search(r'cga_font\[', text).end():])
    return [int(byte, 16) for byte in bytes_of[:256 * SIDE]]


def rows(font, width, texts):
    """Rows of pixels, 0 or 255."""
    letters = width // (SIDE * SCALE)
    for y in range(SIDE):
        row = []
        for text in texts:
            bits = ''.join(f'{font[ord(letter) * SIDE + y]:08b}' for letter in text[:letters])
            row += [255 * int(bit) for bit in bits for _ in range(SCALE)] + [0] * (width - len(bits) * SCALE)
        yield from [row] * SCALE


def main(source, width, out, *texts):
    width = int(width)
    blank = [[0] * width * len(texts)] * MARGIN * SCALE
    picture = blank + list(rows(font_of(source), width, texts)) + blank
    with open(out, 'wb') as file:
        file.write(b'P6\n%d %d\n255\n' % (width * len(texts), len(picture)))
        file.write(bytes(value for row in picture for value in row for _ in range(3)))


if __name__ == '__main__':
    main(*sys.argv[1:])
