#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Boundary B: NVDEC, or another decoder, to the encoders in one ffmpeg command, frames staying on the GPU, against its parts' own
# rates.
# Usage: chain.sh FFMPEG CLIP...   a line of results each;
# Environment: SECONDS_EACH=4 that a command is watched; DEPTHS="4 8 16"; QUEUES="default 32" (CUDA_DEVICE_MAX_CONNECTIONS);
# CODERS="dwt53 dwt97 jpeg jpeg-default", also cinema, the digital cinema profile that has room for the clip, and h264, with P pictures; MUXERS="mxf nut" for JPEG 2000, MJPEG_MUXERS="mov nut", H264_MUXERS="mp4 nut"; WORK=folder for their files,
# best of memory; DECODER="j2k_cuda -async_depth 16": in place of NVDEC, of clips in a format of CUDA frames, which it reads from
# COPIES=128 of the clip in a row; DEVICE=cpu: to try this script; ROWS=file: the lines as JSON, too.
set -euo pipefail
. "$(dirname "$0")/rate.sh"
. "$(dirname "$0")/rows.sh"
ffmpeg=$1
shift
seconds=${SECONDS_EACH:-4} device=${DEVICE:-auto}
# A lossless 4K stream grows by gigabytes a second.
room() { df --output=avail -k "$1" 2>/dev/null | tail -n 1; }
work=${WORK:-$([ "$(room /dev/shm || echo 0)" -gt 30000000 ] && echo /dev/shm || echo /tmp)}
out=$(mktemp -d "$work/chain.XXXXXX")
trap 'rate_stop; rm -rf "$out"' EXIT

decode=(-hwaccel cuda -hwaccel_output_format cuda) upload=(-init_hw_device cuda) to_gpu=hwupload, format='format=nv12|p010,'
[ "$device" != cpu ] || decode=() upload=() to_gpu=
read -r -a own <<<"${DECODER-}"
[ ${#own[@]} = 0 ] || own=(-c:v "${own[@]}" -device "$device") format=
queues() { if [ "$1" = default ]; then unset CUDA_DEVICE_MAX_CONNECTIONS; else export CUDA_DEVICE_MAX_CONNECTIONS=$1; fi; }
share() { awk "BEGIN { slower = ($2 < $3) ? $2 : $3; if (slower > 0) printf \"%.0f %%\", 100 * $1 / slower }"; }
line() { printf '%-16s %-12s %-8s %6s %10s %10s %10s %9s  %s\n' "$@"; }
result() { # MUXER BYTES: of the variables that a measurement leaves
    row "${ROWS-}" clip "$name" coder "$name_of_coder" queues "$queue" depth "$depth" nvdec_fps "$decoder" encoder_fps "$encoder" chain_fps "$fps" muxer "$1" bytes "$2"
    line "$name" "$name_of_coder" "$queue" "$depth" "$decoder" "$encoder" "$fps" "$(share "$fps" "$decoder" "$encoder")" "${1:+$1, $2 bytes/frame}"
}
choose() { # CODER: sets coder, how ffmpeg is told of it, and the muxers that take it
    muxers=${MUXERS-mxf nut}
    case $1 in
    dwt53 | dwt97) coder=(j2k_cuda -format j2k -pred "$1") ;;
    cinema)
        local width
        width=$("$ffmpeg" -hide_banner -nostdin -i "$clip" 2>&1 | sed -n 's/.* Video: .* \([0-9]\{2,5\}\)x[0-9]\{2,5\}.*/\1/p' | head -n 1)
        coder=(j2k_cuda -profile:v "cinema$([ "$width" -gt 2048 ] && echo 4k || echo 2k)") muxers=${CINEMA_MUXERS-}
        ;;
    jpeg) coder=(mjpeg_cuda) muxers=${MJPEG_MUXERS-mov nut} ;;
    jpeg-default) coder=(mjpeg_cuda -huffman default) muxers=${MJPEG_MUXERS-mov nut} ;;
    h264) coder=(h264_cavlc_cuda -g 250 -qp 26) muxers=${H264_MUXERS-mp4 nut} ;; # of 8 bits
    *) echo "chain.sh: no coder is called $1" >&2 && exit 1 ;;
    esac
}

echo "frames/s, each watched for $seconds s after its start; muxed files in $work"
line clip coder queues depth decoder encoder chain "of slower" ""
for clip in "$@"; do
    name=$(basename "${clip%.*}") looped=$clip
    if [ ${#own[@]} != 0 ]; then # it would be drained at the end of each loop
        looped=$out/looped.${clip##*.}
        "$ffmpeg" -v error -nostdin -y -stream_loop $((${COPIES:-128} - 1)) -i "$clip" -map 0:v -c copy "$looped"
    fi
    for queue in ${QUEUES:-default 32}; do
        queues "$queue"
        # Frames in flight are taken from the decoder's own.
        decoded=(-stream_loop -1 "${decode[@]}" -extra_hw_frames 16 "${own[@]}" -i "$looped" -map 0:v -fps_mode passthrough)
        # The clip's first frames, uploaded to GPU memory, then again and again from there: no part of the decoder's is in it.
        frames=("${upload[@]}" "${own[@]}" -i "$clip" -map 0:v -fps_mode passthrough -vf "$format${to_gpu}loop=loop=-1:size=32:start=0")
        fps=0
        rate "$seconds" "$ffmpeg" "${decoded[@]}" -f null - || true
        decoder=$fps
        for name_of_coder in ${CODERS:-dwt53 dwt97 jpeg jpeg-default}; do
            choose "$name_of_coder"
            for depth in ${DEPTHS:-4 8 16}; do
                encode=(-c:v "${coder[@]}" -device "$device" -async_depth "$depth")
                rate "$seconds" "$ffmpeg" "${frames[@]}" "${encode[@]}" -f null - || true
                encoder=$fps
                rate "$seconds" "$ffmpeg" "${decoded[@]}" "${encode[@]}" -f null - || true
                result '' 0
            done
            for muxer in $muxers; do # at the last depth
                rate "$seconds" "$ffmpeg" "${decoded[@]}" "${encode[@]}" -f "$muxer" "$out/out.$muxer" || true
                result "$muxer" "$bytes"
                rm -f "$out/out.$muxer"
            done
        done
    done
done
