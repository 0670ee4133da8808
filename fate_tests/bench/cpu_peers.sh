#!/bin/bash
# Encoders of JPEG 2000 on the CPU, 1920x1080 RGB, lossless and 9/7 at the same bytes, for each number of threads: cudaenc and
# OpenJPEG's library in cudaenc_bench, FFmpeg's native encoder and cudaenc in ffmpeg, Grok by its own clock.
# Usage: cpu_peers.sh FOLDER_OF_PROGRAMS PHOTOGRAPH OUTPUT_FOLDER   SPDX-License-Identifier: LGPL-2.1-or-later
# Environment: THREADS="1 2 4 8 16"; SECONDS_EACH=5; OPENJPEG, GRK_COMPRESS: files (default: where the system finds them).
set -euo pipefail
. "$(dirname "$0")/rate.sh"
bin=$1 photograph=$2 out=$3 threads=${THREADS:-1 2 4 8 16} seconds=${SECONDS_EACH:-5}
grok=${GRK_COMPRESS:-$(command -v grk_compress || true)}
mkdir -p "$out"
work=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/cpu_peers.XXXXXX")
trap 'rate_stop; rm -rf "$work"' EXIT

"$bin/cudaenc_bench" -device cpu -threads "${threads// /,}" -case hd-lossless,hd-lossy -single 7 -runs 3 -seconds 0.7 -depths 4 \
    ${OPENJPEG:+-openjpeg "$OPENJPEG"} -o "$out/cpu.json" "$photograph" | tee "$out/cpu.txt" | sed -n '/^case/,$p'
# What lossy encoders shall reach: the first frame's size, which is the target of all.
target=$(python3 -c "import json; print([r['first_frame_bytes'] for r in json.load(open('$out/cpu.json'))['rows'] if r['case'] == 'hd-lossy'][0])")

# The same frames as the bench's: the picture, means of 2x2, and cyclic shifts of it.
"$bin/ffmpeg" -v error -nostdin -loop 1 -i "$photograph" -frames:v 16 -vf "scale=1920:1080:flags=area,scroll=h=0.101:v=0.098,format=rgb24" \
    -f rawvideo "$work/frames.rgb"
raw=(-f rawvideo -pixel_format rgb24 -video_size 1920x1080 -framerate 25)
head -c 6220800 "$work/frames.rgb" >"$work/first.rgb"
{ printf 'P6\n1920 1080\n255\n'; cat "$work/first.rgb"; } >"$work/first.ppm"

line() { printf '%-34s %-9s %7s %10s %9s %12s\n' "$@" | tee -a "$out/cpu_peers.txt"; }
: >"$out/cpu_peers.txt"
psnr() { # FILE: by one decoder, over R, G and B
    "$bin/ffmpeg" -hide_banner -nostdin -i "$1" "${raw[@]}" -i "$work/first.rgb" \
        -lavfi "[0:v]format=gbrp[a];[1:v]format=gbrp[b];[a][b]psnr" -f null - 2>&1 | sed -n 's/.*PSNR .*average:\([0-9.inf]*\).*/\1/p'
}
one() { # ENCODER OPTIONS...: the first frame alone into first.j2k
    "$bin/ffmpeg" -v error -nostdin -y "${raw[@]}" -i "$work/first.rgb" -threads 1 -c:v "$@" -f rawvideo "$work/first.j2k"
    size=$(stat -c %s "$work/first.j2k")
}
# The quality nearest to the target: -q:v of the native encoder, where more is worse.
find_q() { # OPTIONS...
    local low=1 high=4000 middle # hundredths
    while [ $((high - low)) -gt 1 ]; do
        middle=$(((low + high) / 2))
        one jpeg2000 "$@" -q:v "$(awk "BEGIN { print $middle / 100 }")"
        if [ "$size" -gt "$target" ]; then low=$middle; else high=$middle; fi
    done
    q=$(awk "BEGIN { print $high / 100 }")
}
in_ffmpeg() { # NAME CASE ENCODER OPTIONS...
    local name=$1 case=$2 n
    shift 2
    one "$@"
    local decibel
    decibel=$(psnr "$work/first.j2k")
    for n in $threads; do
        rate "$seconds" "$bin/ffmpeg" -stream_loop -1 "${raw[@]}" -i "$work/frames.rgb" -threads "$n" -c:v "$@" -f null - || true
        line "$name" "$case" "$n" "$size" "$decibel" "$fps"
    done
}

line encoder case threads "bytes" PSNR frames/s
ours=(j2k_cuda -device cpu -format j2k -async_depth 4)
quality=$(python3 -c "import json; print([r['quality'] for r in json.load(open('$out/cpu.json'))['rows'] if r['case'] == 'hd-lossy'][0])")
in_ffmpeg "cudaenc in ffmpeg" lossless "${ours[@]}" -pred dwt53
in_ffmpeg "cudaenc in ffmpeg" lossy "${ours[@]}" -pred dwt97 -quality "$quality"
for tiles in 256x256 1920x1080; do
    native=(-format j2k -tile_width "${tiles%x*}" -tile_height "${tiles#*x}")
    in_ffmpeg "FFmpeg jpeg2000, tiles $tiles" lossless jpeg2000 "${native[@]}" -pred dwt53
    find_q "${native[@]}" -pred dwt97int
    in_ffmpeg "FFmpeg jpeg2000, tiles $tiles" lossy jpeg2000 "${native[@]}" -pred dwt97int -q:v "$q"
done

# Grok: one picture, which it reads each time from memory; the mean that it prints.
if ! [ -x "$grok" ]; then echo "Grok is not measured: no grk_compress here"; exit 0; fi
in_grok() { # CASE OPTIONS...
    local case=$1 n ms
    shift
    for n in $threads; do
        ms=$("$grok" -v -i "$work/first.ppm" -o "$work/first.j2k" -n 6 -b 32,32 -H "$n" -e 10 "$@" 2>&1 |
            sed -n 's/.*compress time: \([0-9.]*\) ms.*/\1/p')
        size=$(stat -c %s "$work/first.j2k")
        line "Grok, one picture at a time" "$case" "$n" "$size" "$(psnr "$work/first.j2k")" "$(awk "BEGIN { printf \"%.1f\", 1000 / $ms }")"
    done
}
in_grok lossless
in_grok lossy -I -r "$(awk "BEGIN { printf \"%.4f\", 6220800 / $target }")"
