#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Gathers what run.sh needs into build/gpu-bundle, so that it runs on a machine that builds nothing.
# Usage: bundle.sh BUILD FATE_BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 fate=$2 bundle=$1/gpu-bundle
here=$PWD/$fate
unset MAKEFLAGS MAKELEVEL

# FATE's sources are made by its first run, which also says whether the references hold on this machine's CPU.
fate_tests/fate.sh "$fate" cpu

rm -rf "$bundle"
mkdir -p "$bundle/tests/data/fate" "$bundle/tests/ref/fate"
fate_tests/interop/api.sh "$fate" # makes the program, and runs it on the CPU
mapfile -t programs < <(cd fate_tests && printf '%s\n' check/test_*.cpp | sed 's/\.cpp$//')
fate_tests/gpu/carry.sh "$build" "$bundle" "${programs[@]}" bin/cudaenc_fuzz bin/cudaenc_bench bin/ffmpeg # the full one
fate_tests/gpu/carry.sh "$fate" "$bundle" ffmpeg tests/data/api
mv "$bundle/tests/data/api" "$bundle/bin/"
if [ -d "$build/emu-ptx" ]; then # clang's kernels
    mkdir "$bundle/emu-ptx"
    strip --strip-unneeded -o "$bundle/emu-ptx/libcudaenc_emu.so" "$build/emu-ptx/libcudaenc_emu.so"
fi
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
tar -C "$bundle/tests" -c --remove-files data ref | xz -9e -T0 >"$bundle/tests/fate.tar.xz" # raw video, references; run.sh takes them out

fate_tests/gpu/trees.sh >"$bundle/trees"

size=$(du -sm "$bundle" | cut -f1)
packed=$(tar -C "$bundle" -c . | gzip -1 | wc -c)
echo "$bundle: $size MB, $((packed >> 20)) MiB compressed, ${#tests[@]} FATE tests; run $bundle/run.sh where the GPU is"
[ "$size" -le 100 ] || { echo "gpu-bundle: more than 100 MB"; exit 1; }
