# SPDX-License-Identifier: LGPL-2.1-or-later
"""Screens and photographs at ten sizes, from 0.1 bit/pixel to lossless: more bytes never give less PSNR, slopes that are predicted lose
next to nothing, and at equal bytes and blocks PSNR is OpenJPEG's or more. Whole screens lose little at five sizes
between these, where their parts do not show it. With the HT block coder frames that choose their steps are as
good as a bit-plane for each block, and as one step for all at the bytes of a `quality`, up to 9 to 16 bits/pixel.
A region of interest is better at equal bytes, or worse, as its offset asks for.

usage: quality.py FFMPEG_BUILD [MEDIA]. MEDIA: a folder of real pictures; without one, FFmpeg makes some.
Ends in a line "N passed, N failed".
"""
import os
import subprocess
import sys

from cases import check_all
from targets import Picture, code, encode, with_openjpeg

FFMPEG = sys.argv[1] + '/ffmpeg'
MEDIA = sys.argv[2] if len(sys.argv) > 2 else None
BITS_PER_PIXEL = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6)
FALL = 0.01  # dB: what a truncation point more may take by chance
LOSS = 0.05  # dB: of psp against pcrd
BETWEEN = (0.15, 0.35, 0.7, 1.4, 3)  # bits/pixel of whole screens
BELOW = 0.05  # dB: below OpenJPEG
HT = ('-cblk_style', 'ht', '-cblk_width', '16', '-cblk_height', '16')  # so many blocks that all have the plane of the frame's steps
HT_LOSS = {'photograph': 0, 'screen': 0.45, 'made': 1.2}  # dB: of psp against pcrd
QUALITIES = (75, 90, 95, 97, 98, 99, 100)
QUALITY_LOSS = {'photograph': 0.15, 'screen': 0.35, 'made': 0.75}  # dB: of psp with HT against a quality of that size
FULL = 0.99  # what psp with HT takes of it at least
WIDTH, HEIGHT = 384, 256
WHOLE = {'screen_gnome, whole': (1024, 768), 'screen_wireshark, whole': (1024, 741)}

# Sources of FFmpeg, and parts of files, with what is cut out from the upper left corner on.
MADE = {
    'test pattern': 'testsrc2=s=384x256',
    'screen': "color=0xece9d8:s=384x256,drawgrid=w=96:h=24:c=0x808080,drawbox=0:0:384:20:0x0a246a:fill,"
              "drawbox=40:60:200:120:white:fill,drawgrid=x=40:y=60:w=6:h=9:t=2:c=black@0.8",
    'fractal': 'mandelbrot=s=384x256:start_scale=0.02',
    'bars': 'smptehdbars=s=384x256',
}
FILES = {
    'screen_gnome': ('screen_gnome_1024x768_rgb8.png', 0, 0),
    'screen_wireshark': ('screen_wireshark_1024x741_rgb8.png', 200, 100),
    'kodim08': ('kodim08_768x512_rgb8.png', 200, 150),
    'kodim13': ('kodim13_768x512_rgb8.png', 200, 150),
    'kodim23': ('kodim23_768x512_rgb8.png', 100, 50),
    'tulips': ('tulips_2048x878_rgb8.png', 900, 300),
    'manchester': ('manchester_3840x2160_rgb8.png', 1700, 900),
}


def picture(name):
    width, height = WHOLE.get(name, (WIDTH, HEIGHT))
    if name in MADE:
        source = ['-f', 'lavfi', '-i', MADE[name]]
    else:
        file, x, y = (FILES[name.split(',')[0]][0], 0, 0) if name in WHOLE else FILES[name]
        source = ['-i', f'{MEDIA}/{file}', '-vf', f'crop={width}:{height}:{x}:{y}']
    samples = subprocess.run([FFMPEG, '-nostdin', '-v', 'error', *source, '-frames:v', '1', '-pix_fmt', 'rgb24', '-f', 'rawvideo', 'pipe:1'],
                             stdout=subprocess.PIPE, check=True).stdout
    return Picture(samples, width, height)


def check_ht(name):
    source, failures = picture(name), []
    kind = 'made' if name in MADE else 'screen' if name.startswith('screen') else 'photograph'
    for bits in (0.25, 0.5, 1, 2, 3, 4, 6):
        size = source.size(bits)
        (took, psp), (_, pcrd) = (code(FFMPEG, source, size, 'dwt97', control, HT) for control in ('psp', 'pcrd'))
        what = f'{name}, HT, {bits} bits/pixel, {size} bytes'
        if took > size:
            failures.append(f'{what}: psp takes {took}')
        if psp < pcrd - HT_LOSS[kind]:
            failures.append(f'{what}: psp has {psp:.3f} dB, pcrd {pcrd:.3f}')
    for quality in QUALITIES:
        size, whole = encode(FFMPEG, source, 'dwt97', ('-quality', str(quality), *HT))
        took, psp = code(FFMPEG, source, size, 'dwt97', 'psp', HT)
        what = f'{name}, HT, quality {quality}, {size} bytes'
        if not FULL * size <= took <= size:
            failures.append(f'{what}: psp takes {took}')
        if psp < whole - QUALITY_LOSS[kind]:
            failures.append(f'{what}: psp has {psp:.3f} dB, one step {whole:.3f}')
    return failures


def check_whole(name, pred):
    source, failures = picture(name), []
    for bits in BETWEEN:
        size = source.size(bits)
        (_, psp), (_, pcrd) = (code(FFMPEG, source, size, pred, control) for control in ('psp', 'pcrd'))
        if psp < pcrd - LOSS:
            failures.append(f'{name}, {pred}, {bits} bits/pixel, {size} bytes: psp has {psp:.3f} dB, pcrd {pcrd:.3f}')
    return failures


def check_region(name):
    source, failures = picture(name), []
    size, region = source.size(1), (128, 96, 96, 64)
    for control in ('pcrd', 'psp', 'pst'):
        options = ('-rate_control', control, '-frame_bytes', str(size), '-cblk_width', '16', '-cblk_height', '16')
        psnr = {}
        for offset in ('-1/4', '0', '1/4'):
            roi = ('-vf', 'addroi=%d:%d:%d:%d:%s' % (*region, offset))
            took, psnr[offset] = encode(FFMPEG, source, 'dwt97', (*options, *roi), region)
            if not FULL * size <= took <= size:
                failures.append(f'{name}, {control}, a region of {offset}: {took} bytes of {size}')
        if not psnr['-1/4'] > psnr['0'] + 1 or not psnr['1/4'] < psnr['0'] - 1:
            failures.append(f'{name}, {control}: regions have {psnr} dB')
    return failures


def check(job):
    name, pred = job
    if pred == 'region':
        return check_region(name)
    if name in WHOLE:
        return check_whole(name, pred)
    if pred == 'ht':
        return check_ht(name)
    source = picture(name)
    failures, last = [], {'pcrd': 0, 'psp': 0}
    for bits in (*BITS_PER_PIXEL, 24):
        size, theirs = with_openjpeg(source, source.size(bits), pred)
        what = f'{name}, {pred}, {bits} bits/pixel, {size} bytes'
        found = {}
        for control in last:
            took, found[control] = code(FFMPEG, source, size, pred, control)
            if took > size:
                failures.append(f'{what}: {control} takes {took}')
            if found[control] < last[control] - FALL:
                failures.append(f'{what}: {control} has {found[control]:.2f} dB, {last[control]:.2f} with less')
            last[control] = max(last[control], found[control])
        if found['psp'] < found['pcrd'] - LOSS:
            failures.append(f"{what}: psp has {found['psp']:.3f} dB, pcrd {found['pcrd']:.3f}")
        if found['psp'] < theirs - BELOW:
            failures.append(f"{what}: psp has {found['psp']:.3f} dB, OpenJPEG {theirs:.3f}")
    return failures


def is_there(name):
    return MEDIA and os.path.exists(f"{MEDIA}/{FILES[name.split(',')[0]][0]}")


jobs = [(name, pred) for name in [*MADE, *filter(is_there, FILES)] for pred in ('dwt97', 'dwt53', 'ht')]
jobs += [(name, 'region') for name in ('test pattern', *filter(is_there, ('kodim08', 'kodim13')))]
jobs += [(name, pred) for name in filter(is_there, WHOLE) for pred in ('dwt97', 'dwt53')]
sys.exit(check_all(check, jobs))
