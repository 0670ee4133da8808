#!/bin/bash
# Gathers what run.sh needs into build/gpu-bundle, so that it runs on a machine that builds nothing.
# Usage: bundle.sh BUILD FATE_BUILD   SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 fate=$2 bundle=$1/gpu-bundle
here=$PWD/$fate
unset MAKEFLAGS MAKELEVEL

# FATE's sources are made by its first run, which also says whether the references hold on this machine's CPU.
fate_tests/fate.sh "$fate" cpu

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/check" "$bundle/tests/data/fate" "$bundle/tests/ref/fate"
strip -o "$bundle/ffmpeg" "$fate/ffmpeg" # FATE's; "bin" has the full one
strip -o "$bundle/bin/ffmpeg" "$build/bin/ffmpeg"
[ ! -f "$build/ffmpeg-ptx" ] || strip -o "$bundle/ffmpeg-ptx" "$build/ffmpeg-ptx" # FATE's, with clang's kernels
[ ! -f "$build/bin/cudaenc_bench" ] || strip -o "$bundle/bin/cudaenc_bench" "$build/bin/cudaenc_bench"
for source in fate_tests/check/test_*.cpp; do
    program=$(basename "$source" .cpp)
    strip -o "$bundle/check/$program" "$build/check/$program"
done
strip -o "$bundle/bin/cudaenc_fuzz" "$build/bin/cudaenc_fuzz"
fate_tests/interop/api.sh "$fate" # makes the program, and runs it on the CPU
strip -o "$bundle/bin/api" "$fate/tests/data/api"
cp fate_tests/gpu/run.sh "$bundle/"

# The commands of our FATE tests, one a line; run.sh puts the device in. What FFmpeg decodes from the same streams is the same.
cp "$fate"/src/tests/{fate-run.sh,md5.sh} "$fate/tests/tiny_psnr" "$bundle/tests/"
mapfile -t tests < <(make --no-print-directory -s -C "$fate" fate-list | grep -E '[-_]cuda' | grep -v -- '-decoded$')
# Their script is named by the link src/ or by where that leads, as FFmpeg's configure saw fit.
source=$(readlink -f "$fate/src")
make --no-print-directory -n -C "$fate" CUDAENC_FATE_DEVICE=@DEVICE@ "${tests[@]}" | sed "s|^$source/|src/|" |
    grep '^src/tests/fate-run.sh ' | sed "s|^src/||; s|$here|.|g" >"$bundle/fate-commands"
[ "$(wc -l <"$bundle/fate-commands")" = ${#tests[@]} ] || { echo "gpu-bundle: not every FATE test became a command"; exit 1; }
for test in "${tests[@]}"; do cp "fate_tests/ref/fate/${test#fate-}" "$bundle/tests/ref/fate/"; done
grep -o 'tests/data/[A-Za-z0-9_.-]*' "$bundle/fate-commands" | sort -u | while read -r file; do
    cp "$fate/$file" "$bundle/tests/data/"
done

fate_tests/gpu/trees.sh >"$bundle/trees"

size=$(du -sm "$bundle" | cut -f1)
echo "$bundle: $size MB, ${#tests[@]} FATE tests; run $bundle/run.sh where the GPU is"
[ "$size" -le 500 ] || { echo "gpu-bundle: more than 500 MB"; exit 1; }
