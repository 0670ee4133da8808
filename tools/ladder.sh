#!/bin/bash
# What qualities cost and give: bits per pixel, PSNR and SSIM of a picture or of a clip's first frames, as a table in Markdown.
# Usage: ladder.sh j2k_cuda|mjpeg_cuda FILE...    QUALITIES='60 70 80 90 95', FRAMES=3   SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
codec=${1:?usage: ladder.sh CODEC FILE...}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "| $codec | quality | bits/pixel | PSNR, dB | SSIM |"
echo "| --- | --- | --- | --- | --- |"
for file; do
    size=$(ffprobe -v error -select_streams v:0 -show_entries stream=width,height -of csv=p=0 "$file")
    for quality in ${QUALITIES:-60 70 80 90 95}; do
        ffmpeg -nostdin -v error -y -i "$file" -frames:v "${FRAMES:-3}" -c:v "$codec" -q:v "$quality" "$work/coded.mkv"
        measure() {
            ffmpeg -nostdin -hide_banner -i "$work/coded.mkv" -i "$file" -lavfi "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]$1=shortest=1" \
                -f null - 2>&1
        }
        ffprobe -v error -show_entries packet=size -of csv=p=0 "$work/coded.mkv" |
            awk -F, -v size="$size" -v name="$(basename "${file%.*}")" -v quality="$quality" \
                -v psnr="$(measure psnr | sed -n 's/.*PSNR .*average:\([0-9.a-z]*\).*/\1/p')" \
                -v ssim="$(measure ssim | sed -n 's/.*SSIM .*All:\([0-9.]*\).*/\1/p')" \
                '{ bytes += $1; n++ } END { split(size, s, ","); printf "| %s | %s | %.2f | %.2f | %.4f |\n", name, quality, 8 * bytes / n / s[1] / s[2], psnr, ssim }'
    done
done
