#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Real pictures (*.png, *.mkv of MEDIA_DIR) through j2k_cuda: lossless and three qualities, decoded by FFmpeg, OpenJPEG and Grok.
# Usage: media.sh FFMPEG_BUILD MEDIA_DIR [DEVICE]; MEDIA_FRAMES (2) frames of a clip. Ends in a line "N passed, N failed".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${2:?usage: media.sh FFMPEG_BUILD MEDIA_DIR [DEVICE]}"
jpylyzer=$here/../../build/venv/bin/jpylyzer
[ -x "$jpylyzer" ] || jpylyzer=jpylyzer
exec python3 "$here/media.py" "$1" "$2" "${3:-cpu}" "$jpylyzer"
