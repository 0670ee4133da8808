#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Encodes some frames of a clip to files, one a frame, that are named by the frame's number in the clip. Pictures are
# independent, so segments may be encoded anywhere, at a time, and again: a segment is whole or not there. The last one may
# have fewer frames. Frames are known by their timestamps, so the frame rate may vary: a scan of the clip's packets lists
# them in FOLDER/.frames, and finds a clip that ends before its container says. Each coded frame has to be in the list.
# Usage: encode_segment.sh INPUT FIRST COUNT FOLDER ENDING OPTION...    ENDING: j2c, jp2 or jpg
# Environment: FFMPEG, FFPROBE: programs; INPUT_OPTIONS: what stands before -i, such as "-hwaccel cuda -hwaccel_output_format cuda";
# FRAMES: how many frames the clip has, for containers that do not tell
set -eu
[ $# -ge 6 ] || { echo "usage: encode_segment.sh INPUT FIRST COUNT FOLDER ENDING OPTION..." >&2; exit 2; }
input=$1 first=$2 count=$3 folder=$4 ending=$5
shift 5
fail() {
    echo "encode_segment.sh: $*" >&2
    exit 1
}
probe() { "${FFPROBE:-ffprobe}" -v error "$@" "$input"; }
name_of() { printf "%0$((8 + ($1 < 0)))d.$ending" "$1"; } # as FFmpeg names it

# What files are made of. Of options the device does not count: bytes are the same on all.
clip="$(basename "$input") $(stat -L -c %s "$input" 2>/dev/null || echo -)"
job=$clip previous=
for option; do
    [ "$option" = -device ] || [ "$previous" = -device ] || job="$job $option"
    previous=$option
done

done=$folder/.segment-$first-$count
if [ -e "$done" ]; then
    [ "$(head -n 1 "$done")" = "$job" ] || fail "$folder has this segment of another clip or of other options: $(head -n 1 "$done")"
    whole=1
    for n in $(seq "$first" $((first + $(sed -n 2p "$done") - 1))); do [ -s "$folder/$(name_of "$n")" ] || whole=; done
    [ -z "$whole" ] || exit 0
fi
mkdir -p "$folder"
work=$(mktemp -d "$folder/.work-$first-XXXXXX")
trap 'rm -rf "$work"' EXIT

told=$(probe -select_streams v:0 -of flat -show_entries \
    stream=index,time_base,nb_frames,duration:stream_tags=DURATION:format=format_name,start_time,duration) || true
tell() { echo "$told" | sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" | grep -vx N/A || true; }
base=$(tell streams.stream.0.time_base)
[ -n "$base" ] || fail "$input has no video"

# The frames' timestamps in order, in units of $base, behind a line that names the clip.
scan() {
    probe -of csv=p=0 -show_entries packet=stream_index,pts,pts_time,duration_time,flags >"$work/packets" 2>"$work/errors" || true
    [ ! -s "$work/errors" ] || fail "$input is cut or broken: $(tail -n 1 "$work/errors")"
    echo "$clip" >"$work/frames"
    # Some are only decoded for others, as edit lists say.
    awk -F, -v v="$(tell streams.stream.0.index)" '$1 == v && $5 !~ /D/ { print $2 }' "$work/packets" | sort -n >>"$work/frames"
    if grep -q N/A "$work/frames" || [ "$(sed 1d "$work/frames" | uniq -d)" ]; then
        fail "$input has frames without timestamps of their own"
    fi
    least=$(sed 1d "$work/frames" | awk -v base="$base" 'NR > 1 && (!m || $1 - p < m) { m = $1 - p } { p = $1 } END { split(base, b, "/"); print m * b[1] / b[2] }')
    awk -F, -v v="$(tell streams.stream.0.index)" -v least="$least" -v frames="$(tell streams.stream.0.nb_frames)" -v tag="$(tell streams.stream.0.tags.DURATION)" \
        -v stream="$(tell streams.stream.0.duration)" -v format="$(tell format.duration)" '
        $5 ~ /C/ { print "a packet at " $3 " s is not whole"; exit }
        $4 == "N/A" { $4 = least }
        $3 + $4 > all_end { all_end = $3 + $4 }
        $1 != v { next }
        { packets++ }
        $3 + $4 > end { end = $3 + $4 }
        $3 < start { start = $3 }
        END {
            split(tag, t, ":")
            if (tag) wanted = t[1] * 3600 + t[2] * 60 + t[3]
            else if (stream) wanted = stream
            else { wanted = format; end = all_end }
            short = wanted - (end - start)
            # Edit lists leave packets out, and the duration of the last one may not be told.
            if ((!frames || packets < frames) && short > 0.002 && short > least / 2) printf "it has %.3f s of %.3f\n", end - start, wanted
        }' "$work/packets" >"$work/cut"
    [ ! -s "$work/cut" ] || fail "$input is cut or broken: $(cat "$work/cut")"
    mv "$work/frames" "$folder/.frames"
}
[ -e "$folder/.frames" ] || scan
[ "$(head -n 1 "$folder/.frames")" = "$clip" ] || fail "$folder has frames of another clip: $(head -n 1 "$folder/.frames")"
all=$(($(wc -l <"$folder/.frames") - 1))
[ "${FRAMES:-$all}" = "$all" ] || fail "$input is cut or broken: it has $all frames of $FRAMES"
[ "$first" -lt "$all" ] || fail "$input has no frame $first"
[ $((first + count)) -lt "$all" ] || case "${FRAMES:-$(tell format.format_name)}" in
[0-9]* | matroska* | mov* | avi | mxf* | flv | image2*) ;;
*) echo "encode_segment.sh: $(tell format.format_name) does not tell its length: FRAMES= says how many frames $input has, here $all" >&2 ;;
esac

# encode INPUT_SEEK OUTPUT_SEEK OPTION...: makes files that are named by their frames' timestamps.
encode() {
    before=$1 behind=$2
    shift 2
    rm -rf "$work/coded"
    mkdir "$work/coded"
    # shellcheck disable=SC2086 # options are words
    "${FFMPEG:-ffmpeg}" -nostdin -v error -copyts ${INPUT_OPTIONS-} $before -i "$input" -map 0:v:0 $behind -frames:v "$count" -fps_mode passthrough \
        "$@" -enc_time_base "$base" -f image2 -frame_pts 1 "$work/coded/%08d.$ending" 2>"$work/errors"
}
# name ORIGIN: gives files their frames' numbers. ORIGIN: what timestamps count from.
name() {
    rm -rf "$work/named"
    mkdir "$work/named"
    n=$first
    while read -r pts; do
        mv "$work/coded/$(name_of $((pts - $1)))" "$work/named/$(name_of "$n")" 2>/dev/null || return 1
        n=$((n + 1))
    done <"$work/wanted"
    rmdir "$work/coded" 2>/dev/null # no frame is there that the list has not
}

sed "1,$((first + 1))d" "$folder/.frames" | head -n "$count" >"$work/wanted"
# Seeks to between two frames, nearer to the second, to which FFmpeg then rounds.
seek=$(sed 1d "$folder/.frames" | awk -v n="$first" -v base="$base" -v start="$(tell format.start_time)" '
    NR == n { before = $1 }
    NR == n + 1 { split(base, b, "/"); if (n && (s = (before + 3 * $1) / 4 * b[1] / b[2] - start) > 0) printf "-ss %.6f", s }')
if ! { [ -n "$seek" ] && encode "$seek" "" "$@" && [ ! -s "$work/errors" ] && name 0; }; then
    # Where a seek ends too late, or at a picture that refers to others, all before is decoded and dropped.
    origin=0 drop='' status=0
    if [ -n "$seek" ]; then
        origin=$(head -n 1 "$work/wanted")
        drop="-ss $(awk -v n="$origin" -v base="$base" 'BEGIN { split(base, b, "/"); printf "%.6f", n * b[1] / b[2] }')"
    fi
    encode "" "$drop" "$@" || status=$?
    cat "$work/errors" >&2
    [ $status = 0 ] || exit $status
    name "$origin" || fail "$input is cut or broken: frame $n of $all is not decoded, or others beside it"
fi
find "$work/named" -name "*.$ending" -exec mv -t "$folder" {} + # of one file system: each at once
printf '%s\n%d\n' "$job" $((n - first)) >"$work/done"
mv "$work/done" "$done"
