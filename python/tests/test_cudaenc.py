# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package as its users have it; pictures are decoded by Pillow, films by FFmpeg (PyAV) too.

CUDAENC_LIBRARY with the emulator in it: kernels too, on arrays that say they are in CUDA memory.
"""
import ctypes
import io
import logging
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import typing
import unittest
import unittest.mock

import av
import cudaenc
import cudaenc.mp4
import numpy
from PIL import Image

try:
    import torch
except ImportError:
    torch = None

random = numpy.random.default_rng(1)


def picture(*shape, bits=8):
    """Something that compresses: a gradient with noise."""
    grid = numpy.indices(shape).sum(axis=0) * 3 + random.integers(0, 8, shape)
    return (grid % (1 << bits)).astype(numpy.uint8 if bits == 8 else numpy.uint16)


def pillow(data):
    return numpy.asarray(Image.open(io.BytesIO(data)))


class Lossless(unittest.TestCase):
    def test_channels_and_depths(self):
        for shape in (45, 67), (45, 67, 1), (45, 67, 3), (45, 67, 4):
            array = picture(*shape)
            self.assertTrue(numpy.array_equal(pillow(cudaenc.encode(array, lossless=True)), array.squeeze()), shape)
            self.assertEqual(cudaenc.encode(Image.fromarray(array.squeeze())), cudaenc.encode(array))
        array = picture(33, 20, bits=16)
        self.assertTrue(numpy.array_equal(pillow(cudaenc.encode(array)), array))
        self.assertEqual(cudaenc.encode(array[:1, :1]), cudaenc.encode(array[:1, :1].copy()))

    def test_many_channels(self):
        for array in picture(21, 30, 5), picture(9, 8, 300, bits=16), picture(21, 30, 7).astype(numpy.int8):
            packet = cudaenc.encode(array, lossless=True)
            for channel in {0, 3, 4, array.shape[2] - 1}:
                plane, = cudaenc.decode(packet, channels=[channel]).planes
                self.assertTrue(numpy.array_equal(plane, array[..., channel]), channel)
            planes = numpy.ascontiguousarray(numpy.moveaxis(array, 2, 0))
            self.assertEqual(cudaenc.encode(planes, layout="chw", lossless=True), packet)

    @unittest.skipUnless(shutil.which("opj_decompress"), "OpenJPEG's opj_decompress is not here")
    def test_many_channels_by_openjpeg(self):
        changes = "0,0,1,2,256,rlcp/0,2,1,3,300,cprl/0,0,1,3,300,lrcp"
        for channels, options in (5, {"mct": 1}), (7, {"cblk_style": "ht", "prog": "rpcl"}), (16, {"layers": 2, "prog": "pcrl", "tile_width": 23}), \
                (257, {"prog": "cprl", "mct": 1}), (300, {"poc": changes, "roi": "2,3,5,4"}), (16384, {"plt": 1, "sop": 1}):
            array = picture(*((2, 3) if channels > 300 else (19, 30)), channels)
            with tempfile.TemporaryDirectory() as folder:
                coded, raw = pathlib.Path(folder, "coded.j2k"), pathlib.Path(folder, "decoded.raw")
                coded.write_bytes(cudaenc.encode(array, file_format="codestream", lossless=True, levels=2, **options))
                subprocess.run(["opj_decompress", "-i", coded, "-o", raw], check=True, capture_output=True)
                decoded = numpy.fromfile(raw, numpy.uint8).reshape(channels, *array.shape[:2])
            self.assertTrue(numpy.array_equal(decoded, numpy.moveaxis(array, 2, 0)), channels)

    def test_layouts_give_the_same_bytes(self):
        array = picture(45, 67, 3)
        expected = cudaenc.encode(array)
        planes = numpy.ascontiguousarray(array.transpose(2, 0, 1))
        self.assertEqual(cudaenc.encode(planes, layout="chw"), expected)
        self.assertEqual(cudaenc.encode(planes.transpose(1, 2, 0)), expected)
        self.assertEqual(cudaenc.encode(planes[::-1].copy()[::-1], layout="chw"), expected)
        wide = picture(90, 200, 4)
        wide[::2, 60:194:2, :3] = array
        self.assertEqual(cudaenc.encode(wide[::2, 60:194:2, :3]), expected)
        self.assertEqual(cudaenc.encode(array[::-1][::-1]), expected)
        self.assertEqual(cudaenc.encode(array[:, ::-1][:, ::-1]), expected)
        self.assertEqual(cudaenc.encode(numpy.rot90(array)), cudaenc.encode(numpy.rot90(array).copy()))
        self.assertEqual(cudaenc.encode(array[..., 0].T), cudaenc.encode(array[..., 0].T.copy()))
        self.assertEqual(cudaenc.encode(planes.transpose(0, 2, 1), layout="chw"), cudaenc.encode(array.transpose(1, 0, 2).copy()))
        upside_down = array[::-1].copy()
        self.assertEqual(cudaenc.encode(upside_down[::-1]), expected)
        swapped = picture(9, 9, bits=16)
        self.assertEqual(cudaenc.encode(swapped.astype(">u2")), cudaenc.encode(swapped))

    def test_planes_by_the_name_of_their_format(self):
        y, u, v = picture(46, 68), picture(23, 34), picture(23, 34)
        packet = cudaenc.encode([y, u, v], format="yuv420p")
        self.assertEqual(cudaenc.encode([y, numpy.stack([u, v], -1)], format="nv12"), packet)
        rgb = picture(20, 30, 3)
        self.assertEqual(cudaenc.encode(rgb, format="rgb24"), cudaenc.encode(rgb))
        self.assertEqual(cudaenc.encode(rgb[..., ::-1].copy(), format="bgr24"), cudaenc.encode(rgb))
        deep = picture(20, 30, bits=16) >> 6
        self.assertEqual(cudaenc.encode(deep, format="gray10"), cudaenc.encode(deep, depth=10))


class Batch(unittest.TestCase):
    def test_packets_are_those_of_single_pictures(self):
        pictures = [picture(40, 50, 3) for _ in range(11)]
        for codec, options in ("j2k", {"quality": 60}), ("mjpeg", {"mct": 1}):
            expected = [cudaenc.encode(p, codec, **options) for p in pictures]
            for in_flight in 1, 3, 16:
                self.assertEqual(list(cudaenc.encode_batch(iter(pictures), codec, in_flight=in_flight, **options)), expected)
        self.assertEqual(list(cudaenc.encode_batch([])), [])

    def test_frames_stay_in_flight(self):
        taken = []
        packets = cudaenc.encode_batch((taken.append(i) or picture(40, 50) for i in range(10)), in_flight=4)
        next(packets)
        self.assertEqual(len(taken), 5)

    def test_polling(self):
        with cudaenc.Encoder(picture(40, 50), in_flight=2) as encoder:
            self.assertIsNone(encoder.receive())
            self.assertTrue(encoder.submit(picture(40, 50), "first"))
            self.assertTrue(encoder.submit(picture(40, 50), "second"))
            self.assertFalse(encoder.submit(picture(40, 50)))
            while (received := encoder.receive(wait=False)) is None:
                pass
            self.assertEqual(received[0], "first")
            self.assertEqual(encoder.receive()[0], "second")
            self.assertIsNone(encoder.receive(wait=False))
            self.assertIn("cpu", encoder.device)

    def test_sessions_in_threads(self):
        array = picture(60, 70, 3)
        expected, results = cudaenc.encode(array), []
        threads = [threading.Thread(target=lambda: results.append(cudaenc.encode(array))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 4)


class Changing(unittest.TestCase):
    """What the caller changes after a call that took it."""

    VALUES = range(10, 100, 10)

    def pictures(self, array):
        """One array, filled again and again."""
        for value in self.VALUES:
            array[...] = value
            yield array

    def test_batches(self):
        expected = [pillow(cudaenc.encode(numpy.full((24, 32), value, numpy.uint8))).tolist() for value in self.VALUES]
        for wrap in (lambda array: array), HostOnly:
            pictures = (wrap(array) for array in self.pictures(numpy.zeros((24, 32), numpy.uint8)))
            for options in {"in_flight": 4}, {"in_flight": 64, "format": "gray"}:
                packets = list(cudaenc.encode_batch(pictures, **options))
                self.assertEqual([pillow(packet).tolist() for packet in packets], expected[:len(packets)])
                pictures = (wrap(array) for array in self.pictures(numpy.zeros((24, 32), numpy.uint8)))

    def test_all_layouts(self):
        for shape, options in ((24, 32, 3), {}), ((3, 24, 32), {"layout": "chw"}), ((24, 32, 4), {}), ((24, 64, 3), {"step": 2}):
            step = options.pop("step", 1)
            memory = numpy.zeros(shape, numpy.uint8)
            view = memory[:, ::step] if step > 1 else memory[::-1]
            contents = [picture(*view.shape) for _ in range(5)]

            def refilled():
                for content in contents:
                    view[...] = content
                    yield view

            packets = list(cudaenc.encode_batch(refilled(), in_flight=5, **options))
            self.assertEqual(packets, [cudaenc.encode(content, **options) for content in contents])

    def test_planes_and_sessions(self):
        planes = [numpy.zeros((16, 16), numpy.uint16), numpy.zeros((8, 8), numpy.uint16), numpy.zeros((8, 8), numpy.uint16)]
        expected = []
        with cudaenc.Encoder(planes, format="yuv420p10", in_flight=3) as encoder:
            for value in (100, 500, 1023):
                for plane in planes:
                    plane[...] = value
                expected.append(cudaenc.encode([plane.copy() for plane in planes], format="yuv420p10"))
                self.assertTrue(encoder.submit(planes, value))
            self.assertEqual([encoder.receive() for _ in expected], list(zip((100, 500, 1023), expected)))
            self.assertEqual(list(encoder.encode([planes] * 7)), expected[-1:] * 7)

    def test_without_a_copy(self):
        arrays = [picture(24, 32, 3) for _ in range(9)]
        self.assertEqual(list(cudaenc.encode_batch(arrays, copy=False)), [cudaenc.encode(array) for array in arrays])

    def test_films(self):
        planes = [numpy.zeros((32, 32), numpy.uint8) for _ in range(3)]
        rgb = numpy.zeros((32, 32, 3), numpy.uint8)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.mp4")
            for memory, options in (planes, {"format": "yuv444p"}), (rgb, {}):
                frames = (memory for value in self.VALUES for plane in memory for _ in [plane.fill(value)] if plane is memory[-1]) \
                    if memory is planes else self.pictures(rgb)
                cudaenc.mp4.write_mp4(path, frames, qp=8, **options)
                with av.open(path) as film:
                    values = [bytes(frame.planes[0])[0] if memory is planes else frame.to_ndarray(format="gray")[0, 0]
                              for frame in film.decode(video=0)]
                for value, expected in zip(values, self.VALUES):
                    self.assertLess(abs(int(value) - expected), 16, options)
                self.assertEqual(len(values), len(self.VALUES))

    def test_packets(self):
        packets = [cudaenc.encode(numpy.full((16, 16), value, numpy.uint8), "mjpeg", comment="") for value in self.VALUES]
        memory = bytearray(max(map(len, packets)))

        def refilled(view):
            for packet in packets:
                memory[:] = packet.ljust(len(memory), b"\0")
                yield view(packet)

        for view in (lambda packet: memory), (lambda packet: memoryview(memory)[:len(packet)]):
            decoded = list(cudaenc.decode_batch(refilled(view), in_flight=8))
            self.assertEqual([int(one.planes[0][0, 0]) for one in decoded], list(self.VALUES))

    def test_metadata(self):
        xmp = bytearray(b"<rdf:RDF/>")
        with cudaenc.Encoder(picture(8, 8), xmp=xmp) as encoder:
            xmp[1:2] = b"XXX"
            self.assertIn(b"<rdf:RDF/>", next(encoder.encode([picture(8, 8)])))


class Sharing(unittest.TestCase):
    """Threads that use one session; iterations that others come between."""

    def run_threads(self, *works):
        failures = []

        def run(work):
            try:
                work()
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_threads_encode(self):
        pictures = [[picture(64, 64) for _ in range(40)] for _ in range(4)]
        expected = [[cudaenc.encode(one, "mjpeg") for one in series] for series in pictures]
        results = [[] for _ in range(4)]
        with cudaenc.Encoder(pictures[0][0], "mjpeg", in_flight=3) as encoder:
            self.run_threads(*(lambda i=i: results[i].extend(encoder.encode(pictures[i])) for i in range(4)))
            self.assertIsNone(encoder.receive())
        self.assertEqual(results, expected)

    def test_threads_submit_and_receive(self):
        array, received = picture(64, 64), []

        def work(first):
            for token in range(first, first + 50):
                while not encoder.submit(array, token):
                    one = encoder.receive()
                    if one is not None:
                        received.append(one)
                encoder.receive(wait=False) is None or received.append((None, None))

        with cudaenc.Encoder(array, "mjpeg", in_flight=2) as encoder:
            packet = next(encoder.encode([array]))
            self.run_threads(*(lambda i=i: work(50 * i) for i in range(4)))
            while (one := encoder.receive()) is not None:
                received.append(one)
        self.assertEqual(len(received), 200)
        self.assertEqual({data for _, data in received} - {None}, {packet})

    def test_threads_decode(self):
        packets = [cudaenc.encode(numpy.full((32, 32), value, numpy.uint8), "mjpeg") for value in range(0, 200, 5)]
        results = [[] for _ in range(4)]
        with cudaenc.Decoder(in_flight=3) as decoder:
            self.run_threads(*(lambda i=i: results[i].extend(decoder.decode(packets[i:] + packets[:i])) for i in range(4)))
        for i, pictures in enumerate(results):
            self.assertEqual([int(one.planes[0][0, 0]) for one in pictures], [*range(5 * i, 200, 5), *range(0, 5 * i, 5)])

    def test_closed_by_another_thread(self):
        array = picture(64, 64)
        encoder = cudaenc.Encoder(array, "mjpeg")

        def work():
            with self.assertRaisesRegex(ValueError, "the session is closed"):
                for _ in range(10**6):
                    list(encoder.encode([array] * 8))

        self.run_threads(work, work, work, encoder.close)

    def test_iterations_have_their_own_packets(self):
        one, other = numpy.full((16, 16), 10, numpy.uint8), numpy.full((16, 16), 200, numpy.uint8)
        with cudaenc.Encoder(one, in_flight=4) as encoder:
            left = encoder.encode([one] * 9)
            first = next(left)
            self.assertEqual(list(encoder.encode([other] * 6)), [cudaenc.encode(other)] * 6)
            encoder.submit(other, "mine")
            self.assertEqual(list(left), [first] * 8)
            self.assertEqual(encoder.receive(), ("mine", cudaenc.encode(other)))
            next(encoder.encode([one] * 9))  # and never asked again
            self.assertEqual(list(encoder.encode([other])), [cudaenc.encode(other)])

    def test_handlers_use_the_session(self):
        class Handler(logging.Handler):
            def emit(self, record):
                said.append((record.getMessage(), decoder.receive(wait=False)))

        said, handler = [], Handler()
        broken = cudaenc.encode(picture(64, 64), "mjpeg", device="cpu")[:-60]
        cudaenc._native._warn.cache_clear()
        logging.getLogger("cudaenc").addHandler(handler)
        try:
            with cudaenc.Decoder(device="cpu") as decoder:
                self.assertTrue(next(decoder.decode([broken])).corrupt)
        finally:
            logging.getLogger("cudaenc").removeHandler(handler)
        self.assertEqual(len(said), 1)

    def test_first_call(self):
        """What only C's declarations and asynchronous programs need takes longer to import than a picture to encode."""
        script = ("import sys, cudaenc, numpy; cudaenc.encode(numpy.zeros((8, 8), 'u1'), 'mjpeg', device='cpu')\n"
                  "assert not {'pycparser', 'cffi.cparser', 'asyncio'} & {*sys.modules}, [*sys.modules]")
        subprocess.run([sys.executable, "-c", script], timeout=60, check=True)


class Decode(unittest.TestCase):
    def test_jpeg(self):
        array = picture(45, 67)
        data = cudaenc.encode(array, "mjpeg", quality=95)
        decoded = cudaenc.decode(data)
        self.assertEqual((decoded.color_model, decoded.corrupt, decoded.orientation), ("gray", False, 1))
        self.assertTrue(numpy.array_equal(decoded.planes[0], pillow(data)))
        stream = io.BytesIO()
        Image.fromarray(picture(45, 67, 3)).save(stream, "jpeg", subsampling=2, icc_profile=b"profile")
        decoded = cudaenc.decode(bytearray(stream.getvalue()))
        self.assertEqual([p.shape for p in decoded.planes], [(45, 67), (23, 34), (23, 34)])
        self.assertEqual((decoded.color_model, decoded.icc_profile), ("yuv", b"profile"))
        self.assertEqual(cudaenc.decode(stream.getvalue(), lowres=1).planes[0].shape, (23, 34))
        self.assertTrue(cudaenc.decode(data[:-40]).corrupt)
        # lossless, 12 bits, 8x4: the first difference is 1, the others are 0
        frame = b"\xff\xd8\xff\xc3\0\x0b\x0c\0\4\0\x08\1\1\x11\0"
        table = b"\xff\xc4\0\x15\0\2" + bytes(15) + b"\0\1"
        deep = cudaenc.decode(frame + table + b"\xff\xda\0\x08\1\1\0\1\0\0" + b"\xc0\0\0\0\0\xff\xd9")
        self.assertEqual((deep.depth, deep.planes[0].dtype, deep.planes[0].shape), (12, numpy.uint16, (4, 8)))
        self.assertTrue((deep.planes[0] == 2049 << 4).all())

    def test_batches(self):
        packets = [cudaenc.encode(picture(20 + i, 30), "mjpeg") for i in range(9)]
        decoded = list(cudaenc.decode_batch(packets, in_flight=3))
        for data, one in zip(packets, decoded):
            self.assertTrue(numpy.array_equal(one.planes[0], cudaenc.decode(data).planes[0]))
        self.assertEqual(len(decoded), 9)


    def test_jpeg_2000(self):
        array = picture(45, 67, 3)
        for options in {}, {"cblk_style": "ht"}, {"tile_width": 32, "tile_height": 16}:
            data = cudaenc.encode(array, **options)
            decoded = cudaenc.decode(data)
            self.assertEqual((decoded.color_model, decoded.depth, decoded.shift, decoded.corrupt), ("rgb", 8, 0, False))
            self.assertTrue(numpy.array_equal(numpy.dstack(decoded.planes), array), options)
            part = cudaenc.decode(data, region=(7, 5, 30, 20))
            self.assertTrue(numpy.array_equal(numpy.dstack(part.planes), array[5:25, 7:37]), options)
            self.assertEqual(cudaenc.decode(data, reduce=2).planes[0].shape, (12, 17))
            self.assertTrue(cudaenc.decode(data[:-300]).corrupt)
        layered = cudaenc.encode(array, layers=4, quality=90)
        self.assertTrue(numpy.array_equal(cudaenc.decode(layered, layers=4).planes, cudaenc.decode(layered).planes))
        self.assertFalse(numpy.array_equal(cudaenc.decode(layered, layers=1).planes, cudaenc.decode(layered).planes))
        for bits, shift in (10, 0), (11, 5), (12, 0), (16, 0):
            deep = picture(9, 8, bits=bits)
            decoded = cudaenc.decode(cudaenc.encode(deep, depth=bits))
            self.assertEqual((decoded.depth, decoded.shift), (bits, shift))
            self.assertTrue(numpy.array_equal(decoded.planes[0] >> shift, deep), bits)
            # The same codestream of signed samples: a bit of SIZ.
            data = cudaenc.encode(deep, depth=bits)
            data = bytearray(data[data.index(b"\xff\x4f\xff\x51"):])
            data[42] |= 128
            signed = cudaenc.decode(data)
            self.assertEqual(signed.planes[0].dtype, numpy.int16)
            self.assertTrue(numpy.array_equal(signed.planes[0] >> shift, deep.astype(numpy.int32) - (1 << bits - 1)), bits)
            filled = numpy.empty((9, 8), numpy.int16)
            self.assertTrue(numpy.array_equal(cudaenc.decode(data, out=filled).planes[0], signed.planes[0]))
            if bits in (10, 12):
                with self.assertRaisesRegex(ValueError, "has no operator"):
                    cudaenc.decode(data, out=HostOnly(filled))
        planes = [picture(8, 10), picture(4, 5), picture(4, 5)]
        decoded = cudaenc.decode(cudaenc.encode(planes, format="yuv420p"))
        self.assertEqual(decoded.color_model, "yuv")
        for plane, made in zip(planes, decoded.planes):
            self.assertTrue(numpy.array_equal(plane, made))

    def test_headers(self):
        data = cudaenc.encode(picture(45, 67, 3), icc_profile=None)
        header = cudaenc.header(data, region=(1, 2, 20, 10))
        self.assertEqual((header.shapes, header.depths, header.color_model), ([(10, 20)] * 3, [8] * 3, "rgb"))
        self.assertEqual(cudaenc.header(data, reduce=1).shapes, [(23, 34)] * 3)
        self.assertEqual(cudaenc.header(cudaenc.encode(picture(4, 5), "mjpeg")).shapes, [(4, 5)])

    def test_out(self):
        pictures = [picture(20, 30, 3) for _ in range(5)]
        packets = [cudaenc.encode(one) for one in pictures]
        batch = numpy.zeros((5, 3, 20, 30), numpy.uint8)
        for n, decoded in enumerate(cudaenc.decode_batch(packets, in_flight=3, out=batch)):
            self.assertTrue(numpy.shares_memory(decoded.planes[1], batch[n, 1]))
            self.assertTrue(numpy.array_equal(batch[n].transpose(1, 2, 0), pictures[n]))
        room = numpy.full((4, 22, 40), 9, numpy.uint8)  # with gaps between rows
        cudaenc.decode(packets[0], out=room[:3, 1:21, 5:35])
        self.assertTrue(numpy.array_equal(room[:3, 1:21, 5:35].transpose(1, 2, 0), pictures[0]))
        room[:3, 1:21, 5:35] = 9
        self.assertTrue((room == 9).all())
        planes = [numpy.zeros((20, 30), numpy.uint8) for _ in range(3)]
        self.assertIs(cudaenc.decode(packets[1], out=planes).planes[2], planes[2])
        cudaenc.decode(packets[2], out=HostOnly(batch[0]))
        self.assertTrue(numpy.array_equal(batch[0].transpose(1, 2, 0), pictures[2]))
        frozen = numpy.zeros((3, 20, 30), numpy.uint8)
        frozen.flags.writeable = False
        for out, words in ((batch[0, :2], "out of 2 planes"), (batch[0, :, 1:], r"\(19, 30\) of uint8.*\(20, 30\) of uint8"),
                           (batch[0].astype("int8"), "of int8"), (batch[0].astype("uint16"), "of uint16"), (batch[0].astype(float), "float64"),
                           (frozen, "written to"), (5, "out of type int"), (numpy.zeros((3, 20, 60), numpy.uint8)[:, :, ::2], "gaps"),
                           (batch, "out of 4 dimensions")):
            with self.assertRaisesRegex(ValueError, words):
                cudaenc.decode(packets[0], out=out)
        with self.assertRaisesRegex(ValueError, "out of 2 pictures"):
            list(cudaenc.decode_batch(packets, out=batch[:2]))
        jpeg = cudaenc.encode(pictures[0][:, :, 0], "mjpeg")
        gray = numpy.empty((20, 30), numpy.uint8)
        cudaenc.decode(jpeg, out=gray)
        self.assertTrue(numpy.array_equal(gray, cudaenc.decode(jpeg).planes[0]))

    def test_batch_in_one_call(self):
        pictures = [picture(20, 30, 3) for _ in range(9)]
        packets = [cudaenc.encode(one) for one in pictures]
        room = numpy.full((9, 4, 22, 40), 9, numpy.uint8)  # with gaps between rows and pictures
        batch = room[:, :3, 1:21, 5:35]
        for in_flight in 1, 4:
            corrupt = cudaenc.decode_into(packets, batch, in_flight=in_flight)
            self.assertEqual((corrupt.dtype, corrupt.tolist()), (bool, [False] * 9))
            self.assertTrue(numpy.array_equal(batch.transpose(0, 2, 3, 1), pictures))
            batch[:] = 9
            self.assertTrue((room == 9).all())
        self.assertEqual(len(cudaenc.decode_into([], batch[:0])), 0)
        signed = (picture(7, 20, 30, bits=12).astype(int) - 2048).astype("int16")
        out = numpy.empty_like(signed)
        for decoders in 1, 3:
            cudaenc.decode_into([cudaenc.encode(one, depth=12) for one in signed], out, decoders=decoders)
            self.assertTrue(numpy.array_equal(out, signed))
        broken = [*packets[:3], b"none", packets[4], cudaenc.encode(picture(20, 31, 3)), packets[6][:len(packets[6]) * 2 // 3], *packets[7:]]
        with cudaenc.Decoder("j2k", in_flight=2) as decoder:
            with self.assertRaisesRegex(ValueError, "^picture 3: .*, and 1 more fail$"):
                decoder.decode_into(broken, batch)
            for n in 0, 1, 2, 4, 7, 8:
                self.assertTrue(numpy.array_equal(batch[n].transpose(1, 2, 0), pictures[n]), n)
            with self.assertRaisesRegex(ValueError, "^picture 3: .*, and 1 more fail$"):  # by three decoders, as each would have it
                cudaenc.decode_into(broken, batch, decoders=3, in_flight=2)
            self.assertEqual(cudaenc.decode_into(packets, batch, decoders=4).tolist(), [False] * 9)
            self.assertTrue(numpy.array_equal(batch.transpose(0, 2, 3, 1), pictures))
            broken[3] = packets[3]
            with self.assertRaisesRegex(ValueError, "^picture 5: .*not allowed: the batch has 30x20"):
                cudaenc.decode_into(broken, batch, decoders=2)
            with self.assertRaisesRegex(ValueError, "^picture 5: 31x20, 3 components of RGB, .* is not allowed: the batch has 30x20"):
                decoder.decode_into(broken, batch)
            broken[5] = packets[5]
            self.assertEqual(decoder.decode_into(broken, batch).tolist(), [n == 6 for n in range(9)])
            for wrong, out, words in ((broken[2:], batch, "out of 9 pictures is not allowed: there are 7 packets"),
                                      (broken, batch[:, :2], "out of 2 planes"), (broken, batch[0], "out of 3 pictures"),
                                      (broken, batch[:, :, 1:], r"\(19, 30\) of uint8"), ([b"none"], batch[:1], "^picture 0: ")):
                with self.assertRaisesRegex(ValueError, words):
                    decoder.decode_into(wrong, out)
            decoder.submit(packets[0])
            with self.assertRaisesRegex(ValueError, "while pictures are in flight"):
                decoder.decode_into(packets, batch)

    def test_batch_of_files(self):
        """Of more than are read at a time, and some that cannot be read."""
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        folder = pathlib.Path(room.name)
        names = [folder / f"{n}.jp2" for n in range(45)]
        pictures = picture(45, 20, 30)
        for name, one in zip(names, pictures):
            name.write_bytes(cudaenc.encode(one))
        some = [str(name) if n % 2 else name for n, name in enumerate(names)]
        some[7] = names[7].read_bytes()
        for decoders in 1, 3:
            batch = numpy.zeros((45, 20, 30), numpy.uint8)
            self.assertEqual(cudaenc.decode_into(some, batch, decoders=decoders, in_flight=2).tolist(), [False] * 45)
            self.assertTrue(numpy.array_equal(batch, pictures))
        names[41].unlink()
        for number, broken in (12, lambda name: name.unlink()), (11, lambda name: name.write_bytes(b"none")):
            broken(names[number])
            batch = numpy.zeros((45, 20, 30), numpy.uint8)
            with self.assertRaises(FileNotFoundError if number == 12 else ValueError) as caught:
                cudaenc.decode_into(names, batch, decoders=2)
            self.assertRegex(str(caught.exception), "12.jp2" if number == 12 else "^picture 11: .*, and 2 more fail$")
            for n in {*range(45)} - {11, 12, 41}:
                self.assertTrue(numpy.array_equal(batch[n], pictures[n]), n)
        for wrong, error in ([folder, names[1]], IsADirectoryError), ([names[1], folder], IsADirectoryError), ([names[12]], FileNotFoundError):
            with self.assertRaises(error) as caught:
                cudaenc.decode_into(wrong, batch[:len(wrong)])
            self.assertIn(str(folder), str(caught.exception))
        os.mkfifo(fifo := folder / "fifo")
        for wrong in [fifo, names[1]], [names[1], fifo]:
            with self.assertRaisesRegex(OSError, f"not a regular file: '{fifo}'"):
                cudaenc.decode_into(wrong, batch[:2])
        with self.assertRaisesRegex(ValueError, "it has a zero"):
            cudaenc.decode_into([names[1], "a\0b"], batch[:2])
        for codec in "mjpeg", "j2k":
            field = numpy.empty((2, 20, 30), numpy.uint8)
            fields = cudaenc.encode(picture(40, 30), codec, fields="tff")
            names[0].write_bytes(fields)
            for packet in fields, names[0]:
                with self.assertRaisesRegex(ValueError, "picture 1: two fields are not allowed"):
                    cudaenc.decode_into([cudaenc.encode(pictures[0], codec, **({"file_format": "codestream"} if codec == "j2k" else {})), packet], field)
        with self.assertRaisesRegex(ValueError, "data of type str"):  # one packet is bytes
            cudaenc.decode(str(names[1]))

    def test_rgb(self):
        image = Image.fromarray(numpy.repeat(numpy.repeat(picture(9, 13, 3), 8, 0), 7, 1)[:67, :90])
        for mode, options in ("RGB", {"subsampling": 0}), ("RGB", {"subsampling": 1}), ("RGB", {"subsampling": 2}), ("RGB", {"progressive": True}), ("L", {}):
            file = io.BytesIO()
            image.convert(mode).save(file, "JPEG", quality=80, **options)
            expected = numpy.atleast_3d(Image.open(file)).transpose(2, 0, 1)  # libjpeg's
            out = numpy.empty((3, *expected.shape), numpy.uint8)
            cudaenc.decode_into([file.getvalue()] * 3, out, rgb=True)
            decoded = cudaenc.decode(file.getvalue(), rgb=True)
            for one in (*out, decoded.planes):
                self.assertTrue(numpy.array_equal(one, expected), (mode, options))
            self.assertEqual(decoded.color_model, "rgb" if mode == "RGB" else "gray")
        for mode, error in ("CMYK", NotImplementedError), ("RGB", ValueError):
            file = io.BytesIO()
            image.convert(mode).save(file, "JPEG" if mode == "CMYK" else "JPEG2000")
            with self.assertRaisesRegex(error, "rgb"):
                cudaenc.decode(file.getvalue(), rgb=True)

    def test_recode(self):
        array = picture(45, 67, 3)
        jp2 = cudaenc.encode(array, icc_profile=None)
        jph = cudaenc.recode(jp2)
        self.assertEqual((jp2[20:24], jph[20:24]), (b"jp2 ", b"jph "))
        for data in jph, cudaenc.recode(jph, htj2k=False), cudaenc.recode(bytearray(jph), threads=2):
            self.assertTrue(numpy.array_equal(numpy.dstack(cudaenc.decode(data).planes), array))
        with self.assertRaisesRegex(ValueError, "neither a codestream nor a file"):
            cudaenc.recode(b"nothing")
        with self.assertRaisesRegex(ValueError, "htj2k 2 is not allowed"):
            cudaenc.recode(jp2, htj2k=2)
        with self.assertRaises(ValueError):
            cudaenc.recode(jp2[:-100])
        with self.assertLogs("cudaenc", "WARNING"):
            cudaenc.recode(cudaenc.encode(array, layers=3, quality=90))
        with cudaenc.Recoder(threads=2) as recoder:
            self.assertEqual([recoder.recode(jp2), recoder.recode(memoryview(jp2))], [jph, jph])
            with self.assertRaises(ValueError):
                recoder.recode(jp2[:-100])
            self.assertEqual(recoder.recode(jp2), jph)
        with self.assertRaisesRegex(ValueError, "closed"):
            recoder.recode(jp2)
        recoder.close()
        with self.assertRaisesRegex(ValueError, "threads 2000 is not allowed"):
            cudaenc.Recoder(threads=2000)

    def test_channels(self):
        array = picture(20, 30, 3)
        data = cudaenc.encode(array)
        for channels in (2, 1, 0), (1,), [0, 2], numpy.array([2, 2, 2]):
            decoded = cudaenc.decode(data, channels=channels)
            self.assertEqual(len(decoded.planes), len(channels))
            for plane, channel in zip(decoded.planes, channels):
                self.assertTrue(numpy.array_equal(plane, array[:, :, channel]))
        self.assertEqual(len(cudaenc.header(data, channels=(1,)).shapes), 1)
        for channels, words in ((), "one to four numbers"), ((0, 1, 2, 0, 1), "one to four numbers"), ("0,1", "one to four numbers"), \
                (1, "one to four numbers"), ((0.5,), "one to four numbers"), ((-1,), "channels"), ((3,), "has 3, from 0 on"):
            with self.assertRaisesRegex(ValueError, words):
                cudaenc.decode(data, channels=channels)
        with self.assertRaisesRegex(ValueError, "JPEG has none to choose"):
            cudaenc.decode(cudaenc.encode(array, "mjpeg"), channels=(0,))

    def test_options(self):
        data = cudaenc.encode(picture(20, 30))
        for options, words in (({"region": (0, 0, 31, 1)}, "within the picture of 30x20"), ({"region": (0, 0, 3)}, "x, y, width, height"),
                               ({"region": "0,0,3,3"}, "x, y, width, height"), ({"region": (0, 0, 0.5, 3)}, "x, y, width, height"),
                               ({"region": (0, 0, 1, 2, 3)}, "x, y, width, height"), ({"layers": -1}, "layers -1"),
                               ({"reduce": 33}, "lowres 33"), ({"reduce": 1, "lowres": 1}, "they are the same"), ({"codec": "h264"}, "'h264'"),
                               ({"codec": "mjpeg"}, "JPEG"), ({"device_planes": True, "device": "cpu"}, "")):
            with self.assertRaisesRegex(ValueError, words):
                cudaenc.decode(data, **options)
        with self.assertRaises(NotImplementedError):
            cudaenc.decode(data, reduce=6)
        with self.assertRaisesRegex(ValueError, "JPEG has none"):
            cudaenc.decode(cudaenc.encode(picture(4, 4), "mjpeg"), layers=1)

    def test_cmyk(self):
        stream = io.BytesIO()
        Image.fromarray(picture(45, 67, 4), "CMYK").save(stream, "jpeg", quality=95)
        decoded = cudaenc.decode(stream.getvalue())
        self.assertEqual((decoded.color_model, [p.shape for p in decoded.planes]), ("cmyk", [(45, 67)] * 4))


class Packets(unittest.TestCase):
    def test_fields(self):
        picture = numpy.zeros((64, 48), numpy.uint8)
        picture[1::2] = 255  # each field is flat
        jpg = cudaenc.encode(picture, "mjpeg", device="cpu", fields="tff")
        self.assertEqual(jpg.count(b"AVI1"), 2)
        self.assertLess(len(jpg), len(cudaenc.encode(picture, "mjpeg", device="cpu")))
        second = jpg.index(b"\xff\xd8", 2)
        for field, first in (jpg[:second], 0), (jpg[second:], 1):
            decoded = cudaenc.decode(field, device="cpu").planes[0]
            self.assertLess(int(abs(decoded.astype(int) - picture[first::2]).max()), 3)
        j2k = cudaenc.encode(picture, device="cpu", fields="bff", file_format="codestream")
        second = j2k.index(b"\xff\x4f\xff\x51", 2)
        for field, first in (j2k[:second], 1), (j2k[second:], 0):
            self.assertTrue(numpy.array_equal(cudaenc.decode(field, device="cpu").planes[0], picture[first::2]))
        with self.assertRaisesRegex(cudaenc.InvalidError, "fields 'top' is not allowed: it is None, tff, bff"):
            cudaenc.encode(picture, "mjpeg", device="cpu", fields="top")

    def test_fields_are_woven(self):
        frame = picture(64, 48, 3)
        for order in "tff", "bff":
            j2k = cudaenc.encode(frame, fields=order, file_format="codestream")
            decoded = cudaenc.decode(j2k, fields=order)
            self.assertEqual((decoded.fields, decoded.corrupt, cudaenc.header(j2k).shapes), (order, False, [(64, 48)] * 3))
            self.assertTrue(numpy.array_equal(numpy.dstack(decoded.planes), frame))
            self.assertEqual(cudaenc.decode(j2k, reduce=1).planes[0].shape, (32, 24))
            jpg = cudaenc.encode(frame[..., 0], "mjpeg", quality=95, fields=order)
            for data in jpg, jpg.replace(b"\xff\xd9\xff\xd8", b"\xff\xd9\0\0\xff\xd8"):
                decoded = cudaenc.decode(data)
                self.assertEqual((decoded.fields, decoded.corrupt), (order, False))
                error = abs(decoded.planes[0].astype(int) - frame[..., 0])
                self.assertLess(int(error.max()), 60)
                self.assertLess(float(error.mean()), 6)
        # Many in flight, frames of a picture between them, planes of the caller.
        frames = [picture(64, 48, 3) for _ in range(9)]
        packets = [cudaenc.encode(one, fields=("tff", None)[number % 3 == 1], file_format="codestream") for number, one in enumerate(frames)]
        for in_flight in 1, 2, 3, 8:
            out = numpy.zeros((9, 3, 64, 48), numpy.uint8)
            for number, decoded in enumerate(cudaenc.decode_batch(packets, in_flight=in_flight, out=out)):
                self.assertEqual(decoded.fields, ("tff", None)[number % 3 == 1])
            self.assertTrue(numpy.array_equal(out.transpose(0, 2, 3, 1), frames))

    def test_fields_that_are_none(self):
        frame = picture(64, 48)
        jpg = cudaenc.encode(frame, "mjpeg")
        self.assertIsNone(cudaenc.decode(jpg + jpg).fields)  # such as two views of a camera
        j2k = cudaenc.encode(frame, file_format="codestream")
        self.assertIsNone(cudaenc.decode(j2k + cudaenc.encode(picture(32, 48), file_format="codestream")).fields)
        fields = cudaenc.encode(frame, fields="tff", file_format="codestream")
        for data, options in (fields, {"region": (0, 0, 8, 8)}), (cudaenc.encode(frame, "mjpeg", fields="tff"), {"lowres": 1}):
            with self.assertRaisesRegex(NotImplementedError, "two fields are not decoded with region"):
                cudaenc.decode(data, **options)
        broken = bytearray(fields)  # a second field without its data
        del broken[-40:]
        self.assertTrue(cudaenc.decode(bytes(broken)).corrupt)
        with self.assertRaisesRegex(cudaenc.InvalidError, "fields 'tff' is not allowed with mjpeg: it is None"):
            cudaenc.decode(jpg, fields="tff")

    def test_they_tell(self):
        frame = [picture(46, 68), picture(23, 34), picture(23, 34)]
        with cudaenc.Encoder(frame, "h264", format="yuv420p", gop_size=4, crf=30) as encoder:
            self.assertEqual([(p.key, p.pts, p.quality) for p in encoder.encode([frame] * 5)],
                             [(i % 4 == 0, i, None) for i in range(5)])
            encoder.crf = 40
            self.assertTrue(encoder.submit(frame, "token", key=True, pts=7))
            token, packet = encoder.receive()
            self.assertEqual((token, packet.pts, packet.key, packet.qp > 33, encoder.qp), ("token", 7, True, True, 40))
            with self.assertRaises(AttributeError):
                encoder.bitrate = 4
            for value in 99, "40", 1 << 40:
                with self.assertRaisesRegex(cudaenc.InvalidError, f"qp '?{value}'? is not allowed"):
                    encoder.qp = value
        jpeg = cudaenc.encode(picture(8, 8), "mjpeg", quality=77)
        self.assertEqual((jpeg.quality, jpeg.qp, jpeg.key), (77, None, True))
        self.assertIsNone(cudaenc.encode(picture(8, 8)).quality)
        self.assertEqual(cudaenc.encode(picture(8, 8), lossless=False, quality=80).quality, 80)

    def test_file_formats(self):
        array = picture(33, 45)
        for name, begin in (None, b"\0\0\0\x0cjP  "), ("jp2", b"\0\0\0\x0cjP  "), ("j2k", b"\xff\x4f\xff\x51"), ("codestream", b"\xff\x4f"):
            data = cudaenc.encode(array, file_format=name)
            self.assertTrue(data.startswith(begin), name)
            self.assertTrue(numpy.array_equal(pillow(data), array))
        self.assertIn(b"jph ", cudaenc.encode(array, cblk_style="ht")[:32])
        with self.assertRaisesRegex(cudaenc.InvalidError, "file_format 'tiff'"):
            cudaenc.encode(array, file_format="tiff")

    def test_signed_samples(self):
        for bits, depth in (16, None), (16, 12), (8, None), (8, 5):
            half = 1 << (depth or bits) - 1
            array = (picture(33, 45, 3, bits=depth or bits).astype(int) - half).astype(f"int{bits}")
            unsigned = (array.astype(int) + half).astype(f"uint{bits}")
            for file_format, at in ("j2k", 42), ("jp2", None):
                signed, same = (bytes(cudaenc.encode(a, depth=depth, file_format=file_format)) for a in (array, unsigned))
                differing = [i for i in range(len(same)) if signed[i] != same[i]]
                self.assertTrue(all(signed[i] == same[i] | 128 for i in differing))
                begin = same.index(b"\xff\x4f\xff\x51") + 42
                self.assertEqual(differing, ([] if at else [same.index(b"ihdr") + 14]) + [begin, begin + 3, begin + 6])
        with self.assertRaisesRegex(cudaenc.InvalidError, "sample -2049 is not allowed: signed samples of 12 bits are -2048 to 2047"):
            cudaenc.encode(numpy.full((8, 8), -2049, numpy.int16), depth=12)
        with cudaenc.Encoder(array) as encoder, self.assertRaisesRegex(cudaenc.InvalidError, "format, strides"):
            encoder.submit(unsigned)

    def test_colours(self):
        frame = [picture(32, 32), picture(16, 16), picture(16, 16)]
        data = cudaenc.encode(frame, "h264", format="yuv420p", color_primaries="bt2020", color_transfer=16, color_matrix="bt2020nc", full_range=True)
        with av.open(io.BytesIO(data), format="h264") as film:
            context = film.streams.video[0].codec_context
            self.assertEqual([int(v) for v in (context.color_primaries, context.color_trc, context.colorspace, context.color_range)],
                             [9, 16, 9, 2])


class Errors(unittest.TestCase):
    def test_regions(self):
        picture = numpy.random.default_rng(3).integers(0, 256, (64, 64), numpy.uint8)
        with cudaenc.Encoder(picture, "h264", qp=30, device="cpu") as encoder:
            sizes = []
            for regions in (), [(0, 0, 32, 64, -0.25)], [(0, 0, 32, 64, 0.25), (0, 0, 64, 64, -1)]:
                encoder.submit(picture, regions=regions)
                sizes.append(len(encoder.receive()[1]))
            self.assertLess(sizes[0], sizes[1])
            self.assertLess(sizes[0], sizes[2])
            with self.assertRaisesRegex(ValueError, "region width 0 is not allowed"):
                encoder.submit(picture, regions=[(0, 0, 0, 64, 0.25)])

    def check(self, text, *arguments, **options):
        with self.assertRaises(ValueError) as caught:
            cudaenc.encode(*arguments, **options)
        self.assertIn(text, str(caught.exception))

    def test_they_name_what_and_why(self):
        array = picture(8, 8)
        self.check("cblk_width 33 is not allowed", array, cblk_width=33)
        self.check("nonsense is no option of j2k: there are profile", array, nonsense=1)
        self.check("qualty is no option of j2k: quality is one", array, qualty=1)
        for data, begin in (b"", "nothing"), (b"GIF89a", "47 49 46 38 39 61"), (b"\0\0\0\x20ftypisom\xff\xd8\0", "00 00 00 20"):
            for read in cudaenc.decode, cudaenc.header:
                with self.assertRaisesRegex(ValueError, f"they are neither JPEG nor JPEG 2000, but begin with {begin}"):
                    read(data)
        self.check("pred 'dwt99'", array, pred="dwt99")
        self.check("codec 'jxl'", array, "jxl")
        self.check("lossless is not allowed with mjpeg", array, "mjpeg", lossless=True)
        self.check("lossless is not allowed with pred 'dwt97'", array, lossless=True, pred="dwt97")
        for option in {"quality": 50}, {"frame_bytes": 2000}, {"psnr": 40}, {"compression_ratio": 8}, {"layer_rates": "10,5"}:
            self.check("lossless is not allowed with " + next(iter(option)), array, lossless=True, **option)
        self.check("quality 85.5 is not allowed", array, quality=85.5)
        self.check("comment 'a\\x00b' is not allowed", array, comment="a\0b")
        self.check("levels [5] is not allowed", array, levels=[5])
        self.check("2 channels", picture(8, 8, 2))
        self.check("5 components in 5 planes is not allowed", picture(8, 8, 5), "mjpeg")
        self.check("4 dimensions", picture(8, 8, 3, 1))
        self.check("uint8 or uint16", array.astype(numpy.float32))
        self.check("depth 12", array, depth=12)
        self.check("format 'yuv'", array, format="yuv")
        self.check("1 planes are not allowed: nv12 has 2", array, format="nv12")
        self.check("plane 1 of shape (8, 8)", [array, array, array], format="yuv420p")
        self.check("format 5 is not allowed", array, format=5)
        self.check("format 'gray\\x00' is not allowed", array, format="gray\0")
        self.check("depth 12 is not allowed with format 'gray16'", picture(8, 8, bits=16), format="gray16", depth=12)
        self.check("layout 'chw' is not allowed with format 'gray'", array, format="gray", layout="chw")
        self.check("in_flight 65 is not allowed", array, in_flight=65)
        self.check("full_range 7 is not allowed", array, full_range=7)
        self.check("full_range 'full' is not allowed", array, full_range="full")
        for mode in "P", "CMYK", "YCbCr", "HSV", "1", "LA":
            self.check(f"Pillow image of mode '{mode}' is not allowed", Image.new(mode, (8, 8)))
        self.check("device 'gpu'", array, device="gpu")
        self.check("device 3 is not allowed", array, device=3)
        self.check("in_flight '2' is not allowed", array, in_flight="2")
        self.check("threads 1099511627776 is not allowed", array, threads=2**40)
        self.check("luma_matrix 16 is not allowed", array, "mjpeg", luma_matrix=16)
        self.check("luma_matrix [70000] is not allowed", array, "mjpeg", luma_matrix=[70000])
        self.check("xmp 'a\\x00b' is not allowed: it is a text without zeros", array, "j2k", xmp="a\0b")
        self.check("exif of type str is not allowed: it is bytes", array, exif="II*")
        self.check("icc_profile of type int is not allowed: it is bytes", array, "mjpeg", icc_profile=5)
        self.check("xmp of type int is not allowed: it is bytes, or the name of a file", array, xmp=5)
        self.check("iptc of type list is not allowed", array, iptc=[1, 2])
        self.check("luma_matrix of 63 values is not allowed: it has 64", array, "mjpeg", luma_matrix=[16] * 63)
        with self.assertRaises(ValueError) as caught:
            cudaenc.decode(cudaenc.encode(array), max_pixels=2**70)
        self.assertIn("max_pixels", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            cudaenc.decode("a.jpg")
        self.assertIn("data of type str", str(caught.exception))
        with cudaenc.Encoder(array) as encoder:
            self.assertRaises(ValueError, encoder.submit, picture(8, 9))
            self.assertRaises(ValueError, encoder.submit, picture(8, 8, bits=16))
        self.assertRaises(ValueError, encoder.submit, array)
        with self.assertRaises(cudaenc.CudaencError):
            cudaenc.encode(array, device="cuda:999")

    def test_samples_beyond_their_depth(self):
        array = picture(8, 9, 3, bits=12)
        array[5, 7, 1] = array[6, 0, 0] = 4096
        self.check("sample 4096 at (5, 7, 1) is not allowed with depth 12: samples of 12 bits are 0 to 4095", array, depth=12)
        self.check("sample 65535 at (0, 2) is not allowed with depth 9", numpy.array([[0, 511, 65535]], numpy.uint16), depth=9)
        self.check("sample 8 at (0, 1) is not allowed with depth 3", numpy.array([[7, 8]], numpy.uint8), depth=3)
        self.check("sample 4096 at (5, 7) is not allowed with depth 12", HostOnly(array[..., 1]), depth=12)
        planes = [numpy.zeros((4, 4), numpy.uint16) for _ in range(3)]
        planes[2][3, 1] = 1024
        self.check("sample 1024 at (3, 1) is not allowed with plane 2 of yuv444p10", planes, format="yuv444p10")
        with cudaenc.Encoder(array % 4096, depth=12) as encoder:
            self.assertRaises(ValueError, encoder.submit, array)
            self.assertEqual(len(list(encoder.encode([array % 4096]))), 1)
        self.assertEqual(len(cudaenc.encode(array, depth=16)), len(cudaenc.encode(array)))
        for wrong in 0, -3, 17, 12.5, "12":
            self.check(f"depth {wrong!r} is not allowed", array, depth=wrong)
        for kind in numpy.uint32, numpy.int64, numpy.float16, numpy.float64, bool, complex:
            self.check("uint8 or uint16", (array % 2).astype(kind))
        for kind in numpy.int8, numpy.int16:
            self.check("is_signed 1", (array % 2).astype(kind), "mjpeg")

    @unittest.skipUnless(torch, "no PyTorch")
    def test_samples_of_tensors(self):
        array = picture(8, 9, bits=12)
        array[5, 7] = 4096
        self.check("sample 4096 at (5, 7) is not allowed with depth 12", torch.from_numpy(array), depth=12)
        if torch.cuda.is_available():
            for depth, sample in (12, 4096), (12, 65535), (15, 32768):
                array[5, 7] = sample
                tensor = torch.from_numpy(array).cuda()
                self.check(f"sample {sample} at (5, 7) is not allowed with depth {depth}", tensor, depth=depth)
            self.assertEqual(cudaenc.encode(tensor), cudaenc.encode(array))
            self.check("sample 9 at (0, 1)", torch.tensor([[7, 9]], dtype=torch.uint8).cuda(), depth=3)

    def test_metadata(self):
        array, xmp, iptc = picture(16, 16, 3), b"<rdf:RDF/>", b"\x1c\x02\x05\0\x01x"
        made = cudaenc.encode(array, xmp=xmp, iptc=iptc, exif=b"II*\0\x08\0\0\0\0\0\0\0\0\0", icc_profile=bytes(16) + b"RGB " + bytes(200))
        for part in (b"\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac" + xmp, iptc, b"JpgTiffExif->JP2II*", b"RGB " + bytes(200)):
            self.assertEqual(made.count(part), 1)
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a.xmp")
            with open(name, "wb") as file:
                file.write(xmp)
            self.assertEqual(cudaenc.encode(array, xmp=name), cudaenc.encode(array, xmp=xmp))
            self.assertEqual(cudaenc.encode(array, xmp=pathlib.Path(name), exif=None), cudaenc.encode(array, xmp=xmp))
            self.assertEqual([p.count(xmp) for p in cudaenc.encode_batch([array] * 3, xmp=xmp)], [1] * 3)

    @unittest.skipUnless(shutil.which("exiftool"), "ExifTool is not here")
    def test_exiftool_reads_metadata(self):
        entries = struct.pack("<HHIIHHIIHHII", 0x0112, 3, 1, 6, 0x011A, 5, 1, 50, 0x011B, 5, 1, 58)
        exif = b"II*\0\x08\0\0\0" + struct.pack("<H", 3) + entries + bytes(4) + struct.pack("<4I", 400, 1, 400, 1)
        iptc = struct.pack(">BBBH", 0x1C, 2, 5, 5) + b"title"
        with tempfile.TemporaryDirectory() as folder:
            for codec, name in ("j2k", "a.jp2"), ("mjpeg", "a.jpg"):
                path = os.path.join(folder, name)
                with open(path, "wb") as file:
                    file.write(cudaenc.encode(picture(16, 16, 3), codec, exif=exif, iptc=iptc))
                said = subprocess.run(["exiftool", "-s3", "-n", "-Orientation", "-XResolution", "-ObjectName", "-CaptureXResolution", path],
                                      stdout=subprocess.PIPE, check=True, text=True).stdout.split()
                self.assertEqual(said, ["6", "400", "title", "157.4803"] if codec == "j2k" else ["6", "400"])

    def test_options_have_names_and_numbers(self):
        array = picture(64, 64, 3)
        self.assertEqual(cudaenc.encode(array, pred="dwt53", prog="rpcl"), cudaenc.encode(array, pred=1, prog=2))
        self.assertEqual(cudaenc.encode(array, cblk_style="bypass+segsym"), cudaenc.encode(array, cblk_style=33))
        self.assertIn(b"written by me", cudaenc.encode(array, comment="written by me"))
        self.assertEqual(cudaenc.encode(array, profile="archive_lossless"), cudaenc.encode(array, profile=10))
        matrix = cudaenc.encode(array, "mjpeg", luma_matrix=range(1, 65))
        self.assertEqual([t[0] for t in Image.open(io.BytesIO(matrix)).quantization.values()], [1])
        self.assertLessEqual(len(cudaenc.encode(array, frame_bytes=2000, rate_control="psp")), 2000)

    def test_none_is_the_default(self):
        array = picture(64, 64, 3)
        self.assertEqual(cudaenc.encode(array, quality=None, pred=None, comment=None, levels=None), cudaenc.encode(array))
        self.assertEqual(cudaenc.encode(array, lossless=True, pred=None), cudaenc.encode(array, lossless=True, pred="DWT53"))

    def test_warnings_are_logged(self):
        broken = cudaenc.encode(picture(64, 64, 3), "mjpeg", device="cpu")
        cudaenc._native._warn.cache_clear()
        with self.assertLogs("cudaenc", "WARNING") as logged:
            for n in range(3):
                cudaenc.decode(broken[:-40 - n], device="cpu")
        self.assertEqual(logged.output, ["WARNING:cudaenc:JPEG: the coded data are broken"])

    def test_hints_and_docstrings(self):
        for name in cudaenc.__all__:
            member = getattr(cudaenc, name)
            self.assertTrue(member.__doc__, name)
            if callable(member) and not isinstance(member, type):
                self.assertIn("return", typing.get_type_hints(member), name)


class Commands(unittest.TestCase):
    def run_it(self, *arguments, code=0):
        result = subprocess.run([sys.executable, "-m", "cudaenc", *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout + result.stderr

    def test_them(self):
        array = picture(34, 46, 3) // 2
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Image.fromarray(array).save(folder / "in.png")
            numpy.save(folder / "in.npy", array)
            self.assertIn(f"cudaenc {cudaenc.__version__}", self.run_it("info"))
            for end, expected in ("jp2", cudaenc.encode(array)), ("j2k", cudaenc.encode(array, file_format="j2k")), (
                    "jpg", cudaenc.encode(array, "mjpeg", mct=1)), ("jph", cudaenc.encode(array, cblk_style="ht")):
                self.run_it("encode", folder / f"in.{'npy' if end == 'j2k' else 'png'}", folder / f"out.{end}")
                self.assertEqual((folder / f"out.{end}").read_bytes(), expected)
            self.assertIn("46x34, yuv, 3 planes of 8 bits, orientation 1\n", self.run_it("info", folder / "out.jpg"))
            for end in "ppm", "png", "npy":
                self.run_it("decode", folder / "out.jpg", folder / f"out.{end}")
            for end in "ppm", "png":
                self.assertLess(abs(pillow((folder / f"out.{end}").read_bytes()).astype(int) - array).mean(), 6)
            self.assertEqual(numpy.load(folder / "out.npy").shape, (34, 46, 3))
            deep = picture(34, 46, bits=12)
            (folder / "deep.jp2").write_bytes(cudaenc.encode(deep, depth=12))
            self.run_it("decode", folder / "deep.jp2", folder / "deep.npy")
            self.assertTrue(numpy.array_equal(numpy.load(folder / "deep.npy"), deep << 4))
            cudaenc.mp4.write_mp4(folder / "in.mp4", [array] * 3)
            self.assertRegex(self.run_it("encode", folder / "in.mp4", folder / "out.mp4", "crf=40"), "3 frames, [0-9]+ bytes")
            for text, *arguments in (("quality 101", "in.png", "out.jp2", "quality=101"), ("ends in", "in.png", "out.tif"),
                                     ("name=value", "in.png", "out.jp2", "quality"), ("No such file", "none.png", "out.jp2")):
                self.assertIn(text, self.run_it("encode", *(folder / a if "." in a else a for a in arguments), code=1))


class HostOnly:
    """What has DLPack's protocol, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class InCuda:
    """Says that an array of the host's lies in CUDA memory; the emulator's is the host's."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "stream": None}


class LikeCupy(numpy.ndarray):
    """The same of an array with the operations of CuPy's."""

    __module__ = "cupy"

    @property
    def __cuda_array_interface__(self):
        return {**self.__array_interface__, "version": 3, "stream": None}


class InCudaByDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2  # kDLCUDA
        return capsule

    def __dlpack_device__(self):
        return (2, 0)


class Protocols(unittest.TestCase):
    def test_dlpack(self):
        array = picture(45, 67, 3)
        self.assertEqual(cudaenc.encode(HostOnly(array)), cudaenc.encode(array))

    @unittest.skipUnless("emu" in os.environ.get("CUDAENC_LIBRARY", ""), "no emulator in this library")
    def test_cuda_memory(self):
        array = picture(45, 67, 3)
        expected = cudaenc.encode(array)
        self.assertEqual(cudaenc.encode(array, device="emu"), expected)
        for wrap in InCuda, InCudaByDlpack:
            self.assertEqual(cudaenc.encode(wrap(array), device="emu"), expected, wrap)
            self.assertEqual(cudaenc.encode(wrap(array[:, ::2]), device="emu"), cudaenc.encode(array[:, ::2]), wrap)
            self.assertEqual(list(cudaenc.encode_batch([wrap(array)] * 5, "mjpeg", device="emu")),
                             [cudaenc.encode(array, "mjpeg")] * 5)
        with cudaenc.Encoder(array, device="emu") as encoder:
            self.assertRaises(ValueError, encoder.submit, InCuda(array))
        deep = picture(8, 9, bits=12)
        self.assertEqual(cudaenc.encode(deep.view(LikeCupy), depth=12, device="emu"), cudaenc.encode(deep, depth=12))
        deep[5, 7] = 4096
        with self.assertRaisesRegex(ValueError, r"sample 4096 at \(5, 7\) is not allowed with depth 12"):
            cudaenc.encode(deep.view(LikeCupy), depth=12, device="emu")

    @unittest.skipUnless("emu" in os.environ.get("CUDAENC_LIBRARY", ""), "no emulator in this library")
    def test_planes_in_cuda_memory(self):
        array = picture(45, 67, 3)
        for codec in "j2k", "mjpeg":
            data = cudaenc.encode(array, codec)
            expected = cudaenc.decode(data, device="cpu").planes
            out = numpy.zeros((3, 45, 67), numpy.uint8)
            cudaenc.decode(data, out=InCuda(out), device="emu")
            self.assertTrue(numpy.array_equal(out, expected), codec)
            batch = numpy.zeros((5, 3, 45, 67), numpy.uint8)
            pictures = list(cudaenc.decode_batch([data] * 5, out=[InCuda(one) for one in batch], device="emu"))
            self.assertEqual(len(pictures), 5)
            self.assertTrue(all(numpy.array_equal(one, expected) for one in batch), codec)
            batch[:] = 0
            cudaenc.decode_into([data] * 5, InCuda(batch), device="emu")
            self.assertTrue(all(numpy.array_equal(one, expected) for one in batch), codec)
            with cudaenc.Decoder(codec, device="emu", device_planes=True) as decoder:
                for wrong in None, out:
                    with self.assertRaises(ValueError):
                        decoder.submit(data, wrong)

    @unittest.skipUnless("emu" in os.environ.get("CUDAENC_LIBRARY", ""), "no emulator in this library")
    def test_rgb_in_cuda_memory(self):
        planes = [[picture(46, 68), picture(23, 34), picture(23, 34)] for _ in range(9)]
        packets = list(cudaenc.encode_batch(planes, "mjpeg", format="yuvj420p"))
        packets[4] = packets[4][:len(packets[4]) * 2 // 3]  # the host decodes it
        expected, out, host = numpy.zeros((3, 9, 3, 46, 68), numpy.uint8)
        corrupt = cudaenc.decode_into(packets, expected, rgb=True, device="cpu")
        self.assertEqual(corrupt.tolist(), [n == 4 for n in range(9)])
        for to, memory in (out, InCuda(out)), (host, host):
            for in_flight in 1, 8:
                to[:] = 0
                self.assertTrue((cudaenc.decode_into(packets, memory, rgb=True, device="emu", in_flight=in_flight) == corrupt).all())
                self.assertTrue(numpy.array_equal(to, expected))

    @unittest.skipUnless("emu" in os.environ.get("CUDAENC_LIBRARY", ""), "no emulator in this library")
    def test_packets_in_cuda_memory(self):
        array = picture(45, 67, 3)
        with cudaenc.Encoder(array, "mjpeg", device="emu", device_packets=True) as encoder:
            packets = list(encoder.encode([array] * 5))
        for packet in packets:
            interface = packet.__cuda_array_interface__
            self.assertEqual(len(packet), interface["shape"][0])
            self.assertEqual(ctypes.string_at(interface["data"][0], len(packet)), cudaenc.encode(array, "mjpeg"))
        with self.assertRaises(ValueError):
            cudaenc.Encoder(array, "j2k", device="emu", device_packets=True)

    def test_cuda_memory_is_not_for_the_cpu(self):
        with self.assertRaises(ValueError):
            cudaenc.encode(InCuda(picture(8, 8)), device="cpu")
        with self.assertRaises(ValueError):
            cudaenc.Encoder(picture(8, 8), "mjpeg", device="cpu", device_packets=True)


@unittest.skipUnless(torch and torch.cuda.is_available(), "no PyTorch with a GPU")
class Tensors(unittest.TestCase):
    """PyTorch's, in the memory of every GPU that there is."""

    def setUp(self):
        self.array = picture(270, 480, 3)
        self.packet = cudaenc.encode(self.array, device="cpu")

    def test_they_stay_on_their_gpu(self):
        for n in range(torch.cuda.device_count()):
            tensor = torch.from_numpy(self.array).to(f"cuda:{n}")
            self.assertEqual(cudaenc.encode(tensor), self.packet)
            self.assertEqual(cudaenc.encode(tensor.permute(2, 0, 1).contiguous(), layout="chw"), self.packet)
            self.assertEqual(cudaenc.encode(tensor[10:200, 20::2]), cudaenc.encode(self.array[10:200, 20::2], device="cpu"))
            self.assertEqual(list(cudaenc.encode_batch([tensor] * 9)), [self.packet] * 9)
            with cudaenc.Encoder(tensor) as encoder:
                self.assertTrue(encoder.device.startswith(f"cuda:{n} "), encoder.device)
                self.assertRaises(ValueError, encoder.submit, self.array)
            with torch.cuda.device(n):
                self.assertEqual(cudaenc.encode(HostOnly(tensor)), self.packet)

    def test_work_of_the_current_stream_is_waited_for(self):
        for n in range(torch.cuda.device_count()):
            source = torch.from_numpy(self.array).to(f"cuda:{n}")
            tensor = torch.zeros_like(source)
            torch.cuda.synchronize(n)
            # The session is open before, which takes longer than the work.
            with cudaenc.Encoder(tensor) as encoder, torch.cuda.stream(torch.cuda.Stream(n)):
                torch.cuda._sleep(100_000_000)
                tensor.copy_(source)
                self.assertEqual(next(encoder.encode([tensor])), self.packet)
        # Another GPU's stream is the current one now and then.
        with torch.cuda.device(0):
            self.assertEqual(cudaenc.encode(tensor), self.packet)

    def test_decoded(self):
        expected = numpy.moveaxis(self.array, 2, 0)
        for n in range(torch.cuda.device_count()):
            batch = torch.zeros((9, 3, 270, 480), dtype=torch.uint8, device=f"cuda:{n}")
            for one in cudaenc.decode_batch([self.packet] * 9, out=batch):
                self.assertFalse(one.corrupt)
            for one in batch:
                self.assertTrue(numpy.array_equal(one.cpu().numpy(), expected))

    def test_packets(self):
        expected = cudaenc.encode(self.array, "mjpeg", device="cpu")
        with cudaenc.Encoder(torch.from_numpy(self.array).cuda(), "mjpeg", device_packets=True) as encoder:
            for packet in encoder.encode([torch.from_numpy(self.array).cuda()] * 5):
                self.assertEqual(bytes(torch.as_tensor(packet, device="cuda").cpu().numpy()), expected)
