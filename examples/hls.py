# SPDX-License-Identifier: LGPL-2.1-or-later
"""Packages a clip for HLS: a playlist, a header and segments of fragmented MP4, which browsers and players take.

    pip install cudaenc[video]
    python hls.py IN.mov FOLDER [DEVICE]      then FOLDER/index.m3u8 is served by any web server
"""
import pathlib
import sys

import av
import cudaenc.mp4

SECONDS = 2  # of a segment

source, folder, device = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] or ["auto"])[0]
folder.mkdir(parents=True, exist_ok=True)
count = 0  # frames


def pictures(film):
    global count
    for frame in film.decode(video=0):
        count += 1
        yield frame.to_ndarray(format="rgb24")


names = []
with av.open(source) as film:
    rate = film.streams.video[0].average_rate
    gop = round(SECONDS * rate)  # a segment begins with a key frame
    sound = source if film.streams.audio else None
    for number, chunk in enumerate(cudaenc.mp4.stream(pictures(film), frame_rate=rate, crf=22, gop_size=gop, audio=sound, device=device)):
        names.append(f"{number:05}.m4s" if number else "header.mp4")
        (folder / names[-1]).write_bytes(chunk)

playlist = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{SECONDS + 1}", '#EXT-X-MAP:URI="header.mp4"']
for number, name in enumerate(names[1:]):
    playlist += [f"#EXTINF:{float(min(gop, count - number * gop) / rate):.6f},", name]
(folder / "index.m3u8").write_text("\n".join([*playlist, "#EXT-X-ENDLIST", ""]))
print(f"{count} frames in {len(names) - 1} segments")
