#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The streams of FATE's tests of profiles follow their rules, and streams that break one are told apart: profiles.py.
# Usage: profiles.sh FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: profiles.sh FFMPEG_BUILD [DEVICE]}" && pwd)
make --no-print-directory -s -C "$build" j2k_cuda-streams CUDAENC_FATE_DEVICE="${2:-cpu}" | python3 "$here/profiles.py" "$build"
