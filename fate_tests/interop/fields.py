#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes an AVI whose packets are two JPEG files each, or two JPEG 2000 codestreams: the fields of a frame.

Usage: fields.py WIDTH HEIGHT FILE... >AVI   HEIGHT: of a frame; an even number of files.
"""
import struct
import sys


def chunk(name, data):
    return name + struct.pack('<I', len(data)) + data + b'\0' * (len(data) % 2)


def chunk_list(kind, *chunks):
    return chunk(b'LIST', kind + b''.join(chunks))


width, height = map(int, sys.argv[1:3])
files = [open(name, 'rb').read() for name in sys.argv[3:]]
tag = b'MJPG' if files[0].startswith(b'\xff\xd8') else b'MJ2C'
packets = [files[i] + files[i + 1] for i in range(0, len(files), 2)]
main_header = struct.pack('<14I', 40000, 0, 0, 0, len(packets), 0, 1, 0, width, height, 0, 0, 0, 0)
stream_header = struct.pack('<4s4sIHHIIIIIIII4H', b'vids', tag, 0, 0, 0, 0, 1, 25, 0, len(packets), 0, 0, 0, 0, 0,
                            width, height)
picture_header = struct.pack('<IiiHH4s5I', 40, width, height, 1, 24, tag, width * height * 3, 0, 0, 0, 0)
headers = chunk_list(b'hdrl', chunk(b'avih', main_header),
                     chunk_list(b'strl', chunk(b'strh', stream_header), chunk(b'strf', picture_header)))
movie = chunk_list(b'movi', *(chunk(b'00dc', packet) for packet in packets))
sys.stdout.buffer.write(chunk(b'RIFF', b'AVI ' + headers + movie))
