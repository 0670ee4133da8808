#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# All that docs/benchmarks.md tells of, part by part; what is missing for one says so in a line. Each part leaves its results as JSON,
# and PART.run.json: the commit, the date, the command, the CPU. report.py makes the tables of them.
# Usage: run.sh FOLDER_OF_PROGRAMS OUTPUT_FOLDER [PART...]
#   rates   single frame and many, with nvJPEG2000, equal bytes and PSNR, for each picture
#   mjpeg   mjpeg_cuda, single frame and many, with nvJPEG, bytes and PSNR; all pictures in one rotation
#   decode  JPEG decoding, one picture and many, with nvJPEG and libjpeg-turbo; then in ffmpeg, with FFmpeg's decoder
#   decode_j2k  JPEG 2000 decoding, one picture and many, with nvJPEG2000: MQ and HT blocks, digital cinema, thumbnails, a region of tiles
#   decode_sweep  the same of JPEG at qualities 50 to 98 and at sizes from 64x64 to 16384x16384
#   bypass  the cases of rates without and with the arithmetic coding bypass; all pictures in one rotation, none shifted
#   targets frames of a target size, those of bypass, by METHODS ("psp pcrd"), likewise; the pictures of bypass, after it
#   ht      as rates, with the HT block coder, and nvJPEG2000's
#   ht_targets  frames of ht's sizes by psp, with both block coders; the pictures of ht, after it
#   ht_sweep  as sweep, with the HT block coder and nvJPEG2000's, and with Part 1's
#   formats 12 and 16 bits, 4:2:2, larger code-blocks; the first picture
#   sweep   9/7 from the smallest files to the largest; the first picture
#   memory  GPU memory buffer by buffer, host memory over 10 000 small frames and 2000 of 3840x2160
#   tier1   the kernels of tier-1 alone; the first picture
#   cibo    tier-1 by bit-planes; the first picture
#   cavlc   the H.264 entropy coder alone; the first picture
#   papers  each paper's own method beside ours, docs/papers.md; all pictures
#   chain   boundary B: NVDEC to the encoders in ffmpeg, for each clip
#   h264    h264_cavlc_cuda in ffmpeg at constant QPs, effort 2, for each clip
#   h264_effort_0  all of it on the GPU, with x264 on all threads; the first picture
#   cpu     JPEG 2000 on the CPU against OpenJPEG, FFmpeg's native encoder, Grok; the first picture
#   cpu_ht  the same with the HT block coder, against OpenJPH; the first picture
#   cpu_mjpeg  JPEG on the CPU against FFmpeg's native encoder; the first picture
# Environment: PICTURES, CLIPS: files; DEVICE (auto); NVJPEG_LIBRARY, NVJPEG2K_LIBRARY, OPENJPEG, TURBOJPEG, X264, GRK_COMPRESS, OJPH_COMPRESS: files; EFFORT: options of
# cudaenc_bench such as "-seconds 0.3", which a part's own give way to; THREADS="1 2 4" of the parts for the CPU, H264_THREADS=16
# shellcheck disable=SC2317 # parts are called by their names
set -euo pipefail
scripts=$(dirname "$0")
. "$scripts/rows.sh"
bin=$1 out=$2
shift 2
# A bundle has the commit in a file.
commit=$(cat "$scripts/commit" 2>/dev/null || git -C "$scripts" describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
read -r -a pictures <<<"${PICTURES-}"
read -r -a clips <<<"${CLIPS-}"
read -r -a effort <<<"${EFFORT-}"
first=("${pictures[@]:0:1}")
device=${DEVICE:-auto}
mkdir -p "$out"
libraries=(${NVJPEG_LIBRARY:+-nvjpeg "$NVJPEG_LIBRARY"} ${NVJPEG2K_LIBRARY:+-nvjpeg2k "$NVJPEG2K_LIBRARY"} ${OPENJPEG:+-openjpeg "$OPENJPEG"}
    ${TURBOJPEG:+-turbojpeg "$TURBOJPEG"})
bench() { "$bin/cudaenc_bench" -device "$device" "${libraries[@]}" "$@" "${effort[@]}"; }
has_gpu() { [ "$device" != cpu ] && { [ -e /dev/nvidiactl ] || [[ $device = emu* ]]; }; }

rates() { bench -depths 2,4,8,16,32 -o "$out/rates.json" "${pictures[@]}"; }
targets_of() { # PART RESULTS OPTIONS...: PART's lossy frames' sizes are the targets; a file RESULTS-N.json each
    local part=$1 results=$2 picture case bytes method n=0 of
    shift 2
    if ! [ -f "$out/$part.json" ]; then echo "no $part.json in $out: its frames' sizes are the targets"; return 1; fi
    rm -f "$out/$results"-*.json
    while read -r case bytes picture; do
        of=("${pictures[@]}")
        [ -z "$picture" ] || of=("$picture")
        for method in ${METHODS:-psp pcrd}; do
            bench -nvjpeg2k no -case "$case" -rate_control "$method" -frame_bytes "$bytes" -depths 2,4,8,16,32 "$@" \
                -o "$out/$results-$((++n)).json" "${of[@]}"
        done
    done < <(python3 - "$out/$part.json" "${pictures[@]}" <<'PYTHON'
import json, os, sys
files = {os.path.basename(file): file for file in sys.argv[2:]}
for row in json.load(open(sys.argv[1]))['rows']:
    if row['wavelet'] == '9/7':
        print(row['case'], round(row['bytes_per_frame']), files.get(row['picture'], ''))
PYTHON
    )
}
rotation=(-rotation -frames "$((${#pictures[@]} ? ${#pictures[@]} : 16))")
bypass() {
    local options=(-nvjpeg2k no -depths 2,4,8,16,32 "${rotation[@]}")
    bench "${options[@]}" -o "$out/bypass-none.json" "${pictures[@]}"
    bench "${options[@]}" -style bypass -o "$out/bypass.json" "${pictures[@]}"
}
targets() {
    targets_of bypass-none targets "${rotation[@]}"
    targets_of bypass targets_bypass "${rotation[@]}" -style bypass
}
ht() { bench -style ht -depths 2,4,8,16,32 -o "$out/ht.json" "${pictures[@]}"; }
ht_targets() {
    local METHODS=psp
    targets_of ht ht_targets -style ht
    targets_of ht ht_targets_mq
}
mjpeg() { bench -case mjpeg -rotation -o "$out/mjpeg.json" "${pictures[@]}"; }
decode() {
    local case
    for case in mjpeg-4k-420 mjpeg-4k-420-optimal mjpeg-4k-444 mjpeg-hd-420 mjpeg-hd-420-optimal; do
        bench -decode -rotation -case "$case" -o "$out/decode-$case.json" "${pictures[@]}"
    done
    bench -decode -rotation -case mjpeg-4k-420,mjpeg-hd-420 -restart 60 -o "$out/decode-mjpeg-restart.json" "${pictures[@]}"
    if ! [ -x "$bin/ffmpeg" ] || [ ${#first[@]} = 0 ]; then echo "no ffmpeg or no picture: decoding in it is not measured"; return; fi
    rm -f "$out/decode.jsonl"
    ROWS=$out/decode.jsonl DEVICE=$device "$scripts/decode_rate.sh" "$bin/ffmpeg" "${first[0]}"
}
decode_j2k() {
    local cases=4k-lossless,4k-lossy,hd-lossless,hd-lossy,cinema2k,cinema4k
    bench -decode -rotation -case "$cases" -o "$out/decode-j2k.json" "${pictures[@]}"
    bench -decode -rotation -case 4k-lossless,4k-lossy -style ht -o "$out/decode-j2k-ht.json" "${pictures[@]}"
    bench -decode -rotation -case 4k-lossless,4k-lossy -lowres 3 -o "$out/decode-j2k-lowres.json" "${pictures[@]}"
    # Of a slide. Few pictures: they are large. nvJPEG2000 0.11 ends the program there.
    bench -nvjpeg2k no -decode -rotation -frames 4 -case 4k-lossy -size 8192x8192 -tile "${SLIDE_TILE:-1024}" -region "${SLIDE_REGION:-3000,3000,2048,2048}" \
        -o "$out/decode-j2k-region.json" "${first[@]}"
}
decode_sweep() {
    bench -decode -rotation -case mjpeg-4k-420 -quality 50,70,80,90,95,98 -peers nvjpeg,hardware -depths 8 -sessions 4,8 \
        -o "$out/decode-qualities.json" "${pictures[@]}"
    # Many small pictures, few large ones: they take as much memory.
    local sizes=(-decode -rotation -case mjpeg-hd-420 -peers "nvjpeg,hardware" -depths 8)
    bench "${sizes[@]}" -sessions 4,8 -size 64x64,128x128,256x256,512x512,1024x1024,2048x2048 -o "$out/decode-sizes-1.json" "${pictures[@]}"
    bench "${sizes[@]}" -sessions 4 -frames 4 -size 4096x4096 -o "$out/decode-sizes-2.json" "${pictures[@]}"
    bench "${sizes[@]}" -sessions 2 -frames 2 -size 8192x8192,16384x16384 -o "$out/decode-sizes-3.json" "${first[@]}"
}
formats() {
    bench -case 4k-12bit-lossless,4k-12bit-lossy,4k-16bit-lossless,4k-16bit-lossy,4k-422p10-lossless,4k-422p10-lossy,4k-cblk64-lossless,4k-cblk64-lossy \
        -runs 3 -seconds 0.2 -single 16 -depths 8,16 -o "$out/formats.json" "${first[@]}"
}
sweep_to() { # FILE [OPTIONS...]
    bench "${@:2}" -case 4k-lossy -quality 10,40,65,80,88,93,96,98,100 -runs 3 -seconds 0.2 -single 16 -depths 8,16 -o "$1" "${first[@]}"
}
sweep() { sweep_to "$out/sweep.json"; }
ht_sweep() {
    sweep_to "$out/ht_sweep.json" -style ht
    sweep_to "$out/ht_sweep_mq.json" -nvjpeg2k no
}
memory() {
    if has_gpu; then bench -memory -frames 2 -depths 4 -o "$out/memory.json" "${first[@]}"; else echo "no GPU: its memory is not measured"; fi
    bench -endurance "${SMALL_FRAMES:-10000}" -size 320x240 -case hd-lossless,hd-lossy -o "$out/endurance-small.json" "${first[@]}"
    bench -endurance "${LARGE_FRAMES:-2000}" -case 4k-lossless,4k-lossy -o "$out/endurance-4k.json" "${first[@]}"
}
papers() { bench -papers -rotation -o "$out/papers.json" "${pictures[@]}"; }
cavlc() { bench -cavlc -o "$out/cavlc.json" "${first[@]}"; }
tier1() { bench -tier1 -runs 3 -depths 1,8,16 -o "$out/tier1.json" "${first[@]}"; }
cibo() {
    bench -cibo -case 4k-lossless,4k-lossy,hd-lossless,hd-lossy -runs 3 -depths 1,2,8 -o "$out/cibo.json" "${first[@]}"
    bench -cibo -case 4k-lossy,hd-lossy -quality 90 -runs 3 -depths 1,2,8 -o "$out/cibo-90.json" "${first[@]}"
}
chain() {
    if ! [ -x "$bin/ffmpeg" ] || [ ${#clips[@]} = 0 ]; then echo "no ffmpeg or no clips: the chain is not measured"; return; fi
    rm -f "$out/chain.jsonl"
    ROWS=$out/chain.jsonl DEVICE=$device "$scripts/chain.sh" "$bin/ffmpeg" "${clips[@]}"
}
h264() {
    if ! [ -x "$bin/ffmpeg" ] || [ ${#clips[@]} = 0 ]; then echo "no ffmpeg or no clips: H.264 is not measured"; return; fi
    rm -f "$out/h264.jsonl"
    for clip in "${clips[@]}"; do
        echo "$clip"
        ROWS=$out/h264.jsonl QPS=${QPS-12 22 32} THREADS=${H264_THREADS:-$(nproc)} "$scripts/h264_rate.sh" "$bin/ffmpeg" "$clip" -device "$device" -effort 2
    done
}
h264_effort_0() { bench -h264 -slices 1,2,4 ${X264:+-x264 "$X264"} -o "$out/h264_effort_0.json" "${first[@]}"; }
cpu_peers() { # PART of cpu_peers.sh
    if ! [ -x "$bin/ffmpeg" ] || [ ${#first[@]} = 0 ]; then echo "no ffmpeg or no picture: the CPU's peers are not measured"; return; fi
    "$scripts/cpu_peers.sh" "$bin" "${first[0]}" "$out" "$1"
}
cpu() { cpu_peers j2k; }
cpu_ht() { cpu_peers ht; }
cpu_mjpeg() { cpu_peers mjpeg; }

[ $# -gt 0 ] || set -- rates bypass targets ht ht_targets mjpeg decode decode_j2k decode_sweep formats sweep ht_sweep memory chain h264 h264_effort_0 cpu cpu_ht cpu_mjpeg
command="${EFFORT:+EFFORT=\"$EFFORT\" }run.sh $*"
status=0
for part in "$@"; do
    case $part in
    rates | bypass | targets | ht | ht_targets | mjpeg | decode | decode_j2k | decode_sweep | formats | sweep | ht_sweep | memory | tier1 | cibo | cavlc | papers | chain | h264 | h264_effort_0 | cpu | cpu_ht | cpu_mjpeg) ;;
    *) echo "run.sh: no part is called $part" >&2 && exit 1 ;;
    esac
    echo "==== $part, $(date -u +%H:%M:%S)"
    # A part may not end the others; in a shell of its own, where errors end it.
    rm -f "$out/$part.run.json"
    set +e
    (set -e; "$part") 2>&1 | tee "$out/$part.txt"
    if [ "${PIPESTATUS[0]}" = 0 ]; then
        row "$out/$part.run.json" part "$part" commit "$commit" date "$(date -u +%F)" command "$command" \
            cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
    else
        echo "run.sh: $part failed"
        status=1
    fi
    set -e
done
echo "==== $(date -u +%H:%M:%S), results in $out"
exit $status
