#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What qualities cost and give: bits per pixel, PSNR, SSIM and VMAF of a picture or of a clip's first frames, as a table in
# Markdown. Usage: ladder.sh j2k_cuda|mjpeg_cuda FILE...
# Environment: QUALITIES='60 70 80 90 95'; FRAMES=3; OPTIONS: more options of the encoder; VMAF: an ffmpeg with libvmaf, which
# need not have our encoders. Without one the column is empty. PSNR and SSIM are of the source's pixel format, VMAF of 4:2:0.
set -euo pipefail
codec=${1:?usage: ladder.sh CODEC FILE...}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
vmaf=${VMAF:-ffmpeg}
grep -q ' libvmaf ' <("$vmaf" -hide_banner -filters 2>/dev/null) || vmaf=
# measure PROGRAM FILTER FORMAT FILE: what the filter says of the coded frames beside the file's.
measure() {
    local frame=settb=1/25,setpts=N$3
    "$1" -nostdin -hide_banner -i "$work/coded.mkv" -i "$4" -lavfi "[0:v]${frame}[a];[1:v]${frame}[b];[a][b]$2=shortest=1" -f null - 2>&1 || true # then there is no value
}
echo "| $codec | quality | bits/pixel | PSNR, dB | SSIM | VMAF |"
echo "| --- | --- | --- | --- | --- | --- |"
for file; do
    IFS=, read -r width height format <<<"$(ffprobe -v error -select_streams v:0 -show_entries stream=width,height,pix_fmt -of csv=p=0 "$file")"
    for quality in ${QUALITIES:-60 70 80 90 95}; do
        # shellcheck disable=SC2086 # options are words
        ffmpeg -nostdin -v error -y -i "$file" -frames:v "${FRAMES:-3}" -c:v "$codec" -q:v "$quality" ${OPTIONS-} "$work/coded.mkv"
        psnr=$(measure ffmpeg psnr ",format=$format" "$file" | sed -n 's/.*PSNR .*average:\([0-9.a-z]*\).*/\1/p')
        ssim=$(measure ffmpeg ssim ",format=$format" "$file" | sed -n 's/.*SSIM .*All:\([0-9.]*\).*/\1/p')
        score=$([ -z "$vmaf" ] || measure "$vmaf" libvmaf ,format=yuv420p "$file" | sed -n 's/.*VMAF score: \([0-9]*\.[0-9]\).*/\1/p')
        if [ -z "$psnr" ] || [ -z "$ssim" ] || [[ -n $vmaf && -z $score ]]; then
            echo "ladder.sh: $file at quality $quality cannot be measured" >&2
            exit 1
        fi
        ffprobe -v error -show_entries packet=size -of csv=p=0 "$work/coded.mkv" |
            awk -F, -v pixels=$((width * height)) -v name="$(basename "${file%.*}")" -v quality="$quality" -v psnr="$psnr" -v ssim="$ssim" -v vmaf="$score" \
                '{ bytes += $1; n++ } END { printf "| %s | %s | %.2f | %s | %.4f | %s |\n", name, quality, 8 * bytes / n / pixels,
                                            psnr == "inf" ? psnr : sprintf("%.2f", psnr), ssim, vmaf }'
    done
done
