# SPDX-License-Identifier: LGPL-2.1-or-later
"""What callers give by name, for type checkers."""
from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Optional, TypedDict, Union

from ._options import H264Options, J2kOptions, MjpegOptions

if TYPE_CHECKING:
    import os


class MasteringDisplay(NamedTuple):
    """The display on which H.264 was graded (SMPTE ST 2086): x and y of CIE 1931, and cd/m2."""

    red: tuple[float, float] = (0.708, 0.292)
    green: tuple[float, float] = (0.170, 0.797)
    blue: tuple[float, float] = (0.131, 0.046)
    white_point: tuple[float, float] = (0.3127, 0.3290)
    max_luminance: float = 1000
    min_luminance: float = 0.0001


class ContentLight(NamedTuple):
    """How bright H.264 is (CTA-861.3), cd/m2: its brightest sample, and its brightest picture on average."""

    max_content: int
    max_average: int


class Common(TypedDict, total=False):
    """Of all codecs, see Encoder."""

    format: Optional[str]
    layout: Literal["hwc", "chw"]
    depth: Optional[int]
    device: str
    threads: int
    full_range: Optional[bool]
    color_primaries: Union[int, str, None]
    color_transfer: Union[int, str, None]
    color_matrix: Union[int, str, None]
    fields: Optional[Literal["tff", "bff"]]
    copy: bool


class J2kArguments(Common, J2kOptions, total=False):  # type: ignore[misc]  # xmp and iptc are bytes too
    icc_profile: Optional[bytes]
    exif: Optional[bytes]
    xmp: Union[bytes, str, "os.PathLike[str]", None]  # type: ignore[misc]
    iptc: Union[bytes, str, "os.PathLike[str]", None]  # type: ignore[misc]


class MjpegArguments(Common, MjpegOptions, total=False):
    icc_profile: Optional[bytes]
    exif: Optional[bytes]
    xmp: Optional[bytes]
    iptc: Optional[bytes]


class H264Arguments(Common, H264Options, total=False):
    crf: Optional[int]
    mastering_display: Optional[MasteringDisplay]
    content_light: Optional[ContentLight]


class WriterArguments(H264Options, total=False):
    device: str
    threads: int
    copy: bool
    mastering_display: Optional[MasteringDisplay]
    content_light: Optional[ContentLight]
