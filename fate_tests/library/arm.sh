#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages for aarch64, by the distribution's cross compiler, under qemu: random streams, the example, what Python and what
# FFmpeg encode have the bytes that they have on this machine.
# Usage: arm.sh BUILD FFMPEG [COUNT] [SEED]    FFMPEG: the folder of this machine's. Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=$PWD/${1:?usage: arm.sh BUILD FFMPEG [COUNT] [SEED]}
ffmpeg=$PWD/${2:?usage: arm.sh BUILD FFMPEG [COUNT] [SEED]}/ffmpeg
count=${3:-90} seed=${4:-1}
arm=$build/aarch64
work=$build/check/arm
rm -rf "$work"
mkdir -p "$work/out" "$work/out.host"
export LC_ALL=C LD_LIBRARY_PATH=$build/shared
. fate_tests/tally.sh

# ---- the library, out of its packages
version=$(sed -n 's/^Version: //p' "$build/lib/pkgconfig/libcudaenc.pc")
packages=("$arm"/deb/{libcudaenc0,libcudaenc-dev,ffmpeg-cudaenc}_"$version-1_arm64.deb")
unpacked() { for package in "${packages[@]}"; do dpkg-deb -x "$package" "$work/installed" || return 1; done; }
check "packages" unpacked
check "they are of arm64" [ "$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Architecture; done | xargs)" = "arm64 arm64 arm64" ]
check "they name what they need" grep -qE '^libc6 \(>= [0-9.]+\), libgcc-s1 \(>= [0-9.]+\), libstdc\+\+6 \(>= [0-9]+\)$' <(dpkg-deb -f "${packages[0]}" Depends)
libraries=$work/installed/usr/lib/aarch64-linux-gnu
check "an aarch64 library" grep -q 'Machine: *AArch64' <(readelf -h "$libraries/libcudaenc.so.0")
builds() { # SOURCE NAME
    aarch64-linux-gnu-gcc -std=gnu11 -Wall -Wextra -O1 -I"$work/installed/usr/include" "$1" -o "$work/$2.arm" -L"$libraries" -lcudaenc -lpthread &&
        cc -std=gnu11 -Wall -Wextra -O1 -Icommon "$1" -o "$work/$2" -L"$build/shared" -lcudaenc -lpthread
}
# The loader is the cross compiler's. It waits for ever with a C library of another build, such as libc6:arm64's in /lib.
emulated() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$libraries:/usr/aarch64-linux-gnu/lib" "$@"; }
check "streams.c" builds fate_tests/library/streams.c streams
check "encode_planes.c" builds examples/encode_planes.c encode_planes
exports() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
check "what is exported is what this machine's library exports" diff <(exports "$libraries/libcudaenc.so") <(exports "$build/shared/libcudaenc.so")
cd "$work"
./streams "$count" "$seed" >host.txt
runs() { emulated ./streams.arm "$count" "$seed" >arm.txt; }
check "streams run" runs
check "most are encoded" [ "$(grep -c ': 0, [1-9][0-9]* bytes' host.txt)" -ge $((count * 3 / 4)) ]
while read -r line; do
    check "stream ${line%%:*}" grep -qxF "$line" arm.txt
done <host.txt
head -c 45000 "$root/common/cudaenc.h" >in.yuv # of any bytes
check "encode_planes runs under qemu" emulated ./encode_planes.arm in.yuv yuvj420p 100 50 out/ cpu
check "encode_planes runs" ./encode_planes in.yuv yuvj420p 100 50 out.host/ cpu
check "the same packets" diff -r out out.host
check "all packets" [ "$(find out -type f | wc -l)" -ge 6 ]

# ---- FFmpeg, out of its package
check "FFmpeg needs the C library alone" grep -qE '^libc6 \(>= [0-9.]+\)$' <(dpkg-deb -f "${packages[2]}" Depends)
emulated_ffmpeg() { emulated "$work/installed/usr/bin/ffmpeg-cudaenc" "$@"; }
emulated_ffmpeg -hide_banner -encoders >encoders 2>log.encoders
encodes() { # FFMPEG... OUTPUT
    "${@:1:$#-1}" -v error -nostdin -y -f rawvideo -pixel_format yuvj420p -video_size 100x50 -i in.yuv -c:v "$encoder" -device cpu -f rawvideo "${@: -1}"
}
has_png() { [ ! -f "$(aarch64-linux-gnu-gcc -print-file-name=libz.a)" ] || grep -q " png " encoders; }
check "PNG, where zlib is" has_png
for encoder in j2k_cuda mjpeg_cuda h264_cavlc_cuda; do
    check "$encoder" grep -q " $encoder " encoders
    check "$encoder runs under qemu" encodes emulated_ffmpeg "$encoder.arm"
    check "$encoder runs" encodes "$ffmpeg" "$encoder.host"
    check "$encoder: something is encoded" [ -s "$encoder.host" ]
    check "$encoder: the same bytes" cmp "$encoder.arm" "$encoder.host"
done

# ---- the wheel, in the distribution's Python for arm64, with PyPI's packages for it
python3 -m venv "$work/venv"
wheel=$(echo "$arm"/python/*.whl)
check "the wheel's name" [ "$(basename "$wheel")" = "cudaenc-$version-py3-none-manylinux_2_28_aarch64.whl" ]
glibc() { nm -D --with-symbol-versions "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1; }
"$work/venv/bin/python" -m zipfile -e "$wheel" "$work/wheel"
check "glibc 2.28 is enough" sort -VC <(glibc "$work/wheel/cudaenc/libcudaenc.so.0" && echo 2.28)
apt() { # COMMAND...: as if nothing were installed
    local data=$work/apt
    mkdir -p "$data/state/lists/partial" "$data/cache/archives/partial"
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Dir::State="$data/state" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$data/cache" -o Debug::NoLocking=1 "$@"
}
interpreter() {
    apt update && apt install -y --no-install-recommends --download-only python3 libstdc++6 || return 1
    for package in "$work"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/python" || return 1; done
    [ -e "$work/python/lib" ] || ln -s usr/lib "$work/python/lib" # where usr is merged, another package has it
}
check "Python for arm64" interpreter
emulated_python() { qemu-aarch64 -L "$work/python" -E PYTHONPATH="$work/site" "$(readlink -f "$work/python/usr/bin/python3")" "$@"; }
"$work/venv/bin/pip" --quiet --disable-pip-version-check install "$(echo "$build"/python/*.whl)[video]"
minor=$(emulated_python -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")')
# shellcheck disable=SC2046 # words
installed() { # which wants the tags that pip knows
    "$work/venv/bin/pip" --disable-pip-version-check install --target "$work/site" --only-binary=:all: --implementation cp --abi "cp${minor/./}" --abi abi3 --abi none \
        --python-version "$minor" $(printf -- ' --platform manylinux_2_%s_aarch64' {28..17}) --platform manylinux2014_aarch64 "${wheel}[video]"
}
check "pip takes the wheel" installed
cat >encode.py <<'PYTHON'
import hashlib, io
import cudaenc, cudaenc.mp4, numpy

rng = numpy.random.default_rng(1)
y, x = numpy.mgrid[:66, :101]
picture = (numpy.stack([x, y, x + y], -1) + rng.integers(0, 9, (66, 101, 3))).astype(numpy.uint8)
frames = numpy.stack([numpy.roll(picture, 2 * n, 1) for n in range(7)])
film = io.BytesIO()
cudaenc.mp4.write_mp4(film, frames, frame_rate=24, crf=24, gop_size=4, threads=2)
made = {"lossless": cudaenc.encode(picture), "deep": cudaenc.encode(picture.astype(numpy.uint16) * 16, depth=12, quality=80),
        "ht": cudaenc.encode(picture, cblk_style="ht", quality=90), "jpeg": cudaenc.encode(picture, "mjpeg", quality=85),
        "mp4": film.getvalue(), "fragments": b"".join(cudaenc.mp4.stream(frames.astype(numpy.float16) / 255, frame_rate=24, fragment="gop"))}
for name in "lossless", "deep", "ht", "jpeg":
    made[name + " decoded"] = b"".join(plane.tobytes() for plane in cudaenc.decode(made[name]).planes)
assert made["lossless decoded"] == b"".join(picture[..., i].tobytes() for i in range(3))
for name, data in made.items():
    print(name, len(data), hashlib.sha256(data).hexdigest())
PYTHON
"$work/venv/bin/python" encode.py >python.host 2>log.python
encodes() { emulated_python encode.py >python.arm; }
check "Python encodes under qemu" encodes
while read -r line; do
    check "Python: ${line%% *}" grep -qxF "$line" python.arm
done <python.host
check "all" [ "$(wc -l <python.host)" = 10 ]

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
