#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyAV on FFmpeg's shared libraries: its packets are those of the command line, and its decoder gives the frames back.

Usage: pyav.py FFMPEG    Ends in a line "N passed, N failed".
"""
import pathlib
import subprocess
import sys
from fractions import Fraction

import av
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tally import expect, finish

WIDTH, HEIGHT, FRAMES = 176, 144, 12
rows, columns = numpy.mgrid[0:HEIGHT * 3 // 2, 0:WIDTH]
planes = [((columns + 2 * rows + 5 * n) % 256).astype(numpy.uint8) for n in range(FRAMES)]
raw = b"".join(frame.tobytes() for frame in planes)


def format_of(name):
    return "yuvj420p" if name == "mjpeg_cuda" else "yuv420p"


def encode(name, options):
    """The packets of the planes."""
    encoder = av.CodecContext.create(name, "w")
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, format_of(name)
    encoder.time_base, encoder.framerate = Fraction(1, 25), Fraction(25)
    encoder.options = options
    packets = []
    for n, frame in enumerate(planes):
        frame = av.VideoFrame.from_ndarray(frame, format=format_of(name))
        frame.pts = n
        packets += encoder.encode(frame)
    return packets + encoder.encode(None)


def of_command_line(name, options):
    arguments = [word for option, value in options.items() for word in (f"-{option}", value)]
    return subprocess.run([sys.argv[1], "-v", "error", "-f", "rawvideo", "-pixel_format", format_of(name),
                           "-video_size", f"{WIDTH}x{HEIGHT}", "-i", "pipe:0", "-c:v", name, *arguments, "-f", "image2pipe", "pipe:1"],
                          input=raw, capture_output=True, check=True).stdout


for name, options in (("j2k_cuda", {"device": "cpu", "format": "j2k", "pred": "dwt53"}),
                      ("j2k_cuda", {"device": "cpu", "format": "j2k", "quality": "80", "async_depth": "8"}),
                      ("mjpeg_cuda", {"device": "cpu", "quality": "95"})):
    packets = encode(name, options)
    expect([packet.pts for packet in packets] == list(range(FRAMES)), f"{name} {options}: timestamps")
    expect(all(packet.is_keyframe for packet in packets), f"{name} {options}: key frames")
    expect(b"".join(map(bytes, packets)) == of_command_line(name, options), f"{name} {options}: bytes")

decoder = av.CodecContext.create("mjpeg_cuda", "r")
decoder.options = {"device": "cpu"}
frames = [frame for packet in packets for frame in decoder.decode(packet)] + decoder.decode(None)
expect(len(frames) == FRAMES, f"{len(frames)} decoded frames")
for frame, plane in zip(frames, planes):
    error = numpy.mean((frame.to_ndarray().astype(float) - plane) ** 2)
    expect(error < 20, f"a mean squared error of {error}")
try:
    encode("j2k_cuda", {"device": "cpu", "pred": "lossless"})
    expect(False, "a wrong value raises")
except ValueError:
    expect(True, "a wrong value raises")

finish()
