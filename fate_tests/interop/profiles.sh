#!/bin/sh
# The streams of FATE's tests of profiles follow their rules, and streams that break one are told apart: profiles.py.
# Usage: profiles.sh FFMPEG_BUILD [DEVICE]. Ends in a line "N passed, N failed". SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: profiles.sh FFMPEG_BUILD [DEVICE]}" && pwd)
tests=$(make --no-print-directory -s -C "$build" fate-list | grep fate-j2k_cuda-profile)
# shellcheck disable=SC2086 # words
make --no-print-directory -k -C "$build" $tests KEEP=1 CUDAENC_FATE_DEVICE="${2:-cpu}" >"$build/profiles.log" 2>&1 || true
make --no-print-directory -s -C "$build" j2k_cuda-streams | python3 "$here/profiles.py" "$build"
