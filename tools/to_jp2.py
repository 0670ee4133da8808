#!/usr/bin/env python3
"""Picture files to JP2 files of the same names, sizes, depths and ICC profiles, by ffmpeg with j2k_cuda.

Usage: to_jp2.py [--ffmpeg PATH] [--verify] OUTPUT_FOLDER FILE... [-- OPTION...]
Files of one size and pixel format go through one process, so that frames are in flight; the others have their own.
Options are ffmpeg's, such as -q:v 90; without them the files are lossless. A file that exists is kept.
Options that make bare codestreams are refused, such as -format j2k.
--verify decodes each file and compares its pixels with the source's. Files of several pictures, and samples that are
floats, are refused. SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile


def link(folder, number, file):
    """A name for a file that has nothing which FFmpeg takes for a pattern, a protocol or an option."""
    name = f"{folder}/{number:08d}{file.suffix}"
    os.symlink(file.resolve(), name)
    return name


def pixels(ffmpeg, file, pixel_format):
    return subprocess.run([ffmpeg, "-nostdin", "-v", "error", "-i", str(file), "-frames:v", "1", "-pix_fmt", pixel_format,
                           "-f", "rawvideo", "-"],
                          capture_output=True, check=True).stdout


def coded_format(ffmpeg, file, pixel_format):
    """What has all values of a pixel format: bits become bytes, a palette its colours, with alpha where it is not opaque.
    None: of floats."""
    if pixel_format == "pal8":
        return "rgb24" if set(pixels(ffmpeg, file, "rgba")[3::4]) <= {255} else "rgba"
    if re.fullmatch("(rgb|bgr)(8|4|4_byte|444[lb]e|5[56]5[lb]e)", pixel_format):
        return "rgb24"
    return None if re.search("f(16|32)[lb]e$", pixel_format) else "gray" if pixel_format in ("monob", "monow") else pixel_format


def pages(file):
    """Of a TIFF file, but for those that are smaller versions (NewSubfileType 1); 1 of any other file. FFmpeg reads one."""
    with open(file, "rb") as tiff:
        magic = tiff.read(4)
        if magic not in (b"II*\0", b"MM\0*"):
            return 1
        order, count, seen = "<" if magic[:1] == b"I" else ">", 0, set()

        def read(kind):
            return struct.unpack(order + kind, tiff.read(struct.calcsize(order + kind)))
        try:
            at, = read("I")
            while at and at not in seen:
                seen.add(at)
                tiff.seek(at)
                entries = [read("HHII") for _ in range(*read("H"))]
                count += not any(tag == 254 and value & 1 for tag, _, _, value in entries)
                at, = read("I")
        except struct.error:
            pass  # the file ends early, which FFmpeg tells of
    return max(count, 1)


def probe(ffmpeg, file, name):
    """(ending, width, height, pixel format to code, kinds of side data), or what is wrong. name: a link to the file. A picture
    without an ICC profile would get that of one before it in its process, so side data tells pictures apart too."""
    ffprobe = os.path.join(os.path.dirname(ffmpeg), "ffprobe")
    run = subprocess.run([ffprobe, "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#2",
                          "-show_entries", "stream=width,height,pix_fmt:frame=width:frame_side_data=side_data_type", "-of", "json",
                          name], capture_output=True, text=True)
    found = json.loads(run.stdout or "{}")
    if run.returncode or not found.get("streams") or not found.get("frames"):
        return f"{file}: {run.stderr.strip().splitlines()[-1].replace(name, str(file)) if run.stderr.strip() else 'no picture'}"
    if len(found["frames"]) > 1 or pages(file) > 1:
        return f"{file}: has several pictures"
    stream = found["streams"][0]
    side_data = tuple(one["side_data_type"] for one in found["frames"][0].get("side_data_list", ()))
    coded = coded_format(ffmpeg, name, stream.get("pix_fmt", ""))
    if not coded:
        return f"{file}: has samples of {stream['pix_fmt']}, which JPEG 2000 does not take"
    # FFmpeg reads no sequences of GIF files, so each has a process of its own.
    return file.suffix, stream["width"], stream["height"], coded, side_data, name if file.suffix.lower() == ".gif" else ""


def target_of(folder, file):
    return folder / (file.stem + ".jp2")


def encode(ffmpeg, files, names, folder, pixel_format, options):
    """Encodes files that are alike. They get numbers by links, since image2 takes patterns. Returns those that ffmpeg cannot
    encode, and has said why: one fails its process, so the files of a process that failed are tried alone."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".to_jp2.") as work:
        for number, file in enumerate(files):
            link(work, number, file)
        pattern = f"file:{work.replace('%', '%%')}/%08d"
        run = subprocess.run([ffmpeg, "-nostdin", "-v", "error", "-xerror", "-i",
                              pattern + files[0].suffix if len(files) > 1 else names[files[0]], "-c:v", "j2k_cuda", "-pix_fmt", pixel_format,
                              *(options or ["-pred", "dwt53"]), "-fps_mode", "passthrough", "-start_number", "0", f"{pattern}.jp2"])
        if run.returncode or not os.path.exists(f"{work}/{len(files) - 1:08d}.jp2"):
            if len(files) == 1:
                return files
            return sum((encode(ffmpeg, [file], names, folder, pixel_format, options) for file in files), [])
        with open(f"{work}/{0:08d}.jp2", "rb") as first:
            if first.read(8)[4:] != b"jP  ":
                sys.exit(f"to_jp2.py: these options make no JP2 files: {' '.join(options)}")
        for number, file in enumerate(files):
            os.replace(f"{work}/{number:08d}.jp2", target_of(folder, file))
    return []


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--ffmpeg", default="ffmpeg")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args, options = parser.parse_args(arguments[:split]), arguments[split + 1:]
    try:
        args.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"to_jp2.py: {args.folder}: {error.strerror}")

    names = collections.Counter(target_of(args.folder, file) for file in args.files)
    if twice := [str(name) for name, count in names.items() if count > 1]:
        sys.exit(f"to_jp2.py: {', '.join(twice)} would be written twice")
    with tempfile.TemporaryDirectory(prefix="to_jp2.") as links:
        return convert(args, options, links)


def convert(args, options, links):
    groups, failed = collections.defaultdict(list), 0
    names = {file: link(links, number, file) for number, file in enumerate(args.files)}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for file, kind in zip(args.files, pool.map(lambda file: probe(args.ffmpeg, file, names[file]), args.files)):
            if isinstance(kind, str):
                print(f"to_jp2.py: {kind}", file=sys.stderr)
                failed += 1
            elif not target_of(args.folder, file).exists():
                groups[kind].append(file)
    for kind, files in groups.items():
        pixel_format = kind[3]
        broken = encode(args.ffmpeg, files, names, args.folder, pixel_format, options)
        failed += len(broken)
        for file in files if args.verify else ():
            if file in broken:
                continue
            target = target_of(args.folder, file)
            decoded = link(links, len(os.listdir(links)), target)
            # FFmpeg's decoder tells no full range, and would make yuvj420p of what it is.
            if pixels(args.ffmpeg, names[file], pixel_format) != pixels(args.ffmpeg, decoded, pixel_format.replace("yuvj", "yuv")):
                print(f"to_jp2.py: {target} differs from {file}", file=sys.stderr)
                failed += 1
    done = sum(map(len, groups.values()))
    print(f"{done} files in {len(groups)} groups of one size and format, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as error:
        sys.exit(f"to_jp2.py: {error.filename} is not there; --ffmpeg names an ffmpeg with j2k_cuda, and ffprobe stands beside it")
