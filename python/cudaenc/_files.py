# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of a batch, which are read while a decoder has those before."""
from __future__ import annotations

import concurrent.futures
import os
from typing import Any, Generator, Iterator, NamedTuple, Optional, Sequence

_ROOM = 1 << 24  # bytes that are read at a time, but for a file that has more
_FILES = 256  # that are read at a time


class Group(NamedTuple):
    packets: list[Any]  # bytes, or what is like them
    unread: dict[int, OSError]  # what became of files that are empty in `packets`, by their numbers


def is_path(item: Any) -> bool:
    return isinstance(item, (str, os.PathLike))


def read(path: Any) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_into(path: Any, room: memoryview) -> Optional[int]:
    """How many bytes a file has; None: they do not leave room."""
    file, size = os.open(path, os.O_RDONLY | os.O_CLOEXEC), 0
    try:
        while count := os.readv(file, [room[size:]]):
            size += count
    finally:
        os.close(file)
    return size if size < len(room) else None


def _groups(items: Sequence[Any]) -> Iterator[Group]:
    """Files go to memory that was used before: fresh memory takes three times as long as they do. A group holds until the next but
    one is made."""
    rooms = [memoryview(bytearray(_ROOM)) for _ in range(2)]
    first, most = 0, _FILES // 8  # at first few, so that the decoder has work soon
    while first < len(items):
        rooms.reverse()
        group, size = Group([], {}), 0
        for item in items[first:first + most]:
            if is_path(item):
                try:
                    while (count := _read_into(item, rooms[0][size:])) is None and not size:
                        rooms[0] = memoryview(bytearray(2 * len(rooms[0])))
                except OSError as error:
                    group.unread[len(group.packets)] = OSError(error.errno, error.strerror, os.fspath(item))
                    count = 0
                if count is None:
                    break
                item, size = rooms[0][size:size + count], size + count
            group.packets.append(item)
        yield group
        first, most = first + len(group.packets), min(2 * most, _FILES)


def read_ahead(items: Sequence[Any]) -> Generator[Group, None, None]:
    """Bytes and paths of files, some at a time, which hold until the next are asked for. A thread reads those meanwhile."""
    if not any(map(is_path, items)):
        yield Group(list(items), {})
        return
    groups = _groups(items)
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, groups, None)
        while (group := coming.result()) is not None:
            coming = reader.submit(next, groups, None)
            yield group
