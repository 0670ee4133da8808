# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps pictures without loss, as HTJ2K, and verifies them.

    pip install cudaenc pillow
    python archive.py keep FOLDER ARCHIVE [DEVICE]    each picture becomes a .jph file, which is decoded and compared
    python archive.py verify ARCHIVE [DEVICE]         years later: checksums, and each file decodes
"""
import hashlib
import pathlib
import sys

import cudaenc
import numpy
from PIL import Image

MANIFEST = "manifest-sha256.txt"


def samples_of(data, device):
    """(height, width) or (height, width, channels) of a packet. Raises where a part of it is broken."""
    picture = cudaenc.decode(data, device=device)
    if picture.corrupt:
        raise cudaenc.InvalidError("it is corrupt")
    return numpy.stack(picture.planes, -1) if len(picture.planes) > 1 else picture.planes[0]


def keep(folder, archive, device="auto"):
    archive.mkdir(parents=True, exist_ok=True)
    lines = []
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        with Image.open(path) as image:
            samples = numpy.asarray(image)
            packet = cudaenc.encode(image, cblk_style="ht", plt=1, icc_profile=image.info.get("icc_profile"), device=device)
        if not numpy.array_equal(samples_of(packet, device), samples):
            raise SystemExit(f"{path}: what is decoded is not what was encoded")
        name = f"{path.name}.jph"
        (archive / name).write_bytes(packet)
        lines.append(f"{hashlib.sha256(packet).hexdigest()}  {name}\n")  # as sha256sum has them
        print(f"{path.name}: {samples.nbytes} bytes became {len(packet)}")
    (archive / MANIFEST).write_text("".join(lines))


def verify(archive, device="auto"):
    broken = 0
    for line in (archive / MANIFEST).read_text().splitlines():
        digest, name = line.split("  ", 1)
        data = (archive / name).read_bytes()
        try:
            samples_of(data, device)
            said = "whole" if hashlib.sha256(data).hexdigest() == digest else "it decodes, but is not what was kept"
        except cudaenc.CudaencError as error:
            said = str(error)
        broken += said != "whole"
        print(f"{name}: {said}")
    return broken


if __name__ == "__main__":
    job, *arguments = sys.argv[1:]
    folders, device = ([*map(pathlib.Path, arguments[:2])], arguments[2:]) if job == "keep" else ([pathlib.Path(arguments[0])], arguments[1:])
    sys.exit(bool({"keep": keep, "verify": verify}[job](*folders, *device)))
