#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The clips of h264_average.py, of 200 pictures of 352x288, 25 a second: camera (two scenes, the first of more bytes), backwards (camera's
last picture first), mixed (cuts, fades, black, a still part, heavy noise, grain), white (noise, 176x144), cuts (240 pictures, 60
each of black, a chart, noise and white) and noise_last (the same, with noise behind white).

    fate_tests/bench/h264_clips.py FFMPEG MEDIA FOLDER

FFMPEG has the filters scale and crop and the decoder FFV1, as build/ffmpeg-7.1-fate/ffmpeg does.
"""
import os
import random
import subprocess
import sys

WIDTH, HEIGHT = 352, 288
LUMA = WIDTH * HEIGHT
BYTES = LUMA * 3 // 2
BLACK = bytes([16]) * LUMA + bytes([128]) * (BYTES - LUMA)


def pictures(ffmpeg, path):
    command = [ffmpeg, '-v', 'error', '-nostdin', '-i', path, '-vf', 'scale=-1:288:flags=lanczos,crop=352:288', '-f', 'rawvideo', '-']
    data = subprocess.run(command, check=True, capture_output=True).stdout
    return [data[i:i + BYTES] for i in range(0, len(data), BYTES)]


def clip8(value):
    return max(0, min(255, round(value)))


def dimmed(picture, part):
    luma = bytes(clip8(16 + (v - 16) * part) for v in range(256))
    chroma = bytes(clip8(128 + (v - 128) * part) for v in range(256))
    return picture[:LUMA].translate(luma) + picture[LUMA:].translate(chroma)


def noisy(rng, picture, deviation):
    values = [round(rng.gauss(0, deviation)) for _ in range(65537)]
    rng.randrange(65536)  # so that the clips stay those of the documentation
    return bytes(max(0, min(255, a + b)) for a, b in zip(picture, rng.choices(values, k=BYTES)))


def cuts(rng):
    chart = bytes(16 + (x // 8 * 29 + y // 8 * 13) % 200 for y in range(HEIGHT) for x in range(WIDTH)) + BLACK[LUMA:]
    noise = [rng.randbytes(BYTES) for _ in range(60)]
    white = bytes([235]) * LUMA + BLACK[LUMA:]
    return [BLACK] * 60 + [chart] * 60, noise, [white] * 60


def save(path, clip, width, height):
    with open(path, 'wb') as out:
        out.write(b'YUV4MPEG2 W%d H%d F25:1 Ip A0:0 C420jpeg\n' % (width, height))
        for picture in clip:
            out.write(b'FRAME\n' + picture)


def main():
    ffmpeg, media, folder = sys.argv[1:]
    lab, road, street = (pictures(ffmpeg, f'{media}/{name}_yuv420p.mkv') for name in ('lab_352x288_60f', 'road_352x288_60f', 'street_1280x720_24f'))
    rng = random.Random(1)
    camera = (lab + lab[::-1] + road + road[::-1])[:200]
    mixed = lab[:30] + road[:28] + [dimmed(p, 1 - (i + 1) / 13) for i, p in enumerate(road[28:40])] + [BLACK] * 14
    mixed += [dimmed(p, min(1, (i + 1) / 10)) for i, p in enumerate(street)] + [street[-1]] * 20
    mixed += [noisy(rng, p, 40) for p in road[:24]] + [noisy(rng, p, 8) for p in street]
    mixed += lab[:6] + road[10:16] + street[3:9] + lab[30:36]
    flat, noise, bright = cuts(random.Random(2))
    os.makedirs(folder, exist_ok=True)
    for name, clip in (('camera', camera), ('backwards', camera[::-1]), ('mixed', mixed[:200]), ('cuts', flat + noise + bright),
                       ('noise_last', flat + bright + noise)):
        save(f'{folder}/{name}.y4m', clip, WIDTH, HEIGHT)
    save(f'{folder}/white.y4m', [rng.randbytes(176 * 144 * 3 // 2) for _ in range(200)], 176, 144)


if __name__ == '__main__':
    main()
