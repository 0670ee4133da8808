#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The clips that chain.sh decodes: a photograph that glides past, H.264 and HEVC, 3840x2160 and 1920x1080, 4:2:0 of 8 bits.
# Usage: clips.sh FFMPEG_WITH_X264_AND_X265 PHOTOGRAPH FOLDER
set -euo pipefail
ffmpeg=$1 photograph=$2 folder=$3
mkdir -p "$folder"
clip() { # NAME SIZE CODEC OPTIONS...
    local name=$1 size=$2 codec=$3
    shift 3
    "$ffmpeg" -v error -nostdin -y -loop 1 -framerate 25 -i "$photograph" -frames:v 96 \
        -vf "scale=$size:flags=area,scroll=h=0.0013:v=0.0007,format=yuv420p" -c:v "$codec" "$@" -g 24 -bf 2 -an "$folder/$name.mp4"
}
clip hd-h264 1920x1080 libx264 -preset veryfast -crf 24 -refs 2
clip hd-hevc 1920x1080 libx265 -preset ultrafast -crf 26 -x265-params log-level=error:ref=2
clip 4k-h264 3840x2160 libx264 -preset veryfast -crf 28 -refs 2
clip 4k-hevc 3840x2160 libx265 -preset ultrafast -crf 30 -x265-params log-level=error:ref=2
ls -l "$folder"
