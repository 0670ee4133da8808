# SPDX-License-Identifier: LGPL-2.1-or-later
"""JPEG 2000, JPEG and H.264 on NVIDIA GPUs and on the CPU.

    >>> picture = numpy.zeros((45, 67, 3), numpy.uint8)
    >>> jp2 = encode(picture)                                    # one picture
    >>> jpgs = list(encode_batch([picture] * 3, "mjpeg"))        # many, some of them in flight
    >>> decode(jp2).planes[0].shape                              # of JPEG or JPEG 2000
    (45, 67)

A picture is an array of (height, width), (height, width, channels) or, with layout="chw", (channels, height, width);
channels are 1 (gray), 3 (R, G, B) or 4 (R, G, B, alpha), of JPEG 2000 also 5 to 16384 (gray and others). Elements are uint8,
or uint16 with `depth` bits; of JPEG 2000 also int8 and int16. With `format` a picture is a sequence of planes of
(height, width), as cudaenc.h names formats: "yuv420p", "yuv422p10", "gbrp12".

Arrays are NumPy's, or have __cuda_array_interface__ or __dlpack__ (CuPy, PyTorch, JAX). Those in the host's memory are
copied, so that they may change after the call that takes them; copy=False saves that. What lies in CUDA memory is
encoded there, without a copy to the host; it must not change until its packet has come. Work of PyTorch's
current stream on a tensor's GPU is waited for.

A sample that has more than `depth` bits, or than those of the format, is an error. In CUDA memory arrays of PyTorch and
CuPy are checked, on the GPU; of others the bits above are left out.

Options are those of cudaenc.h, by name: quality=85, bit_rate=10_000_000, pred="dwt53", levels=6. The same input and
options give the same bytes on every device. What the library warns of, such as a target that is missed, goes to
logging.getLogger("cudaenc").
"""
from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import functools
import os
import threading
from typing import (TYPE_CHECKING, Any, AsyncIterable, AsyncIterator, Callable, Container, Iterable, Iterator, Literal, NamedTuple,
                    Optional, Sequence, Union, overload)

import numpy

from . import _arrays, _fields, _files, _native, _planes
from ._native import CudaencError, InvalidError, get_include, get_library, version
from ._planes import Header
from ._types import ContentLight, MasteringDisplay

__all__ = ["ContentLight", "CudaencError", "Decoder", "DevicePacket", "Encoder", "Header", "InvalidError", "MasteringDisplay", "Packet",
           "Picture", "Recoder", "decode", "decode_batch", "decode_into", "encode", "encode_batch", "get_include", "get_library",
           "header", "recode", "version"]
__version__ = version()

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import H264Arguments, J2kArguments, MjpegArguments

ffi, lib = _native.ffi, _native.lib
_CODECS = {"j2k": lib.CUDAENC_CODEC_J2K, "mjpeg": lib.CUDAENC_CODEC_MJPEG, "h264": lib.CUDAENC_CODEC_H264}
_FIELDS = {None: lib.CUDAENC_PROGRESSIVE, "tff": lib.CUDAENC_TOP_FIELD_FIRST, "bff": lib.CUDAENC_BOTTOM_FIELD_FIRST}
_TARGETS = ("quality", "bit_rate", "frame_bytes", "compression_ratio", "psnr", "layer_rates")
_NO_QUALITY = -100.0  # CUDAENC_NO_QUALITY
_METADATA = ("icc_profile", "exif", "xmp", "iptc")  # of frames
_OF_FILES = ("xmp", "iptc")  # or the names of files


class _Told:
    """What the encoder tells of a packet."""

    key: bool  # decoding can begin with it
    qp: Optional[float]  # of H.264, also where a bit rate chose it
    quality: Optional[float]  # of JPEG, and of JPEG 2000 that is lossy without a target
    pts: Any  # that of submit(); of encode() the number of the picture


class Packet(bytes, _Told):
    """A packet's bytes, with key, qp, quality and pts."""


class DevicePacket(_Told):
    """A packet in CUDA memory, as bytes that CuPy and PyTorch take; freed with its last reference."""

    def __init__(self, packet: Any) -> None:
        self._buffer = ffi.gc(packet.buffer, lib.cudaenc_buffer_free)
        self.__cuda_array_interface__: dict[str, Any] = {"shape": (packet.size,), "typestr": "|u1", "version": 3, "stream": None,
                                         "data": (int(ffi.cast("uintptr_t", packet.data)), False)}

    def __len__(self) -> int:
        return int(self.__cuda_array_interface__["shape"][0])


def _set_wavelet(options: dict[str, Any], codec: str, lossless: Optional[bool]) -> None:
    """`lossless` as an option of the codec. None: JPEG 2000 is, unless a target, a wavelet or a profile is given."""
    if lossless is None:
        lossless = codec == "j2k" and not any(options.get(name) is not None for name in (*_TARGETS, "pred", "profile"))
    if not lossless:
        return
    if codec != "j2k":
        raise InvalidError(f"lossless is not allowed with {codec}: it is for j2k")
    options["pred"] = "dwt53" if options.get("pred") is None else options["pred"]
    lossy = [name for name in _TARGETS if options.get(name) is not None]
    if str(options["pred"]).lower() not in ("dwt53", str(lib.CUDAENC_J2K_DWT53)):
        lossy.append("pred")
    if lossy:
        raise InvalidError(f"lossless is not allowed with {lossy[0]} {options[lossy[0]]!r}")


def _set_rates(options: dict[str, Any]) -> None:
    """crf and bit_rate as options of H.264."""
    if options.get("crf") is not None:
        others = [name for name in ("bit_rate", "qp", "rate_control") if options.get(name) is not None]
        if others:
            raise InvalidError(f"crf is not allowed with {others[0]}: one of them says what is kept")
        options["qp"] = options["crf"]
    options.pop("crf", None)
    if options.get("bit_rate") is not None and options.get("rate_control") is None:
        options["rate_control"] = "bit_rate"


def _metadata_of(options: dict[str, Any]) -> dict[str, bytes]:
    """Takes the bytes for frames out of the options. Names of files stay: they are options of the codec."""
    metadata = {}
    for name in _METADATA:
        value, of_file = options.get(name), name in _OF_FILES
        if of_file and isinstance(value, (str, os.PathLike)):
            continue
        options.pop(name, None)
        if isinstance(value, (bytes, bytearray)):
            metadata[name] = bytes(value)  # the caller may change its own
        elif value is not None:
            raise InvalidError(f"{name} of type {type(value).__name__} is not allowed: it is bytes{', or the name of a file' if of_file else ''}")
    return metadata


class Results(Iterator[Any]):
    """What becomes of the inputs of one encode() or decode(), in their order: for `for`, and for `async for`, which waits in
    a thread. Inputs that are asynchronous themselves are for the latter. Several of these may use one session."""

    def __init__(self, session: "_Session", inputs: Union[Iterable[Any], AsyncIterable[Any]], submit: Callable[[Any, "Results"], bool]) -> None:
        self._session, self._inputs, self._submit = session, inputs, submit
        self._going: Optional[Iterator[Any]] = None
        self._due: collections.deque[Any] = collections.deque()  # errors too
        self.submitted = 0
        self._awaited = 0  # of them

    def arrived(self, result: Any) -> None:
        self._due.append(result)

    def __next__(self) -> Any:
        if self._going is None:
            self._going = self._run()
        return next(self._going)

    def _try_to_submit(self, one: Any) -> bool:
        started = self._submit(one, self)
        self.submitted += started
        self._awaited += started
        return started

    def _take(self, wait: bool = True) -> Any:
        """The next result; without `wait` None, where it is not done. """
        while not self._due:
            if not self._session._advance(wait) and not wait:
                return None
        self._awaited -= 1
        result = self._due.popleft()
        if isinstance(result, Exception):
            raise result
        return result

    def _run(self) -> Iterator[Any]:
        """With as many in flight as the session has room for."""
        for one in self._inputs:  # type: ignore[union-attr]
            while not self._try_to_submit(one):
                if self._awaited:
                    yield self._take()
                else:  # what fills the session is others'
                    self._session._advance(True)
        while self._awaited:
            yield self._take()

    async def __aiter__(self) -> AsyncIterator[Any]:
        import asyncio  # which takes a third of the time that all else here does

        async def in_thread(call: Callable[..., Any], *arguments: Any) -> Any:
            return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)

        if not hasattr(self._inputs, "__aiter__"):
            while (result := await in_thread(next, self, None)) is not None:
                yield result
            return
        async for one in self._inputs:  # which come in their time, so that what is done leaves
            while not await in_thread(self._try_to_submit, one):
                if self._awaited:
                    yield await in_thread(self._take)
                else:
                    await in_thread(self._session._advance, True)
            while self._awaited and (result := await in_thread(self._take, False)) is not None:
                yield result
        while self._awaited:
            yield await in_thread(self._take)


class _Session:
    """What encoders and decoders share. Any thread may use one: calls wait for each other, without Python's own lock."""

    __slots__ = ("_handle", "_log", "_lock", "_in_flight", "_results", "_slots", "__weakref__")

    def __init__(self) -> None:
        self._handle = ffi.NULL
        self._log = _native.Log()
        self._lock = threading.Lock()
        self._in_flight: collections.deque[tuple[Any, Any]] = collections.deque()  # token, what is kept for it
        self._results: collections.deque[tuple[Any, Any]] = collections.deque()  # token, result or error: for receive()

    # The oldest result, after its code; a result that is lost; the end. The first two are called with the lock.
    def _take(self, wait: bool) -> tuple[int, Any]:
        raise NotImplementedError

    def _release(self, kept: Any) -> None:
        pass

    def _close(self, handle: Any) -> None:
        raise NotImplementedError

    def _check_open(self) -> None:
        if not self._handle:
            raise InvalidError("the session is closed")

    def _advance(self, wait: bool) -> bool:
        """Takes the oldest result to whom it belongs. False: none is in flight, or without `wait` it is not done."""
        with self._lock:
            self._check_open()
            if not self._in_flight:
                return False
            code, result = self._take(wait)
            outcome = self._log.outcome(code)
            if code in (lib.CUDAENC_AGAIN, lib.CUDAENC_EOF):
                return False
            token, kept = self._in_flight.popleft()
            self._release(kept)
            result = outcome.error() or result
            if isinstance(token, Results):
                token.arrived(result)
            else:
                self._results.append((token, result))
        outcome.tell()
        return True

    def _receive(self, wait: bool) -> Optional[tuple[Any, Any]]:
        """A token and its result. None: as _advance()."""
        self._check_open()
        going = True
        while True:
            try:
                token, result = self._results.popleft()
            except IndexError:
                if not going:
                    return None
                going = self._advance(wait)
                continue
            if isinstance(result, Exception):
                raise result
            return token, result

    def _series(self, inputs: Union[Iterable[Any], AsyncIterable[Any]], submit: Callable[[Any, Any], bool]) -> Results:
        return Results(self, inputs, submit)

    def close(self) -> None:
        """Drops what is in flight."""
        with self._lock:
            handle, self._handle = self._handle, ffi.NULL
            self._close(handle)
            self._in_flight.clear()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", ffi.NULL):
            self.close()


class Encoder(_Session):
    """A session: encodes pictures of one format with one set of options. Threads may share it: each encode() gives the
    packets of its own pictures, receive() those of submit().

    qp (crf is the same) and bit_rate of "h264" may be assigned between two pictures: encoder.bit_rate = 4_000_000.

    sample: a picture that tells size, format and memory of all that follow; it is not encoded.
    codec: "j2k", "mjpeg" or "h264".   lossless: of JPEG 2000, without a target; None: unless an option says how lossy it is.
    format, layout, depth: see the module.   device: "auto", "cpu", "cuda", "cuda:N".
    in_flight: pictures that are encoded at a time, 1 to 64; 0: 4, of H.264 on a CPU 1.5 a thread.   threads: of the CPU, 0: one per core.
    copy: of pictures in the host's memory; False: they must not change until their packet has come.
    device_packets: they stay in CUDA memory, each a DevicePacket; with "mjpeg".
    icc_profile, exif, xmp, iptc: bytes that packets have, where the format has a place; names of files for xmp and iptc.
    file_format: of "j2k": "jp2", which with the HT block coder is JPH, or "codestream".
    crf: of "h264", the QP of constant quality, in place of qp.   mastering_display, content_light: of HDR, for "h264".
    full_range, color_primaries, color_transfer, color_matrix: what samples mean; the latter three are code points of
    ITU-T H.273, or "bt709", "bt2020", "smpte2084" and so on, as FFmpeg has them.
    fields: "tff" or "bff", the top or the bottom field first, of interlaced pictures: a packet has both.
    Raises InvalidError (a ValueError) for an option, format or array that is not allowed, MemoryError, CudaencError.
    """

    __slots__ = ("_format_of", "_format", "_key", "_codec", "_metadata", "_light", "_device_packets", "_copy", "_spare", "_qp",
                 "_bit_rate")

    @overload
    def __init__(self, sample: Any, codec: Literal["j2k"] = ..., *, lossless: Optional[bool] = ..., in_flight: int = ...,
                 **options: Unpack[J2kArguments]) -> None: ...
    @overload
    def __init__(self, sample: Any, codec: Literal["mjpeg"], *, lossless: Optional[bool] = ..., in_flight: int = ..., device_packets: bool = ...,
                 **options: Unpack[MjpegArguments]) -> None: ...
    @overload
    def __init__(self, sample: Any, codec: Literal["h264"], *, lossless: Optional[bool] = ..., in_flight: int = ...,
                 **options: Unpack[H264Arguments]) -> None: ...
    def __init__(self, sample: Any, codec: str = "j2k", *, lossless: Optional[bool] = None, format: Optional[str] = None,
                 layout: str = "hwc", depth: Optional[int] = None, device: str = "auto", in_flight: int = 0,
                 threads: int = 0, full_range: Optional[bool] = None, color_primaries: Union[int, str, None] = None,
                 color_transfer: Union[int, str, None] = None, color_matrix: Union[int, str, None] = None,
                 fields: Optional[str] = None, mastering_display: Optional[MasteringDisplay] = None,
                 content_light: Optional[ContentLight] = None, copy: bool = True, device_packets: bool = False, **options: Any) -> None:
        super().__init__()
        if codec not in _CODECS:
            raise InvalidError(f"codec {codec!r} is not allowed: it is {', '.join(_CODECS)}")
        self._codec = codec
        self._format_of = lambda picture: _arrays.describe(picture, format, layout, depth)
        planes, self._format = self._format_of(sample)
        if full_range is not None:
            _native.set_member(self._format, "full_range", "full_range", full_range)
        for name, value in ("color_primaries", color_primaries), ("color_transfer", color_transfer), ("color_matrix", color_matrix):
            if value is not None:
                _native.set_member(self._format, name, name, _native.code_point(name, value))
        if fields not in _FIELDS:
            raise InvalidError(f"fields {fields!r} is not allowed: it is {', '.join(map(str, _FIELDS))}")
        self._key = _arrays.key(planes, self._format)
        _set_wavelet(options, codec, lossless)
        if codec == "h264":
            _set_rates(options)
        self._metadata = _metadata_of(options)
        self._light = _native.light_of(codec, mastering_display, content_light)
        config = ffi.new("CudaencConfig *")
        lib.cudaenc_config_init(config, ffi.sizeof("CudaencConfig"), _CODECS[codec])
        config.format = self._format
        config.device_frames = planes[0].on_device
        config.fields = _FIELDS[fields]
        _native.set_member(config, "device_packets", "device_packets", device_packets)
        self._device_packets = device_packets
        self._copy = copy and not planes[0].on_device
        self._spare: list[numpy.ndarray] = []  # memory of copies
        keep = [_native.text_of("device", planes[0].device_name(device))]
        config.device = keep[0]
        _native.set_member(config, "async_depth", "in_flight", in_flight)
        _native.set_member(config, "threads", "threads", threads)
        config.log, config.log_opaque = self._log.callback, self._log.handle
        _native.set_options(getattr(config, codec), codec, options, keep)
        self._qp: Optional[int] = int(config.h264.qp) if codec == "h264" else None
        self._bit_rate: Optional[int] = int(config.h264.bit_rate) if codec == "h264" else None
        session = ffi.new("CudaencSession **")
        self._log.outcome(lib.cudaenc_open(session, config)).check()
        self._handle = session[0]
        self._slots = lib.cudaenc_async_depth(self._handle)

    def submit(self, picture: Any, token: Any = None, key: bool = False, pts: Any = None, skipped: int = 0,
               regions: Sequence[tuple[int, int, int, int, float]] = ()) -> bool:
        """Starts to encode a picture: a copy, or with a reference to it. Returns False when in_flight of them are in
        flight: receive first. token comes back with the packet, and pts is its attribute. key: decoding can begin with the
        packet; of H.264 it is an IDR picture. skipped: of "h264" with a bit rate, frames of the frame rate that are left out
        before this one, where it varies. regions: of interest, of "h264": x, y, width and height in samples, and -1 to 1, lower
        is better; the first one counts where they overlap, at most 16."""
        self._check_open()
        if len(self._in_flight) >= self._slots:
            return False
        planes, format = self._format_of(picture)
        for name in "full_range", "color_primaries", "color_transfer", "color_matrix":
            setattr(format, name, getattr(self._format, name))
        if _arrays.key(planes, format) != self._key:
            raise InvalidError("size, format, strides of channels and memory cannot change within a session")
        if self._copy:
            planes = _arrays.copied(planes, self._format, self._spare)
        frame = ffi.new("CudaencFrame *", {"struct_size": ffi.sizeof("CudaencFrame")})
        addresses = ffi.new("uint8_t *[]", [ffi.cast("uint8_t *", plane.address) for plane in planes])
        strides = ffi.new("ptrdiff_t[]", [plane.strides[0] for plane in planes])
        if len(planes) > len(frame.data):
            frame.plane_data, frame.plane_stride = addresses, strides  # copied by submit, as what follows
        else:
            frame.data[0:len(planes)], frame.stride[0:len(planes)] = addresses, strides
        frame.cuda_stream = ffi.cast("void *", planes[0].stream)
        frame.key = bool(key)
        _native.set_member(frame, "skipped", "skipped", skipped)
        taken = [(x, y, width, height, round(10000 * offset), 10000) for x, y, width, height, offset in regions]
        kept_regions = ffi.new("CudaencRegion[]", taken)
        frame.regions, frame.region_count = kept_regions, len(taken)
        for name, value in self._light.items():  # copied by submit, as what follows
            setattr(frame, name, value)
        metadata = {name: ffi.from_buffer("uint8_t[]", value) for name, value in self._metadata.items()}
        for name, value in metadata.items():
            setattr(frame, name, value)
            setattr(frame, name + "_size", len(value))
        with self._lock:
            self._check_open()
            outcome = self._log.outcome(lib.cudaenc_submit(self._handle, frame))
            if outcome.code == lib.CUDAENC_OK:
                self._in_flight.append((token, (planes, pts)))
            else:
                self._release((planes, pts))
        if outcome.code == lib.CUDAENC_AGAIN:
            return False
        outcome.check()
        return True

    def _release(self, kept: Any) -> None:
        if self._copy:
            self._spare.append(kept[0][0].owner)

    def _take(self, wait: bool) -> tuple[int, Any]:
        packet = ffi.new("CudaencPacket *", {"struct_size": ffi.sizeof("CudaencPacket")})
        code = (lib.cudaenc_wait if wait else lib.cudaenc_poll)(self._handle, packet)
        if code != lib.CUDAENC_OK:
            return code, None
        data = ffi.buffer(packet.data, packet.size)
        result = DevicePacket(packet) if self._device_packets else Packet(data)
        if not self._device_packets:
            lib.cudaenc_buffer_free(packet.buffer)
        result.key = not packet.delta
        told = None if packet.quality == _NO_QUALITY else packet.quality
        result.qp, result.quality = (told, None) if self._codec == "h264" else (None, told)
        result.pts = self._in_flight[0][1][1]
        return code, result

    def _close(self, handle: Any) -> None:
        lib.cudaenc_close(handle)

    def receive(self, wait: bool = True) -> Optional[tuple[Any, Union[Packet, DevicePacket]]]:
        """The oldest picture's token and packet. None: none is in flight, or without `wait` it is not done. Raises what
        became of that picture."""
        return self._receive(wait)

    def encode(self, pictures: Union[Iterable[Any], AsyncIterable[Any]], keys: Container[int] = ()) -> Results:
        """The packets of pictures, in their order, with as many in flight as the session has room for; for `for` and
        `async for`. keys: which of them, counted from 0 on, have a key packet, see submit()."""
        return self._series(pictures, lambda picture, series: self.submit(picture, series, series.submitted in keys, series.submitted))

    def set_qp(self, qp: int) -> None:
        """The QP of "h264" with constant QP or quality, of pictures that follow."""
        with self._lock:
            self._check_open()
            outcome = self._log.outcome(lib.cudaenc_set_qp(self._handle, _native.integer("qp", qp, 32)))
        outcome.check()
        self._qp = qp

    def set_bit_rate(self, bit_rate: int, max_rate: int = 0) -> None:
        """Bits/s of "h264" with a bit rate, of pictures that follow; max_rate: into the decoder's buffer, 0: as before."""
        with self._lock:
            self._check_open()
            code = lib.cudaenc_set_bit_rate(self._handle, _native.integer("bit_rate", bit_rate), _native.integer("max_rate", max_rate))
            outcome = self._log.outcome(code)
        outcome.check()
        self._bit_rate = bit_rate

    @property
    def qp(self) -> Optional[int]:
        """That of "h264" with constant QP or quality; assigned as by set_qp()."""
        return self._qp

    @qp.setter
    def qp(self, qp: int) -> None:
        self.set_qp(qp)

    crf = qp

    @property
    def bit_rate(self) -> Optional[int]:
        """That of "h264" with a bit rate, else 0; assigned as by set_bit_rate()."""
        return self._bit_rate

    @bit_rate.setter
    def bit_rate(self, bit_rate: int) -> None:
        self.set_bit_rate(bit_rate)

    @property
    def device(self) -> str:
        """What runs: "cpu, 16 threads" or "cuda:0 NVIDIA H200, sm_90"."""
        with self._lock:
            self._check_open()
            return ffi.string(lib.cudaenc_device_name(self._handle)).decode()

    @property
    def extradata(self) -> bytes:
        """What decoders need before the first packet: the parameter sets of H.264; else empty."""
        with self._lock:
            self._check_open()
            size = ffi.new("size_t *")
            data = lib.cudaenc_extradata(self._handle, size)
            return bytes(ffi.buffer(data, size[0])) if data else b""

    def __enter__(self) -> "Encoder":
        return self


@overload
def encode(picture: Any, codec: Literal["j2k"] = ..., lossless: Optional[bool] = ..., *, in_flight: int = ...,
           **options: Unpack[J2kArguments]) -> Packet: ...
@overload
def encode(picture: Any, codec: Literal["mjpeg"], lossless: Optional[bool] = ..., *, in_flight: int = ..., device_packets: Literal[True],
           **options: Unpack[MjpegArguments]) -> DevicePacket: ...
@overload
def encode(picture: Any, codec: Literal["mjpeg"], lossless: Optional[bool] = ..., *, in_flight: int = ..., device_packets: Literal[False] = ...,
           **options: Unpack[MjpegArguments]) -> Packet: ...
@overload
def encode(picture: Any, codec: Literal["h264"], lossless: Optional[bool] = ..., *, in_flight: int = ...,
           **options: Unpack[H264Arguments]) -> Packet: ...
def encode(picture: Any, codec: str = "j2k", lossless: Optional[bool] = None, **options: Any) -> Union[Packet, DevicePacket]:
    """One picture's packet: a JP2 file, a JPEG file or an H.264 access unit. Arguments and errors are Encoder's.

    >>> encode(numpy.zeros((45, 67), numpy.uint16), depth=12)[4:8]
    b'jP  '
    >>> encode(numpy.zeros((45, 67), numpy.uint8), "mjpeg", quality=90)[:2]
    b'\\xff\\xd8'
    """
    with Encoder(picture, codec, lossless=lossless, **{"in_flight": 1, "copy": False, **options}) as encoder:  # type: ignore[call-overload]
        return next(encoder.encode([picture]))


@overload
def encode_batch(pictures: Iterable[Any], codec: Literal["j2k"] = ..., lossless: Optional[bool] = ..., in_flight: int = ..., *,
                 keys: Container[int] = ..., **options: Unpack[J2kArguments]) -> Iterator[Packet]: ...
@overload
def encode_batch(pictures: Iterable[Any], codec: Literal["mjpeg"], lossless: Optional[bool] = ..., in_flight: int = ..., *,
                 keys: Container[int] = ..., device_packets: Literal[True], **options: Unpack[MjpegArguments]) -> Iterator[DevicePacket]: ...
@overload
def encode_batch(pictures: Iterable[Any], codec: Literal["mjpeg"], lossless: Optional[bool] = ..., in_flight: int = ..., *,
                 keys: Container[int] = ..., device_packets: Literal[False] = ..., **options: Unpack[MjpegArguments]) -> Iterator[Packet]: ...
@overload
def encode_batch(pictures: Iterable[Any], codec: Literal["h264"], lossless: Optional[bool] = ..., in_flight: int = ..., *,
                 keys: Container[int] = ..., **options: Unpack[H264Arguments]) -> Iterator[Packet]: ...
def encode_batch(pictures: Iterable[Any], codec: str = "j2k", lossless: Optional[bool] = None, in_flight: int = 8, *,
                 keys: Container[int] = (), **options: Any) -> Iterator[Union[Packet, DevicePacket]]:
    """The packets of pictures of one size and format, in their order, `in_flight` at a time. A picture that the iterable
    gives may change when the next one is asked for, but for one in CUDA memory or with copy=False: that is held, and must
    not change, until its packet has come. keys: as Encoder.encode(). Arguments and errors are Encoder's."""
    rest = iter(pictures)
    for first in rest:
        with Encoder(first, codec, lossless=lossless, in_flight=in_flight, **options) as encoder:  # type: ignore[call-overload]
            yield from encoder.encode(_chain(first, rest), keys)


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


class Picture(NamedTuple):
    """A decoded picture."""

    # of each component, (height, width) of uint8, or of uint16 where depth exceeds 8; of signed samples int8 and int16;
    # with `out` its planes. A sample is an element >> shift. Chroma may be smaller
    planes: Sequence[Any]
    color_model: str  # "gray", "yuv", "rgb", "xyz", or "cmyk" and "ycck", where 255 of JPEG is no ink
    full_range: bool
    orientation: int  # of EXIF, 1 to 8; 1: as it is
    icc_profile: Optional[bytes]
    corrupt: bool  # parts were broken or missing, and are gray, or data were left over
    depth: int = 8  # bits of a sample of the first component
    shift: int = 0  # of it, too: samples are in the highest bits, of JPEG 2000 with 9, 10, 12 or 14 bits in the lowest
    depths: Sequence[int] = ()  # of each component
    shifts: Sequence[int] = ()
    exif: Optional[bytes] = None
    sample_aspect: tuple[int, int] = (0, 1)  # width over height of a sample; (0, 1): not told
    fields: Optional[str] = None  # "tff" or "bff": it was two fields, the top or the bottom one first


_Data = Union[bytes, bytearray, memoryview]
_DataOrFile = Union[_Data, str, "os.PathLike[str]"]


def _codec_of(data: Any) -> Optional[str]:
    """By the first bytes: a codestream, or a box of a file, is JPEG 2000. JPEG may have padding first. None: it is neither."""
    try:
        first = bytes(memoryview(data)[:8])
    except TypeError:
        first = b""
    if first[:4] == b"\xff\x4f\xff\x51" or first[4:] in (b"jP  ", b"jp2c", b"jp2h"):
        return "j2k"
    return "mjpeg" if first[:2] == b"\xff\xd8" or b"\xff\xd8\xff" in Decoder._bytes_of(data) else None


class _Decoding:
    """A packet in flight: of one picture, or of two fields."""

    __slots__ = ("picture", "held", "header", "left", "corrupt", "error", "code")

    def __init__(self, picture: Picture, held: Any, header: Header) -> None:
        self.picture, self.held, self.header = picture, held, header
        self.left = 0  # pictures that the library still has
        self.corrupt = False
        self.error: Optional[Exception] = None  # of the second field, where that was refused
        self.code = int(lib.CUDAENC_OK)


class _Part(NamedTuple):
    """Of a batch: what becomes of the first one that fails, how many do, and which are corrupt."""

    outcomes: list[_native.Outcome]
    error: Optional[Exception]
    failed: int
    corrupt: list[numpy.ndarray]

    def with_more(self, more: "_Part") -> "_Part":
        return _Part(self.outcomes + more.outcomes, self.error or more.error, self.failed + more.failed, self.corrupt + more.corrupt)


class Decoder(_Session):
    """Decodes JPEG or JPEG 2000. Packets may be of any size and format. Threads may share it, as an Encoder.

    codec: "mjpeg": JPEG, baseline, extended and progressive, 8 or 12 bits; lossless, 2 to 16 bits. "j2k": JPEG 2000 and
    HTJ2K of 1 to 16 bits, codestreams, JP2 and JPH files.
    device, in_flight, threads: as Encoder's.   lowres or reduce: pictures are 1/2**reduce as large, of JPEG 0 to 3, of JPEG
    2000 up to the levels of the stream.   max_pixels: larger pictures are refused; None: as the codec allows.
    Of JPEG 2000: region=(x, y, width, height): the part that is decoded, in samples before reduce.   layers: quality layers
    that are decoded, 0: all.   channels: one to four numbers, counted from 0, of the channels that planes have, such as
    (4, 2, 1) of a picture of five bands; None: as the file says.
    rgb: of JPEG, Y, Cb and Cr become R, G and B, all planes as large as the picture.
    device_planes: pictures go to CUDA memory, which each call gives as `out`.
    A packet of two fields is one picture, whose lines they share: two JPEG pictures of one size that say by AVI1 which field
    they are, or two codestreams of JPEG 2000 of one size. Picture.fields tells of it. Not with region, nor lowres of JPEG.
    fields: "tff" or "bff", of JPEG 2000, which does not say it: the first field is the top one (None too) or the bottom one.
    Raises InvalidError (a ValueError), MemoryError, CudaencError; NotImplementedError for what is valid, but not decoded.
    """

    __slots__ = ("_device_planes", "_codec", "_order", "_whole")

    def __init__(self, codec: str = "mjpeg", *, device: str = "auto", in_flight: int = 0, threads: int = 0, lowres: int = 0,
                 reduce: Optional[int] = None, region: Optional[Sequence[int]] = None, layers: int = 0,
                 device_planes: bool = False, max_pixels: Optional[int] = None, fields: Optional[str] = None,
                 channels: Optional[Sequence[int]] = None, rgb: bool = False) -> None:
        super().__init__()
        if codec not in ("j2k", "mjpeg"):
            raise InvalidError(f"codec {codec!r} is not allowed: it is j2k or mjpeg")
        if fields not in _FIELDS or (fields and codec != "j2k"):
            raise InvalidError(f"fields {fields!r} is not allowed with {codec}: it is {'None, tff, bff' if codec == 'j2k' else 'None'}")
        if reduce is not None and lowres:
            raise InvalidError(f"reduce {reduce!r} is not allowed with lowres {lowres!r}: they are the same")
        config = ffi.new("CudaencDecoderConfig *")
        lib.cudaenc_decoder_init(config, ffi.sizeof("CudaencDecoderConfig"), _CODECS[codec])
        name = _native.text_of("device", device)
        config.device = name
        for member, called, value in (("async_depth", "in_flight", in_flight), ("threads", "threads", threads),
                                      ("lowres", "lowres" if reduce is None else "reduce", lowres if reduce is None else reduce),
                                      ("layers", "layers", layers), ("rgb", "rgb", rgb), ("device_frames", "device_planes", device_planes)):
            _native.set_member(config, member, called, value)
        if max_pixels is not None:
            _native.set_member(config, "max_pixels", "max_pixels", max_pixels)
        region_text = ffi.NULL if region is None else _native.numbers_of("region", region, (4,), "(x, y, width, height)")
        channel_text = ffi.NULL if channels is None else _native.numbers_of("channels", channels, (1, 2, 3, 4), "one to four numbers")
        config.region, config.channels = region_text, channel_text
        config.log, config.log_opaque = self._log.callback, self._log.handle
        self._device_planes = bool(device_planes)
        self._codec, self._order = codec, fields or "tff"
        self._whole = region is None and not (codec == "mjpeg" and (lowres or reduce))  # what fields are woven with
        decoder = ffi.new("CudaencDecoder **")
        self._log.outcome(lib.cudaenc_decoder_open(decoder, config)).check()
        self._handle = decoder[0]
        self._slots = lib.cudaenc_decoder_async_depth(self._handle)

    def submit(self, data: _Data, out: Any = None) -> bool:
        """Starts to decode a packet, which may change after the call. out: the planes that it fills: an array or tensor of
        (components, height, width) or of (height, width), or a list of the latter; header() tells their sizes. They must
        be left alone until the picture has come. Returns False when in_flight of them are in flight: receive first."""
        return self._start(data, None, out)

    def header(self, data: _Data) -> Header:
        """What a packet will fill, with this decoder's options."""
        with self._lock:
            self._check_open()
            outcome, header, _ = self._read_headers(self._bytes_of(data))
        outcome.check()
        assert header is not None
        return header

    @staticmethod
    def _bytes_of(data: _Data) -> bytes:
        try:
            return data if isinstance(data, bytes) else bytes(memoryview(data))
        except TypeError:
            raise InvalidError(f"data of type {type(data).__name__} are not allowed: they are bytes") from None

    def _read_header(self, data: Any) -> tuple[_native.Outcome, Optional[Header]]:
        info = ffi.new("CudaencPictureInfo *", {"struct_size": ffi.sizeof("CudaencPictureInfo")})
        code = lib.cudaenc_decoder_read_header(self._handle, data, len(data), info)
        return self._log.outcome(code), _planes.header_of(info) if code == lib.CUDAENC_OK else None

    def _read_headers(self, data: bytes) -> tuple[_native.Outcome, Optional[Header], list[Any]]:
        """The header of a packet's picture, and the buffers of its one or two coded pictures."""
        whole = ffi.from_buffer("uint8_t[]", data)
        outcome, header = self._read_header(whole)
        if header is None or (parts := _fields.split(data, self._codec)) is None:
            return outcome, header, [whole]
        buffers = [ffi.from_buffer("uint8_t[]", part) for part in parts]
        second = self._read_header(buffers[1])[1]
        if second is None or (second.shapes, second.dtypes, second.depths) != (header.shapes, header.dtypes, header.depths):
            return outcome, header, [whole]
        if not self._whole or any(header.shapes[0][0] % rows for rows, _ in header.shapes):
            raise NotImplementedError("two fields are not decoded with region, nor JPEG's with lowres, nor of odd heights with half the chroma")
        order = _fields.order(parts[0], self._codec) or self._order
        return outcome, header._replace(shapes=[(2 * rows, columns) for rows, columns in header.shapes], fields=order), buffers

    def _start(self, data: _Data, token: Any, out: Any = None) -> bool:
        self._check_open()
        if len(self._in_flight) >= self._slots:
            return False
        data = self._bytes_of(data)
        to = None if out is None else _planes.describe(out)
        with self._lock:
            self._check_open()
            outcome = self._submit(data, token, to)
        if outcome.code == lib.CUDAENC_AGAIN:
            return False
        outcome.check()
        return True

    def _submit(self, data: bytes, token: Any, out: Optional[_planes.Out]) -> _native.Outcome:
        outcome, header, buffers = self._read_headers(data)
        if header is None:
            return outcome
        if out is None and self._device_planes:
            raise InvalidError("out is missing: with device_planes each picture needs it")
        if self._in_flight and sum(kept.left for _, kept in self._in_flight) + len(buffers) > self._slots:
            return self._log.outcome(lib.CUDAENC_AGAIN)
        out = out or _planes.new(header)
        _planes.check(out, header, self._device_planes)
        picture = Picture(out.parts, header.color_model, header.full_range, header.orientation, header.icc_profile, False,
                          header.depths[0], header.shifts[0], header.depths, header.shifts, header.exif, header.sample_aspect, header.fields)
        decoding = _Decoding(picture, (buffers, out), header)
        for number, buffer in enumerate(buffers):
            if number and self._slots == 1:  # the first field leaves before the second one comes
                self._take_field(decoding, True)
            bottom = number != (header.fields == "bff") if header.fields else False
            outcome = self._log.outcome(lib.cudaenc_decoder_submit(self._handle, self._coded(buffer, out, header, bottom)))
            if outcome.code == lib.CUDAENC_OK:
                decoding.left += 1
            elif not number:
                return outcome
            else:
                decoding.error = outcome.error()
        self._in_flight.append((token, decoding))
        return _native.Outcome(lib.CUDAENC_OK, [])

    @staticmethod
    def _coded(buffer: Any, out: _planes.Out, header: Header, bottom: bool) -> Any:
        """A picture of all lines, or of every other one."""
        coded = ffi.new("CudaencCodedPicture *", {"struct_size": ffi.sizeof("CudaencCodedPicture")})
        coded.data, coded.size = buffer, len(buffer)
        for i, (plane, shape) in enumerate(zip(out.planes, header.shapes)):
            stride = plane.strides[0] if shape[0] > 1 else shape[1] * plane.itemsize
            coded.planes[i] = ffi.cast("uint8_t *", plane.address + bottom * stride)
            coded.stride[i] = stride * (2 if header.fields else 1)
        coded.cuda_stream = ffi.cast("void *", out.planes[0].stream)
        return coded

    def receive(self, wait: bool = True) -> Optional[Picture]:
        """The oldest picture. None: none is in flight, or without `wait` it is not done."""
        received = self._receive(wait)
        return received[1] if received else None

    def _take_field(self, decoding: _Decoding, wait: bool) -> int:
        decoded = ffi.new("CudaencDecodedPicture *", {"struct_size": ffi.sizeof("CudaencDecodedPicture")})
        code = int((lib.cudaenc_decoder_wait if wait else lib.cudaenc_decoder_poll)(self._handle, decoded))
        if code not in (lib.CUDAENC_AGAIN, lib.CUDAENC_EOF):
            decoding.left -= 1
            decoding.corrupt |= bool(decoded.corrupt)
            decoding.code = decoding.code or code
        return code

    def _take(self, wait: bool) -> tuple[int, Any]:
        decoding = self._in_flight[0][1]
        while decoding.left:
            code = self._take_field(decoding, wait)
            if code in (lib.CUDAENC_AGAIN, lib.CUDAENC_EOF):
                return code, None
        if decoding.code == lib.CUDAENC_OK and decoding.error is None:
            _planes.extend_signs(decoding.picture.planes, decoding.header)
        return decoding.code, decoding.error or decoding.picture._replace(corrupt=decoding.corrupt)

    def _close(self, handle: Any) -> None:
        lib.cudaenc_decoder_close(handle)

    def decode(self, packets: Iterable[_Data], out: Optional[Iterable[Any]] = None) -> Iterator[Picture]:
        """The pictures of packets, in their order, with as many in flight as the decoder has room for. out: planes for each
        of them, such as a tensor of (N, components, height, width)."""
        if out is None:
            return self._series(packets, self._start)
        return self._series(_paired(packets, out), lambda pair, token: self._start(pair[0], token, pair[1]))

    def decode_into(self, packets: Sequence[_DataOrFile], out: Any) -> numpy.ndarray:
        """The pictures of packets, all of one size and format, by few calls of the library, without Python's lock. packets: bytes, or
        paths of files, which threads read meanwhile. out: what they fill: an array or tensor of (n, components, height, width) or of
        (n, height, width), or a sequence of the latter, a component each, whose sizes may differ. Returns which of them are corrupt, n
        of bool. Raises what became of the first one that fails, with its number; then the others are there."""
        return _in_parts([self], packets, out)

    def _read_info(self, packet: bytes) -> Any:
        """A CudaencPictureInfo, for a batch."""
        info = ffi.new("CudaencPictureInfo *", {"struct_size": ffi.sizeof("CudaencPictureInfo")})
        with self._lock:
            self._check_open()
            outcome = self._log.outcome(lib.cudaenc_decoder_read_header(self._handle, ffi.from_buffer("uint8_t[]", packet), len(packet), info))
        if (error := outcome.error()) is not None:
            raise type(error)(f"picture 0: {error}")
        return info

    def _decode_part(self, info: Any, data: list[Any], out: _planes.Out, steps: list[int], first: int, readers: int) -> "_Part":
        """Of a batch's packets those from `first` on."""
        paths = {number: one for number, one in enumerate(data) if _files.is_path(one)}
        batch = ffi.new("CudaencCodedBatch *", {"struct_size": ffi.sizeof("CudaencCodedBatch"), "count": len(data), "readers": readers})
        buffers = [ffi.NULL if number in paths else ffi.from_buffer("uint8_t[]", one) for number, one in enumerate(data)]
        names = [_files.name_of(one) if number in paths else ffi.NULL for number, one in enumerate(data)]
        kept = ffi.new("uint8_t *[]", buffers), ffi.new("size_t[]", [len(buffer) if buffer else 0 for buffer in buffers]), ffi.new("char *[]", names)
        batch.data, batch.size, batch.paths = kept
        batch.format, batch.is_signed = info.format, info.is_signed
        for i, (plane, step) in enumerate(zip(out.planes, steps)):
            batch.planes[i] = ffi.cast("uint8_t *", plane.address + first * step)
            batch.stride[i] = plane.strides[0] if plane.shape[0] > 1 else plane.shape[1] * plane.itemsize
            batch.step[i] = step
        batch.cuda_stream = ffi.cast("void *", out.planes[0].stream)
        codes, corrupt, errors = numpy.zeros((3, len(data)), numpy.int32)
        batch.codes, batch.corrupt, batch.errors = (ffi.cast("int *", array.ctypes.data) for array in (codes, corrupt, errors))
        with self._lock:
            self._check_open()
            if self._in_flight:
                raise InvalidError("decode_into() is not allowed while pictures are in flight: receive them first")
            outcome = self._log.outcome(lib.cudaenc_decoder_batch(self._handle, batch)).of_batch(first)
        failed = numpy.flatnonzero(codes).tolist()
        error = _files.error_of(paths[failed[0]], int(errors[failed[0]])) if failed and errors[failed[0]] else outcome.error()
        return _Part([outcome], error, len(failed), [corrupt != 0])

    def __enter__(self) -> "Decoder":
        return self


def _paired(packets: Iterable[_Data], out: Iterable[Any]) -> Iterator[tuple[_Data, Any]]:
    outs = iter(out)
    for number, data in enumerate(packets):
        try:
            yield data, next(outs)
        except StopIteration:
            raise InvalidError(f"out of {number} pictures is not allowed: there are more packets") from None


def _options_of(codec: Optional[str], data: Any, out: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Decoder's arguments for a packet, and for where it goes to."""
    codec = _codec_of(data) if codec is None else codec
    if codec is None:
        begin = Decoder._bytes_of(data)[:8].hex(" ")
        raise InvalidError(f"data are not allowed: they are neither JPEG nor JPEG 2000, but begin with {begin or 'nothing'}")
    options = {"codec": codec, **options}
    if out is not None:
        plane = _planes.describe(out).planes[0]
        options["device"] = plane.device_name(options.get("device", "auto"))
        options.setdefault("device_planes", plane.on_device)
    return options


def decode(data: _Data, codec: Optional[str] = None, *, out: Any = None, **options: Any) -> Picture:
    """One picture. codec None: as the first bytes tell. out: as of Decoder.submit(), in the host's memory or CUDA's. Other
    arguments and errors are Decoder's.

    >>> jp2 = encode(numpy.full((45, 67), 9, numpy.uint8))
    >>> decode(jp2, region=(8, 0, 4, 2)).planes[0].tolist()
    [[9, 9, 9, 9], [9, 9, 9, 9]]
    """
    with Decoder(**{"in_flight": 1, **_options_of(codec, data, out, options)}) as decoder:
        return next(decoder.decode([data], None if out is None else [out]))


def header(data: _Data, codec: Optional[str] = None, **options: Any) -> Header:
    """What decode() would fill, without decoding. Arguments and errors are Decoder's.

    >>> header(encode(numpy.zeros((45, 67, 3), numpy.uint8)), reduce=1).shapes
    [(23, 34), (23, 34), (23, 34)]
    """
    with Decoder(**{**_options_of(codec, data, None, options), "device": "cpu", "threads": 1, "in_flight": 1}) as decoder:
        return decoder.header(data)


class Recoder:
    """Recodes pictures of JPEG 2000 one after the other, as recode(), on threads that are started once. Threads may share it:
    calls wait for each other."""

    __slots__ = ("_handle", "_log", "_lock", "__weakref__")

    def __init__(self, htj2k: bool = True, threads: int = 0) -> None:
        self._handle, self._log, self._lock = ffi.NULL, _native.Log(), threading.Lock()
        config = ffi.new("CudaencJ2kRecoderConfig *")
        lib.cudaenc_j2k_recoder_init(config, ffi.sizeof("CudaencJ2kRecoderConfig"))
        _native.set_member(config, "htj2k", "htj2k", htj2k)
        _native.set_member(config, "threads", "threads", threads)
        config.log, config.log_opaque = self._log.callback, self._log.handle
        recoder = ffi.new("CudaencJ2kRecoder **")
        self._log.outcome(lib.cudaenc_j2k_recoder_open(recoder, config)).check()
        self._handle = recoder[0]

    def recode(self, data: _Data) -> bytes:
        """A picture, as of the function recode()."""
        buffer = ffi.from_buffer("uint8_t[]", Decoder._bytes_of(data))
        made, count = ffi.new("uint8_t **"), ffi.new("size_t *")
        with self._lock:
            if not self._handle:
                raise InvalidError("the recoder is closed")
            outcome = self._log.outcome(lib.cudaenc_j2k_recoder_recode(self._handle, buffer, len(buffer), made, count))
            recoded = bytes(ffi.buffer(made[0], count[0])) if outcome.code == lib.CUDAENC_OK else b""
        outcome.check()
        return recoded

    def close(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, ffi.NULL
            lib.cudaenc_j2k_recoder_close(handle)

    def __enter__(self) -> "Recoder":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", ffi.NULL):
            self.close()


def recode(data: _Data, htj2k: bool = True, threads: int = 0) -> bytes:
    """A picture of JPEG 2000 Part 1 as HTJ2K, or with htj2k=False back, by coefficients: no samples change. A codestream, or a
    JP2 or JPH file, whose other boxes stay. What HTJ2K cannot keep, such as ends of layers, is logged. threads: of the CPU, 0:
    one per core. Raises InvalidError (a ValueError), MemoryError; NotImplementedError.

    >>> jph = recode(encode(numpy.zeros((45, 67), numpy.uint8)))
    >>> jph[20:24]
    b'jph '
    """
    with Recoder(htj2k, threads) as recoder:
        return recoder.recode(data)


def decode_batch(packets: Iterable[_Data], in_flight: int = 8, codec: Optional[str] = None, *,
                 out: Optional[Iterable[Any]] = None, **options: Any) -> Iterator[Picture]:
    """Pictures of one codec, in the order of their packets, `in_flight` at a time. codec None: as the first one tells. out: as
    of Decoder.decode(). Other arguments and errors are Decoder's."""
    rest, outs = iter(packets), None if out is None else iter(out)
    first = next(rest, None)
    if first is None:
        return
    first_out = None if outs is None else next(outs, None)
    with Decoder(in_flight=in_flight, **_options_of(codec, first, first_out, options)) as decoder:
        yield from decoder.decode(_chain(first, rest), None if outs is None else _chain(first_out, outs))


def _in_parts(decoders: Sequence[Decoder], packets: Sequence[_DataOrFile], out: Any) -> numpy.ndarray:
    """Decodes a batch, of which each decoder has a part and a thread."""
    data: list[Any] = [one if _files.is_path(one) else Decoder._bytes_of(one) for one in packets]  # type: ignore[arg-type]
    planes, steps = _planes.describe_batch(out, len(data))
    if not data:
        return numpy.zeros(0, bool)
    info = decoders[0]._read_info(_files.read(data[0]) if _files.is_path(data[0]) else data[0])
    header = _planes.header_of(info)
    _planes.check(planes, header, decoders[0]._device_planes)
    size, readers = -(-len(data) // len(decoders)), max(1, _files.READERS // len(decoders))
    with concurrent.futures.ThreadPoolExecutor(len(decoders)) as threads:
        parts = [threads.submit(decoder._decode_part, info, data[first:first + size], planes, steps, first, readers)
                 for decoder, first in zip(decoders, range(0, len(data), size))]
    whole = functools.reduce(_Part.with_more, (part.result() for part in parts))
    for outcome in whole.outcomes:
        outcome.tell()
    if whole.error is not None:
        several = whole.failed > 1 and not isinstance(whole.error, OSError)
        raise type(whole.error)(f"{whole.error}, and {whole.failed - 1} more fail") if several else whole.error
    _planes.extend_signs(planes.parts, header)
    return numpy.concatenate(whole.corrupt)


def decode_into(packets: Sequence[_DataOrFile], out: Any, codec: Optional[str] = None, *, in_flight: int = 16, decoders: int = 0,
                **options: Any) -> numpy.ndarray:
    """Decodes packets, or files by their paths, to a batch, such as a tensor of (n, components, height, width) on a GPU: see
    Decoder.decode_into(), and Decoder for other arguments and errors. codec None: as the first one tells. decoders: that share the
    packets, each with a thread and in_flight of its own; 0: for CUDA memory one for each 128 packets, 1 to 4.

    >>> files = [encode(numpy.full((45, 67, 3), n, numpy.uint8)) for n in range(4)]
    >>> batch = numpy.empty((4, 3, 45, 67), numpy.uint8)
    >>> decode_into(files, batch).tolist()  # none is corrupt
    [False, False, False, False]
    >>> batch[:, 1, 0, 0].tolist()
    [0, 1, 2, 3]
    """
    if not len(packets):
        return numpy.zeros(0, bool)
    plane = _planes.describe_batch(out, len(packets))[0].planes[0]
    first = _files.read(packets[0]) if _files.is_path(packets[0]) else packets[0]
    options = {"codec": _codec_of(first) or "mjpeg" if codec is None else codec, "device_planes": plane.on_device, **options}
    options["device"] = plane.device_name(options.get("device", "auto"))
    if not hasattr(decoders, "__index__") or not 0 <= decoders <= 64:
        raise InvalidError(f"decoders {decoders!r} is not allowed: it is 0 to 64")
    count = decoders or (max(1, min(4, len(packets) // 128)) if plane.on_device else 1)
    with contextlib.ExitStack() as opened:
        return _in_parts([opened.enter_context(Decoder(in_flight=in_flight, **options)) for _ in range(count)], packets, out)
