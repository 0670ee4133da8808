# SPDX-License-Identifier: LGPL-2.1-or-later
"""Serves video with sound while it is made: fragmented MP4 over HTTP, to as many viewers as come.

    pip install cudaenc[video]
    python video_service.py [PORT [DEVICE]]      then a browser plays http://localhost:8000/
"""
import http.server
import io
import sys

import av
import cudaenc.mp4
import numpy

RATE, SECONDS, HEIGHT, WIDTH = 24, 4, 180, 320
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "auto"


def frames():
    """What a model or a renderer would make: R, G, B of uint8. Tensors on a GPU stay there."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    for number in range(RATE * SECONDS):
        yield numpy.stack([x + 3 * number, y + 2 * number, x + y - number], -1).astype(numpy.uint8)


def sound():
    """A tone of AAC, in a file in memory."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=48000, layout="mono")
        for first in range(0, 48000 * SECONDS, 1024):
            tone = numpy.sin(numpy.arange(first, first + 1024) / 20).astype(numpy.float32)[None]
            frame = av.AudioFrame.from_ndarray(tone, "fltp", "mono")
            frame.sample_rate, frame.pts = 48000, first
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return io.BytesIO(file.getvalue())


class Viewer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "video/mp4")
        self.end_headers()
        for chunk in cudaenc.mp4.stream(frames(), frame_rate=RATE, crf=24, fragment=0.5, audio=sound(), device=DEVICE):
            self.wfile.write(chunk)  # each half second, as soon as it is encoded


with http.server.ThreadingHTTPServer(("localhost", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Viewer) as server:
    print(f"http://localhost:{server.server_port}/", flush=True)
    server.serve_forever()
