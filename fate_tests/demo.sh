#!/bin/bash
# The main job, shown: a clip becomes JPEG 2000 in MXF, lossy and lossless, and FFmpeg's own decoder reads it back.
# Usage: demo.sh FOLDER_OF_FFMPEG OUTPUT_FOLDER [INPUT]   FRAMES=24 of them   SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
ffmpeg="$1/ffmpeg -hide_banner -nostdin -y" ffprobe="$1/ffprobe -v error"
out=$2 input=${3:-} frames=${FRAMES:-24}
mkdir -p "$out"

# Without an input: a fractal's fine edges, a test chart's sharp ones and film grain, 1920x1080 and 10 bits.
if [ -n "$input" ]; then
    what="$input, at most $frames frames"
    source=(-i "$input" -map 0:v:0 -vf "setpts=N/25/TB" -r 25)
else
    what="generated, $frames frames of 1920x1080"
    source=(-f lavfi -i "mandelbrot=size=1920x1080:rate=25:start_scale=0.02:end_scale=0.0002:end_pts=200[fractal];
        testsrc2=size=480x270:rate=25[chart];
        [fractal]format=yuv422p10,noise=all_strength=6:all_flags=t[grain];
        [grain][chart]overlay=x=1400:y=770:format=yuv422p10,format=yuv422p10")
fi
$ffmpeg -v error "${source[@]}" -frames:v "$frames" -c:v rawvideo -strict -2 -f nut "$out/source.nut"

probe() { $ffprobe -select_streams v:0 -count_packets -show_entries "stream=$1" -of default=nw=1:nk=1 "$2"; }
width=$(probe width "$out/source.nut") height=$(probe height "$out/source.nut") format=$(probe pix_fmt "$out/source.nut")
frames=$(probe nb_read_packets "$out/source.nut")
echo "source:    $what; $width x $height $format"

# encode NAME OPTIONS...
encode() {
    local name=$1 log=$out/$1.log seconds bytes quality
    shift
    $ffmpeg -benchmark -i "$out/source.nut" -c:v j2k_cuda -format j2k "$@" "$out/$name.mxf" 2>"$log" || { cat "$log"; exit 1; }
    seconds=$(sed -n 's/^bench: .*rtime=\([0-9.]*\)s.*/\1/p' "$log" | tail -n 1)
    bytes=$($ffprobe -show_entries packet=size -of csv=p=0 "$out/$name.mxf" | awk '{ n += $1 } END { print n }')
    [ "$name" != lossy ] || echo "device:    $(sed -n 's/^\[j2k_cuda @ [^]]*\] *//p' "$log" | tail -n 1)"
    if [ "$(frame_hashes "$out/source.nut")" = "$(frame_hashes "$out/$name.mxf")" ]; then
        quality="exact"
    else
        quality="PSNR $($ffmpeg -i "$out/$name.mxf" -i "$out/source.nut" -lavfi "[0:v][1:v]psnr" -f null - 2>&1 |
            sed -n "s/.*PSNR .*average:\([0-9]*\.*[0-9]\{0,2\}\).*/\1/p") dB"
    fi
    awk -v name="$name:" -v f="$frames" -v s="$seconds" -v b="$bytes" -v p="$((width * height))" -v q="$quality" 'BEGIN {
        printf "%-10s %.1f frames/s, %d bytes/frame, %.2f bits/pixel, %s\n", name, f / s, b / f, 8 * b / f / p, q }'
}
frame_hashes() { $ffmpeg -v error -i "$1" -pix_fmt "$format" -f framehash -hash md5 - | awk -F, '!/^#/ { print $NF }'; }

echo "command:   ffmpeg -i source.nut -c:v j2k_cuda -format j2k lossy.mxf    (frames/s: of this whole command)"
encode lossy
encode lossless -pred dwt53

# The middle of one frame, pixel for pixel: source, decoded, and 32 times their difference.
$ffmpeg -v error -i "$out/source.nut" -i "$out/lossy.mxf" -frames:v 1 -update 1 -filter_complex "
    [0:v]trim=start_frame=$((frames / 2)),setpts=N/25/TB,format=gbrp,crop='min(iw,800)':'min(ih,800)',split[a][x];
    [1:v]trim=start_frame=$((frames / 2)),setpts=N/25/TB,format=gbrp,crop='min(iw,800)':'min(ih,800)',split[b][y];
    [x][y]blend=all_mode=difference,lutrgb=r=val*32:g=val*32:b=val*32[d];
    [a][b][d]hstack=inputs=3,format=rgb24" "$out/demo.png"
rm "$out/source.nut"
echo "picture:   $out/demo.png: source, decoded (lossy), difference x 32; streams: $out/lossy.mxf $out/lossless.mxf"
