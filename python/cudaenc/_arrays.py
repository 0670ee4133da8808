# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of other libraries as planes of the C API."""
from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple, Optional, Sequence

import numpy

from ._native import InvalidError, ffi, lib, text_of

_CUDA, _CUDA_HOST, _CUDA_MANAGED = 2, 3, 13  # DLDeviceType
_PILLOW_MODES = ("L", "RGB", "RGBA", "I;16", "I;16B", "I;16L", "I;16N")
_MODELS = {1: "CUDAENC_COLOR_GRAY", 3: "CUDAENC_COLOR_RGB", 4: "CUDAENC_COLOR_RGB"}


class Plane(NamedTuple):
    """An array in memory. strides: bytes. number: of the GPU, None where it is not known."""

    owner: Any
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    on_device: bool
    number: Optional[int]
    stream: int
    is_signed: bool

    def device_name(self, wanted: str) -> str:
        """The device that encodes it: that which has its memory."""
        return f"cuda:{self.number}" if wanted == "auto" and self.on_device and self.number is not None else wanted


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _check_type(kind: str, itemsize: int) -> None:
    if kind not in "ui" or itemsize not in (1, 2):
        raise InvalidError(f"elements of kind {kind!r} and {itemsize} bytes are not allowed: they are uint8 or uint16, of JPEG 2000 int8 or "
                           "int16 too")


def _stream(array: Any, interface: dict[str, Any]) -> int:
    """That whose work makes an array. PyTorch's interface does not tell it: it is the current one of the tensor's GPU."""
    torch = sys.modules.get("torch")
    if "stream" not in interface and torch is not None and isinstance(array, torch.Tensor):
        return int(torch.cuda.current_stream(array.device).cuda_stream)
    return interface.get("stream") or 0


def _from_cuda_interface(array: Any, interface: dict[str, Any]) -> Plane:
    typestr, shape = interface["typestr"], tuple(interface["shape"])
    itemsize = int(typestr[2:])
    _check_type(typestr[1], itemsize)
    strides = interface.get("strides") or _contiguous(shape, itemsize)
    number = getattr(getattr(array, "device", None), "index", None)
    number = getattr(getattr(array, "device", None), "id", None) if number is None else number
    return Plane(array, interface["data"][0], shape, tuple(strides), itemsize, True,
                 number if isinstance(number, int) else None, _stream(array, interface), typestr[1] == "i")


def _from_dlpack(array: Any, number: int) -> Plane:
    capsule = array.__dlpack__(stream=1)  # ready for the legacy default stream, which the session waits for
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    itemsize = tensor.bits // 8
    _check_type({0: "i", 1: "u"}.get(tensor.code, "?") if tensor.lanes == 1 else "?", itemsize)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] * itemsize for i in range(tensor.ndim)) if tensor.strides else _contiguous(
        shape, itemsize)
    # The capsule owns the tensor, and frees it with itself.
    return Plane((array, capsule), tensor.data + tensor.byte_offset, shape, strides, itemsize, True, number, 0, tensor.code == 0)


def check_mode(image: Any) -> None:
    """That the channels of a Pillow image are what an array's are: not a palette's numbers or inks."""
    mode = getattr(image, "mode", None)
    if hasattr(image, "getbands") and mode not in _PILLOW_MODES:
        raise InvalidError(f"a Pillow image of mode {mode!r} is not allowed: convert() makes {', '.join(_PILLOW_MODES)} of it")


def _plane(array: Any) -> Plane:
    check_mode(array)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _from_cuda_interface(array, interface)
    if hasattr(array, "__dlpack_device__") and not isinstance(array, numpy.ndarray):
        kind, number = (int(v) for v in array.__dlpack_device__())
        if kind in (_CUDA, _CUDA_MANAGED):
            return _from_dlpack(array, number)
        if kind not in (1, _CUDA_HOST):
            raise InvalidError(f"memory of DLPack's device type {kind} is not allowed: it is the host's or CUDA's")
        array = numpy.from_dlpack(array)
    array = numpy.asarray(array)
    _check_type(array.dtype.kind, array.dtype.itemsize)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride <= 0 for stride in array.strides[1:]):
        array = numpy.ascontiguousarray(array)
    return _host_plane(array)


def _host_plane(array: numpy.ndarray) -> Plane:
    return Plane(array, array.ctypes.data, array.shape, array.strides, array.dtype.itemsize, False, None, 0, array.dtype.kind == "i")


class _Memory:
    """Rows of a plane, for NumPy."""

    def __init__(self, plane: Plane, rows: int, row_bytes: int) -> None:
        self._owner = plane.owner
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (rows, row_bytes),
                                    "strides": (plane.strides[0], 1), "data": (plane.address, True)}


def copied(planes: Sequence[Plane], format: Any, spare: list[numpy.ndarray]) -> list[Plane]:
    """The planes in memory of their own, which is taken from `spare` where there is some."""
    sizes, begins, end = [], [], 0
    row_bytes, rows = ffi.new("size_t *"), ffi.new("size_t *")
    for i in range(len(planes)):
        lib.cudaenc_plane_size(ffi.addressof(format), i, row_bytes, rows)
        sizes.append((rows[0], row_bytes[0]))
        begins.append(end)
        end += -(-rows[0] * row_bytes[0] // 64) * 64
    memory = spare.pop() if spare else numpy.empty(end, numpy.uint8)
    copies = []
    for plane, (count, size), begin in zip(planes, sizes, begins):
        rows_of_copy = memory[begin:begin + count * size].reshape(count, size)
        rows_of_copy[...] = numpy.asarray(_Memory(plane, count, size))
        copies.append(plane._replace(owner=memory, address=rows_of_copy.ctypes.data, strides=(size,)))
    return copies


def _check_signed_samples(plane: Plane, depth: int) -> None:
    half = 1 << depth - 1
    is_known = not plane.on_device or type(plane.owner).__module__.split(".")[0] in ("torch", "cupy")
    if depth < 8 * plane.itemsize and 0 not in plane.shape and is_known:
        for value in int(plane.owner.min()), int(plane.owner.max()):
            if not -half <= value < half:
                raise InvalidError(f"sample {value} is not allowed: signed samples of {depth} bits are {-half} to {half - 1}")


def _check_samples(plane: Plane, depth: int, what: str) -> None:
    """That samples have no more than `depth` bits: in CUDA memory on the GPU, by PyTorch or CuPy where the array is theirs."""
    limit = (1 << depth) - 1
    if limit >= (1 << 8 * plane.itemsize) - 1 or 0 in plane.shape:
        return
    array, torch = plane.owner, sys.modules.get("torch")
    if not plane.on_device:
        if array.max() <= limit:
            return
        above = array > limit
        first = int(numpy.argmax(above))
    elif torch is not None and isinstance(array, torch.Tensor):
        array = array.view(torch.int16) if plane.itemsize == 2 else array  # which has more operations than uint16
        above = ((array & (~limit if plane.itemsize == 2 else ~limit & 255)) != 0).flatten()
        if not bool(above.any()):
            return
        first = int(above.nonzero()[0])
    elif type(array).__module__.split(".")[0] == "cupy":
        above = (array > limit).ravel()
        if not bool(above.any()):
            return
        first = int(above.argmax())
    else:
        return
    place = tuple(int(i) for i in numpy.unravel_index(first, plane.shape))
    sample = int(array[place]) & (1 << 8 * plane.itemsize) - 1
    raise InvalidError(f"sample {sample} at {place} is not allowed with {what}: samples of {depth} bits are 0 to {limit}")


def _new_format(width: int, height: int) -> Any:
    format = ffi.new("CudaencFormat *")
    format.width, format.height = width, height
    format.color_primaries = format.color_transfer = format.color_matrix = 2
    format.full_range = 1
    return format


def _describe_array(array: Any, layout: str, depth: Optional[int]) -> tuple[list[Plane], Any]:
    plane = _plane(array)
    if layout not in ("hwc", "chw"):
        raise InvalidError(f"layout {layout!r} is not allowed: it is 'hwc' or 'chw'")
    if len(plane.shape) not in (2, 3):
        raise InvalidError(f"an array of {len(plane.shape)} dimensions is not allowed: it has 2 or 3")
    row, column = plane.strides[-2:] if layout == "chw" or len(plane.shape) == 2 else plane.strides[:2]
    if abs(row) < column and min(plane.shape) > 0:  # columns instead of rows lie together, as in what was transposed or turned
        if plane.on_device:
            raise InvalidError("an array of columns is not allowed in CUDA memory: make it contiguous")
        plane = _host_plane(numpy.ascontiguousarray(plane.owner))
    shape, strides = plane.shape, plane.strides
    if len(shape) == 2:
        shape, strides = (*shape, 1), (*strides, 0)
    elif layout == "chw":
        shape, strides = (*shape[1:], shape[0]), (*strides[1:], strides[0])
    height, width, channels = shape
    alike = channels > 4  # a plane each, of which the format's first component tells
    if channels not in _MODELS and not alike:
        raise InvalidError(f"{channels} channels are not allowed: there are 1, 3, 4 or more of them, {layout!r}")
    if alike and layout == "hwc" and not plane.on_device:
        plane = _host_plane(numpy.ascontiguousarray(numpy.moveaxis(plane.owner, 2, 0)))
        strides = (*plane.strides[1:], plane.strides[0])
    if depth is not None:
        if not hasattr(depth, "__index__") or not 1 <= depth <= 16 or (depth > 8) != (plane.itemsize > 1):
            raise InvalidError(f"depth {depth!r} is not allowed with elements of {plane.itemsize} bytes: one has 1 "
                               "to 8 bits, two have 9 to 16")
        if plane.is_signed:
            _check_signed_samples(plane, int(depth))
        else:
            _check_samples(plane, int(depth), f"depth {depth}")
    format = _new_format(width, height)
    format.components = channels
    format.color_model = getattr(lib, _MODELS.get(channels, _MODELS[1]))
    format.has_alpha = channels == 4
    format.is_signed = plane.is_signed
    inside = 0 < strides[2] and strides[2] * (channels - 1) + plane.itemsize <= strides[1]  # channels lie between two columns
    format.planes = 1 if (inside and not alike) or channels == 1 else channels
    for c in range(1 if alike else channels):
        component = format.component[c]
        component.plane = 0 if format.planes == 1 else c
        component.offset = strides[2] * c if format.planes == 1 else 0
        component.step = strides[1] if width > 1 else plane.itemsize * (channels if format.planes == 1 else 1)
        component.depth = depth or 8 * plane.itemsize
    planes = [plane._replace(address=plane.address + strides[2] * c, strides=(strides[0],)) for c in range(format.planes)]
    return planes, format[0]


def _describe_planes(arrays: Any, name: str) -> tuple[list[Plane], Any]:
    planes = [_plane(array) for array in (arrays if isinstance(arrays, (list, tuple)) else [arrays])]
    height, width = planes[0].shape[:2] if len(planes[0].shape) >= 2 else (0, 0)
    format = ffi.new("CudaencFormat *")
    if lib.cudaenc_format_by_name(format, text_of("format", name), width, height) != lib.CUDAENC_OK:
        raise InvalidError(f"format {name!r} of {width}x{height} is not allowed: cudaenc.h has the names")
    if len(planes) != format.planes:
        raise InvalidError(f"{len(planes)} planes are not allowed: {name} has {format.planes}")
    row_bytes, rows = ffi.new("size_t *"), ffi.new("size_t *")
    for i, plane in enumerate(planes):
        lib.cudaenc_plane_size(format, i, row_bytes, rows)
        inner = plane.itemsize
        for size, stride in zip(reversed(plane.shape[1:]), reversed(plane.strides[1:])):
            if stride != inner and size > 1:
                raise InvalidError(f"plane {i} has gaps within a row; numpy.ascontiguousarray() closes them")
            inner *= size
        wide = format.component[0].depth + format.component[0].shift > 8
        if plane.shape[0] != rows[0] or inner != row_bytes[0] or plane.itemsize != 1 + wide or plane.is_signed:
            raise InvalidError(f"plane {i} of shape {plane.shape}, {plane.itemsize} bytes each, is not allowed: {name} of "
                               f"{width}x{height} has {rows[0]} rows of {row_bytes[0] // (1 + wide)} uint{8 << wide}")
        _check_samples(plane, format.component[0].depth + format.component[0].shift, f"plane {i} of {name}")
    return planes, format[0]


def describe(picture: Any, format: Optional[str], layout: str, depth: Optional[int]) -> tuple[list[Plane], Any]:
    """Planes and CudaencFormat of a picture. Raises InvalidError."""
    if format is not None:
        if depth is not None or layout != "hwc":
            raise InvalidError(f"{f'layout {layout!r}' if depth is None else f'depth {depth}'} is not allowed with format {format!r}, "
                               "which has its own")
        return _describe_planes(picture, format)
    return _describe_array(picture, layout, depth)


def key(planes: Sequence[Plane], format: Any) -> tuple[Any, ...]:
    """What cannot change within a session."""
    return (bytes(ffi.buffer(ffi.addressof(format))), tuple((plane.on_device, plane.number) for plane in planes))
