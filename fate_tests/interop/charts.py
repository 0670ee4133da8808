# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures that are no photographs, coded to targets of size: more bytes never give less PSNR. On regular patterns all coefficients of
a sub-band are alike, so that errors of estimated distortions do not cancel. Slopes that are predicted lose next to nothing. At equal
bytes and blocks PSNR is OpenJPEG's or more, in the mean over OpenJPEG's different codestreams. For that, samples are 48 to 208: of black and white decoders
clamp what overshoots, which is chance (docs/experiments/rate-control-distortion.md).

usage: charts.py FFMPEG_BUILD. Ends in a line "N passed, N failed".
"""
import math
import random
import sys

from cases import check_all
from targets import Picture, code, with_openjpeg

FFMPEG = sys.argv[1] + '/ffmpeg'
SIDE = 256
BITS_PER_PIXEL = (0.1, 0.25, 0.35, 0.5, 0.7, 1, 1.5, 2, 2.55, 3, 3.27, 4, 5, 6)
FALL = 0.01  # dB: what a truncation point more may take by chance
LOSS = 0.05  # dB: of psp against pcrd
BELOW = 0.05  # dB: of the mean below OpenJPEG's

numbers = random.Random(1)
glyphs = [[numbers.random() < 0.45 for _ in range(35)] for _ in range(40)]
line = [numbers.randrange(40) for _ in range(SIDE // 6 + 1) for _ in range(SIDE // 9 + 1)]
noise = [numbers.randrange(256) for _ in range(SIDE * SIDE)]


def text(x, y):
    column, row, i, j = x // 6, y // 9, x % 6, y % 9
    return 0 if i < 5 and j < 7 and glyphs[line[row * (SIDE // 6 + 1) + column]][5 * j + i] else 255


def wave(period, x):
    return round(127.5 + 127.5 * math.sin(2 * math.pi * x / period))


def line_up(x, y):
    if min(x, y, SIDE - 1 - x, SIDE - 1 - y) < 2 or abs(math.hypot(x - 128, y - 128) - 100) < 1:
        return 255
    if y < 64:
        return 255 * (x // 32) // 7
    if y > 192:
        return (16, 235)[x // 4 % 2] if x < 128 else (0, 255)[x // 2 % 2]
    if x % 32 == 0 or y % 32 == 0:
        return 255
    return 255 * ((3 * (x - 32) + y - 128) % 48 < 24) if x < 64 else 96


CHARTS = {f'checks of {n}': lambda x, y, n=n: 255 * ((x // n + y // n) % 2) for n in range(1, 17)}
CHARTS |= {
    'zone plate': lambda x, y: round(127.5 + 127.5 * math.cos(((x - 128) ** 2 + (y - 128) ** 2) * math.pi / SIDE)),
    'multiburst': lambda x, y: wave((2, 3, 4, 6, 8, 12, 16, 32)[x // 32], x),
    'ramp': lambda x, y: x,
    'diagonal ramp': lambda x, y: (x + y) // 2,
    'steps': lambda x, y: x // 8 * 8,
    'line-up': line_up,
    'lines': lambda x, y: 255 if x % 16 == 0 or y % 16 == 0 else 128,
    'text': text,
    'noise': lambda x, y: noise[y * SIDE + x],
}
# What 9/7 of three bit-planes of estimate had no more than, whatever the target: dB at bits/pixel.
FLOORS = {'checks of 4': {3.27: 55, 4: 60}}


def check(job):
    name, pred = job
    samples = bytes(CHARTS[name](x, y) for y in range(SIDE) for x in range(SIDE))
    chart, inner = Picture(samples, SIDE, SIDE), Picture(bytes(48 + (v * 160 + 127) // 255 for v in samples), SIDE, SIDE)
    failures, last, more = [], 0, {}
    for bits in BITS_PER_PIXEL:
        target = chart.size(bits)
        size, now = code(FFMPEG, chart, target, pred, 'pcrd')
        what = f'{name}, {pred}, {bits} bits/pixel'
        if size > target:
            failures.append(f'{what}: {size} bytes, {target} allowed')
        if now < last - FALL:
            failures.append(f'{what}: {now:.2f} dB, {last:.2f} with less')
        if pred == 'dwt97' and now < FLOORS.get(name, {}).get(bits, 0):
            failures.append(f'{what}: {now:.2f} dB')
        last = max(last, now)
        size, predicted = code(FFMPEG, chart, target, pred, 'psp')
        if size > target or predicted < now - LOSS:
            failures.append(f'{what}: psp has {predicted:.2f} dB in {size} bytes, pcrd {now:.2f}')
        size, theirs = with_openjpeg(inner, target, pred)
        if size not in more:  # where OpenJPEG has no more to give, its codestream stays the same
            more[size] = code(FFMPEG, inner, size, pred, 'psp')[1] - theirs
    mean = sum(more.values()) / len(more)
    if mean < -BELOW:
        failures.append(f'{name}, {pred}: {mean:.3f} dB beside OpenJPEG')
    return failures


jobs = [(name, pred) for name in CHARTS for pred in ('dwt97', 'dwt53')]
sys.exit(check_all(check, jobs))
