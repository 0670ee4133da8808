# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plugin of pydicom 3: JPEG, JPEG 2000 and HTJ2K by its own API.

    import cudaenc.pydicom                      # registers the plugin "cudaenc"
    dataset.compress(pydicom.uid.HTJ2KLossless, encoding_plugin="cudaenc")
    dataset.pixel_array

| transfer syntax 1.2.840.10008.1.2.4. | encoded | decoded |
| --- | --- | --- |
| .50 JPEG baseline, 8 bits | gray, RGB | yes |
| .51 JPEG extended; .57, .70 JPEG lossless | | yes |
| .90, .91 JPEG 2000 | 1 to 16 bits, signed too | yes |
| .201, .202, .203 HTJ2K | the same | yes |

Options of compress() are those of the codec: quality=90, compression_ratio=10, psnr=60; of .91 also pydicom's own j2k_cr and
j2k_psnr. .91 and .203 are lossy: without a target of quality 90. Components are decorrelated where the photometric interpretation is YBR_RCT
or YBR_ICT. Frames of a dataset share one session. Where an option does not fit, pydicom's RuntimeError has our line.
"""
from __future__ import annotations

import weakref
from typing import Any

import numpy
from pydicom import uid
from pydicom.pixels import decoders, encoders
from pydicom.pixels.encoders import base

from . import Encoder, InvalidError, _native, decode

_BASELINE = uid.JPEGBaseline8Bit
_PROFILES = {uid.HTJ2KLossless: "dicom_ht_lossless", uid.HTJ2KLosslessRPCL: "dicom_ht_rpcl", uid.HTJ2K: "dicom_ht"}
_LOSSLESS = (uid.JPEG2000Lossless, uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL)
_ENCODED = (_BASELINE, uid.JPEG2000Lossless, uid.JPEG2000, *_PROFILES)
_DECODED = (*_ENCODED, uid.JPEGExtended12Bit, uid.JPEGLossless, uid.JPEGLosslessSV1)
ENCODER_DEPENDENCIES = {syntax: ("cudaenc",) for syntax in _ENCODED}
DECODER_DEPENDENCIES = {syntax: ("cudaenc",) for syntax in _DECODED}
_sessions: "weakref.WeakKeyDictionary[Any, Encoder]" = weakref.WeakKeyDictionary()


def is_available(syntax: str) -> bool:
    return syntax in _ENCODED or syntax in _DECODED


def _options_of(runner: Any) -> dict[str, Any]:
    """Encoder's options, of pydicom's and of the caller's."""
    syntax, given = runner.transfer_syntax, dict(runner.options)
    codec = "mjpeg" if syntax == _BASELINE else "j2k"
    names = _native.members_of(getattr(_native.ffi.new("CudaencConfig *"), codec))
    options: dict[str, Any] = {name: given[name] for name in (*names, "device", "threads") if name in given}
    if codec == "mjpeg":
        return options
    options["file_format"] = "j2k"
    options["mct"] = int(str(runner.photometric_interpretation) in ("YBR_RCT", "YBR_ICT"))
    for name, ours in ("j2k_cr", "compression_ratio"), ("j2k_psnr", "psnr"):
        targets = given.get(name)
        if targets and len(targets) > 1 and name == "j2k_cr":
            options["layer_rates"] = ",".join(map(str, targets))
        elif targets and len(targets) > 1:
            raise InvalidError(f"{name} {targets} is not allowed: one layer has a target")
        elif targets:
            options[ours] = targets[0]
    if syntax in _PROFILES:
        options["profile"] = _PROFILES[syntax]
    if syntax in _LOSSLESS:
        options["lossless"] = True
    elif not any(options.get(name) for name in ("compression_ratio", "psnr", "layer_rates", "bit_rate", "frame_bytes", "quality")):
        options["quality"] = 90
    return options


def _encode_frame(src: bytes, runner: Any) -> bytes:
    interpretation = str(runner.photometric_interpretation)
    if runner.transfer_syntax == _BASELINE and runner.samples_per_pixel == 3 and interpretation != "RGB":
        raise InvalidError(f"photometric interpretation {interpretation} is not allowed: colour is RGB")
    depth = runner.bits_stored
    if depth > 16:
        raise InvalidError(f"{depth} bits are not allowed: there are 1 to 16")
    kind = f"<{'i' if runner.pixel_representation else 'u'}{1 if depth <= 8 else 2}"
    shape = (runner.rows, runner.columns, *((runner.samples_per_pixel,) if runner.samples_per_pixel > 1 else ()))
    if runner.samples_per_pixel > 1 and runner.planar_configuration == 1 and not runner.is_array:
        frame = numpy.frombuffer(src, kind).reshape(shape[2], *shape[:2]).transpose(1, 2, 0)
    else:
        frame = numpy.frombuffer(src, kind).reshape(shape)
    encoder = _sessions.get(runner)
    if encoder is None:
        codec: Any = "mjpeg" if runner.transfer_syntax == _BASELINE else "j2k"
        encoder = Encoder(frame, codec, depth=depth, in_flight=1, **_options_of(runner))
        _sessions[runner] = encoder
    packet = next(encoder.encode([frame]))
    return bytes(packet)


def _decode_frame(src: bytes, runner: Any) -> bytes:
    picture = decode(src)
    if picture.corrupt:
        raise InvalidError("the frame is corrupt")
    rows, columns = picture.planes[0].shape
    planes = []
    for plane, shift in zip(picture.planes, picture.shifts):
        down, right = -(-rows // plane.shape[0]), -(-columns // plane.shape[1])
        plane = plane >> shift
        planes.append(plane.repeat(down, 0).repeat(right, 1)[:rows, :columns] if (down, right) != (1, 1) else plane)
    samples = numpy.stack(planes, -1) if len(planes) > 1 else planes[0]
    runner.set_option("bits_allocated", 8 * samples.dtype.itemsize)
    if len(planes) > 1:
        runner.set_option("planar_configuration", 0)
        if runner.transfer_syntax not in _ENCODED[1:]:
            runner.set_option("photometric_interpretation", "RGB" if picture.color_model == "rgb" else "YBR_FULL")
        elif str(runner.photometric_interpretation) in ("YBR_RCT", "YBR_ICT"):  # which decoding undoes
            runner.set_option("photometric_interpretation", "RGB")
    return samples.astype(samples.dtype.newbyteorder("<")).tobytes()


def _register() -> None:
    known = base._PIXEL_DATA_ENCODERS
    for syntax in _ENCODED:
        if syntax not in known:  # pydicom has no encoder of its own for it
            known[syntax] = (base.Encoder(syntax), "3.0")
            like = uid.JPEG2000Lossless if syntax in _LOSSLESS else uid.JPEG2000
            base.ENCODING_PROFILES.setdefault(syntax, base.ENCODING_PROFILES[like])
    for coder in [known[syntax][0] for syntax in _ENCODED] + [decoders.base._PIXEL_DATA_DECODERS[syntax][0] for syntax in _DECODED]:
        if "cudaenc" not in (*coder._available, *coder._unavailable):
            coder.add_plugin("cudaenc", (__name__, "_decode_frame" if coder._decoder else "_encode_frame"))


_register()
