#!/bin/sh
# Encodes some frames of a clip to files, one a frame, that are named by the frame's number in the clip. Pictures are
# independent, so segments may be encoded anywhere, at a time, and again: a segment is whole or not there. Frames are found
# by timestamps, so the clip has a constant frame rate. The last segment may have fewer frames, unless FFmpeg tells of an
# error: a clip that is cut has no end.
# Usage: encode_segment.sh INPUT FIRST COUNT FOLDER ENDING OPTION...    ENDING: j2c, jp2 or jpg
# Environment: FFMPEG, FFPROBE: programs; INPUT_OPTIONS: what stands before -i, such as "-hwaccel cuda -hwaccel_output_format cuda"
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
[ $# -ge 6 ] || { echo "usage: encode_segment.sh INPUT FIRST COUNT FOLDER ENDING OPTION..." >&2; exit 2; }
input=$1 first=$2 count=$3 folder=$4 ending=$5
shift 5
done=$folder/.segment-$first-$count
[ ! -e "$done" ] || exit 0
mkdir -p "$folder"
work=$(mktemp -d "$folder/.work-$first-XXXXXX")
trap 'rm -rf "$work"' EXIT
rate=$("${FFPROBE:-ffprobe}" -v error -select_streams v:0 -show_entries stream=r_frame_rate -of csv=p=0 "$input" | head -n 1)
[ -n "$rate" ] || { echo "encode_segment.sh: $input has no video" >&2; exit 1; }
# Seeks to between two frames; what lies before is dropped after decoding.
seek=$(awk -v n="$first" -v rate="${rate%,}" 'BEGIN { split(rate, r, "/"); s = (n - 0.5) * r[2] / r[1]; printf "%.6f", s < 0 ? 0 : s }')
status=0
# shellcheck disable=SC2086 # options are words
"${FFMPEG:-ffmpeg}" -nostdin -v error ${INPUT_OPTIONS-} -ss "$seek" -i "$input" -map 0:v:0 -frames:v "$count" -fps_mode passthrough "$@" \
    -bsf:v setts=pts=N:dts=N -f image2 -start_number "$first" "$work/%08d.$ending" 2>"$work/errors" || status=$?
cat "$work/errors" >&2
[ $status = 0 ] || exit $status
found=$(find "$work" -name "*.$ending" | wc -l)
if [ "$found" -lt "$count" ] && [ -s "$work/errors" ]; then
    echo "encode_segment.sh: $input is cut or broken: $found of $count frames from $first on" >&2
    exit 1
fi
[ "$found" -gt 0 ] || { echo "encode_segment.sh: $input has no frame $first" >&2; exit 1; }
find "$work" -name "*.$ending" -exec mv -t "$folder" {} + # of one file system: each at once
: >"$done"
