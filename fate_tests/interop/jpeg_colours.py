#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes JPEG files with all combinations of what tells their colours: JFIF's marker, Adobe's with transform 0, 1 or 2, identifiers.

Usage: jpeg_colours.py FOLDER FILE...   FILE: of three or four components, of any sampling.
"""
import itertools
import sys
from pathlib import Path

from jpeg_segments import joined, segments

JFIF = b'JFIF\0\1\2\0\0\1\0\1\0\0'
IDENTIFIERS = {'numbers': b'\1\2\3\4', 'zero': b'\0\1\2\3', 'letters': b'RGBK', 'inks': b'CMYK', 'swapped': b'BGRK', 'equal': b'\1\2\7\4'}


def identified(marker, payload, identifiers):
    """The frame header or the scan's with these identifiers. Scans are of all components."""
    first, step = (6, 3) if marker in (0xC0, 0xC2) else (1, 2) if marker == 0xDA else (0, 0)
    payload = bytearray(payload)
    for c in range(payload[first - 1] if step else 0):
        payload[first + step * c] = identifiers[c]
    return bytes(payload)


folder = Path(sys.argv[1])
folder.mkdir()
for name in sys.argv[2:]:
    plain = [part for part in segments(Path(name).read_bytes()) if part[0] not in (0xE0, 0xEE)]
    for jfif, adobe, (kind, identifiers) in itertools.product((0, 1), (None, 0, 1, 2, 3), IDENTIFIERS.items()):
        markers = [(0xE0, JFIF)] * jfif
        if adobe is not None:
            markers.append((0xEE, b'Adobe\0\x64\0\0\0\0' + bytes([adobe])))
        parts = markers + [(marker, identified(marker, payload, identifiers)) for marker, payload in plain]
        (folder / f'{Path(name).stem}-jfif{jfif}-adobe{adobe}-{kind}.jpg').write_bytes(joined(parts))
