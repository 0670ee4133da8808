# SPDX-License-Identifier: LGPL-2.1-or-later
"""MP4 as its users have it: FFmpeg (PyAV) reads what is written."""
import asyncio
import fractions
import io
import os
import pathlib
import tempfile
import threading
import unittest
import unittest.mock

import av
import cudaenc
import cudaenc.mp4
import numpy
from cudaenc import _frames
from PIL import Image
from test_cudaenc import HostOnly, InCudaByDlpack, picture, random, torch


class Mp4(unittest.TestCase):
    def test_one_array(self):
        # More frames than are converted at once, as if they were on a GPU. The file of all is that of a list of them.
        frames = numpy.stack([picture(1200, 1600, 3) for _ in range(10)])

        for (planes, _), frame in zip(_frames.pictures(frames, "yuv420p", _frames.Conversion()), frames):
            for plane, expected in zip(planes, cudaenc.mp4.yuv420p(frame)):
                self.assertTrue(numpy.array_equal(plane, expected))
        frames = frames[:2]
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for source in (frames, list(frames)):
                path = os.path.join(folder, "out.mp4")
                self.assertEqual(cudaenc.mp4.write_mp4(path, source, crf=40), 2)
                with open(path, "rb") as file:
                    files.append(file.read())
            self.assertEqual(*files)

    def write(self, frames, **options):
        """The stream and the frames that FFmpeg finds."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.mp4")
            self.assertEqual(cudaenc.mp4.write_mp4(path, iter(frames), **options), len(frames))
            with av.open(path) as film:
                stream = film.streams.video[0]
                packets = [bytes(packet) for packet in film.demux(stream) if packet.size]
                film.seek(0)
                return stream, packets, list(film.decode(stream))

    def test_size_of_pairs(self):
        for format, size in ("yuv420p", (68, 46)), ("yuv422p", (68, 45)), ("yuv444p", (67, 45)):
            chroma = picture(size[1] // (2 if format == "yuv420p" else 1), size[0] // (1 if format == "yuv444p" else 2))
            stream, _, decoded = self.write([[picture(45, 67), chroma, chroma]], format=format)
            self.assertEqual({(stream.width, stream.height), (decoded[0].width, decoded[0].height)}, {size})

    def test_key_pictures(self):
        frames = [[picture(46, 68), picture(23, 34), picture(23, 34)] for _ in range(5)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.mp4")
            cudaenc.mp4.write_mp4(path, iter(frames), format="yuv420p", qp=30, gop_size=3)
            with av.open(path) as film:
                keys = [packet.is_keyframe for packet in film.demux(film.streams.video[0]) if packet.size]
                self.assertEqual(keys, [True, False, False, True, False])
                film.seek(0)
                self.assertEqual(len(list(film.decode(video=0))), 5)

    def test_forced_key_pictures(self):
        frame = [picture(46, 68), picture(23, 34), picture(23, 34)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.mp4")
            cudaenc.mp4.write_mp4(path, [frame] * 7, format="yuv420p", qp=30, gop_size=4, keys={1, 2})
            with av.open(path) as film:
                keys = [packet.is_keyframe for packet in film.demux(film.streams.video[0]) if packet.size]
                self.assertEqual(keys, [True, True, True, False, False, False, True])
        packets = list(cudaenc.encode_batch([frame] * 4, "h264", format="yuv420p", gop_size=9, keys=[2]))
        self.assertEqual([b"\0\0\1\x67" in packet for packet in packets], [True, False, True, False])
        with cudaenc.Encoder(frame, "h264", format="yuv420p", gop_size=9) as encoder:
            self.assertTrue(encoder.submit(frame) and encoder.submit(frame, key=True))
            self.assertIn(b"\0\0\1\x67", [encoder.receive(), encoder.receive()][1][1])

    def test_rate_changes(self):
        frame = [picture(46, 68), picture(23, 34), picture(23, 34)]
        with cudaenc.Encoder(frame, "h264", format="yuv420p", qp=40, rate_control=0) as encoder:
            coarse = next(encoder.encode([frame]))
            encoder.set_qp(10)
            self.assertGreater(len(next(encoder.encode([frame]))), 2 * len(coarse))
            with self.assertRaisesRegex(cudaenc.InvalidError, "qp 52 is not allowed"):
                encoder.set_qp(52)
            with self.assertRaisesRegex(cudaenc.InvalidError, "bit_rate 1000 is not allowed: the rate control has none"):
                encoder.set_bit_rate(1000)
        with cudaenc.Encoder(frame, "h264", format="yuv420p", bit_rate=100_000, frame_rate_num=25, frame_rate_den=1) as encoder:
            encoder.set_bit_rate(200_000)
            self.assertEqual(len(list(encoder.encode([frame] * 3))), 3)
        with cudaenc.Encoder(picture(8, 8), "mjpeg") as encoder, self.assertRaises(NotImplementedError):
            encoder.set_qp(3)

    def test_first_packet_is_not_decoded(self):
        looked_at, opened = [], av.open

        def open_and_note(file, *arguments, **options):
            if options.get("format") == "h264":
                looked_at.append(len(file.getvalue()))
            return opened(file, *arguments, **options)

        with unittest.mock.patch.object(av, "open", open_and_note), cudaenc.mp4.Writer(None, qp=5) as writer:
            writer.add(numpy.random.default_rng(1).integers(0, 256, (64, 96, 3), dtype=numpy.uint8))
        self.assertGreater(writer.size, 4096)
        self.assertLess(looked_at[0], 1200)

    def test_first_frames_soon(self):
        frames = picture(40, 6, 8, 3)
        with unittest.mock.patch.object(_frames, "_AT_ONCE", 8 * 48):
            batches = list(_frames.batches(frames, _frames.Conversion()))
        self.assertEqual([len(luma) for luma, _, _ in batches], [1, 2, 4, 8, 8, 8, 8, 1])
        whole = _frames._converted(frames, *_frames.MATRICES["bt709"], False)
        for plane, parts in zip(whole, zip(*batches)):
            self.assertTrue(numpy.array_equal(plane, numpy.concatenate(parts)))

    def test_planes(self):
        frames = [[picture(46, 68), picture(23, 34), picture(23, 34)] for _ in range(5)]
        stream, packets, decoded = self.write(frames, format="yuv420p", qp=12, frame_rate="30000/1001", in_flight=2, gop_size=1)
        self.assertEqual((stream.codec_context.name, stream.width, stream.height, stream.frames), ("h264", 68, 46, 5))
        self.assertEqual(float(stream.average_rate), 30000 / 1001)
        self.assertEqual([frame.pts * frame.time_base for frame in decoded], [fractions.Fraction(1001 * i, 30000) for i in range(5)])
        for frame, source in zip(decoded, frames):
            luma = frame.to_ndarray()[:46].astype(int)
            self.assertLess(abs(luma - source[0]).mean(), 4)
        options = {"format": "yuv420p", "qp": 12, "effort": 0, "repeat_headers": 0, "frame_rate_num": 30000,
                   "frame_rate_den": 1001}
        for packet, expected in zip(packets, cudaenc.encode_batch(frames, "h264", **options)):
            self.assertEqual(packet.split(b"\0\0\1")[-1][4:], expected[4:])

    def test_bt2020_and_full_range(self):
        frames = [picture(32, 48, 3)]
        stream, _, decoded = self.write(frames, matrix="bt2020", full_range=True, color_transfer="smpte2084", qp=5)
        context = stream.codec_context
        self.assertEqual([int(v) for v in (context.color_primaries, context.color_trc, context.colorspace, context.color_range)],
                         [9, 16, 9, 2])
        luma = frames[0].astype(float) @ (0.2627, 0.678, 0.0593)
        self.assertLess(abs(decoded[0].to_ndarray()[:32] - luma).mean(), 4)

    def test_rgb(self):
        frames = [numpy.repeat(numpy.repeat(random.integers(0, 256, (6, 8, 3), numpy.uint8), 8, 0), 8, 1) for _ in range(2)]
        for matrix, kr, kb in ("bt709", 0.2126, 0.0722), ("bt601", 0.299, 0.114):
            red, green, blue = (frames[0][..., c].astype(float) for c in range(3))
            y = kr * red + (1 - kr - kb) * green + kb * blue
            exact = [16 + y * 219 / 255] + [128 + (c - y)[::2, ::2] / (2 - 2 * k) * 224 / 255 for c, k in ((blue, kb), (red, kr))]
            for plane, expected in zip(cudaenc.mp4.yuv420p(frames[0], matrix), exact):
                self.assertLess(abs(plane - expected).max(), 1)
            full = [y] + [numpy.minimum(128 + (c - y)[::2, ::2] / (2 - 2 * k), 255) for c, k in ((blue, kb), (red, kr))]
            for plane, expected in zip(cudaenc.mp4.yuv420p(frames[0], matrix, full_range=True), full):
                self.assertLess(abs(plane - expected).max(), 1)
            stream, _, decoded = self.write(frames, matrix=matrix, qp=8)
            self.assertEqual(len(decoded), 2)
            self.assertEqual(int(decoded[0].colorspace), 1 if matrix == "bt709" else 6)
            for frame, source in zip(decoded, frames):
                self.assertLess(abs(frame.to_ndarray(format="rgb24").astype(int) - source).mean(), 6)

    def test_pillow(self):
        arrays = [picture(32, 48, 3) for _ in range(2)]
        self.assertEqual(self.write([Image.fromarray(array) for array in arrays])[1], self.write(arrays)[1])
        with self.assertRaisesRegex(ValueError, "mode 'HSV'"):
            self.write([Image.new("HSV", (32, 48))])

    def test_rates(self):
        frames = [picture(64, 96, 3) for _ in range(24)]
        sizes = {crf: sum(map(len, self.write(frames, crf=crf)[1])) for crf in (20, 40)}
        self.assertLess(sizes[40], sizes[20] / 2)
        bits = 8 * sum(map(len, self.write(frames, bit_rate=400_000, frame_rate=24)[1]))
        self.assertLess(abs(bits - 400_000), 40_000)
        planes = [cudaenc.mp4.yuv420p(frame) for frame in frames]
        packets = cudaenc.encode_batch(planes, "h264", format="yuv420p", bit_rate=400_000, frame_rate_num=24, frame_rate_den=1)
        self.assertLess(abs(8 * sum(map(len, packets)) - 400_000), 40_000)

    def test_slices_and_filler(self):
        frames = [picture(64, 96, 3) for _ in range(3)]
        for options in {"slices": 3, "qp": 20}, {"bit_rate": 400_000, "buffer_size": 100_000, "cbr": 1}:
            self.assertEqual(len(self.write(frames, **options)[2]), 3)

    def test_formats(self):
        for format, depth, shape in ("yuv422p10", 10, (32, 24)), ("yuv420p10", 10, (16, 24)), ("yuv444p", 8, (32, 48)):
            luma = picture(32, 48, bits=depth)
            frame = [luma, picture(*shape, bits=depth), picture(*shape, bits=depth)]
            stream, _, decoded = self.write([frame], format=format, qp=10)
            self.assertEqual((len(decoded), stream.codec_context.pix_fmt.replace("10le", "10")), (1, format))

    def test_errors(self):
        for text, frames, options in (("no frame", [], {}), ("shape (9, 9, 2)", [picture(9, 9, 2)], {}),
                                      ("int64", [picture(8, 8, 3).astype(int)], {}), ("sample 2 ", [picture(8, 8, 3) * 0 + 2.], {}),
                                      ("frame_rate 0", [picture(8, 8, 3)], {"frame_rate": 0}),
                                      ("frame_rate inf", [picture(8, 8, 3)], {"frame_rate": float("inf")}),
                                      ("frame_rate 'fast'", [picture(8, 8, 3)], {"frame_rate": "fast"}),
                                      ("frame_rate None", [picture(8, 8, 3)], {"frame_rate": None}),
                                      ("matrix 'rgb'", [picture(8, 8, 3)], {"matrix": "rgb"}),
                                      ("crf is not", [picture(8, 8, 3)], {"crf": 20, "bit_rate": 1000000}),
                                      ("bitrate is no option", [picture(8, 8, 3)], {"bitrate": 1000000}),
                                      ("index 'end'", [picture(8, 8, 3)], {"index": "end"}),
                                      ("fragment 0", [picture(8, 8, 3)], {"fragment": 0}),
                                      ("rotation 45", [picture(8, 8, 3)], {"rotation": 45}),
                                      ("layout 'hxc'", [picture(8, 8, 3)], {"layout": "hxc"}),
                                      ("color_transfer 'pq'", [picture(8, 8, 3)], {"color_transfer": "pq"}),
                                      ("repeat_headers", [picture(8, 8, 3)], {"repeat_headers": 1})):
            with self.assertRaises(ValueError) as caught, tempfile.TemporaryDirectory() as folder:
                cudaenc.mp4.write_mp4(os.path.join(folder, "out.mp4"), frames, **options)
            self.assertIn(text, str(caught.exception))

    def test_no_partial_file(self):
        def failing():
            yield picture(16, 16, 3)
            yield picture(16, 16, 3)
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "out.mp4")
            for frames, error in (failing(), KeyboardInterrupt), ([picture(16, 16, 3), picture(8, 8, 3)], ValueError), (
                    [picture(9, 9, 2)], ValueError):
                with self.assertRaises(error):
                    cudaenc.mp4.write_mp4(path, frames)
                self.assertEqual(os.listdir(folder), [])
            cudaenc.mp4.write_mp4(path, [picture(16, 16, 3)])
            whole = path.read_bytes()
            self.assertRaises(KeyboardInterrupt, cudaenc.mp4.write_mp4, path, failing())
            self.assertEqual((os.listdir(folder), path.read_bytes()), (["out.mp4"], whole))


class Writers(unittest.TestCase):
    def frames(self, count=12):
        still = numpy.repeat(numpy.repeat(random.integers(0, 256, (6, 8, 3), numpy.uint8), 8, 0), 8, 1)
        return numpy.stack([numpy.roll(still, i, 1) for i in range(count)])

    def read(self, data):
        with av.open(io.BytesIO(data)) as film:
            return list(film.decode(video=0))

    def test_targets(self):
        frames = self.frames()
        with cudaenc.mp4.Writer(frame_rate=24, crf=25) as writer:
            writer.add(frames[0])
            writer.add(list(frames[1:5]))
            writer.add(frames[5:])
        self.assertLess(writer.data.index(b"moov"), writer.data.index(b"mdat"))
        self.assertEqual(len(self.read(writer.data)), 12)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "out.mp4")
            self.assertEqual(cudaenc.mp4.write_mp4(path, frames, frame_rate=24, crf=25), 12)
            file = io.BytesIO()
            cudaenc.mp4.write_mp4(file, frames, frame_rate=24, crf=25)
            self.assertEqual({path.read_bytes(), file.getvalue()}, {writer.data})
            cudaenc.mp4.write_mp4(path, frames, index="last")
            self.assertGreater(path.read_bytes().index(b"moov"), path.read_bytes().index(b"mdat"))
            self.assertEqual(os.listdir(folder), ["out.mp4"])

    def test_predicted_by_default(self):
        frames = self.frames(40)
        sizes = []
        for options in {}, {"gop_size": 1}:
            file = io.BytesIO()
            with self.assertLogs("cudaenc", "INFO") as logged:
                cudaenc.mp4.write_mp4(file, frames, frame_rate=25, crf=25, **options)
            sizes.append(len(file.getvalue()))
            told = float(next(line for line in logged.output if "kB a frame" in line).split("about ")[1].split()[0]) * 1e6
            self.assertLess(abs(told - sizes[-1]), sizes[-1] / 3)
        self.assertLess(sizes[0], sizes[1] / 2)

    def test_fragments(self):
        frames = self.frames(12)
        chunks = list(cudaenc.mp4.stream(iter(frames), frame_rate=8, gop_size=4))
        self.assertEqual([chunk[4:8] for chunk in chunks], [b"ftyp", b"moof", b"moof", b"moof"])
        self.assertEqual(len(self.read(b"".join(chunks))), 12)
        self.assertEqual(len(self.read(b"".join(chunks[:2]))), 4)  # what came is whole
        writer = cudaenc.mp4.Writer(None, fragment="gop")
        with unittest.mock.patch.object(cudaenc.Encoder, "receive", lambda *_: None):  # the header waits for no packet
            writer.add(frames[0])
            self.assertEqual(writer.take()[4:8], b"ftyp")
        writer.abort()
        for fragment, count in (0.25, 6), (1, 2):
            chunks = list(cudaenc.mp4.stream(frames, frame_rate=8, fragment=fragment))
            self.assertEqual(sum(chunk.count(b"moof") for chunk in chunks), count)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "out.mp4")
            file = io.BytesIO()
            for target in path, file:
                cudaenc.mp4.write_mp4(target, frames, frame_rate=8, fragment=1)
            self.assertEqual(path.read_bytes(), file.getvalue())
            self.assertEqual(file.getvalue(), b"".join(chunks))

        class Unseekable(io.RawIOBase):
            def writable(self):
                return True

            def write(self, data):
                parts.append(bytes(data))
                return len(data)

        parts = []
        cudaenc.mp4.write_mp4(Unseekable(), frames, frame_rate=8, fragment=1)
        self.assertEqual(b"".join(parts), file.getvalue())
        parts.clear()
        cudaenc.mp4.write_mp4(Unseekable(), frames, frame_rate=8)
        self.assertEqual(len(self.read(b"".join(parts))), 12)

    def test_timestamps(self):
        frames = self.frames(4)
        with cudaenc.mp4.Writer(frame_rate=10, bit_rate=100_000) as writer:
            writer.add(frames[0])
            writer.add(frames[1:3], pts=[0.5, fractions.Fraction(2, 3)])
            writer.add(frames[3])
            with self.assertRaisesRegex(cudaenc.InvalidError, "pts 0.5 is not allowed: the frame before has 0.766"):
                writer.add(frames[3], pts=0.5)
            with self.assertRaisesRegex(cudaenc.InvalidError, "2 pts are not allowed with 1 frames"):
                writer.add(frames[3], pts=[2, 3])
        times = [frame.time for frame in self.read(writer.data)]
        for time, expected in zip(times, [0, 0.5, 0.666667, 0.766667, 2]):
            self.assertAlmostEqual(time, expected, 4)

    def test_rotation(self):
        for rotation in 90, 180, 270:
            with cudaenc.mp4.Writer(rotation=rotation) as writer:
                writer.add(self.frames(1))
            self.assertEqual(self.read(writer.data)[0].rotation % 360, -rotation % 360)

    def test_light(self):
        display, light = cudaenc.MasteringDisplay(max_luminance=4000), cudaenc.ContentLight(1000, 400)
        planes = [picture(32, 32, bits=10), picture(16, 16, bits=10), picture(16, 16, bits=10)]
        with cudaenc.mp4.Writer(format="yuv420p10", matrix="bt2020", color_transfer="smpte2084", mastering_display=display,
                                content_light=light) as writer:
            writer.add(planes)
        kinds = {str(data.type) for data in self.read(writer.data)[0].side_data}
        self.assertTrue(any("MASTERING_DISPLAY" in kind for kind in kinds) and any("CONTENT_LIGHT" in kind for kind in kinds), kinds)
        for text, options in ("mastering_display", {"mastering_display": (1, 2)}), ("content_light", {"content_light": (1, -2)}):
            with self.assertRaisesRegex(cudaenc.InvalidError, f"{text} .* is not allowed"):
                cudaenc.encode(planes, "h264", format="yuv420p10", **options)
        with self.assertRaisesRegex(cudaenc.InvalidError, "content_light is not allowed with j2k"):
            cudaenc.encode(picture(8, 8), content_light=light)

    def test_live_rates(self):
        still = self.frames(1)[0]
        with cudaenc.mp4.Writer(crf=20, gop_size=100, in_flight=1) as writer:
            writer.crf = 45
            writer.add(still)
            self.assertEqual((writer.crf, writer.qp), (45, 45))
            writer.add([still] * 3, keys=[1])
            writer.crf = 10
            writer.add(still, keys=[0])
            for name, value in ("bit_rate", 1000), ("crf", 99), ("crf", "best"):
                with self.assertRaises(cudaenc.InvalidError):
                    setattr(writer, name, value)
            with self.assertRaises(AttributeError):
                writer.bitrate = 1000
        with av.open(io.BytesIO(writer.data)) as film:
            packets = [packet for packet in film.demux(video=0) if packet.size]
        self.assertEqual([packet.is_keyframe for packet in packets], [True, False, True, False, True])
        self.assertGreater(packets[4].size, 2 * packets[0].size)

    def aac(self, codec="aac", seconds=2):
        file = io.BytesIO()
        with av.open(file, "w", format="mp4") as sound:
            stream = sound.add_stream(codec, rate=48000)
            stream.layout = "mono"
            for first in range(0, 48000 * seconds, 960):
                tone = numpy.sin(numpy.arange(first, first + 960) / 20).astype(numpy.float32)[None]
                frame = av.AudioFrame.from_ndarray(tone if codec == "aac" else (tone * 9999).astype(numpy.int16), "fltp" if codec == "aac" else "s16",
                                                   "mono")
                frame.sample_rate, frame.pts = 48000, first
                sound.mux(stream.encode(frame))
            sound.mux(stream.encode(None))
        return file.getvalue()

    def test_audio(self):
        for codec, options in ("aac", {}), ("libopus", {}), ("aac", {"fragment": 0.5}):
            sound = self.aac(codec)
            with av.open(io.BytesIO(sound)) as film:
                stream = film.streams.audio[0]
                packets = [packet for packet in film.demux(stream) if packet.size]
                expected = [bytes(packet) for packet in packets if packet.pts * packet.time_base < 1]
                file = io.BytesIO()
                cudaenc.mp4.write_mp4(file, self.frames(25), audio=io.BytesIO(sound), **options)
                with cudaenc.mp4.Writer(audio=stream, **options) as writer:
                    for n in range(25):
                        writer.add(self.frames(1))
                        due = [packet for packet in packets if packet.pts * packet.time_base * 25 < n + 1]
                        writer.add_audio(due)
                        packets = packets[len(due):]
                data = writer.data if not options else b""
            for result in filter(None, (file.getvalue(), data)):
                with av.open(io.BytesIO(result)) as film:
                    got = [bytes(packet) for packet in film.demux(audio=0) if packet.size]
                self.assertEqual(got, expected, codec)
                self.assertEqual(len(self.read(result)), 25)
        with self.assertRaisesRegex(cudaenc.InvalidError, "no audio track"):
            file.seek(0)
            cudaenc.mp4.write_mp4(io.BytesIO(), self.frames(1), audio=io.BytesIO(data_without_audio(self.frames(1))))

    def test_threads(self):
        with cudaenc.mp4.Writer(gop_size=1) as writer:
            threads = [threading.Thread(target=lambda: [writer.add(frame) for frame in self.frames(5)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual((writer.frames, len(self.read(writer.data))), (20, 20))

    def test_asynchronous(self):
        frames = self.frames(9)

        async def live():
            for frame in frames:
                await asyncio.sleep(0)
                yield frame

        async def chunks(frames):
            return [chunk async for chunk in cudaenc.mp4.stream(frames, frame_rate=3)]

        async def packets(frames):
            with cudaenc.Encoder(frames_of_planes[0], "h264", format="yuv420p") as encoder:
                return [packet async for packet in encoder.encode(frames)]

        async def live_planes():
            for planes in frames_of_planes:
                yield planes

        async def failing():
            yield frames[0]
            raise KeyError("camera")

        frames_of_planes = [cudaenc.mp4.yuv420p(frame) for frame in frames]
        expected = b"".join(cudaenc.mp4.stream(frames, frame_rate=3))
        self.assertEqual(b"".join(asyncio.run(chunks(live()))), expected)
        self.assertEqual(b"".join(asyncio.run(chunks(frames))), expected)
        expected = list(cudaenc.encode_batch(frames_of_planes, "h264", format="yuv420p"))
        self.assertEqual(asyncio.run(packets(live_planes())), expected)
        self.assertEqual(asyncio.run(packets(frames_of_planes)), expected)
        with self.assertRaises(KeyError):
            asyncio.run(chunks(failing()))

    def test_nothing_half(self):
        frames = self.frames(2)

        class Full(io.BytesIO):
            def write(self, data):
                raise OSError("disk full")

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch("tempfile.tempdir", folder):
            for target in os.path.join(folder, "out.mp4"), None, io.BytesIO():
                with self.assertRaises(KeyError), cudaenc.mp4.Writer(target) as writer:
                    writer.add(frames)
                    raise KeyError
                with self.assertRaises(cudaenc.InvalidError):
                    writer.add(frames)
            self.assertEqual(target.getvalue(), b"")
            for options in {}, {"fragment": "gop"}:
                with self.assertRaisesRegex(OSError, "disk full"):
                    cudaenc.mp4.write_mp4(Full(), frames, **options)
            with self.assertRaises(OSError):
                cudaenc.mp4.write_mp4(os.path.join(folder, "no", "out.mp4"), frames)
            writer = cudaenc.mp4.Writer(os.path.join(folder, "out.mp4"), in_flight=1)
            writer.add(frames)
            del writer
            self.assertEqual(os.listdir(folder), [])


def data_without_audio(frames):
    file = io.BytesIO()
    cudaenc.mp4.write_mp4(file, frames)
    return file.getvalue()


class Layouts(unittest.TestCase):
    """Frames of any layout and type give what those of (height, width, 3) and uint8 give."""

    def setUp(self):
        self.frames = numpy.stack([picture(34, 46, 3) for _ in range(5)])
        self.expected = self.planes(self.frames)

    def planes(self, frames, **how):
        return [planes for planes, _ in _frames.pictures(frames, "yuv420p", _frames.Conversion(**how))]

    def check(self, frames, expected=None, **how):
        planes = self.planes(frames, **how)
        expected = self.expected if expected is None else expected
        self.assertEqual(len(planes), len(expected))
        for one, other in zip(planes, expected):
            for plane, wanted in zip(one, other):
                self.assertTrue(numpy.array_equal(numpy.asarray(plane), wanted), how)

    def test_layouts(self):
        axes = {"nhwc": (0, 1, 2, 3), "nchw": (0, 3, 1, 2), "cthw": (3, 0, 1, 2), "hwcn": (1, 2, 3, 0)}
        for layout, order in axes.items():
            self.check(self.frames.transpose(order), layout=layout)
            self.check(numpy.ascontiguousarray(self.frames.transpose(order)), layout=layout)
            if layout != "hwcn":
                self.check(self.frames.transpose(order))
        self.check([frame.transpose(2, 0, 1) for frame in self.frames])
        self.check([frame.transpose(2, 0, 1) for frame in self.frames], layout="nchw")
        self.check(self.frames[::-1, :, ::-1], self.planes(numpy.ascontiguousarray(self.frames[::-1, :, ::-1])))
        with self.assertRaisesRegex(cudaenc.InvalidError, "need layout='nchw' or 'cthw'"):
            self.planes(numpy.zeros((3, 3, 32, 32), numpy.uint8))

    def test_types(self):
        for kind in numpy.float16, numpy.float32, numpy.float64, numpy.dtype("float32").newbyteorder():
            self.check((self.frames / 255).astype(kind))
        for value in float("nan"), float("inf"), -0.1, 1.01:
            with self.assertRaisesRegex(cudaenc.InvalidError, f"sample {value:g} is not allowed"):
                self.planes(numpy.full((8, 8, 3), value))
        for kind in numpy.uint16, numpy.int8, bool:
            with self.assertRaisesRegex(cudaenc.InvalidError, "are not allowed: they are of uint8"):
                self.planes(self.frames.astype(kind))

    def test_alpha_gray_and_odd_sizes(self):
        alpha = numpy.concatenate([self.frames, self.frames[..., :1]], -1)
        self.check(alpha)
        self.check(alpha.transpose(0, 3, 1, 2))
        gray = numpy.repeat(self.frames[..., :1], 3, -1)
        self.check(self.frames[..., :1], self.planes(gray))
        self.check(self.frames[..., 0], self.planes(gray), layout="nhw")
        self.check([frame for frame in self.frames[..., :1]], self.planes(gray))
        odd, even = self.frames[:, :33, :45], self.frames[:, :34, :46].copy()
        even[:, 33], even[:, :, 45] = even[:, 32], even[:, :, 44]
        self.check(odd, self.planes(even))
        file = io.BytesIO()
        self.assertEqual(cudaenc.mp4.write_mp4(file, odd), 5)
        with av.open(io.BytesIO(file.getvalue())) as film:
            self.assertEqual((film.streams.video[0].width, film.streams.video[0].height), (46, 34))

    def test_dlpack(self):
        self.check(HostOnly(self.frames))
        with self.assertRaisesRegex(ImportError, "needs PyAV"), unittest.mock.patch("cudaenc.mp4.av", None):
            cudaenc.mp4.Writer()
        with self.assertRaisesRegex(cudaenc.InvalidError, "need PyTorch or CuPy"), unittest.mock.patch.dict("sys.modules", torch=None):
            self.planes(InCudaByDlpack(self.frames))

    @unittest.skipUnless(torch, "no PyTorch")
    def test_tensors(self):
        tensor = torch.from_numpy(self.frames)
        self.check(tensor)
        self.check(tensor.permute(3, 0, 1, 2))
        self.check(tensor[..., :1].repeat(1, 1, 1, 3).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last),
                   self.planes(numpy.repeat(self.frames[..., :1], 3, -1)))
        for kind in torch.float16, torch.float32:
            self.check((tensor / 255).to(kind))
        self.check((tensor // 255 * 1.).to(torch.bfloat16), self.planes(self.frames // 255 * 255))
        self.check(tensor[:, :33, :45], self.planes(self.frames[:, :33, :45]))
        with self.assertRaisesRegex(cudaenc.InvalidError, "sample 2 "):
            self.planes(torch.full((8, 8, 3), 2.))
        self.check((tensor / 255).requires_grad_())
        file = io.BytesIO()
        self.assertEqual(cudaenc.mp4.write_mp4(file, tensor), 5)
