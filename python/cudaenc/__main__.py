# SPDX-License-Identifier: LGPL-2.1-or-later
"""A first try from a shell.

    python -m cudaenc info                                # versions, and what runs
    python -m cudaenc info picture.jpg                    # what decode gives
    python -m cudaenc encode picture.png out.jp2 quality=85
    python -m cudaenc encode clip.mov out.mp4 crf=24      # frames of anything that PyAV reads
    python -m cudaenc decode picture.jpg out.ppm

The names' ends say what is made: .jp2, .j2k, .jph, .jpg; .mp4. Pictures are read and written by Pillow, but for .npy, .pgm and .ppm.
Options are Encoder's, or mp4.Writer's.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import numpy

import cudaenc
from cudaenc import _native

_ENCODED: dict[str, tuple[str, dict[str, Any]]] = {
    ".jp2": ("j2k", {}), ".j2k": ("j2k", {"file_format": "j2k"}), ".j2c": ("j2k", {"file_format": "j2k"}),
    ".jph": ("j2k", {"cblk_style": "ht"}), ".jpg": ("mjpeg", {"mct": 1}), ".jpeg": ("mjpeg", {"mct": 1})}


def _option(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise cudaenc.InvalidError(f"option {text!r} is not allowed: it is name=value, such as quality=85")
    for kind in int, float:
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, {"true": True, "false": False}.get(value.lower(), value)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise cudaenc.InvalidError("pictures other than .npy, .pgm and .ppm need Pillow: pip install pillow") from None
    return Image


def _read(path: pathlib.Path) -> Any:
    if path.suffix == ".npy":
        return numpy.load(path)
    with _pillow().open(path) as image:
        image.load()
        return image if image.mode in ("L", "RGB", "RGBA") or image.mode.startswith("I;16") else image.convert("RGB")


def _samples(picture: cudaenc.Picture) -> numpy.ndarray:
    """(height, width) or (height, width, channels) of the planes, smaller ones by repetition."""
    rows, columns = picture.planes[0].shape
    planes = []
    for plane, depth, shift in zip(picture.planes, picture.depths, picture.shifts):
        plane = plane >> shift << (8 * plane.itemsize - depth)  # in the highest bits
        planes.append(plane.repeat(-(-rows // plane.shape[0]), 0).repeat(-(-columns // plane.shape[1]), 1)[:rows, :columns])
    return numpy.stack(planes, -1) if len(planes) > 1 else planes[0]


def _write(path: pathlib.Path, picture: cudaenc.Picture) -> None:
    samples = _samples(picture)
    if path.suffix == ".npy":
        numpy.save(path, samples)
        return
    if samples.dtype.kind == "i":
        raise cudaenc.InvalidError("signed samples are not allowed: write them as .npy")
    if picture.color_model == "yuv":
        y, cb, cr = (samples[..., i].astype(float) - (128 if i else 0) * (1 if samples.itemsize == 1 else 256) for i in range(3))
        samples = numpy.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1).round().clip(
            0, 255 if picture.planes[0].itemsize == 1 else 65535).astype(picture.planes[0].dtype)
    elif picture.color_model not in ("gray", "rgb"):
        raise cudaenc.InvalidError(f"{picture.color_model} is not allowed: write it as .npy")
    if path.suffix in (".pgm", ".ppm"):
        head = f"P{5 if samples.ndim == 2 else 6}\n{samples.shape[1]} {samples.shape[0]}\n{255 if samples.itemsize == 1 else 65535}\n"
        path.write_bytes(head.encode() + samples.astype(f">u{samples.itemsize}").tobytes())
    else:
        _pillow().fromarray(samples).save(path)


def _info(arguments: argparse.Namespace) -> None:
    if arguments.input is None:
        print(f"cudaenc {cudaenc.__version__}, {_native.path}")
        for codec in "j2k", "mjpeg", "h264":
            sample: Any = numpy.zeros((16, 16), numpy.uint8)
            with cudaenc.Encoder(sample, codec, format="gray" if codec == "h264" else None, in_flight=1) as encoder:  # type: ignore[call-overload]
                print(f"{codec}: encoded on {encoder.device}")
        return
    picture = cudaenc.decode(arguments.input.read_bytes())
    height, width = picture.planes[0].shape
    corrupt = ", corrupt" if picture.corrupt else ""
    print(f"{width}x{height}, {picture.color_model}, {len(picture.planes)} planes of {picture.depth} bits, orientation {picture.orientation}{corrupt}")


def _encode(arguments: argparse.Namespace) -> None:
    suffix, options = arguments.output.suffix.lower(), dict(map(_option, arguments.options))
    if suffix == ".mp4":
        import av

        from cudaenc import mp4
        with av.open(arguments.input) as film:
            options.setdefault("frame_rate", film.streams.video[0].average_rate or 25)
            count = mp4.write_mp4(arguments.output, (frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)), **options)
        print(f"{count} frames, {arguments.output.stat().st_size} bytes")
        return
    if suffix not in _ENCODED:
        raise cudaenc.InvalidError(f"{arguments.output} is not allowed: its name ends in {', '.join(_ENCODED)} or .mp4")
    codec, usual = _ENCODED[suffix]
    picture = _read(arguments.input)
    if numpy.ndim(picture) < 3 and codec == "mjpeg":
        usual = {}
    packet = cudaenc.encode(picture, codec, **{**usual, **options})  # type: ignore[call-overload]
    arguments.output.write_bytes(packet)
    print(f"{len(packet)} bytes")


def _decode(arguments: argparse.Namespace) -> None:
    _write(arguments.output, cudaenc.decode(arguments.input.read_bytes(), **dict(map(_option, arguments.options))))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cudaenc", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="info|encode|decode")
    command = commands.add_parser("info")
    command.add_argument("input", type=pathlib.Path, nargs="?")
    command.set_defaults(run=_info)
    for name, run in ("encode", _encode), ("decode", _decode):
        command = commands.add_parser(name)
        command.add_argument("input", type=pathlib.Path)
        command.add_argument("output", type=pathlib.Path)
        command.add_argument("options", nargs="*", metavar="name=value")
        command.set_defaults(run=run)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except (cudaenc.CudaencError, NotImplementedError, OSError, ImportError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
