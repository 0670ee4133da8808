# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packets of two fields: where the second one begins, and which is the top one."""
from __future__ import annotations

from typing import Any, Optional

from ._native import ffi, lib


def split(data: Any, codec: str) -> Optional[tuple[memoryview, memoryview]]:
    """The two coded pictures of a packet, which are fields where they have one size. None: it has none that may be."""
    if bytes(data[:4]) != b"\xff\x4f\xff\x51" if codec == "j2k" else not _polarity(data):
        return None
    end = int(lib.cudaenc_decoder_picture_size(ffi.from_buffer("uint8_t[]", data), len(data)))
    begin = bytes(data).find(b"\xff\xd8", end) if codec == "mjpeg" else end  # behind padding
    parts = memoryview(data)[:end], memoryview(data)[begin if begin >= 0 else len(data):]
    return None if not parts[1] or (codec == "mjpeg" and not _polarity(parts[1])) else parts


def order(first: memoryview, codec: str) -> Optional[str]:
    """"tff" or "bff", as AVI1 tells; None: it does not."""
    if codec == "j2k":
        return None
    return "tff" if _polarity(first) == 1 else "bff"


def _polarity(data: Any) -> int:
    """Of APP0 "AVI1" (Open DML AVI M-JPEG): 1 the top field, 2 the bottom one; 0: a frame, or there is no such segment."""
    at = 2 if bytes(data[:2]) == b"\xff\xd8" else len(data)
    while at + 4 < len(data) and data[at] == 0xFF and data[at + 1] not in (0xD9, 0xDA):
        if data[at + 1] == 0xE0 and bytes(data[at + 4:at + 8]) == b"AVI1" and at + 8 < len(data):
            return int(data[at + 8]) if data[at + 8] <= 2 else 0
        at += 2 + (data[at + 2] << 8 | data[at + 3])
    return 0
