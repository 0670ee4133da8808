#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Whole jobs of examples, by the wheel in a fresh virtual environment: a video service with sound, an archive that is verified, a
# DICOM round trip, a program in C, segments for HLS. What they make is read by others.
# Usage: examples.sh BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${1:?usage: examples.sh BUILD}
work=$build/check/examples
rm -rf "$work"
mkdir -p "$work"
. fate_tests/tally.sh
python=$work/venv/bin/python
python3 -m venv --without-pip "$work/venv" # a pip of its own takes 4 s
build/venv/bin/pip --python "$work/venv/bin/python" --quiet --disable-pip-version-check install "$(echo build/python/*.whl)[video,dicom]" pillow pylibjpeg pylibjpeg-openjpeg
cp examples/*.py examples/decode_batch.c "$work/"
cd "$work" # where no source of the package is

"$python" - <<'PYTHON' # what the jobs begin with
import av, numpy, pydicom, pathlib
from PIL import Image
y, x = numpy.mgrid[:180, :320]
ramp = numpy.stack([x, y, x + y], -1).astype(numpy.uint8)
for folder in "pictures", "photographs":
    pathlib.Path(folder).mkdir()
Image.fromarray(ramp).save("pictures/colour.png")
Image.fromarray(ramp[..., 0]).save("pictures/gray.tif")
Image.fromarray((200 * x + y).astype(numpy.uint16)).save("pictures/deep.png")
for number in range(5):
    Image.fromarray(numpy.roll(ramp, 9 * number, 1)).save(f"photographs/{number}.jpg", quality=90)
with av.open("clip.mov", "w") as film:
    video, sound = film.add_stream("libx264", rate=24), film.add_stream("aac", rate=48000, layout="mono")
    video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
    for number in range(60):
        film.mux(video.encode(av.VideoFrame.from_ndarray(numpy.roll(ramp, number, 1), format="rgb24")))
    for first in range(0, 120000, 1024):
        frame = av.AudioFrame.from_ndarray(numpy.sin(numpy.arange(first, first + 1024) / 20).astype(numpy.float32)[None], "fltp", "mono")
        frame.sample_rate, frame.pts = 48000, first
        film.mux(sound.encode(frame))
    film.mux(video.encode(None)), film.mux(sound.encode(None))
scan = pydicom.Dataset()
scan.file_meta = pydicom.dataset.FileMetaDataset()
scan.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
scan.SOPClassUID, scan.SOPInstanceUID = pydicom.uid.CTImageStorage, pydicom.uid.generate_uid()
scan.Rows, scan.Columns, scan.NumberOfFrames, scan.SamplesPerPixel, scan.PhotometricInterpretation = 180, 320, 3, 1, "MONOCHROME2"
scan.BitsAllocated, scan.BitsStored, scan.HighBit, scan.PixelRepresentation = 16, 12, 11, 1
scan.PixelData = numpy.stack([7 * x - 9 * y + n for n in range(3)]).clip(-2048, 2047).astype("<i2").tobytes()
scan.save_as("scan.dcm", enforce_file_format=True)
PYTHON

# ---- a video service
tracks() { # FILE_OR_URL VIDEO_FRAMES: and sound
    "$python" - "$@" <<'PYTHON'
import av, sys
with av.open(sys.argv[1]) as film:
    frames, sound = sum(1 for _ in film.decode(video=0)), bool(film.streams.audio)
with av.open(sys.argv[1]) as film:
    samples = sum(frame.samples for frame in film.decode(audio=0))
print(frames, sound, samples)
assert frames == int(sys.argv[2]) and samples / 48000 >= 0.9 * frames / 24
PYTHON
}
"$python" video_service.py 0 cpu >url 2>server.log &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in {1..100}; do [ -s url ] || sleep 0.1; done
fetched() { "$python" -c 'import sys, urllib.request; open("live.mp4", "wb").write(urllib.request.urlopen(sys.argv[1]).read())' "$(cat url)"; }
check "it is fetched" fetched
check "4 s with sound" tracks live.mp4 96
check "a fragment each half second" [ "$(grep -ac moof live.mp4)" -ge 1 -a "$(grep -ao moof live.mp4 | wc -l)" -ge 8 ]
kill $server
wait $server 2>/dev/null || true

# ---- an archive
check "pictures are kept" "$python" archive.py keep pictures archive cpu
check "they are verified" "$python" archive.py verify archive cpu
check "by sha256sum, too" bash -c 'cd archive && sha256sum --check --quiet manifest-sha256.txt'
check "OpenJPEG has their samples" "$python" -c '
import numpy, pathlib, openjpeg
from PIL import Image
for path in pathlib.Path("pictures").iterdir():
    assert numpy.array_equal(openjpeg.decode(f"archive/{path.name}.jph"), Image.open(path)), path'
printf '\xff' | dd of=archive/colour.png.jph bs=1 seek=900 conv=notrunc status=none
check "a byte that rots is found" bash -c "! '$python' archive.py verify archive cpu >rot && grep '^colour.png.jph: ' rot | grep -v whole"

# ---- DICOM
check "a scan is compressed" "$python" dicom.py scan.dcm small.dcm
check "pylibjpeg has its samples" "$python" -c '
import numpy, pydicom
small, scan = pydicom.dcmread("small.dcm"), pydicom.dcmread("scan.dcm")
small.pixel_array_options(decoding_plugin="pylibjpeg")
assert numpy.array_equal(small.pixel_array, scan.pixel_array) and len(small.PixelData) < len(scan.PixelData) / 4'

# ---- a program in C, on the library in the wheel
builds() {
    local library
    library=$("$python" -c 'import cudaenc; print(cudaenc.get_library())') || return 1
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1 decode_batch.c -o decode_batch -I"$("$python" -c 'import cudaenc; print(cudaenc.get_include())')" \
        "$library" -Wl,-rpath,"$(dirname "$library")"
}
check "decode_batch.c" builds
check "it decodes" ./decode_batch sheet.ppm cpu photographs/*.jpg
check "the samples of libjpeg" "$python" -c '
import glob, numpy
from PIL import Image
assert numpy.array_equal(Image.open("sheet.ppm"), numpy.concatenate([Image.open(name) for name in sorted(glob.glob("photographs/*.jpg"))]))'
check "it names a file that is none" bash -c '! ./decode_batch none.ppm cpu photographs/0.jpg clip.mov 2>log.none && grep "^picture 1: " log.none'

# ---- segments for HLS
check "a clip is packaged" "$python" hls.py clip.mov hls cpu
check "2.5 s, with sound" tracks hls/index.m3u8 60
check "two segments" [ "$(ls hls/*.m4s | wc -l) $(grep -c EXTINF hls/index.m3u8)" = "2 2" ]

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
