# SPDX-License-Identifier: LGPL-2.1-or-later
"""MP4 files and streams of H.264, by PyAV: pip install cudaenc[video]

    >>> import numpy
    >>> frames = numpy.zeros((48, 90, 160, 3), numpy.uint8)
    >>> write_mp4(io.BytesIO(), frames, frame_rate=24, crf=20)    # or a path
    48
    >>> with Writer(None, frame_rate=24) as writer:               # frames as they come; audio="speech.m4a"
    ...     writer.add(frames)
    >>> writer.data[4:8]
    b'ftyp'
    >>> len(list(stream(frames, frame_rate=24, fragment=0.5)))    # fragmented MP4, for HTTP
    5

Frames are arrays of NumPy, PyTorch, CuPy, or of others by DLPack: one, (height, width, channels), or many, (n, height,
width, channels). Other layouts are found by their channels, or named: layout="nchw". Channels are R, G, B, with alpha, which is left out, or
gray. Elements are uint8, or floating point in 0 to 1. They become yuv420p where they lie. A frame may also be the sequence of planes of `format`.
"""
from __future__ import annotations

import contextlib
import fractions
import io
import logging
import os
import secrets
import shutil
import tempfile
import threading
from typing import TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, BinaryIO, Container, Iterable, Iterator, Optional, Sequence, Union

try:  # here, as it takes longer than a film's first frame
    import av
except ImportError:
    av = None  # type: ignore[assignment]  # Writer says so

from . import Encoder, InvalidError, Packet, _frames, _native
from ._frames import Conversion

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import WriterArguments

_LOGGER = logging.getLogger("cudaenc")
_COLOURS = {"bt709": (1, 1, 1), "bt601": (6, 6, 6), "bt2020": (9, 14, 9)}  # primaries, transfer and matrix of ITU-T H.273
_PREDICTED = {"yuv420p", "yuvj420p", "nv12"}  # formats whose P pictures a GPU codes
_CLOCK = 90000  # ticks of a second, at least
_Seconds = Union[int, float, fractions.Fraction]
_Target = Union[str, "os.PathLike[str]", BinaryIO, None]


def yuv420p(frame: Any, matrix: str = "bt709", full_range: bool = False) -> list[Any]:
    """Planes of Y, Cb, Cr of a frame of (height, width, channels), or of several of (n, height, width, channels), where they lie, and of
    other layouts. Values are within one of the exact ones."""
    several = len(getattr(frame, "shape", ())) == 4
    planes = list(_frames.batches(frame, Conversion(matrix=matrix, full_range=full_range)))
    joined = planes[0] if len(planes) == 1 else [_frames._joined(some, 0) for some in zip(*planes)]
    return joined if several else [plane[0] for plane in joined]


def _rate_of(frame_rate: Any) -> fractions.Fraction:
    try:
        rate = fractions.Fraction(frame_rate).limit_denominator(1001)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        rate = fractions.Fraction(0)
    if rate <= 0:
        raise InvalidError(f'frame_rate {frame_rate!r} is not allowed: it is a number above 0, or a text such as "30000/1001"')
    return rate


def _seconds_of(pts: Any) -> fractions.Fraction:
    try:
        return fractions.Fraction(pts)
    except (TypeError, ValueError, OverflowError):
        raise InvalidError(f"pts {pts!r} is not allowed: it is a number of seconds") from None


class _Pipe:
    """A file for a muxer that cannot seek. What it writes becomes chunks."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._chunks: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def end_chunk(self) -> None:
        if self._parts:
            self._chunks.append(b"".join(self._parts))
        self._parts = []

    def take(self) -> list[bytes]:
        chunks, self._chunks = self._chunks, []
        return chunks


class Writer:
    """Frames, as they come, become H.264 in MP4. Threads may share it.

    target: a path, a file object, or None: bytes, which `data` has behind the end. A path gets its name when the file is
    whole; a file object gets what is whole. Where an exception leaves the `with`, nothing is left.
    frame_rate: a number or "30000/1001"; frames with `pts` may come at any time.
    crf: constant quality, a QP (20). Or bit_rate=, on average, bits/s. Both may be assigned between two frames.
    index: "first", for playback while the file loads, or "last".
    fragment: "gop" or seconds: fragmented MP4, for HLS, DASH and live HTTP; then a file object gets it as it comes, and
    with target None take() has what is new.   gop_size: frames from a key frame to the next; 250, of fragments 2 seconds.
    matrix: of R, G, B and of the colour that the file tells: "bt709", "bt601" or "bt2020".   full_range: of Y, Cb, Cr.
    color_primaries, color_transfer, mastering_display, content_light: as Encoder's, for HDR.
    rotation: degrees clockwise by which players turn the pictures: 0, 90, 180 or 270.
    audio: a path or a file object whose first audio track is passed through, up to the video's end; or an audio stream of
    PyAV, whose packets add_audio() takes.   format, layout: see the module.   in_flight, options: Encoder's.
    """

    __slots__ = ("_target", "_rate", "_clock", "_index", "_fragment", "_format", "_how", "_rotation", "_audio", "_options", "_encoder",
                 "_container", "_video", "_pipe", "_path", "_lock", "_converts", "_last", "_closed", "_data", "_live",
                 "_file", "frames", "size")

    def __init__(self, target: _Target = None, *, frame_rate: Union[int, str, float, fractions.Fraction] = 25, crf: Optional[int] = None,
                 index: str = "first", fragment: Union[str, float, None] = None, format: str = "yuv420p",
                 layout: Optional[str] = None, matrix: str = "bt709", full_range: bool = False,
                 color_primaries: Union[int, str, None] = None, color_transfer: Union[int, str, None] = None, rotation: int = 0,
                 audio: Any = None, in_flight: int = 8, **options: Unpack[WriterArguments]) -> None:
        if av is None:
            raise ImportError("cudaenc.mp4 needs PyAV: pip install cudaenc[video]")
        self._closed = True
        self._encoder: Optional[Encoder] = None
        self._container: Any = None
        self._video: Any = None
        self._path: Optional[str] = None
        self._file: Any = None
        self._data: Optional[bytes] = None
        self._rate = rate = _rate_of(frame_rate)
        if matrix not in _COLOURS:
            raise InvalidError(f"matrix {matrix!r} is not allowed: it is {', '.join(_COLOURS)}")
        if index not in ("first", "last"):
            raise InvalidError(f"index {index!r} is not allowed: it is 'first' or 'last'")
        if fragment is not None and fragment != "gop" and not (isinstance(fragment, (int, float)) and 0 < fragment < 3600):
            raise InvalidError(f"fragment {fragment!r} is not allowed: it is 'gop', or seconds")
        if rotation not in (0, 90, 180, 270):
            raise InvalidError(f"rotation {rotation!r} is not allowed: it is 0, 90, 180 or 270")
        if options.setdefault("repeat_headers", 0):
            raise InvalidError("repeat_headers is not allowed: the file has the parameter sets")
        if "codec" in options:
            raise InvalidError("codec is not allowed: it is h264")
        own = ("crf", "device", "threads", "copy", "mastering_display", "content_light")
        _native.check_names("h264", options, own)
        primaries, transfer, code = _COLOURS[matrix]
        if options.get("gop_size") is None:
            options["gop_size"] = self._usual_gop(format, fragment, options)
        self._options: dict[str, Any] = {"frame_rate_num": rate.numerator, "frame_rate_den": rate.denominator, "crf": crf,
                         "in_flight": in_flight, "full_range": full_range,
                         "color_primaries": primaries if color_primaries is None else color_primaries,
                         "color_transfer": transfer if color_transfer is None else color_transfer, "color_matrix": code, **options}
        _native.code_point("color_primaries", self._options["color_primaries"])
        _native.code_point("color_transfer", self._options["color_transfer"])
        self._clock = rate.numerator * -(-_CLOCK // rate.numerator)
        self._target: Any = target
        self._index = index
        self._fragment: Any = fragment
        self._format, self._rotation = format, rotation
        self._how = Conversion(layout, matrix, full_range)
        self._pipe = _Pipe() if fragment is not None else None
        self._lock = threading.RLock()
        self._converts: Optional[bool] = None
        self._last: Optional[fractions.Fraction] = None  # seconds at which the last frame comes
        self._live: dict[str, int] = {}
        self.frames = 0
        self.size = 0
        self._audio = _Audio(audio) if audio is not None else None
        self._closed = False

    def _usual_gop(self, format: str, fragment: Any, options: Any) -> int:
        """P pictures, where every device has them."""
        intra = options.get("effort") or options.get("avc_intra_class") or str(options.get("profile") or "high").upper() not in (
            "CONSTRAINED_BASELINE", "MAIN", "HIGH", "AUTO_PROFILE", "0", "1", "2", "3")
        if intra or format not in _PREDICTED:
            return 1
        return 250 if fragment is None else max(1, round(2 * self._rate))

    # ---- frames

    def add(self, frames: Any, *, pts: Union[_Seconds, Sequence[_Seconds], None] = None, keys: Container[int] = ()) -> None:
        """A frame, many in one array, or an iterable of these. pts: the seconds at which a frame begins, of many a sequence;
        None: 1 / frame_rate behind the frame before. keys: which of these frames, from 0 on, are key frames."""
        with self._lock:
            self._check_open()
            times = None if pts is None else [_seconds_of(one) for one in (pts if hasattr(pts, "__iter__") else [pts])]
            count = 0
            for planes, converts in _frames.pictures(frames, self._format, self._how):
                if times is not None and count >= len(times):
                    raise InvalidError(f"{len(times)} pts are not allowed with more frames than these")
                self._encode(planes, converts, None if times is None else times[count], count in keys)
                count += 1
            if times is not None and count < len(times):
                raise InvalidError(f"{len(times)} pts are not allowed with {count} frames")
            self._drain(False)

    def add_audio(self, packets: Any) -> None:
        """Packets of the stream that `audio` is, in the order of their time, along with the frames of that time."""
        with self._lock:
            self._check_open()
            if self._audio is None or not self._audio.by_packets:
                raise InvalidError("add_audio() is not allowed: audio is no stream of PyAV")
            self._audio.waiting.extend([packets] if isinstance(packets, av.Packet) else packets)
            if self._container is not None:
                self._audio.mux(self._container, None)

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidError("the writer is closed")

    def _open_encoder(self, planes: Any, converts: bool) -> Encoder:
        options = {"copy": False, **self._options} if converts else self._options  # what is converted is nobody else's
        encoder = Encoder(planes, "h264", format=self._format, **options)
        for name, value in self._live.items():
            setattr(encoder, name, value)
        return encoder

    def _encode(self, planes: Any, converts: bool, time: Optional[fractions.Fraction], key: bool) -> None:
        if self._converts not in (None, converts):
            raise InvalidError("frames of R, G, B and planes are not allowed beside each other")
        following = 0 if self._last is None else self._last + 1 / self._rate
        skipped = 0
        if time is not None and self._last is not None:
            if round(time * self._clock) <= round(self._last * self._clock):
                raise InvalidError(f"pts {float(time):g} is not allowed: the frame before has {float(self._last):g}")
            skipped = max(0, round((time - self._last) * self._rate) - 1)
        begin = fractions.Fraction(following if time is None else time)
        if self._encoder is None:
            self._encoder = self._open_encoder(planes, converts)
        skipped = skipped if self._options.get("bit_rate") and not self._options.get("hrd") else 0
        while not self._encoder.submit(planes, key=key, pts=begin, skipped=skipped):
            self._mux(self._encoder.receive())
        self._converts, self._last = converts, begin
        if self._container is None:
            self._open_container()  # while the first frame is coded

    # ---- packets

    def _drain(self, wait: bool) -> None:
        while self._encoder is not None and (received := self._encoder.receive(wait)) is not None:
            self._mux(received)

    def _mux(self, received: Any) -> None:
        data: Packet = received[1]
        packet = av.Packet(data)
        packet.stream = self._video
        packet.time_base = fractions.Fraction(1, self._clock)
        packet.pts = packet.dts = round(data.pts * self._clock)
        packet.duration = round(self._clock / self._rate)
        packet.is_keyframe = data.key
        if self._audio is not None:
            self._audio.mux(self._container, data.pts)
        self._container.mux_one(packet)
        self.frames += 1
        self.size += len(data)
        self._pass_on()

    def _open_container(self) -> None:
        options = {"video_track_timescale": str(self._clock), "flush_packets": "1"}
        if isinstance(self._target, (str, os.PathLike)):
            self._path = f"{os.path.realpath(os.fsdecode(self._target))}.{secrets.token_hex(4)}.part"
            self._file = open(self._path, "xb")
        elif self._pipe is None:  # what can seek, and may be dropped
            descriptor, self._path = tempfile.mkstemp(suffix=".mp4")
            self._file = open(descriptor, "wb")
        if self._pipe is None:
            options.update({"movflags": "+faststart"} if self._index == "first" else {})
        elif self._fragment == "gop":
            options["movflags"] = "+empty_moov+default_base_moof+frag_keyframe"
        else:
            options["movflags"] = "+empty_moov+default_base_moof"
            options["frag_duration"] = str(round(1e6 * self._fragment))  # microseconds
        assert self._encoder is not None
        container = av.open(self._pipe or self._path, "w", format="mp4", container_options=options)
        # Parameter sets alone tell FFmpeg no more than themselves; pictures of pairs of samples have whole pairs.
        with av.open(io.BytesIO(self._encoder.extradata), format="h264") as sets:
            self._video = video = container.add_stream_from_template(sets.streams.video[0], opaque=True)
        coded = self._encoder._format
        x, y = (coded.component[1].log2_subsample_x, coded.component[1].log2_subsample_y) if coded.components > 1 else (0, 0)
        video.width, video.height = -(-coded.width >> x << x), -(-coded.height >> y << y)
        video.color_primaries, video.color_trc, video.colorspace = coded.color_primaries, coded.color_transfer, coded.color_matrix
        video.color_range = 2 if coded.full_range else 1  # FFmpeg's numbers
        self._video.time_base = fractions.Fraction(1, self._clock)
        if self._rotation:
            if not hasattr(self._video, "set_display_rotation"):
                raise InvalidError("rotation is not allowed with this PyAV: it needs 18")
            self._video.set_display_rotation(-self._rotation)
        if self._audio is not None:
            self._audio.open(container)
        self._container = container
        container.start_encoding()
        self._pass_on()

    def _pass_on(self) -> None:
        """What a fragmented file has that is new goes to its target."""
        if self._pipe is None:
            return
        self._pipe.end_chunk()
        file = self._file or self._target
        if file is not None:
            for chunk in self._pipe.take():
                file.write(chunk)

    def take(self) -> bytes:
        """What is new of a fragmented file with target None; may be empty."""
        with self._lock:
            return b"".join(self._take())

    def _take(self) -> list[bytes]:
        if self._pipe is None or self._target is not None:
            raise InvalidError("take() is not allowed: it is for fragments with target None")
        return self._pipe.take()

    @property
    def data(self) -> bytes:
        """The file, where target is None: behind the end of `with`."""
        if self._data is None:
            raise InvalidError("there are no data: target is not None, fragments are taken, or the writer is not closed")
        return self._data

    # ---- rates

    def _set(self, name: str, value: int) -> None:
        with self._lock:
            self._check_open()
            if self._encoder is not None:
                setattr(self._encoder, name, value)
            else:
                self._live[name] = _native.integer(name, value)

    @property
    def crf(self) -> Optional[int]:
        """Assigned between two frames, as bit_rate is: it holds for those that follow."""
        return self._encoder.qp if self._encoder is not None else self._live.get("qp", self._options["crf"])

    @crf.setter
    def crf(self, crf: int) -> None:
        self._set("qp", crf)

    qp = crf

    @property
    def bit_rate(self) -> Optional[int]:
        return self._encoder.bit_rate if self._encoder is not None else self._live.get("bit_rate", self._options.get("bit_rate"))

    @bit_rate.setter
    def bit_rate(self, bit_rate: int) -> None:
        self._set("bit_rate", bit_rate)

    # ---- the end

    def close(self) -> None:
        """Finishes the file. Raises InvalidError where there is no frame."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._encoder is None:
                    raise InvalidError("no frame is not allowed: an MP4 file has one at least")
                self._drain(True)
                if self._audio is not None:
                    assert self._last is not None
                    self._audio.mux(self._container, self._last + 1 / self._rate)
                container, self._container = self._container, None
                container.close()
                self._pass_on()
                self._deliver()
            except BaseException:
                self.abort()
                raise
            self._closed = True
            self._encoder.close()
            if self._audio is not None:
                self._audio.close()

    def _deliver(self) -> None:
        if self._path is None:
            return
        self._file.close()
        if isinstance(self._target, (str, os.PathLike)):
            os.replace(self._path, os.path.realpath(os.fsdecode(self._target)))
        else:
            with open(self._path, "rb") as file:
                if self._target is None:
                    self._data = file.read()
                else:
                    shutil.copyfileobj(file, self._target, 1 << 20)
            os.unlink(self._path)
        self._path = None

    def abort(self) -> None:
        """Ends it without a file."""
        with self._lock:
            self._closed = True
            container, self._container = self._container, None
            if container is not None:
                with contextlib.suppress(Exception):  # it writes what nobody reads
                    container.close()
            if self._encoder is not None:
                self._encoder.close()
            if self._audio is not None:
                self._audio.close()
            if self._path is not None:
                if self._file is not None:
                    self._file.close()
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)
                self._path = None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.abort()


class _Audio:
    """A track whose packets are passed through."""

    def __init__(self, source: Any) -> None:
        self.by_packets = isinstance(source, av.stream.Stream)
        self.waiting: list[Any] = []
        self._input = None
        self._stream: Any = None
        if self.by_packets:
            self._template = source
        else:
            self._input = av.open(os.fspath(source) if isinstance(source, os.PathLike) else source)
            if not self._input.streams.audio:
                raise InvalidError(f"audio {source!r} is not allowed: it has no audio track")
            self._template = self._input.streams.audio[0]
        if self._template.type != "audio":
            raise InvalidError(f"audio is a stream of {self._template.type}: that is not allowed")
        self._packets = self._input.demux(self._template) if self._input is not None else iter(())

    def open(self, container: Any) -> None:
        self._stream = container.add_stream_from_template(self._template)

    def mux(self, container: Any, until: Optional[fractions.Fraction]) -> None:
        """Those before a time in seconds; None: all that are there."""
        while True:
            if not self.waiting:
                packet = next(self._packets, None)
                if packet is None:
                    return
                self.waiting.append(packet)
            packet = self.waiting[0]
            if packet.dts is not None:  # else it ends a file
                if until is not None and packet.dts * packet.time_base >= until:
                    return
                packet.stream = self._stream
                container.mux_one(packet)
            self.waiting.pop(0)

    def close(self) -> None:
        if self._input is not None:
            self._input.close()


class stream:
    """Fragmented MP4 of frames, in chunks of bytes as they come: for `for`, and for `async for`, whose frames may be
    asynchronous too. The first chunk is the header, each other one a fragment, or what ends the file. options: Writer's."""

    def __init__(self, frames: Union[Iterable[Any], AsyncIterable[Any]], *, fragment: Union[str, float] = "gop", **options: Any) -> None:
        self._frames = frames
        self._writer = Writer(None, fragment=fragment, **options)

    def __iter__(self) -> Iterator[bytes]:
        writer = self._writer
        with writer:
            for planes, converts in _frames.pictures(self._frames, writer._format, writer._how):
                with writer._lock:
                    writer._encode(planes, converts, None, False)
                    writer._drain(False)
                yield from writer._take()
            writer.close()
            yield from writer._take()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        import asyncio

        async def in_thread(call: Any, *arguments: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)

        if not hasattr(self._frames, "__aiter__"):
            chunks = iter(self)
            while (chunk := await in_thread(next, chunks, None)) is not None:
                yield chunk
            return
        with self._writer as writer:
            async for frame in self._frames:  # type: ignore[union-attr]
                await in_thread(writer.add, frame)
                for chunk in writer._take():
                    yield chunk
            await in_thread(writer.close)
            for chunk in writer._take():
                yield chunk


def write_mp4(target: _Target, frames: Any, *, keys: Container[int] = (), **options: Any) -> int:
    """Encodes frames to an MP4 file of H.264; returns how many. P pictures follow a key frame, at least each 250th; those
    of keys, counted from 0 on, are key frames too. Once a second of frames is there, what the file will weigh goes to
    logging.getLogger("cudaenc"), as INFO. options: Writer's. Raises InvalidError, and the errors of frames; then the
    file is not there, or is that of before."""
    count = len(frames) if isinstance(frames, (list, tuple)) else None
    if len(getattr(frames, "shape", ())) == 4:
        count = frames.shape[_frames._layout_of(frames.shape, options.get("layout")).index("n")]
    with Writer(target, **options) as writer:
        told = False
        for number, (planes, converts) in enumerate(_frames.pictures(frames, writer._format, writer._how)):
            writer._encode(planes, converts, None, number in keys)
            if not told and writer.frames >= writer._rate:
                told = True
                _LOGGER.info("%s", _weight(writer, count))
    return writer.frames


def _weight(writer: Writer, count: Optional[int]) -> str:
    mean = writer.size / writer.frames
    minute = mean * 60 * float(writer._rate) / 1e6
    whole = f", about {mean * count / 1e6:.3g} MB of {count} frames" if count is not None else ""
    return f"{mean / 1e3:.3g} kB a frame{whole}, {minute:.3g} MB a minute"
