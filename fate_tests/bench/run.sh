#!/bin/bash
# All that docs/benchmarks.md tells of, part by part; what is missing for one says so in a line.
# Usage: run.sh FOLDER_OF_PROGRAMS OUTPUT_FOLDER [PART...]   SPDX-License-Identifier: LGPL-2.1-or-later
#   rates   single frame and many, with nvJPEG2000, equal bytes and PSNR, for each picture
#   mjpeg   mjpeg_cuda, single frame and many, with nvJPEG, bytes and PSNR; all pictures in one rotation
#   formats 12 and 16 bits, 4:2:2, larger code-blocks; the first picture
#   sweep   9/7 from the smallest files to the largest; the first picture
#   memory  GPU memory buffer by buffer, host memory over 10 000 small frames and 2000 of 3840x2160
#   tier1   the kernels of tier-1 alone; the first picture
#   cibo    tier-1 by bit-planes; the first picture
#   cavlc   the H.264 entropy coder alone; the first picture
#   chain   boundary B: NVDEC to the encoders in ffmpeg, for each clip
#   cpu     JPEG 2000 on the CPU against OpenJPEG, FFmpeg's native encoder, Grok; the first picture
#   cpu_mjpeg  JPEG on the CPU against FFmpeg's native encoder; the first picture
# Environment: PICTURES, CLIPS: files; DEVICE (auto); NVJPEG_LIBRARY, NVJPEG2K_LIBRARY, OPENJPEG, GRK_COMPRESS: files; EFFORT: options of
# cudaenc_bench such as "-seconds 0.3"
# shellcheck disable=SC2317 # parts are called by their names
set -euo pipefail
scripts=$(dirname "$0")
bin=$1 out=$2
shift 2
read -r -a pictures <<<"${PICTURES-}"
read -r -a clips <<<"${CLIPS-}"
read -r -a effort <<<"${EFFORT-}"
first=("${pictures[@]:0:1}")
device=${DEVICE:-auto}
mkdir -p "$out"
bench=("$bin/cudaenc_bench" -device "$device" "${effort[@]}" ${NVJPEG_LIBRARY:+-nvjpeg "$NVJPEG_LIBRARY"} ${NVJPEG2K_LIBRARY:+-nvjpeg2k "$NVJPEG2K_LIBRARY"} ${OPENJPEG:+-openjpeg "$OPENJPEG"})
has_gpu() { [ "$device" != cpu ] && { [ -e /dev/nvidiactl ] || [[ $device = emu* ]]; }; }

rates() { "${bench[@]}" -o "$out/rates.json" "${pictures[@]}"; }
mjpeg() { "${bench[@]}" -case mjpeg -rotation -o "$out/mjpeg.json" "${pictures[@]}"; }
formats() {
    "${bench[@]}" -case 4k-12bit-lossless,4k-12bit-lossy,4k-16bit-lossless,4k-16bit-lossy,4k-422p10-lossless,4k-422p10-lossy,4k-cblk64-lossless,4k-cblk64-lossy \
        -runs 3 -seconds 0.2 -single 16 -depths 8,16 -o "$out/formats.json" "${first[@]}"
}
sweep() { "${bench[@]}" -case 4k-lossy -quality 10,40,65,80,88,93,96,98,100 -runs 3 -seconds 0.2 -single 16 -depths 8,16 -o "$out/sweep.json" "${first[@]}"; }
memory() {
    if has_gpu; then "${bench[@]}" -memory -frames 2 -depths 4 -o "$out/memory.json" "${first[@]}"; else echo "no GPU: its memory is not measured"; fi
    "${bench[@]}" -endurance "${SMALL_FRAMES:-10000}" -size 320x240 -case hd-lossless,hd-lossy -o "$out/endurance-small.json" "${first[@]}"
    "${bench[@]}" -endurance "${LARGE_FRAMES:-2000}" -case 4k-lossless,4k-lossy -o "$out/endurance-4k.json" "${first[@]}"
}
cavlc() { "${bench[@]}" -cavlc -o "$out/cavlc.json" "${first[@]}"; }
tier1() { "${bench[@]}" -tier1 -runs 3 -depths 1,8,16 -o "$out/tier1.json" "${first[@]}"; }
cibo() {
    "${bench[@]}" -cibo -case 4k-lossless,4k-lossy,hd-lossless,hd-lossy -runs 3 -depths 1,2,8 -o "$out/cibo.json" "${first[@]}"
    "${bench[@]}" -cibo -case 4k-lossy,hd-lossy -quality 90 -runs 3 -depths 1,2,8 -o "$out/cibo-90.json" "${first[@]}"
}
chain() {
    if ! [ -x "$bin/ffmpeg" ] || [ ${#clips[@]} = 0 ]; then echo "no ffmpeg or no clips: the chain is not measured"; return; fi
    DEVICE=$device "$scripts/chain.sh" "$bin/ffmpeg" "${clips[@]}"
}
cpu_peers() { # PART of cpu_peers.sh
    if ! [ -x "$bin/ffmpeg" ] || [ ${#first[@]} = 0 ]; then echo "no ffmpeg or no picture: the CPU's peers are not measured"; return; fi
    "$scripts/cpu_peers.sh" "$bin" "${first[0]}" "$out" "$1"
}
cpu() { cpu_peers j2k; }
cpu_mjpeg() { cpu_peers mjpeg; }

[ $# -gt 0 ] || set -- rates mjpeg formats sweep memory chain cpu cpu_mjpeg
status=0
for part in "$@"; do
    case $part in
    rates | mjpeg | formats | sweep | memory | tier1 | cibo | cavlc | chain | cpu | cpu_mjpeg) ;;
    *) echo "run.sh: no part is called $part" >&2 && exit 1 ;;
    esac
    echo "==== $part, $(date -u +%H:%M:%S)"
    # A part may not end the others; in a shell of its own, where errors end it.
    set +e
    (set -e; "$part") 2>&1 | tee "$out/$part.txt"
    [ "${PIPESTATUS[0]}" = 0 ] || { echo "run.sh: $part failed"; status=1; }
    set -e
done
echo "==== $(date -u +%H:%M:%S), results in $out"
exit $status
