#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs our tests in FFmpeg's FATE harness on one device. Usage: fate.sh FFMPEG_BUILD DEVICE; JOBS=N tests at a time
# Ends in a line "N passed, N failed".
set -euo pipefail
build=$1
export CUDAENC_FATE_DEVICE=$2
export MAKEFLAGS="-j${JOBS:-$(nproc)}"
unset MAKELEVEL

mapfile -t tests < <(make --no-print-directory -s -C "$build" fate-list | grep -E '[-_]cuda' || true)
if [ ${#tests[@]} = 0 ]; then
    echo "0 passed, 1 failed"
    exit 1
fi
log=$build/fate-$2.log
make --no-print-directory -C "$build" -k "${tests[@]}" >"$log" 2>&1 || true
failed=$(sed -n 's/^make.*: \*\*\* \[.*: \(fate-[^]]*\)\] Error.*/\1/p' "$log" | sort -u)
count=$(printf '%s' "$failed" | grep -c . || true)
if [ "$(grep -c '^TEST ' "$log" || true)" -lt ${#tests[@]} ]; then # something else broke, and tests did not run
    tail -n 20 "$log"
    count=${#tests[@]}
elif [ "$count" != 0 ]; then
    awk '!/^TEST / && n++ < 100' "$log"
    echo "failed on $2: $(echo "$failed" | paste -sd' ')"
fi
echo "$((${#tests[@]} - count)) passed, $count failed"
[ "$count" = 0 ]
