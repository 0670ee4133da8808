#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""AVC-Intra and XAVC Intra for bmx, the MXF library of raw2bmx and mxf2raw: it reads what FFmpeg's muxer wrote, and writes MXF
itself, as it does of libx264's streams. bmx comes with Python's mxfuse (pip install mxfuse).

Usage: bmx.py FFMPEG_BUILD. Ends in a line "N passed, N failed".
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tally import expect, finish  # noqa: E402

try:
    import mxfuse
except ImportError:
    mxfuse = None

BUILD = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(tempfile.mkdtemp())
FRAMES = 2
PARSED = (30, 'AVC_High_422_Intra')  # bmx parses the stream
# Class, flavor, size, frame rate, mark; bmx's EssenceType, of which mxfuse names few, and what bmx calls it; what it calls FFmpeg's file.
CASES = (
    (100, 'panasonic', '1920x1080', (25, 1), 'tff', (15, 'AVCI_100_1080i'), 'AVCI_100_1080i'),
    (100, 'panasonic', '1920x1080', (30000, 1001), 'tff', (15, 'AVCI_100_1080i'), 'AVCI_100_1080i'),
    (100, 'panasonic', '1920x1080', (25, 1), 'prog', (16, 'AVCI_100_1080p'), 'AVCI_100_1080p'),
    (100, 'panasonic', '1280x720', (50, 1), 'prog', (17, 'AVCI_100_720p'), 'AVCI_100_720p'),
    (200, 'panasonic', '1920x1080', (25, 1), 'tff', (12, 'AVCI_200_1080i'), 'AVC_High_422_Intra'),
    (100, 'sony', '1920x1080', (25, 1), 'tff', PARSED, 'AVCI_100_1080i'),
    (200, 'sony', '1920x1080', (30000, 1001), 'tff', PARSED, 'AVC_High_422_Intra'),
    (300, 'sony', '3840x2160', (25, 1), 'prog', PARSED, 'AVC_High_422_Intra'),
)


def ffmpeg(*options, program=BUILD / 'ffmpeg'):
    command = [str(part) for part in (program, '-nostdin', '-y', '-v', 'error', *options)]
    return subprocess.run(command, capture_output=True, check=False)


def encode(file, size, rate, mark, *options, **kind):
    return ffmpeg('-f', 'lavfi', '-i', f'testsrc2=s={size}:r={rate[0]}/{rate[1]}', '-frames:v', FRAMES, '-pix_fmt', 'yuv422p10le',
                  '-vf', f'format=yuv422p10le,setfield={mark}', *options, file, **kind)


def read(file):
    """What bmx says of the picture, and the frames."""
    with open(file, 'rb') as source, mxfuse.open_mxf(source) as clip:
        return clip.tracks[0], [package.frames[0].data for package in clip.read(count=FRAMES + 1)]


def write(file, frames, rate, essence):
    spec = mxfuse.ClipSpec(edit_rate=rate, duration=len(frames), tracks=[mxfuse.TrackSpec(essence)])
    with open(file, 'wb') as sink, mxfuse.write_mxf(sink, spec) as clip:
        for frame in frames:
            clip.write_unit(frame)


def pictures(file):
    done = ffmpeg('-i', file, '-f', 'md5', '-')
    return done.stdout + done.stderr


def check(number, flavor, size, rate, mark, essence, read_as):
    what = f'class {number} of {flavor}, {size}, {rate[0]}/{rate[1]} frames/s, {mark}'
    own, again, theirs = FOLDER / 'own.mxf', FOLDER / 'bmx.mxf', FOLDER / 'x264.mxf'
    done = encode(own, size, rate, mark, '-c:v', 'h264_cavlc_cuda', '-device', 'cpu', '-avcintra-class', number, '-avcintra-flavor', flavor)
    expect(done.returncode == 0, f'{what}: {done.stderr.decode()}')
    track, frames = read(own)
    expect(track.essence_type == read_as and len(frames) == FRAMES, f'{what}: FFmpeg\'s file is {track.essence_type}, {len(frames)} frames')
    write(again, frames, rate, essence[0])
    written, back = read(again)
    expect(written.essence_type == essence[1] and back == frames, f'{what}: bmx wrote {written.essence_type}')
    expect(pictures(again) == pictures(own), f'{what}: other pictures in bmx\'s file')
    fields = ('-flags', '+ildct+ilme') if mark == 'tff' else ()
    x264 = shutil.which('ffmpeg') and encode(theirs, size, rate, mark, *fields, '-c:v', 'libx264', '-avcintra-class', number,
                                             '-x264-params', f'avcintra-flavor={flavor}', program='ffmpeg')
    if not x264 or x264.returncode:
        print('skipped: no ffmpeg with libx264 of 10 bits here')
        return
    write(again, read(theirs)[1], rate, essence[0])
    expect(read(again)[0] == written, f'{what}: {written}, libx264\'s is {read(again)[0]}')


def main():
    if mxfuse:
        for case in CASES:
            check(*case)
    else:
        print('skipped: no mxfuse here, which has bmx')
    shutil.rmtree(FOLDER)
    finish()


if __name__ == '__main__':
    main()
