#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Other decoders read every stream of FATE's tests of j2k_cuda: FFmpeg's own, OpenJPEG and Grok. Lossless ones must give the
# source, lossy ones be within 1 code value of each other, also where they decode some of the quality layers only; jpylyzer
# and opj_dump must find the headers valid.
# Usage: run.sh FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: run.sh FFMPEG_BUILD [DEVICE]}" && pwd)
device=${2:-cpu}

jpylyzer=$here/../../build/venv/bin/jpylyzer
[ -x "$jpylyzer" ] || jpylyzer=jpylyzer
command -v grk_decompress >/dev/null || echo "skipped: Grok, which this distribution does not have"
for tool in opj_decompress opj_dump "$jpylyzer"; do
    command -v "$tool" >/dev/null || { echo "interop: $tool is missing"; exit 1; }
done

make --no-print-directory -s -C "$build" j2k_cuda-streams CUDAENC_FATE_DEVICE="$device" | python3 "$here/streams.py" "$build" "$jpylyzer"
