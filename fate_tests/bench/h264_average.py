#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How well h264_cavlc_cuda and x264 keep -b:v, and what that costs: deviation over a clip, and over its repetitions in 1000 frames, and
PSNR of luma, mean of the clip, against the encoder's own constant QP (or quality) of as many bytes. "At best": no pictures from QP 1 on, in a
buffer that is as empty as Annex C allows, have more. Clips have 25 frames a second; h264_clips.py makes those of docs/reliability.md.

    fate_tests/bench/h264_average.py FFMPEG clip...

FFMPEG has the encoder, the filter psnr and the muxers nut, framecrc and yuv4mpegpipe, as build/ffmpeg-7.1-fate/ffmpeg does. x264: superfast,
intra, CAVLC, -tune psnr.
"""
import math
import os
import re
import subprocess
import sys
import tempfile

FPS = 25
X264 = ['x264', '--preset', 'superfast', '--tune', 'psnr', '--psnr', '--keyint', '1', '--no-cabac', '--threads', '1', '--fps', str(FPS),
        '--verbose', '--demuxer', 'y4m', '-o', '/dev/null', '-']
# kbit/s of -b:v, -maxrate (0: none; -1: CBR) and kbit of -bufsize.
CASES = ((2000, 10000, 10000), (3000, 5000, 5000), (4000, 4000, 4000), (1000, 2000, 2000), (2000, 0, 0), (4000, 0, 0), (8000, 0, 0),
         (500, 0, 0), (2000, 2000, 800), (2000, 2000, 400), (2000, 2000, 200), (2000, -1, 2000), (2000, -1, 400))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lengths_of(clip):
    """Frames of the clip, and those of its repetitions in 1000."""
    with open(clip, 'rb') as file:
        frames = file.read().count(b'FRAME\n')
    return frames, 1000 // frames * frames


def input_of(clip, frames):
    return ['-v', 'error', '-nostdin', '-y', '-stream_loop', '-1', '-i', clip, '-frames:v', str(frames)]


def by_ours(ffmpeg, clip, frames, options, where):
    """Bytes and PSNR of pictures."""
    stream = where + '/stream.nut'
    run(ffmpeg, *input_of(clip, frames), '-c:v', 'h264_cavlc_cuda', '-device', 'cpu', *options, stream)
    packets = run(ffmpeg, '-v', 'error', '-nostdin', '-i', stream, '-c', 'copy', '-f', 'framecrc', '-').splitlines()
    same_clock = f'settb=1/{FPS},setpts=N'
    run(ffmpeg, '-v', 'error', '-nostdin', '-y', '-i', stream, '-i', clip, '-lavfi',
        f'[0:v]{same_clock}[a];[1:v]{same_clock}[b];[a][b]psnr=shortest=1:stats_file={where}/psnr', '-frames:v', str(lengths_of(clip)[0]), '-f', 'null', '-')
    with open(where + '/psnr') as stats:
        psnr = [min(100, float(y)) for y in re.findall(r'psnr_y:([\d.]+|inf)', stats.read())]
    return [int(p.split(',')[4]) for p in packets if p[0] != '#'], psnr


def by_x264(ffmpeg, clip, frames, options, _):
    source = subprocess.Popen([ffmpeg, *input_of(clip, frames), '-vf', 'setsar=1', '-f', 'yuv4mpegpipe', '-'], stdout=subprocess.PIPE)
    said = subprocess.run(X264[:-1] + options + X264[-1:], stdin=source.stdout, check=True, capture_output=True, text=True).stderr
    found = re.findall(r'frame= *\d+.*size=(\d+).*|$', said)
    return [int(size) for size in found if size], [float(y) for y in re.findall(r'PSNR Y: *([\d.]+)', said)][:lengths_of(clip)[0]]


def at_constant(curve, budget):
    """PSNR of so many bytes; the curve falls."""
    for (more, better), (fewer, worse) in zip(curve, curve[1:]):
        if fewer <= budget <= more:
            return better + (worse - better) * math.log(more / budget) / math.log(more / fewer)
    return math.nan


def at_best(largest, rate, size, lengths):
    """What pictures have at most of so many bytes/s, in %, over so many frames: the decoder's buffer is nine tenths full at first,
    and then takes no more than `size` bytes."""
    fullness, spent, off = size * 0.9, 0, []
    for n in range(lengths[1]):
        picture = min(largest[n % lengths[0]], fullness)
        fullness = min(fullness - picture + rate / FPS, size)
        spent += picture
        if n + 1 in lengths:
            off.append((spent * FPS / (n + 1) / rate - 1) * 100)
    return off


def main():
    ffmpeg, *clips = sys.argv[1:]
    with tempfile.TemporaryDirectory() as where:
        for clip in clips:
            frames, repeated = lengths = lengths_of(clip)
            for name, encode, constant in ('h264_cavlc_cuda', by_ours, '-crf'), ('x264', by_x264, '--qp'):
                curve, largest = [], []
                for qp in range(1, 52):
                    sizes, psnr = encode(ffmpeg, clip, frames, [constant, str(qp)], where)
                    largest = largest or sizes
                    curve.append((sum(sizes), sum(psnr) / frames))
                for rate, most, size in CASES:
                    ours = name != 'x264'
                    options = ['-b:v', f'{rate}k'] if ours else ['--bitrate', str(rate)]
                    if most < 0:
                        options += ['-cbr', '1', '-bufsize', f'{size}k'] if ours else \
                            ['--vbv-maxrate', str(rate), '--vbv-bufsize', str(size), '--nal-hrd', 'cbr']
                    elif most:
                        options += ['-maxrate', f'{most}k', '-bufsize', f'{size}k'] if ours else \
                            ['--vbv-maxrate', str(most), '--vbv-bufsize', str(size)]
                    sizes, psnr = encode(ffmpeg, clip, repeated, options, where)
                    off = [(sum(sizes[:n]) * 8 * FPS / n / rate / 1000 - 1) * 100 for n in lengths]
                    gain = '' if most < 0 else f', {sum(psnr) / frames - at_constant(curve, sum(sizes[:frames])):+.2f} dB'
                    best = at_best(largest, most * 125, size * 125, lengths) if most == rate else []
                    gain += ''.join(f'{"," if i else "; at best"} {b:+.1f} %' for i, b in enumerate(best))
                    print(f'{os.path.basename(clip)}: {name} {rate}k, {most}k, {size}k: {off[0]:+.1f} %, {off[1]:+.1f} %{gain}', flush=True)


if __name__ == '__main__':
    main()
