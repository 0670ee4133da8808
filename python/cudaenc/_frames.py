# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of R, G, B or gray, of any layout and type, as planes of Y, Cb, Cr. Conversion runs where the frames are."""
from __future__ import annotations

import importlib
import logging
import sys
from typing import Any, Iterator, NamedTuple, Optional, Sequence

import numpy

from . import _arrays
from ._native import InvalidError

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


def _bytes_of(array: Any) -> Any:
    """Samples as 0 to 255, of uint8 or of floating point in 0 to 1."""
    kind = str(array.dtype).rsplit(".", 1)[-1]
    if kind == "uint8":
        return array
    if "float" not in kind:
        raise InvalidError(f"frames of {array.dtype} are not allowed: they are of uint8, or of floating point in 0 to 1")
    of_torch = hasattr(array, "permute")
    array = array.float() if of_torch else array.astype("float32")
    extremes = array.aminmax() if of_torch else (array.min(), array.max())
    for value in map(float, extremes):
        if not -1 / 510 <= value <= 1 + 1 / 510:
            raise InvalidError(f"sample {value:g} is not allowed: floating-point frames are 0 to 1")
    array = array * 255
    array += 0.5
    return array.clamp_(0, 255).byte() if of_torch else array.clip(0, 255, out=array).astype("uint8")


def _joined(arrays: Sequence[Any], axis: int) -> Any:
    first = arrays[0]
    if hasattr(first, "permute"):
        return sys.modules["torch"].cat(list(arrays), axis)
    return (numpy if isinstance(first, numpy.ndarray) else sys.modules["cupy"]).concatenate(arrays, axis)


def _even(array: Any) -> Any:
    """With the last row and column twice where they are odd: 4:2:0 has pairs of them."""
    array = _joined([array, array[:, -1:]], 1) if array.shape[1] % 2 else array
    return _joined([array, array[:, :, -1:]], 2) if array.shape[2] % 2 else array


def _weighted(planes: Sequence[Any], weights: Sequence[int], constant: int, bits: int) -> Any:
    """(The sum of weights times planes, and a constant) >> bits, in int32 and with few passes over memory."""
    if hasattr(planes[0], "permute"):
        total = planes[0].int().mul_(weights[0])
        for plane, weight in zip(planes[1:], weights[1:]):
            total.add_(plane, alpha=weight)
        return total.add_(constant).bitwise_right_shift_(bits)
    total = planes[0].astype("int32")
    total *= weights[0]
    for plane, weight in zip(planes[1:], weights[1:]):
        total += plane.astype("int32") * weight
    total += constant
    total >>= bits
    return total


def _quarter(plane: Any) -> Any:
    """The sums of 2x2 samples of uint8, in int16."""
    total = plane[..., ::2, ::2]
    total = total.short() if hasattr(total, "permute") else total.astype("int16")
    for y, x in (0, 1), (1, 0), (1, 1):
        total += plane[..., y::2, x::2]
    return total


def _converted(samples: Any, kr: float, kb: float, full_range: bool) -> list[Any]:
    """Planes of uint8, (n, height, width), of (n, height, width, 1 or 3 or 4); within one of the exact ones."""
    span, black = (255, 0) if full_range else (219, 16)

    def narrow(plane: Any) -> Any:
        plane = plane.clip(0, 255) if full_range else plane
        return plane.byte() if hasattr(plane, "permute") else plane.astype("uint8")

    def scaled(weight: float, most: float) -> int:
        return round(weight * most / 255 * 65536)

    if samples.shape[-1] == 1:
        luma = _weighted([samples[..., 0]], [scaled(1, span)], (black << 16) + 32768, 16)
        gray = narrow(luma[..., ::2, ::2] * 0 + 128)
        return [narrow(luma), gray, gray]
    colours = [samples[..., c] for c in range(3)]
    weights = [scaled(weight, span) for weight in (kr, 1 - kr - kb, kb)]
    planes = [narrow(_weighted(colours, weights, (black << 16) + 32768, 16))]
    red, green, blue = map(_quarter, colours)
    for own, other, own_weight, other_weight in ((blue, red, kb, kr), (red, blue, kr, kb)):
        most = (127.5 if full_range else 112) / (1 - own_weight)
        weights = [scaled(1 - own_weight, most), -scaled(other_weight, most), -scaled(1 - kr - kb, most)]
        planes.append(narrow(_weighted([own, other, green], weights, (128 << 18) + (1 << 17), 18)))
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
        yield _converted(_even(_bytes_of(array[first:first + count])), *MATRICES[how.matrix], how.full_range)
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
