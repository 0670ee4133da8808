#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Encoders of the CPU, 1920x1080, for each number of threads. JPEG 2000: RGB, lossless and 9/7 at the same bytes; cudaenc and
# OpenJPEG's library in cudaenc_bench, FFmpeg's native encoder and cudaenc in ffmpeg, Grok by its own clock. HT: the same with the HT
# block coder, cudaenc in ffmpeg, OpenJPH, which has one thread, by its own clock: a process a thread. JPEG: 4:2:0, FFmpeg's native encoder and cudaenc at its bytes.
# Usage: cpu_peers.sh FOLDER_OF_PROGRAMS PHOTOGRAPH OUTPUT_FOLDER [j2k | ht | mjpeg]...
# Environment: THREADS="1 2 4 8 16"; TILES="256x256" of FFmpeg's JPEG 2000, its default, 1920x1080 is none; OPENJPEG, GRK_COMPRESS, OJPH_COMPRESS: files (default: where the system finds them).
set -euo pipefail
. "$(dirname "$0")/rows.sh"
export LC_ALL=C # EPOCHREALTIME has a point
bin=$1 photograph=$2 out=$3 threads=${THREADS:-1 2 4 8 16}
shift 3
grok=${GRK_COMPRESS:-$(command -v grk_compress || true)}
openjph=${OJPH_COMPRESS:-$(command -v ojph_compress || true)}
mkdir -p "$out"
work=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/cpu_peers.XXXXXX")
trap 'rm -rf "$work"' EXIT

line() { printf '%-34s %-9s %7s %10s %9s %12s\n' "$@" | tee -a "$out/cpu_peers_$part.txt"; }
result() { # ENCODER CASE THREADS BYTES PSNR FRAMES_PER_SECOND
    row "$out/cpu_peers_$part.jsonl" encoder "$1" case "$2" threads "$3" bytes "$4" psnr_db "$5" fps "$6"
    line "$@"
}

# The same frames as the bench's: the picture, means of 2x2, and cyclic shifts of it.
make_frames() { # PIXEL_FORMAT BYTES_OF_A_FRAME: sets raw, how ffmpeg is told of them
    raw=(-f rawvideo -pixel_format "$1" -video_size 1920x1080 -framerate 25)
    "$bin/ffmpeg" -v error -nostdin -y -loop 1 -i "$photograph" -frames:v 16 \
        -vf "scale=1920:1080:flags=area,scroll=h=0.101:v=0.098,format=$1" -f rawvideo "$work/frames.raw"
    head -c "$2" "$work/frames.raw" >"$work/first.raw"
}
make_rgb_frames() {
    make_frames rgb24 6220800
    { printf 'P6\n1920 1080\n255\n'; cat "$work/first.raw"; } >"$work/first.ppm"
}

psnr() { # FILE FORMAT: by one decoder, over all samples of FORMAT
    "$bin/ffmpeg" -hide_banner -nostdin -i "$1" "${raw[@]}" -i "$work/first.raw" \
        -lavfi "[0:v]format=$2[a];[1:v]format=$2[b];[a][b]psnr" -f null - 2>&1 | sed -n 's/.*PSNR .*average:\([0-9.inf]*\).*/\1/p'
}
one() { # ENCODER OPTIONS...: the first frame alone into $stream; sets size
    "$bin/ffmpeg" -v error -nostdin -y "${raw[@]}" -i "$work/first.raw" -threads 1 -c:v "$@" -frames:v 1 -f rawvideo "$stream"
    size=$(stat -c %s "$stream")
}

# Seconds that ffmpeg takes for FRAMES frames; the least of $repeats times. Frames are read once, then repeated from memory.
repeats=1
wall() { # FRAMES ENCODER OPTIONS...
    local count=$1 i begin least=1e9
    shift
    for ((i = 0; i < repeats; i++)); do
        begin=$EPOCHREALTIME
        "$bin/ffmpeg" -v error -nostdin "${raw[@]}" -i "$work/frames.raw" -vf loop=loop=-1:size=16:start=0 -c:v "$@" \
            -frames:v "$count" -f null -
        least=$(awk "BEGIN { t = $EPOCHREALTIME - $begin; print t < $least ? t : $least }")
    done
    echo "$least"
}
# Frames/s beyond the first round of a frame a thread, over ROUNDS more of them, so that neither the start nor bursts of encoders
# that give as many frames at once as they have threads count.
in_ffmpeg() { # NAME CASE ROUNDS PSNR_FORMAT ENCODER OPTIONS...
    local name=$1 case=$2 rounds=$3 format=$4 n decibel once all
    shift 4
    one "$@"
    decibel=$(psnr "$stream" "$format")
    for n in $threads; do
        once=$(wall "$n" "$@" -threads "$n")
        all=$(wall $((n * (rounds + 1))) "$@" -threads "$n")
        result "$name" "$case" "$n" "$size" "$decibel" "$(awk "BEGIN { printf \"%.1f\", $n * $rounds / ($all - $once) }")"
    done
}

# Sets q: the native JPEG 2000 encoder's -q:v, where more is worse, that is nearest to the target.
find_q() { # OPTIONS...
    local low=1 high=4000 middle # hundredths
    while [ $((high - low)) -gt 1 ]; do
        middle=$(((low + high) / 2))
        one jpeg2000 "$@" -q:v "$(awk "BEGIN { print $middle / 100 }")"
        if [ "$size" -gt "$target" ]; then low=$middle; else high=$middle; fi
    done
    q=$(awk "BEGIN { print $high / 100 }")
}
# Sets quality: mjpeg_cuda's that is nearest to the target.
find_quality() { # OPTIONS...
    local fits=1 above=101 middle below=0
    while [ $((above - fits)) -gt 1 ]; do
        middle=$(((fits + above) / 2))
        one "$@" -quality $middle
        if [ "$size" -le "$target" ]; then fits=$middle below=$size; else above=$middle; fi
    done
    quality=$fits
    [ "$above" -le 100 ] || return 0
    one "$@" -quality "$above"
    [ $((size - target)) -ge $((target - below)) ] || quality=$above
}
in_grok() { # CASE OPTIONS...
    local case=$1 n ms
    shift
    for n in $threads; do
        ms=$("$grok" -v -i "$work/first.ppm" -o "$stream" -n 6 -b 32,32 -H "$n" -e 10 "$@" 2>&1 |
            sed -n 's/.*compress time: \([0-9.]*\) ms.*/\1/p')
        size=$(stat -c %s "$stream")
        result "Grok, one picture at a time" "$case" "$n" "$size" "$(psnr "$stream" gbrp)" "$(awk "BEGIN { printf \"%.1f\", 1000 / $ms }")"
    done
}

j2k() {
    stream=$work/first.j2k
    "$bin/cudaenc_bench" -device cpu -threads "${threads// /,}" -case hd-lossless,hd-lossy -single 7 -runs 3 -seconds 0.7 -depths 4 \
        ${OPENJPEG:+-openjpeg "$OPENJPEG"} -o "$out/cpu.json" "$photograph" | tee "$out/cpu.txt" | sed -n '/^case/,$p'
    # What lossy encoders shall reach: the first frame's size, which is the target of all.
    target=$(python3 -c "import json; print([r['first_frame_bytes'] for r in json.load(open('$out/cpu.json'))['rows'] if r['case'] == 'hd-lossy'][0])")
    make_rgb_frames
    ours=(j2k_cuda -device cpu -format j2k -async_depth 4)
    quality=$(python3 -c "import json; print([r['quality'] for r in json.load(open('$out/cpu.json'))['rows'] if r['case'] == 'hd-lossy'][0])")
    in_ffmpeg "cudaenc in ffmpeg" lossless 6 gbrp "${ours[@]}" -pred dwt53
    in_ffmpeg "cudaenc in ffmpeg" lossy 12 gbrp "${ours[@]}" -pred dwt97 -quality "$quality"
    for tiles in ${TILES:-256x256}; do
        native=(-format j2k -tile_width "${tiles%x*}" -tile_height "${tiles#*x}")
        in_ffmpeg "FFmpeg jpeg2000, tiles $tiles" lossless 6 gbrp jpeg2000 "${native[@]}" -pred dwt53
        find_q "${native[@]}" -pred dwt97int
        in_ffmpeg "FFmpeg jpeg2000, tiles $tiles" lossy 6 gbrp jpeg2000 "${native[@]}" -pred dwt97int -q:v "$q"
    done

    # Grok: one picture, which it reads each time from memory; the mean that it prints.
    if ! [ -x "$grok" ]; then echo "Grok is not measured: no grk_compress here"; return; fi
    in_grok lossless
    in_grok lossy -I -r "$(awk "BEGIN { printf \"%.4f\", 6220800 / $target }")"
}

run_openjph() { # FILE OPTIONS...: the first picture into FILE; prints the seconds that it took
    "$openjph" -i "$work/first.ppm" -o "$1" -num_decomps 5 -block_size "{32,32}" "${@:2}" 2>&1 |
        sed -n 's/.*Elapsed time = \([0-9.]*\).*/\1/p'
}
in_openjph() { # CASE OPTIONS...: the best of seven rounds, in which so many processes code the picture at once
    local case=$1 n i k rate best
    shift
    for n in $threads; do
        best=0
        for ((i = 0; i < 7; i++)); do
            for ((k = 0; k < n; k++)); do run_openjph "$work/$k.j2c" "$@" >"$work/$k.seconds" & done
            wait
            rate=$(cat "$work"/*.seconds | awk '{ sum += 1 / $1 } END { print sum }')
            rm "$work"/*.seconds
            best=$(awk "BEGIN { print ($rate > $best ? $rate : $best) }")
        done
        size=$(stat -c %s "$work/0.j2c")
        result "OpenJPH, a process a thread" "$case" "$n" "$size" "$(psnr "$work/0.j2c" gbrp)" "$(printf %.1f "$best")"
    done
}
# Sets qstep: OpenJPH's, where more is worse, that is nearest below the target.
find_qstep() {
    local low=0.0001 high=0.2 middle i
    for ((i = 0; i < 16; i++)); do
        middle=$(awk "BEGIN { printf \"%.6f\", sqrt($low * $high) }")
        run_openjph "$stream" -qstep "$middle" >"$work/seconds"
        size=$(stat -c %s "$stream")
        if [ "$size" -gt "$target" ]; then low=$middle; else high=$middle; fi
    done
    qstep=$high
}

ht() {
    stream=$work/first.j2c # a name that OpenJPH knows
    repeats=7 # as of OpenJPH
    make_rgb_frames
    ours=(j2k_cuda -device cpu -format j2k -async_depth 16 -cblk_style ht) # as many frames at once as OpenJPH has pictures
    in_ffmpeg "cudaenc in ffmpeg" lossless 12 gbrp "${ours[@]}" -pred dwt53
    in_ffmpeg "cudaenc in ffmpeg" lossy 12 gbrp "${ours[@]}" -pred dwt97 -quality 80
    target=$size
    if ! [ -x "$openjph" ]; then echo "OpenJPH is not measured: no ojph_compress here"; return; fi
    in_openjph lossless -reversible true
    find_qstep
    in_openjph lossy -qstep "$qstep"
}

mjpeg() {
    local huffman
    stream=$work/first.jpg
    repeats=3 # they are short
    make_frames yuvj420p 3110400
    ours=(mjpeg_cuda -device cpu -async_depth 4)
    for huffman in default optimal; do
        native=(mjpeg -q:v 2 -huffman "$huffman")
        one "${native[@]}"
        target=$size
        find_quality "${ours[@]}" -huffman $huffman
        in_ffmpeg "FFmpeg mjpeg" $huffman 60 yuvj420p "${native[@]}"
        in_ffmpeg "FFmpeg mjpeg, slices" $huffman 60 yuvj420p "${native[@]}" -thread_type slice
        in_ffmpeg "cudaenc in ffmpeg, quality $quality" $huffman 60 yuvj420p "${ours[@]}" -huffman $huffman -quality "$quality"
    done
}

[ $# -gt 0 ] || set -- j2k ht mjpeg
for part in "$@"; do
    : >"$out/cpu_peers_$part.txt"
    rm -f "$out/cpu_peers_$part.jsonl"
    line encoder case threads "bytes" PSNR frames/s
    "$part"
done
