#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Picture files to JP2 files of the same names, sizes, depths, ICC profiles and metadata, by ffmpeg with j2k_cuda.

Usage: to_jp2.py [--ffmpeg PATH] [--verify] OUTPUT_FOLDER FILE... [-- OPTION...]
Files of one size and pixel format go through one process, so that frames are in flight; the others have their own.
Options are ffmpeg's, such as -pred dwt97 -q:v 90; without one that names a wavelet or a profile the files are lossless.
With -cblk_style ht they are JPH files. Options that make bare codestreams are refused, such as -format j2k.
--verify decodes each file and compares size, pixels and metadata with the source's, of files that exist too. A file gets
its name when it is whole, with --verify when it is right. One that exists is kept.
Of TIFF, PNG and JPEG the files keep resolution, EXIF with its orientation, XMP and IPTC; a line tells what they cannot keep.
Files of several pictures, and samples of CMYK and floats, are refused.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import picture_metadata
from picture_metadata import Metadata


def say(line):
    print(f"to_jp2.py: {line}", file=sys.stderr)


@dataclasses.dataclass
class Source:
    file: pathlib.Path
    link: str  # a name that has nothing which FFmpeg takes for a pattern, a protocol or an option
    target: pathlib.Path
    metadata: Metadata = dataclasses.field(default_factory=Metadata)
    kind: tuple = ()  # equal of files that one process can take: ending, width, height, pixel format to code, side data
    wrong: str = ""

    @property
    def pixel_format(self):
        return self.kind[3]


@dataclasses.dataclass
class Job:
    ffmpeg: str
    verify: bool
    options: list  # of ffmpeg
    links: str  # a folder for links to sources, whose own name is no pattern
    formats: set  # pixel formats of the encoder
    work: str  # one for files that are not right yet, of the output folder's file system


def link(folder, number, file, suffix):
    name = f"{folder}/{number:08d}{suffix}"
    os.symlink(file.resolve(), name)
    return name


def pixels(ffmpeg, file, pixel_format):
    """As they are stored, whatever the orientation; None: they cannot be decoded."""
    run = subprocess.run([ffmpeg, "-nostdin", "-v", "error", "-noautorotate", "-i", str(file), "-frames:v", "1", "-pix_fmt", pixel_format,
                          "-f", "rawvideo", "-"], capture_output=True)
    return run.stdout if not run.returncode and run.stdout else None


def coded_format(ffmpeg, file, pixel_format):
    """What has all values of a pixel format: bits become bytes, a palette its colours, with alpha where it is not opaque.
    None: of floats."""
    if pixel_format == "pal8":
        return "rgb24" if set((pixels(ffmpeg, file, "rgba") or b"")[3::4]) <= {255} else "rgba"
    if re.fullmatch("(rgb|bgr)(8|4|4_byte|444[lb]e|5[56]5[lb]e)", pixel_format):
        return "rgb24"
    if re.search("f(16|32)[lb]e$", pixel_format):
        return None
    return "gray" if pixel_format in ("monob", "monow") else re.sub("be$", "le", pixel_format.replace("bgr48", "rgb48").replace("bgra64", "rgba64"))


def formats_of_encoder(ffmpeg):
    """Of others FFmpeg would take the nearest, which may be narrower."""
    said = subprocess.run([ffmpeg, "-hide_banner", "-h", "encoder=j2k_cuda"], capture_output=True, text=True)
    if not (found := re.search("Supported pixel formats: (.*)", said.stdout)):
        sys.exit(f"to_jp2.py: {ffmpeg} has no encoder j2k_cuda")
    return set(found[1].split())


def probe(job, source):
    """Sets the source's kind, or what is wrong with it. A picture without an ICC profile would get that of one before it in its
    process, so side data tells pictures apart too."""
    file, name = source.file, source.link
    ffprobe = os.path.join(os.path.dirname(job.ffmpeg), "ffprobe")
    run = subprocess.run([ffprobe, "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#2",
                          "-show_entries", "stream=width,height,pix_fmt:frame=width:frame_side_data=side_data_type", "-of", "json",
                          name], capture_output=True, text=True)
    found = json.loads(run.stdout or "{}")
    if run.returncode or not found.get("streams") or not found.get("frames"):
        source.wrong = run.stderr.strip().splitlines()[-1].replace(name, str(file)) if run.stderr.strip() else "no picture"
        return
    source.metadata = metadata = picture_metadata.read_metadata(file)
    stream = found["streams"][0]
    side_data = tuple(one["side_data_type"] for one in found["frames"][0].get("side_data_list", ()))
    coded = coded_format(job.ffmpeg, name, stream.get("pix_fmt", ""))
    if len(found["frames"]) > 1 or metadata.pictures > 1:
        source.wrong = "has several pictures"
    elif metadata.refused:
        source.wrong = f"has samples of {metadata.refused}, which FFmpeg would convert"
    elif coded not in job.formats:
        source.wrong = f"has samples of {stream['pix_fmt']}, which j2k_cuda does not take"
    # FFmpeg reads no sequences of GIF files, so each has a process of its own.
    source.kind = file.suffix, stream["width"], stream["height"], coded, side_data, name if file.suffix.lower() == ".gif" else ""


def ending_of(options):
    """Of files that these options make."""
    styles = [value for name, value in zip(options, options[1:]) if re.fullmatch("-(cblk_style|profile)(:v.*)?", name)]
    return ".jph" if any("ht" in re.split("[+_]", value) for value in styles) else ".jp2"


def lossless(options):
    """The options, with the reversible wavelet unless they name another or a profile."""
    named = any(re.fullmatch("-(pred|profile)(:v.*)?", option) for option in options)
    return options if named else ["-pred", "dwt53", *options]


def encode(job, sources, folder):
    """Encodes files that are alike, to names in the folder by their places. They get numbers by links, since image2 takes
    patterns. False: ffmpeg cannot, and has said why."""
    for number, source in enumerate(sources):
        link(folder, number, source.file, source.kind[0])
    pattern = f"file:{folder.replace('%', '%%')}/%08d"
    one = len(sources) == 1
    run = subprocess.run([job.ffmpeg, "-nostdin", "-v", "error", "-xerror", "-noautorotate", "-i", sources[0].link if one else pattern + sources[0].kind[0],
                          "-c:v", "j2k_cuda", "-pix_fmt", sources[0].pixel_format, *lossless(job.options),
                          "-fps_mode", "passthrough", "-f", "image2", "-start_number", "0", f"{pattern}{sources[0].target.suffix}"])
    return not run.returncode and os.path.exists(f"{folder}/{len(sources) - 1:08d}{sources[0].target.suffix}")


def is_whole(file):
    """Whether it begins and ends as a JP2 or JPH file does."""
    with open(file, "rb") as jp2:
        head = jp2.read(8)
        jp2.seek(-min(2, len(head)), os.SEEK_END)
        return head[4:] == b"jP  " and jp2.read() == b"\xff\xd9"


def unlike(job, source, file):
    """In what a JP2 file differs from its source, in words."""
    data = file.read_bytes()
    sizes = picture_metadata.sizes_of(data)
    if not sizes:
        return "is no whole JP2 file"
    if sizes[1:3] != source.kind[1:3]:
        return f"has {sizes[1]}x{sizes[2]}, and not {source.kind[1]}x{source.kind[2]}"
    with tempfile.TemporaryDirectory(dir=job.links) as links:
        decoded = link(links, 0, file, ".jp2")  # an ending that all branches know
        # FFmpeg's decoder tells no full range, and would make yuvj420p of what it is.
        wanted = pixels(job.ffmpeg, source.link, source.pixel_format)
        if not wanted or wanted != pixels(job.ffmpeg, decoded, source.pixel_format.replace("yuvj", "yuv")):
            return "has other pixels"
    if not misfit_of_profile(source) and source.metadata.icc not in data:
        return "lacks its ICC profile"
    return "" if picture_metadata.with_metadata(data, source.metadata) == data else "lacks its metadata"


def misfit_of_profile(source):
    """Why JP2 takes no such ICC profile for these samples, in words (T.800 I.5.3.3)."""
    samples = "YUV" if source.pixel_format.startswith("yuv") else "gray" if re.match("gray|ya", source.pixel_format) else "RGB"
    space = source.metadata.icc[16:20].decode("latin-1")
    fits = not source.metadata.icc or len(source.metadata.icc) >= 128 and space == {"gray": "GRAY", "RGB": "RGB "}.get(samples)
    return "" if fits else f"its ICC profile of {len(source.metadata.icc)} bytes, colour space '{space.strip()}', for {samples} samples"


def finish(job, source, made):
    """Gives a file what its source tells, then its name. Returns whether it is right."""
    data = made.read_bytes()
    if not picture_metadata.sizes_of(data):
        say(f"{source.file}: ffmpeg has made no whole file")
        return False
    made.write_bytes(picture_metadata.with_metadata(data, source.metadata))
    if job.verify and (how := unlike(job, source, made)):
        say(f"{source.file}: {source.target.name} would not be like it, and is not kept: it {how}")
        return False
    tell_of_lost(source)
    os.replace(made, source.target)
    return True


def tell_of_lost(source):
    lost = list(source.metadata.lost)
    if misfit := misfit_of_profile(source):
        lost.append(misfit)
    if lost:
        say(f"{source.file}: left out are {', '.join(lost)}")


def make(job, sources):
    """Encodes and finishes files that are alike. One that fails ends its process, so the files of a process that failed are
    tried alone. Returns how many are right."""
    with tempfile.TemporaryDirectory(dir=job.work) as folder:
        if not encode(job, sources, folder):
            return sum(make(job, [source]) for source in sources) if len(sources) > 1 else 0
        made = [pathlib.Path(folder, f"{number:08d}{source.target.suffix}") for number, source in enumerate(sources)]
        with open(made[0], "rb") as first:
            head = first.read(24)
        if head[4:8] != b"jP  ":
            sys.exit(f"to_jp2.py: these options make no JP2 files: {' '.join(job.options)}")
        if head[20:23].decode() != made[0].suffix[1:]:
            sys.exit(f"to_jp2.py: these options make files that are not {made[0].suffix}: {' '.join(job.options)}")
        return sum(finish(job, source, file) for source, file in zip(sources, made))


def convert(job, sources):
    groups, kept, failed = collections.defaultdict(list), 0, 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda source: probe(job, source), sources))
    for source in sources:
        exists = source.target.exists()
        if not source.wrong and exists:
            how = unlike(job, source, source.target) if job.verify else "" if is_whole(source.target) else "is no whole file"
            source.wrong = how and f"{source.target}, which exists, is not like it: it {how}"
        if source.wrong:
            say(f"{source.file}: {source.wrong}")
            failed += 1
        elif exists:
            kept += 1
        else:
            groups[source.kind].append(source)
    for suffix in sorted({source.file.suffix for source in sources if not source.wrong and not source.metadata.known}):
        say(f"of {suffix} files no metadata is read but what FFmpeg tells")
    right = sum(make(job, alike) for alike in groups.values())
    failed += sum(map(len, groups.values())) - right
    there = f"{kept} kept{'' if job.verify else ' unverified'}, " if kept else ""
    print(f"{right} files in {len(groups)} groups of one size and format, {there}{failed} failed")
    return failed != 0


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

    targets = [args.folder / (file.stem + ending_of(options)) for file in args.files]
    if twice := [str(name) for name, count in collections.Counter(targets).items() if count > 1]:
        sys.exit(f"to_jp2.py: {', '.join(twice)} would be written twice")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the folder goes
    with tempfile.TemporaryDirectory(prefix="to_jp2.") as links, tempfile.TemporaryDirectory(dir=args.folder, prefix=".to_jp2.") as work:
        sources = [Source(file, link(links, number, file, file.suffix), target) for number, (file, target) in enumerate(zip(args.files, targets))]
        return convert(Job(args.ffmpeg, args.verify, options, links, formats_of_encoder(args.ffmpeg), work), sources)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as error:
        sys.exit(f"to_jp2.py: {error.filename} is not there; --ffmpeg names an ffmpeg with j2k_cuda, and ffprobe stands beside it")
