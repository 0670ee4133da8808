#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `make check` runs, after it built everything; ends in one line, the sum: "N passed, N failed".
# LONG=1 runs more at random. SEED: of what is random; steps have it in their names. Without it a commit has its own, so that
# a check of it can be repeated, and a long run another one each time.
# Environment: B and FATE, folders of what was built; SANITIZE, what it is instrumented for; MEDIA; JOBS
set -euo pipefail
cd "$(dirname "$0")/.."
logs=$B/check/logs
mkdir -p "$logs"
passed=0 failed=0
commit=$(git rev-parse HEAD 2>/dev/null || true)
[ -z "${LONG-}" ] && [ "$commit" ] && of_commit=$((0x${commit:0:7}))
seed=${SEED:-$((1000 + ${of_commit:-RANDOM * 32768 + RANDOM}))}
rounds=${LONG:+2000} combinations=${LONG:+10000}
export MAKEFLAGS="-j${JOBS:-$(nproc)}" # of the makes below, which share no jobs with the one above
unset MAKELEVEL

# run NAME COMMAND...: what it prints goes to a log, which ends in its status and its seconds.
run() {
    local name=$1 start=$SECONDS status=0
    shift
    "$@" >"$logs/$name.log" 2>&1 || status=$?
    echo "$status $((SECONDS - start))" >"$logs/$name.status.new"
    mv "$logs/$name.status.new" "$logs/$name.status" # whole, once it is there
}
# report NAME: counts the tests of its last line "N passed, N failed"; without such a line it is one test.
report() {
    local name=$1 line status seconds
    read -r status seconds <"$logs/$name.status"
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1 || true)
    [ -n "$line" ] || line="$((status == 0)) passed, $((status != 0)) failed"
    [[ $status = 0 || ! $line =~ ' 0 failed' ]] || line="${line%% *} passed, 1 failed" # it died at its end
    [ "${line%, 0 failed*}" != "$line" ] || tail -n 60 "$logs/$name.log"
    grep -E '^(skipped|warning|note):' "$logs/$name.log" | sort -u || true
    echo "$name: $line ($seconds s)"
    # shellcheck disable=SC2086 # words
    set -- $line
    passed=$((passed + $1)) failed=$((failed + $3))
}
# Steps that share no files run beside each other; all are reported in their order. A step alone waits for those before it.
running=()
reported() { # those at the front that have ended
    while [ ${#running[@]} != 0 ] && [ -f "$logs/${running[0]}.status" ]; do
        report "${running[0]}"
        running=("${running[@]:1}")
    done
}
beside() { # NAME COMMAND...
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n || true; done
    reported
    rm -f "$logs/$1.status"
    running+=("$1")
    run "$@" &
}
settle() {
    wait
    reported
}
step() { # NAME COMMAND...
    settle
    run "$@"
    report "$1"
}

# A program on libcheck ends in "100%: Checks: 12, Failures: 0, Errors: 0".
unit() {
    local status=0 out
    out=$("$@") || status=$?
    echo "$out"
    echo "$out" | awk -F'[:,] *' -v status=$status '/Checks: / { n += $3; bad += $5 + $7 }
        END { if (status && !bad) { bad = 1; n++ } print n - bad " passed, " bad + 0 " failed" }'
}

formatting() {
    if command -v clang-format-19 >/dev/null; then
        fate_tests/sources.sh | xargs clang-format-19 --dry-run -Werror
    else
        echo "skipped: no clang-format-19 here, other versions format differently"
    fi
}

# The tests' programs as a GPU's bundle has them: they share a library, and run without those of this folder.
carried() {
    local folder=$B/check/carried programs
    mapfile -t programs < <(cd fate_tests && printf '%s\n' check/test_*.cpp | sed 's/\.cpp$//')
    rm -rf "$folder"
    fate_tests/gpu/carry.sh "$B" "$folder" "${programs[@]}" bin/cudaenc_fuzz bin/cudaenc_bench || return 1
    env -i "$folder/check/test_mq" emu --case=coder || return 1
    ! env -i ldd "$folder"/{check,bin}/* | grep "$PWD/$B/\(emu\|lib\)" || return 1
    du -sk "$folder"/{check,bin}/* "$folder" | awk '{ print } $1 > 2048 && !/carried$/ || $1 > 40960 { bad = 1 } END { exit bad }'
}

# What 'make test BENCH=1' prints.
bench_lines() {
    "$B/check/test_rate" emu --case=frames --bench | tee "$logs/times" && grep -q '^bench pcrd: .* ms .* emulated$' "$logs/times"
}

# What 'make demo' shows, of a small clip: all encoders, and a picture with captions.
demo() {
    "$FATE/ffmpeg" -v error -y -f lavfi -i mandelbrot=s=480x300 -frames:v 3 -pix_fmt yuv422p10 -c:v ffv1 "$B/check/demo.mkv" &&
        FRAMES=3 fate_tests/demo.sh "$FATE" "$FATE/src" "$B/check/demo" "$B/check/demo.mkv" &&
        "$FATE/ffprobe" -v error -show_entries stream=width,height -of csv=p=0 "$B/check/demo/demo.png" | grep -qx 1920,1008
}

finish() {
    settle
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# Instrumented programs take longer. ThreadSanitizer does not know the emulator's fibers.
devices=()
[ -z "${SANITIZE-}" ] || export CK_TIMEOUT_MULTIPLIER=10
[ "${SANITIZE-}" != thread ] || devices=(cpu)

# ---- Steps that keep all cores busy, or share files with others
beside include-graph fate_tests/include_graph.py
beside house fate_tests/house.py
beside house-test python3 -B fate_tests/house_test.py
[ -n "${SANITIZE-}" ] || beside hooks python3 -B fate_tests/hooks_test.py "$FATE/src"
beside formatting formatting
[ -n "${SANITIZE-}" ] || step tidy "$MAKE" --no-print-directory -k do-tidy
step kernels-both-compilers "$MAKE" --no-print-directory do-kernels
if [ "${SANITIZE-}" != thread ]; then
    step fate-cpu fate_tests/fate.sh "$FATE" cpu
    step fate-emu fate_tests/fate.sh "$FATE" "emu:$seed"
    step interop fate_tests/interop/run.sh "$FATE"
    step interop-profiles fate_tests/interop/profiles.sh "$FATE"
    step interop-misread fate_tests/interop/matrix.sh "$FATE" misread
    step api fate_tests/interop/api.sh "$FATE"
    step api-emu fate_tests/interop/api.sh "$FATE" emu
fi

# ---- Steps of one thread or few, those of a minute first: none is alone at the end then
long=(h264 h264_rate faults mjpeg_decoder session t1 h264_kernels j2k_kernels j2k_device_decoder)
stage() { beside "test_$1" unit "$B/check/test_$1" "${devices[@]}"; } # NAME
if [ "${SANITIZE-}" != thread ]; then
    beside interop-h264-limits python3 fate_tests/interop/h264_limits.py "$FATE"
    beside bench-smoke "$B/bin/cudaenc_bench" -device emu -smoke
    beside interop-h264 fate_tests/interop/h264.sh "$FATE" ${MEDIA:+"$MEDIA"}
    [ -n "${SANITIZE-}" ] || CK_TIMEOUT_MULTIPLIER=10 beside sanitize-session unit build/address/check/test_session # a part of 'make check-sanitize'
fi
for name in "${long[@]}"; do stage "$name"; done
if [ "${SANITIZE-}" != thread ]; then
    [ -z "${MEDIA-}" ] || beside media fate_tests/interop/media.sh "$FATE" "$MEDIA"
    beside interop-mjpeg fate_tests/interop/mjpeg.sh "$FATE" ${MEDIA:+"$MEDIA"}
    beside interop-charts python3 fate_tests/interop/charts.py "$FATE"
    beside interop-quality python3 fate_tests/interop/quality.py "$FATE" ${MEDIA:+"$MEDIA"}
    beside bench-report fate_tests/bench/test_report.py "$B/bin" "$FATE/ffmpeg"
    beside "interop-matrix-from-$seed" fate_tests/interop/matrix.sh "$FATE" "${combinations:-2000}" "$seed"
fi
if [ -z "${SANITIZE-}" ]; then
    beside python fate_tests/library/python.sh "$B"
    CK_TIMEOUT_MULTIPLIER=10 beside sanitize-fuzz unit build/address/bin/cudaenc_fuzz 100
    beside wheel fate_tests/library/wheel.sh "$B"
    beside examples fate_tests/library/examples.sh "$B"
    beside recipes python3 fate_tests/recipes.py "$FATE"
    beside library fate_tests/library/run.sh "$B" "$FATE"
    beside goals fate_tests/library/goals.sh
    beside demo demo
fi
beside fuzz unit "$B/bin/cudaenc_fuzz" 100 1 "${devices[@]}"
beside "fuzz-from-$seed" unit "$B/bin/cudaenc_fuzz" "${rounds:-100}" "$seed" "${devices[@]}"
for source in fate_tests/check/test_*.cpp; do
    name=$(basename "${source#*/test_}" .cpp)
    [[ " ${long[*]} " = *" $name "* ]] || stage "$name"
done
[ -n "${SANITIZE-}" ] || beside carried carried
[ "${SANITIZE-}" != thread ] || finish
beside interop-x264 fate_tests/interop/x264.sh ${MEDIA:+"$MEDIA"}
beside interop-interlaced fate_tests/interop/interlaced.py "$FATE" ${MEDIA:+"$MEDIA"}
beside interop-bmx build/venv/bin/python3 fate_tests/interop/bmx.py "$FATE"
beside interop-chromium fate_tests/interop/chromium.py "$FATE/ffmpeg"
beside interop-jpeg-decode fate_tests/interop/jpeg_decode.sh "$FATE" ${MEDIA:+"$MEDIA"}
beside errors fate_tests/interop/errors.sh "$FATE"
beside interop-levels python3 fate_tests/interop/levels.py "$FATE"
beside interop-metadata python3 fate_tests/interop/metadata.py "$FATE"
beside interop-mxf fate_tests/interop/mxf.py "$FATE"
beside interop-recode fate_tests/interop/recode.py "$FATE"
beside interop-styles python3 fate_tests/interop/styles.py "$FATE" cpu
beside interop-h264-refresh python3 fate_tests/interop/h264_refresh.py "$FATE"
beside interop-j2k-decode fate_tests/interop/j2k_decode.sh "$FATE"
DEVICE=emu beside interop-j2k-decode-emu fate_tests/interop/j2k_decode.sh "$FATE"
beside interop-jpeg-frames fate_tests/interop/jpeg_frames.py "$FATE"
beside interop-j2k-frames fate_tests/interop/j2k_frames.py "$FATE"
beside interop-j2k-frames-emu fate_tests/interop/j2k_frames.py "$FATE" emu
beside options python3 fate_tests/interop/options.py "$FATE"
beside bench-lines bench_lines

record=fate_tests/gpu-record.txt
if [ -f $record ] && [ "$(grep '^tree ' $record)" != "$(fate_tests/gpu/trees.sh)" ]; then
    echo "note: $record is of other sources; 'make check-gpu' on a machine with a GPU makes a new one"
fi
finish
