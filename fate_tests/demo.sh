#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The main job, shown: a clip becomes JPEG 2000 and JPEG, by these encoders and by FFmpeg's own at equal size; speed and PSNR
# of each. Usage: demo.sh FOLDER_OF_FFMPEG FFMPEG_SOURCES OUTPUT_FOLDER [INPUT]   FRAMES=24 of them; 12 without a GPU
set -euo pipefail
here=$(dirname "$0")
ffmpeg="$1/ffmpeg -hide_banner -nostdin -y" ffprobe="$1/ffprobe -v error"
font=$2/libavutil/xga_font_data.c out=$3 input=${4:-} frames=${FRAMES:-$([ -e /dev/nvidiactl ] && echo 24 || echo 12)}
mkdir -p "$out"

# Without an input: what photographs have. Hills of many sizes, since their spectrum falls with the frequency; contours of
# objects, which are levels of other hills; pale colours; grain; and a chart's sharp edges. 1920x1080, 10 bits.
if [ -n "$input" ]; then
    what="$input, at most $frames frames"
    source=(-i "$input" -map 0:v:0 -vf "setpts=N/25/TB" -r 25)
else
    what="generated, $frames frames of 1920x1080"
    hills() { # SIZE OCTAVES PERSISTENCE SCALE SEED
        echo "perlin=size=$1:rate=25:octaves=$2:persistence=$3:xscale=$4:yscale=$4:tscale=0.4:random_mode=seed:random_seed=$5,format=gray10"
    }
    source=(-f lavfi -i "$(hills 1920x1080 10 0.72 8 1)[fine]; $(hills 1920x1080 8 0.55 5 4),lut=y='trunc(val/80)*80'[objects];
        [fine][objects]blend=all_mode=average[y]; $(hills 960x1080 6 0.5 4 2),lut=y='512+(val-512)/3'[u];
        $(hills 960x1080 6 0.5 4 3),lut=y='512+(val-512)/3'[v]; [y][u][v]mergeplanes=0x001020:yuv422p10,noise=c0s=3:c0f=t[land];
        testsrc2=size=480x270:rate=25[chart]; [land][chart]overlay=x=1400:y=770:format=yuv422p10,format=yuv422p10")
fi
echo "making the clip ..." >&2
$ffmpeg -v error "${source[@]}" -frames:v "$frames" -c:v rawvideo -strict -2 -f nut "$out/source.nut" || {
    [ -z "$input" ] || echo "INPUT '$input' cannot be read: 'make help' says which codecs are; for others 'make ffmpeg' first" >&2
    exit 1
}

probe() { $ffprobe -select_streams v:0 -count_packets -show_entries "stream=$1" -of default=nw=1:nk=1 "$2"; }
width=$(probe width "$out/source.nut") height=$(probe height "$out/source.nut") format=$(probe pix_fmt "$out/source.nut")
frames=$(probe nb_read_packets "$out/source.nut")
echo "source:  $what; $width x $height $format"

declare -A captions
# encode NAME SOURCE_FORMAT OPTIONS...: leaves NAME.nut; prints a row. $bytes: of all its packets. Its caption.
encode() {
    local name=$1 of=$2 log=$out/$1.log seconds quality
    shift 2
    echo "coding $name ..." >&2
    $ffmpeg -benchmark -i "$out/$of.nut" "$@" "$out/$name.nut" 2>"$log" || { cat "$log"; exit 1; }
    seconds=$(sed -n 's/^bench: .*rtime=\([0-9.]*\)s.*/\1/p' "$log" | tail -n 1)
    bytes=$($ffprobe -show_entries packet=size -of csv=p=0 "$out/$name.nut" | awk '{ n += $1 } END { print n }')
    quality=$($ffmpeg -i "$out/$name.nut" -i "$out/$of.nut" -lavfi "[0:v][1:v]psnr" -f null - 2>&1 |
        sed -n "s/.*PSNR .*average:\([0-9a-z]*\.*[0-9]\{0,2\}\).*/\1/p")
    [ "$quality" != inf ] || quality=exact
    awk -v name="$name" -v f="$frames" -v s="$seconds" -v b="$bytes" -v p="$((width * height))" -v q="$quality" 'BEGIN {
        printf "%-20s %10.1f %14d %12.2f %9s\n", name, f / s, b / f, 8 * b / f / p, q }'
    captions[$name]="$name, $(awk -v b="$bytes" -v f="$frames" -v p="$((width * height))" 'BEGIN { printf "%.2f", 8 * b / f / p }') bits/pixel, $quality dB"
}
# The highest quality of mjpeg_cuda that gives the first frame no more than so many bytes: whole numbers are some percent apart.
quality_for() {
    local low=1 high=100 middle
    while [ $low -lt $high ]; do
        middle=$(((low + high + 1) / 2))
        $ffmpeg -v error -i "$out/source8.nut" -frames:v 1 -c:v mjpeg_cuda -matrix mpeg -q:v $middle -f image2 -update 1 "$out/try.jpg"
        if [ "$(wc -c <"$out/try.jpg")" -le "$1" ]; then low=$middle; else high=$((middle - 1)); fi
    done
    rm -f "$out/try.jpg"
    echo $low
}
rate() { awk -v b="$bytes" -v f="$frames" 'BEGIN { printf "%d", 8 * b * 25 / f }'; } # bits/s of the last row

echo "device:  $($ffmpeg -i "$out/source.nut" -frames:v 1 -c:v j2k_cuda -f null - 2>&1 | sed -n 's/^\[j2k_cuda @ [^]]*\] *\(.*\): [0-9]*x.*/\1/p')"
printf '\n%-20s %10s %14s %12s %9s\n' encoder frames/s bytes/frame bits/pixel "PSNR, dB"
encode jpeg2000 source -c:v jpeg2000 -format j2k -pred dwt97int -q:v "${QUALITY:-6}"
encode j2k_cuda source -c:v j2k_cuda -format j2k -b:v "$(rate)"
encode jpeg2000-lossless source -c:v jpeg2000 -format j2k -pred dwt53
encode j2k_cuda-lossless source -c:v j2k_cuda -format j2k -pred dwt53
$ffmpeg -v error -i "$out/source.nut" -vf format=yuvj422p -c:v rawvideo -f nut "$out/source8.nut"
encode mjpeg source8 -c:v mjpeg -q:v 2 -huffman optimal
encode mjpeg_cuda source8 -c:v mjpeg_cuda -matrix mpeg -q:v "$(quality_for $((bytes / frames)))"
$ffmpeg -v error -i "$out/j2k_cuda.nut" -c copy "$out/lossy.mxf"
$ffmpeg -v error -i "$out/j2k_cuda-lossless.nut" -c copy "$out/lossless.mxf"

# A part of a frame, each pixel four: the source, j2k_cuda, FFmpeg's jpeg2000 of the same size; mjpeg_cuda, and 16 times the
# errors of the two above. Each has a caption.
part="trim=start_frame=$((frames / 2)),setpts=N/25/TB,format=gbrp,crop='min(iw,320)':'min(ih,240)':(iw-ow)*0.7:(ih-oh)*0.8"
error() { echo "[$1][$2]blend=all_mode=difference,lutrgb=r=val*16:g=val*16:b=val*16"; }
caption() { "$here/captions.py" "$font" $((2 * (width < 320 ? width : 320))) "$@"; }
caption "$out/top.ppm" source "${captions[j2k_cuda]}" "${captions[jpeg2000]}"
caption "$out/bottom.ppm" "${captions[mjpeg_cuda]}" "j2k_cuda: 16 times its errors" "jpeg2000: 16 times its errors"
$ffmpeg -v error -i "$out/source.nut" -i "$out/j2k_cuda.nut" -i "$out/jpeg2000.nut" -i "$out/mjpeg_cuda.nut" -i "$out/top.ppm" \
    -i "$out/bottom.ppm" -frames:v 1 -update 1 -filter_complex "[0:v]$part,split=3[a][x][y]; [1:v]$part,split[b][p];
    [2:v]$part,split[c][q]; [3:v]$part[j]; $(error x p)[d]; $(error y q)[e];
    [a][b][c]hstack=inputs=3,scale=iw*2:ih*2:flags=neighbor,format=rgb24[top];
    [j][d][e]hstack=inputs=3,scale=iw*2:ih*2:flags=neighbor,format=rgb24[bottom];
    [4:v]format=rgb24[s]; [5:v]format=rgb24[t]; [s][top][t][bottom]vstack=inputs=4" "$out/demo.png"
rm "$out"/*.ppm
rm "$out"/*.nut
echo
echo "frames/s are of whole commands, such as: ffmpeg -i source.nut -c:v j2k_cuda -format j2k -b:v ... out.nut"
echo "picture: $out/demo.png: source, j2k_cuda, FFmpeg's jpeg2000 of the same size; below mjpeg_cuda, and 16 times the errors"
echo "streams: $out/lossy.mxf $out/lossless.mxf"
