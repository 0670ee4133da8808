#!/bin/bash
# What `make check` runs, after it built everything; ends in one line, the sum: "N passed, N failed".
# LONG=1 runs more at random. SEED: of what is random; steps have it in their names. Without it a commit has its own, so that
# a check of it can be repeated, and a long run another one each time.
# Environment: B and FATE, folders of what was built; SANITIZE, what it is instrumented for; MEDIA; JOBS
# SPDX-License-Identifier: LGPL-2.1-or-later
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

# step NAME COMMAND...: counts the tests of the command's last line "N passed, N failed"; without such a line it is one test.
step() {
    local name=$1 start=$SECONDS status=0 line
    shift
    "$@" >"$logs/$name.log" 2>&1 || status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1 || true)
    [ -n "$line" ] || line="$((status == 0)) passed, $((status != 0)) failed"
    [[ $status = 0 || ! $line =~ ' 0 failed' ]] || line="${line%% *} passed, 1 failed" # it died at its end
    [ "${line%, 0 failed*}" != "$line" ] || tail -n 60 "$logs/$name.log"
    grep -E '^(skipped|warning|note):' "$logs/$name.log" | sort -u || true
    echo "$name: $line ($((SECONDS - start)) s)"
    # shellcheck disable=SC2086 # words
    set -- $line
    passed=$((passed + $1)) failed=$((failed + $3))
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

finish() {
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# Instrumented programs take longer. ThreadSanitizer does not know the emulator's fibers.
devices=()
[ -z "${SANITIZE-}" ] || export CK_TIMEOUT_MULTIPLIER=10
[ "${SANITIZE-}" != thread ] || devices=(cpu)

step include-graph fate_tests/include_graph.py
step house fate_tests/house.py
step house-test python3 -B fate_tests/house_test.py
step hooks python3 -B fate_tests/hooks_test.py "$FATE/src"
step formatting formatting
step kernels-both-compilers "$MAKE" --no-print-directory do-kernels
for source in fate_tests/check/test_*.cpp; do
    program=$(basename "$source" .cpp)
    step "$program" unit "$B/check/$program" "${devices[@]}"
done
[ -n "${SANITIZE-}" ] || step carried carried
step fuzz unit "$B/bin/cudaenc_fuzz" 100 1 "${devices[@]}"
step "fuzz-from-$seed" unit "$B/bin/cudaenc_fuzz" "${rounds:-100}" "$seed" "${devices[@]}"
[ "${SANITIZE-}" != thread ] || finish
if [ -z "${SANITIZE-}" ]; then # a part of 'make check-sanitize'
    CK_TIMEOUT_MULTIPLIER=10 step sanitize-session unit build/address/check/test_session
    CK_TIMEOUT_MULTIPLIER=10 step sanitize-fuzz unit build/address/bin/cudaenc_fuzz 100
fi
[ -n "${SANITIZE-}" ] || step library fate_tests/library/run.sh "$B" "$FATE"
[ -n "${SANITIZE-}" ] || step goals fate_tests/library/goals.sh
[ -n "${SANITIZE-}" ] || step recipes python3 fate_tests/recipes.py "$FATE"
[ -n "${SANITIZE-}" ] || step python fate_tests/library/python.sh "$B"
step bench-lines bench_lines
step bench-smoke "$B/bin/cudaenc_bench" -device emu -smoke
step bench-report fate_tests/bench/test_report.py "$B/bin" "$FATE/ffmpeg"
step fate-cpu fate_tests/fate.sh "$FATE" cpu
step fate-emu fate_tests/fate.sh "$FATE" emu
step interop fate_tests/interop/run.sh "$FATE"
step interop-profiles fate_tests/interop/profiles.sh "$FATE"
step "interop-matrix-from-$seed" fate_tests/interop/matrix.sh "$FATE" "${combinations:-2000}" "$seed"
step interop-misread fate_tests/interop/matrix.sh "$FATE" misread
step interop-charts python3 fate_tests/interop/charts.py "$FATE"
step interop-quality python3 fate_tests/interop/quality.py "$FATE" ${MEDIA:+"$MEDIA"}
step interop-levels python3 fate_tests/interop/levels.py "$FATE"
step interop-metadata python3 fate_tests/interop/metadata.py "$FATE"
step interop-mxf fate_tests/interop/mxf.py "$FATE"
step interop-styles python3 fate_tests/interop/styles.py "$FATE" cpu
step interop-h264 fate_tests/interop/h264.sh "$FATE" ${MEDIA:+"$MEDIA"}
step interop-mjpeg fate_tests/interop/mjpeg.sh "$FATE" ${MEDIA:+"$MEDIA"}
step interop-jpeg-decode fate_tests/interop/jpeg_decode.sh "$FATE" ${MEDIA:+"$MEDIA"}
step interop-jpeg-frames fate_tests/interop/jpeg_frames.py "$FATE"
step api fate_tests/interop/api.sh "$FATE"
step api-emu fate_tests/interop/api.sh "$FATE" emu
step errors fate_tests/interop/errors.sh "$FATE"
step options python3 fate_tests/interop/options.py "$FATE"
[ -z "${MEDIA-}" ] || step media fate_tests/interop/media.sh "$FATE" "$MEDIA"

record=fate_tests/gpu-record.txt
if [ -f $record ] && [ "$(grep '^tree ' $record)" != "$(fate_tests/gpu/trees.sh)" ]; then
    echo "note: $record is of other sources; 'make check-gpu' on a machine with a GPU makes a new one"
fi
finish
