# SPDX-License-Identifier: LGPL-2.1-or-later
"""Intra refresh in FFmpeg's decoder: a stream that begins with a recovery point, or has lost a picture or a slice, has the samples of
the whole one once a refresh has passed.

Usage: h264_refresh.py FFMPEG_BUILD; DEVICE=cpu. Ends in a line "N passed, N failed".
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tally import expect, finish

FFMPEG, DEVICE = sys.argv[1] + '/ffmpeg', os.environ.get('DEVICE', 'cpu')
AUD = b'\0\0\0\1\x09'
PICTURES = 48


def run(*arguments, data=b''):
    return subprocess.run([FFMPEG, '-nostdin', '-v', 'error', *arguments], input=data, capture_output=True, check=False).stdout


def hashes(stream):
    """Of the pictures that the decoder shows, broken ones too."""
    lines = run('-flags', '+output_corrupt', '-f', 'h264', '-i', 'pipe:0', '-fps_mode', 'passthrough', '-f', 'framemd5', '-', data=stream).decode()
    return [line.split(',')[-1].strip() for line in lines.splitlines() if line and line[0] != '#']


def without_slice(unit):
    """Without its last NAL unit."""
    return unit[:unit.rindex(b'\0\0\1') - (unit[unit.rindex(b'\0\0\1') - 1] == 0)]


def check(refresh, options, size):
    stream = run('-f', 'lavfi', '-i', f'testsrc2=s={size}:r=25,noise=alls=8:allf=t', '-frames:v', str(PICTURES), '-pix_fmt', 'yuv420p',
                 '-c:v', 'h264_cavlc_cuda', '-device', DEVICE, '-g', '1000', '-sc_threshold', '0', '-intra_refresh', str(refresh), '-aud', '1',
                 *options.split(), '-f', 'h264', '-')
    units = [AUD + part for part in stream.split(AUD)[1:]]
    wanted = hashes(stream)
    what = f'{size}, {refresh} pictures, {options}'
    expect(len(units) == len(wanted) == PICTURES, f'{what}: {len(units)} access units, {len(wanted)} pictures')
    points = [n for n, unit in enumerate(units) if b'\0\0\1\x06\x06' in unit]
    expect(points == list(range(1, PICTURES, refresh)), f'{what}: recovery points {points}')
    wrong = 0

    def check_end(units, first, how):
        """Of a refresh that begins with picture `first` the last picture is exact, and so are those behind it."""
        exact = PICTURES - (first + refresh - 1)
        own = hashes(b''.join(units))
        expect(own[-exact:] == wanted[-exact:], f'{what}, {how}: not the pictures of the whole stream')
        return own[-exact - 1:] != wanted[-exact - 1:]

    for point in [point for point in points if point + refresh < PICTURES]:
        wrong += check_end(units[point:], point, f'from picture {point} on')
        behind = point + refresh // 2  # within the refresh
        after = next((n for n in points if n > behind and n + refresh < PICTURES), None)
        if after:
            wrong += check_end(units[:behind] + units[behind + 1:], after, f'without picture {behind}')
            if '-slices' in options:
                wrong += check_end(units[:behind] + [without_slice(units[behind])] + units[behind + 1:], after, f'without a slice of {behind}')
    expect(wrong > 2, f'{what}: {wrong} pictures before the end of a refresh are wrong')


check(5, '-profile baseline -qp 30', '176x144')
check(9, '-profile baseline -b:v 300k -bufsize 60k -maxrate 300k -slices 3', '160x96')
check(11, '-qp 24', '174x66')
check(15, '-qp 38 -deblock 0', '90x70')
finish()
