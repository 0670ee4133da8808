# SPDX-License-Identifier: LGPL-2.1-or-later
"""The shared library, its errors and options."""
from __future__ import annotations

import difflib
import functools
import logging
import operator
import os
import pathlib
import re
from typing import Any, Optional

from ._declarations import ffi as _ffi
from ._options import NAMES

_LOGGER = logging.getLogger("cudaenc")
_HERE = pathlib.Path(__file__).parent
ffi: Any = _ffi
_library = _HERE / "libcudaenc.so.0"
path = os.environ.get("CUDAENC_LIBRARY") or (str(_library) if _library.is_file() else "libcudaenc.so.0")
lib: Any = ffi.dlopen(path)


class CudaencError(RuntimeError):
    """The device is missing, failed or was lost; or a bug of the library."""


class InvalidError(CudaencError, ValueError):
    """An option, a format, an array or a call that is not allowed; the text names it."""


def get_include() -> str:
    """The folder of cudaenc.h, for programs in C; get_library() is what they are linked with."""
    return str(_HERE)


def get_library() -> str:
    """The path of the shared library, or its name where the system's is taken."""
    return path


def version() -> str:
    """That of the library."""
    number = lib.cudaenc_version()
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


class Outcome:
    """What became of a call: its code and the lines that the session logged."""

    def __init__(self, code: int, lines: list[tuple[int, str]]) -> None:
        self.code = code
        self._lines = lines

    def error(self) -> Optional[Exception]:
        if self.code == lib.CUDAENC_OK:
            return None
        errors = [text for level, text in self._lines if level == lib.CUDAENC_LOG_ERROR]
        kind = {lib.CUDAENC_ERR_INVALID: InvalidError, lib.CUDAENC_ERR_MEMORY: MemoryError,
                lib.CUDAENC_ERR_UNSUPPORTED: NotImplementedError}.get(self.code, CudaencError)
        return kind("; ".join(errors) or ffi.string(lib.cudaenc_error_string(self.code)).decode())

    def of_batch(self, first: int) -> "Outcome":
        """The same, with the line of the first picture of a batch alone that failed. Pictures are counted from `first` on."""
        lines = [line for line in self._lines if line[0] != lib.CUDAENC_LOG_ERROR]
        if self.code != lib.CUDAENC_OK:
            lines.append((lib.CUDAENC_LOG_ERROR, ffi.string(lib.cudaenc_last_error()).decode(errors="replace")))
        return Outcome(self.code, [(level, re.sub(r"^picture (\d+)", lambda number: f"picture {int(number[1]) + first}", text))
                                   for level, text in lines])

    def tell(self) -> None:
        """Logs the lines that are no errors. Handlers may do as they like, so that nothing is locked by the caller."""
        for level, text in self._lines:
            if level == lib.CUDAENC_LOG_WARNING:
                _warn(text)
            elif level != lib.CUDAENC_LOG_ERROR:
                _LOGGER.debug("%s", text)

    def check(self) -> None:
        self.tell()
        error = self.error()
        if error is not None:
            raise error


def check(code: int) -> None:
    """Of a call that logs nothing."""
    Outcome(code, [] if code == lib.CUDAENC_OK else [(lib.CUDAENC_LOG_ERROR, ffi.string(lib.cudaenc_last_error()).decode(errors="replace"))]).check()


class Log:
    """Keeps the lines of a session until a call ends."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self.handle = ffi.new_handle(self._lines)
        self.callback = _log

    def outcome(self, code: int) -> Outcome:
        lines = self._lines[:]
        self._lines.clear()
        return Outcome(code, lines)


@functools.lru_cache(maxsize=256)
def _warn(text: str) -> None:
    """Once for each text: encode() opens a session for each picture."""
    _LOGGER.warning("%s", text)


@ffi.callback("CudaencLog")
def _log(opaque: Any, level: int, line: Any) -> None:
    text = ffi.string(line).decode(errors="replace").replace("async_depth", "in_flight")  # as it is called here
    ffi.from_handle(opaque).append((level, text))


# Code points of ITU-T H.273 by FFmpeg's names.
_CODE_POINTS = {
    "color_primaries": {"bt709": 1, "unspecified": 2, "bt470m": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "film": 8, "bt2020": 9,
                        "smpte428": 10, "smpte431": 11, "smpte432": 12, "ebu3213": 22},
    "color_transfer": {"bt709": 1, "unspecified": 2, "bt470m": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "linear": 8,
                       "iec61966-2-1": 13, "bt2020-10": 14, "bt2020-12": 15, "smpte2084": 16, "smpte428": 17, "arib-std-b67": 18},
    "color_matrix": {"rgb": 0, "bt709": 1, "unspecified": 2, "fcc": 4, "bt470bg": 5, "smpte170m": 6, "smpte240m": 7, "ycgco": 8,
                     "bt2020nc": 9, "bt2020c": 10, "smpte2085": 11, "ictcp": 14},
}


def code_point(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in _CODE_POINTS[name]:
        raise InvalidError(f"{name} {value!r} is not allowed: it is a code point, or {', '.join(_CODE_POINTS[name])}")
    return _CODE_POINTS[name][value]


def integer(name: str, value: Any, bits: int = 64) -> int:
    if not hasattr(value, "__index__") or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise InvalidError(f"{name} {value!r} is not allowed: it is an integer")
    return int(value)


def light_of(codec: str, display: Any, content: Any) -> dict[str, Any]:
    """Members of CudaencFrame, of MasteringDisplay and ContentLight."""
    members: dict[str, Any] = {}
    for name, kind, value in ("mastering_display", "CudaencMasteringDisplay *", display), ("content_light", "CudaencContentLight *", content):
        if value is None:
            continue
        if codec != "h264":
            raise InvalidError(f"{name} is not allowed with {codec}: it is for h264")
        try:
            if value is display:
                *places, most, least = value
                scaled = [[round(50000 * float(v)) for v in place] for place in places]
                value = [scaled[:3], scaled[3], round(10000 * float(most)), round(10000 * float(least))]
                if any(len(place) != 2 for place in scaled):
                    raise ValueError("x and y are two")
            members[name] = ffi.new(kind, [int(v) if v is content else v for v in value])
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise InvalidError(f"{name} {display if name == 'mastering_display' else content!r} is not allowed: {error}") from None
    return members


_CALLED = {"file_format": "format"}  # options whose members have other names


def _constant(codec: str, option: str, text: str) -> int:
    names = NAMES[codec].get(option)
    if names is None:
        raise InvalidError(f"{option} {text!r} is not allowed: it is a number")
    name = text.lower().replace("-", "_")
    if name not in names:
        raise InvalidError(f"{option} {text!r} is not allowed: it is {', '.join(names)}")
    return names[name]


def set_member(struct: Any, member: str, name: str, value: Any) -> None:
    """name: what the caller knows it by."""
    try:
        setattr(struct, member, value)
    except (TypeError, OverflowError) as error:
        raise InvalidError(f"{name} {value!r} is not allowed: {error}") from None


def text_of(name: str, value: Any) -> Any:
    """A string for C."""
    if not isinstance(value, str) or "\0" in value:
        raise InvalidError(f"{name} {value!r} is not allowed: it is a text without zeros")
    return ffi.new("char[]", value.encode())


def numbers_of(name: str, value: Any, counts: tuple[int, ...], what: str) -> Any:
    """Integers as a string for C, as many as `counts` allows."""
    try:
        numbers = [operator.index(number) for number in value]
    except TypeError:
        numbers = []
    if len(numbers) not in counts:
        raise InvalidError(f"{name} {value!r} is not allowed: it is {what}")
    return text_of(name, ",".join(map(str, numbers)))


def members_of(struct: Any) -> dict[str, Any]:
    """Options by their names: those that may be set."""
    names = {member: name for name, member in _CALLED.items()}
    return {names.get(member, member): field for member, field in ffi.typeof(struct).fields
            if field.type.kind in ("primitive", "pointer") and "void" not in field.type.cname and field.type.kind != "function"}


def check_names(codec: str, names: Any, others: Any = ()) -> None:
    """That options of a codec are some. others: what the caller has besides."""
    allowed = [*members_of(getattr(ffi.new("CudaencConfig *"), codec)), *others]
    for name in names:
        if name in allowed:
            continue
        if alike := difflib.get_close_matches(name, allowed, 1):
            raise InvalidError(f"{name} is no option of {codec}: {alike[0]} is one")
        raise InvalidError(f"{name} is no option of {codec}: there are {', '.join(allowed)}")


def set_options(struct: Any, codec: str, options: dict[str, Any], keep: list[Any]) -> None:
    """Sets members of CudaencJ2kOptions and its like, but for those that are None. keep: gets what must live until the session is open."""
    members = members_of(struct)
    check_names(codec, options)
    for name, value in options.items():
        member = members[name]
        if value is None:  # not set
            continue
        if member.type is ffi.typeof("char *"):
            value = text_of(name, str(value))
            keep.append(value)
        elif member.type is ffi.typeof("uint16_t *"):
            try:
                divisors = ffi.new("uint16_t[]", [int(v) for v in value])
            except (TypeError, ValueError, OverflowError) as error:
                raise InvalidError(f"{name} {value!r} is not allowed: {error}") from None
            if len(divisors) != 64:
                raise InvalidError(f"{name} of {len(divisors)} values is not allowed: it has 64")
            value = divisors
            keep.append(value)
        elif isinstance(value, str):
            value = sum(_constant(codec, name, one) for one in value.split("+"))
        set_member(struct, _CALLED.get(name, name), name, value)
