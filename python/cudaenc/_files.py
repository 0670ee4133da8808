# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of a batch, which are read while a decoder has those before."""
from __future__ import annotations

import concurrent.futures
import itertools
import os
from typing import Any, Generator, Iterator, NamedTuple, Sequence

from . import _native
from ._native import InvalidError, ffi, lib

_ROOM = 1 << 24  # bytes that are read at a time, but for a file that has more
_FILES = 256  # that are read at a time
_THREADS = 8  # of all decoders of a batch


class Group(NamedTuple):
    packets: list[Any]  # bytes, or what is like them
    unread: dict[int, OSError]  # what became of files that are empty in `packets`, by their numbers


def is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def read(path: Any) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _name_of(path: Any) -> bytes:
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidError(f"path {path!r} is not allowed: it has a zero")
    return name


class _Room:
    """Memory for files that was used before: fresh memory takes three times as long as they do."""

    def __init__(self) -> None:
        self._bytes, self._used = memoryview(bytearray(_ROOM)), 0

    def empty(self) -> "_Room":
        self._used = 0
        return self

    def read(self, paths: Sequence[Any], threads: int, group: Group) -> bool:
        """Adds files to a group. False: some are left, as there is no room."""
        names = [ffi.new("char[]", _name_of(path)) for path in paths]
        kept = (ffi.new("char *[]", names), ffi.new("uint8_t *[]", len(paths)), ffi.new("size_t[]", len(paths)), ffi.new("int[]", len(paths)))
        files = ffi.new("CudaencFiles *", {"struct_size": ffi.sizeof("CudaencFiles"), "count": len(paths), "threads": threads})
        files.paths, files.data, files.size, files.errors = kept
        read = ffi.new("int *")
        while True:
            room = ffi.from_buffer("uint8_t[]", self._bytes[self._used:], require_writable=True)
            files.bytes, files.capacity = room, len(room)
            _native.check(lib.cudaenc_read_files(files, read))
            if read[0] or group.packets:
                break
            self._bytes = memoryview(bytearray(2 * files.size[0]))
        for path, size, error in zip(paths, kept[2][0:read[0]], kept[3][0:read[0]]):
            if error:
                group.unread[len(group.packets)] = OSError(error, os.strerror(error), os.fspath(path))
            group.packets.append(self._bytes[self._used:self._used + size])
            self._used += size
        return bool(read[0] == len(paths))


def _groups(items: Sequence[Any], threads: int) -> Iterator[Group]:
    """A group holds until the next but one is made."""
    rooms = [_Room(), _Room()]
    first, most = 0, _FILES // 8  # at first few, so that the decoder has work soon
    while first < len(items):
        rooms.reverse()
        room, group = rooms[0].empty(), Group([], {})
        for are_paths, some in itertools.groupby(items[first:first + most], is_path):
            if not are_paths:
                group.packets.extend(some)
            elif not room.read(list(some), threads, group):
                break
        yield group
        first, most = first + len(group.packets), min(2 * most, _FILES)


def read_ahead(items: Sequence[Any], threads: int) -> Generator[Group, None, None]:
    """Bytes and paths of files, some at a time, which hold until the next are asked for. Threads read those meanwhile."""
    if not any(map(is_path, items)):
        yield Group(list(items), {})
        return
    groups = _groups(items, threads)
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, groups, None)
        while (group := coming.result()) is not None:
            coming = reader.submit(next, groups, None)
            yield group
