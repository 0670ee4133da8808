#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Decoders of JPEG in ffmpeg: mjpeg_cuda on a GPU, whose frames stay there, and on the CPU; FFmpeg's mjpeg. The picture, 3840x2160
# 4:2:0 at quality 90, is coded once and decoded again and again.
# Usage: decode_rate.sh FFMPEG PICTURE   a line of results each;
# Environment: SECONDS_EACH=2 that a command is watched; DEPTHS="4 16" frames in flight; THREADS of the CPU (default: 1 and its
# cores); SIZE=3840:2160; WORK=folder for the file, best of memory; DEVICE=cpu: no GPU; ROWS=file: the lines as JSON, too.
set -euo pipefail
. "$(dirname "$0")/rate.sh"
. "$(dirname "$0")/rows.sh"
ffmpeg=$1 picture=$2
seconds=${SECONDS_EACH:-2} device=${DEVICE:-auto} size=${SIZE:-3840:2160}
threads=${THREADS:-1 $(nproc)}
file=$(mktemp "${WORK:-$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)}/decode.XXXXXX.nut")
trap 'rate_stop; rm -f "$file"' EXIT

line() { printf '%-12s %-5s %8s %10s %10s\n' "$@"; }
# result DECODER DEVICE THREADS DEPTH INPUT_OPTIONS...
result() {
    local decoder=$1 where=$2 count=$3 depth=$4
    shift 4
    rate "$seconds" "$ffmpeg" -stream_loop -1 "$@" -i "$file" -map 0:v -fps_mode passthrough -f null - || return 0
    row "${ROWS-}" decoder "$decoder" device "$where" threads "$count" depth "$depth" bytes "$frame" fps "$fps"
    line "$decoder" "$where" "$count" "$depth" "$fps"
}

# 64 times, so that the start of the file weighs little.
"$ffmpeg" -v error -nostdin -y -i "$picture" -vf "scale=$size:flags=area,format=yuvj420p,loop=loop=63:size=1" \
    -c:v mjpeg_cuda -device cpu -quality 90 -f nut "$file"
frame=$(($(stat -c %s "$file") / 64))

echo "frames/s, each watched for $seconds s after its start; $frame bytes a frame"
line decoder on threads "in flight" frames/s
if [ "$device" != cpu ]; then
    for depth in ${DEPTHS:-4 16}; do
        result mjpeg_cuda GPU 1 "$depth" -hwaccel cuda -hwaccel_output_format cuda -extra_hw_frames 16 -c:v mjpeg_cuda -device "$device" -async_depth "$depth"
    done
fi
for n in $threads; do
    result mjpeg_cuda CPU "$n" $((n > 4 ? n : 4)) -c:v mjpeg_cuda -device cpu -threads "$n" -async_depth $((n > 4 ? n : 4))
    result mjpeg CPU "$n" "$n" -c:v mjpeg -threads "$n"
done
