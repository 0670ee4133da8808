# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of a batch, which the library reads."""
from __future__ import annotations

import os
from typing import Any

from ._native import InvalidError, ffi

READERS = 8  # threads of all decoders of a batch


def is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def read(path: Any) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def name_of(path: Any) -> Any:
    """For C."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidError(f"path {path!r} is not allowed: it has a zero")
    return ffi.new("char[]", name)


def error_of(path: Any, number: int) -> OSError:
    """number: an errno."""
    return OSError(number, os.strerror(number), os.fspath(path))
