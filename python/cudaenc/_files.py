# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of a batch, which the library reads."""
from __future__ import annotations

import errno
import os
import stat
from typing import Any

from ._native import InvalidError, ffi

READERS = 8  # threads of all decoders of a batch


def is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def read(path: Any) -> bytes:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a FIFO would wait for its writer
        raise error_of(path, errno.ESPIPE)
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
    return OSError(number, "not a regular file" if number == errno.ESPIPE else os.strerror(number), os.fspath(path))
