#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tests' own decoder of H.264 reads streams of libx264 with I and P pictures and the deblocking filter: its pictures are
# those of FFmpeg's decoder, bit by bit. So it may judge what h264_cavlc_cuda writes.
# Usage: x264.sh [MEDIA_DIR]; X264_FFMPEG=ffmpeg, one with libx264. Ends in a line "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
media=${1-}
program=${X264_FFMPEG:-ffmpeg}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../tally.sh"
if [[ $("$program" -hide_banner -encoders 2>/dev/null) != *" libx264 "* ]]; then
    echo "skipped: libx264, which $program does not have"
    echo "0 passed, 0 failed"
    exit
fi
ffmpeg() { command "$program" -hide_banner -nostdin -y -v error "$@"; }
${CXX:-g++} -std=c++20 -O2 -o "$work/own" "$here/h264_decode.cpp"

sources=("-f lavfi -i mandelbrot=s=210x134:start_scale=0.02:end_scale=0.001:end_pts=40" "-f lavfi -i testsrc2=s=176x144:r=25")
for clip in bed_1280x720_149f_h264.mp4 harbour_720x608i_4f_mpeg2_422.mp4 skeleton_1920x1080i_26f_h264.mts; do
    [ ! -e "$media/clips/$clip" ] || sources+=("-i $media/clips/$clip")
done

# same SOURCE FRAMES FILTERS FORMAT OPTIONS: what is wrong.
same() {
    # shellcheck disable=SC2086 # words
    ffmpeg $1 -frames:v "$2" -vf "$3" -pix_fmt "$4" -c:v libx264 -bf 0 \
        -x264-params "cabac=0:bframes=0:ref=1:weightp=0:weightb=0:scenecut=0:threads=2:$5" -f h264 "$work/stream.h264" 2>&1 | head -n 1
    "$work/own" -s "$work/stream.h264" "$work/own.yuv" >"$work/own.log" 2>&1 || { echo "the tests' decoder: $(head -n 1 "$work/own.log")"; return; }
    ffmpeg -f h264 -i "$work/stream.h264" -pix_fmt "$4" -f rawvideo "$work/ffmpeg.yuv" 2>&1 | head -n 1
    cmp "$work/own.yuv" "$work/ffmpeg.yuv" 2>&1 | head -n 1
}

while read -r options; do
    for source in "${sources[@]}"; do
        result "$options, $source" "$(same "$source" 8 "scale='min(iw,210)':'min(ih,134)'" yuv420p "$options")"
    done
done <<END
qp=26
qp=26:no-deblock=1:8x8dct=0:partitions=none
qp=20:partitions=all:8x8dct=1
qp=32:partitions=all:8x8dct=0:slices=3
qp=14:partitions=all:deblock=3,-3:subme=9
qp=40:deblock=-2,2
qp=30:sliced-threads=1:threads=3
crf=23:aq-mode=1:partitions=all
qp=24:constrained-intra=1:partitions=all:slices=2
qp=51
qp=1:partitions=all
qp=24:chroma-qp-offset=-6
qp=26:keyint=5
qp=26:intra-refresh=1:keyint=10
END
for format in gray yuv422p yuv444p yuv420p10 yuv422p10 yuv444p10; do
    for options in qp=26:partitions=all qp=33:8x8dct=0:slices=2 qp=15:partitions=all:deblock=2,2; do
        result "$format, $options" "$(same "${sources[-1]}" 5 "scale=186:122" $format "$options")"
    done
done
for size in 16x16 16x130 130x16 18x34 64x2; do
    result "$size" "$(same "${sources[-1]}" 12 "scale=${size/x/:}" yuv420p qp=22:partitions=all)"
done
echo "$passed passed, $failed failed"
