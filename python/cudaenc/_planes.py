# SPDX-License-Identifier: LGPL-2.1-or-later
"""Planes that a decoder fills: new arrays, or those that the caller has."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import numpy

from . import _arrays
from ._arrays import Plane
from ._native import InvalidError, ffi, lib

MODELS = {lib.CUDAENC_COLOR_GRAY: "gray", lib.CUDAENC_COLOR_YUV: "yuv", lib.CUDAENC_COLOR_RGB: "rgb",
          lib.CUDAENC_COLOR_XYZ: "xyz", lib.CUDAENC_COLOR_CMYK: "cmyk", lib.CUDAENC_COLOR_YCCK: "ycck"}


class Header(NamedTuple):
    """What the headers of a packet tell: the planes that it fills, and what is said of them."""

    shapes: Sequence[tuple[int, int]]  # of each component: rows and columns, with region and lowres
    dtypes: Sequence[numpy.dtype]  # uint8, or of more than 8 bits uint16; of signed samples int8 and int16
    depths: Sequence[int]  # bits of a sample
    shifts: Sequence[int]  # a sample is its element >> shift
    color_model: str
    full_range: bool
    orientation: int
    icc_profile: Optional[bytes]
    exif: Optional[bytes]
    sample_aspect: tuple[int, int]  # width over height of a sample; (0, 1): not told
    fields: Optional[str] = None  # "tff" or "bff": two fields are woven to it, the top or the bottom one first


def _bytes_of(pointer: Any, size: int) -> Optional[bytes]:
    return bytes(ffi.buffer(pointer, size)) if pointer else None


def header_of(info: Any) -> Header:
    """Of a CudaencPictureInfo whose packet is there."""
    format = info.format
    row_bytes, rows = ffi.new("size_t *"), ffi.new("size_t *")
    shapes, dtypes, components = [], [], [format.component[i] for i in range(format.planes)]
    for i, component in enumerate(components):
        lib.cudaenc_plane_size(ffi.addressof(format), i, row_bytes, rows)
        shapes.append((int(rows[0]), int(row_bytes[0] // component.step)))
        dtypes.append(numpy.dtype(("int" if info.is_signed[i] else "uint") + ("16" if component.step == 2 else "8")))
    return Header(shapes, dtypes, [c.depth for c in components], [c.shift for c in components], MODELS[format.color_model],
                  bool(format.full_range), info.orientation, _bytes_of(info.icc_profile, info.icc_profile_size),
                  _bytes_of(info.exif, info.exif_size), (info.sample_aspect_num, info.sample_aspect_den))


def _memory_of(array: Any) -> tuple[Plane, bool]:
    """And whether its elements are signed."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:  # signed samples take the same room
        kind = interface["typestr"]
        return _arrays._from_cuda_interface(array, {**interface, "typestr": kind.replace("i", "u")}), "i" in kind
    if hasattr(array, "__dlpack_device__") and not isinstance(array, numpy.ndarray):
        kind, number = (int(v) for v in array.__dlpack_device__())
        if kind in (_arrays._CUDA, _arrays._CUDA_MANAGED):
            return _arrays._from_dlpack(array, number), False
        array = numpy.from_dlpack(array)
    elif not isinstance(array, numpy.ndarray) or not array.flags.writeable:
        raise InvalidError(f"out of type {type(array).__name__} is not allowed: it is an array or a tensor that can be written to")
    if array.dtype.kind not in "ui" or array.dtype.itemsize > 2 or not array.dtype.isnative:
        raise InvalidError(f"out of {array.dtype} is not allowed: it is uint8 or uint16, or int8 or int16 of signed samples")
    return _arrays._host_plane(array), array.dtype.kind == "i"


class Out(NamedTuple):
    """The caller's planes. parts: as the caller has them."""

    planes: Sequence[Plane]
    are_signed: Sequence[bool]
    parts: Sequence[Any]


def describe(out: Any) -> Out:
    """out: an array or tensor of (height, width) or (components, height, width), or a sequence of the former."""
    planes: list[Plane] = []
    are_signed: list[bool] = []
    parts: list[Any] = []
    for array in out if isinstance(out, (list, tuple)) else [out]:
        memory, is_signed = _memory_of(array)
        if len(memory.shape) not in (2, 3):
            raise InvalidError(f"out of {len(memory.shape)} dimensions is not allowed: it has 2 or 3")
        are_signed += [is_signed] * (memory.shape[0] if len(memory.shape) == 3 else 1)
        if len(memory.shape) == 2:
            planes.append(memory)
            parts.append(array)
            continue
        for c in range(memory.shape[0]):
            planes.append(memory._replace(address=memory.address + c * memory.strides[0], shape=memory.shape[1:],
                                          strides=memory.strides[1:]))
            parts.append(array[c] if hasattr(array, "__getitem__") else array)
    return Out(planes, are_signed, parts)


def describe_batch(out: Any, count: int) -> tuple[Out, list[int]]:
    """The planes of the first picture, with parts of all; and the bytes from a picture to the next one. out: an array or tensor of
    (n, height, width) or (n, components, height, width), or a sequence of the former."""
    planes: list[Plane] = []
    are_signed: list[bool] = []
    parts: list[Any] = []
    steps: list[int] = []
    for array in out if isinstance(out, (list, tuple)) else [out]:
        memory, is_signed = _memory_of(array)
        if len(memory.shape) not in (3, 4):
            raise InvalidError(f"out of {len(memory.shape)} dimensions is not allowed: that of a batch has 3 or 4")
        if memory.shape[0] != count:
            raise InvalidError(f"out of {memory.shape[0]} pictures is not allowed: there are {count} packets")
        several = len(memory.shape) == 4
        for c in range(memory.shape[1] if several else 1):
            planes.append(memory._replace(address=memory.address + c * memory.strides[1] * several, shape=memory.shape[-2:],
                                          strides=memory.strides[-2:]))
            parts.append(array[:, c] if several and hasattr(array, "__getitem__") else array)
            are_signed.append(is_signed)
            steps.append(memory.strides[0])
    return Out(planes, are_signed, parts), steps


def check(out: Out, header: Header, on_device: bool) -> None:
    """That a picture fits exactly."""
    if len(out.planes) != len(header.shapes):
        raise InvalidError(f"out of {len(out.planes)} planes is not allowed: the picture has {len(header.shapes)} components")
    for i, (plane, shape, dtype) in enumerate(zip(out.planes, header.shapes, header.dtypes)):
        if plane.shape != shape or plane.itemsize != dtype.itemsize or out.are_signed[i] != (dtype.kind == "i"):
            own = f"{'int' if out.are_signed[i] else 'uint'}{8 * plane.itemsize}"
            raise InvalidError(f"plane {i} of out, {plane.shape} of {own}, is not allowed: the picture has {shape} of {dtype}")
        if plane.on_device != on_device:
            raise InvalidError(f"plane {i} of out is not allowed: device_planes says whether it lies in CUDA memory")
        if _bits_above(header, i) and not hasattr(out.parts[i], "__ilshift__"):
            raise InvalidError(f"plane {i} of out is not allowed: signed samples of {header.depths[i]} bits are shifted, for which "
                               f"{type(out.parts[i]).__name__} has no operator")
        if (plane.strides[1] != plane.itemsize and shape[1] > 1) or (plane.strides[0] < shape[1] * plane.itemsize and shape[0] > 1):
            raise InvalidError(f"plane {i} of out has gaps within a row, or rows that overlap")


def _bits_above(header: Header, i: int) -> int:
    """Of signed samples in the lowest bits: those that the library leaves 0."""
    return 8 * header.dtypes[i].itemsize - header.depths[i] - header.shifts[i] if header.dtypes[i].kind == "i" else 0


def new(header: Header) -> Out:
    arrays = [numpy.empty(shape, dtype) for shape, dtype in zip(header.shapes, header.dtypes)]
    return Out([_arrays._host_plane(array) for array in arrays], [dtype.kind == "i" for dtype in header.dtypes], arrays)


def extend_signs(parts: Sequence[Any], header: Header) -> None:
    for i, part in enumerate(parts):
        if _bits_above(header, i):
            part <<= _bits_above(header, i)
            part >>= _bits_above(header, i)
