#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""BD-rate of an H.264 encoder of FFmpeg against another one, all-intra: PSNR of luma at constant QPs (Bjontegaard, VCEG-M33).

    fate_tests/bench/h264_bd_rate.py [options] clip...

Negative: fewer bits at the same PSNR. Streams are decoded and compared by --ffmpeg, so that what counts is what a decoder shows.
"""
import argparse
import math
import os
import re
import subprocess
import tempfile
import time

X264 = "libx264 -tune psnr -g 1 -coder 0 -preset "


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
    return result.stderr


def point(ffmpeg, decoder, encoder, qp, clip, frames, stream):
    """Bits and PSNR of luma, means of a frame, and the seconds that encoding took."""
    start = time.monotonic()
    limit = ["-frames:v", str(frames)] if frames else []
    run([ffmpeg, "-v", "error", "-y", "-i", clip, *limit, "-c:v", *encoder.split(), "-qp", str(qp), "-f", "h264", stream])
    seconds = time.monotonic() - start
    log = run([decoder, "-r", "25", "-i", stream, "-r", "25", "-i", clip, "-lavfi", "[0:v][1:v]psnr=stats_file=" + stream + ".psnr:shortest=1",
               *limit, "-f", "null", "-"])
    with open(stream + ".psnr") as stats:
        psnr = [float(y) for y in re.findall(r"psnr_y:([\d.]+|inf)", stats.read())]
    if not psnr:
        raise SystemExit(f"no PSNR of {clip}:\n{log}")
    return os.path.getsize(stream) * 8 / len(psnr), sum(psnr) / len(psnr), seconds


def cubic(xs, ys):
    """Coefficients of the polynomial of degree 3 of least squares, the constant first."""
    rows = [[sum(x ** (i + j) for x in xs) for j in range(4)] + [sum(y * x**i for x, y in zip(xs, ys))] for i in range(4)]
    for i in range(4):
        pivot = max(range(i, 4), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(4):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][4] / rows[i][i] for i in range(4)]


def bd_rate(anchor, test):
    low = max(min(p for _, p in curve) for curve in (anchor, test))
    high = min(max(p for _, p in curve) for curve in (anchor, test))
    middle = (low + high) / 2

    def integral(curve):
        c = cubic([p - middle for _, p in curve], [math.log(bits) for bits, _ in curve])
        return sum(c[i] * ((high - middle) ** (i + 1) - (low - middle) ** (i + 1)) / (i + 1) for i in range(4))

    return (math.exp((integral(test) - integral(anchor)) / (high - low)) - 1) * 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--ffmpeg", default="build/bin/ffmpeg", help="has the encoder that is tested")
    parser.add_argument("--encoder", default="h264_cavlc_cuda -device cpu", help="its name and options")
    parser.add_argument("--peer", default="ffmpeg", help="an ffmpeg that has the anchors, and decodes")
    parser.add_argument("--anchors", nargs="+", default=[X264 + "superfast", X264 + "veryfast"])
    parser.add_argument("--qps", type=int, nargs="+", default=[12, 17, 22, 27, 32, 37])
    parser.add_argument("--frames", type=int, default=0, help="of each clip; 0: all")
    options = parser.parse_args()

    mean = [0.0] * len(options.anchors)
    with tempfile.TemporaryDirectory() as folder:
        stream = os.path.join(folder, "stream.264")
        for clip in options.clips:
            def curve(ffmpeg, encoder):
                points = [point(ffmpeg, options.peer, encoder, qp, clip, options.frames, stream) for qp in options.qps]
                return [(bits, psnr) for bits, psnr, _ in points], sum(seconds for _, _, seconds in points)

            test, seconds = curve(options.ffmpeg, options.encoder)
            print(f"{os.path.basename(clip)}: {seconds:.1f} s")
            for bits, psnr in test:
                print(f"    {bits / 1000:10.1f} kbit {psnr:8.3f} dB")
            for i, anchor in enumerate(options.anchors):
                other, seconds = curve(options.peer, anchor)
                rate = bd_rate(other, test)
                mean[i] += rate / len(options.clips)
                print(f"    {rate:+7.2f} % against {anchor} ({seconds:.1f} s)", flush=True)
    for anchor, rate in zip(options.anchors, mean):
        print(f"mean {rate:+7.2f} % against {anchor}")


if __name__ == "__main__":
    main()
