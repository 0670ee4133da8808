# SPDX-License-Identifier: LGPL-2.1-or-later
"""MP4 files of H.264 (ISO/IEC 14496-12 and -15).

    write_mp4("out.mp4", frames, frame_rate=24, crf=20)     # frames: (N, height, width, 3) on a GPU, or planes
"""
from __future__ import annotations

import contextlib
import fractions
import itertools
import os
import secrets
import struct
from typing import Any, BinaryIO, Container, Iterable, Iterator, Optional, Union

import numpy

from . import Encoder, InvalidError, _arrays

_MATRICES = {"bt709": (0.2126, 0.0722, 1), "bt601": (0.299, 0.114, 6)}  # Kr, Kb, matrix_coefficients


def yuv420p(frame: Any, matrix: str = "bt709") -> list[Any]:
    """Planes of Y, Cb, Cr of a frame of (height, width, 3), or of several of (n, height, width, 3), R'G'B' of uint8 in
    limited range. NumPy's or PyTorch's, where the frame lies. height and width are even. Values are within one of the
    exact ones."""
    if matrix not in _MATRICES:
        raise InvalidError(f"matrix {matrix!r} is not allowed: it is {', '.join(_MATRICES)}")
    if not hasattr(frame, "shape"):  # such as a Pillow image
        _arrays.check_mode(frame)
        frame = numpy.asarray(frame)
    shape = tuple(frame.shape)
    if len(shape) < 3 or shape[-1] != 3 or shape[-3] % 2 or shape[-2] % 2:
        raise InvalidError(f"a frame of shape {shape} is not allowed: it is (height, width, 3), both even")
    if not str(frame.dtype).endswith("uint8"):  # PyTorch's begins with "torch."
        raise InvalidError(f"a frame of {frame.dtype} is not allowed: it is of uint8, 0 to 255")
    kr, kb, _ = _MATRICES[matrix]
    wide = frame.int() if hasattr(frame, "int") else frame.astype("int32")
    red, green, blue = wide[..., 0], wide[..., 1], wide[..., 2]

    def narrow(plane: Any) -> Any:
        return plane.byte() if hasattr(plane, "byte") else plane.astype("uint8")

    def scaled(weight: float, span: float) -> int:
        return round(weight * span / 255 * 65536)

    def quarter(plane: Any) -> Any:
        return plane[..., ::2, ::2] + plane[..., ::2, 1::2] + plane[..., 1::2, ::2] + plane[..., 1::2, 1::2]

    luma = (scaled(kr, 219) * red + scaled(1 - kr - kb, 219) * green + scaled(kb, 219) * blue + (16 << 16) + 32768) >> 16
    red, green, blue = quarter(red), quarter(green), quarter(blue)
    planes = [narrow(luma)]
    for own, other, own_weight, other_weight in ((blue, red, kb, kr), (red, blue, kr, kb)):
        span = 112 / (1 - own_weight)
        sums = (scaled(1 - own_weight, span) * own - scaled(other_weight, span) * other
                - scaled(1 - kr - kb, span) * green + (128 << 18) + (1 << 17)) >> 18
        planes.append(narrow(sums))
    return planes


def _pictures(frames: Any, matrix: str) -> Iterator[list[Any]]:
    """Planes of frames. Those of one array on a GPU are converted some at a time, as each operation takes its launch."""
    if len(getattr(frames, "shape", ())) != 4 or not hasattr(frames, "__cuda_array_interface__"):
        yield from (yuv420p(frame, matrix) for frame in frames)
        return
    count = max(1, (1 << 24) // max(1, frames.shape[1] * frames.shape[2]))
    for first in range(0, len(frames), count):
        yield from (list(planes) for planes in zip(*yuv420p(frames[first:first + count], matrix)))


def _units(stream: bytes, slices: Optional[int] = None) -> Iterator[memoryview]:
    """The NAL units of a byte stream (H.264, annex B). slices: how many it has; nothing follows the last one, which is not
    searched then."""
    view = memoryview(stream)
    begin = stream.find(b"\0\0\1")
    while begin >= 0:
        begin += 3
        if slices is not None and _is_slice(view[begin:]):
            slices -= 1
        following = -1 if slices == 0 else stream.find(b"\0\0\1", begin)
        end = following if following >= 0 else len(stream)
        while end > begin and not stream[end - 1]:
            end -= 1
        yield view[begin:end]
        begin = following


def _is_slice(unit: memoryview) -> bool:
    return unit[0] & 31 in (1, 5)


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _full_box(kind: bytes, *parts: bytes, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


def _sample_entry(extradata: bytes, width: int, height: int, chroma: int, depth: int, colours: bytes) -> bytes:
    sets = [bytes(unit) for unit in _units(extradata)]
    sps = [unit for unit in sets if unit[0] & 31 == 7]
    pps = [unit for unit in sets if unit[0] & 31 == 8]
    config = bytes([1, *sps[0][1:4], 0xFF, 0xE0 | len(sps)]) + b"".join(struct.pack(">H", len(s)) + s for s in sps)
    config += bytes([len(pps)]) + b"".join(struct.pack(">H", len(s)) + s for s in pps)
    if sps[0][1] not in (66, 77, 88):
        config += bytes([0xFC | chroma, 0xF8 | depth - 8, 0xF8 | depth - 8, 0])
    return _box(b"avc1", struct.pack(">6xH16xHHIIIH32xHh", 1, width, height, 72 << 16, 72 << 16, 0, 1, 24, -1),
                _box(b"avcC", config), colours)


def _movie(entry: bytes, sizes: list[int], keys: list[int], first: int, rate: fractions.Fraction, width: int,
           height: int) -> bytes:
    matrix = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    duration = len(sizes) * rate.denominator  # in units of 1 / numerator
    table = _box(
        b"stbl", _full_box(b"stsd", struct.pack(">I", 1), entry),
        _full_box(b"stts", struct.pack(">III", 1, len(sizes), rate.denominator)),
        _full_box(b"stsc", struct.pack(">IIII", 1, 1, len(sizes), 1)),
        _full_box(b"stsz", struct.pack(f">II{len(sizes)}I", 0, len(sizes), *sizes)),
        _full_box(b"co64", struct.pack(">IQ", 1, first)),
        # Without it, all are sync samples.
        _full_box(b"stss", struct.pack(f">I{len(keys)}I", len(keys), *keys)) if len(keys) < len(sizes) else b"")
    media = _box(
        b"mdia", _full_box(b"mdhd", struct.pack(">IIIIHH", 0, 0, rate.numerator, duration, 0x55C4, 0)),
        _full_box(b"hdlr", struct.pack(">4x4s12x", b"vide"), b"video\0"),
        _box(b"minf", _full_box(b"vmhd", bytes(8), flags=1),
             _box(b"dinf", _full_box(b"dref", struct.pack(">I", 1), _full_box(b"url ", flags=1))), table))
    track = _box(b"trak", _full_box(b"tkhd", struct.pack(">IIIII8xHHHH", 0, 0, 1, 0, duration, 0, 0, 0, 0), matrix,
                                    struct.pack(">II", width << 16, height << 16), flags=3), media)
    return _box(b"moov", _full_box(b"mvhd", struct.pack(">IIIIIH10x", 0, 0, rate.numerator, duration, 1 << 16, 0x100), matrix,
                                   bytes(24), struct.pack(">I", 2)), track)


@contextlib.contextmanager
def _named_when_whole(path: Union[str, "os.PathLike[str]"]) -> Iterator[BinaryIO]:
    """A file that gets its name where nothing raises, and else is removed."""
    name = os.path.realpath(os.fsdecode(path))
    partial = f"{name}.{secrets.token_hex(4)}.part"
    try:
        with open(partial, "xb") as file:
            yield file
        os.replace(partial, name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def write_mp4(path: Union[str, "os.PathLike[str]"], frames: Iterable[Any], *, frame_rate: Union[int, str, float] = 25,
              crf: Optional[int] = None, matrix: str = "bt709", format: str = "yuv420p", in_flight: int = 8,
              keys: Container[int] = (), **options: Any) -> int:
    """Encodes frames to H.264 in an MP4 file; returns how many. A frame is an array of (height, width, 3), uint8, which
    becomes yuv420p where it lies, or the sequence of planes of `format`. Where they are one
    array on a GPU, some are converted at a time. frame_rate: a number or "30000/1001". crf: constant
    quality, a QP (20). Or bit_rate, on average. keys: which frames, counted from 0 on, are key
    frames, beside those of gop_size. options: the encoder's. Raises
    Encoder's errors, and those of frames. The file gets its name when it is whole; until then that has a suffix."""
    try:
        rate = fractions.Fraction(frame_rate).limit_denominator(1001)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        rate = fractions.Fraction(0)
    if rate <= 0:
        raise InvalidError(f'frame_rate {frame_rate!r} is not allowed: it is a number above 0, or a text such as "30000/1001"')
    if options.setdefault("repeat_headers", 0):
        raise InvalidError("repeat_headers is not allowed: the file has the parameter sets")
    if crf is not None and {"bit_rate", "qp", "rate_control"} & options.keys():
        raise InvalidError("crf is not allowed with bit_rate, qp or rate_control: one of them says what is kept")
    if crf is not None:
        options["qp"] = crf
    options = {"frame_rate_num": rate.numerator, "frame_rate_den": rate.denominator, **options}
    whole = len(getattr(frames, "shape", ())) == 4
    items = iter(frames)
    head = next(items, None)
    is_array = hasattr(head, "shape") or hasattr(head, "__array_interface__")
    if head is None:
        raise InvalidError("no frame is not allowed: an MP4 file has one at least")
    converts = is_array and format == "yuv420p"
    colours = (_box(b"colr", b"nclx", struct.pack(">HHHB", *3 * [_MATRICES[matrix][2]], 0)) if converts and matrix in _MATRICES
               else b"")
    items = itertools.chain([head], items)
    pictures = _pictures(frames if whole else items, matrix) if converts else items
    if converts:  # what is encoded is nobody else's
        options = {"copy": False, **options}
    first = next(pictures)
    sizes = []
    key_numbers = []  # of IDR pictures, from 1 on
    slices = None
    with Encoder(first, "h264", format=format, in_flight=in_flight, **options) as encoder, _named_when_whole(path) as file:
        layout = encoder._format
        chroma = (0 if layout.components == 1 else 1 if layout.component[1].log2_subsample_y
                  else 2 if layout.component[1].log2_subsample_x else 3)
        entry = _sample_entry(encoder.extradata, layout.width, layout.height, chroma, layout.component[0].depth, colours)
        file.write(_box(b"ftyp", b"isom", struct.pack(">I", 512), b"isomiso2avc1mp41"))
        begin = file.tell()
        file.write(struct.pack(">I4sQ", 1, b"mdat", 0))
        for packet in encoder.encode(itertools.chain([first], pictures), keys):
            assert isinstance(packet, bytes)
            units = list(_units(packet, slices))
            for unit in units:
                file.write(struct.pack(">I", len(unit)))
                file.write(unit)
            sizes.append(sum(4 + len(unit) for unit in units))
            if any(unit[0] & 31 == 5 for unit in units):
                key_numbers.append(len(sizes))
            if not options.get("cbr"):  # else filler data follow
                slices = sum(map(_is_slice, units))
        end = file.tell()
        file.write(_movie(entry, sizes, key_numbers, begin + 16, rate, layout.width, layout.height))
        file.seek(begin + 8)
        file.write(struct.pack(">Q", end - begin))
    return len(sizes)
