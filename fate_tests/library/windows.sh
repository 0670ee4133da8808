#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library for Windows, made by mingw-w64, under Wine: the programs of the tests give the bytes that they give on Linux.
# Usage: windows.sh BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
build=$PWD/${1:?usage: windows.sh BUILD}
windows=$build/windows
work=$build/check/windows
rm -rf "$work"
mkdir -p "$work/out" "$work/out.linux"
export WINEDEBUG=-all WINEPREFIX=$work/wine LC_ALL=C LD_LIBRARY_PATH=$build/shared
. fate_tests/tally.sh
builds() { # SOURCE NAME
    x86_64-w64-mingw32-gcc-posix -std=gnu11 -Wall -Wextra -O1 -Icommon "$1" -o "$work/$2.exe" "$windows/libcudaenc.dll.a" -static -lpthread &&
        cc -std=gnu11 -O1 -Icommon "$1" -o "$work/$2" -L"$build/shared" -lcudaenc -lpthread
}
cp "$windows/libcudaenc-0.dll" "$work/"
check "program.c" builds fate_tests/library/program.c program
check "encode_planes.c" builds examples/encode_planes.c encode_planes
exports() { x86_64-w64-mingw32-objdump -p "$work/libcudaenc-0.dll" | sed -n '/Ordinal\/Name Pointer/,/^$/s/^\t\[.*\] //p' | sort; }
check "what is exported is what Linux's library exports" diff <(exports) <(nm -D --defined-only "$build/shared/libcudaenc.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
cd "$work"
./program >linux.txt
run() { wine program.exe 2>wine.log | tr -d '\r' >windows.txt; }
check "program.exe runs" run
check "the same output" diff linux.txt windows.txt
check "it has output" [ "$(grep -c . windows.txt)" = 19 ]
head -c 45000 "$root/common/cudaenc.h" >in.yuv # of any bytes
check "encode_planes.exe runs" wine encode_planes.exe in.yuv yuvj420p 100 50 out/ cpu
check "encode_planes runs" ./encode_planes in.yuv yuvj420p 100 50 out.linux/ cpu
check "the same bytes" diff -r out out.linux
check "all packets" [ "$(ls out | wc -l)" -ge 6 ]
wineserver -k 2>/dev/null || true
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
