#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes JPEG files with all combinations of what tells their colours: JFIF's marker, Adobe's with transform 0, 1 or 2, identifiers.

Usage: jpeg_colours.py FOLDER FILE...   FILE: of three or four components, of any sampling.
"""
import itertools
import struct
import sys
from pathlib import Path

JFIF = b'JFIF\0\1\2\0\0\1\0\1\0\0'
IDENTIFIERS = {'numbers': b'\1\2\3\4', 'zero': b'\0\1\2\3', 'letters': b'RGBK', 'inks': b'CMYK', 'swapped': b'BGRK', 'equal': b'\1\2\7\4'}


def segments(data):
    """[(marker, payload)] up to the first scan, whose payload has all the rest."""
    at, found = 2, []
    while not found or found[-1][0] != 0xDA:
        marker, length = data[at + 1], struct.unpack('>H', data[at + 2:at + 4])[0]
        end = len(data) if marker == 0xDA else at + 2 + length
        found.append((marker, data[at + 4:end]))
        at = end
    return found


def identified(marker, payload, identifiers):
    """The frame header or the scan's with these identifiers. Scans are of all components."""
    first, step = (6, 3) if marker in (0xC0, 0xC2) else (1, 2) if marker == 0xDA else (0, 0)
    payload = bytearray(payload)
    for c in range(payload[first - 1] if step else 0):
        payload[first + step * c] = identifiers[c]
    return bytes(payload)


def write(path, parts):
    data = b'\xff\xd8'
    for marker, payload in parts:
        scan_header = 1 + 2 * payload[0] + 3 if marker == 0xDA else len(payload)
        data += struct.pack('>BBH', 0xFF, marker, scan_header + 2) + payload
    path.write_bytes(data)


folder = Path(sys.argv[1])
folder.mkdir()
for name in sys.argv[2:]:
    plain = [part for part in segments(Path(name).read_bytes()) if part[0] not in (0xE0, 0xEE)]
    for jfif, adobe, (kind, identifiers) in itertools.product((0, 1), (None, 0, 1, 2, 3), IDENTIFIERS.items()):
        markers = [(0xE0, JFIF)] * jfif
        if adobe is not None:
            markers.append((0xEE, b'Adobe\0\x64\0\0\0\0' + bytes([adobe])))
        parts = markers + [(marker, identified(marker, payload, identifiers)) for marker, payload in plain]
        write(folder / f'{Path(name).stem}-jfif{jfif}-adobe{adobe}-{kind}.jpg', parts)
