#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Any number of wavelet levels with a target, read by FFmpeg's own decoder: beyond five levels the PSNR falls by less than
# 0.75 dB on a picture with noise, by less than 1.5 dB on a regular one. And targets that are larger than any frame.
# Usage: levels.py FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed".
import re, subprocess, sys, tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tally import expect, finish

ffmpeg, device = f'{sys.argv[1]}/ffmpeg', sys.argv[2] if len(sys.argv) > 2 else 'cpu'
folder = Path(tempfile.mkdtemp())


def run(*arguments):
    return subprocess.run([ffmpeg, '-hide_banner', '-y', *arguments], check=True, capture_output=True, text=True).stderr


# The most that levels may take, in dB.
PICTURES = {'mandelbrot=s=256x192:end_pts=40,noise=alls=4:all_seed=1': 0.75, 'testsrc2=s=256x192': 1.5}
NOISE = next(iter(PICTURES))


def psnr(picture, pixels, *options):
    source, packet = folder / f'{picture[:8]}-{pixels}.nut', folder / 'x.jp2'
    if not source.exists():
        run('-f', 'lavfi', '-i', picture, '-frames:v', '1', '-pix_fmt', pixels, '-c:v', 'rawvideo', source)
    run('-i', source, '-c:v', 'j2k_cuda', '-device', device, *options, packet)
    value = re.search(r'average:(\S+)', run('-i', packet, '-i', source, '-lavfi', 'psnr', '-f', 'null', '-'))[1]
    return 99 if value == 'inf' else float(value)


for picture, most in PICTURES.items():
    for pixels, ratio in ('rgb24', '8'), ('gray16le', '20'):
        for pred in 'dwt53', 'dwt97':
            options = picture, pixels, '-pred', pred, '-compression_ratio', ratio
            best = psnr(*options, '-levels', '5')
            for levels in range(6, 33):
                got = psnr(*options, '-levels', str(levels))
                expect(got > best - most, f'{picture}, {pixels}, {pred}, levels {levels}: {got} dB, with 5 levels {best}')
for target in '-frame_bytes', '-b:v':
    for size in 2**54, 2**55, 2**63 - 1:
        got = psnr(NOISE, 'rgb24', '-pred', 'dwt53', target, str(size))
        expect(got == 99, f'{target} {size}: {got} dB')
finish()
