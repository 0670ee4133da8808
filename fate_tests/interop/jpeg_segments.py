# SPDX-License-Identifier: LGPL-2.1-or-later
"""A JPEG file's marker segments, apart and joined.
"""
import struct


def segments(data):
    """[(marker, payload)] up to the first scan, whose payload has all the rest, coded data too."""
    at, found = 2, []
    while not found or found[-1][0] != 0xDA:
        marker, length = data[at + 1], struct.unpack('>H', data[at + 2:at + 4])[0]
        end = len(data) if marker == 0xDA else at + 2 + length
        found.append((marker, data[at + 4:end]))
        at = end
    return found


def joined(parts, before=b'\xff\xd8', fill=b''):
    text = before
    for marker, payload in parts:
        length = 6 + 2 * payload[0] if marker == 0xDA else len(payload) + 2  # of a scan's header
        text += fill + bytes([0xFF, marker]) + struct.pack('>H', length) + payload
    return text
