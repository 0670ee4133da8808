#!/usr/bin/env python3
"""Picture files to JP2 files of the same names, sizes, depths and ICC profiles, by ffmpeg with j2k_cuda.

Usage: to_jp2.py [--ffmpeg PATH] [--verify] OUTPUT_FOLDER FILE... [-- OPTION...]
Files of one size and pixel format go through one process, so that frames are in flight; the others have their own.
Options are ffmpeg's, such as -q:v 90; without them the files are lossless. A file that exists is kept.
--verify decodes each file and compares its pixels with the source's. SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def probe(ffprobe, file):
    """(ending, width, height, pixel format, kinds of side data), or the error that ffprobe printed. A picture without an ICC
    profile would get that of one before it in its process, so side data tells pictures apart too."""
    run = subprocess.run([ffprobe, "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#1",
                          "-show_entries", "stream=width,height,pix_fmt:frame_side_data=side_data_type", "-of", "json",
                          str(file)], capture_output=True, text=True)
    found = json.loads(run.stdout or "{}")
    if run.returncode or not found.get("streams") or not found.get("frames"):
        return f"{file}: {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else 'no picture'}"
    stream = found["streams"][0]
    side_data = tuple(one["side_data_type"] for one in found["frames"][0].get("side_data_list", ()))
    return file.suffix, stream["width"], stream["height"], stream.get("pix_fmt"), side_data


def target_of(folder, file):
    return folder / (file.stem + ".jp2")


def encode(ffmpeg, files, folder, options):
    """Encodes files that are alike. They get numbers by links, since image2 takes patterns."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".to_jp2.") as work:
        for number, file in enumerate(files):
            os.symlink(file.resolve(), f"{work}/{number:08d}{file.suffix}")
        subprocess.run([ffmpeg, "-nostdin", "-v", "error", "-i", f"{work}/%08d{files[0].suffix}", "-c:v", "j2k_cuda",
                        *(options or ["-pred", "dwt53"]), "-fps_mode", "passthrough", "-start_number", "0",
                        f"{work}/%08d.jp2"], check=True)
        for number, file in enumerate(files):
            os.replace(f"{work}/{number:08d}.jp2", target_of(folder, file))


def same_pixels(ffmpeg, file, target, pixel_format):
    def pixels(path):
        return subprocess.run([ffmpeg, "-nostdin", "-v", "error", "-i", str(path), "-pix_fmt", pixel_format, "-f", "rawvideo",
                               "-"], capture_output=True, check=True).stdout
    return pixels(file) == pixels(target)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--ffmpeg", default="ffmpeg")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args, options = parser.parse_args(arguments[:split]), arguments[split + 1:]
    ffprobe = os.path.join(os.path.dirname(args.ffmpeg), "ffprobe")
    args.folder.mkdir(parents=True, exist_ok=True)

    names = collections.Counter(target_of(args.folder, file) for file in args.files)
    if twice := [str(name) for name, count in names.items() if count > 1]:
        sys.exit(f"to_jp2.py: {', '.join(twice)} would be written twice")
    groups, failed = collections.defaultdict(list), 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for file, kind in zip(args.files, pool.map(lambda file: probe(ffprobe, file), args.files)):
            if isinstance(kind, str):
                print(f"to_jp2.py: {kind}", file=sys.stderr)
                failed += 1
            elif not target_of(args.folder, file).exists():
                groups[kind].append(file)
    for kind, files in groups.items():
        encode(args.ffmpeg, files, args.folder, options)
        for file in files if args.verify else ():
            if not same_pixels(args.ffmpeg, file, target_of(args.folder, file), kind[3]):
                print(f"to_jp2.py: {target_of(args.folder, file)} differs from {file}", file=sys.stderr)
                failed += 1
    done = sum(map(len, groups.values()))
    print(f"{done} files in {len(groups)} groups of one size and format, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
