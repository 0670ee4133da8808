#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""BD-rate of an H.264 encoder of FFmpeg against another one, by PSNR of luma at constant QPs (Bjontegaard, VCEG-M33).

    fate_tests/bench/h264_bd_rate.py [options] clip...

Negative: fewer bits at the same quality. Streams are decoded and compared by --peer, so that what counts is what a decoder
shows. --gop: P pictures. --metric, --control: SSIM and VMAF, and adaptive quantisation, which x264 has with crf alone.
"""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile
import time

X264 = "libx264 -coder 0 -bf 0 -refs 1 -preset "


class Metric:
    """A filter of FFmpeg, and what it tells of frames. Of SSIM it is the logarithm, as dB, since BD-rate takes a cubic."""

    def __init__(self, filter, frames):
        self.filter, self.frames = filter, frames


METRICS = {
    "psnr": Metric("psnr=stats_file={}:shortest=1", lambda text: [float(y) for y in re.findall(r"psnr_y:([\d.]+|inf)", text)]),
    "ssim": Metric("ssim=stats_file={}:shortest=1",
                   lambda text: [-10 * math.log10(max(1 - float(y), 1e-6)) for y in re.findall(r" Y:([\d.]+)", text)]),
    "vmaf": Metric("libvmaf=log_path={}:log_fmt=json:shortest=1",
                   lambda text: [frame["metrics"]["vmaf"] for frame in json.loads(text)["frames"]]),
}


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}\n{result.stderr}")
    return result.stderr


def point(options, ffmpeg, encoder, qp, clip, stream):
    """Bits and quality, means of a frame, and the seconds that encoding took."""
    start = time.monotonic()
    limit = ["-frames:v", str(options.frames)] if options.frames else []
    run([ffmpeg, "-v", "error", "-y", "-i", clip, *limit, "-c:v", *encoder.split(), "-g", str(options.gop), "-" + options.control, str(qp),
         "-f", "h264", stream])
    seconds = time.monotonic() - start
    metric, stats = METRICS[options.metric], stream + ".stats"
    log = run([options.peer, "-y", "-r", "25", "-i", stream, "-r", "25", "-i", clip, "-lavfi", "[0:v][1:v]" + metric.filter.format(stats),
               *limit, "-f", "null", "-"])
    with open(stats) as text:
        values = metric.frames(text.read())
    if not values:
        raise SystemExit(f"no {options.metric} of {clip}:\n{log}")
    return os.path.getsize(stream) * 8 / len(values), sum(values) / len(values), seconds


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
    parser.add_argument("--anchors", nargs="+", default=[X264 + "superfast -tune psnr", X264 + "veryfast -tune psnr"])
    parser.add_argument("--metric", choices=METRICS, default="psnr", help="by which quality is compared; vmaf: of an ffmpeg with libvmaf")
    parser.add_argument("--control", choices=["qp", "crf"], default="qp")
    parser.add_argument("--gop", type=int, default=1, help="pictures from one IDR picture to the next; 1: all-intra")
    parser.add_argument("--qps", type=int, nargs="+", default=[12, 17, 22, 27, 32, 37])
    parser.add_argument("--frames", type=int, default=0, help="of each clip; 0: all")
    options = parser.parse_args()

    mean = [0.0] * len(options.anchors)
    with tempfile.TemporaryDirectory() as folder:
        stream = os.path.join(folder, "stream.264")
        for clip in options.clips:
            def curve(ffmpeg, encoder):
                points = [point(options, ffmpeg, encoder, qp, clip, stream) for qp in options.qps]
                return [(bits, psnr) for bits, psnr, _ in points], sum(seconds for _, _, seconds in points)

            test, seconds = curve(options.ffmpeg, options.encoder)
            unit = "" if options.metric == "vmaf" else " dB"
            print(f"{os.path.basename(clip)}: {seconds:.1f} s")
            for bits, psnr in test:
                print(f"    {bits / 1000:10.1f} kbit {psnr:8.3f}{unit}")
            for i, anchor in enumerate(options.anchors):
                other, seconds = curve(options.peer, anchor)
                rate = bd_rate(other, test)
                mean[i] += rate / len(options.clips)
                print(f"    {rate:+7.2f} % against {anchor} ({seconds:.1f} s)", flush=True)
    for anchor, rate in zip(options.anchors, mean):
        print(f"mean {rate:+7.2f} % against {anchor}")


if __name__ == "__main__":
    main()
