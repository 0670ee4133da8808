"""Pictures that are no photographs, coded to targets of size: more bytes never give less PSNR. On regular patterns all coefficients of
a sub-band are alike, so that errors of estimated distortions do not cancel. Slopes that are predicted lose next to nothing. At equal
bytes and blocks the mean PSNR over all rates is OpenJPEG's or more, but for four patterns of checks; at a single one chance decides whose steps lie better.

usage: charts.py FFMPEG_BUILD. Ends in a line "N passed, N failed". SPDX-License-Identifier: LGPL-2.1-or-later
"""
import concurrent.futures
import math
import os
import random
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
SIDE = 256
BITS_PER_PIXEL = (0.1, 0.25, 0.5, 1, 1.5, 2, 2.55, 3, 3.27, 4, 5, 6)
FALL = 0.01  # dB: what a truncation point more may take by chance
LOSS = 0.1  # dB: of psp against pcrd
BELOW = 0.05  # dB: of the mean below OpenJPEG's, where more than CAP counts as that
CAP = 60
BELOW_OF = {('checks of 2', 'dwt97'): 0.6, ('checks of 3', 'dwt97'): 0.25, ('checks of 4', 'dwt97'): 0.25, ('checks of 5', 'dwt97'): 0.1}

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


def psnr(error):
    return 120 if error == 0 else 10 * math.log10(255 ** 2 * SIDE * SIDE / error)


def decode(path, samples):
    """The PSNR of a codestream."""
    subprocess.run(['opj_decompress', '-quiet', '-i', path, '-o', path + '.pgm'], check=True, stdout=subprocess.DEVNULL)
    with open(path + '.pgm', 'rb') as file:
        decoded = file.read()[-SIDE * SIDE:]
    return psnr(sum((a - b) * (a - b) for a, b in zip(samples, decoded)))


def openjpeg(samples, bits, pred):
    """The bytes of OpenJPEG's codestream, which may be a few more than were asked for, and its PSNR."""
    with tempfile.TemporaryDirectory() as where:
        path = where + '/chart.j2k'
        with open(where + '/in.pgm', 'wb') as file:
            file.write(b'P5\n%d %d\n255\n' % (SIDE, SIDE) + samples)
        subprocess.run(['opj_compress', '-i', where + '/in.pgm', '-o', path, '-b', '32,32', '-r', f'{8 / bits:.4f}'] +
                       (['-I'] if pred == 'dwt97' else []), check=True, stdout=subprocess.DEVNULL)
        return os.path.getsize(path), decode(path, samples)


def code(samples, size, pred, control):
    """The bytes of a chart, and its PSNR as OpenJPEG decodes it."""
    with tempfile.TemporaryDirectory() as where:
        path = where + '/chart.j2k'
        data = subprocess.run([BUILD + '/ffmpeg', '-nostdin', '-v', 'error', '-f', 'rawvideo', '-pixel_format', 'gray', '-video_size',
                               f'{SIDE}x{SIDE}', '-i', 'pipe:0', '-c:v', 'j2k_cuda', '-device', 'cpu', '-pred', pred, '-rate_control',
                               control, '-frame_bytes', str(size), '-format', 'j2k', '-f', 'image2pipe', 'pipe:1'], input=samples,
                              stdout=subprocess.PIPE, check=True).stdout
        with open(path, 'wb') as file:
            file.write(data)
        return len(data), decode(path, samples)


def target(bits):
    return int(bits * SIDE * SIDE / 8)


def check(job):
    name, pred = job
    samples = bytes(CHARTS[name](x, y) for y in range(SIDE) for x in range(SIDE))
    failures, last, more = [], 0, 0
    for bits in BITS_PER_PIXEL:
        size, now = code(samples, target(bits), pred, 'pcrd')
        what = f'{name}, {pred}, {bits} bits/pixel'
        if size > target(bits):
            failures.append(f'{what}: {size} bytes, {target(bits)} allowed')
        if now < last - FALL:
            failures.append(f'{what}: {now:.2f} dB, {last:.2f} with less')
        if pred == 'dwt97' and now < FLOORS.get(name, {}).get(bits, 0):
            failures.append(f'{what}: {now:.2f} dB')
        last = max(last, now)
        size, predicted = code(samples, target(bits), pred, 'psp')
        if size > target(bits) or predicted < now - LOSS:
            failures.append(f'{what}: psp has {predicted:.2f} dB in {size} bytes, pcrd {now:.2f}')
        size, theirs = openjpeg(samples, bits, pred)
        more += min(code(samples, size, pred, 'psp')[1], CAP) - min(theirs, CAP)
    if more < -BELOW_OF.get(job, BELOW) * len(BITS_PER_PIXEL):
        failures.append(f'{name}, {pred}: {more / len(BITS_PER_PIXEL):.2f} dB beside OpenJPEG')
    return failures


jobs = [(name, pred) for name in CHARTS for pred in ('dwt97', 'dwt53')]
failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for failures in pool.map(check, jobs):
        failed += bool(failures)
        for failure in failures:
            print('FAILED', failure)
print(f'{len(jobs) - failed} passed, {failed} failed')
sys.exit(bool(failed))
