#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Seconds from a clip's frames in GPU memory to a closed MP4 file in memory, in ffmpeg. The clip is decoded and scaled into
# GPU memory once and dropped; the loop filter then hands the same frames to the encoder. What a run without encoder takes
# is subtracted. So "first" has the encoder's start and the muxer in it; "next" is what the same frames take once more.
# Usage: clip_time.sh FFMPEG CLIP [OPTIONS OF h264_cavlc_cuda...]; SIZE=1344x768, FRAMES=243, ROUNDS=3, the least of which count;
# PEER=FFMPEG with libx264, from the host's memory (empty: none); DEVICE=cpu: to try this script; ROWS=file: the lines as JSON, too.
set -euo pipefail
. "$(dirname "$0")/rows.sh"
export LC_ALL=C # EPOCHREALTIME has a point
ffmpeg=$1 clip=$2
shift 2
size=${SIZE:-1344x768} frames=${FRAMES:-243} device=${DEVICE:-auto}
out=$(mktemp -d "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)/clip_time.XXXXXX")
trap 'rm -rf "$out"' EXIT

# run TIMES FFMPEG ON_GPU ENCODER...: the least seconds of all rounds, for so many times the frames.
run() {
    local times=$1 program=$2 input=() upload='' least='' begin seconds
    [ "$3" = no ] || input=(-init_hw_device cuda) upload=hwupload,
    input+=(-stream_loop -1 -i "$clip" -map 0:v -fps_mode passthrough)
    local filters="scale=${size/x/:},format=nv12,trim=end_frame=$frames,setpts=N,${upload}loop=$times:$frames,trim=start_frame=$frames"
    for _ in $(seq "${ROUNDS:-3}"); do
        begin=$EPOCHREALTIME
        "$program" -hide_banner -nostdin -v error -y "${input[@]}" -vf "$filters" "${@:4}"
        seconds=$(awk "BEGIN { print $EPOCHREALTIME - $begin }")
        least=$(printf '%s\n' ${least:+"$least"} "$seconds" | sort -g | head -n 1)
    done
    echo "$least"
}
measure() { # NAME FFMPEG ON_GPU ENCODER...
    local name=$1 none first both bytes
    shift
    none=$(run 1 "$1" "$2" -c:v wrapped_avframe -f null -)
    first=$(run 1 "$@" "$out/out.mp4")
    bytes=$(stat -c %s "$out/out.mp4")
    both=$(run 2 "$@" "$out/out.mp4")
    read -r first both < <(awk "BEGIN { printf \"%.3f %.3f\\n\", $first - $none, $both - $first }")
    row "${ROWS-}" clip "$(basename "${clip%.*}")" size "$size" frames "$frames" encoder "$name" first "$first" next "$both" bytes "$bytes"
    echo "$name, $frames frames of $size: first $first s, next $both s, $bytes bytes"
}
on_gpu=$([ "$device" = cpu ] && echo no || echo yes)
measure h264_cavlc_cuda "$ffmpeg" "$on_gpu" -c:v h264_cavlc_cuda -device "$device" -g 250 -async_depth 8 "$@"
[ -z "${PEER-}" ] || measure libx264 "$PEER" no -c:v libx264 -preset superfast -bf 0 -g 250 "$@"
