#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The encoders through libavcodec's API: makes api.c with an FFmpeg build's own libraries and runs it.
# Usage: api.sh FFMPEG_BUILD [DEVICE]; VALGRIND=1 runs it under valgrind. Ends in a line "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: api.sh FFMPEG_BUILD [DEVICE]}"
value() { sed -n "s/^$1=//p" ffbuild/config.mak; }

mkdir -p tests/data
# shellcheck disable=SC2046 # flags are many words
$(value CC) -O1 -g -I. -I"$(value SRC_PATH)" "$here/api.c" -o tests/data/api $(value LDFLAGS) -Llibavcodec -Llibswresample -Llibavutil \
    -lavcodec -lswresample -lavutil $(value EXTRALIBS-avcodec) $(value EXTRALIBS-swresample) $(value EXTRALIBS-avutil)
checker=
[ -z "${VALGRIND-}" ] || checker="valgrind --quiet --error-exitcode=99 --leak-check=full"
exec $checker tests/data/api "${2:-cpu}"
