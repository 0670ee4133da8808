#!/bin/bash
# libjpeg-turbo reads every stream of FATE's tests of mjpeg_cuda without a warning, and makes of real pictures no smaller
# and no better streams than mjpeg_cuda does. Usage: mjpeg.sh FFMPEG_BUILD [MEDIA_DIR]; DEVICE=cpu
# Ends in a line "N passed, N failed". SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
build=$(cd "$1" && pwd)
media=${2-}
device=${DEVICE:-cpu}
for tool in cjpeg djpeg; do
    command -v $tool >/dev/null || { echo "$tool is missing (libjpeg-turbo-progs)"; echo "0 passed, 1 failed"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
result() { # result NAME MESSAGE: no message is a success
    [ -z "$2" ] && passed=$((passed + 1)) && return
    failed=$((failed + 1))
    echo "$1: $2"
}
strict() { # strict FILE: what djpeg says
    djpeg -strict -pnm -outfile "$work/out.pnm" "$1" 2>&1 | head -n 1
}

make --no-print-directory -k -C "$build" fate-mjpeg_cuda KEEP=1 CUDAENC_FATE_DEVICE="$device" >"$build/interop-mjpeg.log" 2>&1 || true
while read -r name _; do
    stream=$build/tests/data/fate/mjpeg_cuda-$name.image2pipe
    result "$name" "$([ -s "$stream" ] && strict "$stream" || echo "no stream")"
done < <(make --no-print-directory -s -C "$build" mjpeg_cuda-streams)

# Equal tables: at most 0.5 % larger than cjpeg's, and at most 0.05 dB worse. Sub-sampling is off, since cjpeg's is its own.
for picture in ${media:+"$media"/*_rgb8.png "$media"/*_yuv420p.mkv}; do
    "$build/ffmpeg" -nostdin -y -v error -i "$picture" -frames:v 1 -pix_fmt rgb24 "$work/in.ppm"
    for quality in 50 75 90 100; do
        for huffman in default optimal; do
            "$build/ffmpeg" -nostdin -y -v error -i "$work/in.ppm" -c:v mjpeg_cuda -device "$device" -mct 1 -quality $quality \
                -huffman $huffman -f image2 -update 1 "$work/ours.jpg"
            cjpeg -quality $quality -sample 1x1 $([ $huffman = default ] || echo -optimize) -outfile "$work/theirs.jpg" "$work/in.ppm"
            message=$(strict "$work/ours.jpg")
            psnr() {
                djpeg -pnm -outfile "$work/out.pnm" "$work/$1.jpg"
                "$build/tests/tiny_psnr" "$work/in.ppm" "$work/out.pnm" 1 0 0 | sed 's/.*PSNR: *\([0-9.]*\).*/\1/'
            }
            ours=$(stat -c %s "$work/ours.jpg") theirs=$(stat -c %s "$work/theirs.jpg")
            [ -n "$message" ] || message=$(awk -v a="$ours" -v b="$theirs" -v p="$(psnr ours)" -v q="$(psnr theirs)" 'BEGIN {
                if (a > 1.005 * b) print a " bytes, cjpeg " b; else if (p < q - 0.05) print p " dB, cjpeg " q }')
            result "$(basename "$picture") quality $quality, huffman $huffman" "$message"
        done
    done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
