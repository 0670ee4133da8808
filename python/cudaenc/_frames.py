# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of R, G, B or gray, of any layout and type, as planes of Y, Cb, Cr. Conversion runs where the frames are."""
from __future__ import annotations

import functools
import importlib
import logging
import sys
import threading
from typing import Any, Iterator, NamedTuple, Optional, Sequence

import numpy

from . import _arrays, _native
from ._native import InvalidError, ffi, lib

MATRICES = {"bt709": (0.2126, 0.0722), "bt601": (0.299, 0.114), "bt2020": (0.2627, 0.0593)}  # Kr, Kb
_CHANNELS = (1, 3, 4)
_AT_ONCE = 1 << 24  # samples of a component that are converted at a time


class Conversion(NamedTuple):
    layout: Optional[str] = None  # as mp4.Writer's
    matrix: str = "bt709"
    full_range: bool = False


def is_array(item: Any) -> bool:
    return any(hasattr(item, name) for name in ("shape", "__array_interface__", "__dlpack__"))


def _in_its_library(frames: Any) -> Any:
    """An array of NumPy, PyTorch or CuPy, in the same memory."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(frames, torch.Tensor):
        return frames.detach()
    if isinstance(frames, numpy.ndarray) or type(frames).__module__.split(".")[0] == "cupy":
        return frames
    _arrays.check_mode(frames)
    on_device = hasattr(frames, "__cuda_array_interface__")
    if not on_device and hasattr(frames, "__dlpack_device__"):
        on_device = int(frames.__dlpack_device__()[0]) in (_arrays._CUDA, _arrays._CUDA_MANAGED)
    if not on_device:
        has_own = hasattr(frames, "__array__") or hasattr(frames, "__array_interface__")  # also of types that DLPack's NumPy lacks
        return numpy.asarray(frames) if has_own else numpy.from_dlpack(frames)
    cupy: Any = sys.modules.get("cupy")
    try:
        if torch is None and cupy is None:
            torch = importlib.import_module("torch")
    except ImportError:
        raise InvalidError(f"frames of type {type(frames).__name__} in CUDA memory need PyTorch or CuPy, which convert them there") from None
    if not hasattr(frames, "__dlpack__"):
        return torch.as_tensor(frames, device="cuda") if torch is not None else cupy.asarray(frames)
    return (torch or cupy).from_dlpack(frames)


def _layout_of(shape: Sequence[int], layout: Optional[str]) -> str:
    """The axes of an array: n frames, c channels, h rows, w columns."""
    if layout is not None:
        axes = layout.lower().replace("t", "n") if isinstance(layout, str) else ""
        if sorted(axes) not in (sorted(some) for some in ("hw", "hwc", "nhw", "nhwc")):
            raise InvalidError(f"layout {layout!r} is not allowed: it has h and w, and may have c and n or t, such as 'nchw'")
        # A frame is taken as one of many, and may lack its channels.
        for without in ("", "n", "c", "nc"):
            some = "".join(axis for axis in axes if axis not in without)
            if len(some) == len(shape) and ("c" not in some or shape[some.index("c")] in _CHANNELS):
                return some
        raise InvalidError(f"a frame of shape {tuple(shape)} is not allowed with layout {layout!r}; there are 1, 3 or 4 channels")
    channels = [size in _CHANNELS for size in shape]
    if len(shape) == 2:
        return "hw"
    if len(shape) in (3, 4) and channels[-1]:
        return "nhwc"[-len(shape):]
    if len(shape) == 3 and channels[0]:
        return "chw"
    if len(shape) == 4 and channels[0] and channels[1]:
        raise InvalidError(f"frames of shape {tuple(shape)} need layout='nchw' or 'cthw', as both are possible")
    if len(shape) == 4 and (channels[0] or channels[1]):
        return "nchw" if channels[1] else "cnhw"
    raise InvalidError(f"a frame of shape {tuple(shape)} is not allowed: it is (height, width, channels) of 1, 3 or 4, or another layout")


def _rearranged(array: Any, axes: str) -> Any:
    """As (n, height, width, channels), a view."""
    for axis in "nc":
        if axis not in axes:
            array, axes = array[None], axis + axes
    order = [axes.index(axis) for axis in "nhwc"]
    return array.permute(*order) if hasattr(array, "permute") else array.transpose(order)


def _joined(arrays: Sequence[Any], axis: int) -> Any:
    first = arrays[0]
    if hasattr(first, "permute"):
        return sys.modules["torch"].cat(list(arrays), axis)
    return (numpy if isinstance(first, numpy.ndarray) else sys.modules["cupy"]).concatenate(arrays, axis)


class _Converter:
    """Of frames in the host's memory, or in that of a GPU. Threads may share it."""

    def __init__(self, number: Optional[int]) -> None:
        config = ffi.new("CudaencConverterConfig *")
        lib.cudaenc_converter_init(config, ffi.sizeof("CudaencConverterConfig"))
        device = ffi.new("char[]", b"auto" if number is None else b"cuda:%d" % number)
        config.device, config.device_memory = device, number is not None
        converter = ffi.new("CudaencConverter **")
        _native.check(lib.cudaenc_converter_open(converter, config))
        self._handle = ffi.gc(converter[0], lib.cudaenc_converter_close)
        self._lock = threading.Lock()

    def convert(self, frames: Any) -> None:
        with self._lock:
            _native.check(lib.cudaenc_convert(self._handle, frames))


_converter = functools.lru_cache(maxsize=None)(_Converter)  # by the number of the GPU


class _Memory(NamedTuple):
    address: int
    steps: Sequence[int]  # bytes
    number: Optional[int]  # of the GPU
    stream: int


def _memory_of(array: Any) -> _Memory:
    if isinstance(array, numpy.ndarray):
        return _Memory(array.ctypes.data, array.strides, None, 0)
    if hasattr(array, "permute"):
        steps = [step * array.element_size() for step in array.stride()]
        return _Memory(array.data_ptr(), steps, array.device.index if array.is_cuda else None,
                       _arrays._stream(array, {}) if array.is_cuda else 0)
    return _Memory(array.data.ptr, array.strides, array.device.id, array.__cuda_array_interface__.get("stream") or 0)


def _empty(array: Any, shape: tuple[int, ...]) -> Any:
    """An array of uint8 of the same library, where that array is."""
    if hasattr(array, "permute"):
        return array.new_empty(shape, dtype=sys.modules["torch"].uint8)
    return (numpy if isinstance(array, numpy.ndarray) else sys.modules["cupy"]).empty(shape, "uint8")


_TYPES = {"uint8": lib.CUDAENC_SAMPLE_UINT8, "float16": lib.CUDAENC_SAMPLE_FLOAT16, "float32": lib.CUDAENC_SAMPLE_FLOAT32}


def _converted(samples: Any, kr: float, kb: float, full_range: bool) -> list[Any]:
    """Planes of uint8, (n, height, width), of (n, height, width, 1 or 3 or 4); within one of the exact ones."""
    kind = str(samples.dtype).rsplit(".", 1)[-1]
    if kind not in _TYPES:
        if "float" not in kind and kind[1:2] != "f":
            raise InvalidError(f"frames of {samples.dtype} are not allowed: they are of uint8, or of floating point in 0 to 1")
        samples, kind = samples.float() if hasattr(samples, "permute") else samples.astype("float32"), "float32"
    count, height, width, channels = samples.shape
    rows, columns = (height + 1) // 2, (width + 1) // 2
    planes = [_empty(samples, (count, scale * rows, scale * columns)) for scale in (2, 1, 1)]
    memory = _memory_of(samples)
    frames = ffi.new("CudaencRgbFrames *", {
        "struct_size": ffi.sizeof("CudaencRgbFrames"), "samples": ffi.cast("void *", memory.address), "type": _TYPES[kind], "count": count,
        "height": height, "width": width, "channels": channels, "step": list(memory.steps), "kr": kr, "kb": kb, "full_range": full_range,
        "cuda_stream": ffi.cast("void *", memory.stream), "planes": [ffi.cast("uint8_t *", _memory_of(plane).address) for plane in planes]})
    _converter(memory.number).convert(frames)
    return planes


def batches(frames: Any, how: Conversion) -> Iterator[list[Any]]:
    """Planes of Y, Cb and Cr, each (n, height, width), of some of the frames of an array at a time."""
    if how.matrix not in MATRICES:
        raise InvalidError(f"matrix {how.matrix!r} is not allowed: it is {', '.join(MATRICES)}")
    array = _in_its_library(frames)
    array = _rearranged(array, _layout_of(tuple(array.shape), how.layout))
    if 0 in array.shape:
        raise InvalidError(f"frames of shape {tuple(array.shape)} are not allowed: they have samples")
    if array.shape[-1] == 4:
        warn_once("alpha of frames is left out: H.264 has none")
    if array.shape[1] % 2 or array.shape[2] % 2:
        warn_once("frames of odd size get their last row or column twice: 4:2:0 has pairs of them")
    most = max(1, _AT_ONCE // (array.shape[1] * array.shape[2]))
    first, count = 0, 1  # at first few, so that the encoder has work soon
    while first < len(array):
        yield _converted(array[first:first + count], *MATRICES[how.matrix], how.full_range)
        first, count = first + count, min(2 * count, most)


def warn_once(text: str, said: set[str] = set()) -> None:
    if text not in said:
        said.add(text)
        logging.getLogger("cudaenc").warning("%s", text)


def pictures(frames: Any, format: str, how: Conversion) -> Iterator[tuple[Any, bool]]:
    """Planes of each frame, and whether they are nobody else's. frames: an array; the planes of a frame as a sequence; or an
    iterable of these."""
    if is_array(frames):
        if format != "yuv420p":
            yield frames, False
            return
        for planes in batches(frames, how):
            yield from ((list(one), True) for one in zip(*planes))
    elif isinstance(frames, (list, tuple)) and frames and all(len(getattr(plane, "shape", ())) == 2 for plane in frames):
        yield frames, False
    elif hasattr(frames, "__iter__"):
        for frame in frames:
            yield from pictures(frame, format, how)
    else:
        raise InvalidError(f"a frame of type {type(frames).__name__} is not allowed: it is an array, or the planes of {format}")
