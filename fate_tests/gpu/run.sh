#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The tests that need a GPU, from a bundle (make gpu-bundle): builds nothing. Needs NVIDIA's driver, xz and a C library as late
# as gpu-bundle says; all others are in the bundle.
# Usage: run.sh [DEVICE]   DEVICE: cuda (default), cuda:N
# Environment: JOBS tests at a time; GPUS=N: in turn on the first N GPUs; FUZZ=20 rounds; LIMIT=900 seconds of a check program; SOAK=20000 frames; PROCESSES=8 that share the GPU for as many again; BENCH="options" of cudaenc_bench, BENCH=no: none; SANITIZER=path of compute-sanitizer;
# CHECKS=regular expression: of pictures and sanitizer those whose names match;
# PARTS="fate programs pictures sanitizer soak bench": these alone, added to the record that is there if it is of the same sources.
# Writes gpu-record.txt, to be committed as fate_tests/gpu-record.txt, and logs/. Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")"
device=${1:-cuda}
jobs=${JOBS:-$(nproc)}
record=gpu-record.txt
parts=${PARTS:-fate programs pictures sanitizer soak bench}
rm -rf logs tests/data tests/ref
mkdir -p logs
xz -dc tests/fate.tar.xz | tar -C tests -x # raw video, references
export LD_LIBRARY_PATH=$PWD/emu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # FATE's ffmpeg looks where it was built

part() { [[ " $parts " = *" $1 "* ]]; }
say() { echo "$*" | tee -a "$record"; }

# tally NAME GOOD BAD: one line of the record.
tally() {
    say "$(printf '%-28s %4d passed, %d failed' "$1" "$2" "$3")"
}

# start NAME COMMAND...: what it prints, and its exit status, go to logs/. The GPUs take turns.
turn=0
start() {
    local name=$1 status=0
    shift
    [ -z "${GPUS-}" ] || export CUDA_VISIBLE_DEVICES=$((turn % GPUS))
    "$@" >"logs/$name.log" 2>&1 || status=$?
    echo $status >"logs/$name.status"
}

# beside NAME COMMAND...: start, beside others, since each waits for the GPU most of the time.
beside() {
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
    start "$@" &
    turn=$((turn + 1))
}

# check NAME COMMAND...: one test. Results, in order, are settle's.
checks=()
check() {
    [[ $1 =~ ${CHECKS:-.} ]] || return 0
    checks+=("$1")
    beside "$@"
}
settle() {
    local name
    wait
    for name in "${checks[@]}"; do
        if [ "$(cat "logs/$name.status")" = 0 ]; then tally "$name" 1 0; else
            tail -n 20 "logs/$name.log"
            tally "$name" 0 1
        fi
    done
    checks=()
}

# A frame or a few, encoded; the md5 of the packets.
codec=j2k_cuda
encode() { # BINARY DEVICE INPUT_OPTIONS ENCODER_OPTIONS
    # shellcheck disable=SC2086 # words
    "$1" -v error -nostdin $3 -c:v $codec -device "$2" $4 -f md5 -
}

picture() { echo "-f lavfi -i mandelbrot=s=$1:end_pts=40,noise=alls=$2:allf=t,format=$3 -frames:v $4"; }

# The samples of a JPEG picture that was decoded into the GPU's memory are the CPU's.
into_gpu=(-hwaccel cuda -hwaccel_output_format cuda -c:v mjpeg_cuda -device "$device")
decoded() { # FORMAT
    local cpu cuda
    # shellcheck disable=SC2046 # words
    bin/ffmpeg -v error -nostdin -y $(picture 1280x720 4 "$1" 20) -c:v mjpeg_cuda -device cpu "logs/$1.nut"
    cpu=$(bin/ffmpeg -v error -nostdin -c:v mjpeg_cuda -device cpu -i "logs/$1.nut" -f md5 -)
    cuda=$(bin/ffmpeg -v error -nostdin "${into_gpu[@]}" -i "logs/$1.nut" -vf "hwdownload,format=${1/j/}" -f md5 -)
    echo "cpu $cpu cuda $cuda"
    [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]
}

# The same of a JPEG 2000 picture.
decoded_j2k() { # FORMAT OPTIONS
    local cpu cuda
    # shellcheck disable=SC2046,SC2086 # words
    bin/ffmpeg -v error -nostdin -y $(picture 1280x720 4 "$1" 20) -c:v j2k_cuda -device cpu $2 "logs/j2k-$1.nut"
    cpu=$(bin/ffmpeg -v error -nostdin -c:v j2k_cuda -device cpu -i "logs/j2k-$1.nut" -f md5 -)
    cuda=$(bin/ffmpeg -v error -nostdin -hwaccel cuda -hwaccel_output_format cuda -c:v j2k_cuda -device "$device" \
        -i "logs/j2k-$1.nut" -vf "hwdownload,format=$1" -f md5 -)
    echo "cpu $cpu cuda $cuda"
    [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]
}

# ---- What ran where
name=$(./ffmpeg -v info -nostdin -f lavfi -i testsrc2=s=64x64 -frames:v 1 -c:v j2k_cuda -format j2k -device "$device" -f null - 2>&1 |
    sed -n 's/^\[j2k_cuda @ [^]]*\] *\(cuda:[^:]*\):.*/\1/p' | head -n 1 || true)
if [ -z "$name" ]; then
    ./ffmpeg -v info -nostdin -f lavfi -i testsrc2=s=64x64 -frames:v 1 -c:v j2k_cuda -device "$device" -f null - || true
    echo "no CUDA device answered"
    echo "0 passed, 1 failed"
    exit 1
fi
if [ -n "${PARTS-}" ] && [ "$(grep '^tree ' "$record" 2>/dev/null)" = "$(cat trees)" ]; then
    sed -i '/^[0-9]* passed, [0-9]* failed$/d' "$record"
else
    : >"$record"
    say "date   $(date -u +%Y-%m-%d)"
    say "device $name"
    say "driver $(cat /sys/module/nvidia/version 2>/dev/null || nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    say "$(cat trees)"
    say ""
fi

# ---- FATE: the references that hold for the CPU hold for the GPU. Both run here, so that their bytes are the same here too.
if part fate; then
    total=$(wc -l <fate-commands)
    fate() { # NAME DEVICE
        sed "s|@DEVICE@|$2|g" fate-commands >logs/commands
        export FATE_LOG=logs/fate-$1.log
        : >"$FATE_LOG"
        # A process with one work queue instead of eight starts four times as fast beside fifteen others.
        # shellcheck disable=SC2016 # the inner shell expands
        CUDA_DEVICE_MAX_CONNECTIONS=1 xargs -d '\n' -P "$jobs" -n 1 --process-slot-var=SLOT bash -c '[ -z "${GPUS-}" ] || export CUDA_VISIBLE_DEVICES=$((SLOT % GPUS)); eval "$0" >/dev/null 2>&1 || echo "failed: ${0:0:60}" >>"$FATE_LOG"' <logs/commands
        bad=$(wc -l <"$FATE_LOG")
        head -n 20 "$FATE_LOG"
        tally "fate-$1" $((total - bad)) "$bad"
    }
    fate cpu cpu
    fate gpu "$device"
    # The same kernels, by the other compiler.
    [ ! -d emu-ptx ] || LD_LIBRARY_PATH=$PWD/emu-ptx:$LD_LIBRARY_PATH fate gpu-kernels-by-clang "$device"
fi

# ---- The check programs, on the GPU and on the emulator, beside each other but for the one that fills the GPU's memory; their
# results in order
if part programs; then
    # unit NAME: a program on libcheck, which ends in "100%: Checks: 12, Failures: 0, Errors: 0".
    unit() {
        local good bad
        read -r good bad < <(awk -F'[:,] *' -v status="$(cat "logs/$1.status")" '/Checks: / { n += $3; bad += $5 + $7 }
            END { if (status && !bad) { bad = 1; n++ } print n - bad, bad + 0 }' "logs/$1.log")
        [ "$bad" = 0 ] || tail -n 20 "logs/$1.log"
        tally "$1" "$good" "$bad"
        grep -E '^(skipped:|nvJPEG )' "logs/$1.log" | sort -u | while read -r line; do say "    $line"; done || true
    }
    # Each in parts, since each test of a GPU makes a context of its own.
    in_parts() { # PROGRAM PARTS [ARGUMENT]
        local i
        for ((i = 0; i < $2; i++)); do
            beside "${1##*/}-$i" timeout "${LIMIT:-900}" "$1" "--part=$i/$2" "$device" ${3-}
        done
    }
    for program in check/test_*; do
        case ${program##*/} in
            test_driver_faults) ;;
            test_faults) in_parts "$program" 16 ;;
            *) in_parts "$program" 4 emu ;;
        esac
    done
    beside fuzz bin/cudaenc_fuzz "${FUZZ:-20}" 1 "$device" # random options and pictures, a process each
    beside api bin/api "$device"
    wait
    for program in check/test_*; do
        name=${program##*/}
        [ -f "logs/$name-0.log" ] || continue
        cat "logs/$name"-*.log >"logs/$name.log"
        sort -n "logs/$name"-*.status | tail -n 1 >"logs/$name.status"
    done
    start test_driver_faults check/test_driver_faults "$device"
    for program in check/test_*; do unit "${program##*/}"; done
    unit fuzz
    read -r good bad < <(awk '/ passed, / { print $1, $3; found = 1 } END { if (!found) print 0, 1 }' logs/api.log)
    [ "$bad" = 0 ] || tail -n 20 logs/api.log
    tally api "$good" "$bad"
fi

# ---- Pictures as large as real ones: cuda = cpu
if part pictures; then
    same() { # INPUT_OPTIONS ENCODER_OPTIONS [INPUT_OPTIONS of cuda]
        local cpu cuda
        cpu=$(encode ./ffmpeg cpu "$1" "$2")
        cuda=$(encode ./ffmpeg "$device" "${3:-$1}" "$2")
        echo "cpu $cpu cuda $cuda"
        [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]
    }
    check equal-hd-420p same "$(picture 1920x1080 4 yuv420p 12)" ""
    check equal-hd-422p10-lossless same "$(picture 1920x1080 4 yuv422p10le 6)" "-pred dwt53"
    check equal-4k-rgb same "$(picture 3840x2160 4 rgb24 3)" ""
    check equal-4k-rgb-lossless same "$(picture 3840x2160 0 rgb24 3)" "-pred dwt53"
    check equal-4k-rgb48 same "$(picture 3840x2160 4 rgb48le 2)" "-cblk_width 64 -cblk_height 64"
    check equal-noise same "-f lavfi -i nullsrc=s=2048x1080,geq=random(1)*255:128:128,format=gray -frames:v 2" "-pred dwt53"
    check equal-tiles same "$(picture 2048x1556 2 gbrp10le 2)" "-tile_width 512 -tile_height 300 -prog rpcl -precincts 128x128"
    check equal-depth-1 same "$(picture 1280x720 4 yuv444p 20)" "-async_depth 1"
    check equal-depth-16 same "$(picture 1280x720 4 yuv444p 40)" "-async_depth 16"
    check equal-hd-bypass same "$(picture 1920x1080 4 rgb24 4)" "-cblk_style bypass"
    check equal-hd-psp same "$(picture 1920x1080 4 rgb24 16)" "-rate_control psp -frame_bytes 300000 -async_depth 8"
    check equal-4k-psp same "$(picture 3840x2160 4 rgb24 3)" "-rate_control psp -frame_bytes 1200000"
    check equal-hd-layers same "$(picture 1920x1080 4 yuv422p10le 4)" "-rate_control pcrd -layer_rates 80,40,20,10"
    check equal-hd-bpi same "$(picture 1920x1080 4 rgb24 4)" "-rate_control bpi -compression_ratio 20 -cblk_style bypass+termall"
    check equal-cinema2k same "$(picture 2048x1080:r=24 4 xyz12le 4)" "-profile cinema2k"

    codec=mjpeg_cuda
    check equal-mjpeg-hd-420 same "$(picture 1920x1080 4 yuvj420p 12)" ""
    check equal-mjpeg-4k-420-default same "$(picture 3840x2160 4 yuvj420p 4)" "-huffman default"
    check equal-mjpeg-4k-444 same "$(picture 3840x2160 4 yuvj444p 4)" "-huffman default -async_depth 2"
    check equal-mjpeg-trellis same "$(picture 1920x1080 4 yuvj420p 12)" "-trellis 1"
    check equal-mjpeg-trellis-flat-default same "$(picture 1920x1080 4 yuvj422p 4)" "-trellis 1 -matrix flat -huffman default"
    check equal-mjpeg-rgb-mct same "$(picture 1920x1080 4 rgb24 4)" "-mct 1 -restart_interval row"
    check equal-mjpeg-noise same "-f lavfi -i nullsrc=s=2048x1080,geq=random(1)*255:random(2)*255:random(3)*255,format=yuvj444p -frames:v 2" \
        "-quality 100"
    check equal-mjpeg-bitrate same "$(picture 1920x1080 4 yuvj420p 12)" "-b:v 60M"
    check equal-mjpeg-depth-16 same "$(picture 1280x720 4 yuvj422p 40)" "-async_depth 16"
    codec=h264_cavlc_cuda
    check equal-h264-hd same "$(picture 1920x1080 4 yuv420p 8)" ""
    check equal-h264-4k same "$(picture 3840x2160 4 yuv420p 3)" "-qp 16"
    check equal-h264-422p10 same "$(picture 1920x1080 4 yuv422p10le 4)" "-crf 14"
    check equal-h264-444p10-lossless same "$(picture 640x360 4 yuv444p10le 3)" "-qp -12"
    check equal-h264-noise same "-f lavfi -i nullsrc=s=640x360,geq=random(1)*255:random(2)*255:random(3)*255,format=yuv422p -frames:v 2" "-qp 0"
    check equal-h264-bitrate same "$(picture 1280x720 4 yuv420p 12)" "-b:v 20M -bufsize 2M -cbr 1 -slices 4"
    check equal-h264-depth-16 same "$(picture 640x360 4 yuv420p 40)" "-async_depth 16"
    check equal-h264-gop same "$(picture 1920x1080 4 yuv420p 24)" "-g 12 -qp 26"
    check equal-h264-gop-bitrate same "$(picture 1280x720 4 yuv420p 40)" "-g 250 -b:v 4M -maxrate 4M -bufsize 4M"
    check equal-h264-shared-launches same "$(picture 1280x720 4 yuv420p 40)" "-effort 0 -qp 22 -async_depth 24"
    codec=j2k_cuda
    settle

    # ---- Frames that are in the GPU's memory already, in every format that FFmpeg has there
    from_gpu() { # FORMAT ENCODER_OPTIONS
        local frames
        frames=$(picture 1280x720 4 "$1" 6)
        same "$frames" "$2" "-init_hw_device cuda ${frames/ -frames:v/ -vf hwupload -frames:v}"
    }
    for format in nv12 yuv420p yuva420p yuv444p p010le p016le yuv444p16le bgr0 rgb0 bgra rgba; do
        check "frames-$format" from_gpu $format "-async_depth 4"
    done
    codec=mjpeg_cuda
    for format in nv12 yuv420p yuv444p bgr0 rgb0; do
        check "frames-mjpeg-$format" from_gpu $format "-async_depth 4 -strict unofficial"
    done
    codec=h264_cavlc_cuda
    for format in nv12 yuv420p yuv444p p010le; do
        check "frames-h264-$format" from_gpu $format "-async_depth 4"
    done
    check frames-h264-gop-nv12 from_gpu nv12 "-g 5"
    codec=j2k_cuda
    settle

    # ---- A whole chain on the GPU, if the full ffmpeg can make its input; nothing is compared
    chain() { # ENCODER [ENCODER_OPTIONS]
        bin/ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=1280x720,format=yuv420p -frames:v 30 -c:v mpeg2video -q:v 2 "logs/$1.mpg" &&
            bin/ffmpeg -v error -nostdin -hwaccel cuda -hwaccel_output_format cuda -i "logs/$1.mpg" \
                -vf scale_cuda=1920:1080 -c:v "$1" ${2-} -f null -
    }
    check chain-nvdec-scale chain j2k_cuda
    check chain-nvdec-scale-mjpeg chain mjpeg_cuda
    check chain-nvdec-scale-h264 chain h264_cavlc_cuda
    settle
    check chain-nvdec-scale-h264-gop chain h264_cavlc_cuda "-g 250 -crf 26"
    settle

    # ---- Pictures that are decoded into the GPU's memory have the CPU's samples
    decode_chain() { # ENCODER
        bin/ffmpeg -v error -nostdin "${into_gpu[@]}" -i logs/yuvj420p.nut -vf scale_cuda=640:360 -c:v "$1" -f null -
    }
    check decode-yuvj420p decoded yuvj420p
    check decode-yuvj444p decoded yuvj444p
    check decode-j2k-yuv420p decoded_j2k yuv420p ""
    check decode-j2k-yuv444p decoded_j2k yuv444p "-pred dwt53 -cblk_style ht"
    settle
    check chain-decode-scale decode_chain j2k_cuda
    check chain-decode-scale-mjpeg decode_chain mjpeg_cuda
    settle

    # ---- So have those of JPEG 2000 in host memory
    in_host_memory() { # FORMAT ENCODER_OPTIONS
        local name="logs/j2k-$1" cpu cuda
        # shellcheck disable=SC2046,SC2086 # words
        bin/ffmpeg -v error -nostdin -y $(picture 1280x720 4 "$1" 6) -c:v j2k_cuda -device cpu $2 "$name.nut"
        cpu=$(bin/ffmpeg -v error -nostdin -c:v j2k_cuda -device cpu -i "$name.nut" -f md5 -)
        cuda=$(bin/ffmpeg -v error -nostdin -c:v j2k_cuda -device "$device" -i "$name.nut" -f md5 -)
        echo "cpu $cpu cuda $cuda"
        [ -n "$cpu" ] && [ "$cpu" = "$cuda" ]
    }
    check decode-j2k-lossless in_host_memory rgb24 "-pred dwt53"
    check decode-j2k-lossy in_host_memory yuv422p10le "-cblk_style bypass"
    check decode-j2k-tiles in_host_memory gray16le "-tile_width 300 -tile_height 200"
    check decode-j2k-ht in_host_memory yuv420p "-cblk_style ht"
    check decode-j2k-ht-lossless in_host_memory gbrp12le "-cblk_style ht -pred dwt53"
    settle

    # ---- One of several processes on the GPU is killed; the others' packets are as ever
    survive() {
        local frames expected i victim pids=()
        frames=$(picture 1280x720 4 yuv444p 60)
        expected=$(encode ./ffmpeg cpu "$frames" "")
        for i in 1 2 3; do encode ./ffmpeg "$device" "$frames" "" >"logs/survivor-$i" & pids+=($!); done
        # shellcheck disable=SC2086 # words
        ./ffmpeg -v error -nostdin ${frames/ -frames:v 60/} -c:v j2k_cuda -device "$device" -f null - &
        victim=$!
        sleep 2
        kill -9 $victim
        wait "${pids[@]}"
        for i in 1 2 3; do
            echo "$(cat "logs/survivor-$i") instead of $expected"
            [ "$(cat "logs/survivor-$i")" = "$expected" ] || return 1
        done
    }
    check survives-kill-9 survive
    settle
fi

# ---- compute-sanitizer, on a small frame of each kind
if part sanitizer; then
    sanitizer=${SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
    sanitize() { # TOOL INPUT_OPTIONS ENCODER_OPTIONS
        # shellcheck disable=SC2086 # words
        "$sanitizer" --tool "$1" --error-exitcode 9 --target-processes all \
            ./ffmpeg -v error -nostdin $2 -c:v $codec -device "$device" $3 -f null -
    }
    if [ -x "$sanitizer" ] && "$sanitizer" ./ffmpeg -v error -f lavfi -i color=s=16x16 -frames:v 1 -c:v j2k_cuda -device "$device" -f null - \
        >logs/sanitizer.log 2>&1; then
        [ -f logs/yuvj420p.nut ] || decoded yuvj420p >logs/decoded.log # the input of a test
        for style in 0 ht; do
            # shellcheck disable=SC2046 # words
            bin/ffmpeg -v error -nostdin -y $(picture 130x70 4 yuv420p 2) -c:v j2k_cuda -device cpu -cblk_style $style logs/j2k-$style.nut
        done
        for tool in memcheck racecheck; do
            check $tool-lossy sanitize $tool "$(picture 79x61 4 rgb24 2)" ""
            check $tool-lossless sanitize $tool "$(picture 130x70 4 yuv420p10le 2)" "-pred dwt53"
            check $tool-noise-16-bits sanitize $tool "-f lavfi -i nullsrc=s=66x66,format=gray16le,noise=alls=100:allf=t -frames:v 2" \
                "-pred dwt53 -cblk_width 64 -cblk_height 64"
            check $tool-tiles sanitize $tool "$(picture 100x90 4 gbrap 2)" \
                "-tile_width 33 -tile_height 40 -precincts 32x32 -cblk_width 16 -cblk_height 16 -sop 1 -eph 1 -tlm 1 -plt 1 -prog rpcl"
            check $tool-wide-block sanitize $tool "$(picture 1100x9 4 gray 1)" "-cblk_width 1024 -cblk_height 4 -levels 1"
            check $tool-cuda-frames sanitize $tool "-init_hw_device cuda $(picture 96x64 4 nv12 2 | sed 's/ -frames/ -vf hwupload&/')" ""
            check $tool-bypass sanitize $tool "$(picture 130x70 4 rgb24 2)" "-cblk_style bypass"
            # Frames that are cut again.
            check $tool-psp sanitize $tool "$(picture 130x70 4 rgb24 2)" "-rate_control psp -frame_bytes 1200"
            check $tool-layers sanitize $tool "$(picture 130x70 4 rgb24 2)" "-rate_control pcrd -layer_rates 40,20,10,5"
            check $tool-bpi sanitize $tool "$(picture 130x70 4 rgb24 2)" "-rate_control bpi -frame_bytes 2000 -cblk_style bypass+termall"
            check $tool-psp-64x64 sanitize $tool "$(picture 130x70 4 yuv444p 2)" "-rate_control psp -frame_bytes 1000 -cblk_width 64 -cblk_height 64"
            check $tool-ht sanitize $tool "$(picture 130x70 4 rgb24 2)" "-cblk_style ht"
            check $tool-ht-target sanitize $tool "$(picture 130x70 4 rgb24 2)" "-cblk_style ht -frame_bytes 1200"
            check $tool-xyz sanitize $tool "$(picture 79x61 4 yuv420p10le 2)" "-xyz 1"
            codec=mjpeg_cuda
            check $tool-mjpeg-420 sanitize $tool "$(picture 79x61 4 yuvj420p 2)" ""
            check $tool-mjpeg-rgb-default sanitize $tool "$(picture 130x70 4 rgb24 2)" "-huffman default -restart_interval 3"
            check $tool-mjpeg-trellis sanitize $tool "$(picture 79x61 4 yuvj420p 2)" "-trellis 1"
            check $tool-mjpeg-trellis-default sanitize $tool "$(picture 130x70 4 rgb24 2)" "-trellis 1 -mct 1 -huffman default"
            check $tool-mjpeg-bitrate sanitize $tool "$(picture 130x70 40 yuvj444p 2)" "-b:v 800k"
            check $tool-mjpeg-410 sanitize $tool "$(picture 66x66 4 yuv410p 2)" "-strict unofficial"
            CK_RUN_CASE="pictures in flight" check $tool-mjpeg-decode-in-flight "$sanitizer" --tool "$tool" --error-exitcode 9 \
                check/test_mjpeg_decoder "$device"
            CK_RUN_CASE="stays on the device" check $tool-mjpeg-decode "$sanitizer" --tool "$tool" --error-exitcode 9 check/test_mjpeg_decoder "$device"
            check $tool-mjpeg-decode-cuda "$sanitizer" --tool "$tool" --error-exitcode 9 bin/ffmpeg -v error -nostdin "${into_gpu[@]}" \
                -i logs/yuvj420p.nut -frames:v 3 -f null -
            for style in 0 ht; do
                check $tool-j2k-decode-$style "$sanitizer" --tool "$tool" --error-exitcode 9 bin/ffmpeg -v error -nostdin \
                    -c:v j2k_cuda -device "$device" -i logs/j2k-$style.nut -f null -
            done
            for stage in deblock search refine inter_kernels intra_macroblocks finish; do
                CK_FORK=no check $tool-h264-$stage "$sanitizer" --tool "$tool" --error-exitcode 9 "check/test_h264_$stage" "$device"
            done
            codec=h264_cavlc_cuda
            check $tool-h264-420 sanitize $tool "$(picture 79x61 4 yuv420p 2)" "-slices 2"
            check $tool-h264-422p10-pcm sanitize $tool "-f lavfi -i nullsrc=s=66x66,format=yuv422p10le,noise=alls=100:allf=t -frames:v 2" "-qp -12"
            check $tool-h264-effort-0 sanitize $tool "$(picture 66x50 4 yuv420p 2)" "-effort 0"
            check $tool-h264-shared-launches sanitize $tool "$(picture 130x98 4 yuv420p 20)" "-effort 0 -qp 24 -async_depth 16"
            check $tool-h264-shared-launches-444 sanitize $tool "$(picture 66x50 4 yuv444p10le 13)" "-effort 0 -qp 24 -async_depth 12"
            check $tool-h264-planned-qps sanitize $tool "$(picture 130x98 4 yuv420p 12)" "-effort 0 -b:v 1M -async_depth 12"
            check $tool-h264-gop sanitize $tool "$(picture 130x98 4 yuv420p 6)" "-g 4"
            check $tool-h264-bitrate sanitize $tool "$(picture 66x50 4 yuv444p 3)" "-b:v 400k"
            codec=j2k_cuda
        done
        settle
    else
        say "compute-sanitizer             not here, or it cannot be used on this machine"
    fi
fi

# ---- Uptime, alone, since it watches the GPU's memory
if part soak; then
    check soak bin/cudaenc_fuzz soak "${SOAK:-20000}" 1 "$device"
    [ "${GPUS:-1}" -gt 1 ] || settle
    check soak-processes bin/cudaenc_fuzz soak "${SOAK:-20000}" 1000001 "$device" "${PROCESSES:-8}"
    settle
fi

# ---- Speed
if part bench && [ "${BENCH-}" != no ] && [ -x bin/cudaenc_bench ]; then
    say ""
    # shellcheck disable=SC2086 # words
    bin/cudaenc_bench -device "$device" ${BENCH-} 2>&1 | tee -a "$record" || tally bench 0 1
fi

read -r passed failed < <(awk '/ passed, [0-9]+ failed$/ { good += $(NF - 3); bad += $(NF - 1) } END { print good + 0, bad + 0 }' "$record")
say "$passed passed, $failed failed"
[ "$failed" = 0 ]
