#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Options at random, each stream read by two decoders: builds matrix.cpp with an FFmpeg build's own libraries, and runs matrix.py.
# Usage: matrix.sh FFMPEG_BUILD [COUNT [SEED [ht]] | - | misread]
#   ht: all with the HT block coder
#   -: lines that a run printed, from standard input; misread: what decoders are known to get wrong (misread.py)
# Ends in a line "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: matrix.sh FFMPEG_BUILD [COUNT [SEED [ht]] | - | misread]}" && pwd)
shift
cd "$build"
value() { sed -n "s/^$1=//p" ffbuild/config.mak; }
mkdir -p tests/data
# shellcheck disable=SC2046 # flags are many words
$(value CXX) -std=c++20 -O2 -Wall -Wextra -I. -I"$(value SRC_PATH)" $(pkg-config --cflags libopenjp2) "$here/matrix.cpp" \
    -o tests/data/matrix $(value LDFLAGS) -Llibavcodec -Llibswresample -Llibavutil -lavcodec -lswresample -lavutil \
    $(value EXTRALIBS-avcodec) $(value EXTRALIBS-swresample) $(value EXTRALIBS-avutil) $(pkg-config --libs libopenjp2)
[ "${1-}" != misread ] || exec python3 "$here/misread.py" "$build"
exec python3 "$here/matrix.py" "$build" "$@"
