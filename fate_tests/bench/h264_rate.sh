#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a frame takes h264_cavlc_cuda in ffmpeg, and libx264 (superfast, intra, CAVLC) in a peer that has it. A clip's frames are repeated
# from memory by the loop filter, in a short and a long run: their difference knows neither start nor decoding. The least of all rounds.
# Usage: h264_rate.sh FFMPEG CLIP [OPTIONS OF THE ENCODER...]; PEER=ffmpeg (empty: none), QPS="12 17 22 27 32 37", FRAMES="12 60",
# ROUNDS=3, THREADS=2; ROWS=file: the lines as JSON, too.
set -euo pipefail
. "$(dirname "$0")/rows.sh"
ffmpeg=$1 clip=$2
shift 2
read -r short long <<<"${FRAMES:-12 60}"
threads=${THREADS:-2}
TIMEFORMAT='%R %U %S'

# run FFMPEG FRAMES OPTIONS...: ms of wall and of processor time
run() {
    { time "$1" -v error -nostdin -i "$clip" -vf loop=loop=-1:size=60 -frames:v "$2" "${@:3}" -threads "$threads" -f null - >/dev/null; } 2>&1 |
        tail -n 1 | awk '{ print int(1000 * $1), int(1000 * ($2 + $3)) }'
}
# frame FFMPEG OPTIONS...: the same of a frame
frame() {
    local wall=() cpu=() w c
    for frames in "$short" "$long"; do
        local least_wall=999999999 least_cpu=999999999
        for _ in $(seq "${ROUNDS:-3}"); do
            read -r w c < <(run "$1" "$frames" "${@:2}")
            [ "$w" -ge "$least_wall" ] || least_wall=$w
            [ "$c" -ge "$least_cpu" ] || least_cpu=$c
        done
        wall+=("$least_wall") cpu+=("$least_cpu")
    done
    awk -v n=$((long - short)) "BEGIN { print (${wall[1]} - ${wall[0]}) / n, (${cpu[1]} - ${cpu[0]}) / n }"
}

for qp in ${QPS-12 17 22 27 32 37}; do
    read -r wall cpu < <(frame "$ffmpeg" -c:v h264_cavlc_cuda -qp "$qp" "$@")
    peer_wall=0
    line=$(awk "BEGIN { printf \"qp %d: %.1f ms a frame (%.1f frames/s), %.1f ms of processors\", $qp, $wall, 1000 / $wall, $cpu }")
    if [ -n "${PEER-}" ]; then
        read -r peer_wall peer_cpu < <(frame "$PEER" -c:v libx264 -preset superfast -tune psnr -g 1 -coder 0 -qp "$qp")
        line+=$(awk "BEGIN { printf \"; libx264 %.1f, %.1f: %.2f times, %.2f times\", $peer_wall, $peer_cpu, $wall / $peer_wall, $cpu / $peer_cpu }")
    fi
    row "${ROWS-}" clip "$(basename "${clip%.*}")" threads "$threads" qp "$qp" ms "$wall" cpu_ms "$cpu" libx264_ms "$peer_wall"
    echo "$line"
done
