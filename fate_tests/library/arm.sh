#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library for aarch64, by the distribution's cross compiler, under qemu: random streams and the example have the bytes that they
# have on this machine.
# Usage: arm.sh BUILD [COUNT] [SEED]    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=$PWD/${1:?usage: arm.sh BUILD [COUNT] [SEED]}
count=${2:-90} seed=${3:-1}
arm=$build/aarch64
work=$build/check/arm
rm -rf "$work"
mkdir -p "$work/out" "$work/out.host"
export LC_ALL=C LD_LIBRARY_PATH=$build/shared
. fate_tests/tally.sh
builds() { # SOURCE NAME
    aarch64-linux-gnu-gcc -std=gnu11 -Wall -Wextra -O1 -Icommon "$1" -o "$work/$2.arm" -L"$arm" -lcudaenc -lpthread &&
        cc -std=gnu11 -Wall -Wextra -O1 -Icommon "$1" -o "$work/$2" -L"$build/shared" -lcudaenc -lpthread
}
emulated() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$arm" "$@"; }
check "streams.c" builds fate_tests/library/streams.c streams
check "encode_planes.c" builds examples/encode_planes.c encode_planes
exports() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
check "what is exported is what this machine's library exports" diff <(exports "$arm/libcudaenc.so") <(exports "$build/shared/libcudaenc.so")
cd "$work"
./streams "$count" "$seed" >host.txt
runs() { emulated ./streams.arm "$count" "$seed" >arm.txt; }
check "streams run" runs
check "most are encoded" [ "$(grep -c ': 0, [1-9][0-9]* bytes' host.txt)" -ge $((count * 3 / 4)) ]
while read -r line; do
    check "stream ${line%%:*}" grep -qxF "$line" arm.txt
done <host.txt
head -c 45000 "$root/common/cudaenc.h" >in.yuv # of any bytes
check "encode_planes runs under qemu" emulated ./encode_planes.arm in.yuv yuvj420p 100 50 out/ cpu
check "encode_planes runs" ./encode_planes in.yuv yuvj420p 100 50 out.host/ cpu
check "the same packets" diff -r out out.host
check "all packets" [ "$(find out -type f | wc -l)" -ge 6 ]
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
