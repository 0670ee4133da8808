#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `make install SHARED=minimal`: FFmpeg's shared libraries with the codecs on libcudaenc.so, found by pkg-config and used by a
# program and by PyAV, which pip builds. Usage: shared.sh    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/build/check/shared
rm -rf "$work"
mkdir -p "$work"
. fate_tests/tally.sh
export PKG_CONFIG_PATH=$work/installed/lib/pkgconfig LD_LIBRARY_PATH=$work/installed/lib LC_ALL=C
installs() { "${MAKE:-make}" --no-print-directory "$1" SHARED=minimal PREFIX="$work/installed"; }
check "make install SHARED=minimal" installs install
check "libraries and their .pc files" ls "$work"/installed/lib/lib{avcodec,avformat,avutil,cudaenc}.so "$PKG_CONFIG_PATH"/lib{avcodec,avformat,avutil,cudaenc}.pc
check "libavcodec is on the soname" grep -q 'NEEDED.*libcudaenc\.so\.0' <(readelf -d "$work/installed/lib/libavcodec.so")
# shellcheck disable=SC2046 # flags are many words
builds() { cc -std=c11 -Wall -Wextra -O1 examples/encode_hwframes.c -o "$work/encode_hwframes" $(pkg-config --cflags --libs libavcodec libavutil); }
check "encode_hwframes by pkg-config" builds
for codec in j2k_cuda mjpeg_cuda h264_cavlc_cuda; do
    frames() { "$work/encode_hwframes" $codec cpu "$work/$codec" | grep -c '^pts' | grep -qx 25; }
    check "encode_hwframes, $codec" frames
done
check "the installed ffmpeg has the encoder" grep -q 'Encoder j2k_cuda' <("$work/installed/bin/ffmpeg" -hide_banner -h encoder=j2k_cuda)
# A version of PyAV for FFmpeg 7, compiled without optimisation.
pyav() { python3 -m venv "$work/venv" && CFLAGS='-O0 -g0' "$work/venv/bin/pip" --quiet install --no-cache-dir --no-binary av 'av==14.4.0' numpy; }
check "PyAV is built on them" pyav
check "PyAV's packets and frames" "$work/venv/bin/python" fate_tests/library/pyav.py "$work/installed/bin/ffmpeg"
check "make uninstall SHARED=minimal" installs uninstall
check "nothing is left" [ -z "$(find "$work/installed" \( -name '*.so*' -o -name '*.h' -o -name '*.pc' -o -path '*/bin/*' \))" ]
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
