#!/bin/sh
# Checks who includes whom: libavcodec_ext -> common/cudaenc.h only; cuda_kernels -> common; common -> neither.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu
cd "$(dirname "$0")/.."
bad=0

# forbid ROOM PATTERN WHY: no #include of a file in the room may match.
forbid() {
    found=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$2" "$1" --include='*.[ch]' --include='*.cpp' \
        --include='*.cu' --include='*.cuh' || true)
    [ -n "$found" ] || return 0
    echo "$found" | sed "s|\$|   <- $3|"
    bad=1
}

# What a room includes by name alone may also lie in another room, so the names of those are asked for as well.
names() { find "$@" -name '*.h' -o -name '*.cuh' | sed 's|.*/||; s/\./\\./' | sort -u | paste -sd'|'; }

forbid common "[^\">]*(cuda_kernels|libavcodec_ext|fate_tests)/" "common includes nothing of the other rooms"
forbid common "(cuda|cuda_runtime|ffnvcodec/[^\">]*)\.h" "common knows no CUDA header"
forbid cuda_kernels "[^\">]*libavcodec_ext/" "cuda_kernels includes common only"
# device.cuh is made three ways, and names the emulator's.
grep -rlE 'include.*fate_tests/' cuda_kernels | grep -v '^cuda_kernels/device.cuh$' | sed 's/$/: names fate_tests/' | grep . && bad=1
forbid libavcodec_ext "[^\">]*(common|cuda_kernels|fate_tests)/" "the glue includes cudaenc.h only, as <cudaenc.h>"
ours=$(names common cuda_kernels | sed 's/cudaenc\\.h|//; s/|cudaenc\\.h$//')
foreign=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($ours)>" libavcodec_ext --include='*.[ch]' || true)
if [ -n "$foreign" ]; then
    echo "$foreign" | sed 's|$|   <- the glue includes cudaenc.h only|'
    bad=1
fi
exit $bad
